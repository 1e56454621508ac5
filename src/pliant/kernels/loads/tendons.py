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
from ..algebra.dual import dadd, daxpy, get3, get6, vadd, vaxpy, vcross, vdot, vscale
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
    wrap: I2  # (wraps, 1) point, for tendons with friction, in the order of their way
    bend: F2  # (wraps, 9) ξ*′ (6) and d″ (3) per metre
    slope: F1  # (Σ,) derivatives of phi, or nothing without friction
    turn: F2  # (wraps + segments, most wraps of a tendon) weights of the turning angle before a point or segment


# columns of `node`: first and end of its rows in `point`, first coordinate and velocity of its rod; for each strain component the first of
# the rod's coordinates that act at the node, the end of them, and what leads from a coordinate to its entry in `phi`
N_FIRST, N_END, N_Q, N_V, N_BEGIN, N_STOP, N_PHI = (np.int64(k) for k in (0, 1, 2, 3, 4, 10, 16))
NODE_WIDTH = 4 + 3 * 6
L_TENDON, L_NODE = (np.int64(k) for k in range(2))
T_FORCE, T_LENGTH, T_RATE, T_STIFF, T_DAMP, T_SENSE = (np.int64(k) for k in range(6))
LAW_INPUT, LAW_ELASTIC, LAW_FIRST, LAW_END = (np.int64(k) for k in range(4))
SEGMENT_TENDON, SEGMENT_A, SEGMENT_B = (np.int64(k) for k in range(3))
P_WEIGHT, P_PLACE, P_SLOPE = (np.int64(k) for k in (0, 1, 4))
V_STIFF, V_DAMP, V_REST, V_FRICTION, V_SPEED, V_LENGTH, V_FACTOR = (np.int64(k) for k in range(7))
N0, N1, N2, N3, N4, N5 = (np.int64(k) for k in range(6))


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
    w = (m[0], m[1], m[2], f[0], f[1], f[2])
    v0 = node[N_V]
    for c in range(6):
        x, o = scale * w[c], node[N_PHI + c]
        for k in range(node[N_BEGIN + c], node[N_STOP + c]):
            out[v0 + k] += x * phi[o + k]


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
def add_column(K, c, f, d, n, dt):
    """K[:, c] += f (d×y, y), where y is the change of the unit tangent n with δt."""
    y = vscale(f, vaxpy(-vdot(n, dt), n, dt))
    z = vcross(d, y)
    for i in range(3):
        K[i, c] += z[i]
        K[3 + i, c] += y[i]


@routine
def line_stiffness(tendons, work, q, m, K):
    """K (6, 6) = Σ T ∂(wrench)/∂ξ over all tendons at node m."""
    for i in range(6):
        for j in range(6):
            K[i, j] = 0.0
    xi = strain_at(tendons, m, q)
    for p in range(tendons.node[m, N_FIRST], tendons.node[m, N_END]):
        f = pull(tendons, work, p)
        if f == 0.0:
            continue
        d, n, size = direction(xi, tendons.data[p])
        f = f / size
        add_column(K, N0, f, d, n, (0.0, -d[2], d[1]))
        add_column(K, N1, f, d, n, (d[2], 0.0, -d[0]))
        add_column(K, N2, f, d, n, (-d[1], d[0], 0.0))
        add_column(K, N3, f, d, n, (1.0, 0.0, 0.0))
        add_column(K, N4, f, d, n, (0.0, 1.0, 0.0))
        add_column(K, N5, f, d, n, (0.0, 0.0, 1.0))


@inline
def one_run(node):
    """Whether the coordinates that act at a node follow each other, as those of functions do that reach along the whole rod."""
    whole = True
    for c in range(5):
        whole = whole and node[N_STOP + c] == node[N_BEGIN + c + 1]
    return whole


@routine
def add_line_tangents(tendons, work, q, cq, out):
    """out += cq Σ T ∂²ℓ/∂q²."""
    if cq == 0.0:
        return
    K, KPhi = work.line6, work.columns[0]
    for m in range(tendons.node.shape[0]):
        if not pulled(tendons, work, m):
            continue
        line_stiffness(tendons, work, q, m, K)
        node = tendons.node[m]
        v0 = node[N_V]
        for c in range(6):
            for b in range(6):
                g, o = cq * K[c, b], node[N_PHI + b]
                for k in range(node[N_BEGIN + b], node[N_STOP + b]):
                    KPhi[c, k] = g * tendons.phi[o + k]
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
