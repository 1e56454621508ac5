"""Newton iterations as kernels: static equilibrium and one generalised-α step.

Both work in scaled coordinates q/s (s: rad/m for bending, 1 for stretch, …), so that tolerances are dimensionless and
mean the same for a robot of millimetres and one of metres.
"""

import numpy as np

from ..._jit import routine
from ..algebra.linear import cholesky, cholesky_solve, lu_factor, lu_solve
from ..algebra.manifold import integrate
from ..groups import unpack_tendons
from ..layout import MESSAGE_CHANGE
from ..loads.internal import elastic
from ..loads.together import load_potential
from ..recursion.kinematics import totals
from .constraints import correct_constraints, holds, prepare_constraints
from .factors import factor_tangent, solve_tangent
from .prescribed import clear_known, eliminate, put_known, read_known
from .residual import residual, residual_tangent

CLOSED = 1e-13  # m, rad: a loop that is open by less is closed
OPEN = 1e-9  # m, rad: a step that leaves a loop open by more is not accepted
SETTLED = 1e-7  # relative change of constraint forces
NEUTRAL = 1e-11  # shift, relative to the largest stiffness, that makes a stiffness with neutral directions definite
CONVERGED, STALLED, SINGULAR, EXHAUSTED, NOT_FINITE = (np.int64(k) for k in range(5))


@routine
def potential(t, work, c, loads, q, u, tau, sums):
    """Potential energy: elastic, gravity, loads that have one, τ on ordinary coordinates.

    Returns it and the size of its parts. Moments and follower wrenches have no potential and are left out.
    """
    stored = elastic(c, q, work.force_v[0], work.force_v[1], work.spring)
    totals(t, work, q, work.zero, sums)
    energy = stored + sums[11]
    size = abs(stored) + abs(sums[11])
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
def statics(t, work, c, loads, q, u, tau, options, K, A, trial, pivot, info):
    """Minimise the potential energy, or drive the residual to zero, from q (overwritten).

    Newton's step with the exact tangent; where the tangent is not positive definite it is shifted until it is, so that
    the iteration descends to a stable equilibrium. Steps are cut by a trust radius and by backtracking. Directions without
    stiffness (neutral ones) are no obstacle: a shift of rounding size is enough for them.

    info (6,): iterations, relative residual, shifted steps, backtracks, 1 if the tangent is positive definite at the
    end, energy. Returns a status.
    """
    tolerance, iterations, radius, use_energy, weight = options
    scale, zero, sums = c.scale, work.zero, work.sums
    nv = scale.shape[0]
    r, step = work.newton[0], work.newton[1]
    status = EXHAUSTED
    stalls = 0
    for it in range(iterations + 1):
        info[0] = it
        residual_tangent(t, work, c, loads, q, zero, zero, u, tau, 1.0, 0.0, 0.0, r, K)
        size = force_size(c, q, r, work, u, tau, scale, weight)
        clear_known(c, r)
        eliminate(c, K[0])
        norm = scaled_size(scale, r)
        if not norm < np.inf:
            info[1] = np.inf
            return NOT_FINITE
        relative = norm / size if size > 0.0 else 0.0
        info[1] = relative
        top = scaled_symmetric(K[0], scale, 0.0, A)
        positive = cholesky(A)
        info[4] = 1.0 if positive else 0.0
        neutral = False
        if not positive and use_energy and 0.0 < top < np.inf:
            scaled_symmetric(K[0], scale, NEUTRAL * top, A)
            neutral = cholesky(A)
        if relative <= tolerance and (positive or neutral or not use_energy):
            return CONVERGED
        if it == iterations:
            break
        shift = 0.0
        if neutral:  # a force along such a direction would move it without end
            neutral = reach(A, scale, r, step) <= radius
        if not positive and not neutral and use_energy:
            if not 0.0 < top < np.inf:
                return SINGULAR
            info[2] += 1
            shift = 1e-3 * top
            while not positive:
                scaled_symmetric(K[0], scale, shift, A)
                positive = cholesky(A)
                shift *= 4.0
                if shift > 1e12 * (top + 1e-300):
                    return SINGULAR
        if use_energy:
            reach(A, scale, r, step)
        else:
            for i in range(nv):
                for j in range(nv):
                    A[i, j] = scale[i] * scale[j] * K[0, i, j]
                step[i] = -scale[i] * r[i]
            if not lu_factor(A, pivot):
                return SINGULAR
            lu_solve(A, pivot, step)
        length = 0.0
        slope = 0.0
        for k in range(nv):
            length = max(length, abs(step[k]))
            slope += scale[k] * r[k] * step[k]
        if length <= tolerance and shift == 0.0:
            # within the tolerance of the solution (decisive where no single force sets a scale): take the step
            for k in range(nv):
                step[k] *= scale[k]
            integrate(c.shift, c.spatial, q, step, trial)
            for k in range(q.shape[0]):
                q[k] = trial[k]
            residual(t, work, c, loads, q, zero, zero, u, tau, r)
            clear_known(c, r)
            info[1] = scaled_size(scale, r) / size if size > 0.0 else 0.0
            return CONVERGED
        factor = min(1.0, radius / length) if length > 0.0 else 1.0
        energy0, parts0 = potential(t, work, c, loads, q, u, tau, sums)
        info[5] = energy0
        if use_energy and relative <= tolerance and slope > -1e-14 * parts0:
            # a saddle without a way down along the gradient: leave it along the step of a shifted tangent
            return STALLED
        accepted = False
        for _ in range(30):
            for k in range(nv):
                step[k] *= factor * scale[k]
            integrate(c.shift, c.spatial, q, step, trial)
            for k in range(nv):
                step[k] /= factor * scale[k]
            if use_energy:
                energy1, parts1 = potential(t, work, c, loads, trial, u, tau, sums)
                if energy1 <= energy0 + 1e-4 * factor * slope + 4e-15 * (parts0 + parts1):
                    accepted = True
                elif t.colloc.shape[0] > 0 and info[4] == 1.0 and relative < 1e-2 and factor == 1.0:
                    # forces on collocated rods have a potential up to the error of collocation: at the end, go by the residual
                    residual(t, work, c, loads, trial, zero, zero, u, tau, r)
                    clear_known(c, r)
                    accepted = scaled_size(scale, r) <= 0.5 * norm
            else:
                residual(t, work, c, loads, trial, zero, zero, u, tau, r)
                clear_known(c, r)
                norm1 = scaled_size(scale, r)
                if norm1 <= (1.0 - 1e-4 * factor) * norm or norm1 <= tolerance * size:
                    accepted = True
            if accepted:
                break
            info[3] += 1
            factor *= 0.5
        if not accepted:
            status = STALLED
            break
        for k in range(q.shape[0]):
            q[k] = trial[k]
        # rounding: no further progress at a residual that is small already
        if relative < 1e-9 and length * factor < 1e-13:
            stalls += 1
            if stalls > 2:
                status = STALLED
                break
    return status


@routine
def set_weights(c, q, v, h, scale, rtol, atol, weight):
    """weight (nv,) = atol·scale + rtol·|q| on ordinary coordinates, + rtol·|h v| on manifold joints."""
    for k in range(weight.shape[0]):
        weight[k] = atol * scale[k] + rtol * abs(h * v[k])
    for k in range(c.shift.shape[0]):
        i = c.shift[k, 1]
        weight[i] = atol * scale[i] + rtol * abs(q[c.shift[k, 0]])


@routine
def weighted_norm(x, weight):
    """Root mean square of x/weight."""
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] / weight[k]) ** 2
    return np.sqrt(total / x.shape[0])


@routine
def alpha_predict(alpha, h, v0, w0, a0, kind, v1, w1, a1, move):
    """Start of the iteration: the last acceleration (kind 0), the last velocity (1) or no acceleration (2) goes on."""
    am, af, beta, gamma = alpha[0], alpha[1], alpha[2], alpha[3]
    for k in range(v0.shape[0]):
        if kind == 1:  # the displacement is h v₀
            a1[k] = -(0.5 - beta) / beta * a0[k]
            w1[k] = ((1.0 - am) * a1[k] + am * a0[k] - af * w0[k]) / (1.0 - af)
        else:
            w1[k] = w0[k] if kind == 0 else 0.0
            a1[k] = ((1.0 - af) * w1[k] + af * w0[k] - am * a0[k]) / (1.0 - am)
        v1[k] = v0[k] + h * ((1.0 - gamma) * a0[k] + gamma * a1[k])
        move[k] = h * v0[k] + h * h * ((0.5 - beta) * a0[k] + beta * a1[k])


@routine
def polish(t, work, c, loads, fronts, q0, q1, v1, w1, u, tau, cv, ca, move, S, pivot, r, step):
    """Go on with Newton's iteration until constraints are closed to rounding and their forces have settled.

    The size of Δq says nothing of the forces: what they lack lies in the range of Gᵀ and moves nothing. Returns the number
    of iterations (many are a sign that the factors are stale) and the largest violation before the last one.
    """
    law = unpack_tendons(loads[0], loads[1]).law
    last = np.inf
    count = 0
    gap = 0.0
    for _ in range(40):
        residual(t, work, c, loads, q1, v1, w1, u, tau, r)
        clear_known(c, r)
        for k in range(step.shape[0]):
            step[k] = -r[k]
        solve_tangent(t, c, fronts, S, pivot, step)
        gap = correct_constraints(work, loads, law, q1, v1, u, step)
        change = work.message[MESSAGE_CHANGE]
        for k in range(step.shape[0]):
            move[k] += step[k]
            v1[k] += cv * step[k]
            w1[k] += ca * step[k]
        integrate(c.shift, c.spatial, q0, move, q1)
        count += 1
        if gap < CLOSED and (change < SETTLED or change > 0.5 * last):
            break
        last = change
    return count, gap


@routine
def alpha_step(
    t, work, c, loads, fronts, q0, v0, w0, a0, u, tau, h, alpha, tol, S, pivot, memory, q1, v1, w1, a1, info
):
    """One step of the Lie-group generalised-α method from (q₀, v₀, v̇₀ = w₀, a₀) to (q₁, v₁, w₁, a₁).

    alpha (4,): αm, αf, β, γ. tol (4,): rtol, atol, Newton tolerance relative to these, iterations. S (see `factors`) and
    pivot (nv,) keep the factorisation between steps; memory (3,): 1 if they hold one, its h, the rate of convergence
    last seen. info (5,) counts: iterations, factorisations, residuals; then the error estimate of q in units of the
    tolerance and the rate. Returns a status.

    On entry q₁, v₁ and w₁ hold the motion of prescribed coordinates. Tensions of tendons with a prescribed length are
    unknowns: they are started from u, and left there.

    A factorisation is reused while it converges well; otherwise the step is tried again with a new one, then with
    a new one in every iteration and other predictors.
    """
    nv = v0.shape[0]
    am, af, beta, gamma = alpha[0], alpha[1], alpha[2], alpha[3]
    cv = gamma / (h * beta)
    ca = (1.0 - am) / (h * h * beta * (1.0 - af))
    x, scale = work.newton, c.scale
    r, step, move, weight, error = x[0], x[1], x[2], x[3], x[4]
    kappa = tol[2]
    set_weights(c, q0, v0, h, scale, tol[0], tol[1], weight)
    read_known(c, work, q0, q1, v1, w1)
    held = holds(work)
    if abs(h - memory[1]) > 1e-12 * h:
        memory[0] = 0.0
    first = 0 if memory[0] == 1.0 else 1
    for attempt in range(first, 4):
        if attempt > 0:
            memory[0] = 0.0
        alpha_predict(alpha, h, v0, w0, a0, max(0, attempt - 1), v1, w1, a1, move)
        put_known(c, work, move, v1, w1, a1)
        rate = memory[2] if attempt == 0 else 0.0
        previous = 0.0
        gap = 0.0
        limit = int(tol[3]) if attempt < 2 else 4 * int(tol[3])
        for it in range(limit):
            integrate(c.shift, c.spatial, q0, move, q1)
            if memory[0] == 0.0 or (attempt >= 2 and it > 0):
                if not factor_tangent(t, work, c, loads, fronts, q1, v1, w1, u, tau, cv, ca, r, S, pivot):
                    memory[0] = 0.0
                    return SINGULAR
                if held:
                    prepare_constraints(t, c, work, loads, fronts, q1, v1, u, S, pivot)
                memory[0] = 1.0
                memory[1] = h
                info[1] += 1.0
            else:
                residual(t, work, c, loads, q1, v1, w1, u, tau, r)
            info[0] += 1.0
            info[2] += 1.0
            clear_known(c, r)
            for k in range(nv):
                step[k] = -r[k]
            solve_tangent(t, c, fronts, S, pivot, step)
            if held:
                gap = correct_constraints(work, loads, unpack_tendons(loads[0], loads[1]).law, q1, v1, u, step)
            size = weighted_norm(step, weight)
            if not size < 1e30:
                break
            for k in range(nv):
                move[k] += step[k]
                v1[k] += cv * step[k]
                w1[k] += ca * step[k]
            if it > 0:
                rate = size / previous
                if rate > 0.8 and attempt < 2 and size > kappa:
                    break
            previous = size
            # a rate seen in an earlier step is trusted only so far: it says nothing of how stale the factors are now
            bound = rate if it > 0 else max(rate, 0.1)
            remaining = size * bound / (1.0 - bound) if bound < 1.0 else size
            if remaining <= kappa and (rate > 0.0 or size <= 1e-2 * kappa) and gap <= 1e-6:
                integrate(c.shift, c.spatial, q0, move, q1)
                stale = False
                if held:
                    rounds, gap = polish(
                        t, work, c, loads, fronts, q0, q1, v1, w1, u, tau, cv, ca, move, S, pivot, r, step
                    )
                    if not gap < OPEN:
                        break
                    stale = rounds > 4
                for k in range(nv):
                    a1[k] = ((1.0 - af) * w1[k] + af * w0[k] - am * a0[k]) / (1.0 - am)
                    # against the increment that is exact to third order for known accelerations
                    error[k] = h * h * ((0.5 - beta) * a0[k] + beta * a1[k] - w0[k] / 3.0 - w1[k] / 6.0)
                    if c.known[k] == 1:
                        a1[k] = w1[k]
                        error[k] = 0.0
                memory[2] = rate
                info[3] = weighted_norm(error, weight)
                info[4] = rate
                if rate > 0.4 or it > 4 or stale:
                    memory[0] = 0.0
                return CONVERGED
    memory[0] = 0.0
    return EXHAUSTED
