"""Many states, inputs or robots of one shape in one call: the loop over items runs here, without Python.

Items do not know of each other. Each begins as a call of its own would (`layout.GIVEN` is set, reports are cleared), so that what
is found does not depend on the order of the items, on how many there are, or on what was computed before.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import managed, routine
from ..algebra.linear import cholesky, cholesky_solve, lu_factor, lu_solve
from ..groups import unpack_fronts, unpack_internal, unpack_tables
from ..layout import F1, F2, F3
from ..loads.together import input_columns
from ..packing import unpacker
from ..recursion.blocks import all_columns
from ..recursion.dynamics import newton_euler
from ..recursion.forward import forward
from ..slots import (
    OPTION_ENERGY,
    OPTION_TOLERANCE,
    OPTION_TREE,
    OPTION_WEIGHT,
    REPORT_ITERATIONS,
    REPORT_PIVOT,
    REPORT_RESIDUAL,
)
from .index1 import forward_dynamics
from .newton import CONVERGED, NOT_FINITE, SINGULAR, Factors, Problem
from .prescribed import clear_known, eliminate
from .residual import residual_derivatives, residual_tangent
from .statics import CLEAR, statics
from .stiffness import Stiffness, scaled_symmetric

# entries of a row of `Many.report`
MANY_STATUS, MANY_ITERATIONS, MANY_RESIDUAL, MANY_DEFINITE = (np.int64(k) for k in range(4))
MANY_REPORTS = 4
ONE = np.int64(1)


class Many(NamedTuple):
    """Items in rows; an array with one row is the same for all. With m items."""

    options: F1  # (PARAMETERS,) what a job is told, as each item gets it
    tables: F2  # (1 or m, reals) packed real tables of the robot
    given: F2  # (1 or m, …) the fields `layout.GIVEN`
    q: F2  # (m, nq) coordinates; of statics the start, and then the equilibrium
    v: F2  # (1 or m, nv) velocities
    a: F2  # (m, nv) accelerations; before, those of prescribed coordinates
    u: F2  # (1 or m, nu) inputs
    tau: F2  # (1 or m, nv) further generalised forces
    energy: F1  # (1 or m,) of statics: 1 to minimise the potential energy
    report: F2  # (m, MANY_REPORTS)
    out: F3  # (m, nv, …) derivatives, in columns
    matrices: F3  # (3, nv, nv) scratch
    columns: F2  # (nu, nv) scratch
    vectors: F2  # (3, nv) scratch
    inputs: F1  # (nu,) scratch


unpack_many = unpacker(Many, 0)


@routine
def row_of(table, k):
    """The row of item k."""
    return k if table.shape[0] > 1 else 0


@routine
def clear_stiffness(scale, K, A):
    """Whether the stiffness K with the scaled Cholesky factor A is positive definite beyond doubt."""
    clear = True
    for k in range(scale.shape[0]):
        clear = clear and A[k, k] * A[k, k] > CLEAR * (scale[k] * scale[k] * K[k, k])
    return clear


@routine
def one_equilibrium(problem, many, k, trial, S, pivot, p):
    """Newton's iteration of `statics` for item k; what it found is in its rows. Returns a status."""
    t, work, c = problem.t, problem.work, problem.c
    q, force = many.q[k], many.vectors[0]
    newton_euler(t, work, q, work.zero, work.zero, force)
    clear_known(c, force)
    weight = 0.0
    for i in range(force.shape[0]):
        size = abs(c.scale[i] * force[i])
        if not size < np.inf:
            return NOT_FINITE
        weight = max(weight, size)
    p[OPTION_WEIGHT] = weight
    p[OPTION_ENERGY] = many.energy[k if many.energy.shape[0] > 1 else 0]
    status = statics(problem, q, trial, Stiffness(S, pivot, p[OPTION_TREE] != 0.0), p)
    sure = status == CONVERGED and p[REPORT_PIVOT] > CLEAR and p[REPORT_RESIDUAL] <= p[OPTION_TOLERANCE]
    many.report[k, MANY_ITERATIONS] = p[REPORT_ITERATIONS]
    many.report[k, MANY_RESIDUAL] = p[REPORT_RESIDUAL]
    many.report[k, MANY_DEFINITE] = 1.0 if sure else 0.0
    return status


@routine
def columns_by_inputs(problem, many, q, v, u):
    """many.columns (nu, nv) = derivatives of the generalised forces by the inputs, zero on known coordinates."""
    t, work, loads = problem.t, problem.work, problem.loads
    for j in range(u.shape[0]):
        many.inputs[j] = u[j]  # kernels vary them
    forward(t, q, v, work.zero, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)
    input_columns(t, work, loads, q, v, many.inputs, many.columns)
    for j in range(u.shape[0]):
        clear_known(problem.c, many.columns[j])


@routine
def one_slope(problem, many, k, pivot):
    """out[k] (nv, nu) = dq/du in equilibrium: K⁻¹ B; whether K resists every motion beyond doubt is reported. Returns a status."""
    t, work, c, loads, _fronts, u, tau = problem
    q, x, K = many.q[k], many.vectors[0], many.matrices
    residual_tangent(t, work, c, loads, q, work.zero, work.zero, u, tau, 1.0, 0.0, 0.0, x, K[:1])
    eliminate(c, K[0])
    scaled_symmetric(K[0], c.scale, 0.0, K[1])
    sure = cholesky(K[1]) and clear_stiffness(c.scale, K[0], K[1])
    many.report[k, MANY_DEFINITE] = 1.0 if sure else 0.0
    columns_by_inputs(problem, many, q, work.zero, u)
    if not lu_factor(K[0], pivot):
        return SINGULAR
    for j in range(u.shape[0]):
        lu_solve(K[0], pivot, many.columns[j])
        for i in range(x.shape[0]):
            many.out[k, i, j] = many.columns[j, i]
    return CONVERGED


@routine
def one_linearisation(problem, many, k, S, pivot, p):
    """Accelerations a[k], and out[k] (nv, …) = their derivatives by q, v, u, and if there is room by τ. Returns a status."""
    t, work, c, loads, _fronts, u, tau = problem
    q, v, a = many.q[k], many.v[row_of(many.v, k)], many.a[k]
    known, x, r = many.vectors[0], many.vectors[1], many.vectors[2]
    n, nu = a.shape[0], u.shape[0]
    for i in range(n):
        known[i] = a[i]
    status = forward_dynamics(problem, q, v, known, a, Factors(S, pivot, p[OPTION_TREE] != 0.0))
    if status != CONVERGED:
        return status
    residual_derivatives(t, work, c, loads, q, v, a, u, tau, r, many.matrices)
    columns_by_inputs(problem, many, q, v, u)
    mass = many.matrices[2]
    eliminate(c, mass)
    if not cholesky(mass):
        return SINGULAR
    for j in range(many.out.shape[2]):
        for i in range(n):
            if j < n:
                x[i] = -many.matrices[0, i, j]
            elif j < 2 * n:
                x[i] = -many.matrices[1, i, j - n]
            elif j < 2 * n + nu:
                x[i] = many.columns[j - 2 * n, i]
            else:
                x[i] = 1.0 if i == j - 2 * n - nu else 0.0
        clear_known(c, x)
        cholesky_solve(mass, x)
        for i in range(n):
            many.out[k, i, j] = x[i]
    return CONVERGED


@routine
def begin_item(many, k, buffer, p):
    """Set what a call starts from."""
    given = many.given[row_of(many.given, k)]
    for i in range(given.shape[0]):
        buffer[1 + i] = given[i]
    for i in range(p.shape[0]):
        p[i] = many.options[i]


@managed
def problem_of(many, k, ints, buffer, work):
    """The equations of item k."""
    floats = many.tables[row_of(many.tables, k)]
    return Problem(
        unpack_tables(ints, floats),
        work,
        unpack_internal(ints, floats),
        (ints, floats, buffer),
        unpack_fronts(ints, floats),
        many.u[row_of(many.u, k)],
        many.tau[row_of(many.tau, k)],
    )
