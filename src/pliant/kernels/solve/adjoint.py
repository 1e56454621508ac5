"""The discrete adjoint of a motion: derivatives of a cost by inputs, start and residuals, in one pass backwards.

For the stages of a step from the last to the first, with cotangents Q̄, V̄, Ā, K̄ of what later equations read of a stage (of the last one those
of the state), in the notation of `linearised`:

``Sᵀ y + (g G + g² H E)ᵀ z = Ā + g (V̄ + Tᵣ⁻ᵀ K̄ + g L⁻ᵀ X̄)``, ``G y = 0``, ``X̄ = Tᵣᵀ Q̄ + Cᵀ Tᵣ⁻ᵀ K̄``;
``Q̄ ← Q̄ − (∂r/∂q)ᵀ y − Hᵀ z``, ``V̄ ← V̄ − (∂r/∂v)ᵀ y − Gᵀ z``;  then ``q̄₀ += Pᵀ Q̄``, ``v̄ = V̄ + Tᵣ⁻ᵀ K̄ + g L⁻ᵀ X̄``, ``x̄ = Tᵣᵀ L⁻ᵀ X̄``.

The derivative by inputs is ``Bᵀ y``, by anything that residual and constraints depend on ``−yᵀ ∂r − zᵀ ∂ė``.
"""

import numpy as np

from ..._jit import routine
from ..algebra.dual import get6, vadd, vcross, vdot
from ..algebra.manifold import VELOCITIES
from ..groups import HAS_TENDONS, HAS_WRENCHES, unpack_efforts, unpack_tendons, unpack_wrenches
from ..layout import H_Y, NO, YES
from ..loads.efforts import E_GAIN, E_INPUT, E_V, effort
from ..loads.tendons import L_TENDON, LAW_INPUT, N_END, N_FIRST, N_V, P_WEIGHT, combine, direction, strain_at
from ..loads.together import input_columns, some_unit_knows
from ..loads.units import INPUTS
from ..loads.wrenches import P_INPUT, P_KIND, P_STEP, wrench_at
from ..recursion.composite import BESIDE, put_jacobians
from ..reverse.steps import virtual_motion
from ..slots import HOLD_ACTIVE, MARCH_FACTORISATIONS, MARCH_ITERATIONS, MARCH_PRODUCTS, MARCH_STEPS
from .chart import CARRY, CURVE, TURN, UNTURN, apply_transposed, set_chart, solve_inverse
from .constraints import holds
from .esdirk import recall
from .linearised import hold_as, linearise, restore_step, solve_backward, taut_as
from .newton import CONVERGED, SINGULAR
from .prescribed import clear_known
from .projected import project_back
from .recollection import held_back, linearise_memory, memory_back, spread_memory
from .record import STAGE_G, STAGE_H
from .rollout import put_step
from .stages import stage_problem
from .transposed import KEPT_G, KEPT_READY, holds_same, serves, solve_by_products, sweep_at


@routine
def input_products(problem, lever, q, v, y, out):
    """out (nu,) = Bᵀ y, the derivatives of the generalised forces by the inputs times y (nv,); after a sweep at this state."""
    t, work, _c, loads, _fronts, u, _tau = problem
    ints, floats, _buffer = loads
    nu = u.shape[0]
    for j in range(nu):
        out[j] = 0.0
    if some_unit_knows(loads, INPUTS):
        put_jacobians(t, work, BESIDE)
        input_columns(t, work, loads, q, v, u, lever.columns)
        for j in range(nu):
            for k in range(y.shape[0]):
                out[j] += lever.columns[j, k] * y[k]
        return
    if ints[HAS_WRENCHES] > 0:
        virtual_motion(t, work, y)
        wrenches = unpack_wrenches(ints, floats)
        for k in range(wrenches.place.shape[0]):
            j, step = wrenches.place[k, P_INPUT], wrenches.place[k, P_STEP]
            if j >= 0:
                x, M, F = wrench_at(work.state[step], wrenches.data[k], wrenches.place[k, P_KIND], 1.0)
                turn, shift = get6(work.reverse[step], H_Y)
                out[j] += vdot(turn, vadd(M, vcross(x, F))) + vdot(shift, F)
    if ints[HAS_TENDONS] > 0:  # without their columns
        tendons = unpack_tendons(ints, floats)
        for m in range(tendons.node.shape[0]):
            node = tendons.node[m]
            xi, rate = strain_at(tendons, m, q), combine(node, tendons.phi, y, node[N_V])
            for p in range(node[N_FIRST], node[N_END]):
                d, n, _size = direction(xi, tendons.data[p])
                j = tendons.law[tendons.point[p, L_TENDON], LAW_INPUT]
                out[j] -= tendons.data[p, P_WEIGHT] * vdot(n, vadd(rate[1], vcross(rate[0], d)))
    efforts = unpack_efforts(ints, floats)
    for k in range(efforts.place.shape[0]):
        if efforts.place[k, E_INPUT] >= 0:
            _f, _fs, _fr, free = effort(efforts, k, q, v, u)
            out[efforts.place[k, E_INPUT]] += free * efforts.data[k, E_GAIN] * y[efforts.place[k, E_V]]


@routine
def chart_part(c, chart, Q, K, x, spare):
    """x = Tᵣ⁻ᵀ K̄ and spare = L⁻ᵀ (Tᵣᵀ Q̄ + Cᵀ Tᵣ⁻ᵀ K̄)."""
    apply_transposed(c, chart, UNTURN, 1.0, K, x)
    if c.spatial.shape[0] == 0:
        for j in range(Q.shape[0]):
            spare[j] = Q[j]
        return
    apply_transposed(c, chart, TURN, 1.0, Q, spare)
    for k in range(c.spatial.shape[0]):
        add_curve(c, chart, k, x, spare)
    solve_inverse(c, chart, spare)


@routine
def add_curve(c, chart, k, x, out):
    """out += Cᵀ x on a manifold joint."""
    joints, o = c.spatial.shape[0], c.spatial[k, 1]
    n = VELOCITIES[c.spatial[k, 2]]
    C = chart[CURVE * joints + k]
    for j in range(n):
        for i in range(n):
            out[o + j] += C[i, j] * x[o + i]


@routine
def stage_back(problem, tape, rec, lever, factors, k, i, h, held, together, Q, V, p):
    """Backwards through stage i: from (Q̄, V̄), which are changed, to what stands before it. Returns False if it is singular.

    With `together` the products of the stage's derivatives come from the sweep over the tables, and only their sum is a matrix.
    """
    c = problem.c
    nv = Q.shape[0]
    g = tape.tableau[i, i] * h
    A, K = lever.back[0, i], lever.back[1, i]
    part, x, w = lever.vectors[2][:nv], lever.vectors[3][:nv], lever.vectors[4]
    remembers = tape.memory.shape[1] > 0
    if remembers:
        linearise_memory(problem, tape, lever, i, h)
        memory_back(tape, lever, k, i, g, Q, V)
    if g > 0.0:
        here = stage_problem(problem, tape, i)
        if c.spatial.shape[0] > 0:
            set_chart(c, lever.moves[i], tape.rate[i], g, lever.chart)
        for j in range(problem.work.multiplier.shape[0]):
            problem.work.multiplier[j] = rec.force[k, i, j]
        chart_part(c, lever.chart, Q, K, part, x)
        for j in range(nv):
            w[j] = A[j] + g * (V[j] + part[j] + g * x[j])
        for r in range(lever.size.shape[0]):
            w[nv + r] = 0.0
        if remembers and held:
            held_back(problem.work, here.loads, tape, lever, k, i, w)
        if together:
            if not solve_by_products(problem, tape, rec, lever, factors, k, i, held, g, w, Q, V, p):
                return False
        else:
            if not linearise(problem, tape, rec, lever, factors, k, i, g, held, NO):
                return False
            solve_backward(c, lever, g, w)
            sweep_at(here, tape, i, w, NO, NO, lever.tables)
            subtract_products(lever, w, Q, V)
            if held:
                subtract_rows(lever, w, Q, V)
        leave_adjoints(here, tape, lever, k, i, held, w)
    elif c.spatial.shape[0] > 0:  # it follows from the others
        set_chart(c, lever.moves[i], tape.rate[i], 0.0, lever.chart)
    if remembers:
        spread_memory(problem.work, problem.loads, tape, lever, k, i, h, g > 0.0)
    clear_known(c, Q)
    clear_known(c, V)
    clear_known(c, K)
    chart_part(c, lever.chart, Q, K, part, x)
    for j in range(nv):
        V[j] += part[j] + g * x[j]
    move, start = lever.vectors[5][:nv], lever.vectors[6][:nv]
    apply_transposed(c, lever.chart, TURN, 1.0, x, move)
    apply_transposed(c, lever.chart, CARRY, 1.0, Q, start)
    for j in range(nv):
        lever.q[k, j] += start[j]
        lever.v[k, j] += V[j]
    for m in range(1, i):
        f = h * tape.tableau[i, m]
        if f != 0.0:
            for j in range(nv):
                lever.back[0, m, j] += f * V[j]
                lever.back[1, m, j] += f * move[j]
    return True


@routine
def leave_adjoints(here, tape, lever, k, i, held, w):
    """Adjoints (y, z) of stage i and the derivatives by its inputs, into `lever`."""
    work = here.work
    nv = tape.a.shape[1]
    nu = tape.inputs.shape[1] - nv
    y = lever.y[k, i]
    for j in range(nv):
        y[j] = w[j]
        lever.input[k, i, nu + j] = w[j]
    for r in range(lever.size.shape[0]):
        lever.z[k, i, r] = w[nv + r]
    input_products(here, lever, tape.q[i], tape.v[i], y, lever.input[k, i, :nu])
    if held:
        law = unpack_tendons(here.loads[0], here.loads[1]).law
        for r in range(work.hold.shape[0]):
            if work.hold[r, HOLD_ACTIVE] != 0.0:
                lever.input[k, i, law[r, LAW_INPUT]] = 0.0  # an unknown, not an input


@routine
def subtract_products(lever, w, Q, V):
    """Q̄ −= (∂r/∂q)ᵀ y, V̄ −= (∂r/∂v)ᵀ y."""
    nv = Q.shape[0]
    for i in range(nv):
        y, K, D = w[i], lever.matrices[0, i], lever.matrices[1, i]
        for j in range(nv):
            Q[j] -= K[j] * y
            V[j] -= D[j] * y


@routine
def subtract_rows(lever, w, Q, V):
    """Q̄ −= Hᵀ z, V̄ −= Gᵀ z."""
    nv = Q.shape[0]
    for r in range(lever.size.shape[0]):
        z, G, H = w[nv + r], lever.rows[STAGE_G, r], lever.rows[STAGE_H, r]
        for j in range(nv):
            Q[j] -= H[j] * z
            V[j] -= G[j] * z


@routine
def adjoint(problem, tape, rec, lever, factors, p):
    """All steps backwards; see the top. Returns a status; p[MARCH_STEPS] is the step that failed."""
    work = problem.work
    n, s, nv = rec.a.shape
    Q, V = lever.vectors[0][:nv], lever.vectors[1][:nv]
    p[MARCH_ITERATIONS] = p[MARCH_FACTORISATIONS] = 0.0
    for j in range(lever.keep.shape[0]):
        lever.keep[j] = 0.0
    for k in range(n - 1, -1, -1):
        p[MARCH_STEPS] = k
        if k < n - 1 and not holds_same(rec, k, k + 1):
            lever.keep[KEPT_G] = 0.0
        h = put_step(tape, rec, k)
        restore_step(problem, tape, rec, lever, k, h)
        held = holds(work)
        together = p[MARCH_PRODUCTS] != 0.0
        for j in range(nv):
            Q[j] = lever.q[k + 1, j]
            V[j] = lever.v[k + 1, j]
        taut_as(work, rec, k + 1)
        projected = holds(work)
        hold_as(work, rec, k)
        if projected:
            g, known, impact = tape.tableau[s - 1, s - 1] * h, NO, rec.impact[k + 1] != 0.0
            if (
                held and together and g > 0.0 and not impact and not serves(lever, g)
            ):  # its rows are those of the projection, too
                recall(work, tape, s - 1, h)
                if not linearise(problem, tape, rec, lever, factors, k, s - 1, g, held, YES):
                    return SINGULAR
                lever.keep[KEPT_READY], known = 1.0, YES
            if not project_back(problem, tape, rec, lever, k + 1, known, Q, V):
                return SINGULAR
            if impact:
                lever.keep[KEPT_G] = 0.0  # its factors took their place
            hold_as(work, rec, k)
        for i in range(s):
            for j in range(nv):
                lever.back[0, i, j] = 0.0
                lever.back[1, i, j] = 0.0
            for j in range(tape.memory.shape[1]):
                lever.flow[i, j] = 0.0
        for j in range(tape.memory.shape[1]):
            lever.flow[s, j] = lever.memory[k + 1, j]
        for i in range(s - 1, 0, -1):
            if not stage_back(problem, tape, rec, lever, factors, k, i, h, held, together, Q, V, p):
                return SINGULAR
            for j in range(nv):
                Q[j] = 0.0
                V[j] = 0.0
    for j in range(nv):
        lever.start[0, j] = lever.q[0, j]
        lever.start[1, j] = lever.v[0, j]
    taut_as(work, rec, np.int64(0))
    if holds(work) and not project_back(problem, tape, rec, lever, np.int64(0), NO, lever.start[0], lever.start[1]):
        return SINGULAR
    return CONVERGED
