"""What computing with a system writes, apart from the system, which is constant.

A `Workspace` belongs to one call, or to one solver, at a time. A call takes one from the system's pool and gives it back;
calls in other threads, and calls from inside a call (a user's load that asks for a pose), get others. A solver that keeps
something from step to step (factors, pivots, forces of constraints) has one of its own for its life.

No answer depends on what an earlier call left: `Workspace.prepare` sets the part that kernels read before they write (the
fields `layout.GIVEN`), everything else is written first.
"""

from __future__ import annotations

from functools import cached_property
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.model import Model
from ..kernels import engine
from ..kernels.layout import GIVEN, Work

__all__ = ["AS_DESCRIBED", "Given", "Pool", "Workspace"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Given(NamedTuple):
    """What acts on the robot beside inputs and generalised forces."""

    multipliers: Array | None = None  # (loop rows,) forces of loop joints; none
    gravity: float = 1.0  # factor on gravity
    share: float = 1.0  # factor on constant wrenches
    hold: Array | None = None  # (tendons, 4) where a step prescribes the length of a tendon (`kernels.slots`); none
    told: Array | None = None  # (loop rows, 3) value, rate, acceleration that rows of loop joints follow; zero
    memory: Array | None = None  # (nz,) internal variables of loads; zero: nothing has happened yet
    lag: float = 0.0  # s, since they were so; `kernels.layout.STATIC` in statics
    since: Array | None = None  # (nq,) coordinates then, for statics


AS_DESCRIBED = Given()


class Workspace:
    """Memory of the kernels for one call at a time; ``with`` gives it back to its pool.

    Attributes
    ----------
    packed : tuple
        Integers, reals and the buffer of this workspace: the first arguments of all kernels.
    work : Work
        The buffer as named arrays, for what kernels leave there as a result.
    pivot : ndarray (nv,)
        Of a factorisation.
    p : ndarray (engine.PARAMETERS,)
        Parameters of jobs that have none of their own.
    spare : tuple
        Outputs that nobody asked for: q (nq,), then two of (nv,).
    store : ndarray
        Factors of the mass matrix along the tree, see `kernels.solve.fronts`.
    """

    __slots__ = ("_blank", "_given", "_pool", "p", "packed", "pivot", "spare", "store", "work")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._blank = pool.blank
        buffer = np.zeros(pool.size)
        self.packed = (pool.ints, pool.floats, buffer)
        self.work = pool.views(buffer)
        self._given = buffer[1 : 1 + len(pool.blank)]
        self.pivot: Ints = np.zeros(pool.nv, dtype=np.int64)
        self.p: Array = np.zeros(engine.PARAMETERS)
        self.spare = (np.zeros(pool.nq), *self.work.newton[3:5])
        self.store: Array = np.zeros((1, *pool.store))

    def prepare(self, given: Given = AS_DESCRIBED) -> None:
        """Set what a call starts from."""
        self._given[:] = self._blank
        if given is AS_DESCRIBED:
            return
        multipliers, gravity, share, hold, told, memory, lag, since = given
        if multipliers is not None:
            self.work.multiplier[:] = multipliers
        if gravity != 1.0:
            self.work.gravity[:] *= gravity
        self.work.share[0] = share
        if hold is not None:
            self.work.hold[:] = hold
        if told is not None:
            self.work.told[:] = told
        if memory is not None:
            self.work.memory[:] = memory
        self.work.lag[0] = lag
        if since is not None:
            self.work.since[:] = since

    def __enter__(self) -> Workspace:
        """Ready for a kernel."""
        self._given[:] = self._blank
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self._pool.free.append(self)


class Pool:
    """Workspaces of a system that nobody uses now; as many as were ever used at once.

    `list.pop` and `list.append` are atomic, so that no lock is needed.
    """

    def __init__(self, model: Model, nq: int, nv: int) -> None:
        """For a compiled robot, whose buffer is a workspace as it is at first."""
        self.ints, self.floats, self._first = model.packed
        self.nq, self.nv = nq, nv
        self.size = len(self._first)
        self._model = model
        self.free: list[Workspace] = []

    @cached_property
    def store(self) -> tuple[int, int]:
        """Size of the factors along the tree."""
        rows, columns = self._model.fronts.size.tolist()
        return rows, columns

    @cached_property
    def blank(self) -> Array:
        """What every call starts from: the fields `layout.GIVEN`, which come first; before them is a place holder."""
        work = self._model.work
        assert work._fields[: len(GIVEN)] == GIVEN
        return self._first[1 : 1 + sum(array.size for array in work[: len(GIVEN)])]

    def take(self) -> Workspace:
        """A workspace that is free, or a new one; ``with pool.take() as space`` gives it back."""
        try:
            return self.free.pop()
        except IndexError:
            return Workspace(self)

    def views(self, buffer: Array) -> Work:
        """The arrays of a workspace as parts of its buffer."""
        sizes = [array.size for array in self._model.work]
        first = np.cumsum([1, *sizes]).tolist()
        spans = zip(first, first[1:], self._model.work)
        return Work(*(buffer[start:end].reshape(array.shape) for start, end, array in spans))
