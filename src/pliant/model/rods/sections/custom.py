"""Any section, by its constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Section, oval
from .dimensions import Dimension

__all__ = ["CustomSection"]


@dataclass(frozen=True, repr=False)
class CustomSection(Section):
    """Any section, by its constants about the centroid and its principal axes y and z.

    Parameters
    ----------
    area : float, pair or callable
        A [m²].
    Iy, Iz : float, pair or callable
        ``∫ z² dA`` and ``∫ y² dA`` [m⁴].
    J : float, pair or callable, optional
        Torsion constant [m⁴]; Iy + Iz by default. It changes the stiffness only, never the inertia.
    shear_factor, torsion_factor
        See `Section`.
    """

    area: Dimension
    Iy: Dimension
    Iz: Dimension
    J: Dimension | None = None

    units: ClassVar[dict[str, str]] = {"area": "m²", "Iy": "m⁴", "Iz": "m⁴", "J": "m⁴"}
    has_outline: ClassVar[bool] = False

    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz and the torsion constant at X (m,)."""
        J = None if self.J is None else self.value("J", X)
        return self.value("area", X), self.value("Iy", X), self.value("Iz", X), J

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,)."""
        r = self.reach(X)
        return oval(r, r, n)

    def reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,)."""
        return np.sqrt(self.value("area", X, zero=True) / np.pi)
