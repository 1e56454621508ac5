"""Simulated seconds per second at a stated accuracy, against a converged reference; JSON on request.

    python benchmarks/simulate.py [--json results.json] [--rounds 5]

The cable-driven manipulator of [002] is driven by smooth tensions for 10 s; the error is that of the tip position,
against Radau at a tolerance of 1e-8 on the same model.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from pathlib import Path

import numpy as np

import pliant as pl


def example(name):
    path = Path(__file__).parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def best_of(rounds, tasks):
    """Shortest wall time of each task, taken in turn."""
    best = dict.fromkeys(tasks, np.inf)
    results = {}
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            results[name] = task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best, results


def table_one(rounds, results):
    """The four rods of [000] Table I: seconds of computing per simulated second, and the paper's."""
    swing, flying = example("cantilever_swing"), example("flying_rods")
    print("[000] Table I, seconds of computing per simulated second")
    cases = {}
    for kind, paper in (("soft", 9.1), ("stiff", 7.1)):
        system = swing.build(kind)
        duration = swing.RODS[kind][-1]
        for name, options in (("step 0.001 s", {"step": 0.001}), ("error control", {})):
            run = lambda s=system, d=duration, o=options: swing.swing(s, d, **o)  # noqa: E731
            cases[f"{kind} cantilever, {name}"] = (run, duration, paper)
    for build, paper in ((flying.soft, 7.9), (flying.stiff, 8.5)):
        system = build()
        for name, options in (("step 0.01 s", {"step": 0.01}), ("error control", {"max_step": 0.1})):
            run = lambda s=system, o=options: pl.simulate(s, 10.0, u=flying.kick, **o)  # noqa: E731
            cases[f"{system.name}, {name}"] = (run, 10.0, paper)
    times, runs = best_of(rounds, {name: case[0] for name, case in cases.items()})
    for name, (_run, duration, paper) in cases.items():
        cost = times[name] / duration
        results[name] = {"seconds per second": cost, "paper": paper}
        print(f"  {name:36} {cost:8.4f}   paper {paper:4.1f}   {runs[name].statistics.steps / duration:.0f} steps/s")


def chain_of_rods(n):
    """n cantilevered rods in a row, 9 dof each, swinging under gravity."""
    robot = pl.Robot(f"{n} rods")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e3)
    parent = None
    for k in range(n):
        parent = robot.add_rod(
            f"rod{k}",
            parent=parent,
            length=0.3,
            section=pl.Circle(0.02),
            material=rubber,
            strains=pl.Strains.kirchhoff(2),
        )
    return robot.compile()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    cdm = example("cable_driven_manipulator")
    results = {}
    for points in (5, 10):
        system = cdm.build(points)
        rest = pl.solve_statics(system)
        common = {"u": cdm.tensions, "start": rest, "output": 0.1}
        reference = pl.simulate(system, 10, method="radau", rtol=1e-8, atol=1e-8, **common).positions("arm.tip")
        options = {
            "default": {},
            "rtol 1e-3": {"rtol": 1e-3, "atol": 1e-4},
            "generalized-alpha, rtol 1e-4": {"method": "generalized-alpha"},
            "step 0.01 s": {"step": 0.01},
            "newmark, step 0.01 s": {"method": "newmark", "step": 0.01},
            "bdf": {"method": "bdf"},
            "radau": {"method": "radau"},
        }
        tasks = {k: (lambda o=o: pl.simulate(system, 10, **o, **common)) for k, o in options.items()}
        times, runs = best_of(args.rounds, tasks)
        print(f"cable-driven manipulator, {points} Gauss points, 10 s")
        for name, run in runs.items():
            error = np.linalg.norm(run.positions("arm.tip") - reference, axis=1).max()
            results[f"CDM {points} points, {name}"] = {"seconds": times[name], "tip error [m]": error}
            print(f"  {name:32} {times[name]:8.4f} s   tip error {1e3 * error:8.4f} mm   {run.statistics.steps} steps")
        rng = np.random.default_rng(0)
        loads = rng.uniform(0, 50, size=(20, system.nu))
        cold, _ = best_of(args.rounds, {"cold": lambda: [pl.solve_statics(system, u) for u in loads]})
        solved = [pl.solve_statics(system, u) for u in loads]

        def warm(loads=loads, solved=solved, system=system):
            return [pl.solve_statics(system, 1.01 * u, start=e) for u, e in zip(loads, solved)]

        near, _ = best_of(args.rounds, {"warm": warm})
        results[f"CDM {points} points, statics"] = {"cold": cold["cold"] / 20, "warm": near["warm"] / 20}
        print(f"  statics: {1e3 * cold['cold'] / 20:.3f} ms from straight, {1e3 * near['warm'] / 20:.3f} ms warm")
    table_one(args.rounds, results)
    print("rods in a row, 1 s under gravity, default tolerances")
    for n in (1, 2, 4, 8, 16):
        system = chain_of_rods(n)
        times, runs = best_of(args.rounds, {"run": lambda s=system: pl.simulate(s, 1.0)})
        steps = runs["run"].statistics.steps
        results[f"{n} rods"] = {"nv": system.nv, "seconds": times["run"], "steps": steps}
        print(
            f"  {n:3d} rods, {system.nv:4d} dof {times['run']:8.4f} s   {steps} steps, {1e6 * times['run'] / steps:.0f} us a step"
        )
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
