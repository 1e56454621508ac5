"""What estimators share: a robot, sensors and unknowns as a stochastic model with exact derivatives, in units of what is known at the start."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..gradients.rollout import METHODS, Method
from ..model.validate import choice, positive, reals, shown
from ..system import Inputs, System, needs_system
from .mapped import MappedStep, State
from .readings import Readings
from .uncertainty import displacements, periods, spread, tangent_projector
from .unknowns import Unknowns

__all__ = ["Options", "StochasticModel"]

Array = NDArray[np.float64]


class Options(NamedTuple):
    """What estimators are told; see `ExtendedKalman`."""

    step: float
    start: Any = None
    velocity: Any = None
    t0: float | None = None
    unknown: Any = ()
    uncertainty: Any = (0.01, 0.1)
    disturbance: Any = 0.02
    motion: Any = None
    method: Method = "sdirk2"
    tolerance: float = 1e-10


class StochasticModel:
    """x₊ = f(x + ξ, u), y = h(x, u) + ε, with x = (q, v, z, w), where w are unknown inputs and parameters.

    Vectors and matrices are in units of `size`, standard deviations at the start, so that pascals and radians per metre go together.

    Attributes
    ----------
    size : ndarray (n,)
    covariance : ndarray (n, n)
        Of the start.
    noise : ndarray (n,)
        Standard deviations of ξ: kicks of velocities, steps of unknowns.
    """

    def __init__(self, system: System, sensors: Any, options: Options) -> None:
        needs_system("estimation", system)
        choice("method", options.method, METHODS)
        step = positive("step", options.step, unit="s")
        self.system, self.unknowns = system, Unknowns(system, options.unknown)
        self.readings = Readings(system, sensors)
        self.steps = MappedStep(
            system, self.unknowns, step=step, start=options.start, velocity=options.velocity, t0=options.t0, motion=options.motion, method=options.method,
            tolerance=positive("tolerance", options.tolerance), places=self.readings.of_places,
        )  # fmt: skip
        self.n, self.step, nv, nx = self.steps.size, step, system.nv, self.steps.nx
        q = self.steps.start.q
        lengths = displacements(system, q)
        first = _pair(options.uncertainty)
        free = np.where(system.known, 0.0, 1.0)
        sigma = np.zeros(self.n)
        sigma[nv : 2 * nv] = free * spread("uncertainty[1]", first[1], lengths, "m/s")
        sigma[:nv] = free * spread("uncertainty[0]", first[0], lengths, "m")
        if np.ndim(first[0]) == 0:
            sigma[:nv] = np.minimum(sigma[:nv], sigma[nv : 2 * nv] * periods(system, q))
        sigma[nx:] = self.unknowns.deviation
        self.size = np.where(sigma > 0.0, sigma, 1.0)
        self.covariance = np.diag((sigma / self.size) ** 2)
        project = tangent_projector(system, q)
        if project is not None:
            T = np.eye(self.n)
            T[:nv, :nv] = T[nv : 2 * nv, nv : 2 * nv] = project
            T = T * self.size / self.size[:, None]
            self.covariance = T @ self.covariance @ T.T
        self._ratio = self.size / self.size[:, None]
        noise = np.zeros(self.n)
        noise[nv : 2 * nv] = free * spread("disturbance", options.disturbance, lengths, "m/s²/√Hz")
        noise[nx:] = self.unknowns.drift
        self.noise = noise * np.sqrt(step) / self.size

    # ------------------------------------------------------------ inputs and moves

    def inputs(self, u: Inputs) -> Array:
        """Inputs (nu,), of which unknown ones do not count and may be left out."""
        own = self.unknowns.inputs
        if len(own) and u is not None and not hasattr(u, "items"):
            given = np.atleast_1d(reals("u", u))
            if given.shape == (self.system.nu - len(own),):
                out = np.zeros(self.system.nu)
                out[np.setdiff1d(np.arange(self.system.nu), own)] = given
                return self.system.inputs(out)
        return self.system.inputs(u)

    def moved(self, state: State, d: Array) -> tuple[State, tuple[str, ...]]:
        """A state moved along d (n,), with loops closed; unknowns stay within their bounds, and those that had to are named."""
        out = self.steps.moved(state, d * self.size)
        if not len(self.unknowns):
            return self.steps.closed(out), ()
        kept = np.clip(out.w, self.unknowns.low, self.unknowns.high)
        cut = tuple(name for name, a, b in zip(self.unknowns.names, kept, out.w) if a != b)
        return self.steps.closed(State(out.t, out.q, out.v, out.z, kept)), cut

    # ------------------------------------------------------------ the model

    def advance(self, state: State, u: Array) -> tuple[State, Array]:
        """f and its derivative F (n, n)."""
        end, F = self.steps.advance(state, u)
        F *= self._ratio
        return end, F

    def predict(self, state: State, u: Array) -> tuple[Array, Array]:
        """h (m,) and its derivative H (m, n)."""
        system, readings = self.steps.present(state.w), self.readings
        inputs, nv, nx = self.steps.inputs(u, state.w), system.nv, self.steps.nx
        H = np.zeros((len(readings), self.n))
        by_u = np.zeros((len(readings), system.nu))
        value = readings.predict(system, state.t, state.q, state.v, inputs, (H[:, :nv], H[:, nv : 2 * nv], by_u))
        k = len(self.unknowns.inputs)
        if k:
            H[:, nx : nx + k] = by_u[:, self.unknowns.inputs]
        for j, near in enumerate(self.steps.near(state.w)):
            H[:, nx + k + j] = near.slope(lambda other: readings.value(other, state.t, state.q, state.v, inputs))
        H *= self.size
        return value, H


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(
            f"uncertainty = {shown(value)} must be a pair (of coordinates, of velocities): numbers [m] and [m/s], or arrays (nv,)."
        )
    return value[0], value[1]
