"""Quadratic elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .elements import Elements

__all__ = ["QuadraticElements"]


@dataclass(frozen=True, repr=False)
class QuadraticElements(Elements):
    """Continuous, quadratic in each of equal elements; the coordinates are the values at the nodes.

    Parameters
    ----------
    elements : int
        Number of elements, at least 1; there are 2 elements + 1 functions, one for each element end and
        midpoint, ordered along the rod.
    """

    name: ClassVar[str] = "quadratic"
    local_degree: ClassVar[int] = 2
    stride: ClassVar[int] = 2
    shared: ClassVar[int] = 1

    @staticmethod
    def shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions of one element at its local coordinate t (n,)."""
        return np.column_stack(((1.0 - t) * (1.0 - 2.0 * t), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0)))
