"""Dense output: cubic Hermite interpolation on the manifold of the coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..system import System

__all__ = ["hermite"]

Array = NDArray[np.float64]


def _chart_rate(system: System, x: Array, v: Array, *, inverse: bool) -> Array:
    """Between the rate of the chart x (with q = q₀ ⊕ x) and the velocity v: v = T(−x) ẋ on manifold joints."""
    out = v.copy()
    for joint in system.manifold_joints:
        n = joint.group.nv
        T = lie.tangent(joint.group.twist(-x[joint.v]))[:n, :n]
        out[joint.v] = np.linalg.solve(T, v[joint.v]) if inverse else T @ v[joint.v]
    return out


def hermite(
    system: System, t0: float, q0: Array, v0: Array, t1: float, q1: Array, v1: Array, t: float
) -> tuple[Array, Array]:
    """Coordinates and velocities at t between (t0, q0, v0) and (t1, q1, v1); third-order accurate.

    Returns
    -------
    (q, v) : ndarray (nq,), (nv,)
    """
    h = t1 - t0
    if h == 0.0:
        return q0.copy(), v0.copy()
    s = (t - t0) / h
    end = system.difference(q0, q1)
    m0 = h * v0
    m1 = h * _chart_rate(system, end, v1, inverse=True)
    x = (s**3 - 2 * s**2 + s) * m0 + (3 * s**2 - 2 * s**3) * end + (s**3 - s**2) * m1
    rate = (3 * s**2 - 4 * s + 1) * m0 + (6 * s - 6 * s**2) * end + (3 * s**2 - 2 * s) * m1
    return system.integrate(q0, x), _chart_rate(system, x, rate / h, inverse=False)
