"""Loop joints → their frames and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.loops import ANGLE, HELIX, JOINT_FIRST, POINT, Loops, apply_loops, closures
from ...model.links import Frame
from ...model.loops import Loop
from ...model.robot import Robot
from ..family import Family
from ..places import Places, as_rows

__all__ = ["LOOPS"]

_KINDS = {"point": POINT, "angle": ANGLE, "helix": HELIX}


class _Loops(Family):
    name = "loops"
    unit = closures
    apply = staticmethod(apply_loops)
    descriptions = (Loop,)

    def frames(self, robot: Robot) -> Iterable[Frame]:
        return [frame for loop in robot.loops.values() for frame in (loop.a, loop.b)]

    def tables(self, places: Places, inputs: Sequence[str]) -> Loops:
        joint, place, data = [], [], []
        row: list[list[int]] = []
        for loop in places.robot.loops.values():
            a, b = places.anchor(loop.a), places.anchor(loop.b)
            rows = loop.rows()
            joint.append([a.step, b.step, len(row), len(row) + len(rows)])
            place.append(
                [*a.offset.rotation.ravel(), *a.offset.translation, *b.offset.rotation.ravel(), *b.offset.translation]
            )
            row += [[int(_KINDS[kind])] for kind, _numbers, _what in rows]
            data += [numbers for _kind, numbers, _what in rows]
        return Loops(
            joint=as_rows(joint, 4, np.int64),
            place=as_rows(place, 24),
            row=as_rows(row, 1, np.int64),
            data=as_rows(data, 10),
        )

    def steps(self, tables: Loops) -> NDArray[np.int64]:
        return tables.joint[:, :JOINT_FIRST].ravel()

    def depends_on_velocity(self, tables: Loops) -> bool:
        return False

    def couples(self, tables: Loops) -> str:
        return "loop joints connect its branches" if len(tables.joint) else ""

    def between(self, tables: Loops) -> NDArray[np.int64]:
        return tables.joint[:, :2]

    def keeps_potential(self, tables: Loops) -> bool:
        return True

    def work_sizes(self, tables: Loops) -> dict[str, int]:
        return {"loop_rows": len(tables.row)}


LOOPS = _Loops()
