"""How far it is to a shape, in the words of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..pose import Pose

__all__ = ["Distance", "Primitive"]


Primitive: TypeAlias = Literal["half-space", "ball", "tube", "block"]
"""What `kernels.loads.shapes` can measure the distance to."""


@dataclass(frozen=True)
class Distance:
    """The signed distance to a shape: that to a primitive, less a rounding.

    A capsule is a tube without radius, rounded; a box with round edges is a smaller block, rounded.

    Attributes
    ----------
    primitive : {"half-space", "ball", "tube", "block"}
        Half-space below z = 0; ball; cylinder along z; cuboid.
    size : tuple of float
        Nothing; radius; radius and half length; half edges along x, y, z [m].
    rounding : float
        By which the surface lies outside that of the primitive [m].
    pose : Pose
        Of the primitive in the frame of the shape.
    """

    primitive: Primitive
    size: tuple[float, ...] = ()
    rounding: float = 0.0
    pose: Pose = field(default_factory=Pose)

    @property
    def cavity(self) -> bool:
        """Whether a robot can be inside: not of a half-space, and not of a rounded tube or block."""
        return self.primitive != "half-space" and (self.rounding == 0.0 or self.primitive == "ball")

    @property
    def thickness(self) -> float:
        """The least way through the shape [m]; infinite for a half-space."""
        return 2.0 * (min(self.size) + self.rounding) if self.size else float("inf")
