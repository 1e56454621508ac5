"""Where things are and how they move: the answers of `System` about frames, and about points along rods.

Frames are found once (`Core.place`); a kernel then goes through all states that are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..compile.assembly import LinkInfo
from ..compile.rods import block_integrals, step_values
from ..kernels import layout
from ..kernels.recursion import kinematics as kernels
from ..model.links import Link, Rod
from ..model.rods.quadrature import Grid
from ..model.validate import choice, integer
from .arguments import checked_rows

if TYPE_CHECKING:
    from .core import Array, Core, FrameLike, Reference

__all__ = [
    "acceleration",
    "extent",
    "frame_columns",
    "jacobian",
    "jacobian_rate",
    "points",
    "pose",
    "rod_motion",
    "step_ends",
    "twist",
]

Probe = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]  # steps, partial steps, basis values
_NONE = np.zeros((0, 0))  # for states at rest, and for what is not wanted
_PROBES = 64  # sets of points along rods that are remembered


def _motions(
    system: Core,
    frame: FrameLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    world: bool = False,
) -> tuple[Array, Array, Array]:
    """Pose, twist (if v is given) and acceleration (if a is given) of a frame, in one state or in each of many."""
    step, place = system.place(frame)
    states = checked_rows("q", q, system.nq, system.name)
    m = len(states)
    V = _NONE if v is None else checked_rows("v", v, system.nv, system.name, m)
    A = _NONE if a is None else checked_rows("a", a, system.nv, system.name, m)
    pose = np.empty((m, 4, 4))
    twist = _NONE if v is None else np.empty((m, 6))
    accel = _NONE if a is None else np.empty((m, 6))
    with system.borrow() as space:
        kernels.frame_motions(*space.packed, states, V, A, step, place, world, pose, twist, accel)
    if np.ndim(q) == 1:
        return pose[0], twist if v is None else twist[0], accel if a is None else accel[0]
    return pose, twist, accel


def fill_motions(
    system: Core, frame: FrameLike, q: Array, v: Array | None, *, world: bool, pose: Array, twist: Array = _NONE
) -> None:
    """Poses (m, 4, 4) and twists (m, 6) of a frame in states (m, …) that were checked, into arrays that are there."""
    with system.borrow() as space:
        kernels.frame_motions(
            *space.packed, q, _NONE if v is None else v, _NONE, *system.place(frame), world, pose, twist, _NONE
        )


def fill_jacobians(system: Core, frame: FrameLike, q: Array, *, world: bool, out: Array) -> None:
    """Jacobians (m, 6, nv) of a frame in configurations (m, nq) that were checked, into an array that is there."""
    with system.borrow() as space:
        kernels.frame_jacobians(*space.packed, q, *system.place(frame), world, out)


def step_ends(system: Core, q: Array) -> Array:
    """Positions [m] of the ends of all steps of joints and rods, (steps, 3)."""
    found = np.empty((len(system.tables.step) + 1, 12))
    with system.borrow() as space:
        kernels.step_poses(*space.packed, q, found)
    return found[:-1, 9:]


def extent(system: Core) -> float:
    """Extent [m] of the robot in its neutral configuration: the diagonal of the box around the ends of all steps; 0 for a point."""
    return float(np.linalg.norm(np.ptp(step_ends(system, system.neutral()), axis=0)))


def pose(system: Core, frame: FrameLike, q: ArrayLike) -> Array:
    """See `System.pose`."""
    return _motions(system, frame, q)[0]


def twist(system: Core, frame: FrameLike, q: ArrayLike, v: ArrayLike, reference: Reference) -> Array:
    """See `System.twist`."""
    choice("reference", reference, ("body", "world"))
    return _motions(system, frame, q, v, world=reference == "world")[1]


def acceleration(
    system: Core, frame: FrameLike, q: ArrayLike, v: ArrayLike, a: ArrayLike, reference: Reference
) -> Array:
    """See `System.acceleration`."""
    choice("reference", reference, ("body", "world"))
    return _motions(system, frame, q, v, a, world=reference == "world")[2]


def jacobian(system: Core, frame: FrameLike, q: ArrayLike, reference: Reference) -> Array:
    """See `System.jacobian`."""
    choice("reference", reference, ("body", "world"))
    step, place = system.place(frame)
    states = checked_rows("q", q, system.nq, system.name)
    J = np.empty((len(states), 6, system.nv))
    with system.borrow() as space:
        kernels.frame_jacobians(*space.packed, states, step, place, reference == "world", J)
    return J[0] if np.ndim(q) == 1 else J


def frame_columns(system: Core, frame: FrameLike, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """J, R, W, Y (4, 6, nv) of MATH §3 in world axes at the moving origin; rotation, position there and twist, (18,)."""
    step, place = system.place(frame)
    out, motion = np.empty((4, 6, system.nv)), np.empty(18)
    with system.borrow() as space:
        kernels.frame_derivatives(*space.packed, q, v, a, step, place, motion, out)
    return out, motion


def jacobian_rate(system: Core, frame: FrameLike, q: ArrayLike, v: ArrayLike, reference: Reference) -> Array:
    """See `System.jacobian_rate`."""
    choice("reference", reference, ("body", "world"))
    (J, R, _W, Y), motion = frame_columns(system, frame, system.check_q(q), system.check_v("v", v), system._zero)
    rotation, place, V = motion[:9].reshape(3, 3), motion[9:12], motion[12:]

    def at_frame(X: Array) -> Array:
        """Columns of twists at the origin, at the frame."""
        return np.vstack([X[:3], X[3:] - lie.skew(place) @ X[:3]])

    rate = Y - R
    if reference == "body":
        X = at_frame(rate - lie.ad(V) @ J)
        return np.vstack([rotation.T @ X[:3], rotation.T @ X[3:]])
    out = at_frame(rate)
    out[3:] -= lie.skew(V[3:] + np.cross(V[:3], place)) @ J[:3]
    return out


# ---------------------------------------------------------------- along rods


def points(X: ArrayLike | int) -> Array:
    """Points along a rod from their number or themselves; error if they are not in [0, 1]."""
    if isinstance(X, (int, np.integer)) and not isinstance(X, bool):
        return np.linspace(0.0, 1.0, integer("X", X, minimum=2, hint="A number of points, or an array of X in [0, 1]."))
    try:
        found = np.atleast_1d(np.asarray(X, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"X = {X!r} must be a number of points, or an array of points in [0, 1].") from None
    if found.ndim != 1 or not np.all((found >= 0) & (found <= 1)):
        raise ValueError(f"X = {X!r} is not allowed: points along a rod lie in [0, 1] (fraction of its length).")
    return found


def rod_motion(
    system: Core, rod: str | Link, q: ArrayLike, v: ArrayLike | None, X: ArrayLike | int
) -> tuple[Array, Array]:
    """Poses (m, 4, 4) and body twists (m, 6) along a rod."""
    at = points(X)
    key = (rod.name if isinstance(rod, Link) else rod, at.tobytes())
    found = system._probes.get(key)
    if found is None:
        found = _probe(system, rod, at)
        if len(system._probes) >= _PROBES:
            system._probes.clear()
        system._probes[key] = found
    velocity = system._zero if v is None else system.check_v("v", v)
    pose, twist = np.empty((len(at), 4, 4)), np.empty((len(at), 6))
    with system.borrow() as space:
        strain = np.zeros(layout.STATE_WIDTH)
        kernels.rod_motions(*space.packed, system.check_q(q), velocity, *found, strain, pose, twist)
    return pose, twist


def _probe(system: Core, rod: str | Link, X: Array) -> Probe:
    """Partial steps that lead from computational points to the points X of a rod."""
    info, grid, content = system._rod(rod)
    if content.integration == "spectral":
        return _spectral_probe(info, grid, content, X)
    k = np.clip(np.searchsorted(grid.X, X, side="left") - 1, 0, len(grid.X) - 2)
    x0 = grid.X[k]
    values, xi = step_values(content, x0, X)
    h = (X - x0) * content.length
    data = np.zeros((len(X), layout.DATA_WIDTH))
    data[:, layout.D_H] = h
    data[:, layout.D_C] = np.sqrt(3.0) / 12.0 * h * h if content.magnus == 4 else 0.0
    data[:, layout.D_XI1 : layout.D_XI1 + 6] = xi[0]
    data[:, layout.D_XI2 : layout.D_XI2 + 6] = xi[1]
    steps = np.array([info.anchors[i + 1].step for i in k], dtype=np.int64)
    phi = np.zeros((len(X), 2, values.shape[2]))  # one layout, or the kernel is compiled for each
    for p, step in enumerate(steps):
        block = system.tables.block[system.tables.step[step, layout.S_BLOCK]]
        columns = system.tables.col_v[block[layout.COL0] : block[layout.COL0] + block[layout.COLS]]
        phi[p, :, : len(columns)] = values[:, p, columns - info.rod_v.start]
    return steps, data, phi


def _spectral_probe(info: LinkInfo, grid: Grid, content: Rod, X: Array) -> Probe:
    """First steps of the blocks that hold the points X of a spectral rod, and integrals up to the points."""
    starts = np.array([first for first, _last in grid.elements])
    k = np.clip(np.searchsorted(grid.X[starts], X, side="left") - 1, 0, len(starts) - 1)
    rows = []
    for e, x in zip(k, X[:, None]):
        first, last = grid.elements[e]
        rows.append(block_integrals(content, grid, first, last, x))
    phi = np.zeros((len(X), 2, max((row.shape[1] for row in rows), default=0)))
    for p, row in enumerate(rows):
        phi[p, :, : row.shape[1]] = row
    steps = np.array([info.anchors[starts[e] + 1].step for e in k], dtype=np.int64)
    return steps, np.zeros((len(X), layout.DATA_WIDTH)), phi
