"""The notebook of the documentation runs, and shows what is stored in it."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
FLOATS = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
VARYING = re.compile(r"<svg.*?</svg>|<tr><td[^>]*>(?:method|speed|residual)</td>.*?</tr>", re.S)


@pytest.fixture(scope="module")
def runner():
    spec = importlib.util.spec_from_file_location("run_notebook", DOCS / "run_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same(stored: str, shown: str) -> None:
    """Text without pictures and times is the same, numbers to 1e-3."""
    one, other = (VARYING.sub("", text) for text in (stored, shown))
    assert FLOATS.sub("#", one) == FLOATS.sub("#", other)
    for a, b in zip(FLOATS.findall(one), FLOATS.findall(other)):
        assert float(a) == pytest.approx(float(b), rel=1e-3, abs=2e-4)


def test_the_notebook_runs_and_shows_what_it_says(runner, monkeypatch, tmp_path):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    stored = json.loads(runner.NOTEBOOK.read_text(encoding="utf-8"))
    now = runner.run_notebook(runner.NOTEBOOK)
    pictures = 0
    for old, new in zip(stored["cells"], now["cells"], strict=True):
        if old["cell_type"] == "markdown":
            continue
        assert old["execution_count"] == new["execution_count"]
        for a, b in zip(old["outputs"], new["outputs"], strict=True):
            assert a["output_type"] == b["output_type"]
            if "text" in a:
                same("".join(a["text"]), "".join(b["text"]))
            elif "text/html" in a["data"]:
                same("".join(a["data"]["text/html"]), "".join(b["data"]["text/html"]))
                pictures += "<svg" in "".join(b["data"]["text/html"])
    assert pictures == 4


def test_it_is_a_notebook(runner):
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(runner.NOTEBOOK, as_version=4))


def test_what_differs_is_found(runner):
    same("1.0001 m<svg>a</svg>", "1.0002 m<svg>b</svg>")
    with pytest.raises(AssertionError):
        same("1.00 m", "1.01 m")
    with pytest.raises(AssertionError):
        same("stable", "neutral")
