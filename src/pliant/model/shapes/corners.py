"""What of a body touches other bodies: corners and edges, rounded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUNDING", "Corners"]

ROUNDING = 0.05
"""Radius of sharp corners and edges between bodies, as a share of the least thickness: without it normals would jump where faces meet."""


def _no_edges() -> NDArray[np.int64]:
    return np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Corners:
    """Spheres and capsules within a body that reach its surface, in the frame of the shape.

    Attributes
    ----------
    points : ndarray (n, 3)
        Centres of the spheres [m].
    radius : ndarray (n,)
        Their radii [m].
    edges : ndarray (m, 2)
        Numbers of the two spheres that a capsule joins, with the radius of the first; capsules touch capsules of other bodies, side on side.
    spheres : int or None
        How many of the points are spheres that touch; the others are ends of capsules alone. None: all.
    whole : bool
        Whether the spheres are all of the body, so that corners of another need not be looked for.
    """

    points: NDArray[np.float64]
    radius: NDArray[np.float64]
    edges: NDArray[np.int64] = field(default_factory=_no_edges)
    spheres: int | None = None
    whole: bool = False
