"""`smooth`: the most likely motion through a whole record of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gradients.rollout import Method
from ..model.validate import integer, positive, reals, unknown_name
from ..system import FrameLike, System
from .kalman import entry_names
from .model import Options, StochasticModel
from .readings import Readings
from .window import Datum, Window

__all__ = ["Smoothed", "smooth"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The most likely motion through a record.

    Attributes
    ----------
    system : System
        The robot with the estimated parameters.
    t : ndarray (N + 1,)
        Times [s]; the first is the start.
    q, v : ndarray (N + 1, nq), (N + 1, nv)
    unknown : dict of ndarray (N + 1,)
        Values of unknowns by name.
    residuals : ndarray (N, m)
        What sensors read minus what they should, NaN if missing.
    success : bool
        Whether the iteration converged.
    message : str
    iterations : int
    cost : float
        Half the sum of squares, in standard deviations (with Huber's loss if asked for).
    warnings : tuple of str
    names : tuple of str
        Of the entries of covariances.
    """

    system: System
    t: Array
    q: Array
    v: Array
    unknown: dict[str, Array]
    residuals: Array
    success: bool
    message: str
    iterations: int
    cost: float
    warnings: tuple[str, ...]
    names: tuple[str, ...]
    scaled: Array = field(repr=False)  # (N + 1, n, n)
    size: Array = field(repr=False)

    def deviation(self, name: str) -> Array:
        """Standard deviation of an entry at every time, (N + 1,): of an unknown, a degree of freedom, or its velocity ("d/dt …")."""
        if name not in self.names:
            raise unknown_name("entry of the estimate", str(name), self.names)
        k = self.names.index(name)
        return np.asarray(np.sqrt(np.maximum(self.scaled[:, k, k], 0.0)) * self.size[k])

    def covariance(self, k: int) -> Array:
        """Covariance (n, n) at instant k."""
        return np.asarray(self.size[:, None] * self.scaled[k] * self.size)

    def positions(self, frame: FrameLike) -> Array:
        """Position of a frame at every time [m], (N + 1, 3)."""
        return self.system.pose(frame, self.q)[:, :3, 3]

    def __str__(self) -> str:
        """A few lines."""
        lines = [f"{self.system.name}: {len(self.t) - 1} steps, {self.message}"]
        lines += [f"  {name} = {x[-1]:.6g} ± {self.deviation(name)[-1]:.2g}" for name, x in self.unknown.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)


def smooth(
    system: System,
    sensors: Any,
    U: Any,
    values: Any,
    *,
    step: float,
    start: Any = None,
    velocity: ArrayLike | None = None,
    t0: float | None = None,
    unknown: Any = (),
    uncertainty: Any = (0.01, 0.1),
    disturbance: float | ArrayLike = 0.02,
    huber: float | None = None,
    iterations: int = 20,
    convergence: float = 1e-4,
    motion: Mapping[str, Any] | None = None,
    method: Method = "sdirk2",
    tolerance: float = 1e-10,
) -> Smoothed:
    """The most likely motion through a record of inputs and measurements, after the fact: each instant uses what came before and after it.

    Parameters
    ----------
    system, sensors, step, start, velocity, t0, unknown, uncertainty, disturbance, motion, method, tolerance
        As of `ExtendedKalman`.
    U : array (N, nu), or None
        Inputs that were held in each step; None for a robot that has none, or unknown ones alone.
    values : array (N, m), or dict of arrays (N, m) by sensor
        What was read at the end of each step; NaN for what is missing.
    huber : float, optional
        Residuals beyond so many standard deviations count linearly.
    iterations, convergence : int, float
        Of Gauss–Newton: at most, and the change in standard deviations with which it stops.

    Returns
    -------
    Smoothed

    Notes
    -----
    Each iteration is a Kalman filter through the motion as it was found last and a smoother back: for a linear robot the first is the smoother of Rauch, Tung
    and Striebel.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> truth = pl.rollout(system, step=0.01, duration=0.5, start=[0.3])
    >>> angle = pl.costs.Coordinates().measured(0.02, "angle")
    >>> noise = np.random.default_rng(0).normal(scale=0.02, size=(50, 1))
    >>> found = pl.smooth(system, [angle], None, truth.q[1:] + noise, step=0.01, uncertainty=(0.2, 1.0))
    >>> print(found.message, bool(np.abs(found.q - truth.q).max() < 0.02))
    converged in 4 iterations True
    """
    model = StochasticModel(
        system,
        sensors,
        Options(step, start, velocity, t0, unknown, uncertainty, disturbance, motion, method, tolerance),
    )
    readings = rows_of(model.readings, values)
    inputs = [None] * len(readings) if U is None else list(reals("U", U))
    if len(inputs) != len(readings):
        raise ValueError(f"U has {len(inputs)} rows, but values has {len(readings)}: give one of each for every step.")
    data = [Datum(model.inputs(u), y) for u, y in zip(inputs, readings)]
    loss = np.inf if huber is None else positive("huber", huber, hint="In standard deviations.")
    window = Window(model, model.steps.start, model.covariance, data, loss)
    most = integer("iterations", iterations, minimum=1)
    small = positive("convergence", convergence)
    fit, found, done, change = window.solve(np.zeros(model.n), np.zeros((len(data), model.n)), most, small)
    success = change < small
    message = f"converged in {done} iterations" if success else f"not converged in {done} iterations"
    if not success:
        message += f": the last changed it by {change:.2g} standard deviations. Use more, or a better start."
    said = [] if not model.steps.subdivided else [f"{model.steps.subdivided} steps were taken in parts."]
    names = entry_names(model)
    said += [f"{names[k]!r} is held at its bound." for k, _edge in fit.bound]
    states = fit.states
    w = np.array([state.w for state in states]).reshape(len(states), -1)
    return Smoothed(
        model.steps.system(states[-1].w), np.array([x.t for x in states]), np.array([x.q for x in states]), np.array([x.v for x in states]),
        dict(zip(model.unknowns.names, w.T)), np.array(fit.e), success, message, done, window.cost(fit), tuple(said), names,
        np.array(window.covariances(fit, found)), model.size,
    )  # fmt: skip


def rows_of(readings: Readings, values: Any) -> Array:
    """Values (N, m), NaN for what is missing, from an array or a dictionary of arrays by sensor."""
    if not isinstance(values, Mapping):
        rows = reals("values", values)
        if rows.ndim != 2 or rows.shape[1] != len(readings) or not len(rows):
            raise ValueError(f"values has shape {rows.shape}, but (N, {len(readings)}) is needed: a row for each step.")
        return np.array([readings.vector(row) for row in rows])
    columns = {str(name): reals(f"values[{name!r}]", value) for name, value in values.items()}
    lengths = {len(np.atleast_1d(x)) for x in columns.values()}
    if len(lengths) != 1:
        raise ValueError(
            f"values: sensors have {sorted(lengths)} rows; give one for each step, NaN where nothing was read."
        )
    return np.array([readings.vector({name: x[k] for name, x in columns.items()}) for k in range(lengths.pop())])
