"""A linear observer with a regulator: control by what sensors tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import vector
from ...system import System
from .part import Bound, Part, Place, Slopes
from .sensor import Sensor

__all__ = ["Observer"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Observer(Part):
    """A linear state observer with feedback: ``x̂̇ = A x̂ + B δu + L (δy − C x̂)``, ``δu = −K x̂``, integrated with the robot.

    Parameters
    ----------
    A, B, C : arrays (n, n), (n, nu), (p, n)
        The model: those of `linearize` at an equilibrium, or a reduced one; C is ∂y/∂x.
    gain : array (n, p)
        L, how fast the estimate follows what is measured.
    feedback : array (nu, n)
        K; zeros for an observer that only watches.
    sensors : sequence of Sensor
        What is measured, y (p,).
    inputs : array (nu,) or dict
        u at the equilibrium.
    values : array (p,)
        y at the equilibrium.
    start : array (n,), optional
        The estimate at the start; zero if left out.

    Notes
    -----
    The estimate is in `Result.control`. Design gains with ``scipy.linalg.solve_continuous_are``, see the page Control a robot.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("cart", gravity=(0, 0, 0))
    >>> cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    >>> motor = robot.add_motor("motor", cart)
    >>> law = pl.Observer(
    ...     A=[[0, 1], [0, 0]], B=[[0], [1]], C=[[1, 0]], gain=[[4], [8]], feedback=[[2, 2]],
    ...     sensors=[pl.Sensor.coordinate("cart.displacement")], inputs=[0.0], values=[0.0],
    ... )
    >>> run = pl.simulate(robot.compile(), 10.0, start=[1.0], u=law)  # it measures the position alone
    >>> print(run.control.shape[1], abs(run.q[-1, 0]) < 1e-3)
    2 True
    """

    A: Any
    B: Any
    C: Any
    gain: Any
    feedback: Any
    sensors: Sequence[Sensor]
    inputs: Any
    values: Any
    start: Any = None

    def __post_init__(self) -> None:
        """Check."""
        sensors = tuple(self.sensors) if not isinstance(self.sensors, Sensor) else (self.sensors,)
        if not sensors or not all(isinstance(own, Sensor) for own in sensors):
            raise TypeError(
                f"Observer.sensors = {self.sensors!r} must be one or several Sensors, such as Sensor.length('cable')."
            )
        object.__setattr__(self, "sensors", sensors)
        n, p = np.shape(self.A)[0] if np.ndim(self.A) == 2 else 0, len(sensors)
        m = np.shape(self.B)[1] if np.ndim(self.B) == 2 else 0
        shapes = {"A": (n, n), "B": (n, m), "C": (p, n), "gain": (n, p), "feedback": (m, n), "values": (p,)}
        if self.start is not None:
            shapes["start"] = (n,)
        for name, shape in shapes.items():
            hint = f"For {n} states, {m} inputs and {p} sensors it has this shape."
            object.__setattr__(self, name, vector(f"Observer.{name}", getattr(self, name), shape, hint=hint))

    def bound(self, system: System, place: Place) -> Bound:
        """The controller of this system."""
        if self.B.shape[1] != place.width(system):
            raise ValueError(
                f"{place.name}: Observer.B has {self.B.shape[1]} columns, but {place.width(system)} inputs are to be given: "
                f"{', '.join(system.input_names) if place.input is None else place.name}."
            )
        return _Bound(system, place, self)


class _Bound(Bound):
    def __init__(self, system: System, place: Place, given: Observer) -> None:
        super().__init__(system, place)
        self.given, self.width = given, place.width(system)
        self.names = tuple(f"{place.name}: x{k}" for k in range(len(given.A)))
        self.size = np.ones(self.count)
        self._rest = place.read(system, given.inputs)
        self._inner = given.A - given.B @ given.feedback - given.gain @ given.C
        for own in given.sensors:
            vector(f"{place.name}: ∂y/∂q of {own.name}", own.function(system, system.neutral())[1], (system.nv,))

    def begin(self, t: float, q: Array, v: Array) -> Array:
        return np.zeros(self.count) if self.given.start is None else np.array(self.given.start)

    def _measure(self, q: Array) -> tuple[Array, Array]:
        found = [own.function(self.system, q) for own in self.given.sensors]
        return np.array([y for y, _slope in found]) - self.given.values, np.array([slope for _y, slope in found])

    def rate(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return np.asarray(self._inner @ x + self.given.gain @ self._measure(q)[0])

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return self.place.read(self.system, self._rest - self.given.feedback @ x)

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return np.asarray(self._inner)

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        slope = self._measure(q)[1]
        return Slopes(
            self._inner, self.given.gain @ slope, -self.given.feedback, np.zeros((self.width, self.system.nv))
        )
