"""Gains of laws as matrices: from a number, one for each entry, or a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import reals, vector

__all__ = ["gain_matrix", "root", "weight_matrix"]

Array = NDArray[np.float64]


def gain_matrix(field: str, value: Any, n: int) -> Array:
    """A gain (n, n) whose symmetric part is not negative, from a number, (n,) or (n, n)."""
    hint = f"Give a number, {n} numbers, or a matrix ({n}, {n})."
    array = reals(field, value, hint=hint)
    if array.ndim < 2:
        array = vector(field, np.broadcast_to(array, (n,)) if array.ndim == 0 else array, (n,), hint=hint)
        out = np.diag(array)
    else:
        out = np.array(vector(field, array, (n, n), hint=hint))
    values = np.linalg.eigvalsh(0.5 * (out + out.T))
    if n and values[0] < -1e-12 * max(float(np.abs(values).max()), 1e-300):
        raise ValueError(f"{field} is not allowed: gains must not be negative (smallest eigenvalue {values[0]:.3g}).")
    return out


def weight_matrix(field: str, value: Any, n: int) -> Array:
    """A symmetric positive definite weight (n, n), from a number, (n,) or (n, n)."""
    out = gain_matrix(field, value, n)
    if not np.allclose(out, out.T, rtol=1e-12, atol=0.0):
        raise ValueError(f"{field} is not allowed: weights are symmetric.")
    if n and np.linalg.eigvalsh(out)[0] <= 0.0:
        raise ValueError(f"{field} is not allowed: these weights must be positive definite.")
    return out


def root(P: Array) -> Array:
    """A matrix L with LᵀL = P, of a symmetric P (…, n, n) that is not negative."""
    values, vectors = np.linalg.eigh(0.5 * (P + np.swapaxes(P, -1, -2)))
    return np.asarray(np.swapaxes(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :], -1, -2))
