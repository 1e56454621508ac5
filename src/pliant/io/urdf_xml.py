"""URDF as XML → links and joints as plain records, with numbers read and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ..model.pose import Pose, rotate

__all__ = ["UrdfGeometry", "UrdfLink", "UrdfMimic", "UrdfRobot", "XmlJoint", "parse_urdf"]

Array = NDArray[np.float64]
Element = ElementTree.Element


@dataclass(frozen=True)
class UrdfGeometry:
    """Something visual or for collisions: its kind, sizes, place and colour."""

    kind: str  # box, cylinder, sphere, mesh, or another that is not known
    pose: Pose
    size: Array  # edges; radius and length; radius; scales of a mesh
    file: str = ""
    color: Array | None = None


@dataclass(frozen=True)
class UrdfLink:
    """A link."""

    name: str
    mass: float = 0.0
    inertia: Array | None = None  # (3, 3) about the centre of mass, in the axes of `origin`
    origin: Pose = field(default_factory=Pose)
    visuals: tuple[UrdfGeometry, ...] = ()
    collisions: tuple[UrdfGeometry, ...] = ()


@dataclass(frozen=True)
class UrdfMimic:
    """Whom a joint follows."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class XmlJoint:
    """A joint."""

    name: str
    type: str
    parent: str
    child: str
    origin: Pose
    axis: Array
    limit: dict[str, float]
    damping: float = 0.0
    friction: float = 0.0
    mimic: UrdfMimic | None = None


@dataclass(frozen=True)
class UrdfRobot:
    """The file."""

    name: str
    links: tuple[UrdfLink, ...]
    joints: tuple[XmlJoint, ...]


def _numbers(element: Element, key: str, default: tuple[float, ...], *, where: str) -> Array:
    text = element.get(key)
    if text is None:
        return np.array(default)
    try:
        found = np.array(text.split(), dtype=float)
    except ValueError:
        found = np.zeros(0)
    if found.shape != (len(default),) or not np.all(np.isfinite(found)):
        many = f"{len(default)} numbers are" if len(default) > 1 else "a number is"
        raise ValueError(f"URDF {where}: {key}={text!r} is not allowed: {many} needed.")
    return found


def _number(element: Element, key: str, default: float, *, where: str) -> float:
    return float(_numbers(element, key, (default,), where=where)[0])


def _pose(parent: Element, where: str) -> Pose:
    """The pose of <origin xyz rpy>: turned about fixed axes x, y, z."""
    origin = parent.find("origin")
    if origin is None:
        return Pose()
    roll, pitch, yaw = _numbers(origin, "rpy", (0.0, 0.0, 0.0), where=where).tolist()
    turn = rotate("z", yaw) @ rotate("y", pitch) @ rotate("x", roll)
    return Pose(_numbers(origin, "xyz", (0.0, 0.0, 0.0), where=where), turn.rotation)


def _needed(element: Element, key: str, where: str) -> str:
    value = element.get(key)
    if not value:
        raise ValueError(f"URDF {where}: the attribute {key!r} of <{element.tag}> is missing.")
    return value


def _geometries(link: Element, tag: str, colors: dict[str, Array], where: str) -> tuple[UrdfGeometry, ...]:
    out = []
    for part in link.findall(tag):
        inside = part.find("geometry")
        shape = None if inside is None or not len(inside) else inside[0]
        if shape is None:
            continue
        material = part.find("material")
        color = None
        if material is not None:
            own = material.find("color")
            given = None if own is None else _numbers(own, "rgba", (0.5, 0.5, 0.5, 1.0), where=where)
            color = given if given is not None else colors.get(material.get("name", ""))
        size = {
            "box": lambda s: _numbers(s, "size", (0.0, 0.0, 0.0), where=where),
            "sphere": lambda s: _numbers(s, "radius", (0.0,), where=where),
            "cylinder": lambda s: np.array([_number(s, key, 0.0, where=where) for key in ("radius", "length")]),
            "mesh": lambda s: _numbers(s, "scale", (1.0, 1.0, 1.0), where=where),
        }.get(shape.tag, lambda s: np.zeros(0))(shape)
        out.append(UrdfGeometry(shape.tag, _pose(part, where), size, shape.get("filename", ""), color))
    return tuple(out)


def _link(element: Element, colors: dict[str, Array]) -> UrdfLink:
    name = _needed(element, "name", "link")
    where = f"link {name!r}"
    mass, inertia, origin = 0.0, None, Pose()
    given = element.find("inertial")
    if given is not None:
        heavy, spread = given.find("mass"), given.find("inertia")
        mass = 0.0 if heavy is None else _number(heavy, "value", 0.0, where=where)
        origin = _pose(given, where)
        if spread is not None:
            xx, xy, xz, yy, yz, zz = (
                _number(spread, f"i{k}", 0.0, where=where) for k in ("xx", "xy", "xz", "yy", "yz", "zz")
            )
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    drawn, touched = (_geometries(element, tag, colors, where) for tag in ("visual", "collision"))
    return UrdfLink(name, mass, inertia, origin, drawn, touched)


def _joint(element: Element) -> XmlJoint:
    name = _needed(element, "name", "joint")
    where = f"joint {name!r}"
    ends = []
    for tag in ("parent", "child"):
        end = element.find(tag)
        if end is None:
            raise ValueError(f"URDF {where}: <{tag}> is missing.")
        ends.append(_needed(end, "link", where))
    axis, limit, dynamics, mimic = (element.find(tag) for tag in ("axis", "limit", "dynamics", "mimic"))
    bounds = {}
    if limit is not None:
        keys = [key for key in ("lower", "upper", "velocity", "effort") if limit.get(key) is not None]
        bounds = {key: _number(limit, key, 0.0, where=where) for key in keys}
    follows = None
    if mimic is not None:
        ratio, offset = (_number(mimic, key, d, where=where) for key, d in (("multiplier", 1.0), ("offset", 0.0)))
        follows = UrdfMimic(_needed(mimic, "joint", where), ratio, offset)
    losses = [0.0 if dynamics is None else _number(dynamics, key, 0.0, where=where) for key in ("damping", "friction")]
    along = np.array([1.0, 0.0, 0.0]) if axis is None else _numbers(axis, "xyz", (1.0, 0.0, 0.0), where=where)
    kind = _needed(element, "type", where)
    return XmlJoint(name, kind, ends[0], ends[1], _pose(element, where), along, bounds, losses[0], losses[1], follows)


def parse_urdf(data: bytes) -> UrdfRobot:
    """The links and joints of a file, which must be complete XML.

    Raises
    ------
    ValueError
        If something is missing, or is no number.
    """
    root = ElementTree.fromstring(data)
    colors = {}
    for material in root.findall("material"):
        own = material.find("color")
        if own is not None:
            colors[material.get("name", "")] = _numbers(own, "rgba", (0.5, 0.5, 0.5, 1.0), where="material")
    links = tuple(_link(element, colors) for element in root.findall("link"))
    return UrdfRobot(root.get("name", ""), links, tuple(_joint(element) for element in root.findall("joint")))
