"""Loop joints are joints: rows of every kind, their coordinates, springs, dampers, motors, stops and prescribed motion on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, check_tangents, state
from pliant.system.forces import closure, drift
from robots import random_inertia, random_pose

DRIVEN = {
    "revolute": pl.Revolute((1, 2, 3), stiffness=2.0, damping=0.3, rest=0.4),
    "prismatic": pl.Prismatic((1, 2, 0), stiffness=5.0, damping=0.2, rest=0.1),
    "helical": pl.Helical((0, 1, 2), pitch=0.2, stiffness=1.0, damping=0.1),
    "universal": pl.Universal("x", (0, 1, 0.3), stiffness=(1.0, 2.0), damping=(0.1, 0.2), rest=(0.2, -0.1)),
    "cylindrical": pl.Cylindrical((2, 1, 0), stiffness=(1.0, 5.0), damping=0.1),
    "planar": pl.Planar((1, 1, 1), stiffness=1.0, damping=0.1, rest=(0.1, -0.1, 0.3)),
    "spherical": pl.Spherical(stiffness=(1.0, 2.0, 3.0), damping=0.2, rest=(0.1, 0.2, -0.3)),
}
RESTRAINTS = {
    "rows": pl.Rows("xz", "y"),
    "slot": pl.Slot((1, 2, 0), stiffness=3.0, damping=0.2, rest=0.1),
    "distance": pl.Distance(0.3),
    "ball": pl.Rolling(0.1, normal=(1, 0, 2)),
    "wheel": pl.Rolling(0.1, axis=(0, 1, 0.2)),
    "skate": pl.Skate((1, 1, 0)),
}
ALL = DRIVEN | RESTRAINTS


def closed(joint: pl.Joint, *, base: str = "free", drives: bool = True) -> pl.System:
    """The branched robot with a loop inside it and one from the world, with what can act on them."""
    robot = branched(1, base=base)
    rng = np.random.default_rng(3)
    robot.add_loop("loop", "tool", robot.link("arm").at(0.77, random_pose(rng, 0.1)), joint=joint)
    robot.add_loop("ground", "world", robot.link("twig").at(0.6, random_pose(rng, 0.1)), joint=joint)
    if joint.dof_names and drives:
        if joint.group is None:
            robot.add_motor("servo", "loop", control="position", kp=2.0, kd=0.1)
            robot.add_stop("stop", "ground", upper=-0.7, stiffness=3.0, dissipation=0.2)
            robot.add_stop("far", "ground", lower=-100.0, stiffness=3.0)
        robot.add_motor("motor", "ground", dof=joint.nv - 1)
        robot.add_motor("weak", "loop", control="velocity", kd=3.0, limit=0.01)
    return robot.compile()


@pytest.mark.parametrize("base", ["free", "revolute"])
@pytest.mark.parametrize("kind", ALL)
def test_forces_have_exact_derivatives(kind, base):
    """Against the complex step: multipliers, springs, dampers, servos, stops, motors, the limit of a motor."""
    system = closed(ALL[kind], base=base)
    for seed in (1, 2):  # another state has the ball within 1e-4 of half a turn, where its rotation vector jumps
        q, v, a = state(system, seed)
        rng = np.random.default_rng(seed)
        check_tangents(system, q, v, a, rng.normal(size=system.nu), multipliers=rng.normal(size=len(system.loop_rows)))


@pytest.mark.parametrize("kind", ALL)
def test_rates_accelerations_and_their_derivatives(kind):
    """G v is the rate of each row, and the derivatives of ë + 3 ė + 5 e by q and v those of differences."""
    system = closed(ALL[kind], drives=False)
    q, v, a = state(system, 0)
    rng = np.random.default_rng(0)

    def value(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        e, G, rates = closure(system, q, v)
        return G @ a + rates[:, 1] + 3 * rates[:, 0] + 5 * e

    _e, G, rates = closure(system, q, v)
    np.testing.assert_allclose(rates[:, 0], G @ v, atol=1e-12)
    h = 1e-3
    for _ in range(3):
        x = rng.normal(size=system.nv)
        x /= np.linalg.norm(x)
        for weights in ((1.0, 0.0), (0.0, 1.0)):
            exact = drift(system, q, v, a, weights, (3.0, 5.0)) @ x
            dq, dv = weights[0] * h * x, weights[1] * h * x
            near, far = (
                value(system.integrate(q, s * dq), v + s * dv) - value(system.integrate(q, -s * dq), v - s * dv)
                for s in (1, 2)
            )
            np.testing.assert_allclose((8 * near - far) / (12 * h), exact, atol=3e-9 * max(1, np.abs(exact).max()))


def carried(joint: pl.Joint, loop: pl.Joint | None) -> pl.Robot:
    """A body on a joint of the tree, and perhaps the same joint as a loop beside it."""
    rng = np.random.default_rng(5)
    before, after = random_pose(rng, 0.2), random_pose(rng, 0.2)
    robot = pl.Robot("twice", gravity=(1, 2, -9))
    hub = robot.add_body("hub", joint=pl.Free(), inertia=random_inertia(rng))
    body = robot.add_body(
        "body", parent=hub, offset=before, joint=joint, offset_after=after, inertia=random_inertia(rng)
    )
    if loop is not None:
        robot.add_loop("loop", hub.at(before), body.at(after.inverse()), joint=loop)
    return robot


@pytest.mark.parametrize("kind", DRIVEN)
def test_springs_and_dampers_act_as_those_of_the_tree(kind):
    """The same joint, once with its spring in the tree, once with it in a loop that the tree keeps closed."""
    joint = DRIVEN[kind]
    plain = replace(joint, stiffness=0.0, damping=0.0, rest=None)
    tree, loop = carried(joint, None).compile(), carried(plain, joint).compile()
    for seed in range(3):
        q, v, a = state(tree, seed, scale=0.5)
        if joint.group is not None:  # turned by less than half a turn
            q[7:11] = tree.integrate(tree.neutral(), 0.3 * v)[7:11]
        assert np.abs(loop.closure(q)[0]).max() < 1e-14
        np.testing.assert_allclose(loop.residual(q, v, a), tree.residual(q, v, a), atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in DRIVEN if kind != "spherical"])
def test_coordinates_are_those_of_the_tree(kind):
    """A prescribed loop measures the coordinates of the joint, within half a turn, and a motor on it acts on them."""
    joint = DRIVEN[kind]
    robot = carried(joint, joint)
    for k in range(joint.nv):
        robot.add_motion(f"motion{k}", "loop", dof=k)
        robot.add_motor(f"motor{k}", "loop", dof=k)
        robot.add_motor(f"tree{k}", "body", dof=k)
    system = robot.compile()
    q, v, _a = state(system, 1, scale=0.8)
    rows = [k for own in system.told_rows.values() for k in own]
    values = system.closure(q)[0]
    np.testing.assert_allclose(values[rows], q[7:], atol=1e-13)
    np.testing.assert_allclose(np.delete(values, rows), 0.0, atol=1e-13)
    np.testing.assert_allclose(system.closure_rates(q, v)[rows, 0], v[6:], atol=1e-12)
    B = system.actuation_matrix(q)
    names = system.input_names
    for k in range(joint.nv):
        np.testing.assert_allclose(B[:, names.index(f"motor{k}")], B[:, names.index(f"tree{k}")], atol=1e-12)


def test_energy_of_what_acts_on_a_loop():
    """Statics looks for the minimum of an energy, which is that of the forces."""
    robot = carried(pl.Revolute("z"), pl.Revolute("z", stiffness=2.0, rest=0.3))
    robot.add_motor("servo", "loop", control="position", kp=1.5, limit=0.2)
    robot.add_motor("plain", "loop")
    robot.add_stop("stop", "loop", upper=0.5, stiffness=20.0)
    system = robot.compile()
    zero, u = np.zeros(system.nv), np.array([0.9, 0.15])
    from pliant.kernels import engine, slots

    def energy(q: np.ndarray) -> float:
        p = np.zeros(engine.PARAMETERS)
        system.run_job(engine.BALANCE, q, zero, zero, u, p=p)
        return p[slots.REPORT_LOADS]

    for angle in (-0.4, 0.31, 0.7, 0.85, 1.3):
        q = system.neutral()
        q[7] = angle
        h, unit = 1e-5, np.eye(system.nv)[6]
        slope = (energy(system.integrate(q, h * unit)) - energy(system.integrate(q, -h * unit))) / (2 * h)
        force = system.residual(q, zero, zero, u) - system.inverse_dynamics(q, zero, zero)
        assert slope == pytest.approx(force[6], abs=1e-8)


def crank(motion: bool) -> pl.Robot:
    """A slider-crank whose loop is closed at the crank's bearing, where its motor is."""
    robot = pl.Robot("slider-crank", gravity=(0, 0, -9.81))
    slider = robot.add_body("slider", offset=(0.4, 0, 0), joint=pl.Prismatic("x"), mass=0.3)
    rod = robot.add_body(
        "rod", parent=slider, joint=pl.Revolute("y"), mass=0.2, shape=pl.Box(0.3, 0.01, 0.01), com=(-0.15, 0, 0)
    )
    bar = robot.add_body(
        "bar",
        parent=rod.at((-0.3, 0, 0)),
        joint=pl.Revolute("y"),
        mass=0.1,
        shape=pl.Box(0.1, 0.01, 0.01),
        com=(-0.05, 0, 0),
    )
    robot.add_loop("bearing", "world", bar.at((-0.1, 0, 0)), joint=pl.Revolute("y"))
    if motion:
        robot.add_motion("turn", "bearing")
    else:
        robot.add_motor("turn", "bearing")
    return robot


def piston(angle: np.ndarray) -> np.ndarray:
    """Where the slider is for an angle of the crank about y."""
    return 0.1 * np.cos(angle) + np.sqrt(0.3**2 - (0.1 * np.sin(angle)) ** 2) - 0.4


@pytest.mark.parametrize("method", ["auto", "generalized-alpha", "bdf"])
def test_a_loop_joint_turns_as_told_again_and_again(method):
    """More than two turns of the crank; the slider follows, and the torque is the power that the crank takes."""
    system = crank(True).compile()

    def angle(t: float) -> float:
        return 5.0 * t * t

    options = {"rtol": 1e-7, "baumgarte": 0.05} if method == "bdf" else {}
    told = pl.Motion(angle, lambda t: 10.0 * t, lambda t: 10.0)
    run = pl.simulate(system, 1.6, motion={"turn": told}, method=method, output=np.linspace(0, 1.6, 33), **options)
    assert run.success, run.message
    assert 4 * np.pi < 5.0 * 1.6**2
    tolerance = 2e-3 if method == "generalized-alpha" else 1e-6 if method == "auto" else 2e-5
    np.testing.assert_allclose(run.q[:, 0], piston(5.0 * run.t**2), atol=tolerance)
    k = system.told_rows["turn"][0]
    power = run.v[-1] @ system.inverse_dynamics(run.q[-1], run.v[-1], run.a[-1])
    assert run.multipliers[-1, k] * 10.0 * 1.6 == pytest.approx(
        power, rel=2e-2 if method == "generalized-alpha" else 1e-4
    )


def test_a_loop_joint_held_in_statics():
    system = crank(True).compile()
    for angle in (0.0, 0.7, 2.0, 3.0):
        rest = pl.solve_statics(system, motion={"turn": angle})
        assert rest.success, rest.message
        assert rest.q[0] == pytest.approx(piston(np.array(angle)), abs=1e-10)
    # the torque holds the weight: virtual work over a small turn
    moved = [pl.solve_statics(system, motion={"turn": 2.0 + s * 1e-5}, start=rest) for s in (-1, 1)]
    change = (system.gravitational_energy(moved[1].q) - system.gravitational_energy(moved[0].q)) / 2e-5
    held = pl.solve_statics(system, motion={"turn": 2.0}, start=rest)
    assert held.multipliers[system.told_rows["turn"][0]] == pytest.approx(change, rel=1e-6)


def test_a_motor_at_the_cut_is_one_at_the_joint():
    """The same slider-crank, with the crank's bearing in the tree and its loop cut at the slider."""
    cut = crank(False).compile()
    robot = pl.Robot("slider-crank", gravity=(0, 0, -9.81))
    bar = robot.add_body("bar", joint=pl.Revolute("y"), mass=0.1, shape=pl.Box(0.1, 0.01, 0.01), com=(0.05, 0, 0))
    rod = robot.add_body(
        "rod",
        parent=bar.at((0.1, 0, 0)),
        joint=pl.Revolute("y"),
        mass=0.2,
        shape=pl.Box(0.3, 0.01, 0.01),
        com=(0.15, 0, 0),
    )
    slider = robot.add_body("slider", offset=(0.4, 0, 0), joint=pl.Prismatic("x"), mass=0.3)
    robot.add_loop("pin", rod.at((0.3, 0, 0)), slider, joint=pl.Revolute("y"))
    robot.add_motor("turn", bar)
    whole = robot.compile()
    torque = {"u": lambda t: {"turn": 0.3 * np.sin(3 * t)}, "output": np.linspace(0, 1, 11), "rtol": 1e-7}
    one, two = pl.simulate(cut, 1.0, **torque), pl.simulate(whole, 1.0, **torque)
    assert one.success
    assert two.success
    np.testing.assert_allclose(one.q[:, 0], two.q[:, 2], atol=1e-5)


def test_stops_hold_a_door_and_bounce():
    """A swinging door between stops, in the tree and in a loop: the same motion; with dissipation it comes to rest."""

    def door(where: str, dissipation: float) -> pl.System:
        robot = pl.Robot("door", gravity=(0, 0, 0))
        joint = pl.Revolute("z")
        leaf = robot.add_body("leaf", joint=joint, shape=pl.Box(0.8, 0.02, 2.0), mass=5.0, com=(0.4, 0, 0))
        robot.add_loop("hinge", "world", leaf, joint=joint)
        robot.add_stop("ends", where, lower=-0.2, upper=0.5, stiffness=5e3, dissipation=dissipation)
        return robot.compile()

    runs = [
        pl.simulate(door(where, 0.0), 3.0, velocity=[1.0], output=np.linspace(0, 3, 61), rtol=1e-8, atol=1e-9)
        for where in ("leaf", "hinge")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    assert runs[0].q.max() < 0.53
    assert runs[0].q.min() > -0.23
    assert abs(runs[0].v[-1, 0]) == pytest.approx(1.0, rel=1e-3) or not -0.2 < runs[0].q[-1, 0] < 0.5
    slow = pl.simulate(door("hinge", 0.5), 3.0, velocity=[1.0])
    assert abs(slow.v[-1, 0]) < 0.7


def test_gears_and_a_screw():
    """A motor on the small wheel moves both inertias; a screw lifts its nut."""
    robot = pl.Robot("gears", gravity=(0, 0, 0))
    for k, (name, inertia) in enumerate({"small": 0.02, "large": 0.3}.items()):
        robot.add_body(name, offset=(k, 0, 0), joint=pl.Revolute("z"), mass=1.0, inertia=(1, 1, inertia))
    robot.add_body("nut", offset=(2, 0, 0), joint=pl.Prismatic("z"), mass=4.0)
    robot.add_motor("motor", "small")
    robot.add_coupling("mesh", {"small": 20, "large": 40})
    robot.add_coupling("screw", {"large": 0.1 / (2 * np.pi), "nut.displacement": -1.0}, offset=0.05)
    system = robot.compile()
    assert system.loop_rows == ("mesh: coupling", "screw: coupling")
    lead = 0.1 / (2 * np.pi)
    a, forces = system.constrained_dynamics(np.zeros(3), np.zeros(3), u={"motor": 2.0})
    total = 0.02 + 0.25 * (0.3 + 4.0 * lead**2)
    np.testing.assert_allclose(a, np.array([1.0, -0.5, -0.5 * lead]) * 2.0 / total, rtol=1e-12)
    assert -forces[1] == pytest.approx(4.0 * a[2], rel=1e-12)
    run = pl.simulate(system, 1.0, u={"motor": 2.0}, start=np.array([0.0, 0.0, -0.05]))
    np.testing.assert_allclose(run.q[-1] - run.q[0], 0.5 * a, rtol=1e-6)
    assert np.abs([system.closure(q)[0] for q in run.q]).max() < 1e-12


@pytest.mark.parametrize("joint", [pl.Rolling(0.1, axis="y"), pl.Slot("x")], ids=["wheel", "slot"])
def test_what_nothing_resists_is_in_neutral_equilibrium(joint):
    """A wheel on a floor, a body in a slot: found where it is, with the direction named."""
    robot = pl.Robot("neutral")
    body = robot.add_body("body", offset=(0, 0, 0.1), joint=pl.Planar("y"), shape=pl.Cylinder(0.1, 0.02, "y"), mass=1.0)
    ground = "world" if isinstance(joint, pl.Rolling) else robot.add_frame("rail", None, offset=(0, 0, 0.1))
    robot.add_loop("ground", ground, body, joint=joint)
    rest = pl.solve_statics(robot.compile())
    assert rest.success, rest.message
    assert rest.stability == "neutral"
    assert rest.multipliers[0] == pytest.approx(9.81) or rest.multipliers[1] == pytest.approx(9.81)


def test_a_loop_that_cannot_close_says_what_fights_it():
    """Two rods that are too short to meet: the row, how far, and the strain that resists; and a loop that nothing can close."""
    robot = pl.Robot("too short", gravity=(0, 0, 0))
    rubber = pl.Material(young=1e7, poisson=0.4, density=1200.0)
    rods = [
        robot.add_rod(
            f"rod{k}", offset=(0, y, 0), length=0.2, section=pl.Circle(0.006), material=rubber, strains=pl.Strains(bending_z=3)
        )
        for k, y in enumerate((-0.5, 0.5))
    ]  # fmt: skip
    robot.add_loop("pin", rods[0].tip, rods[1].tip, joint=pl.Revolute("z"))
    rest = pl.solve_statics(robot.compile())
    assert not rest.success
    assert "'pin: position y' is" in rest.message
    assert "against the stiffness of 'rod" in rest.message
    robot = pl.Robot("stuck", gravity=(0, 0, 0))
    slider = robot.add_body("slider", joint=pl.Prismatic("x"), mass=1.0)
    robot.add_loop("far", slider, robot.add_frame("post", None, offset=(0, 0.3, 0)), joint=pl.Spherical())
    rest = pl.solve_statics(robot.compile())
    assert not rest.success
    assert "'far: position y' is 0.3 apart" in rest.message
    assert "nothing that is free to move changes it" in rest.message
