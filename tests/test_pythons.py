"""The script behind ``make pythons``: which interpreters it takes, and what it says of others."""

import platform
import sys
from pathlib import Path

import pytest

import pythons


def test_interpreters_that_do_not_run_are_told(tmp_path):
    lame = tmp_path / "python3.99"
    lame.write_text("#!/bin/sh\nexit 127\n")  # as pyenv's names on PATH are for versions that are not chosen
    lame.chmod(0o755)
    assert pythons.version(sys.executable) == platform.python_version()
    found, missing = pythons.chosen(f"{lame} {sys.executable} no-such-python")
    assert found == [sys.executable]
    assert missing == [str(lame), "no-such-python"]


def test_every_version_is_found_or_missing(monkeypatch, tmp_path):
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = tmp_path / "versions" / f"{own}.0" / "bin"
    place.mkdir(parents=True)
    (place / f"python{own}").symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(pythons, "VERSIONS", (own, "3.99"))
    found, missing = pythons.chosen("")
    assert found == [str(place / f"python{own}")]
    assert missing == ["python3.99"]


def test_what_was_named_and_is_missing_is_a_failure(monkeypatch, tmp_path, capsys):
    wheel = tmp_path / "pliant-0-py3-none-any.whl"
    wheel.write_bytes(b"")
    monkeypatch.setattr(pythons, "try_one", lambda python, wheel, tests: pythons.Tested("Python", True, "all"))
    monkeypatch.setenv("PYTHONS", f"{sys.executable} no-such-python")
    assert pythons.main([str(wheel)]) == 1
    assert "no-such-python  not found" in capsys.readouterr().out
    monkeypatch.setenv("PYTHONS", sys.executable)
    assert pythons.main([str(wheel)]) == 0


@pytest.mark.parametrize("arguments", [[], ["tests"], ["missing.whl"]])
def test_the_wheel_must_be_there(arguments, capsys):
    assert pythons.main(arguments) == 2
    assert "must be a wheel" in capsys.readouterr().out


def test_the_tests_of_the_core_are_there():
    assert [name for name in pythons.CORE if not (pythons.ROOT / name).is_file()] == []
    declared = (pythons.ROOT / "pyproject.toml").read_text()
    assert all(f"Python :: {version}" in declared for version in pythons.VERSIONS)
    assert Path(pythons.ROOT, "Makefile").read_text().count("tests/pythons.py") == 1
