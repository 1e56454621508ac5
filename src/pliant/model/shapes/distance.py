"""How far it is to a shape, in the words of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..pose import Pose
from .surface import Triangles

__all__ = ["Distance", "Primitive"]


Primitive: TypeAlias = Literal["half-space", "ball", "tube", "block", "mesh", "field", "ellipsoid"]
"""What `kernels.loads.shapes` can measure the distance to."""


@dataclass(frozen=True)
class Distance:
    """The signed distance to a shape: that to a primitive, less a rounding.

    A capsule is a tube without radius, rounded; a box with round edges is a smaller block, rounded.

    Attributes
    ----------
    primitive : {"half-space", "ball", "tube", "block", "mesh", "field", "ellipsoid"}
        Half-space below z = 0; ball; cylinder along z; cuboid; triangles; everything below a height z(x, y); ellipsoid.
    size : tuple of float
        Nothing; radius; radius and half length; half edges along x, y, z; nothing; half sides along x, y; semi-axes [m].
    rounding : float
        By which the surface lies outside that of the primitive [m].
    pose : Pose
        Of the primitive in the frame of the shape.
    triangles : Triangles, optional
        Of a mesh; vertices at one place are one.
    heights : ndarray (nx, ny), optional
        Of a field, at equal distances along x and y [m].
    thin : float, optional
        The least way through a mesh [m].
    """

    primitive: Primitive
    size: tuple[float, ...] = ()
    rounding: float = 0.0
    pose: Pose = field(default_factory=Pose)
    triangles: Triangles | None = field(default=None, compare=False, repr=False)
    heights: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    thin: float = float("inf")

    @property
    def cavity(self) -> bool:
        """Whether a robot can be inside: of a ball, and of a tube or block that is not rounded."""
        return self.primitive in ("ball", "tube", "block") and (self.rounding == 0.0 or self.primitive == "ball")

    @property
    def thickness(self) -> float:
        """The least way through the shape [m]; infinite for a half-space and a field."""
        if self.primitive in ("mesh", "field"):
            return self.thin + 2.0 * self.rounding
        return 2.0 * (min(self.size) + self.rounding) if self.size else float("inf")

    @property
    def roundness(self) -> float:
        """Least radius [m] of its surface where something long lies across it: zero for sharp edges. The rims of a tube do not count."""
        if self.primitive in ("half-space", "field"):
            return float("inf")
        own = (
            min(self.size)
            if self.primitive == "ellipsoid"
            else self.size[0]
            if self.primitive in ("ball", "tube")
            else 0.0
        )
        return own + self.rounding

    @property
    def bound(self) -> tuple[NDArray[np.float64], float]:
        """Centre (3,) in the frame of the primitive and radius [m] of a sphere around it; infinite for a half-space and a field."""
        centre = np.zeros(3)
        if self.primitive in ("half-space", "field"):
            return centre, float("inf")
        if self.triangles is not None:
            points = self.triangles.vertices
            centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
            return centre, float(np.linalg.norm(points - centre, axis=1).max()) + self.rounding
        reach = max(self.size) if self.primitive == "ellipsoid" else float(np.linalg.norm(self.size))
        return centre, reach + self.rounding
