"""The sweep backwards of differential dynamic programming with bounds on the inputs.

Rows r = 0 … n of a motion have costs ½ yᵀHy + gᵀy in changes y = (x, u) of their state and of the input that acts in the step before (row 0: in the first), steps
have maps x′ = A x + B u, and some steps in a row, a knot, share their input. Within a knot the cost to go is a function of (x, u); where it begins u is chosen,
with bounds, by Newton's method projected on them. Costs of rates of inputs couple a knot with the one before, whose input p then belongs to the state.
"""

import numpy as np

from .._jit import kernel, routine
from .algebra.linear import cholesky, cholesky_solve

ROUNDS = 100  # of the projected iteration
CLOSE = 1e-13  # of the largest slope at its start, where it stops
SHORTEST = 1e-12
FLAT = 1e-12  # of the largest second derivative by an input, added to all: there may be inputs that nothing depends on


@routine
def times(P, Y, out):
    """out (n, d) = P Y for Y (m, d) and the first entries (n, m) of P: two rows of `out` and four of Y at a time."""
    n, m, d = out.shape[0], Y.shape[0], Y.shape[1]
    i = 0
    while i + 2 <= n:
        r0, r1, p0, p1 = out[i], out[i + 1], P[i], P[i + 1]
        for c in range(d):
            r0[c] = 0.0
            r1[c] = 0.0
        j = 0
        while j + 4 <= m:
            a0, a1, a2, a3 = p0[j], p0[j + 1], p0[j + 2], p0[j + 3]
            b0, b1, b2, b3 = p1[j], p1[j + 1], p1[j + 2], p1[j + 3]
            y0, y1, y2, y3 = Y[j], Y[j + 1], Y[j + 2], Y[j + 3]
            for c in range(d):
                r0[c] += a0 * y0[c] + a1 * y1[c] + a2 * y2[c] + a3 * y3[c]
                r1[c] += b0 * y0[c] + b1 * y1[c] + b2 * y2[c] + b3 * y3[c]
            j += 4
        while j < m:
            a, b, y = p0[j], p1[j], Y[j]
            for c in range(d):
                r0[c] += a * y[c]
                r1[c] += b * y[c]
            j += 1
        i += 2
    while i < n:
        row, own = out[i], P[i]
        for c in range(d):
            row[c] = 0.0
        for j in range(m):
            a, y = own[j], Y[j]
            for c in range(d):
                row[c] += a * y[c]
        i += 1


@routine
def transposed_times(M, T, out):
    """The upper triangle of out (n, n) = Mᵀ T, which is symmetric but for its last columns; M, T (m, n)."""
    m, n = M.shape
    i = 0
    while i < n:
        two = i + 1 < n
        e = i + 1 if two else i
        r0, r1 = out[i, i:n], out[e, i:n]
        for c in range(r0.shape[0]):
            r0[c] = 0.0
            r1[c] = 0.0
        j = 0
        while j + 4 <= m:
            a0, a1, a2, a3 = M[j, i], M[j + 1, i], M[j + 2, i], M[j + 3, i]
            b0, b1, b2, b3 = M[j, e], M[j + 1, e], M[j + 2, e], M[j + 3, e]
            y0, y1, y2, y3 = T[j, i:n], T[j + 1, i:n], T[j + 2, i:n], T[j + 3, i:n]
            if two:
                for c in range(r0.shape[0]):
                    r0[c] += a0 * y0[c] + a1 * y1[c] + a2 * y2[c] + a3 * y3[c]
                    r1[c] += b0 * y0[c] + b1 * y1[c] + b2 * y2[c] + b3 * y3[c]
            else:
                for c in range(r0.shape[0]):
                    r0[c] += a0 * y0[c] + a1 * y1[c] + a2 * y2[c] + a3 * y3[c]
            j += 4
        while j < m:
            a, b, y = M[j, i], M[j, e], T[j, i:n]
            for c in range(r0.shape[0]):
                r0[c] += a * y[c]
                if two:
                    r1[c] += b * y[c]
            j += 1
        i += 2


@routine
def pull_back(M, H, g, Y, T, y):
    """The cost to go (H, g) in (x′, u) becomes that in (x, u) by x′ = M (x, u). H (n, n) is symmetric and whole, before and behind."""
    nx, n = M.shape
    times(H, M, T)
    for i in range(nx):
        for j in range(nx, n):
            T[i, j] += H[i, j]
    transposed_times(M, T, Y)
    for a in range(nx, n):
        for b in range(a, n):
            s = H[a, b]
            for r in range(nx):
                s += H[r, a] * M[r, b]
            Y[a, b] += s
    for i in range(n):
        y[i] = 0.0
    for r in range(nx):
        f = g[r]
        for i in range(n):
            y[i] += f * M[r, i]
    for i in range(n):
        g[i] = y[i] if i < nx else g[i] + y[i]
        H[i, i] = Y[i, i]
        for j in range(i + 1, n):
            H[i, j] = Y[i, j]
            H[j, i] = Y[i, j]


@routine
def bounded_step(Q, g, low, high, x, H, slope, step):
    """x (m,) minimises ½ xᵀQx + gᵀx within bounds; H becomes the factor of Q with rows and columns of those at bounds cleared, whose `step` is 0, else 1.

    Newton's method on what is free, projected on the bounds, with backtracking. Returns False if Q is not positive definite.
    """
    m = x.shape[0]
    size = 0.0
    for i in range(m):
        x[i] = min(max(0.0, low[i]), high[i])
        size = max(size, abs(g[i]))
    for _ in range(ROUNDS):
        left, value = 0.0, 0.0
        for i in range(m):
            slope[i] = g[i]
            for j in range(m):
                slope[i] += Q[i, j] * x[j]
            value += 0.5 * x[i] * (slope[i] + g[i])
        for i in range(m):
            bound = (x[i] <= low[i] and slope[i] > 0.0) or (x[i] >= high[i] and slope[i] < 0.0) or low[i] == high[i]
            step[i] = 0.0 if bound else 1.0
            if not bound:
                left = max(left, abs(slope[i]))
        for i in range(m):
            for j in range(m):
                H[i, j] = Q[i, j] if step[i] == 1.0 and step[j] == 1.0 else 0.0
            if step[i] == 0.0:
                H[i, i] = 1.0
                slope[i] = 0.0
        if not cholesky(H):
            return False
        if left <= CLOSE * size:
            return True
        cholesky_solve(H, slope)
        if not descend(Q, g, low, high, x, slope, value):
            return True
    return True


@routine
def descend(Q, g, low, high, x, newton, value):
    """x becomes the projection of x − f × newton for the first f = 1, ½, … that lowers the cost. Returns False if none does beyond rounding."""
    m, f = x.shape[0], 1.0
    while f > SHORTEST:
        new, moved = 0.0, 0.0
        for i in range(m):
            a = min(max(x[i] - f * newton[i], low[i]), high[i])
            moved = max(moved, abs(a - x[i]))
            s = g[i]
            for j in range(m):
                b = min(max(x[j] - f * newton[j], low[j]), high[j])
                s += 0.5 * Q[i, j] * b
            new += a * s
        if moved == 0.0:
            return False
        if new < value:
            for i in range(m):
                x[i] = min(max(x[i] - f * newton[i], low[i]), high[i])
            return True
        f *= 0.5
    return False


@routine
def choose_inputs(H, g, before, pull, low, high, damping, k, K, Q, F, V, w, vectors):
    """The inputs of a knot from the cost to go (H, g) in (x, u), and that in (x, p) which is left, into V and w.

    The first of `before` (…, m, m) and of `pull` (…, m + 1, m) couple it with the knot before, see `sweep`. Returns what is won to first order, and what of that
    is lost to second; nan if the cost is not convex.
    """
    m, ny, n = k.shape[0], K.shape[1], H.shape[0]
    nx = n - m
    slope, step, x = vectors[0][:m], vectors[1][:m], vectors[2][:m]
    row, other = vectors[3][:ny], vectors[4][:ny]
    top = 0.0
    for i in range(m):
        top = max(top, H[nx + i, nx + i])
    for i in range(m):
        for j in range(m):
            Q[i, j] = H[nx + i, nx + j]
        Q[i, i] += damping[i] + (FLAT * top if top > 0.0 else 1.0)
    if not bounded_step(Q, g[nx:], low, high, k, F, slope, step):
        return np.nan, np.nan
    for c in range(ny):
        for i in range(m):
            s = H[nx + i, c] if c < nx else before[0, i, c - nx]
            x[i] = -s if step[i] == 1.0 else 0.0
        cholesky_solve(F, x)
        for i in range(m):
            K[i, c] = x[i]
    first, second = 0.0, 0.0
    for i in range(m):
        slope[i] = g[nx + i]
        for j in range(m):
            slope[i] += H[nx + i, nx + j] * k[j]
        first += k[i] * g[nx + i]
        second += 0.5 * k[i] * (slope[i] - g[nx + i])
    for r in range(ny):
        for c in range(r, ny):
            if c < nx:
                V[r, c] = H[r, c]
            else:
                V[r, c] = pull[0, r - nx, c - nx] if r >= nx else 0.0
        w[r] = g[r] if r < nx else pull[0, m, r - nx]
    for i in range(m):  # V += Kᵀ (Q K + Qux) + Quxᵀ K, row by row
        for c in range(ny):
            row[c] = H[nx + i, c] if c < nx else before[0, i, c - nx]
            w[c] += row[c] * k[i] + K[i, c] * slope[i]
        for c in range(ny):
            other[c] = row[c]
            for j in range(m):
                other[c] += H[nx + i, nx + j] * K[j, c]
        for r in range(ny):
            a, b, line = K[i, r], row[r], V[r]
            for c in range(r, ny):
                line[c] += a * other[c] + b * K[i, c]
    return first, second


@routine
def add_row(curve, slope, H, g):
    """H += curve, g += slope."""
    for i in range(g.shape[0]):
        g[i] += slope[i]
        row, more = H[i], curve[i]
        for j in range(g.shape[0]):
            row[j] += more[j]


@routine
def back(M, slope, costate, gradient, y):
    """The costate behind a step becomes that before it, and what its input changes is added to the gradient."""
    nx, n = M.shape
    for j in range(n):
        y[j] = 0.0
    for r in range(nx):
        f = costate[r] + slope[r]
        for j in range(n):
            y[j] += f * M[r, j]
    for j in range(n):
        if j < nx:
            costate[j] = y[j]
        else:
            gradient[j - nx] += y[j] + slope[j]


@routine
def go_on(V, w, nx, m, H, g):
    """The cost to go in (x, p) of the knot that follows as that in (x, u): p is u."""
    ny = w.shape[0]
    for r in range(nx + m):
        g[r] = w[r] if r < ny else 0.0
        for c in range(r, nx + m):
            f = V[r, c] if c < ny else 0.0
            H[r, c] = f
            H[c, r] = f


@kernel("i1 f3 f3 f2 f3 f3 f2 f2 f1 f2 f3 f2 f1 f2 f1 f2 f2 f2 f2 f2 f2")
def sweep(
    knot, maps, curve, slope, before, pull, low, high, damping, k, K, gradient, won, V, w, H, Y, T, Q, F, vectors
):
    """Feedback u = k + K (x, p) of all knots, in changes. Returns −1, or the number of the knot where the cost to go is not convex.

    Parameters
    ----------
    knot : array (n,)
        Of each step, from 0.
    maps : array (n, nx, nx + m)
    curve, slope : array (n + 1, nx + m, nx + m), (n + 1, nx + m)
        Costs of rows.
    before, pull : array (knots, m, m), (knots, m + 1, m)
        ∂²/∂u∂p, and ∂²/∂p² with ∂/∂p as the last row, of the costs that couple a knot with the one before; (0, …) if there are none.
    low, high : array (knots, m)
        Bounds of changes.
    damping : array (m,)
        What is added to the diagonal of the second derivatives by u.
    k, K : array (knots, m), (knots, m, ny)
        Out; ny is nx, or nx + m with the inputs of the knot before.
    gradient : array (knots, m)
        Out: derivatives of the cost by the inputs, the states following.
    won : array (2,)
        Out: what the whole step wins to first order, and what of that is lost to second order.
    V, w : array (ny, ny), (ny,)
        Out: second (upper triangle) and first derivatives of the cost to go at the start.
    H, Y, T, Q, F, vectors : array (nx + m, nx + m) twice, (nx, nx + m), (m, m) twice, (7, nx + m)
        Scratch.
    """
    n, nx, width = maps.shape
    m, coupled = width - nx, before.shape[0] > 0
    g, costate = vectors[5], vectors[6]
    for j in range(width):
        costate[j] = 0.0
        g[j] = 0.0
        for i in range(width):
            H[i, j] = 0.0
    for i in range(gradient.shape[0]):
        for j in range(m):
            gradient[i, j] = 0.0
    won[0] = 0.0
    won[1] = 0.0
    for step in range(n - 1, -1, -1):
        own = knot[step]
        if step < n - 1 and knot[step + 1] != own:
            go_on(V, w, nx, m, H, g)
        add_row(curve[step + 1], slope[step + 1], H, g)
        back(maps[step], slope[step + 1], costate, gradient[own], vectors[0])
        pull_back(maps[step], H, g, Y, T, vectors[0])
        if step > 0 and knot[step - 1] == own:
            continue
        if step == 0:
            add_row(curve[0], slope[0], H, g)
            for j in range(m):
                gradient[own, j] += slope[0, nx + j]
        i = own if coupled else np.int64(0)
        if coupled and own > 0:
            for j in range(m):
                gradient[own - 1, j] += pull[own, m, j]
        first, second = choose_inputs(
            H, g, before[i:], pull[i:], low[own], high[own], damping, k[own], K[own], Q, F, V, w, vectors
        )
        if not first <= 0.0:
            return own
        won[0] += first
        won[1] += second
    return np.int64(-1)
