"""The families of loads and actuators. `FAMILIES` is their only list; its order is that of the inputs."""

from __future__ import annotations

from ...model.robot import Robot
from ...model.units import Input
from ..family import Family
from .bearings import BEARINGS
from .contact import CONTACT
from .efforts import EFFORTS
from .gas import GASES
from .laws import LAWS
from .loops import LOOPS
from .magnets import MAGNETS
from .streams import STREAMS
from .tendons import TENDONS
from .tubes import TUBES
from .user import USER
from .water import WATER
from .wrenches import WRENCHES

__all__ = ["FAMILIES", "families_of", "inputs_of"]

FAMILIES: tuple[Family, ...] = (
    TENDONS,
    EFFORTS,
    WRENCHES,
    MAGNETS,
    WATER,
    CONTACT,
    USER,
    LOOPS,
    TUBES,
    BEARINGS,
    LAWS,
    GASES,
    STREAMS,
)


def families_of(robot: Robot) -> tuple[Family, ...]:
    """All families that are part of the package, and those that the robot's loads bring with them."""
    families = {family.name: family for family in FAMILIES}
    for name, load in robot.loads.items():
        family = getattr(load, "family", None)
        if not isinstance(family, Family):
            raise TypeError(f"load {name!r}: {type(load).__name__}.family = {family!r} must be a Family.")
        if families.setdefault(family.name, family) is not family:
            raise ValueError(f"load {name!r}: there is another family of the name {family.name!r}; rename one of them.")
    return tuple(families.values())


def inputs_of(robot: Robot) -> tuple[Input, ...]:
    """All inputs of a robot in order, with units and bounds."""
    return tuple(own for family in families_of(robot) for own in family.inputs(robot))
