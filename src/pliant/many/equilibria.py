"""Batches of equilibria, and of what they do when inputs change.

The kernel goes through Newton's iteration of all items of a chunk. Where it ends at an equilibrium that is stable beyond doubt, that is
the result; everything else (no convergence, loops, prescribed motion, loads without potential) is solved as `solve_statics` does, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..analysis.linear import static_jacobian
from ..kernels import engine, slots
from ..kernels.solve.many import MANY_DEFINITE, MANY_ITERATIONS, MANY_RESIDUAL, MANY_STATUS
from ..kernels.solve.newton import CONVERGED
from ..model.validate import choice, integer, positive
from ..solve.balance import ROUNDING
from ..solve.stability import Stability
from ..solve.statics import ABSURD, newton_options, solve_statics
from ..system import FrameLike, Reference, System
from ..system.dynamics import static_storage
from ..system.kinematics import fill_jacobians
from ..system.laws import refuse_memory
from ..system.many import one_shape, run_many, slopes_many
from .items import Count, beyond, input_rows, not_finite, parameter_rows, rows, start_rows
from .robots import Robots, grouped
from .stores import Field
from .task import Chunk, Indices, Task, chunk_size

__all__ = ["STABILITY", "Wanted", "static_jacobians", "statics"]

Array = NDArray[np.float64]
STABILITY = ("unknown", *(name for name in get_args(Stability) if name != "unknown"))


class Wanted(NamedTuple):
    """How equilibria are looked for."""

    tolerance: float
    iterations: int
    radius: float
    stable: bool | None
    motion: Mapping[str, Any] | None
    load_steps: int | None

    def direct(self, system: System) -> bool:
        """Whether the kernel alone can find them."""
        plain = not (system.loop_rows or system.told or system.nz)
        return self.load_steps is None and not self.motion and plain


def potentials(systems: list[System], u: Array, tau: Array) -> NDArray[np.bool_]:
    """Whether the forces of items have a potential, (m,)."""
    system, m = systems[0], max(len(u), len(tau), len(systems))
    if not system._assembly.loading.conservative:
        return np.zeros(m, dtype=bool)
    if not len(system.wrenches.place) and not system.manifold_joints:
        return np.ones(m, dtype=bool)

    def row(array: Any, k: int) -> Any:
        return array[k if len(array) > 1 else 0]

    return np.array([row(systems, k).has_potential(row(u, k), row(tau, k)) for k in range(m)])


def statics(system: System, u: Any, tau: Any, start: Any, parameters: Any, wanted: Wanted) -> Task:
    """See `Batch.statics`."""
    positive("tolerance", wanted.tolerance)
    positive("radius", wanted.radius)
    integer("iterations", wanted.iterations, minimum=1)
    count = Count()
    U, T = input_rows(system, u, count), rows("tau", tau, (system.nv,), count, np.zeros(system.nv))
    Q = start_rows(system, start, count)
    robots = Robots(system, *parameter_rows(system, parameters, count))
    m = int(count)
    bad = [not_finite("u", U, m, system.input_names), not_finite("tau", T, m, system.dof_names)]
    bad += [not_finite("start", Q, m, system.coordinate_names), beyond(system, U, m)]
    refused = bad[3] | bad[2] | bad[1] | bad[0]

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        rest = items
        if wanted.direct(system) and one_shape(systems):
            rest = _together(
                systems, items, chunk, chunk.rows(Q, items), chunk.rows(U, items), chunk.rows(T, items), wanted
            )
        place = dict(zip(items.tolist(), range(len(items))))
        for k in rest.tolist():
            one = np.array([k])
            own = systems[place[k] if len(systems) > 1 else 0]
            _alone(own, k, chunk, chunk.rows(Q, one)[0], chunk.rows(U, one)[0], chunk.rows(T, one)[0], wanted)

    fields = (
        Field("q", ("coordinate",), (system.nq,)),
        Field("residual"),
        Field("iterations", kind="i4"),
        Field("stability", kind="i1", labels=STABILITY),
        *([Field("multipliers", ("row",), (len(system.loop_rows),))] if system.loop_rows else []),
        *([Field("tensions", ("input",), (system.nu,))] if system.held_tendons else []),
    )
    names = {"coordinate": system.coordinate_names, "input": system.input_names, "row": system.loop_rows}
    given = {"u": (("item", "input"), np.broadcast_to(U, (m, system.nu)))}
    return Task(robots, m, fields, compute, chunk_size(256, system), refused, names, given)


def _together(
    systems: list[System], items: Indices, chunk: Chunk, q: Array, u: Array, tau: Array, wanted: Wanted
) -> Indices:
    """Equilibria of some items that the kernel finds; the numbers of the others."""
    potential = potentials(systems, u, tau)
    if not potential.any():
        return items
    start = np.array(np.broadcast_to(q, (len(items), q.shape[1])))
    energy = (bool(wanted.stable) & potential).astype(np.float64)
    options = newton_options(wanted.tolerance, wanted.iterations, wanted.radius)
    options[slots.OPTION_TREE] = static_storage(systems[0])[1]
    try:
        found = run_many(engine.MANY_STATICS, systems, start, u=u, tau=tau, energy=energy, options=options)
    except Exception:  # of a load that the user wrote: it is told with the item that it belongs to
        return items
    report = found.report
    simple = (report[:, MANY_STATUS] == CONVERGED) & (report[:, MANY_DEFINITE] == 1.0) & potential
    simple &= report[:, MANY_RESIDUAL] <= max(wanted.tolerance, ROUNDING)
    simple &= np.abs(u).max(axis=1, initial=0.0) <= ABSURD
    good, window = items[simple], chunk.window
    window["q"][good], window["residual"][good] = found.q[simple], report[simple, MANY_RESIDUAL]
    window["iterations"][good] = report[simple, MANY_ITERATIONS]
    window["stability"][good] = STABILITY.index("stable")
    return items[~simple]


def _alone(system: System, k: int, chunk: Chunk, q: Array, u: Array, tau: Array, wanted: Wanted) -> None:
    """The equilibrium of one item, by all means."""
    found = None
    with chunk.catching(k):
        found = solve_statics(system, u, tau=tau, start=q, **wanted._asdict())
    if found is None:
        return
    window = chunk.window
    window["q"][k], window["residual"][k], window["iterations"][k] = found.q, found.residual, found.iterations
    window["stability"][k] = STABILITY.index(found.stability)
    if "multipliers" in window:
        window["multipliers"][k] = found.multipliers
    if "tensions" in window:
        window["tensions"][k] = found.u
    if not found.success:
        chunk.fail(k, found.message)


def static_jacobians(
    system: System, frame: FrameLike, q: Any, u: Any, tau: Any, reference: Reference, parameters: Any
) -> Task:
    """See `Batch.static_jacobians`."""
    choice("reference", reference, ("body", "world"))
    refuse_memory(system, "static_jacobians")
    count = Count()
    Q, U = rows("q", q, (system.nq,), count), input_rows(system, u, count)
    T = rows("tau", tau, (system.nv,), count, np.zeros(system.nv))
    robots = Robots(system, *parameter_rows(system, parameters, count))
    m = int(count)
    bad = [not_finite("u", U, m, system.input_names), not_finite("q", Q, m, system.coordinate_names)]
    refused = beyond(system, U, m) | bad[1] | bad[0]
    system.place(frame)

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        at = chunk.begin + items
        q, u, tau = (np.ascontiguousarray(np.broadcast_to(x, (m, x.shape[1]))[at]) for x in (Q, U, T))
        rest = np.arange(len(items))
        if not system.loop_rows and not system.nz and one_shape(systems):
            slopes, found, definite = slopes_many(systems, q, u, tau)
            sure = found & definite  # else nothing may hold some direction, which the other way looks for
            J = np.empty((len(items), 6, system.nv))
            for own, part in grouped(systems, rest):
                fill = np.empty((len(part), 6, system.nv))
                fill_jacobians(own, frame, q[part], world=reference == "world", out=fill)
                J[part] = fill
            chunk.window["jacobian"][items[sure]] = J[sure] @ slopes[sure]
            rest = rest[~sure]
        for k in rest.tolist():
            own = systems[k if len(systems) > 1 else 0]
            with chunk.catching(int(items[k])):
                one = static_jacobian(own, q[k], frame, u=u[k], tau=tau[k], reference=reference)
                chunk.window["jacobian"][items[k]] = one

    fields = (Field("jacobian", ("component", "input"), (6, system.nu)),)
    names = {"component": ("wx", "wy", "wz", "vx", "vy", "vz"), "input": system.input_names}
    return Task(robots, m, fields, compute, chunk_size(256, system), refused, names)
