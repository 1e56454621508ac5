"""Covariances of linear models: prediction, correction in Joseph's form, smoothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dtrsm
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


# Matrices go to BLAS by columns, without copies: P is symmetric, and for what is stored by rows its transpose is by columns.


def predict(P: Array, F: Array, noise: Array) -> Array:
    """F (P + diag noise²) Fᵀ."""
    before = P.copy()
    before.flat[:: len(P) + 1] += noise * noise
    half = dgemm(1.0, before.T, F.T)  # (P + W) Fᵀ
    return _symmetric(dgemm(1.0, F.T, half, trans_a=1))


def correct(P: Array, H: Array, noise: Array, e: Array, gate: float = np.inf) -> Corrected:
    """What values with innovations e (m,), NaN if missing, and independent noise make of an estimate with covariance P."""
    there = np.isfinite(e)
    rejected = np.zeros(len(e), dtype=bool)
    if gate < np.inf:
        spread = np.sqrt(np.einsum("mn,mn->m", H, H @ P) + noise**2)
        rejected = there & (np.abs(np.where(there, e, 0.0)) > gate * spread)
        there = there & ~rejected
    if not there.all():
        e, H, noise = e[there], H[there], noise[there]
    m = len(e)
    if not m:
        empty = np.zeros((0, len(P)))
        return Corrected(np.zeros(len(P)), P, 0.0, 0, rejected, e, empty, np.zeros((0, 0)), empty.T)
    PH = dgemm(1.0, P.T, H.T)
    S = dgemm(1.0, H.T, PH, trans_a=1)
    R = noise * noise
    S.flat[:: m + 1] += R
    L, info = dpotrf(S, lower=1, overwrite_a=1)
    if info:
        raise ArithmeticError(
            "the covariance of the innovations is not positive definite: covariances have lost their digits, or contain NaN."
        )
    K = dtrsm(1.0, L, dtrsm(1.0, L, PH, side=1, lower=1, trans_a=1), side=1, lower=1, overwrite_b=1)
    # (1 − K H) P (1 − K H)ᵀ + K R Kᵀ, from left to right: what the second part corrects vanishes but for rounding
    out = dgemm(-1.0, K, PH, 1.0, P.T, trans_b=1)
    rest = dgemm(1.0, out, H.T, -1.0, K * R, overwrite_c=1)
    out = dgemm(-1.0, rest, K, 1.0, out, trans_b=1, overwrite_c=1)
    white = dtrtrs(L, e, lower=1)[0]
    return Corrected(K @ e, _symmetric(out), float(white @ white), m, rejected, e, H, L, K)


def _symmetric(P: Array) -> Array:
    out = P + P.T
    out *= 0.5
    return out


def whitened(L: Array, x: Array) -> Array:
    """S⁻¹ x with the Cholesky factor L of S."""
    return np.asarray(dpotrs(L, x, lower=1)[0])
