"""Tables of meshes and height fields, for the kernels of contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.loads.meshes import TRIANGLE
from ..model.shapes.surface import Triangles

__all__ = ["field_nodes", "mesh_boxes", "mesh_triangles"]

Array = NDArray[np.float64]
LEAF = 4  # triangles of a box that is not divided


def mesh_triangles(mesh: Triangles) -> Array:
    """Corners, normals and pseudo-normals (F, 30) of triangles whose vertices are not repeated; see `kernels.loads.meshes`."""
    corner = mesh.vertices[mesh.faces]
    side = np.roll(corner, -1, axis=1) - corner
    normal = np.cross(side[:, 0], -side[:, 2])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    unit = side / np.linalg.norm(side, axis=2, keepdims=True)
    angle = np.arccos(np.clip(-np.einsum("fki,fki->fk", unit, np.roll(unit, 1, axis=1)), -1.0, 1.0))
    around = np.zeros_like(mesh.vertices)
    np.add.at(around, mesh.faces, angle[:, :, None] * normal[:, None])
    pairs = np.sort(np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=-1), axis=-1).reshape(-1, 2)
    _edges, number = np.unique(pairs, axis=0, return_inverse=True)
    number = number.reshape(-1)
    across = np.zeros((number.max() + 1, 3))
    np.add.at(across, number, np.repeat(normal, 3, axis=0))
    out = np.empty((len(corner), TRIANGLE))
    out[:, :9], out[:, 9:12] = corner.reshape(-1, 9), normal
    out[:, 12:21] = _units(across)[number].reshape(-1, 9)
    out[:, 21:] = _units(around)[mesh.faces].reshape(-1, 9)
    return out


def _units(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def mesh_boxes(triangles: Array) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """A tree of boxes: corners (n, 6), for each the next box after it, its first triangle and their number (n, 3); and the order of the triangles."""
    corner = triangles[:, :9].reshape(-1, 3, 3)
    low, high = corner.min(axis=1), corner.max(axis=1)
    middle = 0.5 * (low + high)
    order = np.arange(len(corner))
    boxes: list[Array] = []
    tree: list[list[int]] = []
    waiting = [(0, len(corner))]
    while waiting:  # the last one first: depth first
        first, end = waiting.pop()
        own = order[first:end]
        boxes.append(np.concatenate([low[own].min(axis=0), high[own].max(axis=0)]))
        if end - first <= LEAF:
            tree.append([0, first, end - first])
            continue
        tree.append([0, first, 0])
        axis = int(np.argmax(np.ptp(middle[own], axis=0)))
        half = (end - first) // 2
        order[first:end] = own[np.argpartition(middle[own, axis], half)]
        waiting += [(first + half, end), (first, first + half)]
    _set_next(tree)
    return np.array(boxes), np.array(tree, dtype=np.int64), order


def _set_next(tree: list[list[int]]) -> None:
    """The number of the box that follows all that is in each: after a leaf the next, after others the next of their second child."""
    for i in range(len(tree) - 1, -1, -1):
        if tree[i][2]:
            tree[i][0] = i + 1
        else:
            tree[i][0] = tree[tree[i + 1][0]][0]


def field_nodes(heights: Array) -> Array:
    """Heights and derivatives by node numbers (nx ny, 4) of the cubic spline that is level at the border."""
    from scipy.interpolate import CubicSpline  # here, since it takes a while to import

    def slopes(values: Array, axis: int) -> Array:
        spline = CubicSpline(np.arange(values.shape[axis]), values, axis=axis, bc_type="clamped")
        return np.asarray(spline(np.arange(values.shape[axis]), 1))

    along_x, along_y = slopes(heights, 0), slopes(heights, 1)
    return np.stack([heights, along_x, along_y, slopes(along_x, 1)], axis=-1).reshape(-1, 4)
