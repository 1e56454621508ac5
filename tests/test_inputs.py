"""Inputs that make a motion happen: trees, loops, redundant and missing actuators, bounds."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import minimize

import pliant as pl
from load_robots import state
from pliant.analysis.least_norm import least_norm
from pliant.solve.closure import close, consistent_velocity, constrained_acceleration
from robots import SILICONE, random_robot
from test_loops import looped


def five_bars(*driven: str, **options: object) -> pl.System:
    """A planar robot with two degrees of freedom and motors on some of its four hinges."""
    robot = pl.Robot("five bars")
    bar = {"joint": pl.Revolute("y", damping=0.01), "shape": pl.Box(0.3, 0.02, 0.02), "mass": 0.2, "com": (0.15, 0, 0)}
    left, right = robot.add_body("left", offset=(-0.1, 0, 0), **bar), robot.add_body("right", offset=(0.1, 0, 0), **bar)
    ends = [robot.add_body(f"{b.name} rod", parent=b.at((0.3, 0, 0)), **bar).at((0.3, 0, 0)) for b in (left, right)]
    robot.add_loop("pin", *ends, joint=pl.Revolute("y"))
    for name in driven:
        robot.add_motor(f"{name} motor", name, **options)
    return robot.compile()


def moving(system: pl.System, u: np.ndarray, seed: int = 1) -> tuple[np.ndarray, ...]:
    """A closed state of the five bars in motion, and its acceleration and multipliers under inputs."""
    q, gap = close(system, np.array([2.0, 1.0, -1.2, 1.2]))
    assert gap < 1e-12
    v = consistent_velocity(system, q, np.random.default_rng(seed).normal(size=4))
    return q, v, *constrained_acceleration(system, q, v, u, np.zeros(4), np.zeros(4))


def test_a_motor_for_each_degree_of_freedom():
    system = five_bars("left", "right")
    u = np.array([0.8, -0.5])
    q, v, a, forces = moving(system, u)
    found = pl.solve_inputs(system, q, v, a)
    assert found.success, found
    np.testing.assert_allclose(found.u, u, rtol=1e-12)
    np.testing.assert_allclose(found.multipliers, forces, atol=1e-12)
    assert np.abs(system.residual(q, v, a, found.u, multipliers=found.multipliers)).max() < 1e-13
    assert found.residual < 1e-13
    np.testing.assert_allclose(found.missing, 0, atol=1e-13)


def test_redundant_motors_share_with_the_least_norm():
    system = five_bars("left", "right", "left rod")
    u = np.array([0.8, -0.5, 0.3])
    q, v, a, _forces = moving(system, u)
    found = pl.solve_inputs(system, q, v, a)
    assert found.success
    again = constrained_acceleration(system, q, v, found.u, np.zeros(4), np.zeros(4))
    np.testing.assert_allclose(again[0], a, rtol=1e-11)
    np.testing.assert_allclose(again[1], found.multipliers, atol=1e-12)
    # independently: the equation of motion without loops, in a basis of the null space of G
    N = scipy.linalg.null_space(system.closure(q)[1], rcond=1e-9)
    A, b = N.T @ system.actuation_matrix(q), N.T @ system.residual(q, v, a)
    np.testing.assert_allclose(found.u, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-11)
    assert np.linalg.norm(found.u) < np.linalg.norm(u)
    # weighted: a motor that costs much does little
    w = np.array([1.0, 1.0, 5.0])
    dear = pl.solve_inputs(system, q, v, a, weights={"left rod motor": 5.0})
    np.testing.assert_allclose(dear.u, np.linalg.lstsq(A / w, b, rcond=None)[0] / w, rtol=1e-11)
    # some given, the others found
    part = pl.solve_inputs(system, q, v, a, inputs=["left motor", "right motor"], u={"left rod motor": 0.3})
    np.testing.assert_allclose(part.u, u, rtol=1e-11)


def test_what_no_motor_drives_is_reported():
    strong, weak = five_bars("left", "right"), five_bars("left")
    q, v, a, _forces = moving(strong, np.array([0.8, -0.5]))
    found = pl.solve_inputs(weak, q, v, a)
    assert not found.success
    assert found.residual > 0.1
    assert "lacks" in found.message
    assert "N m" in found.message
    r = weak.residual(q, v, a, found.u, found.missing, multipliers=found.multipliers)
    assert np.abs(r).max() < 1e-13  # with what is missing the motion happens
    better = pl.solve_inputs(weak, q, v, a, tau=found.missing)
    assert better.success


def test_motions_that_break_loops_are_refused():
    system = five_bars("left", "right")
    q, v, a, _forces = moving(system, np.array([0.8, -0.5]))
    for state_, words in (
        ((q + [0.01, 0, 0, 0], v, a), "'pin: position .' is .* m;"),
        ((q, v + [1.0, 0, 0, 0], a), "the rate of 'pin: position .' is .* m/s;"),
        ((q, v, a + [30.0, 0, 0, 0]), "the acceleration of 'pin: position .' is .* m/s²;"),
    ):
        found = pl.solve_inputs(system, *state_)
        assert not found.success
        assert re.search(words, found.message), found.message


def test_a_whole_motion():
    system = five_bars("left", "right", "right rod")
    start = pl.solve_statics(system, start=[2.0, 1.0, -1.2, 1.2])
    run = pl.simulate(
        system,
        0.5,
        start=start,
        u=lambda t: {"left motor": 0.3 * np.sin(9 * t), "right motor": -0.2 * t},
        step=1e-3,
        output=0.05,
    )
    found = pl.solve_inputs(system, run.q, run.v, run.a, inputs=["left motor", "right motor"])
    assert found.success, found
    assert found.u.shape == run.u.shape
    np.testing.assert_allclose(found.u, run.u, atol=1e-7)
    np.testing.assert_allclose(found.multipliers, run.multipliers, atol=1e-7 * np.abs(run.multipliers).max())
    all_three = pl.solve_inputs(system, run.q, run.v, run.a)
    assert np.all(np.linalg.norm(all_three.u, axis=1) <= np.linalg.norm(found.u, axis=1) + 1e-12)
    W = system.joint_wrench("left", run.q, run.v, run.a, found.u, multipliers=found.multipliers)
    np.testing.assert_allclose(W[:, 1], found.u[:, 0] - 0.01 * run.v[:, 0], atol=1e-9)  # the motor and the damper


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_with_motors_everywhere(seed):
    robot = random_robot(seed)
    for link in list(robot.links):
        for k in range(link.joint.nv):
            robot.add_motor(f"{link.name} motor {k}", link, dof=k)
    if not any(link.joint.nv for link in robot.links):
        pytest.skip("no joints")
    system = robot.compile()
    q, v, _a = state(system, seed)
    u = np.random.default_rng(seed).normal(size=system.nu)
    a = system.forward_dynamics(q, v, u=u)
    found = pl.solve_inputs(system, q, v, a)
    assert found.success, found
    np.testing.assert_allclose(found.u, u, rtol=0, atol=1e-7 * np.abs(system.inverse_dynamics(q, v, a)).max())


@pytest.mark.parametrize("joint", ["revolute", "spherical", "planar"])
def test_random_closed_robots(joint):
    """With all joints driven there are too many motors: they share, and the forces of loops follow."""
    robot = looped(joint).robot
    for name in ("hub", "twig", "hand", "tool"):
        for k in range(robot.link(name).joint.nv):
            robot.add_motor(f"{name} motor {k}", name, dof=k)
    system = robot.compile()
    rng = np.random.default_rng(0)
    q, gap = close(system, state(system, 0)[0])
    if gap > 1e-10:
        pytest.skip("the loops do not close from here")
    v = consistent_velocity(system, q, rng.normal(size=system.nv))
    u = rng.normal(size=system.nu)
    a, _forces = constrained_acceleration(system, q, v, u, np.zeros(system.nv), np.zeros(system.nv))
    found = pl.solve_inputs(system, q, v, a)
    assert found.success, found
    assert np.linalg.norm(found.u) <= np.linalg.norm(u) * (1 + 1e-9)
    size = np.abs(system.inverse_dynamics(q, v, a)).max()
    assert np.abs(system.residual(q, v, a, found.u, multipliers=found.multipliers)).max() < 1e-9 * size


# ---------------------------------------------------------------- bounds


def tendon_arm(strains: pl.Strains) -> pl.System:
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    arm = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=strains)
    for k in range(4):
        angle = np.pi * k / 2
        robot.add_tendon(f"cable{k}", arm, y=0.012 * np.cos(angle), z=0.012 * np.sin(angle))
    return robot.compile()


def test_cables_only_pull():
    """Four cables bend an arm of constant curvature in two directions: at most two of them need to pull."""
    system = tendon_arm(pl.Strains(bending=0))
    rest = pl.solve_statics(system, {"cable0": 3.0, "cable1": 5.0, "cable2": 1.0, "cable3": 2.0})
    found = pl.solve_inputs(system, rest.q)
    assert found.success, found
    assert np.all(found.u >= 0)
    np.testing.assert_allclose(found.u, [2, 3, 0, 0], atol=1e-7)  # the pulls against each other are left out
    again = pl.solve_statics(system, found.u)
    np.testing.assert_allclose(again.q, rest.q, atol=1e-9)


def test_pushing_is_refused_and_said():
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    arm = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains(bending_z=0)
    )  # fmt: skip
    robot.add_tendon("cable", arm, y=0.012)
    system = robot.compile()
    pulled = pl.solve_statics(system, {"cable": 3.0})
    found = pl.solve_inputs(system, -pulled.q)
    assert not found.success
    assert found.u == [0.0]
    assert "at their bounds: 'cable'" in found.message


def test_elastic_cables_by_newtons_method():
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    arm = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains(bending_z=0)
    )  # fmt: skip
    robot.add_tendon("cord", arm, y=0.012, control="elastic", stiffness=500.0)
    system = robot.compile()
    rest = pl.solve_statics(system, {"cord": 0.01})
    found = pl.solve_inputs(system, rest.q, u={"cord": 0.02})
    assert found.success, found
    assert found.u[0] == pytest.approx(0.01, rel=1e-8)


def test_prescribed_joints():
    robot = pl.Robot("cart")
    cart = robot.add_body("cart", joint=pl.Prismatic("x"), mass=2.0, shape=pl.Box(0.2, 0.1, 0.1))
    robot.add_body(
        "pole", parent=cart, joint=pl.Revolute("y"), mass=0.3, com=(0, 0, 0.25), shape=pl.Box(0.02, 0.02, 0.5)
    )
    robot.add_motion("push", cart)
    robot.add_motor("hinge", "pole")
    system = robot.compile()
    q, v, a = np.array([0.1, 0.4]), np.array([0.5, -1.0]), np.array([2.0, 0.7])
    found = pl.solve_inputs(system, q, v, a)
    assert found.success, found
    tau = system.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(found.prescribed_forces["push"], tau[:1], rtol=1e-13)
    np.testing.assert_allclose(found.u, tau[1:], rtol=1e-12)
    many = pl.solve_inputs(system, np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.tile(a, (3, 1)))
    assert many.prescribed_forces["push"].shape == (3, 1)


def test_least_norm_within_bounds():
    """Against a general program for such problems."""
    rng = np.random.default_rng(0)
    for trial in range(60):
        m, n = rng.integers(1, 6), rng.integers(1, 8)
        rank = rng.integers(1, min(m, n) + 1)
        A = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
        lower, upper = np.zeros(n), np.full(n, 1.0 if trial % 2 else np.inf)
        inside = np.minimum(np.abs(rng.normal(size=n)), upper) * (rng.random(n) < 0.6)
        b = A @ inside if trial % 3 else rng.normal(size=m)
        x = least_norm(A, b, lower, upper)
        assert np.all((x >= lower) & (x <= upper))
        slope = A.T @ (A @ x - b)  # optimal: no descent within the bounds
        slope[(x == lower) & (slope > 0)] = 0.0
        slope[(x == upper) & (slope < 0)] = 0.0
        assert np.abs(slope).max() < 1e-9 * max(1.0, np.abs(A.T @ b).max())
        if trial % 3:
            np.testing.assert_allclose(A @ x, b, atol=1e-9)
        other = minimize(
            lambda y: 0.5 * y @ y,
            x,
            jac=lambda y: y,
            bounds=list(zip(lower, upper)),
            constraints={"type": "eq", "fun": lambda y, A=A, x=x: A @ (y - x), "jac": lambda y, A=A: A},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert np.linalg.norm(x) < np.linalg.norm(other.x) + 1e-6


def test_slips_are_explained():
    system = five_bars("left")
    q = system.neutral()
    with pytest.raises(KeyError, match="no input named 'left moter'"):
        pl.solve_inputs(system, q, inputs=["left moter"])
    with pytest.raises(KeyError, match="no input named 'motor'"):
        pl.solve_inputs(system, q, weights={"motor": 2.0})
    with pytest.raises(ValueError, match=r"weights\['left motor'\]"):
        pl.solve_inputs(system, q, weights={"left motor": 0.0})
    with pytest.raises(ValueError, match="v has 2 rows, but q has 3"):
        pl.solve_inputs(system, np.tile(q, (3, 1)), np.zeros((2, 4)))
    with pytest.raises(TypeError, match="solve_inputs needs a System"):
        pl.solve_inputs(system.robot, q)
