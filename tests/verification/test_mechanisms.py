"""Mechanisms with closed loops, against closed forms, conservation laws and each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pliant as pl
from pliant.solve.closure import close, consistent_velocity, constrained_acceleration, redundant_constraints

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.7, 0.5, 0.6  # a crank that turns all the way round
GRAVITY = np.array([0.0, 0.0, -9.81])


def bar(length: float) -> dict:
    """A slender bar of 1 kg/m along x."""
    return {"mass": length, "com": (length / 2, 0, 0), "inertia": (1e-4, length**3 / 12, length**3 / 12)}


@cache
def four_bar(prescribed: bool = False) -> pl.System:
    robot = pl.Robot("four-bar", gravity=GRAVITY)
    crank = robot.add_body("crank", joint=pl.Revolute("y"), **bar(CRANK))
    coupler = robot.add_body("coupler", parent=crank, offset=(CRANK, 0, 0), joint=pl.Revolute("y"), **bar(COUPLER))
    rocker = robot.add_body("rocker", offset=(GROUND, 0, 0), joint=pl.Revolute("y"), **bar(ROCKER))
    robot.add_loop("pin", coupler.at((COUPLER, 0, 0)), rocker.at((ROCKER, 0, 0)), joint=pl.Revolute("y"))
    if prescribed:
        robot.add_motion("drive", crank)
    return robot.compile()


@cache
def slider_crank(prescribed: bool = True) -> pl.System:
    robot = pl.Robot("slider-crank", gravity=GRAVITY)
    crank = robot.add_body("crank", joint=pl.Revolute("y"), **bar(CRANK))
    rod = robot.add_body("rod", parent=crank, offset=(CRANK, 0, 0), joint=pl.Revolute("y"), **bar(COUPLER))
    slider = robot.add_body("slider", joint=pl.Prismatic("x"), mass=0.4, inertia=(1e-3, 1e-3, 1e-3))
    robot.add_loop("wrist", rod.at((COUPLER, 0, 0)), slider, joint=pl.Revolute("y"))
    if prescribed:
        robot.add_motion("drive", crank)
    return robot.compile()


def four_bar_angles(t: np.ndarray) -> np.ndarray:
    """Absolute angles (in the x-z plane, upwards) of coupler and rocker over the crank's, by the law of cosines."""
    tip = CRANK * np.exp(1j * t)
    d = GROUND - tip
    inner = np.arccos((COUPLER**2 + np.abs(d) ** 2 - ROCKER**2) / (2 * COUPLER * np.abs(d)))
    coupler = np.angle(d) + inner
    return np.array([coupler, np.angle(tip + COUPLER * np.exp(1j * coupler) - GROUND)])


def slider_crank_state(t: np.ndarray) -> np.ndarray:
    """Absolute angle of the connecting rod and position of the slider."""
    rod = -np.arcsin(CRANK * np.sin(t) / COUPLER)
    return np.array([rod, CRANK * np.cos(t) + COUPLER * np.cos(rod)])


SPEED = 2 * np.pi


def derivative(f, t: np.ndarray, order: int) -> np.ndarray:
    """Derivatives over the crank angle by sixth-order differences."""
    h = 5e-3
    weights = {1: np.array([-1, 9, -45, 0, 45, -9, 1]) / 60, 2: np.array([2, -27, 270, -490, 270, -27, 2]) / 180}[order]
    return sum(w * f(t + k * h) for k, w in zip(range(-3, 4), weights)) / h**order


def energy_rate(masses, t: np.ndarray) -> np.ndarray:
    """dE/dt of bodies (mass, inertia, angle, centre as functions of the crank angle) at constant speed."""

    def energy(x: np.ndarray) -> np.ndarray:
        total = 0.0
        for mass, inertia, angle, centre in masses:
            speed = SPEED * derivative(centre, x, 1)
            spin = SPEED * derivative(angle, x, 1)
            total = total + 0.5 * mass * np.abs(speed) ** 2 + 0.5 * inertia * spin**2 + 9.81 * mass * centre(x).imag
        return total

    return SPEED * derivative(energy, t, 1)


@cache
def turned(name: str) -> pl.Result:
    """One turn of the crank at constant speed; rotation about y turns x towards −z."""
    system = {"four-bar": four_bar, "slider-crank": slider_crank}[name](True)
    if name == "four-bar":
        coupler, rocker = four_bar_angles(np.array(0.0))
        start = np.array([0.0, -coupler, -rocker])
    else:
        start = np.array([0.0, 0.0, CRANK + COUPLER])
    motion = {"drive": pl.Motion(lambda t: -SPEED * t, lambda t: -SPEED, lambda t: 0.0)}
    return pl.simulate(system, 1.0, start=start + [0, 0.01, 0.01], motion=motion, step=1e-3)


# ---------------------------------------------------------------- closed forms


def test_four_bar_positions_and_velocities():
    run = turned("four-bar")
    assert run.success, run.message
    t = SPEED * run.t
    exact = four_bar_angles(t)
    q, v = -run.q, -run.v
    q[:, 1] += q[:, 0]
    v[:, 1] += v[:, 0]
    np.testing.assert_allclose(np.exp(1j * q[:, 1:].T), np.exp(1j * exact), atol=1e-10)
    rates = SPEED * derivative(lambda x: np.unwrap(four_bar_angles(x)), t, 1)
    np.testing.assert_allclose(v[:, 1:].T, rates, atol=2e-3)  # order 2 in the step
    v = np.array(
        [consistent_velocity(run.system, a, b) for a, b in zip(run.q, run.v)]
    )  # given ω, positions fix the rest
    v[:, 1] += v[:, 0]
    np.testing.assert_allclose(-v[:, 1:].T, rates, atol=1e-7)


def test_slider_crank_positions_and_velocities():
    run = turned("slider-crank")
    assert run.success, run.message
    t = SPEED * run.t
    rod, x = slider_crank_state(t)
    np.testing.assert_allclose(-(run.q[:, 0] + run.q[:, 1]), rod, atol=1e-10)
    np.testing.assert_allclose(run.q[:, 2], x, atol=1e-10)
    rates = SPEED * derivative(slider_crank_state, t, 1)
    np.testing.assert_allclose(run.v[:, 2], rates[1], atol=2e-3)
    v = np.array([consistent_velocity(run.system, a, b) for a, b in zip(run.q, run.v)])
    np.testing.assert_allclose(v[:, 2], rates[1], atol=1e-7)


def test_four_bar_torque_by_power():
    """The driving torque times the speed is the rate of the energy."""

    def angles(k):
        return lambda x: np.unwrap(four_bar_angles(x)[k])

    def tip(x):
        return CRANK * np.exp(1j * x)

    bodies = [
        (CRANK, CRANK**3 / 12, lambda x: x, lambda x: tip(x) / 2),
        (COUPLER, COUPLER**3 / 12, angles(0), lambda x: tip(x) + COUPLER / 2 * np.exp(1j * four_bar_angles(x)[0])),
        (ROCKER, ROCKER**3 / 12, angles(1), lambda x: GROUND + ROCKER / 2 * np.exp(1j * four_bar_angles(x)[1])),
    ]
    run = turned("four-bar")
    torque = -run.prescribed_forces()["drive"][:, 0]
    exact = energy_rate(bodies, SPEED * run.t) / SPEED
    late = run.t > 0.1  # before, multipliers have an error of order one that dies out
    np.testing.assert_allclose(torque[0], exact[0], atol=1e-8)
    np.testing.assert_allclose(torque[late], exact[late], atol=1e-4 * np.abs(exact).max())
    np.testing.assert_allclose(torque, exact, atol=0.05 * np.abs(exact).max())


def test_slider_crank_torque_by_power():
    def tip(x):
        return CRANK * np.exp(1j * x)

    bodies = [
        (CRANK, CRANK**3 / 12, lambda x: x, lambda x: tip(x) / 2),
        (
            COUPLER,
            COUPLER**3 / 12,
            lambda x: slider_crank_state(x)[0],
            lambda x: (tip(x) + slider_crank_state(x)[1]) / 2,
        ),
        (0.4, 0.0, lambda x: 0 * x, lambda x: slider_crank_state(x)[1] + 0j),
    ]
    run = turned("slider-crank")
    torque = -run.prescribed_forces()["drive"][:, 0]
    exact = energy_rate(bodies, SPEED * run.t) / SPEED
    late = run.t > 0.1  # before, multipliers have an error of order one that dies out
    np.testing.assert_allclose(torque[0], exact[0], atol=1e-8)
    np.testing.assert_allclose(torque[late], exact[late], atol=1e-4 * np.abs(exact).max())
    np.testing.assert_allclose(torque, exact, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize("angle", np.radians([20, 75, 140, 200, 300]))
def test_static_torque_by_virtual_work(angle):
    system = four_bar(True)
    coupler, rocker = four_bar_angles(np.array(angle))
    rest = pl.solve_statics(system, motion={"drive": -angle}, start=[-angle, angle - coupler, -rocker])
    assert rest.success, rest.message
    zero = np.zeros(system.nv)
    torque = -system.residual(rest.q, zero, zero, multipliers=rest.multipliers)[0]

    def potential(x):
        a, b = four_bar_angles(x)
        crank = CRANK**2 / 2 * np.sin(x)
        return 9.81 * (crank + COUPLER * (CRANK * np.sin(x) + COUPLER / 2 * np.sin(a)) + ROCKER**2 / 2 * np.sin(b))

    np.testing.assert_allclose(torque, derivative(potential, np.array(angle), 1), atol=1e-9)


# ---------------------------------------------------------------- motion


def free_start() -> np.ndarray:
    coupler, rocker = four_bar_angles(np.array(0.4))
    return np.array([-0.4, 0.4 - coupler, -rocker])


@cache
def reference() -> pl.Result:
    return pl.simulate(four_bar(), 0.5, start=free_start(), method="dop853", rtol=1e-10, atol=1e-11, output=0.1)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_energy_of_the_undamped_four_bar(method):
    tight = {"dop853": 1e-9, "radau": 1e-7}[method]
    run = pl.simulate(four_bar(), 0.3, start=free_start(), method=method, rtol=tight, atol=0.1 * tight)
    total, kinetic = run.energies().total, run.energies().kinetic
    assert run.success, run.message
    assert np.ptp(total) < 1e-5 * np.ptp(kinetic)
    assert max(np.abs(run.system.closure(q)[0]).max() for q in run.q) < 1e-7


def test_energy_with_the_alpha_method_falls_with_the_step():
    drift = []
    for step in (4e-3, 2e-3, 1e-3):
        run = pl.simulate(four_bar(), 1.0, start=free_start(), step=step, rho=1.0)
        assert run.success, run.message
        drift.append(np.ptp(run.energies().total) / np.ptp(run.energies().kinetic))
    assert drift[-1] < 1e-3
    assert drift[0] / drift[1] > 3
    assert drift[1] / drift[2] > 3


@pytest.mark.parametrize("rho", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("project", [False, True])
def test_alpha_method_has_order_two(rho, project):
    errors = []
    for step in (5e-3, 2.5e-3, 1.25e-3):
        run = pl.simulate(four_bar(), 0.5, start=free_start(), step=step, rho=rho, project_velocity=project)
        errors.append((np.abs(run.q[-1] - reference().q[-1]).max(), np.abs(run.v[-1] - reference().v[-1]).max()))
    order = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(order > 1.7), order


def test_multipliers_converge():
    last = reference()
    zero = np.zeros(last.system.nv)
    exact = constrained_acceleration(last.system, last.q[-1], last.v[-1], np.zeros(0), zero, zero)[1]
    np.testing.assert_allclose(last.multipliers[-1], exact, atol=1e-6 * np.abs(exact).max())
    gaps = [
        np.abs(pl.simulate(four_bar(), 0.5, start=free_start(), step=h).multipliers[-1] - exact).max()
        for h in (2e-3, 1e-3)
    ]
    assert gaps[1] < 0.02 * np.abs(exact).max()
    assert gaps[1] < 0.7 * gaps[0]


@pytest.mark.parametrize("options", [{}, {"step": 0.01}, {"step": 0.01, "method": "newmark", "project_velocity": True}])
def test_every_step_is_closed(options):
    run = pl.simulate(four_bar(), 1.0, start=free_start(), **options)
    assert run.success, run.message
    assert max(np.abs(run.system.closure(q)[0]).max() for q in run.q) < 1e-10
    if "project_velocity" in options:
        assert max(np.abs(run.system.closure(q)[1] @ v).max() for q, v in zip(run.q, run.v)) < 1e-10


# ---------------------------------------------------------------- redundant constraints, initial conditions


def test_redundant_constraints_have_names_and_do_no_harm():
    """A planar mechanism with a spatial joint has three constraints too many; a spherical pin has one, with the same motion."""
    system = four_bar()
    extra = redundant_constraints(system, free_start())
    assert len(extra) == 3
    assert {"pin: position y", "pin: tilt 1", "pin: tilt 2"} == set(extra)
    rest = pl.solve_statics(system, start=free_start())
    assert rest.success, rest.message
    assert all(name in rest.message for name in extra)
    robot = system.robot.copy()
    robot.loops.clear()
    robot.add_loop("ball", robot.link("coupler").at((COUPLER, 0, 0)), robot.link("rocker").at((ROCKER, 0, 0)), joint=pl.Spherical())  # fmt: skip
    ball = robot.compile()
    assert redundant_constraints(ball, free_start()) == ["ball: position y"]
    a, b = (pl.simulate(s, 0.3, start=free_start(), step=2e-3) for s in (system, ball))
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-8)


def test_consistent_initial_conditions():
    """A start that is a little open is closed, and its velocity is the nearest one that keeps it closed."""
    system = four_bar()
    run = pl.simulate(system, 0.01, start=free_start() + [0.01, -0.02, 0.03], velocity=[1.0, 2.0, -3.0], step=0.005)
    e, G = system.closure(run.q[0], run.v[0])
    assert np.abs(e).max() < 1e-12
    assert np.abs(G @ run.v[0]).max() < 1e-12
    assert np.linalg.norm(run.v[0]) > 0.1
    assert np.abs(G @ run.a[0] + system.closure_rates(run.q[0], run.v[0])[:, 1]).max() < 1e-9
    # orthogonal in kinetic energy to all motions that keep it closed
    M = system.mass_matrix(run.q[0])
    _u, s, V = np.linalg.svd(G)
    free = V[int(np.sum(s > 1e-9)) :]
    assert np.abs(free @ M @ (run.v[0] - [1.0, 2.0, -3.0])).max() < 1e-10


# ---------------------------------------------------------------- every joint


def carried(joint: pl.Joint, *, free: bool = True) -> pl.System:
    """A body that hangs in the air (or on a tree joint) and is tied to the world by a loop joint away from its centre."""
    robot = pl.Robot("carried", gravity=(1.0, 2.0, -9.81))
    options = {"mass": 1.0, "com": (0.1, 0.05, -0.2), "inertia": (0.02, 0.03, 0.04)}
    if free:
        body = robot.add_body("body", joint=pl.Free(), **options)
        robot.add_loop("tie", "world", body, joint=joint)
    else:
        robot.add_body("body", joint=joint, **options)
    return robot.compile()


JOINTS = {
    "fixed": pl.Fixed(),
    "revolute": pl.Revolute((1, 2, 3)),
    "prismatic": pl.Prismatic((1, -2, 1)),
    "helical": pl.Helical((0, 1, 2), pitch=0.2),
    "cylindrical": pl.Cylindrical((2, 1, 0)),
    "planar": pl.Planar((1, 1, 1)),
    "spherical": pl.Spherical(),
    "universal": pl.Universal("x", "y"),
}


@pytest.mark.parametrize("name", JOINTS)
def test_a_free_body_on_a_loop_joint_moves_as_on_that_joint(name):
    """The same body on the joint in the tree and on a Free joint with the loop: equal motion and, for "fixed", none."""
    loop = carried(JOINTS[name])
    assert len(loop.loop_rows) == 6 - JOINTS[name].nv
    run = pl.simulate(loop, 0.3, step=1e-3)
    assert run.success, run.message
    assert max(np.abs(loop.closure(q)[0]).max() for q in run.q) < 1e-10
    pose = np.eye(4)
    if JOINTS[name].nv:
        tree = carried(JOINTS[name], free=False)
        pose = tree.pose("body", pl.simulate(tree, 0.3, method="dop853", rtol=1e-9, atol=1e-10).q[-1])
    np.testing.assert_allclose(loop.pose("body", run.q[-1]), pose, atol=2e-5)
    if name == "fixed":  # the loop carries the weight
        wrench = loop.loop_wrench("tie", run.q[-1], run.multipliers[-1], axes="world")
        np.testing.assert_allclose(wrench[3:], [-1, -2, 9.81], atol=1e-8)
        np.testing.assert_allclose(wrench[:3], np.cross([0.1, 0.05, -0.2], [-1, -2, 9.81]), atol=1e-8)


def test_ground_loops_in_both_orders():
    """The world as frame b if left out, or as frame a: the same motion, opposite reactions."""
    robot = pl.Robot("swing")
    body = robot.add_body("body", joint=pl.Free(), mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.02, 0.03))
    other = robot.copy()
    robot.add_loop("hinge", body, joint=pl.Revolute("y"))
    other.add_loop("hinge", "world", body, joint=pl.Revolute("y"))
    first, second = robot.compile(), other.compile()
    a, b = (pl.simulate(s, 0.3, step=2e-3) for s in (first, second))
    np.testing.assert_allclose(first.pose("body", a.q[-1]), second.pose("body", b.q[-1]), atol=1e-8)
    wrenches = [s.loop_wrench("hinge", x.q[-1], x.multipliers[-1], axes="world") for s, x in ((first, a), (second, b))]
    np.testing.assert_allclose(wrenches[0], -wrenches[1], atol=1e-6 * np.abs(wrenches[0]).max())
    # the pendulum's reaction: m (centre's acceleration − gravity)
    angle, rate = np.arctan2(-first.pose("body", a.q[-1])[2, 0], first.pose("body", a.q[-1])[0, 0]), a.v[-1, 1]
    inertia = 0.02 + 0.3**2
    np.testing.assert_allclose(0.5 * inertia * rate**2, 9.81 * 0.3 * np.sin(angle), rtol=1e-4)
    turn = 9.81 * 0.3 * np.cos(angle) / inertia
    radial, tangent = np.array([np.cos(angle), 0, -np.sin(angle)]), np.array([-np.sin(angle), 0, -np.cos(angle)])
    force = 0.3 * (turn * tangent - rate**2 * radial) - GRAVITY
    np.testing.assert_allclose(-wrenches[0][3:], force, atol=1e-4 * np.linalg.norm(force))


# ---------------------------------------------------------------- rods and the ground


def arch(gravity: float = 9.81) -> tuple[pl.Robot, pl.Link]:
    robot = pl.Robot("arch", gravity=(0, 0, -gravity))
    rubber = pl.Material(young=2e6, poisson=0.5, density=1000, viscosity=1e4)
    rod = robot.add_rod("rod", length=0.5, section=pl.Circle(0.01), material=rubber, strains=pl.Strains.kirchhoff(4))
    return robot, rod


def test_guided_beam():
    """A stiff rod under its own weight, its tip guided by a plane: that carries half of it, and a moment of wL²/12."""
    robot = pl.Robot("prop", gravity=(0, 0, -1e-3))
    steel = pl.Material(young=2e9, poisson=0.3, density=1000)
    rod = robot.add_rod(
        "rod", length=1.0, section=pl.Circle(0.01), material=steel, strains=pl.Strains.planar_bending(3, axis="y")
    )
    robot.add_frame("prop", "world", offset=(1, 0, 0))
    robot.add_loop("support", "prop", rod.tip, joint=pl.Planar("z"))
    system = robot.compile()
    rest = pl.solve_statics(system)
    assert rest.success, rest.message
    wrench = system.loop_wrench("support", rest.q, rest.multipliers, axes="world")
    weight = 1000 * np.pi * 1e-4 * 1e-3
    np.testing.assert_allclose(wrench[5], weight / 2, rtol=1e-4)
    np.testing.assert_allclose(abs(wrench[1]), weight / 12, rtol=1e-4)


def test_a_frame_inside_a_rod_can_be_held():
    robot, rod = arch()
    robot.add_frame("nail", "world", offset=(0.3, 0.02, 0.05))
    robot.add_loop("held", "nail", rod.at(0.63), joint=pl.Spherical())
    system = robot.compile()
    rest = pl.solve_statics(system)
    assert rest.success, rest.message
    np.testing.assert_allclose(system.pose("rod@0.63", rest.q)[:3, 3], [0.3, 0.02, 0.05], atol=1e-12)
    assert np.abs(rest.multipliers).max() > 0
    run = pl.simulate(system, 0.5, start=rest)
    assert np.abs(run.positions("rod.tip") - run.positions("rod.tip")[0]).max() < 1e-6  # it stays at rest


def test_ring_by_a_fixed_loop():
    """A rod whose tip is brought to its base is a circle, if it is not heavy."""
    robot, rod = arch(gravity=0.0)
    robot.add_loop("weld", "world", rod.tip)
    system = robot.compile()
    q = system.neutral()
    q[system.dof_names.index("rod.bending_y[0]")] = 10.0  # 5 rad over the length
    rest = pl.solve_statics(system, start=q, stable=False)
    assert rest.success, rest.message
    kappa = system.strain("rod", rest.q, np.linspace(0, 1, 9))[:, :3]
    np.testing.assert_allclose(kappa, np.tile([0, 4 * np.pi, 0], (9, 1)), atol=1e-7)


# ---------------------------------------------------------------- errors


def test_a_loop_that_cannot_be_closed_says_so():
    robot = pl.Robot("short")
    arm = robot.add_body("arm", joint=pl.Revolute("y"), **bar(0.3))
    robot.add_frame("hook", "world", offset=(1.0, 0, 0))
    robot.add_loop("far", "hook", arm.at((0.3, 0, 0)), joint=pl.Spherical())
    system = robot.compile()
    with pytest.raises(ValueError, match=r"'far: position x' stays 0\.7 apart"):
        pl.simulate(system, 0.1)
    rest = pl.solve_statics(system)
    assert not rest.success
    assert "far: position" in rest.message
    assert "0.7" in rest.message


def test_misuse_is_explained():
    robot = pl.Robot("misuse")
    body = robot.add_body("body", joint=pl.Revolute("y"), **bar(0.3))
    with pytest.raises(TypeError, match=r"'loop'.*constrains nothing"):
        robot.add_loop("loop", body, joint=pl.Free())
    with pytest.raises(ValueError, match="two different places"):
        robot.add_loop("loop", body, body.at((0.1, 0, 0)))
    with pytest.raises(ValueError, match="two different places"):
        robot.add_loop("loop", "world", "world")
    with pytest.raises(TypeError, match="must be a joint"):
        robot.add_loop("loop", body, joint="revolute")
    assert not robot.loops
    robot.add_loop("loop", body)
    with pytest.raises(ValueError, match="taken already"):
        robot.add_loop("loop", body)


def test_close_moves_only_free_coordinates():
    system = four_bar(True)
    q, gap = close(system, free_start() + [0.0, 0.1, -0.1])
    assert gap < 1e-12
    assert q[0] == free_start()[0]
