"""`MPC`: a plan that is improved while it is carried out, from the state that is measured at every sample."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._turns import Turn, alone
from ...gradients.repeated import Repeated
from ...gradients.rollout import plan_of
from ...model.validate import integer, non_negative, positive, shown, vector
from ...system import FrameLike, System, needs_system
from .ddp import Solver
from .plan import OptimalPlan
from .problem import Problem, held_inputs

__all__ = ["MPC", "MPCResult"]

Array = NDArray[np.float64]
NEWTON = 1e-5  # tolerance of the rollouts: inputs of swing-ups differ by 1e-4 of themselves from those at 1e-7, which take up to three times as long


@dataclass(frozen=True, eq=False)
class MPCResult:
    """A closed loop: what the robot did, what it was told, and how long that took.

    Attributes
    ----------
    system : System
        The robot that moved.
    t : ndarray (n + 1,)
        Times of samples, and the end [s].
    q, v : ndarray (n + 1, nq), (n + 1, nv)
        The states of the robot, not those that were measured.
    u, applied : ndarray (n, nu)
        Inputs that were asked for at the samples, and those that acted at their end.
    costs : ndarray (n,)
        Cost of the plan of each sample.
    latencies, cpu : ndarray (n,)
        Time from a measured state to its input [s], by the clock and of the processor, which does not count what other programs take.
    rate : float
        Samples per second.
    failures : int
        Samples whose motion could not be computed, with the inputs of the plan before.
    warnings : tuple of str
    """

    system: System
    t: Array
    q: Array
    v: Array
    u: Array
    applied: Array
    costs: Array
    latencies: Array
    cpu: Array
    rate: float
    failures: int
    warnings: tuple[str, ...] = ()

    @property
    def percentiles(self) -> dict[str, float]:
        """Latencies [s]: the median, 95 and 99 percent, the largest."""
        found = np.percentile(self.latencies, [50, 95, 99, 100]).tolist()
        return dict(zip(("50", "95", "99", "max"), found))

    @property
    def missed(self) -> int:
        """Samples that took longer than their period."""
        return int(np.sum(self.latencies > 1.0 / self.rate))

    def positions(self, frame: FrameLike) -> Array:
        """Position of a frame at every time [m], (n + 1, 3)."""
        return self.system.pose(frame, self.q)[:, :3, 3]

    def __str__(self) -> str:
        """A few lines: how long, how fast."""
        p = {name: f"{1e3 * value:.2f}" for name, value in self.percentiles.items()}
        lines = [
            f"{self.system.name}: {self.t[-1] - self.t[0]:g} s at {self.rate:g} Hz, {len(self.u)} samples, {self.failures} failed",
            f"  latency {p['50']} ms (median), {p['95']} (95 %), {p['99']} (99 %), {p['max']} (max), {1e3 * np.median(self.cpu):.2f} of the processor; "
            f"{self.missed} of {len(self.u)} missed their deadline",
            *(f"  warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)


class MPC:
    """Model predictive control by real-time iterations: at every sample one sweep of `optimize` from the state that was measured.

    Parameters
    ----------
    plan : OptimalPlan
        Where it starts; its problem says what is optimised: system, cost, bounds, horizon. Costs count from now to the end of the horizon, which
        moves along; constraints are those of the plan with the multipliers that they had.
    rate : float
        Samples per second.
    iterations : int
        Sweeps for each sample.
    delay : float
        Time from a measured state to when its input acts [s]: the state by then is predicted with the inputs that were sent.
    threads : int
        That find derivatives of steps.

    Attributes
    ----------
    failures : int
        Samples whose motion could not be computed: they got the input of the plan before.

    Notes
    -----
    The policy of the last sample, inputs and gains, is rolled out from the new state, which is where the next sweep starts; it moves along by whole knots. No
    line search is made for the first sweep of a sample. Integrals of inputs alone (`pl.Effort`) count each knot for as long as it is held; in a plan, whose integrals are
    by the trapezoidal rule, the first counts half as much again, which is the one that a controller sends.

    What lies beyond the horizon does not count unless the cost says so: end it with the value of a regulator about the goal (`control.LQR.value`). A horizon that is
    shorter than the plan is that of `TrackingMPC`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> for k, (y, z) in enumerate([(0.0, 0.012), (0.010, -0.006), (-0.010, -0.006)]):
    ...     cable = robot.add_tendon(f"cable{k}", arm, y=y, z=z)
    >>> system = robot.compile()
    >>> cost = [pl.Reach("arm.tip", (0.36, 0.05, 0.08), 100.0, at="all"), pl.Effort(1e-4)]
    >>> plan = pl.optimize(
    ...     system, cost, bounds=(0, 20), horizon=0.3, knots=15, start=pl.solve_statics(system)
    ... )
    >>> mpc = pl.MPC(plan, rate=50)
    >>> u = mpc.control(0.0, (plan.rollout.q[0], plan.rollout.v[0]))
    >>> u.shape
    (3,)
    >>> loop = mpc.run(0.5)
    >>> loop.u.shape, loop.failures
    ((25, 3), 0)
    """

    def __init__(
        self,
        plan: OptimalPlan,
        *,
        rate: float = 100.0,
        iterations: int = 1,
        delay: float = 0.0,
        threads: int = 1,
        _begin: bool = True,
    ) -> None:
        self._turn = Turn()
        if not isinstance(plan, OptimalPlan):
            raise TypeError(f"plan = {shown(plan)} must be an OptimalPlan, as optimize returns.")
        if plan.problem.constraints:
            raise ValueError(
                "MPC does not take constraints: make them terms of the cost, for example quantity.above(limit, weight=...)."
            )
        self.plan, self.rate = plan, positive("rate", rate, unit="1/s")
        self.iterations, self.delay = (
            integer("iterations", iterations, minimum=1),
            non_negative("delay", delay, unit="s"),
        )
        self.problem = replace(
            plan.problem, free=(), cost=held_inputs(plan.problem, plan.rollout.states), threads=integer("threads", threads, minimum=1)
        )  # fmt: skip
        self._begin_with = plan.u, plan.policy
        self._ahead = _ahead(self.problem.system, self.delay, self.problem.step)
        if _begin:
            self.reset()

    @alone
    def reset(self) -> None:
        """Begin again with the plan."""
        U, policy = self._begin_with
        self._aim(self.problem.t0)
        self._solver = Solver(self.problem, U, tolerance=NEWTON, policy=policy)
        self._solver.begin()  # with feedback: an unstable robot would leave the motion without
        self._solver.backwards()
        self._shifted = self.problem.t0  # time at which the present policy begins
        self._sent: list[tuple[float, Array]] = []
        self.failures = 0
        self.value = self._solver.value
        self._gains = self._present_gains()

    @property
    def system(self) -> System:
        """The model."""
        return self.problem.system

    @alone
    def control(self, t: float, state: Any) -> Array:
        """The input (nu,) for a state measured at t [s]: one real-time iteration.

        Parameters
        ----------
        t : float
        state : object with q and v, or pair (q, v)
            If the system has loads that remember, what they do is that of the plan, unless the state has `memory`.
        """
        q, v, z = _state(self.system, state)
        if self.delay > 0.0:
            q, v = self._predicted(t, q, v)
        u = self._iterate(t + self.delay, q, v, z)
        self._sent.append((t + self.delay, u))
        self._gains = self._present_gains()
        return u.copy()

    def feedback(self, state: Any) -> Array:
        """The input (nu,) for a state between samples, by the gains of the last one: microseconds, also while another thread plans the next."""
        u, K, target_q, target_v, target_z = self._gains
        q, v, z = _state(self.system, state)
        x = np.zeros(K.shape[1])
        nv = self.system.nv
        x[:nv] = self.system.difference(target_q, q)
        x[nv : 2 * nv] = v - target_v
        if z is not None:
            x[2 * nv : 2 * nv + len(z)] = z - target_z
        return np.clip(u + K @ x, self.problem.lower[0], self.problem.upper[0])

    def _present_gains(self) -> tuple[Array, Array, Array, Array, Array]:
        """What feedback needs of the last sample: input, gains, and the state that they are about."""
        solver, lever = self._solver, self._solver.steps.memory.lever
        targets = (x[0].copy() for x in (lever.target_q, lever.target_v, lever.target_z))
        return (solver.U[0] + solver.k[0], solver.K[0].copy(), *targets)

    # ------------------------------------------------------------ a sample

    def _iterate(self, t: float, q: Array, v: Array, z: Array | None) -> Array:
        solver, p = self._solver, self.problem
        knot = p.horizon / p.knots
        whole = int((t - self._shifted) / knot + 1e-6)
        if whole > 0:
            solver.shift(min(whole, p.knots))
            self._shifted += whole * knot
            self._append(min(whole, p.knots))
        self._aim(t)
        solver.steps.set_start(q, v, z, t)
        if solver.follow():
            solver.backwards()
            for _ in range(self.iterations - 1):
                if solver.forwards():
                    solver.backwards()
        else:
            self.failures += 1
        self.value = solver.value
        return np.clip(solver.U[0] + solver.k[0] * solver.trusted, p.lower[0], p.upper[0])

    def _aim(self, t: float) -> None:
        """Called before a sample is planned from t on: what costs are relative to may move."""

    def _append(self, knots: int) -> None:
        """Called after the policy was moved on by some knots: the last of these are copies."""

    def _predicted(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state when the input will act, with those that were sent."""
        steps = self._ahead
        if steps is None:
            return q, v
        times = t + np.diff(steps.plan.times).cumsum() - np.diff(steps.plan.times)
        steps.set_start(q, v, None, t)
        steps.set_inputs(np.array([self._acting(one) for one in times]))
        if not steps.roll():
            self.failures += 1
            return q, v
        record = steps.memory.record
        return record.q[-1].copy(), record.v[-1].copy()

    def _acting(self, t: float) -> Array:
        """The input that acts at t."""
        while len(self._sent) > 1 and self._sent[1][0] <= t - 10.0 * self.delay:
            self._sent.pop(0)
        found = [u for begin, u in self._sent if begin <= t + 1e-9]
        return found[-1] if found else self.plan.u[0]

    # ------------------------------------------------------------ a closed loop

    @alone
    def run(
        self,
        duration: float,
        *,
        plant: System | None = None,
        start: Any = None,
        disturbance: Callable[[float], ArrayLike] | None = None,
        delay: float | None = None,
        noise: float | tuple[float, float] = 0.0,
        seed: int = 0,
        substeps: int = 4,
    ) -> MPCResult:
        """A closed loop on a nonlinear model.

        Parameters
        ----------
        duration : float
            Time [s].
        plant : System, optional
            The robot that moves, with coordinates and inputs like those of the model but perhaps other parameters; the model itself if left out.
        start : pair (q, v), optional
            Where it starts; that of the plan if left out.
        disturbance : function of t, optional
            Generalised forces (nv,) that the model does not know.
        delay : float, optional
            Time from a measured state to when its input acts [s]; by default that which the controller expects. Rounded up to whole steps of the plant.
        noise : float or pair
            Standard deviations of what is measured of q and v, in natural sizes of the coordinates (1 for angles, 1/length for bending, …) and of these per second.
        seed : int
            Of the noise.
        substeps : int
            Steps of the plant for each sample.

        Returns
        -------
        MPCResult
        """
        robot = self._plant(plant)
        n = max(1, round(positive("duration", duration, unit="s") * self.rate))
        late = self.delay if delay is None else non_negative("delay", delay, unit="s")
        q, v = (self.problem.q, self.problem.v) if start is None else _state(robot, start)[:2]
        moving = _Plant(
            robot, self.problem, q, v, integer("substeps", substeps, minimum=1), self.rate, late, self.plan.u[0]
        )
        deviation: Array = np.broadcast_to(np.asarray(noise, dtype=float), (2,))
        rng, scale = np.random.default_rng(seed), robot.internal.scale
        self.reset()
        log = _Log(robot, n)
        log.put_state(0, moving)
        for k in range(n):
            seen = _Measured(
                robot.integrate(moving.q, deviation[0] * scale * rng.standard_normal(robot.nv)),
                moving.v + deviation[1] * scale * rng.standard_normal(robot.nv),
                moving.z,
            )
            clock, busy = time.perf_counter(), time.thread_time()
            u = self.control(moving.t, seen)
            log.latencies[k], log.cpu[k] = time.perf_counter() - clock, time.thread_time() - busy
            push = None if disturbance is None else vector("disturbance(t)", disturbance(moving.t), (robot.nv,))
            log.u[k], log.applied[k], log.costs[k] = u, moving.go_on(u, push), self.value
            log.put_state(k + 1, moving)
        warnings = []
        if abs(moving.wait * moving.h - late) > 1e-12:
            warnings.append(
                f"the delay of {late:g} s was rounded up to {moving.wait * moving.h:g} s, whole steps of the plant."
            )
        if self.failures:
            warnings.append(
                f"{self.failures} of {n} samples could not be planned, and got the inputs of the plan before."
            )
        return log.result(self.rate, self.failures, tuple(warnings))

    def _plant(self, plant: System | None) -> System:
        if plant is None:
            return self.system
        needs_system("MPC.run", plant)
        if (plant.nq, plant.nv, plant.nu) != (self.system.nq, self.system.nv, self.system.nu):
            raise ValueError(
                f"plant {plant.name!r} has {plant.nq} coordinates, {plant.nv} velocities and {plant.nu} inputs, but the model has {self.system.nq}, "
                f"{self.system.nv} and {self.system.nu}: give a robot of the same shape."
            )
        return plant


class _Plant:
    """The robot of a closed loop: its state, and inputs that act late."""

    def __init__(
        self, system: System, problem: Problem, q: Array, v: Array, fine: int, rate: float, late: float, u: Array
    ) -> None:
        self.system, self.fine, self.rate, self.q, self.v = system, fine, rate, q, v
        self.h = 1.0 / rate / fine
        self.wait = int(np.ceil(late / self.h - 1e-9))  # steps
        self.begin = self.t = problem.t0
        zero = np.zeros((fine, system.nu))
        plan = plan_of(system, zero, step=self.h, start=q, velocity=v, t0=self.t, motion=problem.motion)
        self._steps = Repeated(plan)
        self.z = self._steps.memory.record.memory[0].copy()
        self._sent = [(-1, u)]  # steps from which inputs act
        self._samples = 0

    def go_on(self, u: Array, push: Array | None) -> Array:
        """A sample further; returns the input that acts at its end."""
        first, steps = self._samples * self.fine, self._steps
        self._sent.append((first + self.wait, u))
        acting = np.array([[x for begin, x in self._sent if begin <= first + j][-1] for j in range(self.fine)])
        self._sent = self._sent[-(self.wait // self.fine + 3) :]
        steps.set_start(self.q, self.v, self.z, self.t)
        steps.set_inputs(acting)
        if push is not None:
            steps.memory.record.inputs[:, :, self.system.nu :] = push
        if not steps.roll():
            raise ArithmeticError(
                f"the plant cannot be moved on from t = {self.t:.6g} s with steps of {self.h:.3g} s: use more substeps. The inputs were {u}."
            )
        r = steps.memory.record
        self.q, self.v, self.z = r.q[-1].copy(), r.v[-1].copy(), r.memory[-1].copy()
        self._samples += 1
        self.t = self.begin + self._samples / self.rate
        return acting[-1]


@dataclass
class _Measured:
    """What the controller sees."""

    q: Array
    v: Array
    memory: Array


@dataclass
class _Log:
    """The memory of a closed loop."""

    system: System
    n: int
    t: Array = field(init=False)

    def __post_init__(self) -> None:
        n, s = self.n, self.system
        self.t, self.q, self.v = np.zeros(n + 1), np.zeros((n + 1, s.nq)), np.zeros((n + 1, s.nv))
        self.u, self.applied = np.zeros((2, n, s.nu))
        self.costs, self.latencies, self.cpu = np.zeros((3, n))

    def put_state(self, k: int, plant: _Plant) -> None:
        """The state at the beginning of sample k."""
        self.t[k], self.q[k], self.v[k] = plant.t, plant.q, plant.v

    def result(self, rate: float, failures: int, warnings: tuple[str, ...]) -> MPCResult:
        return MPCResult(
            self.system,
            self.t,
            self.q,
            self.v,
            self.u,
            self.applied,
            self.costs,
            self.latencies,
            self.cpu,
            rate,
            failures,
            warnings,
        )


def _state(system: System, state: Any) -> tuple[Array, Array, Array | None]:
    """q, v and what loads remember, of whatever has them."""
    if isinstance(state, (tuple, list)) and len(state) == 2:
        return system.check_q(state[0]), system.check_v("v", state[1]), None
    if not hasattr(state, "q") or not hasattr(state, "v"):
        raise TypeError(f"state = {shown(state)} must have q and v, or be a pair (q, v).")
    z = getattr(state, "memory", None)
    return system.check_q(state.q), system.check_v("v", state.v), None if z is None else np.asarray(z, dtype=float)


def _ahead(system: System, delay: float, step: float) -> Repeated | None:
    """Steps over the delay, none longer than those of the plan."""
    if delay == 0.0:
        return None
    n = max(1, int(np.ceil(delay / step - 1e-9)))
    return Repeated(plan_of(system, np.zeros((n, system.nu)), step=delay / n, tolerance=NEWTON))
