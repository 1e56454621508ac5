"""What statics costs: chains of growing length, warm starts of a small robot, tendons along many sections, and compiling.

    python benchmarks/statics.py [chains | warm | tendons | compile ...]

Times are the minimum of several calls, in processor time; those of jobs (`warm`) are without the Python around them, but for
some 2 µs of one call.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pliant as pl
from pliant.kernels import engine, slots

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

SOFT = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e3)


def fastest(call: Callable[[], object], rounds: int) -> float:
    """Smallest processor time of a call [s]."""
    best = np.inf
    for _ in range(rounds):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def describe(rods: int, order: int) -> pl.Robot:
    """Rods in a row, 45 m at most, clamped at one end, under gravity across them: 6 (order + 1) coordinates each."""
    robot, parent = pl.Robot("chain"), None
    for k in range(rods):
        parent = robot.add_rod(
            f"rod{k}", parent=parent, length=min(0.3, 45.0 / rods), section=pl.Circle(0.02), material=SOFT,
            strains=pl.Strains(torsion=order, bending=order, stretch=order, shear=order),
        )  # fmt: skip
    return robot


def chains() -> None:
    """Equilibria of chains from the straight configuration, with the verdict on stability."""
    print(f"{'rods':>6s} {'dof':>6s} {'statics [s]':>12s}   iterations, stability")
    for rods, order in ((10, 1), (30, 1), (100, 1), (150, 1), (300, 0), (300, 1)):
        system = describe(rods, order).compile()
        found = pl.solve_statics(system)
        took = fastest(lambda system=system: pl.solve_statics(system), 3)
        print(f"{rods:6d} {system.nv:6d} {took:12.4f}   {found.iterations}, {found.stability}", flush=True)


def warm() -> None:
    """The cable-driven manipulator from a neighbouring equilibrium, with tensions changed by up to 3 %."""
    import cable_driven_manipulator

    system = cable_driven_manipulator.build()
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(20):
        u = rng.uniform(0.0, 40.0, system.nu)
        found = pl.solve_statics(system, u)
        cases += [(found.q, u * (1.0 + rng.uniform(-0.03, 0.03, system.nu))) for _ in range(3)]
    weight = np.abs(system.internal.scale * system.gravity_forces(cases[0][0])).max()
    S, p, space = np.zeros((2, system.nv, system.nv)), np.zeros(engine.PARAMETERS), system.workspace()
    q, start = np.empty((2, system.nq))
    best, iterations = np.full(len(cases), np.inf), np.zeros(len(cases))
    for _ in range(100):
        for k, (before, u) in enumerate(cases):
            q[:] = start[:] = before
            p[:] = 0.0
            p[slots.OPTION_TOLERANCE], p[slots.OPTION_ITERATIONS], p[slots.OPTION_RADIUS] = 1e-10, 60, 3.0
            p[slots.OPTION_ENERGY], p[slots.OPTION_WEIGHT] = 1.0, weight
            clock = time.perf_counter()
            status = system.run_job(engine.STATICS, start, u=u, p=p, S=S, q1=q, space=space)
            best[k] = min(best[k], time.perf_counter() - clock)
            iterations[k] = p[slots.REPORT_ITERATIONS]
            assert status == 0
            assert p[slots.REPORT_RESIDUAL] <= 1e-10
            assert p[slots.REPORT_DEFINITE] == 1.0
    print(f"warm statics of {system.nv} dof: {1e6 * np.median(best):.1f} µs a job, {iterations.mean():.2f} iterations")


def along(sections: int, basis: Callable[[int], pl.Basis]) -> pl.System:
    """One rod with a tendon along all of it."""
    robot, local = pl.Robot("sections"), basis(sections)
    robot.add_rod(
        "arm",
        length=1.0,
        section=pl.Circle(0.02),
        material=SOFT,
        strains=pl.Strains(torsion=local, bending=local, stretch=local),
    )
    robot.add_tendon("cable", "arm", z=(0.015, 0.005))
    return robot.compile()


def tendons() -> None:
    """Residual, tangent (dense) and a solution along the tree of one rod with many sections and a tendon along them [µs]."""
    print(
        f"{'sections':>9s} {'dof':>6s} {'residual':>10s} {'lengths':>10s} {'tangent':>10s} {'tree':>10s} {'compile [s]':>12s}"
    )
    for basis in (pl.PiecewiseConstant, pl.LinearElements):
        for n in (50, 100, 200, 400):
            took = fastest(lambda n=n, basis=basis: along(n, basis), 1)
            system = along(n, basis)
            q, u, zero = 0.1 * np.random.default_rng(0).normal(size=system.nv), np.array([5.0]), np.zeros(system.nv)
            K, p = np.zeros((1, system.nv, system.nv)), np.zeros(engine.PARAMETERS)
            p[slots.OPTION_CQ] = 1.0
            times = [
                1e6 * fastest(call, 12)
                for call in (
                    lambda: system.run_job(engine.RESIDUAL, q, u=u),
                    lambda: system.tendon_lengths(q),
                    lambda: system.run_job(engine.TANGENT, q, u=u, p=p, S=K),
                    lambda: system.solve_tangent(q, zero, zero, zero, u, solver="tree"),
                )
            ]
            print(f"{n:9d} {system.nv:6d} " + " ".join(f"{t:10.1f}" for t in times) + f" {took:12.2f}", flush=True)


def compiling() -> None:
    """From a description to tables."""
    for rods in (30, 100, 300):
        robot = describe(rods, 1)
        print(f"compile of {rods} rods, {6 * 2 * rods} dof: {fastest(robot.compile, 3):.3f} s", flush=True)


PARTS = {"chains": chains, "warm": warm, "tendons": tendons, "compile": compiling}


def main() -> None:
    """Print the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all if left out")
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
