"""Contact points, capsules, shapes and pairs of a robot, as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..kernels.loads.bristles import PLACES, SLOT
from ..kernels.loads.contact import LAW_FRICTION, LAW_RESTITUTION, LAW_STICTION, R_LAW, REMEMBERED
from ..kernels.loads.contact import Contact as Tables
from ..kernels.loads.meshes import TRIANGLE
from ..kernels.loads.shapes import PRIMITIVES
from ..model.links import Body, Rod
from ..model.loads import Contact
from ..model.pose import Pose
from ..model.shapes import Corners, Distance, Shape
from .places import Anchor, Places, as_rows
from .surfaces import field_nodes, mesh_boxes, mesh_triangles

__all__ = ["Touching", "remember"]

Array = NDArray[np.float64]
LINE = 0.125  # distance of the spheres along a rod that touches all along, as a share of its radius,
COARSE = 0.25  # if its points are further apart than this share of its radius and that of what it touches together


def remember(laws: Array) -> NDArray[np.bool_]:
    """Which laws (n, 7) have friction that sticks or a coefficient of restitution."""
    sticks = (laws[:, LAW_FRICTION] > 0) & (laws[:, LAW_STICTION] > 0)
    return np.asarray(sticks | (laws[:, LAW_RESTITUTION] >= 0))


def spread(edges: Array, count: NDArray[np.int64]) -> tuple[Array, Array]:
    """Middles of so many equal parts of each stretch between edges, and their lengths."""
    shares = np.repeat(np.diff(edges) / count, count)
    k = np.arange(len(shares)) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(edges[:-1], count) + shares * (k + 0.5), shares


@dataclass(frozen=True)
class Side:
    """A body or an obstacle of a contact: its shape, and where the frame of that is."""

    name: str
    shape: Shape
    anchor: Anchor
    inside: bool

    @cached_property
    def distance(self) -> Distance | None:
        """To its surface."""
        return self.shape.distance()

    @cached_property
    def corners(self) -> Corners:
        """With which it touches."""
        return self.shape.corners()

    @property
    def has_corners(self) -> bool:
        """Whether it may touch with corners of its own: neither a cavity nor endless."""
        return not self.inside and len(self.corners.points) > 0

    @property
    def is_smooth(self) -> bool:
        """Whether it has no edges where the distance of a sharp corner would jump: a half-space, a field, a cavity."""
        distance = self.distance
        return self.inside or distance is None or distance.primitive in ("half-space", "field")


class _Surfaces:
    """Shapes, with the triangles of meshes and the nodes of fields."""

    def __init__(self) -> None:
        self.shape: list[list[int]] = []
        self.place: list[list[float]] = []
        self.data: list[list[int]] = []
        self.bound: list[list[float]] = []
        self.node, self.triangle, self.field = np.zeros((0, 6)), np.zeros((0, TRIANGLE)), np.zeros((0, 4))
        self.tree = np.zeros((0, 3), dtype=np.int64)

    def add(self, side: Side) -> int:
        """The number of a new shape."""
        distance = side.distance
        assert distance is not None  # checked by the robot
        size = np.zeros(4)
        size[: len(distance.size)], size[3] = distance.size, distance.rounding
        anchor = side.anchor.then(distance.pose)
        self.shape.append([int(PRIMITIVES[distance.primitive]), anchor.step, int(side.inside)])
        self.place.append([*anchor.offset.rotation.ravel(), *anchor.offset.translation, *size])
        self.data.append(self._arrays(distance))
        centre, radius = distance.bound
        centre = anchor.offset.rotation @ centre + anchor.offset.translation
        self.bound.append([*centre, radius if np.isfinite(radius) and not side.inside else -1.0])
        return len(self.shape) - 1

    def _arrays(self, distance: Distance) -> list[int]:
        if distance.triangles is not None:
            first, start = len(self.node), len(self.triangle)
            rows = mesh_triangles(distance.triangles)
            boxes, tree, order = mesh_boxes(rows)
            self.node, self.triangle = np.vstack([self.node, boxes]), np.vstack([self.triangle, rows[order]])
            self.tree = np.vstack([self.tree, tree + [first, start, 0]])
            return [first, int(distance.triangles.is_closed), 0]
        if distance.heights is not None:
            first = len(self.field)
            self.field = np.vstack([self.field, field_nodes(distance.heights)])
            return [first, *distance.heights.shape]
        return [0, 0, 0]


class Touching:
    """Collects contact points, shapes and pairs."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.surfaces = _Surfaces()
        self.sides: dict[str, Side | None] = {}
        self.numbers: dict[str, int] = {}  # of shapes, by the name of the obstacle or body
        self.point: list[list[int]] = []
        self.ball: list[list[float]] = []
        self.axis: list[list[float]] = []
        self.capsules: dict[str, tuple[int, int]] = {}
        self.owner: list[tuple[str, float]] = []  # rod and arc length of a capsule
        self.touch: list[list[int]] = []
        self.reach: list[list[float]] = []
        self.rods: list[list[int]] = []
        self.lines: list[list[int]] = []
        self.around: list[list[float]] = []
        self.laws: list[list[float]] = []

    # ------------------------------------------------------------ parts

    def side(self, name: str) -> Side | None:
        """The body or obstacle of a name; None for a rod."""
        if name not in self.sides:
            self.sides[name] = self.make_side(name)
        return self.sides[name]

    def make_side(self, name: str) -> Side | None:
        """As `side`, anew."""
        robot = self.places.robot
        if name in robot.obstacles:
            obstacle = robot.obstacles[name]
            anchor = self.places.anchor(obstacle.parent).then(obstacle.pose)
            return Side(name, obstacle.shape, anchor, obstacle.inside)
        content = robot.link(name).content
        if isinstance(content, Rod):
            return None
        assert isinstance(content, Body)
        assert content.shape is not None  # checked by add_contact
        anchor = self.places.anchors[name][0].then(Pose(content.shape_origin))
        return Side(name, content.shape, anchor, False)

    def number(self, side: Side) -> int:
        """Of the shape of a body or obstacle."""
        if side.name not in self.numbers:
            self.numbers[side.name] = self.surfaces.add(side)
        return self.numbers[side.name]

    # ------------------------------------------------------------ points

    def add_point(self, anchor: Anchor, centre: Array, radius: float, weight: float, twin: int = -1) -> None:
        """A sphere, and the capsule that it is part of."""
        p = anchor.offset.rotation @ centre + anchor.offset.translation
        self.point.append([anchor.step, twin])
        self.ball.append([*p, float(radius), 0.0, float(weight)])
        self.axis.append([0.0, 0.0, 0.0, 0.0])
        self.owner.append(("", 0.0))

    def add_capsule(self, anchor: Anchor, ends: Array, radius: float, width: float, owner: tuple[str, float]) -> None:
        """A capsule between two ends (2, 3), with the length over which it fades (see `kernels.loads.edges`)."""
        ends = ends @ anchor.offset.rotation.T + anchor.offset.translation
        along = ends[1] - ends[0]
        half = 0.5 * float(np.linalg.norm(along))
        self.point.append([anchor.step, -1])
        self.ball.append([*(0.5 * (ends[0] + ends[1])), float(radius), half, 1.0])
        self.axis.append([*(0.5 * along / half), width])
        self.owner.append(owner)

    def of_rod(self, pair: Contact, rod: str, other: Side) -> tuple[int, int]:
        """Spheres along a rod."""
        first = len(self.point)
        _link, content, grid = self.places.rod(rod)
        assert content.section is not None
        radius = content.section.extent(grid.X)
        spacing = self.spacing_of(pair, rod, other)
        if spacing is not None:
            self.along_rod(pair, rod, spacing)
            return first, len(self.point)
        if not pair.per_length:
            self.note_gaps(pair, rod, other)
        scale = grid.weights * content.length if pair.per_length else np.ones(len(grid.X))
        for anchor, r, s in zip(self.places.anchors[rod], radius, scale):
            if s > 0 and anchor.step >= 0:
                self.add_point(anchor, np.zeros(3), r, s)
        return first, len(self.point)

    def spacing_of(self, pair: Contact, rod: str, other: Side) -> float | None:
        """Distance of the spheres along a rod; None if the computational points will do."""
        _link, content, grid = self.places.rod(rod)
        assert content.section is not None
        gap = float(np.diff(grid.X).max()) * content.length
        if not pair.per_length or (pair.spacing is None and other.is_smooth):
            return None
        if pair.spacing is not None:
            return pair.spacing if pair.spacing < gap else None
        assert other.distance is not None
        radius = float(content.section.extent(grid.X).min())
        return LINE * radius if gap > COARSE * (radius + other.distance.roundness) else None

    def line_of(self, pair: Contact) -> tuple[int, int]:
        """Spheres all along the first of two rods that touch."""
        first = len(self.point)
        _link, content, grid = self.places.rod(pair.link)
        section, other = content.section, self.places.rod(pair.other)[1].section
        assert section is not None
        assert other is not None
        gap = float(np.diff(grid.X).max()) * content.length
        radius = float(section.extent(grid.X).min())
        reach = radius + float(other.extent(self.places.grids[pair.other].X).min())
        usual = LINE * radius if gap > COARSE * reach else gap
        self.along_rod(pair, pair.link, pair.spacing or usual, twins=self.capsules_of(pair.link))
        return first, len(self.point)

    def along_rod(self, pair: Contact, rod: str, spacing: float, twins: tuple[int, int] | None = None) -> None:
        """Spheres at equal distances on the capsules of a rod (their numbers), each for its share of the length."""
        _link, content, grid = self.places.rod(rod)
        assert content.section is not None
        length = content.length
        middle = np.concatenate([[0.0], 0.5 * (grid.X[1:] + grid.X[:-1]), [1.0]]) * length
        count = np.maximum(np.ceil(np.diff(middle) / spacing - 1e-9), 1).astype(np.int64)
        places, shares = spread(middle, count)
        known = self.places.spheres.setdefault(
            f"{rod}: {pair.link} on {pair.other}, {pair.spacing}", (count, places / length, shares / length)
        )
        if len(known[0]) == len(count):  # a robot that is hardly different has as many
            count = known[0]
            places, shares = spread(middle, count)
            step = np.repeat(np.arange(len(count)), count)
        else:  # and where one of its points has left another, on which it was, they stay
            places, shares = known[1] * length, known[2] * length
            step = np.clip(np.searchsorted(middle, places) - 1, 0, len(count) - 1)
        radius = content.section.extent(places / length)
        for i, s, weight, r in zip(step.tolist(), places, shares, radius):
            anchor = self.places.anchors[rod][i]
            if anchor.step >= 0:
                own = -1 if twins is None else next(k for k in range(*twins) if self.point[k][0] == anchor.step)
                self.add_point(anchor, np.array([s - grid.X[i] * length, 0.0, 0.0]), float(r), float(weight), own)

    def note_gaps(self, pair: Contact, rod: str, other: Side) -> None:
        """Say so where a shape can get between the spheres of a rod."""
        _link, content, grid = self.places.rod(rod)
        distance = other.distance
        if other.is_smooth or distance is None or not np.isfinite(distance.thickness):
            return
        assert content.section is not None
        reach = content.section.extent(grid.X).min() + 0.5 * distance.thickness
        gap = float(np.diff(grid.X).max()) * content.length
        if gap > 2.0 * reach:
            self.places.notes.append(
                f"Contact of rod {rod!r} with {other.name!r}: its points are up to {gap:.3g} m apart, so that {other.name!r} can slip through between "
                f"them. Use per_length=True, or at least {int(np.ceil(content.length / reach))} points."
            )

    def of_body(self, side: Side, *, sharp: bool) -> tuple[int, int]:
        """Corners of a body or obstacle; sharp ones against what has no edges."""
        first = len(self.point)
        if sharp:
            for centre, r in side.shape.contact_points():
                self.add_point(side.anchor, centre, r, 1.0)
        else:
            corners = side.corners
            for centre, r in zip(corners.points[: corners.spheres], corners.radius):
                self.add_point(side.anchor, centre, float(r), 1.0)
        return first, len(self.point)

    def edges_of(self, side: Side) -> tuple[int, int]:
        """Edges of a body or obstacle, as capsules."""
        if side.name not in self.capsules:
            first = len(self.point)
            corners = side.corners
            for a, b in corners.edges:
                ends, r = corners.points[[a, b]], float(corners.radius[a])
                width = min(r, 0.25 * float(np.linalg.norm(ends[1] - ends[0])))
                self.add_capsule(side.anchor, ends, r, width, ("", 0.0))
            self.capsules[side.name] = first, len(self.point)
        return self.capsules[side.name]

    def capsules_of(self, rod: str) -> tuple[int, int]:
        """Capsules of a rod, each around a computational point and half way to its neighbours."""
        if rod in self.capsules:
            return self.capsules[rod]
        first = len(self.point)
        _link, content, grid = self.places.rod(rod)
        assert content.section is not None
        middle = np.concatenate([[0.0], 0.5 * (grid.X[1:] + grid.X[:-1]), [1.0]]) * content.length
        radius = content.section.extent(grid.X)
        for i, anchor in enumerate(self.places.anchors[rod]):
            if anchor.step >= 0:
                ends = np.outer(middle[i : i + 2] - grid.X[i] * content.length, [1.0, 0.0, 0.0])
                where = float(0.5 * (middle[i] + middle[i + 1]))
                self.add_capsule(anchor, ends, float(radius[i]), 0.0, (rod, where))
        self.capsules[rod] = first, len(self.point)
        return self.capsules[rod]

    # ------------------------------------------------------------ pairs

    def add_touch(self, points: tuple[int, int], side: Side, law: int, *, turned: bool) -> None:
        """Points against a shape, unless nothing of them moves."""
        self.touch.append([*points, self.number(side), law, int(turned)])
        self.reach.append(self.sphere_around(points))

    def sphere_around(self, points: tuple[int, int]) -> list[float]:
        """A sphere around points of one step: centre and radius; −1 if they are on several."""
        own = np.array(self.ball[slice(*points)]).reshape(-1, 6)
        if not len(own) or len(np.unique(np.array(self.point[slice(*points)])[:, 0])) > 1:
            return [0.0, 0.0, 0.0, -1.0]
        centre = 0.5 * (own[:, :3].min(axis=0) + own[:, :3].max(axis=0))
        return [*centre, float((np.linalg.norm(own[:, :3] - centre, axis=1) + own[:, 3] + own[:, 4]).max())]

    def add_pair(self, pair: Contact, law: int) -> None:
        """All that may touch of the two parts of a contact."""
        a, b = self.side(pair.link), self.side(pair.other)
        if a is None and b is None:
            ranges = self.capsules_of(pair.link), self.capsules_of(pair.other)
            if pair.per_length:
                self.lines.append([*self.line_of(pair), *ranges[1], law])
            else:
                self.rods.append([*ranges[0], *ranges[1], law])
                self.around.append([0.0, 0.0, 0.0, -1.0] * 2)
        elif a is None:
            assert b is not None
            self.add_touch(self.of_rod(pair, pair.link, b), b, law, turned=False)
        elif b is None:
            self.add_touch(self.of_rod(pair, pair.other, a), a, law, turned=True)
        elif a.anchor.step >= 0 or b.anchor.step >= 0:
            self.add_bodies(a, b, law)

    def add_bodies(self, a: Side, b: Side, law: int) -> None:
        """Corners of each against the other, and edges against edges."""
        # what is all spheres needs no corners of the other
        from_a = a.has_corners and b.distance is not None
        from_b = b.has_corners and a.distance is not None and not a.inside
        if from_a and from_b and a.corners.whole:
            from_b = False
        elif from_a and from_b and b.corners.whole:
            from_a = False
        if from_a:
            self.add_touch(self.of_body(a, sharp=b.is_smooth), b, law, turned=False)
        if from_b:
            self.add_touch(self.of_body(b, sharp=a.is_smooth), a, law, turned=True)
        if a.has_corners and b.has_corners and len(a.corners.edges) and len(b.corners.edges):
            ranges = self.edges_of(a), self.edges_of(b)
            self.rods.append([*ranges[0], *ranges[1], law])
            self.around.append([*self.sphere_around(ranges[0]), *self.sphere_around(ranges[1])])

    # ------------------------------------------------------------ tables

    def slots(self) -> NDArray[np.int64]:
        """Where the internal variables of capsules begin, after those of all points; empty if no capsules that touch each other remember."""
        if not np.any(remember(as_rows(self.laws, 7)[[row[R_LAW] for row in (*self.rods, *self.lines)]])):
            return np.zeros(0, dtype=np.int64)
        slot = np.full(len(self.point), -1, dtype=np.int64)
        spans = [*self.capsules.values(), *((row[0], row[1]) for row in self.lines)]
        capsules = np.concatenate([np.arange(*span) for span in spans])
        slot[capsules] = REMEMBERED * len(self.point) + PLACES * SLOT * np.arange(len(capsules))
        return slot

    def tables(self, impact_damping: Callable[[float], float]) -> Tables:
        """Go through all contacts; the finished tables."""
        robot = self.places.robot
        for name in robot.obstacles:
            side = self.side(name)
            assert side is not None
            self.number(side)
        for pair in robot.contacts.values():  # capsules of rods first: `skip` is about them
            if self.side(pair.link) is None and self.side(pair.other) is None:
                self.capsules_of(pair.link)
                self.capsules_of(pair.other)
        of_rods = len(self.point)
        for k, pair in enumerate(robot.contacts.values()):
            law = [pair.stiffness, pair.exponent, pair.damping, pair.friction, pair.slip_speed, pair.stiction]
            self.laws.append([*law, -1.0 if pair.restitution is None else impact_damping(pair.restitution)])
            self.add_pair(pair, k)
        skip = np.zeros((of_rods, of_rods), dtype=np.int64)
        for i in range(len(skip)):
            for j in range(len(skip)):
                same = self.owner[i][0] == self.owner[j][0] != ""
                gap = abs(self.owner[i][1] - self.owner[j][1]) - self.ball[i][4] - self.ball[j][4]
                skip[i, j] = int(same and gap < 2.0 * (self.ball[i][3] + self.ball[j][3]))
        found = self.surfaces
        return Tables(
            point=as_rows(self.point, 2, np.int64),
            ball=as_rows(self.ball, 6),
            shape=as_rows(found.shape, 3, np.int64),
            place=as_rows(found.place, 16),
            touch=as_rows(self.touch, 5, np.int64),
            rods=as_rows(self.rods, 5, np.int64),
            slot=self.slots(),
            skip=skip,
            law=as_rows(self.laws, 7),
            first=np.array([-1], dtype=np.int64),
            axis=as_rows(self.axis, 4),
            data=as_rows(found.data, 3, np.int64),
            node=found.node,
            tree=found.tree,
            triangle=found.triangle,
            field=found.field,
            bound=as_rows(found.bound, 4),
            reach=as_rows(self.reach, 4),
            lines=as_rows(self.lines, 5, np.int64),
            around=as_rows(self.around, 8),
        )
