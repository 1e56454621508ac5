"""`estimate_shape`: the shape of a robot at rest, and what loads it, from sensors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gradients.costs.states import States
from ..gradients.parameters import difference
from ..gradients.statics import StaticAdjoint
from ..model.validate import integer, positive, unknown_name
from ..solve.equilibrium import Equilibrium
from ..solve.statics import solve_statics
from ..system import FrameLike, Inputs, System, needs_system
from .readings import Readings
from .unknowns import Unknowns

__all__ = ["ShapeEstimate", "estimate_shape"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShapeEstimate:
    """The most likely equilibrium of a robot.

    Attributes
    ----------
    system : System
        The robot with the estimated parameters.
    equilibrium : Equilibrium
    unknown : dict
        Values of unknowns by name.
    covariance : ndarray (k, k)
        Of the unknowns, in their order.
    residual : ndarray (m,)
        What sensors read minus what they should; NaN if missing.
    success : bool
        Whether the iteration converged to a stable equilibrium within the bounds.
    message : str
    iterations : int
    cost : float
        Half the sum of squares of residuals and of what was known before, in standard deviations.
    warnings : tuple of str
    """

    system: System
    equilibrium: Equilibrium
    unknown: dict[str, float]
    covariance: Array = field(repr=False)
    residual: Array = field(repr=False)
    success: bool
    message: str
    iterations: int
    cost: float
    warnings: tuple[str, ...]

    @property
    def q(self) -> Array:
        """Coordinates (nq,)."""
        return self.equilibrium.q

    def deviation(self, name: str) -> float:
        """Standard deviation of an unknown."""
        if name not in self.unknown:
            raise unknown_name("unknown", str(name), self.unknown)
        k = list(self.unknown).index(name)
        return float(np.sqrt(max(self.covariance[k, k], 0.0)))

    def pose(self, frame: FrameLike) -> Array:
        """Estimated pose of a frame, (4, 4)."""
        return self.system.pose(frame, self.q)

    def __str__(self) -> str:
        """A few lines."""
        lines = [f"{self.system.name}: {self.message}"]
        lines += [f"  {name} = {value:.6g} ± {self.deviation(name):.2g}" for name, value in self.unknown.items()]
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])


class _Statics:
    """Equilibria as a function of unknowns, with exact derivatives of what sensors read."""

    def __init__(self, system: System, readings: Readings, unknowns: Unknowns, u: Array) -> None:
        self.base, self.readings, self.unknowns, self.u = system, readings, unknowns, u

    def at(self, w: Array, start: Any) -> tuple[System, Equilibrium]:
        """The equilibrium with these values."""
        k, u = len(self.unknowns.inputs), self.u.copy()
        u[self.unknowns.inputs] = w[:k]
        names = dict(zip(self.unknowns.parameters, w[k:].tolist()))
        system = self.base.with_parameters(names) if names else self.base
        return system, solve_statics(system, u, start=start)

    def read(self, system: System, state: Equilibrium) -> Array:
        """What sensors should read, (m,)."""
        return self.readings.value(system, 0.0, state.q, np.zeros(system.nv), state.u)

    def slopes(self, system: System, state: Equilibrium) -> Array:
        """Derivatives (m, k) by the unknowns, in equilibrium throughout."""
        k, m, own = len(self.unknowns.inputs), len(self.readings), self.unknowns
        by_q, by_v = np.zeros((2, m, system.nv))
        by_u, J = np.zeros((m, system.nu)), np.zeros((m, len(own)))
        self.readings.predict(system, 0.0, state.q, np.zeros(system.nv), state.u, (by_q, by_v, by_u))
        for row, (slope, direct) in enumerate(zip(by_q, by_u)):
            adjoint = StaticAdjoint(system, state, slope)
            J[row, :k] = (adjoint.u + direct)[own.inputs]
            J[row, k:] = [adjoint.by_parameter(name) for name in own.parameters]
        states = States.at_rest(system, state.q, state.u)
        for j, name in enumerate(own.parameters):

            def read(other: System) -> Array:
                at = replace(states, system=other)
                return np.concatenate([sensor.quantity.evaluate(at).value[0] for sensor in self.readings.sensors])

            J[:, k + j] += difference(system, system._parameters[name], read)
        return J


def estimate_shape(
    system: System,
    sensors: Any,
    values: Any,
    u: Inputs = None,
    *,
    unknown: Any,
    start: Equilibrium | None = None,
    iterations: int = 30,
    convergence: float = 1e-6,
) -> ShapeEstimate:
    """The most likely equilibrium of a robot and the unknown loads or parameters that explain it, from sensors.

    Parameters
    ----------
    system : System
    sensors : list of Measured
        As of `ExtendedKalman`.
    values : array (m,), or dict by sensor
        What they read; NaN for what is missing.
    u : array (nu,), dict by name, or None
        Inputs; unknown ones do not count.
    unknown : list of Prior
        Inputs and parameters that are estimated: wrenches at a frame, tensions, stiffness. Their deviations at the start count as measurements.
    start : Equilibrium, optional
        Where the search for the first equilibrium starts.
    iterations, convergence : int, float
        Of Gauss–Newton: at most, and the change in standard deviations with which it stops.

    Returns
    -------
    ShapeEstimate

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> down = robot.add_wrench("down", arm.tip, force=(0, 0, -1))
    >>> side = robot.add_wrench("side", arm.tip, force=(0, 1, 0))
    >>> system = robot.compile()
    >>> truth = pl.solve_statics(system, {"down": 0.3, "side": 0.1})
    >>> fibre = pl.costs.Curvature("arm", [0.1, 0.4, 0.7]).measured(0.01, "fibre")
    >>> read = fibre.quantity.evaluate(pl.costs.States.at_rest(system, truth.q)).value[0]
    >>> found = pl.estimate_shape(system, [fibre], read, unknown=[pl.Prior("down", 5.0), pl.Prior("side", 5.0)])
    >>> print(f"{found.unknown['down']:.3f} N and {found.unknown['side']:.3f} N; {found.message}")
    0.300 N and 0.100 N; converged in 4 iterations
    """
    needs_system("estimate_shape", system)
    unknowns, readings = Unknowns(system, unknown), Readings(system, sensors)
    if not len(unknowns):
        raise ValueError("unknown is empty: without an unknown load or parameter the shape is that of solve_statics.")
    most, small = integer("iterations", iterations, minimum=1), positive("convergence", convergence)
    y = readings.vector(values)
    there = np.isfinite(y)
    statics = _Statics(system, readings, unknowns, system.inputs(u).copy())
    size, w = unknowns.deviation, unknowns.start.copy()
    robot, state = statics.at(w, start)
    warnings: list[str] = []

    def misfit(robot: System, state: Equilibrium, w: Array) -> Array:
        off = (y - statics.read(robot, state)) / readings.noise
        return np.concatenate([off[there], (unknowns.start - w) / size])

    e, J, change, done = misfit(robot, state, w), np.zeros((0, len(w))), np.inf, 0
    while state.success and done < most and change >= small:
        done += 1
        J = np.vstack([(statics.slopes(robot, state) / readings.noise[:, None])[there] * size, np.eye(len(w))])
        step = np.linalg.lstsq(J, e, rcond=None)[0]
        for _half in range(12):
            new = np.clip(w + step * size, unknowns.low, unknowns.high)
            trial = statics.at(new, state)
            found = misfit(*trial, new) if trial[1].success else np.full_like(e, np.inf)
            if found @ found <= e @ e * (1 + 1e-12) + 1e-18:
                break
            step = 0.5 * step
        change = float(np.abs((new - w) / size).max())
        w, (robot, state), e = new, trial, found
    held = [name for name, x, a, b in zip(unknowns.names, w, unknowns.low, unknowns.high) if x in (a, b)]
    warnings += [f"{name!r} is held at its bound." for name in held]
    success = bool(state.success and change < small)
    message = f"converged in {done} iterations" if success else f"not converged in {done} iterations"
    if not state.success:
        message = f"no equilibrium was found: {state.message}"
    elif state.stability not in ("stable", "neutral"):
        warnings.append(f"the equilibrium is {state.stability}: the robot may be in another one.")
    P = np.linalg.inv(J.T @ J) if len(J) else np.eye(len(w))
    off = y - statics.read(robot, state)
    return ShapeEstimate(
        robot, state, unknowns.values(w), size[:, None] * P * size, off, success, message, done, 0.5 * float(e @ e), tuple(warnings)
    )  # fmt: skip
