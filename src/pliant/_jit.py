"""Compilation of kernels.

Four decorators, by the role of a function:

* `inline`: a few lines of algebra, always merged into its caller;
* `routine`: part of an algorithm, compiled together with the kernels that call it;
* `managed`: the same for a function that makes or returns arrays;
* `kernel`: an entry point called from Python.

None of them calls numba: they leave a `Part`, which is handed to numba when something that uses it is compiled. A kernel that was compiled ahead of time
(`_native`) never is, so that such an installation does not even import numba.

What numba compiles is cached on disk by `_cache`, under a key with a digest of the kernel sources that it is made of: its own file and all that it
imports, directly or not. (Numba's own cache does not notice an edit of a function that a kernel calls in another file, stops where it cannot write, and
believes damaged files.) So an edit of one load compiles that load again and nothing else. What is written outside of the package may call any kernel, and
depends on all of them. Each kernel and unit that is compiled prints one line, so that nobody waits in silence. How numba is used is said in `_numba`.
"""

from __future__ import annotations

import ast
import hashlib
import os
import threading
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from . import _native
from ._native import INTERPRETED

__all__ = [
    "Kernel",
    "Part",
    "compiler",
    "inline",
    "kernel",
    "managed",
    "on_compilation",
    "resolve",
    "routine",
    "source_digest",
    "source_files",
    "stamp",
]

_OWN = ("_cache.py", "_call.py", "_jit.py", "_numba.py")


# ---------------------------------------------------------------- digests of sources


def source_files(root: Path | None = None, file: Path | None = None) -> list[Path]:
    """Every source file that can end up in the compiled code of a kernel's `file`, or of any kernel."""
    root = Path(__file__).parent if root is None else root
    sources = set((root / "kernels").rglob("*.py")) if file is None else _imported(root, file)
    return sorted(sources | {root / name for name in _OWN})


def source_digest(root: Path | None = None, file: Path | None = None) -> str:
    """Digest of these files, and of numba's version."""
    root = Path(__file__).parent if root is None else root
    digest = hashlib.sha256(compiler().VERSION.encode())
    for path in source_files(root, file):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(_read(path) if file is not None else path.read_bytes())
    return digest.hexdigest()


def _imported(root: Path, file: Path) -> set[Path]:
    """A kernel file and all kernel files that it imports, directly or not."""
    found, new = {file}, [file]
    while new:
        for path in _imports(new.pop()):
            if path not in found and root / "kernels" in path.parents:
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


# ---------------------------------------------------------------- numba, when it is needed

_LOCK = threading.RLock()
_LISTENERS: list[Callable[[Any], None]] = []
_BACK: list[Any] = []


def _new_lock() -> None:
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)  # a thread of the parent may have held it


def compiler() -> Any:
    """The module `_numba`, imported when it is first asked for."""
    if not _BACK:
        try:
            from . import _numba, _progress
        except ModuleNotFoundError as error:
            if error.name not in ("numba", "llvmlite"):
                raise
            raise ImportError(
                f"{error.name} is not installed, and needed for what was not compiled ahead of time: pip install numba"
            ) from error

        with _LOCK:
            if not _BACK:
                _numba.announce = _progress.announce
                for tell in _LISTENERS:
                    _numba.on_compilation(tell)
                _BACK.append(_numba)
    return _BACK[0]


def on_compilation(tell: Callable[[Any], None]) -> None:
    """Let `tell(function)` know whenever numba begins to compile a function (not when it loads one)."""
    with _LOCK:
        _LISTENERS.append(tell)
        if _BACK:
            _BACK[0].on_compilation(tell)


# ---------------------------------------------------------------- parts


class Part:
    """What compiled code calls, before numba knows of it.

    Parameters
    ----------
    make : callable
        Gives what numba understands; called once.
    function : callable, optional
        That it is made of.
    """

    def __init__(self, make: Callable[[], Any], function: Any = None) -> None:
        self._make = make
        self._made: Any = None
        if function is not None:
            update_wrapper(self, function)
            self.py_func = function

    @property
    def made(self) -> Any:
        """What numba understands."""
        if self._made is None:
            with _LOCK:
                if self._made is None:
                    made = self._make()
                    self._made = made
                    if "py_func" in vars(self):
                        resolve(self.py_func)
        return self._made

    def __call__(self, *arguments: Any) -> Any:
        """Compile it if need be, and call it."""
        return self.made(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Whatever numba's object has."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made, name)


def _names(code: CodeType) -> set[str]:
    """All names that some code mentions, inner functions included."""
    inner = (_names(value) for value in code.co_consts if isinstance(value, CodeType))
    return set(code.co_names).union(*inner)


def resolve(function: Any) -> None:
    """Put what numba understands in place of all parts that a function mentions: in its module, in others, in its closure.

    Kernels stay what they are; should compiled code call one, numba asks for its `_numba_type_`.
    """
    names, space = _names(function.__code__), function.__globals__
    for name in names & space.keys():
        if isinstance(space[name], ModuleType):
            _replace(vars(space[name]), names)
    _replace(space, names)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, Part):
            cell.cell_contents = cell.cell_contents.made


def _replace(space: dict[str, Any], names: set[str]) -> None:
    for name in names & space.keys():
        if isinstance(space[name], Part) and not isinstance(space[name], Kernel):
            space[name] = space[name].made


def _inner(function: Any, **options: bool) -> Any:
    if INTERPRETED:
        return function
    return Part(lambda: compiler().inner(function, **options), function)


def inline(function: Any) -> Any:
    """Decorate a short function that is always merged into its caller."""
    return _inner(function, merge=True)


def routine(function: Any) -> Any:
    """Decorate a part of an algorithm; compiled with its callers, not cached by itself.

    It must not make or return arrays: references are not counted.
    """
    return _inner(function)


def managed(function: Any) -> Any:
    """Decorate a part of an algorithm that makes arrays or returns them (views too), so that references are counted."""
    return _inner(function, count=True)


# ---------------------------------------------------------------- kernels


class Kernel(Part):
    """A kernel that numba compiles; beside machine code it serves arguments of other types.

    Parameters
    ----------
    function : callable
    types : str
        See `kernel`.
    source : callable, optional
        The function whose file it also depends on.
    """

    def __init__(self, function: Any, types: str, source: Any) -> None:
        super().__init__(lambda: compiler().entry(function, stamp(source or function), source), function)
        self.types = types

    def otherwise(self, *arguments: Any) -> Any:
        """Called by machine code with what does not fit: complex numbers are compiled for; everything else is a mistake."""
        if any(getattr(getattr(x, "dtype", None), "kind", "") == "c" or isinstance(x, complex) for x in arguments):
            return self.made(*arguments)
        shown = ", ".join(_shown(x) for x in arguments)
        raise TypeError(f"{_native.part_name(self.py_func)} takes ({', '.join(self.types.split())}), not ({shown}).")


def _shown(value: Any) -> str:
    if not hasattr(value, "dtype") or not value.ndim:
        return type(value).__name__
    contiguous = "" if value.flags.c_contiguous else " not contiguous"
    return f"{value.dtype}{list(value.shape)}{contiguous}"


def kernel(function: Any, source: Any = None) -> Any:
    """Decorate an entry point: from machine code if there is some, else compiled on first use and cached with a digest of its sources.

    Parameters
    ----------
    function : callable or str
        With a string, ``@kernel("n i1 f2")``, the types of the arguments are declared, and the kernel is compiled ahead of time where that is
        done: ``n`` is an integer, ``x`` a real number, ``b`` a truth value, ``i1`` to ``i3`` and ``f1`` to ``f3`` are C-contiguous arrays of
        int64 and float64 with so many axes. Complex arrays may stand in place of real ones; numba compiles for them.
    source : callable, optional
        The function whose file it also depends on, if that is not its own.
    """
    if isinstance(function, str):
        return lambda real: _kernel(real, function, None)
    return _kernel(function, "", source)


def _kernel(function: Any, types: str, source: Any) -> Any:
    if INTERPRETED:
        return function
    jit = Kernel(function, types, source)
    return (_native.kernel(function, jit.otherwise) if types else None) or jit
