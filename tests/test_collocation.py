"""Direct transcription through Ipopt: derivatives by differences, and the same optimum as by dynamic programming."""

import numpy as np
import pytest

import pliant as pl

pytest.importorskip("casadi")
from pliant.control.optimal.problem import problem_of
from pliant.control.optimal.transcription import Transcription

REACH = [pl.Reach("arm.tip", (0.36, 0.03, -0.1), 100.0), pl.Still("arm.tip", 0.1), pl.Effort(1e-4)]
TASK = {"bounds": (0, 12), "horizon": 0.5, "knots": 20}


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4),
        strains=pl.Strains(bending=2),
    )  # fmt: skip
    for name, y, z in (("up", 0.0, 0.012), ("left", 0.01, -0.006), ("right", -0.01, -0.006)):
        robot.add_tendon(name, rod, y=y, z=z)
    return robot.compile()


def test_derivatives(system):
    """Of gaps, bounded quantities and the cost, with two steps for a knot."""
    tip = pl.costs.Position("arm.tip")
    problem = problem_of(
        system, [*REACH, pl.Still(weight=0.1, at="all")], bounds=(0, 12), horizon=0.12, knots=3, steps=2,
        constraints=[tip[2] >= -0.1, pl.Constraint(pl.costs.Rates(), -1.0, 1.0, at="end")],
    )  # fmt: skip
    task, rng = Transcription(problem), np.random.default_rng(0)
    w, d, e = rng.uniform(0.1, 0.3, task.size), rng.normal(size=task.size), 1e-5
    by = (task.equations(w + e * d) - task.equations(w - e * d)) / (2 * e)
    assert len(by) == 6 * task.nx + 7 + task.nx // 2
    np.testing.assert_allclose(task.jacobian(w) @ d, by, atol=1e-8 * np.abs(by).max())
    assert task.gradient(w) @ d == pytest.approx((task.cost(w + e * d) - task.cost(w - e * d)) / (2 * e), rel=1e-8)


def test_same_optimum(system):
    """Cost and inputs to 1e-6 of the largest, some of them at bounds."""
    rest = pl.solve_statics(system)
    plan = pl.optimize(system, REACH, **TASK, start=rest, tolerance=1e-10, iterations=500)
    other = pl.optimize(system, REACH, **TASK, start=rest, tolerance=1e-10, method="collocation")
    assert plan.success
    assert other.success, other.message
    assert np.any(plan.u == 0.0)
    assert other.cost == pytest.approx(plan.cost, rel=1e-8)
    np.testing.assert_allclose(other.u, plan.u, atol=1e-6 * 12)
    assert other.slopes[-1] < 1e-6  # by a sweep that knows nothing of Ipopt
    np.testing.assert_allclose(other.gains[3], plan.gains[3], atol=1e-4 * np.abs(plan.gains).max())


def test_constraint(system):
    """A bound of the tip on its way, and a velocity of zero at the end, as they are."""
    rest = pl.solve_statics(system, {"up": 6.0})
    x, y, z0 = system.pose("arm.tip", rest.q)[:3, 3]
    tip, low = pl.costs.Position("arm.tip"), z0 - 0.02
    held = [tip[2] >= low, pl.Constraint(pl.costs.Velocity("arm.tip"), 0.0, 0.0, at="end")]
    cost = [pl.Reach("arm.tip", (x, y + 0.03, z0 - 0.03), 100.0), pl.Effort(1e-4)]
    plan = pl.optimize(system, cost, **TASK, start=rest, constraints=held, method="collocation", guess=(6.0, 0.0, 0.0))
    assert plan.success, plan.message
    z = plan.rollout.positions("arm.tip")[:, 2]
    assert z.min() > low - 1e-7
    assert z.min() < low + 1e-4  # it acts
    assert plan.violation < 1e-7
    twist = system.twist("arm.tip", plan.rollout.q[-1], plan.rollout.v[-1])
    assert np.abs(twist[3:]).max() < 1e-6


def test_refusals(system):
    with pytest.raises(ValueError, match="couple knots"):
        pl.optimize(system, [*REACH, pl.Smooth()], **TASK, method="collocation")
    robot = pl.Robot("ball")
    ball = robot.add_body("ball", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_motor("motor", ball, dof=2)
    with pytest.raises(ValueError, match="spherical or free joints"):
        pl.optimize(robot.compile(), [pl.Effort()], horizon=0.1, knots=2, method="collocation")
