"""Coordinates on the manifold: integrate and difference, and the springs of joints that live there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant import lie
from robots import SILICONE, random_inertia, random_pose, random_robot

LARGE = [0.0, 1e-9, 1e-3, 0.5, 2.0, 3.0, np.pi - 1e-7, np.pi - 1e-12]


def mixed() -> pl.System:
    """Every kind of coordinate, so that positions in q and v differ: nq = 19, nv = 17."""
    robot = pl.Robot("mixed")
    a = robot.add_body("a", joint=pl.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    b = robot.add_body("b", parent=a, joint=pl.Spherical(), offset=(0.1, 0, 0), mass=1.0, inertia=(1, 1, 1))
    robot.add_rod(
        "c",
        parent=b,
        joint=pl.Planar("z"),
        length=0.5,
        section=pl.Circle(0.02),
        material=SILICONE,
        strains=pl.Strains(bending=1),
    )
    robot.add_body("d", parent=b, joint=pl.Free(), mass=1.0, inertia=(1, 1, 1))
    return robot.compile()


def quaternion_matrix(q: np.ndarray) -> np.ndarray:
    return Rotation.from_quat([q[1], q[2], q[3], q[0]]).as_matrix()


def free_pose(q: np.ndarray) -> np.ndarray:
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = quaternion_matrix(q[:4]), q[4:7]
    return g


# ---------------------------------------------------------------- integrate and difference


def test_sizes_and_slices_when_coordinates_are_not_velocities():
    system = mixed()
    assert (system.nq, system.nv) == (1 + 4 + 3 + 4 + 7, 1 + 3 + 3 + 4 + 6)
    assert [system.q_slice(n) for n in "abcd"] == [slice(0, 1), slice(1, 5), slice(5, 12), slice(12, 19)]
    assert [system.v_slice(n) for n in "abcd"] == [slice(0, 1), slice(1, 4), slice(4, 11), slice(11, 17)]
    neutral = system.neutral()
    assert neutral[1] == neutral[12] == 1.0
    assert np.count_nonzero(neutral) == 2


def test_integrate_is_addition_on_scalars_and_a_product_on_groups():
    system, rng = mixed(), np.random.default_rng(1)
    for scale in (1e-8, 1e-2, 1.0, 3.0, 20.0):
        q, dv = system.random(rng), rng.normal(size=system.nv) * scale
        new = system.integrate(q, dv)
        np.testing.assert_array_equal(new[0], q[0] + dv[0])
        np.testing.assert_array_equal(new[5:12], q[5:12] + dv[4:11])
        R = quaternion_matrix(q[1:5]) @ lie.exp([*dv[1:4], 0, 0, 0])[:3, :3]
        np.testing.assert_allclose(quaternion_matrix(new[1:5]), R, atol=1e-14 * (1 + scale))
        np.testing.assert_allclose(
            free_pose(new[12:]), free_pose(q[12:]) @ lie.exp(dv[11:]), atol=1e-14 * (1 + scale) ** 2
        )


@pytest.mark.parametrize("angle", LARGE)
def test_difference_undoes_integrate(angle):
    system, rng = mixed(), np.random.default_rng(2)
    for _ in range(10):
        q, dv = system.random(rng), rng.normal(size=system.nv)
        for o in (1, 11):
            dv[o : o + 3] *= angle / np.linalg.norm(dv[o : o + 3])
        np.testing.assert_allclose(system.difference(q, system.integrate(q, dv)), dv, rtol=0, atol=2e-14)


def test_integrate_undoes_difference():
    system, rng = mixed(), np.random.default_rng(3)
    for _ in range(20):
        q0, q1 = system.random(rng), system.random(rng)
        dv = system.difference(q0, q1)
        back = system.integrate(q0, dv)
        assert np.linalg.norm(dv[1:4]) <= np.pi + 1e-14
        for o in (1, 12):  # the quaternion or its negative
            back[o : o + 4] *= np.sign(back[o : o + 4] @ q1[o : o + 4])
        np.testing.assert_allclose(back, q1, rtol=0, atol=2e-14)


def test_difference_is_zero_at_the_same_place_and_antisymmetric():
    system, rng = mixed(), np.random.default_rng(4)
    for _ in range(10):
        q0, q1 = system.random(rng), system.random(rng)
        np.testing.assert_allclose(system.difference(q0, q0), 0, atol=1e-16)
        np.testing.assert_allclose(system.difference(q0, q1), -system.difference(q1, q0), atol=1e-14)


def test_quaternion_sign_and_length_do_not_matter():
    system, rng = mixed(), np.random.default_rng(5)
    for _ in range(10):
        q0, q1, dv = system.random(rng), system.random(rng), rng.normal(size=system.nv)
        for other, o, factor in ((0, 1, -1.0), (0, 12, -1.0), (1, 1, -1.0), (1, 12, 2.5), (0, 1, -0.4)):
            twin = [q0.copy(), q1.copy()]
            twin[other][o : o + 4] *= factor
            np.testing.assert_allclose(system.difference(*twin), system.difference(q0, q1), atol=1e-14)
        twin = q0.copy()
        twin[12:16] *= -3.0
        new, same = system.integrate(q0, dv), system.integrate(twin, dv)
        np.testing.assert_allclose(same[12:16], -new[12:16], atol=1e-15)
        np.testing.assert_allclose(np.delete(same, range(12, 16)), np.delete(new, range(12, 16)), atol=1e-15)
        for frame in ("a", "b", "c.tip", "d"):
            np.testing.assert_allclose(system.pose(frame, twin), system.pose(frame, q0), atol=1e-15)
        np.testing.assert_allclose(system.mass_matrix(twin), system.mass_matrix(q0), atol=1e-14)


def test_difference_takes_the_short_way_round():
    system = mixed()
    q0 = system.neutral()
    dv = np.zeros(system.nv)
    dv[1:4] = (0, 0, 2 * np.pi - 0.3)
    np.testing.assert_allclose(system.difference(q0, system.integrate(q0, dv))[1:4], [0, 0, -0.3], atol=1e-14)


def test_exactly_half_a_turn():
    system = mixed()
    q0, q1 = system.neutral(), system.neutral()
    q1[1:5] = (0, 0.6, 0.8, 0)
    dv = system.difference(q0, q1)[1:4]
    np.testing.assert_allclose(np.abs(dv), np.pi * np.array([0.6, 0.8, 0]), atol=1e-15)
    q1[1:5] = (-0.0, 0, 0, -1)
    np.testing.assert_allclose(np.abs(system.difference(q0, q1)[1:4]), [0, 0, np.pi], atol=1e-15)


def test_integrate_normalises_and_leaves_its_arguments_alone():
    system, rng = mixed(), np.random.default_rng(6)
    q, dv = system.random(rng), rng.normal(size=system.nv)
    q[1:5] *= 1.7
    q[12:16] *= 0.2
    kept, moved = q.copy(), dv.copy()
    new = system.integrate(q, dv)
    assert abs(np.linalg.norm(new[1:5]) - 1) < 3e-16
    assert abs(np.linalg.norm(new[12:16]) - 1) < 3e-16
    np.testing.assert_array_equal(q, kept)
    np.testing.assert_array_equal(dv, moved)
    unit = system.integrate(q, np.zeros(system.nv))
    np.testing.assert_allclose(unit[1:5], q[1:5] / 1.7, atol=1e-15)


MIXED = mixed()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(-1.79, 1.79), min_size=6, max_size=6),
    st.lists(st.floats(-50, 50), min_size=3, max_size=3),
    st.integers(0, 2**31),
)
def test_round_trip_for_any_step(w, v, seed):
    system = MIXED
    q = system.random(seed)
    dv = np.zeros(system.nv)
    dv[1:4], dv[11:14], dv[14:17] = w[:3], w[3:], v
    np.testing.assert_allclose(system.difference(q, system.integrate(q, dv)), dv, rtol=0, atol=2e-12)


def test_tumbling_stays_on_the_manifold():
    """10000 steps of a constant body twist: hundreds of turns, and the end is known."""
    system = mixed()
    rng = np.random.default_rng(7)
    q = start = system.random(rng)
    dv = rng.normal(size=system.nv) * 0.1
    dv[0] = 0.0  # the angle of a revolute joint is a number that grows, not a place on a manifold
    steps = 10_000
    for _ in range(steps):
        q = system.integrate(q, dv)
    assert np.linalg.norm(steps * dv[1:4]) > 200
    for o in (1, 12):
        assert abs(np.linalg.norm(q[o : o + 4]) - 1) < 1e-15
    R = quaternion_matrix(start[1:5]) @ lie.exp([*(steps * dv[1:4]), 0, 0, 0])[:3, :3]
    np.testing.assert_allclose(quaternion_matrix(q[1:5]), R, atol=1e-11)
    np.testing.assert_allclose(free_pose(q[12:]), free_pose(start[12:]) @ lie.exp(steps * dv[11:]), atol=1e-9)
    np.testing.assert_allclose(system.pose("d", q)[:3, :3].T @ system.pose("d", q)[:3, :3], np.eye(3), atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_velocity_of_integrate_is_v(seed):
    """The derivative of difference(q, integrate(q, δ)) at δ = 0 is the identity, on random robots too."""
    system = random_robot(seed).compile()
    q, h = system.random(seed), 1e-6
    for k in range(system.nv):
        e = np.zeros(system.nv)
        e[k] = h
        slope = (system.difference(q, system.integrate(q, e)) - system.difference(q, system.integrate(q, -e))) / (2 * h)
        np.testing.assert_allclose(slope, e / h, atol=1e-9)


def test_random_configurations():
    system = MIXED
    np.testing.assert_array_equal(system.random(5), system.random(np.random.default_rng(5)))
    assert not np.array_equal(system.random(5), system.random(6))
    q = np.array([system.random(k, scale=0.5) for k in range(400)])
    np.testing.assert_allclose(np.linalg.norm(q[:, 1:5], axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(q[:, 12:16], axis=1), 1, rtol=1e-15)
    assert 0.4 < q[:, 0].std() < 0.6
    assert 0.8 < q[:, 8:12].std() < 1.2  # bending of a rod of 0.5 m: scale/length
    np.testing.assert_allclose(np.mean(q[:, 1:5] ** 2, axis=0), 0.25, atol=0.06)  # uniform on SO(3)


# ---------------------------------------------------------------- springs


def spd(rng: np.random.Generator, n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A @ A.T + np.eye(n)


def sprung(joint: pl.Joint, seed: int = 0) -> pl.System:
    """The joint in the middle of a chain, between other sprung coordinates."""
    rng = np.random.default_rng(seed)
    robot = pl.Robot("sprung")
    a = robot.add_body("a", joint=pl.Revolute("y", stiffness=2.0, rest=0.3), inertia=random_inertia(rng))
    b = robot.add_body(
        "b", parent=a, joint=joint, offset=random_pose(rng), offset_after=random_pose(rng), inertia=random_inertia(rng)
    )
    robot.add_rod(
        "c",
        parent=b,
        length=0.4,
        section=pl.Circle(0.02),
        material=SILICONE,
        strains=pl.Strains(torsion=0, bending=2, stretch=1),
    )
    return robot.compile()


RNG = np.random.default_rng(11)
SPRINGS = {
    "spherical scalar": pl.Spherical(stiffness=3.0),
    "spherical diagonal": pl.Spherical(stiffness=(1.0, 2.0, 5.0), rest=(0.4, -0.2, 0.9)),
    "spherical matrix": pl.Spherical(stiffness=spd(RNG, 3), rest=RNG.normal(size=3)),
    "spherical one axis": pl.Spherical(stiffness=(0.0, 2.0, 0.0), damping=1.0),
    "free scalar": pl.Free(stiffness=3.0),
    "free diagonal": pl.Free(stiffness=(1.0, 2.0, 5.0, 10.0, 20.0, 30.0), rest=random_pose(RNG)),
    "free matrix": pl.Free(stiffness=spd(RNG, 6), rest=random_pose(RNG, 1.0)),
    "no spring": pl.Free(damping=2.0),
}


def slope(f, system: pl.System, q: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """Derivative of f along integrate, last axis over velocities: central differences of fourth order."""
    columns = []
    for k in range(system.nv):
        e = np.zeros(system.nv)
        e[k] = h
        values = [np.asarray(f(system.integrate(q, c * e))) for c in (-2, -1, 1, 2)]
        columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", SPRINGS)
@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.3, 2.0, 3.0])
def test_spring_force_is_the_gradient_of_energy(name, angle):
    joint = SPRINGS[name]
    system, rng = sprung(joint), np.random.default_rng(int(angle * 10))
    q = system.random(rng)
    dv = rng.normal(size=joint.nv)  # so far from rest
    dv[:3] *= angle / np.linalg.norm(dv[:3])
    rest = q.copy()
    rest[system.q_slice("b")] = joint.rest_position
    away = np.zeros(system.nv)
    away[system.v_slice("b")] = dv
    q = system.integrate(rest, away)

    force, tangent = system.elastic_forces(q), system.elastic_tangent(q)
    scale = 1 + np.abs(force).max()
    np.testing.assert_allclose(slope(system.elastic_energy, system, q), force, rtol=1e-7, atol=1e-9 * scale)
    np.testing.assert_allclose(slope(system.elastic_forces, system, q), tangent, rtol=1e-7, atol=1e-8 * scale)
    # energy ½ dᵀKd of the geodesic deviation, plus the rod's and the revolute joint's
    K = system.stiffness_matrix()
    K[system.v_slice("b")] = 0.0
    x = np.zeros(system.nv)
    x[system.v_slice("a")] = q[0] - 0.3
    x[system.v_slice("c")] = q[system.q_slice("c")]
    energy = 0.5 * x @ K @ x + 0.5 * dv @ joint.stiffness_matrix @ dv
    np.testing.assert_allclose(system.elastic_energy(q), energy, rtol=1e-12)


@pytest.mark.parametrize("name", SPRINGS)
def test_spring_tangent_is_symmetric_up_to_the_bracket(name):
    """X_j X_i E − X_i X_j E = [X_j, X_i] E: the antisymmetric part is the force on the Lie bracket."""
    system = sprung(SPRINGS[name])
    q = system.random(3)
    sv = system.v_slice("b")
    f, K = system.elastic_forces(q)[sv], system.elastic_tangent(q)[sv, sv]
    full = np.zeros(6)
    full[: len(f)] = f
    n = len(f)
    bracket = np.array([[(lie.ad(np.eye(6)[j]) @ np.eye(6)[i]) @ full for j in range(n)] for i in range(n)])
    np.testing.assert_allclose(K - K.T, bracket, atol=1e-11 * (1 + np.abs(K).max()))


@pytest.mark.parametrize("name", ["spherical matrix", "free matrix"])
def test_spring_at_rest_and_its_first_order(name):
    joint = SPRINGS[name]
    system = sprung(joint)
    q = system.neutral()
    q[0] = 0.3
    q[system.q_slice("b")] = joint.rest_position
    sv = system.v_slice("b")
    np.testing.assert_allclose(system.elastic_forces(q), 0, atol=1e-14)
    assert abs(system.elastic_energy(q)) < 1e-28
    np.testing.assert_allclose(system.elastic_tangent(q)[sv, sv], joint.stiffness_matrix, atol=1e-14)
    np.testing.assert_array_equal(system.stiffness_matrix(q), system.elastic_tangent(q))
    np.testing.assert_array_equal(system.stiffness_matrix(), system.elastic_tangent(system.neutral()))
    np.testing.assert_array_equal(system.mass_matrix(), system.mass_matrix(system.neutral()))


@pytest.mark.parametrize("name", ["spherical diagonal", "free matrix"])
def test_spring_ignores_the_sign_of_the_quaternion(name):
    system = sprung(SPRINGS[name])
    for seed in range(5):
        q = system.random(seed)
        twin = q.copy()
        twin[1:5] *= -1.0
        np.testing.assert_allclose(system.elastic_energy(twin), system.elastic_energy(q), rtol=1e-14)
        np.testing.assert_allclose(system.elastic_forces(twin), system.elastic_forces(q), rtol=1e-13)
        np.testing.assert_allclose(system.elastic_tangent(twin), system.elastic_tangent(q), rtol=1e-12, atol=1e-12)


def test_isotropic_spherical_spring_pulls_back_along_the_rotation_vector():
    robot = pl.Robot("ball", gravity=(0, 0, 0))
    robot.add_body("b", joint=pl.Spherical(stiffness=4.0), mass=1.0, inertia=(1, 1, 1))
    system = robot.compile()
    for angle in (0.1, 1.0, 3.0):
        w = angle * np.array([2, -1, 2]) / 3
        q = system.integrate(system.neutral(), w)
        np.testing.assert_allclose(system.elastic_forces(q), 4 * w, rtol=1e-14)
        np.testing.assert_allclose(system.elastic_energy(q), 2 * angle**2, rtol=1e-14)
        np.testing.assert_allclose(system.forward_dynamics(q, np.zeros(3)), -4 * w, rtol=1e-13)


# ---------------------------------------------------------------- scalar joints

SCALAR = {
    "revolute": pl.Revolute("z", stiffness=3.0, damping=0.5, rest=0.7),
    "prismatic": pl.Prismatic("x", stiffness=30.0, damping=0.2, rest=-0.1),
    "helical": pl.Helical("y", 0.2, stiffness=2.0, damping=0.1, rest=0.4),
    "universal": pl.Universal("x", "y", stiffness=(1.0, 2.0), damping=(0.3, 0.0), rest=(0.1, -0.5)),
    "cylindrical": pl.Cylindrical("z", stiffness=(1.0, 50.0), damping=0.4, rest=(0.0, 0.2)),
    "planar": pl.Planar("z", stiffness=(10.0, 20.0, 1.0), damping=(1.0, 2.0, 3.0), rest=(0.1, 0.2, 0.3)),
}


@pytest.mark.parametrize("name", SCALAR)
def test_springs_and_dampers_of_scalar_joints(name):
    joint = SCALAR[name]
    rng = np.random.default_rng(1)
    robot = pl.Robot("scalar", gravity=(0, 0, 0))
    a = robot.add_body("a", joint=pl.Spherical(), inertia=random_inertia(rng))
    robot.add_body("b", parent=a, joint=joint, inertia=random_inertia(rng))
    system = robot.compile()
    sq, sv = system.q_slice("b"), system.v_slice("b")
    K, D = np.zeros((2, system.nv, system.nv))
    K[sv, sv], D[sv, sv] = joint.stiffness_matrix, joint.damping_matrix
    np.testing.assert_array_equal(system.stiffness_matrix(), K)
    np.testing.assert_array_equal(system.damping_matrix(), D)
    q, v, tau = system.random(rng), rng.normal(size=system.nv), rng.normal(size=system.nv)
    x = np.zeros(system.nv)
    x[sv] = q[sq] - joint.rest_position
    np.testing.assert_allclose(system.elastic_forces(q), K @ x, rtol=1e-14)
    np.testing.assert_allclose(system.elastic_energy(q), 0.5 * x @ K @ x, rtol=1e-14)
    np.testing.assert_allclose(slope(system.elastic_energy, system, q), K @ x, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(system.elastic_tangent(q), K)
    a = system.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(system.inverse_dynamics(q, v, a) + K @ x + D @ v, tau, atol=1e-11)


def test_damping_of_manifold_joints_acts_on_the_body_twist():
    C = spd(np.random.default_rng(2), 6)
    robot = pl.Robot("damped", gravity=(0, 0, 0))
    robot.add_body("b", joint=pl.Free(damping=C), mass=2.0, inertia=(0.1, 0.2, 0.25))
    system = robot.compile()
    np.testing.assert_allclose(system.damping_matrix(), C, rtol=1e-15)
    q, v = system.random(0), np.arange(6.0)
    a = system.forward_dynamics(q, v)
    np.testing.assert_allclose(system.inverse_dynamics(q, v, a), -C @ v, rtol=1e-12)


def test_matrices_are_copies():
    system = mixed()
    system.stiffness_matrix()[:] = 7.0
    system.damping_matrix()[:] = 7.0
    assert not np.any(system.stiffness_matrix() == 7.0)
    assert not np.any(system.damping_matrix() == 7.0)
