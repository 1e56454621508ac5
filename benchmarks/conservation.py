"""How momentum and energy of free robots drift over 1000 s: the midpoint rule against other methods with the same step.

``python benchmarks/conservation.py [seconds]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant as pl

METHODS: dict[str, dict[str, Any]] = {
    "midpoint": {"method": "midpoint"},
    "esdirk3": {"method": "esdirk3"},
    "generalized-alpha, rho=1": {"rho": 1.0, "newton_tolerance": 1e-9},
}
ROWS = 1000  # times at which momentum and energy are looked at


def flying_rod() -> tuple[pl.System, np.ndarray, np.ndarray, float]:
    """A bent rod of 10 m that tumbles, without gravity."""
    robot = pl.Robot("flying rod", gravity=(0, 0, 0))
    robot.add_rod(
        "rod", joint=pl.Free(), length=10.0, stiffness=[500, 500, 500, 1e4, 1e4, 1e4], inertia=[10, 10, 10, 1, 1, 1],
        strains=pl.Strains.kirchhoff(2, basis="chebyshev"), points=9,
    )  # fmt: skip
    system = robot.compile()
    q, v = system.neutral(), np.zeros(system.nv)
    for name in ("rod.bending_y[0]", "rod.bending_z[0]", "rod.torsion[0]"):
        q[system.dof_names.index(name) + 1] = 0.1
    v[:6] = 0.3, 0.8, 1.2, 0.1, -0.2, 0.3
    return system, q, v, 0.01


def satellite(gravity: tuple[float, float, float]) -> tuple[pl.System, np.ndarray, np.ndarray, float]:
    """A body with two booms and a wheel."""
    robot = pl.Robot("satellite" if not any(gravity) else "falling satellite", gravity=gravity)
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.05), mass=0.6)
    rubber = pl.Material(young=8e5, poisson=0.5, density=1000.0)
    common = {"parent": base, "section": pl.Circle(0.015), "material": rubber, "strains": pl.Strains.kirchhoff(1)}
    arm = robot.add_rod("arm", offset=(0.1, 0, 0), length=0.4, **common)
    robot.add_rod("leg", offset=pl.translate(-0.1, 0, 0) @ pl.rotate("z", 2.0), length=0.3, **common)
    robot.add_body("tool", parent=arm, shape=pl.Sphere(0.05), mass=0.2)
    robot.add_body("wheel", parent=base, joint=pl.Revolute("z"), offset=(0, 0.2, 0), shape=pl.Sphere(0.04), mass=0.2)
    system = robot.compile()
    v = np.zeros(system.nv)
    v[:6] = 0.5, 1.0, -0.8, 0.5, 0.2, 1.0
    return system, system.neutral(), v, 0.01


def beside(system: pl.System, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same motion seen from the centre of mass, so that fast and far robots lose no digits."""
    linear = system.momentum(q, v).linear
    near, rest = q.copy(), v.copy()
    rest[3:6] -= system.pose("base" if "base" in system.links else "rod.base", q)[:3, :3].T @ linear / system.mass
    near[4:7] -= system.center_of_mass(q)
    return near, rest


def departures(run: pl.Result) -> tuple[float, float, float, float]:
    """Largest errors: linear and angular momentum (relative), centre of mass [m], energy (relative to the kinetic energy of the start).

    Energy is that of the motion about the centre of mass, to which gravity does no work.
    """
    system, g = run.system, run.system.gravity
    t = run.t[:, None]
    P, L, centre, energy = [], [], [], []
    for q, v in zip(run.q, run.v):
        near, rest = beside(system, q, v)
        P.append(system.momentum(q, v).linear)
        L.append(system.momentum(near, rest, about="com").angular)
        centre.append(system.center_of_mass(q))
        energy.append(system.kinetic_energy(near, rest) + system.elastic_energy(q))
    P, L, centre, energy = (np.array(x) for x in (P, L, centre, energy))
    law = centre[0] + P[0] / system.mass * t + 0.5 * g * t**2
    return (
        float(np.abs(P - P[0] - system.mass * g * t).max() / np.abs(P).max()),
        float(np.abs(L - L[0]).max() / np.linalg.norm(L[0])),
        float(np.abs(centre - law).max()),
        float(np.abs(energy - energy[0]).max() / system.kinetic_energy(run.q[0], run.v[0])),
    )


CASES: dict[str, Callable[[], tuple[pl.System, np.ndarray, np.ndarray, float]]] = {
    "flying rod": flying_rod,
    "satellite": lambda: satellite((0, 0, 0)),
    "falling satellite": lambda: satellite((0, 0, -9.81)),
}


def main(duration: float) -> None:
    print(f"{duration:g} s; errors relative, of the centre in metres")
    print(
        f"{'robot':18} {'method':25} {'linear':>8} {'angular':>8} {'centre':>8} {'energy':>8} {'wall':>8} {'Newton/step':>12}"
    )
    for name, make in CASES.items():
        system, q, v, h = make()
        for method, options in METHODS.items():
            pl.simulate(system, 5 * h, start=q, velocity=v, step=h, **options)  # compiled
            begin = time.perf_counter()
            run = pl.simulate(system, duration, start=q, velocity=v, step=h, output=duration / ROWS, **options)
            wall = time.perf_counter() - begin
            found = " ".join(f"{x:8.1e}" for x in departures(run))
            effort = run.statistics.iterations / max(run.statistics.steps, 1)
            print(
                f"{name:18} {method:25} {found} {wall:7.1f}s {effort:12.1f} {'' if run.success else run.message}",
                flush=True,
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1000.0)
