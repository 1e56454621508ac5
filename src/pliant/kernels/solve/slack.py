"""Tendons of prescribed length that only pull: which of them hold, step by step.

A step is taken with the tendons that hold at its start. One whose tension ends below zero is let go, and the step taken again. One that was slack and is too long at
the end, and still gets longer, becomes taut there: the state is projected, and the velocity changes as in a plastic impact (`settle`).
"""

from ..._jit import routine
from ..groups import unpack_tendons
from ..loads.tendons import LAW_INPUT, T_LENGTH
from ..loads.together import tendon_lengths
from ..recursion.blocks import all_columns
from ..recursion.forward import forward
from ..slots import HOLD_ACTIVE, HOLD_LENGTH, HOLD_PUSHES, HOLD_RATE
from .esdirk import tell
from .stages import ONE, ZERO, stage_problem

LONGER = 1e-12  # of its length: rounding
NEVER = 2.0  # a share of a step beyond its end
HALVINGS = 60


@routine
def some_only_pull(work):
    """Whether the length of any tendon is prescribed that may fall slack."""
    found = False
    for k in range(work.hold.shape[0]):
        found = found or (work.hold[k, HOLD_ACTIVE] != 0.0 and work.hold[k, HOLD_PUSHES] == 0.0)
    return found


@routine
def some_slack(work):
    """Whether any of them is slack."""
    found = False
    for k in range(work.hold.shape[0]):
        found = found or work.hold[k, HOLD_ACTIVE] < 0.0
    return found


@routine
def let_go(problem, tape):
    """Tendons that would have to push at the end of a step are slack in all of it. Returns True if there are any."""
    work, loads = problem.work, problem.loads
    last, changed = tape.a.shape[0] - 1, False
    law = unpack_tendons(loads[0], loads[1]).law
    for k in range(work.hold.shape[0]):
        hold, j = work.hold[k], law[k, LAW_INPUT]
        if hold[HOLD_ACTIVE] == 1.0 and hold[HOLD_PUSHES] == 0.0 and tape.inputs[last, j] < 0.0:
            hold[HOLD_ACTIVE] = -1.0
            for i in range(tape.inputs.shape[0]):
                tape.inputs[i, j] = 0.0
            changed = True
    return changed


@routine
def measure_at(problem, tape, i):
    """Lengths of tendons at stage i, in work.tension, their derivatives, in work.rows[2], and what is told of them there."""
    t, work, _c, loads, _fronts, u, _tau = stage_problem(problem, tape, i)
    tell(problem, tape, i)
    forward(t, tape.q[i], tape.v[i], work.zero, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)
    tendon_lengths(work, loads, tape.q[i], tape.v[i], u, work.rows[2, : work.hold.shape[0]])


@routine
def beyond(work, v, k):
    """How much longer tendon k is than its cable, and how fast that grows; after `measure_at`."""
    rate = -work.hold[k, HOLD_RATE]
    for i in range(v.shape[0]):
        rate += work.rows[2, k, i] * v[i]
    return work.tension[k, T_LENGTH] - work.hold[k, HOLD_LENGTH], rate


@routine
def catch(problem, tape):
    """Slack tendons that are too long at the end of a step, and get longer, hold from there on. Returns True if there are any."""
    work = problem.work
    last, caught = tape.a.shape[0] - 1, False
    if not some_slack(work):
        return False
    measure_at(problem, tape, last)
    for k in range(work.hold.shape[0]):
        if work.hold[k, HOLD_ACTIVE] < 0.0:
            over, rate = beyond(work, tape.v[last], k)
            if over > LONGER * work.hold[k, HOLD_LENGTH] and rate > 0.0:
                work.hold[k, HOLD_ACTIVE] = 1.0
                caught = True
    return caught


@routine
def first_root(f0, d0, f1, d1):
    """Where a cubic with values f and derivatives d at 0 and 1 is zero, if f₁ > 0: by bisection; 0 if f₀ is not below zero."""
    if not f0 < 0.0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        x = 0.5 * (low + high)
        y = 1.0 - x
        f = y * y * ((1.0 + 2.0 * x) * f0 + x * d0) + x * x * ((1.0 + 2.0 * y) * f1 - y * d1)
        if f > 0.0:
            high = x
        else:
            low = x
    return high


@routine
def crossing(problem, tape, h):
    """At which share of a step, between 0 and 1, the first tendon falls slack or becomes taut, and how much too long [m] one is at its end; more than 1 if none.

    Slack is what would push at the end; its tension is taken for linear. Lengths are interpolated by cubics.
    """
    work, loads = problem.work, problem.loads
    last, first, over = tape.a.shape[0] - 1, NEVER, 0.0
    law = unpack_tendons(loads[0], loads[1]).law
    for k in range(work.hold.shape[0]):
        hold, j = work.hold[k], law[k, LAW_INPUT]
        before, after = tape.inputs[0, j], tape.inputs[last, j]
        if hold[HOLD_ACTIVE] == 1.0 and hold[HOLD_PUSHES] == 0.0 and after < 0.0:
            first = min(first, before / (before - after) if before > 0.0 else 0.0)
    if not some_slack(work):
        return first, over
    measure_at(problem, tape, last)
    for k in range(work.hold.shape[0]):
        if work.hold[k, HOLD_ACTIVE] < 0.0:
            f1, d1 = beyond(work, tape.v[last], k)
            if f1 > LONGER * work.hold[k, HOLD_LENGTH] and d1 > 0.0:
                measure_at(problem, tape, ZERO)
                f0, d0 = beyond(work, tape.v[0], k)
                measure_at(problem, tape, last)
                first, over = min(first, first_root(f0, h * d0, f1, h * d1)), max(over, f1)
    return first, over


@routine
def clear_slack(problem, tape, u):
    """Tensions of a switch: none that pushes."""
    work = problem.work
    law = unpack_tendons(problem.loads[0], problem.loads[1]).law
    for k in range(work.hold.shape[0]):
        if work.hold[k, HOLD_ACTIVE] == 1.0 and work.hold[k, HOLD_PUSHES] == 0.0:
            u[law[k, LAW_INPUT]] = max(u[law[k, LAW_INPUT]], 0.0)
