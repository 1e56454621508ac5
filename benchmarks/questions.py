"""Cost of simple questions: pose, twist and Jacobian of a frame against the residual, and poses of many configurations.

    python benchmarks/questions.py [--rounds 200]

Ratios to the residual: the minimum of many rounds with all tasks in turn, in time of this thread on the processor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import pliant as pl

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
MANY = 1000


def arm() -> tuple[pl.System, str]:
    """The cable-driven manipulator of [002] with seven points."""
    robot = pl.Robot("manipulator")
    rod = robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle((0.03, 0.015)),
        material=SILICONE,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=7,
    )
    robot.add_tendon("cable", rod, z=0.01)
    return robot.compile(), "arm.tip"


def hybrid() -> tuple[pl.System, str]:
    """Four soft segments on joints."""
    robot = pl.Robot("hybrid")
    parent = None
    for k in range(4):
        parent = robot.add_rod(
            f"rod{k}",
            parent=parent,
            joint=pl.Revolute("y"),
            length=0.3,
            section=pl.Circle(0.02),
            material=SILICONE,
            strains=pl.Strains.kirchhoff(2),
        )
    return robot.compile(), "rod3.tip"


def body() -> tuple[pl.System, str]:
    """A chain of seven bodies."""
    robot = pl.Robot("chain")
    parent = None
    for k in range(7):
        parent = robot.add_body(
            f"b{k}", parent=parent, joint=pl.Revolute("zyx"[k % 3]), offset=(0.2, 0, 0), shape=pl.Sphere(0.05), mass=1.0
        )
    return robot.compile(), "b6"


def measure(system: pl.System, frame: str, rounds: int) -> dict[str, float]:
    """Minimum time of each question [s]; of the last one per configuration."""
    rng = np.random.default_rng(0)
    q, v, zero = system.random(rng, scale=0.3), rng.normal(size=system.nv), np.zeros(system.nv)
    Q = np.array([system.random(rng, scale=0.3) for _ in range(MANY)])
    tasks = {
        "residual": lambda: system.residual(q, v, zero),
        "pose": lambda: system.pose(frame, q),
        "twist": lambda: system.twist(frame, q, v),
        "jacobian": lambda: system.jacobian(frame, q),
        f"pose of {MANY}": lambda: system.pose(frame, Q),
    }
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        for name, task in tasks.items():
            count = 1 if name.endswith(str(MANY)) else 20
            start = time.thread_time()
            for _ in range(count):
                task()
            best[name] = min(best[name], (time.thread_time() - start) / count)
    return best


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    for make in (arm, hybrid, body):
        system, frame = make()
        best = measure(system, frame, rounds)
        base = best["residual"]
        print(f"{system.name} (nv = {system.nv}): residual {1e6 * base:.1f} µs")
        for name, value in best.items():
            if name.endswith(str(MANY)):
                print(f"  {name}: {1e3 * value:.2f} ms, {1e6 * value / MANY:.2f} µs each")
            elif name != "residual":
                print(f"  {name}: {1e6 * value:.1f} µs, {value / base:.2f} of the residual")


if __name__ == "__main__":
    main()
