"""Tendons along rods: generalised forces of tensions and their derivatives (MATH §4, [002] D60–D63).

Along a rod a tendon depends on the strain alone and needs no recursion: at a point with strain ξ = (κ, σ) and place d in
the section, ``t = σ + κ×d + d′`` is the derivative of its curve, |t| its length density, ``(d×t̂, t̂)`` its wrench, and
``(d×y, y)`` with ``y = (1 − t̂t̂ᵀ) δt / |t|`` the change of the wrench with the strain. All tendons of a rod are integrated at
common points as far as they can be, the *nodes*: the strain there is computed once, and wrenches and their derivatives are
summed before they are projected on coordinates. Pressure chambers and push rods are tendons with a negative weight.
Straight stretches between bodies, elasticity and friction are in `cables`.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import dadd, daxpy, get3, get6, put6, vadd, vaxpy, vcross, vdot, vscale
from ..layout import F1, F2, I2, Floats, Ints


class Tendons(NamedTuple):
    """Points and straight stretches of all tendons, as arrays; constant after compile."""

    node: I2  # (nodes, NODE_WIDTH) points of rods, see below
    strain: F2  # (nodes, 6) ξ*
    point: I2  # (points, 2) tendon and node; those of a node follow each other
    data: F2  # (points, 7) weight [m], d (3), d′ (3) per metre
    phi: F1  # (Σ,) basis values at each node of the coordinates that act there, in the order of strain components
    segment: I2  # (segments, 3) tendon and the steps of its two ends (−1: the world)
    span: F2  # (segments, 6) the two ends in the frames of their steps
    law: I2  # (tendons, 4) input, 1 if elastic, first and end of its rows in `wrap`
    value: F2  # (tendons, 7) k, c, ℓ₀, μ, speed at which friction turns (0: always pulls), constant part of the length, factor
    wrap: I2  # (wraps, WRAP_WIDTH) places where tendons with friction turn, in the order of their way: points of rods, and corners, see below
    bend: F2  # (wraps, 18) of a point ξ*′ (6) and d″ (3) per metre; of a corner two 3×3 matrices that turn directions into the frames of their steps
    slope: F1  # (Σ,) derivatives of phi, or nothing without friction
    turn: F2  # (wraps + segments, most wraps of a tendon) weights of the turning angle before a point or segment


# columns of `node`: first and end of its rows in `point`, first coordinate and velocity of its rod; for each strain component the first of
# the rod's coordinates that act at the node, the end of them, and what leads from a coordinate to its entry in `phi`
N_FIRST, N_END, N_Q, N_V, N_BEGIN, N_STOP, N_PHI = (np.int64(k) for k in (0, 1, 2, 3, 4, 10, 16))
NODE_WIDTH = 4 + 3 * 6
L_TENDON, L_NODE = (np.int64(k) for k in range(2))
# columns of `wrap`: the point, or −1 for a corner, of which the two directions follow: their kind, the straight stretch or the point whose direction they are,
# and the step that they turn with (fixed ones: their vector is the first column of the matrix)
WRAP_POINT, WRAP_IN, WRAP_OUT, WRAP_WIDTH = (np.int64(k) for k in (0, 1, 4, 7))
STRAIGHT, FIXED, TANGENT_OF = (np.int64(k) for k in range(3))
T_FORCE, T_LENGTH, T_RATE, T_STIFF, T_DAMP, T_SENSE = (np.int64(k) for k in range(6))
LAW_INPUT, LAW_ELASTIC, LAW_FIRST, LAW_END = (np.int64(k) for k in range(4))
SEGMENT_TENDON, SEGMENT_A, SEGMENT_B = (np.int64(k) for k in range(3))
P_WEIGHT, P_PLACE, P_SLOPE = (np.int64(k) for k in (0, 1, 4))
V_STIFF, V_DAMP, V_REST, V_FRICTION, V_SPEED, V_LENGTH, V_FACTOR = (np.int64(k) for k in range(7))
N0, N1, N2, N3, N4, N5 = (np.int64(k) for k in range(6))
U1, U2, U3 = np.uint64(1), np.uint64(2), np.uint64(3)


def acting(tendons: Tendons, m: int) -> tuple[Ints, Ints, Floats]:
    """The coordinates of its rod that act at node m, counted from its first, their strain components and values; for Python."""
    row = tendons.node[m].tolist()
    runs = [range(row[N_BEGIN + c], row[N_STOP + c]) for c in range(6)]
    counts = [len(run) for run in runs]
    first = row[N_PHI] + row[N_BEGIN]
    which = np.array([k for run in runs for k in run], dtype=np.int64)
    return which, np.repeat(np.arange(6), counts), tendons.phi[first : first + len(which)]


@inline
def component(node, c, values, x, x0):
    """Entry c of Φ x at a node."""
    o = node[N_PHI + c]
    total = 0.0 * x[0]
    for k in range(node[N_BEGIN + c], node[N_STOP + c]):
        total += values[o + k] * x[x0 + k]
    return total


@routine
def combine(node, values, x, x0):
    """Φ x (twist) at a node, with the coordinates x[x0:] of its rod and `values` of their functions there."""
    a = (component(node, N0, values, x, x0), component(node, N1, values, x, x0), component(node, N2, values, x, x0))
    b = (component(node, N3, values, x, x0), component(node, N4, values, x, x0), component(node, N5, values, x, x0))
    return (a, b)


@routine
def strain_at(tendons, m, q):
    """Strain ξ (twist) at node m."""
    node = tendons.node[m]
    return dadd(get6(tendons.strain[m], N0), combine(node, tendons.phi, q, node[N_Q]))


@routine
def strain_rate_at(tendons, m, v):
    """Rate of the strain (twist) at node m."""
    node = tendons.node[m]
    return combine(node, tendons.phi, v, node[N_V])


@inline
def direction(xi, data):
    """Place d in the section, unit tangent t̂ and length density |t| of a tendon at strain ξ."""
    d = get3(data, P_PLACE)
    t = vadd(vadd(xi[1], vcross(xi[0], d)), get3(data, P_SLOPE))
    size = np.sqrt(vdot(t, t))
    return d, vscale(1.0 / size, t), size


@inline
def turned(n, size, dt):
    """Change of the unit tangent n with that of t."""
    return vscale(1.0 / size, vaxpy(-vdot(n, dt), n, dt))


@routine
def project(node, scale, phi, wrench, out):
    """out (nv,) += scale Φᵀ (moment, force) at a node."""
    m, f = wrench
    add_run(node, N0, scale * m[0], phi, out)
    add_run(node, N1, scale * m[1], phi, out)
    add_run(node, N2, scale * m[2], phi, out)
    add_run(node, N3, scale * f[0], phi, out)
    add_run(node, N4, scale * f[1], phi, out)
    add_run(node, N5, scale * f[2], phi, out)


@inline
def add_run(node, comp, x, phi, out):
    """out (nv,) += x φ for the coordinates of strain component `comp` at a node, four at a time: there are few."""
    k, end = node[N_BEGIN + comp], node[N_STOP + comp]
    o, v0 = node[N_PHI + comp], node[N_V]
    while k + 4 <= end:
        i, j = np.uint64(v0 + k), np.uint64(o + k)
        a, b, c, d = out[i], out[i + U1], out[i + U2], out[i + U3]  # all are read before one is written
        e, f, g, h = phi[j], phi[j + U1], phi[j + U2], phi[j + U3]
        out[i] = a + x * e
        out[i + U1] = b + x * f
        out[i + U2] = c + x * g
        out[i + U3] = d + x * h
        k += 4
    while k < end:
        out[v0 + k] += x * phi[o + k]
        k += 1


@routine
def pulled(tendons, work, m):
    """Whether a tendon at node m is under tension."""
    for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
        if work.tension[tendons.point[p, L_TENDON], T_FORCE] != 0.0:
            return True
    return False


@inline
def pull(tendons, work, p):
    """Tension at point p times its weight."""
    return work.tension[tendons.point[p, L_TENDON], T_FORCE] * work.factor[p] * tendons.data[p, P_WEIGHT]


@routine
def set_plain_tensions(tendons, work, u):
    """The tension of every tendon is its input."""
    for k in range(tendons.law.shape[0]):
        work.tension[k, T_FORCE] = u[tendons.law[k, LAW_INPUT]]


@routine
def line_lengths(tendons, work, q):
    """Lengths of the stretches along rods, into work.tension[:, 1]."""
    for k in range(tendons.law.shape[0]):
        work.tension[k, T_LENGTH] = tendons.value[k, V_LENGTH]
    for m in range(tendons.node.shape[0]):
        xi = strain_at(tendons, m, q)
        for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
            _d, _n, size = direction(xi, tendons.data[p])
            work.tension[tendons.point[p, L_TENDON], T_LENGTH] += tendons.data[p, P_WEIGHT] * size


@routine
def add_lines(tendons, work, q, r):
    """r += Σ T ∂ℓ/∂q of the stretches along rods."""
    for m in range(tendons.node.shape[0]):
        if not pulled(tendons, work, m):
            continue
        xi = strain_at(tendons, m, q)
        zero = vscale(0.0, xi[0])
        total = (zero, zero)
        for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
            f = pull(tendons, work, p)
            if f != 0.0:
                d, n, _size = direction(xi, tendons.data[p])
                total = daxpy(f, (vcross(d, n), n), total)
        project(tendons.node[m], 1.0, tendons.phi, total, r)


@routine
def line_stiffness(tendons, work, q, m, K):
    """K (6, 6) = Σ T ∂(wrench)/∂ξ over all tendons at node m.

    δt = δσ − d × δκ changes the force by P δt, P = T (1 − t̂t̂ᵀ)/|t|, and the moment by d × P δt: with d̃ the matrix of d×, K = [[d̃Pd̃ᵀ, d̃P], [(d̃P)ᵀ, P]].
    """
    xi = strain_at(tendons, m, q)
    none = vscale(0.0, xi[0])
    P0, P1, P2, B0, B1, B2, C0, C1, C2 = none, none, none, none, none, none, none, none, none
    for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
        f = pull(tendons, work, p)
        if f == 0.0:
            continue
        d, n, size = direction(xi, tendons.data[p])
        f = f / size
        g = vscale(-f, n)
        p0 = (f + g[0] * n[0], g[0] * n[1], g[0] * n[2])
        p1 = (p0[1], f + g[1] * n[1], g[1] * n[2])
        p2 = (p0[2], p1[2], f + g[2] * n[2])
        b0 = vaxpy(-d[2], p1, vscale(d[1], p2))
        b1 = vaxpy(-d[0], p2, vscale(d[2], p0))
        b2 = vaxpy(-d[1], p0, vscale(d[0], p1))
        P0, P1, P2 = vadd(P0, p0), vadd(P1, p1), vadd(P2, p2)
        B0, B1, B2 = vadd(B0, b0), vadd(B1, b1), vadd(B2, b2)
        C0, C1, C2 = vadd(C0, vcross(d, b0)), vadd(C1, vcross(d, b1)), vadd(C2, vcross(d, b2))
    put6(K[0], N0, (C0, B0))
    put6(K[1], N0, (C1, B1))
    put6(K[2], N0, (C2, B2))
    put6(K[3], N0, ((B0[0], B1[0], B2[0]), P0))
    put6(K[4], N0, ((B0[1], B1[1], B2[1]), P1))
    put6(K[5], N0, ((B0[2], B1[2], B2[2]), P2))


@routine
def stiffness_rows(tendons, work, q, m, cq, out):
    """out[:6] = cq K Φ of node m, in columns of its rod."""
    K, node = work.line6, tendons.node[m]
    line_stiffness(tendons, work, q, m, K)
    for b in range(6):
        k0, k1, k2, k3, k4, k5 = cq * K[0, b], cq * K[1, b], cq * K[2, b], cq * K[3, b], cq * K[4, b], cq * K[5, b]
        o = node[N_PHI + b]
        for k in range(node[N_BEGIN + b], node[N_STOP + b]):
            f = tendons.phi[o + k]
            out[0, k] = k0 * f
            out[1, k] = k1 * f
            out[2, k] = k2 * f
            out[3, k] = k3 * f
            out[4, k] = k4 * f
            out[5, k] = k5 * f


@inline
def one_run(node):
    """Whether the coordinates that act at a node follow each other, as those of functions do that reach along the whole rod."""
    whole = True
    for c in range(5):
        whole = whole and node[N_STOP + c] == node[N_BEGIN + c + 1]
    return whole


@inline
def alike(node, other):
    """Whether the same coordinates act at two nodes."""
    same = node[N_V] == other[N_V]
    for c in range(12):
        same = same and node[N_BEGIN + c] == other[N_BEGIN + c]
    return same


@routine
def add_node_tangent(tendons, work, q, m, cq, out):
    """What `add_line_tangents` adds for one node."""
    node, KPhi = tendons.node[m], work.columns[0]
    stiffness_rows(tendons, work, q, m, cq, KPhi)
    v0 = node[N_V]
    runs = 1 if one_run(node) else 6
    for c in range(6):
        o = node[N_PHI + c]
        for i in range(node[N_BEGIN + c], node[N_STOP + c]):
            g = tendons.phi[o + i]
            for b in range(runs):
                start, end = node[N_BEGIN + b], node[N_STOP + (5 if runs == 1 else b)]
                dst, row = out[v0 + i, v0 + start : v0 + end], KPhi[c, start:end]
                for k in range(row.shape[0]):
                    dst[k] += g * row[k]


@routine
def add_four_tangents(tendons, work, q, m, cq, out):
    """The same for four nodes from m on at which the same coordinates act, one run of them."""
    node, phi = tendons.node[m], tendons.phi
    for l in range(4):
        stiffness_rows(tendons, work, q, m + l, cq, work.columns[l])
    v0, start, end = node[N_V], node[N_BEGIN], node[N_STOP + 5]
    for c in range(6):
        o0, o1 = tendons.node[m, N_PHI + c], tendons.node[m + 1, N_PHI + c]
        o2, o3 = tendons.node[m + 2, N_PHI + c], tendons.node[m + 3, N_PHI + c]
        r0, r1 = work.columns[0, c, start:end], work.columns[1, c, start:end]
        r2, r3 = work.columns[2, c, start:end], work.columns[3, c, start:end]
        for i in range(node[N_BEGIN + c], node[N_STOP + c]):
            g0, g1, g2, g3 = phi[o0 + i], phi[o1 + i], phi[o2 + i], phi[o3 + i]
            dst = out[v0 + i, v0 + start : v0 + end]
            for k in range(dst.shape[0]):
                dst[k] += g0 * r0[k] + g1 * r1[k] + g2 * r2[k] + g3 * r3[k]


@routine
def add_line_tangents(tendons, work, q, cq, out):
    """out += cq Σ T ∂²ℓ/∂q²."""
    if cq == 0.0:
        return
    nodes = tendons.node
    m = 0
    while m < nodes.shape[0]:
        if not pulled(tendons, work, m):
            m += 1
            continue
        together = m + 4 <= nodes.shape[0] and one_run(nodes[m])
        for l in range(1, 4):
            together = together and alike(nodes[m], nodes[m + l])
        if together:
            add_four_tangents(tendons, work, q, m, cq, out)
            m += 4
        else:
            add_node_tangent(tendons, work, q, m, cq, out)
            m += 1


@routine
def add_line_gradients(tendons, work, q, by_input, scale, out):
    """out[k] += scale ∂ℓ/∂q of tendon k's stretches along rods; k counts tendons or (`by_input`) their inputs."""
    for m in range(tendons.node.shape[0]):
        xi = strain_at(tendons, m, q)
        for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
            k = tendons.point[p, L_TENDON]
            d, n, _size = direction(xi, tendons.data[p])
            row = out[tendons.law[k, LAW_INPUT] if by_input else k]
            project(tendons.node[m], scale * tendons.data[p, P_WEIGHT], tendons.phi, (vcross(d, n), n), row)


@routine
def line_potential(tendons, work, q):
    """Potential energy T ℓ and the size of its parts; after `set_plain_tensions`."""
    line_lengths(tendons, work, q)
    energy = 0.0
    size = 0.0
    for k in range(tendons.law.shape[0]):
        part = work.tension[k, T_FORCE] * work.tension[k, T_LENGTH]
        energy += part
        size += abs(part)
    return energy, size
