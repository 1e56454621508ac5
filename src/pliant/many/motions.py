"""Batches of rollouts, and of gradients of their costs. A motion is one call of the engine, so that threads need no more than that."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gradients.costs.cost import as_cost
from ..gradients.memory import Memory
from ..gradients.plan import Plan
from ..gradients.rollout import Rollout, RolloutError, carry_out, plan_of
from ..model.validate import choice, reals, unknown_name
from ..solve.equilibrium import Equilibrium
from ..system import FrameLike, System
from .items import Count, Refusals, beyond, not_finite, parameter_rows, rows, start_rows
from .robots import Robots
from .stores import Field
from .task import Chunk, Indices, Task, chunk_size

__all__ = ["gradients", "rollouts"]

Array = NDArray[np.float64]
KEEP = ("q", "v", "a", "u", "multipliers")


def _input_rows(system: System, U: Any, count: Count) -> Array:
    """Rows of inputs of all items, (m or 1, rows, nu)."""
    nu = system.nu
    if isinstance(U, Mapping):
        columns = {name: reals(f"U[{name!r}]", value) for name, value in U.items()}
        for name in columns:
            if name not in system.input_names:
                raise unknown_name("input", str(name), system.input_names)
        most = max((c.ndim for c in columns.values()), default=0)
        try:
            shape = np.broadcast_shapes(*(c.shape for c in columns.values()), (1,) * max(most, 1))
        except ValueError:
            said = ", ".join(f"U[{name!r}] has {c.shape}" for name, c in columns.items())
            raise ValueError(
                f"the inputs do not have one shape: {said}. Give (m, rows) each, or (rows,) for all."
            ) from None
        found = np.zeros((*shape, nu))
        for name, column in columns.items():
            found[..., system.input_names.index(name)] = column
    else:
        found = np.zeros((1, nu)) if U is None else reals("U", U)
    if found.ndim == 1:
        found = found[None]
    if found.ndim not in (2, 3) or found.shape[-1] != nu or not found.shape[-2]:
        names = ", ".join(system.input_names) or "no inputs"
        raise ValueError(
            f"U has shape {np.shape(U)}, but (m, rows, {nu}) is needed, rows of inputs for each item, or (rows, {nu}) for all: {names}."
        )
    if found.ndim == 3:
        count.add("U", len(found))
        return np.ascontiguousarray(found)
    return np.ascontiguousarray(found[None])


class _Motions:
    """The plans of all items: that of the first, with what differs."""

    def __init__(
        self, system: System, U: Any, start: Any, velocity: Any, parameters: Any, options: Mapping[str, Any]
    ) -> None:
        count = Count()
        self._thread = threading.local()
        self.U = _input_rows(system, U, count)
        self.q = start_rows(system, start, count)
        self.v = rows("velocity", velocity, (system.nv,), count, np.zeros(system.nv))
        self.robots = Robots(system, *parameter_rows(system, parameters, count))
        self.count = int(count)
        self.refused: Refusals = beyond(system, self.U, self.count) | not_finite(
            "U", self.U, self.count, system.input_names
        )
        self.refused |= not_finite("start", self.q, self.count, system.coordinate_names)
        self.refused |= not_finite("velocity", self.v, self.count, system.dof_names)
        lower, upper = system.input_bounds
        harmless = np.clip(np.zeros((self.U.shape[1], system.nu)), lower, upper)
        self._plan = plan_of(system, None if U is None else harmless, start=system.neutral(), **options)

    @property
    def times(self) -> Array:
        """Of the states that were asked for, (n + 1,)."""
        return self._plan.outer

    def plan(self, system: System, k: int) -> Plan:
        """What item k is told."""
        U, q, v = (x[k if len(x) > 1 else 0].copy() for x in (self.U, self.q, self.v))
        return replace(self._plan, system=system, U=U, q=q, v=v)

    def run(self, system: System, k: int) -> Rollout:
        """The motion of item k; its memory is that of the item before in this thread, which is done."""
        plan, steps = self.plan(system, k), len(self.times) - 1
        spare: Memory | None = getattr(self._thread, "memory", None)
        if spare is None or spare.system is not system:
            spare = Memory(system, plan.tableau, steps, tolerance=plan.tolerance).reusable()
            self._thread.memory = spare
        return carry_out(replace(plan, spare=spare))


def _each(motions: _Motions, systems: list[System], items: Indices, chunk: Chunk, one: Any) -> None:
    """`one(run, k)` for the motion of each item; one that ends early is told with it, and what it has."""
    for place, k in enumerate(items.tolist()):
        with chunk.catching(k):
            try:
                run = motions.run(systems[place if len(systems) > 1 else 0], chunk.begin + k)
            except RolloutError as error:
                run = error.run
                chunk.fail(k, str(error.args[0]).replace(" The error's `run` has the steps before it.", ""))
            one(run, k)


def rollouts(
    system: System,
    U: Any,
    start: Any,
    velocity: Any,
    parameters: Any,
    keep: Iterable[str],
    frames: Iterable[FrameLike],
    options: Mapping[str, Any],
) -> Task:
    """See `Batch.rollouts`."""
    wanted = [keep] if isinstance(keep, str) else list(keep)
    for name in wanted:
        choice("keep", name, KEEP)
    seen = [frames] if isinstance(frames, str) else list(frames)
    for frame in seen:
        system.place(frame)
    motions = _Motions(system, U, start, velocity, parameters, options)
    n = len(motions.times)

    def write(run: Rollout, k: int, chunk: Chunk) -> None:
        at = np.searchsorted(run.t, motions.times - 1e-12 * max(1.0, abs(float(motions.times[-1]))))
        at = at[at < len(run.t)]  # a motion that ended early
        for name in wanted:
            chunk.window[name][k, : len(at)] = getattr(run, name)[at]
        for j, frame in enumerate(seen):
            chunk.window["position"][k, j, : len(at)] = run.system.pose(frame, run.q[at])[:, :3, 3]

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        _each(motions, systems, items, chunk, lambda run, k: write(run, k, chunk))

    dims = {"q": "coordinate", "v": "dof", "a": "dof", "u": "input", "multipliers": "row"}
    names = {
        "coordinate": system.coordinate_names,
        "dof": system.dof_names,
        "input": system.input_names,
        "row": system.loop_rows,
    }
    fields = [Field(name, ("time", dims[name]), (n, len(names[dims[name]]))) for name in wanted]
    if seen:
        fields.append(Field("position", ("frame", "time", "axis"), (len(seen), n, 3), "m"))
    labels = tuple(frame if isinstance(frame, str) else str(getattr(frame, "name", frame)) for frame in seen)
    names |= {"frame": labels, "axis": ("x", "y", "z")}
    given = {"t": (("time",), motions.times)}
    size = chunk_size(max(1, 2000 // n), system)
    return Task(motions.robots, motions.count, tuple(fields), compute, size, motions.refused, names, given)


def gradients(
    system: System,
    cost: Any,
    U: Any,
    start: Any,
    velocity: Any,
    parameters: Any,
    by: Iterable[str],
    equilibrium: Equilibrium | None,
    options: Mapping[str, Any],
) -> Task:
    """See `Batch.gradients`."""
    judged = as_cost(cost)
    wanted = [by] if isinstance(by, str) else list(by)
    for name in wanted:
        if name not in system.parameters:
            raise unknown_name("parameter", str(name), system.parameters)
    motions = _Motions(system, U, start, velocity, parameters, options)

    def write(run: Rollout, k: int, chunk: Chunk) -> None:
        if len(run.t) < len(motions.times):
            return  # it ended early: the cost of a part says nothing
        found = run.gradient(judged, equilibrium=equilibrium)
        window = chunk.window
        window["value"][k], window["u"][k], window["start"][k], window["velocity"][k] = (
            found.value,
            found.u,
            found.start,
            found.velocity,
        )
        for j, name in enumerate(wanted):
            window["parameters"][k, j] = found.parameters[name]

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        _each(motions, systems, items, chunk, lambda run, k: write(run, k, chunk))

    fields = [
        Field("value"),
        Field("u", ("knot", "input"), motions.U.shape[1:]),
        Field("start", ("dof",), (system.nv,)),
        Field("velocity", ("dof",), (system.nv,)),
        *([Field("parameters", ("parameter",), (len(wanted),))] if wanted else []),
    ]
    names = {"dof": system.dof_names, "input": system.input_names, "parameter": tuple(wanted)}
    size = chunk_size(max(1, 500 // len(motions.times)), system)
    return Task(motions.robots, motions.count, tuple(fields), compute, size, motions.refused, names)
