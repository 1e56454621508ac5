"""What an estimator tells: the state and how well it is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..gradients.costs.quantity import Quantity
from ..gradients.costs.states import States, slopes_of
from ..model.validate import shown, unknown_name
from ..system import FrameLike, System

__all__ = ["Estimate"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """The state of a robot as it is known at a time.

    Attributes
    ----------
    base : System
        The robot that was given.
    t : float
        Time [s].
    q, v : ndarray (nq,), (nv,)
        Coordinates and velocities.
    u : ndarray (nu,)
        Inputs, with the estimated values of unknown ones.
    unknown : dict
        Values of unknown inputs and parameters by name.
    remembered : ndarray (nz,)
        What loads remember.
    names : tuple of str
        Of the n entries of the covariance: the degrees of freedom, their velocities ("d/dt …"), internal variables, unknowns.
    innovation : ndarray (m,)
        What the sensors read minus what was expected; NaN for what was missing or set aside.
    nis : float
        The normalised innovation squared ``νᵀ S⁻¹ ν``; for a consistent filter of chi-square distribution with `used` degrees of freedom.
    used : int
        Number of values that were used.
    rejected : tuple of str
        Sensors of which a value was set aside by `gate`.
    warnings : tuple of str
        What was done other than asked for.
    """

    base: System = field(repr=False)
    t: float
    q: Array
    v: Array
    u: Array
    unknown: dict[str, float]
    remembered: Array
    names: tuple[str, ...]
    innovation: Array
    nis: float
    used: int
    rejected: tuple[str, ...]
    warnings: tuple[str, ...]
    scaled: Array = field(repr=False)  # (n, n) the covariance in units of `size`
    size: Array = field(repr=False)  # (n,)

    @cached_property
    def system(self) -> System:
        """The robot with the estimated values of its unknown parameters; compiled when it is first asked for."""
        values = {name: value for name, value in self.unknown.items() if name not in self.base.input_names}
        return self.base._revised(values, near=True) if values else self.base

    @property
    def covariance(self) -> Array:
        """Covariance (n, n) of (δq, δv, δz, unknowns), along the manifold where q has quaternions."""
        return self.size[:, None] * self.scaled * self.size

    def deviation(self, name: str) -> float:
        """Standard deviation of an entry by name: of an unknown, a degree of freedom, or its velocity ("d/dt …")."""
        if name not in self.names:
            raise unknown_name("entry of the estimate", str(name), self.names)
        k = self.names.index(name)
        return float(np.sqrt(max(self.scaled[k, k], 0.0)) * self.size[k])

    def pose(self, frame: FrameLike) -> Array:
        """Estimated pose of a frame, (4, 4)."""
        return self.system.pose(frame, self.q)

    def of(self, quantity: Quantity) -> tuple[Array, Array]:
        """A quantity (`pliant.costs`) as it is estimated, (m,), and its covariance (m, m), to first order.

        That it may depend on unknown parameters itself, beside the state, does not count in the covariance.
        """
        if not isinstance(quantity, Quantity):
            raise TypeError(f"quantity = {shown(quantity)} must be a Quantity such as costs.Position(frame).")
        states = States(self.system, np.array([self.t]), self.q[None], self.v[None], self.u[None])
        found = quantity.evaluate(states)
        nv, n = self.system.nv, len(self.names)
        H = np.zeros((found.value.shape[1], n))
        by_q, by_v, by_u = slopes_of(found)
        if by_q is not None:
            H[:, :nv] = by_q[0]
        if by_v is not None:
            H[:, nv : 2 * nv] = by_v[0]
        if by_u is not None:
            for k, name in enumerate(self.system.input_names):
                if name in self.unknown:
                    H[:, self.names.index(name)] = by_u[0][:, k]
        H *= self.size
        return found.value[0], H @ self.scaled @ H.T

    def __str__(self) -> str:
        """A few lines: time, unknowns with their standard deviations, consistency."""
        lines = [f"{self.system.name} at t = {self.t:.6g} s; {self.used} values, NIS {self.nis:.3g}"]
        lines += [f"  {name} = {value:.6g} ± {self.deviation(name):.2g}" for name, value in self.unknown.items()]
        lines += [f"  set aside: {name}" for name in self.rejected]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)
