"""Wrenches along rods and at points, dipoles in fields and gravity: they do what mechanics says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp

import pliant as pl
from load_robots import branched, state
from pliant import lie
from robots import SILICONE, random_pose

EI = 1e6 * np.pi * 0.02**4 / 4
DIRECTIONS = {"down": (0, 0, -9.81), "up": (0, 0, 9.81), "along": (9.81, 0, 0), "askew": (3.0, -5.0, 4.0)}


def cantilever(gravity: tuple = (0, 0, 0), taper: float = 0.02, **options: object) -> pl.Robot:
    robot = pl.Robot("cantilever", gravity=gravity)
    settings = {"strains": pl.Strains(torsion=3, bending=5, stretch=3, shear=2), "points": 14, **options}
    robot.add_rod("rod", length=0.6, section=pl.Circle((0.02, taper)), material=SILICONE, **settings)
    return robot


# ---------------------------------------------------------------- gravity


@pytest.mark.parametrize("gravity", DIRECTIONS.values(), ids=DIRECTIONS)
@pytest.mark.parametrize("taper", [0.02, 0.01], ids=["uniform", "tapered"])
def test_a_distributed_force_is_gravity(gravity, taper):
    """The force ρ A(X) g per metre: the same residual, tangent and equilibrium."""

    def density(X: float) -> np.ndarray:
        return 1000 * np.pi * (0.02 + (taper - 0.02) * X) ** 2 * np.array(gravity)

    loaded = cantilever(taper=taper)
    loaded.add_distributed_wrench("weight", "rod", force=density, constant=True)
    heavy, loaded = cantilever(gravity, taper=taper).compile(), loaded.compile()
    q, v, a = state(heavy, 0)
    r = [s.residual(q, v, a) for s in (heavy, loaded)]
    K = [s.residual_tangent(q, v, a) for s in (heavy, loaded)]
    np.testing.assert_allclose(r[0], r[1], atol=1e-13 * np.abs(r[0]).max())
    np.testing.assert_allclose(K[0], K[1], atol=1e-13 * np.abs(K[0]).max())
    rests = [pl.solve_statics(s) for s in (heavy, loaded)]
    assert all(rest.success and rest.stable for rest in rests)
    np.testing.assert_allclose(rests[0].q, rests[1].q, atol=1e-9)


def test_an_input_scales_a_distributed_wrench():
    robot = cantilever()
    robot.add_distributed_wrench("weight", "rod", force=(0, 0, -1000 * np.pi * 0.02**2))
    system = robot.compile()
    for g in (1.62, 9.81):
        rest, expected = pl.solve_statics(system, {"weight": g}), pl.solve_statics(cantilever((0, 0, -g)).compile())
        np.testing.assert_allclose(rest.q, expected.q, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_gravity_turns_with_the_world(seed):
    """Turning the base and gravity together changes no strain and no frequency."""
    turn = pl.rotate(np.random.default_rng(seed).normal(size=3), 1.0 + seed)
    gravity = np.array([2.0, -3.0, -9.0])
    plain, turned = cantilever(gravity).compile(), cantilever(turn.rotation @ gravity, offset=turn).compile()
    rests = [pl.solve_statics(s) for s in (plain, turned)]
    np.testing.assert_allclose(rests[0].q, rests[1].q, atol=1e-9)
    np.testing.assert_allclose(
        turned.pose("rod.tip", rests[1].q), turn.matrix @ plain.pose("rod.tip", rests[0].q), atol=1e-10
    )
    frequencies = [pl.modes(s, rest).frequencies[:6] for s, rest in zip((plain, turned), rests)]
    np.testing.assert_allclose(frequencies[0], frequencies[1], rtol=1e-7)


@pytest.mark.parametrize("gravity", DIRECTIONS.values(), ids=DIRECTIONS)
def test_everything_falls(gravity):
    """A free robot at rest in its undeformed shape falls with g and does not deform."""
    robot = branched(0, base="free")
    robot.gravity = np.array(gravity, dtype=float)
    system = robot.compile()
    a = system.forward_dynamics(system.neutral(), np.zeros(system.nv))
    for frame in ("hub", "arm.tip", "hand.tip", "tool"):
        acceleration = system.acceleration(frame, system.neutral(), np.zeros(system.nv), a, reference="world")
        np.testing.assert_allclose(acceleration, [0, 0, 0, *gravity], atol=1e-9)


# ---------------------------------------------------------------- resultants


@pytest.mark.parametrize("axes", ["world", "body"])
def test_resultant_of_a_distributed_wrench(axes):
    """On a free rod the generalised forces of the joint are the integrals of force and moment."""
    robot = cantilever(joint=pl.Free())
    force, moment = (lambda X: (X, 1 - X**2, 0.3)), (lambda X: (0.1, 0.2 * X, -0.1))
    robot.add_distributed_wrench("wind", "rod", force=force, moment=moment, axes=axes)
    system = robot.compile()
    q = system.random(2)
    B = system.actuation_matrix(q)[:6, 0]
    g = system.pose("rod.base", q)
    x, w = np.polynomial.legendre.leggauss(40)
    X, w = 0.5 * (x + 1), 0.3 * w
    total = np.zeros(6)
    for k, h in enumerate(system.rod_poses("rod", q, X)):
        turn = h[:3, :3] if axes == "body" else np.eye(3)
        f, m = turn @ force(X[k]), turn @ moment(X[k])
        total += w[k] * np.concatenate([m + np.cross(h[:3, 3], f), f])
    np.testing.assert_allclose(lie.Ad(np.linalg.inv(g)).T @ B, total, atol=3e-7)


def test_offsets_move_and_turn_wrenches():
    """In body axes the directions are those of the offset frame; in world axes only its origin matters."""
    rng = np.random.default_rng(1)
    robot, offset = branched(3), random_pose(rng)
    force, moment = rng.normal(size=3), rng.normal(size=3)
    frame = robot.add_frame("handle", "tool", offset=offset)
    for axes in ("world", "body"):
        robot.add_wrench(f"{axes} at frame", frame, force=force, moment=moment, axes=axes)
        robot.add_wrench(f"{axes} by offset", "tool", force=force, moment=moment, axes=axes, offset=offset)
    system = robot.compile()
    q = system.random(0)
    B = dict(zip(system.input_names, system.actuation_matrix(q).T))
    for axes in ("world", "body"):
        expected = system.jacobian("handle", q, reference=axes).T @ np.concatenate([moment, force])
        for how in ("at frame", "by offset"):
            np.testing.assert_allclose(B[f"{axes} {how}"], expected, atol=1e-12)


# ---------------------------------------------------------------- dead and follower loads


def planar(**load: object) -> pl.System:
    robot = cantilever(strains=pl.Strains.planar_bending(9), points=48)
    robot.add_wrench("load", "rod.tip", **load)
    return robot.compile()


@pytest.mark.parametrize("force", [0.5, 1.5, 3.0])
def test_a_follower_force_bends_an_elastica(force):
    """In the frame of the tip the force is constant, so the elastica is an initial value problem from the tip."""
    system = planar(force=(0, 1, 0), axes="body")
    rest = pl.solve_statics(system, {"load": force}, load_steps=8)
    assert rest.success

    def slope(s: float, y: np.ndarray) -> list[float]:
        angle, moment = y[2:]  # from the tip backwards, in its axes
        return [-np.cos(angle), -np.sin(angle), -moment / EI, force * np.cos(angle)]

    y = solve_ivp(slope, (0, 0.6), [0, 0, 0, 0], rtol=1e-11, atol=1e-13).y[:, -1]
    base = np.array([[np.cos(y[2]), -np.sin(y[2])], [np.sin(y[2]), np.cos(y[2])]])
    np.testing.assert_allclose(system.pose("rod.tip", rest.q)[:2, 3], base.T @ -y[:2], atol=1e-6)
    curvature = system.strain("rod", rest.q, [0.0])[0, 2]
    np.testing.assert_allclose(curvature, y[3] / EI, rtol=1e-4)


@pytest.mark.parametrize("force", [0.5, 1.5, 3.0])
def test_a_dead_force_bends_an_elastica(force):
    system = planar(force=(0, 1, 0))
    rest = pl.solve_statics(system, {"load": force})
    assert rest.success
    assert rest.stable

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([np.cos(y[2]), np.sin(y[2]), y[3], -force / EI * np.cos(y[2])])

    s = np.linspace(0, 0.6, 60)
    guess = np.array([s, 0 * s, 0 * s, 0 * s])
    ends = lambda a, b: np.array([a[0], a[1], a[2], b[3]])  # noqa: E731
    y = solve_bvp(slope, ends, s, guess, tol=1e-10, max_nodes=20000).y[:, -1]
    np.testing.assert_allclose(system.pose("rod.tip", rest.q)[:2, 3], y[:2], atol=2e-7)


def test_small_loads_are_the_same_large_ones_are_not():
    systems = [planar(force=(0, 1, 0), axes=axes) for axes in ("world", "body")]
    for force, low, high in ((1e-3, 0.0, 1e-6), (5.0, 0.02, 1.0)):
        tips = [s.pose("rod.tip", pl.solve_statics(s, {"load": force}).q)[:3, 3] for s in systems]
        assert low <= np.linalg.norm(tips[0] - tips[1]) <= high
    np.testing.assert_allclose(systems[0].pose("rod.tip", pl.solve_statics(systems[0], {"load": 1e-3}).q)[1, 3],
                               1e-3 * 0.6**3 / (3 * EI), rtol=1e-5)  # fmt: skip


@pytest.mark.parametrize("axes", ["world", "body"])
def test_a_moment_bends_a_circle(axes):
    """About a fixed axis, dead and follower moments are the same."""
    system = planar(moment=(0, 0, 1), axes=axes)
    rest = pl.solve_statics(system, {"load": 2 * np.pi * EI / 0.6})
    assert rest.success
    np.testing.assert_allclose(system.pose("rod.tip", rest.q), np.eye(4), atol=1e-9)


def test_a_follower_does_work_around_a_loop_and_a_dead_force_does_not():
    """Power of the wrench, integrated along a closed path of the tip's rotation."""
    systems = [planar(force=(0, 1, 0), axes=axes) for axes in ("world", "body")]
    angle = np.linspace(0, 2 * np.pi, 401)
    work = []
    for system in systems:
        q = np.zeros((401, system.nq))
        q[:, 0], q[:, 1] = 1 + 2 * np.cos(angle), 1 + 3 * np.sin(angle)
        B = np.array([system.actuation_matrix(x)[:, 0] for x in q])
        dq = np.zeros((400, system.nv))
        dq[:, 0], dq[:, 1] = -2 * np.sin(angle[:-1]), 3 * np.cos(angle[:-1])
        work.append(np.sum(B[:-1] * dq) * (angle[1] - angle[0]))
    assert abs(work[0]) < 1e-12
    assert abs(work[1]) > 1e-3


def test_the_tangent_of_conservative_loads_is_symmetric():
    zero = np.zeros(10)
    for axes, symmetric in (("world", True), ("body", False)):
        system = planar(force=(0, 1, 0), axes=axes)
        K = system.residual_tangent(system.random(1), zero, zero, {"load": 5.0})
        assert (np.abs(K - K.T).max() < 1e-12 * np.abs(K).max()) == symmetric


# ---------------------------------------------------------------- dipoles


def compass(**joint: float) -> pl.System:
    robot = pl.Robot("compass", gravity=(0, 0, 0))
    robot.add_body("needle", joint=pl.Revolute("z", **joint), mass=0.1, inertia=(1e-4, 2e-4, 3e-4))
    robot.add_dipole("magnet", "needle", moment=(0.5, 0, 0.1))
    return robot.compile()


def test_a_compass_points_along_the_field_and_swings():
    system = compass()
    assert system.input_names == ("field_x", "field_y", "field_z")
    field = {"field_x": 0.03, "field_y": 0.04, "field_z": 0.7}
    rest = pl.solve_statics(system, field, start=[-1.0])
    assert rest.success
    assert rest.stable
    np.testing.assert_allclose(rest.q, [np.arctan2(4, 3)], rtol=1e-9)
    frequency = np.sqrt(0.5 * 0.05 / 3e-4) / (2 * np.pi)
    np.testing.assert_allclose(pl.modes(system, rest).frequencies, [frequency], rtol=1e-9)
    other = pl.solve_statics(system, field, start=rest.q + np.pi, stable=False)
    assert other.success
    assert not other.stable


def test_torque_of_a_dipole():
    system = compass()
    for angle in (0.0, 0.4, 2.0):
        m = lie.exp([0, 0, angle, 0, 0, 0])[:3, :3] @ [0.5, 0, 0.1]
        B = system.actuation_matrix([angle])
        np.testing.assert_allclose(B[0], np.cross(m, np.eye(3))[:, 2], atol=1e-15)
        np.testing.assert_allclose(B[0] @ [1, 2, 3], np.cross(m, [1, 2, 3])[2], atol=1e-15)


def test_a_dipole_is_a_pair_of_opposite_forces():
    """Two charges ± m/d a distance d apart in a uniform field."""
    robot = branched(1)
    m, d, field = np.array([0.3, -0.1, 0.2]), 0.01, np.array([0.5, 2.0, -1.0])
    robot.add_dipole("magnet", "tool", moment=m)
    for sign in (-1, 1):
        along = m / np.linalg.norm(m)
        robot.add_wrench(
            f"pole {sign}", "tool", force=sign * np.linalg.norm(m) / d * field, offset=sign * along * d / 2
        )
    system = robot.compile()
    names = list(system.input_names)
    B = system.actuation_matrix(system.random(0))
    poles = B[:, names.index("pole -1")] + B[:, names.index("pole 1")]
    fields = B[:, [names.index(f"field_{c}") for c in "xyz"]] @ field
    np.testing.assert_allclose(fields, poles, atol=1e-11 * np.abs(B).max())


@pytest.mark.parametrize("place", ["tool", "hand"])
def test_dipoles_have_the_potential_minus_m_b(place):
    """The generalised force is minus the gradient of −m·B; for a dipole spread along a rod of −∫m·B."""
    robot = branched(2)
    density = (lambda X: (1 + X, 0.5, -X)) if place == "hand" else (0.3, 0.1, 0.2)
    robot.add_dipole("magnet", place, moment=density)
    system = robot.compile()
    field = np.array([0.4, -1.0, 0.6])

    def potential(q: np.ndarray) -> float:
        if place == "tool":
            return -float(system.pose("tool", q)[:3, :3] @ density @ field)
        weights = system._assembly.links["hand"].grid.weights * 0.35
        X = system.rod_points("hand")
        poses = system.rod_poses("hand", q, X)
        return -float(sum(w * (g[:3, :3] @ density(x)) @ field for w, g, x in zip(weights, poses, X)))

    q = system.random(4)
    force = system.actuation_matrix(q) @ field
    h = 1e-5
    steps = h * np.eye(system.nv)
    gradient = [(potential(system.integrate(q, d)) - potential(system.integrate(q, -d))) / (2 * h) for d in steps]
    np.testing.assert_allclose(force, -np.array(gradient), atol=1e-8)


def test_a_dipole_feels_no_force_in_a_uniform_field():
    robot = cantilever(joint=pl.Free())
    robot.add_dipole("film", "rod", moment=lambda X: (1 + X, 0.2, 0))
    system = robot.compile()
    np.testing.assert_allclose(system.actuation_matrix(system.random(0))[3:6], 0.0, atol=1e-15)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("method", "arguments", "options", "error", "message"),
    [
        ("add_wrench", ("w", "rod.tip"), {}, ValueError, "wrench 'w': force and moment are both zero"),
        ("add_wrench", ("w", "rod.tip"), {"force": (1, 2)}, ValueError, r"wrench 'w': force.*\(fx, fy, fz\)"),
        ("add_wrench", ("w", "rod.tip"), {"force": (1, 0, 0), "axes": "local"}, ValueError, "wrench 'w': axes.*'local'.*follower"),
        ("add_wrench", ("w", "rood.tip"), {"force": (1, 0, 0)}, KeyError, "rood"),
        ("add_distributed_wrench", ("w", "body"), {"force": (1, 0, 0)}, TypeError, "wrench 'w': 'body' is a rigid body, not a rod"),
        ("add_distributed_wrench", ("w", "rod"), {}, ValueError, "wrench 'w': force and moment are both zero"),
        ("add_distributed_wrench", ("w", "rod"), {"force": (1, 0)}, ValueError, "wrench 'w': force has shape"),
        ("add_distributed_wrench", ("w", "rod"), {"moment": lambda X: X}, ValueError, "moment.*three numbers, or a function of X"),
        ("add_dipole", ("m", "rod"), {"moment": (1, 0)}, ValueError, "dipole 'm': moment has shape"),
        ("add_dipole", ("m", "rod"), {"moment": (1, 0, np.nan)}, ValueError, "dipole 'm': moment = .*finite number"),
        ("add_dipole", ("m", "nobody"), {"moment": (1, 0, 0)}, KeyError, "nobody"),
    ],
)  # fmt: skip
def test_wrong_arguments(method, arguments, options, error, message):
    robot = cantilever()
    robot.add_body("body", parent="rod.tip", mass=1.0)
    with pytest.raises(error, match=message):
        getattr(robot, method)(*arguments, **options)
    assert not robot.wrenches
    assert not robot.dipoles
