"""What `simulate` is asked for must be possible: times that can be told apart, tolerances above rounding, a bearable cost."""

from __future__ import annotations

import math
import os
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model.validate import positive
from ..system import System, numbers
from .crawl import duration_text

__all__ = ["StepOptions", "check_steps", "check_tolerances", "output_times", "rounding", "time_span"]

Array = NDArray[np.float64]

RESOLUTION = 1e-6  # s: coarser times than these cannot carry the motion of a robot
SHORTEST = 1e-12  # s: of steps and runs
STEPS = 10**9
MEMORY = 16e9  # bytes, where the machine does not tell
ROUNDING = 100 * float(np.finfo(float).eps)  # relative error that no method can promise to stay below


def time_span(begin: float, duration: object) -> tuple[float, float]:
    """Duration and end of a run [s]; error if times between cannot be told apart."""
    duration = positive("duration", duration, unit="s")
    end = begin + duration
    apart = float(np.spacing(max(abs(begin), abs(end)))) if np.isfinite(end) else np.inf
    if apart > RESOLUTION:
        far = f"duration = {duration:g} s" if duration > abs(begin) else f"t0 = {begin:g} s"
        raise ValueError(
            f"{far} is too large: near t = {max(abs(begin), abs(end)):g} s two times closer than {apart:.2g} s are the same number, "
            f"and a motion needs {RESOLUTION:g} s. Count time from nearer to zero, at most about 8e9 s ({duration_text(8e9)})."
        )
    if duration < shortest(begin, end):
        raise ValueError(
            f"duration = {duration:g} s is too short: times near t = {begin:g} s are told apart to {apart:.2g} s, and steps need "
            f"at least {shortest(begin, end):.2g} s."
        )
    return duration, end


def shortest(begin: float, end: float) -> float:
    """The shortest step [s] that can be told from none."""
    return max(SHORTEST, 4.0 * float(np.spacing(max(abs(begin), abs(end)))))


def rounding(t: float, h: float) -> float:
    """The part of a step of h [s] near t that times do not tell: what lies nearer is the same time."""
    return min(0.25, max(1e-9, 4.0 * math.ulp(t) / h))


class StepOptions(NamedTuple):
    """Options of a step as numbers [s]: constant, largest, first; and Newton's tolerance. None where left out."""

    constant: float | None
    largest: float | None
    first: float | None
    newton: float | None

    @classmethod
    def checked(
        cls,
        method: str,
        *,
        step: object,
        max_step: object,
        first_step: object,
        newton_tolerance: object,
        explicit: bool,
    ) -> StepOptions:
        """Error unless they are numbers that go together with each other and with the method.

        `explicit`: the method chooses its step and, if it needs one, its Newton iteration by itself.
        """
        given = {"step": step, "max_step": max_step, "first_step": first_step, "newton_tolerance": newton_tolerance}
        for name in ("step", "newton_tolerance"):
            if explicit and given[name] is not None:
                raise ValueError(
                    f"{name} = {given[name]!r} is for the implicit methods of pliant; {method!r} chooses its own. Use max_step to bound the step, "
                    "rtol and atol for accuracy."
                )
        constant, largest, first = (
            None if given[name] is None else positive(name, given[name], unit="s")
            for name in ("step", "max_step", "first_step")
        )
        if constant is not None and (first is not None or (largest is not None and largest < constant)):
            raise ValueError(
                f"step = {constant:g} is constant, so a first_step has no meaning and max_step cannot be less: leave them or "
                "step out."
            )
        newton = None if newton_tolerance is None else _above_rounding("newton_tolerance", newton_tolerance, 1e-15)
        return cls(constant, largest, first, newton)


def check_tolerances(rtol: object, atol: object) -> tuple[float, float]:
    """The tolerances as numbers; error unless they are above rounding."""
    return _above_rounding("rtol", rtol, ROUNDING), _above_rounding("atol", atol, 1e-15)


def _above_rounding(name: str, value: object, least: float) -> float:
    number = positive(name, value)
    if number < least:
        raise ValueError(
            f"{name} = {number:g} is not allowed: numbers have 16 digits, so nothing below {least:.2g} can be met and the steps would "
            f"shrink without end. Use {name} >= {least:.2g}; 1e-10 is very accurate."
        )
    return number


def check_steps(
    system: System, begin: float, end: float, steps: StepOptions, *, every_row: bool, limited: bool
) -> None:
    """Error if steps vanish in the resolution of time, or if there are too many to wait for or to keep.

    `every_row`: each step is stored; `limited`: the user has limited the wall time, so waiting is no matter.
    """
    for name, value in (("step", steps.constant), ("max_step", steps.largest), ("first_step", steps.first)):
        if value is None:
            continue
        if value < shortest(begin, end):
            raise ValueError(
                f"{name} = {value:g} s is too short: near t = {end:g} s steps below {shortest(begin, end):.2g} s cannot be told from "
                "none. Use a longer one, or count time from nearer to zero."
            )
        count = (end - begin) / value
        if name != "first_step" and count > STEPS and not limited:
            instead = (
                "error control chooses it if step is left out" if name == "step" else "rtol and atol bound the error"
            )
            raise ValueError(
                f"{name} = {value:g} s makes {count:.1g} steps in {end - begin:g} s, which take at least "
                f"{duration_text(count * _effort(system))}. Use a longer one (1e-3 s is usual; {instead}), or give max_wall_time [s] to "
                "get as far as possible within it."
            )
    if steps.constant is not None and every_row:
        advice = "Give `output`, an interval or times, to keep fewer."
        _check_rows(system, (end - begin) / steps.constant, f"step = {steps.constant:g} s", advice)


def output_times(system: System, output: ArrayLike | float | None, begin: float, end: float) -> Array | None:
    """The times of the result, from an interval or from times; None for every step."""
    if output is None:
        return None
    if not isinstance(output, (list, tuple, np.ndarray)) and np.ndim(output) == 0:
        h = positive("output", output, unit="s", hint="An interval, or an array of times.")
        if h < shortest(begin, end):
            raise ValueError(
                f"output = {h:g} s is too short an interval: near t = {end:g} s times closer than {shortest(begin, end):.2g} s cannot be "
                "told apart."
            )
        _check_rows(system, (end - begin) / h, f"output = {h:g} s", "Use a longer interval.")
        n = int(np.floor((end - begin) / h * (1 + 1e-12)))
        times = np.asarray(begin + h * np.arange(n + 1), dtype=np.float64)
        return times if end - times[-1] < 1e-9 * h else np.concatenate([times, [end]])
    times = numbers("output", output)
    slack = 1e-12 * max(1.0, abs(end))
    if times.ndim != 1 or not len(times):
        raise ValueError(
            f"output has shape {times.shape}: give an interval [s], one or several times in a list, or nothing for every step."
        )
    if not np.all(np.isfinite(times)):
        raise ValueError(
            f"output[{int(np.argmin(np.isfinite(times)))}] is not finite: all times must be finite numbers [s]."
        )
    if np.any(np.diff(times) <= 0):
        k = int(np.argmax(np.diff(times) <= 0))
        raise ValueError(f"output times must increase, but {times[k]:.9g} s is followed by {times[k + 1]:.9g} s.")
    if times[0] < begin - slack or times[-1] > end + slack:
        outside = times[0] if times[0] < begin - slack else times[-1]
        raise ValueError(f"output times must lie within the run, {begin:g} to {end:g} s, but {outside:.9g} s does not.")
    return times


def _check_rows(system: System, count: float, what: str, advice: str) -> None:
    width = 1 + system.nq + 3 * system.nv + system.nu + len(system.loop_rows)
    needed = count * (2 * 8 * width + 800)  # twice when the rows become arrays; and Python's own of seven small arrays
    there = _memory()
    if needed > there:
        raise ValueError(
            f"{what} stores {count:.1g} times, which needs about {needed / 1e9:.2g} GB of memory; this machine has "
            f"{there / 1e9:.2g} GB. {advice}"
        )


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return MEMORY


def _effort(system: System) -> float:
    """Seconds that a step takes at least: one evaluation of the forces."""
    q, zero = system.neutral(), np.zeros(system.nv)
    system.inverse_dynamics(q, zero, zero)
    start = time.perf_counter()
    for _ in range(10):
        system.inverse_dynamics(q, zero, zero)
    return (time.perf_counter() - start) / 10
