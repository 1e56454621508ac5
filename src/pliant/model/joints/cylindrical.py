"""Turning and sliding along one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..pose import AxisLike
from .base import Array, Joint, slide, turn
from .constraints import Constraint, offsets, point, tilts, turning

__all__ = ["Cylindrical"]


@dataclass(frozen=True, repr=False)
class Cylindrical(Joint):
    """Turning about and sliding along the same axis, independently.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`; the dofs are the angle [rad] and the displacement [m].
    """

    axis: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("axis",)
    dof_names: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    dof_units: ClassVar[tuple[str, ...]] = ("rad", "m")

    @property
    def screws(self) -> list[Array]:
        """The screws ``(axis; 0)`` and ``(0; axis)``."""
        return [turn(self.axis), slide(self.axis)]

    def constraints(self) -> list[Constraint]:
        """Both tilts of the axis, and both offsets from it."""
        axis = self.screws[0][:3]
        return [*tilts(axis), *offsets(axis)]

    def coordinates(self) -> list[Constraint]:
        """The angle, between ± half a turn, and the displacement."""
        axis = self.screws[0][:3]
        return [turning(axis, "angle"), point(axis, "displacement")]
