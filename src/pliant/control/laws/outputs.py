"""Outputs of a robot that laws steer: functions of the coordinates with rates, and those that inputs do their work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.quantity import LocalQuantity, Quantity
from ...gradients.costs.states import Evaluated, States, by_slopes
from ...model.validate import shown
from ...system import System
from ...system.forces import actuation_matrix

__all__ = ["ActuationCoordinates", "OutputState", "Outputs"]

Array = NDArray[np.float64]
_MOVE = 3e-2  # of differences along the velocity, in scaled coordinates
_SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180.0  # second derivative, of sixth order


class OutputState(NamedTuple):
    """Outputs at a state: y, ẏ = J v, J, and the part J̇ v of ÿ = J a + J̇ v."""

    y: Array  # (m,)
    rate: Array  # (m,)
    J: Array  # (m, nv)
    drift: Array  # (m,)


class Outputs:
    """A quantity of the coordinates as outputs of one system.

    J is exact. J̇ v, the second derivative of y along the one direction v, is a difference of sixth order (relative errors of 1e-10).
    """

    def __init__(self, field: str, system: System, quantity: Quantity) -> None:
        if not isinstance(quantity, Quantity) or quantity.per_step:
            raise TypeError(f"{field} = {shown(quantity)} must be a quantity of pliant.costs, such as TendonLength().")
        self.system, self.quantity, self.size = system, quantity, quantity.size(system)
        rng = np.random.default_rng(1)
        state = States(
            system, np.zeros(1), system.random(rng, scale=0.1)[None], rng.normal(size=(1, system.nv)),
            np.clip(np.zeros((1, system.nu)), *system.input_bounds),
        )  # fmt: skip
        found = quantity.evaluate(state)
        for row in np.eye(self.size):
            d = found.pull(row[None])
            if np.any(d.v) or np.any(d.u):
                raise ValueError(
                    f"{field} = {quantity!r} depends on velocities or inputs; outputs are functions of the coordinates, such as positions, lengths, strains."
                )

    def values(self, q: Array) -> Array:
        """y (m,)."""
        return np.asarray(self.quantity.evaluate(self._states(q[None])).value[0])

    def slopes(self, q: Array) -> tuple[Array, Array]:
        """y (m,) and J (m, nv)."""
        found = self.quantity.evaluate(self._states(q[None]))
        J = np.array([found.pull(row[None]).q[0] for row in np.eye(self.size)]).reshape(self.size, self.system.nv)
        return found.value[0], J

    def at(self, q: Array, v: Array) -> OutputState:
        """Values, rates and derivatives at a state."""
        y, J = self.slopes(q)
        fastest = float(np.abs(v / self.system.internal.scale).max(initial=0.0))
        if fastest == 0.0:
            return OutputState(y, np.zeros(self.size), J, np.zeros(self.size))
        h = _MOVE / fastest
        places = np.array([self.system.integrate(q, k * h * v) for k in range(-3, 4)])
        drift = _SECOND @ self.quantity.evaluate(self._states(places)).value / h**2
        return OutputState(y, J @ v, J, drift)

    def _states(self, q: Array) -> States:
        n, system = len(q), self.system
        u = np.clip(np.zeros((n, system.nu)), *system.input_bounds)
        return States(system, np.arange(n, dtype=float), q, np.zeros((n, system.nv)), u)


class ActuationCoordinates(LocalQuantity):
    """The coordinates that the inputs do their work on (nu,), collocated with them: power = u · ẏ.

    Lengths of cable pulled in by tendons, volumes of chambers, angles of motors, weighed strains of internal stresses.

    Parameters
    ----------
    system : System
        Error if an input has none: if its forces are not the gradient of a coordinate (friction of tendons, moments, follower
        forces), or depend on more.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> y = pl.control.ActuationCoordinates(system).evaluate(pl.costs.States.at_rest(system, rest.q))
    >>> print(y.value.round(3))  # minus the length: it grows where the cable is pulled in
    [[-0.409]]
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._tendon = {
            k: list(system.robot.tendons).index(name)
            for k, name in enumerate(system.input_names)
            if name in system.robot.tendons
        }
        rng = np.random.default_rng(2)
        lower, upper = system.input_bounds
        u = np.clip(np.ones(system.nu), lower, upper)
        places = [system.random(rng, scale=scale) for scale in (0.05, 0.3)]
        self._constant = actuation_matrix(system, places[0], None, u).T
        self._constant[list(self._tendon)] = 0.0
        self._where = [system.internal.shift[system.internal.shift[:, 1] == k, 0] for k in range(system.nv)]
        for q in places:
            B, J = actuation_matrix(system, q, None, u).T, self._slopes(q)
            size = np.abs(B * system.internal.scale).max(axis=1)
            wrong = np.abs((B - J) * system.internal.scale).max(axis=1) > 1e-9 * size
            wrong |= [any(b != 0.0 and not len(self._where[k]) for k, b in enumerate(row)) for row in self._constant]
            if np.any(wrong):
                name = system.input_names[int(np.argmax(wrong))]
                raise ValueError(
                    f"input {name!r} of {system.name!r} has no coordinate that it does its work on: its forces are not the gradient of one (friction "
                    "of a tendon, a moment, a follower force, a ball joint). Give outputs of your own, such as pl.costs.Coordinates()."
                )

    def _slopes(self, q: Array) -> Array:
        out = self._constant.copy()
        if self._tendon:
            slopes = self.system.tendon_lengths(q)[1]
            out[list(self._tendon)] = -slopes[list(self._tendon.values())]
        return out

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return system.nu

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system = states.system
        plain = np.zeros((len(states), system.nv))
        for k, place in enumerate(self._where):
            if len(place):
                plain[:, k] = states.q[:, place[0]]
        value = plain @ self._constant.T
        slopes = np.tile(self._constant, (len(states), 1, 1))
        if self._tendon:
            own, of = list(self._tendon), list(self._tendon.values())
            for row, slope, q in zip(value, slopes, states.q):
                lengths, J = system.tendon_lengths(q)
                row[own], slope[own] = -lengths[of], -J[of]
        return by_slopes(states, value, lambda: (slopes, None, None))

    def __repr__(self) -> str:
        """What they are."""
        return "ActuationCoordinates()"
