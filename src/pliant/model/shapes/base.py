"""What every shape has: volume, inertia, surface, points that touch and a distance."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import validate
from .corners import Corners
from .distance import Distance
from .surface import Sheet, Triangles, View, mesh_of

__all__ = ["Shape", "inertia_of_moments"]


Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """Base of all shapes: a homogeneous solid centred at its own origin.

    A class of your own gives its sizes as fields, and `volume`, `unit_inertia` and `sheets`. With `contact_points` a body of this
    shape can touch obstacles, with `distance` it can be an obstacle.
    """

    def __post_init__(self) -> None:
        """Check that every length is positive."""
        if type(self) is Shape:
            raise TypeError("Shape is only a base class: use Box, Cylinder, Sphere or Ellipsoid.")
        for f in fields(self):
            if f.type in ("float", float):
                checked = validate.positive(f"{type(self).__name__}.{f.name}", getattr(self, f.name), unit="m")
                object.__setattr__(self, f.name, checked)

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        raise NotImplementedError

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass, in body axes [m²], shape (3, 3)."""
        raise NotImplementedError

    def sheets(self, view: View) -> list[Sheet]:
        """The surface."""
        raise TypeError(f"{self!r} cannot be drawn: its class has no sheets().")

    def mesh(self, *, size: float = 1.0, inside: bool = False, around: int = 32) -> Triangles:
        """Triangles of the surface.

        Parameters
        ----------
        size : float
            Side of the plate that stands for a half-space [m].
        inside : bool
            Whether it is a cavity: a cylinder is then drawn without its ends.
        around : int
            Points of a circle.
        """
        return mesh_of(self.sheets(View(around=around, inside=inside)))

    def contact_points(self) -> list[tuple[Array, float]]:
        """Spheres with which a body of this shape touches obstacles: centre (3,) and radius [m]; none if it cannot."""
        return []

    def corners(self) -> Corners:
        """What of a body of this shape touches other bodies, and shapes with corners of their own: its contact points, unless it has edges."""
        points = self.contact_points()
        return Corners(np.array([p for p, _ in points]).reshape(-1, 3), np.array([r for _, r in points]))

    @property
    def centroid(self) -> Array:
        """Centre of its volume in its own frame [m], shape (3,)."""
        return np.zeros(3)

    def distance(self) -> Distance | None:
        """The distance to it as an obstacle, or as a body that others touch; None if there is none."""
        return None


def inertia_of_moments(xx: float, yy: float, zz: float) -> Array:
    """Inertia from the mean squares of the coordinates: ``Ix = <y²> + <z²>`` and so on."""
    return np.diag([yy + zz, zz + xx, xx + yy])
