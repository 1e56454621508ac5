"""What the page "Extending pliant" shows, tested: parts that are added from outside, without a change of the package."""

import pickle

import numpy as np
import pytest

import pliant as pl
from extending.cubic import CubicSpring
from extending.spring import SlidingSpring
from load_robots import branched, check_tangents, state
from pliant.kernels import engine, slots


def sprung() -> pl.Robot:
    """A floating, branched robot with springs at a tip, inside a rod and at a body."""
    robot = branched(3)
    arm, tool = robot.link("arm"), robot.link("tool")
    robot.add_load("first", SlidingSpring(arm.at(0.37), (0.1, 0.2, 0.3), (0, 0, 1), 40.0, 2.0))
    robot.add_load("second", SlidingSpring(tool.at((0.01, 0.02, -0.03)), (0, 0.5, 0), (1, 0, 0), 25.0))
    return robot


def test_a_family_from_outside():
    """Residual, tangents and input columns against the complex step; the tangent against differences too; energy."""
    robot = sprung()
    system = robot.compile()
    assert system.input_names == ("first", "second")
    assert system.input_units == ("m", "m")
    assert 0.37 in system.rod_points("arm")
    q, v, a = state(system, 1)
    u = np.array([0.1, -0.2])
    check_tangents(system, q, v, a, u)

    h = 1e-5
    for k in range(system.nv):
        d = np.eye(system.nv)[k] * h
        sides = [system.residual(system.integrate(q, s * d), v, a, u) for s in (1, -1)]
        column = system.residual_tangent(q, v, a, u)[:, k]
        assert np.abs((sides[0] - sides[1]) / (2 * h) - column).max() < 1e-8 * np.abs(column).max() + 1e-7

    def stretch(name: str, frame: pl.Frame, value: float) -> np.ndarray:
        spring = robot.loads[name]
        return system.pose(frame, q)[:3, 3] - spring.anchor - value * spring.direction

    lengths = [stretch(name, robot.loads[name].frame, value) for name, value in zip(system.input_names, u)]
    energy = 20.0 * lengths[0] @ lengths[0] + 12.5 * lengths[1] @ lengths[1]
    p = np.zeros(engine.PARAMETERS)
    system.run_job(engine.BALANCE, q, v, a, u, p=p)
    assert p[slots.REPORT_LOADS] == pytest.approx(energy, rel=1e-13)


def test_a_family_from_outside_in_solvers_and_files(tmp_path):
    """Statics and dynamics of a mass on a spring against formulas; bounds, copies, pickles, files, names."""
    robot = pl.Robot("mass on a spring")
    mass = robot.add_body("mass", joint=pl.Prismatic("z"), mass=0.5)
    spring = robot.add_load("anchor", SlidingSpring(mass.frame, (0, 0, 0), (0, 0, 1), 50.0, 0.1))
    assert robot.copy().loads == {"anchor": spring}
    system = robot.compile()
    rest = pl.solve_statics(system, {"anchor": 0.2})
    assert rest.q[0] == pytest.approx(0.2 - 0.5 * 9.81 / 50.0, rel=1e-12)
    assert system.has_potential(np.array([0.2]), np.zeros(1))
    run = pl.simulate(system, 1.0, start=[0.0], u={"anchor": 0.0}, rtol=1e-7, atol=1e-9)
    decay, ratio = 0.1, np.sqrt(100.0 - 0.1**2)
    low = -0.5 * 9.81 / 50.0
    expected = low - low * np.exp(-decay * run.t) * (np.cos(ratio * run.t) + decay / ratio * np.sin(ratio * run.t))
    assert np.abs(run.q[:, 0] - expected).max() < 2e-5  # of a swing of 0.2 m
    with pytest.raises(ValueError, match=r"input 'anchor' = 0.7 is not allowed: it must be between -0.5 and 0.5"):
        system.inputs({"anchor": 0.7})
    with pytest.raises(ValueError, match="taken already"):
        robot.add_load("mass", SlidingSpring(mass.frame, (0, 0, 0), (0, 0, 1), 50.0))
    robot.save(tmp_path / "spring.yaml")
    for again in (pickle.loads(pickle.dumps(robot)), pl.load_model(tmp_path / "spring.yaml").robot):
        assert again.compile().residual([0.1], [0.2], [0.3], [0.1]) == system.residual([0.1], [0.2], [0.3], [0.1])


def test_a_family_that_acts_on_coordinates():
    """With another family beside it, against the complex step; statics and dynamics against formulas."""
    robot = sprung()
    robot.add_load("hard", CubicSpring("hand", 3.0))
    robot.add_load("harder", CubicSpring("tool", 500.0))
    system = robot.compile()
    check_tangents(system, *state(system, 2), np.array([0.1, 0.2]))
    assert "cubic springs" in system.why_dense()

    robot = pl.Robot("mass on a hardening spring")
    robot.add_body("mass", joint=pl.Prismatic("z"), mass=0.5)
    robot.add_load("spring", CubicSpring("mass", 100.0))
    system = robot.compile()
    rest = pl.solve_statics(system)
    assert rest.q[0] == pytest.approx(-np.cbrt(0.5 * 9.81 / 100.0), rel=1e-10)
    run = pl.simulate(system, 1.0, start=[0.0], rtol=1e-6, atol=1e-8)
    energy = run.energies()
    total = energy.kinetic + energy.gravitational + 25.0 * run.q[:, 0] ** 4
    assert np.abs(total).max() < 1e-3 * energy.kinetic.max()
