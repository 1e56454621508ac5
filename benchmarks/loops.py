"""Robots with loops and driven joints, 10 s simulated: wall time, steps, closure ([002] Table 3).

    python benchmarks/loops.py [--json results.json] [--rounds 3]

The robots are those of `examples/`; each row is the fastest of some rounds, with the accuracy that the example states.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import continuum_parallel_robot
import fin_ray_finger
import hybrid_parallel_robot
import hybrid_serial_robot

CASES = {
    "hybrid serial robot": (hybrid_serial_robot.build, hybrid_serial_robot.run, {}, 2.49),
    "fin-ray finger": (fin_ray_finger.build, fin_ray_finger.run, {}, 69.0),
    "hybrid parallel robot": (hybrid_parallel_robot.build, hybrid_parallel_robot.motion, {}, 2.46),
    "continuum parallel robot": (continuum_parallel_robot.build, continuum_parallel_robot.run, {}, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    print(f"{'robot':26} {'dof':>4} {'rows':>4} {'steps':>6} {'wall [s]':>9} {'paper [s]':>9} {'closure':>9}")
    for name, (build, run, extra, paper) in CASES.items():
        system = build()
        best = None
        for _ in range(options.rounds):
            result = run(system, **extra)
            if best is None or result.statistics.wall_time < best.statistics.wall_time:
                best = result
        gap = max((float(np.abs(system.closure(q)[0]).max(initial=0.0)) for q in best.q), default=0.0)
        wall = best.statistics.wall_time
        print(
            f"{name:26} {system.nv:4d} {len(system.loop_rows):4d} {best.statistics.steps:6d} {wall:9.3f} "
            f"{paper or float('nan'):9.2f} {gap:9.1e}" + ("" if best.success else f"  FAILED: {best.message}"),
            flush=True,
        )
        rows.append({"robot": name, "wall": wall, "steps": best.statistics.steps, "closure": gap})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
