"""Whether a computed motion keeps its energy balance: no energy from nowhere."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..system import Given, System
from .methods.integrator import Steps

__all__ = ["EnergyWatch"]

Array = NDArray[np.float64]


class _Parts(NamedTuple):
    """Energies [J] of a state and the power [W] of loads and damping; see `kernels.solve.balance`."""

    kinetic: float
    gravitational: float
    elastic: float
    loads: float
    power: float

    @property
    def mechanical(self) -> float:
        return self.kinetic + self.gravitational + self.elastic

    @property
    def rounding(self) -> float:
        return 1e-9 * (self.kinetic + abs(self.gravitational) + self.elastic + abs(self.loads))


class EnergyWatch:
    """Watches the energy of a run, step by step.

    Two statements are checked, both with exact energies of the computed states:

    * While inputs and prescribed joints stand still, all loads have a potential and none is supplied with energy, kinetic energy plus all potentials must not
      grow: rods, joints, contacts and drag only dissipate. This needs no sum over time, so every `EVERY`-th step will do.
    * From the first change of inputs on, or without a potential, kinetic, gravitational and elastic energy must not grow by more
      than the work of loads, inputs and prescribed motion (trapezoidal rule over the steps). That rule is poor while little has happened,
      so the gap is judged by what the whole run has turned over.

    Energy that is lost is not reported: a step that damps what it cannot resolve does that on purpose.

    Parameters
    ----------
    system : System
    start : Steps
        One row: where the run begins.
    atol : float
        Absolute tolerance of the run: what a displacement of ten times that size stores does not count.
    """

    CLOSED = 0.02  # of the energy in motion: allowed growth where none is possible
    OPEN = 0.1  # allowed gap between energy and work, which is only as good as the trapezoidal rule
    HOPELESS = 100.0  # times the energy in motion when it began: going on makes no sense;
    ABSURD = 10.0  # times all work, where inputs supply some
    ENOUGH = 20  # steps before work is trusted
    EVERY = 4

    def __init__(self, system: System, start: Steps, atol: float) -> None:
        t, q, v, a, u, tau, multipliers, memory = float(start.t[0]), *(x[0] for x in start[1:8])
        self.system = system
        self._given = Given(multipliers, memory=memory)
        self._p = np.zeros(engine.PARAMETERS)
        self._known = np.flatnonzero(system.known)
        stiffness = np.abs(np.diag(system.residual_tangent(q, v, a, u, tau, multipliers=multipliers)))
        self._floor = 50.0 * float(stiffness @ (atol * system.internal.scale) ** 2)
        self._t, self._u, self._tau = t, u, tau
        self._measured = start.energy[0]
        self._count = 0
        self._work = self._turnover = 0.0
        self._motion = 0.0  # largest kinetic energy so far
        self._began: float | None = None  # while nothing supplied energy
        self._gained, self._sane = 0.0, 0.0
        # times [s] and energies [J] that are not accounted for, each larger than all before and than what was allowed then
        self._gaps: list[tuple[float, float]] = []
        self._judged = 0  # steps
        self._absurd = False
        self._open = system.supplied or not system.has_potential(u, tau)
        self._parts = self._measure(q, v, a, u, tau)
        self._motion = self._parts.kinetic
        self._first = self._parts.mechanical
        self._lowest = self._highest = self._first + self._parts.loads

    def _measure(self, q: Array, v: Array, a: Array, u: Array, tau: Array) -> _Parts:
        """Energies, and power if it counts; those that the integrator has measured are taken."""
        known = self._measured
        if known[0] == known[0] and (not self._open or known[4] == known[4]):
            return _Parts(*known.tolist())
        self._p[slots.OPTION_POWER] = self._open
        self.system.run_job(engine.BALANCE, q, v, a, u, tau, p=self._p, given=self._given)
        return _Parts(*self._p[slots.REPORT_KINETIC : slots.REPORT_POWER + 1].tolist())

    def _stands_still(self, v: Array, u: Array, tau: Array) -> bool:
        """Whether nothing that could supply energy has changed."""
        if (u is not self._u and not np.array_equal(u, self._u)) or (
            tau is not self._tau and not np.array_equal(tau, self._tau)
        ):
            return False
        return not len(self._known) or not v[self._known].any()

    @property
    def level(self) -> int:
        """What an integrator may measure by itself: 1 for energies now and then, 2 for energies and power of every step."""
        return 2 if self._open else 1

    def see(self, steps: Steps) -> None:
        """Look at the states after accepted steps."""
        measured = bool(np.isfinite(steps.energy[1:, 0]).any())
        for k in range(1, len(steps.t)):
            if self._open:
                self._see_open(steps, k)
                return
            q, v, a, u, tau, multipliers, memory = (x[k] for x in steps[1:8])
            self._given = Given(multipliers, memory=memory)
            self._measured = steps.energy[k]
            if not self._stands_still(v, u, tau):
                self._open = True  # from here on work is counted
                self._parts = self._measure(q, v, a, u, tau)
                self._first = self._parts.mechanical
                self._motion = max(self._motion, self._parts.kinetic)
            else:
                self._count += 1
                if np.isfinite(self._measured[0]) if measured else self._count % self.EVERY == 0:
                    self._see_closed(q, v, a, u, tau)
            self._t = float(steps.t[k])

    def _see_closed(self, q: Array, v: Array, a: Array, u: Array, tau: Array) -> None:
        now = self._measure(q, v, a, u, tau)
        total = now.mechanical + now.loads
        if not math.isfinite(total):
            return  # the integrator fails by itself
        self._motion = max(self._motion, now.kinetic)
        self._lowest, self._highest = min(self._lowest, total), max(self._highest, total)
        swing = self._motion + self._highest - self._lowest
        self._note(total - self._lowest, self.CLOSED * swing + now.rounding)

    def _see_open(self, steps: Steps, first: int) -> None:
        """Energy against work in all rows from `first` on."""
        energy = steps.energy[first:].copy()
        for k in np.flatnonzero(np.isnan(energy[:, 0] + energy[:, 4])).tolist():
            q, v, a, u, tau, multipliers, memory = (x[first + k] for x in steps[1:8])
            self._given, self._measured = Given(multipliers, memory=memory), energy[k]
            energy[k] = self._measure(q, v, a, u, tau)
        begin = np.append(self._t, steps.t[first:-1])
        good = np.isfinite(energy[:, :3].sum(axis=1) + energy[:, 4])  # otherwise the integrator fails by itself
        kinetic, gravitational, elastic, loads, power = energy[good].T
        self._t = float(steps.t[-1])
        if not len(power):
            return
        done = 0.5 * (steps.t[first:] - begin)[good] * (np.append(self._parts.power, power[:-1]) + power)
        self._parts = _Parts(*energy[good][-1].tolist())
        work = self._work + np.cumsum(done)
        self._work = float(work[-1])
        # what drives a joint and its friction cancel in the power, but the rule errs on both
        rubbed = self.system._assembly.loading.rubbed(steps.q[first - 1 :])
        self._turnover += float(np.abs(done).sum()) + 2.0 * rubbed
        self._motion = max(self._motion, float(kinetic.max()))
        rounding = 1e-9 * (kinetic + np.abs(gravitational) + elastic + np.abs(loads))
        gap = kinetic + gravitational + elastic - self._first - work - rounding - self._floor
        self._note_gaps(begin[good], gap)
        self._absurd = self._judged > self.ENOUGH and gap[-1] > max(self.ABSURD * self._turnover, 0.5 * self._motion)

    def _note_gaps(self, begin: Array, gap: Array) -> None:
        """Keep what the warning may need: what is allowed only grows, so that a gap below it never counts again."""
        self._judged += len(gap)
        limit = self.OPEN * (self._motion + self._turnover)
        self._gaps = [known for known in self._gaps if known[1] > limit]
        for k in np.flatnonzero(gap > limit).tolist():
            if not self._gaps or gap[k] > self._gaps[-1][1]:
                self._gaps.append((float(begin[k]), float(gap[k])))

    def _note(self, gain: float, limit: float) -> None:
        if gain <= limit + self._floor:
            return
        if self._began is None:
            self._began, self._sane = self._t, self._motion + limit
        self._gained = max(self._gained, gain)

    def _open_gain(self) -> tuple[float, float] | None:
        """When the gap between energy and work became too large for what was turned over, and its largest value [J]; None if it did not."""
        return (self._gaps[0][0], self._gaps[-1][1]) if self._gaps else None

    @property
    def began(self) -> float | None:
        """When energy began to come from nowhere [s]; None if it did not."""
        if self._began is not None:
            return self._began
        found = self._open_gain()
        return None if found is None else found[0]

    @property
    def hopeless(self) -> bool:
        """Whether the robot gained so much that the motion has nothing to do with it any more."""
        return self._absurd or (self._began is not None and self._gained > self.HOPELESS * self._sane)

    @property
    def warning(self) -> str | None:
        """What to tell the user; None if the balance held."""
        if self._began is not None:
            began, gained, cause = self._began, self._gained, "although nothing supplies any"
        else:
            found = self._open_gain()
            if found is None:
                return None
            (began, gained), cause = found, "more than inputs and loads supplied"
        return (
            f"From t = {began:.4g} s on the robot gained {gained:.3g} J {cause} (its largest kinetic energy is "
            f"{self._motion:.3g} J): the motion after that is not reliable. Use a smaller rtol and atol (or step), or method='radau'."
        )
