"""What tendons, inputs and loop joints do: the answers of `System` about them. Contacts are in `contacts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import engine
from ..kernels.loads.loops import ANGLE, HELIX, JOINT_FIRST, ROW_CONSTANT
from ..kernels.loads.tendons import T_FORCE, T_LENGTH
from ..model.actuators import InternalStress
from ..model.links import Link
from ..model.validate import choice, unknown_name
from .core import Array, Core, Inputs
from .dynamics import with_multipliers

if TYPE_CHECKING:
    from . import System

__all__ = ["actuation_matrix", "closure", "loop_wrench", "stress_forces", "tendon_lengths", "tendon_tensions"]


def _velocity(system: Core, v: ArrayLike | None) -> Array | None:
    return None if v is None else system.check_v("v", v)


def tendon_lengths(system: Core, q: ArrayLike) -> tuple[Array, Array]:
    """See `System.tendon_lengths`."""
    jacobian = np.zeros((1, len(system.tendons.law), system.nv))
    with system.borrow() as space:
        system.run_job(engine.LENGTHS, system.check_q(q), S=jacobian, space=space)
        return space.work.tension[:, T_LENGTH].copy(), jacobian[0]


def tendon_tensions(system: Core, q: ArrayLike, v: ArrayLike | None, u: Inputs) -> Array:
    """See `System.tendon_tensions`."""
    with system.borrow() as space:
        system.run_job(engine.RESIDUAL, system.check_q(q), _velocity(system, v), u=system.inputs(u), space=space)
        return space.work.tension[:, T_FORCE].copy()


def actuation_matrix(system: Core, q: ArrayLike, v: ArrayLike | None, u: Inputs) -> Array:
    """See `System.actuation_matrix`."""
    B = np.zeros((1, system.nu, system.nv))
    inputs = system.inputs(u).copy()  # the kernel varies them
    system.run_job(engine.INPUTS, system.check_q(q), _velocity(system, v), u=inputs, S=B)
    return B[0].T.copy()


def closure(system: Core, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array, Array]:
    """Values (rows,), derivatives (rows, nv), and rates ė and velocity terms Ġ v (rows, 2) of the constraints of loops."""
    G = np.zeros((1, len(system.loops.row), system.nv))
    if not len(system.loops.row):
        return np.zeros(0), G[0], np.zeros((0, 2))
    with system.borrow() as space:
        system.run_job(engine.CLOSURE, system.check_q(q), _velocity(system, v), S=G, space=space)
        found = space.work.closure.copy()
    return found[:, 0], G[0], found[:, 1:]


def loop_wrench(
    system: System, loop: str, q: ArrayLike, multipliers: ArrayLike, axes: Literal["joint", "world"]
) -> Array:
    """See `System.loop_wrench`."""
    choice("axes", axes, ("joint", "world"))
    names = list(system._robot.loops)
    if loop not in names:
        raise unknown_name("loop", loop, names)
    joint = system._robot.loops[loop]
    A, B = system.pose(joint.a, q)[:3, :3], system.pose(joint.b, q)[:3, :3]
    first, last = system.loops.joint[names.index(loop), JOINT_FIRST:]
    values: Any = with_multipliers(system, multipliers).multipliers
    out = np.zeros(6)
    for r in range(first, last):
        data, kind = system.loops.data[r], int(system.loops.row[r, 0])
        if kind == ANGLE:
            out[:3] += values[r] * np.cross(B @ data[3:6], A @ data[:3])
            continue
        out[3:] += values[r] * (A @ data[:3])
        if kind == HELIX:
            beta, b1, b2 = B @ data[3:6], A @ data[3:6], A @ data[6:9]
            k, s = b1 @ beta, b2 @ beta
            out[:3] += values[r] * data[ROW_CONSTANT] * np.cross((k * b2 - s * b1) / (k * k + s * s), beta)
    if axes == "joint":
        out = np.concatenate([A.T @ out[:3], A.T @ out[3:]])
    return out


def stress_forces(system: Core, rod: str | Link, stress: Any) -> Array:
    """See `System.stress_forces`."""
    info, grid, content = system._rod(rod)
    at = grid.weights > 0
    values = InternalStress(info.link.name, stress).at(grid.X[at])
    out = np.zeros(system.nv)
    Phi = content.strains.matrix(grid.X[at])
    out[info.rod_v] = np.einsum("m,mai,ma->i", grid.weights[at] * content.length, Phi, values)
    return out
