"""Inertia of a step at the common origin, and the matrix N that its momentum contributes to the derivatives."""

from ..._jit import inline, routine
from ..algebra.dual import (
    get3,
    get6,
    get9,
    hat_m,
    madd,
    mm,
    mmt,
    mouter,
    mscale,
    mt,
    mv,
    skew_diag,
    vadd,
    vcross,
    vdot,
    vscale,
)
from ..layout import D_COM, D_M6, D_MASS, D_ROT, MASSLESS, PE, RE, RIGID, S_INERTIA, VE


@inline
def put_block(M, i, j, A):
    """Store a 3×3 matrix, whose entries may be real and complex, in a 2-D array at row i, column j."""
    M[i, j], M[i, j + 1], M[i, j + 2] = A[0], A[1], A[2]
    M[i + 1, j], M[i + 1, j + 1], M[i + 1, j + 2] = A[3], A[4], A[5]
    M[i + 2, j], M[i + 2, j + 1], M[i + 2, j + 2] = A[6], A[7], A[8]


@routine
def rigid_inertia(data, R, p, V, M, N):
    """World inertia M and the matrix N = ad̄*_h + ad*_V M − M ad_V of a rigid body; N has no right half."""
    m = data[D_MASS]
    c = vadd(p, mv(R, get3(data, D_COM)))
    w, v = V
    o = D_ROT
    body = (
        data[o],
        data[o + 3],
        data[o + 4],
        data[o + 3],
        data[o + 1],
        data[o + 5],
        data[o + 4],
        data[o + 5],
        data[o + 2],
    )
    rot = mmt(mm(R, body), R)
    cc = vdot(c, c)
    rot = madd(rot, madd(skew_diag(vscale(0.0, c), m * cc), mouter(vscale(-m, c), c)))
    mc = vscale(m, c)
    put_block(M, 0, 0, rot)
    put_block(M, 0, 3, skew_diag(mc, 0.0))
    put_block(M, 3, 0, skew_diag(vscale(-1.0, mc), 0.0))
    put_block(M, 3, 3, skew_diag(vscale(0.0, c), m))
    hf = vscale(m, vadd(v, vcross(w, c)))
    hm = vadd(mv(rot, w), vcross(mc, v))
    wi = hat_m(w, rot)
    n11 = madd(madd(wi, mt(wi)), skew_diag(vscale(-1.0, hm), 2.0 * vdot(v, mc)))
    cv = mouter(vscale(-1.0, mc), v)
    put_block(N, 0, 0, madd(n11, madd(cv, mt(cv))))
    put_block(N, 0, 3, skew_diag(vscale(0.0, c), 0.0))
    put_block(N, 3, 0, skew_diag(vscale(-2.0, hf), 0.0))
    put_block(N, 3, 3, skew_diag(vscale(0.0, c), 0.0))


@inline
def block9(data, o):
    """The 3×3 block with rows 6 apart from position o."""
    return (
        data[o],
        data[o + 1],
        data[o + 2],
        data[o + 6],
        data[o + 7],
        data[o + 8],
        data[o + 12],
        data[o + 13],
        data[o + 14],
    )


@routine
def general_inertia(data, R, p, V, M, N):
    """World inertia M and the matrix N of a body with a full 6×6 inertia."""
    a = mmt(mm(R, block9(data, D_M6)), R)
    b = mmt(mm(R, block9(data, D_M6 + 3)), R)
    d = mmt(mm(R, block9(data, D_M6 + 21)), R)
    # shift to the origin: [[1, p̂], [0, 1]] [[a, b], [bᵀ, d]] [[1, 0], [−p̂, 1]]
    b2 = madd(b, hat_m(p, d))
    a2 = madd(a, hat_m(p, mt(b)))
    a2 = madd(a2, mscale(-1.0, mm(b2, skew_diag(p, 0.0))))
    w, v = V
    W = skew_diag(w, 0.0)
    L = skew_diag(v, 0.0)
    bt = mt(b2)
    hm = vadd(mv(a2, w), mv(b2, v))
    hf = vadd(mv(bt, w), mv(d, v))
    put_block(M, 0, 0, a2)
    put_block(M, 0, 3, b2)
    put_block(M, 3, 0, bt)
    put_block(M, 3, 3, d)
    # ad*_V = [[ŵ, v̂], [0, ŵ]], ad_V = [[ŵ, 0], [v̂, ŵ]]
    n11 = madd(madd(mm(W, a2), mm(L, bt)), skew_diag(vscale(-1.0, hm), 0.0))
    n11 = madd(n11, mscale(-1.0, madd(mm(a2, W), mm(b2, L))))
    n12 = madd(madd(mm(W, b2), mm(L, d)), skew_diag(vscale(-1.0, hf), 0.0))
    n12 = madd(n12, mscale(-1.0, mm(b2, W)))
    n21 = madd(mm(W, bt), skew_diag(vscale(-1.0, hf), 0.0))
    n21 = madd(n21, mscale(-1.0, madd(mm(bt, W), mm(d, L))))
    n22 = madd(mm(W, d), mscale(-1.0, mm(d, W)))
    put_block(N, 0, 0, n11)
    put_block(N, 0, 3, n12)
    put_block(N, 3, 0, n21)
    put_block(N, 3, 3, n22)


@routine
def gravity_matrix(data, R, p, g, M, K):
    """K of a step whose gravity acts on its dry mass, not on its inertia M (at the origin)."""
    G = skew_diag(g, 0.0)
    c = vadd(p, mv(R, get3(data, D_COM)))
    F = skew_diag(vscale(data[D_MASS], g), 0.0)
    top = madd(
        mm((M[0, 3], M[0, 4], M[0, 5], M[1, 3], M[1, 4], M[1, 5], M[2, 3], M[2, 4], M[2, 5]), G),
        mscale(-1.0, hat_m(c, F)),
    )
    low = madd(
        mm((M[3, 3], M[3, 4], M[3, 5], M[4, 3], M[4, 4], M[4, 5], M[5, 3], M[5, 4], M[5, 5]), G), mscale(-1.0, F)
    )
    put_block(K, 0, 0, top)
    put_block(K, 3, 0, low)


@routine
def point_inertias(step, data, gravity, state, inertia, bias, load):
    """Own inertia, N and K of every step; zero for massless steps and the world."""
    steps = step.shape[0]
    for i in range(steps + 1):
        kind = MASSLESS
        if i < steps:
            kind = step[i, S_INERTIA]
        M = inertia[i]
        N = bias[i]
        K = load[i]
        for r in range(6):
            for c in range(6):
                K[r, c] = 0.0
        if kind == MASSLESS:
            for r in range(6):
                for c in range(6):
                    M[r, c] = 0.0
                    N[r, c] = 0.0
        else:
            row = state[i]
            R = get9(row, RE)
            p = get3(row, PE)
            V = get6(row, VE)
            if kind == RIGID:
                rigid_inertia(data[i], R, p, V, M, N)
            else:
                general_inertia(data[i], R, p, V, M, N)
                gravity_matrix(data[i], R, p, get3(gravity, 0), M, K)
