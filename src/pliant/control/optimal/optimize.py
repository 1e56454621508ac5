"""`optimize`: optimal inputs of a motion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...gradients.costs.constraint import Constraint
from ...gradients.rollout import Method, Rollout
from ...model.validate import choice, integer, positive
from ...system import System
from .ddp import Options, Policy, Solution, Solver
from .design import checked_parameters, optimise_design
from .plan import OptimalPlan
from .problem import Problem, initial_inputs, problem_of

__all__ = ["optimize", "solve_problem"]

Array = NDArray[np.float64]

MESSAGES = {
    "converged": "the projected gradient, or what a step could still win, is below the tolerance",
    "stalled": "no step lowers the cost any more, but the projected gradient is above the tolerance",
    "iterations": "the iterations were used up; start again from this plan, or allow more",
    "interrupted": "Ctrl-C ended it: this is the best plan so far, from which start=plan goes on",
    "infeasible": "the constraints are not met: they may contradict each other, or the bounds of the inputs",
}


def optimize(
    system: System,
    cost: Any,
    *,
    horizon: float,
    knots: int,
    bounds: Any = None,
    steps: int = 1,
    start: Any = None,
    velocity: ArrayLike | None = None,
    t0: float | None = None,
    guess: ArrayLike | None = None,
    constraints: Constraint | Iterable[Constraint] = (),
    tau: ArrayLike | None = None,
    motion: Mapping[str, Any] | None = None,
    free: str | Iterable[str] = (),
    parameters: Mapping[str, tuple[float, float]] | None = None,
    method: Literal["ddp", "collocation"] = "ddp",
    integrator: Method = "sdirk2",
    tolerance: float = 1e-6,
    iterations: int = 200,
    violation: float = 1e-6,
    threads: int | None = None,
) -> OptimalPlan:
    """Inputs that minimise a cost of the motion that they make, by differential dynamic programming with exact maps of all steps.

    Parameters
    ----------
    system : System
    cost : Cost, or a list of them
        Terms: quantities with penalties, for instance ``[pl.Reach("arm.tip", goal), pl.Effort(1e-4)]``. They are judged at the ends of steps.
    horizon : float
        Time [s].
    knots : int
        Number of inputs, each held for an equal share of the time.
    bounds : pair (lower, upper), or dict of pairs by name, optional
        Bounds of inputs: numbers, or arrays (nu,); None is no bound. Those of the robot itself always hold (tendons do not push).
    steps : int
        Steps of the rollout for each knot.
    start, velocity, t0
        Where the motion starts, as in `simulate`. An `OptimalPlan` starts from its start, and with its inputs: ``start=plan.shifted()``.
    guess : array (knots, nu) or (nu,), optional
        Inputs to begin with; by default those of `start`, or what is nearest to zero.
    constraints : Constraint, or a list of them
        Quantities with bounds, for instance ``pl.costs.Position("arm.tip")[2] >= 0.05``, at all states or some; met by an augmented Lagrangian.
    tau, motion
        Further generalised forces and prescribed motion, as in `rollout`.
    free : "start", "velocity", or a list of them
        What is optimised with the inputs: coordinates or velocities of the start.
    parameters : dict of pairs (lower, upper), optional
        Parameters of the robot (`System.parameters`) that are optimised too, between bounds; the start is held fixed. The result's `system` has them.
    method : {"ddp", "collocation"}
        How it is solved: by differential dynamic programming, or by Ipopt (through CasADi, ``pip install 'pliant[casadi]'``) with the states of all steps as unknowns
        and the same implicit steps as equations, so that both have the same optima. The latter is for robots without loops, spherical and free joints.
    integrator : {"sdirk2", "sdirk3", "midpoint", "euler"}
        Method of the rollout.
    tolerance : float
        Where it stops: the largest derivative of the cost by an input that no bound holds back, relative to the largest that there was at the
        beginning, or to what the cost of inputs has; or where a step would win less than 1000 times the square of it, of the cost, twice in a row.
    iterations : int
        At most so many.
    violation : float
        How far constraints may be off, in their own units.
    threads : int, optional
        That find the derivatives of steps, which makes no difference to the result; by default one for each processor.

    Returns
    -------
    OptimalPlan
        Also if it ends early: `status` says why. Ctrl-C ends it with the best plan so far ("interrupted").

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> for k, (y, z) in enumerate([(0.0, 0.012), (0.010, -0.006), (-0.010, -0.006)]):
    ...     cable = robot.add_tendon(f"cable{k}", arm, y=y, z=z)
    >>> system = robot.compile()
    >>> cost = [pl.Reach("arm.tip", (0.36, 0.05, 0.08), 100.0), pl.Still("arm.tip"), pl.Effort(1e-4)]
    >>> plan = pl.optimize(
    ...     system, cost, bounds=(0, 20), horizon=0.5, knots=25, start=pl.solve_statics(system)
    ... )
    >>> plan.status, plan.u.shape, plan.gains.shape
    ('converged', (25, 3), (25, 3, 24))
    >>> bool(abs(plan.rollout.positions("arm.tip")[-1] - (0.36, 0.05, 0.08)).max() < 0.01)
    True
    """
    choice("method", method, ("ddp", "collocation"))
    warm = start if isinstance(start, OptimalPlan) else None
    begin, z = start, None
    if warm is not None:
        begin, z = warm.problem.q, warm.problem.z
        velocity = warm.problem.v if velocity is None else velocity
        t0 = warm.problem.t0 if t0 is None else t0
        guess = warm.u if guess is None else guess
    problem = problem_of(
        system, cost, horizon=horizon, knots=knots, bounds=bounds, steps=steps, start=begin, velocity=velocity, t0=t0,
        constraints=constraints, tau=tau, motion=motion, integrator=integrator, free=free,
        threads=threads,
    )  # fmt: skip
    if z is not None and z.shape == problem.z.shape:
        problem = replace(problem, z=z)
    options = Options(
        positive("tolerance", tolerance), integer("iterations", iterations), positive("violation", violation),
        scale=0.0 if warm is None else warm.scale,
    )  # fmt: skip
    U = initial_inputs(problem, guess)
    if method == "collocation":
        return _collocated(problem, U, options, parameters)
    if parameters is None:
        return solve_problem(problem, U, options, None if warm is None else warm.policy)
    wanted = checked_parameters(system, parameters)
    problem, found, run, values, said = optimise_design(problem, U, options, wanted)
    plan = plan_from(problem, found, run)
    return replace(plan, parameters=values, warnings=(*plan.warnings, *said))


def _collocated(problem: Problem, U: Array, options: Options, parameters: Any) -> OptimalPlan:
    """Solve a problem by direct transcription."""
    from .transcription import transcribe  # which few need

    if parameters is not None:
        raise ValueError("parameters are optimised by method='ddp' alone.")
    found, run, said = transcribe(problem, U, options)
    plan = replace(plan_from(problem, found, run), message=f"Ipopt: {said}")
    if found.status == "converged" and abs(plan.cost - found.costs[-1]) > 1e-6 * abs(plan.cost):
        text = (
            f"the motion of the inputs costs {plan.cost:.9g}, but Ipopt found {found.costs[-1]:.9g}: the robot is so unstable that rounding grows along the "
            "motion. Go on from the plan with method='ddp', which has feedback."
        )
        plan = replace(plan, warnings=(*plan.warnings, text))
    return plan


def solve_problem(
    problem: Problem, U: Array, options: Options | None = None, policy: Policy | None = None
) -> OptimalPlan:
    """Solve a problem by differential dynamic programming from some inputs, or a policy about them."""
    solver = Solver(
        problem, U, policy=policy if policy is not None and policy.gains.shape[0] == problem.knots else None
    )
    found = solver.solve(Options() if options is None else options)
    return plan_from(problem, found, solver.steps.rollout())


def plan_from(problem: Problem, found: Solution, run: Rollout | None = None) -> OptimalPlan:
    """The result from what was found and its motion, which is computed if it is left out."""
    problem = replace(problem, q=found.q, v=found.v)
    run = problem.rollout(found.U) if run is None else run
    nx = 2 * problem.system.nv + problem.system.nz
    warnings = list(run.warnings)
    if found.status != "converged":
        warnings.append(f"{found.status}: {MESSAGES[found.status]}.")
    return OptimalPlan(
        problem, found.U, np.ascontiguousarray(found.gains[:, :, :nx]), run, found.status, MESSAGES[found.status], run.cost(problem.cost),
        np.array(found.costs), np.array(found.slopes), found.violation, found.iterations, found.rollouts, found.seconds, found.scale,
        tuple(warnings),
    )  # fmt: skip
