"""What a joint forbids when it closes a loop: scalar constraints between two frames.

A constraint is its kind, ten numbers that the kernel reads (see `kernels.loads.loops`), and what it fixes. Where the joint is at
zero the frames coincide, so axes are the same in both.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNITS", "Constraint", "angle", "offsets", "point", "positions", "rotations", "thread", "tilts"]

Array: TypeAlias = NDArray[np.float64]
Constraint: TypeAlias = tuple[str, Array, str]
"""Kind ("point", "angle", "helix"), ten numbers, what it fixes."""
UNITS = {"point": "m", "angle": "rad", "helix": "m"}
"""Units of the values of constraints by their kind; their multipliers are the forces that go with them."""


def point(axis: Array, what: str) -> Constraint:
    """No distance of the origins along an axis of the first frame."""
    return "point", np.concatenate([axis, np.zeros(7)]), what


def angle(first: Array, second: Array, what: str) -> Constraint:
    """The angle between an axis of the first frame and one of the second stays as it is at zero."""
    return "angle", np.concatenate([first, second, np.zeros(3), [first @ second]]), what


def thread(axis: Array, pitch: float) -> Constraint:
    """The displacement along an axis is `pitch` [m] for each turn about it."""
    return "helix", np.concatenate([axis, *_normals(axis), [pitch / (2 * np.pi)]]), "lead"


def positions() -> list[Constraint]:
    """The origins coincide."""
    return [point(axis, f"position {name}") for axis, name in zip(np.eye(3), "xyz")]


def rotations() -> list[Constraint]:
    """The axes are parallel."""
    x, y, z = np.eye(3)
    return [angle(x, y, "rotation z"), angle(y, z, "rotation x"), angle(z, x, "rotation y")]


def tilts(axis: Array) -> list[Constraint]:
    """An axis is parallel in both frames."""
    first, second = _normals(axis)
    return [angle(first, axis, "tilt 1"), angle(second, axis, "tilt 2")]


def offsets(axis: Array) -> list[Constraint]:
    """The origin stays on an axis."""
    first, second = _normals(axis)
    return [point(first, "offset 1"), point(second, "offset 2")]


def _normals(axis: Array) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed frame with `axis`."""
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)
