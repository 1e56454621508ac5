"""The main loop of `simulate`: steps, outputs, events, and what remains when a run ends early."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .checkpoint import Checkpoint
from .crawl import OutOfTime, Progress, Watch
from .drive import State, function_name
from .energy_watch import EnergyWatch
from .methods import Integrator, Problem, Steps
from .resolution import spatial_warning
from .result import Event, Result

__all__ = ["EventFunction", "Run", "event_functions"]

Array = NDArray[np.float64]
EventFunction = Callable[[State], float]


def event_functions(events: Iterable[EventFunction] | EventFunction) -> list[EventFunction]:
    """One or several functions of the state, as a list."""
    if callable(events):
        return [events]
    functions = list(events) if isinstance(events, Iterable) and not isinstance(events, str) else None
    if functions is None or not all(callable(f) for f in functions):
        raise TypeError(f"events = {events!r} must be a function of the state, or several in a list.")
    return functions


class Rows(NamedTuple):
    """Stored times, one row each."""

    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    tau: Array
    multipliers: Array
    memory: Array
    control: Array


class Run:
    """A run in progress.

    Attributes
    ----------
    notes : list of str
        Sentences for `Result.warnings`, from whoever watches the run.
    """

    DELIVERED = 10.0  # error of a run in units of its local tolerance, which points along rods are compared with
    BATCH = 0.05  # s of wall time between two looks at the clock, the keyboard and the disk

    def __init__(
        self,
        problem: Problem,
        stepper: Integrator,
        times: Array | None,
        events: list[EventFunction],
        watch: Watch,
        checkpoint: Checkpoint,
    ) -> None:
        system, end = problem.system, problem.end
        self.system, self.drive, self.stepper, self.end = system, problem.drive, stepper, end
        self.functions, self.times, self.statistics = events, times, problem.statistics
        self.method = stepper.name or type(stepper).__name__
        self._clock, self._watch, self._checkpoint = problem.clock, watch, checkpoint
        self.found: list[Event] = []
        self.stored: list[Rows] = []
        self.notes: list[str] = []
        self.complete = False
        self.error: Exception | None = None
        self._next = 0
        self._constant = problem.steps.constant is not None
        first = stepper.row()
        self._values = [_value(f, State(stepper.t, stepper.q, stepper.v)) for f in self.functions]
        if times is None or abs(times[0] - stepper.t) <= 1e-12 * max(1.0, abs(end)):
            self.stored.append(Rows(*first[: len(Rows._fields)]))
            self._next = 1
        self._safe = first
        self._energy = EnergyWatch(system, first, problem.atol)
        stepper.watch = 2 if problem.drive.varies else self._energy.level  # work will be counted, most likely
        if checkpoint.due < self.BATCH:
            stepper.batch = 1
        self._rtol = problem.rtol

    def _between(self, times: Array) -> Rows:
        """What is to be stored at times within the last steps."""
        s, steps = self.stepper, self.stepper.taken
        q, v, a = s.states(times)
        control = self._control_between(times)
        u, tau = self.drive.rows(times, q, v, control)
        held = list(s.tensions)
        if held:
            u[:, held] = _forces_between(steps.t, steps.u[:, held], times)
        forces, memory = (_forces_between(steps.t, x, times) for x in (steps.multipliers, steps.memory))
        fixed = self.system.steady  # which are set once in a step
        memory[:, fixed] = steps.memory[np.searchsorted(steps.t, times).clip(max=len(steps.t) - 1)][:, fixed]
        return Rows(times, q, v, a, u, tau, forces, memory, control)

    def _control_between(self, times: Array) -> Array:
        """States of controllers: with their rates where steps resolve them, by monotone cubics between constant steps."""
        steps, control = self.stepper.taken, self.drive.control
        if control is None or not control.count:
            return np.zeros((len(times), 0))
        if self._constant or len(steps.t) < 2:
            return _forces_between(steps.t, steps.control, times)
        from scipy.interpolate import CubicHermiteSpline  # here, since it takes a while to import

        sides = [1, *[0] * (len(steps.t) - 2), -1]
        rows = zip(steps.t.tolist(), sides, steps.control, steps.q, steps.v)
        rates = np.array([control.rate(*row) for row in rows])
        return np.asarray(CubicHermiteSpline(steps.t, steps.control, rates)(times))

    def _outputs(self, end: float) -> None:
        """Store what is asked for in the last steps, up to a time."""
        steps = self.stepper.taken
        if self.times is None:
            n = int(np.searchsorted(steps.t, end, side="right"))
            if n > 1:
                self.stored.append(Rows(*(x[1:n] for x in steps[: len(Rows._fields)])))
                if self.drive.feedback and self.drive.control is None:
                    u, tau = self.drive.rows(steps.t[1:n], steps.q[1:n], steps.v[1:n], steps.control[1:n])
                    u[:, list(self.stepper.tensions)] = steps.u[1:n, list(self.stepper.tensions)]
                    self.stored[-1] = self.stored[-1]._replace(u=u, tau=tau)
            return
        stop = int(np.searchsorted(self.times, end + 1e-15 * max(1.0, abs(end)), side="right"))
        if stop > self._next:
            # a time within rounding of a step is that step
            times = np.clip(self.times[self._next : stop], steps.t[0], steps.t[-1])
            self.stored.append(self._between(times))
            self._next = stop

    def _event(self, k: int) -> Event | None:
        """Locate roots in the k-th of the last steps; the first terminal one is returned."""
        steps = self.stepper.taken
        t0, t1 = float(steps.t[k - 1]), float(steps.t[k])
        found: list[tuple[Event, bool]] = []
        values = [_value(function, State(t1, steps.q[k], steps.v[k])) for function in self.functions]
        for i, (function, before, after) in enumerate(zip(self.functions, self._values, values)):
            if before == 0.0 or before * after > 0 or getattr(function, "direction", 0) * (after - before) < 0:
                continue
            t = t1 if after == 0.0 else self._root(function, t0, t1)
            at = self._state(t)
            event = Event(getattr(function, "__name__", f"event {i}"), t, at.q, at.v)
            found.append((event, bool(getattr(function, "terminal", False))))
        self._values = values
        found.sort(key=lambda pair: pair[0].t)
        for event, terminal in found:
            self.found.append(event)
            if terminal:
                return event
        return None

    def _state(self, t: float) -> State:
        """The state at a time within the last steps."""
        q, v, _a = self.stepper.states(np.array([t]))
        return State(t, q[0], v[0])

    def _root(self, function: EventFunction, t0: float, t1: float) -> float:
        """Where an event function that changes its sign is zero."""
        from scipy.optimize import brentq  # here, since it takes a while to import

        return float(brentq(lambda t: _value(function, self._state(t)), t0, t1, xtol=1e-13, rtol=1e-14))

    def loop(self, progress: Progress) -> Result:
        """Run to the end, or until something stops it."""
        self._clock.arm()
        try:
            message = self._steps(progress)
        except OutOfTime:
            message = f"stopped at t = {self._safe.t[0]:.6g} s because max_wall_time = {self._clock.limit:g} s is over; start=<this result> goes on"
        except KeyboardInterrupt:
            message = f"interrupted at t = {self._safe.t[0]:.6g} s"
        except Exception as error:  # of a user's function, most likely: keep what was computed
            self.error = error
            message = _described(error, float(self._safe.t[0]))
        except BaseException as error:  # the program is to end: let it, with what was computed
            error.result = self.result(_described(error, float(self._safe.t[0])))  # type: ignore[attr-defined]
            raise
        finally:
            progress.close()
        result = self.result(message)
        rough = spatial_warning(self.system, result.q, self.DELIVERED * self._rtol)
        return result if rough is None else replace(result, warnings=(*result.warnings, rough))

    def _steps(self, progress: Progress) -> str:
        """Step to the end; returns the message."""
        s = self.stepper
        while s.t < self.end:
            began = self._clock.elapsed
            try:
                failure = s.advance(self.end)
            except BaseException:  # what was computed before it is kept
                self._keep()
                raise
            stop = self._keep()
            if stop is not None:
                return self._stopped(stop)
            self._set_batch(self._clock.elapsed - began)
            if failure is not None:
                return failure
            if self._energy.hopeless:
                return f"the energy grows without a source: stopped at t = {s.t:.6g} s (see the warnings)"
            progress.show(s.t)
            self._watch.look(s)
            self._checkpoint.save(lambda: self.result("checkpoint"))
        self.complete = True
        return "completed"

    def _keep(self) -> Event | None:
        """Events and outputs of the last steps; the run can be continued from their end. Returns a terminal event."""
        s, steps = self.stepper, self.stepper.taken
        if steps.t[-1] <= self._safe.t[-1]:  # no step was accepted
            return None
        stop = None
        for k in range(1, len(steps.t)) if self.functions else ():
            try:
                stop = self._event(k)
            except BaseException:
                self._outputs(float(steps.t[k - 1]))
                self._safe = Steps(*(x[k - 1 : k] for x in steps))
                raise
            if stop is not None:
                break
        self._outputs(float(steps.t[-1]) if stop is None else stop.t)
        if stop is None:
            self._safe = Steps(*(x[-1:] for x in steps))
            self._energy.see(steps)
            s.watch = self._energy.level
        return stop

    def _set_batch(self, seconds: float) -> None:
        """As many steps at a time as take some hundredths of a second, and no more than a checkpoint waits for."""
        s, due = self.stepper, min(self.BATCH, self._checkpoint.due)
        wanted = 2 * s.batch if seconds < 0.5 * due else s.batch if seconds < due else s.batch // 2
        s.batch = min(max(1, wanted), s.ROOM)

    def _stopped(self, stop: Event) -> str:
        """End the run where a terminal event is; returns the message."""
        self.complete = True
        row = self._between(np.array([stop.t]))
        if not self.stored or self.stored[-1].t[-1] < stop.t:
            self.stored.append(row)
        self._safe = Steps(*row, energy=np.zeros((1, 5)), smooth=np.zeros(1))
        return f"stopped by event {stop.name!r} at t = {stop.t:.6g} s"

    def result(self, message: str) -> Result:
        """What has been computed so far."""
        safe = self._safe
        t = float(safe.t[0])
        stored = self.stored or [Rows(*safe[: len(Rows._fields)])]  # no time that was asked for has been reached
        arrays = {name: np.concatenate([getattr(rows, name) for rows in stored]) for name in Rows._fields}
        watched = [note for note in (self._energy.warning, self._watch.note) if note]
        return Result(
            self.system,
            **arrays,
            success=self.complete,
            message=message,
            events=tuple(self.found),
            statistics=replace(self.statistics, wall_time=self._clock.elapsed),
            method=self.method,
            warnings=tuple([*self.notes, *self.stepper.notes(), *self._checkpoint.notes(), *watched]),
            final=None
            if arrays["t"][-1] == t
            else State(
                t,
                safe.q[0],
                safe.v[0],
                safe.memory[0] if self.system.nz else None,
                safe.control[0] if self.drive.control is not None else None,
            ),
            error=self.error,
            control_names=() if self.drive.control is None else self.drive.control.names,
        )


def _value(function: EventFunction, state: State) -> float:
    """Value of an event function; error if it is no number."""
    try:
        value = function(state)
        kind = np.asarray(value)
        if kind.dtype.kind not in "iuf" or kind.ndim or not np.isfinite(kind):
            raise TypeError(
                f"it returned {value!r}, but a finite number is needed that changes its sign where the event is (for a "
                "condition a > b, return a - b)."
            )
        return float(value)
    except Exception as error:
        error.add_note(f"in the event function {function_name(function)!r} at t = {state.t:.6g} s")
        raise


def _described(error: BaseException, t: float) -> str:
    """An exception with the user's function that it came from."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    where = "".join(f", {note}" for note in getattr(error, "__notes__", []))
    return f"{type(error).__name__}: {text.rstrip('.')}{where} (in the step from t = {t:.6g} s)"


def _forces_between(t: Array, forces: Array, times: Array) -> Array:
    """Forces (m, n) that are unknowns of the steps at times t (k,), between them: by monotone cubics, which do not overshoot where they jump."""
    if not forces.shape[1]:
        return np.zeros((len(times), 0))
    if len(t) < 3:
        share = ((times - t[0]) / (t[1] - t[0]))[:, None]
        return np.asarray((1.0 - share) * forces[0] + share * forces[1])
    from scipy.interpolate import PchipInterpolator  # here, since it takes a while to import

    return np.asarray(PchipInterpolator(t, forces, axis=0)(times))
