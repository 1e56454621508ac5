"""Internal forces: elasticity and damping of rods and joints (MATH §4), and their derivatives.

The sign is that of the left-hand side: ``ID(q, q̇, q̈) + elastic(q) + D q̇ = τ``.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import kernel, routine
from ..algebra.dual import dmv, dscale, dsub, get6, put6, swap
from ..algebra.exponential import inverse_tangent_apply, tangent_coefficients, tangent_derivative
from ..algebra.manifold import VELOCITIES, relative_log
from ..layout import F1, F2, F3, I1, I2
from ..packing import unpacker
from ..recursion.columns import unit_twist

FIRST = np.int64(0)


class Internal(NamedTuple):
    """Stiffness and damping as arrays; constant after compile."""

    shift: I2  # (n, 2) coordinate and velocity of each ordinary coordinate
    spatial: I2  # (m, 3) first coordinate, first velocity and group of each manifold joint
    rest: F1  # (nq,) coordinates without elastic force
    start: I1  # (nv + 1,) rows of the sparse matrices
    column: I1  # (entries,)
    stiffness: F1  # (entries,)
    damping: F1  # (entries,)
    springs: I2  # (s, 3) like `spatial`, manifold joints that have a stiffness
    spring_stiffness: F3  # (s, 6, 6)
    spring_rest: F2  # (s, 7)
    known: I1  # (nv,) 1 for velocities of prescribed coordinates
    scale: F1  # (nv,) size of each velocity coordinate that counts as one: rad/m, rad, m, …


unpack_own = unpacker(Internal)


@routine
def deviation(c, q, out):
    """out (nv,) = q − rest on ordinary coordinates, 0 on manifold joints."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for k in range(c.shift.shape[0]):
        i = c.shift[k, 0]
        out[c.shift[k, 1]] = q[i] - c.rest[i]


@routine
def spring(K, rest, q, o, group, phi, force, tangent):
    """Elastic force (6,) and tangent (6, 6) of a manifold joint with energy ½ φᵀKφ, φ = log(rest⁻¹ g).

    Returns the energy. Since δφ = T(−φ)⁻¹ δ, the force f satisfies T(−φ)ᵀ f = Kφ, in dual form T(φ) f = Kφ.
    """
    n = VELOCITIES[group]
    for i in range(6):
        phi[i] = 0.0
    relative_log(rest, q, 0, o, group, phi, 0)
    omega = get6(phi, FIRST)
    neg = dscale(-1.0, omega)
    for i in range(6):
        force[i] = 0.0
    energy = 0.0
    for i in range(n):
        for j in range(n):
            force[i] += K[i, j] * phi[j]
        energy += 0.5 * phi[i] * force[i]
    f = inverse_tangent_apply(omega, swap(get6(force, FIRST)))
    put6(force, FIRST, swap(f))
    ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
    curve = tangent_derivative(omega, f, ca, cb, a1, b1)
    for k in range(n):
        # δφ for the k-th unit δ, then T(φ) δf = K δφ − ∂(T(φ) f)/∂φ δφ
        d = inverse_tangent_apply(neg, unit_twist(k))
        for i in range(6):
            y = 0.0
            for j in range(3):
                y += K[i, j] * d[0][j] + K[i, 3 + j] * d[1][j]
            tangent[i, k] = y
        y6 = ((tangent[3, k], tangent[4, k], tangent[5, k]), (tangent[0, k], tangent[1, k], tangent[2, k]))
        df = inverse_tangent_apply(omega, dsub(y6, dmv(curve, d)))
        for i in range(3):
            tangent[i, k] = df[1][i]
            tangent[3 + i, k] = df[0][i]
    return energy


@routine
def elastic(c, q, force, x, scratch):
    """Elastic generalised force; `force` and the scratch `x` are (nv,), `scratch` is (8, 6). Returns the elastic energy."""
    nv = force.shape[0]
    deviation(c, q, x)
    energy = 0.0
    for i in range(nv):
        f = 0.0
        for k in range(c.start[i], c.start[i + 1]):
            f += c.stiffness[k] * x[c.column[k]]
        force[i] = f
        energy += 0.5 * x[i] * f
    if c.springs.shape[0] > 0:
        phi, f6, t6 = scratch[0], scratch[1], scratch[2:]
        for s in range(c.springs.shape[0]):
            group = c.springs[s, 2]
            energy += spring(c.spring_stiffness[s], c.spring_rest[s], q, c.springs[s, 0], group, phi, f6, t6)
            for k in range(VELOCITIES[group]):
                force[c.springs[s, 1] + k] += f6[k]
    return energy


@routine
def damping(c, v, force):
    """force = D v."""
    for i in range(force.shape[0]):
        f = 0.0
        for k in range(c.start[i], c.start[i + 1]):
            f += c.damping[k] * v[c.column[k]]
        force[i] = f


@routine
def add_internal_tangent(c, q, cq, cv, scratch, out):
    """out += cq ∂(elastic)/∂q + cv D; `out` (nv, nv)."""
    for i in range(out.shape[0]):
        for k in range(c.start[i], c.start[i + 1]):
            out[i, c.column[k]] += cq * c.stiffness[k] + cv * c.damping[k]
    if c.springs.shape[0] > 0 and cq != 0.0:
        phi, f6, t6 = scratch[0], scratch[1], scratch[2:]
        for s in range(c.springs.shape[0]):
            group = c.springs[s, 2]
            spring(c.spring_stiffness[s], c.spring_rest[s], q, c.springs[s, 0], group, phi, f6, t6)
            o = c.springs[s, 1]
            for i in range(VELOCITIES[group]):
                for j in range(VELOCITIES[group]):
                    out[o + i, o + j] += cq * t6[i, j]


@kernel("i1 f1 n f1 f1 f1 f2 f2")
def elastic_forces(ints, floats, first, q, force, x, scratch, tangent):
    """Elastic force (nv,) and, if `tangent` is (nv, nv), its derivative. Returns the elastic energy.

    `first`: where the header has the tables of internal forces.
    """
    c = unpack_own(ints, floats, first)
    if tangent.shape[0] > 0:
        tangent[:, :] = 0.0
        add_internal_tangent(c, q, 1.0, 0.0, scratch, tangent)
    return elastic(c, q, force, x, scratch)
