"""Forward part of the derivatives: the columns s, r, w, y of every step (MATH §3).

``J, R, W, Y`` collect them along the path from the base. In body axes of the frame they belong to, J maps velocities
to the twist, R and W − ad_V R are the derivatives of twist and acceleration with respect to q, and Y − R is
the time derivative of J as seen from the world.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import (
    ad_dm,
    daxpy,
    dcross,
    dm_ad,
    dmadd,
    dmaxpy,
    dmscale,
    dscale,
    get3,
    get6,
    get9,
    put9,
    rotate,
    rotate_dm,
    vadd,
)
from ..algebra.exponential import (
    tangent_coefficients,
    tangent_derivative,
    tangent_matrix,
    tangent_rate_derivative,
    tangent_rate_matrix,
)
from ..layout import (
    AE,
    COL0,
    COLS,
    D_AXIS,
    D_C,
    D_H,
    J_PLANE,
    KIND,
    OP_R,
    OP_S,
    OP_W,
    OP_Y,
    PE,
    PS,
    PSTEP,
    R_PLANE,
    RANGE,
    RE,
    RS,
    S_PHI,
    SCREW,
    STEP0,
    STEPS,
    VE,
    W_PLANE,
    XA1,
    XA2,
    XD1,
    XD2,
    XI1,
    XI2,
    Y_PLANE,
)
from .forward import magnus

U1, U2, U3 = np.uint64(1), np.uint64(2), np.uint64(3)


@inline
def put_pair(op, o, first, second):
    """Store the operators of the two Magnus nodes (dual matrices)."""
    put9(op, o, first[0])
    put9(op, o + 9, first[1])
    put9(op, o + 18, second[0])
    put9(op, o + 27, second[1])


@routine
def rod_operators(row, h, c, Vp, op):
    """S, R, W, Y of a rod step as operators on the basis values of its two nodes.

    `op` (144,): for each of S, R, W, Y the dual matrices (18 numbers) of node 1 and node 2, so that for
    instance ``s = S₁Φ₁ + S₂Φ₂``. Vp is the twist at the start.
    """
    omega, rate, accel, extra = magnus(row, h, c)
    ca, cb, a1, b1, a2, b2 = tangent_coefficients(omega)
    R = get9(row, RS)
    p = get3(row, PS)
    V = get6(row, VE)
    A = get6(row, AE)
    T = rotate_dm(R, p, tangent_matrix(omega, ca, cb))
    D1 = rotate_dm(R, p, tangent_derivative(omega, rate, ca, cb, a1, b1))
    Td = rotate_dm(R, p, tangent_rate_matrix(omega, rate, ca, cb, a1, b1))
    total = (vadd(accel[0], extra[0]), vadd(accel[1], extra[1]))
    D2 = tangent_derivative(omega, total, ca, cb, a1, b1)
    D3 = tangent_rate_derivative(omega, rate, cb, a1, b1, a2, b2)
    Rz = dmadd(ad_dm(V, T), D1)
    Yz = dmadd(Rz, dmadd(ad_dm(Vp, T), Td))
    Qz = dmadd(dmadd(ad_dm(A, T), ad_dm(V, Rz)), dmadd(ad_dm(Vp, D1), rotate_dm(R, p, dmadd(D2, D3))))
    half = 0.5 * h
    if c == 0.0:
        s = dmscale(half, T)
        put_pair(op, OP_S, s, s)
        s = dmscale(half, Rz)
        put_pair(op, OP_R, s, s)
        s = dmscale(half, Qz)
        put_pair(op, OP_W, s, s)
        s = dmscale(half, Yz)
        put_pair(op, OP_Y, s, s)
        return
    x1 = dscale(c, get6(row, XI1))
    x2 = dscale(-c, get6(row, XI2))
    y1 = dscale(c, get6(row, XD1))
    y2 = dscale(-c, get6(row, XD2))
    z1 = dscale(c, get6(row, XA1))
    z2 = dscale(-c, get6(row, XA2))
    put_pair(op, OP_S, dmaxpy(half, T, dm_ad(T, x2)), dmaxpy(half, T, dm_ad(T, x1)))
    ty1 = dm_ad(T, y1)
    ty2 = dm_ad(T, y2)
    put_pair(
        op,
        OP_R,
        dmaxpy(half, Rz, dmadd(dm_ad(Rz, x2), ty2)),
        dmaxpy(half, Rz, dmadd(dm_ad(Rz, x1), ty1)),
    )
    put_pair(
        op,
        OP_W,
        dmaxpy(half, Qz, dmadd(dm_ad(Qz, x2), dmadd(dm_ad(Yz, y2), dm_ad(T, z2)))),
        dmaxpy(half, Qz, dmadd(dm_ad(Qz, x1), dmadd(dm_ad(Yz, y1), dm_ad(T, z1)))),
    )
    put_pair(
        op,
        OP_Y,
        dmaxpy(half, Yz, dmaxpy(2.0, ty2, dm_ad(Yz, x2))),
        dmaxpy(half, Yz, dmaxpy(2.0, ty1, dm_ad(Yz, x1))),
    )


@inline
def get_four(s, j):
    """s[j : j + 4]."""
    return (s[j], s[j + U1], s[j + U2], s[j + U3])


@inline
def put_four(d, i, x):
    """d[i : i + 4] = x. Read before, and written out, four columns become one instruction each: runs of columns are short."""
    d[i] = x[0]
    d[i + U1] = x[1]
    d[i + U2] = x[2]
    d[i + U3] = x[3]


@inline
def mix_four(x, p, f, q, g):
    """x + p f + q g, of four columns."""
    return (
        x[0] + p * f[0] + q * g[0],
        x[1] + p * f[1] + q * g[1],
        x[2] + p * f[2] + q * g[2],
        x[3] + p * f[3] + q * g[3],
    )


@routine
def fill(op, o, phi, first, ranges, src, so, dst, do):
    """dst[:, do+k] = src[:, so+k] + P₁ φ₁ₖ + P₂ φ₂ₖ for the operator pair at op[o:o+36]; src is zero if so < 0."""
    if so < 0:
        for r in range(6):
            d = dst[r, do : do + ranges[COLS]]
            for k in range(ranges[COLS]):
                d[k] = 0.0
        src = dst
        so = do
    # indices are unsigned, so that no test for negative ones is compiled in
    values, others = phi[0], phi[1]
    d0, d1, d2, d3, d4, d5 = dst[0], dst[1], dst[2], dst[3], dst[4], dst[5]
    s0, s1, s2, s3, s4, s5 = src[0], src[1], src[2], src[3], src[4], src[5]
    for c in range(3):
        p0, p1, p2 = op[o + c], op[o + 3 + c], op[o + 6 + c]
        p3, p4, p5 = op[o + 9 + c], op[o + 12 + c], op[o + 15 + c]
        q0, q1, q2 = op[o + 18 + c], op[o + 21 + c], op[o + 24 + c]
        q3, q4, q5 = op[o + 27 + c], op[o + 30 + c], op[o + 33 + c]
        k, end = ranges[RANGE + c], ranges[RANGE + c + 1]
        while k + 4 <= end:
            i, j, u = np.uint64(do + k), np.uint64(so + k), np.uint64(first + k)
            f = get_four(values, u)
            g = get_four(others, u)
            put_four(d0, i, mix_four(get_four(s0, j), p0, f, q0, g))
            put_four(d1, i, mix_four(get_four(s1, j), p1, f, q1, g))
            put_four(d2, i, mix_four(get_four(s2, j), p2, f, q2, g))
            put_four(d3, i, mix_four(get_four(s3, j), p3, f, q3, g))
            put_four(d4, i, mix_four(get_four(s4, j), p4, f, q4, g))
            put_four(d5, i, mix_four(get_four(s5, j), p5, f, q5, g))
            k += 4
        while k < end:
            i, j, u = np.uint64(do + k), np.uint64(so + k), np.uint64(first + k)
            a = values[u]
            b = others[u]
            d0[i] = s0[j] + p0 * a + q0 * b
            d1[i] = s1[j] + p1 * a + q1 * b
            d2[i] = s2[j] + p2 * a + q2 * b
            d3[i] = s3[j] + p3 * a + q3 * b
            d4[i] = s4[j] + p4 * a + q4 * b
            d5[i] = s5[j] + p5 * a + q5 * b
            k += 1
        k, end = ranges[RANGE + 3 + c], ranges[RANGE + 4 + c]
        while k + 4 <= end:
            i, j, u = np.uint64(do + k), np.uint64(so + k), np.uint64(first + k)
            f = get_four(values, u)
            g = get_four(others, u)
            put_four(d0, i, get_four(s0, j))
            put_four(d1, i, get_four(s1, j))
            put_four(d2, i, get_four(s2, j))
            put_four(d3, i, mix_four(get_four(s3, j), p0, f, q0, g))
            put_four(d4, i, mix_four(get_four(s4, j), p1, f, q1, g))
            put_four(d5, i, mix_four(get_four(s5, j), p2, f, q2, g))
            k += 4
        while k < end:
            i, j, u = np.uint64(do + k), np.uint64(so + k), np.uint64(first + k)
            a = values[u]
            b = others[u]
            d0[i] = s0[j]
            d1[i] = s1[j]
            d2[i] = s2[j]
            d3[i] = s3[j] + p0 * a + q0 * b
            d4[i] = s4[j] + p1 * a + q1 * b
            d5[i] = s5[j] + p2 * a + q2 * b
            k += 1


@inline
def put_column(M, k, x):
    """Store a twist as column k."""
    M[0, k] = x[0][0]
    M[1, k] = x[0][1]
    M[2, k] = x[0][2]
    M[3, k] = x[1][0]
    M[4, k] = x[1][1]
    M[5, k] = x[1][2]


@inline
def unit_twist(k):
    """The k-th unit twist."""
    w = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    v = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
    return (w, v)


@routine
def joint_columns(block, data_all, state, ends, nm, cq, cv, ca):
    """Columns s, r, w, y of a joint into the end planes (mixed if fused)."""
    kind = block[KIND]
    n = block[COLS]
    col0 = block[COL0]
    row = state[block[STEP0]]
    data = data_all[block[STEP0]]
    Vp = get6(state[block[PSTEP]], VE)
    Ap = get6(state[block[PSTEP]], AE)
    V = get6(row, VE)
    A = get6(row, AE)
    for k in range(n):
        if kind == SCREW:
            s = rotate(get9(row, RS), get3(row, PS), get6(data, D_AXIS))
            r = dcross(V, s)
            sd = dcross(Vp, s)
            w = daxpy(1.0, dcross(A, s), dcross(V, r))
            y = daxpy(1.0, r, sd)
        else:
            s = rotate(get9(row, RE), get3(row, PE), unit_twist(k))
            r = dcross(Vp, s)
            u = daxpy(-1.0, Vp, V)
            w = daxpy(1.0, dcross(Ap, s), daxpy(-1.0, dcross(u, r), dcross(V, r)))
            y = daxpy(1.0, r, dcross(V, s))
        if nm == 1:
            w = daxpy(cq, w, daxpy(cv, y, dscale(ca, s)))
            r = daxpy(cq, r, dscale(cv, s))
        else:
            put_column(ends[Y_PLANE], col0 + k, y)
        put_column(ends[J_PLANE], col0 + k, s)
        put_column(ends[R_PLANE], col0 + k, r)
        put_column(ends[W_PLANE], col0 + k, w)


@routine
def copy_columns(src, so, dst, do, n):
    """dst[:, do:do+n] = src[:, so:so+n]."""
    for r in range(6):
        d = dst[r, do : do + n]
        s = src[r, so : so + n]
        for k in range(n):
            d[k] = s[k]


@routine
def rod_columns(block, step, data, phi, state, op_all, wide1, wide2, ends, nm, cq, cv, ca):
    """Columns of all steps of a rod block, accumulated along it, and its end planes."""
    n = block[COLS]
    col0 = block[COL0]
    first = block[STEP0]
    last = first + block[STEPS] - 1
    prev = -1
    Vp = get6(state[block[PSTEP]], VE)
    for i in range(first, last + 1):
        op = op_all[i]
        rod_operators(state[i], data[i, D_H], data[i, D_C], Vp, op)
        Vp = get6(state[i], VE)
        if nm == 1:
            for k in range(36):
                op[OP_W + k] = cq * op[OP_W + k] + cv * op[OP_Y + k] + ca * op[OP_S + k]
                op[OP_R + k] = cq * op[OP_R + k] + cv * op[OP_S + k]
        o = step[i, S_PHI]
        so1 = 2 * prev
        so2 = 3 * prev
        if prev < 0:
            so1 = -3 * n
            so2 = -3 * n
        fill(op, OP_R, phi, o, block, wide1, so1, wide1, 2 * o)
        fill(op, OP_S, phi, o, block, wide1, so1 + n, wide1, 2 * o + n)
        fill(op, OP_W, phi, o, block, wide2, so2, wide2, 3 * o)
        if nm == 3:
            fill(op, OP_Y, phi, o, block, wide2, so2 + n, wide2, 3 * o + n)
            copy_columns(wide1, 2 * o + n, wide2, 3 * o + 2 * n, n)
        prev = o
    copy_columns(wide1, 2 * prev + n, ends[J_PLANE], col0, n)
    copy_columns(wide1, 2 * prev, ends[R_PLANE], col0, n)
    copy_columns(wide2, 3 * prev, ends[W_PLANE], col0, n)
    if nm == 3:
        copy_columns(wide2, 3 * prev + n, ends[Y_PLANE], col0, n)
