"""SO(3) and SE(3) on NumPy arrays: for users, tests and everything outside the kernels.

Twists are ``[angular; linear]``. The formulas are those of `kernels.algebra.exponential`, evaluated without loss of digits for
every angle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .kernels.algebra.exponential import lie_arrays
from .kernels.algebra.manifold import pose_log

__all__ = [
    "Ad",
    "Ad_star",
    "ad",
    "ad_bar",
    "ad_star",
    "exp",
    "hat",
    "inverse",
    "log",
    "skew",
    "tangent",
    "tangent_rate",
]

Array = NDArray[np.float64]


def skew(w: ArrayLike) -> Array:
    """The matrix ŵ with ŵ x = w × x, shape (3, 3)."""
    x, y, z = np.asarray(w, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def hat(xi: ArrayLike) -> Array:
    """A twist as a 4×4 matrix of se(3)."""
    xi = np.asarray(xi, dtype=float)
    out = np.zeros((4, 4))
    out[:3, :3] = skew(xi[:3])
    out[:3, 3] = xi[3:]
    return out


def ad(xi: ArrayLike) -> Array:
    """ad_ξ = [[ŵ, 0], [v̂, ŵ]], shape (6, 6)."""
    xi = np.asarray(xi, dtype=float)
    w, v, o = skew(xi[:3]), skew(xi[3:]), np.zeros((3, 3))
    return np.block([[w, o], [v, w]])


def ad_star(xi: ArrayLike) -> Array:
    """ad*_ξ = −ad_ξᵀ."""
    return -ad(xi).T


def ad_bar(F: ArrayLike) -> Array:
    """The matrix with ad_bar(F) ξ = ad*_ξ F, shape (6, 6)."""
    F = np.asarray(F, dtype=float)
    m, f, o = skew(F[:3]), skew(F[3:]), np.zeros((3, 3))
    return -np.block([[m, f], [f, o]])


def Ad(g: ArrayLike) -> Array:
    """Ad_g = [[R, 0], [p̂R, R]] of a 4×4 pose."""
    g = np.asarray(g, dtype=float)
    R, o = g[:3, :3], np.zeros((3, 3))
    return np.block([[R, o], [skew(g[:3, 3]) @ R, R]])


def Ad_star(g: ArrayLike) -> Array:
    """Ad*_g = Ad_g⁻ᵀ, which carries wrenches."""
    g = np.asarray(g, dtype=float)
    R, o = g[:3, :3], np.zeros((3, 3))
    return np.block([[R, skew(g[:3, 3]) @ R], [o, R]])


def inverse(g: ArrayLike) -> Array:
    """g⁻¹ of a 4×4 pose."""
    g = np.asarray(g, dtype=float)
    out = np.eye(4)
    out[:3, :3] = g[:3, :3].T
    out[:3, 3] = -g[:3, :3].T @ g[:3, 3]
    return out


def _arrays(xi: ArrayLike, rate: ArrayLike) -> tuple[Array, Array, Array]:
    x = np.ascontiguousarray(xi, dtype=float)
    y = np.ascontiguousarray(rate, dtype=float)
    if x.shape != (6,) or y.shape != (6,):
        raise ValueError(f"a twist has shape (6,), got {x.shape} and {y.shape}.")
    g, T, Td = np.eye(4), np.zeros((6, 6)), np.zeros((6, 6))
    lie_arrays(x, y, g, T, Td)
    return g, T, Td


def exp(xi: ArrayLike) -> Array:
    """Exponential of a twist, a 4×4 pose."""
    return _arrays(xi, np.zeros(6))[0]


def tangent(xi: ArrayLike) -> Array:
    """Left tangent operator T(ξ) = Σ ad_ξᵏ/(k+1)!: d exp(ξ̂) = (T dξ)^ exp(ξ̂)."""
    return _arrays(xi, np.zeros(6))[1]


def tangent_rate(xi: ArrayLike, rate: ArrayLike) -> Array:
    """Derivative of T(ξ) along ξ̇ = rate."""
    return _arrays(xi, rate)[2]


def log(g: ArrayLike) -> Array:
    """Twist whose exponential is the pose g, rotation angle in [0, π]."""
    g = np.ascontiguousarray(g, dtype=float)
    if g.shape != (4, 4):
        raise ValueError(f"a pose has shape (4, 4), got {g.shape}.")
    out = np.zeros(6)
    pose_log(g, out)
    return out
