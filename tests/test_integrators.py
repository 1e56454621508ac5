"""An integrator of one's own: a class that `simulate` takes."""

import numpy as np
import pytest

import pliant as pl


class SymplecticEuler(pl.Integrator):
    """First order with a constant step: the velocity first, then the configuration with it."""

    name = "symplectic Euler"

    def advance(self, end):
        p, h = self.problem, min(self.problem.steps.constant, end - self.t)
        v = self.v + h * self.a
        q = self.system.integrate(self.q, h * v)
        u, tau = p.drive(self.t + h, q, v)
        self.accept(self.t + h, q, v, self.system.forward_dynamics(q, v, tau, u=u))


def spinning() -> pl.System:
    """A body that turns freely, on a hinged arm: a manifold joint and an ordinary one."""
    robot = pl.Robot("spinning")
    arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.4, 0.02, 0.02), mass=0.3, com=(0.2, 0, 0))
    robot.add_body("top", parent=arm, joint=pl.Spherical(), offset=(0.4, 0, 0), shape=pl.Box(0.05, 0.1, 0.02), mass=0.2)
    return robot.compile()


def run(system, method, **options):
    v = np.array([0.3, 2.0, -1.0, 0.5])
    return pl.simulate(system, 0.5, velocity=v, method=method, **options)


def test_order_and_energy():
    system = spinning()
    exact = run(system, "dop853", rtol=1e-10, atol=1e-12).q[-1]
    steps = np.array([4e-3, 2e-3, 1e-3])
    errors = [np.abs(system.difference(exact, run(system, SymplecticEuler, step=h).q[-1])).max() for h in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(1.0, abs=0.1)


def test_what_simulate_does_for_it():
    """Outputs between steps, events, warnings, names: as for any method."""
    system = spinning()

    def level(state):
        return state.q[0] - 0.5

    result = run(system, SymplecticEuler, step=1e-3, output=0.05, events=level)
    assert result.success
    assert result.method == "symplectic Euler"
    np.testing.assert_allclose(result.t, np.arange(11) * 0.05)
    assert result.statistics.steps == pytest.approx(500, abs=1)
    (event,) = result.events
    assert event.q[0] == pytest.approx(0.5, abs=1e-9)


def test_refusals():
    system = spinning()
    with pytest.raises(TypeError, match="must be one of auto"):
        run(system, lambda problem: "not an integrator")
    with pytest.raises(ValueError, match="choose one of"):
        run(system, "euler")
    robot = pl.Robot("driven")
    link = robot.add_body("link", joint=pl.Revolute("z"), shape=pl.Sphere(0.1), mass=1.0)
    robot.add_motion("turn", link)
    with pytest.raises(ValueError, match="knows neither loops nor prescribed motion"):
        pl.simulate(robot.compile(), 0.1, method=SymplecticEuler, step=0.01)
