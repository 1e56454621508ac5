"""Distance to an ellipsoid."""

import numpy as np

from ..._jit import routine
from ..algebra.dual import madd, mm, mscale, vdot, vscale, vsub
from .shapes import diagonal, projector

ITERATIONS = 100


@routine
def level(c, a, w):
    """Σ (aᵢ cᵢ / (aᵢ² + w))² − 1 and its derivative by w."""
    value, slope = -1.0 + 0.0 * c[0], 0.0 * c[0]
    for k in range(3):
        below = a[k] * a[k] + w
        part = a[k] * c[k] / below
        value += part * part
        slope -= 2.0 * part * part / below
    return value, slope


@routine
def inverse(A):
    """Of a 3×3 matrix."""
    p, q, r = A[4] * A[8] - A[5] * A[7], A[5] * A[6] - A[3] * A[8], A[3] * A[7] - A[4] * A[6]
    det = A[0] * p + A[1] * q + A[2] * r
    rows = (
        p,
        A[2] * A[7] - A[1] * A[8],
        A[1] * A[5] - A[2] * A[4],
        q,
        A[0] * A[8] - A[2] * A[6],
        A[2] * A[3] - A[0] * A[5],
        r,
        A[1] * A[6] - A[0] * A[7],
        A[0] * A[4] - A[1] * A[3],
    )
    return mscale(1.0 / det, rows)


@routine
def ellipsoid_distance(c, a):
    """Signed distance of c from an ellipsoid with semi-axes a, its gradient and its second derivative.

    The foot is xᵢ = aᵢ² cᵢ / (aᵢ² + w) with the largest root w of `level`, which Newton's iteration finds from below: it is convex there. At the centre itself, as far
    inside as can be, the answer is that of a point next to it.
    """
    k = 0 if a[0] <= a[1] and a[0] <= a[2] else 1 if a[1] <= a[2] else 2
    tiny = 1e-9 * a[k]
    one = 1.0 + 0.0 * (c[0] + c[1] + c[2])
    if abs(c[k].real) < tiny:  # on the plane of the two longer axes the foot may be on either side
        c = (c[0] + (tiny if k == 0 else 0.0), c[1] + (tiny if k == 1 else 0.0), c[2] + (tiny if k == 2 else 0.0))
    real = (c[0].real, c[1].real, c[2].real)
    w = a[k] * (abs(real[k]) - a[k])
    for _ in range(ITERATIONS):
        value, slope = level(real, a, w)
        w -= value / slope
        if abs(value) <= 1e-15 * (1.0 - value):
            break
    value, slope = level(c, a, w * one)
    w = w - value / slope
    n = (c[0] / (a[0] * a[0] + w), c[1] / (a[1] * a[1] + w), c[2] / (a[2] * a[2] + w))
    size = np.sqrt(vdot(n, n))
    x = (a[0] * a[0] * n[0], a[1] * a[1] * n[1], a[2] * a[2] * n[2])
    n = vscale(1.0 / size, n)
    d = vdot(n, vsub(c, x))
    P = projector(n)
    form = diagonal(one / (a[0] * a[0]), one / (a[1] * a[1]), one / (a[2] * a[2]))
    W = mscale(
        1.0 / size, mm(P, mm(form, P))
    )  # how the normal turns along the surface, where the gradient of Σ xᵢ²/aᵢ² is 2 · size
    return d, n, mm(W, inverse(madd(diagonal(one, one, one), mscale(d, W))))
