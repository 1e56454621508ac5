"""Convex hull of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Shape
from .corners import ROUNDING, Corners
from .distance import Distance
from .solid import Polyhedron, joined, rows_of_three, sharp_edges
from .surface import Triangles

__all__ = ["Hull"]


@dataclass(frozen=True, eq=False, repr=False)
class Hull(Polyhedron, Shape):
    """The convex hull of points.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        At least four, not all in one plane [m]. Of a body they are in its own frame, unless `com` says where the centre is.

    Examples
    --------
    >>> import pliant as pl
    >>> wedge = pl.Hull([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0], [0.2, 0.1, 0], [0, 0, 0.1], [0, 0.1, 0.1]])
    >>> print(f"{wedge.volume * 1e3:.2f} l", wedge.centroid.round(4))
    1.00 l [0.0667 0.05   0.0333]
    """

    points: Annotated[ArrayLike, (-1, 3)]

    def __post_init__(self) -> None:
        """Check the points."""
        hint = "Give at least four points that are not in one plane, in m."
        points = rows_of_three("Hull.points", self.points, hint)
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        if len(points) < 4 or spread[2] <= 1e-9 * spread[0]:
            raise ValueError(f"Hull.points are all in one plane, which has no volume. {hint}")
        points.flags.writeable = False
        object.__setattr__(self, "points", points)

    def __repr__(self) -> str:
        """Its number of corners and its extent."""
        return f"Hull({len(self.surface.vertices)} corners, {self._extent} m)"

    def __eq__(self, other: Any) -> bool:
        """Whether the points are the same."""
        return self._same(other, ("points",))

    def __hash__(self) -> int:
        """Of the points."""
        return hash(np.asarray(self.points).tobytes())

    @cached_property
    def surface(self) -> Triangles:  # type: ignore[override]
        """Its triangles, with corners that are not repeated."""
        return hull_surface(np.asarray(self.points))

    def contact_points(self) -> list[tuple[Array, float]]:
        """The corners."""
        return [(p, 0.0) for p in self.surface.vertices]

    def corners(self) -> Corners:
        """Corners and edges, rounded."""
        return self._corners

    @cached_property
    def _corners(self) -> Corners:
        return hull_corners(self.surface)

    def distance(self) -> Distance:
        """A mesh."""
        return Distance("mesh", triangles=self.surface, thin=hull_width(self.surface))


def hull_surface(points: Array) -> Triangles:
    """The triangles of a convex hull, outside counter-clockwise."""
    from scipy.spatial import ConvexHull  # here, since it takes a while to import

    hull = ConvexHull(points)
    faces = hull.simplices.copy()
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("fi,fi->f", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return joined(points, faces.astype(np.int64))


def _planes(surface: Triangles) -> Array:
    """Outward normals and offsets (F, 4): n·x + d ≤ 0 inside."""
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return np.column_stack([normal, -np.einsum("fi,fi->f", normal, a)])


def hull_width(surface: Triangles) -> float:
    """The least distance of a face from the corner furthest from it [m]."""
    planes = _planes(surface)
    return float((-(surface.vertices @ planes[:, :3].T + planes[:, 3]).min(axis=0)).min())


def hull_corners(surface: Triangles) -> Corners:
    """Corners and edges of the hull that lies inside of a convex surface by the rounding; spheres about them touch the faces."""
    from scipy.spatial import HalfspaceIntersection

    planes = _planes(surface)
    r = ROUNDING * hull_width(surface)
    planes[:, 3] += r
    centre = surface.vertices.mean(axis=0)
    within = (planes[:, :3] @ centre + planes[:, 3]).max() < 0.0
    if not within:  # a needle, whose corners lie to one side
        return Corners(surface.vertices, np.zeros(len(surface.vertices)))
    inner = hull_surface(HalfspaceIntersection(np.unique(planes.round(12), axis=0), centre).intersections)
    edges, _convex = sharp_edges(inner)
    # where more than three faces meet, the inner hull has several corners close together; the edges between them are covered by these
    long = np.linalg.norm(inner.vertices[edges[:, 0]] - inner.vertices[edges[:, 1]], axis=1) > r
    edges = edges[long]
    return Corners(inner.vertices, np.full(len(inner.vertices), r), edges)
