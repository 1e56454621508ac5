"""What drives a robot, against mechanics: tendons, push rods, chambers, internal stress and motors.

Expected values come from closed forms, from lines drawn through space and from differences, not from the kernels.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import pliant as pl
from pliant import Along, Table, helical_routing

YOUNG, RADIUS, LENGTH = 1e6, 0.02, 0.5
EI, EA = YOUNG * np.pi * RADIUS**4 / 4, YOUNG * np.pi * RADIUS**2
GJ = 2 * EI / 3
ELASTIC = pl.Material(young=YOUNG, poisson=0.5, density=1000.0)  # no damping


def beam(
    strains: pl.Strains, *, length: float = LENGTH, gravity: tuple = (0, 0, 0), **options: object
) -> tuple[pl.Robot, pl.Link]:
    robot = pl.Robot("beam", gravity=gravity)
    rod = robot.add_rod("rod", length=length, section=pl.Circle(RADIUS), material=ELASTIC, strains=strains, **options)
    return robot, rod


def arm_with_hand(*, gap: float = 0.05, base: pl.Joint | None = None) -> pl.Robot:
    """A rod, a body on a hinge, and another rod on it."""
    robot = pl.Robot("arm with hand", gravity=(0, 0, -9.81))
    arm = robot.add_rod(
        "arm", joint=base, length=0.4, section=pl.Circle(RADIUS), material=ELASTIC, strains=pl.Strains.reissner(2),
    )  # fmt: skip
    palm = robot.add_body(
        "palm", parent=arm.tip, offset=(gap, 0, 0), joint=pl.Revolute("z", stiffness=1.0), shape=pl.Box(0.06, 0.05, 0.03), mass=0.1
    )  # fmt: skip
    robot.add_rod(
        "finger", parent=palm, offset=(gap, 0, 0), length=0.3, section=pl.Circle(RADIUS), material=ELASTIC,
        strains=pl.Strains.kirchhoff(pl.LinearElements(2)),
    )  # fmt: skip
    return robot


def through_everything() -> list:
    """From the world over an eyelet, wound along a rod, through the body, and along part of the second rod."""
    return [
        pl.Frame("world", None, pl.translate(-0.1, 0.1, 0.05)),
        "arm.base",
        Along("arm", **helical_routing(0.01, 0.7)),
        pl.Frame("palm", None, pl.translate(-0.01, 0.015, 0.01)),
        pl.Frame("palm", None, pl.translate(0.02, 0.015, -0.01)),
        Along("finger", y=(0.01, 0.005), z=-0.005, start=0.1, end=0.8),
    ]


def line_in_space(system: pl.System, path: list, q: np.ndarray, n: int = 2001) -> np.ndarray:
    """Points of a tendon in the world, from poses alone."""
    points = []
    for piece in path:
        if not isinstance(piece, Along):
            points.append(system.pose(piece, q)[None, :3, 3])
            continue
        X = np.linspace(piece.start, piece.end, n)
        g = system.rod_poses(piece.rod, q, X)
        points.append(g[:, :3, 3] + np.einsum("mij,mj->mi", g[:, :3, :3], piece.offsets(X)[0]))
    return np.concatenate(points)


def differences(f, system: pl.System, q: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative of f along integrate by central differences of order 6, columns per velocity coordinate."""
    columns = []
    for k, size in enumerate(system.internal.scale):
        d = np.eye(system.nv)[k] * h * size
        terms = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
        columns.append(
            sum(w * (f(system.integrate(q, m * d)) - f(system.integrate(q, -m * d))) for m, w in terms) / (h * size)
        )
    return np.array(columns).T


def generalised_force(system: pl.System, q: np.ndarray, u: object, v: np.ndarray | None = None) -> np.ndarray:
    """What the inputs do, from the equation of motion."""
    zero = np.zeros(system.nv)
    v = zero if v is None else v
    return (
        system.inverse_dynamics(q, v, zero)
        + system.elastic_forces(q)
        + system.damping_matrix() @ v
        - system.residual(q, v, zero, u)
    )


# ------------------------------------------------------------ tension


@pytest.mark.parametrize("offset", [0.005, -0.015, 0.0])
def test_a_parallel_tendon_makes_a_circle(offset):
    """Curvature T d/EI and shortening T/EA, exactly, at any deflection."""
    robot, rod = beam(pl.Strains.planar_extensible(3))
    robot.add_tendon("cable", rod, y=offset)
    system = robot.compile()
    T = 8.0
    rest = pl.solve_statics(system, {"cable": T})
    assert rest.success
    assert rest.stable
    strain = system.strain("rod", rest.q, 20)
    np.testing.assert_allclose(strain[:, 2], T * offset / EI, atol=1e-9)
    np.testing.assert_allclose(strain[:, 3], 1 - T / EA, atol=1e-11)
    angle = T * offset / EI * LENGTH
    tip = system.pose("rod.tip", rest.q)[:2, :2]
    np.testing.assert_allclose(tip, [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], atol=1e-9)


def test_the_plane_of_bending_follows_the_offset():
    robot, rod = beam(pl.Strains.kirchhoff(2))
    robot.add_tendon("cable", rod, y=0.006, z=0.008)
    system = robot.compile()
    rest = pl.solve_statics(system, {"cable": 5.0})
    np.testing.assert_allclose(
        system.strain("rod", rest.q, 9)[:, :3], np.tile([0, -5 * 0.008 / EI, 5 * 0.006 / EI], (9, 1)), atol=1e-9
    )
    y, z = system.pose("rod.tip", rest.q)[1:3, 3]
    np.testing.assert_allclose(y / z, 0.75, rtol=1e-10)
    assert y > 0  # towards the tendon


def test_a_tendon_along_a_part_bends_that_part():
    robot, rod = beam(pl.Strains.planar_bending(pl.PiecewiseConstant(4)))
    robot.add_tendon("forth", rod, y=0.01, start=0.25, end=0.75)
    robot.add_tendon("back", rod, y=0.01, start=0.75, end=0.25)
    system = robot.compile()
    for name in ("forth", "back"):
        rest = pl.solve_statics(system, {name: 3.0})
        np.testing.assert_allclose(rest.q, [0, 3 * 0.01 / EI, 3 * 0.01 / EI, 0], atol=1e-9)


@pytest.mark.parametrize("turns", [1.0, -1.0, 2.5])
def test_a_wound_tendon_twists(turns):
    """Pulling a right-handed helix untwists it: torque −T r²a/√(1 + r²a²) with a = 2π turns/L, constant along the rod."""
    r, T = 0.01, 1e-3
    robot, rod = beam(pl.Strains.kirchhoff(8), points=40)
    robot.add_tendon("helix", rod, **helical_routing(r, turns))
    system = robot.compile()
    rest = pl.solve_statics(system, {"helix": T})
    assert rest.success
    a = 2 * np.pi * turns / LENGTH
    np.testing.assert_allclose(
        system.strain("rod", rest.q, 20)[:, 0], -T * r * r * a / np.hypot(1, r * a) / GJ, rtol=2e-4
    )
    assert np.sign(system.pose("rod.tip", rest.q)[2, 1]) == -np.sign(turns)


def test_opposite_helices_do_not_twist():
    """A pair of mirrored helices with equal tensions, on opposite sides, leaves neither torsion nor mean bending."""
    robot, rod = beam(pl.Strains.kirchhoff(2), points=30)
    for name, turns in (("right", 1), ("left", -1)):
        for side, phase in (("a", 0.0), ("b", np.pi)):
            robot.add_tendon(name + side, rod, **helical_routing(0.01, turns, phase))
    system = robot.compile()
    force = generalised_force(system, system.neutral(), np.full(4, 2.0))
    np.testing.assert_allclose(force, 0, atol=1e-14)


# ------------------------------------------------------------ lengths and virtual work


@pytest.mark.parametrize("base", [None, pl.Free(), pl.Spherical()], ids=["fixed", "free", "spherical"])
def test_length_and_force_of_a_path_through_everything(base):
    """The length is that of the line in space; the force is −T times its derivative, and the power −T ℓ̇."""
    robot = arm_with_hand(base=base)
    path = through_everything()
    robot.add_tendon("cable", path)
    system = robot.compile()
    rng = np.random.default_rng(3)
    q, v = system.random(rng, scale=0.4), rng.normal(size=system.nv)
    (length,), (gradient,) = system.tendon_lengths(q)
    chords = np.linalg.norm(np.diff(line_in_space(system, path, q), axis=0), axis=1).sum()
    np.testing.assert_allclose(length, chords, rtol=1e-4)  # the default quadrature of the wound stretch

    def measured(x):
        return system.tendon_lengths(x)[0][0]

    expected = differences(measured, system, q)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    force = generalised_force(system, q, {"cable": 7.0})
    np.testing.assert_allclose(force, -7.0 * expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    h = 1e-5
    rate = (measured(system.integrate(q, h * v)) - measured(system.integrate(q, -h * v))) / (2 * h)
    np.testing.assert_allclose(v @ force, -7.0 * rate, rtol=1e-7)


def test_more_points_measure_the_line_in_space():
    robot, _rod = beam(pl.Strains.reissner(2), points=30)
    routing = {"y": lambda X: 0.01 * np.sin(5 * X), "z": Table([0, 0.3, 0.6, 1], [0.01, -0.005, 0.01, 0.0])}
    path = [pl.Frame("world", None, pl.translate(0, 0.1, 0)), Along("rod", **routing)]
    robot.add_tendon("cable", path)
    system = robot.compile()
    q = system.random(5, scale=0.5)
    chords = np.linalg.norm(np.diff(line_in_space(system, path, q, 20001), axis=0), axis=1).sum()
    np.testing.assert_allclose(system.tendon_lengths(q)[0], chords, rtol=1e-7)


def test_eyelets_on_one_body_make_a_constant_length():
    """A detour over eyelets of the same body adds its length, and no force."""
    detour = [(0.02, 0, 0), (0.02, 0.02, 0), (0, 0.02, 0.01)]
    robots = [arm_with_hand(), arm_with_hand()]
    robots[0].add_tendon("cable", [Along("arm"), "palm"])
    robots[1].add_tendon("cable", [Along("arm"), "palm", *(pl.Frame("palm", None, pl.translate(*x)) for x in detour)])
    systems = [robot.compile() for robot in robots]
    q = systems[0].random(0, scale=0.3)
    (short, J), (long, K) = (s.tendon_lengths(q) for s in systems)
    extra = sum(np.linalg.norm(np.subtract(b, a)) for a, b in pairwise([(0, 0, 0), *detour]))
    np.testing.assert_allclose(long - short, extra, rtol=1e-12)
    np.testing.assert_allclose(K, J, atol=1e-15)


def test_a_straight_cable_pulls_along_its_line():
    """A body on three sliders, tied to a point of the world."""
    robot = pl.Robot("sliders", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    robot.add_tendon("cable", [pl.Frame("world", None, pl.translate(1, 2, 3)), body.at((0.1, 0, 0))])
    system = robot.compile()
    q = system.neutral()
    direction = np.array([0.9, 2, 3]) / np.linalg.norm([0.9, 2, 3])
    force = 5.0 * direction
    np.testing.assert_allclose(
        generalised_force(system, q, {"cable": 5.0}), [*np.cross([0.1, 0, 0], force), *force], atol=1e-13
    )


def test_inner_cables_keep_the_momentum():
    """A cable between parts of a floating robot changes neither momentum nor angular momentum."""
    robot = pl.Robot("floating", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", joint=pl.Free(), length=0.5, section=pl.Circle(RADIUS), material=ELASTIC, strains=pl.Strains.kirchhoff(1), points=8
    )  # fmt: skip
    body = robot.add_body(
        "body", parent=rod.tip, joint=pl.Revolute("y", stiffness=0.5), shape=pl.Sphere(0.03), mass=0.2
    )
    robot.add_tendon("cable", [Along(rod, y=0.01, z=0.004), body.at((0.1, 0.02, 0))])
    system = robot.compile()
    run = pl.simulate(system, 0.1, u=lambda t: {"cable": 20 * t}, method="dop853", rtol=1e-8, atol=1e-8, output=0.05)
    assert run.success
    assert np.abs(run.v[-1]).max() > 0.01
    for momentum in run.momenta():
        np.testing.assert_allclose(momentum, 0, atol=1e-10)


def test_two_rods_are_as_good_as_one():
    """A tapering tendon through two rods joined end to end, and the same through one rod of both lengths."""
    one = pl.Robot("one", gravity=(0, 0, -9.81))
    options = {"section": pl.Circle(RADIUS), "material": ELASTIC, "points": 6}
    one.add_rod("rod", length=0.5, strains=pl.Strains.reissner(pl.PiecewiseConstant(2)), **options)
    two = pl.Robot("two", gravity=(0, 0, -9.81))
    first = two.add_rod("first", length=0.25, strains=pl.Strains.constant(), **options)
    second = two.add_rod("second", parent=first.tip, length=0.25, strains=pl.Strains.constant(), **options)
    for friction in (0.0, 0.4):
        for robot, path in (
            (one, Along("rod", y=(0.015, 0.005), z=0.004)),
            (two, [Along(first, y=(0.015, 0.01), z=0.004), Along(second, y=(0.01, 0.005), z=0.004)]),
        ):
            robot.add_tendon(f"cable {10 * friction:g}", path, friction=friction)
    a, b = one.compile(), two.compile()
    order = np.arange(12).reshape(6, 2).T.ravel()  # coordinates of the two by piece
    q = a.random(1, scale=0.5)
    (la, Ja), (lb, Jb) = a.tendon_lengths(q), b.tendon_lengths(q[order])
    np.testing.assert_allclose(la, lb, rtol=1e-13)
    np.testing.assert_allclose(Ja[:, order], Jb, rtol=0, atol=1e-14)
    for name in a.input_names:
        rests = [pl.solve_statics(s, {name: 6.0}) for s in (a, b)]
        assert all(r.success for r in rests)
        np.testing.assert_allclose(rests[0].q[order], rests[1].q, atol=1e-7)


def test_ways_to_give_a_routing_agree():
    robot, rod = beam(pl.Strains.reissner(2))
    X = np.linspace(0, 1, 81)
    same = {
        "constant": [0.01, (0.01, 0.01), lambda X: 0.01, Table([0, 1], [0.01, 0.01], kind="linear")],
        "taper": [(0.015, 0.005), lambda X: 0.015 - 0.01 * X, Table([0, 0.4, 1], [0.015, 0.011, 0.005], kind="linear")],
        "cubic": [lambda X: 0.01 * X**3 - 0.005 * X, Table(X[::16], 0.01 * X[::16] ** 3 - 0.005 * X[::16])],
        "helix": [helical_routing(0.01, 1.5)["y"], lambda X: 0.01 * np.cos(3 * np.pi * X)],
    }
    for name, routings in same.items():
        for k, y in enumerate(routings):
            robot.add_tendon(f"{name} {k}", rod, y=y, z=0.003)
    robot.add_tendon("list", [Along(rod, y=0.01, z=0.003)])
    system = robot.compile()
    lengths, J = system.tendon_lengths(system.random(2, scale=0.5))
    for name, routings in {**same, "list": [0.01]}.items():
        first = system.input_names.index("constant 0" if name == "list" else f"{name} 0")
        for k in range(len(routings)):
            other = system.input_names.index("list" if name == "list" else f"{name} {k}")
            np.testing.assert_allclose(lengths[other], lengths[first], rtol=1e-12)
            np.testing.assert_allclose(J[other], J[first], rtol=0, atol=1e-12)


# ------------------------------------------------------------ elastic tendons


def elastic_beam(**options: object) -> pl.System:
    robot, rod = beam(pl.Strains.planar_extensible(1), points=8, gravity=(0, -9.81, 0))
    robot.add_tendon("spring", rod, y=0.01, control="elastic", **options)
    return robot.compile()


def test_an_elastic_tendon_is_a_spring():
    """Constant offset: T = k(ℓ + u − ℓ₀) with ℓ = L(1 + ε − κd) and ε = −T/EA, κ = T d/EI."""
    robot, rod = beam(pl.Strains.planar_extensible(0))
    robot.add_tendon("spring", rod, y=0.01, control="elastic", stiffness=400.0)
    system = robot.compile()
    u = 0.02
    rest = pl.solve_statics(system, {"spring": u})
    assert rest.success
    T = 400.0 * u / (1 + 400.0 * LENGTH * (1 / EA + 0.01**2 / EI))
    np.testing.assert_allclose(
        system.strain("rod", rest.q, 2)[0], [0, 0, T * 0.01 / EI, 1 - T / EA, 0, 0], rtol=1e-9, atol=1e-12
    )


def test_a_slack_tendon_does_nothing():
    system = elastic_beam(stiffness=500.0, damping=2.0, rest_length=0.7)
    q, v = 0.3 * system.random(0), np.ones(system.nv)
    np.testing.assert_allclose(generalised_force(system, q, None, v), 0, atol=1e-12)
    np.testing.assert_array_equal(system.actuation_matrix(q), 0)
    taut = elastic_beam(stiffness=500.0)
    np.testing.assert_allclose(generalised_force(taut, q, {"spring": -0.2}), 0, atol=1e-12)  # paid out
    assert np.abs(generalised_force(taut, q, {"spring": 0.2})).max() > 0.01


def test_damping_never_pushes():
    """Where the tendon shortens fast, k(ℓ − ℓ₀) + c ℓ̇ would be negative: it is slack then."""
    system = elastic_beam(stiffness=100.0, damping=50.0, rest_length=0.49)
    q = system.neutral()
    gradient = system.tendon_lengths(q)[1][0]
    for v in (10 * gradient, -10 * gradient):
        tension = 100.0 * 0.01 + 50.0 * gradient @ v
        np.testing.assert_allclose(generalised_force(system, q, None, v), -max(tension, 0.0) * gradient, atol=1e-11)


def test_energy_with_an_elastic_tendon():
    """Undamped, falling under gravity, with a tendon that becomes taut and slack: the energy stays."""
    k, rest = 300.0, 0.502
    system = elastic_beam(stiffness=k, rest_length=rest)
    run = pl.simulate(system, 0.5, method="dop853", rtol=1e-9, atol=1e-10, output=0.01, max_step=2e-3)
    assert run.success
    stretch = np.array([system.tendon_lengths(q)[0][0] for q in run.q]) - rest
    assert stretch.min() < -1e-3
    assert stretch.max() > 1e-3
    spring = 0.5 * k * np.clip(stretch, 0, None) ** 2
    total = run.energies().total + spring
    np.testing.assert_allclose(total, total[0], atol=1e-6 * np.ptp(run.energies().kinetic))


# ------------------------------------------------------------ friction


def rubbing_arc(
    angle: float, mu: float, slip_speed: float | None = None, y: float = 0.0
) -> tuple[pl.System, np.ndarray]:
    """A rod bent into an arc, a slider beyond its tip, and a tendon along the one to the other."""
    robot, rod = beam(pl.Strains(bending=0, stretch=pl.PiecewiseConstant(4)))
    slider = robot.add_body("slider", parent=rod.tip, offset=(0.1, 0, 0), joint=pl.Prismatic("x"), mass=1.0)
    path = [Along(rod, y=y), slider.at((0, y, 0))]
    robot.add_tendon("cable", path, friction=mu, slip_speed=slip_speed)
    system = robot.compile()
    q = system.neutral()
    q[system.dof_names.index("rod.bending_z[0]")] = angle / LENGTH
    return system, q


@pytest.mark.parametrize("angle", [0.5, np.pi / 2, 4.0])
@pytest.mark.parametrize("y", [0.0, 0.01])
def test_capstan(angle, y):
    """Euler and Eytelwein: the tension falls by exp(−μθ), in the cable beyond and along the rod."""
    mu, T = 0.3, 10.0
    system, q = rubbing_arc(angle, mu, y=y)
    force = generalised_force(system, q, {"cable": T})
    end = -T * np.exp(-mu * angle)
    np.testing.assert_allclose(force[system.dof_names.index("slider.displacement")], end, rtol=3e-4)
    at = [k for k, name in enumerate(system.dof_names) if "stretch" in name]
    edges = np.exp(-mu * angle * np.linspace(0, 1, 5))
    mean = -T * np.diff(edges) / (-mu * angle / 4)  # of the tension in each quarter
    np.testing.assert_allclose(force[at], mean * LENGTH / 4, rtol=3e-4)


def test_capstan_from_the_tip():
    """A tendon that enters at the tip has its full tension there."""
    mu, angle, T = 0.5, 2.0, 10.0
    robot, rod = beam(pl.Strains(bending=0, stretch=pl.PiecewiseConstant(2)))
    robot.add_tendon("cable", rod, start=1.0, end=0.0, friction=mu)
    system = robot.compile()
    q = system.neutral()
    q[system.dof_names.index("rod.bending_z[0]")] = angle / LENGTH
    force = generalised_force(system, q, {"cable": T})
    at = [k for k, name in enumerate(system.dof_names) if "stretch" in name]
    edges = np.exp(-mu * angle * np.array([1.0, 0.5, 0.0]))
    np.testing.assert_allclose(force[at], -T * np.diff(edges) / (mu * angle) * LENGTH, rtol=3e-4)


def test_a_straight_rod_does_not_rub():
    system, q = rubbing_arc(0.0, 0.5)
    smooth, _ = rubbing_arc(0.0, 0.0)
    np.testing.assert_allclose(
        generalised_force(system, q, {"cable": 3.0}), generalised_force(smooth, q, {"cable": 3.0}), atol=1e-12
    )


def test_friction_turns_with_the_sliding():
    """Pulled in, the far end gets less than the motor's tension; paid out, more; at rest it is the same."""
    mu, angle = 0.4, 1.2
    system, q = rubbing_arc(angle, mu, slip_speed=1e-3)
    k = system.dof_names.index("slider.displacement")
    for speed, factor in ((-1.0, np.exp(-mu * angle)), (1.0, np.exp(mu * angle)), (0.0, 1.0)):
        v = np.zeros(system.nv)
        v[k] = speed
        np.testing.assert_allclose(generalised_force(system, q, {"cable": 5.0}, v)[k], -5.0 * factor, rtol=3e-4)


# ------------------------------------------------------------ push rods and chambers


def test_a_push_rod_is_the_opposite_of_a_tendon():
    robot, rod = beam(pl.Strains.reissner(2))
    robot.add_tendon("pull", rod, y=(0.01, 0.005), z=0.004)
    robot.add_push_rod("push", rod, y=(0.01, 0.005), z=0.004)
    system = robot.compile()
    q = system.random(0, scale=0.4)
    pull, push = (generalised_force(system, q, {name: 3.0}) for name in ("pull", "push"))
    np.testing.assert_allclose(push, -pull, atol=1e-12 * np.abs(pull).max())
    np.testing.assert_allclose(generalised_force(system, q, {"push": -3.0}), pull, atol=1e-12 * np.abs(pull).max())
    np.testing.assert_allclose(generalised_force(system, q, {"push": 3.0, "pull": 3.0}), 0, atol=1e-12)


def test_a_push_rod_through_several_links():
    robot = arm_with_hand()
    path = [Along("arm", y=0.01), "palm", Along("finger", y=0.01)]
    robot.add_tendon("pull", path)
    robot.add_push_rod("push", path)
    system = robot.compile()
    q = system.random(0, scale=0.4)
    lengths, J = system.tendon_lengths(q)
    np.testing.assert_allclose(lengths[1], -lengths[0], rtol=1e-12)
    np.testing.assert_allclose(J[1], -J[0], atol=1e-14)
    pull, push = (generalised_force(system, q, {name: 3.0}) for name in ("pull", "push"))
    np.testing.assert_allclose(push, -pull, atol=1e-12 * np.abs(pull).max())


def test_pressure_stretches_and_bends_away():
    """A chamber of area A at y: axial force pA, moment −pAy."""
    area, p, y = 1e-4, 2e4, 0.01
    robot, rod = beam(pl.Strains.planar_extensible(2))
    robot.add_chamber("chamber", rod, area=area, y=y)
    system = robot.compile()
    np.testing.assert_allclose(system.tendon_lengths(system.neutral())[0], [-area * LENGTH], rtol=1e-12)
    for pressure in (p, -p):
        rest = pl.solve_statics(system, {"chamber": pressure})
        assert rest.success
        expected = [0, 0, -pressure * area * y / EI, 1 + pressure * area / EA, 0, 0]
        np.testing.assert_allclose(system.strain("rod", rest.q, 7), np.tile(expected, (7, 1)), atol=1e-9)


def test_volume_of_a_chamber():
    """∫A|t| with an area that changes, and pressure times the change of volume as virtual work."""
    robot, rod = beam(pl.Strains.reissner(1))
    robot.add_chamber("chamber", rod, area=lambda X: 1e-4 * (1 + X), z=0.005, start=0.2, end=0.9)
    system = robot.compile()
    straight = LENGTH * 1e-4 * (0.7 + (0.9**2 - 0.2**2) / 2)
    np.testing.assert_allclose(-system.tendon_lengths(system.neutral())[0], straight, rtol=1e-12)
    q = system.random(4, scale=0.4)
    volume = differences(lambda x: -system.tendon_lengths(x)[0][0], system, q)
    np.testing.assert_allclose(
        generalised_force(system, q, {"chamber": 1e4}), 1e4 * volume, atol=1e-9 * 1e4 * np.abs(volume).max()
    )


def test_three_chambers_only_stretch():
    robot, rod = beam(pl.Strains.reissner(1))
    for k, angle in enumerate(2 * np.pi * np.arange(3) / 3):
        robot.add_chamber(f"chamber{k}", rod, area=5e-5, y=0.012 * np.cos(angle), z=0.012 * np.sin(angle))
    system = robot.compile()
    rest = pl.solve_statics(system, np.full(3, 3e4))
    assert rest.success
    np.testing.assert_allclose(
        system.strain("rod", rest.q, 5), np.tile([0, 0, 0, 1 + 3 * 3e4 * 5e-5 / EA, 0, 0], (5, 1)), atol=1e-10
    )


# ------------------------------------------------------------ internal stress


@pytest.mark.parametrize("component", range(6))
def test_uniform_stress_gives_uniform_strain(component):
    robot, rod = beam(pl.Strains.reissner(2), stiffness=(1.0, 2.0, 3.0, 40.0, 50.0, 60.0))
    robot.add_stress("muscle", rod, np.eye(6)[component])
    system = robot.compile()
    rest = pl.solve_statics(system, {"muscle": 0.3})
    assert rest.success
    expected = np.eye(6)[component] * 0.3 / [1, 2, 3, 40, 50, 60] + [0, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(system.strain("rod", rest.q, 6), np.tile(expected, (6, 1)), atol=1e-12)


def test_a_uniform_moment_is_a_couple_at_the_tip():
    robot, rod = beam(pl.Strains.kirchhoff(3))
    robot.add_stress("muscle", rod, (0, 0, 1, 0, 0, 0))
    robot.add_wrench("couple", rod.tip, moment=(0, 0, 1), axes="body")
    system = robot.compile()
    muscle, couple = (pl.solve_statics(system, {name: 0.4}) for name in ("muscle", "couple"))
    np.testing.assert_allclose(muscle.q, couple.q, atol=1e-9)
    np.testing.assert_allclose(muscle.q[system.dof_names.index("rod.bending_z[0]")], 0.4 / EI, rtol=1e-9)


def test_stress_that_changes_along_the_rod():
    """Projected on the modes: with a quadratic basis a quadratic stress is answered exactly; also as forces."""
    robot, rod = beam(pl.Strains.planar_bending(2))

    def stress(X):
        return (0, 0, 0.1 * (1 - 2 * X + 3 * X * X), 0, 0, 0)

    robot.add_stress("muscle", rod, stress)
    system = robot.compile()
    rest = pl.solve_statics(system, {"muscle": 1.0})
    X = np.linspace(0, 1, 11)
    np.testing.assert_allclose(system.strain("rod", rest.q, X)[:, 2], [stress(x)[2] / EI for x in X], atol=1e-10)
    by_hand = pl.solve_statics(system, tau=system.stress_forces("rod", stress))
    np.testing.assert_allclose(by_hand.q, rest.q, atol=1e-10)


def test_stress_that_is_no_number():
    with pytest.raises((TypeError, ValueError), match=r"stress 'muscle'.*six finite numbers"):
        arm_with_hand().add_stress("muscle", "arm", "strong")


# ------------------------------------------------------------ motors


def wheel(*, load: float = 0.0, damping: float = 0.0, **motor: object) -> pl.System:
    """A flywheel of 0.02 kg m² with a motor and a constant torque on it."""
    robot = pl.Robot("wheel", gravity=(0, 0, 0))
    disc = robot.add_body("disc", joint=pl.Revolute("z", damping=damping), mass=1.0, inertia=(0.01, 0.01, 0.02))
    robot.add_motor("motor", disc, **motor)
    if load:
        robot.add_wrench("load", disc, moment=(0, 0, load), constant=True)
    return robot.compile()


def test_torque():
    system = wheel(load=0.1)
    np.testing.assert_allclose(system.forward_dynamics([0.3], [2.0], u={"motor": 0.5}), [0.6 / 0.02], rtol=1e-12)


def test_position_servo_holds_its_target_minus_the_load():
    system = wheel(load=-0.5, control="position", kp=4.0, kd=0.5)
    rest = pl.solve_statics(system, {"motor": 0.8})
    assert rest.success
    assert rest.stable
    np.testing.assert_allclose(rest.q, [0.8 - 0.5 / 4.0], rtol=1e-10)
    run = pl.simulate(system, 3.0, u={"motor": 0.8}, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run.q[-1], rest.q, atol=1e-4)
    np.testing.assert_allclose(run.v[-1], 0, atol=1e-3)


def test_position_servo_oscillates_as_a_damped_spring():
    """Step response of J q̈ + kd q̇ + kp q = kp u."""
    kp, kd, J = 8.0, 0.2, 0.02
    run = pl.simulate(
        wheel(control="position", kp=kp, kd=kd),
        1.0,
        u={"motor": 1.0},
        method="dop853",
        rtol=1e-9,
        atol=1e-9,
        output=0.05,
    )
    decay = kd / (2 * J)
    w = np.sqrt(kp / J - decay**2)
    expected = 1 - np.exp(-decay * run.t) * (np.cos(w * run.t) + decay / w * np.sin(w * run.t))
    np.testing.assert_allclose(run.q[:, 0], expected, atol=1e-7)


def test_velocity_servo():
    """Speed u + load/kd at the end, reached as 1 − exp(−kd t/J)."""
    kd, J, load = 0.1, 0.02, -0.03
    run = pl.simulate(
        wheel(load=load, control="velocity", kd=kd),
        2.0,
        u={"motor": 5.0},
        method="dop853",
        rtol=1e-9,
        atol=1e-9,
        output=0.1,
    )
    np.testing.assert_allclose(run.v[:, 0], (5.0 + load / kd) * (1 - np.exp(-kd / J * run.t)), atol=1e-7)


@pytest.mark.parametrize(
    "options", [{}, {"control": "position", "kp": 10.0, "kd": 0.1}, {"control": "velocity", "kd": 10.0}]
)
def test_limit(options):
    system = wheel(limit=0.3, **options)
    for sign in (1, -1):
        np.testing.assert_allclose(
            system.forward_dynamics([0.0], [0.0], u={"motor": sign * 5.0}), [sign * 0.3 / 0.02], rtol=1e-12
        )
    small = {"motor": 0.01}
    np.testing.assert_allclose(
        system.forward_dynamics([0.0], [0.0], u=small), wheel(**options).forward_dynamics([0.0], [0.0], u=small)
    )


def test_a_limited_servo_gives_way():
    """Against a spring: the servo's torque is cut off, so that the joint stays where the spring balances the limit."""
    robot = pl.Robot("joint", gravity=(0, 0, 0))
    link = robot.add_body("link", joint=pl.Revolute("z", stiffness=2.0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot.add_motor("motor", link, control="position", kp=50.0, limit=1.0)
    system = robot.compile()
    rest = pl.solve_statics(system, {"motor": 2.0})
    assert rest.success
    np.testing.assert_allclose(rest.q, [0.5], rtol=1e-9)
    np.testing.assert_allclose(pl.solve_statics(system, {"motor": 0.02}).q, [50 * 0.02 / 52], rtol=1e-9)


def test_motors_on_each_degree_of_freedom():
    robot = pl.Robot("joints", gravity=(0, 0, 0))
    slide = robot.add_body("slide", joint=pl.Cylindrical("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    ball = robot.add_body("ball", parent=slide, joint=pl.Spherical(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    for link in (slide, ball):
        for k in range(link.joint.nv):
            robot.add_motor(f"{link.name}{k}", link, dof=k)
    system = robot.compile()
    np.testing.assert_array_equal(system.actuation_matrix(system.random(0)), np.eye(5))


# ------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"path": "arm", "y": 0.03}, ValueError, r"0\.03 m.*outside the section of rod 'arm'"),
        ({"path": [Along("arm", z=lambda X: 0.03 * X), "palm"]}, ValueError, "X = 1.*outside the section"),
        ({"path": "palm"}, TypeError, "'palm' is a rigid body"),
        ({"path": [Along("palm"), "arm"]}, TypeError, "'palm' is a rigid body"),
        ({"path": []}, ValueError, "path is empty"),
        ({"path": ["palm"]}, ValueError, "single point"),
        ({"path": [3, "palm"]}, TypeError, "point of the path = 3"),
        ({"path": ["arm", "palm"], "y": 0.01}, ValueError, r"Along\(rod, y=...\)"),
        ({"path": "arm", "control": "force"}, ValueError, "control = 'force'.*'tension'"),
        ({"path": "arm", "stiffness": 5.0}, ValueError, "stiffness.*control='elastic'"),
        ({"path": "arm", "control": "elastic"}, ValueError, "needs stiffness"),
        ({"path": "arm", "control": "elastic", "stiffness": -5.0}, ValueError, "stiffness = -5"),
        ({"path": "arm", "control": "elastic", "stiffness": 5.0, "rest_length": 0.0}, ValueError, "rest_length = 0"),
        ({"path": "arm", "friction": -0.1}, ValueError, "friction = -0.1"),
        ({"path": "arm", "friction": 0.1, "slip_speed": 0.0}, ValueError, "slip_speed = 0"),
        ({"path": "arm", "start": 0.5, "end": 0.5}, ValueError, "end = 0.5"),
        ({"path": "arm", "y": "wide"}, TypeError, "y = 'wide'"),
    ],
)  # fmt: skip
def test_bad_tendons(options, error, match):
    robot = arm_with_hand()
    with pytest.raises(error, match=match) as caught:
        robot.add_tendon("cable", **options)
    assert "tendon 'cable'" in str(caught.value)
    assert not robot.tendons


@pytest.mark.parametrize("path", ["arn", [Along("arn"), "palm"], ["pam", Along("arm")]])
def test_paths_through_unknown_links(path):
    with pytest.raises(KeyError, match=r"there is no link.*did you mean"):
        arm_with_hand().add_tendon("cable", path)


def test_a_path_that_is_none():
    robot = arm_with_hand()
    for path in (3, robot.link("palm").frame):
        with pytest.raises(TypeError, match=r"path = .*rod") as caught:
            robot.add_tendon("cable", path)
        assert "not iterable" not in str(caught.value)


def test_a_pair_as_an_array_does_not_go_with_a_list():
    with pytest.raises(ValueError, match=r"Along\(rod, y=...\)"):
        arm_with_hand().add_tendon("cable", [Along("arm")], y=np.array([0.01, 0.005]))


def test_a_joint_without_a_gap_gives_a_stretch_no_direction():
    robot = arm_with_hand(gap=0.0)
    robot.add_tendon("cable", [Along("arm", y=0.01), Along("finger", y=0.01)])
    with pytest.raises(ValueError, match=r"tendon 'cable'.*same place"):
        robot.compile()


def test_the_length_of_a_cable_as_input():
    """The tension follows from the length: the cable has the length that was asked for."""
    robot, rod = beam(pl.Strains.planar_bending(1))
    robot.add_tendon("cable", rod, y=0.01, control="length")
    system = robot.compile()
    with pytest.raises(ValueError, match=r"input 'cable'.*motion={'cable'"):
        pl.solve_statics(system, {"cable": 0.49})
    rest = pl.solve_statics(system, motion={"cable": 0.49})
    np.testing.assert_allclose(system.tendon_lengths(rest.q)[0], [0.49], rtol=1e-8)


def test_tendons_only_pull():
    robot, rod = beam(pl.Strains.planar_bending(1))
    robot.add_tendon("cable", rod, y=0.01)
    robot.add_tendon("strut", rod, y=0.01, push=True)
    system = robot.compile()
    for u in ({"cable": -1.0}, [-1.0, 0.0]):
        with pytest.raises(ValueError, match=r"input 'cable' = -1.*push=True"):
            pl.solve_statics(system, u)
    assert pl.solve_statics(system, {"strut": -1.0}).success
    run = pl.simulate(system, 0.1, u=lambda t: {"cable": 0.05 - t})
    assert not run.success
    assert "input 'cable'" in run.message
    with pytest.raises(KeyError, match="did you mean 'cable'"):
        pl.solve_statics(system, {"cabel": 1.0})


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"area": -1.0}, ValueError, "area = -1"),
        ({"area": lambda X: 1e-4 * (0.5 - X)}, ValueError, "area"),
        ({"area": "wide"}, TypeError, "area = 'wide'"),
        ({"area": 1e-4, "y": 0.03}, ValueError, "outside the section"),
    ],
)
def test_bad_chambers(options, error, match):
    with pytest.raises(error, match=match) as caught:
        arm_with_hand().add_chamber("chamber", "arm", **options)
    assert "chamber 'chamber'" in str(caught.value)


@pytest.mark.parametrize("stress", [(1, 2, 3), np.nan * np.ones(6), lambda X: (0, X)])
def test_bad_stress(stress):
    with pytest.raises((TypeError, ValueError), match=r"stress 'muscle'.*six finite numbers"):
        arm_with_hand().add_stress("muscle", "arm", stress)
    with pytest.raises(TypeError, match="'palm' is a rigid body"):
        arm_with_hand().add_stress("muscle", "palm", np.ones(6))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"link": "arm"}, ValueError, "joint of 'arm' is fixed"),
        ({"link": "palm", "dof": 1}, ValueError, "dof = 1.*angle"),
        ({"link": "palm", "dof": -1}, ValueError, "dof = -1"),
        ({"link": "palm", "dof": "angel"}, KeyError, "did you mean 'angle'"),
        ({"link": "pam"}, KeyError, "did you mean 'palm'"),
        ({"link": "palm", "control": "speed"}, ValueError, "control = 'speed'.*'velocity'"),
        ({"link": "palm", "kp": 1.0}, ValueError, "kp and kd"),
        ({"link": "palm", "control": "position"}, ValueError, "needs kp"),
        ({"link": "palm", "control": "velocity"}, ValueError, "needs kd"),
        ({"link": "palm", "control": "position", "kp": -1.0}, ValueError, "kp = -1"),
        ({"link": "palm", "limit": 0.0}, ValueError, "limit = 0"),
    ],
)  # fmt: skip
def test_bad_motors(options, error, match):
    robot = arm_with_hand()
    with pytest.raises(error, match=match):
        robot.add_motor("motor", **options)
    assert not robot.motors


def test_half_a_degree_of_freedom():
    with pytest.raises((TypeError, ValueError), match=r"dof = 0\.5"):
        arm_with_hand().add_motor("motor", "palm", dof=0.5)


def test_a_ball_joint_has_no_angle_to_hold():
    robot = pl.Robot("ball")
    robot.add_body("ball", joint=pl.Spherical(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    with pytest.raises(ValueError, match=r"motor 'motor'.*spherical.*torque"):
        robot.add_motor("motor", "ball", control="position", kp=1.0)
