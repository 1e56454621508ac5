"""Matrices of the equation of motion by one composite recursion: Coriolis, drag and weight ([001] eqs. 31 to 35, [003] eq. 38).

Each is a sum over the steps, ``Σ Jᵀ (P J + Q J̇)``, with two 6×6 matrices P and Q of the step at the common origin:

| task | P | Q | the sum |
|---|---|---|---|
| CORIOLIS | N/2 | I | C with Ṁ − 2C skew |
| FIRST | ad*_V I | 0 | C₁ of [001] |
| SECOND | −I ad_V | I | C₂ of [001] |
| DRAG | D₁ + ‖v‖ D₂ | 0 | drag |
| WEIGHT | dry mass less displaced mass | 0 | Σ Jᵀ P, (nv, 6): weight and buoyancy per unit of gravity |

P and Q of the subtree that a step carries add up in the pass of `rows`; where Q is zero it sums P alone. J̇ is seen from the world, ``ṡ = ad_Vp s + Ad Ṡ`` summed
along the path (MATH §3).
"""

import numpy as np

from ..._jit import inline, kernel, routine
from ..algebra.dual import (
    ad_dm,
    dcross,
    dm_ad,
    dmadd,
    dmaxpy,
    dmscale,
    dscale,
    get3,
    get6,
    get9,
    madd,
    mscale,
    mv,
    rotate,
    rotate_dm,
    vadd,
    vcross,
    vdot,
)
from ..algebra.exponential import tangent_coefficients, tangent_matrix, tangent_rate_matrix
from ..groups import unpack_tables, unpack_work
from ..layout import (
    COL0,
    COLLOC,
    COLS,
    D_AXIS,
    D_C,
    D_COM,
    D_H,
    D_MASS,
    FW,
    IN_ORDER,
    J_PLANE,
    KIND,
    MASSLESS,
    NO,
    OP_R,
    OP_S,
    PE,
    PS,
    PSTEP,
    R_PLANE,
    RE,
    ROD,
    RS,
    S_INERTIA,
    S_PHI,
    SCREW,
    STEP0,
    STEPS,
    VE,
    XD1,
    XD2,
    XI1,
    XI2,
)
from ..loads.law import add_hat, subtract_shifted
from ..loads.water import (
    F_DRAG,
    F_STEP,
    W_CENTRE,
    W_LINEAR,
    W_MASS,
    W_SQUARE,
    apply_water,
    frame_of,
    put_rotated,
    relative_twist,
    unpack_water,
)
from .columns import copy_columns, fill, put_column, put_pair, unit_twist
from .dynamics import backward, scatter
from .forward import forward, magnus
from .inertia import block9, point_inertias
from .products import SIX, THREE, ZERO, clear
from .rows import Place, Terms, block_rows, clear_columns, distribute, hand_over, scatter_matrix
from .spectral import spectral_columns
from .tangent import BOTH_HALVES

CORIOLIS, FIRST, SECOND, DRAG, WEIGHT = (np.int64(k) for k in range(5))
ONE, TWO = np.int64(1), np.int64(2)
# in `wide1` [J̇ | J], and in the planes of `ends`
RATE = Place(TWO, ZERO, R_PLANE)
BESIDE_RATE = Place(TWO, ONE, J_PLANE)


# ---------------------------------------------------------------- J and J̇ of every step


@routine
def rate_operators(row, h, c, Vp, op):
    """S and Ṡ of a rod step as operators on the basis values of its two nodes, at op[OP_S] and op[OP_R]."""
    omega, rate, _accel, _extra = magnus(row, h, c)
    ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
    R = get9(row, RS)
    p = get3(row, PS)
    T = rotate_dm(R, p, tangent_matrix(omega, ca, cb))
    Td = dmadd(ad_dm(Vp, T), rotate_dm(R, p, tangent_rate_matrix(omega, rate, ca, cb, a1, b1)))
    half = 0.5 * h
    if c == 0.0:
        s = dmscale(half, T)
        put_pair(op, OP_S, s, s)
        s = dmscale(half, Td)
        put_pair(op, OP_R, s, s)
        return
    x1 = dscale(c, get6(row, XI1))
    x2 = dscale(-c, get6(row, XI2))
    put_pair(op, OP_S, dmaxpy(half, T, dm_ad(T, x2)), dmaxpy(half, T, dm_ad(T, x1)))
    y1 = dm_ad(T, dscale(c, get6(row, XD1)))
    y2 = dm_ad(T, dscale(-c, get6(row, XD2)))
    put_pair(op, OP_R, dmaxpy(half, Td, dmadd(dm_ad(Td, x2), y2)), dmaxpy(half, Td, dmadd(dm_ad(Td, x1), y1)))


@routine
def rod_rates(block, step, data, phi, state, op_all, wide, J, rate):
    """Columns [J̇ | J] of all steps of a rod block, accumulated along it in `wide`, and at its end."""
    n = block[COLS]
    first = block[STEP0]
    prev = -1
    Vp = get6(state[block[PSTEP]], VE)
    for i in range(first, first + block[STEPS]):
        op = op_all[i]
        rate_operators(state[i], data[i, D_H], data[i, D_C], Vp, op)
        Vp = get6(state[i], VE)
        o = step[i, S_PHI]
        so = 2 * prev
        if prev < 0:
            so = -3 * n
        fill(op, OP_R, phi, o, block, wide, so, wide, 2 * o)
        fill(op, OP_S, phi, o, block, wide, so + n, wide, 2 * o + n)
        prev = o
    copy_columns(wide, 2 * prev + n, J, block[COL0], n)
    copy_columns(wide, 2 * prev, rate, block[COL0], n)


@routine
def joint_rates(block, data, state, J, rate):
    """Columns s and ṡ of a joint: the axis of a screw moves with the parent, those of a manifold joint with the body."""
    i = block[STEP0]
    row = state[i]
    for k in range(block[COLS]):
        if block[KIND] == SCREW:
            s = rotate(get9(row, RS), get3(row, PS), get6(data[i], D_AXIS))
            V = get6(state[block[PSTEP]], VE)
        else:
            s = rotate(get9(row, RE), get3(row, PE), unit_twist(k))
            V = get6(row, VE)
        put_column(J, block[COL0] + k, s)
        put_column(rate, block[COL0] + k, dcross(V, s))


# ---------------------------------------------------------------- P and Q of every step


@routine
def coadjoint_product(V, M, out):
    """out = ad*_V M, ad*_V = [[ŵ, v̂], [0, ŵ]]; out may be M."""
    w, v = V
    for c in range(6):
        m = (M[0, c], M[1, c], M[2, c])
        f = (M[3, c], M[4, c], M[5, c])
        top = vadd(vcross(w, m), vcross(v, f))
        low = vcross(w, f)
        for r in range(3):
            out[r, c] = top[r]
            out[3 + r, c] = low[r]


@routine
def adjoint_product(V, M, out):
    """out = −M ad_V for a symmetric M: the transpose of ad*_V M."""
    w, v = V
    for r in range(6):
        m = (M[r, 0], M[r, 1], M[r, 2])
        f = (M[r, 3], M[r, 4], M[r, 5])
        left = vadd(vcross(w, m), vcross(v, f))
        right = vcross(w, f)
        for c in range(3):
            out[r, c] = left[c]
            out[r, 3 + c] = right[c]


@routine
def inertial_pairs(t, work, task):
    """P and Q of CORIOLIS and SECOND; of FIRST, whose Q is zero, P in the place of Q."""
    point_inertias(t.step, t.data, work.gravity, work.state, work.inertia, work.bias, work.load)
    for i in range(t.step.shape[0]):
        if t.step[i, S_INERTIA] == MASSLESS:
            continue
        P = work.bias[i]
        Q = work.inertia[i]
        if task == CORIOLIS:
            for r in range(6):
                for c in range(6):
                    P[r, c] *= 0.5
        elif task == FIRST:
            coadjoint_product(get6(work.state[i], VE), Q, Q)
        else:
            adjoint_product(get6(work.state[i], VE), Q, P)


@routine
def add_weight(P, mass, x):
    """P += mass [[0, x̂], [0, 1]]: wrench at the origin of a mass at x in a field of unit accelerations."""
    add_hat(P, ZERO, THREE, mass, x)
    for c in range(3):
        P[3 + c, 3 + c] += mass


@routine
def drag_pairs(t, work, water, task):
    """P of DRAG and WEIGHT, whose Q is zero, in the place of Q."""
    for i in range(work.inertia.shape[0]):
        clear(work.inertia[i], SIX, SIX)
    current = get3(water.fluid, ZERO)
    if task == WEIGHT:
        for i in range(t.step.shape[0]):
            if t.step[i, S_INERTIA] != MASSLESS:
                row = work.state[i]
                data = t.data[i]
                add_weight(work.inertia[i], data[D_MASS], vadd(get3(row, PE), mv(get9(row, RE), get3(data, D_COM))))
    for k in range(water.place.shape[0]):
        i = water.place[k, F_STEP]
        row = work.state[i]
        data = water.data[k]
        R, x = frame_of(row, data)
        if task == WEIGHT:
            add_weight(work.inertia[i], -data[W_MASS], vadd(x, mv(R, get3(data, W_CENTRE))))
        elif water.place[k, F_DRAG] != 0:
            _w, v = relative_twist(row, R, x, current)
            s = np.sqrt(vdot(v, v))
            B = work.law[0]
            for a in range(2):
                for b in range(2):
                    o = 18 * a + 3 * b
                    D = madd(block9(data, W_LINEAR + o), mscale(s, block9(data, W_SQUARE + o)))
                    put_rotated(B, 3 * a, 3 * b, R, mscale(-1.0, D))
            subtract_shifted(work.inertia[i], B, x)


# ---------------------------------------------------------------- the recursion


@inline
def pair_terms(rates):
    """What the pass sums: P J + Q J̇, or without rates Q J."""
    if rates:
        return Terms(ONE, 0.0, BOTH_HALVES, NO, NO, NO, BESIDE_RATE, RATE)
    return Terms(ONE, 0.0, ZERO, NO, NO, NO, BESIDE_RATE, BESIDE_RATE)


@routine
def products(t, work, water, task, q, v, out, handles):
    """The matrix of a task in out[0] (nv, nv), which must be zero where no block couples to another; Σ JᵀP in `handles`.

    `out` is not touched by the task WEIGHT.
    """
    forward(t, q, v, work.zero, work)
    if task in (CORIOLIS, FIRST, SECOND):
        inertial_pairs(t, work, task)
    else:
        drag_pairs(t, work, water, task)
    for b in range(t.block.shape[0]):
        block = t.block[b]
        if block[COLLOC] >= 0:
            spectral_columns(  # for collocation R is J̇
                block,
                t.step,
                t.phi,
                t.colloc,
                work.state,
                work.nodes,
                work.wide1,
                work.wide2,
                work.ends,
                ONE,
                1.0,
                0.0,
                0.0,
            )
        elif block[KIND] == ROD:
            rod_rates(
                block, t.step, t.data, t.phi, work.state, work.op, work.wide1, work.ends[J_PLANE], work.ends[R_PLANE]
            )
        else:
            joint_rates(block, t.data, work.state, work.ends[J_PLANE], work.ends[R_PLANE])
    clear(handles, handles.shape[0], handles.shape[1])
    terms = pair_terms(task in (CORIOLIS, SECOND))
    target = out if t.flags[IN_ORDER] != 0 else work.out
    clear_columns(t, work, ONE)
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        block_rows(t, work, block, terms, work.wide1, work.wide1)
        hand_over(work, block, terms)
        n = block[COLS]
        for k in range(n):
            for c in range(6):
                handles[t.col_v[block[COL0] + k], c] += work.h[k, n + c]
        if task != WEIGHT:
            distribute(t, work, block, terms, target)
    if task != WEIGHT and t.flags[IN_ORDER] == 0:
        scatter_matrix(t, work.out[0], out[0])


@kernel("i1 f1 f1 n n f1 f1 f3 f2")
def composite_products(ints, floats, buffer, first, task, q, v, out, handles):
    """`products` from Python: `out` (1, nv, nv), `handles` (nv, 6); `first`: where the header has the tables of water.

    A complex buffer, q and v give complex matrices.
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    products(t, work, unpack_water(ints, floats, first), task, q, v, out, handles)


@kernel("i1 f1 f1 n f1 f1 f1")
def fluid_forces(ints, floats, buffer, first, q, v, out):
    """Minus all generalised forces of the fluid, (nv,); added mass, which is inertia, only as far as a current changes it."""
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    forward(t, q, v, work.zero, work)
    for i in range(work.state.shape[0]):
        for c in range(6):
            work.state[i, FW + c] = 0.0
    apply_water(t, work, unpack_water(ints, floats, first), (), q, v, work.zero, work.tau)
    backward(t, work, work.tau)
    scatter(t, work.tau, out)
