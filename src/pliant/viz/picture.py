"""A small picture of a robot as SVG text, without any library: for notebooks and other pages."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system import System
from .colors import CABLES, Color
from .geometry import Scene, build_scene
from .html import side_direction

__all__ = ["picture"]

Array = NDArray[np.float64]
_LOOK = (-0.55, 1.0, -0.45)  # where the camera looks: along the side, to the back, down
_LIGHT = (0.25, -0.6, 0.9)
_FACES = 6000  # a picture with more is drawn with coarser shapes


def _camera(scene: Scene) -> Array:
    """Rows: to the right, up in the picture, towards the viewer."""
    up, side = scene.up, side_direction(scene.up)
    back = np.cross(up, side)
    look = _LOOK[0] * side + _LOOK[1] * back + _LOOK[2] * up
    look /= np.linalg.norm(look)
    right = np.cross(look, up)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(right, look), -look])


def _faces(scene: Scene, q: Array, camera: Array) -> tuple[Array, NDArray[np.int64]]:
    """Corners (F, 3, 3) of what faces the camera, seen from it, and colours (F, 3), far ones first."""
    poses = scene.poses(q)
    meshes = [(tube.mesh(poses), tube.color) for tube in scene.tubes]
    for solid in scene.solids:
        if solid.kind in ("body", "loop"):
            meshes.append((solid.mesh.moved(poses[solid.pose]), solid.color))
    side, back = side_direction(scene.up), np.cross(scene.up, side_direction(scene.up))
    light = camera @ (_LIGHT[0] * side + _LIGHT[1] * back + _LIGHT[2] * scene.up)
    light /= np.linalg.norm(light)
    corners, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for mesh, color in meshes:
        seen = _split((mesh.vertices @ camera.T)[mesh.faces], 0.2 * scene.size)
        normal = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
        size = np.linalg.norm(normal, axis=1)
        front = (normal[:, 2] > 1e-9 * np.maximum(size, 1e-300)) & (size > 0)
        bright = 0.55 + 0.45 * np.clip((normal[front] / size[front, None]) @ light, 0.0, 1.0)
        corners.append(seen[front])
        colors.append(np.clip(bright[:, None] * np.array(color), 0, 255))
    every, painted = np.concatenate(corners), np.concatenate(colors)
    order = np.argsort(every[:, :, 2].mean(axis=1))
    return every[order], painted[order].round().astype(np.int64)


def _split(corners: Array, longest: float) -> Array:
    """Triangles (F, 3, 3) with no edge much longer than this [m], since large ones cannot be sorted by their distance."""
    for _ in range(4):
        large = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1) > longest
        if not large.any() or len(corners) > _FACES:
            break
        a, b, c = corners[large].transpose(1, 0, 2)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        parts = [np.stack(own, axis=1) for own in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        corners = np.concatenate([corners[~large], *parts])
    return corners


def _hex(color: Color | NDArray[np.int64]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def picture(system: System, q: ArrayLike, *, paths: tuple[Array, ...] = (), width: int = 300, height: int = 220) -> str:
    """An SVG picture of a robot in a configuration q (nq,), with paths (m, 3) [m] as lines.

    Parameters
    ----------
    system : System
    q : array (nq,)
    paths : tuple of arrays (m, 3)
        Lines in the world, such as the way of a tip.
    width, height : int
        [px]
    """
    rods = sum(link.is_rod for link in system.robot.links)
    stations = int(np.clip(90 // max(rods, 1), 6, 20))
    scene = build_scene(system, stations=stations, outline=10 if rods < 3 else 8 if rods < 20 else 6)
    camera = _camera(scene)
    faces, colors = _faces(scene, np.asarray(q, dtype=float), camera)
    if len(faces) > _FACES:  # a finely meshed part: every other triangle would leave holes, so small ones go
        area = np.abs(np.cross(faces[:, 1, :2] - faces[:, 0, :2], faces[:, 2, :2] - faces[:, 0, :2]))
        keep = np.sort(np.argsort(area)[-_FACES:])
        faces, colors = faces[keep], colors[keep]
    poses = scene.poses(np.asarray(q, dtype=float))
    cables = [(cable.points(poses) @ camera.T, _hex(CABLES[cable.kind])) for cable in scene.cables]
    lines = [(np.asarray(path) @ camera.T, "#888888") for path in paths]
    points = np.concatenate([faces.reshape(-1, 3), *(line for line, _ in cables + lines)])
    if not len(points):
        points = np.zeros((1, 3))
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    scale = 0.88 * min(width / max(high[0] - low[0], 1e-9), height / max(high[1] - low[1], 1e-9))
    middle = (low + high) / 2

    def place(at: Array) -> str:
        x = width / 2 + scale * (at[:, 0] - middle[0])
        y = height / 2 - scale * (at[:, 1] - middle[1])
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">']
    for line, color in lines:
        out.append(f'<polyline points="{place(line)}" fill="none" stroke="{color}" stroke-width="1"/>')
    for corners, own in zip(faces, colors):
        paint = _hex(own)
        out.append(f'<path d="M{place(corners)}z" fill="{paint}" stroke="{paint}" stroke-width=".8"/>')
    for line, color in cables:
        out.append(f'<polyline points="{place(line)}" fill="none" stroke="{color}" stroke-width="1.2"/>')
    return "".join([*out, "</svg>"])
