"""Steps backwards where only poses and twists are owed something: values and rates of constraints.

With Ā = Ȳ = 0 the equations of `steps` are ``ū = V̄ₚ = V̄`` and ``ḡₚ = ḡ + u×V̄``, a third of the work.
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
    rotate_back,
    sadd,
    sdot,
    sdxpy,
    smul,
    sscale,
    swap,
)
from ..algebra.exponential import tangent_apply, tangent_coefficients
from ..layout import (
    COL0,
    COLLOC,
    COLS,
    D_AXIS,
    D_C,
    D_H,
    D_ROW,
    D_XI1,
    D_XI2,
    G_POSE,
    G_V,
    K_ROW,
    KIND,
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
    XD1,
    XD2,
    XI1,
    XI2,
)
from ..loads.owing import owe_offset
from .steps import block_reverse
from .strains import components


@inline
def rate_pullback(x, rate, g, f):
    """What the displacement T δΩ and TΩ̇ of a step with Ω = x owe Ω and Ω̇; see `pullback.tangent_pullback`."""
    a, b, a1, b1, _a2, _b2 = tangent_coefficients(x)
    back = dscale(-1.0, x)
    o, o1 = tangent_apply(back, a, b, g), tangent_apply(back, a, b, f)
    n, pair = dcross(rate, f), sdot(rate, f)
    xf, xy, s = sdot(x, f), sdot(x, rate), sdot(x, x)
    k = sadd(smul(xf, xy), sscale(-1.0, smul(s, pair)))
    total = sadd(smul(a1, sdot(x, n)), sadd(smul(b1, k), sscale(-1.0, smul(b, pair))))
    mixed = sdxpy(xf, rate, dscale(0.0, f))
    mixed = sdxpy(xy, f, mixed)
    return sdxpy(a, n, sdxpy(b, mixed, sdxpy(sscale(2.0, total), x, o))), o1


@routine
def rod_of_rows(t, work, block, i, gp, gv, gain):
    """A rod step: what is owed to its strains and its numbers."""
    row, data, slope = work.state[i], t.data[i], gain.data[i]
    R, p = get9(row, RS), get3(row, PS)
    half, c = 0.5 * data[D_H], data[D_C]
    x1, x2, y1, y2 = get6(row, XI1), get6(row, XI2), get6(row, XD1), get6(row, XD2)
    rate = daxpy(c, dadd(dcross(y1, x2), dcross(x1, y2)), dscale(half, dadd(y1, y2)))
    o, o1 = rate_pullback(get6(row, OM), rate, rotate_back(R, p, gp), rotate_back(R, p, gv))
    slope[D_H] += 0.5 * (dual_dot(dadd(x1, x2), o) + dual_dot(dadd(y1, y2), o1))
    ax, ay, bx, by = dcross(x2, o), dcross(x2, o1), dcross(o, x1), dcross(o1, x1)
    slope[D_C] += dual_dot(x1, ax) + dual_dot(y1, ay) + dual_dot(y2, by)
    mean, mean1 = dscale(half, o), dscale(half, o1)
    x1, x2 = daxpy(c, dadd(ax, dcross(y2, o1)), mean), daxpy(c, dadd(bx, dcross(o1, y1)), mean)
    add6(slope, D_XI1, swap(x1))
    add6(slope, D_XI2, swap(x2))
    spread_rows(t, work, block, i, x1, x2, daxpy(c, ay, mean1), daxpy(c, by, mean1), gain)


@routine
def spread_rows(t, work, block, i, x1, x2, y1, y2, gain):
    """What the strains at both nodes, and their rates, are owed: products with Φᵀ, and derivatives by Φ."""
    o, col0 = t.step[i, S_PHI], block[COL0]
    phi1, phi2, slope1, slope2 = t.phi[0], t.phi[1], gain.phi[0], gain.phi[1]
    gx, hx, gy, hy = components(x1), components(x2), components(y1), components(y2)
    q, v, K, D = work.cols[0], work.cols[1], work.products[K_ROW], work.products[D_ROW]
    for c in range(6):
        for k in range(block[RANGE + c], block[RANGE + c + 1]):
            n = col0 + k
            j, f1, f2 = t.col_v[n], phi1[o + k], phi2[o + k]
            K[j] += f1 * gx[c] + f2 * hx[c]
            D[j] += f1 * gy[c] + f2 * hy[c]
            slope1[o + k] += gx[c] * q[n] + gy[c] * v[n]
            slope2[o + k] += hx[c] * q[n] + hy[c] * v[n]


@routine
def screw_of_rows(t, work, block, i, gp, gv, gain):
    """A screw joint: what is owed to its coordinate and to its axis."""
    row = work.state[i]
    R, p, axis = get9(row, RS), get3(row, PS), get6(t.data[i], D_AXIS)
    g, fw = rotate_back(R, p, gp), rotate_back(R, p, gv)
    k = block[COL0]
    j = t.col_v[k]
    work.products[K_ROW, j] += dual_dot(axis, g)
    work.products[D_ROW, j] += dual_dot(axis, fw)
    x, xd = work.cols[0, k], work.cols[1, k]
    ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(dscale(x, axis))
    owed = dscale(x, tangent_apply(dscale(-x, axis), ca, cb, g))
    add6(gain.data[i], D_AXIS, swap(daxpy(xd, fw, owed)))


@routine
def manifold_of_rows(t, work, block, i, gp, gv):
    """A spherical or free joint, whose velocities are those of its end frame."""
    row = work.state[i]
    R, p = get9(row, RE), get3(row, PE)
    gx, gy = components(rotate_back(R, p, gp)), components(rotate_back(R, p, gv))
    for k in range(block[COLS]):
        j = t.col_v[block[COL0] + k]
        work.products[K_ROW, j] += gx[k]
        work.products[D_ROW, j] += gy[k]


@routine
def block_of_rows(t, work, b, gain):
    """All steps of a block, then its place, as `steps.block_reverse`; nothing may be owed to accelerations and virtual twists."""
    block = t.block[b]
    if block[COLLOC] >= 0:
        block_reverse(t, work, b, gain)
        return
    kind, first, parent = block[KIND], block[STEP0], block[PSTEP]
    zero = dscale(0.0, get6(work.state[first], VE))
    gp, gv = zero, zero
    for i in range(first + block[STEPS] - 1, first - 1, -1):
        own = work.reverse[i]
        gp, gv = dadd(gp, get6(own, G_POSE)), dadd(gv, get6(own, G_V))
        u = dsub(get6(work.state[i], VE), get6(work.state[i - 1 if i > first else parent], VE))
        below = dadd(gp, dcross(u, gv))
        if kind == ROD:
            rod_of_rows(t, work, block, i, gp, gv, gain)
        elif kind == SCREW:
            screw_of_rows(t, work, block, i, gp, gv, gain)
        else:
            manifold_of_rows(t, work, block, i, below, gv)
        gp = below
    x = get3(work.state[first], PS)
    owe_offset(work, parent, x, gp, t.place[b], PLACE_R, PLACE_P, gain.place[b])
    own = work.reverse[parent]
    add6(own, G_POSE, gp)
    add6(own, G_V, gv)
