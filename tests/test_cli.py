"""The command ``pliant``: every subcommand, its JSON, its exit code, and what it says to mistakes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant import _native
from pliant.cli import main
from pliant.cli.parser import make_parser

pytest.importorskip("ruamel.yaml")


@pytest.fixture
def arm(tmp_path, monkeypatch):
    """A starter model in an empty directory."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "arm.yaml"]) == 0
    return Path("arm.yaml")


def out(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_new_writes_a_starter_and_does_not_overwrite(arm, capsys):
    assert main(["new", "other.yaml"]) == 0
    assert "pliant studio other.yaml" in capsys.readouterr().out
    arm.write_text("mine")
    assert main(["new", "arm.yaml"]) == 2
    assert "--force" in capsys.readouterr().err
    assert arm.read_text() == "mine"
    assert main(["new", "arm.yaml", "--force"]) == 0
    assert main(["new", "b.yaml", "--kind", "spider"]) == 2
    assert re.search(r"'spider' is not known; there is: arm", capsys.readouterr().err)


@pytest.mark.parametrize("kind", pl.io.STARTERS)
def test_every_starter_passes_its_check(kind, tmp_path, capsys):
    path = tmp_path / "model.yaml"
    assert main(["new", str(path), "--kind", kind]) == 0
    assert main(["check", str(path)]) == 0
    assert "└─" in capsys.readouterr().out


def test_check_describes_the_robot(arm, capsys):
    capsys.readouterr()
    assert main(["check", "arm.yaml", "--json"]) == 0
    found = out(capsys)
    system = pl.load_model(arm).compile()
    assert found["nv"] == system.nv == 24
    assert found["inputs"] == list(system.input_names)
    assert found["mass"] == system.mass


def test_check_reports_all_problems_with_their_places(arm, capsys):
    text = arm.read_text()
    arm.write_text(text.replace("young:", "yuong:").replace("type: body", "type: bodi"))
    capsys.readouterr()
    assert main(["check", "arm.yaml"]) == 2
    message = capsys.readouterr().err
    assert "yuong" in message
    assert "bodi" in message
    assert main(["check", "arm.yaml", "--json"]) == 2
    found = out(capsys)
    assert not found["ok"]
    lines = text.splitlines()
    places = {p["line"] for p in found["problems"]}
    assert 1 + next(k for k, line in enumerate(lines) if "young:" in line) in places


def test_statics(arm, capsys):
    capsys.readouterr()
    assert main(["statics", "arm.yaml", "-u", "cable=12", "--json"]) == 0
    found = out(capsys)
    system = pl.load_model(arm).compile()
    rest = pl.solve_statics(system, {"cable": 12.0})
    np.testing.assert_allclose(found["q"], rest.q, rtol=1e-9, atol=1e-9)
    assert found["u"] == {"cable": 12.0}
    np.testing.assert_allclose(found["positions"]["arm"], system.pose("arm", rest.q)[:3, 3], atol=1e-9)
    assert main(["statics", "arm.yaml"]) == 0
    assert "stable equilibrium" in capsys.readouterr().out


def test_run_simulates_and_writes(arm, capsys):
    capsys.readouterr()
    command = ["run", "arm.yaml", "--duration", "0.2", "-u", "cable=5*sin(10*t)**2", "--start", "neutral", "--json"]
    assert main([*command, "-o", "a.csv"]) == 0
    found = out(capsys)
    assert found["t"] == [0.0, 0.2]
    table = np.genfromtxt("a.csv", delimiter=",", names=True)
    assert table["t"][-1] == 0.2
    np.testing.assert_allclose(list(table[-1])[1 : 1 + len(found["q"])], found["q"], rtol=1e-12)
    assert main([*command, "-o", "b.csv", "--frame", "arm.tip", "--forces"]) == 0
    header = Path("b.csv").read_text().splitlines()[0].split(",")
    assert {"arm.tip: position x", "payload: force z"} <= set(header)
    assert "payload: position x" not in header
    capsys.readouterr()
    assert main([*command, "-o", "b.h5", "--forces"]) == 2
    assert "-o FILE.csv" in capsys.readouterr().err
    assert main([*command, "-o", "a.glb"]) == 0
    assert Path("a.glb").read_bytes()[:4] == b"glTF"
    system = pl.load_model(arm).compile()
    same = pl.simulate(system, 0.2, u=lambda t: {"cable": 5 * np.sin(10 * t) ** 2})
    np.testing.assert_allclose(found["q"], same.q[-1], rtol=1e-6, atol=1e-9)
    assert main([*command, "-o", "a.h5"]) == 0
    np.testing.assert_allclose(pl.Result.load("a.h5", system).q[-1], found["q"], rtol=1e-12)
    assert main(["run", "arm.yaml", "-o", "a.xls"]) == 2
    assert ".h5, .csv or .glb" in capsys.readouterr().err


def test_a_run_that_fails_says_so(arm, capsys):
    capsys.readouterr()
    code = main(["run", "arm.yaml", "--duration", "1", "--start", "neutral", "-u", "cable=5 - 100*t", "--json"])
    assert code == 1
    found = out(capsys)
    assert not found["success"]
    assert "a tendon only pulls" in found["message"]
    assert 0.0 < found["t"][1] <= 0.05  # what was computed until then is kept


def test_modes(arm, capsys):
    capsys.readouterr()
    assert main(["modes", "arm.yaml", "-n", "3", "--json"]) == 0
    found = out(capsys)
    assert len(found["frequencies"]) == 3
    assert main(["modes", "arm.yaml", "-n", "3"]) == 0
    assert f"{found['frequencies'][0]:.6g}" in capsys.readouterr().out


def test_examples_are_listed(capsys):
    assert main(["examples"]) == 0
    assert "octopus_arm" in capsys.readouterr().out
    assert main(["examples", "--json"]) == 0
    names = [e["name"] for e in out(capsys)["examples"]]
    assert names == [e.name for e in pl.gallery.list_examples()]
    assert main(["examples", "show", "buckling"]) == 0
    assert "def check" in capsys.readouterr().out
    assert main(["examples", "run", "bukling"]) == 2
    assert "did you mean 'buckling'" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["run", "show"])
def test_an_example_without_a_name_lists_them(action, capsys):
    assert main(["examples", action]) == 2
    text = capsys.readouterr().out
    assert text.startswith(f"pliant examples {action} needs a name; there are:")
    assert all(example.name in text for example in pl.gallery.list_examples())


def test_an_interrupted_run_keeps_what_it_computed(arm, capsys, monkeypatch):
    """As Ctrl-C does: exit code 130, and the file holds the motion until then."""
    capsys.readouterr()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))

    def simulate(*arguments, **options):
        pl.simulate(arguments[0], 0.01)  # what is to be compiled is, before the clock runs
        timer.start()
        return pl.simulate(*arguments, **options)

    monkeypatch.setattr("pliant.io.model.simulate", simulate)
    try:
        code = main(["run", "arm.yaml", "--duration", "500", "-u", "cable=5*sin(20*t)**2", "--quiet", "-o", "cut.h5"])
    finally:
        timer.cancel()
    assert code == 130
    text = capsys.readouterr().out
    assert "interrupted at t = " in text
    assert "wrote cut.h5" in text
    kept = pl.Result.load("cut.h5", pl.load_model(arm).compile())
    assert not kept.success
    assert 0.0 < kept.t[-1] < 500
    assert len(kept.t) > 1


def test_check_shows_all_errors_also_a_bad_parent(arm, capsys):
    text = arm.read_text()
    arm.write_text(text.replace("parent: arm", "parent: amr").replace("z: ", "zz: ").replace("young: ", "young: -"))
    capsys.readouterr()
    assert main(["check", "arm.yaml", "--json"]) == 2
    found = {problem["path"] for problem in out(capsys)["problems"]}
    assert found == {"materials.silicone.young", "links.payload.parent", "actuators.cable.zz"}


def test_check_shows_what_cannot_be_compiled(arm, capsys):
    arm.write_text(arm.read_text().replace("    length:", "    points: 1\n    length:"))
    capsys.readouterr()
    assert main(["check", "arm.yaml", "--json"]) == 2
    (problem,) = out(capsys)["problems"]
    assert "points = 1" in problem["message"]
    assert main(["check", "arm.yaml"]) == 2
    assert "points = 1" in capsys.readouterr().err


def test_an_example_is_run_with_its_figures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["examples", "run", "tip_moment", "-o", str(tmp_path)]) == 0
    assert "figures in" in capsys.readouterr().out
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".html"}


def test_pages_are_written(arm, capsys):
    assert main(["statics", "arm.yaml", "--html", "rest.html"]) == 0
    assert main(["run", "arm.yaml", "--duration", "0.1", "--quiet", "--html", "run.html"]) == 0
    assert "wrote run.html" in capsys.readouterr().out
    for page in ("rest.html", "run.html"):
        assert "<title>arm" in Path(page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [["studio"], ["view", "--duration", "0.05"], ["view", "--static"]], ids=["studio", "view", "static"]
)
def test_live_pages_are_served_until_interrupted(arguments, arm):
    """As a user does it: the command prints an address, the page is there, Ctrl-C ends it."""
    pytest.importorskip("viser")
    command = [sys.executable, "-u", "-m", "pliant", arguments[0], "arm.yaml", "--port", "8940", *arguments[1:]]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines = []
        for line in server.stdout:
            lines.append(line)
            found = re.search(r"http://localhost:(\d+)", line)
            if found:
                break
        assert found, "".join(lines)
        with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/", timeout=20) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) in (0, 130)
    finally:
        server.kill()


def test_bench(capsys):
    assert main(["bench", "--json"]) == 0
    rows = out(capsys)
    assert len(rows) == 5
    assert all(row["value"] > 0 and row["unit"] in ("µs", "ms") for row in rows.values())


def test_info(capsys):
    assert main(["info", "--json"]) == 0
    found = out(capsys)
    assert {"pliant", "numba", "viser", "kernels"} <= set(found)
    expected = "interpreted" if _native.INTERPRETED else "machine code" if _native.LEVEL else "compiled by numba"
    assert expected in found["kernels"]
    if not _native.INTERPRETED and not _native.LEVEL:
        assert f"({_native.MISSING})" in found["kernels"]  # and why


def test_warm_up_accounts_for_every_part(capsys):
    if _native.INTERPRETED:
        assert main(["warm-up"]) == 2
        assert "nothing to compile" in capsys.readouterr().err
        return
    assert main(["warm-up", "--json"]) == 0
    done = out(capsys)["parts"]
    assert {"engine.run", "loads.contact_unit.contacts", "program.evaluate_rows"} <= set(done)
    waiting = [name for name, how in done.items() if how == "compiled when called"]
    assert waiting == ["recursion.dynamics.inverse_dynamics"]
    allowed = {"machine code"} if _native.LEVEL else {"compiled now", "compiled before"}
    assert {how for name, how in done.items() if name not in waiting} <= allowed


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "studio" in script
    assert "--duration" in script
    for name in (
        "octopus_arm",
        "hybrid",
        "generalized-alpha",
        "002-cdm-statics",
    ):  # examples, kinds, methods, experiments
        assert name in script, name


def test_new_lists_its_kinds(capsys):
    with pytest.raises(SystemExit):
        main(["new", "--help"])
    text = capsys.readouterr().out
    for kind in pl.io.STARTERS:
        assert f"\n  {kind}" in text
    assert "A soft arm" in text


def test_a_model_file_is_watched(arm, capsys, monkeypatch):
    """Run, edited to something wrong, corrected, and ended."""
    from pliant.cli import watch

    good, looks = arm.read_text(), []

    def wait(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            arm.write_text("name: broken")
        elif len(looks) == 4:
            arm.unlink()  # an editor that replaces the file
        elif len(looks) == 6:
            arm.write_text(good.replace("name: arm", "name: longer"))
        elif len(looks) == 8:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch.watch, "__kwdefaults__", {"wait": wait})
    capsys.readouterr()
    assert main(["check", "arm.yaml", "--watch"]) == 0
    told = capsys.readouterr()
    assert told.out.index("arm: 2 links") < told.out.index("longer: 2 links")
    assert "'links' is missing" in told.err
    assert told.err.count("waiting for") == 3


MISTAKES = {
    "directory": (["check", "."], r"'\.' cannot be read as a model file: it is a folder"),
    "no name": (["check", ""], r"cannot be read as a model file"),
    "no file": (["run", "nothing.yaml"], r"no file 'nothing.yaml'; model files there: arm.yaml"),
    "input": (["statics", "arm.yaml", "-u", "cable"], r"NAME=VALUE"),
    "name": (["statics", "arm.yaml", "-u", "cabel=1"], r"no input named 'cabel'; did you mean 'cable'"),
    "formula": (["run", "arm.yaml", "-u", "cable=__import__('os')"], r"__import__"),
    "method": (["run", "arm.yaml", "--method", "euler"], r"'euler'.*generalized-alpha"),
    "pull": (["statics", "arm.yaml", "-u", "cable=-1"], r"a tendon only pulls"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained_without_a_traceback(name, arm, capsys):
    arguments, words = MISTAKES[name]
    capsys.readouterr()
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert re.search(words, message)
    assert "Traceback" not in message
    assert main([*arguments, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    assert "pliant new arm.yaml" in capsys.readouterr().out


def test_every_command_has_help():
    parser = make_parser()
    actions = parser._subparsers._group_actions[0]
    commands = actions.choices
    assert {"run", "statics", "modes", "view", "studio", "examples", "new", "check", "bench", "info", "warm-up"} <= set(
        commands
    )
    for name, sub in commands.items():
        assert sub.description, name
        for action in sub._actions:
            assert action.help, f"{name} {action.dest}"


def test_as_a_module():
    done = subprocess.run([sys.executable, "-m", "pliant", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pliant ")
