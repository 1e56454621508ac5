"""What generalised forces and applied wrenches owe their numbers, and the steps on which they act.

Each force contributes φ = y·f, or φ = −⟨Ŷ, W⟩ for an applied wrench W; `gain` are tables of derivatives of the family.
"""

from ..._jit import routine
from ..algebra.dual import (
    add3,
    add6,
    dcross,
    dscale,
    get3,
    get6,
    get9,
    mouter,
    mtv,
    mv,
    quaternion_matrix,
    rotate,
    swap,
    vadd,
    vaxpy,
    vcross,
    vdot,
    vscale,
)
from ..algebra.exponential import exp_se3, inverse_tangent_apply, tangent_coefficients
from ..algebra.manifold import POSE, VELOCITIES
from ..layout import D_ROW, G_POSE, G_V, G_Y, H_Y, K_ROW, RE, VE
from ..loads.efforts import E_GAIN, E_INPUT, E_KD, E_KP, E_LIMIT, E_LOWER, E_Q, E_STOP, E_UPPER, E_V, beyond, effort
from ..loads.internal import FIRST, deviation, spring
from ..loads.wrenches import DIPOLE, IN_BODY, P_FORCE, P_INPUT, P_KIND, P_MOMENT, P_POS, P_ROT, P_STEP, wrench_at

# ---------------------------------------------------------------- resistance


@routine
def spring_reverse(c, s, q, y, scratch, gain, products):
    """A spring on a manifold joint: its stiffness and where it rests."""
    o, i, group = c.springs[s, 0], c.springs[s, 1], c.springs[s, 2]
    n = VELOCITIES[group]
    phi, force, slope, rest = scratch[0], scratch[1], scratch[2:], c.spring_rest[s]
    spring(c.spring_stiffness[s], rest, q, o, group, phi, force, slope)
    for k in range(6):
        force[k] = y[i + k] if k < n else 0.0
    omega = get6(phi, FIRST)
    z = inverse_tangent_apply(dscale(-1.0, omega), get6(force, FIRST))
    for a in range(n):
        for b in range(n):
            gain.spring_stiffness[s, a, b] += z[a // 3][a % 3] * phi[b]
    for b in range(6):
        force[b] = 0.0
        for a in range(n):
            if b < n:
                force[b] += slope[a, b] * y[i + a]
    for b in range(n):
        products[K_ROW, i + b] += force[b]
    # rest·exp(ε) is the same as g·exp(−Ad⁻¹ε) with Ad of exp(φ)
    ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(omega)
    R, p = exp_se3(omega, ca, cb)
    f, m = rotate(R, p, dscale(-1.0, swap(get6(force, FIRST))))
    v, size = get3(rest, 1), rest[0] * rest[0] + rest[1] * rest[1] + rest[2] * rest[2] + rest[3] * rest[3]
    # ε_w = 2 Im(r̄ dr) / |r|² of the quaternion r
    own = gain.spring_rest[s]
    own[0] -= 2.0 / size * vdot(m, v)
    add3(own, 1, vscale(2.0 / size, vaxpy(rest[0], m, vcross(v, m))))
    if group == POSE:
        add3(own, 4, mv(quaternion_matrix(rest, 0), f))


@routine
def internal_reverse(c, work, q, v, y, gain):
    """Stiffness, damping and rest of rods and joints."""
    x, back, products = work.force_v[0], work.force_v[1], work.products
    deviation(c, q, x)
    for i in range(back.shape[0]):
        back[i] = 0.0
    for i in range(y.shape[0]):
        f = y[i]
        for k in range(c.start[i], c.start[i + 1]):
            j = c.column[k]
            gain.stiffness[k] += f * x[j]
            gain.damping[k] += f * v[j]
            back[j] += f * c.stiffness[k]
            products[D_ROW, j] += f * c.damping[k]
    for k in range(c.shift.shape[0]):
        j = c.shift[k, 1]
        gain.rest[c.shift[k, 0]] -= back[j]
        products[K_ROW, j] += back[j]
    for s in range(c.springs.shape[0]):
        spring_reverse(c, s, q, y, work.spring, gain, products)


# ---------------------------------------------------------------- forces on coordinates


@routine
def effort_reverse(efforts, q, v, u, y, gain, products):
    """Motors, servos, stops and internal stress."""
    for k in range(efforts.place.shape[0]):
        i, j = efforts.place[k, E_V], efforts.place[k, E_INPUT]
        force, fs, fr, free = effort(efforts, k, q, v, u)
        f = -y[i]
        products[K_ROW, i] += f * fs
        products[D_ROW, i] += f * fr
        data, own = efforts.data[k], gain.data[k]
        s = q[efforts.place[k, E_Q]]
        x = beyond(data, s)
        if data[E_STOP] != 0.0:
            more = 1.0 + (v[i] if x > 0.0 else -v[i]) * data[E_KD]
            if more > 0.0:
                own[E_KP] -= f * x * more
                own[E_KD] -= f * data[E_KP] * abs(x) * v[i]
        elif free == 0.0:
            own[E_LIMIT] += f * (1.0 if force > 0.0 else -1.0)
        else:
            if j >= 0:
                own[E_GAIN] += f * u[j]
            own[E_KP] -= f * x
            own[E_KD] -= f * v[i]
        if s > data[E_UPPER]:
            own[E_UPPER] -= f * fs
        elif s < data[E_LOWER]:
            own[E_LOWER] -= f * fs


# ---------------------------------------------------------------- wrenches on steps


@routine
def wrench_reverse(wrenches, work, u, gain):
    """Point wrenches and dipoles."""
    for k in range(wrenches.place.shape[0]):
        kind, j, i = wrenches.place[k, P_KIND], wrenches.place[k, P_INPUT], wrenches.place[k, P_STEP]
        data, own, row, out = wrenches.data[k], gain.data[k], work.state[i], work.reverse[i]
        scale = -u[j] if j >= 0 else -work.share[0]
        x, M, F = wrench_at(row, data, kind, scale)
        add6(out, G_Y, (F, vadd(M, vcross(x, F))))
        R, (w, v) = get9(row, RE), get6(out, H_Y)
        Ro, m, f = get9(data, P_ROT), get3(data, P_MOMENT), get3(data, P_FORCE)
        wb = mtv(R, w)
        if kind == DIPOLE:
            d = mv(R, mv(Ro, m))
            turned = vscale(scale, vcross(f, w))
            body = mtv(R, turned)
            add3(own, P_MOMENT, mtv(Ro, body))
            add3(own, P_FORCE, vscale(scale, vcross(w, d)))
            G = mouter(body, m)
            for c in range(9):
                own[P_ROT + c] += G[c]
            add3(out, G_POSE + 3, vcross(d, turned))
            continue
        at = vcross(F, w)  # owed to x
        vx = vadd(v, vcross(w, x))
        add3(own, P_POS, mtv(R, at))
        turn = vcross(x, at)
        if kind == IN_BODY:
            vb = mtv(R, vx)
            add3(own, P_MOMENT, vscale(scale, mtv(Ro, wb)))
            add3(own, P_FORCE, vscale(scale, mtv(Ro, vb)))
            G, H = mouter(wb, m), mouter(vb, f)
            for c in range(9):
                own[P_ROT + c] += scale * (G[c] + H[c])
            turn = vadd(turn, vadd(vcross(M, w), vcross(F, vx)))
        else:
            add3(own, P_MOMENT, vscale(scale, w))
            add3(own, P_FORCE, vscale(scale, vx))
        add6(out, G_POSE, (at, turn))


@routine
def matrix_reverse(work):
    """Loads of units on single steps, by their wrenches in `applied`, and matrices K and N: δf = δ×f + K δ + N (δV − δ×V)."""
    for i in range(work.reverse.shape[0] - 1):
        row, own = work.state[i], work.reverse[i]
        W, Y, V = get6(work.applied[i], FIRST), get6(own, H_Y), get6(row, VE)
        K, N = work.load[i], work.bias[i]
        y = (Y[0][0], Y[0][1], Y[0][2], Y[1][0], Y[1][1], Y[1][2])
        add6(own, G_POSE, dcross(W, Y))
        for c in range(6):
            k = 0.0
            n = 0.0
            for r in range(6):
                k += K[r, c] * y[r]
                n += N[r, c] * y[r]
            to = c + 3 if c < 3 else c - 3  # dual form
            own[G_POSE + to] += k
            own[G_V + to] += n
        add6(own, G_POSE, dcross(get6(own, G_V), V))  # nothing else has been added to G_V before
