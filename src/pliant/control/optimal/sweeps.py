"""The parts of an iteration of differential dynamic programming: sweeps backwards over the maps of steps, forwards over the motion with feedback."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.cost import Cost
from ...gradients.costs.states import States
from ...gradients.repeated import Repeated, moved_on
from ...kernels.riccati import VECTORS, sweep
from .expansion import Expansion, couples, empty, expand
from .problem import Problem

__all__ = ["LONG", "LOOSE", "SHORT", "Sweeps"]

Array = NDArray[np.float64]
LOOSE = 1e-7  # tolerance of Newton's iteration while inputs still change
LEAST, LARGEST, FASTER = 1e-3, 1e12, 2.0  # damping: below the least it is none; how much faster it changes each time
AT_BOUND = 1e-9  # of the largest input: what is nearer to a bound is at it
PAIRS = 12  # changes of the gradient that are remembered
LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)  # that are tried
LONGER, STRETCHES = 0.8, 6  # part of its slope from which on a step is doubled next time; how often at most
ALIKE = 1e-4  # part of a cost by which two count as equal: motions of controllers are solved to 1e-5
LITTLE = 1e-2  # part of a cost: what a step of a controller promises by less needs no comparison
SHORT = 0.15  # lengths times what was won of what was expected: below more damping is asked for,
LONG = 0.4  # above less


class Sweeps:
    """The parts of an iteration on a problem, with one memory for all of them.

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
        self.steps = Repeated(problem.plan(U, tolerance), before=self.before, threads=problem.threads)
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
            np.zeros((VECTORS + 4 * m, width)),
        )  # fmt: skip
        self._expansion = empty(self.steps.states, problem.knots, system.nz, self.before)
        self.cost: Cost = problem.cost
        self.value = np.inf
        self.damping, self._factor = 0.0, 1.0
        self._trust, self._stretch = 1.0, 0
        self.rollouts = 0
        self.trusted = True  # whether the last whole step lowered the cost
        self._pairs: list[tuple[Array, Array]] = []
        self._held: NDArray[np.bool_] = np.zeros_like(self.U, dtype=bool)
        self.states: States = self.steps.states

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
        """The motion with the feedback, for the first length of the step that lowers the cost enough. False if none does.

        Where a whole step won all that its slope promised, the curvature of the motion, which the sweep does not know, cancels that of the cost: the next one may be
        longer.
        """
        move, more = self._start_step()
        slope = more - self.won[0]
        whole = slope - self.won[1] - 0.5 * more  # what a whole step should win
        for length in (*(2.0**k for k in range(self._stretch, 0, -1)), *LENGTHS):
            if move is not None:
                q, v = self._moved(length * move)
                self.steps.set_start(q, v)
            self.rollouts += 1
            if not self.steps.feed_back(self.U + length * self.k, self.K):
                continue
            value = self.cost.evaluate(self.steps.states).value
            if np.isfinite(value) and self.value - value > 1e-4 * length * slope:
                if move is not None:
                    self.q, self.v = q, v
                won = (self.value - value) / max(length * slope - length**2 * (slope - whole), 0.1 * length * slope)
                self._trust = length * min(1.0, won)
                long = length >= 1.0 and self.value - value > LONGER * length * slope
                self._stretch = min(int(np.log2(length)) + 1, STRETCHES) if long else int(max(np.log2(length), 0.0))
                self._take(self.steps.U)
                return True
        if move is not None:
            self.steps.set_start(self.q, self.v)
        self._stretch = 0
        return False

    def follow(self) -> bool:
        """The motion of the policy, from a new start: the whole step, or none where that costs less. False if neither can be computed.

        They are compared where the cost has risen and the step is not small anyway, by what it promised.
        After a step that is not taken the next sweep is damped more, and the first input of its step is not trusted (`trusted`).
        """
        whole, none = self.U + self.k, self.U.copy()
        full = self._cost_of(whole)
        small = np.isfinite(full) and -self.won[0] <= LITTLE * abs(full)
        self.trusted = bool(small or full <= self.value + ALIKE * abs(self.value))
        if not self.trusted:
            still = self._cost_of(none)
            self.trusted = bool(full <= still + ALIKE * abs(still))
            if not self.steps.feed_back(whole if self.trusted else none, self.K):
                return False
        if self.trusted:
            self.less_damping()
        else:
            self.more_damping()
        self._take(self.steps.U)
        return True

    def _cost_of(self, open_inputs: Array) -> float:
        """What the policy costs with some inputs; infinite if its motion cannot be computed."""
        self.rollouts += 1
        if not self.steps.feed_back(open_inputs, self.K):
            return np.inf
        value = self.cost.evaluate(self.steps.states).value
        return value if np.isfinite(value) else np.inf

    def shift(self, knots: int) -> None:
        """Move the policy on by some knots; the last is repeated."""
        self.steps.shift(knots * self.problem.steps)
        for x in (self.U, self.k, self.K):
            moved_on(x, knots)

    def aside(self) -> bool:
        """The step where inputs at bounds are held and the others go where the maps lead, projected on the bounds: a short one lowers the cost. False if none does.

        In `forwards` inputs that meet a bound change all that follows, so that a step of any length may raise it.
        """
        if not self.backwards(held=True):
            return False
        return self._along(self._linear_step(), *self._start_step())

    def _along(self, change: Array, move: Array | None, more: float) -> bool:
        """A step along changes of the inputs (knots, nu) and of the start, projected on the bounds; False if no length lowers the cost.

        The gains act about where the maps say that the motion will be, which keeps unstable robots with it and does not change the direction.
        """
        U0, back = self.U, self._fed_back(change, move)
        for length in LENGTHS:
            U = self.problem.clipped(U0 + length * change)
            expected = -float(np.vdot(self.gradient, U - U0)) + length * more
            if move is not None:
                q, v = self._moved(length * move)
                self.steps.set_start(q, v)
            if not expected > 0.0:
                continue
            self.rollouts += 1
            if self.steps.feed_back(U - length * back, self.K):
                value = self.cost.evaluate(self.steps.states).value
                if np.isfinite(value) and self.value - value > 1e-4 * expected:
                    if move is not None:
                        self.q, self.v = q, v
                    self._take(self.steps.U)
                    self._trust = SHORT
                    return True
        if move is not None:
            self.steps.set_start(self.q, self.v)
        return False

    def _fed_back(self, change: Array, move: Array | None) -> Array:
        """What the gains make of the motion that changes of the inputs lead to, to first order, (knots, nu)."""
        maps, knot, nx = self.steps.maps, self.steps.knot, self.nx
        out = np.zeros_like(change)
        x, last = np.zeros(self.K.shape[2]), -1
        if move is not None:
            x[:nx] = move
        for A, k in zip(maps, knot.tolist()):
            if k != last:
                out[k] = self.K[k] @ x
                last = k
            x[:nx] = A[:, :nx] @ x[:nx] + A[:, nx:] @ change[k]
            x[nx:] = change[k] if self.before else 0.0
        return out

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
