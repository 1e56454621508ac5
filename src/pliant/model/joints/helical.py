"""Screw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .. import validate
from ..pose import AxisLike
from .base import Array, Joint, turn
from .constraints import Constraint, offsets, thread, tilts, turning

__all__ = ["Helical"]


@dataclass(frozen=True, repr=False)
class Helical(Joint):
    """Screw: turning and moving along an axis are tied together.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction in the joint frame; stored as a unit vector.
    pitch : float
        Translation per full turn [m]; negative for a left-handed thread.
    stiffness, damping, rest
        See `Joint`; the coordinate is the angle [rad].
    """

    axis: AxisLike
    pitch: float

    axes: ClassVar[tuple[str, ...]] = ("axis",)
    dof_names: ClassVar[tuple[str, ...]] = ("angle",)
    dof_units: ClassVar[tuple[str, ...]] = ("rad",)
    units: ClassVar[dict[str, str]] = {"pitch": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        hint = "The pitch is the translation per full turn."
        object.__setattr__(self, "pitch", validate.finite("Helical.pitch", self.pitch, unit="m", hint=hint))
        super().__post_init__()

    @property
    def screws(self) -> list[Array]:
        """The screw ``(axis; axis · pitch / 2π)``."""
        return [turn(self.axis, lead=self.pitch)]

    def constraints(self) -> list[Constraint]:
        """Both tilts of the axis, both offsets from it, and what ties the displacement to the angle."""
        axis = self.screws[0][:3]
        return [*tilts(axis), *offsets(axis), thread(axis, self.pitch)]

    def coordinates(self) -> list[Constraint]:
        """The angle, with all whole turns that the displacement tells."""
        return [turning(self.screws[0][:3], "angle", self.pitch)]
