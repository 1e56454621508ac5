"""The equation of motion as explicit matrices, by the routes of the papers.

* `equation_of_motion`: every matrix and vector of ``M a + C v + G + elastic + D v = B u + F + tau``, by composite recursions;
* `projected_matrices`: the same M, C, G as sums of ``Jᵀ … J`` over the computational points (Kane's route, [003] eq. 38);
* `composite_matrices`: M, C₁, C₂, drag and gravity–buoyancy of [001] (eqs. 31 to 35), for any robot;
* `reconstruct`: all of them from unit inputs to the inverse dynamics ([004] eqs. 33 to 36).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..kernels import layout
from ..kernels.loads.water import W_TAIL
from ..kernels.recursion import matrices, points
from ..system import Inputs, System, needs_system
from ..system.laws import refuse_memory

__all__ = [
    "CompositeMatrices",
    "EquationOfMotion",
    "ProjectedMatrices",
    "Reconstruction",
    "composite_matrices",
    "coriolis_matrix",
    "equation_of_motion",
    "joint_brackets",
    "projected_matrices",
    "reconstruct",
]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EquationOfMotion:
    """``mass a + coriolis v + gravity + elastic + damping v = actuation u + load + tau`` at one state.

    Row k has the unit of the generalised force of velocity k: N m for angles, N for lengths, N m² for curvatures [1/m], N m
    for stretch and shear.

    Attributes
    ----------
    mass : ndarray (nv, nv)
        M(q), symmetric, with the added mass of a fluid.
    coriolis : ndarray (nv, nv)
        C(q, v) with Ṁ − 2C skew; see `coriolis_matrix`.
    gravity : ndarray (nv,)
        Force that holds the robot against gravity, without buoyancy (which is in `load`), like `System.gravity_forces`.
    stiffness : ndarray (nv, nv)
        K(q) = ∂elastic/∂q; see `System.stiffness_matrix`.
    elastic : ndarray (nv,)
        K (q − rest), and the springs of spherical and free joints, which are not linear.
    damping : ndarray (nv, nv)
        Constant D.
    actuation : ndarray (nv, nu)
        B = ∂(forces of actuators and loads)/∂u at this state.
    load : ndarray (nv,)
        All other forces of actuators and loads: constant wrenches, fluid, contact, elastic tendons and, with the
        multipliers that the system holds, loop joints. If an input does not act linearly, `load` is the rest besides B u
        at this u.
    v : ndarray (nv,)
    u : ndarray (nu,)
    tau : ndarray (nv,)
        Velocity, inputs and further forces of the state.
    """

    mass: Array
    coriolis: Array
    gravity: Array
    stiffness: Array
    elastic: Array
    damping: Array
    actuation: Array
    load: Array
    v: Array
    u: Array
    tau: Array

    def bias(self) -> Array:
        """Everything besides ``mass a``, on the left-hand side, shape (nv,)."""
        inner = self.coriolis @ self.v + self.gravity + self.elastic + self.damping @ self.v
        return inner - self.actuation @ self.u - self.load - self.tau

    def residual(self, a: ArrayLike) -> Array:
        """Left-hand side less right-hand side for an acceleration (nv,): what `System.residual` gives."""
        return self.mass @ np.asarray(a, dtype=float) + self.bias()


@dataclass(frozen=True)
class ProjectedMatrices:
    """Sums over the m points that have mass, with their Jacobians in body axes; see `projected_matrices`.

    Attributes
    ----------
    mass : ndarray (nv, nv)
        Σ Jᵀ 𝓜 J.
    coriolis : ndarray (nv, nv)
        Σ Jᵀ (𝓜 J̇ + ½ (ad̄*_𝓜η + ad*_η 𝓜 + 𝓜 ad_η) J): Ṁ − 2C is skew.
    c1 : ndarray (nv, nv)
        Σ Jᵀ ad*_η 𝓜 J.
    c2 : ndarray (nv, nv)
        Σ Jᵀ 𝓜 J̇. With c1 it gives the same force as `coriolis`; (c1 + c2) v = coriolis v.
    gravity : ndarray (nv,)
        −Σ Jᵀ 𝓜 Ad_g⁻¹ (0; gravity) with the dry mass, on the left-hand side.
    jacobians : ndarray (m, 6, nv)
        J of each point: η = J v.
    rates : ndarray (m, 6, nv)
        J̇ of each point, the time derivative of J.
    inertias : ndarray (m, 6, 6)
        𝓜 of each point in body axes, its quadrature weight included.
    """

    mass: Array
    coriolis: Array
    c1: Array
    c2: Array
    gravity: Array
    jacobians: Array
    rates: Array
    inertias: Array


@dataclass(frozen=True)
class CompositeMatrices:
    """``mass a + (c1 + c2) v = τ + F + gravity (0; g) − drag v + flow``, the matrices of [001] eq. 26.

    τ stands for internal and actuation forces, F for other loads.

    Attributes
    ----------
    mass : ndarray (nv, nv)
        Σ Jᵀ 𝓜 J, with added mass.
    c1 : ndarray (nv, nv)
        Σ Jᵀ ad*_η 𝓜 J.
    c2 : ndarray (nv, nv)
        Σ Jᵀ 𝓜 J̇.
    drag : ndarray (nv, nv)
        Σ Jᵀ (D₁ + ‖v‖ D₂) J, with the speed ‖v‖ of each point relative to the fluid. Not symmetric if there is lift.
    gravity : ndarray (nv, 6)
        Force of gravity and buoyancy per unit of acceleration: ``gravity @ (0, 0, 0, gx, gy, gz)`` in world axes, on the
        right-hand side. The first three columns, which [001] multiplies with zeros, are zero.
    flow : ndarray (nv,)
        What the fluid does beyond that: the drag of a current on a robot at rest, what a current does to the added mass, and
        Lighthill's force at a tail. Zero in still water without tails.
    """

    mass: Array
    c1: Array
    c2: Array
    drag: Array
    gravity: Array
    flow: Array


@dataclass(frozen=True)
class Reconstruction:
    """``mass a + coriolis v + gravity + restoring + damping = actuation u + tau``; see `reconstruct`.

    Attributes
    ----------
    mass : ndarray (nv, nv)
    coriolis : ndarray (nv, nv)
        C(q, v) with Ṁ − 2C skew, the same as `coriolis_matrix`.
    gravity : ndarray (nv,)
        ID(q, 0, 0).
    restoring : ndarray (nv,)
        Elastic forces less the loads at rest.
    damping : ndarray (nv,)
        D v less what loads change by moving.
    actuation : ndarray (nv, nu)
    """

    mass: Array
    coriolis: Array
    gravity: Array
    restoring: Array
    damping: Array
    actuation: Array


def _product(system: System, task: np.int64, q: Array, v: Array) -> tuple[Array, Array]:
    """The matrix (nv, nv) of a task of `kernels.recursion.matrices`, and its handles (nv, 6)."""
    out, handles = np.zeros((1, system.nv, system.nv)), np.empty((system.nv, 6))
    with system.borrow() as space:
        matrices.composite_products(*space.packed, system.header_position("water"), task, q, v, out, handles)
    return out[0], handles


def coriolis_matrix(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """Coriolis matrix C(q, v) (nv, nv) with Ṁ − 2C skew; C v are the Coriolis forces.

    ``C = Σ Jᵀ (I J̇ + ½ N J)`` in world axes with the N of MATH §3, by a composite recursion at up to twice the cost of the
    mass matrix.

    Notes
    -----
    For joints with ordinary coordinates this is the matrix of Christoffel's symbols and half of ∂ID/∂v. In general
    ``C = ½ (∂ID/∂v + M A)`` with A block diagonal, ad of the body twist of every spherical and free joint.
    Gravity and the forces of a fluid other than added mass are not in it.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> system = robot.compile()
    >>> print(pl.coriolis_matrix(system, [0.3], [1.0]) + 0.0)  # a single hinge has none
    [[0.]]
    """
    needs_system("coriolis_matrix", system)
    return _product(system, matrices.CORIOLIS, system.check_q(q), system.check_v("v", v))[0]


def equation_of_motion(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    *,
    multipliers: ArrayLike | None = None,
) -> EquationOfMotion:
    """All matrices and vectors of the equation of motion at a state.

    Parameters
    ----------
    system : System
    q : array (nq,)
    v : array (nv,)
    u : mapping or array (nu,), optional
        Inputs; zero if left out.
    tau : array (nv,), optional
        Further generalised forces.
    multipliers : array (rows,), optional
        Forces of loop joints, which count as loads; none if left out.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> system = robot.compile()
    >>> e = pl.equation_of_motion(system, [0.0], [0.0])
    >>> print(f"{e.gravity[0]:.4f} N m")  # 0.3 kg · 9.81 m/s² · 0.25 m, against the weight
    -0.7358 N m
    """
    needs_system("equation_of_motion", system)
    refuse_memory(system, "equation_of_motion")
    q, v = system.check_q(q), system.check_v("v", v)
    inputs = system.inputs(u)
    forces = np.zeros(system.nv) if tau is None else system.check_v("tau", tau)
    elastic, damping = system.elastic_forces(q), system.damping_matrix()
    actuation = system.actuation_matrix(q, v, inputs)
    load = np.zeros(system.nv)
    if _has_loads(system):
        own = system.bias_forces(q, v) + elastic + damping @ v
        rest = system.residual(q, v, np.zeros(system.nv), inputs, multipliers=multipliers)
        load = own - rest - actuation @ inputs
    return EquationOfMotion(
        mass=system.mass_matrix(q),
        coriolis=coriolis_matrix(system, q, v),
        gravity=system.gravity_forces(q),
        stiffness=system.stiffness_matrix(q),
        elastic=elastic,
        damping=damping,
        actuation=actuation,
        load=load,
        v=v.copy(),
        u=inputs.copy(),
        tau=forces.copy(),
    )


def _has_loads(system: System) -> bool:
    return any(family.present(system.loads[family.name]) for family in system.families)


def projected_matrices(system: System, q: ArrayLike, v: ArrayLike) -> ProjectedMatrices:
    """Mass, Coriolis and gravity by projection with the Jacobian of every computational point ([003] section IV.B).

    The same quadrature as the recursion, so both agree to rounding; none of the recursion's backward pass is used. The cost
    grows with points × nv².

    Notes
    -----
    J̇ is the time derivative of the body Jacobian J of [003] eq. 11. Eq. 12 there is without its part −ad_η J, which gives
    nothing when it acts on v: the force J̇ v is right, the matrix is that of J̇ seen from the world.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> system = robot.compile()
    >>> p = pl.projected_matrices(system, [0.3], [1.0])
    >>> bool(np.allclose(p.mass, system.mass_matrix([0.3])))
    True
    """
    needs_system("projected_matrices", system)
    q, v = system.check_q(q), system.check_v("v", v)
    where = np.flatnonzero(system.tables.step[:, layout.S_INERTIA] != layout.MASSLESS)
    shape = (len(where), 6, system.nv)
    J, rate = np.empty(shape), np.empty(shape)
    motion = np.empty((len(where), 18))
    with system.borrow() as space:
        points.point_jacobians(*space.packed, q, v, where, motion, J, rate)
    inertias, weight = np.empty((len(where), 6, 6)), np.zeros(system.nv)
    M, C, C1, C2 = np.zeros((4, system.nv, system.nv))
    for k, i in enumerate(where):
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = motion[k, :9].reshape(3, 3), motion[k, 9:12]
        back = lie.Ad(lie.inverse(g))
        rate[k] = back @ (rate[k] - lie.ad(motion[k, 12:]) @ J[k])
        J[k] = back @ J[k]
        eta = J[k] @ v
        inertia, mass, com = _body_inertia(system, int(i))
        inertias[k] = inertia
        first, second = lie.ad_star(eta) @ inertia, inertia @ lie.ad(eta)
        M += J[k].T @ inertia @ J[k]
        C1 += J[k].T @ first @ J[k]
        C2 += J[k].T @ inertia @ rate[k]
        C += 0.5 * J[k].T @ (lie.ad_bar(inertia @ eta) - first + second) @ J[k]
        force = mass * (g[:3, :3].T @ system.tables.gravity)
        weight += J[k].T @ np.concatenate([np.cross(com, force), force])
    return ProjectedMatrices(M, C + C1 + C2, C1, C2, -weight, J, rate, inertias)


def _body_inertia(system: System, i: int) -> tuple[Array, float, Array]:
    """Inertia 𝓜 (6, 6) of a step in body axes, its dry mass and centre of mass."""
    data = system.tables.data[i]
    m, com = float(data[layout.D_MASS]), data[layout.D_COM : layout.D_COM + 3]
    if system.tables.step[i, layout.S_INERTIA] == layout.GENERAL:
        return data[layout.D_M6 :].reshape(6, 6).copy(), m, com
    xx, yy, zz, xy, xz, yz = data[layout.D_ROT : layout.D_ROT + 6]
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    c = lie.skew(com)
    return np.block([[central - m * c @ c, m * c], [-m * c, m * np.eye(3)]]), m, com


def composite_matrices(system: System, q: ArrayLike, v: ArrayLike) -> CompositeMatrices:
    """Mass, Coriolis, drag and gravity–buoyancy matrices of [001] eqs. 31 to 35, by composite bodies, for any robot.

    The paper has an arm of constant-strain sections; here the robot may have any joints, branches and strains.

    Notes
    -----
    As printed, eqs. 17, 22 and 33 of [001] are incomplete: the Jacobian of a section also changes with the strain of that
    section itself. With T of eq. 14, the sum inside eq. 22 starts at j = i instead of i + 1 and each block gains Ad⁻¹ Ṫᵢ. The step
    before eq. 17 drops ``ad_(Ad ξ̇) T ξ̇``, which is zero only if ξ and ξ̇ commute (pure torsion or stretch of a straight
    section): a straight section that starts to bend with the rate κ̇ is without the acceleration κ̇² s³/6 along its
    axis. Here c2 is complete, so that (c1 + c2) v are the Coriolis forces.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> system = robot.compile()
    >>> c = pl.composite_matrices(system, [0.3], [1.0])
    >>> bool(np.allclose(c.gravity[:, 3:] @ system.gravity, -system.gravity_forces([0.3])))
    True
    """
    needs_system("composite_matrices", system)
    q, v = system.check_q(q), system.check_v("v", v)
    drag = _product(system, matrices.DRAG, q, v)[0]
    handles = _product(system, matrices.WEIGHT, q, v)[1]
    flow = np.zeros(system.nv)
    if np.any(system.water.fluid) or np.any(system.water.data[:, W_TAIL:]):
        out = np.empty(system.nv)
        with system.borrow() as space:
            matrices.fluid_forces(*space.packed, system.header_position("water"), q, v, out)
        buoyancy = handles[:, 3:] @ system.gravity + system.gravity_forces(q)
        flow = drag @ v - out - buoyancy
    return CompositeMatrices(
        mass=system.mass_matrix(q),
        c1=_product(system, matrices.FIRST, q, v)[0],
        c2=_product(system, matrices.SECOND, q, v)[0],
        drag=drag,
        gravity=handles,
        flow=flow,
    )


def reconstruct(system: System, q: ArrayLike, v: ArrayLike, u: Inputs = None) -> Reconstruction:
    """All matrices from unit inputs to the inverse dynamics ([004] eqs. 33 to 36 and remark 9); some 3 nv + nu calls of it.

    Column k of M is ID(q, 0, eₖ) − ID(q, 0, 0), that of B the change of the residual with one unit of input k. The Coriolis
    force is quadratic in v, so the columns of C follow from it without error of truncation:
    ``C eₖ = ½ (f(v + eₖ) − f(v) − f(eₖ)) + ½ M A eₖ`` with A as in `coriolis_matrix`.

    Parameters
    ----------
    system : System
    q : array (nq,)
    v : array (nv,)
    u : mapping or array (nu,), optional
        Inputs to which the units are added; zero if left out. It matters for inputs that do not act linearly.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> system = robot.compile()
    >>> r = pl.reconstruct(system, [0.3], [1.0])
    >>> bool(np.allclose(r.mass, system.mass_matrix([0.3])))
    True
    """
    needs_system("reconstruct", system)
    q, v = system.check_q(q), system.check_v("v", v)
    inputs = system.inputs(u)
    zero, units = np.zeros(system.nv), np.eye(system.nv)
    gravity = system.inverse_dynamics(q, zero, zero)

    def inertial(velocity: Array, a: Array) -> Array:
        return system.inverse_dynamics(q, velocity, a) - gravity

    mass = np.array([inertial(zero, e) for e in units]).T
    force = inertial(v, zero)
    mixed = np.array([inertial(v + e, zero) - force - inertial(e, zero) for e in units]).T
    rest, moving = system.residual(q, zero, zero, inputs), system.residual(q, v, zero, inputs)
    columns = [moving - system.residual(q, v, zero, inputs + e) for e in np.eye(system.nu)]
    actuation = np.array(columns).reshape(system.nu, system.nv).T
    return Reconstruction(
        mass=mass,
        coriolis=0.5 * (mixed + mass @ joint_brackets(system, v)),
        gravity=gravity,
        restoring=rest - gravity + actuation @ inputs,
        damping=moving - rest - force,
        actuation=actuation,
    )


def joint_brackets(system: System, v: Array) -> Array:
    """A (nv, nv): ad of the body twist of each spherical and free joint, zero elsewhere."""
    out = np.zeros((system.nv, system.nv))
    for joint in system.manifold_joints:
        n = joint.group.nv
        out[joint.v, joint.v] = lie.ad(joint.group.twist(v[joint.v]))[:n, :n]
    return out
