"""Legendre polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from .polynomials import Polynomials

__all__ = ["Legendre"]


@dataclass(frozen=True, repr=False)
class Legendre(Polynomials):
    """Legendre polynomials P_k(2X - 1), k = 0..order.

    Parameters
    ----------
    order : int
        Highest degree, at least 0.

    Notes
    -----
    Orthogonal on [0, 1]; every function is 1 at X = 1 and (-1)^k at X = 0.

    Examples
    --------
    >>> import pliant as pl
    >>> basis = pl.Legendre(2)
    >>> basis.size
    3
    >>> print(basis([0.0, 0.5, 1.0]))
    [[ 1.  -1.   1. ]
     [ 1.   0.  -0.5]
     [ 1.   1.   1. ]]
    """

    name: ClassVar[str] = "legendre"

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        return np.asarray(legvander(2.0 * X - 1.0, self.order), dtype=np.float64)
