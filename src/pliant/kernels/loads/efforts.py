"""Forces on single coordinates: motors, servos and distributed internal stress.

``force = gain · u − kp q − kd v``, cut off at ± limit. A motor has a gain alone, a position servo gain = kp, a velocity
servo gain = kd and no kp. An internal stress Λ(X) is a gain ∫ΦᵀΛ on each strain coordinate of its rod ([004] eq. 27).
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..layout import F2, I2


class Efforts(NamedTuple):
    """Forces on coordinates as arrays; constant after compile."""

    place: I2  # (m, 3) input, velocity, coordinate
    data: F2  # (m, 4) gain, kp, kd, limit


E_INPUT, E_V, E_Q = (np.int64(k) for k in range(3))
E_GAIN, E_KP, E_KD, E_LIMIT = (np.int64(k) for k in range(4))


@routine
def effort(efforts, k, q, v, u):
    """The force, and whether it is below its limit."""
    data = efforts.data[k]
    f = (
        data[E_GAIN] * u[efforts.place[k, E_INPUT]]
        - data[E_KP] * q[efforts.place[k, E_Q]]
        - data[E_KD] * v[efforts.place[k, E_V]]
    )
    limit = data[E_LIMIT]
    if f.real > limit:
        return 0.0 * f + limit, False
    if f.real < -limit:
        return 0.0 * f - limit, False
    return f, True


@routine
def add_efforts(efforts, q, v, u, r):
    """r −= the forces."""
    for k in range(efforts.place.shape[0]):
        f, _free = effort(efforts, k, q, v, u)
        r[efforts.place[k, E_V]] -= f


@routine
def apply_efforts(t, work, efforts, space, q, v, u, r):
    """The same with the arguments of all families, for any number type."""
    add_efforts(efforts, q, v, u, r)


@routine
def add_effort_tangents(efforts, q, v, u, cq, cv, out):
    """out += cq kp + cv kd on the diagonal."""
    for k in range(efforts.place.shape[0]):
        _f, free = effort(efforts, k, q, v, u)
        if free:
            i = efforts.place[k, E_V]
            out[i, i] += cq * efforts.data[k, E_KP] + cv * efforts.data[k, E_KD]


@routine
def effort_potential(efforts, q, u, zero):
    """Potential energy of the forces on coordinates at rest."""
    energy = 0.0
    size = 0.0
    for k in range(efforts.place.shape[0]):
        data = efforts.data[k]
        x = q[efforts.place[k, E_Q]]
        f, free = effort(efforts, k, q, zero, u)
        # −∫f dq: linear beyond the limit, where the force is constant
        part = -f * x
        if free and data[E_KP] != 0.0:
            part = -(f + 0.5 * data[E_KP] * x) * x
        elif data[E_KP] != 0.0:
            edge = (data[E_GAIN] * u[efforts.place[k, E_INPUT]] - f) / data[E_KP]
            part = -f * (x - edge) - (f + 0.5 * data[E_KP] * edge) * edge
        energy += part
        size += abs(part)
    return energy, size
