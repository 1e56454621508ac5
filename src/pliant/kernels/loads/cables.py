"""What tendons need beyond a tension along rods: straight stretches between bodies, elasticity and friction.

A straight stretch is a load between two steps (see `law`). The tension of an elastic tendon follows from its length:
``T = k (ℓ + u − ℓ₀) + c ℓ̇`` where that is positive. With friction the tension falls along the way by ``exp(−μθ)`` (Euler,
Eytelwein) with the angle θ through which the tendon has turned: along rods, and at the corners between them and straight stretches.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import dadd, daxpy, dscale, get3, get6, get9, mtv, mv, vadd, vaxpy, vcross, vdot, vscale, vsub
from ..layout import F2, MESSAGE_CQ, MESSAGE_CV, MESSAGE_ENERGY, MESSAGE_SIZE, NO, RE, YES
from .law import (
    add_cross_terms,
    add_projection,
    clear_laws,
    pair_columns,
    point_at,
    subtract_pair,
    subtract_wrench,
    velocity_at,
)
from .tendons import (
    L_NODE,
    L_TENDON,
    LAW_ELASTIC,
    LAW_END,
    LAW_FIRST,
    LAW_INPUT,
    N_BEGIN,
    N_END,
    N_FIRST,
    N_PHI,
    N_Q,
    N_STOP,
    N_V,
    P_SLOPE,
    P_WEIGHT,
    SEGMENT_A,
    SEGMENT_B,
    SEGMENT_TENDON,
    STRAIGHT,
    T_DAMP,
    T_FORCE,
    T_LENGTH,
    T_RATE,
    T_SENSE,
    T_STIFF,
    TANGENT_OF,
    V_DAMP,
    V_FACTOR,
    V_FRICTION,
    V_LENGTH,
    V_REST,
    V_SPEED,
    V_STIFF,
    WRAP_IN,
    WRAP_OUT,
    WRAP_POINT,
    Tendons,
    add_lines,
    combine,
    direction,
    project,
    strain_at,
    strain_rate_at,
    turned,
)
from .units import ENERGY, FORCES, INPUTS, LENGTHS, MATRICES, TANGENT, unit


class CableSpace(NamedTuple):
    """Workspace of tendons beyond `Work.tension`."""

    gradient: F2  # (4, nv) of a tendon's length and of its rate
    wrapped: F2  # (wraps + segments, 3) factor, turning angle, curvature of tendons with friction


W_FACTOR, W_ANGLE, W_CURVE = (np.int64(k) for k in range(3))
N0, N3, N6, N9 = np.int64(0), np.int64(3), np.int64(6), np.int64(9)
SMOOTH = 1e-5  # 1/m, or without unit at corners: turning below it is smoothed


@routine
def segment_ends(tendons, m, state):
    """World positions of the ends of a straight stretch, its unit vector from the second to the first, and its length."""
    span = tendons.span[m]
    a = point_at(state[tendons.segment[m, SEGMENT_A]], get3(span, N0))
    b = point_at(state[tendons.segment[m, SEGMENT_B]], get3(span, N3))
    d = vsub(a, b)
    size = np.sqrt(vdot(d, d))
    return a, b, vscale(1.0 / size, d), size


@routine
def measure(tendons, work, q, v):
    """Lengths and their rates, into work.tension[:, 1:3]; needs the forward pass if there are straight stretches."""
    for k in range(tendons.law.shape[0]):
        work.tension[k, T_LENGTH] = tendons.value[k, V_LENGTH]
        work.tension[k, T_RATE] = 0.0
    for m in range(tendons.node.shape[0]):
        xi, rate = strain_at(tendons, m, q), strain_rate_at(tendons, m, v)
        for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
            k = tendons.point[p, L_TENDON]
            weight = tendons.data[p, P_WEIGHT]
            d, n, size = direction(xi, tendons.data[p])
            work.tension[k, T_LENGTH] += weight * size
            work.tension[k, T_RATE] += weight * vdot(n, vadd(rate[1], vcross(rate[0], d)))
    for m in range(tendons.segment.shape[0]):
        k = tendons.segment[m, SEGMENT_TENDON]
        a, b, n, size = segment_ends(tendons, m, work.state)
        va = velocity_at(work.state[tendons.segment[m, SEGMENT_A]], a)
        vb = velocity_at(work.state[tendons.segment[m, SEGMENT_B]], b)
        factor = tendons.value[k, V_FACTOR]
        work.tension[k, T_LENGTH] += factor * size
        work.tension[k, T_RATE] += factor * vdot(n, vsub(va, vb))


@routine
def set_tensions(tendons, work, space, q, v, u):
    """Tension of every tendon with its derivatives, and the factors of friction; see `Work.tension`.

    work.tension (tendons, 6): T, ℓ, ℓ̇, ∂T/∂ℓ, ∂T/∂ℓ̇, sense of sliding. The last is 1 while pulling, −1 while released; 0, which is without friction,
    where `Work.rubs` asks for that.
    """
    measured = False
    for k in range(tendons.law.shape[0]):
        measured = measured or tendons.law[k, LAW_ELASTIC] == 1 or tendons.value[k, V_SPEED] > 0.0
    if measured:
        measure(tendons, work, q, v)
    for k in range(tendons.law.shape[0]):
        row = work.tension[k]
        value = tendons.value[k]
        force = u[tendons.law[k, LAW_INPUT]] + 0.0 * q[0]
        row[T_STIFF] = 0.0
        row[T_DAMP] = 0.0
        row[T_SENSE] = 1.0
        if tendons.law[k, LAW_ELASTIC] == 1:
            stretch = row[T_LENGTH] + force - value[V_REST]
            force = value[V_STIFF] * stretch + value[V_DAMP] * row[T_RATE]
            if stretch.real <= 0.0 or force.real <= 0.0:
                force = 0.0 * stretch
            else:
                row[T_STIFF] = value[V_STIFF]
                row[T_DAMP] = value[V_DAMP]
        row[T_FORCE] = force
        if value[V_FRICTION] != 0.0:
            if value[V_SPEED] > 0.0:
                row[T_SENSE] = np.tanh(-row[T_RATE] / value[V_SPEED])
            if work.rubs[0] == 0.0:
                row[T_SENSE] = 0.0
            set_friction(tendons, work, space, k, q)


@routine
def turning(tendons, e, q, slope):
    """Curvature of the tendon's own curve at row e of `wrap`; if `slope` is (2, 6), its derivatives in ξ and ξ′.

    The unit tangent t̂ in section axes turns by c = κ×t̂ + t̂′ per metre; √(|c|² + ε²) − ε is smooth where it is straight.
    """
    p = tendons.wrap[e, WRAP_POINT]
    m = tendons.point[p, L_NODE]
    data, bend, node = tendons.data[p], tendons.bend[e], tendons.node[m]
    xi = strain_at(tendons, m, q)
    xi1 = dadd(get6(bend, N0), combine(node, tendons.slope, q, node[N_Q]))
    kappa = xi[0]
    d1, d2 = get3(data, P_SLOPE), get3(bend, N6)
    d, n, size = direction(xi, data)
    t1 = vadd(vadd(vadd(xi1[1], vcross(xi1[0], d)), vcross(kappa, d1)), d2)
    along = vdot(n, t1)
    g = vscale(1.0 / size, vaxpy(-along, n, t1))
    c = vadd(vcross(kappa, n), g)
    root = np.sqrt(vdot(c, c) + SMOOTH * SMOOTH)
    if slope.shape[0] == 2:
        one = 1.0 + 0.0 * q[0]
        for k in range(12):
            comp = k % 6
            e3 = (
                one if comp % 3 == 0 else 0.0 * one,
                one if comp % 3 == 1 else 0.0 * one,
                one if comp % 3 == 2 else 0.0 * one,
            )
            none = vscale(0.0, e3)
            dk = e3 if k < 3 else none
            dt = vcross(e3, d) if k < 3 else (e3 if k < 6 else none)
            dt1 = vcross(e3, d1) if k < 3 else none
            if k >= 6:
                dt1 = vcross(e3, d) if k < 9 else e3
            dn = turned(n, size, dt)
            dg = vaxpy(-along, dn, vaxpy(-vdot(n, dt1) - vdot(dn, t1), n, dt1))
            dg = vscale(1.0 / size, vaxpy(-vdot(n, dt), g, dg))
            dc = vadd(vadd(vcross(dk, n), vcross(kappa, dn)), dg)
            slope[k // 6, comp] = vdot(c, dc) / root
    return root - SMOOTH


# ---------------------------------------------------------------- corners


@routine
def way(tendons, work, e, side, q):
    """Unit vector in the world of the way before (WRAP_IN) or behind (WRAP_OUT) the corner in row e of `wrap`."""
    row = tendons.wrap[e]
    o = N0 if side == WRAP_IN else N9
    if row[side] == STRAIGHT:
        _a, _b, n, _size = segment_ends(tendons, row[side + 1], work.state)
        return vscale(-1.0, n)
    A = get9(tendons.bend[e], o)
    x = vscale(1.0 + 0.0 * q[0], (A[0], A[3], A[6]))
    if row[side] == TANGENT_OF:
        p = row[side + 1]
        _d, n, _size = direction(strain_at(tendons, tendons.point[p, L_NODE], q), tendons.data[p])
        x = mv(A, n)
    return mv(get9(work.state[row[side + 2]], RE), x)


@routine
def corner(tendons, work, e, q):
    """Angle at a corner, its derivative by the chord between the two directions per chord, and the chord.

    ``2 arcsin(c/2)`` with √(c² + ε²) − ε for the chord c, which is smooth where there is no corner, and where the tendon turns back.
    """
    d = vsub(way(tendons, work, e, WRAP_OUT, q), way(tendons, work, e, WRAP_IN, q))
    root = np.sqrt(vdot(d, d) + SMOOTH * SMOOTH)
    half = 0.5 * (root - SMOOTH)
    return 2.0 * np.arcsin(half), 1.0 / (np.sqrt(1.0 - half * half) * root), d


@routine
def add_way_row(t, work, tendons, e, side, q, g, y):
    """y (nv,) += gᵀ ∂n/∂q of one of the directions n at a corner."""
    row = tendons.wrap[e]
    none = vscale(0.0, g)
    if row[side] == STRAIGHT:
        m = row[side + 1]
        a, b, n, size = segment_ends(tendons, m, work.state)
        F = vscale(-1.0 / size, vaxpy(-vdot(n, g), n, g))
        add_projection(t, work, tendons.segment[m, SEGMENT_A], a, none, F, y)
        add_projection(t, work, tendons.segment[m, SEGMENT_B], b, none, vscale(-1.0, F), y)
        return
    n = way(tendons, work, e, side, q)
    add_projection(t, work, row[side + 2], none, vcross(n, g), none, y)
    if row[side] == TANGENT_OF:
        p = row[side + 1]
        m = tendons.point[p, L_NODE]
        d, n, size = direction(strain_at(tendons, m, q), tendons.data[p])
        h = mtv(get9(tendons.bend[e], N0 if side == WRAP_IN else N9), mtv(get9(work.state[row[side + 2]], RE), g))
        h = turned(n, size, h)
        project(tendons.node[m], 1.0, tendons.phi, (vcross(d, h), h), y)


@routine
def add_corner_row(t, work, tendons, e, q, y):
    """y (nv,) += ∂θ/∂q of the angle at a corner."""
    _angle, f, d = corner(tendons, work, e, q)
    add_way_row(t, work, tendons, e, WRAP_OUT, q, vscale(f, d), y)
    add_way_row(t, work, tendons, e, WRAP_IN, q, vscale(-f, d), y)


@routine
def set_friction(tendons, work, space, k, q):
    """Angles and factors exp(−μθ) along tendon k, into space.wrapped (wraps + segments, 3)."""
    first, end = tendons.law[k, LAW_FIRST], tendons.law[k, LAW_END]
    wraps = tendons.wrap.shape[0]
    none = work.line[:0]
    for e in range(first, end):
        if tendons.wrap[e, WRAP_POINT] < 0:
            space.wrapped[e, W_CURVE] = corner(tendons, work, e, q)[0]
        else:
            space.wrapped[e, W_CURVE] = turning(tendons, e, q, none)
    scale = tendons.value[k, V_FRICTION] * work.tension[k, T_SENSE]
    for e in range(first, end):
        angle = 0.0 * q[0]
        for m in range(end - first):
            angle += tendons.turn[e, m] * space.wrapped[first + m, W_CURVE]
        space.wrapped[e, W_ANGLE] = angle
        space.wrapped[e, W_FACTOR] = np.exp(-scale * angle)
        if tendons.wrap[e, WRAP_POINT] >= 0:
            work.factor[tendons.wrap[e, WRAP_POINT]] = space.wrapped[e, W_FACTOR]
    for s in range(tendons.segment.shape[0]):
        if tendons.segment[s, SEGMENT_TENDON] == k:
            angle = 0.0 * q[0]
            for m in range(end - first):
                angle += tendons.turn[wraps + s, m] * space.wrapped[first + m, W_CURVE]
            space.wrapped[wraps + s, W_ANGLE] = angle
            space.wrapped[wraps + s, W_FACTOR] = np.exp(-scale * angle)


# ---------------------------------------------------------------- straight stretches


@routine
def segment_force(tendons, work, space, m):
    """Tension in a straight stretch."""
    k = tendons.segment[m, SEGMENT_TENDON]
    force = work.tension[k, T_FORCE] * tendons.value[k, V_FACTOR]
    if tendons.value[k, V_FRICTION] != 0.0:
        force = force * space.wrapped[tendons.wrap.shape[0] + m, W_FACTOR]
    return force


@routine
def apply_segments(tendons, work, space):
    """Subtract the pull of straight stretches from the wrenches of their steps."""
    for m in range(tendons.segment.shape[0]):
        force = segment_force(tendons, work, space, m)
        if force == 0.0:
            continue
        a, b, n, _size = segment_ends(tendons, m, work.state)
        F = vscale(-force, n)
        i, j = tendons.segment[m, SEGMENT_A], tendons.segment[m, SEGMENT_B]
        if i >= 0:
            subtract_wrench(work.state[i], a, vscale(0.0, F), F)
        if j >= 0:
            subtract_wrench(work.state[j], b, vscale(0.0, F), vscale(-1.0, F))


@routine
def segment_tangents(t, tendons, work, space, cross, cq, out):
    """Matrices K of straight stretches at constant tension; with `cross`, what couples their two steps instead."""
    A, B, spare = work.law[0], work.law[1], work.law[2]
    for m in range(tendons.segment.shape[0]):
        force = segment_force(tendons, work, space, m)
        i, j = tendons.segment[m, SEGMENT_A], tendons.segment[m, SEGMENT_B]
        if force == 0.0 or (cross and (i < 0 or j < 0)):
            continue
        a, _b, n, size = segment_ends(tendons, m, work.state)
        F = vscale(-force, n)
        M = vscale(0.0, F)
        clear_laws(A, B)
        for r in range(3):
            for c in range(3):
                A[3 + r, 3 + c] = force / size * (n[r] * n[c] - (1.0 if r == c else 0.0))
        if cross:
            pair_columns(t, work, i, j, work.pair)
            add_cross_terms(work, i, j, a, M, F, A, B, spare, cq, work.pair, out)
        else:
            subtract_pair(work, i, j, a, M, F, A, B, spare)


# ---------------------------------------------------------------- tensions that depend on the motion


@routine
def clear_gradient(out):
    """Zero all rows."""
    for r in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[r, k] = 0.0


@routine
def add_segment_row(t, work, i, j, x, F, scale, y):
    """y (nv,) += scale (Jᵢ − Jⱼ)ᵀ (x × F; F)."""
    pair_columns(t, work, i, j, work.pair)
    m = vcross(x, F)
    Ji, Jj = work.pair[0], work.pair[1]
    for k in range(y.shape[0]):
        y[k] += scale * (
            m[0] * (Ji[0, k] - Jj[0, k])
            + m[1] * (Ji[1, k] - Jj[1, k])
            + m[2] * (Ji[2, k] - Jj[2, k])
            + F[0] * (Ji[3, k] - Jj[3, k])
            + F[1] * (Ji[4, k] - Jj[4, k])
            + F[2] * (Ji[5, k] - Jj[5, k])
        )


@routine
def add_wrap(tendons, p, q, scale, out):
    """out (nv,) += scale ∂ℓ/∂q of point p alone."""
    m = tendons.point[p, L_NODE]
    d, n, _size = direction(strain_at(tendons, m, q), tendons.data[p])
    project(tendons.node[m], scale * tendons.data[p, P_WEIGHT], tendons.phi, (vcross(d, n), n), out)


@routine
def gradients(t, tendons, work, space, k, q, v, cq, cv, rate, out):
    """Derivatives of tendon k's length: out (4, nv) gets

    0: its generalised force per unit tension (∂ℓ/∂q without friction), 1: ∂ℓ/∂q, 2: cq ∂ℓ̇/∂q + cv ∂ℓ/∂q (if `rate`),
    3: the first weighted by the turning angle. The columns of the steps must be known (after `rod_columns`).
    """
    clear_gradient(out)
    wraps = tendons.wrap.shape[0]
    rubs = tendons.value[k, V_FRICTION] != 0.0
    for p in range(tendons.point.shape[0]):
        if tendons.point[p, L_TENDON] != k:
            continue
        m = tendons.point[p, L_NODE]
        node, weight = tendons.node[m], tendons.data[p, P_WEIGHT]
        d, n, size = direction(strain_at(tendons, m, q), tendons.data[p])
        w = (vcross(d, n), n)
        project(node, weight * work.factor[p], tendons.phi, w, out[0])
        project(node, weight, tendons.phi, w, out[1])
        if rate:
            xi = strain_rate_at(tendons, m, v)
            y = turned(n, size, vadd(xi[1], vcross(xi[0], d)))
            project(node, weight, tendons.phi, daxpy(cv, w, dscale(cq, (vcross(d, y), y))), out[2])
    if rubs:
        for e in range(tendons.law[k, LAW_FIRST], tendons.law[k, LAW_END]):
            if tendons.wrap[e, WRAP_POINT] >= 0:
                angle = space.wrapped[e, W_FACTOR] * space.wrapped[e, W_ANGLE]
                add_wrap(tendons, tendons.wrap[e, WRAP_POINT], q, angle, out[3])
    for m in range(tendons.segment.shape[0]):
        if tendons.segment[m, SEGMENT_TENDON] != k:
            continue
        a, b, n, size = segment_ends(tendons, m, work.state)
        i, j = tendons.segment[m, SEGMENT_A], tendons.segment[m, SEGMENT_B]
        sign = tendons.value[k, V_FACTOR]
        factor, angle = sign + 0.0 * size, 0.0 * size
        if rubs:
            factor, angle = sign * space.wrapped[wraps + m, W_FACTOR], space.wrapped[wraps + m, W_ANGLE]
        add_segment_row(t, work, i, j, a, n, sign, out[1])
        add_segment_row(t, work, i, j, a, n, factor, out[0])
        if rubs:
            add_segment_row(t, work, i, j, a, n, factor * angle, out[3])
        if rate:
            va, vb = velocity_at(work.state[i], a), velocity_at(work.state[j], b)
            d = vsub(va, vb)
            y = vscale(1.0 / size, vaxpy(-vdot(n, d), n, d))
            # δℓ̇ = y·(δxᵢ − δxⱼ) + n·(rᵢ − rⱼ) − δθᵢ·(n × ẋᵢ) + δθⱼ·(n × ẋⱼ)
            mi, mj = vsub(vcross(a, y), vcross(n, va)), vsub(vcross(b, y), vcross(n, vb))
            mr = vcross(a, n)
            Ji, Jj, Ri, Rj = work.pair[0], work.pair[1], work.pair[2], work.pair[3]
            for c in range(out.shape[1]):
                for r in range(3):
                    out[2, c] += cq * (mi[r] * Ji[r, c] - mj[r] * Jj[r, c] + y[r] * (Ji[3 + r, c] - Jj[3 + r, c]))
                    out[2, c] += mr[r] * (Ri[r, c] - Rj[r, c]) + n[r] * (Ri[3 + r, c] - Rj[3 + r, c])


@routine
def add_outer(x, scale, y, out):
    """out += scale x yᵀ."""
    for i in range(out.shape[0]):
        f = scale * x[i]
        if f != 0.0:
            row = out[i]
            for j in range(out.shape[1]):
                row[j] += f * y[j]


@routine
def add_tension_tangents(t, tendons, work, space, q, v, cq, cv, out):
    """What the change of tensions with length, rate and turning angle adds to the tangent."""
    g = space.gradient
    for k in range(tendons.law.shape[0]):
        row = work.tension[k]
        friction = tendons.value[k, V_FRICTION]
        slips = friction != 0.0 and tendons.value[k, V_SPEED] > 0.0 and work.rubs[0] != 0.0
        if row[T_STIFF] == 0.0 and row[T_DAMP] == 0.0 and friction == 0.0:
            continue
        rate = row[T_DAMP] != 0.0 or slips
        gradients(t, tendons, work, space, k, q, v, cq, cv, rate, g)
        add_outer(g[0], cq * row[T_STIFF], g[1], out)
        if rate:
            add_outer(g[0], row[T_DAMP], g[2], out)
        if slips:
            # the sense tanh(−ℓ̇/v) changes all factors exp(−μ sense θ)
            sense = row[T_SENSE]
            add_outer(g[3], row[T_FORCE] * friction * (1.0 - sense * sense) / tendons.value[k, V_SPEED], g[2], out)
        if friction != 0.0 and cq != 0.0:
            add_turning_tangent(t, tendons, work, space, k, q, -cq * row[T_FORCE] * friction * row[T_SENSE], out)


@routine
def add_turning_tangent(t, tendons, work, space, k, q, scale, out):
    """out += scale Σ f (∂ℓ/∂q)ₚ ∂θₚ/∂q over the points and straight stretches of tendon k."""
    slope = work.line[4:6]
    left, right = space.gradient[1], space.gradient[2]
    first, end = tendons.law[k, LAW_FIRST], tendons.law[k, LAW_END]
    wraps = tendons.wrap.shape[0]
    for m in range(end - first):
        for i in range(left.shape[0]):
            left[i] = 0.0
            right[i] = 0.0
        for e in range(first, end):
            f = tendons.turn[e, m] * space.wrapped[e, W_FACTOR]
            if f != 0.0 and tendons.wrap[e, WRAP_POINT] >= 0:
                add_wrap(tendons, tendons.wrap[e, WRAP_POINT], q, f, left)
        for s in range(tendons.segment.shape[0]):
            f = tendons.turn[wraps + s, m]
            if tendons.segment[s, SEGMENT_TENDON] == k and f != 0.0:
                a, _b, n, _size = segment_ends(tendons, s, work.state)
                scaled = f * space.wrapped[wraps + s, W_FACTOR]
                add_segment_row(
                    t, work, tendons.segment[s, SEGMENT_A], tendons.segment[s, SEGMENT_B], a, n, scaled, left
                )
        if tendons.wrap[first + m, WRAP_POINT] < 0:
            add_corner_row(t, work, tendons, first + m, q, right)
            add_outer(left, scale, right, out)
            continue
        turning(tendons, first + m, q, slope)
        node = tendons.node[tendons.point[tendons.wrap[first + m, WRAP_POINT], L_NODE]]
        v0 = node[N_V]
        for c in range(6):
            o = node[N_PHI + c]
            for i in range(node[N_BEGIN + c], node[N_STOP + c]):
                right[v0 + i] += slope[0, c] * tendons.phi[o + i] + slope[1, c] * tendons.slope[o + i]
        add_outer(left, scale, right, out)


@routine
def tendon_potential(tendons, work):
    """Potential energy of tensions (T ℓ, or that of the elastic stretch), and the size of its parts; after `set_tensions`."""
    energy = 0.0
    size = 0.0
    for k in range(tendons.law.shape[0]):
        row = work.tension[k]
        part = row[T_FORCE] * row[T_LENGTH]
        if tendons.law[k, LAW_ELASTIC] == 1:
            part = 0.5 * row[T_FORCE] * row[T_FORCE] / tendons.value[k, V_STIFF]
        energy += part
        size += abs(part)
    return energy, size


@routine
def apply_tendons(t, work, tendons, space, q, v, u, r):
    """All forces of tendons, for any number type: on the steps, and (with the other sign) on the coordinates into r (nv,)."""
    set_tensions(tendons, work, space, q, v, u)
    apply_segments(tendons, work, space)
    add_lines(tendons, work, q, r)


@unit(Tendons, tasks=(FORCES, MATRICES, TANGENT, ENERGY, INPUTS, LENGTHS), space=CableSpace)
def cables(task, t, work, tendons, space, q, v, u, out):
    """Straight stretches, elasticity and friction of tendons."""
    if task == FORCES:
        set_tensions(tendons, work, space, q, v, u)
        apply_segments(tendons, work, space)
    elif task == MATRICES:
        segment_tangents(t, tendons, work, space, NO, 1.0, work.out[0])
    elif task == TANGENT:
        cq, cv = work.message[MESSAGE_CQ], work.message[MESSAGE_CV]
        segment_tangents(t, tendons, work, space, YES, cq, out)
        add_tension_tangents(t, tendons, work, space, q, v, cq, cv, out)
    elif task == ENERGY:
        set_tensions(tendons, work, space, q, v, u)
        measure(tendons, work, q, v)
        energy, size = tendon_potential(tendons, work)
        work.message[MESSAGE_ENERGY] += energy
        work.message[MESSAGE_SIZE] += size
    elif task == INPUTS:
        set_tensions(tendons, work, space, q, v, u)
        for k in range(tendons.law.shape[0]):
            gradients(t, tendons, work, space, k, q, v, 1.0, 0.0, NO, space.gradient)
            scale = -1.0
            if tendons.law[k, LAW_ELASTIC] == 1:
                scale = -work.tension[k, T_STIFF]
            for c in range(out.shape[1]):
                out[tendons.law[k, LAW_INPUT], c] += scale * space.gradient[0, c]
    elif task == LENGTHS:
        measure(tendons, work, q, v)
        for k in range(tendons.law.shape[0]):
            gradients(t, tendons, work, space, k, q, v, 1.0, 0.0, NO, space.gradient)
            for c in range(out.shape[1]):
                out[k, c] = space.gradient[1, c]
