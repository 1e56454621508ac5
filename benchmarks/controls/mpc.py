"""Closed loops by real-time iterations on the manipulator of [002]: latencies, deadlines and errors, with horizons of 25 and 50 knots."""

from __future__ import annotations

import numpy as np
import predictive_control as example

import pliant as pl


def run(quick: bool) -> list[dict[str, object]]:
    """The circle of examples/predictive_control.py, on the model itself and on a plant with all that is unknown."""
    found: list[dict[str, object]] = []
    first = example.first_plan(example.build())
    duration = 0.3 if quick else 2.0
    for knots in (25, 50):
        plan = pl.optimize(
            first.system, first.problem.cost, bounds=(0, 40), horizon=0.02 * knots, knots=knots, start=first.problem.q, velocity=first.problem.v,
            guess=first.u[-1], tolerance=1e-4,
        )  # fmt: skip
        loops = {"exact": pl.MPC(plan, rate=100).run(duration), "unknown": example.closed_loop(plan, duration)}
        for name, loop in loops.items():
            off = 1e3 * example.off(loop)
            row = {
                "knots": knots, "plant": name, "latency_ms": {k: round(1e3 * x, 2) for k, x in loop.percentiles.items()},
                "cpu_ms": {k: round(1e3 * float(np.percentile(loop.cpu, p)), 2) for k, p in (("50", 50), ("95", 95), ("99", 99), ("max", 100))},
                "missed": loop.missed, "samples": len(loop.u), "failures": loop.failures, "off_mm": round(float(off[10:].mean()), 2),
            }  # fmt: skip
            found.append(row)
            print(
                f"{knots} knots, plant {name}: by the clock {row['latency_ms']} ms, processor {row['cpu_ms']} ms, {loop.missed} of {len(loop.u)} missed 10 ms; "
                f"tip {row['off_mm']} mm off (mean)",
                flush=True,
            )
    return found
