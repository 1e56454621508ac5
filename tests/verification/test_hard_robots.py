"""Random robots whose motion is hard, with default settings: no energy from nowhere, no crawling, no blow-up.

The robots are in tests/data/robots, with what is hard about each. A second of motion from rest, without inputs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pliant as pl

ROBOTS = Path(__file__).parents[1] / "data" / "robots"
WALL = 4.0  # s for a simulated second


@cache
def moved(number: int) -> pl.Result:
    """A second of the robot's motion, or what is computed of it in a few seconds."""
    system = pl.load_model(ROBOTS / f"robot_{number}.yaml").robot.compile()
    pl.simulate(system, 1e-6)  # compiles what it needs, which does not count
    return pl.simulate(system, 1.0, max_wall_time=WALL)


def growth(run: pl.Result) -> tuple[float, float]:
    """Largest growth of the energy above its lowest value so far, and its swing: range and largest kinetic energy [J]."""
    energies = run.energies()
    total = energies.total
    return float((total - np.minimum.accumulate(total)).max()), float(np.ptp(total) + energies.kinetic.max())


def told(run: pl.Result) -> bool:
    """Whether a run that did not finish says what in the robot or its motion ended it, rather than that time was over."""
    return len(run.message) > 20 and "max_wall_time" not in run.message


def assert_passive(run: pl.Result) -> None:
    gain, swing = growth(run)
    print(f"{run.system.name}: grew by {gain:.2e} J of {swing:.2e} J, t = {run.last.t:.3g} s, {run.statistics}")
    assert np.all(np.isfinite(run.q))
    assert np.all(np.isfinite(run.v))
    assert gain <= 0.01 * swing, f"energy grew by {gain:.2e} J of a swing of {swing:.2e} J"


@pytest.mark.parametrize("number", [8, 12, 15, 63, 86])
def test_energy_does_not_grow(number: int) -> None:
    """Passive robots reach the end, with at most a hundredth of the swing gained."""
    run = moved(number)
    assert run.success, run.message
    assert_passive(run)


@pytest.mark.parametrize("number", [14, 30, 39, 73, 162, 200])
def test_does_not_crawl(number: int) -> None:
    """The end is reached in a few seconds, or the run says before that why it cannot be."""
    run = moved(number)
    print(f"{run.system.name}: t = {run.last.t:.3g} s, {run.statistics}")
    assert run.success or told(run), run.message


@pytest.mark.parametrize("number", [64, 71, 282, 337])
def test_does_not_blow_up(number: int) -> None:
    """Whatever part of the motion is returned is without energy from nowhere, and an early end is explained."""
    run = moved(number)
    assert_passive(run)
    assert run.success or told(run), run.message
