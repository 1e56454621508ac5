"""A motion to look at: the poses of a scene over time, with colours and loads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.links import Rod
from ..model.validate import integer, positive
from ..system import Contacts, Inputs, System
from ..system.laws import LawPoints
from .geometry import Scene, build_scene

if TYPE_CHECKING:
    from ..solve.result import Result

__all__ = ["FIELDS", "Recording", "Strain", "record", "record_result"]

Array = NDArray[np.float64]

FIELDS: dict[str, str] = {
    "curvature": "rad/m",
    "torsion": "rad/m",
    "bending_y": "rad/m",
    "bending_z": "rad/m",
    "stretch": "",
    "shear": "",
    "energy": "J/m",
}
"""What rods can be coloured by, with units: bending in all, single strains, and elastic energy per metre."""


class Strain:
    """Strains along the drawn rods, for many configurations at once."""

    def __init__(self, scene: Scene) -> None:
        self.parts: list[tuple[slice, Array, Array, Array | LawPoints]] = []
        for tube in scene.tubes:
            link = scene.system.robot.link(tube.name)
            assert isinstance(link.content, Rod)
            q = scene.system.q_slice(tube.name)
            inner = np.clip(tube.X, 1e-4, 1 - 1e-4)  # a tip may have no section
            self.parts.append(
                (
                    slice(q.start + link.joint.nq, q.stop),
                    link.content.strains.matrix(tube.X),
                    link.content.reference(tube.X),
                    LawPoints(link.content, inner) if link.content.law else link.content.stiffness_at(inner),
                )
            )

    def fields(self, q: Array) -> dict[str, Array]:
        """All `FIELDS` at the stations of all rods, each (T, stations), for configurations q (T, nq)."""
        rows: dict[str, list[Array]] = {name: [np.zeros((len(q), 0))] for name in FIELDS}
        for own, Phi, reference, stiffness in self.parts:
            change = np.einsum("mai,ti->tma", Phi, q[:, own])
            xi = reference + change
            rows["curvature"].append(np.hypot(xi[..., 1], xi[..., 2]))
            rows["torsion"].append(xi[..., 0])
            rows["bending_y"].append(xi[..., 1])
            rows["bending_z"].append(xi[..., 2])
            rows["stretch"].append(xi[..., 3])
            rows["shear"].append(np.hypot(xi[..., 4], xi[..., 5]))
            if isinstance(stiffness, LawPoints):
                rows["energy"].append(np.array([stiffness.stress(own)[1] for own in change]).reshape(len(q), -1))
            else:
                rows["energy"].append(0.5 * np.einsum("tma,mab,tmb->tm", change, stiffness, change))
        return {name: np.concatenate(parts, axis=1) for name, parts in rows.items()}


@dataclass(frozen=True, eq=False)
class Recording:
    """Poses, colours and loads of a scene over time.

    Attributes
    ----------
    scene : Scene
    t : ndarray (T,)
        Times [s].
    q, u : ndarray (T, nq), (T, nu)
    poses : ndarray (T, N, 4, 4)
    tension : ndarray (T, cables)
        Tension, force or pressure of the cables, in their own units.
    arrows : ndarray (T, A, 3)
        Vectors of the arrows, scaled so that the longest of its kind is 0.3 sizes of the robot.
    contacts : list of Contacts
        Those of each time, as the engine applies them; empty for a robot without contacts.
    contact_scale : float
        Length of the arrows of contact forces [m/N], so that the longest is 0.3 sizes of the robot.
    """

    scene: Scene
    t: Array
    q: Array
    u: Array
    poses: Array
    tension: Array
    arrows: Array
    contacts: list[Contacts]
    contact_scale: float

    @cached_property
    def fields(self) -> dict[str, Array]:
        """What rods can be coloured by, each (T, stations); those that never vary are left out."""
        every = Strain(self.scene).fields(self.q)
        return {name: v for name, v in every.items() if v.size and np.ptp(v) > 1e-9 * (1 + np.abs(v).max())}

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest corner of the box around the robot over the whole motion [m]."""
        points = [self.poses[:, tube.span, :3, 3].reshape(-1, 3) for tube in self.scene.tubes]
        reach = [float(np.abs(tube.skin.offset).max()) for tube in self.scene.tubes]
        for solid in self.scene.solids:
            if solid.kind == "body":
                g = self.poses[:: max(1, len(self.t) // 40), solid.pose]
                corners = np.einsum("tij,vj->tvi", g[:, :3, :3], solid.mesh.vertices) + g[:, None, :3, 3]
                points.append(corners.reshape(-1, 3))
                reach.append(0.0)
        for cable in self.scene.cables:
            points.append(cable.points(self.poses[0]))
            reach.append(0.0)
        if not points:
            return np.zeros(3), np.ones(3)
        low = np.min([p.min(axis=0) - r for p, r in zip(points, reach)], axis=0)
        high = np.max([p.max(axis=0) + r for p, r in zip(points, reach)], axis=0)
        return low, high

    @property
    def floor(self) -> float:
        """Height of a ground below everything, along `Scene.up` [m]."""
        low, high = self.bounds
        corners = np.stack(np.meshgrid(*zip(low, high)), axis=-1).reshape(-1, 3)
        lowest = float((corners @ self.scene.up).min())
        return lowest - 0.02 * self.scene.size


def record(
    system: System | Scene,
    q: ArrayLike,
    *,
    t: ArrayLike | None = None,
    u: ArrayLike | Inputs = None,
    v: ArrayLike | None = None,
) -> Recording:
    """Poses, colours and loads for configurations of a system.

    Parameters
    ----------
    system : System or Scene
    q : array (nq,) or (T, nq)
    t : array (T,), optional
        Times [s].
    u : inputs, or array (T, nu), optional
    v : array (nv,) or (T, nv), optional
        Velocities, which contact forces depend on; at rest if left out.
    """
    scene = system if isinstance(system, Scene) else build_scene(system)
    s = scene.system
    states = np.atleast_2d(np.asarray(q, dtype=float))
    if states.ndim != 2 or states.shape[1] != s.nq:
        raise ValueError(f"q has shape {np.shape(q)}, but ({s.nq},) or (T, {s.nq}) is needed (nq of {s.name!r}).")
    if not np.all(np.isfinite(states)):
        raise ValueError("q has an entry that is NaN or infinite; there is nothing to draw.")
    times = np.arange(len(states), dtype=float) if t is None else np.asarray(t, dtype=float)
    inputs = np.asarray(u) if isinstance(u, np.ndarray) and u.ndim == 2 else np.tile(s.inputs(u), (len(states), 1))
    poses = np.array([scene.poses(x) for x in states])
    arrows = np.zeros((len(states), len(scene.arrows), 3))
    for k, arrow in enumerate(scene.arrows):
        for i in range(len(states)):
            arrows[i, k] = arrow.value(poses[i], inputs[i])
    for kind in {arrow.kind for arrow in scene.arrows}:
        own = [k for k, arrow in enumerate(scene.arrows) if arrow.kind == kind]
        arrows[:, own] *= _shrink(arrows[:, own], scene.size)
    rates = np.zeros((len(states), s.nv)) if v is None else np.atleast_2d(np.asarray(v, dtype=float))
    if rates.shape != (len(states), s.nv):
        raise ValueError(f"v has shape {rates.shape}, but ({len(states)}, {s.nv}) is needed (nv of {s.name!r}).")
    contacts = [s.contacts(x, rate) for x, rate in zip(states, rates)] if s.robot.contacts else []
    scale = _shrink(np.vstack([np.zeros((0, 3)), *(state.force for state in contacts)]), scene.size)
    return Recording(scene, times, states, inputs, poses, _tension(s, states, rates, inputs), arrows, contacts, scale)


def _shrink(vectors: Array, size: float) -> float:
    """Factor that makes the longest vector 0.3 sizes long."""
    longest = float(np.linalg.norm(vectors, axis=-1).max(initial=0.0))
    return 0.3 * size / longest if longest > 0 else 0.0


def _tension(system: System, q: Array, v: Array, u: Array) -> Array:
    """Tension, force or pressure of the tendons, (T, n)."""
    tendons = system.robot.tendons
    elastic = [k for k, tendon in enumerate(tendons.values()) if tendon.control == "elastic"]
    out = u[:, [system.input_names.index(name) for name in tendons]]
    for i in range(len(q) if elastic else 0):
        out[i, elastic] = system.tendon_tensions(q[i], v[i], u[i])[elastic]
    return out


def record_result(result: Result, *, fps: float = 60.0, frames: int = 600, stations: int | None = None) -> Recording:
    """The recording of a simulation.

    Parameters
    ----------
    result : Result
    fps : float
        At most so many pictures for each simulated second.
    frames : int
        At most so many pictures in all, at least 2.
    stations : int, optional
        See `build_scene`.
    """
    positive("fps", fps, unit="1/s")
    integer("frames", frames, minimum=2)
    scene = build_scene(result.system, stations=stations)
    if len(result.t) < 2:
        return record(scene, result.q, t=result.t, u=result.u, v=result.v)
    duration = float(result.t[-1] - result.t[0])
    count = int(np.clip(np.ceil(duration * fps) + 1, 2, frames))
    even = result.resample(np.linspace(result.t[0], result.t[-1], count))
    return record(scene, even.q, t=even.t, u=even.u, v=even.v)
