"""Constraints with their forces as unknowns: tendons of prescribed length, and loops.

The unknowns of a Newton step are the increments Δq of the coordinates that are not known and the changes ΔT of tensions
and −λ of multipliers: ``S Δq + Gᵀ ΔT = −r``, ``G Δq = −e`` with ``G = ∂e/∂q``, solved with the factors of S and the small
matrix ``G S⁻¹ Gᵀ``. Its dependent rows, of redundant constraints, get no force.
"""

from ..._jit import routine
from ..groups import unpack_tendons
from ..loads.tendons import T_LENGTH
from ..loads.together import loop_closure, loop_values, tendon_lengths
from .factors import solve_tangent
from .prescribed import clear_known


@routine
def holds(work):
    """Whether any tendon has a prescribed length, or there are loops."""
    count = work.closure.shape[0]
    for k in range(work.hold.shape[0]):
        if work.hold[k, 0] == 1.0:
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


@routine
def solve_small(A, n):
    """Solve A[:n, :n] x = A[:n, n] by elimination with full pivots; x in A[:n, n]. Dependent rows get x = 0.

    Rows are equilibrated first; a pivot below 1e-9 of the largest ends the elimination. Returns the rank.
    """
    rank = 0
    for k in range(n):
        size = 0.0
        for j in range(n):
            size = max(size, abs(A[k, j]))
        if size > 0.0:
            for j in range(n + 1):
                A[k, j] /= size
    # the order of unknowns after exchanges of columns is kept in the last column of a work row: n is small, so search
    order = A[n]
    for k in range(n):
        order[k] = k
    first = 0.0
    for k in range(n):
        best, row, col = 0.0, k, k
        for i in range(k, n):
            for j in range(k, n):
                if abs(A[i, j]) > best:
                    best, row, col = abs(A[i, j]), i, j
        if k == 0:
            first = best
        if best <= 1e-9 * first or best == 0.0:
            break
        rank += 1
        for j in range(n + 1):
            A[k, j], A[row, j] = A[row, j], A[k, j]
        for i in range(n):
            A[i, k], A[i, col] = A[i, col], A[i, k]
        order[k], order[col] = order[col], order[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            if f != 0.0:
                for j in range(k, n + 1):
                    A[i, j] -= f * A[k, j]
    for k in range(rank, n):
        A[k, n] = 0.0
    for k in range(rank - 1, -1, -1):
        for j in range(k + 1, rank):
            A[k, n] -= A[k, j] * A[j, n]
        A[k, n] /= A[k, k]
    for k in range(n):  # back into the order of the unknowns, with the first column as scratch
        A[int(order[k]), 0] = A[k, n]
    for k in range(n):
        A[k, n] = A[k, 0]
    return rank


@routine
def correct_constraints(work, loads, q, v, u, step):
    """Change the step S⁻¹(−r) so that constraints are met, and the tensions in u and multipliers with it.

    Returns the largest violation before the step and the largest relative change of a force.
    """
    law = unpack_tendons(loads[0], loads[1]).law
    n, m = work.hold.shape[0], work.rows.shape[1]
    hold, A = work.hold, work.schur
    tendon_lengths(work, loads, q, v, u, work.rows[2, :n])
    loop_values(loads, q, v, u, step)
    worst = 0.0
    for k in range(m):
        for j in range(m):
            A[k, j] = 0.0
        A[k, k] = 1.0
        A[k, m] = 0.0
        if k < n and hold[k, 0] != 1.0:
            continue
        gap = work.tension[k, T_LENGTH] - hold[k, 1] if k < n else work.closure[k - n, 0]
        worst = max(worst, abs(gap))
        G = work.rows[0, k]
        A[k, m] = gap
        for i in range(G.shape[0]):
            A[k, m] += G[i] * step[i]
        for j in range(m):
            A[k, j] = 0.0
            if j >= n or hold[j, 0] == 1.0:
                for i in range(G.shape[0]):
                    A[k, j] += G[i] * work.rows[1, j, i]
    solve_small(A, m)
    change = 0.0
    size = 1e-12
    for k in range(m):
        if k >= n or hold[k, 0] == 1.0:
            more = A[k, m]
            if k < n:
                u[law[k, 0]] += more
                size = max(size, abs(u[law[k, 0]]))
            else:
                work.multiplier[k - n] -= more
                size = max(size, abs(work.multiplier[k - n]))
            change = max(change, abs(more))
            for i in range(step.shape[0]):
                step[i] -= more * work.rows[1, k, i]
    return worst, change / size
