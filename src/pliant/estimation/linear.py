"""Covariances of linear models: prediction, correction in Joseph's form, smoothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

__all__ = ["Corrected", "correct", "predict", "whitened"]

Array = NDArray[np.float64]


class Corrected(NamedTuple):
    """What measurements make of a covariance."""

    x: Array  # (n,) by which the state is moved
    P: Array  # (n, n)
    nis: float
    used: int
    rejected: NDArray[np.bool_]  # (m,)
    e: Array  # (used,) innovations
    H: Array  # (used, n)
    S: Array  # (used, used) Cholesky factor of their covariance
    K: Array  # (n, used) gain


def predict(P: Array, F: Array, noise: Array) -> Array:
    """F (P + diag noise²) Fᵀ."""
    before = P.copy()
    before.flat[:: len(P) + 1] += noise * noise
    out = F @ before @ F.T
    return 0.5 * (out + out.T)


def correct(P: Array, H: Array, noise: Array, e: Array, gate: float = np.inf) -> Corrected:
    """What values with innovations e (m,), NaN if missing, and independent noise make of an estimate with covariance P."""
    there = np.isfinite(e)
    rejected = np.zeros(len(e), dtype=bool)
    PH = P @ H.T
    if gate < np.inf:
        spread = np.sqrt(np.einsum("mn,nm->m", H, PH) + noise**2)
        rejected = there & (np.abs(np.where(there, e, 0.0)) > gate * spread)
        there = there & ~rejected
    if not there.all():
        e, H, PH, noise = e[there], H[there], PH[:, there], noise[there]
    m = len(e)
    if not m:
        empty = np.zeros((0, len(P)))
        return Corrected(np.zeros(len(P)), P, 0.0, 0, rejected, e, empty, np.zeros((0, 0)), empty.T)
    S = H @ PH
    S.flat[:: m + 1] += noise * noise
    L, info = dpotrf(S, lower=1)
    if info:
        raise ArithmeticError(
            "the covariance of the innovations is not positive definite: covariances have lost their digits, or contain NaN."
        )
    K = dpotrs(L, PH.T, lower=1)[0].T
    # (1 − K H) P (1 − K H)ᵀ + K R Kᵀ, from left to right: what the second part corrects vanishes but for rounding
    out = P - K @ PH.T
    rest = out @ H.T
    rest -= K * (noise * noise)
    out -= rest @ K.T
    out = 0.5 * (out + out.T)
    white = dtrtrs(L, e, lower=1)[0]
    return Corrected(K @ e, out, float(white @ white), m, rejected, e, H, L, K)


def whitened(L: Array, x: Array) -> Array:
    """S⁻¹ x with the Cholesky factor L of S."""
    return np.asarray(dpotrs(L, x, lower=1)[0])
