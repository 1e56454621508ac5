"""Poses, Jacobians, momentum and energy, read off the forward recursion."""

from ..._jit import kernel, routine
from ..algebra.dual import (
    get3,
    get6,
    get9,
    mm,
    mtv,
    mv,
    put3,
    put6,
    put9,
    rotate,
    rotate_back,
    vadd,
    vcross,
    vdot,
    vscale,
)
from ..groups import unpack_tables, unpack_work
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
    NO,
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
from .forward import forward, place_steps, rod_step, strains
from .spectral import THREE, spectral_point


@routine
def frame_pose(row, place):
    """Rotation and position, relative to the moving origin, of a frame at `place` (12,) in the end frame of a step."""
    R = get9(row, RE)
    return mm(R, get9(place, 0)), vadd(get3(row, PE), mv(R, get3(place, 9)))


@routine
def at_frame(p, X):
    """A twist (w, v) at the moving origin in world axes, seen at the point p."""
    return X[0], vadd(X[1], vcross(X[0], p))


@routine
def in_axes(world, R, X):
    """A twist in world axes, or in those of the frame."""
    if world:
        return X
    return mtv(R, X[0]), mtv(R, X[1])


@routine
def put_pose(out, origin, R, p):
    """Write a pose in the world as a 4×4 matrix."""
    x = vadd(p, get3(origin, 0))
    for r in range(3):
        for c in range(3):
            out[r, c] = R[3 * r + c]
        out[r, 3] = x[r]
        out[3, r] = 0.0
    out[3, 3] = 1.0


@kernel("i1 f1 f1 f2 f2 f2 n f1 b f3 f2 f2")
def frame_motions(ints, floats, buffer, q, v, a, step, place, world, pose, twist, accel):
    """Motion of one frame in m states: a row of q (m, nq), v and a (m, nv) each; v and a may have no rows, which is rest.

    The frame is at `place` (12,: rotation by rows, position) in the end frame of a step. `pose` (m, 4, 4), and unless they
    have no rows `twist` and `accel` (m, 6), the latter without gravity; in world axes at the frame's own point if `world`, else in
    the frame's axes.
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    still = twist.shape[0] == 0 and accel.shape[0] == 0 and t.colloc.shape[0] == 0
    blocks = t.step[step, S_BLOCK] + 1 if step >= 0 else 0
    for k in range(q.shape[0]):
        if still:
            place_steps(t, q[k], blocks, work)
        else:
            forward(t, q[k], v[k] if v.shape[0] > 0 else work.zero, a[k] if a.shape[0] > 0 else work.zero, work)
        row = work.state[step]
        R, p = frame_pose(row, place)
        put_pose(pose[k], work.origin, R, p)
        V = get6(row, VE)
        if twist.shape[0] > 0:
            put6(twist[k], 0, in_axes(world, R, at_frame(p, V)))
        if accel.shape[0] > 0:
            A = get6(row, AE)
            A = at_frame(p, (A[0], vadd(A[1], get3(work.gravity, 0))))
            if world:  # the second derivative of the position, not that of the twist
                A = A[0], vadd(A[1], vcross(V[0], at_frame(p, V)[1]))
            put6(accel[k], 0, in_axes(world, R, A))


@kernel("i1 f1 f1 f1 f2")
def step_poses(ints, floats, buffer, q, pose):
    """Poses in the world of the ends of all steps, (steps + 1, 12): rotation by rows, position; the last is the world."""
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    forward(t, q, work.zero, work.zero, work)
    for i in range(t.step.shape[0] + 1):
        put9(pose[i], 0, get9(work.state[i], RE))
        put3(pose[i], 9, vadd(get3(work.state[i], PE), get3(work.origin, 0)))


@kernel("i1 f1 f1 f1 f1 i1 f2 f3 f1 f3 f2")
def rod_motions(ints, floats, buffer, q, v, steps, data, phi, strain, pose, twist):
    """Motion at m points inside rod steps: `pose` (m, 4, 4) in the world, `twist` (m, 6) in the axes of each.

    `steps` (m,): the step each point lies in. `data` (m, ≥14): h, c, ξ*₁, ξ*₂ of the part of the step up to the point.
    `phi` (m, 2, n): basis values at its two nodes, for the columns of the step's block. On spectral rods `phi` (m, 2, ≥ steps of the
    block) holds the point's row of W instead, and `data` is not read. `strain` (STATE_WIDTH,) is scratch, zero at first.
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    forward(t, q, v, work.zero, work)
    for k in range(steps.shape[0]):
        i = steps[k]
        block = t.block[t.step[i, S_BLOCK]]
        if block[COLLOC] >= 0:
            start = work.state[block[STEP0]]
            before = work.state[block[PSTEP]]
            R, p, V, _A = spectral_point(
                block, work.state, phi[k, 0], get9(start, RS), get3(start, PS), get6(before, VE), get6(before, AE)
            )
        else:
            start = work.state[i]
            before = work.state[i - 1] if i > block[STEP0] else work.state[block[PSTEP]]
            strains(phi[k], 0, block, data[k], work.cols, block[COL0], strain)
            R, p, V, _A = rod_step(
                strain,
                data[k, D_H],
                data[k, D_C],
                get9(start, RS),
                get3(start, PS),
                get6(before, VE),
                get6(before, AE),
            )
        put_pose(pose[k], work.origin, R, p)
        put6(twist[k], 0, in_axes(NO, R, at_frame(p, V)))


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


@routine
def express_columns(world, R, p, J):
    """Columns (6, n) at the moving origin in world axes: in place those of the frame's point, in world axes or in the frame's."""
    for k in range(J.shape[1]):
        w, x = (J[0, k], J[1, k], J[2, k]), (J[3, k], J[4, k], J[5, k])
        w, x = in_axes(world, R, at_frame(p, (w, x)))
        for c in range(3):
            J[c, k] = w[c]
            J[3 + c, k] = x[c]


@kernel("i1 f1 f1 f2 n f1 b f3")
def frame_jacobians(ints, floats, buffer, q, step, place, world, out):
    """Jacobians (m, 6, nv) of one frame in m configurations q (m, nq); `place` and `world` as of `frame_motions`."""
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    for k in range(q.shape[0]):
        forward(t, q[k], work.zero, work.zero, work)
        all_jacobians(t, work)
        frame_columns(t, step, work.ends[0], work.wide1, 1, 0, out[k])
        R, p = frame_pose(work.state[step], place)
        express_columns(world, R, p, out[k])


@kernel("i1 f1 f1 f1 f1 f1 n f1 f1 f3")
def frame_derivatives(ints, floats, buffer, q, v, a, step, place, motion, out):
    """J, R, W, Y of MATH §3 at the end of a step; out (4, 6, nv), world axes, at `work.origin`.

    `motion` (18,): rotation by rows and position of the frame at `place`, relative to `work.origin`, and the step's twist there.
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    forward(t, q, v, a, work)
    all_columns(t, work, THREE, 1.0, 0.0, 0.0)
    frame_columns(t, step, work.ends[0], work.wide1, 2, 1, out[0])
    frame_columns(t, step, work.ends[1], work.wide1, 2, 0, out[1])
    frame_columns(t, step, work.ends[2], work.wide2, 3, 0, out[2])
    frame_columns(t, step, work.ends[3], work.wide2, 3, 1, out[3])
    R, p = frame_pose(work.state[step], place)
    put9(motion, 0, R)
    put3(motion, 9, p)
    put6(motion, 12, get6(work.state[step], VE))


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
            out[11] -= vdot(get3(work.gravity, 0), mc)


@kernel("i1 f1 f1 f1 f1 f1")
def compute_totals(ints, floats, buffer, q, v, out):
    """`totals` as an entry from Python."""
    totals(unpack_tables(ints, floats), unpack_work(ints, buffer), q, v, out)
