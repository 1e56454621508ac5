"""Actuators and loads → flat tables: where each one acts in the table of steps.

The counterpart of `assembly` for what drives the robot and what acts on it; one function per family of `kernels.loads`. Tendons have
a file of their own, `tendon_loading`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..kernels.groups import Units
from ..kernels.loads import contact, loops, shapes, water
from ..kernels.loads.efforts import Efforts
from ..kernels.loads.tendons import Tendons
from ..kernels.loads.units import UNIT_OF
from ..kernels.loads.user import User
from ..kernels.loads.wrenches import DIPOLE, IN_BODY, IN_WORLD, Wrenches
from ..model.links import Body, Frame, Link, Rod
from ..model.loads import FIELD, Contact, Obstacle, PointWrench
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.units import input_units
from .places import Anchor, Places, as_rows
from .tendons import TendonBuilder

__all__ = ["Loading", "build_loading", "input_names", "points_of_interest"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Loading:
    """The tables of all families, the steps that carry loads, and what their presence means for the recursion."""

    units: Units
    tendons: Tendons
    efforts: Efforts
    wrenches: Wrenches
    water: water.Water
    contact: contact.Contact
    user: User
    loops: loops.Loops
    steps: frozenset[int]
    velocity_loads: bool
    pair_loads: bool
    lower: Array  # (nu,) smallest allowed inputs
    conservative: bool  # whether contact, fluid and user loads leave a potential in statics
    notes: tuple[str, ...]  # what the points of tendons do not resolve

    @property
    def groups(self) -> tuple[Any, ...]:
        """In the order of `kernels.groups.GROUPS`."""
        return self.units, self.tendons, self.efforts, self.wrenches, self.water, self.contact, self.user, self.loops


def input_names(robot: Robot) -> tuple[str, ...]:
    """All inputs: tendons, motors, stresses, wrenches, the field, inputs of user loads."""
    return tuple(input_units(robot))


def points_of_interest(robot: Robot, rod: str) -> list[float]:
    """Points X inside a rod where something acts, which become computational points."""
    frames: list[Frame] = [*robot.frames.values()]
    frames += [w.frame for w in robot.wrenches.values() if isinstance(w, PointWrench)]
    frames += [d.place for d in robot.dipoles.values() if isinstance(d.place, Frame)]
    frames += [obstacle.parent for obstacle in robot.obstacles.values()]
    frames += [frame for loop in robot.loops.values() for frame in (loop.a, loop.b)]
    frames += [place for _load, places in robot.user_loads.values() for place in places if isinstance(place, Frame)]
    for tendon in robot.tendons.values():
        for k, piece in enumerate(tendon.path):
            if isinstance(piece, Frame):
                frames.append(piece)
                continue
            if k > 0:
                frames.append(Frame(piece.rod, piece.start))
            if k < len(tendon.path) - 1:
                frames.append(Frame(piece.rod, piece.end))
    return [float(f.X or 0.0) for f in frames if f.link == rod]


# ---------------------------------------------------------------- efforts


def _efforts(places: Places, inputs: Sequence[str]) -> Efforts:
    """Motors and internal stress."""
    place, data = [], []
    robot = places.robot
    for name, motor in robot.motors.items():
        link = robot.link(motor.link)
        v = places.v0[motor.link] + motor.dof
        q = places.q0[motor.link] + (motor.dof if link.joint.group is None else 0)
        gain = {"torque": 1.0, "position": motor.kp, "velocity": motor.kd}[motor.control]
        place.append([inputs.index(name), v, q])
        data.append([gain, motor.kp, motor.kd, motor.limit])
    for name, stress in robot.stresses.items():
        link, rod, grid = places.rod(stress.rod)
        at = grid.weights > 0
        Phi = rod.strains.matrix(grid.X[at])
        gains = np.einsum("m,mai,ma->i", grid.weights[at] * rod.length, Phi, stress.at(grid.X[at]))
        for i, gain in enumerate(gains):
            if gain != 0.0:
                place.append([inputs.index(name), places.strain_v(link) + i, places.strain_q(link) + i])
                data.append([gain, 0.0, 0.0, np.inf])
    return Efforts(place=as_rows(place, 3, np.int64), data=as_rows(data, 4))


# ---------------------------------------------------------------- wrenches and fields


def _wrenches(places: Places, inputs: Sequence[str]) -> Wrenches:
    """Point wrenches, distributed wrenches and dipoles."""
    place: list[list[int]] = []
    data: list[Array] = []

    def add(anchor: Anchor, kind: int, index: int, first: Array, second: Array) -> None:
        if anchor.step >= 0:
            place.append([anchor.step, int(kind), index])
            offset = anchor.offset
            data.append(np.concatenate([offset.rotation.ravel(), offset.translation, first, second]))

    def spread(rod: str) -> tuple[Array, Array, list[Anchor]]:
        _link, content, grid = places.rod(rod)
        at = np.flatnonzero(grid.weights > 0)
        return grid.X[at], grid.weights[at] * content.length, [places.anchors[rod][int(i)] for i in at]

    for name, wrench in places.robot.wrenches.items():
        index = -1 if wrench.constant else inputs.index(name)
        kind = int(IN_WORLD if wrench.axes == "world" else IN_BODY)
        if isinstance(wrench, PointWrench):
            add(places.anchor(wrench.frame), kind, index, wrench.moment, wrench.force)
            continue
        X, w, anchors = spread(wrench.rod)
        moment, force = wrench.at(X)
        for k, anchor in enumerate(anchors):
            add(anchor, kind, index, w[k] * moment[k], w[k] * force[k])
    for dipole in places.robot.dipoles.values():
        if isinstance(dipole.place, Frame):
            points, moments = [places.anchor(dipole.place)], dipole.at(np.array([0.0]))
        else:
            X, w, points = spread(dipole.place)
            moments = w[:, None] * dipole.at(X)
        for c, axis in enumerate(FIELD):
            for anchor, moment in zip(points, moments):
                add(anchor, int(DIPOLE), inputs.index(axis), moment, np.eye(3)[c])
    return Wrenches(place=as_rows(place, 3, np.int64), data=as_rows(data, 18))


# ---------------------------------------------------------------- fluid


def added_mass(robot: Robot, link: Link, X: Array | None = None) -> Array | None:
    """Added mass of a body (1, 6, 6) or of a rod per metre at X (m, 6, 6); None without."""
    effect = robot.hydrodynamics.get(link.name)
    if effect is None or robot.fluid is None or effect.added_mass is None:
        return None
    return effect.added_mass_at(link.content, robot.fluid, X)


def move_matrix(M: Array, offset: Pose) -> Array:
    """A 6×6 matrix from twists to wrenches in a frame, seen from the frame in which the former has this pose."""
    T = lie.Ad(np.linalg.inv(offset.matrix))
    return np.asarray(T.T @ M @ T, dtype=np.float64)


def _water(places: Places) -> water.Water:
    """Buoyancy, drag, tail force and added mass of every step in the fluid."""
    robot = places.robot
    place: list[list[int]] = []
    data: list[Array] = []
    fluid = robot.fluid
    current = np.zeros(3) if fluid is None else np.array(fluid.current, dtype=float)

    def add(
        anchor: Anchor, linear: Array, square: Array, added: Array, mass: float, centre: Array, tail: Array
    ) -> None:
        if anchor.step < 0:
            return
        row = np.zeros(water.WATER_WIDTH)
        row[water.W_ROT : water.W_ROT + 9] = anchor.offset.rotation.ravel()
        row[water.W_POS : water.W_POS + 3] = anchor.offset.translation
        row[water.W_LINEAR : water.W_LINEAR + 36] = linear.ravel()
        row[water.W_SQUARE : water.W_SQUARE + 36] = square.ravel()
        row[water.W_ADDED : water.W_ADDED + 36] = added.ravel()
        row[water.W_MASS] = mass
        row[water.W_CENTRE : water.W_CENTRE + 3] = centre
        row[water.W_TAIL : water.W_TAIL + 2] = tail
        drags = np.abs(linear) + np.abs(square)
        kind = 2 if np.any(drags[:3]) or np.any(drags[:, :3]) else int(np.any(drags) or np.any(tail))
        place.append([anchor.step, kind, int(np.any(added))])
        data.append(row)

    none = np.zeros((6, 6))
    for name, effect in robot.hydrodynamics.items() if fluid is not None else ():
        assert fluid is not None
        link = robot.link(name)
        content = link.content
        if isinstance(content, Rod):
            grid = places.grids[name]
            at = np.flatnonzero(grid.weights > 0)
            X, w = grid.X[at], grid.weights[at] * content.length
            matrices = [f(content, fluid, X) for f in (effect.linear_drag_at, effect.drag_at, effect.added_mass_at)]
            displaced = fluid.density * effect.displaced_at(content, X)
            for k, i in enumerate(at):
                values = [w[k] * m[k] for m in matrices]
                add(
                    places.anchors[name][int(i)],
                    values[0],
                    values[1],
                    values[2],
                    w[k] * displaced[k],
                    np.zeros(3),
                    np.zeros(2),
                )
            tail = np.array(effect.tail_mass(content, fluid))
            if np.any(tail):
                add(places.anchors[name][-1], none, none, none, 0.0, np.zeros(3), tail)
        else:
            matrices = [f(content, fluid)[0] for f in (effect.linear_drag_at, effect.drag_at, effect.added_mass_at)]
            mass = fluid.density * float(effect.displaced_at(content)[0])
            centre = np.asarray(effect.centroid(content)) if mass else np.zeros(3)
            add(places.anchors[name][0], matrices[0], matrices[1], matrices[2], mass, centre, np.zeros(2))
    return water.Water(place=as_rows(place, 3, np.int64), data=as_rows(data, water.WATER_WIDTH), fluid=current)


# ---------------------------------------------------------------- contact


def _shape_row(obstacle: Obstacle) -> tuple[int, Pose, list[float]]:
    """Primitive, its frame in that of the shape, and its sizes and rounding."""
    distance = obstacle.shape.distance()
    assert distance is not None  # checked by the obstacle
    size = np.zeros(4)
    size[: len(distance.size)], size[3] = distance.size, distance.rounding
    return int(shapes.PRIMITIVES[distance.primitive]), distance.pose, size.tolist()


def _body_points(body: Body) -> list[tuple[Array, float]]:
    """Contact spheres of a body's shape, in its frame: centre and radius."""
    assert body.shape is not None
    centre = np.zeros(3) if body.inertia is None else np.asarray(body.inertia.com)
    return [(centre + point, radius) for point, radius in body.shape.contact_points()]


class _ContactBuilder:
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

    def tables(self) -> contact.Contact:
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
            self.laws.append([pair.stiffness, pair.exponent, pair.damping, pair.friction, pair.slip_speed])
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
        return contact.Contact(
            point=as_rows(self.point, 1, np.int64),
            ball=as_rows(self.ball, 6),
            shape=as_rows(shape, 3, np.int64),
            place=as_rows(place, 16),
            touch=as_rows(self.touch, 4, np.int64),
            rods=as_rows(self.rods, 5, np.int64),
            skip=skip,
            law=as_rows(self.laws, 5),
        )


# ---------------------------------------------------------------- user loads


def _user(places: Places, inputs: Sequence[str]) -> User:
    """Points of user loads and the addresses of their functions."""
    load_rows, place = [], []
    point: list[list[int]] = []
    for load, where in places.robot.user_loads.values():
        first = len(point)
        for entry in where:
            spots: Iterable[tuple[Anchor, float]]
            if isinstance(entry, Frame):
                spots = [(places.anchor(entry), 1.0)]
            else:
                _link, rod, grid = places.rod(entry)
                at = np.flatnonzero(grid.weights > 0)
                spots = [(places.anchors[entry][int(i)], float(grid.weights[i] * rod.length)) for i in at]
            for anchor, weight in spots:
                if anchor.step >= 0:
                    point.append([anchor.step])
                    offset = anchor.offset
                    place.append([*offset.rotation.ravel(), *offset.translation, weight])
        start = inputs.index(load.inputs[0]) if load.inputs else 0
        load_rows.append([first, len(point), load.address, start, len(load.inputs)])
    return User(load=as_rows(load_rows, 5, np.int64), point=as_rows(point, 1, np.int64), place=as_rows(place, 13))


def _loops(places: Places) -> loops.Loops:
    """Frames and rows of loop joints."""
    kinds = {"point": loops.POINT, "angle": loops.ANGLE, "helix": loops.HELIX}
    joint, place, data = [], [], []
    row: list[list[int]] = []
    for loop in places.robot.loops.values():
        a, b = places.anchor(loop.a), places.anchor(loop.b)
        rows = loop.rows()
        joint.append([a.step, b.step, len(row), len(row) + len(rows)])
        place.append(
            [*a.offset.rotation.ravel(), *a.offset.translation, *b.offset.rotation.ravel(), *b.offset.translation]
        )
        row += [[int(kinds[kind])] for kind, _numbers, _what in rows]
        data += [numbers for _kind, numbers, _what in rows]
    return loops.Loops(
        joint=as_rows(joint, 4, np.int64),
        place=as_rows(place, 24),
        row=as_rows(row, 1, np.int64),
        data=as_rows(data, 10),
    )


def build_loading(places: Places, inputs: Sequence[str], refine: int = 1) -> Loading:
    """Tables of everything that drives the robot and acts on it; `refine` as of `assemble`."""
    robot = places.robot
    builder = TendonBuilder(places, inputs, refine)
    for name, tendon in robot.tendons.items():
        builder.add(name, tendon)
    tendons, efforts, wrenches = builder.tables(), _efforts(places, inputs), _wrenches(places, inputs)
    fluid, touching, user = _water(places), _ContactBuilder(places).tables(), _user(places, inputs)
    closing = _loops(places)
    steps = {int(i) for i in tendons.segment[:, 1:].ravel()} | {int(i) for i in closing.joint[:, :2].ravel()}
    for column in (
        wrenches.place[:, 0],
        fluid.place[:, 0],
        touching.point[:, 0],
        touching.shape[:, 1],
        user.point[:, 0],
    ):
        steps |= {int(i) for i in column}
    steps.discard(-1)
    flows = bool(np.any(fluid.fluid))
    velocity = bool(
        np.any(fluid.place[:, 1])
        or (flows and np.any(fluid.place[:, 2]))
        or np.any(touching.law[:, 2:4])
        or len(user.point)
    )
    lower = np.full(len(inputs), -np.inf)
    for name, tendon in robot.tendons.items():
        if not tendon.push and tendon.control != "elastic":
            lower[inputs.index(name)] = 0.0
    needed = (
        len(tendons.segment) > 0 or np.any(tendons.law[:, 1]) or len(tendons.wrap) > 0,
        len(fluid.place) > 0,
        len(touching.touch) + len(touching.rods) > 0,
        len(user.point) > 0,
        len(closing.joint) > 0,
    )
    address = [unit.address if wanted else 0 for unit, wanted in zip(UNIT_OF, needed)]
    return Loading(
        units=Units(np.array(address, dtype=np.int64)),
        tendons=tendons,
        efforts=efforts,
        wrenches=wrenches,
        water=fluid,
        contact=touching,
        user=user,
        loops=closing,
        steps=frozenset(steps),
        velocity_loads=velocity,
        pair_loads=bool(
            len(closing.joint) or len(tendons.segment) or len(touching.rods) or np.any(touching.shape[:, 1] >= 0)
        ),
        lower=lower,
        conservative=not (len(user.point) or (flows and np.any(fluid.place[:, 1:])))
        and not np.any(tendons.value[:, 3]),
        notes=tuple(builder.notes),
    )
