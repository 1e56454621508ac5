"""Scalar functions of where a frame B is as seen from a frame A: the rows of loop joints and the coordinates of these joints.

With d = p_B − p_A, vectors a, c fixed to A and b to B (β where it is now), n the normal and r the radius of what rolls:

* POINT: ``c · d − const``;
* ANGLE: ``a · β − const``;
* LOG: ``g · ψ``, ψ the rotation vector from three axes of A to the axes of B, g fixed to these;
* SWING: ``θ / sin θ (a · β)``, θ the angle between n and β, a normal to n: how far β has swung from n, about ``n × a``;
* TWIST: ``τ − const`` with the angle τ of B about the axis n of A, ``2 arctan(v · n / w)`` for the quaternion (w, v) of its rotation: between ± half a turn from const, or where there
  is a thread (c) as many whole turns as ``c · d`` is nearest to;
* THREAD: ``c · d + slope τ``, of the groove that is nearest;
* TURN: ``θ − const``, θ the angle of the direction (a₁ · β₁, a₂ · β₂), between ± half a turn from const;
* DISTANCE: ``|d| − const``;
* HEIGHT: ``n · d − r √(1 − (n · β)²)``, of the centre of a wheel of axis β above the ground that it touches;
* ROLL: the rate ``c · (ḋ + ω × ρ)`` with which the touching point of a wheel slips along c, ``ρ = −r (n − (n·β) β) / √(1 − (n·β)²)``; of a
  ball (b = 0) ``ρ = −r n``;
* SKATE: the rate ``β · ḋ``;
* SPIN: the rate ``β · ω``.

LOG and SWING vanish nowhere but where B has its axes, or its axis, where A has them: each is the angle that is left, up to half a turn. ROLL, SKATE and SPIN are rates that are no
derivative of a value (non-holonomic). The derivative of a row with respect to the motion of both
frames is a wrench (M about p_B, F) on B and its opposite on A: the force per unit of its multiplier λ, or of the coordinate. Each row is
one expression of jets (`row_jet`), from which accelerations and all derivatives follow; wrenches, and derivatives of those of LOG and SWING, are written out, because they are
needed most often.
"""

import numpy as np

from ..._jit import kernel, routine
from ..algebra.dual import (
    add3,
    get3,
    get9,
    madd,
    maxpy,
    mm,
    mouter,
    mscale,
    mv,
    skew_diag,
    vaxpy,
    vcross,
    vdot,
    vscale,
    vsub,
)
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
from ..algebra.turning import HALF_TURN, arc_ratio, between, half_ratio, log_coefficient, quaternion_jet

POINT, ANGLE, TURN, DISTANCE, HEIGHT, LOG, COUPLING = (np.int64(k) for k in range(7))
SWING, TWIST, THREAD, ROLL, SKATE, SPIN = (np.int64(k) for k in range(7, 13))  # rates last
# columns of a row's data: vectors c, a₁ (or the normal, or an axis), b₁, a₂, b₂; constant (or radius); slope. The three axes of a LOG are c, a₁, a₂, its g is b₁. A SWING has n in a₂, and in c
# the direction to which it swings back from half a turn
ROW_C, ROW_A1, ROW_B1, ROW_A2, ROW_B2, ROW_CONSTANT, ROW_SLOPE = (np.int64(k) for k in (0, 3, 6, 9, 12, 15, 16))
ROW_WIDTH = 17
NEAR = 1e-10  # rad from where a direction is lost


@routine
def is_rate(kind):
    """Whether a row is a rate without a value."""
    return kind >= ROLL


@routine
def repeats(kind, data):
    """Whether a row is an angle that is the same after a whole turn."""
    return kind == TURN or (kind == TWIST and data[ROW_SLOPE] == 0.0)


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
def apart(d, first):
    """d, or where both points are at the same place a little along the first axis of A, along which they part."""
    return vscale(NEAR, first) if vdot(d, d).real < NEAR * NEAR else d


@routine
def lost(k, s):
    """What is added to k where (k, s) has no direction, which then is the first."""
    return NEAR if (k * k + s * s).real < NEAR * NEAR else 0.0


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
    if kind == LOG:
        return log_wrench(data, A, B, none)
    if kind == SWING:
        return swing_wrench(data, A, B, none)
    if kind in (TWIST, THREAD):
        return twist_wrench(kind, data, A, B, d)
    if kind == TURN:
        a1, b1 = mv(A, get3(data, ROW_A1)), mv(B, get3(data, ROW_B1))
        a2, b2 = mv(A, get3(data, ROW_A2)), mv(B, get3(data, ROW_B2))
        k, s = vdot(a1, b1), vdot(a2, b2)
        k = k + lost(k, s)
        value = wrapped(angle_of(k, s) - data[ROW_CONSTANT])
        f = 1.0 / (k * k + s * s)
        return value, vaxpy(f * k, vcross(b2, a2), vscale(-f * s, vcross(b1, a1))), none
    if kind == DISTANCE:
        d = apart(d, (A[0], A[3], A[6]))
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


# ---------------------------------------------------------------- rotations


@routine
def log_parts(data, A, B):
    """Quaternion (w, v) of a LOG, and g, in world axes."""
    c, a, b = get3(data, ROW_C), get3(data, ROW_A1), get3(data, ROW_A2)
    axes = mm(A, (c[0], a[0], b[0], c[1], a[1], b[1], c[2], a[2], b[2]))
    w, v = between(axes, B)
    return w, v, mv(axes, get3(data, ROW_B1))


@routine
def log_wrench(data, A, B, none):
    """`row_wrench` of a LOG: ``g + ½ ψ × g + κ ψ × (ψ × g)``."""
    w, v, g = log_parts(data, A, B)
    h = half_ratio(w, v)
    k, _dk = log_coefficient(w, v, h)
    psi = vscale(2.0 * h, v)
    x = vcross(psi, g)
    return vdot(psi, g), vaxpy(k, vcross(psi, x), vaxpy(0.5, x, g)), none


@routine
def add_log_matrix(data, A, B, scale, P):
    """`add_row_matrix` of a LOG: the derivative of its wrench by ψ, times that of ψ, ``1 − ½ ψ̂ + κ ψ̂²``."""
    w, v, g = log_parts(data, A, B)
    h = half_ratio(w, v)
    k, dk = log_coefficient(w, v, h)
    psi = vscale(2.0 * h, v)
    along, zero = vdot(psi, g), 0.0 * w
    turned_out = vaxpy(along, psi, vscale(-vdot(psi, psi), g))  # ψ × (ψ × g)
    D = maxpy(-0.5, skew_diag(g, zero), mscale(k, skew_diag(vscale(0.0, g), along)))
    D = madd(D, mouter(vaxpy(2.0 * dk, turned_out, vscale(-2.0 * k, g)), psi))
    D = maxpy(k, mouter(psi, g), D)
    change = maxpy(k, mouter(psi, psi), skew_diag(vscale(-0.5, psi), 1.0 - k * vdot(psi, psi)))
    a, b, c, d, e, f, x, y, z = mm(D, change)
    add3(P[0], 0, vscale(scale, (a, b, c)))
    add3(P[1], 0, vscale(scale, (d, e, f)))
    add3(P[2], 0, vscale(scale, (x, y, z)))


@routine
def swing_parts(data, A, B):
    """a, n and β of a SWING in world axes; a · β, (n × a) · β, and the sine of θ squared. At half a turn β leaves in the direction c."""
    a, n, b = mv(A, get3(data, ROW_A1)), mv(A, get3(data, ROW_A2)), mv(B, get3(data, ROW_B1))
    side = vcross(n, a)
    x, y = vdot(a, b), vdot(side, b)
    square = x * x + y * y
    if square.real < NEAR * NEAR and vdot(n, b).real < 0.0:
        b = vaxpy(NEAR, mv(A, get3(data, ROW_C)), vscale(-1.0, n))
        x, y = vdot(a, b), vdot(side, b)
        square = x * x + y * y
    return a, n, b, x, y, square


@routine
def swing_wrench(data, A, B, none):
    """`row_wrench` of a SWING: ``h β × a + h′ (a · β) β × n``; far from n by how θ and the direction of the swing change."""
    a, n, b, x, y, square = swing_parts(data, A, B)
    c, along = vdot(n, b), vcross(b, a)
    h, h1, _h2, _h3 = arc_ratio(c, square)
    if c.real > 0.0:
        return h * x, vaxpy(h1 * x, vcross(b, n), vscale(h, along)), none
    around = vaxpy(x, vcross(b, vcross(n, a)), vscale(-y, along))
    return h * x, vaxpy(x / square, vcross(n, b), vscale(-h * y / square, around)), none


@routine
def add_swing_matrix(data, A, B, scale, P):
    """`add_row_matrix` of a SWING."""
    a, n, b, x, _y, square = swing_parts(data, A, B)
    c = vdot(n, b)
    h, h1, h2, _h3 = arc_ratio(c, square)
    Ma, Mn = vcross(b, a), vcross(b, n)
    for i in range(3):
        for j in range(3):
            term = h * b[i] * a[j] + h1 * (Ma[i] * Mn[j] + Mn[i] * Ma[j] + x * b[i] * n[j]) + h2 * x * Mn[i] * Mn[j]
            P[i, j] += scale * (term - (h + h1 * c) * x if i == j else term)


@routine
def twist_parts(data, A, B):
    """Quaternion (w, v) of the rotation from A to B, the axis n, and ``v · n``; where B has swung by half a turn, the turning about n is lost and taken as none."""
    w, v = between(A, B)
    n = mv(A, get3(data, ROW_A1))
    y = vdot(v, n)
    return w + lost(w, y), v, n, y


@routine
def counted(kind, data, angle, along):
    """The value of a TWIST or THREAD from the angle between ± half a turn and ``c · d``."""
    slope = data[ROW_SLOPE]
    if kind == THREAD:
        return along if slope == 0.0 else slope * wrapped(angle + along / slope)
    angle = angle - data[ROW_CONSTANT]
    if slope == 0.0:
        return wrapped(angle)
    return angle + 2.0 * HALF_TURN * np.round((along - angle - data[ROW_CONSTANT]).real / (2.0 * HALF_TURN))


@routine
def twist_wrench(kind, data, A, B, d):
    """`row_wrench` of a TWIST or THREAD."""
    w, v, n, y = twist_parts(data, A, B)
    f = 1.0 / (w * w + y * y)
    M = vaxpy(f * w, vaxpy(w, n, vcross(v, n)), vscale(f * y, v))
    c = mv(A, get3(data, ROW_C))
    value = counted(kind, data, 2.0 * angle_of(w, y), vdot(c, d))
    if kind == THREAD:
        return value, vscale(data[ROW_SLOPE], M), c
    return value, M, vscale(0.0, d)


# ---------------------------------------------------------------- jets


@routine
def row_place(kind, data, A, B):
    """What the jet of a row takes from where the frames are: vectors in world axes and numbers, the same for all motions.

    Of a LOG g, v, w and h(w) with its derivatives; of a SWING a, β, n and those of ``θ / sin θ``; of a TWIST or THREAD c, n, v and w; of a DISTANCE the first axis of A; of others c, a₁, β₁, a₂, β₂.
    """
    if kind == LOG:
        w, v, g = log_parts(data, A, B)
        h, h1, h2, h3 = arc_ratio(w, vdot(v, v))
        return g, g, v, v, v, (w, h, h1, h2, h3)
    one = 1.0 + 0.0 * A[0]
    if kind == SWING:
        a, n, b, _x, _y, square = swing_parts(data, A, B)
        h, h1, h2, h3 = arc_ratio(vdot(n, b), square)
        return a, a, b, n, b, (one, h, h1, h2, h3)
    c = mv(A, get3(data, ROW_C))
    if kind == DISTANCE:
        c = (A[0], A[3], A[6])
    if kind in (POINT, DISTANCE):
        return c, c, c, c, c, (one, one, one, one, one)
    if kind in (TWIST, THREAD):
        w, v, n, _y = twist_parts(data, A, B)
        return c, n, v, v, v, (w, one, one, one, one)
    b1, b2 = mv(B, get3(data, ROW_B1)), mv(B, get3(data, ROW_B2))
    return c, mv(A, get3(data, ROW_A1)), b1, mv(A, get3(data, ROW_A2)), b2, (one, one, one, one, one)


@routine
def row_jet(kind, data, place, pa, pb, turn, slide):
    """Jet (value, rate, acceleration and their variations) of a row under a motion of B as seen from A; see `row_place` and `jet.carried`."""
    c, a1, b1, a2, b2, more = place
    w, h, h1, h2, h3 = more
    if kind == LOG:
        W, V = quaternion_jet(w, b1, turn)
        return jscale(2.0, jmul(jdot(a1, V), jfunction(W, h, h1, h2, h3)))
    if kind == SWING:
        beta = turned(b1, turn)
        return jmul(jdot(a1, beta), jfunction(jdot(a2, beta), h, h1, h2, h3))
    x = jseen(carried(pb, turn, slide), pa)
    if kind == POINT:
        return jshift(jdot(c, x), -data[ROW_CONSTANT])
    if kind == DISTANCE:
        x = (apart(x[0], c), x[1], x[2], x[3], x[4], x[5])
        return jshift(jsqrt(jsquare(x)), -data[ROW_CONSTANT])
    if kind in (TWIST, THREAD):
        W, V = quaternion_jet(w, b1, turn)
        angle = jscale(2.0, jangle(W, jdot(a1, V)))
        value = counted(kind, data, angle[0], vdot(c, x[0]))
        if kind == THREAD:
            angle = jadd(jdot(c, x), jscale(data[ROW_SLOPE], angle))
        return jshift(angle, value - angle[0])
    beta = turned(b1, turn)
    k = jdot(a1, beta)
    if kind == ANGLE:
        return jshift(k, -data[ROW_CONSTANT])
    if kind == TURN:
        s = jdot(a2, turned(b2, turn))
        angle = jangle(jshift(k, lost(k[0], s[0])), s)
        return jshift(angle, wrapped(angle[0] - data[ROW_CONSTANT]) - angle[0])
    if kind == HEIGHT:
        upright = jsqrt(jshift(jscale(-1.0, jmul(k, k)), 1.0))
        return jadd(jdot(a1, x), jscale(-data[ROW_CONSTANT], upright))
    return rate_jet(kind, data[ROW_CONSTANT], c, a1, k, beta, x, turn)


@routine
def rate_jet(kind, radius, c, n, k, beta, x, turn):
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
    slip = jscale(-radius, jmul(jadd(up, jscale(-1.0, jmul(k, side))), upright))
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
    if kind == LOG:
        add_log_matrix(data, A, B, scale, P)
        return
    if kind == SWING:
        add_swing_matrix(data, A, B, scale, P)
        return
    # the others depend on the rotation by moments, but SKATE by its force, and DISTANCE on the position by its force
    row = 3 if kind in (SKATE, DISTANCE) else 0
    column = 3 if kind == DISTANCE else 0
    one = 1.0 + 0.0 * pb[0]
    none = unit3(-1, one)
    d = vsub(pb, pa)
    place = row_place(kind, data, A, B)
    for i in range(row, row + 3):
        w, v = unit3(i, one), unit3(i - 3, one)
        for j in range(column, column + 3):
            turn = (w, none, unit3(j, one), none, none)
            slide = (v, none, unit3(j - 3, one), vscale(-1.0, vcross(w, unit3(j - 3, one))), none)
            # about p_B, so that the point itself moves by the linear parts alone, and its velocity does not change
            jet = row_jet(kind, data, place, vscale(-1.0, d), vscale(0.0, d), turn, slide)
            P[i, j] += scale * jet[4]
