"""Solid circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Section, oval
from .dimensions import Dimension

__all__ = ["Circle"]


@dataclass(frozen=True, repr=False)
class Circle(Section):
    """Solid circle.

    Parameters
    ----------
    radius : float, pair or callable
        [m].
    shear_factor, torsion_factor
        See `Section`.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> tapered = pl.Circle(radius=(0.02, 0.01))
    >>> print(tapered.extent([0.0, 0.5, 1.0]))
    [0.02  0.015 0.01 ]
    >>> wavy = pl.Circle(radius=lambda X: 0.01 + 0.002 * np.sin(6 * X))
    """

    radius: Dimension

    is_round: ClassVar[bool] = True

    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz and the torsion constant at X (m,)."""
        r = self.value("radius", X)
        second = np.pi * r**4 / 4.0
        return np.pi * r**2, second, second.copy(), None

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,)."""
        r = self.reach(X)
        return oval(r, r, n)

    def reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,)."""
        return self.value("radius", X, zero=True)
