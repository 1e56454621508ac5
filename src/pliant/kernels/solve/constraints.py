"""Constraints with their forces as unknowns: tendons of prescribed length, and loops.

The unknowns of a Newton step are the increments Δq of the coordinates that are not known and the changes ΔT of tensions
and −λ of multipliers: ``S Δq + Gᵀ ΔT = −r``, ``G Δq = −e`` with ``G = ∂e/∂q``, solved with the factors of S and the small
matrix ``G S⁻¹ Gᵀ``. A method that keeps the rates of constraints instead (index 2), with ``Δv = Δq / g``, has ``G Δq = −g ė``. Only
independent rows of G take part (`independent_rows`); redundant constraints get no force.
"""

import numpy as np

from ..._jit import routine
from ..algebra.linear import independent_rows
from ..algebra.manifold import integrate
from ..groups import unpack_tendons
from ..loads.tendons import LAW_INPUT, T_LENGTH, T_RATE
from ..loads.together import loop_closure, loop_values, tendon_lengths
from ..recursion.forward import forward
from ..slots import HOLD_ACTIVE, HOLD_LENGTH, HOLD_RATE
from .factors import solve_tangent
from .prescribed import clear_known

# what is kept: the values of constraints, or their rates
POSITIONS, RATES = np.int64(0), np.int64(1)


@routine
def holds(work):
    """Whether any tendon has a prescribed length, or there are loops."""
    count = work.closure.shape[0]
    for k in range(work.hold.shape[0]):
        if work.hold[k, HOLD_ACTIVE] > 0.0:
            count += 1
    return count > 0


@routine
def prepare_constraints(t, c, work, loads, fronts, q, v, u, factors):
    """G, S⁻¹Gᵀ for the factors of a tangent S; the columns of the steps must be known (after `factor_tangent`)."""
    n = work.hold.shape[0]
    tendon_lengths(work, loads, q, v, u, work.rows[0, :n])
    loop_closure(loads, q, v, u, work.rows[0, n:])
    for k in range(work.rows.shape[1]):
        G, X = work.rows[0, k], work.rows[1, k]
        clear_known(c, G)
        for i in range(G.shape[0]):
            X[i] = G[i]
        solve_tangent(t, c, fronts, factors, X)
    choose_rows(c, work, work.rows[0])


@routine
def choose_rows(c, work, G):
    """Mark the rows of G (m, nv) in the last row of work.schur: 1 if it is independent, −1 if redundant, 0 if not held."""
    n, m = work.hold.shape[0], work.rows.shape[1]
    choice = work.schur[m]
    for k in range(m):
        choice[k] = 1.0 if k >= n or work.hold[k, HOLD_ACTIVE] > 0.0 else 0.0
        for i in range(c.scale.shape[0]):
            work.rows[2, k, i] = G[k, i] * c.scale[i]
    independent_rows(work.rows[2], choice)


@routine
def solve_small(A, n, last):
    """Solve A[:n, :n] x = A[:n, last] by elimination with row exchanges; x in A[:n, last]."""
    for k in range(n):
        row = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[row, k]):
                row = i
        for j in range(n):
            A[k, j], A[row, j] = A[row, j], A[k, j]
        A[k, last], A[row, last] = A[row, last], A[k, last]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= f * A[k, j]
            A[i, last] -= f * A[k, last]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            A[k, last] -= A[k, j] * A[j, last]
        A[k, last] /= A[k, k]


@routine
def correct_constraints(c, work, loads, q, v, u, level, g, step):
    """Change the step S⁻¹(−r) so that constraints are met, and the tensions in u and multipliers with it.

    `level` says which ones (POSITIONS, RATES), g is Δq / Δv; rows that are rates without a value are kept as such in either case. Returns the largest violation before the step and the largest
    relative change of a force.
    """
    worst = distribute(c, work, loads, q, v, u, level, g, step)
    law = unpack_tendons(loads[0], loads[1]).law
    n, m = work.hold.shape[0], work.rows.shape[1]
    choice = work.schur[m]
    change = 0.0
    size = 1e-12
    rank = 0
    for k in range(m):
        if choice[k] > 0.0:
            more = work.schur[rank, m]
            rank += 1
            if k < n:
                u[law[k, LAW_INPUT]] += more
                size = max(size, abs(u[law[k, LAW_INPUT]]))
            else:
                work.multiplier[k - n] -= more
                size = max(size, abs(work.multiplier[k - n]))
            change = max(change, abs(more))
    return worst, change / size


@routine
def distribute(c, work, loads, q, v, u, level, g, step):
    """Change a step so that constraints are met; the forces that it takes are left in the last column of work.schur.

    Needs the forward pass at (q, v). Returns the largest violation before.
    """
    n, m = work.hold.shape[0], work.rows.shape[1]
    hold, A = work.hold, work.schur
    choice = A[m]
    tendon_lengths(work, loads, q, v, u, work.rows[2, :n])
    if level == RATES:
        for k in range(n):
            work.tension[k, T_RATE] = 0.0
            for i in range(v.shape[0]):
                work.tension[k, T_RATE] += work.rows[2, k, i] * v[i]
    loop_values(loads, q, v, u, work.zero)
    for k in range(n):
        if (hold[k, HOLD_ACTIVE] == 1.0) != (choice[k] != 0.0):  # a tendon fell slack, or taut, since S was factored
            choose_rows(c, work, work.rows[0])
            break
    worst = 0.0
    rank = 0
    for k in range(m):
        if choice[k] == 0.0:
            continue
        if level == POSITIONS and (k < n or work.closure[k - n, 3] == 0.0):
            gap = work.tension[k, T_LENGTH] - hold[k, HOLD_LENGTH] if k < n else work.closure[k - n, 0]
        else:  # also of rows that have no value
            gap = g * (work.tension[k, T_RATE] - hold[k, HOLD_RATE] if k < n else work.closure[k - n, 1])
        worst = max(worst, abs(gap))
        if choice[k] < 0.0:
            continue
        G = work.rows[0, k]
        A[rank, m] = gap
        for i in range(G.shape[0]):
            A[rank, m] += G[i] * step[i]
        column = 0
        for j in range(m):
            if choice[j] > 0.0:
                A[rank, column] = 0.0
                for i in range(G.shape[0]):
                    A[rank, column] += G[i] * work.rows[1, j, i]
                column += 1
        rank += 1
    solve_small(A, rank, m)
    rank = 0
    for k in range(m):
        if choice[k] > 0.0:
            for i in range(step.shape[0]):
                step[i] -= A[rank, m] * work.rows[1, k, i]
            rank += 1
    return worst


@routine
def project(problem, q, v, spare):
    """Move q until constraints hold, and v until their rates do, by the least amounts that S measures.

    With the derivatives and factors that `prepare_constraints` left. `spare` (nv,) is scratch. Returns the largest violation
    of values left.
    """
    t, work, c, loads, _fronts, u, _tau = problem
    gap = np.inf
    for _ in range(8):
        forward(t, q, v, work.zero, work)
        clear(spare)
        new = distribute(c, work, loads, q, v, u, POSITIONS, 0.0, spare)
        if not new < gap:
            break
        gap = new
        if gap < 1e-14:
            break
        integrate(c.shift, c.spatial, q, spare, q)
    rate = np.inf
    for _ in range(8):
        forward(t, q, v, work.zero, work)
        clear(spare)
        new = distribute(c, work, loads, q, v, u, RATES, 1.0, spare)
        if not new < rate:
            break
        rate = new
        if rate < 1e-14:
            break
        for k in range(v.shape[0]):
            v[k] += spare[k]
    return gap


@routine
def clear(x):
    """Zeros."""
    for k in range(x.shape[0]):
        x[k] = 0.0
