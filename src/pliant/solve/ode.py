"""The dynamics as an ordinary differential equation for general-purpose integrators.

``y = (q, v)`` with q in the ambient coordinates (a quaternion for each manifold joint):
``q̇ = N(q) v``, ``v̇ = FD(q, v)``; the Jacobian is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF, DOP853, LSODA, RK45, Radau

from .. import lie
from ..system import System
from .drive import Drive

__all__ = ["ODE_METHODS", "ChartedODE", "ode_solver"]

Array = NDArray[np.float64]
ODE_METHODS = {"bdf": BDF, "radau": Radau, "lsoda": LSODA, "rk45": RK45, "dop853": DOP853}


def _rotation(quaternion: Array) -> Array:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _rate_matrix(quaternion: Array) -> Array:
    """The 4×3 matrix with dq/dt = ½ G ω for the body angular velocity ω."""
    w, x, y, z = quaternion
    return np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


class ChartedODE:
    """Right-hand side and Jacobian in ambient coordinates."""

    def __init__(self, system: System, drive: Drive) -> None:
        self.system, self.drive = system, drive
        c = system.internal
        self._q_of, self._v_of = c.shift[:, 0], c.shift[:, 1]
        self._spatial = c.spatial

    def split(self, y: Array) -> tuple[Array, Array]:
        """q (quaternions normalised) and v."""
        q, v = y[: self.system.nq].copy(), y[self.system.nq :].copy()
        for q0, _v0, _free in self._spatial:
            q[q0 : q0 + 4] /= np.linalg.norm(q[q0 : q0 + 4])
        return q, v

    def rhs(self, t: float, y: Array) -> Array:
        """ẏ."""
        q, v = np.ascontiguousarray(y[: self.system.nq]), np.ascontiguousarray(y[self.system.nq :])
        u, tau = self.drive(t, q, v)
        out = np.empty_like(y)
        out[self._q_of] = v[self._v_of]
        for q0, v0, free in self._spatial:
            out[q0 : q0 + 4] = 0.5 * _rate_matrix(q[q0 : q0 + 4]) @ v[v0 : v0 + 3]
            if free:
                out[q0 + 4 : q0 + 7] = _rotation(q[q0 : q0 + 4]) @ v[v0 + 3 : v0 + 6]
        out[self.system.nq :] = self.system.forward_dynamics(q, v, tau, u=u)
        return out

    def jacobian(self, t: float, y: Array) -> Array:
        """∂ẏ/∂y, exact for inputs that do not depend on the state."""
        nq, nv = self.system.nq, self.system.nv
        q, v = np.ascontiguousarray(y[:nq]), np.ascontiguousarray(y[nq:])
        u, tau = self.drive(t, q, v)
        d = self.system.forward_dynamics_derivatives(q, v, tau, u=u)
        J = np.zeros((nq + nv, nq + nv))
        chart = np.zeros((nv, nq))  # body perturbation δ per ambient dq
        J[self._q_of, nq + self._v_of] = 1.0
        chart[self._v_of, self._q_of] = 1.0
        for q0, v0, free in self._spatial:
            p = q[q0 : q0 + 4]
            G = _rate_matrix(p)
            w = v[v0 : v0 + 3]
            J[q0 : q0 + 4, nq + v0 : nq + v0 + 3] = 0.5 * G
            J[q0 : q0 + 4, q0 : q0 + 4] = 0.5 * np.array(
                [[0, -w[0], -w[1], -w[2]], [w[0], 0, w[2], -w[1]], [w[1], -w[2], 0, w[0]], [w[2], w[1], -w[0], 0]]
            )
            turn = 2.0 * G.T / (p @ p)
            chart[v0 : v0 + 3, q0 : q0 + 4] = turn
            if free:
                R = _rotation(p)
                J[q0 + 4 : q0 + 7, nq + v0 + 3 : nq + v0 + 6] = R
                J[q0 + 4 : q0 + 7, q0 : q0 + 4] = -R @ lie.skew(v[v0 + 3 : v0 + 6]) @ turn
                chart[v0 + 3 : v0 + 6, q0 + 4 : q0 + 7] = R.T
        J[nq:, :nq] = d.dq @ chart
        J[nq:, nq:] = d.dv
        return J


def ode_solver(ode: ChartedODE, method: str, t: float, y: Array, end: float, options: dict[str, Any]) -> Any:
    """A SciPy solver object."""
    system = ode.system
    scale = np.empty(len(y))
    scale[:] = 1.0
    scale[ode._q_of] = system.internal.scale[ode._v_of]
    scale[system.nq :] = system.internal.scale
    arguments: dict[str, Any] = {"rtol": options["rtol"], "atol": options["atol"] * scale}
    if options["largest"] < np.inf:
        arguments["max_step"] = options["largest"]
    if method in ("bdf", "radau", "lsoda"):
        arguments["jac"] = ode.jacobian
    return ODE_METHODS[method](ode.rhs, t, y, end, **arguments)
