"""Functions with small support on equal elements: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..quadrature import SAME_POINT
from .base import Basis, set_integer

__all__ = ["Elements", "element_of", "equal_parts"]


def equal_parts(count: int) -> tuple[float, ...]:
    """Interior ends of `count` equal elements; k / count is the float nearest to the exact ratio."""
    return tuple(k / count for k in range(1, count))


def element_of(X: NDArray[np.float64], breakpoints: tuple[float, ...]) -> NDArray[np.intp]:
    """Index of the element of each point.

    A point that rounding has put just left of a breakpoint counts as the breakpoint, so belongs to the right
    element.
    """
    return np.searchsorted(np.array(breakpoints) - SAME_POINT, X, side="right")


@dataclass(frozen=True, repr=False)
class Elements(Basis):
    """Functions with small support on equal elements; subclasses give those of one element."""

    elements: int

    local_degree: ClassVar[int]
    stride: ClassVar[int]
    shared: ClassVar[int]

    def __post_init__(self) -> None:
        """Check the arguments."""
        set_integer(self, "elements", 1)

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.stride * self.elements + self.shared

    @property
    def degree(self) -> int:
        """Polynomial degree in an element."""
        return self.local_degree

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The interior element ends."""
        return equal_parts(self.elements)

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        element = element_of(X, self.breakpoints)
        shapes = self.shapes(X * self.elements - element)
        columns = self.stride * element[:, None] + np.arange(shapes.shape[1])
        values = np.zeros((len(X), self.size))
        np.put_along_axis(values, columns, shapes, axis=1)
        return values

    @staticmethod
    @abstractmethod
    def shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions of one element at its local coordinate t in [0, 1], shape (n, functions per element)."""
