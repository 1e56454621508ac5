"""Every example runs and its check passes; the gallery lists and draws them."""

import inspect
import re
from pathlib import Path

import pytest

from judged import judged
from pliant import gallery, papers

EXAMPLES = gallery.list_examples()
# equilibria that need not be stable, `stable=False`, and why
UNSTABLE = {
    "follower_force.py": "errors of few functions are drawn too: four of them flutter at 130 kN, five and more do not",
    "soft_cart_pole.py": "the pole stands upright, which is what is to be controlled",
    "soft_furuta.py": "likewise",
    "soft_pendubot.py": "likewise",
    "twisted_rod.py": "the critical thrust is where the straight rod loses its stability",
    "tip_moment.py": "a moment that turns with the tip has no potential: from 4 N m on the undamped circle of [004] flutters",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example_check(example, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with judged():
        if not example.quick:  # its main is run by `make gallery`
            gallery.load(example.name).check()
            return
        gallery.run(example.name, check=True)
    assert capsys.readouterr().out.strip(), "an example prints its result"
    assert not list(tmp_path.iterdir()), "without a folder for figures an example writes nothing"


def test_unstable_equilibria_are_declared():
    """Whoever takes an equilibrium that need not be stable says why, here; all others are looked at as they are found (`judged`)."""
    folders = [gallery.list_examples()[0].path.parent, Path(papers.__file__).parent]
    paths = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    found = {path.name for path in paths if re.search(r"\bstable=(?!True)", path.read_text())}
    assert found == set(UNSTABLE)


@pytest.mark.parametrize(
    "key", ["004-test1", "004-test1-flow", "004-test2", "004-test3", "004-cables", "003-routes", "001-costs"]
)
def test_equilibria_of_the_papers_are_stable(key):
    pytest.importorskip("matplotlib").use("agg")
    experiment = next(e for e in papers.experiments() if e.key == key)
    with judged():
        experiment.run(True)
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example_keeps_the_convention(example):
    """At most 150 lines, a title that ends in a full stop, and main(figures_dir=None), check(), figures(run)."""
    text = example.path.read_text()
    assert len(text.splitlines()) <= 150
    assert example.title.endswith("."), "the first line is a whole sentence"
    assert "[00" not in example.title or example.paper
    module = gallery.load(example.name)
    assert list(inspect.signature(module.main).parameters) == ["figures_dir"]
    assert not inspect.signature(module.check).parameters
    assert len(inspect.signature(module.figures).parameters) == 1


@pytest.mark.parametrize("name", ["tip_moment", "continuum_parallel_robot"])
def test_gallery_draws(name, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    paths = gallery.run(name, tmp_path / "figures")
    images = [path for path in paths if path.suffix == ".png"]
    assert len(images) >= 2
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000 for path in images)
    assert not plt.get_fignums(), "figures are closed after saving"


def test_unknown_example():
    with pytest.raises(KeyError, match="did you mean 'buckling'"):
        gallery.run("bucklin")


def test_every_example_is_in_the_gallery_with_a_small_picture():
    docs = Path(__file__).parent.parent / "docs"
    text = (docs / "gallery.md").read_text(encoding="utf-8")
    for example in EXAMPLES:
        picture = docs / "figures" / "gallery" / f"{example.name}.png"
        assert f"(../examples/{example.name}.py)" in text
        assert f"(figures/gallery/{example.name}.png)" in text
        assert picture.stat().st_size <= 60_000
