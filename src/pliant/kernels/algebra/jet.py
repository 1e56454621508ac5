"""Numbers that move, and how their motion changes: a value with two derivatives in time, and the variation of all three.

A jet is a tuple ``(x, ẋ, ẍ, δx, δẋ, δẍ)``. What is written once as an expression of jets gives a constraint's value, rate and acceleration
together with their exact derivatives (Taylor arithmetic in time over dual numbers). A jet of a vector is six vectors.
"""

import numpy as np

from ..._jit import inline, routine
from .dual import vadd, vcross, vdot, vsub


@inline
def jadd(x, y):
    """x + y."""
    return (x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5])


@inline
def jscale(s, x):
    """s x for a constant s."""
    return (s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5])


@inline
def jshift(x, s):
    """x + s for a constant s."""
    return (x[0] + s, x[1], x[2], x[3], x[4], x[5])


@routine
def jmul(x, y):
    """x y."""
    return (
        x[0] * y[0],
        x[1] * y[0] + x[0] * y[1],
        x[2] * y[0] + 2.0 * x[1] * y[1] + x[0] * y[2],
        x[3] * y[0] + x[0] * y[3],
        x[4] * y[0] + x[1] * y[3] + x[3] * y[1] + x[0] * y[4],
        x[5] * y[0] + x[2] * y[3] + 2.0 * (x[4] * y[1] + x[1] * y[4]) + x[3] * y[2] + x[0] * y[5],
    )


@routine
def jfunction(x, f, f1, f2, f3):
    """f(x), from the value and the first three derivatives of f there."""
    return (
        f,
        f1 * x[1],
        f2 * x[1] * x[1] + f1 * x[2],
        f1 * x[3],
        f2 * x[3] * x[1] + f1 * x[4],
        f3 * x[3] * x[1] * x[1] + f2 * (2.0 * x[1] * x[4] + x[3] * x[2]) + f1 * x[5],
    )


@routine
def jsqrt(x):
    """√x."""
    r = np.sqrt(x[0])
    f1 = 0.5 / r
    f2 = -0.5 * f1 / x[0]
    return jfunction(x, r, f1, f2, -1.5 * f2 / x[0])


@routine
def jinverse(x):
    """1 / x."""
    f = 1.0 / x[0]
    return jfunction(x, f, -f * f, 2.0 * f * f * f, -6.0 * f * f * f * f)


@routine
def angle_of(k, s):
    """The angle of the direction (k, s) from the first axis, for any number type."""
    kr, sr = k.real, s.real
    return np.arctan2(sr, kr) + (s * kr - k * sr) / (kr * kr + sr * sr)


@routine
def jangle(k, s):
    """The angle of the direction (k, s): turned so that it is zero at present, where it is arctan(s / k)."""
    n = np.sqrt(k[0] * k[0] + s[0] * s[0])
    c, d = k[0] / n, s[0] / n
    t = jmul(jadd(jscale(-d, k), jscale(c, s)), jinverse(jadd(jscale(c, k), jscale(d, s))))
    return jfunction(t, angle_of(k[0], s[0]), 1.0 + 0.0 * n, 0.0 * n, -2.0 + 0.0 * n)


@routine
def jdot(a, x):
    """a · x for a constant vector a and the jet x of a vector."""
    return (vdot(a, x[0]), vdot(a, x[1]), vdot(a, x[2]), vdot(a, x[3]), vdot(a, x[4]), vdot(a, x[5]))


@routine
def jsquare(x):
    """x · x for the jet x of a vector."""
    return (
        vdot(x[0], x[0]),
        2.0 * vdot(x[0], x[1]),
        2.0 * (vdot(x[1], x[1]) + vdot(x[0], x[2])),
        2.0 * vdot(x[0], x[3]),
        2.0 * (vdot(x[3], x[1]) + vdot(x[0], x[4])),
        2.0 * (2.0 * vdot(x[1], x[4]) + vdot(x[3], x[2]) + vdot(x[0], x[5])),
    )


@routine
def carried(x, turn, slide):
    """The jet of a point at x that a moving frame carries.

    `turn` and `slide` are the angular and linear parts, at the origin, of the frame's twist η, of η̇, of the displacement, of δη and of
    δη̇. A vector instead of a point has no linear parts (`turned`).
    """
    x1 = vadd(slide[0], vcross(turn[0], x))
    x2 = vadd(slide[1], vadd(vcross(turn[1], x), vcross(turn[0], x1)))
    y = vadd(slide[2], vcross(turn[2], x))
    y1 = vadd(slide[3], vadd(vcross(turn[3], x), vcross(turn[0], y)))
    y2 = vadd(vcross(turn[1], y), vadd(vcross(turn[3], x1), vcross(turn[0], y1)))
    y2 = vadd(vadd(slide[4], vcross(turn[4], x)), y2)
    return x, x1, x2, y, y1, y2


@routine
def turned(x, turn):
    """The jet of a vector that turns with a moving frame, see `carried`."""
    x1 = vcross(turn[0], x)
    x2 = vadd(vcross(turn[1], x), vcross(turn[0], x1))
    y = vcross(turn[2], x)
    y1 = vadd(vcross(turn[3], x), vcross(turn[0], y))
    y2 = vadd(vadd(vcross(turn[4], x), vcross(turn[1], y)), vadd(vcross(turn[3], x1), vcross(turn[0], y1)))
    return x, x1, x2, y, y1, y2


@inline
def jseen(x, origin):
    """The jet of a point, from a constant origin."""
    return vsub(x[0], origin), x[1], x[2], x[3], x[4], x[5]
