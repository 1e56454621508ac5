"""Where a function of time jumps, found by sampling it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["first_jump"]

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

_SAMPLES = 32  # intervals that are looked at first
_PARTS = 8  # of an interval, at each closer look
_SMALLEST = 1e-9  # jumps smaller than this, relative to the largest value, do not count
_RESOLVED = 64  # intervals of fewer numbers than this are looked at number by number
_PLACES = 6  # that stand out and are looked at more closely
_MOST = 50  # jumps that are followed towards the first one


def first_jump(function: Callable[[float], Array], begin: float, end: float) -> tuple[float, int] | None:
    """The first jump that sampling finds strictly inside (begin, end).

    An interval with a jump is the one whose change stands out; the change of a continuous function, however steep, shrinks with
    the interval, that of a jump does not. Pulses between two samples are not seen.

    Parameters
    ----------
    function : callable
        From t to values (m,).
    begin, end : float
        Interval.

    Returns
    -------
    tuple of float and int, or None
        The first number after the jump, so that the number before it lies before the jump; and the component that jumps.
        None if no component jumps.
    """
    found = None
    for _ in range(_MOST):
        earlier = _search(function, begin, end)
        if earlier is None:
            break
        found = earlier
        end = math.nextafter(found[0], -math.inf)
    return found


def _search(function: Callable[[float], Array], begin: float, end: float) -> tuple[float, int] | None:
    """The first of those jumps that stand out most in each component."""
    a, b = math.nextafter(begin, math.inf), math.nextafter(end, -math.inf)
    if not a < b:
        return None
    times = _points(a, b, _SAMPLES)
    values = np.array([function(t) for t in times])
    largest = np.abs(values).max(axis=0)
    change = np.diff(values, axis=0)
    found = None
    for c in np.flatnonzero(np.abs(change).max(axis=0) > _SMALLEST * largest).tolist():
        sharp = _standing_out(change[:, c])
        most = [i for i in np.argsort(-sharp, kind="stable")[:_PLACES] if sharp[i] > _SMALLEST * largest[c]]
        for i in sorted({int(np.argmax(np.abs(change[:, c]))), *map(int, most)}):
            if found is not None and times[i] >= found[0]:
                break
            t = _descend(
                lambda t, c=c: float(function(t)[c]),  # type: ignore[misc]
                (times[i], times[i + 1]),
                (float(values[i, c]), float(values[i + 1, c])),
                least=_SMALLEST * float(largest[c]),
                spacing=math.ulp(max(abs(a), abs(b))),
            )
            if t is not None and (found is None or t < found[0]):
                found = t, c
    return found


def _descend(
    function: Callable[[float], float],
    between: tuple[float, float],
    ends: tuple[float, float],
    least: float,
    spacing: float,
) -> float | None:
    """Follow the change that stands out, down to two neighbouring numbers."""
    (a, b), (fa, fb) = between, ends
    wide = math.inf  # the change of an interval that is nearly resolved
    smooth = 0  # for how many closer looks nothing has stood out
    while smooth < 2:
        if b - a > _RESOLVED * spacing:
            times = _points(a, b, _PARTS)
        else:
            wide = abs(fb - fa) if wide == math.inf else wide
            times = _numbers(a, b, _PARTS)
        values = [fa, *map(function, times[1:-1]), fb]
        change = np.diff(values)
        size = np.abs(change)
        if size.max() <= least:
            return None
        sharp = _standing_out(change)
        smooth = smooth + 1 if sharp.max() <= least and wide == math.inf else 0
        i = int(np.argmax(sharp + 1e-6 * size))
        a, b, fa, fb = times[i], times[i + 1], values[i], values[i + 1]
        if b <= math.nextafter(a, math.inf):
            return b if size[i] > max(least, 0.5 * wide) else None
    return None


def _standing_out(change: Array) -> Array:
    """By how much each change differs from the lines through pairs of changes around it, leaving out pairs with a jump.

    Of the six pairs of its four neighbours, three have no part in a single other jump: the third smallest difference counts.
    """
    n = len(change)
    if n < 5:
        return np.abs(change - np.median(change))
    place, a, b = _pairs(n)
    line = change[a] + (change[b] - change[a]) * (place[:, None] - a) / (b - a)
    return np.sort(np.abs(change[:, None] - line), axis=1)[:, 2]


@cache
def _pairs(n: int) -> tuple[Ints, Ints, Ints]:
    """Numbers (n,) of intervals, and for each the first and second of the pairs (n, 6) of its neighbours."""
    place = np.arange(n)
    window = np.clip(place - 2, 0, n - 5)[:, None] + np.arange(5)
    others = window[window != place[:, None]].reshape(n, 4)
    first, second = np.triu_indices(4, 1)
    return place, others[:, first], others[:, second]


def _points(a: float, b: float, n: int) -> list[float]:
    """Ends of n equal parts."""
    return [a, *(a + (b - a) * k / n for k in range(1, n)), b]


def _numbers(a: float, b: float, n: int) -> list[float]:
    """Ends of at most n parts with as many floating-point numbers each: near zero these are closer together."""
    first, last = _order(a), _order(b)
    n = min(n, last - first)
    return [a, *(_number(first + (last - first) * k // n) for k in range(1, n)), b]


def _order(x: float) -> int:
    """The place of a number among all floating-point numbers."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(bits + 2**63)


def _number(order: int) -> float:
    bits = order if order >= 0 else -order - 2**63
    return float(np.int64(bits).view(np.float64))
