"""Dense factorisations inside kernels: LU with row exchanges and Cholesky, without allocation.

Up to some hundred unknowns they are as fast as a call of LAPACK, or faster.
"""

import numpy as np

from ..._jit import routine


@routine
def pivot_row(A, k, pivot):
    """Bring the largest entry of column k, from row k down, to the diagonal. Returns False if it is zero or not finite."""
    n = A.shape[0]
    best = -1.0
    row = k
    for i in range(k, n):
        size = abs(A[i, k])
        if size > best:
            best = size
            row = i
    pivot[k] = row
    if not (best > 0.0 and best < np.inf):
        return False
    if row != k:
        a = A[k]
        b = A[row]
        for j in range(n):
            c = a[j]
            a[j] = b[j]
            b[j] = c
    return True


@routine
def lu_factor(A, pivot):
    """Factor A in place (unit lower triangle below the diagonal). Returns False if A is singular or not finite.

    Columns are eliminated four at a time, so that the rest of the matrix is passed over a quarter as often.
    """
    n = A.shape[0]
    k = 0
    while k < n:
        width = min(4, n - k)
        for m in range(k, k + width):  # the panel
            if not pivot_row(A, m, pivot):
                return False
            scale = 1.0 / A[m, m]
            for i in range(m + 1, n):
                f = A[i, m] * scale
                A[i, m] = f
                for j in range(m + 1, k + width):
                    A[i, j] -= f * A[m, j]
        e = k + width
        for m in range(k + 1, e):  # rows of U to the right of the panel
            row = A[m, e:n]
            for l in range(k, m):
                f = A[m, l]
                top = A[l, e:n]
                for j in range(row.shape[0]):
                    row[j] -= f * top[j]
        if width == 4:
            r0, r1, r2, r3 = A[k, e:n], A[k + 1, e:n], A[k + 2, e:n], A[k + 3, e:n]
            for i in range(e, n):
                f0, f1, f2, f3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
                row = A[i, e:n]
                for j in range(row.shape[0]):
                    row[j] -= f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
        k = e
    return True


@routine
def lu_solve(A, pivot, b):
    """Solve in place with the factors of `lu_factor`."""
    n = A.shape[0]
    for k in range(n):
        p = pivot[k]
        if p != k:
            c = b[k]
            b[k] = b[p]
            b[p] = c
    for i in range(n):
        s = b[i]
        row = A[i]
        for j in range(i):
            s -= row[j] * b[j]
        b[i] = s
    for i in range(n - 1, -1, -1):
        s = b[i]
        row = A[i]
        for j in range(i + 1, n):
            s -= row[j] * b[j]
        b[i] = s / row[i]


@routine
def cholesky(A):
    """Factor A = UᵀU in place, U above the diagonal. Returns False at a pivot that is not positive beyond rounding.

    Only the upper triangle is read; the lower one is scratch. Rows are eliminated four at a time, as in `lu_factor`.
    """
    n = A.shape[0]
    first = A[0, 0]
    for i in range(1, n):
        A[i, 0] = A[i, i]  # what rounding is compared with
    k = 0
    while k < n:
        e = min(k + 4, n)
        for m in range(k, e):
            row = A[m, m:n]
            for l in range(k, m):
                f = A[l, m]
                top = A[l, m:n]
                for j in range(row.shape[0]):
                    row[j] -= f * top[j]
            whole = A[m, 0] if m > 0 else first
            if not row[0] > 1e-14 * whole:
                return False
            f = 1.0 / np.sqrt(row[0])
            for j in range(row.shape[0]):
                row[j] *= f
        if e == k + 4:
            for i in range(e, n):
                f0, f1, f2, f3 = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
                r0, r1, r2, r3 = A[k, i:n], A[k + 1, i:n], A[k + 2, i:n], A[k + 3, i:n]
                row = A[i, i:n]
                for j in range(row.shape[0]):
                    row[j] -= f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
        k = e
    return True


@routine
def cholesky_solve(A, b):
    """Solve in place with the factor of `cholesky`."""
    n = A.shape[0]
    for i in range(n):
        x = b[i] / A[i, i]
        b[i] = x
        row = A[i, i + 1 : n]
        rest = b[i + 1 : n]
        for k in range(row.shape[0]):
            rest[k] -= row[k] * x
    for i in range(n - 1, -1, -1):
        s = b[i]
        row = A[i]
        for k in range(i + 1, n):
            s -= row[k] * b[k]
        b[i] = s / row[i]
