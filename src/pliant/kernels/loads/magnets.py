"""Magnetic dipoles in fields that vary over space: of other dipoles, of round coils and of the uniform field.

A dipole m (turning with its step) in the field B of a source has the energy −m·B. It feels the moment ``m × B`` and the force
``∇(m·B)``; the source feels the opposite wrench about the same point, since the energy depends on where one is seen from the other.
With the Jacobian J of B by the position and the Hessian H of m·B, the derivatives by (δθ, δx) of the dipole, seen from the source, are

``A = [[m Bᵀ − (m·B) 1, m̂ J], [−Jᵀ m̂, H]]`` (see `law`).

The field of a coil is the integral of Biot and Savart over its circle by the trapezoidal rule, of as many points as make its error, which
falls exponentially with their number, less than rounding: exact on and off the axis, and smooth on the axis, where formulas with elliptic
integrals divide zero by zero.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import (
    get3,
    get9,
    hat_m,
    m_hat,
    madd,
    mouter,
    mscale,
    mt,
    mtv,
    mv,
    skew_diag,
    vaxpy,
    vcross,
    vdot,
    vscale,
    vsub,
)
from ..layout import F2, I2, MESSAGE_CQ, MESSAGE_ENERGY, MESSAGE_SIZE, NO, RE, YES
from .law import (
    add_cross_terms,
    add_projection,
    clear_laws,
    pair_columns,
    point_at,
    subtract_law,
    subtract_pair,
    subtract_wrench,
    unit_vector,
)
from .units import ENERGY, FORCES, INPUTS, MATRICES, TANGENT, unit


class Magnets(NamedTuple):
    """Dipoles, sources of fields and which acts on which, as arrays; constant after compile."""

    pair: I2  # (pairs, 2) dipole, source
    dipole: I2  # (dipoles, 2) step (−1: the world), input that scales it or −1
    moment: F2  # (dipoles, 6) place and moment [A m²] in the frame of the step
    source: I2  # (sources, 3) kind, step (−1: the world), input that scales it (the first of three of the uniform field) or −1
    shape: (
        F2  # (sources, 11) place, moment or two axes of a circle in the frame of the step, radius, factor of the field
    )


POINT, COIL, UNIFORM = (np.int64(k) for k in range(3))
D_STEP, D_INPUT = (np.int64(k) for k in range(2))
S_KIND, S_STEP, S_INPUT = (np.int64(k) for k in range(3))
PLACE, MOMENT, ACROSS, RADIUS, FACTOR = (np.int64(k) for k in (0, 3, 6, 9, 10))
MOST = 2048  # points around a coil, enough outside of 2 % of its radius around the wire
DIGITS = 46.0  # exp(−46) = 1e-20: below rounding, times the growth of second derivatives with the number of points
N3, N0 = np.int64(3), np.int64(0)


@routine
def circle_points(r, normal, radius):
    """How many points around a circle make the integral exact for a point at r from its centre.

    The nearest pole of the integrand is at an imaginary angle α with cosh α = (r² + R²)/(2 ρ R), and the error falls as exp(−nα).
    """
    z = vdot(normal, r).real
    square = vdot(r, r).real
    across = np.sqrt(max(square - z * z, 0.0))
    part = 2.0 * across * radius
    whole = square + radius * radius
    if part * 1e3 < whole:
        return 14
    ratio = whole / part
    alpha = np.log(ratio + np.sqrt(max(ratio * ratio - 1.0, 0.0)))
    if alpha * MOST < DIGITS:
        return MOST
    return 8 + int(DIGITS / alpha)


@routine
def point_field(a, r, m, second):
    """B, J and H of a dipole a at the distance r, without the factor; H is zero unless `second`."""
    square = vdot(r, r)
    i2 = 1.0 / square
    i3 = i2 / np.sqrt(square)
    i5 = i3 * i2
    ar = vdot(a, r)
    B = vaxpy(3.0 * ar * i5, r, vscale(-i3, a))
    J = mscale(3.0 * i5, madd(madd(mouter(r, a), mouter(a, r)), skew_diag(vscale(0.0, r), ar)))
    J = madd(J, mscale(-15.0 * ar * i5 * i2, mouter(r, r)))
    H = mscale(0.0, J)
    if second:
        mr, am = vdot(m, r), vdot(a, m)
        zero = vscale(0.0, r)
        H = mscale(3.0 * i5, madd(madd(mouter(a, m), mouter(m, a)), skew_diag(zero, am)))
        g = vaxpy(mr, a, vscale(ar, m))
        part = madd(madd(mouter(g, r), mouter(r, g)), madd(mscale(am, mouter(r, r)), skew_diag(zero, ar * mr)))
        H = madd(H, mscale(-15.0 * i5 * i2, part))
        H = madd(H, mscale(105.0 * ar * mr * i5 * i2 * i2, mouter(r, r)))
    return B, J, H


@routine
def coil_field(e1, e2, radius, r, m, second):
    """The same of a circle around the origin through `radius` times the unit vectors e1 and e2, for the current 1."""
    n = circle_points(r, vcross(e1, e2), radius)
    B = vscale(0.0, r)
    zero = B
    J = skew_diag(zero, 0.0 * r[0])
    H = J
    for k in range(n):
        angle = 2.0 * np.pi * k / n
        c, s = np.cos(angle), np.sin(angle)
        d = vsub(r, vscale(radius, vaxpy(c, e1, vscale(s, e2))))
        along = vscale(2.0 * np.pi * radius / n, vaxpy(-s, e1, vscale(c, e2)))
        square = vdot(d, d)
        i2 = 1.0 / square
        i3 = i2 / np.sqrt(square)
        i5 = i3 * i2
        turned = vcross(along, d)
        B = vaxpy(i3, turned, B)
        J = madd(J, madd(skew_diag(vscale(i3, along), 0.0 * i3), mscale(-3.0 * i5, mouter(turned, d))))
        if second:
            a = vcross(m, along)
            ad = vdot(a, d)
            part = madd(madd(mouter(a, d), mouter(d, a)), skew_diag(zero, ad))
            H = madd(H, madd(mscale(-3.0 * i5, part), mscale(15.0 * ad * i5 * i2, mouter(d, d))))
    return B, J, H


@routine
def field_at(magnets, s, state, u, x, m, second):
    """B, its Jacobian J and the Hessian H of m·B of a source of strength one at x; of the uniform field as it is."""
    kind = magnets.source[s, S_KIND]
    shape = magnets.shape[s]
    if kind == UNIFORM:
        k = magnets.source[s, S_INPUT]
        one = 1.0 + 0.0 * x[0]
        B = (u[k] * one, u[k + 1] * one, u[k + 2] * one)
        J = skew_diag(vscale(0.0, x), 0.0 * x[0])
        return B, J, J
    row = state[magnets.source[s, S_STEP]]
    R = get9(row, RE)
    r = vsub(x, point_at(row, get3(shape, PLACE)))
    a = mv(R, get3(shape, MOMENT))
    if kind == POINT:
        B, J, H = point_field(a, r, m, second)
    else:
        B, J, H = coil_field(a, mv(R, get3(shape, ACROSS)), shape[RADIUS], r, m, second)
    f = shape[FACTOR]
    return vscale(f, B), mscale(f, J), mscale(f, H)


@routine
def strengths(magnets, d, s, u, share):
    """Factors of a dipole and of a source; of a source without an input the share of constant loads."""
    k, j = magnets.dipole[d, D_INPUT], magnets.source[s, S_INPUT]
    own = u[k] if k >= 0 else 1.0 + 0.0 * share
    other = u[j] if j >= 0 else share
    if magnets.source[s, S_KIND] == UNIFORM:
        other = 1.0 + 0.0 * other
    return own, other


@routine
def dipole_at(magnets, d, state):
    """Place and moment of a dipole of strength one."""
    row = state[magnets.dipole[d, D_STEP]]
    return point_at(row, get3(magnets.moment[d], PLACE)), mv(get9(row, RE), get3(magnets.moment[d], MOMENT))


@routine
def apply_magnets(t, work, magnets, space, q, v, u, r):
    """Subtract the wrenches on dipoles, and add them to the steps of their sources; for any number type."""
    state = work.state
    for p in range(magnets.pair.shape[0]):
        d, s = magnets.pair[p, 0], magnets.pair[p, 1]
        i, j = magnets.dipole[d, D_STEP], magnets.source[s, S_STEP]
        own, other = strengths(magnets, d, s, u, work.share[0])
        x, m = dipole_at(magnets, d, state)
        B, J, _H = field_at(magnets, s, state, u, x, m, NO)
        m = vscale(own * other, m)
        M, F = vcross(m, B), mtv(J, m)
        if i >= 0:
            subtract_wrench(state[i], x, M, F)
        if j >= 0:
            subtract_wrench(state[j], x, vscale(-1.0, M), vscale(-1.0, F))


@routine
def put_block(A, r0, c0, P):
    """A[r0:r0+3, c0:c0+3] = P."""
    for r in range(3):
        for c in range(3):
            A[r0 + r, c0 + c] = P[3 * r + c]


@routine
def magnet_tangents(t, work, magnets, u, cross, out):
    """Matrices K of the steps; with `cross`, what couples the step of a dipole with that of its source instead."""
    state = work.state
    A, B6, spare = work.law[0], work.law[1], work.law[2]
    for p in range(magnets.pair.shape[0]):
        d, s = magnets.pair[p, 0], magnets.pair[p, 1]
        i, j = magnets.dipole[d, D_STEP], magnets.source[s, S_STEP]
        if cross and (i < 0 or j < 0):
            continue
        own, other = strengths(magnets, d, s, u, work.share[0])
        x, m = dipole_at(magnets, d, state)
        B, J, H = field_at(magnets, s, state, u, x, m, YES)
        m = vscale(own * other, m)
        M, F = vcross(m, B), mtv(J, m)
        clear_laws(A, B6)
        put_block(A, N0, N0, madd(mouter(m, B), skew_diag(vscale(0.0, m), -vdot(m, B))))
        put_block(A, N0, N3, hat_m(m, J))
        put_block(A, N3, N0, mscale(-1.0, m_hat(mt(J), m)))
        put_block(A, N3, N3, mscale(own * other, H))
        if cross:
            pair_columns(t, work, i, j, work.pair)
            add_cross_terms(work, i, j, x, M, F, A, B6, spare, work.message[MESSAGE_CQ], work.pair, out)
        elif j < 0:
            subtract_law(work, i, x, M, F, A, B6)
        else:
            subtract_pair(work, i, j, x, M, F, A, B6, spare)


@routine
def add_column(t, work, i, j, x, M, F, out):
    """What a wrench on step i and its opposite on step j do to the coordinates, added to a row of `out`."""
    add_projection(t, work, i, x, M, F, out)
    add_projection(t, work, j, x, vscale(-1.0, M), vscale(-1.0, F), out)


@routine
def magnet_columns(t, work, magnets, u, out):
    """Derivatives of the generalised forces with respect to the inputs."""
    for p in range(magnets.pair.shape[0]):
        d, s = magnets.pair[p, 0], magnets.pair[p, 1]
        i, j = magnets.dipole[d, D_STEP], magnets.source[s, S_STEP]
        k, c = magnets.dipole[d, D_INPUT], magnets.source[s, S_INPUT]
        if k < 0 and c < 0:
            continue
        own, other = strengths(magnets, d, s, u, work.share[0])
        x, m = dipole_at(magnets, d, work.state)
        B, J, _H = field_at(magnets, s, work.state, u, x, m, NO)
        M, F = vcross(m, B), mtv(J, m)
        if k >= 0:
            add_column(t, work, i, j, x, vscale(other, M), vscale(other, F), out[k])
        if c >= 0 and magnets.source[s, S_KIND] == UNIFORM:
            for axis in range(3):
                M = vscale(own, vcross(m, unit_vector(axis, 1.0)))
                add_column(t, work, i, j, x, M, vscale(0.0, M), out[c + axis])
        elif c >= 0:
            add_column(t, work, i, j, x, vscale(own, M), vscale(own, F), out[c])


@routine
def magnet_potential(work, magnets, u):
    """Add −m·B of all pairs to the energy."""
    for p in range(magnets.pair.shape[0]):
        d, s = magnets.pair[p, 0], magnets.pair[p, 1]
        own, other = strengths(magnets, d, s, u, work.share[0])
        x, m = dipole_at(magnets, d, work.state)
        B, _J, _H = field_at(magnets, s, work.state, u, x, m, NO)
        energy = own * other * vdot(m, B)
        work.message[MESSAGE_ENERGY] -= energy
        work.message[MESSAGE_SIZE] += abs(energy)


@unit(Magnets, tasks=(FORCES, MATRICES, TANGENT, ENERGY, INPUTS))
def magnetic_fields(task, t, work, magnets, space, q, v, u, out):
    """Dipoles in the fields of magnets and coils."""
    if task == FORCES:
        apply_magnets(t, work, magnets, space, q, v, u, work.zero)
    elif task == MATRICES:
        magnet_tangents(t, work, magnets, u, NO, out)
    elif task == TANGENT:
        magnet_tangents(t, work, magnets, u, YES, out)
    elif task == ENERGY:
        magnet_potential(work, magnets, u)
    elif task == INPUTS:
        magnet_columns(t, work, magnets, u, out)
