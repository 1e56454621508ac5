"""Digital controllers: a law that is called at instants, and whose inputs are held between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.validate import finite, positive
from ...system import System
from ..limits import rounding
from .controller import named_states
from .part import Bound, Part, Place, Slopes, positional

__all__ = ["Sampled"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sampled(Part):
    """A digital controller: its law is called once at each instant ``first + k period``, and its inputs are held until the next.

    Steps end exactly at these instants, whatever error control wants, and nothing is called between them: the law may be any
    program. With error control a step is never longer than the period.

    Parameters
    ----------
    law : callable
        ``law(t, state)`` returns the inputs, by name or as a vector (nu,); a number if it stands for one input of a dictionary. With
        `states`, ``law(t, state, x)`` returns the inputs and the states from then on.
    period : float
        Between two instants [s].
    states : dict or array, optional
        Initial values of what the law remembers (integrals, filters, a delay line), perhaps by name. They are kept with the result, so that a run that goes on from it,
        or from a checkpoint, goes on with them.
    first : float
        An instant [s].

    Notes
    -----
    A run that does not start at an instant samples at its start too, unless it goes on from a result with the same controller. At an
    instant, a result holds the inputs that were held until then.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("cart", gravity=(0, 0, 0))
    >>> cart = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    >>> motor = robot.add_motor("motor", cart)
    >>> seen = []
    >>> def law(t, state):
    ...     seen.append(t)
    ...     return [2.0 - 2 * state.q[0] - 2 * state.v[0]]
    >>> run = pl.simulate(robot.compile(), 0.5, u=pl.Sampled(law, period=0.1))
    >>> seen, run.u[-1] == run.u[-2]
    ([0.0, 0.1, 0.2, 0.30000000000000004, 0.4], array([ True]))
    """

    law: Callable[..., Any]
    period: float
    states: Any = None
    first: float = 0.0

    def __post_init__(self) -> None:
        """Check."""
        if not callable(self.law) or isinstance(self.law, Part):
            raise TypeError(
                f"Sampled.law = {self.law!r} must be a function of (t, state), or of (t, state, x) with `states`. What a continuous controller "
                "would do at instants has to be written as such a function."
            )
        object.__setattr__(self, "period", positive("Sampled.period", self.period, unit="s"))
        object.__setattr__(self, "first", finite("Sampled.first", self.first, unit="s"))
        wanted = 2 if self.states is None else 3
        needed = positional(self.law, "Sampled.law")
        if len(needed) != wanted:
            form = "(t, state)" if wanted == 2 else "(t, state, x)"
            raise TypeError(
                f"Sampled.law must be a function of {form} {'without' if wanted == 2 else 'with'} `states`; it needs ({', '.join(needed)})."
            )
        if self.states is not None:
            named_states("Sampled", self.states)

    def bound(self, system: System, place: Place) -> Bound:
        """The controller of this system."""
        return _Bound(system, place, self)


class _Bound(Bound):
    feedback = False

    def __init__(self, system: System, place: Place, given: Sampled) -> None:
        super().__init__(system, place)
        self.given, self.width = given, place.width(system)
        names, self._start = ((), np.zeros(0)) if given.states is None else named_states("Sampled", given.states)
        held = [place.name] if place.input is not None else [f"{place.name}[{name!r}]" for name in system.input_names]
        self.names = (*(f"{place.name}: {name}" for name in names), *(f"{name}: held" for name in held))
        self.size = np.ones(self.count)
        self._own = len(names)

    def begin(self, t: float, q: Array, v: Array) -> Array:
        return self._call(t, self._start, q, v)

    def _call(self, t: float, x: Array, q: Array, v: Array) -> Array:
        from ..drive import State  # which knows of controllers

        try:
            state = State(t, q.copy(), v.copy())
            if self.given.states is None:
                return self.place.read(self.system, self.given.law(t, state))
            found = self.given.law(t, state, x.copy())
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(f"with `states` the law must return a pair, the inputs and the states, not {found!r}.")
            after = np.atleast_1d(np.asarray(found[1], dtype=float))
            if after.shape != x.shape or not np.all(np.isfinite(after)):
                raise ValueError(f"the law returned the states {found[1]!r}, but {len(x)} finite numbers are needed.")
            return np.concatenate([after, self.place.read(self.system, found[0])])
        except Exception as error:
            error.add_note(f"in the sampled law {self.place.name}, at t = {t:.6g} s")
            raise

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return x[self._own :].copy()

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return np.zeros((self.count, self.count))

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        n, m, nv = self.count, self.width, self.system.nv
        gx = np.hstack([np.zeros((m, self._own)), np.eye(m)])
        return Slopes(np.zeros((n, n)), np.zeros((n, nv)), gx, np.zeros((m, nv)))

    def due(self, t: float) -> float:
        first, period = self.given.first, self.given.period
        return float(first + (np.floor((t - first) / period + self._rounding(t)) + 1.0) * period)

    def is_due(self, t: float) -> bool:
        count = (t - self.given.first) / self.given.period
        return abs(count - round(count)) <= self._rounding(t)

    def _rounding(self, t: float) -> float:
        """The part of a period that times do not tell."""
        return rounding(max(abs(t), abs(self.given.first)), self.given.period)

    def sample(self, t: float, x: Array, q: Array, v: Array) -> Array:
        return self._call(t, x[: self._own], q, v) if self.is_due(t) else x
