"""Continuation: families of static equilibria as a load, a coordinate or the robot varies, past limit and bifurcation points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from ..model.validate import choice, finite
from ..system import Inputs, System, needs_system
from ..system.laws import refuse_memory
from .branch import Branch
from .equilibrium import Equilibrium
from .path_loading import Design, Driving, Load, Loading, force_vector, held_coordinate, prescribed_coordinate
from .path_problem import PathOptions, PathProblem, path_limits, start_configuration
from .tracer import Tracer

__all__ = ["trace_equilibria"]


def trace_equilibria(
    system: System,
    load: Load | None = None,
    *,
    input: str | None = None,
    gravity: bool = False,
    coordinate: str | int | None = None,
    prescribed: str | None = None,
    parameter: str | Callable[[float], System] | None = None,
    u: Inputs = None,
    tau: ArrayLike | None = None,
    motion: Mapping[str, Any] | None = None,
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

    What varies is given by exactly one of `load`, `input`, `gravity`, `coordinate`, `prescribed`, `parameter`. Loops stay closed.

    Parameters
    ----------
    system : System
    load : callable or mapping
        λ -> dict with any of ``u`` and ``motion`` (as in `solve_statics`), ``tau`` (nv,) and ``gravity`` (factor of the
        system's gravity); what is left out stays at `u`, `motion`, `tau` and 1. A mapping with these keys stands for what is
        proportional to λ: ``u + λ load["u"]`` and so on, and gravity ``λ load["gravity"]``.
    input : str
        Name of an input whose value is λ.
    gravity : bool
        λ is the factor of gravity.
    coordinate : str or int
        Name (see ``system.dof_names``) or velocity index of a coordinate that is held at λ; the generalised force
        that holds it becomes unknown and is found in ``Branch.tau``. Not for spherical and free joints. For a coordinate
        that is prescribed anyway see `prescribed`.
    prescribed : str
        Name of a prescribed motion (`Robot.add_motion`) of one coordinate, whose value is λ; the force that this takes is in
        `Branch.prescribed_forces`.
    parameter : str or callable
        Name of a design parameter (`System.parameters`) whose value is λ, or a function λ -> System of robots with the same coordinates, such as concentric
        tubes that are pushed. Not with loops.
    u, tau
        Loads that do not vary.
    motion : dict, optional
        Values of prescribed joints that do not vary, by name; what is not given stays as it starts.
    start : array (nq,) or Equilibrium, optional
        Near which equilibrium to begin; if left out, one is found as by `solve_statics`, which mounts loops.
    begin, stop : float
        Range of λ. `begin` is 0 if left out, or the value of the coordinate in the start, or of the design parameter.
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

    Loops: the forces are balanced along the directions Z that keep loops closed, ``Zᵀ r(q, λ) = 0``, and ``e(q) = 0`` closes
    them; forces of loops follow from the rest. The inertia is that of ``Zᵀ K Z``, K with the stiffness that these forces
    bring along. Where a mechanism changes the number of its freedoms (a four-bar that folds flat) nothing is
    located.

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
    refuse_memory(system, "trace_equilibria")
    if system.held_tendons:
        names = ", ".join(map(repr, system.held_tendons))
        raise ValueError(
            f"trace_equilibria does not know tendons of prescribed length ({names}) yet: give them control='tension' or "
            "'elastic', or follow the equilibria with solve_statics(motion=...) step by step."
        )
    if system.told_rows:
        names = ", ".join(map(repr, system.told_rows))
        raise ValueError(
            f"trace_equilibria does not know prescribed motion of loop joints ({names}) yet: prescribe a joint of the tree and cut the loop "
            "elsewhere, or follow the equilibria with solve_statics(motion=...) step by step."
        )
    if isinstance(start, Equilibrium) and len(start.memory) == system.nz and system.sticks(start.memory):
        raise ValueError(
            "start holds by friction that sticks, or by what loads remember otherwise, and trace_equilibria does not know how that goes on along a "
            "branch: follow the equilibria with solve_statics(start=the last one) step by step, or give start=rest.q for a branch without it."
        )
    if not isinstance(system, System):
        raise TypeError(f"system = {system!r} must be a System; call robot.compile().")
    choice("method", method, ("arclength", "natural"))
    given = [x is not None for x in (load, input, coordinate, prescribed, parameter)] + [bool(gravity)]
    if sum(given) != 1:
        raise ValueError(
            f"give exactly one of load, input, gravity, coordinate, prescribed and parameter ({sum(given)} were given)."
        )
    held = None if coordinate is None else held_coordinate(system, coordinate)
    driven = None if prescribed is None else prescribed_coordinate(system, prescribed)
    if held is not None and system.known[held.v]:
        held, driven = None, held
    driving = Driving(system, motion, load, driven)
    vary = Loading(
        system, load, input, gravity, system.inputs(u), force_vector(system, tau), driving, Design(system, parameter)
    )
    configuration, chosen, note = start_configuration(system, vary, held, start, begin)
    first = finite("begin", chosen)
    limits = path_limits(first, finite("stop", stop), bounds)
    options = PathOptions(
        first, float(stop), limits, method, step, max_step, min_step, steps, tolerance, iterations, bool(detect)
    )
    problem = PathProblem(system, vary, held, abs(options.stop - options.begin))
    tracer = Tracer(problem, options)
    tracer.begin(configuration, note)
    branch = tracer.branch()
    if switch:
        found = branch.special("bifurcation")
        branch = replace(branch, branches=tuple(branch.switch(p, sign=s) for p in found for s in (1, -1)))
    return branch
