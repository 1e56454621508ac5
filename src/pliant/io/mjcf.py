"""Rigid robots from MJCF files, the format of MuJoCo: bodies, joints, inertias of geoms, motors, couplings and loops."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ..model.pose import Pose, rotate
from ..model.reading import Folder, package_of
from ..model.robot import Robot
from ..model.shapes import Box, Capsule, Cylinder, Ellipsoid, Inertia, Mesh, Shape, Sphere, Visual
from ..model.validate import LARGEST, shown
from .source import ModelFileError
from .urdf import ImportedRobot, UrdfJoint, add_stops, read_xml, wrong

__all__ = ["load_mjcf", "read_mjcf"]

Array = NDArray[np.float64]
Element = ElementTree.Element
_MASSES = ("settotalmass", "boundmass", "boundinertia", "balanceinertia")  # what changes masses afterwards
_LEFT_OUT = ("tendon", "contact", "deformable", "extension", "skin")


def load_mjcf(
    path: str | Path,
    *,
    gravity: ArrayLike | None = None,
    limits: bool = True,
    meshes: bool = True,
    folder: str | Path | None = None,
) -> Robot:
    """Make a robot from the rigid part of an MJCF file; rods can then be added to it.

    Parameters
    ----------
    path : path
    gravity : array (3,), optional
        [m/s²]; that of the file if left out.
    limits : bool
        Whether ranges of joints are kept by stops, as in `load_urdf`.
    meshes : bool
        Whether geoms are drawn (`Visual`).
    folder : path, optional
        The highest folder from which meshes are read; if left out, that of the ROS package (the nearest with a ``package.xml``), or of the file.

    Returns
    -------
    Robot
        One body for each body, with its name and frame; of a body with several joints the last carries it, massless ones before are called ``name_1``, …. Sites are
        frames. Inertias are those of ``inertial``, or of the geoms. Actuators ``motor``, ``position`` and ``velocity`` are motors, whose input is that of the joint: a gear is part of their
        gains, and the torque of a motor is ``gear · ctrl``. ``equality`` of joints, ``connect`` and ``weld`` are couplings and loops.

    Raises
    ------
    ModelFileError
        If the file is not complete XML, or what it says makes no robot.

    Notes
    -----
    Coordinates are zero where the file has the robot: an angle of MuJoCo less its ``ref``. `read_mjcf` lists what was left out, such as contact, tendons and rotor inertias.

    Examples
    --------
    >>> robot = load_mjcf("arm.xml")  # doctest: +SKIP
    >>> robot.add_rod("finger", parent="hand", ...)  # doctest: +SKIP
    """
    return read_mjcf(path, gravity=gravity, limits=limits, meshes=meshes, folder=folder).robot


def read_mjcf(
    path: str | Path,
    *,
    gravity: ArrayLike | None = None,
    limits: bool = True,
    meshes: bool = True,
    folder: str | Path | None = None,
) -> ImportedRobot:
    """Read an MJCF file, with its joints by name and notes on what was left out; see `load_mjcf`."""
    path = Path(path)
    files = Folder(path.parent, package_of(path) if folder is None else Path(folder))
    data = read_xml(path, "mujoco", "MJCF file")
    try:
        return _Reader(ElementTree.fromstring(data), files, gravity, limits, meshes).run()
    except ModelFileError:
        raise
    except (TypeError, ValueError, KeyError, OSError, ImportError) as error:
        raise wrong(path, str(error.args[0] if isinstance(error, KeyError) else error)) from None


def _numbers(text: str | None, default: ArrayLike, *, endless: bool = False) -> Array:
    """Numbers of an attribute; those that are missing at the end are the default's. Ends of a range may be infinite."""
    out = np.array(default, dtype=float)
    try:
        given = np.array((text or "").split(), dtype=float)
    except ValueError:
        raise ValueError(f"{shown(text)} is not allowed: numbers are needed.") from None
    if len(given) > len(out):
        raise ValueError(f"{shown(text)} has {len(given)} numbers; at most {len(out)} are allowed.")
    if not ((np.abs(given) <= LARGEST) | (endless & np.isinf(given))).all():
        raise ValueError(f"{shown(text)} is not allowed: finite numbers of at most {LARGEST:g} are needed.")
    out[: len(given)] = given
    return out


def _triples(text: str | None, what: str) -> Array:
    """Rows of three numbers."""
    found = _numbers(text, np.zeros(len((text or "").split())))
    if len(found) % 3:
        raise ValueError(f"{what} has {len(found)} numbers, which is no multiple of three.")
    return found.reshape(-1, 3)


def _unit(values: Array, what: str) -> Array:
    """A direction of length one."""
    size = float(np.linalg.norm(values))
    if not (size > 0.0 and np.isfinite(size)):
        raise ValueError(f"{what}={values.tolist()} is not allowed: it has no direction.")
    return np.asarray(values / size)


def _number(values: Mapping[str, str], key: str, default: float) -> float:
    return float(_numbers(values.get(key), (default,))[0])


def _needed(values: Mapping[str, str], key: str, what: str) -> str:
    if key not in values:
        raise ValueError(f"{what}: the attribute {key!r} is missing.")
    return values[key]


class _Reader:
    """Turns elements into bodies, parents first."""

    def __init__(self, root: Element, files: Folder, gravity: Any, limits: bool, meshes: bool) -> None:
        self.root, self.limits, self.meshes = root, limits, meshes
        self.compiler: dict[str, str] = {}
        for element in root.findall("compiler"):
            self.compiler |= element.attrib
        if root.find(".//include") is not None:
            raise ValueError("<include> is not read: save the whole model to one file first (mj_saveLastXML).")
        if self.compiler.get("coordinate", "local") != "local":
            raise ValueError("compiler coordinate='global' is not read; MuJoCo itself no longer knows it.")
        changed = [key for key in _MASSES if self.compiler.get(key) not in (None, "false", "0", "-1")]
        if changed:
            raise ValueError(
                f"compiler {changed[0]} is not read: let MuJoCo write the masses that come of it (mj_saveLastXML)."
            )
        told = [_numbers(option.get("gravity"), (0, 0, -9.81)) for option in root.findall("option")]
        own = told[-1] if told else (0.0, 0.0, -9.81)
        if any(flag.get("gravity") == "disable" for flag in root.findall("option/flag")):
            own = (0.0, 0.0, 0.0)
        self.robot = Robot(root.get("model") or "robot", gravity=own if gravity is None else gravity)
        self.degrees = self.compiler.get("angle", "degree") == "degree"
        self.files, self.mesh_folder = files, self.compiler.get("meshdir") or self.compiler.get("assetdir") or ""
        self.assets = {
            m.get("name") or Path(m.get("file", "")).stem: m for a in root.findall("asset") for m in a.findall("mesh")
        }
        self.defaults: dict[str, dict[str, dict[str, str]]] = {"": {}}
        for element in root.findall("default"):
            self._read_defaults(element)
        self.joints: dict[str, UrdfJoint] = {}
        self.ranges: dict[str, tuple[str, float | None, float | None, float | None]] = {}
        self.springs: list[tuple[str, str, dict[str, str]]] = []
        self.notes = [
            f"option {key}={option.get(key)!r} was left out: add the fluid with set_fluid"
            for option in root.findall("option")
            for key in ("density", "viscosity", "wind")
            if np.any(_numbers(option.get(key), (0, 0, 0)))
        ]
        self.world: dict[str, Pose] = {"world": Pose()}  # where bodies are in the file
        self.links: set[str] = set()
        self.count = 0

    # ------------------------------------------------------------ defaults and values

    def _read_defaults(self, element: Element) -> None:
        """Attributes by class and tag: those of a class with those of the classes around it."""
        stack: list[tuple[Element, dict[str, dict[str, str]]]] = [(element, {})]
        while stack:
            element, above = stack.pop()
            own = {tag: dict(values) for tag, values in above.items()}
            for child in element:
                if child.tag != "default":
                    own[child.tag] = own.get(child.tag, {}) | child.attrib
            name = element.get("class", "")
            self.defaults[name] = own
            if name == "main" or not above:
                self.defaults[""] = own if name in ("", "main") else self.defaults[""]
            stack += [(child, own) for child in reversed(element.findall("default"))]

    def values(self, element: Element, childclass: str, tag: str | None = None) -> dict[str, str]:
        """Attributes of an element with those of its class."""
        name = element.get("class", childclass)
        if name not in self.defaults:
            raise ValueError(f"there is no default class {name!r}.")
        return self.defaults[name].get(tag or element.tag, {}) | element.attrib

    def angle(self, value: float) -> float:
        """An angle of the file in rad."""
        return float(np.deg2rad(value)) if self.degrees else float(value)

    def pose(self, values: dict[str, str]) -> Pose:
        """Position and orientation."""
        place = _numbers(values.get("pos"), (0, 0, 0))
        if "quat" in values:
            q = _numbers(values["quat"], (1, 0, 0, 0))
            return Pose.from_quaternion(_unit(q, "quat"), place)
        if "axisangle" in values:
            *axis, angle = _numbers(values["axisangle"], (0, 0, 1, 0))
            return Pose(place, rotate(axis, self.angle(angle)).rotation)
        if "euler" in values:
            turn = Pose()
            for letter, angle in zip(self.compiler.get("eulerseq", "xyz"), _numbers(values["euler"], (0, 0, 0))):
                step = rotate(letter.lower(), self.angle(angle))
                turn = turn @ step if letter.islower() else step @ turn
            return Pose(place, turn.rotation)
        if "xyaxes" in values:
            six = _numbers(values["xyaxes"], (1, 0, 0, 0, 1, 0))
            x = _unit(six[:3], "xyaxes")
            y = _unit(six[3:] - (six[3:] @ x) * x, "xyaxes")
            return Pose(place, np.column_stack([x, y, np.cross(x, y)]))
        if "zaxis" in values:
            return Pose(place, _turn_to(_numbers(values["zaxis"], (0, 0, 1))))
        return Pose(place)

    def name(self, element: Element, kind: str) -> str:
        """A name without the characters that have a meaning in pliant."""
        given = element.get("name")
        if not given:
            self.count += 1
            return f"{kind}{self.count}"
        return "world_" if given == "world" else given.replace(".", "_").replace("@", "_")

    # ------------------------------------------------------------ bodies

    def run(self) -> ImportedRobot:
        """Everything."""
        for world in self.root.findall("worldbody"):
            self.tree(world)
        if not self.robot.links:
            raise ValueError("the file has no bodies.")
        if self.limits:
            add_stops(self.robot, self.ranges)
        for name, link, values in self.springs:
            if _number(values, "frictionloss", 0):
                self.robot.add_friction(f"{name}_friction", link, coulomb=_number(values, "frictionloss", 0))
        for section in self.root.findall("actuator"):
            for element in section:
                self.actuator(element)
        for section in self.root.findall("equality"):
            for element in section:
                self.equality(element)
        lost = [tag for tag in _LEFT_OUT if self.root.find(tag) is not None]
        self.notes += [f"<{tag}> was left out" for tag in lost]
        return ImportedRobot(self.robot, self.joints, tuple(self.notes))

    def within(self, element: Element, offset: Pose, childclass: str) -> Iterator[tuple[Element, Pose, str]]:
        """What stands in an element and in its frames, with their pose and class, in the order of the file."""
        stack = [(iter(element), offset, childclass)]
        while stack:
            rest, offset, childclass = stack[-1]
            child = next(rest, None)
            if child is None:
                stack.pop()
            elif child.tag == "frame":
                stack.append((iter(child), offset @ self.pose(dict(child.attrib)), child.get("childclass", childclass)))
            else:
                yield child, offset, childclass

    def tree(self, world: Element) -> None:
        """All bodies and sites, parents first. (A loop: Python's calls are not deep enough for a long chain.)"""
        stack = [("world", self.within(world, Pose(), ""))]
        while stack:
            parent, rest = stack[-1]
            child, offset, childclass = next(rest, (None, None, None))
            if child is None or offset is None or childclass is None:
                stack.pop()
            elif child.tag == "body":
                inner = child.get("childclass", childclass)
                name = self.body(child, parent, offset, inner)
                stack.append((name, self.within(child, Pose(), inner)))
            elif child.tag == "site" and child.get("name"):
                place = offset @ self.pose(self.values(child, childclass))
                self.robot.add_frame(self.free_name(self.name(child, "site"), "site"), parent, offset=place)
            elif child.tag in ("composite", "flexcomp", "replicate", "attach"):
                self.notes.append(f"<{child.tag}> was left out")

    def free_name(self, name: str, kind: str) -> str:
        """A name that no link and no frame has."""
        taken = name in self.robot.frames or name in self.links
        return f"{name}_{kind}" if taken else name

    def body(self, element: Element, parent: str, offset: Pose, childclass: str) -> str:
        """A body with its joints, one after the other with massless bodies between them; gives its name."""
        name = self.name(element, "body")
        at = offset @ self.pose(dict(element.attrib))
        if _number(element.attrib, "gravcomp", 0):
            self.notes.append(
                f"body {name!r}: gravcomp={element.get('gravcomp')} was left out, so that gravity acts on it"
            )
        self.world[name] = self.world[parent] @ at
        joints = [child for child in element if child.tag in ("joint", "freejoint")]
        if len(joints) < sum(child.tag in ("joint", "freejoint") for child, *_ in self.within(element, at, childclass)):
            raise ValueError(f"body {name!r} has a joint in a <frame>, which is not read: put it into the body.")
        inertia = self.inertia(element, childclass)
        visual = self.visuals(element, childclass)
        before: str | None = None if parent == "world" else parent
        for k, child in enumerate(joints[:-1]):
            made, anchor = self.joint(child, f"{name}_{k + 1}", childclass)
            options: dict[str, Any] = {
                "parent": before,
                "joint": made,
                "offset": at @ anchor,
                "offset_after": anchor.inverse(),
            }
            self.robot.add_body(f"{name}_{k + 1}", **options)
            before, at = f"{name}_{k + 1}", Pose()
            self.links.add(before)
        made, anchor = self.joint(joints[-1], name, childclass) if joints else (Fixed(), Pose())
        self.robot.add_body(
            name, parent=before, joint=made, offset=at @ anchor, offset_after=anchor.inverse(), inertia=inertia, visual=visual
        )  # fmt: skip
        self.links.add(name)
        return name

    def joint(self, element: Element, link: str, childclass: str) -> tuple[Joint, Pose]:
        """A joint, and its anchor in the body frame."""
        free = element.tag == "freejoint"
        values = dict(element.attrib) if free else self.values(element, childclass)
        kind = "free" if free else values.get("type", "hinge")
        name = self.name(element, "joint")
        anchor = Pose(_numbers(values.get("pos"), (0, 0, 0)))
        springs: dict[str, Any] = {"damping": _number(values, "damping", 0)}
        ref, rest, stiffness = (_number(values, key, 0) for key in ("ref", "springref", "stiffness"))
        if stiffness:
            springs |= {"stiffness": stiffness}
        if "springdamper" in values:
            self.notes.append(f"joint {name!r}: springdamper={values['springdamper']!r} was left out")
        if _number(values, "armature", 0):
            self.notes.append(f"joint {name!r}: its rotor inertia (armature {values['armature']}) was left out")
        if kind == "free":
            self.joints[name] = UrdfJoint(link, kind)
            return Free(**springs), Pose()
        if kind == "ball":
            if "range" in values and values.get("limited", "auto") != "false":
                self.notes.append(f"joint {name!r}: the range of a ball joint was left out")
            self.joints[name] = UrdfJoint(link, kind)
            return Spherical(**springs), anchor
        axis = _numbers(values.get("axis"), (0, 0, 1))
        turning = kind == "hinge"
        ref, rest = (self.angle(x) if turning else x for x in (ref, rest))
        if stiffness:
            springs["rest"] = rest - ref
        if ref:
            self.notes.append(f"joint {name!r}: its coordinate is that of the file less ref = {ref:g}")
        limited = values.get("limited", "auto")
        bounded = limited == "true" or (
            limited == "auto" and "range" in values and self.compiler.get("autolimits", "true") == "true"
        )
        low, high = (
            self.angle(x) if turning else x for x in _numbers(values.get("range"), (0, 0), endless=True).tolist()
        )
        ends = (low - ref, high - ref) if bounded else (None, None)
        self.joints[name] = UrdfJoint(link, kind, *ends)
        if bounded:
            self.ranges[name] = (link, *ends, None)
        self.springs.append((name, link, values))
        return (Revolute if turning else Prismatic)(axis, **springs), anchor

    # ------------------------------------------------------------ geoms

    def geoms(self, element: Element, childclass: str) -> list[tuple[dict[str, str], Shape, Pose]]:
        """Values, shapes and places of the geoms of a body, also in frames."""
        out = []
        for child, place, inner in self.within(element, Pose(), childclass):
            if child.tag == "geom":
                values = self.values(child, inner)
                found = self.shape(values)
                if found is not None:
                    out.append((values, found[0], place @ found[1]))
        return out

    def shape(self, values: dict[str, str]) -> tuple[Shape, Pose] | None:
        """The shape of a geom and where it is; None for a plane or a height field."""
        kind = "mesh" if "mesh" in values and "type" not in values else values.get("type", "sphere")
        size = _numbers(values.get("size"), (0, 0, 0))
        place = self.pose(values)
        if "fromto" in values:
            ends = _numbers(values["fromto"], np.zeros(6))
            along = ends[3:] - ends[:3]
            length = float(np.linalg.norm(along))
            place = Pose((ends[:3] + ends[3:]) / 2, _turn_to(along))
            size = (
                np.array([size[0], length / 2, 0.0])
                if kind in ("capsule", "cylinder")
                else np.array([size[0], size[0], length / 2])
            )
        if kind == "sphere":
            return Sphere(size[0]), place
        if kind == "capsule":
            return Capsule(size[0], 2 * size[1], "z"), place
        if kind == "cylinder":
            return Cylinder(size[0], 2 * size[1], "z"), place
        if kind == "box":
            return Box(*(2 * size).tolist()), place
        if kind == "ellipsoid":
            return Ellipsoid(*size.tolist()), place
        if kind == "mesh":
            return self.mesh(_needed(values, "mesh", "geom")), place
        return None

    def mesh(self, name: str) -> Mesh:
        """The mesh of an asset."""
        if name not in self.assets:
            raise ValueError(f"there is no mesh asset {name!r}.")
        asset = self.assets[name]
        scale = _numbers(asset.get("scale"), (1, 1, 1))
        if asset.get("file") is None:
            vertices = _triples(asset.get("vertex"), f"mesh asset {name!r}: vertex")
            if asset.get("face") is None:
                raise ValueError(f"mesh asset {name!r} has vertices but no faces.")
            faces = _triples(asset.get("face"), f"mesh asset {name!r}: face")
            return Mesh(vertices * scale, faces)
        found = Mesh.from_file(self.files.find(os.path.join(self.mesh_folder, asset.get("file", ""))))
        return Mesh(np.asarray(found.vertices) * scale, found.faces)

    def inertia(self, element: Element, childclass: str) -> Inertia | None:
        """The inertia of a body: what it says, or that of its geoms. Where these are to count and have no mass, what it says counts."""
        given = element.find("inertial")
        how = self.compiler.get("inertiafromgeom", "auto")
        geoms = [] if how == "false" or (given is not None and how != "true") else self.geoms(element, childclass)
        low, high = _numbers(self.compiler.get("inertiagrouprange"), (0, 5))
        total: Inertia | None = None
        for values, shape, place in geoms:
            if not low <= _number(values, "group", 0) <= high:
                continue
            if values.get("shellinertia") == "true":
                raise ValueError(
                    f"geom {values.get('name', '')!r}: shellinertia is not read; give the body an <inertial>."
                )
            if "mass" in values:
                if _number(values, "mass", 0) == 0.0:
                    continue
                own = Inertia.of(shape, mass=_number(values, "mass", 0), com=shape.centroid)
            else:
                density = _number(values, "density", 1000)
                if density == 0.0:
                    continue
                own = Inertia.of(shape, density=density, com=shape.centroid)
            own = own.transformed(place)
            total = own if total is None else total + own
        return total if total is not None or given is None else self.told_inertia(given)

    def told_inertia(self, given: Element) -> Inertia:
        """What <inertial> says."""
        values = dict(given.attrib)
        mass = float(_numbers(_needed(values, "mass", "<inertial>"), (0,))[0])
        full = values.get("fullinertia")
        if full is not None:
            xx, yy, zz, xy, xz, yz = _numbers(full, np.zeros(6))
            own: Any = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            own = _numbers(values.get("diaginertia"), (0, 0, 0))
        return Inertia(mass, (0, 0, 0), own).transformed(self.pose(values))

    def visuals(self, element: Element, childclass: str) -> list[Visual]:
        """What is drawn."""
        if not self.meshes:
            return []
        out = []
        for values, shape, place in self.geoms(element, childclass):
            color = _numbers(values["rgba"], (0.5, 0.5, 0.5, 1))[:3] if "rgba" in values else None
            out.append(Visual(shape=shape, pose=place, color=color))
        return out

    # ------------------------------------------------------------ what drives and closes it

    def actuator(self, element: Element) -> None:
        """A motor or servo on a joint."""
        values = self.values(element, "")
        name = self.name(element, "actuator")
        own = self.joints.get(values.get("joint", ""))
        if element.tag not in ("motor", "position", "velocity") or own is None or own.kind not in ("hinge", "slide"):
            self.notes.append(
                f"actuator {name!r} (<{element.tag}>) was left out: motor, position and velocity on hinges and slides are read"
            )
            return
        gear = float(_numbers(values.get("gear"), (1, 0, 0, 0, 0, 0))[0])
        options: dict[str, Any] = {}
        if "forcerange" in values:
            options["limit"] = abs(gear) * float(np.abs(_numbers(values["forcerange"], (0, 0), endless=True)).max())
        if element.tag == "position":
            kp, kv = _number(values, "kp", 1), _number(values, "kv", 0)
            options |= {"control": "position", "kp": kp * gear**2, "kd": kv * gear**2}
        elif element.tag == "velocity":
            options |= {"control": "velocity", "kd": _number(values, "kv", 1) * gear**2}
        elif "ctrlrange" in values and "limit" not in options and values.get("ctrllimited", "auto") != "false":
            options["limit"] = abs(gear) * float(np.abs(_numbers(values["ctrlrange"], (0, 0), endless=True)).max())
        if not np.isfinite(options.get("limit", 0.0)):
            del options["limit"]
        if gear != 1.0:
            what = f"gear · ctrl = {gear:g} · ctrl" if element.tag == "motor" else f"ctrl / gear = ctrl / {gear:g}"
            self.notes.append(f"actuator {name!r}: its input is {what}, at the joint")
        self.robot.add_motor(self.free_name(name, "motor"), own.link, **options)

    def equality(self, element: Element) -> None:
        """A coupling of joints, or a loop."""
        name = self.name(element, "equality")
        values = self.values(element, "")
        if values.get("active", "true") == "false":
            return
        if element.tag == "joint":
            coefficients = _numbers(values.get("polycoef"), (0, 1, 0, 0, 0))
            first = _needed(values, "joint1", f"equality {name!r}")
            if first not in self.joints:
                raise ValueError(f"equality {name!r}: there is no joint {first!r}.")
            one, two = self.joints[first], self.joints.get(values.get("joint2", ""))
            if np.any(coefficients[2:]):
                self.notes.append(f"equality {name!r}: a coupling that is not linear was left out")
                return
            terms = {one.link: 1.0} | (
                {two.link: -float(coefficients[1])} if two is not None and coefficients[1] else {}
            )
            self.robot.add_coupling(name, terms, offset=float(coefficients[0]))
        elif element.tag in ("connect", "weld") and "body1" in values:
            first, second = (values.get(key, "world").replace(".", "_").replace("@", "_") for key in ("body1", "body2"))
            missing = [body for body in (first, second) if body not in self.world]
            if missing:
                raise ValueError(f"equality {name!r}: there is no body {missing[0]!r}.")
            anchor = Pose(_numbers(values.get("anchor"), (0, 0, 0)))
            if element.tag == "weld" and "relpose" in values:
                self.notes.append(
                    f"equality {name!r}: relpose was left out; the bodies are welded as they are in the file"
                )
            there = self.world[second].inverse() @ self.world[first] @ anchor
            ends = [self.robot.resolve(body).at(place) for body, place in ((first, anchor), (second, there))]
            self.robot.add_loop(name, *ends, joint=Spherical() if element.tag == "connect" else Fixed())
        else:
            self.notes.append(f"equality {name!r} (<{element.tag}>) was left out")


def _turn_to(direction: Array) -> Array:
    """The smallest rotation that brings z to a direction."""
    z = _unit(direction, "zaxis or fromto")
    axis = np.cross([0.0, 0.0, 1.0], z)
    size = float(np.linalg.norm(axis))
    if size < 1e-12:
        return np.eye(3) if z[2] > 0 else rotate("x", np.pi).rotation
    return rotate(axis, float(np.arctan2(size, z[2]))).rotation
