"""Surfaces of shapes: sheets of points, and the triangles between them.

A sheet is rows of points. Its outside is where (next point of the row) × (next row) points to, so that a tube along x has rows that
run counter-clockwise seen from its far end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Sheet",
    "Triangles",
    "View",
    "ball_sheet",
    "box_sheets",
    "mesh_of",
    "revolved",
    "strip_faces",
    "tube_sheets",
]


Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles in the axes of what they belong to.

    Attributes
    ----------
    vertices : ndarray (V, 3)
        [m]. Vertices are repeated along sharp edges, so that averaged normals look right.
    faces : ndarray (F, 3)
        Numbers of vertices, counter-clockwise seen from outside.
    """

    vertices: Array
    faces: Indices

    @property
    def volume(self) -> float:
        """Enclosed volume [m³], if the mesh is closed."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6.0)

    @property
    def is_closed(self) -> bool:
        """Whether every edge has a triangle on both sides, taking vertices at one place as one."""
        scale = max(float(np.ptp(self.vertices, axis=0).max()), 1e-300)
        low = self.vertices.min(axis=0)
        _places, number = np.unique(np.round((self.vertices - low) / scale, 9), axis=0, return_inverse=True)
        faces = number.reshape(-1)[self.faces]
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        edges = edges[edges[:, 0] != edges[:, 1]]  # a triangle that shrank to a line has none on one side
        forward, count = np.unique(edges, axis=0, return_counts=True)
        backward, other = np.unique(edges[:, ::-1], axis=0, return_counts=True)
        return bool(np.array_equal(forward, backward) and np.array_equal(count, other))

    def moved(self, pose: Array) -> Triangles:
        """The mesh at a pose (4, 4)."""
        return Triangles(self.vertices @ pose[:3, :3].T + pose[:3, 3], self.faces)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A smooth part of a surface; edges are sharp where sheets meet.

    Attributes
    ----------
    points : ndarray (r, m, 3)
        Rows of points [m].
    closed : bool
        Whether the last point of a row is joined to the first.
    """

    points: Array
    closed: bool = False

    @property
    def quadrilaterals(self) -> Array:
        """Corners (n, 4, 3) of the faces between neighbouring rows."""
        p = np.concatenate([self.points, self.points[:, :1]], axis=1) if self.closed else self.points
        return np.stack([p[:-1, :-1], p[:-1, 1:], p[1:, 1:], p[1:, :-1]], axis=2).reshape(-1, 4, 3)


@dataclass(frozen=True, eq=False)
class View:
    """What of a shape is drawn, and how finely.

    Attributes
    ----------
    around : int
        Points of a circle.
    along : int
        Pieces of a straight length.
    centre : ndarray (3,)
        Of long and endless shapes only what is near this point of their frame is drawn [m],
    reach : float
        up to this distance [m].
    inside : bool
        Whether the shape is a cavity.
    """

    around: int = 32
    along: int = 1
    centre: Array | Sequence[float] = (0.0, 0.0, 0.0)
    reach: float = np.inf
    inside: bool = False


def strip_faces(r: int, m: int, *, closed: bool) -> Indices:
    """Triangles (F, 3) between r rows of m points each, numbered row after row."""
    number = np.arange(r * m).reshape(r, m)
    right = np.roll(number, -1, axis=1) if closed else number[:, 1:]
    left = number if closed else number[:, :-1]
    a, b, c, d = left[:-1].ravel(), right[:-1].ravel(), right[1:].ravel(), left[1:].ravel()
    return np.concatenate([np.stack([a, b, d], axis=-1), np.stack([b, c, d], axis=-1)]).astype(np.int64)


def mesh_of(sheets: Sequence[Sheet]) -> Triangles:
    """Triangles of several sheets."""
    first = np.cumsum([0, *(sheet.points.size // 3 for sheet in sheets[:-1])])
    faces = [strip_faces(*s.points.shape[:2], closed=s.closed) + at for s, at in zip(sheets, first)]
    return Triangles(np.concatenate([s.points.reshape(-1, 3) for s in sheets]), np.concatenate(faces))


def revolved(along: ArrayLike, radius: ArrayLike, axis: str, view: View) -> Sheet:
    """A surface of revolution about an axis: places along it (r,), increasing, and radii there (r,) [m]."""
    s, r = np.asarray(along, dtype=np.float64)[:, None], np.asarray(radius, dtype=np.float64)[:, None]
    angle = 2 * np.pi * np.arange(view.around) / view.around
    points = np.stack([s + 0.0 * angle, r * np.cos(angle), r * np.sin(angle)], axis=-1)
    return Sheet(np.roll(points, "xyz".index(axis), axis=2), closed=True)


def box_sheets(x: float, y: float, z: float) -> list[Sheet]:
    """The six sides of a cuboid with these edges [m]."""
    half = 0.5 * np.array([x, y, z])
    square = np.array([[[-1, -1], [1, -1]], [[-1, 1], [1, 1]]])  # rows along the second axis
    out = []
    for k in range(3):
        for sign in (1, -1):
            points = np.empty((2, 2, 3))
            points[..., k] = sign
            points[..., (k + 1) % 3], points[..., (k + 2) % 3] = square[..., 0], square[..., 1]
            out.append(Sheet(points[:, ::sign] * half))
    return out


def tube_sheets(radius: float, ends: tuple[float, float], axis: str, view: View, *, caps: bool = True) -> list[Sheet]:
    """The wall of a cylinder [m] along an axis, between two ends [m], and its flat ends."""
    along = np.linspace(*ends, view.along + 1)
    out = [revolved(along, np.full(len(along), radius), axis, view)]
    if caps:
        out += [revolved([s, s], r, axis, view) for s, r in zip(ends, ([0.0, radius], [radius, 0.0]))]
    return out


def ball_sheet(half: Sequence[float], view: View) -> Sheet:
    """An ellipsoid with these semi-axes [m]."""
    polar = np.linspace(0.0, np.pi, view.around // 2 + 1)
    return Sheet(revolved(-np.cos(polar), np.sin(polar), "x", view).points * np.asarray(half), closed=True)
