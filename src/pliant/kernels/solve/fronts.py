"""Elimination of a tree's unknowns from the tips to the base, and the solution from the base to the tips.

Along the tree a motion ``z`` is carried outwards, which only ever adds: ``z = z_parent + Z Δ`` with the unknowns Δ of a
block. What a block carries answers with a wrench F; its equations are such wrenches projected with its columns J:

``D Δ + G z_parent = b``,  ``F = X Δ + A z_parent + p``.

A **front** is the matrix ``[[D, G], [X, A]]`` of a block, with rows for its unknowns and for the wrench, and columns for its
unknowns and for z. Eliminating the unknowns, with row exchanges among their rows, leaves in place of A what the whole
subtree answers to z: for the mass matrix Featherstone's articulated inertia, which [001] extends to rods.

A coordinate that occurs in several blocks of a rod (a basis function that reaches over attachments or element ends) is
*retained*: it stays in the fronts of these blocks and is eliminated in the one nearest to the base, as in the frontal
method of Irons. Fronts follow each other in one array, the *store*; its last column holds vectors.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import inline, routine
from ..layout import COL0, COLS, I1, I2, PSTEP, STEP0, STEPS


class Fronts(NamedTuple):
    """Where the unknowns of each block are in its front; constant after compile."""

    front: I2  # (blocks, FRONT_WIDTH)
    velocity: I1  # (Σ,) velocity of each unknown of a front, those that it eliminates first
    up: I1  # (Σ,) their places in the front of the parent block, for those that are retained
    own: I1  # (columns,) place of each column in the front of its block
    entry: I2  # (entries, 2) row and column in the store of the entries of `Internal.column`
    effort: I2  # (efforts, 2) likewise for forces on coordinates
    spring: I1  # (springs,) block of each manifold joint with a spring
    line: I1  # (nodes of tendons,) block that each acts on
    size: I1  # (2,) rows and columns of the store


# columns of `Fronts.front`: unknowns, how many of them are eliminated, first row of the store, first entry of `velocity`,
# first pivot, parent block, first child that retains unknowns, the next such child of the same parent
UNKNOWNS, ELIMINATED, ROW, INDEX, PIVOT, ABOVE, CHILD, NEXT = (np.int64(k) for k in range(8))
FRONT_WIDTH = 8
# rows of a front below those of its unknowns: the wrench, then for each column of the block its W, R and J at the end of
# the block side by side, then z there
CARRIED = np.int64(6)
MOTION = np.int64(18)  # most entries of z
JACOBIAN = np.int64(12)  # where J is in a row of columns
DEFINITE, NOT_DEFINITE = (
    1e-14,
    -1.0,
)  # smallest pivot of a definite matrix, in the same measure; what stands for a smaller one
ROUNDING = 4e-15  # a pivot that is smaller than this, relative to what it was before cancellation, is zero


@routine
def clear_fronts(t, fronts, S):
    """Zero what is added to in the matrices of all fronts: G and A only where a front has more than a block's own columns."""
    last = S.shape[1] - 1
    for b in range(fronts.front.shape[0]):
        front = fronts.front[b]
        m = front[UNKNOWNS]
        width = m if m == t.block[b, COLS] else m + MOTION
        for i in range(front[ROW], front[ROW] + m + CARRIED):
            row = S[i]
            for j in range(width):
                row[j] = 0.0
            row[last] = 0.0


@inline
def put_carried(block, front, planes, first, second, third, S):
    """Copy the columns of a block at its end, from planes of (6, columns), into its front."""
    col0 = block[COL0]
    o = front[ROW] + front[UNKNOWNS] + CARRIED
    for k in range(block[COLS]):
        row = S[o + k]
        for r in range(6):
            row[r] = planes[first, r, col0 + k]
            row[6 + r] = planes[second, r, col0 + k]
            row[JACOBIAN + r] = planes[third, r, col0 + k]


@inline
def put_motion(src, row, m, places, nz):
    """Copy the columns that multiply the parts of z."""
    first, second, third = places
    for c in range(6):
        row[m + c] = src[first + c]
    if nz > 6:
        for c in range(6):
            row[m + 6 + c] = src[second + c]
    if nz > 12:
        for c in range(6):
            row[m + 12 + c] = src[third + c]


@inline
def fill_front(block, front, own, x, h, places, nz, S):
    """Add the rows h of a block and the wrenches x that it answers with to its front.

    Both hold the block's own columns first; `places` (3,) says where the columns are that multiply the parts of z.
    """
    n, col0 = block[COLS], block[COL0]
    m, o = front[UNKNOWNS], front[ROW]
    for k in range(n):
        row = S[o + own[col0 + k]]
        for j in range(n):
            row[own[col0 + j]] += h[k, j]
        put_motion(h[k], row, m, places, nz)
    for r in range(6):
        row = S[o + m + r]
        for j in range(n):
            row[own[col0 + j]] += x[r, j]
        put_motion(x[r], row, m, places, nz)


@routine
def add_retained(block, front, own, child, up, nz, S):
    """Add what a child block left of unknowns that are eliminated here or nearer to the base.

    The child starts from the motion z at the end of this block, which depends on its unknowns: ``z = z_parent + Z Δ``.
    """
    n, col0 = block[COLS], block[COL0]
    m, o = front[UNKNOWNS], front[ROW]
    mc, ec, oc = child[UNKNOWNS], child[ELIMINATED], child[ROW]
    place = up[child[INDEX] : child[INDEX] + mc]
    Z = o + m + CARRIED
    for i in range(ec, mc):
        src = S[oc + i]
        row = S[o + place[i]]
        for j in range(ec, mc):
            row[place[j]] += src[j]
        for c in range(nz):
            row[m + c] += src[mc + c]
        for k in range(n):
            y = 0.0
            for c in range(nz):
                y += src[mc + c] * S[Z + k, c]
            row[own[col0 + k]] += y
    for r in range(6):
        src = S[oc + mc + r]
        row = S[o + m + r]
        for j in range(ec, mc):
            row[place[j]] += src[j]
            for k in range(n):
                S[o + own[col0 + k], place[j]] += S[Z + k, JACOBIAN + r] * src[j]


@inline
def equilibrate(front, index, known, scale, factor, cols, S):
    """Rows of what a front eliminates in scaled units, and times `factor` what pivots are compared with, in the last column.

    Known coordinates get unit rows and columns: they keep their values.
    """
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    last = S.shape[1] - 1
    for i in range(e):
        v = index[front[INDEX] + i]
        if known[v] == 1:
            for j in range(cols):
                S[o + i, j] = 0.0
            for j in range(m + 6):
                S[o + j, i] = 0.0
            S[o + i, i] = 1.0
            S[o + i, last] = 0.0
        else:
            row = S[o + i]
            row[last] *= factor * scale[v]
            for j in range(cols):
                row[j] *= scale[v]


@inline
def eliminate_below(o, k, rows, cols, S):
    """Eliminate the k-th unknown of a front from the rows below."""
    f = 1.0 / S[o + k, k]
    right = S[o + k, k + 1 : cols]
    for i in range(k + 1, rows):
        g = S[o + i, k] * f
        S[o + i, k] = g
        if g != 0.0:
            row = S[o + i, k + 1 : cols]
            for j in range(right.shape[0]):
                row[j] -= g * right[j]


@inline
def eliminate_front(front, index, known, scale, nz, S, pivot):
    """Eliminate the first unknowns of a front, with row exchanges. Returns False if it is singular.

    The last column holds what each pivot is compared with, to tell a small one from what rounding leaves of zero.
    """
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    rows, cols = m + 6, m + nz
    last = S.shape[1] - 1
    equilibrate(front, index, known, scale, ROUNDING, cols, S)
    for k in range(e):
        best = -1.0
        swap = k
        for i in range(k, e):
            size = abs(S[o + i, k])
            if size > best:
                best = size
                swap = i
        pivot[front[PIVOT] + k] = swap
        if not (best > S[o + k, last] and best < np.inf):
            return False
        if swap != k:
            top = S[o + k]
            other = S[o + swap]
            for j in range(cols):
                x = top[j]
                top[j] = other[j]
                other[j] = x
        eliminate_below(o, k, rows, cols, S)
    return True


@inline
def symmetrise(front, S):
    """The symmetric part of D.

    A stiffness with a potential is symmetric, but for what the axes of a manifold joint, which do not commute, leave between its own
    coordinates while forces are not in balance: that is what its symmetric part lacks.
    """
    o = front[ROW]
    for i in range(front[UNKNOWNS]):
        for j in range(i):
            x = 0.5 * (S[o + i, j] + S[o + j, i])
            S[o + i, j] = x
            S[o + j, i] = x


@inline
def eliminate_definite(front, index, known, scale, shift, nz, S, pivot):
    """Eliminate the first unknowns of a front without row exchanges, with `shift` on their diagonal in scaled units.

    The matrix of a potential is positive definite if all pivots are positive, in whatever order they are taken. Returns the
    smallest of them relative to what it is compared with, in the last column; `NOT_DEFINITE` at one that is not positive beyond rounding.
    """
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    rows, cols = m + 6, m + nz
    last = S.shape[1] - 1
    for i in range(e):
        f = shift / scale[index[front[INDEX] + i]] ** 2
        S[o + i, i] += f
        S[o + i, last] += f
    equilibrate(front, index, known, scale, 1.0, cols, S)
    least = np.inf
    for k in range(e):
        pivot[front[PIVOT] + k] = k
        whole = S[o + k, last] if known[index[front[INDEX] + k]] == 0 else 1.0
        x = S[o + k, k]
        if not (x > DEFINITE * whole and x < np.inf):
            return NOT_DEFINITE
        least = min(least, x / whole)
        eliminate_below(o, k, rows, cols, S)
    return least


@inline
def add_answer(front, p, nz, S, inertia, bias, load):
    """Hand what a subtree answers to z to the step p that carries it."""
    m, o = front[UNKNOWNS], front[ROW] + front[UNKNOWNS]
    for r in range(6):
        row = S[o + r]
        for c in range(6):
            inertia[p, r, c] += row[m + c]
            if nz > 6:
                bias[p, r, c] += row[m + 6 + c]
            if nz > 12:
                load[p, r, c] += row[m + 12 + c]


@routine
def put_references(block, front, own, x, before, after, S):
    """What rounding in a symmetric front is compared with: its diagonal, and what was there before inertias cancelled.

    The first column of `before` (6, 6) holds the diagonal of the inertias that the block carries, before elimination; with
    its own composite inertia, which is behind its columns in x, they become those of its parent, in `after`.
    """
    n, col0 = block[COLS], block[COL0]
    m, o, last = front[UNKNOWNS], front[ROW], S.shape[1] - 1
    for k in range(n):
        J = S[o + m + CARRIED + k, JACOBIAN : JACOBIAN + 6]
        y = 0.0
        for r in range(6):
            y += J[r] * J[r] * before[r, 0]
        S[o + own[col0 + k], last] += y
    for i in range(m):
        S[o + i, last] += abs(S[o + i, i])
    for r in range(6):
        after[r, 0] += before[r, 0] + abs(x[r, n + r])


@inline
def quadratic(J, M):
    """Jᵀ M J for a row J (6,)."""
    y = 0.0
    for r in range(6):
        x = 0.0
        for c in range(6):
            x += M[r, c] * J[c]
        y += J[r] * x
    return y


@inline
def put_diagonal(block, front, own, index, known, scale, taken, S):
    """What the pivots of a stiffness are compared with, into the last column. Returns the largest diagonal entry in scaled units.

    Where nothing was eliminated the diagonal would be that of the front plus Jᵀ E J, where E = `taken` (6, 6) is what elimination took
    from the matrices that the block carries; the two may cancel.
    """
    n, col0 = block[COLS], block[COL0]
    m, o, last = front[UNKNOWNS], front[ROW], S.shape[1] - 1
    top = 0.0
    for i in range(m):
        S[o + i, last] = S[o + i, i]
    for k in range(n):
        i = own[col0 + k]
        E = quadratic(S[o + m + CARRIED + k, JACOBIAN : JACOBIAN + 6], taken)
        v = index[front[INDEX] + i]
        if known[v] == 0:
            top = max(top, abs(S[o + i, last] + E) * scale[v] ** 2)
        S[o + i, last] = abs(S[o + i, last]) + abs(E)
    return top


@inline
def add_taken(block, front, answered, x, before, after, S):
    """E of a block and of what it carries (`before`) to that of the step that carries it: its matrix in x, less its answer, if any."""
    n, m, o = block[COLS], front[UNKNOWNS], front[ROW] + front[UNKNOWNS]
    for r in range(6):
        for c in range(6):
            after[r, c] += before[r, c] + x[r, n + c]
            if answered:
                after[r, c] -= S[o + r, m + c]


@routine
def assemble_front(t, fronts, b, x, h, places, nz, S):
    """The front of a block whose rows are in h and whose answers are in x, with what its children retain."""
    block, front = t.block[b], fronts.front[b]
    fill_front(block, front, fronts.own, x, h, places, nz, S)
    child = front[CHILD]
    while child >= 0:
        add_retained(block, front, fronts.own, fronts.front[child], fronts.up, nz, S)
        child = fronts.front[child, NEXT]


@routine
def close_front(t, fronts, b, known, scale, x, h, places, nz, S, pivot, inertia, bias, load):
    """Assemble the front of a block and eliminate it. Returns False if it is singular."""
    block, front = t.block[b], fronts.front[b]
    assemble_front(t, fronts, b, x, h, places, nz, S)
    if nz == 6:
        end = block[STEP0] + block[STEPS] - 1
        put_references(block, front, fronts.own, x, load[end], load[block[PSTEP]], S)
    if not eliminate_front(front, fronts.velocity, known, scale, nz, S, pivot):
        return False
    add_answer(front, block[PSTEP], nz, S, inertia, bias, load)
    return True


@inline
def inward(t, fronts, known, scale, b, x, S, pivot):
    """Right-hand side of one block: to its own unknowns, and what it hands towards the base."""
    block, front = t.block[b], fronts.front[b]
    n, col0 = block[COLS], block[COL0]
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    last = S.shape[1] - 1
    for k in range(n):
        J = S[o + m + CARRIED + k, JACOBIAN : JACOBIAN + 6]
        y = 0.0
        for r in range(6):
            y += J[r] * S[o + m + r, last]
        S[o + fronts.own[col0 + k], last] -= y
    for i in range(e):
        v = fronts.velocity[front[INDEX] + i]
        S[o + i, last] = 0.0 if known[v] == 1 else scale[v] * (S[o + i, last] + x[v])
    for k in range(e):
        i = pivot[front[PIVOT] + k]
        y = S[o + i, last]
        S[o + i, last] = S[o + k, last]
        S[o + k, last] = y
    for k in range(e):  # rows exchanged beforehand, as the factors below the diagonal were
        y = S[o + k, last]
        for i in range(k + 1, m):
            S[o + i, last] -= S[o + i, k] * y
        for i in range(m, m + 6):
            S[o + i, last] += S[o + i, k] * y
    above = front[ABOVE]
    if above >= 0:
        parent = fronts.front[above]
        for i in range(e, m):
            S[parent[ROW] + fronts.up[front[INDEX] + i], last] += S[o + i, last]
        q = parent[ROW] + parent[UNKNOWNS]
        for r in range(6):
            S[q + r, last] += S[o + m + r, last]


@inline
def outward(t, fronts, b, nz, x, S):
    """Unknowns of one block from the motion z of its parent, and the motion at its end."""
    block, front = t.block[b], fronts.front[b]
    n, col0 = block[COLS], block[COL0]
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    last = S.shape[1] - 1
    above = front[ABOVE]
    Z = o + m + CARRIED
    z = S[Z + n]
    if above >= 0:
        parent = fronts.front[above]
        start = S[parent[ROW] + parent[UNKNOWNS] + CARRIED + t.block[above, COLS]]
        for c in range(nz):
            z[c] = start[c]
    else:
        for c in range(nz):
            z[c] = 0.0
    for i in range(e, m):
        S[o + i, last] = x[fronts.velocity[front[INDEX] + i]]
    for i in range(e - 1, -1, -1):
        row = S[o + i]
        y = row[last]
        for c in range(nz):
            y -= row[m + c] * z[c]
        for j in range(i + 1, m):
            y -= row[j] * S[o + j, last]
        y /= row[i]
        row[last] = y
        x[fronts.velocity[front[INDEX] + i]] = y
    for k in range(n):
        row = S[Z + k]
        y = S[o + fronts.own[col0 + k], last]
        for c in range(nz):
            z[c] += row[c] * y


@routine
def solve_tree(t, fronts, known, scale, nz, S, pivot, x):
    """Solve in place with the factors that `close_front` left in the store."""
    last = S.shape[1] - 1
    for b in range(t.block.shape[0]):
        o = fronts.front[b, ROW]
        for i in range(o, o + fronts.front[b, UNKNOWNS] + CARRIED):
            S[i, last] = 0.0
    for b in range(t.block.shape[0] - 1, -1, -1):
        inward(t, fronts, known, scale, b, x, S, pivot)
    for b in range(t.block.shape[0]):
        outward(t, fronts, b, nz, x, S)


# ---------------------------------------------------------------- with the transposed matrix


@inline
def outward_back(t, fronts, b, nz, x, S):
    """`outward` transposed: what the motion at the end of a block and its unknowns are owed becomes what its right-hand side is, in the last column."""
    block, front = t.block[b], fronts.front[b]
    n, col0 = block[COLS], block[COL0]
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    last = S.shape[1] - 1
    Z = o + m + CARRIED
    z = S[Z + n]
    for k in range(n):
        row = S[Z + k]
        y = 0.0
        for c in range(nz):
            y += row[c] * z[c]
        S[o + fronts.own[col0 + k], last] += y
    for i in range(e):
        row = S[o + i]
        y = (row[last] + x[fronts.velocity[front[INDEX] + i]]) / row[i]
        row[last] = y
        if y != 0.0:
            for c in range(nz):
                z[c] -= row[m + c] * y
            for j in range(i + 1, m):
                S[o + j, last] -= row[j] * y
    for i in range(e, m):
        x[fronts.velocity[front[INDEX] + i]] += S[o + i, last]
    above = front[ABOVE]
    if above >= 0:
        parent = fronts.front[above]
        end = S[parent[ROW] + parent[UNKNOWNS] + CARRIED + t.block[above, COLS]]
        for c in range(nz):
            end[c] += z[c]


@inline
def inward_back(t, fronts, known, scale, b, x, S, pivot):
    """`inward` transposed, from what the block nearer to the base has left."""
    block, front = t.block[b], fronts.front[b]
    n, col0 = block[COLS], block[COL0]
    m, e, o = front[UNKNOWNS], front[ELIMINATED], front[ROW]
    last = S.shape[1] - 1
    above = front[ABOVE]
    if above >= 0:
        parent = fronts.front[above]
        for i in range(e, m):
            S[o + i, last] = S[parent[ROW] + fronts.up[front[INDEX] + i], last]
        for r in range(6):
            S[o + m + r, last] = S[parent[ROW] + parent[UNKNOWNS] + r, last]
    else:
        for i in range(m + 6 - e):
            S[o + e + i, last] = 0.0
    for k in range(e - 1, -1, -1):
        y = S[o + k, last]
        for i in range(k + 1, m):
            y -= S[o + i, k] * S[o + i, last]
        for i in range(m, m + 6):
            y += S[o + i, k] * S[o + i, last]
        S[o + k, last] = y
    for k in range(e - 1, -1, -1):
        i = pivot[front[PIVOT] + k]
        y = S[o + i, last]
        S[o + i, last] = S[o + k, last]
        S[o + k, last] = y
    for i in range(e):
        v = fronts.velocity[front[INDEX] + i]
        y = 0.0 if known[v] == 1 else scale[v] * S[o + i, last]
        S[o + i, last] = y
        x[v] = y
    for k in range(n):
        y = S[o + fronts.own[col0 + k], last]
        J = S[o + m + CARRIED + k, JACOBIAN : JACOBIAN + 6]
        for r in range(6):
            S[o + m + r, last] -= J[r] * y


@routine
def solve_tree_transposed(t, fronts, known, scale, nz, S, pivot, x):
    """Solve with the transposed matrix in place: the steps of `solve_tree` in the opposite order, each transposed."""
    last = S.shape[1] - 1
    for b in range(t.block.shape[0]):
        front = fronts.front[b]
        o = front[ROW]
        for i in range(o, o + front[UNKNOWNS]):
            S[i, last] = 0.0
        z = S[o + front[UNKNOWNS] + CARRIED + t.block[b, COLS]]
        for c in range(nz):
            z[c] = 0.0
    for b in range(t.block.shape[0] - 1, -1, -1):
        outward_back(t, fronts, b, nz, x, S)
    for b in range(t.block.shape[0]):
        inward_back(t, fronts, known, scale, b, x, S, pivot)
