"""A joint, a basis, a section and a shape of one's own: what docs/extending.md shows, against parts of the package."""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from math import comb, pi
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.model.joints import JOINTS, RESTRAINTS, Joint, Restraint, slide, turn
from pliant.model.pose import AxisLike
from pliant.model.rods.basis import BASES, BASIS_KINDS, Basis
from pliant.model.rods.sections import SECTIONS, Dimension, Section, oval
from pliant.model.shapes import SHAPES, Distance, Shape, View, inertia_of_moments, revolved
from pliant.viz.geometry import build_scene
from pliant.viz.polygons import Scene
from robots import SILICONE

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"


# ---------------------------------------------------------------- what the page shows


@dataclass(frozen=True, repr=False)
class OffsetUniversal(Joint):
    """Two hinges whose axes do not meet: the second one passes `offset` metres along x from the first."""

    axis1: AxisLike
    axis2: AxisLike
    offset: float

    axes = ("axis1", "axis2")
    dof_names = ("angle1", "angle2")
    dof_units = ("rad", "rad")
    units = {"offset": "m"}  # noqa: RUF012

    @property
    def screws(self):
        return [turn(self.axis1), turn(self.axis2, through=(self.offset, 0.0, 0.0))]


@dataclass(frozen=True, repr=False)
class Bernstein(Basis):
    """Bernstein polynomials: the coordinates are the control points of a Bézier curve."""

    order: int

    @property
    def size(self):
        return self.order + 1

    @property
    def degree(self):
        return self.order

    def values(self, X):
        k = np.arange(self.size)
        binomial = np.array([comb(self.order, i) for i in k])
        return binomial * X[:, None] ** k * (1 - X[:, None]) ** (self.order - k)


@dataclass(frozen=True, repr=False)
class BoxTube(Section):
    """Rectangular tube with walls of equal thickness."""

    height: Dimension
    width: Dimension
    wall: Dimension

    corners = 4

    def moments(self, X):
        h, w, t = (self.value(name, X) for name in ("height", "width", "wall"))
        a, b = h - 2 * t, w - 2 * t
        return h * w - a * b, (h * w**3 - a * b**3) / 12, (h**3 * w - a**3 * b) / 12, None

    def boundary(self, X, n):
        return pl.Rectangle(self.height, self.width).boundary(X, n)

    def hole(self, X, n):
        inner = [self.value(name, X) - 2 * self.value("wall", X) for name in ("height", "width")]
        return pl.Rectangle(lambda _X: inner[0], lambda _X: inner[1]).boundary(X, n)


@dataclass(frozen=True)
class Pill(Shape):
    """Cylinder along z with a half ball at each end."""

    radius: float
    length: float

    units = {"radius": "m", "length": "m"}  # noqa: RUF012

    @property
    def volume(self):
        return pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    @property
    def unit_inertia(self):
        r, L = self.radius, self.length
        ball = 4 / 3 * r / (L + 4 / 3 * r)  # share of the volume
        across = (1 - ball) * r**2 / 4 + ball * r**2 / 5
        along = (1 - ball) * L**2 / 12 + ball * (L**2 / 4 + 3 / 8 * L * r + r**2 / 5)
        return inertia_of_moments(across, across, along)

    def sheets(self, view):
        polar = np.linspace(0.0, pi / 2, view.around // 4 + 1)
        low, high = -self.length / 2 - self.radius * np.cos(polar), self.length / 2 + self.radius * np.cos(polar[::-1])
        ring = self.radius * np.sin(polar)
        return [revolved(np.append(low, high), np.append(ring, ring[::-1]), "z", view)]

    def contact_points(self):
        return [(np.array([0.0, 0.0, z]), self.radius) for z in (-self.length / 2, self.length / 2)]

    def distance(self):
        return Distance("tube", (0.0, self.length / 2), rounding=self.radius)


@pytest.mark.parametrize("part", [OffsetUniversal, Bernstein, BoxTube, Pill])
def test_the_page_shows_what_is_tested(part):
    """Word for word, but for the width of lines."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = {
        node.name: ast.dump(node) for code in blocks for node in ast.parse(code).body if isinstance(node, ast.ClassDef)
    }
    assert shown[part.__name__] == ast.dump(ast.parse(inspect.getsource(part)).body[0])


def patched(root: Path, diff: str) -> None:
    """Apply a diff whose hunks have no numbers."""
    for part in re.split(r"^--- a/.*\n", diff, flags=re.MULTILINE)[1:]:
        head, *hunks = part.split("@@\n")
        path = root / head.removeprefix("+++ b/").strip()
        text = path.read_text(encoding="utf-8")
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
            assert text.count(old) == 1, hunk
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


def test_a_joint_of_the_package_is_a_file_and_its_export(tmp_path):
    """The diff of the page, applied to a copy of the package: names, units, parameters, files and schema follow."""
    here = Path(pl.__file__).parent
    shutil.copytree(here, tmp_path / "src" / "pliant", ignore=shutil.ignore_patterns("__pycache__", "static"))
    (diff,) = re.findall(r"```diff\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    patched(tmp_path, diff)
    head = "from dataclasses import dataclass\n\nfrom ..pose import AxisLike\nfrom .base import Joint, turn\n"
    code = f'"""Two hinges."""\n\n{head}\n__all__ = ["OffsetUniversal"]\n\n\n{inspect.getsource(OffsetUniversal)}'
    (tmp_path / "src/pliant/model/joints/offset_universal.py").write_text(code, encoding="utf-8")
    script = """
import pliant as pl
robot = pl.Robot("wrist")
robot.add_body("hand", joint=pl.OffsetUniversal("y", "z", offset=0.04, stiffness=(2.0, 0.5)), mass=0.3)
robot.save("wrist.yaml")
again = pl.load_model("wrist.yaml").robot
assert again.links == robot.links
assert again.links[0].joint.dof_names == ("angle1", "angle2")
assert again.parameters.units["hand.joint.stiffness.angle1"] == "N m/rad"
assert "OffsetUniversal" in str(pl.io.schema())
print(pl.__file__)
"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.startswith(str(tmp_path)), run.stderr


def test_the_registries_hold_all_parts():
    """Each part of the package is in the tuple from which files, schemas and tests are derived."""

    def below(base):
        return {c for s in base.__subclasses__() for c in (s, *below(s)) if c.__module__.startswith("pliant.")}

    assert {*JOINTS, *RESTRAINTS, Restraint} == below(Joint)
    assert set(SHAPES) == below(Shape)
    assert set(SECTIONS) == below(Section)
    assert set(BASES) == {c for c in below(Basis) if not inspect.isabstract(c)}
    assert set(BASIS_KINDS) == {c.name for c in BASES} - {None}
    for part in (*JOINTS, *SHAPES, *SECTIONS, *BASES):
        assert part.__doc__
        assert len(inspect.getsource(inspect.getmodule(part)).split("\nclass ")) == 2, f"{part} has a file of its own"


# ---------------------------------------------------------------- joints


@dataclass(frozen=True, repr=False)
class Table(Joint):
    """Sliding along x and y, then turning about z."""

    dof_names = ("x", "y", "angle")
    dof_units = ("m", "m", "rad")

    @property
    def screws(self):
        return [slide((1, 0, 0)), slide((0, 1, 0)), turn((0, 0, 1))]


def arm_on(joint: pl.Joint) -> pl.Robot:
    robot = pl.Robot("arm on a joint")
    base = robot.add_body("base", joint=pl.Free(stiffness=50.0), mass=2.0, shape=pl.Box(0.1, 0.1, 0.1))
    hand = robot.add_body("hand", parent=base, joint=joint, offset=(0.1, 0, 0), mass=0.5, com=(0.05, 0.02, 0))
    robot.add_rod(
        "rod", parent=hand, length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )
    return robot


def same(a: pl.System, b: pl.System, tolerance: float = 0.0) -> None:
    """Equal kinematics, dynamics and derivatives at a random state."""
    rng = np.random.default_rng(5)
    q = a.integrate(a.neutral(), 0.3 * rng.normal(size=a.nv))
    v, w = rng.normal(size=a.nv), rng.normal(size=a.nv)
    for what in (
        lambda s: np.array([s.pose(name, q) for name in s.links if name != "between"]),
        lambda s: s.residual(q, v, w),
        lambda s: s.mass_matrix(q),
        lambda s: s.residual_tangent(q, v, w, weights=(1.0, 0.3, 0.1)),
    ):
        one, two = what(a), what(b)
        np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * np.abs(one).max())


def test_a_joint_of_screws_is_the_built_in_one():
    options = {"stiffness": (30.0, 40.0, 2.0), "damping": 0.1, "rest": (0.01, 0.0, 0.2)}
    own, built_in = arm_on(Table(**options)).compile(), arm_on(pl.Planar("z", **options)).compile()
    same(own, built_in)
    rests = [pl.solve_statics(s) for s in (own, built_in)]
    assert rests[0].success
    np.testing.assert_array_equal(rests[0].q, rests[1].q)
    runs = [pl.simulate(s, 0.05, start=rests[0].q, velocity=0.1 * np.ones(s.nv)) for s in (own, built_in)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert own.dof_names[6:9] == ("hand.x", "hand.y", "hand.angle")
    assert own.coordinate_units[7:10] == ("m", "m", "rad")
    assert own.force_units[6:9] == ("N", "N", "N m")


def test_axes_that_do_not_meet():
    """The joint of the page is two hinges with a body without mass between them."""
    single = arm_on(OffsetUniversal("y", "z", offset=0.04, stiffness=1.0)).compile()
    robot = pl.Robot("two hinges")
    base = robot.add_body("base", joint=pl.Free(stiffness=50.0), mass=2.0, shape=pl.Box(0.1, 0.1, 0.1))
    between = robot.add_body("between", parent=base, joint=pl.Revolute("y", stiffness=1.0), offset=(0.1, 0, 0))
    hinge = pl.Revolute("z", stiffness=1.0)
    hand = robot.add_body(
        "hand",
        parent=between,
        joint=hinge,
        offset=(0.04, 0, 0),
        offset_after=(-0.04, 0, 0),
        mass=0.5,
        com=(0.05, 0.02, 0),
    )
    robot.add_rod(
        "rod", parent=hand, length=0.3, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(1)
    )
    same(single, robot.compile(), 1e-14)


def test_a_joint_of_ones_own_is_driven_and_drawn():
    robot = arm_on(OffsetUniversal("y", (0, 0, 2), offset=0.04))
    assert robot.link("hand").joint.axis2 == (0.0, 0.0, 1.0)
    assert repr(robot.link("hand").joint) == (
        "OffsetUniversal(axis1=(0.0, 1.0, 0.0), axis2=(0.0, 0.0, 1.0), offset=0.04)"
    )
    robot.add_motor("wrist", "hand", dof="angle2")
    robot.add_motion("tilt", "hand", dof="angle1")
    system = robot.compile()
    assert system.input_units == ("N m",)
    run = pl.simulate(system, 0.05, u={"wrist": 0.1}, motion={"tilt": lambda t: 0.5 * t})
    np.testing.assert_allclose(run.q[-1, 7], 0.025, atol=1e-12)
    assert len(build_scene(system).solids) == 2


def test_a_joint_that_says_too_little_is_refused():
    with pytest.raises(TypeError, match=r"Half\.dof_units = \('rad',\)"):

        class Half(Joint):
            dof_names = ("one", "two")
            dof_units = ("rad",)

    @dataclass(frozen=True, repr=False)
    class Forgetful(Joint):
        dof_names = ("one", "two")
        dof_units = ("rad", "rad")

        @property
        def screws(self):
            return [turn((0, 0, 1))]

    with pytest.raises(ValueError, match=r"link 'hand'.*1 screws, but 2 dof_names"):
        arm_on(Forgetful()).compile()
    robot = arm_on(pl.Fixed())
    with pytest.raises(TypeError, match=r"does not say what it constrains.*constraints\(\)"):
        robot.add_loop("loop", "rod", joint=OffsetUniversal("y", "z", 0.1))


# ---------------------------------------------------------------- bases


def rod_of(strains: pl.Strains, section: pl.model.rods.sections.Section | None = None) -> pl.Robot:
    robot = pl.Robot("rod")
    robot.add_rod("rod", length=0.4, section=section or pl.Circle(0.01), material=SILICONE, strains=strains, points=9)
    return robot


def test_a_basis_spans_what_the_built_in_one_spans():
    """Mass matrix, forces and equilibrium are those of Legendre polynomials up to the change of coordinates T."""
    order = 3
    own = rod_of(pl.Strains(bending=Bernstein(order), torsion=Bernstein(1))).compile()
    built_in = rod_of(pl.Strains(bending=order, torsion=1)).compile()
    X = np.linspace(0, 1, 7)
    T = np.zeros((own.nv, own.nv))
    at = 0
    for n in (1, order, order):
        k = slice(at, at + n + 1)
        T[k, k] = np.linalg.lstsq(pl.Legendre(n)(X), Bernstein(n)(X), rcond=None)[0]
        at += n + 1
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, own.nv))
    M = built_in.mass_matrix(T @ q)
    np.testing.assert_allclose(own.mass_matrix(q), T.T @ M @ T, atol=1e-13 * np.abs(M).max())
    f = built_in.residual(T @ q, T @ v, T @ a)
    np.testing.assert_allclose(own.residual(q, v, a), T.T @ f, atol=1e-12 * np.abs(f).max())
    rest = pl.solve_statics(own)
    np.testing.assert_allclose(T @ rest.q, pl.solve_statics(built_in).q, atol=1e-9)
    assert own.dof_names[:2] == ("rod.torsion[0]", "rod.torsion[1]")
    assert own.coordinate_units[0] == "rad/m"
    assert repr(Bernstein(3)) == "Bernstein(3)"
    run = pl.simulate(own, 0.02)
    assert run.success


def test_a_basis_with_values_of_another_shape_is_refused():
    class Wrong(Bernstein):
        def values(self, X):
            return super().values(X).T

    with pytest.raises(ValueError, match=r"Wrong\(2\)\.values returned shape \(3, 4\) for 4 points, but \(4, 3\)"):
        Wrong(2)(np.linspace(0, 1, 4))


# ---------------------------------------------------------------- sections


@dataclass(frozen=True, repr=False)
class Tube(Section):
    """Round tube by its outer radius and the thickness of its wall."""

    radius: Dimension
    wall: Dimension

    is_round = True

    def moments(self, X):
        R, t = self.value("radius", X), self.value("wall", X)
        r = R - t
        area = np.pi * (R - r) * (R + r)
        second = area * (R**2 + r**2) / 4.0
        return area, second, second.copy(), None

    def boundary(self, X, n):
        R = self.value("radius", X, zero=True)
        return oval(R, R, n)

    def hole(self, X, n):
        r = self.value("radius", X) - self.value("wall", X)
        return oval(r, r, n)


def test_a_section_is_the_built_in_one():
    def wet(section):
        robot = rod_of(strains, section)
        robot.set_fluid()
        robot.add_hydrodynamics("rod", pl.Hydrodynamics.circular())
        return robot

    strains = pl.Strains.reissner(2)
    own = Tube(radius=(0.02, 0.01), wall=0.004, shear_factor=0.9)
    built_in = pl.Annulus(outer=(0.02, 0.01), inner=(0.016, 0.006), shear_factor=0.9)
    one, two = wet(own).compile(), wet(built_in).compile()
    same(one, two, 1e-13)
    np.testing.assert_allclose(pl.solve_statics(one).q, pl.solve_statics(two).q, atol=1e-10)
    X = np.linspace(0, 1, 5)
    np.testing.assert_allclose(
        own.extent(X), built_in.extent(X), rtol=1e-12
    )  # 64 points of the boundary, one of them there
    skins = [build_scene(s).tubes[0].skin for s in (one, two)]
    np.testing.assert_allclose(skins[0].offset, skins[1].offset, atol=1e-17)
    np.testing.assert_array_equal(skins[0].faces, skins[1].faces)
    assert repr(own) == "Tube(radius=(0.02, 0.01), wall=0.004, shear_factor=0.9)"


def test_the_section_of_the_page():
    h, w, t = 0.03, 0.02, 0.003
    own = BoxTube(height=h, width=w, wall=t)
    a, b = h - 2 * t, w - 2 * t
    constants = pl.CustomSection(h * w - a * b, (h * w**3 - a * b**3) / 12, (h**3 * w - a**3 * b) / 12)
    strains = pl.Strains.kirchhoff(2)
    system = rod_of(strains, own).compile()
    same(system, rod_of(strains, constants).compile(), 1e-13)
    tube = build_scene(system).tubes[0]
    mesh = tube.skin.mesh(build_scene(system).poses(system.neutral())[tube.span])
    assert mesh.is_closed
    np.testing.assert_allclose(mesh.volume, 0.4 * (h * w - a * b), rtol=1e-12)
    np.testing.assert_allclose(own.extent(0.5), 0.5 * np.hypot(h, w), rtol=1e-12)
    assert pl.simulate(system, 0.02).success
    with pytest.raises(ValueError, match=r"BoxTube\.wall = -1 is not allowed"):
        BoxTube(0.03, 0.02, -1)


# ---------------------------------------------------------------- shapes


def test_volume_inertia_and_mesh_of_a_capsule():
    capsule = Pill(0.05, 0.2)
    mesh = capsule.mesh(around=400)
    assert mesh.is_closed
    np.testing.assert_allclose(mesh.volume, capsule.volume, rtol=3e-4)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    volume = np.einsum("fi,fi->f", a, np.cross(b, c)) / 6
    total = a + b + c  # second moments of the tetrahedra to the origin, ∫ x xᵀ = V/20 (Σ vᵢvᵢᵀ + s sᵀ)
    moments = np.einsum("f,fi->i", volume / 20, a**2 + b**2 + c**2 + total**2) / capsule.volume
    np.testing.assert_allclose(inertia_of_moments(*moments), capsule.unit_inertia, rtol=2e-3, atol=1e-12)
    np.testing.assert_allclose(Pill(0.05, 1e-12).unit_inertia, pl.Sphere(0.05).unit_inertia, rtol=1e-10)
    with pytest.raises(ValueError, match=r"Pill\.radius = 0 is not allowed"):
        Pill(0, 1)


def touching(shape: pl.model.shapes.Shape, height: float) -> pl.System:
    """A rod above an obstacle."""
    robot = pl.Robot("rod on an obstacle")
    rod = robot.add_rod("rod", length=0.4, section=pl.Circle(0.01), material=SILICONE, strains=pl.Strains.kirchhoff(3))
    robot.add_obstacle("stone", shape, pose=pl.translate(0.3, 0.01, height))
    robot.add_contact("on stone", rod, "stone", stiffness=1e3, friction=0.2, damping=0.1)
    return robot.compile()


@pytest.mark.parametrize(
    ("shape", "height"),
    [(pl.Sphere(0.05), -0.052), (pl.Cylinder(0.05, 0.2, "z"), 0.0)],
    ids=["on the end, a ball", "on the side, a cylinder"],
)
def test_a_capsule_as_an_obstacle(shape, height):
    """At its end it is a ball, on its side a cylinder."""
    end = isinstance(shape, pl.Sphere)
    own, built_in = touching(Pill(0.05, 0.2), height - 0.1 * end), touching(shape, height)
    assert len(own.contacts(own.neutral()))
    same(own, built_in, 1e-14)
    if end:
        rests = [pl.solve_statics(s) for s in (own, built_in)]
        assert rests[0].success
        np.testing.assert_allclose(rests[0].q, rests[1].q, atol=1e-9)
        assert pl.simulate(own, 0.02, start=rests[0].q).success


def test_a_capsule_touches_as_two_balls():
    def robot(own: bool) -> pl.System:
        robot = pl.Robot("falling")
        body = robot.add_body("body", joint=pl.Free(), shape=Pill(0.05, 0.2), mass=1.0)
        robot.add_obstacle("floor", pl.HalfSpace(), pose=pl.translate(0, 0, -0.14))
        if own:
            robot.add_contact("touch", body, "floor", stiffness=1e4, friction=0.3)
        for k, z in enumerate((-0.1, 0.1)):
            ball = robot.add_body(f"ball {k}", parent=body, offset=(0, 0, z), shape=pl.Sphere(0.05), mass=0.1)
            if not own:
                robot.add_contact(f"touch {k}", ball, "floor", stiffness=1e4, friction=0.3)
        return robot.compile()

    own, balls = robot(True), robot(False)
    q, v = own.neutral(), np.array([0.3, -0.2, 0.1, 0.5, 0.4, -0.3])
    np.testing.assert_allclose(own.residual(q, v, v), balls.residual(q, v, v), rtol=1e-13, atol=1e-13)
    runs = [pl.simulate(s, 0.1, start=q, velocity=v) for s in (own, balls)]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-9)
    solid = build_scene(own).solids[0]
    np.testing.assert_allclose(solid.mesh.vertices[:, 2].max(), 0.15, atol=1e-12)
    faces, kinds = Scene(own).polygons(q)
    assert faces.shape == (len(kinds), 4, 3)
    assert len(Scene(own).obstacles(q, np.zeros(3), 1.0)) == 1


def test_what_a_shape_does_not_say_it_cannot_do():
    @dataclass(frozen=True)
    class Lump(Shape):
        size: float

        @property
        def volume(self):
            return self.size**3

        @property
        def unit_inertia(self):
            return self.size**2 / 6 * np.eye(3)

    robot = pl.Robot("lump")
    robot.add_body("lump", joint=pl.Free(), shape=Lump(0.1), density=1000)
    robot.add_obstacle("floor", pl.HalfSpace())
    system = robot.compile()
    np.testing.assert_allclose(system.mass_matrix(system.neutral())[3:, 3:], np.eye(3), atol=1e-12)
    with pytest.raises(
        ValueError, match=r"body 'lump' has .*Lump\(size=0\.1\); contact needs .* another shape with contact_points\(\)"
    ):
        robot.add_contact("touch", "lump", "floor", stiffness=1.0)
    with pytest.raises(TypeError, match=r"Lump\(size=0\.1\) cannot be an obstacle"):
        robot.add_obstacle("stone", Lump(0.1))
    with pytest.raises(TypeError, match=r"Lump\(size=0\.1\) cannot be drawn: its class has no sheets\(\)"):
        Lump(0.1).mesh()
    with pytest.raises(ValueError, match=r"Pill\(radius=0\.1, length=1\.0\) cannot be a cavity"):
        robot.add_obstacle("hollow", Pill(0.1, 1.0), inside=True)
    assert View().around > 8
