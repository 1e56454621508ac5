"""Projection of a state onto its constraints, along directions that are known: what a motion that is differentiated uses.

``q₁ = q ⊕ D μ`` with ``e(q₁) = 0`` and ``v₁ = v + D ν`` with ``ė(q₁, v₁) = 0``, where ``D = W Gᵀ(q)``, G the derivatives of the constraints before the
projection and W the squares of the natural sizes of the coordinates. The result depends on the state alone, not on factors that were kept.

That takes away the drift of a step. Velocities that jump, at the start and where a cable becomes taut, change as in a plastic impact, by impulses:
``v₁ = v + M⁻¹(q₁) Gᵀ(q₁) ν``. Cables that would have to push take no part in it.
"""

import numpy as np

from ..._jit import routine
from ..algebra.manifold import integrate
from ..groups import unpack_tendons
from ..loads.tendons import LAW_INPUT, T_LENGTH, T_RATE
from ..loads.together import loop_closure, loop_values, tendon_lengths
from ..recursion.composite import BESIDE, put_jacobians
from ..recursion.forward import forward
from ..slots import HOLD_ACTIVE, HOLD_LENGTH, HOLD_PUSHES, HOLD_RATE, NEWTON_MOVE
from .constraints import POSITIONS, RATES, choose_rows, clear
from .prescribed import clear_known
from .stages import without_mass

ROUNDS = 20
CLOSED = 1e-14  # m, rad: nothing to be gained by another round
ROUNDING = 1e-9  # of the largest change of a rate by an impact


@routine
def rows_at(problem, q, v, G):
    """Derivatives of all constraints at (q, v) into G (m, nv), zero for what is prescribed; also their values and rates."""
    t, work = problem.t, problem.work
    forward(t, q, v, work.zero, work)
    put_jacobians(t, work, BESIDE)
    put_rows(problem, q, v, G)


@routine
def put_rows(problem, q, v, G):
    """The same where the forward pass has been done and the columns of the steps are known."""
    _t, work, c, loads, _fronts, u, _tau = problem
    n = work.hold.shape[0]
    tendon_lengths(work, loads, q, v, u, G[:n])
    loop_closure(loads, q, v, u, G[n:])
    for k in range(n):
        work.tension[k, T_RATE] = 0.0
        for i in range(v.shape[0]):
            work.tension[k, T_RATE] += G[k, i] * v[i]
    for k in range(G.shape[0]):
        clear_known(c, G[k])


@routine
def misfit(work, k, level):
    """What a constraint lacks, of its value or of its rate; after `rows_at`."""
    n = work.hold.shape[0]
    if level == POSITIONS:
        return work.tension[k, T_LENGTH] - work.hold[k, HOLD_LENGTH] if k < n else work.closure[k - n, 0]
    return work.tension[k, T_RATE] - work.hold[k, HOLD_RATE] if k < n else work.closure[k - n, 1]


@routine
def counts(work, k, level):
    """Whether a constraint takes part in a projection: rows that are rates without a value have none to keep, cables that are slack behind it no rate."""
    n = work.hold.shape[0]
    if k < n:
        return level == POSITIONS or work.hold[k, HOLD_ACTIVE] == 1.0
    return level == RATES or work.closure[k - n, 3] == 0.0


@routine
def weighed_rows(c, G, D):
    """D = W Gᵀ, (m, nv)."""
    for k in range(G.shape[0]):
        for i in range(G.shape[1]):
            D[k, i] = c.scale[i] * c.scale[i] * G[k, i]


@routine
def directions(problem, q, v, G, D):
    """G at a state and D = W Gᵀ, (m, nv); which rows are independent stays in the last row of work.schur."""
    work, c = problem.work, problem.c
    rows_at(problem, q, v, G)
    weighed_rows(c, G, D)
    choose_rows(c, work, G)


@routine
def weigh(work, level, G, D):
    """Cholesky factor of G W Gᵀ for the rows that take part, in the leading part of work.schur. Returns how many there are."""
    A, m = work.schur, G.shape[0]
    choice = A[m]
    rank = 0
    for k in range(m):
        if not (choice[k] > 0.0 and counts(work, k, level)):
            continue
        column = 0
        for j in range(k + 1):
            if choice[j] > 0.0 and counts(work, j, level):
                x = 0.0
                for i in range(G.shape[1]):
                    x += G[k, i] * D[j, i]
                for i in range(column):
                    x -= A[rank, i] * A[column, i]
                A[rank, column] = x / A[column, column] if column < rank else np.sqrt(x)
                column += 1
        rank += 1
    return rank


@routine
def multipliers(problem, q, v, level, rank, push):
    """One round: changes of the multipliers, into push (m,), by which the constraints are met better. Returns the largest misfit before."""
    t, work, _c, loads, _fronts, u, _tau = problem
    n, m = work.hold.shape[0], push.shape[0]
    if n > 0:
        rows_at(problem, q, v, work.rows[2])
    else:
        forward(t, q, v, work.zero, work)
        loop_values(loads, q, v, u, work.zero)
    worst, choice = 0.0, work.schur[m]
    for k in range(m):
        push[k] = 0.0
        if choice[k] != 0.0 and counts(work, k, level):
            push[k] = -misfit(work, k, level)
            worst = max(worst, abs(push[k]))
    solve_weighed(work, level, rank, push)
    return worst


@routine
def solve_weighed(work, level, rank, x):
    """x (m,) becomes (G W Gᵀ)⁻¹ x for the rows that take part, with the factor that `weigh` left; zero for others."""
    A, m = work.schur, x.shape[0]
    choice = A[m]
    row = 0
    for k in range(m):
        if choice[k] > 0.0 and counts(work, k, level):
            A[row, m] = x[k]
            row += 1
    for i in range(rank):
        for j in range(i):
            A[i, m] -= A[i, j] * A[j, m]
        A[i, m] /= A[i, i]
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            A[i, m] -= A[j, i] * A[j, m]
        A[i, m] /= A[i, i]
    row = 0
    for k in range(m):
        x[k] = 0.0
        if choice[k] > 0.0 and counts(work, k, level):
            x[k] = A[row, m]
            row += 1


@routine
def pulled_by(problem, tape, k):
    """The impulse of the tension of tendon k in the step whose end is struck."""
    s = tape.a.shape[0]
    h, j, sum_ = (
        tape.times[s - 1] - tape.times[0],
        unpack_tendons(problem.loads[0], problem.loads[1]).law[k, LAW_INPUT],
        0.0,
    )
    for i in range(1, s):
        sum_ += h * tape.tableau[s - 1, i] * tape.inputs[i, j]
    return sum_


@routine
def cables_push(problem, tape, G, X, push, worst):
    """Whether impulses push cables more than these have pulled in the step; they are slack behind the impact then, and take no part in it any more."""
    work, found = problem.work, False
    for k in range(work.hold.shape[0]):
        hold = work.hold[k]
        if work.schur[G.shape[0], k] > 0.0 and hold[HOLD_ACTIVE] == 1.0 and hold[HOLD_PUSHES] == 0.0:
            effect = 0.0
            for i in range(G.shape[1]):
                effect += G[k, i] * X[k, i]
            if (push[k] - pulled_by(problem, tape, k)) * effect > ROUNDING * worst:
                hold[HOLD_ACTIVE] = 2.0
                found = True
    return found


@routine
def strike(problem, tape, factors, q, v, rows, push, first):
    """Velocities behind a plastic impact, in place, at a state whose constraints are met; its impulses into push (m,). Returns False if the mass matrix is singular.

    At the `first` state of a motion it is known which cables take part.
    """
    work, c, choice = problem.work, problem.c, problem.work.schur[push.shape[0]]
    G, X, change = rows[0], rows[1], work.newton[NEWTON_MOVE]
    rows_at(problem, q, v, G)
    worst = 0.0
    for k in range(G.shape[0]):
        for i in range(v.shape[0]):
            X[k, i] = G[k, i]
        if choice[k] > 0.0 and counts(work, k, RATES):
            worst = max(worst, abs(misfit(work, k, RATES)))
            if not without_mass(problem, tape, factors, q, X[k]):
                return False
            clear_known(c, X[k])
    for _ in range(G.shape[0] + 1):
        rank = weigh(work, RATES, G, X)
        for k in range(G.shape[0]):
            push[k] = -misfit(work, k, RATES)
        solve_weighed(work, RATES, rank, push)
        if first or not cables_push(problem, tape, G, X, push, worst):
            break
    for i in range(v.shape[0]):
        change[i] = 0.0
        for k in range(G.shape[0]):
            change[i] += push[k] * X[k, i]
    for i in range(v.shape[0]):
        v[i] += change[i]
    return True


@routine
def settle(problem, tape, factors, q, v, before, rows, push, more, impact, first):
    """Project a state in place; multipliers into push (2, m). Returns the largest misfit left.

    before (nq,), rows (2, m, nv) and more (2, at least m) are scratch. Which rows are independent is left as it was: factors that are kept have their own.
    """
    work, c = problem.work, problem.c
    G, D, move, change, choice = rows[0], rows[1], work.newton[NEWTON_MOVE], more[0, : rows.shape[1]], more[1]
    for k in range(q.shape[0]):
        before[k] = q[k]
    for k in range(G.shape[0]):
        choice[k] = work.schur[G.shape[0], k]
    directions(problem, q, v, G, D)
    clear(push[0])
    clear(push[1])
    clear(move)
    gap, rank = np.inf, weigh(work, POSITIONS, G, D)
    for _ in range(ROUNDS):
        new = multipliers(problem, q, v, POSITIONS, rank, change)
        if not new < gap:
            break
        gap = new
        if gap < CLOSED:
            break
        for k in range(G.shape[0]):
            push[0, k] += change[k]
            for i in range(v.shape[0]):
                move[i] += change[k] * D[k, i]
        integrate(c.shift, c.spatial, before, move, q)
    if impact and not strike(problem, tape, factors, q, v, rows, push[1], first):
        gap = np.inf
    rate, rank = np.inf, 0 if impact else weigh(work, RATES, G, D)
    for _ in range(0 if impact else ROUNDS):
        new = multipliers(problem, q, v, RATES, rank, change)
        if not new < rate:
            break
        rate = new
        if rate < CLOSED:
            break
        for k in range(G.shape[0]):
            push[1, k] += change[k]
            for i in range(v.shape[0]):
                v[i] += change[k] * D[k, i]
    for k in range(G.shape[0]):
        work.schur[G.shape[0], k] = choice[k]
    return gap
