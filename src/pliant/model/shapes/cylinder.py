"""Solid circular cylinder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import validate
from ..pose import Pose
from .base import Array, Shape, inertia_of_moments
from .distance import Distance
from .surface import Sheet, View, tube_sheets

__all__ = ["Cylinder"]


_TURNED: dict[str, list[list[float]]] = {
    "x": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    "y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    "z": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}
"""Rotation that takes z to each axis."""


@dataclass(frozen=True)
class Cylinder(Shape):
    """Solid circular cylinder.

    Parameters
    ----------
    radius, length : float
        [m].
    axis : {"x", "y", "z"}
        Body axis along which the length runs.
    """

    radius: float
    length: float
    axis: Literal["x", "y", "z"] = "x"

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        hint = "Turn the body by its pose for any other direction."
        validate.choice("Cylinder.axis", self.axis, ("x", "y", "z"), hint=hint)

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return np.pi * self.radius**2 * self.length

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass [m²], shape (3, 3)."""
        moments = [self.radius**2 / 4.0] * 3
        moments["xyz".index(self.axis)] = self.length**2 / 12.0
        return inertia_of_moments(*moments)

    def sheets(self, view: View) -> list[Sheet]:
        """Wall and ends; of a cavity only the wall, of a long cylinder only what is near."""
        along = float(view.centre["xyz".index(self.axis)])
        low, high = max(-self.length / 2, along - view.reach), min(self.length / 2, along + view.reach)
        ends = (low, high) if high > low else (-self.length / 2, self.length / 2)
        return tube_sheets(self.radius, ends, self.axis, view, caps=not view.inside)

    def contact_points(self) -> list[tuple[Array, float]]:
        """Twelve points on each rim."""
        axis = "xyz".index(self.axis)
        points = []
        for side in (-0.5, 0.5):
            for angle in 2 * np.pi * np.arange(12) / 12:
                p = np.zeros(3)
                p[axis] = side * self.length
                p[(axis + 1) % 3], p[(axis + 2) % 3] = self.radius * np.cos(angle), self.radius * np.sin(angle)
                points.append((p, 0.0))
        return points

    def distance(self) -> Distance:
        """A tube."""
        return Distance("tube", (self.radius, 0.5 * self.length), pose=Pose(rotation=_TURNED[self.axis]))
