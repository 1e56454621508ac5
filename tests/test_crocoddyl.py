"""The adapter to Crocoddyl: its manifold and models by differences, and the same optimum as optimize."""

import numpy as np
import pytest

import pliant as pl

crocoddyl = pytest.importorskip("crocoddyl")
import pliant.crocoddyl  # noqa: E402


def tumbler() -> pl.System:
    """A free body with a soft arm and a ball joint at its end."""
    robot = pl.Robot("tumbler")
    hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.1, 0.08, 0.05), mass=0.3)
    arm = robot.add_rod(
        "arm", parent=hull, length=0.2, section=pl.Circle(0.01), material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=5e3),
        strains=pl.Strains(bending=1),
    )  # fmt: skip
    robot.add_tendon("up", arm, z=0.008)
    robot.add_tendon("side", arm, y=0.008)
    robot.add_body(
        "bob", parent=arm.tip, joint=pl.Spherical(), shape=pl.Box(0.05, 0.02, 0.01), mass=0.05, com=(0.02, 0, 0)
    )
    return robot.compile()


def differences(function, x0, state, n, eps=1e-6):
    columns = []
    for d in np.eye(n) * eps:
        columns.append((function(d) - function(-d)) / (2 * eps))
    return np.array(columns).T


@pytest.fixture(scope="module")
def system() -> pl.System:
    return tumbler()


def states(system, rng):
    state = pl.crocoddyl.State(system)
    x0 = state.integrate(state.zero(), rng.uniform(-1, 1, state.ndx))
    return state, x0, state.integrate(x0, rng.uniform(-1, 1, state.ndx))


def test_manifold(system):
    state, x0, x1 = states(system, np.random.default_rng(1))
    dx = state.diff(x0, x1)
    np.testing.assert_allclose(state.diff(x1, state.integrate(x0, dx)), 0.0, atol=1e-13)
    first, second = state.Jdiff(x0, x1)
    by = differences(lambda d: state.diff(state.integrate(x0, d), x1), x0, state, state.ndx)
    np.testing.assert_allclose(first, by, atol=1e-8)
    by = differences(lambda d: state.diff(x0, state.integrate(x1, d)), x0, state, state.ndx)
    np.testing.assert_allclose(second, by, atol=1e-8)
    first, second = state.Jintegrate(x0, dx)
    end = state.integrate(x0, dx)
    by = differences(lambda d: state.diff(end, state.integrate(state.integrate(x0, d), dx)), x0, state, state.ndx)
    np.testing.assert_allclose(first, by, atol=1e-8)
    by = differences(lambda d: state.diff(end, state.integrate(x0, dx + d)), x0, state, state.ndx)
    np.testing.assert_allclose(second, by, atol=1e-8)


def test_model_by_differences(system):
    """Steps and slopes of the cost, with several steps for a knot and terms of the start."""
    rng = np.random.default_rng(2)
    state, x, _ = states(system, rng)
    nq = system.nq
    cost = [pl.Reach("arm.tip", (0.1, 0.1, 0.1), at="all"), pl.Still(weight=0.1, at="all"), pl.Effort(0.01)]
    problem = pl.crocoddyl.shooting_problem(
        system, cost, horizon=0.06, knots=2, steps=3, start=x[:nq], velocity=x[nq:], bounds=(0, 20)
    )
    for model, u in zip(problem.runningModels, ([3.0, 2.0], [1.0, 4.0])):
        data, other, u = model.createData(), model.createData(), np.array(u)
        model.calc(data, x, u)
        model.calcDiff(data, x, u)
        end = np.array(data.xnext)

        def at(dx, du, model=model, other=other, u=u, end=end):
            model.calc(other, state.integrate(x, dx), u + du)
            return np.append(state.diff(end, np.array(other.xnext)), other.cost)

        by = differences(lambda d: at(d, 0.0), x, state, state.ndx)
        np.testing.assert_allclose(np.vstack([data.Fx, data.Lx]), by, atol=2e-7 * np.abs(by).max())
        by = differences(lambda d: at(np.zeros(state.ndx), d), x, state, 2, eps=1e-4)
        np.testing.assert_allclose(
            np.vstack([np.array(data.Fu).reshape(-1, 2), data.Lu]), by, atol=1e-7 * np.abs(by).max()
        )
    assert problem.terminalModel.nu == 0


def test_sum_of_knots_is_the_cost(system):
    rng = np.random.default_rng(3)
    cost = [
        pl.Reach("arm.tip", (0.1, 0.1, 0.1), 3.0),
        pl.Still(weight=0.1, at=0.04),
        pl.Effort(0.01),
        pl.costs.Position("hull")[2].mean(),
    ]
    made = dict(horizon=0.12, knots=3, steps=2, bounds=(0, 20))
    problem = pl.crocoddyl.shooting_problem(system, cost, **made)
    U = rng.uniform(0, 5, (3, 2))
    xs = problem.rollout(list(U))
    run = pl.rollout(system, np.repeat(U, 2, axis=0), step=0.02, tolerance=1e-11)
    np.testing.assert_allclose(np.array(xs)[:, : system.nq], run.q[::2], atol=1e-9)
    assert problem.calc(xs, list(U)) == pytest.approx(run.cost(cost), rel=1e-9)  # Newton stops at 1e-11


def arm() -> pl.System:
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4),
        strains=pl.Strains(bending=2),
    )  # fmt: skip
    for name, y, z in (("up", 0.0, 0.012), ("left", 0.01, -0.006), ("right", -0.01, -0.006)):
        robot.add_tendon(name, rod, y=y, z=z)
    return robot.compile()


REACH = [pl.Reach("arm.tip", (0.36, 0.03, -0.1), 100.0), pl.Still("arm.tip", 0.1), pl.Effort(1e-4)]


def test_same_optimum():
    """Cost and inputs to 1e-6 of the largest, some of them at bounds."""
    system = arm()
    rest = pl.solve_statics(system)
    plan = pl.optimize(
        system, REACH, bounds=(0, 12), horizon=0.5, knots=20, start=rest, tolerance=1e-10, iterations=500
    )
    problem = pl.crocoddyl.shooting_problem(plan.problem)
    solver = crocoddyl.SolverBoxDDP(problem)
    solver.th_stop = 1e-14
    us = [np.zeros(3)] * 20
    solver.solve(problem.rollout(us), us, 500, True)
    U = np.array(list(solver.us))
    assert plan.success
    assert np.any(plan.u == 0.0)
    assert solver.cost == pytest.approx(plan.cost, rel=1e-10)
    np.testing.assert_allclose(U, plan.u, atol=1e-6 * 12)


def test_refusals():
    system = arm()
    with pytest.raises(ValueError, match="couple knots"):
        pl.crocoddyl.shooting_problem(system, [pl.Smooth()], horizon=0.1, knots=5)
    with pytest.raises(ValueError, match="no constraints"):
        pl.crocoddyl.shooting_problem(
            system, REACH, horizon=0.1, knots=5, constraints=pl.costs.Position("arm.tip")[2] >= 0.0
        )
