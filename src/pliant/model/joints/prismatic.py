"""Slider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..pose import AxisLike
from .base import Array, Joint, slide
from .constraints import Constraint, offsets, point, rotations

__all__ = ["Prismatic"]


@dataclass(frozen=True, repr=False)
class Prismatic(Joint):
    """Slider.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Prismatic((1, 1, 0)).nv  # along a diagonal
    1
    """

    axis: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("axis",)
    dof_names: ClassVar[tuple[str, ...]] = ("displacement",)
    dof_units: ClassVar[tuple[str, ...]] = ("m",)

    @property
    def screws(self) -> list[Array]:
        """The screw ``(0; axis)``."""
        return [slide(self.axis)]

    def constraints(self) -> list[Constraint]:
        """Both offsets from the axis, and all of the rotation."""
        return [*offsets(self.screws[0][3:]), *rotations()]

    def coordinates(self) -> list[Constraint]:
        """The displacement."""
        return [point(self.screws[0][3:], "displacement")]
