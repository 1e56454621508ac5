"""Identification: how near, how fast, how often intervals hold, and the real tentacle."""

from __future__ import annotations

import time

import identify_material
import identify_tentacle
import numpy as np

import pliant as pl

__all__ = ["run"]


def _material(seeds: int) -> dict[str, object]:
    """Modulus and viscosity from a swing, 150 pictures with 1 mm of noise."""
    system, names = identify_material.build(), identify_material.NAMES
    seen = [identify_material.measure(system, seed) for seed in range(seeds)]
    pl.identify(system, seen[0], names)
    times, off, inside = [], [], []
    for data in seen:
        clock = time.process_time()
        found = pl.identify(system, data, names)
        times.append(time.process_time() - clock)
        pairs = list(zip(names, identify_material.TRUE))
        off.append([abs(found[name] / true - 1) for name, true in pairs])
        inside.append([found.intervals[name][0] < true < found.intervals[name][1] for name, true in pairs])
    return {
        "task": "material from a swing",
        "fits": seeds,
        "cpu_ms": 1e3 * min(times),
        "modulus_off_percent": 100 * float(np.median(off, axis=0)[0]),
        "viscosity_off_percent": 100 * float(np.median(off, axis=0)[1]),
        "intervals_hold": float(np.mean(inside)),
    }


def _tentacle(names: list[str]) -> list[dict[str, object]]:
    """Mean distances of the markers, beside 15.8 mm and 6.4 mm that were published."""
    system, rows = identify_tentacle.build(), []
    for name in names:
        clock = time.process_time()
        found = pl.identify(system, identify_tentacle.measured(), identify_tentacle.MODELS[name])
        seconds = time.process_time() - clock
        fitted, left = identify_tentacle.errors(found)
        rows.append({"task": f"tentacle, {name}", "unknowns": len(found.names), "cpu_ms": 1e3 * seconds, "fitted_mm": fitted, "left_out_mm": left, "aic": found.aic, "bic": found.bic})  # fmt: skip
    return rows


def run(quick: bool) -> list[dict[str, object]]:
    """All tasks."""
    names = list(identify_tentacle.MODELS)
    rows = [_material(4 if quick else 40), *_tentacle(names[:2] if quick else names)]
    for row in rows:
        print(", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" if key == "task" else f"{key} {value}" for key, value in row.items()))  # fmt: skip
    return rows
