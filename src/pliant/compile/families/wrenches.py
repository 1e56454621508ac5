"""Point wrenches, distributed wrenches and dipoles → wrenches at steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.wrenches import DIPOLE, IN_BODY, IN_WORLD, P_STEP, Wrenches, apply_wrenches
from ...model.links import Frame, Link, Rod
from ...model.loads import FIELD, Dipole, DistributedWrench, PointWrench
from ...model.magnetics import feels_field
from ...model.robot import Robot
from ...model.units import Input
from ..degrees import Function
from ..family import Density, Family, against_world
from ..places import Anchor, Places, as_rows

__all__ = ["WRENCHES"]

Array = NDArray[np.float64]


def _columns(wrench: DistributedWrench) -> Function:
    return lambda X: np.column_stack(wrench.at(X))


class _Wrenches(Family):
    name = "wrenches"
    apply = staticmethod(apply_wrenches)
    descriptions = (PointWrench, DistributedWrench, Dipole)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        for name, wrench in robot.wrenches.items():
            if not wrench.constant:
                yield Input(name, wrench.input_unit)
        for axis in FIELD if feels_field(robot) else ():
            yield Input(axis, "T")

    def frames(self, robot: Robot) -> Iterable[Frame]:
        yield from (wrench.frame for wrench in robot.wrenches.values() if isinstance(wrench, PointWrench))
        yield from (dipole.place for dipole in robot.dipoles.values() if isinstance(dipole.place, Frame))

    def densities(self, robot: Robot, link: Link, rod: Rod) -> Iterator[Density]:
        degree = rod.strains.degree + 2
        for name, wrench in robot.wrenches.items():
            if isinstance(wrench, DistributedWrench) and wrench.rod == link.name:
                yield Density(f"wrench {name!r}", (wrench.force, wrench.moment), _columns(wrench), degree)
        for name, dipole in robot.dipoles.items():
            if dipole.place == link.name:
                yield Density(f"dipole {name!r}", (dipole.moment,), dipole.at, degree)

    def tables(self, places: Places, inputs: Sequence[str]) -> Wrenches:
        place: list[list[int]] = []
        data: list[Array] = []

        def add(anchor: Anchor, kind: int, index: int, first: Array, second: Array) -> None:
            if anchor.step >= 0:
                place.append([anchor.step, int(kind), index])
                offset = anchor.offset
                data.append(np.concatenate([offset.rotation.ravel(), offset.translation, first, second]))

        for name, wrench in places.robot.wrenches.items():
            index = -1 if wrench.constant else inputs.index(name)
            kind = int(IN_WORLD if wrench.axes == "world" else IN_BODY)
            if isinstance(wrench, PointWrench):
                add(places.anchor(wrench.frame), kind, index, wrench.moment, wrench.force)
                continue
            X, w, anchors = places.spread(wrench.rod)
            moment, force = wrench.at(X)
            for k, anchor in enumerate(anchors):
                add(anchor, kind, index, w[k] * moment[k], w[k] * force[k])
        for dipole in places.robot.dipoles.values():
            if isinstance(dipole.place, Frame):
                points, moments = [places.anchor(dipole.place)], dipole.at(np.array([0.0]))
            else:
                X, w, points = places.spread(dipole.place)
                moments = w[:, None] * dipole.at(X)
            for c, axis in enumerate(FIELD):
                for anchor, dipole_moment in zip(points, moments):
                    add(anchor, int(DIPOLE), inputs.index(axis), dipole_moment, np.eye(3)[c])
        return Wrenches(place=as_rows(place, 3, np.int64), data=as_rows(data, 18))

    def steps(self, tables: Wrenches) -> NDArray[np.int64]:
        return tables.place[:, P_STEP]

    def between(self, tables: Wrenches) -> NDArray[np.int64]:
        return against_world(self.steps(tables))


WRENCHES = _Wrenches()
