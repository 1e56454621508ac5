"""The numbers of a robot by name, and robots in which some of them are different.

A name is that of a part and of one of its fields: ``arm.length``, ``arm.young``, ``arm.radius.tip``, ``cable.y``, ``tool.mass``,
``arm.offset.x``, ``arm.core.young``, ``pin.joint.stiffness``, ``mesh.ratio.wheel``, ``gravity.z``. Names follow from the dataclasses of the description: whatever number a part holds is a parameter. What
is fixed for good (names, strains and their bases, axes, choices, counts) is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .actuators import ActiveStrain
from .bearings import Characteristic, JointSpring
from .joints import Joint
from .links import Body, Frame, Rod
from .loops import Coupling
from .pose import Pose
from .rods.laws import Law
from .rods.sections import Composite, Stepped
from .rods.sections import Part as SectionPart
from .rods.strains import STRAIN_NAMES, STRAIN_UNITS, Strains
from .routing import Table
from .shapes import Inertia, Shape
from .stated_units import declared_units
from .validate import shown, unknown_name

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["Parameter", "Parameters", "parameters_of", "revised"]

_UNNAMED = ("content", "material", "section", "values")  # fields whose own fields are named without them: "arm.young"
_FIXED = (
    "axis",
    "axis1",
    "axis2",
    "normal",
    "breaks",
    "at",
    "dy",
    "dz",
    "input_units",
    "X_table",
    "scales",
    "spacing",
)  # never parameters
_MATRIX = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


@dataclass(frozen=True)
class Parameter:
    """A number of a robot: where it is in the description.

    Attributes
    ----------
    name : str
    value : float
    unit : str
        "–" for a number without unit, "" for one whose unit depends on other parts, or that states none.
    path : tuple
        Attribute of the robot, number or name of the part in it, then fields, entries and labels down to the number.
    """

    name: str
    value: float
    unit: str
    path: tuple[Any, ...]


class Parameters(Mapping[str, float]):
    """Values of the parameters of a robot by name; `units` has their units.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("arm")
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000)
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle((0.02, 0.01)), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> system = robot.compile()
    >>> system.parameters["arm.young"], system.parameters.units["arm.young"]
    (1000000.0, 'Pa')
    >>> softer = system.with_parameters({"arm.young": 5e5, "arm.radius.tip": 0.008})
    >>> softer.parameters["arm.radius.tip"]
    0.008
    """

    def __init__(self, found: Mapping[str, Parameter]) -> None:
        self._found = found

    def __getitem__(self, name: str) -> float:
        """The value of a parameter."""
        try:
            return self._found[name].value
        except KeyError:
            raise unknown_name("parameter", str(name), self._found) from None

    def __iter__(self) -> Iterator[str]:
        """Names, in the order of adding parts."""
        return iter(self._found)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._found)

    @property
    def units(self) -> dict[str, str]:
        """Units by name."""
        return {name: parameter.unit for name, parameter in self._found.items()}

    def __repr__(self) -> str:
        """A table of names, values and units."""
        if not self._found:
            return "no parameters"
        width = max(map(len, self._found))
        rows = (f"{p.name:<{width}}  {p.value:<12.6g} {p.unit}".rstrip() for p in self._found.values())
        return "\n".join(rows)


# ---------------------------------------------------------------- what there is


def _is_number(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isfinite(value))


def _children(value: Any, owner: Any) -> Iterator[tuple[str, Any, Any]]:
    """Label, key and value of what a description holds; an empty label stands for its parent's."""
    if isinstance(value, Pose):
        yield from zip("xyz", "xyz", value.translation.tolist())
    elif isinstance(value, Body):
        yield from _body_children(value)
    elif isinstance(value, Inertia):
        yield "mass", "mass", value.mass
        yield "com", "com", value.com
        yield "inertia", "inertia", value.inertia
    elif isinstance(value, Coupling):
        links = [link for link, _dof, _ratio in value.terms]
        for k, (link, dof, ratio) in enumerate(value.terms):
            yield f"ratio.{link}" if links.count(link) == 1 else f"ratio.{link}.{dof}", k, ratio
        yield "offset", "offset", value.offset
        yield from ((f.name, f.name, getattr(value, f.name)) for f in fields(value)[2:])  # of backlash
    elif isinstance(value, Characteristic):
        yield "", "values", value.values
    elif isinstance(value, Composite):
        yield "", "parts", value.parts
    elif isinstance(value, SectionPart):
        yield from (("", name, getattr(value, name)) for name in ("section", "material", "at"))
    elif is_dataclass(value):
        for f in fields(value):
            if f.name not in _FIXED:
                child = getattr(value, f.name)
                alone = f.name == "path" and len(child) == 1  # a tendon along one rod: "cable.y"
                yield "" if alone or f.name in _UNNAMED else f.name, f.name, child
    elif isinstance(value, np.ndarray) and value.shape == (3, 3):
        yield from ((label, label, float(value[ij])) for label, ij in _MATRIX.items())
    elif isinstance(value, (tuple, np.ndarray)):
        entries = [
            entry if isinstance(entry, (tuple, np.ndarray)) or is_dataclass(entry) else _plain(entry) for entry in value
        ]
        yield from zip(_labels(entries, owner), range(len(entries)), entries)


def _plain(entry: Any) -> Any:
    return float(entry) if isinstance(entry, (int, float, np.number)) and not isinstance(entry, bool) else entry


def _body_children(body: Body) -> Iterator[tuple[str, Any, Any]]:
    """A uniform body has a shape and a mass or density; any other an inertia, and perhaps a shape to be drawn."""
    if body.inertia is not None and body.uniform:
        yield ("mass", "mass", body.inertia.mass) if body.density is None else ("density", "density", body.density)
        yield "com", "com", body.inertia.com
    elif body.inertia is not None:
        yield "", "inertia", body.inertia
    if body.shape is not None:
        yield "shape", "shape", body.shape


def _labels(entries: list[Any], owner: Any) -> list[str]:
    """Names of the entries of a tuple or vector."""
    if isinstance(owner, Joint):
        return list(owner.dof_names if len(entries) == owner.nv else owner.coordinate_names)
    if isinstance(owner, (Characteristic, JointSpring)):
        return [str(k) for k in range(len(entries))]
    if isinstance(owner, SectionPart):
        return ["y", "z"]
    if entries and all(isinstance(entry, SectionPart) for entry in entries):
        return [entry.name for entry in entries]
    if len(entries) == 1:
        return [""]
    if isinstance(owner, Law):
        return [str(k) for k in range(len(entries))]
    if all(isinstance(entry, Law) for entry in entries):
        return [type(entry).__name__ for entry in entries]
    if all(_is_number(entry) for entry in entries):
        names = {2: ("base", "tip"), 3: ("x", "y", "z"), 6: STRAIN_NAMES}.get(len(entries))
        if names is not None:
            return list(names)
    return [str(k) for k in range(len(entries))]


def _numbers(name: str, value: Any, owner: Any, path: tuple[Any, ...], unit: str) -> Iterator[Parameter]:
    """All parameters below a value of the description."""
    if isinstance(value, (str, bool, int, Strains)) or value is None or (callable(value) and not is_dataclass(value)):
        return
    if _is_number(value):
        yield Parameter(name, float(value), unit, path)
        return
    for label, key, child in _children(value, owner):
        if _unsettable(value, key, child):
            continue
        below = f"{name}.{label}" if label else name
        own = (
            _entry_unit(unit, owner, path, key)
            if isinstance(value, (tuple, np.ndarray, Pose, Stepped)) or (isinstance(value, Table) and key == "values")
            else _unit_of(value, key)
        )
        of = owner if isinstance(owner, Law) and isinstance(value, tuple) else value  # pairs of numbers of a law, too
        yield from _numbers(below, child, of, (*path, key), own)


def _unsettable(value: Any, key: Any, child: Any) -> bool:
    """What cannot be changed entry by entry (matrices of joints, rotations at rest), and offsets that nobody gave."""
    if isinstance(value, Frame) and key == "offset":
        return not np.any(child.translation)
    if isinstance(value, Joint):
        if value.nv == 0 and key in ("stiffness", "damping", "rest"):
            return True
        entries = child if isinstance(child, tuple) else ()
        return any(isinstance(entry, tuple) for entry in entries) or (key == "rest" and value.nq != value.nv)
    if isinstance(value, Shape):  # points of meshes and fields
        return isinstance(child, np.ndarray)
    return isinstance(child, np.ndarray) and child.ndim == 2 and child.shape != (3, 3)


def _entry_unit(unit: str, owner: Any, path: tuple[Any, ...], key: Any) -> str:
    """Unit of an entry of a vector, which may differ from entry to entry."""
    if (isinstance(owner, Rod) and path[-1] == "reference_strain") or isinstance(owner, ActiveStrain):
        return STRAIN_UNITS[key]
    if isinstance(owner, Joint):
        return owner.unit_of(path[-1], key)
    return unit


def _unit_of(value: Any, key: Any) -> str:
    """The unit that a part states for one of its fields, "" if it states none."""
    if isinstance(value, Body) and value.inertia is not None and key in ("mass", "com"):
        value = value.inertia
    own = getattr(value, "unit_of", None)
    return str(own(key)) if own is not None else declared_units(type(value)).get(key, "")


def parameters_of(robot: Robot) -> dict[str, Parameter]:
    """All parameters of a robot by name, in the order of adding parts."""
    found = {p.name: p for p in _numbers("gravity", robot.gravity, None, ("gravity", None), "m/s²")}
    found |= {p.name: p for p in _numbers("fluid", robot.fluid, None, ("fluid", None), "")}
    for k, link in enumerate(robot.links):
        found |= {p.name: p for p in _numbers(link.name, link, None, ("links", k), "")}
    found |= {p.name: p for p in _groups(robot, {"hydrodynamics": ".water"}, ("hydrodynamics",))}
    found |= {p.name: p for p in _groups(robot, {}, robot.groups)}
    return found


def _groups(robot: Robot, suffix: Mapping[str, str], groups: tuple[str, ...]) -> Iterator[Parameter]:
    for group in groups:
        for name, part in getattr(robot, group).items():
            if is_dataclass(part):
                yield from _numbers(name + suffix.get(group, ""), part, None, (group, name), "")


# ---------------------------------------------------------------- another value


def _put(value: Any, keys: tuple[Any, ...], new: Any) -> Any:
    """The description with another value at the end of a path."""
    if not keys:
        return new
    key, rest = keys[0], keys[1:]
    if isinstance(value, Pose):
        place = np.array(value.translation)
        place["xyz".index(key)] = new
        return Pose(place, value.rotation)
    if isinstance(value, Body):
        return value.revised(key, _put(_body_field(value, key), rest, new))
    if isinstance(value, np.ndarray):
        array = np.array(value)
        if isinstance(key, str):
            i, j = _MATRIX[key]
            array[i, j] = array[j, i] = new
        else:
            array[key] = new
        return array
    if isinstance(value, tuple):
        return tuple(_put(entry, rest, new) if k == key else entry for k, entry in enumerate(value))
    if isinstance(value, Rod):
        return value.revised(key, _put(getattr(value, key), rest, new))
    if isinstance(value, Coupling):
        return value.revised(key, new)
    return replace(value, **{key: _put(getattr(value, key), rest, new)})


def _body_field(body: Body, key: str) -> Any:
    if key in ("mass", "com"):
        return getattr(body.inertia, key)
    return getattr(body, key)


def revised(part: Any, parameter: Parameter, value: object) -> Any:
    """A part with another value of one of its parameters; errors name the parameter.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("ball")
    >>> ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    >>> robot.with_parameters({"ball.mass": 2.0}).links[0].content.inertia.mass
    2.0
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"parameter {parameter.name!r} = {shown(value)} must be one number [{parameter.unit or 'SI'}].")
    try:
        return _put(part, parameter.path[2:], float(value))
    except (TypeError, ValueError) as error:
        raise type(error)(f"parameter {parameter.name!r} = {shown(value)}: {error}") from None
