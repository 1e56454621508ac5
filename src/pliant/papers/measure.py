"""Times and differences, measured in one way everywhere: CPU seconds of this process, the shortest of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._jit import on_compilation
from ..solve.result import Result

__all__ = ["cpu", "distance", "mismatch", "short"]

Array = NDArray[np.float64]
T = TypeVar("T")
_COMPILED: list[Any] = []  # what was compiled since this module was loaded
on_compilation(_COMPILED.append)


def cpu(call: Callable[[], T], rounds: int = 3, longest: float = 3.0) -> tuple[float, T]:
    """Shortest CPU time of a call [s] and what it returned; no further round once `longest` seconds are spent.

    A call during which kernels are compiled does not count.
    """
    best, spent, left = np.inf, 0.0, rounds
    while left > 0 and spent <= longest:
        compiled = len(_COMPILED)
        start = time.process_time()
        result = call()
        seconds = time.process_time() - start
        if len(_COMPILED) == compiled:
            best, spent, left = min(best, seconds), spent + seconds, left - 1
    return best, result


def distance(a: Result, b: Result, frames: tuple[str, ...], times: Array) -> Array:
    """Largest distance of frames of two runs at these times, (nt,) [m]."""
    first, second = a.resample(times), b.resample(times)
    return np.max([np.linalg.norm(first.positions(f) - second.positions(f), axis=1) for f in frames], axis=0)


def mismatch(x: Any, y: Any) -> Array:
    """Difference of two lists of vectors over the size of their mean, [002] eq. 37."""
    x, y = np.atleast_2d(x), np.atleast_2d(y)
    size = np.linalg.norm(0.5 * (x + y), axis=1)
    return np.linalg.norm(x - y, axis=1) / np.where(size > 0, size, 1.0)


def short(value: float, digits: int = 3) -> str:
    """A number in a few digits, for tables.

    Examples
    --------
    >>> from pliant.papers.measure import short
    >>> short(0.0123456), short(1234567.0), short(3e-7), short(float("nan"))
    ('0.0123', '1.23e+06', '3e-07', '–')
    """
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "∞"
    if value == 0:
        return "0"
    if 10 ** (digits - 1) <= abs(value) < 10**6:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"
