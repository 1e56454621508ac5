"""Quasi-static servo on what is measured: points in an image, strains, lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._turns import Turn, alone
from ...analysis.least_norm import least_norm
from ...analysis.linear import input_slopes, modes
from ...gradients.costs.quantity import Quantity
from ...model.validate import positive
from ...solve.control import Sampled
from ...solve.equilibrium import Equilibrium
from ...solve.statics import solve_statics
from ...system import System, needs_system
from .law import StateLike, input_limits
from .outputs import Outputs
from .reference import follow

__all__ = ["Servo"]

Array = NDArray[np.float64]


class Servo:
    """Moves the inputs slowly until what is measured is at its goal: ``u ← u + rate period J⁺ (s* − s)`` with the static Jacobian J of the model.

    With `pl.costs.Image` it is a visual servo (image-based), with `pl.costs.Strain` or `Curvature` a strain servo. What is measured may come from the robot itself:
    an error of the model slows the servo down, but does not move its end.

    Parameters
    ----------
    system : System
        The model, whose equilibria give J.
    quantity : Quantity
        What is measured, s (m,), a function of the coordinates.
    goal : array (m,), Signal or function of t
    start : Equilibrium
        Where the robot is.
    rate : float
        How fast errors decay [1/s], well below `limit`.
    period : float
        Time between instants [s].
    slew : float or array (nu,), optional
        Largest change of inputs per second.
    rest : array (nu,) or dict, optional
        Inputs to go to as far as the goal leaves a choice; as they are if left out.
    bounds : pair, or dict of pairs, optional

    Attributes
    ----------
    limit : float
        The rate [1/s] above which the slowest decaying vibration of the model at its start would grow: the smallest 2 ζ ω.
    warnings : tuple of str
        Whether the rate is above that.

    Notes
    -----
    It assumes that the robot follows its equilibria. A mode of frequency ω and damping ratio ζ stays stable under such integral action for rate < 2 ζ ω. The law remembers its inputs, so it is given to `simulate` by `sampled`, and
    called by hand as ``u, u = servo.update(t, state, u)``, or with a measurement ``servo.step(t, s, u)``.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=2e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(2)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> gauge = pl.costs.Strain("arm", 0.5, "bending_y")
    >>> goal = gauge.evaluate(pl.costs.States.at_rest(system, rest.q)).value[0] - 1.0
    >>> law = pl.control.Servo(system, gauge, goal, rest, rate=2.0, period=0.05)
    >>> run = pl.simulate(system, 4.0, start=rest, u=law.sampled())
    >>> found = gauge.evaluate(pl.costs.States.at_rest(system, run.q[-1])).value[0]
    >>> bool(abs(found - goal)[0] < 0.02)
    True
    """

    def __init__(
        self,
        system: System,
        quantity: Quantity,
        goal: Any,
        start: Equilibrium,
        *,
        rate: float,
        period: float,
        slew: Any = None,
        rest: Any = None,
        bounds: Any = None,
    ) -> None:
        needs_system("Servo", system)
        self._turn = Turn()
        if not isinstance(start, Equilibrium) or not start.success:
            raise ValueError("Servo starts from the Equilibrium that solve_statics returns, with success.")
        self.system, self.outputs = system, Outputs("quantity", system, quantity)
        self.goal = follow("goal", goal, self.outputs.size)
        self.rate, self.period = positive("rate", rate, unit="1/s"), positive("period", period, unit="s")
        if self.rate * self.period > 1.0:
            raise ValueError(
                f"rate = {rate:g} /s is too fast for a period of {period:g} s: it would go beyond the goal at each instant. At most {1 / self.period:g} /s."
            )
        self.lower, self.upper = input_limits(system, bounds)
        most = np.inf if slew is None else np.asarray(slew, dtype=float)
        if np.any(~(np.asarray(most) > 0.0)):
            raise ValueError(f"slew = {slew!r} is not allowed: it must be greater than zero.")
        self.slew = np.broadcast_to(most, (system.nu,))
        self.rest = None if rest is None else np.clip(
            system.inputs(rest) if isinstance(rest, Mapping) else np.asarray(rest, dtype=float), self.lower, self.upper
        )  # fmt: skip
        self.start = start
        self._known = start
        if not np.any(self.outputs.slopes(start.q)[1] @ input_slopes(system, start)):
            raise ValueError(
                f"Servo: no input of {system.name!r} moves {quantity!r} from its start. Measure something else, or add actuators."
            )

        found = modes(system, start)
        decay = 4 * np.pi * np.abs(found.frequencies) * found.damping_ratios
        self.limit = float(decay.min(initial=np.inf))
        self.warnings = () if self.rate < self.limit else (
            f"rate = {self.rate:g} /s is not below {self.limit:.3g} /s (the smallest 2 ζ ω): a vibration of the robot may grow. Choose a smaller one.",
        )  # fmt: skip

    def _model(self, u: Array) -> Equilibrium:
        """The equilibrium of the model under some inputs, near the last one."""
        if not np.array_equal(u, self._known.u):
            found = solve_statics(self.system, u, start=self._known)
            if found.success:  # otherwise the last one serves on
                self._known = found
        return self._known

    @alone
    def step(self, t: float, s: Any, u: Any) -> Array:
        """The next inputs (nu,) for a measurement s (m,) under inputs u (nu,)."""
        before = np.clip(np.asarray(u, dtype=float), self.lower, self.upper)
        model = self._model(before)
        J = self.outputs.slopes(model.q)[1] @ input_slopes(self.system, model)
        goal, speed, _ = self.goal(t)
        share = self.rate * self.period
        wanted = share * (goal - np.asarray(s, dtype=float)) + self.period * speed
        drift = np.zeros(len(before)) if self.rest is None else share * (self.rest - before)
        most = self.period * self.slew
        low, high = np.maximum(self.lower - before, -most), np.minimum(self.upper - before, most)
        size = np.linalg.norm(J, axis=1)
        size[size == 0.0] = 1.0
        drift = np.clip(drift, low, high)
        move = drift + least_norm(J / size[:, None], (wanted - J @ drift) / size, low - drift, high - drift)
        return np.clip(before + move, self.lower, self.upper)

    def update(self, t: float, state: StateLike, u: Array) -> tuple[Array, Array]:
        """`step` with what would be measured of a state: a law of (t, state, u) for `Sampled`."""
        new = self.step(t, self.outputs.values(state.q), u)
        return new, new

    def sampled(self) -> Sampled:
        """The law for `simulate`, whose states are the inputs."""
        names = self.system.input_names
        return Sampled(self.update, self.period, states={name: float(x) for name, x in zip(names, self.start.u)})
