"""Motions that are computed again and again with other inputs: one memory for the steps, their maps, and feedback about the last one that was kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import slots
from ..kernels.solve.tape import ARRIVED
from ..solve.result import Statistics
from .costs.states import States
from .memory import Memory, Sizes
from .plan import Ends, Part, Plan
from .remembered import known_memory
from .rollout import Rollout
from .shares import Shares

__all__ = ["Repeated", "knots_of", "moved_on"]

Array = NDArray[np.float64]


def knots_of(plan: Plan) -> NDArray[np.int64]:
    """Which row of inputs acts in each step, (n,), of a plan with held inputs."""
    middle = 0.5 * (plan.times[:-1] + plan.times[1:])
    return np.clip(np.searchsorted(plan.schedule.knots, middle) - 1, 0, len(plan.U) - 1)


def moved_on(x: NDArray[Any], rows: int) -> None:
    """Move rows to the front, in place; the last is repeated."""
    n = min(rows, len(x))
    if n:
        x[:-n] = x[n:].copy()
        x[-n:] = x[-1].copy()


class Repeated:
    """Steps from a start with held inputs, as often as one likes.

    Parameters
    ----------
    plan : Plan
        With inputs that are held.
    before : bool
        Whether gains have columns for the inputs of the knot before.
    threads : int
        That find maps.

    Attributes
    ----------
    failed : int or None
        The step that could not be taken in the last motion.
    """

    def __init__(self, plan: Plan, *, before: bool = False, threads: int = 1) -> None:
        known_memory(plan.system)
        if len(plan.system.tables.colloc):
            raise ValueError(
                f"{plan.system.name!r} has rods with collocated integration, whose maps would be inexact: compile with integration='magnus'."
            )
        self.plan, self.system = plan, plan.system
        n = len(plan.times) - 1
        sizes = Sizes(maps=True, knots=len(plan.U), before=before)
        self.memory = Memory(plan.system, plan.tableau, n, sizes, tolerance=plan.tolerance)
        self.motion = plan.fill(self.memory)
        self._options = self.memory.p.copy()
        self.statistics = Statistics()
        self.failed: int | None = None
        self.memory.lever.knot[:] = knots_of(plan)
        self._known = False  # whether there are maps of the target
        self._shares = Shares(plan, threads)
        self._begin = plan._begin(self.memory, self.motion)

    @property
    def knot(self) -> NDArray[np.int64]:
        """Which row of inputs acts in each step, (n,)."""
        return self.memory.lever.knot

    def set_tolerance(self, tolerance: float) -> None:
        """Where Newton's iteration stops from now on."""
        self._options[slots.OPTION_NEWTON] = tolerance / (self.memory.RTOL + self.memory.ATOL)

    def set_start(self, q: Array, v: Array, z: Array | None = None, t: float | None = None) -> None:
        """Start from another state, at another time."""
        record = self.memory.record
        record.begin_q[:], record.begin_v[:] = q, v
        if z is not None:
            record.memory[0] = z
        if t is not None and t != record.t[0]:
            record.t[:] += t - record.t[0]
            if self.motion.active:
                times, _ends = replace(self.plan, times=record.t).stage_times()
                for row, when in zip(record.known.reshape(len(times), -1), times.tolist()):
                    self.motion.write(when, row)
        if self.motion.active:
            self.motion.joints_at(float(record.t[0]), record.begin_q, record.begin_v, np.zeros(self.system.nv))
        if self.motion.tendons:  # which cables hold is another matter there
            there = replace(self.plan, times=record.t.copy(), z=record.memory[0].copy())
            self._begin = there._begin(self.memory, self.motion)

    def set_inputs(self, U: Array) -> None:
        """Rows of inputs (knots, nu) of the next open motion."""
        nu = self.system.nu
        self.memory.record.inputs[:, :, :nu] = U[self.knot][:, None]

    def roll(self) -> bool:
        """A motion with the inputs that were set; False if a step cannot be taken."""
        return self._go(feedback=False)

    def feed_back(self, open_inputs: Array, gain: Array) -> bool:
        """A motion with inputs ``clip(open + gain (x ⊖ x̄))`` at the starts of knots; x̄ is the motion that was last kept. False if a step cannot be taken."""
        lever = self.memory.lever
        lever.open[:], lever.gain[:] = open_inputs, gain
        return self._go(feedback=True)

    def _go(self, feedback: bool) -> bool:
        memory = self.memory
        memory.p[:] = self._options
        memory.p[slots.MARCH_FEEDBACK], memory.p[slots.MARCH_GUESS] = float(feedback), float(feedback and self._known)
        status = self.plan._go(memory, self._begin, 0, self.statistics)
        self.failed = None if status == ARRIVED else int(memory.p[slots.MARCH_STEPS])
        return status == ARRIVED

    def keep(self) -> None:
        """Take the last motion as the target of feedback, and find its maps."""
        lever, record = self.memory.lever, self.memory.record
        nu = self.system.nu
        lever.target_q[:], lever.target_v[:], lever.target_z[:] = record.q, record.v, record.memory
        lever.target_u[:], lever.target_a[:] = record.inputs[:, 1, :nu], record.a
        self._known = False
        k = self._shares.find(self.memory)
        if k is not None:
            raise ArithmeticError(
                f"step {k + 1} of the motion, at t = {record.t[k]:.6g} s, has a singular tangent: there is no derivative."
            )
        self._known = True

    def shift(self, steps: int) -> None:
        """Move the motion that is kept on by some steps, and what is known of them; the last is repeated, so that its maps only serve as a first guess."""
        lever = self.memory.lever
        for x in (lever.target_q, lever.target_v, lever.target_z, lever.target_u, lever.target_a, lever.maps):
            moved_on(x, steps)
        s = len(self.plan.tableau.c)
        moved_on(lever.answers.reshape(len(lever.maps), s, *lever.answers.shape[1:]), steps)
        moved_on(lever.stored[:-1], steps)
        moved_on(lever.swaps[:-1], steps)

    @property
    def maps(self) -> Array:
        """Maps of all steps of the motion that was last kept, (n, 2 nv + nz, 2 nv + nz + nu), by state and inputs; a view."""
        return self.memory.lever.maps

    @property
    def U(self) -> Array:
        """Rows of inputs of the last motion, (knots, nu)."""
        first = np.searchsorted(self.knot, np.arange(len(self.plan.U)))
        return self.memory.record.inputs[first, 1, : self.system.nu].copy()

    @property
    def states(self) -> States:
        """The states of the last motion."""
        r, nu = self.memory.record, self.system.nu
        u = np.concatenate([r.inputs[:1, 1, :nu], r.inputs[:, -1, :nu]])
        return States(self.system, r.t.copy(), r.q.copy(), r.v.copy(), u)

    def rollout(self) -> Rollout:
        """The last motion as a `Rollout`, which shares its memory: nothing is to be computed here any more."""
        record, system = self.memory.record, self.system
        ends = Ends.of(self.memory, len(record.t) - 1)
        plan = replace(
            self.plan, U=self.U, times=ends.t, outer=ends.t, q=record.begin_q.copy(), v=record.begin_v.copy(), z=ends.memory[0],
            schedule=replace(self.plan.schedule, knots=self.plan.schedule.knots + (ends.t[0] - self.plan.times[0]), _seen={}),
        )  # fmt: skip
        return Rollout(
            system, ends.t, ends.q, ends.v, ends.u[:, : system.nu], ends.u[:, system.nu :], plan.U, plan.tableau.name, plan.schedule, (),
            self.statistics, plan, (Part(plan, self._begin, self.memory),), ends.a, ends.force, ends.memory,
        )  # fmt: skip
