"""Batches of poses, twists and Jacobians of a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import choice
from ..system import FrameLike, Reference, System
from ..system.kinematics import fill_jacobians, fill_motions
from .items import Count, not_finite, parameter_rows, rows
from .robots import Robots, grouped
from .stores import Field
from .task import Chunk, Indices, Task

__all__ = ["jacobians", "poses", "twists"]

Array = NDArray[np.float64]
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")


def _states(
    system: System, q: Any, v: Any, parameters: Any, *, moving: bool
) -> tuple[Robots, int, dict[int, str], Array, Array]:
    """Robots, number of items, refusals, and states in rows (m, …)."""
    count = Count()
    Q = rows("q", q, (system.nq,), count)
    V = rows("v", v, (system.nv,), count) if moving else np.zeros((1, system.nv))
    robots = Robots(system, *parameter_rows(system, parameters, count))
    m = int(count)
    refused = not_finite("q", Q, m, system.coordinate_names) | not_finite("v", V, m, system.dof_names)
    for array in (Q, V):  # kernels see numbers only
        array[~np.isfinite(array)] = 0.0
    return robots, m, refused, np.broadcast_to(Q, (m, system.nq)), np.broadcast_to(V, (m, system.nv))


def _filled(
    chunk: Chunk, part: Indices, names: tuple[str, ...], states: tuple[Array, ...], fill: Callable[..., None]
) -> None:
    """Let `fill(*states, *arrays)` write some items of a chunk: straight into its window, if that is all of it.

    States are copied, since arrays that may not be written to are another type to kernels.
    """
    if len(part) == len(chunk.status):
        span = slice(chunk.begin, chunk.begin + len(part))
        fill(*(np.array(x[span], order="C") for x in states), *(chunk.window[name] for name in names))
        return
    arrays = [np.empty((len(part), *chunk.window[name].shape[1:])) for name in names]
    fill(*(np.array(x[chunk.begin + part], order="C") for x in states), *arrays)
    for name, array in zip(names, arrays):
        chunk.window[name][part] = array


def poses(system: System, frame: FrameLike, q: Any, parameters: Any) -> Task:
    """See `Batch.poses`."""
    robots, m, refused, Q, _V = _states(system, q, None, parameters, moving=False)
    system.place(frame)

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        for own, part in grouped(systems, items):

            def fill(q: Array, pose: Array, own: System = own) -> None:
                fill_motions(own, frame, q, None, world=False, pose=pose)

            _filled(chunk, part, ("pose",), (Q,), fill)

    fields = (Field("pose", ("row", "column"), (4, 4)),)
    return Task(robots, m, fields, compute, 16384, refused)


def twists(system: System, frame: FrameLike, q: Any, v: Any, reference: Reference, parameters: Any) -> Task:
    """See `Batch.twists`."""
    choice("reference", reference, ("body", "world"))
    robots, m, refused, Q, V = _states(system, q, v, parameters, moving=True)
    system.place(frame)

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        for own, part in grouped(systems, items):

            def fill(q: Array, v: Array, pose: Array, twist: Array, own: System = own) -> None:
                fill_motions(own, frame, q, v, world=reference == "world", pose=pose, twist=twist)

            _filled(chunk, part, ("pose", "twist"), (Q, V), fill)

    fields = (Field("pose", ("row", "column"), (4, 4)), Field("twist", ("component",), (6,), "rad/s, m/s"))
    return Task(robots, m, fields, compute, 8192, refused, {"component": TWIST})


def jacobians(system: System, frame: FrameLike, q: Any, reference: Reference, parameters: Any) -> Task:
    """See `Batch.jacobians`."""
    choice("reference", reference, ("body", "world"))
    robots, m, refused, Q, _V = _states(system, q, None, parameters, moving=False)
    system.place(frame)

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        for own, part in grouped(systems, items):

            def fill(q: Array, out: Array, own: System = own) -> None:
                fill_jacobians(own, frame, q, world=reference == "world", out=out)

            _filled(chunk, part, ("jacobian",), (Q,), fill)

    fields = (Field("jacobian", ("component", "dof"), (6, system.nv)),)
    return Task(robots, m, fields, compute, 2048, refused, {"component": TWIST, "dof": system.dof_names})
