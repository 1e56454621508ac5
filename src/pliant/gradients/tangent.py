"""Tangents of rollouts: how all states change with a few directions of inputs, start and parameters; maps of single steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED
from ..kernels.solve.record import Lever
from ..system import Given, System
from .costs.states import Variation
from .memory import Memory, Sizes
from .parameters import Beside
from .remembered import known_memory
from .starting import Starting

if TYPE_CHECKING:
    from .rollout import Rollout

__all__ = ["Direction", "maps", "push"]

Array = NDArray[np.float64]
Near = Callable[[str], Beside]


class Direction(NamedTuple):
    """A change of what a rollout depends on; None is none."""

    u: Array | None = None  # (m, nu) rows of inputs
    start: Array | None = None  # (nv,) along the manifold
    velocity: Array | None = None  # (nv,)
    remembered: Array | None = None  # (nz,)
    parameters: Mapping[str, float] | None = None  # by name


class _Replayed(NamedTuple):
    """What a parameter does to the equations of all steps before the motion answers."""

    r: Array  # (n, s, nv)
    e: Array  # (n, s, m)
    close: Array  # (n + 1, 2, m)
    direct: Array  # (n + 1, 2, nv)
    kept: Array  # (n, s, nz)


def _replayed(run: Rollout, names: Mapping[str, float], near: Near) -> _Replayed:
    memory = Memory(run.system, run.plan.tableau, len(run), Sizes(replay=True))
    memory.take(run.memory.record, len(run))
    lever = memory.lever
    fields = (lever.r, lever.e, lever.close, lever.direct, lever.kept)
    sizes = np.cumsum([0, *(x.size for x in fields)]).tolist()

    def all_of(system: System) -> Array:
        memory.run(engine.REPLAY, system=system)
        return np.concatenate([x.ravel() for x in fields])

    total = np.zeros(sizes[-1])
    for name, change in names.items():
        total += change * near(name).slope(all_of)
    return _Replayed(*(total[a:b].reshape(x.shape) for a, b, x in zip(sizes, sizes[1:], fields)))


def _memory(run: Rollout, sizes: Sizes) -> Memory:
    known_memory(run.system)
    if len(run.system.tables.colloc):
        raise ValueError(
            f"{run.system.name!r} has rods with collocated integration, whose tangents are those of the collocation: derivatives forwards would be "
            "inexact. Use gradient or pull, which are exact, or compile with integration='magnus'."
        )
    memory = Memory(run.system, run.plan.tableau, len(run), sizes)
    memory.take(run.memory.record, len(run))
    memory.space.prepare(Given())
    return memory


def _step(run: Rollout, memory: Memory, k: int) -> None:
    memory.p[slots.MARCH_FIRST] = k
    if memory.run(engine.PUSH) != CONVERGED:
        raise _singular(run, k)


def _singular(run: Rollout, k: int) -> ArithmeticError:
    return ArithmeticError(
        f"step {k + 1} of the motion, at t = {run.t[k]:.6g} s, has a singular tangent: there is no derivative."
    )


def push(run: Rollout, directions: list[Direction], near: Near | None = None) -> list[Variation]:
    """Changes of all states for each direction; `near` has the robots beside this one by name of the parameter, if they are known already."""
    beside = near or (lambda name: Beside(run.system, name))
    system, plan = run.system, run.plan
    n, nu, d = len(run), system.nu, len(directions)
    memory = _memory(run, Sizes(directions=d))
    lever = memory.lever
    stages, rows = plan.stage_weights(), plan.row_weights()
    changes, replays, starting = [], [], Starting(plan)
    follows = np.zeros((d, lever.size.size))  # changes of what constraints follow that stay as they start
    for i, direction in enumerate(directions):
        U = np.zeros_like(run.U) if direction.u is None else np.asarray(direction.u, dtype=float)
        coefficients = plan.schedule.coefficients(U)
        changes.append((stages @ coefficients).reshape(n, len(plan.tableau.c), nu))
        replays.append(_replayed(run, direction.parameters, beside) if direction.parameters else None)
        for out, given in ((lever.dq, direction.start), (lever.dv, direction.velocity)):
            out[i] = 0.0 if given is None else np.where(system.known, 0.0, given)
        lever.dz[i] = 0.0 if direction.remembered is None else direction.remembered
        follows[i, starting.rows] = starting.slopes @ lever.dq[i]
        for name, change in (direction.parameters or {}).items() if starting.rows else ():
            follows[i, starting.rows] += change * beside(name).slope(starting.values)
    q, v = np.zeros((2, d, n + 1, system.nv))
    _outside(lever, replays, follows, 0)
    if lever.size.size:
        _step(run, memory, -1)
    q[:, 0], v[:, 0] = lever.dq, lever.dv
    for k in range(n):
        for i in range(d):
            lever.du[i, :, :nu] = changes[i][k]
            replay = replays[i]
            if replay is not None:
                lever.du[i, :, nu:] = -replay.r[k]
                lever.de[i] = replay.e[k]
                lever.dkept[i] = replay.kept[k]
        _outside(lever, replays, follows, k + 1)
        _step(run, memory, k)
        q[:, k + 1], v[:, k + 1] = lever.dq, lever.dv
    found: list[Variation] = []
    for i, direction in enumerate(directions):
        U = np.zeros_like(run.U) if direction.u is None else np.asarray(direction.u, dtype=float)
        found.append(Variation(q[i], v[i], np.asarray(rows @ plan.schedule.coefficients(U))))
    return found


def _outside(lever: Lever, replays: list[_Replayed | None], follows: Array, k: int) -> None:
    """What parameters, and what constraints follow, do to the projection of state k."""
    for i, replay in enumerate(replays):
        if replay is not None:
            lever.dclose[i], lever.dmove[i] = replay.close[k], replay.direct[k]
        else:
            lever.dclose[i] = 0.0
        lever.dclose[i, 0] -= follows[i]


def maps(run: Rollout) -> tuple[Array, Array]:
    """See `Rollout.maps`."""
    system = run.system
    n, size = len(run), 2 * system.nv + system.nz
    if run.schedule.kind != "hold":
        raise ValueError(
            f"maps are those of inputs that are held in each step; these are {run.schedule.kind!r}. Use inputs='hold', or push for directions of rows."
        )
    memory = _memory(run, Sizes(maps=True))
    memory.p[slots.MARCH_FIRST], memory.p[slots.MARCH_BUDGET] = 0, n
    if memory.run(engine.MAPS) != CONVERGED:
        raise _singular(run, int(memory.p[slots.MARCH_STEPS]))
    found = memory.lever.maps
    return np.ascontiguousarray(found[:, :, :size]), np.ascontiguousarray(found[:, :, size:])
