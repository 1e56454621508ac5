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
from ..slots import NEWTON_STEP
from .articulated import SIX, factor_stiffness_tree
from .fronts import NOT_DEFINITE, solve_tree
from .prescribed import clear_known, eliminate
from .residual import residual, residual_stiffness

NO_SHIFT = np.int64(26)  # more than any power of four that a shift is tried with
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
def tree_factor(problem, q, stiffness, definite, symmetric, shift, whole, r):
    """`factor_stiffness_tree` of a problem."""
    t, work, c, loads, fronts, u, tau = problem
    return factor_stiffness_tree(
        t, work, c, loads, fronts, q, u, tau, definite, symmetric, shift, whole, r, stiffness.S[0], stiffness.pivot
    )


@routine
def shifted_factor(problem, q, stiffness, shift, scratch):
    """Factors of the stiffness at q, after `factor_at`, with a shift (scaled units). Returns whether it is positive definite then."""
    S, _pivot, tree = stiffness
    if tree:
        return tree_factor(problem, q, stiffness, YES, YES, shift, NO, scratch)[0] > 0.0
    scaled_symmetric(S[0], problem.c.scale, shift, S[1])
    return cholesky(S[1])


@routine
def factor_at(problem, q, weight, use_energy, stiffness, r):
    """The static residual r (nv,) and the factors of the stiffness at q, if need be with a neutral shift.

    Returns the scaled sizes of r and of forces; the largest stiffness; the smallest pivot relative to its diagonal, not positive if the
    stiffness is not positive definite; and whether it is but for neutral directions.
    """
    t, work, c, loads, _fronts, u, tau = problem
    S, _pivot, tree = stiffness
    least, top, neutral = NOT_DEFINITE, 0.0, False
    if tree:
        least, top = tree_factor(problem, q, stiffness, YES, use_energy, 0.0, YES, r)
    else:
        residual_stiffness(t, work, c, loads, q, u, tau, r, S[:1])
        eliminate(c, S[0])
        top = scaled_symmetric(S[0], c.scale, 0.0, S[1])
        if cholesky(S[1]):
            least = least_pivot(S[0], c.scale, S[1])
    size = force_size(c, q, r, work, u, tau, c.scale, weight)
    clear_known(c, r)
    if least <= 0.0 and use_energy and 0.0 < top < np.inf:
        neutral = shifted_factor(problem, q, stiffness, NEUTRAL * top, work.newton[NEWTON_STEP])
    return scaled_size(c.scale, r), size, top, least, neutral


@routine
def factor_shifted(problem, q, top, level, floor, stiffness):
    """Factors of the stiffness at q, after `factor_at`, with the smallest shift 4ⁿ × 1e-3 × the largest stiffness that makes it definite.

    The search for n ≥ `floor` begins at `level`, where it ended before: along the tree every attempt is another pass. Returns n,
    `NO_SHIFT` if none helps.
    """
    scratch = problem.work.newton[NEWTON_STEP]
    if not 0.0 < top < np.inf:
        return NO_SHIFT
    if shifted_factor(problem, q, stiffness, 1e-3 * top * 4.0**level, scratch):
        while level > floor:
            if not shifted_factor(problem, q, stiffness, 1e-3 * top * 4.0 ** (level - 1), scratch):
                shifted_factor(problem, q, stiffness, 1e-3 * top * 4.0**level, scratch)
                return level
            level -= 1
        return level
    while level < NO_SHIFT:
        level += 1
        if shifted_factor(problem, q, stiffness, 1e-3 * top * 4.0**level, scratch):
            return level
    return NO_SHIFT


@routine
def factor_unsymmetric(problem, q, stiffness):
    """Factors of the stiffness at q as it is, after `factor_at`. Returns False if it is singular."""
    c = problem.c
    S, pivot, tree = stiffness
    if tree:
        return tree_factor(problem, q, stiffness, NO, NO, 0.0, NO, problem.work.newton[NEWTON_STEP])[0] > 0.0
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
