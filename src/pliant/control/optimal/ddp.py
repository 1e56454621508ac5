"""Differential dynamic programming with bounded inputs, and constraints by an augmented Lagrangian."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.constraint import lagrangian
from .problem import Problem
from .sweeps import LONG, LOOSE, SHORT, Sweeps

__all__ = ["Options", "Policy", "Solution", "Solver"]

Array = NDArray[np.float64]
TIGHT = 1e-11  # tolerance of Newton's iteration near the end
NEAR = 1e-3  # relative slope from which on it is tight
SETTLED = 1e3  # times the square of the tolerance, of the cost: what a step would win by less is little
UNSEEN = 10.0 * TIGHT  # of the cost: what is less and no step wins is how well motions are solved
DAMPED = 1.0  # damping above which steps are so short that they promise little anywhere
ROUNDING = 1e-14  # of the cost: what a step would win by less cannot be seen
SLOW = 0.3  # rate of convergence from which on changes of the gradient are used
FIRST_WEIGHT, WEIGHT_FACTOR, LARGEST_WEIGHT = 10.0, 10.0, 1e10  # of constraints


@dataclass(frozen=True)
class Options:
    """How far to go."""

    tolerance: float = 1e-6  # of the projected gradient, relative to that of the start
    iterations: int = 200
    violation: float = 1e-6  # of constraints, in their own units
    rounds: int = 20  # of multipliers
    scale: float = 0.0  # derivative that slopes are relative to, if it is larger than what is found


@dataclass
class Solution:
    """What was found.

    Attributes
    ----------
    U : ndarray (knots, nu)
    gains : ndarray (knots, nu, nx), or with nu more columns for the inputs of the knot before
    q, v : ndarray (nq,), (nv,)
        The start.
    status : {"converged", "stalled", "iterations", "infeasible", "interrupted"}
    costs, slopes : list of float
        Cost and relative projected gradient of every iteration.
    violation : float
        Largest of the constraints.
    iterations, rollouts, rounds : int
        Iterations, motions that were computed, rounds of multipliers.
    seconds : float
        Wall time.
    scale : float
        The derivative that slopes are relative to.
    """

    U: Array
    gains: Array
    q: Array
    v: Array
    status: str
    costs: list[float]
    slopes: list[float]
    violation: float
    iterations: int
    rollouts: int
    rounds: int
    seconds: float
    scale: float


class Policy(NamedTuple):
    """A motion and gains about it."""

    q: Array  # (n + 1, nq)
    v: Array  # (n + 1, nv)
    z: Array  # (n + 1, nz)
    gains: Array  # (knots, nu, nx)


class _Reached(NamedTuple):
    """The motion that an iteration began with."""

    U: Array
    start: tuple[Array, Array]
    policy: Policy


class Solver(Sweeps):
    """Iterations on a problem until it is solved.

    Parameters
    ----------
    problem : Problem
    U : array (knots, nu)
        Inputs to start with.
    tolerance : float
        Of Newton's iteration in the rollouts.
    policy : Policy, optional
        Feedback for the first motion, which an unstable robot needs.
    """

    def __init__(self, problem: Problem, U: Array, *, tolerance: float = LOOSE, policy: Policy | None = None) -> None:
        super().__init__(problem, U, tolerance=tolerance)
        self._policy, self._tight, self._options = policy, tolerance <= TIGHT, Options()
        self._last: tuple[Array, Array] | None = None
        self._small = 0
        self.costs: list[float] = []
        self.slopes: list[float] = []
        self.scale = 0.0
        self._reached: _Reached | None = None

    def solve(self, options: Options) -> Solution:
        """Iterate to the optimum, with constraints by multipliers."""
        clock = time.perf_counter()
        self._options, self.scale = options, options.scale
        self.begin()
        status, rounds, worst = "converged", 0, 0.0
        try:
            if not self.problem.constraints:
                status = self._descend(options.tolerance)
            else:
                status, rounds, worst = self._rounds()
            self._finish()
        except KeyboardInterrupt:
            if self._reached is None:  # there is nothing to keep
                raise
            status, worst = "interrupted", self._go_back(self._reached)
        return Solution(
            self.U, self.K.copy(), self.q, self.v, status, self.costs, self.slopes, worst, max(len(self.costs) - 1, 0), self.rollouts, rounds,
            time.perf_counter() - clock, self.scale,
        )  # fmt: skip

    def begin(self) -> None:
        """The first motion; error if it cannot be computed."""
        if self._policy is not None and self._policy.q.shape[0] == len(self.steps.knot) + 1:
            lever, (q, v, z, gains) = self.steps.memory.lever, self._policy
            lever.target_q[:], lever.target_v[:], lever.target_z[:] = q, v, z
            self.K[:, :, : self.nx] = gains
            self.rollouts += 1
            if self.steps.feed_back(self.U, self.K):
                self._take(self.steps.U)
                return
        if not self.roll(self.U):
            k = self.steps.failed or 0
            raise ValueError(
                f"the motion of the first inputs cannot be computed: step {k + 1}, from t = {self.steps.plan.times[k]:.6g} s with {self.problem.step:.3g} s, does not "
                "converge. Use more steps for each knot (steps=2), or another guess."
            )

    def _go_back(self, reached: _Reached) -> float:
        """To the motion that the last iteration began with, in memory of its own: what it did since may be half done. Returns its violation of constraints."""
        q, v = reached.start
        there = replace(self.problem, q=q, v=v, free=())
        again = Solver(there, reached.U, tolerance=TIGHT, policy=reached.policy)
        again.cost = self.cost
        again.begin()
        again._finish()
        self.steps, self.states, self.U, self.k, self.K = again.steps, again.states, again.U, again.k, again.K
        self.q, self.v, self.value = again.q, again.v, again.value
        return self._violation() if self.problem.constraints else 0.0

    def _finish(self) -> None:
        """The motion to rounding, in the memory, with the gains as they would be without damping or bounds on steps."""
        self._tight = True
        self.steps.set_tolerance(TIGHT)
        self.damping = 0.0
        if self.backwards() and self.steps.feed_back(self.U, self.K):
            self._take(self.steps.U)
            self.backwards()

    def _tighten(self) -> bool:
        """Motions to rounding from now on. False if they are already, or cannot be."""
        if self._tight:
            return False
        self._tight = True
        self.steps.set_tolerance(TIGHT)
        self.rollouts += 1
        if not self.steps.feed_back(self.U, self.K):  # an unstable robot would leave the motion without
            return False
        self._take(self.steps.U)
        return True

    def _descend(self, tolerance: float) -> str:
        """Iterate until the projected gradient is below a tolerance, relative to slopes that balance there. Returns a status."""
        m = self.problem.system.nu
        while True:
            if not self.backwards():
                return "stalled"
            if self._last is not None:
                self.remember(*self._last)
                self._last = None
            size = self.projected
            own = float(np.abs(self._expansion.slope[:, -m:]).max(initial=0.0))
            self.scale = max(self.scale, size, own) if not self.costs else max(self.scale, own)
            self.costs.append(self.value)
            self.slopes.append(size / self.scale if self.scale > 0.0 else 0.0)
            lever = self.steps.memory.lever
            policy = Policy(
                *(x.copy() for x in (lever.target_q, lever.target_v, lever.target_z, self.K[:, :, : self.nx]))
            )
            self._reached = _Reached(self.U.copy(), (self.q.copy(), self.v.copy()), policy)
            small = self.slopes[-1] <= tolerance
            if self.slopes[-1] <= max(NEAR, tolerance) and self._tighten():
                self.costs.pop()
                self.slopes.pop()
                continue
            if small:
                return "converged"
            if len(self.costs) > self._options.iterations:
                return "iterations"
            if self._tight and self._little_to_win(tolerance):
                return "converged"
            U, g = self.U, self.gradient.copy()
            if self._improve():
                if self._trust > LONG:
                    self.less_damping()
                elif self._trust < SHORT:
                    self.more_damping()
                self._last = U, g
            elif not self._tighten() and not self.more_damping():
                return "stalled"

    def _little_to_win(self, tolerance: float) -> bool:
        """Whether a step would win nothing beyond rounding, or twice in a row little: derivatives of an unstable motion by its inputs are large at the best ones too.

        Steps that are damped much promise little anywhere; those without damping are asked then.
        """
        little = SETTLED * tolerance**2
        promised = self._promised()
        if self.damping > DAMPED and promised <= max(little, ROUNDING):
            promised = self._promised_undamped()
            if promised <= UNSEEN:
                return True
        self._small = self._small + 1 if promised <= little else 0
        return promised <= ROUNDING or self._small > 1

    def _promised(self) -> float:
        """What a step should win by its slope, relative to the cost."""
        return float((self._start_step()[1] - self.won[0]) / max(abs(self.value), 1e-300))

    def _promised_undamped(self) -> float:
        """The same without damping; infinite if there is no such step."""
        damping, factor, self.damping = self.damping, self._factor, 0.0
        found = self._promised() if self.backwards() and self.damping == 0.0 else np.inf
        self.damping, self._factor = damping, factor
        self.backwards()
        return found

    def _improve(self) -> bool:
        """One step, of the kind that serves; False if none lowers the cost."""
        slow = len(self._pairs) > 1 and self.slopes[-1] > SLOW * self.slopes[-2] and self.damping == 0.0
        if slow and not self.problem.free and self.secant():
            return True
        return (self.backwards() if slow else True) and (self.forwards() or self.aside())

    def _rounds(self) -> tuple[str, int, float]:
        """The augmented Lagrangian: minimise, move the multipliers, weigh more what gets no better."""
        p, options = self.problem, self._options
        weight = FIRST_WEIGHT
        made = [lagrangian(constraint, self.states, weight) for constraint in p.constraints]
        terms = [term for term, _multipliers in made]
        self.cost = sum(terms, p.cost)
        last, status, worst = np.inf, "infeasible", np.inf
        for k in range(options.rounds):
            self.judge_again()
            self.damping, self._factor = 0.0, 1.0
            self._pairs, self._last = [], None
            status = self._descend(max(options.tolerance, 1e-2 * 0.1**k))
            worst = self._violation()
            done = worst <= options.violation
            if done and self.slopes[-1] <= options.tolerance:
                return status, k + 1, worst
            if status == "iterations":
                return status, k + 1, worst
            for constraint, (term, multipliers) in zip(p.constraints, made):
                rows = np.flatnonzero(constraint.rows(self.states))
                multipliers.update(term.quantity.evaluate(self.states, rows).value)
                if worst > 0.25 * last and multipliers.weight < LARGEST_WEIGHT:
                    multipliers.weight *= WEIGHT_FACTOR
            last = worst
        return "infeasible" if worst > options.violation else status, options.rounds, worst

    def _violation(self) -> float:
        return max(float(one.violation(self.states).max(initial=0.0)) for one in self.problem.constraints)
