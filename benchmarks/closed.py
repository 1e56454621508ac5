"""Robots of [002] with loops, 10 s simulated: the default and BDF with the exact Jacobian, time and error of the tip.

    python benchmarks/closed.py [--json results.json] [--rounds 3] [--robots parallel,finger] [--wall 60]

The error is the largest distance of the observed points from a converged run (`rtol=1e-7`). The last column is the paper's best time, that of its
authors on their machine. The processor's time, with the statics at the start, is what the clock shows on an idle machine. Times are the shortest of
some rounds in which the methods take turns; a run that takes longer than `--wall` seconds ends there, and says how far it came.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small: threads only wait for each other

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import fin_ray_finger
import hybrid_parallel_robot

import pliant as pl

TIMES = np.linspace(0, 10, 201)
METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4},
    "bdf": {"method": "bdf"},
    "bdf, rtol 1e-3": {"method": "bdf", "rtol": 1e-3, "atol": 1e-4},
    "radau": {"method": "radau"},
}


class Case(NamedTuple):
    """A robot, its motion, the points that are looked at, and the time of the paper."""

    build: Callable[[], pl.System]
    run: Callable[..., pl.Result]
    points: tuple[str, ...]
    paper: float


CASES = {
    "parallel": Case(
        hybrid_parallel_robot.build, hybrid_parallel_robot.motion, ("corner1", "corner2", "corner3"), 2.46
    ),
    "finger": Case(fin_ray_finger.build, fin_ray_finger.run, ("tip",), 69.0),
}


def error(run: pl.Result, exact: pl.Result, points: tuple[str, ...]) -> float:
    """Largest distance of the points [m], as far as the run came."""
    times = TIMES[run.t[-1] >= TIMES]
    a, b = run.resample(times), exact.resample(times)
    return max(float(np.linalg.norm(a.positions(p) - b.positions(p), axis=1).max()) for p in points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wall", type=float, default=60.0)
    parser.add_argument("--robots", default=",".join(CASES))
    options = parser.parse_args()
    rows = []
    print(
        f"{'robot':10}{'method':22}{'steps':>7}{'wall [s]':>10}{'cpu [s]':>9}{'error [µm]':>12}{'closure':>10}{'paper [s]':>11}"
    )
    for name in options.robots.split(","):
        case = CASES[name]
        system = case.build()
        exact = case.run(system, rtol=1e-7, atol=1e-8)
        best: dict[str, pl.Result] = {}
        cpu = dict.fromkeys(METHODS, np.inf)
        for _ in range(options.rounds):
            for method, how in METHODS.items():
                clock = time.process_time()
                run = case.run(system, **how, max_wall_time=options.wall)
                cpu[method] = min(cpu[method], time.process_time() - clock)
                if method not in best or run.statistics.wall_time < best[method].statistics.wall_time:
                    best[method] = run
        for method, run in best.items():
            gap = max(float(np.abs(system.closure(q)[0]).max()) for q in run.q)
            wall, off = run.statistics.wall_time, error(run, exact, case.points)
            print(
                f"{name:10}{method:22}{run.statistics.steps:7d}{wall:10.3f}{cpu[method]:9.3f}{1e6 * off:12.3f}{gap:10.1e}{case.paper:11.2f}"
                + ("" if run.success else f"  only {run.t[-1]:.3g} s of 10 s"),
                flush=True,
            )
            rows.append(
                {"robot": name, "method": method, "wall": wall, "cpu": cpu[method], "error": off, "closure": gap}
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
