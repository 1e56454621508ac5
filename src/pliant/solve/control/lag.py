"""First-order dynamics between a command and an input: valves, motor drivers, amplifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import vector
from ...system import System
from .part import Bound, Part, Place, Slopes, bind

__all__ = ["Lag"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lag(Part):
    """An input that follows its command late, T u̇ = command − u, integrated with the robot: a valve, a driver, an amplifier.

    Parameters
    ----------
    command : number, function of t or of (t, state), or controller
        What the input is to be: also a `Signal`, a `PID`, a `Sampled` law or another `Lag`. As ``u=`` of `simulate` it is all
        inputs, in a dictionary one of them.
    time : float, or array (nu,)
        Time constant T [s].
    start : optional
        Input at the start; the command there if left out, so that nothing happens at first.

    Notes
    -----
    It may be as short as you like: the step is implicit, and a lag of 1e-5 s does not shorten it.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("cart", gravity=(0, 0, 0))
    >>> cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    >>> motor = robot.add_motor("motor", cart)
    >>> step = pl.Signal([0.0, 1.0], [0.0, 5.0], kind="hold")
    >>> run = pl.simulate(robot.compile(), 2.0, u={"motor": pl.Lag(step, 0.2)}, output=0.5)
    >>> print(run.u[:, 0].round(3), (5 * (1 - np.exp(-np.array([2.5, 5.0])))).round(3))
    [0.    0.    0.    4.59  4.966] [4.59  4.966]
    """

    command: Any
    time: Any
    start: Any = None

    def __post_init__(self) -> None:
        """Check."""
        times = vector("Lag.time", np.atleast_1d(np.asarray(self.time, dtype=float)), (np.size(self.time),))
        if np.any(times <= 0.0):
            raise ValueError(f"Lag.time = {self.time!r} must be positive [s]. For no delay, give the command itself.")

    def bound(self, system: System, place: Place) -> Bound:
        """The controller of this system."""
        return _Bound(system, place, self)


class _Bound(Bound):
    def __init__(self, system: System, place: Place, given: Lag) -> None:
        super().__init__(system, place)
        self.inner = bind(system, place, given.command)
        self.width = m = self.inner.width
        time = np.atleast_1d(np.asarray(given.time, dtype=float))
        self.time = vector(f"{place.name}: Lag.time", np.full(m, time[0]) if len(time) == 1 else time, (m,))
        self._start = None if given.start is None else place.read(system, given.start)
        self._known = self.inner.count
        after = [place.name] if place.input is not None else [f"{place.name}[{name!r}]" for name in system.input_names]
        own = []
        for name in after:
            new = f"{name}: lagged"
            while new in self.inner.names:
                new += " again"
            own.append(new)
        self.names = (*self.inner.names, *own)
        self.size = np.concatenate([self.inner.size, np.ones(m)])
        self.feedback = self.inner.feedback

    def _split(self, x: Array) -> tuple[Array, Array]:
        return x[: self._known], x[self._known :]

    def begin(self, t: float, q: Array, v: Array) -> Array:
        inner = self.inner.begin(t, q, v)
        command = self.inner.output(t, 1, inner, q, v)
        value = command if self._start is None else self._start
        largest = max(float(np.abs(command).max(initial=0.0)), float(np.abs(value).max(initial=0.0)))
        self.size = np.concatenate([self.inner.size, np.full(self.width, largest if largest > 0.0 else 1.0)])
        return np.concatenate([inner, value])

    def rate(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        inner, y = self._split(x)
        return np.concatenate(
            [self.inner.rate(t, side, inner, q, v), (self.inner.output(t, side, inner, q, v) - y) / self.time]
        )

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return self._split(x)[1].copy()

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        if not self._known:
            return np.diag(-1.0 / self.time)
        return self.slopes(t, side, x, q, v, 1.0).fx

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        inner, _y = self._split(x)
        s, n, m, nv = self.inner.slopes(t, side, inner, q, v, h), self._known, self.width, self.system.nv
        fx = np.zeros((n + m, n + m))
        fx[:n, :n], fx[n:, :n], fx[n:, n:] = s.fx, s.gx / self.time[:, None], np.diag(-1.0 / self.time)
        fs = np.vstack([s.fs, s.gs / self.time[:, None]])
        return Slopes(fx, fs, np.hstack([np.zeros((m, n)), np.eye(m)]), np.zeros((m, nv)))

    def breaks(self) -> list[float]:
        return self.inner.breaks()

    def due(self, t: float) -> float:
        return self.inner.due(t)

    def is_due(self, t: float) -> bool:
        return self.inner.is_due(t)

    def sample(self, t: float, x: Array, q: Array, v: Array) -> Array:
        inner, y = self._split(x)
        return np.concatenate([self.inner.sample(t, inner, q, v), y])
