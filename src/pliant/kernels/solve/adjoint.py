"""The discrete adjoint of a motion: derivatives of a cost by inputs, start and residuals, in one pass backwards.

For the stages of a step from the last to the first, with cotangents Q̄, V̄, Ā, K̄ of what later equations read of a stage (of the last one those
of the state), in the notation of `linearised`:

``Sᵀ y + (g G + g² H E)ᵀ z = Ā + g (V̄ + Tᵣ⁻ᵀ K̄ + g L⁻ᵀ X̄)``, ``G y = 0``, ``X̄ = Tᵣᵀ Q̄ + Cᵀ Tᵣ⁻ᵀ K̄``;
``Q̄ ← Q̄ − (∂r/∂q)ᵀ y − Hᵀ z``, ``V̄ ← V̄ − (∂r/∂v)ᵀ y − Gᵀ z``;  then ``q̄₀ += Pᵀ Q̄``, ``v̄ = V̄ + Tᵣ⁻ᵀ K̄ + g L⁻ᵀ X̄``, ``x̄ = Tᵣᵀ L⁻ᵀ X̄``.

The derivative by inputs is ``Bᵀ y``, by anything that residual and constraints depend on ``−yᵀ ∂r − zᵀ ∂ė``.
"""

import numpy as np

from ..._jit import routine
from ..algebra.dual import vadd, vcross, vdot
from ..algebra.manifold import VELOCITIES
from ..groups import HAS_TENDONS, HAS_WRENCHES, unpack_efforts, unpack_tendons
from ..layout import NO, YES
from ..loads.efforts import E_GAIN, E_INPUT, E_V, effort
from ..loads.tendons import L_TENDON, LAW_INPUT, N_END, N_FIRST, N_V, P_WEIGHT, combine, direction, strain_at
from ..loads.together import input_columns, some_unit_knows
from ..loads.units import INPUTS
from ..recursion.blocks import all_columns
from ..recursion.forward import forward
from ..reverse.tables import add_table_gradient
from ..slots import HOLD_ACTIVE, MARCH_PRODUCTS, MARCH_STEPS
from .chart import CARRY, CURVE, INVERSE, TURN, UNTURN, apply_transposed, set_chart
from .constraints import holds
from .factors import solve_transposed
from .linearised import linearise, restore_step, solve_backward
from .newton import CONVERGED, SINGULAR
from .prescribed import clear_known
from .projected import project_back
from .recollection import held_back, linearise_memory, memory_back, spread_memory
from .record import STAGE_G, STAGE_H
from .rollout import put_step
from .stages import stage_problem

ONE = np.int64(1)
K_ROW, D_ROW, M_ROW = (np.int64(k) for k in (1, 2, 3))  # of `Work.products`
REFINEMENTS, ENOUGH = 30, 1e-10
# which factors a stage is solved with: those without chart and H, or those of all its matrices
OWN, ALL = 0, 1


@routine
def input_products(problem, lever, q, v, y, out):
    """out (nu,) = Bᵀ y, the derivatives of the generalised forces by the inputs times y (nv,)."""
    t, work, _c, loads, _fronts, u, _tau = problem
    ints, floats, _buffer = loads
    nu = u.shape[0]
    for j in range(nu):
        out[j] = 0.0
    if ints[HAS_WRENCHES] > 0 or some_unit_knows(loads, INPUTS):
        forward(t, q, v, work.zero, work)
        all_columns(t, work, ONE, 1.0, 0.0, 0.0)
        input_columns(t, work, loads, q, v, u, lever.columns)
        for j in range(nu):
            for k in range(y.shape[0]):
                out[j] += lever.columns[j, k] * y[k]
        return
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
def solve_inverse(c, chart, x):
    """x becomes L⁻ᵀ x on manifold joints."""
    joints = c.spatial.shape[0]
    for k in range(joints):
        o, n = c.spatial[k, 1], VELOCITIES[c.spatial[k, 2]]
        L = chart[INVERSE * joints + k]
        a = (
            x[o],
            x[o + 1],
            x[o + 2],
            x[o + 3] if n == 6 else 0.0,
            x[o + 4] if n == 6 else 0.0,
            x[o + 5] if n == 6 else 0.0,
        )
        for j in range(n):
            s = 0.0
            for i in range(n):
                s += L[i, j] * a[i]
            x[o + j] = s


@routine
def stage_back(problem, tape, rec, lever, factors, k, i, h, held, together, Q, V):
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
            if not solve_by_products(problem, tape, rec, lever, factors, k, i, held, g, w, Q, V):
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
def sweep_at(here, tape, i, w, held, again, gradient):
    """gradient −= ∂(yᵀr)/∂tables at stage i for w = (y, z), with `held` also zᵀė; minus their derivatives by q, v, a are in work.products."""
    work = here.work
    q, v, a = tape.q[i], tape.v[i], tape.a[i]
    nv = v.shape[0]
    if held:
        for r in range(work.owed.shape[0]):
            work.owed[r, 0] = 0.0
            work.owed[r, 1] = -w[nv + r]
    add_table_gradient(here.t, work, here.c, here.loads, q, v, a, here.u, w[:nv], -1.0, held, again, gradient)


@routine
def solve_part(problem, lever, factors, whole, g, x):
    """x (nv + m,) becomes the solution of the transposed equations of a stage with the factors that `linearise` left; `whole`: those of all equations."""
    c = problem.c
    if whole:
        solve_backward(c, lever, g, x)
        return
    y = x[: c.scale.shape[0]]
    clear_known(c, y)
    for j in range(y.shape[0]):
        y[j] /= g * g
    solve_transposed(problem.t, c, problem.fronts, factors, y)


@routine
def largest(x, scale):
    """Largest |x / scale|."""
    size = 0.0
    for j in range(scale.shape[0]):
        size = max(size, abs(x[j] / scale[j]))
    return size


@routine
def largest_force(x, scale):
    """Largest |x scale|."""
    size = 0.0
    for j in range(scale.shape[0]):
        size = max(size, abs(x[j] * scale[j]))
    return size


@routine
def take_part(here, tape, lever, i, held, again, g, w, Q, V):
    """Add a part of the solution to w, its products to (Q̄, V̄), and take it from what is left of the equation.

    That is ``∂r/∂aᵀ y + g (∂r/∂vᵀ y + Gᵀ z) + g² Eᵀ (∂r/∂qᵀ y + Hᵀ z)`` and ``G y``, by the sweep over the tables.
    """
    c, products, owed = here.c, here.work.products, here.work.owed
    nv = tape.a.shape[1]
    rest, part, turned = lever.vectors[9], lever.vectors[7], lever.vectors[11][:nv]
    for j in range(w.shape[0]):
        w[j] += part[j]
    sweep_at(here, tape, i, part, held, again, lever.tables)
    for j in range(nv):
        Q[j] += products[K_ROW, j]
        V[j] += products[D_ROW, j]
        turned[j] = products[K_ROW, j]
        rest[j] += products[M_ROW, j] + g * products[D_ROW, j]
    if held:
        for r in range(owed.shape[0]):
            rest[nv + r] += owed[r, 2]
    if c.spatial.shape[0] > 0:
        apply_transposed(c, lever.chart, TURN, 1.0, products[K_ROW], turned)
        solve_inverse(c, lever.chart, turned)
    for j in range(nv):
        rest[j] += g * g * turned[j]


@routine
def solve_by_products(problem, tape, rec, lever, factors, k, i, held, g, w, Q, V):
    """w, the right-hand side of a stage, becomes (y, z); Q̄ and V̄ lose the products with the derivatives of r and of constraints.

    The matrix that is factored leaves out the chart of manifold joints and H, and has the tangents of the collocation for spectral rods: what is
    left of the equation is solved for again, where that is slow with all matrices. Products come from the sweep over the tables, which is linear
    in (y, z), so that each part of the solution is swept once. Returns False if it is singular.
    """
    here, c = stage_problem(problem, tape, i), problem.c
    rest, part, given = lever.vectors[9], lever.vectors[7], largest_force(w, c.scale)
    for j in range(w.shape[0]):
        rest[j] = w[j]
        w[j] = 0.0
    direct = c.spatial.shape[0] == 0 and problem.t.colloc.shape[0] == 0 and not held
    level, again, last, before = OWN, NO, np.inf, np.inf
    if not linearise(problem, tape, rec, lever, factors, k, i, g, held, YES):
        return False
    for _ in range(REFINEMENTS):
        left = largest_force(rest, c.scale)
        for j in range(w.shape[0]):
            part[j] = rest[j]
        solve_part(here, lever, factors, held or level == ALL, g, part)
        change, size = largest(part, c.scale), largest(w, c.scale)
        if change <= ENOUGH * size and left <= ENOUGH * given:  # also where it is stiff, and little is much
            break
        if not (change < 0.5 * before and change < 2.0 * last):  # two by two: constraints and forces may take turns
            if level == ALL:
                if change > 1e-7 * size:
                    return False
                break  # rounding
            level = ALL
            if not linearise(problem, tape, rec, lever, factors, k, i, g, held, NO):
                return False
            again, last, before = NO, np.inf, np.inf
            continue
        last, before = change, last
        take_part(here, tape, lever, i, held, again, g, w, Q, V)
        again = YES
        if direct:
            break
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
    for k in range(n - 1, -1, -1):
        p[MARCH_STEPS] = k
        h = put_step(tape, rec, k)
        restore_step(problem, tape, rec, lever, k, h)
        held = holds(work)
        together = p[MARCH_PRODUCTS] != 0.0
        for j in range(nv):
            Q[j] = lever.q[k + 1, j]
            V[j] = lever.v[k + 1, j]
        if held:
            project_back(problem, tape, rec, lever, k + 1, Q, V)
        for i in range(s):
            for j in range(nv):
                lever.back[0, i, j] = 0.0
                lever.back[1, i, j] = 0.0
            for j in range(tape.memory.shape[1]):
                lever.flow[i, j] = 0.0
        for j in range(tape.memory.shape[1]):
            lever.flow[s, j] = lever.memory[k + 1, j]
        for i in range(s - 1, 0, -1):
            if not stage_back(problem, tape, rec, lever, factors, k, i, h, held, together, Q, V):
                return SINGULAR
            for j in range(nv):
                Q[j] = 0.0
                V[j] = 0.0
    for j in range(nv):
        lever.start[0, j] = lever.q[0, j]
        lever.start[1, j] = lever.v[0, j]
    if holds(work):
        project_back(problem, tape, rec, lever, np.int64(0), lever.start[0], lever.start[1])
    return CONVERGED
