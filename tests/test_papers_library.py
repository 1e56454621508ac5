"""The papers: every experiment is declared completely, its verdict fits its numbers, and the pages show the committed results."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import papers
from pliant.papers import running
from pliant.papers.flows import damped_flow, projected_flow

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = json.loads((DOCS / "papers" / "papers.json").read_text(encoding="utf-8"))
EXPERIMENTS = papers.experiments()
# numbers that a quick run gives again, to this relative tolerance (times are not compared)
AGAIN = {
    "000-remark8": 1.0,
    "000-stability": 1e-6,
    "003-duality": 1e-3,
    "003-spaces": 1.0,
    "004-test1": 1e-6,
    "004-hilbert": 1e-3,
    "004-cables": 1e-3,
}


def committed(key):
    return papers.measured(RESULTS["experiments"][key])


def test_keys_are_unique_and_name_their_paper():
    keys = [e.key for e in EXPERIMENTS]
    assert len(set(keys)) == len(keys)
    for paper in papers.PAPERS:
        assert paper.experiments
        assert paper.methods
        assert all(e.paper == paper.number for e in paper.experiments)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.key)
def test_declaration(experiment):
    assert experiment.place
    assert experiment.title
    assert experiment.title[0].isupper() or not experiment.title[0].isalpha()
    names = [n.name for n in experiment.numbers]
    assert len(set(names)) == len(names)
    for number in experiment.numbers:
        assert number.kind in ("time", "here") or number.printed is not None, number.name
        assert number.kind != "equal" or number.within > 0, number.name
    if experiment.example:
        assert experiment.example in {e.name for e in pliant.gallery.list_examples()}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.key)
def test_verdict_fits_the_committed_results(experiment):
    record = RESULTS["experiments"].get(experiment.key)
    values = None if record is None else papers.measured(record)
    assert papers.problems(experiment, values) == []
    if record is not None:
        for name in record["figures"]:
            path = DOCS / "figures" / "papers" / f"{experiment.key}_{name}.png"
            assert path.stat().st_size <= 60_000
            assert name in experiment.figure_captions, f"no caption of {name}"


def test_results_belong_to_experiments():
    assert set(RESULTS["experiments"]) == {e.key for e in EXPERIMENTS if e.run is not None}
    shown = {f"{key}_{name}.png" for key, r in RESULTS["experiments"].items() for name in r["figures"]}
    assert {path.name for path in (DOCS / "figures" / "papers").iterdir()} == shown


def test_wrong_verdicts_are_found():
    number = papers.Number("x", 1.0, kind="equal", within=0.1)
    right = papers.Experiment("000-x", "p", "T", "reproduced", lambda quick: None, (number,))
    assert papers.problems(right, {"x": papers.Measured(1.05)}) == []
    assert "does not agree" in papers.problems(right, {"x": papers.Measured(1.2)})[0]
    assert "numbers differ" in papers.problems(right, {})[0]
    assert papers.problems(right, None) == ["has no results"]
    differs = papers.Experiment("000-x", "p", "T", "differs", lambda quick: None, (number,))
    assert papers.problems(differs, {"x": papers.Measured(1.2)}) == ["needs a reason"]
    impossible = papers.Experiment("000-x", "p", "T", "impossible", None, (number,), why="no data")
    assert papers.problems(impossible, None) == []
    timed = papers.Experiment("000-x", "p", "T", "reproduced", lambda quick: None, (papers.Number("t", kind="time"),))
    assert "no error beside it" in papers.problems(timed, {"t": papers.Measured(1.0)})[0]
    assert papers.problems(timed, {"t": papers.Measured(1.0, 1e-3)}) == []


def resolve(name):
    """What a name of a method is in pliant; arguments are left out, example names stand in backticks elsewhere."""
    thing = pliant
    for part in name.split("(")[0].split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("paper", papers.PAPERS, ids=lambda p: p.number)
def test_methods_exist_in_pliant(paper):
    for method in paper.methods:
        assert method.verdict == "reproduced" or method.why, method.title
        assert method.called or method.verdict != "reproduced", method.title
        for name in method.called:
            resolve(name)
            for option in re.findall(r"(\w+)=", name):
                assert option in inspect.signature(resolve(name)).parameters, name


def test_what_is_quoted_elsewhere_has_an_error():
    from pliant.papers.pages import SHORT

    for key, name, best, _what in SHORT:
        numbers = {n.name: n for e in EXPERIMENTS if e.key == key for n in e.numbers}
        assert committed(key)[name].error is not None
        assert numbers[best or name].printed is not None


def test_pages_show_the_results():
    made = running.pages(RESULTS, "../figures/papers", "../../examples")
    for name, text in made.items():
        assert (DOCS / "papers" / name).read_text(encoding="utf-8") == text, "run `python -m pliant papers --docs docs`"


@pytest.mark.parametrize("key", AGAIN)
def test_results_are_found_again(key):
    experiment = next(e for e in EXPERIMENTS if e.key == key)
    pytest.importorskip("matplotlib").use("agg")
    outcome = experiment.run(True)
    import matplotlib.pyplot as plt

    plt.close("all")
    assert papers.problems(experiment, outcome.values) == []
    for number in experiment.numbers:
        if number.kind != "time":
            new, old = outcome.values[number.name].value, committed(key)[number.name].value
            assert new == pytest.approx(old, rel=AGAIN[key], abs=1e-7), number.name


def test_methods_of_a_robot_agree():
    """[002]: exact Jacobian and differences, BDF with one and the other, the general solver of statics."""
    from pliant.papers import motions002, statics002

    pytest.importorskip("matplotlib").use("agg")
    found = motions002.derivatives("cdm", True).values
    assert found["time, exact"].error < 1e-9
    assert 1e-9 < found["mismatch by q, median"].value < 1e-5
    runs = [motions002.timed("cdm", method, True) for method in ("method 1", "method 2", "method 3", "default")]
    assert all(run.error < 1e-3 for run in runs)
    rest = statics002.statics("cdm", True).values
    assert rest["solved, stable"].value == 100
    assert rest["time of one, exact derivatives"].error < 1e-9
    assert rest["mismatch of the points, same equilibrium, median"].value < 1e-6


def test_flows_end_in_equilibria():
    """[004] eq. 45: at rest nothing is left of the residual; eqs 57–58: the tip is where it was led."""
    beam = pliant.gallery.load("tip_moment")
    system = beam.build()
    flow = damped_flow(system, [{"moment": 1.0}], rtol=1e-8)
    zero = np.zeros(system.nv)
    assert np.abs(system.residual(flow.rests[0], zero, zero, {"moment": 1.0})).max() < 1e-6
    rod = pliant.gallery.load("twisted_rod")
    free, held = rod.build(clamp=False), rod.build()
    pose = (pliant.translate(0.9 * rod.LENGTH, 0, 0)).matrix
    twisted = rod.twist(held)[-1]
    flow = projected_flow(free, "rod.tip", [pose, pose], start=twisted.q[: free.nq])
    np.testing.assert_allclose(free.pose("rod.tip", flow.rests[-1]), pose, atol=1e-4 * rod.LENGTH)
    rest = rod.push(held, twisted)[0]
    assert rod.energies(free, flow.rests[-1]) == pytest.approx(rod.energies(held, rest.q), rel=1e-3)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(KeyError, match="005"):
        papers.run(["005"], tmp_path)
    with pytest.raises(KeyError, match="004-test9"):
        papers.run(only=["004-test9"], output=tmp_path)


def test_command(tmp_path, capsys):
    from pliant.cli import main

    pytest.importorskip("matplotlib").use("agg")
    assert main(["papers", "004", "--list"]) == 0
    assert "004-test3" in capsys.readouterr().out
    assert main(["papers", "--only", "004-hilbert", "-o", str(tmp_path), "--quick"]) == 0
    assert set(json.loads((tmp_path / "papers.json").read_text())["experiments"]) == {"004-hilbert"}
    assert "Static balance of monomials" in (tmp_path / "004.md").read_text(encoding="utf-8")


def test_a_call_that_compiles_is_not_timed(monkeypatch):
    from pliant.papers import measure

    clock, calls = iter([0.0, 9.0, 9.0, 10.0, 10.0, 12.0]), []
    monkeypatch.setattr(measure.time, "process_time", lambda: next(clock))

    def call():
        if not calls:
            measure._COMPILED.append(call)  # as numba would tell
        calls.append(1)
        return len(calls)

    assert measure.cpu(call, rounds=2) == (1.0, 3)
