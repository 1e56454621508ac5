"""Linear feedback of quantities, with gains that can be differentiated by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.quantity import Quantity
from ...gradients.costs.states import States
from ...model.validate import reals, shown, vector
from ...system import System
from .law import Law, StateLike
from .reference import follow
from .weights import quantity_slopes

__all__ = ["LinearFeedback"]

Array = NDArray[np.float64]


class LinearFeedback(Law):
    """``u = bias + gains (goal − s)`` with a quantity s of the state; P and PD control of whatever can be measured.

    Parameters
    ----------
    system : System
    quantity : Quantity
        s (m,) of coordinates and velocities (`pliant.costs`); for PD ``stack(Position("arm.tip"), Velocity("arm.tip"))``.
    gains : array (nu, m)
    goal : array (m,), Signal or function of t
    bias : array (nu,) or dict, optional
        Inputs at the goal; zero if left out.
    bounds : pair, or dict of pairs, optional

    Attributes
    ----------
    parameters : dict of ndarray
        "gains" and "bias", by which `ClosedLoop` differentiates.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("cart", gravity=(0, 0, 0))
    >>> cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    >>> motor = robot.add_motor("motor", cart)
    >>> system = robot.compile()
    >>> state = pl.costs.stack(pl.costs.Coordinates(), pl.costs.Rates())
    >>> law = pl.control.LinearFeedback(system, state, gains=[[4.0, 4.0]], goal=[0.5, 0.0])
    >>> run = pl.simulate(system, 6.0, u=law)
    >>> print(run.q[-1].round(3))
    [0.5]
    """

    def __init__(
        self, system: System, quantity: Quantity, gains: Any, goal: Any, *, bias: Any = None, bounds: Any = None
    ) -> None:
        super().__init__(system, bounds)
        if not isinstance(quantity, Quantity) or quantity.per_step:
            raise TypeError(f"quantity = {shown(quantity)} must be a quantity of pliant.costs.")
        self.quantity, m = quantity, quantity.size(system)
        self.goal = follow("goal", goal, m)
        hint = f"A row for each of the {system.nu} inputs, a column for each of the {m} entries."
        self.gains = vector("gains", reals("gains", gains, hint=hint), (system.nu, m), hint=hint)
        free = np.zeros(system.nu) if bias is None else bias
        self.bias = system.inputs(bias).copy() if isinstance(bias, Mapping) else vector("bias", free, (system.nu,))

    @property
    def parameters(self) -> dict[str, Array]:
        """What can be changed, by name."""
        return {"gains": np.array(self.gains), "bias": np.array(self.bias)}

    def _states(self, t: float, state: StateLike) -> States:
        u = np.clip(np.zeros((1, self.system.nu)), *self.system.input_bounds)
        return States(self.system, np.array([t]), state.q[None], state.v[None], u)

    def wanted(self, t: float, state: StateLike) -> Array:
        """See `Law.wanted`."""
        return self.of(t, state, self.parameters)

    def of(self, t: float, state: StateLike, parameters: Mapping[str, Array]) -> Array:
        """The inputs with other parameters, before bounds."""
        s = self.quantity.evaluate(self._states(t, state)).value[0]
        return np.asarray(parameters["bias"] + parameters["gains"] @ (self.goal(t)[0] - s))

    def derivatives(self, t: float, state: StateLike, parameters: Mapping[str, Array]) -> tuple[Array, Array, Array]:
        """Exact derivatives of `of`: by q and v, (nu, nv) each, and by the parameters one after the other, (nu, k)."""
        value, slopes = quantity_slopes("quantity", self.quantity, self._states(t, state))
        by_state = -parameters["gains"] @ slopes[0]
        away, nu = self.goal(t)[0] - value[0], self.system.nu
        by_gains = np.kron(np.eye(nu), away[None])
        return by_state[:, : self.system.nv], by_state[:, self.system.nv :], np.hstack([by_gains, np.eye(nu)])
