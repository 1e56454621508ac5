"""Cylinder with round ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .. import validate
from ..pose import Pose
from .base import Array, Shape, inertia_of_moments
from .corners import Corners
from .cylinder import TURNED
from .distance import Distance
from .surface import Sheet, View, revolved

__all__ = ["Capsule"]


@dataclass(frozen=True)
class Capsule(Shape):
    """Circular cylinder with a half ball at each end.

    Parameters
    ----------
    radius, length : float
        Length of the cylinder, without the half balls [m].
    axis : {"x", "y", "z"}
        Body axis along which the length runs.

    Examples
    --------
    >>> import pliant as pl
    >>> print(f"{pl.Capsule(0.03, 0.1).volume * 1e6:.1f} ml")
    395.8 ml
    """

    radius: float
    length: float
    axis: Literal["x", "y", "z"] = "x"

    units: ClassVar[dict[str, str]] = {"radius": "m", "length": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        hint = "Turn the body by its pose for any other direction."
        validate.choice("Capsule.axis", self.axis, ("x", "y", "z"), hint=hint)

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return np.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass [m²], shape (3, 3)."""
        r, L = self.radius, self.length
        balls = 4.0 / 3.0 * r / (L + 4.0 / 3.0 * r)  # share of the volume
        moments = [(1.0 - balls) * r**2 / 4.0 + balls * r**2 / 5.0] * 3
        along = L**2 / 4.0 + 3.0 / 8.0 * L * r + r**2 / 5.0
        moments["xyz".index(self.axis)] = (1.0 - balls) * L**2 / 12.0 + balls * along
        return inertia_of_moments(*moments)

    def sheets(self, view: View) -> list[Sheet]:
        """One sheet from end to end."""
        polar = np.linspace(0.0, np.pi / 2, max(view.around // 4, 2) + 1)
        high = self.length / 2 + self.radius * np.sin(polar)
        ring = self.radius * np.cos(polar)
        ring[-1] = 0.0
        return [revolved(np.append(-high[::-1], high), np.append(ring[::-1], ring), self.axis, view)]

    def contact_points(self) -> list[tuple[Array, float]]:
        """The two balls."""
        return [(end, self.radius) for end in self._ends()]

    def corners(self) -> Corners:
        """The two balls and what is between them."""
        return Corners(self._ends(), np.full(2, self.radius), np.array([[0, 1]]))

    def distance(self) -> Distance:
        """A line, rounded."""
        return Distance("tube", (0.0, 0.5 * self.length), rounding=self.radius, pose=Pose(rotation=TURNED[self.axis]))

    def _ends(self) -> Array:
        return 0.5 * self.length * np.outer([-1.0, 1.0], np.eye(3)["xyz".index(self.axis)])
