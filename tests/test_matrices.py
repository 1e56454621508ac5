"""The matrices of the equation of motion by four routes: composite recursion, Jacobians, unit inputs, complex step."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
from load_robots import branched, complex_forces, moved
from pliant import lie
from pliant.kernels import layout
from pliant.kernels.recursion import dynamics, matrices
from robots import BASES, JOINTS, SILICONE, add_random_link, cable_driven_manipulator, random_inertia, random_robot
from test_spectral import integrated
from test_water_physics import submerged

RTOL = 1e-12
WATER = pl.Hydrodynamics.circular(cx=0.01, cy=2.5, cz=2.5, by=1.5, bz=1.5)


def loaded() -> pl.System:
    """A floating robot with branches, tendons, motors and wrenches in the world and on the body."""
    robot = branched(1)
    arm, hand = robot.link("arm"), robot.link("hand")
    robot.add_tendon("inner", arm, y=0.01, z=0.005)
    robot.add_tendon("across", ["hub", arm, hand])
    robot.add_motor("turn", hand)
    robot.add_wrench("push", "tool", force=(1, 2, 3), moment=(0.1, 0.2, -0.3), constant=True)
    robot.add_wrench("input", "twig.tip", force=(0, 1, 0), axes="body")
    return robot.compile()


def every_joint() -> pl.System:
    """A chain with each kind of joint, rods between bodies, several roots."""
    rng = np.random.default_rng(5)
    robot = pl.Robot("every joint", gravity=(1.0, -2.0, -9.0))
    parent = None
    for k, joint in enumerate(JOINTS):
        kind = list(BASES)[k] if k % 3 == 1 else "body"
        parent = add_random_link(robot, rng, f"link{k}", parent, kind, joint)
    robot.add_body("load", parent=parent, inertia=random_inertia(rng))
    robot.add_body(
        "ball",
        joint=pl.Spherical(stiffness=(1.0, 2.0, 3.0), rest=(0.3, 0.1, -0.2), damping=0.1),
        inertia=random_inertia(rng),
    )
    return robot.compile()


def constant_strain_arm(current=(0, 0, 0), **effects) -> pl.System:
    """The arm of [001]: sections of constant strain and different radius in water, with cables."""
    robot = pl.Robot("constant strain", gravity=(9.81, 0.5, -0.3))
    robot.set_fluid(density=1020, current=current)
    rods: list[pl.Link] = []
    for k, radius in enumerate((0.02, 0.014, 0.008)):
        rods.append(
            robot.add_rod(
                f"section{k}",
                parent=rods[-1] if rods else None,
                length=0.1 + 0.02 * k,
                section=pl.Circle(radius),
                material=pl.Material(young=110e3, poisson=0.5, density=1080 - 60 * k, viscosity=300),
                strains=pl.Strains.reissner(0),
                points=4,
            )
        )
    robot.add_hydrodynamics(rods, pl.Hydrodynamics.circular(**effects) if effects else WATER)
    robot.add_tendon("short", rods[0], y=0.01)
    robot.add_tendon("long", [pl.Along(rod, z=0.005) for rod in rods])
    return robot.compile()


ROBOTS = {
    "manipulator": lambda: cable_driven_manipulator().compile(),
    "loaded": loaded,
    "every joint": every_joint,
    "submerged": lambda: submerged((1.0, 2.0, -9.0)),
    "in a current": lambda: submerged((1.0, 2.0, -9.0), seed=1, current=(0.3, -0.2, 0.5)),
    "constant strain": constant_strain_arm,
    "random 2": lambda: random_robot(2).compile(),
    "random 7": lambda: random_robot(7).compile(),
    "collocated": lambda: integrated(branched(3), arm=20, twig=16).compile(),
}


@cache
def system_of(name: str) -> pl.System:
    return ROBOTS[name]()


@pytest.fixture(params=ROBOTS)
def case(request):
    system = system_of(request.param)
    rng = np.random.default_rng(3)
    q = system.random(rng, scale=0.5)
    return system, q, rng.normal(size=system.nv)


def close(actual, expected, scale: float = 0.0, rtol: float = RTOL) -> None:
    """Equal relative to the largest entry, or to `scale` if that is larger."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * max(np.abs(expected).max(initial=0.0), scale))


def mass_rate(system: pl.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Ṁ along v by complex step through the inverse dynamics."""
    h, n = 1e-40, system.nv
    work = layout.make_work(system.tables, complex)
    there, zero = moved(system, q, 1j * h * v), np.zeros(n, complex)
    out = np.zeros((n + 1, n), complex)
    for k in range(n + 1):
        a = zero.copy()
        if k < n:
            a[k] = 1.0
        dynamics.inverse_dynamics(system._model.tables, work, there, zero, a, out[k])
    return (out[:n] - out[n]).imag.T / h


# ---------------------------------------------------------------- Coriolis


def test_coriolis_force(case):
    system, q, v = case
    weight = np.abs(system.gravity_forces(q)).max()
    close(pl.coriolis_matrix(system, q, v) @ v, system.coriolis_forces(q, v), scale=weight)


def test_mass_rate_less_twice_coriolis_is_skew(case):
    system, q, v = case
    C, rate = pl.coriolis_matrix(system, q, v), mass_rate(system, q, v)
    close(rate, C + C.T)
    S = rate - 2 * C
    assert np.abs(S).max() > 1e-3 * np.abs(rate).max()  # not by being zero
    close(S, -S.T, scale=np.abs(rate).max())


def test_coriolis_is_half_the_derivative_of_the_forces(case):
    """For ordinary coordinates; each manifold joint adds M ad of its twist."""
    system, q, v = case
    d = system.inverse_dynamics_derivatives(q, v, np.zeros(system.nv))
    brackets = np.zeros((system.nv, system.nv))
    for joint in system.manifold_joints:
        k = joint.joint.nv
        brackets[joint.v, joint.v] = lie.ad(np.append(v[joint.v], np.zeros(6 - k)))[:k, :k]
    close(2 * pl.coriolis_matrix(system, q, v), d.dv + d.mass @ brackets)
    if len(system.internal.spatial):
        assert np.abs(d.mass @ brackets).max() > 1e-3 * np.abs(d.dv).max()


def test_coriolis_is_linear_in_the_velocity_and_christoffel():
    system = system_of("constant strain")
    rng = np.random.default_rng(0)
    q = system.random(rng)
    v, w = rng.normal(size=(2, system.nv))
    C, D = pl.coriolis_matrix(system, q, v), pl.coriolis_matrix(system, q, w)
    close(pl.coriolis_matrix(system, q, 2 * v - 3 * w), 2 * C - 3 * D)
    close(C @ w, D @ v)  # Γ_ijk is symmetric in j and k


def test_coriolis_does_not_know_gravity_nor_where_the_robot_is():
    system = system_of("submerged")
    rng = np.random.default_rng(0)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    C = pl.coriolis_matrix(system, q, v)
    np.testing.assert_array_equal(pl.coriolis_matrix(_under(system, -3.0 * system.gravity), q, v), C)
    far = q.copy()
    far[4:7] += (1e5, -2e5, 3e5)
    close(pl.coriolis_matrix(system, far, v), C, rtol=1e-11)


def complex_composite(system, task, q, v):
    """The composite-body kernel for complex arguments: matrix, and handles of the bodies."""
    ints, floats, buffer = system.workspace().packed
    out, handles = np.zeros((1, system.nv, system.nv), complex), np.zeros((system.nv, 6), complex)
    state = q.astype(complex), v.astype(complex)
    water = system.header_position("water")
    matrices.composite_products(ints, floats, np.zeros(buffer.size, complex), water, task, *state, out, handles)
    return out[0], handles


def test_complex_kernel():
    """The kernel differentiates itself: exactly in v, in which C is linear, and in q against central differences."""
    system = system_of("loaded")
    rng = np.random.default_rng(1)
    q = system.random(rng, scale=0.5)
    v, w = rng.normal(size=(2, system.nv))
    h = 1e-40
    slope = complex_composite(system, matrices.CORIOLIS, q, v + 1j * h * w)[0].imag / h
    close(slope, pl.coriolis_matrix(system, q, w))
    exact = complex_composite(system, matrices.CORIOLIS, moved(system, q, 1j * h * w), v)[0].imag / h
    e = 1e-5
    sides = [pl.coriolis_matrix(system, system.integrate(q, s * e * w), v) for s in (1, -1)]
    close((sides[0] - sides[1]) / (2 * e), exact, rtol=1e-7)


def test_complex_drag_and_weight():
    """∂(D v)/∂v of the kernel's own complex step against that of the residual, in still water without tails."""
    system = submerged((1.0, 2.0, -9.0), tail=False)
    rng = np.random.default_rng(1)
    q = system.random(rng, scale=0.5)
    v, w = rng.normal(size=(2, system.nv))
    h = 1e-40
    there = v + 1j * h * w
    slope = (complex_composite(system, matrices.DRAG, q, there)[0] @ there).imag / h
    zero = np.zeros(system.nv)
    full = system.residual_tangent(q, v, zero, weights=(0.0, 1.0, 0.0)) - system.damping_matrix()
    close(slope, (full - system.inverse_dynamics_derivatives(q, v, zero).dv) @ w, scale=np.abs(full @ w).max())
    _, handles = complex_composite(system, matrices.WEIGHT, moved(system, q, 1j * h * w), v)
    slope = -(handles[:, 3:] @ system.gravity).imag / h
    rest = system.residual_tangent(q, zero, zero) - system.elastic_tangent(q)
    close(slope, rest @ w, scale=np.abs(system.gravity_forces(q)).max())


# ---------------------------------------------------------------- the equation of motion


def test_equation_of_motion_is_the_residual(case):
    system, q, v = case
    rng = np.random.default_rng(9)
    a, tau = rng.normal(size=(2, system.nv))
    u = rng.uniform(size=system.nu)
    e = pl.equation_of_motion(system, q, v, u, tau)
    expected = system.residual(q, v, a, u, tau)
    close(e.residual(a), expected)
    written = e.mass @ a + e.coriolis @ v + e.gravity + e.elastic + e.damping @ v - e.actuation @ u - e.load - tau
    close(written, expected)
    # every part counts
    assert np.abs(e.mass @ a).max() > 1e-6 * np.abs(expected).max()
    assert np.abs(e.coriolis @ v).max() > 1e-6 * np.abs(expected).max()


def test_parts_of_the_equation(case):
    system, q, v = case
    rng = np.random.default_rng(9)
    u = rng.uniform(size=system.nu)
    e = pl.equation_of_motion(system, q, v, u)
    assert np.all(np.linalg.eigvalsh(e.mass) > 0)
    close(e.elastic, system.elastic_forces(q))
    i, ordinary = system.internal.shift.T
    deviation = np.zeros(system.nv)
    deviation[ordinary] = (q - system.internal.rest)[i]
    close((e.stiffness @ deviation)[ordinary], e.elastic[ordinary])
    # the forces of all loads, by the kernels that serve the complex step
    total = system.bias_forces(q, v) - complex_forces(system, q, v, np.zeros(system.nv), u).real
    close(e.actuation @ u + e.load, total, scale=np.abs(e.elastic).max())
    if not system.nu and not len(system.water.place):
        assert not np.any(e.load)


def test_load_is_what_wrenches_do():
    system = system_of("loaded")
    rng = np.random.default_rng(2)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    e = pl.equation_of_motion(system, q, v, rng.uniform(size=system.nu))
    expected = system.jacobian("tool", q, reference="world").T @ np.array([0.1, 0.2, -0.3, 1, 2, 3])
    close(e.load, expected, scale=np.abs(e.elastic).max())


def test_stiffness_is_the_derivative_of_the_elastic_forces():
    """Also of a spring on a spherical joint, whose force is not linear."""
    system = system_of("every joint")
    q = system.random(0, scale=0.5)
    e = pl.equation_of_motion(system, q, np.zeros(system.nv))
    own = system.v_slice("ball")
    assert np.abs(e.elastic[own]).max() > 0.1
    close(e.stiffness, system.elastic_tangent(q))
    h = 1e-6
    for k, d in enumerate(np.eye(system.nv)):
        ahead, behind = (system.elastic_forces(system.integrate(q, s * h * d)) for s in (1, -1))
        np.testing.assert_allclose(e.stiffness[:, k], (ahead - behind) / (2 * h), atol=1e-8 * np.abs(e.stiffness).max())
    assert np.all(np.diag(e.damping)[own] == 0.1)


def test_forces_of_inputs_that_do_not_act_linearly():
    robot = branched(2)
    robot.add_tendon("spring", ["hub", "hand"], control="elastic", stiffness=20.0, damping=1.0, rest_length=0.1)
    system = robot.compile()
    rng = np.random.default_rng(4)
    q, v, a = system.random(rng, scale=0.3), rng.normal(size=system.nv), rng.normal(size=system.nv)
    for u in (0.0, 0.05, 0.3):
        e = pl.equation_of_motion(system, q, v, [u])
        assert np.any(e.load)
        close(e.residual(a), system.residual(q, v, a, [u]))


# ---------------------------------------------------------------- duality


def test_projection_gives_what_the_recursion_gives(case):
    system, q, v = case
    p = pl.projected_matrices(system, q, v)
    c = pl.composite_matrices(system, q, v)
    close(p.mass, system.mass_matrix(q))
    close(p.coriolis, pl.coriolis_matrix(system, q, v))
    close(p.gravity, system.gravity_forces(q))
    close(p.c1, c.c1)
    close(p.c2, c.c2)
    close((p.c1 + p.c2) @ v, p.coriolis @ v, scale=np.abs(p.c1 @ v).max())
    assert np.abs(p.c1 + p.c2 - p.coriolis).max() > 1e-3 * np.abs(p.coriolis).max()  # two matrices, one force


def test_jacobians_of_points(case):
    """J and J̇ against those of frames, and the kinetic energy of the points."""
    system, q, v = case
    p = pl.projected_matrices(system, q, v)
    eta = p.jacobians @ v
    close(0.5 * np.einsum("ki,kij,kj", eta, p.inertias, eta), system.kinetic_energy(q, v))
    h = 1e-5
    sides = [pl.projected_matrices(system, system.integrate(q, s * h * v), v).jacobians for s in (1, -1)]
    close((sides[0] - sides[1]) / (2 * h), p.rates, rtol=1e-6)


def test_the_point_of_a_body_is_its_frame():
    system = system_of("loaded")
    rng = np.random.default_rng(0)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    p = pl.projected_matrices(system, q, v)
    J, rate = system.jacobian("tool", q), system.jacobian_rate("tool", q, v)
    k = int(np.argmin(np.abs(p.jacobians - J).max(axis=(1, 2))))
    close(p.jacobians[k], J)
    close(p.rates[k], rate)


# ---------------------------------------------------------------- [001]


def test_composite_matrices_are_the_equation_of_motion(case):
    system, q, v = case
    a = np.random.default_rng(8).normal(size=system.nv)
    c = pl.composite_matrices(system, q, v)
    e = pl.equation_of_motion(system, q, v)
    twist = np.append(np.zeros(3), system.gravity)
    left = c.mass @ a + (c.c1 + c.c2) @ v + e.elastic + e.damping @ v
    inner = system.residual(q, v, a)
    if not len(system.water.place):
        left -= e.load
    close(left - (c.gravity @ twist - c.drag @ v + c.flow), inner)


def test_gravity_matrix(case):
    system, q, v = case
    c = pl.composite_matrices(system, q, v)
    for e in np.eye(3):
        lifted = _with_gravity(system, e, q)
        close(c.gravity[:, 3:] @ e, lifted, scale=system.mass)
    assert not np.any(c.gravity[:, :3])


def _under(system: pl.System, gravity: np.ndarray) -> pl.System:
    """The same robot elsewhere."""
    robot = system.robot
    robot.gravity = gravity
    return robot.compile()


def _with_gravity(system: pl.System, g: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Forces of gravity and buoyancy by difference of residuals."""
    zero = np.zeros(system.nv)
    values = [_under(system, factor * g).residual(q, zero, zero) for factor in (0.0, 1.0)]
    size = np.abs(values[0]).max()
    assert size < 1e6
    return values[0] - values[1]


@pytest.mark.parametrize("name", ["submerged", "constant strain"])
def test_drag_in_still_water(name):
    """Residual at v less Coriolis and damping forces, where no tail acts."""
    system = submerged((0, 0, 0), tail=False) if name == "submerged" else system_of(name)
    rng = np.random.default_rng(6)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    c = pl.composite_matrices(system, q, v)
    zero = np.zeros(system.nv)
    moving = system.residual(q, v, zero) - system.residual(q, zero, zero)
    drag = moving - system.coriolis_forces(q, v) - system.damping_matrix() @ v
    assert not np.any(c.flow)
    close(c.drag @ v, drag, scale=np.abs(moving).max())
    assert np.abs(drag).max() > 1e-4 * np.abs(moving).max()
    assert v @ c.drag @ v > 0


def test_drag_is_quadratic_and_linear_in_the_speed():
    """D grows with |v| for quadratic drag and not at all for linear drag."""
    quadratic = constant_strain_arm()
    rng = np.random.default_rng(6)
    q, v = quadratic.random(rng, scale=0.5), rng.normal(size=quadratic.nv)
    one, two = (pl.composite_matrices(quadratic, q, s * v).drag for s in (1.0, 2.0))
    close(two, 2 * one)
    assert not np.any(pl.composite_matrices(quadratic, q, 0 * v).drag)
    robot = branched(0)
    robot.set_fluid(density=1000.0)
    robot.add_hydrodynamics("arm", pl.Hydrodynamics(linear_drag=(1.0, 2.0, 3.0)))
    system = robot.compile()
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    one, two = (pl.composite_matrices(system, q, s * v).drag for s in (0.0, 2.0))
    close(two, one)
    close(one, one.T)
    assert np.any(one)


def test_flow_of_a_current_and_of_a_tail():
    still, tail = constant_strain_arm(), system_of("submerged")
    moving = constant_strain_arm(current=(0.4, 0.1, -0.2))
    rng = np.random.default_rng(6)
    q, v = still.random(rng, scale=0.5), rng.normal(size=still.nv)
    at_rest = pl.composite_matrices(moving, q, 0 * v)
    force = moving.residual(q, 0 * v, 0 * v) - still.residual(q, 0 * v, 0 * v)
    close(at_rest.flow, -force, scale=np.abs(still.residual(q, 0 * v, 0 * v)).max())
    assert np.abs(at_rest.flow).max() > 1e-5
    assert np.any(at_rest.drag)  # the speed relative to the fluid
    q, v = tail.random(rng, scale=0.5), rng.normal(size=tail.nv)
    one, two = (pl.composite_matrices(tail, q, s * v).flow for s in (1.0, 2.0))
    close(two, 4 * one, rtol=1e-10)
    assert np.any(one)


def printed_rate(system: pl.System, p: pl.ProjectedMatrices, v: np.ndarray, k: int) -> np.ndarray:
    """Eq. 22 of [001] as printed, for point k of a chain of equal numbers of points."""
    per = len(p.jacobians) // (system.nv // 6)
    n, J = k // per, p.jacobians[k]
    out = np.zeros_like(J)
    for i in range(n):
        after = slice(6 * (i + 1), 6 * (n + 1))
        out[:, 6 * i : 6 * i + 6] = -lie.ad(J[:, after] @ v[after]) @ J[:, 6 * i : 6 * i + 6]
    return out


def test_the_jacobian_rate_of_the_constant_strain_paper_is_incomplete():
    """[001] eq. 22 lacks what a section's own strain rate does to its Jacobian; the complete formula follows."""
    system = system_of("constant strain")
    rng = np.random.default_rng(1)
    q = system.random(rng)
    v = rng.normal(size=system.nv) * np.tile([5, 5, 5, 0.1, 0.1, 0.1], 3)
    p = pl.projected_matrices(system, q, v)
    per = len(p.jacobians) // 3
    printed, missing = 0.0, 0.0
    for k, (J, rate) in enumerate(zip(p.jacobians, p.rates)):
        n = k // per
        x = [system.rod_length(f"section{i}") for i in range(n)]
        inner = np.array([X for X in system.rod_points(f"section{n}") if 0 < X < 1])
        x.append(system.rod_length(f"section{n}") * inner[k % per])
        strains = [np.array([0, 0, 0, 1, 0, 0]) + q[6 * i : 6 * i + 6] for i in range(n + 1)]
        steps = [lie.exp(s * xi) for s, xi in zip(x, strains)]
        for i in range(n + 1):
            own = slice(6 * i, 6 * i + 6)
            back = np.eye(6)
            for g in steps[i:]:
                back = lie.Ad(lie.inverse(g)) @ back
            T_rate = x[i] * lie.tangent_rate(x[i] * strains[i], x[i] * v[own])
            motion = sum(J[:, 6 * j : 6 * j + 6] @ v[6 * j : 6 * j + 6] for j in range(i, n + 1))
            complete = -lie.ad(motion) @ J[:, own] + back @ T_rate
            close(rate[:, own], complete, scale=np.abs(rate).max())
        paper = printed_rate(system, p, v, k)
        printed += J.T @ p.inertias[k] @ paper
        missing = max(missing, float(np.abs(paper @ v - rate @ v).max() / np.abs(rate @ v).max()))
    force = system.coriolis_forces(q, v)
    assert missing > 0.1
    assert np.abs((p.c1 + printed) @ v - force).max() > 0.05 * np.abs(force).max()
    close((p.c1 + p.c2) @ v, force, scale=np.abs(system.gravity_forces(q)).max())


def test_a_section_that_starts_to_bend_accelerates_along_its_axis():
    """κ̇² s³/6 at the end of a straight section, where [001] eq. 17 has zero."""
    robot = pl.Robot("one section")
    robot.add_rod("rod", length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.reissner(0))
    system = robot.compile()
    rate = np.array([0, 2.0, 0, 0, 0, 0])
    zero = np.zeros(6)
    body = system.acceleration("rod.tip", zero, rate, zero)
    close(body, [0, 0, 0, 2.0**2 * 0.3**3 / 6, 0, 0])
    close(system.jacobian_rate("rod.tip", zero, rate) @ rate, body)


# ---------------------------------------------------------------- [004]


def test_reconstruction(case):
    system, q, v = case
    rng = np.random.default_rng(12)
    u, a = rng.uniform(size=system.nu), rng.normal(size=system.nv)
    e = pl.equation_of_motion(system, q, v, u)
    r = pl.reconstruct(system, q, v, u)
    weight = np.abs(e.gravity).max()
    size = np.abs(system.residual(q, v, 0 * a, u)).max()
    close(r.mass, e.mass, scale=weight)
    close(r.coriolis, e.coriolis, scale=weight)
    close(r.gravity, e.gravity)
    close(r.actuation, e.actuation, scale=size)
    close(r.restoring + r.damping, e.elastic + e.damping @ v - e.load, scale=size)
    whole = r.mass @ a + r.coriolis @ v + r.gravity + r.restoring + r.damping - r.actuation @ u
    close(whole, system.residual(q, v, a, u))


def test_reconstruction_without_loads_tells_elastic_from_damping_forces():
    system = system_of("every joint")
    rng = np.random.default_rng(12)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    r = pl.reconstruct(system, q, v)
    size = np.abs(system.residual(q, v, 0 * v)).max()
    close(r.restoring, system.elastic_forces(q), scale=size)
    close(r.damping, system.damping_matrix() @ v, scale=size)
    assert np.abs(r.damping).max() > 1e-9 * size
    assert r.actuation.shape == (system.nv, 0)


# ---------------------------------------------------------------- random states, wrong arguments


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(list(ROBOTS)),
    size=st.sampled_from([0.0, 0.1, 1.0]),
    speed=st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
)
def test_random_states(seed, name, size, speed):
    system = system_of(name)
    rng = np.random.default_rng(seed)
    q, v, a = system.random(rng, scale=size), speed * rng.normal(size=system.nv), rng.normal(size=system.nv)
    u = rng.uniform(size=system.nu)
    e, p = pl.equation_of_motion(system, q, v, u), pl.projected_matrices(system, q, v)
    close(e.residual(a), system.residual(q, v, a, u), scale=np.abs(e.elastic).max())
    close(p.mass, e.mass)
    close(p.coriolis, e.coriolis, scale=1e-12)
    rate = mass_rate(system, q, v)
    close(rate, e.coriolis + e.coriolis.T, scale=speed * 1e-3 * np.abs(e.mass).max())


def test_power():
    """The kinetic energy changes with the power of all forces but the Coriolis force: v·(Ṁ − 2C) v = 0."""
    system = system_of("loaded")
    rng = np.random.default_rng(0)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    u = rng.uniform(size=system.nu)
    e = pl.equation_of_motion(system, q, v, u)
    a = np.linalg.solve(e.mass, -e.bias())
    close(a, system.forward_dynamics(q, v, u=u), rtol=1e-9)
    change = v @ e.mass @ a + 0.5 * v @ mass_rate(system, q, v) @ v
    power = v @ (e.actuation @ u + e.load - e.gravity - e.elastic - e.damping @ v)
    assert abs(change - power) < 1e-10 * max(abs(v @ e.elastic), abs(power))


def test_wrong_arguments():
    system = system_of("constant strain")
    q, v = system.neutral(), np.zeros(system.nv)
    for function in (
        pl.coriolis_matrix,
        pl.equation_of_motion,
        pl.projected_matrices,
        pl.composite_matrices,
        pl.reconstruct,
    ):
        with pytest.raises(ValueError, match="q has shape"):
            function(system, q[:-1], v)
        with pytest.raises(ValueError, match="v has shape"):
            function(system, q, v[:-1])
    with pytest.raises(ValueError, match="tau has shape"):
        pl.equation_of_motion(system, q, v, tau=[0.0])
    with pytest.raises(KeyError, match="no input named"):
        pl.reconstruct(system, q, v, {"nothing": 1.0})
