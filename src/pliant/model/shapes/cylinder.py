"""Solid circular cylinder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .. import validate
from ..pose import Pose
from .base import Array, Shape, inertia_of_moments
from .corners import ROUNDING, Corners
from .distance import Distance
from .surface import Sheet, View, tube_sheets

__all__ = ["TURNED", "Cylinder"]


TURNED: dict[str, list[list[float]]] = {
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

    units: ClassVar[dict[str, str]] = {"radius": "m", "length": "m"}

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
        return [(p, 0.0) for p in self._rims(0.0)]

    def corners(self) -> Corners:
        """Twelve points on each rim, and the axis with the whole radius, which is exact for edges that lie across the side."""
        r = ROUNDING * min(2 * self.radius, self.length)
        ends = np.zeros((2, 3))
        ends[:, "xyz".index(self.axis)] = -0.5 * self.length, 0.5 * self.length
        radius = np.append(np.full(24, r), [self.radius] * 2)
        return Corners(np.vstack([self._rims(r), ends]), radius, np.array([[24, 25]]), spheres=24)

    def _rims(self, inset: float) -> Array:
        """Twelve points on each rim (24, 3), by `inset` below the surface."""
        axis = "xyz".index(self.axis)
        points = np.zeros((24, 3))
        points[:, axis] = np.repeat([-0.5, 0.5], 12) * (self.length - 2 * inset)
        angle = 2 * np.pi * np.arange(24) / 12
        points[:, (axis + 1) % 3] = (self.radius - inset) * np.cos(angle)
        points[:, (axis + 2) % 3] = (self.radius - inset) * np.sin(angle)
        return points

    def distance(self) -> Distance:
        """A tube."""
        return Distance("tube", (self.radius, 0.5 * self.length), pose=Pose(rotation=TURNED[self.axis]))
