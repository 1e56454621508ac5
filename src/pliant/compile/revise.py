"""The tables of a robot after some of its numbers have changed, from those before: only what depends on them is made anew.

What a parameter changes follows from where it is in the description:

* material and other resistance, if no function of X is involved: stiffness and damping of that link;
* gravity: itself;
* numbers of an actuator or load that say neither where it acts nor on what: the tables of its family;
* everything else (lengths, sections, masses, places): all numbers, while grids and basis values of rods are kept.

Every table is made by the functions that compiling uses, so the result equals that of compiling the changed robot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.links import Rod
from ..model.parameters import Parameter
from ..model.robot import Robot
from .assembly import Assembly, assemble
from .resistance import revise_resistance
from .resolution import varies

__all__ = ["revise"]

_RESISTANCE = ("young", "poisson", "shear_modulus", "viscosity", "damping_time", "shear_factor", "torsion_factor")


def _resists(robot: Robot, parameter: Parameter) -> bool:
    """Whether a parameter changes nothing but the resistance of its link."""
    where, key, *path = parameter.path
    if where != "links":
        return False
    if path[0] == "joint":
        return path[1] in ("stiffness", "damping", "rest")
    rod = robot.links[key].content
    if not isinstance(rod, Rod) or path[0] != "content" or varies(rod.section):
        return False
    return path[1] in ("material", "section") and path[2] in _RESISTANCE


def revise(old: Assembly, robot: Robot, changed: Iterable[Parameter], refine: int = 1) -> Assembly:
    """The assembly of a robot that differs from the old one in these parameters."""
    changed = list(changed)
    if all(p.path[0] == "gravity" for p in changed):
        return replace(old, tables=old.tables._replace(gravity=robot.gravity), places=replace(old.places, robot=robot))
    if all(_resists(robot, p) for p in changed):
        names = {robot.links[p.path[1]].name: robot.links[p.path[1]] for p in changed}
        links = dict(old.links)
        for name, link in names.items():
            links[name] = replace(links[name], link=link)
        return replace(
            old,
            links=links,
            resistance=revise_resistance(old.resistance, links, names),
            places=replace(old.places, robot=robot),
        )
    steps = {name: info.steps for name, info in old.links.items() if info.steps is not None}
    return assemble(robot, refine, steps)
