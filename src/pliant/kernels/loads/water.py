"""Forces of a fluid on steps: buoyancy, drag and lift, Lighthill's tail force, and what a current adds to the added mass.

Drag is ``−(D₁ + ‖v‖ D₂) η`` in body axes with the twist η relative to the fluid and its linear part v ([001] eq. 7, [002]
eq. 62). The added mass itself is part of the step's inertia (section by section this is Kirchhoff's equation, and with
the tail force it is Lighthill's large-amplitude theory: the flux of momentum along the body integrates to its value at
the tail). A uniform current U changes the inertial wrench of the added mass I by
``I ad_V U − ad*_V I U − ad*_U I V + ad*_U I U`` (the frame that moves with the fluid is inertial).
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import (
    add3,
    get3,
    get9,
    hat_m,
    m_hat,
    madd,
    mm,
    mmt,
    mouter,
    mscale,
    mt,
    mtv,
    mv,
    skew_diag,
    vadd,
    vcross,
    vdot,
    vscale,
    vsub,
)
from ..layout import F1, F2, H_Y, I2, MESSAGE_ENERGY, MESSAGE_SIZE, PE, RE, VE
from ..packing import unpacker
from ..recursion.inertia import block9
from .law import N0, N1, N3, clear_laws, subtract_shifted, subtract_wrench
from .units import ENERGY, FORCES, MATRICES, unit


class Water(NamedTuple):
    """What the fluid does to each step, as arrays; constant after compile."""

    place: I2  # (m, 3) step; 1 if only forces depend on velocity, 2 also moments and angular velocity, else 0; 1: added mass
    data: F2  # (m, WATER_WIDTH) frame of the body in the step, matrices and displaced mass in that frame
    fluid: F1  # (3,) current [m/s], world axes


unpack_water = unpacker(Water)

F_STEP, F_DRAG, F_ADDED = (np.int64(k) for k in range(3))
W_ROT, W_POS, W_LINEAR, W_SQUARE, W_ADDED, W_MASS, W_CENTRE, W_TAIL = (
    np.int64(k) for k in (0, 9, 12, 48, 84, 120, 121, 124)
)
WATER_WIDTH = 126


@routine
def frame_of(row, data):
    """Rotation and position of the body's frame."""
    R = get9(row, RE)
    return mm(R, get9(data, W_ROT)), vadd(get3(row, PE), mv(R, get3(data, W_POS)))


@routine
def buoyancy(data, gravity, R, x):
    """Where and how strongly the displaced fluid lifts."""
    return vadd(x, mv(R, get3(data, W_CENTRE))), vscale(-data[W_MASS], gravity)


@routine
def relative_twist(row, R, x, current):
    """Twist relative to the fluid, in axes of the body."""
    w = get3(row, VE)
    v = vsub(vadd(get3(row, VE + 3), vcross(w, x)), current)
    return mtv(R, w), mtv(R, v)


@routine
def product3(data, o, x):
    """The 3×3 block at o times x."""
    return mv(block9(data, o), x)


@routine
def drag(data, w, v):
    """Wrench of drag and tail force in body axes for the relative twist (w, v), and ‖v‖."""
    s = np.sqrt(vdot(v, v))
    o = W_LINEAR
    p = W_SQUARE
    m = vadd(
        vadd(product3(data, o, w), product3(data, o + 3, v)),
        vscale(s, vadd(product3(data, p, w), product3(data, p + 3, v))),
    )
    f = vadd(
        vadd(product3(data, o + 18, w), product3(data, o + 21, v)),
        vscale(s, vadd(product3(data, p + 18, w), product3(data, p + 21, v))),
    )
    my, mz = data[W_TAIL], data[W_TAIL + 1]
    tail = (-0.5 * (my * v[1] * v[1] + mz * v[2] * v[2]), my * v[0] * v[1], mz * v[0] * v[2])
    return vscale(-1.0, m), vsub(tail, f), s


@routine
def force_drag(data, v):
    """`drag` where only the block of forces and velocities is not zero."""
    s = np.sqrt(vdot(v, v))
    f = vadd(product3(data, W_LINEAR + 21, v), vscale(s, product3(data, W_SQUARE + 21, v)))
    my, mz = data[W_TAIL], data[W_TAIL + 1]
    tail = (-0.5 * (my * v[1] * v[1] + mz * v[2] * v[2]), my * v[0] * v[1], mz * v[0] * v[2])
    return vsub(tail, f), s


@routine
def slope_block(data, row, col, v, s, load):
    """−(D₁ + ‖v‖ D₂) − (D₂η) vᵀ/‖v‖ in one 3×3 block; `load` is the matching half of D₂η."""
    o = 18 * row + 3 * col
    out = madd(block9(data, W_LINEAR + o), mscale(s, block9(data, W_SQUARE + o)))
    if col == 1 and s.real > 0.0:
        out = madd(out, mouter(vscale(1.0 / s, load), v))
    return mscale(-1.0, out)


@routine
def force_slope(data, v, s):
    """∂(force)/∂v of drag and tail force in body axes, 3×3."""
    out = slope_block(data, N1, N1, v, s, product3(data, W_SQUARE + 21, v))
    my, mz = data[W_TAIL], data[W_TAIL + 1]
    return madd(out, (0.0, -my * v[1], -mz * v[2], my * v[1], my * v[0], 0.0, mz * v[2], 0.0, mz * v[0]))


@routine
def current_wrench(data, row, R, x, current):
    """Inertial wrench that a current adds to the added mass, about x in world axes: (moment, force)."""
    w = get3(row, VE)
    v = vadd(get3(row, VE + 3), vcross(w, x))
    wb, vb, ub = mtv(R, w), mtv(R, v), mtv(R, current)
    o = W_ADDED
    # momentum of V and of U = (0; u), and I ad_V U = I (0; ω × u)
    hf = vadd(product3(data, o + 18, wb), product3(data, o + 21, vb))
    um, uf = product3(data, o + 3, ub), product3(data, o + 21, ub)
    wu = vcross(wb, ub)
    m, f = product3(data, o + 3, wu), product3(data, o + 21, wu)
    # − ad*_V (um, uf) − ad*_U (hm − um, hf − uf), ad*_V (m, f) = (ω×m + v×f, ω×f)
    m = vsub(m, vadd(vadd(vcross(wb, um), vcross(vb, uf)), vcross(ub, vsub(hf, uf))))
    f = vsub(f, vcross(wb, uf))
    return mv(R, m), mv(R, f)


@routine
def apply_water(t, work, water, space, q, v, u, r):
    """Subtract the forces of the fluid from the inertial wrenches of the steps; for any number type."""
    state = work.state
    g = get3(work.gravity, N0)
    current = get3(water.fluid, N0)
    flows = current[0] != 0.0 or current[1] != 0.0 or current[2] != 0.0
    for k in range(water.place.shape[0]):
        row = state[water.place[k, F_STEP]]
        data = water.data[k]
        R, x = frame_of(row, data)
        kind = water.place[k, F_DRAG]
        if data[W_MASS] != 0.0:
            y, F = buoyancy(data, g, R, x)
            subtract_wrench(row, y, vscale(0.0, F), F)
        if kind != 0:
            angular, linear = relative_twist(row, R, x, current)
            if kind == 1:
                f, _s = force_drag(data, linear)
                f = mv(R, f)
                subtract_wrench(row, x, vscale(0.0, f), f)
            else:
                m, f, _s = drag(data, angular, linear)
                subtract_wrench(row, x, mv(R, m), mv(R, f))
        if flows and water.place[k, F_ADDED] != 0:
            m, f = current_wrench(data, row, R, x, current)
            subtract_wrench(row, x, vscale(-1.0, m), vscale(-1.0, f))


@routine
def put_rotated(P, r0, c0, R, block):
    """P[r0:r0+3, c0:c0+3] = R block Rᵀ."""
    A = mmt(mm(R, block), R)
    for r in range(3):
        for c in range(3):
            P[r0 + r, c0 + c] = A[3 * r + c]


@routine
def put3x3(P, r0, c0, A):
    """P[r0:r0+3, c0:c0+3] = A."""
    for r in range(3):
        for c in range(3):
            P[r0 + r, c0 + c] = A[3 * r + c]


@routine
def subtract_force_slope(work, i, x, B):
    """N −= Tᵀ [[0, 0], [0, B]] T of a force at x that depends on the velocity of x alone."""
    Bx = m_hat(B, x)
    xB = hat_m(x, B)
    xBx = m_hat(xB, x)
    N = work.bias[i]
    for r in range(3):
        for c in range(3):
            k = 3 * r + c
            N[r, c] += xBx[k]
            N[r, 3 + c] -= xB[k]
            N[3 + r, c] += Bx[k]
            N[3 + r, 3 + c] -= B[k]


@routine
def subtract_turning(K, x, P):
    """K −= Tᵀ [[0, 0], [P, 0]] T of a force at x that changes by P δθ beyond turning with the body."""
    top = hat_m(x, P)
    for r in range(3):
        for c in range(3):
            K[r, c] -= top[3 * r + c]
            K[3 + r, c] -= P[3 * r + c]


@routine
def water_tangents(water, gravity, work):
    """Matrices K and N of the fluid's forces."""
    g = get3(gravity, N0)
    current = get3(water.fluid, N0)
    flows = current[0] != 0.0 or current[1] != 0.0 or current[2] != 0.0
    U = skew_diag(vscale(-1.0, current), 0.0)
    for k in range(water.place.shape[0]):
        i = water.place[k, F_STEP]
        row = work.state[i]
        data = water.data[k]
        R, x = frame_of(row, data)
        kind = water.place[k, F_DRAG]
        if data[W_MASS] != 0.0:
            y, F = buoyancy(data, g, R, x)
            subtract_turning(work.load[i], y, skew_diag(F, 0.0))
        if kind == 1:
            _w, v = relative_twist(row, R, x, current)
            _f, s = force_drag(data, v)
            B = mmt(mm(R, force_slope(data, v, s)), R)
            subtract_force_slope(work, i, x, B)
            if flows:  # the current turns against the body: δη = r + (0; δθ × U)
                subtract_turning(work.load[i], x, mm(B, U))
        elif kind == 2:
            w, v = relative_twist(row, R, x, current)
            _m, _f, s = drag(data, w, v)
            lm = vadd(product3(data, W_SQUARE, w), product3(data, W_SQUARE + 3, v))
            lf = vadd(product3(data, W_SQUARE + 18, w), product3(data, W_SQUARE + 21, v))
            A, B6, top = work.law[0], work.law[1], slope_block(data, N0, N1, v, s, lm)
            clear_laws(A, B6)
            put_rotated(B6, N0, N0, R, slope_block(data, N0, N0, v, s, lm))
            put_rotated(B6, N0, N3, R, top)
            put_rotated(B6, N3, N0, R, slope_block(data, N1, N0, v, s, lf))
            tail = madd(
                force_slope(data, v, s), mscale(-1.0, slope_block(data, N1, N1, v, s, product3(data, W_SQUARE + 21, v)))
            )
            put_rotated(B6, N3, N3, R, madd(slope_block(data, N1, N1, v, s, lf), tail))
            if flows:
                put3x3(A, N0, N0, mm(mmt(mm(R, top), R), U))
                put3x3(
                    A,
                    N3,
                    N0,
                    mm((B6[3, 3], B6[3, 4], B6[3, 5], B6[4, 3], B6[4, 4], B6[4, 5], B6[5, 3], B6[5, 4], B6[5, 5]), U),
                )
                subtract_shifted(work.load[i], A, x)
            subtract_shifted(work.bias[i], B6, x)
        if flows and water.place[k, F_ADDED] != 0:
            current_tangent(work, i, data, R, x, current)


@routine
def current_tangent(work, i, data, R, x, current):
    """K and N of `current_wrench`, which is on the left-hand side: they are added.

    At x, in terms of the variations r = (r_ω, r_v) of the body twist and δu = −δθ × U of the current, all seen from the body.
    """
    row = work.state[i]
    w = get3(row, VE)
    v = vadd(get3(row, VE + 3), vcross(w, x))
    o = W_ADDED
    b = mmt(mm(R, block9(data, o + 3)), R)
    d = mmt(mm(R, block9(data, o + 21)), R)
    bt = mt(b)
    uf, um = mv(d, current), mv(b, current)
    rf = vsub(vadd(mv(bt, w), mv(d, v)), uf)  # force part of the momentum relative to the fluid
    W, V, U = skew_diag(w, 0.0), skew_diag(v, 0.0), skew_diag(current, 0.0)
    UF, UM, RF = skew_diag(uf, 0.0), skew_diag(um, 0.0), skew_diag(rf, 0.0)
    P, Q = work.law[0], work.law[1]
    clear_laws(P, Q)
    # m = b (w×u) − w×um − v×uf − u×(hf − uf), f = d (w×u) − w×uf
    mw = madd(mscale(-1.0, mm(b, U)), madd(UM, mscale(-1.0, mm(U, bt))))
    mvv = madd(UF, mscale(-1.0, mm(U, d)))
    put3x3(Q, N0, N0, mw)
    put3x3(Q, N0, N3, mvv)
    put3x3(Q, N3, N0, madd(mscale(-1.0, mm(d, U)), UF))
    mu = madd(madd(mm(b, W), mscale(-1.0, mm(W, b))), madd(mscale(-1.0, mm(V, d)), madd(RF, mm(U, d))))
    fu = madd(mm(d, W), mscale(-1.0, mm(W, d)))
    # δu = −δθ × U = Û δθ
    put3x3(P, N0, N0, mm(mu, U))
    put3x3(P, N3, N0, mm(fu, U))
    for r in range(6):
        for c in range(6):
            P[r, c] = -P[r, c]
            Q[r, c] = -Q[r, c]
    subtract_shifted(work.load[i], P, x)
    subtract_shifted(work.bias[i], Q, x)


@routine
def water_potential(water, gravity, state, origin):
    """Potential energy of buoyancy and the size of its parts; needs the forward pass."""
    energy = 0.0
    size = 0.0
    for k in range(water.place.shape[0]):
        R, x = frame_of(state[water.place[k, F_STEP]], water.data[k])
        y, F = buoyancy(water.data[k], get3(gravity, N0), R, x)
        for c in range(3):
            part = F[c] * (y[c] + origin[c])
            energy -= part
            size += abs(part)
    return energy, size


@routine
def add_outer(slope, o, a, b):
    """Add a bᵀ to a 3×3 block of a 6×6 matrix by rows."""
    for r in range(3):
        for c in range(3):
            slope[o + 6 * r + c] += a[r] * b[c]


@routine
def drag_owes(kind, w, v, yw, yv, slope):
    """What drag and tail force owe their coefficients, for φ = −⟨ŷ, wrench⟩ with the virtual twist (yw, yv), in axes of the body."""
    s = np.sqrt(vdot(v, v))
    add_outer(slope, W_LINEAR + 21, yv, v)
    add_outer(slope, W_SQUARE + 21, vscale(s, yv), v)
    if kind == 2:
        add_outer(slope, W_LINEAR, yw, w)
        add_outer(slope, W_LINEAR + 3, yw, v)
        add_outer(slope, W_LINEAR + 18, yv, w)
        add_outer(slope, W_SQUARE, vscale(s, yw), w)
        add_outer(slope, W_SQUARE + 3, vscale(s, yw), v)
        add_outer(slope, W_SQUARE + 18, vscale(s, yv), w)
    slope[W_TAIL] += 0.5 * yv[0] * v[1] * v[1] - yv[1] * v[0] * v[1]
    slope[W_TAIL + 1] += 0.5 * yv[0] * v[2] * v[2] - yv[2] * v[0] * v[2]


@routine
def current_owes(w, v, u, yw, yv, slope):
    """What `current_wrench` owes the added mass, likewise; u is the current."""
    wu, o = vcross(w, u), W_ADDED
    add_outer(slope, o + 3, yw, wu)
    add_outer(slope, o + 3, vcross(w, yw), u)
    add_outer(slope, o + 18, vcross(u, yw), w)
    add_outer(slope, o + 21, vadd(vcross(v, yw), vcross(w, yv)), u)
    add_outer(slope, o + 21, vcross(u, yw), vsub(v, u))
    add_outer(slope, o + 21, yv, wu)


def water_owes(t, work, water, gain, common, q, v, u):
    """What the fluid's forces owe their coefficients, masses and gravity; not where a body's frame is, nor the current."""
    g = get3(work.gravity, N0)
    current = get3(water.fluid, N0)
    flows = current[0] != 0.0 or current[1] != 0.0 or current[2] != 0.0
    for k in range(water.place.shape[0]):
        i, kind = water.place[k, F_STEP], water.place[k, F_DRAG]
        row, data, slope = work.state[i], water.data[k], gain.data[k]
        R, x = frame_of(row, data)
        yw, yv = get3(work.reverse[i], H_Y), get3(work.reverse[i], H_Y + 3)
        y, F = buoyancy(data, g, R, x)
        at = vadd(yv, vcross(yw, y))
        slope[W_MASS] += vdot(g, at)
        add3(slope, W_CENTRE, mtv(R, vcross(yw, F)))
        add3(common.gravity, N0, vscale(data[W_MASS], at))
        yw, yv = mtv(R, yw), mtv(R, vadd(yv, vcross(yw, x)))
        if kind != 0:
            angular, linear = relative_twist(row, R, x, current)
            drag_owes(kind, angular, linear, yw, yv, slope)
        if flows and water.place[k, F_ADDED] != 0:
            w = get3(row, VE)
            velocity = vadd(get3(row, VE + 3), vcross(w, x))
            current_owes(mtv(R, w), mtv(R, velocity), mtv(R, current), yw, yv, slope)


@unit(Water, tasks=(FORCES, MATRICES, ENERGY), reverse=water_owes)
def fluid(task, t, work, water, space, q, v, u, out):
    """Forces of a fluid."""
    if task == FORCES:
        apply_water(t, work, water, space, q, v, u, work.zero)
    elif task == MATRICES:
        water_tangents(water, work.gravity, work)
    elif task == ENERGY:
        energy, size = water_potential(water, work.gravity, work.state, work.origin)
        work.message[MESSAGE_ENERGY] += energy
        work.message[MESSAGE_SIZE] += size
