"""The plan of a rollout, and how it is carried out: part after part, with steps that may be subdivided."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.solve.tape import ARRIVED, FULL
from ..solve.cables import reach, tensions_at
from ..solve.methods.failure import why_not
from ..solve.methods.tableau import Tableau
from ..solve.motion import MotionSet
from ..solve.result import Statistics
from ..system import Given, System
from .memory import Memory
from .schedule import Schedule

__all__ = ["Failure", "Part", "Plan"]

Array = NDArray[np.float64]
BATCH = 2048  # steps in one call of the engine, between which Ctrl-C is heard
PARTS, FINEST = 4, 4096  # of a step that cannot be taken, and at most


class Begin(NamedTuple):
    """What the iterations of a part start with, beside its first state."""

    a: Array  # (nv,) acceleration
    u: Array  # (nu,) inputs, with tensions of held tendons
    given: Given  # forces of loops, which tendons are held
    fresh: bool  # whether the acceleration is that of a robot let go, see `kernels.solve.esdirk.damp_start`
    said: str = ""  # how the start was moved


class Failure(NamedTuple):
    """Why a motion, or a part of it, ended early."""

    message: str
    steps: int  # that were taken
    of_step: bool  # whether the message is that of a step, whose number belongs before it
    interrupted: bool = False  # whether it was Ctrl-C


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while steps were taken: the plan that was carried out, its record, what it began with, how many steps are done."""

    def __init__(self, plan: Plan, memory: Memory, begin: Begin, done: int) -> None:
        super().__init__()
        self.plan, self.memory, self.begin, self.done = plan, memory, begin, done


@dataclass(frozen=True, eq=False)
class Part:
    """Some steps of a rollout: what they were told, and what they found unless that is to be computed again."""

    plan: Plan
    begin: Begin
    memory: Memory | None

    def recall(self) -> Memory:
        """The record, computed again if it was not kept."""
        return self.memory if self.memory is not None else self.plan.play(self.begin, Statistics())[1]


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a rollout is told: a system, times, inputs, the start."""

    system: System
    tableau: Tableau
    times: Array  # (n + 1,)
    outer: Array  # (steps that were asked for + 1,) their times
    schedule: Schedule
    U: Array
    tau: Array  # (nv,), or (steps asked for, nv)
    q: Array
    v: Array
    z: Array  # (nz,) what loads remember at the start
    motion: Mapping[str, Any] | MotionSet | None
    tolerance: float
    subdivide: bool
    spare: Memory | None = None  # that nobody needs any more, see `Memory.renewed`

    # ------------------------------------------------------------ inputs

    def stage_times(self) -> tuple[Array, Array]:
        """Times of all stages (n · s,), and 1 where a stage is the end of its step."""
        c = self.tableau.c
        t = self.times[:-1, None] + np.diff(self.times)[:, None] * c
        t[:, -1] = self.times[1:]
        return t.ravel(), np.tile(np.where(c > 1.0 - 1e-9, 1.0, 0.0), len(t))

    def stage_weights(self) -> Any:
        """Sparse matrix that makes the inputs of all stages (n · s, nu) from the coefficients of the schedule."""
        return self.schedule.weights(*self.stage_times())

    def row_weights(self) -> Any:
        """Likewise those of the states (n + 1, nu)."""
        return self.schedule.weights(self.times, np.where(np.arange(len(self.times)) > 0, 1.0, 0.0))

    def _tau_at(self, step: NDArray[np.int64]) -> Array:
        """Further generalised forces of steps, (k, nv)."""
        return self.tau[step] if self.tau.ndim == 2 else np.broadcast_to(self.tau, (len(step), self.system.nv))

    def outer_step(self) -> NDArray[np.int64]:
        """Which of the steps that were asked for each step belongs to, (n,)."""
        middle = 0.5 * (self.times[:-1] + self.times[1:])
        return np.clip(np.searchsorted(self.outer, middle) - 1, 0, len(self.outer) - 2)

    def told(self) -> MotionSet:
        """The prescribed motion."""
        known = self.motion
        return known if isinstance(known, MotionSet) else MotionSet(self.system, known, self.q, float(self.times[0]))

    # ------------------------------------------------------------ running

    def fill(self, memory: Memory) -> MotionSet:
        """Write times, inputs, prescribed motion and start into a record."""
        system, record, nu = self.system, memory.record, self.system.nu
        n, s = record.inputs.shape[:2]
        record.t[:] = self.times
        record.inputs[:, :, :nu] = (self.stage_weights() @ self.schedule.coefficients(self.U)).reshape(n, s, nu)
        record.inputs[:, :, nu:] = self._tau_at(self.outer_step())[:, None]
        record.begin_q[:], record.begin_v[:], record.memory[0] = self.q, self.v, self.z
        motion = self.told()
        motion.joints_at(float(self.times[0]), record.begin_q, record.begin_v, np.zeros(system.nv))
        if motion.active:
            times, _ends = self.stage_times()
            for row, t in zip(record.known.reshape(n * s, -1), times.tolist()):
                motion.write(t, row)
        return motion

    def parts(self, checkpoint: int | None) -> tuple[list[Part], Ends, Statistics, Failure | None]:
        """Compute the motion: its parts, its states, and why it ended early if it did; with `checkpoint` in parts of so many steps of which only the states are kept.

        With `subdivide` steps that cannot be taken are replaced by smaller ones, which the plans of the parts have.
        """
        clock, statistics = time.perf_counter(), Statistics()
        n = len(self.times) - 1
        size = n if checkpoint is None else checkpoint
        parts: list[Part] = []
        found: list[Ends] = []
        begin, q, v, z = None, self.q, self.v, self.z
        failure = None
        for first in range(0, n, size):
            piece = replace(self, times=self.times[first : first + size + 1], q=q, v=v, z=z)
            try:
                plan, memory, begin, failure = piece.play(begin, statistics)
            except Interrupted as stop:
                plan, memory, begin = stop.plan, stop.memory, stop.begin
                text = f"interrupted at t = {plan.times[stop.done]:.6g} s; the error's `run` has the {first + stop.done} steps before it."
                failure = Failure(text, stop.done, of_step=False, interrupted=True)
            if failure is not None:
                plan = plan._cut(failure.steps)
            parts.append(Part(plan, begin, memory if checkpoint is None else None))
            found.append(Ends.of(memory, len(plan.times) - 1))
            if failure is not None:
                if failure.of_step:
                    failure = failure._replace(message=f"step {first + failure.steps + 1}, {failure.message}")
                break
            begin = after(memory)
            q, v, z = (x[-1].copy() for x in (memory.record.q, memory.record.v, memory.record.memory))
        statistics.wall_time = time.perf_counter() - clock
        return parts, Ends.joined(found), statistics, failure

    def play(self, begin: Begin | None, statistics: Statistics) -> tuple[Plan, Memory, Begin, Failure | None]:
        """All steps of the plan, which is returned with those that were subdivided; `begin` is found if it is None."""
        plan, done = self, 0
        memory = self._memory()
        motion = self.fill(memory)
        begin = self._begin(memory, motion) if begin is None else begin
        now = begin
        while True:
            try:
                status = plan._go(memory, now, done, statistics)
            except KeyboardInterrupt:
                raise Interrupted(plan, memory, begin, int(memory.p[slots.MARCH_STEPS])) from None
            if status == ARRIVED:
                return plan, memory, begin, None
            done = int(memory.p[slots.MARCH_STEPS])
            finer = plan._subdivided(done) if self.subdivide else None
            if finer is None:
                return plan, memory, begin, plan._why(status, done, memory)
            old, plan = memory, finer
            memory = plan._memory()
            plan.fill(memory)
            memory.take_first(old.record, done)
            now = after(old, done) if done else begin

    def _memory(self) -> Memory:
        like = self.system, self.tableau, len(self.times) - 1
        old = None if self.spare is None else self.spare.renewed(*like, tolerance=self.tolerance)
        return Memory(*like, tolerance=self.tolerance) if old is None else old

    def _begin(self, memory: Memory, motion: MotionSet) -> Begin:
        """Accelerations, forces and tensions to start the first iteration with."""
        system, record = self.system, memory.record
        t, nu = float(self.times[0]), system.nu
        q, v = record.begin_q.copy(), record.begin_v.copy()
        u, tau = record.inputs[0, 0, :nu].copy(), record.inputs[0, 0, nu:].copy()
        motion.joints_at(t, q, v, np.zeros(system.nv))
        q, v, kind, said = reach(system, motion, t, q, v)
        a, multipliers, tensions, _slack = tensions_at(system, motion, t, q, v, u, tau, kind, self.z)
        if not np.all(np.isfinite(a)):
            raise ValueError(
                f"the acceleration at t = {t:g} s is not finite: inputs or the start contain NaN or overflow."
            )
        hold = np.zeros((len(system.tendons.law), 4))
        for k, (length, rate) in motion.cables_at(t).items():
            u[motion.held[k]] = tensions[motion.held[k]]
            hold[k] = kind[k], length, rate, motion.pushes[k]
        told = motion.told_at(t) if system.loop_rows else None
        return Begin(a, u, Given(multipliers, hold=hold, told=told), fresh=True, said=said)

    def _go(self, memory: Memory, begin: Begin, done: int, statistics: Statistics) -> int:
        """Steps from the one with number `done` on; returns why it ends."""
        p = memory.p
        memory.tape.a[0] = begin.a
        memory.record.inputs[done, 0, : self.system.nu] = begin.u
        p[slots.MARCH_FRESH], p[slots.MARCH_PAST] = float(begin.fresh), 0.0
        p[slots.MARCH_STEPS], p[slots.MARCH_BUDGET] = done, BATCH
        status = memory.run(engine.ROLLOUT, begin.given)
        while status == FULL:
            status = memory.run(engine.ROLLOUT)
        counted = {
            "iterations": slots.MARCH_ITERATIONS,
            "factorisations": slots.MARCH_FACTORISATIONS,
            "residuals": slots.MARCH_RESIDUALS,
        }
        for name, slot in counted.items():
            setattr(statistics, name, getattr(statistics, name) + int(p[slot]))
            p[slot] = 0.0
        statistics.steps += int(p[slots.MARCH_STEPS]) - done
        return status

    # ------------------------------------------------------------ other steps

    def halved(self) -> Plan:
        """With every step halved."""
        middle = 0.5 * (self.times[:-1] + self.times[1:])
        times = np.empty(2 * len(self.times) - 1)
        times[::2], times[1::2] = self.times, middle
        return replace(self, times=times)

    def _subdivided(self, k: int) -> Plan | None:
        """With step k in parts; None if it is one of too many already."""
        begin, end = self.times[k], self.times[k + 1]
        outer = self.outer[self.outer_step()[k] + np.arange(2)]
        if (outer[1] - outer[0]) / (end - begin) * PARTS > FINEST * (1 + 1e-9):
            return None
        inner = np.linspace(begin, end, PARTS + 1)[1:-1]
        return replace(self, times=np.insert(self.times, k + 1, inner))

    def _cut(self, k: int) -> Plan:
        """The first k steps."""
        return replace(self, times=self.times[: k + 1])

    def _why(self, status: int, k: int, memory: Memory) -> Failure:
        """What to say of step k that could not be taken."""
        if k == 0 and not memory.record.a.any() and self.system.loop_rows:
            gap = np.abs(self.system.closure(self.q)[0]).max()
            if gap > 1e-6:
                text = (
                    f"the loops of {self.system.name!r} are open by {gap:.3g} at the start and cannot be closed from there: mount the robot with "
                    "solve_statics and start from that."
                )
                return Failure(text, k, of_step=False)
        why = why_not(self.system, memory.tape, self.tableau.gamma * (self.times[k + 1] - self.times[k]), status)
        name = self.system.dof_names[int(memory.p[slots.MARCH_LIMITING])]
        advice = "a smaller step" if self.subdivide else "a smaller step, or subdivide=True, which records the parts"
        text = (
            f"from t = {self.times[k]:.6g} s with {self.times[k + 1] - self.times[k]:.3g} s, cannot be taken: {why} ({name!r} moves most). Use "
            f"{advice}. The error's `run` has the steps before it."
        )
        return Failure(text, k, of_step=True)


class Ends(NamedTuple):
    """The states of a motion, and what acts at the ends of its steps."""

    t: Array  # (n + 1,)
    q: Array  # (n + 1, nq)
    v: Array  # (n + 1, nv)
    a: Array  # (n + 1, nv)
    u: Array  # (n + 1, nu + nv)
    force: Array  # (n + 1, rows of loops)
    memory: Array  # (n + 1, nz)

    @classmethod
    def of(cls, memory: Memory, n: int) -> Ends:
        """Of the first n steps of a record."""
        r = memory.record

        def rows(x: Array) -> Array:
            """What acts at the start of the first step, and at the ends of all."""
            out = np.zeros((n + 1, x.shape[2]))
            out[:1], out[1:] = x[:1, 0], x[:n, -1]
            return out

        a, force = rows(r.a), rows(r.force)
        if n:
            a[0], force[0] = a[1], force[1]
        t, q, v, z = (x[: n + 1].copy() for x in (r.t, r.q, r.v, r.memory))
        return cls(t, q, v, a, rows(r.inputs), force, z)

    @classmethod
    def joined(cls, parts: list[Ends]) -> Ends:
        """One after the other."""
        first, *others = parts
        return cls(*(np.concatenate([x, *(part[1:] for part in more)]) for x, *more in zip(first, *others)))


def after(memory: Memory, done: int | None = None) -> Begin:
    """What the step after the first `done` of a record starts with; by default after all."""
    r, work, system = memory.record, memory.space.work, memory.system
    last = (len(r.a) if done is None else done) - 1
    u = r.inputs[last, -1, : system.nu].copy()
    hold = work.hold.copy()
    hold[:, slots.HOLD_ACTIVE] = r.taut[last + 1]
    given = Given(r.force[last, -1].copy(), hold=hold, told=work.told.copy())
    return Begin(r.a[last, -1].copy(), u, given, fresh=False)
