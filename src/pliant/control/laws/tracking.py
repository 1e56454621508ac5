"""Linear-quadratic regulator along a motion: gains of its own for every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.rollout import Rollout
from ...model.validate import shown
from .gains import weight_matrix
from .law import Law, StateLike
from .weights import state_weights

__all__ = ["TrackingLQR"]

Array = NDArray[np.float64]


class TrackingLQR(Law):
    """The linear feedback along a motion that makes ``Σ h (xᵀQ x + δuᵀR δu) + xᵀQ_end x`` least, with deviations x = (δq, δv) from it.

    Parameters
    ----------
    run : Rollout
        The motion, with inputs that are held in its steps.
    Q, R
        As of `LQR`.
    end : Quantity, float, array (2 nv,) or (2 nv, 2 nv), optional
        Weights at the end of the motion; Q if left out.
    bounds : pair, or dict of pairs, optional

    Attributes
    ----------
    K : ndarray (n, nu, 2 nv)
        ``u = U[k] − K[k] (δq, δv)`` in step k.
    P : ndarray (n + 1, 2 nv, 2 nv)
        The cost of a deviation x at the start of step k is xᵀP[k] x.

    Notes
    -----
    The maps of the steps are exact (`Rollout.maps`), so ``pl.Sampled(law, step)`` is optimal for small deviations. Between the starts of steps the motion is
    interpolated along straight lines, after its end its last state and gain stay.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=2e3)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(2)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> plan = pl.rollout(system, 5.0 + 4.0 * np.sin(0.2 * np.arange(50))[:, None], step=0.02, start=rest)
    >>> law = pl.control.TrackingLQR(plan, pl.costs.Position("arm.tip") / 0.01, R=1 / 5.0**2)
    >>> law.K.shape
    (50, 1, 18)
    """

    def __init__(self, run: Rollout, Q: Any, R: Any, *, end: Any = None, bounds: Any = None) -> None:
        if not isinstance(run, Rollout):
            raise TypeError(f"run = {shown(run)} must be the Rollout that pl.rollout returns.")
        super().__init__(run.system, bounds)
        system = run.system
        if system.nz:
            raise ValueError(
                f"TrackingLQR is not possible for {system.name!r}: it has loads that remember (friction that sticks), which a feedback of q and v does not see."
            )
        if len(run) != len(run.U):
            raise ValueError(
                f"the motion has {len(run)} steps and {len(run.U)} rows of inputs: give a row for each step, without subdivided ones."
            )
        self.run = run
        A, B = run.maps()
        h = np.diff(run.t)
        weights, Rz = state_weights("Q", Q, run.states), weight_matrix("R", R, system.nu)
        last = weights[-1] if end is None else state_weights("end", end, run.states.rows(np.array([len(run)])))[0]
        self.P, self.K = _riccati(A, B, h[:, None, None] * weights[:-1], h[:, None, None] * Rz, last)

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`."""
        run, system = self.run, self.system
        k = int(np.clip(np.searchsorted(run.t, t + 1e-9 * (run.t[1] - run.t[0]), side="right") - 1, 0, len(run) - 1))
        share = min(max((t - run.t[k]) / (run.t[k + 1] - run.t[k]), 0.0), 1.0)
        share = share if share > 1e-9 else 0.0
        q = system.integrate(run.q[k], share * system.difference(run.q[k], run.q[k + 1])) if share else run.q[k]
        v = run.v[k] + share * (run.v[k + 1] - run.v[k])
        away = np.concatenate([system.difference(q, state.q), state.v - v])
        return np.asarray(run.U[k] - self.K[k] @ away)


def _riccati(A: Array, B: Array, Q: Array, R: Array, last: Array) -> tuple[Array, Array]:
    """P (n + 1, N, N) and K (n, m, N) backwards, in Joseph's form, which keeps P positive."""
    n, N, m = B.shape
    P, K = np.zeros((n + 1, N, N)), np.zeros((n, m, N))
    P[n] = last
    for k in range(n - 1, -1, -1):
        K[k] = np.linalg.solve(R[k] + B[k].T @ P[k + 1] @ B[k], B[k].T @ P[k + 1] @ A[k])
        closed = A[k] - B[k] @ K[k]
        P[k] = Q[k] + K[k].T @ R[k] @ K[k] + closed.T @ P[k + 1] @ closed
        P[k] = 0.5 * (P[k] + P[k].T)
    return P, K
