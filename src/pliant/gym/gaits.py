"""Tasks of soft robots that move on: swim, crawl."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..control.stepper import Stepper
from ..model.fluid import Hydrodynamics
from ..model.joints import Planar
from ..model.robot import Robot
from ..model.rods.sections import Circle, Ellipse, Material
from ..model.rods.strains import Strains
from ..model.shapes import Ellipsoid, HalfSpace, Sphere
from ..system import System
from .flock import Flock
from .task import Judged, Task

__all__ = ["Crawl", "Swim"]

Array = NDArray[np.float64]


class _Gait(Task):
    """Move along x, by antagonists: an action pulls one way or the other."""

    fields: ClassVar[dict[str, tuple[int, ...]]] = {"x": (), "speed": ()}
    view: ClassVar[str] = "xy"
    most: ClassVar[float]
    forward: ClassVar[float]  # 1 along x, −1 against it
    quick: ClassVar[float]  # a good speed [m/s]

    def begin(self, flock: Flock, k: int, rng: np.random.Generator) -> None:
        """A start that is not quite straight, so that no two are alike."""
        q = np.array(getattr(self.rest, "q", self.rest))
        strains = self.system.nq - 3
        q[3:] += rng.normal(0, 0.1, strains)
        flock.place(k, q)
        flock.own["x"][k], flock.own["speed"][k] = flock.q[k, self.along], 0.0

    along: ClassVar[int] = 0  # which coordinate x is

    def move(self, flock: Flock) -> None:
        """How fast it went."""
        x = flock.q[:, self.along]
        flock.own["speed"][:] = self.forward * (x - flock.own["x"]) / self.step
        flock.own["x"][:] = x

    def judge(self, flock: Flock) -> Judged:
        """By the speed, less a little for the effort."""
        speed = flock.own["speed"] / self.quick
        effort = np.mean((flock.u / self.most) ** 2, axis=1)
        return Judged(speed - 0.05 * effort, np.zeros(len(speed), dtype=bool), speed > 1.0)


class Swim(_Gait):
    """An eel 0.5 m long swims along −x in water, in a plane.

    A head (80 × 40 × 60 mm) and two rods of bending only (8 strain coordinates), each with a tendon on either side at up to 6 N. Water acts by
    drag along and across the body and by added mass that leaves at the tail (as in examples/undulatory_swimmer.py). Two actions, one for each rod, at 25 Hz:
    the tension of one side or of the other. Observed are heading, velocity along and across it, turning, strains, their rates, and actions. Reward of a step: speed / 0.2
    m/s − 0.05 × mean square of the inputs. Episodes last 8 s.
    """

    step: ClassVar[float] = 0.04
    substeps: ClassVar[int] = 2
    horizon: ClassVar[int] = 200
    actions: ClassVar[int] = 2
    observations: ClassVar[int] = 23
    box: ClassVar[tuple[tuple[float, float], ...]] = ((-1.0, 0.6), (-0.5, 0.5), (-0.2, 0.2))
    most: ClassVar[float] = 6.0
    forward: ClassVar[float] = -1.0
    quick: ClassVar[float] = 0.2

    def build(self) -> System:
        """The eel."""
        water, rubber = 1000.0, Material(young=2e5, poisson=0.5, density=1000, viscosity=2e3)
        robot = Robot("eel", gravity=(0, 0, 0))
        robot.set_fluid(density=water)
        body = robot.add_body("head", joint=Planar("z"), shape=Ellipsoid(0.04, 0.02, 0.03), mass=0.1)
        across = 0.5 * water * 1.0 * np.pi * 0.04 * 0.03
        robot.add_hydrodynamics(body, Hydrodynamics(drag=np.diag([0, 0, 1e-3, 0.1 * across, across, across])))
        parent = body
        for name, begin, end in (("front", 0.02, 0.015), ("rear", 0.015, 0.01)):
            rod = robot.add_rod(
                name, parent=parent, length=0.2, section=Ellipse((begin, end), (0.03, 0.03)), material=rubber, strains=Strains(bending_z=3),
            )  # fmt: skip
            robot.add_hydrodynamics(rod, Hydrodynamics.elliptic(0.02, 1.1, 1.1, tail=name == "rear"))
            for side, y in (("left", 0.8), ("right", -0.8)):
                robot.add_tendon(f"{name} {side}", rod, y=(y * begin, y * end))
            parent = rod
        return robot.compile()

    def settle(self) -> Array:
        """Straight."""
        return self.system.neutral()

    def drive(self, flock: Flock, actions: Array) -> Array:
        """Tension on one side or the other."""
        pull = self.most * actions
        return np.maximum(np.stack([pull, -pull], axis=2), 0.0).reshape(len(pull), 4)

    def observe(self, flock: Flock) -> Array:
        """Heading, velocity in its axes, turning, strains, rates, actions, each of the order of one."""
        angle = flock.q[:, 2]
        c, s = np.cos(angle), np.sin(angle)
        vx, vy, turning = flock.v[:, :3].T
        pulls = (flock.u[:, 0::2] - flock.u[:, 1::2]) / self.most
        first = np.column_stack([c, s, (c * vx + s * vy) / 0.2, (c * vy - s * vx) / 0.2, turning])
        return np.concatenate([first, flock.q[:, 3:] / 5, flock.v[:, 3:] / 20, pulls], axis=1)


class Crawl(_Gait):
    """A soft worm 0.24 m long crawls along x on a floor, in a vertical plane.

    Two silicone rods of bending only (6 strain coordinates) between three heavy feet (spheres of 12 mm, 30 g), which touch the floor with friction (0.5, smooth below 20 mm/s).
    Two actions, one for each rod, at 25 Hz: a bending moment of up to ±0.06 N m along it, as of a muscle. Observed are height and tilt of the first foot, its velocity, turning, strains, their rates
    and actions. Reward of a step: speed / 0.05 m/s − 0.05 × mean square of the inputs. Episodes last 8 s.
    """

    step: ClassVar[float] = 0.04
    substeps: ClassVar[int] = 2
    horizon: ClassVar[int] = 200
    actions: ClassVar[int] = 2
    observations: ClassVar[int] = 19
    view: ClassVar[str] = "xz"
    box: ClassVar[tuple[tuple[float, float], ...]] = ((-0.1, 0.5), (-0.1, 0.1), (-0.05, 0.25))
    most: ClassVar[float] = 0.06
    forward: ClassVar[float] = 1.0
    quick: ClassVar[float] = 0.05
    along: ClassVar[int] = 1  # in the plane with normal y z comes first, then x

    def build(self) -> System:
        """The worm on its floor."""
        rubber = Material(young=1e6, poisson=0.5, density=1000, viscosity=2e4)
        robot = Robot("worm")
        robot.add_obstacle("floor", HalfSpace())
        foot = robot.add_body("tail", offset=(0, 0, 0.012), joint=Planar("y"), shape=Sphere(0.012), mass=0.03)
        feet = [foot]
        for name in ("rear", "front"):
            rod = robot.add_rod(
                name, parent=feet[-1], length=0.12, section=Circle(0.009), material=rubber, strains=Strains(bending_y=2),
            )  # fmt: skip
            robot.add_stress(f"{name} moment", rod, (0, 1, 0, 0, 0, 0))
            feet.append(robot.add_body(f"{name} foot", parent=rod, shape=Sphere(0.012), mass=0.03))
        for k, own in enumerate(feet):
            robot.add_contact(
                f"foot {k}", own, "floor", stiffness=2e3, damping=5.0, friction=0.5, slip_speed=0.02, stiction=0.0
            )
        return robot.compile()

    def settle(self) -> Array:
        """Lying on the floor."""
        sim = Stepper(self.system, step=self.step, substeps=self.substeps, subdivide=True, watch=0)
        for _ in range(25):
            sim.step()
        return sim.q

    def drive(self, flock: Flock, actions: Array) -> Array:
        """Moments."""
        return self.most * actions

    def observe(self, flock: Flock) -> Array:
        """Height, tilt, velocities of the tail, strains, rates, moments, each of the order of one."""
        tilt = flock.q[:, 2]
        first = np.column_stack([flock.q[:, 0] / 0.05, np.sin(tilt), flock.v[:, :2] / 0.1, flock.v[:, 2]])
        return np.concatenate([first, flock.q[:, 3:] / 10, flock.v[:, 3:] / 50, flock.u / self.most], axis=1)
