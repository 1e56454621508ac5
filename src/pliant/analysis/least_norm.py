"""Of all least-squares solutions of linear equations within bounds, the one of least norm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_norm"]

Array = NDArray[np.float64]
_RANK = 1e-10  # singular values below this, relative to the largest, count as zero
_SLACK = 1e-12  # how far beyond a bound rounding may be, relative to the largest entry


def least_norm(A: Array, b: Array, lower: Array, upper: Array) -> Array:
    """x (n,) with lower ≤ x ≤ upper that makes ‖A x − b‖ least, and of those the one with the least ‖x‖.

    Where the pseudoinverse stays within the bounds it is the answer. Otherwise the values A x are found with bounds, and x as the
    point nearest to zero of what gives them: least distance programming (Lawson and Hanson, Solving Least Squares Problems,
    ch. 23), exact after finitely many steps.
    """
    if not A.size:
        return np.clip(np.zeros(A.shape[1]), lower, upper)
    U, s, Vt = np.linalg.svd(A, full_matrices=True)
    rank = int(np.sum(s > _RANK * s[0])) if s[0] > 0.0 else 0

    def plain(values: Array) -> Array:
        return np.asarray(Vt[:rank].T @ ((U[:, :rank].T @ values) / s[:rank]))

    x = plain(b)
    slack = _SLACK * np.abs(x).max(initial=0.0)
    if np.all((x >= lower - slack) & (x <= upper + slack)):
        return np.clip(x, lower, upper)
    from scipy.optimize import lsq_linear  # here, since it takes a while to import

    best = lsq_linear(A, b, bounds=_apart(lower, upper), method="bvls", tol=1e-14).x
    best = np.clip(best, lower, upper)
    if rank < len(x):
        near = _nearest(plain(A @ best), Vt[rank:].T, lower, upper)
        if near is not None and np.linalg.norm(A @ (near - best)) <= 1e-9 * np.linalg.norm(A @ best):
            best = near
    slack = _SLACK * np.abs(best).max(initial=0.0)
    return np.where(best <= lower + slack, lower, np.where(best >= upper - slack, upper, best))


def _apart(lower: Array, upper: Array) -> tuple[Array, Array]:
    """The bounds, a little apart where they are equal, which `lsq_linear` does not take."""
    return lower, np.maximum(upper, np.nextafter(lower, np.inf))


def _nearest(x: Array, Z: Array, lower: Array, upper: Array) -> Array | None:
    """The point x + Z z within bounds that is nearest to x, which Z is orthogonal to; None if rounding leaves none."""
    from scipy.optimize import nnls  # here, since it takes a while to import

    low, high = np.isfinite(lower), np.isfinite(upper)
    G = np.vstack([Z[low], -Z[high]])
    h = np.concatenate([(lower - x)[low], (x - upper)[high]])
    size = max(float(np.abs(h).max(initial=0.0)), 1e-300)
    E = np.vstack([G.T, h / size])  # in units of the largest bound, so that z is of the order of 1
    f = np.zeros(len(E))
    f[-1] = 1.0
    try:
        y, rest = nnls(E, f)
    except RuntimeError:  # too many iterations
        return None
    if rest < 1e-12:
        return None
    r = E @ y - f
    return np.clip(x - Z @ (size * r[:-1] / r[-1]), lower, upper)
