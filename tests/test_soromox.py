"""Segments of soromox as rods; stand-ins for its classes have the same fields."""

from __future__ import annotations

from types import SimpleNamespace as Spec

import numpy as np
import pytest

import pliant as pl
from pliant.io import from_soromox

JOINTS = {
    "revolute": (Spec(type="revolute", axis="y"), np.eye(6)[:, [1]]),
    "prismatic": (Spec(type="prismatic", axis="z"), np.eye(6)[:, [5]]),
    "helical": (Spec(type="helical", axis="x", pitch=0.02), np.array([[1.0, 0, 0, 0.02, 0, 0]]).T),
    "cylindrical": (Spec(type="cylindrical", axis="x"), np.eye(6)[:, [0, 3]]),
    "planar": (Spec(type="planar", plane="xz"), np.eye(6)[:, [1, 3, 5]]),
    "spherical": (Spec(type="spherical", stiffness=np.diag([1.0, 2, 3])), np.eye(6)[:, :3]),
    "free": (Spec(type="free"), np.eye(6)),
}


def segment(joint: Spec, **changes) -> Spec:
    link = Spec(
        length=0.4, density=1000.0, cross_section_geometry=1, cross_section_coefficients=(0.02, 0.01, 0.03),
        cross_section_profile_parameter_counts=(2, 1), young_modulus=1e6, shear_modulus=3.5e5, poisson_ratio=None,
        material_damping_coefficient=1e4, stiffness=None, damping=None, reference_strain=[0, 0, 0, 1.0, 0, 0],
    )  # fmt: skip
    basis = Spec(type="legendre", strain_selector=[0, 1, 1, 1, 0, 0], basis_order=[0, 2, 1, 0, 0, 0])
    return Spec(link=Spec(**{**vars(link), **changes}), joint=joint, basis=basis, num_gauss_points=8)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", JOINTS)
def test_coordinates_are_exponentials_of_the_columns(name: str, scaled: bool) -> None:
    joint, columns = JOINTS[name]
    base = np.array([0.0, 0.6, 0.0, 0.8, 0.1, 0.0, 0.2])  # x, y, z, w and a position
    found = from_soromox([segment(joint)], base_pose=base, scale_rotational_basis_by_length=scaled)
    system = found.robot.compile()
    n = columns.shape[1]
    given = np.random.default_rng(2).uniform(-0.4, 0.4, n + 6)
    q = found.to_pliant(given)
    np.testing.assert_allclose(found.from_pliant(q), given, atol=1e-12)
    start = pl.Pose.from_quaternion((0.8, 0.0, 0.6, 0.0), (0.1, 0.0, 0.2)).matrix
    np.testing.assert_allclose(system.pose("link1.base", q), start @ pl.lie.exp(columns @ given[:n]), atol=1e-13)
    bending = given[n] * (1 / 0.4 if scaled else 1.0)
    assert system.strain("link1", q, [0.5])[0, 1] == pytest.approx(bending - 0.5 * given[n + 2] * (bending / given[n]))


def test_what_the_rod_is_made_of() -> None:
    found = from_soromox([segment(Spec(type="fixed")), segment(Spec(type="fixed"), damping=np.eye(6))])
    one, two = found.robot.links
    assert one.content.section == pl.Rectangle((0.02, 0.01), 0.03)
    assert (one.content.material.young, one.content.material.viscosity, one.content.points) == (1e6, 1e4, 8)
    assert two.parent == one.tip
    np.testing.assert_array_equal(two.content.damping_at(np.array([0.5]))[0], np.eye(6))
    assert found.robot.compile().mass == pytest.approx(2 * 0.4 * 0.015 * 0.03 * 1000)


def test_what_is_refused() -> None:
    bad = segment(Spec(type="fixed"))
    bad.basis.type = "wavelet"
    with pytest.raises(ValueError, match="basis"):
        from_soromox([bad])
    with pytest.raises(ValueError, match="stiffness has shape"):
        from_soromox([segment(Spec(type="fixed"), stiffness=np.eye(3))])
    with pytest.raises(ValueError, match=r"joint\.type"):
        from_soromox([segment(Spec(type="screwed"))])
