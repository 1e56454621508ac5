"""Coordinates on the manifold: integrate and difference of ordinary coordinates, rotations and poses.

A manifold joint is known by its first coordinate, its first velocity and its group. The group ROTATION has a unit quaternion
(w, x, y, z) in q and the body's angular velocity in v; POSE has a position behind the quaternion, and a body twist.
"""

import numpy as np

from ..._jit import inline, kernel, routine
from .dual import get3, mtv, mv, put3, quaternion_matrix, vscale
from .exponential import exp_se3, inverse_tangent_apply, tangent_coefficients

ROTATION, POSE = np.int64(0), np.int64(1)
GROUPS = {"spherical": ROTATION, "free": POSE}  # by the names that joints give them
VELOCITIES = (3, 6)  # of each group


@inline
def quaternion_product(a, b):
    """a b of quaternions (w, x, y, z)."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inline
def quaternion_exp(w):
    """Unit quaternion of the rotation vector w."""
    s = 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])  # (θ/2)²
    if s.real < 1e-3:
        sinc = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
        cosine = 1.0 - s / 2.0 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))))
    else:
        half = np.sqrt(s)
        sinc = np.sin(half) / half
        cosine = np.cos(half)
    k = 0.5 * sinc
    return (cosine, k * w[0], k * w[1], k * w[2])


@inline
def quaternion_log(a):
    """Rotation vector in the ball of radius π of a quaternion that need not be of unit length."""
    n2 = a[1] * a[1] + a[2] * a[2] + a[3] * a[3]
    n = np.sqrt(n2)
    w = abs(a[0])
    if n < 1e-4 * w:
        x = n2 / (w * w)
        k = 2.0 / w * (1.0 - x / 3.0 + x * x / 5.0)
    else:
        k = 2.0 * np.arctan2(n, w) / n
    if a[0] < 0.0:
        k = -k
    return (k * a[1], k * a[2], k * a[3])


@inline
def quaternion_unit(a):
    """a / |a|."""
    k = 1.0 / np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3])
    return (k * a[0], k * a[1], k * a[2], k * a[3])


@inline
def get4(x, o):
    """Four entries from position o."""
    return (x[o], x[o + 1], x[o + 2], x[o + 3])


@routine
def integrate(shift, spatial, q, dv, out):
    """out = q ⊕ dv: addition on ordinary coordinates, g·exp(dv) on manifold joints.

    `shift` (n, 2): coordinate and velocity of each ordinary coordinate; `spatial` (m, 3): first coordinate, first
    velocity and group of each manifold joint.
    """
    for k in range(shift.shape[0]):
        out[shift[k, 0]] = q[shift[k, 0]] + dv[shift[k, 1]]
    for k in range(spatial.shape[0]):
        o, i = spatial[k, 0], spatial[k, 1]
        w = get3(dv, i)
        old = quaternion_unit(get4(q, o))
        new = quaternion_unit(quaternion_product(old, quaternion_exp(w)))
        if spatial[k, 2] == POSE:
            omega = (w, get3(dv, i + 3))
            ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(omega)
            _R, p = exp_se3(omega, ca, cb)
            step = mv(quaternion_matrix(q, o), p)
            for c in range(3):
                out[o + 4 + c] = q[o + 4 + c] + step[c]
        for c in range(4):
            out[o + c] = new[c]


@routine
def relative_log(q0, q1, o0, o1, group, out, i):
    """out[i:] = log(g₀⁻¹ g₁) of two elements of a group."""
    a = get4(q0, o0)
    b = get4(q1, o1)
    w = quaternion_log(quaternion_product((a[0], -a[1], -a[2], -a[3]), b))
    put3(out, i, w)
    if group == POSE:
        d = (q1[o1 + 4] - q0[o0 + 4], q1[o1 + 5] - q0[o0 + 5], q1[o1 + 6] - q0[o0 + 6])
        d = mtv(quaternion_matrix(q0, o0), d)
        put3(out, i + 3, inverse_tangent_apply((w, vscale(0.0, w)), (d, vscale(0.0, d)))[0])


@kernel("i2 i2 f1 f1 f1")
def difference(shift, spatial, q0, q1, out):
    """out = q₁ ⊖ q₀, the velocity for which integrate(q₀, out) = q₁."""
    for k in range(shift.shape[0]):
        out[shift[k, 1]] = q1[shift[k, 0]] - q0[shift[k, 0]]
    for k in range(spatial.shape[0]):
        o = spatial[k, 0]
        relative_log(q0, q1, o, o, spatial[k, 2], out, spatial[k, 1])


@inline
def matrix_quaternion(R):
    """A quaternion (not of unit length) of a rotation matrix, by the largest of its four forms."""
    t0 = 1.0 + R[0] + R[4] + R[8]
    t1 = 1.0 + R[0] - R[4] - R[8]
    t2 = 1.0 - R[0] + R[4] - R[8]
    t3 = 1.0 - R[0] - R[4] + R[8]
    if t0 >= t1 and t0 >= t2 and t0 >= t3:
        return (t0, R[7] - R[5], R[2] - R[6], R[3] - R[1])
    if t1 >= t2 and t1 >= t3:
        return (R[7] - R[5], t1, R[1] + R[3], R[2] + R[6])
    if t2 >= t3:
        return (R[2] - R[6], R[1] + R[3], t2, R[5] + R[7])
    return (R[3] - R[1], R[2] + R[6], R[5] + R[7], t3)


@kernel("f2 f1")
def pose_log(g, out):
    """Logarithm of a 4×4 pose, out (6,)."""
    w = quaternion_log(
        matrix_quaternion((g[0, 0], g[0, 1], g[0, 2], g[1, 0], g[1, 1], g[1, 2], g[2, 0], g[2, 1], g[2, 2]))
    )
    put3(out, 0, w)
    d = (g[0, 3], g[1, 3], g[2, 3])
    put3(out, 3, inverse_tangent_apply((w, vscale(0.0, w)), (d, vscale(0.0, d)))[0])


@kernel("i2 i2 f1 f1 f1")
def integrate_q(shift, spatial, q, dv, out):
    """`integrate` as an entry from Python."""
    integrate(shift, spatial, q, dv, out)
