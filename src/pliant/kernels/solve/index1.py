"""Forward dynamics: accelerations of the tree, and with loops the forces that keep them closed (index 1, [002] eqs 48–51).

``M a = f + Gᵀ λ``, ``ë(q, v, a) + rate · ė + value · e = 0``; with rate = 2/T and value = 1/T² an open loop closes within the time T (Baumgarte),
with zeros the accelerations of the constraints vanish, whether they are met or not.
"""

import numpy as np

from ..._jit import routine
from ..algebra.linear import cholesky, cholesky_solve
from ..loads.together import loop_closure
from ..recursion.blocks import all_columns
from ..recursion.composite import mass_matrix
from ..recursion.forward import forward
from ..slots import HOLD_ACTIVE
from .articulated import SIX, factor_mass_tree
from .constraints import choose_rows, solve_small
from .fronts import solve_tree
from .newton import CONVERGED, SINGULAR
from .prescribed import clear_known, eliminate
from .residual import residual

ONE = np.int64(1)


@routine
def forward_dynamics(problem, q, v, known, acceleration, factors):
    """Acceleration from M a = −r(q, v, 0), with that of prescribed coordinates given in `known`.

    S gets the Cholesky factor of M, or with the flag `tree` it is the store of the articulated-body algorithm. Returns a status.
    """
    t, work, c, loads, fronts, u, tau = problem
    S, pivot, tree = factors
    residual(t, work, c, loads, q, v, known, u, tau, acceleration)
    clear_known(c, acceleration)
    for k in range(acceleration.shape[0]):
        acceleration[k] = -acceleration[k]
    if tree:
        if not factor_mass_tree(t, work, c, fronts, S[0], pivot):
            return SINGULAR
    else:
        mass_matrix(t, work, S)
        eliminate(c, S[0])
        if not cholesky(S[0]):
            return SINGULAR
    solve_mass(problem, factors, acceleration)
    for k in range(acceleration.shape[0]):
        acceleration[k] += known[k]
    return CONVERGED


@routine
def solve_mass(problem, factors, x):
    """x becomes M⁻¹ x with the factors of `forward_dynamics`."""
    t, _work, c, _loads, fronts, _u, _tau = problem
    S, pivot, tree = factors
    if tree:
        solve_tree(t, fronts, c.known, c.scale, SIX, S[0], pivot, x)
    else:
        cholesky_solve(S[0], x)


@routine
def close_loops(problem, q, v, acceleration, factors, rate, value):
    """Add to the acceleration of the tree what keeps loops closed; work.multiplier gets the forces λ beyond those that acted already.

    Redundant rows get none. After `forward_dynamics`.
    """
    t, work, c, loads, _fronts, u, _tau = problem
    forward(t, q, v, acceleration, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)
    n, m = work.hold.shape[0], work.rows.shape[1]
    loop_closure(loads, q, v, u, work.rows[0, n:])
    for k in range(n):
        work.hold[k, HOLD_ACTIVE] = 0.0
    for k in range(n, m):
        G, X = work.rows[0, k], work.rows[1, k]
        clear_known(c, G)
        for i in range(G.shape[0]):
            X[i] = G[i]
        solve_mass(problem, factors, X)
    choose_rows(c, work, work.rows[0])
    A, choice = work.schur, work.schur[m]
    rank = 0
    for k in range(n, m):
        if choice[k] > 0.0:
            e = work.closure[k - n]
            A[rank, m] = -(e[2] + rate * e[1] + value * e[0])
            column = 0
            for j in range(n, m):
                if choice[j] > 0.0:
                    A[rank, column] = 0.0
                    for i in range(acceleration.shape[0]):
                        A[rank, column] += work.rows[0, k, i] * work.rows[1, j, i]
                    column += 1
            rank += 1
    solve_small(A, rank, m)
    rank = 0
    for k in range(n, m):
        if choice[k] > 0.0:
            force = A[rank, m]
            rank += 1
            work.multiplier[k - n] += force
            for i in range(acceleration.shape[0]):
                acceleration[i] += force * work.rows[1, k, i]
