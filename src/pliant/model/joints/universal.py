"""Two hinges through one point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..pose import AxisLike
from .base import Array, Joint, turn
from .constraints import Constraint, angle, counter_direction, direction, positions

__all__ = ["Universal"]


_PARALLEL = 1e-6  # sine of the smallest angle between the axes


@dataclass(frozen=True, repr=False)
class Universal(Joint):
    """Two hinges in a row, through one point.

    Parameters
    ----------
    axis1 : str or array_like, shape (3,)
        First axis, in the joint frame; stored as a unit vector.
    axis2 : str or array_like, shape (3,)
        Second axis, in the frame after the first turn; need not be perpendicular, must not be parallel to
        `axis1`.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Universal("y", "z").nv
    2
    """

    axis1: AxisLike
    axis2: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("axis1", "axis2")
    dof_names: ClassVar[tuple[str, ...]] = ("angle1", "angle2")
    dof_units: ClassVar[tuple[str, ...]] = ("rad", "rad")

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        first, second = self.screws
        if np.linalg.norm(np.cross(first[:3], second[:3])) < _PARALLEL:
            raise ValueError(
                f"Universal.axis1 = {self.axis1!r} and Universal.axis2 = {self.axis2!r} are parallel, which "
                "is not allowed: both would turn about the same line. Use Revolute, or two axes at an angle."
            )

    @property
    def screws(self) -> list[Array]:
        """The screws ``(axis1; 0)`` and ``(axis2; 0)``."""
        return [turn(self.axis1), turn(self.axis2)]

    def constraints(self) -> list[Constraint]:
        """All of the position, and the angle between the axes."""
        first, second = self.screws
        return [*positions(), angle(first[:3], second[:3], "angle of the axes")]

    def coordinates(self) -> list[Constraint]:
        """Both angles, between ± half a turn."""
        first, second = (screw[:3] for screw in self.screws)
        return [direction(first, second, "angle1"), counter_direction(second, first, "angle2")]
