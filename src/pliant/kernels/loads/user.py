"""Loads that the user wrote: functions called through a C pointer with all their points at once (see `model.user`)."""

from typing import NamedTuple

import numpy as np

from ..._call import call_load
from ..._jit import routine
from ..algebra.dual import get3, get9, mm
from ..layout import F1, F2, I2, RE, VE
from .law import add_projection, point_at, subtract_law, subtract_wrench, velocity_at
from .units import FORCES, INPUTS, MATRICES, unit


class User(NamedTuple):
    """Points and functions of user loads, as arrays; constant after compile."""

    load: I2  # (loads, 5) first and end of its points, address of the function, first input, number of inputs
    point: I2  # (points, 1) step
    place: F2  # (points, 13) frame in the step, weight (metres along a rod)


class UserSpace(NamedTuple):
    """What the functions read and write; always real."""

    values: F1  # (USER_WIDTH points + most inputs of a load,) of each load poses, twists, wrenches and their derivatives; inputs


N0, N9 = np.int64(0), np.int64(9)
WRENCHES, DERIVATIVES = np.int64(0), np.int64(1)  # what a function is asked for
LOAD_FIRST, LOAD_END, LOAD_ADDRESS, LOAD_INPUT, LOAD_INPUTS = (np.int64(k) for k in range(5))
PLACE_WEIGHT = np.int64(12)
# where a load has what concerns its n points, each times n: poses, twists, wrenches, their derivatives
TWIST, WRENCH, DPOSE, DTWIST, USER_WIDTH = (np.int64(k) for k in (12, 18, 24, 60, 96))


@routine
def evaluate(user, k, work, space, u, want):
    """Call load k; its results are in space.values, from USER_WIDTH times its first point on."""
    first, end = user.load[k, LOAD_FIRST], user.load[k, LOAD_END]
    n = end - first
    buffer = space.values[USER_WIDTH * first : USER_WIDTH * end]
    pose, twist = buffer[: TWIST * n], buffer[TWIST * n : WRENCH * n]
    for m in range(n):
        row = work.state[user.point[first + m, 0]]
        x = point_at(row, get3(user.place[first + m], N9))
        frame = mm(get9(row, RE), get9(user.place[first + m], N0))
        w = get3(row, VE)
        v = velocity_at(row, x)
        for c in range(9):
            pose[12 * m + c] = frame[c].real
        for c in range(3):
            pose[12 * m + 9 + c] = (x[c] + work.origin[c]).real
            twist[6 * m + c] = w[c].real
            twist[6 * m + 3 + c] = v[c].real
    start = USER_WIDTH * user.point.shape[0]
    inputs = space.values[start : start + user.load[k, LOAD_INPUTS]]
    for c in range(user.load[k, LOAD_INPUTS]):
        inputs[c] = u[user.load[k, LOAD_INPUT] + c].real
    call_load(
        user.load[k, LOAD_ADDRESS],
        n,
        want,
        pose,
        twist,
        inputs,
        buffer[WRENCH * n : DPOSE * n],
        buffer[DPOSE * n : DTWIST * n],
        buffer[DTWIST * n :],
    )


@routine
def point_of(user, m, state):
    """Position of a point relative to the moving origin."""
    return point_at(state[user.point[m, 0]], get3(user.place[m], N9))


@routine
def apply_user(user, work, space, u, want):
    """Subtract the wrenches; with `want` DERIVATIVES their matrices K and N from those of the steps."""
    for k in range(user.load.shape[0]):
        evaluate(user, k, work, space, u, want)
        first = user.load[k, LOAD_FIRST]
        buffer = space.values[USER_WIDTH * first : USER_WIDTH * user.load[k, LOAD_END]]
        n = user.load[k, LOAD_END] - first
        for m in range(n):
            i = user.point[first + m, 0]
            x = point_of(user, first + m, work.state)
            o = WRENCH * n + 6 * m
            f = user.place[first + m, PLACE_WEIGHT]
            M = (f * buffer[o], f * buffer[o + 1], f * buffer[o + 2])
            F = (f * buffer[o + 3], f * buffer[o + 4], f * buffer[o + 5])
            if want == WRENCHES:
                subtract_wrench(work.state[i], x, M, F)
            else:
                A, B = work.law[0], work.law[1]
                for r in range(6):
                    for c in range(6):
                        A[r, c] = f * buffer[DPOSE * n + 36 * m + 6 * r + c]
                        B[r, c] = f * buffer[DTWIST * n + 36 * m + 6 * r + c]
                subtract_law(work, i, x, M, F, A, B)


@routine
def user_columns(t, work, user, space, u, B):
    """Derivatives with respect to the inputs of user loads, by central differences."""
    for k in range(user.load.shape[0]):
        first, n = user.load[k, LOAD_FIRST], user.load[k, LOAD_END] - user.load[k, LOAD_FIRST]
        for j in range(user.load[k, LOAD_INPUT], user.load[k, LOAD_INPUT] + user.load[k, LOAD_INPUTS]):
            value = u[j]
            h = 6e-6 * max(1.0, abs(value))
            for side in range(2):
                sign = 1.0 if side == 0 else -1.0
                u[j] = value + sign * h
                evaluate(user, k, work, space, u, WRENCHES)
                buffer = space.values[USER_WIDTH * first : USER_WIDTH * (first + n)]
                for m in range(n):
                    f = 0.5 * sign / h * user.place[first + m, PLACE_WEIGHT]
                    o = WRENCH * n + 6 * m
                    M = (f * buffer[o], f * buffer[o + 1], f * buffer[o + 2])
                    F = (f * buffer[o + 3], f * buffer[o + 4], f * buffer[o + 5])
                    add_projection(t, work, user.point[first + m, 0], point_of(user, first + m, work.state), M, F, B[j])
            u[j] = value


@unit(User, tasks=(FORCES, MATRICES, INPUTS), space=UserSpace)
def user_loads(task, t, work, user, space, q, v, u, out):
    """Loads that the user wrote."""
    if task == FORCES:
        apply_user(user, work, space, u, WRENCHES)
    elif task == MATRICES:
        apply_user(user, work, space, u, DERIVATIVES)
    elif task == INPUTS:
        user_columns(t, work, user, space, u, out)
