"""Six degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import validate
from ..pose import Pose, unit_quaternion
from .base import Array, Joint
from .constraints import Constraint
from .groups import POSE, Group

__all__ = ["Free"]


@dataclass(frozen=True, repr=False)
class Free(Joint):
    """No constraint: q is a unit quaternion (w, x, y, z) and a position [m], v the body twist [rad/s, m/s].

    Parameters
    ----------
    stiffness, damping, rest
        See `Joint`. `rest` is stored as quaternion and position, (7,). Springs make this an elastic mount.

    Examples
    --------
    >>> import pliant as pl
    >>> base = pl.Free()
    >>> base.nv, base.nq  # body twist; quaternion and position
    (6, 7)
    """

    group: ClassVar[Group | None] = POSE

    def _read_rest(self, label: str) -> Array:
        if isinstance(self.rest, Pose):
            return np.concatenate([self.rest.quaternion, self.rest.translation])
        hint = "Give a quaternion (w, x, y, z) followed by a position (m), or a Pose."
        rest = validate.vector(label, self.rest, (7,), hint=hint)  # type: ignore[arg-type]
        return np.concatenate([unit_quaternion(f"{label}[:4]", rest[:4]), rest[4:]])

    def constraints(self) -> list[Constraint]:
        """Nothing."""
        return []
