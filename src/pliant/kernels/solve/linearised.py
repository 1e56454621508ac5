"""One stage of a step, linearised: what adjoints and tangents of a motion share.

With the stage's ``V = v̄ + g A``, ``X = x̄ + g K`` and the chart of `chart`, variations obey ::

    S δA + Pᵀ δρ = B δu − δr − (∂r/∂q) δq̄ − (∂r/∂v) δv̄,    S = g² (∂r/∂q) E + g ∂r/∂v + ∂r/∂a,   E = Tᵣ L⁻¹
    (g G + g² H E) δA = −δė − H δq̄ − G δv̄,                  δq̄ = P δq₀ + Tᵣ L⁻¹ (Tᵣ δx̄ + g δv̄)

where ρ are tensions of held tendons and −λ of loops, G derivatives of lengths and closures, ``P = G`` but for tendons with friction, and ``H = ∂ė/∂q``. Redundant rows and prescribed coordinates take no part.
"""

import numpy as np

from ..._jit import routine
from ..algebra.linear import lu_factor, lu_solve, lu_solve_transposed
from ..algebra.manifold import VELOCITIES
from ..groups import unpack_tendons
from ..loads.tendons import LAW_INPUT, V_FRICTION
from ..loads.together import input_columns, loop_drift
from ..recursion.blocks import all_columns
from ..recursion.forward import forward
from ..slots import HOLD_ACTIVE, NEWTON_MOVE, NEWTON_RESIDUAL
from .chart import INVERSE, TURN, set_chart
from .constraints import choose_rows
from .esdirk import begin_stage
from .factors import factor_tangent
from .prescribed import clear_known
from .record import SPARE_ROWS, STAGE_G, STAGE_H, STAGE_PULL
from .residual import residual_derivatives, residual_tangent
from .settle import put_rows, rows_at
from .stages import put_stage, stage_problem

ONE = np.int64(1)


@routine
def hold_as(work, rec, k):
    """Which tendons were held in step k."""
    for j in range(work.hold.shape[0]):
        work.hold[j, HOLD_ACTIVE] = rec.hold[k, j]


@routine
def taut_as(work, rec, k):
    """Which tendons took part in the projection of state k."""
    for j in range(work.hold.shape[0]):
        work.hold[j, HOLD_ACTIVE] = rec.taut[k, j]


@routine
def restore_step(problem, tape, rec, lever, k, h):
    """The stages of step k as they were, into the tape, from their accelerations; their displacements into lever.moves."""
    work, c = problem.work, problem.c
    s, nv = tape.a.shape
    hold_as(work, rec, k)
    for j in range(nv):
        tape.rate[0, j] = tape.v[0, j]
    for i in range(1, s):
        begin_stage(problem, tape, i, h)
        g = tape.tableau[i, i] * h
        for j in range(nv):
            tape.a[i, j] = rec.a[k, i, j]
            work.newton[NEWTON_MOVE, j] = tape.base[1, j] + g * tape.base[0, j]  # where the chart's iteration starts
        put_stage(c, work, tape, i, g)
        for j in range(tape.inputs.shape[1]):
            tape.inputs[i, j] = rec.inputs[k, i, j]
        for j in range(nv):
            lever.moves[i, j] = work.newton[NEWTON_MOVE, j]
        for j in range(tape.memory.shape[1]):
            tape.memory[i, j] = rec.kept[k, i, j]
            tape.flow[i, j] = (tape.memory[i, j] - work.memory[j]) / g if g > 0.0 else 0.0


@routine
def stiffness_of(problem, q, rho, scale, out):
    """out (1, nv, nv) = ∂r/∂q at rest and without loads but for the tensions and loop forces scale × ρ, which r is linear in; without friction of tendons."""
    t, work, c, loads, _fronts, u, tau = problem
    put_forces(problem, rho, scale)
    work.rubs[0] = 0.0
    residual_tangent(
        t, work, c, loads, q, work.zero, work.zero, u, tau, 1.0, 0.0, 0.0, work.newton[NEWTON_RESIDUAL], out
    )
    work.rubs[0] = 1.0


@routine
def put_forces(problem, rho, scale):
    """Tensions of held tendons and forces of loops = scale × ρ (m,)."""
    work, loads, u = problem.work, problem.loads, problem.u
    n = work.hold.shape[0]
    law = unpack_tendons(loads[0], loads[1]).law
    for k in range(n):
        if work.hold[k, HOLD_ACTIVE] > 0.0:
            u[law[k, LAW_INPUT]] = scale * rho[k]
    for k in range(work.multiplier.shape[0]):
        work.multiplier[k] = -scale * rho[n + k]


@routine
def rates_by_q(problem, q, v, rows, lever):
    """H = ∂ė/∂q (m, nv) of all constraints, into `rows`.

    Of loops by their jets. Of a tendon ``vᵀ ∂(Gᵀ)/∂q``, where ∂(Gᵀ)/∂q is the stiffness of a unit tension. Changes tensions and loop forces.
    """
    t, work, c, loads, _fronts, u, _tau = problem
    n, m, nv = work.hold.shape[0], rows.shape[0], rows.shape[1]
    if m > n:
        forward(t, q, v, work.zero, work)
        all_columns(t, work, ONE, 1.0, 0.0, 0.0)
        loop_drift(work, loads, q, v, u, 1.0, 0.0, 0.0, 0.0, lever.rows[SPARE_ROWS, n:])
        loop_drift(work, loads, q, v, u, 1.0, 0.0, 1.0, 0.0, rows[n:])
        for k in range(n, m):
            for i in range(nv):
                rows[k, i] -= lever.rows[SPARE_ROWS, k, i]
    held = 0
    for k in range(n):
        held += work.hold[k, HOLD_ACTIVE] > 0.0
    if held > 0:
        rho = lever.vectors[11]
        for k in range(m):
            rho[k] = 0.0
        stiffness_of(problem, q, rho, 0.0, lever.other[:1])
        for k in range(n):
            if not work.hold[k, HOLD_ACTIVE] > 0.0:
                continue
            rho[k] = 1.0
            stiffness_of(problem, q, rho, 1.0, lever.other[1:2])
            rho[k] = 0.0
            for j in range(nv):
                rows[k, j] = 0.0
                for i in range(nv):
                    rows[k, j] += v[i] * (lever.other[1, i, j] - lever.other[0, i, j])
    for k in range(m):
        for i in range(nv):
            if c.known[i] == 1:
                rows[k, i] = 0.0


@routine
def put_pulls(here, q, v, lever):
    """Generalised forces of unit tensions and of the forces of loops, into the rows STAGE_PULL: G, but for tendons with friction."""
    t, work, c, loads, _fronts, u, _tau = here
    G, pull = lever.rows[STAGE_G], lever.rows[STAGE_PULL]
    for k in range(G.shape[0]):
        for i in range(G.shape[1]):
            pull[k, i] = G[k, i]
    n, rubs = work.hold.shape[0], False
    if n == 0:
        return
    tendons = unpack_tendons(loads[0], loads[1])
    for k in range(n):
        rubs = rubs or (work.hold[k, HOLD_ACTIVE] > 0.0 and tendons.value[k, V_FRICTION] != 0.0)
    if not rubs:
        return
    forward(t, q, v, work.zero, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)
    input_columns(t, work, loads, q, v, u, lever.columns)
    for k in range(n):
        if tendons.value[k, V_FRICTION] != 0.0:
            for i in range(G.shape[1]):
                pull[k, i] = -lever.columns[tendons.law[k, LAW_INPUT], i]
            clear_known(c, pull[k])


@routine
def times_chart(c, chart, rows):
    """rows (m, nv) become rows E, with E = Tᵣ L⁻¹ on manifold joints."""
    joints = c.spatial.shape[0]
    for k in range(joints):
        o, n = c.spatial[k, 1], VELOCITIES[c.spatial[k, 2]]
        T, L = chart[TURN * joints + k], chart[INVERSE * joints + k]
        for r in range(rows.shape[0]):
            x0, x1, x2, x3, x4, x5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            row = rows[r]
            for i in range(n):
                e = row[o + i]
                x0 += e * T[i, 0]
                x1 += e * T[i, 1]
                x2 += e * T[i, 2]
                if n == 6:
                    x3 += e * T[i, 3]
                    x4 += e * T[i, 4]
                    x5 += e * T[i, 5]
            x = (x0, x1, x2, x3, x4, x5)
            for j in range(n):
                s = 0.0
                for i in range(n):
                    s += x[i] * L[i, j]
                row[o + j] = s


@routine
def linearise(problem, tape, rec, lever, factors, k, i, g, held, together):
    """Matrices of stage i of step k and the factors of its equations, into `lever`. Returns False if they are singular.

    With `together` only the factors of their sum S, with E = 1 and, for tendons, H = 0; without constraints those of S / g² in `factors`. The tape has the
    stages (`restore_step`).
    """
    work, c = problem.work, problem.c
    here = stage_problem(problem, tape, i)
    t, _work, _c, loads, fronts, u, tau = here
    q, v, a = tape.q[i], tape.v[i], tape.a[i]
    if c.spatial.shape[0] > 0:
        set_chart(c, lever.moves[i], tape.rate[i], g, lever.chart)
    if held and not together:
        rates_by_q(here, q, v, lever.rows[STAGE_H], lever)
        for j in range(u.shape[0]):
            u[j] = rec.inputs[k, i, j]  # tensions are changed there
        rows_at(here, q, v, lever.rows[STAGE_G])
        choose_rows(c, work, lever.rows[STAGE_G])
        put_pulls(here, q, v, lever)
    for j in range(work.multiplier.shape[0]):
        work.multiplier[j] = rec.force[k, i, j]
    r = work.newton[NEWTON_RESIDUAL]
    if together and not held:
        return factor_tangent(t, work, c, loads, fronts, q, v, a, u, tau, 1.0 / g, 1.0 / (g * g), r, factors)
    if together:
        residual_tangent(t, work, c, loads, q, v, a, u, tau, g * g, g, 1.0, r, lever.matrices[:1])
        put_rows(here, q, v, lever.rows[STAGE_G])
        choose_rows(c, work, lever.rows[STAGE_G])
        known_rates_by_q(here, q, v, g, lever.rows[STAGE_H], lever)
    else:
        residual_derivatives(t, work, c, loads, q, v, a, u, tau, r, lever.matrices)
    return factor(c, work, lever, g, held, together)


@routine
def known_rates_by_q(problem, q, v, g, rows, lever):
    """H of loops from the columns that a tangent with the weights g², g, 1 left: ``g² H + g G`` are the derivatives of ė with these. That of tendons is left out."""
    work, c, loads, u = problem.work, problem.c, problem.loads, problem.u
    n, m = work.hold.shape[0], rows.shape[0]
    for k in range(n):
        for j in range(rows.shape[1]):
            rows[k, j] = 0.0
    if m == n:
        return
    spare, G = lever.rows[SPARE_ROWS], lever.rows[STAGE_G]
    loop_drift(work, loads, q, v, u, g * g, g, 0.0, 0.0, spare[n:])
    loop_drift(work, loads, q, v, u, g * g, g, 1.0, 0.0, rows[n:])
    for k in range(n, m):
        for j in range(rows.shape[1]):
            rows[k, j] = ((rows[k, j] - spare[k, j]) / g - G[k, j]) / g
        clear_known(c, rows[k])


@routine
def factor(c, work, lever, g, held, together):
    """Factors of the equations of a stage in scaled coordinates, from its matrices. Returns False if they are singular."""
    A, scale = lever.kkt, c.scale
    K, D, M = lever.matrices[0], lever.matrices[1], lever.matrices[2]
    nv = scale.shape[0]
    m = A.shape[0] - nv
    for i in range(nv):
        for j in range(nv):
            A[i, j] = K[i, j]
    if c.spatial.shape[0] > 0 and not together:
        times_chart(c, lever.chart, A[:nv])
    top = 0.0
    for i in range(nv):
        row, s = A[i], scale[i]
        if together:
            for j in range(nv):
                row[j] *= s * scale[j]
        else:
            for j in range(nv):
                row[j] = s * scale[j] * (g * (g * row[j] + D[i, j]) + M[i, j])
        top = max(top, abs(row[i]))
    for i in range(nv):
        if c.known[i] == 1:
            for j in range(nv):
                A[i, j] = 0.0
                A[j, i] = 0.0
            A[i, i] = top
    if m > 0:
        add_constraint_rows(c, work, lever, g, top, held, STAGE_G if together else STAGE_PULL)
    return lu_factor(A, lever.pivot)


@routine
def add_constraint_rows(c, work, lever, g, top, held, pulls):
    """The rows g G + g² H E of the constraints that take part, and columns of their forces, from the rows `pulls`; each of the size of the stiffness."""
    A, scale, G, pull = lever.kkt, c.scale, lever.rows[STAGE_G], lever.rows[pulls]
    nv = scale.shape[0]
    m = A.shape[0] - nv
    for k in range(m):
        for j in range(nv):
            A[nv + k, j] = lever.rows[STAGE_H, k, j] if held else 0.0
    if c.spatial.shape[0] > 0:
        times_chart(c, lever.chart, A[nv:])
    for k in range(m):
        size = 0.0
        if held and work.schur[m, k] > 0.0:
            for j in range(nv):
                size += (scale[j] * G[k, j]) ** 2
        lever.size[k] = top / np.sqrt(size) if size > 0.0 else 0.0
        for j in range(nv):
            A[nv + k, j] = lever.size[k] * scale[j] * (g * A[nv + k, j] + G[k, j])
            A[j, nv + k] = lever.size[k] * scale[j] * pull[k, j] if held else 0.0
        for j in range(m):
            A[nv + k, nv + j] = top if j == k and lever.size[k] == 0.0 else 0.0
        if lever.size[k] == 0.0:
            for j in range(nv):
                A[nv + k, j] = 0.0
                A[j, nv + k] = 0.0


@routine
def solve_forward(c, lever, g, x):
    """x (nv + m,) = (forces, rates) becomes (δA, δρ)."""
    scale, nv = c.scale, c.scale.shape[0]
    for i in range(nv):
        x[i] = 0.0 if c.known[i] == 1 else x[i] * scale[i]
    for k in range(lever.size.shape[0]):
        x[nv + k] *= lever.size[k] / g
    lu_solve(lever.kkt, lever.pivot, x)
    for i in range(nv):
        x[i] *= scale[i]
    for k in range(lever.size.shape[0]):
        x[nv + k] *= lever.size[k]


@routine
def solve_backward(c, lever, g, x):
    """x (nv + m,) = (derivatives by δA, by δρ) becomes (y, z): the adjoints of forces and of rates."""
    scale, nv = c.scale, c.scale.shape[0]
    for i in range(nv):
        x[i] = 0.0 if c.known[i] == 1 else x[i] * scale[i]
    for k in range(lever.size.shape[0]):
        x[nv + k] *= lever.size[k]
    lu_solve_transposed(lever.kkt, lever.pivot, x)
    for i in range(nv):
        x[i] *= scale[i]
    for k in range(lever.size.shape[0]):
        x[nv + k] *= lever.size[k] / g
