"""Newton's iteration of an implicit step, whatever the method: factors that are kept while they serve, and constraints.

An integrator gives the displacement ``move`` and how its rates follow it, ``cv δmove`` and ``ca δmove`` (see `straight`); the
iteration drives the residual at the end of the step to zero. It works in scaled coordinates
q/s (s: rad/m for bending, 1 for stretch, …), so that tolerances are dimensionless and mean the same for a robot of
millimetres and one of metres.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._jit import routine
from ..slots import (
    MEMORY_FACTORS,
    MEMORY_H,
    MEMORY_RATE,
    NEWTON_MOVE,
    NEWTON_RESIDUAL,
    NEWTON_STEP,
    NEWTON_WEIGHT,
    OPTION_ATOL,
    OPTION_H,
    OPTION_LIMIT,
    OPTION_NEWTON,
    OPTION_RTOL,
    REPORT_FACTORISATIONS,
    REPORT_ITERATIONS,
    REPORT_RATE,
    REPORT_RESIDUALS,
)
from .constraints import POSITIONS, correct_constraints, prepare_constraints
from .factors import factor_tangent, solve_tangent
from .prescribed import clear_known
from .residual import residual
from .straight import displace, straighten

CLOSED = 1e-13  # m, rad: a loop that is open by less is closed
OPEN = 1e-9  # m, rad: a step that leaves a loop open by more is not accepted
SETTLED = 1e-7  # relative change of constraint forces
CONVERGED, STALLED, SINGULAR, EXHAUSTED, NOT_FINITE = (np.int64(k) for k in range(5))
# attempts of a step: with the factors of an earlier one, with new ones, with new ones in every iteration
KEPT, ONCE, ALWAYS = (np.int64(k) for k in range(3))


class Problem(NamedTuple):
    """The equations of a robot: its tables and workspace, and what acts on it."""

    t: Any  # Tables
    work: Any  # Work
    c: Any  # Internal
    loads: Any  # packed tables of all loads, see `loads.together`
    fronts: Any  # Fronts
    u: Any  # (nu,) inputs; tensions of tendons with a prescribed length are unknowns and are left here
    tau: Any  # (nv,) further generalised forces


class Factors(NamedTuple):
    """The factored tangent of a step, kept from one to the next."""

    S: Any  # (1, nv, nv), or (1, …) the store of `fronts`
    pivot: Any  # (nv,)
    tree: Any  # whether S is that store


class Motion(NamedTuple):
    """The state at one end of a step."""

    q: Any  # (nq,)
    v: Any  # (nv,)
    a: Any  # (nv,) acceleration
    rate: Any  # (nv,) rate of the displacement and
    second: Any  # (nv,) its second rate, see `straight`,
    b: Any  # (nv,) and the auxiliary one of the method


@routine
def set_weights(c, q, rate, p, weight):
    """weight (nv,) = atol·scale + rtol·|q| on ordinary coordinates, + rtol·|h rate| on manifold joints."""
    h, rtol, atol = p[OPTION_H], p[OPTION_RTOL], p[OPTION_ATOL]
    for k in range(weight.shape[0]):
        weight[k] = atol * c.scale[k] + rtol * abs(h * rate[k])
    for k in range(c.shift.shape[0]):
        i = c.shift[k, 1]
        weight[i] = atol * c.scale[i] + rtol * abs(q[c.shift[k, 0]])


@routine
def weighted_norm(x, weight):
    """Root mean square of x/weight."""
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] / weight[k]) ** 2
    return np.sqrt(total / x.shape[0])


@routine
def renew_factors(problem, end, factors, held, cv, ca, p):
    """The residual, and new factors of its tangent, at the end of the step. Returns False if it is singular."""
    t, work, c, loads, fronts, u, tau = problem
    r = work.newton[NEWTON_RESIDUAL]
    p[MEMORY_FACTORS] = 0.0
    if not factor_tangent(t, work, c, loads, fronts, end.q, end.v, end.a, u, tau, cv, ca, r, factors):
        return False
    if held:
        prepare_constraints(t, c, work, loads, fronts, end.q, end.v, u, factors)
    p[MEMORY_FACTORS] = 1.0
    p[MEMORY_H] = p[OPTION_H]
    p[REPORT_FACTORISATIONS] += 1.0
    return True


@routine
def correct(problem, end, factors, held, cv, ca):
    """Newton's correction from the residual, of the displacement and its rates.

    Returns the violation of constraints before it and the largest relative change of their forces.
    """
    t, work, c, loads, fronts, u, _tau = problem
    r, step, move = work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP], work.newton[NEWTON_MOVE]
    clear_known(c, r)
    for k in range(step.shape[0]):
        step[k] = -r[k]
    solve_tangent(t, c, fronts, factors, step)
    gap, change = 0.0, 0.0
    if held:
        gap, change = correct_constraints(c, work, loads, end.q, end.v, u, POSITIONS, 1.0 / cv, step)
    straighten(c, end, cv, ca, step)
    for k in range(step.shape[0]):
        move[k] += step[k]
        end.rate[k] += cv * step[k]
        end.second[k] += ca * step[k]
    return gap, change


@routine
def polish(problem, start, end, factors, held, cv, ca):
    """Go on with Newton's iteration until constraints are closed to rounding and their forces have settled.

    The size of Δq says nothing of the forces: what they lack lies in the range of Gᵀ and moves nothing. Returns the number
    of iterations (many are a sign that the factors are stale) and the largest violation before the last one.
    """
    t, work, c, loads, _fronts, u, tau = problem
    last = np.inf
    count = 0
    gap = 0.0
    for _ in range(40):
        residual(t, work, c, loads, end.q, end.v, end.a, u, tau, work.newton[NEWTON_RESIDUAL])
        gap, change = correct(problem, end, factors, held, cv, ca)
        displace(c, start, work.newton[NEWTON_MOVE], end)
        count += 1
        if gap < CLOSED and (change < SETTLED or change > 0.5 * last):
            break
        last = change
    return count, gap


@routine
def newton(problem, start, end, factors, held, attempt, cv, ca, p):
    """Iterate from the predicted end of a step; `held` says whether there are constraints.

    `attempt` (KEPT, ONCE, ALWAYS) says which factors are used; what is left of the factors afterwards, and how fast it
    converged, is in the memory in p. Returns a status.
    """
    t, work, c, loads, _fronts, u, tau = problem
    step, move, weight = work.newton[NEWTON_STEP], work.newton[NEWTON_MOVE], work.newton[NEWTON_WEIGHT]
    kappa = p[OPTION_NEWTON]
    rate = p[MEMORY_RATE] if attempt == KEPT else 0.0
    previous = 0.0
    limit = int(p[OPTION_LIMIT]) if attempt < ALWAYS else 4 * int(p[OPTION_LIMIT])
    for it in range(limit):
        displace(c, start, move, end)
        if p[MEMORY_FACTORS] == 0.0 or (attempt >= ALWAYS and it > 0):
            if not renew_factors(problem, end, factors, held, cv, ca, p):
                return SINGULAR
        else:
            residual(t, work, c, loads, end.q, end.v, end.a, u, tau, work.newton[NEWTON_RESIDUAL])
        p[REPORT_ITERATIONS] += 1.0
        p[REPORT_RESIDUALS] += 1.0
        gap, _change = correct(problem, end, factors, held, cv, ca)
        size = weighted_norm(step, weight)
        if not size < 1e30:
            return EXHAUSTED
        if it > 0:
            rate = size / previous
            if rate > 0.8 and attempt < ALWAYS and size > kappa:
                return EXHAUSTED
        previous = size
        # a rate seen in an earlier step is trusted only so far: it says nothing of how stale the factors are now
        bound = rate if it > 0 else max(rate, 0.1)
        remaining = size * bound / (1.0 - bound) if bound < 1.0 else size
        if remaining <= kappa and (rate > 0.0 or size <= 1e-2 * kappa) and gap <= 1e-6:
            displace(c, start, move, end)
            rounds = 0
            if held:
                rounds, gap = polish(problem, start, end, factors, held, cv, ca)
                if not gap < OPEN:
                    return EXHAUSTED
            p[MEMORY_RATE] = rate
            p[REPORT_RATE] = rate
            if rate > 0.4 or it > 4 or rounds > 4:  # stale
                p[MEMORY_FACTORS] = 0.0
            return CONVERGED
    return EXHAUSTED
