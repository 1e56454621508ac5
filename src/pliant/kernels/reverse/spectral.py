"""A block of a spectral rod backwards (MATH §6, see `recursion.spectral`): the transpose of its sums over nodes.

Node values are ``x_k = x₀ + Σ_j W_kj f_j``; what they owe is summed with Wᵀ into what the integrands f_j owe. Accelerations
come first, then twists and virtual twists, positions, and last the quaternions, whose equations are solved transposed.
"""

from ..._jit import inline, routine
from ..algebra.dual import (
    add6,
    dadd,
    daxpy,
    dcross,
    dscale,
    dual_dot,
    get3,
    get6,
    get9,
    mtv,
    mv,
    put3,
    put6,
    rotate,
    rotate_back,
    swap,
    vadd,
    vaxpy,
    vcross,
    vdot,
    vscale,
    vsub,
)
from ..algebra.manifold import get4, quaternion_product
from ..layout import (
    COLLOC,
    D_XI1,
    G_A,
    G_POSE,
    G_V,
    G_Y,
    H_E1,
    H_E2,
    H_Y,
    OM,
    PE,
    PS,
    RE,
    STEP0,
    STEPS,
    VE,
    XA1,
    XD1,
    XI1,
)
from ..recursion.products import ZERO
from ..recursion.spectral import eliminate_quaternions, get_quaternion
from .strains import spread, virtual_strains

NOTHING = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@inline
def moved(row, x):
    """Ad x at a node."""
    return rotate(get9(row, RE), get3(row, PE), x)


@routine
def spectral_virtual(t, work, block, y, Y0):
    """Virtual twists of all nodes; Y0 is that of the start."""
    first, n, o, W = block[STEP0], block[STEPS], block[COLLOC], t.colloc
    for k in range(n):
        put6(work.reverse[first + k], H_Y, Y0)
    for j in range(n):
        own = work.reverse[first + j]
        virtual_strains(t, block, first + j, y, own)
        e = moved(work.state[first + j], get6(own, H_E1))
        for k in range(n):
            below = work.reverse[first + k]
            put6(below, H_Y, daxpy(W[o + k * n + j], e, get6(below, H_Y)))


@inline
def owed(W, o, n, j, reverse, first, column):
    """Σ_k W_kj x_k of dual vectors in `reverse`."""
    total = dscale(W[o + j], get6(reverse[first], column))
    for k in range(1, n):
        total = daxpy(W[o + k * n + j], get6(reverse[first + k], column), total)
    return total


@routine
def rates_reverse(t, work, block, gain):
    """Accelerations, twists and virtual twists: what they owe poses, strain rates and virtual strains."""
    first, n, o, W, reverse = block[STEP0], block[STEPS], block[COLLOC], t.colloc, work.reverse
    for j in range(n):
        row, own = work.state[first + j], reverse[first + j]
        fa = owed(W, o, n, j, reverse, first, G_A)
        put6(own, H_E2, fa)
        add6(own, G_POSE, dcross(moved(row, get6(row, XA1)), fa))
    for j in range(n):  # after all sums of G_A, before those of G_V
        row, own = work.state[first + j], reverse[first + j]
        add6(own, G_V, dcross(moved(row, get6(row, XD1)), get6(own, H_E2)))
    for j in range(n):
        row, own = work.state[first + j], reverse[first + j]
        fa = get6(own, H_E2)
        fv = dadd(owed(W, o, n, j, reverse, first, G_V), dcross(fa, get6(row, VE)))
        fy = owed(W, o, n, j, reverse, first, G_Y)
        R, p = get9(row, RE), get3(row, PE)
        add6(own, G_POSE, dcross(moved(row, get6(row, XD1)), fv))
        add6(own, G_POSE, dcross(moved(row, get6(own, H_E1)), fy))
        y, z, e = rotate_back(R, p, fv), rotate_back(R, p, fa), rotate_back(R, p, fy)
        spread(t, work, block, first + j, ZERO, NOTHING, y, z, e, gain)


@routine
def poses_reverse(t, work, block):
    """Positions, then rotations: what is owed to the linear strain into H_E2, multipliers of quaternions into `turn`.

    Returns what the start's position and rotation are owed.
    """
    first, n, o, W, turn = block[STEP0], block[STEPS], block[COLLOC], t.colloc, work.turn
    width = n + 1
    force, torque = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for j in range(n):
        row, own = work.state[first + j], work.reverse[first + j]
        R, (f, m) = get9(row, RE), get6(own, G_POSE)
        sum_f = vscale(W[o + j], get3(work.reverse[first], G_POSE))
        for k in range(1, n):
            sum_f = vaxpy(W[o + k * n + j], get3(work.reverse[first + k], G_POSE), sum_f)
        put3(own, H_E2, mtv(R, sum_f))
        moment = vadd(vsub(m, vcross(get3(row, PE), f)), vcross(mv(R, get3(row, XI1 + 3)), sum_f))
        force, torque = vadd(force, f), vadd(torque, moment)
        # δθ = 2 R Im(Q̄ δQ) / |Q|²
        Q, b = get4(row, OM), mtv(R, moment)
        size = Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]
        x = quaternion_product(Q, (0.0, b[0], b[1], b[2]))
        # λ_j + ½ Σ W_kj λ_k ⊗ κ_j = x_j, conjugated
        for k in range(n):
            w = -0.5 * W[o + k * n + j]
            turn[j, k] = 1.0 if j == k else 0.0
            for c in range(3):
                turn[j, (c + 1) * width + k] = w * row[XI1 + c]
        turn[j, n] = 2.0 / size * x[0]
        for c in range(3):
            turn[j, (c + 1) * width + n] = -2.0 / size * x[1 + c]
    eliminate_quaternions(turn, n)
    return force, torque


@routine
def strains_reverse(t, work, block, gain):
    """What strains and the weights W are owed; after the others."""
    first, n, o, W, reverse = block[STEP0], block[STEPS], block[COLLOC], t.colloc, work.reverse
    width = n + 1
    for j in range(n):
        if W[o + (n - 1) * n + j] == 0.0:  # not a Chebyshev point
            continue
        row, own = work.state[first + j], reverse[first + j]
        Q, kappa = get4(row, OM), get3(row, XI1)
        u, e = moved(row, get6(row, XD1)), moved(row, get6(own, H_E1))
        acc = dadd(moved(row, get6(row, XA1)), dcross(get6(row, VE), u))
        s = mv(get9(row, RE), get3(row, XI1 + 3))
        turned = quaternion_product(Q, (0.0, kappa[0], kappa[1], kappa[2]))
        x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            w, below = W[o + k * n + j], reverse[first + k]
            m = get_quaternion(work.turn[k], n, width)  # conjugate of λ
            x0, x1, x2, x3 = x0 + w * m[0], x1 - w * m[1], x2 - w * m[2], x3 - w * m[3]
            d = dual_dot(acc, get6(below, G_A)) + dual_dot(u, get6(below, G_V)) + dual_dot(e, get6(below, G_Y))
            d += vdot(s, get3(below, G_POSE))
            d += 0.5 * (turned[0] * m[0] - turned[1] * m[1] - turned[2] * m[2] - turned[3] * m[3])
            gain.colloc[o + k * n + j] += d
        bend = quaternion_product((Q[0], -Q[1], -Q[2], -Q[3]), (x0, x1, x2, x3))
        x = (get3(own, H_E2), (0.5 * bend[1], 0.5 * bend[2], 0.5 * bend[3]))
        add6(gain.data[first + j], D_XI1, swap(x))
        spread(t, work, block, first + j, ZERO, x, NOTHING, NOTHING, NOTHING, gain)


@routine
def spectral_reverse(t, work, block, gain):
    """All nodes of a block; returns what its start owes pose, twist, acceleration and virtual twist."""
    first = block[STEP0]
    rates_reverse(t, work, block, gain)
    force, torque = poses_reverse(t, work, block)
    strains_reverse(t, work, block, gain)
    gp = (force, vadd(torque, vcross(get3(work.state[first], PS), force)))
    own = work.reverse[first]
    gv, ga, gy = get6(own, G_V), get6(own, G_A), get6(own, G_Y)
    for i in range(first + 1, first + block[STEPS]):
        own = work.reverse[i]
        gv, ga, gy = dadd(gv, get6(own, G_V)), dadd(ga, get6(own, G_A)), dadd(gy, get6(own, G_Y))
    return gp, gv, ga, gy
