"""What tensions owe the numbers of tendons, strains and steps: φ = Σ T ℓ̂ with the virtual rate ℓ̂ of each length.

Along a rod ``ℓ̂ = Σ w n·(σ̂ + κ̂×d)``, of a straight stretch ``n·(v̂_a − v̂_b)``. The tension of an elastic tendon owes its length ``k ℓ̂``
and its rate ``c ℓ̂``, which has the same form as ℓ̂ with velocities for virtual ones. Friction is not known here.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import (
    add3,
    add6,
    dadd,
    get3,
    get6,
    get9,
    mtv,
    vadd,
    vaxpy,
    vcross,
    vdot,
    vscale,
    vsub,
)
from ..layout import D_ROW, G_POSE, G_V, H_Y, K_ROW, RE, VE
from ..loads.law import point_at, velocity_at
from ..loads.tendons import (
    L_TENDON,
    LAW_ELASTIC,
    LAW_INPUT,
    N0,
    N3,
    N_BEGIN,
    N_END,
    N_FIRST,
    N_PHI,
    N_Q,
    N_STOP,
    N_V,
    P_PLACE,
    P_SLOPE,
    P_WEIGHT,
    SEGMENT_A,
    SEGMENT_B,
    SEGMENT_TENDON,
    T_DAMP,
    T_FORCE,
    T_LENGTH,
    T_RATE,
    T_STIFF,
    V_DAMP,
    V_FACTOR,
    V_LENGTH,
    V_REST,
    V_STIFF,
    combine,
    direction,
    pulled,
    strain_at,
    strain_rate_at,
)


@inline
def components(x):
    """Six components in the order of strains, of (moment, force)."""
    return (x[0][0], x[0][1], x[0][2], x[1][0], x[1][1], x[1][2])


@inline
def bent(f, size, n, e):
    """What t owes f t̂·e: f (1 − t̂t̂ᵀ) e / |t|."""
    return vscale(f / size, vaxpy(-vdot(n, e), n, e))


@routine
def spread_node(node, phi, first, rate, virtual, q, v, y, gain, products):
    """What strain, strain rate and virtual strain of a node are owed: products with Φᵀ, and derivatives by Φ."""
    q0, v0 = node[N_Q], node[N_V]
    a, b, e = components(first), components(rate), components(virtual)
    for c in range(6):
        ac, bc, ec, o = a[c], b[c], e[c], node[N_PHI + c]
        for k in range(node[N_BEGIN + c], node[N_STOP + c]):
            products[K_ROW, v0 + k] += ac * phi[o + k]
            products[D_ROW, v0 + k] += bc * phi[o + k]
            gain[o + k] += ac * q[q0 + k] + bc * v[v0 + k] + ec * y[v0 + k]


@inline
def stretch_at(tendons, work, m):
    """A straight stretch: its ends in the world, unit vector and length, virtual velocity and velocity of the one relative to the other."""
    i, j = tendons.segment[m, SEGMENT_A], tendons.segment[m, SEGMENT_B]
    a, b = point_at(work.state[i], get3(tendons.span[m], N0)), point_at(work.state[j], get3(tendons.span[m], N3))
    (wi, vi), (wj, vj) = get6(work.reverse[i], H_Y), get6(work.reverse[j], H_Y)
    d = vsub(a, b)
    size = np.sqrt(vdot(d, d))
    virtual = vsub(vadd(vi, vcross(wi, a)), vadd(vj, vcross(wj, b)))
    rate = vsub(velocity_at(work.state[i], a), velocity_at(work.state[j], b))
    return a, b, vscale(1.0 / size, d), size, virtual, rate


@routine
def measure_virtual(tendons, work, q, y):
    """Virtual rates ℓ̂ of the lengths, into work.virtual and work.owed."""
    for k in range(tendons.law.shape[0]):
        work.virtual[k] = 0.0
    for m in range(tendons.node.shape[0]):
        node = tendons.node[m]
        xi, virtual = strain_at(tendons, m, q), combine(node, tendons.phi, y, node[N_V])
        for p in range(node[N_FIRST], node[N_END]):
            d, n, _size = direction(xi, tendons.data[p])
            along = vdot(n, vadd(virtual[1], vcross(virtual[0], d)))
            work.virtual[tendons.point[p, L_TENDON]] += tendons.data[p, P_WEIGHT] * along
    for m in range(tendons.segment.shape[0]):
        _a, _b, n, _size, virtual, _rate = stretch_at(tendons, work, m)
        k = tendons.segment[m, SEGMENT_TENDON]
        work.virtual[k] += tendons.value[k, V_FACTOR] * vdot(n, virtual)
    for k in range(tendons.law.shape[0]):
        work.owed[k, 2] = work.virtual[k]


@routine
def owes_length(work, k):
    """What is owed to the length of tendon k and to its rate: by its own tension, and by constraints."""
    row, owed, f = work.tension[k], work.owed[k], work.virtual[k]
    return row[T_STIFF] * f + owed[0], row[T_DAMP] * f + owed[1]


@routine
def elastic_reverse(tendons, work, u, gain):
    """Numbers of the laws of elastic tendons; slack ones have neither stiffness nor damping."""
    for k in range(tendons.law.shape[0]):
        row, value, own = work.tension[k], tendons.value[k], gain.value[k]
        if tendons.law[k, LAW_ELASTIC] == 1 and row[T_FORCE] != 0.0:
            f = work.virtual[k]
            own[V_STIFF] += f * (row[T_LENGTH] + u[tendons.law[k, LAW_INPUT]] - value[V_REST])
            own[V_DAMP] += f * row[T_RATE]
            own[V_REST] -= f * row[T_STIFF]
            own[V_LENGTH] += f * row[T_STIFF]
        own[V_LENGTH] += work.owed[k, 0]


@routine
def line_reverse(tendons, work, q, v, y, elastic, gain):
    """Stretches along rods."""
    for m in range(tendons.node.shape[0]):
        if not elastic and not pulled(tendons, work, m):
            continue
        node = tendons.node[m]
        xi, virtual = strain_at(tendons, m, q), combine(node, tendons.phi, y, node[N_V])
        zero = vscale(0.0, xi[0])
        first, second, third, rate = (zero, zero), (zero, zero), (zero, zero), (zero, zero)
        if elastic:
            rate = strain_rate_at(tendons, m, v)
        for p in range(node[N_FIRST], node[N_END]):
            k = tendons.point[p, L_TENDON]
            tension, weight = work.tension[k, T_FORCE] * work.factor[p], tendons.data[p, P_WEIGHT]
            by_length, by_rate = 0.0, 0.0
            if elastic:
                by_length, by_rate = owes_length(work, k)
            if tension == 0.0 and by_length == 0.0 and by_rate == 0.0:
                continue
            d, n, size = direction(xi, tendons.data[p])
            e = vadd(virtual[1], vcross(virtual[0], d))
            fn = vscale(tension * weight, n)
            z = bent(tension * weight, size, n, e)
            own = gain.data[p]
            own[P_WEIGHT] += tension * vdot(n, e)
            turn = vcross(fn, virtual[0])
            if elastic:
                e = vadd(rate[1], vcross(rate[0], d))
                rn = vscale(by_rate * weight, n)
                z = vadd(z, vaxpy(by_length * weight, n, bent(by_rate * weight, size, n, e)))
                own[P_WEIGHT] += by_length * size + by_rate * vdot(n, e)
                turn = vadd(turn, vcross(rn, rate[0]))
                third = dadd(third, (vcross(d, rn), rn))
            add3(own, P_PLACE, vadd(vcross(z, xi[0]), turn))
            add3(own, P_SLOPE, z)
            first = dadd(first, (vcross(d, z), z))
            second = dadd(second, (vcross(d, fn), fn))
        add6(gain.strain[m], N0, first)
        spread_node(node, tendons.phi, first, third, second, q, v, y, gain.phi, work.products)


@routine
def stretch_reverse(tendons, work, gain):
    """Straight stretches; their wrenches have been added to those of the steps."""
    for m in range(tendons.segment.shape[0]):
        k = tendons.segment[m, SEGMENT_TENDON]
        tension, factor = work.tension[k, T_FORCE], tendons.value[k, V_FACTOR]
        by_length, by_rate = owes_length(work, k)
        if tension == 0.0 and by_length == 0.0 and by_rate == 0.0:
            continue
        i, j = tendons.segment[m, SEGMENT_A], tendons.segment[m, SEGMENT_B]
        a, b, n, size, virtual, rate = stretch_at(tendons, work, m)
        gain.value[k, V_FACTOR] += tension * vdot(n, virtual) + by_length * size + by_rate * vdot(n, rate)
        fn, rn = vscale(tension * factor, n), vscale(by_rate * factor, n)
        z = vadd(bent(tension * factor, size, n, virtual), bent(by_rate * factor, size, n, rate))
        z = vaxpy(by_length * factor, n, z)
        for side in range(2):
            step, x, sign = (i, a, 1.0) if side == 0 else (j, b, -1.0)
            own, row = work.reverse[step], work.state[step]
            at = vadd(z, vadd(vcross(fn, get3(own, H_Y)), vcross(rn, get3(row, VE))))
            at, to = vscale(sign, at), vscale(sign, rn)
            add3(gain.span[m], 3 * side, mtv(get9(row, RE), at))
            add6(own, G_POSE, (at, vcross(x, at)))
            add6(own, G_V, (to, vcross(x, to)))


@routine
def tendon_reverse(tendons, work, q, v, u, y, elastic, gain):
    """All tendons, whose tensions are known; `elastic` if some may depend on the motion, leave their rods, or are constrained."""
    if elastic:
        measure_virtual(tendons, work, q, y)
        elastic_reverse(tendons, work, u, gain)
        stretch_reverse(tendons, work, gain)
    line_reverse(tendons, work, q, v, y, elastic, gain)
