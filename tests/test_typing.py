"""`py.typed` is honest: a user's script passes mypy --strict against the package, and mistakes in it are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pliant

pytest.importorskip("mypy")
SCRIPT = Path(__file__).parent / "user_script.py"
CONFIG = """
[mypy]
mypy_path = {source}
strict = true
[mypy-pliant.*]
follow_imports = silent
"""  # its errors are not shown, as of an installed package


def check(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "mypy.ini").write_text(CONFIG.format(source=Path(pliant.__file__).parent.parent))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(folder / "mypy.ini"),
        "--cache-dir",
        str(folder / "cache"),
    ]
    return subprocess.run([*command, str(script)], capture_output=True, text=True, cwd=folder, check=False)


def test_a_script_is_strictly_typed_and_mistakes_are_found(tmp_path: Path) -> None:
    good = check(SCRIPT, tmp_path)
    assert good.returncode == 0, good.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import pliant as pl\n"
        'robot = pl.Robot("arm")\n'
        'robot.add_body("hub", mas=1.0)\n'
        "system: int = robot.compile()\n"
        "pl.simulate(system)\n"
        "pl.no_such_name\n"
    )
    told = check(wrong, tmp_path).stdout
    for line, words in (
        (3, '"mas"'),
        (4, "Incompatible types"),
        (5, "Missing positional argument"),
        (6, "no_such_name"),
    ):
        assert any(f"wrong.py:{line}:" in row and words in row for row in told.splitlines()), told


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(pliant.__file__).parent / "py.typed").is_file()


def test_the_script_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(SCRIPT.read_text(), str(SCRIPT), "exec"), names)
    assert names["run"].success  # type: ignore[attr-defined]
    assert (tmp_path / "run.csv").is_file()


def test_the_citation_has_the_version() -> None:
    """`CITATION.cff` is read by other programs: version, and what such a file must have."""
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    path = Path(__file__).parent.parent / "CITATION.cff"
    if not path.is_file():
        pytest.skip("an installed package without its source tree")
    found = yaml.load(path.read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version"} <= set(found)
    assert str(found["version"]) == pliant.__version__
    assert all(entry["doi"] and entry["authors"] for entry in found["references"])
