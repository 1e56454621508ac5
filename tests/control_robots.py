"""Robots that laws of control are tried on."""

import numpy as np

import pliant as pl

SOFT = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)


def arm(order: int = 2, cables: int = 4, *, stretches: bool = False) -> pl.System:
    """A cantilever with parallel cables around it; underactuated."""
    robot = pl.Robot("arm")
    strains = (pl.Strains.kirchhoff_extensible if stretches else pl.Strains.kirchhoff)(order)
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=SOFT, strains=strains)
    for k in range(cables):
        angle = 2 * np.pi * k / cables
        robot.add_tendon(f"c{k}", rod, y=0.012 * np.sin(angle), z=0.012 * np.cos(angle))
    return robot.compile()


def segments(count: int = 1, damping: float = 3e-4, gravity: tuple[float, float, float] = (0, 0, 0)) -> pl.System:
    """Segments of constant strain with an internal stress for each strain: as many inputs as degrees of freedom."""
    robot = pl.Robot("segments", gravity=gravity)
    shear = pl.Material(young=2e3, poisson=0.0, density=1070)
    parent = None
    for k in range(count):
        rod = robot.add_rod(
            f"s{k}", parent=parent, length=0.1, section=pl.Circle(0.02), material=shear, strains=pl.Strains.reissner(0),
            damping=damping * np.array([1, 1, 1, 1e3, 1e3, 1e3]),
        )  # fmt: skip
        for j, name in enumerate(("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")):
            robot.add_stress(f"{name}{k}", rod, np.eye(6)[j])
        parent = rod.tip
    return robot.compile()


def pendulum() -> pl.System:
    """Two links, a motor on the first: underactuated, with an upright equilibrium that is unstable."""
    robot = pl.Robot("pendulum")
    bar = {"shape": pl.Box(0.3, 0.02, 0.02), "mass": 0.2, "com": (0.15, 0, 0)}
    first = robot.add_body("first", joint=pl.Revolute("y", damping=1e-3), **bar)
    robot.add_body("second", parent=first.at((0.3, 0, 0)), joint=pl.Revolute("y", damping=1e-3), **bar)
    robot.add_motor("motor", first)
    return robot.compile()


def four_bar() -> pl.System:
    """A parallelogram with a motor: a loop, one degree of freedom."""
    robot = pl.Robot("parallelogram")
    bar = {"joint": pl.Revolute("y", damping=1e-3), "shape": pl.Box(0.3, 0.02, 0.02), "mass": 0.2, "com": (0.15, 0, 0)}
    left = robot.add_body("left", **bar)
    right = robot.add_body("right", offset=(0.3, 0, 0), **bar)
    low = robot.add_body("low", parent=left.at((0.3, 0, 0)), **bar)
    robot.add_loop("pin", low.at((0.3, 0, 0)), right.at((0.3, 0, 0)), joint=pl.Revolute("y"))
    robot.add_motor("motor", left)
    return robot.compile()
