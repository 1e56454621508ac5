"""Shapes and inertias: integrals over the solid, parallel axes, welding, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pliant.model.pose import Pose, rotate, translate
from pliant.model.shapes import Box, Cylinder, Ellipsoid, Inertia, Shape, Sphere

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def random_pose(seed: int) -> Pose:
    return Pose(np.random.default_rng(seed).normal(size=3), Rotation.random(random_state=seed).as_matrix())


def random_inertia(seed: int) -> Inertia:
    r = np.random.default_rng(seed)
    body = Inertia.of(Box(*r.uniform(0.1, 1, 3)), mass=r.uniform(0.5, 3), com=r.normal(size=3))
    return body.transformed(random_pose(seed + 100))


def box_points(x, y, z):
    p = np.stack(np.meshgrid(NODES * x / 2, NODES * y / 2, NODES * z / 2, indexing="ij"), -1).reshape(-1, 3)
    w = np.einsum("i,j,k->ijk", WEIGHTS, WEIGHTS, WEIGHTS).ravel() * x * y * z / 8
    return p, w


def ball_points(x, y, z):
    s, ws = (NODES + 1) / 2, WEIGHTS / 2
    t = 2 * np.pi * np.arange(16) / 16
    S, C, T = np.meshgrid(s, NODES, t, indexing="ij")
    p = np.stack([x * S * C, y * S * np.sqrt(1 - C**2) * np.cos(T), z * S * np.sqrt(1 - C**2) * np.sin(T)], -1)
    w = np.einsum("i,j,k->ijk", ws * s**2, WEIGHTS, np.full(16, np.pi / 8)).ravel() * x * y * z
    return p.reshape(-1, 3), w


def cylinder_points(radius, length, axis):
    s, ws = (NODES + 1) / 2, WEIGHTS / 2
    t = 2 * np.pi * np.arange(16) / 16
    S, T, H = np.meshgrid(s, t, NODES, indexing="ij")
    p = np.stack([H * length / 2, radius * S * np.cos(T), radius * S * np.sin(T)], -1).reshape(-1, 3)
    w = np.einsum("i,j,k->ijk", ws * s * radius**2, np.full(16, np.pi / 8), WEIGHTS * length / 2).ravel()
    return np.roll(p, "xyz".index(axis), axis=1), w


def rotary(points, weights):
    return np.einsum("k,kij->ij", weights, [p @ p * np.eye(3) - np.outer(p, p) for p in points])


@pytest.mark.parametrize(
    ("shape", "points"),
    [
        (Box(0.1, 0.3, 0.7), box_points(0.1, 0.3, 0.7)),
        (Sphere(0.2), ball_points(0.2, 0.2, 0.2)),
        (Ellipsoid(0.1, 0.3, 0.7), ball_points(0.1, 0.3, 0.7)),
        (Cylinder(0.2, 0.9), cylinder_points(0.2, 0.9, "x")),
        (Cylinder(0.2, 0.9, axis="y"), cylinder_points(0.2, 0.9, "y")),
        (Cylinder(0.2, 0.9, axis="z"), cylinder_points(0.2, 0.9, "z")),
    ],
)
def test_volume_and_inertia_are_integrals_over_the_solid(shape, points):
    p, w = points
    assert shape.volume == pytest.approx(w.sum(), rel=1e-13)
    np.testing.assert_allclose(shape.unit_inertia, rotary(p, w) / w.sum(), rtol=1e-12, atol=1e-15)


def test_textbook_values():
    assert np.diag(Sphere(0.5).unit_inertia) == pytest.approx([0.1] * 3)
    assert np.diag(Box(1, 2, 3).unit_inertia) == pytest.approx([13 / 12, 10 / 12, 5 / 12])
    assert np.diag(Cylinder(1.0, 6.0).unit_inertia) == pytest.approx([0.5, 3.25, 3.25])


def test_mass_or_density():
    by_density = Inertia.of(Box(0.1, 0.2, 0.3), density=1000, com=(1, 2, 3))
    by_mass = Inertia.of(Box(0.1, 0.2, 0.3), mass=6, com=(1, 2, 3))
    assert by_density.mass == pytest.approx(6)
    np.testing.assert_allclose(by_density.matrix, by_mass.matrix, rtol=1e-14)


def test_matrix_gives_the_kinetic_energy_of_the_points():
    body = Inertia.of(Box(0.1, 0.3, 0.7), mass=2.0, com=(0.4, -0.2, 0.1))
    p, w = box_points(0.1, 0.3, 0.7)
    p, w = p + body.com, w * 2.0 / w.sum()
    twist = np.array([0.3, -1.0, 2.0, 0.5, 0.7, -0.9])
    velocity = twist[3:] + np.cross(twist[:3], p)
    assert 0.5 * twist @ body.matrix @ twist == pytest.approx(0.5 * (w * (velocity**2).sum(1)).sum(), rel=1e-13)


def test_matrix_is_the_stated_block_form():
    m, c = 2.0, np.array([0.4, -0.2, 0.1])
    hat = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    Ic = np.diag([1.0, 2.0, 2.5])
    expected = np.block([[Ic - m * hat @ hat, m * hat], [-m * hat, m * np.eye(3)]])
    np.testing.assert_allclose(Inertia(m, c, (1, 2, 2.5)).matrix, expected, atol=1e-15)


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_transformed_is_the_congruence_by_the_adjoint(seed):
    body, g = random_inertia(seed), random_pose(seed + 5)
    inverse = g.inverse().adjoint
    moved = body.transformed(g.matrix)
    np.testing.assert_allclose(moved.matrix, inverse.T @ body.matrix @ inverse, atol=1e-11)
    np.testing.assert_allclose(moved.transformed(g.inverse()).matrix, body.matrix, atol=1e-11)


def test_parallel_axis_theorem():
    body = Inertia.of(Sphere(0.1), mass=3.0).transformed(translate(0, 0, 2))
    assert np.diag(body.matrix)[:3] == pytest.approx([0.012 + 12, 0.012 + 12, 0.012])
    np.testing.assert_allclose(body.inertia, 0.012 * np.eye(3), atol=1e-15)


def test_rotation_swaps_the_axes():
    along_x = Inertia.of(Cylinder(0.2, 0.9), mass=1.0)
    along_z = Inertia.of(Cylinder(0.2, 0.9, axis="z"), mass=1.0)
    np.testing.assert_allclose(along_x.transformed(rotate("y", -np.pi / 2)).matrix, along_z.matrix, atol=1e-15)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_welding_adds_the_matrices(i, j):
    a, b = random_inertia(i), random_inertia(j)
    np.testing.assert_allclose((a + b).matrix, a.matrix + b.matrix, atol=1e-12)


def test_two_halves_make_a_whole():
    half = Inertia.of(Box(0.5, 0.2, 0.3), mass=1.0)
    whole = half.transformed(translate(0.25, 0, 0)) + half.transformed(translate(-0.25, 0, 0))
    np.testing.assert_allclose(whole.matrix, Inertia.of(Box(1.0, 0.2, 0.3), mass=2.0).matrix, atol=1e-15)


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_from_matrix_inverts_matrix(seed):
    body = random_inertia(seed)
    back = Inertia.from_matrix(body.matrix)
    assert back.mass == pytest.approx(body.mass)
    np.testing.assert_allclose(back.com, body.com, atol=1e-13)
    np.testing.assert_allclose(back.inertia, body.inertia, atol=1e-12)


@pytest.mark.parametrize("body", [Inertia(2.0, (3.1, -1.7, 0.9)), Inertia(2.0, (31.0, 7.0, -9.0), (0, 0.1, 0.1))])
def test_from_matrix_of_degenerate_bodies_survives_rounding(body):
    for seed in range(50):  # a point and a line far from the origin: the subtraction leaves only rounding
        moved = body.transformed(random_pose(seed))
        back = Inertia.from_matrix(moved.matrix)
        np.testing.assert_allclose(back.inertia, moved.inertia, atol=1e-11)
        np.testing.assert_allclose(back.matrix, moved.matrix, rtol=1e-11, atol=1e-11)


def test_three_entries_are_the_diagonal_and_none_is_a_point():
    assert np.array_equal(Inertia(1.0, inertia=(1, 2, 3)).inertia, np.diag([1.0, 2, 3]))
    assert not Inertia(1.0).inertia.any()
    assert np.array_equal(Inertia(1.5).matrix, np.diag([0, 0, 0, 1.5, 1.5, 1.5]))


def test_rounding_of_symmetry_is_removed_and_a_lamina_is_allowed():
    tensor = rotate((1, 2, 3), 0.4).rotation @ np.diag([1.0, 2.0, 3.0]) @ rotate((1, 2, 3), 0.4).rotation.T
    tensor[0, 1] += 1e-11
    body = Inertia(1.0, inertia=tensor)
    assert np.array_equal(body.inertia, body.inertia.T)
    np.testing.assert_allclose(body.inertia, tensor, atol=1e-10)


def test_equality_hash_repr_frozen():
    assert Inertia(1.0, (0, 0, 1), (1, 1, 1)) == Inertia(1.0, (0, 0, 1), np.eye(3))
    assert hash(Inertia(1.0, (-0.0, 0, 1))) == hash(Inertia(1.0, (0, 0, 1)))
    assert Inertia(1.0) != Inertia(2.0)
    assert repr(Inertia(1.0, (0, 0, 1), (1, 2, 3))) == "Inertia(mass=1, com=(0, 0, 1), inertia=[1., 2., 3.])"
    assert repr(Box(1, 2, 3)) == "Box(x=1.0, y=2.0, z=3.0)"
    with pytest.raises(AttributeError):
        Inertia(1.0).mass = 2.0
    with pytest.raises(ValueError, match="read-only"):
        Inertia(1.0).com[0] = 2.0


def added_mass():
    M = Inertia(1.0, inertia=(1, 1, 1)).matrix
    M[5, 5] = 2.0
    return M


def not_skew():
    M = Inertia(1.0, inertia=(1, 1, 1)).matrix
    M[0, 3] = M[3, 0] = 0.1
    return M


def com_too_far():
    M = Inertia(1.0, (0, 0, 1.0)).matrix
    M[0, 0] -= 0.5
    M[1, 1] -= 0.5
    return M


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Box(1, 0, 1), r"Box\.y = 0 .*greater than zero \(m\)"),
        (lambda: Sphere(-1), r"Sphere\.radius = -1"),
        (lambda: Ellipsoid(1, 1, np.nan), r"Ellipsoid\.z = nan"),
        (lambda: Cylinder(1, 1, "w"), r"Cylinder\.axis = 'w' .*'x', 'y', 'z'"),
        (lambda: Inertia(0.0), r"Inertia\.mass = 0\.0 .*\(kg\)"),
        (lambda: Inertia(1.0, (1, 2)), r"Inertia\.com has shape \(2,\)"),
        (lambda: Inertia(1.0, inertia=np.eye(2)), r"Inertia\.inertia has shape \(2, 2\)"),
        (lambda: Inertia(1.0, inertia=1.0), r"Inertia\.inertia has shape \(\)"),
        (lambda: Inertia(1.0, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), r"must be symmetric"),
        (lambda: Inertia(1.0, inertia=(1, 1, -0.1)), r"none may be negative.*centre of mass"),
        (lambda: Inertia(1.0, inertia=(1, 1, 2.1)), r"triangle inequality.*centre of mass"),
        (lambda: Inertia.of(Sphere(1)), r"mass = None and density = None: exactly one"),
        (lambda: Inertia.of(Sphere(1), mass=1, density=1), r"exactly one"),
        (lambda: Inertia.of(Sphere(1), density=-1), r"density = -1"),
        (lambda: Inertia.from_matrix(np.eye(5)), r"matrix has shape \(5, 5\)"),
        (lambda: Inertia.from_matrix(np.triu(np.ones((6, 6)))), r"must be symmetric"),
        (lambda: Inertia.from_matrix(-np.eye(6)), r"mass = .*-1\.0"),
        (lambda: Inertia.from_matrix(added_mass()), r"added mass"),
        (lambda: Inertia.from_matrix(not_skew()), r"not skew-symmetric"),
        (lambda: Inertia.from_matrix(com_too_far()), r"none may be negative"),
    ],
)
def test_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_refused_types():
    with pytest.raises(TypeError, match="base class"):
        Shape()
    with pytest.raises(TypeError, match="is not a shape"):
        Inertia.of("ball", mass=1)
    with pytest.raises(TypeError):
        Inertia(1.0) + 1.0
