"""What the README and the docstrings show runs."""

import doctest
from pathlib import Path

import numpy as np

import pliant.model.robot
import pliant.model.sections

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


def test_the_example_of_constant_strain_runs(capsys):
    page = README.parent / "docs" / "constant_strain.md"
    code = page.read_text(encoding="utf-8").split("```python")[1].split("```")[0]
    names: dict = {}
    exec(compile(code, str(page), "exec"), names)
    assert "stable equilibrium" in capsys.readouterr().out
    assert names["run"].success
    np.testing.assert_array_equal(
        names["strains"][:, 2], names["system"].strain("arm", names["rest"].q, [0.1, 0.3, 0.6, 0.9])[:, 2]
    )


def test_docstring_examples():
    assert doctest.testmod(pliant.model.robot).failed == 0
    assert doctest.testmod(pliant.model.sections).failed == 0
