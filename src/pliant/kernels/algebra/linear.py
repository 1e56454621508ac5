"""Dense algebra inside kernels: LU with row exchanges, Cholesky, and which rows are independent; without allocation.

Up to some hundred unknowns they are as fast as a call of LAPACK, or faster.
"""

import numpy as np

from ..._jit import kernel, routine

DEPENDENT = 1e-5  # what may be left of a redundant row, relative to the row: its square is far above rounding
EMPTY = 1e-12  # size of a row, relative to the largest, that counts as none


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
def lu_solve_transposed(A, pivot, b):
    """Solve Aᵀ x = b in place with the factors of `lu_factor`."""
    n = A.shape[0]
    for i in range(n):
        x = b[i] / A[i, i]
        b[i] = x
        row = A[i, i + 1 : n]
        rest = b[i + 1 : n]
        for j in range(row.shape[0]):
            rest[j] -= row[j] * x
    for i in range(n - 1, 0, -1):
        x = b[i]
        row = A[i]
        for j in range(i):
            b[j] -= row[j] * x
    for k in range(n - 1, -1, -1):
        p = pivot[k]
        if p != k:
            c = b[k]
            b[k] = b[p]
            b[p] = c


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


@routine
def independent_rows(rows, choice):
    """Mark the rows that are independent of each other: the one treatment of redundant constraints.

    Parameters
    ----------
    rows : array (m, n)
        Derivatives of constraints in scaled coordinates, zero for coordinates that are known. Overwritten.
    choice : array (m,)
        Not zero for the rows that count. Out: 1 if independent, −1 if redundant, 0 as it was.

    Notes
    -----
    Gram–Schmidt: in each round the row of which most is left, relative to the whole, is taken and its direction removed from
    the others. Of rows with at least half as much left the first is taken, so that of two equal constraints the one that
    was described first carries the force, whatever rounding says. A row of which less than `DEPENDENT` is left follows from
    those taken. That is as much as constraints tell whose dependence holds in closed loops only: a loop that is open
    by 1e-6 of its size leaves as much. Whether the stiffness is large or small does not matter, so statics, motion and
    linearisation choose the same rows.
    """
    m, n = rows.shape
    largest = 0.0
    for k in range(m):
        largest = max(largest, row_norm(rows[k]))
    for k in range(m):
        if choice[k] != 0.0:
            choice[k] = -1.0
            size = row_norm(rows[k])
            counts = size > EMPTY * largest and size < np.inf
            for i in range(n):
                rows[k, i] = rows[k, i] / size if counts else 0.0
    while True:
        most = 0.0
        for k in range(m):
            if choice[k] < 0.0:
                most = max(most, row_norm(rows[k]))
        if not most > DEPENDENT:
            return
        taken = 0
        while not (choice[taken] < 0.0 and row_norm(rows[taken]) >= 0.5 * most):
            taken += 1
        choice[taken] = 1.0
        f = 1.0 / row_norm(rows[taken])
        for i in range(n):
            rows[taken, i] *= f
        for k in range(m):
            if choice[k] < 0.0:
                part = 0.0
                for i in range(n):
                    part += rows[k, i] * rows[taken, i]
                for i in range(n):
                    rows[k, i] -= part * rows[taken, i]


@routine
def row_norm(row):
    """Euclidean length."""
    total = 0.0
    for i in range(row.shape[0]):
        total += row[i] * row[i]
    return np.sqrt(total)


@kernel("f2 f1")
def mark_independent(rows, choice):
    """`independent_rows` for Python."""
    independent_rows(rows, choice)
