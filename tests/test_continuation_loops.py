"""Continuation with loops and prescribed joints: Euler, Greenhill and Kirchhoff rods between clamps, mechanisms, parallel robots."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ellipe, ellipk

import pliant as pl
from pliant.solve.path_loading import Driving, Loading, held_coordinate, prescribed_coordinate
from pliant.solve.path_problem import PathProblem, PathState
from pliant.solve.stability import free_directions

EI, GJ, EA, LENGTH = 2.0, 1.5, 1e7, 1.25  # N m², N m², N, m
TURN = 2 * np.pi


def reduced_stiffness(system, q, u, multipliers):
    """Stiffness on what loops leave free, with directions and forces that continuation has not made."""
    zero = np.zeros(system.nv)
    K = system.residual_tangent(q, zero, zero, u, multipliers=multipliers)
    Z = free_directions(system, system.closure(q)[1])
    return Z.T @ K @ Z, Z


def check_points(branch, *, statics=True, rtol=1e-7, every=1):
    """All points balance with closed loops; statics from there finds the same forces."""
    system, zero = branch.system, np.zeros(branch.system.nv)
    assert branch.residual.max() < 1e-10
    assert branch.multipliers.shape == (len(branch), len(system.loop_rows))
    for k in range(0, len(branch), every):
        q, u, tau, force = branch.q[k], branch.u[k], branch.tau[k], branch.multipliers[k]
        assert np.abs(system.closure(q)[0]).max(initial=0.0) < 1e-10
        r = system.residual(q, zero, zero, u, tau, multipliers=force)[~system.known]
        assert np.abs(r).max() < 1e-7 * max(1.0, np.abs(force).max(initial=0.0))
        if statics and branch.negative[k] == 0:
            there = pl.solve_statics(system, u, tau=tau, start=q, stable=False, tolerance=1e-12)
            assert there.success, there.message
            np.testing.assert_allclose(force, there.multipliers, rtol=0, atol=rtol * max(1.0, np.abs(force).max()))


# ------------------------------------------------------------ a rod between two clamps: [004] test 3


def clamped(order=8, points=40, strains=None):
    """A rod whose tip is held by a fixed loop in a clamp that slides along x and turns about it."""
    robot = pl.Robot("clamped", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=LENGTH,
        strains=strains or pl.Strains(torsion=1, bending=order, stretch=1, basis="chebyshev"),
        stiffness=(GJ, EI, EI, EA, EA, EA),
        inertia=[1e-3] * 3 + [1.0] * 3,
        points=points,
    )
    slide = robot.add_body("slide", offset=(LENGTH, 0, 0), joint=pl.Prismatic("x"))
    clamp = robot.add_body("clamp", parent=slide, joint=pl.Revolute("x"))
    robot.add_motion("push", slide)
    robot.add_motion("twist", clamp)
    robot.add_loop("grip", clamp, rod.tip)
    return robot.compile()


@pytest.fixture(scope="module")
def grip():
    return clamped()


def critical_force(moment):
    """Thrust (over EI/L²) that buckles a clamped rod under a moment (over EI/L): z'''' − i M z''' + P z'' = 0, z = z' = 0."""

    def determinant(P):
        k = moment / 2 + np.array([1, -1]) * np.sqrt(moment**2 / 4 + P)
        rows = [[[1, s, *np.exp(1j * k * s)], [0, 1, *(1j * k * np.exp(1j * k * s))]] for s in (-0.5, 0.5)]
        return float(np.linalg.det(np.concatenate(rows)).imag) / P

    P = np.linspace(1e-4, 60, 600)
    first = np.flatnonzero(np.diff(np.sign([determinant(p) for p in P])))[0]
    return brentq(determinant, P[first], P[first + 1], xtol=1e-12)


def test_a_clamped_rod_buckles_at_four_times_pi_squared(grip):
    branch = pl.trace_equilibria(grip, prescribed="push", stop=-100 * EI / LENGTH**2 / EA * LENGTH)
    assert branch.success
    first, second = branch.special("bifurcation")
    thrust = [-grip.loop_wrench("grip", p.q, p.multipliers)[3] * LENGTH**2 / EI for p in (first, second)]
    # the next mode is antisymmetric, tan(x) = x
    np.testing.assert_allclose(thrust, [4 * np.pi**2, 4 * 4.493409457909064**2], rtol=3e-4)
    assert abs(thrust[0] / (4 * np.pi**2) - 1) < 5e-5
    assert first.null.shape == (2, grip.nv)  # in any plane
    assert np.all(first.null[:, grip.known] == 0)
    np.testing.assert_array_equal(
        branch.negative, 2 * (branch.parameter < first.parameter) + 2 * (branch.parameter < second.parameter)
    )
    # the force that moves the clamp is that of the loop
    push = branch.prescribed_forces()["push"][:, 0]
    np.testing.assert_allclose(push, EA * branch.parameter / LENGTH, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(push, branch.loop_wrenches("grip", axes="world")[:, 3], atol=1e-9)
    check_points(branch)


def test_beyond_buckling_is_the_elastica():
    """A quarter of a clamped rod is a cantilever: distance 2E/K − 1, thrust (4K)² EI/L²."""
    system = clamped(strains=pl.Strains(bending_z=pl.Chebyshev(10), stretch=0))
    straight = pl.trace_equilibria(system, prescribed="push", stop=-50 * EI / LENGTH**2 / EA * LENGTH)
    bent = straight.switch()
    far = pl.trace_equilibria(system, prescribed="push", start=bent.equilibrium(-1), stop=-0.4 * LENGTH)
    assert far.success
    assert np.all(far.stable)
    shortening = -far.parameter[5:] / LENGTH
    m = np.array([brentq(lambda m, d=d: 2 - 2 * ellipe(m) / ellipk(m) - d, 1e-12, 0.9) for d in shortening])
    thrust = -far.prescribed_forces()["push"][5:, 0]
    np.testing.assert_allclose(thrust, (4 * ellipk(m)) ** 2 * EI / LENGTH**2, rtol=2e-4)
    check_points(far, every=10)


def test_a_clamped_rod_buckles_under_twist(grip):
    """Greenhill's problem between clamps: M L/EI = 2x with tan(x) = x, 8.9868."""
    branch = pl.trace_equilibria(grip, prescribed="twist", stop=15.0)
    assert branch.success
    (point,) = branch.special("bifurcation")
    assert abs(GJ * point.parameter / EI / (2 * 4.493409457909064) - 1) < 1e-4  # measured 5.2e-5, by 40 points
    np.testing.assert_allclose(branch.prescribed_forces()["twist"][:, 0], GJ * branch.parameter / LENGTH, rtol=1e-9)
    check_points(branch, every=5)


def test_a_twisted_rod_is_pushed_into_a_circle(grip):
    """Twisted by a turn, it buckles early, becomes a helix, then plane; when the clamps meet it is a circle without twist."""
    turned = pl.trace_equilibria(grip, prescribed="twist", stop=TURN, detect=False).equilibrium(-1)
    assert turned.stable
    thin = EI / LENGTH**2 / EA * LENGTH
    straight = pl.trace_equilibria(
        grip, prescribed="push", start=turned, stop=-1.2 * thin * critical_force(GJ * TURN / EI)
    )
    (point,) = straight.special("bifurcation")
    thrust = -grip.loop_wrench("grip", point.q, point.multipliers)[3] * LENGTH**2 / EI
    assert abs(thrust / critical_force(GJ * TURN / EI) - 1) < 2e-4
    bent = straight.switch(point, steps=8)
    helix = pl.trace_equilibria(
        grip, prescribed="push", start=bent.equilibrium(-1), stop=-LENGTH, max_step=0.5, steps=45
    )
    assert np.all(helix.stable)
    check_points(helix, every=10)
    flat = helix.special("bifurcation")[0]  # the mirror image comes to meet it: both are turns of 2π for the clamp
    plane = [helix.switch(flat, sign=s, stop=-LENGTH, max_step=0.5) for s in (1, -1)]
    circle = next(b for b in plane if b.success and b.parameter[-1] == -LENGTH)
    curvature = LENGTH * grip.strain("rod", circle.q[-1], 9)[:, :3]
    np.testing.assert_allclose(curvature[:, 0], 0, atol=1e-6)
    np.testing.assert_allclose(np.hypot(curvature[:, 1], curvature[:, 2]), TURN, rtol=1e-5)
    np.testing.assert_allclose(circle.loop_wrenches("grip")[-1, 3:], 0, atol=1e-5)
    check_points(circle, every=5)


def test_a_clamp_moved_by_a_pose_or_in_proportion():
    """A free joint that follows a function of λ, and numbers in proportion to λ, end where statics does."""
    robot = clamped(3, 16).robot
    free = pl.Robot("free clamp", gravity=(0, 0, 0))
    rod = robot.link("rod").content
    free.add_rod(
        "rod", length=LENGTH, strains=rod.strains, stiffness=(GJ, EI, EI, EA, EA, EA), inertia=[1.0] * 6, points=16
    )
    clamp = free.add_body("clamp", offset=(LENGTH, 0, 0), joint=pl.Free())
    free.add_motion("carry", clamp)
    free.add_loop("grip", clamp, "rod.tip")
    system = free.compile()

    def pose(x):
        return pl.translate(-0.2 * x, 0.3 * x, 0.1 * x * x) @ pl.rotate((1, 2, 3), x)

    branch = pl.trace_equilibria(system, lambda x: {"motion": {"carry": pose(x)}}, stop=1.0, tolerance=1e-13)
    assert branch.success, branch.message
    direct = pl.solve_statics(system, motion={"carry": pose(1.0)}, start=branch.q[-1])
    np.testing.assert_allclose(direct.q, branch.q[-1], atol=1e-9)
    np.testing.assert_allclose(direct.multipliers, branch.multipliers[-1], atol=1e-6)
    assert branch.prescribed_forces()["carry"].shape == (len(branch), 6)
    check_points(branch)

    system = robot.compile()
    load = {"motion": {"push": 1e-4, "twist": 2.0}}
    branch = pl.trace_equilibria(system, load, motion={"twist": 1.0}, stop=1.0)
    assert branch.success, branch.message
    slide, turn = system.q_slice("slide").start, system.q_slice("clamp").start
    np.testing.assert_allclose(branch.q[:, slide], 1e-4 * branch.parameter, rtol=1e-14)
    np.testing.assert_allclose(branch.q[:, turn], 1 + 2 * branch.parameter, rtol=1e-14)
    force = branch.prescribed_forces()
    np.testing.assert_allclose(force["push"][:, 0], EA * 1e-4 * branch.parameter / LENGTH, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(force["twist"][:, 0], GJ * (1 + 2 * branch.parameter) / LENGTH, rtol=1e-9)
    check_points(branch)


# ------------------------------------------------------------ mechanisms: spatial joints in a plane, redundant rows


def swing(cranks=2, prescribed=False, gravity=10.0):
    """A weight on parallel cranks, one with a spring: the moment on it is θ + 5 sin θ. Rows out of the plane are redundant.

    The third crank follows from two only where the loops are closed.
    """
    robot = pl.Robot("swing", gravity=(gravity, 0, 0))
    bars = [
        robot.add_body(
            f"crank{k}", offset=(0, 0.3 * k, 0), joint=pl.Revolute("z", stiffness=1.0 if k == 0 else 0.0), mass=0.1,
            com=(0, 0, 0), inertia=(1e-3,) * 3,
        )
        for k in range(cranks)
    ]  # fmt: skip
    beam = robot.add_body(
        "beam",
        parent=bars[0],
        offset=(0.5, 0, 0),
        joint=pl.Revolute("z"),
        mass=1.0,
        com=(0, 0.1, 0),
        inertia=(1e-3,) * 3,
    )
    for k, bar in enumerate(bars[1:], start=1):
        robot.add_loop(f"pin{k}", beam.at((0, 0.3 * k, 0)), bar.at((0.5, 0, 0)), joint=pl.Revolute("z"))
    robot.add_wrench("moment", bars[0], moment=(0, 0, 1.0), axes="body")
    if prescribed:
        robot.add_motion("turn", bars[0])
    return robot.compile()


@pytest.mark.parametrize("cranks", [2, 3])
def test_snap_through_of_a_planar_mechanism(cranks):
    system = swing(cranks)
    branch = pl.trace_equilibria(system, input="moment", stop=8.0)
    assert branch.success, branch.message
    turn = np.arccos(-1 / 5)
    angles = np.array([turn, 2 * np.pi - turn])
    limits = branch.special("limit")
    np.testing.assert_allclose([p.parameter for p in limits], angles + 5 * np.sin(angles), rtol=0, atol=1e-11)
    np.testing.assert_allclose([p.q[0] for p in limits], angles, atol=1e-9)
    np.testing.assert_allclose(branch.parameter, branch.q[:, 0] + 5 * np.sin(branch.q[:, 0]), atol=1e-8)
    np.testing.assert_array_equal(branch.stable, 1 + 5 * np.cos(branch.q[:, 0]) > 0)
    for q, force in zip(branch.q, branch.multipliers):
        extra = [system.loop_rows.index(name) for name in pl.redundant_constraints(system, q)]
        assert len(extra) == (3 if cranks == 2 else 7)
        assert np.all(force[extra] == 0)
    assert np.abs(branch.multipliers).max() > 1
    check_points(branch)


def test_a_mechanism_held_or_turned():
    """By hand the limit points are passed without turning back; the moment is in tau, or the force of the motion."""
    held = pl.trace_equilibria(swing(), coordinate="crank0.angle", stop=7.0)
    turned = pl.trace_equilibria(swing(prescribed=True), prescribed="turn", stop=7.0)
    by_coordinate = pl.trace_equilibria(swing(prescribed=True), coordinate="crank0.angle", stop=7.0)
    for branch, moment in (
        (held, held.tau[:, 0]),
        (turned, turned.prescribed_forces()["turn"][:, 0]),
        (by_coordinate, by_coordinate.prescribed_forces()["turn"][:, 0]),
    ):
        assert branch.success, branch.message
        assert [p.kind for p in branch.points] == ["end"]
        np.testing.assert_array_equal(branch.q[:, 0], branch.parameter)
        np.testing.assert_allclose(moment, branch.q[:, 0] + 5 * np.sin(branch.q[:, 0]), atol=1e-8)
        assert branch.equilibrium(-1).stable
        np.testing.assert_array_equal(branch.equilibrium(-1).multipliers, branch.multipliers[-1])


def test_the_weight_of_a_mechanism_as_parameter():
    """Upside down, a heavy swing with a spring leaves the upright at g m l = k."""
    branch = pl.trace_equilibria(swing(gravity=-1.0), gravity=True, stop=4.0, switch=True)
    (point,) = branch.special("bifurcation")
    assert abs(point.parameter - 2.0) < 1e-9  # k / (1 kg · 1 m/s² · 0.5 m)
    for side in branch.branches:
        theta = side.q[1:, 0]
        np.testing.assert_allclose(theta, 0.5 * side.parameter[1:] * np.sin(theta), atol=1e-8)
        assert np.all(side.stable)
        assert abs(theta[-1]) > 1.5


# ------------------------------------------------------------ parallel robots


def legs(motion=False, order=4):
    """Two legs that cannot stretch, on pivots at y = ±0.6, joined at (0.8, 0) by a pin: five rows, of which two count."""
    robot = pl.Robot("legs", gravity=(0, 0, 0))
    for k, side in ((1, 1.0), (2, -1.0)):
        leg = robot.add_rod(
            f"leg{k}",
            joint=pl.Revolute("z"),
            offset=pl.translate(0, 0.6 * side, 0) @ pl.rotate("z", -side * np.arcsin(0.6)),
            length=1.0,
            stiffness=[0.3] * 3 + [1.0] * 3,
            inertia=[1e-3] * 3 + [1.0] * 3,
            strains=pl.Strains.planar_bending(pl.Chebyshev(order)),
            points=5 * order,
        )
        if motion and k == 1:
            robot.add_motion("turn", leg)
        else:
            robot.add_motor(f"motor{k}", leg)
    robot.add_wrench("push", "leg1.tip", force=(-1, 0, 0))
    robot.add_loop("tip", "leg1.tip", "leg2.tip", joint=pl.Revolute("z"))
    return robot.compile()


def test_buckling_of_a_parallel_robot():
    """Pushed at its tip, both legs are pinned columns: F = 2 cos α π² EI/L², and each may buckle by itself."""
    system = legs(order=7)
    euler = 2 * 0.8 * np.pi**2 * 0.3
    branch = pl.trace_equilibria(system, input="push", stop=1.5 * euler)
    assert branch.success, branch.message
    (point,) = branch.special("bifurcation")
    assert abs(point.parameter / euler - 1) < 1e-5
    assert point.null.shape == (2, system.nv)
    S, _Z = reduced_stiffness(system, point.q, {"push": point.parameter}, point.multipliers)
    values = np.linalg.eigvalsh((S + S.T) / 2)
    assert np.abs(values[:2]).max() < 1e-9 * values[-1]
    assert values[2] > 1e-3 * values[-1]
    G = system.closure(point.q)[1]
    assert np.abs(G @ point.null.T).max() < 1e-12
    # both legs bow the same way: the tip sinks, and the robot gives way under less load
    for a, b in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -1.0)):
        bow = a * point.null[0] + b * point.null[1]
        side = branch.switch(point, direction=bow, amplitude=0.02, steps=12)
        assert len(side) == 13, side.message
        assert np.abs(side.q[-1]).max() > 0.1
        check_points(side, statics=False)


def test_snap_through_of_a_parallel_robot():
    """The torque on one foot rises to a limit point; it is where the foot, turned by hand, asks for the largest torque."""
    system = legs()
    branch = pl.trace_equilibria(system, input="motor1", u={"motor2": -0.6}, begin=0.6, stop=3.0)
    assert branch.success, branch.message
    point = branch.special("limit")[0]
    S, Z = reduced_stiffness(system, point.q, {"motor1": point.parameter, "motor2": -0.6}, point.multipliers)
    values, V = np.linalg.eigh((S + S.T) / 2)
    assert abs(values[0]) < 1e-8 * values[-1]
    assert values[1] > 1e-4 * values[-1]
    null = Z @ V[:, 0]
    assert abs(null @ point.null[0]) > (1 - 1e-8) * np.linalg.norm(null) * np.linalg.norm(point.null[0])
    check_points(branch)
    # by hand, in two ways: a held coordinate, and statics with a prescribed foot
    foot = system.dof_names.index("leg1.angle")
    before = branch.equilibrium(0)
    angle = point.q[foot]
    held = pl.trace_equilibria(system, coordinate="leg1.angle", u={"motor2": -0.6}, start=before, stop=1.2 * angle)
    assert held.success, held.message
    assert held.tau[:, foot].max() < point.parameter + 1e-9
    assert held.tau[:, foot].max() > point.parameter - 0.01
    turned = legs(motion=True)

    def torque(angle):
        rest = pl.solve_statics(turned, {"motor2": -0.6}, motion={"turn": angle}, start=point.q, stable=False)
        assert rest.success
        zero = np.zeros(turned.nv)
        return turned.residual(rest.q, zero, zero, rest.u, multipliers=rest.multipliers)[foot]

    top = minimize_scalar(
        lambda x: -torque(x), bounds=(0.95 * angle, 1.05 * angle), method="bounded", options={"xatol": 1e-7}
    )
    assert abs(-top.fun / point.parameter - 1) < 1e-9
    assert abs(top.x - angle) < 1e-5


# ------------------------------------------------------------ derivatives


@pytest.mark.parametrize("varies", ["prescribed", "held", "function", "free"])
def test_equations_have_exact_derivatives(varies):
    """Also where forces do not balance: Zᵀr, with Z turned along as little as possible, and the loops."""
    system = swing_with_rod()
    zero = np.zeros(system.nv)
    held = driven = load = None
    if varies == "prescribed":
        driven = prescribed_coordinate(system, "turn")
    elif varies == "held":
        held = held_coordinate(system, "rod.bending_z[0]")
    elif varies == "function":
        load = lambda x: {"motion": {"turn": np.sin(x)}, "gravity": 1 + x, "u": [0.3 * x]}  # noqa: E731
    else:
        load = {"u": [1.0], "gravity": 2.0}
    vary = Loading(system, load, None, False, np.ones(system.nu), zero, Driving(system, None, load, driven))
    problem = PathProblem(system, vary, held, 2.0)
    q, gap = pl.solve.closure.close(system, system.random(3, scale=0.2))
    assert gap < 1e-13
    start = q[held.q] if held else q[driven.q] if driven else 0.4
    state = problem.move(PathState(q, 0.2 if held else 0.0, start), np.zeros(system.nv + 1))
    state = state._replace(q=pl.solve.closure.close(system, state.q)[0]) if not held else state
    exact = problem.evaluate(state)
    part, kept, free = exact.split, exact.split.kept, problem.free
    assert part.gap < 1e-12
    assert 0 < kept.sum() < len(kept)
    along = free[: part.Z.shape[1]]
    J = np.column_stack([exact.A, exact.b])
    h = 1e-5
    for k in range(system.nv + 1):
        z = np.zeros(system.nv + 1)
        z[k] = 0.0 if k in np.flatnonzero(system.known) else h
        ends = [problem.evaluate(problem.move(state, s * z), kept) for s in (1, -1)]
        force = [p.split.Z @ p.r[along] for p in ends]
        numeric = part.Z.T @ (force[0] - force[1]) / (2 * h)
        scale = np.abs(J).max()
        expected = J[along, k] if np.any(z) else 0.0
        np.testing.assert_allclose(numeric, expected, rtol=0, atol=1e-8 * scale)
        opened = (ends[0].split.values - ends[1].split.values)[kept] / (2 * h)
        weight = exact.A[free[-1], free] @ part.across[:, -1]
        closing = part.R.T @ (J[free[part.Z.shape[1] :], k] / weight) if np.any(z) else 0.0
        np.testing.assert_allclose(opened, closing, rtol=0, atol=1e-8)
        np.testing.assert_allclose(problem.offset(state, problem.move(state, z)), z, atol=1e-14)


def swing_with_rod():
    """A prescribed crank, a soft coupler on it and a ball-jointed strut, joined by a spatial loop."""
    robot = pl.Robot("soft swing", gravity=(0, 0, -9.81))
    crank = robot.add_body("crank", joint=pl.Revolute("z"), mass=0.5, com=(0.1, 0, 0), inertia=(1e-3,) * 3)
    rod = robot.add_rod(
        "rod", parent=crank, offset=(0.2, 0, 0), length=0.5, section=pl.Circle(0.01),
        material=pl.Material(young=1e6, poisson=0.4, density=1000.0), strains=pl.Strains.kirchhoff_extensible(2),
    )  # fmt: skip
    strut = robot.add_body(
        "strut",
        offset=(0.3, 0.4, 0),
        joint=pl.Spherical(stiffness=(0.1,) * 3),
        mass=0.2,
        com=(0.1, 0, 0),
        inertia=(1e-3,) * 3,
    )
    ends = rod.tip, strut.at((0.3, -0.3, 0))
    robot.add_loop("ball", *ends, joint=pl.Spherical())
    robot.add_loop("again", *ends, joint=pl.Spherical())  # says the same
    robot.add_tendon("cable", rod, y=0.005)
    robot.add_motion("turn", crank)
    return robot.compile()


def test_a_held_coordinate_of_a_robot_with_loops():
    """The force of a coordinate that works through loops, against statics with that force."""
    system = swing_with_rod()
    branch = pl.trace_equilibria(
        system, coordinate="rod.bending_z[0]", u={"cable": 0.5}, motion={"turn": 0.3}, stop=2.0
    )
    assert branch.success, branch.message
    np.testing.assert_allclose(branch.q[:, 0], 0.3)
    check_points(branch)
    assert np.ptp(branch.tau[:, system.dof_names.index("rod.bending_z[0]")]) > 1e-3


# ------------------------------------------------------------ errors


def test_loops_that_do_not_close():
    robot = swing().robot
    robot.add_loop("far", robot.link("beam").at((5.0, 0, 0)), joint=pl.Spherical())
    branch = pl.trace_equilibria(robot.compile(), input="moment", stop=1.0)
    assert not branch.success
    assert len(branch) == 0
    assert "the loops could not be closed" in branch.message


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ValueError, "exactly one of load, input, gravity, coordinate, prescribed and parameter"),
        ({"prescribed": "push", "gravity": True}, ValueError, "2 were given"),
        ({"prescribed": "psh"}, KeyError, "did you mean 'push'"),
        ({"prescribed": "both"}, ValueError, "'pair.angle', 'pair.displacement' at once. Give coordinate="),
        ({"prescribed": "carry"}, ValueError, "free joint, which is no single number"),
        ({"prescribed": "push", "motion": 3.0}, TypeError, "dictionary by the name"),
        ({"prescribed": "push", "motion": {"bth": 1.0}}, KeyError, "did you mean 'both'"),
        ({"prescribed": "push", "motion": {"both": np.sin}}, TypeError, "no time along a branch"),
        ({"prescribed": "push", "motion": {"both": 1.0}}, ValueError, "2 finite number"),
        ({"load": lambda x: {"motion": {"push": x}}, "motion": {"push": 1.0}}, ValueError, "leave it out of one"),
        ({"load": lambda x: {"motion": {"puh": x}}}, KeyError, "did you mean 'push'"),
        ({"load": {"motion": {"carry": 1.0}}}, ValueError, "in proportion"),
        ({"load": {"motion": {"both": 1.0}}}, ValueError, "2 finite number"),
        ({"load": {"motion": {"bth": 1.0}}}, KeyError, "both"),
        ({"coordinate": "base.rx"}, ValueError, "spherical or free"),
    ],
)
def test_errors_teach(options, error, words):
    robot = pl.Robot("moved", gravity=(0, 0, 0))
    base = robot.add_body("base", joint=pl.Free(), mass=1.0)
    slide = robot.add_body("slide", parent=base, joint=pl.Prismatic("x"), mass=1.0)
    pair = robot.add_body("pair", parent=slide, joint=pl.Cylindrical("x"), mass=1.0)
    robot.add_motion("carry", base)
    robot.add_motion("push", slide)
    robot.add_motion("both", pair)
    system = robot.compile()
    if options.get("coordinate"):
        options = {"coordinate": system.dof_names[0]}
    with pytest.raises(error, match=words):
        pl.trace_equilibria(system, **options)


def test_tendons_of_prescribed_length_are_refused():
    robot = pl.Robot("arm")
    rod = robot.add_rod("arm", length=0.5, strains=pl.Strains(bending=1), stiffness=[1.0] * 6, inertia=[1.0] * 6)
    robot.add_tendon("a", rod, y=0.005, control="length")
    with pytest.raises(ValueError, match=r"tendons of prescribed length \('a'\)"):
        pl.trace_equilibria(robot.compile(), gravity=True)
