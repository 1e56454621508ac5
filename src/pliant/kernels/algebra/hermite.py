"""Dense output: quintic (or cubic) Hermite interpolation between accepted steps, on the manifold of the coordinates.

Between two states the motion is a polynomial x(t) in the chart at the first, ``q = q₀ ⊕ x``, with ``v = T(−x) ẋ`` on manifold joints and
``a = T(−x) ẍ + Ṫ(−x) ẋ``: x, ẋ and ẍ at both ends follow from the states.
"""

from ..._jit import inline, kernel, routine
from .dual import dadd, dscale, get3, get6, put3, put6, vscale
from .exponential import inverse_tangent_apply, tangent_apply, tangent_coefficients, tangent_rate_apply
from .manifold import POSE, integrate, relative_log


@inline
def get_twist(x, i, group):
    """Entries of a manifold joint as a twist; a rotation has no velocity."""
    if group == POSE:
        return get6(x, i)
    w = get3(x, i)
    return (w, vscale(0.0, w))


@inline
def put_twist(out, i, group, X):
    """Write what `get_twist` reads."""
    if group == POSE:
        put6(out, i, X)
    else:
        put3(out, i, X[0])


@routine
def to_chart(spatial, x, v, a):
    """Velocity and acceleration (nv,) become the rates ẋ and ẍ of the chart at x."""
    for k in range(spatial.shape[0]):
        i, group = spatial[k, 1], spatial[k, 2]
        omega = dscale(-1.0, get_twist(x, i, group))
        _c2, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
        rate = inverse_tangent_apply(omega, get_twist(v, i, group))
        # d/dt T(−x) ẋ = −Ṫ Ω̇ with Ω = −x
        bend = tangent_rate_apply(omega, dscale(-1.0, rate), cb, a1, b1)
        put_twist(a, i, group, inverse_tangent_apply(omega, dadd(get_twist(a, i, group), bend)))
        put_twist(v, i, group, rate)


@inline
def quintic(s):
    """Weights of x₁, h ẋ₀, h ẋ₁, h² ẍ₀, h² ẍ₁ at s in [0, 1]; x₀ is zero."""
    s3 = s * s * s
    return (
        s3 * (10.0 + s * (-15.0 + 6.0 * s)),
        s + s3 * (-6.0 + s * (8.0 - 3.0 * s)),
        s3 * (-4.0 + s * (7.0 - 3.0 * s)),
        0.5 * s * s + s3 * (-1.5 + s * (1.5 - 0.5 * s)),
        s3 * (0.5 + s * (-1.0 + 0.5 * s)),
    )


@inline
def quintic_rate(s):
    """Derivatives of `quintic`."""
    s2 = s * s
    return (
        s2 * (30.0 + s * (-60.0 + 30.0 * s)),
        1.0 + s2 * (-18.0 + s * (32.0 - 15.0 * s)),
        s2 * (-12.0 + s * (28.0 - 15.0 * s)),
        s + s2 * (-4.5 + s * (6.0 - 2.5 * s)),
        s2 * (1.5 + s * (-4.0 + 2.5 * s)),
    )


@inline
def quintic_second(s):
    """Second derivatives of `quintic`."""
    return (
        s * (60.0 + s * (-180.0 + 120.0 * s)),
        s * (-36.0 + s * (96.0 - 60.0 * s)),
        s * (-24.0 + s * (84.0 - 60.0 * s)),
        1.0 + s * (-9.0 + s * (18.0 - 10.0 * s)),
        s * (3.0 + s * (-12.0 + 10.0 * s)),
    )


@inline
def cubic(s):
    """Weights of x₁, h ẋ₀, h ẋ₁ at s, and no others."""
    return (s * s * (3.0 - 2.0 * s), s * (1.0 + s * (s - 2.0)), s * s * (s - 1.0), 0.0, 0.0)


@inline
def cubic_rate(s):
    """Derivatives of `cubic`."""
    return (6.0 * s * (1.0 - s), 1.0 + s * (3.0 * s - 4.0), s * (3.0 * s - 2.0), 0.0, 0.0)


@inline
def cubic_second(s):
    """Second derivatives of `cubic`."""
    return (6.0 - 12.0 * s, 6.0 * s - 4.0, 6.0 * s - 2.0, 0.0, 0.0)


@routine
def blend(w, h, ends, k):
    """Sum of the five terms of a polynomial for coordinate k; `ends` (5, nv) are x₁, ẋ₀, ẋ₁, ẍ₀, ẍ₁."""
    return (
        w[0] * ends[0, k]
        + h * (w[1] * ends[1, k] + w[2] * ends[2, k])
        + h * h * (w[3] * ends[3, k] + w[4] * ends[4, k])
    )


@kernel("i2 i2 f1 f2 f2 f2 f1 f1 f2 f2 f2 f2")
def interpolate(shift, spatial, t, q, v, a, smooth, times, out_q, out_v, out_a, ends):
    """States at `times` (m,), increasing, between the rows of t (n,), q (n, nq), v and a (n, nv).

    `smooth` (n,) is 0 for rows whose step to the next is interpolated without accelerations (cubic). Results in out_q (m, nq), out_v,
    out_a (m, nv); `ends` (5, nv) is scratch. At a row itself the result is that row.
    """
    nv = v.shape[1]
    row, done = 0, -1
    h = 1.0
    for m in range(times.shape[0]):
        while row < t.shape[0] - 2 and times[m] > t[row + 1]:
            row += 1
        exact = row if times[m] <= t[row] else row + 1 if times[m] >= t[row + 1] else -1
        if exact >= 0:
            for k in range(q.shape[1]):
                out_q[m, k] = q[exact, k]
            for k in range(nv):
                out_v[m, k], out_a[m, k] = v[exact, k], a[exact, k]
            continue
        if done != row:
            done, h = row, t[row + 1] - t[row]
            for k in range(nv):
                ends[1, k], ends[2, k] = v[row, k], v[row + 1, k]
                ends[3, k], ends[4, k] = a[row, k], a[row + 1, k]
            for k in range(shift.shape[0]):
                ends[0, shift[k, 1]] = q[row + 1, shift[k, 0]] - q[row, shift[k, 0]]
            for k in range(spatial.shape[0]):
                o = spatial[k, 0]
                relative_log(q[row], q[row + 1], o, o, spatial[k, 2], ends[0], spatial[k, 1])
            to_chart(spatial, ends[0], ends[2], ends[4])
        s = (times[m] - t[row]) / h
        if smooth[row] != 0.0:
            w, w1, w2 = quintic(s), quintic_rate(s), quintic_second(s)
        else:
            w, w1, w2 = cubic(s), cubic_rate(s), cubic_second(s)
        x = out_a[m]  # first the chart
        for k in range(nv):
            x[k] = blend(w, h, ends, k)
            out_v[m, k] = blend(w1, h, ends, k) / h
        integrate(shift, spatial, q[row], x, out_q[m])
        finish(shift, spatial, x, out_v[m], w2, h, ends)


@routine
def finish(shift, spatial, x, v, w2, h, ends):
    """The chart x and its rate v become acceleration (in x) and velocity (in v)."""
    for k in range(spatial.shape[0]):
        i, group = spatial[k, 1], spatial[k, 2]
        omega = dscale(-1.0, get_twist(x, i, group))
        ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
        rate = get_twist(v, i, group)
        bend = tangent_rate_apply(omega, dscale(-1.0, rate), cb, a1, b1)
        put_twist(v, i, group, tangent_apply(omega, ca, cb, rate))
        put_second(x, i, group, w2, h, ends)
        turned = tangent_apply(omega, ca, cb, get_twist(x, i, group))
        put_twist(x, i, group, dadd(turned, dscale(-1.0, bend)))
    for k in range(shift.shape[0]):
        i = shift[k, 1]
        x[i] = blend(w2, h, ends, i) / (h * h)


@routine
def put_second(x, i, group, w2, h, ends):
    """Second derivatives of the chart of a manifold joint."""
    for c in range(6 if group == POSE else 3):
        x[i + c] = blend(w2, h, ends, i + c) / (h * h)
