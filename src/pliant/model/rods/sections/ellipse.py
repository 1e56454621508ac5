"""Solid ellipse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Array, Section, oval
from .dimensions import Dimension

__all__ = ["Ellipse"]


@dataclass(frozen=True, repr=False)
class Ellipse(Section):
    """Solid ellipse.

    Parameters
    ----------
    semi_y, semi_z : float, pair or callable
        Semi-axes a along local y and b along local z [m].
    shear_factor, torsion_factor
        See `Section`.

    Notes
    -----
    ``A = π a b``, ``Iy = π a b³/4``, ``Iz = π a³ b/4``. Torsion uses Iy + Iz; with
    ``torsion_factor = 4 a² b²/(a² + b²)²`` it is Saint-Venant's exact value.
    """

    semi_y: Dimension
    semi_z: Dimension

    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz and the torsion constant at X (m,)."""
        a, b = self.value("semi_y", X), self.value("semi_z", X)
        return np.pi * a * b, np.pi * a * b**3 / 4.0, np.pi * a**3 * b / 4.0, None

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,)."""
        return oval(self.value("semi_y", X, zero=True), self.value("semi_z", X, zero=True), n)

    def reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,)."""
        return np.maximum(self.value("semi_y", X, zero=True), self.value("semi_z", X, zero=True))
