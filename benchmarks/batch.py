"""Batches: what an item costs, one by one and together, on one thread and on two.

    python benchmarks/batch.py [--rounds 7] [--threads 2] [--json results.json]

The robot is the manipulator of [002], 24 dof and five cables. "alone" is a loop of single calls in Python over some of the items. Times are the shortest of
some rounds, in which all take turns, by the clock on the wall: a round in which other programs compute too is longer, and does not count.
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

import cable_driven_manipulator

import pliant as pl

TIP, STEP, STEPS = "arm.tip", 0.01, 100


class Case(NamedTuple):
    """What is computed of how many items: in a batch, and of one item alone."""

    name: str
    count: int
    batch: Callable[[int], Any]
    alone: Callable[[int], Any]


def cases(system: pl.System) -> list[Case]:
    rng = np.random.default_rng(0)
    rest = pl.solve_statics(system)
    u = rng.uniform(0.0, 20.0, (4000, system.nu))
    near = 1.002 * u
    q = pl.batch(system).statics(u, start=rest)["q"]
    many = np.tile(q, (5, 1))
    U = np.repeat(u[:1000, None], STEPS, axis=1) * np.linspace(0.5, 1.0, STEPS)[:, None]
    cost = pl.Reach(TIP, (0.3, 0.1, 0.2)) + 1e-4 * pl.Effort()
    young, length = 1e6 * np.linspace(0.7, 1.3, 1000), 0.5 * np.linspace(0.9, 1.1, 100)

    def jobs(threads: int, **options: Any) -> pl.Batch:
        return pl.batch(system, threads=threads, progress=False, **options)

    def softer(k: int) -> Any:
        return pl.solve_statics(system.with_parameters({"arm.young": young[k]}), u[0], start=rest)

    def longer(k: int) -> Any:
        return pl.solve_statics(system.with_parameters({"arm.length": length[k]}), u[0], start=rest)

    def gradient(k: int) -> Any:
        return pl.rollout(system, U[k], step=STEP, start=rest).gradient(cost)

    return [
        Case("poses", 20000, lambda n: jobs(n).poses(TIP, many), lambda k: system.pose(TIP, q[k])),
        Case("Jacobians", 20000, lambda n: jobs(n).jacobians(TIP, many), lambda k: system.jacobian(TIP, q[k])),
        Case("statics, start near", 4000, lambda n: jobs(n).statics(near, start=q), lambda k: pl.solve_statics(system, near[k], start=q[k])),
        Case("statics, from rest", 4000, lambda n: jobs(n).statics(u, start=rest), lambda k: pl.solve_statics(system, u[k], start=rest)),
        Case("static Jacobians", 4000, lambda n: jobs(n).static_jacobians(TIP, q, u), lambda k: pl.static_jacobian(system, q[k], TIP, u=u[k])),
        Case("linearisations", 4000, lambda n: jobs(n).linearize(q, u=u), lambda k: pl.linearize(system, q[k], u=u[k])),
        Case(f"rollouts, {STEPS} steps", 1000, lambda n: jobs(n).rollouts(U, step=STEP, start=rest), lambda k: pl.rollout(system, U[k], step=STEP, start=rest)),
        Case(f"gradients, {STEPS} steps", 200, lambda n: jobs(n).gradients(cost, U[:200], step=STEP, start=rest), gradient),
        Case("statics, other moduli", 1000, lambda n: jobs(n, parameters={"arm.young": young}).statics(u[0], start=rest), softer),
        Case("statics, other lengths", 100, lambda n: jobs(n, parameters={"arm.length": length}).statics(u[0], start=rest), longer),
    ]  # fmt: skip


def clocked(function: Callable[[], Any]) -> float:
    clock = time.perf_counter()
    function()
    return time.perf_counter() - clock


def measured(case: Case, threads: int, rounds: int) -> dict[str, float]:
    """Times of an item [µs]: alone, on one thread, on several."""
    some = min(case.count, 50)
    if clocked(lambda: case.batch(threads)) > 1.0:
        rounds = max(3, rounds // 4)
    best = {"alone": np.inf, "one": np.inf, "several": np.inf}
    for _ in range(rounds):
        best["alone"] = min(best["alone"], clocked(lambda: [case.alone(k) for k in range(some)]) / some)
        best["one"] = min(best["one"], clocked(lambda: case.batch(1)) / case.count)
        best["several"] = min(best["several"], clocked(lambda: case.batch(threads)) / case.count)
    return {name: 1e6 * value for name, value in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    system = cable_driven_manipulator.build()
    found = {}
    print(
        f"{'item [µs]':26}{'alone':>10}{'1 thread':>10}{f'{given.threads} threads':>11}{'ratio':>7}{'per second and core':>21}"
    )
    for case in cases(system):
        if given.only not in case.name:
            continue
        found[case.name] = times = measured(case, given.threads, given.rounds)
        ratio = times["one"] / times["several"]
        print(
            f"{case.name:26}{times['alone']:10.1f}{times['one']:10.1f}{times['several']:11.1f}{ratio:7.2f}{1e6 / times['one']:21.0f}",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
