"""`Stepper`: time of a step of 20 ms of the 24-dof arm under inputs that jump, and what each method errs by; beside `simulate`."""

from __future__ import annotations

import time

import cable_driven_manipulator as arm
import numpy as np

import pliant as pl

STEP, MOST = 0.02, 20.0  # s, N
METHODS = [("sdirk2", 1), ("sdirk3", 1), ("sdirk2", 2), ("sdirk3", 2), ("sdirk3", 4), ("euler", 1)]


def by_steps(system, rest, U, method, substeps, tolerance=1e-10):
    """Times of all calls [s], and tips [m]."""
    sim = pl.Stepper(system, rest, step=STEP, substeps=substeps, method=method, tolerance=tolerance, watch=0)
    times, tips = [], []
    for u in U:
        clock = time.process_time()
        sim.step(u)
        times.append(time.process_time() - clock)
        tips.append(sim.position("arm.tip"))
    return np.array(times), np.array(tips)


def by_simulate(system, rest, U):
    """The same with `simulate`, which goes on from its result: times and tips."""
    times, tips, run = [], [], rest
    for u in U:
        clock = time.process_time()
        run = pl.simulate(system, STEP, u=u, start=run, output=STEP)
        times.append(time.process_time() - clock)
        tips.append(run.positions("arm.tip")[-1])
    return np.array(times), np.array(tips)


def overhead():
    """Time of a call for a pendulum [s], which is nearly all Python."""
    robot = pl.Robot("pendulum")
    robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.05, 0.05), mass=1.0, com=(0.25, 0, 0))
    robot.add_motor("motor", "arm")
    sim, u, best = pl.Stepper(robot.compile(), step=0.01, watch=0), np.zeros(1), np.inf
    for _ in range(20):
        clock = time.process_time()
        for _ in range(200):
            sim.step(u)
        best = min(best, (time.process_time() - clock) / 200)
    return best


def run(quick: bool = False) -> list[dict]:
    system = arm.build()
    rest = pl.solve_statics(system)
    n = 50 if quick else 250
    t = STEP * np.arange(n)
    inputs = {
        "random": np.random.default_rng(0).uniform(0, MOST, size=(n, system.nu)),
        "smooth": np.array([system.inputs(arm.tensions(x)) for x in t]),
    }
    rows = [{"what": "overhead of a call", "microseconds": 1e6 * overhead()}]
    print(f"overhead of a call: {rows[0]['microseconds']:.1f} µs")
    for kind, U in inputs.items():
        fine = pl.rollout(system, U, step=STEP / 64, duration=n * STEP, start=rest, method="sdirk3")
        exact = fine.positions("arm.tip")[64::64]
        print(f"{kind} inputs{'ms per step':>22}{'median':>9}{'tip error, largest':>22}{'rms [mm]':>10}")
        cases = {f"{m}, {k} inner": (lambda m=m, k=k: by_steps(system, rest, U, m, k)) for m, k in METHODS}
        cases["sdirk3, 1 inner, tolerance 1e-6"] = lambda: by_steps(system, rest, U, "sdirk3", 1, 1e-6)
        cases["simulate, default"] = lambda: by_simulate(system, rest, U)
        for name, case in cases.items():
            found = [case() for _ in range(1 if quick or "simulate" in name else 3)]
            times = np.min([own for own, _tips in found], axis=0)
            off = np.linalg.norm(found[0][1] - exact, axis=1)
            row = {
                "what": name, "inputs": kind, "ms": 1e3 * times.mean(), "median_ms": 1e3 * np.median(times), "slowest_ms": 1e3 * times.max(),
                "error_mm": 1e3 * off.max(), "rms_mm": 1e3 * np.sqrt(np.mean(off**2)),
            }  # fmt: skip
            rows.append(row)
            print(f"  {name:32}{row['ms']:8.3f}{row['median_ms']:9.3f}{row['error_mm']:16.3f}{row['rms_mm']:14.3f}")
    return rows


if __name__ == "__main__":
    run()
