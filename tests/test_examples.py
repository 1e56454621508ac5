"""Every example runs and its check passes; the gallery lists and draws them."""

import inspect

import pytest

from pliant import gallery

EXAMPLES = gallery.list_examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example_check(example, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not example.quick:  # its main is run by `make gallery`
        gallery.load(example.name).check()
        return
    gallery.run(example.name, check=True)
    assert capsys.readouterr().out.strip(), "an example prints its result"
    assert not list(tmp_path.iterdir()), "without a folder for figures an example writes nothing"


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
