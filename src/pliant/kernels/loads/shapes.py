"""Signed distances to shapes with their first two derivatives: what contact needs to know of an obstacle.

Each shape sits in a frame of its own. The distance is positive where a robot may be: outside a solid, or inside a cavity.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import madd, mm, mmt, mouter, mscale, mtv, mv, skew_diag, vadd, vscale, vsub

HALF_SPACE, BALL, TUBE, BLOCK, MESH, FIELD, ELLIPSOID = (np.int64(k) for k in range(7))
PRIMITIVES = {  # by the names that shapes give; from MESH on see `surfaces`
    "half-space": HALF_SPACE,
    "ball": BALL,
    "tube": TUBE,
    "block": BLOCK,
    "mesh": MESH,
    "field": FIELD,
    "ellipsoid": ELLIPSOID,
}
ROUNDING = 3  # of the sizes of a shape
FAR = 1e300


@inline
def projector(n):
    """1 − nnᵀ."""
    return madd(skew_diag(vscale(0.0, n), 1.0), mouter(vscale(-1.0, n), n))


@inline
def diagonal(a, b, c):
    """A diagonal matrix."""
    return (a, 0.0 * a, 0.0 * a, 0.0 * a, b, 0.0 * a, 0.0 * a, 0.0 * a, c)


@routine
def ball_distance(c, radius):
    """Outside of a sphere."""
    d = np.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
    if d.real == 0.0:
        return d - radius, (0.0 * d, 0.0 * d, 1.0 + 0.0 * d), diagonal(0.0 * d, 0.0 * d, 0.0 * d)
    n = vscale(1.0 / d, c)
    return d - radius, n, mscale(1.0 / d, projector(n))


@routine
def tube_distance(c, radius, half, inside):
    """Outside of a cylinder along z, or of its round wall from inside where `inside`. Without radius it is a line."""
    rho = np.sqrt(c[0] * c[0] + c[1] * c[1])
    zero = 0.0 * rho
    if rho.real == 0.0:
        er, et = (1.0 + zero, zero, zero), (zero, zero, zero)
        turn = zero
    else:
        er = (c[0] / rho, c[1] / rho, zero)
        et = (-er[1], er[0], zero)
        turn = 1.0 / rho
    H = mscale(turn, mouter(et, et))
    side = rho - radius
    sign = 1.0 if c[2].real >= 0.0 else -1.0
    cap = sign * c[2] - half
    if inside:
        return (side if cap.real <= 0.0 else zero - FAR), er, H
    if radius == 0.0 and cap.real > 0.0:  # the end of a line
        return ball_distance((c[0], c[1], c[2] - sign * half), zero)
    if side.real > 0.0 and cap.real > 0.0:  # the edge
        d = np.sqrt(side * side + cap * cap)
        n = vadd(vscale(side / d, er), (zero, zero, sign * cap / d))
        rest = madd(projector(n), mscale(-1.0, mouter(et, et)))
        return d, n, madd(mscale(1.0 / d, rest), mscale(side / d, H))
    if side.real >= cap.real:
        return side, er, H
    return cap, (zero, zero, sign + zero), mscale(zero, H)


@routine
def block_distance(c, sx, sy, sz):
    """Outside of a box with half sides sx, sy, sz."""
    zero = 0.0 * (c[0] + c[1] + c[2])
    s = (sx, sy, sz)
    gx, gy, gz = abs(c[0].real) - sx, abs(c[1].real) - sy, abs(c[2].real) - sz
    ux, uy, uz = (1.0 if c[0].real >= 0 else -1.0), (1.0 if c[1].real >= 0 else -1.0), (1.0 if c[2].real >= 0 else -1.0)
    if gx > 0.0 or gy > 0.0 or gz > 0.0:
        d = (
            c[0] - ux * s[0] if gx > 0.0 else zero,
            c[1] - uy * s[1] if gy > 0.0 else zero,
            c[2] - uz * s[2] if gz > 0.0 else zero,
        )
        size = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        n = vscale(1.0 / size, d)
        free = diagonal(
            zero + (1.0 if gx > 0.0 else 0.0), zero + (1.0 if gy > 0.0 else 0.0), zero + (1.0 if gz > 0.0 else 0.0)
        )
        return size, n, mscale(1.0 / size, madd(free, mouter(vscale(-1.0, n), n)))
    none = diagonal(zero, zero, zero)
    if gx >= gy and gx >= gz:
        return ux * c[0] - sx, (ux + zero, zero, zero), none
    if gy >= gz:
        return uy * c[1] - sy, (zero, uy + zero, zero), none
    return uz * c[2] - sz, (zero, zero, uz + zero), none


@routine
def box_wall(c, sx, sy, sz):
    """Distance beyond the nearest wall of a box, seen from inside; negative inside."""
    zero = 0.0 * (c[0] + c[1] + c[2])
    gx, gy, gz = abs(c[0].real) - sx, abs(c[1].real) - sy, abs(c[2].real) - sz
    none = diagonal(zero, zero, zero)
    if gx >= gy and gx >= gz:
        u = 1.0 if c[0].real >= 0 else -1.0
        return u * c[0] - sx, (u + zero, zero, zero), none
    if gy >= gz:
        u = 1.0 if c[1].real >= 0 else -1.0
        return u * c[1] - sy, (zero, u + zero, zero), none
    u = 1.0 if c[2].real >= 0 else -1.0
    return u * c[2] - sz, (zero, zero, u + zero), none


@routine
def distance(kind, inside, size, R, p, x):
    """Distance of x from a shape with the frame (R, p), its gradient n and its second derivative, in world axes.

    `size` (4,): three sizes of the primitive, and the rounding by which the surface lies outside of it.
    """
    c = mtv(R, vsub(x, p))
    zero = 0.0 * (c[0] + c[1] + c[2])
    if kind == HALF_SPACE:
        return c[2] - size[ROUNDING], mv(R, (zero, zero, 1.0 + zero)), diagonal(zero, zero, zero)
    if kind == BALL:
        d, n, H = ball_distance(c, size[0])
    elif kind == TUBE:
        d, n, H = tube_distance(c, size[0], size[1], inside)
    elif inside:
        d, n, H = box_wall(c, size[0], size[1], size[2])
    else:
        d, n, H = block_distance(c, size[0], size[1], size[2])
    d = d - size[ROUNDING]
    if inside:
        d, n, H = -d, vscale(-1.0, n), mscale(-1.0, H)
    return d, mv(R, n), mmt(mm(R, H), R)
