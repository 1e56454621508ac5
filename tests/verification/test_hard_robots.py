"""Random robots whose motion is hard, with default settings: no energy from nowhere, no crawling, no blow-up.

The robots are in tests/data/robots, with what is hard about each. A second of motion from rest, without inputs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.solve.energy_watch import EnergyWatch

ROBOTS = Path(__file__).parents[1] / "data" / "robots"
WALL = 15.0  # s for a simulated second: several times what they take
SHORT = 3.0  # s for those that would take longer


@cache
def moved(number: int, wall: float = WALL) -> pl.Result:
    """A second of the robot's motion, or what is computed of it in a few seconds."""
    system = pl.load_model(ROBOTS / f"robot_{number}.yaml").robot.compile()
    pl.simulate(system, 1e-6)  # compiles what it needs, which does not count
    return pl.simulate(system, 1.0, max_wall_time=wall)


def growth(run: pl.Result) -> tuple[float, float]:
    """Largest growth of the energy above its lowest value so far, and its swing: range and largest kinetic energy [J]."""
    energies = run.energies()
    total = energies.total
    return float((total - np.minimum.accumulate(total)).max()), float(np.ptp(total) + energies.kinetic.max())


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


@pytest.mark.parametrize("number", [14, 30, 39, 73, 200])
def test_does_not_crawl(number: int) -> None:
    """The end is reached."""
    run = moved(number)
    print(f"{run.system.name}: t = {run.last.t:.3g} s, {run.statistics}")
    assert run.success, run.message


@pytest.mark.parametrize("number", [64, 282])
def test_does_not_blow_up(number: int) -> None:
    """The end is reached without energy from nowhere."""
    run = moved(number)
    assert run.success, run.message
    assert_passive(run)


@pytest.mark.parametrize("number", [162, 337])
def test_slow_but_sound(number: int) -> None:
    """Undamped vibrations that are large enough to be seen, and parts of 14 µm: they take long, and what there is is right."""
    run = moved(number, SHORT)
    assert run.success or "max_wall_time" in run.message
    assert run.last.t > 0.03
    assert_passive(run)


def test_what_rounding_spoils_is_said() -> None:
    """Robot 71: its mass matrix has the condition 4e15, so that forward dynamics is all but rounding."""
    run = moved(71, SHORT)
    gain, swing = growth(run)
    print(f"grew by {gain:.2e} J of {swing:.2e} J, t = {run.last.t:.3g} s")
    assert gain < EnergyWatch.CLOSED * swing or any("gained" in text for text in run.warnings)
