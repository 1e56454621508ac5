"""Products with wide dense matrices, and triangular systems with many right-hand sides, inside kernels.

Four rows of the result are combined with four of what they are made of, for all columns in one loop: sixteen products for twelve values that are read or written,
two or three times as fast as row by row. Without allocation.
"""

from ..._jit import inline, routine

__all__ = ["add_product", "add_transposed", "clear_upper", "solve_columns", "times"]


@inline
def add_tile(r0, r1, r2, r3, y0, y1, y2, y3, a, b, c, d):
    """Add a (4,), b, c, d times the rows y to the rows r."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    c0, c1, c2, c3 = c
    d0, d1, d2, d3 = d
    for k in range(r0.shape[0]):
        z0, z1, z2, z3 = y0[k], y1[k], y2[k], y3[k]
        r0[k] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
        r1[k] += b0 * z0 + b1 * z1 + b2 * z2 + b3 * z3
        r2[k] += c0 * z0 + c1 * z1 + c2 * z2 + c3 * z3
        r3[k] += d0 * z0 + d1 * z1 + d2 * z2 + d3 * z3


@inline
def add_one(r0, r1, r2, r3, y, a, b, c, d):
    """Add a, b, c, d times the row y to the rows r."""
    for k in range(r0.shape[0]):
        z = y[k]
        r0[k] += a * z
        r1[k] += b * z
        r2[k] += c * z
        r3[k] += d * z


@inline
def four(row, j, f):
    """Four entries of a row from j on, times f."""
    return (f * row[j], f * row[j + 1], f * row[j + 2], f * row[j + 3])


@routine
def add_rows(factor, P, i, first, end, Y, out):
    """Row i of `out` += factor P[i, first:end] Y[first:end]."""
    row, own = out[i], P[i]
    j = first
    while j + 4 <= end:
        f0, f1, f2, f3 = four(own, j, factor)
        y0, y1, y2, y3 = Y[j], Y[j + 1], Y[j + 2], Y[j + 3]
        for k in range(row.shape[0]):
            row[k] += f0 * y0[k] + f1 * y1[k] + f2 * y2[k] + f3 * y3[k]
        j += 4
    while j < end:
        f, y = factor * own[j], Y[j]
        for k in range(row.shape[0]):
            row[k] += f * y[k]
        j += 1


@routine
def add_four_rows(factor, P, i, first, end, Y, out):
    """Rows i to i + 4 of `out` += factor P[i : i + 4, first:end] Y[first:end]."""
    r0, r1, r2, r3 = out[i], out[i + 1], out[i + 2], out[i + 3]
    p0, p1, p2, p3 = P[i], P[i + 1], P[i + 2], P[i + 3]
    j = first
    while j + 4 <= end:
        add_tile(
            r0, r1, r2, r3, Y[j], Y[j + 1], Y[j + 2], Y[j + 3],
            four(p0, j, factor), four(p1, j, factor), four(p2, j, factor), four(p3, j, factor),
        )  # fmt: skip
        j += 4
    while j < end:
        add_one(r0, r1, r2, r3, Y[j], factor * p0[j], factor * p1[j], factor * p2[j], factor * p3[j])
        j += 1


@routine
def add_product(factor, P, Y, out):
    """out (n, d) += factor P Y for Y (m, d) and the first entries (n, m) of P."""
    n, m = out.shape[0], Y.shape[0]
    i = 0
    while i + 4 <= n:
        add_four_rows(factor, P, i, 0, m, Y, out)
        i += 4
    while i < n:
        add_rows(factor, P, i, 0, m, Y, out)
        i += 1


@routine
def times(P, Y, out):
    """out (n, d) = P Y for Y (m, d) and the first entries (n, m) of P."""
    for i in range(out.shape[0]):
        row = out[i]
        for k in range(row.shape[0]):
            row[k] = 0.0
    add_product(1.0, P, Y, out)


@routine
def clear_upper(out):
    """Zero from the diagonal on, and what `add_transposed` writes before it."""
    n = out.shape[0]
    for i in range(n):
        row = out[i, i - i % 4 : n]
        for k in range(row.shape[0]):
            row[k] = 0.0


@routine
def add_transposed(M, T, out):
    """out (n, n) += Mᵀ T for M, T (m, n) above the diagonal and on it; some entries below are written too."""
    m, n = M.shape
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = out[i, i:n], out[i + 1, i:n], out[i + 2, i:n], out[i + 3, i:n]
        j = 0
        while j + 4 <= m:
            m0, m1, m2, m3 = M[j], M[j + 1], M[j + 2], M[j + 3]
            add_tile(
                r0, r1, r2, r3, T[j, i:n], T[j + 1, i:n], T[j + 2, i:n], T[j + 3, i:n],
                (m0[i], m1[i], m2[i], m3[i]), (m0[i + 1], m1[i + 1], m2[i + 1], m3[i + 1]),
                (m0[i + 2], m1[i + 2], m2[i + 2], m3[i + 2]), (m0[i + 3], m1[i + 3], m2[i + 3], m3[i + 3]),
            )  # fmt: skip
            j += 4
        while j < m:
            add_one(r0, r1, r2, r3, T[j, i:n], M[j, i], M[j, i + 1], M[j, i + 2], M[j, i + 3])
            j += 1
        i += 4
    for r in range(i, n):
        row = out[r, r:n]
        for j in range(m):
            f, y = M[j, r], T[j, r:n]
            for k in range(row.shape[0]):
                row[k] += f * y[k]


@routine
def solve_columns(A, pivot, X):
    """Solve A X = X (n, d) in place with the factors of `lu_factor`."""
    n, d = X.shape
    for k in range(n):
        if pivot[k] != k:
            a, b = X[k], X[pivot[k]]
            for c in range(d):
                x = a[c]
                a[c] = b[c]
                b[c] = x
    i = 0
    while i < n:
        e = min(i + 4, n)
        if e == i + 4:
            add_four_rows(-1.0, A, i, 0, i, X, X)
            for r in range(i + 1, e):
                add_rows(-1.0, A, r, i, r, X, X)
        else:
            for r in range(i, e):
                add_rows(-1.0, A, r, 0, r, X, X)
        i = e
    i = n - n % 4 if n % 4 > 0 else n - 4
    while i >= 0:
        e = min(i + 4, n)
        if e == i + 4 and e < n:
            add_four_rows(-1.0, A, i, e, n, X, X)
        for r in range(e - 1, i - 1, -1):
            add_rows(-1.0, A, r, r + 1, e, X, X)
            row, f = X[r], 1.0 / A[r, r]
            for c in range(d):
                row[c] *= f
        i -= 4
