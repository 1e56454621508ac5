"""A motion in given steps, all of it kept: what can be differentiated exactly.

The steps are those of `esdirk`, for methods without memory: no stage has a share of the acceleration at the start, so that the end of a step
follows from the state at its start and its inputs alone. Constraints are kept as rates at the stages and by `settle` at the ends; `slack` says which
tendons take part.
"""

from ..._jit import routine
from ..layout import NO, YES
from ..slots import (
    HOLD_ACTIVE,
    MARCH_BUDGET,
    MARCH_CONSTANT,
    MARCH_FACTORED,
    MARCH_FEEDBACK,
    MARCH_GUESS,
    MARCH_PAST,
    MARCH_RATE,
    MARCH_STEPS,
)
from .constraints import holds
from .esdirk import at_instant, restore_forces, solve_stages, tell
from .feedback import feed_back, guessed_step
from .newton import CONVERGED, EXHAUSTED, OPEN
from .settle import settle
from .slack import catch, let_go
from .stages import ZERO, stage_problem
from .tape import ARRIVED, FULL

STALE = (
    0.4  # rate of convergence above which the tangent is factored again; near rounding rates of 0.1 to 0.3 mean nothing
)


@routine
def put_step(tape, rec, k):
    """The start, times, inputs and prescribed motion of step k, into the tape."""
    s = tape.a.shape[0]
    h = rec.t[k + 1] - rec.t[k]
    for i in range(s):
        tape.times[i] = rec.t[k] + tape.tableau[s + 1, i] * h
        for j in range(tape.inputs.shape[1]):
            tape.inputs[i, j] = rec.inputs[k, i, j]
        if rec.known.shape[0] > 0:
            for j in range(tape.known.shape[1]):
                tape.known[i, j] = rec.known[k, i, j]
    for j in range(tape.q.shape[1]):
        tape.q[0, j] = rec.q[k, j]
    for j in range(tape.v.shape[1]):
        tape.v[0, j] = rec.v[k, j]
    for j in range(tape.memory.shape[1]):
        tape.memory[0, j] = rec.memory[k, j]
    return h


@routine
def note_taut(work, rec, k, impact):
    """Which tendons take part in the projection of state k, into the record."""
    for j in range(work.hold.shape[0]):
        rec.taut[k, j] = work.hold[j, HOLD_ACTIVE]
    rec.impact[k] = 1.0 if impact else 0.0


@routine
def hold_from(work, rec, k):
    """The tendons that hold behind the projection of state k do so at the start of the step from there."""
    for j in range(work.hold.shape[0]):
        work.hold[j, HOLD_ACTIVE] = rec.taut[k, j] if rec.taut[k, j] < 2.0 else -1.0


@routine
def begin(problem, tape, rec, lever, factors):
    """The first state: the given start, with constraints met. Returns what they lack."""
    for j in range(tape.q.shape[1]):
        rec.q[0, j] = rec.begin_q[j]
    for j in range(tape.v.shape[1]):
        rec.v[0, j] = rec.begin_v[j]
    struck = False  # velocities of loops alone are projected as at the ends of steps
    for j in range(problem.work.hold.shape[0]):
        struck = struck or problem.work.hold[j, HOLD_ACTIVE] > 0.0
    note_taut(problem.work, rec, ZERO, struck)
    if not holds(problem.work):
        return 0.0
    put_step(tape, rec, ZERO)
    tell(problem, tape, ZERO)
    return settle(
        stage_problem(problem, tape, ZERO), tape, factors, rec.q[0], rec.v[0], tape.moved, lever.rows, rec.push[0], lever.vectors, struck, YES,
    )  # fmt: skip


@routine
def take_step(problem, tape, factors, h, p):
    """Solve the stages of a step, with tensions that only pull. Returns a status."""
    work = problem.work
    p[MARCH_CONSTANT] = h
    for k in range(tape.force.shape[1]):
        tape.force[0, k] = work.multiplier[k]
    status = CONVERGED
    for _ in range(work.hold.shape[0] + 1):
        status = solve_stages(problem, tape, factors, holds(work), h, p)
        if status != CONVERGED:
            restore_forces(problem, tape)
            return status
        if not let_go(problem, tape):
            break
        p[MARCH_FACTORED] = 0.0
    return status


@routine
def keep_step(problem, tape, rec, k):
    """What step k found, into the record; its end is the next state."""
    s, nv = tape.a.shape
    work, last = problem.work, s - 1
    for i in range(s):
        tape.past_times[i] = tape.times[i]
        for j in range(nv):
            tape.past[i, j] = rec.a[k, i, j] = tape.a[i, j]
        for j in range(tape.inputs.shape[1]):
            rec.inputs[k, i, j] = tape.inputs[i, j]
        for j in range(tape.force.shape[1]):
            tape.past_force[i, j] = rec.force[k, i, j] = tape.force[i, j]
        for j in range(tape.memory.shape[1]):
            rec.kept[k, i, j] = tape.memory[i, j]
    for j in range(work.hold.shape[0]):
        rec.hold[k, j] = work.hold[j, HOLD_ACTIVE]
    for j in range(nv):
        tape.a[0, j] = tape.a[last, j]
        rec.v[k + 1, j] = tape.v[last, j]
    for j in range(tape.q.shape[1]):
        rec.q[k + 1, j] = tape.q[last, j]
    for j in range(tape.memory.shape[1]):
        rec.memory[k + 1, j] = tape.memory[0, j] = tape.memory[last, j]
    at_instant(work, tape)


@routine
def rollout(problem, tape, rec, lever, factors, p):
    """Steps from p[MARCH_STEPS] on, at most p[MARCH_BUDGET] of them. Returns why it stops; p[MARCH_STEPS] counts those that are done."""
    work = problem.work
    n, last = rec.t.shape[0] - 1, tape.a.shape[0] - 1
    first = int(p[MARCH_STEPS])
    end = min(n, first + int(p[MARCH_BUDGET]))
    if first == 0 and not begin(problem, tape, rec, lever, factors) < OPEN:
        return EXHAUSTED
    for k in range(first, end):
        if p[MARCH_FEEDBACK] != 0.0:
            feed_back(problem.c, rec, lever, k)
        h = put_step(tape, rec, k)
        hold_from(work, rec, k)
        status = EXHAUSTED
        if p[MARCH_GUESS] != 0.0:
            status = guessed_step(problem, tape, lever, factors, k, h, p)
        if status != CONVERGED:
            status = take_step(problem, tape, factors, h, p)
        if status != CONVERGED:
            hold_from(work, rec, k)
            return status
        keep_step(problem, tape, rec, k)
        caught = catch(problem, tape)
        if holds(work):
            here = stage_problem(problem, tape, last)
            gap = settle(
                here, tape, factors, rec.q[k + 1], rec.v[k + 1], tape.moved, lever.rows, rec.push[k + 1], lever.vectors, caught, NO,
            )  # fmt: skip
            if not gap < OPEN:
                hold_from(work, rec, k)
                return EXHAUSTED
        note_taut(work, rec, k + 1, caught)
        if caught:
            p[MARCH_FACTORED] = 0.0  # factors that are kept know nothing of the constraint
        p[MARCH_PAST] = 1.0
        p[MARCH_STEPS] += 1.0
        if p[MARCH_RATE] > STALE:
            p[MARCH_FACTORED] = 0.0
    return ARRIVED if end == n else FULL
