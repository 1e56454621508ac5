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
    "repeating",
    "rolling",
    "rotation_vector",
    "rotations",
    "skating",
    "spin",
    "swing",
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
    "swing": "rad",
    "twist": "rad",
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


def turning(axis: Array, what: str, pitch: float = 0.0) -> Constraint:
    """The angle about an axis that keeps its direction, between ± half a turn; with a pitch [m] the displacement along it tells how many whole turns there are."""
    along = axis * (2 * np.pi / pitch) if pitch else None
    return "twist", _row(along, axis, slope=1.0 if pitch else 0.0), what


def repeating(row: Constraint) -> bool:
    """Whether it is an angle that is the same after a whole turn."""
    kind, data, _what = row
    return kind == "turn" or (kind == "twist" and data[16] == 0.0)


def direction(axis: Array, carried: Array, what: str) -> Constraint:
    """The angle about an axis of the first frame by which an axis of the second has turned."""
    first = _normal_part(carried, axis)
    return "turn", _row(None, first, carried, np.cross(axis, first), carried), what


def counter_direction(axis: Array, fixed: Array, what: str) -> Constraint:
    """The angle about an axis of the second frame by which it has turned against an axis of the first."""
    first = _normal_part(fixed, axis)
    return "turn", _row(None, fixed, first, fixed, -np.cross(axis, first)), what


def thread(axis: Array, pitch: float) -> Constraint:
    """The displacement along an axis is `pitch` [m] for each turn about it; from the nearest groove."""
    return "thread", _row(axis, axis, slope=-pitch / (2 * np.pi)), "lead"


def rotation_vector(part: Array, what: str, rest: Array | None = None) -> Constraint:
    """A component of the rotation vector from `rest` (3, 3), or the axes of the first frame, to the second."""
    x, y, z = np.eye(3) if rest is None else rest.T
    return "log", _row(x, y, part, z), what


def swing(axis: Array, away: Array, what: str) -> Constraint:
    """The angle by which an axis of the second frame has swung from where it is in the first, the part of it towards the direction `away` normal to it."""
    return "swing", _row(_normals(axis)[0], away, axis, axis), what


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


def rotations(axes: str = "zxy") -> list[Constraint]:
    """No turning about some axes of the first frame.

    All three are the rotation vector back to the first frame; two say that the third axis is parallel.
    """
    unit = dict(zip("xyz", np.eye(3)))
    if len(axes) == 2:
        (third,) = set("xyz") - set(axes)
        return [swing(unit[third], np.cross(unit[third], unit[x]), f"rotation {x}") for x in axes]
    return [rotation_vector(-unit[x], f"rotation {x}") for x in axes]


def tilts(axis: Array) -> list[Constraint]:
    """An axis is parallel in both frames, and points the same way."""
    first, second = _normals(axis)
    return [swing(axis, first, "tilt 1"), swing(axis, second, "tilt 2")]


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
