"""A step backwards: from what its end owes pose, twist, acceleration and virtual twist to what its start owes them.

With g the start pose, u = Ad w, û = Ad ŵ and α the local twist, virtual twist and acceleration of a step,
``V = Vₚ + u``, ``A = Aₚ + Ad α + Vₚ×u``, ``Ŷ = Ŷₚ + û``. The transpose, with wrenches in dual form that are owed (¯):

``ū = V̄ + Ā×Vₚ``  ``V̄ₚ = V̄ + u×Ā``  ``Āₚ = Ā``  ``Ȳₚ = Ȳ``  ``ḡₚ = ḡ + u×ū + (Ad α)×Ā + û×Ȳ``
"""

from ..._jit import inline, routine
from ..algebra.dual import (
    dadd,
    daxpy,
    dcross,
    dscale,
    dsub,
    get3,
    get6,
    get9,
    mm,
    mtv,
    put6,
    rotate,
    rotate_back,
    skew_diag,
    swap,
    vcross,
    vsub,
)
from ..algebra.exponential import tangent_apply, tangent_coefficients
from ..algebra.pullback import tangent_pullback
from ..layout import (
    AE,
    CO,
    COL0,
    COLS,
    D_AXIS,
    D_C,
    D_H,
    D_ROW,
    D_XI1,
    D_XI2,
    G_A,
    G_POSE,
    G_V,
    G_Y,
    H_E1,
    H_E2,
    H_Y,
    K_ROW,
    KIND,
    M_ROW,
    OM,
    PE,
    PLACE_P,
    PLACE_R,
    PS,
    PSTEP,
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
    XI1,
    XI2,
    Y_ROW,
)
from ..recursion.dynamics import dual_dot
from ..recursion.forward import magnus
from .bodies import add3, add6


@routine
def virtual_strains(t, block, i, y, own):
    """Virtual strains Φ₁y, Φ₂y at the nodes of rod step i, into `own`."""
    o, col0 = t.step[i, S_PHI], block[COL0]
    for c in range(6):
        e1 = 0.0
        e2 = 0.0
        for k in range(block[RANGE + c], block[RANGE + c + 1]):
            x = y[t.col_v[col0 + k]]
            e1 += t.phi[0, o + k] * x
            e2 += t.phi[1, o + k] * x
        own[H_E1 + c] = e1
        own[H_E2 + c] = e2


@inline
def virtual_rate(row, own, h, c):
    """The virtual rate Ω̂ of a rod step."""
    e1, e2 = get6(own, H_E1), get6(own, H_E2)
    crossed = dadd(dcross(e1, get6(row, XI2)), dcross(get6(row, XI1), e2))
    return daxpy(c, crossed, dscale(0.5 * h, dadd(e1, e2)))


@inline
def joint_vector(y, block, t):
    """Velocities of a spherical or free joint as a twist."""
    col0 = block[COL0]
    w = (y[t.col_v[col0]], y[t.col_v[col0 + 1]], y[t.col_v[col0 + 2]])
    if block[COLS] == 6:
        return (w, (y[t.col_v[col0 + 3]], y[t.col_v[col0 + 4]], y[t.col_v[col0 + 5]]))
    return (w, (0.0, 0.0, 0.0))


@routine
def virtual_motion(t, work, y):
    """Virtual twists Ŷ = J y of all steps, into `work.reverse`; after `forward`. Not for spectral rods."""
    for b in range(t.block.shape[0]):
        block = t.block[b]
        kind = block[KIND]
        Y = get6(work.reverse[block[PSTEP]], H_Y)
        for i in range(block[STEP0], block[STEP0] + block[STEPS]):
            row, own = work.state[i], work.reverse[i]
            if kind == ROD:
                virtual_strains(t, block, i, y, own)
                rate = virtual_rate(row, own, t.data[i, D_H], t.data[i, D_C])
                w = tangent_apply(get6(row, OM), (row[CO], row[CO + 1]), (row[CO + 2], row[CO + 3]), rate)
                Y = dadd(Y, rotate(get9(row, RS), get3(row, PS), w))
            elif kind == SCREW:
                s = rotate(get9(row, RS), get3(row, PS), get6(t.data[i], D_AXIS))
                Y = daxpy(y[t.col_v[block[COL0]]], s, Y)
            else:
                Y = dadd(Y, rotate(get9(row, RE), get3(row, PE), joint_vector(y, block, t)))
            put6(own, H_Y, Y)


@inline
def components(x):
    """Six components in the order of strains, of a wrench in dual form."""
    f, m = x
    return (m[0], m[1], m[2], f[0], f[1], f[2])


@routine
def spread(t, work, block, i, node, x, y, z, e, gain):
    """What a node's strain, its two rates and its virtual strain are owed: products with Φᵀ, and derivatives by Φ."""
    o, col0 = t.step[i, S_PHI], block[COL0]
    phi, slope = t.phi[node], gain.phi[node]
    gx, gy, gz, ge = components(x), components(y), components(z), components(e)
    cols, products = work.cols, work.products
    for c in range(6):
        x0, y0, z0, e0 = gx[c], gy[c], gz[c], ge[c]
        for k in range(block[RANGE + c], block[RANGE + c + 1]):
            j, n = t.col_v[col0 + k], col0 + k
            f = phi[o + k]
            products[K_ROW, j] += f * x0
            products[D_ROW, j] += f * y0
            products[M_ROW, j] += f * z0
            slope[o + k] += x0 * cols[0, n] + y0 * cols[1, n] + z0 * cols[2, n] + e0 * products[Y_ROW, j]


@routine
def strain_reverse(t, work, block, i, o, o1, o2, oy, gain):
    """What Ω and its rates are owed, passed on to the strains at the two nodes by Magnus' formula, and to h and c."""
    row, own, data, slope = work.state[i], work.reverse[i], t.data[i], gain.data[i]
    half, c = 0.5 * data[D_H], data[D_C]
    x1, x2, y1, y2 = get6(row, XI1), get6(row, XI2), get6(row, XD1), get6(row, XD2)
    z1, z2, e1, e2 = get6(row, XA1), get6(row, XA2), get6(own, H_E1), get6(own, H_E2)
    slope[D_H] += 0.5 * (dual_dot(dadd(x1, x2), o) + dual_dot(dadd(y1, y2), o1))
    slope[D_H] += 0.5 * (dual_dot(dadd(z1, z2), o2) + dual_dot(dadd(e1, e2), oy))
    # of cξ₁×ξ₂ and its rates, what is owed to the first and to the second factor
    ax, ay, az, ae = dcross(x2, o), dcross(x2, o1), dcross(x2, o2), dcross(x2, oy)
    bx, by, bz, be = dcross(o, x1), dcross(o1, x1), dcross(o2, x1), dcross(oy, x1)
    yz = dcross(y2, o2)
    slope[D_C] += dual_dot(x1, ax) + dual_dot(y1, daxpy(2.0, yz, ay)) + dual_dot(z1, az) + dual_dot(e1, ae)
    slope[D_C] += dual_dot(y2, by) + dual_dot(z2, bz) + dual_dot(e2, be)
    ax = dadd(dadd(ax, dcross(y2, o1)), dadd(dcross(z2, o2), dcross(e2, oy)))
    bx = dadd(dadd(bx, dcross(o1, y1)), dadd(dcross(o2, z1), dcross(oy, e1)))
    ay, by = daxpy(2.0, yz, ay), daxpy(2.0, dcross(o2, y1), by)
    mean, mean1, mean2, mean3 = dscale(half, o), dscale(half, o1), dscale(half, o2), dscale(half, oy)
    x1, x2 = daxpy(c, ax, mean), daxpy(c, bx, mean)
    add6(slope, D_XI1, swap(x1))
    add6(slope, D_XI2, swap(x2))
    spread(t, work, block, i, 0, x1, daxpy(c, ay, mean1), daxpy(c, az, mean2), daxpy(c, ae, mean3), gain)
    spread(t, work, block, i, 1, x2, daxpy(c, by, mean1), daxpy(c, bz, mean2), daxpy(c, be, mean3), gain)


@routine
def rod_reverse(t, work, block, i, gp, fu, ga, gy, gain):
    """A rod step: gp, fu, ga, gy are ḡ, ū, Ā, Ȳ; what is owed to its strains and its numbers."""
    row, data = work.state[i], t.data[i]
    R, p = get9(row, RS), get3(row, PS)
    omega, rate, accel, extra = magnus(row, data[D_H], data[D_C])
    virtual = virtual_rate(row, work.reverse[i], data[D_H], data[D_C])
    g, fw, fa, fy = rotate_back(R, p, gp), rotate_back(R, p, fu), rotate_back(R, p, ga), rotate_back(R, p, gy)
    o, o1, o2, oy = tangent_pullback(omega, rate, dadd(accel, extra), virtual, g, fw, fa, fy)
    strain_reverse(t, work, block, i, o, o1, o2, oy, gain)


@routine
def screw_reverse(t, work, block, i, gp, fu, ga, gy, gain):
    """A screw joint: what is owed to its coordinate and to its axis."""
    row = work.state[i]
    R, p, axis = get9(row, RS), get3(row, PS), get6(t.data[i], D_AXIS)
    g, fw, fa, fy = rotate_back(R, p, gp), rotate_back(R, p, fu), rotate_back(R, p, ga), rotate_back(R, p, gy)
    k = block[COL0]
    j = t.col_v[k]
    work.products[K_ROW, j] += dual_dot(axis, g)
    work.products[D_ROW, j] += dual_dot(axis, fw)
    work.products[M_ROW, j] += dual_dot(axis, fa)
    x, xd, xdd, y = work.cols[0, k], work.cols[1, k], work.cols[2, k], work.products[Y_ROW, j]
    ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(dscale(x, axis))
    owed = dscale(x, tangent_apply(dscale(-x, axis), ca, cb, g))
    add6(gain.data[i], D_AXIS, swap(daxpy(xd, fw, daxpy(xdd, fa, daxpy(y, fy, owed)))))


@routine
def manifold_reverse(t, work, block, i, gp, fu, ga):
    """A spherical or free joint, whose velocities are those of its end frame."""
    row = work.state[i]
    R, p = get9(row, RE), get3(row, PE)
    gx, gv = components(rotate_back(R, p, gp)), components(rotate_back(R, p, fu))
    gz = components(rotate_back(R, p, ga))
    for k in range(block[COLS]):
        j = t.col_v[block[COL0] + k]
        work.products[K_ROW, j] += gx[k]
        work.products[D_ROW, j] += gv[k]
        work.products[M_ROW, j] += gz[k]


@routine
def place_reverse(parent, row, place, gp, slope):
    """What is owed to the place of a block in its parent's frame.

    A rotation gets the matrix G = ½ τ̂R, for which Σ G dR = τ·δ if dR = δ̂R.
    """
    Rp = get9(parent, RE)
    f, m = gp
    add3(slope, PLACE_P, mtv(Rp, f))
    torque = mtv(Rp, vsub(m, vcross(get3(row, PS), f)))
    G = mm(skew_diag(torque, 0.0), get9(place, PLACE_R))
    for k in range(9):
        slope[PLACE_R + k] += 0.5 * G[k]


@routine
def block_reverse(t, work, b, gain):
    """All steps of a block, then its place; adds what its start owes to the row of its parent."""
    block = t.block[b]
    kind, first, parent = block[KIND], block[STEP0], block[PSTEP]
    last = first + block[STEPS] - 1
    own = work.reverse[last]
    gp, gv, ga, gy = get6(own, G_POSE), get6(own, G_V), get6(own, G_A), get6(own, G_Y)
    for i in range(last, first - 1, -1):
        if i < last:
            own = work.reverse[i]
            gp, gv = dadd(gp, get6(own, G_POSE)), dadd(gv, get6(own, G_V))
            ga, gy = dadd(ga, get6(own, G_A)), dadd(gy, get6(own, G_Y))
        before = i - 1 if i > first else parent
        row, start = work.state[i], work.state[before]
        V = get6(start, VE)
        u = dsub(get6(row, VE), V)
        acc = dsub(dsub(get6(row, AE), get6(start, AE)), dcross(V, u))
        uy = dsub(get6(own, H_Y), get6(work.reverse[before], H_Y))
        fu = dadd(gv, dcross(ga, V))
        below = dadd(gp, dadd(dadd(dcross(u, fu), dcross(acc, ga)), dcross(uy, gy)))
        if kind == ROD:
            rod_reverse(t, work, block, i, gp, fu, ga, gy, gain)
        elif kind == SCREW:
            screw_reverse(t, work, block, i, gp, fu, ga, gy, gain)
        else:
            manifold_reverse(t, work, block, i, below, fu, ga)
        gp, gv = below, dadd(gv, dcross(u, ga))
    place_reverse(work.state[parent], work.state[first], t.place[b], gp, gain.place[b])
    own = work.reverse[parent]
    add6(own, G_POSE, gp)
    add6(own, G_V, gv)
    add6(own, G_A, ga)
    add6(own, G_Y, gy)
