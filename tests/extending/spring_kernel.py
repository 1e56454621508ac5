"""Kernel of sliding springs: at a point x of the robot acts F = −k (x − p − u d) − c ẋ."""

from typing import NamedTuple

import numpy as np

from pliant._jit import routine
from pliant.kernels.algebra.dual import get3, vadd, vaxpy, vdot, vscale, vsub
from pliant.kernels.layout import F2, I2, MESSAGE_ENERGY, MESSAGE_SIZE
from pliant.kernels.loads.law import (
    add_projection,
    clear_laws,
    point_at,
    subtract_law,
    subtract_wrench,
    velocity_at,
)
from pliant.kernels.loads.units import ENERGY, FORCES, INPUTS, MATRICES, unit


class Springs(NamedTuple):
    """Sliding springs as arrays."""

    place: I2  # (springs, 2) step, input
    data: F2  # (springs, 11) own point in the step [m], p [m], d, k [N/m], c [N s/m]


STEP, INPUT = (np.int64(k) for k in range(2))
OWN, ANCHOR, DIRECTION, STIFFNESS, DAMPING = (np.int64(k) for k in (0, 3, 6, 9, 10))


@routine
def spring(springs, k, work, u):
    """The point (relative to the moving origin), the stretch and the force of spring k."""
    row, data = work.state[springs.place[k, STEP]], springs.data[k]
    x = point_at(row, get3(data, OWN))
    slid = vaxpy(u[springs.place[k, INPUT]], get3(data, DIRECTION), get3(data, ANCHOR))
    stretch = vsub(vadd(x, get3(work.origin, OWN)), slid)
    return x, stretch, vaxpy(-data[DAMPING], velocity_at(row, x), vscale(-data[STIFFNESS], stretch))


@routine
def apply_springs(t, work, springs, space, q, v, u, r):
    """Subtract the forces from the wrenches of the steps, for any number type."""
    for k in range(springs.place.shape[0]):
        x, _stretch, F = spring(springs, k, work, u)
        subtract_wrench(work.state[springs.place[k, STEP]], x, vscale(0.0, F), F)


@unit(Springs, tasks=(FORCES, MATRICES, ENERGY, INPUTS))
def sliding_springs(task, t, work, springs, space, q, v, u, out):
    """Forces, their derivatives by position (A) and velocity (B) of the point, energy, and the columns of the inputs."""
    if task == FORCES:
        apply_springs(t, work, springs, space, q, v, u, work.zero)
        return
    A, B = work.law[0], work.law[1]
    for k in range(springs.place.shape[0]):
        data, step = springs.data[k], springs.place[k, STEP]
        x, stretch, F = spring(springs, k, work, u)
        if task == MATRICES:
            clear_laws(A, B)
            for i in range(3, 6):
                A[i, i] = -data[STIFFNESS]
                B[i, i] = -data[DAMPING]
            subtract_law(work, step, x, vscale(0.0, F), F, A, B)
        elif task == ENERGY:
            energy = 0.5 * data[STIFFNESS] * vdot(stretch, stretch)
            work.message[MESSAGE_ENERGY] += energy
            work.message[MESSAGE_SIZE] += energy
        elif task == INPUTS:
            pull = vscale(data[STIFFNESS], get3(data, DIRECTION))
            add_projection(t, work, step, x, vscale(0.0, F), pull, out[springs.place[k, INPUT]])
