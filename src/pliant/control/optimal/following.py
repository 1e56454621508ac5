"""What a controller follows: the states and inputs of a plan with gains and values about them, and after its end those of a law that holds the robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.cost import Cost, Sum, Term
from ...gradients.costs.deviation import deviations, difference_slopes
from ...gradients.costs.quantity import Quantity
from ...gradients.costs.states import Evaluated, Rows, Slopes, States, by_slopes, still
from ...gradients.costs.times import Weights
from ...gradients.rollout import Rollout
from ...system import System
from ..laws.gains import root, weight_matrix
from ..laws.lqr import LQR
from ..laws.tracking import TrackingLQR
from ..laws.weights import quantity_slopes, state_weights

__all__ = ["Following", "Moments"]

Array = NDArray[np.float64]


class Moments(NamedTuple):
    """What is followed at some times, in rows."""

    q: Array  # (T, nq)
    v: Array  # (T, nv)
    u: Array  # (T, nu), that from each time on
    weight: Array  # (T, m, 2 nv): |weight δx|² is what a deviation costs per second
    value: Array  # (T, n, 2 nv): |value δx|² is what it costs from then on
    gain: Array  # (T, nu, 2 nv): u − gain δx is what is best, without bounds


class Following:
    """A motion to follow, and a cost of deviations from it over a horizon that moves along.

    Parameters
    ----------
    run : Rollout
    Q, R
        Weights of deviations, as of `LQR`.
    hold : LQR, optional
        What is followed after the end: its equilibrium. If left out, the last state.
    """

    def __init__(self, run: Rollout, Q: Any, R: Any, hold: LQR | None) -> None:
        self.run, self.system = run, run.system
        law = TrackingLQR(run, Q, R, end=None if hold is None else hold.P)
        self.inputs = root(weight_matrix("R", R, self.system.nu))
        rows = [
            Moments(
                run.q,
                run.v,
                np.vstack([run.U, run.U[-1:]]),
                _weights(Q, run.states),
                root(law.P),
                law.K[[*range(len(run)), -1]],
            )
        ]
        if hold is not None:
            rest = States.at_rest(self.system, hold.rest.q, hold.rest.u)
            rows.append(Moments(rest.q, rest.v, rest.u, _weights(Q, rest), root(hold.P)[None], hold.K[None]))
        self._all = Moments(*(np.concatenate(parts) for parts in zip(*rows)))

    def at(self, t: Array) -> Moments:
        """What is followed at times t (T,): states along straight lines between those of the motion, the rest as at the nearest step."""
        run, n = self.run, len(self.run)
        step = (run.t[-1] - run.t[0]) / n
        place = np.maximum((t - run.t[0]) / step, 0.0)
        last = len(self._all.q) - 1
        after = place > n + 1e-6
        low = np.where(after, last, np.minimum((place + 1e-6).astype(np.int64), n))
        share = np.where(after | (low >= n), 0.0, np.clip(place - low, 0.0, 1.0))
        near = np.where(after, last, np.minimum((place + 0.5).astype(np.int64), n))
        upper = np.minimum(low + 1, last)
        a = self._all
        u = a.u[np.where((low == n) & (last > n), last, low)]
        v = a.v[low] + share[:, None] * (a.v[upper] - a.v[low])
        return Moments(self._between(low, upper, share), v, u, a.weight[near], a.value[near], a.gain[near])

    def _between(self, low: Rows, upper: Rows, share: Array) -> Array:
        q, system = self._all.q, self.system
        if not system.manifold_joints:
            return np.asarray(q[low] + share[:, None] * (q[upper] - q[low]))
        return np.array(
            [
                system.integrate(q[i], s * system.difference(q[i], q[j])) if s else q[i]
                for i, j, s in zip(low, upper, share)
            ]
        )

    def cost(self, steps: int, step: float) -> MovingCost:
        """The cost of deviations over so many steps: ``½ Σ step (xᵀQ x + δuᵀR δu) + ½ xᵀP x``."""
        return MovingCost(self, steps, step)


class MovingCost:
    """Three terms whose references move: states, inputs, and what lies beyond the end."""

    def __init__(self, following: Following, steps: int, step: float) -> None:
        self._following, self._times = following, step * np.arange(steps + 1)
        self._running, self._end, self._inputs = _Away("states"), _Away("beyond"), _InputsAway(following.inputs)
        begins, ends = np.r_[np.full(steps, step), 0.0], np.r_[0.0, np.full(steps, step)]
        self.cost: Cost = Sum((
            (1.0, Term(self._running, at=Weights(begins), name="states")),
            (1.0, Term(self._inputs, at=Weights(ends), name="inputs")),
            (1.0, Term(self._end, at="end", name="beyond")),
        ))  # fmt: skip

    def aim(self, t: float) -> Moments:
        """Let the horizon begin at t; what is followed along it."""
        found = self._following.at(np.asarray(t + self._times, dtype=np.float64))
        self._running.rows = found.q, found.v, found.weight
        self._end.rows = found.q, found.v, found.value
        self._inputs.given = np.vstack([found.u[:1], found.u[:-1]])
        return found


class _Away(Quantity):
    """Deviations of states from rows of their own, times a matrix for each."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.rows: tuple[Array, Array, Array] = (np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0, 0)))

    def __repr__(self) -> str:
        return self._name

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return self.rows[2].shape[1]

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        mine = slice(None) if rows is None else rows
        q0, v0, C = (x[mine] for x in self.rows)
        part, system = states if rows is None else states.rows(rows), states.system
        x, n = deviations(system, q0, v0, part.q, part.v), system.nv

        def derive() -> Slopes:
            by_q = C[:, :, :n] if not system.manifold_joints else C[:, :, :n] @ difference_slopes(system, x[:, :n])
            return by_q, C[:, :, n:], None

        return _of_rows(by_slopes(part, (C @ x[:, :, None])[:, :, 0], derive), states, rows)


class _InputsAway(Quantity):
    """Deviations of inputs from rows of their own, times a matrix."""

    def __init__(self, factor: Array) -> None:
        self._factor = factor
        self.given = np.zeros((0, len(factor)))

    def __repr__(self) -> str:
        return "inputs"

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(self._factor)

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        part = states if rows is None else states.rows(rows)
        away = part.u - (self.given if rows is None else self.given[rows])
        J = np.broadcast_to(self._factor, (len(part), *self._factor.shape))
        return _of_rows(by_slopes(part, away @ self._factor.T, lambda: (None, None, J)), states, rows)


def _of_rows(found: Evaluated, states: States, rows: Rows | None) -> Evaluated:
    """What was found on some rows, with derivatives by all of the states."""
    if rows is None:
        return found

    def pull(w: Array) -> Any:
        out = still(states)
        for whole, part in zip(out, found.pull(w)):
            whole[rows] = part
        return out

    return Evaluated(found.value, lambda d: found.push(type(d)(*(x[rows] for x in d))), pull, found.slopes)


def _weights(Q: Any, states: States) -> Array:
    """Matrices (T, m, 2 nv) whose squares are the weights at some states."""
    if isinstance(Q, Quantity):
        return quantity_slopes("Q", Q, states)[1]
    return np.asarray(np.repeat(root(state_weights("Q", Q, states)[:1]), len(states), axis=0))
