"""Units of coordinates and inputs, for labels."""

from __future__ import annotations

import numpy as np

from ..model.joints import Joint
from ..model.links import Rod
from ..model.loads import PointWrench
from ..system import System

__all__ = ["STRAIN_UNITS", "coordinate_units", "input_units", "joint_units"]

STRAIN_UNITS = ("rad/m",) * 3 + ("–",) * 3
"""Of torsion, both bendings, stretch and both shears."""


def joint_units(joint: Joint) -> list[str]:
    """Units of the coordinates of a joint of screws, one per degree of freedom."""
    return ["m" if name.startswith("displacement") else "rad" for name in joint.dof_names]


def coordinate_units(system: System) -> dict[str, tuple[int, str]]:
    """Coordinates that are ordinary numbers, by name: where they are in q, and their unit.

    Names are those of `System.dof_names`; a free joint has its position as x, y, z instead (the quaternions of spherical
    and free joints are left out).
    """
    out: dict[str, tuple[int, str]] = {}
    for link in system.robot.links:
        q0, v0, joint = system.q_slice(link).start, system.v_slice(link).start, link.joint
        if joint.kind == "screws":
            for k, unit in enumerate(joint_units(joint)):
                out[system.dof_names[v0 + k]] = q0 + k, unit
        elif joint.kind == "free":
            out |= {f"{link.name}.{c}": (q0 + 4 + k, "m") for k, c in enumerate("xyz")}
        if isinstance(link.content, Rod):
            units = [STRAIN_UNITS[c] for c in link.content.strains.components]
            for k, unit in enumerate(units):
                out[system.dof_names[v0 + joint.nv + k]] = q0 + joint.nq + k, unit
    return out


def input_units(system: System) -> dict[str, str]:
    """Units of the inputs, by name; "–" for factors."""
    robot = system.robot
    out: dict[str, str] = {}
    for name, tendon in robot.tendons.items():
        chamber = callable(tendon.factor) or abs(tendon.factor) != 1.0
        out[name] = "m" if tendon.control == "elastic" else "Pa" if chamber else "N"
    for name, motor in robot.motors.items():
        unit = joint_units(robot.link(motor.link).joint)[motor.dof]
        force = "N m" if unit == "rad" else "N"
        out[name] = {"torque": force, "position": unit, "velocity": f"{unit}/s"}[motor.control]
    for name, wrench in robot.wrenches.items():
        if isinstance(wrench, PointWrench):
            sizes = float(np.linalg.norm(wrench.force)), float(np.linalg.norm(wrench.moment))
            if sizes[1] == 0 and np.isclose(sizes[0], 1):
                out[name] = "N"
            elif sizes[0] == 0 and np.isclose(sizes[1], 1):
                out[name] = "N m"
    return {name: out.get(name, "T" if name.startswith("field_") else "–") for name in system.input_names}
