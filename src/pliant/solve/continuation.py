"""Continuation: families of static equilibria as a load or a coordinate varies, past limit and bifurcation points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..model.validate import choice, finite
from ..system import Inputs, System, needs_system
from .branch import Branch
from .equilibrium import Equilibrium
from .path_problem import (
    Loading,
    PathOptions,
    PathProblem,
    force_vector,
    held_coordinate,
    path_limits,
    start_configuration,
)
from .tracer import Tracer

__all__ = ["trace_equilibria"]

Load = Callable[[float], Mapping[str, Any]] | Mapping[str, Any]


def trace_equilibria(
    system: System,
    load: Load | None = None,
    *,
    input: str | None = None,
    gravity: bool = False,
    coordinate: str | int | None = None,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    start: ArrayLike | Equilibrium | None = None,
    begin: float | None = None,
    stop: float = 1.0,
    bounds: tuple[float, float] | None = None,
    method: Literal["arclength", "natural"] = "arclength",
    step: float = 0.02,
    max_step: float = 0.2,
    min_step: float = 1e-7,
    steps: int = 400,
    tolerance: float = 1e-10,
    iterations: int = 10,
    detect: bool = True,
    switch: bool = False,
) -> Branch:
    """Follow a static equilibrium while a parameter λ varies: F(q, λ) = 0.

    What varies is given by exactly one of `load`, `input`, `gravity`, `coordinate`.

    Parameters
    ----------
    system : System
    load : callable or mapping
        λ -> dict with any of ``u`` (as in `solve_statics`), ``tau`` (nv,) and ``gravity`` (factor of the system's
        gravity); what is left out stays at `u`, `tau` and 1. A mapping with these keys stands for loads proportional
        to λ: ``u + λ load["u"]`` and so on, and gravity ``λ load["gravity"]``.
    input : str
        Name of an input whose value is λ.
    gravity : bool
        λ is the factor of gravity.
    coordinate : str or int
        Name (see ``system.dof_names``) or velocity index of a coordinate that is held at λ; the generalised force
        that holds it becomes unknown and is found in ``Branch.tau``. Not for spherical and free joints.
    u, tau
        Loads that do not vary.
    start : array (nq,) or Equilibrium, optional
        Near which equilibrium to begin; `solve_statics` finds one if left out.
    begin, stop : float
        Range of λ. `begin` is 0 if left out, or the value of the coordinate in the start.
    bounds : (low, high), optional
        λ at which to end; `stop` and, beyond `begin`, as far in the other direction if left out.
    method : "arclength" or "natural"
        "arclength" passes limit points; "natural" steps in λ and ends there.
    step, max_step, min_step : float
        First, largest and smallest step: arclength in scaled coordinates (rad of bending over a rod's length, rad of
        a joint) with ``stop − begin`` counted as 1.
    steps : int
        Largest number of points.
    tolerance : float
        Largest scaled residual relative to the largest scaled force.
    iterations : int
        Newton iterations per point.
    detect : bool
        Find and locate limit points and bifurcations.
    switch : bool
        Also follow both halves of every branch that crosses; see ``Branch.branches`` and `Branch.switch`.

    Returns
    -------
    Branch
        Never raises for lack of convergence; look at `success` and `message`.

    Notes
    -----
    Pseudo-arclength [Keller 1977]: with the unit tangent t of the branch at the last point, the next one solves
    ``F(q, λ) = 0`` and ``t · (x, λ) = s`` by Newton with the exact bordered tangent, x being the displacement
    ``q ⊖ q₀`` in scaled coordinates. A limit point is where dλ/ds changes sign, a bifurcation where the inertia of the
    tangent stiffness changes without one (without a potential: where its determinant does). Both are located by
    Brent's method on s. Two eigenvalues that cross zero in opposite directions within one step go unnoticed; lower
    `max_step` if that is a concern.

    Examples
    --------
    The load at which a clamped column buckles, π² EI / 4 L²:

    >>> import pliant as pl
    >>> robot = pl.Robot("column", gravity=(0, 0, 0))
    >>> rod = robot.add_rod(
    ...     "rod", length=1.0, stiffness=[1] * 6, inertia=[1] * 6, strains=pl.Strains.planar_bending(5)
    ... )
    >>> push = robot.add_wrench("push", rod.tip, force=(-1, 0, 0))
    >>> branch = pl.trace_equilibria(robot.compile(), input="push", stop=4.0)
    >>> print(f"{branch.points[0].kind} at {branch.points[0].parameter:.4f} N")
    bifurcation at 2.4674 N
    """
    needs_system("trace_equilibria", system)
    if np.any(system.known) or system.held_tendons or system.loop_rows:
        raise ValueError(
            "trace_equilibria does not know prescribed motion and loops yet: leave out add_motion and control='length', or follow "
            "the equilibria with solve_statics(motion=...) step by step."
        )
    if not isinstance(system, System):
        raise TypeError(f"system = {system!r} must be a System; call robot.compile().")
    choice("method", method, ("arclength", "natural"))
    given = [load is not None, input is not None, bool(gravity), coordinate is not None]
    if sum(given) != 1:
        raise ValueError(f"give exactly one of load, input, gravity and coordinate ({sum(given)} were given).")
    held = None if coordinate is None else held_coordinate(system, coordinate)
    vary = Loading(system, load, input, gravity, system.inputs(u), force_vector(system, tau))
    configuration, chosen = start_configuration(system, vary, held, start, begin)
    first = finite("begin", chosen)
    limits = path_limits(first, finite("stop", stop), bounds)
    options = PathOptions(
        first, float(stop), limits, method, step, max_step, min_step, steps, tolerance, iterations, bool(detect)
    )
    problem = PathProblem(system, vary, held, abs(options.stop - options.begin))
    tracer = Tracer(problem, options)
    tracer.begin(configuration)
    branch = tracer.branch()
    if switch:
        found = branch.special("bifurcation")
        branch = replace(branch, branches=tuple(branch.switch(p, sign=s) for p in found for s in (1, -1)))
    return branch
