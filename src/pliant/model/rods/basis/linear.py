"""Linear elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .elements import Elements

__all__ = ["LinearElements"]


@dataclass(frozen=True, repr=False)
class LinearElements(Elements):
    """Continuous, linear in each of equal elements; the coordinates are the values at the nodes.

    Parameters
    ----------
    elements : int
        Number of elements, at least 1; there are elements + 1 functions, one for each element end.

    Examples
    --------
    >>> import pliant as pl
    >>> print(pl.LinearElements(2)([0.0, 0.25, 1.0]))
    [[1.  0.  0. ]
     [0.5 0.5 0. ]
     [0.  0.  1. ]]
    """

    name: ClassVar[str] = "linear"
    local_degree: ClassVar[int] = 1
    stride: ClassVar[int] = 1
    shared: ClassVar[int] = 1

    @staticmethod
    def shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions of one element at its local coordinate t (n,)."""
        return np.column_stack((1.0 - t, t))
