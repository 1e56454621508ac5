"""Differential dynamic programming with bounded inputs: sweeps backwards over exact maps of steps, forwards over the motion with feedback."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.constraint import lagrangian
from ...gradients.costs.cost import Cost
from ...gradients.costs.states import States
from ...gradients.repeated import Repeated, moved_on
from ...kernels.riccati import sweep
from .expansion import Expansion, couples, empty, expand
from .problem import Problem

__all__ = ["Options", "Solution", "Solver"]

Array = NDArray[np.float64]
LOOSE, TIGHT = 1e-7, 1e-11  # tolerances of Newton's iteration: while inputs still change, and near the end
NEAR = 1e-3  # relative slope from which on it is tight
LEAST, LARGEST, FASTER = 1e-3, 1e12, 2.0  # damping: below the least it is none; how much faster it changes each time
AT_BOUND = 1e-9  # of the largest input: what is nearer to a bound is at it
ROUNDING = 1e-14  # of the cost: what a step would win by less cannot be seen
PAIRS, SLOW = 12, 0.3  # changes of the gradient that are remembered; rate of convergence from which on they are used
LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)  # that are tried
SHORT, LONG = 0.15, 0.4  # lengths times what was won of what was expected: below more damping is asked for, above less
FIRST_WEIGHT, WEIGHT_FACTOR, LARGEST_WEIGHT = 10.0, 10.0, 1e10  # of constraints, relative to the cost


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
    status : {"converged", "stalled", "iterations", "infeasible"}
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


class Solver:
    """Iterations on a problem, with one memory for all of them.

    Parameters
    ----------
    problem : Problem
    U : array (knots, nu)
        Inputs to start with.
    tolerance : float
        Of Newton's iteration in the rollouts.
    """

    def __init__(self, problem: Problem, U: Array, *, tolerance: float = LOOSE) -> None:
        self.problem = problem
        self.before = couples(problem.cost)
        self.steps = Repeated(problem.plan(U, tolerance), before=self.before)
        lever = self.steps.memory.lever
        lever.low[:], lever.high[:] = problem.lower, problem.upper
        system = problem.system
        self.nx = 2 * system.nv + system.nz
        self.U, self.q, self.v = U.copy(), problem.q.copy(), problem.v.copy()
        m, width = system.nu, self.nx + system.nu
        ny = width if self.before else self.nx
        self.k, self.K = np.zeros((problem.knots, m)), np.zeros((problem.knots, m, ny))
        self.gradient, self.won = np.zeros((problem.knots, m)), np.zeros(2)
        self.V, self.w = np.zeros((ny, ny)), np.zeros(ny)
        self._scratch = (
            np.zeros((width, width)), np.zeros((width, width)), np.zeros((self.nx, width)), np.zeros((m, m)), np.zeros((m, m)),
            np.zeros((7, width)),
        )  # fmt: skip
        self._expansion = empty(self.steps.states, problem.knots, system.nz, self.before)
        self.cost: Cost = problem.cost
        self.value = np.inf
        self.damping, self._factor = 0.0, 1.0
        self._trust = 1.0
        self.rollouts = 0
        self._tight = tolerance <= TIGHT
        self._options = Options()
        self._pairs: list[tuple[Array, Array]] = []
        self._last: tuple[Array, Array] | None = None
        self._held: NDArray[np.bool_] = np.zeros_like(self.U, dtype=bool)
        self.costs: list[float] = []
        self.slopes: list[float] = []
        self.scale = 0.0
        self.states: States = self.steps.states

    # ------------------------------------------------------------ parts of an iteration

    def roll(self, U: Array) -> bool:
        """The motion of some inputs; what it costs. False if a step cannot be taken."""
        self.steps.set_inputs(U)
        self.rollouts += 1
        if not self.steps.roll():
            return False
        self._take(U)
        return True

    def _take(self, U: Array) -> None:
        """The last motion is the one to improve."""
        self.states = self.steps.states
        self.U = U.copy()
        self.steps.keep()
        self.judge_again()

    def judge_again(self) -> None:
        """The cost of the motion, and what damping is measured by: the curvature of the cost of inputs, or what would make all of it if it has none."""
        self.value = expand(self.cost, self.states, self.steps.knot, self._expansion)
        own = np.diagonal(self._expansion.curve[:, self.nx :, self.nx :], axis1=1, axis2=2).sum(axis=0) / len(self.k)
        range_of = np.abs(self.U).max(initial=0.0) or 1.0
        self._metric = np.where(own > 0.0, own, abs(self.value) / range_of**2 / len(self.k) or 1.0)

    def backwards(self, *, held: bool = False) -> bool:
        """Steps and gains for all knots, with more damping where it is needed. False if no damping helps.

        Each knot keeps its bounds. With `held` inputs at a bound that their derivative holds them to stay there, and the others are free; see `aside`.
        """
        low, high = self.problem.lower - self.U, self.problem.upper - self.U
        if held:
            low, high = self._only_free()
        while not self._sweep(self._expansion, low, high, self.gradient):
            if not self.more_damping():
                return False
        return True

    def _only_free(self) -> tuple[Array, Array]:
        """Bounds of changes where inputs at bounds are held and the others free."""
        held = self.held
        return np.where(held, 0.0, -np.inf), np.where(held, 0.0, np.inf)

    def _sweep(self, expansion: Expansion, low: Array, high: Array, gradient: Array) -> bool:
        failed = sweep(
            self.steps.knot, self.steps.maps, *expansion, low, high, self.damping * self._metric, self.k, self.K, gradient, self.won, self.V, self.w,
            *self._scratch,
        )  # fmt: skip
        return bool(failed < 0)

    def more_damping(self) -> bool:
        """Shorter steps; False if they are as short as can be."""
        self._factor = max(FASTER, FASTER * self._factor)
        self.damping = max(self._factor * self.damping, 1.0)
        return self.damping <= LARGEST

    def less_damping(self) -> None:
        """Longer steps."""
        self._factor = min(1.0 / FASTER, self._factor / FASTER)
        self.damping *= self._factor
        if self.damping < LEAST:
            self.damping = 0.0

    def forwards(self) -> bool:
        """The motion with the feedback, for the first length of the step that lowers the cost enough. False if none does."""
        move, more = self._start_step()
        for length in LENGTHS:
            expected = length * (more - self.won[0]) - length**2 * (self.won[1] + 0.5 * more)
            if move is not None:
                q, v = self._moved(length * move)
                self.steps.set_start(q, v)
            self.rollouts += 1
            if not self.steps.feed_back(self.U + length * self.k, self.K):
                continue
            states = self.steps.states
            value = self.cost.evaluate(states).value
            if np.isfinite(value) and self.value - value > 1e-4 * expected:
                if move is not None:
                    self.q, self.v = q, v
                self._trust = float(length) * min(1.0, (self.value - value) / expected) if expected > 0.0 else 0.0
                self._take(self.steps.U)
                return True
        if move is not None:
            self.steps.set_start(self.q, self.v)
        return False

    def follow(self) -> bool:
        """The motion of the policy, from a new start: the whole step, wherever it leads. False if it cannot be computed."""
        self.rollouts += 1
        for open_inputs in (self.U + self.k, self.U):
            if self.steps.feed_back(open_inputs, self.K):
                self._take(self.steps.U)
                return True
        return False

    def shift(self, knots: int) -> None:
        """Move the policy on by some knots; the last is repeated."""
        self.steps.shift(knots * self.problem.steps)
        for x in (self.U, self.k, self.K):
            moved_on(x, knots)

    def aside(self) -> bool:
        """The step where inputs at bounds are held, without feedback and projected on the bounds: a short one always lowers the cost. False if none does.

        With feedback, inputs that meet a bound change all that follows, so that a step of any length may raise it.
        """
        if not self.backwards(held=True):
            return False
        return self._along(self._linear_step(), *self._start_step())

    def _along(self, change: Array, move: Array | None, more: float) -> bool:
        """A step along changes of the inputs (knots, nu) and of the start, projected on the bounds; False if no length lowers the cost."""
        U0, zero = self.U, np.zeros_like(self.K)
        for length in LENGTHS:
            U = self.problem.clipped(U0 + length * change)
            expected = -float(np.vdot(self.gradient, U - U0)) + length * more
            if move is not None:
                q, v = self._moved(length * move)
                self.steps.set_start(q, v)
            self.rollouts += 1
            if expected > 0.0 and self.steps.feed_back(U, zero):
                value = self.cost.evaluate(self.steps.states).value
                if np.isfinite(value) and self.value - value > 1e-4 * expected:
                    if move is not None:
                        self.q, self.v = q, v
                    self._take(U)
                    self._trust = SHORT
                    return True
        if move is not None:
            self.steps.set_start(self.q, self.v)
        return False

    def remember(self, U: Array, gradient: Array) -> None:
        """How the gradient has changed with the inputs since the last motion; forgotten where other inputs are at bounds."""
        if self._pairs and np.any(self._held != self.held):
            self._pairs.clear()
        self._held = self.held
        self._pairs.append((self.U - U, self.gradient - gradient))
        del self._pairs[:-PAIRS]

    def secant(self) -> bool:
        """A quasi-Newton step: the matrix of the sweep, corrected by how gradients have changed, which the curvature of the motion is part of.

        Without that the sweeps converge as slowly as this curvature is large. False if no length lowers the cost.
        """
        free = ~self.held
        pairs = [(s * free, y * free) for s, y in self._pairs]
        pairs = [(s, y) for s, y in pairs if np.vdot(s, y) > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y)]
        x, shares = self.gradient * free, []
        for s, y in reversed(pairs):
            a = np.vdot(s, x) / np.vdot(s, y)
            shares.append(a)
            x = x - a * y
        slope = np.zeros_like(self._expansion.slope)
        first = np.searchsorted(self.steps.knot, np.arange(len(x)))
        slope[first + 1, self.nx :] = x
        pull = self._expansion.pull.copy()
        pull[:, -1] = 0.0
        if not self._sweep(self._expansion._replace(slope=slope, pull=pull), *self._only_free(), np.zeros_like(x)):
            return False
        d = -self._linear_step()
        for (s, y), a in zip(pairs, reversed(shares)):
            d = d + (a - np.vdot(y, d) / np.vdot(s, y)) * s
        return self._along(-d, None, 0.0)

    def _linear_step(self) -> Array:
        """Changes of all inputs by the gains where the motion follows its maps, (knots, nu)."""
        maps, knot, nx = self.steps.maps, self.steps.knot, self.nx
        out = np.zeros_like(self.k)
        x, last = np.zeros(self.K.shape[2]), -1
        move, _more = self._start_step()
        if move is not None:
            x[:nx] = move
        for A, k in zip(maps, knot.tolist()):
            if k != last:
                out[k] = self.k[k] + self.K[k] @ x
                last = k
            x[:nx] = A[:, :nx] @ x[:nx] + A[:, nx:] @ out[k]
            x[nx:] = out[k] if self.before else 0.0
        return out

    def _start_step(self) -> tuple[Array | None, float]:
        """The change of a free start, and what it wins."""
        free = self.free
        if not len(free):
            return None, 0.0
        H = np.triu(self.V)[np.ix_(free, free)]
        H = H + np.triu(H, 1).T
        scale = np.maximum(np.diag(H), 1e-12 * max(float(np.diag(H).max()), 1e-300))
        d = np.zeros(self.nx)
        d[free] = -np.linalg.solve(H + np.diag(max(self.damping, 1e-9) * scale), self.w[free])
        return d, float(-self.w[: self.nx] @ d)

    @property
    def free(self) -> NDArray[np.int64]:
        """Entries of the start that are free."""
        system = self.problem.system
        nv, own = system.nv, np.flatnonzero(~system.known.astype(bool))
        parts = [own + shift for name, shift in (("start", 0), ("velocity", nv)) if name in self.problem.free]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _moved(self, d: Array) -> tuple[Array, Array]:
        nv, system = self.problem.system.nv, self.problem.system
        return system.integrate(self.q, d[:nv]), self.v + d[nv : 2 * nv]

    @property
    def held(self) -> NDArray[np.bool_]:
        """Inputs at a bound that their derivative holds them to, (knots, nu)."""
        p, g = self.problem, self.gradient
        near = AT_BOUND * max(float(np.abs(self.U).max(initial=0.0)), 1e-30)
        low, high = self.U - p.lower <= near, p.upper - self.U <= near
        found: NDArray[np.bool_] = (low & (g > 0.0)) | (high & (g < 0.0))
        return found

    @property
    def projected(self) -> float:
        """The largest derivative of the cost by an input, or a free start; one against a bound counts as none."""
        size = float(np.abs(np.where(self.held, 0.0, self.gradient)).max(initial=0.0))
        if len(self.free):
            size = max(size, float(np.abs(self.w[self.free]).max()))
        return size

    # ------------------------------------------------------------ the whole

    def solve(self, options: Options) -> Solution:
        """Iterate to the optimum, with constraints by multipliers."""
        clock = time.perf_counter()
        self._options, self.scale = options, options.scale
        self._begin()
        status, rounds, worst = "converged", 0, 0.0
        if not self.problem.constraints:
            status = self._descend(options.tolerance)
        else:
            status, rounds, worst = self._rounds()
        self._finish()
        return Solution(
            self.U, self.K.copy(), self.q, self.v, status, self.costs, self.slopes, worst, len(self.costs) - 1, self.rollouts, rounds,
            time.perf_counter() - clock, self.scale,
        )  # fmt: skip

    def _begin(self) -> None:
        """The first motion; error if it cannot be computed."""
        if not self.roll(self.U):
            k = self.steps.failed or 0
            raise ValueError(
                f"the motion of the first inputs cannot be computed: step {k + 1}, from t = {self.steps.plan.times[k]:.6g} s with {self.problem.step:.3g} s, does not "
                "converge. Use more steps for each knot (steps=2), or another guess."
            )

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
            small = self.slopes[-1] <= tolerance
            if self.slopes[-1] <= max(NEAR, tolerance) and self._tighten():
                self.costs.pop()
                self.slopes.pop()
                continue
            if small:
                return "converged"
            if len(self.costs) > self._options.iterations:
                return "iterations"
            if self._tight and self._start_step()[1] - self.won[0] <= ROUNDING * abs(self.value):
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
