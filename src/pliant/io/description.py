"""The model file as a whole: its sections, and JSON Schema generated from the same declarations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ..model.actuators import Tendon
from ..model.fluid import Fluid
from ..model.loads import Load
from ..model.robot import Robot
from ..model.routing import Along
from .derive import hints_of
from .kinds import ListOf, MappingOf, Numbers
from .parts import HYDRODYNAMICS, MATERIAL, routed
from .records import Parts, Record, Variants
from .settings import SIMULATION, STATICS

__all__ = ["FAMILIES", "FILE", "FLUID", "NAMED", "schema"]

# what a section holds: kinds of parts, each with a method add_… of `Robot`
_LINKS = ("rod", "body")
_ACTUATORS = ("tendon", "push_rod", "chamber", "stress", "active_strain", "motor", "motion")
_BEARINGS = ("friction", "spring", "backlash")
_LOADS = ("wrench", "distributed_wrench", "dipole", "magnet", "coil", "obstacle", "contact")


def _added(kind: str) -> Record:
    """The record of what a method of `Robot` adds."""
    method = getattr(Robot, f"add_{kind}")
    part = hints_of(method)["return"]
    sources = [routed, method, Robot.add_tendon, Tendon, Along] if part is Tendon else [method, part]
    return Record(kind, sources, make=None, part=part)


LINKS = Variants("link", [_added(kind) for kind in _LINKS])
ACTUATORS = Variants("actuator", [_added(kind) for kind in _ACTUATORS])
FAMILIES = Parts(
    Load, form=lambda cls: {"make": None}
)  # descriptions of families of loads that are not part of the package
LOADS = Variants("load", [_added(kind) for kind in _LOADS], more=FAMILIES)
FRAMES = _added("frame")
LOOPS = _added("loop")
COUPLINGS = _added("coupling")
STOPS = _added("stop")
BEARINGS = Variants("bearing", [_added(kind) for kind in _BEARINGS])
FLUID = Record("fluid", [Robot.set_fluid, Fluid], make=None)


def _include(
    file: str, *, base: Literal["fixed", "free"] = "fixed", limits: bool = True, meshes: bool = True
) -> dict[str, Any]:
    """A robot in another file.

    Parameters
    ----------
    file : text
        Its path from the folder of the model file, in which it must lie: .urdf, or .xml of MuJoCo.
    base : "fixed" or "free"
        Whether the root of a URDF robot is fixed to the world or floats.
    limits : bool
        Whether ranges of joints are kept by stops.
    meshes : bool
        Whether its meshes are drawn.
    """
    return {"file": file, "base": base, "limits": limits, "meshes": meshes}


INCLUDE = Record("include", _include)

NAMED: dict[str, Record | Variants] = {
    "links": LINKS,
    "frames": FRAMES,
    "actuators": ACTUATORS,
    "loads": LOADS,
    "loops": LOOPS,
    "couplings": COUPLINGS,
    "stops": STOPS,
    "bearings": BEARINGS,
}
"""Sections of parts with names."""


def _file(
    *,
    name: str = "robot",
    gravity: Annotated[Any, Numbers((3,))] = None,
    include: Annotated[Any, INCLUDE] = None,
    materials: Annotated[Any, MappingOf(MATERIAL)] = None,
    links: Annotated[Any, MappingOf(LINKS)],
    frames: Annotated[Any, MappingOf(FRAMES)] = None,
    actuators: Annotated[Any, MappingOf(ACTUATORS)] = None,
    fluid: Annotated[Any, FLUID] = None,
    hydrodynamics: Annotated[Any, ListOf(HYDRODYNAMICS)] = None,
    loads: Annotated[Any, MappingOf(LOADS)] = None,
    loops: Annotated[Any, MappingOf(LOOPS)] = None,
    couplings: Annotated[Any, MappingOf(COUPLINGS)] = None,
    stops: Annotated[Any, MappingOf(STOPS)] = None,
    bearings: Annotated[Any, MappingOf(BEARINGS)] = None,
    simulation: Annotated[Any, SIMULATION] = None,
    statics: Annotated[Any, STATICS] = None,
) -> None:
    """The whole file.

    Parameters
    ----------
    name : text
        Name of the robot.
    gravity : array (3,)
        Gravity in world axes [m/s²].
    include : mapping
        A robot in another file, URDF or MJCF, to which the links of this one are added.
    materials : mapping
        Materials by name, for `material` of rods.
    links : mapping
        Rods and bodies by name, in the order of their coordinates; a parent comes before what hangs on it.
    frames : mapping
        Named points of interest.
    actuators : mapping
        Tendons, push rods, chambers, stresses, active strains, motors and prescribed motions by name.
    fluid : mapping
        The fluid around the robot.
    hydrodynamics : list
        What the fluid does to which links.
    loads : mapping
        Wrenches, dipoles, magnets, coils, obstacles and contacts by name.
    loops : mapping
        Joints that close loops, by name; motors, motions and stops may name one in place of a link.
    couplings : mapping
        Fixed relations between coordinates by name: gears, belts, screws.
    stops : mapping
        Ends of the ranges of coordinates by name.
    bearings : mapping
        Friction, springs of any characteristic and backlash by name.
    simulation : mapping
        Arguments of `simulate`.
    statics : mapping
        Arguments of `solve_statics`.
    """


_ALIASES = {"tendons": "actuators", "motors": "actuators", "bodies": "links", "rods": "links", "wrenches": "loads"}
_ALIASES |= {"contacts": "loads", "obstacles": "loads", "gears": "couplings", "mimics": "couplings", "limits": "stops"}
_ALIASES |= {"frictions": "bearings", "friction": "bearings", "springs": "bearings", "backlash": "bearings"}
FILE = Record("file", _file, aliases=_ALIASES)


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of model files, for editors and validators.

    Returns
    -------
    dict

    Examples
    --------
    Save it next to your models and let the editor's YAML plugin use it:

    >>> import json, pliant as pl
    >>> text = json.dumps(pl.io.schema(), indent=2)
    """
    defs: dict[str, Any] = {}
    FILE.schema(defs)
    whole = defs.pop("file")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pliant model",
        "description": "A robot made of soft rods and rigid bodies. Units are SI, angles radians.",
        **whole,
        "$defs": defs,
    }
