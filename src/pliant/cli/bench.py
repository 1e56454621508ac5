"""A short benchmark of this machine: the manipulator of [002] and a long chain."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..model.robot import Robot
from ..model.rods.sections import Circle, Material
from ..model.rods.strains import Strains
from ..solve.simulate import simulate
from ..solve.statics import solve_statics
from ..system import System

__all__ = ["measure"]


def _manipulator() -> System:
    """The cable-driven manipulator of [002] section 4.5, 24 degrees of freedom, three cables."""
    silicone = Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = Robot("manipulator")
    arm = robot.add_rod(
        "arm",
        length=0.5,
        section=Circle(radius=(0.03, 0.015)),
        material=silicone,
        strains=Strains(torsion=4, bending=4, stretch=2, shear=2),
        points=7,
    )
    for k in range(3):
        y, z = 0.012 * np.cos(2 * np.pi * k / 3), 0.012 * np.sin(2 * np.pi * k / 3)
        robot.add_tendon(f"cable{k}", arm, y=float(y), z=float(z))
    return robot.compile()


def _best(call: Callable[[], object], seconds: float = 0.5) -> float:
    """Shortest time of a call [s]."""
    call()
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure() -> list[tuple[str, float, str]]:
    """Name, value and unit of each measurement."""
    system = _manipulator()
    rng = np.random.default_rng(0)
    q, v, a = system.random(rng, scale=0.3), rng.normal(size=system.nv), rng.normal(size=system.nv)
    rest = solve_statics(system, {"cable0": 10.0})

    def motion() -> object:
        return simulate(system, 10.0, u=lambda t: {"cable0": 10.0 * np.cos(t) ** 2}, start=rest, output=10.0)

    return [
        ("inverse dynamics, 24 dof, 7 points", 1e6 * _best(lambda: system.inverse_dynamics(q, v, a)), "µs"),
        ("its three derivative matrices", 1e6 * _best(lambda: system.inverse_dynamics_derivatives(q, v, a)), "µs"),
        ("forward dynamics", 1e6 * _best(lambda: system.forward_dynamics(q, v)), "µs"),
        ("statics from the straight shape", 1e3 * _best(lambda: solve_statics(system, {"cable0": 10.0})), "ms"),
        ("10 s of motion, default tolerances", 1e3 * _best(motion), "ms"),
    ]
