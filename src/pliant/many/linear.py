"""Batches of linearisations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.linear import linearize as linearize_one
from ..analysis.matrices import joint_brackets
from ..system import System
from ..system.many import linear_many, one_shape
from .items import Count, beyond, input_rows, not_finite, parameter_rows, rows
from .robots import Robots
from .stores import Field
from .task import Chunk, Indices, Task, chunk_size

__all__ = ["linearisations"]

Array = NDArray[np.float64]


def linearisations(system: System, q: Any, v: Any, u: Any, tau: Any, parameters: Any) -> Task:
    """See `Batch.linearize`."""
    count, n = Count(), system.nv
    Q = rows("q", q, (system.nq,), count)
    V, T = (rows(name, x, (n,), count, np.zeros(n)) for name, x in (("v", v), ("tau", tau)))
    U = input_rows(system, u, count)
    robots = Robots(system, *parameter_rows(system, parameters, count))
    m = int(count)
    refused = (
        beyond(system, U, m) | not_finite("tau", T, m, system.dof_names) | not_finite("u", U, m, system.input_names)
    )
    refused |= not_finite("v", V, m, system.dof_names) | not_finite("q", Q, m, system.coordinate_names)

    def compute(systems: list[System], items: Indices, chunk: Chunk) -> None:
        window, at = chunk.window, chunk.begin + items
        state = [np.ascontiguousarray(np.broadcast_to(x, (m, x.shape[1]))[at]) for x in (Q, V, U, T)]
        rest = np.arange(len(items))
        if not system.loop_rows and one_shape(systems):
            a, out, found = linear_many(systems, *state)
            good = items[found]
            window["a"][good] = a[found]
            _write(system, window, good, state[1][found], out[found])
            rest = rest[~found]
        for k in rest.tolist():
            with chunk.catching(int(items[k])):
                own, (x, y, inputs, forces) = systems[k if len(systems) > 1 else 0], (part[k] for part in state)
                one = linearize_one(own, x, y, u=inputs, tau=forces)
                for name in ("A", "B", "a"):
                    window[name][items[k]] = getattr(one, name)

    fields = (
        Field("A", ("rate", "state"), (2 * n, 2 * n)),
        Field("B", ("rate", "input"), (2 * n, system.nu)),
        Field("a", ("dof",), (n,)),
    )
    both = (*(f"{name} (position)" for name in system.dof_names), *(f"{name} (velocity)" for name in system.dof_names))
    names = {"rate": both, "state": both, "input": system.input_names, "dof": system.dof_names}
    return Task(robots, m, fields, compute, chunk_size(128, system), refused, names)


def _write(system: System, window: dict[str, NDArray[Any]], items: Indices, v: Array, out: Array) -> None:
    """A and B of items, as `linearize` makes them, from derivatives of accelerations (m, nv, …) by q, v and u."""
    n = system.nv
    A, B = np.zeros((len(items), 2 * n, 2 * n)), np.zeros((len(items), 2 * n, system.nu))
    A[:, :n, n:] = np.diag(~system.known)
    if system.manifold_joints:
        A[:, :n, :n] -= np.array([joint_brackets(system, row) for row in v]).reshape(-1, n, n)
    A[:, n:], B[:, n:] = out[:, :, : 2 * n], out[:, :, 2 * n :]
    window["A"][items], window["B"][items] = A, B
