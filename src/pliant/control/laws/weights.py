"""Weights of deviations for quadratic regulators: matrices, or quantities whose squares are weighed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.quantity import Quantity
from ...gradients.costs.states import States
from ...model.validate import shown
from ...system import System
from .gains import gain_matrix

__all__ = ["quantity_slopes", "state_weights"]

Array = NDArray[np.float64]


def quantity_slopes(field: str, quantity: Quantity, states: States) -> tuple[Array, Array]:
    """A quantity on some states, (T, m), and its derivative by (δq, δv), (T, m, 2 nv); error if it depends on inputs."""
    if not isinstance(quantity, Quantity) or quantity.per_step:
        raise TypeError(
            f"{field} = {shown(quantity)} must be a quantity of pliant.costs that is a function of the state."
        )
    found = quantity.evaluate(states)
    T, m = found.value.shape
    out = np.zeros((T, m, 2 * states.system.nv))
    for k in range(m):
        w = np.zeros((T, m))
        w[:, k] = 1.0
        d = found.pull(w)
        if np.any(d.u):
            raise ValueError(
                f"{field} = {quantity!r} depends on inputs; these have weights of their own, and no sensor tells them."
            )
        out[:, k] = np.hstack([d.q, d.v])
    return found.value, out


def state_weights(field: str, value: Any, states: States) -> Array:
    """Weights (T, 2 nv, 2 nv) of deviations (δq, δv) at some states, from a matrix for all, or a quantity s: those of ½ |δs|²."""
    system: System = states.system
    if isinstance(value, Quantity):
        C = quantity_slopes(field, value, states)[1]
        return np.asarray(C.transpose(0, 2, 1) @ C)
    Q = gain_matrix(field, value, 2 * system.nv)
    return np.broadcast_to(0.5 * (Q + Q.T), (len(states), *Q.shape))
