"""Tendons: lengths, generalised forces and their derivatives, tendons along part of a rod, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from robots import BASES, SILICONE

STRAIGHT = (0, 0, 0, 1, 0, 0)
CURVED = (0.4, -0.7, 0.9, 1.05, 0.1, -0.05)


def soft_rod(
    strains: pl.Strains, *, length=0.5, reference=STRAIGHT, joint=None, gravity=(0, 0, -9.81), **options
) -> pl.Robot:
    robot = pl.Robot("rod", gravity=gravity)
    robot.add_rod(
        "rod",
        length=length,
        section=pl.Circle((0.03, 0.02)),
        material=SILICONE,
        strains=strains,
        reference_strain=reference,
        joint=joint,
        **options,
    )
    return robot


def wound(X: float) -> float:
    return 0.01 * np.sin(5 * X) + 0.004 * X


def rising(X: float) -> float:
    return 0.012 * np.cos(3 * X) - 0.002


def add_tendons(robot: pl.Robot, rod: str = "rod") -> None:
    """Straight, wound, tapered and partial tendons."""
    robot.add_tendon("straight", rod, y=0.01, z=-0.005)
    robot.add_tendon("wound", rod, y=wound, z=rising)
    robot.add_tendon("lower", rod, y=wound, z=0.01, end=0.6)
    robot.add_tendon("upper", rod, y=-0.01, z=rising, start=0.3)
    robot.add_tendon("middle", rod, z=rising, start=0.25, end=0.7)


def several_rods() -> pl.System:
    """Tendons on two rods of a tree with joints of every kind, and a wrench among the inputs."""
    robot = pl.Robot("tree")
    base = robot.add_body("base", joint=pl.Free(), mass=1, inertia=(0.1, 0.1, 0.1))
    first = robot.add_rod(
        "first",
        parent=base,
        joint=pl.Spherical(),
        length=0.6,
        section=pl.Circle(0.03),
        material=SILICONE,
        strains=pl.Strains.reissner(2, linear_order=1),
        reference_strain=CURVED,
    )
    robot.add_rod(
        "second",
        parent=first.at(0.4),
        joint=pl.Revolute("y"),
        length=0.3,
        section=pl.Circle(0.02),
        material=SILICONE,
        strains=pl.Strains(torsion=pl.LinearElements(2), bending=pl.LinearElements(2)),
    )
    robot.add_tendon("a", "first", y=wound)
    robot.add_tendon("b", "second", z=rising, start=0.2)
    robot.add_wrench("push", first, force=(1, 2, 3))
    robot.add_tendon("c", first, y=0.01, z=0.02, end=0.5)
    return robot.compile()


def differences(f, system: pl.System, q: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative of f along integrate by central differences of order 6, columns per velocity coordinate."""
    columns = []
    for k, size in enumerate(system.internal.scale):
        d = np.eye(system.nv)[k] * h * size
        column = sum(
            w * (f(system.integrate(q, m * d)) - f(system.integrate(q, -m * d)))
            for m, w in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
        )
        columns.append(column / (h * size))
    return np.array(columns).T


def assert_close(actual, expected, rtol):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * np.abs(expected).max())


# ------------------------------------------------------------ lengths in closed form


def lengths(robot: pl.Robot, q=None) -> np.ndarray:
    system = robot.compile()
    return system.tendon_lengths(system.neutral() if q is None else q)[0]


def test_length_along_a_straight_rod():
    robot = soft_rod(pl.Strains.constant(), length=0.7)
    robot.add_tendon("axis", "rod")
    robot.add_tendon("parallel", "rod", y=0.01, z=0.015)
    robot.add_tendon("inclined", "rod", y=lambda X: 0.01 - 0.02 * X, z=lambda X: 0.015 * X)
    robot.add_tendon("part", "rod", y=0.01, start=0.2, end=0.65)
    robot.add_tendon("inclined part", "rod", z=lambda X: 0.02 * X, start=0.5)
    expected = [0.7, 0.7, np.hypot(0.7, 0.025), 0.7 * 0.45, np.hypot(0.35, 0.01)]
    np.testing.assert_allclose(lengths(robot), expected, rtol=1e-12)
    stretched = np.array([0, 0, 0, 0.2, 0, 0.0])
    expected = [0.84, 0.84, np.hypot(0.84, 0.025), 0.84 * 0.45, np.hypot(0.42, 0.01)]
    np.testing.assert_allclose(lengths(robot, stretched), expected, rtol=1e-12)


def test_length_along_an_arc():
    """An arc of curvature κ about z: a tendon at y has the radius 1/κ − y; z makes no difference."""
    robot = soft_rod(pl.Strains.planar_bending(0), length=0.7)
    for name, y, z in (("in", 0.02, 0.0), ("out", -0.02, 0.0), ("beside", 0.0, 0.02), ("both", 0.01, 0.01)):
        robot.add_tendon(name, "rod", y=y, z=z)
    robot.add_tendon("part", "rod", y=0.02, start=0.1, end=0.4)
    kappa = 3.0
    expected = [0.7 * (1 - kappa * y) for y in (0.02, -0.02, 0.0, 0.01)] + [0.21 * (1 - kappa * 0.02)]
    np.testing.assert_allclose(lengths(robot, [kappa]), expected, rtol=1e-13)
    reference = soft_rod(pl.Strains.planar_bending(0), length=0.7, reference=pl.constant_strain(bending_z=kappa))
    reference.add_tendon("in", "rod", y=0.02)
    np.testing.assert_allclose(lengths(reference), [0.7 * (1 - kappa * 0.02)], rtol=1e-13)


def test_length_of_a_helix():
    """A tendon that winds around a straight rod, and a straight tendon along a twisted one: helices."""
    robot = soft_rod(pl.Strains.constant(), length=0.7)
    turns, radius = 2.0, 0.015
    angle = 2 * np.pi * turns
    robot.add_tendon("winds", "rod", y=lambda X: radius * np.cos(angle * X), z=lambda X: radius * np.sin(angle * X))
    robot.add_tendon("straight", "rod", y=radius)
    expected = np.hypot(0.7, radius * angle)
    np.testing.assert_allclose(lengths(robot), [expected, 0.7], rtol=1e-11)
    twist = np.array([angle / 0.7, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(lengths(robot, twist)[1], expected, rtol=1e-13)
    np.testing.assert_allclose(lengths(robot, -twist)[0], 0.7, rtol=1e-11)  # the twist undoes the winding


def test_length_is_the_length_of_the_line_in_space():
    """Points of the tendon from poses, on a fine grid."""
    robot = soft_rod(pl.Strains.reissner(2), reference=CURVED, points=40)
    add_tendons(robot)
    system = robot.compile()
    q = system.random(1, scale=0.5)
    for name, length in zip(system.input_names, system.tendon_lengths(q)[0]):
        tendon = robot.tendons[name].along[0]
        X = np.linspace(tendon.start, tendon.end, 8001)
        g = system.rod_poses("rod", q, X)
        points = g[:, :3, 3] + np.einsum("mij,mj->mi", g[:, :3, :3], tendon.offsets(X)[0])
        chord = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        np.testing.assert_allclose(length, chord, rtol=2e-7)


def test_given_derivatives_of_the_routing():
    robot = soft_rod(pl.Strains.reissner(2))
    robot.add_tendon("differences", "rod", y=wound, z=rising)
    robot.add_tendon(
        "given",
        "rod",
        y=wound,
        z=rising,
        dy=lambda X: 0.05 * np.cos(5 * X) + 0.004,
        dz=lambda X: -0.036 * np.sin(3 * X),
    )
    system = robot.compile()
    q = system.random(0)
    (a, b), J = system.tendon_lengths(q)
    np.testing.assert_allclose(a, b, rtol=1e-13)
    np.testing.assert_allclose(J[0], J[1], rtol=0, atol=1e-12 * np.abs(J).max())


# ------------------------------------------------------------ forces


@pytest.mark.parametrize("basis", BASES)
def test_forces_are_minus_the_derivative_of_the_length(basis):
    """B = −∂ℓ/∂q for every basis, with straight and curved reference and with breakpoints inside the tendon."""
    for reference in (STRAIGHT, CURVED):
        robot = soft_rod(pl.Strains.reissner(BASES[basis]), reference=reference)
        add_tendons(robot)
        system = robot.compile()
        q = system.random(3, scale=0.5)
        _, J = system.tendon_lengths(q)
        expected = differences(lambda x, s=system: s.tendon_lengths(x)[0], system, q)
        assert_close(J * system.internal.scale, expected * system.internal.scale, 1e-10)
        np.testing.assert_array_equal(system.actuation_matrix(q), -J.T)


def test_forces_in_a_tree():
    """Only the rod of a tendon feels it; inputs come in the order tendons, wrenches."""
    system = several_rods()
    assert system.input_names == ("a", "b", "c", "push")
    q = system.random(0, scale=0.5)
    ell, J = system.tendon_lengths(q)
    assert len(ell) == len(J) == 3
    expected = differences(lambda x: system.tendon_lengths(x)[0], system, q)
    assert_close(J * system.internal.scale, expected * system.internal.scale, 1e-10)
    B = system.actuation_matrix(q)
    np.testing.assert_array_equal(B[:, :3], -J[:3].T)
    for name, rod, first in (("a", "first", 3), ("b", "second", 1), ("c", "first", 3)):
        column = B[:, system.input_names.index(name)]
        span = system.v_slice(rod)
        felt = np.arange(span.start + first, span.stop)  # strains, not the joint
        assert np.all(np.delete(column, felt) == 0)
        assert np.abs(column[felt]).max() > 0


def test_residual_is_linear_in_the_tensions():
    system = several_rods()
    rng = np.random.default_rng(0)
    q, v, a = system.random(rng, scale=0.5), rng.normal(size=system.nv), rng.normal(size=system.nv)
    u = rng.uniform(0, 20, 4)
    r0, r = system.residual(q, v, a), system.residual(q, v, a, u)
    B = system.actuation_matrix(q)
    np.testing.assert_allclose(r0 - r, B @ u, rtol=0, atol=1e-12 * max(np.abs(r0).max(), np.abs(B @ u).max()))
    named = system.residual(q, v, a, dict(zip(system.input_names, u)))
    np.testing.assert_array_equal(named, r)
    np.testing.assert_array_equal(system.inputs({"c": 2.0}), [0, 0, 2, 0])


@pytest.mark.parametrize("case", ["rod", "tree"])
def test_tangent_with_tension(case):
    """residual_tangent against central differences, with large tensions; their part is symmetric."""
    if case == "rod":
        robot = soft_rod(pl.Strains.reissner(2), reference=CURVED)
        add_tendons(robot)
        system = robot.compile()
        u = np.array([80.0, 50, 90, 60, 70])
    else:
        system = several_rods()
        u = np.array([80.0, 50, 90, 3])
    rng = np.random.default_rng(1)
    q, v, a = system.random(rng, scale=0.3), rng.normal(size=system.nv), rng.normal(size=system.nv)
    scale = system.internal.scale
    expected = differences(lambda x: system.residual(x, v, a, u), system, q)
    K = system.residual_tangent(q, v, a, u)
    assert_close(scale[:, None] * K * scale, scale[:, None] * expected * scale, 1e-9)
    tendons = u.copy()
    if case == "tree":
        tendons[3] = 0
    part = scale[:, None] * (system.residual_tangent(q, v, a, tendons) - system.residual_tangent(q, v, a)) * scale
    assert np.abs(part).max() > 1e-3
    np.testing.assert_allclose(part, part.T, rtol=0, atol=1e-10 * np.abs(scale[:, None] * K * scale).max())
    # the tension does not enter the derivatives with respect to v and a
    other = system.residual_tangent(q, v, a, u, weights=(0.0, 1.0, 1.0))
    np.testing.assert_allclose(
        other, system.residual_tangent(q, v, a, weights=(0.0, 1.0, 1.0)), rtol=0, atol=1e-13 * np.abs(other).max()
    )


def test_tension_bends_towards_the_tendon():
    """A tendon at y > 0 shortens that side: bending about +z; on the other side about −z."""
    robot = soft_rod(pl.Strains.planar_bending(0), gravity=(0, 0, 0))
    robot.add_tendon("left", "rod", y=0.01)
    robot.add_tendon("right", "rod", y=-0.01)
    system = robot.compile()
    left, right = (pl.solve_statics(system, {name: 2.0}) for name in ("left", "right"))
    assert left.q[0] > 0 > right.q[0]
    assert system.pose("rod.tip", left.q)[1, 3] > 0
    K = system.stiffness_matrix()[0, 0]
    np.testing.assert_allclose(left.q, [2.0 * 0.01 * 0.5 / K], rtol=1e-10)


def test_power_of_a_tendon():
    """The tension times the speed of shortening is the power on the robot."""
    system = several_rods()
    rng = np.random.default_rng(2)
    q, v, u = system.random(rng, scale=0.5), rng.normal(size=system.nv), np.array([3.0, 4.0, 5.0, 0.0])
    h = 1e-5
    rate = (
        system.tendon_lengths(system.integrate(q, h * v))[0] - system.tendon_lengths(system.integrate(q, -h * v))[0]
    ) / (2 * h)
    np.testing.assert_allclose(v @ system.actuation_matrix(q) @ u, -u[:3] @ rate, rtol=1e-7)


# ------------------------------------------------------------ part of a rod


def test_parts_add_up():
    """Two parts of a tendon have the length and the force of the whole."""
    robot = soft_rod(pl.Strains.reissner(2), reference=CURVED, points=30)
    robot.add_tendon("whole", "rod", y=wound, z=rising)
    robot.add_tendon("lower", "rod", y=wound, z=rising, end=0.37)
    robot.add_tendon("upper", "rod", y=wound, z=rising, start=0.37)
    system = robot.compile()
    ell, J = system.tendon_lengths(system.random(0, scale=0.5))
    np.testing.assert_allclose(ell[1] + ell[2], ell[0], rtol=1e-10)
    np.testing.assert_allclose(J[1] + J[2], J[0], rtol=0, atol=1e-9 * np.abs(J).max())


def test_a_short_tendon_leaves_the_rest_alone():
    """Pieces of the rod beyond start and end feel nothing."""
    robot = soft_rod(pl.Strains.planar_bending(pl.PiecewiseConstant(4)), gravity=(0, 0, 0))
    robot.add_tendon("short", "rod", y=0.01, start=0.25, end=0.75)
    system = robot.compile()
    eq = pl.solve_statics(system, {"short": 5.0})
    assert eq.success
    np.testing.assert_allclose(eq.q[[0, 3]], 0, atol=1e-12)
    assert eq.q[1] > 0
    assert eq.q[2] > 0
    np.testing.assert_allclose(system.actuation_matrix(eq.q)[:, 0], [0, 0.00125, 0.00125, 0], atol=1e-15)


# ------------------------------------------------------------ errors


def test_tendon_outside_the_section():
    robot = soft_rod(pl.Strains.reissner(1))
    with pytest.raises(ValueError, match=r"'far'.*outside the section.*'rod'"):
        robot.add_tendon("far", "rod", y=0.031)
    with pytest.raises(ValueError, match="outside the section"):
        robot.add_tendon("far", "rod", y=0.02, z=0.02)
    with pytest.raises(ValueError, match="X = 1"):
        robot.add_tendon("far", "rod", y=0.025)  # leaves the taper at the tip only
    assert robot.tendons == {}
    robot.add_tendon("near", "rod", y=0.025, end=0.45)
    robot.add_tendon("surface", "rod", z=lambda X: 0.03 - 0.01 * X)


def test_tendon_on_a_body():
    robot = soft_rod(pl.Strains.reissner(1))
    robot.add_body("tool", parent="rod", mass=1)
    with pytest.raises(TypeError, match=r"'pull'.*'tool' is a rigid body"):
        robot.add_tendon("pull", "tool", y=0.01)
    with pytest.raises(KeyError, match="rod"):
        robot.add_tendon("pull", "rodd", y=0.01)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"start": -0.1}, "start"),
        ({"end": 1.2}, "end"),
        ({"start": 0.5, "end": 0.5}, "must differ from start"),
        ({"y": np.nan}, "y"),
        ({"y": lambda X: np.inf if X > 0.5 else 0.0}, "finite"),
    ],
)
def test_bad_tendons(options, match):
    robot = soft_rod(pl.Strains.reissner(1))
    with pytest.raises(ValueError, match=match) as error:
        robot.add_tendon("bad", "rod", **options)
    assert "tendon 'bad'" in str(error.value)
    assert robot.tendons == {}


def test_names_of_tendons_are_unique():
    robot = soft_rod(pl.Strains.reissner(1))
    robot.add_tendon("pull", "rod")
    for name in ("pull", "rod"):
        with pytest.raises(ValueError, match="taken"):
            robot.add_tendon(name, "rod")
    robot.add_frame("mark", "rod@0.5")
    with pytest.raises(ValueError, match="taken"):
        robot.add_tendon("mark", "rod")


def test_bad_inputs():
    system = several_rods()
    q = system.neutral()
    zero = np.zeros(system.nv)
    with pytest.raises(KeyError, match=r"'pul'.*push"):
        system.residual(q, zero, zero, {"pul": 1.0})
    with pytest.raises(ValueError, match=r"shape \(3,\).*\(4,\).*push"):
        system.residual(q, zero, zero, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="input 'a'"):
        pl.solve_statics(system, {"a": np.nan})
    with pytest.raises((TypeError, ValueError), match="input 'a'"):
        system.inputs({"a": "much"})
    plain = soft_rod(pl.Strains.reissner(1)).compile()
    assert plain.actuation_matrix(plain.neutral()).shape == (12, 0)
    with pytest.raises(ValueError, match="no inputs"):
        plain.residual(plain.neutral(), np.zeros(12), np.zeros(12), [1.0])
    with pytest.raises(KeyError, match="cable"):
        plain.residual(plain.neutral(), np.zeros(12), np.zeros(12), {"cable": 1.0})


def test_a_negative_tension_needs_permission():
    robot = soft_rod(pl.Strains.reissner(2))
    robot.add_tendon("a", "rod", y=0.01)
    robot.add_tendon("b", "rod", y=0.01, push=True)
    system = robot.compile()
    q, zero = system.random(0, scale=0.3), np.zeros(system.nv)
    with pytest.raises(ValueError, match="input 'a' = -5 is not allowed: a tendon only pulls"):
        system.residual(q, zero, zero, {"a": -5.0})
    r0 = system.residual(q, zero, zero)
    pull, push = (system.residual(q, zero, zero, {"b": s}) - r0 for s in (5.0, -5.0))
    np.testing.assert_allclose(push, -pull, rtol=0, atol=1e-12 * np.abs(r0).max())


# ---------------------------------------------------------------- friction at corners


def through_eyelets(
    mu: float, slip_speed: float | None = None, control: str = "tension", *, rod: bool = False
) -> pl.System:
    """A cable from the world through two eyelets of a turning arm to a body on a ball joint, and further along a soft rod to a hand."""
    robot = pl.Robot("crane", gravity=(0, 0, -9.81))
    box = {"shape": pl.Box(0.5, 0.05, 0.05), "mass": 1.0, "com": (0.25, 0, 0)}
    a = robot.add_body("a", joint=pl.Revolute("y"), **box)
    b = robot.add_body("b", parent="a", offset=(0.5, 0, 0), joint=pl.Spherical(), **box)
    path = [
        robot.resolve("world").at((0, 0, 0.3)),
        a.at((0.3, 0.02, 0.1)),
        a.at((0.45, 0.02, 0.1)),
        b.at((0.4, 0.0, 0.1)),
    ]
    if rod:
        soft = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=3e3)
        arm = robot.add_rod(
            "arm", parent="b", offset=pl.translate(0.5, 0, 0), length=0.4, section=pl.Circle(0.02), material=soft,
            strains=pl.Strains.reissner(3),
        )  # fmt: skip
        hand = robot.add_body("hand", parent=arm.tip, shape=pl.Box(0.02, 0.04, 0.04), mass=0.02, com=(0.02, 0, 0))
        path += [pl.Along(arm, z=0.012, start=0.1, end=0.9), hand.at((0.02, 0.01, 0.02))]
    law = {"stiffness": 100.0, "damping": 2.0, "rest_length": 0.3} if control == "elastic" else {}
    slip = {} if slip_speed is None else {"slip_speed": slip_speed}
    robot.add_tendon("cable", path, friction=mu, control=control, **law, **slip)
    return robot.compile()


def test_friction_at_corners_is_that_of_a_capstan():
    """Behind each corner the tension is less by exp(−μθ); by virtual work of the stretches. It was left out."""
    for mu in (0.0, 0.3, 1.0):
        system = through_eyelets(mu)
        rng = np.random.default_rng(1)
        q = system.integrate(system.neutral(), 0.3 * rng.normal(size=system.nv))

        def eyelets(q: np.ndarray, system: pl.System = system) -> list[np.ndarray]:
            places = (("a", (0.3, 0.02, 0.1)), ("a", (0.45, 0.02, 0.1)), ("b", (0.4, 0.0, 0.1)))
            return [np.array([0, 0, 0.3]), *((system.pose(link, q) @ [*x, 1.0])[:3] for link, x in places)]

        ways = np.diff(eyelets(q), axis=0)
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        angles = np.arccos(np.sum(ways[1:] * ways[:-1], axis=1))
        tension = np.exp(-mu * np.cumsum([0.0, *angles]))
        h, want = 1e-5, np.zeros(system.nv)
        for k, e in enumerate(np.eye(system.nv)):
            plus, minus = (eyelets(system.integrate(q, s * h * e)) for s in (1, -1))
            change = np.linalg.norm(np.diff(plus, axis=0), axis=1) - np.linalg.norm(np.diff(minus, axis=0), axis=1)
            want[k] = -tension @ change / (2 * h)
        found = system.actuation_matrix(q, np.zeros(system.nv), {"cable": 5.0})[:, 0]
        np.testing.assert_allclose(found, want, atol=2e-5 * np.abs(want).max())


@pytest.mark.parametrize("rod", [False, True])
@pytest.mark.parametrize(
    ("control", "slip_speed"), [("tension", None), ("tension", 0.05), ("elastic", None), ("elastic", 0.05)]
)
def test_derivatives_of_friction_at_corners(control, slip_speed, rod):
    """By coordinates, velocities and the input, with ball joint, rod, straight stretches that are fixed and that move."""
    system = through_eyelets(0.5, slip_speed, control, rod=rod)
    rng, scale, h = np.random.default_rng(1), system.internal.scale, 1e-4
    q = system.integrate(system.neutral(), 0.3 * rng.normal(size=system.nv) * np.minimum(1.0, scale))
    v, zero, u = rng.normal(size=system.nv), np.zeros(system.nv), np.array([5.0 if control == "tension" else 0.1])

    def slope(force):
        return (8 * (force(h) - force(-h)) - (force(2 * h) - force(-2 * h))) / (12 * h)

    moves = np.diag(scale)
    K = [slope(lambda x, m=m: system.residual(system.integrate(q, x * m), v, zero, u)) for m in moves]
    D = [slope(lambda x, m=m: system.residual(q, v + x * m, zero, u)) for m in moves]
    for weights, want in (((1, 0, 0), np.array(K)), ((0, 1, 0), np.array(D))):
        found = (system.residual_tangent(q, v, zero, u, weights=weights) * scale).T
        np.testing.assert_allclose(found * scale, want * scale, atol=1e-8 * np.abs(want * scale).max())
    by_input = -slope(lambda x: system.residual(q, v, zero, u + x))
    np.testing.assert_allclose(system.actuation_matrix(q, v, u)[:, 0], by_input, atol=1e-8 * np.abs(by_input).max())


def test_an_elbow_between_rods_is_a_corner():
    """Rods that go on in one line have none; one that is turned by 60 degrees has."""
    found = []
    for angle in (0.0, np.pi / 3):
        robot = pl.Robot("elbow", gravity=(0, 0, 0))
        options = {
            "length": 0.2, "section": pl.Circle(0.01), "strains": pl.Strains.kirchhoff(1),
            "material": pl.Material(young=1e6, poisson=0.5, density=1000),
        }  # fmt: skip
        one = robot.add_rod("one", **options)
        two = robot.add_rod("two", parent=one.tip, offset=pl.rotate("z", angle), **options)
        robot.add_tendon("cable", [pl.Along(one, z=0.004), pl.Along(two, z=0.004)], friction=0.5)
        system = robot.compile()
        found.append(system.actuation_matrix(system.neutral(), np.zeros(system.nv), {"cable": 1.0})[:, 0])
    first, second = (slice(0, system.nv // 2), slice(system.nv // 2, system.nv))
    np.testing.assert_allclose(found[1][first], found[0][first], atol=1e-12)
    np.testing.assert_allclose(found[1][second], np.exp(-0.5 * np.pi / 3) * found[0][second], rtol=1e-4, atol=1e-12)
