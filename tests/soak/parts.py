"""Random robots of every kind of part: what `make soak` feeds to pliant.

A robot is a function of its seed alone. Sizes are drawn over decades (rods of 5 cm to 1 m, moduli of 1e4 to 1e9 Pa, robots with
and without damping), so that many of them are badly conditioned, stiff, or heavily loaded, as users' robots are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pliant as pl

JOINTS: dict[str, Callable[[np.random.Generator, dict[str, Any]], pl.Joint]] = {
    "fixed": lambda rng, spring: pl.Fixed(),
    "revolute": lambda rng, spring: pl.Revolute(rng.normal(size=3), **spring),
    "prismatic": lambda rng, spring: pl.Prismatic(rng.normal(size=3), **spring),
    "helical": lambda rng, spring: pl.Helical(rng.normal(size=3), pitch=rng.uniform(0.01, 0.3), **spring),
    "universal": lambda rng, spring: pl.Universal("x", rng.normal(size=3), **spring),
    "cylindrical": lambda rng, spring: pl.Cylindrical(rng.normal(size=3), **spring),
    "planar": lambda rng, spring: pl.Planar(rng.normal(size=3), **spring),
    "spherical": lambda rng, spring: pl.Spherical(**spring),
    "free": lambda rng, spring: pl.Free(**spring),
}

BASES: tuple[Callable[[np.random.Generator], pl.Basis], ...] = (
    lambda rng: pl.Legendre(int(rng.integers(0, 5))),
    lambda rng: pl.Chebyshev(int(rng.integers(0, 4))),
    lambda rng: pl.Monomial(int(rng.integers(0, 4))),
    lambda rng: pl.PiecewiseConstant(int(rng.integers(1, 5))),
    lambda rng: pl.LinearElements(int(rng.integers(1, 4))),
    lambda rng: pl.QuadraticElements(int(rng.integers(1, 3))),
    lambda rng: pl.HermiteElements(int(rng.integers(1, 3))),
    lambda rng: pl.Fourier(int(rng.integers(1, 3))),
    lambda rng: pl.Gaussian(int(rng.integers(2, 4))),
    lambda rng: pl.InverseMultiquadric(int(rng.integers(2, 4))),
)

LATER = 2000  # from this seed on there are more kinds of parts: the robots of those before stay what they are
LOOPS = 4000  # and from this one on more of what closes loops
STRAINS = ("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")


def decades(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def pose(rng: np.random.Generator, size: float) -> pl.Pose:
    """A random pose near the origin."""
    return pl.translate(*(rng.normal(size=3) * size)) @ pl.rotate(rng.normal(size=3), rng.uniform(-3, 3))


class Maker:
    """Builds one robot, part by part; `passive` and `damped` say what its energy may do."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = np.random.default_rng(seed)
        self.size = decades(rng, 0.05, 1.0)  # m, of everything
        self.young = decades(rng, 1e4, 1e9)
        self.density = decades(rng, 300, 8000)
        self.damped = rng.random() < 0.7
        self.robot = pl.Robot(f"soak {seed}", gravity=rng.normal(size=3) * decades(rng, 0.1, 10))
        self.rods: list[pl.Link] = []
        self.bodies: list[pl.Link] = []
        self.touching: list[pl.Link] = []  # what has a size
        self.radius: dict[str, float] = {}

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return bool(self.rng.random() < p)

    def pick(self, options: Any) -> Any:
        """One of several."""
        options = list(options)
        return options[int(self.rng.integers(len(options)))]

    # ------------------------------------------------------------ links

    def parent(self) -> Any:
        """Somewhere on what is there: the world, a body, the tip or the inside of a rod."""
        links = self.rods + self.bodies
        if not links or self.chance(0.1):
            return None
        link = (self.rods + self.bodies)[-1] if self.chance(0.6) else self.pick(links)
        return link.at(float(self.pick([0.0, 0.37, 0.5, 1.0]))) if link.is_rod and self.chance(0.4) else link

    def joint(self, first: bool) -> pl.Joint:
        """A joint with or without spring and damper; only the first link may float."""
        rng = self.rng
        names = list(JOINTS) if first else [name for name in JOINTS if name != "free"]
        name = "fixed" if self.chance(0.45) else self.pick(names)
        spring: dict[str, Any] = {}
        if name != "fixed":
            weight = self.density * (0.1 * self.size) ** 3 * 10 * self.size
            if self.chance(0.5):
                spring["stiffness"] = weight * decades(rng, 0.1, 1e3)
            if self.damped:
                spring["damping"] = weight * decades(rng, 1e-2, 10)
        return JOINTS[name](rng, spring)

    def material(self) -> pl.Material:
        """Of this robot's decade."""
        rng = self.rng
        loss = {}
        if self.damped:
            loss = self.pick(
                [{"viscosity": self.young * decades(rng, 1e-4, 0.1)}, {"damping_time": decades(rng, 1e-4, 0.1)}]
            )
        return pl.Material(
            young=self.young * decades(rng, 0.5, 2), poisson=rng.uniform(0, 0.5), density=self.density, **loss
        )

    def section(self, radius: float) -> pl.Section:
        """Round, hollow, elliptic, rectangular; constant, tapered or stepped."""
        rng = self.rng
        kind = int(rng.integers(6))
        if kind == 0:
            return pl.Circle((radius, radius * rng.uniform(0.4, 1)))
        if kind == 1:
            return pl.Annulus((radius, radius * 0.8), radius * rng.uniform(0.1, 0.7))
        if kind == 2:
            return pl.Ellipse(radius, radius * rng.uniform(0.5, 1))
        if kind == 3:
            return pl.Rectangle((2 * radius, 1.5 * radius), 2 * radius * rng.uniform(0.3, 1))
        if kind == 4:
            return pl.Circle(pl.Stepped((radius * rng.uniform(0.5, 1, int(rng.integers(2, 5)))).tolist()))
        return pl.Circle(radius)

    def strains(self) -> pl.Strains:
        """Some of the six strains, each with its own basis, or one of the usual sets."""
        if self.chance(0.3):
            return pl.Strains.kirchhoff(int(self.rng.integers(0, 4)))
        if self.chance(0.3):
            order = int(self.rng.integers(0, 4))
            return pl.Strains(torsion=order, bending=order, stretch=order, shear=order)
        free = self.rng.permutation(6)[: self.rng.integers(1, 5)]
        common = self.pick(BASES)(self.rng)
        return pl.Strains(**{STRAINS[k]: common if self.chance(0.6) else self.pick(BASES)(self.rng) for k in free})

    def rod(self, k: int) -> None:
        """A rod with everything that it can have."""
        rng = self.rng
        length = self.size * rng.uniform(0.3, 1)
        radius = length * decades(rng, 0.008, 0.06)
        options: dict[str, Any] = {}
        if self.chance(0.2):
            options["reference_strain"] = (*(rng.normal(size=3) / length), 1.0, 0.0, 0.0)
        strains = self.strains()
        kind = self.pick(["default", "default", "points", "magnus2", "collocation", "spectral"])
        if kind == "points":
            options["points"] = int(rng.integers(4, 10))
        elif kind == "magnus2":
            options["magnus"] = 2
        elif kind == "collocation":
            options["collocation"] = True
        elif kind == "spectral":
            options["integration"] = "spectral"
        if self.chance(0.1):
            EI, EA = self.young * np.pi / 4 * radius**4, self.young * np.pi * radius**2
            m, J = self.density * np.pi * radius**2, self.density * np.pi / 4 * radius**4
            options["stiffness"] = [0.7 * EI, EI, EI, EA, 0.4 * EA, 0.4 * EA]
            options["inertia"] = [2 * J, J, J, m, m, m]
            if self.damped:
                options["damping"] = [1e-2 * x for x in options["stiffness"]]
        else:
            options |= {"section": self.section(radius), "material": self.material()}
        rod = self.robot.add_rod(
            f"rod{k}", parent=self.parent(), joint=self.joint(first=not self.rods and not self.bodies),
            offset=pose(rng, 0.1 * self.size) if self.chance(0.6) else None,
            offset_after=pose(rng, 0.1 * self.size) if self.chance(0.3) else None,
            length=length, strains=strains, **options,
        )  # fmt: skip
        self.rods.append(rod)
        self.radius[rod.name] = radius
        if "section" in options:
            self.touching.append(rod)

    def body(self, k: int) -> None:
        """A body with a shape and perhaps a centre of mass of its own."""
        rng = self.rng
        a = self.size * rng.uniform(0.02, 0.1)
        shape = self.pick([
            pl.Sphere(a), pl.Box(a, 1.5 * a, 0.7 * a), pl.Cylinder(a, 2 * a, self.pick("xyz")), pl.Ellipsoid(a, 0.8 * a, 0.6 * a)
        ])  # fmt: skip
        options: dict[str, Any] = {"com": rng.normal(size=3) * 0.3 * a} if self.chance(0.4) else {}
        body = self.robot.add_body(
            f"body{k}", parent=self.parent(), joint=self.joint(first=not self.rods and not self.bodies),
            offset=pose(rng, 0.1 * self.size) if self.chance(0.6) else None,
            offset_after=pose(rng, 0.1 * self.size) if self.chance(0.3) else None,
            shape=shape, density=self.density, **options,
        )  # fmt: skip
        self.bodies.append(body)
        if not isinstance(shape, pl.Ellipsoid):
            self.touching.append(body)

    # ------------------------------------------------------------ actuators

    def offset_inside(self, rod: pl.Link) -> float:
        """A distance from the axis that stays inside every section above."""
        return float(0.25 * self.radius[rod.name] * self.rng.uniform(-1, 1))

    def tendon(self, k: int) -> None:
        """Straight, oblique or helical; pulled, elastic, with friction; a push rod or a chamber."""
        rng, rod = self.rng, self.pick(self.rods)
        if rod not in self.touching:
            return
        r = self.offset_inside(rod)
        routing: dict[str, Any] = self.pick([
            {"y": r}, {"z": (r, 0.0)}, {"y": (r, 0.0), "z": r}, {"z": r, "start": 0.2, "end": 0.8},
            pl.helical_routing(abs(r) + 1e-6, turns=rng.uniform(0.3, 2)),
        ])  # fmt: skip
        kind = self.pick(["tension", "tension", "elastic", "friction", "push", "chamber"])
        EA = self.young * np.pi * self.radius[rod.name] ** 2
        if kind == "elastic":
            loss = {"damping": 1e-3 * EA} if self.damped else {}
            routing |= {"control": "elastic", "stiffness": EA * decades(rng, 1e-3, 1), **loss}
        elif kind == "friction":
            routing |= {"friction": rng.uniform(0.05, 0.4)}
        if kind == "push":
            self.robot.add_push_rod(f"tendon{k}", rod, **routing)
        elif kind == "chamber":
            self.robot.add_chamber(f"tendon{k}", rod, area=0.1 * self.radius[rod.name] ** 2, **routing)
        else:
            self.robot.add_tendon(f"tendon{k}", rod, **routing)

    def actuator(self, k: int) -> None:
        """Internal stress, a motor or servo, a prescribed joint."""
        rng = self.rng
        kind = self.pick(["stress", "motor", "motion"])
        if kind == "stress" and self.rods:
            rod = self.pick(self.rods)
            scale = self.young * np.pi / 4 * self.radius[rod.name] ** 4 / self.size
            self.robot.add_stress(f"stress{k}", rod, [*(rng.normal(size=3) * scale), 0, 0, 0])
        moving = [x for x in self.rods + self.bodies if x.joint.nv and x.joint.kind == "screws"]
        if kind == "motor" and moving:
            link = self.pick(moving)
            gain = self.density * (0.1 * self.size) ** 3 * 10 * self.size
            control = self.pick(["torque", "position", "velocity"])
            gains = {"torque": {}, "position": {"kp": 10 * gain, "kd": gain}, "velocity": {"kd": gain}}[control]
            self.robot.add_motor(f"motor{k}", link, control=control, **gains)
        if kind == "motion" and moving and not self.robot.motors:
            self.robot.add_motion(f"motion{k}", self.pick(moving))

    # ------------------------------------------------------------ surroundings

    def load(self, k: int) -> None:
        """A wrench at a point or along a rod, dead or following, or a dipole."""
        rng = self.rng
        weight = 10 * self.density * (0.1 * self.size) ** 3
        axes = self.pick(["world", "body"])
        kind = self.pick(["point", "point", "spread", "dipole"])
        if kind == "spread" and self.rods:
            self.robot.add_distributed_wrench(
                f"load{k}", self.pick(self.rods), force=rng.normal(size=3) * weight / self.size, axes=axes,
                constant=self.chance(0.5),
            )  # fmt: skip
        elif kind == "dipole" and (self.rods or self.bodies):
            self.robot.add_dipole(f"load{k}", self.pick(self.rods + self.bodies), moment=rng.normal(size=3) * weight)
        elif self.rods or self.bodies:
            self.robot.add_wrench(
                f"load{k}", self.pick(self.rods + self.bodies), force=rng.normal(size=3) * weight,
                moment=rng.normal(size=3) * weight * 0.1 * self.size if self.chance(0.4) else (0, 0, 0), axes=axes,
                constant=self.chance(0.5),
            )  # fmt: skip

    def water(self) -> None:
        """A fluid that may flow, with buoyancy, drag and added mass on some links."""
        rng = self.rng
        current = rng.normal(size=3) * 0.2 if self.chance(0.4) else (0, 0, 0)
        self.robot.set_fluid(density=1000.0, current=current)
        for link in self.rods + self.bodies:
            if link in self.touching and self.chance(0.8):
                effect = pl.Hydrodynamics(linear_drag=(0.1, 1.0, 1.0)) if self.chance(0.5) else pl.Hydrodynamics()
                self.robot.add_hydrodynamics(link, effect)

    def obstacle(self) -> None:
        """Something to touch, contacts with it, and of rods with each other."""
        rng = self.rng
        a = self.size
        shape, inside = self.pick([
            (pl.HalfSpace(), False), (pl.Sphere(0.5 * a), False), (pl.Cylinder(0.3 * a, 2 * a, "x"), False),
            (pl.Box(a, a, 0.3 * a), False), (pl.Cylinder(2 * a, 20 * a, "x"), True), (pl.Sphere(3 * a), True),
        ])  # fmt: skip
        place = None if inside else pl.translate(*(rng.normal(size=3) * a)) @ pl.rotate(rng.normal(size=3), 1.0)
        self.robot.add_obstacle("thing", shape, pose=place, inside=inside)
        stiffness = self.young * self.size * decades(rng, 1e-3, 1)
        options: dict[str, Any] = {"stiffness": stiffness, "exponent": self.pick([1.5, 2.0])}
        if self.damped:
            options |= {"damping": rng.uniform(0, 1), "friction": rng.uniform(0, 0.6)}
        for k, link in enumerate(self.touching):
            if self.chance(0.7):
                self.robot.add_contact(f"touch{k}", link, "thing", **options)
        rods = [rod for rod in self.rods if rod in self.touching]
        if rods and self.chance(0.3):
            self.robot.add_contact("rods", self.pick(rods), self.pick(rods), **options)

    def loop(self) -> None:
        """A joint from a tip back to the world, closed in the neutral configuration."""
        link = (self.rods + self.bodies)[-1]
        system = self.robot.compile()
        place = link.tip if link.is_rod else link
        home = self.robot.add_frame("home", None, offset=system.pose(place, system.neutral()))
        joint = self.pick([pl.Spherical(), pl.Fixed(), pl.Revolute("z"), pl.Universal("x", "y"), pl.Planar("z")])
        self.robot.add_loop("loop", place, home, joint=joint)

    def later(self) -> None:
        """Kinds of parts that came later: cables between links and of given length, drag by shape, moving obstacles, own loads."""
        links = self.rods + self.bodies
        solid = [rod for rod in self.rods if rod in self.touching]
        kind = self.pick(["cable", "length", "flow", "moving", "own"])
        if kind == "cable" and len(links) > 1:
            ends = [link.at((0.0, 0.02 * self.size, 0.0)) if not link.is_rod else link.tip for link in links[:2]]
            self.robot.add_tendon("between", ends)
        elif kind == "length" and solid:
            self.robot.add_tendon("held", solid[0], y=self.offset_inside(solid[0]), control="length")
        elif kind == "flow" and solid:
            self.robot.set_fluid(density=1000.0)
            round_ = isinstance(solid[0].content.section, (pl.Circle, pl.Annulus))
            by_shape = pl.Hydrodynamics.circular() if round_ else pl.Hydrodynamics(drag=(0.1, 1.0, 1.0))
            self.robot.add_hydrodynamics(solid[0], by_shape)
        elif kind == "moving" and len(links) > 1 and solid and links[0] is not solid[-1]:
            self.robot.add_obstacle("mover", pl.Sphere(0.1 * self.size), parent=links[0])
            self.robot.add_contact("moving", solid[-1], "mover", stiffness=self.young * self.size * 0.01)
        elif kind == "own":
            place, c = self.pick(links), self.density * (0.1 * self.size) ** 2
            self.robot.add_load("own", place, lambda pose, twist, inputs: -c * twist)

    def closing(self) -> None:
        """Loop joints with springs, motors and stops, restraints, couplings, stops of the tree."""
        links = self.rods + self.bodies
        link, size = links[-1], self.size
        place = link.tip if link.is_rod else link
        torque = self.young * size**3 * 1e-4
        driven = [one for one in links if one.joint.nv and one.joint.group is None]
        if driven and self.chance(0.3):
            one = self.pick(driven)
            self.robot.add_stop("range", one, lower=-0.2, upper=0.3, stiffness=torque, dissipation=0.1)
        if len(driven) > 1 and self.chance(0.5):
            self.robot.add_coupling(
                "gear", {f"{one.name}.{one.joint.dof_names[0]}": r for one, r in zip(driven, (1.0, -0.7))}
            )
        if "loop" in self.robot.loops or not self.chance(0.7):
            return
        system = self.robot.compile()
        here = system.pose(place, system.neutral())
        home = self.robot.add_frame("home", None, offset=here)
        spring = {"stiffness": torque, "damping": 1e-3 * torque}
        joint = self.pick(
            [
                pl.Revolute("z", **spring), pl.Cylindrical("x", **spring), pl.Spherical(**spring), pl.Universal("x", "y", **spring),
                pl.Slot("x"), pl.Rows("y", "x"), pl.Distance(0.3 * size), pl.Skate("y"), pl.Planar("z", **spring),
            ]
        )  # fmt: skip
        if isinstance(joint, pl.Distance):
            home = self.robot.add_frame("post", None, offset=pl.Pose(translation=here[:3, 3] + [0.0, 0.3 * size, 0.0]))
        self.robot.add_loop("loop", home, place, joint=joint)
        if joint.nv and joint.group is None and self.chance(0.4):
            self.robot.add_motor("at_the_loop", "loop")
        if joint.nv and joint.group is None and self.chance(0.4):
            self.robot.add_stop("of_the_loop", "loop", upper=0.1, stiffness=torque)

    def make(self) -> pl.Robot:
        """The robot."""
        rng = self.rng
        for k in range(int(rng.integers(1, 5))):
            self.rod(k) if self.chance(0.65) else self.body(k)
        last = (self.rods + self.bodies)[-1]
        if not self.rods and not any(body.joint.nv for body in self.bodies):
            self.rod(9)
        elif last.is_rod and self.chance(0.3):
            self.body(9)
        for k in range(int(rng.integers(0, 3))):
            if self.rods:
                self.tendon(k)
        if self.chance(0.4):
            self.actuator(0)
        for k in range(int(rng.integers(0, 2))):
            self.load(k)
        if self.chance(0.2):
            self.water()
        if self.chance(0.25):
            self.obstacle()
        if self.chance(0.12):
            self.loop()
        if self.seed >= LATER and self.chance(0.3):
            self.later()
        if self.seed >= LOOPS and self.chance(0.4):
            self.closing()
        return self.robot


def random_robot(seed: int) -> pl.Robot:
    """The robot of a seed."""
    return Maker(seed).make()
