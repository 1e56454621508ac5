"""Runs of many steps, and runs that begin late: nothing grows, overflows or drifts with the number of steps or of the second."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import pliant as pl
from pliant.solve.drive import Drive
from pliant.solve.methods import Integrator


@pytest.fixture(scope="module")
def pendulum() -> pl.System:
    robot = pl.Robot("pendulum")
    arm = robot.add_body("arm", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -0.5))
    robot.add_motor("motor", arm)
    return robot.compile()


# ---------------------------------------------------------------- many steps


def test_a_million_steps(pendulum: pl.System) -> None:
    """A run of 100 s in steps of 0.1 ms ended at 6.5 s, as did every one of more than 65 500 steps."""
    run = pl.simulate(pendulum, 100.0, start=[1.0], step=1e-4, output=0.5)
    assert run.success, run.message
    assert run.statistics.steps == 10**6
    assert len(run) == 201
    assert run.warnings == ()
    exact = pl.simulate(pendulum, 100.0, start=[1.0], method="dop853", rtol=1e-12, atol=1e-12, output=0.5)
    np.testing.assert_allclose(run.q, exact.q, atol=1e-7)


def test_error_control_over_many_steps(pendulum: pl.System) -> None:
    run = pl.simulate(pendulum, 80.0, start=[1.0], max_step=1e-3, output=1.0)
    assert run.success, run.message
    assert run.statistics.steps >= 80_000


def test_a_rollout_and_a_stepper_of_many_steps(pendulum: pl.System) -> None:
    n = 100_000
    run = pl.rollout(pendulum, np.full((n, 1), 0.1), step=1e-3, start=[1.0])
    sim = pl.Stepper(pendulum, [1.0], step=1e-3, watch=0)
    for _ in range(n):
        sim.step([0.1])
    assert sim.steps == n
    assert sim.t == pytest.approx(100.0, abs=1e-9)
    np.testing.assert_array_equal(sim.q, run.q[-1])
    np.testing.assert_array_equal(sim.v, run.v[-1])


class Counted(Integrator):
    """Explicit Euler, which takes one step at a time and never looks at `batch`."""

    most = 0

    def advance(self, end: float) -> str | None:
        Counted.most = max(Counted.most, self.batch)
        t = min(self.t + 1e-3, end)
        v = self.v + (t - self.t) * self.a
        q = self.q + (t - self.t) * v
        u, tau = self.problem.drive(t, q, v)
        self.accept(t, q, v, self.system.forward_dynamics(q, v, tau, u=u))
        return None


def test_what_is_tried_at_once_is_bounded(pendulum: pl.System) -> None:
    run = pl.simulate(pendulum, 2.0, start=[1.0], method=Counted)
    assert run.success, run.message
    assert Counted.most <= Integrator.ROOM


@pytest.mark.parametrize(
    "options",
    [{}, {"u": lambda t: [0.1 * np.sin(t)]}, {"events": lambda state: state.q[0]}],
    ids=["", "inputs", "events"],
)
def test_memory_does_not_grow_with_the_steps(pendulum: pl.System, options: dict) -> None:
    """With `output` a run keeps what was asked for, and nothing of every step."""

    def most(duration: float) -> int:
        tracemalloc.start()
        run = pl.simulate(pendulum, duration, start=[1.0], step=1e-4, output=duration / 4, **options)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert run.success, run.message
        return used

    most(0.01)
    few, many = most(0.2), most(1.0)
    assert many - few < 30_000  # bytes; four numbers of each step would take 250 000


# ---------------------------------------------------------------- late


@pytest.mark.parametrize("t0", [0.0, 1e3, 1e5, 1e7, -1e5])
@pytest.mark.parametrize("method", ["auto", "esdirk5", "midpoint"])
def test_constant_steps_end_at_breaks_at_any_time(pendulum: pl.System, method: str, t0: float) -> None:
    """Times near 1e5 s are told apart to 1.5e-11 s: what is nearer is the same, and no step of that length is taken."""
    h, n = 1e-4, 2000
    # what is a number of steps before rounding lies at the end of one
    breaks = [t0 + 1000 * h, t0 + 1500 * h]
    run = pl.simulate(pendulum, n * h, start=[1.0], step=h, t0=t0, breaks=breaks, method=method)
    assert run.success, run.message
    assert run.warnings == ()
    assert run.statistics.steps == n
    assert np.abs(np.diff(run.t) - h).max() < 5 * np.spacing(max(abs(t0), 1.0))
    first = pl.simulate(pendulum, n * h, start=[1.0], step=h, method=method)
    np.testing.assert_allclose(run.q, first.q, atol=1e-8)


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_alpha_methods_keep_their_factors_at_any_time(pendulum: pl.System, method: str) -> None:
    early, late = (pl.simulate(pendulum, 0.1, start=[1.0], step=1e-4, t0=t0, method=method) for t0 in (0.0, 1e5))
    assert early.statistics.steps == late.statistics.steps == 1000
    assert early.statistics.factorisations == late.statistics.factorisations


@pytest.mark.parametrize("t0", [0.0, 1e5, 1e7])
@pytest.mark.parametrize("step", [None, 1e-3])
def test_samples_are_taken_at_any_time(pendulum: pl.System, t0: float, step: float | None) -> None:
    seen = []

    def law(t: float, state: pl.State) -> list[float]:
        seen.append(t)
        return [-state.v[0]]

    run = pl.simulate(pendulum, 0.1, start=[1.0], t0=t0, u=pl.Sampled(law, period=1e-3), step=step)
    assert run.success, run.message
    np.testing.assert_allclose(np.array(seen) - t0, 1e-3 * np.arange(100), atol=5 * np.spacing(max(t0, 1.0)))


@pytest.mark.parametrize("period", [1e-3, 0.1, 1 / 3, 7e-4])
@pytest.mark.parametrize("first", [0.0, 0.05, -3e4])
def test_instants_after_many_others(pendulum: pl.System, period: float, first: float) -> None:
    """Up to 10¹⁰ instants after the first, each is due, and the next one is the next."""
    control = Drive(pendulum, pl.Sampled(lambda t, state: [0.0], period=period, first=first)).control
    assert control is not None
    for k in np.random.default_rng(0).integers(0, 10 ** np.linspace(1, 10, 200)).tolist():
        t = first + k * period
        assert control.is_due(t)
        assert control.due(t) == pytest.approx(
            first + (k + 1) * period, abs=4 * np.spacing(abs(t) + abs(first) + period)
        )
        assert not control.is_due(t + 0.4 * period)
        assert control.due(t + 0.4 * period) == control.due(t)
