"""Composite-body mass matrix: M from the inertia of the subtree that each step carries.

An independent, cheaper route to the matrix that `tangent` gives as ∂ID/∂a; used where only M is needed.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import dm_ad, dmaxpy, dmscale, dscale, get3, get6, get9, rotate, rotate_dm
from ..algebra.exponential import tangent_coefficients, tangent_matrix
from ..layout import (
    COL0,
    COLLOC,
    COLS,
    D_AXIS,
    D_C,
    D_H,
    J_PLANE,
    KIND,
    NO,
    OM,
    OP_S,
    PE,
    PS,
    RE,
    ROD,
    RS,
    S_PHI,
    SCREW,
    STEP0,
    STEPS,
    XI1,
    XI2,
    YES,
)
from .columns import copy_columns, fill, put_column, put_pair, unit_twist
from .inertia import point_inertias
from .products import ZERO
from .rows import Place, Terms, sweep
from .spectral import spectral_jacobian

ONE = np.int64(1)
J_PLACE = Place(ONE, ZERO, J_PLANE)
BESIDE = Place(np.int64(2), ONE, J_PLANE)  # where `loads.law.step_columns` looks for J


@routine
def rod_jacobian(block, step, data, phi, state, op_all, wide, place, end):
    """Columns s of all steps of a rod block, accumulated along it where `place` says in `wide`, and at its end in `end`."""
    first, n = block[STEP0], block[COLS]
    prev = ZERO - 1
    for i in range(first, first + block[STEPS]):
        row = state[i]
        op = op_all[i]
        omega = get6(row, OM)
        ca, cb, _a1, _b1, _a2, _b2 = tangent_coefficients(omega)
        T = rotate_dm(get9(row, RS), get3(row, PS), tangent_matrix(omega, ca, cb))
        half = 0.5 * data[i, D_H]
        c = data[i, D_C]
        if c == 0.0:
            s = dmscale(half, T)
            put_pair(op, OP_S, s, s)
        else:
            x1 = dscale(c, get6(row, XI1))
            x2 = dscale(-c, get6(row, XI2))
            put_pair(op, OP_S, dmaxpy(half, T, dm_ad(T, x2)), dmaxpy(half, T, dm_ad(T, x1)))
        o = step[i, S_PHI]
        at = place.stride * o + place.shift * n
        fill(op, OP_S, phi, o, block, wide, prev, wide, at)
        prev = at
    copy_columns(wide, prev, end, block[COL0], n)


@routine
def joint_jacobian(block, data, state, end):
    """Columns s of a joint."""
    i = block[STEP0]
    row = state[i]
    for k in range(block[COLS]):
        if block[KIND] == SCREW:
            s = rotate(get9(row, RS), get3(row, PS), get6(data[i], D_AXIS))
        else:
            s = rotate(get9(row, RE), get3(row, PE), unit_twist(k))
        put_column(end, block[COL0] + k, s)


@routine
def put_jacobians(t, work, place):
    """Columns s of every block, those of rods where `place` says in `wide1`; needs `forward`."""
    end = work.ends[J_PLANE]
    for b in range(t.block.shape[0]):
        block = t.block[b]
        if block[COLLOC] >= 0:
            spectral_jacobian(block, t.step, t.phi, t.colloc, work.state, work.nodes, work.wide1, place, end)
        elif block[KIND] == ROD:
            rod_jacobian(block, t.step, t.data, t.phi, work.state, work.op, work.wide1, place, end)
        else:
            joint_jacobian(block, t.data, work.state, end)


@routine
def all_jacobians(t, work):
    """Columns s of every block, alone in `wide1`; needs `forward`."""
    put_jacobians(t, work, J_PLACE)


@inline
def mass_terms():
    """What the pass sums for the mass matrix: I J, with J alone in `wide1`."""
    return Terms(ONE, 0.0, ZERO, NO, NO, YES, J_PLACE, J_PLACE)


@routine
def mass_matrix(t, work, out):
    """M, (nv, nv), in out[0] of a (1, nv, nv) array that is zero where no block couples to another; needs `forward`."""
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    all_jacobians(t, work)
    sweep(t, work, mass_terms(), work.wide1, work.wide1, out)
