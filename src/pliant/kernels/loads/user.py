"""Loads that the user wrote: functions called through a C pointer with all their points at once (see `model.user`)."""

from typing import NamedTuple

import numpy as np

from ..._call import call_load
from ..._jit import routine
from ..algebra.dual import get3, get9, mm, mv, vadd, vcross
from ..layout import F2, I2, PE, RE, VE
from .law import subtract_law, subtract_wrench


class User(NamedTuple):
    """Points and functions of user loads, as arrays; constant after compile."""

    load: I2  # (loads, 5) first and end of its points, address of the function, first input, number of inputs
    point: I2  # (points, 1) step
    place: F2  # (points, 13) frame in the step, weight (metres along a rod)


N0, N9 = np.int64(0), np.int64(9)
POSE, TWIST, WRENCH, DPOSE, DTWIST, USER_WIDTH = 0, 12, 18, 24, 60, 96


@routine
def evaluate(user, k, work, u, want):
    """Call load k; its results are in work.user, from 96 × its first point on."""
    first, end = user.load[k, 0], user.load[k, 1]
    n = end - first
    buffer = work.user[USER_WIDTH * first : USER_WIDTH * end]
    pose, twist = buffer[: 12 * n], buffer[12 * n : 18 * n]
    for m in range(n):
        row = work.state[user.point[first + m, 0]]
        R = get9(row, RE)
        x = vadd(get3(row, PE), mv(R, get3(user.place[first + m], N9)))
        frame = mm(R, get9(user.place[first + m], N0))
        w = get3(row, VE)
        v = vadd(get3(row, VE + 3), vcross(w, x))
        for c in range(9):
            pose[12 * m + c] = frame[c].real
        for c in range(3):
            pose[12 * m + 9 + c] = (x[c] + work.origin[c]).real
            twist[6 * m + c] = w[c].real
            twist[6 * m + 3 + c] = v[c].real
    start = USER_WIDTH * user.point.shape[0]
    inputs = work.user[start : start + user.load[k, 4]]
    for c in range(user.load[k, 4]):
        inputs[c] = u[user.load[k, 3] + c].real
    call_load(
        user.load[k, 2],
        n,
        want,
        pose,
        twist,
        inputs,
        buffer[18 * n : 24 * n],
        buffer[24 * n : 60 * n],
        buffer[60 * n : 96 * n],
    )


@routine
def point_of(user, m, state):
    """Position of a point relative to the moving origin."""
    row = state[user.point[m, 0]]
    return vadd(get3(row, PE), mv(get9(row, RE), get3(user.place[m], N9)))


@routine
def apply_user(user, work, u, want):
    """Subtract the wrenches; with `want` = 1 also their matrices K and N from those of the steps."""
    for k in range(user.load.shape[0]):
        evaluate(user, k, work, u, want)
        first = user.load[k, 0]
        buffer = work.user[USER_WIDTH * first : USER_WIDTH * user.load[k, 1]]
        n = user.load[k, 1] - first
        for m in range(n):
            i = user.point[first + m, 0]
            x = point_of(user, first + m, work.state)
            o = 18 * n + 6 * m
            f = user.place[first + m, 12]
            M = (f * buffer[o], f * buffer[o + 1], f * buffer[o + 2])
            F = (f * buffer[o + 3], f * buffer[o + 4], f * buffer[o + 5])
            if want == 0:
                subtract_wrench(work.state[i], x, M, F)
            else:
                A, B = work.law[0], work.law[1]
                for r in range(6):
                    for c in range(6):
                        A[r, c] = f * buffer[24 * n + 36 * m + 6 * r + c]
                        B[r, c] = f * buffer[60 * n + 36 * m + 6 * r + c]
                subtract_law(work, i, x, M, F, A, B)
