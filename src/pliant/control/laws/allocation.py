"""Inputs that give wanted accelerations of outputs: which of many, and which within bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...analysis.least_norm import least_norm
from .quadratic import solve_quadratic

__all__ = ["allocate", "definite"]

Array = NDArray[np.float64]
_SLACK = 1e-9  # how far beyond a bound rounding may be, relative to the largest input


def definite(metric: Array) -> Array:
    """A metric (n, n) that is also one where inputs do the same as others, by a billionth of its diagonal."""
    own = np.diag(metric).copy()
    own[own <= 0.0] = max(float(own.max(initial=0.0)), 1e-300)
    return metric + 1e-9 * np.diag(own)


def allocate(D: Array, target: Array, metric: Array, rest: Array, lower: Array, upper: Array) -> Array:
    """u (nu,) within bounds with ``D u = target``, and of those the one nearest to `rest` in a metric W (nu, nu).

    If none within bounds gives the target, the u that comes nearest to it by least squares, with the least ‖u − rest‖ of those.
    """
    n = len(rest)
    W = definite(metric)
    away = target - D @ rest
    X = np.linalg.solve(W, D.T)
    u = rest + X @ np.linalg.lstsq(D @ X, away, rcond=1e-12)[0]
    slack = _SLACK * np.abs(u).max(initial=0.0)
    missed = np.linalg.norm(D @ u - target) > 1e-6 * max(float(np.linalg.norm(target)), 1e-300)
    if not missed:
        if np.all((u >= lower - slack) & (u <= upper + slack)):
            return np.clip(u, lower, upper)
        low, high = np.isfinite(lower), np.isfinite(upper)
        one = np.eye(n)
        rows = np.vstack([D, one[low], -one[high]])
        least = np.concatenate([target, lower[low], -upper[high]])
        found = solve_quadratic(W, -W @ rest, rows, least, len(D))
        if found.success:
            return np.clip(found.x, lower, upper)
    size = np.linalg.norm(D, axis=1)
    size[size == 0.0] = 1.0
    return np.clip(rest + least_norm(D / size[:, None], away / size, lower - rest, upper - rest), lower, upper)
