"""Parameters of the robot that are optimised together with its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gradients.rollout import Rollout
from ...model.validate import shown, unknown_name
from ...system import System
from .ddp import Options, Solution, Solver
from .problem import Problem

__all__ = ["checked_parameters", "optimise_design"]

Array = NDArray[np.float64]
ROUNDS = 60  # of the outer iteration


def checked_parameters(system: System, value: Any) -> dict[str, tuple[float, float]]:
    """Names of parameters with their bounds; error if there is none of that name, or its value is not between them."""
    if not isinstance(value, Mapping):
        raise TypeError(
            f'parameters = {shown(value)} must be a dict of pairs (lower, upper) by name, for example {{"arm.young": (5e5, 2e6)}}.'
        )
    found = {}
    for name, pair in value.items():
        if name not in system.parameters:
            raise unknown_name("parameter", str(name), system.parameters)
        try:
            low, high = (float(x) for x in pair)
        except (TypeError, ValueError):
            raise ValueError(f"parameters[{name!r}] = {shown(pair)} must be a pair (lower, upper).") from None
        now = float(system.parameters[name])
        if not low < high or not low <= now <= high:
            raise ValueError(
                f"parameters[{name!r}] = ({low:g}, {high:g}) is not allowed: the lower bound must be below the upper, and {now:g}, which it is, between them."
            )
        found[name] = (low, high)
    return found


def optimise_design(
    problem: Problem, U: Array, options: Options, parameters: dict[str, tuple[float, float]]
) -> tuple[Problem, Solution, Rollout, dict[str, float], tuple[str, ...]]:
    """The best of all robots with such parameters: quasi-Newton over these, each with its best inputs.

    At the best inputs the derivative of the cost by a parameter is that with inputs held fixed, which the adjoint of the rollout has.
    """
    from scipy.optimize import minimize

    base, names = problem.system, list(parameters)
    low, high = np.array(list(parameters.values())).T
    best: dict[str, Any] = {}

    def judge(x: Array) -> tuple[float, Array]:
        values = dict(zip(names, (low + x * (high - low)).tolist()))
        here = replace(problem, system=base.with_parameters(values))
        solver = Solver(here, best["found"].U if best else U)
        found = solver.solve(replace(options, scale=best["found"].scale) if best else options)
        run = solver.steps.rollout()
        gradient = run.gradient(solver.cost)
        if not best or solver.value < best["value"]:
            best.update(value=solver.value, found=found, run=run, problem=here, values=values)
        if found.status == "interrupted":
            raise KeyboardInterrupt
        slopes = np.array([gradient.parameters[name] for name in names])
        return solver.value, slopes * (high - low)

    begin = np.array([(float(base.parameters[name]) - a) / (b - a) for name, (a, b) in parameters.items()])
    said: tuple[str, ...] = ()
    try:
        outer = minimize(
            judge, begin, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(names),
            options={"maxiter": ROUNDS, "ftol": 1e-12, "gtol": options.tolerance * options.scale},
        )  # fmt: skip
        if not outer.success:
            said = (f"the parameters may not be the best: {outer.message}",)
    except KeyboardInterrupt:
        if not best:
            raise
        best["found"] = replace(best["found"], status="interrupted")
    return best["problem"], best["found"], best["run"], best["values"], said
