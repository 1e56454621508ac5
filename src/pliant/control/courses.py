"""Prescribed motion that is told step by step: where a joint, a loop or the length of a tendon is to be at the end of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import unknown_name, vector
from ..solve.motion import Motion
from ..system import System

__all__ = ["Courses"]

Array = NDArray[np.float64]


class _Course:
    """A cubic from where a motion is to where it is told to be, with the rate that it has there and the mean rate of the step at its end."""

    def __init__(self, value: Array, repeats: NDArray[np.bool_] | bool = False) -> None:
        self.data = np.zeros((7, len(value)))  # begin and end [s], values and rates there, whether it was told anything
        self.data[1], self.data[2], self.data[3] = 1.0, value, value
        self.repeats = repeats  # which values are angles that are known up to whole turns

    def go(self, begin: float, end: float, value: Array | None) -> None:
        """Reach a value at the end of the step from `begin` on; None: stay where it was told to be last."""
        d = self.data
        if value is None:
            value = d[3].copy()
        elif not d[6].any():  # an angle starts where it is, in the turn that is nearest to what is told
            d[3] += np.where(self.repeats, 2 * np.pi * np.round((value - d[3]) / (2 * np.pi)), 0.0)
            d[6] = 1.0
        d[2], d[4] = d[3], d[5]
        d[0], d[1], d[3] = begin, end, value
        d[5] = (d[3] - d[2]) / (end - begin)

    def _at(self, t: float, order: int) -> Array:
        begin, end, x0, x1, r0, r1 = self.data[:6]
        h = end - begin
        s = (t - begin) / h
        up, rate0, rate1 = (
            (s * s * (3 - 2 * s), s * (1 - s) ** 2, s * s * (s - 1)),
            (6 * s * (1 - s), (1 - s) * (1 - 3 * s), s * (3 * s - 2)),
            (6 - 12 * s, 6 * s - 4, 6 * s - 2),
        )[order]
        start = x0 if order == 0 else 0.0
        return np.asarray(start + (up * (x1 - x0) + h * (rate0 * r0 + rate1 * r1)) / h**order)

    def motion(self) -> Motion:
        """The cubic for a solver."""
        return Motion(*(lambda t, k=k: self._at(t, k) for k in range(3)))


class Courses:
    """Those of all prescribed motions that no function of time gives; a spherical or free joint needs a function.

    Parameters
    ----------
    system : System
    given : dict or None
        Motions that are functions of time.
    q : array (nq,)
        Where the robot starts.
    """

    def __init__(self, system: System, given: Mapping[str, Any] | None, q: Array) -> None:
        self._system = system
        names = set(system.told) - set(given or {})
        self._courses: dict[str, _Course] = {}
        for name, (place, _v, group) in system.prescribed.items():
            if name in names and group is None:
                self._courses[name] = _Course(q[place])
        for name, k in system.held_tendons.items():
            if name in names:
                self._courses[name] = _Course(system.tendon_lengths(q)[0][k : k + 1])
        for name, rows in system.told_rows.items():
            if name in names:
                self._courses[name] = _Course(system.closure(q)[0][rows], system.repeating_rows[rows])

    @property
    def motions(self) -> dict[str, Motion]:
        """For a solver, by name."""
        return {name: course.motion() for name, course in self._courses.items()}

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that they know."""
        return tuple(course.data for course in self._courses.values())

    def go(self, begin: float, end: float, targets: Mapping[str, Any] | None) -> None:
        """Reach what is told at the end of a step; what is not told stays where it was told to be last."""
        if not self._courses and targets is None:
            return
        values = {}
        for name, value in (targets or {}).items():
            if name not in self._courses:
                raise unknown_name("prescribed motion that can be told step by step", str(name), self._courses)
            size = self._courses[name].data.shape[1]
            values[name] = vector(f"motion[{name!r}]", np.atleast_1d(value), (size,))
        for name, course in self._courses.items():
            course.go(begin, end, values.get(name))
