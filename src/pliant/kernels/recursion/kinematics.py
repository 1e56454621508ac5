"""Poses, Jacobians, momentum and energy, read off the forward recursion."""

import numpy as np

from ..._jit import kernel, routine
from ..algebra.dual import get3, get6, get9, mv, put3, put6, put9, rotate, rotate_back, vadd, vcross, vdot, vscale
from ..layout import (
    AE,
    COL0,
    COLLOC,
    COLS,
    D_C,
    D_COM,
    D_H,
    D_MASS,
    D_ROT,
    KIND,
    MASSLESS,
    PARENT,
    PE,
    PS,
    PSTEP,
    RE,
    RIGID,
    ROD,
    RS,
    S_BLOCK,
    S_INERTIA,
    S_PHI,
    STEP0,
    VE,
)
from .blocks import all_columns
from .composite import all_jacobians
from .dynamics import dual_dot, general_mv, sym_mv
from .forward import forward, rod_step, strains
from .spectral import THREE, spectral_point

PLAIN = np.int64(0)


@routine
def store_motion(origin, R, p, V, A, pose, twist, accel):
    """Write one row: pose in the world; twist and acceleration in world axes at the moving origin."""
    put9(pose, 0, R)
    put3(pose, 9, vadd(p, get3(origin, 0)))
    put6(twist, 0, V)
    put6(accel, 0, A)


@kernel
def motion(t, work, q, v, a, pose, twist, accel):
    """Motion of the end of every step; the last row is the world.

    `pose` (steps + 1, 12): rotation by rows, position. `twist`, `accel` (steps + 1, 6): world axes, at the
    point `work.origin`; the acceleration includes −gravity.
    """
    forward(t, q, v, a, work)
    for i in range(t.step.shape[0] + 1):
        row = work.state[i]
        store_motion(
            work.origin,
            get9(row, RE),
            get3(row, PE),
            get6(row, VE),
            get6(row, AE),
            pose[i],
            twist[i],
            accel[i],
        )


@kernel
def probe(t, work, steps, data, phi, pose, twist, accel):
    """Motion at points inside rod steps; call after `motion`, same outputs.

    `steps` (m,): the step each point lies in. `data` (m, ≥14): h, c, ξ*₁, ξ*₂ of the part of the step up to the point.
    `phi` (m, 2, n): basis values at its two nodes, for the columns of the step's block. On spectral rods `phi` (m, 2, ≥ steps of the
    block) holds the point's row of W instead, and `data` is not read.
    """
    row = np.zeros(work.state.shape[1])
    for k in range(steps.shape[0]):
        i = steps[k]
        block = t.block[t.step[i, S_BLOCK]]
        if block[COLLOC] >= 0:
            base = work.state[block[STEP0]]
            before = work.state[block[PSTEP]]
            R, p, V, A = spectral_point(
                block, work.state, phi[k, 0], get9(base, RS), get3(base, PS), get6(before, VE), get6(before, AE)
            )
            store_motion(work.origin, R, p, V, A, pose[k], twist[k], accel[k])
            continue
        start = work.state[i]
        before = work.state[i - 1] if i > block[STEP0] else work.state[block[PSTEP]]
        strains(phi[k], 0, block, data[k], work.cols, block[COL0], row)
        R, p, V, A = rod_step(
            row,
            data[k, D_H],
            data[k, D_C],
            get9(start, RS),
            get3(start, PS),
            get6(before, VE),
            get6(before, AE),
        )
        store_motion(work.origin, R, p, V, A, pose[k], twist[k], accel[k])


@routine
def path_columns(t, b, plane, out):
    """Add the columns of block b and of its ancestors at their ends."""
    while b >= 0:
        block = t.block[b]
        for k in range(block[COL0], block[COL0] + block[COLS]):
            for r in range(6):
                out[r, t.col_v[k]] += plane[r, k]
        b = block[PARENT]


@routine
def frame_columns(t, i, plane, wide, scale, shift, out):
    """Columns at the end of step i, in velocity order.

    `plane` holds each block's columns at its end; `wide` those of rod steps, step i's from column
    scale·(first column) + shift·n.
    """
    for r in range(6):
        for k in range(out.shape[1]):
            out[r, k] = 0.0
    if i < 0:
        return
    b = t.step[i, S_BLOCK]
    block = t.block[b]
    if block[KIND] == ROD:
        n = block[COLS]
        o = scale * t.step[i, S_PHI] + shift * n
        for k in range(n):
            for r in range(6):
                out[r, t.col_v[block[COL0] + k]] += wide[r, o + k]
        b = block[PARENT]
    path_columns(t, b, plane, out)


@kernel
def jacobian(t, work, q, i, out):
    """Jacobian of the end of step i: world axes, at `work.origin`; out (6, nv)."""
    forward(t, q, work.zero, work.zero, work)
    all_jacobians(t, work)
    frame_columns(t, i, work.ends[0], work.wide1, 1, 0, out)


@kernel
def frame_derivatives(t, work, q, v, a, i, out):
    """J, R, W, Y of MATH §3 at the end of step i; out (4, 6, nv), world axes, at `work.origin`."""
    forward(t, q, v, a, work)
    all_columns(t, work, THREE, 1.0, 0.0, 0.0)
    frame_columns(t, i, work.ends[0], work.wide1, 2, 1, out[0])
    frame_columns(t, i, work.ends[1], work.wide1, 2, 0, out[1])
    frame_columns(t, i, work.ends[2], work.wide2, 3, 0, out[2])
    frame_columns(t, i, work.ends[3], work.wide2, 3, 1, out[3])


@routine
def momentum_of(kind, data, R, p, V):
    """Momentum (dual form, at the origin), mass and mass × centre of one step's inertia."""
    if kind == RIGID:
        m = data[D_MASS]
        c = vadd(p, mv(R, get3(data, D_COM)))
        f = vscale(m, vadd(V[1], vcross(V[0], c)))
        w = rotate_back(R, p, V)[0]
        spin = mv(R, sym_mv(data, D_ROT, w))
        return (f, vadd(spin, vcross(c, f))), m, vscale(m, c)
    h = rotate(R, p, general_mv(data, rotate_back(R, p, V)))
    m = data[D_MASS]  # dry, without the added mass of a fluid
    return h, m, vscale(m, vadd(p, mv(R, get3(data, D_COM))))


@routine
def totals(t, work, q, v, out):
    """Mass, mass × centre, linear and angular momentum about the world's origin, kinetic and gravitational energy.

    out (12,): m | m c (3) | linear (3) | angular (3) | kinetic | potential; the potential is zero for a centre
    of mass at the world's origin.
    """
    forward(t, q, v, work.zero, work)
    origin = get3(work.origin, 0)
    for k in range(12):
        out[k] = 0.0
    for i in range(t.step.shape[0]):
        kind = t.step[i, S_INERTIA]
        if kind != MASSLESS:
            row = work.state[i]
            V = get6(row, VE)
            h, m, mc = momentum_of(kind, t.data[i], get9(row, RE), get3(row, PE), V)
            mc = vadd(mc, vscale(m, origin))
            angular = vadd(h[1], vcross(origin, h[0]))
            out[0] += m
            for c in range(3):
                out[1 + c] += mc[c]
                out[4 + c] += h[0][c]
                out[7 + c] += angular[c]
            out[10] += 0.5 * dual_dot(V, h)
            out[11] -= vdot(get3(t.gravity, 0), mc)


@kernel
def compute_totals(t, work, q, v, out):
    """`totals` as an entry from Python."""
    totals(t, work, q, v, out)
