"""`Stepper`: a robot that moves one step at a time, for controllers, hardware in the loop and learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gradients.memory import Memory
from ..gradients.plan import PARTS, Begin, Plan
from ..gradients.rollout import Method, plan_of
from ..gradients.schedule import Schedule
from ..kernels import engine, slots
from ..kernels.slots import HOLD_ACTIVE
from ..kernels.solve.tape import ARRIVED, FULL
from ..model.validate import flag, integer, positive, vector
from ..solve.drive import State
from ..solve.identity import digest
from ..solve.result import Result, Statistics
from ..system import FrameLike, Given, Inputs, Reference, System, needs_system
from ..system.kinematics import extent, step_ends

__all__ = ["Saved", "StepError", "Stepper"]

Array = NDArray[np.float64]
SMALL = 1e-3  # of the robot's size: what a step may err by unsaid
_COUNTED = {
    "iterations": slots.MARCH_ITERATIONS,
    "factorisations": slots.MARCH_FACTORISATIONS,
    "residuals": slots.MARCH_RESIDUALS,
}
_ROWS = ("inputs", "a", "force", "kept", "hold")  # of a record: what a step found


class StepError(ArithmeticError):
    """A step could not be taken; the stepper is where it was before."""


@dataclass(frozen=True, eq=False)
class Saved:
    """All that a stepper knows, made by `Stepper.save`. It can be pickled."""

    t: float
    robot: str  # digest
    options: tuple[Any, ...]
    counts: tuple[Any, ...]
    arrays: tuple[NDArray[Any], ...]


class Stepper:
    """A robot that moves one step at a time.

    Parameters
    ----------
    system : System
    start : array (nq,), Equilibrium or Result, optional
        As of `simulate`.
    step : float
        Time that one step takes [s]: the period of the controller.
    substeps : int
        Inner steps of equal length in each, through which inputs are held.
    velocity, t0
        As of `simulate`.
    motion : dict, optional
        Prescribed joints, loops and tendon lengths as functions of time, as of `simulate`.
    method : {"sdirk2", "sdirk3", "midpoint", "euler"}
        As of `rollout`. The first two damp what is too fast for the step instead of following it, so that inputs may jump.
    subdivide : bool
        Go through an inner step that cannot be taken in four parts (and these again); `warnings` counts them.
    tolerance : float
        Where Newton's iteration stops, in natural sizes of the coordinates.
    watch : int
        How often `check` looks at the error of a step by itself: every so many steps; 0 for never.
    record : bool
        Keep all states, for `result`.

    Attributes
    ----------
    t : float
        Time [s].
    u : ndarray (nu,)
        Inputs that acted last, with tensions of tendons of prescribed length.

    Notes
    -----
    The motion is that of `rollout` with the same steps, to the last bit, also after `save` and `restore`: factors and
    predictions of the last step serve the next one. Steppers in different threads do not know of each other.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> sim = pl.Stepper(system, pl.solve_statics(system), step=0.01)
    >>> while sim.t < 0.5:
    ...     height = sim.position("arm.tip")[2]
    ...     sim.step({"cable": max(0.0, 20 * (0.0 - height))})
    >>> print(f"{sim.t:.2f} s: {sim.position('arm.tip')[2]:.3f} m")
    0.50 s: -0.231 m
    """

    def __init__(
        self,
        system: System,
        start: Any = None,
        *,
        step: float,
        substeps: int = 1,
        velocity: ArrayLike | None = None,
        t0: float | None = None,
        motion: Mapping[str, Any] | None = None,
        method: Method = "sdirk2",
        subdivide: bool = False,
        tolerance: float = 1e-10,
        watch: int = 100,
        record: bool = False,
    ) -> None:
        needs_system("Stepper", system)
        self.system, self.length = system, positive("step", step, unit="s")
        self._substeps = n = integer("substeps", substeps, minimum=1)
        self._inner = self.length / n
        self._watch, self._recorded = integer("watch", watch), flag("record", record)
        self._options: dict[str, Any] = {
            "motion": motion, "method": method, "subdivide": subdivide, "tolerance": tolerance,
        }  # fmt: skip
        self._given = start, velocity, t0
        self._digest = ""
        plan = self._planned(*self._given)
        # row 0 of the record is the last inner step of the step before, the others are those of a step
        self._memory = Memory(system, plan.tableau, n + 1, tolerance=plan.tolerance).reusable()
        self._twin: Memory | None = None
        self._begin_at(plan)

    def __repr__(self) -> str:
        """A one-line summary."""
        return (
            f"<Stepper of {self.system.name!r}: {self._plan.tableau.name}, step {self.length:g} s, t = {self.t:.6g} s>"
        )

    # ------------------------------------------------------------ the start

    def _planned(self, start: Any, velocity: Any, t0: float | None) -> Plan:
        return plan_of(
            self.system, None, step=self._inner, duration=(self._substeps + 1) * self._inner, start=start, velocity=velocity, t0=t0,
            **self._options,
        )  # fmt: skip

    def _begin_at(self, plan: Plan) -> None:
        """Stand at the start of a plan."""
        again = self._memory.renewed(self.system, plan.tableau, self._substeps + 1, tolerance=plan.tolerance)
        assert again is not None
        self._plan, self._origin, self._count = plan, float(plan.times[0]), 0
        self.t = self._origin
        self._motion = plan.fill(self._memory)
        self._record = record = self._memory.record
        self._u, self._tau = np.zeros(self.system.nu), np.zeros(self.system.nv)
        self._fresh: Begin | None = None  # what the first step starts with
        self._worst, self._worst_t, self._split, self._most, self._checked = 0.0, 0.0, 0, 0, 0
        self._rows: list[tuple[Any, ...]] = []
        self._set_out()
        record.inputs[-1] = record.inputs[1]
        for x in (record.q, record.v, record.memory):
            x[-1] = x[1]

    def _set_out(self) -> None:
        """Before the first step, whose inputs are in row 1: the start with its constraints met, and what iterations begin with."""
        memory, record = self._memory, self._record
        record.t[0], record.t[1] = self._origin, self._origin + self._inner
        record.inputs[0] = record.inputs[1]
        if self._motion.active:
            self._motion.write(self._origin, record.known[0, 0])
        begin = self._plan._begin(memory, self._motion)
        record.inputs[0, 0, : self.system.nu] = begin.u
        p = memory.p
        p[slots.MARCH_STEPS] = p[slots.MARCH_BUDGET] = 0.0
        memory.tape.a[0] = begin.a
        status = memory.run(engine.ROLLOUT, begin.given)
        if status != FULL:
            record.a[:] = 0.0
            raise StepError(self._plan._why(status, 0, memory).message)
        for x in (record.q, record.v, record.memory):
            x[1] = x[0]
        p[slots.MARCH_FRESH], p[slots.MARCH_PAST] = 1.0, 0.0
        self._fresh = begin

    def reset(self, start: Any = None, *, velocity: ArrayLike | None = None, t0: float | None = None) -> None:
        """Begin anew, without memory of the steps so far; from where the stepper first stood if nothing is given.

        Parameters
        ----------
        start, velocity, t0
            As of `Stepper`.
        """
        if start is not None or velocity is not None or t0 is not None:
            self._given = start, velocity, t0
        self._begin_at(self._planned(*self._given))

    # ------------------------------------------------------------ where it is

    @property
    def q(self) -> Array:
        """Coordinates (nq,)."""
        return self._record.q[-1].copy()

    @property
    def v(self) -> Array:
        """Velocities (nv,)."""
        return self._record.v[-1].copy()

    @property
    def a(self) -> Array:
        """Accelerations (nv,) at the last stage of the last step; zero before the first."""
        return self._record.a[-1, -1].copy()

    @property
    def u(self) -> Array:
        """Inputs (nu,) that acted last, with tensions of tendons of prescribed length."""
        return self._record.inputs[-1, -1, : self.system.nu].copy()

    @property
    def multipliers(self) -> Array:
        """Forces of loop joints (rows,) at the end of the last step."""
        return self._record.force[-1, -1].copy()

    @property
    def state(self) -> State:
        """Time, coordinates, velocities, and what loads remember."""
        return State(self.t, self.q, self.v, self._record.memory[-1].copy())

    def pose(self, frame: FrameLike) -> Array:
        """Pose of a frame in the world, (4, 4)."""
        return self.system.pose(frame, self._record.q[-1])

    def position(self, frame: FrameLike) -> Array:
        """Position of a frame in the world [m], (3,)."""
        return self.system.pose(frame, self._record.q[-1])[:3, 3]

    def twist(self, frame: FrameLike, *, reference: Reference = "body") -> Array:
        """Twist of a frame, [angular; linear] (6,), as of `System.twist`."""
        return self.system.twist(frame, self._record.q[-1], self._record.v[-1], reference=reference)

    def jacobian(self, frame: FrameLike, *, reference: Reference = "body") -> Array:
        """Jacobian of a frame (6, nv), as of `System.jacobian`."""
        return self.system.jacobian(frame, self._record.q[-1], reference=reference)

    # ------------------------------------------------------------ steps

    def step(self, u: Inputs = None, *, tau: ArrayLike | None = None) -> None:
        """Go on by one step.

        Parameters
        ----------
        u : array (nu,), dict by name, or None
            Inputs, held through the step; those not named are zero. None: what acted in the step before.
        tau : array (nv,), optional
            Further generalised forces in this step.

        Raises
        ------
        StepError
            If the step cannot be taken. The stepper stays where it was.
        """
        system, record = self.system, self._record
        if u is not None:
            self._u[:] = system.inputs(u)
        self._tau[:] = 0.0 if tau is None else vector("tau", tau, (system.nv,))
        self._put_step()
        try:
            whole = self._go()
        except BaseException:
            self._undo()
            raise
        self._count += self._substeps
        self.t = float(record.t[-1])
        if self._recorded:
            self._keep()
        if whole and self._watch and not (self.steps - 1) % self._watch:
            self.check()

    def _put_step(self) -> None:
        """Rows of the record: the last step before the others, with the times and inputs of a new one."""
        record, nu, n = self._record, self.system.nu, self._substeps
        for name in _ROWS:
            x = getattr(record, name)
            x[0] = x[-1]
        for x in (record.q, record.v, record.memory):
            x[1] = x[-1]
        record.t[0] = record.t[-2]
        record.t[1:] = self._origin + self._inner * np.arange(self._count, self._count + n + 1)
        record.inputs[1:, :, :nu] = self._u
        record.inputs[1:, :, nu:] = self._tau
        if self._motion.active:
            c = self._plan.tableau.c
            for k in range(1, n + 1):
                begin, end = record.t[k], record.t[k + 1]
                for i, row in enumerate(record.known[k]):
                    self._motion.write(float(end if i == len(c) - 1 else begin + c[i] * (end - begin)), row)
        if self._count:
            self._fresh = None
        else:
            self._set_out()
            record.t[1:] = self._origin + self._inner * np.arange(n + 1)
            assert self._fresh is not None
            record.inputs[1, 0, :nu] = self._fresh.u

    def _go(self) -> bool:
        """The inner steps; True if none had to be subdivided."""
        memory, whole = self._memory, True
        p = memory.p
        p[slots.MARCH_STEPS], p[slots.MARCH_BUDGET] = 1, self._substeps
        status = memory.run(engine.ROLLOUT)
        while status != ARRIVED:
            k, whole = int(p[slots.MARCH_STEPS]), False
            if not self._plan.subdivide:
                self._fail(status, k)
            self._in_parts(k)
            if k == self._substeps:
                break
            p[slots.MARCH_STEPS] = k + 1
            status = memory.run(engine.ROLLOUT)
        return whole

    def _fail(self, status: int, k: int) -> NoReturn:
        failure = replace(self._plan, times=self._record.t)._why(status, k, self._memory)
        text = failure.message.replace("subdivide=True, which records the parts", "subdivide=True")
        raise StepError(_without_run(f"step {self.steps + 1}, {text}"))

    def _undo(self) -> None:
        """Stand where the step began: its end is its start again, and iterations start without a history."""
        record, memory, p = self._record, self._memory, self._memory.p
        for name in _ROWS:
            x = getattr(record, name)
            x[-1] = x[0]
        for x in (record.q, record.v, record.memory):
            x[-1] = x[1]
        record.t[-2], record.t[-1] = record.t[0], self.t
        begin = self._before(1)
        memory.space.prepare(begin.given)
        memory.tape.a[0] = begin.a
        p[slots.MARCH_PAST] = p[slots.MARCH_FACTORED] = 0.0

    def _before(self, k: int) -> Begin:
        """What row k of the record begins with, apart from its state."""
        if self._fresh is not None and k == 1:
            return self._fresh
        record, work = self._record, self._memory.space.work
        hold, told = work.hold.copy(), work.told.copy()
        hold[:, HOLD_ACTIVE] = record.hold[k - 1]
        given = Given(record.force[k - 1, -1].copy(), hold=hold, told=told)
        return Begin(record.a[k - 1, -1].copy(), record.inputs[k - 1, -1, : self.system.nu].copy(), given, fresh=False)

    # ------------------------------------------------------------ the same in other steps

    def _part(self, first: int, last: int, times: Array) -> Plan:
        """A plan for the steps from row `first` to before row `last`, with other times."""
        record = self._record
        outer = record.t[first : last + 1].copy()
        return replace(
            self._plan, times=times, outer=outer, schedule=Schedule(outer[:1], "hold"), U=self._u[None].copy(), tau=self._tau.copy(),
            q=record.q[first].copy(), v=record.v[first].copy(), z=record.memory[first].copy(), motion=self._motion,
        )  # fmt: skip

    def _in_parts(self, k: int) -> None:
        """Take the inner step of row k, which cannot be taken at once, in parts, and go on from there as if it had been one."""
        record, memory, p = self._record, self._memory, self._memory.p
        plan, statistics = self._part(k, k + 1, np.linspace(record.t[k], record.t[k + 1], PARTS + 1)), Statistics()
        finer, fine, _begin, failure = plan.play(self._before(k), statistics)
        if failure is not None:
            raise StepError(_without_run(f"step {self.steps + 1}, {failure.message}"))
        for name in _ROWS:
            getattr(record, name)[k] = getattr(fine.record, name)[-1]
        for name in ("q", "v", "memory"):
            getattr(record, name)[k + 1] = getattr(fine.record, name)[-1]
        tape, there = memory.tape, fine.tape
        for name in ("a", "past", "past_force", "past_times", "memory", "flow"):
            getattr(tape, name)[:] = getattr(there, name)
        work, other = memory.space.work, fine.space.work
        for name in ("multiplier", "hold", "told", "memory", "lag"):
            getattr(work, name)[:] = getattr(other, name)
        p[slots.MARCH_PAST], p[slots.MARCH_FACTORED], p[slots.MARCH_FRESH] = 1.0, 0.0, 0.0
        for name, slot in _COUNTED.items():
            p[slot] += getattr(statistics, name)
        self._split += 1
        self._most = max(self._most, len(finer.times) - 1)

    def check(self) -> float:
        """Estimated error of the last step, relative to the robot's size, from the same step with its inner steps halved.

        It is how far the ends of rods and bodies are off, relative to the extent of the robot; of a robot that is a point in its neutral
        configuration that of its coordinates in their natural sizes. Where it is above 0.1 % `warnings` says so. Errors of many steps add up
        as far as the robot does not forget them: a motion with half the step tells.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.05, 0.05), mass=1.0, com=(0.25, 0, 0))
        >>> sim = pl.Stepper(robot.compile(), step=0.05)
        >>> for _ in range(10):
        ...     sim.step()
        >>> print(f"{sim.check():.1e}")
        4.9e-04
        """
        if not self._count:
            return 0.0
        plan = self._part(1, len(self._record.t) - 1, self._record.t[1:])
        plan = replace(plan.halved(), subdivide=False)
        if self._twin is None:
            self._twin = Memory(self.system, plan.tableau, len(plan.times) - 1, tolerance=plan.tolerance).reusable()
        _plan, fine, _begin, failure = replace(plan, spare=self._twin).play(self._before(1), Statistics())
        if failure is not None:
            return self._worst
        order = plan.tableau.order
        there, here = fine.record.q[-1], self._record.q[-1]
        size = extent(self.system)
        if size > 0.0:
            apart = step_ends(self.system, here) - step_ends(self.system, there)
            off = float(np.linalg.norm(apart, axis=1).max()) / size
        else:
            off = float(np.sqrt(np.mean((self.system.difference(there, here) / self.system.internal.scale) ** 2)))
        off *= 2**order / (2**order - 1)
        self._checked += 1
        if off > self._worst:
            self._worst, self._worst_t = off, float(self._record.t[1])
        return off

    # ------------------------------------------------------------ what was done

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return self._count // self._substeps

    @property
    def statistics(self) -> Statistics:
        """How much work the steps took; `steps` are inner ones."""
        counted = {name: int(self._memory.p[slot]) for name, slot in _COUNTED.items()}
        return Statistics(steps=self._count, **counted)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was done other than asked for, and steps whose error is above 0.1 % of the robot's size."""
        out = []
        if self._split:
            out.append(
                f"{self._split} of {self._count} inner steps were subdivided, at most into {self._most} parts; the motion is that of the parts."
            )
        if self._worst > SMALL:
            out.append(
                f"of {self._checked} steps that were checked the one at t = {self._worst_t:.6g} s errs by {100 * self._worst:.2g} % of the robot's size: "
                f"use more substeps than {self._substeps}, a smaller step or another method."
            )
        return tuple(out)

    def _keep(self) -> None:
        """A row for `result`; before the first, what the start is."""
        r = self._record
        if not self._rows:
            first = self._fresh
            assert first is not None
            self._rows.append((
                self._origin, r.q[1].copy(), r.v[1].copy(), r.a[-1, -1].copy(), np.concatenate([first.u, self._tau]), r.force[-1, -1].copy(),
                r.memory[1].copy(),
            ))  # fmt: skip
        last = r.a[-1, -1], r.inputs[-1, -1], r.force[-1, -1], r.memory[-1]
        self._rows.append((self.t, r.q[-1].copy(), r.v[-1].copy(), *(x.copy() for x in last)))

    def result(self) -> Result:
        """The motion so far, if it is recorded (`record`), to plot, view and save it."""
        if not self._recorded:
            raise ValueError("nothing was recorded: make the stepper with record=True.")
        if not self._rows:
            raise ValueError("there is no motion yet: take a step first.")
        nu = self.system.nu
        t, q, v, a, u, force, z = (np.array(x) for x in zip(*self._rows))
        return Result(
            self.system, t, q, v, a, u[:, :nu], u[:, nu:], True, "completed", statistics=self.statistics, method=self._plan.tableau.name,
            warnings=self.warnings, multipliers=force, memory=z,
        )  # fmt: skip

    # ------------------------------------------------------------ saving

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that a step reads before it writes them, and more."""
        return (*self._memory.arrays, self._u, self._tau)

    def _kind(self) -> tuple[Any, ...]:
        return self.length, self._substeps, self._plan.tableau.name, self._plan.tolerance

    def save(self) -> Saved:
        """All that the next steps depend on, to `restore` it later, here or in a stepper of the same robot with the same steps.

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("pendulum")
        >>> arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.05, 0.05), mass=1.0, com=(0.25, 0, 0))
        >>> sim = pl.Stepper(robot.compile(), step=0.01)
        >>> sim.step()
        >>> saved = sim.save()
        >>> sim.step()
        >>> sim.restore(saved)
        >>> sim.t
        0.01
        """
        if not self._digest:
            self._digest = digest(self.system)
        counts = (
            self._origin, self._count, self._fresh, self._worst, self._worst_t, self._split, self._most, self._checked, tuple(self._rows),
        )  # fmt: skip
        return Saved(self.t, self._digest, self._kind(), counts, tuple(x.copy() for x in self._arrays()))

    def restore(self, saved: Saved) -> None:
        """Go back to what was saved: the steps that follow are those that followed then, to the last bit."""
        if not isinstance(saved, Saved):
            raise TypeError(f"saved = {saved!r} must be what Stepper.save returned.")
        if not self._digest:
            self._digest = digest(self.system)
        if saved.robot != self._digest:
            raise ValueError(
                f"this was saved by a stepper of another robot than {self.system.name!r}, or of one with other properties."
            )
        if saved.options != self._kind():
            raise ValueError(
                f"this was saved with (step, substeps, method, tolerance) = {saved.options}; this stepper has {self._kind()}."
            )
        for x, kept in zip(self._arrays(), saved.arrays):
            x[:] = kept
        (
            self._origin, self._count, self._fresh, self._worst, self._worst_t, self._split, self._most, self._checked, rows,
        ) = saved.counts  # fmt: skip
        self._rows, self.t = list(rows), saved.t


def _without_run(text: str) -> str:
    return text.replace(" The error's `run` has the steps before it.", " The stepper stays where it was.")
