"""Families of loads that are compiled on their own, when a robot first needs them.

The engine calls them through a pointer, so that a robot without contact does not wait for contact to compile. All of
them have one signature and know these tasks:

* FORCES: subtract wrenches from those of the steps (after the forward pass);
* MATRICES: add to the matrices K and N of the steps;
* TANGENT: add to the tangent `out` (nv, nv) what K and N do not hold; weights cq, cv in work.message[0:2];
* ENERGY: potential energy and the size of its parts into work.message[2:4];
* INPUTS: add the derivatives with respect to the inputs to `out` (nu, nv);
* LENGTHS: lengths of tendons into work.tension, their derivatives into `out` (tendons, nv);
* VALUES: values, rates and accelerations of loop joints into work.closure;
* CLOSURE: these, and their derivatives into `out` (rows, nv);
* TOUCHES: contacts into the rows of `out`, also those apart by less than work.message[0]; their number into work.message[2].
"""

from ..._call import array_at, unit
from ..._jit import routine
from ..groups import (
    CLOSURE,
    ENERGY,
    FORCES,
    INPUTS,
    LENGTHS,
    MATRICES,
    TANGENT,
    TOUCHES,
    VALUES,
    unpack_contact,
    unpack_loops,
    unpack_tables,
    unpack_tendons,
    unpack_user,
    unpack_water,
    unpack_work,
)
from .cables import (
    add_tension_tangents,
    apply_segments,
    gradients,
    measure,
    segment_tangents,
    set_tensions,
    tendon_potential,
)
from .contact import (
    TABLE_WIDTH,
    apply_contact,
    contact_cross_terms,
    contact_potential,
    contact_tangents,
    step_columns,
    write_contacts,
)
from .loops import apply_loops, closure, loop_tangents
from .tendons import T_STIFF
from .user import USER_WIDTH, apply_user, evaluate, point_of
from .water import apply_water, water_potential, water_tangents


@unit
def cables_unit(task, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out):
    """Straight stretches, elasticity and friction of tendons."""
    ints, floats = array_at(i, (n_i,)), array_at(f, (n_f,))
    t, work = unpack_tables(ints, floats), unpack_work(ints, array_at(w, (n_w,)))
    tendons = unpack_tendons(ints, floats)
    q, v, u = array_at(q, (n_q,)), array_at(v, (n_v,)), array_at(u, (n_u,))
    if task == FORCES:
        set_tensions(tendons, work, q, v, u)
        apply_segments(tendons, work)
    elif task == MATRICES:
        segment_tangents(t, tendons, work, task < 0, 1.0, work.out[0])
    elif task == TANGENT:
        matrix = array_at(out, (n_v, n_v))
        cq, cv = work.message[0], work.message[1]
        segment_tangents(t, tendons, work, task >= 0, cq, matrix)
        add_tension_tangents(t, tendons, work, q, v, cq, cv, matrix)
    elif task == ENERGY:
        set_tensions(tendons, work, q, v, u)
        measure(tendons, work, q, v)
        work.message[2], work.message[3] = tendon_potential(tendons, work)
    elif task == INPUTS:
        set_tensions(tendons, work, q, v, u)
        B = array_at(out, (n_u, n_v))
        for k in range(tendons.law.shape[0]):
            gradients(t, tendons, work, k, q, v, 1.0, 0.0, task < 0, work.gradient)
            scale = -1.0
            if tendons.law[k, 1] == 1:
                scale = -work.tension[k, T_STIFF]
            for c in range(n_v):
                B[tendons.law[k, 0], c] += scale * work.gradient[0, c]
    elif task == LENGTHS:
        measure(tendons, work, q, v)
        J = array_at(out, (tendons.law.shape[0], n_v))
        for k in range(tendons.law.shape[0]):
            gradients(t, tendons, work, k, q, v, 1.0, 0.0, task < 0, work.gradient)
            for c in range(n_v):
                J[k, c] = work.gradient[1, c]


@unit
def water_unit(task, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out):
    """Forces of a fluid."""
    ints, floats = array_at(i, (n_i,)), array_at(f, (n_f,))
    work = unpack_work(ints, array_at(w, (n_w,)))
    water = unpack_water(ints, floats)
    if task == FORCES:
        apply_water(water, work.gravity, work.state)
    elif task == MATRICES:
        water_tangents(water, work.gravity, work)
    elif task == ENERGY:
        work.message[2], work.message[3] = water_potential(water, work.gravity, work.state, work.origin)


@unit
def contact_unit(task, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out):
    """Contact with obstacles and between rods."""
    ints, floats = array_at(i, (n_i,)), array_at(f, (n_f,))
    t, work = unpack_tables(ints, floats), unpack_work(ints, array_at(w, (n_w,)))
    contact = unpack_contact(ints, floats)
    if task == FORCES:
        apply_contact(t, work, contact)
    elif task == MATRICES:
        contact_tangents(t, work, contact)
    elif task == TANGENT:
        contact_cross_terms(t, work, contact, work.message[0], array_at(out, (n_v, n_v)))
    elif task == ENERGY:
        energy = contact_potential(t, work, contact)
        work.message[2] = energy
        work.message[3] = energy
    elif task == TOUCHES:
        write_contacts(t, work, contact, array_at(out, (n_out // TABLE_WIDTH, TABLE_WIDTH)))


@unit
def user_unit(task, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out):
    """Loads that the user wrote."""
    ints, floats = array_at(i, (n_i,)), array_at(f, (n_f,))
    t, work = unpack_tables(ints, floats), unpack_work(ints, array_at(w, (n_w,)))
    user = unpack_user(ints, floats)
    if task in (FORCES, MATRICES):
        apply_user(user, work, array_at(u, (n_u,)), task)
    elif task == INPUTS:
        user_columns(t, work, user, array_at(u, (n_u,)), array_at(out, (n_u, n_v)))


@unit
def loops_unit(task, i, n_i, f, n_f, w, n_w, q, n_q, v, n_v, u, n_u, out, n_out):
    """Joints that close loops."""
    ints, floats = array_at(i, (n_i,)), array_at(f, (n_f,))
    t, work = unpack_tables(ints, floats), unpack_work(ints, array_at(w, (n_w,)))
    loops = unpack_loops(ints, floats)
    if task == FORCES:
        apply_loops(loops, work.state, work.multiplier)
    elif task == MATRICES:
        loop_tangents(t, work, loops, task < 0, 1.0, work.out[0])
    elif task == TANGENT:
        loop_tangents(t, work, loops, task >= 0, work.message[0], array_at(out, (n_v, n_v)))
    elif task == VALUES:
        closure(t, work, loops, task < 0, work.rows[0])
    elif task == CLOSURE:
        closure(t, work, loops, task >= 0, array_at(out, (loops.row.shape[0], n_v)))


@routine
def add_projection(t, work, i, x, M, F, out):
    """out (nv,) += Jᵀ (M about x, F) for the point x of step i."""
    if i < 0:
        return
    step_columns(t, work, i, work.columns[0], work.columns[1])
    J = work.columns[0]
    m0, m1, m2 = M[0] + x[1] * F[2] - x[2] * F[1], M[1] + x[2] * F[0] - x[0] * F[2], M[2] + x[0] * F[1] - x[1] * F[0]
    for k in range(out.shape[0]):
        out[k] += m0 * J[0, k] + m1 * J[1, k] + m2 * J[2, k] + F[0] * J[3, k] + F[1] * J[4, k] + F[2] * J[5, k]


@routine
def user_columns(t, work, user, u, B):
    """Derivatives with respect to the inputs of user loads, by central differences."""
    for k in range(user.load.shape[0]):
        first, n = user.load[k, 0], user.load[k, 1] - user.load[k, 0]
        for j in range(user.load[k, 3], user.load[k, 3] + user.load[k, 4]):
            value = u[j]
            h = 6e-6 * max(1.0, abs(value))
            for side in range(2):
                sign = 1.0 if side == 0 else -1.0
                u[j] = value + sign * h
                evaluate(user, k, work, u, FORCES)
                buffer = work.user[USER_WIDTH * first : USER_WIDTH * (first + n)]
                for m in range(n):
                    f = 0.5 * sign / h * user.place[first + m, 12]
                    o = 18 * n + 6 * m
                    M = (f * buffer[o], f * buffer[o + 1], f * buffer[o + 2])
                    F = (f * buffer[o + 3], f * buffer[o + 4], f * buffer[o + 5])
                    add_projection(t, work, user.point[first + m, 0], point_of(user, first + m, work.state), M, F, B[j])
            u[j] = value


UNIT_OF = (cables_unit, water_unit, contact_unit, user_unit, loops_unit)  # in the order of `groups`
