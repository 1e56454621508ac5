"""The rigid–soft underactuated plants: equilibria by energies alone, regulators on the nonlinear model, and one optimum on three ways."""

import numpy as np
import pytest

import pliant as pl
from pliant import gallery

PLANTS = {
    "soft_cart_pole": (11, 1, 1),
    "soft_pendubot": (20, 2, 10),
    "soft_furuta": (20, 1, 10),
}  # dof, unstable motions, passive joint


@pytest.fixture(scope="module", params=PLANTS)
def plant(request):
    example = gallery.load(request.param)
    system = example.plant()
    return example, system, example.upright(system), PLANTS[request.param]


def potential(system, q):
    return system.gravitational_energy(q) + system.elastic_energy(q)


def test_upright_is_a_saddle_of_the_energy(plant):
    """Slopes vanish, and as many curvatures are negative as there are unstable motions; by differences of energies."""
    _example, system, rest, (dof, unstable, _joint) = plant
    assert rest.success
    assert system.nv == dof
    h = 1e-3 * system.internal.scale
    E = np.diag(h)
    centre = potential(system, rest.q)
    up = np.array([potential(system, rest.q + e) for e in E])
    down = np.array([potential(system, rest.q - e) for e in E])
    H = np.diag((up - 2 * centre + down) / h**2)
    for i in range(dof):
        for j in range(i):
            both = potential(system, rest.q + E[i] + E[j]) + potential(system, rest.q - E[i] - E[j])
            H[i, j] = H[j, i] = (both - up[i] - down[i] - up[j] - down[j] + 2 * centre) / (2 * h[i] * h[j])
    S = np.diag(system.internal.scale)
    curvatures = np.linalg.eigvalsh(S @ H @ S)
    assert (curvatures < -1e-3).sum() == unstable
    assert np.abs((up - down) / (2 * h) * system.internal.scale).max() < 1e-5 * curvatures.max()
    poles = np.linalg.eigvals(pl.linearize(system, rest).A)
    assert (poles.real > 1e-3).sum() == unstable


def test_regulator_on_the_nonlinear_model(plant):
    """From 0.1 rad it comes back; without it falls."""
    example, system, rest, (_dof, _unstable, joint) = plant
    law = example.regulator(system, rest)
    ends = []
    for control in (law, lambda t, state: np.zeros(1)):
        start = rest.q.copy()
        start[joint] += 0.1
        sim = pl.Stepper(system, start, step=example.PERIOD, substeps=2)
        for _ in range(round(1.5 / example.PERIOD)):
            sim.step(control(sim.t, sim.state))
        ends.append(abs(sim.q[joint] - rest.q[joint]))
    assert ends[0] < 0.03
    assert ends[1] > 0.5


def test_one_optimum_on_three_ways():
    """The soft pole is caught from 0.2 rad within a bound: Crocoddyl and Ipopt agree to 1e-6 of the bound."""
    example = gallery.load("soft_cart_pole")
    system = example.plant()
    rest = example.upright(system)
    start = rest.q.copy()
    start[1] += 0.2
    x = pl.costs.stack(pl.costs.Coordinates(["cart", "hinge"]), pl.costs.Rates(["cart", "hinge"]))
    cost = [(x - (0.0, np.pi, 0.0, 0.0)).near(at="end", weight=10.0), pl.Effort(0.1)]
    task = {"bounds": (-4.0, 4.0), "horizon": 0.5, "knots": 25, "start": start, "tolerance": 1e-8}
    plan = pl.optimize(system, cost, **{**task, "tolerance": 1e-10})
    assert plan.success
    assert np.abs(plan.u).max() == 4.0
    assert np.abs(plan.u).min() < 4.0
    pytest.importorskip("casadi")
    other = pl.optimize(system, cost, **task, method="collocation", iterations=500)
    assert other.success, other.message
    assert other.cost == pytest.approx(plan.cost, rel=1e-8)
    np.testing.assert_allclose(other.u, plan.u, atol=4e-6)
    crocoddyl = pytest.importorskip("crocoddyl")
    import pliant.crocoddyl

    problem = pliant.crocoddyl.shooting_problem(plan.problem)
    solver = crocoddyl.SolverBoxDDP(problem)
    solver.th_stop = 1e-14
    us = [np.zeros(1)] * 25
    solver.solve(problem.rollout(us), us, 300, True)
    assert solver.cost == pytest.approx(plan.cost, rel=1e-8)
    np.testing.assert_allclose(np.array(list(solver.us)), plan.u, atol=4e-6)
