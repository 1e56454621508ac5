"""`Stepper`: a robot that moves one step at a time, for controllers, hardware in the loop and learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._turns import Turn, alone
from ..gradients.plan import Plan
from ..gradients.rollout import Method, plan_of
from ..model.validate import flag, integer, positive, vector
from ..solve.drive import State
from ..solve.identity import digest
from ..solve.result import Result, Statistics
from ..system import FrameLike, Inputs, Reference, System, needs_system
from ..system.kinematics import extent, step_ends
from .window import COUNTED, Window

__all__ = ["Saved", "Stepper"]

Array = NDArray[np.float64]
SMALL = 1e-3  # of the robot's size: what a step may err by unsaid


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
    start : array (nq,), Equilibrium, Result or State, optional
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
    system : System
    length : float
        The step [s].

    Notes
    -----
    The motion is that of `rollout` with the same steps, to the last bit, also after `save` and `restore`: factors and
    predictions of the last step serve the next one. Steppers in different threads do not know of each other; a second thread in the same one is refused.

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
        self._turn = Turn()
        self.system, self.length = system, positive("step", step, unit="s")
        self._substeps = integer("substeps", substeps, minimum=1)
        self._watch, self._recorded = integer("watch", watch), flag("record", record)
        self._options: dict[str, Any] = {
            "motion": motion, "method": method, "subdivide": subdivide, "tolerance": tolerance,
        }  # fmt: skip
        self._given = start, velocity, t0
        self._digest = ""
        plan = self._planned(*self._given)
        self._window = Window(plan, self.length / self._substeps, self._substeps)
        self._forget()

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<Stepper of {self.system.name!r}: {self._window.plan.tableau.name}, step {self.length:g} s, t = {self.t:.6g} s>"

    def _planned(self, start: Any, velocity: Any, t0: float | None) -> Plan:
        inner = self.length / self._substeps
        return plan_of(
            self.system, None, step=inner, duration=(self._substeps + 1) * inner, start=start, velocity=velocity, t0=t0, **self._options,
        )  # fmt: skip

    def _forget(self) -> None:
        """Nothing was seen yet."""
        self._worst, self._worst_t, self._checked = 0.0, 0.0, 0
        self._rows: list[tuple[Any, ...]] = []
        self._off: float | None = None  # of the last step, once it was looked at

    @alone
    def reset(self, start: Any = None, *, velocity: ArrayLike | None = None, t0: float | None = None) -> None:
        """Begin anew, without memory of the steps so far; from where the stepper first stood if nothing is given.

        Parameters
        ----------
        start, velocity, t0
            As of `Stepper`.
        """
        if start is not None or velocity is not None or t0 is not None:
            self._given = start, velocity, t0
        self._window.begin_at(self._planned(*self._given))
        self._forget()

    # ------------------------------------------------------------ where it is

    @property
    def t(self) -> float:
        """Time [s]."""
        return self._window.t

    @property
    def q(self) -> Array:
        """Coordinates (nq,)."""
        return self._window.record.q[-1].copy()

    @property
    def v(self) -> Array:
        """Velocities (nv,)."""
        return self._window.record.v[-1].copy()

    @property
    def a(self) -> Array:
        """Accelerations (nv,) at the last stage of the last step; zero before the first."""
        return self._window.record.a[-1, -1].copy()

    @property
    def u(self) -> Array:
        """Inputs (nu,) that acted last, with tensions of tendons of prescribed length."""
        return self._window.record.inputs[-1, -1, : self.system.nu].copy()

    @property
    def multipliers(self) -> Array:
        """Forces of loop joints (rows,) at the end of the last step."""
        return self._window.record.force[-1, -1].copy()

    def read(self, q: Array, v: Array) -> None:
        """Coordinates and velocities into arrays (nq,) and (nv,) that are there."""
        q[:], v[:] = self._window.record.q[-1], self._window.record.v[-1]

    @property
    def state(self) -> State:
        """Time, coordinates, velocities, and what loads remember: a start for `simulate`, `rollout` and other steppers."""
        return State(self.t, self.q, self.v, self._window.record.memory[-1].copy())

    def pose(self, frame: FrameLike) -> Array:
        """Pose of a frame in the world, (4, 4)."""
        return self.system.pose(frame, self._window.record.q[-1])

    def position(self, frame: FrameLike) -> Array:
        """Position of a frame in the world [m], (3,)."""
        return self.system.pose(frame, self._window.record.q[-1])[:3, 3]

    def twist(self, frame: FrameLike, *, reference: Reference = "body") -> Array:
        """Twist of a frame, [angular; linear] (6,), as of `System.twist`."""
        return self.system.twist(frame, self._window.record.q[-1], self._window.record.v[-1], reference=reference)

    def jacobian(self, frame: FrameLike, *, reference: Reference = "body") -> Array:
        """Jacobian of a frame (6, nv), as of `System.jacobian`."""
        return self.system.jacobian(frame, self._window.record.q[-1], reference=reference)

    # ------------------------------------------------------------ steps

    @alone
    def step(self, u: Inputs = None, *, tau: ArrayLike | None = None, motion: Mapping[str, Any] | None = None) -> None:
        """Go on by one step.

        Parameters
        ----------
        u : array (nu,), dict by name, or None
            Inputs, held through the step; those not named are zero. None: what acted in the step before.
        tau : array (nv,), optional
            Further generalised forces in this step.
        motion : dict, optional
            Where prescribed joints [rad, m], loops and lengths of tendons [m] are to be at the end of the step, by name, if no function of time was
            given for them: a cubic that goes on with the rate that they have and ends with the mean rate of the step. The others stay.

        Raises
        ------
        StepError
            If the step cannot be taken. The stepper stays where it was.
        """
        system = self.system
        inputs = None if u is None else system.inputs(u)
        forces = None if tau is None else vector("tau", tau, (system.nv,))
        whole = self._window.step(inputs, forces, motion)
        self._off = None
        if self._recorded:
            self._keep()
        if whole and self._watch and not (self.steps - 1) % self._watch:
            self.check()

    @alone
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
        if not self.steps:
            return 0.0
        if self._off is not None:
            return self._off
        there, here = self._window.halved(), self._window.record.q[-1]
        if there is None:
            return self._worst
        size = extent(self.system)
        if size > 0.0:
            apart = step_ends(self.system, here) - step_ends(self.system, there)
            off = float(np.linalg.norm(apart, axis=1).max()) / size
        else:
            off = float(np.sqrt(np.mean((self.system.difference(there, here) / self.system.internal.scale) ** 2)))
        parts = 2**self._window.plan.tableau.order
        off *= parts / (parts - 1)
        self._checked, self._off = self._checked + 1, off
        if off > self._worst:
            self._worst, self._worst_t = off, float(self._window.record.t[1])
        return off

    # ------------------------------------------------------------ what was done

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return self._window.done // self._substeps

    @property
    def statistics(self) -> Statistics:
        """How much work the steps took; `steps` are inner ones."""
        counted = {name: int(self._window.memory.p[slot]) for name, slot in COUNTED.items()}
        return Statistics(steps=self._window.done, **counted)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was done other than asked for, and steps whose error is above 0.1 % of the robot's size."""
        window = self._window
        out = [window.said] if window.said else []
        if window.split:
            out.append(
                f"{window.split} of {window.done} inner steps were subdivided, at most into {window.most} parts; the motion is that of the parts."
            )
        if self._worst > SMALL:
            out.append(
                f"of {self._checked} steps that were checked the one at t = {self._worst_t:.6g} s errs by {100 * self._worst:.2g} % of the robot's size: "
                f"use more substeps than {self._substeps}, a smaller step or another method."
            )
        return tuple(out)

    def _keep(self) -> None:
        """A row for `result`; before the first, what the start is."""
        r = self._window.record
        if not self._rows:
            begin = r.a[-1, -1], r.inputs[1, 0], r.force[-1, -1], r.memory[1]
            self._rows.append((float(r.t[1]), r.q[1].copy(), r.v[1].copy(), *(x.copy() for x in begin)))
        last = r.a[-1, -1], r.inputs[-1, -1], r.force[-1, -1], r.memory[-1]
        self._rows.append((self.t, r.q[-1].copy(), r.v[-1].copy(), *(x.copy() for x in last)))

    @alone
    def result(self) -> Result:
        """The motion so far, if it is recorded (`record`), to plot, view and save it."""
        if not self._recorded:
            raise ValueError("nothing was recorded: make the stepper with record=True.")
        if not self._rows:
            raise ValueError("there is no motion yet: take a step first.")
        nu = self.system.nu
        t, q, v, a, u, force, z = (np.array(x) for x in zip(*self._rows))
        return Result(
            self.system, t, q, v, a, u[:, :nu], u[:, nu:], True, "completed", statistics=self.statistics, method=self._window.plan.tableau.name,
            warnings=self.warnings, multipliers=force, memory=z,
        )  # fmt: skip

    # ------------------------------------------------------------ saving

    def _kind(self) -> tuple[Any, ...]:
        return self.length, self._substeps, self._window.plan.tableau.name, self._window.plan.tolerance

    @alone
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
        window, seen = self._window, (self._worst, self._worst_t, self._checked, tuple(self._rows))
        return Saved(self.t, self._digest, self._kind(), (window.counts, seen), tuple(x.copy() for x in window.arrays))

    @alone
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
        for x, kept in zip(self._window.arrays, saved.arrays):
            x[:] = kept
        self._window.counts, (self._worst, self._worst_t, self._checked, rows) = saved.counts
        self._rows, self._off = list(rows), None
