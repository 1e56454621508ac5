"""Half-space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Shape
from .distance import Distance
from .surface import Sheet, Triangles, View, box_sheets, mesh_of

__all__ = ["HalfSpace"]


@dataclass(frozen=True)
class HalfSpace(Shape):
    """Everything below the plane z = 0 of its frame: a floor, or a wall."""

    @property
    def volume(self) -> float:
        """Infinite."""
        return np.inf

    def sheets(self, view: View) -> list[Sheet]:
        """A square of the plane."""
        reach = view.reach if np.isfinite(view.reach) else 0.5
        square = reach * np.array([[[-1, -1, 0], [1, -1, 0]], [[-1, 1, 0], [1, 1, 0]]])
        return [Sheet(square + [view.centre[0], view.centre[1], 0.0])]

    def mesh(self, *, size: float = 1.0, inside: bool = False, around: int = 32) -> Triangles:
        """A plate below the plane with this side [m], a hundredth as thick."""
        plate = mesh_of(box_sheets(size, size, 0.01 * size))
        return Triangles(plate.vertices - [0.0, 0.0, 0.005 * size], plate.faces)

    def distance(self) -> Distance:
        """The height above the plane."""
        return Distance("half-space")
