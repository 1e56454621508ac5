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
from .methods import Integrator, Problem
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


class Row(NamedTuple):
    """One stored time."""

    t: float
    q: Array
    v: Array
    a: Array
    u: Array
    tau: Array
    multipliers: Array


class Run:
    """A run in progress.

    Attributes
    ----------
    notes : list of str
        Sentences for `Result.warnings`, from whoever watches the run.
    """

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
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.complete = False
        self.error: Exception | None = None
        self._next = 0
        # unknown forces at the last step's start
        self._from = stepper.t, dict(stepper.tensions), stepper.multipliers.copy()
        self._values = [_value(f, State(stepper.t, stepper.q, stepper.v)) for f in self.functions]
        if times is None or abs(times[0] - stepper.t) <= 1e-12 * max(1.0, abs(end)):
            self._store(stepper.t, stepper.q, stepper.v, stepper.a)
            self._next = 1
        self._keep()
        s = stepper
        self._energy = EnergyWatch(system, s.t, s.q, s.v, s.a, *s.applied, s.multipliers, problem.atol)
        self._rtol = problem.rtol

    def _keep(self) -> None:
        """Keep the state after a step that went well in every respect; the run can be continued from it."""
        s = self.stepper
        self._safe = self.rows[-1][:4] if self.times is None else (s.t, s.q.copy(), s.v.copy(), s.a.copy())

    def _store(self, t: float, q: Array, v: Array, a: Array) -> None:
        s = self.stepper
        u, tau = s.applied if t == s.t and not self.drive.feedback else self.drive(t, q, v)
        self.rows.append(self._row(t, q, v, a, u, tau))

    def _row(self, t: float, q: Array, v: Array, a: Array, u: Array, tau: Array) -> Row:
        s = self.stepper
        u = u.copy()
        share = 1.0 if t == s.t or s.t == self._from[0] else (t - self._from[0]) / (s.t - self._from[0])
        _begin, tensions, multipliers = self._from
        for index, tension in s.tensions.items():
            u[index] = share * tension + (1.0 - share) * tensions.get(index, tension)
        forces = share * s.multipliers + (1.0 - share) * multipliers if len(multipliers) else s.multipliers.copy()
        return Row(t, q.copy(), v.copy(), a.copy(), u, tau.copy(), forces)

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
            before, after = self._values[i], _value(function, State(s.t, s.q, s.v))
            self._values[i] = after
            direction = getattr(function, "direction", 0)
            if before == 0.0 or before * after > 0 or (after == 0.0 and before == 0.0):
                continue
            if direction * (after - before) < 0:
                continue

            def value(t: float, function: EventFunction = function) -> float:
                return _value(function, State(t, *s.at(t)))

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

    def loop(self, progress: Progress) -> Result:
        """Run to the end, or until something stops it."""
        self._clock.arm()
        try:
            message = self._steps(progress)
        except OutOfTime:
            message = f"stopped at t = {self._safe[0]:.6g} s because max_wall_time = {self._clock.limit:g} s is over; start=<this result> goes on"
        except KeyboardInterrupt:
            message = f"interrupted at t = {self._safe[0]:.6g} s"
        except Exception as error:  # of a user's function, most likely: keep what was computed
            self.error = error
            message = _described(error, self._safe[0])
        except BaseException as error:  # the program is to end: let it, with what was computed
            error.result = self.result(_described(error, self._safe[0]))  # type: ignore[attr-defined]
            raise
        finally:
            progress.close()
        result = self.result(message)
        rough = spatial_warning(self.system, result.q, self._rtol)
        return result if rough is None else replace(result, warnings=(*result.warnings, rough))

    def _steps(self, progress: Progress) -> str:
        """Step to the end; returns the message."""
        s = self.stepper
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
                a = a0 + (stop.t - t0) / (s.t - t0) * (s.a - a0)
                if not self.rows or self.rows[-1].t < stop.t:
                    self._store(stop.t, stop.q, stop.v, a)
                self._safe = stop.t, stop.q, stop.v, a
                return f"stopped by event {stop.name!r} at t = {stop.t:.6g} s"
            self._keep()
            self._energy.see(s.t, s.q, s.v, s.a, *s.applied, s.multipliers)
            if self._energy.hopeless:
                return f"the energy grows without a source: stopped at t = {s.t:.6g} s (see the warnings)"
            progress.show(s.t)
            self._watch.look(s)
            self._checkpoint.save(lambda: self.result("checkpoint"))
        self.complete = True
        return "completed"

    def result(self, message: str) -> Result:
        """What has been computed so far."""
        t, q, v, a = self._safe
        rows = self.rows
        if not rows:  # no time that was asked for has been reached
            try:
                u, tau = self.drive(t, q, v)
            except Exception:  # it is what ended the run
                u, tau = np.full(self.system.nu, np.nan), np.full(self.system.nv, np.nan)
            rows = [self._row(t, q, v, a, u, tau)]
        arrays = {name: np.array([getattr(row, name) for row in rows]) for name in Row._fields}
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
            final=None if rows[-1].t == t else State(t, q, v),
            error=self.error,
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
