"""Cubic Hermite elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .elements import Elements

__all__ = ["HermiteElements"]


@dataclass(frozen=True, repr=False)
class HermiteElements(Elements):
    """Cubic Hermite functions: continuous with continuous slope, cubic in each of equal elements.

    Parameters
    ----------
    elements : int
        Number of elements, at least 1; there are 2 (elements + 1) functions: value and slope at the first
        element end, value and slope at the second, and so on.

    Notes
    -----
    A slope coordinate is the change per element, d/dt with t = elements * X - k; divide by the element length
    (1 / elements) for the derivative with respect to X. Value and slope coordinates then have the same unit
    and size.
    """

    name: ClassVar[str] = "hermite"
    local_degree: ClassVar[int] = 3
    stride: ClassVar[int] = 2
    shared: ClassVar[int] = 2

    @staticmethod
    def shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions of one element at its local coordinate t (n,)."""
        s = 1.0 - t
        return np.column_stack((s * s * (1.0 + 2.0 * t), t * s * s, t * t * (3.0 - 2.0 * t), -t * t * s))
