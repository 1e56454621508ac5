"""What is said while numba compiles: the part, and about how long it will take."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ._jit import _names as named_in
from ._native import part_name

__all__ = ["announce", "expected_seconds"]

# Seconds of one free core for a thousand bytes of bytecode: of functions that are new to this process, and of all that a part calls,
# which are optimised together. Fitted to the times of all parts of the package.
_PER_NEW, _PER_ANY = 0.13, 0.06
_SEEN: set[Any] = set()


def _called(function: Any) -> Iterator[Any]:
    """The functions that a function mentions and that are compiled with it."""
    names, space = named_in(function.__code__), function.__globals__
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (space[name] for name in names & space.keys()):
        values.append(value)
        if isinstance(value, ModuleType) and value.__name__.startswith("pliant."):
            values += [vars(value)[name] for name in names & vars(value).keys()]
    for value in values:
        function = getattr(value, "__dict__", {}).get("py_func")
        if function is not None:
            yield function


def expected_seconds(function: Any) -> float:
    """About how long numba will take for a kernel or the function of a unit; remembers that it was asked."""
    found, new = {function}, [function]
    while new:
        for other in _called(new.pop()):
            if other not in found:
                found.add(other)
                new.append(other)
    size = {one: len(one.__code__.co_code) / 1000 for one in found}
    fresh = sum(size[one] for one in found - _SEEN)
    _SEEN.update(found)
    return max(1.0, _PER_NEW * fresh + _PER_ANY * sum(size.values()))


def announce(function: Any) -> None:
    """Print what is compiled now, and about how long it will take."""
    if os.environ.get("PLIANT_QUIET") or not (function.__module__ or "").startswith("pliant.kernels."):
        return
    seconds = expected_seconds(function)
    length = f"{seconds:.0f} s" if seconds < 10 else f"{round(seconds, -1):.0f} s"
    print(
        f"pliant: compiling {part_name(function)}, about {length}, once per machine and version ...",
        file=sys.stderr,
        flush=True,
    )
