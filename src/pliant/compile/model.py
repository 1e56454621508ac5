"""The compiled robot: its tables, packed for the kernels, with all that there is to know about them. It never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, layout
from ..kernels.groups import POSITION
from ..kernels.layout import Tables, Work
from ..kernels.loads.internal import Internal
from ..kernels.packing import Packed, pack, view_of
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
        Names, places, resistance, loads; its tables are parts of the packed arrays.
    elimination : Elimination
        How linear systems are solved along the tree.
    packed : Packed
        All tables as flat arrays; the buffer is a workspace as it is before the first call.
    """

    robot: Robot
    refine: int
    assembly: Assembly
    elimination: Elimination
    packed: Packed

    def _view(self, kind: Any) -> Any:
        """One of the groups of the engine as parts of the packed arrays."""
        return view_of(self.packed, kind, kind is Work, POSITION[kind])

    def __post_init__(self) -> None:
        """There is one copy of every table, the packed one."""
        object.__setattr__(self, "assembly", self.assembly.packed_in(self.packed))

    @property
    def tables(self) -> Tables:
        """The table of steps, as parts of the packed arrays; likewise the others."""
        return self.assembly.tables

    @cached_property
    def internal(self) -> Internal:
        """Resistance, and the maps between coordinates and velocities."""
        return self._view(Internal)

    @cached_property
    def fronts(self) -> Fronts:
        """The plan of the elimination."""
        return self._view(Fronts)

    @cached_property
    def work(self) -> Work:
        """The workspace in the packed buffer."""
        return self._view(Work)

    @property
    def loads(self) -> Mapping[str, Any]:
        """Tables of each family of loads by its name."""
        return self.assembly.loading.tables

    @property
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


def compile_robot(robot: Robot, refine: int = 1, *, cut: bool = False) -> Model:
    """Compile a description, of which a copy is kept; with `cut` fixed joints are steps too."""
    robot = robot.copy()
    return packed_model(robot, refine, assemble(robot, refine, cut=cut))


def packed_model(robot: Robot, refine: int, assembly: Assembly, old: Model | None = None) -> Model:
    """Pack the tables of an assembly; the plan of an `old` model that differs in numbers only is taken over."""
    loading = assembly.loading
    internal = internal_tables(assembly)
    tendons, efforts = loading.tables["tendons"], loading.tables["efforts"]
    if old is not None and _same_structure(old, assembly, internal):
        elimination = old.elimination
    else:
        elimination = plan_elimination(assembly.tables, internal, tendons, efforts)
    work = layout.make_work(assembly.tables, np.float64, **loading.work_sizes)
    constant = [assembly.tables, internal, *loading.inner, elimination.fronts]
    groups = [(group, False) for group in constant] + [(work, True)]
    groups += [(tables, False) for tables in loading.outer.values()]
    groups += [(space, True) for space in loading.spaces(assembly.nv)]
    packed = pack(groups)
    model = Model(robot, refine, assembly, elimination, packed)
    for family in loading.families:
        if family.present(loading.tables[family.name]):
            family.settle(model)
    return model


def _same_structure(old: Model, assembly: Assembly, internal: Internal) -> bool:
    """Whether all that the plan of the elimination follows from is the same."""
    before, after = old.assembly.loading.tables, assembly.loading.tables
    pairs = [
        *((getattr(old.tables, name), getattr(assembly.tables, name)) for name in ("block", "col_v")),
        *((getattr(old.internal, name), getattr(internal, name)) for name in ("start", "column", "springs")),
        *((getattr(before["tendons"], name), getattr(after["tendons"], name)) for name in ("point", "phi")),
        (before["efforts"].place, after["efforts"].place),
    ]
    return all(np.array_equal(a, b) for a, b in pairs)


assert engine.GROUPS[-1] is Work  # which is packed behind the other tables of the engine
