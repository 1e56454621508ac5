"""Rollouts: motions in given steps; that they are right, that nothing happens silently, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from pliant import gallery


@pytest.fixture(scope="module")
def example():
    return gallery.load("cable_driven_manipulator")


@pytest.fixture(scope="module")
def system(example) -> pl.System:
    return example.build()


@pytest.fixture(scope="module")
def rest(system) -> pl.Equilibrium:
    return pl.solve_statics(system)


def inputs_of(example, system, t):
    return np.array([system.inputs(example.tensions(x)) for x in t])


# ---------------------------------------------------------------- right


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("sdirk2", 2), ("midpoint", 2), ("sdirk3", 3)])
def test_order(example, system, rest, method, order):
    duration = 0.4
    exact = pl.simulate(system, duration, u=example.tensions, start=rest, method="esdirk5", rtol=1e-11, atol=1e-12)
    tip = exact.positions("arm.tip")[-1]
    errors, steps = [], [0.02, 0.01, 0.005, 0.0025]
    for h in steps:
        t = np.linspace(0, duration, 81)
        run = pl.rollout(
            system, inputs_of(example, system, t), step=h, duration=duration, start=rest, inputs="spline", method=method,
            tolerance=1e-12,
        )  # fmt: skip
        errors.append(np.linalg.norm(run.positions("arm.tip")[-1] - tip))
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope > order - 0.25, errors


def test_agrees_with_simulate_where_inputs_jump(system, rest):
    """Held rows are a staircase, whose corners are breaks for `simulate`."""
    rng = np.random.default_rng(0)
    U = rng.uniform(5, 15, size=(10, 5))
    run = pl.rollout(system, U, step=0.002, duration=0.2, start=rest, method="sdirk3")
    staircase = pl.simulate(
        system, 0.2, u=lambda t: U[min(int(t / 0.02 + 1e-9), 9)], start=rest, breaks=0.02 * np.arange(1, 10), rtol=1e-7, atol=1e-8,
        output=0.02,
    )  # fmt: skip
    off = run.positions("arm.tip")[::10] - staircase.positions("arm.tip")
    assert np.abs(off).max() < 2e-6


def test_midpoint_keeps_energy():
    robot = pl.Robot("pendulum")
    arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.05, 0.05), mass=1.0, com=(0.25, 0, 0))
    robot.add_body(
        "fore", parent=arm, joint=pl.Revolute("y"), offset=(0.5, 0, 0), shape=pl.Sphere(0.05), mass=0.5, com=(0.3, 0, 0)
    )
    system = robot.compile()
    run = pl.rollout(system, step=0.0025, duration=10.0, start=[0.3, -0.5], method="midpoint")
    energy = run.result().energies().total
    swing = np.ptp(run.result().energies().kinetic)
    assert np.abs(energy - energy[0]).max() < 2e-3 * swing
    late = np.abs(energy - energy[0])[len(energy) // 2 :].max()
    assert late < 1.5 * np.abs(energy - energy[0])[: len(energy) // 2].max()  # it does not drift


def test_error_estimate(example, system, rest):
    t = np.linspace(0, 1, 101)
    U = inputs_of(example, system, t)
    run = pl.rollout(system, U, step=0.01, start=rest, inputs="linear")
    exact = pl.rollout(system, U, step=0.001, duration=1.0, start=rest, inputs="linear", method="sdirk3")
    true = np.linalg.norm(run.positions("arm.tip") - exact.positions("arm.tip")[::10], axis=1).max()
    assert run.error("arm.tip") == pytest.approx(true, rel=0.2)


def test_loops_stay_closed():
    parallel = gallery.load("hybrid_parallel_robot")
    system = parallel.build()
    U = np.array([system.inputs(parallel.wrench(0.01 * k)) for k in range(50)])
    run = pl.rollout(system, U, step=0.01, start=pl.solve_statics(system))
    gaps = [np.abs(system.closure(q)[0]).max() for q in run.q]
    rates = [np.abs(system.closure(q)[1] @ v).max() for q, v in zip(run.q, run.v)]
    assert max(gaps) < 1e-14
    assert max(rates) < 1e-12


# ---------------------------------------------------------------- inputs


def test_ways_to_say_the_inputs(system, rest):
    U = np.array([[5.0, 0, 0, 0, 0], [7.0, 0, 0, 0, 1.0]])
    options = {"step": 0.01, "duration": 0.08, "start": rest}
    held = pl.rollout(system, U, **options)
    np.testing.assert_array_equal(held.u[:, 0], [5] * 5 + [7] * 4)
    named = pl.rollout(system, {"cable1": [5.0, 7.0], "cable5": [0.0, 1.0]}, **options)
    np.testing.assert_array_equal(named.q, held.q)
    knots = pl.rollout(system, U, knots=(0.0, 0.04), **options)
    np.testing.assert_array_equal(knots.q, held.q)
    line = pl.rollout(system, U, inputs="linear", **options)
    np.testing.assert_allclose(line.u[:, 0], np.linspace(5, 7, 9), rtol=1e-12)
    for m in (1, 2, 3, 4, 6):
        x = np.linspace(0, 0.08, m)
        cubic = np.polynomial.Polynomial([5.0, 3.0, 20.0, -100.0][:m])
        curve = pl.rollout(system, np.column_stack([cubic(x), *[0 * x] * 4]), inputs="spline", **options)
        np.testing.assert_allclose(curve.u[:, 0], cubic(curve.t), rtol=1e-10)
    constant = pl.rollout(system, [5.0, 0, 0, 0, 0], **options)
    np.testing.assert_array_equal(constant.u[:, 0], 5.0)
    assert len(pl.rollout(system, np.ones((7, 5)), step=0.01)) == 7
    assert len(pl.rollout(system, np.ones((7, 5)), step=0.01, inputs="linear")) == 6


def test_given_steps_and_time(system, rest):
    steps = [0.01, 0.02, 0.005]
    run = pl.rollout(system, np.ones((3, 5)), step=steps, start=rest, t0=2.0)
    np.testing.assert_allclose(run.t, [2.0, 2.01, 2.03, 2.035])


def test_arrays_of_any_kind(system, rest):
    U = np.full((4, 5), 3.0)
    fixed = U.copy()
    fixed.flags.writeable = False
    strided = np.full((8, 10), 3.0)[::2, ::2]
    expected = pl.rollout(system, U, step=0.01, start=rest).q
    for given in (fixed, strided, U.astype(np.float32), U.astype(int), U.tolist(), np.asfortranarray(U)):
        np.testing.assert_array_equal(pl.rollout(system, given, step=0.01, start=rest).q, expected)


def test_forces_of_each_step(system, rest):
    tau = np.zeros((4, 24))
    tau[2, 3] = 1e-3
    run = pl.rollout(system, np.zeros((4, 5)), step=0.01, start=rest, tau=tau)
    np.testing.assert_array_equal(run.tau[1:], tau)
    g = run.gradient(pl.Reach("arm.tip", (0.3, 0.1, 0.1)))
    assert g.tau.shape == (4, 24)
    whole = pl.rollout(system, np.zeros((4, 5)), step=0.01, start=rest, tau=tau.sum(axis=0) / 4)
    assert whole.gradient(pl.Reach("arm.tip", (0.3, 0.1, 0.1))).tau.shape == (24,)


# ---------------------------------------------------------------- nothing happens silently


def test_a_step_that_fails_says_which_and_keeps_what_was_there(system, rest):
    U = np.full((6, 5), 10.0)
    tau = np.zeros((6, 24))
    tau[3, 4:9] = 5e3  # far beyond what it stands
    with pytest.raises(pl.RolloutError, match=r"step 4, from t = 0\.15 s with 0\.05 s") as caught:
        pl.rollout(system, U, step=0.05, start=rest, tau=tau)
    run = caught.value.run
    assert len(run) == 3
    np.testing.assert_allclose(run.q, pl.rollout(system, U[:3], step=0.05, start=rest).q, rtol=1e-9, atol=1e-12)
    assert run.gradient(pl.Reach("arm.tip", (0.3, 0.1, 0.1))).value > 0.0


def test_loops_that_are_open_at_the_start():
    system = gallery.load("hybrid_parallel_robot").build()
    start = system.random(0, scale=1.0)
    with pytest.raises(pl.RolloutError, match="are open by"):
        pl.rollout(system, np.zeros((3, 6)), step=0.01, start=start)


def test_steps_are_those_that_were_asked_for(system, rest):
    run = pl.rollout(system, np.full((100, 5), 10.0), step=0.01, start=rest)
    np.testing.assert_allclose(np.diff(run.t), 0.01, rtol=1e-12)
    assert run.warnings == ()


def test_checkpoints_change_nothing_but_the_memory(system, rest):
    rng = np.random.default_rng(0)
    U = rng.uniform(5, 15, size=(23, 5))
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1), at="all") + 1e-4 * pl.Effort()
    whole = pl.rollout(system, U, step=0.01, start=rest, tolerance=1e-13)
    parts = pl.rollout(system, U, step=0.01, start=rest, tolerance=1e-13, checkpoint=5)
    np.testing.assert_allclose(parts.q, whole.q, atol=1e-11)
    a, b = whole.gradient(cost), parts.gradient(cost)
    for one, other in ((a.u, b.u), (a.start, b.start), (a.velocity, b.velocity)):
        np.testing.assert_allclose(other, one, atol=1e-10 * np.abs(one).max())
    assert b["arm.length"] == pytest.approx(a["arm.length"], rel=1e-9)
    with pytest.raises(ValueError, match="checkpoint"):
        parts.maps()


def test_checkpoints_with_loops_and_parameters_of_loops():
    parallel = gallery.load("hybrid_parallel_robot")
    system = parallel.build()
    U = np.array([system.inputs(parallel.wrench(0.5 + 0.01 * k)) for k in range(7)])
    cost = pl.Reach("corner3", (0.3, 0.1, 0.1), at="all")
    rest = pl.solve_statics(system)
    a = pl.rollout(system, U, step=0.01, start=rest, tolerance=1e-13).gradient(cost)
    b = pl.rollout(system, U, step=0.01, start=rest, tolerance=1e-13, checkpoint=3).gradient(cost)
    np.testing.assert_allclose(b.u, a.u, atol=1e-9 * np.abs(a.u).max())
    assert b["pillar1.length"] == pytest.approx(a["pillar1.length"], rel=1e-8)


def test_threads_do_not_share(system, rest):
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    sets = rng.uniform(5, 15, size=(8, 20, 5))
    cost = pl.Reach("arm.tip", (0.3, 0.1, 0.1))

    def both(U):
        run = pl.rollout(system, U, step=0.01, start=rest)
        return run.q, run.gradient(cost).u

    alone = [both(U) for U in sets]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(both, sets))
    for one, other in zip(alone, together):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


# ---------------------------------------------------------------- what is refused


def test_refusals(system, rest):
    U = np.ones((4, 5))
    cases = [
        (dict(U=np.ones((4, 3)), step=0.01), ValueError, r"\(4, 3\).*cable1"),
        (dict(U=-U, step=0.01), ValueError, "only pulls"),
        (dict(U=U * np.nan, step=0.01), ValueError, "finite"),
        (dict(U={"cabel1": [1.0]}, step=0.01), KeyError, "cable1"),
        (dict(U=U, step=-0.01), ValueError, "positive"),
        (dict(U=U, step="fast"), TypeError, "step"),
        (dict(U=U, step=0.01, duration=0.055), ValueError, "whole number"),
        (dict(U=U, step=0.01, duration=0.05), ValueError, "4 rows of U share 5 steps"),
        (dict(U=None, step=0.01), ValueError, "duration"),
        (dict(U=U, step=0.01, inputs="cubic"), ValueError, "spline"),
        (dict(U=U, step=0.01, method="rk4"), ValueError, "sdirk2"),
        (dict(U=U, step=0.01, knots=(0, 0.01)), ValueError, "4 increasing times"),
        (dict(U=U, step=0.01, knots=(0.01, 0.02, 0.03, 0.04), inputs="linear", duration=0.04), ValueError, "cover"),
        (dict(U=U, step=0.01, tau=np.ones(3)), ValueError, "tau"),
        (dict(U=U, step=0.01, tolerance=0.0), ValueError, "tolerance"),
        (dict(U=U, step=0.01, checkpoint=0), ValueError, "checkpoint"),
        (dict(U=U, step=0.01, subdivide="yes"), TypeError, "subdivide"),
        (dict(U=U, step=0.01, start=np.ones(3)), ValueError, "start"),
        (dict(U=U, step=0.01, motion={"base": 1.0}), KeyError, "base"),
    ]
    for options, error, words in cases:
        with pytest.raises(error, match=words):
            pl.rollout(system, options.pop("U"), **options)
    with pytest.raises(TypeError, match="compile it first"):
        pl.rollout(system.robot, U, step=0.01)


def test_a_start_that_is_projected_onto_a_held_length_is_pushed_exactly():
    """A change of the start that would change the length of a held tendon: what the projection leaves of it."""
    robot = pl.Robot("held")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=rubber, strains=pl.Strains(bending=2))
    robot.add_tendon("cable", rod, z=0.01, control="length", push=True)
    system = robot.compile()
    rest = pl.solve_statics(system, motion={"cable": 0.398})

    def roll(d):
        return pl.rollout(
            system, np.zeros((3, 1)), step=0.02, start=system.integrate(rest.q, d), motion={"cable": lambda t: 0.398 - 0.01 * t},
            tolerance=1e-13,
        )  # fmt: skip

    d, h = np.random.default_rng(0).normal(size=system.nv), 1e-3
    near = (8 * (roll(h * d).q - roll(-h * d).q) - (roll(2 * h * d).q - roll(-2 * h * d).q)) / (12 * h)
    np.testing.assert_allclose(roll(0 * d).push(start=d).q, near, atol=1e-8 * np.abs(near).max())
