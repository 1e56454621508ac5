"""Digests of functions and other values: whether what a sweep computes is what it computed before.

A function counts by what it does: its code with constants and names, defaults, what it closes over, and the functions, classes and values of the user's
that it refers to, wherever they are. Names of functions, comments and places in files do not count, so that a script can be run again, or its
functions imported. What belongs to Python, to pliant and to other installed packages counts by name. What cannot be looked into, or belongs to the
running program (locks, events, open files, loggers), counts by its type.
"""

from __future__ import annotations

import functools
import hashlib
import site
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..solve.identity import digest
from ..system import System

__all__ = ["fingerprint"]

_PLAIN = (type(None), bool, int, str, bytes, complex, type(Ellipsis))
_DEEP = 100
_RUNNING = frozenset(  # packages whose objects are of a running program, and say nothing of what it computes
    [
        "_contextvars",
        "_io",
        "_thread",
        "_weakref",
        "asyncio",
        "concurrent",
        "contextvars",
        "io",
        "logging",
        "multiprocessing",
        "queue",
        "socket",
        "subprocess",
        "threading",
        "weakref",
    ]
)


def fingerprint(value: Any) -> str:
    """Hexadecimal digits that are the same for values that do the same."""
    return hashlib.sha256(_Digest().of(value)).hexdigest()


@functools.cache
def _installed() -> tuple[str, ...]:
    """Folders of what is not the user's own."""
    paths = [*sysconfig.get_paths().values(), *getattr(site, "getsitepackages", list)(), str(Path(__file__).parents[1])]
    return tuple(str(Path(path)) for path in paths)


def _foreign(module: str | None) -> bool:
    """Whether a module belongs to Python or an installed package."""
    if not module or module == "__main__":
        return False
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and str(Path(file)).startswith(_installed())


class _Digest:
    """Goes through a value; a cycle counts by how far up it leads."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._kept: list[Any] = []  # so that no address is used twice
        self._stack: list[int] = []

    def of(self, value: Any) -> bytes:
        """Of one value."""
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__} {value!r};".encode()
        if isinstance(value, float):
            return f"float {value.hex()};".encode()
        key = id(value)
        if key in self._stack:
            return f"up {len(self._stack) - self._stack.index(key)};".encode()
        if key in self._known:
            return self._known[key]
        if len(self._stack) > _DEEP:
            return f"deep {type(value).__qualname__};".encode()
        self._stack.append(key)
        self._kept.append(value)
        try:
            self._known[key] = hashlib.sha256(b"".join(self._parts(value))).digest()
        finally:
            self._stack.pop()
        return self._known[key]

    def _parts(self, value: Any) -> Iterator[bytes]:
        kind = type(value)
        yield f"{kind.__qualname__} ".encode()
        if isinstance(value, System):
            yield digest(value).encode()
        elif isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            yield f"{array.dtype.str} {array.shape} ".encode()
            yield from map(self.of, array.ravel().tolist()) if array.dtype.hasobject else [array.tobytes()]
        elif isinstance(value, Mapping):
            for key, one in list(value.items()):
                yield self.of(key) + self.of(one)
        elif isinstance(value, (list, tuple)):
            yield from map(self.of, value)
        elif isinstance(value, (set, frozenset)):
            yield from sorted(_Digest().of(one) for one in value)
        elif isinstance(value, types.CodeType):
            yield from self._code(value)
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, types.MethodType):
            yield self.of(value.__self__) + self.of(value.__func__)
        elif isinstance(value, functools.partial):
            yield self.of(value.func) + self.of(value.args) + self.of(value.keywords)
        elif isinstance(value, types.ModuleType):
            yield value.__name__.encode() if value.__name__ != "__main__" else b""
        elif isinstance(value, type):
            yield from self._class(value)
        elif isinstance(getattr(value, "py_func", None), types.FunctionType):  # compiled by numba
            yield self.of(value.py_func)
        elif isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
            yield f"{getattr(value, '__module__', '')}.{value.__name__}".encode()
            yield self.of(getattr(value, "__self__", None)) if not isinstance(value, np.ufunc) else b""
        else:
            yield from self._object(value)

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        if _foreign(function.__module__):
            yield f"{function.__module__}.{function.__qualname__}".encode()
            yield from self._closed(function)
            return
        yield from map(self.of, (function.__code__, function.__defaults__, function.__kwdefaults__))
        yield from self._closed(function)
        names = _globals(function.__code__)
        for name in names:
            found = function.__globals__.get(name, function)
            if found is function:
                continue
            yield name.encode() + self.of(found)
            if isinstance(found, types.ModuleType) and not _foreign(found.__name__):
                yield from (self.of(vars(found)[one]) for one in names if one in vars(found))

    def _closed(self, function: types.FunctionType) -> Iterator[bytes]:
        for cell in function.__closure__ or ():
            try:
                yield self.of(cell.cell_contents)
            except ValueError:  # it is empty yet
                yield b"empty"

    def _code(self, code: types.CodeType) -> Iterator[bytes]:
        yield code.co_code
        yield from map(self.of, (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount))
        yield from map(self.of, code.co_consts)

    def _class(self, kind: type) -> Iterator[bytes]:
        yield kind.__qualname__.rpartition(".")[2].encode()
        if _foreign(kind.__module__):
            yield str(kind.__module__).encode()
            return
        yield from map(self.of, kind.__bases__)
        for name, value in vars(kind).items():
            inner: Any = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(inner, types.FunctionType) or not name.startswith("__"):
                yield name.encode() + self.of(inner)

    def _object(self, value: Any) -> Iterator[bytes]:
        """As it would be copied: its class and its state."""
        yield self.of(type(value))
        if type(value).__module__.partition(".")[0] in _RUNNING:
            return
        try:
            parts: Any = value.__reduce_ex__(2)
        except Exception:  # what cannot be copied, for whatever reason
            parts = dict(getattr(value, "__dict__", {}))
        if isinstance(parts, tuple):
            parts = [list(part) if isinstance(part, Iterator) else part for part in parts]
        yield self.of(parts)


def _globals(code: types.CodeType) -> list[str]:
    """Names that a function, or one inside it, may look up in its module, in their order."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_globals(constant))
    return list(names)
