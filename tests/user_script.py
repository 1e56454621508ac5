"""A script as a user writes it, checked by mypy --strict and run by tests/test_typing.py."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import pliant as pl

Array = NDArray[np.float64]

silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
robot = pl.Robot("arm", gravity=(0, 0, -9.81))
arm = robot.add_rod(
    "arm",
    length=0.4,
    section=pl.Circle(radius=(0.02, 0.01)),
    material=silicone,
    strains=pl.Strains.kirchhoff(order=3),
    joint=pl.Revolute("y", damping=0.1),
)
tool = robot.add_body("tool", parent=arm.tip, shape=pl.Sphere(0.02), mass=0.05)
cable = robot.add_tendon("cable", arm, z=0.008)
robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -1.0))
robot.add_contact("touch", tool, "floor", stiffness=1e4)
assert_type(arm, pl.Link)
system = robot.compile()
assert_type(system, pl.System)


def feedback(t: float, state: Any) -> dict[str, float]:
    return {"cable": max(0.0, 5.0 - float(state.v[0]))}


rest = pl.solve_statics(system, {"cable": 5.0})
assert_type(rest, pl.Equilibrium)
assert_type(rest.q, Array)
assert_type(rest.position("arm.tip"), Array)
assert_type(rest.positions, dict[str, Array])
run = pl.simulate(system, 0.1, u=feedback, start=rest, output=0.05)
assert_type(run, pl.Result)
assert_type(run.positions("arm.tip"), Array)
assert_type(run.momenta(), pl.Momentum)
assert_type(run.save_csv("run.csv"), Path)
assert_type(system.mass_matrix(rest.q), Array)
assert_type(system.stiffness_matrix(), Array)
assert_type(system.pose(arm.tip, rest.q), Array)
assert_type(system.jacobian("arm.tip", rest.q), Array)
assert_type(system.configuration({"arm": 0.1}), Array)
linear = pl.linearize(system, rest)
assert_type(linear.A, Array)
assert_type(pl.modes(system, rest).frequencies, Array)
motion = pl.rollout(system, np.zeros((5, 1)), step=0.01, start=rest)
gradient = motion.gradient(pl.Reach("arm.tip", (0.3, 0.0, -0.1)) + 1e-3 * pl.Effort())
assert_type(gradient.u, Array)
assert_type(pl.parse_model(pl.io.starter_text()), pl.Model)
assert_type(pl.translate(0, 0, 1) @ pl.rotate("z", 0.3), pl.Pose)
assert_type(pl.batch(system).statics(start=[rest.q]), pl.BatchResult)
