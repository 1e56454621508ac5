"""The one interface of loads that act on steps: a wrench at a point with its derivatives, written down in point coordinates.

A load says, for a point x that is fixed to a step: the moment M about x and the force F in world axes; the matrix A
of their derivatives with respect to (δθ, δx), the rotation of the step and the displacement of x, at constant angular
velocity ω and velocity ẋ; and the matrix B of their derivatives with respect to (ω, ẋ). The recursion of MATH §3
expects the derivative beyond a wrench that turns with the body, as ``K J + N R`` at the common origin:

``K = A − B C + [[M̂, 0], [F̂, 0]]``, ``C = [[ω̂, 0], [ẋ^, 0]]``, ``N = B``, then moved from x to the origin.

A load between two steps i and j (a contact, a stretch of cable) acts on i with (M, F) and on j with the opposite; A
and B are derivatives with respect to the *relative* motion, seen from j. Then ``C = [[ω̂ᵢ, 0], [ẋᵢ^, ω̂ⱼ]]`` and,
with ``G = A − B C + [[0, −F̂], [0, 0]]``, ``δf = ad̄*_f δⱼ + G (δᵢ − δⱼ) + B (rᵢ − rⱼ)``.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.dual import get3, get9, mv, vadd, vcross
from ..layout import COL0, COLS, FW, KIND, PARENT, PE, RE, ROD, S_BLOCK, S_PHI, VE, W_PLANE

N0, N1, N3 = (
    np.int64(0),
    np.int64(1),
    np.int64(3),
)  # as arguments: a Python int would make numba compile a copy per value


@routine
def point_at(row, own):
    """Position, relative to the moving origin, of the point that is at `own` in the frame of a step."""
    return vadd(get3(row, PE), mv(get9(row, RE), own))


@routine
def velocity_at(row, x):
    """Velocity of the point x of a step."""
    return vadd(get3(row, VE + 3), vcross(get3(row, VE), x))


@inline
def unit_vector(k, one):
    """A unit vector; zero for k outside 0, 1, 2."""
    zero = 0.0 * one
    return (one if k == 0 else zero, one if k == 1 else zero, one if k == 2 else zero)


@routine
def subtract_wrench(row, x, M, F):
    """An applied wrench (M about x, F): subtract it from a step's own inertial wrench."""
    m = vadd(M, vcross(x, F))
    for c in range(3):
        row[FW + c] -= m[c]
        row[FW + 3 + c] -= F[c]


@routine
def subtract_shifted(dst, P, x):
    """dst −= TᵀPT with T = [[1, 0], [−x̂, 1]]: a matrix between twists and wrenches at x, moved to the origin. P changes."""
    for r in range(6):
        b = (P[r, 3], P[r, 4], P[r, 5])
        y = vcross(x, b)
        for c in range(3):
            P[r, c] += y[c]
    for c in range(6):
        y = vcross(x, (P[3, c], P[4, c], P[5, c]))
        for r in range(3):
            dst[r, c] -= P[r, c] + y[r]
            dst[3 + r, c] -= P[3 + r, c]


@routine
def relative_stiffness(A, B, w, v, wj):
    """A becomes A − B C with C = [[ŵ, 0], [v̂, ŵⱼ]]."""
    for r in range(6):
        b1 = (B[r, 0], B[r, 1], B[r, 2])
        b2 = (B[r, 3], B[r, 4], B[r, 5])
        y = vadd(vcross(b1, w), vcross(b2, v))
        z = vcross(b2, wj)
        for c in range(3):
            A[r, c] -= y[c]
            A[r, 3 + c] -= z[c]


@routine
def add_hat(P, r0, c0, s, x):
    """P[r0:r0+3, c0:c0+3] += s x̂."""
    P[r0, c0 + 1] -= s * x[2]
    P[r0, c0 + 2] += s * x[1]
    P[r0 + 1, c0] += s * x[2]
    P[r0 + 1, c0 + 2] -= s * x[0]
    P[r0 + 2, c0] -= s * x[1]
    P[r0 + 2, c0 + 1] += s * x[0]


@routine
def subtract_law(work, i, x, M, F, A, B):
    """A load on step i, at the point x of it, into the matrices K and N of the step. A and B change."""
    row = work.state[i]
    w = get3(row, VE)
    v = vadd(get3(row, VE + 3), vcross(w, x))
    relative_stiffness(A, B, w, v, (0.0, 0.0, 0.0))
    add_hat(A, N0, N0, 1.0, M)
    add_hat(A, N3, N0, 1.0, F)
    subtract_shifted(work.load[i], A, x)
    subtract_shifted(work.bias[i], B, x)


@routine
def pair_stiffness(work, i, j, x, F, A, B):
    """A becomes G of a load between steps i and j (−1: the world)."""
    row = work.state[i]
    other = work.state[j]
    w = get3(row, VE)
    v = vadd(get3(row, VE + 3), vcross(w, x))
    relative_stiffness(A, B, w, v, get3(other, VE))
    add_hat(A, N0, N3, -1.0, F)


@routine
def copy6(src, dst):
    """dst = src, 6×6."""
    for r in range(6):
        for c in range(6):
            dst[r, c] = src[r, c]


@routine
def subtract_pair(work, i, j, x, M, F, A, B, spare):
    """The parts of a load between two steps that concern one of them alone. A and B change."""
    pair_stiffness(work, i, j, x, F, A, B)
    if j >= 0:
        copy6(A, spare)
        subtract_shifted(work.load[j], spare, x)
        copy6(B, spare)
        subtract_shifted(work.bias[j], spare, x)
    if i >= 0:
        # − ad̄*_f = [[M̂, F̂], [F̂, 0]]
        add_hat(A, N0, N0, 1.0, M)
        add_hat(A, N0, N3, 1.0, F)
        add_hat(A, N3, N0, 1.0, F)
        subtract_shifted(work.load[i], A, x)
        subtract_shifted(work.bias[i], B, x)


@routine
def add_transposed_product(scale, L, P, X, out):
    """out += scale · Lᵀ P X for (6, n) matrices L and X; rows and columns where they vanish are skipped."""
    n = out.shape[0]
    for i in range(n):
        l0, l1, l2, l3, l4, l5 = L[0, i], L[1, i], L[2, i], L[3, i], L[4, i], L[5, i]
        if l0 == 0.0 and l1 == 0.0 and l2 == 0.0 and l3 == 0.0 and l4 == 0.0 and l5 == 0.0:
            continue
        row = out[i]
        for c in range(6):
            e = l0 * P[0, c] + l1 * P[1, c] + l2 * P[2, c] + l3 * P[3, c] + l4 * P[4, c] + l5 * P[5, c]
            if e != 0.0:
                e *= scale
                x = X[c]
                for k in range(n):
                    row[k] += e * x[k]


@routine
def clear_laws(A, B):
    """Zero two 6×6 matrices."""
    for r in range(6):
        for c in range(6):
            A[r, c] = 0.0
            B[r, c] = 0.0


@routine
def add_cross_terms(work, i, j, x, M, F, A, B, spare, cq, columns, out):
    """The parts of the tangent that couple the two steps of a load between them. A and B change.

    columns (4, 6, nv): J of i, J of j, and the mixed columns cq R + cv J of i and j, at the origin.
    """
    pair_stiffness(work, i, j, x, F, A, B)
    # rows of i: −(ad̄*_f − G) δⱼ + B rⱼ; rows of j: G δᵢ + B rᵢ; moved to the origin
    clear_laws(spare, work.law[3])
    moved = work.law[3]
    copy6(A, spare)
    subtract_shifted(moved, spare, x)
    add_transposed_product(-cq, columns[1], moved, columns[0], out)
    add_hat(A, N0, N0, 1.0, M)
    add_hat(A, N0, N3, 1.0, F)
    add_hat(A, N3, N0, 1.0, F)
    clear_laws(spare, moved)
    subtract_shifted(moved, A, x)
    add_transposed_product(-cq, columns[0], moved, columns[1], out)
    clear_laws(spare, moved)
    subtract_shifted(moved, B, x)
    add_transposed_product(-1.0, columns[0], moved, columns[3], out)
    add_transposed_product(-1.0, columns[1], moved, columns[2], out)


# ---------------------------------------------------------------- generalised coordinates


@routine
def step_columns(t, work, i, J, R):
    """Columns J and R of a step in the order of velocities; zero for the world."""
    for r in range(6):
        for k in range(J.shape[1]):
            J[r, k] = 0.0
            R[r, k] = 0.0
    if i < 0:
        return
    b = t.step[i, S_BLOCK]
    block = t.block[b]
    if block[KIND] == ROD:
        n = block[COLS]
        o = 2 * t.step[i, S_PHI]
        for k in range(n):
            col = t.col_v[block[COL0] + k]
            for r in range(6):
                J[r, col] += work.wide1[r, o + n + k]
                R[r, col] += work.wide1[r, o + k]
        b = block[PARENT]
    while b >= 0:
        block = t.block[b]
        for k in range(block[COL0], block[COL0] + block[COLS]):
            col = t.col_v[k]
            for r in range(6):
                J[r, col] += work.ends[0, r, k]
                R[r, col] += work.ends[1, r, k]
        b = block[PARENT]


@routine
def acceleration_columns(t, work, i, W):
    """Mixed columns cq W + cv Y of a step, as `step_columns` (after `rod_columns` with nm = 1); zero for the world."""
    for r in range(6):
        for k in range(W.shape[1]):
            W[r, k] = 0.0
    if i < 0:
        return
    b = t.step[i, S_BLOCK]
    block = t.block[b]
    if block[KIND] == ROD:
        o = 3 * t.step[i, S_PHI]
        for k in range(block[COLS]):
            col = t.col_v[block[COL0] + k]
            for r in range(6):
                W[r, col] += work.wide2[r, o + k]
        b = block[PARENT]
    while b >= 0:
        block = t.block[b]
        for k in range(block[COL0], block[COL0] + block[COLS]):
            col = t.col_v[k]
            for r in range(6):
                W[r, col] += work.ends[W_PLANE, r, k]
        b = block[PARENT]


@routine
def pair_columns(t, work, i, j, out):
    """J of steps i and j, and the mixed columns cq R + cv J of both (after `rod_columns`), at the origin."""
    step_columns(t, work, i, out[0], out[2])
    step_columns(t, work, j, out[1], out[3])


@routine
def add_projection(t, work, i, x, M, F, out):
    """out (nv,) += Jᵀ (M about x, F) for the point x of step i."""
    if i < 0:
        return
    step_columns(t, work, i, work.columns[0], work.columns[1])
    J = work.columns[0]
    m0, m1, m2 = M[0] + x[1] * F[2] - x[2] * F[1], M[1] + x[2] * F[0] - x[0] * F[2], M[2] + x[0] * F[1] - x[1] * F[0]
    for k in range(out.shape[0]):
        out[k] += m0 * J[0, k] + m1 * J[1, k] + m2 * J[2, k] + F[0] * J[3, k] + F[1] * J[4, k] + F[2] * J[5, k]
