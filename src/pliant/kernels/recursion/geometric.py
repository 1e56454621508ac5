"""What carried wrenches add to derivatives: they turn with the columns that they are projected with (MATH §3)."""

import numpy as np

from ..._jit import routine
from ..algebra.dual import (
    ad_dm,
    dm_ad,
    dmadd,
    dmaxpy,
    dmscale,
    dscale,
    dskew_diag,
    get3,
    get6,
    get9,
    rotate_back,
    vscale,
)
from ..algebra.exponential import tangent_coefficients, tangent_derivative, tangent_transpose_apply
from ..layout import OM, OP_R, OP_W, PS, RANGE, RS, XI1, XI2
from .columns import put_pair


@routine
def add_force_term(scale, m, f, s, so, x, n):
    """x[:, :n] += scale · ad̄*_F s[:, so:so+n] with F = (m, f): rows −(m × s_w) − (f × s_v) and −(f × s_w)."""
    m = vscale(scale, m)
    f = vscale(scale, f)
    for r in range(3):
        a = (r + 1) % 3
        b = (r + 2) % 3
        ma, mb, fa, fb = m[a], m[b], f[a], f[b]
        sa, sb = s[a, so : so + n], s[b, so : so + n]
        va, vb = s[3 + a, so : so + n], s[3 + b, so : so + n]
        x0 = x[r]
        for k in range(n):
            x0[k] += mb * sa[k] - ma * sb[k] + fb * va[k] - fa * vb[k]
        x1 = x[3 + r]
        for k in range(n):
            x1[k] += fb * sa[k] - fa * sb[k]


@routine
def curvature(row, h, c, fc, scale, op):
    """(∂S/∂q)ᵀ F of a rod step, F = scale × the carried wrench, as the form Σ Φᵢᵀ Lᵢⱼ Φⱼ of its nodal strains.

    Overwrites op[OP_R:OP_Y] with the dual matrices L₁₁, L₁₂, L₂₁, L₂₂.
    """
    omega = get6(row, OM)
    ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
    F = dscale(scale, rotate_back(get9(row, RS), get3(row, PS), fc))
    # ∂(TᵀF)/∂Ω with Tᵀ(Ω) = T(−Ω)
    K = dmscale(-1.0, tangent_derivative(dscale(-1.0, omega), F, ca, cb, a1, b1))
    half = 0.5 * h
    if c == 0.0:
        K = dmscale(half * half, K)
        put_pair(op, OP_R, K, K)
        put_pair(op, OP_W, K, K)
        return
    x1 = dscale(c, get6(row, XI1))
    x2 = dscale(-c, get6(row, XI2))
    K1 = dmaxpy(half, K, dm_ad(K, x2))
    K2 = dmaxpy(half, K, dm_ad(K, x1))
    # Zⱼᵀ = h/2 − ad of the same argument, since the dual skew matrix is antisymmetric
    TF = dskew_diag(dscale(c, tangent_transpose_apply(omega, ca, cb, F)), (0.0, 0.0))
    m1 = dscale(-1.0, x2)
    m2 = dscale(-1.0, x1)
    put_pair(op, OP_R, dmaxpy(half, K1, ad_dm(m1, K1)), dmaxpy(half, K2, dmaxpy(-1.0, TF, ad_dm(m1, K2))))
    put_pair(op, OP_W, dmaxpy(half, K1, dmadd(TF, ad_dm(m2, K1))), dmaxpy(half, K2, ad_dm(m2, K2)))


@routine
def add_curvature(op, o, phi, first, ranges, g, go):
    """g[go:go+6, :n] += L₁Φ₁ + L₂Φ₂ for the pair of dual matrices at op[o:o+36] that map strains to wrenches."""
    for c in range(3):
        a0, a1, a2 = op[o + c], op[o + 3 + c], op[o + 6 + c]
        b0, b1, b2 = op[o + 9 + c], op[o + 12 + c], op[o + 15 + c]
        c0, c1, c2 = op[o + 18 + c], op[o + 21 + c], op[o + 24 + c]
        d0, d1, d2 = op[o + 27 + c], op[o + 30 + c], op[o + 33 + c]
        for k in range(ranges[RANGE + c], ranges[RANGE + c + 1]):
            i, u = np.uint64(k), np.uint64(first + k)
            e = phi[0, u]
            f = phi[1, u]
            g[go, i] += b0 * e + d0 * f
            g[go + 1, i] += b1 * e + d1 * f
            g[go + 2, i] += b2 * e + d2 * f
            g[go + 3, i] += a0 * e + c0 * f
            g[go + 4, i] += a1 * e + c1 * f
            g[go + 5, i] += a2 * e + c2 * f
        for k in range(ranges[RANGE + 3 + c], ranges[RANGE + 4 + c]):
            i, u = np.uint64(k), np.uint64(first + k)
            e = phi[0, u]
            f = phi[1, u]
            g[go, i] += a0 * e + c0 * f
            g[go + 1, i] += a1 * e + c1 * f
            g[go + 2, i] += a2 * e + c2 * f
