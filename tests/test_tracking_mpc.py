"""Predictive control along a plan: with a linear model the linear regulator whatever the horizon, with bounds better than it; and what costs of deviations are."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from pliant import costs
from pliant.control.laws.gains import root
from test_optimize import arm, cart

BOTH = costs.stack(costs.Coordinates(), costs.Rates())


def linear_plan(bound=None, horizon=3.0, knots=60):
    system = cart()
    cost = [BOTH.near(at="all"), pl.Effort(0.1), BOTH.near(at="end", weight=10.0)]
    return pl.optimize(system, cost, bounds=bound, horizon=horizon, knots=knots, start=[0.2, -0.1])


def upright():
    """A pendulum with a motor that cannot hold it horizontal, its regulator about the top, and a swing-up."""
    robot = pl.Robot("pendulum")
    rod = robot.add_body(
        "rod", joint=pl.Revolute("y", damping=1e-3), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    )
    robot.add_motor("torque", rod)
    system = robot.compile()
    up = pl.solve_statics(system, start=[-np.pi / 2], stable=False)
    law = pl.control.LQR(system, up, BOTH / (0.3, 3.0), 1 / 0.3**2, period=0.02, bounds=(-0.4, 0.4))
    plan = pl.optimize(
        system, [(BOTH - (-np.pi / 2, 0.0)).near(weight=(1.0, 0.01)), pl.Effort(1.0), law.value()], bounds=(-0.35, 0.35), horizon=2.4, knots=120,
        start=[np.pi / 2], guess=0.1 * np.sin(0.1 * np.arange(120))[:, None], tolerance=1e-4,
    )  # fmt: skip
    return system, up, law, plan


@pytest.fixture(scope="module")
def pendulum():
    return upright()


# ---------------------------------------------------------------- deviations


def test_deviation_and_its_derivatives_on_a_manifold():
    """Against differences, on spherical and free joints far from the state."""
    robot = pl.Robot("free")
    robot.add_body("hull", joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_body("ball", parent="hull", joint=pl.Spherical(), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_body("rod", parent="ball", joint=pl.Revolute("y"), shape=pl.Sphere(0.1), mass=1.0)
    system = robot.compile()
    rng = np.random.default_rng(2)
    q0, q, v0, v = system.random(1), system.random(2), rng.normal(size=system.nv), rng.normal(size=system.nv)
    away = costs.Deviation(q0, v0)

    def value(q, v):
        return away.evaluate(costs.States(system, np.zeros(1), q[None], v[None], np.zeros((1, 0)))).value[0]

    x = value(q, v)
    n = system.nv
    np.testing.assert_allclose(system.integrate(q0, x[:n]), q, atol=1e-12)
    np.testing.assert_array_equal(x[n:], v - v0)
    found = away.evaluate(costs.States(system, np.zeros(1), q[None], v[None], np.zeros((1, 0))))
    for k in range(n):
        d = costs.Variation(np.eye(n)[k][None], np.zeros((1, n)), np.zeros((1, 0)))
        h = 1e-6 * np.eye(n)[k]
        by_hand = (value(system.integrate(q, h), v) - value(system.integrate(q, -h), v)) / 2e-6
        np.testing.assert_allclose(found.push(d)[0], by_hand, atol=1e-8)
    w = rng.normal(size=(1, 2 * n))
    np.testing.assert_allclose(found.pull(w).v, w[:, n:])


def test_deviation_of_what_has_q_and_v_and_what_has_none():
    system = cart()
    rest = pl.solve_statics(system)
    states = costs.States.at_rest(system, [0.1, 0.2])
    np.testing.assert_allclose(costs.Deviation(rest).evaluate(states).value, [[0.1, 0.2, 0.0, 0.0]], atol=1e-12)
    with pytest.raises(TypeError, match="state = 'up' must have q"):
        costs.Deviation("up")
    with pytest.raises(ValueError, match="q"):
        costs.Deviation([0.0]).evaluate(states)


def test_value_of_a_regulator_makes_a_short_horizon_a_long_one():
    """On a linear robot a plan of few knots that ends with the value has the inputs of the regulator."""
    system = cart()
    rest = pl.solve_statics(system)
    law = pl.control.LQR(system, rest, np.ones(4), 0.1, period=0.01)
    cost = [
        BOTH.near(at=costs.Weights(np.r_[np.full(3, 0.01), 0.0])),
        pl.Effort(0.1, at=costs.Weights(np.r_[0.0, np.full(3, 0.01)])),
        law.value(),
    ]
    plan = pl.optimize(system, cost, horizon=0.03, knots=3, start=[0.2, -0.1], tolerance=1e-9)
    u = law(0.0, type("State", (), {"q": np.array([0.2, -0.1]), "v": np.zeros(2), "t": 0.0})())
    np.testing.assert_allclose(plan.u[0], u, rtol=0.01)  # steps of 10 ms against the exact exponential
    without = pl.optimize(system, cost[:2], horizon=0.03, knots=3, start=[0.2, -0.1], tolerance=1e-9)
    assert abs(without.u[0, 0] - u[0]) > 3.0 * abs(plan.u[0, 0] - u[0])


# ---------------------------------------------------------------- a linear robot


@pytest.mark.parametrize("knots", [1, 5, 30])
def test_a_linear_robot_gets_the_regulator_along_the_plan(knots):
    """Without bounds every horizon gives the inputs of TrackingLQR, since the value at its end is exact; after the plan those of `hold`."""
    plan = linear_plan()
    hold = pl.control.LQR(plan.system, pl.solve_statics(plan.system), np.ones(4), 0.1, period=0.05)
    law = pl.control.TrackingLQR(plan.rollout, np.ones(4), 0.1, end=hold.P)
    mpc = pl.TrackingMPC(plan, np.ones(4), 0.1, horizon=0.05 * knots, hold=hold, rate=20)
    loop = mpc.run(3.5, start=([0.25, -0.05], [0.1, 0.0]), substeps=1)
    assert mpc.problem.knots == knots
    for k in range(70):
        state = type("State", (), {"q": loop.q[k], "v": loop.v[k], "t": loop.t[k]})()
        if k < 60 - knots:
            np.testing.assert_allclose(loop.u[k], law(loop.t[k], state), atol=1e-7)
        if k >= 60:
            np.testing.assert_allclose(
                loop.u[k], hold(loop.t[k], state), atol=2e-3
            )  # exponential against steps of 50 ms
    assert loop.failures == 0


def test_weights_as_a_quantity_are_those_of_the_matrix():
    plan = linear_plan()
    runs = [
        pl.TrackingMPC(plan, Q, 0.1, horizon=0.2, rate=20).run(1.0, start=([0.25, -0.05], [0.1, 0.0])).u
        for Q in (np.ones(4), BOTH)
    ]
    np.testing.assert_allclose(*runs, atol=1e-9)


def test_root():
    P = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(root(P).T @ root(P), P, atol=1e-14)
    two = root(np.stack([P, 4 * P]))
    np.testing.assert_allclose(two[1].T @ two[1], 4 * P, atol=1e-14)


# ---------------------------------------------------------------- an unstable robot


def test_swings_up_and_holds_a_robot_that_is_not_the_model(pendulum):
    """Heavier by a tenth, with noise, on finer steps; the horizon is a tenth of the plan."""
    system, up, law, plan = pendulum
    assert plan.success
    heavy = system.with_parameters({"rod.mass": 0.33})
    mpc = pl.TrackingMPC(plan, BOTH / (0.3, 3.0), 1 / 0.3**2, horizon=0.24, hold=law, bounds=(-0.4, 0.4), rate=50)
    assert mpc.problem.knots == 12
    for options in ({}, {"plant": heavy}, {"plant": heavy, "noise": (1e-3, 1e-2)}):
        loop = mpc.run(4.0, **options)
        assert loop.failures == 0
        assert np.abs(loop.u).max() <= 0.4
        assert np.abs(loop.q[loop.t > 3.5, 0] - up.q[0]).max() < 0.02
    again = mpc.run(4.0, plant=heavy, noise=(1e-3, 1e-2))
    np.testing.assert_array_equal(loop.u, again.u)  # nothing is left of a run


def test_without_hold_the_last_state_is_followed():
    plan = linear_plan()
    mpc = pl.TrackingMPC(plan, np.ones(4), 0.1, horizon=0.2, rate=20)
    found = mpc._moving._following.at(np.array([2.95, 3.0, 3.05, 9.0]))
    np.testing.assert_allclose(found.q, plan.rollout.q[[-2, -1, -1, -1]], atol=1e-12)
    np.testing.assert_array_equal(found.u, plan.u[[-1, -1, -1, -1]])
    np.testing.assert_allclose(found.value[-1].T @ found.value[-1], np.eye(4), atol=1e-12)  # Q


def test_bounds_are_those_of_the_plan_unless_given(pendulum):
    _system, _up, law, plan = pendulum
    own = pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, hold=law)
    assert own.problem.upper[0, 0] == 0.35
    wide = pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, hold=law, bounds={"torque": (-0.5, 0.4)})
    assert (wide.problem.lower[0, 0], wide.problem.upper[-1, 0]) == (-0.5, 0.4)


def test_knots_may_be_longer_than_those_of_the_plan(pendulum):
    """Ten knots of 40 ms, sampled at 50 Hz."""
    _system, up, law, plan = pendulum
    mpc = pl.TrackingMPC(
        plan, BOTH / (0.3, 3.0), 1 / 0.3**2, horizon=0.4, knots=10, hold=law, bounds=(-0.4, 0.4), rate=50
    )
    assert mpc.problem.step == pytest.approx(0.04)
    loop = mpc.run(4.0)
    assert np.abs(loop.q[loop.t > 3.5, 0] - up.q[0]).max() < 0.02


def test_what_is_followed(pendulum):
    """Rows of the plan at its times, straight lines between them, and after the end the equilibrium."""
    _system, up, law, plan = pendulum
    mpc = pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, hold=law)
    run = plan.rollout
    found = mpc._moving._following.at(
        np.array([0.0, run.t[7], 0.5 * (run.t[7] + run.t[8]), run.t[-1], run.t[-1] + 0.02])
    )
    np.testing.assert_allclose(
        found.q[:4], np.stack([run.q[0], run.q[7], 0.5 * (run.q[7] + run.q[8]), run.q[-1]]), atol=1e-9
    )
    np.testing.assert_allclose(found.u[:3], np.stack([run.U[0], run.U[7], run.U[7]]))
    np.testing.assert_array_equal(found.u[3:], np.tile(up.u, (2, 1)))
    np.testing.assert_array_equal(found.q[4], up.q)
    np.testing.assert_array_equal(found.gain[4], law.K)


def test_bad_input(pendulum):
    system, up, law, plan = pendulum
    with pytest.raises(TypeError, match=r"plan = .* must be an OptimalPlan"):
        pl.TrackingMPC(plan.rollout, BOTH, 1.0, horizon=0.2)
    with pytest.raises(ValueError, match="horizon"):
        pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.0)
    with pytest.raises(ValueError, match="knots"):
        pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, knots=0)
    with pytest.raises(TypeError, match=r"hold = .* must be a control\.LQR"):
        pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, hold=up)
    with pytest.raises(ValueError, match=r"design it with plan\.system"):
        pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, hold=pl.control.LQR(cart(), pl.solve_statics(cart()), 1.0, 1.0))
    with pytest.raises(ValueError, match="R is not allowed"):
        pl.TrackingMPC(plan, BOTH, 0.0, horizon=0.2)
    with pytest.raises(ValueError, match="Q"):
        pl.TrackingMPC(plan, np.ones(3), 1.0, horizon=0.2)
    with pytest.raises(ValueError, match="bounds"):
        pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, bounds=0.4)
    with pytest.raises(ValueError, match="rate"):
        pl.TrackingMPC(plan, BOTH, 1.0, horizon=0.2, rate=-1.0)
    task = {"bounds": (-0.3, 0.3), "horizon": 0.2, "knots": 10, "start": [1.5], "iterations": 1}
    fine = pl.optimize(system, pl.Effort(), steps=2, **task)
    with pytest.raises(ValueError, match="steps=1"):
        pl.TrackingMPC(fine, BOTH, 1.0, horizon=0.1)
    pushed = pl.optimize(system, pl.Effort(), tau=np.zeros((10, 1)), **task)
    with pytest.raises(ValueError, match="tau"):
        pl.TrackingMPC(pushed, BOTH, 1.0, horizon=0.1)
    with pytest.raises(ValueError, match="weight"):
        law.value(-1.0)


# ---------------------------------------------------------------- inputs count as long as they are held


def test_inputs_of_a_horizon_count_as_long_as_they_are_held():
    """Effort is a sum over steps in a controller; terms of states stay as they are."""
    plan = pl.optimize(
        arm(2),
        [BOTH.near(), pl.Effort(1e-3), 2.0 * pl.Effort(1e-3, "cable0"), pl.Smooth(1e-6)],
        horizon=0.2,
        knots=4,
        bounds=(0, 20),
        iterations=1,
    )
    own = plan.problem.cost.parts
    held = pl.MPC(plan, rate=20).problem.cost.parts
    assert [factor for factor, _ in held] == [1.0, 1.0, 2.0, 1.0]
    for k, changed in enumerate([False, True, True, False]):
        assert (held[k][1] is not own[k][1]) == changed
    np.testing.assert_allclose(held[1][1].at.values, [0.0, 0.05, 0.05, 0.05, 0.05])
    states = plan.rollout.states
    assert held[1][1].evaluate(states).value == pytest.approx(0.5e-3 * 0.05 * np.sum(plan.u**2))
    assert own[1][1].at == "all"  # that of the plan is as it was
