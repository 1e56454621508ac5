"""Rollouts with linear feedback: inputs by the state at the start of each knot, and where Newton's iteration starts near a motion that is known.

``u = clip(ū + K (x ⊖ x̄))`` is held for the steps of a knot, with the change of the knot before behind that of the state where the gain has columns for it.
With the maps of the known motion the accelerations of all stages are known to first order in the changes of state and inputs, and factors of its stages
serve the iteration.
"""

from ..._jit import routine
from ..algebra.manifold import relative_log
from ..layout import NO
from ..slots import (
    MARCH_AGAIN,
    MARCH_CONSTANT,
    MARCH_FACTORED,
    MARCH_FRESH,
    MARCH_STAGE,
)
from .constraints import holds
from .esdirk import all_stages, set_weights
from .newton import CONVERGED, EXHAUSTED
from .stages import ZERO


@routine
def change_of_state(c, rec, lever, k):
    """x ⊖ x̄ of state k, into lever.away."""
    x, q, goal = lever.away, rec.q[k], lever.target_q[k]
    nv, nz = rec.v.shape[1], rec.memory.shape[1]
    for j in range(c.shift.shape[0]):
        x[c.shift[j, 1]] = q[c.shift[j, 0]] - goal[c.shift[j, 0]]
    for j in range(c.spatial.shape[0]):
        o = c.spatial[j, 0]
        relative_log(goal, q, o, o, c.spatial[j, 2], x, c.spatial[j, 1])
    for j in range(nv):
        x[nv + j] = rec.v[k, j] - lever.target_v[k, j]
    for j in range(nz):
        x[2 * nv + j] = rec.memory[k, j] - lever.target_z[k, j]


@routine
def feed_back(c, rec, lever, k):
    """Inputs of step k, into the record; changes of state, of the inputs before and of these into lever.away."""
    change_of_state(c, rec, lever, k)
    x, i = lever.away, lever.knot[k]
    nu, size = lever.open.shape[1], 2 * rec.v.shape[1] + rec.memory.shape[1]
    for j in range(nu):
        x[size + j] = rec.inputs[k - 1, 1, j] - lever.target_u[k - 1, j] if k > 0 else 0.0
    held = k > 0 and lever.knot[k - 1] == i
    for j in range(nu):
        if held:
            u = rec.inputs[k - 1, 1, j]
        else:
            row, u = lever.gain[i, j], lever.open[i, j]
            for m in range(row.shape[0]):
                u += row[m] * x[m]
            u = min(max(u, lever.low[i, j]), lever.high[i, j])
        for m in range(rec.inputs.shape[1]):
            rec.inputs[k, m, j] = u
        x[size + nu + j] = u - lever.target_u[k, j]


@routine
def put_guess(tape, lever, k):
    """Accelerations of the stages of step k to first order in the changes in lever.away, into the tape."""
    s, nv = tape.a.shape
    x, nu = lever.away, lever.open.shape[1]
    size = x.shape[0] - 2 * nu
    for i in range(1, s):
        for r in range(nv):
            a, row = lever.target_a[k, i, r], lever.answers[k * s + i, r]
            for j in range(size):
                a += row[j] * x[j]
            for j in range(nu):
                a += row[size + j] * x[size + nu + j]
            tape.a[i, r] = a


@routine
def put_factors(tape, lever, factors, k, g, p):
    """The factors of the first stage of step k of the known motion, if there are some of that kind."""
    if factors.tree or lever.stored.shape[0] == 0 or lever.swaps[k, 0] < 0:
        return
    A, S, n = lever.stored[k], factors.S[0], tape.a.shape[1]
    f = 1.0 / (g * g)
    for i in range(n):
        factors.pivot[i] = lever.swaps[k, i]
        for j in range(i):
            S[i, j] = A[i, j]
        for j in range(i, n):
            S[i, j] = f * A[i, j]
    p[MARCH_FACTORED] = g
    p[MARCH_STAGE] = 1.0


@routine
def guessed_step(problem, tape, lever, factors, k, h, p):
    """Step k from what is known of a motion nearby, without constraints. Returns a status; the usual way is left if it fails."""
    c = problem.c
    if holds(problem.work):
        return EXHAUSTED
    set_weights(c, tape, tape.q[0], tape.v[0], h, p, NO)
    for j in range(tape.a.shape[1]):
        tape.rate[0, j] = tape.v[0, j]
    put_guess(tape, lever, k)
    put_factors(tape, lever, factors, k, h * tape.tableau[1, 1], p)
    p[MARCH_CONSTANT] = h
    p[MARCH_AGAIN] = 1.0
    status = all_stages(problem, tape, factors, NO, ZERO, h, p)
    p[MARCH_AGAIN] = 0.0
    if status == CONVERGED:
        p[MARCH_FRESH] = 0.0
    else:
        p[MARCH_FACTORED] = 0.0
    return status
