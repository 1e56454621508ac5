"""Optimal control: against the exact solution of linear problems, against gradients of rollouts, with bounds and constraints, on robots of every kind."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import pliant as pl
from pliant import costs, gallery
from pliant.gradients.repeated import Repeated
from pliant.gradients.rollout import plan_of


def cart(**options):
    """A cart on springs with a motor: linear."""
    robot = pl.Robot("cart", gravity=(0, 0, 0))
    robot.add_body("cart", joint=pl.Prismatic("x", stiffness=3.0, damping=0.2), shape=pl.Box(0.1, 0.1, 0.1), mass=2.0)
    robot.add_motor("motor", "cart")
    robot.add_body(
        "mass", joint=pl.Prismatic("x", stiffness=40.0), parent="cart", shape=pl.Box(0.1, 0.1, 0.1), mass=0.5
    )
    return robot.compile(**options)


def arm(strains=3):
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(strains)
    )
    for k, (y, z) in enumerate([(0.0, 0.012), (0.010, -0.006), (-0.010, -0.006)]):
        robot.add_tendon(f"cable{k}", rod, y=y, z=z)
    return robot.compile()


def projected(plan, cost):
    """The largest projected derivative by the adjoint of the rollout, relative to the largest where the iteration began."""
    g = plan.rollout.gradient(cost).u
    low, high = plan.problem.lower, plan.problem.upper
    held = ((plan.u <= low) & (g > 0)) | ((plan.u >= high) & (g < 0))
    begin = plan.problem.rollout(plan.problem.clipped(np.zeros_like(plan.u))).gradient(cost).u
    return np.abs(np.where(held, 0.0, g)).max() / np.abs(begin).max()


COST = [pl.Reach("arm.tip", (0.36, 0.05, 0.08), 100.0), pl.Still("arm.tip"), pl.Effort(1e-4)]


@pytest.fixture(scope="module")
def soft():
    system = arm()
    return system, pl.solve_statics(system)


# ---------------------------------------------------------------- linear problems


def quadratic(plan, cost):
    """The Hessian and gradient of the cost by all inputs at zero inputs, from products and gradients of the rollout: exact for linear robots."""
    run = plan.problem.rollout(np.zeros_like(plan.u), 1e-13)
    n = plan.u.size
    H = np.array([run.gauss_newton(cost, e.reshape(plan.u.shape)).ravel() for e in np.eye(n)])
    return H, run.gradient(cost).u.ravel()


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("smooth", [0.0, 0.05], ids=["plain", "smooth"])
def test_linear_robots_have_the_solution_of_the_normal_equations(steps, smooth):
    system = cart()
    cost = (
        pl.Reach("mass", (0.3, 0, 0), 20.0)
        + pl.Still(weight=2.0)
        + 0.3 * costs.Position("cart").near((0.1, 0, 0))
        + pl.Effort(0.01)
    )
    if smooth:
        cost = cost + pl.Smooth(smooth)
    plan = pl.optimize(system, cost, horizon=1.2, knots=15, steps=steps, velocity=[0.3, -0.2], tolerance=1e-12)
    H, g = quadratic(plan, cost)
    exact = -np.linalg.solve(H, g).reshape(plan.u.shape)
    np.testing.assert_allclose(plan.u, exact, atol=1e-9 * np.abs(exact).max())
    assert plan.status == "converged"
    assert plan.iterations <= 3


def test_gains_are_those_of_the_discrete_riccati_equation():
    """Far from the end of a long horizon the feedback is that of the infinite one."""
    from scipy.linalg import solve_discrete_are

    system = cart()
    q = costs.stack(costs.Coordinates(), costs.Rates())
    plan = pl.optimize(system, q.near(at="all") + pl.Effort(0.1), horizon=20.0, knots=400, start=[0.2, -0.1])
    A, B = (x[0] for x in plan.rollout.maps())
    h = 0.05
    # rows are judged at the ends of steps: the cost of a step is that of its end
    Q, R = h * np.eye(4), 0.1 * h * np.eye(1)
    P = solve_discrete_are(A, B, Q, R)
    K = -np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    np.testing.assert_allclose(plan.gains[20], K, rtol=1e-6)


def test_bounds_are_kept_and_the_problem_with_bounds_is_solved():
    system = cart()
    cost = pl.Reach("mass", (0.3, 0, 0), 20.0) + pl.Still(weight=2.0) + pl.Effort(0.01)
    plan = pl.optimize(system, cost, horizon=1.2, knots=15, bounds={"motor": (-1.5, 2.0)}, tolerance=1e-11)
    assert plan.status == "converged"
    assert plan.u.max() == 2.0
    assert plan.u.min() >= -1.5
    H, g = quadratic(plan, cost)
    from scipy.optimize import lsq_linear

    L = np.linalg.cholesky(H).T
    exact = lsq_linear(L, -np.linalg.solve(L.T, g), bounds=(-1.5, 2.0), tol=1e-15, method="bvls").x
    np.testing.assert_allclose(plan.u.ravel(), exact, atol=1e-9)


# ---------------------------------------------------------------- maps


def driven():
    """A soft arm on a joint that is prescribed, with cables: coordinates that are known among others."""
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = pl.Robot("driven arm")
    robot.add_body("base", joint=pl.Revolute("z"), shape=pl.Box(0.1, 0.1, 0.1), mass=0.5)
    robot.add_motion("turn", "base")
    rod = robot.add_rod(
        "arm", length=0.3, section=pl.Circle(0.015), material=silicone, parent="base", strains=pl.Strains.kirchhoff(2)
    )
    robot.add_tendon("cable", rod, y=0.005, z=0.012)
    return robot.compile()


@pytest.mark.parametrize("method", ["sdirk2", "sdirk3", "midpoint", "euler"])
@pytest.mark.parametrize("case", ["arm", "driven", "cart"])
def test_maps_in_one_call_are_those_direction_by_direction(case, method):
    """All directions at once, without charts, against one after the other through the general equations."""
    system = {"arm": arm, "driven": driven, "cart": cart}[case]()
    motion = {"turn": pl.Expression("0.3*sin(5*t)")} if case == "driven" else None
    U = np.random.default_rng(0).uniform(2, 8, size=(4, system.nu))
    run = pl.rollout(system, U, step=0.01, method=method, motion=motion, tolerance=1e-12)
    A, B = run.maps()
    nv, scale = system.nv, np.tile(system.internal.scale, 2)
    rng = np.random.default_rng(1)
    for _ in range(4):
        dq, dv = rng.normal(size=(2, nv)) * system.internal.scale
        du = rng.normal(size=U.shape)
        ahead = run.push(u=du, start=dq, velocity=dv)
        x = np.concatenate([np.where(system.known, 0.0, dq), np.where(system.known, 0.0, dv)])
        for k in range(4):
            x = A[k] @ x + B[k] @ du[k]
            there = np.concatenate([ahead.q[k + 1], ahead.v[k + 1]])
            np.testing.assert_allclose(x / scale, there / scale, atol=1e-10 * np.abs(there / scale).max())


# ---------------------------------------------------------------- soft robots


def test_a_soft_arm_reaches_and_its_gradient_vanishes(soft):
    system, rest = soft
    plan = pl.optimize(system, COST, bounds=(0, 20), horizon=0.5, knots=25, start=rest, tolerance=1e-7)
    assert plan.success
    assert np.any(plan.u == 0.0)
    assert plan.u.min() >= 0.0
    assert projected(plan, COST) < 1e-6
    assert np.linalg.norm(plan.rollout.positions("arm.tip")[-1] - (0.36, 0.05, 0.08)) < 5e-3
    # another start of the iteration, the same optimum
    other = pl.optimize(
        system, COST, bounds=(0, 20), horizon=0.5, knots=25, start=rest, guess=[5.0, 5.0, 5.0], tolerance=1e-7
    )
    assert other.cost == pytest.approx(plan.cost, rel=1e-8)
    np.testing.assert_allclose(other.u, plan.u, atol=0.01)


def test_warm_starts_and_determinism(soft):
    system, rest = soft
    options = {"bounds": (0, 20), "horizon": 0.5, "knots": 25}
    first = pl.optimize(system, COST, start=rest, **options)
    again = pl.optimize(system, COST, start=rest, **options)
    np.testing.assert_array_equal(first.u, again.u)
    warm = pl.optimize(system, COST, start=first, **options)
    assert warm.iterations <= 2
    assert warm.cost == pytest.approx(first.cost, rel=1e-8)
    later = first.shifted(2)
    np.testing.assert_array_equal(later.u[:-2], first.u[2:])
    np.testing.assert_array_equal(later.problem.q, first.rollout.q[2])
    assert later.problem.t0 == pytest.approx(0.04)
    moved = pl.optimize(system, COST, start=later, **options)
    np.testing.assert_array_equal(moved.rollout.q[0], first.rollout.q[2])
    assert moved.rollout.t[0] == pytest.approx(0.04)


def test_two_threads_find_the_same(soft):
    system, rest = soft
    found = {}

    def work(k):
        found[k] = pl.optimize(system, COST, bounds=(0, 20), horizon=0.3, knots=15, start=rest).u

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("case", ["arm", "driven", "cart", "floating"])
def test_maps_are_the_same_to_the_bit_for_any_number_of_threads(case):
    """Robots whose maps come all at once, and those direction by direction; also what feedback is guessed from."""
    system = {"arm": arm, "driven": driven, "cart": cart, "floating": floating}[case]()
    motion = {"turn": pl.Expression("0.3*sin(5*t)")} if case == "driven" else None
    U = np.random.default_rng(0).uniform(2, 8, size=(26, system.nu)) * (0.01 if case == "floating" else 1.0)
    plan = plan_of(system, U, step=0.01, motion=motion)
    found = []
    for threads in (1, 2, 3, 50):
        steps = Repeated(plan, threads=threads)
        steps.set_inputs(U)
        for _ in range(2):  # memories are used again
            assert steps.roll()
            steps.keep()
        lever = steps.memory.lever
        found.append([x.copy() for x in (steps.maps, lever.answers, lever.stored[:-1], lever.swaps[:-1])])
    assert found[0][0].any()
    for others in found[1:]:
        for x, y in zip(found[0], others):
            np.testing.assert_array_equal(x, y)


def test_the_number_of_threads_makes_no_difference_to_a_plan(soft):
    system, rest = soft
    options = {"bounds": (0, 20), "horizon": 0.5, "knots": 25, "start": rest}
    one, two, all_of_them = (pl.optimize(system, COST, threads=n, **options) for n in (1, 2, None))
    for other in (two, all_of_them):
        np.testing.assert_array_equal(one.u, other.u)
        np.testing.assert_array_equal(one.gains, other.gains)
        assert one.costs.tolist() == other.costs.tolist()


def test_a_step_without_maps_is_named_whichever_thread_finds_it(soft):
    system, rest = soft
    steps = Repeated(plan_of(system, np.full((40, 3), 5.0), step=0.01, start=rest.q), threads=3)
    assert steps.roll()
    steps.memory.record.q[31] = np.nan
    with pytest.raises(ArithmeticError, match=r"step 32 of the motion, at t = 0.31 s"):
        steps.keep()


def test_smooth_inputs_and_several_steps(soft):
    system, rest = soft
    cost = [*COST, pl.Smooth(2e-6)]
    plan = pl.optimize(system, cost, bounds=(0, 20), horizon=0.4, knots=10, steps=2, start=rest, tolerance=1e-7)
    rough = pl.optimize(system, COST, bounds=(0, 20), horizon=0.4, knots=10, steps=2, start=rest)
    assert plan.success
    assert projected(plan, cost) < 1e-6
    assert np.abs(np.diff(plan.u, axis=0)).max() < 0.9 * np.abs(np.diff(rough.u, axis=0)).max()
    assert len(plan.rollout) == 20


def test_penalties_of_every_kind(soft):
    system, rest = soft
    tip = costs.Position("arm.tip")
    cost = [
        (tip - (0.36, 0.05, 0.08)).near(penalty=costs.Norm(0.02), at="end", weight=10.0),
        tip[1].below(0.03, weight=50.0, at=[0.2, 0.24]),
        (tip - (0.36, 0.05, 0.08)).norm(1e-3).mean(weight=0.1),
        costs.Velocity("arm.tip").near(penalty=costs.Huber(0.2), weight=0.1),
        (-1.0 * tip[0]).soft_max(30.0, weight=1e-3),
        pl.Effort(1e-4),
    ]
    plan = pl.optimize(system, cost, bounds=(0, 20), horizon=0.4, knots=20, start=rest, iterations=400)
    assert plan.success, plan
    assert projected(plan, cost) < 1e-5


def test_an_unstable_robot_is_swung_up_and_its_plan_starts_again():
    """A cart with a pole: the feedback of the plan holds what inputs alone would lose."""
    robot = pl.Robot("cart with a pole")
    robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Box(0.2, 0.1, 0.1), mass=1.0)
    robot.add_motor("force", "cart")
    robot.add_body(
        "pole", joint=pl.Revolute("y", damping=1e-3), parent="cart", shape=pl.Box(0.5, 0.02, 0.02), mass=0.2, com=(0.25, 0, 0),
        offset=pl.rotate("y", np.pi / 2),
    )  # fmt: skip
    system = robot.compile()
    away = costs.stack(costs.Coordinates(), costs.Rates()) - np.array([0.0, np.pi, 0.0, 0.0])
    cost = [away.near(at="end", weight=[100.0, 1000.0, 3.0, 3.0]), pl.Effort(1e-2), away.near(weight=0.1)]
    options = {"horizon": 4.0, "knots": 100, "bounds": (-15, 15)}
    plan = pl.optimize(system, cost, iterations=60, **options)
    np.testing.assert_allclose(plan.rollout.q[-1], [0.0, np.pi], atol=0.01)
    np.testing.assert_allclose(plan.rollout.v[-1], [0.0, 0.0], atol=0.05)
    again = pl.optimize(system, cost, iterations=1, start=plan, **options)
    assert again.costs[0] == pytest.approx(plan.cost, rel=1e-6)
    assert again.cost <= plan.cost * (1 + 1e-9)
    pushed = plan.follow([0.0, 0.02])
    assert abs(pushed.q[-1, 1] - np.pi) < 0.05


# ---------------------------------------------------------------- constraints


def test_constraints_at_the_end_and_along_the_path(soft):
    system, rest = soft
    tip = costs.Position("arm.tip")
    goal = (0.37, 0.04, 0.06)
    cost = [pl.Effort(1e-3)]
    reach = pl.Constraint(tip, goal, goal, at="end")
    free = pl.optimize(system, cost, bounds=(0, 20), horizon=0.5, knots=25, start=rest, constraints=reach)
    assert free.success, free
    np.testing.assert_allclose(free.rollout.positions("arm.tip")[-1], goal, atol=2e-6)
    path = free.rollout.positions("arm.tip")
    assert path[:, 1].max() > 0.06
    walls = pl.optimize(
        system, cost, bounds=(0, 20), horizon=0.5, knots=25, start=rest, constraints=[reach, tip[1] <= 0.055, tip[0] <= 0.38], guess=free.u,
    )  # fmt: skip
    assert walls.success, walls
    path = walls.rollout.positions("arm.tip")
    np.testing.assert_allclose(path[-1], goal, atol=2e-6)
    np.testing.assert_allclose(path.max(axis=0)[:2], (0.38, 0.055), atol=2e-6)
    assert walls.cost > free.cost


def test_constraints_that_cannot_be_met_are_said(soft):
    system, rest = soft
    plan = pl.optimize(
        system, [pl.Effort(1e-3)], bounds=(0, 20), horizon=0.2, knots=10, start=rest, constraints=costs.Position("arm.tip")[0] >= 0.6,
        iterations=60,
    )  # fmt: skip
    assert not plan.success
    assert plan.status in ("infeasible", "iterations")
    assert plan.violation > 0.1
    assert plan.warnings


# ---------------------------------------------------------------- other robots


def checked(plan, cost, tolerance=1e-5):
    assert plan.success, plan
    assert projected(plan, cost) < tolerance, projected(plan, cost)


def test_loops():
    example = gallery.load("hybrid_parallel_robot")
    system = example.build()
    rest = pl.solve_statics(system)
    place = system.pose("platform", rest.q)[:3, 3]
    cost = [costs.Position("platform").near(place + (0.002, 0.001, 0.0), weight=1e4, at="end"), pl.Effort(1.0)]
    plan = pl.optimize(system, cost, horizon=0.05, knots=5, start=rest)
    checked(plan, cost)
    assert np.abs(system.closure(plan.rollout.q[-1])[0]).max() < 1e-9


def floating():
    """A body in space with three wheels."""
    robot = pl.Robot("swimmer", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.05), mass=1.0)
    for k, axis in enumerate("xyz"):
        robot.add_body(
            f"wheel{k}",
            joint=pl.Revolute(axis),
            parent=body,
            shape=pl.Cylinder(0.05, 0.02),
            mass=0.5,
            offset=(0.1, 0, 0),
        )
        robot.add_motor(f"motor{k}", f"wheel{k}")
    return robot.compile()


def test_a_floating_base():
    system = floating()
    cost = [pl.Align("body", pl.rotate("y", 0.4) @ pl.rotate("z", 0.3), 10.0), pl.Still("body", 0.1), pl.Effort(10.0)]
    plan = pl.optimize(system, cost, horizon=1.0, knots=20, bounds=(-0.03, 0.03))
    checked(plan, cost)
    turned = (
        costs.Orientation("body", pl.rotate("y", 0.4) @ pl.rotate("z", 0.3)).evaluate(plan.rollout.states).value[-1]
    )
    assert np.linalg.norm(turned) < 0.1


def test_contact_and_internal_variables():
    """A marble that is pushed over a floor with friction that sticks: states that loads remember."""
    robot = pl.Robot("marble")
    marble = robot.add_body("marble", joint=pl.Planar("y"), shape=pl.Sphere(0.02), mass=0.1)
    robot.add_motor("push", "marble")
    robot.add_obstacle("floor", pl.HalfSpace(), pose=(0, 0, -0.0199))
    robot.add_contact("rolling", marble, "floor", stiffness=1e4, friction=0.4, stiction=1e3, damping=1.0)
    system = robot.compile()
    assert system.nz > 0
    cost = [pl.Reach("marble", (0.05, 0, 0.0), 100.0), pl.Still(weight=0.1), pl.Effort(1e-2)]
    plan = pl.optimize(system, cost, horizon=0.4, knots=20, steps=2, bounds=(-2, 2), iterations=300, tolerance=1e-7)
    checked(plan, cost)


def test_a_free_start(soft):
    system, rest = soft
    cost = [
        pl.Reach("arm.tip", (0.38, 0.03, 0.03), 100.0),
        costs.Coordinates().near(rest.q, at="start", weight=0.01),
        costs.Rates().near(at="start", weight=0.01),
        pl.Effort(1e-4),
    ]
    plan = pl.optimize(
        system, cost, bounds=(0, 20), horizon=0.2, knots=10, start=rest, free=["start", "velocity"], tolerance=1e-7
    )
    assert plan.success, plan
    g = plan.rollout.gradient(cost)
    size = np.abs(plan.problem.q - rest.q).max()
    assert size > 1e-3
    assert np.abs(g.start).max() < 1e-6
    assert np.abs(g.velocity).max() < 1e-6
    held = pl.optimize(system, cost, bounds=(0, 20), horizon=0.2, knots=10, start=rest)
    assert plan.cost < held.cost


def test_parameters_are_optimised_too(soft):
    system, rest = soft
    cost = [*COST, pl.Effort(1e-4)]
    wanted = {"arm.young": (0.5e6, 2e6)}
    options = {"bounds": (0, 20), "horizon": 0.3, "knots": 15, "start": rest}
    plain = pl.optimize(system, cost, **options)
    plan = pl.optimize(system, cost, parameters=wanted, **options)
    assert plan.success, plan
    assert plan.cost < 0.999 * plain.cost
    g = plan.rollout.gradient(cost)
    for name, (low, high) in wanted.items():
        value = plan.parameters[name]
        assert plan.system.parameters[name] == pytest.approx(value)
        slope = g[name] * (high - low)
        at_bound = (value <= low * (1 + 1e-9) and slope > 0) or (value >= high * (1 - 1e-9) and slope < 0)
        assert at_bound or abs(slope) < 1e-3 * plan.cost
    with pytest.raises(KeyError, match=r"arm\.young"):
        pl.optimize(system, cost, parameters={"arm.yuong": (1.0, 2.0)}, **options)
    with pytest.raises(ValueError, match="between them"):
        pl.optimize(system, cost, parameters={"arm.young": (1.0, 2.0)}, **options)


def test_the_plan_is_checked_with_the_error_controlled_solver(soft):
    system, rest = soft
    coarse = pl.optimize(system, COST, bounds=(0, 20), horizon=0.5, knots=25, start=rest)
    fine = pl.optimize(system, COST, bounds=(0, 20), horizon=0.5, knots=25, steps=4, start=rest)
    assert fine.error("arm.tip") < 0.3 * coarse.error("arm.tip")
    assert coarse.error("arm.tip") < 5e-3
    assert not fine.simulate().warnings
    rough = pl.optimize(system, COST, bounds=(0, 20), horizon=0.5, knots=5, start=rest)
    assert any("coarse" in text for text in rough.simulate().warnings)


def test_following_a_plan_with_its_feedback(soft):
    """From another start the feedback brings the arm nearer than the inputs alone; the motion has exact gradients."""
    system, rest = soft
    plan = pl.optimize(system, COST, bounds=(0, 20), horizon=0.5, knots=25, start=rest)
    same = plan.follow()
    np.testing.assert_allclose(same.q, plan.rollout.q, atol=1e-7)
    np.testing.assert_allclose(same.U, plan.u, atol=1e-5)
    other = rest.q + 0.3
    fed, alone = plan.follow(other), pl.rollout(system, plan.u, step=0.02, start=other)
    goal = (0.36, 0.05, 0.08)
    off, off_alone = (np.linalg.norm(run.positions("arm.tip")[-1] - goal) for run in (fed, alone))
    assert off < 0.5 * off_alone
    assert fed.U.min() >= 0.0
    open_again = pl.rollout(system, fed.U, step=0.02, start=other)
    np.testing.assert_allclose(open_again.q, fed.q, atol=1e-7)
    a, b = fed.gradient(COST), open_again.gradient(COST)
    np.testing.assert_allclose(a.u, b.u, atol=1e-6 * np.abs(b.u).max())
    for x, y in zip(fed.maps(), open_again.maps()):
        np.testing.assert_allclose(x, y, atol=1e-6 * np.abs(y).max())
    pushed = plan.follow(tau=np.full(system.nv, 1e-3))
    assert np.abs(pushed.q[-1] - plan.rollout.q[-1]).max() > 1e-6


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"knots": 0}, ValueError, "knots"),
        ({"horizon": -1.0}, ValueError, "horizon"),
        ({"steps": 0}, ValueError, "steps"),
        ({"bounds": (5, 1)}, ValueError, "leave nothing"),
        ({"bounds": {"cabel0": (0, 1)}}, KeyError, "cable0"),
        ({"bounds": 3.0}, ValueError, "pair"),
        ({"bounds": (-3, -1)}, ValueError, "leave nothing"),
        ({"guess": np.zeros((3, 3))}, ValueError, "guess"),
        ({"free": "end"}, ValueError, "free"),
        ({"constraints": [pl.Effort()]}, TypeError, "Constraint"),
        ({"method": "magic"}, ValueError, "ddp"),
        ({"integrator": "rk4"}, ValueError, "integrator"),
        ({"tolerance": 0.0}, ValueError, "tolerance"),
        ({"threads": 0}, ValueError, "threads"),
        ({"threads": 1.5}, TypeError, "threads"),
    ],
)
def test_bad_input(soft, options, error, words):
    system, rest = soft
    with pytest.raises(error, match=words):
        pl.optimize(system, COST, **{"horizon": 0.2, "knots": 10, "start": rest, **options})


def test_costs_without_terms_and_constraints_without_bounds(soft):
    system, rest = soft

    class Odd(costs.Cost):
        def evaluate(self, states, weights=None):
            raise NotImplementedError

    with pytest.raises(TypeError, match="terms"):
        pl.optimize(system, Odd(), horizon=0.2, knots=10, start=rest)
    with pytest.raises(ValueError, match="bound"):
        pl.Constraint(costs.Position("arm.tip"))
    with pytest.raises(ValueError, match="3"):
        pl.optimize(
            system,
            COST,
            horizon=0.2,
            knots=10,
            start=rest,
            constraints=pl.Constraint(costs.Position("arm.tip"), [0.1, 0.2]),
        )
    with pytest.raises(ValueError, match="rates"):
        pl.Constraint(costs.InputRates(), upper=1.0)


def test_steps_that_are_damped_much_do_not_pass_for_an_optimum(soft):
    """Far from it they promise next to nothing, those without damping much."""
    from pliant.control.optimal.ddp import Solver

    system, rest = soft
    plan = pl.optimize(system, COST, bounds=(0, 20), horizon=0.5, knots=25, start=rest, iterations=1)
    solver = Solver(plan.problem, plan.u)
    solver.begin()
    solver.damping = 1e14
    assert solver.backwards()
    gains = solver.K.copy()
    assert solver._promised() < 1e-9
    assert not any(solver._little_to_win(1e-6) for _ in range(3))
    assert solver._promised_undamped() > 1e-3
    np.testing.assert_array_equal(solver.K, gains)  # the sweep is as it was
    assert solver.damping == 1e14
