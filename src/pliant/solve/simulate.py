"""`simulate`: one entry to all time integrators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import choice, finite, positive
from ..system import LinearSolver, System, needs_system
from ..system.forces import closure
from .cables import reach
from .checkpoint import Checkpoint
from .closure import close, consistent_velocity, midway, overdriven
from .crawl import Clock, Progress, Watch
from .drive import Drive, State
from .equilibrium import Equilibrium
from .identity import digest
from .limits import StepOptions, check_steps, check_tolerances, output_times, time_span
from .methods import MARCHING, METHODS, Integrator, Problem
from .methods.ode import ODE_METHODS
from .motion import MotionSet
from .remembered import initial_control, initial_memory
from .result import Result, Statistics
from .run import EventFunction, Run, event_functions

__all__ = ["simulate"]

Array = NDArray[np.float64]
Method = Literal[
    "auto",
    "esdirk3",
    "esdirk5",
    "midpoint",
    "generalized-alpha",
    "newmark",
    "hht",
    "bdf",
    "radau",
    "lsoda",
    "rk45",
    "dop853",
    "cvode",
]


def simulate(
    system: System,
    duration: float,
    *,
    u: Any = None,
    tau: Any = None,
    motion: Mapping[str, Any] | None = None,
    project_velocity: bool = False,
    baumgarte: float | None = None,
    start: Any = None,
    velocity: ArrayLike | None = None,
    t0: float | None = None,
    method: Method | Callable[[Problem], Integrator] = "auto",
    step: float | None = None,
    subdivide: bool = False,
    breaks: Iterable[float] = (),
    rho: float | None = None,
    solver: LinearSolver = "auto",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    max_step: float | None = None,
    first_step: float | None = None,
    newton_tolerance: float | None = None,
    output: ArrayLike | float | None = None,
    events: Iterable[EventFunction] | EventFunction = (),
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_interval: float = 30.0,
    max_wall_time: float | None = None,
) -> Result:
    """Simulate the motion of a system.

    Parameters
    ----------
    system : System
    duration : float
        Simulated time [s].
    u, tau : constant, function of t, or function of (t, state), optional
        Inputs (dictionary by name or vector (nu,)) and further generalised forces (nv,). The dictionary may hold functions
        of t, for instance ``{"cable": pl.Expression("20*cos(t)**2")}``. A function of (t, state) is a
        feedback law; `state` has t, q and v. It acts continuously; the α-methods sample it at the start of each step and hold it. u, or
        entries of its dictionary, may be controllers with states or that sample: `Controller`, `PID`, `Lag`, `Observer`, `Sampled`.
    motion : dict, optional
        Prescribed joints and tendon lengths by the name of their motion or tendon: a constant, a function of t, or a
        `Motion` with derivatives. What is not given stays as it starts. The force that it takes is in
        `Result.prescribed_forces`, tensions of tendons of prescribed length are in `Result.u`.
    project_velocity : bool
        With loops and an α-method: after each step also make the velocity obey the constraints.
    baumgarte : float, optional
        With loops and an ODE method: time T_B [s] over which a drift of the closure is damped out, 0.02 if left out.
    start : array (nq,), dict, Equilibrium, Result or State, optional
        Initial configuration; a Result is continued from its last state, a State (`Stepper.state`) from there. A dictionary places links that float by their pose and
        sets joints, as in `System.configuration`: ``start={"body": pl.translate(0, 0, 1)}``. Neutral if left out. Loops that it
        leaves open are closed first by the least change of the coordinates, with a warning.
    velocity : array (nv,), optional
        Initial velocity; zero if left out (or that of the Result).
    t0 : float, optional
        Initial time; 0, or the end of the Result that is continued.
    method : str
        "auto" (default): "esdirk3", or "esdirk5" for rtol below 1e-6 without loops: implicit Runge–Kutta methods of order 3 and 5 on the manifold, with the
        exact tangent, that damp what is too fast to be resolved. "midpoint": for long runs without damping, with
        `step`: energy does not drift, free robots keep their momentum. "generalized-alpha", "newmark", "hht": second order, for
        work with constant steps. "bdf", "radau", "lsoda", "cvode" (needs scikit-sundae): variable order with the exact
        Jacobian, for high accuracy. "rk45", "dop853": explicit, for non-stiff systems. Or an `Integrator` of your own (its class).
    step : float, optional
        Constant step [s] of the implicit methods; error-controlled if left out. A step that Newton's iteration does not get through
        ends the run, with its number in the message,
    subdivide : bool
        unless it may be gone through in parts: then the result's warnings say which ones were.
    breaks : times, optional
        Where steps are to end [s]: jumps of inputs, of prescribed motion or of your own loads. Those of a `Signal` are known; others
        that an input function of t has are found when they reject steps.
    rho : float, optional
        Spectral radius of "generalized-alpha" at high frequency, 0 to 1 (1: no numerical damping); 0.8 if left out. Chooses that
        method.
    solver : {"auto", "dense", "tree"}
        How the linear systems of a step (the mass matrix, for explicit methods) are solved: dense factors, elimination along
        the tree in O(N) without loops and contact between parts, or whichever is faster for this robot.
    rtol, atol : float
        Tolerances of the local error of coordinates, velocities and positions: relative, and absolute in units of each coordinate's
        natural size (1/length for bending, 1 rad for joints) or of the robot's.
    max_step, first_step : float, optional
        Bounds on the variable step [s]. The implicit methods take at least twenty steps unless max_step allows fewer, so that
        loads that come late are not stepped over.
    newton_tolerance : float, optional
        When Newton's iteration stops, relative to the tolerances; 0.02 with error control, 1e-9 with a constant step.
    output : float or array, optional
        Interval or times [s] of the result; every step if left out.
    events : function or functions of state, optional
        Roots are located and recorded; a function with attribute ``terminal = True`` stops the run there, and
        ``direction = ±1`` keeps only rising or falling roots.
    progress : bool, optional
        Show progress on stderr; by default only on a terminal.
    checkpoint : path, optional
        Save the result so far to this file (HDF5) every `checkpoint_interval` seconds of wall time. Continue with
        ``start=Result.load(path, system)``. The last good checkpoint survives whatever happens to the next one; if
        it cannot be written the run goes on and says so.
    max_wall_time : float, optional
        End the run with what it has after so many seconds of wall time from its first step; no limit if left out. A run that crawls says so
        on stderr while it runs, with what holds it up.

    Returns
    -------
    Result
        Also if the integration fails, is interrupted (Ctrl-C), or a function of yours raises an exception: then with what
        was computed, `success` False, a message, and the exception as `error`. Where it ended is in `last`, from which
        `start` goes on. What to know before trusting it is in `warnings`.

    Raises
    ------
    TypeError, ValueError, KeyError
        If what is asked for is wrong, impossible (times or tolerances below rounding) or costs more time or memory than
        there is; and what your functions raise at the start, when there is nothing to keep.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> run = pl.simulate(system, 2.0, start=rest, output=0.1)  # the cable is let go
    >>> run.success, run.q.shape
    (True, (21, 12))
    >>> def feedback(t, state):  # it damps the bending
    ...     return {"cable": max(0.0, 5 + state.v[4])}
    >>> pl.simulate(system, 1.0, u=feedback, start=rest).message
    'completed'
    """
    needs_system("simulate", system)
    if rho is not None and isinstance(method, str) and method == "auto":
        method = "generalized-alpha"
    if not callable(method):
        choice("method", method, METHODS)
    choice("solver", solver, ("auto", "dense", "tree"))
    steps = StepOptions.checked(
        _name(method), step=step, max_step=max_step, first_step=first_step, newton_tolerance=newton_tolerance,
        explicit=method in ODE_METHODS,
    )  # fmt: skip
    clock = Clock(None if max_wall_time is None else positive("max_wall_time", max_wall_time, unit="s"))
    _no_effect(system, method, rho, baumgarte, project_velocity)
    _no_effect_on_steps(method, steps, subdivide, breaks)
    for option, flag in (("project_velocity", project_velocity), ("subdivide", subdivide), ("progress", progress)):
        if not isinstance(flag, (bool, np.bool_)) and (option, flag) != ("progress", None):
            raise TypeError(f"{option} = {flag!r} must be True or False.")
    q, v, begin = initial_state(system, start, velocity, t0)
    memory = initial_memory(system, start)
    going_on = isinstance(start, Result) and start.final is None and velocity is None and len(start.a) > 0
    duration, end = time_span(begin, duration)
    rtol, atol = check_tolerances(rtol, atol)
    check_steps(system, begin, end, steps, every_row=output is None, limited=clock.limit is not None)
    times = output_times(system, output, begin, end)
    functions = event_functions(events)
    progress_line = Progress(progress, begin, end)
    saving = Checkpoint(checkpoint, checkpoint_interval, progress_line)
    drive, motions = Drive(system, u, tau), MotionSet(system, motion, q, begin)
    motions.joints_at(begin, q, v, np.zeros(system.nv))
    notes: list[str] = []
    if system.loop_rows:
        q, v, notes = _closed(system, q, v, motions.told_at(begin))
    reached = reach(system, motions, begin, q, v)
    problem = Problem(
        system, drive, motions, begin, end, reached.q, reached.v, steps, rtol, atol, solver, Statistics(), clock,
        a=start.a[-1].copy() if going_on else None, memory=memory, control=initial_control(drive, start), breaks=_breaks(breaks, begin, end), subdivide=bool(subdivide), rho=0.8 if rho is None else rho, project=bool(project_velocity),
        baumgarte=0.02 if baumgarte is None else float(baumgarte),
    )  # fmt: skip
    stepper = METHODS[method](problem) if isinstance(method, str) else method(problem)
    if not isinstance(stepper, Integrator):
        raise TypeError(
            f"method = {method!r} must be one of {', '.join(METHODS)}, or make an Integrator from a Problem."
        )
    watch = Watch(system, clock, progress_line, problem.statistics, end, fixed=steps.constant is not None)
    run = Run(problem, stepper, times, functions, watch, saving)
    run.notes += [*notes, *([reached.said] if reached.said else [])]
    return run.loop(progress_line)


def _breaks(given: object, begin: float, end: float) -> tuple[float, ...]:
    """Times where steps end, within the run."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"breaks = {given!r} must be a list of times [s].")
    times = sorted({finite(f"breaks[{k}]", t, unit="s") for k, t in enumerate(given)})
    return tuple(t for t in times if begin < t < end)


def _name(method: Method | Callable[[Problem], Integrator]) -> str:
    """What to call a method in messages and results."""
    return (
        method if isinstance(method, str) else str(getattr(method, "name", "") or getattr(method, "__name__", method))
    )


def _no_effect(
    system: System, method: object, rho: float | None, baumgarte: float | None, project_velocity: object
) -> None:
    """Error for options that this run would ignore."""
    if rho is not None:
        finite("rho", rho)
    if baumgarte is not None:
        positive("baumgarte", baumgarte, unit="s")
    if rho is not None and method != "generalized-alpha":
        raise ValueError(
            f"rho = {rho!r} is for method='generalized-alpha'; {method!r} has no such parameter. Leave it out."
        )
    if baumgarte is not None and not (system.loop_rows and method in ODE_METHODS):
        why = "the robot has no loops" if not system.loop_rows else f"{method!r} closes loops exactly"
        raise ValueError(f"baumgarte = {baumgarte!r} has no effect: {why}. Leave it out.")
    if project_velocity is True and not (system.loop_rows and method in ("generalized-alpha", "newmark", "hht")):
        why = "the robot has no loops" if not system.loop_rows else "it is for the α-methods"
        raise ValueError(f"project_velocity = True has no effect: {why}. Leave it out.")


def _no_effect_on_steps(method: object, steps: StepOptions, subdivide: object, breaks: object) -> None:
    """Error for options of steps that this run would ignore."""
    if subdivide is True and steps.constant is None:
        raise ValueError("subdivide = True has no effect without a constant step: give `step`, or leave it out.")
    given = not isinstance(breaks, tuple) or len(breaks) > 0
    if given and isinstance(method, str) and method not in MARCHING:
        raise ValueError(
            f"breaks have no effect on {method!r}, which does not end its steps at them: use one of {', '.join(MARCHING)}, or run from break "
            "to break (start=run)."
        )


def initial_state(
    system: System, start: Any, velocity: ArrayLike | None, t0: float | None
) -> tuple[Array, Array, float]:
    q, v, t = system.neutral(), np.zeros(system.nv), 0.0
    if isinstance(start, Equilibrium):
        q = system.check_q(start.q).copy()  # perhaps of a robot with other loads, which is let go
    elif isinstance(start, Result):
        _same_robot(start.system, system)
        last = start.last
        q, v, t = system.check_q(last.q).copy(), system.check_v("v", last.v).copy(), float(last.t)
    elif isinstance(start, State):
        q, v, t = system.check_q(start.q).copy(), system.check_v("v", start.v).copy(), float(start.t)
    elif isinstance(start, Mapping):
        q = system.configuration(start)
    elif start is not None:
        try:
            q = system.check_q(start).copy()
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"start must be an Equilibrium, a Result, a State, coordinates (nq,), or a dictionary by link: {error}"
            ) from None
    if velocity is not None:
        v = system.check_v("velocity", velocity).copy()
    if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
        raise ValueError("start or velocity contains NaN or infinity.")
    return q, v, t if t0 is None else finite("t0", t0, unit="s")


def _same_robot(other: System, system: System) -> None:
    """Error if a result belongs to a robot that moves differently."""
    if other is system or digest(other) == digest(system):
        return
    raise ValueError(
        f"start is the Result of another robot ({other.name!r}, {other.nv} dof; this one is {system.name!r}, {system.nv} dof, with "
        f"other coordinates or properties). If you mean it, give the state itself: start=run.last.q, velocity=run.last.v, t0=run.last.t."
    )


_OPEN = 1e-6  # m, rad: more than what solvers and files leave of a closed loop


def _closed(system: System, q: Array, v: Array, told: Array | None) -> tuple[Array, Array, list[str]]:
    """Initial conditions that obey the loops, and what to say where the start did not."""
    values = closure(system, q, None, told)[0]
    before = float(np.abs(values).max())
    name = system.loop_rows[int(np.argmax(np.abs(values)))]
    q, gap = close(system, q, told=told)
    if gap > 1e-9:
        worst = system.loop_rows[int(np.argmax(np.abs(closure(system, q, None, told)[0])))]
        raise ValueError(
            f"the loops cannot be closed from this start: {worst!r} stays {gap:.3g} apart (at the start {before:.3g}). Mount "
            "the robot with solve_statics first and start from that, or check the frames of the loop."
            + overdriven(system)
        )
    notes = []
    if before > _OPEN:
        chosen = "".join(f"; {text}" for text in midway(system, values))
        notes = [
            f"The start leaves loops open ({name!r} by {before:.3g}); the motion starts where the least change of its coordinates closes them{chosen}."
        ]
    return q, consistent_velocity(system, q, v, told), notes
