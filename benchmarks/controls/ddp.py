"""One iteration of differential dynamic programming on the manipulator of [002], part by part, and whole plans.

24 degrees of freedom, five cables, 50 knots of 20 ms. Processor times of one thread, the least of many, and times by the clock with all threads; with the points that
follow from the order, and with the five of [002].
"""

from __future__ import annotations

import time
from collections.abc import Callable

import cable_driven_manipulator as manipulator
import numpy as np

import pliant as pl
from pliant.control.optimal.ddp import Solver
from pliant.system.processors import all_threads

GOAL = (0.40, 0.12, 0.10)
COST = [pl.Reach("arm.tip", GOAL, 100.0), pl.Still("arm.tip"), pl.Effort(1e-4)]


def least(function: Callable[[], object], count: int, now: Callable[[], float] = time.process_time) -> float:
    """Least time of a call [ms]."""
    best = np.inf
    for _ in range(count):
        clock = now()
        function()
        best = min(best, now() - clock)
    return 1e3 * best


def iteration_parts(points: int | None, count: int, threads: int) -> list[dict[str, object]]:
    """Times of the parts of an iteration near the optimum."""
    system = manipulator.build(points)
    plan = pl.optimize(
        system, COST, bounds=(0, 40), horizon=1.0, knots=50, start=pl.solve_statics(system), threads=threads
    )
    solver = Solver(plan.problem, plan.u)
    solver.roll(plan.u)
    solver.backwards()

    def iteration() -> None:
        solver.steps.feed_back(solver.U + 0.01 * solver.k, solver.K)
        solver._take(solver.steps.U)
        solver.backwards()

    parts: dict[str, Callable[[], object]] = {
        "rollout with feedback": lambda: solver.steps.feed_back(solver.U + 0.01 * solver.k, solver.K),
        "maps of all steps": solver.steps.keep,
        "cost to second order": solver.judge_again,
        "sweep backwards": solver.backwards,
        "iteration": iteration,
        "Rollout.maps": plan.rollout.maps,
        "Rollout.gradient": lambda: plan.rollout.gradient(COST).u,
    }
    found: list[dict[str, object]] = []
    now = time.process_time if threads == 1 else time.perf_counter
    for name, function in parts.items():
        if threads > 1 and name not in ("maps of all steps", "iteration"):
            continue
        found.append({"what": name, "points": points, "threads": threads, "ms": round(least(function, count, now), 3)})
        print(f"{name:24}{found[-1]['ms']:10} ms, {points or 'default'} points, {threads} threads", flush=True)
    return found


def run(quick: bool) -> list[dict[str, object]]:
    """Times of the parts of an iteration, and of plans from nothing."""
    count = 5 if quick else 40
    found = [
        row
        for points in (None, 5)
        for threads in sorted({1, all_threads()})
        for row in iteration_parts(points, count, threads)
    ]
    system = manipulator.build()
    rest = pl.solve_statics(system)
    for knots in (25, 50):
        clock = time.process_time()
        again = pl.optimize(system, COST, bounds=(0, 40), horizon=0.02 * knots, knots=knots, start=rest, threads=1)
        spent = time.process_time() - clock
        off = float(np.linalg.norm(again.rollout.positions("arm.tip")[-1] - GOAL))
        found.append(
            {"what": f"plan, {knots} knots", "ms": round(1e3 * spent, 1), "iterations": again.iterations, "rollouts": again.rollouts,
             "status": again.status, "off": off, "slope": float(again.slopes[-1])}
        )  # fmt: skip
        print(
            f"plan, {knots} knots: {again.status}, {1e3 * spent:.0f} ms, {again.iterations} iterations, {again.rollouts} rollouts, tip {1e3 * off:.2f} mm off, "
            f"projected gradient {again.slopes[-1]:.1e}",
            flush=True,
        )
    return found
