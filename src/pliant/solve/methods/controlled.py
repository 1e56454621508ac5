"""States of controllers at the stages of an implicit step: unknowns that follow from the state of the robot there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels import slots
from ...kernels.solve.tape import Tape
from ..control import Bound, ImplicitStates
from ..limits import rounding
from .integrator import Problem
from .tableau import Tableau

__all__ = ["ControlledStages", "next_break", "refuse_period"]

Array = NDArray[np.float64]


class ControlledStages:
    """What the engine asks a controller at stage i, with x* = x₀ + h Σ aᵢⱼ ẋⱼ of the stages before and γh: x = x* + γh f(t, x, q, v).

    The tangent gets ``B (∂g/∂q + ∂g/∂x (1 − γh ∂f/∂x)⁻¹ γh ∂f/∂q)``, each derivative by Δq with Δv = Δq / γh.

    Parameters
    ----------
    problem : Problem
        Its drive has a controller.
    tableau : Tableau
        The method.
    tape : Tape
        Its last columns of `memory` and `flow` are the states and their rates.
    p : ndarray
        Parameters of the engine.
    """

    def __init__(self, problem: Problem, tableau: Tableau, tape: Tape, p: Array) -> None:
        assert problem.drive.control is not None
        self.system, self.drive, self.tape, self._p = problem.system, problem.drive, tape, p
        self._tolerances, self._tableau = (problem.rtol, problem.atol), tableau
        self.control: Bound = problem.drive.control
        self._own = slice(self.system.nz, self.system.nz + self.control.count)
        self._implicit = ImplicitStates(self.control)
        self._size = np.zeros(self.control.count)

    def _side(self, i: int) -> int:
        """Which limit of a function of t stage i sees."""
        return 1 if i == 0 else -1 if i == len(self.tape.times) - 1 else 0

    def _lag(self, i: int) -> float:
        i = max(i, 1)
        return float(self._p[slots.MARCH_TRIED] * self.tape.tableau[i, i])

    def states(self, i: int) -> Array | None:
        """States at stage i for the robot's present state there, also into the tape; None if they cannot be found."""
        tape, own, h = self.tape, self._own, float(self._p[slots.MARCH_TRIED])
        before = tape.memory[0, own] + h * (tape.tableau[i, :i] @ tape.flow[:i, own])
        lag = h * float(tape.tableau[i, i])
        t, q, v = float(tape.times[i]), tape.q[i], tape.v[i]
        x = self._implicit(t, self._side(i), before, lag, q, v)
        if x is None:
            return None
        tape.memory[i, own] = x
        tape.flow[i, own] = (x - before) / lag if lag > 0.0 else self.control.rate(t, self._side(i), x, q, v)
        if i == len(tape.times) - 1 and len(x):
            tape.doubt[0] = self._error(x, t, q, v, h)
        return x

    def _error(self, x: Array, t: float, q: Array, v: Array, h: float) -> float:
        """The error of the states at the end of the step, in units of what is tolerated: root mean square."""
        tape, own, (rtol, atol) = self.tape, self._own, self._tolerances
        e: Array = np.asarray(h * (self._tableau.b - self._tableau.b_hat) @ tape.flow[:, own])
        if self._tableau.filtered:  # as an implicit step damps it
            e[:] = np.linalg.solve(np.eye(len(x)) - self._lag(1) * self.control.rate_slope(t, -1, x, q, v), e)
        weights = atol * self._size + rtol * np.maximum(np.abs(x), np.abs(tape.memory[0, own]))
        return float(np.sqrt(np.mean((e / weights) ** 2)))

    def inputs(self, i: int) -> tuple[Array, Array]:
        """u and tau at stage i; not a number where the states cannot be found, so that the step is tried again with half its length."""
        x = self.states(i)
        if x is None:
            return np.full(self.system.nu, np.nan), np.full(self.system.nv, np.nan)
        tape = self.tape
        return self.drive(float(tape.times[i]), tape.q[i], tape.v[i], self._side(i), x)

    def law(self, i: int, held: list[int]) -> None:
        """The derivative of the generalised forces by Δq, with Δv = Δq / γh, into tape.feedback; `held` inputs are unknowns of their own."""
        tape, own, system = self.tape, self._own, self.system
        t, q, v, lag = float(tape.times[i]), tape.q[i].copy(), tape.v[i].copy(), self._lag(i)
        u = tape.inputs[i, : system.nu].copy()
        s = self.control.slopes(t, self._side(i), tape.memory[i, own].copy(), q, v, lag)
        moved = np.linalg.solve(np.eye(len(s.fx)) - lag * s.fx, lag * s.fs) if len(s.fx) else s.fs
        du = np.asarray(s.gs + s.gx @ moved)
        du[held] = 0.0
        tape.feedback[:] = system.actuation_matrix(q, v, u) @ du

    def start(self, x: Array, t: float, q: Array, v: Array) -> None:
        """States and rates where steps begin."""
        tape, own = self.tape, self._own
        tape.memory[0, own] = x
        tape.flow[0, own] = self.control.rate(t, 1, x, q, v)
        self._size = np.maximum(self._size, np.maximum(self.control.size, np.abs(x)))

    def grow(self) -> None:
        """Natural sizes of the states: the largest that they have had."""
        self._size = np.maximum(self._size, np.abs(self.tape.memory[0, self._own]))


def next_break(control: Bound | None, t: float, end: float) -> float:
    """Where the next step ends at the latest: `end`, or an instant of sampling before it."""
    if control is None:
        return end
    due = control.due(t)
    return due if due < end - rounding(end, due - t) * (due - t) else end


def refuse_period(control: Bound | None, begin: float, end: float, step: float | None) -> None:
    """Error if instants of sampling lie within constant steps."""
    if control is None or step is None:
        return
    t = begin
    for _ in range(1000):
        t = control.due(t)
        if not t < end:
            return
        steps = (t - begin) / step
        if abs(steps - round(steps)) > rounding(t, step) * max(1.0, steps):
            raise ValueError(
                f"step = {step!r} does not meet the instants of the sampled controller: t = {t:.9g} s lies within a step. Choose a step that divides the "
                "period (and starts at an instant), or leave `step` out."
            )
