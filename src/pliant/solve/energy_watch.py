"""Whether a computed motion keeps its energy balance: no energy from nowhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine
from ..system import System

__all__ = ["EnergyWatch"]

Array = NDArray[np.float64]


class EnergyWatch:
    """Watches the energy of a run, step by step.

    Two statements are checked, both with exact energies of the computed states:

    * While inputs and prescribed joints stand still and all loads have a potential, kinetic energy plus all potentials must not grow: rods, joints,
      contacts and drag only dissipate.
    * Otherwise kinetic, gravitational and elastic energy must not grow by more than the work of loads, inputs and
      prescribed motion (trapezoidal rule over the steps).

    Energy that is lost is not reported: a step that damps what it cannot resolve does that on purpose.

    Parameters
    ----------
    system : System
    t : float
        Time [s] at the start.
    q, v, a, u, tau : arrays
        State, acceleration, inputs and forces there.
    atol : float
        Absolute tolerance of the run: what a displacement of ten times that size stores does not count.
    """

    CLOSED = 0.02  # of the energy in motion: allowed growth where none is possible
    HOPELESS = 100.0  # times the energy in motion when it began: going on makes no sense
    OPEN = 0.1  # allowed gap between energy and work, which is only as good as the trapezoidal rule

    def __init__(
        self, system: System, t: float, q: Array, v: Array, a: Array, u: Array, tau: Array, atol: float
    ) -> None:
        self.system = system
        self._p = np.zeros(engine.PARAMETERS)
        stiffness = np.abs(np.diag(system.residual_tangent(q, v, a, u, tau)))
        self._floor = 50.0 * float(stiffness @ (atol * system.internal.scale) ** 2)
        self._parts = self._measure(q, v, a, u, tau)
        self._t, self._u, self._tau = t, u.copy(), tau.copy()
        self._first = self._mechanical(self._parts)
        self._work = self._turnover = 0.0
        self._motion = float(self._parts[0])  # largest kinetic energy so far
        self._open = False  # whether inputs have ever changed
        self._begin_closed()
        self.began: float | None = None
        self.gained = 0.0
        self._closed_case, self._sane = False, 0.0

    def _measure(self, q: Array, v: Array, a: Array, u: Array, tau: Array) -> Array:
        self.system.run_job(engine.BALANCE, q, v, a, u, tau, p=self._p)
        return self._p[16:21].copy()

    @staticmethod
    def _mechanical(parts: Array) -> float:
        return float(parts[0] + parts[1] + parts[2])

    def _begin_closed(self) -> None:
        """Inputs have changed: from here on energy counts anew."""
        total = self._mechanical(self._parts) + float(self._parts[3])
        self._lowest = self._highest = total
        self._closed = self.system.has_potential(self._u, self._tau)

    def see(self, t: float, q: Array, v: Array, a: Array, u: Array, tau: Array) -> None:
        """Look at the state after an accepted step."""
        before = self._parts
        self._parts = now = self._measure(q, v, a, u, tau)
        if not np.all(np.isfinite(now)):
            return  # the integrator fails by itself
        done = 0.5 * (t - self._t) * float(before[4] + now[4])
        self._work += done
        self._turnover += abs(done)
        self._motion = max(self._motion, float(now[0]))
        moved = bool(np.any(v[self.system.known]))  # by prescription, which does work
        if not moved and np.array_equal(u, self._u) and np.array_equal(tau, self._tau):
            total = self._mechanical(now) + float(now[3])
            self._lowest, self._highest = min(self._lowest, total), max(self._highest, total)
            if self._closed:
                swing = self._motion + self._highest - self._lowest
                self._note(
                    self._t, total - self._lowest, self.CLOSED * swing + 1e-9 * float(np.abs(now[:4]).sum()), True
                )
        else:
            self._u, self._tau = u.copy(), tau.copy()
            self._begin_closed()
            self._open = True
        if self._open or not self._closed:
            gain = self._mechanical(now) - self._first - self._work
            limit = self.OPEN * (self._motion + self._turnover) + 1e-9 * float(np.abs(now[:3]).sum())
            self._note(self._t, gain, limit, False)
        self._t = t

    def _note(self, t: float, gain: float, limit: float, closed: bool) -> None:
        if gain <= limit + self._floor:
            return
        if self.began is None:
            self.began, self._closed_case, self._sane = t, closed, self._motion + limit
        if closed == self._closed_case:
            self.gained = max(self.gained, gain)

    @property
    def hopeless(self) -> bool:
        """Whether the robot gained so much that the motion has nothing to do with it any more."""
        return self.began is not None and self.gained > self.HOPELESS * self._sane

    @property
    def warning(self) -> str | None:
        """What to tell the user; None if the balance held."""
        if self.began is None:
            return None
        cause = "although nothing supplies any" if self._closed_case else "more than inputs and loads supplied"
        return (
            f"From t = {self.began:.4g} s on the robot gained {self.gained:.3g} J {cause} (its largest kinetic energy is "
            f"{self._motion:.3g} J): the motion after that is not reliable. Use a smaller rtol and atol, or method='radau'."
        )
