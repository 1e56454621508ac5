"""Nothing that can be said in Python is lost in a file: every parameter, every field, every part of a robot."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import pliant as pl
import pliant.model
from pliant.io import description as d
from pliant.io import parts, water
from pliant.io.kinds import Number
from pliant.io.records import Record
from pliant.model import actuators, fluid, joints, links, loads, loops, routing, shapes, user
from pliant.model.rods import basis, quadrature, sections, strains
from pliant.solve.simulate import simulate
from pliant.solve.statics import solve_statics

pytest.importorskip("ruamel.yaml")

RUBBER = pl.Material(2e6, poisson=0.4, density=1100.0, viscosity=300.0)
STEEL = pl.Material(2e11, shear_modulus=8e10, density=7800.0, damping_time=1e-3)
E = pl.Expression

ADDERS = {  # method of Robot -> record of the file
    "add_rod": d.LINKS.records["rod"],
    "add_body": d.LINKS.records["body"],
    "add_frame": d.FRAMES,
    "add_loop": d.LOOPS,
    "set_fluid": d.FLUID,
    **{f"add_{kind}": record for kind, record in d.ACTUATORS.records.items()},
    **{f"add_{kind}": record for kind, record in d.LOADS.records.items()},
}
NOT_ADDED_BY_A_RECORD = {
    "add_load": "Python functions cannot be written; describe() refuses robots with them",
    "add_hydrodynamics": "its argument is an object: the records of Hydrodynamics, tested below",
}

# dataclass of the description -> record, and its fields that are no keys, with what stands for them
FIELDS = {
    links.Rod: (d.LINKS.records["rod"], {}),
    links.Body: (d.LINKS.records["body"], {}),
    links.Link: (
        d.LINKS.records["body"],
        {"name": "the key of the section links", "content": "the other keys of a rod or body"},
    ),
    loops.Loop: (d.LOOPS, {}),
    actuators.Tendon: (
        d.ACTUATORS.records["tendon"],
        {
            "factor": "-1 for a push_rod, minus the area of a chamber, else 1; what is neither is refused",
            "pressure": "follows from the kind: true for a chamber",
        },
    ),
    actuators.Motor: (d.ACTUATORS.records["motor"], {}),
    actuators.PrescribedMotion: (d.ACTUATORS.records["motion"], {}),
    actuators.InternalStress: (d.ACTUATORS.records["stress"], {}),
    loads.PointWrench: (d.LOADS.records["wrench"], {"frame": "parent and offset"}),
    loads.DistributedWrench: (d.LOADS.records["distributed_wrench"], {}),
    loads.Dipole: (d.LOADS.records["dipole"], {}),
    loads.Obstacle: (d.LOADS.records["obstacle"], {}),
    loads.Contact: (d.LOADS.records["contact"], {}),
    fluid.Fluid: (d.FLUID, {}),
    fluid.Hydrodynamics: (water.HYDRODYNAMICS.records["Hydrodynamics"], {}),
    sections.Material: (parts.MATERIAL, {}),
    routing.Along: (parts.ALONG, {}),
    shapes.Inertia: (d.LINKS.records["body"], {}),
    **{cls: (parts._BASES.records[cls.__name__], {}) for cls in basis.BASES if cls is not pl.Custom},
    pl.Custom: (parts._BASES.records["Custom"], dict.fromkeys(("_function", "_size", "_degree", "_breakpoints"), "_custom")),
    **{cls: (parts.SECTION.records[cls.__name__], {}) for cls in sections.Section.__subclasses__()},
    **{cls: (parts.OBSTACLE_SHAPE.records[cls.__name__], {}) for cls in (shapes.HalfSpace, shapes.Sphere)},
    **{cls: (parts.SHAPE.records[cls.__name__], {}) for cls in (shapes.Box, shapes.Cylinder, shapes.Ellipsoid)},
    **{
        cls: (parts.JOINT.records[cls.__name__], dict.fromkeys(("stiffness", "damping", "rest"), "none") if cls is joints.Fixed else {})
        for cls in joints.Joint.__subclasses__()
    },
    **{cls: (water._FLOW.records[name], {}) for name, (cls, _own) in water._FLOWS.items()},
    routing.Table: (importlib.import_module("pliant.io.functions").TABLE, {}),
    sections.Stepped: (importlib.import_module("pliant.io.functions").STEPPED, {}),
}  # fmt: skip
NOT_IN_FILES = {
    links.Frame: "a name with an offset: pliant.io.places",
    pl.Pose: "several forms: pliant.io.places",
    routing.HelixOffset: "the key helical_routing",
    actuators.Negative: "the area of a chamber",
    strains.Strains: "one key for each strain: pliant.io.parts",
    user.UserLoad: "a Python function",
    sections.SectionProperties: "a result",
    quadrature.Grid: "a result",
    shapes.Distance: "a result",
    shapes.Mesh: "a result",
    shapes.Sheet: "a result",
    shapes.View: "a way to look",
    joints.Group: "of the joint",
    sections.Section: "a base class",
    shapes.Shape: "a base class",
    joints.Joint: "a base class",
    fluid.Flow: "a base class",
}
ROBOT = {  # attribute of a robot -> section of the file
    "name": "name",
    "gravity": "gravity",
    "links": "links",
    "frames": "frames",
    "tendons": "actuators",
    "motors": "actuators",
    "motions": "actuators",
    "stresses": "actuators",
    "wrenches": "loads",
    "dipoles": "loads",
    "obstacles": "loads",
    "contacts": "loads",
    "fluid": "fluid",
    "hydrodynamics": "hydrodynamics",
    "loops": "loops",
    "user_loads": None,  # refused
}


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


# ---------------------------------------------------------------- the contract


def test_every_method_that_adds_something_has_a_record():
    methods = {name for name in dir(pl.Robot) if name.startswith(("add_", "set_"))}
    assert methods == set(ADDERS) | set(NOT_ADDED_BY_A_RECORD)


@pytest.mark.parametrize("method", ADDERS)
def test_every_parameter_of_a_method_is_a_key(method):
    record = ADDERS[method]
    forgotten = set(parameters(getattr(pl.Robot, method))) - set(record.fields) - set(record.without)
    assert not forgotten


@pytest.mark.parametrize(
    "cls", sorted(dataclasses_of_the_description(), key=lambda c: c.__name__), ids=lambda c: c.__name__
)
def test_every_field_of_the_description_is_a_key(cls):
    if cls in NOT_IN_FILES:
        return
    assert cls in FIELDS, "say which record writes it, or why none does"
    record, instead = FIELDS[cls]
    fields = {field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")}
    assert fields - set(record.fields) == set(instead)


def test_every_attribute_of_a_robot_is_a_section():
    assert set(vars(pl.Robot("r"))) == set(ROBOT)
    assert {section for section in ROBOT.values() if section} <= set(d.FILE.fields)


def test_every_basis_is_a_key():
    kinds = [
        cls
        for name, cls in vars(basis).items()
        if inspect.isclass(cls) and not name.startswith("_") and issubclass(cls, basis.Basis)
    ]
    for cls in kinds:
        if cls is not basis.Basis:
            own = (
                {f.name for f in dataclasses.fields(cls)}
                if cls is not basis.Custom
                else {"function", "degree", "breakpoints"}
            )
            assert own == set(parts._BASES.records[cls.__name__].fields), cls


@pytest.mark.parametrize(
    ("record", "solver"), [(d.SIMULATION, simulate), (d.STATICS, solve_statics)], ids=["simulate", "statics"]
)
def test_every_argument_of_a_solver_is_a_key_or_has_a_reason(record, solver):
    assert set(parameters(solver)) == set(record.fields) | set(record.without)
    assert all(len(reason) > 20 for reason in record.without.values())


def test_a_forgotten_parameter_is_an_error_at_import():
    def add_thing(self, name, *, size, colour="red"):
        pass

    with pytest.raises(TypeError, match=r"'thing' has no key for colour of .*add_thing"):
        Record("thing", None, add_thing, size=Number())
    assert Record("thing", None, add_thing, {"colour": "it is only for looks"}, size=Number()).required == {"size"}


# ---------------------------------------------------------------- every parameter, set to something else than its default


def base() -> pl.Robot:
    robot = pl.Robot("every ⟨parameter⟩", gravity=(0.1, 0.2, -9.0))
    robot.add_rod("arm", length=0.5, section=pl.Circle(0.03), material=RUBBER, strains=pl.Strains.kirchhoff(2))
    robot.add_rod("leg", length=0.5, section=pl.Circle(0.03), material=RUBBER, strains=pl.Strains.kirchhoff(1))
    robot.add_body("hub", joint=pl.Universal("y", "z"), shape=pl.Sphere(0.1), mass=1.0)
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
    ("add_body", {"shape": pl.Box(0.1, 0.2, 0.3), "density": 500.0, "joint": pl.Free(stiffness=np.diag([1.0] * 6), damping=[1.0] * 6, rest=TURNED)}),
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
    ("add_motor", {"link": "hub", "dof": "angle2", "control": "position", "kp": 2.0, "kd": 0.3, "limit": 5.0}),
    ("add_motion", {"link": "hub", "dof": 1}),
    ("add_wrench", {"parent": "arm@0.6", "force": (1, 2, 3), "moment": (4, 5, 6), "axes": "body", "offset": TURNED, "constant": True}),
    ("add_distributed_wrench", {"rod": "leg", "force": E([0, "X", 0]), "moment": (4, 5, 6), "axes": "body", "constant": True}),
    ("add_dipole", {"place": "leg@0.5", "moment": (0.1, 0.2, 0.3)}),
    ("set_fluid", {"density": 900.0, "current": (0.1, 0.2, 0.3)}),
    ("add_obstacle", {"shape": pl.Sphere(0.2), "parent": "hub", "pose": TURNED, "inside": True}),
    ("add_contact", {"link": "arm", "other": "floor", "stiffness": 1e4, "exponent": 1.2, "damping": 0.5, "friction": 0.3, "slip_speed": 0.02, "per_length": True}),
    ("add_loop", {"a": "leg.tip", "b": "hub", "joint": pl.Universal((1, 0, 0), (0, 1, 1))}),
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
    again = pl.load_model(pl.io.dump_model(robot, format=format)).robot
    assert differences(robot, again) == []


@pytest.mark.parametrize("effect", EFFECTS, ids=range(len(EFFECTS)))
def test_every_effect_of_a_fluid_survives_a_file(effect):
    robot = base()
    robot.add_hydrodynamics("arm", effect)
    assert differences(robot, pl.load_model(pl.io.dump_model(robot)).robot) == []


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
    again = pl.load_model(pl.io.dump_model(robot, format=format, simulation={"duration": 1, "u": {"no": 1.0}}))
    assert differences(robot, again.robot) == []
    assert again.simulation_settings["u"] == {"no": 1.0}
