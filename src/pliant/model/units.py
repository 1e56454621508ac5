"""Units of coordinates, velocities, generalised forces and inputs: asked from the parts that have them, and from nowhere else.

Joints, strains and actuators state their units (`Joint.dof_units`, `STRAIN_UNITS`, `input_unit` of tendons, motors, …).
The numbers of a part have units by field in its class attribute `units`, or by its method `unit_of` where they depend on other fields (`stated_units`);
nothing is guessed from names. Here those of coordinates are put in the order of the system; of inputs the families of loads do that (`compile.families`). "–" is a number without unit, "" one whose unit nobody stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .links import Rod
from .rods.strains import STRAIN_NAMES, STRAIN_UNITS

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["ACCELERATIONS", "FORCES", "RATES", "Input", "coordinates", "dofs"]

RATES = {"rad": "rad/s", "m": "m/s", "rad/m": "rad/(m s)", "–": "1/s"}
"""Of the velocity of a coordinate, by its own unit."""
ACCELERATIONS = {"rad": "rad/s²", "m": "m/s²", "rad/m": "rad/(m s²)", "–": "1/s²"}
"""Likewise of the acceleration."""
FORCES = {"rad": "N m", "m": "N", "rad/m": "N m²", "–": "N m"}
"""Likewise of the generalised force, whose product with the coordinate is a work [J]."""


@dataclass(frozen=True)
class Input:
    """An input of a robot.

    Attributes
    ----------
    name : str
    unit : str
        Of its value; "–" for a number without unit, "" if nobody stated one.
    lower, upper : float
        Smallest and largest value that is allowed.
    reason : str
        Why so, for the error that a value beyond them is.
    """

    name: str
    unit: str = ""
    lower: float = -np.inf
    upper: float = np.inf
    reason: str = ""


def coordinates(robot: Robot) -> dict[str, str]:
    """Units of the coordinates q by name, in order; "–" for strains without unit and for quaternions."""
    out: dict[str, str] = {}
    for link in robot.links:
        joint = link.joint
        out |= {f"{link.name}.{name}": unit for name, unit in zip(joint.coordinate_names, joint.coordinate_units)}
        out |= {f"{link.name}.{name}": unit for name, unit in _strains(link.content)}
    return out


def dofs(robot: Robot) -> dict[str, str]:
    """Units of small motions along the degrees of freedom by name, in the order of v."""
    out: dict[str, str] = {}
    for link in robot.links:
        out |= {f"{link.name}.{name}": unit for name, unit in zip(link.joint.dof_names, link.joint.dof_units)}
        out |= {f"{link.name}.{name}": unit for name, unit in _strains(link.content)}
    return out


def _strains(content: object) -> list[tuple[str, str]]:
    """Names and units of the strain coordinates of a rod."""
    if not isinstance(content, Rod):
        return []
    return [
        (f"{name}[{k}]", unit)
        for name, unit, basis in zip(STRAIN_NAMES, STRAIN_UNITS, content.strains.bases)
        if basis is not None
        for k in range(basis.size)
    ]
