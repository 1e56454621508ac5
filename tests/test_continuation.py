"""Continuation against closed forms: Euler, elastica, self-buckling, snap-through, and against solve_statics."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import pliant as pl
from pliant.solve.branch import Branch, SpecialPoint
from pliant.solve.continuation import trace_equilibria
from pliant.solve.path_loading import Loading, held_coordinate
from pliant.solve.path_problem import PathProblem, PathState
from robots import cable_driven_manipulator

EI, LENGTH = 2.0, 1.5
EULER = np.pi**2 * EI / (4 * LENGTH**2)
K, REACH = 2.0, 0.4  # spring [N m/rad] and lever [m] of the rigid links


def column(strains=None, *, points=40, mass=0.0, gravity=(0, 0, 0), reference=(0, 0, 0, 1, 0, 0)):
    robot = pl.Robot("column", gravity=gravity)
    rod = robot.add_rod(
        "rod",
        length=LENGTH,
        strains=strains or pl.Strains.planar_bending(6),
        stiffness=(3.0, EI, EI, 1e4, 1e4, 1e4),
        inertia=(1e-3, 1e-3, 1e-3, mass, mass, mass),
        reference_strain=reference,
        points=points,
    )
    robot.add_wrench("push", rod.tip, force=(-1, 0, 0))
    return robot.compile()


def link(*, rest=0.0, eccentric=0.0):
    """A rigid link along x on a hinge about z with a spring, pushed at its end towards −x."""
    robot = pl.Robot("link", gravity=(0, 0, 0))
    bar = robot.add_body("bar", joint=pl.Revolute("z", stiffness=K, rest=rest), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot.add_wrench("push", bar, force=(-1, 0, 0), moment=(0, 0, -eccentric), offset=(REACH, eccentric, 0))
    return robot.compile()


def ball(stiffness, joint=pl.Spherical):
    robot = pl.Robot("ball", gravity=(0, 0, 0))
    bar = robot.add_body("bar", joint=joint(stiffness=stiffness), mass=1.0, com=(0, 0, REACH), inertia=(0.1, 0.1, 0.1))
    robot.add_wrench("push", bar, force=(0, 0, -1), offset=(0, 0, REACH))
    return robot.compile()


def kinds(branch):
    return [p.kind for p in branch.points]


@pytest.fixture(scope="module")
def euler():
    return trace_equilibria(column(), input="push", stop=1.5 * EULER)


# ------------------------------------------------------------ columns


def test_euler_load(euler):
    assert euler.success
    assert kinds(euler) == ["bifurcation", "end"]
    point = euler.points[0]
    assert abs(point.parameter / EULER - 1) < 2e-7  # measured 7.1e-8, all of it the rod's 40 points
    assert euler.parameter[point.index] < point.parameter < euler.parameter[point.index + 1]
    np.testing.assert_array_equal(euler.negative, np.where(euler.parameter < point.parameter, 0, 1))
    np.testing.assert_array_equal(euler.stable, euler.negative == 0)
    assert euler.parameter[-1] == 1.5 * EULER
    # the null vector is the mode of curvature cos(πX/2)
    X = np.linspace(0, 1, 9)
    shape = euler.system.strain("rod", point.null[0], X)[:, 2]
    np.testing.assert_allclose(shape / shape[0], np.cos(np.pi * X / 2), atol=5e-5)  # measured 1.8e-5


def test_euler_load_converges_with_the_points():
    """The rod's quadrature is of fourth order; the location adds nothing to its error."""
    errors = []
    for points in (12, 24):
        branch = trace_equilibria(column(pl.Strains.planar_bending(8), points=points), input="push", stop=1.5 * EULER)
        errors.append(branch.points[0].parameter / EULER - 1)
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.5


def test_location_is_as_exact_as_the_eigenvalue_problem(euler):
    """The stiffness of the straight column is K₀ − λ G: its critical load is a generalised eigenvalue."""
    system = euler.system
    zero = np.zeros(system.nv)
    K0, K1 = (system.residual_tangent(system.neutral(), zero, zero, {"push": p}) for p in (0.0, 1.0))
    critical = 1 / np.max(np.linalg.eigvals(np.linalg.solve(K0, K0 - K1)).real)
    assert abs(euler.points[0].parameter / critical - 1) < 1e-12


@pytest.mark.parametrize("sign", [1, -1])
def test_post_buckling_is_the_elastica(euler, sign):
    branch = euler.switch(sign=sign, stop=3 * EULER)
    assert branch.success
    assert kinds(branch) == ["end"]
    assert np.all(branch.stable[1:])
    poses = np.array([euler.system.pose("rod.tip", q) for q in branch.q])
    angle = np.arctan2(poses[:, 1, 0], poses[:, 0, 0])
    assert np.degrees(abs(angle[-1])) > 148
    assert np.all(np.diff(np.abs(angle)) > 0)
    m = np.sin(angle / 2) ** 2
    load = ellipk(m) ** 2 * EI / LENGTH**2
    np.testing.assert_allclose(branch.parameter, load, rtol=1e-6)  # measured 1.9e-7
    np.testing.assert_allclose(poses[:, 0, 3] / LENGTH, 2 * ellipe(m) / ellipk(m) - 1, atol=1e-6)
    np.testing.assert_allclose(np.abs(poses[:, 1, 3]) / LENGTH, 2 * np.sqrt(m) / ellipk(m), atol=1e-6)
    assert np.sign(poses[-1, 1, 3]) == sign


def test_column_that_may_buckle_in_two_planes():
    system = column(pl.Strains(bending=5), points=16)
    branch = trace_equilibria(system, input="push", stop=10 * EULER, switch=True)
    first, second = branch.special("bifurcation")
    assert first.null.shape == second.null.shape == (2, system.nv)
    assert abs(first.parameter / EULER - 1) < 1e-5
    assert abs(second.parameter / (9 * EULER) - 1) < 1e-3
    assert set(branch.negative) == {0, 2, 4}
    assert len(branch.branches) == 4
    for b in branch.branches:
        assert b.success
        assert kinds(b) == ["end"]  # turning about the load costs nothing and is not taken for a bifurcation
    # leave in a plane of one's own choice, at 30 degrees
    y, z = system.dof_names.index("rod.bending_y[0]"), system.dof_names.index("rod.bending_z[0]")
    direction = np.zeros(system.nv)
    direction[y], direction[z] = -np.sin(np.pi / 6), np.cos(np.pi / 6)
    own = branch.switch(first, direction=direction, stop=2 * EULER)
    tip = system.pose("rod.tip", own.q[-1])[:3, 3]
    m = brentq(lambda m: ellipk(m) ** 2 * EI / LENGTH**2 - 2 * EULER, 0.1, 0.99)
    assert abs(np.hypot(tip[1], tip[2]) / LENGTH - 2 * np.sqrt(m) / ellipk(m)) < 1e-4
    assert abs(np.degrees(np.arctan2(tip[2], tip[1])) - 30) < 1


def test_imperfect_column_passes_smoothly():
    """With an initial curvature a (π/2L)² cos(πX/2) the deflection is a/(1 − P/P_E) as long as it is small."""
    a = 1e-5 * LENGTH
    system = column(reference=lambda X: [0, 0, a * (np.pi / (2 * LENGTH)) ** 2 * np.cos(np.pi * X / 2), 1, 0, 0])
    branch = trace_equilibria(system, input="push", stop=1.3 * EULER)
    assert branch.success
    assert kinds(branch) == ["end"]
    assert np.all(branch.stable)
    tip = np.array([system.pose("rod.tip", q)[1, 3] for q in branch.q])
    small = branch.parameter < 0.95 * EULER
    assert small.sum() > 5
    np.testing.assert_allclose(tip[small], a / (1 - branch.parameter[small] / EULER), rtol=1e-5)
    assert tip[-1] / LENGTH > 0.7  # far beyond: it has followed the elastica
    final = system.pose("rod.tip", branch.q[-1])
    m = np.sin(np.arctan2(final[1, 0], final[0, 0]) / 2) ** 2
    assert abs(ellipk(m) ** 2 * EI / LENGTH**2 / branch.parameter[-1] - 1) < 1e-4


def test_column_under_its_own_weight():
    """Greenhill: a column buckles under its weight per metre w when w L³/EI = 9/4 j², J₋₁⸝₃(j) = 0."""
    mass = 0.3
    system = column(mass=mass, gravity=(-10.0, 0, 0))
    critical = 2.25 * 1.8663508876928417**2 * EI / LENGTH**3 / (mass * 10.0)
    branch = trace_equilibria(system, gravity=True, stop=1.5 * critical)
    assert kinds(branch) == ["bifurcation", "end"]
    assert abs(branch.points[0].parameter / critical - 1) < 1e-6
    np.testing.assert_array_equal(branch.gravity, branch.parameter)
    np.testing.assert_array_equal(system.gravity, [-10.0, 0, 0])


# ------------------------------------------------------------ links with closed forms


def pendulum():
    """A hanging weight on a sprung hinge, turned by a moment: λ = k θ + w sin θ."""
    robot = pl.Robot("pendulum", gravity=(10.0, 0, 0))
    bar = robot.add_body(
        "bar", joint=pl.Revolute("z", stiffness=1.0), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)
    )
    robot.add_wrench("moment", bar, moment=(0, 0, 1.0), axes="body")
    return robot.compile()


def test_snap_through():
    system = pendulum()
    branch = trace_equilibria(system, input="moment", stop=14.0)
    assert branch.success
    turn = np.arccos(-1 / 5.0)
    angles = np.array([turn, 2 * np.pi - turn, 2 * np.pi + turn, 4 * np.pi - turn])
    limits = branch.special("limit")
    assert kinds(branch) == ["limit"] * 4 + ["end"]
    # λ is stationary in the angle, which is known to the square root of rounding at best by λ, but not by its slope
    np.testing.assert_allclose([p.parameter for p in limits], angles + 5 * np.sin(angles), rtol=0, atol=1e-13)
    np.testing.assert_allclose([p.q[0] for p in limits], angles, rtol=0, atol=1e-10)
    np.testing.assert_allclose(branch.parameter, branch.q[:, 0] + 5 * np.sin(branch.q[:, 0]), atol=2e-9)
    np.testing.assert_array_equal(branch.stable, 1 + 5 * np.cos(branch.q[:, 0]) > 0)
    assert np.all(np.diff(branch.q[:, 0]) > 0)


def test_natural_steps_end_at_the_limit_point_and_say_so():
    branch = trace_equilibria(pendulum(), input="moment", stop=14.0, method="natural")
    top = np.arccos(-0.2) + 5 * np.sin(np.arccos(-0.2))
    assert not branch.success
    assert "limit point" in branch.message
    assert "arclength" in branch.message
    assert top - 1e-4 < branch.parameter[-1] < top
    assert np.all(branch.stable)
    below = trace_equilibria(pendulum(), input="moment", stop=0.9 * top, method="natural")
    assert below.success
    assert below.parameter[-1] == 0.9 * top
    np.testing.assert_allclose(below.parameter, below.q[:, 0] + 5 * np.sin(below.q[:, 0]), atol=2e-9)


def test_held_coordinate():
    """Turning the pendulum by hand needs no passing of limit points; the moment follows."""
    system = pendulum()
    branch = trace_equilibria(system, coordinate="bar.angle", stop=7.0)
    assert branch.success
    assert kinds(branch) == ["end"]
    assert np.all(branch.stable)
    np.testing.assert_array_equal(branch.q[:, 0], branch.parameter)
    np.testing.assert_allclose(branch.tau[:, 0], branch.q[:, 0] + 5 * np.sin(branch.q[:, 0]), atol=2e-9)
    e = branch.equilibrium(-1)
    assert np.abs(system.residual(e.q, [0.0], [0.0], e.u, e.tau)).max() < 1e-9


def test_held_coordinate_of_a_chain():
    """A bar on two sprung hinges, the second pushed: holding the first one still lets the second buckle."""
    robot = pl.Robot("chain", gravity=(0, 0, 0))
    a = robot.add_body("a", joint=pl.Revolute("z", stiffness=K), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b = robot.add_body(
        "b", parent=a, offset=(0.3, 0, 0), joint=pl.Revolute("z", stiffness=K), mass=1.0, inertia=(0.1, 0.1, 0.1)
    )
    robot.add_wrench("push", b, force=(-1, 0, 0), offset=(REACH, 0, 0))
    system = robot.compile()
    P = 3.0
    branch = trace_equilibria(system, coordinate=0, u={"push": P}, stop=0.8)
    assert branch.success
    first, second = branch.q.T
    np.testing.assert_allclose(K * second, P * REACH * np.sin(first + second), atol=1e-9)
    torque = K * first - P * (0.3 * np.sin(first) + REACH * np.sin(first + second))
    np.testing.assert_allclose(branch.tau[:, 0], torque, atol=1e-9)
    # beyond the load K/REACH of the second hinge alone: three positions at the same angle of the first, two folds
    P = 1.5 * K / REACH
    start = np.array([-0.1, brentq(lambda x: K * x - P * REACH * np.sin(x - 0.1), 0.5, 2.0)])
    fold = trace_equilibria(system, coordinate=0, u={"push": P}, start=start, stop=-1.0, bounds=(-1, 1), steps=80)
    x = np.arccos(1 / 1.5)  # angle of the pushed bar where K = P REACH cos
    assert [p.kind for p in fold.points[:2]] == ["limit", "limit"]
    np.testing.assert_allclose(
        [p.parameter for p in fold.points[:2]], np.array([-1, 1]) * (1.5 * np.sin(x) - x), atol=1e-9
    )


def test_imperfect_link_and_its_complementary_branch():
    rest = 0.05
    system = link(rest=rest)
    branch = trace_equilibria(system, input="push", stop=2 * K / REACH)
    assert kinds(branch) == ["end"]
    theta = branch.q[:, 0]
    np.testing.assert_allclose(K * (theta - rest), branch.parameter * REACH * np.sin(theta), atol=1e-9)
    # bent against its imperfection it is in equilibrium only above the fold tan θ = θ − rest
    fold = brentq(lambda x: np.tan(x) - x + rest, -1.0, -0.1)
    x0 = -1.2
    begin = K * (x0 - rest) / (REACH * np.sin(x0))
    other = trace_equilibria(system, input="push", start=[x0], begin=begin, stop=0.0)
    assert other.success
    assert "other bound" in other.message
    assert kinds(other) == ["limit", "end"]
    assert abs(other.points[0].parameter - K * (fold - rest) / (REACH * np.sin(fold))) < 1e-12
    assert abs(other.points[0].q[0] - fold) < 1e-9
    np.testing.assert_array_equal(other.stable, other.q[:, 0] < fold)


def test_transcritical_bifurcation():
    """Pushed off its axis (with the moment balanced when straight) the two halves rise and fall."""
    e = 0.1
    system = link(eccentric=e)
    branch = trace_equilibria(system, input="push", stop=1.5 * K / REACH, switch=True)
    assert kinds(branch) == ["bifurcation", "end"]
    assert abs(branch.points[0].parameter / (K / REACH) - 1) < 1e-9
    ends = []
    for b in branch.branches:
        theta = b.q[1:, 0]
        load = K * theta / (REACH * np.sin(theta) - e * (1 - np.cos(theta)))
        np.testing.assert_allclose(b.parameter[1:], load, rtol=1e-9)
        ends.append(np.sign(theta[-1]))
        assert (b.parameter[1] > b.parameter[0]) == (theta[0] > 0)
    assert sorted(ends) == [-1, 1]
    down = next(b for b in branch.branches if b.q[1, 0] < 0)
    fold = brentq(
        lambda x: REACH * np.sin(x) - e * (1 - np.cos(x)) - x * (REACH * np.cos(x) - e * np.sin(x)), -0.9, -0.1
    )
    limit = down.special("limit")
    assert len(limit) == 1
    assert abs(limit[0].q[0] - fold) < 1e-9


def test_pitchfork_met_from_the_side():
    """Coming down the buckled branch, λ turns at the pitchfork; switching there leads to the straight link."""
    system = link()
    x0 = 1.0
    begin = K * x0 / (REACH * np.sin(x0))
    branch = trace_equilibria(system, input="push", start=[x0], begin=begin, stop=3.0, bounds=(3.0, begin + 0.5))
    assert branch.success
    assert kinds(branch) == ["bifurcation", "end"]
    assert abs(branch.points[0].parameter - K / REACH) < 1e-9
    assert branch.q[0, 0] > 0.9
    assert branch.q[-1, 0] < -0.9
    for sign in (1, -1):
        straight = branch.switch(sign=sign)
        assert straight.success
        assert np.max(np.abs(straight.q)) < 1e-7


# ------------------------------------------------------------ manifolds


def test_ball_joint_buckles_about_its_softer_axis():
    system = ball((3.0, K, 5.0))
    branch = trace_equilibria(system, input="push", stop=10.0)
    np.testing.assert_allclose([p.parameter for p in branch.special("bifurcation")], [5.0, 7.5], rtol=1e-11)
    bent = branch.switch(stop=12.0)
    assert bent.success
    turn = np.array([system.difference(system.neutral(), q) for q in bent.q])
    assert np.max(np.abs(turn[:, [0, 2]])) < 1e-9
    angle = turn[:, 1]
    assert abs(angle[-1]) > 2.0
    np.testing.assert_allclose(K * angle, bent.parameter * REACH * np.sin(angle), atol=1e-9)  # measured 6e-12
    np.testing.assert_allclose(np.linalg.norm(bent.q, axis=1), 1.0, atol=1e-13)
    symmetric = trace_equilibria(ball((K, K, 5.0)), input="push", stop=10.0)
    assert symmetric.points[0].null.shape == (2, 3)


def test_floating_base_softens_the_ball():
    """On a free base with springs the load sinks the base and a sideways spring acts in series: lower critical load."""
    stiffness = (3.0, K, 5.0, 50.0, 60.0, 70.0)
    system = ball(stiffness, pl.Free)
    branch = trace_equilibria(system, input="push", stop=10.0)
    first, second = branch.special("bifurcation")
    assert branch.success
    for p in (first, second):
        zero = np.zeros(6)
        tangent = system.residual_tangent(p.q, zero, zero, {"push": p.parameter})
        assert np.linalg.norm(tangent @ p.null[0]) < 1e-7 * np.linalg.norm(tangent)
        assert np.abs(system.residual(p.q, zero, zero, {"push": p.parameter})).max() < 1e-10
    bent = branch.switch(stop=12.0)
    assert bent.success
    zero = np.zeros(6)
    for q, u in zip(bent.q, bent.u):
        assert np.abs(system.residual(q, zero, zero, u)).max() < 1e-8
    assert np.linalg.norm(bent.q[-1, 1:4]) > 0.8


def soft_on_ball(joint, stiffness):
    robot = pl.Robot("soft on ball", gravity=(0, 0, -9.81))
    robot.add_rod(
        "arm",
        length=0.4,
        joint=joint(stiffness=stiffness),
        section=pl.Circle(0.015),
        material=pl.Material(young=1e6, poisson=0.5, density=1000.0),
        strains=pl.Strains.kirchhoff_extensible(2),
    )
    robot.add_tendon("cable", "arm", y=0.01)
    return robot.compile()


@pytest.mark.parametrize(
    ("joint", "stiffness"), [(pl.Spherical, (2.0, 1.0, 3.0)), (pl.Free, (2.0, 1.0, 3.0, 80.0, 90.0, 100.0))]
)
def test_rods_on_ball_and_floating_base(joint, stiffness):
    system = soft_on_ball(joint, stiffness)

    def load(x):
        return {"u": {"cable": 4 * x * x}, "gravity": np.sin(np.pi * x / 2)}

    branch = trace_equilibria(system, load, stop=1.0)
    assert branch.success
    np.testing.assert_allclose(branch.u[:, 0], 4 * branch.parameter**2, rtol=1e-14)
    np.testing.assert_allclose(branch.gravity, np.sin(np.pi * branch.parameter / 2), rtol=1e-14)
    direct = pl.solve_statics(system, {"cable": 4.0})
    assert direct.success
    apart = system.difference(direct.q, branch.q[-1]) / system.internal.scale
    assert np.max(np.abs(apart)) < 1e-8
    assert np.max(np.abs(system.difference(system.neutral(), branch.q[-1]))) > 0.3


# ------------------------------------------------------------ against solve_statics


def test_tendon_sweep_agrees_with_statics():
    robot = cable_driven_manipulator(8)
    robot.add_tendon("cable", "arm", y=0.012, z=0.004)
    robot.add_tendon("other", "arm", y=-0.012)
    system = robot.compile()
    branch = trace_equilibria(system, input="cable", u={"other": 2.0}, stop=30.0)
    assert branch.success
    assert np.all(branch.stable)
    assert kinds(branch) == ["end"]
    assert branch.residual.max() < 1e-10
    for k in range(len(branch)):
        direct = pl.solve_statics(system, {"cable": branch.parameter[k], "other": 2.0})
        assert direct.success
        apart = (direct.q - branch.q[k]) / system.internal.scale
        assert np.max(np.abs(apart)) < 1e-8  # measured 7e-11
    e = branch.equilibrium(-1)
    assert (e.success, e.stable) == (True, True)
    np.testing.assert_array_equal(e.u, [30.0, 2.0])
    assert pl.modes(system, e, 3).frequencies[0] > 0


def test_follower_force():
    """A tip force that turns with the rod, against the ordinary differential equation of the elastica."""
    robot = pl.Robot("follower", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=LENGTH,
        strains=pl.Strains.planar_bending(8),
        stiffness=(3.0, EI, EI, 1e4, 1e4, 1e4),
        inertia=(1e-3, 1e-3, 1e-3, 1.0, 1.0, 1.0),
        points=30,
    )
    robot.add_wrench("follow", rod.tip, force=(0, 1, 0), axes="body")
    system = robot.compile()
    branch = trace_equilibria(system, input="follow", stop=8.0)
    assert branch.success
    assert kinds(branch) == ["end"]
    for k in (len(branch) // 2, len(branch) - 1):
        # seen from the tip, where the force is known: ψ' = F x/EI, x' = cos ψ
        def rate(_s, y, force=branch.parameter[k]):
            return [force * y[1] / EI, np.cos(y[0])]

        angle = solve_ivp(rate, (0, LENGTH), [0.0, 0.0], rtol=1e-11, atol=1e-12).y[0, -1]
        pose = system.pose("rod.tip", branch.q[k])
        assert abs(np.arctan2(pose[1, 0], pose[0, 0]) - angle) < 1e-6
    assert angle > 1.5


def test_proportional_loads_scale_together():
    system = soft_on_ball(pl.Spherical, (2.0, 1.0, 3.0))
    tau = np.zeros(system.nv)
    tau[0] = 0.1
    branch = trace_equilibria(system, {"u": {"cable": 3.0}, "tau": tau, "gravity": 0.5}, stop=2.0)
    assert branch.success
    np.testing.assert_allclose(branch.u[-1], [6.0])
    np.testing.assert_allclose(branch.tau[-1], 2 * tau)
    assert branch.gravity[-1] == 1.0
    direct = pl.solve_statics(system, {"cable": 6.0}, tau=2 * tau, start=branch.q[-1], stable=False)
    assert direct.success
    assert np.max(np.abs(system.difference(direct.q, branch.q[-1]))) < 1e-8


# ------------------------------------------------------------ derivatives, options, errors


@pytest.mark.parametrize("coordinate", [None, "arm.bending_y[0]"])
def test_equations_have_exact_derivatives(coordinate):
    system = soft_on_ball(pl.Spherical, (2.0, 1.0, 3.0))
    rng = np.random.default_rng(1)

    def load(x):
        return {"u": [3 * x * x], "tau": np.full(system.nv, 0.1 * x), "gravity": np.cos(x)}

    held = None if coordinate is None else held_coordinate(system, coordinate)
    zero = np.zeros(system.nv)
    problem = PathProblem(system, Loading(system, load, None, False, np.zeros(1), zero), held, 2.0)
    state = problem.move(PathState(system.random(rng, scale=0.3), 0.2, 0.7), np.zeros(system.nv + 1))
    exact = problem.evaluate(state)
    J = np.column_stack([exact.A, exact.b])
    h = 1e-5
    for k in range(system.nv + 1):
        z = np.zeros(system.nv + 1)
        z[k] = h
        there, back = problem.move(state, z), problem.move(state, -z)
        numeric = (problem.evaluate(there).r - problem.evaluate(back).r) / (2 * h)
        np.testing.assert_allclose(numeric, J[:, k], rtol=0, atol=1e-8 * np.abs(J).max())
        np.testing.assert_allclose(problem.offset(state, there), z, atol=1e-15)


def test_a_design_parameter_varies():
    """A column under a constant push buckles at its length; past that it is the elastica of the longer column."""
    system = column()
    push = {"push": EULER}
    branch = trace_equilibria(system, parameter="rod.length", u=push, stop=1.3 * LENGTH)
    assert branch.success
    assert branch.parameter[0] == LENGTH
    shorter = trace_equilibria(system, parameter="rod.length", u=push, begin=0.8 * LENGTH, stop=1.3 * LENGTH)
    (point,) = shorter.special("bifurcation")
    np.testing.assert_allclose(point.parameter, LENGTH, rtol=3e-6)
    bent = shorter.switch(point)
    assert bent.success
    last = bent.equilibrium(-1)
    other = system.with_parameters({"rod.length": 1.3 * LENGTH})
    rest = pl.solve_statics(other, push, start=last.q)
    np.testing.assert_allclose(rest.q, last.q, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(last.system.pose("rod.tip", last.q), other.pose("rod.tip", last.q))


def test_robots_as_a_function_of_the_parameter():
    """Where there is none the trace ends and says why; other coordinates are refused."""
    system = column()

    def robots(x: float) -> pl.System:
        if x > 1.0:
            raise ValueError("too soft")
        return system.with_parameters({"push.force.y": x})

    branch = trace_equilibria(system, parameter=robots, u={"push": 0.1 * EULER}, stop=2.0)
    assert not branch.success
    assert "too soft" in branch.message
    assert 0.99 < branch.parameter[-1] <= 1.0
    rest = pl.solve_statics(robots(branch.parameter[-1]), {"push": 0.1 * EULER})
    np.testing.assert_allclose(branch.q[-1], rest.q, rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="other coordinates or inputs"):
        trace_equilibria(system, parameter=lambda x: link(), stop=1.0)
    with pytest.raises(TypeError, match="a System is needed"):
        trace_equilibria(system, parameter=lambda x: x, stop=1.0)


def test_failures_return_what_was_computed():
    short = trace_equilibria(pendulum(), input="moment", stop=14.0, steps=5)
    assert not short.success
    assert len(short) == 6
    assert "raise `steps`" in short.message
    nowhere = trace_equilibria(link(), {"tau": [np.nan]}, begin=1.0, stop=2.0, start=[0.0])
    assert not nowhere.success
    assert len(nowhere) == 0
    assert "start" in nowhere.message
    assert "no equilibria" in str(nowhere)


def test_it_prints(euler):
    text = str(euler)
    assert "bifurcation at 2.19" in text
    assert "reached stop" in text
    assert isinstance(euler, Branch)
    assert isinstance(euler.points[0], SpecialPoint)
    assert len(euler) == len(euler.parameter)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ValueError, "exactly one"),
        ({"input": "push", "gravity": True}, ValueError, "exactly one"),
        ({"input": "pus"}, KeyError, "push"),
        ({"coordinate": "bar.angel"}, KeyError, "bar.angle"),
        ({"coordinate": 1}, ValueError, "0 to 0"),
        ({"input": "push", "stop": 0.0}, ValueError, "differ from begin"),
        ({"input": "push", "bounds": (0.2, 0.5)}, ValueError, "enclose"),
        ({"input": "push", "step": 0.5}, ValueError, "max_step"),
        ({"input": "push", "tolerance": 0.0}, ValueError, "greater than zero"),
        ({"input": "push", "steps": 0}, ValueError, "whole number"),
        ({"input": "push", "method": "newton"}, ValueError, "arclength"),
        ({"load": {"force": 1.0}}, KeyError, "load"),
        ({"load": 3.0}, TypeError, "function"),
        ({"load": lambda x: x}, TypeError, "dict"),
        ({"input": "push", "start": [0.0, 1.0]}, ValueError, "shape"),
    ],
)
def test_errors_teach(options, error, words):
    with pytest.raises(error, match=words):
        trace_equilibria(link(), **options)


def test_errors_of_switching(euler):
    with pytest.raises(ValueError, match="no bifurcation"):
        trace_equilibria(pendulum(), input="moment", stop=1.0).switch()
    with pytest.raises(TypeError, match="bifurcation"):
        euler.switch(euler.points[-1])
    with pytest.raises(TypeError, match="max_step"):
        euler.switch(max_stp=0.1)
    with pytest.raises(ValueError, match="sign"):
        euler.switch(sign=2)
    with pytest.raises(ValueError, match="spherical"):
        trace_equilibria(ball((1.0, 1.0, 1.0)), coordinate=0)
    with pytest.raises(IndexError, match="points"):
        euler.equilibrium(len(euler))
