"""Point wrenches: forces and moments applied to frames, in body or world axes, with their exact derivatives.

A wrench that turns with the body is constant in body axes and varies like an inertial wrench of zero inertia: the
recursion needs nothing but its value. A wrench with constant world axes lacks the turning; relative to the former
its derivative with respect to the body's motion δ is ``K δ`` with ``K = [[f̂p̂ + m̂, 0], [f̂, 0]]``, m and f at the origin
and p the point (MATH §4: only the angular part of δ matters).
"""

from typing import NamedTuple

import numpy as np

from .._jit import routine
from .algebra import get3, get9, hat_m, madd, mv, rotate, skew_diag, vadd, vcross, vscale
from .layout import FW, PE, RE, Floats, Ints


class Wrenches(NamedTuple):
    """Point wrenches as arrays; constant after compile."""

    place: Ints  # (m, 3) step, 1 for world axes or 0 for body axes, input or −1 for a constant wrench
    data: Floats  # (m, 18) offset (rotation by rows, translation), wrench (moment, force) per unit of input


P_STEP, P_WORLD, P_INPUT = (np.int64(k) for k in range(3))
P_ROT, P_POS, P_MOMENT, P_FORCE = (np.int64(k) for k in (0, 9, 12, 15))


@routine
def wrench_at(row, data, world, scale):
    """Wrench (dual form, at the origin) and the point where it acts."""
    R = get9(row, RE)
    p = vadd(get3(row, PE), mv(R, get3(data, P_POS)))
    m = vscale(scale, get3(data, P_MOMENT))
    f = vscale(scale, get3(data, P_FORCE))
    if world:
        return (f, vadd(m, vcross(p, f))), p
    F = rotate(R, p, (mv(get9(data, P_ROT), f), mv(get9(data, P_ROT), m)))
    return F, p


@routine
def apply_wrenches(wrenches, state, u):
    """Subtract the applied wrenches from the inertial ones of their steps."""
    for k in range(wrenches.place.shape[0]):
        j = wrenches.place[k, P_INPUT]
        row = state[wrenches.place[k, P_STEP]]
        F, _p = wrench_at(row, wrenches.data[k], wrenches.place[k, P_WORLD] != 0, u[j] if j >= 0 else 1.0)
        for c in range(3):
            row[FW + c] -= F[1][c]
            row[FW + 3 + c] -= F[0][c]


@routine
def wrench_tangents(wrenches, state, u, K):
    """K (steps + 1, 6, 6): derivative of the applied wrenches of each step beyond their turning with the body."""
    for i in range(K.shape[0]):
        for r in range(6):
            for c in range(6):
                K[i, r, c] = 0.0
    for k in range(wrenches.place.shape[0]):
        if wrenches.place[k, P_WORLD] == 0:
            continue
        j = wrenches.place[k, P_INPUT]
        i = wrenches.place[k, P_STEP]
        (f, m), p = wrench_at(state[i], wrenches.data[k], True, u[j] if j >= 0 else 1.0)
        fh = skew_diag(f, 0.0)
        top = madd(hat_m(f, skew_diag(p, 0.0)), skew_diag(m, 0.0))
        for r in range(3):
            for c in range(3):
                K[i, r, c] -= top[3 * r + c]
                K[i, 3 + r, c] -= fh[3 * r + c]
