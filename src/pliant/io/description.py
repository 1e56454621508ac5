"""The model file as a whole: its sections, and JSON Schema generated from the same declarations."""

from __future__ import annotations

from typing import Any

from ..model.actuators import Motor, Tendon
from ..model.fluid import Fluid
from ..model.links import Rod
from ..model.loads import Contact, Dipole, DistributedWrench, Obstacle, PointWrench
from ..model.robot import Robot
from .functions import Function
from .kinds import Choice, Flag, Kind, ListOf, MappingOf, Name, Number, Numbers, Text, Whole
from .parts import JOINT, LOOP_JOINT, MATERIAL, MATERIAL_OR_NAME, OBSTACLE_SHAPE, PATH, ROUTING, SECTION, SHAPE, STRAINS
from .places import FRAME, POSE
from .records import Record, Variants
from .settings import SIMULATION, STATICS
from .source import Place
from .water import HYDRODYNAMICS

__all__ = ["ACTUATORS", "FILE", "FLUID", "FRAMES", "LINKS", "LOADS", "LOOPS", "schema"]

_NUMBER, _WHOLE, _FLAG = Number(), Whole(), Flag()
_DENSITY = Function((6,), (6, 6))
_VECTOR = Function((3,))
_ROD, _LINK = Name("a rod"), Name("a link")
_AXES = Choice(("world", "body"))

_HANGING: dict[str, Kind] = {"parent": FRAME, "joint": JOINT, "offset": POSE, "offset_after": POSE}
LINKS = Variants(
    "link",
    [
        Record(
            "rod",
            None,
            [Robot.add_rod, Rod],
            **_HANGING,
            length=_NUMBER,
            section=SECTION,
            material=MATERIAL_OR_NAME,
            strains=STRAINS,
            reference_strain=Function((6,)),
            stiffness=_DENSITY,
            inertia=_DENSITY,
            damping=_DENSITY,
            points=_WHOLE,
            magnus=Choice((2, 4)),
            collocation=_FLAG,
            integration=Choice(("magnus", "spectral")),
        ),
        Record(
            "body",
            None,
            Robot.add_body,
            **_HANGING,
            shape=SHAPE,
            mass=_NUMBER,
            density=_NUMBER,
            com=Numbers((3,)),
            inertia=Numbers((3,), (3, 3)),
        ),
    ],
)

FRAMES = Record("frame", None, Robot.add_frame, parent=FRAME, offset=POSE)
LOOPS = Record("loop", None, Robot.add_loop, a=FRAME, b=FRAME, joint=LOOP_JOINT)
FLUID = Record("fluid", None, [Robot.set_fluid, Fluid], density=_NUMBER, current=Numbers((3,)))


class _Dof(Kind):
    """A degree of freedom by its number or name."""

    wanted = "the number or the name of a degree of freedom"

    def read(self, place: Place) -> Any:
        return str(place.value) if isinstance(place.value, str) else _WHOLE.read(place)

    def write(self, value: Any, path: str) -> Any:
        return value if isinstance(value, str) else int(value)

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        return {"type": ["integer", "string"]}


ACTUATORS = Variants(
    "actuator",
    [
        Record(
            "tendon",
            None,
            [Robot.add_tendon, Tendon],
            path=PATH,
            **ROUTING,
            control=Choice(("tension", "length", "elastic")),
            stiffness=_NUMBER,
            damping=_NUMBER,
            rest_length=_NUMBER,
            friction=_NUMBER,
            slip_speed=_NUMBER,
            push=_FLAG,
        ),
        Record("push_rod", None, [Robot.add_push_rod, Robot.add_tendon], path=PATH, **ROUTING),
        Record("chamber", None, [Robot.add_chamber, Robot.add_tendon], rod=PATH, area=Function(), **ROUTING),
        Record("stress", None, Robot.add_stress, rod=_ROD, stress=Function((6,))),
        Record(
            "motor",
            None,
            [Robot.add_motor, Motor],
            link=_LINK,
            dof=_Dof(),
            control=Choice(("torque", "position", "velocity")),
            kp=_NUMBER,
            kd=_NUMBER,
            limit=_NUMBER,
        ),
        Record("motion", None, Robot.add_motion, link=_LINK, dof=_Dof()),
    ],
)

LOADS = Variants(
    "load",
    [
        Record(
            "wrench",
            None,
            [Robot.add_wrench, PointWrench],
            parent=FRAME,
            force=Numbers((3,)),
            moment=Numbers((3,)),
            axes=_AXES,
            offset=POSE,
            constant=_FLAG,
        ),
        Record(
            "distributed_wrench",
            None,
            [Robot.add_distributed_wrench, DistributedWrench],
            rod=_ROD,
            force=_VECTOR,
            moment=_VECTOR,
            axes=_AXES,
            constant=_FLAG,
        ),
        Record("dipole", None, [Robot.add_dipole, Dipole], place=FRAME, moment=_VECTOR),
        Record(
            "obstacle",
            None,
            [Robot.add_obstacle, Obstacle],
            shape=OBSTACLE_SHAPE,
            parent=FRAME,
            pose=POSE,
            inside=_FLAG,
        ),
        Record(
            "contact",
            None,
            [Robot.add_contact, Contact],
            link=_LINK,
            other=_LINK,
            stiffness=_NUMBER,
            exponent=_NUMBER,
            damping=_NUMBER,
            friction=_NUMBER,
            slip_speed=_NUMBER,
            per_length=_FLAG,
        ),
    ],
)


def _file(**sections: Any) -> dict[str, Any]:
    """The whole file.

    Parameters
    ----------
    name : text
        Name of the robot.
    gravity : array (3,)
        Gravity in world axes [m/s²].
    materials : mapping
        Materials by name, for `material` of rods.
    links : mapping
        Rods and bodies by name, in the order of their coordinates; a parent comes before what hangs on it.
    frames : mapping
        Named points of interest.
    actuators : mapping
        Tendons, push rods, chambers, stresses, motors and prescribed motions by name.
    fluid : mapping
        The fluid around the robot.
    hydrodynamics : list
        What the fluid does to which links.
    loads : mapping
        Wrenches, dipoles, obstacles and contacts by name.
    loops : mapping
        Loop joints by name.
    simulation : mapping
        Arguments of `simulate`.
    statics : mapping
        Arguments of `solve_statics`.
    """
    return sections


FILE = Record(
    "file",
    _file,
    name=Text(),
    gravity=Numbers((3,)),
    materials=MappingOf(MATERIAL),
    links=MappingOf(LINKS),
    frames=MappingOf(FRAMES),
    actuators=MappingOf(ACTUATORS),
    fluid=FLUID,
    hydrodynamics=ListOf(HYDRODYNAMICS),
    loads=MappingOf(LOADS),
    loops=MappingOf(LOOPS),
    simulation=SIMULATION,
    statics=STATICS,
)
FILE.required.add("links")
FILE.aliases = {"tendons": "actuators", "motors": "actuators", "bodies": "links", "rods": "links", "wrenches": "loads"}
FILE.aliases |= {"contacts": "loads", "obstacles": "loads"}


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
