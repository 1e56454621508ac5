"""Closest points of two capsules, and the weight of an edge of a body against an edge of another.

Bodies touch with their corners (spheres) and, where edges cross, with their edges (capsules). An edge that meets another at its end is a corner, and parallel edges
touch all along, which is up to their corners; so edges count with a weight that fades, smoothly, towards their ends and towards parallel.
"""

from ..._jit import inline, routine
from ..algebra.dual import vcross, vdot, vsub

PARALLEL = 0.01  # sin² of the angle between two edges below which they fade


@routine
def closest(pi, a, hi, pj, b, hj):
    """Parameters (s, t) of the closest points pᵢ + s a and pⱼ + t b of two segments, and which of them are free."""
    d = vsub(pi, pj)
    ab, da, db = vdot(a, b), vdot(d, a), vdot(d, b)
    det = 1.0 - ab * ab
    s = 0.0 * ab
    if det.real > 1e-12:
        s = (ab * db - da) / det
    s = clip(s, hi)
    t = clip(db + ab * s, hj)
    s = clip(ab * t - da, hi)
    return s, t, abs(s.real) < hi, abs(t.real) < hj


@inline
def clip(x, limit):
    """x within ± limit."""
    if x.real > limit:
        return 0.0 * x + limit
    if x.real < -limit:
        return 0.0 * x - limit
    return x


@routine
def slide_along(a, b, d, free_s, free_t, dtheta, dx):
    """Changes (δs, δt) of the closest points when the first segment turns and moves, seen from the second."""
    ab = vdot(a, b)
    e1 = -vdot(a, dx) - vdot(dtheta, vcross(a, d))
    e2 = -vdot(b, dx)
    if free_s and free_t and (1.0 - ab * ab).real > 1e-12:
        ds = (e1 - ab * e2) / (1.0 - ab * ab)
        return ds, ab * ds - e2
    if free_s:
        return e1, 0.0 * e1
    if free_t:
        return 0.0 * e1, -e2
    return 0.0 * e1, 0.0 * e1


@inline
def step_up(x):
    """0 below 0, 1 above 1, 3x² − 2x³ between them; and its derivative."""
    if x.real <= 0.0:
        return 0.0 * x, 0.0 * x
    if x.real >= 1.0:
        return 0.0 * x + 1.0, 0.0 * x
    return x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x)


@routine
def fade_end(half, width, s):
    """Weight of an edge at the place s, and its derivative; 1 for a capsule of a rod, whose width is 0."""
    if width == 0.0:
        return 0.0 * s + 1.0, 0.0 * s
    sign = 1.0 if s.real >= 0.0 else -1.0
    value, slope = step_up((half - sign * s) / width)
    return value, -sign * slope / width


@routine
def fade(hi, wi, hj, wj, s, t, ab):
    """Weight of two capsules at their closest points s and t, and its derivatives by s, by t and by the cosine of the angle between them."""
    one = 1.0 + 0.0 * (s + t + ab)
    if wi == 0.0 or wj == 0.0:
        return one, 0.0 * one, 0.0 * one, 0.0 * one
    f, fs = fade_end(hi, wi, s)
    g, gt = fade_end(hj, wj, t)
    e, slope = step_up((1.0 - ab * ab) / PARALLEL)
    return f * g * e * one, fs * g * e * one, f * gt * e * one, -2.0 * ab * slope / PARALLEL * f * g * one


@routine
def fade_rate(weight, a, b, d, free_s, free_t, dtheta, dx):
    """Relative change of the weight when the first capsule turns and moves, seen from the second; 0 where it vanishes."""
    if weight[0].real == 0.0:
        return 0.0 * weight[0]
    ds, dt = slide_along(a, b, d, free_s, free_t, dtheta, dx)
    turned = vdot(dtheta, vcross(a, b))
    return (weight[1] * ds + weight[2] * dt + weight[3] * turned) / weight[0]
