"""How far states are from a given one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...lie import tangent
from ...model.validate import shown
from ...system import System
from .quantity import LocalQuantity
from .states import Array, Evaluated, Slopes, States, by_slopes

__all__ = ["Deviation", "deviations", "difference_slopes"]


class Deviation(LocalQuantity):
    """Deviation (δq, δv) of every state from a given one, (2 nv,): ``integrate(q₀, δq)`` is q, on spherical and free joints too.

    Parameters
    ----------
    state : Equilibrium, or any object with q and perhaps v, or array q (nq,)
        The state.
    v : array (nv,), optional
        Its velocity; that of `state`, or zero, if left out.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> away = pl.costs.Deviation([np.pi])
    >>> away.evaluate(pl.costs.States.at_rest(system, [3.0])).value.round(4)
    array([[-0.1416,  0.    ]])
    >>> cost = (np.diag([3.0, 1.0]) @ away).near(at="end")
    """

    def __init__(self, state: Any, v: ArrayLike | None = None) -> None:
        if isinstance(state, str) or state is None:
            raise TypeError(f"state = {shown(state)} must have q, or be the coordinates q (nq,).")
        self._q = getattr(state, "q", state)
        self._v = getattr(state, "v", None) if v is None else v

    def __repr__(self) -> str:
        """As it was written."""
        return "Deviation(…)"

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        system.check_q(self._q)
        if self._v is not None:
            system.check_v("v", self._v)
        return 2 * system.nv

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, T = states.system, len(states)
        q0 = np.tile(system.check_q(self._q), (T, 1))
        v0 = np.zeros((T, system.nv)) if self._v is None else np.tile(system.check_v("v", self._v), (T, 1))
        x = deviations(system, q0, v0, states.q, states.v)

        def derive() -> Slopes:
            n = system.nv
            by_q, by_v = np.zeros((2, T, 2 * n, n))
            by_q[:, :n] = difference_slopes(system, x[:, :n])
            by_v[:, n:] = np.eye(n)
            return by_q, by_v, None

        return by_slopes(states, x, derive)


def deviations(system: System, q0: Array, v0: Array, q: Array, v: Array) -> Array:
    """(δq, δv) of rows (T, …) from others, (T, 2 nv)."""
    if system.manifold_joints:
        away = np.array([system.difference(a, b) for a, b in zip(q0, q)])
    else:
        away = q - q0
    return np.hstack([away, v - v0])


def difference_slopes(system: System, away: Array) -> Array:
    """Derivative of δq (T, nv) by a change of q, (T, nv, nv): one, apart from spherical and free joints."""
    T, n = away.shape
    out = np.zeros((T, n, n))
    out[:] = np.eye(n)
    for joint in system.manifold_joints:
        for k in range(T):
            out[k, joint.v, joint.v] = np.linalg.inv(_tangent(away[k, joint.v]))
    return out


def _tangent(x: Array) -> Array:
    """The matrix T with exp(x + d) = exp(x) exp(T d) to first order, of a rotation vector (3,) or twist (6,)."""
    n = len(x)
    return tangent(-np.pad(x, (0, 6 - n)))[:n, :n]
