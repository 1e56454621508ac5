"""What the wrench of a step's own mass owes its motion and its numbers.

With the virtual twist Ŷ the mass contributes φ = ⟨Ŷ, W⟩. For a rigid body with the centre of mass c, v̂ and a its virtual velocity
and acceleration, φ = m a·v̂ + ŵ·(Jα + ω×Jω).
"""

from ..._jit import inline, routine
from ..algebra.dual import (
    add3,
    add6,
    dadd,
    daxpy,
    dcross,
    get3,
    get6,
    get9,
    mtv,
    mv,
    rotate,
    rotate_back,
    vadd,
    vaxpy,
    vcross,
    vdot,
    vscale,
)
from ..layout import AE, D_COM, D_M6, D_MASS, D_ROT, G_A, G_POSE, G_V, G_Y, H_Y, MASSLESS, PE, RE, RIGID, S_INERTIA, VE
from ..recursion.dynamics import general_mv, sym_mv


@inline
def add_symmetric(row, o, a, b):
    """Add the derivatives of aᵀJb by the entries xx, yy, zz, xy, xz, yz of J."""
    row[o] += a[0] * b[0]
    row[o + 1] += a[1] * b[1]
    row[o + 2] += a[2] * b[2]
    row[o + 3] += a[0] * b[1] + a[1] * b[0]
    row[o + 4] += a[0] * b[2] + a[2] * b[0]
    row[o + 5] += a[1] * b[2] + a[2] * b[1]


@routine
def rigid_reverse(data, state, own, gain):
    """A rigid body: derivatives into its row `gain` of `data`, the rest into its row `own` of `Work.reverse`."""
    R, p = get9(state, RE), get3(state, PE)
    (w, v), (dw, dv), (y, vy) = get6(state, VE), get6(state, AE), get6(own, H_Y)
    m = data[D_MASS]
    c = vadd(p, mv(R, get3(data, D_COM)))
    vc, vyc = vadd(v, vcross(w, c)), vadd(vy, vcross(y, c))
    acc = vadd(vadd(dv, vcross(dw, c)), vcross(w, vc))
    gain[D_MASS] += vdot(acc, vyc)
    f = vscale(m, acc)
    at = vadd(vcross(f, y), vscale(m, vadd(vcross(vyc, dw), vcross(w, vcross(w, vyc)))))  # owed to c
    add3(gain, D_COM, mtv(R, at))
    # rotation in body axes, n = ŵ×ω
    wb, ab, yb = mtv(R, w), mtv(R, dw), mtv(R, y)
    n = vcross(yb, wb)
    add_symmetric(gain, D_ROT, yb, ab)
    add_symmetric(gain, D_ROT, n, wb)
    Jw, Ja, Jy, Jn = sym_mv(data, D_ROT, wb), sym_mv(data, D_ROT, ab), sym_mv(data, D_ROT, yb), sym_mv(data, D_ROT, n)
    turn = vadd(vadd(vcross(Ja, yb), vcross(Jy, ab)), vadd(vcross(Jw, n), vcross(Jn, wb)))
    fa, fv = vscale(m, vyc), vscale(m, vcross(vyc, w))
    add6(own, G_Y, (f, vadd(mv(R, vadd(Ja, vcross(wb, Jw))), vcross(c, f))))
    add6(own, G_POSE, (at, vadd(mv(R, turn), vcross(c, at))))
    add6(own, G_V, (fv, vadd(vaxpy(m, vcross(vc, vyc), mv(R, vadd(vcross(Jw, yb), Jn))), vcross(c, fv))))
    add6(own, G_A, (fa, vadd(mv(R, Jy), vcross(c, fa))))


@routine
def general_reverse(data, state, own, g, gain, gravity):
    """A body with a full 6×6 inertia, whose weight is that of its dry mass; also what is owed to gravity directly."""
    R, p = get9(state, RE), get3(state, PE)
    A, Y = get6(state, AE), get6(own, H_Y)
    eta, yb = rotate_back(R, p, get6(state, VE)), rotate_back(R, p, Y)
    acc = rotate_back(R, p, (A[0], vadd(A[1], g)))
    n = dcross(yb, eta)
    h = general_mv(data, eta)
    F = dadd(general_mv(data, acc), dcross(eta, h))
    fa, fv = general_mv(data, yb), dadd(dcross(h, yb), general_mv(data, n))
    pose = daxpy(-1.0, dadd(dcross(eta, fv), dcross(acc, fa)), dcross(F, yb))
    for i in range(6):
        yi, ni = yb[i // 3][i % 3], n[i // 3][i % 3]
        for j in range(6):
            gain[D_M6 + 6 * i + j] += yi * acc[j // 3][j % 3] + ni * eta[j // 3][j % 3]
    fa = rotate(R, p, fa)
    add6(own, G_Y, rotate(R, p, F))
    add6(own, G_POSE, rotate(R, p, pose))
    add6(own, G_V, rotate(R, p, fv))
    add6(own, G_A, fa)
    # the weight, a dead force at the centre of mass
    c = vadd(p, mv(R, get3(data, D_COM)))
    weight = vscale(-data[D_MASS], g)
    vyc = vadd(Y[1], vcross(Y[0], c))
    at = vcross(weight, Y[0])
    gain[D_MASS] -= vdot(g, vyc)
    add3(gain, D_COM, mtv(R, at))
    add6(own, G_Y, (weight, vcross(c, weight)))
    add6(own, G_POSE, (at, vcross(c, at)))
    for k in range(3):
        gravity[k] += fa[0][k] - data[D_MASS] * vyc[k]


@routine
def add_masses(t, work, gain):
    """All masses; `gain` are the tables of derivatives."""
    g = (work.gravity[0], work.gravity[1], work.gravity[2])
    for i in range(t.step.shape[0]):
        kind = t.step[i, S_INERTIA]
        if kind == RIGID:
            rigid_reverse(t.data[i], work.state[i], work.reverse[i], gain.data[i])
        elif kind != MASSLESS:
            general_reverse(t.data[i], work.state[i], work.reverse[i], g, gain.data[i], gain.gravity)
