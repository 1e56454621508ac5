"""What the steps of a rod owe its strains at their nodes, and these the coordinates, the basis values and the steps' numbers."""

from ..._jit import inline, routine
from ..algebra.dual import add6, dadd, daxpy, dcross, dscale, dual_dot, get6, swap
from ..layout import (
    COL0,
    D_C,
    D_H,
    D_ROW,
    D_XI1,
    D_XI2,
    H_E1,
    H_E2,
    K_ROW,
    M_ROW,
    RANGE,
    S_PHI,
    XA1,
    XA2,
    XD1,
    XD2,
    XI1,
    XI2,
    Y_ROW,
)


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
def spread_both(t, work, block, i, first, second, gain):
    """The same for both nodes of a step at once."""
    o, col0 = t.step[i, S_PHI], block[COL0]
    phi1, phi2, slope1, slope2 = t.phi[0], t.phi[1], gain.phi[0], gain.phi[1]
    gx, gy, gz, ge = components(first[0]), components(first[1]), components(first[2]), components(first[3])
    hx, hy, hz, he = components(second[0]), components(second[1]), components(second[2]), components(second[3])
    q, v, a = work.cols[0], work.cols[1], work.cols[2]
    y, K, D, M = (work.products[Y_ROW], work.products[K_ROW], work.products[D_ROW], work.products[M_ROW])
    for c in range(6):
        x1, y1, z1, e1 = gx[c], gy[c], gz[c], ge[c]
        x2, y2, z2, e2 = hx[c], hy[c], hz[c], he[c]
        for k in range(block[RANGE + c], block[RANGE + c + 1]):
            n = col0 + k
            j, f1, f2 = t.col_v[n], phi1[o + k], phi2[o + k]
            K[j] += f1 * x1 + f2 * x2
            D[j] += f1 * y1 + f2 * y2
            M[j] += f1 * z1 + f2 * z2
            q0, v0, a0, y0 = q[n], v[n], a[n], y[j]
            slope1[o + k] += x1 * q0 + y1 * v0 + z1 * a0 + e1 * y0
            slope2[o + k] += x2 * q0 + y2 * v0 + z2 * a0 + e2 * y0


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
    first = (x1, daxpy(c, ay, mean1), daxpy(c, az, mean2), daxpy(c, ae, mean3))
    second = (x2, daxpy(c, by, mean1), daxpy(c, bz, mean2), daxpy(c, be, mean3))
    spread_both(t, work, block, i, first, second, gain)
