"""Sliding and turning in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..pose import AxisLike
from .base import Array, Joint, slide, turn
from .constraints import Constraint, point, tilts, turning

__all__ = ["Planar"]


@dataclass(frozen=True, repr=False)
class Planar(Joint):
    """Sliding in a plane, then turning about its normal.

    Parameters
    ----------
    normal : str or array_like, shape (3,)
        Normal of the plane in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`; the dofs are two displacements [m] along `in_plane_axes` and the angle [rad].
    """

    normal: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("normal",)
    dof_names: ClassVar[tuple[str, ...]] = ("displacement1", "displacement2", "angle")
    dof_units: ClassVar[tuple[str, ...]] = ("m", "m", "rad")

    @property
    def in_plane_axes(self) -> tuple[Array, Array]:
        """Unit vectors along which the joint slides; with the normal last they are right-handed.

        For the normal z they are x and y, for x they are y and z, for y they are z and x.
        """
        n = np.asarray(self.normal, dtype=np.float64)
        first = np.eye(3)[(int(np.argmax(np.abs(n))) + 1) % 3]
        first = first - (first @ n) * n
        first = first / np.linalg.norm(first)
        return first, np.cross(n, first)

    @property
    def screws(self) -> list[Array]:
        """Two translations and the rotation about the normal."""
        first, second = self.in_plane_axes
        return [slide(first), slide(second), turn(self.normal)]

    def constraints(self) -> list[Constraint]:
        """Both tilts of the normal, and the height."""
        normal = self.screws[2][:3]
        return [*tilts(normal), point(normal, "height")]

    def coordinates(self) -> list[Constraint]:
        """Both displacements, and the angle between ± half a turn."""
        first, second = self.in_plane_axes
        normal = self.screws[2][:3]
        return [point(first, "displacement1"), point(second, "displacement2"), turning(normal, "angle")]
