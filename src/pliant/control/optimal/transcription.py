"""Direct transcription: the states of all steps as unknowns beside the inputs, the steps as equations between them, solved by Ipopt through CasADi.

The equations are the implicit steps that a rollout takes, with exact derivatives, so that a solution is an optimum of the same problem as that of
`ddp`; it is found on another way, through motions that are none yet, and takes bounds of quantities as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...gradients.costs.states import States, slopes_of
from ...gradients.rollout import Rollout
from .ddp import TIGHT, Options, Solution, Solver
from .expansion import couples, empty, expand
from .intervals import Interval, needs_plain_time
from .problem import Problem

__all__ = ["Transcription", "transcribe"]

Array = NDArray[np.float64]
SNAP = 1e-6  # of the room between bounds: inputs as near are at them
HISTORY = 100  # steps that the curvature of cost and equations together is learnt from
BARRIER = 1e-3  # of the tolerance: what inputs near their bounds are pushed off by is not to be seen
INTERRUPTED = "Interrupted"
ENDS = {INTERRUPTED: "interrupted", "Solve_Succeeded": "converged", "Solved_To_Acceptable_Level": "converged", "Maximum_Iterations_Exceeded": "iterations", "Infeasible_Problem_Detected": "infeasible"}  # fmt: skip


class Transcription:
    """The problem in numbers: unknowns w = (x₀, x₁ … xₙ, u), cost, equations and their derivatives.

    Parameters
    ----------
    problem : Problem
        Of a robot without spherical and free joints.
    """

    def __init__(self, problem: Problem) -> None:
        needs_plain_time(problem, "method='collocation'")
        system = problem.system
        if system.manifold_joints or system.loop_rows:
            what = "spherical or free joints" if system.manifold_joints else "loops"
            raise ValueError(
                f"method='collocation': {system.name!r} has {what}, so that its states are no plain numbers. Use method='ddp'."
            )
        if couples(problem.cost):
            raise ValueError(
                "method='collocation': rates of inputs (pl.Smooth) couple knots. Leave them out, or use method='ddp'."
            )
        self.problem, self.system = problem, system
        self.nx, self.nu, self.n = 2 * system.nv, system.nu, problem.knots * problem.steps
        self.knot = np.repeat(np.arange(problem.knots), problem.steps)
        self.interval = Interval(problem, 1)
        self.times: Array = problem.t0 + problem.step * np.arange(self.n + 1, dtype=np.float64)
        self.size = (self.n + 1) * self.nx + problem.knots * self.nu
        self._expansion = empty(self.states(np.zeros(self.size)), problem.knots, 0, False)
        # where each entry of a row (x, u) is among the unknowns
        first = (self.n + 1) * self.nx
        of_u = first + np.concatenate([[0], self.knot])[:, None] * self.nu + np.arange(self.nu)
        self.places = np.hstack([np.arange(first).reshape(self.n + 1, self.nx), of_u])
        self._count = [np.flatnonzero(c.rows(self.states(np.zeros(self.size)))) for c in problem.constraints]

    def states(self, w: Array) -> States:
        """The rows of unknowns."""
        x, u = self.split(w)
        nv = self.system.nv
        return States(self.system, self.times, x[:, :nv], x[:, nv:], u[np.concatenate([[0], self.knot])])

    def split(self, w: Array) -> tuple[Array, Array]:
        """States (n + 1, nx) and inputs (knots, nu)."""
        m = (self.n + 1) * self.nx
        return w[:m].reshape(self.n + 1, self.nx), w[m:].reshape(self.problem.knots, self.nu)

    def bounds(self) -> tuple[Array, Array, Array, Array]:
        """Of the unknowns, and of the equations."""
        p, nv = self.problem, self.system.nv
        low = np.concatenate([np.full((self.n + 1) * self.nx, -np.inf), p.lower.ravel()])
        high = np.concatenate([np.full((self.n + 1) * self.nx, np.inf), p.upper.ravel()])
        for name, part, own in (("start", slice(0, nv), p.q), ("velocity", slice(nv, 2 * nv), p.v)):
            if name not in p.free:
                low[part] = high[part] = own
        zero = [np.zeros(self.n * self.nx)]
        lows, highs = zero.copy(), zero.copy()
        for constraint, rows in zip(p.constraints, self._count):
            shape = len(rows), constraint.check(self.system)
            lows.append(np.broadcast_to(constraint.lower, shape).ravel())
            highs.append(np.broadcast_to(constraint.upper, shape).ravel())
        return low, high, np.concatenate(lows), np.concatenate(highs)

    def cost(self, w: Array) -> float:
        """Its value."""
        return self.problem.cost.evaluate(self.states(w)).value

    def gradient(self, w: Array) -> Array:
        """Of the cost."""
        expand(self.problem.cost, self.states(w), self.knot, self._expansion)
        out = np.zeros(self.size)
        np.add.at(out, self.places, self._expansion.slope)
        return out

    def equations(self, w: Array) -> Array:
        """What the steps leave open, F(xₖ, u) − xₖ₊₁, and quantities with bounds; error if a step cannot be taken."""
        x, u = self.split(w)
        gaps = np.empty((self.n, self.nx))
        for k in range(self.n):
            self._go(k, x, u)
            gaps[k] = self.interval.end - x[k + 1]
        states = self.states(w)
        bounded = [c.quantity.evaluate(states, r).value.ravel() for c, r in zip(self.problem.constraints, self._count)]
        return np.concatenate([gaps.ravel(), *bounded])

    def jacobian(self, w: Array) -> sparse.csc_matrix:
        """Of the equations."""
        x, u = self.split(w)
        blocks: list[tuple[Any, ...]] = []
        own = np.arange(self.nx)
        for k in range(self.n):
            self._go(k, x, u)
            by_x, by_u = self.interval.slopes()
            rows = k * self.nx + own
            both = np.hstack([by_x[-1], by_u[-1]])
            columns = np.concatenate([self.places[k, : self.nx], self.places[k + 1, self.nx :]])
            blocks.append((both, *np.broadcast_arrays(rows[:, None], columns)))
            blocks.append((-np.ones(self.nx), rows, self.places[k + 1, : self.nx]))
        states, first = self.states(w), self.n * self.nx
        for constraint, at in zip(self.problem.constraints, self._count):
            found = constraint.quantity.evaluate(states, at)
            count, m = found.value.shape
            own_rows = first + np.arange(count * m).reshape(count, m)
            nv = self.system.nv
            for J, part in zip(slopes_of(found, at), (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, None))):
                if J is not None:
                    blocks.append((J, *np.broadcast_arrays(own_rows[:, :, None], self.places[at][:, None, part])))
            first += count * m
        values, rows, columns = (np.concatenate([np.ravel(block[i]) for block in blocks]) for i in range(3))
        return sparse.csc_matrix((values, (rows, columns)), (first, self.size))

    def _go(self, k: int, x: Array, u: Array) -> None:
        if not self.interval.go(k, x[k], u[self.knot[k]]):
            raise ArithmeticError(f"step {k + 1} cannot be taken")


def transcribe(problem: Problem, U: Array, options: Options) -> tuple[Solution, Rollout, str]:
    """Solve a problem by Ipopt, from the motion of some inputs; what was found, its motion, and what Ipopt says.

    Gains and slopes are those of a sweep of `ddp` along the motion of the inputs that were found.
    """
    try:
        import casadi
    except ImportError:
        raise ImportError(
            "method='collocation' needs CasADi, which brings Ipopt: pip install 'pliant[casadi]'."
        ) from None
    clock = time.perf_counter()
    task = Transcription(problem)
    low, high, least, most = task.bounds()
    guess, scale = _guess(task, U)
    calls = _callbacks(casadi, task, guess)
    costs: list[float] = []
    reached: list[Array] = []
    tolerance = max(BARRIER * options.tolerance * scale, 1e-13)
    settings = {
        "grad_f": calls["grad_f"], "jac_g": calls["jac_g"], "iteration_callback": calls["watch"](costs, reached),
        "no_nlp_grad": True, "calc_lam_p": False, "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes",
        "ipopt.tol": tolerance, "ipopt.acceptable_tol": 10.0 * tolerance, "ipopt.constr_viol_tol": min(1e-9, options.violation),
        "ipopt.max_iter": options.iterations, "ipopt.nlp_scaling_method": "none", "ipopt.hessian_approximation": "limited-memory", "ipopt.limited_memory_max_history": HISTORY, "ipopt.bound_relax_factor": 0.0, "ipopt.s_max": 1e12,
    }  # fmt: skip
    solver = casadi.nlpsol("transcription", "ipopt", calls["nlp"], settings)
    try:
        found = solver(x0=guess, lbx=low, ubx=high, lbg=least, ubg=most)
        said, count = str(solver.stats()["return_status"]), int(solver.stats()["iter_count"])
        w, g = (np.array(found[name]).ravel() for name in ("x", "g"))
        if calls["interrupted"]:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not reached:
            raise
        w, said, count = reached[-1], INTERRUPTED, len(costs) - 1
        g = task.equations(w)
    x, u = task.split(w)
    nv = task.system.nv
    off = float(np.maximum(0.0, np.maximum(least - g, g - most))[task.n * task.nx :].max(initial=0.0))
    there = replace(problem, q=x[0, :nv].copy(), v=x[0, nv:].copy(), constraints=(), free=())
    # to rounding from the first motion on: else inputs would move by what the gains make of its error, much for an unstable robot
    sweep = Solver(there, _snapped(problem, u), tolerance=TIGHT)
    own = sweep.solve(replace(options, iterations=0, scale=max(options.scale, scale)))
    solution = replace(
        own, status=ENDS.get(said, "stalled"), costs=costs or own.costs, violation=off, iterations=count,
        rollouts=0, seconds=time.perf_counter() - clock,
    )  # fmt: skip
    return solution, sweep.steps.rollout(), said


def _snapped(problem: Problem, u: Array) -> Array:
    """Inputs at the bounds that a barrier keeps them a little off."""
    room = problem.upper - problem.lower
    near = SNAP * np.where(np.isfinite(room), room, 0.0)
    out = np.where(u - problem.lower <= near, problem.lower, u)
    return problem.clipped(np.where(problem.upper - u <= near, problem.upper, out))


def _guess(task: Transcription, U: Array) -> tuple[Array, float]:
    """Unknowns to start with, the motion of the inputs or its start all the time, and the largest derivative of the cost by an input there."""
    p = task.problem
    inputs = p.clipped(U)
    try:
        run = p.rollout(inputs)
        x, scale = np.hstack([run.q, run.v]), float(np.abs(run.gradient(p.cost).u).max(initial=0.0))
    except ArithmeticError:
        x, scale = np.tile(np.concatenate([p.q, p.v]), (task.n + 1, 1)), 1.0
    return np.concatenate([x.ravel(), inputs.ravel()]), scale or 1.0


def _callbacks(casadi: Any, task: Transcription, w0: Array) -> dict[str, Any]:
    """The functions that Ipopt calls, as functions of CasADi; it does not keep them alive."""
    rows = len(task.bounds()[2])
    dense, nothing = casadi.Sparsity.dense, casadi.Sparsity(0, 0)
    # structure, with entries that happen to vanish
    jacobian = _structure(casadi, task.jacobian, w0, task.size)

    class Call(casadi.Callback):
        def __init__(
            self,
            name: str,
            given: list[tuple[str, Any]],
            results: list[tuple[str, Any]],
            value: Callable[..., list[Any]],
        ) -> None:
            casadi.Callback.__init__(self)
            self.given, self.results, self.value = given, results, value
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.given)

        def get_n_out(self) -> int:
            return len(self.results)

        def get_name_in(self, i: int) -> str:
            return self.given[i][0]

        def get_name_out(self, i: int) -> str:
            return self.results[i][0]

        def get_sparsity_in(self, i: int) -> Any:
            return self.given[i][1]

        def get_sparsity_out(self, i: int) -> Any:
            return self.results[i][1]

        def eval(self, arguments: list[Any]) -> list[Any]:
            try:
                return self.value(*(np.array(x, dtype=float).ravel() for x in arguments))
            except (ArithmeticError, KeyboardInterrupt) as error:  # for NaN Ipopt shortens its step
                if isinstance(error, KeyboardInterrupt):
                    interrupted.append(True)  # which CasADi would make an error of its own
                return [casadi.DM(sparsity, np.full(sparsity.nnz(), np.nan)) for _name, sparsity in self.results]

    x, p, g = ("x", dense(task.size, 1)), ("p", nothing), ("g", dense(rows, 1))
    f, one = ("f", dense(1, 1)), dense(1, 1)

    interrupted: list[bool] = []

    def watch(costs: list[float], reached: list[Array]) -> Any:
        given = [x, f, g, ("lam_x", dense(task.size, 1)), ("lam_g", dense(rows, 1)), ("lam_p", nothing)]

        def note(x: Array, value: Array, *_others: Array) -> list[Any]:
            costs.append(float(value[0]))
            reached[:] = [x.copy()]
            return [float(bool(interrupted))]  # 1 ends it

        kept.append(Call("watch", given, [("ret", one)], note))
        return kept[-1]

    def matrix(pattern: Any, found: sparse.csc_matrix) -> Any:
        return casadi.DM(pattern[0], pattern[1](found))

    kept: list[Any] = []
    return {
        "nlp": Call("nlp", [x, p], [f, g], lambda w, _p: [task.cost(w), task.equations(w)]),
        "grad_f": Call("grad_f", [x, p], [f, ("grad_f_x", dense(task.size, 1))], lambda w, _p: [task.cost(w), task.gradient(w)]),
        "jac_g": Call("jac_g", [x, p], [g, ("jac_g_x", jacobian[0])], lambda w, _p: [task.equations(w), matrix(jacobian, task.jacobian(w))]),
        "watch": watch, "kept": kept, "interrupted": interrupted,
    }  # fmt: skip


def _structure(
    casadi: Any, function: Callable[[Array], sparse.csc_matrix], w0: Array, columns: int
) -> tuple[Any, Callable[[Any], Array]]:
    """The sparsity of a matrix, whatever its values, and how values are read into it."""
    pattern = function(w0)
    pattern.sum_duplicates()
    pattern.sort_indices()
    sparsity = casadi.Sparsity(pattern.shape[0], columns, pattern.indptr.tolist(), pattern.indices.tolist())

    def values(found: sparse.csc_matrix) -> Array:
        found.sum_duplicates()
        found.sort_indices()
        return np.asarray(found.data, dtype=float)

    return sparsity, values
