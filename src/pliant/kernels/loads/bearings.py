"""What acts on coordinates of joints beyond motors and linear springs: friction that sticks, stops with restitution, springs of any characteristic, backlash.

A coordinate is a sum of coordinates of the tree, ``s = Σ ratio q`` (of one for a joint, of several for gears), or that of a loop joint (see `rows`). The forces on it are

* FRICTION: ``−F y − c ṡ``, where y is the strain of a bristle, ``(z + (τ + Δt) ṡ) / s₀`` cut off at ``± g``: z is how far it was bent the time Δt ago (`Work.memory`,
  `Work.lag`), s₀ how far it bends before it slips, τ a damping of the bristle alone, and ``g = 1 + m exp(−(ṡ/v)²)`` (Stribeck). So what sticks does not
  creep, and it slips where the force passes ``F (1 + m)``.
* SPRING: ``−f(x)`` with the distance x of s from a range in which it is slack; f is a polynomial in pieces.
* STOP: ``−k x (1 ± d ẋ)``, which only pushes back (Hunt and Crossley), with the distance x of s from a range. With a coefficient of restitution ``d = c/v₁`` with the
  speed v₁ of the impact, which is remembered while it touches (see `contact`).

In statics (`layout.STATIC`) the bristle is bent by the displacement since the start. Derivatives are exact on each side of slipping and of the ends of ranges.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import dadd, dcross, dsub, get6, vdot, vscale, vsub
from ..layout import F1, F2, I1, I2, MESSAGE_CQ, MESSAGE_CV, MESSAGE_ENERGY, MESSAGE_SIZE, NO, VE, YES
from .law import add_cross_terms, clear_laws, pair_columns, subtract_pair, subtract_wrench
from .loops import JOINT_A, JOINT_B, add_gradient, column6, loop_frames, relative_motion
from .rows import add_row_matrix, row_jet, row_place, row_wrench
from .units import ENERGY, FORCES, GENERALISED, MATRICES, MEMORY, TANGENT, unit


class Bearings(NamedTuple):
    """Laws on coordinates as arrays; constant after compile."""

    law: I2  # (n, 5) kind, loop coordinate (−1: of the tree), first and end of its terms, number of its internal variable (−1: none)
    data: F2  # (n, BEARING_WIDTH) see below
    term: I2  # (terms, 2) coordinate and velocity
    ratio: F1  # (terms,)
    joint: I2  # (m, 3) of coordinates of loop joints: steps of the frames A and B, kind of the coordinate
    place: F2  # (m, 24) frames A and B in their steps: rotation, translation
    coordinate: F2  # (m, ROW_WIDTH) see `rows`
    piece: F2  # (pieces, 3 + degree + 1) of springs: from where on, centre, energy there, coefficients of f
    first: I1  # (1,) of the internal variables; −1 if none


FRICTION, SPRING, STOP = (np.int64(k) for k in range(3))
B_KIND, B_LOOP, B_TERM, B_TERMS, B_MEMORY = (np.int64(k) for k in range(5))
J_KIND = np.int64(2)
# of friction: F, c, s₀, τ, m, v; of springs: first and end of pieces, –, –, range; of stops: k, d, c of restitution (−1: none), slowest impact, range
F_FORCE, F_VISCOUS, F_BENT, F_TIME, F_MORE, F_SPEED = (np.int64(k) for k in range(6))
S_FIRST, S_END = (np.int64(k) for k in range(2))
K_STIFFNESS, K_DAMPING, K_RESTITUTION, K_SLOW, LOWER, UPPER = (np.int64(k) for k in range(6))
BEARING_WIDTH = 6
P_FROM, P_CENTRE, P_ENERGY, P_COEFFICIENT = (np.int64(k) for k in range(4))


# ---------------------------------------------------------------- laws


@routine
def outside(data, s):
    """Distance of s from the range of a law."""
    if s.real > data[UPPER]:
        return s - data[UPPER]
    if s.real < data[LOWER]:
        return s - data[LOWER]
    return 0.0 * s


@routine
def bristle(data, rate, past, lag):
    """Force of friction, its derivative by the rate and by what the bristle was; what the bristle is, and its derivatives by the same."""
    F, s0 = data[F_FORCE], data[F_BENT]
    zero = 0.0 * rate
    c = data[F_VISCOUS]
    if F == 0.0:
        return -c * rate, zero - c, zero, zero, zero, zero
    g = s0 + zero
    dg = zero
    if data[F_MORE] > 0.0:
        x = rate / data[F_SPEED]
        if abs(x.real) < 20.0:
            hump = s0 * data[F_MORE] * np.exp(-x * x)
            g = g + hump
            dg = -2.0 * x / data[F_SPEED] * hump
    time = lag + data[F_TIME]
    y = past + time * rate
    z = past + lag * rate
    k = F / s0
    sign = 1.0 if y.real > 0.0 else -1.0
    if abs(y.real) <= g.real:
        f, fr, fp = -k * y, zero - k * time, zero - k
    else:
        f, fr, fp = -k * sign * g, -k * sign * dg, zero
    sign = 1.0 if z.real > 0.0 else -1.0
    zr, zp = zero + lag, zero + 1.0
    if abs(z.real) > g.real:
        z, zr, zp = sign * g, sign * dg, zero
    return f - c * rate, fr - c, fp, z, zr, zp


@routine
def spring_law(bearings, data, s):
    """Characteristic f of a spring, its slope and its integral."""
    x = outside(data, s)
    zero = 0.0 * x
    if x.real == 0.0 and data[UPPER] > data[LOWER]:
        return zero, zero, zero
    low, high = np.int64(data[S_FIRST]), np.int64(data[S_END])
    while high - low > 1:
        middle = (low + high) // 2
        if bearings.piece[middle, P_FROM] <= x.real:
            low = middle
        else:
            high = middle
    row = bearings.piece[low]
    d = x - row[P_CENTRE]
    f, slope, energy = zero, zero, zero
    for k in range(row.shape[0] - 1, P_COEFFICIENT - 1, -1):
        slope = slope * d + f
        f = f * d + row[k]
        energy = energy * d + row[k] / (k - P_COEFFICIENT + 1.0)
    return f, slope, energy * d + row[P_ENERGY]


@routine
def impact(data, rate, past):
    """Speed of the impact at a stop that is touched, and its derivatives by the rate and by what was remembered: the speed of the impact, or minus that of the approach."""
    zero = 0.0 * (rate + past)
    if past.real != 0.0:
        sign = 1.0 if past.real > 0.0 else -1.0
        if sign * past.real > data[K_SLOW]:
            return zero + sign * past, zero, zero + sign
    else:
        sign = 1.0 if rate.real > 0.0 else -1.0
        if sign * rate.real > data[K_SLOW]:
            return zero + sign * rate, zero + sign, zero
    return zero + data[K_SLOW], zero, zero


@routine
def stop_law(data, s, rate, past):
    """Force of a stop and its derivatives by s, the rate and what was remembered; what is remembered now, and its derivatives by the last two.

    That is the speed of the impact, or minus the speed now where nothing touches.
    """
    x = outside(data, s)
    zero = 0.0 * (x + rate + past)
    if x.real == 0.0:
        sign = 1.0 if rate.real > 0.0 else -1.0
        return zero, zero, zero, zero, zero - sign * rate, zero - sign, zero
    sign = 1.0 if x.real > 0.0 else -1.0
    k, d = data[K_STIFFNESS], zero + data[K_DAMPING]
    hit, hit_rate, hit_past = impact(data, rate, past)
    dd = zero
    if data[K_RESTITUTION] >= 0.0:
        d = data[K_RESTITUTION] / hit
        dd = -d / hit
    more = 1.0 + sign * d * rate
    if more.real <= 0.0:
        return zero, zero, zero, zero, hit, hit_rate, hit_past
    push = -k * sign * x
    return (
        -k * x * more,
        zero - k * more,
        push * (d + dd * hit_rate * rate),
        push * dd * hit_past * rate,
        hit,
        hit_rate,
        hit_past,
    )


@routine
def remembered(bearings, work, k):
    """What a law remembers."""
    m = bearings.law[k, B_MEMORY]
    return work.memory[bearings.first[0] + m] if m >= 0 else 0.0 * work.lag[0]


@routine
def force_of(bearings, work, k, s, rate):
    """Force on a coordinate and its derivatives by s and the rate; what it remembers now is kept."""
    kind, data = bearings.law[k, B_KIND], bearings.data[k]
    past, m = remembered(bearings, work, k), bearings.law[k, B_MEMORY]
    if kind == SPRING:
        f, slope, _energy = spring_law(bearings, data, s)
        return -f, -slope, 0.0 * slope
    if kind == FRICTION:
        f, fr, _fp, z, _zr, _zp = bristle(data, rate, past, work.lag[0])
        if m >= 0:
            work.kept[bearings.first[0] + m] = z
        return f, 0.0 * fr, fr
    f, fs, fr, _fp, z, _zr, _zp = stop_law(data, s, rate, past)
    if m >= 0:
        work.kept[bearings.first[0] + m] = z
    return f, fs, fr


@routine
def energy_of(bearings, k, s):
    """Potential of a force at rest."""
    kind, data = bearings.law[k, B_KIND], bearings.data[k]
    if kind == SPRING:
        return spring_law(bearings, data, s)[2]
    if kind == STOP:
        x = outside(data, s)
        return 0.5 * data[K_STIFFNESS] * x * x
    return 0.0 * s


# ---------------------------------------------------------------- coordinates of the tree


@routine
def tree_state(bearings, k, q, v):
    """Value and rate of a sum of coordinates."""
    s = 0.0 * q[0]
    rate = 0.0 * v[0]
    for m in range(bearings.law[k, B_TERM], bearings.law[k, B_TERMS]):
        s += bearings.ratio[m] * q[bearings.term[m, 0]]
        rate += bearings.ratio[m] * v[bearings.term[m, 1]]
    return s, rate


@routine
def tree_forces(bearings, work, q, v, r):
    """r −= the forces on coordinates of the tree."""
    for k in range(bearings.law.shape[0]):
        if bearings.law[k, B_LOOP] < 0:
            s, rate = tree_state(bearings, k, q, v)
            f, _fs, _fr = force_of(bearings, work, k, s, rate)
            for m in range(bearings.law[k, B_TERM], bearings.law[k, B_TERMS]):
                r[bearings.term[m, 1]] -= bearings.ratio[m] * f


@routine
def tree_tangents(bearings, work, q, v, cq, cv, out):
    """out −= cq ∂f/∂q + cv ∂f/∂v."""
    for k in range(bearings.law.shape[0]):
        if bearings.law[k, B_LOOP] >= 0:
            continue
        s, rate = tree_state(bearings, k, q, v)
        _f, fs, fr = force_of(bearings, work, k, s, rate)
        x = cq * fs + cv * fr
        for m in range(bearings.law[k, B_TERM], bearings.law[k, B_TERMS]):
            for n in range(bearings.law[k, B_TERM], bearings.law[k, B_TERMS]):
                out[bearings.term[m, 1], bearings.term[n, 1]] -= bearings.ratio[m] * bearings.ratio[n] * x


# ---------------------------------------------------------------- coordinates of loop joints


@routine
def loop_state(bearings, work, j):
    """Frames of a loop coordinate, its value, its wrench (m about p_B, f) per unit of force, and its rate."""
    A, pa, B, pb = loop_frames(bearings, j, work.state)
    w, v = relative_motion(bearings, j, work.state, pb)
    s, m, f = row_wrench(bearings.joint[j, J_KIND], bearings.coordinate[j], A, B, vsub(pb, pa))
    return A, pa, B, pb, s, m, f, vdot(m, w) + vdot(f, v)


@routine
def loop_wrenches(bearings, work):
    """Subtract the forces on coordinates of loop joints from the wrenches of the steps."""
    for k in range(bearings.law.shape[0]):
        j = bearings.law[k, B_LOOP]
        if j < 0:
            continue
        _A, _pa, _B, pb, s, m, f, rate = loop_state(bearings, work, j)
        force, _fs, _fr = force_of(bearings, work, k, s, rate)
        M, F = vscale(force, m), vscale(force, f)
        a, b = bearings.joint[j, JOINT_A], bearings.joint[j, JOINT_B]
        if b >= 0:
            subtract_wrench(work.state[b], pb, M, F)
        if a >= 0:
            subtract_wrench(work.state[a], pb, vscale(-1.0, M), vscale(-1.0, F))


@routine
def loop_matrices(t, bearings, work, cross, cq, out):
    """Matrices K and N of these forces; with `cross`, what couples the two steps instead."""
    A6, B6, spare = work.law[0], work.law[1], work.law[2]
    for k in range(bearings.law.shape[0]):
        j = bearings.law[k, B_LOOP]
        if j < 0:
            continue
        a, b = bearings.joint[j, JOINT_A], bearings.joint[j, JOINT_B]
        if cross and (a < 0 or b < 0):
            continue
        A, pa, B, pb, s, m, f, rate = loop_state(bearings, work, j)
        force, fs, fr = force_of(bearings, work, k, s, rate)
        w, v = relative_motion(bearings, j, work.state, pb)
        clear_laws(A6, B6)
        clear_laws(spare, B6)
        add_row_matrix(bearings.joint[j, J_KIND], bearings.coordinate[j], A, B, pa, pb, 1.0, spare)
        wrench = (m[0], m[1], m[2], f[0], f[1], f[2])
        motion = (w[0], w[1], w[2], v[0], v[1], v[2])
        for c in range(6):
            bent = 0.0 * s
            for r in range(6):
                bent += spare[r, c] * motion[r]
            for r in range(6):
                A6[r, c] += force * spare[r, c] + wrench[r] * (fs * wrench[c] + fr * bent)
                B6[r, c] += fr * wrench[r] * wrench[c]
        M, F = vscale(force, m), vscale(force, f)
        if cross:
            pair_columns(t, work, b, a, work.pair)
            add_cross_terms(work, b, a, pb, M, F, A6, B6, spare, cq, work.pair, out)
        else:
            subtract_pair(work, b, a, pb, M, F, A6, B6, spare)


# ---------------------------------------------------------------- energy and memory


@routine
def add_energy(bearings, work, q):
    """Energy of springs and stops, into the message."""
    for k in range(bearings.law.shape[0]):
        j = bearings.law[k, B_LOOP]
        if j < 0:
            s, _rate = tree_state(bearings, k, q, work.zero)
        else:
            s = loop_state(bearings, work, j)[4]
        part = energy_of(bearings, k, s)
        work.message[MESSAGE_ENERGY] += part
        work.message[MESSAGE_SIZE] += abs(part)


@routine
def rate_slopes(t, bearings, work, j, by_q, by_v):
    """Derivatives (nv,) of the rate of a loop coordinate, from the columns J and R."""
    a, b = bearings.joint[j, JOINT_A], bearings.joint[j, JOINT_B]
    A, pa, B, pb, _s, m, f, _rate = loop_state(bearings, work, j)
    pair_columns(t, work, b, a, work.pair)
    for c in range(by_v.shape[0]):
        by_v[c] = 0.0
    add_gradient(work, pb, m, f, 1.0, by_v)
    ra, rb = work.state[a], work.state[b]
    Va, Vb = get6(ra, VE), get6(rb, VE)
    eta = dsub(Vb, Va)
    none = vscale(0.0, pb)
    kind, data = bearings.joint[j, J_KIND], bearings.coordinate[j]
    place = row_place(kind, data, A, B)
    for c in range(by_q.shape[0]):
        da, db = column6(work.pair[1], c), column6(work.pair[0], c)
        Ra, Rb = column6(work.pair[3], c), column6(work.pair[2], c)
        dV = dsub(dadd(Rb, dcross(db, Vb)), dadd(Ra, dcross(da, Va)))
        deta, zeta = dsub(dV, dcross(da, eta)), dsub(db, da)
        turn, slide = (eta[0], none, zeta[0], deta[0], none), (eta[1], none, zeta[1], deta[1], none)
        by_q[c] = row_jet(kind, data, place, pa, pb, turn, slide)[4]


@routine
def memory_rows(t, bearings, work, q, v, out):
    """Derivatives of what is remembered, see `units`."""
    nv = v.shape[0]
    for k in range(bearings.law.shape[0]):
        n, j = bearings.law[k, B_MEMORY], bearings.law[k, B_LOOP]
        if n < 0:
            continue
        o = bearings.first[0] + n
        row = out[o]
        by_q, by_v, force = row[:nv], row[nv : 2 * nv], row[2 * nv : 3 * nv]
        if j < 0:
            s, rate = tree_state(bearings, k, q, v)
            for m in range(bearings.law[k, B_TERM], bearings.law[k, B_TERMS]):
                by_v[bearings.term[m, 1]] += bearings.ratio[m]
        else:
            found = loop_state(bearings, work, j)
            s, rate = found[4], found[7]
            rate_slopes(t, bearings, work, j, by_q, by_v)
        if bearings.law[k, B_KIND] == FRICTION:
            _f, _fr, fp, _z, zr, zp = bristle(bearings.data[k], rate, work.memory[o], work.lag[0])
        else:
            _f, _fs, _fr, fp, _z, zr, zp = stop_law(bearings.data[k], s, rate, work.memory[o])
        for c in range(nv):
            force[c] = -fp * by_v[c]
            by_q[c] *= zr
            by_v[c] *= zr
        row[3 * nv + o] = zp


@routine
def apply_bearings(t, work, bearings, space, q, v, u, r):
    """All forces, for any number type."""
    loop_wrenches(bearings, work)
    tree_forces(bearings, work, q, v, r)


@unit(Bearings, tasks=(FORCES, MATRICES, GENERALISED, TANGENT, ENERGY, MEMORY))
def bearing_forces(task, t, work, bearings, space, q, v, u, out):
    """Friction, stops, springs and backlash of joints."""
    if task == FORCES:
        loop_wrenches(bearings, work)
    elif task == GENERALISED:
        tree_forces(bearings, work, q, v, out[0])
    elif task == MATRICES:
        loop_matrices(t, bearings, work, NO, 1.0, work.out[0])
    elif task == TANGENT:
        tree_tangents(bearings, work, q, v, work.message[MESSAGE_CQ], work.message[MESSAGE_CV], out)
        loop_matrices(t, bearings, work, YES, work.message[MESSAGE_CQ], out)
    elif task == ENERGY:
        add_energy(bearings, work, q)
    elif task == MEMORY:
        memory_rows(t, bearings, work, q, v, out)
