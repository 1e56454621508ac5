"""A robot → the description of a file: the opposite of `build`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.actuators import Negative, Tendon
from ..model.links import Body, Frame, Link, Rod
from ..model.loads import Load, PointWrench
from ..model.loops import Coupling
from ..model.magnetics import Coil, Magnet
from ..model.robot import Robot
from ..model.rods.laws import UserLaw
from ..model.rods.sections import Material
from ..model.routing import Along
from .code import import_path
from .description import FAMILIES, FILE, FLUID, NAMED
from .kinds import WriteError, number
from .parts import HYDRODYNAMICS, MATERIAL, hydrodynamics_values, routing_values
from .records import Record
from .settings import SIMULATION, STATICS

__all__ = ["describe"]


def describe(
    robot: Robot, *, simulation: dict[str, Any] | None = None, statics: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The description of a robot as numbers, text, lists and dictionaries, as it stands in a file.

    Parameters
    ----------
    robot : Robot
    simulation, statics : dict, optional
        Arguments of `simulate` and `solve_statics`.

    Raises
    ------
    WriteError
        If something in the robot is a Python function.
    """
    if robot.user_loads:
        name = next(iter(robot.user_loads))
        raise WriteError(
            f"load {name!r} is a Python function (add_load), which cannot be written to a model file. Leave it out, and add it "
            "in Python after loading: model.robot.add_load(...)."
        )
    materials = _materials(robot)
    sections: dict[str, Any] = {
        "name": robot.name,
        "gravity": [number(x) for x in robot.gravity],
        "materials": {name: MATERIAL.write(m, f"materials.{name}") for m, name in materials.items()},
        **_named(robot, materials),
        "hydrodynamics": _hydrodynamics(robot),
        "simulation": SIMULATION.write(_known("simulation", simulation, SIMULATION), "simulation"),
        "statics": STATICS.write(_known("statics", statics, STATICS), "statics"),
    }
    if robot.fluid is not None:
        sections["fluid"] = FLUID.write(robot.fluid, "fluid")
    always = ("name", "gravity", "links", "fluid")
    return {key: sections[key] for key in FILE.fields if key in sections and (sections[key] or key in always)}


def _known(section: str, values: dict[str, Any] | None, record: Record) -> dict[str, Any]:
    unknown = [key for key in values or {} if key not in record.fields]
    if unknown:
        raise WriteError(
            f"{section}.{unknown[0]} cannot be written to a model file; it can hold {', '.join(record.fields)}."
        )
    return values or {}


def _named(robot: Robot, materials: dict[Material, str]) -> dict[str, dict[str, Any]]:
    """The sections of parts with names."""
    out: dict[str, dict[str, Any]] = {section: {} for section in NAMED}
    groups = {
        key: {part.name: part for part in group} if key == "links" else group for key, group in vars(robot).items()
    }
    del groups["hydrodynamics"]  # parts without names of their own
    for group in groups.values():
        for name, part in group.items() if isinstance(group, dict) else ():
            section, kind = _home(name, part)
            path = f"{section}.{name}"
            values = _values(robot, part, path, materials)
            record = NAMED[section]
            written = record.write(values, path) if isinstance(record, Record) else record.write_as(kind, values, path)
            out[section][name] = written
    return out


def _home(name: str, part: Any) -> tuple[str, str]:
    """Section and kind of a part."""
    kind = None  # of classes that are several kinds
    if isinstance(part, Link):
        kind = "rod" if part.is_rod else "body"
    elif isinstance(part, Tendon):
        kind = part.kind.replace(" ", "_")
    for section, records in NAMED.items():
        named = {records.name: records} if isinstance(records, Record) else records.records
        for own, record in named.items():
            if record.part is type(part) and kind in (None, own):
                return section, own
    reason = FAMILIES.why_not(type(part)) if isinstance(part, Load) else ""
    raise WriteError(
        f"{name!r} = {part!r} cannot be written to a model file. {reason} Leave it out, and add it in Python after loading."
    )


def _values(robot: Robot, part: Any, path: str, materials: dict[Material, str]) -> dict[str, Any]:
    """The keys of a part: its attributes, but for what a file says in another way."""
    own: dict[str, Any] = {}
    if isinstance(part, Link):
        own = vars(part.content) if isinstance(part.content, Rod) else _body(part.content)
        own = {**own, "material": materials.get(own["material"]) if "material" in own else None}
        laws = own.get("law", ())
        if any(isinstance(law, UserLaw) and import_path(law.function) is None for law in laws):
            raise WriteError(
                f"{path}: its law is a Python function, which cannot be written to a model file unless it stands at the top of a module that can be imported. Leave it out, and add the rod in Python."
            )
        own["law"] = None if not laws else laws[0] if len(laws) == 1 else list(laws)
    elif isinstance(part, Tendon):
        own = _line(part, path)
    elif isinstance(part, (Frame, PointWrench, Magnet, Coil)):
        frame = part if isinstance(part, Frame) else part.frame
        own = {"parent": Frame(frame.link, frame.X), "offset": frame.offset}
    elif isinstance(part, Coupling):
        own = {"terms": {_coordinate(robot, link, dof): ratio for link, dof, ratio in part.terms}}
    return {**vars(part), **own}


def _coordinate(robot: Robot, link: str, dof: int) -> str:
    """The name of a coordinate of a joint: that of its link, if it has no other."""
    names = robot.link(link).joint.dof_names
    return link if len(names) == 1 else f"{link}.{names[dof]}"


# ---------------------------------------------------------------- links


def _materials(robot: Robot) -> dict[Material, str]:
    """A name for each material."""
    found: dict[Material, str] = {}
    for link in robot.links:
        if isinstance(link.content, Rod) and link.content.material is not None and link.content.material not in found:
            found[link.content.material] = f"material{len(found) + 1}"
    if len(found) == 1:
        return dict.fromkeys(found, "material")
    return found


def _body(body: Body) -> dict[str, Any]:
    """Shape and inertia as they were given."""
    inertia = body.inertia
    own: dict[str, Any] = {"shape": body.shape, "density": body.density, "visual": list(body.visual) or None}
    if inertia is None:
        return own
    own |= {"mass": inertia.mass if body.density is None else None, "com": inertia.com if np.any(inertia.com) else None}
    matrix, diagonal = inertia.inertia, np.diag(inertia.inertia)
    if body.uniform or (body.shape is None and not np.any(matrix)):
        return own
    return {**own, "inertia": diagonal if np.array_equal(np.diag(diagonal), matrix) else matrix}


# ---------------------------------------------------------------- tendons, fluid


def _line(tendon: Tendon, path: str) -> dict[str, Any]:
    """Where a tendon, push rod or chamber runs, and the area of a chamber."""
    own: dict[str, Any] = {}
    place, factor = ("rod" if tendon.pressure else "path"), tendon.factor
    if isinstance(factor, Negative) and tendon.pressure:
        own["area"] = factor.function
    elif callable(factor):
        raise WriteError(
            f"{path}: its factor {factor!r} is a Python function, which cannot be written to a model file."
        )
    elif tendon.pressure:
        own["area"] = -factor
    elif factor != 1.0 and not (factor == -1.0 and tendon.push):
        raise WriteError(
            f"{path}: its factor {factor!r} cannot be written to a model file; 1 and, for a push rod, -1 can."
        )
    piece = tendon.path[0]
    if len(tendon.path) > 1 or not isinstance(piece, Along):
        return {**own, place: list(tendon.path)}
    return {**own, place: piece} if piece.breaks else {**own, **routing_values(piece), place: piece.rod}


def _hydrodynamics(robot: Robot) -> list[Any]:
    """Effects of the fluid; neighbours that feel the same stand together."""
    out: list[Any] = []
    for name, effect in robot.hydrodynamics.items():
        kind, values = hydrodynamics_values(effect)
        written = HYDRODYNAMICS.write_as(kind, {**values, "links": [name]}, f"hydrodynamics.{name}")
        if out and {**out[-1], "links": None} == {**written, "links": None}:
            before = out[-1]["links"]
            out[-1]["links"] = [*(before if isinstance(before, list) else [before]), name]
        else:
            out.append(written)
    return out
