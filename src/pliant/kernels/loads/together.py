"""All loads and actuators together: what the residual and its tangent call.

Each family is one file with the same few functions: forces, matrices K and N of the steps (or derivatives in
generalised coordinates), what couples two steps, potential energy. The common ones are part of the engine, the others
are units (see `units`), of which the engine knows nothing but the tasks. A new family is a unit.

`loads` is the triple (ints, floats, buffer) of packed tables (see `packing`): a family that the robot lacks costs one
comparison.
"""

from ..._call import call_unit
from ..._jit import inline, routine
from ..groups import (
    HAS_EFFORTS,
    HAS_TENDONS,
    HAS_WRENCHES,
    U_ADDRESS,
    U_SPACE,
    U_TABLES,
    U_TASKS,
    unpack_efforts,
    unpack_tendons,
    unpack_units,
    unpack_wrenches,
)
from ..layout import (
    MESSAGE_COUNT,
    MESSAGE_CQ,
    MESSAGE_CV,
    MESSAGE_ENERGY,
    MESSAGE_GAP,
    MESSAGE_RATE,
    MESSAGE_SIZE,
    MESSAGE_VALUE,
    NO,
    YES,
)
from .efforts import E_GAIN, E_INPUT, E_V, add_effort_tangents, add_efforts, effort, effort_potential
from .law import add_projection
from .tendons import add_line_gradients, add_line_tangents, add_lines, line_lengths, line_potential, set_plain_tensions
from .units import (
    CLOSURE,
    DRIFT,
    ENERGY,
    FORCES,
    GENERALISED,
    INPUTS,
    LENGTHS,
    MATRICES,
    MEMORY,
    REVERSE,
    TANGENT,
    TOUCHES,
    VALUES,
)
from .wrenches import P_INPUT, P_KIND, P_STEP, subtract_wrenches, wrench_at, wrench_potential, wrench_tangents


@routine
def ask_units(loads, task, q, v, u, out):
    """Let every unit of the robot that knows a task do it."""
    ints, floats, buffer = loads
    units = unpack_units(ints, floats).row
    for k in range(units.shape[0]):
        if (units[k, U_TASKS] >> task) & 1 != 0:
            own, spare = units[k, U_TABLES], units[k, U_SPACE]
            call_unit(units[k, U_ADDRESS], task, own, spare, ints, floats, buffer, q, v, u, out)


@inline
def owes_steps(tasks):
    """Whether a unit says itself what it owes the steps on which it acts: those of tendons, which knows lengths, and of loads between two steps."""
    return (tasks >> LENGTHS) & 1 != 0 or ((tasks >> REVERSE) & 1 != 0 and (tasks >> TANGENT) & 1 != 0)


@routine
def ask_units_of(loads, task, owing, q, v, u, out):
    """The same of the units that say themselves what they owe steps, or of all others."""
    ints, floats, buffer = loads
    units = unpack_units(ints, floats).row
    for k in range(units.shape[0]):
        if (units[k, U_TASKS] >> task) & 1 != 0 and owes_steps(units[k, U_TASKS]) == owing:
            own, spare = units[k, U_TABLES], units[k, U_SPACE]
            call_unit(units[k, U_ADDRESS], task, own, spare, ints, floats, buffer, q, v, u, out)


@routine
def some_unit_knows(loads, task):
    """Whether the robot has a unit for a task."""
    ints, floats, _buffer = loads
    units = unpack_units(ints, floats).row
    known = False
    for k in range(units.shape[0]):
        known = known or (units[k, U_TASKS] >> task) & 1 != 0
    return known


@routine
def apply_loads(work, loads, q, v, u):
    """Subtract the wrenches of all loads from the inertial ones of the steps; sets the tensions. After `forward`."""
    ints, floats, _buffer = loads
    if ints[HAS_TENDONS] > 0:
        set_plain_tensions(unpack_tendons(ints, floats), work, u)
    if ints[HAS_WRENCHES] > 0:
        subtract_wrenches(unpack_wrenches(ints, floats), work.state, u, work.share[0])
    ask_units(loads, FORCES, q, v, u, work.zero)


@routine
def load_tangents(work, loads, q, v, u):
    """Matrices K and N of all loads, into those of the steps; after `apply_loads`."""
    ints, floats, _buffer = loads
    if ints[HAS_WRENCHES] > 0:
        wrench_tangents(unpack_wrenches(ints, floats), work.state, u, work.share[0], work.load)
    ask_units(loads, MATRICES, q, v, u, work.zero)


@routine
def add_generalised_loads(work, loads, q, v, u, r):
    """r −= generalised forces of the loads that act on coordinates; after `apply_loads`."""
    ints, floats, _buffer = loads
    if ints[HAS_TENDONS] > 0:
        add_lines(unpack_tendons(ints, floats), work, q, r)
    if ints[HAS_EFFORTS] > 0:
        add_efforts(unpack_efforts(ints, floats), q, v, u, r)
    ask_units(loads, GENERALISED, q, v, u, r)


@routine
def add_generalised_tangents(work, loads, q, v, u, cq, cv, out):
    """Derivatives of `add_generalised_loads`, and what loads between two steps add beyond their matrices K and N."""
    ints, floats, _buffer = loads
    if ints[HAS_TENDONS] > 0:
        add_line_tangents(unpack_tendons(ints, floats), work, q, cq, out)
    if ints[HAS_EFFORTS] > 0:
        add_effort_tangents(unpack_efforts(ints, floats), q, v, u, cq, cv, out)
    work.message[MESSAGE_CQ] = cq
    work.message[MESSAGE_CV] = cv
    ask_units(loads, TANGENT, q, v, u, out)


@routine
def load_potential(work, loads, q, u):
    """Potential energy of the loads that have one, and the size of its parts; after the forward pass at rest."""
    ints, floats, _buffer = loads
    energy = 0.0
    size = 0.0
    if ints[HAS_TENDONS] > 0 and not some_unit_knows(loads, LENGTHS):
        tendons = unpack_tendons(ints, floats)
        set_plain_tensions(tendons, work, u)
        part, parts = line_potential(tendons, work, q)
        energy += part
        size += parts
    if ints[HAS_EFFORTS] > 0:
        part, parts = effort_potential(unpack_efforts(ints, floats), q, u)
        energy += part
        size += parts
    if ints[HAS_WRENCHES] > 0:
        part, parts = wrench_potential(unpack_wrenches(ints, floats), work.state, work.origin, u, work.share[0])
        energy += part
        size += parts
    work.message[MESSAGE_ENERGY] = energy
    work.message[MESSAGE_SIZE] = size
    ask_units(loads, ENERGY, q, work.zero, u, work.zero)
    return work.message[MESSAGE_ENERGY], work.message[MESSAGE_SIZE]


@routine
def add_wrench_columns(t, work, wrenches, B):
    """Derivatives of the generalised forces with respect to the inputs of point wrenches."""
    for k in range(wrenches.place.shape[0]):
        j, i = wrenches.place[k, P_INPUT], wrenches.place[k, P_STEP]
        if j >= 0:
            x, M, F = wrench_at(work.state[i], wrenches.data[k], wrenches.place[k, P_KIND], 1.0)
            add_projection(t, work, i, x, M, F, B[j])


@routine
def input_columns(t, work, loads, q, v, u, B):
    """B (nu, nv): derivative of the generalised forces with respect to each input; the steps' columns must be known."""
    ints, floats, _buffer = loads
    for j in range(B.shape[0]):
        for k in range(B.shape[1]):
            B[j, k] = 0.0
    if ints[HAS_TENDONS] > 0 and not some_unit_knows(loads, LENGTHS):
        add_line_gradients(unpack_tendons(ints, floats), work, q, YES, -1.0, B)
    if ints[HAS_EFFORTS] > 0:
        efforts = unpack_efforts(ints, floats)
        for k in range(efforts.place.shape[0]):
            _f, _fs, _fr, free = effort(efforts, k, q, v, u)
            if efforts.place[k, E_INPUT] >= 0:
                B[efforts.place[k, E_INPUT], efforts.place[k, E_V]] += free * efforts.data[k, E_GAIN]
    if ints[HAS_WRENCHES] > 0:
        add_wrench_columns(t, work, unpack_wrenches(ints, floats), B)
    ask_units(loads, INPUTS, q, v, u, B)


@routine
def tendon_lengths(work, loads, q, v, u, J):
    """Lengths of all tendons into work.tension[:, 1], derivatives in q into J (tendons, nv); needs the steps' columns."""
    ints, floats, _buffer = loads
    if ints[HAS_TENDONS] == 0:
        return
    if some_unit_knows(loads, LENGTHS):
        ask_units(loads, LENGTHS, q, v, u, J)
        return
    tendons = unpack_tendons(ints, floats)
    line_lengths(tendons, work, q)
    for j in range(J.shape[0]):
        for k in range(J.shape[1]):
            J[j, k] = 0.0
    add_line_gradients(tendons, work, q, NO, 1.0, J)


@routine
def loop_values(loads, q, v, u, out):
    """Values, rates and accelerations of loop joints into work.closure; needs the forward pass."""
    ask_units(loads, VALUES, q, v, u, out)


@routine
def loop_closure(loads, q, v, u, G):
    """The same, and derivatives of the values into G (rows, nv); needs the steps' columns."""
    ask_units(loads, CLOSURE, q, v, u, G)


@routine
def loop_drift(work, loads, q, v, u, cq, cv, rate, value, out):
    """Derivatives of ë + rate · ė + value · e of loop joints, weighted by cq and cv as the steps' columns are, into out (rows, nv)."""
    work.message[MESSAGE_CQ] = cq
    work.message[MESSAGE_CV] = cv
    work.message[MESSAGE_RATE] = rate
    work.message[MESSAGE_VALUE] = value
    ask_units(loads, DRIFT, q, v, u, out)


@routine
def memory_rows(loads, q, v, u, out):
    """Derivatives of what units remember (see the task MEMORY of `units`) into out; needs the forward pass and the steps' columns J and R."""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = 0.0
    ask_units(loads, MEMORY, q, v, u, out)


@routine
def contact_table(work, loads, q, v, u, gap, table):
    """Contacts, and what is apart by less than `gap`, into `table` (see `contact`), their number into [MESSAGE_COUNT]."""
    work.message[MESSAGE_GAP] = gap
    work.message[MESSAGE_COUNT] = 0.0
    ask_units(loads, TOUCHES, q, v, u, table)
