"""Point wrenches: forces and moments applied to frames, in body or world axes, and torques of a field on a dipole.

A wrench that turns with the body is constant in body axes and varies like an inertial wrench of zero inertia: the
recursion needs nothing but its value. A wrench with constant world axes lacks the turning: K = [[M̂, 0], [F̂, 0]] at its
point (see `law`). A dipole m that turns with the body feels the torque ``Rm × b`` in a field b fixed to the world.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..algebra.dual import get3, get9, hat_m, madd, mouter, mv, skew_diag, vadd, vcross, vdot, vscale
from ..layout import F2, FW, I2, PE, RE


class Wrenches(NamedTuple):
    """Point wrenches as arrays; constant after compile."""

    place: I2  # (m, 3) step, kind, input or −1 for a constant wrench
    data: F2  # (m, 18) offset (rotation by rows, translation), wrench (moment, force) or (dipole, field) per unit of input


IN_BODY, IN_WORLD, DIPOLE = (np.int64(k) for k in range(3))
P_STEP, P_KIND, P_INPUT = (np.int64(k) for k in range(3))
P_ROT, P_POS, P_MOMENT, P_FORCE = (np.int64(k) for k in (0, 9, 12, 15))


@routine
def wrench_at(row, data, kind, scale):
    """The point, and moment about it and force in world axes."""
    R = get9(row, RE)
    x = vadd(get3(row, PE), mv(R, get3(data, P_POS)))
    m = get3(data, P_MOMENT)
    f = vscale(scale, get3(data, P_FORCE))
    if kind == IN_WORLD:
        return x, vscale(scale, m), f
    m = mv(R, mv(get9(data, P_ROT), m))
    if kind == DIPOLE:
        return x, vcross(m, f), vscale(0.0, f)
    return x, vscale(scale, m), mv(R, mv(get9(data, P_ROT), f))


@routine
def subtract_wrenches(wrenches, state, u, share):
    """Subtract the applied wrenches, of constant ones a share, from the inertial ones of their steps."""
    for k in range(wrenches.place.shape[0]):
        j = wrenches.place[k, P_INPUT]
        row = state[wrenches.place[k, P_STEP]]
        x, M, F = wrench_at(row, wrenches.data[k], wrenches.place[k, P_KIND], u[j] if j >= 0 else share)
        m = vadd(M, vcross(x, F))
        for c in range(3):
            row[FW + c] -= m[c]
            row[FW + 3 + c] -= F[c]


@routine
def apply_wrenches(t, work, wrenches, space, q, v, u, r):
    """The same with the arguments of all families, for any number type."""
    subtract_wrenches(wrenches, work.state, u, work.share[0])


@routine
def wrench_tangents(wrenches, state, u, share, K):
    """K (steps + 1, 6, 6): derivative of the applied wrenches of each step beyond their turning with the body."""
    for k in range(wrenches.place.shape[0]):
        kind = wrenches.place[k, P_KIND]
        if kind == IN_BODY:
            continue
        j = wrenches.place[k, P_INPUT]
        i = wrenches.place[k, P_STEP]
        scale = u[j] if j >= 0 else share
        x, M, F = wrench_at(state[i], wrenches.data[k], kind, scale)
        top = skew_diag(M, 0.0)
        if kind == DIPOLE:
            m = mv(get9(state[i], RE), mv(get9(wrenches.data[k], P_ROT), get3(wrenches.data[k], P_MOMENT)))
            b = vscale(scale, get3(wrenches.data[k], P_FORCE))
            top = madd(top, madd(mouter(m, b), skew_diag(vscale(0.0, m), -vdot(m, b))))
        else:
            top = madd(top, hat_m(x, skew_diag(F, 0.0)))
        fh = skew_diag(F, 0.0)
        for r in range(3):
            for c in range(3):
                K[i, r, c] -= top[3 * r + c]
                K[i, 3 + r, c] -= fh[3 * r + c]


@routine
def wrench_potential(wrenches, state, origin, u, share):
    """Potential energy of dead forces and of dipoles, and the size of its parts; needs the forward pass."""
    energy = 0.0
    size = 0.0
    for k in range(wrenches.place.shape[0]):
        j = wrenches.place[k, P_INPUT]
        kind = wrenches.place[k, P_KIND]
        row = state[wrenches.place[k, P_STEP]]
        data = wrenches.data[k]
        scale = u[j] if j >= 0 else share
        x, _M, F = wrench_at(row, data, kind, scale)
        if kind == DIPOLE:
            m = mv(get9(row, RE), mv(get9(data, P_ROT), get3(data, P_MOMENT)))
            part = scale * vdot(m, get3(data, P_FORCE))
            energy -= part
            size += abs(part)
        else:
            for c in range(3):
                part = F[c] * (x[c] + origin[c])
                energy -= part
                size += abs(part)
    return energy, size
