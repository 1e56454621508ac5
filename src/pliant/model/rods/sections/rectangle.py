"""Solid rectangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Section
from .dimensions import Dimension

__all__ = ["Rectangle"]


@dataclass(frozen=True, repr=False)
class Rectangle(Section):
    """Solid rectangle.

    Parameters
    ----------
    height : float, pair or callable
        Side along local y [m].
    width : float, pair or callable
        Side along local z [m].
    shear_factor, torsion_factor
        See `Section`.

    Notes
    -----
    ``A = h w``, ``Iy = h w³/12``, ``Iz = h³ w/12``. Like the papers, torsion uses Iy + Iz; warping makes a
    real bar softer: ``torsion_factor`` 0.843 for a square, and about ``4 (w/h)²`` for a thin strip, w << h.

    Examples
    --------
    >>> import pliant as pl
    >>> strip = pl.Rectangle(height=0.002, width=0.02)  # 2 mm along y, 20 mm along z
    >>> p = strip.properties(0.0)
    >>> bool(p.Iz[0] < p.Iy[0])  # it bends easily about z, in the x-y plane
    True
    """

    height: Dimension
    width: Dimension

    corners: ClassVar[int] = 4

    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz and the torsion constant at X (m,)."""
        h, w = self.value("height", X), self.value("width", X)
        return h * w, h * w**3 / 12.0, h**3 * w / 12.0, None

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,)."""
        corners = 0.5 * np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
        unit = [  # each side starts with its corner, so every corner is drawn whatever n is
            corners[k] + t * (corners[(k + 1) % 4] - corners[k])
            for k in range(4)
            for t in np.linspace(0.0, 1.0, n // 4 + (k < n % 4), endpoint=False)
        ]
        size = np.stack([self.value("height", X, zero=True), self.value("width", X, zero=True)], axis=-1)
        return size[:, None, :] * np.array(unit)

    def reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,)."""
        return 0.5 * np.hypot(self.value("height", X, zero=True), self.value("width", X, zero=True))
