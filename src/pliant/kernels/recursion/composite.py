"""Composite-body mass matrix: M from the inertia of the subtree that each step carries.

An independent, cheaper route to the matrix that `tangent` gives as ∂ID/∂a; used where only M is needed.
"""

from ..._jit import routine
from ..algebra.dual import dm_ad, dmaxpy, dmscale, dscale, get3, get6, get9, rotate, rotate_dm
from ..algebra.exponential import tangent_coefficients, tangent_matrix
from ..layout import (
    COL0,
    COLLOC,
    COLS,
    D_AXIS,
    D_C,
    D_H,
    IN_ORDER,
    KIND,
    OM,
    OP_S,
    OP_S2,
    PE,
    PS,
    PSTEP,
    RE,
    ROD,
    RS,
    S_CARRIES,
    S_PHI,
    SCREW,
    SPAN0,
    SPANS,
    STEP0,
    STEPS,
    XI1,
    XI2,
)
from .columns import copy_columns, fill, put_column, put_pair, unit_twist
from .inertia import point_inertias
from .spectral import ONE, spectral_composite, spectral_jacobian
from .tangent import (
    SIX,
    ZERO,
    add_product6,
    clear,
    clear_columns,
    expand_rows,
    project_wide,
    row_product,
    scatter_matrix,
)


@routine
def rod_jacobian(block, step, data, phi, state, op_all, wide, end):
    """Columns s of all steps of a rod block, accumulated along it in `wide` (6, Σ) and at its end in `end`."""
    first = block[STEP0]
    prev = -block[COLS] - 1
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
        fill(op, OP_S, phi, o, block, wide, prev, wide, o)
        prev = o
    copy_columns(wide, prev, end, block[COL0], block[COLS])


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
def all_jacobians(t, work):
    """Columns s of every block; needs `forward`."""
    for b in range(t.block.shape[0]):
        block = t.block[b]
        if block[COLLOC] >= 0:
            spectral_jacobian(block, t.step, t.phi, t.colloc, work.state, work.nodes, work.wide1, work.ends[0])
        elif block[KIND] == ROD:
            rod_jacobian(block, t.step, t.data, t.phi, work.state, work.op, work.wide1, work.ends[0])
        else:
            joint_jacobian(block, t.data, work.state, work.ends[0])


@routine
def rod_composite(block, step, phi, inertia, op_all, wide, x, g, h):
    """Own block of M in h[:n, :n] and H = Σ sᵀIᶜ in h[:n, n:n+6]; C and Iᶜ in `x`."""
    n = block[COLS]
    width = n + 6
    clear(x, SIX, width)
    clear(h, n, width)
    first = block[STEP0]
    active = False
    for i in range(first + block[STEPS] - 1, first - 1, -1):
        o = step[i, S_PHI]
        if step[i, S_CARRIES] != 0:
            active = True
            add_product6(inertia[i], wide, o, x, n)
            for r in range(6):
                for c in range(6):
                    x[r, n + c] += inertia[i, r, c]
        if active:
            project_wide(op_all[i], OP_S, x, g, ZERO, width)
            project_wide(op_all[i], OP_S2, x, g, SIX, width)
            expand_rows(phi, o, block, g, h, width)


@routine
def joint_composite(block, inertia, J, x, h):
    """The same as `rod_composite` for a joint."""
    n = block[COLS]
    clear(x, SIX, n + SIX)
    M = inertia[block[STEP0]]
    add_product6(M, J, block[COL0], x, n)
    for r in range(6):
        for c in range(6):
            x[r, n + c] = M[r, c]
    for k in range(n):
        i = block[COL0] + k
        for j in range(n + 6):
            h[k, j] = (
                J[0, i] * x[0, j]
                + J[1, i] * x[1, j]
                + J[2, i] * x[2, j]
                + J[3, i] * x[3, j]
                + J[4, i] * x[4, j]
                + J[5, i] * x[5, j]
            )


@routine
def write_mass(block, spans, J, h, out):
    """Rows of M for a block's own columns and its ancestors', mirrored."""
    n = block[COLS]
    col0 = block[COL0]
    for k in range(n):
        i = col0 + k
        for j in range(n):
            out[i, col0 + j] = h[k, j]
        for sp in range(block[SPAN0], block[SPAN0] + block[SPANS]):
            c0 = spans[sp, 0]
            length = spans[sp, 1]
            row_product(h[k], n, J, c0, length, out[i, c0 : c0 + length])
            for j in range(c0, c0 + length):
                out[j, i] = out[i, j]


@routine
def block_composite(t, work, block):
    """Rows of a block in work.h and its wrenches in work.x, from the inertias of its steps and of what they carry."""
    if block[COLLOC] >= 0:
        spectral_composite(
            block,
            t.step,
            t.phi,
            t.colloc,
            work.state,
            work.inertia,
            work.nodes,
            work.wide1,
            work.x,
            work.g,
            work.h,
        )
    elif block[KIND] == ROD:
        rod_composite(block, t.step, t.phi, work.inertia, work.op, work.wide1, work.x, work.g, work.h)
    else:
        joint_composite(block, work.inertia, work.ends[0], work.x, work.h)


@routine
def mass_matrix(t, work, out):
    """M, (nv, nv), in out[0] of a (1, nv, nv) array that is zero where no block couples to another; needs `forward`."""
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    all_jacobians(t, work)
    target = out if t.flags[IN_ORDER] != 0 else work.out
    clear_columns(t, work, ONE)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        block_composite(t, work, block)
        n = block[COLS]
        for r in range(6):
            for c in range(6):
                work.inertia[block[PSTEP], r, c] += work.x[r, n + c]
        write_mass(block, t.spans, work.ends[0], work.h, target[0])
    if t.flags[IN_ORDER] == 0:
        scatter_matrix(t, work.out[0], out[0])
