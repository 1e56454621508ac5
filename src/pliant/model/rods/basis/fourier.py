"""Trigonometric functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Basis, set_integer

__all__ = ["Fourier"]


@dataclass(frozen=True, repr=False)
class Fourier(Basis):
    """Trigonometric functions 1, cos(2 pi X), sin(2 pi X), cos(4 pi X), sin(4 pi X), ...

    Parameters
    ----------
    order : int
        Number of cosine and sine pairs, at least 0; there are 2 order + 1 functions.

    Notes
    -----
    All of them have the same value at both rod ends. Add other functions if the strain differs there.
    """

    order: int

    name: ClassVar[str] = "fourier"

    def __post_init__(self) -> None:
        """Check the arguments."""
        set_integer(self, "order", 0, "The order is the number of cosine and sine pairs; order 0 is a constant.")

    @property
    def size(self) -> int:
        """Number of functions, 2 order + 1."""
        return 2 * self.order + 1

    @property
    def degree(self) -> int:
        """Equivalent polynomial degree."""
        return 2 * self.order + 3 if self.order else 0

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        phase = 2.0 * math.pi * X[:, None] * np.arange(1, self.order + 1)
        values = np.ones((len(X), self.size))
        values[:, 1::2] = np.cos(phase)
        values[:, 2::2] = np.sin(phase)
        return values
