"""Static equilibrium as a kernel: minimise the potential energy, or drive the residual to zero.

Newton's step with the exact tangent, in scaled coordinates as in `newton`; where the tangent is not positive definite it
is shifted until it is, so that the iteration descends to a stable equilibrium. Steps are cut by a trust radius and by
backtracking. Directions without stiffness (neutral ones) are no obstacle: a shift of rounding size is enough for them.

Near the end little of that is needed. Where the tangent is definite and the residual small, a step is taken without a look at the
energy, and taken back if the residual does not fall to a tenth. Where another step with the same factors will do, the tangent
is not computed again (`refine`).
"""

import numpy as np

from ..._jit import routine
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
    REPORT_PIVOT,
    REPORT_RESIDUAL,
    REPORT_SHIFTS,
    SUM_GRAVITATIONAL,
)
from .newton import CONVERGED, EXHAUSTED, NOT_FINITE, SINGULAR, STALLED
from .stiffness import NO_SHIFT, factor_at, factor_shifted, factor_unsymmetric, newton_step, residual_at

HALVINGS = 30
CLEAR = (
    1e-6  # pivots without row exchanges that are above this, relative to what cancels in them, are good for any matrix
)
NEAR = 0.1  # relative residual below which a definite step needs no look at the energy
SHORT = 0.5  # longest such step (scaled units)
FALLS = 0.1  # what must be left at most of the residual after it, and after a step with kept factors
KEEPS = 1e-3  # what is expected to be left where factors are kept
PATIENCE = 8  # shifted steps in a row before smaller shifts are tried
DRIFT = 10.0  # relative change of a pivot with one unit of motion, per coordinate, that is reckoned with


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
def move_by(problem, q, step, factor, trial):
    """trial = q moved by factor × the scaled step."""
    c = problem.c
    for k in range(step.shape[0]):
        step[k] *= factor * c.scale[k]
    integrate(c.shift, c.spatial, q, step, trial)
    for k in range(step.shape[0]):
        step[k] /= factor * c.scale[k]


@routine
def exchange(q, trial):
    """Swap two configurations."""
    for k in range(q.shape[0]):
        x = q[k]
        q[k] = trial[k]
        trial[k] = x


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
def refine(problem, q, trial, symmetric, stiffness, r, step, length, norm, target, p):
    """Newton steps with the same factors, the first of which is in `step` and has this length, until the residual meets its target or falls too slowly.

    Returns the scaled size of the last residual and the distance from where the factors were made.
    """
    distance = 0.0
    while p[REPORT_ITERATIONS] < p[OPTION_ITERATIONS]:
        move_by(problem, q, step, 1.0, trial)
        after = residual_at(problem, trial, r)
        if not after < norm:
            break
        exchange(q, trial)
        p[REPORT_ITERATIONS] += 1.0
        distance += length
        slow = after > FALLS * norm
        norm = after
        if norm > target and slow:
            break
        length = newton_step(problem, symmetric, stiffness, r, step)
        if norm <= target:  # a last step on trust, for the digits that quadratic convergence would have given
            if not slow:
                move_by(problem, q, step, 1.0, trial)
                exchange(q, trial)
            break
    return norm, distance


@routine
def statics(problem, q, trial, stiffness, p):
    """Find an equilibrium from q (overwritten). Options and report are in p, see `slots`. Returns a status.

    `stiffness` (see `stiffness`) and trial (nq,) are scratch. If the report does not say definite, a dense S[0] ends as the tangent.
    """
    t, work, c, loads, _fronts, u, tau = problem
    tolerance, iterations, radius = p[OPTION_TOLERANCE], int(p[OPTION_ITERATIONS]), p[OPTION_RADIUS]
    use_energy = p[OPTION_ENERGY] != 0.0
    r, step = work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP]
    stalls, row, level = 0, 0, 0  # steps that were shifted one after another, and how far the last was
    watched, before = True, np.inf  # whether the last step was looked at, residual before it
    cautious = False
    p[REPORT_ITERATIONS] = 0.0
    while True:
        norm, size, top, pivot, neutral = factor_at(problem, q, p[OPTION_WEIGHT], use_energy, stiffness, r)
        relative = norm / size if size > 0.0 else 0.0
        if not watched and not norm <= max(FALLS * before, tolerance * size):  # not so near after all: back
            exchange(q, trial)
            watched, cautious, before = True, True, np.inf
            continue
        fall = norm / before if before < np.inf else np.inf
        if not norm < np.inf:
            p[REPORT_RESIDUAL] = np.inf
            return NOT_FINITE
        positive = pivot > 0.0
        p[REPORT_RESIDUAL], p[REPORT_PIVOT] = relative, pivot
        p[REPORT_DEFINITE] = 1.0 if positive else 0.0
        if relative <= tolerance and (positive or neutral or not use_energy):
            return CONVERGED
        if p[REPORT_ITERATIONS] >= iterations:
            return EXHAUSTED
        if neutral:  # a force along such a direction would move it without end
            neutral = newton_step(problem, True, stiffness, r, step) <= radius
        shifted = use_energy and not positive and not neutral
        if shifted:
            # long chains have directions that are far softer than the stiffest: what is a small shift for these is found in time
            row += 1
            level = factor_shifted(problem, q, top, level, min(0, PATIENCE - row), stiffness)
            if level >= NO_SHIFT:
                return SINGULAR
            p[REPORT_SHIFTS] += 1
        else:
            row = 0
        anew = not use_energy and not (stiffness.tree and pivot > CLEAR)
        if anew and not factor_unsymmetric(problem, q, stiffness):
            return SINGULAR
        length = newton_step(problem, use_energy, stiffness, r, step)
        slope = 0.0
        for k in range(step.shape[0]):
            slope += c.scale[k] * r[k] * step[k]
        if length <= tolerance and not shifted:
            # within the tolerance of the solution (decisive where no single force sets a scale): take the step
            move_by(problem, q, step, 1.0, trial)
            exchange(q, trial)
            norm = residual_at(problem, q, r)
            p[REPORT_RESIDUAL] = norm / size if size > 0.0 else 0.0
            return CONVERGED
        watched, before = True, np.inf
        if not cautious and relative < NEAR and length <= min(SHORT, radius) and (positive or not use_energy):
            # Newton's steps leave c, c³, … of the residual, steps with kept factors c² each
            if min(fall * fall, length) <= KEEPS:
                norm, distance = refine(
                    problem, q, trial, use_energy, stiffness, r, step, length, norm, tolerance * size, p
                )
                if norm <= tolerance * size and pivot > DRIFT * step.shape[0] * distance:
                    p[REPORT_RESIDUAL] = norm / size
                    return CONVERGED
                cautious = norm > tolerance * size
                continue
            move_by(problem, q, step, 1.0, trial)
            exchange(q, trial)
            p[REPORT_ITERATIONS] += 1.0
            watched, before = False, norm
            continue
        cautious = False
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
        exchange(q, trial)
        p[REPORT_ITERATIONS] += 1.0
        # rounding: no further progress at a residual that is small already
        if relative < 1e-9 and length * factor < 1e-13:
            stalls += 1
            if stalls > 2:
                return STALLED
