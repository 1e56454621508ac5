"""The one heavy entry point of the package, and how a robot is packed for it.

Everything that needs derivatives is a *job* of a single kernel: numba optimises the code of a kernel together with all
that it calls, so several entries that share the recursion would each compile it again. The robot travels as three
flat arrays instead of some forty, which saves most of the cost of a call from Python.
"""

import numpy as np

from .._jit import kernel, routine
from .groups import GROUPS, unpack_fronts, unpack_internal, unpack_tables, unpack_work
from .layout import MESSAGE_COUNT, NO
from .loads.together import contact_table, input_columns, loop_closure, loop_drift, tendon_lengths
from .packing import Packed, pack
from .recursion.blocks import all_columns
from .recursion.composite import mass_matrix
from .recursion.dynamics import newton_euler
from .recursion.forward import forward
from .recursion.tangent import tangent
from .reverse.tables import add_table_gradient
from .slots import (
    OPTION_CA,
    OPTION_CQ,
    OPTION_CV,
    OPTION_GAP,
    OPTION_RATE,
    OPTION_ROWS,
    OPTION_TREE,
    OPTION_VALUE,
    PARAMETERS,
    REPORT_FOUND,
)
from .solve.adjoint import adjoint
from .solve.alpha import alpha_step
from .solve.balance import power_balance
from .solve.factors import factor_tangent, solve_tangent
from .solve.index1 import close_loops, forward_dynamics
from .solve.many import (
    MANY_STATUS,
    begin_item,
    one_equilibrium,
    one_linearisation,
    one_slope,
    problem_of,
    unpack_many,
)
from .solve.mapped import step_maps
from .solve.march import march
from .solve.newton import CONVERGED, SINGULAR, Factors, Motion, Problem
from .solve.prescribed import clear_known
from .solve.pushed import push_step
from .solve.record import unpack_lever, unpack_record
from .solve.replay import replay
from .solve.residual import residual, residual_tangent
from .solve.rollout import rollout
from .solve.statics import statics
from .solve.stiffness import Stiffness
from .solve.tape import unpack_program, unpack_tape

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
    MARCH,
    DRIFT,
    TABLES,
    ROLLOUT,
    ADJOINT,
    PUSH,
    REPLAY,
    MAPS,
    MANY_STATICS,
    MANY_SLOPES,
    MANY_LINEAR,
) = (np.int64(k) for k in range(25))
ONE = np.int64(1)


@routine
def linear_solution(problem, q, v, a, r, x, factors, p):
    """x becomes (∂r/∂q + cv ∂r/∂v + ca ∂r/∂a)⁻¹ x; also the residual r. Returns a status."""
    t, work, c, loads, fronts, u, tau = problem
    cv, ca = p[OPTION_CV], p[OPTION_CA]
    if not factor_tangent(t, work, c, loads, fronts, q, v, a, u, tau, cv, ca, r, factors):
        return SINGULAR
    clear_known(c, x)
    solve_tangent(t, c, fronts, factors, x)
    return CONVERGED


@routine
def given_steps(job, problem, plan, floats, factors, p):
    """The jobs on a motion in given steps. Returns a status."""
    tape, rec, lever = unpack_tape(plan, floats), unpack_record(plan, floats), unpack_lever(plan, floats)
    if job == ROLLOUT:
        return rollout(problem, tape, rec, lever, factors, p)
    if job == ADJOINT:
        return adjoint(problem, tape, rec, lever, factors, p)
    if job == PUSH:
        return push_step(problem, tape, rec, lever, factors, p)
    if job == MAPS:
        return step_maps(problem, tape, rec, lever, factors, p)
    replay(problem, tape, rec, lever)
    return CONVERGED


@routine
def many_items(job, ints, buffer, work, many, q1, S, pivot, p):
    """The jobs on many items: each as a call of its own would be; what became of it is in its row of the report."""
    for k in range(many.q.shape[0]):
        begin_item(many, k, buffer, p)
        problem = problem_of(many, k, ints, buffer, work)
        if job == MANY_STATICS:
            status = one_equilibrium(problem, many, k, q1, S, pivot, p)
        elif job == MANY_SLOPES:
            status = one_slope(problem, many, k, pivot)
        else:
            status = one_linearisation(problem, many, k, S, pivot, p)
        many.report[k, MANY_STATUS] = status


@routine
def step_derivatives(t, work, q, v):
    """Forward pass and the columns J (and R) of every step."""
    forward(t, q, v, work.zero, work)
    all_columns(t, work, ONE, 1.0, 0.0, 0.0)


@kernel("n i1 f1 f1 f1 f1 f1 f1 f1 f1 f3 i1 f1 f1 f1 i1 f1")
def run(job, ints, floats, buffer, q, v, a, u, tau, p, S, pivot, q1, v1, a1, plan, tape):
    """Do one job.

    q (nq,), v, a (nv,): coordinates, velocity, acceleration; u (nu,): inputs; tau (nv,): further generalised forces;
    p (PARAMETERS,): options and reports, with names in `slots`; S (1 to 3, nv, nv), or the store of `solve.fronts` if
    p[OPTION_TREE] is 1; pivot (nv,); results in q1 (nq,), v1, a1 (nv,), S; `plan` and `tape`: memory of an integrator, integers and
    reals. Returns a status.

    | job | options | results |
    |---|---|---|
    | ID | | v1 = ID(q, v, a) |
    | DERIVATIVES | CQ, CV, CA (if S is one matrix) | v1 = ID, S = derivatives |
    | RESIDUAL | | v1 = r(q, v, a, u, tau) |
    | TANGENT | CQ, CV, CA | v1 = r, S[0] = cq ∂r/∂q + cv ∂r/∂v + ca ∂r/∂a |
    | MASS | | S[0] = M(q) |
    | FORWARD | TREE, RATE, VALUE | a (prescribed accelerations, else 0); a1 = acceleration, S[0] = factors of M; work.multiplier |
    | STATICS | TOLERANCE, ITERATIONS, RADIUS, ENERGY, WEIGHT, TREE | q1 = equilibrium, from q1; report; q is scratch; S (2, nv, nv), or the store |
    | SOLVE | CV, CA, TREE | v1 = r, a1 becomes (∂r/∂q + cv ∂r/∂v + ca ∂r/∂a)⁻¹ a1, S = factors |
    | INPUTS | | S[0] (nu, nv) = derivatives of the generalised forces with respect to the inputs |
    | LENGTHS | | S[0] (tendons, nv) = ∂ℓ/∂q, work.tension = lengths and rates |
    | CLOSURE | | S[0] (rows, nv) = derivatives of loop joints, work.closure = values, rates, accelerations |
    | DRIFT | CQ, CV, RATE, VALUE | S[0] (rows, nv) = derivatives of ë + rate · ė + value · e of loop joints at q, v, a |
    | BALANCE | POWER | report: energies and power |
    | CONTACTS | GAP | S[0] (rows, width) = table of contacts (see `contact`), report: how many there are |
    | ALPHA | H, ALPHA_M, …, TREE | q1, v1, a1; how far the auxiliary accelerations are from the true ones, old and new, in tape (8 nv,), the rest of which is scratch; report; memory |
    | TABLES | ROWS | tape (as `floats`) gains the derivatives of yᵀr by all real tables, y = a1; work.products: Kᵀy, Dᵀy, My |
    | MARCH | T, END, … | steps through time in the log of the tape (`solve.tape`); report; memory |
    | ROLLOUT | STEPS, BUDGET, FEEDBACK, GUESS | a motion in given steps into the record of the tape (`solve.record`); report; memory |
    | ADJOINT | | derivatives of a cost by inputs and start, and adjoints, of that motion |
    | PUSH | FIRST | variations through one step of that motion |
    | MAPS | FIRST, BUDGET | derivatives of the ends of steps of that motion by their starts and inputs |
    | REPLAY | | residuals of that motion, with its states as they are |
    | MANY_STATICS | as STATICS, in the tape | equilibria of many items (`solve.many`), from many starts |
    | MANY_SLOPES | | dq/du of many equilibria |
    | MANY_LINEAR | TREE, in the tape | accelerations of many states, and their derivatives by q, v, u, tau |
    """
    work = unpack_work(ints, buffer)
    if job >= MANY_STATICS:
        many_items(job, ints, buffer, work, unpack_many(plan, tape), q1, S, pivot, p)
        return CONVERGED
    t = unpack_tables(ints, floats)
    if job == ID:
        newton_euler(t, work, q, v, a, v1)
        return CONVERGED
    if job == MASS:
        forward(t, q, work.zero, work.zero, work)
        mass_matrix(t, work, S)
        return CONVERGED
    loads = (ints, floats, buffer)
    if job == DERIVATIVES:
        tangent(t, work, loads, NO, q, v, a, u, p[OPTION_CQ], p[OPTION_CV], p[OPTION_CA], v1, S)
        return CONVERGED
    if job == CONTACTS:
        forward(t, q, v, work.zero, work)
        contact_table(work, loads, q, v, u, p[OPTION_GAP], S[0])
        p[REPORT_FOUND] = work.message[MESSAGE_COUNT]
        return CONVERGED
    if job == DRIFT:
        forward(t, q, v, a, work)
        cq, cv = p[OPTION_CQ], p[OPTION_CV]
        all_columns(t, work, ONE, cq, cv, 0.0)
        loop_drift(work, loads, q, v, u, cq, cv, p[OPTION_RATE], p[OPTION_VALUE], S[0])
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
        residual(t, work, c, loads, q, v, a, u, tau, v1)
        return CONVERGED
    if job == TANGENT:
        cq, cv, ca = p[OPTION_CQ], p[OPTION_CV], p[OPTION_CA]
        residual_tangent(t, work, c, loads, q, v, a, u, tau, cq, cv, ca, v1, S)
        return CONVERGED
    if job == TABLES:
        add_table_gradient(t, work, c, loads, q, v, a, u, a1, 1.0, p[OPTION_ROWS] != 0.0, NO, tape)
        return CONVERGED
    problem = Problem(t, work, c, loads, unpack_fronts(ints, floats), u, tau)
    if job == BALANCE:
        power_balance(problem, q, v, a, v1, p)
        return CONVERGED
    if job == STATICS:
        return statics(problem, q1, q, Stiffness(S, pivot, p[OPTION_TREE] != 0.0), p)
    factors = Factors(S, pivot, p[OPTION_TREE] != 0.0)
    if job == FORWARD:
        status = forward_dynamics(problem, q, v, a, a1, factors)
        if status == CONVERGED and work.closure.shape[0] > 0:
            close_loops(problem, q, v, a1, factors, p[OPTION_RATE], p[OPTION_VALUE])
        return status
    if job == SOLVE:
        return linear_solution(problem, q, v, a, v1, a1, factors, p)
    if job == MARCH:
        return march(problem, unpack_tape(plan, tape), unpack_program(plan, tape), factors, p)
    if ROLLOUT <= job <= MAPS:
        return given_steps(job, problem, plan, tape, factors, p)
    n = v.shape[0]
    start = Motion(q, v, a, tape[2 * n : 3 * n], tape[3 * n : 4 * n], tape[4 * n : 5 * n])
    end = Motion(q1, v1, a1, tape[5 * n : 6 * n], tape[6 * n : 7 * n], tape[7 * n :])
    return alpha_step(problem, start, end, tape, factors, p)
