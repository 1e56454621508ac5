"""Actuators and loads → flat tables: where each one acts in the table of steps.

The counterpart of `assembly` for what drives the robot and what acts on it. It knows no load by name: all that there is to say
about one is said by its family, see `family` and `families`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.groups import END, POSITION, Units
from ..kernels.packing import Packed, view_of
from ..model.robot import Robot
from ..model.units import Input
from .families import families_of, inputs_of
from .family import Family
from .places import Places

__all__ = ["Loading", "build_loading", "input_names", "points_of_interest"]


class _Views(Mapping[str, Any]):
    """Tables by name as parts of packed arrays, made when they are first asked for."""

    def __init__(self, packed: Packed, kinds: Mapping[str, Any], position: Mapping[str, int]) -> None:
        self._packed, self._kinds, self._position = packed, kinds, position
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = view_of(self._packed, self._kinds[name], False, self._position[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


@dataclass(frozen=True)
class Loading:
    """The tables of all families, and what their presence means for the recursion and for solvers."""

    families: tuple[Family, ...]
    tables: Mapping[
        str, Any
    ]  # by name of the family; of a model parts of its packed arrays, so that there are no others
    kinds: Mapping[str, Any]  # their classes
    inputs: tuple[Input, ...]
    notes: tuple[str, ...]  # what the points of tendons do not resolve

    def __post_init__(self) -> None:
        """Check that the families of the engine are those that it expects."""
        found = tuple(kind for kind in self.kinds.values() if kind in POSITION)
        assert found == tuple(group for group in POSITION if group in found)

    def packed_in(self, packed: Packed) -> Loading:
        """The same with the tables that are in packed arrays."""
        out = replace(self, tables=_Views(packed, self.kinds, self.position))
        for name in ("position", "smooth", "steady"):  # which depend on what there is, not on numbers
            if name in self.__dict__:
                out.__dict__[name] = self.__dict__[name]
        return out

    def _any(self, question: str) -> bool:
        return any(getattr(family, question)(self.tables[family.name]) for family in self.families)

    @cached_property
    def steps(self) -> frozenset[int]:
        """The steps that carry loads."""
        steps = (family.steps(self.tables[family.name]) for family in self.families)
        return frozenset(np.concatenate([np.asarray(s, dtype=np.int64) for s in steps]).tolist()) - {-1}

    @cached_property
    def velocity_loads(self) -> bool:
        """Whether wrenches on steps depend on velocities."""
        return self._any("depends_on_velocity")

    @cached_property
    def coupled(self) -> str:
        """What couples parts of the robot beyond the tree; "" if nothing does."""
        reasons = (family.couples(self.tables[family.name]) for family in self.families)
        return next((reason for reason in reasons if reason), "")

    @cached_property
    def conservative(self) -> bool:
        """Whether all families leave a potential in statics."""
        return all(family.keeps_potential(self.tables[family.name]) for family in self.families)

    @cached_property
    def supplies(self) -> bool:
        """Whether any family may give energy to a motion while inputs stand still."""
        return any(family.supplies(self.tables[family.name]) for family in self.families)

    @cached_property
    def switches(self) -> bool:
        """Whether any family has forces with branches."""
        return self._any("switches")

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Names of the families that the robot has any of."""
        return tuple(family.name for family in self.families if family.present(self.tables[family.name]))

    # ------------------------------------------------------------ packing

    @property
    def inner(self) -> tuple[Any, ...]:
        """The tables of units and of what is part of the engine, in the order of `kernels.groups.GROUPS`."""
        return (self.units, *(tables for tables in self.tables.values() if type(tables) in POSITION))

    @property
    def outer(self) -> dict[str, Any]:
        """The other tables, which are packed behind those of `kernels.groups.GROUPS`."""
        return {name: tables for name, tables in self.tables.items() if type(tables) not in POSITION}

    @cached_property
    def position(self) -> dict[str, int]:
        """Where the header has the tables of each family."""
        out, end = {}, END
        for name, kind in self.kinds.items():
            out[name] = POSITION.get(kind, end)
            end += 0 if kind in POSITION else len(kind._fields)
        return out

    @cached_property
    def working(self) -> tuple[Family, ...]:
        """The families whose units have something to do."""
        return tuple(f for f in self.families if f.unit is not None and f.needs_unit(self.tables[f.name]))

    @property
    def units(self) -> Units:
        """Addresses of units, which are compiled now unless they are in the cache."""
        position = self.position
        end = END + sum(len(tables) for tables in self.outer.values())
        rows = []
        for family in self.working:
            assert family.unit is not None
            rows.append([family.unit.address, family.tasks(self.tables[family.name]), position[family.name], end])
            end += 0 if family.unit.space is None else len(family.unit.space._fields)
        return Units(np.array(rows, dtype=np.int64).reshape(-1, 4))

    def spaces(self, nv: int) -> tuple[Any, ...]:
        """The workspaces of units, which are packed last."""
        return tuple(
            family.space(self.tables[family.name], nv)
            for family in self.working
            if family.unit is not None and family.unit.space is not None
        )

    @property
    def work_sizes(self) -> dict[str, int]:
        """What families need of the common workspace: arguments of `kernels.layout.make_work`."""
        sizes = (family.work_sizes(self.tables[family.name]) for family in self.families)
        return {name: size for part in sizes for name, size in part.items()} | {"memory": len(self.smooth)}

    def sticks(self, memory: NDArray[np.float64]) -> bool:
        """Whether internal variables (nz,) leave forces at rest without a potential."""
        first = 0
        for family in self.families:
            count = family.memory(self.tables[family.name])
            if count and family.sticks(self.tables[family.name], memory[first : first + count]):
                return True
            first += count
        return False

    def rubbed(self, q: NDArray[np.float64]) -> float:
        """How much energy [J] dry friction in joints takes along a row of configurations (n, nq), at most."""
        return sum(family.rubbed(self.tables[family.name], q) for family in self.families)

    @cached_property
    def steady(self) -> NDArray[np.bool_]:
        """Which internal variables are set once in a step, (nz,)."""
        return np.concatenate([np.zeros(0, dtype=bool), *(f.steady(self.tables[f.name]) for f in self.families)])

    @cached_property
    def smooth(self) -> NDArray[np.bool_]:
        """Which internal variables have a rate, (nz,)."""
        return np.concatenate([np.zeros(0, dtype=bool), *(f.smooth(self.tables[f.name]) for f in self.families)])


def input_names(robot: Robot) -> tuple[str, ...]:
    """Names of all inputs in order."""
    return tuple(own.name for own in inputs_of(robot))


def points_of_interest(robot: Robot, rod: str) -> list[float]:
    """Points X inside a rod where something acts, which become computational points."""
    frames = [*robot.frames.values(), *(frame for family in families_of(robot) for frame in family.frames(robot))]
    return [float(frame.X or 0.0) for frame in frames if frame.link == rod]


def build_loading(places: Places) -> Loading:
    """Tables of everything that drives the robot and acts on it."""
    families, inputs = families_of(places.robot), inputs_of(places.robot)
    names = [own.name for own in inputs]
    tables = {family.name: family.tables(places, names) for family in families}
    first = 0
    for family in families:
        count = family.memory(tables[family.name])
        if count:
            tables[family.name] = tables[family.name]._replace(first=np.array([first], dtype=np.int64))
        first += count
    kinds = {name: type(own) for name, own in tables.items()}
    return Loading(families, tables, kinds, inputs, tuple(places.notes))
