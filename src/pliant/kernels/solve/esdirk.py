"""One step of an explicit-first-stage, singly diagonally implicit Runge–Kutta method on the manifold.

For a state (q₀, v₀, a₀) with r = 0 and a tableau (aᵢⱼ, bⱼ, cᵢ) whose last stage is the end of the step:

``Vᵢ = v₀ + h Σ aᵢⱼ Aⱼ``,  ``Xᵢ = h Σ aᵢⱼ Kⱼ``,  ``Kᵢ = T(−Xᵢ)⁻¹ Vᵢ``,  ``Qᵢ = q₀ ⊕ Xᵢ``,  ``r(Qᵢ, Vᵢ, Aᵢ, u(t + cᵢh)) = 0``,

(a zero on its diagonal makes the last stage an explicit end, as for the midpoint rule), and the errors ``h Σ (b − b̂)ⱼ Kⱼ``, ``h Σ (b − b̂)ⱼ Aⱼ``. Constraints are kept as rates at the stages (index 2) and as values at the
end, by projection: index 3 loses an order in velocities and forces.

Internal variables z of loads (`loads.units`) are integrated with the robot: ``Z*ᵢ = z₀ + h Σⱼ₍ᵢ aᵢⱼ Fⱼ`` is what a load is given at stage i with
the time γh, Zᵢ what it makes of that, and ``Fᵢ = (Zᵢ − Z*ᵢ)/γh`` the rate there. States of controllers are the last columns of the same arrays; their
values, rates and error are written by the function that gives the inputs of a stage.
"""

import numpy as np

from ..._call import call_load
from ..._jit import routine
from ..algebra.dual import get3, get6, vadd, vcross, vdot
from ..algebra.manifold import integrate
from ..groups import unpack_tendons
from ..layout import NO, PE, VE, YES
from ..loads.tendons import LAW_INPUT
from ..recursion.forward import forward
from ..slots import (
    HOLD_ACTIVE,
    HOLD_LENGTH,
    HOLD_RATE,
    MARCH_AGAIN,
    MARCH_CONSTANT,
    MARCH_ERROR,
    MARCH_FACTORED,
    MARCH_FILTER,
    MARCH_FORM,
    MARCH_FRESH,
    MARCH_GAMMA,
    MARCH_LIMITING,
    MARCH_OFF,
    MARCH_ORDER,
    MARCH_PAST,
    MARCH_RATE,
    MARCH_SIZE,
    MARCH_STAGE,
    NEWTON_MOVE,
    NEWTON_RESIDUAL,
    NEWTON_STEP,
    OPTION_ATOL,
    OPTION_RTOL,
)
from .constraints import holds, project
from .factors import solve_tangent
from .newton import CONVERGED, EXHAUSTED, OPEN, SINGULAR
from .prescribed import clear_known
from .residual import residual
from .stages import (
    FEEDBACK,
    ONE,
    WITH_LAW,
    ZERO,
    factor_at,
    put_mass,
    put_stage,
    refine,
    solve_stage,
    stage_problem,
    times_mass,
)
from .tape import TOLD_TO_STOP

# of a step: accelerations closer than this do not serve a predictor together, which would magnify what they differ by; in explicit form
# they are those of their states, and fast
APART, APART_EXPLICIT = 0.25, 0.08
OLD = 2.5  # steps: older ones do not serve it


@routine
def set_weights(c, tape, q, v, h, p, larger):
    """Tolerated errors of coordinates and velocities; with `larger` no smaller than they are.

    ``w_q = atol s + rtol |q|``, with s in place of |q| on manifold joints;
    ``w_v = atol s/(1 s) + rtol max(|v|, s rms(v/s))``, and no less than a tenth of what vibrations of the size w_q have, up to the
    frequency of the coordinate or of the step.
    """
    rtol, atol = p[OPTION_RTOL], p[OPTION_ATOL]
    w, n = tape.weights, v.shape[0]
    mean = 0.0
    for k in range(n):
        mean += (v[k] / c.scale[k]) ** 2
    mean = np.sqrt(mean / n)
    size = tape.error[0]
    for k in range(n):
        size[k] = c.scale[k]
    for k in range(c.shift.shape[0]):
        size[c.shift[k, 1]] = abs(q[c.shift[k, 0]])
    for k in range(n):
        wq = atol * c.scale[k] + rtol * size[k]
        wv = atol * c.scale[k] + rtol * max(abs(v[k]), c.scale[k] * mean)
        wv = max(wv, 0.1 * wq * min(w[2, k], 1.0 / h))
        w[0, k] = max(wq, w[0, k]) if larger else wq
        w[1, k] = max(wv, w[1, k]) if larger else wv


@routine
def predict(problem, tape, i, h, attempt, p):
    """Acceleration of stage i, and the forces of loops, by Lagrange's formula through the three nearest known ones.

    In a second attempt those of the start.
    """
    few = attempt > 0
    apart = h * (APART_EXPLICIT if p[MARCH_FORM] > 0.0 else APART)
    s = tape.a.shape[0]
    target = tape.times[i]
    past = s if p[MARCH_PAST] != 0.0 else 0
    m = 0
    k0, k1, k2 = -1, -1, -1
    x0, x1, x2 = 0.0, 0.0, 0.0
    while m < (1 if few else 3):
        best, nearest, when = -1, OLD * h, 0.0
        for k in range(past + i):
            x = tape.past_times[k] if k < past else tape.times[k - past]
            if abs(x - target) >= nearest:
                continue
            if (m > 0 and abs(x - x0) < apart) or (m > 1 and abs(x - x1) < apart):
                continue
            best, nearest, when = k, abs(x - target), x
        if best < 0:
            break
        if m == 0:
            k0, x0 = best, when
        elif m == 1:
            k1, x1 = best, when
        else:
            k2, x2 = best, when
        m += 1
    if few or m == 0:
        k0, m = past, 1  # the start
    l0, l1, l2 = 1.0, 0.0, 0.0
    if m == 2:
        l0, l1 = (target - x1) / (x0 - x1), (target - x0) / (x1 - x0)
    elif m == 3:
        l0 = (target - x1) * (target - x2) / ((x0 - x1) * (x0 - x2))
        l1 = (target - x0) * (target - x2) / ((x1 - x0) * (x1 - x2))
        l2 = (target - x0) * (target - x1) / ((x2 - x0) * (x2 - x1))
    force = problem.work.multiplier
    add_share(tape, past, k0, l0, YES, i, force)
    if m > 1:
        add_share(tape, past, k1, l1, NO, i, force)
    if m > 2:
        add_share(tape, past, k2, l2, NO, i, force)


@routine
def add_share(tape, past, k, share, first, i, force):
    """tape.a[i] += share × the k-th known acceleration (of the last step, then of this one); = if it is the first. Likewise for `force`."""
    source = tape.past[k] if k < past else tape.a[k - past]
    out = tape.a[i]
    for j in range(out.shape[0]):
        out[j] = (0.0 if first else out[j]) + share * source[j]
    known = tape.past_force[k] if k < past else tape.force[k - past]
    for j in range(force.shape[0]):
        force[j] = (0.0 if first else force[j]) + share * known[j]


@routine
def begin_stage(problem, tape, i, h):
    """What stage i has without its own acceleration; prescribed lengths, and tensions and multipliers from the stage before."""
    work, loads = problem.work, problem.loads
    nv = tape.a.shape[1]
    v0, base = tape.v[0], tape.base
    for k in range(nv):
        base[0, k] = v0[k]
        base[1, k] = 0.0
    for j in range(i):
        f = h * tape.tableau[i, j]
        if f != 0.0:
            A, K = tape.a[j], tape.rate[j]
            for k in range(nv):
                base[0, k] += f * A[k]
                base[1, k] += f * K[k]
    recall(work, tape, i, h)
    tell(problem, tape, i)
    law = unpack_tendons(loads[0], loads[1]).law
    for k in range(work.hold.shape[0]):
        if work.hold[k, HOLD_ACTIVE] == 1.0:
            tape.inputs[i, law[k, LAW_INPUT]] = tape.inputs[i - 1, law[k, LAW_INPUT]]


@routine
def recall(work, tape, i, h):
    """What internal variables are without stage i's own share, and the time over which they are its own."""
    memory, n = work.memory, work.memory.shape[0]
    if n == 0:
        return
    work.lag[0] = h * tape.tableau[max(i, 1), max(i, 1)]
    for k in range(n):
        memory[k] = tape.memory[0, k]
    for j in range(i):
        f = h * tape.tableau[i, j]
        if f != 0.0:
            for k in range(n):
                memory[k] += f * tape.smooth[k] * tape.flow[j, k]


@routine
def remember(problem, tape, i):
    """Internal variables at stage i, which has converged, and their rates."""
    t, work, c, loads, _fronts, u, tau = stage_problem(problem, tape, i)
    n = work.memory.shape[0]
    if n == 0:
        return
    residual(t, work, c, loads, tape.q[i], tape.v[i], tape.a[i], u, tau, work.newton[NEWTON_RESIDUAL])
    lag = work.lag[0]
    for k in range(n):
        tape.memory[i, k] = work.kept[k]
        tape.flow[i, k] = (work.kept[k] - work.memory[k]) / lag if lag > 0.0 else 0.0


@routine
def control_at(problem, tape, i):
    """Inputs at stage i, which has converged, and states of controllers there. Returns False if their function failed."""
    call_load(
        tape.address[0],
        i,
        FEEDBACK,
        tape.times,
        tape.inputs,
        tape.known,
        tape.q[i],
        tape.v[i],
        problem.work.zero,
    )
    return tape.times[0] > -np.inf


@routine
def has_controller(problem, tape):
    """Whether states of controllers are integrated too."""
    return tape.memory.shape[1] > problem.work.memory.shape[0]


@routine
def at_instant(work, tape):
    """Internal variables as they are at the start of the step, where nothing evolves."""
    for k in range(work.memory.shape[0]):
        work.memory[k] = tape.memory[0, k]
    work.lag[0] = 0.0


@routine
def tell(problem, tape, i):
    """What constraints follow at stage i: rows of loops, lengths of tendons, and the rates of both."""
    work = problem.work
    nv, nq, m, rows = tape.a.shape[1], tape.q.shape[1], work.hold.shape[0], work.told.shape[0]
    told = tape.known[i, nq + 2 * nv + 2 * m :]
    for k in range(rows):
        work.told[k, 0] = told[k]
        work.told[k, 1] = told[rows + k]
    lengths = tape.known[i, nq + 2 * nv :]
    for k in range(m):
        work.hold[k, HOLD_LENGTH] = lengths[k]
        work.hold[k, HOLD_RATE] = lengths[m + k]


@routine
def explicit_stage(problem, tape, i, factors, held):
    """A stage that follows from the others: the end of a step whose method is not stiffly accurate; its acceleration from its forces.

    Returns a status.
    """
    c, work = problem.c, problem.work
    for k in range(tape.a.shape[1]):
        tape.a[i, k] = tape.a[i - 1, k]
        work.newton[NEWTON_MOVE, k] = tape.base[1, k]
    put_stage(c, work, tape, i, 0.0)
    if has_controller(problem, tape) and not control_at(problem, tape, i):
        return TOLD_TO_STOP
    if not held:
        refine(problem, tape, i, factors)
    return CONVERGED


@routine
def restore_forces(problem, tape):
    """Forces of loops as they are at the start of the step: an iteration that failed may have left anything."""
    for k in range(tape.force.shape[1]):
        problem.work.multiplier[k] = tape.force[0, k]


@routine
def all_stages(problem, tape, factors, held, attempt, h, p):
    """Solve stage after stage.

    `attempt` 0: with kept factors, where they fail with new ones at the last converged stage, where these fail in explicit form with new
    ones in every iteration; 1: with new ones in every iteration.

    Returns a status.
    """
    g = p[MARCH_GAMMA] * h
    s = tape.a.shape[0]
    restore_forces(problem, tape)
    recall(problem.work, tape, ZERO, h)
    if attempt == 0 and (p[MARCH_FACTORED] == 0.0 or abs(p[MARCH_FACTORED] - g) > 1e-12 * g):
        p[MARCH_RATE] = 1.0
        if not factor_at(problem, tape, ZERO, factors, held, g, p):
            return SINGULAR
    for i in range(1, s):
        begin_stage(problem, tape, i, h)
        if tape.tableau[i, i] == 0.0:
            if explicit_stage(problem, tape, i, factors, held) != CONVERGED:
                return TOLD_TO_STOP
            remember(problem, tape, i)
            continue
        if attempt > 0 or p[MARCH_AGAIN] == 0.0:
            predict(problem, tape, i, h, attempt, p)
        status = solve_stage(problem, tape, i, factors, held, attempt > 0, g, p)
        if status == EXHAUSTED and attempt == 0 and p[MARCH_STAGE] < i - 1.0:
            p[MARCH_RATE] = 1.0
            if not factor_at(problem, tape, i - 1, factors, held, g, p):
                return SINGULAR
            predict(problem, tape, i, h, ZERO, p)
            status = solve_stage(problem, tape, i, factors, held, NO, g, p)
        if status == EXHAUSTED and attempt == 0 and p[MARCH_FORM] > 0.0:
            predict(problem, tape, i, h, ZERO, p)
            status = solve_stage(problem, tape, i, factors, held, YES, g, p)
        if status != CONVERGED:
            return status
        for k in range(tape.force.shape[1]):
            tape.force[i, k] = problem.work.multiplier[k]
        remember(problem, tape, i)
        if has_controller(problem, tape) and not control_at(problem, tape, i):
            return TOLD_TO_STOP
    return CONVERGED


@routine
def damp_start(problem, tape, factors, held, h, p):
    """Take out of the acceleration at the start what decays within a constant step: a₀ − (1 − S⁻¹M)ᵏ a₀. Returns False if S is singular.

    A stiff damped robot that is let go has a huge acceleration for an instant far shorter than the step. It would be seen in the
    forces of the first steps. What the step resolves changes by less than the error of the step.
    """
    t, work, c, _loads, fronts, _u, _tau = problem
    g, n = p[MARCH_GAMMA] * h, tape.a.shape[1]
    recall(work, tape, ZERO, h)
    if not factor_at(problem, tape, ZERO, factors, held, g, p):
        return False
    rest, x = tape.base[0], work.newton[NEWTON_STEP]
    if not factors.tree:
        put_mass(t, work, c, tape.mass[:1])
    for k in range(n):
        rest[k] = 0.0 if c.known[k] == 1 else tape.a[0, k]
    for _ in range(int(p[MARCH_ORDER]) + 2):
        for k in range(n):
            x[k] = rest[k]
        times_mass(problem, tape, factors, ZERO, x, work.newton[NEWTON_RESIDUAL])
        solve_tangent(t, c, fronts, factors, x)
        for k in range(n):
            rest[k] -= x[k] / (g * g)
    for k in range(n):
        tape.a[0, k] -= rest[k]
    return True


@routine
def estimate(problem, tape, factors, h, p):
    """Errors of the end of the step, into tape.error, and their size in units of what is tolerated.

    The size is the largest of four: root mean squares of coordinates, of velocities and of states of controllers, and the displacement of
    any point of the robot against its size.
    """
    t, work, c = problem.t, problem.work, problem.c
    s, n = tape.a.shape
    last = s - 1
    ex, ev = tape.error[0], tape.error[1]
    set_weights(c, tape, tape.q[last], tape.v[last], h, p, YES)
    for k in range(n):
        ex[k] = 0.0
        ev[k] = 0.0
    for j in range(s):
        f = h * tape.tableau[s, j]
        A, K = tape.a[j], tape.rate[j]
        for k in range(n):
            ex[k] += f * K[k]
            ev[k] += f * A[k]
    clear_known(c, ex)
    clear_known(c, ev)
    if p[MARCH_FILTER] != 0.0:
        filter_error(problem, tape, factors, h, p)
    x, y, off, worst, where = 0.0, 0.0, 0.0, -1.0, 0
    for k in range(n):
        a, b = abs(ex[k]) / tape.weights[0, k], abs(ev[k]) / tape.weights[1, k]
        x += a * a
        y += b * b
        off += (ex[k] / c.scale[k]) ** 2
        if max(a, b) > worst:
            worst, where = max(a, b), k
    p[MARCH_LIMITING] = float(where)
    size = np.sqrt(max(x, y) / n)
    p[MARCH_OFF] = np.sqrt(off / n)
    if p[MARCH_SIZE] > 0.0:
        tolerated = (p[OPTION_RTOL] + p[OPTION_ATOL]) * p[MARCH_SIZE]
        size = max(size, displacement(t, work, tape.q[last], ex) / tolerated)
    if has_controller(problem, tape):
        size = max(size, tape.doubt[0])
    p[MARCH_ERROR] = size


@routine
def filter_error(problem, tape, factors, h, p):
    """Errors as an implicit step damps them: ``S e_v = M e_v − g K e_x``, for estimates that are not damped by themselves."""
    t, work, c, loads, fronts, u, tau = stage_problem(problem, tape, tape.a.shape[0] - 1)
    g = p[MARCH_GAMMA] * h
    last, n = tape.a.shape[0] - 1, tape.a.shape[1]
    ex, ev = tape.error[0], tape.error[1]
    r, step, a = work.newton[NEWTON_RESIDUAL], work.newton[NEWTON_STEP], tape.base[0]
    for k in range(n):
        step[k] = -g * ex[k]
        a[k] = tape.a[last, k] + ev[k]
    integrate(c.shift, c.spatial, tape.q[last], step, tape.moved)
    residual(t, work, c, loads, tape.moved, tape.v[last], a, u, tau, step)
    residual(t, work, c, loads, tape.q[last], tape.v[last], tape.a[last], u, tau, r)
    for k in range(n):
        step[k] -= r[k]
    clear_known(c, step)
    solve_tangent(t, c, fronts, factors, step)
    for k in range(n):
        ev[k] = step[k] / (g * g)
        ex[k] += g * ev[k]


@routine
def displacement(t, work, q, e):
    """How far the error e (nv,) of the coordinates moves any end of a step [m]."""
    forward(t, q, e, work.zero, work)
    largest = 0.0
    for i in range(t.step.shape[0]):
        V = get6(work.state[i], VE)
        x = vadd(V[1], vcross(V[0], get3(work.state[i], PE)))
        largest = max(largest, vdot(x, x))
    return np.sqrt(largest)


@routine
def solve_stages(problem, tape, factors, held, h, p):
    """The stages of a step of length h from stage 0 of the tape. Returns a status.

    Inputs and prescribed motion of the stages are in the tape. A constant step that Newton's iteration does not get through is
    tried in the other form, then with a new tangent in every iteration.
    """
    set_weights(problem.c, tape, tape.q[0], tape.v[0], h, p, NO)
    for k in range(tape.a.shape[1]):
        tape.rate[0, k] = tape.v[0, k]
    if p[MARCH_CONSTANT] > 0.0 and p[MARCH_FRESH] != 0.0:
        if not damp_start(problem, tape, factors, held, h, p):
            return SINGULAR
        p[MARCH_FRESH] = 0.0
    status = all_stages(problem, tape, factors, held, ZERO, h, p)
    if status == EXHAUSTED and tape.address[1] == 1 and tape.feedback.shape[0] > 0:  # a steep law: with its derivative
        tape.address[1] = WITH_LAW
        p[MARCH_FACTORED] = 0.0
        status = all_stages(problem, tape, factors, held, ZERO, h, p)
    if p[MARCH_CONSTANT] > 0.0 and status != CONVERGED and status != TOLD_TO_STOP:
        form = p[MARCH_FORM]
        p[MARCH_FORM] = 1.0 if form == 0.0 else 0.0
        p[MARCH_FACTORED] = 0.0
        status = all_stages(problem, tape, factors, held, ZERO, h, p)
        p[MARCH_FORM] = form
        if status != CONVERGED and status != TOLD_TO_STOP:
            status = all_stages(problem, tape, factors, held, ONE, h, p)
        p[MARCH_FACTORED] = 0.0
    if status != CONVERGED:
        p[MARCH_FACTORED] = 0.0
    return status


@routine
def esdirk_step(problem, tape, factors, h, p):
    """Try a step of length h from stage 0 of the tape; its end is the last stage, with constraints met, and its error. Returns a status."""
    work = problem.work
    last = tape.a.shape[0] - 1
    held = holds(work)
    status = solve_stages(problem, tape, factors, held, h, p)
    if status != CONVERGED:
        return status
    if (
        held
        and not project(stage_problem(problem, tape, last), tape.q[last], tape.v[last], work.newton[NEWTON_STEP]) < OPEN
    ):
        p[MARCH_FACTORED] = 0.0
        return EXHAUSTED
    estimate(problem, tape, factors, h, p)
    return CONVERGED
