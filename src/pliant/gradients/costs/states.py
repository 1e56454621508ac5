"""What costs are evaluated on: the states of a motion in rows, and small changes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.validate import vector
from ...system import Inputs, System, needs_system
from ...system.arguments import checked_rows

__all__ = [
    "Array",
    "Evaluated",
    "Rows",
    "Slopes",
    "States",
    "Variation",
    "by_slopes",
    "changes",
    "slopes_of",
    "still",
    "total",
]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Slopes = tuple[Array | None, Array | None, Array | None]  # by q, v and u; None is zero


class Variation(NamedTuple):
    """A change of the states of a motion, or the derivatives of a number by them.

    On spherical and free joints a change of q is along the manifold: q moves to ``system.integrate(q, dq)``.

    Attributes
    ----------
    q, v : ndarray (T, nv)
    u : ndarray (T, nu)
    """

    q: Array
    v: Array
    u: Array


@dataclass(frozen=True, eq=False)
class States:
    """States of a robot in rows: the ends of the steps of a motion, its start first, or a single state.

    Attributes
    ----------
    system : System
    t : ndarray (T,)
        Times [s], increasing.
    q, v, u : ndarray (T, nq), (T, nv), (T, nu)
        Coordinates, velocities and inputs.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("ball")
    >>> ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    >>> system = robot.compile()
    >>> states = pl.costs.States.at_rest(system, system.neutral())
    >>> len(states), states.q.shape, states.v.shape, states.u.shape
    (1, (1, 7), (1, 6), (1, 0))
    """

    system: System
    t: Array
    q: Array
    v: Array
    u: Array

    def __post_init__(self) -> None:
        """Arrays of the right shapes; error if they are not."""
        system = self.system
        needs_system("States", system)
        q = checked_rows("States.q", self.q, system.nq, system.name)
        T = len(q)
        put = object.__setattr__
        put(self, "q", q)
        put(self, "v", checked_rows("States.v", self.v, system.nv, system.name, T))
        put(self, "u", checked_rows("States.u", self.u, system.nu, system.name, T))
        put(self, "t", vector("States.t", np.atleast_1d(self.t), (T,), hint="One time for each row of q."))
        if np.any(np.diff(self.t) <= 0.0):
            k = int(np.argmax(np.diff(self.t) <= 0.0))
            raise ValueError(
                f"States.t[{k + 1}] = {self.t[k + 1]:g} is not allowed: it must be larger than t[{k}] = {self.t[k]:g}. Times of rows "
                "increase; leave out rows that stand twice."
            )

    @classmethod
    def at_rest(cls, system: System, q: ArrayLike, u: Inputs = None) -> States:
        """A single state without motion, such as an equilibrium."""
        needs_system("States.at_rest", system)
        return cls(system, np.zeros(1), system.check_q(q)[None], np.zeros((1, system.nv)), system.inputs(u)[None])

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.q)

    def rows(self, rows: Rows) -> States:
        """Some of the rows."""
        part = object.__new__(States)  # checked already
        for name, value in (("system", self.system), ("t", self.t[rows]), ("q", self.q[rows]), ("v", self.v[rows])):
            object.__setattr__(part, name, value)
        object.__setattr__(part, "u", self.u[rows])
        return part


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A quantity on the rows that were asked for, and its derivative as two linear maps.

    Attributes
    ----------
    value : ndarray (n, m)
        A row for each of the n rows that were asked for.
    push : function
        Change of the value (n, m) for a `Variation` of all T states.
    pull : function
        For weights w (n, m), the derivatives of Σ w · value by all T states as a `Variation`.
    slopes : function, optional
        For rows that depend on their own states alone: all derivatives, (n, m, nv), (n, m, nv) and (n, m, nu) by q, v and u; None is zero. See `slopes_of`.
    """

    value: Array
    push: Callable[[Variation], Array]
    pull: Callable[[Array], Variation]
    slopes: Callable[[], Slopes] | None = None


def still(states: States) -> Variation:
    """No change."""
    T, system = len(states), states.system
    return Variation(np.zeros((T, system.nv)), np.zeros((T, system.nv)), np.zeros((T, system.nu)))


def total(states: States, parts: list[Variation]) -> Variation:
    """Sum of changes."""
    out = still(states)
    for part in parts:
        for mine, other in zip(out, part):
            mine += other
    return out


def changes(states: States, d: Variation) -> Variation:
    """A change of states, checked."""
    system, T = states.system, len(states)
    sizes = (system.nv, system.nv, system.nu)
    if not isinstance(d, tuple) or len(d) != 3:
        raise TypeError(f"a Variation (q, v, u) of the states is needed, not {type(d).__name__}.")
    for name, part, size in zip("qvu", d, sizes):
        if np.shape(part) != (T, size):
            raise ValueError(f"Variation.{name} has shape {np.shape(part)}, but ({T}, {size}) is needed.")
    return Variation(*(np.asarray(part, dtype=float) for part in d))


def by_slopes(states: States, value: Array, derive: Callable[[], Slopes]) -> Evaluated:
    """A quantity whose rows depend on their own states, with derivatives (T, m, nv), (T, m, nv), (T, m, nu) or None.

    They are computed when they are first needed: a value alone costs no Jacobian.
    """
    known: list[Slopes] = []

    def slopes() -> Slopes:
        if not known:
            known.append(derive())
        return known[0]

    def push(d: Variation) -> Array:
        out = np.zeros_like(value)
        for J, x in zip(slopes(), d):
            if J is not None:
                out += (J @ x[:, :, None])[:, :, 0]
        return out

    def pull(w: Array) -> Variation:
        found = still(states)
        for J, x in zip(slopes(), found):
            if J is not None:
                x[:] = (w[:, None, :] @ J)[:, 0]
        return found

    return Evaluated(value, push, pull, slopes)


def slopes_of(found: Evaluated, rows: Rows | None = None) -> Slopes:
    """Derivatives of each row by its own state, (n, m, nv), (n, m, nv), (n, m, nu), of a quantity whose rows depend on these alone.

    `rows` are those that it was evaluated on, None if all. Without `Evaluated.slopes` they are found by a pull for each entry.
    """
    if found.slopes is not None:
        return found.slopes()
    parts: list[list[Array]] = [[], [], []]
    for j in range(found.value.shape[1]):
        w = np.zeros_like(found.value)
        w[:, j] = 1.0
        for part, slope in zip(parts, found.pull(w)):
            part.append(slope if rows is None else slope[rows])
    found_q, found_v, found_u = (np.stack(part, axis=1) if part else None for part in parts)
    return found_q, found_v, found_u
