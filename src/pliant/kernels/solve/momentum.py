"""Momentum kept exactly: steps between two kicks.

A tree that floats freely, and on which nothing acts but uniform gravity, obeys

``P = P₀ + m g t``,  ``L = L₀`` about its centre of mass,  ``c = c₀ + (P₀/m) t + ½ g t²``.

What a step misses of P and L is made up by a rigid motion of the tree, a change of the root's twist that leaves all velocities inside as
they are. Half of it comes before the step and half behind it, the same body twist κ, so that a symmetric method stays symmetric, which
projection at its end alone would not leave it. With the momentum ``B κ`` of a tree that moves with its root, ``(B₀ + B₁) κ = (ΔL, ΔP)`` but for what
the step makes of the first half, so that two or three rounds are enough. What is missed of c is made up by a shift, which changes nothing else.
The laws are those of the start of the run, so that rounding does not add up.
"""

import numpy as np

from ..._jit import routine
from ..algebra.dual import get3, get6, get9, mtv, mv, put3, put6, vadd, vcross, vscale, vsub
from ..algebra.linear import lu_factor, lu_solve
from ..layout import MASSLESS, PE, PLACE_R, RE, RIGID, S_INERTIA, VE
from ..recursion.columns import unit_twist
from ..recursion.forward import forward
from ..recursion.inertia import general_inertia, rigid_inertia
from ..slots import MARCH_AGAIN, MARCH_CONSERVE, MARCH_T, OPTION_NEWTON
from .esdirk import esdirk_step
from .newton import CONVERGED, SINGULAR
from .stages import ZERO

# columns of `Tape.free`: first step of the tree, the one behind its last; of its root the block, the step, first velocity and coordinate
FIRST, END, ROOT_BLOCK, ROOT_STEP, ROOT_V, ROOT_Q = (np.int64(k) for k in range(6))
# columns of `Tape.law`: P₀ and L₀ of the tree, c₀ in the world, the time at which they were so
LAW_P, LAW_L, LAW_C, LAW_T = (np.int64(k) for k in (0, 3, 6, 9))
# columns of `Tape.kick`, twists of the root: half of what the step is given, what is missing at its end, what to add to the half; the root's at the
# start of the step; and B there, by rows
KICK, MISSING, MORE, KEPT, MAP = (np.int64(k) for k in (0, 6, 12, 18, 24))
KICK_WIDTH = 60

ROUNDS = 6  # of a step, until the kick is the same at both ends
ENOUGH = 100.0  # times Newton's tolerance: what is missed by less is made up at the end alone


@routine
def sum_tree(problem, tree):
    """Locked inertia at the root and momentum (L, P) about the centre of mass of a tree, into work.law[0] and work.law[1, 0].

    Needs `forward`. Returns mass and centre of mass, relative to the root: trees far from each other lose no digits.
    """
    t, work = problem.t, problem.work
    inertia, momentum, twist = work.law[0], work.law[1, 0], work.law[1, 1]
    o = get3(work.state[tree[ROOT_STEP]], PE)
    for r in range(6):
        momentum[r] = 0.0
        for k in range(6):
            inertia[r, k] = 0.0
    for i in range(tree[FIRST], tree[END]):
        kind, row, M = t.step[i, S_INERTIA], work.state[i], work.inertia[i]
        if kind == MASSLESS:
            continue
        R, x, V = get9(row, RE), vsub(get3(row, PE), o), get6(row, VE)
        V = (V[0], vadd(V[1], vcross(V[0], o)))
        if kind == RIGID:
            rigid_inertia(t.data[i], R, x, V, M, work.bias[i])
        else:
            general_inertia(t.data[i], R, x, V, M, work.bias[i])
        put6(twist, 0, V)
        for r in range(6):
            for k in range(6):
                inertia[r, k] += M[r, k]
                momentum[r] += M[r, k] * twist[k]
    m = inertia[3, 3]
    c = (inertia[2, 4] / m, inertia[0, 5] / m, inertia[1, 3] / m)
    put3(momentum, 0, vsub(get3(momentum, 0), vcross(c, get3(momentum, 3))))
    return m, c


@routine
def look_at(problem, tape, i):
    """Motion of every step in stage i."""
    forward(problem.t, tape.q[i], tape.v[i], problem.work.zero, problem.work)


@routine
def in_world(problem, tree, x):
    """A point relative to the root of a tree."""
    work = problem.work
    return vadd(x, vadd(get3(work.state[tree[ROOT_STEP]], PE), get3(work.origin, 0)))


@routine
def map_root(problem, tree, c):
    """The matrix B into work.law[2]: momentum (L, P) of a tree with centre c that moves with each body twist of its root; needs `sum_tree`."""
    work = problem.work
    inertia, out, V = work.law[0], work.law[2], work.law[1, 1]
    row = work.state[tree[ROOT_STEP]]
    for k in range(6):
        e = unit_twist(k)
        put6(V, 0, (mv(get9(row, RE), e[0]), mv(get9(row, RE), e[1])))
        for r in range(6):
            out[r, k] = 0.0
            for j in range(6):
                out[r, k] += inertia[r, j] * V[j]
        arm = vcross(c, (out[3, k], out[4, k], out[5, k]))
        for r in range(3):
            out[r, k] -= arm[r]


@routine
def begin_step(problem, tape):
    """What the trees have at the start of a step."""
    work = problem.work
    look_at(problem, tape, ZERO)
    for k in range(tape.free.shape[0]):
        tree, kick = tape.free[k], tape.kick[k]
        _m, c = sum_tree(problem, tree)
        map_root(problem, tree, c)
        for j in range(6):
            kick[KEPT + j] = tape.v[0, tree[ROOT_V] + j]
            for r in range(6):
                kick[MAP + 6 * r + j] = work.law[2, r, j]


@routine
def set_laws(problem, tape, p):
    """What the trees have at the start of the run."""
    work = problem.work
    look_at(problem, tape, ZERO)
    for k in range(tape.free.shape[0]):
        law, momentum = tape.law[k], work.law[1, 0]
        _m, c = sum_tree(problem, tape.free[k])
        put3(law, LAW_L, get3(momentum, 0))
        put3(law, LAW_P, get3(momentum, 3))
        put3(law, LAW_C, in_world(problem, tape.free[k], c))
        law[LAW_T] = p[MARCH_T]


@routine
def solve_twist(factors, pivot, momentum, twist, kick, column):
    """A column of a kick from the momentum that it shall have. Returns True."""
    for r in range(6):
        twist[r] = momentum[r]
    lu_solve(factors, pivot, twist)
    for r in range(6):
        kick[column + r] = twist[r]
    return True


@routine
def find_missing(problem, tape, k, time):
    """What the root's twist lacks at the end of the step, for tree k, and what its kick lacks; needs `look_at`.

    Returns False if the tree has no inertia.
    """
    work, tree, law, kick = problem.work, tape.free[k], tape.law[k], tape.kick[k]
    momentum, twist, here, both = work.law[1, 0], work.law[1, 2], work.law[2], work.law[3]
    m, c = sum_tree(problem, tree)
    map_root(problem, tree, c)
    P = vadd(get3(law, LAW_P), vscale(m * (time - law[LAW_T]), get3(work.gravity, 0)))
    put6(momentum, 0, (vsub(get3(law, LAW_L), get3(momentum, 0)), vsub(P, get3(momentum, 3))))
    for r in range(6):
        for j in range(6):
            both[r, j] = here[r, j] + kick[MAP + 6 * r + j]
    if not (lu_factor(here, tape.pivot) and solve_twist(here, tape.pivot, momentum, twist, kick, MISSING)):
        return False
    return lu_factor(both, tape.pivot) and solve_twist(both, tape.pivot, momentum, twist, kick, MORE)


@routine
def shift_tree(problem, tape, k, time):
    """Bring the centre of mass of tree k to where it must be at the end of the step; needs `look_at`."""
    t, work, tree, law = problem.t, problem.work, tape.free[k], tape.law[k]
    m, c = sum_tree(problem, tree)
    s = time - law[LAW_T]
    path = vadd(vscale(s / m, get3(law, LAW_P)), vscale(0.5 * s * s, get3(work.gravity, 0)))
    away = vsub(vadd(get3(law, LAW_C), path), in_world(problem, tree, c))
    away = mtv(get9(t.place[tree[ROOT_BLOCK]], PLACE_R), away)
    q, o = tape.q[tape.q.shape[0] - 1], tree[ROOT_Q] + 4
    put3(q, o, vadd(get3(q, o), away))


@routine
def kick_roots(tape, i, column):
    """Add a column of the kicks to the velocities of stage i."""
    for k in range(tape.free.shape[0]):
        for j in range(6):
            tape.v[i, tape.free[k, ROOT_V] + j] += tape.kick[k, column + j]


@routine
def all_missing(problem, tape, time):
    """What all trees lack at the end of a step. Returns the largest part, in units of what is tolerated; negative if a tree has no inertia."""
    look_at(problem, tape, tape.a.shape[0] - 1)
    largest = 0.0
    for k in range(tape.free.shape[0]):
        if not find_missing(problem, tape, k, time):
            return -1.0
        for j in range(6):
            size = abs(tape.kick[k, MISSING + j]) / tape.weights[1, tape.free[k, ROOT_V] + j]
            largest = max(largest, size)
    return largest


@routine
def conserving_step(problem, tape, factors, h, p):
    """Try a step of length h as `esdirk_step` does, that leaves all free trees the momentum which they must have. Returns a status."""
    last, n = tape.a.shape[0] - 1, tape.free.shape[0]
    time = p[MARCH_T] + h
    if p[MARCH_CONSERVE] == 1.0:
        set_laws(problem, tape, p)
        p[MARCH_CONSERVE] = 2.0
    begin_step(problem, tape)
    p[MARCH_AGAIN] = 0.0
    for count in range(ROUNDS):
        kick_roots(tape, ZERO, KICK)
        status = esdirk_step(problem, tape, factors, h, p)
        for k in range(n):
            for j in range(6):
                tape.v[0, tape.free[k, ROOT_V] + j] = tape.kick[k, KEPT + j]
        if status != CONVERGED:
            break
        kick_roots(tape, last, KICK)
        size = all_missing(problem, tape, time)
        if size < 0.0:
            status = SINGULAR
            break
        if size <= ENOUGH * p[OPTION_NEWTON] or count == ROUNDS - 1:
            kick_roots(tape, last, MISSING)
            for k in range(n):
                shift_tree(problem, tape, k, time)
            break
        for k in range(n):
            for j in range(6):
                tape.kick[k, KICK + j] += tape.kick[k, MORE + j]
        p[MARCH_AGAIN] = 1.0  # from where the last round ended
    p[MARCH_AGAIN] = 0.0
    if status != CONVERGED:
        for k in range(n):
            for j in range(6):
                tape.kick[k, KICK + j] = 0.0
    return status
