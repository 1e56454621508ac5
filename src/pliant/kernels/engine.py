"""The one heavy entry point of the package, and how a robot is packed for it.

Everything that needs derivatives is a *job* of a single kernel: numba optimises the code of a kernel together with all
that it calls, so several entries that share the recursion would each compile it again. The robot travels as three
flat arrays instead of some forty, which saves most of the cost of a call from Python.
"""

import numpy as np

from .._jit import kernel, routine
from .algebra.linear import cholesky, cholesky_solve
from .groups import GROUPS, unpack_fronts, unpack_internal, unpack_tables, unpack_work
from .layout import MESSAGE_COUNT
from .loads.together import contact_table, input_columns, loop_closure, tendon_lengths
from .packing import Packed, pack
from .recursion.blocks import all_columns
from .recursion.composite import mass_matrix
from .recursion.dynamics import newton_euler
from .recursion.forward import forward
from .recursion.tangent import tangent
from .solve.articulated import SIX, factor_mass_tree
from .solve.balance import power_balance
from .solve.factors import factor_tangent, solve_tangent
from .solve.fronts import solve_tree
from .solve.newton import CONVERGED, SINGULAR, alpha_step, statics
from .solve.prescribed import clear_known, eliminate
from .solve.residual import residual, residual_tangent

__all__ = ["GROUPS", "PARAMETERS", "Packed", "pack", "run"]

(
    ID,
    DERIVATIVES,
    RESIDUAL,
    TANGENT,
    MASS,
    FORWARD,
    STATICS,
    ALPHA,
    INPUTS,
    LENGTHS,
    CLOSURE,
    SOLVE,
    BALANCE,
    CONTACTS,
) = (np.int64(k) for k in range(14))
ONE = np.int64(1)
PARAMETERS = 32  # length of the parameter array: inputs from 0, reports from 16, memory of the integrator from 24


@routine
def forward_dynamics(t, work, c, loads, fronts, q, v, known, u, tau, acceleration, S, pivot):
    """Acceleration from M a = −r(q, v, 0), with that of prescribed coordinates given in `known`.

    If S[0] is square it gets the Cholesky factor of M; otherwise it is the store of the articulated-body algorithm.
    Returns a status.
    """
    residual(t, work, c, loads, q, v, known, u, tau, acceleration)
    clear_known(c, acceleration)
    for k in range(acceleration.shape[0]):
        acceleration[k] = -acceleration[k]
    if S.shape[1] != S.shape[2]:
        if not factor_mass_tree(t, work, c, fronts, S[0], pivot):
            return SINGULAR
        solve_tree(t, fronts, c.known, c.scale, SIX, S[0], pivot, acceleration)
    else:
        mass_matrix(t, work, S)
        eliminate(c, S[0])
        if not cholesky(S[0]):
            return SINGULAR
        cholesky_solve(S[0], acceleration)
    for k in range(acceleration.shape[0]):
        acceleration[k] += known[k]
    return CONVERGED


@routine
def step_derivatives(t, work, q, v):
    """Forward pass and the columns J (and R) of every step."""
    forward(t, q, v, work.zero, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)


@kernel
def run(job, ints, floats, buffer, q, v, w, a, u, tau, p, S, pivot, q1, v1, w1, a1):
    """Do one job.

    q (nq,), v, w, a (nv,): coordinates, velocity, acceleration, auxiliary acceleration of the integrator; u (nu,):
    inputs; tau (nv,): further generalised forces; p (PARAMETERS,); S (1 to 3, nv, nv); results in q1 (nq,), v1, w1, a1
    (nv,), S. Returns a status.

    | job | p[0:…] | results |
    |---|---|---|
    | ID | | v1 = ID(q, v, w) |
    | DERIVATIVES | cq, cv, ca (if S is one matrix) | v1 = ID, S = derivatives |
    | RESIDUAL | | v1 = r(q, v, w, u, tau) |
    | TANGENT | cq, cv, ca | v1 = r, S[0] = cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a |
    | MASS | | S[0] = M(q) |
    | FORWARD | | w (prescribed accelerations, else 0); w1 = acceleration, S[0] = factors of M |
    | STATICS | tolerance, iterations, radius, use energy, weight | q1 = equilibrium, from q1; p[16:22] report; S (2, …) |
    | SOLVE | cv, ca | v1 = r, w1 becomes (∂r/∂q + cv ∂r/∂v + ca ∂r/∂a)⁻¹ w1, S = factors |
    | INPUTS | | S[0] (nu, nv) = derivatives of the generalised forces with respect to the inputs |
    | LENGTHS | | S[0] (tendons, nv) = ∂ℓ/∂q, work.tension = lengths and rates |
    | CLOSURE | | S[0] (rows, nv) = derivatives of loop joints, work.closure = values, rates, accelerations |
    | BALANCE | 1 for the power | p[16:21] = kinetic, gravitational, elastic energy, potential of loads, power of loads and damping |
    | CONTACTS | gap | S[0] (rows, width) = table of contacts (see `contact`), p[16] = how many there are |
    | ALPHA | h; αm, αf, β, γ; rtol, atol, κ, iterations | q1, v1, w1, a1; p[16:21] report; p[24:27] memory |
    """
    t = unpack_tables(ints, floats)
    work = unpack_work(ints, buffer)
    if job == ID:
        newton_euler(t, work, q, v, w, v1)
        return CONVERGED
    if job == MASS:
        forward(t, q, work.zero, work.zero, work)
        mass_matrix(t, work, S)
        return CONVERGED
    loads = (ints, floats, buffer)
    if job == DERIVATIVES:
        tangent(t, work, loads, job < 0, q, v, w, u, p[0], p[1], p[2], v1, S)
        return CONVERGED
    if job == CONTACTS:
        forward(t, q, v, work.zero, work)
        contact_table(work, loads, q, v, u, p[0], S[0])
        p[16] = work.message[MESSAGE_COUNT]
        return CONVERGED
    if job == INPUTS or job == LENGTHS or job == CLOSURE:  # noqa: SIM109
        step_derivatives(t, work, q, v)
        if job == INPUTS:
            input_columns(t, work, loads, q, v, u, S[0])
        elif job == LENGTHS:
            tendon_lengths(work, loads, q, v, u, S[0])
        else:
            loop_closure(loads, q, v, u, S[0])
        return CONVERGED
    c = unpack_internal(ints, floats)
    if job == RESIDUAL:
        residual(t, work, c, loads, q, v, w, u, tau, v1)
        return CONVERGED
    if job == TANGENT:
        residual_tangent(t, work, c, loads, q, v, w, u, tau, p[0], p[1], p[2], v1, S)
        return CONVERGED
    if job == BALANCE:
        power_balance(t, work, c, loads, q, v, w, u, tau, p[0] != 0.0, v1, p[16:21])
        return CONVERGED
    fronts = unpack_fronts(ints, floats)
    if job == FORWARD:
        return forward_dynamics(t, work, c, loads, fronts, q, v, w, u, tau, w1, S, pivot)
    if job == SOLVE:
        if not factor_tangent(t, work, c, loads, fronts, q, v, w, u, tau, p[0], p[1], v1, S, pivot):
            return SINGULAR
        clear_known(c, w1)
        solve_tangent(t, c, fronts, S, pivot, w1)
        return CONVERGED
    if job == STATICS:
        options = (p[0], int(p[1]), p[2], p[3] != 0.0, p[4])
        return statics(t, work, c, loads, q1, u, tau, options, S[:1], S[1], q, pivot, p[16:22])
    h, alpha, tol, report, memory = p[0], p[1:5], p[5:9], p[16:21], p[24:27]
    return alpha_step(
        t, work, c, loads, fronts, q, v, w, a, u, tau, h, alpha, tol, S, pivot, memory, q1, v1, w1, a1, report
    )
