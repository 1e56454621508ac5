"""Closed loops in steps: the same as sampled control, and exact gradients by gains, start and parameters of any law."""

import numpy as np
import pytest

import pliant as pl
from control_robots import arm, four_bar, pendulum

TIP = pl.costs.Position("arm.tip")


def loop_of(system: pl.System, rest: pl.Equilibrium, **options) -> pl.control.ClosedLoop:
    state = pl.costs.stack(TIP[1:] / 0.1, pl.costs.Velocity("arm.tip")[1:])
    goal = np.concatenate([TIP[1:].evaluate(pl.costs.States.at_rest(system, rest.q)).value[0] / 0.1, np.zeros(2)]) + [
        0.1,
        0.05,
        0,
        0,
    ]
    gains = np.random.default_rng(0).normal(size=(4, 4))
    law = pl.control.LinearFeedback(system, state, gains, goal, bias=rest.u)
    return pl.control.ClosedLoop(system, law, step=0.02, duration=0.6, start=rest, **options)


def by_differences(value, x: np.ndarray, h: float) -> np.ndarray:
    out = np.zeros(x.size)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        f = [value(x + (n * step).reshape(x.shape)) for n in (-3, -2, -1, 1, 2, 3)]
        out[k] = (-f[0] + 9 * f[1] - 45 * f[2] + 45 * f[3] - 9 * f[4] + f[5]) / (60 * h)
    return out.reshape(x.shape)


@pytest.fixture(scope="module")
def bent() -> tuple[pl.System, pl.Equilibrium]:
    system = arm()
    return system, pl.solve_statics(system, [12.0, 4.0, 4.0, 4.0])


def test_gradient_by_gains_bias_and_start(bent):
    system, rest = bent
    loop = loop_of(system, rest, tolerance=1e-13)
    cost = pl.Reach("arm.tip", (0.3, 0.05, -0.1)) + TIP[2].near(-0.1) + 1e-3 * pl.Effort() + 1e-4 * pl.Smooth()
    found = loop.gradient(cost)
    assert not found.warnings
    assert found.value == loop.run().cost(cost)
    for name, h in (("gains", 1e-2), ("bias", 2e-2)):
        expected = by_differences(lambda x, name=name: loop.run({name: x}).cost(cost), loop.parameters[name], h)
        assert np.abs(found.parameters[name] - expected).max() <= 1e-8 * np.abs(expected).max()
    assert found.flat.shape == (20,)

    def from_start(dq):
        law = _law_of(loop)
        other = pl.control.ClosedLoop(system, law, step=0.02, duration=0.6, start=rest.q + dq, tolerance=1e-13)
        return other.run().cost(cost)

    expected = by_differences(from_start, np.zeros(system.nv), 1e-2)
    assert np.abs(found.start - expected).max() <= 1e-8 * np.abs(expected).max()


def _law_of(loop):
    return loop._law.__self__


def test_gradient_of_a_law_without_derivatives_and_of_one_with(bent):
    system, rest = bent

    def law(t, state, p):
        return (
            rest.u
            + p["k"] * np.tanh(state.q[3] - rest.q[3])
            + p["c"][0] * state.v[3]
            + np.array([1.0, 0.5, 0.0, 0.0]) * np.sin(5 * t)
        )

    def slopes(t, state, p):
        dq, dv, dp = np.zeros((4, system.nv)), np.zeros((4, system.nv)), np.zeros((4, 5))
        x = state.q[3] - rest.q[3]
        dq[:, 3], dv[:, 3] = p["k"] / np.cosh(x) ** 2, p["c"][0]
        dp[:, :4], dp[:, 4] = np.diag(np.full(4, np.tanh(x))), state.v[3]
        return dq, dv, dp

    given = {"k": np.array([0.5, 0.1, -0.5, 0.1]), "c": np.array([0.2])}
    cost = pl.Reach("arm.tip", (0.3, 0.05, -0.1))
    options = {"step": 0.02, "duration": 0.4, "start": rest, "parameters": given}
    plain = pl.control.ClosedLoop(system, law, **options).gradient(cost)
    exact = pl.control.ClosedLoop(system, law, derivatives=slopes, **options).gradient(cost)
    assert "differences" in plain.warnings[0]
    assert not exact.warnings
    assert np.abs(plain.flat - exact.flat).max() < 1e-8 * np.abs(exact.flat).max()


def test_the_same_as_sampled_control(bent):
    """Up to the error of the steps, which shrinks with their number; here the law is held over several."""
    system, rest = bent
    loop = loop_of(system, rest)
    run = loop.run()
    exact = pl.simulate(system, 0.6, start=rest, u=pl.Sampled(_law_of(loop), 0.02), rtol=1e-8, atol=1e-10, output=0.02)
    assert np.linalg.norm(run.positions("arm.tip") - exact.positions("arm.tip"), axis=1).max() < 2e-3
    again = pl.rollout(system, run.U, step=0.02, start=rest)
    assert np.abs(again.q - run.q).max() < 1e-7


def test_bounds_are_counted_and_have_no_derivative(bent):
    system, rest = bent
    loop = loop_of(system, rest, bounds=(3.9, 12.2), tolerance=1e-13)
    found = loop.gradient(pl.Reach("arm.tip", (0.3, 0.05, -0.1)))
    assert "at their bounds" in found.warnings[0]
    assert found.run.U.max() <= 12.2
    cost = pl.Reach("arm.tip", (0.3, 0.05, -0.1))
    k = int(np.argmax(np.abs(found.parameters["bias"])))
    step = 1e-5 * np.eye(4)[k]
    values = [loop.run({"bias": loop.parameters["bias"] + n * step}).cost(cost) for n in (-1, 1)]
    assert found.parameters["bias"][k] == pytest.approx((values[1] - values[0]) / 2e-5, rel=1e-4)


def test_unstable_plants_are_differentiated_along_the_closed_loop():
    """Open loop the pendulum falls; the gradient by gains is that of the loop that holds it."""
    system = pendulum()
    up = pl.solve_statics(system, start=[-np.pi / 2, 0.0], stable=False)
    K = pl.control.LQR(system, up, 1.0, 1.0, period=0.02).K
    state = pl.costs.stack(pl.costs.Coordinates(), pl.costs.Rates())
    law = pl.control.LinearFeedback(system, state, K, np.concatenate([up.q, [0, 0]]), bias=up.u)
    loop = pl.control.ClosedLoop(system, law, step=0.02, duration=3.0, start=up.q + [0.05, -0.05], tolerance=1e-13)
    cost = pl.costs.Coordinates().near(up.q) + 0.01 * pl.Effort()
    found = loop.gradient(cost)
    assert np.abs(found.run.q[-1] - up.q).max() < 0.05
    expected = by_differences(lambda x: loop.run({"gains": x}).cost(cost), np.array(K), 1e-3 * np.abs(K).min())
    assert np.abs(found.parameters["gains"] - expected).max() <= 1e-7 * np.abs(expected).max()


def test_with_a_loop():
    system = four_bar()
    rest = pl.solve_statics(system, start=[1.5, 1.5, -1.5])
    state = pl.costs.stack(pl.costs.Coordinates("left"), pl.costs.Rates("left"))
    law = pl.control.LinearFeedback(system, state, [[2.0, 0.2]], [1.0, 0.0])
    loop = pl.control.ClosedLoop(system, law, step=0.02, duration=0.6, start=rest, tolerance=1e-13)
    cost = pl.costs.Coordinates("left").near(1.0)
    found = loop.gradient(cost)
    expected = by_differences(lambda x: loop.run({"gains": x}).cost(cost), loop.parameters["gains"], 2e-3)
    assert np.abs(found.parameters["gains"] - expected).max() <= 1e-8 * np.abs(expected).max()


def test_what_is_wrong_is_said(bent):
    system, rest = bent
    loop = loop_of(system, rest)
    with pytest.raises(KeyError, match="parameter of the law"):
        loop.run({"gain": np.zeros((4, 4))})
    with pytest.raises(ValueError, match="inputs of the law"):
        pl.control.ClosedLoop(system, lambda t, state, p: [1.0], step=0.02, duration=0.1).run()
