"""Solid with a surface of triangles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import validate
from .base import Array, Shape
from .corners import Corners
from .distance import Distance
from .hull import hull_corners, hull_surface, hull_width
from .mesh_files import read_triangles
from .solid import Polyhedron, joined, rows_of_three, sharp_edges
from .surface import Triangles

__all__ = ["Mesh"]


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Polyhedron, Shape):
    """A solid with a surface of triangles, or an open surface with a thickness.

    Parameters
    ----------
    vertices : array_like, shape (V, 3)
        [m]. Of a body they are in its own frame, unless `com` says where the centre is.
    faces : array_like of int, shape (F, 3)
        Numbers of vertices, counter-clockwise seen from outside; all are turned round if a closed mesh is inside out. Vertices at one place (within 1e-9 of
        the extent) are one, triangles that are only a line are left out.
    rounding : float
        By which the surface lies outside of the triangles [m]: an open mesh that is touched is a sheet of twice this thickness, which it must have.

    Examples
    --------
    >>> import pliant as pl
    >>> corner = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
    >>> pl.Mesh(corner, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    Mesh(4 triangles, 0.1 × 0.1 × 0.1 m)
    """

    vertices: Annotated[ArrayLike, (-1, 3)]
    faces: Annotated[ArrayLike, (-1, 3)]
    rounding: float = 0.0

    units: ClassVar[dict[str, str]] = {"rounding": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        vertices = rows_of_three("Mesh.vertices", self.vertices, "Give one row (x, y, z) in m for each vertex.")
        given = rows_of_three("Mesh.faces", self.faces, "Give one row of three numbers of vertices for each triangle.")
        if np.any(np.round(given) != given) or given.min() < 0 or given.max() >= len(vertices):
            raise ValueError(
                f"Mesh.faces has numbers from {given.min():g} to {given.max():g}, but must have whole ones from 0 to {len(vertices) - 1}, "
                "the numbers of the vertices."
            )
        faces = given.astype(np.int64)
        rounding = validate.non_negative("Mesh.rounding", self.rounding, unit="m")
        for array in (vertices, faces):
            array.flags.writeable = False
        for name, value in (("vertices", vertices), ("faces", faces), ("rounding", rounding)):
            object.__setattr__(self, name, value)
        if not len(joined(vertices, faces).faces):
            raise ValueError(
                "Mesh.faces: every triangle is only a line or a point; is the unit of the vertices metres?"
            )

    @classmethod
    def from_file(cls, path: str | Path, *, scale: float = 1.0, rounding: float = 0.0) -> Mesh:
        """Read an STL (text or binary), OBJ or glTF (.glb, .gltf) file, or with trimesh (``pip install 'pliant[mesh]'``) .ply, .dae, .off or .3mf.

        A closed mesh has volume and inertia: ``robot.add_body("hand", shape=pl.Mesh.from_file("hand.stl", scale=1e-3), density=1200)``.

        Parameters
        ----------
        path : str or Path
        scale : float
            Metres per unit of the file; 1e-3 for millimetres.
        rounding : float
            See `Mesh`.
        """
        vertices, faces = read_triangles(Path(path))
        return cls(validate.positive("scale", scale) * vertices, faces, rounding)

    def __repr__(self) -> str:
        """Its number of triangles and its extent."""
        shell = f", rounding {self.rounding:g} m" if self.rounding else ""
        return f"Mesh({len(self.surface.faces)} triangles, {self._extent} m{shell})"

    def __eq__(self, other: Any) -> bool:
        """Whether vertices, faces and rounding are the same."""
        return self._same(other, ("vertices", "faces", "rounding"))

    def __hash__(self) -> int:
        """Of the vertices and faces."""
        return hash((np.asarray(self.vertices).tobytes(), np.asarray(self.faces).tobytes(), self.rounding))

    @cached_property
    def surface(self) -> Triangles:  # type: ignore[override]
        """Its triangles, with vertices that are not repeated and the outside outside."""
        own = joined(np.asarray(self.vertices), np.asarray(self.faces))
        return Triangles(own.vertices, own.faces[:, ::-1]) if own.is_closed and own.volume < 0.0 else own

    @cached_property
    def is_convex(self) -> bool:
        """Whether it is closed and no edge is a notch."""
        edges, convex = sharp_edges(self.surface)
        return self.surface.is_closed and len(edges) > 0 and bool(np.all(convex >= 0.0))

    def contact_points(self) -> list[tuple[Array, float]]:
        """The vertices of its convex hull."""
        return [(p, self.rounding) for p in self._outer]

    @cached_property
    def _outer(self) -> Array:
        points = self.surface.vertices
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        return points if spread[2] <= 1e-9 * spread[0] else hull_surface(points).vertices

    def corners(self) -> Corners:
        """Corners and edges like those of a hull if it is convex; otherwise all vertices at edges that are no notches, without edges."""
        return self._corners

    @cached_property
    def _corners(self) -> Corners:
        if self.is_convex and self.rounding == 0.0:
            return hull_corners(self.surface)
        edges, convex = sharp_edges(self.surface)
        out = np.unique(edges[convex > 0.0]) if self.surface.is_closed else np.arange(len(self.surface.vertices))
        return Corners(self.surface.vertices[out], np.full(len(out), self.rounding))

    def distance(self) -> Distance:
        """A mesh."""
        if not self.surface.is_closed and self.rounding == 0.0:
            raise ValueError(
                f"{self!r} is open: it has no inside, so it cannot be touched; give it a rounding > 0 (half of its thickness) or close it."
            )
        thin = hull_width(self.surface) if self.is_convex else 0.0 if not self.surface.is_closed else float("inf")
        return Distance("mesh", rounding=self.rounding, triangles=self.surface, thin=thin)
