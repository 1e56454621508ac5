"""Marching through time: the loop over steps, with error control, inside the engine.

A run is many calls of `march`, each for as many steps as its log has room for. It comes back to Python where something is to be
done there: the log is full, the end or a break of inputs is reached, a function failed, the step cannot be made short enough, a cable of prescribed length falls slack or becomes taut.
"""

import numpy as np

from ..._call import call_load
from ..._jit import routine
from ..program import GOOD, evaluate
from ..slots import (
    MARCH_AFTER,
    MARCH_BUDGET,
    MARCH_CONSERVE,
    MARCH_CONSTANT,
    MARCH_END,
    MARCH_ERROR,
    MARCH_ERROR_OLD,
    MARCH_EXPLICIT,
    MARCH_FACTORED,
    MARCH_FAILED,
    MARCH_FAILURES,
    MARCH_FORM,
    MARCH_GOOD,
    MARCH_H,
    MARCH_H_OLD,
    MARCH_LARGEST,
    MARCH_LEAP,
    MARCH_LEAP_T,
    MARCH_LOOKED,
    MARCH_OFF,
    MARCH_ORDER,
    MARCH_ORIGIN,
    MARCH_PAST,
    MARCH_PROBE,
    MARCH_RATE,
    MARCH_REFUSED,
    MARCH_REJECTED,
    MARCH_SEEK,
    MARCH_SIZE,
    MARCH_STAGE,
    MARCH_STEPS,
    MARCH_SWITCH,
    MARCH_T,
    MARCH_THIN,
    MARCH_TRIED,
    MARCH_TRUST,
    MARCH_WATCH,
    NEWTON_MOVE,
    OPTION_ATOL,
    OPTION_POWER,
    OPTION_RTOL,
    REPORT_KINETIC,
)
from .balance import power_balance
from .constraints import holds
from .esdirk import at_instant, displacement, esdirk_step, restore_forces
from .momentum import conserving_step
from .newton import CONVERGED, EXHAUSTED, SINGULAR
from .slack import NEVER, clear_slack, crossing, some_only_pull
from .stages import ZERO, refine, stage_problem
from .tape import ARRIVED, FULL, NONSENSE, SLOW, SWITCHED, TOLD_TO_STOP, TOO_SHORT

ROUNDING = 4.0 * 2.0**-52  # of a time that follows from others
EVERY = 4  # steps between two looks at the energy while nothing supplies any
SWITCHES = 256.0  # longest stretch of steps in explicit form
GOOD_STEPS = 8.0  # without a failure, after which the residual form is trusted again
REFUSALS = 3.0  # rejections by error in a row after which Python looks for a jump of the inputs
SOON, AT_ONCE, SHORTEST = 0.1, 1e-9, 1e-6  # how late a tendon may switch: shares of tolerances and steps
LEFT, RIGHT = np.int64(-1), np.int64(1)  # a step that ends at a jump does not see it
SAMPLE = np.int64(1)  # what a function of inputs is asked for: all stages at once


@routine
def ask(problem, tape, program, h, p):
    """Inputs and prescribed motion at the stages of a step. Returns False if their function failed."""
    s = tape.a.shape[0]
    for i in range(s):
        tape.times[i] = p[MARCH_T] + tape.tableau[s + 1, i] * h
    tape.times[s - 1] = end_of_step(h, p)
    if tape.address[0] != 0:
        call_load(tape.address[0], s, SAMPLE, tape.times, tape.inputs, tape.known, tape.q[0], tape.v[0], tape.v[0])
        if not tape.times[0] > -np.inf:
            return False
    elif program.entry.shape[0] > 0:
        for i in range(s):
            if evaluate(program, tape.times[i], RIGHT if i < s - 1 else LEFT, tape.inputs[i]) != GOOD:
                return False
    return True


@routine
def end_of_step(h, p):
    """When a step ends [s]; constant ones are counted, so that rounding does not add up."""
    if p[MARCH_CONSTANT] > 0.0 and h == p[MARCH_CONSTANT]:
        return p[MARCH_ORIGIN] + (np.round((p[MARCH_T] - p[MARCH_ORIGIN]) / h) + 1.0) * h
    return p[MARCH_T] + h


@routine
def length_of_step(p):
    """The next step [s]: not beyond the end, and the last two before it equal."""
    left = p[MARCH_END] - p[MARCH_T]
    if p[MARCH_CONSTANT] > 0.0:
        h = p[MARCH_CONSTANT]
        rounding = min(max(1e-9 * h, ROUNDING * max(abs(p[MARCH_END]), abs(p[MARCH_ORIGIN]))), 0.25 * h)
        return left if h > left - rounding else h
    h = min(p[MARCH_H], p[MARCH_LARGEST], p[MARCH_TRUST])
    if h >= left * (1.0 - 1e-9):
        return left
    return 0.5 * left if h > 0.5 * left else h


@routine
def attempt(problem, tape, program, factors, h, p):
    """One step of length h. Returns a status; TOLD_TO_STOP if a function of inputs failed."""
    p[MARCH_TRIED] = h
    p[MARCH_STAGE] = -1.0
    if not ask(problem, tape, program, h, p):
        return TOLD_TO_STOP
    for k in range(tape.force.shape[1]):
        tape.force[0, k] = problem.work.multiplier[k]
    if p[MARCH_CONSERVE] > 0.0:
        status = conserving_step(problem, tape, factors, h, p)
    else:
        status = esdirk_step(problem, tape, factors, h, p)
    if status != CONVERGED:
        restore_forces(problem, tape)
        at_instant(problem.work, tape)
    return status


@routine
def near_switch(share, over, h, p):
    """Whether the end of a step is as good as the instant, at a share of it, at which a tendon falls slack or becomes taut; if not, the step there is the next one.

    With constant steps that is their end. It is aimed at a little later, since slack tendons are told by a tension below zero and taut ones by their length.
    """
    if p[MARCH_CONSTANT] > 0.0:
        return True
    p[MARCH_SEEK] = max(p[MARCH_SEEK], h)
    late, tolerated = (1.0 - share) * h, SOON * np.sqrt(p[OPTION_RTOL]) * p[MARCH_SEEK]
    close = late <= tolerated and (
        over <= SOON * (p[OPTION_RTOL] + p[OPTION_ATOL]) * p[MARCH_SIZE] or late <= AT_ONCE * p[MARCH_SEEK]
    )
    if close or h <= SHORTEST * p[MARCH_SEEK]:
        return True
    p[MARCH_H] = share * h + min(0.3 * tolerated, 0.1 * late)
    p[MARCH_REJECTED] += 1.0
    p[MARCH_AFTER] = 1.0
    return False


@routine
def accept(problem, tape, factors, p):
    """The end of the step becomes the start of the next, and a row of the log."""
    s, nv = tape.a.shape
    last, row = s - 1, int(p[MARCH_STEPS])
    if p[MARCH_THIN] > 0.0:
        see_leap(problem, tape, p)
    p[MARCH_T] = tape.times[last]
    for i in range(s):
        tape.past_times[i] = tape.times[i]
        for k in range(nv):
            tape.past[i, k] = tape.a[i, k]
        for k in range(tape.force.shape[1]):
            tape.past_force[i, k] = tape.force[i, k]
    for k in range(tape.q.shape[1]):
        tape.q[0, k] = tape.q[last, k]
        tape.log_q[row, k] = tape.q[last, k]
    for k in range(nv):
        tape.v[0, k] = tape.v[last, k]
        tape.a[0, k] = tape.a[last, k]
        tape.log_v[row, k] = tape.v[last, k]
        tape.log_a[row, k] = tape.a[last, k]
    for k in range(tape.inputs.shape[1]):
        tape.log_u[row, k] = tape.inputs[last, k]
        tape.inputs[0, k] = tape.inputs[last, k]
    for k in range(tape.known.shape[1]):
        tape.known[0, k] = tape.known[last, k]
    for k in range(tape.log_multiplier.shape[1]):
        tape.log_multiplier[row, k] = problem.work.multiplier[k]
    for k in range(tape.memory.shape[1]):
        tape.log_memory[row, k] = tape.memory[0, k] = tape.memory[last, k]
        tape.flow[0, k] = tape.flow[last, k]
    at_instant(problem.work, tape)
    tape.log_t[row] = p[MARCH_T]
    p[MARCH_PAST] = 1.0
    p[MARCH_STEPS] += 1.0
    if p[MARCH_FORM] > 0.0 and not holds(problem.work):
        refine(problem, tape, ZERO, factors)
    look(problem, tape, row, p)


@routine
def see_leap(problem, tape, p):
    """Remember how far points move in a step, where that could carry them through an obstacle."""
    t, work = problem.t, problem.work
    last = tape.a.shape[0] - 1
    leap = displacement(t, work, tape.q[last], work.newton[NEWTON_MOVE])
    if leap > p[MARCH_THIN] and p[MARCH_LEAP] == 0.0:
        p[MARCH_LEAP_T] = p[MARCH_T]
    if leap > p[MARCH_THIN]:
        p[MARCH_LEAP] = max(leap, p[MARCH_LEAP])


@routine
def look(problem, tape, row, p):
    """Energies of the accepted state into the log, if somebody watches them."""
    energy = tape.log_energy[row]
    for k in range(energy.shape[0]):
        energy[k] = np.nan
    if p[MARCH_WATCH] == 0.0:
        return
    p[MARCH_LOOKED] += 1.0
    if p[MARCH_WATCH] == 1.0 and p[MARCH_LOOKED] < EVERY:
        return
    p[MARCH_LOOKED] = 0.0
    p[OPTION_POWER] = 1.0 if p[MARCH_WATCH] == 2.0 else 0.0
    here = stage_problem(problem, tape, ZERO)
    power_balance(here, tape.q[0], tape.v[0], tape.a[0], problem.work.newton[NEWTON_MOVE], p)
    for k in range(energy.shape[0]):
        energy[k] = p[REPORT_KINETIC + k]


@routine
def after_success(h, p):
    """The next step after an accepted one, by its error and that of the one before; it stays if it would change by little."""
    error, order = max(p[MARCH_ERROR], 1e-10), p[MARCH_ORDER]
    factor = 0.9 * error ** (-1.0 / order)
    if p[MARCH_H_OLD] > 0.0:
        trend = 0.9 * (h / p[MARCH_H_OLD]) * (p[MARCH_ERROR_OLD] / (error * error)) ** (1.0 / order)
        factor = min(factor, trend)
    factor = min(max(factor, 0.2), 6.0)
    if p[MARCH_AFTER] != 0.0:
        factor = min(factor, 1.0)
    if h < p[MARCH_H]:  # it was shortened to meet the end: what was planned still stands
        p[MARCH_H] = max(h * factor, p[MARCH_H]) if factor > 1.0 else h * factor
    elif factor < 0.95 or factor > 1.2:  # new factors cost more than a step of nearly that length saves
        p[MARCH_H] = h * factor
    else:
        p[MARCH_H] = h
    p[MARCH_H_OLD], p[MARCH_ERROR_OLD] = h, error
    p[MARCH_AFTER] = p[MARCH_REFUSED] = 0.0
    p[MARCH_TRUST] *= 1.2
    if p[MARCH_RATE] > 0.5:
        p[MARCH_FACTORED] = 0.0  # stale
    after_form(p)


@routine
def after_form(p):
    """Which form of Newton's iteration the next step has: after a stretch in explicit form the residual one is tried again."""
    if p[MARCH_FORM] > 0.0:
        p[MARCH_EXPLICIT] += 1.0
        p[MARCH_FORM] -= 1.0
        if p[MARCH_FORM] == 0.0:
            p[MARCH_FACTORED] = p[MARCH_GOOD] = p[MARCH_FAILED] = 0.0
            p[MARCH_PROBE] = 1.0
        return
    p[MARCH_GOOD] += 1.0
    if p[MARCH_GOOD] >= GOOD_STEPS:
        p[MARCH_GOOD] = p[MARCH_PROBE] = p[MARCH_FAILED] = 0.0
        p[MARCH_SWITCH] = max(0.5 * p[MARCH_SWITCH], 2.0)


@routine
def after_rejection(converged, h, p):
    """The next step after one whose error was too large, or that Newton's iteration did not get through."""
    p[MARCH_REJECTED] += 1.0
    p[MARCH_AFTER] = 1.0
    if converged:
        p[MARCH_REFUSED] += 1.0
        p[MARCH_H] = h * max(0.2, 0.9 * p[MARCH_ERROR] ** (-1.0 / p[MARCH_ORDER]))
        return
    p[MARCH_FAILURES] += 1.0
    p[MARCH_FACTORED] = p[MARCH_GOOD] = 0.0
    if p[MARCH_FORM] == 0.0:
        p[MARCH_FAILED] += 1.0
        if p[MARCH_PROBE] != 0.0 or p[MARCH_FAILED] >= 2.0:
            p[MARCH_FORM] = p[MARCH_SWITCH]
            p[MARCH_SWITCH] = min(2.0 * p[MARCH_SWITCH], SWITCHES)
            p[MARCH_FAILED] = 0.0
            p[MARCH_TRUST] = np.inf
            p[MARCH_H] = h  # the same step again
            return
    p[MARCH_H] = 0.4 * h
    p[MARCH_TRUST] = 0.7 * h


@routine
def march(problem, tape, program, factors, p):
    """Steps until there is something to do for Python. Options, report and memory are in p, see `slots`. Returns why it stops."""
    p[MARCH_STEPS] = 0.0
    room = float(tape.log_t.shape[0])
    tries = 0.0
    while p[MARCH_STEPS] < room and tries < p[MARCH_BUDGET]:
        tries += 1.0
        h = length_of_step(p)
        last = h >= p[MARCH_END] - p[MARCH_T]
        status = attempt(problem, tape, program, factors, h, p)
        if status == TOLD_TO_STOP:
            return TOLD_TO_STOP
        constant = p[MARCH_CONSTANT] > 0.0
        if constant and status == CONVERGED and p[MARCH_OFF] > 1.0:
            return NONSENSE
        if status == CONVERGED and (constant or p[MARCH_ERROR] <= 1.0):
            share = NEVER
            if some_only_pull(problem.work):
                share, over = crossing(problem, tape, h)
                if share <= 1.0 and not near_switch(share, over, h, p):
                    restore_forces(problem, tape)
                    at_instant(problem.work, tape)
                    continue
            if last:
                tape.times[tape.a.shape[0] - 1] = p[MARCH_END]
            if share <= 1.0:
                clear_slack(problem, tape, tape.inputs[tape.a.shape[0] - 1])
            accept(problem, tape, factors, p)
            if share <= 1.0:
                return SWITCHED
            if constant:
                if p[MARCH_RATE] > 0.05:  # stale, where many digits are wanted
                    p[MARCH_FACTORED] = 0.0
            else:
                after_success(h, p)
            if last:
                return ARRIVED
            continue
        if constant:
            return SINGULAR if status == SINGULAR else EXHAUSTED
        after_rejection(status == CONVERGED, h, p)
        if p[MARCH_H] < 1e-13 * max(1.0, abs(p[MARCH_T])):
            return TOO_SHORT
        if p[MARCH_REFUSED] == REFUSALS:
            return SLOW
    return FULL
