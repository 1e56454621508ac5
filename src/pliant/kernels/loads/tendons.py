"""Tendons along rods: generalised forces of tensions and their derivatives (MATH §4, [002] D60–D63).

Along a rod a tendon depends on the strain alone and needs no recursion: at a point with strain ξ, with ``E = [−d̂ | 1]``
and ``t = E ξ + d′``, its length density is |t|, its wrench ``Eᵀ t̂`` and the derivative of the wrench
``Eᵀ (1 − t̂t̂ᵀ) E / |t|``. Pressure chambers and push rods are tendons with a negative weight. Straight stretches between
bodies, elasticity and friction are in `cables`.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..layout import F1, F2, I1, I2


class Tendons(NamedTuple):
    """Points and straight stretches of all tendons, as arrays; constant after compile."""

    point: I2  # (points, 5) tendon, first entry of phi, number of coordinates, first coordinate, first velocity
    data: F2  # (points, 13) weight [m], ξ* (6), d (3), d′ (3) per metre
    phi: F1  # (Σ,) basis values of the rod's coordinates at each point
    comp: I1  # (Σ,) strain component of each
    segment: I2  # (segments, 3) tendon and the steps of its two ends (−1: the world)
    span: F2  # (segments, 6) the two ends in the frames of their steps
    law: I2  # (tendons, 4) input, 1 if elastic, first and end of its rows in `wrap`
    value: (
        F2  # (tendons, 6) k, c, ℓ₀, μ, speed at which friction turns (0: always pulling), constant part of the length
    )
    wrap: I2  # (wraps, 1) point, for tendons with friction, in the order of their way
    bend: F2  # (wraps, 9) ξ*′ (6) and d″ (3) per metre
    slope: F1  # (Σ,) derivatives of phi, or nothing without friction
    turn: F2  # (wraps + segments, most wraps of a tendon) weights of the turning angle before a point or segment


L_TENDON, L_PHI, L_N, L_Q, L_V = (np.int64(k) for k in range(5))
T_FORCE, T_LENGTH, T_RATE, T_STIFF, T_DAMP, T_SENSE = (np.int64(k) for k in range(6))
LAW_INPUT, LAW_ELASTIC, LAW_FIRST, LAW_END = (np.int64(k) for k in range(4))
SEGMENT_TENDON, SEGMENT_A, SEGMENT_B = (np.int64(k) for k in range(3))
P_WEIGHT, P_STRAIN, P_PLACE, P_SLOPE = (np.int64(k) for k in (0, 1, 7, 10))
V_STIFF, V_DAMP, V_REST, V_FRICTION, V_SPEED, V_LENGTH, V_FACTOR = (np.int64(k) for k in range(7))


@routine
def tendon_state(tendons, p, q, wrench, tangent):
    """Wrench Eᵀt̂ (6,) of a unit tension at point p and its derivative in ξ (6, 6). Returns |t|."""
    data = tendons.data[p]
    o = tendons.point[p, L_PHI]
    q0 = tendons.point[p, L_Q]
    x = wrench  # first the strain, then overwritten
    for c in range(6):
        x[c] = data[P_STRAIN + c]
    for k in range(tendons.point[p, L_N]):
        x[tendons.comp[o + k]] += tendons.phi[o + k] * q[q0 + k]
    d0, d1, d2 = data[P_PLACE], data[P_PLACE + 1], data[P_PLACE + 2]
    t0 = x[3] + x[1] * d2 - x[2] * d1 + data[P_SLOPE]
    t1 = x[4] + x[2] * d0 - x[0] * d2 + data[P_SLOPE + 1]
    t2 = x[5] + x[0] * d1 - x[1] * d0 + data[P_SLOPE + 2]
    size = np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    t0 /= size
    t1 /= size
    t2 /= size
    x[0] = d1 * t2 - d2 * t1
    x[1] = d2 * t0 - d0 * t2
    x[2] = d0 * t1 - d1 * t0
    x[3] = t0
    x[4] = t1
    x[5] = t2
    if tangent.shape[0] == 6:
        for i in range(6):
            for j in range(6):
                tangent[i, j] = -x[i] * x[j] / size
        # EᵀE / |t| = [[d̂ d̂ᵀ, d̂], [d̂ᵀ, 1]] / |t|
        dd = d0 * d0 + d1 * d1 + d2 * d2
        d = (d0, d1, d2)
        for i in range(3):
            for j in range(3):
                tangent[i, j] -= d[i] * d[j] / size
            tangent[i, i] += dd / size
            tangent[3 + i, 3 + i] += 1.0 / size
        tangent[0, 4] -= d2 / size
        tangent[0, 5] += d1 / size
        tangent[1, 3] += d2 / size
        tangent[1, 5] -= d0 / size
        tangent[2, 3] -= d1 / size
        tangent[2, 4] += d0 / size
        tangent[4, 0] -= d2 / size
        tangent[5, 0] += d1 / size
        tangent[3, 1] += d2 / size
        tangent[5, 1] -= d0 / size
        tangent[3, 2] -= d1 / size
        tangent[4, 2] += d0 / size
    return size


@routine
def strain_rate(tendons, p, v, out):
    """out (6,) = Φ v at point p."""
    o, v0 = tendons.point[p, L_PHI], tendons.point[p, L_V]
    for c in range(6):
        out[c] = 0.0
    for k in range(tendons.point[p, L_N]):
        out[tendons.comp[o + k]] += tendons.phi[o + k] * v[v0 + k]


@routine
def set_plain_tensions(tendons, work, u):
    """The tension of every tendon is its input."""
    for k in range(tendons.law.shape[0]):
        work.tension[k, T_FORCE] = u[tendons.law[k, LAW_INPUT]]


@routine
def line_lengths(tendons, work, q):
    """Lengths of the stretches along rods, into work.tension[:, 1]."""
    w = work.line[6]
    none = work.line[:0]
    for k in range(tendons.law.shape[0]):
        work.tension[k, T_LENGTH] = tendons.value[k, V_LENGTH]
    for p in range(tendons.point.shape[0]):
        k = tendons.point[p, L_TENDON]
        work.tension[k, T_LENGTH] += tendons.data[p, P_WEIGHT] * tendon_state(tendons, p, q, w, none)


@routine
def add_lines(tendons, work, q, r):
    """r += Σ T ∂ℓ/∂q of the stretches along rods."""
    w = work.line[6]
    none = work.line[:0]
    for p in range(tendons.point.shape[0]):
        force = work.tension[tendons.point[p, L_TENDON], T_FORCE]
        if force == 0.0:
            continue
        tendon_state(tendons, p, q, w, none)
        f = force * work.factor[p] * tendons.data[p, P_WEIGHT]
        o = tendons.point[p, L_PHI]
        v0 = tendons.point[p, L_V]
        for k in range(tendons.point[p, L_N]):
            r[v0 + k] += f * tendons.phi[o + k] * w[tendons.comp[o + k]]


@routine
def line_stiffness(tendons, work, q, cq, p, total):
    """total (6, 6) = cq Σ T ∂(wrench)/∂ξ over all tendons at the same point of a rod, which follow each other from p on.

    Returns the point after them, and whether any is under tension.
    """
    w = work.line[6]
    K = work.line[:6]
    o = tendons.point[p, L_PHI]
    for i in range(6):
        for j in range(6):
            total[i, j] = 0.0
    active = False
    while p < tendons.point.shape[0] and tendons.point[p, L_PHI] == o:
        force = work.tension[tendons.point[p, L_TENDON], T_FORCE]
        if force != 0.0:
            active = True
            tendon_state(tendons, p, q, w, K)
            f = cq * force * work.factor[p] * tendons.data[p, P_WEIGHT]
            for i in range(6):
                for j in range(6):
                    total[i, j] += f * K[i, j]
        p += 1
    return p, active


@routine
def add_line_tangents(tendons, work, q, cq, out):
    """out += cq Σ T ∂²ℓ/∂q²."""
    if cq == 0.0:
        return
    total = work.line6
    p = 0
    while p < tendons.point.shape[0]:
        o = tendons.point[p, L_PHI]
        v0 = tendons.point[p, L_V]
        n = tendons.point[p, L_N]
        p, active = line_stiffness(tendons, work, q, cq, p, total)
        if active:
            for i in range(n):
                g = tendons.phi[o + i]
                row = total[tendons.comp[o + i]]
                dst = out[v0 + i, v0 : v0 + n]
                for j in range(n):
                    dst[j] += g * row[tendons.comp[o + j]] * tendons.phi[o + j]


@routine
def add_line_gradients(tendons, work, q, by_input, scale, out):
    """out[k] += scale ∂ℓ/∂q of tendon k's stretches along rods; k counts tendons or (`by_input`) their inputs."""
    w = work.line[6]
    none = work.line[:0]
    for p in range(tendons.point.shape[0]):
        k = tendons.point[p, L_TENDON]
        row = out[tendons.law[k, LAW_INPUT] if by_input else k]
        tendon_state(tendons, p, q, w, none)
        o, v0 = tendons.point[p, L_PHI], tendons.point[p, L_V]
        f = scale * tendons.data[p, P_WEIGHT]
        for i in range(tendons.point[p, L_N]):
            row[v0 + i] += f * tendons.phi[o + i] * w[tendons.comp[o + i]]


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
