"""Configurations from poses and numbers by name, and starts given so."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl

POSE = pl.translate(0.3, -0.2, 1.0) @ pl.rotate((1, 2, -1), 0.8)


@pytest.fixture(scope="module")
def system() -> pl.System:
    """A floating body with offsets, a rod on a free joint on it, a ball joint, and ordinary joints."""
    robot = pl.Robot("ship")
    shifted = pl.translate(0.1, 0.2, 0.3) @ pl.rotate("y", 0.4)
    turned = pl.translate(-0.05, 0.0, 0.02) @ pl.rotate("z", -0.7)
    hull = robot.add_body(
        "hull", joint=pl.Free(), offset=shifted, offset_after=turned, shape=pl.Box(0.4, 0.2, 0.1), mass=2.0
    )
    mast = robot.add_body("mast", parent=hull, joint=pl.Universal("x", "y"), shape=pl.Cylinder(0.01, 0.3), mass=0.1)
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e3)
    robot.add_rod(
        "line", parent=mast, joint=pl.Free(stiffness=1.0), offset_after=turned, length=0.3, section=pl.Circle(0.01),
        material=rubber, strains=pl.Strains(bending=1),
    )  # fmt: skip
    robot.add_body("ball", parent=mast, joint=pl.Spherical(), offset=turned, shape=pl.Sphere(0.05), mass=0.2)
    robot.add_rod(
        "fin", parent=hull, length=0.2, section=pl.Circle(0.01), material=rubber, strains=pl.Strains(bending=0)
    )
    return robot.compile()


def test_links_are_where_they_were_wanted(system: pl.System) -> None:
    line = pl.translate(-0.4, 0.1, 0.7) @ pl.rotate("x", 2.0)
    ball = pl.rotate((0, 1, 1), 1.1)
    q = system.configuration({"line": line, "mast": (0.2, -0.1), "hull": POSE, "ball": ball, "fin": [0.5, -0.3]})
    np.testing.assert_allclose(system.pose("hull", q), POSE.matrix, atol=1e-14)
    np.testing.assert_allclose(system.pose("line.base", q), line.matrix, atol=1e-14)
    np.testing.assert_allclose(system.pose("ball", q)[:3, :3], ball.rotation, atol=1e-14)
    np.testing.assert_array_equal(q[system.q_slice("mast")], [0.2, -0.1])
    np.testing.assert_array_equal(q[system.q_slice("fin")], [0.5, -0.3])


def test_other_forms(system: pl.System) -> None:
    at = system.configuration({"hull": (1.0, 2.0, 3.0)})
    np.testing.assert_allclose(system.pose("hull", at), pl.translate(1, 2, 3).matrix, atol=1e-14)
    again = system.configuration({"hull": at[system.q_slice("hull")], "line": at[system.q_slice("line")]})
    np.testing.assert_allclose(again, at, atol=1e-15)
    turned = system.configuration({"ball": pl.rotate("z", 0.5).rotation})
    np.testing.assert_allclose(system.pose("ball", turned)[:3, :3], pl.rotate("z", 0.5).rotation, atol=1e-14)
    name = system.coordinate_names[system.q_slice("fin").start]
    assert system.configuration({name: 0.7})[system.q_slice("fin").start] == 0.7
    np.testing.assert_array_equal(system.configuration(), system.neutral())


@pytest.mark.parametrize(
    ("placed", "error", "text"),
    [
        ({"hul": POSE}, KeyError, "did you mean 'hull'"),
        ({"mast": POSE}, ValueError, r"'mast' .* give numbers, 2 of its Universal joint .*; poses are for"),
        ({"mast": [1.0, 2.0, 3.0]}, ValueError, "2 of its Universal joint"),
        ({"fin": POSE}, ValueError, "all 2 coordinates of the link"),
        ({"hull": [1.0, 2.0]}, ValueError, "start of 'hull'"),
        ({"hull.x": 1.0}, ValueError, r"give the pose of the link, \{'hull': pose\}"),
        ({"hull": [np.nan, 0, 0]}, ValueError, "start of 'hull'"),
        ([1.0], TypeError, "must be a dictionary"),
    ],
)
def test_what_is_refused(system: pl.System, placed, error, text) -> None:
    with pytest.raises(error, match=text):
        system.configuration(placed)


def test_every_solver_starts_there(system: pl.System) -> None:
    placed = {"hull": POSE, "mast": (0.1, 0.0)}
    q = system.configuration(placed)
    np.testing.assert_array_equal(pl.simulate(system, 0.01, start=placed).q[0], q)
    np.testing.assert_array_equal(pl.rollout(system, np.zeros((2, 0)), step=0.001, start=placed).q[0], q)
    robot = pl.Robot("buoy")
    robot.add_body("buoy", joint=pl.Free(stiffness=10.0), mass=0.1, inertia=(1e-3,) * 3)
    buoy = robot.compile()
    one, other = (
        pl.solve_statics(buoy, start=at) for at in ({"buoy": (0, 0, 0.2)}, buoy.configuration({"buoy": (0, 0, 0.2)}))
    )
    assert one.success
    np.testing.assert_array_equal(one.q, other.q)
    found = pl.batch(buoy, threads=1).statics(start={"buoy": (0, 0, 0.2)})
    np.testing.assert_allclose(found["q"][0], one.q, atol=1e-9)


def test_in_a_model_file() -> None:
    text = """
name: buoy
gravity: [0, 0, 0]
links:
  hull: {type: body, joint: Free, mass: 1.0, inertia: [0.1, 0.1, 0.1]}
  arm: {type: body, parent: hull, joint: {type: Revolute, axis: z}, mass: 0.1, inertia: [0.1, 0.1, 0.1]}
simulation:
  duration: 0.1
  start: {hull: {translation: [0, 0, 1], rotate: [z, pi/2]}, arm: 0.3}
"""
    model = pl.parse_model(text)
    run = model.simulate()
    np.testing.assert_allclose(
        run.poses("hull")[0], (pl.translate(0, 0, 1) @ pl.rotate("z", np.pi / 2)).matrix, atol=1e-14
    )
    assert run.q[0, 7] == 0.3
    again = pl.parse_model(pl.io.dump_model(model)).simulate()
    np.testing.assert_array_equal(again.q[0], run.q[0])
