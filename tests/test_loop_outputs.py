"""What is shown of loops, couplings and what drives them: text, units, forces, plots, pictures."""

import numpy as np
import pytest

import pliant as pl
from pliant.viz.geometry import build_scene
from pliant.viz.ranges import prescribed_ranges


def lift() -> pl.Robot:
    """A free table on a guide that lifts it, and two wheels with a belt."""
    robot = pl.Robot("lift")
    robot.add_body("table", joint=pl.Free(), shape=pl.Box(0.3, 0.3, 0.02), mass=2.0)
    robot.add_loop("guide", "world", "table", joint=pl.Prismatic("z"))
    robot.add_motion("up", "guide")
    for name, joint in (("wheel", pl.Revolute("x")), ("disc", pl.Revolute("x")), ("nut", pl.Prismatic("x"))):
        robot.add_body(name, joint=joint, shape=pl.Sphere(0.05), mass=0.1)
    robot.add_coupling("belt", {"wheel": 1, "disc": -2})
    robot.add_coupling("screw", {"disc": 0.01, "nut": -1}, offset=0.1)
    robot.add_motor("drive", "wheel")
    return robot


@pytest.fixture(scope="module")
def run() -> pl.Result:
    return pl.simulate(
        lift().compile(), 0.5, motion={"up": lambda t: 0.5 * t**2}, u={"drive": 0.01}, step=0.05, output=0.05
    )


def test_text():
    shown = str(lift())
    assert "closed by\n   guide: world – table · Prismatic(axis=(0.0, 0.0, 1.0))" in shown
    assert "   belt: 1 wheel -2 disc = 0\n   screw: 0.01 disc -1 nut = 0.1" in shown
    assert "closed by" not in str(pl.Robot("open"))


def test_units():
    robot = lift()
    robot.add_loop("pin", "wheel", "disc", joint=pl.Cylindrical("x"))
    robot.add_motor("torque", "pin")
    robot.add_motor("servo", "pin", dof="displacement", control="position", kp=1.0)
    system = robot.compile()
    assert dict(zip(system.input_names, system.input_units)) == {"drive": "N m", "torque": "N m", "servo": "m"}
    units = dict(zip(system.loop_rows, system.multiplier_units))
    assert units["guide: motion of displacement"] == "N"
    assert units["pin: tilt 1"] == "N m"
    assert (units["belt: coupling"], units["screw: coupling"]) == ("N m", "")  # the ratios of the screw decide


def test_forces_of_a_prescribed_loop(run):
    assert run.success, run.message
    forces = run.prescribed_forces()
    assert list(forces) == ["up"]
    np.testing.assert_allclose(forces["up"][-1], [2 * (9.81 + 1)], rtol=1e-6)
    row = run.system.loop_rows.index("guide: motion of displacement")
    np.testing.assert_array_equal(forces["up"][:, 0], run.multipliers[:, row])


def test_plots(run):
    pytest.importorskip("matplotlib")
    labels = [line.get_label() for line in run.plot_multipliers().lines]
    assert any("guide: motion of displacement" in label for label in labels)
    assert any("belt: coupling" in label for label in labels)
    (line,) = run.plot_multipliers("screw").lines
    column = run.system.loop_rows.index("screw: coupling")
    np.testing.assert_array_equal(line.get_ydata(), run.multipliers[:, column])
    assert run.plot_multipliers("guide", components="world").lines
    (force,) = run.plot_prescribed_forces().lines
    np.testing.assert_array_equal(force.get_ydata(), run.prescribed_forces()["up"][:, 0])


def test_plots_of_couplings_alone():
    pytest.importorskip("matplotlib")
    robot = lift()
    robot.loops, robot.motions = {}, {}
    found = pl.simulate(robot.compile(), 0.1, u={"drive": 0.01}, step=0.05)
    assert found.plot_multipliers("belt").lines
    with pytest.raises(ValueError, match=r"has no loops, only couplings.*use components='rows'"):
        found.plot_multipliers(components="world")


def test_pictures(run):
    system = run.system
    scene = build_scene(system)
    assert "guide" in [solid.name for solid in scene.solids if solid.kind == "loop"]
    assert prescribed_ranges(system, scene.size) == {"up": (-0.5 * scene.size, 0.5 * scene.size)}


def test_pictures_of_every_restraint():
    robot = lift()
    restraints = {"rows": pl.Rows("xy"), "slot": pl.Slot("x"), "strut": pl.Distance(0.3), "blade": pl.Skate("y")}
    for name, joint in {**restraints, "roll": pl.Rolling(0.1, axis="y")}.items():
        robot.add_loop(name, "world", "table", joint=joint)
    marks = [solid.name for solid in build_scene(robot.compile()).solids if solid.kind == "loop"]
    assert marks == ["guide", *restraints, "roll"]
