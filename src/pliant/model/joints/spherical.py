"""Ball joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import validate
from ..pose import Pose, unit_quaternion
from .base import Array, Joint
from .constraints import Constraint, positions, spin
from .groups import ROTATION, Group

__all__ = ["Spherical"]


def _quaternion_of(rotation_vector: Array) -> Array:
    half = 0.5 * float(np.linalg.norm(rotation_vector))
    return np.concatenate([[np.cos(half)], 0.5 * np.sinc(half / np.pi) * rotation_vector])


@dataclass(frozen=True, repr=False)
class Spherical(Joint):
    """Ball joint: q is a unit quaternion (w, x, y, z), v the angular velocity in the child frame [rad/s].

    Parameters
    ----------
    stiffness, damping, rest
        See `Joint`. `rest` is stored as a unit quaternion.

    Examples
    --------
    >>> import pliant as pl
    >>> ball = pl.Spherical()
    >>> ball.nv, ball.nq  # angular velocity, quaternion
    (3, 4)
    """

    group: ClassVar[Group | None] = ROTATION

    def _read_rest(self, label: str) -> Array:
        if validate.dimensions(self.rest) == (3,):
            return _quaternion_of(validate.vector(label, self.rest, (3,)))  # type: ignore[arg-type]
        if isinstance(self.rest, Pose) or validate.dimensions(self.rest) != (4,):
            raise ValueError(
                f"{label} = {self.rest!r} is not allowed: give a unit quaternion (w, x, y, z) or a rotation "
                "vector of three angles (rad)."
            )
        return unit_quaternion(label, self.rest)  # type: ignore[arg-type]

    def constraints(self) -> list[Constraint]:
        """All of the position."""
        return positions()

    def coordinates(self) -> list[Constraint]:
        """The angular velocities about the axes of what it carries."""
        return [spin(axis, name) for axis, name in zip(np.eye(3), self.dof_names)]
