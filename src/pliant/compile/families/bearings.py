"""Friction, springs of any characteristic, backlash, and stops with restitution → laws on coordinates of joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.bearings import (
    B_KIND,
    B_LOOP,
    B_MEMORY,
    B_TERM,
    B_TERMS,
    BEARING_WIDTH,
    F_FORCE,
    F_MORE,
    FRICTION,
    P_COEFFICIENT,
    SPRING,
    STOP,
    Bearings,
    apply_bearings,
    bearing_forces,
)
from ...kernels.loads.rows import ROW_WIDTH
from ...model.actuators import Stop
from ...model.bearings import Backlash, JointFriction, JointSpring
from ...model.joints.constraints import Constraint
from ..family import Family
from ..places import Places, as_rows
from .contact import impact_damping
from .loops import KINDS, about_middle

__all__ = ["BEARINGS"]

Array = NDArray[np.float64]
SLOWEST = 1e-3
"""Rate [rad/s or m/s] of the slowest impact that has a restitution of its own."""


def _friction(part: JointFriction) -> list[float]:
    more = 0.0 if part.breakaway is None else part.breakaway / part.coulomb - 1.0
    time = part.stiction / part.slip_speed
    return [part.coulomb, part.viscous, part.stiction, time, more, part.stribeck or 1.0]


def _stop(stiffness: float, dissipation: float, restitution: float | None, lower: float, upper: float) -> list[float]:
    impact = -1.0 if restitution is None else impact_damping(restitution)
    return [stiffness, dissipation, impact, SLOWEST, lower, upper]


class _Builder:
    """Collects laws and the coordinates on which they act."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.law: list[list[int]] = []
        self.data: list[list[float]] = []
        self.term: list[list[int]] = []
        self.ratio: list[float] = []
        self.joint: list[list[int]] = []
        self.place: list[list[float]] = []
        self.coordinate: list[Array] = []
        self.pieces: list[tuple[Array, Array, Array]] = []
        self.remembered = 0

    def put(self, kind: int, data: list[float], where: list[int], remembers: bool) -> None:
        """Add a law on a coordinate."""
        self.law.append([kind, *where, self.remembered if remembers else -1])
        self.data.append(data)
        self.remembered += remembers

    def sum_of(self, terms: Sequence[tuple[str, int, float]]) -> list[int]:
        """A sum of coordinates of the tree."""
        first = len(self.term)
        self.term += [[self.places.q0[link] + dof, self.places.v0[link] + dof] for link, dof, _ratio in terms]
        self.ratio += [ratio for _link, _dof, ratio in terms]
        return [-1, first, len(self.term)]

    def coordinate_of(self, link: str, dof: int, data: list[float], ranged: bool) -> list[int]:
        """A coordinate of a joint of the tree or of a loop, which counts from the middle of the range of its law."""
        loop = self.places.robot.loops.get(link)
        if loop is None:
            return self.sum_of([(link, dof, 1.0)])
        row: Constraint = loop.coordinates()[dof]
        kind, numbers, _what = about_middle(row, data) if ranged else row
        a, b = self.places.anchor(loop.a), self.places.anchor(loop.b)
        self.joint.append([a.step, b.step, int(KINDS[kind])])
        self.place.append(
            [*a.offset.rotation.ravel(), *a.offset.translation, *b.offset.rotation.ravel(), *b.offset.translation]
        )
        self.coordinate.append(numbers)
        return [len(self.joint) - 1, 0, 0]

    def add_stop(self, stop: Stop) -> None:
        """A stop with restitution; others are among the forces on single coordinates (`efforts`)."""
        data = _stop(stop.stiffness, stop.dissipation, stop.restitution, stop.lower, stop.upper)
        self.put(int(STOP), data, self.coordinate_of(stop.link, stop.dof, data, ranged=True), remembers=True)

    def add(self, part: JointFriction | JointSpring | Backlash) -> None:
        """Friction, a spring or backlash."""
        if isinstance(part, JointFriction):
            data = _friction(part)
            where = self.coordinate_of(part.link, part.dof, data, ranged=False)
            self.put(int(FRICTION), data, where, remembers=part.coulomb > 0.0)
        elif isinstance(part, JointSpring):
            first = sum(len(start) for start, _centre, _rows in self.pieces)
            self.pieces.append(part.pieces())
            end, half = first + len(self.pieces[-1][0]), 0.5 * part.gap
            data = [float(first), float(end), 0.0, 0.0, part.rest - half, part.rest + half]
            self.put(int(SPRING), data, self.coordinate_of(part.link, part.dof, data, ranged=True), remembers=False)
        else:
            half = 0.5 * part.gap
            data = _stop(part.stiffness, part.dissipation, part.restitution, part.offset - half, part.offset + half)
            self.put(int(STOP), data, self.sum_of(part.terms), remembers=part.restitution is not None)

    def tables(self) -> Bearings:
        """The finished tables."""
        return Bearings(
            law=as_rows(self.law, 5, np.int64),
            data=as_rows(self.data, BEARING_WIDTH),
            term=as_rows(self.term, 2, np.int64),
            ratio=np.array(self.ratio, dtype=float),
            joint=as_rows(self.joint, 3, np.int64),
            place=as_rows(self.place, 24),
            coordinate=as_rows(self.coordinate, ROW_WIDTH),
            piece=_piece_rows(self.pieces),
            first=np.array([-1], dtype=np.int64),
        )


def _piece_rows(curves: list[tuple[Array, Array, Array]]) -> Array:
    """Pieces of all springs: from where on, centre, energy there (zero at x = 0), coefficients."""
    width = max((rows.shape[1] for _start, _centre, rows in curves), default=1)
    out = []
    for start, centre, rows in curves:
        power = np.arange(1, rows.shape[1] + 1)

        def grown(k: int, x: float, rows: Array = rows, centre: Array = centre, power: Array = power) -> float:
            """Integral of a piece from its centre to x."""
            return float(np.sum(rows[k] / power * (x - centre[k]) ** power))

        energy = np.zeros(len(start))
        for k in range(1, len(start) - 1):  # the first two have the same centre
            energy[k + 1] = energy[k] + grown(k, centre[k + 1])
        k = max(int(np.searchsorted(start, 0.0, side="right")) - 1, 0)
        energy -= energy[k] + grown(k, 0.0)
        block = np.zeros((len(start), int(P_COEFFICIENT) + width))
        block[:, 0], block[:, 1], block[:, 2] = np.maximum(start, -1e300), centre, energy
        block[:, int(P_COEFFICIENT) : int(P_COEFFICIENT) + rows.shape[1]] = rows
        out.append(block)
    return np.vstack(out) if out else np.zeros((0, int(P_COEFFICIENT) + width))


class _Bearings(Family):
    name = "bearings"
    unit = bearing_forces
    apply = staticmethod(apply_bearings)
    descriptions = (JointFriction, JointSpring, Backlash)

    def tables(self, places: Places, inputs: Sequence[str]) -> Bearings:
        builder = _Builder(places)
        for stop in places.robot.stops.values():
            if stop.restitution is not None:
                builder.add_stop(stop)
        for part in places.robot.bearings.values():
            builder.add(part)
        return builder.tables()

    def steps(self, tables: Bearings) -> NDArray[np.int64]:
        return tables.joint[:, :2].ravel()

    def depends_on_velocity(self, tables: Bearings) -> bool:
        return len(tables.joint) > 0

    def couples(self, tables: Bearings) -> str:
        return "friction, springs or backlash act on its joints" if self.present(tables) else ""

    def keeps_potential(self, tables: Bearings) -> bool:
        return True  # but for friction, see `sticks`

    def between(self, tables: Bearings) -> NDArray[np.int64]:
        return tables.joint[:, :2]

    def memory(self, tables: Bearings) -> int:
        return int(tables.law[:, B_MEMORY].max(initial=-1)) + 1

    def sticks(self, tables: Bearings, memory: Array) -> bool:
        return bool(np.any((tables.law[:, B_KIND] == FRICTION) & (tables.data[:, F_FORCE] > 0)))

    def rubbed(self, tables: Bearings, q: Array) -> float:
        total = 0.0
        for law, data in zip(tables.law, tables.data):
            if law[B_KIND] == FRICTION and law[B_LOOP] < 0:
                at = slice(law[B_TERM], law[B_TERMS])
                s = q[:, tables.term[at, 0]] @ tables.ratio[at]
                total += float(data[F_FORCE] * (1.0 + data[F_MORE]) * np.abs(np.diff(s)).sum())
        return total

    def steady(self, tables: Bearings) -> NDArray[np.bool_]:
        return ~self.smooth(tables)

    def smooth(self, tables: Bearings) -> NDArray[np.bool_]:
        return np.array(tables.law[tables.law[:, B_MEMORY] >= 0, B_KIND] == FRICTION, dtype=bool)


BEARINGS = _Bearings()
