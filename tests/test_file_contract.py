"""Nothing that can be said in Python is lost in a file: every parameter, every field, every part of a robot.

Records are derived from annotations, so a new field is a key without an edit in `pliant.io`; here that is put to the test.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike

import pliant as pl
import pliant.model
from pliant.io import derive, kinds, parts, reference
from pliant.io import description as d
from pliant.io.functions import Function
from pliant.io.records import Parts, Record, is_own
from pliant.model import actuators, fluid, joints, links, loads, routing, shapes, units, user
from pliant.model import parameters as params
from pliant.model.pose import AxisLike
from pliant.model.rods import basis, quadrature, sections, strains
from pliant.solve.simulate import simulate
from pliant.solve.statics import solve_statics

pytest.importorskip("ruamel.yaml")

RUBBER = pl.Material(2e6, poisson=0.4, density=1100.0, viscosity=300.0)
STEEL = pl.Material(2e11, shear_modulus=8e10, density=7800.0, damping_time=1e-3)
E = pl.Expression

ADDERS = {  # method of Robot -> record of the file
    "set_fluid": d.FLUID,
    **{
        f"add_{record.name}": record
        for section in d.NAMED.values()
        for record in ([section] if isinstance(section, Record) else section.records.values())
        if record.make is None and (record.part is None or is_own(record.part))  # no loads of other tests
    },
}
for own in ("ConcentricTubes", "Gas", "Wave", "Profile", "Gust"):  # Loads, added by add_load
    ADDERS.pop(f"add_{own}", None)
NOT_ADDED_BY_A_RECORD = {
    "add_contacts": "the pairs that it adds",
    "add_tubes": "the rods that it adds and the record of ConcentricTubes, see test_tubes",
    "add_load": "Python functions cannot be written; describe() refuses robots with them",
    "add_hydrodynamics": "its argument is an object: the records of Hydrodynamics, tested below",
}
FIELDS_ELSEWHERE = {  # fields of the description that are no keys of the record of their class, and what stands for them
    links.Link: {"name": "the key of the section links", "content": "the other keys of a rod or body"},
    links.Frame: {"link": "parent", "X": "parent"},
    actuators.Tendon: {
        "factor": "-1 for a push_rod, minus the area of a chamber, else 1; what is neither is refused",
        "pressure": "follows from the kind: true for a chamber",
    },
    **{cls: {"frame": "parent and offset"} for cls in (loads.PointWrench, pl.Magnet, pl.Coil)},
    **{
        cls: dict.fromkeys(("stiffness", "damping", "rest"), "none")
        for cls in (joints.Fixed, *joints.RESTRAINTS)
        if not cls.nv
    },
    sections.Composite: dict.fromkeys(("shear_factor", "torsion_factor"), "those of the parts"),
    strains.Strains: {"bases": "one key for each strain"},
    basis.Custom: dict.fromkeys(("_function", "_size", "_degree", "_breakpoints"), "function, degree, breakpoints"),
}
NOT_IN_FILES = {
    pl.Pose: "several forms: pliant.io.places",
    links.Rod: "the keys of add_rod",
    links.Body: "the keys of add_body; whether it is uniform follows from them",
    shapes.Inertia: "mass, com and inertia of a body",
    routing.HelixOffset: "the key helical_routing",
    actuators.Negative: "the area of a chamber",
    user.UserLoad: "a Python function",
    pl.UserLaw: "a Python function",
    sections.SectionProperties: "a result",
    quadrature.Grid: "a result",
    shapes.Distance: "a result",
    shapes.Corners: "a result",
    shapes.Triangles: "a result",
    shapes.Sheet: "a result",
    shapes.View: "a way to look",
    joints.Group: "of the joint",
    params.Parameter: "a result",
    units.Input: "a result",
    sections.Section: "a base class",
    shapes.Shape: "a base class",
    joints.Joint: "a base class",
    joints.Restraint: "a base class",
    fluid.Flow: "a base class",
}
ROBOT = {"name", "gravity", "links", "fluid", "hydrodynamics", "user_loads"}  # attributes besides dictionaries of parts


def parameters(function) -> list[str]:
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = inspect.signature(function).parameters
    return [name for name, p in found.items() if p.kind not in variable and name not in ("self", "name")]


def dataclasses_of_the_description() -> set[type]:
    found = set()
    for module in pkgutil.walk_packages(pliant.model.__path__, "pliant.model."):
        for _name, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if dataclasses.is_dataclass(cls) and cls.__module__ == module.name and not inspect.isabstract(cls):
                found.add(cls)
    return found


RECORDS = {name: record for name, (record, _what) in reference.records().items()}


# ---------------------------------------------------------------- the contract


def test_every_method_that_adds_something_has_a_record():
    methods = {name for name in dir(pl.Robot) if name.startswith(("add_", "set_"))}
    assert methods == set(ADDERS) | set(NOT_ADDED_BY_A_RECORD)


@pytest.mark.parametrize("method", ADDERS)
def test_every_parameter_of_a_method_is_a_key(method):
    record = ADDERS[method]
    assert set(parameters(getattr(pl.Robot, method))) <= set(record.fields) | set(record.without)


@pytest.mark.parametrize(
    "cls", sorted(dataclasses_of_the_description(), key=lambda c: c.__name__), ids=lambda c: c.__name__
)
def test_every_field_of_the_description_is_a_key(cls):
    if cls in NOT_IN_FILES:
        return
    names = {field.name for field in dataclasses.fields(cls)}
    keys = {key for record in RECORDS.values() if record.part is cls or cls in record.sources for key in record.fields}
    assert names - keys == set(FIELDS_ELSEWHERE.get(cls, {})), "say what stands for it, or why it is in no file"


def test_every_attribute_of_a_robot_is_written():
    robot = vars(pl.Robot("r"))
    assert {key for key, value in robot.items() if not isinstance(value, dict) or key in ROBOT} <= ROBOT
    other = pl.Robot("r")
    other.toys = {"x": 3}
    with pytest.raises(pl.io.WriteError, match="'x' = 3 cannot be written"):
        pl.io.dump_model(other)


@pytest.mark.parametrize(
    ("record", "solver"), [(d.SIMULATION, simulate), (d.STATICS, solve_statics)], ids=["simulate", "statics"]
)
def test_every_argument_of_a_solver_is_a_key_or_has_a_reason(record, solver):
    assert set(parameters(solver)) == set(record.fields) | set(record.without)
    assert all(len(reason) > 20 for reason in record.without.values())


def test_no_line_of_the_table_is_idle():
    """Every exception is about a parameter that there is."""
    sources = [source for record in RECORDS.values() for source in record.sources]
    for owner, lines in derive.EXCEPTIONS.items():
        known = {key for s in sources if owner in derive._owners(s) for key in inspect.signature(s).parameters}
        assert set(lines) <= known, owner


def test_the_reference_page_has_every_key():
    page = reference.reference()
    for name, record in RECORDS.items():
        if record.part is None or is_own(record.part):
            section = page.split(f"\n## {name}")[1].split("\n## ")[0]
            assert all(f"| `{key}` |" in section for key in record.fields), name


# ---------------------------------------------------------------- annotations


def annotated(
    size: float,
    count: int = 1,
    dose: int | float = 1,
    corner: tuple[float, float] = (0.0, 0.0),
    colour: Literal["red", "blue"] = "red",
    axis: AxisLike = "x",
    where: Annotated[ArrayLike, (3,)] = (0, 0, 0),
    any_array: ArrayLike | None = None,
    taper: float | tuple[float, float] = 1.0,
    law: float | Callable[[float], float] = 1.0,
    vector: Annotated[ArrayLike | Callable[[float], ArrayLike], (3,), (6,)] = (0, 0, 0),
    joint: pl.Joint | None = None,
    sections: tuple[sections.Section, ...] = (),
    material: pl.Material | None = None,
) -> dict[str, Any]:
    """Nothing but annotations."""
    return locals()


def test_kinds_follow_from_annotations():
    record = Record("thing", annotated)
    found = {key: type(kind) for key, kind in record.fields.items()}
    assert found == {
        "joint": Parts, "size": kinds.Number, "count": kinds.Whole, "colour": kinds.Choice, "dose": kinds.Number, "corner": kinds.Numbers, "axis": type(derive.AXIS),
        "where": kinds.Numbers, "any_array": kinds.Numbers, "taper": kinds.Numbers, "law": Function, "vector": Function,
        "sections": kinds.ListOf, "material": kinds.Whichever,
    }  # fmt: skip
    assert record.fields["where"].shapes == ((3,),)
    assert record.fields["taper"].shapes == ((), (2,))
    assert record.fields["vector"].shapes == ((3,), (6,))
    assert record.required == {"size"}
    assert record.defaults["colour"] == "red"
    place = pl.io.source.Place({"size": 1, "corner": [1, 2], "taper": [1, 2]}, pl.io.source.Document("x"))
    assert record.read(place)["corner"] == record.read(place)["taper"] == (1.0, 2.0)  # frozen classes can be hashed


def test_an_annotation_that_says_nothing_is_an_error():
    def thing(size: float, colour: Any = "red") -> None:
        pass

    with pytest.raises(TypeError, match=r"the annotation of 'colour' of .*thing does not say of which kind"):
        Record("thing", thing).schema({})
    assert Record("thing", thing, without={"colour": "it is only for looks"}).required == {"size"}


# ---------------------------------------------------------------- parts that somebody adds


@dataclass(frozen=True, repr=False)
class Corkscrew(pl.Joint):
    """A hinge beside its axis.

    Parameters
    ----------
    axis : direction
        Of the hinge.
    arm : array (3,)
        From the joint frame to the axis [m].
    """

    axis: AxisLike
    arm: Annotated[ArrayLike, (3,)] = (0.0, 0.0, 0.0)

    dof_names: ClassVar[tuple[str, ...]] = ("angle",)
    dof_units: ClassVar[tuple[str, ...]] = ("rad",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", tuple(pl.Revolute(self.axis).axis))
        object.__setattr__(self, "arm", tuple(float(x) for x in self.arm))
        super().__post_init__()

    @property
    def screws(self):
        return [np.concatenate([self.axis, np.cross(self.arm, self.axis)])]


@dataclass(frozen=True)
class Disc(shapes.Shape):
    """A flat cylinder.

    Parameters
    ----------
    radius, height : float
        [m]
    up : "x", "y" or "z"
        Its axis.
    """

    radius: float
    height: float = 0.01
    up: Literal["x", "y", "z"] = "z"

    volume = 1e-3
    unit_inertia = np.eye(3)

    def __post_init__(self) -> None:
        assert self.radius > 0


@dataclass(frozen=True, repr=False)
class Stadium(sections.Section):
    """A circle that was pulled apart.

    Parameters
    ----------
    radius, flat : dimension
        Of the ends, and length of the straight sides [m].
    """

    radius: sections.Dimension
    flat: sections.Dimension = 0.01

    def moments(self, X):
        r, b = self.value("radius", X), self.value("flat", X)
        return np.pi * r**2 + 2 * r * b, np.pi * r**4 / 4 + b * (2 * r) ** 3 / 12, np.pi * r**4 / 4 + r * b**3, None

    def boundary(self, X, n):
        angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
        return self.value("radius", X)[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], -1)


@dataclass(frozen=True)
class Ramp(basis.Basis):
    """One function that rises.

    Parameters
    ----------
    power : int
    """

    power: int
    size = 1
    degree = 3

    def values(self, X):
        return X[:, None] ** self.power


@dataclass(frozen=True)
class StokesFlow(fluid.Flow):
    """Slow flow.

    Parameters
    ----------
    viscosity : float
        [Pa s]
    """

    viscosity: float = 1e-3


@dataclass(frozen=True)
class Secret(shapes.Shape):
    """A shape with something that no file can hold."""

    key: object = None

    def __post_init__(self) -> None:
        pass


OWN_PARTS = [
    (parts.JOINT, Corkscrew("-y", (0.1, 0, 0), stiffness=2.0, rest=0.3), {"type": "Corkscrew", "axis": "-y", "arm": [0.1, 0, 0], "stiffness": 2, "rest": [0.3]}),
    (parts.LOOP_JOINT, Corkscrew((0, 0.6, 0.8)), {"type": "Corkscrew", "axis": [0, 0.6, 0.8]}),
    (parts.BODY_SHAPE, Disc(0.2, up="x"), {"type": "Disc", "radius": 0.2, "up": "x"}),
    (derive.kind_of_annotation(sections.Section), Stadium(E("0.01*(1 + X)"), torsion_factor=0.9), {"type": "Stadium", "radius": "0.01*(1 + X)", "torsion_factor": 0.9}),
    (parts.BASIS, Ramp(2), {"type": "Ramp", "power": 2}),
    (parts.COEFFICIENT, StokesFlow(2e-3), {"type": "stokes", "viscosity": 2e-3}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "part", "written"), OWN_PARTS, ids=lambda v: type(v).__name__)
def test_a_new_part_needs_no_edit(kind, part, written):
    """Read, written, in the schema with its docstring, and with the same errors as any other part."""
    jsonschema = pytest.importorskip("jsonschema")
    assert kind.write(part, "x") == written
    document = pl.io.source.Document("x")
    again = kind.read(pl.io.source.Place(json.loads(json.dumps(written)), document))
    document.check()
    assert again == part
    assert type(again) is type(part)
    defs: dict[str, Any] = {}
    schema = {**kind.schema(defs), "$defs": defs}
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(written)
    assert not validator.is_valid({**written, "colour": "red"})
    kind.read(pl.io.source.Place({**written, "colour": "red"}, document))
    assert "unknown key 'colour'" in document.problems[0].message


def test_a_robot_with_new_parts_survives_a_file():
    robot = base()
    robot.add_body("disc", joint=Corkscrew("x", (0, 0.1, 0), damping=0.1), shape=Disc(0.1), mass=1.0, inertia=(1, 1, 1))
    robot.add_rod(
        "beam", length=1, section=Stadium(0.01, (0.02, 0.01)), material=RUBBER, strains=pl.Strains(bending=Ramp(1))
    )
    for format in ("yaml", "json"):
        assert differences(robot, pl.parse_model(pl.io.dump_model(robot, format=format)).robot) == []


@dataclass(frozen=True)
class Magnet(loads.Load):
    """The description of a family of loads; what computes with it is not needed here.

    Parameters
    ----------
    frame : Frame
        Where it is.
    strength : float
        [A m²]
    poles : array (3,)
        Their direction.
    """

    frame: pl.Frame
    strength: float
    poles: Annotated[ArrayLike, (3,)] = (0.0, 0.0, 1.0)
    other: str | None = None

    family: ClassVar[Any] = None


@dataclass(frozen=True)
class Demon(loads.Load):
    """A description with something that no file can hold."""

    will: Any = None
    family: ClassVar[Any] = None


@pytest.mark.parametrize("format", ["yaml", "json"])
def test_a_family_of_loads_from_outside_survives_a_file(format):
    robot = base()
    robot.add_load("north", Magnet(robot.link("arm").at(0.5, (0, 0, 0.1)), 2.0, (1.0, 0.0, 0.0)))
    robot.add_load("south", Magnet(robot.link("hub").frame, 3.0))
    text = pl.io.dump_model(robot, format=format)
    assert differences(robot, pl.parse_model(text).robot) == []
    jsonschema = pytest.importorskip("jsonschema")
    content = json.loads(pl.io.dump_model(robot, format="json"))
    assert content["loads"]["south"] == {"type": "Magnet", "frame": "hub", "strength": 3}
    jsonschema.Draft202012Validator(pl.io.schema()).validate(content)
    content["loads"]["south"] |= {"frame": "hup", "strenght": 3}
    with pytest.raises(
        pl.ModelFileError, match=r"loads\.south\.strenght: unknown key 'strenght'; did you mean 'strength'"
    ):
        pl.parse_model(content)
    del content["loads"]["south"]["strenght"]
    with pytest.raises(pl.ModelFileError, match=r"loads\.south\.frame: there is no link or frame named 'hup'"):
        pl.parse_model(content)
    robot.add_load("demon", Demon())
    with pytest.raises(pl.io.WriteError, match=r"'demon' = .*the annotation of 'will' of Demon"):
        pl.io.dump_model(robot)


def test_a_new_part_that_no_file_can_hold_says_why():
    assert "Secret" not in parts.BODY_SHAPE.records
    with pytest.raises(pl.io.WriteError, match=r"links.x.shape = Secret.*the annotation of 'key' of Secret"):
        parts.BODY_SHAPE.write(Secret(), "links.x.shape")


def test_names_of_the_package_are_kept():
    """A user's class of the same name does not take the place of pliant's."""

    @dataclass(frozen=True)
    class Sphere(shapes.Shape):
        size: float = 1.0

    assert parts.BODY_SHAPE.records["Sphere"].part is pl.Sphere
    with pytest.raises(pl.io.WriteError, match="none of"):
        parts.BODY_SHAPE.write(Sphere(), "x")


# ---------------------------------------------------------------- every class, with every key at something else than its default

SPECIAL: dict[str, dict[str, Any]] = {  # what a class does not allow otherwise
    "Material": {"shear_modulus": None},
    "Annulus": {"outer": 0.4},
    "Composite": {
        "parts": (
            pl.Part(pl.Circle(0.1), RUBBER, (0.1, 0.2), "all"),
            pl.Part(pl.Circle(0.1), RUBBER, name="core", inside="all"),
        )
    },
    "Universal": {"axis1": (1.0, 0.0, 0.0)},
    "Spherical": {"rest": (0.1, 0.2, 0.3)},
    "Free": {"rest": pl.translate(0.1, 0.2, 0.3)},
    "PiecewiseConstant": {"sections": (0.3, 0.5)},
    "Rows": {"position": "xz", "rotation": "y"},
    "Hull": {"points": [[0.0, 0, 0], [0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.3]]},
    "Mesh": {"vertices": [[0.0, 0, 0], [0.1, 0, 0], [0, 0.2, 0]], "faces": [[0, 1, 2]]},
}
CLASSES = [
    (kind, record)
    for kind in (
        parts.JOINT,
        parts.LOOP_JOINT,
        parts.BODY_SHAPE,
        derive.kind_of_annotation(sections.Section),
        parts._BASES,
        parts.FLOW,
    )
    for record in kind.records.values()
    if is_own(record.part) and record.part is not basis.Custom
]


def sample(kind: kinds.Kind, default: Any) -> Any:
    """A value of a kind that is not the default."""
    if isinstance(kind, kinds.Choice):
        return next(option for option in kind.options if option != default)
    if isinstance(kind, kinds.Whole):
        return 3
    return (0.0, 0.6, 0.8) if kind is derive.AXIS else E("0.2 + 0.1*X") if isinstance(kind, Function) else 0.3


@pytest.mark.parametrize(("kind", "record"), CLASSES, ids=[record.name for _kind, record in CLASSES])
def test_every_key_of_a_class_survives(kind, record):
    values = {key: sample(own, record.defaults.get(key)) for key, own in record.fields.items()}
    part = record.part(**{**values, **SPECIAL.get(record.name, {})})
    written = kind.write(part, "x")
    assert written == record.name or set(written) == {"type", *record.fields}
    document = pl.io.source.Document("x")
    assert kind.read(pl.io.source.Place(json.loads(json.dumps(written)), document)) == part
    assert not document.problems


# ---------------------------------------------------------------- every parameter, set to something else than its default


def base() -> pl.Robot:
    robot = pl.Robot("every ⟨parameter⟩", gravity=(0.1, 0.2, -9.0))
    robot.add_rod("arm", length=0.5, section=pl.Circle(0.03), material=RUBBER, strains=pl.Strains.kirchhoff(2))
    robot.add_rod("leg", length=0.5, section=pl.Circle(0.03), material=RUBBER, strains=pl.Strains.kirchhoff(1))
    robot.add_body("hub", joint=pl.Universal("y", "z"), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_body("wheel", joint=pl.Revolute("y"), mass=1.0)
    robot.add_loop(
        "guide", "arm.tip", "wheel", joint=pl.Cylindrical("x", stiffness=[0.1, 2.0], damping=0.1, rest=[0.3, 0])
    )
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -1))
    robot.set_fluid()
    return robot


TURNED = pl.translate(0.1, 0.2, 0.3) @ pl.rotate((1, 2, 3), 0.7)
HANGING = {"parent": "arm@0.3", "joint": pl.Revolute((1, 2, 2), stiffness=2.0, damping=0.1, rest=0.3), "offset": TURNED, "offset_after": (0.1, 0, 0)}  # fmt: skip
ROD = {**HANGING, "length": 0.3, "section": pl.Rectangle(height=0.02, width=(0.03, 0.02), shear_factor=(0.8, 0.9), torsion_factor=0.7), "material": STEEL}  # fmt: skip
LINE = {"y": 0.01, "z": (0.005, -0.005), "start": 0.9, "end": 0.2}
SMOOTH = {"y": E("0.01*cos(X)"), "z": E("0.01*sin(X)"), "dy": E("-0.01*sin(X)"), "dz": E("0.01*cos(X)")}

# of each method one or more sets of arguments, which together set every parameter to something else than its default
CALLS = [
    ("add_rod", {**ROD, "strains": pl.Strains(torsion=1, bending=pl.LinearElements(3)), "reference_strain": [0, 0.1, 0, 1.1, 0, 0], "damping": [0.1] * 6, "points": 9, "magnus": 2}),
    ("add_rod", {**ROD, "strains": pl.Strains(stretch=1, shear_z=pl.Gaussian(3, width=0.4)), "collocation": True, "damping": E([0.1] * 5 + ["0.1 + X"])}),
    ("add_rod", {"length": 1.0, "strains": pl.Strains.reissner(1), "stiffness": np.diag([1.0, 2, 3, 4, 5, 6]), "inertia": [0.1] * 3 + [1.0] * 3, "integration": "spectral", "points": 12}),
    ("add_body", {**HANGING, "shape": pl.Cylinder(0.1, 0.2, "y"), "mass": 2.0, "com": (0.1, 0, 0), "inertia": (1.0, 1.5, 2.0)}),
    ("add_body", {"shape": pl.Box(0.1, 0.2, 0.3), "density": 500.0, "visual": pl.Visual(shape=pl.Sphere(0.1), pose=TURNED, scale=0.5, color=(0.1, 0.2, 0.3)), "joint": pl.Free(stiffness=np.diag([1.0] * 6), damping=[1.0] * 6, rest=TURNED)}),
    ("add_body", {"shape": pl.Ellipsoid(0.1, 0.2, 0.3), "mass": 1.0, "joint": pl.Helical("-y", 0.01, rest=1.0)}),
    ("add_body", {"mass": 1.0, "joint": pl.Spherical(rest=(0.1, 0.2, 0.3), stiffness=1.0), "inertia": [[1.0, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]}),
    ("add_frame", {"parent": "leg@0.25", "offset": TURNED}),
    ("add_tendon", {"path": "arm", **LINE, "friction": 0.2, "slip_speed": 0.05, "push": True}),
    ("add_tendon", {"path": "leg", **SMOOTH, "control": "length"}),
    ("add_tendon", {"path": [pl.Along("arm", y=0.01, breaks=(0.5,)), "hub"], "control": "elastic", "stiffness": 100.0, "damping": 2.0, "rest_length": 0.7}),
    ("add_push_rod", {"path": "arm", **LINE}),
    ("add_push_rod", {"path": "arm", **SMOOTH}),
    ("add_chamber", {"rod": "arm", "area": E("1e-4*(1 + X)"), **LINE}),
    ("add_chamber", {"rod": "arm", "area": 1e-4, **SMOOTH}),
    ("add_stress", {"rod": "arm", "stress": E([0, "X", 0, 0, 0, 0])}),
    ("add_active_strain", {"rod": "arm", "strain": E([0, "X", 0, 0, 0, 0])}),
    ("add_rod", {**ROD, "material": pl.Material(2e6, poisson=0.5, density=1100.0), "strains": pl.Strains.reissner(1), "law": pl.Yeoh(c2=1 / 3, c3=-2e3)}),
    ("add_rod", {**ROD, "strains": pl.Strains.reissner(1), "law": (pl.Polynomial(torsion=0.1, bending=(1 / 3, 2.0), stretch=(0.1,), shear=1e-7), pl.Prony((0.1, 1 / 3), (1e-3, 2.0), statics="unrelaxed"), pl.Springpot(0.3, 0.1, (1.0, 10.0), branches=4), pl.BoucWen(bending=(1.0, 1 / 3), shear=(2.0, 0.1), exponent=2, beta=0.7), pl.PrandtlIshlinskii(stretch=((0.1, 1 / 3), (0.2, 0.4))))}),
    ("add_rod", {**ROD, "strains": pl.Strains.reissner(1), "law": [pl.Plastic(torsion=1 / 3, bending=2.0, stretch=5.0, hardening=0.1)]}),
    ("add_motor", {"link": "hub", "dof": "angle2", "control": "position", "kp": 2.0, "kd": 0.3, "limit": 5.0}),
    ("add_motor", {"link": "guide", "dof": "displacement"}),
    ("add_motion", {"link": "hub", "dof": 1}),
    ("add_motion", {"link": "guide"}),
    ("add_stop", {"link": "hub", "dof": "angle2", "lower": -0.1, "upper": 0.2, "stiffness": 1e3, "dissipation": 0.4}),
    ("add_stop", {"link": "guide", "dof": 1, "upper": 0.2, "stiffness": 1e3}),
    ("add_stop", {"link": "hub", "dof": "angle2", "lower": -0.1, "upper": 0.2, "stiffness": 1e3, "restitution": 0.4}),
    ("add_friction", {"link": "hub", "dof": "angle2", "coulomb": 0.1, "viscous": 0.2, "breakaway": 0.3, "stribeck": 0.4, "stiction": 1e-4, "slip_speed": 0.5}),
    ("add_friction", {"link": "guide", "dof": 1, "coulomb": 0.1}),
    ("add_spring", {"link": "hub", "dof": "angle2", "torque": (0.0, 1.0, 0.5), "rest": 0.1, "gap": 0.2}),
    ("add_spring", {"link": "guide", "dof": 1, "torque": pl.Characteristic([0, 1, 2], [0, 1, 3], kind="monotone")}),
    ("add_backlash", {"terms": {"hub.angle1": 1.0, "wheel": -2.0}, "gap": 0.01, "stiffness": 1e3, "offset": 0.1, "dissipation": 0.3}),
    ("add_backlash", {"terms": {"hub.angle1": 1.0, "wheel": -2.0}, "gap": 0.01, "stiffness": 1e3, "restitution": 0.3}),
    ("add_wrench", {"parent": "arm@0.6", "force": (1, 2, 3), "moment": (4, 5, 6), "axes": "body", "offset": TURNED, "constant": True}),
    ("add_distributed_wrench", {"rod": "leg", "force": E([0, "X", 0]), "moment": (4, 5, 6), "axes": "body", "constant": True}),
    ("add_dipole", {"place": "leg@0.5", "moment": (0.1, 0.2, 0.3)}),
    ("add_magnet", {"parent": "leg@0.5", "moment": (0.1, 0.2, 0.3), "offset": TURNED, "constant": False}),
    ("add_coil", {"parent": "hub", "radius": 0.1, "turns": 20.0, "axis": (0, 3, 4), "arrangement": "maxwell", "offset": TURNED}),
    ("set_fluid", {"density": 900.0, "current": (0.1, 0.2, 0.3)}),
    ("add_obstacle", {"shape": pl.Sphere(0.2), "parent": "hub", "pose": TURNED, "inside": True}),
    ("add_contact", {"link": "arm", "other": "floor", "stiffness": 1e4, "exponent": 1.2, "damping": 0.5, "friction": 0.3, "slip_speed": 0.02, "per_length": True, "stiction": 1e-5, "spacing": 0.01}),
    ("add_contact", {"link": "arm", "other": "floor", "stiffness": 1e4, "restitution": 0.5}),
    ("add_loop", {"a": "leg.tip", "b": "hub", "joint": pl.Universal((1, 0, 0), (0, 1, 1))}),
    ("add_loop", {"a": "leg@0.4", "b": "hub", "joint": pl.Spherical(stiffness=[1, 2, 3], damping=0.1, rest=(0.1, 0.2, 0.3))}),
    ("add_loop", {"a": "world", "b": "hub", "joint": pl.Rolling(0.1, axis=(0, 1, 2), normal="-y")}),
    *(("add_loop", {"a": "leg.tip", "b": "hub", "joint": joint}) for joint in (pl.Rows("zy", "x"), pl.Slot((1, 2, 3), stiffness=2, rest=0.1), pl.Distance(1 / 3), pl.Skate("-y"))),
    ("add_coupling", {"terms": {"hub.angle2": 1 / 3, "wheel": -2, "hub.angle1": 1e-7}, "offset": 0.1}),
]  # fmt: skip
EFFECTS = [
    pl.Hydrodynamics(drag=np.eye(6), linear_drag=[1, 2, 3], added_mass=[1, 2, 3, 4, 5, 6], buoyancy=False, tail=True, volume=1e-3),
    pl.Hydrodynamics.circular(0.02, 1.2, 1.3, 0.9, 0.8, tail=True),
    pl.Hydrodynamics.elliptic(0.02, 1.2, 1.3, 0.9, 0.8, a=0.02, b=(0.01, 0.02)),
    pl.Hydrodynamics.flat("z", 1.9, 0.9, width=0.05),
]  # fmt: skip


def add(robot: pl.Robot, method: str, arguments: dict) -> None:
    name = () if method == "set_fluid" else ("x",)
    getattr(robot, method)(*name, **arguments)


def test_the_calls_set_every_parameter_to_something_else_than_its_default():
    for method in ADDERS:
        signature = inspect.signature(getattr(pl.Robot, method)).parameters
        given = [arguments for called, arguments in CALLS if called == method]
        for name in parameters(getattr(pl.Robot, method)):
            default = signature[name].default
            changed = [a[name] for a in given if name in a and not same(a[name], default)]
            assert changed, f"{method}({name}=...)"


def same(a, b, path: str = "") -> bool:
    """Whether two parts of a description are equal in every field, to the last bit."""
    if dataclasses.is_dataclass(a) and type(a) is type(b) and not isinstance(a, pl.Pose):
        return all(same(getattr(a, f.name), getattr(b, f.name), f"{path}.{f.name}") for f in dataclasses.fields(a))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key], f"{path}.{key}") for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, path) for x, y in zip(a, b))
    return bool(a == b) and (type(a) is type(b) or not isinstance(a, bool))


def differences(a: pl.Robot, b: pl.Robot) -> list[str]:
    """What differs between two robots, by attribute, part and field."""
    out = []
    for attribute in vars(a):
        x, y = getattr(a, attribute), getattr(b, attribute)
        if attribute == "links":
            x, y = {link.name: link for link in x}, {link.name: link for link in y}
        if not isinstance(x, dict):
            out += [] if same(x, y) else [attribute]
            continue
        out += [] if list(x) == list(y) else [f"{attribute}: {list(x)} and {list(y)}"]
        for name in set(x) & set(y):
            for field in dataclasses.fields(x[name]):
                if not same(getattr(x[name], field.name), getattr(y[name], field.name)):
                    out.append(f"{attribute}.{name}.{field.name}")
    return out


@pytest.mark.parametrize("format", ["yaml", "json"])
@pytest.mark.parametrize("k", range(len(CALLS)), ids=[f"{k}-{call[0]}" for k, call in enumerate(CALLS)])
def test_every_parameter_survives_a_file(k, format):
    robot = base()
    add(robot, *CALLS[k])
    again = pl.parse_model(pl.io.dump_model(robot, format=format)).robot
    assert differences(robot, again) == []


@pytest.mark.parametrize("effect", EFFECTS, ids=range(len(EFFECTS)))
def test_every_effect_of_a_fluid_survives_a_file(effect):
    robot = base()
    robot.add_hydrodynamics("arm", effect)
    assert differences(robot, pl.parse_model(pl.io.dump_model(robot)).robot) == []


def test_the_comparison_sees_a_difference():
    one, two = base(), base()
    one.add_motor("m", "hub", limit=3.0)
    two.add_motor("m", "hub", limit=4.0)
    assert differences(one, two) == ["motors.m.limit"]


def test_spectral_integration_is_kept(tmp_path):
    """Finding 4: add_rod(integration="spectral") was dropped."""
    robot = pl.Robot("r")
    robot.add_rod(
        "arm",
        length=1,
        section=pl.Circle(0.02),
        material=RUBBER,
        strains=pl.Strains.kirchhoff(2),
        integration="spectral",
    )
    robot.save(tmp_path / "r.yaml")
    assert pl.load_model(tmp_path / "r.yaml").robot.link("arm").content.integration == "spectral"


NAMES = [
    "true", "null", "1", "1e5", "0x1F", "<<", "- a", "a: b", "#x", "'", '"', "[x]", "{y}", "é", "日本", "&a", "*a", "!t", "%d", "yes", "on",
    "2001-01-01", "a b", "?", "|", ">", "a,b", "~", "=", "type", "<b onload=x>", "a/b", "\\n", "None", "x" * 200,
]  # fmt: skip


@pytest.mark.parametrize("format", ["yaml", "json"])
def test_odd_names_survive_a_file(format):
    robot = pl.Robot("<i>odd</i>: 'names'")
    for k, name in enumerate(NAMES):
        robot.add_body(name, parent=NAMES[k - 1] if k else None, mass=1.0, joint=pl.Revolute("z"))
    robot.add_motor("no", "true")
    robot.add_frame("off", "<<", offset=(1, 0, 0))
    again = pl.parse_model(pl.io.dump_model(robot, format=format, simulation={"duration": 1, "u": {"no": 1.0}}))
    assert differences(robot, again.robot) == []
    assert again.simulation_settings["u"] == {"no": 1.0}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="aliases of this kind are of Python 3.12")
def test_aliases_are_seen_through():
    """numpy's `ArrayLike` is one from 2.5 on, in unions too."""
    from typing import TypeAliasType

    alias = TypeAliasType("alias", float | tuple[float, float])
    assert type(derive.kind_of_annotation(alias | None)) is type(
        derive.kind_of_annotation(float | tuple[float, float] | None)
    )
    assert type(derive.kind_of_annotation(str)) is type(derive.kind_of_annotation(str | None))
