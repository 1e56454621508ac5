"""`rollout`: a motion in given steps, all of it kept, that can be differentiated exactly."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import SINGULAR
from ..kernels.solve.tape import ARRIVED, FULL
from ..model.validate import choice, finite, flag, positive, reals, unknown_name, vector
from ..solve.closure import constrained_acceleration
from ..solve.methods.tableau import EULER, MIDPOINT, SDIRK2, SDIRK3, Tableau
from ..solve.motion import MotionSet
from ..solve.result import Result, Statistics
from ..solve.simulate import initial_state
from ..system import FrameLike, Given, System, needs_system
from .costs.cost import as_cost
from .costs.states import Variation
from .gradient import Gradient, Pulled, gradient, pull, states_of
from .memory import Memory
from .schedule import Interpolation, Schedule
from .tangent import Direction, maps, push

__all__ = ["METHODS", "Rollout", "RolloutError", "rollout"]

Array = NDArray[np.float64]
Method = Literal["sdirk2", "sdirk3", "midpoint", "euler"]
METHODS: dict[str, Tableau] = {tableau.name: tableau for tableau in (SDIRK2, SDIRK3, MIDPOINT, EULER)}
"""Methods without memory: the end of a step follows from the state at its start and its inputs alone."""

BATCH = 2048  # steps in one call of the engine, between which Ctrl-C is heard
PARTS, FINEST = 4, 4096  # of a step that cannot be taken, and at most


class RolloutError(ArithmeticError):
    """A step could not be taken; `run` has what was computed before it."""

    def __init__(self, message: str, run: Rollout) -> None:
        super().__init__(message)
        self.run = run


@dataclass(frozen=True, eq=False)
class Rollout:
    """A motion in given steps.

    Attributes
    ----------
    system : System
    t : ndarray (n + 1,)
        Times of the states [s]; the first is the start.
    q, v : ndarray (n + 1, nq), (n + 1, nv)
        Coordinates and velocities.
    u, tau : ndarray (n + 1, nu), (n + 1, nv)
        Inputs and further generalised forces that act at the end of each step (row 0: at the start), with the tensions of tendons of prescribed
        length.
    U : ndarray (m, nu)
        The rows of inputs that were given.
    method : str
    warnings : tuple of str
        What was done other than asked for.
    statistics : Statistics
    """

    system: System
    t: Array
    q: Array
    v: Array
    u: Array
    tau: Array
    U: Array
    method: str
    schedule: Schedule
    warnings: tuple[str, ...]
    statistics: Statistics
    plan: Plan = field(repr=False)
    memory: Memory = field(repr=False)

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.t) - 1

    def __str__(self) -> str:
        """A few lines: what was run, how fast."""
        lines = [
            f"{self.system.name}: {self.t[-1] - self.t[0]:.6g} s in {len(self)} steps of {self.method}",
            f"  {self.statistics}",
            *(f"  warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)

    def poses(self, frame: FrameLike) -> Array:
        """Pose of a frame at every time, (n + 1, 4, 4)."""
        return self.system.pose(frame, self.q)

    def positions(self, frame: FrameLike) -> Array:
        """Position of a frame at every time [m], (n + 1, 3)."""
        return self.poses(frame)[:, :3, 3]

    def result(self) -> Result:
        """The motion as a `Result`, to plot, view and save it; accelerations are those of the last stages."""
        a = self.memory.record.a
        return Result(
            self.system, self.t, self.q, self.v, np.concatenate([a[:1, -1], a[:, -1]]), self.u, self.tau, True, "completed",
            statistics=self.statistics, method=self.method, warnings=self.warnings,
            multipliers=np.concatenate([f[:1, -1], f[:, -1]]) if (f := self.memory.record.force).shape[2] else np.zeros((0, 0)),
        )  # fmt: skip

    # ------------------------------------------------------------ derivatives

    def gradient(self, cost: Any) -> Gradient:
        """The gradient of a cost by inputs, start and every parameter: exact for the motion as it was computed.

        Parameters
        ----------
        cost : Cost, or a list of them
            For instance ``pl.Reach("arm.tip", goal) + 1e-4 * pl.Effort()``; see `pliant.costs`.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> cable = robot.add_tendon("cable", arm, z=0.012)
        >>> system = robot.compile()
        >>> run = pl.rollout(system, np.full((20, 1), 5.0), step=0.01, start=pl.solve_statics(system))
        >>> g = run.gradient(pl.Reach("arm.tip", (0.38, 0.0, 0.1)) + 1e-4 * pl.Effort())
        >>> g.u.shape, g.start.shape, g.velocity.shape
        ((20, 1), (12,), (12,))
        >>> bool(g["arm.young"] == g.parameters["arm.young"])
        True
        """
        return gradient(self, cost)

    def pull(self, q: ArrayLike | None = None, v: ArrayLike | None = None, u: ArrayLike | None = None) -> Pulled:
        """Derivatives of anything by inputs, start and parameters, from those by the states: the transposed product (reverse mode).

        Parameters
        ----------
        q, v, u : array (n + 1, nv), (n + 1, nv), (n + 1, nu), optional
            Derivatives by coordinates (along the manifold), velocities and applied inputs of every state; zero if left out.
        """
        n, system = len(self.t), self.system
        sizes = {"q": (q, system.nv), "v": (v, system.nv), "u": (u, system.nu)}
        rows = [np.zeros((n, size)) if x is None else vector(name, x, (n, size)) for name, (x, size) in sizes.items()]
        return pull(self, Variation(*rows))

    def push(
        self,
        u: ArrayLike | None = None,
        start: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> Variation:
        """The change of all states with a change of inputs, start and parameters (forward mode).

        Parameters
        ----------
        u : array (m, nu), optional
            Change of the rows of inputs.
        start, velocity : array (nv,), optional
            Change of the start, along the manifold, and of the initial velocity.
        parameters : dict, optional
            Changes of parameters by name.

        Returns
        -------
        Variation
            Changes q, v (n + 1, nv), along the manifold, and u (n + 1, nu) of the applied inputs.
        """
        return push(self, [self._direction(u, start, velocity, parameters)])[0]

    def _direction(self, u: Any, start: Any, velocity: Any, parameters: Any) -> Direction:
        nv = self.system.nv
        for name in parameters or {}:
            if name not in self.system.parameters:
                raise unknown_name("parameter", str(name), self.system.parameters)
        return Direction(
            None if u is None else vector("u", u, self.U.shape),
            None if start is None else vector("start", start, (nv,)),
            None if velocity is None else vector("velocity", velocity, (nv,)),
            parameters,
        )

    def sensitivities(self, names: Iterable[str]) -> dict[str, Variation]:
        """The changes of all states with a unit of some parameters, by name, in one pass forward."""
        found = {name: self._direction(None, None, None, {name: 1.0}) for name in names}
        return dict(zip(found, push(self, list(found.values()))))

    def maps(self) -> tuple[Array, Array]:
        """Derivatives of every step: of the state (δq, δv) at its end by that at its start, and by the inputs that are held in it.

        Returns
        -------
        A : ndarray (n, 2 nv, 2 nv)
        B : ndarray (n, 2 nv, nu)
        """
        return maps(self)

    def gauss_newton(self, cost: Any, u: ArrayLike) -> Array:
        """The product of the Gauss–Newton matrix of a cost (of a sum of squares JᵀJ) with a change of the rows of inputs, (m, nu)."""
        found = as_cost(cost).evaluate(states_of(self))
        curved = found.gauss_newton(self.push(u=u))
        return self.pull(*curved).u

    def halved(self) -> Rollout:
        """The same motion with every step halved: what differs is about the error of the steps (¾ of it for a method of second order)."""
        return self.plan.halved().run()

    def error(self, frame: FrameLike) -> float:
        """Estimated largest error of a frame's position [m], from a motion with every step halved."""
        fine = self.halved()
        order = METHODS[self.method].order
        off = np.linalg.norm(self.positions(frame) - fine.positions(frame)[::2], axis=1).max()
        return float(off * 2**order / (2**order - 1))


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
    motion: Mapping[str, Any] | None
    tolerance: float
    subdivide: bool

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

    # ------------------------------------------------------------ running

    def fill(self, memory: Memory) -> MotionSet:
        """Write times, inputs, prescribed motion and start into a record."""
        system, record, nu = self.system, memory.record, self.system.nu
        n, s = record.inputs.shape[:2]
        record.t[:] = self.times
        record.inputs[:, :, :nu] = (self.stage_weights() @ self.schedule.coefficients(self.U)).reshape(n, s, nu)
        record.inputs[:, :, nu:] = self._tau_at(self.outer_step())[:, None]
        record.begin_q[:], record.begin_v[:] = self.q, self.v
        motion = MotionSet(system, self.motion, self.q, float(self.times[0]))
        motion.joints_at(float(self.times[0]), record.begin_q, record.begin_v, np.zeros(system.nv))
        if motion.active:
            times, _ends = self.stage_times()
            for row, t in zip(record.known.reshape(n * s, -1), times.tolist()):
                tell(motion, t, row)
        return motion

    def run(self) -> Rollout:
        """Compute the motion; with `subdivide` steps that cannot be taken are replaced by parts, which the plan of the result has."""
        clock = time.perf_counter()
        plan, done, statistics = self, 0, Statistics()
        memory = Memory(self.system, self.tableau, len(self.times) - 1, tolerance=self.tolerance)
        given = plan.prepare(memory)
        while True:
            status = plan._go(memory, given, done, statistics)
            if status == ARRIVED:
                break
            done = int(memory.p[slots.MARCH_STEPS])
            finer = plan._subdivided(done) if self.subdivide else None
            if finer is None:
                statistics.wall_time = time.perf_counter() - clock
                raise RolloutError(plan._why(status, done, memory), plan._cut(done)._finished(memory, statistics))
            old, plan = memory, finer
            memory = Memory(self.system, self.tableau, len(plan.times) - 1, tolerance=self.tolerance)
            plan.fill(memory)
            given = memory_of(old, memory, done, given)
        statistics.wall_time = time.perf_counter() - clock
        return plan._finished(memory, statistics)

    def prepare(self, memory: Memory) -> Given:
        """Fill the record, and find accelerations, forces and tensions to start the first iteration with."""
        motion, system, record = self.fill(memory), self.system, memory.record
        t, nu = float(self.times[0]), system.nu
        q, v = record.begin_q.copy(), record.begin_v.copy()
        u, tau = record.inputs[0, 0, :nu].copy(), record.inputs[0, 0, nu:].copy()
        known = np.zeros(system.nv)
        motion.joints_at(t, q, v, known)
        tensions = motion.start_tensions(t, q, v, u, tau)
        for index, tension in tensions.items():
            u[index] = record.inputs[0, 0, index] = tension
        told, multipliers = motion.told_at(t), None
        if system.loop_rows:
            a, multipliers = constrained_acceleration(system, q, v, u, tau, known, told=told)
        else:
            a = system.forward_dynamics(q, v, tau, u=u, prescribed=known)
        if not np.all(np.isfinite(a)):
            raise ValueError(f"the acceleration at t = {t:g} s is not finite: inputs or the start contain NaN or overflow.")
        memory.tape.a[0] = a
        hold = np.zeros((len(system.tendons.law), 4))
        lengths = system.tendon_lengths(q)[0] if tensions else np.zeros(0)
        for (k, (length, rate)), index in zip(motion.cables_at(t).items(), tensions):
            pushes = motion.pushes[k]
            slack = not (tensions[index] > 0.0 or pushes) and lengths[k] < length * (1 - 1e-12)
            hold[k] = -1.0 if slack else 1.0, length, rate, pushes
        return Given(multipliers, hold=hold, told=told)

    def _go(self, memory: Memory, given: Given, done: int, statistics: Statistics) -> int:
        """Steps from the one with number `done` on; returns why it ends."""
        p = memory.p
        p[slots.MARCH_STEPS], p[slots.MARCH_BUDGET] = done, BATCH
        status = memory.run(engine.ROLLOUT, given)
        while status == FULL:
            status = memory.run(engine.ROLLOUT)
        counted = {"iterations": slots.MARCH_ITERATIONS, "factorisations": slots.MARCH_FACTORISATIONS, "residuals": slots.MARCH_RESIDUALS}
        for name, slot in counted.items():
            setattr(statistics, name, getattr(statistics, name) + int(p[slot]))
            p[slot] = 0.0
        statistics.steps = int(p[slots.MARCH_STEPS])
        return status

    def _finished(self, memory: Memory, statistics: Statistics) -> Rollout:
        record, nu = memory.record, self.system.nu
        n = len(self.times) - 1
        u = np.zeros((n + 1, nu))
        u[:1], u[1:] = record.inputs[:1, 0, :nu], record.inputs[:n, -1, :nu]
        tau = np.zeros((n + 1, self.system.nv))
        tau[:1], tau[1:] = record.inputs[:1, 0, nu:], record.inputs[:n, -1, nu:]
        return Rollout(
            self.system, self.times.copy(), record.q[: n + 1].copy(), record.v[: n + 1].copy(), u, tau, self.U, self.tableau.name,
            self.schedule, self._warnings(), statistics, self, memory,
        )  # fmt: skip

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

    def _why(self, status: int, k: int, memory: Memory) -> str:
        if k == 0 and not memory.record.a.any() and self.system.loop_rows:
            gap = np.abs(self.system.closure(self.q)[0]).max()
            if gap > 1e-6:
                return (
                    f"the loops of {self.system.name!r} are open by {gap:.3g} at the start and cannot be closed from there: mount the robot with "
                    "solve_statics and start from that."
                )
        why = "its tangent is singular" if status == SINGULAR else "Newton's iteration does not converge"
        name = self.system.dof_names[int(memory.p[slots.MARCH_LIMITING])]
        advice = "a smaller step" if self.subdivide else "a smaller step, or subdivide=True, which records the parts"
        return (
            f"step {k + 1} of {len(self.times) - 1}, from t = {self.times[k]:.6g} s with {self.times[k + 1] - self.times[k]:.3g} s, cannot be taken: "
            f"{why} ({name!r} moves most). Use {advice}. The error's `run` has the steps before it."
        )

    def _warnings(self) -> tuple[str, ...]:
        parts = np.bincount(self.outer_step(), minlength=len(self.outer) - 1)
        split = np.flatnonzero(parts > parts.min())
        if not len(split):
            return ()
        worst = int(split[np.argmax(parts[split])])
        return (
            f"{len(split)} of {len(self.outer) - 1} steps were subdivided, the first at t = {self.outer[split[0]]:.6g} s and the worst, at t = "
            f"{self.outer[worst]:.6g} s, into {parts[worst]} parts; states and derivatives are those of the parts.",
        )


def memory_of(old: Memory, new: Memory, done: int, given: Given) -> Given:
    """Take over the first steps of a memory into one with more; what the next step starts from."""
    for name in ("inputs", "a", "force", "hold"):
        getattr(new.record, name)[:done] = getattr(old.record, name)[:done]
    for name in ("q", "v", "push"):
        getattr(new.record, name)[: done + 1] = getattr(old.record, name)[: done + 1]
    new.tape.a[0] = old.tape.a[0] if done == 0 else old.record.a[done - 1, -1]
    work, system = old.space.work, old.system
    if done:
        for k, row in enumerate(system.tendons.law):
            if work.hold[k, slots.HOLD_ACTIVE] != 0.0:
                new.record.inputs[done, 0, row[0]] = old.record.inputs[done - 1, -1, row[0]]
    multipliers = old.record.force[done - 1, -1].copy() if done else given.multipliers
    return Given(multipliers, hold=work.hold.copy(), told=work.told.copy())


def tell(motion: MotionSet, t: float, row: Array) -> None:
    """Prescribed motion at a time, into a row of `Record.known`."""
    system = motion.system
    nq, nv, m = system.nq, system.nv, len(system.tendons.law)
    motion.joints_at(t, row[:nq], row[nq : nq + nv], row[nq + nv : nq + 2 * nv])
    for k, (length, rate) in motion.cables_at(t).items():
        row[nq + 2 * nv + k] = length
        row[nq + 2 * nv + m + k] = rate
    told = motion.told_at(t)
    if told is not None:
        row[nq + 2 * nv + 2 * m :] = told[:, :2].T.ravel()


def rollout(
    system: System,
    U: ArrayLike | Mapping[str, Any] | None = None,
    *,
    step: float | ArrayLike,
    duration: float | None = None,
    inputs: Interpolation = "hold",
    knots: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    motion: Mapping[str, Any] | None = None,
    start: Any = None,
    velocity: ArrayLike | None = None,
    t0: float | None = None,
    method: Method = "sdirk2",
    subdivide: bool = False,
    tolerance: float = 1e-11,
) -> Rollout:
    """A motion in given steps, all of it kept, that can be differentiated exactly.

    Parameters
    ----------
    system : System
    U : array (m, nu), dict of arrays (m,) by name, or None
        Inputs, one row after the other; zero if left out. A vector (nu,) acts all the time.
    step : float or array (n,)
        Step, or all steps [s]. They stay as they are: a step that Newton's iteration does not get through is an error with its number.
    duration : float, optional
        Simulated time [s]; by default as many steps as U has rows (hold) or intervals between them.
    inputs : {"hold", "linear", "spline"}
        How the rows act: each for an equal share of the time (by default one step), or as values at equally spaced knots with straight lines or a
        cubic spline in between.
    knots : array (m,), optional
        Times [s] from which rows act (hold), or at which they are reached, instead of equal shares.
    tau : array (nv,) or (n, nv), optional
        Further generalised forces, constant or in each step.
    motion : dict, optional
        Prescribed joints, loops and tendon lengths, as in `simulate`.
    start, velocity, t0
        As in `simulate`. Loops are closed, and lengths of tendons reached, by a projection of the start.
    method : {"sdirk2", "sdirk3", "midpoint", "euler"}
        One-step methods without memory, of second order (L-stable, the default), third order (L-stable), second order without damping, first order.
    subdivide : bool
        Go through a step that cannot be taken in four parts (and these again). The parts are steps like the others, in the result and in its
        derivatives, and the warnings say which they are.
    tolerance : float
        Where Newton's iteration stops, in natural sizes of the coordinates. Derivatives are exact for the converged motion.

    Returns
    -------
    Rollout

    Raises
    ------
    RolloutError
        If a step cannot be taken; its attribute `run` has the steps before.
    TypeError, ValueError, KeyError
        If what is asked for is wrong or impossible.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system)
    >>> run = pl.rollout(system, np.full((50, 1), 5.0), step=0.01, start=rest)
    >>> run.q.shape, run.positions("arm.tip").shape
    ((51, 12), (51, 3))
    """
    needs_system("rollout", system)
    choice("method", method, METHODS)
    choice("inputs", inputs, ("hold", "linear", "spline"))
    q, v, begin = initial_state(system, start, velocity, t0)
    rows = _rows(system, U)
    times = _times(begin, step, duration, len(rows), inputs, given=U is not None and np.ndim(rows) == 2)
    schedule = Schedule(_knots(knots, times, len(rows), inputs), inputs)
    plan = Plan(
        system, METHODS[method], times, times, schedule, rows, _tau(system, tau, len(times) - 1), q, v, motion,
        positive("tolerance", tolerance), flag("subdivide", subdivide),
    )  # fmt: skip
    return plan.run()


def _rows(system: System, U: Any) -> Array:
    """Inputs as (m, nu); a constant is one row."""
    if U is None:
        return np.zeros((1, system.nu))
    if isinstance(U, Mapping):
        columns = {name: np.atleast_1d(reals(f"U[{name!r}]", value)) for name, value in U.items()}
        unknown = [name for name in columns if name not in system.input_names]
        if unknown:
            system.inputs({unknown[0]: 0.0})  # its error names what there is
        m = max((len(column) for column in columns.values()), default=1)
        out = np.zeros((m, system.nu))
        for name, column in columns.items():
            if column.ndim != 1 or len(column) not in (1, m):
                raise ValueError(f"U[{name!r}] has shape {column.shape}, but ({m},) is needed, as other inputs have, or one number.")
            out[:, system.input_names.index(name)] = column
    else:
        out = np.array(reals("U", U), dtype=float)  # a copy: writeable and contiguous, whatever it was
        out = out[None] if out.ndim == 1 else out
        if out.ndim != 2 or out.shape[1] != system.nu or not len(out):
            names = ", ".join(system.input_names) or "no inputs"
            raise ValueError(f"U has shape {np.shape(U)}, but (rows, {system.nu}) is needed: {names}.")
    if not np.all(np.isfinite(out)):
        row, k = np.argwhere(~np.isfinite(out))[0]
        raise ValueError(f"U[{row}, {k}] = {out[row, k]} ({system.input_names[k]!r}) must be finite.")
    for row in (out.min(axis=0), out.max(axis=0)):
        system.inputs(row)  # within their bounds
    return out


def _times(begin: float, step: Any, duration: float | None, rows: int, inputs: str, *, given: bool) -> Array:
    steps = np.array(reals("step", step), dtype=float)
    if steps.ndim > 1 or not np.all(np.isfinite(steps)) or not np.all(steps > 0) or not steps.size:
        raise ValueError(f"step = {step!r} must be a positive number [s], or an array of them, one for each step.")
    if steps.ndim == 1:
        if duration is not None and abs(steps.sum() - finite("duration", duration, unit="s")) > 1e-9 * steps.sum():
            raise ValueError(f"duration = {duration:g} s, but the steps sum up to {steps.sum():g} s. Leave it out.")
        return begin + np.concatenate([[0.0], np.cumsum(steps)])
    if duration is None:
        if not given or (rows == 1 and inputs != "hold"):
            raise ValueError("duration is needed: U does not tell how many steps there are.")
        n = rows if inputs == "hold" else rows - 1
    else:
        whole = positive("duration", duration, unit="s") / float(steps)
        n = round(whole)
        if n < 1 or abs(whole - n) > 1e-6 * whole:
            raise ValueError(
                f"duration = {duration:g} s is no whole number of steps of {float(steps):g} s; use step = {duration / max(1, round(whole)):.9g} s."
            )
    return begin + float(steps) * np.arange(n + 1)


def _knots(knots: Any, times: Array, rows: int, inputs: str) -> Array:
    n, begin, end = len(times) - 1, float(times[0]), float(times[-1])
    if knots is None:
        if inputs != "hold":
            return np.linspace(begin, end, rows)
        if rows == n:
            return times[:-1].copy()
        found = begin + (end - begin) * np.arange(rows) / rows
    else:
        found = np.array(reals("knots", knots), dtype=float)
        if found.shape != (rows,) or not np.all(np.diff(found) > 0):
            raise ValueError(f"knots must be {rows} increasing times [s], one for each row of U; got shape {found.shape}.")
        slack = 1e-9 * max(1.0, abs(end))
        if found[0] > begin + slack or (inputs != "hold" and found[-1] < end - slack):
            raise ValueError(f"knots from {found[0]:g} to {found[-1]:g} s do not cover the motion from {begin:g} to {end:g} s.")
    if inputs == "hold":
        inside = found[(found > begin) & (found < end)]
        off = np.abs(inside[:, None] - times).min(axis=1, initial=np.inf) if len(inside) else np.zeros(0)
        if np.any(off > 1e-9 * max(1.0, abs(end))):
            raise ValueError(
                f"inputs jump at t = {inside[np.argmax(off)]:.9g} s, within a step: {rows} rows of U share {n} steps. Choose numbers that divide, or knots at "
                "the ends of steps."
            )
    return found


def _tau(system: System, tau: Any, n: int) -> Array:
    if tau is None:
        return np.zeros(system.nv)
    out = np.array(reals("tau", tau), dtype=float)
    if out.shape not in ((system.nv,), (n, system.nv)) or not np.all(np.isfinite(out)):
        raise ValueError(f"tau has shape {out.shape}, but ({system.nv},) or ({n}, {system.nv}) finite numbers are needed.")
    return out
