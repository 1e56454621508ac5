"""Triangle meshes of shapes and the skins of rods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..model.loads import HalfSpace
from ..model.shapes import Box, Cylinder, Ellipsoid, Shape, Sphere

__all__ = ["Mesh", "Skin", "ball_mesh", "box_mesh", "cylinder_mesh", "shape_mesh", "skin"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Mesh:
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
        _places, number = np.unique(np.round(self.vertices / scale, 9), axis=0, return_inverse=True)
        faces = number.reshape(-1)[self.faces]
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        edges = edges[edges[:, 0] != edges[:, 1]]  # a triangle that shrank to a line has none on one side
        forward, count = np.unique(edges, axis=0, return_counts=True)
        backward, other = np.unique(edges[:, ::-1], axis=0, return_counts=True)
        return bool(np.array_equal(forward, backward) and np.array_equal(count, other))

    def moved(self, pose: Array) -> Mesh:
        """The mesh at a pose (4, 4)."""
        return Mesh(self.vertices @ pose[:3, :3].T + pose[:3, 3], self.faces)


@dataclass(frozen=True, eq=False)
class Skin:
    """Surface of a rod: each vertex sits at a fixed place in the section of one station.

    Attributes
    ----------
    station : ndarray (V,)
        To which station a vertex belongs.
    offset : ndarray (V, 2)
        Its coordinates (y, z) in the section [m].
    faces : ndarray (F, 3)
        Numbers of vertices, counter-clockwise seen from outside.
    """

    station: Indices
    offset: Array
    faces: Indices

    def vertices(self, poses: Array) -> Array:
        """Vertices (V, 3) for the poses (n, 4, 4) of the stations."""
        g = poses[self.station]
        return g[:, :3, 3] + np.einsum("vij,vj->vi", g[:, :3, 1:3], self.offset)

    def mesh(self, poses: Array) -> Mesh:
        """The surface for the poses (n, 4, 4) of the stations."""
        return Mesh(self.vertices(poses), self.faces)


class _Patches:
    """Collects strips between rows of points."""

    def __init__(self) -> None:
        self.rows: list[tuple[Indices, Array]] = []
        self.faces: list[Indices] = []
        self.count = 0

    def strip(self, station: Sequence[int] | Indices, outline: Array, *, closed: bool) -> None:
        """A surface through rows of points: stations (r,), places (r, m, 2); its outside is that of growing stations."""
        r, m = outline.shape[:2]
        number = self.count + np.arange(r * m).reshape(r, m)
        right = np.roll(number, -1, axis=1) if closed else number[:, 1:]
        left = number if closed else number[:, :-1]
        a, b, c, d = left[:-1].ravel(), right[:-1].ravel(), right[1:].ravel(), left[1:].ravel()
        self.faces += [np.stack([a, b, d], axis=-1), np.stack([b, c, d], axis=-1)]
        self.rows.append((np.repeat(np.asarray(station), m), outline.reshape(-1, 2)))
        self.count += r * m

    def cap(self, station: int, outline: Array, *, forward: bool) -> None:
        """A flat end over an outline (m, 2)."""
        m = len(outline)
        k = self.count + np.arange(m)
        centre = np.full(m, self.count + m)
        after = np.roll(k, -1)
        self.faces.append(np.stack([centre, k, after] if forward else [centre, after, k], axis=-1))
        self.rows.append((np.full(m + 1, station), np.vstack([outline, outline.mean(axis=0)])))
        self.count += m + 1

    def done(self) -> Skin:
        return Skin(
            np.concatenate([row[0] for row in self.rows]).astype(np.int64),
            np.concatenate([row[1] for row in self.rows]),
            np.concatenate(self.faces).astype(np.int64),
        )


def skin(outer: Array, inner: Array | None = None, *, jumps: Sequence[int] = (), sharp: bool = False) -> Skin:
    """Surface of a rod from the outlines of its sections.

    Parameters
    ----------
    outer : array (n, m, 2)
        Outlines (y, z) at n stations, counter-clockwise seen from the tip.
    inner : array (n, m, 2), optional
        Outlines of the hole of a tube.
    jumps : sequence of int
        Stations k where the section jumps to that of k + 1, at the same place.
    sharp : bool
        Whether the points of the outlines are edges.
    """
    n, m = outer.shape[:2]
    patches = _Patches()
    ends = [0, *(k + 1 for k in jumps), n]
    columns = [[k, (k + 1) % m] for k in range(m)] if sharp else [list(range(m))]
    for ring, order in ((outer, 1), (inner, -1)):
        if ring is None:
            continue
        for column in columns:
            for first, last in pairwise(ends):
                rows = np.arange(first, last)[::order]
                if len(rows) > 1:
                    patches.strip(rows, ring[rows][:, column], closed=not sharp)
            for k in jumps:
                rows = np.array([k, k + 1])[::order]
                patches.strip(rows, ring[rows][:, column], closed=not sharp)
    if inner is None:
        patches.cap(0, outer[0], forward=False)
        patches.cap(n - 1, outer[-1], forward=True)
    else:
        patches.strip([0, 0], np.stack([inner[0], outer[0]]), closed=True)
        patches.strip([n - 1, n - 1], np.stack([outer[-1], inner[-1]]), closed=True)
    return patches.done()


def _circle(n: int) -> Array:
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _along(direction: str, mesh: Mesh) -> Mesh:
    """A mesh along x, turned so that it runs along another axis."""
    k = "xyz".index(direction)
    return Mesh(np.roll(mesh.vertices, k, axis=1), mesh.faces)


def box_mesh(x: float, y: float, z: float) -> Mesh:
    """A cuboid with these sides [m], centred at the origin."""
    corners = 0.5 * np.array([[y, -z], [y, z], [-y, z], [-y, -z]])
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, 0, 3] = -x / 2, x / 2
    return skin(np.stack([corners, corners]), sharp=True).mesh(poses)


def cylinder_mesh(radius: float, length: float, axis: str = "x", *, n: int = 40, open_ends: bool = False) -> Mesh:
    """A cylinder [m] centred at the origin; with open ends only its wall."""
    ring = radius * _circle(n)
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, 0, 3] = -length / 2, length / 2
    if open_ends:
        wall = _Patches()
        wall.strip([0, 1], np.stack([ring, ring]), closed=True)
        return _along(axis, wall.done().mesh(poses))
    return _along(axis, skin(np.stack([ring, ring])).mesh(poses))


def ball_mesh(x: float, y: float, z: float, *, n: int = 32) -> Mesh:
    """An ellipsoid with these semi-axes [m], centred at the origin."""
    polar = np.linspace(0.0, np.pi, n // 2 + 1)
    outline = np.sin(polar)[:, None, None] * _circle(n)
    poses = np.tile(np.eye(4), (len(polar), 1, 1))
    poses[:, 0, 3] = -np.cos(polar)
    patches = _Patches()
    patches.strip(np.arange(len(polar)), outline, closed=True)
    unit = patches.done().mesh(poses)
    return Mesh(unit.vertices * [x, y, z], unit.faces)


def shape_mesh(shape: Shape, *, size: float = 1.0, inside: bool = False) -> Mesh:
    """Mesh of a shape, centred at its origin.

    Parameters
    ----------
    shape : Shape
        Box, cylinder, sphere, ellipsoid or half-space.
    size : float
        Side of the plate that stands for a half-space [m].
    inside : bool
        Whether it is a cavity: a cylinder is then drawn without its ends.
    """
    if isinstance(shape, Box):
        return box_mesh(shape.x, shape.y, shape.z)
    if isinstance(shape, Cylinder):
        return cylinder_mesh(shape.radius, shape.length, shape.axis, open_ends=inside)
    if isinstance(shape, Sphere):
        return ball_mesh(shape.radius, shape.radius, shape.radius)
    if isinstance(shape, Ellipsoid):
        return ball_mesh(shape.x, shape.y, shape.z)
    if isinstance(shape, HalfSpace):
        thickness = 0.01 * size
        plate = box_mesh(size, size, thickness)
        return Mesh(plate.vertices - [0.0, 0.0, thickness / 2], plate.faces)
    raise TypeError(f"shape = {shape!r} cannot be drawn; use a Box, Cylinder, Sphere, Ellipsoid or HalfSpace.")
