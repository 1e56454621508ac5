"""`MovingHorizon`: the most likely motion over the last steps, with bounds and robust to outliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._turns import Turn, alone
from ..gradients.rollout import Method
from ..model.validate import integer, positive
from ..system import Inputs, System
from .estimate import Estimate
from .kalman import ExtendedKalman, entry_names
from .mapped import State
from .window import Datum, Window

__all__ = ["MovingHorizon"]

Array = NDArray[np.float64]


class MovingHorizon:
    """A moving-horizon estimator: the most likely motion over a window of the last steps, by Gauss–Newton on exact maps.

    What came before the window counts through an `ExtendedKalman` that follows its start (the arrival cost). Compared to that filter alone, everything in the
    window is linearised about the motion as it is known now, unknowns stay within their bounds, and outliers lose their weight.

    Parameters
    ----------
    system, sensors, step, start, velocity, t0, unknown, uncertainty, disturbance, motion, method, tolerance
        As of `ExtendedKalman`.
    window : int
        Number of steps.
    iterations : int
        Of Gauss–Newton in each update, which starts from the last solution; two are usually enough.
    huber : float, optional
        Residuals beyond so many standard deviations count linearly, not as squares; 2 or 3 for sensors with outliers.

    Attributes
    ----------
    estimate : Estimate
        The present one. Its innovation is that of the last values, as the window expected them.
    states : list of State
        The motion through the window, `t`, `q`, `v`, and `w` of unknowns.
    iterations_used, change, cost : int, float, float
        Of the last update; `change` is that of the last iteration, in standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> truth = pl.rollout(system, step=0.01, duration=0.5, start=[0.3])
    >>> angle = pl.costs.Coordinates().measured(0.01, "angle")
    >>> readings = truth.q[1:] + np.random.default_rng(0).normal(scale=0.01, size=truth.q[1:].shape)
    >>> readings[30] = 5.0  # nonsense
    >>> horizon = pl.MovingHorizon(system, [angle], step=0.01, window=10, huber=3.0, uncertainty=(0.1, 1.0))
    >>> for row in readings:
    ...     found = horizon.update(values=row)
    >>> print(f"{abs(found.q[0] - truth.q[-1, 0]) < 0.01}")
    True
    """

    def __init__(
        self,
        system: System,
        sensors: Any,
        *,
        step: float,
        window: int = 10,
        iterations: int = 2,
        huber: float | None = None,
        start: Any = None,
        velocity: ArrayLike | None = None,
        t0: float | None = None,
        unknown: Any = (),
        uncertainty: Any = (0.01, 0.1),
        disturbance: float | ArrayLike = 0.02,
        motion: Mapping[str, Any] | None = None,
        method: Method = "sdirk2",
        tolerance: float = 1e-10,
    ) -> None:
        self._turn = Turn()
        self.arrival = ExtendedKalman(
            system, sensors, step=step, start=start, velocity=velocity, t0=t0, unknown=unknown, uncertainty=uncertainty, disturbance=disturbance,
            motion=motion, method=method, tolerance=tolerance,
        )  # fmt: skip
        self.length = integer("window", window, minimum=1)
        self.most = integer("iterations", iterations, minimum=1)
        self.huber = np.inf if huber is None else positive("huber", huber, hint="In standard deviations.")
        self.model, self.estimate = self.arrival.model, self.arrival.estimate
        self.states: list[State] = [self.arrival.state]
        self.iterations_used, self.change, self.cost = 0, 0.0, 0.0
        self._data: list[Datum] = []
        self._kicks = np.zeros((0, self.model.n))
        self._names = entry_names(self.model)

    @alone
    def update(self, u: Inputs = None, values: Any = None) -> Estimate:
        """A step with inputs u, then the values that sensors read at its end; as of `ExtendedKalman`."""
        model = self.model
        self._data.append(Datum(model.inputs(u), model.readings.vector(values)))
        kicks = np.vstack([self._kicks, np.zeros((1, model.n))])
        first = self.states[0]
        if len(self._data) > self.length:
            self._forget(self._data.pop(0))
            kicks, first = kicks[1:], self.states[1]
        before = model.steps.subdivided
        window = Window(model, self.arrival.state, self.arrival.P, self._data, self.huber)
        guess = model.steps.difference(self.arrival.state, first) / model.size
        fit, found, self.iterations_used, self.change = window.solve(guess, kicks, self.most, 1e-6)
        self.states, self._kicks, self.cost = fit.states, fit.kicks, window.cost(fit)
        last, state = found.steps[-1], fit.states[-1]
        innovation = np.full(len(model.readings), np.nan)
        innovation[np.isfinite(self._data[-1].y)] = last.e
        said = [] if model.steps.subdivided == before else ["a step was taken in parts."]
        said += [f"{self._names[k]!r} is held at its bound." for k, _edge in fit.bound]
        if self.change > 0.5:
            said.append(
                f"the last iteration moved the motion by {self.change:.2g} standard deviations: use more iterations."
            )
        self.estimate = Estimate(
            model.system, state.t, state.q, state.v, model.steps.inputs(self._data[-1].u, state.w), model.unknowns.values(state.w),
            state.z, self._names, innovation, last.nis, last.used, (), tuple(said), found.P[-1], model.size,
        )  # fmt: skip
        return self.estimate

    def _forget(self, datum: Datum) -> None:
        """What leaves the window goes into what is known of its start, but for readings that are more than twice Huber's limit off."""
        readings, kalman = self.model.readings, self.arrival
        kalman._predict(datum.u)
        y = datum.y.copy()
        if self.huber < np.inf:
            value = readings.value(
                self.model.steps.present(self.states[1].w), self.states[1].t, self.states[1].q, self.states[1].v,
                self.model.steps.inputs(datum.u, self.states[1].w),
            )  # fmt: skip
            off = np.abs(y - value) / readings.noise
            with np.errstate(invalid="ignore"):
                y[off > 2.0 * self.huber] = np.nan
        kalman.correct(y)
