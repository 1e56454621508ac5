"""Small robots that the tests of the adapters share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant._jit import on_compilation
from robots import SILICONE, random_inertia

compiled_only = pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")


def arm() -> pl.Robot:
    """A short arm with two cables."""
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains(bending=1), points=4
    )
    robot.add_tendon("up", rod, z=0.012)
    robot.add_tendon("side", rod, y=0.012)
    return robot


def floating() -> pl.Robot:
    """A free body, a body on a ball joint and a rod with a cable."""
    rng = np.random.default_rng(0)
    robot = pl.Robot("floating")
    base = robot.add_body("base", joint=pl.Free(), inertia=random_inertia(rng))
    ball = robot.add_body("ball", parent=base, joint=pl.Spherical(), offset=(0.1, 0.2, 0), inertia=random_inertia(rng))
    rod = robot.add_rod(
        "rod", parent=ball, length=0.3, section=pl.Circle(0.02), material=SILICONE, strains=pl.Strains(bending_y=1),
        points=4,
    )  # fmt: skip
    robot.add_tendon("cable", rod, z=0.01)
    return robot


def closed() -> pl.Robot:
    """A four-bar linkage with an elastic rod, driven by a motor."""
    robot = pl.Robot("four-bar")
    crank = robot.add_body("crank", joint=pl.Revolute("y"), shape=pl.Box(0.1, 0.01, 0.01), mass=0.1, com=(0.05, 0, 0))
    rod = robot.add_rod(
        "rod", parent=crank, offset=(0.1, 0, 0), joint=pl.Revolute("y"), length=0.2, section=pl.Circle(0.01),
        material=SILICONE, strains=pl.Strains(bending_y=1), points=4,
    )  # fmt: skip
    side = robot.add_body(
        "side", offset=(0.25, 0, 0), joint=pl.Revolute("y"), shape=pl.Box(0.12, 0.01, 0.01), mass=0.1, com=(0.06, 0, 0)
    )
    robot.add_loop("pin", rod.tip, side.at((0.12, 0, 0)), joint=pl.Revolute("y"))
    robot.add_motor("motor", crank)
    return robot


def state(system: pl.System, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A start with velocity."""
    rng = np.random.default_rng(seed)
    return system.random(rng, scale=0.3), 0.3 * rng.normal(size=system.nv)


_COMPILED: list[Any] = []
_LISTENING: list[Callable[[Any], None]] = []


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Error if numba compiles anything meanwhile."""
    if not _LISTENING:
        _LISTENING.append(_COMPILED.append)
        on_compilation(_LISTENING[0])
    before = len(_COMPILED)
    yield
    assert [function.__qualname__ for function in _COMPILED[before:]] == []
