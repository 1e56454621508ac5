"""Single knots of a problem from any state, for solvers that keep their own states: where a knot ends, with derivatives, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gradients.costs.cost import Cost, Sum, Term
from ...gradients.costs.states import States
from ...gradients.costs.times import Weights, row_weights
from ...gradients.repeated import Repeated
from .expansion import couples, empty, expand, terms_of
from .problem import Problem

__all__ = ["Interval", "Quadratic", "interval_costs", "needs_plain_time"]

Array = NDArray[np.float64]


class Quadratic(NamedTuple):
    """A cost to second order (Gauss–Newton) in changes of the state and the inputs at the start of a knot."""

    x: Array  # (nx,)
    u: Array  # (nu,)
    xx: Array  # (nx, nx)
    ux: Array  # (nu, nx)
    uu: Array  # (nu, nu)


def needs_plain_time(problem: Problem, route: str) -> None:
    """Error if a knot of the problem is no function of its state and inputs alone."""
    system = problem.system
    if problem.motion or system.told or np.any(system.known):
        raise ValueError(
            f"{route}: {system.name!r} has prescribed motion, which is no function of a state. Use pl.optimize with method='ddp'."
        )
    if system.nz:
        raise ValueError(
            f"{route}: {system.name!r} has loads that remember ({system.nz} internal variables), which are no part of its states. Use pl.optimize with method='ddp'."
        )


class Interval:
    """The steps of one knot of a problem, or some of them, from any state; one memory for all calls.

    Parameters
    ----------
    problem : Problem
    steps : int, optional
        How many steps; all of a knot if left out.
    tolerance : float
        Of Newton's iteration.
    """

    def __init__(self, problem: Problem, steps: int | None = None, *, tolerance: float = 1e-11) -> None:
        self.problem, self.system = problem, problem.system
        self.count = problem.steps if steps is None else steps
        self._tau = problem.tau if problem.tau is not None and problem.tau.ndim == 2 else None
        short = replace(
            problem, knots=1, steps=self.count, horizon=problem.step * self.count, tau=None if self._tau is not None else problem.tau,
        )  # fmt: skip
        self.steps = Repeated(short.plan(np.zeros((1, self.system.nu)), tolerance))

    def go(self, first: int, x: Array, u: Array) -> bool:
        """From the state x (nq + nv,) at the start of the step with number `first`. False if a step cannot be taken."""
        nq, nu = self.system.nq, self.system.nu
        self.steps.set_start(x[:nq], x[nq:], t=self.problem.t0 + first * self.problem.step)
        self.steps.set_inputs(u[None])
        if self._tau is not None:
            self.steps.memory.record.inputs[:, :, nu:] = self._tau[first : first + self.count, None]
        return self.steps.roll()

    @property
    def end(self) -> Array:
        """The state (nq + nv,) where it ends."""
        record = self.steps.memory.record
        return np.concatenate([record.q[-1], record.v[-1]])

    @property
    def states(self) -> States:
        """Of the last motion, its start first."""
        return self.steps.states

    def slopes(self) -> tuple[Array, Array]:
        """Derivatives of all states of the last motion by its start, (n + 1, 2 nv, 2 nv), and by its inputs, (n + 1, 2 nv, nu)."""
        self.steps.keep()
        nx, nu = 2 * self.system.nv, self.system.nu
        by_x, by_u = np.zeros((self.count + 1, nx, nx)), np.zeros((self.count + 1, nx, nu))
        by_x[0] = np.eye(nx)
        for k, both in enumerate(self.steps.maps):
            by_x[k + 1], by_u[k + 1] = both[:, :nx] @ by_x[k], both[:, :nx] @ by_u[k] + both[:, nx:]
        return by_x, by_u

    def quadratic(self, cost: Cost, by_x: Array, by_u: Array) -> Quadratic:
        """A cost of the rows of the last motion, with derivatives by its start and inputs."""
        states, nx, nu = self.states, 2 * self.system.nv, self.system.nu
        out = empty(states, 1, 0, False)
        expand(cost, states, self.steps.knot, out)
        T = np.zeros((len(states), nx + nu, nx + nu))  # changes (x, u) of rows by those at the start
        T[:, :nx, :nx], T[:, :nx, nx:], T[:, nx:, nx:] = by_x, by_u, np.eye(nu)
        g = np.einsum("ki,kij->j", out.slope, T)
        H = np.einsum("kai,kab,kbj->ij", T, out.curve, T, optimize=True)
        return Quadratic(g[:nx], g[nx:], H[:nx, :nx], H[nx:, :nx], H[nx:, nx:])


def interval_costs(problem: Problem, route: str) -> list[Cost | None]:
    """The cost as a sum over knots: of each the rows at the ends of its steps, of the first the start too. None where nothing counts."""
    if couples(problem.cost):
        raise ValueError(
            f"{route}: the cost has rates of inputs (pl.Smooth), which couple knots. Leave them out, or use pl.optimize with method='ddp'."
        )
    n = problem.knots * problem.steps
    times: Array = problem.t0 + problem.step * np.arange(n + 1, dtype=np.float64)
    shares = []
    for factor, term in terms_of(problem.cost):
        if not term.penalty.by_row:
            raise ValueError(
                f"{route}: the cost {term.name!r} is no sum over states. Use pl.optimize with method='ddp'."
            )
        w = row_weights(term.at, times, False, None)
        shares.append((factor, term, w / w.sum() if term.average else w))
    found: list[Cost | None] = []
    for k in range(problem.knots):
        rows = k * problem.steps + np.arange(problem.steps + 1)
        parts = []
        for factor, term, w in shares:
            own = w[rows] * (np.arange(len(rows)) > 0) if k else w[rows]  # its first row is the last of the knot before
            if np.any(own > 0.0):
                parts.append(
                    (factor, Term(term.quantity, term.penalty, at=Weights(own), weight=term.weight, name=term.name))
                )
        found.append(Sum(tuple(parts)) if parts else None)
    return found
