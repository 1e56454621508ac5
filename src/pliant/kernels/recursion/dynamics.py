"""Inverse dynamics by the Newton–Euler recursion in world axes (MATH §3)."""

from ..._jit import inline, kernel, routine
from ..algebra.dual import (
    dadd,
    daxpy,
    dcross,
    dscale,
    dual_dot,
    get3,
    get6,
    get9,
    mtv,
    mv,
    put6,
    rotate,
    rotate_back,
    swap,
    vadd,
    vcross,
    vscale,
    vsub,
)
from ..algebra.exponential import tangent_transpose_apply
from ..layout import (
    AE,
    CO,
    COL0,
    COLLOC,
    COLS,
    D_AXIS,
    D_C,
    D_COM,
    D_H,
    D_M6,
    D_MASS,
    D_ROT,
    FW,
    KIND,
    MASSLESS,
    OM,
    PE,
    PS,
    PSTEP,
    RANGE,
    RE,
    RIGID,
    ROD,
    RS,
    S_INERTIA,
    S_PHI,
    SCREW,
    STEP0,
    STEPS,
    VE,
    XI1,
    XI2,
)
from ..loads.together import apply_loads
from .forward import forward
from .spectral import spectral_project


@inline
def sym_mv(data, o, x):
    """Product with the symmetric 3×3 matrix stored as xx, yy, zz, xy, xz, yz from position o."""
    xx, yy, zz, xy, xz, yz = data[o], data[o + 1], data[o + 2], data[o + 3], data[o + 4], data[o + 5]
    return (
        xx * x[0] + xy * x[1] + xz * x[2],
        xy * x[0] + yy * x[1] + yz * x[2],
        xz * x[0] + yz * x[1] + zz * x[2],
    )


@inline
def block_mv(data, o, x):
    """Product with the 3×3 block whose rows lie 6 apart from position o (part of a 6×6 by rows)."""
    return (
        data[o] * x[0] + data[o + 1] * x[1] + data[o + 2] * x[2],
        data[o + 6] * x[0] + data[o + 7] * x[1] + data[o + 8] * x[2],
        data[o + 12] * x[0] + data[o + 13] * x[1] + data[o + 14] * x[2],
    )


@inline
def general_mv(data, x):
    """M x for a full 6×6 inertia: twist (angular, linear) to momentum in dual form (force, moment)."""
    o = D_M6
    m = vadd(block_mv(data, o, x[0]), block_mv(data, o + 3, x[1]))
    f = vadd(block_mv(data, o + 18, x[0]), block_mv(data, o + 21, x[1]))
    return (f, m)


@routine
def rigid_wrench(data, R, p, V, A):
    """Inertial wrench (dual form, at the origin) of a rigid body moving with twist V, acceleration A."""
    m = data[D_MASS]
    c = vadd(p, mv(R, get3(data, D_COM)))
    w, v = V
    vc = vadd(v, vcross(w, c))
    f = vscale(m, vadd(vadd(A[1], vcross(A[0], c)), vcross(w, vc)))
    wb = mtv(R, w)
    moment = vadd(sym_mv(data, D_ROT, mtv(R, A[0])), vcross(wb, sym_mv(data, D_ROT, wb)))
    return (f, vadd(mv(R, moment), vcross(c, f)))


@routine
def general_wrench(data, R, p, V, A, g):
    """Inertial wrench of a body with a full 6×6 inertia, less its weight: gravity g acts on its dry mass alone."""
    eta = rotate_back(R, p, V)
    acc = rotate_back(R, p, (A[0], vadd(A[1], g)))
    F = rotate(R, p, dadd(general_mv(data, acc), dcross(eta, general_mv(data, eta))))
    weight = vscale(data[D_MASS], g)
    c = vadd(p, mv(R, get3(data, D_COM)))
    return (vsub(F[0], weight), vsub(F[1], vcross(c, weight)))


@inline
def inertial_wrench(kind, data, row, g):
    """Inertial wrench of a step's own mass less its weight, dual form at the origin."""
    R = get9(row, RE)
    p = get3(row, PE)
    V = get6(row, VE)
    A = get6(row, AE)
    if kind == RIGID:
        return rigid_wrench(data, R, p, V, A)
    return general_wrench(data, R, p, V, A, g)


@routine
def point_forces(t, work):
    """Store each step's own inertial wrench (m, f) at the origin; zero for massless steps and the world."""
    steps = t.step.shape[0]
    g = (work.gravity[0], work.gravity[1], work.gravity[2])
    for i in range(steps):
        row = work.state[i]
        kind = t.step[i, S_INERTIA]
        if kind == MASSLESS:
            for c in range(6):
                row[FW + c] = 0.0
        else:
            put6(row, FW, swap(inertial_wrench(kind, t.data[i], row, g)))
    for c in range(6):
        work.state[steps, FW + c] = 0.0


@routine
def project_rod(row, h, c, fc, phi, first, ranges, tau, col0):
    """tau += sᵀ fᶜ of one rod step (fᶜ in dual form)."""
    omega = get6(row, OM)
    ca = (row[CO], row[CO + 1])
    cb = (row[CO + 2], row[CO + 3])
    F = rotate_back(get9(row, RS), get3(row, PS), fc)
    F = tangent_transpose_apply(omega, ca, cb, F)
    half = dscale(0.5 * h, F)
    # Zⱼᵀ F with ad_ξᵀ F = −ξ × F in dual form
    G1 = swap(daxpy(c, dcross(get6(row, XI2), F), half))
    G2 = swap(daxpy(-c, dcross(get6(row, XI1), F), half))
    g1 = (G1[0][0], G1[0][1], G1[0][2], G1[1][0], G1[1][1], G1[1][2])
    g2 = (G2[0][0], G2[0][1], G2[0][2], G2[1][0], G2[1][1], G2[1][2])
    for comp in range(6):
        u = g1[comp]
        w = g2[comp]
        for k in range(ranges[RANGE + comp], ranges[RANGE + comp + 1]):
            tau[col0 + k] += u * phi[0, first + k] + w * phi[1, first + k]


@routine
def project_joint(row, data, kind, n, fc, tau, col0):
    """tau = sᵀ fᶜ of a joint."""
    if kind == SCREW:
        s = rotate(get9(row, RS), get3(row, PS), get6(data, D_AXIS))
        tau[col0] = dual_dot(s, fc)
    else:
        F = rotate_back(get9(row, RE), get3(row, PE), fc)
        tau[col0] = F[1][0]
        tau[col0 + 1] = F[1][1]
        tau[col0 + 2] = F[1][2]
        if n == 6:
            tau[col0 + 3] = F[0][0]
            tau[col0 + 4] = F[0][1]
            tau[col0 + 5] = F[0][2]


@routine
def backward(t, work, tau):
    """Generalised forces in column space; `state[:, FW:]` holds each step's own wrench on entry.

    On return the last state row holds the total wrench at the origin.
    """
    state = work.state
    for b in range(t.block.shape[0] - 1, -1, -1):
        block = t.block[b]
        kind = block[KIND]
        col0 = block[COL0]
        n = block[COLS]
        first = block[STEP0]
        last = first + block[STEPS] - 1
        fc = swap(get6(state[last], FW))
        if block[COLLOC] >= 0:
            fc = spectral_project(block, t.colloc, t.phi, t.step, state, tau)
        elif kind == ROD:
            for k in range(n):
                tau[col0 + k] = 0.0
            for i in range(last, first - 1, -1):
                if i < last:
                    fc = dadd(fc, swap(get6(state[i], FW)))
                data = t.data[i]
                project_rod(state[i], data[D_H], data[D_C], fc, t.phi, t.step[i, S_PHI], block, tau, col0)
        else:
            project_joint(state[first], t.data[first], kind, n, fc, tau, col0)
        parent = state[block[PSTEP]]
        put6(parent, FW, dadd(get6(parent, FW), swap(fc)))


@routine
def scatter(t, columns, out):
    """Add columns into velocities: out[col_v] += columns."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for k in range(columns.shape[0]):
        out[t.col_v[k]] += columns[k]


@routine
def loaded_newton_euler(t, work, loads, q, v, a, u, out):
    """ID(q, v, a) minus the generalised forces of all loads that act on steps; `out` is (nv,)."""
    forward(t, q, v, a, work)
    point_forces(t, work)
    apply_loads(work, loads, q, v, u)
    backward(t, work, work.tau)
    scatter(t, work.tau, out)


@routine
def newton_euler(t, work, q, v, a, out):
    """ID(q, v, a) = M a + C − gravity, without elastic and damping forces; `out` is (nv,)."""
    forward(t, q, v, a, work)
    point_forces(t, work)
    backward(t, work, work.tau)
    scatter(t, work.tau, out)


@kernel
def inverse_dynamics(t, work, q, v, a, out):
    """`newton_euler` as an entry of its own, for any number type: complex arguments give complex-step derivatives."""
    newton_euler(t, work, q, v, a, out)
