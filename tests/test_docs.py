"""What the README, the pages of docs/ and the docstrings show runs and prints what they say."""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import pliant

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[\w ]+) -->\n)?^(?P<fence>```+)(?P<language>\w+)\n(?P<code>.*?)^(?P=fence)$", re.M | re.S
)
NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?")
GO_ON = {
    "pliant.system.system": pliant.System
}  # classes whose methods' examples start from the names of the class's own
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    name
    for _finder, name, _is_package in pkgutil.walk_packages(pliant.__path__, "pliant.")
    if not name.startswith("pliant.kernels")
]

ADAPTERS = (
    "pliant.torch",
    "pliant.jax",
    "pliant.casadi",
    "pliant.crocoddyl",
)  # each needs a library that may be missing


def wanted(mark):
    """Whether a block with this mark is run here: not, if it needs a library that is missing."""
    if mark is None or not mark.startswith("needs "):
        return mark != "not run"
    return importlib.util.find_spec(mark.removeprefix("needs ")) is not None


def blocks(text):
    """Blocks of a page that are run or compared: (language, mark, code, line)."""
    for found in BLOCK.finditer(text):
        if found["language"] in ("python", "output") and wanted(found["mark"]):
            yield found["language"], found["mark"], found["code"], text.count("\n", 0, found.start("code"))


def says(expected, printed, mark):
    """Whether a page says what was printed, up to white space and `...`; marked "numbers vary" also up to numbers."""
    if mark == "numbers vary":
        expected, printed = (NUMBER.sub("#", entry) for entry in (expected, printed))
    return doctest.OutputChecker().check_output(expected, printed, FLAGS)


def run_page(path):
    """Run the Python blocks of a page in one namespace; an output block must be what the block before it printed."""
    names, printed = {}, ""
    for language, mark, code, line in blocks(path.read_text(encoding="utf-8")):
        if language == "output":
            if not says(code, printed, mark):
                raise AssertionError(
                    f"{path.name}, line {line + 1}: the page says\n{code}\nbut this was printed:\n{printed}"
                )
            continue
        stdout = io.StringIO()
        with contextlib.redirect_stdout(stdout):
            exec(compile("\n" * line + code, str(path), "exec"), names)
        printed = stdout.getvalue()
    return names


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages save pictures and results where they run
    monkeypatch.setenv("MPLBACKEND", "agg")
    run_page(path)


def test_wrong_pages_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\nprint(x)\n```\n\n```output\n3\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md, line 7"):
        run_page(page)
    page.write_text("```python\nprint(1.5, 2)\n```\n\n<!-- numbers vary -->\n```output\n2.5e-3 7\n```\n")
    run_page(page)
    page.write_text("<!-- not run -->\n```python\nraise SystemExit\n```\n\n```python\nx = 1\n```\n")
    assert run_page(page)["x"] == 1
    page.write_text("<!-- needs nosuchlibrary -->\n```python\nraise SystemExit\n```\n\n```python\nx = 1\n```\n")
    assert run_page(page)["x"] == 1
    page.write_text("<!-- needs numpy -->\n```python\nx = 2\n```\n")
    assert run_page(page)["x"] == 2


def test_the_readme_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(ROOT / "README.md")
    assert names["system"].nv == 24
    assert names["run"].success
    assert names["tip"].shape == (len(names["run"]), 3)
    assert np.all(np.isfinite(names["A"]))
    assert (tmp_path / "arm.html").stat().st_size < 2e6


def shared(module):
    """Names that the examples of a class's methods go on with: those of the class's own example, which is run first."""
    names = {}
    if (cls := GO_ON.get(module.__name__)) is not None:
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(cls)):
            exec(compile(example.source, cls.__name__, "single"), names)
    names.pop("__builtins__", None)
    return names


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name in ADAPTERS:
        pytest.importorskip(name.removeprefix("pliant."), exc_type=ImportError)
    module = importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()):
        names = shared(module)
    failed, _count = doctest.testmod(module, optionflags=FLAGS, extraglobs=names)
    assert failed == 0, "see the report above"


def test_the_main_names_have_examples():
    """Functions and the main methods show how they are used."""
    public = [getattr(pliant, name) for name in pliant.__all__]
    members = [getattr(pliant.Robot, name) for name in vars_of(pliant.Robot) if name.startswith(("add_", "set_"))]
    missing = [
        thing.__qualname__
        for thing in [*(f for f in public if inspect.isfunction(f)), *members]
        if ">>>" not in (inspect.getdoc(thing) or "")
    ]
    assert not missing, f"no example in the docstrings of {', '.join(missing)}"


def vars_of(cls):
    return [name for name, _value in inspect.getmembers(cls, inspect.isfunction)]


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    shown = set(re.findall(r"\.\. auto(?:class|function|exception|module):: pliant\.(\w+)$", text, re.M))
    missing, unknown = set(pliant.__all__) - shown, shown - set(pliant.__all__)
    assert not missing, f"not in docs/api: {', '.join(sorted(missing))}; add them to the page of their theme"
    assert not unknown, f"docs/api shows what is not public: {', '.join(sorted(unknown))}"


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_name_of_an_adapter_is_in_the_reference(name):
    pytest.importorskip(name.removeprefix("pliant."), exc_type=ImportError)
    text = (ROOT / "docs" / "api" / "adapters.md").read_text(encoding="utf-8")
    shown = set(re.findall(rf"\.\. auto(?:class|function):: {re.escape(name)}\.(\w+)$", text, re.M))
    assert shown == set(importlib.import_module(name).__all__)
