"""Quasi-static inverse kinematics: targets reached, the best of many inputs, bounds, loops, contact, and what is out of reach."""

import numpy as np
import pytest

import pliant as pl
from control_robots import SOFT, arm
from pliant.analysis.linear import input_slopes

TIP = pl.costs.Position("arm.tip")


@pytest.fixture(scope="module")
def cables() -> pl.System:
    return arm()


def test_slopes_of_coordinates_against_differences(cables):
    rest = pl.solve_statics(cables, [12.0, 4.0, 3.0, 5.0], tolerance=1e-13)
    slopes = input_slopes(cables, rest)
    for k in range(cables.nu):
        h, step = 1e-2, np.eye(cables.nu)[k]
        q = [pl.solve_statics(cables, rest.u + n * h * step, start=rest, tolerance=1e-13).q for n in (-2, -1, 1, 2)]
        found = (q[0] - 8 * q[1] + 8 * q[2] - q[3]) / (12 * h)
        assert slopes[:, k] == pytest.approx(found, abs=1e-8 * np.abs(slopes).max())


def test_reached_with_the_least_effort(cables):
    """Against a dense search through the null space of the targets."""
    found = pl.inverse_statics(cables, (TIP[1:], [0.06, -0.1]), bounds=(0.5, 40))
    assert found.status == "reached"
    assert found.success
    assert cables.pose("arm.tip", found.equilibrium.q)[1:3, 3] == pytest.approx([0.06, -0.1], abs=1e-6)
    assert found.residual == pytest.approx([0, 0], abs=1e-6)
    assert set(found.active) == {"c2", "c3"}
    null = np.linalg.svd(found.jacobian)[2][2:]
    gradient = null @ found.u  # of the effort, along inputs that keep the target
    pushes = np.array([found.u[k] <= 0.5 + 1e-6 for k in range(4)])
    free = null[:, ~pushes]
    directions = np.linalg.svd(null[:, pushes].T)[2][int(pushes.sum()) :] if pushes.sum() < 2 else np.zeros((0, 2))
    assert np.abs(directions @ gradient).max(initial=0.0) < 1e-3 * np.linalg.norm(gradient)
    assert free.shape[1] == 2
    for other in (np.full(4, 3.0), [0, 3.0, 0, 3.0]):
        more = pl.inverse_statics(
            cables,
            (TIP[1:], [0.06, -0.1]),
            bounds=(0.5, 40),
            start=pl.solve_statics(cables, np.clip(found.u + other, 0.5, 40)),
        )
        assert more.status == "reached"
        assert more.u == pytest.approx(found.u, abs=2e-3)


def test_preferred_inputs_and_posture_choose_among_many(cables):
    known = pl.solve_statics(cables, [12.0, 6.0, 4.0, 4.0])
    target = TIP[1:], cables.pose("arm.tip", known.q)[1:3, 3]
    tense = pl.inverse_statics(cables, target, bounds=(0, 60), prefer=np.full(4, 10.0), start=known)
    assert tense.status == "reached"
    assert tense.u.min() > 4.0
    shape = pl.solve_statics(cables, tense.u + [3.0, 3.0, 3.0, 3.0])
    near = pl.inverse_statics(cables, target, bounds=(0, 60), posture=shape, start=tense.equilibrium)
    assert near.status == "reached"
    assert near.effort <= 0.5 * np.sum((cables.difference(shape.q, tense.equilibrium.q) / cables.internal.scale) ** 2)


def test_a_pose_of_an_arm_with_enough_cables():
    robot = pl.Robot("long")
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=SOFT, strains=pl.Strains.kirchhoff(4))
    for k, (y, z) in enumerate([(0, 1), (1, 0), (0, -1), (-1, 0)]):
        robot.add_tendon(f"long{k}", rod, y=0.012 * y, z=0.012 * z)
        robot.add_tendon(f"short{k}", rod, y=0.012 * y, z=0.012 * z, end=0.5)
    system = robot.compile()
    inputs = np.array([9.0, 12.0, 3.0, 1.0, 2.0, 1.0, 4.0, 6.0])
    there = system.pose("arm.tip", pl.solve_statics(system, inputs).q)
    found = pl.inverse_statics(system, {"arm.tip": there}, bounds=(0, 30))
    assert found.status == "reached"
    assert system.pose("arm.tip", found.equilibrium.q) == pytest.approx(there, abs=2e-5)
    assert (
        np.linalg.norm(found.u) <= np.linalg.norm(inputs) + 1e-6
    )  # with no more effort than the inputs that it came from


def test_out_of_reach_is_the_nearest_and_said(cables):
    """Against a search over a grid of inputs."""
    goal = np.array([0.35, 0.0, 0.25])
    found = pl.inverse_statics(cables, {"arm.tip": goal}, bounds=(0, 12))
    assert found.status == "nearest"
    assert not found.success
    assert "out of reach" in found.message
    assert "c0" in found.active
    ups = np.linspace(0, 12, 13)
    best = min(
        np.linalg.norm(cables.pose("arm.tip", pl.solve_statics(cables, [up, 0.0, down, 0.0]).q)[:3, 3] - goal)
        for up in ups
        for down in (0.0, 1.0, 3.0)
    )
    assert found.error <= best + 1e-9
    gradient = -found.jacobian.T @ found.residual
    moves = np.clip(found.u - gradient, 0, 12) - found.u
    assert np.abs(moves).max() < 1e-4 * found.error


def test_inputs_of_any_size_without_bounds():
    """Pressures of some kPa, of which nobody told a range."""
    robot = pl.Robot("bellows", gravity=(0, 0, 0))
    rod = robot.add_rod("arm", length=0.2, section=pl.Circle(0.015), material=SOFT, strains=pl.Strains.kirchhoff(2))
    for k, (y, z) in enumerate([(0, 1), (1, 0), (0, -1), (-1, 0)]):
        robot.add_chamber(f"p{k}", rod, area=1e-4, y=0.01 * y, z=0.01 * z)
    system = robot.compile()
    found = pl.inverse_statics(system, (TIP[1:], [0.03, 0.02]))
    assert found.status == "reached"
    assert found.u.max() > 1e3
    assert found.iterations < 15


def test_a_path_starts_where_the_point_before_ended(cables):
    path = [(TIP[1:], [0.05 * np.cos(a), -0.1 + 0.04 * np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 9)]
    found = pl.inverse_statics(cables, path, bounds=(0, 40))
    assert [point.status for point in found] == ["reached"] * 9
    assert found[0].u == pytest.approx(found[-1].u, abs=1e-3)
    cold = pl.inverse_statics(cables, path[5], bounds=(0, 40))
    assert found[5].evaluations < cold.evaluations


def test_with_a_loop():
    """Two rods that hold a plate, each with a pair of cables: the plate is put to a height."""
    robot = pl.Robot("parallel", gravity=(0, 0, 0))
    rods = []
    for k, y in enumerate((-0.05, 0.05)):
        rod = robot.add_rod(
            f"r{k}",
            length=0.3,
            offset=(0, y, 0),
            section=pl.Circle(0.006),
            material=SOFT,
            strains=pl.Strains.planar_bending(3, axis="y"),
        )
        robot.add_tendon(f"u{k}", rod, z=0.005)
        robot.add_tendon(f"d{k}", rod, z=-0.005)
        rods.append(rod)
    plate = robot.add_body("plate", parent=rods[0].tip, shape=pl.Box(0.02, 0.1, 0.01), mass=0.05, com=(0, 0.05, 0))
    robot.add_loop("weld", plate.at((0, 0.1, 0)), rods[1].tip, joint=pl.Fixed())
    system = robot.compile()
    found = pl.inverse_statics(system, (pl.costs.Position("plate")[2:], [0.04]), bounds=(0, 20))
    assert found.status == "reached"
    assert system.pose("plate", found.equilibrium.q)[2, 3] == pytest.approx(0.04, abs=1e-6)
    assert found.u[:4:2] == pytest.approx(found.u[[0, 0]], rel=1e-3)  # both rods share the effort
    assert set(found.active) == {"d0", "d1"}


def test_with_contact():
    """A finger is to press on a wall with half a newton."""
    robot = pl.Robot("finger", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "arm", length=0.2, section=pl.Circle(0.008), material=SOFT, strains=pl.Strains.planar_bending(3, axis="y")
    )
    robot.add_tendon("cable", rod, z=0.006)
    ball = robot.add_body("ball", parent=rod.tip, shape=pl.Sphere(0.01), mass=0.01)
    robot.add_obstacle("wall", pl.HalfSpace(), pose=pl.translate(0, 0, 0.04) @ pl.rotate("x", np.pi))
    robot.add_contact("press", ball, "wall", stiffness=1e4)
    system = robot.compile()
    force = pl.costs.ContactForce("press")
    touching = pl.inverse_statics(system, (pl.costs.Clearance("press"), [-1e-5]), bounds=(0, 40))
    found = pl.inverse_statics(system, (force, [0.5]), bounds=(0, 40), start=touching.equilibrium)
    assert found.status == "reached"
    assert force.evaluate(pl.costs.States.at_rest(system, found.equilibrium.q)).value[0, 0] == pytest.approx(
        0.5, abs=1e-6
    )


def test_what_is_wrong_is_said(cables):
    with pytest.raises(KeyError, match="did you mean"):
        pl.inverse_statics(cables, {"arm.tpi": (0, 0, 0)})
    with pytest.raises(TypeError, match=r"targets = .* is not understood"):
        pl.inverse_statics(cables, 3.0)
    with pytest.raises(ValueError, match="leave nothing"):
        pl.inverse_statics(cables, {"arm.tip": (0, 0, 0)}, bounds=(5, 2))
