"""The safety filter: barriers hold, goals are reached where that is safe, and what cannot be kept is counted."""

import numpy as np
import pytest

import pliant as pl
from control_robots import arm, segments
from pliant.solve.drive import State


def cart() -> pl.System:
    robot = pl.Robot("cart", gravity=(0, 0, 0))
    body = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=2.0)
    robot.add_motor("motor", body)
    return robot.compile()


def test_a_wall_is_approached_as_the_barrier_says():
    """At the barrier ḧ + 2 rate ḣ + rate² h = 0: h falls to zero without crossing it, and the law is left alone far from it."""
    system, x = cart(), pl.costs.Coordinates()
    law = pl.control.SafetyFilter(system, {"motor": 3.0}, pl.control.Barrier(0.5 - x, rate=4.0))
    assert law(0.0, State(0.0, np.array([-5.0]), np.zeros(1))) == pytest.approx([3.0])
    state = State(0.0, np.array([0.4]), np.array([0.3]))
    assert law(0.0, state)[0] / 2.0 == pytest.approx(16 * 0.1 - 8 * 0.3)
    run = pl.simulate(system, 4.0, u=law, rtol=1e-7, atol=1e-9)
    assert run.q.max() < 0.5 + 1e-6
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-3)
    assert law.broken == 0
    assert law.barriers(run.last)[0] == pytest.approx(0.5 - run.q[-1, 0])


def test_what_cannot_be_kept_is_counted():
    system, x = cart(), pl.costs.Coordinates()
    law = pl.control.SafetyFilter(system, {"motor": 1.0}, pl.control.Barrier(0.5 - x, rate=4.0), bounds=(-1.0, 1.0))
    assert law(0.0, State(0.0, np.array([0.45]), np.array([3.0]))) == pytest.approx([-1.0])  # as much as it can
    assert law.broken == 1


def test_lyapunov_brings_the_tip_to_its_goal_and_falls_as_fast_as_told():
    system = segments()
    goal = system.pose("s0.tip", np.array([0, 3.0, 2.0, 0.05, 0, 0]))[:3, 3]
    aim = pl.control.Lyapunov(pl.costs.Position("s0.tip"), goal, frequency=4.0, slack=1e8)
    law = pl.control.SafetyFilter(system, None, lyapunov=aim)
    run = pl.simulate(system, 1.5, u=pl.Sampled(law, 0.005), output=0.005)
    w, root = 4.0, np.sqrt(3.0)
    for q, v in zip(run.q[::30], run.v[::30]):  # V̇ by the forward dynamics, against what it is to be
        a = system.forward_dynamics(q, v, u=law(0.0, State(0.0, q, v)))
        e, de = system.pose("s0.tip", q)[:3, 3] - goal, system.twist("s0.tip", q, v, reference="world")[3:]
        dde = system.acceleration("s0.tip", q, v, a, reference="world")[3:]
        V = root * w**3 * e @ e + 2 * w**2 * e @ de + root * w * de @ de
        rate = 2 * (root * w**3 * e @ de + w**2 * (de @ de + e @ dde) + root * w * de @ dde)
        assert rate <= -w / (root + 1) * V * (1 - 1e-5)
    away = np.linalg.norm(run.positions("s0.tip") - goal, axis=1)
    assert away[-1] < 0.4 * away[0]


def test_a_barrier_goes_before_the_goal():
    """The goal lies beyond a wall for the tip: the arm stops at the wall, as near to the goal as that allows."""
    system = arm()
    tip = pl.costs.Position("arm.tip")
    rest = pl.solve_statics(system, [12.0, 4.0, 4.0, 4.0])
    goal = pl.solve_statics(system, [16.0, 6.0, 4.0, 4.0])
    wall = system.pose("arm.tip", rest.q)[2, 3] + 0.02
    law = pl.control.SafetyFilter(system, goal.u, pl.control.Barrier(wall - tip[2], rate=10.0), bounds=(0, 40))
    free = pl.simulate(system, 1.0, start=rest, u=goal.u, output=0.01)
    run = pl.simulate(system, 1.0, start=rest, u=pl.Sampled(law, 0.002), output=0.01)
    assert free.positions("arm.tip")[:, 2].max() > wall + 0.01
    assert run.positions("arm.tip")[:, 2].max() < wall + 4e-4  # of the period
    assert run.positions("arm.tip")[-1, 2] > wall - 5e-3
    assert law.broken == 0


def test_what_is_wrong_is_said():
    system = cart()
    with pytest.raises(TypeError, match=r"Barrier\.quantity"):
        pl.control.Barrier(3.0)
    with pytest.raises(ValueError, match="depends on velocities"):
        pl.control.SafetyFilter(system, None, pl.control.Barrier(1.0 - pl.costs.Rates()))
