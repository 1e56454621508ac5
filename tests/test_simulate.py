"""`simulate`: inputs, starts, outputs, events, interruption, failure, checkpoints, options."""

from __future__ import annotations

import io
import sys
import time

import numpy as np
import pytest

import pliant as pl


@pytest.fixture(scope="module")
def arm() -> pl.System:
    """A damped rod on a hinge with two tendons and a tip force."""
    robot = pl.Robot("arm")
    rubber = pl.Material(young=5e5, poisson=0.5, density=1000.0, viscosity=4e3)
    rod = robot.add_rod(
        "rod", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1),
        joint=pl.Revolute("y", damping=0.02, stiffness=1.0),
    )  # fmt: skip
    robot.add_tendon("left", rod, y=0.012)
    robot.add_tendon("right", rod, y=-0.012)
    robot.add_wrench("push", rod.tip, force=(0, 0, 1.0))
    return robot.compile()


@pytest.fixture(scope="module")
def pendulum() -> pl.System:
    """A point mass of 1 kg on a bar of 1 m without mass, about y."""
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    return robot.compile()


def final(result: pl.Result) -> np.ndarray:
    assert result.success, result.message
    return np.concatenate([result.q[-1], result.v[-1]])


# ---------------------------------------------------------------- inputs


def test_constant_inputs_in_every_form(arm: pl.System) -> None:
    options = {"step": 0.005}
    expected = final(pl.simulate(arm, 0.2, u={"left": 2.0, "push": 0.3}, **options))
    for u in (
        [2.0, 0.0, 0.3],
        np.array([2.0, 0.0, 0.3]),
        lambda t: {"left": 2.0, "push": 0.3},
        lambda t: [2.0, 0.0, 0.3],
        lambda t, state: {"left": 2.0, "push": 0.3},
    ):
        np.testing.assert_array_equal(final(pl.simulate(arm, 0.2, u=u, **options)), expected)
    assert np.abs(expected - final(pl.simulate(arm, 0.2, **options))).max() > 1e-3


def test_inputs_are_recorded(arm: pl.System) -> None:
    result = pl.simulate(arm, 0.2, u=lambda t: {"left": 1 + t}, output=0.05)
    assert result.u.shape == (5, 3)
    np.testing.assert_allclose(result.u[:, 0], 1 + result.t)
    assert not result.u[:, 1:].any()


@pytest.mark.parametrize("method", ["generalized-alpha", "radau"])
def test_tau_is_a_generalised_force(arm: pl.System, method: str) -> None:
    """A tip force as an input, and the same as τ computed from the state."""

    def tau(t: float, state) -> np.ndarray:
        return arm.jacobian("rod.tip", state.q, reference="world").T @ [0, 0, 0, 0, 0, 0.4]

    options = {"method": method, "rtol": 1e-7, "atol": 1e-8} if method == "radau" else {"step": 1e-4}
    first = final(pl.simulate(arm, 0.1, u={"push": 0.4}, **options))
    second = final(pl.simulate(arm, 0.1, tau=tau, **options))
    # the α-methods hold a feedback law over a step
    np.testing.assert_allclose(second, first, atol=1e-5 if method == "radau" else 2e-3)


def test_constant_tau(pendulum: pl.System) -> None:
    """Half the largest moment of gravity holds the pendulum at 30°."""
    tau = np.array([9.81 * np.sin(np.pi / 6)])
    result = pl.simulate(pendulum, 1.0, tau=tau, start=[np.pi / 6])
    assert np.abs(result.q - np.pi / 6).max() < 1e-9


@pytest.mark.parametrize("method", ["generalized-alpha", "lsoda"])
def test_feedback_law(pendulum: pl.System, method: str) -> None:
    """PD control with compensation of gravity: a damped oscillator with a known solution."""
    kp, kd, target = 20.0, 9.0, 0.8  # critically damped would be 2 √20 = 8.94

    def law(t: float, state) -> list[float]:
        return [-kp * (state.q[0] - target) - kd * state.v[0] + 9.81 * np.sin(state.q[0])]

    result = pl.simulate(pendulum, 2.0, tau=law, method=method, max_step=0.002, output=0.1)
    roots = np.roots([1, kd, kp])
    c = np.linalg.solve([[1, 1], roots], [-target, 0])
    exact = target + (c[:, None] * np.exp(np.outer(roots, result.t))).sum(axis=0)
    # sample and hold of the α-methods is of first order in the step
    assert np.abs(result.q[:, 0] - exact).max() < (1e-2 if method == "generalized-alpha" else 2e-3)


def test_feedback_sees_the_state_at_the_start_of_the_step(arm: pl.System) -> None:
    seen = []

    def law(t: float, state) -> dict[str, float]:
        seen.append((t, state.t, state.q.copy()))
        return {"left": 1.0}

    result = pl.simulate(arm, 0.05, u=law, step=0.01, method="newmark")
    assert all(t == time for t, time, _ in seen)
    for t, _, q in seen:
        k = np.argmin(np.abs(result.t - t))
        assert result.t[k] == pytest.approx(t, abs=1e-12)
        np.testing.assert_array_equal(q, result.q[k])


def test_bad_inputs(arm: pl.System) -> None:
    with pytest.raises(KeyError, match="lift"):
        pl.simulate(arm, 0.1, u={"lift": 1.0})
    with pytest.raises(ValueError, match="shape"):
        pl.simulate(arm, 0.1, u=[1.0])
    with pytest.raises(ValueError, match="tau"):
        pl.simulate(arm, 0.1, tau=[1.0])
    with pytest.raises(TypeError, match="function of t"):
        pl.simulate(arm, 0.1, u=lambda: None)
    with pytest.raises(TypeError, match="function of t"):
        pl.simulate(arm, 0.1, u=lambda a, b, c: None)
    # an argument with a default is not the state
    assert pl.simulate(arm, 0.02, u=lambda t, gain=2.0: {"left": gain}).success


# ---------------------------------------------------------------- start


def test_an_equilibrium_stays(arm: pl.System) -> None:
    u = {"left": 3.0}
    rest = pl.solve_statics(arm, u)
    assert rest.success
    result = pl.simulate(arm, 1.0, u=u, start=rest)
    assert np.abs(result.q - rest.q).max() < 1e-6
    assert not np.any(result.v[0])


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [({"step": 0.002}, 1e-3), ({}, 2e-2), ({"method": "radau", "rtol": 1e-7, "atol": 1e-7}, 1e-5)],
)
def test_continuing_equals_one_long_run(arm: pl.System, method: dict, tolerance: float) -> None:
    def u(t: float) -> dict[str, float]:
        return {"left": 2 * np.sin(5 * t) ** 2}

    whole = pl.simulate(arm, 0.6, u=u, **method)
    first = pl.simulate(arm, 0.3, u=u, **method)
    second = pl.simulate(arm, 0.3, u=u, start=first, **method)
    assert second.t[0] == first.t[-1]
    assert second.t[-1] == pytest.approx(0.6)
    np.testing.assert_array_equal(second.v[0], first.v[-1])
    scale = np.concatenate([arm.internal.scale, 10 * arm.internal.scale])
    assert np.abs((final(second) - final(whole)) / scale).max() < tolerance


def test_start_and_time(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 0.5, start=[0.3], velocity=[-1.0], t0=2.0, tau=lambda t: [t])
    assert result.t[0] == 2.0
    assert result.t[-1] == 2.5
    assert (result.q[0, 0], result.v[0, 0]) == (0.3, -1.0)
    again = pl.simulate(pendulum, 0.5, start=result, velocity=[0.0], t0=0.0)
    assert again.t[0] == 0.0
    assert (again.q[0, 0], again.v[0, 0]) == (result.q[-1, 0], 0.0)
    # time matters: τ = t
    assert final(result)[0] != final(pl.simulate(pendulum, 0.5, start=[0.3], velocity=[-1.0], tau=lambda t: [t]))[0]


def test_start_does_not_change(pendulum: pl.System) -> None:
    q = np.array([0.5])
    pl.simulate(pendulum, 0.2, start=q, step=0.01)
    assert q[0] == 0.5


def test_bad_starts(arm: pl.System, pendulum: pl.System) -> None:
    with pytest.raises(ValueError, match="another robot"):
        pl.simulate(arm, 0.1, start=pl.simulate(pendulum, 0.1))
    with pytest.raises(ValueError, match="shape"):
        pl.simulate(arm, 0.1, start=[0.0])
    with pytest.raises(ValueError, match="shape"):
        pl.simulate(arm, 0.1, velocity=[0.0])
    with pytest.raises(ValueError, match="NaN"):
        pl.simulate(pendulum, 0.1, start=[np.nan])
    with pytest.raises(ValueError, match="t0"):
        pl.simulate(pendulum, 0.1, t0=np.inf)


# ---------------------------------------------------------------- output


@pytest.mark.parametrize("method", [{"step": 0.003}, {}, {"method": "bdf"}])
def test_output_interval_and_times(pendulum: pl.System, method: dict) -> None:
    every = pl.simulate(pendulum, 0.35, start=[0.5], output=0.1, **method)
    np.testing.assert_allclose(every.t, [0.0, 0.1, 0.2, 0.3, 0.35], atol=1e-14)
    even = pl.simulate(pendulum, 0.3, start=[0.5], output=0.1, **method)
    np.testing.assert_allclose(even.t, [0.0, 0.1, 0.2, 0.3], atol=1e-14)
    times = np.array([0.05, 0.0501, 0.21, 0.35])
    chosen = pl.simulate(pendulum, 0.35, start=[0.5], output=times, **method)
    np.testing.assert_array_equal(chosen.t, times)
    steps = pl.simulate(pendulum, 0.35, start=[0.5], **method)
    assert steps.statistics.steps == len(steps) - 1
    assert steps.t[0] == 0.0
    assert steps.t[-1] == pytest.approx(0.35, abs=1e-14)
    assert np.all(np.diff(steps.t) > 0)
    # the motion does not depend on when it is looked at
    np.testing.assert_array_equal(every.q[-1], steps.q[-1])
    # accelerations belong to the motion
    for r in (every, chosen):
        expected = np.array([pendulum.forward_dynamics(q, v) for q, v in zip(r.q, r.v)])
        np.testing.assert_allclose(r.a, expected, atol=0.1)


def test_output_before_time_zero(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 5.0, t0=-10.0, start=[1.0], output=0.5)
    np.testing.assert_allclose(result.t, -10.0 + 0.5 * np.arange(11))


def test_constant_step_ends_on_time(pendulum: pl.System) -> None:
    for duration, h in ((1.0, 0.1), (0.35, 0.1), (0.3, 0.1), (1.0, 2.0), (0.7, 0.07)):
        result = pl.simulate(pendulum, duration, step=h)
        assert result.t[-1] == pytest.approx(duration, abs=1e-15)
        assert result.statistics.steps == int(np.ceil(duration / h - 1e-9))


@pytest.mark.parametrize("output", [[0.0, 2.0], [-0.1, 0.1], [0.2, 0.1], [0.1, 0.1], [[0.1]], -0.1, 0.0])
def test_bad_output(pendulum: pl.System, output: object) -> None:
    with pytest.raises(ValueError, match="output"):
        pl.simulate(pendulum, 1.0, output=output)


# ---------------------------------------------------------------- events


def crossing(state) -> float:
    return state.q[0]


EXACT = {"method": "dop853", "rtol": 1e-12, "atol": 1e-12}


def quarter_period(amplitude: float) -> float:
    """Of a pendulum of 1 m, by the arithmetic-geometric mean."""
    a, b = 1.0, np.cos(amplitude / 2)
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2, np.sqrt(a * b)
    return np.pi / (2 * a) / np.sqrt(9.81)


def test_event_times_are_exact(pendulum: pl.System) -> None:
    quarter = quarter_period(1.0)
    result = pl.simulate(pendulum, 4.0, start=[1.0], events=crossing, **EXACT)
    times = [e.t for e in result.events]
    np.testing.assert_allclose(times, quarter * np.array([1, 3, 5, 7]), atol=1e-9)
    assert all(e.name == "crossing" for e in result.events)
    assert all(abs(e.q[0]) < 1e-9 for e in result.events)
    np.testing.assert_allclose([abs(e.v[0]) for e in result.events], np.sqrt(2 * 9.81 * (1 - np.cos(1.0))), rtol=1e-9)
    assert result.success
    assert result.message == "completed"


def test_roots_of_the_interpolation_are_exact(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 4.0, start=[1.0], events=crossing)
    assert len(result.events) == 4
    assert all(abs(e.q[0]) < 1e-9 for e in result.events)


def test_event_direction(pendulum: pl.System) -> None:
    quarter = quarter_period(1.0)
    for direction, expected in ((-1, [1, 5]), (1, [3, 7]), (0, [1, 3, 5, 7])):

        def down(state) -> float:
            return state.q[0]

        down.direction = direction
        result = pl.simulate(pendulum, 4.0, start=[1.0], events=[down], **EXACT)
        np.testing.assert_allclose([e.t for e in result.events], quarter * np.array(expected), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"step": 0.01}, {"output": 0.1}, {"method": "radau"}])
def test_terminal_event(pendulum: pl.System, options: dict) -> None:
    def stop(state) -> float:
        return state.q[0] + 0.5

    def before(state) -> float:
        return state.q[0]

    stop.terminal = True
    result = pl.simulate(pendulum, 10.0, start=[1.0], events=[stop, before], **options)
    assert result.success
    assert "stop" in result.message
    assert [e.name for e in result.events] == ["before", "stop"]
    assert result.events[-1].q[0] == pytest.approx(-0.5, abs=1e-9)
    assert result.t[-1] <= result.events[-1].t
    if "output" not in options:
        assert result.t[-1] == result.events[-1].t
        np.testing.assert_allclose(result.q[-1], result.events[-1].q, atol=1e-12)
    assert np.all(result.q[:, 0] >= -0.5 - 1e-9)


def test_event_at_the_start_is_not_an_event(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 0.3, start=[0.0], velocity=[1.0], events=crossing)
    assert not result.events


def test_event_of_time(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 1.0, events=lambda state: state.t - 0.3)
    assert len(result.events) == 1
    assert result.events[0].t == pytest.approx(0.3, abs=1e-12)


# ---------------------------------------------------------------- progress, interruption, failure


def test_quiet_without_a_terminal(pendulum: pl.System, capfd: pytest.CaptureFixture) -> None:
    pl.simulate(pendulum, 5.0, start=[1.0], step=0.001)
    captured = capfd.readouterr()
    assert not captured.out
    assert not captured.err


def test_progress_on_a_terminal(pendulum: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def slow(t: float) -> list[float]:
        time.sleep(0.02)
        return [0.0]

    for wanted, shown in ((None, True), (False, False)):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        pl.simulate(pendulum, 0.2, tau=slow, step=0.01, progress=wanted)
        assert ("real time" in screen.getvalue()) == shown
        if shown:
            assert screen.getvalue().endswith("\n")


@pytest.mark.parametrize("options", [{"step": 0.01}, {}, {"method": "lsoda"}])
def test_interrupt_returns_what_there_is(pendulum: pl.System, options: dict) -> None:
    def tau(t: float) -> list[float]:
        if t > 0.5:
            raise KeyboardInterrupt
        return [0.0]

    result = pl.simulate(pendulum, 1.0, start=[1.0], tau=tau, **options)
    assert not result.success
    assert "interrupted" in result.message
    assert 0.2 < result.t[-1] <= 0.5
    assert len(result) > 3
    assert np.all(np.isfinite(result.q))


@pytest.mark.parametrize(
    "options",
    [
        {"step": 0.01},
        {},
        {"method": "radau"},
        *({"method": m} for m in ("bdf", "lsoda", "rk45", "dop853")),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_failure_keeps_what_there_is(pendulum: pl.System, options: dict) -> None:
    def tau(t: float) -> list[float]:
        return [np.nan if t > 1.0 else 0.0]

    result = pl.simulate(pendulum, 2.0, start=[1.0], tau=tau, **options)
    assert not result.success
    assert result.message
    assert result.message != "completed"
    assert 0.5 < result.t[-1] <= 1.0 + 1e-9
    assert np.all(np.isfinite(result.q))
    assert np.all(np.isfinite(result.v))
    str(result)


def test_a_late_load_is_not_stepped_over(pendulum: pl.System) -> None:
    """From rest, the first step must not be so long that it misses what happens later."""
    result = pl.simulate(pendulum, 10.0, tau=lambda t: [5.0 * np.exp(-((t - 5.0) ** 2))])
    assert np.abs(result.q).max() > 0.1


# ---------------------------------------------------------------- checkpoints


def test_checkpoint_and_resume(arm: pl.System, tmp_path) -> None:
    def u(t: float) -> dict[str, float]:
        return {"left": 2 * np.sin(5 * t) ** 2}

    def interrupted(t: float) -> dict[str, float]:
        if t > 0.4:
            raise KeyboardInterrupt
        return u(t)

    path = tmp_path / "run.h5"
    options = {"step": 0.001}
    broken = pl.simulate(arm, 0.6, u=interrupted, checkpoint=path, checkpoint_interval=0.0, **options)
    assert not broken.success
    saved = pl.Result.load(path, arm)
    assert saved.message == "checkpoint"
    assert saved.t[-1] == pytest.approx(0.4, abs=2e-3)
    rest = pl.simulate(arm, 0.6 - saved.t[-1], u=u, start=saved, **options)
    whole = pl.simulate(arm, 0.6, u=u, **options)
    assert rest.t[-1] == pytest.approx(0.6)
    scale = np.concatenate([arm.internal.scale, 10 * arm.internal.scale])
    assert np.abs((final(rest) - final(whole)) / scale).max() < 1e-3


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"duration": -1.0}, "duration"),
        ({"duration": 0.0}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"method": "euler"}, "generalized-alpha"),
        ({"method": "bdf", "step": 0.01}, "max_step"),
        ({"step": 0.0}, "step"),
        ({"step": -0.1}, "step"),
        ({"rho": 1.5}, "rho"),
        ({"rho": -0.1}, "rho"),
        ({"rtol": 0.0}, "rtol"),
        ({"atol": -1e-3}, "atol"),
        ({"max_step": 0.0}, "max_step"),
        pytest.param({"first_step": -1.0}, "first_step"),
        pytest.param({"newton_tolerance": 0.0}, "newton_tolerance"),
    ],
)
def test_bad_options(pendulum: pl.System, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pl.simulate(pendulum, **{"duration": 1.0, **options})


def test_method_names(pendulum: pl.System) -> None:
    names = {
        pl.simulate(pendulum, 0.1, method=m).method
        for m in ("generalized-alpha", "newmark", "hht", "bdf", "radau", "lsoda", "rk45", "dop853")
    }
    assert len(names) == 8


def test_cvode(arm: pl.System) -> None:
    pytest.importorskip("sksundae")
    options = {"u": {"left": 2.0}, "rtol": 1e-7, "atol": 1e-7, "output": 0.05}
    result, expected = (pl.simulate(arm, 0.2, method=m, **options) for m in ("cvode", "radau"))
    scale = arm.internal.scale
    assert np.abs((result.q - expected.q) / scale).max() < 1e-4
    assert np.abs((result.v - expected.v) / scale).max() < 1e-2


def test_first_step(pendulum: pl.System) -> None:
    result = pl.simulate(pendulum, 1.0, start=[1.0], first_step=1e-4)
    assert result.t[1] == pytest.approx(1e-4)


def test_statistics(arm: pl.System) -> None:
    fixed = pl.simulate(arm, 0.2, step=0.01).statistics
    assert fixed.steps == 20
    assert fixed.rejected == 0
    assert fixed.iterations >= 20
    assert fixed.residuals == fixed.iterations
    assert 1 <= fixed.factorisations <= fixed.iterations
    assert fixed.wall_time > 0
    variable = pl.simulate(arm, 0.2, u=lambda t: {"left": 30.0 * (t > 0.1)}).statistics
    assert variable.rejected > 0  # the jump
    ode = pl.simulate(arm, 0.2, method="radau").statistics
    assert ode.steps > 0
    assert ode.residuals > ode.steps
    assert ode.factorisations > 0
    assert "steps" in str(ode)


def test_factorisations_are_reused() -> None:
    """A rod that swings gently needs far fewer factorisations than steps."""
    robot = pl.Robot("rod")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e4)
    robot.add_rod("rod", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=2))
    s = pl.simulate(robot.compile(), 1.0, step=0.005).statistics
    assert s.factorisations < 0.3 * s.steps


def test_cvode_agrees_with_radau() -> None:
    """SUNDIALS on a floating soft robot: quaternions, exact Jacobian, output between its steps."""
    pytest.importorskip("sksundae")
    robot = pl.Robot("floating", gravity=(0, 0, 0))
    base = robot.add_body("base", joint=pl.Free(), mass=1.0, inertia=(0.01, 0.02, 0.03))
    material = pl.Material(young=1e5, poisson=0.4, density=1000, viscosity=100)
    strains = pl.Strains.kirchhoff(1)
    robot.add_rod("rod", parent=base, length=0.5, section=pl.Circle(0.02), material=material, strains=strains)
    system = robot.compile()
    v = np.zeros(system.nv)
    v[:6] = 1.0, 2.0, -1.0, 0.3, 0.0, 0.1
    options = {"velocity": v, "rtol": 1e-8, "atol": 1e-9, "output": 0.25}
    runs = [pl.simulate(system, 2.0, method=method, **options) for method in ("cvode", "radau")]
    assert all(run.success for run in runs)
    assert runs[0].statistics.steps > 20
    np.testing.assert_allclose(runs[0].t, runs[1].t)
    for a, b in zip(runs[0].q, runs[1].q):
        assert np.abs(system.difference(a, b)).max() < 1e-5
