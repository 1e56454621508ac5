"""Buoyancy, drag, tail force and added mass of every step in a fluid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...kernels.loads.water import (
    F_ADDED,
    F_DRAG,
    F_STEP,
    W_ADDED,
    W_CENTRE,
    W_LINEAR,
    W_MASS,
    W_POS,
    W_ROT,
    W_SQUARE,
    W_TAIL,
    WATER_WIDTH,
    Water,
    apply_water,
)
from ...kernels.loads.water import (
    fluid as fluid_unit,
)
from ...model.fluid import STREAMS, Fluid, Hydrodynamics
from ...model.links import Body, Link, Rod
from ...model.pose import Pose
from ...model.robot import Robot
from ..degrees import flat
from ..family import Density, Family, against_world
from ..places import Anchor, Places, as_rows

__all__ = ["WATER", "added_mass", "move_matrix"]

Array = NDArray[np.float64]


def added_mass(robot: Robot, link: Link, X: Array | None = None) -> Array | None:
    """Added mass of a body (1, 6, 6) or of a rod per metre at X (m, 6, 6); None without."""
    effect = robot.hydrodynamics.get(link.name)
    if effect is None or robot.fluid is None or effect.added_mass is None:
        return None
    return effect.added_mass_at(link.content, robot.fluid, X)


def move_matrix(M: Array, offset: Pose) -> Array:
    """A 6×6 matrix from twists to wrenches in a frame, seen from the frame in which the former has this pose."""
    T = lie.Ad(np.linalg.inv(offset.matrix))
    return np.asarray(T.T @ M @ T, dtype=np.float64)


_NONE = np.zeros((6, 6))
Matrices = tuple[Array, Array, Array]  # drag in proportion to speed, to its square, added mass


def _row(anchor: Anchor, matrices: Matrices, mass: float, centre: Array, tail: Array) -> tuple[list[int], Array]:
    """A row of the tables of whole numbers, and one of reals."""
    linear, square, added = matrices
    row = np.zeros(WATER_WIDTH)
    row[W_ROT : W_ROT + 9] = anchor.offset.rotation.ravel()
    row[W_POS : W_POS + 3] = anchor.offset.translation
    row[W_LINEAR : W_LINEAR + 36] = linear.ravel()
    row[W_SQUARE : W_SQUARE + 36] = square.ravel()
    row[W_ADDED : W_ADDED + 36] = added.ravel()
    row[W_MASS] = mass
    row[W_CENTRE : W_CENTRE + 3] = centre
    row[W_TAIL : W_TAIL + 2] = tail
    drags = np.abs(linear) + np.abs(square)
    kind = 2 if np.any(drags[:3]) or np.any(drags[:, :3]) else int(np.any(drags) or np.any(tail))
    return [anchor.step, kind, int(np.any(added))], row


def _rows(
    places: Places, name: str, effect: Hydrodynamics, content: Rod | Body, fluid: Fluid
) -> tuple[list[list[int]], list[Array]]:
    """The rows of a link."""
    found: list[tuple[list[int], Array]] = []
    laws = (effect.linear_drag_at, effect.drag_at, effect.added_mass_at)
    if isinstance(content, Rod):
        X, w, anchors = places.spread(name)
        linear, square, added = (law(content, fluid, X) for law in laws)
        displaced = fluid.density * effect.displaced_at(content, X)
        for k, anchor in enumerate(anchors):
            own = (w[k] * linear[k], w[k] * square[k], w[k] * added[k])
            found.append(_row(anchor, own, w[k] * displaced[k], np.zeros(3), np.zeros(2)))
        tail = np.array(effect.tail_mass(content, fluid))
        if np.any(tail):
            found.append(_row(places.anchors[name][-1], (_NONE, _NONE, _NONE), 0.0, np.zeros(3), tail))
    else:
        linear, square, added = (law(content, fluid)[0] for law in laws)
        mass = fluid.density * float(effect.displaced_at(content)[0])
        centre = np.asarray(effect.centroid(content)) if mass else np.zeros(3)
        found.append(_row(places.anchors[name][0], (linear, square, added), mass, centre, np.zeros(2)))
    kept = [row for row in found if row[0][0] >= 0]
    return [place for place, _data in kept], [data for _place, data in kept]


class _Water(Family):
    name = "water"
    unit = fluid_unit
    apply = staticmethod(apply_water)
    descriptions = (Hydrodynamics,)

    def densities(self, robot: Robot, link: Link, rod: Rod) -> Iterator[Density]:
        effect, fluid = robot.hydrodynamics.get(link.name), robot.fluid
        if effect is None or fluid is None:
            return
        values = (effect, rod.section)
        for what in ("drag", "linear_drag", "added_mass"):
            if getattr(effect, what) is not None:
                function = flat(getattr(effect, f"{what}_at"), rod, fluid)
                yield Density(f"{what} of the water", values, function, 2 * rod.strains.degree)
        yield Density("volume in the water", values, flat(effect.displaced_at, rod), rod.strains.degree + 2)

    def tables(self, places: Places, inputs: Sequence[str]) -> Water:
        """All that a fluid does; buoyancy alone where it moves over space and time, which `streams` does."""
        found = self.whole(places)
        if any(isinstance(load, STREAMS) for load in places.robot.loads.values()):
            found.place[:, F_DRAG:] = 0
        return found

    def whole(self, places: Places) -> Water:
        """Tables for a uniform current."""
        robot, fluid = places.robot, places.robot.fluid
        place: list[list[int]] = []
        data: list[Array] = []
        for name, effect in robot.hydrodynamics.items() if fluid is not None else ():
            assert fluid is not None
            content = robot.link(name).content
            make = partial(_rows, places, name, effect, content, fluid)
            own = places.made((effect, content, fluid, places.anchors[name], places.grids.get(name)), "water", make)
            place += own[0]
            data += own[1]
        current = np.zeros(3) if fluid is None else np.array(fluid.current, dtype=float)
        return Water(place=as_rows(place, 3, np.int64), data=as_rows(data, WATER_WIDTH), fluid=current)

    def steps(self, tables: Water) -> NDArray[np.int64]:
        return tables.place[:, F_STEP]

    def depends_on_velocity(self, tables: Water) -> bool:
        return bool(np.any(tables.place[:, F_DRAG])) or self._pushed(tables, F_ADDED)

    def between(self, tables: Water) -> NDArray[np.int64]:
        return against_world(self.steps(tables))

    def switches(self, tables: Water) -> bool:
        return False

    def keeps_potential(self, tables: Water) -> bool:
        return not (self._pushed(tables, F_DRAG) or self._pushed(tables, F_ADDED))

    def swept(self, tables: Water) -> dict[str, Any]:
        return {"data": np.s_[:, W_LINEAR:]}

    @staticmethod
    def _pushed(tables: Water, column: Any) -> bool:
        """Whether there is a current, and something that it acts on."""
        return bool(np.any(tables.fluid) and np.any(tables.place[:, column]))


WATER = _Water()
