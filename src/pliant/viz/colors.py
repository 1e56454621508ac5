"""Colours of the viewers, as (red, green, blue) from 0 to 255."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AXES",
    "BODY",
    "CABLES",
    "CONTACT",
    "CURRENT",
    "DIPOLE",
    "FIELD",
    "FORCE",
    "FRICTION",
    "GRAVITY",
    "LOADS",
    "LOOP",
    "MOMENT",
    "OBSTACLE",
    "RODS",
    "SCALE",
    "SLACK",
    "TRAIL",
    "Color",
    "scale_colors",
]

Color = tuple[int, int, int]

RODS: tuple[Color, ...] = (
    (86, 156, 196),
    (226, 149, 90),
    (112, 178, 130),
    (190, 130, 188),
    (214, 190, 92),
    (120, 136, 206),
)
BODY: Color = (112, 120, 134)
OBSTACLE: Color = (176, 168, 156)
LOOP: Color = (240, 196, 70)
SLACK: Color = (120, 124, 132)
CABLES: dict[str, Color] = {"tendon": (224, 48, 44), "push rod": (150, 84, 190), "chamber": (58, 150, 150)}
FORCE: Color = (232, 132, 20)
MOMENT: Color = (150, 84, 190)
FIELD: Color = (40, 120, 210)
GRAVITY: Color = (112, 118, 130)
CONTACT: Color = (220, 30, 60)
FRICTION: Color = (245, 160, 60)
DIPOLE: Color = (200, 60, 160)
CURRENT: Color = (60, 170, 200)
TRAIL: Color = (60, 66, 78)
LOADS: dict[str, Color] = {"force": FORCE, "moment": MOMENT, "field": FIELD, "dipole": DIPOLE, "current": CURRENT}
"""Arrows, by kind."""
AXES: tuple[Color, ...] = ((214, 64, 58), (74, 160, 78), (58, 108, 204))
SCALE: tuple[Color, ...] = (
    (42, 60, 140),
    (38, 120, 170),
    (70, 172, 140),
    (176, 204, 84),
    (248, 196, 62),
    (236, 116, 50),
    (178, 28, 52),
)


def scale_colors(values: ArrayLike, low: float, high: float) -> NDArray[np.uint8]:
    """Colours (..., 3) of values between `low` and `high`, along `SCALE`."""
    share = np.clip((np.asarray(values, dtype=float) - low) / max(high - low, 1e-300), 0.0, 1.0)
    at = np.linspace(0.0, 1.0, len(SCALE))
    table = np.array(SCALE, dtype=float)
    return np.stack([np.interp(share, at, table[:, c]) for c in range(3)], axis=-1).round().astype(np.uint8)
