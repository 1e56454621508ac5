"""Joints between bodies, one file each.

A joint places the child frame relative to the joint frame. It is a chain of screws ``exp(a q)`` (hinge, slider, … planar), or it
moves on a group of its own with a unit quaternion in q and the body twist in v (`groups`, MATH.md §2). Twists are ordered
``[angular; linear]``. A joint of your own is a class like those here: fields, names and units, and its `screws`.
"""

from .base import Joint, slide, turn
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .groups import POSE, ROTATION, Group
from .helical import Helical
from .planar import Planar
from .prismatic import Prismatic
from .restraints import Distance, Restraint, Rolling, Rows, Skate, Slot
from .revolute import Revolute
from .spherical import Spherical
from .universal import Universal

__all__ = [
    "JOINTS",
    "POSE",
    "RESTRAINTS",
    "ROTATION",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Free",
    "Group",
    "Helical",
    "Joint",
    "Planar",
    "Prismatic",
    "Restraint",
    "Revolute",
    "Rolling",
    "Rows",
    "Skate",
    "Slot",
    "Spherical",
    "Universal",
    "slide",
    "turn",
]

JOINTS: tuple[type[Joint], ...] = (
    Fixed,
    Revolute,
    Prismatic,
    Helical,
    Universal,
    Cylindrical,
    Planar,
    Spherical,
    Free,
)
"""All joints that the package brings."""

RESTRAINTS: tuple[type[Restraint], ...] = (Rows, Slot, Distance, Rolling, Skate)
"""What only closes loops."""
