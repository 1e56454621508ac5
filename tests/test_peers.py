"""The comparison with other programs: pliant's part runs, and the page shows what the file of results says."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
HERE = ROOT / "benchmarks" / "peers"


@pytest.fixture
def peers(monkeypatch):
    """The modules of benchmarks/peers, importable by name, and forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(HERE))
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(HERE)):
            del sys.modules[name]


def test_page_shows_the_results(peers):
    import tables

    text = (ROOT / "docs" / "benchmarks.md").read_text()
    results = json.loads((ROOT / "docs" / "figures" / "peers.json").read_text())
    assert tables.page(text, results) == text, "run `python benchmarks/peers --redraw`"


def test_settings_of_every_problem(peers):
    import scans

    for problem in scans.PROBLEMS:
        every = scans.settings("pliant", problem)
        quick = scans.settings("pliant", problem, quick=True)
        assert 0 < len(quick) < len(every)
        assert all(entry in every for entry in quick)


def test_the_cheapest_that_is_good_enough(peers):
    import measure

    rows = [{"error": 1e-3, "seconds": 2.0}, {"error": 5e-3, "seconds": 1.0}, {"error": 1e-5}, {"failed": "unstable"}]
    assert measure.cheapest(rows, 1e-2) is rows[1]
    assert measure.cheapest(rows, 1e-3) is rows[0]
    assert measure.cheapest(rows, 1e-4) is None
    assert measure.distance([[0, 0, 0]], [[0, 0, 0], [1, 0, 0]]) == np.inf


def test_pliants_part_answers(peers):
    from environments import Worker

    worker = Worker("pliant", log=lambda _: None)
    try:
        how = {"space": False, "full": False, "order": 4, "points": 5, "rtol": 3e-3}
        reply = worker.ask(do="make", task="rod", settings=how)
        assert np.array(reply["result"]["tip"]).shape == (101, 3)
        assert worker.ask(do="time", key=reply["key"])["seconds"] > 0
        rest = worker.ask(do="make", task="statics", settings={"space": False, "full": True, "order": 8, "linear": 7})
        np.testing.assert_allclose(rest["result"]["tip"], [0.1606, 0, -0.9430], atol=2e-4)  # Exudyn's, too
        value = worker.ask(do="make", task="chain", settings={"n": 10, "what": "ID"})["result"]["value"]
        np.testing.assert_allclose(
            value[:2], [10.144489091201, -59.301487473917], rtol=1e-11
        )  # Pinocchio's and MuJoCo's
        assert "KeyError" in worker.ask(do="make", task="nothing")["error"]
    finally:
        worker.close()


def test_a_peer_that_is_missing_is_named(peers, monkeypatch, tmp_path):
    import environments

    monkeypatch.setattr(environments, "PLACE", tmp_path)
    monkeypatch.setitem(environments.PINS, "nothing", ("no-such-package==1",))

    def refuse(*_args, **_options):
        return subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution found")

    monkeypatch.setattr(environments.subprocess, "run", refuse)
    workers, missing = environments.start(["nothing"], lambda _: None)
    assert workers == {}
    assert "No matching distribution" in missing["nothing"]
