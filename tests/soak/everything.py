"""Random robots with parts of many families at once: what `parts` draws one or two of, these have side by side.

Seeds from `EVERYTHING` on; `robot_of` knows both kinds. Sizes and moduli are drawn over fewer decades than in `parts`, so that what these robots do can be compared to many digits. Every
family stands with its own probability; `FAMILIES` says which. A seed names a robot as long as this file and `parts` stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from parts import JOINTS, Maker, decades, random_robot

import pliant as pl

EVERYTHING = 2_000_000

LAWS = (
    lambda E, M, L: pl.Polynomial(bending=(0.05 * L**2, 0.01 * L**4)),
    lambda E, M, L: pl.Yeoh(c2=0.3 * E, c3=0.1 * E),
    lambda E, M, L: pl.Prony(g=(0.4, 0.2), tau=(0.02, 0.3)),
    lambda E, M, L: pl.Springpot(exponent=0.3, time=0.01, band=(1.0, 100.0), branches=3),
    lambda E, M, L: pl.BoucWen(bending=(0.5 * M, 1.0 / L), exponent=2, beta=0.6),
    lambda E, M, L: pl.PrandtlIshlinskii(bending=[(0.3, 0.5 / L), (0.2, 2.0 / L)]),
    lambda E, M, L: pl.Plastic(bending=0.5 * M, hardening=0.1),
    lambda E, M, L: (pl.NeoHookean(), pl.Prony(g=0.3, tau=0.05)),
)
"""Of a modulus, a bending moment and a length."""


class Whole(Maker):
    """Builds one robot, family by family."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = self.rng
        self.size = decades(rng, 0.1, 0.5)
        self.young = decades(rng, 1e5, 1e7)
        self.density = decades(rng, 800, 2000)
        self.damped = True
        self.robot = pl.Robot(f"whole {seed}", gravity=rng.normal(size=3) * 5)
        self.weight = self.density * (0.1 * self.size) ** 3 * 10  # N, of a body of a tenth of the size
        self.torque = self.weight * self.size  # N m

    # ------------------------------------------------------------ links

    def link_joint(self, first: bool) -> pl.Joint:
        """A joint with damper and mostly with a spring."""
        rng = self.rng
        names = list(JOINTS) if first else [name for name in JOINTS if name != "free"]
        name = self.pick(["revolute", "revolute", "fixed", *names])
        spring: dict[str, Any] = {}
        if name != "fixed":
            spring["damping"] = self.torque * decades(rng, 0.03, 0.3)
            if self.chance(0.8):
                spring["stiffness"] = self.torque * decades(rng, 1, 100)
        return JOINTS[name](rng, spring)

    def chain(self) -> None:
        """Two to four links, one rod with a section at least."""
        rng = self.rng
        count = int(rng.integers(2, 5))
        kinds = ["rod", *(self.pick(["rod", "body"]) for _ in range(count - 1))]
        for k, kind in enumerate(rng.permutation(kinds)):
            joint = self.link_joint(first=k == 0)
            place = {
                "parent": self.parent(),
                "joint": joint,
                "offset": pl.translate(*(rng.normal(size=3) * 0.1 * self.size)) @ pl.rotate(rng.normal(size=3), rng.uniform(-1, 1)),
            }  # fmt: skip
            if kind == "body":
                a = self.size * rng.uniform(0.05, 0.1)
                shape = self.pick([pl.Sphere(a), pl.Box(a, 1.5 * a, 0.7 * a), pl.Cylinder(a, 2 * a, "y")])
                com = rng.normal(size=3) * 0.3 * a if self.chance(0.5) else (0, 0, 0)
                link = self.robot.add_body(f"body{k}", shape=shape, density=self.density, com=com, **place)
                self.bodies.append(link)
            else:
                radius = self.size * decades(rng, 0.02, 0.06)
                section = self.pick([pl.Circle((radius, 0.7 * radius)), pl.Annulus(radius, 0.5 * radius), pl.Ellipse(radius, 0.7 * radius), pl.Circle(radius)])  # fmt: skip
                strains = pl.Strains(
                    torsion=0, bending=self.pick([1, 2, pl.LinearElements(2)]), stretch=self.pick([0, 1]),
                    **({"shear": 0} if self.chance(0.3) else {}),
                )  # fmt: skip
                material = pl.Material(young=self.young, poisson=0.5, density=self.density, damping_time=decades(rng, 1e-3, 1e-2))  # fmt: skip
                laws = {}
                if self.chance(0.3):
                    laws["law"] = self.pick(LAWS)(self.young, self.young * np.pi / 4 * radius**4 / self.size, self.size)
                link = self.robot.add_rod(
                    f"rod{k}", length=self.size * rng.uniform(0.5, 1.0), strains=strains, section=section, material=material,
                    **place, **laws,
                )  # fmt: skip
                self.rods.append(link)
                self.radius[link.name] = radius
            self.touching.append(link)

    @property
    def links(self) -> list[pl.Link]:
        """All links, in order."""
        return list(self.robot.links)

    def hinged(self) -> list[pl.Link]:
        """Links whose joint has coordinates with names."""
        return [link for link in self.links if link.joint.nv and link.joint.group is None]

    def turning(self) -> list[pl.Link]:
        """Links with a single angle."""
        return [link for link in self.links if link.joint.nv == 1 and link.joint.dof_units == ("rad",)]

    def place_on(self, link: pl.Link) -> pl.Frame:
        """A point of a link away from its axis."""
        if link.is_rod:
            return link.at(float(self.pick([0.3, 0.7, 1.0])))
        return link.at((0.0, 0.03 * self.size, 0.02 * self.size))

    # ------------------------------------------------------------ families

    def pulled(self, name: str) -> None:
        rod = self.pick(self.rods)
        r = self.offset_inside(rod)
        self.robot.add_tendon(name, rod, **self.pick([{"y": r}, {"z": (r, 0.5 * r), "end": 0.8}]))

    def sliding(self, name: str) -> None:
        self.robot.add_tendon(name, (rod := self.pick(self.rods)), z=self.offset_inside(rod), friction=self.rng.uniform(0.1, 0.4), slip_speed=0.01)  # fmt: skip

    def elastic(self, name: str) -> None:
        rod = self.pick(self.rods)
        stiffness = 0.1 * self.young * np.pi * self.radius[rod.name] ** 2 / rod.content.length
        rest = rod.content.length * self.rng.uniform(0.98, 1.02)  # taut or slack at first
        self.robot.add_tendon(name, rod, y=self.offset_inside(rod), control="elastic", stiffness=stiffness, damping=0.01 * stiffness, rest_length=rest)  # fmt: skip

    def held(self, name: str) -> None:
        self.robot.add_tendon(name, (rod := self.pick(self.rods)), y=0.2 * self.radius[rod.name], control="length")

    def strung(self, name: str) -> None:
        links = self.links
        ends = [self.place_on(links[0]), self.place_on(links[-1])]
        if len(links) > 2 and self.chance(0.5):
            ends.insert(1, self.place_on(links[1]))
        if self.chance(0.3):
            ends.insert(0, self.robot.add_frame(f"{name} anchor", None, offset=self.rng.normal(size=3) * self.size))
        if self.chance(0.5):
            k = self.weight / (0.1 * self.size)
            self.robot.add_tendon(name, ends, control="elastic", stiffness=k, damping=0.01 * k)
        else:
            self.robot.add_tendon(name, ends)

    def push(self, name: str) -> None:
        self.robot.add_push_rod(name, (rod := self.pick(self.rods)), z=self.offset_inside(rod))

    def chamber(self, name: str) -> None:
        rod = self.pick(self.rods)
        self.robot.add_chamber(name, rod, area=0.1 * self.radius[rod.name] ** 2, y=self.offset_inside(rod))

    def gas(self, name: str) -> None:
        rod = self.pick(self.rods)
        area = 0.1 * self.radius[rod.name] ** 2
        kind = self.pick(["sealed", "syringe", "flow", "valve"])
        more: dict[str, Any] = {"conductance": 1e-3 * area * rod.content.length / 1e5} if kind == "valve" else {}
        if more and self.chance(0.5):
            more["critical"] = 0.3
        self.robot.add_load(name, pl.Gas(pl.Along(rod.name, y=self.offset_inside(rod)), area=area, supply=kind, dead_volume=0.5 * area * rod.content.length, pressure=0.01 * self.young, ambient=0.1 * self.young, **more))  # fmt: skip

    def stress(self, name: str) -> None:
        rod = self.pick(self.rods)
        EI = self.young * np.pi / 4 * self.radius[rod.name] ** 4
        self.robot.add_stress(name, rod, [*(self.rng.normal(size=3) * EI / self.size), 0, 0, 0])

    def active(self, name: str) -> None:
        self.robot.add_active_strain(name, self.pick(self.rods), [0, *(self.rng.normal(size=2) / self.size), 0, 0, 0])

    def motor(self, name: str) -> None:
        for link in self.hinged()[:1]:
            gains = self.pick([{}, {"control": "position", "kp": 5 * self.torque, "kd": 0.5 * self.torque}, {"control": "velocity", "kd": self.torque}])  # fmt: skip
            if link.joint.nv == 1:
                self.robot.add_motor(name, link, **gains)
            else:
                self.robot.add_motor(name, link, dof=link.joint.nv - 1)

    def prescribed(self, name: str) -> None:
        free = [
            link for link in self.turning() if not any(motor.link == link.name for motor in self.robot.motors.values())
        ]
        if len(free) > 1:
            self.robot.add_motion(name, free[-1])

    def wrench(self, name: str) -> None:
        rng = self.rng
        self.robot.add_wrench(
            name, self.pick(self.links), force=rng.normal(size=3) * self.weight, moment=rng.normal(size=3) * 0.1 * self.torque,
            axes=self.pick(["world", "body"]), constant=self.chance(0.5), offset=pl.translate(*rng.normal(size=3) * 0.05 * self.size),
        )  # fmt: skip

    def spread(self, name: str) -> None:
        self.robot.add_distributed_wrench(name, self.pick(self.rods), force=self.rng.normal(size=3) * self.weight / self.size, axes=self.pick(["world", "body"]), constant=self.chance(0.5))  # fmt: skip

    def dipole(self, name: str) -> None:
        self.robot.add_dipole(name, self.pick(self.links), moment=self.rng.normal(size=3) * self.torque)

    def magnet(self, name: str) -> None:
        m = 0.1 * np.sqrt(self.weight * self.size**4 / 1e-7)
        self.robot.add_magnet(name, self.pick(self.bodies or self.rods), moment=self.rng.normal(size=3) * m)
        at = self.rng.normal(size=3)
        self.robot.add_magnet(f"{name} far", None, moment=self.rng.normal(size=3) * m, offset=3 * self.size * at / np.linalg.norm(at), constant=self.chance(0.5))  # fmt: skip

    def coil(self, name: str) -> None:
        self.robot.add_coil(name, None, radius=3 * self.size, turns=100, axis=self.rng.normal(size=3), arrangement=self.pick(["single", "helmholtz", "maxwell"]))  # fmt: skip
        if not self.robot.dipoles:
            self.dipole(f"{name} dipole")

    def stop(self, name: str) -> None:
        for link in self.hinged()[-1:]:
            reach = 0.1 if link.joint.dof_units[0] == "rad" else 0.02 * self.size
            k = 100 * (self.torque if link.joint.dof_units[0] == "rad" else self.weight / self.size)
            bounce = self.pick([{"dissipation": 0.1}, {"restitution": 0.5}])
            self.robot.add_stop(name, link, lower=-reach, upper=reach, stiffness=k, **bounce)

    def friction(self, name: str) -> None:
        for link in self.turning()[:1]:
            self.robot.add_friction(name, link, coulomb=0.1 * self.torque, viscous=0.01 * self.torque, **self.pick([{}, {"breakaway": 0.15 * self.torque, "stribeck": 0.1}]))  # fmt: skip

    def spring(self, name: str) -> None:
        for link in self.turning()[-1:]:
            torque = self.pick([(0, 5 * self.torque, 0, 50 * self.torque), pl.Characteristic([-1, -0.2, 0.3, 1], [-5 * self.torque, 0, 0, 3 * self.torque], kind="linear")])  # fmt: skip
            self.robot.add_spring(name, link, torque=torque, gap=0.02 if self.chance(0.5) else 0.0)

    def backlash(self, name: str) -> None:
        links = self.turning()
        if len(links) > 1:
            more = self.pick([{"restitution": 0.4}, {"dissipation": 0.1}])
            self.robot.add_backlash(name, {links[0].name: 1.0, links[-1].name: -0.7}, gap=0.02, stiffness=100 * self.torque, **more)  # fmt: skip

    def coupling(self, name: str) -> None:
        links = [link for link in self.turning() if not any(m.link == link.name for m in self.robot.motions.values())]
        if len(links) > 1:
            self.robot.add_coupling(name, {links[0].name: 1.0, links[1].name: -0.7})

    def contact(self, name: str) -> None:
        rng, a = self.rng, self.size
        shape, inside = self.pick([
            (pl.HalfSpace(), False), (pl.Sphere(0.5 * a), False), (pl.Box(a, a, 0.3 * a), False), (pl.Capsule(0.1 * a, a, "z"), False), (pl.Sphere(3 * a), True),
        ])  # fmt: skip
        place = None if inside else pl.translate(*(rng.normal(size=3) * 0.7 * a)) @ pl.rotate(rng.normal(size=3), 1.0)
        thing = f"{name} thing"
        self.robot.add_obstacle(thing, shape, pose=place, inside=inside)
        k = 100 * self.weight / (0.01 * a) ** 1.5
        more = self.pick([{"damping": 0.5}, {"restitution": 0.3}, {}])
        friction = {"friction": rng.uniform(0.2, 0.6)} if self.chance(0.6) else {}
        for j, link in enumerate(self.touching):
            if self.chance(0.8):
                self.robot.add_contact(f"{name} {j}", link, thing, stiffness=k, **more, **friction)

    def between(self, name: str) -> None:
        if len(self.touching) > 2:
            one, two = self.touching[0], self.touching[-1]
            self.robot.add_contact(name, one, two, stiffness=10 * self.weight / (0.01 * self.size) ** 1.5, damping=0.5)

    def water(self, name: str) -> None:
        rng = self.rng
        self.robot.set_fluid(density=1000.0, current=rng.normal(size=3) * 0.1)
        for link in self.links:
            if link.is_rod:
                oval = isinstance(link.content.section, pl.Ellipse)
                effect = pl.Hydrodynamics.elliptic() if oval else pl.Hydrodynamics.circular(tail=self.chance(0.3))
            else:
                effect = pl.Hydrodynamics(linear_drag=(1e-3, 1e-3, 1e-3)) if self.chance(0.5) else pl.Hydrodynamics()
            self.robot.add_hydrodynamics(link, effect)
        stream = self.pick([None, "wave", "profile", "gust"])
        if stream == "wave":
            self.robot.add_load(
                name, pl.Wave(amplitude=0.05 * self.size, length=5 * self.size, direction=rng.normal(size=3))
            )
        elif stream == "profile":
            self.robot.add_load(name, pl.Profile(rng.normal(size=3) * 0.1, height=self.size, exponent=1.0, ground=-5 * self.size))  # fmt: skip
        elif stream == "gust":
            self.robot.add_load(name, pl.Gust(rng.normal(size=3)))

    def loop(self, name: str) -> None:
        link, size = self.links[-1], self.size
        place = link.tip if link.is_rod else self.place_on(link)
        system = self.robot.compile()
        here = system.pose(place, system.neutral())
        k = self.torque
        spring = {"stiffness": k, "damping": 0.1 * k}
        joint = self.pick([
            pl.Revolute("z", **spring), pl.Cylindrical("x"), pl.Spherical(**spring), pl.Universal("x", "y"), pl.Slot("x"), pl.Rows("y", "x"),
            pl.Distance(0.3 * size), pl.Planar("z"), pl.Prismatic("y"), pl.Fixed(), pl.Skate("y"),
        ])  # fmt: skip
        if isinstance(joint, pl.Distance):
            home = self.robot.add_frame(
                f"{name} home", None, offset=pl.Pose(translation=here[:3, 3] + [0.0, 0.3 * size, 0.0])
            )
        elif self.chance(0.5) and len(self.links) > 2:
            first = self.links[0]
            base = system.pose(first, system.neutral())
            home = self.robot.add_frame(
                f"{name} home", first.at(0.0) if first.is_rod else first, offset=np.linalg.inv(base) @ here
            )
        else:
            home = self.robot.add_frame(f"{name} home", None, offset=here)
        self.robot.add_loop(name, home, place, joint=joint)

    def own(self, name: str) -> None:
        c = 0.1 * self.weight
        self.robot.add_load(name, self.pick(self.links), lambda pose, twist, inputs: -c * twist)

    def tubes(self, name: str) -> None:
        inner = pl.Tube(straight=0.1, curved=0.1, curvature=8.0, outer=0.8e-3, inner=0.6e-3, young=60e9)
        outer = pl.Tube(straight=0.1, curved=0.05, curvature=5.0, outer=1.2e-3, inner=1.0e-3, young=60e9)
        self.robot.add_tubes(name, [inner, outer], insertion=[-0.1, -0.1], order=2, damping_time=1e-2)

    FAMILIES = (
        (pulled, 0.5), (sliding, 0.2), (elastic, 0.4), (held, 0.15), (strung, 0.3), (push, 0.2), (chamber, 0.2), (gas, 0.3), (stress, 0.2),
        (active, 0.2), (motor, 0.4), (prescribed, 0.15), (wrench, 0.5), (spread, 0.3), (dipole, 0.2), (magnet, 0.15), (coil, 0.15), (stop, 0.3),
        (friction, 0.25), (spring, 0.3), (backlash, 0.2), (coupling, 0.15), (contact, 0.4), (between, 0.15), (water, 0.25), (loop, 0.25), (own, 0.15),
        (tubes, 0.03),
    )  # fmt: skip
    """How a family is added, and how often a robot has it; two of a family are as likely again."""

    def make(self) -> pl.Robot:
        """The robot."""
        self.chain()
        for k in self.rng.permutation(len(self.FAMILIES)):
            add, often = self.FAMILIES[k]
            name = add.__name__
            if self.chance(often):
                add(self, name)
                if name in ("pulled", "elastic", "held", "wrench", "gas", "strung") and self.chance(often):
                    add(self, f"{name} too")
        return self.robot


def robot_of(seed: int) -> pl.Robot:
    """The robot of a seed, of either generator."""
    return random_robot(seed) if seed < EVERYTHING else Whole(seed).make()
