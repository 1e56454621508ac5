"""Long runs of cheap steps: what wears out, overflows, fills memory or drifts with their number.

Each function takes a number of steps and returns what went wrong, one sentence each.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import pliant as pl


def pendulum() -> pl.System:
    """A body on a hinge without friction: its energy stays."""
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), shape=pl.Sphere(0.02), mass=0.1, com=(0.3, 0.0, 0.0))
    return robot.compile()


def whip() -> pl.System:
    """A damped rod with a cable, an elastic tendon that falls slack, and a floor."""
    robot = pl.Robot("whip")
    soft = pl.Material(young=1e5, poisson=0.5, density=1000.0, viscosity=1e2)
    rod = robot.add_rod("arm", length=0.2, section=pl.Circle(0.01), material=soft, strains=pl.Strains(bending_y=0))
    robot.add_tendon("cable", rod, z=0.005)
    robot.add_tendon("spring", rod, z=-0.005, control="elastic", stiffness=10.0)
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0.0, 0.0, -0.1))
    robot.add_contact("touch", rod, "floor", stiffness=1e3, damping=0.5)
    return robot.compile()


def _count(name: str, run: pl.Result, wanted: float) -> list[str]:
    if run.success and abs(run.t[-1] - wanted) < 1e-9:
        return []
    return [f"{name} ends at {run.t[-1]:g} of {wanted:g} s: {run.message}"]


def simulated_pendulum(steps: int) -> list[str]:
    """`simulate` in constant steps: it goes to the end, and keeps the energy."""
    system, found = pendulum(), []
    for method in ("generalized-alpha", "midpoint"):
        try:
            run = pl.simulate(system, 1e-4 * steps, step=1e-4, method=method, start=[0.5], output=1e-2)
        except Exception as error:
            found.append(f"simulate ({method}) of {steps} steps raised {error!r}")
            continue
        found += _count(f"simulate ({method})", run, 1e-4 * steps)
        total = run.energies().total
        if np.ptp(total) > 1e-3 * (abs(total).max() + 1e-300):
            found.append(f"simulate ({method}): the energy drifts by {np.ptp(total):.1e} J in {steps} steps")
    return found


def simulated_whip(steps: int) -> list[str]:
    """`simulate` of a robot with switches, pulled back and forth."""
    try:
        run = pl.simulate(
            whip(), 1e-4 * steps, step=1e-4, output=1e-2, u={"cable": lambda t: 0.2 + 0.2 * math.sin(20.0 * t)}, subdivide=True
        )  # fmt: skip
    except Exception as error:
        return [f"simulate of {steps} steps raised {error!r}"]
    return _count("simulate", run, 1e-4 * steps)


def stepped_pendulum(steps: int) -> list[str]:
    """A stepper, and one that was restored on the way: the same to the last bit."""
    sims = [pl.Stepper(pendulum(), [0.5], step=1e-3, method="midpoint", watch=0) for _ in range(2)]
    for k in range(steps):
        for sim in sims:
            sim.step()
        if k % 1000 == 0:
            sims[1].restore(sims[1].save())
    if not np.array_equal(sims[0].q, sims[1].q):
        return [f"a stepper that was restored differs after {steps} steps"]
    return (
        []
        if abs(sims[0].t - 1e-3 * steps) < 1e-9 * steps
        else [f"the clock shows {sims[0].t} s after {steps} steps of 1 ms"]
    )


ALL: dict[str, Callable[[int], list[str]]] = {
    run.__name__: run for run in (simulated_pendulum, simulated_whip, stepped_pendulum)
}
