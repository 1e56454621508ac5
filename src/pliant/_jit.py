"""Compilation of kernels.

Four decorators, by the role of a function:

* `inline`: a few lines of algebra, always merged into its caller;
* `routine`: part of an algorithm, compiled together with the kernels that call it;
* `managed`: the same for a function that makes or returns arrays;
* `kernel`: an entry point called from Python, cached on disk.

Kernels are cached on disk by `_cache`, under a key with a digest of the kernel sources that they are made of: their own file and all that it
imports, directly or not. (Numba's own cache does not notice an edit of a function that a kernel calls in another file, stops where it cannot write, and
believes damaged files.) So an edit of one load compiles that load again and nothing else. What is written outside of the package may call any kernel, and
depends on all of them. The first real compilation in a process prints one line, so that nobody waits in silence. How numba is used is said in `_numba`.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ._numba import VERSION, entry, inner, on_compilation

__all__ = ["inline", "kernel", "managed", "routine", "source_digest", "stamp"]

_OWN = ("_cache.py", "_call.py", "_jit.py", "_numba.py")


def source_digest(root: Path | None = None, file: Path | None = None) -> str:
    """Digest of every source file that can end up in the compiled code of a kernel's `file`, or of any kernel, and of numba's version."""
    root = Path(__file__).parent if root is None else root
    digest = hashlib.sha256(VERSION.encode())
    every = (root / "kernels").rglob("*.py")
    sources = set(every) if file is None else _imported(root, file)
    for path in sorted(sources | {root / name for name in _OWN}):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(_read(path) if file is not None else path.read_bytes())
    return digest.hexdigest()


def _imported(root: Path, file: Path) -> set[Path]:
    """A file of the package and all files of the package that it imports, directly or not."""
    found, new = {file}, [file]
    while new:
        for path in _imports(new.pop()):
            if path not in found and root in path.parents:
                found.add(path)
                new.append(path)
    return found


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """The files that the relative imports of a file name: modules, or packages that a name is taken from."""
    found = []
    for node in ast.walk(ast.parse(_read(file))):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            folder = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for name in node.names:
                places = (
                    folder / f"{name.name}.py",
                    folder / name.name / "__init__.py",
                    folder.with_suffix(".py"),
                    folder / "__init__.py",
                )
                found += [path for path in places if path.is_file()][:1]
    return tuple(found)


@cache
def _read(file: Path) -> bytes:
    return file.read_bytes()


@cache
def _stamp_of(file: str) -> str:
    root, path = Path(__file__).parent, Path(file)
    return source_digest(root, path if root / "kernels" in path.parents else None)


def stamp(function: Any) -> str:
    """Digest of the sources that a kernel is made of, but for its own file if that is not of the package."""
    return _stamp_of(function.__code__.co_filename)


class _Notice:
    """Print one line at the first compilation of a kernel in this process."""

    def __init__(self) -> None:
        self.silent = bool(os.environ.get("PLIANT_QUIET"))

    def __call__(self, function: Any) -> None:
        if not self.silent and (function.__module__ or "").startswith("pliant.kernels."):
            self.silent = True
            print(
                "pliant: compiling kernels, once per machine and version (about a minute) ...",
                file=sys.stderr,
                flush=True,
            )


on_compilation(_Notice())


def inline(function: Any) -> Any:
    """Decorate a short function that is always merged into its caller."""
    return inner(function, merge=True)


def routine(function: Any) -> Any:
    """Decorate a part of an algorithm; compiled with its callers, not cached by itself.

    It must not make or return arrays: references are not counted.
    """
    return inner(function)


def managed(function: Any) -> Any:
    """Decorate a part of an algorithm that makes arrays or returns them (views too), so that references are counted."""
    return inner(function, count=True)


def kernel(function: Any, source: Any = None) -> Any:
    """Decorate an entry point: compiled on first use, cached with a digest of its sources.

    `source` is the function whose file it also depends on, if that is not its own.
    """
    return entry(function, stamp(source or function), source)
