"""Forces on single coordinates: motors, servos, stops and distributed internal stress.

``force = gain · u − kp x − kd v``, cut off at ± limit, with the distance x of q from the range [lower, upper] where the spring is slack. A motor has a
gain alone, a position servo gain = kp and the range [0, 0], a velocity servo gain = kd and no kp. A stop acts beyond a range, with
``−kp x (1 ± kd v)``, and only pushes back (Hunt and Crossley). An internal stress Λ(X) is a gain ∫ΦᵀΛ on each strain coordinate of its rod
([004] eq. 27). The same law drives the coordinates of loop joints (`loops`).
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..layout import F2, I2


class Efforts(NamedTuple):
    """Forces on coordinates as arrays; constant after compile."""

    place: I2  # (m, 3) input (−1: none), velocity, coordinate
    data: F2  # (m, EFFORT_WIDTH) gain, kp, kd, limit, lower, upper, 1 for a stop


E_INPUT, E_V, E_Q = (np.int64(k) for k in range(3))
E_GAIN, E_KP, E_KD, E_LIMIT, E_LOWER, E_UPPER, E_STOP = (np.int64(k) for k in range(7))
EFFORT_WIDTH = 7


@routine
def beyond(data, s):
    """Distance of a coordinate s from the range of a law."""
    if s.real > data[E_UPPER]:
        return s - data[E_UPPER]
    if s.real < data[E_LOWER]:
        return s - data[E_LOWER]
    return 0.0 * s


@routine
def effort_law(data, s, rate, push):
    """Force on a coordinate s, its derivatives by s and ṡ, and 1 if it follows its input, whose share is `push`, 0 beyond the limit."""
    x = beyond(data, s)
    zero = 0.0 * x
    kp, kd = data[E_KP], data[E_KD]
    if data[E_STOP] != 0.0:
        sign = 1.0 if x.real > 0.0 else -1.0
        more = 1.0 + sign * kd * rate
        if x.real == 0.0 or more.real <= 0.0:
            return zero, zero, zero, 0.0
        return -kp * x * more, -kp * more, -kp * kd * sign * x, 0.0
    f = push - kp * x - kd * rate
    if abs(f.real) > data[E_LIMIT]:
        return zero + (data[E_LIMIT] if f.real > 0.0 else -data[E_LIMIT]), zero, zero, 0.0
    return f + zero, zero - kp, zero - kd, 1.0


@routine
def effort_energy(data, s, push):
    """Potential of the force at rest: linear beyond the limit, where it is constant."""
    x = beyond(data, s)
    energy = 0.5 * data[E_KP] * x * x
    if data[E_STOP] != 0.0:
        return energy
    f, _fs, _fr, free = effort_law(data, s, 0.0 * s, push)
    if free != 0.0:
        return energy - push * s
    if data[E_KP] == 0.0:
        return -f * s
    edge = (push - f) / data[E_KP]  # x where the limit is reached; range of one point
    return 0.5 * data[E_KP] * edge * edge - push * (edge + data[E_LOWER]) - f * (x - edge)


@routine
def effort(efforts, k, q, v, u):
    """`effort_law` of a force on a coordinate of the tree."""
    data, j = efforts.data[k], efforts.place[k, E_INPUT]
    push = data[E_GAIN] * u[j] if j >= 0 else 0.0 * v[efforts.place[k, E_V]]
    return effort_law(data, q[efforts.place[k, E_Q]], v[efforts.place[k, E_V]], push)


@routine
def add_efforts(efforts, q, v, u, r):
    """r −= the forces."""
    for k in range(efforts.place.shape[0]):
        r[efforts.place[k, E_V]] -= effort(efforts, k, q, v, u)[0]


@routine
def apply_efforts(t, work, efforts, space, q, v, u, r):
    """The same with the arguments of all families, for any number type."""
    add_efforts(efforts, q, v, u, r)


@routine
def add_effort_tangents(efforts, q, v, u, cq, cv, out):
    """out −= cq ∂f/∂q + cv ∂f/∂v on the diagonal."""
    for k in range(efforts.place.shape[0]):
        _f, fs, fr, _free = effort(efforts, k, q, v, u)
        i = efforts.place[k, E_V]
        out[i, i] -= cq * fs + cv * fr


@routine
def effort_potential(efforts, q, u):
    """Potential energy of the forces on coordinates at rest, and the size of its parts."""
    energy = 0.0
    size = 0.0
    for k in range(efforts.place.shape[0]):
        data, j = efforts.data[k], efforts.place[k, E_INPUT]
        push = data[E_GAIN] * u[j] if j >= 0 else 0.0
        part = effort_energy(data, q[efforts.place[k, E_Q]], push)
        energy += part
        size += abs(part)
    return energy, size
