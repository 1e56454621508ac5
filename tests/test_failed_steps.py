"""What is said of steps that cannot be taken: an iteration that runs away is not a singular tangent."""

import numpy as np
import pytest

import pliant as pl
from pliant.kernels.solve.newton import EXHAUSTED, SINGULAR
from pliant.solve.methods.failure import why_not
from pliant.system.dynamics import residual_tangent
from test_threads import crawler

STEP = 0.01


@pytest.fixture(scope="module")
def robot():
    return crawler().compile()


def thrown(system, seed):
    """A state in motion, far from rest, and an input."""
    rng = np.random.default_rng(seed)
    return system.random(rng, scale=0.4), 0.5 * rng.normal(size=system.nv), rng.normal(size=system.nu)


@pytest.mark.parametrize("method", ["sdirk2", "sdirk3", "midpoint", "euler"])
def test_an_iteration_that_runs_away(robot, method):
    """Its last tangent, among numbers that overflow, cannot be factored; that of the start can, and smaller steps are taken."""
    said = []
    for seed in range(6):
        q, v, u = thrown(robot, seed)
        try:
            pl.rollout(robot, u[None], step=STEP, start=q, velocity=v, method=method)
        except pl.RolloutError as error:
            said.append(str(error))
            g = 0.4 * STEP
            S = residual_tangent(robot, (q, v, np.zeros(robot.nv), u, None), (1.0, 1.0 / g, 1.0 / g**2))
            scale = robot.internal.scale
            assert np.linalg.cond(scale[:, None] * S * scale) < 1e9
            run = pl.rollout(robot, u[None], step=STEP, start=q, velocity=v, method=method, subdivide=True)
            assert "1 of 1 steps were subdivided" in run.warnings[0]  # though no other step is there to compare it with
            assert f"into {len(run)} parts" in run.warnings[0]
    assert said
    assert not [text for text in said if "singular" in text]
    assert any("runs away: the step is too long" in text and "smaller step, or subdivide=True" in text for text in said)


def test_steps_that_were_halved_are_not_called_subdivided(robot):
    run = pl.rollout(robot, np.zeros((3, robot.nu)), step=1e-4, start=robot.neutral(), subdivide=True)
    assert run.warnings == ()
    assert len(run.halved()) == 6
    assert run.halved().warnings == ()


def test_simulations_say_the_same(robot):
    said = []
    for seed in range(6):
        q, v, u = thrown(robot, seed)
        run = pl.simulate(robot, STEP, step=STEP, u=u, start=q, velocity=v)
        if not run.success:
            said.append(run.message)
    assert said
    assert not [text for text in said if "singular" in text]


def test_each_reason_by_itself():
    """On a tape of one step of a body: with its mass the tangent is regular, without mass and stiffness it is not."""
    body = pl.Robot("body", gravity=(0, 0, 0))
    body.add_body("one", joint=pl.Prismatic("x"), shape=pl.Sphere(0.1), mass=1.0)
    body.add_body("two", parent="one", joint=pl.Prismatic("y"), shape=pl.Sphere(0.1), mass=1.0)
    system = body.compile()
    tape = pl.rollout(system, np.zeros((1, 0)), step=STEP, start=np.zeros(2)).parts[0].memory.tape
    assert why_not(system, tape, STEP, EXHAUSTED) == "Newton's iteration does not converge"
    assert why_not(system, tape, STEP, SINGULAR).startswith("Newton's iteration runs away")
    light = system.with_parameters({"two.mass": 1e-30})
    tape = pl.rollout(system, np.zeros((1, 0)), step=STEP, start=np.zeros(2)).parts[0].memory.tape
    assert why_not(light, tape, STEP, SINGULAR) == "its tangent is singular"
    for wrong in (np.nan, 1e200):
        tape.q[1], tape.v[1] = wrong, wrong
        assert why_not(system, tape, STEP, EXHAUSTED).startswith("Newton's iteration runs away")
