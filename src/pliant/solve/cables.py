"""Tendons of prescribed length at one instant: which of them hold, where a motion begins and where one falls slack or becomes taut.

Cables pull and do not push, so that three complementarities hold one after the other: a length is not above what is told, and the state is moved if it is; its rate is not
above what is told where the length is reached, by impulses that pull (a plastic impact: momenta are balanced, energy is lost); its second derivative is not where the rate is
reached, too, by tensions that pull. Push rods and chambers hold both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system import System
from ..system.forces import closure, free_rows, independent
from .closure import constrained_acceleration
from .motion import MotionSet

__all__ = ["Held", "Reached", "complementary", "reach", "tensions_at"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
TOUCHING = 1e-9  # of its length: how much shorter a cable may be that is not slack
STILL = 1e-7  # of the rates that are there: how much slower one may get longer than its cable and still touch
SAID = 1e-6  # of a length, or of the robot's per second: what is moved by more is said
SLACK, HOLDS, LEAVES = -1.0, 1.0, 2.0  # `kernels.slots`, column HOLD_ACTIVE
ROUNDS = 30


class Reached(NamedTuple):
    """A state with lengths and rates as they are told.

    Attributes
    ----------
    q, v : ndarray (nq,), (nv,)
    kind : dict
        HOLDS, LEAVES (its length was reached, and it is getting shorter than its cable) or SLACK by the number of each tendon whose length is prescribed.
    said : str
        What was moved, and by how much; empty if nothing was.
    """

    q: Array
    v: Array
    kind: dict[int, float]
    said: str


class Held(NamedTuple):
    """What holds at an instant.

    Attributes
    ----------
    a, multipliers : ndarray (nv,), (rows,)
        Acceleration and forces of loops.
    tensions : dict
        By the number of their input.
    slack : set of int
        Numbers of the tendons that are slack.
    """

    a: Array
    multipliers: Array
    tensions: dict[int, float]
    slack: set[int]


class Pivoted(NamedTuple):
    """The solution of a complementarity problem: x (n,), and the rows that hold."""

    x: Array
    holds: Flags


def complementary(B: Array, c: Array, free: Flags, small: float = 0.0) -> Pivoted:
    """x with ``c − B x ≤ 0``, ``x ≥ 0`` and one of both zero in every row; ``c = B x`` in rows that are `free`.

    B may be singular: of rows that say the same, the one that asks for most has an x. By principal pivoting: of all rows that are wrong at once, from some
    rounds on of the first of them alone, which comes to an end for positive definite B.
    """
    n = len(c)
    active = free | (c > small)
    tolerated = max(small, 1e-11 * np.abs(c).max(initial=0.0))
    first = np.argsort(-np.where(free, np.inf, c / np.sqrt(np.maximum(np.diag(B), 1e-300))), kind="stable")
    x = np.zeros(n)
    for round_ in range(4 * n + 2**n):
        x[:] = 0.0
        rows = first[active[first]]
        rows = rows[_kept(B[np.ix_(rows, rows)])]
        x[rows] = np.linalg.solve(B[np.ix_(rows, rows)], c[rows])
        left = c - B @ x
        wrong = ~free & np.where(active, x < 0.0, left > tolerated)
        if not wrong.any():
            break
        if round_ > 2 * n:
            wrong[np.flatnonzero(wrong)[0] + 1 :] = False
        active = active ^ wrong
    return Pivoted(x, free | (x > 0.0) | (active & (np.abs(left) <= tolerated)))


def _kept(B: Array) -> Flags:
    """Rows of a square matrix that are independent of those before them."""
    kept = np.zeros(len(B), dtype=bool)
    size = np.sqrt(np.maximum(np.abs(np.diag(B)), 1e-300))
    for k in range(len(B)):
        tried = np.append(np.flatnonzero(kept), k)
        part = B[np.ix_(tried, tried)] / size[tried] / size[tried, None]
        kept[k] = np.linalg.matrix_rank(part, tol=1e-9) == len(tried)
    return kept


class _Rows:
    """Lengths of tendons that are told, then rows of loops, at a time."""

    def __init__(self, system: System, motion: MotionSet, t: float) -> None:
        self.system, self.told = system, motion.told_at(t)
        cables = motion.cables_at(t)
        self.numbers = list(cables)
        self.length, self.rate = (np.array(x) for x in zip(*cables.values()))
        self.pushes = np.array([motion.pushes[k] for k in self.numbers], dtype=bool)
        self.names = list(system.held_tendons)

    def __call__(self, q: Array, v: Array | None = None) -> tuple[Array, Array, Array]:
        """What values and rates are beyond what is told (m,), and the derivatives of the values (m, nv)."""
        ell, J = self.system.tendon_lengths(q)
        G = J[self.numbers]
        values, loops, rates = closure(self.system, q, v, self.told)
        G = np.vstack([G, loops])
        G[:, self.system.known] = 0.0
        beyond = np.concatenate([ell[self.numbers] - self.length, values])
        if v is None:
            return beyond, np.zeros(len(beyond)), G
        rate = J[self.numbers] @ v - self.rate
        return beyond, np.concatenate([rate, rates[:, 0]]), G

    def some(self, touching: Flags) -> Flags:
        """Rows that take part: some of the tendons, all of the loops."""
        return np.concatenate([touching, np.ones(len(self.system.loop_rows), dtype=bool)])


def reach(system: System, motion: MotionSet, t: float, q: Array, v: Array, *, within: bool = False) -> Reached:
    """The state with lengths and rates of tendons as they are told, moved as `kernels.solve.settle` moves it; which of them are slack.

    `within` a motion, where a step has ended beyond the instant at which a cable became taut, coordinates move as the impulses would have moved them.
    """
    if not motion.tendons:
        return Reached(q, v, {}, "")
    rows = _Rows(system, motion, t)
    before, _rates, _G = rows(q)
    n = len(rows.numbers)
    q, touching = _placed(rows, q, before, within)
    _gap, rates, G = rows(q, v)
    size = np.abs(rows.rate) + np.linalg.norm(free_rows(system, G[:n]), axis=1) * np.linalg.norm(
        v / system.internal.scale
    )
    still = STILL * size.max(initial=0.0)
    v, struck = _struck(rows, q, v, rates, G, touching, still)
    after = rows(q, v)[1]
    kind = {}
    for i, k in enumerate(rows.numbers):
        holds = rows.pushes[i] or (touching[i] and (struck[i] or after[i] >= -still))
        kind[k] = HOLDS if holds else LEAVES if touching[i] else SLACK
    return Reached(
        q, v, kind, _said(rows, before[:n], rates[:n], np.array([kind[k] for k in rows.numbers]), struck, still)
    )


def _placed(rows: _Rows, q: Array, before: Array, within: bool) -> tuple[Array, Flags]:
    """Coordinates with no cable too long, nearest in natural sizes, and which of them touch (n,)."""
    system, n, start = rows.system, len(rows.numbers), q
    touches = TOUCHING * rows.length
    some = rows.some(rows.pushes | (before[:n] > touches))
    if np.any(np.abs(before[some]) > 1e-13):
        G = rows(q)[2] * np.where(system.known, 0.0, system.internal.scale)
        free = rows.some(rows.pushes)
        some = complementary(G @ G.T, before, free, float(touches.min(initial=np.inf))).holds
        for _ in range(n + 1):
            q, _push = _closed(rows, start, some, within)
            long = np.append(rows(q)[0][:n] > touches, np.zeros(len(some) - n, dtype=bool)) & ~some
            if not long.any():
                break
            some = some | long
    return q, rows.pushes | (rows(q)[0][:n] >= -touches)


def _closed(rows: _Rows, q: Array, some: Flags, within: bool) -> tuple[Array, Array]:
    """q ⊕ W Gᵀ μ with the values of some rows met, G before, and μ; unchanged where they are met already. W is M⁻¹ `within` a motion."""
    system = rows.system
    values, _rates, G = rows(q)
    push = np.zeros(int(some.sum()))
    if not np.any(np.abs(values[some]) > 1e-13):
        return q, push
    D = _velocities(system, q, G[some]).T if within else G[some] * np.where(system.known, 0.0, system.internal.scale**2)
    kept = independent(free_rows(system, G[some]))
    gap, best = np.inf, (q, push.copy())
    for _ in range(ROUNDS):
        now = system.integrate(q, push @ D)
        values, _rates, G = rows(now)
        off = np.abs(values[some][kept]).max(initial=0.0)
        if not off < gap:
            break
        gap, best = off, (now, push.copy())
        if gap < 1e-14:
            break
        push[kept] -= np.linalg.solve(G[some][kept] @ D[kept].T, values[some][kept])
    values = rows(best[0])[0]
    if np.abs(values[some]).max() > 1e-9:
        n = len(rows.numbers)
        i = int(np.argmax(np.where(some[:n], np.abs(values[:n]), -1.0)))
        raise ValueError(
            f"the start cannot be moved to where tendon {rows.names[i]!r} has the length that it is told, {rows.length[i]:.6g} m: it stays "
            f"{abs(values[i]):.3g} m off. Start from solve_statics(system, motion=...), or tell a length nearer to {rows.length[i] + rows(q)[0][i]:.6g} m, which it has."
        )
    return best


def _struck(
    rows: _Rows, q: Array, v: Array, rates: Array, G: Array, touching: Flags, still: float
) -> tuple[Array, Flags]:
    """Velocities behind a plastic impact of cables that touch and get longer faster than they are told, and which of them took part (n,)."""
    system, n = rows.system, len(rows.numbers)
    struck = np.zeros(n, dtype=bool)
    some = np.flatnonzero(rows.some(touching))
    one_sided = np.array([i < n and not rows.pushes[i] for i in some], dtype=bool)
    c = rates[some]
    if not np.any(np.where(one_sided, c > 0.0, c != 0.0)):
        return v, struck
    X = _velocities(system, q, G[some])
    impulse = complementary(G[some] @ X, c, ~one_sided).x
    struck[some[some < n]] = impulse[some < n] != 0.0
    return v - X @ impulse, struck


def _velocities(system: System, q: Array, G: Array) -> Array:
    """M⁻¹Gᵀ (nv, rows)."""
    free = ~system.known
    X = np.zeros((system.nv, len(G)))
    X[free] = np.linalg.solve(system.mass_matrix(q)[np.ix_(free, free)], G[:, free].T)
    return X


def _said(rows: _Rows, off: Array, rates: Array, kind: Array, struck: Flags, still: float) -> str:
    """A sentence for what was moved; empty if nothing was."""
    parts = []
    size = np.abs(rows.length).max(initial=0.0)
    for i, name in enumerate(rows.names):
        told = []
        if kind[i] != SLACK and abs(off[i]) > SAID * abs(rows.length[i]):
            told.append(
                f"{abs(off[i]):.3g} m too {'long' if off[i] > 0 else 'short'} for the {rows.length[i]:.6g} m that it is told"
            )
        if struck[i] and abs(rates[i]) > max(SAID * size, still):
            told.append(f"got longer by {rates[i] + rows.rate[i]:.3g} m/s instead of {rows.rate[i]:.3g} m/s")
        if told:
            parts.append(f"{name!r} " + ("was " if told[0][0].isdigit() else "") + " and ".join(told))
    if not parts:
        return ""
    return f"The start was moved to the prescribed lengths of tendons: {'; '.join(parts)}."


def tensions_at(
    system: System, motion: MotionSet, t: float, q: Array, v: Array, u: Array, tau: Array, kind: dict[int, float], memory: Array | None = None,
) -> Held:  # fmt: skip
    """Tensions with which no cable that touches gets longer faster and faster than it is told, accelerations and forces of loops, at a state from `reach`."""
    known, index = np.zeros(system.nv), motion.held
    motion.joints_at(t, q.copy(), v.copy(), known)
    told = motion.told_at(t) if system.loop_rows else None
    u = u.copy()
    u[list(index.values())] = 0.0

    def found(u: Array) -> tuple[Array, Array]:
        return constrained_acceleration(system, q, v, u, tau, known, told=told, memory=memory)

    numbers = [k for k in index if kind[k] == HOLDS]
    tensions = dict.fromkeys(index.values(), 0.0)
    slack = set(index) - set(numbers)
    if numbers:
        beyond, response = _beyond(system, motion, t, q, v, u, numbers, lambda u: found(u)[0])
        free = np.array([motion.pushes[k] for k in numbers], dtype=bool)
        T, holds = complementary(response, beyond, free)
        for i, k in enumerate(numbers):
            tensions[index[k]] = u[index[k]] = float(T[i])
        slack |= {k for k, own in zip(numbers, holds) if not own}
    return Held(*found(u), tensions, slack)


def _beyond(
    system: System, motion: MotionSet, t: float, q: Array, v: Array, u: Array, numbers: list[int], acceleration: Callable[[Array], Array]
) -> tuple[Array, Array]:  # fmt: skip
    """Second derivatives of lengths without tensions beyond what is told (m,), and what unit tensions take away from them (m, m)."""
    J, h = system.tendon_lengths(q)[1][numbers], 1e-6
    parts = [s * (system.tendon_lengths(system.integrate(q, s * h * v))[1][numbers] @ v) for s in (1.0, -1.0)]
    a, columns = acceleration(u), []
    for k in numbers:
        unit = u.copy()
        unit[motion.held[k]] = 1.0
        columns.append(acceleration(unit) - a)
    second = motion.seconds_at(t)
    return J @ a + sum(parts) / (2 * h) - np.array([second[k] for k in numbers]), -J @ np.array(columns).T
