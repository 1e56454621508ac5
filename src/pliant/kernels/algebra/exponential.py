"""Exponential of SE(3), its tangent operator T and the derivatives of T, all in dual 3×3 form.

With ``s = |w|²`` every coefficient is a Stumpff function ``cₙ(s) = Σ_k (−s)^k/(n+2k)!``:

* ``exp(Ω)``: rotation ``1 + c₁ŵ + c₂ŵ²``, translation ``T(w) v``,
* ``T y = y + c₂ w×y + c₃ w×(w×y)``   (left tangent, MATH §1),

and derivatives with respect to s follow from ``cₙ' = ½(n cₙ₊₂ − cₙ₊₁)``, which is free of the cancellation of the
closed forms printed in [002] App. A and C. Below ``s = 20`` c₈ and c₉ are summed as
series and the others follow from ``cₙ = 1/n! − s cₙ₊₂``; above, from sine and cosine.
"""

import math

import numpy as np

from ..._jit import inline, kernel, routine
from .dual import (
    daxpy,
    dcross,
    dmadd,
    dmouter,
    dscale,
    dskew_diag,
    get6,
    madd,
    mouter,
    mv,
    sdot,
    sdx,
    sdxpy,
    skew_diag,
    smul,
    vdot,
    vscale,
)

_SERIES8 = tuple((-1.0) ** k / math.factorial(8 + 2 * k) for k in range(18))
_SERIES9 = tuple((-1.0) ** k / math.factorial(9 + 2 * k) for k in range(18))
(_A0, _A1, _A2, _A3, _A4, _A5, _A6) = _SERIES8[:7]
(_B0, _B1, _B2, _B3, _B4, _B5, _B6) = _SERIES9[:7]


@routine
def stumpff(s):
    """(c₂, …, c₉) at s = θ², real or complex."""
    x = s.real
    if x < 0.5:
        c8 = _A0 + s * (_A1 + s * (_A2 + s * (_A3 + s * (_A4 + s * (_A5 + s * _A6)))))
        c9 = _B0 + s * (_B1 + s * (_B2 + s * (_B3 + s * (_B4 + s * (_B5 + s * _B6)))))
    elif x < 20.0:
        c8 = _SERIES8[17] + 0.0 * s
        c9 = _SERIES9[17] + 0.0 * s
        for k in range(16, -1, -1):
            c8 = _SERIES8[k] + s * c8
            c9 = _SERIES9[k] + s * c9
    else:
        theta = np.sqrt(s)
        d2 = (1.0 - np.cos(theta)) / s
        d3 = (1.0 - np.sin(theta) / theta) / s
        d4 = (1.0 / 2.0 - d2) / s
        d5 = (1.0 / 6.0 - d3) / s
        d6 = (1.0 / 24.0 - d4) / s
        d7 = (1.0 / 120.0 - d5) / s
        return d2, d3, d4, d5, d6, d7, (1.0 / 720.0 - d6) / s, (1.0 / 5040.0 - d7) / s
    c7 = 1.0 / 5040.0 - s * c9
    c6 = 1.0 / 720.0 - s * c8
    c5 = 1.0 / 120.0 - s * c7
    c4 = 1.0 / 24.0 - s * c6
    c3 = 1.0 / 6.0 - s * c5
    c2 = 0.5 - s * c4
    return c2, c3, c4, c5, c6, c7, c8, c9


@inline
def tangent_coefficients(omega):
    """Dual coefficients of T and of its first two derivatives.

    Returns
    -------
    (a, b, a1, b1, a2, b2) : dual scalars; a = c₂, b = c₃ and their first and second derivatives in s.
    """
    s0, s1 = sdot(omega, omega)
    c2, c3, c4, c5, c6, c7, c8, c9 = stumpff(s0)
    c5d = 0.5 * (5.0 * c7 - c6)
    c4d = 0.5 * (4.0 * c6 - c5)
    a1 = c4 - 0.5 * c3
    b1 = 0.5 * (3.0 * c5 - c4)
    a2 = c4d - 0.5 * b1
    b2 = 0.5 * (3.0 * c5d - c4d)
    c6d = 0.5 * (6.0 * c8 - c7)
    c7d = 0.5 * (7.0 * c9 - c8)
    c4dd = 0.5 * (4.0 * c6d - c5d)
    c5dd = 0.5 * (5.0 * c7d - c6d)
    a3 = c4dd - 0.5 * b2
    b3 = 0.5 * (3.0 * c5dd - c4dd)
    return (c2, a1 * s1), (c3, b1 * s1), (a1, a2 * s1), (b1, b2 * s1), (a2, a3 * s1), (b2, b3 * s1)


@inline
def exp_se3(omega, a, b):
    """Pose (R, p) = exp(Ω); a, b from `tangent_coefficients`."""
    w = omega[0]
    s = vdot(w, w)
    a0 = a[0]
    b0 = b[0]
    R = madd(skew_diag(vscale(1.0 - b0 * s, w), 1.0 - a0 * s), mouter(vscale(a0, w), w))
    A = madd(skew_diag(vscale(a0, w), 1.0 - b0 * s), mouter(vscale(b0, w), w))
    return R, mv(A, omega[1])


@inline
def tangent_apply(omega, a, b, y):
    """T(Ω) y = y + a Ω×y + b Ω×(Ω×y) in dual form."""
    y1 = dcross(omega, y)
    return sdxpy(b, dcross(omega, y1), sdxpy(a, y1, y))


@inline
def tangent_transpose_apply(omega, a, b, F):
    """T(Ω)ᵀ F of a wrench in dual form: T(−Ω) F."""
    return tangent_apply(dscale(-1.0, omega), a, b, F)


@inline
def tangent_rate_apply(omega, rate, b, a1, b1):
    """Ṫ Ω̇ for Ω̇ = rate."""
    y1 = dcross(omega, rate)
    y2 = dcross(omega, y1)
    p = sdot(omega, rate)
    p2 = (2.0 * p[0], 2.0 * p[1])
    return sdxpy(smul(p2, a1), y1, sdxpy(smul(p2, b1), y2, sdx(b, dcross(rate, y1))))


@inline
def tangent_matrix(omega, a, b):
    """T(Ω) as a dual matrix."""
    s = sdot(omega, omega)
    bs = smul(b, s)
    return dmadd(dskew_diag(sdx(a, omega), (1.0 - bs[0], -bs[1])), dmouter(sdx(b, omega), omega))


@inline
def tangent_rate_matrix(omega, rate, a, b, a1, b1):
    """Ṫ, the derivative of T along Ω̇ = rate, as a dual matrix."""
    s = sdot(omega, omega)
    p = sdot(omega, rate)
    p2 = (2.0 * p[0], 2.0 * p[1])
    pa = smul(p2, a1)
    pb = smul(p2, b1)
    e = smul(pb, s)
    f = smul(p2, b)
    M = dskew_diag(sdxpy(pa, omega, sdx(a, rate)), (-e[0] - f[0], -e[1] - f[1]))
    brate = sdx(b, rate)
    M = dmadd(M, dmouter(sdxpy(pb, omega, brate), omega))
    return dmadd(M, dmouter(omega, brate))


@inline
def tangent_derivative(omega, y, a, b, a1, b1):
    """∂(T y)/∂Ω at fixed y, as a dual matrix ([002] C16–C24 in closed form)."""
    y1 = dcross(omega, y)
    y2 = dcross(omega, y1)
    m = sdxpy(a, y, sdx(b, y1))
    u = sdxpy((2.0 * a1[0], 2.0 * a1[1]), y1, sdxpy((2.0 * b1[0], 2.0 * b1[1]), y2, sdx((-b[0], -b[1]), y)))
    M = dskew_diag(dscale(-1.0, m), smul(b, sdot(omega, y)))
    return dmadd(M, dmouter(u, omega))


@inline
def tangent_rate_derivative(omega, rate, b, a1, b1, a2, b2):
    """∂(Ṫ Ω̇)/∂Ω at fixed Ω̇ = rate, as a dual matrix."""
    y1 = dcross(omega, rate)
    y2 = dcross(omega, y1)
    p = sdot(omega, rate)
    p2 = (2.0 * p[0], 2.0 * p[1])
    e = sdxpy(a1, y1, sdx(b1, y2))  # a'y₁ + b'y₂
    e = dscale(2.0, e)
    g = sdxpy(a2, y1, sdx(b2, y2))
    g = sdx((2.0 * p2[0], 2.0 * p2[1]), g)
    g = sdxpy((2.0 * b1[0], 2.0 * b1[1]), dcross(rate, y1), g)
    # 2p(−a' Ω̇^ − b' y₁^ − b'(Ω̇Ωᵀ − p 1)) + b(|Ω̇|² 1 − Ω̇Ω̇ᵀ)
    pb = smul(p2, b1)
    m = sdxpy(smul(p2, a1), rate, sdx(pb, y1))
    d1 = smul(pb, p)
    d2 = smul(b, sdot(rate, rate))
    M = dskew_diag(dscale(-1.0, m), (d1[0] + d2[0], d1[1] + d2[1]))
    g = sdxpy((-pb[0], -pb[1]), rate, g)
    e = sdxpy((-b[0], -b[1]), rate, e)
    return dmadd(M, dmadd(dmouter(e, rate), dmouter(g, omega)))


@inline
def inverse_tangent_coefficient(omega):
    """Dual coefficient e of T⁻¹ = 1 − ½ Ω^ + e Ω^Ω^, e = (c₃ − 2c₄)/(2c₂); singular at a full turn."""
    s0, s1 = sdot(omega, omega)
    c2, c3, c4, c5, c6, _c7, _c8, _c9 = stumpff(s0)
    e = (c3 - 2.0 * c4) / (2.0 * c2)
    slope = (0.5 * (3.0 * c5 - c4) - (4.0 * c6 - c5) - 2.0 * e * (c4 - 0.5 * c3)) / (2.0 * c2)
    return (e, slope * s1)


@inline
def inverse_tangent_apply(omega, y):
    """T(Ω)⁻¹ y in dual form."""
    y1 = dcross(omega, y)
    return sdxpy(inverse_tangent_coefficient(omega), dcross(omega, y1), daxpy(-0.5, y1, y))


@routine
def dual_to_matrix(M, swapped, out):
    """A dual matrix as 6×6: [[A, 0], [B, A]], or [[B, A], [A, 0]] if it maps twists to wrenches."""
    A, B = M
    for r in range(3):
        for k in range(3):
            a = A[3 * r + k]
            b = B[3 * r + k]
            if swapped:
                out[r, k] = b
                out[r, 3 + k] = a
                out[3 + r, k] = a
                out[3 + r, 3 + k] = 0.0
            else:
                out[r, k] = a
                out[r, 3 + k] = 0.0
                out[3 + r, k] = b
                out[3 + r, 3 + k] = a


@kernel("f1 f1 f2 f2 f2")
def lie_arrays(xi, rate, g, T, Td):
    """exp(ξ) (4, 4), T(ξ) and its derivative along `rate` (6, 6)."""
    omega = get6(xi, np.int64(0))
    ca, cb, a1, b1, _a2, _b2 = tangent_coefficients(omega)
    R, p = exp_se3(omega, ca, cb)
    for i in range(3):
        for j in range(3):
            g[i, j] = R[3 * i + j]
        g[i, 3] = p[i]
    dual_to_matrix(tangent_matrix(omega, ca, cb), False, T)
    dual_to_matrix(tangent_rate_matrix(omega, get6(rate, np.int64(0)), ca, cb, a1, b1), False, Td)
