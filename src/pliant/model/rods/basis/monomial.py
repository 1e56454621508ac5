"""Powers of X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .polynomials import Polynomials

__all__ = ["Monomial"]


@dataclass(frozen=True, repr=False)
class Monomial(Polynomials):
    """Powers X^k, k = 0..order.

    Parameters
    ----------
    order : int
        Highest degree, at least 0.

    Notes
    -----
    They span the same strains as `Legendre` but become nearly dependent as the order grows.
    """

    name: ClassVar[str] = "monomial"
    remedy: ClassVar[str] = "Lower the order or use Legendre, which spans the same functions and is well conditioned."

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        return np.vander(X, self.order + 1, increasing=True)
