"""Cuboid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Shape, inertia_of_moments
from .corners import ROUNDING, Corners
from .distance import Distance
from .surface import Sheet, View, box_sheets

__all__ = ["Box"]


_SIGNS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
_EDGES = np.array([(i, j) for i in range(8) for j in range(i) if np.abs(_SIGNS[i] - _SIGNS[j]).sum() == 2])


@dataclass(frozen=True)
class Box(Shape):
    """Cuboid.

    Parameters
    ----------
    x, y, z : float
        Side lengths along the body axes [m].

    Examples
    --------
    >>> import pliant as pl
    >>> print(f"{pl.Box(0.2, 0.1, 0.05).volume * 1e3:.1f} l")
    1.0 l
    """

    x: float
    y: float
    z: float

    units: ClassVar[dict[str, str]] = {"x": "m", "y": "m", "z": "m"}

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return self.x * self.y * self.z

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass [m²], shape (3, 3)."""
        return inertia_of_moments(self.x**2 / 12.0, self.y**2 / 12.0, self.z**2 / 12.0)

    def sheets(self, view: View) -> list[Sheet]:
        """The six sides."""
        return box_sheets(self.x, self.y, self.z)

    def contact_points(self) -> list[tuple[Array, float]]:
        """The corners."""
        return [(s * 0.5 * np.array([self.x, self.y, self.z]), 0.0) for s in _SIGNS]

    def corners(self) -> Corners:
        """Eight corners and twelve edges."""
        r = ROUNDING * min(self.x, self.y, self.z)
        half = 0.5 * np.array([self.x, self.y, self.z]) - r
        return Corners(_SIGNS * half, np.full(8, r), _EDGES)

    def distance(self) -> Distance:
        """A block."""
        return Distance("block", (0.5 * self.x, 0.5 * self.y, 0.5 * self.z))
