"""Concentric tubes: what the pre-curvature of tubes that share a centreline does, and the rotations of their bases.

At a point of the backbone with curvature (u_y, u_z) a tube is turned by ψ about the tangent, and wants the curvature g = R(ψ) c. Of its energy
w (½ |u − g|²), with w the bending stiffness times the length that the point stands for, ½ w |u|² is that of the backbone; the rest is here. Both u
and ψ are sums of coordinates with constant gains.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import routine
from ..layout import F1, F2, I2, MESSAGE_CQ, MESSAGE_ENERGY, MESSAGE_SIZE
from .units import ENERGY, GENERALISED, INPUTS, TANGENT, unit


class Tubes(NamedTuple):
    """Tubes as arrays."""

    base: I2  # (tubes, 3) coordinate and velocity of the rotation where the tube leaves the plate, input
    hold: F1  # (tubes,) stiffness of what holds it there [N m/rad]
    place: I2  # (entries, 8) see below
    data: F2  # (entries, 3) w [N m³], c_y, c_z [rad/m]
    phi: F1  # values of the functions that carry bending
    part: I2  # (Σ, 2) coordinates and velocities that turn the tubes
    gain: F1  # (Σ,) how far


# columns of `place`: first coordinate and velocity of bending about y and z, how many; first entry in `phi`; first entry and number in `part`
Y_Q, Y_V, Z_Q, Z_V, COUNT, PHI, PART, PARTS = (np.int64(k) for k in range(8))


@routine
def entry_state(tubes, e, q):
    """Curvature (u_y, u_z) of the backbone and the one that a tube wants (g_y, g_z)."""
    place = tubes.place[e]
    uy = uz = psi = 0.0 * q[0]
    for i in range(place[COUNT]):
        value = tubes.phi[place[PHI] + i]
        uy += value * q[place[Y_Q] + i]
        uz += value * q[place[Z_Q] + i]
    for i in range(place[PART], place[PART] + place[PARTS]):
        psi += tubes.gain[i] * q[tubes.part[i, 0]]
    c, s = np.cos(psi), np.sin(psi)
    cy, cz = tubes.data[e, 1], tubes.data[e, 2]
    return uy, uz, c * cy - s * cz, s * cy + c * cz


@routine
def apply_tubes(t, work, tubes, space, q, v, u, r):
    """Subtract the generalised forces from the residual r (nv,), for any number type."""
    for k in range(tubes.base.shape[0]):
        r[tubes.base[k, 1]] += tubes.hold[k] * (q[tubes.base[k, 0]] - u[tubes.base[k, 2]])
    for e in range(tubes.place.shape[0]):
        place, w = tubes.place[e], tubes.data[e, 0]
        uy, uz, gy, gz = entry_state(tubes, e, q)
        for i in range(place[COUNT]):
            value = w * tubes.phi[place[PHI] + i]
            r[place[Y_V] + i] -= value * gy
            r[place[Z_V] + i] -= value * gz
        moment = w * (uy * gz - uz * gy)
        for i in range(place[PART], place[PART] + place[PARTS]):
            r[tubes.part[i, 1]] += tubes.gain[i] * moment


@routine
def add_stiffness(tubes, e, q, scale, out):
    """Add the second derivatives of the energy of one entry, times `scale`, to `out` (nv, nv)."""
    place, w = tubes.place[e], scale * tubes.data[e, 0]
    uy, uz, gy, gz = entry_state(tubes, e, q)
    turn = w * (uy * gy + uz * gz)
    for i in range(place[PART], place[PART] + place[PARTS]):
        row, gain = tubes.part[i, 1], tubes.gain[i]
        for j in range(place[PART], place[PART] + place[PARTS]):
            out[row, tubes.part[j, 1]] += turn * gain * tubes.gain[j]
        for j in range(place[COUNT]):
            value = w * gain * tubes.phi[place[PHI] + j]
            out[row, place[Y_V] + j] += value * gz
            out[place[Y_V] + j, row] += value * gz
            out[row, place[Z_V] + j] -= value * gy
            out[place[Z_V] + j, row] -= value * gy


@unit(Tubes, tasks=(GENERALISED, TANGENT, ENERGY, INPUTS))
def concentric_tubes(task, t, work, tubes, space, q, v, u, out):
    """Forces on coordinates, their derivatives, energy, and the columns of the rotations."""
    if task == GENERALISED:
        apply_tubes(t, work, tubes, space, q, v, u, out[0])
        return
    for k in range(tubes.base.shape[0]):
        at, hold = tubes.base[k, 1], tubes.hold[k]
        if task == TANGENT:
            out[at, at] += work.message[MESSAGE_CQ] * hold
        elif task == INPUTS:
            out[tubes.base[k, 2], at] += hold
        elif task == ENERGY:
            energy = 0.5 * hold * (q[tubes.base[k, 0]] - u[tubes.base[k, 2]]) ** 2
            work.message[MESSAGE_ENERGY] += energy
            work.message[MESSAGE_SIZE] += energy
    if task == INPUTS:
        return
    for e in range(tubes.place.shape[0]):
        if task == TANGENT:
            add_stiffness(tubes, e, q, work.message[MESSAGE_CQ], out)
        elif task == ENERGY:
            w, cy, cz = tubes.data[e, 0], tubes.data[e, 1], tubes.data[e, 2]
            uy, uz, gy, gz = entry_state(tubes, e, q)
            rest, work_done = 0.5 * w * (cy * cy + cz * cz), w * (uy * gy + uz * gz)
            work.message[MESSAGE_ENERGY] += rest - work_done
            work.message[MESSAGE_SIZE] += rest + abs(work_done)
