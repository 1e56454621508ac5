"""Dense factorisations inside kernels: LU with row exchanges and Cholesky, without allocation.

Below some sixty unknowns they beat a call of LAPACK; above, the blocked routine wins and is used instead (see
benchmarks/linear.py).
"""

import numpy as np

from .._jit import routine


@routine
def lu_factor(A, pivot):
    """Factor A in place (unit lower triangle below the diagonal). Returns False if A is singular or not finite."""
    n = A.shape[0]
    for k in range(n):
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
        top = A[k, k + 1 : n]
        scale = 1.0 / A[k, k]
        for i in range(k + 1, n):
            f = A[i, k] * scale
            A[i, k] = f
            if f != 0.0:
                rest = A[i, k + 1 : n]
                for j in range(top.shape[0]):
                    rest[j] -= f * top[j]
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
    """Factor the lower triangle of A in place. Returns False at a pivot that is not positive beyond rounding."""
    n = A.shape[0]
    for j in range(n):
        row_j = A[j]
        d = row_j[j]
        least = 1e-14 * d  # what rounding leaves of a pivot that should be zero
        for k in range(j):
            d -= row_j[k] * row_j[k]
        if not d > least:
            return False
        d = np.sqrt(d)
        row_j[j] = d
        for i in range(j + 1, n):
            row_i = A[i]
            s = row_i[j]
            for k in range(j):
                s -= row_i[k] * row_j[k]
            row_i[j] = s / d
    return True


@routine
def cholesky_solve(A, b):
    """Solve in place with the factor of `cholesky`."""
    n = A.shape[0]
    for i in range(n):
        s = b[i]
        row = A[i]
        for k in range(i):
            s -= row[k] * b[k]
        b[i] = s / row[i]
    for i in range(n - 1, -1, -1):
        x = b[i] / A[i, i]
        b[i] = x
        row = A[i]
        for k in range(i):
            b[k] -= row[k] * x
