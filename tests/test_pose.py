"""Poses: group laws, directions, quaternions, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from pliant.model.pose import Pose, as_pose, rotate, skew, translate, unit_axis

rng = np.random.default_rng(7)


def random_pose(seed: int) -> Pose:
    r = np.random.default_rng(seed)
    return Pose(r.normal(size=3), Rotation.random(random_state=seed).as_matrix())


finite = st.floats(-1e3, 1e3, allow_nan=False, allow_subnormal=True)


def test_identity_and_translation():
    assert np.array_equal(Pose().matrix, np.eye(4))
    np.testing.assert_array_equal(translate(1, 2, 3) @ (10, 20, 30), [11, 22, 33])
    assert translate(1, 2, 3) == Pose(translation=(1, 2, 3))
    assert translate(1, 2, 3) != Pose()


@pytest.mark.parametrize("angle", [0.0, 1e-9, -0.3, 2.0, np.pi, 7.0])
def test_rotate_is_the_exponential(angle):
    axis = np.array([1.0, -2.0, 0.5])
    expected = expm(angle * skew(axis / np.linalg.norm(axis)))
    np.testing.assert_allclose(rotate(axis, angle).rotation, expected, atol=2e-15)


def test_quarter_turn_is_right_handed():
    np.testing.assert_allclose(rotate("z", np.pi / 2) @ (1, 0, 0), [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(rotate("-z", np.pi / 2) @ (1, 0, 0), [0, -1, 0], atol=1e-15)


def test_composition_is_the_matrix_product_and_acts_on_points():
    a, b = random_pose(1), random_pose(2)
    np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=1e-15)
    points = rng.normal(size=(4, 5, 3))
    np.testing.assert_allclose((a @ b) @ points, a @ (b @ points), atol=1e-14)
    one = (a.matrix @ np.append(points[2, 3], 1.0))[:3]
    np.testing.assert_allclose((a @ points)[2, 3], one, atol=1e-15)


def test_inverse():
    a = random_pose(3)
    np.testing.assert_allclose((a.inverse() @ a).matrix, np.eye(4), atol=1e-15)
    np.testing.assert_allclose(a.inverse().matrix, np.linalg.inv(a.matrix), atol=1e-14)


def test_adjoint_is_the_action_on_twists():
    g = random_pose(4)
    twist = rng.normal(size=6)
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = skew(twist[:3]), twist[3:]
    moved = g.matrix @ hat @ np.linalg.inv(g.matrix)
    result = g.adjoint @ twist
    np.testing.assert_allclose(skew(result[:3]), moved[:3, :3], atol=1e-14)
    np.testing.assert_allclose(result[3:], moved[:3, 3], atol=1e-14)


def test_adjoint_is_a_homomorphism():
    a, b = random_pose(5), random_pose(6)
    np.testing.assert_allclose((a @ b).adjoint, a.adjoint @ b.adjoint, atol=1e-14)


@settings(deadline=None)
@given(st.tuples(finite, finite, finite, finite).filter(lambda q: np.linalg.norm(q) > 1e-3))
def test_quaternion_round_trip_against_scipy(q):
    q = np.array(q) / np.linalg.norm(q)
    pose = Pose.from_quaternion(q, (1, 2, 3))
    np.testing.assert_allclose(pose.rotation, Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix(), atol=1e-14)
    back = pose.quaternion
    assert back[0] >= 0.0
    assert min(np.linalg.norm(back - q), np.linalg.norm(back + q)) < 1e-14


@settings(max_examples=300, deadline=None)
@given(st.tuples(finite, finite, finite).filter(any))
def test_look_along_points_anywhere(direction):
    pose = Pose.look_along(direction, (1.0, 2.0, 3.0), roll=0.4)
    unit = np.array(direction) / np.max(np.abs(direction))
    np.testing.assert_allclose(pose.rotation[:, 0], unit / np.linalg.norm(unit), atol=1e-15)
    np.testing.assert_allclose(pose.rotation.T @ pose.rotation, np.eye(3), atol=1e-15)
    assert np.linalg.det(pose.rotation) == pytest.approx(1.0)
    assert pose.translation.tolist() == [1, 2, 3]


@pytest.mark.parametrize("tiny", [1e-8, 1e-16, 1e-160, 1e-289, 1e-300, 5e-324, 0.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_look_along_close_to_the_x_axis(tiny, sign):
    pose = Pose.look_along((sign, tiny, -2 * tiny))
    np.testing.assert_allclose(pose.rotation[:, 0], [sign, tiny, -2 * tiny], atol=1e-15)
    np.testing.assert_allclose(pose.rotation.T @ pose.rotation, np.eye(3), atol=1e-15)


def test_look_along_is_the_smallest_rotation():
    d = np.array([0.3, -0.5, 0.2])
    rotation = Pose.look_along(d).rotation
    angle = np.arccos((np.trace(rotation) - 1) / 2)
    assert angle == pytest.approx(np.arccos(d[0] / np.linalg.norm(d)), abs=1e-12)
    assert Pose.look_along("x") == Pose()


def test_roll_turns_about_the_pointing_direction():
    d = (0.3, -0.5, 0.2)
    np.testing.assert_allclose(
        Pose.look_along(d, roll=0.7).rotation, (rotate(d, 0.7) @ Pose.look_along(d)).rotation, atol=1e-15
    )


def test_unit_axis_names_vectors_and_extreme_lengths():
    assert unit_axis("axis", "-Y").tolist() == [0, -1, 0]
    assert unit_axis("axis", "+z").tolist() == [0, 0, 1]
    for length in (1e-300, 1e-3, 1.0, 1e300):
        np.testing.assert_allclose(unit_axis("axis", np.array([3.0, 0, -4.0]) * length), [0.6, 0, -0.8], rtol=1e-15)


def test_rounded_matrices_are_made_orthonormal_and_exact_ones_kept():
    exact = rotate((1, 2, 3), 0.8).rotation
    rounded = Pose(rotation=np.round(exact, 9)).rotation
    assert np.max(np.abs(np.round(exact, 9).T @ np.round(exact, 9) - np.eye(3))) > 1e-11
    np.testing.assert_allclose(rounded.T @ rounded, np.eye(3), atol=5e-16)
    permutation = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert np.array_equal(Pose(rotation=permutation).rotation, permutation)


def test_as_pose_forms():
    g = random_pose(8)
    assert as_pose(None) == Pose()
    assert as_pose(g) is g
    assert as_pose([1, 2, 3]) == translate(1, 2, 3)
    np.testing.assert_allclose(as_pose(g.matrix).matrix, g.matrix, atol=1e-15)


def test_frozen_hash_and_repr():
    g = Pose((1, 2, 3))
    with pytest.raises(AttributeError):
        g.translation = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        g.translation[0] = 5.0
    assert hash(Pose((-0.0, 1, 2))) == hash(Pose((0.0, 1, 2)))
    assert repr(g) == "Pose(translation=(1, 2, 3))"
    assert "90° about (0, 0, 1)" in repr(rotate("z", np.pi / 2))


def test_refused_input():
    with pytest.raises(ValueError, match="last row"):
        as_pose(random_pose(9).matrix.T, name="base")
    with pytest.raises(ValueError, match="reflection"):
        Pose(rotation=np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ValueError, match=r"base\[:3, :3\].*orthonormal"):
        as_pose(np.diag([1.0, 1.0, 1.0 + 1e-6, 1.0]), name="base")
    with pytest.raises(ValueError, match=r"base has shape \(2,\)"):
        as_pose([1, 2], name="base")
    with pytest.raises(TypeError, match="base = 'here' is not a pose"):
        as_pose("here", name="base")
    with pytest.raises(ValueError, match="finite"):
        translate(0, np.nan, 0)
    with pytest.raises(ValueError, match="no direction"):
        rotate((0, 0, 0), 1.0)
    with pytest.raises(ValueError, match="axis = 'w'"):
        rotate("w", 1.0)
    with pytest.raises(TypeError, match="angle"):
        rotate("x", "a lot")
    with pytest.raises(ValueError, match="unit quaternion"):
        Pose.from_quaternion((1, 1, 0, 0))
    with pytest.raises(ValueError, match=r"got shape \(4, 4\).*as_pose"):
        Pose() @ np.eye(4)
    with pytest.raises(TypeError):
        np.eye(4) @ Pose()
