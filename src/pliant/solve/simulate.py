"""`simulate`: one entry to all time integrators."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import choice, finite, positive
from ..system import LinearSolver, System
from .closure import close, consistent_velocity, overdriven
from .drive import Drive, State
from .implicit import AlphaMethod
from .motion import MotionSet
from .ode import ODE_METHODS
from .result import Event, Result, Statistics
from .statics import Equilibrium
from .steppers import FixedAlpha, OdeStepper, Stepper, VariableAlpha

__all__ = ["simulate"]

Array = NDArray[np.float64]
Method = Literal["generalized-alpha", "newmark", "hht", "bdf", "radau", "lsoda", "rk45", "dop853", "cvode"]
METHODS = ("generalized-alpha", "newmark", "hht", *ODE_METHODS)
EventFunction = Callable[[State], float]


def simulate(
    system: System,
    duration: float,
    *,
    u: Any = None,
    tau: Any = None,
    motion: Mapping[str, Any] | None = None,
    project_velocity: bool = False,
    baumgarte: float = 0.02,
    start: Any = None,
    velocity: ArrayLike | None = None,
    t0: float | None = None,
    method: Method = "generalized-alpha",
    step: float | None = None,
    rho: float = 0.8,
    solver: LinearSolver = "auto",
    rtol: float = 1e-3,
    atol: float = 1e-4,
    max_step: float | None = None,
    first_step: float | None = None,
    newton_tolerance: float | None = None,
    output: ArrayLike | float | None = None,
    events: Iterable[EventFunction] | EventFunction = (),
    progress: bool | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 30.0,
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
        feedback law; `state` has t, q and v. The implicit methods sample it at the start of each step and hold it.
    motion : dict, optional
        Prescribed joints and tendon lengths by the name of their motion or tendon: a constant, a function of t, or a
        `Motion` with derivatives. What is not given stays as it starts. The force that it takes is in
        `Result.prescribed_forces`, tensions of tendons of prescribed length are in `Result.u`.
    project_velocity : bool
        With loops and an α-method: after each step also make the velocity obey the constraints.
    baumgarte : float
        With loops and an ODE method: time T_B [s] over which a drift of the closure is damped out.
    start : array (nq,), Equilibrium or Result, optional
        Initial configuration; a Result is continued from its last state. Neutral if left out.
    velocity : array (nv,), optional
        Initial velocity; zero if left out (or that of the Result).
    t0 : float, optional
        Initial time; 0, or the end of the Result that is continued.
    method : str
        "generalized-alpha" (default), "newmark", "hht": implicit on the manifold with the exact tangent, second order,
        stable at any step. "bdf", "radau", "lsoda", "cvode" (needs scikit-sundae): variable order with the exact
        Jacobian, for high accuracy. "rk45", "dop853": explicit, for non-stiff systems.
    step : float, optional
        Constant step [s] of the α-methods; error-controlled if left out.
    rho : float
        Spectral radius of "generalized-alpha" at high frequency, 0 to 1 (1: no numerical damping).
    solver : {"auto", "dense", "tree"}
        How the linear systems of a step (the mass matrix, for explicit methods) are solved: dense factors, elimination along
        the tree in O(N) without loops and contact between parts, or whichever is faster for this robot.
    rtol, atol : float
        Tolerances of the local error, relative, and absolute in units of each coordinate's natural size (1/length for
        bending, 1 rad for joints).
    max_step, first_step : float, optional
        Bounds on the variable step [s]. The α-methods take at least twenty steps unless max_step allows fewer, so that
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
        ``start=Result.load(path, system)``.

    Returns
    -------
    Result
        Also if the integration fails or is interrupted (Ctrl-C): then with what was computed, `success` False and a
        message.

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
    >>> def feedback(t, state):
    ...     return {"cable": 5 + abs(state.v[4])}
    >>> pl.simulate(system, 1.0, u=feedback, start=rest).message
    'completed'
    """
    duration = positive("duration", duration, unit="s")
    choice("method", method, METHODS)
    choice("solver", solver, ("auto", "dense", "tree"))
    for option, value in (("first_step", first_step), ("newton_tolerance", newton_tolerance)):
        if value is not None:
            positive(option, value)
    positive("rtol", rtol)
    positive("atol", atol)
    q, v, begin = _initial(system, start, velocity, t0)
    end = begin + duration
    statistics = Statistics()
    drive = Drive(system, u, tau)
    options: dict[str, Any] = {
        "rtol": rtol,
        "atol": atol,
        "statistics": statistics,
        "largest": np.inf if max_step is None else positive("max_step", max_step, unit="s"),
        "newton": newton_tolerance if newton_tolerance is not None else (0.02 if step is None else 1e-9),
        "iterations": 10,
        "solver": solver,
        "motion": MotionSet(system, motion, q, begin),
    }
    options["motion"].joints_at(begin, q, v, np.zeros(system.nv))
    options |= {"project": bool(project_velocity), "baumgarte": positive("baumgarte", baumgarte, unit="s")}
    if system.loop_rows:
        q, v = _closed(system, q, v)
    clock = time.perf_counter()
    stepper: Stepper
    if method in ODE_METHODS:
        if step is not None:
            raise ValueError(
                f"step = {step!r} is for the α-methods; {method!r} chooses its own. Use max_step to bound it."
            )
        stepper = OdeStepper(system, drive, method, begin, q, v, end, options)
        name = str(method)
    else:
        family = {
            "generalized-alpha": AlphaMethod.generalized(rho),
            "newmark": AlphaMethod.newmark(),
            "hht": AlphaMethod.hht(),
        }
        alpha = family[method]
        name = alpha.name
        if step is not None:
            stepper = FixedAlpha(system, drive, alpha, begin, q, v, options, h=positive("step", step, unit="s"))
        else:
            largest = min(options["largest"], duration if max_step is not None else duration / 20)
            stepper = VariableAlpha(system, drive, alpha, begin, q, v, options, largest=largest, first=first_step)
    run = _Run(system, drive, stepper, _output_times(output, begin, end), events, end)
    message = run.loop(_Progress(progress, begin, end), checkpoint, checkpoint_interval, statistics, name, clock)
    statistics.wall_time = time.perf_counter() - clock
    return run.result(message, statistics, name)


def _initial(system: System, start: Any, velocity: ArrayLike | None, t0: float | None) -> tuple[Array, Array, float]:
    q, v, t = system.neutral(), np.zeros(system.nv), 0.0
    if isinstance(start, Equilibrium):
        q = start.q.copy()
    elif isinstance(start, Result):
        if start.system.dof_names != system.dof_names:
            raise ValueError("start is the result of another robot.")
        q, v, t = start.q[-1].copy(), start.v[-1].copy(), float(start.t[-1])
    elif start is not None:
        q = system.check_q(start).copy()
    if velocity is not None:
        v = system.check_v("velocity", velocity).copy()
    if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
        raise ValueError("start or velocity contains NaN or infinity.")
    return q, v, t if t0 is None else finite("t0", t0, unit="s")


def _closed(system: System, q: Array, v: Array) -> tuple[Array, Array]:
    """Initial conditions that obey the loops."""
    before = float(np.abs(system.closure(q)[0]).max())
    q, gap = close(system, q)
    if gap > 1e-9:
        worst = system.loop_rows[int(np.argmax(np.abs(system.closure(q)[0])))]
        raise ValueError(
            f"the loops cannot be closed from this start: {worst!r} stays {gap:.3g} apart (at the start {before:.3g}). Mount "
            "the robot with solve_statics first and start from that, or check the frames of the loop."
            + overdriven(system)
        )
    return q, consistent_velocity(system, q, v)


def _output_times(output: ArrayLike | float | None, begin: float, end: float) -> Array | None:
    if output is None:
        return None
    if np.ndim(output) == 0:
        h = positive("output", output, unit="s", hint="An interval, or an array of times.")
        n = int(np.floor((end - begin) / h * (1 + 1e-12)))
        times = np.asarray(begin + h * np.arange(n + 1), dtype=np.float64)
        return times if end - times[-1] < 1e-9 * h else np.concatenate([times, [end]])
    times = np.asarray(output, dtype=np.float64)
    slack = 1e-12 * max(1.0, abs(end))
    if times.ndim != 1 or np.any(np.diff(times) <= 0) or times[0] < begin - slack or times[-1] > end + slack:
        raise ValueError(f"output times must increase and lie within the run, {begin:g} to {end:g} s.")
    return times


class _Run:
    """The main loop: steps, outputs, events."""

    def __init__(
        self,
        system: System,
        drive: Drive,
        stepper: Stepper,
        times: Array | None,
        events: Iterable[EventFunction] | EventFunction,
        end: float,
    ) -> None:
        self.system, self.drive, self.stepper, self.end = system, drive, stepper, end
        self.functions = [events] if callable(events) else list(events)
        self.found: list[Event] = []
        self.times = times
        self._next = 0
        self.rows: list[tuple[float, Array, Array, Array, Array, Array, Array]] = []
        self.complete = False
        self._from = (
            stepper.t,
            dict(stepper.tensions),
            stepper.multipliers.copy(),
        )  # unknown forces at the last step's start
        self._values = [float(f(State(stepper.t, stepper.q, stepper.v))) for f in self.functions]
        if times is None or abs(times[0] - stepper.t) <= 1e-12 * max(1.0, abs(end)):
            self._store(stepper.t, stepper.q, stepper.v, stepper.a)
            self._next = 1

    def _store(self, t: float, q: Array, v: Array, a: Array) -> None:
        s = self.stepper
        u, tau = self.drive(t, q, v)
        u = u.copy()
        share = 1.0 if t == s.t or s.t == self._from[0] else (t - self._from[0]) / (s.t - self._from[0])
        _begin, tensions, multipliers = self._from
        for index, tension in s.tensions.items():
            u[index] = share * tension + (1.0 - share) * tensions.get(index, tension)
        forces = share * s.multipliers + (1.0 - share) * multipliers if len(multipliers) else s.multipliers.copy()
        self.rows.append((t, q.copy(), v.copy(), a.copy(), u, tau.copy(), forces))

    def _outputs(self, t0: float, t1: float, a0: Array) -> None:
        """Store what is asked for in (t0, t1]."""
        s = self.stepper
        if self.times is None:
            if t1 == s.t:
                self._store(s.t, s.q, s.v, s.a)
            else:
                self._store(t1, *s.at(t1), a0 + (t1 - t0) / (s.t - t0) * (s.a - a0))
            return
        while self._next < len(self.times) and self.times[self._next] <= t1 + 1e-15 * max(1.0, abs(t1)):
            t = float(self.times[self._next])
            if t == s.t:
                self._store(t, s.q, s.v, s.a)
            else:
                self._store(t, *s.at(t), a0 + (t - t0) / (s.t - t0) * (s.a - a0))
            self._next += 1

    def _event(self, t0: float) -> Event | None:
        """Locate roots in the last step; the first terminal one is returned."""
        s = self.stepper
        found: list[tuple[Event, bool]] = []
        for i, function in enumerate(self.functions):
            before, after = self._values[i], float(function(State(s.t, s.q, s.v)))
            self._values[i] = after
            direction = getattr(function, "direction", 0)
            if before == 0.0 or before * after > 0 or (after == 0.0 and before == 0.0):
                continue
            if direction * (after - before) < 0:
                continue

            def value(t: float, function: EventFunction = function) -> float:
                return float(function(State(t, *s.at(t))))

            from scipy.optimize import brentq  # here, since it takes a while to import

            t = s.t if after == 0.0 else float(brentq(value, t0, s.t, xtol=1e-13, rtol=1e-14))
            event = Event(getattr(function, "__name__", f"event {i}"), t, *(x.copy() for x in s.at(t)))
            found.append((event, bool(getattr(function, "terminal", False))))
        found.sort(key=lambda pair: pair[0].t)
        for event, terminal in found:
            self.found.append(event)
            if terminal:
                return event
        return None

    def loop(
        self,
        progress: _Progress,
        checkpoint: str | Path | None,
        interval: float,
        statistics: Statistics,
        name: str,
        clock: float,
    ) -> str:
        """Run to the end; returns the message."""
        s = self.stepper
        saved = time.perf_counter()
        t0 = s.t
        try:
            while s.t < self.end:
                t0, a0 = s.t, s.a.copy()
                self._from = t0, dict(s.tensions), s.multipliers.copy()
                failure = s.advance(self.end)
                if failure is not None:
                    return failure
                stop = self._event(t0) if self.functions else None
                self._outputs(t0, s.t if stop is None else stop.t, a0)
                if stop is not None:
                    self.complete = True
                    if not self.rows or self.rows[-1][0] < stop.t:
                        share = (stop.t - t0) / (s.t - t0)
                        self._store(stop.t, stop.q, stop.v, a0 + share * (s.a - a0))
                    return f"stopped by event {stop.name!r} at t = {stop.t:.6g} s"
                progress.show(s.t)
                if checkpoint is not None and time.perf_counter() - saved > interval:
                    statistics.wall_time = time.perf_counter() - clock
                    self.result("checkpoint", statistics, name).save(checkpoint)
                    saved = time.perf_counter()
        except ValueError as error:  # from an input or event function: keep what was computed
            return f"{error} (in the step from t = {t0:.6g} s)"
        except KeyboardInterrupt:
            return f"interrupted at t = {s.t:.6g} s"
        finally:
            progress.close()
        self.complete = True
        return "completed"

    def result(self, message: str, statistics: Statistics, name: str) -> Result:
        """What has been computed so far."""
        t, q, v, a, u, tau, multipliers = ([row[k] for row in self.rows] for k in range(7))
        n = len(t)
        return Result(
            self.system,
            np.array(t, dtype=float),
            np.array(q, dtype=float).reshape(n, self.system.nq),
            np.array(v, dtype=float).reshape(n, self.system.nv),
            np.array(a, dtype=float).reshape(n, self.system.nv),
            np.array(u, dtype=float).reshape(n, self.system.nu),
            np.array(tau, dtype=float).reshape(n, self.system.nv),
            self.complete,
            message,
            tuple(self.found),
            statistics,
            name,
            np.array(multipliers, dtype=float).reshape(n, len(self.system.loop_rows)),
        )


class _Progress:
    """One line on stderr with simulated time and rate; silent when it is not a terminal."""

    def __init__(self, wanted: bool | None, begin: float, end: float) -> None:
        self.active = sys.stderr.isatty() if wanted is None else wanted
        self.begin, self.end = begin, end
        self.start = self.last = time.perf_counter()
        self.shown = False

    def show(self, t: float) -> None:
        """Update, at most ten times a second."""
        now = time.perf_counter()
        if not self.active or now - self.last < 0.1:
            return
        self.last = now
        self.shown = True
        done = (t - self.begin) / (self.end - self.begin)
        rate = (t - self.begin) / (now - self.start)
        bar = "█" * int(24 * done)
        print(f"\r{bar:24} {t:9.4g} / {self.end:g} s  {rate:.3g}× real time ", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line."""
        if self.shown:
            print(file=sys.stderr)
