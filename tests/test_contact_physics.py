"""Contact does what mechanics says: rest, bouncing, sliding, rolling, conservation, and no pair of rods is overlooked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import pliant as pl
from load_robots import check_tangents, state
from pliant import lie
from pliant._jit import kernel
from pliant.kernels.algebra.dual import get3, get9
from pliant.kernels.loads import shapes
from robots import SILICONE

N0 = np.int64(0)
COULOMB = {"damping": 0.3, "friction": 0.4, "slip_speed": 0.1}


# ---------------------------------------------------------------- distances


@kernel
def measure(kind, inside, size, R, p, x, out):
    """Distance, gradient and second derivative at the rows of x, into the rows of out."""
    for k in range(x.shape[0]):
        d, n, H = shapes.distance(kind, inside, size, get9(R, N0), get3(p, N0), get3(x[k], N0))
        out[k, 0] = d
        for c in range(3):
            out[k, 1 + c] = n[c]
        for c in range(9):
            out[k, 4 + c] = H[c]


def outside_box(c: np.ndarray, size: np.ndarray) -> np.ndarray:
    g = np.abs(c) - size[:3]
    return np.linalg.norm(np.maximum(g, 0), axis=1) + np.minimum(g.max(axis=1), 0)


def outside_cylinder(c: np.ndarray, size: np.ndarray) -> np.ndarray:
    g = np.stack([np.hypot(c[:, 0], c[:, 1]) - size[0], np.abs(c[:, 2]) - size[1]], axis=1)
    return np.linalg.norm(np.maximum(g, 0), axis=1) + np.minimum(g.max(axis=1), 0)


def open_tube(c: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.where(np.abs(c[:, 2]) <= size[1], size[0] - np.hypot(c[:, 0], c[:, 1]), shapes.FAR)


SHAPES = {  # kind, inside, sizes, distance in the shape's frame
    "half-space": (shapes.HALF_SPACE, False, (0, 0, 0, 0), lambda c, s: c[:, 2]),
    "sphere": (shapes.BALL, False, (0.7, 0, 0, 0), lambda c, s: np.linalg.norm(c, axis=1) - s[0]),
    "bubble": (shapes.BALL, True, (0.7, 0, 0, 0), lambda c, s: s[0] - np.linalg.norm(c, axis=1)),
    "cylinder": (shapes.TUBE, False, (0.5, 0.8, 0, 0), outside_cylinder),
    "pipe": (shapes.TUBE, True, (0.5, 0.8, 0, 0), open_tube),
    "capsule": (shapes.TUBE, False, (0, 0.6, 0, 0.4), lambda c, s: outside_cylinder(c, s) - s[3]),
    "round box": (shapes.BLOCK, False, (0.3, 0.5, 0.4, 0.2), lambda c, s: outside_box(c, s) - s[3]),
    "box": (shapes.BLOCK, False, (0.5, 0.7, 0.6, 0), outside_box),
    "room": (shapes.BLOCK, True, (0.5, 0.7, 0.6, 0), lambda c, s: (s[:3] - np.abs(c)).min(axis=1)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_distance_normal_and_curvature(name):
    kind, inside, size, distance = SHAPES[name]
    rng = np.random.default_rng(3)
    R, p, size = lie.exp([0.4, -1.1, 0.7, 0, 0, 0])[:3, :3], rng.normal(size=3), np.array(size, dtype=float)

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out = np.empty((len(x), 13))
        measure(kind, inside, size, R.ravel(), p, np.ascontiguousarray(x), out)
        return out[:, 0], out[:, 1:4], out[:, 4:].reshape(-1, 3, 3)

    c = rng.uniform(-1.6, 1.6, size=(600, 3))  # faces, edges, corners, caps, within the solid and outside
    if name == "cylinder":
        around, beyond = np.hypot(c[:, 0], c[:, 1]) > 0.5, np.abs(c[:, 2]) > 0.8
        assert min(np.sum(a & b) for a in (around, ~around) for b in (beyond, ~beyond)) > 10
    if name == "box":
        assert set(np.sum(np.abs(c) > size[:3], axis=1)) == {0, 1, 2, 3}
    x = p + c @ R.T
    d, n, H = at(x)
    np.testing.assert_allclose(d, distance(c, size), rtol=1e-13, atol=1e-14)
    near = np.abs(d) < 10.0
    np.testing.assert_allclose(np.linalg.norm(n[near], axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), atol=1e-13)
    h = 1e-5
    for k in range(3):
        plus, minus = at(x + h * np.eye(3)[k]), at(x - h * np.eye(3)[k])
        np.testing.assert_allclose(((plus[0] - minus[0]) / (2 * h))[near], n[near, k], atol=2e-9)
        np.testing.assert_allclose(((plus[1] - minus[1]) / (2 * h))[near], H[near, :, k], atol=2e-7)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_axis_of_a_cylinder(axis):
    """A ball touches the round wall at the radius and the cap at half the length, whatever the axis."""
    along = "xyz".index(axis)
    for direction in range(3):
        robot = pl.Robot(gravity=(0, 0, 0))
        robot.add_body("ball", joint=pl.Prismatic("xyz"[direction]), shape=pl.Sphere(0.1), mass=1.0)
        robot.add_obstacle("post", pl.Cylinder(radius=0.3, length=2.0, axis=axis))
        robot.add_contact("touch", "ball", "post", stiffness=10.0, exponent=1.0)
        system = robot.compile()
        surface = 0.1 + (1.0 if direction == along else 0.3)
        for side in (-1, 1):
            push = system.forward_dynamics([side * (surface - 0.01)], [0.0])
            np.testing.assert_allclose(push, [side * 0.1], rtol=1e-12)
            assert system.forward_dynamics([side * (surface + 1e-9)], [0.0]) == 0.0


# ---------------------------------------------------------------- rest


def ball_above_floor(gravity: tuple = (0, 0, -9.81), joint: pl.Joint | None = None, **law: float) -> pl.System:
    """A ball of 2 kg and radius 0.1 m; its centre is at the origin in the neutral configuration, on a floor 0.1 m below."""
    robot = pl.Robot("ball", gravity=gravity)
    robot.add_body("ball", joint=joint or pl.Prismatic("z"), shape=pl.Sphere(0.1), mass=2.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
    robot.add_contact("touch", "ball", "floor", **{"stiffness": 1e5, **law})
    return robot.compile()


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0, 3.0])
def test_a_ball_sinks_into_the_floor(exponent):
    system = ball_above_floor(exponent=exponent)
    rest = pl.solve_statics(system, start=[-1e-3])
    assert rest.success
    assert rest.stable
    np.testing.assert_allclose(rest.q, [-((2 * 9.81 / 1e5) ** (1 / exponent))], rtol=1e-9)


@pytest.mark.parametrize(("shape", "corners"), [(pl.Box(0.3, 0.2, 0.1), 4), (pl.Cylinder(0.2, 0.1, "z"), 12)])
def test_each_corner_of_a_body_carries_its_share(shape, corners):
    robot = pl.Robot()
    robot.add_body("body", joint=pl.Prismatic("z"), shape=shape, mass=2.0, com=(0.02, -0.01, 0.03))
    robot.add_obstacle("floor", pl.HalfSpace())
    robot.add_contact("touch", "body", "floor", stiffness=1e4)
    rest = pl.solve_statics(robot.compile(), start=[0.019])
    assert rest.success
    np.testing.assert_allclose(rest.q, 0.02 - (2 * 9.81 / (corners * 1e4)) ** (2 / 3), rtol=1e-9)


@pytest.mark.parametrize("points", [5, 8, 13])
def test_stiffness_per_length_does_not_count_points(points):
    """A rod lies flat on the floor, at the depth where k δᵖ is its weight per metre."""
    robot = pl.Robot()
    robot.add_rod(
        "rod", joint=pl.Prismatic("z"), length=0.7, section=pl.Circle(0.02), material=SILICONE, points=points,
        strains=pl.Strains.planar_bending(0, axis="y"),
    )  # fmt: skip
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.02))
    robot.add_contact("touch", "rod", "floor", stiffness=1e6, per_length=True)
    rest = pl.solve_statics(robot.compile(), start=[-1e-3, 0.0])
    assert rest.success
    weight = 1000 * np.pi * 0.02**2 * 9.81
    np.testing.assert_allclose(rest.q, [-((weight / 1e6) ** (2 / 3)), 0], rtol=1e-9, atol=1e-12)


def test_a_hanging_rod_on_the_floor_converges_with_the_points():
    def tip(points: int, per_length: bool) -> np.ndarray:
        robot = pl.Robot()
        robot.add_rod(
            "rod", length=0.6, section=pl.Circle(0.01), material=SILICONE, points=points,
            strains=pl.Strains.planar_bending(3, axis="y"),
        )  # fmt: skip
        robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.1))
        robot.add_contact("touch", "rod", "floor", stiffness=3e3, exponent=2.0, per_length=per_length)
        system = robot.compile()
        rest = pl.solve_statics(system)
        assert rest.success
        assert system.pose("rod.tip", rest.q)[2, 3] < -0.09
        return system.pose("rod.tip", rest.q)[:3, 3]

    tips = {n: tip(n, True) for n in (20, 40, 80)}
    assert np.linalg.norm(tips[40] - tips[80]) < 2e-4
    assert np.linalg.norm(tips[20] - tips[80]) < 1e-3
    assert np.linalg.norm(tip(20, False) - tip(80, False)) > 5 * np.linalg.norm(tips[20] - tips[80])


# ---------------------------------------------------------------- bouncing


def stored(system: pl.System, q: np.ndarray, radius: float, height: float, k: float, p: float) -> float:
    """Elastic energy of contact of the ball with the floor."""
    depth = max(0.0, radius + height - system.pose("ball", q)[2, 3])
    return k * depth ** (p + 1) / (p + 1)


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_bouncing(exponent, damping):
    """Without damping the energy stays; with damping each bounce takes some, and no instant gives any."""
    system = ball_above_floor(exponent=exponent, damping=damping, stiffness=1e4)
    run = pl.simulate(
        system, 1.0, start=[0.1], method="dop853", rtol=1e-11, atol=1e-11, output=5e-4, max_step=5e-3
    )  # 0.1 m of fall takes 0.14 s
    assert run.success
    contact = [stored(system, q, 0.1, -0.1, 1e4, exponent) for q in run.q]
    energy = run.energies().total + contact
    bounces = np.sum(np.diff(np.sign(run.v[:, 0])) > 0)
    assert bounces >= 3
    if damping == 0.0:
        np.testing.assert_allclose(energy, 2 * 9.81 * 0.1, rtol=2e-8)
    else:
        assert np.diff(energy).max() < 1e-9
        assert energy[-1] < 0.5 * energy[0]


def test_a_tumbling_box_keeps_its_energy():
    """Eight corners, no friction: kinetic, gravitational and contact energy add up."""
    robot = pl.Robot()
    robot.add_body("box", joint=pl.Free(), shape=pl.Box(0.2, 0.3, 0.1), mass=2.0)
    robot.add_obstacle("floor", pl.HalfSpace())
    robot.add_contact("touch", "box", "floor", stiffness=1e4)
    system = robot.compile()
    q = system.integrate(system.neutral(), [0.4, 0.7, 0.1, 0, 0, 0])
    q[6] = 0.3
    v = np.array([1.0, -2, 0.5, 0.2, 0, 0])
    run = pl.simulate(system, 0.6, start=q, velocity=v, method="dop853", rtol=1e-11, atol=1e-11, max_step=2e-3)
    assert run.success
    corners = np.array(list(product([-0.1, 0.1], [-0.15, 0.15], [-0.05, 0.05])))
    z = np.array([(g[:3, 3] + corners @ g[:3, :3].T)[:, 2] for g in run.poses("box")])
    contact = 1e4 * np.sum(np.maximum(-z, 0.0) ** 2.5, axis=1) / 2.5
    assert contact.max() > 1.0
    energy = run.energies().total + contact
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)


# ---------------------------------------------------------------- friction


def incline(angle: float) -> tuple:
    return (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))


@pytest.mark.parametrize("speed", [0.005, 0.1, 3.0])
def test_sliding_friction_is_coulombs(speed):
    """Four corners carry the weight; the acceleration is g (sin θ − μ cos θ), less below the slip speed."""
    angle, mu, v0, k = 0.5, 0.3, 0.01, 1e5
    robot = pl.Robot(gravity=incline(angle))
    robot.add_body("block", joint=pl.Free(), shape=pl.Box(0.4, 0.3, 0.1), mass=2.0)
    robot.add_obstacle("slope", pl.HalfSpace())
    robot.add_contact("touch", "block", "slope", stiffness=k, friction=mu, slip_speed=v0, stiction=0)
    system = robot.compile()
    q = system.neutral()
    q[6] = 0.05 - (2 * 9.81 * np.cos(angle) / (4 * k)) ** (2 / 3)
    direction = np.array([np.cos(0.3), np.sin(0.3), 0.0])  # along the plane
    a = system.forward_dynamics(q, np.concatenate([np.zeros(3), speed * direction]))[3:]
    force = mu * 9.81 * np.cos(angle) * speed / np.hypot(speed, v0)
    expected = np.array([9.81 * np.sin(angle), 0, 0]) - force * direction
    np.testing.assert_allclose(a, expected, atol=1e-11)


def test_a_block_slides_down():
    angle, mu = 0.5, 0.3
    robot = pl.Robot(gravity=incline(angle))
    robot.add_body("block", joint=pl.Free(), shape=pl.Box(0.4, 0.3, 0.1), mass=2.0)
    robot.add_obstacle("slope", pl.HalfSpace())
    robot.add_contact("touch", "block", "slope", stiffness=1e5, damping=5.0, friction=mu, slip_speed=1e-3)
    system = robot.compile()
    q = system.neutral()
    q[6] = 0.05
    run = pl.simulate(system, 1.0, start=q, output=0.02, rtol=1e-5, atol=1e-6, max_step=0.01)
    assert run.success
    x, late = run.positions("block"), run.t >= 0.5
    a = 9.81 * (np.sin(angle) - mu * np.cos(angle))
    speed = np.polyfit(run.t[late], x[late, 0], 2)
    np.testing.assert_allclose(2 * speed[0], a, rtol=2e-3)
    assert np.abs(x[:, 1]).max() < 1e-9


@pytest.mark.parametrize(("mu", "rolls"), [(0.8, True), (0.05, False)])
def test_a_ball_rolls_down(mu, rolls):
    """With enough friction a = 5/7 g sin θ and the point of contact rests; with little the ball slides and spins up."""
    angle = 0.3
    system = ball_above_floor(incline(angle), pl.Free(), friction=mu, slip_speed=1e-3, stiction=0, damping=2.0)
    q = system.neutral()
    q[6] = -((2 * 9.81 * np.cos(angle) / 1e5) ** (2 / 3))
    run = pl.simulate(system, 1.0, start=q, method="radau", rtol=1e-8, atol=1e-9, output=0.1)
    assert run.success
    v = np.array([system.twist("ball", q, v, reference="world") for q, v in zip(run.q, run.v)])
    slope, t = 9.81 * np.sin(angle), run.t[-1] - run.t[5]
    if rolls:
        np.testing.assert_allclose((v[-1, 3] - v[5, 3]) / t, 5 / 7 * slope, rtol=1e-6)
        np.testing.assert_allclose((v[-1, 1] - v[5, 1]) / t, 5 / 7 * slope / 0.1, rtol=1e-6)
        slip = v[5:, 3] - 0.1 * v[5:, 1]  # a creep that makes up the friction 2/7 g sin θ
        share = 2 / 7 * np.tan(angle) / mu
        np.testing.assert_allclose(slip, 1e-3 * share / np.sqrt(1 - share**2), rtol=1e-5)
    else:
        push = mu * 9.81 * np.cos(angle)
        np.testing.assert_allclose((v[-1, 3] - v[5, 3]) / t, slope - push, rtol=1e-5)
        np.testing.assert_allclose((v[-1, 1] - v[5, 1]) / t, push / (0.4 * 0.1), rtol=1e-5)
    assert np.abs(run.positions("ball")[:, 1]).max() < 1e-12


# ---------------------------------------------------------------- between links


def thrown_rods(gap: float, **law: float) -> pl.Robot:
    """Two free rods, crossed, without gravity; their axes are a gap apart."""
    robot = pl.Robot("thrown rods", gravity=(0, 0, 0))
    soft = pl.Material(young=2e5, poisson=0.4, density=1000.0)
    for name, turn, z in (("a", 0.2, 0.0), ("b", 1.5, gap)):
        robot.add_rod(
            name, joint=pl.Free(), offset=pl.translate(0, 0, z) @ pl.rotate("z", turn) @ pl.translate(-0.2, 0, 0),
            length=0.5, section=pl.Circle(0.02), material=soft, strains=pl.Strains(bending=1, torsion=0), points=6,
        )  # fmt: skip
    robot.add_contact("touch", "a", "b", stiffness=1e4, **law)
    return robot


@pytest.mark.parametrize(
    ("method", "tolerance", "stiction"), [("dop853", 1e-10, 0.0), ("radau", 1e-8, 0.0), ("esdirk3", 1e-8, 1e-6)]
)
def test_colliding_rods_keep_momentum(method, tolerance, stiction):
    system = thrown_rods(0.1, damping=0.2, friction=0.5, slip_speed=0.05, stiction=stiction).compile()
    v = np.zeros(system.nv)
    v[system.v_slice("a")][:6] = [0.5, 0.3, -0.2, 0.1, 0.2, 1.0]
    v[system.v_slice("b")][:6] = [-1.0, 0.2, 0.4, 0.0, -0.1, -0.5]
    run = pl.simulate(system, 0.12, velocity=v, method=method, rtol=tolerance, atol=tolerance, output=0.005)
    assert run.success
    L, p = run.momenta()
    np.testing.assert_allclose(p, np.tile(p[0], (len(p), 1)), atol=30 * tolerance)
    np.testing.assert_allclose(L, np.tile(L[0], (len(L), 1)), atol=30 * tolerance)
    own = [system.twist("a.base", q, v, reference="world")[5] for q, v in zip(run.q, run.v)]
    assert own[-1] < 0.5 * own[0]  # they met
    energy = run.energies().total
    assert energy[-1] < energy[0] - 1e-3


def resultant(system: pl.System, link: str, frame: str, q: np.ndarray, force: np.ndarray) -> np.ndarray:
    """What generalised forces add up to on a link with a free joint: moment about the world's origin, and force."""
    g = system.pose(frame, q)
    return lie.Ad(np.linalg.inv(g)).T @ force[system.v_slice(link)][:6]


class Touching:
    """A robot with contact, and the same without."""

    def __init__(self, robot: pl.Robot) -> None:
        self.system = robot.compile()
        bare = robot.copy()
        bare.contacts.clear()
        self.bare = bare.compile()

    def forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised forces of contact: the difference that contact makes to the residual."""
        zero = np.zeros(self.system.nv)
        return self.bare.residual(q, v, zero) - self.system.residual(q, v, zero)

    def states(self, count: int, scale: float) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Random states in which something touches."""
        found = []
        for seed in range(20 * count):
            q, v, a = state(self.system, seed, scale=scale)
            if np.abs(self.forces(q, v)).max() > 1e-3:
                found.append((q, v, a))
            if len(found) == count:
                return found
        raise AssertionError("too few states with contact")


def check_reaction(both: Touching, links: dict[str, str], count: int) -> None:
    """In random states with contact, the two links feel opposite wrenches."""
    system, rng, touched = both.system, np.random.default_rng(0), 0
    for _ in range(20 * count):
        q = system.integrate(system.neutral(), 0.2 * rng.normal(size=system.nv))
        force = both.forces(q, rng.normal(size=system.nv))
        first, second = (resultant(system, link, frame, q, force) for link, frame in links.items())
        touched += bool(np.linalg.norm(first) > 1e-2)
        np.testing.assert_allclose(first, -second, atol=1e-13 * max(1.0, np.abs(first).max()))
        if touched == count:
            return
    raise AssertionError("too few states with contact")


def test_action_is_reaction_between_rods():
    check_reaction(Touching(thrown_rods(0.05, **COULOMB)), {"a": "a.base", "b": "b.base"}, 5)


@pytest.mark.parametrize(
    ("shape", "inside"),
    [(pl.HalfSpace(), False), (pl.Sphere(0.3), False), (pl.Sphere(0.1), True), (pl.Box(0.4, 0.5, 0.3), False),
     (pl.Box(0.2, 0.3, 0.1), True), (pl.Cylinder(0.3, 0.6, "y"), False), (pl.Cylinder(0.05, 1.0, "x"), True)],
)  # fmt: skip
def test_action_is_reaction_on_a_moving_obstacle(shape, inside):
    robot = pl.Robot(gravity=(0, 0, 0))
    robot.add_rod(
        "rod", joint=pl.Free(), length=0.5, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains(bending=1)
    )
    robot.add_body("carrier", joint=pl.Free(), offset=(0.2, 0, 0), mass=1.0, inertia=(0.1, 0.2, 0.3))
    robot.add_obstacle("obstacle", shape, parent="carrier", pose=pl.rotate((1, 2, 0), 0.3), inside=inside)
    robot.add_contact("touch", "rod", "obstacle", stiffness=1e3, **COULOMB)
    check_reaction(Touching(robot), {"rod": "rod.base", "carrier": "carrier"}, 4)


def tangle(base: str, **law: float) -> pl.Robot:
    """Two rods on a hub that touch each other and themselves when bent enough."""
    robot = pl.Robot("tangle", gravity=(1, -2, -9))
    joint = pl.Free() if base == "free" else pl.Revolute((1, 2, 3))
    hub = robot.add_body("hub", joint=joint, shape=pl.Sphere(0.05), mass=0.4)
    robot.add_rod(
        "a", parent=hub, offset=(0.05, 0, 0), length=0.6, section=pl.Circle((0.03, 0.02)), material=SILICONE,
        strains=pl.Strains(torsion=1, bending=2, stretch=0), points=7,
    )  # fmt: skip
    robot.add_rod(
        "b", parent=hub, offset=pl.translate(0.05, 0.08, 0) @ pl.rotate("x", 0.3), length=0.4, section=pl.Circle(0.025),
        material=SILICONE, strains=pl.Strains.kirchhoff(order=3), points=7,
    )  # fmt: skip
    robot.add_contact("ab", "a", "b", stiffness=200.0, **law)
    robot.add_contact("aa", "a", "a", stiffness=200.0, **law)
    return robot


def closest_points(p: np.ndarray, a: np.ndarray, h: float, q: np.ndarray, b: np.ndarray, k: float) -> np.ndarray:
    """Closest points of the segments p ± h a and q ± k b: the best of all candidates (inner, and for each fixed end)."""
    found = []
    M = np.array([[1.0, -a @ b], [-a @ b, 1.0]])
    if abs(np.linalg.det(M)) > 1e-12:
        s, t = np.linalg.solve(M, [-(p - q) @ a, (p - q) @ b])
        if abs(s) <= h and abs(t) <= k:
            found.append((s, t))
    for end in (-h, h):
        found.append((end, float(np.clip((p + end * a - q) @ b, -k, k))))
    for end in (-k, k):
        found.append((float(np.clip((q + end * b - p) @ a, -h, h)), end))
    pairs = np.array([[p + s * a, q + t * b] for s, t in found])
    return pairs[np.argmin(np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1))]


def brute_force(system: pl.System, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Generalised contact forces of the tangle from every pair of capsules, by virtual power; how many touch."""
    rods = {"a": (0.6, pl.Circle((0.03, 0.02))), "b": (0.4, pl.Circle(0.025))}
    caps = []
    for name, (length, section) in rods.items():
        X = system.rod_points(name)
        middle = np.concatenate([[0.0], 0.5 * (X[1:] + X[:-1]), [1.0]]) * length
        g = system.rod_poses(name, q, X)
        twists = [system.rod_twists(name, q, e, X) for e in np.eye(system.nv)]
        own = system.rod_twists(name, q, v, X)
        for i in range(len(X)):
            T = lie.Ad(g[i])  # to the world's origin and axes
            centre = 0.5 * (middle[i] + middle[i + 1])
            c = g[i][:3, 3] + g[i][:3, 0] * (centre - X[i] * length)
            caps.append((name, c, g[i][:3, 0], 0.5 * (middle[i + 1] - middle[i]), float(section.extent(X[i : i + 1])[0]),
                         T @ own[i], np.array([T @ t[i] for t in twists]).T, centre))  # fmt: skip
    contacts = {"ab": 0, "aa": 0}
    out = np.zeros(system.nv)
    joined = joined_pairs(system, rods)
    for i, j in product(range(len(caps)), repeat=2):
        first, second = caps[i], caps[j]
        kind = first[0] + second[0]
        if j <= i or kind not in contacts or (i, j) in joined:
            continue
        if kind == "aa" and abs(first[7] - second[7]) - first[3] - second[3] < 2 * (first[4] + second[4]):
            continue
        x, y = closest_points(first[1], first[2], first[3], second[1], second[2], second[3])
        gap = np.linalg.norm(x - y)
        depth = first[4] + second[4] - gap
        if depth <= 0:
            continue
        contacts[kind] += 1
        n, law = (x - y) / gap, system._robot.contacts[kind]
        relative = first[5] - second[5]
        at = x - first[4] * n
        vx, va = (relative[3:] + np.cross(relative[:3], point) for point in (x, at))
        fn = law.stiffness * depth**law.exponent * max(0.0, 1 - law.damping * (n @ vx))
        slip = va - (n @ va) * n
        F = fn * (n - law.friction * slip / np.sqrt(slip @ slip + law.slip_speed**2))
        out += np.concatenate([np.cross(at, F), F]) @ (first[6] - second[6])
    return out, contacts


def joined_pairs(system: pl.System, rods: dict) -> set[tuple[int, int]]:
    """Pairs of capsules that overlap in the neutral configuration."""
    lines, radii = [], []
    for name, (length, section) in rods.items():
        X = system.rod_points(name)
        middle = np.concatenate([[0.0], 0.5 * (X[1:] + X[:-1]), [1.0]])
        for i in range(len(X)):
            g = system.rod_poses(name, system.neutral(), [middle[i], middle[i + 1]])
            lines.append((g[:, :3, 3].mean(axis=0), g[0, :3, 0], 0.5 * (middle[i + 1] - middle[i]) * length))
            radii.append(float(section.extent(X[i : i + 1])[0]))
    out = set()
    for i, j in product(range(len(lines)), repeat=2):
        x, y = closest_points(*lines[i], *lines[j])
        if np.linalg.norm(x - y) < radii[i] + radii[j]:
            out.add((i, j))
    return out


def test_every_pair_that_touches_is_found():
    """Sweep and prune against all pairs, in random tangles, with damping and friction."""
    both = Touching(tangle("free", **COULOMB, stiction=0.0))
    total = {"ab": 0, "aa": 0}
    for seed in range(20):
        q, v, _ = state(both.system, seed, scale=4.0)
        force, contacts = brute_force(both.system, q, v)
        np.testing.assert_allclose(both.forces(q, v), force, atol=1e-11 * max(1.0, np.abs(force).max()))
        total = {kind: total[kind] + n for kind, n in contacts.items()}
    assert min(total.values()) >= 8
    assert sum(total.values()) >= 30


@pytest.mark.parametrize("base", ["free", "revolute"])
@pytest.mark.parametrize("law", [{}, COULOMB], ids=["smooth", "rough"])
@pytest.mark.parametrize("kind", ["ab", "aa"])
def test_exact_derivatives_of_touching_rods(kind, base, law):
    robot = tangle(base, **law)
    for name in {"ab", "aa"} - {kind}:
        del robot.contacts[name]
    both = Touching(robot)
    for q, v, a in both.states(4, scale=4.0):
        check_tangents(both.system, q, v, a, np.zeros(0), tol=3e-12)  # of a robot with large elastic terms


def test_a_rod_bent_into_a_loop_touches_itself():
    """Internal stress winds a clamped rod up by more than a turn; its end comes round and rests against its beginning."""
    robot = pl.Robot("loop", gravity=(0, 0, 0))
    robot.add_rod(
        "rod", length=1.0, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains.planar_bending(4), points=30
    )
    free = robot.compile()
    moment = 2 * np.pi * 1.1 * 1e6 * np.pi * 0.02**4 / 4
    tau = free.stress_forces("rod", (0, 0, moment, 0, 0, 0))
    robot.add_contact("itself", "rod", "rod", stiffness=1e4)
    system = robot.compile()
    through = pl.solve_statics(free, tau=tau)
    rest = pl.solve_statics(system, tau=tau, load_steps=10)
    assert through.success
    assert rest.success
    assert rest.stable

    def gap(q: np.ndarray) -> float:
        x = system.rod_poses("rod", q, 200)[:, :3, 3]
        d = np.linalg.norm(x[:, None] - x[None], axis=2)
        apart = np.abs(np.subtract.outer(np.arange(200), np.arange(200))) > 40
        return float(d[apart].min())

    assert gap(through.q) < 0.01
    np.testing.assert_allclose(through.q, [2 * np.pi * 1.1, 0, 0, 0, 0], atol=1e-8)
    assert 0.039 < gap(rest.q) < 0.04
    assert rest.q[0] < 2 * np.pi * 1.1


# ---------------------------------------------------------------- errors


def room() -> pl.Robot:
    robot = pl.Robot("room")
    robot.add_rod("arm", length=1.0, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains(bending=1))
    robot.add_rod(
        "wire",
        length=1.0,
        stiffness=[1, 1, 1, 10, 10, 10],
        inertia=[1e-3] * 3 + [0.1] * 3,
        strains=pl.Strains(bending=1),
    )
    robot.add_body("ball", shape=pl.Sphere(0.1), mass=1.0, joint=pl.Free())
    robot.add_body("point", mass=1.0, joint=pl.Free())
    robot.add_body("egg", shape=pl.Ellipsoid(0.1, 0.1, 0.2), mass=1.0, joint=pl.Free())
    robot.add_obstacle("floor", pl.HalfSpace())
    return robot


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("arm", "flor"), {}, KeyError, "obstacle or link.*'flor'.*did you mean.*'floor'"),
        (("arn", "floor"), {}, KeyError, "link.*'arn'.*'arm'"),
        (("ball", "ball"), {}, ValueError, "body 'ball' is rigid and cannot touch itself"),
        (
            ("ball", "floor"),
            {"per_length": True},
            ValueError,
            "per_length is for rods; the stiffness of a body is that of each point",
        ),
        (("arm", "point"), {}, ValueError, "body 'point' has no shape"),
        (("point", "floor"), {}, ValueError, "body 'point' has no shape; contact needs a Sphere, Box or Cylinder"),
        (("egg", "floor"), {}, ValueError, r"body 'egg' has Ellipsoid\(.*\); contact needs a Sphere, Box or Cylinder"),
        (("wire", "floor"), {}, ValueError, "rod 'wire' has no section, so no radius; give it one"),
        (("arm", "wire"), {}, ValueError, "rod 'wire' has no section"),
        (
            ("arm", "arm"),
            {"per_length": True},
            ValueError,
            "per_length is for contact with others, not of a rod with itself",
        ),
        (("arm", "floor"), {"stiffness": 0.0}, ValueError, "stiffness = 0"),
        (("arm", "floor"), {"exponent": 0.5}, ValueError, "exponent = 0.5.*linear spring"),
        (("arm", "floor"), {"damping": -1.0}, ValueError, "damping = -1"),
        (("arm", "floor"), {"friction": -0.1}, ValueError, "friction = -0.1"),
        (("arm", "floor"), {"slip_speed": 0.0}, ValueError, "slip_speed = 0"),
    ],
)
def test_wrong_contacts(arguments, options, error, message):
    robot = room()
    with pytest.raises(error, match=message) as caught:
        robot.add_contact("touch", *arguments, **{"stiffness": 1e3, **options})
    assert "touch" in str(caught.value) or error is KeyError
    assert not robot.contacts


@pytest.mark.parametrize(
    ("shape", "options", "error", "message"),
    [
        (pl.Ellipsoid(0.1, 0.2, 0.3), {"inside": True}, ValueError, "obstacle 'thing': inside=True is not allowed: Ellipsoid"),
        (3.0, {}, TypeError, "obstacle 'thing': shape = 3.0 cannot be an obstacle"),
        (pl.HalfSpace(), {"inside": True}, ValueError, "inside=True makes no sense for a half-space"),
        (pl.Sphere(0.1), {"parent": "nobody"}, KeyError, "nobody"),
    ],
)  # fmt: skip
def test_wrong_obstacles(shape, options, error, message):
    robot = room()
    with pytest.raises(error, match=message):
        robot.add_obstacle("thing", shape, **options)
    assert list(robot.obstacles) == ["floor"]


def test_names_are_taken_once():
    robot = room()
    robot.add_contact("touch", "arm", "floor", stiffness=1e3)
    with pytest.raises(ValueError, match="'touch' is taken"):
        robot.add_contact("touch", "ball", "floor", stiffness=1e3)
    with pytest.raises(ValueError, match="'floor' is taken"):
        robot.add_obstacle("floor", pl.Sphere(0.1))
