"""Tendons: generalised forces of tensions along rods and their derivatives (MATH §4, [002] D60–D63).

A tendon depends on the rod's strain alone, so it needs no recursion: at a point with strain ξ, with
``E = [−d̂ | 1]`` and ``t = E ξ + d′``, its length density is |t|, its wrench ``Eᵀ t̂`` and the derivative of the
wrench ``Eᵀ (1 − t̂t̂ᵀ) E / |t|``.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel, routine
from .layout import Floats, Ints


class Lines(NamedTuple):
    """Points of all tendons, as arrays; constant after compile."""

    point: Ints  # (points, 5) input, first column of phi, number of coordinates, first coordinate, first velocity
    data: Floats  # (points, 13) weight [m], ξ* (6), d (3), d′ (3) per metre
    phi: Floats  # (Σ,) basis values of the rod's coordinates at each point
    comp: Ints  # (Σ,) strain component of each


L_INPUT, L_PHI, L_N, L_Q, L_V = (np.int64(k) for k in range(5))


@routine
def tendon_state(lines, p, q, wrench, tangent):
    """Wrench Eᵀt̂ (6,) of a unit tension at point p and its derivative in ξ (6, 6). Returns |t|."""
    data = lines.data[p]
    o = lines.point[p, L_PHI]
    q0 = lines.point[p, L_Q]
    x = wrench  # first the strain, then overwritten
    for c in range(6):
        x[c] = data[1 + c]
    for k in range(lines.point[p, L_N]):
        x[lines.comp[o + k]] += lines.phi[o + k] * q[q0 + k]
    d0, d1, d2 = data[7], data[8], data[9]
    t0 = x[3] + x[1] * d2 - x[2] * d1 + data[10]
    t1 = x[4] + x[2] * d0 - x[0] * d2 + data[11]
    t2 = x[5] + x[0] * d1 - x[1] * d0 + data[12]
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
def add_actuation(lines, q, u, r, scratch):
    """r += Σ u ∂ℓ/∂q, the actuation on the left-hand side of the equation of motion."""
    w = scratch[6]
    none = scratch[:0]
    for p in range(lines.point.shape[0]):
        tension = u[lines.point[p, L_INPUT]]
        if tension == 0.0:
            continue
        tendon_state(lines, p, q, w, none)
        f = tension * lines.data[p, 0]
        o = lines.point[p, L_PHI]
        v0 = lines.point[p, L_V]
        for k in range(lines.point[p, L_N]):
            r[v0 + k] += f * lines.phi[o + k] * w[lines.comp[o + k]]


@routine
def add_actuation_tangent(lines, q, u, cq, out, scratch, total):
    """out += cq ∂(Σ u ∂ℓ/∂q)/∂q; entries at the same point of a rod follow each other and are summed first."""
    if cq == 0.0:
        return
    w = scratch[6]
    K = scratch[:6]
    points = lines.point.shape[0]
    p = 0
    while p < points:
        o = lines.point[p, L_PHI]
        v0 = lines.point[p, L_V]
        n = lines.point[p, L_N]
        for i in range(6):
            for j in range(6):
                total[i, j] = 0.0
        active = False
        while p < points and lines.point[p, L_PHI] == o:
            tension = u[lines.point[p, L_INPUT]]
            if tension != 0.0:
                active = True
                tendon_state(lines, p, q, w, K)
                f = cq * tension * lines.data[p, 0]
                for i in range(6):
                    for j in range(6):
                        total[i, j] += f * K[i, j]
            p += 1
        if active:
            for i in range(n):
                g = lines.phi[o + i]
                row = total[lines.comp[o + i]]
                dst = out[v0 + i, v0 : v0 + n]
                for j in range(n):
                    dst[j] += g * row[lines.comp[o + j]] * lines.phi[o + j]


@kernel
def tendon_lengths(lines, q, scratch, lengths, jacobian):
    """Length of every tendon (inputs,) and its derivative in q (inputs, nv)."""
    w = scratch[6]
    none = scratch[:0]
    for i in range(lengths.shape[0]):
        lengths[i] = 0.0
        for k in range(jacobian.shape[1]):
            jacobian[i, k] = 0.0
    for p in range(lines.point.shape[0]):
        i = lines.point[p, L_INPUT]
        weight = lines.data[p, 0]
        lengths[i] += weight * tendon_state(lines, p, q, w, none)
        o = lines.point[p, L_PHI]
        v0 = lines.point[p, L_V]
        for k in range(lines.point[p, L_N]):
            jacobian[i, v0 + k] += weight * lines.phi[o + k] * w[lines.comp[o + k]]
