"""What a contact remembers, differentiated: the task MEMORY of `units`.

The bristle of a point that touches is ``z = Rⱼᵀ b(n, v, vₜ, Rⱼ z*)`` with the function b of `contact.bristle` and the rotation Rⱼ of the obstacle's step, and the force
depends on z* through ``Rⱼ z*``. Both functions are of few numbers and are differentiated by a complex step; how these numbers change with the
motion of the two steps, ``(δᵢ, rᵢ)`` and ``(δⱼ, rⱼ)`` with ``r = δV − δ×V`` (MATH §3), is

``δn = δθⱼ×n + H (δxᵢ − δxⱼ)``,  ``δω = r_ω + δθ×ω``,  ``δv₀ = r_v + δθ×v₀ + δx₀×ω``,

for the velocity v₀ of a step at the origin and displacements δx at the centre of the point. Between two capsules n follows from the closest points of their axes, and
the centre slides along the first one (`contact.slide_along`).
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import get3, get9, mtv, mv, vadd, vaxpy, vcross, vdot, vscale, vsub
from ..layout import RE, STATIC, VE
from .bristles import clear_slots, slot_of
from .contact import (
    BALL_RADIUS,
    BALL_WEIGHT,
    C_END,
    C_FIRST,
    C_LAW,
    C_SHAPE,
    LAW_RESTITUTION,
    LAW_SPEED,
    R_LAW,
    REMEMBERED,
    bristle,
    capsule_contact,
    centre_of,
    contact_force,
    impact_speed,
    is_far,
    keep_pair,
    near,
    normal_force,
    pair_is_far,
    partner,
    recalled,
    set_centres,
    set_line,
    shape_frame,
    sort_points,
)
from .edges import slide_along
from .law import step_columns, unit_vector, velocity_at
from .surfaces import SHAPE_STEP, distance_to
from .units import FORCES

TINY = 1e-100  # of complex steps


@inline
def shifted(x, dx):
    """x + i ε dx."""
    return (
        complex(x[0], TINY * dx[0]),
        complex(x[1], TINY * dx[1]),
        complex(x[2], TINY * dx[2]),
    )


@inline
def slope(x):
    """The derivative that a complex step left in x (3,)."""
    return (x[0].imag / TINY, x[1].imag / TINY, x[2].imag / TINY)


@inline
def column(A, k):
    """Column k of (6, n) as two vectors."""
    return (A[0, k], A[1, k], A[2, k]), (A[3, k], A[4, k], A[5, k])


@routine
def step_change(row, c, turn, shift, r_turn, r_shift):
    """Changes of a step's angular velocity, of its velocity at the fixed place c, and of the position of what is there."""
    w, v0 = get3(row, VE), get3(row, VE + 3)
    dw = vadd(r_turn, vcross(turn, w))
    dv = vadd(r_shift, vadd(vcross(turn, v0), vcross(shift, w)))
    return dw, vadd(dv, vcross(dw, c)), vadd(shift, vcross(turn, c))


@routine
def relative_change(row, other, c, mine, theirs):
    """Changes of the relative velocity at the centre c of a point of `row`, of the relative angular velocity, and of its place seen from the other step."""
    dw, dv, dx = mine
    dw2, dv2, dx2 = theirs
    w, w2 = get3(row, VE), get3(other, VE)
    return vsub(vadd(dv, vcross(vsub(w, w2), dx)), dv2), vsub(dw, dw2), vsub(dx, dx2)


@routine
def impact_slope(law, n, v, hit):
    """Derivatives of the impact's speed by what was remembered of it, and by the rate of the gap if nothing was."""
    if hit > 0.0:
        return 1.0, 0.0  # it stays as it is
    if impact_speed(law, n, v, hit) <= law[LAW_SPEED]:
        return 0.0, 0.0
    return (-1.0, 0.0) if hit < 0.0 else (0.0, -1.0)


@routine
def touching_by_motion(law, geometry, motion, dn, dv, dw, past, turned, turn):
    """Change of the bristle in the axes of the obstacle's step, for changes of n, velocities, and the turn of that step."""
    n, radius, static = geometry
    v, w = motion
    bent, lag, hit = past
    nc, vc, wc = shifted(n, dn), shifted(v, dv), shifted(w, dw)
    slide = vadd(vc, vcross(wc, vscale(-radius, nc)))
    z, _hit = bristle(law, nc, vc, slide, (shifted(bent, vcross(turn, bent)), lag, hit), static)
    now = (z[0].real, z[1].real, z[2].real)
    return mtv(turned, vsub(slope(z), vcross(turn, now)))


@routine
def turned_normal(place, axes, dx, dtheta):
    """Change of the normal seen from the second step, and how far the centre slides along the first axis, if there are axes."""
    _i, _j, _c, n, H = place
    pair, a, b, d, free_s, free_t = axes
    if not pair:
        return mv(H, dx), 0.0
    ds, dt = slide_along(a, b, d, free_s, free_t, dtheta, dx)
    dd = vaxpy(ds, a, vaxpy(-dt, b, dx))
    return vscale(1.0 / np.sqrt(vdot(d, d)), vaxpy(-vdot(n, dd), n, dd)), ds


@routine
def put_motion(t, work, radius, o, law, place, axes, past, touches, out):
    """Rows ∂z/∂q and ∂z/∂v, from the internal variable o on; `place` is (i, j, c, n, H), `axes` those of two capsules (see `capsule_contact`), after whether there are two."""
    i, j, c, n, _H = place
    row, other = work.state[i], work.state[j]
    turned = get9(other, RE)
    v, w = vsub(velocity_at(row, c), velocity_at(other, c)), vsub(get3(row, VE), get3(other, VE))
    geometry = (n, radius, work.lag[0] >= STATIC)
    rate = vdot(n, v)
    _by_hit, by_rate = impact_slope(law, n, v, past[2])
    Ji, Ri, two = work.columns[0], work.columns[1], work.pair[:2]
    if i >= 0:
        step_columns(t, work, i, Ji, Ri)
    else:  # a corner of what stands in the world
        for r in range(6):
            for k in range(Ji.shape[1]):
                Ji[r, k] = Ri[r, k] = 0.0
    if j >= 0:
        step_columns(t, work, j, two[0], two[1])
    none, nv = vscale(0.0, n), Ji.shape[1]
    at2, to2, rj, sj = none, none, none, none
    for k in range(nv):
        at, to = column(Ji, k)
        ri, si = column(Ri, k)
        if j >= 0:
            at2, to2 = column(two[0], k)
            rj, sj = column(two[1], k)
        for level in range(2):  # by q, by v
            if level == 0:
                mine, theirs = step_change(row, c, at, to, ri, si), step_change(other, c, at2, to2, rj, sj)
                turn, dtheta = at2, vsub(at, at2)
            else:
                mine, theirs = step_change(row, c, none, none, at, to), step_change(other, c, none, none, at2, to2)
                turn, dtheta = none, none
            dv, dw, dx = relative_change(row, other, c, mine, theirs)
            bend, along = turned_normal(place, axes, dx, dtheta)
            dn = vadd(vcross(turn, n), bend)
            dv = vadd(dv, vscale(along, vcross(w, axes[1])))
            gap = vdot(dn, v) + vdot(n, dv)  # change of the rate of the gap
            where = level * nv + k
            if touches:
                own = touching_by_motion(law, geometry, (v, w), dn, dv, dw, past, turned, turn)
                for r in range(3):
                    out[o + r, where] = own[r]
                out[o + 3, where] = by_rate * gap
            elif rate < 0.0:
                out[o + 3, where] = gap


@routine
def put_past(work, contact, m, o, law, weight, place, depth, past, out):
    """Rows ∂r/∂z* and ∂z/∂z* of point or capsule m, which touches; after `put_motion`, which left the columns of the steps."""
    i, j, c, n, _H = place
    row, other = work.state[i], work.state[j]
    turned = get9(other, RE)
    v, w = vsub(velocity_at(row, c), velocity_at(other, c)), vsub(get3(row, VE), get3(other, VE))
    bent, lag, hit = past
    nv = work.columns.shape[2]
    rho = vscale(-contact.ball[m, BALL_RADIUS], n)
    none = vscale(0.0, n)
    for k in range(3):
        if not hit > 0.0:
            break  # a bristle that did not touch was not bent
        moved = (shifted(bent, mv(turned, unit_vector(k, 1.0))), lag, hit)
        nc, vc, wc = shifted(n, none), shifted(v, none), shifted(w, none)
        rc = shifted(rho, none)
        dF = slope(contact_force(law, weight, complex(depth, 0.0), nc, vc, wc, rc, moved))
        subtract_force(work, j, c, rho, dF, out[o + k], 2 * nv)
        z, _hit = bristle(law, nc, vc, vadd(vc, vcross(wc, rc)), moved, work.lag[0] >= STATIC)
        own = mtv(turned, slope(z))
        for r in range(3):
            out[o + r, 3 * nv + o + k] = own[r]
    by_hit, _by_rate = impact_slope(law, n, v, hit)
    out[o + 3, 3 * nv + o + 3] = by_hit
    if law[LAW_RESTITUTION] >= 0.0 and by_hit != 0.0:
        fn, _slope, damp = normal_force(law, weight, depth, n, v, hit)
        change = damp * vdot(n, v) * by_hit / impact_speed(law, n, v, hit)
        if fn > 0.0:
            F = contact_force(law, weight, depth, n, v, w, rho, past)
            subtract_force(work, j, c, rho, vscale(change / fn, F), out[o + 3], 2 * nv)


@routine
def subtract_force(work, j, c, rho, F, row, first):
    """row[first:] −= J₁ᵀ f − J₂ᵀ f for a force F on the first step at c + ρ; the columns are where `put_motion` left them."""
    M = vcross(vadd(c, rho), F)
    J, J2 = work.columns[0], work.pair[0]
    for k in range(J.shape[1]):
        for r in range(3):
            row[first + k] -= M[r] * J[r, k] + F[r] * J[3 + r, k]
            if j >= 0:
                row[first + k] += M[r] * J2[r, k] + F[r] * J2[3 + r, k]


@routine
def pair_memory(t, work, contact, k, m, law, out):
    """The rows of two capsules."""
    depth, c, n, d, a, b, free_s, free_t, v, w, _F, weight, past = capsule_contact(contact, k, m, work, law)
    if depth <= 0.0:
        return
    radius, j = contact.ball[k, BALL_RADIUS], contact.point[m, 0]
    keep_pair(contact, k, m, work, get9(work.state[j], RE), law, n, v, w, vscale(-radius, n), past)
    o = slot_of(work.kept, contact.first[0] + contact.slot[k], m)
    if o < 0:
        return
    none = 0.0 * depth
    place = (contact.point[k, 0], j, c, n, (none, none, none, none, none, none, none, none, none))
    put_motion(t, work, radius, o, law, place, (True, a, b, d, free_s, free_t), past, True, out)
    put_past(work, contact, k, o, law, weight[0], place, depth, past, out)


@routine
def rods_memory(t, work, contact, space, out):
    """The rows of all pairs of capsules that touch, which take the slots that they have with their forces."""
    for k in range(contact.slot.shape[0]):
        if contact.slot[k] >= 0:
            clear_slots(work.kept, contact.first[0] + contact.slot[k])
    sweep, centre = space.sweep, space.centre
    for pair in range(contact.rods.shape[0]):
        if pair_is_far(contact, pair, work.state, 0.0):
            continue
        set_centres(contact, pair, work, space)
        n, same = sort_points(contact, pair, centre, sweep, 0.0)
        for e in range(n):
            k = int(sweep[e, 0])
            for f in range(e + 1, n):
                if sweep[f, 1] > sweep[e, 2]:
                    break
                m = int(sweep[f, 0])
                if (same or sweep[e, 3] != sweep[f, 3]) and near(contact, k, m, centre, 0.0):
                    pair_memory(t, work, contact, min(k, m), max(k, m), contact.law[contact.rods[pair, R_LAW]], out)
    for pair in range(contact.lines.shape[0]):
        line = contact.lines[pair]
        box = set_line(contact, line, work.state, centre)
        for k in range(line[0], line[1]):
            m = partner(contact, line, k, work.state, centre, box, 0.0)
            if m >= 0:
                pair_memory(t, work, contact, k, m, contact.law[line[R_LAW]], out)


@routine
def contact_memory(t, work, contact, space, out):
    """The task MEMORY; needs the forward pass and the steps' columns J and R."""
    if contact.first[0] < 0:
        return
    if contact.slot.shape[0] > 0:
        rods_memory(t, work, contact, space, out)
    for k in range(contact.touch.shape[0]):
        if is_far(contact, k, work.state, FORCES, 0.0):
            continue
        s = contact.touch[k, C_SHAPE]
        j = contact.shape[s, SHAPE_STEP]
        R, p = shape_frame(contact, s, work.state)
        law = contact.law[contact.touch[k, C_LAW]]
        for m in range(contact.touch[k, C_FIRST], contact.touch[k, C_END]):
            c = centre_of(contact, m, work.state)
            d, n, H = distance_to(contact, s, R, p, c)
            depth = contact.ball[m, BALL_RADIUS] - d
            past = recalled(contact, m, work, get9(work.state[j], RE))
            place = (contact.point[m, 0], j, c, n, H)
            o = contact.first[0] + REMEMBERED * m
            put_motion(
                t,
                work,
                contact.ball[m, BALL_RADIUS],
                o,
                law,
                place,
                (False, n, n, n, False, False),
                past,
                depth > 0.0,
                out,
            )
            if depth > 0.0:
                put_past(work, contact, m, o, law, contact.ball[m, BALL_WEIGHT], place, depth, past, out)
