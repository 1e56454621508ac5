"""Drag and inertia forces of a fluid whose velocity varies over space and time: wind profiles, gusts, waves.

At a point X the fluid moves with U(X, t), the sum of the uniform current and of all fields, and accelerates with ``a = ∂U/∂t + (∇U) U``. On a section or body
act: drag and tail force of the velocity relative to U (as in `water`), the force ``ρ V a`` that would accelerate the displaced fluid (Froude–Krylov), and of the added mass
I, which itself is part of the step's inertia, what `water.current_wrench` has with the local U, and ``I (0; a)``. Time reaches it as the phase of a wave, an input.

Derivatives are taken by complex step, one for each way in which a point moves: exact to rounding.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import get3, mm, mtv, mv, skew_diag, vadd, vaxpy, vcross, vdot, vscale, vsub
from ..layout import F1, F2, I2, VE
from .law import add_projection, subtract_law, subtract_wrench, unit_vector
from .units import FORCES, INPUTS, MATRICES, unit
from .water import F_ADDED, F_DRAG, F_STEP, W_ADDED, W_CENTRE, W_MASS, drag, force_drag, frame_of, product3


class Streams(NamedTuple):
    """What moves the fluid, and the points on which it acts."""

    field: I2  # (fields, 2) kind, input (−1: none)
    shape: F2  # (fields, 12) see below
    current: F1  # (3,) uniform part [m/s]
    place: I2  # (m, 3) as of `water.Water`
    data: F2  # (m, WATER_WIDTH) likewise


WAVE, SHEAR, GUST = (np.int64(k) for k in range(3))
# a wave: amplitude of the velocity at the surface in deep water, wave number, angular frequency, depth, direction, up, level of the surface
WAVE_SPEED, WAVE_NUMBER, WAVE_FREQUENCY, WAVE_DEPTH, WAVE_DIRECTION, WAVE_UP, WAVE_LEVEL = (
    np.int64(k) for k in (0, 1, 2, 3, 4, 7, 10)
)
# a profile: velocity at the reference height, up, level of the ground, reference height, exponent; a gust: its direction
SHEAR_VELOCITY, SHEAR_UP, SHEAR_GROUND, SHEAR_HEIGHT, SHEAR_EXPONENT = (np.int64(k) for k in (0, 3, 6, 7, 8))
N0 = np.int64(0)
NOBODY = np.int64(-1)
EPS = 1e-30  # of complex steps
LOWEST = 1e-9  # of the reference height: below, a profile is at rest


@routine
def add_wave(shape, X, phase, U, G, rate):
    """Velocity, gradient (by rows of components) and ∂U/∂t of a linear wave, added to what is there."""
    k, d, n = shape[WAVE_NUMBER], get3(shape, WAVE_DIRECTION), get3(shape, WAVE_UP)
    z = vdot(n, X) - shape[WAVE_LEVEL]
    above = z.real > 0.0
    if above:
        z = 0.0 * z
    theta = k * vdot(d, X) - phase
    deep = np.exp(-2.0 * k * shape[WAVE_DEPTH])
    down, up = np.exp(k * z) / (1.0 - deep), deep * np.exp(-k * z) / (1.0 - deep)
    c, s = shape[WAVE_SPEED] * (down + up), shape[WAVE_SPEED] * (down - up)
    cos, sin = np.cos(theta), np.sin(theta)
    U = vaxpy(c * cos, d, vaxpy(s * sin, n, U))
    along, across = -k * c * sin, (0.0 * k if above else k) * s * cos
    down_up = (0.0 * k if above else k) * c * sin
    row_d = vaxpy(along, d, vscale(across, n))
    row_n = vaxpy(k * s * cos, d, vscale(down_up, n))
    G = (
        vaxpy(d[0], row_d, vaxpy(n[0], row_n, G[0])),
        vaxpy(d[1], row_d, vaxpy(n[1], row_n, G[1])),
        vaxpy(d[2], row_d, vaxpy(n[2], row_n, G[2])),
    )
    w = shape[WAVE_FREQUENCY]
    return U, G, vaxpy(w * c * sin, d, vaxpy(-w * s * cos, n, rate))


@routine
def add_shear(shape, X, U, G):
    """Velocity and gradient of a profile over height."""
    n = get3(shape, SHEAR_UP)
    h = (vdot(n, X) - shape[SHEAR_GROUND]) / shape[SHEAR_HEIGHT]
    if h.real <= LOWEST:
        return U, G
    velocity = get3(shape, SHEAR_VELOCITY)
    s = h ** shape[SHEAR_EXPONENT]
    slope = vscale(shape[SHEAR_EXPONENT] * s / (h * shape[SHEAR_HEIGHT]), n)
    G = (
        vaxpy(velocity[0], slope, G[0]),
        vaxpy(velocity[1], slope, G[1]),
        vaxpy(velocity[2], slope, G[2]),
    )
    return vaxpy(s, velocity, U), G


@routine
def flow_at(streams, u, X, which, eps):
    """Velocity and acceleration of the fluid at X; the input of field `which` is larger by eps."""
    zero = 0.0 * X[0] + 0.0 * eps
    none = (zero, zero, zero)
    U = vadd(get3(streams.current, N0), none)
    G, rate = (none, none, none), none
    for f in range(streams.field.shape[0]):
        kind, j, shape = streams.field[f, 0], streams.field[f, 1], streams.shape[f]
        value = zero
        if j >= 0:
            value = u[j] + (eps if f == which else 0.0 * eps) + zero
        if kind == WAVE:
            U, G, rate = add_wave(shape, X, value, U, G, rate)
        elif kind == SHEAR:
            U, G = add_shear(shape, X, U, G)
        else:
            U = vaxpy(value, get3(shape, N0), U)
    return U, vadd(rate, (vdot(G[0], U), vdot(G[1], U), vdot(G[2], U)))


@routine
def stream_wrench(data, kind, added, R, w, v, U, a):
    """The wrench on a section or body with axes R, angular velocity w and velocity v in a fluid (U, a): (moment about it, force) in world axes."""
    wb, vb, ub, ab = mtv(R, w), mtv(R, v), mtv(R, U), mtv(R, a)
    zero = 0.0 * (wb[0] + vb[0] + ub[0] + ab[0])
    m = f = (zero, zero, zero)
    if kind == 1:
        f = vadd(f, force_drag(data, vsub(vb, ub))[0])
    elif kind == 2:
        dm, df, _s = drag(data, wb, vsub(vb, ub))
        m, f = vadd(m, dm), vadd(f, df)
    if data[W_MASS] != 0.0:
        pressed = vscale(data[W_MASS], ab)
        m, f = vadd(m, vcross(get3(data, W_CENTRE), pressed)), vadd(f, pressed)
    if added != 0:
        o = W_ADDED
        hf = vadd(product3(data, o + 18, wb), product3(data, o + 21, vb))
        um, uf = product3(data, o + 3, ub), product3(data, o + 21, ub)
        rest = vsub(vcross(wb, ub), ab)
        m = vsub(m, product3(data, o + 3, rest))
        m = vadd(m, vadd(vadd(vcross(wb, um), vcross(vb, uf)), vcross(ub, vsub(hf, uf))))
        f = vadd(vsub(f, product3(data, o + 21, rest)), vcross(wb, uf))
    return mv(R, m), mv(R, f)


@routine
def apply_streams(t, work, streams, space, q, v, u, r):
    """Subtract the forces of the fluid from the inertial wrenches of the steps; for any number type."""
    origin = get3(work.origin, N0)
    for k in range(streams.place.shape[0]):
        row, data = work.state[streams.place[k, F_STEP]], streams.data[k]
        R, x = frame_of(row, data)
        w = get3(row, VE)
        velocity = vadd(get3(row, VE + 3), vcross(w, x))
        U, a = flow_at(streams, u, vadd(x, origin), NOBODY, 0.0)
        M, F = stream_wrench(data, streams.place[k, F_DRAG], streams.place[k, F_ADDED], R, w, velocity, U, a)
        subtract_wrench(row, x, M, F)


@routine
def stream_matrices(streams, work, u):
    """Matrices K and N of the fluid's forces, by complex steps: rotation, displacement, angular velocity and velocity of each point."""
    origin = get3(work.origin, N0)
    for k in range(streams.place.shape[0]):
        i, kind, added = streams.place[k, F_STEP], streams.place[k, F_DRAG], streams.place[k, F_ADDED]
        row, data = work.state[i], streams.data[k]
        R, x = frame_of(row, data)
        w = get3(row, VE)
        velocity = vadd(get3(row, VE + 3), vcross(w, x))
        X = vadd(x, origin)
        U, a = flow_at(streams, u, X, NOBODY, 0.0)
        M, F = stream_wrench(data, kind, added, R, w, velocity, U, a)
        A, B = work.law[0], work.law[1]
        for c in range(12):
            e = unit_vector(c % 3, 1.0)
            turn = mm(skew_diag(e, 0.0), R)
            part = c // 3
            one, two, three, four = (
                1j * EPS * (part == 0),
                1j * EPS * (part == 1),
                1j * EPS * (part == 2),
                1j * EPS * (part == 3),
            )
            Rc = (
                R[0] + one * turn[0], R[1] + one * turn[1], R[2] + one * turn[2], R[3] + one * turn[3], R[4] + one * turn[4],
                R[5] + one * turn[5], R[6] + one * turn[6], R[7] + one * turn[7], R[8] + one * turn[8],
            )  # fmt: skip
            Uc, ac = flow_at(streams, u, vaxpy(two, e, X), NOBODY, 0.0)
            Mc, Fc = stream_wrench(data, kind, added, Rc, vaxpy(three, e, w), vaxpy(four, e, velocity), Uc, ac)
            P = A if c < 6 else B
            for b in range(3):
                P[b, c % 6] = Mc[b].imag / EPS
                P[3 + b, c % 6] = Fc[b].imag / EPS
        subtract_law(work, i, x, M, F, A, B)


@routine
def stream_columns(t, work, streams, u, out):
    """Derivatives of the generalised forces by phases of waves and by gusts, into out (nu, nv)."""
    origin = get3(work.origin, N0)
    for f in range(streams.field.shape[0]):
        j = streams.field[f, 1]
        if j < 0:
            continue
        for k in range(streams.place.shape[0]):
            i = streams.place[k, F_STEP]
            row, data = work.state[i], streams.data[k]
            R, x = frame_of(row, data)
            w = get3(row, VE)
            velocity = vadd(get3(row, VE + 3), vcross(w, x))
            U, a = flow_at(streams, u, vadd(x, origin), np.int64(f), 1j * EPS)
            M, F = stream_wrench(data, streams.place[k, F_DRAG], streams.place[k, F_ADDED], R, w, velocity, U, a)
            m = (M[0].imag / EPS, M[1].imag / EPS, M[2].imag / EPS)
            force = (F[0].imag / EPS, F[1].imag / EPS, F[2].imag / EPS)
            add_projection(t, work, i, x, m, force, out[j])


@unit(Streams, tasks=(FORCES, MATRICES, INPUTS))
def streams(task, t, work, tables, space, q, v, u, out):
    """Forces of a fluid that moves."""
    if task == FORCES:
        apply_streams(t, work, tables, space, q, v, u, work.zero)
    elif task == MATRICES:
        stream_matrices(tables, work, u)
    elif task == INPUTS:
        stream_columns(t, work, tables, u, out)
