"""What a family of loads or actuators says of itself, so that nothing else needs to know it by name.

A family is a description (in `model/`, or a `Load` in a user's own file), a kernel (in `kernels/loads/`, or a unit in a user's own
file) and an object of a class derived from `Family`, which turns descriptions into the tables that the kernel reads. Everything
else asks that object: loading, packing, inputs, points and elements of rods, workspace, solvers, results, tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.loads.units import FORCES, MATRICES, MEMORY, TANGENT, LoadUnit
from ..model.links import Frame, Link, Rod
from ..model.robot import Robot
from ..model.units import Input
from .degrees import Function
from .places import Places

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Density", "Family", "against_world"]


def against_world(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of each step with the world, for `Family.between`."""
    return np.column_stack([steps, np.full(len(steps), -1, dtype=np.int64)])


class Density(NamedTuple):
    """Something that is spread along a rod and may vary along it."""

    name: str  # for messages
    values: tuple[Any, ...]  # in which functions of X may be
    function: Function  # (m,) → (m, k), its values at points X
    degree: int | None  # of the polynomial that it is multiplied with; None: its own


class Family:
    """A family of loads or actuators. What its class does not answer has an answer that is right, if not the cheapest.

    Attributes
    ----------
    name : str
        Of its tables, as in ``system.loads[name]``.
    unit : LoadUnit or None
        Its kernel, see `kernels.loads.units`; None for what is part of the engine.
    apply : kernel function or None
        ``apply(t, work, tables, space, q, v, u, r)``: its forces for any number type, for complex-step derivatives.
    descriptions : tuple of classes
        Of the descriptions that a robot holds.
    """

    name: str
    unit: LoadUnit | None = None
    apply: Any = None
    descriptions: tuple[type, ...] = ()

    # ------------------------------------------------------------ of the description

    def loads(self, robot: Robot) -> Mapping[str, Any]:
        """Descriptions by name that were added with ``robot.add_load(name, description)``."""
        return {name: load for name, load in robot.loads.items() if load.family is self}

    def inputs(self, robot: Robot) -> Iterable[Input]:
        """Its inputs, in order."""
        return [own for name, load in self.loads(robot).items() for own in load.inputs(name)]

    def frames(self, robot: Robot) -> Iterable[Frame]:
        """Where it acts; inside a rod these become computational points."""
        return [frame for load in self.loads(robot).values() for frame in load.frames()]

    def densities(self, robot: Robot, link: Link, rod: Rod) -> Iterator[Density]:
        """What it spreads along a rod, which must have points enough for it."""
        return iter(())

    def tables(self, places: Places, inputs: Sequence[str]) -> Any:
        """The tables (a NamedTuple of arrays); `inputs` are the names of all inputs in order."""
        raise NotImplementedError

    def settle(self, model: Model) -> None:
        """Complete its tables, ``model.loads[self.name]``, by what follows from the neutral configuration; if it is present."""

    # ------------------------------------------------------------ of the tables

    def present(self, tables: Any) -> bool:
        """Whether the robot has any of it."""
        return len(tables[0]) > 0

    def needs_unit(self, tables: Any) -> bool:
        """Whether its unit has something to do."""
        return self.present(tables)

    def steps(self, tables: Any) -> NDArray[np.int64]:
        """The steps on which it acts (−1: the world); needed unless it acts on coordinates alone."""
        if self._knows(FORCES):
            raise NotImplementedError(f"{type(self).__name__} must say on which steps it acts.")
        return np.zeros(0, dtype=np.int64)

    def depends_on_velocity(self, tables: Any) -> bool:
        """Whether wrenches on steps change with velocities."""
        return self._knows(MATRICES) and self.present(tables)

    def couples(self, tables: Any) -> str:
        """What couples steps, or coordinates of several steps, beyond K and N of each step; "" if nothing does.

        A sentence such as "loop joints connect its branches". Implicit steps then take dense factors.
        """
        return f"{self.name} act on it beyond single steps" if self._knows(TANGENT) and self.present(tables) else ""

    def keeps_potential(self, tables: Any) -> bool:
        """Whether in statics all of it has the potential of ENERGY, for any inputs."""
        return self.unit is None or not self.present(tables)

    def supplies(self, tables: Any) -> bool:
        """Whether it may give energy to a robot in motion though its inputs stand still, as gas that flows in does."""
        return False

    def between(self, tables: Any) -> NDArray[np.int64] | None:
        """Pairs of steps (n, 2) that push each other with opposite wrenches, −1 for the world, if that is all it does but for forces on
        coordinates of rods and of joints that are not free; None if it may do something else.

        Robots keep their momentum (`simulate` with method "midpoint") if no pair contains the world.
        """
        return None

    def swept(self, tables: Any) -> dict[str, Any]:
        """Of a unit, the numbers of its tables by which the sweep over the tables (`kernels.reverse.tables`) knows derivatives.

        By name of an array, the index of these numbers in it. If there are any, the sweep also knows what the unit owes to the steps that it couples.
        """
        return {}

    def switches(self, tables: Any) -> bool:
        """Whether its forces have branches (contact, friction that sticks or slips, limits), so that differences by its numbers must not leave one."""
        return self.unit is not None and self.present(tables)

    def tasks(self, tables: Any) -> int:
        """The tasks that its unit is called for, as bits: those that it knows, less what is nothing with these tables."""
        return 0 if self.unit is None else self.unit.tasks

    def _knows(self, task: Any) -> bool:
        return self.unit is not None and bool(self.unit.tasks >> int(task) & 1)

    def space(self, tables: Any, nv: int, dtype: type = np.float64) -> Any:
        """Its own workspace, if its unit has one (an object of `unit.space`); `dtype` is complex for `apply` in tests."""
        return ()

    def work_sizes(self, tables: Any) -> dict[str, int]:
        """What it needs of the common workspace: arguments of `kernels.layout.make_work`."""
        return {}

    def memory(self, tables: Any) -> int:
        """How many internal variables it has; if any, its tables have an array `first` (1,) that is set to the place of the first of them."""
        return 0

    def knows_memory(self, tables: Any) -> bool:
        """Whether its unit knows how all of its internal variables change (the task MEMORY)."""
        return self._knows(MEMORY)

    def sticks(self, tables: Any, memory: NDArray[np.float64]) -> bool:
        """Whether with these internal variables (memory,) its forces at rest have no potential though `keeps_potential` says that they do."""
        return bool(np.any(memory))

    def smooth(self, tables: Any) -> NDArray[np.bool_]:
        """Which of them have a rate, (memory,); the others are remembered from step to step."""
        return np.ones(self.memory(tables), dtype=bool)

    def rubbed(self, tables: Any, q: NDArray[np.float64]) -> float:
        """How much energy [J] dry friction on coordinates takes along a row of configurations (n, nq), at most; see `solve.energy_watch`."""
        return 0.0

    def steady(self, tables: Any) -> NDArray[np.bool_]:
        """Which of them are set once in a step, such as the speed of an impact, so that there is nothing between two values, (memory,)."""
        return np.zeros(self.memory(tables), dtype=bool)

    def lasting(self, tables: Any) -> Any:
        """The tables without what differs from process to process, such as addresses."""
        return tables
