"""Lie-group generalised-α integration with the exact fused tangent, fixed or error-controlled step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...kernels import engine, slots
from ...kernels.solve.newton import CONVERGED, SINGULAR
from ...model.validate import interval
from ...system import Given, LinearSolver, System
from ...system.dynamics import step_storage
from ..result import Statistics

__all__ = ["AlphaMethod", "AlphaStepper"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AlphaMethod:
    """Parameters of the generalised-α family (αm, αf, β, γ)."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    name: str

    @classmethod
    def generalized(cls, rho: float) -> AlphaMethod:
        """Second order with spectral radius ρ∞ at high frequency (1: no damping, 0: annihilation in one step)."""
        rho = interval("rho", rho, 0.0, 1.0, hint="1 keeps all energy, 0.8 is a good default, 0 damps the most.")
        am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        gamma = 0.5 + af - am
        return cls(am, af, 0.25 * (gamma + 0.5) ** 2, gamma, f"generalized-alpha (rho={rho:g})")

    @classmethod
    def newmark(cls, beta: float = 0.25, gamma: float = 0.5) -> AlphaMethod:
        """Newmark's method; (¼, ½) is the trapezoidal rule of [002]."""
        return cls(0.0, 0.0, float(beta), float(gamma), f"newmark (beta={beta:g}, gamma={gamma:g})")

    @classmethod
    def hht(cls, alpha: float = 0.1) -> AlphaMethod:
        """Hilber–Hughes–Taylor with numerical damping alpha in [0, 1/3]."""
        alpha = interval("alpha", alpha, 0.0, 1 / 3, hint="0 is the trapezoidal rule.")
        return cls(0.0, alpha, 0.25 * (1 + alpha) ** 2, 0.5 + alpha, f"hht (alpha={alpha:g})")


class AlphaStepper:
    """State of the integrator, with a workspace of its own: factors and what belongs to them last from step to step."""

    def __init__(
        self,
        system: System,
        method: AlphaMethod,
        q: Array,
        v: Array,
        a: Array,
        *,
        rtol: float,
        atol: float,
        newton: float,
        iterations: int,
        statistics: Statistics,
        solver: LinearSolver = "auto",
    ) -> None:
        self.system = system
        self.method = method
        self.statistics = statistics
        self.q, self.v, self.a = q.copy(), v.copy(), a.copy()
        self._new = q.copy(), v.copy(), a.copy()
        self._p = np.zeros(engine.PARAMETERS)
        self._S, tree = step_storage(system, solver)
        self._space = system.workspace()
        self._tape = np.zeros(8 * system.nv)  # how far auxiliary accelerations are from true ones, old and new; scratch
        self._lag = self._tape[: 2 * system.nv].reshape(2, -1)
        options = {
            slots.OPTION_ALPHA_M: method.alpha_m,
            slots.OPTION_ALPHA_F: method.alpha_f,
            slots.OPTION_BETA: method.beta,
            slots.OPTION_GAMMA: method.gamma,
            slots.OPTION_RTOL: rtol,
            slots.OPTION_ATOL: atol,
            slots.OPTION_NEWTON: newton,
            slots.OPTION_LIMIT: iterations,
            slots.OPTION_TREE: tree,
        }
        self._p[list(options)] = list(options.values())
        self.atol = atol
        self._h = 0.0
        self.tally: Counter[tuple[int, bool]] | None = None  # which coordinate limits the steps, while someone asks

    def try_step(
        self,
        h: float,
        u: Array,
        tau: Array,
        multipliers: Array,
        hold: Array | None = None,
        told: Array | None = None,
    ) -> tuple[str, float]:
        """Compute a step without accepting it: ("ok" | "singular" | "diverged", error in units of the tolerance).

        Forces of loops start from `multipliers`; `hold` and `told` are those of `Given`.
        """
        if self._h not in (0.0, h):
            # the auxiliary acceleration lags by a fraction of the step: keep it consistent when h changes
            self._lag[0] *= h / self._h
        self._h = h
        p = self._p
        p[slots.OPTION_H] = h
        p[slots.REPORT_ITERATIONS : slots.MEMORY_FACTORS] = 0.0
        space = self._space
        space.prepare(Given(multipliers, hold=hold, told=told))
        status = engine.run(
            engine.ALPHA, *space.packed, self.q, self.v, self.a, u, tau, p, self._S, space.pivot, *self._new, space.pivot,
            self._tape,
        )  # fmt: skip
        self.system.raise_user_errors()
        self.statistics.iterations += int(p[slots.REPORT_ITERATIONS])
        self.statistics.factorisations += int(p[slots.REPORT_FACTORISATIONS])
        self.statistics.residuals += int(p[slots.REPORT_RESIDUALS])
        if self.tally is not None:
            self.tally[self.limiting(status == CONVERGED), status == CONVERGED] += 1
        if status != CONVERGED:
            return ("singular" if status == SINGULAR else "diverged"), np.inf
        return "ok", float(p[slots.REPORT_ERROR])

    def limiting(self, converged: bool) -> int:
        """The coordinate with the largest error in the step just tried, or the largest correction if it did not converge."""
        _residual, correction, _move, weight, error = self._space.work.newton
        return int(np.argmax(np.abs(error if converged else correction) / weight))

    @property
    def multipliers(self) -> Array:
        """Forces of loops at the end of the step that was tried."""
        return self._space.work.multiplier.copy()

    @property
    def new(self) -> tuple[Array, Array, Array]:
        """q, v, a of the step that was tried."""
        return self._new

    def accept(self) -> None:
        """Make the tried step the current state."""
        old = self.q, self.v, self.a
        self.q, self.v, self.a = self._new
        self._new = old
        self._lag[0] = self._lag[1]
        self.statistics.steps += 1
