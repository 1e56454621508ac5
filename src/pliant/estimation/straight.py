"""Robots whose tables are straight lines in their unknown parameters: written in place, instead of being compiled for every value."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gradients.parameters import step_of
from ..kernels.groups import POSITION
from ..kernels.layout import D_MASS, D_ROT, DATA_WIDTH, Tables
from ..kernels.loads.internal import Internal
from ..kernels.packing import array_of
from ..system import System
from .unknowns import Unknowns

__all__ = ["Straight", "straight"]

Array = NDArray[np.float64]
_ROUNDING = 1e-13  # of the largest value that an entry takes: by how much it may be off its line
_BETWEEN = (0.0, 0.37, 1.0)  # where lines are compared with compiled tables, from the lowest to the highest value


class Straight:
    """A system of its own whose tables are those of any values of the parameters.

    Parameters
    ----------
    system : System
        With the values `start`; nobody else may have it.
    changed : ndarray (c,)
        Numbers of the packed tables that change.
    start : ndarray (k,)
    slopes : ndarray (k, c)
    """

    def __init__(self, system: System, changed: NDArray[np.int64], start: Array, slopes: Array) -> None:
        self.system, self.changed, self._start, self.slopes = system, changed, start.copy(), slopes
        self._floats = system._model.packed.floats
        self._first = self._floats[changed].copy()
        self._now = start.copy()
        # steps for derivatives: residuals are linear in these tables, so that any will do; as large as the values, so that no digits are lost
        self.sizes = np.where(start != 0.0, np.abs(start), 1.0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled with a system of its own, which is compiled with the first values."""
        return _made_again, (self.system, self.changed, self._start, self.slopes, self._now)

    def put(self, values: Array) -> System:
        """The system with these values."""
        if (values != self._now).any():
            self._floats[self.changed] = self.at(values)
            self._now = values.copy()
        return self.system

    def at(self, values: Array) -> Array:
        """Entries that change, for these values."""
        return np.asarray(self._first + (values - self._start) @ self.slopes)

    def beside(self, values: Array) -> Iterator[float]:
        """Put the tables at the values and then, for each parameter, a step beside them; gives the steps, the first is 0."""
        here = self.at(values)
        try:
            self._floats[self.changed] = here
            yield 0.0
            for size, slope in zip(self.sizes, self.slopes):
                self._floats[self.changed] = here + size * slope
                yield float(size)
        finally:
            self._floats[self.changed], self._now = here, values.copy()


def _made_again(system: System, changed: NDArray[np.int64], start: Array, slopes: Array, now: Array) -> Straight:
    out = Straight(system, changed, start, slopes)
    out.put(now)
    return out


def straight(system: System, unknowns: Unknowns) -> Straight | None:
    """Tables as lines in the unknown parameters; None if they are none, or if more than stiffness, damping and inertia changes.

    They are compiled at the bounds and in between, each parameter alone and all at once, and must be on the line to rounding.
    """
    names, k = unknowns.parameters, len(unknowns.inputs)
    start, low, high = unknowns.start[k:], unknowns.low[k:].copy(), unknowns.high[k:].copy()
    for j, name in enumerate(names):
        wide = step_of(system, system._parameters[name], 1.0)
        low[j] = low[j] if np.isfinite(low[j]) else start[j] - wide
        high[j] = high[j] if np.isfinite(high[j]) else start[j] + wide
    points = [start]
    for j in range(len(names)):
        for share in _BETWEEN:
            point = start.copy()
            point[j] = low[j] + share * (high[j] - low[j])
            points.append(point)
    points += [low + share * (high - low) for share in _BETWEEN[1:]] if len(names) > 1 else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that nobody asked for
            robots = [system._revised(dict(zip(names, point.tolist())), near=True) for point in points]
    except ValueError:  # not every value is allowed
        return None
    packed = [robot._model.packed for robot in robots]
    same = all(np.array_equal(packed[0].ints, p.ints) and len(packed[0].floats) == len(p.floats) for p in packed)
    if not same or not all(np.array_equal(robots[0]._pool.blank, robot._pool.blank) for robot in robots):
        return None
    rows = np.array([p.floats for p in packed])
    changed = np.flatnonzero((rows != rows[0]).any(axis=0))
    if not np.isin(changed, _linear_entries(robots[0])).all():
        return None
    rows = rows[:, changed]
    n = len(_BETWEEN)
    slopes = np.array([(rows[j * n + n] - rows[j * n + 1]) / (high[j] - low[j]) for j in range(len(names))])
    found = Straight(robots[0], changed, start, slopes)
    off = np.abs(np.array([found.at(point) for point in points]) - rows)
    return found if (off <= _ROUNDING * np.abs(rows).max(axis=0)).all() else None


def _linear_entries(system: System) -> NDArray[np.int64]:
    """Numbers of the packed tables in which residuals are linear and which no sensor of places reads: stiffness, damping, mass and moments of inertia."""
    packed, floats = system._model.packed, system._model.packed.floats
    origin = floats.__array_interface__["data"][0]

    def numbers(array: Array) -> NDArray[np.int64]:
        first = (array.__array_interface__["data"][0] - origin) // floats.itemsize
        return np.arange(first, first + array.size)

    own = [numbers(array_of(packed, Internal, name, POSITION[Internal])) for name in ("stiffness", "damping")]
    data = numbers(array_of(packed, Tables, "data", POSITION[Tables])).reshape(-1, DATA_WIDTH)
    columns = itertools.chain([int(D_MASS)], range(int(D_ROT), DATA_WIDTH))
    return np.concatenate([*own, data[:, list(columns)].ravel()])
