"""The projection of a state (`settle`), linearised.

``δq₁ = P δq + Tᵣ (D δμ + δD μ)`` with ``G₁ δq₁ = −δe`` and ``δv₁ = δv + D δν + δD ν`` with ``G₁ δv₁ + H₁ δq₁ = −δė``, where ``δD μ = W ∂(Gᵀμ)/∂q δq``.
Velocities that change as in an impact are in `impact`.
"""

import numpy as np

from ..._jit import routine
from ..groups import unpack_internal
from ..layout import D_ROW, K_ROW, NO, YES
from ..reverse.tables import add_row_gradient
from ..slots import NEWTON_STEP
from .chart import CARRY, TURN, apply_chart, apply_transposed, set_chart
from .constraints import POSITIONS, RATES, clear, solve_small
from .esdirk import tell
from .impact import impact_back, impact_forward, linearise_impact
from .linearised import rates_by_q, stiffness_of, taut_as
from .prescribed import clear_known
from .record import AFTER_G, AFTER_H, BEFORE_D, BEFORE_G
from .rollout import put_step
from .settle import ROUNDS, counts, directions, rows_at, solve_weighed, weigh, weighed_rows
from .stages import ZERO, stage_problem

CLOSE = 1e-6  # part of the adjoints for which G behind a projection is that before it, from which it differs as little
TINY = 1e-300
NO_FORCE, OF_VALUES, OF_RATES = np.int64(0), np.int64(1), np.int64(2)  # planes of `Lever.other`


@routine
def state_before(problem, tape, rec, k):
    """The tendons and constraints of the projection of state k, and which stage of the tape has the state before it."""
    taut_as(problem.work, rec, k)
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
    """G, D, G₁, H₁, the chart of the move and ∂(Gᵀμ)/∂q, ∂(Gᵀν)/∂q of the projection of state k, from stage i of the tape; of an impact its factors.

    Returns False if these are singular.
    """
    here = stage_problem(problem, tape, i)
    q, v = tape.q[i], tape.v[i]
    rates_by_q(here, rec.q[k], rec.v[k], lever.rows[AFTER_H], lever)
    rows_at(here, rec.q[k], rec.v[k], lever.rows[AFTER_G])
    for plane in range(3):
        stiffness_of(here, q, rec.push[k, max(plane - 1, 0)], 1.0 if plane > 0 else 0.0, lever.other[plane : plane + 1])
    directions(here, q, v, lever.rows[BEFORE_G], lever.rows[BEFORE_D])
    chart_of_move(here, rec, lever, k)
    return rec.impact[k] == 0.0 or linearise_impact(here, tape, rec, lever, k, i)


@routine
def chart_of_move(here, rec, lever, k):
    """The chart of the displacement by the projection of state k."""
    work, c = here.work, here.c
    if c.spatial.shape[0] == 0:
        return
    D, move = lever.rows[BEFORE_D], work.newton[NEWTON_STEP]
    for j in range(move.shape[0]):
        move[j] = 0.0
        for r in range(D.shape[0]):
            move[j] += rec.push[k, 0, r] * D[r, j]
    set_chart(c, move, work.zero, 0.0, lever.chart)


@routine
def bend(lever, plane, x, out):
    """out = ∂(Gᵀμ)/∂q x; plane says which multipliers."""
    K0, K = lever.other[NO_FORCE], lever.other[plane]
    n = K.shape[0]
    for i in range(n):
        out[i] = 0.0
    for i in range(n):
        for j in range(n):
            out[i] += (K[i, j] - K0[i, j]) * x[j]


@routine
def small_solve(problem, lever, level, rhs, out):
    """Solve (G₁ Tᵣ D) out = rhs (m,) for the rows that take part; Tᵣ only for values. Others are zero."""
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
            if level == POSITIONS:
                apply_chart(c, lever.chart, TURN, 1.0, D[j], turned[:nv])
            else:
                for i in range(nv):
                    turned[i] = D[j, i]
            A[rank, column] = 0.0
            for i in range(nv):
                A[rank, column] += G[k, i] * turned[i]
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
def sweep_rows(here, q, v, scale, value, rate, again, gradient):
    """gradient += ∂φ/∂tables of φ = scale (valueᵀ e + rateᵀ ė) at (q, v); its derivatives by q and v are in work.products, zero for what is prescribed.

    `again`: the last sweep was at the same state.
    """
    t, work, c, loads, _fronts, u, _tau = here
    for r in range(work.owed.shape[0]):
        work.owed[r, 0] = scale * value[r]
        work.owed[r, 1] = scale * rate[r]
    add_row_gradient(t, work, loads, q, v, u, again, gradient)
    clear_known(c, work.products[K_ROW])
    clear_known(c, work.products[D_ROW])


@routine
def subtract_rows(G, z, x):
    """x −= Gᵀ z."""
    for r in range(G.shape[0]):
        f = z[r]
        if f != 0.0:
            for j in range(x.shape[0]):
                x[j] -= f * G[r, j]


@routine
def owed_to_rows(here, lever, level, rank, x, part):
    """part (m,) = (G W Gᵀ)⁻¹ Dᵀ x; returns its largest entry."""
    D = lever.rows[BEFORE_D]
    for r in range(D.shape[0]):
        part[r] = dot(D[r], x, D.shape[1])
    solve_weighed(here.work, level, rank, part)
    size = 0.0
    for r in range(D.shape[0]):
        size = max(size, abs(part[r]))
    return size


@routine
def rates_back(here, lever, q, v, lq, lv, z, part):
    """Adjoints z (m,) of the rates that a projection keeps, ``(G₁ D)ᵀ z = Dᵀ v̄``; their products are taken from (q̄, v̄).

    G₁, at the state (q, v) behind it, differs little from the G of D: their matrix is that of the projection itself, and what is left
    over is solved for again. The last part, so small that its product with G₁ is that with G, is left in `part` to be swept together with values.
    Returns whether anything was swept.
    """
    G, products = lever.rows[BEFORE_G], here.work.products
    zero, size, last, swept = lever.vectors[10], 0.0, np.inf, NO
    rank = weigh(here.work, RATES, G, lever.rows[BEFORE_D])
    clear(z)
    clear(zero)
    for _ in range(ROUNDS):
        change = owed_to_rows(here, lever, RATES, rank, lv, part)
        for r in range(z.shape[0]):
            z[r] += part[r]
        if change <= CLOSE * size or not change < last:
            break
        last, size = 0.5 * change, max(size, change)
        sweep_rows(here, q, v, -1.0, zero, part, swept, lever.tables)
        swept = YES
        for j in range(lq.shape[0]):
            lq[j] += products[K_ROW, j]
            lv[j] += products[D_ROW, j]
    subtract_rows(G, part, lv)
    return swept


@routine
def values_back(here, lever, q, v, lq, z, rate, swept, part):
    """Adjoints z (m,) of the values that a projection keeps, ``(G₁ Tᵣ D)ᵀ z = (Tᵣ D)ᵀ q̄``, likewise; `rate` is swept with the first part.

    The last part is left in `part` to be swept with what the directions are owed. `swept`: so was something at this state, just before.
    """
    c, G, products = here.c, lever.rows[BEFORE_G], here.work.products
    x = lever.vectors[7][: lq.shape[0]]
    size, last = 0.0, np.inf
    rank = weigh(here.work, POSITIONS, G, lever.rows[BEFORE_D])
    clear(z)
    for _ in range(ROUNDS):
        apply_transposed(c, lever.chart, TURN, 1.0, lq, x)
        change = owed_to_rows(here, lever, POSITIONS, rank, x, part)
        for r in range(z.shape[0]):
            z[r] += part[r]
        if size > 0.0 and (change <= CLOSE * size or not change < last):
            break
        last, size = 0.5 * change, max(size, change, TINY)
        sweep_rows(here, q, v, -1.0, part, rate, swept, lever.tables)
        swept = YES
        clear(rate)
        for j in range(lq.shape[0]):
            lq[j] += products[K_ROW, j]
    subtract_rows(G, part, lq)


@routine
def bend_back(here, lever, q, push, along, x, slope, left):
    """q̄ += ∂(Gᵀμ)/∂qᵀ W ā, into x (nv,), for the multipliers μ = push of a projection and what is owed to its moves; slope is that of the scales in W.

    The last part `left` of the adjoints of values is swept with it; its product is known.
    """
    c, products = here.c, here.work.products
    moved = False
    for r in range(push.shape[0]):
        moved = moved or push[r] != 0.0
    if not moved:
        return
    y = lever.vectors[8][: x.shape[0]]
    for j in range(x.shape[0]):
        y[j] = c.scale[j] * c.scale[j] * along[j] if c.known[j] == 0 else 0.0
    for r in range(left.shape[0]):
        left[r] = -left[r]
    sweep_rows(here, q, y, 1.0, left, push, NO, lever.tables)
    subtract_rows(lever.rows[BEFORE_G], left, x)
    clear(left)
    for j in range(x.shape[0]):
        x[j] += products[K_ROW, j]
        slope[j] += 2.0 * along[j] * c.scale[j] * products[D_ROW, j]


@routine
def rates_of_impact(here, rec, lever, k, lq):
    """q̄ += ∂(νᵀ G y − zᵀė)/∂q of the impact in state k, with the tables; adjoints y and z are in `lever`."""
    zero, products = lever.vectors[10][: lever.rate.shape[1]], here.work.products
    clear(zero)
    sweep_rows(here, rec.q[k], lever.along[k, 1], 1.0, zero, rec.push[k, 1], NO, lever.tables)
    for j in range(lq.shape[0]):
        lq[j] += products[K_ROW, j]
    sweep_rows(here, rec.q[k], rec.v[k], -1.0, zero, lever.rate[k], NO, lever.tables)
    for j in range(lq.shape[0]):
        lq[j] += products[K_ROW, j]


@routine
def project_back(problem, tape, rec, lever, k, known, lq, lv):
    """Derivatives (lq, lv) by state k after its projection become those by the state before it; adjoints into `lever`. `known`: G before it is there.

    Returns False if those of an impact are singular. With the transposed equations: ``z = (G₁D)⁻ᵀ Dᵀ v̄``, ``v̄ ← v̄ − G₁ᵀ z``, ``q̄ ← q̄ − H₁ᵀ z``, and likewise for values. All products come from
    sweeps over the tables.
    """
    c = problem.c
    nv = lq.shape[0]
    i = state_before(problem, tape, rec, k)
    here = stage_problem(problem, tape, i)
    q, v = tape.q[i], tape.v[i]
    if known:
        weighed_rows(c, lever.rows[BEFORE_G], lever.rows[BEFORE_D])
    else:
        directions(here, q, v, lever.rows[BEFORE_G], lever.rows[BEFORE_D])
    chart_of_move(here, rec, lever, k)
    slope = unpack_internal(problem.loads[0], lever.tables).scale
    left = lever.vectors[8][: lever.rate.shape[1]]
    impact, swept = rec.impact[k] != 0.0, NO
    if impact:
        rows_at(here, rec.q[k], rec.v[k], lever.rows[AFTER_G])
        if not impact_back(here, tape, rec, lever, k, i, lq, lv, lever.along[k, 1], lever.rate[k]):
            return False
        rates_of_impact(here, rec, lever, k, lq)
        clear(left)
    else:
        swept = rates_back(here, lever, rec.q[k], rec.v[k], lq, lv, lever.rate[k], left)
        for j in range(nv):
            lever.along[k, 1, j] = lv[j]
    more = lever.vectors[9][: lever.value.shape[1]]
    values_back(here, lever, rec.q[k], rec.v[k], lq, lever.value[k], left, swept, more)
    x = lever.vectors[7][:nv]
    apply_transposed(c, lever.chart, TURN, 1.0, lq, x)
    for j in range(nv):
        lever.along[k, 0, j] = x[j]
    apply_transposed(c, lever.chart, CARRY, 1.0, lq, x)
    for j in range(nv):
        lq[j] = x[j]
    for plane in range(1 if impact else 2):
        bend_back(here, lever, q, rec.push[k, plane], lever.along[k, plane], lq, slope, more)
    return True


@routine
def project_forward(problem, lever, impact, close, more, dq, dv):
    """Variations (dq, dv) of the state before a projection, with or without `impact`, become those behind it; after `linearise_projection`.

    From outside there may be changes of values and rates of the constraints, close (2, m), and of the projection's moves, more (2, nv).
    """
    c = problem.c
    nv = dq.shape[0]
    G1, H1, D = lever.rows[AFTER_G], lever.rows[AFTER_H], lever.rows[BEFORE_D]
    m = G1.shape[0]
    rhs, mu = lever.vectors[5], lever.vectors[4]
    w, x, y = lever.vectors[6][:nv], lever.vectors[7][:nv], lever.vectors[8][:nv]
    bend(lever, OF_RATES, dq, w)
    bend(lever, OF_VALUES, dq, x)
    for j in range(nv):
        free = 0.0 if c.known[j] == 1 else c.scale[j] * c.scale[j]
        if not impact:
            dv[j] += free * w[j] + more[1, j]
        x[j] = free * x[j] + more[0, j]
    apply_chart(c, lever.chart, TURN, 1.0, x, y)
    apply_chart(c, lever.chart, CARRY, 1.0, dq, w)
    for j in range(nv):
        dq[j] = w[j] + y[j]
    for r in range(m):
        rhs[r] = -dot(G1[r], dq, nv) - close[0, r]
    small_solve(problem, lever, POSITIONS, rhs, mu)
    for r in range(m):
        apply_chart(c, lever.chart, TURN, 1.0, D[r], y)
        for j in range(nv):
            dq[j] += mu[r] * y[j]
    if impact:
        impact_forward(problem, lever, close[1], more[1], dq, dv)
        return
    for r in range(m):
        rhs[r] = -dot(G1[r], dv, nv) - dot(H1[r], dq, nv) - close[1, r]
    small_solve(problem, lever, RATES, rhs, mu)
    for r in range(m):
        for j in range(nv):
            dv[j] += mu[r] * D[r, j]
