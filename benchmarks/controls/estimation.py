"""Estimators: microseconds per update, errors and consistency, for several robots.

The truth is a rollout with smooth inputs, sensors have normal noise. Times are CPU times of one update with its Python, the median of a run.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from cable_driven_manipulator import build as manipulator
from cable_driven_manipulator import tensions

import pliant as pl

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)


def arm() -> pl.System:
    """A planar arm with four degrees of freedom."""
    robot = pl.Robot("planar arm, 4 dof")
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains(bending_y=3))
    robot.add_tendon("cable", rod, z=0.012)
    return robot.compile()


def swimmer() -> pl.System:
    """A floating body with a tail: quaternions."""
    robot = pl.Robot("floating body with tail, 13 dof")
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.3, 0.2, 0.1), mass=2.0)
    robot.add_rod(
        "arm",
        parent=hull,
        length=0.4,
        section=pl.Circle(0.015),
        material=SILICONE,
        strains=pl.Strains(torsion=0, bending=2),
    )
    robot.add_tendon("cable", "arm", z=0.012)
    return robot.compile()


def sensors(system: pl.System) -> list[pl.costs.Measured]:
    """Curvatures at five points, lengths of cables, the tip by a camera; of a floating body its pose too."""
    out = [
        pl.costs.Curvature("arm", [0.1, 0.3, 0.5, 0.7, 0.9]).measured(0.05, "fibre"),
        pl.costs.TendonLength().measured(2e-4, "encoders"),
        pl.costs.Position("arm.tip").measured(1e-3, "camera"),
    ]
    return out + ([pl.costs.FramePose("hull").measured(2e-3, "pose")] if "hull" in system.links else [])


def record(system: pl.System, steps: int) -> tuple[Any, pl.Rollout, np.ndarray]:
    """The start, a motion, and what sensors read."""
    t = 0.01 * np.arange(steps)
    many = system.nu == 5
    U = np.array([system.inputs(tensions(x)) for x in t]) if many else 2.0 * (1 - np.cos(3 * t))[:, None]
    start = system.neutral() if "hull" in system.links else pl.solve_statics(system)
    run = pl.rollout(system, U, step=0.01, start=start)
    rng = np.random.default_rng(0)
    rows = [(s.quantity.evaluate(run.states).value[1:], s.deviations(system)) for s in sensors(system)]
    return start, run, np.hstack([value + noise * rng.standard_normal(value.shape) for value, noise in rows])


def measure(name: str, estimator: Any, run: pl.Rollout, readings: np.ndarray) -> dict[str, Any]:
    """Times and errors of an estimator on a record."""
    spent, off, nis = [], [], []
    for u, y, tip in zip(run.U, readings, run.positions("arm.tip")[1:]):
        clock = time.process_time_ns()
        found = estimator.update(u, y)
        spent.append(1e-3 * (time.process_time_ns() - clock))
        off.append(np.linalg.norm(found.pose("arm.tip")[:3, 3] - tip))
        nis.append(found.nis / found.used)
    half = len(off) // 2
    row = {
        "robot": run.system.name, "estimator": name, "values": found.used, "median_us": float(np.median(spent[5:])), "least_us": min(spent),
        "p99_us": float(np.quantile(spent[5:], 0.99)), "tip_error_mm": 1e3 * float(np.mean(off[half:])), "nis_per_value": float(np.mean(nis[half:])),
    }  # fmt: skip
    for key, value in found.unknown.items():
        row[key], row[f"deviation of {key}"] = value, found.deviation(key)
    print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
    return row


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All robots and estimators."""
    out = []
    for build in (arm, swimmer, manipulator):
        system = build()
        start, truth, readings = record(system, 60 if quick else 300)
        options = {"step": 0.01, "start": start}
        out.append(measure("filter", pl.ExtendedKalman(system, sensors(system), **options), truth, readings))
        young = [pl.Prior("arm.young", 2e5, start=1.2e6)]
        kalman = pl.ExtendedKalman(system, sensors(system), unknown=young, **options)
        out.append(measure("filter with modulus", kalman, truth, readings))
        few = 20 if quick else 60
        short = pl.rollout(system, truth.U[:few], step=0.01, start=start)
        for window in (5, 10):
            horizon = pl.MovingHorizon(system, sensors(system), window=window, **options)
            out.append(measure(f"horizon of {window}", horizon, short, readings))
    return out
