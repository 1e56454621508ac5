"""Runs that take long: a limit of wall time, the line of progress, and a diagnosis of what makes a run crawl."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ..system import System

if TYPE_CHECKING:
    from .methods import Integrator
    from .result import Statistics

__all__ = ["Clock", "OutOfTime", "Progress", "Watch", "duration_text"]


class OutOfTime(Exception):
    """The wall time that was granted is over."""


class Clock:
    """Wall time since the start of a run, and its limit [s]."""

    def __init__(self, limit: float | None = None) -> None:
        self.start = time.perf_counter()
        self.limit = limit
        self._end = np.inf

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def arm(self) -> None:
        """From now on the limit counts: what is compiled before the first step is not charged."""
        if self.limit is not None:
            self._end = time.perf_counter() + self.limit

    def check(self) -> None:
        """Called before every evaluation of a step."""
        if time.perf_counter() > self._end:
            raise OutOfTime


class Progress:
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

    def say(self, text: str) -> None:
        """A line of its own, with or without a terminal; none if the environment has PLIANT_QUIET."""
        self.close()
        if not os.environ.get("PLIANT_QUIET"):
            print(f"pliant: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line."""
        if self.shown:
            print(file=sys.stderr)
        self.shown = False


class Watch:
    """Looks once a second whether a run crawls; if so it says so, and why, after a while and then ever more rarely.

    A run crawls if it has taken `PATIENCE` seconds, is slower than `SLOW` times real time, and at its present pace has
    more than `LONG` seconds to go.
    """

    PATIENCE, SLOW, LONG, EVERY = 5.0, 0.2, 20.0, 1.0

    def __init__(
        self, system: System, clock: Clock, progress: Progress, statistics: Statistics, end: float, *, fixed: bool
    ) -> None:
        self.system, self.clock, self.progress, self.statistics, self.end = system, clock, progress, statistics, end
        self.fixed = fixed  # whether the step is constant
        self.note = ""  # the last diagnosis, for `Result.warnings`
        self._mark: tuple[float, float, tuple[int, int, int]] | None = None
        self._due = 0.0
        self._asked = False
        self._next, self._pause = self.PATIENCE, 6.0 * self.PATIENCE

    def look(self, stepper: Integrator) -> None:
        """Called after every step."""
        now = self.clock.elapsed
        if now < self._due:
            return
        self._due = now + self.EVERY
        counts = self.statistics.steps, self.statistics.rejected, self.statistics.iterations
        mark, self._mark = self._mark, (now, stepper.t, counts)
        if mark is None or now < self.PATIENCE:
            return
        before, t, old = mark
        rate = (stepper.t - t) / (now - before)
        if rate >= self.SLOW or self.end - stepper.t <= self.LONG * rate or now < self._next:
            return
        tally = stepper.tally()
        if not self._asked:  # counting has begun: the next look has an answer, where there is one
            self._asked = True
            return
        left = duration_text((self.end - stepper.t) / rate) if rate > 0 else "no end"
        pace = f"t = {stepper.t:.4g} s after {duration_text(now)}, {rate:.2g} × real time, {left} to go at this pace"
        steps, rejected, iterations = (new - last for new, last in zip(counts, old))
        how = f"Steps are {(stepper.t - t) / max(steps, 1):.2g} s long, {rejected} of {steps + rejected} tries fail"
        if iterations:
            how += f", {iterations / (steps + rejected):.1f} Newton iterations each"
        reason = " ".join([f"{how}.", *self._reasons(stepper, tally)])
        self.note = f"The run was slow ({pace}). {reason}"
        self.progress.say(f"this run is slow: {pace}. {reason} Ctrl-C or max_wall_time end it with what it has.")
        self._next, self._pause = now + self._pause, 3.0 * self._pause

    def _reasons(self, stepper: Integrator, tally: Counter[tuple[int, bool]] | None) -> list[str]:
        """Which coordinate limits the steps, what is in contact, what to change."""
        out: list[str] = []
        advice: list[str] = []
        name, by_error = "", True
        if tally is None:
            name = self.system.dof_names[int(np.argmax(np.abs(stepper.a) / self.system.internal.scale))]
            out.append(f"The largest acceleration is that of {name!r}.")
        else:
            tries = tally.total()
            if self.fixed:  # an error limits no constant step
                tally = Counter({key: count for key, count in tally.items() if not key[1]})
            if tally:
                (k, by_error), count = tally.most_common(1)[0]
                name = self.system.dof_names[k]
                cause = "the error of" if by_error else "Newton's iteration, which diverges in"
                out.append(f"What limits them is {cause} {name!r} ({100 * count / tries:.0f} % of the tries).")
        touching = contacts_now(self.system, stepper)
        if touching:
            out.append(touching)
            advice.append("softer contacts, or more damping in them")
        if any(word in name for word in (".stretch", ".shear", ".torsion")):
            rod = name.partition(".")[0]
            advice.append(f"leave that strain out of the rod {rod!r} if its fast motion does not matter")
        if name:
            advice.append("more damping there (viscosity of the material, damping of the joint)")
        if self.fixed:
            advice.append("a longer step, or error control (leave `step` out)")
        elif by_error:
            advice.append("looser rtol and atol, a constant `step`, or method='radau'")
        else:
            advice.append("smoother loads and inputs")
        return [*out, f"What may help: {'; '.join(advice)}."]


def contacts_now(system: System, stepper: Integrator) -> str:
    """A sentence about what carries a force at the state of a stepper; empty if nothing touches."""
    found = system.contacts(stepper.q, stepper.v)
    forces = {name: float(found.of(name).normal_force.sum()) for name in dict.fromkeys(found.name)}
    if not forces:
        return ""
    largest = sorted(forces, key=forces.__getitem__, reverse=True)[:3]
    shown = ", ".join(f"{name!r} with {forces[name]:.3g} N" for name in largest)
    return f"In contact now: {shown}{' and others' if len(forces) > 3 else ''}."


def duration_text(seconds: float) -> str:
    """A time span for people: 12 s, 5 min, 3.2 h, 40 days, 7 years."""
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h"), (6.3e7, 86400, "days")):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 31557600:.2g} years"
