"""The tables of a robot after some of its numbers have changed, from those before: only what depends on them is made anew.

What a parameter changes follows from where it is in the description:

* material and other resistance, if no function of X is involved: stiffness and damping of that link;
* gravity: itself;
* length or section of a rod without a fluid: that rod, and the tables of all families;
* material of such a rod: that rod;
* everything else (masses of bodies, places, loads): all numbers, while grids and basis values of rods are kept.

Every table is made by the functions that compiling uses, so the result equals that of compiling the changed robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.links import Link, Rod
from ..model.parameters import Parameter
from ..model.robot import Robot
from .assembly import LinkInfo, assemble, reassemble
from .degrees import varies
from .model import Model, packed_model
from .resistance import resist, revise_resistance, write_resistance
from .rods import rod_integrals

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
    if not isinstance(rod, Rod) or path[0] != "content" or varies(rod.section, rod.material) or _has_laws(robot, key):
        return False
    return path[1] in ("material", "section") and path[2] in _RESISTANCE


def _has_laws(robot: Robot, key: int) -> bool:
    """Whether tables of laws and active strains hold the stiffness of a rod."""
    link = robot.links[key]
    active = any(strain.rod == link.name for strain in robot.active_strains.values())
    return isinstance(link.content, Rod) and (bool(link.content.law) or active)


def _resizes(robot: Robot, parameter: Parameter) -> bool:
    """Whether a parameter changes nothing but the rod that has it."""
    where, key, *path = parameter.path
    if where != "links" or path[0] != "content":
        return False
    return isinstance(robot.links[key].content, Rod) and path[1] in ("length", "section", "material")


def revise(old: Model, robot: Robot, changed: Sequence[Parameter], *, near: bool = False) -> Model:
    """The model of a robot that differs from the old one in these parameters; a `near` one hardly, with as many points along its tendons."""
    if all(p.path[0] == "gravity" for p in changed):
        return _other_gravity(old, robot)
    if all(_resists(robot, p) for p in changed):
        return _other_resistance(old, robot, {p.path[1] for p in changed})
    if all(_resizes(robot, p) for p in changed):
        rods = sorted({p.path[1] for p in changed})
        # which know nothing of materials
        loads = any(p.path[3] != "material" or _has_laws(robot, p.path[1]) for p in changed)
        assembly = reassemble(old.assembly, robot, [robot.links[k].name for k in rods], loads=loads, near=near)
        if assembly is not None:
            return packed_model(robot, old.refine, assembly, old)
    steps = {name: info.steps for name, info in old.assembly.links.items() if info.steps is not None}
    like = old.assembly.places if near else None
    return packed_model(robot, old.refine, assemble(robot, old.refine, steps, like=like), old)


def _other_gravity(old: Model, robot: Robot) -> Model:
    """Gravity is in the tables, and in the workspace as it is at first."""
    assembly = replace(old.assembly, places=replace(old.assembly.places, robot=robot))
    packed = old.packed._replace(floats=old.packed.floats.copy(), buffer=old.packed.buffer.copy())
    new = replace(old, robot=robot, assembly=assembly, packed=packed)
    new.tables.gravity[:] = new.work.gravity[:] = robot.gravity
    return new


def _other_resistance(old: Model, robot: Robot, links: set[int]) -> Model:
    """Stiffness and damping of some links, by number, in the places that they have."""
    infos = dict(old.assembly.links)
    names = [robot.links[k].name for k in links]
    for k, name in zip(links, names):
        infos[name] = _relinked(infos[name], robot.links[k])
    places = replace(old.assembly.places, robot=robot)
    resistance = revise_resistance(old.assembly.resistance, infos, names)
    if resistance is not None:
        assembly = replace(old.assembly, links=infos, resistance=resistance, places=places)
        packed = old.packed._replace(floats=old.packed.floats.copy())
        if write_resistance(packed, assembly):
            return replace(old, robot=robot, assembly=assembly, packed=packed)
    resistance = resist(infos, old.assembly.nq, old.assembly.nv)
    return packed_model(robot, old.refine, replace(old.assembly, links=infos, resistance=resistance, places=places))


def _relinked(info: LinkInfo, link: Link) -> LinkInfo:
    """A link with another material, section factors or joint springs."""
    rod, before = link.content, info.link.content
    integrals = info.integrals
    if isinstance(rod, Rod) and isinstance(before, Rod) and rod.section is not before.section:
        assert info.steps is not None
        integrals = rod_integrals(rod, info.steps)
    return replace(info, link=link, integrals=integrals)
