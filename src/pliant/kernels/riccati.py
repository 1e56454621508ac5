"""The sweep backwards of differential dynamic programming with bounds on the inputs.

Rows r = 0 … n of a motion have costs ½ yᵀHy + gᵀy in changes y = (x, u) of their state and of the input that acts in the step before (row 0: in the first), steps
have maps x′ = A x + B u, and some steps in a row, a knot, share their input. Within a knot the cost to go is a function of (x, u); where it begins u is chosen,
with bounds, by Newton's method projected on them. Costs of rates of inputs couple a knot with the one before, whose input p then belongs to the state.
"""

import numpy as np

from .._jit import kernel, routine
from .algebra.linear import cholesky, cholesky_solve
from .algebra.tiles import add_transposed, clear_upper, times

VECTORS = 7  # rows of scratch before those of gains
ROUNDS = 100  # of the projected iteration
CLOSE = 1e-13  # of the largest slope at its start, where it stops
SHORTEST = 1e-12
FLAT = 1e-12  # of the largest second derivative by an input, added to all: there may be inputs that nothing depends on


@routine
def mirror(H, n):
    """The first n rows and columns of H below its diagonal from those above it."""
    for i in range(n):
        row = H[i]
        for j in range(i + 1, n):
            H[j, i] = row[j]


@routine
def pull_back(M, H, g, Y, T, y):
    """The cost to go (H, g) in (x′, u) becomes (Y, g), that in (x, u), by x′ = M (x, u). Of H and Y the upper triangles count."""
    nx, n = M.shape
    mirror(H, nx)
    times(H, M, T)
    for i in range(nx):
        for j in range(nx, n):
            T[i, j] += H[i, j]
    clear_upper(Y)
    add_transposed(M, T, Y)
    for a in range(nx, n):
        row = Y[a]
        for b in range(a, n):
            row[b] += H[a, b]
        for r in range(nx):
            f, own = H[r, a], M[r]
            for b in range(a, n):
                row[b] += f * own[b]
    for i in range(n):
        y[i] = 0.0
    for r in range(nx):
        f, own = g[r], M[r]
        for i in range(n):
            y[i] += f * own[i]
    for i in range(n):
        g[i] = y[i] if i < nx else g[i] + y[i]


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
def substitute(F, X):
    """Solve FᵀF X = X (m, n) in place with the factor F (m, m) of `cholesky`, all columns at once."""
    m, n = X.shape
    for i in range(m):
        row, f = X[i], 1.0 / F[i, i]
        for j in range(i):
            g, other = F[j, i], X[j]
            for c in range(n):
                row[c] -= g * other[c]
        for c in range(n):
            row[c] *= f
    for i in range(m - 1, -1, -1):
        row, f = X[i], 1.0 / F[i, i]
        for j in range(i + 1, m):
            g, other = F[i, j], X[j]
            for c in range(n):
                row[c] -= g * other[c]
        for c in range(n):
            row[c] *= f


@routine
def choose_inputs(H, g, before, pull, low, high, damping, k, K, Q, F, vectors):
    """The inputs of a knot from the cost to go (H, g) in (x, u), which becomes that in (x, p); of H the upper triangle counts.

    The first of `before` (…, m, m) and of `pull` (…, m + 1, m) couple it with the knot before, see `sweep`; without them nothing depends on p. Returns what is won
    to first order, and what of that is lost to second; nan if the cost is not convex.
    """
    m, ny, n = k.shape[0], K.shape[1], H.shape[0]
    nx = n - m
    slope, step = vectors[0][:m], vectors[1][:m]
    left, right = vectors[VECTORS : VECTORS + 2 * m], vectors[VECTORS + 2 * m : VECTORS + 4 * m]
    top = 0.0
    for i in range(m):
        top = max(top, H[nx + i, nx + i])
    for i in range(m):
        for j in range(m):
            Q[i, j] = H[nx + min(i, j), nx + max(i, j)]
        Q[i, i] += damping[i] + (FLAT * top if top > 0.0 else 1.0)
    if not bounded_step(Q, g[nx:], low, high, k, F, slope, step):
        return np.nan, np.nan
    for i in range(m):  # Qux, and the gains
        Q[i, i] = H[nx + i, nx + i]
        row, gain = left[m + i], K[i]
        for c in range(nx):
            row[c] = H[c, nx + i]
        for c in range(nx, ny):
            row[c] = before[0, i, c - nx]
        for c in range(ny):
            gain[c] = -row[c] if step[i] == 1.0 else 0.0
    substitute(F, K)
    first, second = 0.0, 0.0
    for i in range(m):
        slope[i] = g[nx + i]
        for j in range(m):
            slope[i] += Q[i, j] * k[j]
        first += k[i] * g[nx + i]
        second += 0.5 * k[i] * (slope[i] - g[nx + i])
    for r in range(nx):
        for c in range(nx, n):
            H[r, c] = 0.0
    for r in range(nx, n):
        for c in range(r, n):
            H[r, c] = pull[0, r - nx, c - nx] if ny > nx else 0.0
        g[r] = pull[0, m, r - nx] if ny > nx else 0.0
    for i in range(m):  # H += Kᵀ (Q K + Qux) + Quxᵀ K
        row, both, gain, own, one = left[m + i], right[i], K[i], left[i], right[m + i]
        for c in range(ny):
            g[c] += row[c] * k[i] + gain[c] * slope[i]
            own[c] = gain[c]
            one[c] = gain[c]
            both[c] = row[c]
        for j in range(m):
            f, other = Q[i, j], K[j]
            for c in range(ny):
                both[c] += f * other[c]
    add_transposed(left[:, :ny], right[:, :ny], H)
    return first, second


@routine
def add_row(curve, slope, H, g):
    """H += curve above the diagonal, g += slope."""
    n = g.shape[0]
    for i in range(n):
        g[i] += slope[i]
        row, more = H[i, i:n], curve[i, i:n]
        for j in range(n - i):
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
    H, Y, T, Q, F, vectors : array (nx + m, nx + m) twice, (nx, nx + m), (m, m) twice, (VECTORS + 4 m, nx + m)
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
        add_row(curve[step + 1], slope[step + 1], H, g)
        back(maps[step], slope[step + 1], costate, gradient[own], vectors[0])
        pull_back(maps[step], H, g, Y, T, vectors[0])
        H, Y = Y, H
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
            H, g, before[i:], pull[i:], low[own], high[own], damping, k[own], K[own], Q, F, vectors
        )
        if not first <= 0.0:
            return own
        won[0] += first
        won[1] += second
    for r in range(w.shape[0]):
        w[r] = g[r]
        for c in range(r, w.shape[0]):
            V[r, c] = H[r, c]
    return np.int64(-1)
