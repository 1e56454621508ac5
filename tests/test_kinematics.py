"""Poses, twists, accelerations, Jacobians, momentum and energy: against differences, closed forms and each other."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant as pl
from pliant import lie
from pliant.model.rods.quadrature import rod_grid
from robots import SILICONE, random_inertia, random_pose, random_robot

SEEDS = [0, 1, 2, 3, 5, 8]
REFERENCES = ["body", "world"]


def marked_robot(seed: int) -> pl.Robot:
    """A random tree with named frames: offsets on bodies, places inside rods."""
    robot = random_robot(seed)
    rng = np.random.default_rng(seed + 100)
    for k, link in enumerate(list(robot.links)):
        if link.is_rod:
            robot.add_frame(f"inside{k}", link.at(0.21), offset=random_pose(rng))
            robot.add_frame(f"plain{k}", f"{link.name}@0.77")
        elif k % 2 == 0:
            robot.add_frame(f"marker{k}", link, offset=random_pose(rng))
    return robot


class Case:
    """A compiled random robot with a state."""

    def __init__(self, seed: int) -> None:
        self.robot = marked_robot(seed)
        self.system = self.robot.compile()
        rng = np.random.default_rng(seed)
        self.q = self.system.random(rng)
        self.v, self.a = rng.normal(size=(2, self.system.nv))
        named = list(self.robot.frames)[:6]
        rods = [link.name for link in self.robot.links if link.is_rod]
        self.frames = [*named, "link0", "link4", *(f"{r}.tip" for r in rods), *(f"{r}.base" for r in rods[:1])]

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity at time t of the motion with velocity v and acceleration a now."""
        return self.system.integrate(self.q, self.v * t + 0.5 * self.a * t * t), self.v + self.a * t


@pytest.fixture(scope="module", params=SEEDS)
def case(request) -> Case:
    return Case(request.param)


def central(f, h: float = 2e-4):
    """f'(0) by central differences of fourth order."""
    return (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h)


def gradient(f, system: pl.System, q: np.ndarray) -> np.ndarray:
    """Derivative of a scalar function of q along integrate, (nv,)."""
    return np.array(
        [central(lambda t, e=e: np.float64(f(system.integrate(q, t * e))), 1e-3) for e in np.eye(system.nv)]
    )


def pose_rate(pose, reference: str) -> np.ndarray:
    """Twist of a pose as a function of time, by differences and without any formula of the package but log."""
    g = pose(0.0)
    if reference == "body":
        return central(lambda t: lie.log(lie.inverse(g) @ pose(t)))
    spin = central(lambda t: pose(t)[:3, :3]) @ g[:3, :3].T
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *central(lambda t: pose(t)[:3, 3])])


def assert_near(value, expected, tolerance: float) -> None:
    scale = 1.0 + np.abs(expected).max()
    np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance * scale)


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize("reference", REFERENCES)
def test_twist_is_the_rate_of_the_pose(case, reference):
    s = case.system
    for frame in case.frames:
        twist = s.twist(frame, case.q, case.v, reference=reference)
        assert_near(twist, pose_rate(lambda t, frame=frame: s.pose(frame, case.at(t)[0]), reference), 1e-8)


@pytest.mark.parametrize("reference", REFERENCES)
def test_acceleration_is_the_rate_of_the_twist(case, reference):
    s = case.system
    for frame in case.frames:
        rate = central(lambda t, frame=frame: s.twist(frame, *case.at(t), reference=reference))
        assert_near(s.acceleration(frame, case.q, case.v, case.a, reference=reference), rate, 1e-8)


def test_world_acceleration_is_the_second_derivative_of_position(case):
    s, h = case.system, 1e-3
    for frame in case.frames[:4]:
        x = [s.pose(frame, case.at(k * h)[0])[:3, 3] for k in (-2, -1, 0, 1, 2)]
        second = (-x[0] + 16 * x[1] - 30 * x[2] + 16 * x[3] - x[4]) / (12 * h * h)
        assert_near(s.acceleration(frame, case.q, case.v, case.a, reference="world")[3:], second, 1e-6)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobian_columns_are_rates_of_the_pose(case, reference):
    s = case.system
    for frame in case.frames[::3]:
        J = s.jacobian(frame, case.q, reference=reference)
        assert J.shape == (6, s.nv)
        for k, e in enumerate(np.eye(s.nv)):
            expected = pose_rate(lambda t, e=e, frame=frame: s.pose(frame, s.integrate(case.q, t * e)), reference)
            assert_near(J[:, k], expected, 1e-8)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobian_rate_is_the_rate_of_the_jacobian(case, reference):
    s = case.system
    for frame in case.frames:
        rate = central(
            lambda t, frame=frame: s.jacobian(frame, s.integrate(case.q, t * case.v), reference=reference), 1e-3
        )
        assert_near(s.jacobian_rate(frame, case.q, case.v, reference=reference), rate, 1e-7)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobians_give_twist_and_acceleration(case, reference):
    s, q, v, a = case.system, case.q, case.v, case.a
    for frame in case.frames:
        J, Jd = s.jacobian(frame, q, reference=reference), s.jacobian_rate(frame, q, v, reference=reference)
        assert_near(J @ v, s.twist(frame, q, v, reference=reference), 1e-12)
        assert_near(J @ a + Jd @ v, s.acceleration(frame, q, v, a, reference=reference), 1e-12)


def test_references_differ_by_a_rotation(case):
    s, q, v = case.system, case.q, case.v
    for frame in case.frames[:5]:
        R = s.pose(frame, q)[:3, :3]
        turn = np.kron(np.eye(2), R)
        assert_near(turn @ s.twist(frame, q, v), s.twist(frame, q, v, reference="world"), 1e-13)
        assert_near(turn @ s.jacobian(frame, q), s.jacobian(frame, q, reference="world"), 1e-13)


def test_gravity_does_not_enter_kinematics(case):
    other = case.robot.copy()
    other.gravity = np.array([1.0, -20.0, 3.0])
    t = other.compile()
    for frame in case.frames[:4]:
        for reference in REFERENCES:
            assert_near(
                t.acceleration(frame, case.q, case.v, case.a, reference=reference),
                case.system.acceleration(frame, case.q, case.v, case.a, reference=reference),
                1e-13,
            )


def test_frames_with_offsets_follow_their_carrier(case):
    s, q, v = case.system, case.q, case.v
    for name, frame in case.robot.frames.items():
        X = frame.X
        carrier = frame.link if X is None else f"{frame.link}@{X}"
        np.testing.assert_allclose(s.pose(name, q), s.pose(carrier, q) @ frame.offset.matrix, atol=1e-14)
        back = np.linalg.inv(frame.offset.adjoint)
        assert_near(s.twist(name, q, v), back @ s.twist(carrier, q, v), 1e-13)
        assert_near(s.jacobian(name, q), back @ s.jacobian(carrier, q), 1e-13)


def test_poses_are_rigid_motions(case):
    for frame in case.system.frames:
        g = case.system.pose(frame, case.q)
        np.testing.assert_allclose(g[:3, :3].T @ g[:3, :3], np.eye(3), atol=2e-14)
        assert np.linalg.det(g[:3, :3]) > 0
        np.testing.assert_array_equal(g[3], [0, 0, 0, 1])


def test_joints_move_as_described(case):
    """Pose of every link from its parent's, by the definition of joints and offsets."""
    s, q = case.system, case.q
    for link in case.robot.links:
        parent = link.parent
        carrier = np.eye(4)
        if parent.link != "world":
            carrier = s.pose(parent.link if parent.X is None else f"{parent.link}@{parent.X}", q)
        x = q[s.q_slice(link.name)]
        g = carrier @ parent.offset.matrix @ link.offset.matrix
        if link.joint.kind == "screws":
            for screw, angle in zip(link.joint.screws, x):
                g = g @ lie.exp(screw * angle)
        elif link.joint.kind != "fixed":
            place = pl.Pose.from_quaternion(x[:4], x[4:7] if link.joint.kind == "free" else (0, 0, 0))
            g = g @ place.matrix
        g = g @ link.offset_after.matrix
        np.testing.assert_allclose(s.pose(f"{link.name}.base" if link.is_rod else link.name, q), g, atol=2e-14)


# ---------------------------------------------------------------- names


def arm_with_hand(**options) -> tuple[pl.Robot, pl.Link, pl.Link]:
    robot = pl.Robot("arm with hand")
    settings = {"length": 0.5, "section": pl.Circle((0.03, 0.02)), "material": SILICONE}
    arm = robot.add_rod("arm", strains=pl.Strains.reissner(2), offset=(0, 0, 1), **settings, **options)
    hand = robot.add_body(
        "hand", parent=arm.tip, joint=pl.Revolute("y"), offset=(0.1, 0, 0), mass=1.0, inertia=(1,) * 3
    )
    return robot, arm, hand


def test_names_of_frames():
    robot, arm, hand = arm_with_hand()
    marker = robot.add_frame("marker", hand, offset=(0, 0, 0.2))
    middle = robot.add_frame("middle", arm.at(0.3))
    robot.add_frame("corner", "world", offset=(1, 2, 3))
    s = robot.compile()
    q = s.random(0)
    same = [
        ("arm.tip", "arm", arm, arm.tip, arm.at(1), "arm@1", "arm@1.0"),
        ("arm.base", arm.base, arm.at(0.0), "arm@0"),
        ("middle", middle, "arm@0.3", arm.at(0.3), "arm@.3"),
        ("hand", hand, hand.frame, hand.at(None)),
        ("marker", marker, hand.at((0, 0, 0.2))),
    ]
    for group in same:
        for name in group:
            np.testing.assert_array_equal(s.pose(name, q), s.pose(group[0], q))
            np.testing.assert_array_equal(s.jacobian(name, q), s.jacobian(group[0], q))
    assert len({s.pose(group[0], q).tobytes() for group in same}) == len(same)
    assert {"arm", "arm.tip", "arm.base", "hand", "marker", "middle", "corner"} == set(s.frames)
    for name in s.frames:
        assert s.pose(name, q).shape == (4, 4)


def test_offset_given_in_place():
    robot, arm, hand = arm_with_hand()
    s = robot.compile()
    q = s.random(0)
    np.testing.assert_allclose(
        s.pose(arm.at(1.0, offset=(0, 0.1, 0)), q), s.pose("arm", q) @ pl.translate(0, 0.1, 0).matrix, atol=1e-15
    )
    g = pl.rotate("x", 0.4) @ pl.translate(1, 0, 0)
    np.testing.assert_allclose(s.pose(hand.at(g), q), s.pose("hand", q) @ g.matrix, atol=1e-15)


def test_the_world_does_not_move():
    robot, _arm, _hand = arm_with_hand()
    robot.add_frame("corner", None, offset=pl.translate(1, 2, 3) @ pl.rotate("z", 0.3))
    s = robot.compile()
    q, v = s.random(0), np.ones(s.nv)
    np.testing.assert_allclose(s.pose("world", q), np.eye(4), atol=1e-15)
    np.testing.assert_allclose(s.pose("corner", q), (pl.translate(1, 2, 3) @ pl.rotate("z", 0.3)).matrix, atol=1e-15)
    for frame in ("world", "corner"):
        for reference in REFERENCES:
            assert not s.twist(frame, q, v, reference=reference).any()
            np.testing.assert_allclose(s.acceleration(frame, q, v, v, reference=reference), 0, atol=1e-14)
            assert not s.jacobian(frame, q, reference=reference).any()
            assert not s.jacobian_rate(frame, q, v, reference=reference).any()


# ---------------------------------------------------------------- along rods


def test_rod_poses_are_the_poses_of_computational_points():
    for seed in SEEDS:
        robot = marked_robot(seed)
        s = robot.compile()
        q, v = s.random(seed), np.random.default_rng(seed).normal(size=s.nv)
        for rod in (link.name for link in robot.links if link.is_rod):
            X = s.rod_points(rod)
            frames = [f"{rod}@{x!r}" for x in X.tolist()]
            np.testing.assert_allclose(s.rod_poses(rod, q, X), [s.pose(f, q) for f in frames], rtol=0, atol=2e-15)
            twists = [s.twist(f, q, v) for f in frames]
            assert_near(s.rod_twists(rod, q, v, X), np.array(twists), 1e-14)


def test_rod_poses_do_not_depend_on_which_points_are_asked_for():
    robot = marked_robot(1)
    s = robot.compile()
    q, v = s.random(1), np.ones(s.nv)
    rod = next(link.name for link in robot.links if link.is_rod)
    g, V = s.rod_poses(rod, q, 31), s.rod_twists(rod, q, v, 31)
    assert g.shape == (31, 4, 4)
    assert V.shape == (31, 6)
    X = np.linspace(0, 1, 31)
    order = np.random.default_rng(0).permutation(31)
    np.testing.assert_array_equal(s.rod_poses(rod, q, X[order]), g[order])
    np.testing.assert_array_equal(s.rod_twists(rod, q, v, X[order]), V[order])
    np.testing.assert_array_equal(s.rod_poses(rod, q, 0.5)[0], g[15])
    assert s.rod_poses(rod, q).shape == (50, 4, 4)
    for n in range(2, 80):  # more sets of points than are remembered
        s.rod_poses(rod, q, n)
    np.testing.assert_array_equal(s.rod_poses(rod, q, 31), g)


def test_rod_poses_are_continuous():
    for seed in SEEDS:
        robot = marked_robot(seed)
        s = robot.compile()
        q, v = s.random(seed), np.random.default_rng(seed).normal(size=s.nv)
        for link in robot.links:
            if link.is_rod:
                inner = s.rod_points(link.name)[1:-1]
                sides = np.array([(x - 1e-11, x + 1e-11) for x in inner]).ravel()
                g, V = s.rod_poses(link.name, q, sides), s.rod_twists(link.name, q, v, sides)
                assert np.abs(g[::2] - g[1::2]).max() < 1e-9
                assert np.abs(V[::2] - V[1::2]).max() < 1e-8 * (1 + np.abs(V).max())


def test_rod_twists_are_rates_of_rod_poses(case):
    s, h = case.system, 1e-4
    X = [0.0, 0.05, 0.21, 0.37, 0.5, 0.9, 1.0]
    for link in case.robot.links:
        if link.is_rod:
            poses = [s.rod_poses(link.name, s.integrate(case.q, k * h * case.v), X) for k in (-2, -1, 1, 2)]
            g = s.rod_poses(link.name, case.q, X)
            x = [np.array([lie.log(lie.inverse(g0) @ gk) for g0, gk in zip(g, p)]) for p in poses]
            rate = (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)
            assert_near(s.rod_twists(link.name, case.q, case.v, X), rate, 1e-8)


def helix_position(torsion: float, curvature: float, s: np.ndarray) -> np.ndarray:
    """Position along a curve of constant torsion and curvature about z, from the axis of the helix."""
    darboux = np.array([torsion, 0.0, curvature])
    rate = np.linalg.norm(darboux)
    n, x = darboux / rate, np.array([1.0, 0.0, 0.0])
    along = (n @ x) * n
    angle = rate * s[:, None]
    return along * s[:, None] + np.sin(angle) / rate * (x - along) + (1 - np.cos(angle)) / rate * np.cross(n, x)


@pytest.mark.parametrize("magnus", [2, 4])
def test_constant_strain_is_a_helix(magnus):
    robot = pl.Robot("helix")
    robot.add_rod(
        "coil",
        length=1.5,
        section=pl.Circle(0.01),
        material=SILICONE,
        strains=pl.Strains.constant(),
        reference_strain=pl.helix(radius=0.1, pitch=0.2),
        magnus=magnus,
    )
    s = robot.compile()
    X = np.linspace(0, 1, 77)
    extra = np.array([1.3, 0.0, -4.0, 0.0, 0.0, 0.0])
    reference = pl.helix(0.1, 0.2)
    for q in (s.neutral(), extra):
        torsion, curvature = reference[0] + q[0], reference[2] + q[2]
        g = s.rod_poses("coil", q, X)
        np.testing.assert_allclose(g[:, :3, 3], helix_position(torsion, curvature, 1.5 * X), rtol=0, atol=1e-13)
        np.testing.assert_allclose(s.pose("coil", q), g[-1], atol=1e-14)
    # radius and rise per turn are those that were asked for
    g = s.rod_poses("coil", s.neutral(), X)
    axis = reference[:3] / np.linalg.norm(reference[:3])
    centre = np.array([0.0, 0.1, 0.0])  # curvature about z bends towards y
    apart = g[:, :3, 3] - centre
    apart -= np.outer(apart @ axis, axis)
    np.testing.assert_allclose(np.linalg.norm(apart, axis=1), 0.1, atol=1e-14)
    turns = np.linalg.norm(reference[:3]) * 1.5 / (2 * np.pi)
    np.testing.assert_allclose(g[-1, :3, 3] @ axis, 0.2 * turns, rtol=1e-13)


def test_constant_strain_with_stretch_and_shear_is_one_exponential():
    robot = pl.Robot("screw")
    robot.add_rod("r", length=0.8, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains.constant())
    s = robot.compile()
    q = np.array([2.0, -3.0, 1.0, 0.2, -0.3, 0.1])
    X = np.linspace(0, 1, 13)
    expected = [lie.exp(0.8 * x * (q + [0, 0, 0, 1, 0, 0])) for x in X]
    np.testing.assert_allclose(s.rod_poses("r", q, X), expected, rtol=0, atol=1e-14)


def curved_rod(points: int, magnus: int) -> pl.System:
    robot = pl.Robot("curved")
    robot.add_rod(
        "r",
        length=0.7,
        section=pl.Circle(0.02),
        material=SILICONE,
        strains=pl.Strains.reissner(3),
        reference_strain=lambda X: [0.5, np.sin(3 * X), 2 * X * X, 1.0, 0.0, 0.1],
        offset=pl.rotate("y", 0.3),
        points=points,
        magnus=magnus,
    )
    return robot.compile()


def integrated_poses(s: pl.System, q: np.ndarray, X: np.ndarray) -> np.ndarray:
    """g' = g ξ̂ L solved as an ordinary differential equation."""

    def rate(x, y):
        g = y.reshape(4, 4)
        return 0.7 * (g @ lie.hat(s.strain("r", q, [min(max(x, 0.0), 1.0)])[0])).ravel()

    start = pl.rotate("y", 0.3).matrix.ravel()
    solution = solve_ivp(rate, (0.0, 1.0), start, method="DOP853", t_eval=X, rtol=1e-12, atol=1e-13)
    return solution.y.T.reshape(-1, 4, 4)


def test_variable_strain_is_the_solution_of_the_differential_equation():
    X = np.linspace(0, 1, 21)
    q = np.random.default_rng(4).normal(size=24) * np.repeat([2.0, 0.1], 12)
    exact = integrated_poses(curved_rod(8, 4), q, X)
    errors = {
        magnus: [np.abs(curved_rod(n, magnus).rod_poses("r", q, X) - exact).max() for n in (10, 20, 40, 80)]
        for magnus in (2, 4)
    }
    assert errors[4][-1] < 1e-7
    assert errors[2][-1] < 1e-3
    for magnus, values in errors.items():
        orders = [np.log2(coarse / fine) for coarse, fine in pairwise(values)]
        np.testing.assert_allclose(orders[-2:], magnus, atol=0.35, err_msg=f"magnus {magnus}: {values}")


def test_strain_and_stress():
    robot = pl.Robot("r")
    section = pl.Rectangle((0.05, 0.03), 0.02)
    robot.add_body("base", joint=pl.Spherical(), mass=1.0, inertia=(1, 1, 1))
    robot.add_rod(
        "rod",
        parent="base",
        joint=pl.Prismatic("x"),
        length=0.5,
        section=section,
        material=SILICONE,
        strains=pl.Strains(torsion=1, bending_z=2, stretch=0),
        reference_strain=lambda X: [0.1, X, 0, 1, 0, 0],
    )
    s = robot.compile()
    q = s.random(0)
    X = np.array([0.0, 0.3, 1.0])
    t, b, e = q[5:7], q[7:10], q[10]
    z = 2 * X - 1
    deviation = np.zeros((3, 6))
    deviation[:, 0] = t[0] + t[1] * z
    deviation[:, 2] = b[0] + b[1] * z + b[2] * (1.5 * z * z - 0.5)
    deviation[:, 3] = e
    reference = np.array([[0.1, x, 0, 1, 0, 0] for x in X])
    np.testing.assert_allclose(s.strain("rod", q, X), reference + deviation, atol=1e-14)
    p = section.properties(X)
    E, G = 1e6, 1e6 / 3
    density = np.stack([G * p.torsion, E * p.Iy, E * p.Iz, E * p.area, G * p.area, G * p.area], axis=1)
    np.testing.assert_allclose(s.stress("rod", q, X), density * deviation, rtol=1e-12, atol=1e-12)
    assert s.strain("rod", q, 7).shape == s.stress("rod", q, 7).shape == (7, 6)
    assert s.strain("rod", q).shape == (50, 6)


def test_stress_does_the_work_of_the_elastic_forces():
    """∫ Φᵀ stress dX L = K q: the generalised force is the projection of the internal wrench."""
    robot, _arm, _hand = arm_with_hand()
    s = robot.compile()
    q = s.random(3)
    content = robot.links[0].content
    grid = rod_grid(content.strains.breakpoints, content.points_per_element)
    Phi = content.strains.matrix(grid.X)
    force = 0.5 * np.einsum("m,mai,ma->i", grid.weights, Phi, s.stress("arm", q, grid.X))
    np.testing.assert_allclose(s.elastic_forces(q)[s.v_slice("arm")], force, rtol=1e-11)


def test_a_named_frame_inside_a_rod_only_refines_it():
    plain = arm_with_hand(points=10)[0].compile()
    robot, arm, _hand = arm_with_hand(points=10)
    for k, X in enumerate((0.123, 0.5, 0.87)):
        robot.add_frame(f"f{k}", arm.at(X))
    marked = robot.compile()
    assert set(marked.rod_points("arm")) - set(plain.rod_points("arm")) == {0.123, 0.5, 0.87}
    q = plain.random(2, scale=0.5)
    q[plain.q_slice("arm")] *= 0.5
    assert marked.mass == pytest.approx(plain.mass, rel=1e-14)
    np.testing.assert_allclose(marked.pose("arm.tip", q), plain.pose("arm.tip", q), atol=1e-6)
    np.testing.assert_allclose(marked.center_of_mass(q), plain.center_of_mass(q), atol=1e-6)
    M = plain.mass_matrix(q)
    np.testing.assert_allclose(marked.mass_matrix(q), M, atol=1e-6 * np.abs(M).max())
    np.testing.assert_array_equal(marked.stiffness_matrix(), plain.stiffness_matrix())
    np.testing.assert_allclose(marked.pose("f1", q), plain.rod_poses("arm", q, [0.5])[0], atol=1e-6)
    # a point of the grid as a frame changes nothing at all
    robot, arm, _hand = arm_with_hand(points=10)
    robot.add_frame("point", arm.at(float(plain.rod_points("arm")[3])))
    same = robot.compile()
    np.testing.assert_array_equal(same.rod_points("arm"), plain.rod_points("arm"))
    np.testing.assert_array_equal(same.mass_matrix(q), M)


# ---------------------------------------------------------------- momentum and energy


def masses(case: Case) -> list[tuple[np.ndarray, str]]:
    """Everything with mass, as its 6×6 inertia in a frame and the name of the frame."""
    s, parts = case.system, []
    for link in case.robot.links:
        if link.is_rod:
            rod, X = link.content, s.rod_points(link.name)
            grid = rod_grid(rod.strains.breakpoints, rod.points_per_element, extra=X)
            np.testing.assert_array_equal(grid.X, X)
            for x, w, M in zip(X, grid.weights, rod.inertia_at(X)):
                if w > 0:
                    parts.append((M * w * rod.length, f"{link.name}@{float(x)!r}"))
        else:
            parts.append((link.content.inertia.matrix, link.name))
    return parts


def test_momentum_is_the_sum_over_the_masses(case):
    """Linear and angular momentum and kinetic energy from poses alone, differentiated numerically."""
    s, q, v = case.system, case.q, case.v
    momentum, energy = np.zeros(6), 0.0
    for M, frame in masses(case):
        twist = pose_rate(lambda t, frame=frame: s.pose(frame, s.integrate(q, t * v)), "body")
        momentum += lie.Ad_star(s.pose(frame, q)) @ M @ twist  # wrench order (angular, linear) at the world's origin
        energy += 0.5 * twist @ M @ twist
    result = s.momentum(q, v)
    assert_near(result.linear, momentum[3:], 1e-8)
    assert_near(result.angular, momentum[:3], 1e-8)
    assert s.kinetic_energy(q, v) == pytest.approx(energy, rel=1e-8)


def test_mass_and_centre_of_mass_are_sums(case):
    s, q = case.system, case.q
    total, moment = 0.0, np.zeros(3)
    for M, frame in masses(case):
        if not s.jacobian(frame, q).any():
            continue  # what is fixed to the world is not part of the system
        m = M[3, 3]
        c = np.array([M[2, 4], M[0, 5], M[1, 3]]) / m
        g = s.pose(frame, q)
        total += m
        moment += m * (g[:3, :3] @ c + g[:3, 3])
    assert s.mass == pytest.approx(total, rel=1e-13)
    np.testing.assert_allclose(s.center_of_mass(q), moment / total, atol=1e-13)


def test_linear_momentum_is_mass_times_velocity_of_the_centre(case):
    s = case.system
    rate = central(lambda t: s.center_of_mass(case.at(t)[0]))
    assert_near(s.momentum(case.q, case.v).linear, s.mass * rate, 1e-8)
    # and its rate is mass times the acceleration of the centre
    rate = central(lambda t: s.momentum(*case.at(t)).linear)
    h = 1e-3
    c = [s.center_of_mass(case.at(k * h)[0]) for k in (-2, -1, 0, 1, 2)]
    second = (-c[0] + 16 * c[1] - 30 * c[2] + 16 * c[3] - c[4]) / (12 * h * h)
    assert_near(rate, s.mass * second, 1e-6)


def test_angular_momentum_about_the_centre_of_mass(case):
    s, q, v = case.system, case.q, case.v
    origin, com = s.momentum(q, v), s.momentum(q, v, about="com")
    np.testing.assert_array_equal(origin.linear, com.linear)
    moved = origin.angular - np.cross(s.center_of_mass(q), origin.linear)
    assert_near(com.angular, moved, 1e-13)


def test_kinetic_energy_is_half_v_M_v(case):
    s, q, v = case.system, case.q, case.v
    assert s.kinetic_energy(q, v) == pytest.approx(0.5 * v @ s.mass_matrix(q) @ v, rel=1e-12)
    assert s.kinetic_energy(q, np.zeros(s.nv)) == 0.0


def test_gravity_forces_are_the_gradient_of_the_potential(case):
    s, q = case.system, case.q
    assert_near(s.gravity_forces(q), gradient(s.gravitational_energy, s, q), 1e-9)
    assert s.gravitational_energy(q) == pytest.approx(-s.mass * s.gravity @ s.center_of_mass(q), rel=1e-12)


def test_power_balance(case):
    """d/dt (kinetic + gravitational) = v · ID."""
    s = case.system

    def energy(t: float) -> np.float64:
        q, v = case.at(t)
        return np.float64(s.kinetic_energy(q, v) + s.gravitational_energy(q))

    power = case.v @ s.inverse_dynamics(case.q, case.v, case.a)
    assert central(energy) == pytest.approx(power, rel=1e-7, abs=1e-6)


def test_full_inertia_matrix_with_an_offset_centre_of_mass():
    """A rod whose given 6×6 inertia is not exactly that of a rigid section (rounding is enough) keeps its centre."""
    c, m = np.array([0.01, 0.02, -0.03]), 2.0
    M = np.zeros((6, 6))
    M[:3, :3] = np.diag([0.1, 0.2, 0.25]) - m * lie.skew(c) @ lie.skew(c)
    M[:3, 3:], M[3:, :3] = m * lie.skew(c), -m * lie.skew(c)
    M[3:, 3:] = m * np.eye(3)
    rounded = M.copy()
    rounded[3, 3] *= 1 + 1e-12
    results = []
    for inertia in (M, rounded):
        robot = pl.Robot("heavy")
        robot.add_rod(
            "r", length=0.5, inertia=inertia, stiffness=np.ones(6), strains=pl.Strains.reissner(1), joint=pl.Free()
        )
        s = robot.compile()
        q, v = s.random(1), np.arange(1.0, s.nv + 1)
        results.append((s.mass, s.center_of_mass(q), s.gravitational_energy(q), *s.momentum(q, v, about="com")))
        assert_near(s.gravity_forces(q), gradient(s.gravitational_energy, s, q), 1e-8)
        rate = central(lambda t, s=s, q=q, v=v: s.center_of_mass(s.integrate(q, t * v)))
        assert_near(s.mass * rate, s.momentum(q, v).linear, 1e-8)
    for exact, near in zip(*results):
        np.testing.assert_allclose(near, exact, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- far away

FAR = np.array([1000.0, -700.0, 400.0])


def placed(offset: np.ndarray, joint: pl.Joint) -> pl.System:
    rng = np.random.default_rng(0)
    robot = pl.Robot("placed", gravity=(1.0, 2.0, -9.0))
    base = robot.add_body("base", joint=joint, offset=pl.Pose(offset), inertia=random_inertia(rng))
    rod = robot.add_rod(
        "rod",
        parent=base,
        length=0.5,
        section=pl.Circle((0.03, 0.02)),
        material=SILICONE,
        strains=pl.Strains.reissner(1),
        offset=random_pose(rng),
    )
    robot.add_body(
        "hand", parent=rod.at(0.5), joint=pl.Spherical(), offset=random_pose(rng), inertia=random_inertia(rng)
    )
    return robot.compile()


@pytest.mark.parametrize("how", ["placed far away", "flown far away"])
def test_a_robot_one_kilometre_away_loses_no_digits(how):
    if how == "placed far away":
        near, far = placed(np.zeros(3), pl.Spherical()), placed(FAR, pl.Spherical())
        q = p = near.random(0)
    else:
        near = far = placed(np.zeros(3), pl.Free())
        q = near.random(0)
        p = q.copy()
        q[4:7] = 0.0
        p[4:7] = FAR
    rng = np.random.default_rng(1)
    v, a = rng.normal(size=(2, near.nv))
    shift = np.zeros((4, 4))
    shift[:3, 3] = FAR
    for frame in ("base", "rod.base", "rod.tip", "hand"):
        np.testing.assert_allclose(far.pose(frame, p) - shift, near.pose(frame, q), atol=3e-13)  # ulp of 1000 is 1e-13
        for reference in REFERENCES:
            assert_near(
                far.jacobian(frame, p, reference=reference), near.jacobian(frame, q, reference=reference), 1e-14
            )
            assert_near(
                far.jacobian_rate(frame, p, v, reference=reference),
                near.jacobian_rate(frame, q, v, reference=reference),
                1e-14,
            )
            # these pass through the world's origin: ω × 1 km is rounded
            assert_near(
                far.twist(frame, p, v, reference=reference), near.twist(frame, q, v, reference=reference), 1e-12
            )
            assert_near(
                far.acceleration(frame, p, v, a, reference=reference),
                near.acceleration(frame, q, v, a, reference=reference),
                3e-12,
            )
    X = np.linspace(0, 1, 9)
    np.testing.assert_allclose(far.rod_poses("rod", p, X) - shift, near.rod_poses("rod", q, X), atol=3e-13)
    assert_near(far.rod_twists("rod", p, v, X), near.rod_twists("rod", q, v, X), 1e-12)
    for name, arguments in {
        "mass_matrix": (),
        "inverse_dynamics": (v, a),
        "kinetic_energy": (v,),
        "gravity_forces": (),
    }.items():
        assert_near(getattr(far, name)(p, *arguments), np.asarray(getattr(near, name)(q, *arguments)), 1e-14)
    for there, here in zip(far.inverse_dynamics_derivatives(p, v, a), near.inverse_dynamics_derivatives(q, v, a)):
        assert_near(there, here, 1e-13)
    np.testing.assert_allclose(far.center_of_mass(p) - FAR, near.center_of_mass(q), atol=1e-12)
    assert_near(far.momentum(p, v).linear, near.momentum(q, v).linear, 1e-14)
    assert_near(far.momentum(p, v, about="com").angular, near.momentum(q, v, about="com").angular, 1e-10)
    assert_near(
        far.momentum(p, v).angular - np.cross(FAR, near.momentum(q, v).linear), near.momentum(q, v).angular, 1e-10
    )
    fall = far.gravitational_energy(p) - near.gravitational_energy(q)
    assert fall == pytest.approx(-near.mass * near.gravity @ FAR, rel=1e-13)


# ---------------------------------------------------------------- many states at once


@pytest.mark.parametrize("reference", REFERENCES)
def test_many_states_are_each_as_alone(case, reference):
    system, rng = case.system, np.random.default_rng(7)
    Q = np.array([system.random(rng) for _ in range(5)])
    V, A = rng.normal(size=(2, 5, system.nv))
    for frame in [*case.frames, case.robot.links[0]]:
        for method, states in (("pose", (Q,)), ("twist", (Q, V)), ("acceleration", (Q, V, A)), ("jacobian", (Q,))):
            options = {} if method == "pose" else {"reference": reference}
            alone = [getattr(system, method)(frame, *row, **options) for row in zip(*states)]
            together = getattr(system, method)(frame, *states, **options)
            np.testing.assert_array_equal(together, alone, err_msg=f"{method} of {frame}")
            lists = getattr(system, method)(frame, *(x.tolist() for x in states), **options)
            np.testing.assert_array_equal(lists, alone)
            assert getattr(system, method)(frame, *(x[:0] for x in states), **options).shape == (0, *together.shape[1:])


def test_states_may_be_read_only_or_not_contiguous():
    system = random_robot(3).compile()
    Q = np.array([system.random(k) for k in range(4)])
    frame, poses = system.links[-1], system.pose(system.links[-1], Q)
    fixed = Q.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(system.pose(frame, fixed), poses)
    np.testing.assert_array_equal(system.pose(frame, fixed[0]), poses[0])
    np.testing.assert_array_equal(system.pose(frame, np.asfortranarray(Q)), poses)
    np.testing.assert_array_equal(system.pose(frame, Q[::2]), poses[::2])


def test_wrong_states_are_refused():
    system = random_robot(3).compile()
    n, m, frame = system.nq, system.nv, system.links[-1]
    with pytest.raises(ValueError, match=rf"q has shape \({n + 1},\), but \({n},\) is needed"):
        system.pose(frame, np.zeros(n + 1))
    with pytest.raises(ValueError, match=rf"q has shape \(2, {n + 1}\), but \({n},\) or \(m, {n}\) is needed"):
        system.jacobian(frame, np.zeros((2, n + 1)))
    with pytest.raises(ValueError, match=r"q has shape \(1, 2, "):
        system.pose(frame, np.zeros((1, 2, n)))
    with pytest.raises(ValueError, match="v has 2 rows, but q has 3"):
        system.twist(frame, np.zeros((3, n)), np.zeros((2, m)))
    with pytest.raises(TypeError, match="must be a vector of"):
        system.pose(frame, "neutral")
    with pytest.raises(TypeError, match="frame = 3 must be a link"):
        system.pose(3, system.neutral())


def test_frames_are_found_once_and_forgotten_when_there_are_many():
    robot = pl.Robot("one")
    body = robot.add_body("body", joint=pl.Free(), mass=1.0, inertia=(1, 1, 1))
    system = robot.compile()
    q = system.neutral()
    for k in range(600):
        assert system.pose(body.at((k, 0, 0)), q)[0, 3] == k
    assert len(system._places) < 300
    assert system.pose("body", q)[0, 3] == system.pose(body, q)[0, 3] == 0.0


def test_positions_of_a_run_are_those_of_its_states():
    robot = pl.Robot("arm")
    arm = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(2))
    run = pl.simulate(robot.compile(), 0.05, step=0.005)
    np.testing.assert_array_equal(run.positions(arm.tip), [run.system.pose("arm.tip", q)[:3, 3] for q in run.q])
