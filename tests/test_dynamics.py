"""Dynamics by independent routes: recursion, projection with Jacobians, composite bodies, complex step, energies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
import projection
from pliant.kernels import layout
from robots import (
    BASES,
    JOINTS,
    SILICONE,
    add_random_link,
    cable_driven_manipulator,
    complex_step,
    random_inertia,
    random_pose,
    random_robot,
)

RTOL = 1e-12
WEIGHTED_RTOL = 1e-10


class Case(NamedTuple):
    """A robot in a state."""

    system: pl.System
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def random_state(system: pl.System, seed: int, scale: float = 1.0) -> Case:
    rng = np.random.default_rng([seed, 1])
    q = system.random(rng, scale=scale)
    return Case(system, q, rng.normal(size=system.nv), rng.normal(size=system.nv))


def assert_close(actual, expected, rtol: float = RTOL, *, scale: float = 0.0) -> None:
    """Equal relative to the largest entry, or to `scale` if that is larger."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.all(np.isfinite(expected))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * max(np.abs(expected).max(), scale))


def assert_close_weighted(actual, expected, mass: np.ndarray, *, scale: float = 0.0) -> None:
    """Also in coordinates of unit mass, where light coordinates count as much as heavy ones."""
    assert_close(actual, expected, scale=scale)
    unit = 1 / np.sqrt(np.diag(mass))
    weight = np.multiply.outer(unit, unit) if np.ndim(expected) == 2 else unit
    assert_close(weight * actual, weight * expected, WEIGHTED_RTOL, scale=1e-3)


# ---------------------------------------------------------------- robots


def joint_and_rod(joint: str) -> pl.Robot:
    """A rod on a joint."""
    rng = np.random.default_rng(len(joint))
    robot = pl.Robot(joint, gravity=(1.0, -2.0, -9.0))
    add_random_link(robot, rng, "rod", None, "legendre", joint)
    return robot


def only_basis(basis: str) -> pl.Robot:
    """One rod, all strains with the same basis."""
    robot = pl.Robot(basis)
    robot.add_rod(
        "rod",
        length=0.7,
        section=pl.Rectangle((0.05, 0.03), 0.02),
        material=SILICONE,
        strains=pl.Strains.reissner(BASES[basis]),
    )
    return robot


def full_inertia() -> np.ndarray:
    """A mass density with every entry of the 6×6 matrix."""
    root = np.random.default_rng(4).normal(size=(6, 6))
    return root @ root.T / 6 + 0.1 * np.eye(6)


STIFFNESS = (1.0, 2.0, 3.0, 100.0, 200.0, 300.0)


def general_rod() -> pl.Robot:
    robot = pl.Robot("general rod")
    robot.add_rod(
        "rod", joint=pl.Universal("y", "z"), length=0.6, strains=pl.Strains.reissner(1), stiffness=STIFFNESS,
        inertia=lambda X: (1 + X) * full_inertia(),
    )  # fmt: skip
    return robot


def general_inertia() -> pl.Robot:
    """Rods with full and with anisotropic 6×6 mass, among ordinary links."""
    rng = np.random.default_rng(4)
    robot = pl.Robot("general", gravity=(0.5, 1.0, -9.0))
    base = robot.add_body("base", joint=pl.Free(), inertia=random_inertia(rng))
    first = robot.add_rod(
        "full", parent=base, offset=random_pose(rng), length=0.6, strains=pl.Strains.reissner(1), stiffness=STIFFNESS,
        inertia=lambda X: (1 + X) * full_inertia(),
    )  # fmt: skip
    plain = add_random_link(robot, rng, "plain", first.at(0.5), "quadratic", "spherical")
    robot.add_rod(
        "anisotropic", parent=plain.tip, joint=pl.Universal("y", "z"), length=0.4, stiffness=STIFFNESS, magnus=2,
        strains=pl.Strains.kirchhoff_extensible(2), inertia=[0.02, 0.01, 0.03, 1.0, 2.0, 3.0],
    )  # fmt: skip
    robot.add_body("load", parent=first.at(0.5), joint=pl.Prismatic("y"), inertia=random_inertia(rng))
    return robot


def springs() -> pl.Robot:
    """Springs and dampers in every kind of joint."""
    rng = np.random.default_rng(8)
    robot = pl.Robot("springs")
    mount = rng.normal(size=(6, 6))
    free = pl.Free(stiffness=mount @ mount.T, damping=2.0, rest=random_pose(rng))
    base = robot.add_body("base", joint=free, inertia=random_inertia(rng))
    ball = pl.Spherical(stiffness=(1.0, 2.0, 3.0), damping=0.5, rest=(0.2, -0.3, 0.4))
    rod = robot.add_rod(
        "rod", parent=base, joint=ball, length=0.5, section=pl.Circle(0.02), material=SILICONE,
        strains=pl.Strains.kirchhoff(2), offset=random_pose(rng),
    )  # fmt: skip
    hinge = pl.Universal("x", "z", stiffness=(0.5, 1.5), damping=(0.1, 0.2), rest=(0.3, -0.1))
    robot.add_body("tool", parent=rod.at(0.6), joint=hinge, inertia=random_inertia(rng), offset=random_pose(rng))
    return robot


def one_dof(kind: str) -> pl.Robot:
    robot = pl.Robot(kind)
    if kind == "rod":
        robot.add_rod(
            "rod", length=0.5, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains(bending_z=0)
        )  # fmt: skip
    else:
        rng = np.random.default_rng(1)
        robot.add_body("body", joint=JOINTS[kind](rng), inertia=random_inertia(rng), offset=random_pose(rng))
    return robot


def many_dofs() -> pl.Robot:
    """More than 200 dof: high order, one rod of more than 60 columns, elements, a free base."""
    robot = pl.Robot("many dofs")
    common = {"section": pl.Circle((0.03, 0.02)), "material": SILICONE}
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.2, 0.2, 0.1), mass=1.0)
    wide = robot.add_rod("wide", parent=base, length=0.8, strains=pl.Strains.reissner(10), **common)
    robot.add_rod("twisted", parent=wide.at(0.4), length=0.5, strains=pl.Strains.kirchhoff(15), **common)
    planar = pl.Strains.planar_extensible(15)
    robot.add_rod("planar", parent=wide.tip, joint=pl.Revolute("y"), length=0.6, strains=planar, **common)
    elements = pl.Strains.kirchhoff(pl.LinearElements(16))
    robot.add_rod("elements", parent=base, joint=pl.Spherical(), length=0.7, strains=elements, **common)
    return robot


def coil(points: int | None = None, magnus: int = 4) -> pl.Robot:
    robot = pl.Robot("coil")
    robot.add_rod(
        "rod", length=1.0, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.reissner(1), points=points,
        magnus=magnus, joint=pl.Revolute("y"), offset=pl.rotate("z", 0.4),
    )  # fmt: skip
    return robot


def coiled(turns: float, points: int | None = None, magnus: int = 4) -> Case:
    """A rod of 1 m bent by many turns about two axes."""
    case = random_state(coil(points, magnus).compile(), 3, scale=0.3)
    q = case.q.copy()
    names = case.system.dof_names
    q[names.index("rod.bending_z[0]")] += 2 * np.pi * turns * 0.8
    q[names.index("rod.bending_y[0]")] += 2 * np.pi * turns * 0.6
    return case._replace(q=q)


def helix() -> Case:
    """A spring: 5 turns in the reference configuration, with a load."""
    robot = pl.Robot("helix")
    length = 5 * np.hypot(2 * np.pi * 0.05, 0.04)
    rod = robot.add_rod(
        "spring", length=length, section=pl.Circle(0.004), material=SILICONE, strains=pl.Strains.kirchhoff(4),
        reference_strain=pl.helix(radius=0.05, pitch=0.04), points=16,
    )  # fmt: skip
    robot.add_body("load", parent=rod, shape=pl.Sphere(0.02), mass=0.1)
    return random_state(robot.compile(), 5)


def straight(size: float, moving: bool) -> Case:
    """Rods with exactly zero (size = 0) or tiny strain, joints at zero, at rest or moving."""
    robot = cable_driven_manipulator()
    arm = robot.links[0]
    ball = robot.add_body(
        "ball", parent=arm.tip, joint=pl.Spherical(), shape=pl.Sphere(0.03), mass=0.2, com=(0.1, 0, 0)
    )
    robot.add_rod(
        "finger", parent=ball, joint=pl.Planar("z"), length=0.2, section=pl.Circle(0.01), material=SILICONE,
        strains=pl.Strains.kirchhoff(2), magnus=2,
    )  # fmt: skip
    system = robot.compile()
    case = random_state(system, 6)
    q = system.integrate(system.neutral(), size * case.v)
    return case._replace(q=q) if moving else Case(system, q, np.zeros(system.nv), np.zeros(system.nv))


def of(build: Callable[..., pl.Robot], *arguments, seed: int = 2) -> Callable[[], Case]:
    return lambda: random_state(build(*arguments).compile(), seed)


CASES: dict[str, Callable[[], Case]] = {
    **{f"random {seed}": of(random_robot, seed, seed=seed) for seed in range(25)},
    **{f"{joint} joint": of(joint_and_rod, joint) for joint in JOINTS},
    **{f"{basis} basis": of(only_basis, basis) for basis in BASES},
    **{f"one dof {kind}": of(one_dof, kind) for kind in ("revolute", "prismatic", "helical", "rod")},
    "general inertia": of(general_inertia),
    "general rod": of(general_rod),
    "springs": of(springs),
    "manipulator": of(cable_driven_manipulator),
    "many dofs": of(many_dofs),
    "coil of 3 turns": lambda: coiled(3),
    "coil of 3 turns, order 2": lambda: coiled(3, magnus=2),
    "coil of 5 turns in 4 steps": lambda: coiled(5, points=3),
    "helix": helix,
    "straight at rest": lambda: straight(0.0, False),
    "straight moving": lambda: straight(0.0, True),
    "almost straight at rest": lambda: straight(1e-9, False),
    "almost straight moving": lambda: straight(1e-9, True),
}


@cache
def load(name: str) -> Case:
    return CASES[name]()


@pytest.fixture(params=list(CASES))
def case(request) -> Case:
    return load(request.param)


def test_cases_cover_the_code():
    """The robots reach both layouts of the columns, both kinds of inertia, long steps and the sizes asked for."""
    flags = np.array([load(name).system.tables.flags for name in CASES])
    assert flags.min(axis=0).tolist() == [0, 0, 0, 0, 0]
    assert flags.max(axis=0)[:2].tolist() == [1, 1]
    kinds = load("general inertia").system.tables.step[:, layout.S_INERTIA]
    assert {int(layout.RIGID), int(layout.GENERAL)} <= set(kinds.tolist())
    assert load("many dofs").system.nv >= 200
    assert load("many dofs").system.tables.block[:, layout.COLS].max() >= 60
    assert all(load(f"one dof {kind}").system.nv == 1 for kind in ("revolute", "prismatic", "helical", "rod"))
    system, q, _, _ = load("coil of 5 turns in 4 steps")
    X = system.rod_points("rod")
    bending = system.strain("rod", q, (X[1:] + X[:-1]) / 2)[:, :3]
    assert (np.linalg.norm(bending, axis=1) * np.diff(X)).max() > 2 * np.pi  # length 1 m
    still = load("straight at rest")
    np.testing.assert_array_equal(still.q, still.system.neutral())


# ---------------------------------------------------------------- inverse dynamics and mass


def kane(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """ID and M by projection with Jacobians."""
    n = case.system.nv
    tau, M = np.zeros(n), np.zeros((n, n))
    work = layout.make_work(case.system.tables)
    projection.projected_dynamics(case.system._model.tables, work, case.q, case.v, case.a, np.zeros((6, n)), tau, M)
    return tau, M


def test_inverse_dynamics_by_three_routes(case):
    system, q, v, a = case
    expected, M = kane(case)
    assert_close_weighted(system.inverse_dynamics(q, v, a), expected, M)
    assert_close_weighted(system.inverse_dynamics_derivatives(q, v, a).tau, expected, M)


def test_mass_matrix_by_three_routes(case):
    system, q, v, a = case
    _, M = kane(case)
    assert_close_weighted(system.mass_matrix(q), M, M)
    assert_close_weighted(system.inverse_dynamics_derivatives(q, v, a).mass, M, M)


def test_mass_matrix_by_unit_accelerations(case):
    """Column k of M is ID(q, 0, eₖ) − ID(q, 0, 0)."""
    system, q, _, _ = case
    zero, rest = np.zeros(system.nv), system.gravity_forces(q)
    columns = [system.inverse_dynamics(q, zero, e) - rest for e in np.eye(system.nv)]
    assert_close(system.mass_matrix(q), np.transpose(columns), scale=np.abs(rest).max())


def test_mass_matrix_is_symmetric_and_positive_definite(case):
    M = case.system.mass_matrix(case.q)
    assert_close_weighted(M, M.T, M)
    size = np.sqrt(np.diag(M))
    assert size.min() > 0
    assert np.linalg.eigvalsh(M / np.outer(size, size)).min() > 1e-12


def test_inverse_dynamics_is_linear_in_acceleration(case):
    system, q, v, a = case
    b = np.random.default_rng(9).normal(size=system.nv)
    bias = system.bias_forces(q, v)
    both = system.inverse_dynamics(q, v, 2 * a - 3 * b)
    single = 2 * (system.inverse_dynamics(q, v, a) - bias) - 3 * (system.inverse_dynamics(q, v, b) - bias)
    assert_close(both - bias, single, scale=np.abs(bias).max())
    assert_close(both - bias, system.mass_matrix(q) @ (2 * a - 3 * b), scale=np.abs(bias).max())


def test_coriolis_forces_are_quadratic_in_velocity(case):
    system, q, v, _ = case
    gravity = system.gravity_forces(q)
    once, twice, back = (system.coriolis_forces(q, c * v) for c in (1, 2, -1))
    assert_close(twice, 4 * once, scale=np.abs(gravity).max())
    assert_close(back, once, scale=np.abs(gravity).max())


# ---------------------------------------------------------------- derivatives


def assert_derivatives_exact(case: Case) -> None:
    system, q, v, a = case
    d = system.inverse_dynamics_derivatives(q, v, a)
    dq, dv, mass = complex_step(system, q, v, a)
    size = np.abs(mass).max()  # ∂ID/∂v is zero at rest
    assert_close_weighted(d.dq, dq, mass, scale=size)
    assert_close_weighted(d.dv, dv, mass, scale=size)
    assert_close_weighted(d.mass, mass, mass)


def test_derivatives_by_complex_step(case):
    assert_derivatives_exact(case)


def test_fused_tangent(case):
    system, q, v, a = case
    d = system.inverse_dynamics_derivatives(q, v, a)
    for alpha, beta in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (37.0, -1400.0), (-2e3, 4e6)):
        terms = d.dq, alpha * d.dv, beta * d.mass
        size = max(np.abs(term).max() for term in terms)
        assert_close(system.tangent(q, v, a, alpha, beta), sum(terms), scale=size)


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(1000, 10**6), links=st.integers(1, 7), scale=st.sampled_from([1e-7, 1e-3, 0.3, 3.0]))
def test_derivatives_of_any_robot(seed, links, scale):
    assert_derivatives_exact(random_state(random_robot(seed, links).compile(), seed, scale))


# ---------------------------------------------------------------- forward dynamics


def resistance(case: Case) -> np.ndarray:
    return case.system.elastic_forces(case.q) + case.system.damping_matrix() @ case.v


def test_forward_dynamics_inverts_inverse_dynamics(case):
    """As a residual to rounding, and as an acceleration to rounding times ‖M⁻¹‖."""
    system, q, v, a = case
    tau = system.inverse_dynamics(q, v, a) + resistance(case)
    back = system.forward_dynamics(q, v, tau)
    M = system.mass_matrix(q)
    terms = tau, resistance(case), system.bias_forces(q, v), np.abs(M) @ np.abs(back)
    size = max(np.abs(term).max() for term in terms)
    assert_close(system.inverse_dynamics(q, v, back) + resistance(case), tau, scale=size)
    assert np.abs(back - a).max() <= 1e-14 * size / np.linalg.eigvalsh(M).min()
    np.testing.assert_array_equal(system.forward_dynamics(q, v), system.forward_dynamics(q, v, np.zeros(system.nv)))


def test_forward_derivatives_follow_from_inverse_derivatives(case):
    """M ∂a/∂q = −(∂ID/∂q + ∂elastic/∂q), M ∂a/∂v = −(∂ID/∂v + D), M ∂a/∂tau = 1."""
    system, q, v, _ = case
    tau = np.random.default_rng(3).normal(size=system.nv) + resistance(case)
    f = system.forward_dynamics_derivatives(q, v, tau)
    np.testing.assert_array_equal(f.a, system.forward_dynamics(q, v, tau))
    d = system.inverse_dynamics_derivatives(q, v, f.a)
    size = np.sqrt(np.diag(d.mass))
    tolerance = 1e-14 * np.linalg.cond(d.mass / np.outer(size, size))
    for solution, rhs in (
        (f.dq, -(d.dq + system.elastic_tangent(q))),
        (f.dv, -(d.dv + system.damping_matrix())),
        (f.dtau, np.eye(system.nv)),
    ):
        assert_close(d.mass @ solution, rhs, scale=(np.abs(d.mass) @ np.abs(solution)).max())
        expected = system.solve_mass(q, rhs)  # with the mass by composite bodies
        assert_close(size[:, None] * solution, size[:, None] * expected, tolerance)


def differences(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """Central difference of sixth order at 0."""
    return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)


@pytest.mark.parametrize(
    "name",
    ["random 1", "random 8", "random 13", "random 14", "random 16", "free joint", "spherical joint", "planar joint"]
    + ["springs", "general inertia", "manipulator", "one dof rod", "straight moving"],
)
def test_forward_derivatives_by_differences(name):
    case = load(name)
    system, q, v, _ = case
    tau = np.random.default_rng(3).normal(size=system.nv) + resistance(case)
    f = system.forward_dynamics_derivatives(q, v, tau)
    along_q, along_v, along_tau = (np.empty((system.nv, system.nv)) for _ in range(3))
    h = 3e-3
    for k, e in enumerate(np.eye(system.nv)):
        along_q[:, k] = differences(lambda x, e=e: system.forward_dynamics(system.integrate(q, x * e), v, tau), h)
        along_v[:, k] = differences(lambda x, e=e: system.forward_dynamics(q, v + x * e, tau), h)
        along_tau[:, k] = differences(lambda x, e=e: system.forward_dynamics(q, v, tau + x * e), h)
    assert_close(f.dq, along_q, 1e-6)
    assert_close(f.dv, along_v, 1e-6)
    assert_close(f.dtau, along_tau, 1e-6)


# ---------------------------------------------------------------- energy and momentum, without the recursion


def lagrangian_robot() -> pl.Robot:
    """A branched robot with ordinary coordinates only."""
    rng = np.random.default_rng(12)
    robot = pl.Robot("lagrangian", gravity=(2.0, -3.0, -9.0))
    base = add_random_link(robot, rng, "base", None, "body", "universal")
    rod = robot.add_rod(
        "rod", parent=base, length=0.6, section=pl.Circle((0.03, 0.02)), material=SILICONE,
        strains=pl.Strains.reissner(1), offset=random_pose(rng), reference_strain=pl.helix(0.3, 0.5),
    )  # fmt: skip
    add_random_link(robot, rng, "slider", rod.at(0.4), "body", "cylindrical")
    add_random_link(robot, rng, "branch", rod.at(0.4), "linear", "helical")
    add_random_link(robot, rng, "hand", rod.tip, "body", "planar")
    return robot


@pytest.mark.parametrize(
    "name", ["lagrangian", "manipulator", "helix", "coil of 3 turns", "one dof helical", "general rod"]
)
def test_euler_lagrange(name):
    """d/dt ∂T/∂v − ∂T/∂q + ∂V/∂q = ID, with T and V as the only input and differences for every derivative."""
    case = random_state(lagrangian_robot().compile(), 1) if name == "lagrangian" else load(name)
    system, q, v, a = case
    assert system.nq == system.nv
    unit = np.eye(system.nv)

    def momentum(x: np.ndarray, y: np.ndarray) -> np.ndarray:  # exact, since T is quadratic in v
        return np.array([(system.kinetic_energy(x, y + e) - system.kinetic_energy(x, y - e)) / 2 for e in unit])

    h = 1e-3
    rate = differences(lambda t: momentum(q + t * v + t * t / 2 * a, v + t * a), h)
    dT = np.array([differences(lambda x, e=e: system.kinetic_energy(q + x * e, v), h) for e in unit])
    dV = np.array([differences(lambda x, e=e: system.gravitational_energy(q + x * e), h) for e in unit])
    gravity = system.gravity_forces(q)
    assert_close(rate - dT, system.inverse_dynamics(q, v, a) - gravity, 1e-7)
    if not system.tables.flags[0]:  # weight is no potential force on a mass that differs by direction
        assert_close(dV, gravity, 1e-7)
        assert_close(rate - dT + dV, system.inverse_dynamics(q, v, a), 1e-7)


def path(case: Case, t: float) -> tuple[np.ndarray, np.ndarray]:
    """A motion with velocity v and acceleration a at t = 0, also on spherical and free joints."""
    system, q, v, a = case
    return system.integrate(q, t * v + t * t / 2 * a), v + t * a


def test_power_balance(case):
    """dT/dt = v · (ID − gravity) and dV/dt = v · gravity along any motion."""
    system, q, v, a = case
    gravity = system.gravity_forces(q)
    inertial = system.inverse_dynamics(q, v, a) - gravity
    rate = differences(lambda t: system.kinetic_energy(*path(case, t)), 1e-4)
    assert_close(rate, v @ inertial, 1e-7, scale=np.abs(v) @ np.abs(inertial))
    if system.tables.flags[0]:
        return  # weight is no potential force on a mass that differs by direction
    rate = differences(lambda t: system.gravitational_energy(path(case, t)[0]), 1e-4)
    assert_close(rate, v @ gravity, 1e-7, scale=np.abs(v) @ np.abs(gravity))


def test_kinetic_energy_is_the_quadratic_form(case):
    system, q, v, _ = case
    v = v if v.any() else np.ones(system.nv)
    assert_close(system.kinetic_energy(q, v), v @ system.mass_matrix(q) @ v / 2)


def floating() -> pl.Robot:
    rng = np.random.default_rng(2)
    robot = pl.Robot("floating", gravity=(1.0, 2.0, -9.0))
    base = add_random_link(robot, rng, "base", None, "body", "free")
    arm = add_random_link(robot, rng, "arm", base, "hermite", "spherical")
    add_random_link(robot, rng, "tool", arm.at(0.37), "body", "planar")
    return robot


@pytest.mark.parametrize("robot", [floating(), joint_and_rod("free"), many_dofs()], ids=lambda robot: robot.name)
def test_momentum_balance(robot):
    """What the base joint of a floating robot must supply is the rate of momentum minus the weight."""
    case = random_state(robot.compile(), 4)
    system, q, v, a = case
    base = robot.links[0]
    g = system.pose(base.base if base.is_rod else base, q) @ base.offset_after.inverse().matrix
    wrench = pl.lie.Ad_star(g) @ system.inverse_dynamics(q, v, a)[:6]
    momentum = differences(lambda t: np.concatenate(system.momentum(*path(case, t))), 1e-4)
    weight = system.mass * system.gravity
    applied = np.concatenate([np.cross(system.center_of_mass(q), weight), weight])
    assert_close(wrench, momentum - applied, 1e-7, scale=np.abs(applied).max())


# ---------------------------------------------------------------- far away


@pytest.mark.parametrize("distance", [1e3, 1e5])
@pytest.mark.parametrize("how", ["free joint", "offset"])
def test_far_from_the_origin(distance, how):
    """Nothing depends on where the robot is: mass, forces and derivatives keep their digits 100 km away."""
    away = distance * np.array([0.6, -0.7, 0.4])

    def build(place: np.ndarray) -> pl.Robot:
        rng = np.random.default_rng(21)
        robot = pl.Robot("far", gravity=(1.0, 2.0, -9.0))
        base = robot.add_body(
            "base", joint=pl.Free(), inertia=random_inertia(rng), offset=pl.Pose(place), offset_after=random_pose(rng)
        )
        arm = add_random_link(robot, rng, "arm", base, "quadratic", "spherical")
        add_random_link(robot, rng, "branch", arm.at(0.37), "chebyshev", "planar")
        add_random_link(robot, rng, "tool", arm.tip, "body", "revolute")
        return robot

    near = random_state(build(np.zeros(3)).compile(), 22)
    system, q, v, a = near
    if how == "free joint":
        far = near._replace(q=q.copy())
        far.q[4:7] += away
    else:
        far = near._replace(system=build(away).compile())
    other, x = far.system, far.q
    assert_close(other.pose("tool", x)[:3, 3] - away, system.pose("tool", q)[:3, 3], 1e-15 * distance + 1e-14)
    assert_close(other.mass_matrix(x), system.mass_matrix(q), 1e-11)
    ours, theirs = other.inverse_dynamics_derivatives(x, v, a), system.inverse_dynamics_derivatives(q, v, a)
    for mine, expected in zip(ours, theirs):
        assert_close(mine, expected, 1e-11)
    assert_close(other.inverse_dynamics(x, v, a), system.inverse_dynamics(q, v, a), 1e-11)
    assert_close(other.forward_dynamics(x, v), system.forward_dynamics(q, v), 1e-9)
    assert_close(other.kinetic_energy(x, v), system.kinetic_energy(q, v), 1e-11)
    for reference in ("body", "world"):
        assert_close(
            other.jacobian("tool", x, reference=reference), system.jacobian("tool", q, reference=reference), 1e-11
        )
