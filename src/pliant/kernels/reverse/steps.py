"""A step backwards: from what its end owes pose, twist, acceleration and virtual twist to what its start owes them.

With g the start pose, u = Ad w, û = Ad ŵ and α the local twist, virtual twist and acceleration of a step,
``V = Vₚ + u``, ``A = Aₚ + Ad α + Vₚ×u``, ``Ŷ = Ŷₚ + û``. The transpose, with wrenches in dual form that are owed (¯):

``ū = V̄ + Ā×Vₚ``  ``V̄ₚ = V̄ + u×Ā``  ``Āₚ = Ā``  ``Ȳₚ = Ȳ``  ``ḡₚ = ḡ + u×ū + (Ad α)×Ā + û×Ȳ``
"""

from ..._jit import inline, routine
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
    put6,
    rotate,
    rotate_back,
    swap,
)
from ..algebra.exponential import tangent_apply, tangent_coefficients
from ..algebra.pullback import tangent_pullback
from ..layout import (
    AE,
    CO,
    COL0,
    COLLOC,
    COLS,
    D_AXIS,
    D_C,
    D_H,
    D_ROW,
    G_A,
    G_POSE,
    G_V,
    G_Y,
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
    RE,
    ROD,
    RS,
    SCREW,
    STEP0,
    STEPS,
    VE,
    Y_ROW,
)
from ..loads.owing import owe_offset
from ..recursion.forward import magnus
from .spectral import spectral_reverse, spectral_virtual
from .strains import components, strain_reverse, virtual_rate, virtual_strains


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
    """Virtual twists Ŷ = J y of all steps, into `work.reverse`; after `forward`."""
    for b in range(t.block.shape[0]):
        block = t.block[b]
        kind = block[KIND]
        Y = get6(work.reverse[block[PSTEP]], H_Y)
        if block[COLLOC] >= 0:
            spectral_virtual(t, work, block, y, Y)
            continue
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
def steps_reverse(t, work, block, gain):
    """All steps of a block one after another; returns what its start owes pose, twist, acceleration and virtual twist."""
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
    return gp, gv, ga, gy


@routine
def block_reverse(t, work, b, gain):
    """All steps of a block, then its place; adds what its start owes to the row of its parent."""
    block = t.block[b]
    if block[COLLOC] >= 0:
        gp, gv, ga, gy = spectral_reverse(t, work, block, gain)
    else:
        gp, gv, ga, gy = steps_reverse(t, work, block, gain)
    parent = block[PSTEP]
    x = get3(work.state[block[STEP0]], PS)
    owe_offset(work, parent, x, gp, t.place[b], PLACE_R, PLACE_P, gain.place[b])
    own = work.reverse[parent]
    add6(own, G_POSE, gp)
    add6(own, G_V, gv)
    add6(own, G_A, ga)
    add6(own, G_Y, gy)
