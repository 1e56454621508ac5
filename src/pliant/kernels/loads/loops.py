"""Loop joints: closure of the tree by joints between two frames, with multipliers, and forces on the coordinates of these joints.

A joint is a set of rows (see `rows`) that are zero, or follow what is prescribed (`Work.told`), each with a multiplier; couplings of
coordinates of the tree, ``Σ ratio q = const``, are rows too. Seen from A the force of a row is constant up to the turning of
B, so that a joint is a load between two steps (see `law`), whose derivatives are exact wherever the frames are.

On coordinates of loop joints, which are rows without a multiplier, springs, dampers, motors and stops act by the law of `efforts`.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import (
    add6,
    dadd,
    daxpy,
    dcross,
    dscale,
    dsub,
    dual_dot,
    get3,
    get6,
    get9,
    mm,
    mv,
    vadd,
    vaxpy,
    vcross,
    vdot,
    vscale,
    vsub,
)
from ..layout import (
    AE,
    D_ROW,
    F1,
    F2,
    G_V,
    H_Y,
    I2,
    K_ROW,
    MESSAGE_CQ,
    MESSAGE_CV,
    MESSAGE_ENERGY,
    MESSAGE_FORCES,
    MESSAGE_RATE,
    MESSAGE_SIZE,
    MESSAGE_VALUE,
    NO,
    PE,
    RE,
    VE,
    Y_ROW,
    YES,
)
from .efforts import E_GAIN, effort_energy, effort_law
from .law import acceleration_columns, add_cross_terms, clear_laws, pair_columns, subtract_pair, subtract_wrench
from .owing import at_origin, owe_offset, owe_pose, pair_owes
from .rows import COUPLING, ROW_CONSTANT, add_row_matrix, is_rate, repeats, row_jet, row_place, row_wrench, wrapped
from .units import CLOSURE, DRIFT, ENERGY, FORCES, GENERALISED, INPUTS, MATRICES, TANGENT, VALUES, unit


class Loops(NamedTuple):
    """Loop joints as arrays; constant after compile."""

    joint: I2  # (joints, 6) steps of A and B (−1: the world), first and end of its rows, of its drives
    place: F2  # (joints, 24) frames A and B in their steps: rotation, translation
    row: I2  # (rows, 3) kind; first and end of the terms of a coupling
    data: F2  # (rows, ROW_WIDTH) see `rows`
    term: I2  # (terms, 2) coordinate and velocity of a coupling
    ratio: F1  # (terms,)
    drive: I2  # (drives, 2) kind of the coordinate, input (−1: none)
    coordinate: F2  # (drives, ROW_WIDTH) see `rows`
    law: F2  # (drives, EFFORT_WIDTH) see `efforts`


JOINT_A, JOINT_B, JOINT_FIRST, JOINT_END, JOINT_DRIVE, JOINT_DRIVES = (np.int64(k) for k in range(6))
ROW_KIND, ROW_TERM, ROW_TERMS = (np.int64(k) for k in range(3))
DRIVE_KIND, DRIVE_INPUT = (np.int64(k) for k in range(2))
N0, N9, N12, N21 = (np.int64(k) for k in (0, 9, 12, 21))


@routine
def loop_frames(loops, k, state):
    """Rotations and positions of both frames."""
    ra, rb = state[loops.joint[k, JOINT_A]], state[loops.joint[k, JOINT_B]]
    place = loops.place[k]
    Ra, Rb = get9(ra, RE), get9(rb, RE)
    return (
        mm(Ra, get9(place, N0)),
        vadd(get3(ra, PE), mv(Ra, get3(place, N9))),
        mm(Rb, get9(place, N12)),
        vadd(get3(rb, PE), mv(Rb, get3(place, N21))),
    )


@routine
def relative_motion(loops, k, state, pb):
    """Angular velocity of B and velocity of p_B, as seen from A, in world axes."""
    ra, rb = state[loops.joint[k, JOINT_A]], state[loops.joint[k, JOINT_B]]
    w = vsub(get3(rb, VE), get3(ra, VE))
    return w, vadd(vsub(get3(rb, VE + 3), get3(ra, VE + 3)), vcross(w, pb))


# ---------------------------------------------------------------- forces on coordinates of loop joints


@routine
def drive_force(loops, m, s, rate, u):
    """Force on a coordinate of a joint, its derivatives by s and ṡ, and 1 while it follows its input; see `efforts`."""
    j = loops.drive[m, DRIVE_INPUT]
    push = loops.law[m, E_GAIN] * u[j] if j >= 0 else 0.0 * rate
    return effort_law(loops.law[m], s, rate, push)


@routine
def drive_potential(loops, work, u):
    """Energy of springs, stops and constant inputs on coordinates of loop joints, into the message."""
    for k in range(loops.joint.shape[0]):
        first, end = loops.joint[k, JOINT_DRIVE], loops.joint[k, JOINT_DRIVES]
        if first == end:
            continue
        A, pa, B, pb = loop_frames(loops, k, work.state)
        for m in range(first, end):
            s, _M, _F = row_wrench(loops.drive[m, DRIVE_KIND], loops.coordinate[m], A, B, vsub(pb, pa))
            j = loops.drive[m, DRIVE_INPUT]
            part = effort_energy(loops.law[m], s, loops.law[m, E_GAIN] * u[j] if j >= 0 else 0.0)
            work.message[MESSAGE_ENERGY] += part
            work.message[MESSAGE_SIZE] += abs(part)


# ---------------------------------------------------------------- forces and their derivatives


@routine
def joint_force(loops, work, k, A, pa, B, pb, u):
    """The whole wrench (M about p_B, F) of a joint on B: of its multipliers, and on its coordinates."""
    d = vsub(pb, pa)
    M, F = vscale(0.0, d), vscale(0.0, d)
    for e in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
        _e, m, f = row_wrench(loops.row[e, ROW_KIND], loops.data[e], A, B, d)
        M = vaxpy(work.multiplier[e], m, M)
        F = vaxpy(work.multiplier[e], f, F)
    first, end = loops.joint[k, JOINT_DRIVE], loops.joint[k, JOINT_DRIVES]
    if first < end:
        w, v = relative_motion(loops, k, work.state, pb)
        for e in range(first, end):
            s, m, f = row_wrench(loops.drive[e, DRIVE_KIND], loops.coordinate[e], A, B, d)
            force, _fs, _fr, _free = drive_force(loops, e, s, vdot(m, w) + vdot(f, v), u)
            M = vaxpy(force, m, M)
            F = vaxpy(force, f, F)
    return M, F


@routine
def apply_wrenches(work, loops, u):
    """Subtract the forces of joints from the wrenches of the steps."""
    state = work.state
    for k in range(loops.joint.shape[0]):
        i, j = loops.joint[k, JOINT_B], loops.joint[k, JOINT_A]
        A, pa, B, pb = loop_frames(loops, k, state)
        M, F = joint_force(loops, work, k, A, pa, B, pb, u)
        if i >= 0:
            subtract_wrench(state[i], pb, M, F)
        if j >= 0:
            subtract_wrench(state[j], pb, vscale(-1.0, M), vscale(-1.0, F))


@routine
def apply_couplings(work, loops, r):
    """r −= the forces of couplings on coordinates."""
    for e in range(loops.row.shape[0]):
        if loops.row[e, ROW_KIND] == COUPLING:
            for m in range(loops.row[e, ROW_TERM], loops.row[e, ROW_TERMS]):
                r[loops.term[m, 1]] -= work.multiplier[e] * loops.ratio[m]


@routine
def apply_loops(t, work, loops, space, q, v, u, r):
    """All forces, for any number type."""
    apply_wrenches(work, loops, u)
    apply_couplings(work, loops, r)


@routine
def add_drive_laws(loops, work, k, A, pa, B, pb, u, A6, B6, spare):
    """Derivatives of the forces on the coordinates of a joint, see `law`: f P + (M; F) ⊗ (∂f/∂s (M; F) + ∂f/∂ṡ ∂ṡ), ∂f/∂ṡ (M; F) ⊗ (M; F)."""
    w, v = relative_motion(loops, k, work.state, pb)
    d = vsub(pb, pa)
    for e in range(loops.joint[k, JOINT_DRIVE], loops.joint[k, JOINT_DRIVES]):
        kind, data = loops.drive[e, DRIVE_KIND], loops.coordinate[e]
        s, m, f = row_wrench(kind, data, A, B, d)
        force, fs, fr, _free = drive_force(loops, e, s, vdot(m, w) + vdot(f, v), u)
        for r in range(6):
            for c in range(6):
                spare[r, c] = 0.0
        add_row_matrix(kind, data, A, B, pa, pb, 1.0, spare)
        wrench = (m[0], m[1], m[2], f[0], f[1], f[2])
        motion = (w[0], w[1], w[2], v[0], v[1], v[2])
        for c in range(6):
            bent = 0.0 * s
            for r in range(6):
                bent += spare[r, c] * motion[r]
            for r in range(6):
                A6[r, c] += force * spare[r, c] + wrench[r] * (fs * wrench[c] + fr * bent)
                B6[r, c] += fr * wrench[r] * wrench[c]


@routine
def loop_tangents(t, work, loops, cross, cq, u, out):
    """Matrices K and N of the forces of joints; with `cross`, what couples the two steps instead."""
    A6, B6, spare = work.law[0], work.law[1], work.law[2]
    for k in range(loops.joint.shape[0]):
        i, j = loops.joint[k, JOINT_B], loops.joint[k, JOINT_A]
        if cross and (i < 0 or j < 0):
            continue
        A, pa, B, pb = loop_frames(loops, k, work.state)
        M, F = joint_force(loops, work, k, A, pa, B, pb, u)
        clear_laws(A6, B6)
        for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
            add_row_matrix(loops.row[r, ROW_KIND], loops.data[r], A, B, pa, pb, work.multiplier[r], A6)
        if loops.joint[k, JOINT_DRIVE] < loops.joint[k, JOINT_DRIVES]:
            add_drive_laws(loops, work, k, A, pa, B, pb, u, A6, B6, spare)
        if cross:
            pair_columns(t, work, i, j, work.pair)
            add_cross_terms(work, i, j, pb, M, F, A6, B6, spare, cq, work.pair, out)
        else:
            subtract_pair(work, i, j, pb, M, F, A6, B6, spare)


@routine
def add_gradient(work, pb, M, F, scale, y):
    """y (nv,) += scale × the derivative of a row with the wrench (M about p_B, F), from the columns in work.pair."""
    m = vadd(M, vcross(pb, F))
    Ji, Jj = work.pair[0], work.pair[1]
    for c in range(y.shape[0]):
        x = 0.0
        for r in range(3):
            x += m[r] * (Ji[r, c] - Jj[r, c]) + F[r] * (Ji[3 + r, c] - Jj[3 + r, c])
        y[c] += scale * x


@routine
def add_drive_inputs(t, work, loops, u, B):
    """Derivatives of the generalised forces with respect to the inputs that drive loop joints, into B (nu, nv)."""
    for k in range(loops.joint.shape[0]):
        first, end = loops.joint[k, JOINT_DRIVE], loops.joint[k, JOINT_DRIVES]
        if first == end:
            continue
        A, pa, Rb, pb = loop_frames(loops, k, work.state)
        w, v = relative_motion(loops, k, work.state, pb)
        pair_columns(t, work, loops.joint[k, JOINT_B], loops.joint[k, JOINT_A], work.pair)
        for e in range(first, end):
            j = loops.drive[e, DRIVE_INPUT]
            if j >= 0:
                s, m, f = row_wrench(loops.drive[e, DRIVE_KIND], loops.coordinate[e], A, Rb, vsub(pb, pa))
                _f, _fs, _fr, free = drive_force(loops, e, s, vdot(m, w) + vdot(f, v), u)
                add_gradient(work, pb, m, f, free * loops.law[e, E_GAIN], B[j])


# ---------------------------------------------------------------- values, rates and accelerations


@routine
def relative_twists(ra, rb):
    """Twist and acceleration of B as seen from A, at the origin: η = V_B − V_A, η̇ = A_B − A_A − ad_{V_A} η."""
    Va = get6(ra, VE)
    eta = dsub(get6(rb, VE), Va)
    return eta, dsub(dsub(get6(rb, AE), get6(ra, AE)), dcross(Va, eta))


@routine
def closure(t, work, loops, wanted, q, v, G):
    """Values, rates and accelerations of all rows into work.closure (rows, 4), less what is prescribed; if `wanted`, derivatives into G.

    Accelerations are those of the forward pass. G (rows, nv) are the derivatives of values, or of rates by velocities.
    """
    for k in range(loops.joint.shape[0]):
        j, i = loops.joint[k, JOINT_A], loops.joint[k, JOINT_B]
        A, pa, B, pb = loop_frames(loops, k, work.state)
        if wanted:
            pair_columns(t, work, i, j, work.pair)
        eta, rate = relative_twists(work.state[j], work.state[i])
        none = vscale(0.0, pb)
        turn, slide = (eta[0], rate[0], none, none, none), (eta[1], rate[1], none, none, none)
        for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
            kind, data = loops.row[r, ROW_KIND], loops.data[r]
            jet = row_jet(kind, data, row_place(kind, data, A, B), pa, pb, turn, slide)
            for c in range(3):
                work.closure[r, c] = jet[c] - work.told[r, c]
            work.closure[r, 3] = 1.0 if is_rate(kind) else 0.0
            if repeats(kind, data):  # an angle, which may be told to turn on and on
                work.closure[r, 0] = wrapped(work.closure[r, 0])
            if wanted:
                for c in range(G.shape[1]):
                    G[r, c] = 0.0
                _e, M, F = row_wrench(kind, data, A, B, vsub(pb, pa))
                add_gradient(work, pb, M, F, 1.0, G[r])
    for r in range(loops.row.shape[0]):
        if loops.row[r, ROW_KIND] == COUPLING:
            coupled(t, work, loops, r, q, v)
            if wanted:
                for c in range(G.shape[1]):
                    G[r, c] = 0.0
                for m in range(loops.row[r, ROW_TERM], loops.row[r, ROW_TERMS]):
                    G[r, loops.term[m, 1]] += loops.ratio[m]


@routine
def coupled(t, work, loops, r, q, v):
    """Value, rate and acceleration of a coupling."""
    out = work.closure[r]
    out[0] = -loops.data[r, ROW_CONSTANT]
    out[1], out[2], out[3] = 0.0, 0.0, 0.0
    for m in range(loops.row[r, ROW_TERM], loops.row[r, ROW_TERMS]):
        i, k = loops.term[m, 0], loops.term[m, 1]
        out[0] += loops.ratio[m] * q[i]
        out[1] += loops.ratio[m] * v[k]
        for c in range(t.col_v.shape[0]):
            if t.col_v[c] == k:
                out[2] += loops.ratio[m] * work.cols[2, c]


@routine
def column6(M, c):
    """A column of a (6, n) matrix as a twist."""
    return ((M[0, c], M[1, c], M[2, c]), (M[3, c], M[4, c], M[5, c]))


@routine
def put_column6(M, c, x):
    """Write a twist into a column of a (6, n) matrix."""
    for i in range(3):
        M[i, c] = x[0][i]
        M[3 + i, c] = x[1][i]


@routine
def drift(t, work, loops, cq, cv, rate, value, out):
    """out (rows, nv) = derivatives of ë + rate · ė + value · e, weighted cq ∂/∂q + cv ∂/∂v, at the accelerations of the forward pass.

    With world twists V, A and δ = cq J δq of a frame: ``δV = R̄ + ad_δ V``, ``δA = W̄ − ad_V R̄ + ad_δ A``, where R̄ and W̄ are the mixed
    columns; as seen from A what turns with it is taken off. The columns must be mixed with cq and cv.
    """
    for k in range(loops.joint.shape[0]):
        j, i = loops.joint[k, JOINT_A], loops.joint[k, JOINT_B]
        ra, rb = work.state[j], work.state[i]
        A, pa, B, pb = loop_frames(loops, k, work.state)
        pair_columns(t, work, i, j, work.pair)
        acceleration_columns(t, work, i, work.columns[0])
        acceleration_columns(t, work, j, work.columns[1])
        eta, eta1 = relative_twists(ra, rb)
        Va, Aa, Vb, Ab = get6(ra, VE), get6(ra, AE), get6(rb, VE), get6(rb, AE)
        for c in range(out.shape[1]):
            da, db = dscale(cq, column6(work.pair[1], c)), dscale(cq, column6(work.pair[0], c))
            Ra, Rb = column6(work.pair[3], c), column6(work.pair[2], c)
            dVa, dVb = daxpy(1.0, Ra, dcross(da, Va)), daxpy(1.0, Rb, dcross(db, Vb))
            dAa = daxpy(1.0, column6(work.columns[1], c), dsub(dcross(da, Aa), dcross(Va, Ra)))
            dAb = daxpy(1.0, column6(work.columns[0], c), dsub(dcross(db, Ab), dcross(Vb, Rb)))
            dV = dsub(dVb, dVa)
            deta = dsub(dV, dcross(da, eta))
            deta1 = dsub(dsub(dAb, dAa), daxpy(1.0, dcross(dVa, eta), daxpy(1.0, dcross(Va, dV), dcross(da, eta1))))
            put_column6(work.pair[0], c, dsub(db, da))  # the columns have been read
            put_column6(work.pair[1], c, deta)
            put_column6(work.pair[2], c, deta1)
        for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
            kind, data = loops.row[r, ROW_KIND], loops.data[r]
            place = row_place(kind, data, A, B)
            for c in range(out.shape[1]):
                zeta, deta, deta1 = column6(work.pair[0], c), column6(work.pair[1], c), column6(work.pair[2], c)
                turn, slide = (
                    (eta[0], eta1[0], zeta[0], deta[0], deta1[0]),
                    (eta[1], eta1[1], zeta[1], deta[1], deta1[1]),
                )
                jet = row_jet(kind, data, place, pa, pb, turn, slide)
                out[r, c] = jet[5] + rate * jet[4] + value * jet[3]
    for r in range(loops.row.shape[0]):
        if loops.row[r, ROW_KIND] == COUPLING:
            for c in range(out.shape[1]):
                out[r, c] = 0.0
            for m in range(loops.row[r, ROW_TERM], loops.row[r, ROW_TERMS]):
                out[r, loops.term[m, 1]] += loops.ratio[m] * (value * cq + rate * cv)


# ---------------------------------------------------------------- backwards


@routine
def rows_owe(loops, work, k, o, A, pa, B, pb, of_a, of_b):
    """What values and rates of the rows of a joint owe, ``Σ m e + z ė`` with the adjoints in work.owed from row o on; also virtual rates."""
    i, j = loops.joint[k, JOINT_B], loops.joint[k, JOINT_A]
    A6, B6, d = work.law[0], work.law[1], vsub(pb, pa)
    T, Y = relative_twist(work.state, i, j, VE), relative_twist(work.reverse, i, j, H_Y)
    M, F = vscale(0.0, d), vscale(0.0, d)
    value = (M, F)
    clear_laws(A6, B6)
    for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
        owed = work.owed[o + r]
        _e, m, f = row_wrench(loops.row[r, ROW_KIND], loops.data[r], A, B, d)
        wrench = at_origin(pb, m, f)
        owed[2] = dual_dot(Y, wrench)
        value = daxpy(owed[0], wrench, value)
        if owed[1] != 0.0:
            M, F = vaxpy(owed[1], m, M), vaxpy(owed[1], f, F)
            add_row_matrix(loops.row[r, ROW_KIND], loops.data[r], A, B, pa, pb, owed[1], A6)
    of_i, of_j = pair_owes(work, i, j, pb, M, F, A6, B6, T)
    rate = at_origin(pb, M, F)
    if i >= 0:
        add6(work.reverse[i], G_V, rate)
    if j >= 0:
        add6(work.reverse[j], G_V, dscale(-1.0, rate))
    return daxpy(-1.0, value, dadd(of_a, of_j)), dadd(dadd(of_b, of_i), value)


@routine
def relative_twist(rows, i, j, column):
    """Twist of step i as seen from step j."""
    return dsub(get6(rows[i], column), get6(rows[j], column))


@routine
def couplings_owe(work, loops, o, q, v, gain):
    """The same of couplings, whose forces act on coordinates."""
    y = work.products[Y_ROW]
    for e in range(loops.row.shape[0]):
        if loops.row[e, ROW_KIND] != COUPLING:
            continue
        owed, force = work.owed[o + e], work.multiplier[e] * work.message[MESSAGE_FORCES]
        owed[2] = 0.0
        for m in range(loops.row[e, ROW_TERM], loops.row[e, ROW_TERMS]):
            i, k, ratio = loops.term[m, 0], loops.term[m, 1], loops.ratio[m]
            work.products[K_ROW, k] += owed[0] * ratio
            work.products[D_ROW, k] += owed[1] * ratio
            owed[2] += ratio * y[k]
            gain.ratio[m] += owed[0] * q[i] + owed[1] * v[k] - force * y[k]


def loops_owe(t, work, loops, gain, common, q, v, u):
    """What forces and rows of loop joints owe the steps between which they act and the places of their frames; see `owing`."""
    o = work.hold.shape[0]
    A6, B6, spare = work.law[0], work.law[1], work.law[2]
    for k in range(loops.joint.shape[0]):
        i, j = loops.joint[k, JOINT_B], loops.joint[k, JOINT_A]
        A, pa, B, pb = loop_frames(loops, k, work.state)
        of_a = of_b = dscale(0.0, get6(work.state[i], VE))
        if work.message[MESSAGE_FORCES] != 0.0:
            M, F = joint_force(loops, work, k, A, pa, B, pb, u)
            clear_laws(A6, B6)
            for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
                add_row_matrix(loops.row[r, ROW_KIND], loops.data[r], A, B, pa, pb, work.multiplier[r], A6)
            if loops.joint[k, JOINT_DRIVE] < loops.joint[k, JOINT_DRIVES]:
                add_drive_laws(loops, work, k, A, pa, B, pb, u, A6, B6, spare)
            T = relative_twist(work.reverse, j, i, H_Y)  # the residual has the opposite of applied wrenches
            of_b, of_a = pair_owes(work, i, j, pb, M, F, A6, B6, T)
        of_a, of_b = rows_owe(loops, work, k, o, A, pa, B, pb, of_a, of_b)
        owe_pose(work, j, of_a)
        owe_pose(work, i, of_b)
        owe_offset(work, j, pa, of_a, loops.place[k], N0, N9, gain.place[k])
        owe_offset(work, i, pb, of_b, loops.place[k], N12, N21, gain.place[k])
    couplings_owe(work, loops, o, q, v, gain)


@unit(Loops, reverse=loops_owe, tasks=(FORCES, MATRICES, GENERALISED, TANGENT, ENERGY, INPUTS, VALUES, CLOSURE, DRIFT))
def closures(task, t, work, loops, space, q, v, u, out):
    """Joints that close loops."""
    if task == FORCES:
        apply_wrenches(work, loops, u)
    elif task == GENERALISED:
        apply_couplings(work, loops, out[0])
    elif task == MATRICES:
        loop_tangents(t, work, loops, NO, 1.0, u, work.out[0])
    elif task == TANGENT:
        loop_tangents(t, work, loops, YES, work.message[MESSAGE_CQ], u, out)
    elif task == ENERGY:
        drive_potential(loops, work, u)
    elif task == INPUTS:
        add_drive_inputs(t, work, loops, u, out)
    elif task == VALUES:
        closure(t, work, loops, NO, q, v, out)
    elif task == CLOSURE:
        closure(t, work, loops, YES, q, v, out)
    elif task == DRIFT:
        message = work.message
        drift(
            t, work, loops, message[MESSAGE_CQ], message[MESSAGE_CV], message[MESSAGE_RATE], message[MESSAGE_VALUE], out
        )
