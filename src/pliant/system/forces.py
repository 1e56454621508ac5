"""What tendons, inputs and loop joints do: the answers of `System` about them. Contacts are in `contacts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine, slots
from ..kernels.algebra import linear
from ..kernels.loads.loops import JOINT_END, JOINT_FIRST, ROW_KIND
from ..kernels.loads.rows import sum_of_wrenches
from ..kernels.loads.tendons import T_FORCE, T_LENGTH
from ..model.actuators import InternalStress
from ..model.links import Link
from ..model.validate import choice, unknown_name
from .core import Array, Core, Inputs
from .workspace import AS_DESCRIBED, Given

if TYPE_CHECKING:
    from . import System

__all__ = [
    "actuation_matrix",
    "closure",
    "drift",
    "free_rows",
    "independent",
    "loop_wrench",
    "stress_forces",
    "tendon_lengths",
    "tendon_tensions",
    "with_multipliers",
]


def _velocity(system: Core, v: ArrayLike | None) -> Array | None:
    return None if v is None else system.check_v("v", v)


def with_multipliers(system: Core, multipliers: ArrayLike | None) -> Given:
    """What acts on the robot, with forces of its loop joints; error if their number is wrong."""
    if multipliers is None:
        return AS_DESCRIBED
    values = np.asarray(multipliers, dtype=float)
    if values.shape != (len(system.loops.row),):
        raise ValueError(f"multipliers has shape {values.shape}, but ({len(system.loops.row)},) is needed.")
    return Given(values)


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


def actuation_matrix(system: Core, q: ArrayLike, v: ArrayLike | None, u: Inputs, given: Given = AS_DESCRIBED) -> Array:
    """See `System.actuation_matrix`."""
    B = np.zeros((1, system.nu, system.nv))
    inputs = system.inputs(u).copy()  # the kernel varies them
    system.run_job(engine.INPUTS, system.check_q(q), _velocity(system, v), u=inputs, S=B, given=given)
    return B[0].T.copy()


def static_actuation(system: Core, q: Array, u: Array, given: Given) -> Array:
    """`actuation_matrix` in statics, where internal variables of loads follow from displacements since the start."""
    v = None if given.since is None else system.difference(given.since, q) / given.lag
    return actuation_matrix(system, q, v, u, given)


def closure(
    system: Core, q: ArrayLike, v: ArrayLike | None = None, told: Array | None = None
) -> tuple[Array, Array, Array]:
    """Values (rows,), derivatives (rows, nv), and rates ė and velocity terms Ġ v (rows, 2) of the constraints of loops.

    `told` (rows, 3) is what rows follow, see `Given`.
    """
    G = np.zeros((1, len(system.loops.row), system.nv))
    if not len(system.loops.row):
        return np.zeros(0), G[0], np.zeros((0, 2))
    with system.borrow() as space:
        given = AS_DESCRIBED if told is None else Given(told=told)
        system.run_job(engine.CLOSURE, system.check_q(q), _velocity(system, v), S=G, given=given, space=space)
        found = space.work.closure.copy()
    return found[:, 0], G[0], found[:, 1:3]


def drift(
    system: Core, q: Array, v: Array, a: Array, weights: tuple[float, float], stabilisation: tuple[float, float]
) -> Array:
    """Derivatives (rows, nv) of ë + rate · ė + value · e of loops, cq ∂/∂q + cv ∂/∂v for weights (cq, cv); [002] D68–D82."""
    out = np.zeros((1, len(system.loops.row), system.nv))
    p = np.zeros(engine.PARAMETERS)
    p[slots.OPTION_CQ], p[slots.OPTION_CV] = weights
    p[slots.OPTION_RATE], p[slots.OPTION_VALUE] = stabilisation
    system.run_job(engine.DRIFT, q, v, a, p=p, S=out)
    return out[0]


def independent(rows: Array) -> NDArray[np.bool_]:
    """Which rows (m, n) are independent: those that carry forces, see `kernels.algebra.linear.independent_rows`.

    Derivatives of constraints, in scaled coordinates and zero for prescribed ones, as `free_rows` gives them.
    """
    choice = np.ones(len(rows))
    linear.mark_independent(np.array(rows, dtype=np.float64, order="C"), choice)
    return choice > 0.0


def free_rows(system: Core, G: Array) -> Array:
    """Derivatives (rows, nv) in scaled coordinates, zero for prescribed ones."""
    return np.where(system.known, 0.0, G * system.internal.scale)


def loop_wrench(
    system: System, loop: str, q: ArrayLike, multipliers: ArrayLike, axes: Literal["joint", "world"]
) -> Array:
    """See `System.loop_wrench`."""
    choice("axes", axes, ("joint", "world"))
    names = list(system._robot.loops)
    if loop not in names:
        raise unknown_name("loop", loop, names)
    joint = system._robot.loops[loop]
    a, b = system.pose(joint.a, q), system.pose(joint.b, q)
    A, B, d = a[:3, :3], b[:3, :3], b[:3, 3] - a[:3, 3]
    first, last = system.loops.joint[names.index(loop), [JOINT_FIRST, JOINT_END]]
    values: Any = with_multipliers(system, multipliers).multipliers
    rows = slice(first, last)
    kinds, data = system._model.loads["loops"].row[rows, ROW_KIND].copy(), system._model.loads["loops"].data[rows]
    out = np.zeros(6)
    sum_of_wrenches(kinds, data, values[rows], A.ravel().copy(), B.ravel().copy(), d, out)
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
