"""Maps of the steps of a motion: derivatives of the state at the end of each by that at its start and by the inputs in it, all directions at once.

On robots without manifold joints, constraints and memory the charts of `chart` are the identity, so that everything is a sum of the answers ``δA`` of the
stages: with ``w = h a``, ``δVᵢ = δv₀ + Σ wᵢₗ δAₗ`` and ``δXᵢ = x₀ δv₀ + Σ yᵢₗ δAₗ`` for numbers x₀ and y, and ::

    S δAᵢ = B δu − K δq₀ − (x₀ K + D) δv₀ − Σₗ₍ᵢ (yᵢₗ K + wᵢₗ D) δAₗ

has one right-hand side for every direction, side by side in rows. The others go through `pushed`, direction by direction.
"""

from ..._jit import routine
from ..algebra.linear import lu_factor
from ..algebra.tiles import add_product, solve_columns
from ..loads.together import input_columns
from ..slots import MARCH_BUDGET, MARCH_FIRST, MARCH_STEPS, NEWTON_RESIDUAL
from .linearised import restore_step
from .newton import CONVERGED, SINGULAR
from .pushed import push_step
from .residual import all_derivatives
from .rollout import put_step
from .stages import stage_problem


@routine
def share(tape, h, i, l):
    """yᵢₗ: the share of δAₗ in the displacement of stage i."""
    s = 0.0
    for m in range(l, i + 1):
        s += h * tape.tableau[i, m] * h * tape.tableau[m, l]
    return s


@routine
def length(tape, h, i):
    """x₀: how long stage i has been on its way."""
    s = 0.0
    for m in range(1, i + 1):
        s += h * tape.tableau[i, m]
    return s


@routine
def factor_stage(c, g, K, D, M, A, pivot):
    """Factors of S = g² K + g D + M in scaled coordinates. Returns False if it is singular."""
    n, scale, top = A.shape[0], c.scale, 0.0
    for i in range(n):
        row, k, d, m, s = A[i], K[i], D[i], M[i], scale[i]
        for j in range(n):
            row[j] = s * scale[j] * (g * (g * k[j] + d[j]) + m[j])
        top = max(top, abs(row[i]))
    for i in range(n):
        if c.known[i] == 1:
            for j in range(n):
                A[i, j] = 0.0
                A[j, i] = 0.0
            A[i, i] = top
    return lu_factor(A, pivot)


@routine
def plain_stage(problem, tape, lever, k, i, h):
    """δA of stage i of step k for all directions, into lever.answers. Returns False if the stage is singular."""
    work, c, s = problem.work, problem.c, tape.a.shape[0]
    t, _work, _c, loads, _fronts, u, tau = stage_problem(problem, tape, i)
    q, v, a = tape.q[i], tape.v[i], tape.a[i]
    nv, nu = a.shape[0], lever.columns.shape[0]
    g, x0 = tape.tableau[i, i] * h, length(tape, h, i)
    K, D, M = lever.matrices[0], lever.matrices[1], lever.matrices[2]
    all_derivatives(t, work, c, loads, q, v, a, u, tau, work.newton[NEWTON_RESIDUAL], lever.matrices)
    input_columns(t, work, loads, q, v, u, lever.columns)
    last = k if i == 1 else lever.stored.shape[0] - 1
    if not factor_stage(c, g, K, D, M, lever.stored[last], lever.swaps[last]):
        return False
    for j in range(nv):
        if c.known[j] == 1:
            for r in range(nv):
                K[r, j] = 0.0
                D[r, j] = 0.0
    X = lever.answers[k * s + i]
    for r in range(nv):
        row, f = X[r], c.scale[r] if c.known[r] == 0 else 0.0
        for j in range(nv):
            row[j] = -K[r, j]
            row[nv + j] = -x0 * K[r, j] - D[r, j]
        for j in range(nu):
            row[2 * nv + j] = lever.columns[j, r]
        if i == 1:
            for j in range(row.shape[0]):
                row[j] *= f
    if i > 1:
        P = lever.product
        for l in range(1, i):
            y, w = share(tape, h, i, l), h * tape.tableau[i, l]
            if y != 0.0 or w != 0.0:
                for r in range(nv):
                    for j in range(nv):
                        P[r, j] = y * K[r, j] + w * D[r, j]
                add_product(-1.0, P, lever.answers[k * s + l], X)
        for r in range(nv):
            row, f = X[r], c.scale[r] if c.known[r] == 0 else 0.0
            for j in range(row.shape[0]):
                row[j] *= f
    solve_columns(lever.stored[last], lever.swaps[last], X)
    for r in range(nv):
        row, f = X[r], c.scale[r]
        for j in range(row.shape[0]):
            row[j] *= f
    return True


@routine
def plain_end(c, tape, lever, k, h):
    """The map of step k from the answers of its stages."""
    s, nv = tape.a.shape
    last, out = s - 1, lever.maps[k]
    d = out.shape[1]
    x0 = length(tape, h, last)
    for r in range(nv):
        moved, faster = out[r], out[nv + r]
        for j in range(d):
            moved[j] = 0.0
            faster[j] = 0.0
        if c.known[r] == 1:
            continue
        moved[r] = 1.0
        moved[nv + r] = x0
        faster[nv + r] = 1.0
        for l in range(1, s):
            y, w, A = share(tape, h, last, l), h * tape.tableau[last, l], lever.answers[k * s + l, r]
            if tape.tableau[l, l] > 0.0:
                for j in range(d):
                    moved[j] += y * A[j]
                    faster[j] += w * A[j]


@routine
def plain_map(problem, tape, rec, lever, k):
    """The map of step k of a robot without manifold joints, constraints and memory. Returns False if a stage is singular."""
    h = put_step(tape, rec, k)
    restore_step(problem, tape, rec, lever, k, h)
    for i in range(1, tape.a.shape[0]):
        if tape.tableau[i, i] > 0.0 and not plain_stage(problem, tape, lever, k, i, h):
            return False
    plain_end(problem.c, tape, lever, k, h)
    return True


@routine
def put_units(lever, nu):
    """All directions of state and inputs, one after the other."""
    d, nv, nz = lever.dq.shape[0], lever.dq.shape[1], lever.dz.shape[1]
    for j in range(d):
        for r in range(nv):
            lever.dq[j, r] = 1.0 if r == j else 0.0
            lever.dv[j, r] = 1.0 if nv + r == j else 0.0
        for r in range(nz):
            lever.dz[j, r] = 1.0 if 2 * nv + r == j else 0.0
        for i in range(lever.du.shape[1]):
            for r in range(nu):
                lever.du[j, i, r] = 1.0 if 2 * nv + nz + r == j else 0.0


@routine
def pushed_map(problem, tape, rec, lever, factors, k, p):
    """The map of step k of any robot. Returns a status."""
    s, nv = tape.a.shape
    d, nz = lever.dq.shape[0], lever.dz.shape[1]
    put_units(lever, lever.columns.shape[0])
    p[MARCH_FIRST] = float(k)
    status = push_step(problem, tape, rec, lever, factors, p)
    if status != CONVERGED:
        return status
    out = lever.maps[k]
    for j in range(d):
        for r in range(nv):
            out[r, j] = lever.dq[j, r]
            out[nv + r, j] = lever.dv[j, r]
        for r in range(nz):
            out[2 * nv + r, j] = lever.dz[j, r]
    for i in range(1, s):
        X = lever.answers[k * s + i]
        for j in range(d):
            for r in range(nv):
                X[r, j] = lever.da[i, j, r]
    return status


@routine
def step_maps(problem, tape, rec, lever, factors, p):
    """Maps of p[MARCH_BUDGET] steps from p[MARCH_FIRST] on, into lever.maps. Returns a status; p[MARCH_STEPS] is the last that was tried."""
    first = int(p[MARCH_FIRST])
    end = min(rec.t.shape[0] - 1, first + int(p[MARCH_BUDGET]))
    plain = problem.c.spatial.shape[0] == 0 and tape.memory.shape[1] == 0
    for j in range(problem.work.hold.shape[0]):
        for k in range(first, end):
            plain = plain and rec.hold[k, j] == 0.0
    plain = plain and problem.work.closure.shape[0] == 0
    for k in range(first, end):
        p[MARCH_STEPS] = float(k)
        if plain:
            if not plain_map(problem, tape, rec, lever, k):
                return SINGULAR
        else:
            status = pushed_map(problem, tape, rec, lever, factors, k, p)
            if status != CONVERGED:
                return status
    return CONVERGED
