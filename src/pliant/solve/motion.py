"""Prescribed motion: joints and tendon lengths as functions of time, with their first two derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..model.joints import Group
from ..model.pose import Pose
from ..model.validate import unknown_name
from ..system import System, numbers

__all__ = ["Motion", "MotionSet"]

Array = NDArray[np.float64]
Function = Callable[[float], Any]

_STEP = 1e-3  # s, of the numerical derivatives
# sixth-order central differences from −3 to 3
_FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60.0
_SECOND = np.array([2, -27, 270, -490, 270, -27, 2]) / 180.0


@dataclass(frozen=True)
class Motion:
    """A prescribed motion.

    Parameters
    ----------
    position : function of t, optional
        Joint coordinates (a number, or one per degree of freedom) [rad, m], a pose (`Pose` or 4×4) for a free joint, a
        rotation matrix for a spherical joint, a length [m] for a tendon.
    velocity, acceleration : function of t, optional
        Their derivatives; the body twist and its derivative for spherical and free joints. Numerically (about 1e-9) from
        the position if left out. Without a position the velocity is integrated from where the motion starts.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> shake = pl.Motion(np.sin, np.cos, lambda t: -np.sin(t))
    >>> spin = pl.Motion(velocity=lambda t: 2.0)  # from wherever it starts
    """

    position: Function | None = None
    velocity: Function | None = None
    acceleration: Function | None = None

    def __post_init__(self) -> None:
        """Check that there is something to follow."""
        if self.position is None and self.velocity is None:
            raise ValueError("a Motion needs a position or a velocity, as functions of t.")
        for name in ("position", "velocity", "acceleration"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise TypeError(f"Motion.{name} = {value!r} must be a function of t.")


def _differences(f: Function, t: float) -> tuple[Array, Array]:
    values = np.array([f(t + k * _STEP) for k in range(-3, 4)], dtype=float).reshape(7, -1)
    return _FIRST @ values / _STEP, _SECOND @ values / _STEP**2


class _Track:
    """One prescribed motion: values (n,) in coordinates, velocities and accelerations at any time."""

    def __init__(self, name: str, motion: Motion, size: int, group: Group | None, start: Array, t0: float) -> None:
        self.name, self.motion, self.size, self.group = name, motion, size, group
        self._at, self._value = t0, np.array(start, dtype=float)
        if group is not None and motion.position is None:
            raise ValueError(f"motion {name!r}: a {group.name} joint needs a position.")
        self(t0)

    def _numbers(self, f: Function, t: float, what: str) -> Array:
        given = f(t)
        if self.size == 1 and isinstance(given, float) and math.isfinite(given):
            return np.array([given])
        try:
            value = np.atleast_1d(numbers(what, given))
        except TypeError:
            value = np.zeros(0)
        if value.shape != (self.size,) or not np.all(np.isfinite(value)):
            raise ValueError(
                f"motion {self.name!r}: its {what} at t = {t:g} must be {self.size} finite number(s), got {given!r}."
            )
        return value

    def _pose(self, t: float, group: Group) -> Array:
        assert self.motion.position is not None
        value = self.motion.position(t)
        try:
            g = value.matrix if isinstance(value, Pose) else numbers("position", value)
        except TypeError:
            g = np.zeros(0)
        n = group.size
        if g.shape == (4, 4):
            g = g[:n, :n]
        if g.shape != (n, n) or not np.all(np.isfinite(g)):
            raise ValueError(
                f"motion {self.name!r}: its position at t = {t:g} must be a {'pose (4×4)' if n == 4 else 'rotation (3×3)'}."
            )
        out = np.eye(4)
        out[:n, :n] = g
        return out

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Coordinates, velocities, accelerations."""
        try:
            return self._scalars(t) if self.group is None else self._spatial(t, self.group)
        except Exception as error:
            error.add_note(f"in motion {self.name!r} at t = {t:.6g} s")
            raise

    def _spatial(self, t: float, group: Group) -> tuple[Array, Array, Array]:
        g = self._pose(t, group)

        def log(s: float) -> Array:
            return lie.log(np.linalg.solve(g, self._pose(s, group)))[: group.nv]

        rate, second = _differences(log, t)
        if self.motion.velocity is not None:
            rate = self._numbers(self.motion.velocity, t, "velocity")
            second = _differences(self.motion.velocity, t)[0]
        if self.motion.acceleration is not None:
            second = self._numbers(self.motion.acceleration, t, "acceleration")
        from scipy.spatial.transform import Rotation  # here, since it takes a while to import

        x, y, z, w = Rotation.from_matrix(g[:3, :3]).as_quat()
        return np.array([w, x, y, z, *g[:3, 3]][: group.nq]), rate, second

    def _scalars(self, t: float) -> tuple[Array, Array, Array]:
        m = self.motion
        if m.position is None:
            assert m.velocity is not None
            if t != self._at:
                from scipy.integrate import quad  # here, since it takes a while to import

                step = [
                    quad(lambda s, i=i: self._numbers(m.velocity, s, "velocity")[i], self._at, t, epsabs=1e-13)[0]  # type: ignore[arg-type]
                    for i in range(self.size)
                ]
                self._value, self._at = self._value + step, t
            value = self._value
            rate = self._numbers(m.velocity, t, "velocity")
        else:
            value = self._numbers(m.position, t, "position")
            if m.velocity is None:
                rate, second = _differences(m.position, t)
            else:
                rate = self._numbers(m.velocity, t, "velocity")
        if m.acceleration is not None:
            second = self._numbers(m.acceleration, t, "acceleration")
        elif m.velocity is not None:
            second = _differences(m.velocity, t)[0]
        return value, rate, second


class MotionSet:
    """All prescribed motions of a system: what the solvers read. Joints that nobody moves stay where they start."""

    def __init__(self, system: System, motion: Mapping[str, Any] | None, q: Array, t0: float = 0.0) -> None:
        self.system = system
        self._q = q.copy()
        self._moves = bool(np.any(system.known))
        self.joints: list[tuple[_Track, Any, Any]] = []
        self.tendons: list[tuple[_Track, int]] = []
        self.rows: list[tuple[_Track, list[int]]] = []
        self.starting: list[int] = []  # constraints (tendons, then rows of loops) whose values are those of the start
        if motion is not None and not isinstance(motion, Mapping):
            names = ", ".join(map(repr, system.told)) or "none in this robot"
            raise TypeError(f"motion = {motion!r} must be a dictionary by the name of what is prescribed ({names}).")
        given = dict(motion or {})
        for name, (place_q, place_v, group) in system.prescribed.items():
            value = given.pop(name, None)
            if value is None:
                continue
            size = np.arange(system.nv)[place_v].size
            track = _Track(name, _as_motion(value), size, group, q[place_q], t0)
            self.joints.append((track, place_q, place_v))
        lengths = system.held_tendons
        for name, k in lengths.items():
            start = (
                system.tendon_lengths(q)[0][k : k + 1] if name not in given or _rate_only(given[name]) else np.zeros(1)
            )
            self.starting += [k] if name not in given or _rate_only(given[name]) else []
            value = given.pop(name, None)
            track = _Track(name, _as_motion(start if value is None else value), 1, None, start, t0)
            self.tendons.append((track, k))
        for name, rows in system.told_rows.items():
            start = system.closure(q)[0][rows]
            if name not in given or _rate_only(given[name]):
                self.starting += [len(system.tendons.law) + row for row in rows]
            value = given.pop(name, None)
            track = _Track(name, _as_motion(start if value is None else value), len(rows), None, start, t0)
            self.rows.append((track, rows))
        if given:
            raise unknown_name("prescribed motion", next(iter(given)), system.told)

    @cached_property
    def pushes(self) -> dict[int, bool]:
        """Whether the tension of each held tendon may be negative."""
        tendons = list(self.system.robot.tendons.values())
        return {k: tendons[k].push for _track, k in self.tendons}

    @cached_property
    def held(self) -> dict[int, int]:
        """The input of each tendon whose length is prescribed, by its number."""
        inputs = self.system.input_names
        return {k: inputs.index(name) for (_track, k), name in zip(self.tendons, self.system.held_tendons)}

    @cached_property
    def coordinates(self) -> NDArray[np.bool_]:
        """Which coordinates (nq,) are prescribed."""
        out = np.zeros(self.system.nq, dtype=bool)
        shift, known = self.system.internal.shift, self.system.known
        out[shift[known[shift[:, 1]], 0]] = True
        for joint in self.system.manifold_joints:
            out[joint.q] = known[joint.v.start]
        return out

    @cached_property
    def active(self) -> bool:
        """Whether anything is prescribed."""
        return bool(self.joints or self.tendons or self.rows) or bool(np.any(self.system.known))

    def breaks(self, begin: float, end: float) -> list[float]:
        """Times strictly inside (begin, end) where a prescribed motion says that it jumps or has a kink: its attribute `breakpoints`."""
        tracks: list[_Track] = [track for track, _q, _v in self.joints]
        tracks += [track for track, _k in self.tendons]
        tracks += [track for track, _rows in self.rows]
        functions = [
            f for track in tracks for f in (track.motion.position, track.motion.velocity, track.motion.acceleration)
        ]
        found = {float(t) for f in functions for t in getattr(f, "breakpoints", ())}
        return sorted(t for t in found if begin < t < end)

    def joints_at(self, t: float, q: Array, v: Array, a: Array) -> None:
        """Write the prescribed coordinates, velocities and accelerations at time t into q, v, a."""
        if not self._moves:
            return
        known, at = self.system.known, self.coordinates
        q[at] = self._q[at]
        v[known] = 0.0
        a[known] = 0.0
        for track, place_q, place_v in self.joints:
            q[place_q], v[place_v], a[place_v] = track(t)

    def told_at(self, t: float) -> Array | None:
        """What rows of loop joints follow (rows, 3): value, rate, acceleration; None if none does."""
        if not self.rows:
            return None
        out = np.zeros((len(self.system.loop_rows), 3))
        for track, rows in self.rows:
            out[rows] = np.column_stack(track(t))
        return out

    def lengths_at(self, t: float) -> dict[int, float]:
        """Prescribed lengths of tendons by their number."""
        return {k: float(track(t)[0][0]) for track, k in self.tendons}

    def cables_at(self, t: float) -> dict[int, tuple[float, float]]:
        """Prescribed lengths [m] of tendons and their rates [m/s], by their number."""
        return {
            k: (float(length[0]), float(rate[0]))
            for (length, rate, _), k in ((track(t), k) for track, k in self.tendons)
        }

    def seconds_at(self, t: float) -> dict[int, float]:
        """Second derivatives of the prescribed lengths [m/s²], by the number of the tendon."""
        return {k: float(track(t)[2][0]) for track, k in self.tendons}

    def write(self, t: float, row: Array) -> None:
        """All that is prescribed at a time, in the order of `kernels.solve.tape.Tape.known`."""
        nq, nv, m = self.system.nq, self.system.nv, len(self.system.tendons.law)
        self.joints_at(t, row[:nq], row[nq : nq + nv], row[nq + nv : nq + 2 * nv])
        for k, (length, rate) in self.cables_at(t).items():
            row[nq + 2 * nv + k] = length
            row[nq + 2 * nv + m + k] = rate
        told = self.told_at(t)
        if told is not None:
            row[nq + 2 * nv + 2 * m :] = told[:, :2].T.ravel()


def _as_motion(value: Any) -> Motion:
    if isinstance(value, Motion):
        return value
    if callable(value):
        return Motion(value)
    return Motion(lambda t: value)


def _rate_only(value: Any) -> bool:
    return isinstance(value, Motion) and value.position is None
