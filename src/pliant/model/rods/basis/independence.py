"""Whether the functions of a basis are linearly independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..quadrature import default_points, rod_grid
from .base import Basis

__all__ = ["check_independent"]

_DEPENDENT = 1e-12


def check_independent(basis: Basis) -> None:
    """Refuse a basis whose functions are linearly dependent on [0, 1].

    Parameters
    ----------
    basis : Basis
        The functions to check.

    Raises
    ------
    ValueError
        If a function is zero everywhere or a combination of functions vanishes. Such a basis makes the mass
        and stiffness matrices singular.

    Notes
    -----
    The functions are scaled to norm 1 in L2(0, 1). The singular values of the weighted samples are the square
    roots of the eigenvalues of their Gram matrix, but keep twice as many digits as the eigenvalues of the
    matrix itself would; so powers of X, which are independent but ill conditioned, pass up to order 15. The
    smallest must exceed 1e-12 of the largest.
    """
    samples = _weighted_samples(basis)
    norms = np.sqrt(np.sum(samples**2, axis=0))
    zero = np.flatnonzero(norms < 1e-140)
    if len(zero):
        raise ValueError(
            f"the functions of {basis!r} are linearly dependent: function {_listed(zero)} is zero "
            f"on all of [0, 1]. {basis.remedy}"
        )
    samples /= norms
    if len(norms) > 50:  # many functions: the eigenvalues of the Gram matrix are cheap, and decide the clear cases
        low, high = np.linalg.eigvalsh(samples.T @ samples)[[0, -1]]
        if low > 1e-10 * high:
            return
    _, singular, directions = np.linalg.svd(samples, full_matrices=False)
    if singular[-1] <= _DEPENDENT * singular[0]:
        null = np.abs(directions[-1])
        involved = np.flatnonzero(null > 1e-6 * np.max(null))
        raise ValueError(
            f"the functions of {basis!r} are linearly dependent on [0, 1], or too nearly so for double "
            f"precision: a combination of functions {_listed(involved)} vanishes. {basis.remedy}"
        )


def _weighted_samples(basis: Basis) -> NDArray[np.float64]:
    """Values at many Gauss points times the roots of the weights, so that A^T A is the Gram matrix."""
    elements = len(basis.breakpoints) + 1
    enough = max(2 * default_points(basis.degree, elements), -(-max(64, basis.size) // elements))
    grid = rod_grid(basis.breakpoints, enough)
    inside = grid.weights > 0
    return np.sqrt(grid.weights[inside])[:, None] * basis(grid.X[inside])


def _listed(indices: NDArray[np.intp]) -> str:
    return ", ".join(map(str, indices.tolist()))
