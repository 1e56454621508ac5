"""CasADi: maps of steps, positions and equilibria with their Jacobians, and an optimisation with Ipopt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from adapter_robots import arm, closed, compiled_only, floating, nothing_compiled, state

casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
adapter = pytest.importorskip("pliant.casadi", exc_type=ImportError)


@pytest.fixture(scope="module")
def system() -> pl.System:
    return arm().compile()


def jacobians(function, *values):
    """Derivatives of a map by each argument, by CasADi's chain rule."""
    symbols = [casadi.MX.sym(f"x{k}", len(x)) for k, x in enumerate(values)]
    result = 2 * function(*symbols)  # not the map itself
    found = casadi.Function("J", symbols, [casadi.jacobian(result, x) for x in symbols])(*values)
    return [np.array(J) / 2 for J in (found if isinstance(found, tuple) else (found,))]


def differences(function, values, k, h=1e-5):
    columns = []
    for e in np.eye(len(values[k])):
        ends = [[x + s * h * e if i == k else x for i, x in enumerate(values)] for s in (1, -1)]
        columns.append((np.array(function(*ends[0])) - np.array(function(*ends[1])))[:, 0] / (2 * h))
    return np.array(columns).T


@pytest.mark.parametrize("steps", [1, 3])
def test_a_step_and_its_jacobian(system, steps):
    F = adapter.step_map(system, step=0.01, steps=steps, method="sdirk3")
    q, v = state(system)
    x, u = np.concatenate([q, v]), np.array([2.0, 1.0])
    run = pl.rollout(system, u, step=0.01, duration=0.01 * steps, start=q, velocity=v, method="sdirk3")
    np.testing.assert_array_equal(np.array(F(x, u))[:, 0], np.concatenate([run.q[-1], run.v[-1]]))
    for k, J in enumerate(jacobians(F, x, u)):
        expected = differences(F, (x, u), k)
        np.testing.assert_allclose(J, expected, atol=1e-6 * np.abs(expected).max())
    assert F.name_in() == ["x", "u"]
    assert F.name_out() == ["end"]


def test_a_step_of_a_closed_robot():
    """From any state: its loops are closed first."""
    system = closed().compile()
    rest = pl.solve_statics(system)
    rng = np.random.default_rng(2)
    x, u = np.concatenate([rest.q, np.zeros(system.nv)]) + 0.02 * rng.normal(size=2 * system.nv), np.array([0.01])
    F = adapter.step_map(system, step=0.005, steps=2)
    for k, J in enumerate(jacobians(F, x, u)):
        expected = differences(F, (x, u), k)
        np.testing.assert_allclose(J, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("adrift", [False, True])
def test_positions(system, adrift):
    """Also of a floating robot, by the entries of its quaternions."""
    robot, frame = (floating().compile(), "rod.tip") if adrift else (system, "arm.tip")
    q, _v = state(robot)
    p = adapter.position_map(robot, frame)
    np.testing.assert_allclose(np.array(p(q))[:, 0], robot.pose(frame, q)[:3, 3], rtol=1e-15)
    np.testing.assert_allclose(jacobians(p, q)[0], differences(p, (q,), 0), atol=1e-8)


def test_statics(system):
    p, u = adapter.static_map(system, "arm.tip"), np.array([2.0, 1.0])
    rest = pl.solve_statics(system, u)
    np.testing.assert_allclose(np.array(p(u))[:, 0], system.pose("arm.tip", rest.q)[:3, 3], rtol=1e-12)
    np.testing.assert_allclose(jacobians(p, u)[0], differences(p, (u,), 0, 1e-4), atol=1e-7)


def ipopt(x, cost, constraints, **others):
    options = {"ipopt.hessian_approximation": "limited-memory", "ipopt.print_level": 0, "print_time": False}
    problem = {"x": x, "f": cost, "g": constraints}
    return casadi.nlpsol("solver", "ipopt", problem, {**options, "ipopt.sb": "yes", **others})


def test_reaching_a_point_by_multiple_shooting(system):
    """The tip is brought to a place, at rest, with the least effort; the motion is that of a rollout."""
    n, nv, goal = 12, system.nv, np.array([0.05, 0.02])
    F, tip = adapter.step_map(system, step=0.03), adapter.position_map(system, "arm.tip")
    rest = pl.solve_statics(system)
    x0 = np.concatenate([rest.q, np.zeros(nv)])
    X, U = casadi.MX.sym("X", 2 * nv, n), casadi.MX.sym("U", 2, n)
    states = [x0, *casadi.horzsplit(X)]
    gaps = [F(states[k], U[:, k]) - states[k + 1] for k in range(n)]
    end = [10 * (tip(X[:nv, -1])[1:] - goal), X[nv:, -1]]
    solver = ipopt(casadi.veccat(X, U), 1e-3 * casadi.sumsqr(U), casadi.vertcat(*gaps, *end))
    guess = np.concatenate([np.tile(x0, n), np.full(2 * n, 1.0)])
    bounds = np.concatenate([np.full(2 * nv * n, -np.inf), np.zeros(2 * n)])
    found = solver(x0=guess, lbx=bounds, ubx=np.where(bounds == 0, 30.0, np.inf), lbg=0, ubg=0)
    assert solver.stats()["success"], solver.stats()["return_status"]
    plan = np.array(found["x"])[2 * nv * n :, 0].reshape(n, 2)
    run = pl.rollout(system, np.clip(plan, 0, None), step=0.03, start=rest)
    np.testing.assert_allclose(run.positions("arm.tip")[-1, 1:], goal, atol=1e-5)
    assert np.abs(run.v[-1]).max() < 1e-3


def test_what_cannot_be_computed_is_nan(system, monkeypatch):
    F = adapter.step_map(system, step=0.01)
    far = np.full(2 * system.nv, 1e6)
    assert np.all(np.isnan(np.array(F(far, [1.0, 1.0]))))
    assert all(np.all(np.isnan(J)) for J in jacobians(F, far, np.ones(2)))
    monkeypatch.setattr(adapter, "solve_statics", lambda *x: replace(pl.solve_statics(*x), success=False))
    assert np.all(np.isnan(np.array(adapter.static_map(system, "arm.tip")([3.0, 1.0]))))


def test_inverse_statics(system):
    p, u = adapter.static_map(system, "arm.tip"), casadi.MX.sym("u", 2)
    solver = ipopt(u, casadi.sumsqr(u), 10 * p(u)[1:])
    found = solver(x0=[1.0, 1.0], lbx=0, ubx=30, lbg=[0.2, -0.5], ubg=[0.2, -0.5])
    assert solver.stats()["success"]
    rest = pl.solve_statics(system, np.array(found["x"])[:, 0])
    np.testing.assert_allclose(system.pose("arm.tip", rest.q)[1:3, 3], [0.02, -0.05], atol=1e-7)


@compiled_only
def test_nothing_is_compiled_for_arrays_of_other_kinds(system):
    q, v = state(system)
    x, u = np.concatenate([q, v]), np.ones(2)
    pl.rollout(system, u, step=0.01, duration=0.01).maps()
    system.jacobian("arm.tip", q)
    with nothing_compiled():
        jacobians(adapter.step_map(system, step=0.01), casadi.DM(x).full()[:, 0], np.repeat(u, 2)[::2])
        jacobians(adapter.position_map(system, "arm.tip"), np.repeat(q, 2)[::2])


def test_refusals(system):
    with pytest.raises(ValueError, match=r"'floating' has coordinates that are no plain numbers .* 'base', 'ball'"):
        adapter.step_map(floating().compile(), step=0.01)
    robot = arm()
    robot.add_tendon("held", robot.link("arm"), z=-0.01, control="length")
    with pytest.raises(ValueError, match=r"has prescribed motion \('held'\), which is no function of a state"):
        adapter.step_map(robot.compile(), step=0.01)
    with pytest.raises(TypeError, match="option 'motion' is unknown here; there are method, tau"):
        adapter.step_map(system, step=0.01, motion={})
    with pytest.raises(ValueError, match="step"):
        adapter.step_map(system, step=-0.01)
    with pytest.raises(KeyError, match="tipp"):
        adapter.position_map(system, "arm.tipp")
