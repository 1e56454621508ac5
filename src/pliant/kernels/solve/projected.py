"""The projection of a state (`settle`), linearised.

``δq₁ = P δq + Tᵣ (D δμ + δD μ)`` with ``G₁ δq₁ = −δe`` and ``δv₁ = δv + D δν + δD ν`` with ``G₁ δv₁ + H₁ δq₁ = −δė``, where ``δD μ = W ∂(Gᵀμ)/∂q δq``.
"""

import numpy as np

from ..._jit import routine
from ..slots import NEWTON_STEP
from .chart import CARRY, TURN, apply_chart, apply_transposed, set_chart
from .constraints import POSITIONS, RATES, solve_small
from .esdirk import tell
from .linearised import rates_by_q, stiffness_of
from .record import AFTER_G, AFTER_H, BEFORE_D, BEFORE_G
from .rollout import put_step
from .settle import counts, directions, rows_at
from .stages import ZERO, stage_problem

NO_FORCE, OF_VALUES, OF_RATES = np.int64(0), np.int64(1), np.int64(2)  # planes of `Lever.other`


@routine
def state_before(problem, tape, rec, k):
    """The problem of the projection of state k, with what constraints follow there, and which stage of the tape has the state before it."""
    i = tape.a.shape[0] - 1
    if k == 0:
        i = 0
        put_step(tape, rec, ZERO)
        for j in range(tape.q.shape[1]):
            tape.q[0, j] = rec.begin_q[j]
        for j in range(tape.v.shape[1]):
            tape.v[0, j] = rec.begin_v[j]
    tell(problem, tape, i)
    return i


@routine
def linearise_projection(problem, tape, rec, lever, k, i):
    """G, D, G₁, H₁, the chart of the move and ∂(Gᵀμ)/∂q, ∂(Gᵀν)/∂q of the projection of state k, from stage i of the tape."""
    work, c = problem.work, problem.c
    here = stage_problem(problem, tape, i)
    q, v = tape.q[i], tape.v[i]
    rates_by_q(here, rec.q[k], rec.v[k], lever.rows[AFTER_H], lever)
    rows_at(here, rec.q[k], rec.v[k], lever.rows[AFTER_G])
    for plane in range(3):
        stiffness_of(here, q, rec.push[k, max(plane - 1, 0)], 1.0 if plane > 0 else 0.0, lever.other[plane : plane + 1])
    D, move = lever.rows[BEFORE_D], work.newton[NEWTON_STEP]
    directions(here, q, v, lever.rows[BEFORE_G], D)
    for j in range(move.shape[0]):
        move[j] = 0.0
        for r in range(D.shape[0]):
            move[j] += rec.push[k, 0, r] * D[r, j]
    if c.spatial.shape[0] > 0:
        set_chart(c, move, work.zero, 0.0, lever.chart)


@routine
def bend(lever, plane, x, transposed, out):
    """out = ∂(Gᵀμ)/∂q x, or its transposed; plane says which multipliers."""
    K0, K = lever.other[NO_FORCE], lever.other[plane]
    n = K.shape[0]
    for i in range(n):
        out[i] = 0.0
    for i in range(n):
        for j in range(n):
            d = K[i, j] - K0[i, j]
            if transposed:
                out[j] += d * x[i]
            else:
                out[i] += d * x[j]


@routine
def small_solve(problem, lever, level, transposed, rhs, out):
    """Solve (G₁ Tᵣ D) out = rhs (m,), or with the transposed matrix, for the rows that take part; Tᵣ only for values. Others are zero."""
    work, c = problem.work, problem.c
    A, G, D = work.schur, lever.rows[AFTER_G], lever.rows[BEFORE_D]
    m, nv = G.shape[0], G.shape[1]
    choice, turned = A[m], lever.vectors[9]
    rank = 0
    for k in range(m):
        if not (choice[k] > 0.0 and counts(work, k, level)):
            continue
        column = 0
        for j in range(m):
            if not (choice[j] > 0.0 and counts(work, j, level)):
                continue
            d, row = (k, j) if transposed else (j, k)
            if level == POSITIONS:
                apply_chart(c, lever.chart, TURN, 1.0, D[d], turned[:nv])
            else:
                for i in range(nv):
                    turned[i] = D[d, i]
            A[rank, column] = 0.0
            for i in range(nv):
                A[rank, column] += G[row, i] * turned[i]
            column += 1
        A[rank, m] = rhs[k]
        rank += 1
    solve_small(A, rank, m)
    rank = 0
    for k in range(m):
        out[k] = 0.0
        if choice[k] > 0.0 and counts(work, k, level):
            out[k] = A[rank, m]
            rank += 1


@routine
def dot(x, y, n):
    """Σ xᵢ yᵢ of the first n entries."""
    s = 0.0
    for i in range(n):
        s += x[i] * y[i]
    return s


@routine
def project_back(problem, tape, rec, lever, k, lq, lv):
    """Derivatives (lq, lv) by state k after its projection become those by the state before it; adjoints into `lever`.

    With the transposed equations: ``z = (G₁D)⁻ᵀ Dᵀ v̄``, ``v̄ ← v̄ − G₁ᵀ z``, ``q̄ ← q̄ − H₁ᵀ z``, and likewise for values.
    """
    c = problem.c
    nv = lq.shape[0]
    i = state_before(problem, tape, rec, k)
    linearise_projection(problem, tape, rec, lever, k, i)
    G1, H1, D = lever.rows[AFTER_G], lever.rows[AFTER_H], lever.rows[BEFORE_D]
    m = G1.shape[0]
    rhs, w, x, y = lever.vectors[5], lever.vectors[6][:nv], lever.vectors[7][:nv], lever.vectors[8][:nv]
    z = lever.rate[k]
    for r in range(m):
        rhs[r] = dot(D[r], lv, nv)
    small_solve(problem, lever, RATES, True, rhs, z)
    for r in range(m):
        for j in range(nv):
            lv[j] -= z[r] * G1[r, j]
            lq[j] -= z[r] * H1[r, j]
    for j in range(nv):
        lever.along[k, 1, j] = lv[j]
    z = lever.value[k]
    apply_transposed(c, lever.chart, TURN, 1.0, lq, x)
    for r in range(m):
        rhs[r] = dot(D[r], x, nv)
    small_solve(problem, lever, POSITIONS, True, rhs, z)
    for r in range(m):
        for j in range(nv):
            lq[j] -= z[r] * G1[r, j]
    apply_transposed(c, lever.chart, TURN, 1.0, lq, x)
    for j in range(nv):
        lever.along[k, 0, j] = x[j]
    apply_transposed(c, lever.chart, CARRY, 1.0, lq, w)
    for j in range(nv):
        lq[j] = w[j]
    for plane in range(2):
        for j in range(nv):
            x[j] = c.scale[j] * c.scale[j] * lever.along[k, plane, j] if c.known[j] == 0 else 0.0
        bend(lever, OF_VALUES + plane, x, True, y)
        for j in range(nv):
            lq[j] += y[j] if c.known[j] == 0 else 0.0


@routine
def project_forward(problem, lever, close, more, dq, dv):
    """Variations (dq, dv) of the state before a projection become those behind it; after `linearise_projection`.

    From outside there may be changes of values and rates of the constraints, close (2, m), and of the projection's moves, more (2, nv).
    """
    c = problem.c
    nv = dq.shape[0]
    G1, H1, D = lever.rows[AFTER_G], lever.rows[AFTER_H], lever.rows[BEFORE_D]
    m = G1.shape[0]
    rhs, mu = lever.vectors[5], lever.vectors[4]
    w, x, y = lever.vectors[6][:nv], lever.vectors[7][:nv], lever.vectors[8][:nv]
    bend(lever, OF_RATES, dq, False, w)
    bend(lever, OF_VALUES, dq, False, x)
    for j in range(nv):
        free = 0.0 if c.known[j] == 1 else c.scale[j] * c.scale[j]
        dv[j] += free * w[j] + more[1, j]
        x[j] = free * x[j] + more[0, j]
    apply_chart(c, lever.chart, TURN, 1.0, x, y)
    apply_chart(c, lever.chart, CARRY, 1.0, dq, w)
    for j in range(nv):
        dq[j] = w[j] + y[j]
    for r in range(m):
        rhs[r] = -dot(G1[r], dq, nv) - close[0, r]
    small_solve(problem, lever, POSITIONS, False, rhs, mu)
    for r in range(m):
        apply_chart(c, lever.chart, TURN, 1.0, D[r], y)
        for j in range(nv):
            dq[j] += mu[r] * y[j]
    for r in range(m):
        rhs[r] = -dot(G1[r], dv, nv) - dot(H1[r], dq, nv) - close[1, r]
    small_solve(problem, lever, RATES, False, rhs, mu)
    for r in range(m):
        for j in range(nv):
            dv[j] += mu[r] * D[r, j]
