"""Model predictive control: the closed loop on the model itself is the plan, and it keeps a robot where it should be under all that is unknown."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import pliant as pl
from pliant import costs
from test_optimize import arm, cart, driven

SYSTEM = arm(2)
START = pl.solve_statics(SYSTEM, [7.0, 0.0, 0.0])
GOAL = SYSTEM.pose("arm.tip", pl.solve_statics(SYSTEM, [9.0, 2.0, 0.0]).q)[:3, 3]  # where it can be held


@pytest.fixture(scope="module")
def plan():
    cost = [pl.Reach("arm.tip", GOAL, 100.0, at="all"), pl.Still("arm.tip", 0.1, at="all"), pl.Effort(1e-4)]
    return pl.optimize(SYSTEM, cost, bounds=(0, 20), horizon=0.3, knots=15, start=START)


def test_a_linear_loop_is_the_linear_quadratic_regulator():
    """With a long horizon the inputs are those of the discrete Riccati equation, at every sample."""
    from scipy.linalg import solve_discrete_are

    system = cart()
    cost = costs.stack(costs.Coordinates(), costs.Rates()).near(at="all") + pl.Effort(0.1)
    plan = pl.optimize(system, cost, horizon=12.0, knots=240, start=[0.2, -0.1])
    loop = pl.MPC(plan, rate=20).run(1.0, substeps=1)
    A, B = (x[0] for x in plan.rollout.maps())
    Q, R = 0.05 * np.eye(4), 0.1 * 0.05 * np.eye(1)
    P = solve_discrete_are(A, B, Q, R)
    K = -np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    x = np.concatenate([loop.q, loop.v], axis=1)
    np.testing.assert_allclose(loop.u, x[:-1] @ K.T, rtol=1e-5, atol=1e-9)
    assert loop.failures == 0


def test_without_anything_unknown_the_loop_converges(plan):
    loop = pl.MPC(plan, rate=50).run(1.0)
    off = np.linalg.norm(loop.positions("arm.tip") - GOAL, axis=1)
    assert loop.failures == 0
    assert off[-1] < 0.1 * off[0]
    assert loop.u.min() >= 0.0
    assert loop.u.max() <= 20.0
    assert loop.q.shape == (51, plan.system.nq)
    assert set(loop.percentiles) == {"50", "95", "99", "max"}
    assert loop.percentiles["50"] <= loop.percentiles["max"]
    assert 0 <= loop.missed <= 50
    assert "50 samples" in str(loop)


def test_disturbance_delay_noise_and_another_robot(plan):
    system = plan.system
    stiff = system.with_parameters({"arm.young": 1.2e6})
    push = system.jacobian("arm.tip", plan.rollout.q[-1], reference="world")[3:].T @ np.array([0.0, 0.05, -0.05])
    options = {
        "plant": stiff,
        "disturbance": lambda t: push * (t > 0.5),
        "noise": (1e-3, 1e-2),
        "delay": 0.02,
        "seed": 3,
    }
    knows = pl.MPC(plan, rate=50, delay=0.02).run(1.2, **options)
    off = np.linalg.norm(knows.positions("arm.tip") - GOAL, axis=1)
    assert off[40:].max() < 0.4 * off[0]
    again = pl.MPC(plan, rate=50, delay=0.02).run(1.2, **options)
    np.testing.assert_array_equal(knows.q, again.q)
    np.testing.assert_array_equal(knows.u, again.u)
    other = pl.MPC(plan, rate=50, delay=0.02).run(1.2, **{**options, "seed": 4})
    assert np.abs(other.q - knows.q).max() > 1e-6
    # against the inputs of the plan alone
    held = pl.simulate(stiff, 1.2, u=plan.signal, start=plan.rollout.q[0], tau=lambda t: push * (t > 0.5))
    alone = np.linalg.norm(held.positions("arm.tip")[-1] - GOAL)
    assert off[-1] < 0.5 * alone


def test_a_delay_acts_and_is_expected(plan):
    """The first inputs act late: until then that of the plan."""
    loop = pl.MPC(plan, rate=50, delay=0.04).run(0.2)
    np.testing.assert_array_equal(loop.applied[:2], np.tile(plan.u[0], (2, 1)))
    np.testing.assert_array_equal(loop.applied[2:], loop.u[:-2])
    rounded = pl.MPC(plan, rate=50).run(0.1, delay=0.007)
    assert any("rounded" in text for text in rounded.warnings)


def test_it_controls_anything_with_a_state(plan):
    mpc = pl.MPC(plan, rate=50)
    q, v = plan.rollout.q[0], plan.rollout.v[0]

    class State:
        pass

    state = State()
    state.q, state.v = q, v
    u = mpc.control(0.0, state)
    mpc.reset()
    np.testing.assert_array_equal(u, mpc.control(0.0, (q, v)))
    np.testing.assert_allclose(mpc.feedback((q, v)), mpc.control(0.0, (q, v)), atol=0.05)
    moved = mpc.feedback((q + 0.05, v))
    assert np.abs(moved - u).max() > 1e-3
    mpc.reset()
    run = pl.simulate(plan.system, 0.2, u=pl.Sampled(lambda t, state: mpc.control(t, state), period=0.02), start=q)
    loop = pl.MPC(plan, rate=50).run(0.2)
    np.testing.assert_allclose(run.positions("arm.tip")[-1], loop.positions("arm.tip")[-1], atol=2e-3)


def test_prescribed_motion_goes_on(plan):
    """The plan of a later sample sees the prescribed joint where it is by then."""
    system = driven()
    motion = {"turn": pl.Expression("0.3*sin(5*t)")}
    cost = [pl.Reach("arm.tip", (0.3, 0.02, 0.05), 100.0, at="all"), pl.Effort(1e-4)]
    start = pl.optimize(system, cost, horizon=0.2, knots=10, bounds=(0, 20), motion=motion)
    mpc = pl.MPC(start, rate=50)
    loop = mpc.run(0.4)
    np.testing.assert_allclose(loop.q[:, 0], 0.3 * np.sin(5 * loop.t), atol=1e-9)
    lever = mpc._solver.steps.memory.record
    np.testing.assert_allclose(lever.q[:, 0], 0.3 * np.sin(5 * lever.t), atol=1e-9)
    assert lever.t[0] == pytest.approx(0.38)


def test_more_iterations_are_closer_to_the_optimum(plan):
    one, three = (pl.MPC(plan, rate=50, iterations=n).run(0.3) for n in (1, 3))
    assert three.costs.sum() <= one.costs.sum() * (1 + 1e-3)


def test_two_threads(plan):
    found = {}

    def work(k):
        found[k] = pl.MPC(plan, rate=50).run(0.2).u

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found[0], found[1])


def test_bad_input(plan):
    with pytest.raises(TypeError, match="OptimalPlan"):
        pl.MPC(plan.u)
    with pytest.raises(ValueError, match="rate"):
        pl.MPC(plan, rate=0)
    with pytest.raises(ValueError, match="iterations"):
        pl.MPC(plan, iterations=0)
    with pytest.raises(TypeError, match="q and v"):
        pl.MPC(plan).control(0.0, 3.0)
    with pytest.raises(ValueError, match="same shape"):
        pl.MPC(plan).run(0.1, plant=cart())
    with pytest.raises(ValueError, match="disturbance"):
        pl.MPC(plan).run(0.1, disturbance=lambda t: [1.0])


def test_feedback_between_samples_has_the_right_sign():
    """On a linear system the gains of a sample give the input of the next solution, for positions and velocities alike."""
    system = cart()
    cost = costs.stack(costs.Coordinates(), costs.Rates()).near(at="all") + pl.Effort(0.1)
    plan = pl.optimize(system, cost, horizon=6.0, knots=120, start=[0.2, -0.1])
    mpc = pl.MPC(plan, rate=20)
    q, v = plan.rollout.q[0], plan.rollout.v[0]
    mpc.control(0.0, (q, v))
    for dq, dv in (([0.03, 0.0], [0.0, 0.0]), ([0.0, -0.02], [0.05, 0.1])):
        near = mpc.feedback((q + dq, v + dv))
        fresh = pl.MPC(plan, rate=20)
        np.testing.assert_allclose(near, fresh.control(0.0, (q + dq, v + dv)), rtol=1e-6, atol=1e-9)
