"""Relative rotation of two frames: its unit quaternion, rotation vector and turning about an axis, for any number type, with jets.

The quaternion (w, v) of a rotation by θ about n is ``(cos θ/2, n sin θ/2)``, so that the rotation vector is ``2 h(w) v`` with ``h = arccos(w) / √(1 − w²)``,
smooth up to half a turn (w = 0) and beyond. There −n is as good as n: w ≥ 0 chooses the nearer, and within rounding a rule (`between`), so that the choice is
the same everywhere. A quaternion turns with ω by ``½ ω ∘ (w, v)``.
"""

import numpy as np

from ..._jit import inline, routine
from .dual import mmt, mtv, vadd, vaxpy, vcross, vdot, vscale
from .jet import angle_of

HALF_TURN = np.pi
ROUNDING = 1e-12  # cosine of half an angle, below which rounding alone would choose between n and −n
COUNTS = 0.3  # part of a unit vector that is not a matter of rounding; one of three is larger


@routine
def unit_quaternion(R):
    """Unit quaternion (w, v) of a rotation (9,), w ≥ 0, by the largest of its four forms."""
    t = R[0] + R[4] + R[8]
    if t.real > 0.0:
        w = 0.5 * np.sqrt(1.0 + t)
        f = 0.25 / w
        return w, (f * (R[7] - R[5]), f * (R[2] - R[6]), f * (R[3] - R[1]))
    if R[0].real >= R[4].real and R[0].real >= R[8].real:
        x = 0.5 * np.sqrt(1.0 + R[0] - R[4] - R[8])
        f = 0.25 / x
        w, v = f * (R[7] - R[5]), (x, f * (R[1] + R[3]), f * (R[2] + R[6]))
    elif R[4].real >= R[8].real:
        x = 0.5 * np.sqrt(1.0 - R[0] + R[4] - R[8])
        f = 0.25 / x
        w, v = f * (R[2] - R[6]), (f * (R[1] + R[3]), x, f * (R[5] + R[7]))
    else:
        x = 0.5 * np.sqrt(1.0 - R[0] - R[4] + R[8])
        f = 0.25 / x
        w, v = f * (R[3] - R[1]), (f * (R[2] + R[6]), f * (R[5] + R[7]), x)
    return (-w, vscale(-1.0, v)) if w.real < 0.0 else (w, v)


@routine
def between(A, B):
    """Quaternion of the rotation that takes the axes A to the axes B, in world axes; of two at half a turn that of which A sees the first large component as positive."""
    w, v = unit_quaternion(mmt(B, A))
    if w.real < ROUNDING:
        x = mtv(A, v)
        first = x[0].real if abs(x[0].real) > COUNTS else x[1].real if abs(x[1].real) > COUNTS else x[2].real
        if first < 0.0:
            return -w, vscale(-1.0, v)
    return w, v


@routine
def half_ratio(w, v):
    """h of a quaternion, arccos(w) / |v|."""
    x = vdot(v, v)
    if x.real < 1e-3:
        return 1.0 + x * (1.0 / 6.0 + x * (3.0 / 40.0 + x * (5.0 / 112.0 + x * (35.0 / 1152.0 + x * (63.0 / 2816.0)))))
    s = np.sqrt(x)
    return angle_of(w, s) / s


@routine
def arc_ratio(c, square):
    """arccos(c) / √(1 − c²) and three derivatives by c, where 1 − c² is `square`; with ``(1 − c²) h′ = c h − 1``; near c = 1 by ``h = Σ k!/(2k+1)!! (1 − c)ᵏ``."""
    x = 1.0 - c
    if x.real < 1e-4:
        c2, c3, c4 = 2.0 / 15.0, 2.0 / 35.0, 8.0 / 315.0
        c5, c6, c7 = 8.0 / 693.0, 16.0 / 3003.0, 16.0 / 6435.0
        return (
            1.0 + x * (1.0 / 3.0 + x * (c2 + x * (c3 + x * (c4 + x * c5)))),
            -1.0 / 3.0 - x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * (5.0 * c5)))),
            2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * (20.0 * c5 + x * (30.0 * c6)))),
            -6.0 * c3 - x * (24.0 * c4 + x * (60.0 * c5 + x * (120.0 * c6 + x * (210.0 * c7)))),
        )
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
            if k > 3 and factor * k * k * k * abs(p3.real) < 1e-18:
                break
        return h, h1, h2, h3
    sine = np.sqrt(square)
    h = angle_of(c, sine) / sine
    h1 = (c * h - 1.0) / square
    h2 = (h + 3.0 * c * h1) / square
    return h, h1, h2, (4.0 * h1 + 5.0 * c * h2) / square


@routine
def log_coefficient(w, v, h):
    """κ of ``1 − ½ ψ̂ + κ ψ̂²``, the derivative of the rotation vector ψ by a turn in fixed axes, and dκ/d|ψ|²: ``κ = (1 − w h) / |ψ|²``."""
    square = vdot(v, v)
    y = 4.0 * h * h * square
    b2, b3, b4, b5 = 1.0 / 720.0, 1.0 / 30240.0, 1.0 / 1209600.0, 1.0 / 47900160.0  # |B₂ₙ| / (2n)! of Σ bₙ yⁿ⁻¹
    b6, b7, b8 = 691.0 / 1307674368000.0, 1.0 / 74724249600.0, 3617.0 / 10670622842880000.0
    if y.real < 1e-2:
        k = 1.0 / 12.0 + y * (b2 + y * (b3 + y * (b4 + y * (b5 + y * (b6 + y * b7)))))
        return k, b2 + y * (2.0 * b3 + y * (3.0 * b4 + y * (4.0 * b5 + y * (5.0 * b6 + y * (6.0 * b7)))))
    if y.real < 1.0:
        b9, b10, b11 = 8.586062056277845e-15, 2.174868698558062e-16, 5.5090028283602295e-18
        k = b8 + y * (b9 + y * (b10 + y * b11))
        d = 7.0 * b8 + y * (8.0 * b9 + y * (9.0 * b10 + y * (10.0 * b11)))
        k = 1.0 / 12.0 + y * (b2 + y * (b3 + y * (b4 + y * (b5 + y * (b6 + y * (b7 + y * k))))))
        return k, b2 + y * (2.0 * b3 + y * (3.0 * b4 + y * (4.0 * b5 + y * (5.0 * b6 + y * (6.0 * b7 + y * d)))))
    k = (1.0 - w * h) / y
    return k, -(k + 0.125 * (w / h - 1.0) / square) / y


@inline
def turned_by(omega, w, v):
    """½ ω ∘ (w, v)."""
    return -0.5 * vdot(omega, v), vscale(0.5, vaxpy(w, omega, vcross(omega, v)))


@routine
def quaternion_jet(w, v, turn):
    """Jets of w and v of a rotation that a moving frame carries; see `jet.carried` for `turn`."""
    w1, v1 = turned_by(turn[0], w, v)
    a, x = turned_by(turn[1], w, v)
    b, y = turned_by(turn[0], w1, v1)
    w2, v2 = a + b, vadd(x, y)
    w3, v3 = turned_by(turn[2], w, v)
    a, x = turned_by(turn[3], w, v)
    b, y = turned_by(turn[0], w3, v3)
    w4, v4 = a + b, vadd(x, y)
    a, x = turned_by(turn[4], w, v)
    b, y = turned_by(turn[1], w3, v3)
    w5, v5 = a + b, vadd(x, y)
    a, x = turned_by(turn[3], w1, v1)
    b, y = turned_by(turn[0], w4, v4)
    return (w, w1, w2, w3, w4, w5 + a + b), (v, v1, v2, v3, v4, vadd(v5, vadd(x, y)))
