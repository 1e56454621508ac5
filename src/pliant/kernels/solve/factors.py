"""The linear system of a Newton step, behind one pair of functions: dense factors, or the elimination of a tree.

`factors` (S, pivot, tree) says with its flag `tree` what S (1, …) is: the store of `fronts`, or else a matrix (nv, nv).
"""

from ..._jit import routine
from ..algebra.linear import lu_factor, lu_solve, lu_solve_transposed
from ..layout import GENERAL_INERTIA, STEP_LOADS
from .articulated import EIGHTEEN, TWELVE, factor_tangent_tree
from .fronts import solve_tree, solve_tree_transposed
from .prescribed import eliminate
from .residual import residual_tangent


@routine
def scaled_factor(S, scale, pivot):
    """Equilibrate S (rows and columns in scaled units) and factor it."""
    n = S.shape[0]
    for i in range(n):
        for j in range(n):
            S[i, j] *= scale[i] * scale[j]
    return lu_factor(S, pivot)


@routine
def factor_tangent(t, work, c, loads, fronts, q, v, a, u, tau, cv, ca, r, factors):
    """The residual r and the factors of ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a. Returns False if it is singular."""
    S, pivot, tree = factors
    if tree:
        return factor_tangent_tree(t, work, c, loads, fronts, q, v, a, u, tau, cv, ca, r, S[0], pivot)
    residual_tangent(t, work, c, loads, q, v, a, u, tau, 1.0, cv, ca, r, S)
    eliminate(c, S[0])
    return scaled_factor(S[0], c.scale, pivot)


@routine
def solve_tangent(t, c, fronts, factors, x):
    """x (nv,) becomes the solution for the right-hand side x."""
    S, pivot, tree = factors
    scale = c.scale
    if tree:
        loaded = t.flags[GENERAL_INERTIA] != 0 or t.flags[STEP_LOADS] != 0
        solve_tree(t, fronts, c.known, scale, EIGHTEEN if loaded else TWELVE, S[0], pivot, x)
        return
    for k in range(x.shape[0]):
        x[k] *= scale[k]
    lu_solve(S[0], pivot, x)
    for k in range(x.shape[0]):
        x[k] *= scale[k]


@routine
def solve_transposed(t, c, fronts, factors, x):
    """x (nv,) becomes the solution with the transposed matrix."""
    S, pivot, tree = factors
    scale = c.scale
    if tree:
        loaded = t.flags[GENERAL_INERTIA] != 0 or t.flags[STEP_LOADS] != 0
        solve_tree_transposed(t, fronts, c.known, scale, EIGHTEEN if loaded else TWELVE, S[0], pivot, x)
        return
    for k in range(x.shape[0]):
        x[k] *= scale[k]
    lu_solve_transposed(S[0], pivot, x)
    for k in range(x.shape[0]):
        x[k] *= scale[k]
