"""Shapes of rigid bodies and obstacles, one file each, and inertias."""

from .base import Shape, inertia_of_moments
from .box import Box
from .capsule import Capsule
from .corners import Corners
from .cylinder import Cylinder
from .distance import Distance
from .ellipsoid import Ellipsoid
from .half_space import HalfSpace
from .height_field import HeightField
from .hull import Hull
from .inertia import Inertia
from .mesh import Mesh
from .sphere import Sphere
from .surface import Sheet, Triangles, View, ball_sheet, box_sheets, revolved, tube_sheets
from .visual import Visual, as_visuals

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "Corners",
    "Cylinder",
    "Distance",
    "Ellipsoid",
    "HalfSpace",
    "HeightField",
    "Hull",
    "Inertia",
    "Mesh",
    "Shape",
    "Sheet",
    "Sphere",
    "Triangles",
    "View",
    "Visual",
    "as_visuals",
    "ball_sheet",
    "box_sheets",
    "inertia_of_moments",
    "revolved",
    "tube_sheets",
]

SHAPES: tuple[type[Shape], ...] = (Box, Capsule, Cylinder, Sphere, Ellipsoid, Hull, Mesh, HalfSpace, HeightField)
"""All shapes that the package brings; which can be obstacles their `distance` says."""
