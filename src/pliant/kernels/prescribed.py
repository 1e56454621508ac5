"""Known coordinates, which are eliminated, and tendons of known length, whose tensions are unknowns.

The unknowns of a Newton step are the increments Δq of the coordinates that are not known and the changes ΔT of the
tensions: ``S Δq + Gᵀ ΔT = −r``, ``G Δq = −(ℓ − L)`` with ``G = ∂ℓ/∂q``, solved with the factors of S and the small matrix
``G S⁻¹ Gᵀ``.
"""

from .._jit import routine
from .linear import lu_solve
from .loads import tendon_lengths
from .manifold import relative_log
from .tendons import T_LENGTH


@routine
def read_known(c, work, q0, q1, v1, w1):
    """Displacements from q₀ to the known coordinates in q₁, and their velocities and accelerations, into work.known."""
    known = work.known
    for k in range(c.known.shape[0]):
        known[0, k] = 0.0
        known[1, k] = v1[k]
        known[2, k] = w1[k]
    for k in range(c.shift.shape[0]):
        known[0, c.shift[k, 1]] = q1[c.shift[k, 0]] - q0[c.shift[k, 0]]
    for k in range(c.spatial.shape[0]):
        o, i = c.spatial[k, 0], c.spatial[k, 1]
        if c.known[i] == 1:
            relative_log(q0, q1, o, o, c.spatial[k, 2] == 1, known[0], i)


@routine
def put_known(c, work, move, v1, w1, a1):
    """Write the known motion into the unknowns of a step."""
    for k in range(c.known.shape[0]):
        if c.known[k] == 1:
            move[k] = work.known[0, k]
            v1[k] = work.known[1, k]
            w1[k] = work.known[2, k]
            a1[k] = work.known[2, k]


@routine
def clear_known(c, x):
    """Zero the entries of known coordinates."""
    for k in range(c.known.shape[0]):
        if c.known[k] == 1:
            x[k] = 0.0


@routine
def eliminate(c, A):
    """Unit rows and columns for known coordinates."""
    n = A.shape[0]
    for k in range(n):
        if c.known[k] == 1:
            for j in range(n):
                A[k, j] = 0.0
                A[j, k] = 0.0
            A[k, k] = 1.0


@routine
def holds(work):
    """Whether any tendon has a prescribed length."""
    count = 0
    for k in range(work.hold.shape[0]):
        if work.hold[k, 0] == 1.0:
            count += 1
    return count > 0


@routine
def prepare_lengths(c, work, loads, q, v, u, S, pivot):
    """G, S⁻¹Gᵀ for the (scaled) factors of S; the columns of the steps must be known (after `residual_tangent`)."""
    tendon_lengths(work, loads, q, v, u, work.rows[0])
    scale = c.scale
    for k in range(work.hold.shape[0]):
        G, X = work.rows[0, k], work.rows[1, k]
        clear_known(c, G)
        for i in range(G.shape[0]):
            X[i] = scale[i] * G[i]
        lu_solve(S, pivot, X)
        for i in range(G.shape[0]):
            X[i] *= scale[i]


@routine
def solve_small(A, n):
    """Solve A[:n, :n] x = A[:n, n] in place by elimination with pivots; x in A[:n, n]."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        for j in range(n + 1):
            A[k, j], A[best, j] = A[best, j], A[k, j]
        if A[k, k] == 0.0:
            continue
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            for j in range(k, n + 1):
                A[i, j] -= f * A[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            A[k, n] -= A[k, j] * A[j, n]
        A[k, n] = A[k, n] / A[k, k] if A[k, k] != 0.0 else 0.0


@routine
def correct_lengths(work, loads, law, q, v, u, step):
    """Change the step S⁻¹(−r) so that prescribed lengths are met, and the tensions in u with it."""
    tendon_lengths(work, loads, q, v, u, work.rows[2])
    hold, A = work.hold, work.schur
    n = hold.shape[0]
    for k in range(n):
        for j in range(n):
            A[k, j] = 0.0
        A[k, k] = 1.0
        A[k, n] = 0.0
        if hold[k, 0] == 1.0:
            G = work.rows[0, k]
            A[k, n] = work.tension[k, T_LENGTH] - hold[k, 1]
            for i in range(G.shape[0]):
                A[k, n] += G[i] * step[i]
            for j in range(n):
                A[k, j] = 0.0
                if hold[j, 0] == 1.0:
                    for i in range(G.shape[0]):
                        A[k, j] += G[i] * work.rows[1, j, i]
    solve_small(A, n)
    for k in range(n):
        if hold[k, 0] == 1.0:
            u[law[k, 0]] += A[k, n]
            for i in range(step.shape[0]):
                step[i] -= A[k, n] * work.rows[1, k, i]
