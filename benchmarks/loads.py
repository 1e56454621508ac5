"""What contact, water and other loads add to a time step of the same robot, as interleaved minima.

    python benchmarks/loads.py [--json results.json] [--rounds 30]

Each row compares a constant-step run of the same robot, step and motion with and without the load: wall time per
iteration of its steps, and of a residual and a tangent called from Python. The loads act all the time: the contact really touches, the water really drags.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

import pliant as pl

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)


def manipulator(points: int = 10) -> pl.Robot:
    """The manipulator of [002], hanging, with four cables."""
    robot = pl.Robot("manipulator")
    arm = robot.add_rod(
        "arm",
        offset=pl.rotate("y", np.pi / 2),
        length=0.5,
        section=pl.Circle((0.03, 0.015)),
        material=SILICONE,
        strains=pl.Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=points,
    )
    for k, (y, z) in enumerate(((0.01, 0), (0, 0.01), (-0.01, 0), (0, -0.01))):
        robot.add_tendon(f"cable{k}", arm, y=y, z=z)
    return robot


def vehicle() -> pl.Robot:
    """A free body with six flagella, 78 dof."""
    robot = pl.Robot("vehicle", gravity=(0, 0, 0))
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Cylinder(0.06, 0.3), density=1000)
    for k in range(6):
        robot.add_rod(
            f"flagellum{k}",
            parent=hull,
            offset=pl.translate(0.15 if k < 3 else -0.15, 0, 0)
            @ pl.rotate("x", 2 * np.pi * k / 3)
            @ pl.rotate("z", 1.0),
            length=0.4,
            section=pl.Circle((0.0125, 0.004)),
            material=SILICONE,
            strains=pl.Strains.kirchhoff(order=3),
            points=10,
        )
    return robot


def in_pipe(robot: pl.Robot) -> None:
    robot.add_obstacle("pipe", pl.Cylinder(0.06, 2.0, "z"), inside=True)
    robot.add_contact("touch", "arm", "pipe", stiffness=2e3)


def rough_pipe(robot: pl.Robot) -> None:
    robot.add_obstacle("pipe", pl.Cylinder(0.06, 2.0, "z"), inside=True)
    robot.add_contact("touch", "arm", "pipe", stiffness=2e3, damping=0.1, friction=0.3)


def far_pipe(robot: pl.Robot) -> None:
    robot.add_obstacle("pipe", pl.Cylinder(5.0, 20.0, "z"), inside=True)
    robot.add_contact("touch", "arm", "pipe", stiffness=2e3)


def in_water(robot: pl.Robot) -> None:
    robot.set_fluid(density=1000)
    robot.add_hydrodynamics([link for link in robot.links if link.is_rod], pl.Hydrodynamics.circular())


def in_a_current(robot: pl.Robot) -> None:
    robot.set_fluid(density=1000, current=(0.1, 0, 0))
    robot.add_hydrodynamics([link for link in robot.links if link.is_rod], pl.Hydrodynamics.circular())


def touching_itself(robot: pl.Robot) -> None:
    for k in range(6):
        for j in range(k):
            robot.add_contact(f"touch{j}{k}", f"flagellum{j}", f"flagellum{k}", stiffness=1e3)


CASES: list[tuple[str, Callable[[], pl.Robot], Callable[[pl.Robot], None]]] = [
    ("manipulator, pipe", manipulator, in_pipe),
    ("manipulator, rough pipe", manipulator, rough_pipe),
    ("manipulator, far pipe", manipulator, far_pipe),
    ("manipulator, water", manipulator, in_water),
    ("manipulator, current", manipulator, in_a_current),
    ("vehicle, water", vehicle, in_water),
    ("vehicle, current", vehicle, in_a_current),
    ("vehicle, 15 pairs of rods", vehicle, touching_itself),
]


def per_step(system: pl.System, step: float = 0.002, steps: int = 100) -> float:
    """Wall time of the default method per Newton iteration [s], so that both runs count alike."""
    rng = np.random.default_rng(0)
    velocity = 0.3 * rng.normal(size=system.nv) * system.internal.scale
    u = np.zeros(system.nu)
    u[:1] = 8.0  # one cable, which bends the manipulator against the pipe
    result = pl.simulate(system, step * steps, u=u, velocity=velocity, step=step, newton_tolerance=1e-6)
    return result.statistics.wall_time / result.statistics.iterations


def single(system: pl.System, what: str, repeats: int = 50) -> float:
    """Time of a residual or a tangent from Python [s]."""
    rng = np.random.default_rng(0)
    q = system.random(rng, scale=0.2)
    v, a, u = rng.normal(size=system.nv), np.zeros(system.nv), np.full(system.nu, 5.0)
    f = system.residual if what == "residual" else system.residual_tangent
    start = time.perf_counter()
    for _ in range(repeats):
        f(q, v, a, u)
    return (time.perf_counter() - start) / repeats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    rows = []
    print(f"{'robot and load':28} {'iteration':>16} {'residual':>16} {'tangent':>16}   [µs without → with, ratio]")
    for name, make, load in CASES:
        plain, loaded = make(), make()
        load(loaded)
        systems = plain.compile(), loaded.compile()
        best = {}
        for _ in range(options.rounds):
            for k, system in enumerate(systems):
                for what in ("step", "residual", "tangent"):
                    value = per_step(system) if what == "step" else single(system, what)
                    best[what, k] = min(value, best.get((what, k), np.inf))
        row = {what: (1e6 * best[what, 0], 1e6 * best[what, 1]) for what in ("step", "residual", "tangent")}
        text = " ".join(f"{a:6.1f} → {b:6.1f} {b / a:4.2f}" for a, b in row.values())
        print(f"{name:28} {text}", flush=True)
        rows.append({"case": name, **row})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
