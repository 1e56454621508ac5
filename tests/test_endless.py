"""Statics without an equilibrium: the direction along which the loads do work without end is named, and they do."""

import numpy as np
import pytest

import pliant as pl
from pliant.solve.descent import minimise, potential_energy
from pliant.solve.endless import find_endless
from pliant.solve.static_problem import Problem

BAR = {"shape": pl.Box(0.2, 0.02, 0.02), "mass": 0.1, "com": (0.1, 0.0, 0.0)}


def robot_with(joint):
    robot = pl.Robot("loose")
    hinge = robot.add_body("arm", joint=pl.Revolute("x", stiffness=0.5), **BAR)
    robot.add_body("tool", parent=hinge, offset=(0.2, 0.0, 0.0), joint=joint, **BAR)
    return robot


CASES = {
    "slide": (pl.Prismatic("z"), None, "tool.displacement"),
    "hinge": (pl.Revolute("y"), 0.3, "tool.angle"),
    "screw": (pl.Helical("z", pitch=0.3), None, "tool.angle"),
    "ball": (pl.Spherical(), 0.3, "tool.wx"),
    "flight": (pl.Free(), None, "tool.v"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_force_that_nothing_resists_is_named(name):
    joint, moment, coordinate = CASES[name]
    system = robot_with(joint).compile()
    tau = np.zeros(system.nv)
    if moment:
        tau[1] = moment
    rest = pl.solve_statics(system, tau=tau)
    assert not rest.success
    assert "nothing resists it" in rest.message
    assert coordinate in rest.message
    problem = Problem(system, system.inputs(None), tau)
    found = find_endless(problem, rest.q, np.zeros(system.nv))
    assert found.falls == problem.potential
    # the work that is promised is done, from far away on and by another route: against gravity and tau, for whole turns
    far = 2 * np.pi * 1000 if found.turns else 1e4
    lever = 2 * np.pi * 7 if found.turns else 10.0
    if problem.potential:
        here, there = (
            system.gravitational_energy(q) + system.elastic_energy(q) - tau @ system.difference(system.neutral(), q)
            for q in (system.integrate(rest.q, s * found.direction) for s in (far, far + lever))
        )
        work = here - there
    else:
        places = far + lever * np.arange(280) / 280
        forces = [
            -system.residual(system.integrate(rest.q, s * found.direction), *np.zeros((2, system.nv)), None, tau)
            for s in places
        ]
        work = lever * float(np.mean(np.array(forces) @ found.direction))
    assert work == pytest.approx(found.force * lever, rel=1e-6)
    assert work > 0.0


@pytest.mark.parametrize("joint", [pl.Prismatic("z", stiffness=1e-3), pl.Revolute("y", stiffness=1e-3)])
def test_a_soft_spring_is_no_nothing(joint):
    """However soft: there is an equilibrium, far away."""
    system = robot_with(joint).compile()
    tau = np.zeros(system.nv)
    tau[1] = 0.3
    rest = pl.solve_statics(system, tau=tau)
    assert rest.success, rest
    problem = Problem(system, system.inputs(None), tau)
    assert find_endless(problem, rest.q, np.zeros(system.nv)) is None


def test_a_stop_and_a_floor_bound_the_motion():
    robot = robot_with(pl.Prismatic("z"))
    robot.add_stop("stop", "tool", lower=-0.1, stiffness=1e3)
    rest = pl.solve_statics(robot.compile())
    assert rest.success, rest
    assert rest.q[1] == pytest.approx(-0.1, abs=2e-3)


@pytest.mark.parametrize("seed", range(6))
def test_the_trust_region_finds_a_minimum_from_anywhere(seed):
    """From random configurations, many turns away and with negative curvature: energy falls to a positive definite stiffness."""
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot = pl.Robot("arm")
    ball = robot.add_body("ball", joint=pl.Spherical(stiffness=0.05), **BAR)
    arm = robot.add_rod(
        "arm",
        parent=ball,
        offset=(0.2, 0, 0),
        length=0.3,
        section=pl.Circle(0.01),
        material=silicone,
        strains=pl.Strains.kirchhoff(2),
    )
    robot.add_body("tool", parent=arm.tip, joint=pl.Revolute("z", stiffness=0.01), **BAR)
    system = robot.compile()
    problem = Problem(system, system.inputs(None), np.zeros(system.nv))
    start = system.random(np.random.default_rng(seed), scale=3.0)
    found = minimise(problem, start)
    assert found.residual < 1e-10
    assert found.iterations <= 100
    assert potential_energy(problem, found.q)[0] < potential_energy(problem, start)[0]
    K = system.residual_tangent(found.q, *np.zeros((2, system.nv)))
    assert np.linalg.eigvalsh((K + K.T) / 2)[0] > 0.0
