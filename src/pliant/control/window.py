"""A record of one step, used again and again: what `Stepper` moves the robot with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..gradients.memory import Memory
from ..gradients.plan import PARTS, Begin, Plan
from ..gradients.schedule import Schedule
from ..kernels import engine, slots
from ..kernels.slots import HOLD_ACTIVE
from ..kernels.solve.record import Record
from ..kernels.solve.tape import ARRIVED, FULL
from ..solve.motion import MotionSet
from ..solve.result import Statistics
from ..system import Given, System
from .courses import Courses

__all__ = ["COUNTED", "StepError", "Window"]

Array = NDArray[np.float64]
COUNTED = {
    "iterations": slots.MARCH_ITERATIONS,
    "factorisations": slots.MARCH_FACTORISATIONS,
    "residuals": slots.MARCH_RESIDUALS,
}
_ROWS = ("inputs", "a", "force", "kept", "hold")  # of a record: what a step found
_STATE = ("q", "v", "memory", "taut", "impact")  # and where it ends


class StepError(ArithmeticError):
    """A step could not be taken; the stepper is where it was before."""


def _made_again(plan: Plan, inner: float, count: int, arrays: tuple[NDArray[Any], ...], counts: Any) -> Window:
    window = Window(plan, inner, count)
    for mine, other in zip(window.arrays, arrays):
        mine[:] = other
    window.counts = counts
    return window


class Window:
    """The record of a step of n inner steps, after that of the last inner step before it (row 0).

    Between steps it holds the last one: it began with the state of row 1 and ended with that of the last row. What the engine remembers
    (factors, predictions) stays where it is, so that the next step goes on as it would in one rollout.

    Parameters
    ----------
    plan : Plan
        With the options, and the start.
    inner : float
        Length of the inner steps [s].
    count : int
        How many make a step.
    """

    def __init__(self, plan: Plan, inner: float, count: int) -> None:
        self.system: System = plan.system
        self.inner, self.size = inner, count
        self.memory = Memory(plan.system, plan.tableau, count + 1, tolerance=plan.tolerance).reusable()
        self.u, self.tau = np.zeros(plan.system.nu), np.zeros(plan.system.nv)
        self.said = ""  # how the start was moved
        self._twin: Memory | None = None
        self.begin_at(plan)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as what it is made from and what it holds."""
        arrays = tuple(x.copy() for x in self.arrays)
        return _made_again, (self._begun, self.inner, self.size, arrays, self.counts)

    @property
    def record(self) -> Record:
        """The record in its memory."""
        return self.memory.record

    # ------------------------------------------------------------ the start

    def begin_at(self, plan: Plan) -> None:
        """Stand at the start of a plan."""
        self._begun = plan
        again = self.memory.renewed(plan.system, plan.tableau, self.size + 1, tolerance=plan.tolerance)
        assert again is not None
        self.origin, self.done = float(plan.times[0]), 0
        given: Any = {} if plan.motion is None else plan.motion
        if not isinstance(given, Mapping):
            MotionSet(self.system, given, plan.q)  # its error says what is needed
        self._courses = Courses(self.system, given, plan.q)
        self.plan = replace(plan, motion={**given, **self._courses.motions})
        self._motion = self.plan.fill(self.memory)
        self.u[:], self.tau[:] = 0.0, 0.0
        self.fresh: Begin | None = None  # what the first step starts with
        self.split, self.most = 0, 0
        self._set_out()
        record = self.record
        record.inputs[-1] = record.inputs[1]
        for name in _STATE:
            x = getattr(record, name)
            x[-1] = x[1]

    def _set_out(self) -> None:
        """Before the first step, whose inputs are in row 1: the start with its constraints met, and what iterations begin with."""
        memory, record = self.memory, self.record
        record.t[0], record.t[1] = self.origin, self.origin + self.inner
        record.inputs[0] = record.inputs[1]
        if self._motion.active:
            self._motion.write(self.origin, record.known[0, 0])
        begin = self.plan._begin(memory, self._motion)
        record.inputs[0, 0, : self.system.nu] = begin.u
        p = memory.p
        p[slots.MARCH_STEPS] = p[slots.MARCH_BUDGET] = 0.0
        memory.tape.a[0] = begin.a
        status = memory.run(engine.ROLLOUT, begin.given)
        if status != FULL:
            record.a[:] = 0.0
            raise StepError(self.plan._why(status, 0, memory).message)
        for name in _STATE:
            x = getattr(record, name)
            x[1] = x[0]
        p[slots.MARCH_FRESH], p[slots.MARCH_PAST] = 1.0, 0.0
        self.fresh, self.said = begin, begin.said

    @property
    def t(self) -> float:
        """Time of the last state [s]."""
        return self.origin + self.inner * self.done

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that a step reads before it writes them, and more."""
        return (*self.memory.arrays, self.u, self.tau, *self._courses.arrays)

    @property
    def counts(self) -> tuple[float, int, Begin | None, int, int]:
        """And all that it knows beside them."""
        return self.origin, self.done, self.fresh, self.split, self.most

    @counts.setter
    def counts(self, known: tuple[float, int, Begin | None, int, int]) -> None:
        self.origin, self.done, self.fresh, self.split, self.most = known

    # ------------------------------------------------------------ a step

    def step(self, u: Array | None, tau: Array | None, targets: Mapping[str, Any] | None) -> bool:
        """Go on by one step, or stay; True if no inner step had to be subdivided."""
        before = (self.u.copy(), self.tau.copy(), *(x.copy() for x in self._courses.arrays))
        self._courses.go(self.t, self.origin + self.inner * (self.done + self.size), targets)
        if u is not None:
            self.u[:] = u
        self.tau[:] = 0.0 if tau is None else tau
        try:
            self._put_step()
            whole = self._go()
        except BaseException:
            self._undo()
            for x, old in zip((self.u, self.tau, *self._courses.arrays), before):
                x[:] = old
            raise
        self.done += self.size
        return whole

    def _put_step(self) -> None:
        """Rows of the record: the last step before the others, with the times and inputs of a new one."""
        r, nu = self.record, self.system.nu
        for x in (r.inputs, r.a, r.force, r.kept, r.hold):
            x[0] = x[-1]
        for name in _STATE:
            x = getattr(r, name)
            x[1] = x[-1]
        r.t[0] = r.t[-2]
        times = self.origin + self.inner * np.arange(self.done, self.done + self.size + 1)
        r.t[1:] = times
        r.inputs[1:, :, :nu] = self.u
        r.inputs[1:, :, nu:] = self.tau
        if self._motion.active:
            c = self.plan.tableau.c
            for k in range(1, self.size + 1):
                begin, end = r.t[k], r.t[k + 1]
                for i, row in enumerate(r.known[k]):
                    self._motion.write(float(end if i == len(c) - 1 else begin + c[i] * (end - begin)), row)
        if self.done:
            self.fresh = None
        else:
            self._set_out()
            r.t[1:] = times
            assert self.fresh is not None
            r.inputs[1, 0, :nu] = self.fresh.u

    def _go(self) -> bool:
        """The inner steps; True if none had to be subdivided."""
        memory, whole = self.memory, True
        p = memory.p
        p[slots.MARCH_STEPS], p[slots.MARCH_BUDGET] = 1.0, self.size
        status = memory.run(engine.ROLLOUT)
        while status != ARRIVED:
            k, whole = int(p[slots.MARCH_STEPS]), False
            if not self.plan.subdivide:
                self._fail(status, k)
            self._in_parts(k)
            if k == self.size:
                break
            p[slots.MARCH_STEPS] = k + 1
            status = memory.run(engine.ROLLOUT)
        return whole

    def _fail(self, status: int, k: int) -> NoReturn:
        text = replace(self.plan, times=self.record.t)._why(status, k, self.memory).message
        self._refuse(text.replace("subdivide=True, which records the parts", "subdivide=True"))

    def _refuse(self, text: str) -> NoReturn:
        text = text.replace(" The error's `run` has the steps before it.", " The stepper stays where it was.")
        raise StepError(f"step {self.done // self.size + 1}, {text}")

    def _undo(self) -> None:
        """Stand where the step began: its end is its start again, and iterations start without a history."""
        record, memory, p = self.record, self.memory, self.memory.p
        for name in _ROWS:
            x = getattr(record, name)
            x[-1] = x[0]
        for name in _STATE:
            x = getattr(record, name)
            x[-1] = x[1]
        record.t[-2], record.t[-1] = record.t[0], self.t
        begin = self.before(1)
        memory.space.prepare(begin.given)
        memory.tape.a[0] = begin.a
        p[slots.MARCH_PAST] = p[slots.MARCH_FACTORED] = 0.0

    def before(self, k: int) -> Begin:
        """What row k of the record begins with, apart from its state."""
        if self.fresh is not None and k == 1:
            return self.fresh
        record, work = self.record, self.memory.space.work
        hold, told = work.hold.copy(), work.told.copy()
        hold[:, HOLD_ACTIVE] = record.taut[k]
        given = Given(record.force[k - 1, -1].copy(), hold=hold, told=told)
        return Begin(record.a[k - 1, -1].copy(), record.inputs[k - 1, -1, : self.system.nu].copy(), given, fresh=False)

    # ------------------------------------------------------------ the same in other steps

    def _part(self, first: int, last: int, times: Array) -> Plan:
        """A plan for the steps from row `first` to before row `last`, with other times."""
        record = self.record
        outer = record.t[first : last + 1].copy()
        return replace(
            self.plan, times=times, outer=outer, schedule=Schedule(outer[:1], "hold"), U=self.u[None].copy(), tau=self.tau.copy(),
            q=record.q[first].copy(), v=record.v[first].copy(), z=record.memory[first].copy(), motion=self._motion,
        )  # fmt: skip

    def _in_parts(self, k: int) -> None:
        """Take the inner step of row k, which cannot be taken at once, in parts, and go on from there as if it had been one."""
        record, memory, p = self.record, self.memory, self.memory.p
        times, statistics = np.linspace(record.t[k], record.t[k + 1], PARTS + 1), Statistics()
        finer, fine, _begin, failure = self._part(k, k + 1, times).play(self.before(k), statistics)
        if failure is not None:
            self._refuse(failure.message)
        for name in _ROWS:
            getattr(record, name)[k] = getattr(fine.record, name)[-1]
        for name in _STATE:
            getattr(record, name)[k + 1] = getattr(fine.record, name)[-1]
        for name in ("a", "past", "past_force", "past_times", "memory", "flow"):
            getattr(memory.tape, name)[:] = getattr(fine.tape, name)
        for name in ("multiplier", "hold", "told", "memory", "lag"):
            getattr(memory.space.work, name)[:] = getattr(fine.space.work, name)
        p[slots.MARCH_PAST], p[slots.MARCH_FACTORED], p[slots.MARCH_FRESH] = 1.0, 0.0, 0.0
        for name, slot in COUNTED.items():
            p[slot] += getattr(statistics, name)
        self.split += 1
        self.most = max(self.most, len(finer.times) - 1)

    def halved(self) -> Array | None:
        """Coordinates (nq,) where the last step would have ended with its inner steps halved; None if that fails."""
        plan = self._part(1, self.size + 1, self.record.t[1:])
        plan = replace(plan.halved(), subdivide=False)
        if self._twin is None:
            self._twin = Memory(self.system, plan.tableau, 2 * self.size, tolerance=plan.tolerance).reusable()
        _plan, fine, _begin, failure = replace(plan, spare=self._twin).play(self.before(1), Statistics())
        return None if failure is not None else fine.record.q[-1]
