"""Bumps with evenly spread centres: what the families have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...validate import interval
from .base import Basis, set_integer

__all__ = ["Bumps"]


@dataclass(frozen=True, repr=False)
class Bumps(Basis):
    """Equal bumps with centres spread evenly from X = 0 to X = 1."""

    functions: int
    width: float | None = None

    remedy: ClassVar[str] = "Use fewer functions or a smaller width."
    degree_per_width: ClassVar[float]

    def __post_init__(self) -> None:
        """Check the arguments."""
        set_integer(self, "functions", 1)
        if self.width is not None:
            hint = "It is a fraction of the rod length; None takes the distance between the centres."
            field = f"{type(self).__name__} width"
            object.__setattr__(self, "width", interval(field, self.width, 1e-3, 1e3, hint=hint))

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.functions

    @property
    def degree(self) -> int:
        """Equivalent polynomial degree."""
        return math.ceil(self.degree_per_width / self._width) + 1

    @property
    def _centres(self) -> NDArray[np.float64]:
        return np.linspace(0.0, 1.0, self.functions) if self.functions > 1 else np.array([0.5])

    @property
    def _width(self) -> float:
        return self.width if self.width is not None else 1.0 / max(self.functions - 1, 1)

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        return self.profile(((X[:, None] - self._centres) / self._width) ** 2)

    @staticmethod
    @abstractmethod
    def profile(squared: NDArray[np.float64]) -> NDArray[np.float64]:
        """Height of a bump; the argument is (distance from the centre / width)^2."""
