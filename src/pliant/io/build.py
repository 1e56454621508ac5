"""The description of a file → a robot, with every error of the builder attached to its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..compile.loading import input_names
from ..model.fluid import Hydrodynamics
from ..model.loads import Load
from ..model.robot import Robot
from ..model.rods.sections import Material
from ..model.routing import Along
from ..model.validate import text
from .description import FILE
from .kinds import Reference
from .mjcf import load_mjcf
from .parts import MaterialName, routed
from .places import FRAME, At
from .records import Item, Record
from .source import FAILED, Place
from .urdf import load_urdf

__all__ = ["build"]

_PARTS = 5000  # links, frames, tendons and so on; adding one takes a time that grows with their number
_ANY = Material(1e6, poisson=0.5, density=1e3)  # in place of a wrong one, so that further errors are found


def build(place: Place) -> tuple[Robot, dict[str, Any], dict[str, Any]]:
    """Robot, arguments of `simulate` and arguments of `solve_statics` of a file.

    Raises
    ------
    ModelFileError
        With everything that is wrong.
    """
    if place.is_mapping and isinstance(place.value.get("materials"), dict):
        place.document.materials = place.child("materials")
    sections, _good = FILE.read_keys(place)
    builder = _Builder(place, sections)
    builder.run()
    simulation, statics = (builder.settings(name) for name in ("simulation", "statics"))
    place.document.check()
    return builder.robot, simulation, statics


class _Builder:
    """Adds the parts of a file to a robot."""

    def __init__(self, place: Place, sections: dict[str, Any]) -> None:
        self.place = place
        self.sections = {name: value for name, value in sections.items() if value is not FAILED}
        self.robot = Robot(self.sections.get("name", "robot"))
        if "gravity" in self.sections:
            self.attempt(
                place, lambda: setattr(self, "robot", Robot(self.robot.name, gravity=self.sections["gravity"]))
            )
        if "include" in self.sections:
            self.include(self.sections["include"])
        self.materials: dict[str, Any] = self.sections.get("materials", {})
        self.failed: set[str] = set()  # parts that are wrong: what refers to them is not reported again
        self.done: set[str] = set()

    def run(self) -> None:
        """Add everything, in an order in which each part finds what it refers to."""
        count = sum(len(group) for group in self.sections.values() if isinstance(group, dict))
        if count > _PARTS:
            self.place.fail(f"it has {count} parts; at most {_PARTS} are read.")
            return
        self.check_materials()
        links, frames = self.group("links"), self.group("frames")
        for name, item in links:
            for parent in _references(item.values.get("parent")):
                self.frame_before(str(parent), dict(frames))
            if self.refers_to_failure(item.values) or not self.parent_exists(item):
                del item.values[
                    "parent"
                ]  # there will be no robot, but its own errors, and those of its parts, can be found
            self.add(name, item)
        for name, item in frames:
            self.add_frame(name, item)
        order = {name: k for k, (name, _item) in enumerate(frames)}
        self.robot.frames = dict(sorted(self.robot.frames.items(), key=lambda pair: order[pair[0]]))
        fluid = self.sections.get("fluid")
        if fluid is not None:
            self.attempt(fluid.place, lambda: self.robot.set_fluid(**fluid.values))
        for effect in self.sections.get("hydrodynamics", ()):
            self.add_hydrodynamics(effect)
        loads = self.group("loads")
        known = {"world", *self.robot.frames, *(link.name for link in self.robot.links)}
        late = {item.type for _name, item in loads if not set(map(_part, _references(item.values))) <= known}
        loads.sort(key=lambda pair: pair[1].type in late)  # contacts, which refer to obstacles
        rest = (
            "loops",
            "actuators",
            "stops",
            "bearings",
            "couplings",
        )  # loops first: motors, motions and stops may name one
        for name, item in [*(pair for section in rest for pair in self.group(section)), *loads]:
            self.add(name, item)

    def include(self, values: dict[str, Any]) -> None:
        """Begin with the robot of another file; its name and gravity are those of this one, if it has them."""
        place = self.place.child("include")
        options: dict[str, Any] = {"limits": values["limits"], "meshes": values["meshes"]}
        if "gravity" in self.sections:
            options["gravity"] = self.robot.gravity
        files = place.document.files
        try:
            path = files.find(values["file"])
            options["folder"] = files.home if files.top is None else files.top
            if path.suffix.lower() == ".xml":
                robot = load_mjcf(path, **options)
            else:
                robot = load_urdf(path, base=values["base"], **options)
        except (OSError, ValueError, TypeError, ImportError) as error:
            place.child("file").fail(str(error))
            return
        if "name" in self.sections:
            robot.name = self.robot.name
        self.robot = robot

    def check_materials(self) -> None:
        """Note names of materials that are none, and those that do not exist, also of rods that are wrong otherwise."""
        for own in self.materials:
            try:
                text("the name of a material", own)
            except (TypeError, ValueError) as error:
                self.place.child("materials").child(own).fail(str(error), at_key=True)
        if "links" not in self.sections:
            return
        for _name, link in self.place.child("links").children() if self.sections["links"] else ():
            name = link.value.get("material") if link.is_mapping else None
            if isinstance(name, str) and name not in self.materials:
                message = f"there is no material named {str(name)!r}; {link.suggestion(str(name), self.materials)}"
                link.child("material").fail(message)

    def group(self, section: str) -> list[tuple[str, Item]]:
        """The parts of a section that could be read."""
        named = self.sections.get(section, {})
        self.failed.update(name for name, item in named.items() if item is FAILED)
        return [(name, item) for name, item in named.items() if item is not FAILED]

    # ------------------------------------------------------------ parts

    def add(self, name: str, item: Item) -> None:
        """Add a part by the method of its kind."""
        if self.refers_to_failure(item.values):
            self.failed.add(name)
            return
        values = self.realised(item)
        if values is FAILED:
            self.failed.add(name)
            return
        part, robot = item.record.part, self.robot
        if part is not None and issubclass(part, Load):
            self.attempt(item.place, lambda: robot.add_load(name, part(**self.with_frames(item.record, values))), name)
        else:
            self.attempt(item.place, lambda: getattr(robot, f"add_{item.type}")(name, **values), name)

    def with_frames(self, record: Record, values: dict[str, Any]) -> dict[str, Any]:
        """Arguments with frames for their names."""
        return {
            key: self.robot.resolve(v, field=key) if record.fields[key] is FRAME else v for key, v in values.items()
        }

    def parent_exists(self, item: Item) -> bool:
        """Whether the parent of a link is there; an error is noted if not."""
        try:
            self.robot.resolve(self.frame(item.values.get("parent")))
        except (KeyError, TypeError, ValueError) as error:
            item.place.child("parent").fail(str(error.args[0]))
            return False
        return True

    def add_frame(self, name: str, item: Item) -> None:
        """Add a frame, unless it was needed before."""
        if name not in self.done and name not in self.failed:
            self.done.add(name)
            self.add(name, item)

    def frame_before(self, name: str, frames: dict[str, Item]) -> None:
        """Add a frame on which a link hangs, before the link."""
        if name in frames and name not in self.done:
            for parent in _references(frames[name].values.get("parent")):
                if str(parent) != name:
                    self.frame_before(str(parent), frames)
            self.add_frame(name, frames[name])

    def add_hydrodynamics(self, effect: Any) -> None:
        """Say what the fluid does to some links."""
        if effect is FAILED or self.refers_to_failure(effect.values):
            return
        values = dict(effect.values)
        links = values.pop("links")
        make = Hydrodynamics if effect.type == "Hydrodynamics" else getattr(Hydrodynamics, effect.type)
        self.attempt(effect.place, lambda: self.robot.add_hydrodynamics([str(link) for link in links], make(**values)))

    def realised(self, item: Item) -> Any:
        """Arguments with names of materials and offsets of frames replaced by what they stand for."""
        try:
            values = routed(**item.values)
        except ValueError as error:
            return item.place.child("helical_routing").fail(str(error))
        material = values.get("material")
        if isinstance(material, MaterialName):
            found = self.materials.get(material, FAILED)
            values["material"] = _ANY if found is FAILED else found
        for key, value in values.items():
            try:
                values[key] = [self.frame(v) for v in value] if isinstance(value, list) else self.frame(value)
            except (KeyError, TypeError, ValueError) as error:
                return item.place.child(key).fail(str(error.args[0]))
        return values

    def frame(self, value: Any) -> Any:
        """What stands for a frame, as the builder takes it."""
        if isinstance(value, At):
            return self.robot.resolve(str(value.name)).at(value.offset)
        return str(value) if isinstance(value, Reference) else value

    # ------------------------------------------------------------ errors

    def attempt(self, place: Place, act: Callable[[], Any], name: str | None = None) -> None:
        """Do it; an error is noted at its place. Not done where enough is wrong already, since there will be no robot."""
        if place.document.full:
            return
        try:
            act()
        except (KeyError, TypeError, ValueError) as error:
            message = str(error.args[0]) if error.args else str(error)
            if not _blame_name(place, message):
                place.blame(message)
            if name is not None:
                self.failed.add(name)

    def refers_to_failure(self, values: dict[str, Any]) -> bool:
        """Whether a part refers to one that is wrong."""
        return any(_part(r) in self.failed for r in _references(values))

    # ------------------------------------------------------------ settings

    def settings(self, section: str) -> dict[str, Any]:
        """Arguments of a solver, with the names in them checked."""
        values = self.sections.get(section)
        if not values:
            return {}
        place = self.place.child(section)
        robot = self.robot
        lengths = [name for name, tendon in robot.tendons.items() if tendon.control == "length"]
        links = [link.name for link in robot.links]
        known = {"u": list(input_names(robot)), "motion": [*robot.motions, *lengths], "start": links, "velocity": links}
        words = {"u": "input", "motion": "prescribed motion", "start": "link", "velocity": "link"}
        for key, names in known.items():
            given = values.get(key)
            for name in given if isinstance(given, dict) else ():
                if name not in names and name not in self.failed:
                    message = (
                        f"there is no {words[key]} named {name!r}; {place.suggestion(name, [*names, *self.failed])}"
                    )
                    place.child(key).child(name).fail(message, at_key=True)
        return {
            key: {n: v for n, v in value.items() if v is not FAILED} if isinstance(value, dict) else value
            for key, value in values.items()
        }


def _blame_name(place: Place, message: str) -> bool:
    """Note a problem at the name of another part that the message speaks of; returns whether there is one."""
    children = dict(place.children()) if place.is_mapping else {}
    for child in children.values():
        name = repr(str(child.value)) if isinstance(child.value, str) else None
        if name is not None and (f"named {name}" in message or f"frame {name}" in message):
            child.fail(message)
            return True
    terms = (
        children["terms"].children() if "terms" in children and children["terms"].is_mapping else ()
    )  # of a coupling
    spoken = [
        (message.find(repr(name)), k, child) for k, (key, child) in enumerate(terms) for name in (str(key), _part(key))
    ]
    found = min((entry for entry in spoken if entry[0] >= 0), default=None)
    if found is not None:
        found[2].fail(message, at_key=True)
    return found is not None


def _part(reference: Reference) -> str:
    """The part on which a frame is."""
    return str(reference).partition("@")[0].partition(".")[0]


def _references(value: Any) -> Iterator[Reference]:
    """All names of other parts in an argument."""
    if isinstance(value, MaterialName):
        return
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, At):
        yield value.name
    elif isinstance(value, Along):
        yield Reference(value.rod)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _references(key)
            yield from _references(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _references(entry)
