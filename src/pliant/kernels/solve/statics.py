"""Static equilibrium as a kernel: minimise the potential energy, or drive the residual to zero.

Newton's step with the exact tangent, in scaled coordinates as in `newton`; where the tangent is not positive definite it
is shifted until it is, so that the iteration descends to a stable equilibrium. Steps are cut by a trust radius and by
backtracking. Directions without stiffness (neutral ones) are no obstacle: a shift of rounding size is enough for them.
"""

import numpy as np

from ..._jit import routine
from ..algebra.linear import cholesky, cholesky_solve, lu_factor, lu_solve
from ..algebra.manifold import integrate
from ..loads.internal import elastic
from ..loads.together import load_potential
from ..recursion.kinematics import totals
from ..slots import (
    NEWTON_RESIDUAL,
    NEWTON_STEP,
    OPTION_ENERGY,
    OPTION_ITERATIONS,
    OPTION_RADIUS,
    OPTION_TOLERANCE,
    OPTION_WEIGHT,
    REPORT_DEFINITE,
    REPORT_ENERGY,
    REPORT_HALVINGS,
    REPORT_ITERATIONS,
    REPORT_RESIDUAL,
    REPORT_SHIFTS,
    SUM_GRAVITATIONAL,
)
from .newton import CONVERGED, EXHAUSTED, NOT_FINITE, SINGULAR, STALLED
from .prescribed import clear_known, eliminate
from .residual import residual, residual_tangent

NEUTRAL = 1e-11  # shift, relative to the largest stiffness, that makes a stiffness with neutral directions definite
HALVINGS = 30


@routine
def potential(t, work, c, loads, q, u, tau, sums):
    """Potential energy: elastic, gravity, loads that have one, τ on ordinary coordinates.

    Returns it and the size of its parts. Moments and follower wrenches have no potential and are left out.
    """
    stored = elastic(c, q, work.force_v[0], work.force_v[1], work.spring)
    totals(t, work, q, work.zero, sums)
    energy = stored + sums[SUM_GRAVITATIONAL]
    size = abs(stored) + abs(sums[SUM_GRAVITATIONAL])
    part, parts = load_potential(work, loads, q, u)  # `totals` has just run the forward pass
    energy += part
    size += parts
    for k in range(c.shift.shape[0]):
        part = tau[c.shift[k, 1]] * q[c.shift[k, 0]]
        energy -= part
        size += abs(part)
    return energy, size


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
def scaled_symmetric(K, scale, shift, A):
    """A = symmetric part of K in scaled coordinates + shift 1. Returns the largest diagonal entry."""
    top = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = 0.5 * scale[i] * scale[j] * (K[i, j] + K[j, i])
        A[i, i] += shift
        top = max(top, abs(A[i, i]))
    return top


@routine
def reach(A, scale, r, step):
    """step = −A⁻¹ r in scaled coordinates, for a Cholesky factor A. Returns its largest entry."""
    for k in range(step.shape[0]):
        step[k] = -scale[k] * r[k]
    cholesky_solve(A, step)
    size = 0.0
    for k in range(step.shape[0]):
        size = max(size, abs(step[k]))
    return size


@routine
def residual_at(problem, q, r):
    """The static residual of the unknown coordinates; returns its scaled size."""
    t, work, c, loads, _fronts, u, tau = problem
    residual(t, work, c, loads, q, work.zero, work.zero, u, tau, r)
    clear_known(c, r)
    return scaled_size(c.scale, r)


@routine
def residual_and_stiffness(problem, q, weight, r, K):
    """The static residual and its tangent K (1, nv, nv) for the unknown coordinates; returns the scaled sizes of r and of forces."""
    t, work, c, loads, _fronts, u, tau = problem
    residual_tangent(t, work, c, loads, q, work.zero, work.zero, u, tau, 1.0, 0.0, 0.0, r, K)
    size = force_size(c, q, r, work, u, tau, c.scale, weight)
    clear_known(c, r)
    eliminate(c, K[0])
    return scaled_size(c.scale, r), size


@routine
def factor_symmetric(K, scale, use_energy, A):
    """Cholesky factor of the scaled symmetric part of K in A, if need be with a neutral shift.

    Returns the largest stiffness, whether K is positive definite, and whether it is but for neutral directions.
    """
    top = scaled_symmetric(K, scale, 0.0, A)
    positive = cholesky(A)
    neutral = False
    if not positive and use_energy and 0.0 < top < np.inf:
        scaled_symmetric(K, scale, NEUTRAL * top, A)
        neutral = cholesky(A)
    return top, positive, neutral


@routine
def factor_shifted(K, scale, top, A):
    """Shift the scaled symmetric part of K until it has a Cholesky factor, in A. Returns False if none helps."""
    if not 0.0 < top < np.inf:
        return False
    shift = 1e-3 * top
    scaled_symmetric(K, scale, shift, A)
    while not cholesky(A):
        shift *= 4.0
        if shift > 1e12 * (top + 1e-300):
            return False
        scaled_symmetric(K, scale, shift, A)
    return True


@routine
def solve_unsymmetric(K, scale, r, A, pivot, step):
    """step = −K⁻¹ r in scaled coordinates, by Gauss elimination. Returns False if K is singular."""
    nv = scale.shape[0]
    for i in range(nv):
        for j in range(nv):
            A[i, j] = scale[i] * scale[j] * K[i, j]
        step[i] = -scale[i] * r[i]
    if not lu_factor(A, pivot):
        return False
    lu_solve(A, pivot, step)
    return True


@routine
def move_by(problem, q, step, factor, trial):
    """trial = q moved by factor × the scaled step."""
    c = problem.c
    for k in range(step.shape[0]):
        step[k] *= factor * c.scale[k]
    integrate(c.shift, c.spatial, q, step, trial)
    for k in range(step.shape[0]):
        step[k] /= factor * c.scale[k]


@routine
def search_line(problem, q, trial, r, step, factor, slope, norm, target, energy0, parts0, collocated, p):
    """Halve the step until the energy, or without one the residual, decreases enough. Returns the factor, 0 if none does.

    norm: size of the residual at q; target: what it may become without question. `collocated`: whether forces have a potential
    only up to the error of collocation, which counts near the end; there the residual decides.
    """
    t, work, c, loads, _fronts, u, tau = problem
    for _ in range(HALVINGS):
        move_by(problem, q, step, factor, trial)
        if p[OPTION_ENERGY] != 0.0:
            energy, parts = potential(t, work, c, loads, trial, u, tau, work.sums)
            if energy <= energy0 + 1e-4 * factor * slope + 4e-15 * (parts0 + parts):
                return factor
            if collocated and factor == 1.0 and residual_at(problem, trial, r) <= 0.5 * norm:
                return factor
        else:
            size = residual_at(problem, trial, r)
            if size <= (1.0 - 1e-4 * factor) * norm or size <= target:
                return factor
        p[REPORT_HALVINGS] += 1
        factor *= 0.5
    return 0.0


@routine
def statics(problem, q, trial, K, A, pivot, p):
    """Find an equilibrium from q (overwritten). Options and report are in p, see `slots`. Returns a status.

    K (1, nv, nv), A (nv, nv), trial (nq,) and pivot (nv,) are scratch; K ends as the tangent.
    """
    t, work, c, loads, _fronts, u, tau = problem
    tolerance, iterations, radius = p[OPTION_TOLERANCE], int(p[OPTION_ITERATIONS]), p[OPTION_RADIUS]
    use_energy = p[OPTION_ENERGY] != 0.0
    scale, r, step = c.scale, work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP]
    stalls = 0
    for it in range(iterations + 1):
        p[REPORT_ITERATIONS] = it
        norm, size = residual_and_stiffness(problem, q, p[OPTION_WEIGHT], r, K)
        if not norm < np.inf:
            p[REPORT_RESIDUAL] = np.inf
            return NOT_FINITE
        relative = norm / size if size > 0.0 else 0.0
        p[REPORT_RESIDUAL] = relative
        top, positive, neutral = factor_symmetric(K[0], scale, use_energy, A)
        p[REPORT_DEFINITE] = 1.0 if positive else 0.0
        if relative <= tolerance and (positive or neutral or not use_energy):
            return CONVERGED
        if it == iterations:
            return EXHAUSTED
        if neutral:  # a force along such a direction would move it without end
            neutral = reach(A, scale, r, step) <= radius
        shifted = use_energy and not positive and not neutral
        if shifted:
            if not factor_shifted(K[0], scale, top, A):
                return SINGULAR
            p[REPORT_SHIFTS] += 1
        if use_energy:
            reach(A, scale, r, step)
        elif not solve_unsymmetric(K[0], scale, r, A, pivot, step):
            return SINGULAR
        length, slope = 0.0, 0.0
        for k in range(step.shape[0]):
            length = max(length, abs(step[k]))
            slope += scale[k] * r[k] * step[k]
        if length <= tolerance and not shifted:
            # within the tolerance of the solution (decisive where no single force sets a scale): take the step
            move_by(problem, q, step, 1.0, trial)
            for k in range(q.shape[0]):
                q[k] = trial[k]
            norm = residual_at(problem, q, r)
            p[REPORT_RESIDUAL] = norm / size if size > 0.0 else 0.0
            return CONVERGED
        energy, parts = potential(t, work, c, loads, q, u, tau, work.sums)
        p[REPORT_ENERGY] = energy
        if use_energy and relative <= tolerance and slope > -1e-14 * parts:
            # a saddle without a way down along the gradient: leave it along the step of a shifted tangent
            return STALLED
        factor = min(1.0, radius / length) if length > 0.0 else 1.0
        collocated = t.colloc.shape[0] > 0 and positive and relative < 1e-2
        factor = search_line(
            problem, q, trial, r, step, factor, slope, norm, tolerance * size, energy, parts, collocated, p
        )
        if factor == 0.0:
            return STALLED
        for k in range(q.shape[0]):
            q[k] = trial[k]
        # rounding: no further progress at a residual that is small already
        if relative < 1e-9 and length * factor < 1e-13:
            stalls += 1
            if stalls > 2:
                return STALLED
    return EXHAUSTED
