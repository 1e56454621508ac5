"""Solid ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Shape, inertia_of_moments
from .distance import Distance
from .surface import Sheet, View, ball_sheet

__all__ = ["Ellipsoid"]


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """Solid ellipsoid.

    Parameters
    ----------
    x, y, z : float
        Semi-axes along the body axes [m].
    """

    x: float
    y: float
    z: float

    units: ClassVar[dict[str, str]] = {"x": "m", "y": "m", "z": "m"}

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return 4.0 / 3.0 * np.pi * self.x * self.y * self.z

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass [m²], shape (3, 3)."""
        return inertia_of_moments(self.x**2 / 5.0, self.y**2 / 5.0, self.z**2 / 5.0)

    def sheets(self, view: View) -> list[Sheet]:
        """One sheet from pole to pole."""
        return [ball_sheet([self.x, self.y, self.z], view)]

    def distance(self) -> Distance:
        """An ellipsoid; it has no corners, so that it touches what has some: rods, balls, boxes, not a floor."""
        return Distance("ellipsoid", (self.x, self.y, self.z))
