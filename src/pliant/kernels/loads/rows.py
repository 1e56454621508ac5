"""Scalar functions of where a frame B is as seen from a frame A: the rows of loop joints and the coordinates of these joints.

With d = p_B − p_A, vectors a, c fixed to A and b to B (β where it is now), n the normal and r the radius of what rolls:

* POINT: ``c · d − const``;
* ANGLE: ``a · β − const``;
* TURN: ``c · d + slope · (θ − const)``, θ the angle of the direction (a₁ · β₁, a₂ · β₂), between ± half a turn from const;
* DISTANCE: ``|d| − const``;
* HEIGHT: ``n · d − r √(1 − (n · β)²)``, of the centre of a wheel of axis β above the ground that it touches;
* ROLL: the rate ``c · (ḋ + ω × ρ)`` with which the touching point of a wheel slips along c, ``ρ = −r (n − (n·β) β) / √(1 − (n·β)²)``; of a
  ball (b = 0) ``ρ = −r n``;
* SKATE: the rate ``β · ḋ``;
* SPIN: the rate ``β · ω``;
* LOG: a component of the rotation vector from three axes a of A to the axes of B.

ROLL, SKATE and SPIN are rates that are no derivative of a value (non-holonomic). The derivative of a row with respect to the motion of both
frames is a wrench (M about p_B, F) on B and its opposite on A: the force per unit of its multiplier λ, or of the coordinate. Each row is
one expression of jets (`row_jet`), from which accelerations and all derivatives follow; wrenches are written out, because they are
needed most often.
"""

import numpy as np

from ..._jit import kernel, routine
from ..algebra.dual import get3, get9, mv, vaxpy, vcross, vdot, vscale, vsub
from ..algebra.jet import (
    angle_of,
    carried,
    jadd,
    jangle,
    jdot,
    jfunction,
    jinverse,
    jmul,
    jscale,
    jseen,
    jshift,
    jsqrt,
    jsquare,
    turned,
)

POINT, ANGLE, TURN, DISTANCE, HEIGHT, LOG, COUPLING, ROLL, SKATE, SPIN = (np.int64(k) for k in range(10))  # rates last
# columns of a row's data: vectors c, a₁ (or the normal), b₁, a₂, b₂; constant (or radius); slope (or component; the three axes of a LOG are
# c, a₁, a₂)
ROW_C, ROW_A1, ROW_B1, ROW_A2, ROW_B2, ROW_CONSTANT, ROW_SLOPE = (np.int64(k) for k in (0, 3, 6, 9, 12, 15, 16))
ROW_WIDTH = 17
HALF_TURN = np.pi


@routine
def is_rate(kind):
    """Whether a row is a rate without a value."""
    return kind >= ROLL


@routine
def wrapped(angle):
    """The angle less whole turns, between ± half a turn."""
    return angle - 2.0 * HALF_TURN * np.round(angle.real / (2.0 * HALF_TURN))


@routine
def leaning(data, A, B):
    """Normal n and axis β of what rolls, in world axes, n · β, and √(1 − (n · β)²)."""
    n, axis = mv(A, get3(data, ROW_A1)), mv(B, get3(data, ROW_B1))
    lean = vdot(n, axis)
    return n, axis, lean, np.sqrt(1.0 - lean * lean)


@routine
def row_wrench(kind, data, A, B, d):
    """Value of a row, and its wrench (M about p_B, F) on B, in world axes. Rates that have no value give zero."""
    none = vscale(0.0, d)
    zero = 0.0 * d[0]
    if kind == POINT:
        c = mv(A, get3(data, ROW_C))
        return vdot(c, d) - data[ROW_CONSTANT], none, c
    if kind == ANGLE:
        a, b = mv(A, get3(data, ROW_A1)), mv(B, get3(data, ROW_B1))
        return vdot(a, b) - data[ROW_CONSTANT], vcross(b, a), none
    if kind == TURN:
        c = mv(A, get3(data, ROW_C))
        a1, b1 = mv(A, get3(data, ROW_A1)), mv(B, get3(data, ROW_B1))
        a2, b2 = mv(A, get3(data, ROW_A2)), mv(B, get3(data, ROW_B2))
        k, s = vdot(a1, b1), vdot(a2, b2)
        slope = data[ROW_SLOPE]
        value = vdot(c, d) + slope * wrapped(angle_of(k, s) - data[ROW_CONSTANT])
        f = slope / (k * k + s * s)
        return value, vaxpy(f * k, vcross(b2, a2), vscale(-f * s, vcross(b1, a1))), c
    if kind == DISTANCE:
        size = np.sqrt(vdot(d, d))
        return size - data[ROW_CONSTANT], none, vscale(1.0 / size, d)
    if kind == HEIGHT:
        n, axis, lean, upright = leaning(data, A, B)
        r = data[ROW_CONSTANT]
        return vdot(n, d) - r * upright, vscale(r * lean / upright, vcross(axis, n)), n
    if kind == ROLL:
        n, axis, lean, upright = leaning(data, A, B)
        c = mv(A, get3(data, ROW_C))
        rho = vscale(-data[ROW_CONSTANT] / upright, vaxpy(-lean, axis, n))
        return zero, vcross(rho, c), c
    if kind == LOG:
        return log_wrench(data, A, B, none)
    b = mv(B, get3(data, ROW_B1))
    return (zero, none, b) if kind == SKATE else (zero, b, none)


@kernel("i1 f2 f1 f1 f1 f1 f1")
def sum_of_wrenches(kinds, data, forces, A, B, d, out):
    """out (6,) = the wrench on B of rows (n,) with these multipliers; A, B (9,) rotations by rows, d (3,)."""
    RA, RB, x = get9(A, ROW_C), get9(B, ROW_C), get3(d, ROW_C)
    for r in range(kinds.shape[0]):
        _value, M, F = row_wrench(kinds[r], data[r], RA, RB, x)
        for i in range(3):
            out[i] += forces[r] * M[i]
            out[3 + i] += forces[r] * F[i]


@routine
def log_wrench(data, A, B, none):
    """`row_wrench` of a LOG: its rates under unit angular velocities."""
    one = 1.0 + none[0]
    value = log_jet(data, A, B, (none, none, none, none, none))[0]
    x = log_jet(data, A, B, (unit3(0, one), none, none, none, none))[1]
    y = log_jet(data, A, B, (unit3(1, one), none, none, none, none))[1]
    z = log_jet(data, A, B, (unit3(2, one), none, none, none, none))[1]
    return value, (x, y, z), none


@routine
def log_jet(data, A, B, turn):
    """Jet of a component of the rotation vector: ``θ / sin θ`` times that of the axial vector of the rotation, as functions of its entries."""
    ax, ay, az = mv(A, get3(data, ROW_C)), mv(A, get3(data, ROW_A1)), mv(A, get3(data, ROW_A2))
    one = 1.0 + 0.0 * ax[0]
    bx, by, bz = (
        turned(mv(B, unit3(0, one)), turn),
        turned(mv(B, unit3(1, one)), turn),
        turned(mv(B, unit3(2, one)), turn),
    )
    c = jshift(jscale(0.5, jadd(jdot(ax, bx), jadd(jdot(ay, by), jdot(az, bz)))), -0.5)
    wx = jadd(jdot(az, by), jscale(-1.0, jdot(ay, bz)))
    wy = jadd(jdot(ax, bz), jscale(-1.0, jdot(az, bx)))
    wz = jadd(jdot(ay, bx), jscale(-1.0, jdot(ax, by)))
    part = data[ROW_SLOPE]
    w = wx if part == 0.0 else wy if part == 1.0 else wz
    h, h1, h2, h3 = arc_ratio(c[0], 0.25 * (wx[0] * wx[0] + wy[0] * wy[0] + wz[0] * wz[0]))
    return jscale(0.5, jmul(w, jfunction(c, h, h1, h2, h3)))


@routine
def arc_ratio(c, square):
    """arccos(c) / √(1 − c²) and three derivatives by c, where 1 − c² is `square`; with ``(1 − c²) h′ = c h − 1``; near c = 1 by ``h = Σ k!/(2k+1)!! (1 − c)ᵏ``."""
    x = 1.0 - c
    if x.real < 0.5:
        term = 1.0 + 0.0 * x
        h, h1, h2, h3 = term, 0.0 * x, 0.0 * x, 0.0 * x
        factor = 1.0
        p1, p2, p3 = 0.0 * x, 0.0 * x, 0.0 * x  # powers x^(k−1), x^(k−2), x^(k−3)
        power = term
        for k in range(1, 40):
            factor *= k / (2.0 * k + 1.0)
            p3, p2, p1 = p2, p1, power
            power = power * x
            h += factor * power
            h1 -= factor * k * p1
            h2 += factor * k * (k - 1.0) * p2
            h3 -= factor * k * (k - 1.0) * (k - 2.0) * p3
        return h, h1, h2, h3
    sine = np.sqrt(square)
    h = angle_of(c, sine) / sine
    h1 = (c * h - 1.0) / square
    h2 = (h + 3.0 * c * h1) / square
    return h, h1, h2, (4.0 * h1 + 5.0 * c * h2) / square


@routine
def row_jet(kind, data, A, B, pa, pb, turn, slide):
    """Jet (value, rate, acceleration and their variations) of a row under a motion of B as seen from A; see `jet.carried`."""
    if kind == LOG:
        return log_jet(data, A, B, turn)
    x = jseen(carried(pb, turn, slide), pa)
    if kind == POINT:
        return jshift(jdot(mv(A, get3(data, ROW_C)), x), -data[ROW_CONSTANT])
    if kind == DISTANCE:
        return jshift(jsqrt(jsquare(x)), -data[ROW_CONSTANT])
    beta = turned(mv(B, get3(data, ROW_B1)), turn)
    k = jdot(mv(A, get3(data, ROW_A1)), beta)
    if kind == ANGLE:
        return jshift(k, -data[ROW_CONSTANT])
    if kind == TURN:
        s = jdot(mv(A, get3(data, ROW_A2)), turned(mv(B, get3(data, ROW_B2)), turn))
        angle = jangle(k, s)
        more = wrapped(angle[0] - data[ROW_CONSTANT]) - angle[0]
        return jadd(jdot(mv(A, get3(data, ROW_C)), x), jscale(data[ROW_SLOPE], jshift(angle, more)))
    if kind == HEIGHT:
        upright = jsqrt(jshift(jscale(-1.0, jmul(k, k)), 1.0))
        return jadd(jdot(mv(A, get3(data, ROW_A1)), x), jscale(-data[ROW_CONSTANT], upright))
    return rate_jet(kind, data, A, k, beta, x, turn)


@routine
def rate_jet(kind, data, A, k, beta, x, turn):
    """The jet of a row that is a rate: its own value and rate are the second and third entries, the first is zero."""
    zero = 0.0 * x[1][0]
    if kind == SKATE:
        rate = vdot(beta[0], x[1])
        second = vdot(beta[1], x[1]) + vdot(beta[0], x[2])
        change = vdot(beta[3], x[1]) + vdot(beta[0], x[4])
        more = vdot(beta[4], x[1]) + vdot(beta[1], x[4]) + vdot(beta[3], x[2]) + vdot(beta[0], x[5])
        return zero, rate, second, zero, change, more
    if kind == SPIN:
        rate = vdot(beta[0], turn[0])
        second = vdot(beta[0], turn[1])  # β turns with ω
        change = vdot(beta[3], turn[0]) + vdot(beta[0], turn[3])
        more = vdot(beta[3], turn[1]) + vdot(beta[0], turn[4])
        return zero, rate, second, zero, change, more
    # ROLL: c · (ḋ + ω × ρ), with (c × ω) · n and (c × ω) · β as numbers that move, of first order in time
    c, n = mv(A, get3(data, ROW_C)), mv(A, get3(data, ROW_A1))
    w = (vcross(c, turn[0]), vcross(c, turn[1]), vcross(c, turn[3]), vcross(c, turn[4]))
    up = (vdot(w[0], n), vdot(w[1], n), zero, vdot(w[2], n), vdot(w[3], n), zero)
    side = (
        vdot(w[0], beta[0]),
        vdot(w[1], beta[0]) + vdot(w[0], beta[1]),
        zero,
        vdot(w[2], beta[0]) + vdot(w[0], beta[3]),
        vdot(w[3], beta[0]) + vdot(w[2], beta[1]) + vdot(w[1], beta[3]) + vdot(w[0], beta[4]),
        zero,
    )
    upright = jinverse(jsqrt(jshift(jscale(-1.0, jmul(k, k)), 1.0)))
    slip = jscale(-data[ROW_CONSTANT], jmul(jadd(up, jscale(-1.0, jmul(k, side))), upright))
    return (
        zero,
        vdot(c, x[1]) + slip[0],
        vdot(c, x[2]) + slip[1],
        zero,
        vdot(c, x[4]) + slip[3],
        vdot(c, x[5]) + slip[4],
    )


@routine
def unit3(k, one):
    """The k-th unit vector for k = 0, 1, 2, else zero."""
    zero = 0.0 * one
    return (one if k == 0 else zero, one if k == 1 else zero, one if k == 2 else zero)


@routine
def add_row_matrix(kind, data, A, B, pa, pb, scale, P):
    """P (6, 6) += scale × the derivative of a row's wrench (M, F) with respect to (δθ, δp_B), as seen from A.

    The rate of a row under the unit twist i at p_B is entry i of its wrench; P has the variations of these rates.
    """
    if kind == POINT:
        return
    if kind == ANGLE:
        a, b = mv(A, get3(data, ROW_A1)), mv(B, get3(data, ROW_B1))
        ab = vdot(a, b)
        for i in range(3):
            for j in range(3):
                P[i, j] += scale * (b[i] * a[j] - (ab if i == j else 0.0))
        return
    one = 1.0 + 0.0 * pb[0]
    none = unit3(-1, one)
    d = vsub(pb, pa)
    for i in range(6):
        w, v = unit3(i, one), unit3(i - 3, one)
        for j in range(6):
            turn = (w, none, unit3(j, one), none, none)
            slide = (v, none, unit3(j - 3, one), vscale(-1.0, vcross(w, unit3(j - 3, one))), none)
            # about p_B, so that the point itself moves by the linear parts alone, and its velocity does not change
            jet = row_jet(kind, data, A, B, vscale(-1.0, d), vscale(0.0, d), turn, slide)
            P[i, j] += scale * jet[4]
