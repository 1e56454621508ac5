"""`Flock`: many robots of one task that move at once, each with a stepper of its own, shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._turns import Turn, alone
from ..control.stepper import Stepper
from ..control.window import StepError
from ..solve.statics import solve_statics
from ..system import FrameLike, System

if TYPE_CHECKING:
    from .task import Task

__all__ = ["Flock"]

Array = NDArray[np.float64]
Truths = NDArray[np.bool_]


class Flock:
    """n robots of a task.

    Parameters
    ----------
    task : Task
    count : int
        How many there are.
    threads : int
        That compute steps; the engine runs without Python's lock.
    randomize : dict
        Bounds (low, high) of parameters (`System.parameters`) by name, from which each robot draws anew at each start.

    Attributes
    ----------
    q, v, u : ndarray (n, nq), (n, nv), (n, nu)
        Coordinates, velocities, inputs.
    age : ndarray (n,)
        Steps since the start.
    own : dict of ndarray (n, …)
        What the task keeps of each robot, such as its goal.
    """

    def __init__(
        self, task: Task, count: int, threads: int = 1, randomize: dict[str, tuple[float, float]] | None = None
    ) -> None:
        system = task.system
        self._turn = Turn()
        self.task, self.count = task, count
        self._randomize = dict(randomize or {})
        for name in self._randomize:
            system.parameters[name]  # its error says what there is
        self._steppers = [self._stepper(system, task.rest) for _ in range(count)]
        self._first = [stepper.save() for stepper in self._steppers]
        self.q, self.v = np.zeros((count, system.nq)), np.zeros((count, system.nv))
        self.u, self.age = np.zeros((count, system.nu)), np.zeros(count, dtype=np.int64)
        self.own = {name: np.zeros((count, *shape)) for name, shape in task.fields.items()}
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._shares = [range(k, count, threads) for k in range(min(threads, count))]

    def _stepper(self, system: System, rest: Any) -> Stepper:
        task = self.task
        return Stepper(
            system, rest, step=task.step, substeps=task.substeps, method=task.method, tolerance=task.tolerance, subdivide=True, watch=0,
        )  # fmt: skip

    def system(self, k: int) -> System:
        """The robot k as it is now."""
        return self._steppers[k].system

    @alone
    def reset(self, k: int, rng: np.random.Generator) -> None:
        """Robot k at a new start of the task."""
        if self._randomize:
            values = {name: float(rng.uniform(*bounds)) for name, bounds in self._randomize.items()}
            system = self.task.system.with_parameters(values)
            rest = solve_statics(system, start=self.task.rest)
            self._steppers[k] = self._stepper(system, rest)
        else:
            self._steppers[k].restore(self._first[k])
        self.q[k], self.v[k], self.u[k], self.age[k] = self._steppers[k].q, self._steppers[k].v, 0.0, 0
        self.task.begin(self, k, rng)

    @alone
    def place(self, k: int, q: Array) -> None:
        """Put robot k elsewhere, at rest."""
        self._steppers[k].reset(q)
        self.q[k], self.v[k] = self._steppers[k].q, 0.0

    @alone
    def step(self, U: Array, which: Truths) -> Truths:
        """Move the robots that are meant with inputs U (n, nu); which of them could not, (n,)."""
        failed = np.zeros(self.count, dtype=bool)

        def go(share: range) -> None:
            for k in share:
                if which[k]:
                    stepper = self._steppers[k]
                    try:
                        stepper.step(U[k])
                    except StepError:
                        failed[k] = True
                    stepper.read(self.q[k], self.v[k])

        if self._pool is None:
            for share in self._shares:
                go(share)
        else:
            list(self._pool.map(go, self._shares))
        self.u[which] = U[which]
        self.age[which] += 1
        return failed

    def positions(self, frame: FrameLike) -> Array:
        """Positions of a frame of all robots [m], (n, 3)."""
        if not self._randomize:
            return self.task.system.pose(frame, self.q)[:, :3, 3]
        return np.array([self.system(k).pose(frame, self.q[k])[:3, 3] for k in range(self.count)])

    def velocities(self, frame: FrameLike) -> Array:
        """Velocities of a frame of all robots in world axes [m/s], (n, 3)."""
        if not self._randomize:
            return self.task.system.twist(frame, self.q, self.v, reference="world")[:, 3:]
        twists = [self.system(k).twist(frame, self.q[k], self.v[k], reference="world") for k in range(self.count)]
        return np.array(twists)[:, 3:]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
