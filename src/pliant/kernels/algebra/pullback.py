"""Transposed derivatives of the tangent operator T(Ω): what the results of a step owe Ω and its rates.

All are gradients of scalars f·Ty and f·Ṫy of ordinary three-vectors, evaluated with dual numbers: the pairing of a twist
with a wrench is the second part of their dual product, so that what holds for SO(3) holds for SE(3).
"""

from ..._jit import inline, routine
from .dual import dadd, dcross, dscale, sadd, sdot, sdx, sdxpy, smul, sscale
from .exponential import tangent_apply, tangent_coefficients


@inline
def add_rate_pullback(x, z, f, s, coefficients, o, o1):
    """Add the gradients of f·ṪΩ̇, Ω̇ = z, with respect to Ω = x and Ω̇ to o and o1; s = x·x.

    f·Ṫz = 2p (a′ν + b′k) + b (|z|² x·f − p z·f) with p = x·z, ν = f·(x×z), k = p (x·f) − s (z·f).
    """
    _a, b, a1, b1, a2, b2 = coefficients
    m = dcross(z, f)
    p, e, nu, zf, zz = sdot(x, z), sdot(x, f), sdot(x, m), sdot(z, f), sdot(z, z)
    pe, pzf = smul(p, e), smul(p, zf)
    k = sadd(pe, sscale(-1.0, smul(s, zf)))
    along = sscale(2.0, sadd(smul(a1, nu), smul(b1, sadd(k, pe))))
    along = sadd(along, sscale(-1.0, smul(b, zf)))
    pa, pb = sscale(2.0, smul(p, a1)), sscale(2.0, smul(p, b1))
    last = sadd(smul(zz, e), sscale(-3.0, pzf))
    last = sadd(sscale(4.0, smul(p, sadd(smul(a2, nu), smul(b2, k)))), sscale(2.0, smul(b1, last)))
    o = sdxpy(along, z, sdxpy(pa, m, sdxpy(sadd(smul(pb, p), smul(b, zz)), f, sdxpy(last, x, o))))
    back = sscale(-1.0, sadd(smul(pb, s), smul(b, p)))
    o1 = sdxpy(along, x, sdxpy(pa, dcross(f, x), sdxpy(back, f, sdxpy(sscale(2.0, smul(b, e)), z, o1))))
    return o, o1


@routine
def tangent_pullback(x, rate, accel, virtual, g, fw, fa, fy):
    """What the results of a step with Ω = x owe Ω, Ω̇, Ω̈ and the virtual Ω̂.

    g, fw, fa, fy are owed by (wrenches in dual form): the displacement T δΩ, TΩ̇, TΩ̈ + ṪΩ̇ and TΩ̂.
    """
    coefficients = tangent_coefficients(x)
    a, b, a1, b1, _a2, _b2 = coefficients
    back = dscale(-1.0, x)
    o, o1 = tangent_apply(back, a, b, g), tangent_apply(back, a, b, fw)
    o2, oy = tangent_apply(back, a, b, fa), tangent_apply(back, a, b, fy)
    # Σ f·Ty = Σ y·f + a x·n + b ((x·y)(x·f) − s y·f), n = Σ y×f
    n = dadd(dadd(dcross(rate, fw), dcross(accel, fa)), dcross(virtual, fy))
    pairs = sadd(sadd(sdot(rate, fw), sdot(accel, fa)), sdot(virtual, fy))
    s = sdot(x, x)
    xw, xa, xy = sdot(x, fw), sdot(x, fa), sdot(x, fy)
    yw, ya, yy = sdot(x, rate), sdot(x, accel), sdot(x, virtual)
    k = sadd(sadd(smul(xw, yw), smul(xa, ya)), smul(xy, yy))
    k = sadd(k, sscale(-1.0, smul(s, pairs)))
    total = sadd(smul(a1, sdot(x, n)), sadd(smul(b1, k), sscale(-1.0, smul(b, pairs))))
    mixed = sdxpy(xw, rate, sdxpy(xa, accel, sdx(xy, virtual)))
    mixed = sdxpy(yw, fw, sdxpy(ya, fa, sdxpy(yy, fy, mixed)))
    o = sdxpy(a, n, sdxpy(b, mixed, sdxpy(sscale(2.0, total), x, o)))
    o, o1 = add_rate_pullback(x, rate, fa, s, coefficients, o, o1)
    return o, o1, o2, oy
