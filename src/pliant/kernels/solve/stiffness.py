"""The stiffness of statics and its factors, dense or along the tree: what Newton's step is found with, and whether it is definite.

Everything is in scaled coordinates, as in `newton`. Dense, the symmetric part of ∂r/∂q is kept and factored by Cholesky, as often as a
shift is tried. Along the tree (`fronts`) the matrix is never formed: each attempt is another pass, and its pivots tell whether it
is definite.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.linear import cholesky, cholesky_solve, lu_factor, lu_solve
from ..layout import NO, YES
from ..loads.internal import elastic
from .articulated import SIX, factor_stiffness_tree
from .fronts import NOT_DEFINITE, solve_tree
from .prescribed import clear_known, eliminate
from .residual import residual, residual_stiffness

NEUTRAL = 1e-11  # shift, relative to the largest stiffness, that makes a stiffness with neutral directions definite


class Stiffness(NamedTuple):
    """Memory for the stiffness and its factors."""

    S: Any  # (2, nv, nv): ∂r/∂q and the factors of its scaled symmetric part; or (1, …) the store of `fronts`
    pivot: Any  # (nv,)
    tree: Any  # whether S is that store


@routine
def force_size(c, q, r, work, u, tau, scale, weight):
    """Largest scaled single force: elastic, actuation, τ, the rest, and `weight`; what a residual is compared with.

    The weight counts by itself, because what carries it (a contact, a wrench) may leave no other force in sight.
    """
    elastic(c, q, work.force_v[0], work.force_v[1], work.spring)
    size = weight
    for k in range(r.shape[0]):
        rest = r[k] - work.force_v[0, k] + tau[k]
        size = max(size, scale[k] * max(abs(work.force_v[0, k]), abs(rest), abs(tau[k])))
    return size


@routine
def scaled_size(scale, r):
    """Largest |scale·r|; infinite if an entry is NaN."""
    size = 0.0
    for k in range(r.shape[0]):
        x = abs(scale[k] * r[k])
        if not x < np.inf:
            return np.inf
        size = max(size, x)
    return size


@routine
def residual_at(problem, q, r):
    """The static residual of the unknown coordinates; returns its scaled size."""
    t, work, c, loads, _fronts, u, tau = problem
    residual(t, work, c, loads, q, work.zero, work.zero, u, tau, r)
    clear_known(c, r)
    return scaled_size(c.scale, r)


@routine
def scaled_symmetric(K, scale, shift, A):
    """A = symmetric part of K in scaled coordinates + shift 1, its upper triangle. Returns the largest diagonal entry."""
    top = 0.0
    n = A.shape[0]
    for i in range(n):
        row, f = A[i], 0.5 * scale[i]
        for j in range(i, n):
            row[j] = f * scale[j] * (K[i, j] + K[j, i])
        row[i] += shift
        top = max(top, abs(row[i]))
    return top


@routine
def least_pivot(K, scale, A):
    """The smallest pivot of a Cholesky factor A of the scaled K, relative to its diagonal."""
    least = np.inf
    for k in range(scale.shape[0]):
        least = min(least, A[k, k] ** 2 / (scale[k] ** 2 * K[k, k]))
    return least


@routine
def tree_factor(problem, q, stiffness, definite, shift, r):
    """`factor_stiffness_tree`, with the residual of the unknown coordinates."""
    t, work, c, loads, fronts, u, tau = problem
    S, pivot, _tree = stiffness
    least, top = factor_stiffness_tree(
        t, work, c, loads, fronts, q, u, tau, definite, shift, r, S[0], pivot
    )
    return least, top


@routine
def factor_at(problem, q, weight, use_energy, stiffness, r):
    """The static residual r (nv,) and the factors of the stiffness at q, if need be with a neutral shift.

    Returns the scaled sizes of r and of forces; the largest stiffness; the smallest pivot relative to its diagonal, not positive if the
    stiffness is not positive definite; and whether it is but for neutral directions.
    """
    t, work, c, loads, _fronts, u, tau = problem
    S, _pivot, tree = stiffness
    neutral = False
    if tree:
        least, top = tree_factor(problem, q, stiffness, YES, 0.0, r)
    else:
        residual_stiffness(t, work, c, loads, q, u, tau, r, S[:1])
    size = force_size(c, q, r, work, u, tau, c.scale, weight)
    clear_known(c, r)
    norm = scaled_size(c.scale, r)
    if tree:
        if least <= 0.0 and use_energy and 0.0 < top < np.inf and norm < np.inf:
            neutral = tree_factor(problem, q, stiffness, YES, NEUTRAL * top, r)[0] > 0.0
            clear_known(c, r)
        return norm, size, top, least, neutral
    K, A = S[0], S[1]
    eliminate(c, K)
    top = scaled_symmetric(K, c.scale, 0.0, A)
    least = NOT_DEFINITE
    if cholesky(A):
        least = least_pivot(K, c.scale, A)
    elif use_energy and 0.0 < top < np.inf:
        scaled_symmetric(K, c.scale, NEUTRAL * top, A)
        neutral = cholesky(A)
    return norm, size, top, least, neutral


@routine
def factor_shifted(problem, q, top, stiffness, r):
    """Shift the stiffness at q, after `factor_at`, until it is positive definite, and factor it. Returns False if no shift helps."""
    c = problem.c
    S, _pivot, tree = stiffness
    if not 0.0 < top < np.inf:
        return False
    shift = 1e-3 * top
    while shift <= 1e12 * top:
        if tree:
            found = tree_factor(problem, q, stiffness, YES, shift, r)[0] > 0.0
            clear_known(c, r)
        else:
            scaled_symmetric(S[0], c.scale, shift, S[1])
            found = cholesky(S[1])
        if found:
            return True
        shift *= 4.0
    return False


@routine
def factor_unsymmetric(problem, q, stiffness, r):
    """Factors of the stiffness at q as it is, after `factor_at`. Returns False if it is singular."""
    c = problem.c
    S, pivot, tree = stiffness
    if tree:
        regular = tree_factor(problem, q, stiffness, NO, 0.0, r)[0] > 0.0
        clear_known(c, r)
        return regular
    K, A = S[0], S[1]
    for i in range(K.shape[0]):
        for j in range(K.shape[0]):
            A[i, j] = c.scale[i] * c.scale[j] * K[i, j]
    return lu_factor(A, pivot)


@routine
def newton_step(problem, symmetric, stiffness, r, step):
    """step = −K⁻¹ r in scaled coordinates, with factors that are `symmetric` or not. Returns its largest entry."""
    t, _work, c, _loads, fronts, _u, _tau = problem
    S, pivot, tree = stiffness
    if tree:
        for k in range(step.shape[0]):
            step[k] = -r[k]
        solve_tree(t, fronts, c.known, c.scale, SIX, S[0], pivot, step)
        for k in range(step.shape[0]):
            step[k] /= c.scale[k]
    else:
        for k in range(step.shape[0]):
            step[k] = -c.scale[k] * r[k]
        if symmetric:
            cholesky_solve(S[1], step)
        else:
            lu_solve(S[1], pivot, step)
    size = 0.0
    for k in range(step.shape[0]):
        size = max(size, abs(step[k]))
    return size
