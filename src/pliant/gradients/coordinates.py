"""Entries of q and changes along the manifold: what derivatives by the one are by the other.

pliant differentiates along ``system.integrate(q, d)``, with nv numbers d; other programs see the nq entries of q. With E = ∂q/∂d (nq × nv) and its
left inverse L = ∂d/∂q, in which a quaternion of any length stands for its rotation, changes go by E and L, derivatives by Eᵀ and Lᵀ. Both are 1 for
ordinary coordinates; a quaternion changes by q (0, ω)/2, the position of a free joint by the turned velocity.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..system import FrameLike, System

__all__ = ["change_along", "change_of_entries", "position_slopes", "slopes_along", "slopes_by_entries", "unit"]

Array = NDArray[np.float64]


def change_of_entries(system: System, q: Array, d: Array) -> Array:
    """Change of the entries of q (..., nq), E d, for a change along the manifold d (..., nv)."""
    return _spread(system, q, d, inverse=False)


def change_along(system: System, q: Array, dq: Array) -> Array:
    """Change along the manifold (..., nv), L dq, for a change of the entries of q dq (..., nq)."""
    return _gather(system, q, dq, inverse=True)


def slopes_along(system: System, q: Array, slopes: Array) -> Array:
    """Derivatives along the manifold (..., nv), Eᵀ s, from those by the entries of q s (..., nq)."""
    return _gather(system, q, slopes, inverse=False)


def slopes_by_entries(system: System, q: Array, slopes: Array) -> Array:
    """Derivatives by the entries of q (..., nq), Lᵀ s, from those along the manifold s (..., nv)."""
    return _spread(system, q, slopes, inverse=True)


def unit(system: System, q: Array) -> Array:
    """q (..., nq) with quaternions of unit length."""
    out = np.array(q, dtype=float)
    for joint in system.manifold_joints:
        part = out[..., joint.q.start : joint.q.start + 4]
        part /= np.linalg.norm(part, axis=-1, keepdims=True)
    return out


def position_slopes(system: System, frame: FrameLike, q: Array) -> Array:
    """Derivatives of the position of a frame by the entries of q, (m, 3, nq) for q (m, nq)."""
    return slopes_by_entries(system, q[:, None], system.jacobian(frame, q, reference="world")[:, 3:])


def _gather(system: System, q: Array, x: Array, *, inverse: bool) -> Array:
    """Eᵀ x, or L x."""
    shift = system.internal.shift
    out = np.zeros((*np.broadcast_shapes(q.shape[:-1], x.shape[:-1]), system.nv))
    out[..., shift[:, 1]] = x[..., shift[:, 0]]
    for o, i, G, R in _joints(system, q, inverse):
        out[..., i : i + 3] = np.einsum("...ab,...a->...b", G, x[..., o : o + 4])
        if R is not None:
            out[..., i + 3 : i + 6] = np.einsum("...ab,...a->...b", R, x[..., o + 4 : o + 7])
    return out


def _spread(system: System, q: Array, x: Array, *, inverse: bool) -> Array:
    """E x, or Lᵀ x."""
    shift = system.internal.shift
    out = np.zeros((*np.broadcast_shapes(q.shape[:-1], x.shape[:-1]), system.nq))
    out[..., shift[:, 0]] = x[..., shift[:, 1]]
    for o, i, G, R in _joints(system, q, inverse):
        out[..., o : o + 4] = np.einsum("...ab,...b->...a", G, x[..., i : i + 3])
        if R is not None:
            out[..., o + 4 : o + 7] = np.einsum("...ab,...b->...a", R, x[..., i + 3 : i + 6])
    return out


def _joints(system: System, q: Array, inverse: bool) -> Iterator[tuple[int, int, Array, Array | None]]:
    """First coordinate and velocity of each manifold joint, its E of the quaternion (..., 4, 3), or Lᵀ, and the rotation if it has a position."""
    for joint in system.manifold_joints:
        o = joint.q.start
        w, x, y, z = np.moveaxis(q[..., o : o + 4], -1, 0)
        G = 0.5 * np.stack([-x, -y, -z, w, -z, y, z, w, -x, -y, x, w], axis=-1).reshape(*w.shape, 4, 3)
        square = (w * w + x * x + y * y + z * z)[..., None, None]
        R = None
        if joint.group.name == "free":
            R = 4.0 / square * np.swapaxes(_left(w, x, y, z), -1, -2) @ G
        yield o, joint.v.start, 4.0 / square * G if inverse else G, R


def _left(w: Array, x: Array, y: Array, z: Array) -> Array:
    """Half the matrix (..., 4, 3) of (0, ω) q, beside which that of q (0, ω) makes the rotation."""
    return 0.5 * np.stack([-x, -y, -z, w, z, -y, -z, w, x, y, -x, w], axis=-1).reshape(*w.shape, 4, 3)
