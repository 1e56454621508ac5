"""The generalised-α methods: implicit on the manifold, second order, with constant or error-controlled step."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..cables import reach, tensions_at
from ..closure import consistent_velocity
from ..interpolate import as_told
from ..limits import rounding
from .alpha_step import AlphaMethod, AlphaStepper
from .integrator import Integrator, Problem, refuse_control, refuse_memory

__all__ = ["FixedAlpha", "VariableAlpha", "generalized_alpha", "hht", "newmark"]

Array = NDArray[np.float64]


class _Alpha(Integrator):
    """Common part of the fixed and the variable step."""

    def __init__(self, problem: Problem, method: AlphaMethod, newton: float) -> None:
        system, drive, t, q, v = problem.system, problem.drive, problem.t, problem.q, problem.v
        self.problem, self.system, self.drive, self.t = problem, system, drive, t
        self.name = method.name
        refuse_memory(system, method.name)
        refuse_control(drive, method.name)
        self.motion, self.project = problem.motion, problem.project
        self.statistics, self.clock = problem.statistics, problem.clock
        q, v, kind, _said = reach(system, self.motion, t, q, v)
        u, tau = drive(t, q, v)
        a, self.multipliers, self.tensions, self._slack = tensions_at(system, self.motion, t, q, v, u, tau, kind)
        u = u.copy()
        for index, tension in self.tensions.items():
            u[index] = tension
        self.applied = self._tried = u, tau
        if not np.all(np.isfinite(a)):
            raise ValueError(
                f"the acceleration at t = {t:g} s is not finite: inputs, a load or the initial state contain NaN or overflow."
            )
        self._core = AlphaStepper(
            system,
            method,
            q,
            v,
            a,
            rtol=problem.rtol,
            atol=problem.atol,
            newton=newton if problem.steps.newton is None else problem.steps.newton,
            iterations=10,
            statistics=self.statistics,
            solver=problem.solver,
        )
        self._take_state()
        self._before = self.row()

    def _take_state(self) -> None:
        core = self._core
        self.q, self.v, self.a = core.q, core.v, core.a

    def _drive(self, t: float) -> tuple[Array, Array]:
        """Inputs of the step that ends at t; a feedback law sees the state at its start (sample and hold)."""
        return self.drive(self.t if self.drive.feedback else t, self.q, self.v)

    def _try(self, t: float, h: float) -> tuple[str, float]:
        """Try a step of length h that ends at t, with prescribed motion and tensions that only pull."""
        self.clock.check()
        u, tau = self._tried = self._drive(t)
        if not self.motion.active:
            return self._core.try_step(h, u, tau, self.multipliers)
        self.motion.joints_at(t, *self._core.new)
        told = self.motion.told_at(t)
        if not self.motion.tendons:
            return self._core.try_step(h, u, tau, self.multipliers, told=told)
        pushes = self.motion.pushes
        hold, forces = np.zeros((len(self.system.tendons.law), 4)), self.multipliers
        lengths, indices, slack = self.motion.lengths_at(t), self.motion.held, self._slack
        for round_ in range(4 * len(lengths) + 2 ** len(lengths)):
            u = u.copy()
            for k, length in lengths.items():
                u[indices[k]] = 0.0 if k in slack else self.tensions[indices[k]]
                hold[k] = float(k not in slack), length, 0.0, 0.0
            status, error = self._core.try_step(h, u, tau, forces, hold, told)
            if status != "ok":
                return status, error
            reached = self.system.tendon_lengths(self._core.new[0])[0]
            wrong = [
                k
                for k in lengths
                if (reached[k] > lengths[k] * (1 + 1e-12) if k in slack else not pushes[k] and u[indices[k]] < 0.0)
            ]
            if not wrong:
                break
            # all at once, which may go round in circles; after that one by one
            slack, forces = slack ^ set(wrong if round_ < 2 * len(lengths) else wrong[:1]), self._core.multipliers
            self.motion.joints_at(t, *self._core.new)
        else:
            return "finds no set of cables that hold", np.inf
        self._found = {indices[k]: float(u[indices[k]]) for k in lengths}, slack
        self._tried = u, tau
        return status, error

    def _accept(self, t: float) -> None:
        self._before = self.row()
        self._core.accept()
        self._take_state()
        self.t, self.applied = t, self._tried
        if len(self.multipliers):
            self.multipliers = self._core.multipliers
            if self.project:
                self._core.v[:] = consistent_velocity(self.system, self.q, self.v, self.motion.told_at(t))
        if self.motion.tendons:
            self.tensions, slack = self._found
            self.statistics.switches += slack != self._slack
            self._slack = slack

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Interpolated within the last step; prescribed coordinates as they are told, loops closed."""
        return as_told(self.system, self.motion, times, super().states(times))

    def tally(self) -> Counter[tuple[int, bool]] | None:
        """How often each coordinate limited a step since the last call."""
        found, self._core.tally = self._core.tally, Counter()
        return found


class FixedAlpha(_Alpha):
    """Generalised-α with a constant step; a step that fails ends the run, or is gone through in parts if that is wanted."""

    def __init__(self, problem: Problem, method: AlphaMethod, h: float) -> None:
        super().__init__(problem, method, newton=1e-9)
        self.h = h
        self._start = self.t
        self._count = 0
        self._subdivided: list[tuple[float, int]] = []  # start of a step and how many parts it took

    def notes(self) -> list[str]:
        """Which steps were not taken in one."""
        if not self._subdivided:
            return []
        first, worst = self._subdivided[0][0], max(self._subdivided, key=lambda entry: entry[1])
        return [
            f"{len(self._subdivided)} of {self._count} steps of {self.h:g} s were subdivided, the first at t = {first:.6g} s and the "
            f"worst, at t = {worst[0]:.6g} s, into {worst[1]} parts: the step is too long for what happens there. Use a "
            "smaller step, or leave `step` out for error control."
        ]

    def advance(self, end: float) -> str | None:
        """One step of constant length, shorter only at the end."""
        self._count += 1
        target = min(self._start + self._count * self.h, end)
        same = rounding(end, self.h) * self.h
        if end - target < same:
            target = end
        h = target - self.t
        if abs(h - self.h) < same:
            h = self.h  # exactly, so that the factorisation is reused
        status, _error = self._try(target, h)
        if status == "ok":
            self._accept(target)
            return None
        if not self.problem.subdivide:
            return (
                f"Newton's iteration {status} in step {self._count}, from t = {self.t:.6g} s with {h:.3g} s. Use a smaller step, "
                "subdivide=True, or leave `step` out for error control"
            )
        begin = self.row()
        parts = 2
        done = 0
        while self.t < target:
            part = max(h / parts, 0.0)
            end_of_part = target if target - self.t < 1.5 * part else self.t + part
            status, _error = self._try(end_of_part, end_of_part - self.t)
            if status == "ok":
                self._accept(end_of_part)
                done += 1
                continue
            self.statistics.rejected += 1
            parts *= 2
            if parts > 4096:
                return (
                    f"Newton's iteration {status} in the step from t = {self.t:.6g} s; use a smaller step, or leave `step` out for "
                    "error control"
                )
        self._subdivided.append((float(begin.t[0]), done))
        self._before = begin
        return None


class VariableAlpha(_Alpha):
    """Generalised-α with error control."""

    LEAST = 20  # steps of a run, unless the user allows fewer: loads that come late must not be stepped over

    def __init__(self, problem: Problem, method: AlphaMethod) -> None:
        super().__init__(problem, method, newton=0.02)
        steps, duration = problem.steps, problem.end - problem.t
        self.largest = duration / self.LEAST if steps.largest is None else min(steps.largest, duration)
        self.h = steps.first if steps.first is not None else self._first_step()
        self._grow = True

    def _first_step(self) -> float:
        """A step in which the acceleration moves the robot by a tenth of the tolerance's square root."""
        scale = self.system.internal.scale
        size = max(float(np.sqrt(np.mean((self.a / scale) ** 2))), 1e-12)
        return float(np.clip(np.sqrt(self._core.atol / size), 1e-9, 0.01 * self.largest))

    def advance(self, end: float) -> str | None:
        """One step whose estimated error meets the tolerance."""
        remaining = end - self.t
        for _ in range(60):
            h = min(self.h, self.largest)
            if h >= remaining * (1 - rounding(end, remaining)):
                h = remaining
            elif h > 0.5 * remaining:
                h = 0.5 * remaining
            status, error = self._try(self.t + h, h)
            if status == "ok" and error <= 1.0:
                self._accept(self.t + h if h < remaining else end)
                factor = min(2.0, 0.9 * max(error, 1e-6) ** (-1 / 3))
                if factor > 1.4 and self._grow:
                    self.h = h * factor  # otherwise keep h and with it the factorisation
                elif factor < 0.95:
                    self.h = h * factor
                elif h == self.h or h > self.h:
                    self.h = h
                self._grow = True
                return None
            self.statistics.rejected += 1
            self._grow = False
            self.h = h * (max(0.2, 0.9 * error ** (-1 / 3)) if status == "ok" else 0.25)
            if self.h < 1e-13 * max(1.0, abs(self.t)):
                break
        name = self.system.dof_names[self._core.limiting(status == "ok")]
        return (
            f"the step fell below {self.h:.1e} s at t = {self.t:.6g} s because of {name!r}; the motion may be singular there, the "
            "inputs discontinuous, or the tolerances too tight"
        )


def _alpha(problem: Problem, method: AlphaMethod) -> Integrator:
    if problem.steps.constant is not None:
        return FixedAlpha(problem, method, problem.steps.constant)
    return VariableAlpha(problem, method)


def generalized_alpha(problem: Problem) -> Integrator:
    """The method of Chung and Hulbert on the manifold, with the spectral radius `rho`."""
    return _alpha(problem, AlphaMethod.generalized(problem.rho))


def newmark(problem: Problem) -> Integrator:
    """The trapezoidal rule of [002]."""
    return _alpha(problem, AlphaMethod.newmark())


def hht(problem: Problem) -> Integrator:
    """Hilber, Hughes and Taylor."""
    return _alpha(problem, AlphaMethod.hht())
