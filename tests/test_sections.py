"""Sections and materials: closed forms, integrals over the section, tapers, and what is refused."""

import math

import numpy as np
import pytest

from pliant.model.rods.sections import (
    Annulus,
    Circle,
    CustomSection,
    Ellipse,
    Material,
    Rectangle,
    Section,
    Stepped,
    damping_density,
    inertia_density,
    stiffness_density,
)

steel = Material(2e11, poisson=0.3, density=7800)


def integrals(y, z, weight):
    """Area, ∫z², ∫y² from quadrature points."""
    return weight.sum(), (weight * z**2).sum(), (weight * y**2).sum()


def polar_quadrature(a, b, hole=0.0):
    """Gauss in the radius, equidistant in the angle: exact for quadratics over an elliptic ring."""
    s, ws = np.polynomial.legendre.leggauss(6)
    s, ws = hole + (1 - hole) * (s + 1) / 2, ws * (1 - hole) / 2
    t = 2 * np.pi * np.arange(16) / 16
    y, z = a * np.outer(s, np.cos(t)), b * np.outer(s, np.sin(t))
    return y, z, np.outer(ws * s, np.ones(16)) * a * b * 2 * np.pi / 16


def box_quadrature(h, w):
    s, ws = np.polynomial.legendre.leggauss(4)
    y, z = np.meshgrid(h * s / 2, w * s / 2, indexing="ij")
    return y, z, np.outer(ws, ws) * h * w / 4


@pytest.mark.parametrize(
    ("section", "quadrature"),
    [
        (Circle(0.03), polar_quadrature(0.03, 0.03)),
        (Annulus(0.03, 0.012), polar_quadrature(0.03, 0.03, 0.4)),
        (Ellipse(0.02, 0.05), polar_quadrature(0.02, 0.05)),
        (Rectangle(0.02, 0.05), box_quadrature(0.02, 0.05)),
        (Rectangle(height=0.05, width=0.02), box_quadrature(0.05, 0.02)),
    ],
)
def test_moments_are_the_integrals_over_the_section(section, quadrature):
    area, Iy, Iz = integrals(*quadrature)
    p = section.properties([0.0, 0.3, 1.0])
    for name, value in (("area", area), ("Iy", Iy), ("Iz", Iz), ("polar", Iy + Iz), ("torsion", Iy + Iz)):
        got = getattr(p, name)
        assert got.shape == (3,)
        np.testing.assert_allclose(got, value, rtol=1e-13, err_msg=name)


def test_a_closed_outline_encloses_the_area():
    X = np.array([0.0, 0.4, 1.0])
    for section in (
        Circle((0.03, 0.01)),
        Annulus(0.02, 0.019),
        Ellipse((0.01, 0.02), 0.03),
        Rectangle(0.1, (0.2, 0.1)),
    ):
        outline = section.outline(X, 4001)
        y, z = outline[..., 0], outline[..., 1]
        signed = 0.5 * np.sum(y * np.roll(z, -1, axis=1) - np.roll(y, -1, axis=1) * z, axis=1)
        solid = Circle(0.02) if isinstance(section, Annulus) else section
        np.testing.assert_allclose(signed, solid.properties(X).area, rtol=1e-6)  # positive: counter-clockwise
        reach = np.max(np.hypot(y, z), axis=1)
        np.testing.assert_allclose(section.extent(X), reach, rtol=1e-6)


@pytest.mark.parametrize("n", [4, 5, 6, 7, 32])
def test_rectangle_outline_has_all_corners(n):
    outline = Rectangle(0.2, 0.1).outline(0.5, n)
    assert outline.shape == (1, n, 2)
    for corner in [(0.1, 0.05), (-0.1, 0.05), (-0.1, -0.05), (0.1, -0.05)]:
        assert np.min(np.linalg.norm(outline[0] - corner, axis=1)) < 1e-15
    assert len(np.unique(np.round(outline[0], 12), axis=0)) == n


def test_custom_section():
    p = CustomSection(1e-4, 2e-9, (3e-9, 1e-9), torsion_factor=0.5).properties([0, 1])
    np.testing.assert_allclose(p.torsion, [2.5e-9, 1.5e-9])
    np.testing.assert_allclose(p.polar, [5e-9, 3e-9])
    q = CustomSection(1e-4, 2e-9, 3e-9, J=1e-9, torsion_factor=0.5).properties(0.5)
    np.testing.assert_allclose(q.torsion, 0.5e-9)
    np.testing.assert_allclose(q.polar, 5e-9)
    assert CustomSection(np.pi * 0.02**2, 1.0, 1.0).extent(0.5)[0] == pytest.approx(0.02)
    assert CustomSection(np.pi * 0.02**2, 1.0, 1.0).outline(0.5, 8)[0, 2] == pytest.approx([0, 0.02])


def test_taper_pair_and_function_agree():
    X = np.linspace(0, 1, 11)
    pair = Circle((0.03, 0.01)).properties(X)
    function = Circle(lambda X: 0.03 - 0.02 * X).properties(X)
    np.testing.assert_allclose(pair.Iy, function.Iy, rtol=1e-14)
    assert pair.area[[0, -1]].tolist() == [np.pi * 0.03**2, np.pi * 0.01**2]  # exact at the ends
    # Volume of a truncated cone, by Simpson's rule, which is exact for a quadratic.
    a, m, b = Circle((0.03, 0.01)).properties([0, 0.5, 1]).area
    assert (a + 4 * m + b) / 6 == pytest.approx(np.pi * (0.03**2 + 0.03 * 0.01 + 0.01**2) / 3)


def test_a_constant_function_broadcasts_and_a_scalar_X_gives_one_point():
    assert Circle(lambda X: 0.02).properties([0, 0.5, 1]).area.shape == (3,)
    assert Circle(0.02).properties(0.5).area.shape == (1,)


def test_thin_annulus_keeps_its_digits():
    t = 2.0**-40
    p = Annulus(1.0, 1.0 - t).properties(0.0)
    assert p.area[0] == pytest.approx(2 * np.pi * t * (1 - t / 2), rel=1e-14)


def test_a_pointed_tip_has_an_outline_but_no_properties():
    cone = Circle((0.03, 0.0))
    assert cone.extent([0.0, 1.0]).tolist() == [0.03, 0.0]
    assert not cone.outline(1.0).any()
    assert cone.properties(0.999).area[0] > 0
    with pytest.raises(ValueError, match=r"Circle\.radius\(X=1\) = 0\.0 .*greater than zero"):
        cone.properties([0.5, 1.0])


def test_stiffness_density():
    section = Rectangle(0.02, 0.05, shear_factor=(0.8, 0.9), torsion_factor=0.5)
    E, G = 2e11, 2e11 / 2.6
    A, Iy, Iz = 0.02 * 0.05, 0.02 * 0.05**3 / 12, 0.02**3 * 0.05 / 12
    K = stiffness_density(section, steel, [0.1, 0.9])
    assert K.shape == (2, 6, 6)
    expected = np.diag([0.5 * G * (Iy + Iz), E * Iy, E * Iz, E * A, 0.8 * G * A, 0.9 * G * A])
    np.testing.assert_allclose(K, [expected, expected], rtol=1e-14)
    plain = stiffness_density(Rectangle(0.02, 0.05), steel, 0.0)[0]
    np.testing.assert_allclose(np.diag(plain)[[0, 4, 5]], [G * (Iy + Iz), G * A, G * A], rtol=1e-14)
    one = stiffness_density(Rectangle(0.02, 0.05, shear_factor=5 / 6), steel, 0.0)[0]
    np.testing.assert_allclose(np.diag(one)[[4, 5]], 5 / 6 * G * A, rtol=1e-14)


def test_damping_density_adds_both_kinds():
    section = Ellipse(0.02, 0.05, shear_factor=0.9, torsion_factor=0.5)
    p = section.properties(0.0)
    A, Iy, Iz = p.area[0], p.Iy[0], p.Iz[0]
    viscous = 300.0 * np.diag([Iy + Iz, 3 * Iy, 3 * Iz, 3 * A, A, A])
    make = dict(young=1e6, poisson=0.5, density=1000)
    K = stiffness_density(section, Material(**make), 0.0)[0]
    for v, mu in ((300.0, 0.0), (0.0, 0.1), (300.0, 0.1)):
        D = damping_density(section, Material(**make, viscosity=v, damping_time=mu), 0.0)[0]
        np.testing.assert_allclose(D, (v > 0) * viscous + mu * K, rtol=1e-14)


def test_inertia_density_ignores_the_factors():
    section = CustomSection(1e-3, 2e-7, 3e-7, J=9e-7, torsion_factor=0.1, shear_factor=0.2)
    M = inertia_density(section, steel, 0.5)[0]
    np.testing.assert_allclose(M, 7800 * np.diag([5e-7, 2e-7, 3e-7, 1e-3, 1e-3, 1e-3]), rtol=1e-15)


def test_material():
    assert steel.shear == pytest.approx(2e11 / 2.6)
    assert Material(young=1e6, shear_modulus=2e5, density=1).shear == 2e5
    string = Material(0, poisson=0.5, density=1)
    assert not stiffness_density(Circle(0.01), string, 0.0).any()
    assert repr(steel) == "Material(young=200000000000.0, density=7800.0, poisson=0.3)"


def test_repr_equality_and_hash():
    assert repr(Circle((0.03, 0.01))) == "Circle(radius=(0.03, 0.01))"
    assert repr(Rectangle(1, 2, shear_factor=0.9)) == "Rectangle(height=1.0, width=2.0, shear_factor=0.9)"
    assert repr(CustomSection(1, 2, 3)) == "CustomSection(area=1.0, Iy=2.0, Iz=3.0)"
    assert repr(CustomSection(1, 2, 3, 4)) == "CustomSection(area=1.0, Iy=2.0, Iz=3.0, J=4.0)"
    assert Circle(0.03) == Circle(np.float64(0.03))
    assert hash(Circle([0.03, 0.01])) == hash(Circle((0.03, 0.01)))
    with pytest.raises(AttributeError):
        Circle(0.03).radius = 0.02


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (dict(young=-1.0, poisson=0.5, density=1), r"Material\.young = -1\.0 .*must not be negative \(Pa\)"),
        (dict(young=1.0, poisson=0.5, density=0), r"Material\.density = 0 .*greater than zero"),
        (dict(young=1.0, poisson=0.6, density=1), r"Material\.poisson = 0\.6 .*\[-1, 0\.5\]"),
        (dict(young=1.0, poisson=-1.0, density=1), r"Material\.poisson = -1\.0 .*greater than -1"),
        (dict(young=1.0, density=1), "exactly one"),
        (dict(young=1.0, poisson=0.3, shear_modulus=1.0, density=1), "exactly one"),
        (dict(young=1.0, shear_modulus=-2.0, density=1), r"shear_modulus = -2\.0"),
        (dict(young=1.0, poisson=0.3, density=1, viscosity=-1), r"viscosity = -1"),
        (dict(young=1.0, poisson=0.3, density=1, damping_time=math.nan), r"damping_time = nan"),
    ],
)
def test_refused_materials(make, match):
    with pytest.raises(ValueError, match=match):
        Material(**make)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Circle(0.0), r"Circle\.radius = 0\.0 .*greater than zero \(m\).*pair"),
        (lambda: Circle((0.1, -0.1)), r"Circle\.radius\[1\] = -0\.1 .*must not be negative"),
        (lambda: Circle((0, 0)), r"Circle\.radius = \(0, 0\) .*at most one end"),
        (lambda: Circle((1, 2, 3)), r"Circle\.radius = \(1, 2, 3\) .*shape \(3,\)"),
        (lambda: Annulus(0.01, 0.02), r"Annulus\.inner\(X=0\) = 0\.02 .*smaller than.*swapped"),
        (lambda: Annulus((0.03, 0.01), 0.02), r"Annulus\.inner\(X=1\) = 0\.02"),
        (lambda: Annulus(0.03, lambda X: 0.05 * X).properties([0.2, 0.8]), r"inner\(X=0\.8\) = 0\.04"),
        (lambda: Rectangle(1, math.inf), r"Rectangle\.width = inf .*finite"),
        (lambda: Ellipse(1, 1, shear_factor=0), r"Ellipse\.shear_factor = 0"),
        (lambda: Ellipse(1, 1, shear_factor=(1, -1)), r"Ellipse\.shear_factor\[1\] = -1"),
        (lambda: Ellipse(1, 1, shear_factor=(1, 1, 1)), r"Ellipse\.shear_factor has shape \(3,\)"),
        (lambda: Ellipse(1, 1, torsion_factor=-1), r"Ellipse\.torsion_factor = -1"),
        (lambda: CustomSection(1, 1, 1, J=0), r"CustomSection\.J = 0"),
        (lambda: Circle(lambda X: 0.5 - X).properties([0.1, 0.75]), r"Circle\.radius\(X=0\.75\) = -0\.25"),
        (lambda: Circle(lambda X: 0.5 - X).extent([0.1, 0.75]), r"Circle\.radius\(X=0\.75\) = -0\.25"),
        (lambda: Circle(lambda X: np.nan * X).properties(0.25), r"Circle\.radius\(X=0\.25\) = nan"),
        (lambda: Circle(lambda X: np.ones((2, 2))).properties([0.1, 0.2]), r"returned shape \(2, 2\)"),
        (lambda: Circle(1).properties(1.1), r"X = 1\.1 .*\[0, 1\]"),
        (lambda: Circle(1).properties(np.nan), r"X = .*nan"),
        (lambda: Circle(1).properties([[0.1]]), r"X has shape \(1, 1\)"),
        (lambda: Circle(1).outline(0.5, 3), r"n = 3"),
    ],
)
def test_refused_sections(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_refused_types():
    with pytest.raises(TypeError, match="must take an array"):
        Circle(lambda X: math.sqrt(X) + 0.1).properties([0.1, 0.2])
    with pytest.raises(TypeError, match=r"Circle\.radius = 'thick' is not a number"):
        Circle("thick")
    with pytest.raises(TypeError, match="base class"):
        Section()


def test_stepped_dimensions():
    radius = Stepped([0.02, 0.015, (0.01, 0.005)], at=(0.5, 0.8))
    X = [0, 0.5 - 1e-9, 0.5, 0.8 - 1e-9, 0.8, 0.9, 1]
    np.testing.assert_allclose(radius(X), [0.02, 0.02, 0.015, 0.015, 0.01, 0.0075, 0.005], atol=1e-9)
    assert radius(1 / 3 - 1e-16) == 0.02
    assert Stepped([1, 2, 3]).at == (1 / 3, 2 / 3)
    np.testing.assert_array_equal(Stepped([1, 2, 3])([1 / 3 - 1e-13, 2 / 3]), [2, 3])  # rounding below a jump
    assert Stepped(np.array([1.0, 2.0])) == Stepped((1, 2), at=[0.5])
    assert hash(Stepped([1, 2])) == hash(Stepped([1.0, 2.0]))
    assert Stepped([(1, 2)])(0.5) == 1.5
    section = Circle(radius)
    assert section.breakpoints == (0.5, 0.8)
    assert repr(section) == "Circle(radius=Stepped([0.02, 0.015, (0.01, 0.005)], at=(0.5, 0.8)))"
    assert repr(Stepped([1, 2])) == "Stepped([1.0, 2.0])"
    np.testing.assert_allclose(section.properties([0.1, 0.6]).area, np.pi * np.array([0.02, 0.015]) ** 2)
    assert Annulus(outer=Stepped([3, 2]), inner=Stepped([1, 1, 1])).breakpoints == (1 / 3, 0.5, 2 / 3)
    assert Rectangle(1, (1, 2)).breakpoints == ()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Stepped([]), "empty"),
        (lambda: Stepped([1, -2]), r"Stepped\.values\[1\] = -2"),
        (lambda: Stepped([1, (1, 2, 3)]), r"Stepped\.values\[1\]"),
        (lambda: Stepped([1, 2, 3], at=(0.5,)), "3 values need 2"),
        (lambda: Stepped([1, 2, 3], at=(0.5, 0.2)), r"Stepped\.at"),
        (lambda: Circle(Stepped([1, 0])).properties(0.7), r"Circle\.radius\(X=0\.7\)"),
        (lambda: Circle([3, 2, 1]), "Stepped"),
    ],
)
def test_refused_steps(make, match):
    with pytest.raises(ValueError, match=match):
        make()
    for wrong in (0.02, len, "ab"):
        with pytest.raises(TypeError, match="sequence"):
            Stepped(wrong)
