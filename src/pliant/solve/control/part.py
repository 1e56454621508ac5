"""What a controller is for an integrator: states with rates, outputs that are inputs of the robot, derivatives, instants of sampling."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.signal import Signal
from ...model.validate import finite
from ...system import System

__all__ = ["Bound", "Part", "Place", "Slopes", "Source", "bind", "limit", "positional"]

Array = NDArray[np.float64]
_NEVER = float("inf")


class Place(NamedTuple):
    """Where a controller stands: its name in messages, and the number of the input that it gives; all inputs if that is None."""

    name: str
    input: int | None

    def read(self, system: System, value: Any) -> Array:
        """An output as an array: (nu,), or (1,) for a single input."""
        if value is None:
            raise TypeError(f"{self.name}: the output is None: does the function lack a `return`?")
        if self.input is None:
            return system.inputs(value).copy()
        given = np.asarray(value)
        number = finite(f"{self.name}: the output", given.item() if given.size == 1 else value)
        name = system.input_names[self.input]
        return system.inputs({name: number})[self.input : self.input + 1].copy()  # within its bounds

    def width(self, system: System) -> int:
        """How many inputs it gives."""
        return system.nu if self.input is None else 1


class Slopes(NamedTuple):
    """Derivatives of rates f and outputs g, by states x and by a displacement Δq that comes with Δv = Δq / h."""

    fx: Array  # (n, n)
    fs: Array  # (n, nv)
    gx: Array  # (m, n)
    gs: Array  # (m, nv)


class Bound:
    """A controller of one system, as an integrator sees it: ẋ = f(t, x, q, v) and u = g(t, x, q, v).

    Attributes
    ----------
    names : tuple of str
        Of the n states.
    size : ndarray (n,)
        Their natural sizes, for the absolute tolerance.
    width : int
        Number of outputs m.
    feedback : bool
        Whether rates or outputs depend on q and v between instants of sampling.
    """

    names: tuple[str, ...] = ()
    size: Array = np.zeros(0)
    width = 0
    feedback = True

    def __init__(self, system: System, place: Place) -> None:
        self.system, self.place = system, place

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.names)

    def begin(self, t: float, q: Array, v: Array) -> Array:
        """States (n,) where it is switched on."""
        return np.zeros(self.count)

    def rate(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        """f (n,)."""
        return np.zeros(self.count)

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        """g (m,)."""
        raise NotImplementedError

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        """∂f/∂x (n, n); by differences unless a class knows it."""
        return self._by_states(self.rate, self.count, t, side, x, q, v)

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        """All derivatives; by differences unless a class knows them."""
        fx = self.rate_slope(t, side, x, q, v)
        gx = self._by_states(self.output, self.width, t, side, x, q, v)
        nv = self.system.nv
        fs, gs = np.zeros((self.count, nv)), np.zeros((self.width, nv))
        if self.feedback:
            f, g = self.rate(t, side, x, q, v), self.output(t, side, x, q, v)
            for k, move in enumerate(1e-7 * self.system.internal.scale):
                step = np.zeros(nv)
                step[k] = move
                there = self.system.integrate(q, step), v + step / h
                fs[:, k] = (self.rate(t, side, x, *there) - f) / move
                gs[:, k] = (self.output(t, side, x, *there) - g) / move
        return Slopes(fx, fs, gx, gs)

    def _by_states(
        self, function: Callable[..., Array], rows: int, t: float, side: int, x: Array, q: Array, v: Array
    ) -> Array:
        out = np.zeros((rows, self.count))
        if not self.count:
            return out
        here = function(t, side, x, q, v)
        for k in range(self.count):
            moved = x.copy()
            moved[k] += 1e-7 * max(abs(x[k]), self.size[k])
            out[:, k] = (function(t, side, moved, q, v) - here) / (moved[k] - x[k])
        return out

    def breaks(self) -> list[float]:
        """Times where what it follows jumps or has a kink."""
        return []

    def due(self, t: float) -> float:
        """The next instant of sampling after t; infinite if it does not sample."""
        return _NEVER

    def is_due(self, t: float) -> bool:
        """Whether t is an instant of sampling."""
        return False

    def sample(self, t: float, x: Array, q: Array, v: Array) -> Array:
        """States after the instant t; as they are for what does not sample there."""
        return x


class Part:
    """The base of controllers that a user writes down; `bound` makes one for a system."""

    def bound(self, system: System, place: Place) -> Bound:
        """The controller of this system."""
        raise NotImplementedError


class Source(Bound):
    """What needs no states: a constant, a function of t, or a feedback law of (t, state)."""

    def __init__(self, system: System, place: Place, value: Any) -> None:
        super().__init__(system, place)
        self.value, self.width = value, place.width(system)
        self.feedback = callable(value) and len(positional(value, place.name)) == 2
        self._constant = None if callable(value) else place.read(system, value)

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        """As given."""
        if self._constant is not None:
            return self._constant
        try:
            if self.feedback:
                from ..drive import State  # which knows of controllers

                return self.place.read(self.system, self.value(t, State(t, q, v)))
            return self.place.read(self.system, limit(self.value, t, side))
        except Exception as error:
            error.add_note(f"in {self.place.name}, at t = {t:.6g} s")
            raise

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        """Nothing, unless it is a feedback law."""
        if self.feedback:
            return super().slopes(t, side, x, q, v, h)
        nv = self.system.nv
        return Slopes(np.zeros((0, 0)), np.zeros((0, nv)), np.zeros((self.width, 0)), np.zeros((self.width, nv)))

    def breaks(self) -> list[float]:
        """Those that a function of t declares."""
        return [float(t) for t in getattr(self.value, "breakpoints", ())]


def bind(system: System, place: Place, value: Any) -> Bound:
    """A controller, constant or function as a controller of this system."""
    return value.bound(system, place) if isinstance(value, Part) else Source(system, place, value)


def limit(function: Callable[[float], Any], t: float, side: int) -> Any:
    """A function of t at t, or its limit from the left (side −1) or right (+1): of signals, formulas, and where it declares a break."""
    if side == 0:
        return function(t)
    if isinstance(function, Signal):
        return function.limit(t, side)
    if hasattr(function, "instructions") or t in getattr(function, "breakpoints", ()):
        return function(math.nextafter(t, math.copysign(math.inf, side)))
    return function(t)


def positional(function: Callable[..., Any], name: str) -> list[str]:
    """Names of the arguments that a function needs; one for signals and formulas."""
    if isinstance(function, Signal) or hasattr(function, "instructions"):
        return ["t"]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["t"]
    needed = [
        p.name
        for p in parameters
        if p.default is inspect.Parameter.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) not in (1, 2, 3):
        raise TypeError(
            f"{name}: the function needs {len(needed)} arguments ({', '.join(needed)}), not t or (t, state)."
        )
    return needed
