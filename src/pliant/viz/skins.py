"""Skins of rods: triangles whose vertices move with the stations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..model.shapes.surface import Triangles, strip_faces

__all__ = ["Skin", "skin"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


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

    def mesh(self, poses: Array) -> Triangles:
        """The surface for the poses (n, 4, 4) of the stations."""
        return Triangles(self.vertices(poses), self.faces)


class _Patches:
    """Collects strips between rows of points."""

    def __init__(self) -> None:
        self.rows: list[tuple[Indices, Array]] = []
        self.faces: list[Indices] = []
        self.count = 0

    def strip(self, station: Sequence[int] | Indices, outline: Array, *, closed: bool) -> None:
        """A surface through rows of points: stations (r,), places (r, m, 2); its outside is that of growing stations."""
        r, m = outline.shape[:2]
        self.faces.append(self.count + strip_faces(r, m, closed=closed))
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
