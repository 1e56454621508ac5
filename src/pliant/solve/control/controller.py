"""A controller with states of the user's own: its rate, its output, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...model.validate import vector
from ...system import System
from .part import Bound, Part, Place, Slopes

__all__ = ["Controller", "named_states"]

Array = NDArray[np.float64]


def named_states(what: str, states: Mapping[str, float] | ArrayLike) -> tuple[tuple[str, ...], Array]:
    """Names and initial values of states, given by name or as a vector."""
    if isinstance(states, Mapping):
        values = vector(f"{what}.states", list(states.values()), (len(states),))
        return tuple(str(name) for name in states), values
    values = np.atleast_1d(np.asarray(states, dtype=float))
    values = vector(f"{what}.states", values, (values.size,))
    return tuple(f"x{k}" for k in range(len(values))), values


@dataclass(frozen=True)
class Controller(Part):
    """A controller with states, ẋ = f(t, x, state) and u = g(t, x, state), that is integrated with the robot.

    Its states are unknowns of each implicit step like those of the robot, with the order of the method: 3 and 5 for the default, 2 for
    "midpoint". Give it to `simulate` as ``u=``, or as one entry of a dictionary of inputs.

    Parameters
    ----------
    rate : callable
        ``rate(t, x, state)`` returns ẋ (n,); `state` has t, q and v.
    output : callable
        ``output(t, x, state)`` returns the inputs, by name or as a vector (nu,); a number if it stands for one input of a dictionary.
    states : dict or array (n,)
        Initial values of the states, perhaps by name.
    derivatives : callable, optional
        ``derivatives(t, x, state)`` returns six matrices: ∂f/∂x (n, n), ∂f/∂q, ∂f/∂v (n, nv), ∂g/∂x (m, n), ∂g/∂q, ∂g/∂v (m, nv), those by q
        along the manifold, as `System.jacobian` has them. They are part of the tangent of each step, so Newton's iteration converges as fast as without
        a controller. Differences are taken if they are left out: nv + n further calls at each factorisation, the same result.
    scale : array (n,), optional
        Natural sizes of the states for `atol`; 1 if left out.

    Examples
    --------
    The integral of an angle's error, by hand (`PID` is the same):

    >>> import pliant as pl
    >>> robot = pl.Robot("arm", gravity=(0, 0, 0))
    >>> arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> motor = robot.add_motor("motor", arm)
    >>> law = pl.Controller(
    ...     rate=lambda t, x, state: [1.0 - state.q[0]],
    ...     output=lambda t, x, state: [x[0] + 2 * (1 - state.q[0]) - 0.5 * state.v[0]],
    ...     states={"integral": 0.0},
    ... )
    >>> run = pl.simulate(robot.compile(), 8.0, u=law)
    >>> print(run.control_names, f"{run.q[-1, 0]:.2f} rad")
    ('u: integral',) 1.00 rad
    """

    rate: Callable[..., Any]
    output: Callable[..., Any]
    states: Any
    derivatives: Callable[..., Any] | None = None
    scale: Any = None

    def __post_init__(self) -> None:
        """Check."""
        for name in ("rate", "output", "derivatives"):
            value = getattr(self, name)
            if not callable(value) and not (name == "derivatives" and value is None):
                raise TypeError(f"Controller.{name} = {value!r} must be a function of (t, x, state).")
        names, _values = named_states("Controller", self.states)
        if self.scale is not None:
            scale = vector("Controller.scale", np.atleast_1d(np.asarray(self.scale, dtype=float)), (len(names),))
            if np.any(scale <= 0.0):
                raise ValueError(f"Controller.scale = {scale.tolist()} must be positive: natural sizes of the states.")

    def bound(self, system: System, place: Place) -> Bound:
        """The controller of this system."""
        return _Bound(system, place, self)


class _Bound(Bound):
    def __init__(self, system: System, place: Place, given: Controller) -> None:
        super().__init__(system, place)
        self.given = given
        names, self._start = named_states(f"{place.name}: Controller", given.states)
        self.names = tuple(f"{place.name}: {name}" for name in names)
        self.size = np.ones(self.count) if given.scale is None else np.array(given.scale, dtype=float).reshape(-1)
        self.width = place.width(system)

    def begin(self, t: float, q: Array, v: Array) -> Array:
        return self._start.copy()

    def _ask(self, what: str, t: float, x: Array, q: Array, v: Array) -> Any:
        from ..drive import State  # which knows of controllers

        try:
            return getattr(self.given, what)(t, x.copy(), State(t, q, v))
        except Exception as error:
            error.add_note(f"in {what} of the controller {self.place.name}, at t = {t:.6g} s")
            raise

    def rate(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        value = self._ask("rate", t, x, q, v)
        return vector(f"{self.place.name}: rate", np.atleast_1d(np.asarray(value, dtype=float)), (self.count,))

    def output(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return self.place.read(self.system, self._ask("output", t, x, q, v))

    def slopes(self, t: float, side: int, x: Array, q: Array, v: Array, h: float) -> Slopes:
        if self.given.derivatives is None:
            return super().slopes(t, side, x, q, v, h)
        fx, fq, fv, gx, gq, gv = self._derivatives(t, x, q, v)
        return Slopes(fx, fq + fv / h, gx, gq + gv / h)

    def rate_slope(self, t: float, side: int, x: Array, q: Array, v: Array) -> Array:
        return (
            super().rate_slope(t, side, x, q, v) if self.given.derivatives is None else self._derivatives(t, x, q, v)[0]
        )

    def _derivatives(self, t: float, x: Array, q: Array, v: Array) -> list[Array]:
        n, m, nv = self.count, self.width, self.system.nv
        given = self._ask("derivatives", t, x, q, v)
        if not isinstance(given, (tuple, list)) or len(given) != 6:
            raise TypeError(
                f"{self.place.name}: derivatives must return six matrices: ∂f/∂x, ∂f/∂q, ∂f/∂v, ∂g/∂x, ∂g/∂q, ∂g/∂v."
            )
        shapes = ((n, n), (n, nv), (n, nv), (m, n), (m, nv), (m, nv))
        what = ("∂f/∂x", "∂f/∂q", "∂f/∂v", "∂g/∂x", "∂g/∂q", "∂g/∂v")
        return [
            vector(f"{self.place.name}: {name} of derivatives", a, shape) for name, a, shape in zip(what, given, shapes)
        ]
