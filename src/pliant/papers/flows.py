"""The iterations by which [004] finds equilibria: flows of an artificial damping, eqs 45 and 57–58.

They are here for comparison. `solve_statics` finds the same equilibria by Newton's method with the exact tangent: to rounding instead of a
tolerance, faster (by 2 and by 140 in the paper's tests), and it decides on their stability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..system import System

__all__ = ["Flow", "damped_flow", "projected_flow"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Flow:
    """A flow through a sequence of loads: the last state of each, all states with their times, evaluations of the forces."""

    rests: list[Array]
    t: Array
    q: Array
    evaluations: int


def _held(slope: Callable[[int, Array], Array], k: int) -> Callable[[float, Array], Array]:
    """The flow under one of the loads, which does not depend on time."""
    return lambda _t, y: slope(k, y)


def _follow(slope: Callable[[int, Array], Array], q: Array, loads: int, interval: float, rtol: float) -> Flow:
    """Dormand and Prince's method (MATLAB's ode45), a new run for each load."""
    from scipy.integrate import solve_ivp

    rests, times, states, count = [], [np.zeros(1)], [q[None]], 0
    for k in range(loads):
        run: Any = solve_ivp(_held(slope, k), (0.0, interval), q, method="RK45", rtol=rtol, atol=1e-3 * rtol)
        q, count = run.y[:, -1], count + run.nfev
        rests.append(q)
        times.append(k * interval + run.t[1:])
        states.append(run.y.T[1:])
    return Flow(rests, np.concatenate(times), np.concatenate(states), count)


def damped_flow(
    system: System, inputs: list[dict[str, float]], *, mu: float = 1e-3, interval: float = 0.02, rtol: float = 1e-3
) -> Flow:
    """Equilibria as ends of the flow ``μ K q̇ = −(K q + Q_c(q))``, [004] eq. 45.

    Parameters
    ----------
    system : System
        Of rods whose stiffness K is positive definite.
    inputs : list of dict
        The loads, one after the other.
    mu : float
        Artificial damping over stiffness [s].
    interval : float
        Time for which each load acts [s].
    rtol : float
        Tolerance of the explicit integration.

    Examples
    --------
    >>> from pliant import gallery
    >>> from pliant.papers.flows import damped_flow
    >>> beam = gallery.load("tip_moment")
    >>> system = beam.build()
    >>> flow = damped_flow(system, [{"moment": 2.5}, {"moment": 5.0}], rtol=1e-8)
    >>> exact = beam.exact_tip(5.0)
    >>> bool(abs(system.pose("beam.tip", flow.rests[-1])[:3, 3] - exact).max() < 1e-4)
    True
    """
    K, zero = system.stiffness_matrix(), np.zeros(system.nv)

    def slope(k: int, q: Array) -> Array:
        return np.asarray(np.linalg.solve(mu * K, -system.residual(q, zero, zero, inputs[k])), dtype=np.float64)

    return _follow(slope, system.neutral(), len(inputs), interval, rtol)


def projected_flow(
    system: System,
    tip: str,
    poses: list[Array],
    *,
    mu: float = 1e-3,
    gain: Array | None = None,
    interval: float = 0.1,
    rtol: float = 1e-3,
    start: Array | None = None,
) -> Flow:
    """Equilibria of a rod whose tip is led through poses, by [004] eqs 57–58.

    The velocity is the sum of what leads the tip to its pose, ``J⁺ η₁`` with ``η₁ = −T(Ψ) kp Ψ`` and Ψ the logarithm of the error, and of what lets
    the damped forces relax within the kernel of J.

    Parameters
    ----------
    system : System
        Of rods whose stiffness K is positive definite, without loops.
    tip : str
        The frame that is led.
    poses : list of arrays (4, 4)
        Of the tip, one after the other.
    mu, interval, rtol : float
        As for `damped_flow`.
    gain : array (6,), optional
        kp [1/s]; the paper's if left out.
    start : array (nq,), optional
        Where to begin; neutral if left out.
    """
    K, zero = system.stiffness_matrix(), np.zeros(system.nv)
    D = mu * K
    kp = 1e2 * np.array([20, 20, 20, 1, 1, 1]) if gain is None else np.asarray(gain, dtype=float)

    def slope(k: int, q: Array) -> Array:
        J = system.jacobian(tip, q)  # body axes
        error = lie.log(lie.inverse(poses[k]) @ system.pose(tip, q))
        # g = g₁ exp Ψ: the body twist of g is Ad(exp −Ψ) T(Ψ) Ψ̇
        eta = -lie.Ad(lie.exp(-error)) @ (lie.tangent(error) @ (kp * error))
        _u, s, Vt = np.linalg.svd(J)
        particular = np.linalg.pinv(J) @ eta
        H = Vt[int(np.sum(s > 1e-9 * s[0])) :].T
        relax = np.linalg.solve(H.T @ D @ H, H.T @ (system.residual(q, zero, zero) + D @ particular))
        return particular - H @ relax

    return _follow(slope, system.neutral() if start is None else start, len(poses), interval, rtol)
