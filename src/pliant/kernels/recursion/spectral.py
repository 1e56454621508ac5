"""Rods by Chebyshev collocation with quaternions: the spectral space integration of [000] §IX (MATH §6).

A block of such a rod is one element. Its steps end at its nodes: Chebyshev points, inserted points, the end of the
element. W (steps × steps, at `Tables.colloc[block[COLLOC]:]`) integrates the polynomial through values at the
Chebyshev points from the start of the block to each node; the columns of the other nodes are zero. With it every
differential equation in X of the recursion becomes a sum: values at nodes = value at the start + W × right-hand sides.

Everything is in world axes at the origin, as for other blocks, and is left where `forward`, `columns`, `tangent` and
`composite` leave that of a rod: poses and twists in `state`, columns of nodes in `wide1` and `wide2`.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import (
    dadd,
    daxpy,
    dcross,
    dscale,
    get3,
    get6,
    get9,
    mm,
    mv,
    put3,
    put6,
    put9,
    quaternion_matrix,
    rotate,
    rotate_back,
    swap,
    vcross,
    vscale,
)
from ..algebra.manifold import quaternion_product
from ..layout import (
    AE,
    COL0,
    COLLOC,
    COLS,
    FW,
    J_PLANE,
    OM,
    PE,
    PS,
    R_PLANE,
    RANGE,
    RE,
    RS,
    S_PHI,
    STEP0,
    STEPS,
    VE,
    W_PLANE,
    XA1,
    XD1,
    XI1,
    Y_PLANE,
)
from .products import THREE, ZERO, add_product6

ONE = np.int64(1)


# ---------------------------------------------------------------- poses, twists, accelerations


@inline
def get_quaternion(row, o, stride):
    """Four entries of a row, `stride` apart."""
    return (row[o], row[o + stride], row[o + 2 * stride], row[o + 3 * stride])


@inline
def quaternion_inverse(a):
    """a⁻¹ = ā/(a ā)."""
    s = 1.0 / (a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3])
    return (s * a[0], -s * a[1], -s * a[2], -s * a[3])


@routine
def eliminate_quaternions(A, n):
    """Solve A x = b with n unknown quaternions: row i of `A` holds the four planes of its n entries and of bᵢ; x replaces b.

    Gauss elimination as for numbers, with products in their order: a quarter of the work of the 4n real equations.
    """
    width = n + 1
    for p in range(n):
        best = -1.0
        row = p
        for i in range(p, n):
            size = 0.0
            for c in range(4):
                size += abs(A[i, c * width + p]) ** 2
            if size > best:
                best = size
                row = i
        if row != p:
            for k in range(4 * width):
                swapped = A[p, k]
                A[p, k] = A[row, k]
                A[row, k] = swapped
        inverse = quaternion_inverse(get_quaternion(A[p], p, width))
        b0, b1 = A[p, p + 1 : width], A[p, width + p + 1 : 2 * width]
        b2, b3 = A[p, 2 * width + p + 1 : 3 * width], A[p, 3 * width + p + 1 : 4 * width]
        for i in range(p + 1, n):
            entry = get_quaternion(A[i], p, width)
            if entry[0] == 0.0 and entry[1] == 0.0 and entry[2] == 0.0 and entry[3] == 0.0:
                continue
            f0, f1, f2, f3 = quaternion_product(entry, inverse)
            a0, a1 = A[i, p + 1 : width], A[i, width + p + 1 : 2 * width]
            a2, a3 = A[i, 2 * width + p + 1 : 3 * width], A[i, 3 * width + p + 1 : 4 * width]
            for k in range(n - p):
                a0[k] -= f0 * b0[k] - f1 * b1[k] - f2 * b2[k] - f3 * b3[k]
                a1[k] -= f0 * b1[k] + f1 * b0[k] + f2 * b3[k] - f3 * b2[k]
                a2[k] -= f0 * b2[k] - f1 * b3[k] + f2 * b0[k] + f3 * b1[k]
                a3[k] -= f0 * b3[k] + f1 * b2[k] - f2 * b1[k] + f3 * b0[k]
    for p in range(n - 1, -1, -1):
        r = get_quaternion(A[p], n, width)
        for j in range(p + 1, n):
            s = quaternion_product(get_quaternion(A[p], j, width), get_quaternion(A[j], n, width))
            r = (r[0] - s[0], r[1] - s[1], r[2] - s[2], r[3] - s[3])
        r = quaternion_product(quaternion_inverse(get_quaternion(A[p], p, width)), r)
        for c in range(4):
            A[p, c * width + n] = r[c]


@routine
def solve_rotations(block, W, state, turn):
    """Quaternions of all nodes relative to the start of the block, of any length, into state[:, OM:OM+4].

    Q(0) = 1, Q′ = ½ Q ⊗ κ. The conjugates obey equations with all factors on the left: x + Σ ½ W κ ⊗ x = 1.
    """
    first = block[STEP0]
    n = block[STEPS]
    o = block[COLLOC]
    width = n + 1
    for i in range(n):
        for j in range(n):
            w = 0.5 * W[o + i * n + j]
            row = state[first + j]
            turn[i, j] = 1.0 if i == j else 0.0
            for c in range(3):
                turn[i, (c + 1) * width + j] = w * row[XI1 + c]
        turn[i, n] = 1.0
        for c in range(3):
            turn[i, (c + 1) * width + n] = 0.0
    eliminate_quaternions(turn, n)
    for i in range(n):
        row = state[first + i]
        row[OM] = turn[i, n]
        for c in range(3):
            row[OM + 1 + c] = -turn[i, (c + 1) * width + n]


@inline
def weighted(W, o, n, values):
    """Σ W[o + j] values[j]."""
    s = W[o] * values[0]
    for j in range(1, n):
        s += W[o + j] * values[j]
    return s


@inline
def weighted3(W, o, n, nodes, r):
    """Three rows of node values from row r on, integrated with n weights."""
    return (
        weighted(W, o, n, nodes[r]),
        weighted(W, o, n, nodes[r + 1]),
        weighted(W, o, n, nodes[r + 2]),
    )


@inline
def put_node(nodes, j, x):
    """Store a dual vector as column j."""
    for c in range(3):
        nodes[c, j] = x[0][c]
        nodes[3 + c, j] = x[1][c]


@routine
def spectral_forward(block, W, state, nodes, turn, R0, p0, V0, A0):
    """Poses, twists and accelerations of all nodes, from those of the start; the strains in `state` are known.

    A cascade: rotations, then positions, twists and accelerations follow from what came before ([000] eq. 67).
    """
    first = block[STEP0]
    n = block[STEPS]
    o = block[COLLOC]
    solve_rotations(block, W, state, turn)
    for j in range(n):
        row = state[first + j]
        R = mm(R0, quaternion_matrix(row, OM))
        put9(row, RE, R)
        d = mv(R, get3(row, XI1 + 3))
        for c in range(3):
            nodes[c, j] = d[c]
    R = R0
    p = p0
    for k in range(n):
        row = state[first + k]
        put9(row, RS, R)
        put3(row, PS, p)
        d = weighted3(W, o + k * n, n, nodes, ZERO)
        R = get9(row, RE)
        p = (p0[0] + d[0], p0[1] + d[1], p0[2] + d[2])
        put3(row, PE, p)
    for j in range(n):
        row = state[first + j]
        put_node(nodes, j, rotate(get9(row, RE), get3(row, PE), get6(row, XD1)))
    for k in range(n):
        d = (weighted3(W, o + k * n, n, nodes, ZERO), weighted3(W, o + k * n, n, nodes, THREE))
        put6(state[first + k], VE, dadd(V0, d))
    for j in range(n):
        row = state[first + j]
        u = ((nodes[0, j], nodes[1, j], nodes[2, j]), (nodes[3, j], nodes[4, j], nodes[5, j]))
        acc = rotate(get9(row, RE), get3(row, PE), get6(row, XA1))
        put_node(nodes, j, dadd(acc, dcross(get6(row, VE), u)))
    for k in range(n):
        d = (weighted3(W, o + k * n, n, nodes, ZERO), weighted3(W, o + k * n, n, nodes, THREE))
        put6(state[first + k], AE, dadd(A0, d))


@routine
def spectral_point(block, state, weights, R0, p0, V0, A0):
    """Pose, twist and acceleration at any point of a block, after `spectral_forward`; `weights` (steps,) is its row of W."""
    q = (1.0, 0.0, 0.0, 0.0)
    p, V, A = p0, V0, A0
    for j in range(block[STEPS]):
        w = weights[j]
        if w == 0.0:
            continue
        row = state[block[STEP0] + j]
        k = get3(row, XI1)
        d = quaternion_product((row[OM], row[OM + 1], row[OM + 2], row[OM + 3]), (0.0, k[0], k[1], k[2]))
        q = (q[0] + 0.5 * w * d[0], q[1] + 0.5 * w * d[1], q[2] + 0.5 * w * d[2], q[3] + 0.5 * w * d[3])
        R = get9(row, RE)
        x = get3(row, PE)
        s = mv(R, get3(row, XI1 + 3))
        p = (p[0] + w * s[0], p[1] + w * s[1], p[2] + w * s[2])
        u = rotate(R, x, get6(row, XD1))
        V = daxpy(w, u, V)
        A = daxpy(w, dadd(rotate(R, x, get6(row, XA1)), dcross(get6(row, VE), u)), A)
    return mm(R0, quaternion_matrix(q, ZERO)), p, V, A


@routine
def spectral_project(block, W, phi, step, state, tau):
    """tau = Σ eⱼᵀ Fⱼ of a block, Fⱼ = Σₖ Wₖⱼ fₖ; returns Σ fₖ in dual form."""
    first = block[STEP0]
    n = block[STEPS]
    o = block[COLLOC]
    col0 = block[COL0]
    for k in range(block[COLS]):
        tau[col0 + k] = 0.0
    for j in range(n):
        if W[o + (n - 1) * n + j] == 0.0:  # not a Chebyshev point
            continue
        F = dscale(W[o + j], get6(state[first], FW))
        for k in range(1, n):
            F = daxpy(W[o + k * n + j], get6(state[first + k], FW), F)
        row = state[first + j]
        G = swap(rotate_back(get9(row, RE), get3(row, PE), swap(F)))
        g = (G[0][0], G[0][1], G[0][2], G[1][0], G[1][1], G[1][2])
        a = step[first + j, S_PHI]
        for c in range(6):
            for k in range(block[RANGE + c], block[RANGE + c + 1]):
                tau[col0 + k] += g[c] * phi[0, a + k]
    total = get6(state[first], FW)
    for k in range(1, n):
        total = dadd(total, get6(state[first + k], FW))
    return swap(total)


# ---------------------------------------------------------------- columns


@inline
def unit_screw(R, p, c):
    """Column c of Ad_g, g = (R, p)."""
    i = c % 3
    a = (R[i], R[3 + i], R[6 + i])
    if c < 3:
        return (a, vcross(p, a))
    return (vscale(0.0, a), a)


@inline
def scaled_column(M, k, f, x):
    """M[:, k] = f x, x a twist."""
    M[0, k] = f * x[0][0]
    M[1, k] = f * x[0][1]
    M[2, k] = f * x[0][2]
    M[3, k] = f * x[1][0]
    M[4, k] = f * x[1][1]
    M[5, k] = f * x[1][2]


@routine
def combine(W, o, stride, count, src, so, step, width, dst, do):
    """dst[:, do:do+width] = Σ W[o + k·stride] src[:, so + k·step : … + width] over k < count."""
    for r in range(6):
        d = dst[r, do : do + width]
        for m in range(width):
            d[m] = 0.0
        k = 0
        while k + 4 <= count:
            w0, w1, w2, w3 = W[o], W[o + stride], W[o + 2 * stride], W[o + 3 * stride]
            a = so + k * step
            s0, s1 = src[r, a : a + width], src[r, a + step : a + step + width]
            a += 2 * step
            s2, s3 = src[r, a : a + width], src[r, a + step : a + step + width]
            for m in range(width):
                d[m] += w0 * s0[m] + w1 * s1[m] + w2 * s2[m] + w3 * s3[m]
            o += 4 * stride
            k += 4
        o -= k * stride
        while k < count:
            w0 = W[o + k * stride]
            a = so + k * step
            s0 = src[r, a : a + width]
            for m in range(width):
                d[m] += w0 * s0[m]
            k += 1


@routine
def spectral_columns(block, step, phi, W, state, nodes, wide1, wide2, ends, nm, cq, cv, ca):
    """The same as `rod_columns`: J, R, W, Y of all nodes and the end planes.

    With e = Ad Φ the columns of the motion satisfy J′ = e, R′ = ad_V e, Y′ = 2 ad_V e, W′ = ad_A e + ad_V ad_V e.
    """
    first = block[STEP0]
    steps = block[STEPS]
    o = block[COLLOC]
    n = block[COLS]
    col0 = block[COL0]
    second = 2 * n * steps
    for j in range(steps):
        row = state[first + j]
        R = get9(row, RE)
        p = get3(row, PE)
        V = get6(row, VE)
        A = get6(row, AE)
        u = step[first + j, S_PHI]
        at = 2 * n * j
        for c in range(6):
            s = unit_screw(R, p, c)
            r = dcross(V, s)
            w = dadd(dcross(A, s), dcross(V, r))
            if nm == 1:
                w = daxpy(cq, w, daxpy(2.0 * cv, r, dscale(ca, s)))
                r = daxpy(cq, r, dscale(cv, s))
            for k in range(block[RANGE + c], block[RANGE + c + 1]):
                f = phi[0, u + k]
                scaled_column(nodes, at + k, f, r)
                scaled_column(nodes, at + n + k, f, s)
                scaled_column(nodes, second + n * j + k, f, w)
    for k in range(steps):
        u = step[first + k, S_PHI]
        combine(W, o + k * steps, ONE, steps, nodes, ZERO, 2 * n, 2 * n, wide1, 2 * u)
        combine(W, o + k * steps, ONE, steps, nodes, second, n, n, wide2, 3 * u)
        if nm == 3:
            for r in range(6):
                for m in range(n):
                    wide2[r, 3 * u + n + m] = 2.0 * wide1[r, 2 * u + m]
                    wide2[r, 3 * u + 2 * n + m] = wide1[r, 2 * u + n + m]
    u = step[first + steps - 1, S_PHI]
    for r in range(6):
        for k in range(n):
            ends[J_PLANE, r, col0 + k] = wide1[r, 2 * u + n + k]
            ends[R_PLANE, r, col0 + k] = wide1[r, 2 * u + k]
            ends[W_PLANE, r, col0 + k] = wide2[r, 3 * u + k]
            if nm == 3:
                ends[Y_PLANE, r, col0 + k] = wide2[r, 3 * u + n + k]


@routine
def spectral_jacobian(block, step, phi, W, state, nodes, wide, place, end):
    """The same as `rod_jacobian`: J of all nodes where `place` says in `wide`, of the end in `end`."""
    first = block[STEP0]
    steps = block[STEPS]
    n = block[COLS]
    for j in range(steps):
        row = state[first + j]
        u = step[first + j, S_PHI]
        for c in range(6):
            s = unit_screw(get9(row, RE), get3(row, PE), c)
            for k in range(block[RANGE + c], block[RANGE + c + 1]):
                scaled_column(nodes, n * j + k, phi[0, u + k], s)
    for k in range(steps):
        u = place.stride * step[first + k, S_PHI] + place.shift * n
        combine(W, block[COLLOC] + k * steps, ONE, steps, nodes, ZERO, n, n, wide, u)
    u = place.stride * step[first + steps - 1, S_PHI] + place.shift * n
    for r in range(6):
        for k in range(n):
            end[r, block[COL0] + k] = wide[r, u + k]


# ---------------------------------------------------------------- backward


@routine
def force_matrix(scale, m, f, M):
    """M[:6, :6] = scale · ad̄*_F, F = (m, f)."""
    for r in range(6):
        for c in range(6):
            M[r, c] = 0.0
    for r in range(3):
        a = (r + 1) % 3
        b = (r + 2) % 3
        M[r, a] = scale * m[b]
        M[r, b] = -scale * m[a]
        M[r, 3 + a] = scale * f[b]
        M[r, 3 + b] = -scale * f[a]
        M[3 + r, a] = scale * f[b]
        M[3 + r, b] = -scale * f[a]


@routine
def project_node(R, p, x, g, width):
    """g[:6, :width] = Ad_gᵀ x[:, :width], g = (R, p)."""
    x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
    for c in range(3):
        a0, a1, a2 = R[c], R[3 + c], R[6 + c]
        b0, b1, b2 = vcross(p, (a0, a1, a2))
        ga = g[c]
        for k in range(width):
            ga[k] = a0 * x0[k] + a1 * x1[k] + a2 * x2[k] + b0 * x3[k] + b1 * x4[k] + b2 * x5[k]
        gb = g[3 + c]
        for k in range(width):
            gb[k] = a0 * x3[k] + a1 * x4[k] + a2 * x5[k]


@routine
def sum_nodes(block, step, phi, W, state, nodes, width, wide1, force, cq, x, g, h):
    """h = Σⱼ eⱼᵀ (Σₖ Wₖⱼ Xₖ − cq ad̄*_Fⱼ Jⱼ) and x = Σₖ Xₖ, for the 6×width matrices Xₖ of the nodes in `nodes`.

    Fⱼ is column `force` of the inner sum; J lies in `wide1` (not read if cq is zero).
    """
    first = block[STEP0]
    steps = block[STEPS]
    o = block[COLLOC]
    n = block[COLS]
    for k in range(n):
        hk = h[k]
        for m in range(width):
            hk[m] = 0.0
    for j in range(steps):
        if W[o + (steps - 1) * steps + j] == 0.0:  # not a Chebyshev point
            continue
        u = step[first + j, S_PHI]
        row = state[first + j]
        combine(W, o + j, steps, steps, nodes, ZERO, width, width, x, ZERO)
        if cq != 0.0:
            m = (x[0, force], x[1, force], x[2, force])
            f = (x[3, force], x[4, force], x[5, force])
            force_matrix(-cq, m, f, g)
            add_product6(g, wide1, 2 * u + n, x, ZERO, n)
        project_node(get9(row, RE), get3(row, PE), x, g, width)
        for c in range(6):
            gc = g[c]
            for k in range(block[RANGE + c], block[RANGE + c + 1]):
                f1 = phi[0, u + k]
                hk = h[k]
                for i in range(width):
                    hk[i] += f1 * gc[i]
    for r in range(6):
        xr = x[r]
        for m in range(width):
            xr[m] = 0.0
        for k in range(steps):
            s = nodes[r, k * width : (k + 1) * width]
            for m in range(width):
                xr[m] += s[m]


@routine
def clear_nodes(nodes, do, width):
    """nodes[:, do:do+width] = 0."""
    for r in range(6):
        d = nodes[r, do : do + width]
        for k in range(width):
            d[k] = 0.0
