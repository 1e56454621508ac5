"""`TrackingMPC`: predictive control with a short horizon along a plan, and what lies beyond as the value of a regulator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import integer, positive, shown
from ..laws.lqr import LQR
from .ddp import Policy
from .following import Following
from .mpc import MPC
from .plan import OptimalPlan
from .problem import bounds_of

__all__ = ["TrackingMPC"]

Array = NDArray[np.float64]


class TrackingMPC(MPC):
    """Model predictive control that follows a plan over a short horizon: `control.TrackingLQR` with the nonlinear model, and with bounds that it knows of.

    At every sample it lowers ``½ Σ h (xᵀQ x + δuᵀR δu) + ½ xᵀP x`` with deviations x from the plan; P at the end of the horizon is what the regulator along the plan costs from there
    on, so that a few knots are enough.

    Parameters
    ----------
    plan : OptimalPlan
        With one step for each knot.
    Q, R
        Weights of deviations of states and of inputs, as of `control.LQR`.
    horizon : float
        How far it looks ahead [s]; may be much shorter than the plan.
    knots : int, optional
        Of the horizon; if left out as long as those of the plan. It serves best if a knot lasts as long as a sample.
    hold : control.LQR, optional
        What follows the plan: the equilibrium of this regulator, whose P is the value beyond. If left out, the last state of the plan with its last inputs.
    bounds : pair (lower, upper), or dict of pairs by name, optional
        Bounds of inputs, as of `optimize`; those of the plan if left out. A plan with narrower bounds leaves something to feedback.
    rate, iterations, delay, threads
        As of `MPC`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3),
    ... )
    >>> for k, (y, z) in enumerate([(0.0, 0.012), (0.010, -0.006), (-0.010, -0.006)]):
    ...     cable = robot.add_tendon(f"cable{k}", arm, y=y, z=z)
    >>> system = robot.compile()
    >>> cost = [pl.Reach("arm.tip", (0.36, 0.05, 0.08), 100.0), pl.Still("arm.tip", 0.1, at="all"), pl.Effort(1e-3)]
    >>> plan = pl.optimize(
    ...     system, cost, bounds=(0, 20), horizon=0.5, knots=25, start=pl.solve_statics(system)
    ... )
    >>> tip = pl.costs.stack(pl.costs.Position("arm.tip") / 0.01, pl.costs.Velocity("arm.tip") / 0.1)
    >>> mpc = pl.TrackingMPC(plan, tip, 1 / 5.0**2, horizon=0.1, rate=50)
    >>> mpc.problem.knots
    5
    >>> loop = mpc.run(0.5, plant=system.with_parameters({"arm.young": 1.1e6}))
    >>> loop.u.shape, loop.failures
    ((25, 3), 0)
    """

    def __init__(
        self,
        plan: OptimalPlan,
        Q: Any,
        R: Any,
        *,
        horizon: float,
        knots: int | None = None,
        hold: LQR | None = None,
        bounds: Any = None,
        rate: float = 100.0,
        iterations: int = 1,
        delay: float = 0.0,
        threads: int = 1,
    ) -> None:
        super().__init__(plan, rate=rate, iterations=iterations, delay=delay, threads=threads, _begin=False)
        if hold is not None and not isinstance(hold, LQR):
            raise TypeError(f"hold = {shown(hold)} must be a control.LQR about where the plan ends, or None.")
        if hold is not None and hold.system is not plan.system:
            raise ValueError(
                f"hold is a regulator of {hold.system.name!r}, but not of the same compiled system as the plan: design it with plan.system."
            )
        p = plan.problem
        if p.steps != 1:
            raise ValueError(
                f"the plan has {p.steps} steps for each knot, but TrackingMPC has gains for every step: plan with steps=1 and more knots."
            )
        length = positive("horizon", horizon, unit="s")
        n = max(1, round(length * p.knots / p.horizon)) if knots is None else integer("knots", knots, minimum=1)
        low, high = (p.lower[0], p.upper[0]) if bounds is None else (x[0] for x in bounds_of(plan.system, bounds, 1))
        if knots is None:
            length = n * p.horizon / p.knots
        self.hold = hold
        self._moving = Following(plan.rollout, Q, R, hold).cost(n, length / n)
        ahead = self._moving.aim(p.t0)
        self.problem = replace(
            p, cost=self._moving.cost, free=(), horizon=length, knots=n, lower=np.tile(low, (n, 1)), upper=np.tile(high, (n, 1)),
            tau=_constant(p.tau, plan), threads=self.problem.threads,
        )  # fmt: skip
        z = np.tile(p.z, (n + 1, 1))
        self._begin_with = self.problem.clipped(ahead.u[:-1]), Policy(ahead.q, ahead.v, z, -ahead.gain[:-1])
        self._ahead_moments = ahead
        self.reset()

    def _aim(self, t: float) -> None:
        self._ahead_moments = self._moving.aim(t)

    def _append(self, knots: int) -> None:
        """The last knots follow the regulator along the plan from where the motion before ended."""
        solver, p = self._solver, self.problem
        ahead = self._moving.aim(self._shifted)
        lever, system = solver.steps.memory.lever, self.system
        for k in range(p.knots - knots, p.knots):
            x = np.concatenate([system.difference(ahead.q[k], lever.target_q[k]), lever.target_v[k] - ahead.v[k]])
            solver.U[k] = np.clip(ahead.u[k] - ahead.gain[k] @ x, p.lower[k], p.upper[k])
            solver.k[k], solver.K[k] = 0.0, -ahead.gain[k]


def _constant(tau: Array | None, plan: OptimalPlan) -> Array | None:
    """Further forces of a plan; error if they change from step to step, which a horizon that moves along does not know."""
    if tau is not None and tau.ndim == 2:
        raise ValueError(
            f"the plan of {plan.system.name!r} has forces tau of shape {tau.shape}, one for each of its steps, which a horizon that moves along does not have: give one "
            "vector (nv,), or loads of the robot."
        )
    return tau
