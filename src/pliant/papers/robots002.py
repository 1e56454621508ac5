"""The six robots of [002], each with how it is driven, and its integration methods 1, 2 and 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import gallery
from ..solve.drive import Drive
from ..solve.methods import Problem
from ..solve.methods.ode import ChartedODE, OdeIntegrator
from ..solve.motion import MotionSet
from ..solve.result import Result
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from ..system import System
from .measure import cpu, distance, mismatch

__all__ = ["ROBOTS", "DifferencesBDF", "Driven", "Timed", "dynamics", "made", "reference", "timed"]

Array = NDArray[np.float64]
TIMES = np.linspace(0, 10, 201)
LIMIT = 12.0  # s of wall time, for methods that crawl


class DifferencesBDF(OdeIntegrator):
    """SciPy's BDF with a Jacobian by differences of the forward dynamics: method 1 of [002]."""

    def __init__(self, problem: Problem) -> None:
        from scipy.integrate import BDF

        super().__init__(problem, "bdf")
        exact = self._solver
        self._solver = BDF(self._ode.rhs, exact.t, exact.y, exact.t_bound, rtol=exact.rtol, atol=exact.atol)


@dataclass(frozen=True)
class Driven:
    """A robot of the examples and its motion.

    `build` takes the example's module, `inputs` the module and gives options of `simulate`; `length` is the size of the robot [m]. `step` is the paper's
    for Newmark's method [s]. `until` are simulated times [s] after which methods that would take too long are stopped.
    """

    example: str
    build: Callable[[Any], System]
    inputs: Callable[[Any], dict[str, Any]]
    frames: tuple[str, ...]
    length: float
    step: float
    until: dict[str, float]
    explicit: bool = False


ROBOTS = {
    "cdm": Driven(
        "cable_driven_manipulator", lambda m: m.build(5), lambda m: {"u": m.tensions}, ("arm.tip",), 0.5, 0.002, {}
    ),
    "serial": Driven(
        "hybrid_serial_robot", lambda m: m.build(5), lambda m: {"motion": m.MOTION}, ("arm.tip",), 0.5, 0.001, {}
    ),
    "finray": Driven(
        "fin_ray_finger",
        lambda m: m.build(points=5),
        lambda m: {"motion": {"slide": m.MOTIONS["smooth"]}},
        ("tip",),
        0.18,
        0.01,
        {"method 1": 0.05, "method 2": 0.5},
    ),
    "parallel": Driven(
        "hybrid_parallel_robot",
        lambda m: m.build(points=5),
        lambda m: {"u": m.wrench},
        ("corner1", "corner2", "corner3"),
        0.15,
        0.01,
        {"explicit": 0.01},
        True,
    ),
    "pipe": Driven(
        "manipulator_in_pipe", lambda m: m.build(), lambda m: {"u": m.tensions}, ("arm.tip",), 0.5, 0.002, {}
    ),
    "vehicle": Driven(
        "underwater_vehicle",
        lambda m: m.build(),
        lambda m: {"u": m.TORQUES},
        tuple(f"{place}_flagellum{k}.tip" for place in ("front", "rear") for k in range(3)),
        0.5,
        0.01,
        {"method 1": 3.0, "explicit": 0.2},
        True,
    ),
}


@cache
def made(name: str) -> tuple[Any, System, dict[str, Any]]:
    """The example's module, its system and the options of its motion, which starts at rest."""
    robot = ROBOTS[name]
    module = gallery.load(robot.example)
    system = robot.build(module)
    options = robot.inputs(module)
    options["start"] = system.neutral() if name == "vehicle" else solve_statics(system, motion=options.get("motion"))
    return module, system, options


@cache
def reference(name: str) -> Result:
    """The converged motion."""
    _module, system, options = made(name)
    run = simulate(system, 10.0, rtol=1e-7, atol=1e-8, **options)
    if not run.success:
        raise RuntimeError(run.message)
    return run


@dataclass(frozen=True)
class Timed:
    """A motion by one method: CPU time for ten seconds [s], largest error of its points [m], the run, where it was stopped [s]."""

    seconds: float
    error: float
    run: Result
    until: float

    @property
    def note(self) -> str:
        """What to know about the time."""
        if not self.run.success:
            stuck = "max_wall_time" in self.run.message
            return f"{'stuck' if stuck else 'failed'} at {self.run.t[-1]:.2g} s of 10" + stuck * f" after {LIMIT:g} s"
        return "" if self.until >= 10 else f"extrapolated from {self.until:g} s of motion"


def methods(name: str) -> dict[str, dict[str, Any]]:
    """Options of `simulate` by method; 1 and 2 with MATLAB's default tolerances."""
    matlab = {"rtol": 1e-3, "atol": 1e-6}
    found: dict[str, dict[str, Any]] = {
        "method 1": {"method": DifferencesBDF, **matlab},
        "method 2": {"method": "bdf", **matlab},
        "method 3": {"method": "newmark", "step": ROBOTS[name].step},
        "rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4},
        "default": {},
    }
    if ROBOTS[name].explicit:
        found["explicit"] = {"method": "dop853", "first_step": 1e-6, **matlab}
    return found


@cache
def timed(name: str, method: str, quick: bool) -> Timed:
    """The motion of a robot by a method, timed."""
    robot, (_module, system, options) = ROBOTS[name], made(name)
    until = robot.until.get(method, 10.0)
    if quick and method in ("method 1", "method 2", "method 3"):
        until = min(until, 1.0)

    def run() -> Result:
        with np.errstate(all="ignore"):  # the differences of SciPy may overflow where they fail
            return simulate(system, until, **options, **methods(name)[method], max_wall_time=LIMIT, progress=False)

    reference(name)
    seconds, found = cpu(run, 1 if quick else 5, longest=2.0)
    end = min(until, float(found.t[-1]))
    if end == 0:
        return Timed(np.nan, np.nan, found, until)
    times = TIMES[end + 1e-9 >= TIMES] if end > 0.2 else np.linspace(0, end, 21)
    error = float(distance(found, reference(name), robot.frames, times).max())
    return Timed(seconds * 10.0 / end, error, found, until)


def mismatches(name: str, first: str, second: str, quick: bool) -> tuple[Array, Array, Array]:
    """Times, distance of the points [m] and mismatch of the states between two methods."""
    a, b = timed(name, first, quick).run, timed(name, second, quick).run
    end = min(float(a.t[-1]), float(b.t[-1]))
    times = TIMES[end + 1e-9 >= TIMES][1:] if end > 0.2 else np.linspace(0, end, 21)[1:]
    x, y = (np.hstack([r.resample(times).q, r.resample(times).v]) for r in (a, b))
    return times, distance(a, b, ROBOTS[name].frames, times), mismatch(x, y)


def dynamics(name: str) -> ChartedODE:
    """ẋ = f(t, x) with its exact Jacobian, as the ODE methods use it."""
    _module, system, options = made(name)
    q = options["start"] if isinstance(options["start"], np.ndarray) else options["start"].q
    motion = MotionSet(system, options.get("motion"), q, 0.0)
    return ChartedODE(system, Drive(system, options.get("u"), None), motion, 0.02)


def states(name: str, count: int) -> list[tuple[float, Array]]:
    """Times and states x = (q, v) along the converged motion."""
    run = reference(name).resample(np.linspace(0.5, 9.5, count))
    return [(float(t), np.concatenate([q, v])) for t, q, v in zip(run.t, run.q, run.v)]
