"""The equation of motion and its derivatives: the answers of `System` about forces and accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import engine, slots
from ..kernels.groups import POSITION
from ..kernels.layout import STATIC
from ..kernels.loads import internal
from ..kernels.loads.efforts import E_INPUT, E_V
from ..kernels.loads.wrenches import DIPOLE, IN_WORLD, P_FORCE, P_MOMENT
from ..kernels.solve.newton import CONVERGED
from ..model.validate import choice
from .core import Array, Core, Inputs
from .forces import actuation_matrix, closure, drift, free_rows, independent
from .laws import forces_of_laws, has_laws
from .many import linear_many
from .workspace import AS_DESCRIBED, Given, Workspace

if TYPE_CHECKING:
    from . import System

__all__ = ["Algorithm", "ConstrainedMotion", "ForwardDerivatives", "InverseDerivatives", "LinearSolver"]

Algorithm = Literal["auto", "composite", "articulated"]
LinearSolver = Literal["auto", "dense", "tree"]


class InverseDerivatives(NamedTuple):
    """Inverse dynamics and its exact derivatives, each matrix (nv, nv)."""

    tau: Array
    dq: Array
    dv: Array
    mass: Array


class ForwardDerivatives(NamedTuple):
    """Forward dynamics and its exact derivatives.

    Attributes
    ----------
    a : ndarray (nv,)
        Acceleration.
    dq, dv, dtau : ndarray (nv, nv)
        Its derivatives by q, v and tau.
    du : ndarray (nv, nu)
        By the inputs.
    multipliers : ndarray (rows,)
        Forces of loop joints.
    multipliers_dq, multipliers_dv, multipliers_dtau : ndarray (rows, nv)
        Their derivatives.
    multipliers_du : ndarray (rows, nu)
    """

    a: Array
    dq: Array
    dv: Array
    dtau: Array
    du: Array
    multipliers: Array
    multipliers_dq: Array
    multipliers_dv: Array
    multipliers_dtau: Array
    multipliers_du: Array


class ConstrainedMotion(NamedTuple):
    """Acceleration (nv,) and forces of loop joints (rows,)."""

    a: Array
    multipliers: Array


def parameters(*values: float) -> Array:
    """The array of a job that begins with these."""
    p = np.zeros(engine.PARAMETERS)
    p[: len(values)] = values
    return p


def arguments(
    system: Core, q: ArrayLike, v: ArrayLike, a: ArrayLike, u: Inputs, tau: ArrayLike | None
) -> tuple[Array, Array, Array, Array, Array | None]:
    """State, acceleration, inputs and forces as vectors, checked."""
    forces = None if tau is None else system.check_v("tau", tau)
    return system.check_q(q), system.check_v("v", v), system.check_v("a", a), system.inputs(u), forces


# ---------------------------------------------------------------- inverse dynamics


def inverse_dynamics(system: Core, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """See `System.inverse_dynamics`."""
    out = np.empty(system.nv)
    system.run_job(engine.ID, system.check_q(q), system.check_v("v", v), system.check_v("a", a), force=out)
    return out


def inverse_dynamics_derivatives(system: Core, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> InverseDerivatives:
    """See `System.inverse_dynamics_derivatives`."""
    tau, out = np.empty(system.nv), np.zeros((3, system.nv, system.nv))
    state = system.check_q(q), system.check_v("v", v), system.check_v("a", a)
    system.run_job(engine.DERIVATIVES, *state, force=tau, S=out)
    return InverseDerivatives(tau, out[0], out[1], out[2])


def tangent(system: Core, q: ArrayLike, v: ArrayLike, a: ArrayLike, alpha: float, beta: float) -> Array:
    """See `System.tangent`."""
    out = np.zeros((1, system.nv, system.nv))
    state = system.check_q(q), system.check_v("v", v), system.check_v("a", a)
    system.run_job(engine.DERIVATIVES, *state, p=parameters(1.0, alpha, beta), S=out)
    return out[0]


def mass_matrix(system: Core, q: ArrayLike) -> Array:
    """See `System.mass_matrix`."""
    out = np.zeros((1, system.nv, system.nv))
    system.run_job(engine.MASS, system.check_q(q), S=out)
    return out[0]


def elastic(
    system: Core, q: ArrayLike, u: Inputs = None, memory: ArrayLike | None = None, *, tangent: bool = False
) -> tuple[Array, float, Array]:
    """Elastic forces (nv,) with those of laws of rods at rest, energy, and if asked for ∂/∂q (nv, nv)."""
    out, scratch = np.empty((2, system.nv))
    K = np.zeros((system.nv if tangent else 0, system.nv))
    with system.borrow() as space:
        ints, floats, _buffer = space.packed
        first, state = POSITION[internal.Internal], system.check_q(q)
        energy = internal.elastic_forces(ints, floats, first, state, out, scratch, space.work.spring, K)
    if has_laws(system):
        more = forces_of_laws(system, system.check_q(q), None, u, memory, tangents=tangent)
        return out + more.force, float(energy) + more.energy, K + more.dq if tangent else K
    return out, float(energy), K


# ---------------------------------------------------------------- forward dynamics


def mass_storage(system: Core, method: Algorithm, space: Workspace) -> tuple[Array, bool]:
    """Memory for the factors of the mass matrix: one square matrix, or the store of `kernels.solve.fronts`."""
    choice("method", method, ("auto", "composite", "articulated"))
    if method == "articulated" or (method == "auto" and system._elimination.for_mass):
        return space.store, True
    return np.zeros((1, system.nv, system.nv)), False


def stabilisation_of(time: float) -> tuple[float, float]:
    """Factors of rates and values in ë + 2 ė/T + e/T² for a time T [s]; none if it is 0."""
    return (2.0 / time, 1.0 / time**2) if time > 0.0 else (0.0, 0.0)


def acceleration(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None,
    u: Inputs,
    prescribed: ArrayLike | None,
    method: Algorithm,
    stabilisation: float = 0.0,
    told: Array | None = None,
    memory: Array | None = None,
) -> ConstrainedMotion:
    """`System.constrained_dynamics`; `told` (rows, 3) is what rows of loop joints follow."""
    known = None if prescribed is None else np.where(system.known, system.check_v("prescribed", prescribed), 0.0)
    q, v = system.check_q(q), system.check_v("v", v)
    forces, inputs = None if tau is None else system.check_v("tau", tau), system.inputs(u)
    a = np.empty(system.nv)
    given = AS_DESCRIBED if told is None and memory is None else Given(told=told, memory=memory)
    with system.borrow() as space:
        S, tree = mass_storage(system, method, space)
        space.p[slots.OPTION_TREE] = tree
        space.p[slots.OPTION_RATE], space.p[slots.OPTION_VALUE] = stabilisation_of(stabilisation)
        status = system.run_job(
            engine.FORWARD, q, v, known, inputs, forces, S=S, acceleration=a, given=given, space=space
        )
        multipliers = space.work.multiplier.copy()
    if status != CONVERGED:
        raise mass_error(system, mass_matrix(system, q))
    return ConstrainedMotion(a, multipliers)


def acceleration_derivatives(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None,
    u: Inputs,
    prescribed: ArrayLike | None,
    stabilisation: float = 0.0,
    told: Array | None = None,
    memory: Array | None = None,
) -> ForwardDerivatives:
    """`System.forward_dynamics_derivatives`: of ``M a − Gᵀλ = f``, ``ë + 2 ė/T + e/T² = 0``, [002] eqs 48–51.

    With `memory` (nz,), of an equilibrium, dq is that of displacements which internal variables follow: what touches holds.
    """
    if not len(system.loops.row) and memory is None:
        return _tree_derivatives(system, q, v, tau, u, prescribed)
    a, multipliers = acceleration(system, q, v, tau, u, prescribed, "auto", stabilisation, told, memory)
    state = arguments(system, q, v, a, u, tau)
    known, given = system.known, (Given(multipliers, memory=memory),) * 2
    if memory is not None:
        given = given[0]._replace(lag=STATIC, since=state[0]), given[1]
    mass = mass_matrix(system, q)
    mass[known] = mass[:, known] = 0.0
    mass[known, known] = 1.0
    factor = mass_factor(system, mass)
    stiffness, damping = (
        residual_tangent(system, state, weights, acts)
        for weights, acts in zip(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), given)
    )
    B = actuation_matrix(system, state[0], state[1], state[3])
    n, m = system.nv, len(multipliers)
    right = np.hstack([-stiffness, -damping, np.eye(n), B])
    right[known] = 0.0
    found = _cholesky_solution(factor, right)
    forces = np.zeros((m, right.shape[1]))
    if m:
        G = closure(system, state[0], state[1])[1]
        kept = independent(free_rows(system, G))
        G = np.where(known, 0.0, G[kept])
        X = _cholesky_solution(factor, G.T)
        factors = stabilisation_of(stabilisation)
        target = np.zeros((len(G), right.shape[1]))
        for k, weights in enumerate(((1.0, 0.0), (0.0, 1.0))):
            target[:, k * n : (k + 1) * n] = -drift(system, *state[:3], weights, factors)[kept]
        forces[kept] = np.linalg.solve(G @ X, target - G @ found)
        found = found + X @ forces[kept]
    split = [n, 2 * n, 3 * n]
    dq, dv, dtau, du = np.split(found, split, axis=1)
    force_dq, force_dv, force_dtau, force_du = np.split(forces, split, axis=1)
    return ForwardDerivatives(a, dq, dv, dtau, du, multipliers, force_dq, force_dv, force_dtau, force_du)


def _tree_derivatives(
    system: System, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, u: Inputs, prescribed: ArrayLike | None
) -> ForwardDerivatives:
    """The same without loops: one call of the engine, as items of a batch get it."""
    forces = None if tau is None else system.check_v("tau", tau)[None]
    state = system.check_q(q)[None], system.check_v("v", v)[None], system.inputs(u)[None]
    known = None if prescribed is None else np.where(system.known, system.check_v("prescribed", prescribed), 0.0)[None]
    a, out, found = linear_many([system], *state, forces, known, by_forces=True)
    if not found[0]:
        raise mass_error(system, mass_matrix(system, q))
    n = system.nv
    dq, dv, du, dtau = np.split(out[0], [n, 2 * n, 2 * n + system.nu], axis=1)
    none, no_u = np.zeros((0, n)), np.zeros((0, system.nu))
    return ForwardDerivatives(a[0].copy(), dq, dv, dtau, du, np.zeros(0), none, none, none, no_u)


def refuse_loops(system: Core, name: str) -> None:
    """Error for what would ignore that loops are closed."""
    if len(system.loops.row):
        loops = ", ".join(map(repr, [*system._robot.loops, *system._robot.couplings]))
        raise ValueError(
            f"{name} is not possible for {system.name!r}: it would ignore its loops ({loops}). residual_tangent and closure give the "
            "equations for a solver of your own."
        )


def solve_mass(system: Core, q: ArrayLike, b: ArrayLike) -> Array:
    """See `System.solve_mass`."""
    b = np.asarray(b, dtype=float)
    if b.shape[:1] != (system.nv,):
        raise ValueError(f"b has shape {b.shape}, but {system.nv} rows are needed (nv of {system.name!r}).")
    return _cholesky_solution(mass_factor(system, mass_matrix(system, q)), b)


def _cholesky_solution(factor: tuple[Array, bool], b: Array) -> Array:
    import scipy.linalg  # here, since it takes a while to import

    return scipy.linalg.cho_solve(factor, b, check_finite=False)


def mass_factor(system: Core, mass: Array) -> tuple[Array, bool]:
    """Cholesky factor of a mass matrix; error that names the cause if there is none."""
    import scipy.linalg  # here, since it takes a while to import

    try:
        factor = scipy.linalg.cho_factor(mass, lower=True, check_finite=False)
        if np.all(np.diag(factor[0]) ** 2 > 1e-14 * np.diag(mass)):
            return factor
    except scipy.linalg.LinAlgError:
        pass
    raise mass_error(system, mass)


def mass_error(system: Core, mass: Array) -> ValueError:
    """The error for a mass matrix that is not positive definite."""
    if not np.all(np.isfinite(mass)):
        return ValueError("the mass matrix is not finite: q contains NaN, infinity or overflowing strains.")
    values, vectors = np.linalg.eigh(mass)
    worst = system.dof_names[int(np.argmax(np.abs(vectors[:, 0])))]
    return ValueError(
        f"the mass matrix is singular (smallest eigenvalue {values[0]:.3g}): nothing with mass moves along "
        f"{worst!r}. Give mass to what this joint carries, or more points to the rod."
    )


# ---------------------------------------------------------------- the equation of motion


def residual(
    system: Core, q: Array, v: Array, a: Array, u: Array, tau: Array | None, given: Given = AS_DESCRIBED
) -> Array:
    """`System.residual` of checked arguments."""
    out = np.empty(system.nv)
    system.run_job(engine.RESIDUAL, q, v, a, u, tau, force=out, given=given)
    return out


def residual_tangent(
    system: Core,
    state: tuple[Array, Array, Array, Array, Array | None],
    weights: tuple[float, float, float],
    given: Given = AS_DESCRIBED,
) -> Array:
    """`System.residual_tangent` of checked arguments."""
    out = np.empty((1, system.nv, system.nv))
    system.run_job(engine.TANGENT, *state, p=parameters(*weights), S=out, given=given)
    return out[0]


def solve_tangent(
    system: Core,
    state: tuple[Array, Array, Array, Array, Array | None],
    b: ArrayLike,
    weights: tuple[float, float],
    solver: LinearSolver,
) -> Array:
    """`System.solve_tangent` of checked arguments."""
    x, (S, tree) = system.check_v("b", b).copy(), step_storage(system, solver)
    refuse_loops(system, "solve_tangent")
    p = np.zeros(engine.PARAMETERS)
    p[slots.OPTION_CV], p[slots.OPTION_CA] = weights
    p[slots.OPTION_TREE] = tree
    if system.run_job(engine.SOLVE, *state, p=p, S=S, acceleration=x) != CONVERGED:
        raise np.linalg.LinAlgError(f"the tangent of {system.name!r} is singular, or not finite, at this state.")
    return x


def step_storage(system: Core, solver: LinearSolver = "auto") -> tuple[Array, bool]:
    """Memory for the factors of an implicit step, as of `mass_storage`; error if the tree cannot be eliminated."""
    choice("solver", solver, ("auto", "dense", "tree"))
    reason = why_dense(system)
    if solver == "tree" and reason:
        raise ValueError(f"solver='tree' is not possible for {system.name!r}: {reason}. Use solver='auto'.")
    if solver == "tree" or (solver == "auto" and not reason and system._elimination.for_step):
        return np.zeros((1, *system.fronts.size)), True
    return np.zeros((1, system.nv, system.nv)), False


def static_storage(system: Core, solver: LinearSolver = "auto") -> tuple[Array, bool]:
    """Memory for the stiffness and its factors in statics, as of `step_storage`: two square matrices, or the store of the tree."""
    free = not system.nz and not why_dense(system)
    if solver == "tree" or (solver == "auto" and free and system._elimination.for_rest):
        return np.zeros((1, *system.fronts.size)), True
    return np.zeros((2, system.nv, system.nv)), False


def why_dense(system: Core) -> str:
    """What couples parts of the robot beyond the tree, so that implicit steps need dense factors; "" if nothing does."""
    if system._assembly.loading.coupled:
        return system._assembly.loading.coupled
    if not system._elimination.local:
        return "a tendon acts on several parts at once"
    return ""


def has_potential(system: Core, u: Array, tau: Array) -> bool:
    """See `System.has_potential`."""
    if not system._assembly.loading.conservative:
        return False
    for (_step, kind, index), row in zip(system.wrenches.place, system.wrenches.data):
        acts = kind != DIPOLE and (index < 0 or u[index] != 0.0)
        if acts and (kind != IN_WORLD or np.any(row[P_MOMENT:P_FORCE])):
            return False
    driven = tau.copy()
    place = system.efforts.place[system.efforts.place[:, E_INPUT] >= 0]
    driven[place[:, E_V]] += u[place[:, E_INPUT]]
    return not any(np.any(driven[joint.v]) for joint in system.manifold_joints)
