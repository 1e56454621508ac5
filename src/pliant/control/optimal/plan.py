"""The result of `optimize`: inputs, the motion that they make, gains about it, and how it was found."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...gradients.repeated import Repeated
from ...gradients.rollout import Rollout
from ...model.signal import Signal
from ...model.validate import reals, shown
from ...solve.result import Result
from ...solve.simulate import initial_state, simulate
from ...system import FrameLike
from .ddp import Policy
from .problem import Problem

__all__ = ["OptimalPlan"]

Array = NDArray[np.float64]
COARSE = 0.02  # of the way of the farthest link: a plan that ends farther from the error-controlled solver is said to be coarse


@dataclass(frozen=True, eq=False)
class OptimalPlan:
    """An optimal motion.

    Attributes
    ----------
    problem : Problem
    u : ndarray (knots, nu)
        Inputs; each is held from its knot to the next.
    gains : ndarray (knots, nu, 2 nv + nz)
        Feedback about the motion: ``u + gains (x ⊖ x̄)`` at the start of a knot is what would be optimal there, to first order. Rows of inputs
        at their bounds are zero.
    rollout : Rollout
        The motion in the steps of the problem, to full precision; it has exact gradients.
    status : {"converged", "stalled", "iterations", "infeasible", "interrupted"}
        Whether the projected gradient is below the tolerance (and constraints are met); whether no step lowered the cost any more; whether
        iterations were used up; whether constraints are not met.
    message : str
    cost : float
    costs, slopes : ndarray (iterations + 1,)
        Cost and relative projected gradient of every iteration; with constraints the cost has their multipliers.
    violation : float
        Largest violation of a constraint, in its own unit.
    iterations, rollouts : int
    seconds : float
        Wall time.
    scale : float
        The derivative that slopes are relative to: the largest where the iteration began.
    warnings : tuple of str
    parameters : dict
        Values of the parameters that were optimised, by name.
    moved : int
        By how many knots it was `shifted`; `rollout` is that before.
    """

    problem: Problem
    u: Array
    gains: Array = field(repr=False)
    rollout: Rollout = field(repr=False)
    status: str
    message: str
    cost: float
    costs: Array = field(repr=False)
    slopes: Array = field(repr=False)
    violation: float
    iterations: int
    rollouts: int
    seconds: float
    scale: float = 0.0
    warnings: tuple[str, ...] = ()
    parameters: dict[str, float] = field(default_factory=dict)
    moved: int = field(default=0, repr=False)

    @property
    def success(self) -> bool:
        """Whether it is an optimum, to the tolerance."""
        return self.status == "converged"

    @property
    def system(self) -> Any:
        """The system of the problem."""
        return self.problem.system

    @property
    def t(self) -> Array:
        """Times of the states [s]."""
        return self.rollout.t

    @property
    def x(self) -> tuple[Array, Array]:
        """Coordinates (n + 1, nq) and velocities (n + 1, nv)."""
        return self.rollout.q, self.rollout.v

    def __str__(self) -> str:
        """A few lines: what was found, how fast."""
        lines = [
            f"{self.system.name}: {self.problem.horizon:g} s, {self.problem.knots} knots: {self.status}, cost {self.cost:.6g}",
            f"  {self.iterations} iterations, {self.rollouts} rollouts, {self.seconds:.3g} s; projected gradient {self.slopes[-1]:.1e} of the largest",
            f"  {self.message}",
            *(f"  warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)

    def shifted(self, knots: int = 1) -> OptimalPlan:
        """The plan as it goes on after some knots: its inputs moved forward, the last repeated, and its start where it is by then.

        For warm starts: ``pl.optimize(system, ..., start=plan.shifted())``.
        """
        p, n = self.problem, min(knots, self.problem.knots)
        u = np.concatenate([self.u[n:], np.repeat(self.u[-1:], n, axis=0)])
        run = self.rollout
        row = min((self.moved + n) * p.steps, len(run.t) - 1)
        later = replace(p, q=run.q[row].copy(), v=run.v[row].copy(), z=run.remembered[row].copy(), t0=float(run.t[row]))
        gains = np.concatenate([self.gains[n:], np.repeat(self.gains[-1:], n, axis=0)])
        return replace(self, problem=later, u=u, gains=gains, moved=self.moved + n)

    @property
    def policy(self) -> Policy:
        """The motion of the plan and its gains, from where it was shifted to; the last state is repeated."""
        run, n = self.rollout, self.moved * self.problem.steps
        rows = np.minimum(np.arange(len(run.t)) + n, len(run.t) - 1)
        return Policy(run.q[rows], run.v[rows], run.remembered[rows], self.gains)

    @property
    def signal(self) -> Signal:
        """The inputs as a function of time; the last goes on."""
        return Signal(self.problem.times[:-1], self.u, kind="hold")

    def simulate(self, **options: Any) -> Result:
        """The motion of the planned inputs by the error-controlled solver, with a warning if it ends elsewhere; options as of `pl.simulate`.

        Compare it with the steps of the plan by `error`.
        """
        p = self.problem
        for name in ("u", "start", "velocity", "t0"):
            if name in options:
                raise TypeError(f"{name} = {shown(options[name])} is not allowed: it is that of the plan.")
        tau: Any = p.tau
        if tau is not None and tau.ndim == 2:
            tau = Signal(p.t0 + p.step * np.arange(len(tau)), tau, kind="hold")
        chosen = {"output": p.horizon / p.knots, **options}
        found = simulate(
            p.system, p.horizon, u=self.signal, start=p.q, velocity=p.v, t0=p.t0, tau=tau, motion=p.motion, **chosen
        )
        if not found.success or self.moved:
            return found
        frame, off, way = self._farthest(found)
        if off > COARSE * way:
            text = (
                f"{frame!r} ends {off:.3g} m from where the plan has it, {100 * off / way:.2g} % of its way: its steps of {p.step:g} s are coarse, or the motion is "
                "unstable. Plan with more steps, or follow the plan with its feedback."
            )
            found = replace(found, warnings=(*found.warnings, text))
        return found

    def _farthest(self, found: Result) -> tuple[str, float, float]:
        """The link whose end differs most at the end of the motion, by how much, and how far any has moved [m]."""
        system = self.problem.system
        q = np.stack([self.rollout.q[-1], found.q[-1], self.rollout.q[0]])
        ends = {}
        for name in system.links:
            frame = name
            with suppress(KeyError, ValueError):  # a body has no tip
                system.place(f"{name}.tip")
                frame = f"{name}.tip"
            there = system.pose(frame, q)[:, :3, 3]
            ends[frame] = float(np.linalg.norm(there[1] - there[0])), float(np.linalg.norm(there[1] - there[2]))
        worst = max(ends, key=lambda frame: ends[frame][0])
        return worst, ends[worst][0], max(way for _off, way in ends.values())

    def follow(self, start: Any = None, velocity: ArrayLike | None = None, tau: ArrayLike | None = None) -> Rollout:
        """The motion with the feedback of the plan, ``clip(u + gains (x ⊖ x̄))`` at every knot, from another start or with further forces.

        Parameters
        ----------
        start, velocity
            As in `simulate`; those of the plan if left out.
        tau : array (nv,) or (n, nv), optional
            Further generalised forces, which the plan does not know of.

        Returns
        -------
        Rollout
            With the inputs that were applied, so that its gradients and maps are those of the motion as it was computed.

        Raises
        ------
        ArithmeticError
            If a step cannot be taken.
        """
        p = self.problem
        steps = Repeated(p.plan(self.u))
        lever, policy = steps.memory.lever, self.policy
        lever.target_q[:], lever.target_v[:], lever.target_z[:] = policy.q, policy.v, policy.z
        lever.low[:], lever.high[:] = p.lower, p.upper
        q, v, _t = initial_state(p.system, p.q if start is None else start, velocity, None)
        steps.set_start(q, p.v if start is None and velocity is None else v)
        if tau is not None:
            given = reals("tau", tau)
            forces = steps.memory.record.inputs[:, :, p.system.nu :]
            forces += given if given.ndim == 1 else given[:, None]
        if not steps.feed_back(self.u, self.gains):
            raise ArithmeticError(
                f"step {(steps.failed or 0) + 1} cannot be taken: plan with more steps for each knot, or start nearer to the plan."
            )
        return steps.rollout()

    def error(self, frame: FrameLike) -> float:
        """How far a frame of the plan is from the error-controlled solver, at most [m]."""
        exact = self._exact
        mine = self.rollout.positions(frame)[:: self.problem.steps]
        return float(np.linalg.norm(mine - exact.positions(frame), axis=1).max())

    @cached_property
    def _exact(self) -> Result:
        return self.simulate()
