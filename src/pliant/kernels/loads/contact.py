"""Contact of points of the robot with obstacles and bodies, between rods, and between edges of bodies.

A point is a sphere of the rod's local radius, for contact between rods a capsule along the rod's axis. The law is

``fₙ = k δᵖ (1 + d δ̇)`` (Hertz, [002] eq. 57, with Hunt and Crossley's damping d), never negative,
``F = fₙ (n − μ y)``, at the surface of the sphere or capsule,

with the penetration δ and the normal n. Friction is that of a bristle that sticks: y is its strain, ``(s + (τ + Δt) vₜ) / s₀`` cut off at length one,
where s is how far it was bent the time Δt ago (`Work.memory`, `Work.lag`), vₜ the sliding velocity, s₀ the way it bends before it slips and ``τ = s₀/v₀`` a
damping of the bristle alone. So what sticks does not creep, and slips where the tangential force passes μ fₙ. Without s₀,
``y = vₜ / √(|vₜ|² + v₀²)``, regularised at the speed v₀.

Internal variables, from `Contact.first` on: four for each point (bent bristle s in the frame of the obstacle's step, speed of the impact), then, if rods
touch each other, those of `bristles` for their capsules (five for each of a few slots: s in the frame of the second's step, speed of the impact, which
capsule it is bent by).

With a coefficient of restitution e the damping is ``d = c/v₁`` with the speed v₁ of the impact, which is remembered while it touches, and the c for which any sphere leaves
with e v₁: ``c − ln(1 + c) + c e + ln(1 − c e) = 0``, from ∫ v dv/(1 + d v) = 0 over the impact.

In statics (`layout.STATIC`) only what touched at the start sticks; what comes to touch on the way does so without friction. Derivatives are exact
on each side of δ = 0 and of slipping.

Forces are computed in two places, `obstacle_force` and `capsule_contact`. The residual, its derivatives and the table for
the user (`write_contacts`) all start from their answers, so that what is reported is what acts.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import get3, get9, mm, mtv, mv, vadd, vaxpy, vcross, vdot, vscale, vsub
from ..layout import (
    F2,
    I1,
    I2,
    MESSAGE_COUNT,
    MESSAGE_GAP,
    PE,
    RE,
    STATIC,
    VE,
)
from .bristles import clear_slots, put_slot, slot_of
from .edges import clip, closest, fade, fade_rate, slide_along
from .law import (
    add_cross_terms,
    pair_columns,
    point_at,
    subtract_law,
    subtract_pair,
    subtract_wrench,
    unit_vector,
    velocity_at,
)
from .surfaces import SHAPE_STEP, apart, distance_to
from .units import ENERGY, FORCES, MATRICES, TANGENT, TOUCHES


class Contact(NamedTuple):
    """Contact points, obstacles and who may touch whom, as arrays; constant after compile."""

    point: I2  # (points, 2) step, and of a sphere between rods the capsule that it is part of, else −1
    ball: F2  # (points, 6) centre in the step's frame, radius, half length of the capsule along the step's x, weight
    shape: I2  # (shapes, 3) kind, step that it is fixed to (−1: the world), 1 if the robot is inside
    place: F2  # (shapes, 16) pose in the frame of its step, sizes
    touch: I2  # (contacts, 5) first and end of a range of points, shape, law, 1 if the points are those of the second part of the contact
    rods: I2  # (pairs, 5) two ranges of capsules (the same for contact of a rod with itself), of rods or of edges of bodies, law
    slot: I1  # (points,) place of the internal variables of a capsule after `first`; −1 if it has none; empty without capsules that remember
    skip: I2  # (points, points) 1 for two capsules that never touch (neighbours along a rod, joined at rest); empty without rods
    law: F2  # (laws, 7) k, p, d, μ, v₀, s₀, c
    first: I1  # (1,) of the internal variables: four for each point, bent bristle in the frame of the obstacle's step, and the speed of the impact, minus the speed of approach if it does not touch; −1 if none
    axis: F2  # (points, 4) direction of a capsule in the step's frame, and of an edge the length at its ends over which it fades (see `edges`), else 0
    data: I2  # (shapes, 3) where the arrays of a mesh or a field begin, see `surfaces`
    node: F2  # (boxes, 6) of meshes: lowest and highest corner
    tree: I2  # (boxes, 3) the next box after all that is in this one, first triangle, number of triangles
    triangle: F2  # (triangles, 30) see `meshes`
    field: F2  # (nodes, 4) see `fields`
    bound: F2  # (shapes, 4) a sphere around each shape, in the frame of its step; the radius is −1 if it has no end
    reach: F2  # (contacts, 4) a sphere around the range of points, in the frame of the step of the first of them; −1 if they are on several
    lines: I2  # (pairs, 5) range of spheres along a rod, range of capsules of another that it touches all along, law
    around: F2  # (pairs, 8) spheres around the two ranges of capsules, likewise


class ContactSpace(NamedTuple):
    """Workspace of the broad phase; always real."""

    sweep: F2  # (points, 4)
    centre: F2  # (points, 3)


C_FIRST, C_END, C_SHAPE, C_LAW, C_TURNED = (np.int64(k) for k in range(5))
R_LAW = np.int64(4)
BALL_RADIUS, BALL_HALF, BALL_WEIGHT = (np.int64(k) for k in (3, 4, 5))
LAW_STIFFNESS, LAW_EXPONENT, LAW_DAMPING, LAW_FRICTION, LAW_SPEED, LAW_STICTION, LAW_RESTITUTION = (
    np.int64(k) for k in range(7)
)
REMEMBERED = 4  # internal variables of a point
# columns of the table of contacts: number of the contact, its two points (−1: an obstacle), gap, where the force acts, the
# direction away from the second, the force on the first; of those that touch also the velocity of the first relative to the second
# at the centre c (see `capsule_contact`), and the derivative (6,) of the rate of the gap by rotation and displacement of the first,
# seen from the second, at constant velocities: what derivatives of the normal force need
# and the weight of the normal force with the derivative (6,) of its logarithm, which is not zero where an edge fades
T_CONTACT, T_FIRST, T_SECOND, T_GAP, T_POINT, T_NORMAL, T_FORCE, T_SPEED, T_TURN, T_WEIGHT, T_FADE = (
    np.int64(k) for k in (0, 1, 2, 3, 4, 7, 10, 13, 16, 22, 23)
)
TABLE_WIDTH = 29
N0, N9 = np.int64(0), np.int64(9)
NOBODY = np.int64(-1)


@routine
def centre_of(contact, k, state):
    """World position of a contact point."""
    return point_at(state[contact.point[k, 0]], get3(contact.ball[k], N0))


@routine
def shape_frame(contact, s, state):
    """Pose of an obstacle."""
    row = state[contact.shape[s, SHAPE_STEP]]
    R = get9(row, RE)
    place = contact.place[s]
    return mm(R, get9(place, N0)), vadd(get3(row, PE), mv(R, get3(place, N9)))


@routine
def recalled(contact, m, work, R):
    """What point m remembers of an obstacle whose step has the rotation R: bent bristle (3,), the time that is to be added to it, speed of the impact.

    The time is negative for a bristle that remembers nothing, and in statics 0 for what did not touch.
    """
    zero = 0.0 * R[0]
    if contact.first[0] < 0:
        return (zero, zero, zero), -1.0, 0.0
    o = contact.first[0] + REMEMBERED * m
    hit = work.memory[o + 3].real
    lag = work.lag[0].real
    if hit <= 0.0:
        return (zero, zero, zero), 0.0 if lag >= STATIC else lag, hit
    return mv(R, get3(work.memory, o)), lag, hit


@routine
def recalled_pair(contact, k, m, work, R):
    """What capsule k remembers of capsule m, whose step has the rotation R; as `recalled`."""
    zero = 0.0 * R[0]
    if contact.slot.shape[0] == 0:
        return (zero, zero, zero), -1.0, 0.0
    lag = work.lag[0].real
    o = slot_of(work.memory, contact.first[0] + contact.slot[k], m)
    if o < 0:
        return (zero, zero, zero), 0.0 if lag >= STATIC else lag, 0.0
    return mv(R, get3(work.memory, o)), lag, work.memory[o + 3].real


@routine
def bristle(law, n, v, vc, past, static):
    """How far the bristle of a point that touches is bent now (3,), and the speed of its impact; `vc` is the sliding velocity."""
    bent, lag, hit = past
    z = vadd(bent, vscale(lag, vc))
    z = vaxpy(-vdot(n, z), n, z)
    size = np.sqrt(vdot(z, z) + 1e-300)
    if static and hit <= 0.0:
        z = vscale(0.0, z)
    elif size.real > law[LAW_STICTION]:
        z = vscale(law[LAW_STICTION] / size, z)
    return z, hit if hit > 0.0 else impact_speed(law, n, v, hit)


@routine
def keep(contact, m, work, R, law, n, v, w, rho, past):
    """Remember what a point that touches has of the bristle and of the impact."""
    if contact.first[0] >= 0:
        put_bristle(work, contact.first[0] + REMEMBERED * m, R, law, n, v, w, rho, past)


@routine
def keep_pair(contact, k, m, work, R, law, n, v, w, rho, past):
    """As `keep`, of two capsules; if all places of the first are taken, they remember nothing."""
    if contact.slot.shape[0] > 0:
        o = put_slot(work.memory, work.kept, contact.first[0] + contact.slot[k], m)
        if o >= 0:
            put_bristle(work, o, R, law, n, v, w, rho, past)


@routine
def put_bristle(work, o, R, law, n, v, w, rho, past):
    """The bent bristle in the frame R and the speed of the impact, into work.kept[o : o + 4]."""
    z, hit = bristle(law, n, v, vadd(v, vcross(w, rho)), past, work.lag[0].real >= STATIC)
    own = mtv(R, z)
    for c in range(3):
        work.kept[o + c] = own[c]
    work.kept[o + 3] = hit


@inline
def impact_speed(law, n, v, hit):
    """Speed of the impact of a point that touches: remembered, or that of its approach in the step before, or what it has now; of the last two at least v₀."""
    if hit > 0.0:
        return 0.0 * law[LAW_SPEED] + hit
    speed = -hit - 0.0 * vdot(n, v) if hit < 0.0 else -vdot(n, v)
    return speed if speed.real > law[LAW_SPEED] else law[LAW_SPEED] + 0.0 * speed


@routine
def forget(contact, m, work, row, other, c, n):
    """A point that does not touch remembers how fast it comes."""
    if contact.first[0] >= 0:
        o = contact.first[0] + REMEMBERED * m
        for k in range(3):
            work.kept[o + k] = 0.0
        v = vsub(velocity_at(row, c), velocity_at(other, c))
        work.kept[o + 3] = min(vdot(n, v).real, 0.0)


@routine
def forget_all(contact, k, work):
    """Points that are far from a shape remember nothing."""
    if contact.first[0] >= 0:
        for o in range(
            contact.first[0] + REMEMBERED * contact.touch[k, C_FIRST],
            contact.first[0] + REMEMBERED * contact.touch[k, C_END],
        ):
            work.kept[o] = 0.0


@routine
def is_far(contact, k, state, task, margin):
    """Broad phase: whether all points of a contact are further from its shape than `margin`.

    For FORCES, if they remember how fast a point comes, they must be further apart than they are large.
    """
    bound, reach = contact.bound[contact.touch[k, C_SHAPE]], contact.reach[k]
    if task == FORCES and contact.first[0] >= 0:
        margin = max(bound[BALL_RADIUS], 0.0) + max(reach[BALL_RADIUS], 0.0)
    step = (
        contact.point[contact.touch[k, C_FIRST], 0] if contact.touch[k, C_END] > contact.touch[k, C_FIRST] else NOBODY
    )
    return apart(state[step], state[contact.shape[contact.touch[k, C_SHAPE], SHAPE_STEP]], reach, bound, margin)


@routine
def damping_of(law, n, v, hit):
    """d, the factor 1 + d δ̇ of the normal force, and its derivative by δ̇: none where the speed of the impact is the one now."""
    rate = vdot(n, v)
    if law[LAW_RESTITUTION] < 0.0:
        return law[LAW_DAMPING], 1.0 - law[LAW_DAMPING] * rate, law[LAW_DAMPING]
    d = law[LAW_RESTITUTION] / impact_speed(law, n, v, hit)
    follows = hit == 0.0 and -rate.real > law[LAW_SPEED]
    return d, 1.0 - d * rate, 0.0 * d if follows else d


@routine
def traction(law, n, vc, past):
    """The strain y of the bristle (3,), its vector z (in the tangent plane, of which y is the part that does not slip), 1/s₀ or 1/|z|, and whether it slips."""
    bent, lag, _hit = past
    s0, v0 = law[LAW_STICTION], law[LAW_SPEED]
    if lag < 0.0 or s0 == 0.0:
        z = vaxpy(-vdot(n, vc), n, vc)
        f = 1.0 / np.sqrt(vdot(z, z) + v0 * v0)
        return vscale(f, z), z, f, True
    z = vadd(bent, vscale(lag + s0 / v0, vc))
    z = vaxpy(-vdot(n, z), n, z)
    f = 1.0 / np.sqrt(vdot(z, z) + 1e-300)
    slips = f.real * s0 < 1.0
    if not slips:
        f = 0.0 * f + 1.0 / s0
    return vscale(f, z), z, f, slips


@routine
def normal_force(law, weight, depth, n, v, hit):
    """fₙ, its derivatives with respect to the depth and to its rate (0 where the damping would pull)."""
    k, p = weight * law[LAW_STIFFNESS], law[LAW_EXPONENT]
    _d, rate, d = damping_of(law, n, v, hit)
    power = k * depth ** (p - 1.0)
    if rate.real <= 0.0:
        return 0.0 * power, 0.0 * power, 0.0 * power
    return power * depth * rate, p * power * rate, power * depth * d


@routine
def contact_force(law, weight, depth, n, v, w, rho, past):
    """Force at the surface point c + ρ of a sphere with velocity v at its centre c and angular velocity w (relative); `past` as of `recalled`."""
    fn, _slope, _damp = normal_force(law, weight, depth, n, v, past[2])
    mu = law[LAW_FRICTION]
    if mu == 0.0:
        return vscale(fn, n)
    y, _z, _f, _slips = traction(law, n, vadd(v, vcross(w, rho)), past)
    return vscale(fn, vaxpy(-mu, y, n))


@routine
def force_column(law, weight, depth, n, v, w, rho, past, dn, dx, dv, dw, along, drho):
    """Change of the moment about the centre and of the force for small changes of n, centre, velocities, ρ.

    `along` is how far the contact slides along the axis of a capsule; it is part of the change of ρ.
    """
    fn, slope, damp = normal_force(law, weight, depth, n, v, past[2])
    dfn = -slope * vdot(n, dx) - damp * (vdot(dn, v) + vdot(n, vadd(dv, vcross(w, along))))
    mu = law[LAW_FRICTION]
    t = n
    dt = dn
    if mu != 0.0:
        vc = vadd(v, vcross(w, rho))
        y, _z, f, slips = traction(law, n, vc, past)
        dvc = vadd(dv, vadd(vcross(dw, rho), vcross(w, drho)))
        time = 1.0
        whole = vc
        if past[1] >= 0.0 and law[LAW_STICTION] > 0.0:
            time = past[1] + law[LAW_STICTION] / law[LAW_SPEED]
            whole = vadd(past[0], vscale(time, vc))
        dz = vscale(time, dvc)
        dz = vsub(vaxpy(-vdot(n, dz) - vdot(dn, whole), n, dz), vscale(vdot(n, whole), dn))
        dy = vscale(f, dz)
        if slips:
            dy = vaxpy(-vdot(y, dy), y, dy)
        t = vaxpy(-mu, y, n)
        dt = vaxpy(-mu, dy, dn)
    F = vscale(fn, t)
    dF = vadd(vscale(dfn, t), vscale(fn, dt))
    return vadd(vcross(drho, F), vcross(rho, dF)), dF


@routine
def put_law(law, weight, depth, n, v, w, rho, past, radius, normal, slide, axis, A, B):
    """Matrices A and B (see `law`) of a contact: δn = normal (3, 6) δp; the contact slides by slide (6,) δp along `axis`."""
    one = 1.0 + 0.0 * depth
    zero = vscale(0.0 * one, n)
    for k in range(6):
        dn = (normal[0, k], normal[1, k], normal[2, k])
        along = vscale(slide[k], axis)
        drho = vaxpy(-radius, dn, along)
        dM, dF = force_column(
            law, weight, depth, n, v, w, rho, past, dn, unit_vector(k - 3, one), zero, zero, along, drho
        )
        for c in range(3):
            A[c, k] = dM[c]
            A[3 + c, k] = dF[c]
        dM, dF = force_column(
            law, weight, depth, n, v, w, rho, past, zero, zero, unit_vector(k - 3, one), unit_vector(k, one), zero, zero
        )
        for c in range(3):
            B[c, k] = dM[c]
            B[3 + c, k] = dF[c]


# ---------------------------------------------------------------- points and obstacles


@routine
def obstacle_force(contact, law, m, row, other, depth, c, n, past):
    """Relative velocities v (at the centre c) and w of point m, which is `depth` inside an obstacle, and the force F on it."""
    v = vsub(velocity_at(row, c), velocity_at(other, c))
    w = vsub(get3(row, VE), get3(other, VE))
    rho = vscale(-contact.ball[m, BALL_RADIUS], n)
    return v, w, contact_force(law, contact.ball[m, BALL_WEIGHT], depth, n, v, w, rho, past)


@routine
def apply_obstacle(contact, k, work):
    """Forces of one obstacle on a range of points."""
    state = work.state
    if is_far(contact, k, state, FORCES, 0.0):
        forget_all(contact, k, work)
        return
    s = contact.touch[k, C_SHAPE]
    j = contact.shape[s, SHAPE_STEP]
    other = state[j]
    R, p = shape_frame(contact, s, state)
    law = contact.law[contact.touch[k, C_LAW]]
    turned = get9(other, RE)
    for m in range(contact.touch[k, C_FIRST], contact.touch[k, C_END]):
        c = centre_of(contact, m, state)
        d, n, _H = distance_to(contact, s, R, p, c)
        radius = contact.ball[m, BALL_RADIUS]
        depth = radius - d
        if depth.real <= 0.0:
            forget(contact, m, work, state[contact.point[m, 0]], other, c, n)
            continue
        row = state[contact.point[m, 0]]
        past = recalled(contact, m, work, turned)
        v, w, F = obstacle_force(contact, law, m, row, other, depth, c, n, past)
        rho = vscale(-radius, n)
        keep(contact, m, work, turned, law, n, v, w, rho, past)
        M = vcross(rho, F)
        if contact.point[m, 0] >= 0:
            subtract_wrench(row, c, M, F)
        if j >= 0:
            subtract_wrench(other, c, vscale(-1.0, M), vscale(-1.0, F))


@routine
def write_obstacle(contact, k, work, table):
    """Contacts of one obstacle into the table of `write_contacts`."""
    s = contact.touch[k, C_SHAPE]
    R, p = shape_frame(contact, s, work.state)
    other = work.state[contact.shape[s, SHAPE_STEP]]
    law = contact.law[contact.touch[k, C_LAW]]
    if is_far(contact, k, work.state, TOUCHES, work.message[MESSAGE_GAP].real):
        return
    for m in range(contact.touch[k, C_FIRST], contact.touch[k, C_END]):
        c = centre_of(contact, m, work.state)
        d, n, H = distance_to(contact, s, R, p, c)
        depth = contact.ball[m, BALL_RADIUS] - d
        F = vscale(0.0, n)
        v = F
        if depth.real > 0.0:
            row = work.state[contact.point[m, 0]]
            past = recalled(contact, m, work, get9(other, RE))
            v, _w, F = obstacle_force(contact, law, m, row, other, depth, c, n, past)
        at = write_row(contact, work, table, contact.touch[k, C_LAW], m, NOBODY, depth, c, n, F)
        if at >= 0 and depth.real > 0.0:
            bend = mv(H, v)
            table[at, T_WEIGHT] = contact.ball[m, BALL_WEIGHT]
            for i in range(3):
                table[at, T_SPEED + i] = v[i]
                table[at, T_TURN + i] = 0.0
                table[at, T_TURN + 3 + i] = bend[i]
                table[at, T_FADE + i] = 0.0
                table[at, T_FADE + 3 + i] = 0.0


@routine
def obstacle_tangent(t, work, contact, k, cross, cq, out):
    """Matrices K and N of one obstacle; with `cross`, what couples the two steps instead."""
    state = work.state
    s = contact.touch[k, C_SHAPE]
    j = contact.shape[s, SHAPE_STEP]
    if (cross and j < 0) or is_far(contact, k, state, MATRICES, 0.0):
        return
    other = state[j]
    R, p = shape_frame(contact, s, state)
    law = contact.law[contact.touch[k, C_LAW]]
    A, B, spare = work.law[0], work.law[1], work.law[2]
    normal, slide = work.line[:3], work.line[3]
    for m in range(contact.touch[k, C_FIRST], contact.touch[k, C_END]):
        i = contact.point[m, 0]
        if cross and i < 0:
            return
        c = centre_of(contact, m, state)
        d, n, H = distance_to(contact, s, R, p, c)
        radius = contact.ball[m, BALL_RADIUS]
        depth = radius - d
        if depth.real <= 0.0:
            continue
        for r in range(3):
            for col in range(3):
                normal[r, col] = 0.0
                normal[r, 3 + col] = H[3 * r + col]
        for r in range(6):
            slide[r] = 0.0
        rho = vscale(-radius, n)
        past = recalled(contact, m, work, get9(other, RE))
        v, w, F = obstacle_force(contact, law, m, state[i], other, depth, c, n, past)
        M = vcross(rho, F)
        put_law(law, contact.ball[m, BALL_WEIGHT], depth, n, v, w, rho, past, radius, normal, slide, n, A, B)
        if cross:
            pair_columns(t, work, i, j, work.pair)
            add_cross_terms(work, i, j, c, M, F, A, B, spare, cq, work.pair, out)
        elif j < 0:
            subtract_law(work, i, c, M, F, A, B)
        else:
            subtract_pair(work, i, j, c, M, F, A, B, spare)


# ---------------------------------------------------------------- rods


@routine
def capsule_contact(contact, k, m, work, law):
    """Geometry and force of the contact of two capsules; `depth` is not positive if they do not touch.

    Returns depth, centre on the first axis, n, d, a, b, free s, free t, v, w, F, the weight with its derivatives as of `edges.fade`, and what they remember.
    """
    state = work.state
    ri, rj = state[contact.point[k, 0]], state[contact.point[m, 0]]
    Ri, Rj = get9(ri, RE), get9(rj, RE)
    a, b = mv(Ri, get3(contact.axis[k], N0)), mv(Rj, get3(contact.axis[m], N0))
    pi, pj = centre_of(contact, k, state), centre_of(contact, m, state)
    s, t, free_s, free_t = closest(pi, a, contact.ball[k, BALL_HALF], pj, b, contact.ball[m, BALL_HALF])
    c = vaxpy(s, a, pi)
    d = vsub(c, vaxpy(t, b, pj))
    size = np.sqrt(vdot(d, d))
    depth = contact.ball[k, BALL_RADIUS] + contact.ball[m, BALL_RADIUS] - size
    n = vscale(1.0 / size, d) if size.real > 0.0 else vscale(0.0, d)
    v = vsub(velocity_at(ri, c), velocity_at(rj, c))
    w = vsub(get3(ri, VE), get3(rj, VE))
    F = vscale(0.0 * size, n)
    share = contact.ball[k, BALL_WEIGHT] * contact.ball[m, BALL_WEIGHT]
    weight = fade(
        contact.ball[k, BALL_HALF], contact.axis[k, 3], contact.ball[m, BALL_HALF], contact.axis[m, 3], s, t, vdot(a, b)
    )
    weight = (share * weight[0], share * weight[1], share * weight[2], share * weight[3])
    past = recalled_pair(contact, k, m, work, Rj)
    if depth.real > 0.0:
        F = contact_force(law, weight[0], depth, n, v, w, vscale(-contact.ball[k, BALL_RADIUS], n), past)
    return depth, c, n, d, a, b, free_s, free_t, v, w, F, weight, past


@routine
def capsule_tangent(t, work, contact, k, m, law, cross, cq, out):
    """Matrices K and N of the contact of two capsules; with `cross`, what couples the two steps instead."""
    depth, c, n, d, a, b, free_s, free_t, v, w, F, weight, past = capsule_contact(contact, k, m, work, law)
    if depth.real <= 0.0 or weight[0].real == 0.0:
        return
    A, B, spare = work.law[0], work.law[1], work.law[2]
    normal, slide = work.line[:3], work.line[3]
    one = 1.0 + 0.0 * depth
    size = np.sqrt(vdot(d, d))
    for col in range(6):
        dtheta, dx = unit_vector(col, one), unit_vector(col - 3, one)
        ds, dt = slide_along(a, b, d, free_s, free_t, dtheta, dx)
        dd = vaxpy(ds, a, vaxpy(-dt, b, dx))
        dn = vscale(1.0 / size, vaxpy(-vdot(n, dd), n, dd))
        slide[col] = ds
        for r in range(3):
            normal[r, col] = dn[r]
    radius = contact.ball[k, BALL_RADIUS]
    rho = vscale(-radius, n)
    M = vcross(rho, F)
    put_law(law, weight[0], depth, n, v, w, rho, past, radius, normal, slide, a, A, B)
    for col in range(6):
        rate = fade_rate(weight, a, b, d, free_s, free_t, unit_vector(col, one), unit_vector(col - 3, one))
        for r in range(3):
            A[r, col] += rate * M[r]
            A[3 + r, col] += rate * F[r]
    i, j = contact.point[k, 0], contact.point[m, 0]
    if cross and (i < 0 or j < 0):
        return
    if cross:
        pair_columns(t, work, i, j, work.pair)
        add_cross_terms(work, i, j, c, M, F, A, B, spare, cq, work.pair, out)
    else:
        subtract_pair(work, i, j, c, M, F, A, B, spare)


@routine
def set_centres(contact, pair, work, space):
    """Centres of the capsules of a pair, into space.centre."""
    for side in range(2):
        for k in range(contact.rods[pair, 2 * side], contact.rods[pair, 2 * side + 1]):
            c = centre_of(contact, k, work.state)
            for i in range(3):
                space.centre[k, i] = c[i].real


@routine
def pair_is_far(contact, pair, state, margin):
    """Broad phase: whether two ranges of capsules are further apart than `margin`; only for edges of bodies."""
    rods, around = contact.rods[pair], contact.around[pair]
    return apart(state[contact.point[rods[0], 0]], state[contact.point[rods[2], 0]], around[:4], around[4:], margin)


@routine
def bounds(contact, first, end, centre):
    """Corners of the box around a range of capsules."""
    low = (1e300, 1e300, 1e300)
    high = (-1e300, -1e300, -1e300)
    for k in range(first, end):
        x, y, z = centre[k, 0], centre[k, 1], centre[k, 2]
        r = contact.ball[k, BALL_RADIUS] + contact.ball[k, BALL_HALF]
        low = (min(low[0], x - r), min(low[1], y - r), min(low[2], z - r))
        high = (max(high[0], x + r), max(high[1], y + r), max(high[2], z + r))
    return low, high


@routine
def sort_points(contact, pair, centre, sweep, margin):
    """Broad phase: the points of two ranges, sorted by where they begin along the axis of largest extent.

    sweep (n, 4): point, begin (less `margin`), end, side. Returns the number of points (0 if the boxes around the ranges
    are further apart than `margin`), and whether both ranges are the same.
    """
    rods = contact.rods[pair]
    same = rods[0] == rods[2]
    na = rods[1] - rods[0]
    low, high = bounds(contact, rods[0], rods[1], centre)
    n = na
    if not same:
        other, top = bounds(contact, rods[2], rods[3], centre)
        for c in range(3):
            if other[c] > high[c] + margin or low[c] > top[c] + margin:
                return 0, same
        low = (min(low[0], other[0]), min(low[1], other[1]), min(low[2], other[2]))
        high = (max(high[0], top[0]), max(high[1], top[1]), max(high[2], top[2]))
        n = na + rods[3] - rods[2]
    axis = 0
    extent = high[0] - low[0]
    if high[1] - low[1] > extent:
        axis = 1
        extent = high[1] - low[1]
    if high[2] - low[2] > extent:
        axis = 2
    for e in range(n):
        k = rods[0] + e if e < na else rods[2] + e - na
        x = centre[k, axis]
        reach = contact.ball[k, BALL_RADIUS] + contact.ball[k, BALL_HALF]
        begin = x - reach - margin
        f = e - 1
        while f >= 0 and sweep[f, 1] > begin:  # points follow each other along rods, so they are nearly sorted
            for c in range(4):
                sweep[f + 1, c] = sweep[f, c]
            f -= 1
        sweep[f + 1, 0] = k
        sweep[f + 1, 1] = begin
        sweep[f + 1, 2] = x + reach
        sweep[f + 1, 3] = 0.0 if e < na else 1.0
    return n, same


@routine
def near(contact, k, m, centre, margin):
    """Whether two capsules may touch, and are close enough (within `margin`) for a closer look."""
    x, y, z = centre[k, 0] - centre[m, 0], centre[k, 1] - centre[m, 1], centre[k, 2] - centre[m, 2]
    reach = (
        contact.ball[k, BALL_RADIUS]
        + contact.ball[k, BALL_HALF]
        + contact.ball[m, BALL_RADIUS]
        + contact.ball[m, BALL_HALF]
        + margin
    )
    if x * x + y * y + z * z >= reach * reach:
        return False
    n = contact.skip.shape[0]
    return k >= n or m >= n or contact.skip[k, m] == 0


@routine
def visit_rods(t, work, contact, space, task, cq, out):
    """Go through the near pairs of capsules: FORCES, MATRICES K and N, what couples two steps (TANGENT), or a table of those that TOUCH into `out`.

    Returns the potential energy of those that touch (ENERGY).
    """
    state = work.state
    sweep, centre = space.sweep, space.centre
    energy = 0.0
    margin = work.message[MESSAGE_GAP].real if task == TOUCHES else 0.0
    for pair in range(contact.rods.shape[0]):
        if pair_is_far(contact, pair, state, margin):
            continue
        set_centres(contact, pair, work, space)
        law = contact.law[contact.rods[pair, R_LAW]]
        n, same = sort_points(contact, pair, centre, sweep, margin)
        for e in range(n):
            k = int(sweep[e, 0])
            for f in range(e + 1, n):
                if sweep[f, 1] > sweep[e, 2]:
                    break
                m = int(sweep[f, 0])
                if (not same and sweep[e, 3] == sweep[f, 3]) or not near(contact, k, m, centre, margin):
                    continue
                lower, upper = min(k, m), max(k, m)
                if task in (MATRICES, TANGENT):
                    capsule_tangent(t, work, contact, lower, upper, law, task == TANGENT, cq, out)
                    continue
                depth, c, nn, d, a, b, free_s, free_t, vv, w, F, weight, past = capsule_contact(
                    contact, lower, upper, work, law
                )
                if task == TOUCHES:
                    at = write_row(contact, work, out, contact.rods[pair, R_LAW], lower, upper, depth, c, nn, F)
                    if at >= 0 and depth.real > 0.0:
                        write_turn(out[at], nn, d, a, b, free_s, free_t, vv, w, weight)
                elif depth.real > 0.0 and task == ENERGY:
                    energy += (
                        weight[0].real
                        * law[LAW_STIFFNESS]
                        * depth.real ** (law[LAW_EXPONENT] + 1.0)
                        / (law[LAW_EXPONENT] + 1.0)
                    )
                elif depth.real > 0.0:
                    rho = vscale(-contact.ball[lower, BALL_RADIUS], nn)
                    first, second = contact.point[lower, 0], contact.point[upper, 0]
                    keep_pair(contact, lower, upper, work, get9(state[second], RE), law, nn, vv, w, rho, past)
                    M = vcross(rho, F)
                    if first >= 0:
                        subtract_wrench(state[first], c, M, F)
                    if second >= 0:
                        subtract_wrench(state[second], c, vscale(-1.0, M), vscale(-1.0, F))
    return energy


# ---------------------------------------------------------------- rods that touch all along


@routine
def nearest_capsule(contact, line, k, c, state, centre, margin):
    """The capsule of a range that is nearest to sphere k, whose centre is c; −1 if none is nearer than `margin`."""
    found, best = NOBODY, contact.ball[k, BALL_RADIUS] + margin
    twin = contact.point[k, 1]
    for m in range(line[2], line[3]):
        if contact.skip[twin, m] != 0:
            continue
        d = (c[0] - centre[m, 0], c[1] - centre[m, 1], c[2] - centre[m, 2])
        half, radius = contact.ball[m, BALL_HALF], contact.ball[m, BALL_RADIUS]
        far = best + half + radius
        if far > 0.0 and vdot(d, d) > far * far:
            continue
        b = mv(get9(state[contact.point[m, 0]], RE), get3(contact.axis[m], N0))
        b = (b[0].real, b[1].real, b[2].real)
        d = vaxpy(-clip(vdot(d, b), half), b, d)
        gap = np.sqrt(vdot(d, d)) - radius
        if gap < best:
            found, best = m, gap
    return found


@routine
def set_line(contact, line, state, centre):
    """Centres of the capsules of a line, and the corners of the box around them."""
    for m in range(line[2], line[3]):
        at = centre_of(contact, m, state)
        for i in range(3):
            centre[m, i] = at[i].real
    return bounds(contact, line[2], line[3], centre)


@routine
def partner(contact, line, k, state, centre, box, margin):
    """The capsule that sphere k of a line touches, or is nearest to within `margin`; −1 if there is none."""
    at = centre_of(contact, k, state)
    x = (at[0].real, at[1].real, at[2].real)
    low, high = box
    r = contact.ball[k, BALL_RADIUS] + margin
    for i in range(3):
        if x[i] < low[i] - r or x[i] > high[i] + r:
            return NOBODY
    return nearest_capsule(contact, line, k, x, state, centre, margin)


@routine
def visit_lines(t, work, contact, space, task, cq, out):
    """As `visit_rods` for rods that touch all along: each sphere of one with the nearest capsule of the other."""
    state, centre = work.state, space.centre
    energy = 0.0
    margin = work.message[MESSAGE_GAP].real if task == TOUCHES else 0.0
    for pair in range(contact.lines.shape[0]):
        line = contact.lines[pair]
        law = contact.law[line[R_LAW]]
        box = set_line(contact, line, state, centre)
        for k in range(line[0], line[1]):
            m = partner(contact, line, k, state, centre, box, margin)
            if m < 0:
                continue
            if task in (MATRICES, TANGENT):
                capsule_tangent(t, work, contact, k, m, law, task == TANGENT, cq, out)
                continue
            depth, c, n, d, a, b, free_s, free_t, v, w, F, weight, past = capsule_contact(contact, k, m, work, law)
            if task == TOUCHES:
                row = write_row(contact, work, out, line[R_LAW], k, m, depth, c, n, F)
                if row >= 0 and depth.real > 0.0:
                    write_turn(out[row], n, d, a, b, free_s, free_t, v, w, weight)
            elif depth.real > 0.0 and task == ENERGY:
                p = law[LAW_EXPONENT] + 1.0
                energy += weight[0].real * law[LAW_STIFFNESS] * depth.real**p / p
            elif depth.real > 0.0:
                second = state[contact.point[m, 0]]
                rho = vscale(-contact.ball[k, BALL_RADIUS], n)
                keep_pair(contact, k, m, work, get9(second, RE), law, n, v, w, rho, past)
                M = vcross(rho, F)
                subtract_wrench(state[contact.point[k, 0]], c, M, F)
                subtract_wrench(second, c, vscale(-1.0, M), vscale(-1.0, F))
    return energy


@routine
def apply_contact(t, work, contact, space, q, v, u, r):
    """Subtract all contact forces from the wrenches of their steps; for any number type."""
    for k in range(contact.touch.shape[0]):
        apply_obstacle(contact, k, work)
    for k in range(contact.slot.shape[0]):
        if contact.slot[k] >= 0:
            clear_slots(work.kept, contact.first[0] + contact.slot[k])
    if contact.rods.shape[0] > 0:
        visit_rods(t, work, contact, space, FORCES, 1.0, work.out[0])
    if contact.lines.shape[0] > 0:
        visit_lines(t, work, contact, space, FORCES, 1.0, work.out[0])


@routine
def contact_tangents(t, work, contact, space):
    """Matrices K and N of all contacts."""
    for k in range(contact.touch.shape[0]):
        obstacle_tangent(t, work, contact, k, k < 0, 1.0, work.out[0])
    if contact.rods.shape[0] > 0:
        visit_rods(t, work, contact, space, MATRICES, 1.0, work.out[0])
    if contact.lines.shape[0] > 0:
        visit_lines(t, work, contact, space, MATRICES, 1.0, work.out[0])


@routine
def contact_cross_terms(t, work, contact, space, cq, out):
    """What contacts between two steps add to the tangent besides their matrices K and N."""
    for k in range(contact.touch.shape[0]):
        obstacle_tangent(t, work, contact, k, k >= 0, cq, out)
    if contact.rods.shape[0] > 0:
        visit_rods(t, work, contact, space, TANGENT, cq, out)
    if contact.lines.shape[0] > 0:
        visit_lines(t, work, contact, space, TANGENT, cq, out)


@routine
def contact_potential(t, work, contact, space):
    """Elastic energy of all contacts; needs the forward pass."""
    energy = 0.0
    for k in range(contact.touch.shape[0]):
        if is_far(contact, k, work.state, ENERGY, 0.0):
            continue
        s = contact.touch[k, C_SHAPE]
        R, p = shape_frame(contact, s, work.state)
        law = contact.law[contact.touch[k, C_LAW]]
        for m in range(contact.touch[k, C_FIRST], contact.touch[k, C_END]):
            c = centre_of(contact, m, work.state)
            d, _n, _H = distance_to(contact, s, R, p, c)
            depth = contact.ball[m, BALL_RADIUS] - d
            if depth > 0.0:
                energy += (
                    contact.ball[m, BALL_WEIGHT]
                    * law[LAW_STIFFNESS]
                    * depth ** (law[LAW_EXPONENT] + 1.0)
                    / (law[LAW_EXPONENT] + 1.0)
                )
    if contact.rods.shape[0] > 0:
        energy += visit_rods(t, work, contact, space, ENERGY, 1.0, work.out[0])
    if contact.lines.shape[0] > 0:
        energy += visit_lines(t, work, contact, space, ENERGY, 1.0, work.out[0])
    return energy


@routine
def write_turn(row, n, d, a, b, free_s, free_t, v, w, weight):
    """The columns T_SPEED to T_FADE of two capsules that touch; see `capsule_contact` for the arguments."""
    one = 1.0 + 0.0 * v[0]
    size = np.sqrt(vdot(d, d))
    creep = vdot(n, vcross(w, a))
    row[T_WEIGHT] = weight[0]
    for i in range(3):
        row[T_SPEED + i] = v[i]
    for k in range(6):
        dx = unit_vector(k - 3, one)
        ds, dt = slide_along(a, b, d, free_s, free_t, unit_vector(k, one), dx)
        dd = vaxpy(ds, a, vaxpy(-dt, b, dx))
        dn = vscale(1.0 / size, vaxpy(-vdot(n, dd), n, dd))
        row[T_TURN + k] = vdot(dn, v) + ds * creep
        row[T_FADE + k] = fade_rate(weight, a, b, d, free_s, free_t, unit_vector(k, one), dx)


@routine
def write_row(contact, work, table, number, k, m, depth, c, n, F):
    """A row of the table of contacts for the points k and m, if they are near enough and if there is room; its number, or −1."""
    if depth.real <= 0.0 and not -depth.real < work.message[MESSAGE_GAP].real:
        return -1
    at = int(work.message[MESSAGE_COUNT].real)
    work.message[MESSAGE_COUNT] += 1.0
    if at >= table.shape[0]:
        return -1
    row = table[at]
    row[T_CONTACT], row[T_FIRST], row[T_SECOND], row[T_GAP] = number, k, m, -depth
    for i in range(3):
        row[T_POINT + i] = c[i] - contact.ball[k, BALL_RADIUS] * n[i]
        row[T_NORMAL + i] = n[i]
        row[T_FORCE + i] = F[i]
    return at


@routine
def write_contacts(t, work, contact, space, table):
    """All contacts, and what is nearer than work.message[MESSAGE_GAP], into rows of `table`; needs the forward pass.

    Their number, which may be larger than that of the rows, goes into work.message[MESSAGE_COUNT].
    """
    work.message[MESSAGE_COUNT] = 0.0
    for k in range(contact.touch.shape[0]):
        write_obstacle(contact, k, work, table)
    if contact.rods.shape[0] > 0:
        visit_rods(t, work, contact, space, TOUCHES, 1.0, table)
    if contact.lines.shape[0] > 0:
        visit_lines(t, work, contact, space, TOUCHES, 1.0, table)
