"""Exact derivatives of the inverse dynamics in one backward pass (MATH §3).

Every 6×n matrix that travels along the tree is expressed at the same origin, so it only ever adds. For one
block with own columns S (at its steps) the pass gives

* its own diagonal block, by projecting the accumulated wrench derivatives with the two basis rows of each step;
* ``E = Σ sᵀNᶜ`` and ``H = Σ sᵀIᶜ`` (n×6), which couple its rows to the columns of all ancestors;
* ``U, B, C`` (6×n), the wrench derivatives that couple the rows of all ancestors to its columns.

With three matrices the columns are ``[∂q | ∂v | M]`` side by side. With one (`fused`) they are
``cq ∂q + cv ∂v + ca M``, obtained by mixing r, w, y and s before the pass.
"""

import numpy as np

from ..._jit import routine
from ..algebra.dual import (
    ad_dm,
    dcross,
    dm_ad,
    dmadd,
    dmaxpy,
    dmscale,
    dscale,
    dskew_diag,
    get3,
    get6,
    get9,
    rotate_back,
    vscale,
)
from ..algebra.exponential import tangent_coefficients, tangent_derivative, tangent_transpose_apply
from ..layout import (
    COL0,
    COLLOC,
    COLS,
    D_C,
    D_H,
    FW,
    GENERAL_INERTIA,
    IN_ORDER,
    KIND,
    N_EXTRA,
    N_LOADED,
    OM,
    OP_R,
    OP_S,
    OP_S2,
    OP_W,
    PS,
    PSTEP,
    RANGE,
    ROD,
    RS,
    S_CARRIES,
    S_PHI,
    SCREW,
    SPAN0,
    SPANS,
    STEP0,
    STEP_LOADS,
    STEPS,
    SUBTREE,
    VELOCITY_LOADS,
    XI1,
    XI2,
)
from ..loads.together import apply_loads, load_tangents
from .blocks import all_columns
from .columns import copy_columns, put_pair
from .dynamics import point_forces, scatter
from .forward import forward
from .inertia import point_inertias
from .spectral import spectral_backward

# numpy integers, for the same reason as in `layout`
ZERO, THREE, SIX = np.int64(0), np.int64(3), np.int64(6)


@routine
def clear(x, rows, width):
    """x[:rows, :width] = 0."""
    for r in range(rows):
        for k in range(width):
            x[r, k] = 0.0


@routine
def add_product(M, i, src, so, x, n):
    """x[:, :n] += M[:, i:i+3] src[i:i+3, so:so+n]."""
    s0, s1, s2 = src[i, so : so + n], src[i + 1, so : so + n], src[i + 2, so : so + n]
    for r in range(6):
        m0, m1, m2 = M[r, i], M[r, i + 1], M[r, i + 2]
        xr = x[r]
        for k in range(n):
            xr[k] += m0 * s0[k] + m1 * s1[k] + m2 * s2[k]


@routine
def add_product6(M, src, so, x, n):
    """x[:, :n] += M src[:, so:so+n] with a full 6×6 matrix."""
    s0, s1, s2 = src[0, so : so + n], src[1, so : so + n], src[2, so : so + n]
    s3, s4, s5 = src[3, so : so + n], src[4, so : so + n], src[5, so : so + n]
    for r in range(6):
        m0, m1, m2, m3, m4, m5 = M[r, 0], M[r, 1], M[r, 2], M[r, 3], M[r, 4], M[r, 5]
        xr = x[r]
        for k in range(n):
            xr[k] += m0 * s0[k] + m1 * s1[k] + m2 * s2[k] + m3 * s3[k] + m4 * s4[k] + m5 * s5[k]


@routine
def add_scaled_product(scale, M, src, so, x, n):
    """x[:, :n] += scale · M src[:, so:so+n]."""
    for r in range(6):
        for c in range(6):
            m = scale * M[r, c]
            if m != 0.0:
                s = src[c, so : so + n]
                xr = x[r]
                for k in range(n):
                    xr[k] += m * s[k]


@routine
def add_force_term(scale, m, f, s, so, x, n):
    """x[:, :n] += scale · ad̄*_F s[:, so:so+n] with F = (m, f): rows −(m × s_w) − (f × s_v) and −(f × s_w)."""
    m = vscale(scale, m)
    f = vscale(scale, f)
    for r in range(3):
        a = (r + 1) % 3
        b = (r + 2) % 3
        ma, mb, fa, fb = m[a], m[b], f[a], f[b]
        sa, sb = s[a, so : so + n], s[b, so : so + n]
        va, vb = s[3 + a, so : so + n], s[3 + b, so : so + n]
        x0 = x[r]
        for k in range(n):
            x0[k] += mb * sa[k] - ma * sb[k] + fb * va[k] - fa * vb[k]
        x1 = x[3 + r]
        for k in range(n):
            x1[k] += fb * sa[k] - fa * sb[k]


@routine
def project_wide(op, o, x, g, go, width):
    """g[go:go+6, :width] = Pᵀ x[:, :width] for the dual matrix at op[o:o+18]."""
    x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
    for c in range(3):
        a0, a1, a2 = op[o + c], op[o + 3 + c], op[o + 6 + c]
        b0, b1, b2 = op[o + 9 + c], op[o + 12 + c], op[o + 15 + c]
        ga = g[go + c]
        for k in range(width):
            ga[k] = a0 * x0[k] + a1 * x1[k] + a2 * x2[k] + b0 * x3[k] + b1 * x4[k] + b2 * x5[k]
        gb = g[go + 3 + c]
        for k in range(width):
            gb[k] = a0 * x3[k] + a1 * x4[k] + a2 * x5[k]


@routine
def add_curvature(op, o, phi, first, ranges, g, go):
    """g[go:go+6, :n] += L₁Φ₁ + L₂Φ₂ for the pair of dual matrices at op[o:o+36] that map strains to wrenches."""
    for c in range(3):
        a0, a1, a2 = op[o + c], op[o + 3 + c], op[o + 6 + c]
        b0, b1, b2 = op[o + 9 + c], op[o + 12 + c], op[o + 15 + c]
        c0, c1, c2 = op[o + 18 + c], op[o + 21 + c], op[o + 24 + c]
        d0, d1, d2 = op[o + 27 + c], op[o + 30 + c], op[o + 33 + c]
        for k in range(ranges[RANGE + c], ranges[RANGE + c + 1]):
            i, u = np.uint64(k), np.uint64(first + k)
            e = phi[0, u]
            f = phi[1, u]
            g[go, i] += b0 * e + d0 * f
            g[go + 1, i] += b1 * e + d1 * f
            g[go + 2, i] += b2 * e + d2 * f
            g[go + 3, i] += a0 * e + c0 * f
            g[go + 4, i] += a1 * e + c1 * f
            g[go + 5, i] += a2 * e + c2 * f
        for k in range(ranges[RANGE + 3 + c], ranges[RANGE + 4 + c]):
            i, u = np.uint64(k), np.uint64(first + k)
            e = phi[0, u]
            f = phi[1, u]
            g[go, i] += a0 * e + c0 * f
            g[go + 1, i] += a1 * e + c1 * f
            g[go + 2, i] += a2 * e + c2 * f


@routine
def curvature(row, h, c, fc, scale, op):
    """(∂S/∂q)ᵀ F of a rod step, F = scale × the carried wrench, as the form Σ Φᵢᵀ Lᵢⱼ Φⱼ of its nodal strains.

    Overwrites op[OP_R:OP_Y] with the dual matrices L₁₁, L₁₂, L₂₁, L₂₂.
    """
    omega = get6(row, OM)
    ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
    F = dscale(scale, rotate_back(get9(row, RS), get3(row, PS), fc))
    # ∂(TᵀF)/∂Ω with Tᵀ(Ω) = T(−Ω)
    K = dmscale(-1.0, tangent_derivative(dscale(-1.0, omega), F, ca, cb, a1, b1))
    half = 0.5 * h
    if c == 0.0:
        K = dmscale(half * half, K)
        put_pair(op, OP_R, K, K)
        put_pair(op, OP_W, K, K)
        return
    x1 = dscale(c, get6(row, XI1))
    x2 = dscale(-c, get6(row, XI2))
    K1 = dmaxpy(half, K, dm_ad(K, x2))
    K2 = dmaxpy(half, K, dm_ad(K, x1))
    # Zⱼᵀ = h/2 − ad of the same argument, since the dual skew matrix is antisymmetric
    TF = dskew_diag(dscale(c, tangent_transpose_apply(omega, ca, cb, F)), (0.0, 0.0))
    m1 = dscale(-1.0, x2)
    m2 = dscale(-1.0, x1)
    put_pair(op, OP_R, dmaxpy(half, K1, ad_dm(m1, K1)), dmaxpy(half, K2, dmaxpy(-1.0, TF, ad_dm(m1, K2))))
    put_pair(op, OP_W, dmaxpy(half, K1, dmadd(TF, ad_dm(m2, K1))), dmaxpy(half, K2, ad_dm(m2, K2)))


@routine
def expand_rows(phi, first, ranges, g, h, width):
    """h[k] += φ₁ₖ g[c(k)] + φ₂ₖ g[6 + c(k)]."""
    for c in range(6):
        g1 = g[c]
        g2 = g[6 + c]
        for k in range(ranges[RANGE + c], ranges[RANGE + c + 1]):
            f1 = phi[0, first + k]
            f2 = phi[1, first + k]
            hk = h[k]
            for j in range(width):
                hk[j] += f1 * g1[j] + f2 * g2[j]


@routine
def rod_backward(
    block, step, data, phi, state, inertia, bias, load, op_all, wide1, wide2, x, g, h, nm, cq, general, loaded
):
    """Diagonal block, E, H and tau of a rod block in `h`; U, B, C and composites in `x`."""
    n = block[COLS]
    first = block[STEP0]
    last = first + block[STEPS] - 1
    wide = nm * n
    width = wide + (N_LOADED if loaded else N_EXTRA)
    n1 = n if nm == 1 else 2 * n
    clear(x, SIX, width)
    clear(h, n, width)
    active = False
    for i in range(last, first - 1, -1):
        o = step[i, S_PHI]
        row = state[i]
        if step[i, S_CARRIES] != 0:
            active = True
            add_product(bias[i], ZERO, wide1, 2 * o, x, n1)
            if general:
                add_product(bias[i], THREE, wide1, 2 * o, x, n1)
            add_product6(inertia[i], wide2, 3 * o, x, wide)
            for r in range(6):
                for c in range(6):
                    x[r, wide + c] += bias[i, r, c]
                    x[r, wide + 6 + c] += inertia[i, r, c]
                x[r, wide + 12] += row[FW + r]
            if loaded:
                add_scaled_product(cq, load[i], wide1, 2 * o + n, x, n)
                for r in range(6):
                    for c in range(6):
                        x[r, wide + 13 + c] += load[i, r, c]
        if not active:
            continue
        mc = (x[0, wide + 12], x[1, wide + 12], x[2, wide + 12])
        fc = (x[3, wide + 12], x[4, wide + 12], x[5, wide + 12])
        op = op_all[i]
        if cq != 0.0:
            if i > first:
                prev = step[i - 1, S_PHI]
                for r in range(6):
                    gr = g[r]
                    new = wide1[r, 2 * o + n : 2 * o + 2 * n]
                    old = wide1[r, 2 * prev + n : 2 * prev + 2 * n]
                    for k in range(n):
                        gr[k] = new[k] - old[k]
            else:
                copy_columns(wide1, 2 * o + n, g, ZERO, n)
            add_force_term(cq, mc, fc, g, ZERO, x, n)
        project_wide(op, OP_S, x, g, ZERO, width)
        project_wide(op, OP_S2, x, g, SIX, width)
        if cq != 0.0:
            curvature(row, data[i, D_H], data[i, D_C], (fc, mc), cq, op)
            add_curvature(op, OP_R, phi, o, block, g, ZERO)
            add_curvature(op, OP_W, phi, o, block, g, SIX)
        expand_rows(phi, o, block, g, h, width)


@routine
def joint_backward(block, state, inertia, bias, load, ends, x, h, nm, cq, loaded):
    """The same as `rod_backward` for a joint."""
    n = block[COLS]
    col0 = block[COL0]
    i = block[STEP0]
    wide = nm * n
    M = inertia[i]
    N = bias[i]
    row = state[i]
    J = ends[0]
    R = ends[1]
    W = ends[2]
    Y = ends[3]
    m = get3(row, FW)
    f = get3(row, FW + 3)
    for r in range(6):
        n0, n1, n2, n3, n4, n5 = N[r, 0], N[r, 1], N[r, 2], N[r, 3], N[r, 4], N[r, 5]
        m0, m1, m2, m3, m4, m5 = M[r, 0], M[r, 1], M[r, 2], M[r, 3], M[r, 4], M[r, 5]
        for k in range(n):
            c = col0 + k
            x[r, k] = (
                n0 * R[0, c]
                + n1 * R[1, c]
                + n2 * R[2, c]
                + n3 * R[3, c]
                + n4 * R[4, c]
                + n5 * R[5, c]
                + m0 * W[0, c]
                + m1 * W[1, c]
                + m2 * W[2, c]
                + m3 * W[3, c]
                + m4 * W[4, c]
                + m5 * W[5, c]
            )
            if nm == 3:
                js = m0 * J[0, c] + m1 * J[1, c] + m2 * J[2, c] + m3 * J[3, c] + m4 * J[4, c] + m5 * J[5, c]
                x[r, n + k] = (
                    n0 * J[0, c]
                    + n1 * J[1, c]
                    + n2 * J[2, c]
                    + n3 * J[3, c]
                    + n4 * J[4, c]
                    + n5 * J[5, c]
                    + m0 * Y[0, c]
                    + m1 * Y[1, c]
                    + m2 * Y[2, c]
                    + m3 * Y[3, c]
                    + m4 * Y[4, c]
                    + m5 * Y[5, c]
                )
                x[r, 2 * n + k] = js
        for c in range(6):
            x[r, wide + c] = N[r, c]
            x[r, wide + 6 + c] = M[r, c]
        x[r, wide + 12] = row[FW + r]
    if cq != 0.0:
        add_force_term(cq, m, f, J, col0, x, n)
    width = wide + N_EXTRA
    if loaded:
        add_scaled_product(cq, load[i], J, col0, x, n)
        for r in range(6):
            for c in range(6):
                x[r, wide + 13 + c] = load[i, r, c]
        width = wide + N_LOADED
    for k in range(n):
        c = col0 + k
        s0, s1, s2, s3, s4, s5 = J[0, c], J[1, c], J[2, c], J[3, c], J[4, c], J[5, c]
        for j in range(width):
            h[k, j] = s0 * x[0, j] + s1 * x[1, j] + s2 * x[2, j] + s3 * x[3, j] + s4 * x[4, j] + s5 * x[5, j]
    if block[KIND] != SCREW and cq != 0.0:
        # − sᵀ ad̄*_F s: the joint's axes move with the body
        for k in range(n):
            sk = (
                (J[0, col0 + k], J[1, col0 + k], J[2, col0 + k]),
                (J[3, col0 + k], J[4, col0 + k], J[5, col0 + k]),
            )
            F = dcross(sk, (f, m))  # ad*_s F, dual form
            for j in range(n):
                c = col0 + j
                h[j, k] -= cq * (
                    J[0, c] * F[1][0]
                    + J[1, c] * F[1][1]
                    + J[2, c] * F[1][2]
                    + J[3, c] * F[0][0]
                    + J[4, c] * F[0][1]
                    + J[5, c] * F[0][2]
                )


@routine
def row_product(coef, e, X, c0, m, out):
    """out[:] = coef[e:e+6] X[:, c0:c0+m]."""
    e0, e1, e2, e3, e4, e5 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3], coef[e + 4], coef[e + 5]
    x0, x1, x2 = X[0, c0 : c0 + m], X[1, c0 : c0 + m], X[2, c0 : c0 + m]
    x3, x4, x5 = X[3, c0 : c0 + m], X[4, c0 : c0 + m], X[5, c0 : c0 + m]
    for k in range(m):
        out[k] = e0 * x0[k] + e1 * x1[k] + e2 * x2[k] + e3 * x3[k] + e4 * x4[k] + e5 * x5[k]


@routine
def add_row_product3(coef, e, X, i, c0, m, out):
    """out[:] += coef[e+i:e+i+3] X[i:i+3, c0:c0+m]."""
    e0, e1, e2 = coef[e + i], coef[e + i + 1], coef[e + i + 2]
    x0, x1, x2 = X[i, c0 : c0 + m], X[i + 1, c0 : c0 + m], X[i + 2, c0 : c0 + m]
    for k in range(m):
        out[k] += e0 * x0[k] + e1 * x1[k] + e2 * x2[k]


@routine
def distribute(block, spans, ends, force, x, h, tau, nm, cq, general, loaded, out):
    """Write the rows of a block: its own columns, its ancestors' and its descendants'."""
    n = block[COLS]
    col0 = block[COL0]
    end = block[SUBTREE]
    wide = nm * n
    J = ends[0]
    R = ends[1]
    W = ends[2]
    Y = ends[3]
    for m in range(nm):  # wrench derivatives of the block's own columns, for its ancestors' rows
        for r in range(6):
            dst = force[m, r, col0 : col0 + n]
            src = x[r, m * n : m * n + n]
            for k in range(n):
                dst[k] = src[k]
    for k in range(n):
        i = col0 + k
        hk = h[k]
        tau[i] = hk[wide + 12]
        if loaded:
            for j in range(6):
                hk[wide + 13 + j] *= cq
        for m in range(nm):
            dst = out[m, i, col0 : col0 + n]
            src = hk[m * n : m * n + n]
            for j in range(n):
                dst[j] = src[j]
        for sp in range(block[SPAN0], block[SPAN0] + block[SPANS]):
            c0 = spans[sp, 0]
            length = spans[sp, 1]
            for m in range(nm):
                dst = out[m, i, c0 : c0 + length]
                if m == 0:
                    row_product(hk, wide + 6, W, c0, length, dst)
                elif m == 1:
                    row_product(hk, wide + 6, Y, c0, length, dst)
                else:
                    row_product(hk, wide + 6, J, c0, length, dst)
                if m < 2:
                    src2 = R if m == 0 else J
                    add_row_product3(hk, wide, src2, ZERO, c0, length, dst)
                    if general:
                        add_row_product3(hk, wide, src2, THREE, c0, length, dst)
                if loaded and m == 0:
                    add_row_product3(hk, wide + 13, J, ZERO, c0, length, dst)
                    add_row_product3(hk, wide + 13, J, THREE, c0, length, dst)
        below = end - col0 - n
        if below > 0:
            for r in range(6):
                hk[r] = J[r, i]
            for m in range(nm):
                row_product(hk, ZERO, force[m], col0 + n, below, out[m, i, col0 + n : end])


@routine
def add_to_parent(x, wide, p, state, inertia, bias, load, loaded):
    """Hand the composite N, I and f of a block to the step that carries it."""
    for r in range(6):
        for c in range(6):
            bias[p, r, c] += x[r, wide + c]
            inertia[p, r, c] += x[r, wide + 6 + c]
            if loaded:
                load[p, r, c] += x[r, wide + 13 + c]
        state[p, FW + r] += x[r, wide + 12]


@routine
def clear_columns(t, work, nm):
    """Zero the matrices in column space, if they are used: where blocks do not couple nothing is written."""
    if t.flags[IN_ORDER] == 0:
        for m in range(nm):
            clear(work.out[m], work.out.shape[1], work.out.shape[2])


@routine
def scatter_matrix(t, columns, out):
    """out[col_v, col_v] += columns, from column space to velocities."""
    m = t.col_v.shape[0]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
    for i in range(m):
        row = out[t.col_v[i]]
        for j in range(m):
            row[t.col_v[j]] += columns[i, j]


@routine
def prepare_tangent(t, work, loads, apply, q, v, a, u, nm, cq, cv, ca):
    """Everything before the backward pass: wrenches and matrices of every step, columns of every block.

    Returns whether any step has a full matrix N, and whether any has a matrix K.
    """
    forward(t, q, v, a, work)
    point_forces(t, work)
    general = t.flags[GENERAL_INERTIA] != 0
    loaded = general
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    if apply:
        general = general or t.flags[VELOCITY_LOADS] != 0
        loaded = loaded or t.flags[STEP_LOADS] != 0
        apply_loads(work, loads, q, v, u)
        load_tangents(work, loads, q, v, u)
    all_columns(t, work, nm, cq, cv, ca)
    return general, loaded


@routine
def block_backward(t, work, block, nm, cq, general, loaded):
    """Rows of a block in work.h and its wrenches in work.x, from the matrices of its steps and of what they carry."""
    if block[COLLOC] >= 0:
        spectral_backward(
            block,
            t.step,
            t.phi,
            t.colloc,
            work.state,
            work.inertia,
            work.bias,
            work.load,
            work.nodes,
            work.wide1,
            work.wide2,
            work.x,
            work.g,
            work.h,
            nm,
            cq,
            general,
            loaded,
        )
    elif block[KIND] == ROD:
        rod_backward(
            block,
            t.step,
            t.data,
            t.phi,
            work.state,
            work.inertia,
            work.bias,
            work.load,
            work.op,
            work.wide1,
            work.wide2,
            work.x,
            work.g,
            work.h,
            nm,
            cq,
            general,
            loaded,
        )
    else:
        joint_backward(block, work.state, work.inertia, work.bias, work.load, work.ends, work.x, work.h, nm, cq, loaded)


@routine
def tangent(t, work, loads, apply, q, v, a, u, cq, cv, ca, tau, out):
    """ID and its derivatives; with `apply`, minus the generalised forces of the loads that act on steps.

    If `out` is (3, nv, nv) it gets ∂ID/∂q, ∂ID/∂v and ∂ID/∂a = M. If it is (1, nv, nv) it gets the fused tangent
    cq ∂ID/∂q + cv ∂ID/∂v + ca M. On manifold joints ∂/∂q is along the right perturbation g·exp(δ).
    `out` must be zero where no block couples to another (a fresh or formerly used array).
    """
    nm = out.shape[0]
    if nm == 3:
        cq = 1.0
    general, loaded = prepare_tangent(t, work, loads, apply, q, v, a, u, nm, cq, cv, ca)
    target = out if t.flags[IN_ORDER] != 0 else work.out
    clear_columns(t, work, nm)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        block_backward(t, work, block, nm, cq, general, loaded)
        add_to_parent(work.x, nm * block[COLS], block[PSTEP], work.state, work.inertia, work.bias, work.load, loaded)
        distribute(block, t.spans, work.ends, work.force, work.x, work.h, work.tau, nm, cq, general, loaded, target)
    if t.flags[IN_ORDER] == 0:
        for m in range(nm):
            scatter_matrix(t, work.out[m], out[m])
    scatter(t, work.tau, tau)
