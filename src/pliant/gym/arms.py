"""Tasks of soft arms: reach a point, track a ball, push a puck."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..model.joints import Planar
from ..model.pose import rotate, translate
from ..model.robot import Robot
from ..model.rods.sections import Circle, Material
from ..model.rods.strains import Strains
from ..model.shapes import Cylinder
from ..solve.statics import solve_statics
from ..system import System
from .flock import Flock
from .task import Judged, Task

__all__ = ["FollowBall", "Push", "Reach", "Track"]

Array = NDArray[np.float64]
NEAR = 0.01  # m, within which a goal is reached


def _distances(flock: Flock, field: str) -> Array:
    return np.linalg.norm(flock.positions("arm.tip") - flock.own[field], axis=1)


class Reach(Task):
    """The tip of a hanging silicone arm with three cables goes to a point, and stays there.

    The arm is 0.3 m long, 24 mm thick (E = 1 MPa, 1070 kg/m³, 10 kPa s), with 9 strain coordinates and cables 10 mm from its axis. Actions are
    tensions between 0 and 8 N, at 25 Hz; goals are where the tip is at rest under random tensions. Observed are tip, its velocity, goal − tip and
    tensions. Reward of a step: −distance / 0.1 m, and 1 within 10 mm. Episodes last 2 s.
    """

    step: ClassVar[float] = 0.04
    substeps: ClassVar[int] = 2
    horizon: ClassVar[int] = 50
    actions: ClassVar[int] = 3
    observations: ClassVar[int] = 12
    fields: ClassVar[dict[str, tuple[int, ...]]] = {"goal": (3,)}
    marks: ClassVar[tuple[str, ...]] = ("goal",)
    box: ClassVar[tuple[tuple[float, float], ...]] = ((-0.25, 0.25), (-0.25, 0.25), (-0.35, 0.05))
    most: ClassVar[float] = 8.0  # N

    def build(self) -> System:
        """The arm."""
        robot = Robot("arm with three cables")
        self.add_arm(robot)
        return robot.compile()

    def add_arm(self, robot: Robot) -> None:
        """A hanging arm with its cables."""
        silicone = Material(young=1e6, poisson=0.5, density=1070, viscosity=1e4)
        arm = robot.add_rod(
            "arm", offset=rotate("y", np.pi / 2), length=0.3, section=Circle(0.012), material=silicone, strains=Strains.kirchhoff(2),
        )  # fmt: skip
        for k, angle in enumerate(np.radians([90, 210, 330]), start=1):
            robot.add_tendon(f"cable{k}", arm, y=0.01 * np.cos(angle), z=0.01 * np.sin(angle))

    def begin(self, flock: Flock, k: int, rng: np.random.Generator) -> None:
        """A goal that some tensions reach."""
        u = rng.uniform(0, self.most, flock.u.shape[1])
        u[rng.integers(len(u))] = 0.0  # what all cables share only compresses
        found = solve_statics(flock.system(k), u, start=self.rest)
        flock.own["goal"][k] = flock.system(k).pose("arm.tip", found.q)[:3, 3]

    def drive(self, flock: Flock, actions: Array) -> Array:
        """Tensions."""
        return 0.5 * self.most * (actions + 1.0)

    def judge(self, flock: Flock) -> Judged:
        """By the distance to the goal."""
        off = _distances(flock, "goal")
        near = off < NEAR
        return Judged(near - off / 0.1, np.zeros(len(off), dtype=bool), near)

    def observe(self, flock: Flock) -> Array:
        """Tip, its velocity, goal − tip, tensions, each of the order of one."""
        tip = flock.positions("arm.tip")
        parts = (
            tip / 0.3, flock.velocities("arm.tip") / 1.0, (flock.own["goal"] - tip) / 0.1, 2 * flock.u / self.most - 1,
        )  # fmt: skip
        return np.concatenate(parts, axis=1)


class Track(Reach):
    """The tip of the arm of `Reach` follows a ball on a circle, of 0.06 to 0.12 m about the vertical and of 2 to 5 s; what else it is, is random too.

    Observed is also the velocity of the ball.
    """

    horizon: ClassVar[int] = 100
    observations: ClassVar[int] = 15
    fields: ClassVar[dict[str, tuple[int, ...]]] = {"goal": (3,), "speed": (3,), "circle": (3,)}

    def begin(self, flock: Flock, k: int, rng: np.random.Generator) -> None:
        """Radius [m], phase and turning [rad, rad/s] of the circle."""
        flock.own["circle"][k] = (
            rng.uniform(0.06, 0.12), rng.uniform(0, 2 * np.pi), rng.choice((-1, 1)) * 2 * np.pi / rng.uniform(2, 5),
        )  # fmt: skip
        self.move(flock)

    def move(self, flock: Flock) -> None:
        """The ball, at the height that a circular arc of the arm's length reaches there."""
        r, phase, turning = flock.own["circle"].T
        angle = phase + turning * flock.age * self.step
        bend = 2 * r / 0.3 * (1 + (r / 0.3) ** 2 / 3)  # of an arc whose end is r aside
        height = -0.3 * np.sinc(bend / np.pi)
        flock.own["goal"][:] = np.column_stack([r * np.cos(angle), r * np.sin(angle), height])
        flock.own["speed"][:] = (r * turning)[:, None] * np.column_stack([-np.sin(angle), np.cos(angle), 0 * r])

    def observe(self, flock: Flock) -> Array:
        """As of `Reach`, and the velocity of the ball."""
        return np.concatenate([super().observe(flock), flock.own["speed"] / 0.3], axis=1)


class FollowBall(Task):
    """A published task of reinforcement learning: the tip of a segment with four cables follows a ball on a hemisphere.

    One segment of constant strain stands upright, 0.25 m long, 25 mm in radius, E = 250 kPa, ν = 0.37, with four cables at 20 mm. An action changes the
    forces by up to ±0.5 N, within 0 to 25 N, at 15 Hz, for 7 s. The ball moves at 15 mm/s on the hemisphere of 0.10 m about z = 0.15 m; within 10 mm it is
    caught. Not given, and chosen here: density 1070 kg/m³, viscosity 2 kPa s, gravity along −z; the ball starts up to 45° from the pole, goes along a great
    circle in any direction and turns back at 60°. Observed are tip, its velocity, ball − tip, velocity of the ball and forces. Reward of a step: 1 within
    10 mm, less the distance over 0.1 m.
    """

    step: ClassVar[float] = 1 / 15
    substeps: ClassVar[int] = 2
    horizon: ClassVar[int] = 105
    actions: ClassVar[int] = 4
    observations: ClassVar[int] = 16
    fields: ClassVar[dict[str, tuple[int, ...]]] = {"ball": (3,), "place": (3,), "way": (3,)}
    marks: ClassVar[tuple[str, ...]] = ("ball",)
    box: ClassVar[tuple[tuple[float, float], ...]] = ((-0.15, 0.15), (-0.15, 0.15), (0.0, 0.3))
    most: ClassVar[float] = 25.0  # N
    RADIUS, CENTRE, SPEED = 0.10, np.array([0.0, 0.0, 0.15]), 0.015

    def build(self) -> System:
        """The segment."""
        rubber = Material(young=250e3, poisson=0.37, density=1070, viscosity=2e3)
        robot = Robot("segment with four cables")
        arm = robot.add_rod(
            "arm", offset=rotate("y", -np.pi / 2), length=0.25, section=Circle(0.025), material=rubber,
            strains=Strains(torsion=0, bending=0, stretch=0, shear=0),
        )  # fmt: skip
        for k in range(4):
            robot.add_tendon(f"cable{k + 1}", arm, y=0.02 * np.cos(np.pi / 2 * k), z=0.02 * np.sin(np.pi / 2 * k))
        return robot.compile()

    def begin(self, flock: Flock, k: int, rng: np.random.Generator) -> None:
        """Place of the ball on the unit sphere, and its direction there."""
        polar, turn, heading = rng.uniform(0, np.pi / 4), *rng.uniform(0, 2 * np.pi, 2)
        c, s = np.cos(turn), np.sin(turn)
        place = np.array([np.sin(polar) * c, np.sin(polar) * s, np.cos(polar)])
        south, east = np.array([np.cos(polar) * c, np.cos(polar) * s, -np.sin(polar)]), np.array([-s, c, 0.0])
        flock.own["place"][k], flock.own["way"][k] = place, np.cos(heading) * south + np.sin(heading) * east
        flock.own["ball"][k] = self.CENTRE + self.RADIUS * place

    def drive(self, flock: Flock, actions: Array) -> Array:
        """Forces, changed by up to half a newton."""
        return np.clip(flock.u + 0.5 * actions, 0.0, self.most)

    def move(self, flock: Flock) -> None:
        """The ball goes on along its great circle, back where it is 60° from the pole."""
        place, way = flock.own["place"], flock.own["way"]
        angle = self.SPEED / self.RADIUS * self.step
        there = np.cos(angle) * place + np.sin(angle) * way
        on = np.cos(angle) * way - np.sin(angle) * place
        out = there[:, 2] < 0.5
        way[:] = np.where(out[:, None], -way, on)
        place[:] = np.where(out[:, None], place, there)
        flock.own["ball"][:] = self.CENTRE + self.RADIUS * place

    def judge(self, flock: Flock) -> Judged:
        """By the distance to the ball."""
        off = _distances(flock, "ball")
        near = off < NEAR
        return Judged(near - off / 0.1, np.zeros(len(off), dtype=bool), near)

    def observe(self, flock: Flock) -> Array:
        """Tip, its velocity, ball − tip, direction of the ball, forces, each of the order of one."""
        tip = flock.positions("arm.tip")
        ahead = (flock.own["ball"] - tip) / 0.05
        parts = (
            (tip - self.CENTRE) / 0.1, flock.velocities("arm.tip") / 0.1, ahead, flock.own["way"], 2 * flock.u / self.most - 1,
        )  # fmt: skip
        return np.concatenate(parts, axis=1)


class Push(Reach):
    """The arm of `Reach` pushes a puck to a point.

    The puck (40 mm across, 50 g) glides on a plane at the height of the tip, held back by 0.5 N s/m, and touches the arm all along. It starts 50 to 60 mm from
    the arm, its goal is 20 to 40 mm farther out. Observed are tip, its velocity, puck − tip, velocity of the puck, goal − puck and tensions. Reward of a step:
    −distance of the puck from its goal / 0.1 m − a tenth of that of the tip from the puck / 0.1 m, and 1 within 10 mm. Episodes last 4 s.
    """

    horizon: ClassVar[int] = 100
    observations: ClassVar[int] = 15

    def build(self) -> System:
        """The arm and the puck."""
        robot = Robot("arm and puck")
        self.add_arm(robot)
        puck = robot.add_body(
            "puck", offset=translate(0, 0, -0.27), joint=Planar("z", damping=(0.5, 0.5, 1e-4)), shape=Cylinder(0.02, 0.08, "z"), mass=0.05,
        )  # fmt: skip
        robot.add_contact("touch", "arm", puck, stiffness=1e3, damping=1.0, friction=0.2)
        return robot.compile()

    def settle(self) -> Array:
        """The arm hangs, with the puck beside it."""
        q = self.system.neutral()
        q[self.system.q_slice("arm")] = solve_statics(Reach.build(self)).q
        q[self.system.q_slice("puck")] = 0.1, 0.0, 0.0
        return q

    def begin(self, flock: Flock, k: int, rng: np.random.Generator) -> None:
        """Where the puck is, and where it is to go."""
        angle, there, way = rng.uniform(0, 2 * np.pi), rng.uniform(0.05, 0.06), rng.uniform(0.02, 0.04)
        out = np.array([np.cos(angle), np.sin(angle)])
        q = np.array(self.rest)
        q[self.system.q_slice("puck")] = *(there * out), 0.0
        flock.place(k, q)
        flock.own["goal"][k] = *((there + way) * out), -0.27

    def _puck(self, flock: Flock) -> tuple[Array, Array]:
        """Place and velocity of the puck in the plane, (n, 2) each."""
        q, v = self.system.q_slice("puck"), self.system.v_slice("puck")
        return flock.q[:, q][:, :2], flock.v[:, v][:, :2]

    def judge(self, flock: Flock) -> Judged:
        """By the distances of puck and goal, and of tip and puck."""
        puck, _speed = self._puck(flock)
        off = np.linalg.norm(puck - flock.own["goal"][:, :2], axis=1)
        away = np.linalg.norm(flock.positions("arm.tip")[:, :2] - puck, axis=1)
        near = off < NEAR
        return Judged(near - off / 0.1 - away, np.zeros(len(off), dtype=bool), near)

    def observe(self, flock: Flock) -> Array:
        """Tip, its velocity, puck − tip, velocity of the puck, goal − puck, tensions, each of the order of one."""
        tip, (puck, speed) = flock.positions("arm.tip"), self._puck(flock)
        ways = (puck - tip[:, :2]) / 0.1, speed / 0.3, (flock.own["goal"][:, :2] - puck) / 0.1
        parts = tip / 0.3, flock.velocities("arm.tip"), *ways, 2 * flock.u / self.most - 1
        return np.concatenate(parts, axis=1)
