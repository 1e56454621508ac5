"""Linear-quadratic-Gaussian control: a regulator with a Kalman filter on sensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...gradients.costs.quantity import Quantity
from ...gradients.costs.states import States
from ...model.validate import integer, reals, vector
from ...solve.control import Sampled
from ...solve.equilibrium import Equilibrium
from ...system import System
from .gains import gain_matrix
from .law import StateLike
from .lqr import LQR, held, solve_riccati
from .weights import quantity_slopes

__all__ = ["LQG"]

Array = NDArray[np.float64]


class LQG:
    """A regulator that knows what sensors tell: `LQR` with a steady Kalman filter, at instants.

    Parameters
    ----------
    system : System
    rest : Equilibrium
    Q, R
        As of `LQR`.
    sensors : Quantity
        What is measured (`pliant.costs`), y (p,): positions, lengths of tendons, strains, several with `stack`.
    noise : float, array (p,) or (p, p)
        Standard deviation of each sensor at each instant, or the covariance of all.
    process : float, array (nu,) or (2 nv, 2 nv)
        Standard deviation of what disturbs each input, new in each period, or the covariance of what is added to (δq, δv) in a period.
    period : float
        Time between instants [s].
    bounds : pair, or dict of pairs, optional

    Attributes
    ----------
    regulator : LQR
    C : ndarray (p, n)
        Derivative of the sensors by the coordinates z of the model.
    L : ndarray (n, p)
        Gain of the filter: ẑ is moved by L (y − ŷ).
    S : ndarray (n, n)
        Covariance of the estimate after a measurement.

    Raises
    ------
    ValueError
        If inputs cannot stabilise the equilibrium, or sensors do not see a motion that does not decay.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=2e3)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(2)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> tip = pl.costs.Position("arm.tip")
    >>> law = pl.control.LQG(
    ...     system, rest, tip / 0.01, R=1 / 5.0**2, sensors=tip, noise=1e-3, process=0.5, period=0.02,
    ... )
    >>> near = pl.solve_statics(system, {"cable": 5.5})
    >>> run = pl.simulate(system, 1.0, start=near, u=law.sampled(seed=0))  # measured with 1 mm of noise
    >>> run.control_names[0], len(law.L)
    ('u: z0', 18)
    """

    def __init__(
        self,
        system: System,
        rest: Equilibrium,
        Q: Any,
        R: Any,
        *,
        sensors: Quantity,
        noise: Any,
        process: Any,
        period: float,
        bounds: Any = None,
    ) -> None:
        self.regulator = LQR(system, rest, Q, R, period=period, bounds=bounds)
        self.system, self.rest, self.sensors = system, rest, sensors
        assert self.regulator.period is not None
        self.period = self.regulator.period
        model, to = self.regulator.model, self.regulator._to
        self.A, self.B = held(model.A, model.B, self.period)
        values, slopes = quantity_slopes("sensors", sensors, States.at_rest(system, rest.q, rest.u))
        self.values, self.C = values[0], slopes[0] @ model.basis
        self.noise = _covariance("noise", noise, len(self.values), len(self.values))
        W = _covariance("process", process, system.nu, 2 * system.nv)
        W = self.B @ W @ self.B.T if len(W) == system.nu else to @ W @ to.T
        if np.linalg.eigvalsh(self.noise)[0] <= 0.0:
            raise ValueError("noise is not allowed: each sensor has some, otherwise the filter would trust it alone.")
        before, gain = solve_riccati("LQG (filter)", self.A.T, self.C.T, W, self.noise, discrete=True)
        self.L = np.linalg.solve(self.C @ before @ self.C.T + self.noise, self.C @ before).T
        self.S = before - self.L @ self.C @ before
        self.Kz = self.regulator.K @ model.basis
        self.poles = np.concatenate([self.regulator.poles, np.linalg.eigvals(self.A.T - self.C.T @ gain)])

    def step(self, y: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
        """One instant: inputs (nu,), and the estimate (n,) for the next.

        Parameters
        ----------
        y : array (p,)
            What sensors measured.
        z : array (n,)
            The estimate before; zeros at the start.
        """
        told = vector("y", y, self.values.shape, hint="One value for each sensor.")
        here = vector("z", z, (len(self.A),))
        here = here + self.L @ (told - self.values - self.C @ here)
        law = self.regulator
        u = np.clip(self.rest.u - self.Kz @ here, law.lower, law.upper)
        return u, np.asarray(self.A @ here + self.B @ (u - self.rest.u))

    def measure(self, state: StateLike) -> Array:
        """What the sensors would say without noise, (p,)."""
        u = np.clip(np.zeros((1, self.system.nu)), *self.system.input_bounds)
        states = States(self.system, np.zeros(1), state.q[None], state.v[None], u)
        return np.asarray(self.sensors.evaluate(states).value[0])

    def update(self, t: float, state: StateLike, z: Array) -> tuple[Array, Array]:
        """`step` with what the sensors say of a state without noise: a law of (t, state, z) for `Sampled`."""
        return self.step(self.measure(state), z)

    def sampled(self, *, seed: int | None = None) -> Sampled:
        """The law for `simulate`; with `seed` sensors have random noise, the same for the same seed and instant."""
        root = np.linalg.cholesky(self.noise)
        seeded = None if seed is None else integer("seed", seed)

        def law(t: float, state: StateLike, z: Array) -> tuple[Array, Array]:
            y = self.measure(state)
            if seeded is not None:
                rng = np.random.default_rng([seeded, round(abs(t) / self.period)])
                y = y + root @ rng.normal(size=len(y))
            return self.step(y, z)

        return Sampled(law, self.period, states={f"z{k}": 0.0 for k in range(len(self.A))})


def _covariance(field: str, value: Any, few: int, many: int) -> Array:
    """A covariance, from standard deviations (few,) or given as (many, many)."""
    array = reals(field, value, hint=f"Give a number, {few} standard deviations, or a covariance ({many}, {many}).")
    if array.ndim < 2:
        deviation = np.diag(gain_matrix(field, array, few))
        return np.diag(deviation**2)
    return gain_matrix(field, array, many)
