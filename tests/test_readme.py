"""What the README and the docstrings show runs."""

import doctest
from pathlib import Path

import numpy as np

import pliant.model.robot

README = Path(__file__).parent.parent / "README.md"


def test_the_readme_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a page
    code = README.read_text(encoding="utf-8").split("```python")[1].split("```")[0]
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "stable equilibrium" in capsys.readouterr().out
    assert names["system"].nv == 24
    assert names["run"].success
    assert names["tip"].shape == (len(names["run"]), 3)
    assert np.all(np.isfinite(names["A"]))
    assert (tmp_path / "arm.html").stat().st_size < 2e6


def test_docstring_examples():
    assert doctest.testmod(pliant.model.robot).failed == 0
