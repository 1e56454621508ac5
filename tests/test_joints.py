"""Joints: screws and their motion, coordinates, springs, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from pliant.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from pliant.model.pose import Pose, rotate, skew, translate

ALL = [
    (Fixed(), "fixed", 0, 0),
    (Revolute("z"), "screws", 1, 1),
    (Prismatic("z"), "screws", 1, 1),
    (Helical("z", 0.1), "screws", 1, 1),
    (Universal("x", "y"), "screws", 2, 2),
    (Cylindrical("z"), "screws", 2, 2),
    (Planar("z"), "screws", 3, 3),
    (Spherical(), "spherical", 3, 4),
    (Free(), "free", 6, 7),
]


def motion(joint: Joint, q) -> np.ndarray:
    """Pose matrix reached by the chain of screws."""
    g = np.eye(4)
    for screw, x in zip(joint.screws, q, strict=True):
        hat = np.zeros((4, 4))
        hat[:3, :3], hat[:3, 3] = skew(screw[:3]), screw[3:]
        g = g @ expm(hat * x)
    return g


@pytest.mark.parametrize(("joint", "kind", "nv", "nq"), ALL, ids=lambda v: repr(v))
def test_sizes_agree(joint, kind, nv, nq):
    assert (joint.kind, joint.nv, joint.nq) == (kind, nv, nq)
    assert len(joint.dof_names) == nv
    assert len(set(joint.dof_names)) == nv
    assert len(joint.screws) == (nv if kind == "screws" else 0)
    assert all(s.shape == (6,) for s in joint.screws)
    assert joint.stiffness_matrix.shape == joint.damping_matrix.shape == (nv, nv)
    assert not joint.stiffness_matrix.any()
    identity = [1.0] + [0.0] * (nq - 1) if nq > nv else [0.0] * nq
    assert joint.rest_position.tolist() == identity


def test_revolute_and_prismatic_motion():
    axis = np.array([1.0, 2.0, -2.0])
    np.testing.assert_allclose(motion(Revolute(axis), [0.7]), rotate(axis, 0.7).matrix, atol=1e-15)
    np.testing.assert_allclose(motion(Prismatic(axis), [0.6]), translate(0.2, 0.4, -0.4).matrix, atol=1e-15)
    np.testing.assert_allclose(motion(Prismatic("-y"), [0.6]), translate(0, -0.6, 0).matrix, atol=1e-15)


def test_helical_pitch_is_per_full_turn():
    joint = Helical("x", 0.02)
    np.testing.assert_allclose(joint.screws[0], [1, 0, 0, 0.02 / (2 * np.pi), 0, 0])
    np.testing.assert_allclose(motion(joint, [2 * np.pi]), translate(0.02, 0, 0).matrix, atol=1e-14)
    np.testing.assert_allclose(motion(Helical("x", -0.02), [4 * np.pi]), translate(-0.04, 0, 0).matrix, atol=1e-14)


def test_chains_move_in_the_documented_order():
    expected = rotate("x", 0.3) @ rotate("y", -0.8)
    np.testing.assert_allclose(motion(Universal("x", "y"), [0.3, -0.8]), expected.matrix, atol=1e-15)
    expected = rotate("z", 0.3) @ translate(0, 0, 0.5)
    np.testing.assert_allclose(motion(Cylindrical("z"), [0.3, 0.5]), expected.matrix, atol=1e-15)
    expected = translate(0.1, 0.2, 0) @ rotate("z", 0.3)
    np.testing.assert_allclose(motion(Planar("z"), [0.1, 0.2, 0.3]), expected.matrix, atol=1e-15)


@pytest.mark.parametrize(("normal", "first", "second"), [("x", "y", "z"), ("y", "z", "x"), ("z", "x", "y")])
def test_planar_axes_are_cyclic(normal, first, second):
    names = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}
    got = Planar(normal).in_plane_axes
    assert [got[0].tolist(), got[1].tolist()] == [names[first], names[second]]


@settings(deadline=None)
@given(st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3))
def test_planar_axes_are_right_handed(normal):
    joint = Planar(normal)
    frame = np.column_stack([*joint.in_plane_axes, joint.normal])
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_springs_scalar_and_per_dof():
    joint = Cylindrical("z", stiffness=(2, 3), damping=0.5, rest=(0.1, 0.2))
    assert np.array_equal(joint.stiffness_matrix, np.diag([2.0, 3.0]))
    assert np.array_equal(joint.damping_matrix, 0.5 * np.eye(2))
    assert joint.rest_position.tolist() == [0.1, 0.2]
    assert Universal("x", "y", rest=0.3).rest_position.tolist() == [0.3, 0.3]
    assert Revolute("x", stiffness=[4.0]).stiffness_matrix.tolist() == [[4.0]]


def test_springs_by_matrix():
    root = np.random.default_rng(1).normal(size=(6, 4))
    K = root @ root.T  # rank 4: semidefinite is enough
    joint = Free(stiffness=K, damping=np.arange(6.0))
    np.testing.assert_allclose(joint.stiffness_matrix, K, rtol=1e-12)
    assert np.array_equal(joint.damping_matrix, np.diag(np.arange(6.0)))
    joint.stiffness_matrix[0, 0] = 99.0  # a copy each time
    np.testing.assert_allclose(joint.stiffness_matrix, K, rtol=1e-12)


@pytest.mark.parametrize("vector", [(0.3, -0.2, 0.9), (0, 0, 0), (1e-9, 0, 0), (0, 4.0, 0)])
def test_spherical_rest_from_a_rotation_vector(vector):
    w, x, y, z = Spherical(rest=vector).rest_position
    expected = Rotation.from_rotvec(vector).as_matrix()
    np.testing.assert_allclose(Rotation.from_quat([x, y, z, w]).as_matrix(), expected, atol=1e-15)


def test_rest_of_groups():
    np.testing.assert_allclose(Spherical(rest=(0.6, 0, 0.8, 0)).rest_position, [0.6, 0, 0.8, 0])
    rounded = Spherical(rest=(0.7071, 0, 0.7071, 0)).rest_position
    assert np.linalg.norm(rounded) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(Free(rest=(0.6, 0, 0.8, 0, 1, 2, 3)).rest_position, [0.6, 0, 0.8, 0, 1, 2, 3])
    pose = Pose.from_quaternion((0.6, 0, 0.8, 0), (1, 2, 3))
    np.testing.assert_allclose(Free(rest=pose).rest_position, [0.6, 0, 0.8, 0, 1, 2, 3])


def test_repr_equality_hash_frozen():
    assert repr(Revolute("z")) == "Revolute(axis=(0.0, 0.0, 1.0))"
    assert repr(Fixed()) == "Fixed()"
    assert repr(Free(damping=0.1)) == "Free(damping=0.1)"
    assert Revolute("z") == Revolute((0, 0, 5)) == Revolute(axis=np.array([0, 0, 1]))
    assert Revolute("z") != Prismatic("z")
    assert Revolute("z") != Revolute("z", stiffness=1)
    assert len({Revolute("z", stiffness=[1]), Revolute("z", stiffness=(1.0,)), Free(stiffness=np.eye(6))}) == 2
    with pytest.raises(AttributeError):
        Revolute("z").axis = (1, 0, 0)
    with pytest.raises(ValueError, match="read-only"):
        Revolute("z").screws[0][0] = 1.0


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Revolute((0, 0, 0)), r"Revolute\.axis = .*no direction"),
        (lambda: Prismatic("w"), r"Prismatic\.axis = 'w' .*'-z'"),
        (lambda: Cylindrical((1, 2)), r"Cylindrical\.axis has shape \(2,\)"),
        (lambda: Planar((1, np.nan, 0)), r"Planar\.normal"),
        (lambda: Universal("x", (-2, 0, 0)), r"parallel.*Revolute"),
        (lambda: Helical("x", np.inf), r"Helical\.pitch = inf"),
        (lambda: Revolute("x", stiffness=-1), r"Revolute\.stiffness = -1 .*must not be negative"),
        (lambda: Universal("x", "y", damping=(1, -1)), r"Universal\.damping of angle2 = -1\.0"),
        (lambda: Planar("z", stiffness=(1, 2)), r"Planar\.stiffness has shape \(2,\).*displacement1"),
        (lambda: Universal("x", "y", stiffness=np.eye(2)), r"Universal\.stiffness has shape \(2, 2\)"),
        (lambda: Revolute("x", rest=(1, 2)), r"Revolute\.rest has shape \(2,\)"),
        (lambda: Spherical(stiffness=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), r"Spherical\.stiffness.*symmetric"),
        (lambda: Spherical(damping=np.diag([1, 1, -1])), r"Spherical\.damping.*positive semidefinite"),
        (lambda: Free(stiffness=np.eye(3)), r"Free\.stiffness has shape \(3, 3\).*6×6"),
        (lambda: Spherical(rest=1.0), r"Spherical\.rest = 1\.0 .*unit quaternion"),
        (lambda: Spherical(rest=(1, 1, 0, 0)), r"Spherical\.rest.*length 1"),
        (lambda: Spherical(rest=Pose()), r"Spherical\.rest"),
        (lambda: Free(rest=(1, 0, 0, 0)), r"Free\.rest has shape \(4,\).*Pose"),
        (lambda: Free(rest=(2, 0, 0, 0, 0, 0, 0)), r"Free\.rest\[:4\]"),
        (lambda: Fixed(stiffness=1.0), r"Fixed\.stiffness = 1\.0 .*does not move"),
        (lambda: Fixed(rest=(1, 2)), r"Fixed\.rest = \(1, 2\)"),
    ],
)
def test_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_refused_types():
    with pytest.raises(TypeError, match="base class"):
        Joint()
    with pytest.raises(TypeError, match="Free joint"):
        Revolute("x", rest=Pose())
    with pytest.raises(TypeError, match=r"Helical\.pitch"):
        Helical("x", "coarse")
    with pytest.raises(TypeError, match="positional"):
        Revolute("x", 1.0)
