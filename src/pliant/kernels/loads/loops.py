"""Loop joints: closure of the tree by joints between two frames, with multipliers.

A joint is a set of scalar rows e(q) = 0 of three kinds, for a frame A and a frame B (d = p_B − p_A, vectors a, c fixed to
A, b to B):

* POINT: ``c · d``;
* ANGLE: ``a · b − const``;
* HELIX: ``c · d − p θ`` with the angle θ of B about c.

The derivative of a row with respect to the motion of both frames is a wrench (M about p_B, F) on B and its opposite on A:
the constraint force per unit of its multiplier λ. Seen from A it is constant up to the turning of b, so the joint is a
load between two steps (see `law`), whose derivatives are exact wherever the frames are.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import get3, get9, mm, mv, vadd, vaxpy, vcross, vdot, vscale, vsub
from ..layout import AE, F2, I2, MESSAGE_CQ, NO, PE, RE, VE, YES
from .law import add_cross_terms, clear_laws, pair_columns, subtract_pair, subtract_wrench, unit_vector
from .units import CLOSURE, FORCES, MATRICES, TANGENT, VALUES, unit


class Loops(NamedTuple):
    """Loop joints as arrays; constant after compile."""

    joint: I2  # (joints, 4) steps of A and B (−1: the world), first and end of its rows
    place: F2  # (joints, 24) frames A and B in their steps: rotation, translation
    row: I2  # (rows, 1) kind
    data: F2  # (rows, 10) c | a, b, …, const | c, two vectors normal to it in A (the first also in B), pitch per radian


JOINT_A, JOINT_B, JOINT_FIRST, JOINT_END = (np.int64(k) for k in range(4))
ROW_CONSTANT = np.int64(9)  # of an angle, or the pitch of a helix
POINT, ANGLE, HELIX = (np.int64(k) for k in range(3))
N0, N3, N6, N9, N12, N21 = (np.int64(k) for k in (0, 3, 6, 9, 12, 21))


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
def helix_angle(data, A, B):
    """Angle θ of B about the axis, and w × β with which it changes per relative rotation; also w, β and k² + s²."""
    b1, b2, beta = mv(A, get3(data, N3)), mv(A, get3(data, N6)), mv(B, get3(data, N3))
    k, s = vdot(b1, beta), vdot(b2, beta)
    n = k * k + s * s
    return np.arctan2(s.real, k.real), vscale(1.0 / n, vsub(vscale(k, b2), vscale(s, b1))), beta, b1, b2, k, s, n


@routine
def loop_row(loops, r, A, B, d):
    """Value of a row, and its wrench (M about p_B, F) on B."""
    data = loops.data[r]
    kind = loops.row[r, 0]
    if kind == ANGLE:
        a, b = mv(A, get3(data, N0)), mv(B, get3(data, N3))
        return vdot(a, b) - data[ROW_CONSTANT], vcross(b, a), vscale(0.0, a)
    c = mv(A, get3(data, N0))
    if kind == POINT:
        return vdot(c, d), vscale(0.0, c), c
    theta, w, beta, _b1, _b2, _k, _s, _n = helix_angle(data, A, B)
    return vdot(c, d) - data[ROW_CONSTANT] * theta, vscale(data[ROW_CONSTANT], vcross(w, beta)), c


@routine
def add_row_matrix(loops, r, A, B, scale, P):
    """P += scale × the derivative of a row's wrench with respect to the relative rotation, seen from A."""
    data = loops.data[r]
    kind = loops.row[r, 0]
    if kind == POINT:
        return
    if kind == ANGLE:
        a, b = mv(A, get3(data, N0)), mv(B, get3(data, N3))
        ab = vdot(a, b)
        for i in range(3):
            for j in range(3):
                P[i, j] += scale * (b[i] * a[j] - (ab if i == j else 0.0))
        return
    _theta, w, beta, b1, b2, k, s, n = helix_angle(data, A, B)
    for j in range(3):
        e = unit_vector(j, 1.0 + 0.0 * n)
        db = vcross(e, beta)
        dk, ds = vdot(b1, db), vdot(b2, db)
        dn = 2.0 * (k * dk + s * ds)
        dw = vscale(1.0 / n, vsub(vsub(vscale(dk, b2), vscale(ds, b1)), vscale(dn, w)))
        dM = vadd(vcross(dw, beta), vcross(w, db))
        for i in range(3):
            P[i, j] += scale * data[ROW_CONSTANT] * dM[i]


@routine
def apply_loops(t, work, loops, space, q, v, u, r):
    """Subtract the constraint forces from the wrenches of the steps; for any number type."""
    state, multiplier = work.state, work.multiplier
    for k in range(loops.joint.shape[0]):
        i, j = loops.joint[k, JOINT_B], loops.joint[k, JOINT_A]
        A, pa, B, pb = loop_frames(loops, k, state)
        d = vsub(pb, pa)
        M, F = vscale(0.0, d), vscale(0.0, d)
        for e in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
            _e, m, f = loop_row(loops, e, A, B, d)
            M = vaxpy(multiplier[e], m, M)
            F = vaxpy(multiplier[e], f, F)
        if i >= 0:
            subtract_wrench(state[i], pb, M, F)
        if j >= 0:
            subtract_wrench(state[j], pb, vscale(-1.0, M), vscale(-1.0, F))


@routine
def loop_tangents(t, work, loops, cross, cq, out):
    """Matrices K of the constraint forces; with `cross`, what couples the two steps instead."""
    A6, B6, spare = work.law[0], work.law[1], work.law[2]
    for k in range(loops.joint.shape[0]):
        i, j = loops.joint[k, JOINT_B], loops.joint[k, JOINT_A]
        if cross and (i < 0 or j < 0):
            continue
        A, pa, B, pb = loop_frames(loops, k, work.state)
        d = vsub(pb, pa)
        M, F = vscale(0.0, d), vscale(0.0, d)
        clear_laws(A6, B6)
        for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
            _e, m, f = loop_row(loops, r, A, B, d)
            value = work.multiplier[r]
            M = vaxpy(value, m, M)
            F = vaxpy(value, f, F)
            add_row_matrix(loops, r, A, B, value, A6)
        if cross:
            pair_columns(t, work, i, j, work.pair)
            add_cross_terms(work, i, j, pb, M, F, A6, B6, spare, cq, work.pair, out)
        else:
            subtract_pair(work, i, j, pb, M, F, A6, B6, spare)


@routine
def dot_motion(a, b, wa, wb, aa, ab):
    """First and second derivative of a · b for vectors that turn with two frames."""
    a1, b1 = vcross(wa, a), vcross(wb, b)
    a2, b2 = vadd(vcross(aa, a), vcross(wa, a1)), vadd(vcross(ab, b), vcross(wb, b1))
    return vdot(a1, b) + vdot(a, b1), vdot(a2, b) + 2.0 * vdot(a1, b1) + vdot(a, b2)


@routine
def row_acceleration(loops, r, A, B, pa, pb, ra, rb):
    """ë of a row when all accelerations that the state holds are real (both have the same −gravity, which cancels)."""
    data = loops.data[r]
    wa, wb = get3(ra, VE), get3(rb, VE)
    aa, ab = get3(ra, AE), get3(rb, AE)
    if loops.row[r, 0] == ANGLE:
        return dot_motion(mv(A, get3(data, N0)), mv(B, get3(data, N3)), wa, wb, aa, ab)[1]
    c = mv(A, get3(data, N0))
    c1 = vcross(wa, c)
    c2 = vadd(vcross(aa, c), vcross(wa, c1))
    va, vb = vadd(get3(ra, VE + 3), vcross(wa, pa)), vadd(get3(rb, VE + 3), vcross(wb, pb))
    xa = vadd(vadd(get3(ra, AE + 3), vcross(aa, pa)), vcross(wa, va))
    xb = vadd(vadd(get3(rb, AE + 3), vcross(ab, pb)), vcross(wb, vb))
    out = vdot(c2, vsub(pb, pa)) + 2.0 * vdot(c1, vsub(vb, va)) + vdot(c, vsub(xb, xa))
    if loops.row[r, 0] == HELIX:
        _theta, _w, beta, b1, b2, k, s, n = helix_angle(data, A, B)
        k1, k2 = dot_motion(b1, beta, wa, wb, aa, ab)
        s1, s2 = dot_motion(b2, beta, wa, wb, aa, ab)
        out -= data[ROW_CONSTANT] * ((k * s2 - s * k2) / n - (k * s1 - s * k1) * 2.0 * (k * k1 + s * s1) / (n * n))
    return out


@routine
def closure(t, work, loops, wanted, G):
    """Values, rates and accelerations of all rows into work.closure (rows, 3); if `wanted`, derivatives into G (rows, nv)."""
    for k in range(loops.joint.shape[0]):
        j, i = loops.joint[k, JOINT_A], loops.joint[k, JOINT_B]
        ra, rb = work.state[j], work.state[i]
        A, pa, B, pb = loop_frames(loops, k, work.state)
        d = vsub(pb, pa)
        if wanted:
            pair_columns(t, work, i, j, work.pair)
        w, v = vsub(get3(rb, VE), get3(ra, VE)), vsub(get3(rb, VE + 3), get3(ra, VE + 3))
        for r in range(loops.joint[k, JOINT_FIRST], loops.joint[k, JOINT_END]):
            e, M, F = loop_row(loops, r, A, B, d)
            m = vadd(M, vcross(pb, F))
            work.closure[r, 0] = e
            work.closure[r, 1] = vdot(m, w) + vdot(F, v)
            work.closure[r, 2] = row_acceleration(loops, r, A, B, pa, pb, ra, rb)
            if wanted:
                Ji, Jj = work.pair[0], work.pair[1]
                for c in range(G.shape[1]):
                    y = 0.0
                    for x in range(3):
                        y += m[x] * (Ji[x, c] - Jj[x, c]) + F[x] * (Ji[3 + x, c] - Jj[3 + x, c])
                    G[r, c] = y


@unit(Loops, tasks=(FORCES, MATRICES, TANGENT, VALUES, CLOSURE))
def closures(task, t, work, loops, space, q, v, u, out):
    """Joints that close loops."""
    if task == FORCES:
        apply_loops(t, work, loops, space, q, v, u, work.zero)
    elif task == MATRICES:
        loop_tangents(t, work, loops, NO, 1.0, work.out[0])
    elif task == TANGENT:
        loop_tangents(t, work, loops, YES, work.message[MESSAGE_CQ], out)
    elif task == VALUES:
        closure(t, work, loops, NO, out)
    elif task == CLOSURE:
        closure(t, work, loops, YES, out)
