"""Products of 6×6 matrices with the wide matrices (6 × columns) of the backward pass.

Inner loops run over columns with a length known at run time only, over few arrays at once, so that they are vectorised.
"""

import numpy as np

from ..._jit import inline, routine
from ..algebra.tiles import add_tile
from ..layout import RANGE

# numpy integers, for the same reason as in `layout`
ZERO, THREE, SIX = np.int64(0), np.int64(3), np.int64(6)


@routine
def clear(x, rows, width):
    """x[:rows, :width] = 0."""
    for r in range(rows):
        for k in range(width):
            x[r, k] = 0.0


@routine
def add_product3(M, i, src, so, x, at, n):
    """x[:, at:at+n] += M[:, i:i+3] src[i:i+3, so:so+n]."""
    s0, s1, s2 = src[i, so : so + n], src[i + 1, so : so + n], src[i + 2, so : so + n]
    for r in range(6):
        m0, m1, m2 = M[r, i], M[r, i + 1], M[r, i + 2]
        xr = x[r, at : at + n]
        for k in range(n):
            xr[k] += m0 * s0[k] + m1 * s1[k] + m2 * s2[k]


@routine
def add_product6(M, src, so, x, at, n):
    """x[:, at:at+n] += M src[:, so:so+n], two rows of x at a time."""
    s0, s1, s2 = src[0, so : so + n], src[1, so : so + n], src[2, so : so + n]
    s3, s4, s5 = src[3, so : so + n], src[4, so : so + n], src[5, so : so + n]
    for half in range(3):
        r = 2 * half
        a0, a1, a2, a3, a4, a5 = M[r, 0], M[r, 1], M[r, 2], M[r, 3], M[r, 4], M[r, 5]
        b0, b1, b2, b3, b4, b5 = M[r + 1, 0], M[r + 1, 1], M[r + 1, 2], M[r + 1, 3], M[r + 1, 4], M[r + 1, 5]
        x0, x1 = x[r, at : at + n], x[r + 1, at : at + n]
        for k in range(n):
            y0, y1, y2, y3, y4, y5 = s0[k], s1[k], s2[k], s3[k], s4[k], s5[k]
            x0[k] += a0 * y0 + a1 * y1 + a2 * y2 + a3 * y3 + a4 * y4 + a5 * y5
            x1[k] += b0 * y0 + b1 * y1 + b2 * y2 + b3 * y3 + b4 * y4 + b5 * y5


@routine
def add_sparse_product(scale, M, src, so, x, at, n):
    """x[:, at:at+n] += scale · M src[:, so:so+n], for a matrix with many zeros."""
    for r in range(6):
        for c in range(6):
            m = scale * M[r, c]
            if m != 0.0:
                s = src[c, so : so + n]
                xr = x[r, at : at + n]
                for k in range(n):
                    xr[k] += m * s[k]


@routine
def add_matrix(M, x, at):
    """x[:, at:at+6] += M."""
    for r in range(6):
        for c in range(6):
            x[r, at + c] += M[r, c]


@routine
def project_pair(op, o, x, g, width):
    """g[:6, :width] = P₁ᵀ x[:, :width] and g[6:12] = P₂ᵀ x for the two dual matrices at op[o : o + 36]."""
    x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
    for c in range(3):
        a0, a1, a2 = op[o + c], op[o + 3 + c], op[o + 6 + c]
        b0, b1, b2 = op[o + 9 + c], op[o + 12 + c], op[o + 15 + c]
        c0, c1, c2 = op[o + 18 + c], op[o + 21 + c], op[o + 24 + c]
        d0, d1, d2 = op[o + 27 + c], op[o + 30 + c], op[o + 33 + c]
        g0, g1, g2, g3 = g[c], g[3 + c], g[6 + c], g[9 + c]
        for k in range(width):
            y0, y1, y2, y3, y4, y5 = x0[k], x1[k], x2[k], x3[k], x4[k], x5[k]
            g0[k] = a0 * y0 + a1 * y1 + a2 * y2 + b0 * y3 + b1 * y4 + b2 * y5
            g1[k] = a0 * y3 + a1 * y4 + a2 * y5
            g2[k] = c0 * y0 + c1 * y1 + c2 * y2 + d0 * y3 + d1 * y4 + d2 * y5
            g3[k] = c0 * y3 + c1 * y4 + c2 * y5


@routine
def expand_rows(phi, first, ranges, g, h, width):
    """h[k] += φ₁ₖ g[c(k)] + φ₂ₖ g[6 + c(k)]."""
    for c in range(6):
        g1 = g[c]
        g2 = g[6 + c]
        for k in range(ranges[RANGE + c], ranges[RANGE + c + 1]):
            f1 = phi[0, first + k]
            f2 = phi[1, first + k]
            hk = h[k]
            for j in range(width):
                hk[j] += f1 * g1[j] + f2 * g2[j]


@inline
def four_values(phi, first, second, k):
    """Basis values of a column at the nodes of two steps."""
    return (phi[0, first + k], phi[1, first + k], phi[0, second + k], phi[1, second + k])


@routine
def expand_two(phi, first, second, ranges, g, h, width):
    """`expand_rows` for two steps at once; the rows of the second follow in g[12:24]."""
    for c in range(6):
        g1, g2, g3, g4 = g[c, :width], g[6 + c, :width], g[12 + c, :width], g[18 + c, :width]
        k, end = ranges[RANGE + c], ranges[RANGE + c + 1]
        while k + 4 <= end:
            add_tile(
                h[k, :width], h[k + 1, :width], h[k + 2, :width], h[k + 3, :width], g1, g2, g3, g4,
                four_values(phi, first, second, k), four_values(phi, first, second, k + 1),
                four_values(phi, first, second, k + 2), four_values(phi, first, second, k + 3),
            )  # fmt: skip
            k += 4
        while k < end:
            f1, f2, f3, f4 = four_values(phi, first, second, k)
            hk = h[k]
            for j in range(width):
                hk[j] += f1 * g1[j] + f2 * g2[j] + f3 * g3[j] + f4 * g4[j]
            k += 1


@routine
def row_product(coef, e, X, c0, m, out):
    """out[:] = coef[e:e+6] X[:, c0:c0+m]."""
    e0, e1, e2, e3, e4, e5 = coef[e], coef[e + 1], coef[e + 2], coef[e + 3], coef[e + 4], coef[e + 5]
    x0, x1, x2 = X[0, c0 : c0 + m], X[1, c0 : c0 + m], X[2, c0 : c0 + m]
    x3, x4, x5 = X[3, c0 : c0 + m], X[4, c0 : c0 + m], X[5, c0 : c0 + m]
    for k in range(m):
        out[k] = e0 * x0[k] + e1 * x1[k] + e2 * x2[k] + e3 * x3[k] + e4 * x4[k] + e5 * x5[k]


@routine
def add_row_product3(coef, e, X, i, c0, m, out):
    """out[:] += coef[e+i:e+i+3] X[i:i+3, c0:c0+m]."""
    e0, e1, e2 = coef[e + i], coef[e + i + 1], coef[e + i + 2]
    x0, x1, x2 = X[i, c0 : c0 + m], X[i + 1, c0 : c0 + m], X[i + 2, c0 : c0 + m]
    for k in range(m):
        out[k] += e0 * x0[k] + e1 * x1[k] + e2 * x2[k]
