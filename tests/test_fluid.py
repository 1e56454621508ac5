"""Fluids: drag, added mass and buoyancy of rods and bodies, their reductions, and what is refused."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad

from pliant.model.fluid import CircularFlow, EllipticFlow, FlatFlow, Flow, Fluid, Hydrodynamics, SphereFlow
from pliant.model.links import Body, Rod
from pliant.model.rods.sections import Annulus, Circle, CustomSection, Ellipse, Material, Rectangle
from pliant.model.rods.strains import Strains
from pliant.model.shapes import Box, Cylinder, Inertia, Sphere

WATER = Fluid()
X = np.array([0.0, 0.3, 1.0])
MATERIAL = Material(1e5, poisson=0.5, density=1100)
FLOWS = [CircularFlow(), EllipticFlow(), FlatFlow("z"), SphereFlow()]


def rod(section=None) -> Rod:
    strains = Strains.kirchhoff(order=2)
    if section is None:
        return Rod(0.5, strains, stiffness=np.ones(6), inertia=np.ones(6))
    return Rod(0.5, strains, section=section, material=MATERIAL)


def ball(radius=0.1, com=(0, 0, 0)) -> Body:
    shape = Sphere(radius)
    return Body(Inertia.of(shape, density=900, com=com), shape)


def linear(x, y, z):
    """Matrices (m, 6, 6) with a diagonal linear block."""
    return np.array([np.diag([0, 0, 0, *e]) for e in np.broadcast(x, y, z)])


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=1e-14, atol=1e-14 * np.max(np.abs(desired), initial=0))


def round_rod():
    return rod(Circle((0.015, 0.004)))


# -- fluid ------------------------------------------------------------------------------------------------------
def test_fluid_is_water_at_rest_by_default():
    assert WATER.density == 1000.0
    np.testing.assert_array_equal(WATER.current, np.zeros(3))
    moving = Fluid(1.2, current=[1, 0, -2])
    np.testing.assert_array_equal(moving.current, [1.0, 0.0, -2.0])
    with pytest.raises(ValueError, match="read-only"):
        moving.current[0] = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        moving.density = 3


@pytest.mark.parametrize("density", [0, -1, np.nan, np.inf])
def test_fluid_refuses_densities(density):
    with pytest.raises(ValueError, match=r"Fluid\.density = .* is not allowed"):
        Fluid(density)


def test_fluid_refuses_other_values():
    with pytest.raises(TypeError, match=r"Fluid\.density = 'water' is not a number"):
        Fluid("water")
    with pytest.raises(ValueError, match=r"Fluid\.current has shape \(2,\), but shape \(3,\) is needed.*world axes"):
        Fluid(current=(1, 0))
    with pytest.raises(ValueError, match=r"Fluid\.current = .*finite"):
        Fluid(current=(1, 0, np.nan))


# -- matrices as they are given ---------------------------------------------------------------------------------
METHODS = {
    "drag": Hydrodynamics.drag_at,
    "linear_drag": Hydrodynamics.linear_drag_at,
    "added_mass": Hydrodynamics.added_mass_at,
}
MATRIX = np.diag([1.0, 2, 3, 4, 5, 6]) + 0.1


@pytest.mark.parametrize("name", METHODS)
class TestMatrices:
    def test_nothing_is_zero(self, name):
        at = METHODS[name]
        np.testing.assert_array_equal(at(Hydrodynamics(), rod(), WATER, X), np.zeros((3, 6, 6)))
        np.testing.assert_array_equal(at(Hydrodynamics(), ball(), WATER, X), np.zeros((1, 6, 6)))

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (MATRIX, MATRIX),
            ([1, 2, 3, 4, 5, 6], np.diag([1.0, 2, 3, 4, 5, 6])),
            ((7, 8, 9), np.diag([0.0, 0, 0, 7, 8, 9])),
            (np.zeros(3), np.zeros((6, 6))),
        ],
    )
    def test_forms(self, name, given, expected):
        at, hydro = METHODS[name], Hydrodynamics(**{name: given})
        np.testing.assert_array_equal(at(hydro, rod(), WATER, X), [expected] * 3)
        np.testing.assert_array_equal(at(hydro, rod(), WATER, 0.5), [expected])
        np.testing.assert_array_equal(at(hydro, ball(), WATER, X), [expected])
        np.testing.assert_array_equal(at(hydro, ball(), WATER), [expected])
        np.testing.assert_array_equal(at(hydro, ball(), Fluid(2.0)), [expected])  # numbers are taken as they are
        assert at(hydro, rod(), WATER, []).shape == (0, 6, 6)

    @pytest.mark.parametrize("shape", [(3,), (6,), (6, 6)])
    def test_functions_of_a_point(self, name, shape):
        base = {(3,): np.array([1.0, 2, 3]), (6,): np.arange(6.0), (6, 6): MATRIX}[shape]
        full = {(3,): np.diag([0.0, 0, 0, 1, 2, 3]), (6,): np.diag(np.arange(6.0)), (6, 6): MATRIX}[shape]
        hydro = Hydrodynamics(**{name: lambda x: (1 + x) * base})
        close(METHODS[name](hydro, rod(), WATER, X), (1 + X)[:, None, None] * full)
        assert METHODS[name](hydro, rod(), WATER, []).shape == (0, 6, 6)
        with pytest.raises(TypeError, match=f"{name} is a function of X, but the link is a rigid body"):
            METHODS[name](hydro, ball(), WATER)

    def test_what_is_given_is_copied(self, name):
        given = np.ones(6)
        hydro = Hydrodynamics(**{name: given})
        given[:] = 5
        np.testing.assert_array_equal(METHODS[name](hydro, ball(), WATER), [np.eye(6)])
        with pytest.raises(ValueError, match="read-only"):
            getattr(hydro, name)[0] = 3
        METHODS[name](hydro, ball(), WATER)[0, 0, 0] = 7  # a fresh array
        np.testing.assert_array_equal(METHODS[name](hydro, ball(), WATER), [np.eye(6)])

    def test_refused_shapes(self, name):
        for bad in (1.0, [1, 2], np.eye(3), np.ones((2, 6, 6))):
            with pytest.raises(ValueError, match=rf"{name} has shape .*Give a 6×6 matrix, 6 diagonal entries, or 3"):
                Hydrodynamics(**{name: bad})
        with pytest.raises(TypeError, match=f"{name} = 'water' is not an array of real numbers"):
            Hydrodynamics(**{name: "water"})

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_refused_numbers(self, name, bad):
        with pytest.raises(ValueError, match=rf"{name} = .*every entry must be a finite number"):
            Hydrodynamics(**{name: (1, bad, 1)})

    def test_functions_are_checked_where_they_are_evaluated(self, name):
        hydro = Hydrodynamics(**{name: lambda x: (1, 0.5 - x, 1)})
        assert METHODS[name](hydro, rod(), WATER, 0.2).shape == (1, 6, 6)
        with pytest.raises(ValueError, match=rf"{name}\(X=1\) is not allowed.*-0\.5 \(mainly linear y\)"):
            METHODS[name](hydro, rod(), WATER, X)
        with pytest.raises(ValueError, match=rf"{name}\(X=0\) has shape \(2,\)"):
            METHODS[name](Hydrodynamics(**{name: lambda x: (1, 2)}), rod(), WATER, X)

    @pytest.mark.parametrize("entry", range(6))
    def test_a_negative_eigenvalue_is_named(self, name, entry):
        axis = ["angular x", "angular y", "angular z", "linear x", "linear y", "linear z"][entry]
        diagonal = np.ones(6)
        diagonal[entry] = -0.25
        with pytest.raises(ValueError, match=rf"{name} is not allowed.*negative eigenvalue -0\.25 \(mainly {axis}\)"):
            Hydrodynamics(**{name: diagonal})

    def test_small_entries_count_beside_large_ones(self, name):
        """Angular and linear entries have other units: neither sign hides behind the size of the other."""
        with pytest.raises(ValueError, match="mainly angular x"):
            Hydrodynamics(**{name: (-1e-14, 0, 0, 1e3, 1e3, 1e3)})
        small = np.diag([1e-12, 1e-12, 0, 1e3, 1e3, 1e3])
        Hydrodynamics(**{name: small})
        small[0, 1] = small[1, 0] = 2e-12
        with pytest.raises(ValueError, match="negative eigenvalue -1e-12"):
            Hydrodynamics(**{name: small})

    def test_indefinite_off_the_diagonal(self, name):
        matrix = np.zeros((6, 6))
        matrix[3, 4] = matrix[4, 3] = 1.0
        with pytest.raises(ValueError, match="negative eigenvalue -1 "):
            Hydrodynamics(**{name: matrix})

    def test_singular_matrices_pass(self, name):
        """Linear resistance at an offset: rank three, semidefinite up to rounding."""
        rng = np.random.default_rng(0)
        for scale in 10.0 ** rng.uniform(-6, 6, 50):
            J = np.hstack([scale * rng.normal(size=(3, 3)), np.eye(3)])
            Hydrodynamics(**{name: J.T @ np.diag(rng.uniform(0, 10, 3)) @ J})

    def test_points_are_checked(self, name):
        for bad in (1.5, -0.1, np.nan):
            with pytest.raises(ValueError, match="X = "):
                METHODS[name](Hydrodynamics(), rod(), WATER, bad)
        with pytest.raises(ValueError, match=r"X has shape \(1, 2\)"):
            METHODS[name](Hydrodynamics(), rod(), WATER, [[0, 1]])
        with pytest.raises(TypeError, match=r"X = None: a rod needs the points"):
            METHODS[name](Hydrodynamics(), rod(), WATER)

    def test_links_are_not_contents(self, name):
        with pytest.raises(TypeError, match=r"content = 'arm' must be a Rod or a Body.*link\.content"):
            METHODS[name](Hydrodynamics(), "arm", WATER, X)

    def test_a_class_is_no_flow(self, name):
        with pytest.raises(TypeError, match=rf"{name} = CircularFlow is a class; make an object"):
            Hydrodynamics(**{name: CircularFlow})


@pytest.mark.parametrize("name", ["drag", "linear_drag"])
def test_lift_is_allowed(name):
    matrix = np.diag([0.0, 0, 0, 1, 2, 3])
    matrix[3, 4], matrix[4, 3] = 10.0, -10.0
    hydro = Hydrodynamics(**{name: matrix})
    np.testing.assert_array_equal(METHODS[name](hydro, ball(), WATER), [matrix])
    eta = np.random.default_rng(1).normal(size=6)
    assert eta @ matrix @ eta >= 0  # it takes energy all the same


def test_added_mass_must_be_symmetric():
    matrix = np.eye(6)
    matrix[3, 4] = 0.1
    with pytest.raises(ValueError, match=r"added_mass is not allowed: it must be symmetric.*by 0\.1.*lift into drag"):
        Hydrodynamics(added_mass=matrix)
    matrix[4, 3] = 0.1 * (1 + 1e-13)
    result = Hydrodynamics(added_mass=matrix).added_mass_at(ball(), WATER)[0]
    np.testing.assert_array_equal(result, result.T)


def test_switches_are_switches():
    for name in ("buoyancy", "tail"):
        with pytest.raises(TypeError, match=f"{name} = 1 must be True or False"):
            Hydrodynamics(**{name: 1})


# -- round rods -------------------------------------------------------------------------------------------------
def test_circular_is_the_arm_of_the_paper():
    """[001] section V, with a taper from 15 to 4 mm."""
    R = 0.015 + X * (0.004 - 0.015)
    hydro = Hydrodynamics.circular(cx=0.02, cy=1.3, cz=1.4, by=1.5, bz=0.7)
    fluid = Fluid(1020)
    close(hydro.drag_at(round_rod(), fluid, X), 1020 * linear(0.5 * np.pi * 0.02 * R, 1.3 * R, 1.4 * R))
    A = np.pi * R**2
    close(hydro.added_mass_at(round_rod(), fluid, X), 1020 * linear(0 * A, 1.5 * A, 0.7 * A))
    close(hydro.linear_drag_at(round_rod(), fluid, X), np.zeros((3, 6, 6)))
    close(hydro.displaced_at(round_rod(), X), A)


def test_circular_defaults():
    hydro = Hydrodynamics.circular()
    assert hydro.drag == CircularFlow(cx=0.01, cy=1.1, cz=1.1, by=1.0, bz=1.0)
    assert hydro.buoyancy
    assert not hydro.tail


def test_a_tube_has_the_flow_of_its_outside():
    hydro = Hydrodynamics.circular()
    tube, full = rod(Annulus(outer=(0.02, 0.01), inner=0.005)), rod(Circle((0.02, 0.01)))
    close(hydro.drag_at(tube, WATER, X), hydro.drag_at(full, WATER, X))
    close(hydro.added_mass_at(tube, WATER, X), hydro.added_mass_at(full, WATER, X))
    close(hydro.displaced_at(tube, X), hydro.displaced_at(full, X) - np.pi * 0.005**2)  # flooded
    closed = Hydrodynamics.circular(volume=lambda x: np.pi * (0.02 - 0.01 * x) ** 2)
    close(closed.displaced_at(tube, X), hydro.displaced_at(full, X))


@pytest.mark.parametrize(
    "section",
    [Rectangle(0.01, 0.02), Ellipse(0.01, 0.02), CustomSection(1e-4, 1e-9, 1e-9)],
    ids=lambda s: type(s).__name__,
)
def test_circular_refuses_other_sections(section):
    for at in (Hydrodynamics.drag_at, Hydrodynamics.added_mass_at):
        with pytest.raises(TypeError, match=r"circular needs a Circle or Annulus, but .*Use elliptic .*flat"):
            at(Hydrodynamics.circular(), rod(section), WATER, X)


# -- oval rods --------------------------------------------------------------------------------------------------
COEFFICIENTS = {"cx": 0.03, "cy": 1.2, "cz": 0.8, "by": 1.1, "bz": 0.9}


@pytest.mark.parametrize(
    ("content", "given"),
    [
        (rod(Circle((0.015, 0.004))), {}),
        (rod(Ellipse((0.015, 0.004), (0.015, 0.004))), {}),
        (rod(Rectangle(height=(0.03, 0.008), width=(0.03, 0.008))), {}),
        (rod(CustomSection(1e-4, 1e-9, 1e-9)), {"a": (0.015, 0.004), "b": lambda x: 0.015 - 0.011 * x}),
        (rod(), {"a": (0.015, 0.004), "b": (0.015, 0.004)}),
        (rod(Ellipse((0.015, 0.004), 0.001)), {"b": (0.015, 0.004)}),
    ],
)
def test_elliptic_reduces_to_circular(content, given):
    round_, oval = Hydrodynamics.circular(**COEFFICIENTS), Hydrodynamics.elliptic(**COEFFICIENTS, **given)
    close(oval.drag_at(content, WATER, X), round_.drag_at(round_rod(), WATER, X))
    close(oval.added_mass_at(content, WATER, X), round_.added_mass_at(round_rod(), WATER, X))


@pytest.mark.parametrize(("a", "b"), [(0.03, 0.01), (0.01, 0.03), (0.02, 1e-6)])
def test_elliptic_values(a, b):
    hydro, fluid = Hydrodynamics.elliptic(**COEFFICIENTS), Fluid(500)
    P = 4 * quad(lambda t: np.hypot(a * np.sin(t), b * np.cos(t)), 0, np.pi / 2, epsabs=0, epsrel=1e-12, limit=500)[0]
    drag = hydro.drag_at(rod(Ellipse(a, b)), fluid, 0.5)
    np.testing.assert_allclose(drag, 500 * linear(0.03 * P / 4, 1.2 * b, 0.8 * a), rtol=1e-10)
    mass = hydro.added_mass_at(rod(Ellipse(a, b)), fluid, 0.5)
    close(mass, 500 * np.pi * linear(0, 1.1 * b**2, 0.9 * a**2))


def test_elliptic_takes_the_extents_of_a_rectangle():
    hydro = Hydrodynamics.elliptic(**COEFFICIENTS)
    box, oval = rod(Rectangle(height=0.04, width=0.01)), rod(Ellipse(0.02, 0.005))
    close(hydro.drag_at(box, WATER, X), hydro.drag_at(oval, WATER, X))
    close(hydro.added_mass_at(box, WATER, X), hydro.added_mass_at(oval, WATER, X))


def test_elliptic_may_run_out_in_a_point():
    hydro = Hydrodynamics.elliptic(a=(0.02, 0), b=(0.01, 0))
    assert not hydro.drag_at(rod(), WATER, 1.0).any()
    assert not hydro.added_mass_at(rod(), WATER, 1.0).any()
    assert hydro.drag_at(rod(), WATER, 0.999).any()


def test_elliptic_refuses():
    with pytest.raises(ValueError, match=r"elliptic cannot know the extents of CustomSection.*half axes a .* and b"):
        Hydrodynamics.elliptic().drag_at(rod(CustomSection(1e-4, 1e-9, 1e-9)), WATER, X)
    with pytest.raises(ValueError, match=r"EllipticFlow\.a\(X=0\) = -1.0 is not allowed"):
        Hydrodynamics.elliptic(a=-1)
    with pytest.raises(ValueError, match=r"EllipticFlow\.b = 0 is not allowed"):
        Hydrodynamics.elliptic(b=0)
    with pytest.raises(ValueError, match=r"EllipticFlow\.b has shape \(3,\).*a pair"):
        Hydrodynamics.elliptic(b=(1, 2, 3))
    with pytest.raises(TypeError, match=r"EllipticFlow\.a = 'wide' is not a number"):
        Hydrodynamics.elliptic(a="wide")
    with pytest.raises(ValueError, match=r"elliptic a\(X=1\) = -0\.5 is not allowed"):
        Hydrodynamics.elliptic(a=lambda x: 0.5 - x, b=1).drag_at(rod(), WATER, X)
    with pytest.raises(ValueError, match=r"elliptic b must take .* for shape \(3,\) it returned shape \(2,\)"):
        Hydrodynamics.elliptic(a=1, b=lambda x: [1, 2]).drag_at(rod(), WATER, X)
    with pytest.raises(TypeError, match=r"elliptic b must take an array X of shape \(m,\) and return as many numbers"):
        Hydrodynamics.elliptic(a=1, b=lambda x: "wide").drag_at(rod(), WATER, X)


# -- plates -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", ["y", "z"])
@pytest.mark.parametrize("kind", [Rectangle, Ellipse])
def test_flat_acts_along_its_normal(axis, kind):
    w = 0.06 - 0.02 * X
    full = 2 if kind is Ellipse else 1  # semi-axes against sides
    sizes = [(0.06 / full, 0.04 / full), 0.002 / full]
    content = rod(kind(*(sizes if axis == "y" else sizes[::-1])))
    hydro, fluid = Hydrodynamics.flat(axis, cn=1.9, bn=0.8), Fluid(998)
    normal = (lambda v: linear(0, 0, v)) if axis == "y" else (lambda v: linear(0, v, 0))
    close(hydro.drag_at(content, fluid, X), normal(0.5 * 998 * 1.9 * w))
    close(hydro.added_mass_at(content, fluid, X), normal(0.8 * 998 * np.pi * (w / 2) ** 2))
    given = Hydrodynamics.flat(axis, cn=1.9, bn=0.8, width=(0.06, 0.04))
    close(given.drag_at(rod(), fluid, X), normal(0.5 * 998 * 1.9 * w))


def test_flat_is_the_limit_of_elliptic():
    flat = Hydrodynamics.flat("y", cn=1.5)
    thin = Hydrodynamics.elliptic(cx=0, cy=1.5, cz=1.5, b=1e-12)
    content = rod(Ellipse(0.02, 0.001))
    np.testing.assert_allclose(flat.drag_at(content, WATER, X), thin.drag_at(content, WATER, X), atol=1e-8)
    np.testing.assert_allclose(flat.added_mass_at(content, WATER, X), thin.added_mass_at(content, WATER, X), atol=1e-8)


def test_flat_refuses():
    with pytest.raises(ValueError, match=r"FlatFlow\.width_axis = 'x' is not allowed: choose one of 'y', 'z'"):
        Hydrodynamics.flat("x")
    with pytest.raises(
        ValueError, match=r"width_axis = 'y': at X = 0 the section is 0\.01 m wide along y but 0\.05 m thick"
    ):
        Hydrodynamics.flat("y").drag_at(rod(Rectangle(height=0.01, width=0.05)), WATER, X)
    with pytest.raises(ValueError, match=r"flat cannot know the extents of CustomSection.*give the width to flat"):
        Hydrodynamics.flat("y").drag_at(rod(CustomSection(1e-4, 1e-9, 1e-9)), WATER, X)
    with pytest.raises(ValueError, match=r"FlatFlow\.width = 0"):
        Hydrodynamics.flat("y", width=0)


# -- balls ------------------------------------------------------------------------------------------------------
def test_sphere_values():
    hydro, fluid = Hydrodynamics.sphere(), Fluid(1025)
    close(hydro.drag_at(ball(0.1), fluid), linear(*[0.5 * 1025 * 0.47 * np.pi * 0.01] * 3)[None, 0])
    close(hydro.added_mass_at(ball(0.1), fluid), linear(*[0.5 * 1025 * 4 / 3 * np.pi * 0.001] * 3)[None, 0])
    other = Hydrodynamics.sphere(cd=0.2, ca=0.6)
    close(other.drag_at(ball(), fluid), hydro.drag_at(ball(), fluid) * 0.2 / 0.47)
    close(other.added_mass_at(ball(), fluid), hydro.added_mass_at(ball(), fluid) * 1.2)


def test_added_mass_of_a_sphere_sits_in_its_centre():
    com = np.array([0.1, -0.2, 0.3])
    content, m = ball(0.1, com), 0.5 * 1000 * Sphere(0.1).volume
    M = Hydrodynamics.sphere(cd=0).added_mass_at(content, WATER)[0]
    close(M, Inertia(m, com).matrix)  # as a point mass there
    eta = np.random.default_rng(2).normal(size=6)
    v = eta[3:] + np.cross(eta[:3], com)
    assert eta @ M @ eta == pytest.approx(m * v @ v, rel=1e-13)
    assert not Hydrodynamics.sphere(cd=0).drag_at(content, WATER).any()
    # A keel moves the centre of mass, not the ball.
    keel = Hydrodynamics.sphere(centre=(0, 0, 0))
    close(keel.added_mass_at(content, WATER), Hydrodynamics.sphere().added_mass_at(ball(), WATER))
    close(keel.drag_at(content, WATER), Hydrodynamics.sphere().drag_at(ball(), WATER))


def test_sphere_refuses():
    with pytest.raises(
        ValueError, match=r"the drag of a sphere needs the body frame at its centre.*\[0\.1, 0\.0, 0\.0\] m"
    ):
        Hydrodynamics.sphere().drag_at(ball(com=(0.1, 0, 0)), WATER)
    box = Box(1, 1, 1)
    with pytest.raises(TypeError, match=r"sphere needs a body with a Sphere shape, but its shape is Box"):
        Hydrodynamics.sphere().drag_at(Body(Inertia.of(box, mass=1), box), WATER)
    with pytest.raises(TypeError, match="but its shape is None"):
        Hydrodynamics.sphere().added_mass_at(Body(None), WATER)
    with pytest.raises(TypeError, match="sphere is for bodies, but the link is a rod"):
        Hydrodynamics.sphere().drag_at(round_rod(), WATER, X)


# -- flows in general -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("flow", FLOWS[:3], ids=lambda f: type(f).__name__)
def test_flows_of_rods_need_rods_with_sections(flow):
    hydro = Hydrodynamics(drag=flow, added_mass=flow)
    for at in (Hydrodynamics.drag_at, Hydrodynamics.added_mass_at):
        with pytest.raises(TypeError, match=r"is for rods, but the link is a rigid body\. Use sphere"):
            at(hydro, ball(), WATER)
        with pytest.raises(ValueError, match="needs the section of the rod, but the rod has none"):
            at(hydro, rod(), WATER, X)


@pytest.mark.parametrize("flow", [EllipticFlow(a=1, b=1), FlatFlow("y", width=1)])
def test_lengths_do_not_make_a_rod_of_a_body(flow):
    with pytest.raises(TypeError, match="is for rods"):
        Hydrodynamics(drag=flow).drag_at(ball(), WATER)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda f: type(f).__name__)
def test_coefficients_are_checked(flow):
    coefficients = [f.name for f in dataclasses.fields(flow) if f.name[0] in "cb" and len(f.name) == 2]
    assert len(coefficients) >= 2
    for name in coefficients:
        with pytest.raises(
            ValueError, match=rf"{type(flow).__name__}\.{name} = -1 is not allowed: must not be negative"
        ):
            dataclasses.replace(flow, **{name: -1})
        assert getattr(dataclasses.replace(flow, **{name: 0}), name) == 0.0


def test_the_base_is_no_flow():
    with pytest.raises(TypeError, match="Flow is only a base class"):
        Flow()


def test_a_flow_gives_no_linear_drag():
    with pytest.raises(TypeError, match=r"linear_drag = CircularFlow\(.*a flow gives drag and added_mass only"):
        Hydrodynamics(linear_drag=CircularFlow())


def test_a_flow_may_serve_one_of_the_two():
    hydro = Hydrodynamics(drag=CircularFlow())
    assert hydro.drag_at(round_rod(), WATER, X).any()
    assert not hydro.added_mass_at(round_rod(), WATER, X).any()


def test_flows_scale_with_density():
    content = rod(Rectangle(height=0.01, width=0.05))
    for hydro, link in [
        (Hydrodynamics.elliptic(), content),
        (Hydrodynamics.flat("z"), content),
        (Hydrodynamics.circular(), round_rod()),
        (Hydrodynamics.sphere(), ball()),
    ]:
        for at in (Hydrodynamics.drag_at, Hydrodynamics.added_mass_at):
            close(at(hydro, link, Fluid(1.2), X), 1.2e-3 * at(hydro, link, WATER, X))
    with pytest.raises(TypeError, match="fluid = 1000 must be a Fluid"):
        Hydrodynamics.circular().drag_at(round_rod(), 1000, X)


@pytest.mark.parametrize(
    "make", [Hydrodynamics.circular, Hydrodynamics.elliptic, lambda **m: Hydrodynamics.flat("z", **m)]
)
def test_more_fields(make):
    hydro = make(linear_drag=(1, 2, 3), buoyancy=False, tail=True, volume=0.1)
    assert hydro.tail
    assert not hydro.buoyancy
    assert hydro.volume == 0.1
    np.testing.assert_array_equal(hydro.linear_drag, [1, 2, 3])
    replaced = make(drag=(1, 1, 1), added_mass=None)
    np.testing.assert_array_equal(replaced.drag_at(rod(), WATER, 0.5), linear(1, 1, 1))
    assert replaced.added_mass is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'bouyancy'"):
        make(bouyancy=False)


# -- buoyancy ---------------------------------------------------------------------------------------------------
def test_displaced_volume_of_rods():
    hydro = Hydrodynamics()
    close(hydro.displaced_at(rod(Rectangle((0.01, 0.03), 0.02)), X), (0.01 + 0.02 * X) * 0.02)
    close(hydro.displaced_at(rod(CustomSection(1e-4, 1e-9, 1e-9)), 0.5), [1e-4])
    close(Hydrodynamics(volume=2e-4).displaced_at(rod(), X), [2e-4] * 3)
    close(Hydrodynamics(volume=lambda x: 1e-4 * (1 + x)).displaced_at(rod(), X), 1e-4 * (1 + X))
    np.testing.assert_array_equal(Hydrodynamics(buoyancy=False).displaced_at(rod(), X), np.zeros(3))
    np.testing.assert_array_equal(Hydrodynamics(buoyancy=False, volume=1).displaced_at(rod(), X), np.zeros(3))
    np.testing.assert_array_equal(hydro.centroid(rod()), np.zeros(3))
    hydro.displaced_at(round_rod(), X)[0] = 1.0  # a fresh array


@pytest.mark.parametrize("shape", [Sphere(0.1), Box(0.1, 0.2, 0.3), Cylinder(0.1, 0.5, "z")])
def test_displaced_volume_of_bodies(shape):
    com = [0.1, 0.2, 0.3]
    body = Body(Inertia.of(shape, mass=1, com=com), shape)
    hydro = Hydrodynamics()
    np.testing.assert_array_equal(hydro.displaced_at(body), [shape.volume])
    np.testing.assert_array_equal(hydro.displaced_at(body, X), [shape.volume])
    np.testing.assert_array_equal(hydro.centroid(body), com)
    given = Hydrodynamics(volume=0.5, centre=(0, 0, 1))
    np.testing.assert_array_equal(given.displaced_at(body), [0.5])
    np.testing.assert_array_equal(given.centroid(body), [0, 0, 1])
    np.testing.assert_array_equal(Hydrodynamics(buoyancy=False).displaced_at(body), [0])


def test_bodies_without_shape_or_mass():
    np.testing.assert_array_equal(Hydrodynamics(volume=0.5).displaced_at(Body(None)), [0.5])
    np.testing.assert_array_equal(Hydrodynamics(volume=0.5).centroid(Body(None)), np.zeros(3))
    np.testing.assert_array_equal(Hydrodynamics(buoyancy=False).displaced_at(Body(None)), [0])
    with pytest.raises(ValueError, match="it has no shape: give buoyancy=False, a shape, or volume in m³"):
        Hydrodynamics().displaced_at(Body(Inertia(1.0)))


def test_buoyancy_refuses():
    with pytest.raises(ValueError, match="the rod has none: give buoyancy=False or a section"):
        Hydrodynamics().displaced_at(rod(), X)
    with pytest.raises(ValueError, match=r"centre = \[0\.0, 0\.0, 1\.0\] is for bodies, but the link is a rod"):
        Hydrodynamics(centre=(0, 0, 1)).centroid(rod())
    with pytest.raises(TypeError, match="volume is a function of X, but the link is a rigid body"):
        Hydrodynamics(volume=lambda x: x).displaced_at(ball())
    with pytest.raises(ValueError, match=r"volume\(X=1\) = -0\.5 is not allowed"):
        Hydrodynamics(volume=lambda x: 0.5 - x).displaced_at(rod(), X)
    with pytest.raises(ValueError, match=r"volume = -1 is not allowed: must not be negative.*buoyancy=False"):
        Hydrodynamics(volume=-1)
    with pytest.raises(ValueError, match=r"centre has shape \(2,\)"):
        Hydrodynamics(centre=(1, 2))
    for method in (Hydrodynamics.displaced_at, Hydrodynamics.centroid):
        with pytest.raises(TypeError, match="content = None must be a Rod or a Body"):
            method(Hydrodynamics(), None)


# -- tail -------------------------------------------------------------------------------------------------------
def test_tail_mass_is_the_transverse_added_mass_at_the_tip():
    fin = rod(Ellipse((0.01, 0.03), (0.02, 0.001)))
    hydro = Hydrodynamics.elliptic(tail=True)
    close(hydro.tail_mass(fin, WATER), 1000 * np.pi * np.array([0.001**2, 0.03**2]))
    given = Hydrodynamics(added_mass=lambda x: (x, 2 * x, 3 * x), tail=True, buoyancy=False)
    close(given.tail_mass(rod(), WATER), [2, 3])
    np.testing.assert_array_equal(Hydrodynamics.elliptic().tail_mass(fin, WATER), [0, 0])
    np.testing.assert_array_equal(Hydrodynamics.sphere().tail_mass(ball(), WATER), [0, 0])


def test_tail_refuses():
    with pytest.raises(ValueError, match="tail = True needs added_mass"):
        Hydrodynamics(tail=True)
    with pytest.raises(TypeError, match="tail = True is for rods, but the link is a rigid body"):
        Hydrodynamics.sphere(tail=True).tail_mass(ball(), WATER)
    coupled = np.eye(6)
    coupled[4, 5] = coupled[5, 4] = 0.5
    with pytest.raises(ValueError, match=r"without coupling of linear y and z, but that entry is 0\.5"):
        Hydrodynamics(added_mass=coupled, tail=True).tail_mass(rod(), WATER)


# -- everything at once -----------------------------------------------------------------------------------------
def test_check_accepts_what_can_be_evaluated():
    Hydrodynamics.circular(tail=True).check(round_rod(), WATER)
    Hydrodynamics.sphere().check(ball(), WATER)
    Hydrodynamics(drag=(1, 1, 1), buoyancy=False).check(rod(), WATER)
    Hydrodynamics(buoyancy=False).check(Body(None), WATER)


@pytest.mark.parametrize(
    ("hydro", "content"),
    [
        (Hydrodynamics(), rod()),
        (Hydrodynamics(), Body(None)),
        (Hydrodynamics.circular(), ball()),
        (Hydrodynamics.sphere(tail=True), ball()),
        (Hydrodynamics(centre=(0, 0, 0)), rod(Circle(0.1))),
        (Hydrodynamics(linear_drag=lambda x: (x, x, -x), buoyancy=False), rod()),
    ],
)
def test_check_finds_what_cannot(hydro, content):
    with pytest.raises((TypeError, ValueError)):
        hydro.check(content, WATER)
