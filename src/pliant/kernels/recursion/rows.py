"""The backward pass over blocks, from the tips to the base: rows of every matrix of the equation of motion.

Each of them is a sum over steps, ``Σ Jᵀ (N R + I W + K J)`` and what wrenches add, with 6×6 matrices N, I, K of a step and
columns R, W, J at it:

| matrix | N R | I W |
|---|---|---|
| tangent of the inverse dynamics (`tangent`) | N, R of MATH §3 | I, W of MATH §3 |
| mass matrix (`composite`) | | I, J |
| Coriolis and drag matrices (`matrices`) | P, J | Q, J̇ |

Every 6×n matrix that travels along the tree is expressed at the same origin, so it only ever adds. For one block with own
columns S (at its steps) the pass gives

* its own diagonal block, by projecting the accumulated wrenches with the two basis rows of each step;
* ``E = Σ sᵀNᶜ`` and ``H = Σ sᵀIᶜ`` (n×6), which couple its rows to the columns of all ancestors;
* ``U, B, C`` (6×n), the wrenches that couple the rows of all ancestors to its columns.

They lie side by side in the rows h of a block, and the same of its wrenches in x: ``[columns | N | I | f | K]``, each of
the last four only if the pass has it; f is the carried wrench.
"""

from typing import Any, NamedTuple

from ..._jit import inline, routine
from ..algebra.dual import dcross, get3
from ..layout import (
    COL0,
    COLLOC,
    COLS,
    D_C,
    D_H,
    FW,
    IN_ORDER,
    J_PLANE,
    KIND,
    OP_R,
    OP_S,
    OP_W,
    PSTEP,
    ROD,
    S_CARRIES,
    S_PHI,
    SCREW,
    SPAN0,
    SPANS,
    STEP0,
    STEPS,
    SUBTREE,
    Y_PLANE,
)
from .columns import copy_columns
from .geometric import add_curvature, add_force_term, curvature
from .products import (
    SIX,
    THREE,
    ZERO,
    add_matrix,
    add_product3,
    add_product6,
    add_row_product3,
    add_sparse_product,
    clear,
    expand_rows,
    expand_two,
    project_pair,
    row_product,
)
from .spectral import clear_nodes, force_matrix, sum_nodes


class Place(NamedTuple):
    """Where columns are: those of a block's rod steps in an array, and those at its end."""

    stride: Any  # how many matrices of the size of `phi` the array holds side by side, step by step
    shift: Any  # which of them
    plane: Any  # in `Work.ends`


class Terms(NamedTuple):
    """What a pass sums."""

    matrices: Any  # 1, or 3: ∂q, ∂v and M side by side, with columns [R | J] and [W | Y | J]
    cq: Any  # weight of ∂/∂q: of K and of what wrenches add; 0 without them
    halves: Any  # of N: 0 if there is no N, 1 if its right half is zero, 2
    wrenches: Any  # whether wrenches are carried, and projected
    loaded: Any  # whether there is a K
    symmetric: Any  # whether the matrix is
    first: Any  # Place of R
    second: Any  # Place of W


@inline
def places(n, terms):
    """Where I, f and K begin behind the columns of a block with n of its own (N is first), and the width of all."""
    at_I = terms.matrices * n
    if terms.halves > 0:
        at_I += 6
    at_f = at_I + 6
    at_K = at_f
    if terms.wrenches:
        at_K += 1
    width = at_K
    if terms.loaded:
        width += 6
    return at_I, at_f, at_K, width


# ---------------------------------------------------------------- one block


@inline
def add_step(t, work, block, terms, R, W, i, x, at):
    """Add the columns and the composites of a rod's step i to x[:, at:]."""
    n, o = block[COLS], t.step[i, S_PHI]
    at_I, at_f, at_K, _width = places(n, terms)
    wide = terms.matrices * n
    add_product6(work.inertia[i], W, terms.second.stride * o + terms.second.shift * n, x, at, wide)
    add_matrix(work.inertia[i], x, at + at_I)
    if terms.halves > 0:
        start = terms.first.stride * o + terms.first.shift * n
        m = n if terms.matrices == 1 else 2 * n
        add_product3(work.bias[i], ZERO, R, start, x, at, m)
        if terms.halves == 2:
            add_product3(work.bias[i], THREE, R, start, x, at, m)
        add_matrix(work.bias[i], x, at + wide)
    if terms.wrenches:
        for r in range(6):
            x[r, at + at_f] += work.state[i, FW + r]
    if terms.loaded:
        add_sparse_product(terms.cq, work.load[i], work.wide1, 2 * o + n, x, at, n)
        add_matrix(work.load[i], x, at + at_K)


@inline
def own_columns(t, work, block, i, s):
    """s[:, :n] = J at the end of a rod's step i less J at its start."""
    n, o = block[COLS], t.step[i, S_PHI]
    if i == block[STEP0]:
        copy_columns(work.wide1, 2 * o + n, s, ZERO, n)
        return
    prev = t.step[i - 1, S_PHI]
    for r in range(6):
        sr = s[r]
        new = work.wide1[r, 2 * o + n : 2 * o + 2 * n]
        old = work.wide1[r, 2 * prev + n : 2 * prev + 2 * n]
        for k in range(n):
            sr[k] = new[k] - old[k]


@routine
def rod_rows(t, work, block, terms, R, W):
    """Rows and wrenches of a rod of Magnus steps; R and W are the arrays that `terms` speaks of."""
    n, first = block[COLS], block[STEP0]
    _at_I, at_f, _at_K, width = places(n, terms)
    x, h = work.x, work.h
    clear(x, SIX, width)
    clear(h, n, width)
    active, waiting = False, -1  # the step whose rows wait in the first half of work.g: two are expanded at a time
    for i in range(first + block[STEPS] - 1, first - 1, -1):
        o = t.step[i, S_PHI]
        op = work.op[i]
        g = work.g[:12] if waiting < 0 else work.g[12:]
        if t.step[i, S_CARRIES] != 0:
            active = True
            add_step(t, work, block, terms, R, W, i, x, ZERO)
        if not active:
            continue
        m = (x[0, at_f], x[1, at_f], x[2, at_f])
        f = (x[3, at_f], x[4, at_f], x[5, at_f])
        if terms.cq != 0.0:
            own_columns(t, work, block, i, g)
            add_force_term(terms.cq, m, f, g, ZERO, x, n)
        project_pair(op, OP_S, x, g, width)
        if terms.cq != 0.0:
            curvature(work.state[i], t.data[i, D_H], t.data[i, D_C], (f, m), terms.cq, op)
            add_curvature(op, OP_R, t.phi, o, block, g, ZERO)
            add_curvature(op, OP_W, t.phi, o, block, g, SIX)
        if waiting < 0:
            waiting = o
        else:
            expand_two(t.phi, waiting, o, block, work.g, h, width)
            waiting = -1
    if waiting >= 0:
        expand_rows(t.phi, waiting, block, work.g, h, width)


@routine
def spectral_rows(t, work, block, terms, R, W):
    """The same as `rod_rows` for a rod by collocation."""
    n, nodes = block[COLS], work.nodes
    _at_I, at_f, _at_K, width = places(n, terms)
    for k in range(block[STEPS]):
        i = block[STEP0] + k
        at = k * width
        clear_nodes(nodes, at, width)
        if t.step[i, S_CARRIES] == 0:
            continue
        add_step(t, work, block, terms, R, W, i, nodes, at)
        if terms.cq != 0.0:
            row = work.state[i]
            force_matrix(terms.cq, get3(row, FW), get3(row, FW + 3), work.g)
            add_product6(work.g, work.wide1, 2 * t.step[i, S_PHI] + n, nodes, at, n)
    sum_nodes(
        block, t.step, t.phi, t.colloc, work.state, nodes, width, work.wide1, at_f, terms.cq, work.x, work.g, work.h
    )


@inline
def times_column(M, r, X, c):
    """Entry r of M X[:, c]."""
    return (
        M[r, 0] * X[0, c]
        + M[r, 1] * X[1, c]
        + M[r, 2] * X[2, c]
        + M[r, 3] * X[3, c]
        + M[r, 4] * X[4, c]
        + M[r, 5] * X[5, c]
    )


@inline
def subtract_turning(block, J, cq, m, f, h):
    """h −= cq sᵀ ad̄*_F s, F = (m, f): the axes of a manifold joint move with the body."""
    n, col0 = block[COLS], block[COL0]
    for k in range(n):
        c = col0 + k
        F = dcross(((J[0, c], J[1, c], J[2, c]), (J[3, c], J[4, c], J[5, c])), (f, m))  # ad*_s F, dual form
        for j in range(n):
            c = col0 + j
            h[j, k] -= cq * (
                J[0, c] * F[1][0]
                + J[1, c] * F[1][1]
                + J[2, c] * F[1][2]
                + J[3, c] * F[0][0]
                + J[4, c] * F[0][1]
                + J[5, c] * F[0][2]
            )


@routine
def joint_rows(work, block, terms):
    """The same as `rod_rows` for a joint."""
    n, col0, i = block[COLS], block[COL0], block[STEP0]
    wide = terms.matrices * n
    at_I, at_f, at_K, width = places(n, terms)
    x, h = work.x, work.h
    N, M, K, row = work.bias[i], work.inertia[i], work.load[i], work.state[i]
    J, Y = work.ends[J_PLANE], work.ends[Y_PLANE]
    R, W = work.ends[terms.first.plane], work.ends[terms.second.plane]
    for r in range(6):
        for k in range(n):
            c = col0 + k
            x[r, k] = times_column(M, r, W, c)
            if terms.halves > 0:
                x[r, k] += times_column(N, r, R, c)
            if terms.matrices == 3:
                x[r, n + k] = times_column(N, r, J, c) + times_column(M, r, Y, c)
                x[r, 2 * n + k] = times_column(M, r, J, c)
        for c in range(6):
            x[r, at_I + c] = M[r, c]
        if terms.halves > 0:
            for c in range(6):
                x[r, wide + c] = N[r, c]
        if terms.wrenches:
            x[r, at_f] = row[FW + r]
        if terms.loaded:
            for c in range(6):
                x[r, at_K + c] = K[r, c]
    m, f = get3(row, FW), get3(row, FW + 3)
    if terms.cq != 0.0:
        add_force_term(terms.cq, m, f, J, col0, x, n)
    if terms.loaded:
        add_sparse_product(terms.cq, K, J, col0, x, ZERO, n)
    for k in range(n):
        c = col0 + k
        s0, s1, s2, s3, s4, s5 = J[0, c], J[1, c], J[2, c], J[3, c], J[4, c], J[5, c]
        for j in range(width):
            h[k, j] = s0 * x[0, j] + s1 * x[1, j] + s2 * x[2, j] + s3 * x[3, j] + s4 * x[4, j] + s5 * x[5, j]
    if block[KIND] != SCREW and terms.cq != 0.0:
        subtract_turning(block, J, terms.cq, m, f, h)


@routine
def block_rows(t, work, block, terms, R, W):
    """Rows of a block in work.h and its wrenches in work.x, from the matrices of its steps and of what they carry."""
    if block[COLLOC] >= 0:
        spectral_rows(t, work, block, terms, R, W)
    elif block[KIND] == ROD:
        rod_rows(t, work, block, terms, R, W)
    else:
        joint_rows(work, block, terms)


# ---------------------------------------------------------------- all blocks


@inline
def hand_over(work, block, terms):
    """Add the composites of a block to the step that carries it."""
    n, p, x = block[COLS], block[PSTEP], work.x
    at_I, at_f, at_K, _width = places(n, terms)
    for r in range(6):
        for c in range(6):
            work.inertia[p, r, c] += x[r, at_I + c]
        if terms.halves > 0:
            for c in range(6):
                work.bias[p, r, c] += x[r, terms.matrices * n + c]
        if terms.loaded:
            for c in range(6):
                work.load[p, r, c] += x[r, at_K + c]
        if terms.wrenches:
            work.state[p, FW + r] += x[r, at_f]


@inline
def write_ancestors(work, terms, at, hk, m, c0, length, row):
    """The columns c0 to c0 + length of an ancestor, of the m-th matrix, in the row of a block's column."""
    at_N, at_I, at_K = at
    J = work.ends[J_PLANE]
    if m == 2:
        row_product(hk, at_I, J, c0, length, row)
        return
    row_product(hk, at_I, work.ends[terms.second.plane] if m == 0 else work.ends[Y_PLANE], c0, length, row)
    if terms.halves > 0:
        R = work.ends[terms.first.plane] if m == 0 else J
        add_row_product3(hk, at_N, R, ZERO, c0, length, row)
        if terms.halves == 2:
            add_row_product3(hk, at_N, R, THREE, c0, length, row)
    if terms.loaded and m == 0:
        add_row_product3(hk, at_K, J, ZERO, c0, length, row)
        add_row_product3(hk, at_K, J, THREE, c0, length, row)


@routine
def distribute(t, work, block, terms, out):
    """Write the rows of a block: its own columns, its ancestors' and its descendants'."""
    n, col0, end = block[COLS], block[COL0], block[SUBTREE]
    at_I, at_f, at_K, _width = places(n, terms)
    J, h = work.ends[J_PLANE], work.h
    if not terms.symmetric:  # wrenches of the block's own columns, for its ancestors' rows
        for m in range(terms.matrices):
            copy_columns(work.x, m * n, work.force[m], col0, n)
    for k in range(n):
        i = col0 + k
        hk = h[k]
        if terms.wrenches:
            work.tau[i] = hk[at_f]
        if terms.loaded:
            for j in range(6):
                hk[at_K + j] *= terms.cq
        for m in range(terms.matrices):
            dst = out[m, i, col0 : col0 + n]
            src = hk[m * n : m * n + n]
            for j in range(n):
                dst[j] = src[j]
        for sp in range(block[SPAN0], block[SPAN0] + block[SPANS]):
            c0, length = t.spans[sp, 0], t.spans[sp, 1]
            for m in range(terms.matrices):
                row = out[m, i, c0 : c0 + length]
                write_ancestors(work, terms, (terms.matrices * n, at_I, at_K), hk, m, c0, length, row)
                if terms.symmetric:
                    for j in range(length):
                        out[m, c0 + j, i] = row[j]
        below = end - col0 - n
        if below > 0 and not terms.symmetric:
            for r in range(6):
                hk[r] = J[r, i]
            for m in range(terms.matrices):
                row_product(hk, ZERO, work.force[m], col0 + n, below, out[m, i, col0 + n : end])


@routine
def scatter_matrix(t, columns, out):
    """out[col_v, col_v] += columns, from column space to velocities."""
    m = t.col_v.shape[0]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
    for i in range(m):
        row = out[t.col_v[i]]
        for j in range(m):
            row[t.col_v[j]] += columns[i, j]


@routine
def clear_columns(t, work, matrices):
    """Zero the matrices in column space, if they are used: where blocks do not couple nothing is written."""
    if t.flags[IN_ORDER] == 0:
        for m in range(matrices):
            clear(work.out[m], work.out.shape[1], work.out.shape[2])


@routine
def sweep(t, work, terms, R, W, out):
    """All blocks from the tips to the base; the matrices in `out`, (matrices, nv, nv).

    `out` must be zero where no block couples to another (a fresh or formerly used array).
    """
    target = out if t.flags[IN_ORDER] != 0 else work.out
    clear_columns(t, work, terms.matrices)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        block_rows(t, work, block, terms, R, W)
        hand_over(work, block, terms)
        distribute(t, work, block, terms, target)
    if t.flags[IN_ORDER] == 0:
        for m in range(terms.matrices):
            scatter_matrix(t, work.out[m], out[m])
