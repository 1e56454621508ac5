"""The equation of a stage of a motion, solved transposed: ``Sᵀ y + (g G + g² H E)ᵀ z = w``, ``G y = 0`` (see `adjoint`).

Products with the derivatives of residual and constraints come from the sweep over the tables, which is linear in (y, z), so that each part of a
solution is swept once, and what is left of the equation is known exactly. So factors need not be exact: those of one stage serve the next ones as long as that
takes few parts.

The first part is extrapolated from the adjoints of later steps, with the order that would have served the last one best: where adjoints are smooth it leaves
1e-6 to 1e-10 of the equation.
"""

import numpy as np

from ..._jit import routine
from ..layout import D_ROW, K_ROW, M_ROW, NO, YES
from ..reverse.tables import add_table_gradient
from ..slots import MARCH_FACTORISATIONS, MARCH_ITERATIONS
from .chart import TURN, apply_transposed, solve_inverse
from .factors import solve_transposed
from .linearised import linearise, solve_backward
from .prescribed import clear_known
from .stages import stage_problem

REFINEMENTS, ENOUGH = 30, 1e-10
# which factors a stage is solved with: those without chart and H, or those of all its matrices
OWN, ALL = 0, 1
# of `Lever.keep`: g of the factors that are kept (0: none), their rate of convergence, for how many stages they are not tried again, and after the next failure;
# 1 if those of the next stage are there already
KEPT_G, KEPT_RATE, KEPT_WAIT, KEPT_PAUSE, KEPT_READY = (np.int64(k) for k in range(5))
PAST = 12  # steps that adjoints are extrapolated from at most
# solutions with kept factors at most; from so many on they are renewed at the next stage; both also where constraints make others dear
KEPT_ROUNDS, KEPT_WORTH, KEPT_ROUNDS_HELD, KEPT_WORTH_HELD = 4, 3, 6, 4
LONGEST_PAUSE = 64
SLOW_AT_FIRST, SLOW, RATE_AT_FIRST = 0.1, 0.5, 1e-2
FINE, FINE_FORCE = 1e-11, 1e-8  # parts of solution and right-hand side that are left with kept factors


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
def guess(rec, lever, scale, k, i, out):
    """(y, z) of stage i extrapolated from the steps behind step k, which are as long and hold the same tendons. Returns False if there are none, or it is no use.

    The order is that with the smallest error one step before: that of order n is the difference of order n of the adjoints.
    """
    h, n = rec.t[k + 1] - rec.t[k], 0
    for m in range(k + 1, min(k + 1 + PAST, rec.a.shape[0])):
        if abs(rec.t[m + 1] - rec.t[m] - h) > 1e-9 * h or not holds_same(rec, k, m):
            break
        n += 1
    if n == 0:
        return False
    nv, before = lever.y.shape[2], largest(lever.y[k + 1, i], scale)
    order, least = 1, before
    for m in range(1, n):
        for j in range(nv):
            out[j] = lever.y[k + 1, i, j]
        extrapolate(lever.y, k + 1, i, m, -1.0, out)
        size = largest(out, scale)
        if not size < least:
            break
        order, least = m, size
    for j in range(out.shape[0]):
        out[j] = 0.0
    extrapolate(lever.y, k, i, order, 1.0, out)
    extrapolate(lever.z, k, i, order, 1.0, out[nv:])
    return largest(out, scale) < 2.0 * before


@routine
def extrapolate(x, k, i, order, scale, out):
    """out += scale × what the steps behind k make of x (steps, stages, n) at stage i of step k, by a polynomial through as many as its order."""
    share = scale
    for m in range(1, order + 1):  # binomial coefficients with alternating signs
        share *= (order + 1.0 - m) / m
        f = share if m % 2 == 1 else -share
        row = x[k + m, i]
        for j in range(row.shape[0]):
            out[j] += f * row[j]


@routine
def holds_same(rec, k, m):
    """Whether steps k and m hold the same tendons."""
    same = True
    for j in range(rec.hold.shape[1]):
        same = same and rec.hold[k, j] == rec.hold[m, j]
    return same


@routine
def solve_kept(here, tape, rec, lever, factors, k, i, held, g, given, w, Q, V, p):
    """Solve the equation of a stage, of which `rest` is left, with the factors of another stage. Returns False if that is slow or does not get to rounding.

    What was found by then stays in w, and `rest` is what is left.
    """
    c, keep = here.c, lever.keep
    rest, part = lever.vectors[9], lever.vectors[7]
    rounds, worth = (KEPT_ROUNDS_HELD, KEPT_WORTH_HELD) if held else (KEPT_ROUNDS, KEPT_WORTH)
    keep[KEPT_G] = 0.0
    if not guess(rec, lever, c.scale, k, i, part):
        return False
    if not take_guess(here, tape, lever, i, held, g, given, w, Q, V, p):
        return False
    last, rate = largest(w, c.scale), keep[KEPT_RATE]
    for n in range(rounds):
        for j in range(w.shape[0]):
            part[j] = rest[j]
        solve_part(here, lever, factors, held, g, part)
        change = largest(part, c.scale)
        # parts that grow would have to cancel, and take digits with them
        if not change < (SLOW_AT_FIRST if n == 0 else SLOW) * last:
            return False
        if n > 0:
            rate = change / last
        take_part(here, tape, lever, i, held, YES, g, w, Q, V)
        p[MARCH_ITERATIONS] += 1.0
        last, size = change, largest(w, c.scale)
        if change * rate <= FINE * size and largest_force(rest, c.scale) <= FINE_FORCE * given:
            keep[KEPT_RATE], keep[KEPT_PAUSE] = max(rate, 1e-8), 0.0
            keep[KEPT_G] = g if n + 1 < worth else 0.0
            return True
    return False


@routine
def take_guess(here, tape, lever, i, held, g, given, w, Q, V, p):
    """Take the guess in `part` for a part of the solution. If it leaves more than there was, which is stiff and would cancel, it is taken back; returns whether it was not."""
    c, nv = here.c, Q.shape[0]
    rest, part = lever.vectors[9], lever.vectors[7]
    q, v, right = lever.vectors[2], lever.vectors[3], lever.vectors[5]
    for j in range(nv):
        q[j], v[j] = Q[j], V[j]
    for j in range(w.shape[0]):
        right[j] = rest[j]
    take_part(here, tape, lever, i, held, NO, g, w, Q, V)
    p[MARCH_ITERATIONS] += 1.0
    if largest_force(rest, c.scale) < given:
        return True
    for j in range(w.shape[0]):
        part[j] = -part[j]
    sweep_at(here, tape, i, part, held, YES, lever.tables)
    for j in range(nv):
        Q[j], V[j] = q[j], v[j]
    for j in range(w.shape[0]):
        rest[j], w[j] = right[j], 0.0
    return False


@routine
def solve_by_products(problem, tape, rec, lever, factors, k, i, held, g, w, Q, V, p):
    """w, the right-hand side of a stage, becomes (y, z); Q̄ and V̄ lose the products with the derivatives of r and of constraints. Returns False if it is singular."""
    here, c = stage_problem(problem, tape, i), problem.c
    rest, given = lever.vectors[9], largest_force(w, c.scale)
    for j in range(w.shape[0]):
        rest[j] = w[j]
        w[j] = 0.0
    keep, ready = lever.keep, NO
    if keep[KEPT_READY] != 0.0:
        ready, keep[KEPT_READY] = YES, 0.0
    elif serves(lever, g):
        if solve_kept(here, tape, rec, lever, factors, k, i, held, g, given, w, Q, V, p):
            return True
        keep[KEPT_PAUSE] = min(2.0 * keep[KEPT_PAUSE] + 2.0, LONGEST_PAUSE)
        keep[KEPT_WAIT] = keep[KEPT_PAUSE]
    keep[KEPT_WAIT] = max(keep[KEPT_WAIT] - 1.0, 0.0)
    return solve_own(problem, tape, rec, lever, factors, k, i, held, ready, g, given, w, Q, V, p)


@routine
def serves(lever, g):
    """Whether factors are kept that may be tried."""
    return lever.keep[KEPT_WAIT] == 0.0 and abs(lever.keep[KEPT_G] - g) <= 1e-9 * g


@routine
def solve_own(problem, tape, rec, lever, factors, k, i, held, ready, g, given, w, Q, V, p):
    """Solve what is left of the equation of a stage with its own factors, which may be `ready`. Returns False if it is singular.

    The matrix that is factored leaves out the chart of manifold joints and H of tendons, and has the tangents of the collocation for spectral rods: what is
    left of the equation is solved for again, where that is slow with all matrices.
    """
    here, c, keep = stage_problem(problem, tape, i), problem.c, lever.keep
    rest, part = lever.vectors[9], lever.vectors[7]
    direct = c.spatial.shape[0] == 0 and problem.t.colloc.shape[0] == 0 and not held
    level, again, last, before = OWN, NO, np.inf, np.inf
    if not ready and not linearise(problem, tape, rec, lever, factors, k, i, g, held, YES):
        return False
    p[MARCH_FACTORISATIONS] += 1.0
    keep[KEPT_G], keep[KEPT_RATE] = g, RATE_AT_FIRST
    for n in range(REFINEMENTS):
        left = largest_force(rest, c.scale)
        for j in range(w.shape[0]):
            part[j] = rest[j]
        solve_part(here, lever, factors, held or level == ALL, g, part)
        change, size = largest(part, c.scale), largest(w, c.scale)
        if n > 0 and change <= ENOUGH * size and left <= ENOUGH * given:  # also where it is stiff, and little is much
            break
        if not (change < 0.5 * before and change < 2.0 * last):  # two by two: constraints and forces may take turns
            if level == ALL:
                if change > 1e-7 * size:
                    return False
                break  # rounding
            level = ALL
            p[MARCH_FACTORISATIONS] += 1.0
            if held:
                keep[KEPT_G] = 0.0
            if not linearise(problem, tape, rec, lever, factors, k, i, g, held, NO):
                return False
            again, last, before = NO, np.inf, np.inf
            continue
        last, before = change, last
        take_part(here, tape, lever, i, held, again, g, w, Q, V)
        p[MARCH_ITERATIONS] += 1.0
        again = YES
        if direct:
            break
    return True
