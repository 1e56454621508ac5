"""Rigid robots from URDF files."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from ..model.links import Body
from ..model.pose import Pose
from ..model.reading import Folder, XmlError, check_xml, package_of, read_file
from ..model.robot import Robot
from ..model.shapes import Box, Cylinder, Inertia, Shape, Sphere, Visual
from ..model.validate import choice, shown
from .source import ModelFileError, Problem
from .urdf_xml import UrdfGeometry, UrdfLink, UrdfRobot, XmlJoint, parse_urdf

__all__ = ["ImportedRobot", "UrdfJoint", "add_stops", "load_urdf", "read_urdf", "read_xml", "wrong"]

Array = NDArray[np.float64]
_BOUNDED = ("revolute", "prismatic")
_PACKAGES = ("package", "model")  # schemes of names that begin with that of a package
_SINGLE = ("revolute", "continuous", "prismatic")  # types of joints with one coordinate
_LONGEST = 10_000_000  # bytes of a file
_ELEMENTS = 20_000
_SAME = 1e-6  # m: how far the centre of a shape may be from the centre of mass


@dataclass(frozen=True)
class UrdfJoint:
    """What a URDF or MJCF file says about a joint besides its place.

    Attributes
    ----------
    link : str
        The link that it carries; in pliant the joint is that of this link.
    kind : str
        Its type in the file.
    lower, upper : float or None
        Limits of its coordinate [rad, m].
    velocity, effort : float or None
        Largest speed [rad/s, m/s] and torque or force [N m, N].
    """

    link: str
    kind: str
    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class ImportedRobot:
    """A robot from a URDF or MJCF file and what else the file says.

    Attributes
    ----------
    robot : Robot
    joints : dict of UrdfJoint
        By the name of the joint, without fixed ones.
    notes : tuple of str
        What was left out or changed.
    """

    robot: Robot
    joints: dict[str, UrdfJoint]
    notes: tuple[str, ...]


def load_urdf(
    path: str | Path,
    *,
    base: Literal["fixed", "free"] = "fixed",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    limits: bool = True,
    meshes: bool = True,
    folder: str | Path | None = None,
) -> Robot:
    """Make a robot from a URDF file: rigid bodies with the names of the file; rods can then be added to it.

    Parameters
    ----------
    path : path
    base : "fixed" or "free"
        Whether the root link is fixed to the world or floats. A root named "world" is the world itself.
    gravity : array (3,)
        [m/s²].
    limits : bool
        Whether ranges of joints are kept by stops (`Robot.add_stop`), named after the joint with ``_stop`` at its end. Their stiffness lets the largest effort of the file, or the
        weight of the robot at its own size if there is none, go 0.01 rad or 1 mm too far; ``robot.stops`` can be changed.
    meshes : bool
        Whether meshes of the file are drawn (`Visual`); those that are not found are noted.
    folder : path, optional
        The highest folder from which meshes are read; if left out, that of the ROS package (the nearest with a ``package.xml``), or of the file.

    Returns
    -------
    Robot
        One body for each link; its frame is the link's, its joint that which carries the link. Links on fixed joints are
        welded to what carries them, also if they have no mass (tool frames). A joint that mimics another is coupled to it
        (`Robot.add_coupling`), by the name of the joint with ``_mimic`` at its end; dry friction is `Robot.add_friction`, with ``_friction``.

    Raises
    ------
    ModelFileError
        If the file is not complete XML, or what it says makes no robot.

    Warns
    -----
    UserWarning
        If the file has something that changes the motion and is not supported, such as dry friction of a planar joint.
        `read_urdf` lists all that was left out, and limits of joints.

    Examples
    --------
    >>> robot = load_urdf("arm.urdf")  # doctest: +SKIP
    >>> robot.add_rod("finger", parent="tool0", ...)  # doctest: +SKIP
    """
    return read_urdf(path, base=base, gravity=gravity, limits=limits, meshes=meshes, folder=folder).robot


def read_urdf(
    path: str | Path,
    *,
    base: Literal["fixed", "free"] = "fixed",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    limits: bool = True,
    meshes: bool = True,
    folder: str | Path | None = None,
) -> ImportedRobot:
    """Read a URDF file, with the limits of its joints and notes on what was left out; see `load_urdf`."""
    choice("base", base, ("fixed", "free"))
    path = Path(path)
    files = Folder(path.parent, package_of(path) if folder is None else Path(folder)) if meshes else None
    data = read_xml(path, "robot", "URDF file")
    try:
        return _Importer(parse_urdf(data), base, gravity, limits, files).run()
    except (TypeError, ValueError) as error:
        raise wrong(path, str(error)) from None


def wrong(path: Path, message: str, *at: int) -> ModelFileError:
    """An error of a file."""
    return ModelFileError(str(path), [Problem("", message, *at)])


def read_xml(path: Path, root: str, kind: str) -> bytes:
    """The content of an XML file with this root, checked."""
    try:
        data = read_file(path, most=_LONGEST, what=kind)
        check_xml(data, root, elements=_ELEMENTS)
    except XmlError as error:
        raise wrong(path, str(error), *error.at) from None
    except ValueError as error:
        raise wrong(path, str(error)) from None
    return data


class _Importer:
    """Turns parsed links and joints into bodies, parents first."""

    def __init__(self, parsed: UrdfRobot, base: str, gravity: ArrayLike, limits: bool, files: Folder | None) -> None:
        self.parsed, self.base, self.limits, self.files = parsed, base, limits, files
        self.robot = Robot(parsed.name or "robot", gravity=gravity)
        self.joints: dict[str, UrdfJoint] = {}
        self.notes: list[str] = []
        self.reached: set[str] = set()
        self.names = {joint.name for joint in parsed.joints}
        self.dry: dict[str, float] = {}  # friction by joint

    def run(self) -> ImportedRobot:
        links = {link.name: link for link in self.parsed.links}
        if not links:
            raise ValueError("URDF file: it has no links.")
        carried: dict[str, list[XmlJoint]] = {}
        for joint in self.parsed.joints:
            for end in (joint.parent, joint.child):
                if end not in links:
                    raise ValueError(f"URDF joint {joint.name!r}: there is no link {end!r}.")
            carried.setdefault(joint.parent, []).append(joint)
        children = Counter(joint.child for joint in self.parsed.joints)
        twice = sorted(name for name, count in children.items() if count > 1)
        if twice:
            raise ValueError(
                f"URDF link {twice[0]!r} is carried by several joints; close loops with add_loop afterwards."
            )
        for what, parts in (("link", self.parsed.links), ("joint", self.parsed.joints)):
            names = Counter(part.name for part in parts)
            double = sorted(name for name, count in names.items() if count > 1)
            if double:
                raise ValueError(f"URDF file: there are several {what}s named {double[0]!r}; names must differ.")
        roots = [name for name in links if name not in children]
        if len(roots) != 1:
            raise ValueError(
                f"URDF file: exactly one root link is needed, but there are {len(roots)}: {', '.join(roots)}."
            )
        (root,) = roots
        self.reached.add(root)
        is_world = root == "world"
        if is_world and links[root].mass > 0:
            self.notes.append("link 'world' is the world itself; its inertia was left out")
        if not is_world:
            self.add(links[root], None, Free() if self.base == "free" else Fixed(), Pose())
        stack = [(joint, is_world) for joint in reversed(carried.get(root, []))]
        while stack:
            joint, at_world = stack.pop()
            self.reached.add(joint.child)
            floats = at_world and self.base == "free" and joint.type == "fixed"
            moves = Free() if floats else self.joint(joint)
            self.add(links[joint.child], None if at_world else self.name(joint.parent), moves, joint.origin)
            stack += [(child, False) for child in reversed(carried.get(joint.child, []))]
        lost = [name for name in links if name not in self.reached]
        if lost:
            raise ValueError(
                f"URDF link {lost[0]!r} hangs on itself through its joints; a tree with one root is needed."
            )
        for name, friction in self.dry.items():
            self.robot.add_friction(f"{self.name(name)}_friction", self.joints[name].link, coulomb=friction)
        for joint in self.parsed.joints:
            if joint.mimic is not None and joint.type != "fixed":
                self.couple(joint)
        if self.limits:
            ranges = {
                self.name(n): (j.link, j.lower, j.upper, j.effort) for n, j in self.joints.items() if j.kind in _BOUNDED
            }
            add_stops(self.robot, ranges)
        return ImportedRobot(self.robot, self.joints, tuple(self.notes))

    def couple(self, joint: XmlJoint) -> None:
        """Couple a joint to the one that it mimics: its coordinate is multiplier · that one's + offset."""
        told = joint.mimic
        assert told is not None
        if told.joint not in self.names:
            raise ValueError(f"URDF joint {joint.name!r} mimics {told.joint!r}, but there is no such joint.")
        pair = [self.joints.get(name) for name in (joint.name, told.joint)]
        own, other = (None if found is None or found.kind not in _SINGLE else found.link for found in pair)
        if own is None or other is None or own == other:
            self.warn(
                f"joint {joint.name!r} mimics {told.joint!r}, but both must be different joints of one coordinate; here it moves on "
                "its own"
            )
            return
        terms = {own: 1.0} | ({other: -told.multiplier} if told.multiplier else {})
        self.robot.add_coupling(f"{self.name(joint.name)}_mimic", terms, offset=told.offset)

    def name(self, name: str) -> str:
        """A name without the characters that have a meaning in pliant."""
        return name.replace(".", "_").replace("@", "_")

    def joint(self, joint: XmlJoint) -> Joint:
        """The joint, with its limits noted."""
        kind = joint.type
        if kind == "fixed":
            return Fixed()
        self.joints[joint.name] = UrdfJoint(self.name(joint.child), kind, **joint.limit)
        damping, axis = joint.damping, joint.axis
        if joint.friction and kind in _SINGLE:
            self.dry[joint.name] = joint.friction
        elif joint.friction:
            self.warn(f"joint {joint.name!r}: dry friction of a {kind} joint was left out")
        makers = {"revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "planar": Planar}
        if kind in makers:
            return makers[kind](axis, damping=damping)
        if kind == "floating":
            return Free(damping=damping)
        raise ValueError(f"URDF joint {joint.name!r}: type {kind!r} is unknown.")

    def add(self, link: UrdfLink, parent: str | None, joint: Joint, offset: Pose) -> None:
        """Add a link."""
        name = self.name(link.name)
        if name != link.name:
            self.notes.append(f"link {link.name!r} is named {name!r}: '.' and '@' have a meaning of their own")
        inertia = self.inertia(link)
        shape, visual = self.shape(link, inertia), self.visuals(link)
        if shape is not None and not any(v.file for v in visual):
            visual = []  # the shape is what is drawn
        options: dict[str, Any] = {"inertia": inertia, "shape": shape, "visual": visual}
        self.robot.add_body(name, parent=parent, joint=joint, offset=offset, **options)

    def visuals(self, link: UrdfLink) -> list[Visual]:
        """Meshes and shapes to be drawn."""
        out = []
        for part in link.visuals if self.files is not None else ():
            color = None if part.color is None else np.clip(part.color[:3], 0.0, 1.0)
            if part.kind != "mesh":
                own = _primitive(part, np.eye(3))
                out += [] if own is None else [Visual(shape=own, pose=part.pose, color=color)]
                continue
            factor = np.unique(part.size)
            try:
                file = self.found(part.file)
                if file is None:
                    assert self.files is not None
                    raise ValueError(
                        f"it was not found in {shown(str(self.files.top))} and below, where it is read; "
                        "load_urdf(..., folder=...) reads from another folder above the file."
                    )
                if len(factor) > 1 or factor[0] <= 0:
                    raise ValueError("it has different scales along its axes.")
                out.append(Visual(file=str(file), pose=part.pose, scale=float(factor[0]), color=color))
            except (OSError, ValueError, ImportError) as error:
                self.notes.append(f"link {link.name!r}: the visual mesh {shown(part.file)} was left out: {error}")
        return out

    def found(self, name: str) -> Path | None:
        """The file of a mesh: beside the URDF file, or of a package (``package://``), in a folder above it that may be read from; None if there is none."""
        assert self.files is not None
        assert self.files.home is not None
        scheme, sign, inner = name.partition("://")
        tried = [inner if sign and scheme in ("file", *_PACKAGES) else name]
        if sign and scheme in _PACKAGES:
            home, top = (
                Path(os.path.realpath(place)) for place in (self.files.home, self.files.top or self.files.home)
            )
            above = [place for place in (home, *home.parents) if place.is_relative_to(top)]
            tried = [str(place / part) for part in (inner, inner.partition("/")[2]) for place in above]
        return next((path for path in map(self.files.find, tried) if path.is_file()), None)

    def inertia(self, link: UrdfLink) -> Inertia | None:
        """Inertia in the link's frame; None without mass."""
        if not link.mass:
            if link.inertia is not None and np.any(link.inertia):
                self.notes.append(f"link {link.name!r} has an inertia but no mass; the inertia was left out")
            return None
        try:
            own = Inertia(link.mass, (0.0, 0.0, 0.0), np.zeros(3) if link.inertia is None else link.inertia)
        except ValueError as error:
            raise ValueError(f"URDF link {link.name!r}: {error}") from None
        return own.transformed(link.origin)

    def shape(self, link: UrdfLink, inertia: Inertia | None) -> Shape | None:
        """A primitive that sits at the centre of mass along the body's axes, if the link has just one."""
        unread = [(link.collisions, "collision")] + ([(link.visuals, "visual")] if self.files is None else [])
        for parts, word in unread:
            if any(part.kind == "mesh" for part in parts):
                self.notes.append(f"link {link.name!r}: a {word} mesh was left out")
        if inertia is None:
            return None
        for parts in (link.visuals, link.collisions):
            if len(parts) == 1 and np.linalg.norm(parts[0].pose.translation - inertia.com) <= _SAME:
                shape = _primitive(parts[0], parts[0].pose.rotation)
                if shape is not None:
                    return shape
        return None

    def warn(self, note: str) -> None:
        """A note on something that changes the motion."""
        self.notes.append(note)
        warnings.warn(f"URDF: {note}.", UserWarning, stacklevel=5)


def add_stops(robot: Robot, ranges: dict[str, tuple[str, float | None, float | None, float | None]]) -> None:
    """Stops at the ends of ranges: by the name of a joint its link, lower and upper end, and largest effort, each None if it is not known."""
    bodies = [link.content for link in robot.links if isinstance(link.content, Body)]
    mass = sum(body.inertia.mass for body in bodies if body.inertia is not None)
    reach = max([0.1, *(float(np.linalg.norm(link.offset.translation)) for link in robot.links)]) * 3
    weight = max(mass, 1e-3) * max(float(np.linalg.norm(robot.gravity)), 1.0)
    for name, (link, lower, upper, effort) in ranges.items():
        low, high = (-np.inf if lower is None else lower), (np.inf if upper is None else upper)
        if low >= high or (lower is None and upper is None):  # 0, 0 is what is written where nobody thought of a range
            continue
        sliding = robot.link(link).joint.dof_units == ("m",)
        load = effort if effort else weight * (1.0 if sliding else reach)
        robot.add_stop(
            f"{name}_stop", link, lower=low, upper=high, stiffness=load / (1e-3 if sliding else 1e-2), dissipation=0.5
        )


def _primitive(part: UrdfGeometry, rotation: Array) -> Shape | None:
    """A box, cylinder or sphere, if its axes are axes of the body."""
    if part.kind == "sphere":
        return Sphere(float(part.size[0]))
    turn = np.abs(rotation)
    if np.abs(turn - turn.round()).max() > 1e-9:
        return None
    order = turn.round().argmax(axis=1)  # which own axis lies along each body axis
    if part.kind == "box":
        return Box(*part.size[order].tolist())
    if part.kind == "cylinder":
        axis: Any = "xyz"[int(np.flatnonzero(order == 2)[0])]
        radius, length = part.size.tolist()
        return Cylinder(radius, length, axis)
    return None
