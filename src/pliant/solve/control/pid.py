"""Proportional, integral and derivative control of one measured number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import finite, positive, vector
from ...system import System
from .part import Bound, Part, Place, Slopes, limit
from .sensor import Sensor

__all__ = ["PID"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PID(Part):
    """``u = bias + kp e + ki ∫e dt − kd ẏ`` with the error e = target − y of a `Sensor` y, integrated with the robot.

    Parameters
    ----------
    sensor : Sensor
        What is measured.
    target : number or function of t
        What it is to be: also a `Signal` or an `Expression`, whose jumps are met by steps.
    kp, ki, kd : float
        Gains: input per unit of y, of its integral, and of its rate. Negative ones are for inputs that lower y.
    bias : float
        Input without error.
    limits : (low, high), optional
        Between which the input stays.
    reset : float, optional
        With `limits` and ki: time T [s] in which the integral follows what a limit takes away, ẋ = e + (u − w) / (ki T) for an
        unlimited w; kp/ki if left out. Without it the integral would wind up.

    Notes
    -----
    Its one state is ∫e dt. The derivative acts on the measured rate alone, not on that of the target.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> motor = robot.add_motor("motor", arm)
    >>> law = pl.PID(pl.Sensor.coordinate("arm.angle"), 0.5, kp=4.0, ki=6.0, kd=0.8)
    >>> run = pl.simulate(robot.compile(), 6.0, u={"motor": law})
    >>> print(f"{run.q[-1, 0]:.3f} rad, {run.u[-1, 0]:.3f} N m")  # it holds its weight
    0.500 rad, -0.646 N m
    """

    sensor: Sensor
    target: Any
    kp: float = 0.0
    ki: float = 0.0
    kd: float = 0.0
    bias: float = 0.0
    limits: Any = None
    reset: float | None = None

    def __post_init__(self) -> None:
        """Check."""
        if not isinstance(self.sensor, Sensor):
            raise TypeError(f"PID.sensor = {self.sensor!r} must be a Sensor, such as Sensor.coordinate('arm.angle').")
        for name in ("kp", "ki", "kd", "bias"):
            object.__setattr__(self, name, finite(f"PID.{name}", getattr(self, name)))
        if not callable(self.target):
            object.__setattr__(self, "target", finite("PID.target", self.target))
        if self.limits is not None:
            low, high = np.asarray(self.limits, dtype=float).reshape(-1) if np.size(self.limits) == 2 else (1.0, 0.0)
            if not low < high:
                raise ValueError(f"PID.limits = {self.limits!r} must be (low, high) with low < high.")
            object.__setattr__(self, "limits", (float(low), float(high)))
        if self.reset is not None:
            if self.limits is None or self.ki == 0.0:
                raise ValueError(f"PID.reset = {self.reset!r} has no effect without `limits` and `ki`. Leave it out.")
            object.__setattr__(self, "reset", positive("PID.reset", self.reset, unit="s"))
        elif self.limits is not None and self.ki != 0.0 and not self.kp / self.ki > 0.0:
            raise ValueError(
                f"PID.reset must be given: kp / ki = {self.kp!r} / {self.ki!r} is no time in which the integral could follow the limits."
            )

    def bound(self, system: System, place: Place) -> Bound:
        """The controller of this system."""
        if place.input is None and system.nu != 1:
            raise ValueError(
                f"{place.name}: a PID gives one input, and {system.name!r} has {system.nu}: write u={{name: PID(...), ...}}; inputs: "
                f"{', '.join(system.input_names)}."
            )
        return _Bound(system, place, self)


class _Bound(Bound):
    width = 1

    def __init__(self, system: System, place: Place, given: PID) -> None:
        super().__init__(system, place)
        self.given = given
        vector(f"{place.name}: ∂y/∂q of the sensor", given.sensor.function(system, system.neutral())[1], (system.nv,))
        self.names = (f"{place.name}: integral",) if given.ki else ()
        self.size = np.ones(self.count)

    def _target(self, t: float, side: int) -> float:
        target = self.given.target
        return finite(f"{self.place.name}: target", limit(target, t, side)) if callable(target) else float(target)

    def begin(self, t: float, q: Array, v: Array) -> Array:
        y, _slope = self.given.sensor.function(self.system, q)
        if self.count:
            target = self._target(t, 1)
            self.size = np.array([max(abs(target - y), abs(target), abs(y), 1e-6)])
        return np.zeros(self.count)

    def _law(self, t: float, side: int, x: Array, q: Array, v: Array) -> tuple[float, float, Array]:
        """The error, the input without limits, and ∂y/∂q."""
        g = self.given
        y, slope = g.sensor.function(self.system, q)
        e = self._target(t, side) - y
        w = g.bias + g.kp * e - g.kd * float(slope @ v)
        return e, w + g.ki * float(x[0]) if self.count else w, slope

    def _follow(self) -> float:
        """1 / (ki T): how fast the integral follows limits."""
        g = self.given
        return 1.0 / (g.ki * g.reset) if g.reset is not None else 1.0 / g.kp

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        w = self._law(t, side, x, q, v)[1]
        if self.given.limits is not None:
            w = min(max(w, self.given.limits[0]), self.given.limits[1])
        return self.place.read(self.system, [w])

    def rate(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        if not self.count:
            return np.zeros(0)
        e, w, _slope = self._law(t, side, x, q, v)
        if self.given.limits is None:
            return np.array([e])
        low, high = self.given.limits
        return np.array([e + self._follow() * (min(max(w, low), high) - w)])

    def _free(self, w: float) -> bool:
        return self.given.limits is None or self.given.limits[0] < w < self.given.limits[1]

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        if not self.count:
            return np.zeros((0, 0))
        w = self._law(t, side, x, q, v)[1]
        return np.array([[0.0 if self._free(w) else -self._follow() * self.given.ki]])

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        g, n = self.given, self.count
        _e, w, slope = self._law(t, side, x, q, v)
        ws = -(g.kp + g.kd / h) * slope
        if g.kd:
            ws = ws - g.kd * g.sensor.slope_of_rate(self.system, q, v)
        free = self._free(w)
        fx = np.zeros((n, n)) if free or not n else np.array([[-self._follow() * g.ki]])
        fs = (-slope if free or not n else -slope - self._follow() * ws)[None][:n]
        gx = np.full((1, n), g.ki if free else 0.0)
        return Slopes(fx, fs, gx, (ws if free else np.zeros_like(ws))[None])

    def breaks(self) -> list[float]:
        return [float(t) for t in getattr(self.given.target, "breakpoints", ())]
