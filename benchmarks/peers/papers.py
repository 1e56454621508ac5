"""The robots of [002] Table 3 and the rods of [000] Table I, with the times that are printed there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pliant as pl

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))


class Paper(NamedTuple):
    """A robot of the examples, how it is run, what is looked at, and what is printed [s of computing for `duration`]."""

    source: str
    example: str
    build: Callable[[Any], pl.System]
    run: Callable[..., pl.Result]
    frames: tuple[str, ...]
    duration: float
    printed: float
    length: float


def _flight(module: Any, system: pl.System, **options: Any) -> pl.Result:
    return pl.simulate(system, 10.0, u=module.kick, max_step=0.1, **options)


def _swim(module: Any, system: pl.System, **options: Any) -> pl.Result:
    return pl.simulate(system, 10.0, u=module.TORQUES, **options)


def _manipulate(module: Any, system: pl.System, **options: Any) -> pl.Result:
    return pl.simulate(system, 10.0, u=module.tensions, start=pl.solve_statics(system), **options)


def _serial(module: Any, system: pl.System, **options: Any) -> pl.Result:
    start = pl.solve_statics(system, motion=module.MOTION)
    return pl.simulate(system, 10.0, motion=module.MOTION, start=start, **options)


def _swing(module: Any, system: pl.System, **options: Any) -> pl.Result:
    kind = system.name.split()[0]
    return module.swing(system, module.RODS[kind][-1], **options)


def _build(module: Any) -> pl.System:
    return module.build()


T3, T1 = "[002] Table 3", "[000] Table I"
PAPERS = {
    "cable-driven manipulator": Paper(T3, "cable_driven_manipulator", _build, _manipulate, ("arm.tip",), 10, 1.25, 0.5),
    "hybrid serial robot": Paper(T3, "hybrid_serial_robot", _build, _serial, ("arm.tip",), 10, 2.49, 0.5),
    "fin-ray finger": Paper(T3, "fin_ray_finger", _build, lambda m, s, **o: m.run(s, **o), ("tip",), 10, 69.0, 0.2),
    "hybrid parallel robot": Paper(
        T3,
        "hybrid_parallel_robot",
        _build,
        lambda m, s, **o: m.motion(s, **o),
        ("corner1", "corner2", "corner3"),
        10,
        2.46,
        0.15,
    ),
    "manipulator in a pipe": Paper(T3, "manipulator_in_pipe", _build, _manipulate, ("arm.tip",), 10, 7.8, 0.5),
    "underwater vehicle": Paper(
        T3, "underwater_vehicle", _build, _swim, ("front_flagellum0.tip", "rear_flagellum0.tip"), 10, 1.17, 0.5
    ),
    "stiff cantilever": Paper(T1, "cantilever_swing", lambda m: m.build("stiff"), _swing, ("rod.tip",), 1, 7.1, 0.4),
    "soft cantilever": Paper(T1, "cantilever_swing", lambda m: m.build("soft"), _swing, ("rod.tip",), 10, 91.0, 10.0),
    "stiff flying rod": Paper(T1, "flying_rods", lambda m: m.stiff(), _flight, ("rod.base", "rod.tip"), 10, 85.0, 1.0),
    "soft flying rod": Paper(T1, "flying_rods", lambda m: m.soft(), _flight, ("rod.base", "rod.tip"), 10, 79.0, 10.0),
}
STATICS = {
    "cable-driven manipulator": 3.3e-3,
    "hybrid serial robot": 6.3e-3,
    "hybrid parallel robot": 9.0e-3,
}  # s, [002]


@cache
def made(name: str) -> tuple[Any, pl.System]:
    """The example's module and its system."""
    module = importlib.import_module(PAPERS[name].example)
    return module, PAPERS[name].build(module)


@cache
def exact(name: str) -> pl.Result:
    """The converged motion."""
    return PAPERS[name].run(*made(name), rtol=1e-7, atol=1e-8)


def paper(name: str, rtol: float) -> Callable[[], Any]:
    """The motion of a robot with error control; reports the largest error of its points [m], at 201 times."""
    case = PAPERS[name]
    module, system = made(name)
    times = np.linspace(0, case.duration, 201)

    def run() -> pl.Result:
        return case.run(module, system, rtol=rtol, atol=rtol / 10)

    def report(result: pl.Result) -> dict[str, Any]:
        a, b = result.resample(times), exact(name).resample(times)
        error = max(float(np.linalg.norm(a.positions(f) - b.positions(f), axis=1).max()) for f in case.frames)
        return {"error": error, "steps": result.statistics.steps, "dof": system.nv, "success": bool(result.success)}

    run.report = report  # type: ignore[attr-defined]
    return run


def paper_statics(name: str, count: int = 50) -> Callable[[], Any]:
    """`count` random equilibria as in the paper, in the example's own way; `mean` is the time of one [s]."""
    module, system = made(name)
    options = (count, 50.0) if name == "cable-driven manipulator" else (count,)

    def run() -> dict[str, Any]:
        found = module.random_statics(system, *options)
        return {"mean": float(found[1]), "error": 0.0}

    return run
