"""Chebyshev polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray

from .polynomials import Polynomials

__all__ = ["Chebyshev"]


@dataclass(frozen=True, repr=False)
class Chebyshev(Polynomials):
    """Chebyshev polynomials of the first kind T_k(2X - 1), k = 0..order.

    Parameters
    ----------
    order : int
        Highest degree, at least 0.
    """

    name: ClassVar[str] = "chebyshev"

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        return np.asarray(chebvander(2.0 * X - 1.0, self.order), dtype=np.float64)
