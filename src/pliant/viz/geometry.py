"""What there is to draw of a robot: surfaces, lines and markers, each fixed to one of a list of poses.

Everything that moves is in the poses (`Scene.poses`): the world, the bodies, and stations along the rods. Everything else
is constant, so that a motion is a list of poses, for a live page as for a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.actuators import Tendon
from ..model.links import Body, Frame, Rod
from ..model.loads import FIELD, DistributedWrench, PointWrench
from ..model.magnetics import Coil, Magnet, feels_field
from ..model.robot import Robot
from ..model.routing import Along
from ..model.shapes import Cylinder, HalfSpace, Sphere, Triangles
from ..model.validate import integer
from ..system import System
from .colors import BODY, FORCE, LOOP, OBSTACLE, RODS, Color
from .rods import places, rod_skin, rod_stations
from .skins import Skin

__all__ = ["Arrow", "Cable", "Scene", "Solid", "Triad", "Tube", "build_scene"]

Array = NDArray[np.float64]
WORLD = 0  # the first pose
MOST_STATIONS = 400  # of all rods together, unless asked for more


@dataclass(frozen=True, eq=False)
class Tube:
    """A rod: its surface moves with the poses `first` to `first + len(X)` of its stations X."""

    name: str
    first: int
    X: Array
    skin: Skin
    color: Color

    @property
    def span(self) -> slice:
        """Where its stations are in the list of poses."""
        return slice(self.first, self.first + len(self.X))

    def mesh(self, poses: Array) -> Triangles:
        """Its surface for the poses (N, 4, 4) of a scene."""
        return self.skin.mesh(poses[self.span])


@dataclass(frozen=True, eq=False)
class Solid:
    """A rigid mesh in the axes of a pose."""

    name: str
    kind: Literal["body", "obstacle", "loop", "load"]
    pose: int
    mesh: Triangles
    color: Color
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Cable:
    """A tendon, push rod or chamber: a polyline whose points are fixed to poses, with its radius for drawing [m]."""

    name: str
    kind: Literal["tendon", "push rod", "chamber"]
    pose: NDArray[np.int64]
    offset: Array
    radius: float

    def points(self, poses: Array) -> Array:
        """Its points (m, 3) for the poses (N, 4, 4) of a scene."""
        g = poses[self.pose]
        return g[:, :3, 3] + np.einsum("pij,pj->pi", g[:, :3, :3], self.offset)


@dataclass(frozen=True, eq=False)
class Triad:
    """A named frame: a pose and a fixed offset (4, 4) from it."""

    name: str
    pose: int
    offset: Array


@dataclass(frozen=True, eq=False)
class Arrow:
    """A force, moment, field, dipole or current at a place fixed to a pose; its vector is in world axes, or in those of the pose.

    Its size is that of the inputs `inputs` (numbers; one scales the vector, three are its components), or constant.
    """

    name: str
    kind: Literal["force", "moment", "field", "dipole", "current"]
    pose: int
    offset: Array
    vector: Array
    in_world: bool
    inputs: tuple[int, ...] = ()

    def value(self, poses: Array, u: Array) -> Array:
        """The vector (3,) in world axes for the poses (N, 4, 4) and inputs (nu,)."""
        if len(self.inputs) == 3:
            return u[list(self.inputs)]
        vector = self.vector if self.in_world else poses[self.pose, :3, :3] @ self.vector
        return vector * u[self.inputs[0]] if self.inputs else vector


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything there is to draw of a system.

    Attributes
    ----------
    system : System
    tubes, solids, cables, triads, arrows : tuple
        Rods; bodies, obstacles and marks of loop joints; tendons; named frames; loads.
    bodies : tuple of str
        Links whose poses follow that of the world in the list.
    tips : tuple of int
        Poses whose paths are worth a trail: free ends of rods, and bodies that carry nothing.
    size : float
        A length that is typical for the robot [m].
    up : ndarray (3,)
        The direction opposite to gravity; z if there is none.
    see_through : bool
        Whether cables run inside the rods, which should then be drawn translucent.
    """

    system: System
    tubes: tuple[Tube, ...]
    solids: tuple[Solid, ...]
    cables: tuple[Cable, ...]
    triads: tuple[Triad, ...]
    arrows: tuple[Arrow, ...]
    bodies: tuple[str, ...]
    tips: tuple[int, ...]
    size: float
    up: Array
    see_through: bool

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.system.name

    @property
    def count(self) -> int:
        """Number of poses."""
        return 1 + len(self.bodies) + self.stations

    @cached_property
    def stations(self) -> int:
        """Number of stations of all rods."""
        return sum(len(tube.X) for tube in self.tubes)

    @cached_property
    def has_floor(self) -> bool:
        """Whether an obstacle is a floor, so that none has to be drawn."""
        floors = [
            (o.parent.offset @ o.pose).rotation[:, 2] @ self.up
            for o in self.system.robot.obstacles.values()
            if isinstance(o.shape, HalfSpace) and o.parent.link == "world"
        ]
        return bool(max(floors, default=0.0) > 0.7)

    def poses(self, q: ArrayLike) -> Array:
        """Poses (N, 4, 4) of world, bodies and stations in a configuration q (nq,)."""
        out = np.empty((self.count, 4, 4))
        out[WORLD] = np.eye(4)
        for k, name in enumerate(self.bodies, start=1):
            out[k] = self.system.pose(name, q)
        for tube in self.tubes:
            out[tube.span] = self.system.rod_poses(tube.name, q, tube.X)
        return out


@dataclass
class _Builder:
    """Collects what there is to draw."""

    system: System
    robot: Robot
    outline: int
    X: dict[str, Array]
    size: float
    bodies: tuple[str, ...]
    first: dict[str, int] = field(default_factory=dict)

    def place(self, frame: Frame) -> tuple[int, Array]:
        """The pose that a frame is fixed to, and its offset (4, 4) from there."""
        if frame.link == "world":
            return WORLD, frame.offset.matrix
        if frame.X is None:
            return 1 + self.bodies.index(frame.link), frame.offset.matrix
        return self.station(frame.link, frame.X), frame.offset.matrix

    def station(self, rod: str, X: float) -> int:
        """The station nearest to a point of a rod."""
        return self.first[rod] + int(np.argmin(np.abs(self.X[rod] - X)))

    def tubes(self) -> list[Tube]:
        """The rods; those with the same section get the same colour."""
        kinds: dict[str, Color] = {}
        out = []
        at = 1 + len(self.bodies)
        for name, X in self.X.items():
            rod = self.robot.link(name).content
            assert isinstance(rod, Rod)
            self.first[name] = at
            color = kinds.setdefault(repr(rod.section), RODS[len(kinds) % len(RODS)])
            out.append(Tube(name, at, X, rod_skin(rod, X, self.outline), color))
            at += len(X)
        return out

    def solids(self) -> list[Solid]:
        """Bodies, obstacles and marks of loop joints."""
        out = []
        mark = 0.018 * self.size
        for k, name in enumerate(self.bodies, start=1):
            body = self.robot.link(name).content
            assert isinstance(body, Body)
            if body.visual:
                out += self._visuals(k, name, body)
                continue
            if body.shape is None:
                mesh = self._skeleton(name, mark)
            else:
                mesh = body.shape.mesh()
                mesh = Triangles(mesh.vertices + body.shape_origin, mesh.faces)
            out.append(Solid(name, "body", k, mesh, BODY))
        for name, obstacle in self.robot.obstacles.items():
            pose, offset = self.place(obstacle.parent)
            mesh = obstacle.shape.mesh(size=3 * self.size, inside=obstacle.inside)
            opacity = 0.25 if obstacle.inside else 0.6
            moved = mesh.moved(offset @ obstacle.pose.matrix)
            out.append(Solid(name, "obstacle", pose, moved, OBSTACLE, opacity))
        for name, loop in self.robot.loops.items():
            pose, offset = self.place(loop.b)
            mesh = Sphere(0.7 * mark).mesh(around=16).moved(offset)
            out.append(Solid(name, "loop", pose, mesh, LOOP))
        for name, load in self.robot.loads.items():
            for frame in load.frames():
                pose, offset = self.place(frame)
                mesh = Sphere(0.7 * mark).mesh(around=16).moved(offset)
                out.append(Solid(name, "load", pose, mesh, FORCE))
        for name, source in self.robot.sources.items():
            pose, offset = self.place(source.frame)
            meshes = []
            if isinstance(source, Coil):
                band = Cylinder(source.radius, 0.4 * mark).mesh(around=48, inside=True)
                meshes = [band.moved(ring.matrix) for ring, _turns in source.circles()]
            for mesh in meshes or [Sphere(1.2 * mark).mesh(around=16)]:
                out.append(Solid(name, "load", pose, mesh.moved(offset), FORCE, 0.6))
        return out

    @staticmethod
    def _visuals(pose: int, name: str, body: Body) -> list[Solid]:
        """What is drawn in place of a body's shape, a solid for each colour."""
        colors: dict[Color, list[Triangles]] = {}
        for visual in body.visual:
            colors.setdefault(visual.rgb or BODY, []).append(visual.triangles)
        out = []
        for n, (color, meshes) in enumerate(colors.items()):
            first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
            faces = np.vstack([mesh.faces + at for mesh, at in zip(meshes, first)])
            whole = Triangles(np.vstack([mesh.vertices for mesh in meshes]), faces)
            out.append(Solid(name if n == 0 else f"{name} ({n + 1})", "body", pose, whole, color))
        return out

    def _skeleton(self, name: str, mark: float) -> Triangles:
        """A body without a shape: a small ball, and bars to where something is fixed to it."""
        ends = [place.offset.translation for place in places(self.robot) if place.link == name]
        ends += [
            (link.parent.offset @ link.offset).translation for link in self.robot.links if link.parent.link == name
        ]
        meshes = [Sphere(mark).mesh(around=16)]
        for end in np.unique(np.round(ends, 12), axis=0) if ends else ():
            length = float(np.linalg.norm(end))
            if length > 2 * mark:
                bar = Cylinder(0.4 * mark, length).mesh(around=12)
                turned = np.eye(4)
                turned[:3, :3] = np.linalg.qr(np.column_stack([end, np.eye(3)]))[0]
                turned[:3, 0] = end / length
                turned[:3, 2] = np.cross(turned[:3, 0], turned[:3, 1])
                turned[:3, 3] = end / 2
                meshes.append(bar.moved(turned))
        first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
        faces = np.vstack([mesh.faces + at for mesh, at in zip(meshes, first)])
        return Triangles(np.vstack([mesh.vertices for mesh in meshes]), faces)

    def cables(self) -> list[Cable]:
        """Tendons, push rods and chambers."""
        return [self._cable(name, tendon) for name, tendon in self.robot.tendons.items()]

    def _cable(self, name: str, tendon: Tendon) -> Cable:
        pose: list[NDArray[np.int64]] = []
        offset: list[Array] = []
        for piece in tendon.path:
            if isinstance(piece, Along):
                X = self.X[piece.rod]
                low, high = piece.span
                k = np.flatnonzero((low - 1e-9 <= X) & (high + 1e-9 >= X))
                k = k[:: 1 if piece.start < piece.end else -1]
                pose.append(self.first[piece.rod] + k)
                offset.append(piece.offsets(X[k])[0])
            else:
                at, matrix = self.place(piece)
                pose.append(np.array([at]))
                offset.append(matrix[None, :3, 3])
        radius = 0.003 * self.size
        if tendon.kind == "chamber":
            radius = float(np.sqrt(np.abs(tendon.weight(np.array([0.5])))[0] / np.pi))
        elif tendon.kind == "push rod":
            radius *= 1.5
        return Cable(name, tendon.kind, np.concatenate(pose), np.concatenate(offset), radius)

    def triads(self) -> list[Triad]:
        """Named frames, ends of rods, bodies and the world."""
        out = [Triad("world", WORLD, np.eye(4))]
        for name in self.robot.frame_names():
            if name not in self.X:  # the name of a rod is that of its tip
                out.append(Triad(name, *self.place(self.robot.resolve(name))))
        return out

    def arrows(self) -> list[Arrow]:
        """Wrenches at points and along rods, and the magnetic field."""
        names = self.system.input_names
        out: list[Arrow] = []
        for name, wrench in self.robot.wrenches.items():
            inputs = () if wrench.constant else (names.index(name),)
            if isinstance(wrench, PointWrench):
                pose, matrix = self.place(wrench.frame)
                spots = [(pose, matrix, wrench.moment, wrench.force)]
            else:
                spots = self._spread(wrench)
            for pose, matrix, moment, force in spots:
                for kind, vector in (("force", force), ("moment", moment)):
                    if np.any(vector):
                        own = wrench.axes == "world"
                        turned = vector if own else matrix[:3, :3] @ vector
                        out.append(Arrow(name, kind, pose, matrix[:3, 3], turned, own, inputs))  # type: ignore[arg-type]
        if feels_field(self.robot):
            field = tuple(names.index(axis) for axis in FIELD)
            out.append(Arrow("magnetic field", "field", WORLD, np.zeros(3), np.zeros(3), True, field))
        return out + self._dipoles() + self._current()

    def _dipoles(self) -> list[Arrow]:
        """Moments of magnets and dipoles, along rods at a few places."""
        names, out = self.system.input_names, []
        for name, dipole in self.robot.dipoles.items():
            if isinstance(dipole.place, str):
                X = np.linspace(0.0, 1.0, 5)
                spots = [(self.station(dipole.place, float(x)), np.eye(4), m) for x, m in zip(X, dipole.at(X))]
            else:
                spots = [(*self.place(dipole.place), dipole.at(np.zeros(1))[0])]
            out += [Arrow(name, "dipole", p, g[:3, 3], g[:3, :3] @ m, False) for p, g, m in spots]
        for name, source in self.robot.sources.items():
            if isinstance(source, Magnet):
                pose, g = self.place(source.frame)
                inputs = () if source.constant else (names.index(name),)
                out.append(Arrow(name, "dipole", pose, g[:3, 3], g[:3, :3] @ source.moment, False, inputs))
        return out

    def _current(self) -> list[Arrow]:
        """A steady current, above the robot."""
        fluid = self.robot.fluid
        flow = np.zeros(3) if fluid is None else np.asarray(fluid.current, dtype=float)
        g = self.system.gravity
        up = -g / np.linalg.norm(g) if np.any(g) else np.array([0.0, 0.0, 1.0])
        place = self.system.center_of_mass(self.system.neutral()) + 0.7 * self.size * up
        return [Arrow("current", "current", WORLD, place, flow, True)] if np.any(flow) else []

    def _spread(self, wrench: DistributedWrench) -> list[tuple[int, Array, Array, Array]]:
        X = np.linspace(0.0, 1.0, 9)
        moment, force = wrench.at(X)
        return [(self.station(wrench.rod, float(x)), np.eye(4), m, f) for x, m, f in zip(X, moment, force)]

    def tips(self) -> list[int]:
        """Ends of rods that carry nothing, and bodies that carry nothing."""
        carrying = {link.parent.link for link in self.robot.links}
        out = []
        for link in self.robot.links:
            if link.name not in carrying:
                out.append(self.place(link.frame)[0])
        return out


def build_scene(system: System, *, stations: int | None = None, outline: int = 20) -> Scene:
    """What there is to draw of a system.

    Parameters
    ----------
    system : System
    stations : int, optional
        Stations along each rod, at least 2. By default 48, fewer if there are many rods, more for wound tendons.
    outline : int
        Points around a round section, at least 4.

    Returns
    -------
    Scene
    """
    if not isinstance(system, System):
        raise TypeError(f"system = {system!r} must be a System; call robot.compile() first.")
    integer("outline", outline, minimum=4)
    robot = system.robot
    rods = [link.name for link in robot.links if link.is_rod]
    share = int(np.clip(MOST_STATIONS // max(len(rods), 1), 10, 48))
    count = share if stations is None else integer("stations", stations, minimum=2)
    X = {name: rod_stations(robot, name, count, grow=stations is None) for name in rods}
    bodies = tuple(link.name for link in robot.links if not link.is_rod)
    builder = _Builder(system, robot, outline, X, _size(system, X, bodies), bodies)
    tubes = builder.tubes()
    cables = builder.cables()
    g = system.gravity
    return Scene(
        system=system,
        tubes=tuple(tubes),
        solids=tuple(builder.solids()),
        cables=tuple(cables),
        triads=tuple(builder.triads()),
        arrows=tuple(builder.arrows()),
        bodies=bodies,
        tips=tuple(builder.tips()),
        size=builder.size,
        up=-g / np.linalg.norm(g) if np.any(g) else np.array([0.0, 0.0, 1.0]),
        see_through=_hidden(robot, tubes, cables),
    )


def _size(system: System, X: dict[str, Array], bodies: tuple[str, ...]) -> float:
    """Largest side of the box around the neutral configuration."""
    q = system.neutral()
    points = [system.rod_poses(name, q, at)[:, :3, 3] for name, at in X.items()]
    points += [system.pose(name, q)[None, :3, 3] for name in bodies]
    side = float(np.ptp(np.vstack(points), axis=0).max()) if points else 0.0
    for name in bodies:
        body = system.robot.link(name).content
        assert isinstance(body, Body)
        meshes = [visual.triangles for visual in body.visual] or ([body.shape.mesh()] if body.shape else [])
        side = max([side, *(float(np.ptp(mesh.vertices, axis=0).max()) for mesh in meshes)])
    return max([side, *(system.rod_length(name) for name in X)]) or 1.0


def _hidden(robot: Robot, tubes: list[Tube], cables: list[Cable]) -> bool:
    """Whether a cable runs inside a rod."""
    for cable in cables:
        for tube in tubes:
            section = getattr(robot.link(tube.name).content, "section", None)
            own = (cable.pose >= tube.first) & (cable.pose < tube.first + len(tube.X))
            if section is not None and np.any(own):
                reach = section.extent(tube.X[cable.pose[own] - tube.first])
                if np.any(np.linalg.norm(cable.offset[own, 1:], axis=1) < 0.95 * reach):
                    return True
    return False
