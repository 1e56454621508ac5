"""Newton's iteration at one stage of a Runge–Kutta step: unknown accelerations, one factored tangent for all stages.

With ``g = γh`` a stage has ``V = v̄ + g A`` and, in the chart at the start of the step, ``X = x̄ + g K`` with
``K = T(−X)⁻¹ V``, so that ``ΔA`` moves the coordinates by ``Δq = g² ΔA`` and the velocities by ``Δq / g``: the tangent of an implicit
step, ``S = ∂r/∂q + (1/g) ∂r/∂v + (1/g²) M``, and ``S Δq = −r``.

Where the mass matrix is ill-conditioned and its weak directions turn with q, this iteration diverges at steps far shorter than
the motion asks for. The *explicit form* ``S Δq = −M₀ M(q)⁻¹ r`` (M₀ where S was factored) does not: in the limit of small steps it is
the fixed-point iteration of ``A = M⁻¹ f``.
"""

import numpy as np

from ..._call import call_load
from ..._jit import routine
from ..algebra.dual import get3, put3, put6, vscale
from ..algebra.exponential import inverse_tangent_apply
from ..algebra.linear import cholesky, cholesky_solve
from ..algebra.manifold import POSE, integrate, relative_log
from ..recursion.composite import mass_matrix
from ..recursion.dynamics import newton_euler
from ..recursion.forward import forward
from ..slots import (
    MARCH_CONSTANT,
    MARCH_FACTORED,
    MARCH_FACTORISATIONS,
    MARCH_FORCES,
    MARCH_FORM,
    MARCH_ITERATIONS,
    MARCH_LIMITING,
    MARCH_RATE,
    MARCH_RESIDUALS,
    MARCH_STAGE,
    NEWTON_MOVE,
    NEWTON_RESIDUAL,
    NEWTON_STEP,
    OPTION_ATOL,
    OPTION_LIMIT,
    OPTION_NEWTON,
    OPTION_RTOL,
)
from .articulated import SIX, factor_mass_tree
from .constraints import RATES, correct_constraints, prepare_constraints
from .factors import factor_tangent, scaled_factor, solve_tangent
from .fronts import solve_tree
from .newton import CONVERGED, EXHAUSTED, SINGULAR, Problem
from .prescribed import clear_known, eliminate
from .residual import residual, residual_tangent
from .tape import TOLD_TO_STOP

ZERO, ONE = np.int64(0), np.int64(1)
# how much closer the explicit form must come: what is left lies where the mass matrix is weak, as energy
SHARPER = 0.05
# correction, relative to natural sizes, below which an iteration that gets no further has reached rounding
ROUNDING = 1e-10
# what the function at address[0] is asked for beside the inputs of all stages: those of one stage for its state, which a feedback
# law depends on, and the derivative of the generalised forces that they are
FEEDBACK, LAW = np.int64(2), np.int64(3)
WITH_LAW = np.int64(2)  # of address[1]: that derivative is part of the tangent


@routine
def chart_rate(c, X, V, K):
    """K = T(−X)⁻¹ V on manifold joints, V elsewhere: the rate of the chart for a velocity."""
    for k in range(V.shape[0]):
        K[k] = V[k]
    for k in range(c.spatial.shape[0]):
        i = c.spatial[k, 1]
        w, y = vscale(-1.0, get3(X, i)), get3(V, i)
        if c.spatial[k, 2] == POSE:
            twist = (w, vscale(-1.0, get3(X, i + 3)))
            put6(K, i, inverse_tangent_apply(twist, (y, get3(V, i + 3))))
        else:
            put3(K, i, inverse_tangent_apply((w, vscale(0.0, w)), (y, vscale(0.0, y)))[0])


@routine
def alone(x):
    """Whether no earlier stage has moved the chart: its rate is then the velocity itself."""
    for k in range(x.shape[0]):  # noqa: SIM110
        if x[k] != 0.0:
            return False
    return True


@routine
def solve_chart(c, base, g, V, K, X):
    """X = x̄ + g K with K = T(−X)⁻¹ V, by fixed-point iteration from the X that is there."""
    for _ in range(30):
        chart_rate(c, X, V, K)
        change = 0.0
        for k in range(X.shape[0]):
            x = base[k] + g * K[k]
            change = max(change, abs(x - X[k]) / (1.0 + abs(x)))
            X[k] = x
        if not change > 1e-15:
            break


@routine
def put_stage(c, work, tape, i, g):
    """Velocity, rate of the chart and coordinates of stage i from its acceleration; what is prescribed as it is told."""
    A, V, K, X = tape.a[i], tape.v[i], tape.rate[i], work.newton[NEWTON_MOVE]
    nq, nv = tape.q.shape[1], A.shape[0]
    told = tape.known[i]
    for k in range(nv):
        if c.known[k] == 1:
            V[k], A[k] = told[nq + k], told[nq + nv + k]
        else:
            V[k] = tape.base[0, k] + g * A[k]
    if alone(tape.base[1]):
        for k in range(nv):
            X[k] = g * V[k]
    if c.spatial.shape[0] == 0:
        for k in range(nv):
            K[k] = V[k]
            X[k] = tape.base[1, k] + g * K[k]
    else:
        solve_chart(c, tape.base[1], g, V, K, X)
    for k in range(c.shift.shape[0]):
        if c.known[c.shift[k, 1]] == 1:
            X[c.shift[k, 1]] = told[c.shift[k, 0]] - tape.q[0, c.shift[k, 0]]
    for k in range(c.spatial.shape[0]):
        o, j = c.spatial[k, 0], c.spatial[k, 1]
        if c.known[j] == 1:
            relative_log(tape.q[0], told, o, o, c.spatial[k, 2], X, j)
    integrate(c.shift, c.spatial, tape.q[0], X, tape.q[i])


@routine
def stage_problem(problem, tape, i):
    """The equations with the inputs of stage i."""
    t, work, c, loads, fronts, _u, _tau = problem
    nu = tape.inputs.shape[1] - tape.a.shape[1]
    return Problem(t, work, c, loads, fronts, tape.inputs[i, :nu], tape.inputs[i, nu:])


@routine
def put_mass(t, work, c, out):
    """The mass matrix of the state of the last forward pass, into out (1, nv, nv)."""
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[0, i, j] = 0.0  # also where blocks are not coupled, which earlier factors may have filled
    mass_matrix(t, work, out)
    eliminate(c, out[0])


@routine
def factor_law(problem, tape, i, factors, g, r):
    """Factors of the tangent with a feedback law in it, whose derivative by Δq (and Δq / g in the velocity) is asked for."""
    t, work, c, loads, _fronts, u, tau = stage_problem(problem, tape, i)
    S = factors.S
    call_load(tape.address[0], i, LAW, tape.times, tape.inputs, tape.feedback, tape.q[i], tape.v[i], tape.base)
    residual_tangent(t, work, c, loads, tape.q[i], tape.v[i], tape.a[i], u, tau, 1.0, 1.0 / g, 1.0 / (g * g), r, S)
    for j in range(S.shape[1]):
        for k in range(S.shape[2]):
            S[0, j, k] -= tape.feedback[j, k]
    eliminate(c, S[0])
    return scaled_factor(S[0], c.scale, factors.pivot)


@routine
def factor_at(problem, tape, i, factors, held, g, p):
    """New factors of the tangent at stage i, where r = 0. Returns False if it is singular."""
    t, work, c, loads, fronts, u, tau = stage_problem(problem, tape, i)
    q, v, a = tape.q[i], tape.v[i], tape.a[i]
    p[MARCH_FACTORED] = 0.0
    r = work.newton[NEWTON_RESIDUAL]
    if tape.address[1] == WITH_LAW:
        if not factor_law(problem, tape, i, factors, g, r):
            return False
    elif not factor_tangent(t, work, c, loads, fronts, q, v, a, u, tau, 1.0 / g, 1.0 / (g * g), r, factors):
        return False
    if held:
        prepare_constraints(t, c, work, loads, fronts, q, v, u, factors)
    p[MARCH_FACTORED] = g
    p[MARCH_STAGE] = float(i)
    p[MARCH_FACTORISATIONS] += 1.0
    if p[MARCH_FORM] > 0.0 and not factors.tree:
        put_mass(t, work, c, tape.mass[:1])
    return True


@routine
def times_mass(problem, tape, factors, i, x, spare):
    """x becomes M₀ x, with the mass matrix where the tangent was factored; along the tree with that of stage i."""
    t, work, c, _loads, _fronts, _u, _tau = problem
    n = x.shape[0]
    if factors.tree:
        g0, g1, g2 = work.gravity[0], work.gravity[1], work.gravity[2]
        for k in range(3):
            work.gravity[k] = 0.0
        newton_euler(t, work, tape.q[i], work.zero, x, spare)
        work.gravity[0], work.gravity[1], work.gravity[2] = g0, g1, g2
    else:
        for i in range(n):
            row = tape.mass[0, i]
            spare[i] = 0.0
            for j in range(n):
                spare[i] += row[j] * x[j]
    clear_known(c, spare)
    for k in range(n):
        x[k] = spare[k]


@routine
def without_mass(problem, tape, factors, q, x):
    """x becomes M(q)⁻¹ x; needs `forward` at q. Returns False if M is singular."""
    t, work, c, _loads, fronts, _u, _tau = problem
    if factors.tree:
        if not factor_mass_tree(t, work, c, fronts, tape.mass[0], tape.pivot):
            return False
        solve_tree(t, fronts, c.known, c.scale, SIX, tape.mass[0], tape.pivot, x)
        return True
    put_mass(t, work, c, tape.mass[1:])
    if not cholesky(tape.mass[1]):
        return False
    cholesky_solve(tape.mass[1], x)
    return True


@routine
def norms(step, weights, g):
    """How much a correction moves coordinates or velocities, in units of what is tolerated; the larger root mean square."""
    x, y = 0.0, 0.0
    for k in range(step.shape[0]):
        x += (step[k] / weights[0, k]) ** 2
        y += (step[k] / (g * weights[1, k])) ** 2
    return np.sqrt(max(x, y) / step.shape[0])


@routine
def newton_form(problem, tape, i, factors, held, always, g, p):
    """Δq = −S⁻¹ r, into work.newton[NEWTON_STEP]. Returns a status."""
    t, work, c, loads, fronts, u, tau = stage_problem(problem, tape, i)
    r, step = work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP]
    if always:
        if not factor_at(problem, tape, i, factors, held, g, p):
            return SINGULAR
    else:
        residual(t, work, c, loads, tape.q[i], tape.v[i], tape.a[i], u, tau, r)
    clear_known(c, r)
    for k in range(step.shape[0]):
        step[k] = -r[k]
    solve_tangent(t, c, fronts, factors, step)
    return CONVERGED


@routine
def explicit_form(problem, tape, i, factors, held, always, g, p):
    """Δq = −S⁻¹ M₀ M(q)⁻¹ r, into work.newton[NEWTON_STEP]. Returns a status.

    With `always` S and M₀ are those of this very stage with the acceleration that its forces give it, so that r = 0 there.
    """
    t, work, c, loads, fronts, u, tau = stage_problem(problem, tape, i)
    r, step = work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP]
    q, v, a = tape.q[i], tape.v[i], tape.a[i]
    residual(t, work, c, loads, q, v, a, u, tau, r)
    clear_known(c, r)
    for k in range(step.shape[0]):
        step[k] = -r[k]
    if not without_mass(problem, tape, factors, q, step):
        return EXHAUSTED  # far away, where M is not what it was
    if always:
        for k in range(step.shape[0]):
            a[k] += step[k]
        regular = factor_at(problem, tape, i, factors, held, g, p)
        for k in range(step.shape[0]):
            a[k] -= step[k]
        if not regular:
            return SINGULAR
    times_mass(problem, tape, factors, i if always else ZERO, step, r)
    solve_tangent(t, c, fronts, factors, step)
    if held:
        forward(t, q, v, work.zero, work)  # what constraints are measured by
    return CONVERGED


@routine
def correction(problem, tape, i, factors, held, always, g, p):
    """One correction Δq of a stage, into work.newton[NEWTON_STEP]; its inputs, if they depend on the state, are asked for.

    Returns a status, the violation of constraints before it and the largest relative change of their forces.
    """
    work, c, loads, u = problem.work, problem.c, problem.loads, stage_problem(problem, tape, i).u
    q, v = tape.q[i], tape.v[i]
    if tape.address[1] != 0:
        call_load(tape.address[0], i, FEEDBACK, tape.times, tape.inputs, tape.known, q, v, work.zero)
        if not tape.times[0] > -np.inf:
            return TOLD_TO_STOP, 0.0, 0.0
    if p[MARCH_FORM] > 0.0:
        status = explicit_form(problem, tape, i, factors, held, always, g, p)
    else:
        status = newton_form(problem, tape, i, factors, held, always, g, p)
    p[MARCH_RESIDUALS] += 1.0
    gap, change = 0.0, 0.0
    if held and status == CONVERGED:
        gap, change = correct_constraints(c, work, loads, q, v, u, RATES, g, work.newton[NEWTON_STEP])
    return status, gap, change


@routine
def solve_stage(problem, tape, i, factors, held, always, g, p):
    """Iterate from the predicted acceleration of stage i; with `always` the tangent is factored anew in every iteration.

    How fast it converged stays in p[MARCH_RATE]. Returns a status.
    """
    work, c = problem.work, problem.c
    A, step = tape.a[i], work.newton[NEWTON_STEP]
    kappa, limit = p[OPTION_NEWTON], int(p[OPTION_LIMIT])
    if p[MARCH_FORM] > 0.0 and p[MARCH_CONSTANT] == 0.0:
        kappa *= SHARPER
    eta = max(p[MARCH_RATE], 1e-16) ** 0.8
    rounding = ROUNDING / (p[OPTION_RTOL] + p[OPTION_ATOL])
    previous, last_change = 0.0, 0.0
    for k in range(A.shape[0]):
        work.newton[NEWTON_MOVE, k] = tape.base[1, k] + g * tape.base[0, k]
    put_stage(c, work, tape, i, g)
    for it in range(4 * limit if always else limit):
        put_stage(c, work, tape, i, g)
        status, _gap, change = correction(problem, tape, i, factors, held, always, g, p)
        if status != CONVERGED:
            return status
        p[MARCH_ITERATIONS] += 1.0
        size = norms(step, tape.weights, g)
        if not size < 1e30:
            blame_force(c, work.newton[NEWTON_RESIDUAL], p)
            return EXHAUSTED
        for k in range(A.shape[0]):
            A[k] += step[k] / (g * g)
        stalled = False
        if it > 0:
            theta = size / previous
            stalled = theta > 0.3 and size <= rounding
            if theta < 0.99:
                eta = theta / (1.0 - theta)
            if not always and not stalled and size > kappa:
                left = limit - 1 - it
                if theta > 0.9 or theta**left / (1.0 - theta) * size > kappa:
                    blame(step, tape.weights, g, p)
                    return EXHAUSTED
        previous = size
        settled = True
        if held:
            settled = forces_settled(it, change, last_change, p)
            last_change = change
        enough = eta * size <= kappa and (it > 0 or eta < 1.0 or size <= 0.01 * kappa)
        if (enough or stalled) and settled:
            put_stage(c, work, tape, i, g)
            # how fast it is with a tangent in every iteration says nothing of how fast the next stage will be with a kept one
            p[MARCH_RATE] = eta if it < 5 and not always else 1.0
            return CONVERGED
    blame(step, tape.weights, g, p)
    return EXHAUSTED


@routine
def forces_settled(it, change, before, p):
    """Whether forces of constraints, which no displacement tells of, have converged: by their own rate."""
    if it == 0 or before == 0.0:
        return change <= 0.1 * p[MARCH_FORCES]
    theta = change / before
    if theta > 0.5:  # rounding
        return change <= p[MARCH_FORCES] or it > 5
    return change * theta / (1.0 - theta) <= p[MARCH_FORCES]


@routine
def blame_force(c, r, p):
    """Remember the coordinate with the largest force that is not balanced, where corrections are not numbers any more."""
    most = -1.0
    for k in range(r.shape[0]):
        size = abs(r[k]) * c.scale[k]
        if size > most:
            most = size
            p[MARCH_LIMITING] = float(k)


@routine
def blame(step, weights, g, p):
    """Remember the coordinate that Newton's iteration moves most."""
    most = -1.0
    for k in range(step.shape[0]):
        size = max(abs(step[k]) / weights[0, k], abs(step[k]) / (g * weights[1, k]))
        if not size <= most:
            most = size
            p[MARCH_LIMITING] = float(k)


@routine
def refine(problem, tape, i, factors):
    """The acceleration of stage i from the forces there: what Newton's remainder left of error is not handed on."""
    t, work, c, loads, _fronts, u, tau = stage_problem(problem, tape, i)
    r, step = work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP]
    residual(t, work, c, loads, tape.q[i], tape.v[i], tape.a[i], u, tau, r)
    clear_known(c, r)
    for k in range(step.shape[0]):
        step[k] = -r[k]
    if without_mass(problem, tape, factors, tape.q[i], step):
        for k in range(step.shape[0]):
            tape.a[i, k] += step[k]
