"""Magnets and coils: fields against formulas, forces between dipoles, exact derivatives, energy."""

import numpy as np
import pytest
from scipy.special import ellipe, ellipk

import pliant as pl
from load_robots import branched, check_tangents, state
from pliant.kernels import engine, slots
from pliant.model.magnetics import MU0, circle_field


def add_sources(robot: pl.Robot) -> None:
    robot.add_dipole("needle", "tool", moment=(3.0, 1.0, 2.0))
    robot.add_dipole("film", "twig", moment=lambda X: (1 + X, 0.5, 0))
    turned = pl.translate(0.3, -0.4, 0.6) @ pl.rotate((1, 2, 3), 0.7)
    robot.add_magnet("fixed", offset=turned, moment=(30.0, 20.0, -10.0))
    robot.add_magnet("own", "hub", offset=(0.02, 0.03, 0.01), moment=(5.0, -4.0, 3.0))
    robot.add_magnet("driven", "arm@0.7", offset=turned, moment=(4.0, 5.0, 1.0), constant=False)
    robot.add_coil("coil", offset=turned, radius=0.4, turns=2e4, axis=(1, 1, 0))
    robot.add_coil("pair", "hand.tip", radius=0.3, turns=1e4, arrangement="maxwell")
    robot.add_coil("even", "hub", radius=0.5, turns=1e4, axis="-y", arrangement="helmholtz")


@pytest.mark.parametrize("base", ["free", "fixed"])
def test_derivatives_are_exact(base):
    robot = branched(1, base=base)
    add_sources(robot)
    system = robot.compile()
    assert system.input_names == ("field_x", "field_y", "field_z", "driven", "coil", "pair", "even")
    assert system.input_units == ("T", "T", "T", "–", "A", "A", "A")
    for seed in range(2):
        q, v, a = state(system, seed)
        check_tangents(system, q, v, a, np.random.default_rng(seed).normal(size=system.nu) + 2.0, tol=3e-12)


def energy_of(system: pl.System, q: np.ndarray, u: np.ndarray) -> float:
    p = np.zeros(engine.PARAMETERS)
    system.run_job(engine.BALANCE, q, np.zeros(system.nv), np.zeros(system.nv), u, p=p)
    return float(p[slots.REPORT_LOADS])


def test_forces_are_minus_the_gradient_of_the_energy():
    robot = branched(2)
    add_sources(robot)
    other = branched(2)
    other.add_frame("same points", "arm@0.7")
    system, bare = robot.compile(), other.compile()
    q, _v, _a = state(system, 3)
    u = np.random.default_rng(0).normal(size=system.nu)
    force = bare.residual(q, np.zeros(system.nv), np.zeros(system.nv), None) - system.residual(
        q, np.zeros(system.nv), np.zeros(system.nv), u
    )
    h = 2e-5
    for k in range(system.nv):
        d = np.eye(system.nv)[k] * h
        e = [energy_of(system, system.integrate(q, s * d), u) for s in (-2, -1, 1, 2)]
        slope = (e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h)
        assert abs(slope + force[k]) < 1e-7 * np.abs(force).max()


def test_two_coaxial_dipoles():
    """F = 3 μ₀ m₁ m₂ / (2π d⁴), attracting, and the opposite on the source."""
    robot = pl.Robot("two", gravity=(0, 0, 0))
    for name in "ab":
        robot.add_body(name, joint=pl.Prismatic("x"), mass=1.0)
    robot.add_magnet("one", "a", moment=(0.3, 0, 0))
    robot.add_magnet("two", "b", moment=(0.7, 0, 0))
    system = robot.compile()
    d = 0.2
    r = system.residual([0.0, d], np.zeros(2), np.zeros(2))
    force = 3 * MU0 * 0.3 * 0.7 / (2 * np.pi * d**4)
    np.testing.assert_allclose(r, [-force, force], rtol=1e-13)


def loop_field(radius, x, rho):
    """Field along and across the axis of a circle with 1 A, by elliptic integrals."""
    a, b = (radius + rho) ** 2 + x**2, (radius - rho) ** 2 + x**2
    k2 = 4 * radius * rho / a
    f = MU0 / (2 * np.pi * np.sqrt(a))
    along = f * (ellipk(k2) + (radius**2 - rho**2 - x**2) / b * ellipe(k2))
    return along, f * x / rho * (-ellipk(k2) + (radius**2 + rho**2 + x**2) / b * ellipe(k2))


def test_the_field_of_a_coil():
    R = 0.13
    x = np.linspace(-0.3, 0.3, 7)
    axis = circle_field(R, np.column_stack([x, 0 * x, 0 * x]))
    np.testing.assert_allclose(axis[:, 0], MU0 * R**2 / (2 * (R**2 + x**2) ** 1.5), rtol=1e-13)
    assert np.abs(axis[:, 1:]).max() < 1e-20
    rng = np.random.default_rng(1)
    for _ in range(40):
        x, rho, turn = rng.uniform(-0.3, 0.3), rng.uniform(0.005, 0.4), rng.uniform(0, 6)
        along, across = loop_field(R, x, rho)
        got = circle_field(R, np.array([[x, rho * np.cos(turn), rho * np.sin(turn)]]))[0]
        want = np.array([along, across * np.cos(turn), across * np.sin(turn)])
        assert np.abs(got - want).max() < 1e-12 * np.abs(want).max()


@pytest.mark.parametrize("rho", [0.1, 0.125, 0.2])
def test_forces_in_the_field_of_a_coil(rho):
    """The kernel's moment and force on a dipole against elliptic integrals and their differences."""
    R, m = 0.13, np.array([0.2, -0.1, 0.3])
    robot = pl.Robot("dipole", gravity=(0, 0, 0))
    robot.add_body("ball", joint=pl.Free(), mass=1.0)
    robot.add_dipole("m", "ball", moment=m)
    robot.add_coil("coil", radius=R, turns=100, axis="x")
    system = robot.compile()
    at = np.array([0.03, rho * 0.6, rho * 0.8])

    def field(p):
        along, across = loop_field(R, p[0], np.hypot(p[1], p[2]))
        return 300 * np.array([along, *(across * p[1:] / np.hypot(p[1], p[2]))])

    u = {"coil": 3.0}
    r = system.residual([1, 0, 0, 0, *at], np.zeros(6), np.zeros(6), u)
    np.testing.assert_allclose(-r[:3], np.cross(m, field(at)), rtol=1e-11)
    h = 2e-5
    slope = [sum(c * (m @ field(at + k * h * e)) for c, k in zip((1, -8, 8, -1), (-2, -1, 1, 2))) for e in np.eye(3)]
    np.testing.assert_allclose(-r[3:], np.array(slope) / (12 * h), rtol=1e-7, atol=1e-9 * np.abs(r).max())
    np.testing.assert_allclose(system.magnetic_field([at], u=u)[0], field(at), rtol=1e-11)


def test_fields_have_no_divergence_and_no_curl():
    robot = pl.Robot("sources")
    robot.add_body("ball", joint=pl.Free(), mass=1.0)
    robot.add_magnet("magnet", "ball", offset=(0.1, 0, 0), moment=(1, 2, 3))
    robot.add_coil("coil", radius=0.2, axis=(1, 2, 0), turns=1e6, arrangement="maxwell")
    system = robot.compile()
    x, h = np.array([0.05, -0.07, 0.11]), 1e-4
    at = [x + k * h * e for e in np.eye(3) for k in (-2, -1, 1, 2)]
    B = system.magnetic_field(at, u={"coil": 1.0}).reshape(3, 4, 3)
    J = (B[:, 0] - 8 * B[:, 1] + 8 * B[:, 2] - B[:, 3]).T / (12 * h)
    assert abs(np.trace(J)) < 1e-8 * np.abs(J).max()
    assert np.abs(J - J.T).max() < 1e-8 * np.abs(J).max()


def test_helmholtz_and_maxwell_pairs():
    """B = (4/5)^1.5 μ₀ n I / R with three derivatives zero; gradient 48/49 √(3/7) μ₀ n I / R² without a third derivative."""
    robot = pl.Robot("pairs")
    robot.add_body("ball", joint=pl.Free(), mass=1.0)
    robot.add_coil("even", radius=0.1, turns=50, axis="x", arrangement="helmholtz")
    robot.add_coil("graded", radius=0.1, turns=50, axis="x", arrangement="maxwell")
    system = robot.compile()
    points = np.array([(0, 0, 0), (1e-3, 0, 0)])
    B = system.magnetic_field(points, u={"even": 2.0})[:, 0]
    np.testing.assert_allclose(B, 0.8**1.5 * MU0 * 100 / 0.1, rtol=1e-7)
    B = system.magnetic_field(points, u={"graded": 2.0})[:, 0]
    assert abs(B[0]) < 1e-18
    np.testing.assert_allclose(B[1] / 1e-3, 48 / 49 * np.sqrt(3 / 7) * MU0 * 100 / 0.1**2, rtol=1e-6)


def test_energy_and_momentum_of_magnets_that_float():
    """Two magnets that attract each other: the sum of kinetic and magnetic energy stays, and so does the momentum."""
    robot = pl.Robot("two", gravity=(0, 0, 0))
    for name, x in (("a", 0.0), ("b", 0.1)):
        body = robot.add_body(name, joint=pl.Free(), shape=pl.Sphere(0.01), mass=0.05, offset=(x, 0, 0))
        robot.add_magnet(f"magnet {name}", body, moment=(0.5, 0.3, 0.1 + x))
    system = robot.compile()
    assert "magnets" in system.why_dense()
    velocity = np.zeros(12)
    velocity[[4, 10]] = 0.02, -0.02
    run = pl.simulate(system, 0.25, velocity=velocity, rtol=1e-8, atol=1e-10)
    kinetic = np.array([system.kinetic_energy(q, v) for q, v in zip(run.q, run.v)])
    potential = np.array([energy_of(system, q, np.zeros(system.nu)) for q in run.q])
    assert np.ptp(kinetic) > 0.2 * kinetic[0]
    assert np.ptp(kinetic + potential) < 1e-5 * np.ptp(kinetic)
    linear = np.array([system.momentum(q, v).linear for q, v in zip(run.q, run.v)])
    assert np.abs(linear).max() < 1e-9


def test_far_from_the_origin_nothing_is_lost():
    forces = []
    for shift in (0.0, 1e5):
        robot = pl.Robot("far", gravity=(0, 0, 0))
        robot.add_body("ball", joint=pl.Free(), mass=1.0)
        robot.add_magnet("own", "ball", moment=(0.2, 0, 0.1))
        robot.add_body("other", parent="ball", joint=pl.Prismatic("x"), mass=1.0, offset=(0.3, 0, 0))
        robot.add_dipole("m", "other", moment=(0, 0, 2.0))
        forces.append(robot.compile().residual([1, 0, 0, 0, shift, 0, 0, 0.01], np.zeros(7), np.zeros(7)))
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-13, atol=1e-25)


def test_gradients_of_design_parameters():
    """No derivative is wrong: those by moments and places against differences of the equilibrium."""
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    material = pl.Material(young=1e6, poisson=0.5, density=1500)
    arm = robot.add_rod("arm", length=0.08, section=pl.Circle(0.002), material=material, strains=pl.Strains(bending=2))
    robot.add_dipole("film", arm, moment=(0.7, 0, 0))
    robot.add_magnet("magnet", offset=(0.1, 0.0, 0.08), moment=(0, 0, 2.0))
    robot.add_coil("coil", radius=0.1, turns=100, axis="y")
    system = robot.compile()
    assert system.parameters.units["magnet.moment.z"] == "A m²"
    u = {"coil": 1.0}

    def height(values):
        other = system.with_parameters(values)
        return other.pose("arm.tip", pl.solve_statics(other, u, start=rest).q)[2, 3]

    rest = pl.solve_statics(system, u)
    assert rest.success
    found = pl.static_gradient(system, rest, pl.costs.Position("arm.tip")[2].mean(at="end"))
    for name in ("magnet.moment.z", "magnet.frame.offset.x", "film.moment.x", "coil.radius", "arm.length"):
        value = system.parameters[name]
        h = 1e-3 * value
        e = [height({name: value + k * h}) for k in (-2, -1, 1, 2)]
        assert found[name] == pytest.approx((e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h), rel=1e-6), name


@pytest.mark.parametrize(
    ("method", "arguments", "error", "text"),
    [
        ("add_magnet", {"moment": (0, 0, 0)}, ValueError, "magnet 'x': moment is zero"),
        ("add_magnet", {"moment": (1, 0)}, ValueError, "magnet 'x': moment has shape"),
        ("add_magnet", {"moment": (1, 0, 0), "constant": 1}, TypeError, "constant = 1 must be True or False"),
        ("add_coil", {"radius": 0.0}, ValueError, "coil 'x': radius = 0.0 is not allowed"),
        ("add_coil", {"radius": 1.0, "turns": -1}, ValueError, "coil 'x': turns = -1"),
        ("add_coil", {"radius": 1.0, "arrangement": "toroid"}, ValueError, "coil 'x': arrangement = 'toroid'"),
    ],
)
def test_refusals(method, arguments, error, text):
    robot = pl.Robot("x")
    with pytest.raises(error, match=text):
        getattr(robot, method)("x", **arguments)
    assert not robot.sources


def test_points_of_the_field_are_checked():
    robot = pl.Robot("x")
    robot.add_body("ball", joint=pl.Free(), mass=1.0)
    with pytest.raises(ValueError, match=r"points has shape \(3,\), but shape \(n, 3\) is needed"):
        robot.compile().magnetic_field([0, 0, 0])
