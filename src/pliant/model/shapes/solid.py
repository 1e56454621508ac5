"""Solids with a surface of triangles: what is common to meshes and hulls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from .base import Array
from .surface import Sheet, Triangles, View

__all__ = ["Polyhedron", "joined", "rows_of_three", "sharp_edges"]

Indices = NDArray[np.int64]
FLAT = 1e-9  # of the sine between two faces that are one


class Polyhedron:
    """Of a shape whose surface is `surface`, triangles with vertices that are not repeated."""

    surface: Triangles

    @cached_property
    def _encloses(self) -> bool:
        """Whether it is closed, and not flat."""
        extent = float(np.ptp(self.surface.vertices, axis=0).max())
        return self.surface.is_closed and abs(self.surface.volume) > 1e-14 * extent**3

    @cached_property
    def _moments(self) -> tuple[float, Array, Array]:
        """Volume, centre and the mean of x xᵀ about it."""
        if not self._encloses:
            raise ValueError(
                f"{self!r} is {'flat' if self.surface.is_closed else 'open'}: it encloses no volume, so it has no density and no inertia of its own. Give the body mass and inertia, or close it."
            )
        middle = self.surface.vertices.mean(axis=0)
        a, b, c = (self.surface.vertices[self.surface.faces[:, k]] - middle for k in range(3))
        volume = np.einsum("fi,fi->f", a, np.cross(b, c)) / 6.0
        total = float(volume.sum())
        centre = np.einsum("f,fi->i", volume, a + b + c) / (4.0 * total)
        # of a tetrahedron with a corner at the origin: ∫ x xᵀ = V/20 (Σ pᵢ pᵢᵀ + (Σ pᵢ)(Σ pᵢ)ᵀ)
        both = sum(np.einsum("f,fi,fj->ij", volume, p, p) for p in (a, b, c, a + b + c)) / (20.0 * total)
        return total, middle + centre, np.asarray(both - np.outer(centre, centre))

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return self._moments[0]

    @property
    def centroid(self) -> Array:
        """Centre of its volume in its own frame [m], shape (3,)."""
        return self._moments[1] if self._encloses else np.zeros(3)

    @property
    def unit_inertia(self) -> Array:
        """Rotary inertia about the centre per unit mass [m²], shape (3, 3)."""
        spread = self._moments[2]
        return np.asarray(np.trace(spread) * np.eye(3) - spread)

    def mesh(self, *, size: float = 1.0, inside: bool = False, around: int = 32) -> Triangles:
        """The triangles, each with vertices of its own."""
        faces = np.arange(3 * len(self.surface.faces)).reshape(-1, 3)
        return Triangles(self.surface.vertices[self.surface.faces].reshape(-1, 3), faces)

    def sheets(self, view: View) -> list[Sheet]:
        """The triangles."""
        return [Sheet(p[[[0, 1], [2, 2]]]) for p in self.surface.vertices[self.surface.faces]]

    def _same(self, other: Any, names: Sequence[str]) -> bool:
        return type(other) is type(self) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    @property
    def _extent(self) -> str:
        return " × ".join(f"{side:.4g}" for side in np.ptp(self.surface.vertices, axis=0))


def rows_of_three(name: str, value: Any, hint: str) -> Array:
    """A new array (n, 3) of finite numbers, none of them beyond any size; error otherwise."""
    rows = validate.reals(name, value, hint=hint)
    if rows.ndim != 2 or rows.shape[1] != 3 or not len(rows):
        raise ValueError(f"{name} has shape {rows.shape}, but must have (n, 3). {hint}")
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"{name} has {rows[~np.isfinite(rows)][0]}, but must be finite. {hint}")
    if np.abs(rows).max() > validate.LARGEST:
        raise ValueError(
            f"{name} has {rows.flat[np.abs(rows).argmax()]:g}, but no more than {validate.LARGEST:g} is possible. {hint}"
        )
    return rows


def joined(vertices: Array, faces: Indices) -> Triangles:
    """Triangles with vertices at one place as one, without those that are only a line, and without vertices that none has."""
    low = vertices.min(axis=0)
    scale = max(float(np.ptp(vertices, axis=0).max()), 1e-300)
    _places, first, number = np.unique(
        np.round((vertices - low) / scale, 9), axis=0, return_index=True, return_inverse=True
    )
    points, faces = vertices[first], number.reshape(-1)[faces]
    a, b, c = (points[faces[:, k]] for k in range(3))
    faces = faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-12 * scale**2]
    used, renamed = np.unique(faces, return_inverse=True)
    return Triangles(points[used], renamed.reshape(-1, 3))


def sharp_edges(surface: Triangles) -> tuple[Indices, NDArray[np.float64]]:
    """Edges (m, 2) between two faces that are not in one plane, and how convex they are (m,): the sine of the angle between the faces, negative for a notch."""
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    edges, convex = [], []
    seen: dict[tuple[int, int], int] = {}
    for f, face in enumerate(surface.faces.tolist()):
        for k in range(3):
            i, j = face[k], face[(k + 1) % 3]
            g = seen.pop((j, i), None)
            if g is None:
                seen[i, j] = f
                continue
            along = surface.vertices[j] - surface.vertices[i]
            turn = float(np.cross(normal[f], normal[g]) @ along / np.linalg.norm(along))
            if abs(turn) > FLAT or normal[f] @ normal[g] < 0.0:
                edges.append((i, j))
                convex.append(turn)
    return np.array(edges, dtype=np.int64).reshape(-1, 2), np.array(convex)
