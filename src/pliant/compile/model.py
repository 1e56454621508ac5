"""The compiled robot: its tables, packed for the kernels, with all that there is to know about them. It never changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, layout
from ..kernels.layout import Tables, Work
from ..kernels.loads.internal import Internal
from ..kernels.packing import Packed, pack, views_of
from ..kernels.solve.fronts import Fronts
from ..model.robot import Robot
from .assembly import Assembly, assemble
from .elimination import Elimination, plan_elimination
from .resistance import internal_tables

__all__ = ["Model", "compile_robot", "packed_model"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """Constant tables of a robot.

    Attributes
    ----------
    robot : Robot
        The description.
    refine : int
        How many times the points along rods and tendons were taken.
    assembly : Assembly
        Names, places, resistance, loads.
    elimination : Elimination
        How linear systems are solved along the tree.
    packed : Packed
        All tables as flat arrays; the buffer is a workspace as it is before the first call.
    kinds : tuple
        Class of each group of arrays in the order of packing, and whether it belongs to the workspace.
    """

    robot: Robot
    refine: int
    assembly: Assembly
    elimination: Elimination
    packed: Packed
    kinds: tuple[tuple[Any, bool], ...]

    @cached_property
    def _groups(self) -> tuple[Any, ...]:
        return views_of(self.packed, self.kinds)

    @property
    def tables(self) -> Tables:
        """The table of steps, as parts of the packed arrays; likewise the others."""
        return self._groups[0]

    @property
    def internal(self) -> Internal:
        """Resistance, and the maps between coordinates and velocities."""
        return self._groups[1]

    @cached_property
    def _by_class(self) -> dict[Any, Any]:
        return {kind: group for (kind, _written), group in zip(self.kinds, self._groups)}

    @property
    def fronts(self) -> Fronts:
        """The plan of the elimination."""
        return self._by_class[Fronts]

    @property
    def work(self) -> Work:
        """The workspace in the packed buffer."""
        return self._by_class[Work]

    @cached_property
    def loads(self) -> dict[str, Any]:
        """Tables of each family of loads by its name."""
        loading = self.assembly.loading
        behind = dict(zip(loading.outer, self._groups[len(engine.GROUPS) :]))
        return {name: behind.get(name, self._by_class[type(tables)]) for name, tables in loading.tables.items()}

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where the header has the tables of each family."""
        return self.assembly.loading.position

    @cached_property
    def bounds(self) -> tuple[Array, Array | None]:
        """Smallest and largest allowed inputs, each (nu,); None if none has a largest, so that nobody compares with it."""
        inputs = self.assembly.loading.inputs
        lower, upper = (np.array([getattr(own, side) for own in inputs]) for side in ("lower", "upper"))
        return lower, upper if np.any(upper < np.inf) else None

    def neutral(self) -> Array:
        """The reference configuration (nq,)."""
        q = np.zeros(self.assembly.nq)
        for joint in self.assembly.spatial:
            q[joint.q] = joint.group.neutral()
        return q


def compile_robot(robot: Robot, refine: int = 1) -> Model:
    """Compile a description, of which a copy is kept."""
    robot = robot.copy()
    return packed_model(robot, refine, assemble(robot, refine))


def packed_model(robot: Robot, refine: int, assembly: Assembly, elimination: Elimination | None = None) -> Model:
    """Pack the tables of an assembly; an `elimination` that is known to fit is taken over."""
    loading = assembly.loading
    internal = internal_tables(assembly)
    if elimination is None:
        tendons, efforts = loading.tables["tendons"], loading.tables["efforts"]
        elimination = plan_elimination(assembly.tables, internal, tendons, efforts)
    work = layout.make_work(assembly.tables, np.float64, **loading.work_sizes)
    constant = [assembly.tables, internal, *loading.inner, elimination.fronts]
    groups = [(group, False) for group in constant] + [(work, True)]
    groups += [(tables, False) for tables in loading.outer.values()]
    groups += [(space, True) for space in loading.spaces(assembly.nv)]
    packed = pack(groups)
    model = Model(robot, refine, assembly, elimination, packed, tuple((type(group), w) for group, w in groups))
    for family in loading.families:
        family.settle(model)
    return model


assert engine.GROUPS[-1] is Work  # which is packed behind the other tables of the engine
