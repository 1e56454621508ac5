"""Hinge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..pose import AxisLike
from .base import Array, Joint, turn
from .constraints import Constraint, positions, tilts, turning

__all__ = ["Revolute"]


@dataclass(frozen=True, repr=False)
class Revolute(Joint):
    """Hinge.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        ``"x"``, ``"-z"``, … or a vector of any non-zero length, in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> hinge = pl.Revolute("z", stiffness=0.5, damping=0.01)  # N m/rad, N m s/rad
    >>> hinge.nv, hinge.dof_names
    (1, ('angle',))
    """

    axis: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("axis",)
    dof_names: ClassVar[tuple[str, ...]] = ("angle",)
    dof_units: ClassVar[tuple[str, ...]] = ("rad",)

    @property
    def screws(self) -> list[Array]:
        """The screw ``(axis; 0)``."""
        return [turn(self.axis)]

    def constraints(self) -> list[Constraint]:
        """All of the position, and both tilts of the axis."""
        return [*positions(), *tilts(self.screws[0][:3])]

    def coordinates(self) -> list[Constraint]:
        """The angle, between ± half a turn."""
        return [turning(self.screws[0][:3], "angle")]
