"""Reading matrices of drag and added mass, and lengths along a rod."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..rods.quadrature import points_along
from ..rods.sections import Dimension
from ..rods.sections.dimensions import evaluate
from ..validate import dimensions, finite, non_negative, reals, vector

__all__ = ["CHECKS", "FORMS", "TOLERANCE", "as_matrix", "lengths_along", "linear_matrix", "points_of_rod"]

Array: TypeAlias = NDArray[np.float64]
TOLERANCE = 1e-9
_AXES = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")
FORMS = "Give a 6×6 matrix, 6 diagonal entries, or 3 (linear x, y, z only), in the order [angular; linear]"


def as_matrix(label: str, value: object) -> Array:
    """Return a 6×6 matrix from a matrix, 6 diagonal entries or 3 linear ones; error unless it is finite."""
    entry = reals(label, value, hint=f"{FORMS}.")
    if entry.shape not in ((3,), (6,), (6, 6)):
        raise ValueError(f"{label} has shape {entry.shape}, but (6, 6), (6,) or (3,) is needed. {FORMS}.")
    if not np.all(np.isfinite(entry)):
        raise ValueError(f"{label} = {entry.tolist()} is not allowed: every entry must be a finite number.")
    if entry.shape == (3,):
        entry = np.concatenate([np.zeros(3), entry])
    return np.diag(entry) if entry.ndim == 1 else entry


def _check_semidefinite(label: str, matrix: Array, meaning: str) -> None:
    """Error unless the symmetric part of `matrix` has no negative eigenvalue, whatever the units of its entries."""
    part = 0.5 * (matrix + matrix.T)
    largest = float(np.abs(part).max())
    if largest == 0.0:
        return
    # A congruence keeps the signs of the eigenvalues, and a unit diagonal makes N m s and N s/m comparable.
    diagonal = np.abs(np.diag(part))
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, largest))
    if float(np.linalg.eigvalsh(part / np.outer(scale, scale))[0]) >= -TOLERANCE:
        return
    values, vectors = np.linalg.eigh(part)
    axis = _AXES[int(np.argmax(np.abs(vectors[:, 0])))]
    raise ValueError(
        f"{label} is not allowed: its symmetric part has the negative eigenvalue {values[0]:.6g} (mainly {axis}), "
        f"{meaning}. Check the signs, and the order {', '.join(_AXES)}."
    )


def _check_drag(label: str, matrix: Array) -> Array:
    _check_semidefinite(label, matrix, "so it would add energy; the minus sign of F = −D η is already in the model")
    return matrix


def _check_mass(label: str, matrix: Array) -> Array:
    error = float(np.abs(matrix - matrix.T).max())
    if error > TOLERANCE * float(np.abs(matrix).max()):
        raise ValueError(
            f"{label} is not allowed: it must be symmetric, but differs from its transpose by {error:.3g}. "
            "Use (A + Aᵀ)/2, or put lift into drag."
        )
    symmetric: Array = 0.5 * (matrix + matrix.T)
    _check_semidefinite(label, symmetric, "but added mass must be positive semidefinite")
    return symmetric


CHECKS = {"drag": _check_drag, "linear_drag": _check_drag, "added_mass": _check_mass}
"""How the coefficients of `Hydrodynamics` are checked."""


def points_of_rod(X: ArrayLike | None) -> Array:
    """Return points on a rod as an array (m,)."""
    if X is None:
        hint = "X is arc length divided by the length of the rod."
        raise TypeError(f"X = None: a rod needs the points X in [0, 1] where to evaluate. {hint}")
    return points_along(X)


def lengths_along(label: str, value: Dimension, X: Array, *, unit: str = "m") -> Array:
    """Evaluate a number, a pair (at X=0, at X=1) or a function of X at X (m,); error unless finite and >= 0."""
    hint = "Give a number, a pair (value at X=0, value at X=1) or a function of X in [0, 1]."
    if not callable(value):
        if dimensions(value):
            first, last = vector(label, value, (2,), hint=hint).tolist()
            value = (first, last)
        else:
            value = finite(label, value, unit=unit, hint=hint)
    result = evaluate(label, value, X)
    bad = ~(np.isfinite(result) & (result >= 0.0))
    if np.any(bad):
        i = int(np.argmax(bad))
        non_negative(f"{label}(X={X[i]:g})", float(result[i]), unit=unit, hint=hint)
    return result


def linear_matrix(*entries: Array | float) -> Array:
    """Matrices (m, 6, 6) with a diagonal linear block, from its three entries (m,)."""
    x, y, z = np.broadcast_arrays(*entries)
    out = np.zeros((*x.shape, 6, 6))
    out[:, 3, 3], out[:, 4, 4], out[:, 5, 5] = x, y, z
    return out
