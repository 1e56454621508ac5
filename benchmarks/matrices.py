"""Time of the matrices of the equation of motion by their routes, as interleaved minima; JSON on request.

    python benchmarks/matrices.py [--json results.json] [--rounds 40]

All times are those of a call from Python. "∂ID/∂v" is one matrix of the fused derivatives, from which C follows for robots without
spherical and free joints; "projected, compiled" is the force and M by Jacobians in compiled code, "projected" all matrices in NumPy
with compiled Jacobians, "reconstruct" all matrices from unit inputs.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
from kernels import hybrid, manipulator, rod_of

import pliant as pl
from pliant.kernels import engine, layout

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import projection


def tasks_of(system: pl.System):
    """Name → function that computes once."""
    rng = np.random.default_rng(0)
    q = system.random(rng, scale=0.5)
    v, a = rng.normal(size=(2, system.nv))
    p = np.zeros(engine.PARAMETERS)
    p[1] = 1.0
    work, J = layout.make_work(system.tables), np.zeros((6, system.nv))
    tau, mass = np.zeros(system.nv), np.zeros((system.nv, system.nv))

    def velocity_derivative():
        out = np.zeros((1, system.nv, system.nv))
        system.run_job(engine.DERIVATIVES, q, v, a, p=p, S=out)
        return out

    return {
        "inverse dynamics": lambda: system.inverse_dynamics(q, v, a),
        "M": lambda: system.mass_matrix(q),
        "C": lambda: pl.coriolis_matrix(system, q, v),
        "∂ID/∂v": velocity_derivative,
        "[001] all six": lambda: pl.composite_matrices(system, q, v),
        "equation of motion": lambda: pl.equation_of_motion(system, q, v),
        "projected, compiled": lambda: projection.projected_dynamics(system._model.tables, work, q, v, a, J, tau, mass),
        "projected": lambda: pl.projected_matrices(system, q, v),
        "reconstruct": lambda: pl.reconstruct(system, q, v),
    }


def measure(tasks, rounds):
    """Minimum time of each task [µs], interleaved so that a slow spell of the machine hits all of them."""
    counts = {}
    for name, task in tasks.items():
        task()
        start = time.perf_counter()
        task()
        counts[name] = max(1, int(2e-3 / (time.perf_counter() - start)))
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        for name, task in tasks.items():
            n = counts[name]
            start = time.perf_counter()
            for _ in range(n):
                task()
            best[name] = min(best[name], (time.perf_counter() - start) / n)
    return {name: 1e6 * value for name, value in best.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    systems = {
        "manipulator, 5 points": manipulator(5),
        "manipulator, 20 points": manipulator(20),
        "rod, order 5": rod_of(5, 8),
        "hybrid, 4 arms": hybrid(4),
    }
    results = {name: {"nv": s.nv, "microseconds": measure(tasks_of(s), options.rounds)} for name, s in systems.items()}
    names = list(next(iter(results.values()))["microseconds"])
    heads = [f"{name} (nv {r['nv']})" for name, r in results.items()]
    print(f"{'µs per call':22}" + "".join(f"{head:>32}" for head in heads))
    for task in names:
        print(f"{task:22}" + "".join(f"{r['microseconds'][task]:32.1f}" for r in results.values()))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": platform.processor() or platform.machine(), "results": results}, file, indent=2)


if __name__ == "__main__":
    main()
