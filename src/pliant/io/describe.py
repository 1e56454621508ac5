"""A robot → the description of a file: the opposite of `build`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.actuators import Negative, Tendon
from ..model.joints import Fixed
from ..model.links import WORLD, Body, Frame, Link, Rod
from ..model.loads import DistributedWrench
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.rods.sections import Material
from ..model.routing import Along, HelixOffset
from ..model.shapes import Inertia
from .description import ACTUATORS, FLUID, FRAMES, LINKS, LOADS, LOOPS
from .kinds import WriteError, number
from .parts import ALONG, MATERIAL, ROUTING
from .places import write_frame
from .records import Item, Variants
from .settings import SIMULATION, STATICS
from .source import Document, Place
from .water import HYDRODYNAMICS, hydrodynamics_values

__all__ = ["describe"]

_NOWHERE = Place(None, Document(""))


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
    if robot.loads:
        name = next(iter(robot.loads))
        raise WriteError(
            f"load {name!r} is of a family that is not part of pliant, which cannot be written to a model file. Leave it out, and "
            "add it in Python after loading: model.robot.add_load(...)."
        )
    materials = _materials(robot)
    out: dict[str, Any] = {"name": robot.name, "gravity": _plain(robot.gravity)}
    sections: dict[str, Any] = {
        "materials": {name: MATERIAL.write(m, f"materials.{name}") for m, name in materials.items()},
        "links": {link.name: _link(link, materials) for link in robot.links},
        "frames": {name: _frame(name, frame) for name, frame in robot.frames.items()},
        "actuators": _actuators(robot),
        "fluid": None if robot.fluid is None else FLUID.write(robot.fluid, "fluid"),
        "hydrodynamics": _hydrodynamics(robot),
        "loads": _loads(robot),
        "loops": {name: _loop(name, loop) for name, loop in robot.loops.items()},
        "simulation": SIMULATION.write(_known("simulation", simulation, SIMULATION.fields), "simulation"),
        "statics": STATICS.write(_known("statics", statics, STATICS.fields), "statics"),
    }
    out |= {key: value for key, value in sections.items() if value or key == "links"}
    if robot.fluid is not None:
        out["fluid"] = sections["fluid"]
    return out


def _plain(vector: Any) -> list[Any]:
    return [number(x) for x in np.asarray(vector)]


def _known(section: str, values: dict[str, Any] | None, fields: Any) -> dict[str, Any]:
    unknown = [key for key in values or {} if key not in fields]
    if unknown:
        raise WriteError(f"{section}.{unknown[0]} cannot be written to a model file; it can hold {', '.join(fields)}.")
    return values or {}


def _item(kinds: Variants, kind: str, part: Any, **own: Any) -> Item:
    """All keys of a part: what is given here, and of the same name in the part otherwise; so no key is forgotten."""
    fields = kinds.records[kind].fields
    assert set(own) <= set(fields), f"{kind}: {sorted(set(own) - set(fields))} are no keys"
    return Item(_NOWHERE, kind, {key: own[key] if key in own else getattr(part, key) for key in fields})


def _given(pose: Pose) -> Pose | None:
    return None if pose == Pose() else pose


def _where(frame: Frame) -> Frame | None:
    return None if frame == WORLD else frame


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


def _link(link: Link, materials: dict[Material, str]) -> Any:
    hanging = {
        "parent": _where(link.parent),
        "joint": None if link.joint == Fixed() else link.joint,
        "offset": _given(link.offset),
        "offset_after": _given(link.offset_after),
    }
    path = f"links.{link.name}"
    if isinstance(link.content, Rod):
        rod = link.content
        material = None if rod.material is None else materials[rod.material]
        return LINKS.write(_item(LINKS, "rod", rod, **hanging, material=material), path)
    return LINKS.write(_item(LINKS, "body", link.content, **hanging, **_body(link.content)), path)


def _body(body: Body) -> dict[str, Any]:
    inertia = body.inertia
    own: dict[str, Any] = dict.fromkeys(("mass", "density", "com", "inertia"))
    if inertia is None:
        return own
    own |= {"mass": inertia.mass, "com": inertia.com if np.any(inertia.com) else None}
    if body.shape is not None and Inertia.of(body.shape, mass=inertia.mass, com=inertia.com) == inertia:
        return own
    matrix = inertia.inertia
    diagonal = np.diag(matrix)
    if body.shape is None and not np.any(matrix):
        return own
    return {**own, "inertia": diagonal if np.array_equal(np.diag(diagonal), matrix) else matrix}


def _frame(name: str, frame: Frame) -> Any:
    place = Frame(frame.link, frame.X)
    return FRAMES.write({"parent": place, "offset": _given(frame.offset)}, f"frames.{name}")


def _loop(name: str, loop: Any) -> Any:
    joint = None if loop.joint == Fixed() else loop.joint
    return LOOPS.write({"a": loop.a, "b": _where(loop.b), "joint": joint}, f"loops.{name}")


# ---------------------------------------------------------------- actuators


def _actuators(robot: Robot) -> dict[str, Any]:
    out = {name: _line(tendon, f"actuators.{name}") for name, tendon in robot.tendons.items()}
    for name, motor in robot.motors.items():
        limit = motor.limit if np.isfinite(motor.limit) else None
        out[name] = ACTUATORS.write(_item(ACTUATORS, "motor", motor, limit=limit), f"actuators.{name}")
    for name, motion in robot.motions.items():
        out[name] = ACTUATORS.write(_item(ACTUATORS, "motion", motion), f"actuators.{name}")
    for name, stress in robot.stresses.items():
        out[name] = ACTUATORS.write(_item(ACTUATORS, "stress", stress), f"actuators.{name}")
    return out


def _line(tendon: Tendon, path: str) -> Any:
    """A tendon, push rod or chamber."""
    own: dict[str, Any] = dict.fromkeys(ROUTING)
    kind, place = "tendon", "path"
    if tendon.pressure and isinstance(tendon.factor, Negative):
        kind, place = "chamber", "rod"
        own["area"] = tendon.factor.function
    elif callable(tendon.factor):
        raise WriteError(
            f"{path}: its factor {tendon.factor!r} is a Python function, which cannot be written to a model file."
        )
    elif tendon.pressure:
        kind, place = "chamber", "rod"
        own["area"] = -tendon.factor
    elif tendon.factor == -1.0 and tendon.push:
        kind = "push_rod"
    if len(tendon.path) == 1 and isinstance(tendon.path[0], Along):
        piece = tendon.path[0]
        if piece.breaks:
            own[place] = _along(piece, path)
        else:
            own |= {place: piece.rod, **_routing(piece)}
    else:
        own[place] = [
            _along(piece, f"{path}.{place}[{k}]") if isinstance(piece, Along) else write_frame(piece, path)
            for k, piece in enumerate(tendon.path)
        ]
    return ACTUATORS.write(_item(ACTUATORS, kind, tendon, **own), path)


def _along(piece: Along, path: str) -> Any:
    return ALONG.write({"rod": piece.rod, **_routing(piece), "breaks": piece.breaks or None}, path)


def _routing(piece: Along) -> dict[str, Any]:
    ends = {"start": piece.start or None, "end": None if piece.end == 1.0 else piece.end}
    parts = [piece.y, piece.z, piece.dy, piece.dz]
    if isinstance(piece.y, HelixOffset):
        r, turns, phase = piece.y.radius, piece.y.turns, piece.y.phase
        if parts == [HelixOffset(name, r, turns, phase) for name in ("y", "z", "dy", "dz")]:
            radius = r[0] if r[0] == r[1] else r
            return {**ends, "helical_routing": {"radius": radius, "turns": turns, "phase": phase or None}}
    return {"y": piece.y or None, "z": piece.z or None, "dy": piece.dy, "dz": piece.dz, **ends}


# ---------------------------------------------------------------- loads


def _hydrodynamics(robot: Robot) -> list[Any]:
    """Effects of the fluid; neighbours that feel the same stand together."""
    out: list[Any] = []
    for name, effect in robot.hydrodynamics.items():
        kind, values = hydrodynamics_values(effect)
        path = f"hydrodynamics.{name}"
        written = HYDRODYNAMICS.write(_item(HYDRODYNAMICS, kind, effect, links=[name], **values), path)
        if out and {**out[-1], "links": None} == {**written, "links": None}:
            before = out[-1]["links"]
            out[-1]["links"] = [*(before if isinstance(before, list) else [before]), name]
        else:
            out.append(written)
    return out


def _loads(robot: Robot) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, wrench in robot.wrenches.items():
        if isinstance(wrench, DistributedWrench):
            item = _item(LOADS, "distributed_wrench", wrench)
        else:
            place = Frame(wrench.frame.link, wrench.frame.X)
            item = _item(LOADS, "wrench", wrench, parent=place, offset=_given(wrench.frame.offset))
        out[name] = LOADS.write(item, f"loads.{name}")
    for name, dipole in robot.dipoles.items():
        out[name] = LOADS.write(_item(LOADS, "dipole", dipole), f"loads.{name}")
    for name, obstacle in robot.obstacles.items():
        own = {"parent": _where(obstacle.parent), "pose": _given(obstacle.pose)}
        out[name] = LOADS.write(_item(LOADS, "obstacle", obstacle, **own), f"loads.{name}")
    for name, contact in robot.contacts.items():
        out[name] = LOADS.write(_item(LOADS, "contact", contact), f"loads.{name}")
    return out
