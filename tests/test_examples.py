"""Every example runs and its check passes."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_check(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples save their plots where they run
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    assert capsys.readouterr().out.strip(), "an example prints its result"
    module.check()
