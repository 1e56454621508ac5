"""Loop joints and couplings → frames, rows, and what acts on the coordinates of loop joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.efforts import E_KD, EFFORT_WIDTH
from ...kernels.loads.loops import DRIVE_INPUT, JOINT_FIRST, Loops, apply_loops, closures
from ...kernels.loads.rows import (
    ANGLE,
    COUPLING,
    DISTANCE,
    HEIGHT,
    LOG,
    POINT,
    ROLL,
    ROW_WIDTH,
    SKATE,
    SPIN,
    SWING,
    THREAD,
    TURN,
    TWIST,
)
from ...kernels.loads.units import INPUTS
from ...model.joints.constraints import Constraint
from ...model.links import Frame
from ...model.loops import Coupling, Loop, loop_rows
from ...model.robot import Robot
from ...model.units import Input
from ..family import Family
from ..places import Places, as_rows
from .efforts import is_cut, motor_law, stop_law

__all__ = ["KINDS", "LOOPS", "about_middle"]

KINDS = {
    "point": POINT,
    "angle": ANGLE,
    "turn": TURN,
    "swing": SWING,
    "twist": TWIST,
    "thread": THREAD,
    "distance": DISTANCE,
    "height": HEIGHT,
    "roll": ROLL,
    "skate": SKATE,
    "spin": SPIN,
    "log": LOG,
    "coupling": COUPLING,
}


def _drives(robot: Robot, name: str) -> list[tuple[Constraint, str | None, list[float]]]:
    """What acts on the coordinates of a loop joint: row, input, law."""
    loop = robot.loops[name]
    out: list[tuple[Constraint, str | None, list[float]]] = [
        (row, None, [0.0, k, c, np.inf, rest, rest, 0.0]) for row, k, c, rest in loop.springs()
    ]
    for motor_name, motor in robot.motors.items():
        if motor.link == name:
            out.append((loop.coordinates()[motor.dof], motor_name, motor_law(motor)))
    for stop in robot.stops.values():
        if stop.link == name and stop.restitution is None:  # others are bearings
            out.append((loop.coordinates()[stop.dof], None, stop_law(stop)))
    return [(about_middle(row, law), source, law) for row, source, law in out]


def about_middle(row: Constraint, law: list[float]) -> Constraint:
    """An angle that counts from the middle of where its spring is slack, so that it jumps as far from there as it can."""
    kind, data, what = row
    ends = [x for x in law[4:6] if np.isfinite(x)]
    if kind not in ("turn", "twist") or not ends or not any(ends):
        return row
    data = data.copy()
    data[15] = middle = float(np.mean(ends))
    law[4:6] = [x - middle for x in law[4:6]]
    return kind, data, what


class _Loops(Family):
    name = "loops"
    unit = closures
    apply = staticmethod(apply_loops)
    descriptions = (Loop, Coupling)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        for name, motor in robot.motors.items():
            if motor.link in robot.loops:
                yield Input(name, motor.input_unit(robot.loops[motor.link].joint))

    def frames(self, robot: Robot) -> Iterable[Frame]:
        return [frame for loop in robot.loops.values() for frame in (loop.a, loop.b)]

    def tables(self, places: Places, inputs: Sequence[str]) -> Loops:
        robot = places.robot
        joint, place, data, coordinate, law = [], [], [], [], []
        row: list[list[int]] = []
        drive: list[list[int]] = []
        term: list[list[int]] = []
        ratio: list[float] = []
        for name, loop in robot.loops.items():
            a, b = places.anchor(loop.a), places.anchor(loop.b)
            rows, drives = loop_rows(robot, name), _drives(robot, name)
            joint.append([a.step, b.step, len(row), len(row) + len(rows), len(drive), len(drive) + len(drives)])
            place.append(
                [*a.offset.rotation.ravel(), *a.offset.translation, *b.offset.rotation.ravel(), *b.offset.translation]
            )
            row += [[int(KINDS[kind]), 0, 0] for (kind, _numbers, _what), _motion in rows]
            data += [numbers for (_kind, numbers, _what), _motion in rows]
            drive += [[int(KINDS[kind[0]]), -1 if own is None else inputs.index(own)] for kind, own, _law in drives]
            coordinate += [numbers for (_kind, numbers, _what), _own, _law in drives]
            law += [numbers for _row, _own, numbers in drives]
        for coupling in robot.couplings.values():
            first = len(term)
            term += [[places.q0[link] + dof, places.v0[link] + dof] for link, dof, _ratio in coupling.terms]
            ratio += [value for _link, _dof, value in coupling.terms]
            row.append([int(COUPLING), first, len(term)])
            data.append(coupling.row()[1])
        return Loops(
            joint=as_rows(joint, 6, np.int64),
            place=as_rows(place, 24),
            row=as_rows(row, 3, np.int64),
            data=as_rows(data, ROW_WIDTH),
            term=as_rows(term, 2, np.int64),
            ratio=np.array(ratio, dtype=float),
            drive=as_rows(drive, 2, np.int64),
            coordinate=as_rows(coordinate, ROW_WIDTH),
            law=as_rows(law, EFFORT_WIDTH),
        )

    def present(self, tables: Loops) -> bool:
        return len(tables.row) > 0

    def steps(self, tables: Loops) -> NDArray[np.int64]:
        return tables.joint[:, :JOINT_FIRST].ravel()

    def depends_on_velocity(self, tables: Loops) -> bool:
        return bool(np.any(tables.law[:, E_KD]))

    def couples(self, tables: Loops) -> str:
        if len(tables.joint):
            return "loop joints connect its branches"
        return "couplings connect its joints" if len(tables.row) else ""

    def switches(self, tables: Loops) -> bool:
        return is_cut(tables.law)

    def between(self, tables: Loops) -> NDArray[np.int64]:
        return tables.joint[:, :2]

    def keeps_potential(self, tables: Loops) -> bool:
        return not np.any(np.isin(tables.drive[:, 0], [SPIN]))

    def swept(self, tables: Loops) -> dict[str, Any]:
        return {"place": ..., "ratio": ...}

    def tasks(self, tables: Loops) -> int:
        driven = bool(np.any(tables.drive[:, DRIVE_INPUT] >= 0))
        return super().tasks(tables) if driven else super().tasks(tables) & ~(1 << int(INPUTS))

    def work_sizes(self, tables: Loops) -> dict[str, int]:
        return {"loop_rows": len(tables.row)}


LOOPS = _Loops()
