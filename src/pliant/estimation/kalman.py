"""`ExtendedKalman`: the state of a robot from inputs and noisy sensors, on the exact maps of its implicit steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._turns import Turn, alone
from ..gradients.rollout import Method
from ..model.validate import positive
from ..system import Inputs, System
from .estimate import Estimate
from .linear import correct, predict
from .model import Options, StochasticModel

__all__ = ["ExtendedKalman"]

Array = NDArray[np.float64]


class ExtendedKalman:
    """An extended Kalman filter: prediction by implicit steps with exact maps, correction with exact derivatives of the sensors.

    Parameters
    ----------
    system : System
    sensors : list of Measured
        Quantities with the standard deviations of their noise: ``pl.costs.Position("arm.tip").measured(0.001)``.
    step : float
        Time between updates [s], one implicit step each.
    start, velocity, t0
        The estimate at the start, as of `simulate`: an Equilibrium, a Result, or coordinates.
    unknown : list of Prior
        Inputs and parameters that are estimated with the state: loads, stiffness, masses.
    uncertainty : (float, float), or arrays (nv,)
        Standard deviations of coordinates and velocities at the start: by how much each coordinate may displace what it carries [m, m/s; root mean square
        over its mass], but no further than such a velocity leads against the elastic forces; or in the units of the coordinates.
    disturbance : float or array (nv,)
        What pushes the robot unknown to the model: white noise of accelerations along each degree of freedom [m/s²/√Hz, likewise], or in the units of
        the accelerations. It acts as a kick of velocities at the start of each step: ``disturbance · √step``. The default, 0.02, is 0.2 m/s² over each
        10 ms, about 2 % of the weight: the model is trusted, but not blindly.
    gate : float, optional
        Values that are further from what was expected than so many standard deviations are set aside, and named in the estimate.
    motion : dict, optional
        Prescribed joints, loops and tendon lengths, as of `simulate`.
    method, tolerance
        Of the steps, as of `rollout`.

    Attributes
    ----------
    estimate : Estimate
        The present one.

    Notes
    -----
    State and covariance are those of ``x = (q, v, z, w)`` with what loads remember and the unknowns; quaternions are corrected along the manifold, loops are closed
    after each correction. ``P ← F (P + W) Fᵀ`` with the exact derivative F of the step, and Joseph's form of the correction, in units of what is known at the
    start. A step that Newton's iteration does not get through is taken in parts, an unknown that reaches a bound stays there: both are warnings of
    the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> load = robot.add_wrench("load", arm.tip, force=(0, 0, -1))
    >>> system = robot.compile()
    >>> truth = pl.rollout(system, np.full((100, 1), 0.2), step=0.01, start=pl.solve_statics(system))
    >>> fibre = pl.costs.Curvature("arm", [0.2, 0.5, 0.8]).measured(0.02, "fibre")
    >>> readings = fibre.quantity.evaluate(truth.states).value[1:]
    >>> kalman = pl.ExtendedKalman(
    ...     system, [fibre], step=0.01, start=pl.solve_statics(system), unknown=[pl.Prior("load", 0.5)]
    ... )
    >>> for row in readings + np.random.default_rng(0).normal(scale=0.02, size=readings.shape):
    ...     found = kalman.update(values=row)
    >>> print(f"{found.unknown['load']:.1f} N of 0.2 N")
    0.2 N of 0.2 N
    """

    def __init__(
        self,
        system: System,
        sensors: Any,
        *,
        step: float,
        start: Any = None,
        velocity: ArrayLike | None = None,
        t0: float | None = None,
        unknown: Any = (),
        uncertainty: Any = (0.01, 0.1),
        disturbance: float | ArrayLike = 0.02,
        gate: float | None = None,
        motion: Mapping[str, Any] | None = None,
        method: Method = "sdirk2",
        tolerance: float = 1e-10,
    ) -> None:
        self._turn = Turn()
        options = Options(step, start, velocity, t0, unknown, uncertainty, disturbance, motion, method, tolerance)
        self.model = StochasticModel(system, sensors, options)
        self.gate = np.inf if gate is None else positive("gate", gate, hint="In standard deviations.")
        self.state, self.P = self.model.steps.start, self.model.covariance.copy()
        self._u = np.zeros(system.nu)
        self._names = entry_names(self.model)
        self._said: tuple[str, ...] = ()
        self.estimate = self._estimate(np.full(len(self.model.readings), np.nan))

    @alone
    def update(self, u: Inputs = None, values: Any = None) -> Estimate:
        """A step with inputs u, then the values that sensors read at its end.

        Parameters
        ----------
        u : array (nu,), dict by name, or None
            Inputs that are held in the step. Unknown inputs do not count, and may be left out.
        values : array (m,), dict by sensor, or None
            NaN, or a sensor that is not in the dictionary, is missing: sensors may have different rates.
        """
        self._predict(u)
        return self.correct(values)

    @alone
    def predict(self, u: Inputs = None) -> Estimate:
        """A step without measurements."""
        self._predict(u)
        self.estimate = self._estimate(np.full(len(self.model.readings), np.nan))
        return self.estimate

    def _predict(self, u: Inputs) -> None:
        model = self.model
        self._u = model.inputs(u)
        before = model.steps.subdivided
        self.state, F = model.advance(self.state, self._u)
        self.P = predict(self.P, F, model.noise)
        self._said = ("the step was taken in parts.",) if model.steps.subdivided > before else ()

    @alone
    def correct(self, values: Any) -> Estimate:
        """Values that sensors read now."""
        model = self.model
        y = model.readings.vector(values)
        expected, H = model.predict(self.state, self._u)
        innovation = y - expected
        found = correct(self.P, H, model.readings.noise, innovation, self.gate)
        self.P = found.P
        self.state, cut = model.moved(self.state, found.x)
        self._said += tuple(f"{name!r} is held at its bound." for name in cut)
        rejected: tuple[str, ...] = ()
        if found.rejected.any():
            own = zip(model.readings.names, model.readings.places)
            rejected = tuple(name for name, place in own if found.rejected[place].any())
            innovation[found.rejected] = np.nan
        self.estimate = self._estimate(innovation, found.nis, found.used, rejected)
        return self.estimate

    def _estimate(self, innovation: Array, nis: float = 0.0, used: int = 0, rejected: tuple[str, ...] = ()) -> Estimate:
        state, model = self.state, self.model
        return Estimate(
            model.system, state.t, state.q, state.v, model.steps.inputs(self._u, state.w), model.unknowns.values(state.w), state.z,
            self._names, innovation, nis, used, rejected, self._said, self.P, model.size,
        )  # fmt: skip


def entry_names(model: StochasticModel) -> tuple[str, ...]:
    """Names of the entries of the covariance."""
    dofs = model.system.dof_names
    kept = (f"internal variable {k}" for k in range(model.system.nz))
    return (*dofs, *(f"d/dt {name}" for name in dofs), *kept, *model.unknowns.names)
