"""Contact points, obstacles and who may touch whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads import shapes
from ...kernels.loads.bristles import PLACES, SLOT
from ...kernels.loads.contact import (
    BALL_HALF,
    BALL_RADIUS,
    C_LAW,
    LAW_DAMPING,
    LAW_FRICTION,
    LAW_RESTITUTION,
    LAW_SPEED,
    LAW_STICTION,
    R_LAW,
    REMEMBERED,
    SHAPE_STEP,
    ContactSpace,
    apply_contact,
)
from ...kernels.loads.contact import Contact as Tables
from ...kernels.loads.contact_unit import contacts
from ...kernels.recursion.kinematics import step_poses
from ...model.links import Body, Frame, Rod
from ...model.loads import Contact, Obstacle
from ...model.pose import Pose
from ...model.robot import Robot
from ..family import Family, against_world
from ..places import Places, as_rows

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["CONTACT"]

Array = NDArray[np.float64]


def _shape_row(obstacle: Obstacle) -> tuple[int, Pose, list[float]]:
    """Primitive, its frame in that of the shape, and its sizes and rounding."""
    distance = obstacle.shape.distance()
    assert distance is not None  # checked by the obstacle
    size = np.zeros(4)
    size[: len(distance.size)], size[3] = distance.size, distance.rounding
    return int(shapes.PRIMITIVES[distance.primitive]), distance.pose, size.tolist()


def impact_damping(e: float) -> float:
    """The c for which a sphere leaves with e times the speed of the impact; see `kernels.loads.contact`."""
    from scipy.optimize import brentq  # here, since it takes a while to import

    if e >= 1.0:
        return 0.0

    def gap(c: float) -> float:
        return c - np.log1p(c) + c * e + np.log1p(-c * e)

    # for small c it is c²(1 − e²)/2 > 0; towards c = 1/e it falls without bound
    high = (1.0 - 1e-15) / e if e > 0.0 else np.inf
    if not np.isfinite(high) or gap(high) > 0.0:
        return float(min(high, 1e3))
    low = 0.5 * (1.0 - e)
    while gap(low) < 0.0:
        low *= 0.5
    return float(brentq(gap, low, high, xtol=1e-15, rtol=1e-14))


def _body_points(body: Body) -> list[tuple[Array, float]]:
    """Contact spheres of a body's shape, in its frame: centre and radius."""
    assert body.shape is not None
    centre = np.zeros(3) if body.inertia is None else np.asarray(body.inertia.com)
    return [(centre + point, radius) for point, radius in body.shape.contact_points()]


def _remember(laws: Array) -> NDArray[np.bool_]:
    """Which laws (n, 7) have friction that sticks or a coefficient of restitution."""
    sticks = (laws[:, LAW_FRICTION] > 0) & (laws[:, LAW_STICTION] > 0)
    return np.asarray(sticks | (laws[:, LAW_RESTITUTION] >= 0))


class _Builder:
    """Collects contact points, obstacles and pairs."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.point: list[list[int]] = []
        self.ball: list[list[float]] = []
        self.capsules: dict[str, tuple[int, int]] = {}
        self.owner: list[tuple[str, float]] = []  # rod and arc length of a capsule
        self.touch: list[list[int]] = []
        self.rods: list[list[int]] = []
        self.laws: list[list[float]] = []

    def spheres(self, pair: Contact) -> tuple[int, int]:
        """Contact points of a link against an obstacle."""
        first = len(self.point)
        link = self.places.robot.link(pair.link)
        anchors = self.places.anchors[pair.link]
        if isinstance(link.content, Rod):
            grid = self.places.grids[pair.link]
            assert link.content.section is not None
            radius = link.content.section.extent(grid.X)
            scale = grid.weights * link.content.length if pair.per_length else np.ones(len(grid.X))
            spots = [(a, np.zeros(3), r, s) for a, r, s in zip(anchors, radius, scale) if s > 0]
        else:
            spots = [(anchors[0], c, r, 1.0) for c, r in _body_points(link.content)]
        for anchor, centre, r, s in spots:
            if anchor.step >= 0:
                p = anchor.offset.rotation @ centre + anchor.offset.translation
                self.point.append([anchor.step])
                self.ball.append([*p, float(r), 0.0, float(s)])
                self.owner.append(("", 0.0))
        return first, len(self.point)

    def capsule_range(self, rod: str) -> tuple[int, int]:
        """Capsules of a rod, each around a computational point and half way to its neighbours."""
        if rod in self.capsules:
            return self.capsules[rod]
        first = len(self.point)
        _link, content, grid = self.places.rod(rod)
        assert content.section is not None
        middle = np.concatenate([[0.0], 0.5 * (grid.X[1:] + grid.X[:-1]), [1.0]]) * content.length
        radius = content.section.extent(grid.X)
        for i, anchor in enumerate(self.places.anchors[rod]):
            if anchor.step < 0:
                continue
            s = grid.X[i] * content.length
            centre = anchor.offset.rotation @ [0.5 * (middle[i] + middle[i + 1]) - s, 0.0, 0.0]
            self.point.append([anchor.step])
            half = 0.5 * (middle[i + 1] - middle[i])
            self.ball.append([*(centre + anchor.offset.translation), float(radius[i]), half, 1.0])
            self.owner.append((rod, float(0.5 * (middle[i] + middle[i + 1]))))
        self.capsules[rod] = first, len(self.point)
        return self.capsules[rod]

    def slots(self) -> NDArray[np.int64]:
        """Where the internal variables of capsules begin, after those of all points; empty if no rods that touch each other remember."""
        if not np.any(_remember(as_rows(self.laws, 7)[[row[R_LAW] for row in self.rods]])):
            return np.zeros(0, dtype=np.int64)
        slot = np.full(len(self.point), -1, dtype=np.int64)
        capsules = np.concatenate([np.arange(*span) for span in self.capsules.values()])
        slot[capsules] = REMEMBERED * len(self.point) + PLACES * SLOT * np.arange(len(capsules))
        return slot

    def tables(self) -> Tables:
        """Go through all contacts; the finished tables."""
        robot = self.places.robot
        names = list(robot.obstacles)
        shape, place = [], []
        for obstacle in robot.obstacles.values():
            kind, turned, size = _shape_row(obstacle)
            anchor = self.places.anchor(obstacle.parent).then(obstacle.pose @ turned)
            shape.append([kind, anchor.step, int(obstacle.inside)])
            place.append([*anchor.offset.rotation.ravel(), *anchor.offset.translation, *size])
        for k, pair in enumerate(robot.contacts.values()):
            law = [pair.stiffness, pair.exponent, pair.damping, pair.friction, pair.slip_speed, pair.stiction]
            self.laws.append([*law, -1.0 if pair.restitution is None else impact_damping(pair.restitution)])
            if pair.other in robot.obstacles:
                self.touch.append([*self.spheres(pair), names.index(pair.other), k])
            else:
                self.rods.append([*self.capsule_range(pair.link), *self.capsule_range(pair.other), k])
        skip = np.zeros((len(self.point) if self.rods else 0,) * 2, dtype=np.int64)
        for i in range(len(skip)):
            for j in range(len(skip)):
                same = self.owner[i][0] == self.owner[j][0] != ""
                gap = abs(self.owner[i][1] - self.owner[j][1]) - self.ball[i][4] - self.ball[j][4]
                skip[i, j] = int(same and gap < 2.0 * (self.ball[i][3] + self.ball[j][3]))
        return Tables(
            point=as_rows(self.point, 1, np.int64),
            ball=as_rows(self.ball, 6),
            shape=as_rows(shape, 3, np.int64),
            place=as_rows(place, 16),
            touch=as_rows(self.touch, 4, np.int64),
            rods=as_rows(self.rods, 5, np.int64),
            slot=self.slots(),
            skip=skip,
            law=as_rows(self.laws, 7),
            first=np.array([-1], dtype=np.int64),
        )


class _Contact(Family):
    name = "contact"
    unit = contacts
    apply = staticmethod(apply_contact)
    descriptions = (Contact, Obstacle)

    def frames(self, robot: Robot) -> Iterable[Frame]:
        return [obstacle.parent for obstacle in robot.obstacles.values()]

    def tables(self, places: Places, inputs: Sequence[str]) -> Tables:
        return _Builder(places).tables()

    def settle(self, model: Model) -> None:
        """Capsules of rods that overlap in the neutral configuration never touch: they are joined there."""
        contact = model.loads[self.name]
        if not len(contact.rods):
            return
        pose = np.empty((len(model.work.state), 12))
        step_poses(*model.packed, model.neutral(), pose)
        own = pose[contact.point[:, 0]]
        R = own[:, :9].reshape(-1, 3, 3)
        centre = own[:, 9:] + np.einsum("kij,kj->ki", R, contact.ball[:, :BALL_RADIUS])
        reach = contact.ball[:, BALL_RADIUS]
        s = np.linspace(-1, 1, 9)
        line = centre[:, None] + s[:, None] * (R[:, :, 0] * contact.ball[:, BALL_HALF : BALL_HALF + 1])[:, None]
        for i in range(len(line)):
            gap = np.linalg.norm(line[i][None, :, None] - line[:, None], axis=-1).min(axis=(1, 2))
            contact.skip[i, gap < reach[i] + reach] = 1

    def present(self, tables: Tables) -> bool:
        return len(tables.touch) + len(tables.rods) > 0

    def steps(self, tables: Tables) -> NDArray[np.int64]:
        return np.concatenate([tables.point[:, 0], tables.shape[:, SHAPE_STEP]])

    def depends_on_velocity(self, tables: Tables) -> bool:
        return bool(np.any(tables.law[:, LAW_DAMPING:LAW_SPEED]) or np.any(tables.law[:, LAW_RESTITUTION] >= 0))

    def couples(self, tables: Tables) -> str:
        pairs = len(tables.rods) or np.any(tables.shape[:, SHAPE_STEP] >= 0)
        return "contact between its parts may connect them" if pairs else ""

    def between(self, tables: Tables) -> NDArray[np.int64]:
        return against_world(self.steps(tables))

    def keeps_potential(self, tables: Tables) -> bool:
        return True  # damping vanishes at rest, and friction unless something touched before (`solve.statics` asks for that)

    def memory(self, tables: Tables) -> int:
        laws = tables.law[tables.touch[:, C_LAW]]
        slots = PLACES * SLOT * int(np.sum(tables.slot >= 0))
        return REMEMBERED * len(tables.point) + slots if slots or np.any(_remember(laws)) else 0

    def sticks(self, tables: Tables, memory: Array) -> bool:
        own, pairs = self._split(tables, memory)
        return bool((np.any(own[:, 3] > 0) or np.any(pairs[:, 3] > 0)) and np.any(tables.law[:, LAW_FRICTION] > 0))

    def smooth(self, tables: Tables) -> NDArray[np.bool_]:
        own, pairs = self._split(tables, np.ones(self.memory(tables)))
        own[:, 3] = pairs[:, 3:] = 0.0
        return np.concatenate([own.ravel(), pairs.ravel()]) > 0

    def _split(self, tables: Tables, memory: Array) -> tuple[Array, Array]:
        """Internal variables of points (n, 4) and of slots of capsules (m, 5)."""
        n = REMEMBERED * len(tables.point) if len(memory) else 0
        return memory[:n].reshape(-1, REMEMBERED).copy(), memory[n:].reshape(-1, SLOT).copy()

    def space(self, tables: Tables, nv: int, dtype: type = np.float64) -> ContactSpace:
        n = len(tables.point)
        return ContactSpace(sweep=np.zeros((n, 4)), centre=np.zeros((n, 3)))


CONTACT = _Contact()
