"""Solid ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Shape
from .corners import Corners
from .distance import Distance
from .surface import Sheet, View, ball_sheet

__all__ = ["Sphere"]


@dataclass(frozen=True)
class Sphere(Shape):
    """Solid ball.

    Parameters
    ----------
    radius : float
        [m].
    """

    radius: float

    units: ClassVar[dict[str, str]] = {"radius": "m"}

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return 4.0 / 3.0 * np.pi * self.radius**3

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass [m²], shape (3, 3)."""
        return 0.4 * self.radius**2 * np.eye(3)

    def sheets(self, view: View) -> list[Sheet]:
        """One sheet from pole to pole."""
        return [ball_sheet([self.radius] * 3, view)]

    def contact_points(self) -> list[tuple[Array, float]]:
        """The ball itself."""
        return [(np.zeros(3), self.radius)]

    def corners(self) -> Corners:
        """The ball itself, which is all of it."""
        return Corners(np.zeros((1, 3)), np.array([self.radius]), whole=True)

    def distance(self) -> Distance:
        """A ball."""
        return Distance("ball", (self.radius,))
