"""Forward recursion: poses, twists and accelerations of every step (MATH §2, §3).

The one forward pass of the package: inverse dynamics, derivatives, Jacobians and poses all start here.
Everything is expressed at one fixed origin in world axes, so quantities add along the tree.
"""

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
    vadd,
    vscale,
)
from ..algebra.exponential import exp_se3, tangent_apply, tangent_coefficients, tangent_rate_apply
from ..layout import (
    AE,
    CO,
    COL0,
    COLLOC,
    D_AXIS,
    D_C,
    D_H,
    D_XI1,
    D_XI2,
    FREE,
    KIND,
    OM,
    PE,
    PLACE_P,
    PLACE_R,
    PS,
    PSTEP,
    QPOS,
    RANGE,
    RE,
    ROD,
    RS,
    S_PHI,
    SCREW,
    STEP0,
    STEPS,
    VE,
    XA1,
    XA2,
    XD1,
    XD2,
    XI,
    XI1,
    XI2,
)
from .spectral import spectral_forward


@routine
def gather(t, q, v, a, cols):
    """Copy q, v, a into column space."""
    for k in range(t.col_v.shape[0]):
        i = t.col_v[k]
        j = t.col_q[k]
        cols[0, k] = q[j] if j >= 0 else 0.0 * q[0]
        cols[1, k] = v[i]
        cols[2, k] = a[i]


@routine
def strains(phi, first, ranges, data, cols, col0, state):
    """Strain and its two rates at both Magnus nodes of a rod step, into state[XI:XI+36].

    Order: ξ₁ ξ₂ ξ̇₁ ξ̇₂ ξ̈₁ ξ̈₂, each (6,).
    """
    zero = 0.0 * cols[0, 0]
    for c in range(6):
        x1 = data[D_XI1 + c] + zero
        x2 = data[D_XI2 + c] + zero
        y1 = zero
        y2 = zero
        z1 = zero
        z2 = zero
        for k in range(ranges[RANGE + c], ranges[RANGE + c + 1]):
            f1 = phi[0, first + k]
            f2 = phi[1, first + k]
            x1 += f1 * cols[0, col0 + k]
            x2 += f2 * cols[0, col0 + k]
            y1 += f1 * cols[1, col0 + k]
            y2 += f2 * cols[1, col0 + k]
            z1 += f1 * cols[2, col0 + k]
            z2 += f2 * cols[2, col0 + k]
        state[XI + c] = x1
        state[XI + 6 + c] = x2
        state[XI + 12 + c] = y1
        state[XI + 18 + c] = y2
        state[XI + 24 + c] = z1
        state[XI + 30 + c] = z2


@routine
def strain(phi, first, ranges, data, x, col0, state):
    """Strain alone at both Magnus nodes of a rod step, into state[XI:XI+12]."""
    for c in range(6):
        x1 = data[D_XI1 + c] + 0.0 * x[0]
        x2 = data[D_XI2 + c] + 0.0 * x[0]
        for k in range(ranges[RANGE + c], ranges[RANGE + c + 1]):
            x1 += phi[0, first + k] * x[col0 + k]
            x2 += phi[1, first + k] * x[col0 + k]
        state[XI1 + c] = x1
        state[XI2 + c] = x2


@inline
def magnus_vector(x1, x2, h, c):
    """Ω of a rod step from the strains at its nodes."""
    return daxpy(c, dcross(x1, x2), dscale(0.5 * h, dadd(x1, x2)))


@inline
def magnus(state, h, c):
    """Ω, Ω̇ = Zq̇, Zq̈ and Żq̇ of a rod step from its nodal strains."""
    x1 = get6(state, XI1)
    x2 = get6(state, XI2)
    y1 = get6(state, XD1)
    y2 = get6(state, XD2)
    z1 = get6(state, XA1)
    z2 = get6(state, XA2)
    omega = magnus_vector(x1, x2, h, c)
    rate = daxpy(c, dadd(dcross(y1, x2), dcross(x1, y2)), dscale(0.5 * h, dadd(y1, y2)))
    accel = daxpy(c, dadd(dcross(z1, x2), dcross(x1, z2)), dscale(0.5 * h, dadd(z1, z2)))
    return omega, rate, accel, dscale(2.0 * c, dcross(y1, y2))


@routine
def rod_step(state, h, c, R, p, V, A):
    """One rod step from start pose (R, p), twist V and acceleration A; stores the end in `state`."""
    omega, rate, accel, extra = magnus(state, h, c)
    ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
    put6(state, OM, omega)
    state[CO] = ca[0]
    state[CO + 1] = ca[1]
    state[CO + 2] = cb[0]
    state[CO + 3] = cb[1]
    u = rotate(R, p, tangent_apply(omega, ca, cb, rate))
    acc = dadd(tangent_apply(omega, ca, cb, dadd(accel, extra)), tangent_rate_apply(omega, rate, cb, a1, b1))
    acc = dadd(rotate(R, p, acc), dcross(V, u))
    Re, pe = exp_se3(omega, ca, cb)
    return mm(R, Re), vadd(p, mv(R, pe)), dadd(V, u), dadd(A, acc)


@routine
def screw_step(axis, x, xd, xdd, R, p, V, A):
    """One screw joint: revolute, prismatic or helical."""
    omega = dscale(x, axis)
    ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(omega)
    Re, pe = exp_se3(omega, ca, cb)
    s = rotate(R, p, axis)
    acc = daxpy(xd, dcross(V, s), dscale(xdd, s))
    return mm(R, Re), vadd(p, mv(R, pe)), daxpy(xd, s, V), dadd(A, acc)


@routine
def manifold_step(kind, q, o, cols, col0, R, p, V, A):
    """A spherical (kind BALL) or free joint, coordinates on SO(3) or SE(3)."""
    Rn = mm(R, quaternion_matrix(q, o))
    w = get3(cols[1], col0)
    dw = get3(cols[2], col0)
    v = vscale(0.0, w)
    dv = v
    pn = p
    if kind == FREE:
        v = get3(cols[1], col0 + 3)
        dv = get3(cols[2], col0 + 3)
        pn = vadd(p, mv(R, get3(q, o + 4)))
    u = rotate(Rn, pn, (w, v))
    return Rn, pn, dadd(V, u), dadd(A, dadd(rotate(Rn, pn, (dw, dv)), dcross(V, u)))


@routine
def set_world(t, q, work):
    """Fill the last row of the state, the world seen from the moving origin."""
    b = 0
    for k in range(t.block.shape[0] - 1, -1, -1):  # the first free root, or the first block
        if t.block[k, PSTEP] < 0 and t.block[k, KIND] == FREE:
            b = k
    R = get9(t.place[b], PLACE_R)
    out = work.origin
    put3(out, 0, get3(t.place[b], PLACE_P))
    if t.block[b, KIND] == FREE:
        o = t.block[b, QPOS]
        for i in range(3):
            out[i] += R[3 * i] * q[o + 4].real + R[3 * i + 1] * q[o + 5].real + R[3 * i + 2] * q[o + 6].real
    row = work.state[-1]
    row[:] = 0.0
    row[RE] = 1.0
    row[RE + 4] = 1.0
    row[RE + 8] = 1.0
    for i in range(3):
        row[PE + i] = -out[i]
        row[AE + 3 + i] = -work.gravity[i]


@routine
def moved(R, p, omega):
    """The pose (R, p) after exp(Ω)."""
    ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(omega)
    Re, pe = exp_se3(omega, ca, cb)
    return mm(R, Re), vadd(p, mv(R, pe))


@routine
def place_steps(t, q, blocks, work):
    """Fill the ends of `work.state` with poses alone, for the steps of the first blocks; not for spectral rods."""
    cols = work.cols
    for k in range(t.col_q.shape[0]):
        cols[0, k] = q[t.col_q[k]] if t.col_q[k] >= 0 else 0.0 * q[0]
    set_world(t, q, work)
    for b in range(blocks):
        block = t.block[b]
        parent = work.state[block[PSTEP]]
        Rp = get9(parent, RE)
        R = mm(Rp, get9(t.place[b], PLACE_R))
        p = vadd(get3(parent, PE), mv(Rp, get3(t.place[b], PLACE_P)))
        kind = block[KIND]
        for i in range(block[STEP0], block[STEP0] + block[STEPS]):
            row = work.state[i]
            data = t.data[i]
            if kind == ROD:
                strain(t.phi, t.step[i, S_PHI], block, data, cols[0], block[COL0], row)
                R, p = moved(R, p, magnus_vector(get6(row, XI1), get6(row, XI2), data[D_H], data[D_C]))
            elif kind == SCREW:
                R, p = moved(R, p, dscale(cols[0, block[COL0]], get6(data, D_AXIS)))
            else:
                if kind == FREE:
                    p = vadd(p, mv(R, get3(q, block[QPOS] + 4)))
                R = mm(R, quaternion_matrix(q, block[QPOS]))
            put9(row, RE, R)
            put3(row, PE, p)


@routine
def forward(t, q, v, a, work):
    """Fill `work.state` for all steps: start and end pose, twist, acceleration (gravity included as −g)."""
    cols = work.cols
    gather(t, q, v, a, cols)
    set_world(t, q, work)
    for b in range(t.block.shape[0]):
        block = t.block[b]
        parent = work.state[block[PSTEP]]
        Rp = get9(parent, RE)
        R = mm(Rp, get9(t.place[b], PLACE_R))
        p = vadd(get3(parent, PE), mv(Rp, get3(t.place[b], PLACE_P)))
        V = get6(parent, VE)
        A = get6(parent, AE)
        kind = block[KIND]
        col0 = block[COL0]
        first = block[STEP0]
        if block[COLLOC] >= 0:
            for i in range(first, first + block[STEPS]):
                strains(t.phi, t.step[i, S_PHI], block, t.data[i], cols, col0, work.state[i])
            spectral_forward(block, t.colloc, work.state, work.nodes, work.turn, R, p, V, A)
            continue
        for i in range(first, first + block[STEPS]):
            row = work.state[i]
            put9(row, RS, R)
            put3(row, PS, p)
            if kind == ROD:
                data = t.data[i]
                strains(t.phi, t.step[i, S_PHI], block, data, cols, col0, row)
                R, p, V, A = rod_step(row, data[D_H], data[D_C], R, p, V, A)
            elif kind == SCREW:
                axis = get6(t.data[i], D_AXIS)
                R, p, V, A = screw_step(axis, cols[0, col0], cols[1, col0], cols[2, col0], R, p, V, A)
            else:
                R, p, V, A = manifold_step(kind, q, block[QPOS], cols, col0, R, p, V, A)
            put9(row, RE, R)
            put3(row, PE, p)
            put6(row, VE, V)
            put6(row, AE, A)
