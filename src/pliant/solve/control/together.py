"""Controllers of several inputs side by side, and what an implicit step needs of them all."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import unknown_name
from ...system import System
from .part import Bound, Part, Place, Slopes, bind

__all__ = ["ImplicitStates", "bind_inputs", "has_controller"]

Array = NDArray[np.float64]
_ITERATIONS = 30


def has_controller(value: Any) -> bool:
    """Whether it is a controller, or a dictionary with one."""
    return isinstance(value, Part) or (
        isinstance(value, Mapping) and any(isinstance(own, Part) for own in value.values())
    )


def bind_inputs(system: System, value: Any) -> Bound:
    """The controller of all inputs, from one or from a dictionary of controllers, constants and functions by name."""
    if not isinstance(value, Mapping):
        return bind(system, Place("u", None), value)
    for name in value:
        if name not in system.input_names:
            raise unknown_name("input", str(name), system.input_names)
    return _Several(system, value)


class _Several(Bound):
    """One for each input."""

    def __init__(self, system: System, given: Mapping[str, Any]) -> None:
        super().__init__(system, Place("u", None))
        self.width = system.nu
        self.parts = [
            bind(system, Place(f"u[{name!r}]", system.input_names.index(name)), value) for name, value in given.items()
        ]
        self.names = tuple(name for part in self.parts for name in part.names)
        ends = np.cumsum([0, *(part.count for part in self.parts)])
        self._own = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.feedback = any(part.feedback for part in self.parts)

    @property
    def size(self) -> Array:  # type: ignore[override]
        return np.concatenate([np.zeros(0), *(part.size for part in self.parts)])

    def begin(self, t: float, q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(0), *(part.begin(t, q, v) for part in self.parts)])

    def rate(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        rates = [part.rate(t, side, x[own], q, v) for part, own in zip(self.parts, self._own)]
        return np.concatenate([np.zeros(0), *rates])

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        out = np.zeros(self.width)
        for part, own in zip(self.parts, self._own):
            out[part.place.input] = part.output(t, side, x[own], q, v)[0]
        return out

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        out = np.zeros((self.count, self.count))
        for part, own in zip(self.parts, self._own):
            out[own, own] = part.rate_slope(t, side, x[own], q, v)
        return out

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        n, m, nv = self.count, self.width, self.system.nv
        out = Slopes(np.zeros((n, n)), np.zeros((n, nv)), np.zeros((m, n)), np.zeros((m, nv)))
        for part, own in zip(self.parts, self._own):
            s, k = part.slopes(t, side, x[own], q, v, h), part.place.input
            out.fx[own, own], out.fs[own], out.gx[k, own], out.gs[k] = s.fx, s.fs, s.gx[0], s.gs[0]
        return out

    def breaks(self) -> list[float]:
        return [t for part in self.parts for t in part.breaks()]

    def due(self, t: float) -> float:
        return min((part.due(t) for part in self.parts), default=float("inf"))

    def is_due(self, t: float) -> bool:
        return any(part.is_due(t) for part in self.parts)

    def sample(self, t: float, x: Array, q: Array, v: Array) -> Array:
        states = [part.sample(t, x[own], q, v) for part, own in zip(self.parts, self._own)]
        return np.concatenate([np.zeros(0), *states])


class ImplicitStates:
    """x = before + lag f(t, x, q, v), by Newton's iteration with a derivative that is kept as long as it serves."""

    def __init__(self, control: Bound) -> None:
        self.control = control
        self._slope: Array | None = None

    def __call__(self, t: float, side: int, before: Array, lag: float, q: Array, v: Array) -> Array | None:
        """The states (n,); None if the iteration does not converge."""
        if not len(before) or lag == 0.0:
            return before.copy()
        if self._slope is not None:
            x = self._iterate(t, side, before, lag, q, v, keep=True)
            if x is not None:
                return x
        return self._iterate(t, side, before, lag, q, v, keep=False)

    def _iterate(
        self, t: float, side: int, before: Array, lag: float, q: Array, v: Array, *, keep: bool
    ) -> Array | None:
        control, x, last = self.control, before.copy(), np.inf
        for _ in range(_ITERATIONS):
            if not keep:
                self._slope = control.rate_slope(t, side, x, q, v)
            gap = before + lag * control.rate(t, side, x, q, v) - x
            move = np.linalg.solve(np.eye(len(x)) - lag * np.asarray(self._slope), gap)
            if not np.all(np.isfinite(move)):
                return None
            x = x + move
            size = float(np.max(np.abs(move) / (np.abs(x) + control.size)))
            if size <= 1e-14 or (size <= 1e-9 and size >= 0.5 * last):
                return x
            if keep and size > 0.1 * last:
                return None
            last = size
        return None
