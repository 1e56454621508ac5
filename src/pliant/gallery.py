"""The gallery: the robots of the papers and others, as examples that can be listed, run and drawn.

An example is a file of `examples/` with ``main(figures_dir=None)``, which prints its result, ``check()``, which asserts it, and
``figures(run)``, which returns plots by name. They are found beside the source tree, or inside an installed package.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ._files import replacing
from .model.validate import unknown_name

__all__ = ["Example", "list_examples", "load", "run", "run_all", "save"]


@dataclass(frozen=True)
class Example:
    """One robot of the gallery.

    Attributes
    ----------
    name : str
        Of its file, without ending.
    title : str
        The first line of its text.
    paper : str
        Papers that it reproduces, such as "[002]"; empty for none.
    quick : bool
        Whether it takes less than about ten seconds, with its check.
    path : Path
    """

    name: str
    title: str
    paper: str
    quick: bool
    path: Path

    def __str__(self) -> str:
        """One line."""
        return f"{self.name:28}{self.title}"


def _folder() -> Path:
    here = Path(__file__).resolve().parent
    for folder in (here / "examples", here.parents[1] / "examples"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError("the examples are missing from this installation of pliant; install it again.")


def list_examples() -> list[Example]:
    """All examples by name; their files are read, not run."""
    return [_read(path) for path in sorted(_folder().glob("*.py")) if not path.stem.startswith("_")]


def _read(path: Path) -> Example:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree) or path.stem
    slow = any(
        isinstance(node, ast.Assign) and ast.unparse(node) == "QUICK = False" for node in tree.body
    )  # what a slow example says of itself
    papers = sorted(set(re.findall(r"\[00\d\]", text.split("\n\n")[0])))
    return Example(path.stem, text.splitlines()[0], " ".join(papers), not slow, path)


def load(name: str) -> ModuleType:
    """The module of an example."""
    known = {example.name: example for example in list_examples()}
    if name not in known:
        raise unknown_name("example", name, known)
    spec = importlib.util.spec_from_file_location(f"pliant_examples_{name}", known[name].path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, output: str | Path | None = None, *, check: bool = False) -> list[Path]:
    """Run an example: it prints its result.

    Parameters
    ----------
    name : str
        As in `list_examples`.
    output : path, optional
        A folder for its figures (PNG) and, where there is a motion, its 3D animation.
    check : bool
        Whether its numbers are checked too.

    Returns
    -------
    list of Path
        The files written.
    """
    module = load(name)
    folder = None if output is None else Path(output)
    module.main(folder)
    if check:
        module.check()
    return [] if folder is None else sorted(path for path in folder.iterdir() if path.is_file())


def run_all(output: str | Path, *, check: bool = True) -> dict[str, float]:
    """Run all examples with their figures, each into a folder of its name; returns their times [s]."""
    times = {}
    for example in list_examples():
        print(f"\n=== {example.name}: {example.title}\n")
        clock = time.perf_counter()
        run(example.name, Path(output) / example.name, check=check)
        times[example.name] = time.perf_counter() - clock
    print("\n" + "\n".join(f"{name:28}{seconds:7.1f} s" for name, seconds in times.items()))
    return times


def save(directory: str | Path | None, figures: Callable[[Any], Mapping[str, Any]], run: Any) -> list[Path]:
    """Draw the figures of an example and save them; without a directory nothing is done.

    Parameters
    ----------
    directory : path, optional
        Where ``<name>.png`` and ``motion.html`` go; it is made if it is missing.
    figures : function
        Takes `run`, returns figures or axes by name.
    run : Result, or anything that `figures` takes
        Of a Result (or the last one of a dict or sequence) the 3D animation is saved too.
    """
    if directory is None:
        return []
    from .viz.style import pyplot

    plt = pyplot()
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with plt.ioff():
        for name, drawn in figures(run).items():
            figure = drawn if hasattr(drawn, "savefig") else drawn.get_figure()
            paths.append(folder / f"{name}.png")
            with replacing(paths[-1]) as part:
                figure.savefig(part, dpi=130)
            plt.close(figure)
    parts = list(run.values()) if isinstance(run, Mapping) else run if isinstance(run, (list, tuple)) else [run]
    motions = [part for part in parts if hasattr(part, "save_html")]
    if motions:
        paths.append(folder / "motion.html")
        motions[-1].save_html(paths[-1])
    print(f"\nfigures in {folder}: {', '.join(path.name for path in paths)}")
    return paths
