"""Wrenches that come through joints of the tree: closed forms, Newton and Euler for each body, virtual work, momentum."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from load_robots import branched, state
from pliant.system import energy
from robots import SILICONE, random_inertia, random_pose, random_robot
from test_loops import looped

SEEDS = range(12)
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of a derivative of order 8


def at_origin(wrench: np.ndarray, point: np.ndarray) -> np.ndarray:
    """A wrench [moment; force] about a point, about the world's origin."""
    return np.concatenate([wrench[:3] + np.cross(point, wrench[3:]), wrench[3:]])


def joint_frame(system: pl.System, name: str) -> pl.Frame:
    """The moved frame of a link's joint."""
    link = system.robot.link(name)
    back = link.offset_after.inverse()
    return link.at(0.0, back) if link.is_rod else link.at(back)


def carried(system: pl.System, q, v, a, u=None, multipliers=None) -> dict[str, np.ndarray]:
    """The wrenches on all links in world axes about the world's origin."""
    out = {}
    for name in system.links:
        W = system.joint_wrench(name, q, v, a, u, multipliers=multipliers, axes="world")
        out[name] = at_origin(W, system.pose(joint_frame(system, name), q)[:3, 3])
    return out


def body_wrench(system: pl.System, name: str, q, v, a) -> np.ndarray:
    """What a rigid body needs by Newton and Euler, less its weight, about the world's origin in world axes."""
    inertia = system.robot.link(name).content.inertia
    if inertia is None:
        return np.zeros(6)
    g = system.pose(name, q)
    R, w = g[:3, :3], system.twist(name, q, v, reference="world")[:3]
    motion = system.acceleration(name, q, v, a, reference="world")
    c = R @ inertia.com
    force = inertia.mass * (motion[3:] + np.cross(motion[:3], c) + np.cross(w, np.cross(w, c)) - system.gravity)
    I = R @ inertia.inertia @ R.T
    moment = I @ motion[:3] + np.cross(w, I @ w)
    return at_origin(np.concatenate([moment, force]), g[:3, 3] + c)


def assert_virtual_work(system: pl.System, q, v, a, u=None, multipliers=None, tol: float = 1e-12) -> None:
    """SᵀW of each joint is the rest of its rows of the equation of motion: springs, dampers, motors, tau."""
    r = system.residual(q, v, a, u, multipliers=multipliers)
    rest = r - system.elastic_forces(q) - system.damping_matrix() @ v
    for name in system.links:
        n = system.robot.link(name).joint.nv
        rows = slice(system.v_slice(name).start, system.v_slice(name).start + n)
        W = system.joint_wrench(name, q, v, a, u, multipliers=multipliers, axes="world")
        S = system.jacobian(joint_frame(system, name), q, reference="world")[:, rows]
        scale = np.abs(W).max() * max(1.0, np.abs(S).max(initial=0.0))
        np.testing.assert_allclose(S.T @ W, rest[rows], rtol=0, atol=tol * scale)


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize("joint", [pl.Fixed(), pl.Revolute("y"), pl.Spherical()], ids=["fixed", "hinge", "ball"])
def test_weight_of_a_hanging_body(joint):
    robot = pl.Robot("hanging")
    turned = pl.translate(0.3, 0.2, 0.1) @ pl.rotate("x", np.pi / 2)
    robot.add_body("plumb", joint=joint, offset=turned, mass=2.0, com=(0, -0.4, 0), shape=pl.Sphere(0.1))
    robot.add_body("wheel", joint=pl.Revolute("x"), mass=1.0, com=(0, 0, 0), shape=pl.Sphere(0.1))
    system = robot.compile()
    q = system.neutral()
    np.testing.assert_allclose(system.joint_wrench("plumb", q, axes="world"), [0, 0, 0, 0, 0, 19.62], atol=1e-14)
    np.testing.assert_allclose(system.joint_wrench("plumb", q), [0, 0, 0, 0, 19.62, 0], atol=1e-14)


def test_centripetal_force_and_spin():
    robot = pl.Robot("rotor", gravity=(0, 0, 0))
    robot.add_body("rotor", joint=pl.Revolute("z"), mass=0.5, com=(0.3, 0, 0), inertia=np.diag([0.01, 0.02, 0.03]))
    system = robot.compile()
    q, omega, alpha = np.array([0.7]), 4.0, 2.5
    W = system.joint_wrench("rotor", q, [omega], [alpha], axes="world")
    radial, along = np.array([np.cos(0.7), np.sin(0.7), 0]), np.array([-np.sin(0.7), np.cos(0.7), 0])
    np.testing.assert_allclose(W[3:], 0.5 * 0.3 * (alpha * along - omega**2 * radial), atol=1e-14)
    np.testing.assert_allclose(W[:3], [0, 0, (0.03 + 0.5 * 0.3**2) * alpha], atol=1e-14)
    link = system.joint_wrench("rotor", q, [omega], [alpha])  # the axes of the joint are the parent's
    np.testing.assert_allclose(link, W, atol=1e-14)


@pytest.mark.parametrize("integration", ["magnus", "spectral"])
@pytest.mark.parametrize("joint", [pl.Fixed(), pl.Revolute("y", stiffness=3.0)], ids=["clamped", "sprung"])
def test_a_rod_at_rest_rests_on_its_root(joint, integration):
    robot = pl.Robot("arm")
    arm = robot.add_rod(
        "arm", joint=joint, length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(3),
        integration=integration,
    )  # fmt: skip
    robot.add_body("load", parent=arm.tip, mass=0.05, com=(0.02, 0, 0.01), shape=pl.Sphere(0.01))
    robot.add_body("collar", parent=arm.at(0.0), mass=0.3, com=(0, 0, 0), shape=pl.Sphere(0.01))
    robot.add_tendon("cable", arm, z=0.01)
    system = robot.compile()
    for tension in (0.0, 4.0):
        rest = pl.solve_statics(system, {"cable": tension})
        W = rest.joint_wrench("arm", axes="world")
        total = energy.totals(system.cut, rest.q)
        assert total.mass == pytest.approx(0.4 * np.pi * 0.015**2 * 1000 + 0.35, rel=1e-12)
        np.testing.assert_allclose(W[3:], [0, 0, total.mass * 9.81], rtol=1e-13)
        np.testing.assert_allclose(W[:3], np.cross(total.moment, [0, 0, 9.81]), rtol=1e-12, atol=1e-14)
        load = rest.joint_wrench("load", axes="world")
        np.testing.assert_allclose(load[3:], [0, 0, 0.05 * 9.81], rtol=1e-13)
        if joint.nv:
            assert W[1] == pytest.approx(-3.0 * rest.q[0], rel=1e-9)
        collar = rest.joint_wrench("collar", axes="world")
        np.testing.assert_allclose(collar, [0, 0, 0, 0, 0, 0.3 * 9.81], atol=1e-13)


def test_a_cable_between_links_is_a_load():
    """Its pull is no part of the reaction of the hinge, which must hold against it."""
    robot = pl.Robot("crane", gravity=(0, 0, 0))
    mast = robot.add_body("mast", joint=pl.Revolute("y", stiffness=2.0), mass=1.0, shape=pl.Box(0.5, 0.01, 0.01))
    robot.add_tendon("stay", [robot.resolve("world").at((-0.3, 0, 0.2)), mast.at((0.4, 0, 0))])
    system = robot.compile()
    rest = pl.solve_statics(system, {"stay": 3.0})
    end = system.pose(mast.at((0.4, 0, 0)), rest.q)[:3, 3]
    pull = np.array([-0.3, 0, 0.2]) - end
    pull *= 3.0 / np.linalg.norm(pull)
    W = rest.joint_wrench("mast", axes="world")
    np.testing.assert_allclose(W[3:], -pull, atol=1e-12)
    np.testing.assert_allclose(W[:3], -np.cross(end, pull), atol=1e-9)
    assert W[1] == pytest.approx(-2.0 * rest.q[0], rel=1e-8)


def test_a_cable_that_comes_from_outside_pulls_at_the_root():
    robot = pl.Robot("finger", gravity=(0, 0, 0))
    arm = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=SILICONE, strains=pl.Strains.kirchhoff(2)
    )  # fmt: skip
    winch = robot.resolve("world").at((-0.1, 0.05, 0))
    robot.add_tendon("cable", [winch, pl.Along(arm, y=0.01)])
    rest = pl.solve_statics(robot.compile(), {"cable": 2.0})
    pull = 2.0 * np.array([-0.1, 0.04, 0]) / np.hypot(0.1, 0.04)
    expected = np.concatenate([-np.cross([0, 0.01, 0], pull), -pull])
    np.testing.assert_allclose(rest.joint_wrench("arm"), expected, atol=1e-12)


# ---------------------------------------------------------------- random robots


@pytest.mark.parametrize("seed", SEEDS)
def test_every_body_and_every_joint_of_random_robots(seed):
    """Newton and Euler for each rigid link with what it passes on, and virtual work for each joint."""
    system = random_robot(seed).compile()
    q, v, a = state(system, seed)
    found = carried(system, q, v, a)
    robot = system.robot
    for link in robot.links:
        if not link.is_rod:
            children = [found[child.name] for child in robot.links if child.parent.link == link.name]
            expected = body_wrench(system, link.name, q, v, a) + sum(children, np.zeros(6))
            scale = max(np.abs(x).max() for x in (expected, *children))
            np.testing.assert_allclose(found[link.name], expected, rtol=0, atol=1e-12 * scale)
    assert_virtual_work(system, q, v, a)


@pytest.mark.parametrize("seed", SEEDS)
def test_roots_carry_the_change_of_momentum(seed):
    """Σ root reactions + weight = d/dt momentum, here by differences of order 8."""
    system = random_robot(seed).compile()
    q, v, a = state(system, seed)
    found = carried(system, q, v, a)
    roots = sum(found[link.name] for link in system.robot.links if link.parent.link == "world")

    def momentum(t: float) -> np.ndarray:
        total = energy.totals(system.cut, system.integrate(q, t * v), v + t * a)
        return np.concatenate([total.angular, total.linear])

    h = 0.004
    rate = sum(c * (momentum(k * h) - momentum(-k * h)) for k, c in STENCIL.items()) / h
    total = energy.totals(system.cut, q)
    weight = np.concatenate([np.cross(total.moment, system.gravity), total.mass * system.gravity])
    np.testing.assert_allclose(roots + weight, rate, rtol=0, atol=1e-11 * np.abs(rate).max())


@pytest.mark.parametrize("base", ["free", "fixed"])
@pytest.mark.parametrize("joint", ["fixed", "revolute", "helical", "planar"])
def test_closed_robots(joint, base):
    """Loops act on their links: on the tool with the opposite of `loop_wrench`."""
    system = looped(joint, base)
    q, v, a = state(system, 2)
    forces = np.random.default_rng(4).normal(size=len(system.loop_rows))
    assert_virtual_work(system, q, v, a, multipliers=forces, tol=2e-12)
    loop = system.loop_wrench("loop", q, forces, axes="world")
    place = system.pose(system.robot.loops["loop"].b, q)[:3, 3]
    expected = body_wrench(system, "tool", q, v, a) + at_origin(loop, place)
    found = carried(system, q, v, a, multipliers=forces)["tool"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_loads_and_motors():
    """What acts on a link is not transmitted, what acts in its joint is."""
    robot = branched(3, base="revolute")
    robot.add_motor("motor", "hub")
    robot.add_wrench("push", "tool", force=(1, 2, 3), moment=(0.1, 0, 0.2), axes="world")
    robot.add_tendon("cable", "arm", y=0.01)
    system = robot.compile()
    q, v, _a = state(system, 1)
    u = system.inputs({"motor": 0.7, "cable": 5.0, "push": 1.0})
    a = system.forward_dynamics(q, v, u=u)
    S = system.jacobian(joint_frame(system, "hub"), q, reference="world")[:, 0]
    W = system.joint_wrench("hub", q, v, a, u, axes="world")
    own = 0.7 - system.elastic_forces(q)[0] - (system.damping_matrix() @ v)[0]
    assert float(S @ W) == pytest.approx(own, rel=1e-9)
    tool = carried(system, q, v, a, u)["tool"]
    point = system.pose("tool", q)[:3, 3]
    load = at_origin(np.array([0.1, 0, 0.2, 1, 2, 3]), point)
    np.testing.assert_allclose(tool, body_wrench(system, "tool", q, v, a) - load, atol=1e-11 * np.abs(tool).max())


def test_many_states_at_once():
    system = looped("revolute")
    states = [state(system, seed) for seed in range(3)]
    q, v, a = (np.array(x) for x in zip(*states))
    forces = np.random.default_rng(0).normal(size=(3, len(system.loop_rows)))
    many = system.joint_wrench("twig", q, v, a, multipliers=forces)
    for k in range(3):
        one = system.joint_wrench("twig", q[k], v[k], a[k], multipliers=forces[k])
        np.testing.assert_array_equal(many[k], one)


def test_slips_are_explained():
    system = looped("revolute")
    q = system.neutral()
    with pytest.raises(ValueError, match=r"multipliers is missing.*'loop', 'ground'"):
        system.joint_wrench("arm", q)
    with pytest.raises(ValueError, match=r"multipliers has shape \(2,\), but \(10,\)"):
        system.joint_wrench("arm", q, multipliers=[1, 2])
    with pytest.raises(KeyError, match="did you mean 'arm'"):
        system.joint_wrench("amr", q, multipliers=np.zeros(10))
    with pytest.raises(ValueError, match="axes"):
        system.joint_wrench("arm", q, multipliers=np.zeros(10), axes="body")


# ---------------------------------------------------------------- over time


@pytest.fixture(scope="module")
def run() -> pl.Result:
    """A four-bar linkage that swings."""
    robot = pl.Robot("four bars")
    rng = np.random.default_rng(0)
    options = {"joint": pl.Revolute("y"), "shape": pl.Box(0.3, 0.02, 0.02), "mass": 0.2, "com": (0.15, 0, 0)}
    crank = robot.add_body("crank", **options)
    rod = robot.add_body("rod", parent=crank.at((0.3, 0, 0)), **options)
    rocker = robot.add_body("rocker", offset=(0.35, 0, 0), **options)
    robot.add_body("weight", parent=rod, offset=random_pose(rng, 0.05), inertia=random_inertia(rng))
    robot.add_loop("pin", rod.at((0.3, 0, 0)), rocker.at((0.3, 0, 0)), joint=pl.Revolute("y"))
    system = robot.compile()
    start = pl.solve_statics(system, tau=[0.5, 0, 0], start=[1.5, -1.2, 1.3])
    return pl.simulate(system, 0.3, start=start, step=1e-3, output=0.01)


def test_results_over_time(run):
    system = run.system
    crank, pin = run.joint_wrench("crank", axes="world"), run.loop_wrench("pin", axes="world")
    assert crank.shape == pin.shape == (len(run), 6)
    k = 17
    given = {"multipliers": run.multipliers[k], "axes": "world"}
    expected = system.joint_wrench("crank", run.q[k], run.v[k], run.a[k], run.u[k], **given)
    np.testing.assert_array_equal(crank[k], expected)
    np.testing.assert_array_equal(run.reactions("world")[:, 0], crank)
    # the rocker is held by its hinge and pulled by the pin
    force = run.joint_wrench("rocker", axes="world")[:, 3:] + pin[:, 3:]
    inertial = np.array([body_wrench(system, "rocker", *s)[3:] for s in zip(run.q, run.v, run.a)])
    np.testing.assert_allclose(force, inertial, atol=1e-11 * np.abs(crank).max())
    # hinges without spring and motor transmit no moment about their axis
    free = max(np.abs(run.joint_wrench(name)[:, 1]).max() for name in ("crank", "rod", "rocker"))
    assert free < 1e-6 * np.abs(run.reactions()).max()


def test_dataset(run):
    pytest.importorskip("xarray")
    data = run.to_xarray()
    found = data["joint_wrench"].sel(link="rod", wrench="force z")
    np.testing.assert_array_equal(found, run.joint_wrench("rod")[:, 5])
    np.testing.assert_array_equal(data["loop_wrench"].sel(loop="pin"), run.loop_wrench("pin"))
    assert str(data["wrench_unit"].sel(wrench="moment x").item()) == "N m"


def test_plot(run):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    ax = run.plot_reactions()
    shown = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert list(shown) == ["crank", "rod", "rocker", "weight", "pin"]
    np.testing.assert_allclose(shown["pin"], np.linalg.norm(run.loop_wrench("pin")[:, 3:], axis=1))
    assert ax.get_ylabel() == "force [N]"
    ax = run.plot_reactions(["crank"], components="world", quantity="moment")
    assert ax.get_ylabel() == "moment [N m]"
    assert all(line.get_label().startswith("crank: M") for line in ax.lines)
    with pytest.raises(KeyError, match="link or loop"):
        run.plot_reactions("crnk")
    with pytest.raises(ValueError, match="quantity"):
        run.plot_reactions(quantity="torque")
    plt.close("all")
