"""Polygons and lines of a robot in any configuration, for drawing with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.links import Body, Rod
from ..model.routing import Along
from ..model.shapes import Shape, View
from ..system import System

__all__ = ["Scene"]

Array = NDArray[np.float64]
_THIN = 0.004  # of the size of the robot: a rod that is thinner is drawn as a line too
_NOTHING = np.zeros((0, 4, 3))


class Scene:
    """Polygons and lines of a robot, for any configuration."""

    def __init__(self, system: System, *, tendons: bool = True, frames: bool | Sequence[str] = False) -> None:
        self.system = system
        self.robot = system.robot
        rods = [link for link in self.robot.links if link.is_rod]
        self.X = np.linspace(0.0, 1.0, int(np.clip(160 / max(len(rods), 1), 8, 48)))
        self.around = 16 if len(rods) < 6 else 8
        self.tendons = tendons
        self.frames = list(self.robot.frames) if frames is True else list(frames or ())
        self.size = self._size()

    def _size(self) -> float:
        points = [self.system.pose(link.name, self.system.neutral())[:3, 3] for link in self.robot.links]
        span = float(np.ptp(points, axis=0).max()) if points else 0.0
        lengths = [link.content.length for link in self.robot.links if isinstance(link.content, Rod)]
        return max(span, *lengths, 1e-9) if lengths else max(span, 1e-9)

    def polygons(self, q: Array) -> tuple[Array, list[str]]:
        """Faces of rods and bodies (n, 4, 3), and whether each belongs to a "rod" or a "body"."""
        faces: list[Array] = []
        kinds: list[str] = []
        for link in self.robot.links:
            content = link.content
            if isinstance(content, Rod):
                new = self._tube(link.name, content, q)
            elif isinstance(content, Body) and content.visual:
                g = self.system.pose(link.name, q)
                meshes = [visual.triangles for visual in content.visual]
                corners = np.concatenate([mesh.vertices[mesh.faces[:, [0, 1, 2, 2]]] for mesh in meshes])
                new = g[:3, 3] + corners @ g[:3, :3].T
            elif isinstance(content, Body) and content.shape is not None:
                g = self.system.pose(link.name, q)
                new = g[:3, 3] + (_faces(content.shape, View(20, 6)) + content.shape_origin) @ g[:3, :3].T
            else:
                new = _NOTHING
            faces.append(new)
            kinds += ["rod" if link.is_rod else "body"] * len(new)
        return np.concatenate([_NOTHING, *faces]), kinds

    def _tube(self, name: str, rod: Rod, q: Array) -> Array:
        if rod.section is None:
            return _NOTHING
        g = self.system.rod_poses(name, q, self.X)
        outline = rod.section.outline(self.X, self.around)
        points = g[:, None, :3, 3] + np.einsum("mij,mnj->mni", g[:, :3, 1:3], outline)
        return _closed(points)

    def centrelines(self, q: Array) -> dict[str, Array]:
        """Points of the axes of the rods, each (m, 3)."""
        names = [link.name for link in self.robot.links if link.is_rod]
        return {name: self.system.rod_poses(name, q, self.X)[:, :3, 3] for name in names}

    def is_thin(self, name: str) -> bool:
        """Whether a rod needs a line to be seen."""
        rod = self.robot.link(name).content
        assert isinstance(rod, Rod)
        return rod.section is None or float(rod.section.extent(self.X).max()) < _THIN * self.size

    def lines(self, q: Array) -> dict[str, Array]:
        """Points of the tendons, each (m, 3)."""
        out = {}
        for name, tendon in self.robot.tendons.items() if self.tendons else ():
            points = []
            for piece in tendon.path:
                if isinstance(piece, Along):
                    X = np.linspace(piece.start, piece.end, len(self.X))
                    order = np.argsort(X)
                    g = np.empty((len(X), 4, 4))
                    g[order] = self.system.rod_poses(piece.rod, q, X[order])
                    points.append(g[:, :3, 3] + np.einsum("mij,mj->mi", g[:, :3, :3], piece.offsets(X)[0]))
                else:
                    points.append(self.system.pose(piece, q)[None, :3, 3])
            out[name] = np.concatenate(points)
        return out

    def skeletons(self, q: Array) -> dict[str, Array]:
        """Bodies without a shape: lines (m, 3) between their origin and what is attached to them, or only the origin."""
        frames = [*self.robot.frames.values(), *(link.parent for link in self.robot.links)]
        frames += [frame for loop in self.robot.loops.values() for frame in (loop.a, loop.b)]
        out = {}
        for link in self.robot.links:
            if isinstance(link.content, Body) and link.content.shape is None and not link.content.visual:
                g = self.system.pose(link.name, q)
                ends = [g[:3, 3] + g[:3, :3] @ f.offset.translation for f in frames if f.link == link.name]
                out[link.name] = np.array([p for end in ends for p in (g[:3, 3], end)] or [g[:3, 3]])
        return out

    def bodies(self, q: Array) -> Array:
        """Origins of the rigid links, (n, 3)."""
        rigid = [link.name for link in self.robot.links if not link.is_rod]
        return np.array([self.system.pose(name, q)[:3, 3] for name in rigid]).reshape(-1, 3)

    def obstacles(self, q: Array, centre: Array, reach: float) -> Array:
        """Faces (n, 4, 3) of what the robot can touch; a half-space is shown as a square of this reach about the centre."""
        faces = [_NOTHING]
        for obstacle in self.robot.obstacles.values():
            g = self.system.pose(obstacle.parent, q) @ obstacle.pose.matrix
            near = (centre - g[:3, 3]) @ g[:3, :3]
            solid = _faces(obstacle.shape, View(20, 6, near, reach, obstacle.inside))
            faces.append(g[:3, 3] + solid @ g[:3, :3].T)
        return np.concatenate(faces)


def _strip(points: Array) -> Array:
    """Quadrilaterals (k, 4, 3) between neighbouring rings of points (m, n, 3)."""
    after = np.roll(points, -1, axis=1)
    quads = np.stack([points[:-1], after[:-1], after[1:], points[1:]], axis=2)
    return quads.reshape(-1, 4, 3)


def _closed(rings: Array) -> Array:
    """A tube through rings of points (m, n, 3), n even, with its two ends: quadrilaterals only."""
    k = np.arange(1, rings.shape[1] - 2, 2)
    fan = np.column_stack([0 * k, k, k + 1, k + 2])
    return np.concatenate([_strip(rings), rings[0, ::-1][fan], rings[-1][fan]])


def _faces(shape: Shape, view: View) -> Array:
    """Quadrilaterals (n, 4, 3) of a shape about its own centre."""
    return np.concatenate([_NOTHING, *(sheet.quadrilaterals for sheet in shape.sheets(view))])
