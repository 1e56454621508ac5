"""The gradient of φ = yᵀr(q, v, a, u) with respect to all real tables of a robot, at the cost of two residuals (MATH §7).

r is a sum of wrenches on steps, each projected with the step's Jacobian, so that φ = Σ ⟨Ŷ, W⟩ with the virtual twists
Ŷ = J y, and of forces on coordinates. A forward pass finds poses, twists, accelerations and virtual twists of all steps; every
wrench then says what it owes these and its own numbers, and one pass from the tips to the base sums it up.

Constraints (lengths of tendons, rows of loops) may take part: with adjoints m and z in `Work.owed`, φ = yᵀr + mᵀe(q) + zᵀė(q, v).
"""

import numpy as np

from ..._jit import routine
from ..algebra.dual import get6, put6, swap
from ..groups import (
    HAS_EFFORTS,
    HAS_TENDONS,
    HAS_WRENCHES,
    unpack_efforts,
    unpack_internal,
    unpack_tables,
    unpack_tendons,
    unpack_wrenches,
)
from ..layout import FW, G_A, G_POSE, G_Y, H_Y, MESSAGE_FORCES, NO, REVERSE_WIDTH, Y_ROW, YES
from ..loads.tendons import T_DAMP, T_FORCE, T_STIFF, set_plain_tensions
from ..loads.together import ask_units, ask_units_of, some_unit_knows
from ..loads.units import FORCES, LENGTHS, MATRICES, REVERSE
from ..recursion.forward import forward
from .bodies import add_masses
from .forces import effort_reverse, internal_reverse, matrix_reverse, wrench_reverse
from .rows import block_of_rows
from .steps import block_reverse, virtual_motion
from .tendons import tendon_reverse

FIRST = np.int64(0)


@routine
def start_sweep(work, y, scale):
    """Scale y, and clear what is added to."""
    products, last = work.products, work.reverse.shape[0] - 1
    for k in range(y.shape[0]):
        products[Y_ROW, k] = scale * y[k]
        for r in range(Y_ROW + 1, 4):
            products[r, k] = 0.0
    for i in range(last + 1):
        for c in range(G_POSE, REVERSE_WIDTH):
            work.reverse[i, c] = 0.0
    for c in range(6):
        work.reverse[last, H_Y + c] = 0.0


@routine
def ask_for_wrenches(work, loads, q, v, u):
    """Wrenches of units and their matrices K and N, into `state`, `load` and `bias`; those of single steps also into `applied`."""
    for i in range(work.state.shape[0]):
        for c in range(6):
            work.state[i, FW + c] = 0.0
            for r in range(6):
                work.load[i, r, c] = 0.0
                work.bias[i, r, c] = 0.0
    ask_units_of(loads, FORCES, NO, q, v, u, work.zero)
    ask_units_of(loads, MATRICES, NO, q, v, u, work.zero)
    for i in range(work.state.shape[0] - 1):
        put6(work.applied[i], FIRST, swap(get6(work.state[i], FW)))
    ask_units_of(loads, FORCES, YES, q, v, u, work.zero)


@routine
def add_units(work):
    """What wrenches of units owe virtual twists, and those of single steps their steps."""
    matrix_reverse(work)
    for i in range(work.state.shape[0] - 1):
        put6(work.reverse[i], G_Y, swap(get6(work.state[i], FW)))


@routine
def clear_owed(work):
    """No constraint takes part."""
    for k in range(work.owed.shape[0]):
        for c in range(3):
            work.owed[k, c] = 0.0


@routine
def add_tendons(work, loads, q, v, u, y, rows, gradient):
    """Tendons, whose tensions are known; with `rows` their lengths are constraints, too."""
    ints, floats, _buffer = loads
    if ints[HAS_TENDONS] == 0:
        return
    elastic = some_unit_knows(loads, LENGTHS)
    if rows and not elastic:
        for k in range(work.tension.shape[0]):
            work.tension[k, T_STIFF] = 0.0
            work.tension[k, T_DAMP] = 0.0
    tendon_reverse(
        unpack_tendons(ints, floats), work, q, v, u, y, elastic or rows, unpack_tendons(ints, gradient)
    )  # fmt: skip


@routine
def add_table_gradient(t, work, c, loads, q, v, a, u, y, scale, rows, again, gradient):
    """gradient += ∂φ/∂F with φ = scale yᵀr, F the packed real tables; `system.tables.covered` says where that is complete.

    With `rows` the adjoints of constraints in work.owed take part, which is left with their virtual rates ė(q, scale y). Gravity is
    `work.gravity`, whose derivative is that of `Tables.gravity`. work.products becomes scale y, and the derivatives of φ by q, v and a; the first two
    are complete if no load couples steps in a way that is not covered, and of spectral rods they are those of r itself, not the collocated
    tangents of MATH §6. With `again` the last sweep in this workspace was at the same state, so that poses and wrenches are known.
    """
    ints, floats, _buffer = loads
    gain = unpack_tables(ints, gradient)
    pushed = some_unit_knows(loads, FORCES)
    if not again:
        forward(t, q, v, a, work)
        if ints[HAS_TENDONS] > 0:
            set_plain_tensions(unpack_tendons(ints, floats), work, u)
        if pushed:
            ask_for_wrenches(work, loads, q, v, u)
    start_sweep(work, y, scale)
    y = work.products[Y_ROW]
    virtual_motion(t, work, y)
    if not rows:
        clear_owed(work)
    if pushed:
        add_units(work)
    work.message[MESSAGE_FORCES] = 1.0
    ask_units(loads, REVERSE, q, v, u, gradient)
    add_tendons(work, loads, q, v, u, y, rows, gradient)
    if ints[HAS_WRENCHES] > 0:
        wrench_reverse(unpack_wrenches(ints, floats), work, u, unpack_wrenches(ints, gradient))
    add_masses(t, work, gain)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block_reverse(t, work, b, gain)
    last = work.reverse[work.reverse.shape[0] - 1]
    for k in range(3):
        gain.gravity[k] -= last[G_A + k]
    internal_reverse(c, work, q, v, y, unpack_internal(ints, gradient))
    if ints[HAS_EFFORTS] > 0:
        effort_reverse(unpack_efforts(ints, floats), q, v, u, y, unpack_efforts(ints, gradient), work.products)


@routine
def add_row_gradient(t, work, loads, q, v, u, again, gradient):
    """The same for φ = mᵀe(q) + zᵀė(q, v) alone, with the adjoints in work.owed; work.products are its derivatives by q and v."""
    ints = loads[0]
    gain = unpack_tables(ints, gradient)
    if not again:
        forward(t, q, v, work.zero, work)
    start_sweep(work, work.zero, 0.0)
    for i in range(work.reverse.shape[0]):
        for k in range(G_POSE):
            work.reverse[i, k] = 0.0
    for k in range(work.tension.shape[0]):
        work.tension[k, T_FORCE] = work.tension[k, T_STIFF] = work.tension[k, T_DAMP] = 0.0
    work.message[MESSAGE_FORCES] = 0.0
    ask_units_of(loads, REVERSE, YES, q, v, u, gradient)
    add_tendons(work, loads, q, v, u, work.products[Y_ROW], YES, gradient)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block_of_rows(t, work, b, gain)
