"""What a joint forbids when it closes a loop, and its own coordinates there: scalar functions of where one frame is, seen from another.

Each is its kind, the numbers that the kernel reads (see `kernels.loads.rows`), and what it is. Where the joint is at zero the
frames coincide, so axes are the same in both.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RATES",
    "UNITS",
    "Constraint",
    "angle",
    "counter_direction",
    "direction",
    "distance",
    "height",
    "offsets",
    "point",
    "positions",
    "rolling",
    "rotation_vector",
    "rotations",
    "skating",
    "spin",
    "thread",
    "tilts",
    "turning",
]

Array: TypeAlias = NDArray[np.float64]
Constraint: TypeAlias = tuple[str, Array, str]
"""Kind, numbers, what it fixes or measures."""
UNITS = {
    "point": "m",
    "angle": "rad",
    "turn": "rad",
    "thread": "m",
    "distance": "m",
    "height": "m",
    "roll": "m",
    "skate": "m",
    "spin": "rad",
    "log": "rad",
    "coupling": "–",
}
"""Units of the values of constraints by their kind (of rates: without the 1/s); their multipliers are the forces that go with them."""
RATES = ("roll", "skate", "spin")
"""Kinds that are rates without a value."""


def _row(
    c: Array | None = None,
    a1: Array | None = None,
    b1: Array | None = None,
    a2: Array | None = None,
    b2: Array | None = None,
    constant: float = 0.0,
    slope: float = 0.0,
) -> Array:
    """The numbers of a row: five vectors and two numbers."""
    vectors = [np.zeros(3) if x is None else np.asarray(x, dtype=float) for x in (c, a1, b1, a2, b2)]
    return np.concatenate([*vectors, [constant, slope]])


def point(axis: Array, what: str) -> Constraint:
    """The distance of the origins along an axis of the first frame."""
    return "point", _row(axis), what


def angle(first: Array, second: Array, what: str) -> Constraint:
    """The angle between an axis of the first frame and one of the second, from what it is at zero."""
    return "angle", _row(None, first, second, constant=float(first @ second)), what


def turning(axis: Array, what: str) -> Constraint:
    """The angle about an axis that keeps its direction."""
    first, second = _normals(axis)
    return "turn", _row(None, first, first, second, first, slope=1.0), what


def direction(axis: Array, carried: Array, what: str) -> Constraint:
    """The angle about an axis of the first frame by which an axis of the second has turned."""
    first = _normal_part(carried, axis)
    return "turn", _row(None, first, carried, np.cross(axis, first), carried, slope=1.0), what


def counter_direction(axis: Array, fixed: Array, what: str) -> Constraint:
    """The angle about an axis of the second frame by which it has turned against an axis of the first."""
    first = _normal_part(fixed, axis)
    return "turn", _row(None, fixed, first, fixed, -np.cross(axis, first), slope=1.0), what


def thread(axis: Array, pitch: float) -> Constraint:
    """The displacement along an axis is `pitch` [m] for each turn about it."""
    first, second = _normals(axis)
    return "thread", _row(axis, first, first, second, first, slope=-pitch / (2 * np.pi)), "lead"


def rotation_vector(part: int, what: str, rest: Array | None = None) -> Constraint:
    """A component of the rotation vector from `rest` (3, 3), or the axes of the first frame, to the second."""
    x, y, z = np.eye(3) if rest is None else rest.T
    return "log", _row(x, y, None, z, slope=float(part)), what


def spin(axis: Array, what: str) -> Constraint:
    """The angular velocity about an axis of the second frame; a rate."""
    return "spin", _row(None, None, axis), what


def distance(length: float) -> Constraint:
    """The origins are `length` [m] apart."""
    return "distance", _row(constant=length), "distance"


def height(normal: Array, radius: float, axis: Array | None) -> Constraint:
    """A ball, or a wheel about an axis of the second frame, touches the plane of the first."""
    if axis is None:
        return "point", _row(normal, constant=radius), "height"
    return "height", _row(None, normal, axis, constant=radius), "height"


def rolling(along: Array, normal: Array, radius: float, axis: Array | None, what: str) -> Constraint:
    """What touches the plane of the first frame does not slip along a direction; a rate."""
    return "roll", _row(along, normal, axis, constant=radius), what


def skating(axis: Array) -> Constraint:
    """The origin does not move along an axis of the second frame; a rate."""
    return "skate", _row(None, None, axis), "slip"


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


def _normal_part(x: Array, axis: Array) -> Array:
    """The direction of x normal to an axis."""
    normal = x - (x @ axis) * axis
    return np.asarray(normal / np.linalg.norm(normal))
