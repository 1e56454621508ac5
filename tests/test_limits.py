"""Never endless, never mute: requests that cannot be met are refused with their cost, and runs that crawl say why."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest

import pliant as pl
from pliant.solve import crawl, limits
from pliant.solve.result import Statistics


@pytest.fixture(scope="module")
def pendulum() -> pl.System:
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    return robot.compile()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"duration": 1e300}, r"duration = 1e\+300 "),
        ({"duration": 1e50}, r"duration = 1e\+50 s is too large.*closer than 2\.1e\+34 s"),
        ({"duration": 1e308, "t0": 1.7e308}, r"t0 = 1\.7e\+308|too large"),
        ({"duration": 1e18}, "too large"),
        ({"t0": 1e18}, r"t0 = 1e\+18 s is too large.*closer than 1.3e\+02 s"),
        ({"t0": -1e18}, "too large"),
        ({"t0": 1e15}, "too large"),
        ({"duration": 1e-300}, "too short"),
        ({"duration": 1e-9, "t0": 1e9}, "too short"),
        (
            {"step": 1e-12},
            r"step = 1e-12 s makes 1e\+12 steps in 1 s, which take at least .* (days|years).*max_wall_time",
        ),
        ({"max_step": 1e-12}, r"max_step = 1e-12 s makes 1e\+12 steps"),
        ({"max_step": 1e-12, "method": "bdf"}, r"1e\+12 steps"),
        ({"step": 1e-15}, "too short"),
        ({"first_step": 1e-300}, "first_step = 1e-300 s is too short"),
        ({"step": 1e-7, "t0": 1e9}, r"step = 1e-07 s is too short.*4\.8e-07"),
        ({"max_step": 1e-7, "t0": 1e9}, "max_step = 1e-07 s is too short"),
        ({"newton_tolerance": 1e-30}, "newton_tolerance = 1e-30 .*16 digits.*1e-15"),
        ({"rtol": 1e-300}, "rtol = 1e-300 .*2.2e-14"),
        ({"rtol": 1e-16, "method": "dop853"}, "rtol = 1e-16"),
        ({"atol": 1e-300}, "atol = 1e-300"),
        ({"duration": 10.0, "output": 1e-9}, r"output = 1e-09 s stores 1e\+10 times, which needs about .* GB"),
        ({"output": 1e-300}, "output = 1e-300 s is too short"),
        ({"output": 1e-7, "t0": 1e9}, "cannot be told apart"),
        ({"max_wall_time": 0.0}, "max_wall_time"),
        ({"max_wall_time": -1.0}, "max_wall_time"),
        ({"checkpoint_interval": -1.0}, "checkpoint_interval"),
    ],
    ids=str,
)
def test_refused_with_its_cost(pendulum: pl.System, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pl.simulate(pendulum, **{"duration": 1.0, **options})


def test_rows_that_do_not_fit_in_memory(pendulum: pl.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_memory", lambda: 1e6)
    with pytest.raises(ValueError, match=r"step = 0.0001 s stores 1e\+04 times.*this machine has 0.001 GB.*output"):
        pl.simulate(pendulum, 1.0, step=1e-4)
    assert pl.simulate(pendulum, 0.1, step=1e-4, output=0.01).success


def test_wall_time_is_the_way_around(pendulum: pl.System) -> None:
    """Whoever limits the wall time may ask for more steps than anyone can wait for."""
    run = pl.simulate(pendulum, 1.0, step=1e-11, output=0.5, max_wall_time=0.05)
    assert not run.success
    assert "max_wall_time = 0.05 s" in run.message
    assert 0.0 < run.last.t < 1e-3


def test_large_but_possible(pendulum: pl.System) -> None:
    """Times of day in seconds since 1970, a year at rest."""
    assert pl.simulate(pendulum, 0.5, t0=1.7e9, start=[1.0], step=0.01, output=0.1).success
    assert pl.simulate(pendulum, 3e7).success


@pytest.mark.parametrize("options", [{}, {"step": 1e-4}, {"method": "radau"}, {"method": "lsoda"}], ids=str)
def test_max_wall_time(pendulum: pl.System, options: dict) -> None:
    def slow(t: float) -> list[float]:
        time.sleep(0.005)
        return [0.0]

    run = pl.simulate(pendulum, 1000.0, start=[1.0], tau=slow, max_wall_time=0.1, **options)
    assert not run.success
    assert "max_wall_time = 0.1 s is over" in run.message
    assert run.statistics.wall_time < 30.0
    assert 0.0 < run.last.t < 1000.0
    again = pl.simulate(pendulum, 0.1, start=run, **options)
    assert again.t[0] == run.last.t


def test_cvode_has_a_limit_of_wall_time(pendulum: pl.System) -> None:
    pytest.importorskip("sksundae")

    def slow(t: float) -> list[float]:
        time.sleep(0.005)
        return [0.0]

    run = pl.simulate(pendulum, 1000.0, start=[1.0], tau=slow, max_wall_time=0.1, method="cvode")
    assert "max_wall_time = 0.1 s is over" in run.message


# ---------------------------------------------------------------- runs that crawl


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PATIENCE": 0.2, "EVERY": 0.1, "LONG": 0.5}.items():
        monkeypatch.setattr(crawl.Watch, name, value)


@pytest.fixture(scope="module")
def stiff() -> pl.System:
    """A soft rod on a hinge with one coordinate that is far faster than the others: its undamped stretch."""
    robot = pl.Robot("stiff")
    material = pl.Material(young=1e9, poisson=0.3, density=1000.0)
    rod = robot.add_rod(
        "rod", length=0.4, section=pl.Circle(0.02), material=material, strains=pl.Strains(bending=1, stretch=1)
    )
    robot.add_tendon("cable", rod, y=0.01)
    return robot.compile()


@pytest.mark.usefixtures("impatient")
def test_a_run_that_crawls_says_why(stiff: pl.System, capfd: pytest.CaptureFixture) -> None:
    start = stiff.neutral()
    start[stiff.dof_names.index("rod.stretch[0]")] = 0.3
    options = {"start": start, "rtol": 1e-9, "atol": 1e-12, "max_wall_time": 1.5, "output": 1.0}
    run = pl.simulate(stiff, 100.0, method="generalized-alpha", **options)
    assert not run.success
    err = capfd.readouterr().err
    assert err.count("this run is slow") >= 1  # while it runs, without a terminal
    assert len(run.warnings) == 1
    for text in (err, run.warnings[0]):
        for words in ("× real time", "to go at this pace", "Steps are", "rod.stretch", "What may help", "rtol"):
            assert words in text, text
    assert "leave that strain out of the rod 'rod'" in run.warnings[0]
    assert run.warnings[0] in str(run)


def test_the_reminders_become_rarer(pendulum: pl.System, capfd: pytest.CaptureFixture) -> None:
    """A step of 1 ms each tenth of a second, for an hour."""

    class Hour:
        elapsed = 0.0

    class Slow:
        t, q, v, a = 0.0, np.zeros(1), np.zeros(1), np.zeros(1)

        def tally(self) -> Counter:
            return Counter({(0, False): 3, (0, True): 100})

    clock, stepper, statistics = Hour(), Slow(), Statistics()
    progress = crawl.Progress(False, 0.0, 1000.0)
    watch = crawl.Watch(pendulum, clock, progress, statistics, 1000.0, fixed=True)
    said = []
    for _ in range(36_000):
        clock.elapsed += 0.1
        stepper.t += 1e-3
        statistics.steps += 1
        watch.look(stepper)
        line = capfd.readouterr().err
        if line:
            said.append(clock.elapsed)
            assert "this run is slow" in line
            assert "0.01 × real time" in line
            assert "Newton's iteration, which diverges in 'bob" in line  # an error limits no constant step
            assert "a longer step, or error control" in line
    np.testing.assert_allclose(said, [7, 37, 127, 397, 1207], atol=3)
    assert "The run was slow" in watch.note
    # it catches up
    for _ in range(300):
        clock.elapsed += 10.0
        stepper.t += 3.0
        watch.look(stepper)
    assert not capfd.readouterr().err


@pytest.mark.usefixtures("impatient")
def test_quiet_if_asked(pendulum: pl.System, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_QUIET", "1")

    def slow(t: float) -> list[float]:
        time.sleep(0.02)
        return [0.0]

    run = pl.simulate(pendulum, 1000.0, tau=slow, method="rk45", max_step=1e-3, max_wall_time=1.0, output=10.0)
    assert not capfd.readouterr().err
    assert "The largest acceleration is that of" in run.warnings[0]


@pytest.mark.usefixtures("impatient")
def test_contacts_are_named(capfd: pytest.CaptureFixture) -> None:
    robot = pl.Robot("walker")
    robot.add_body("foot", joint=pl.Free(), shape=pl.Sphere(0.05), mass=1.0)
    robot.add_obstacle("ground", pl.HalfSpace())
    robot.add_contact("sole", "foot", "ground", stiffness=1e8)
    system = robot.compile()
    start = system.neutral()
    start[6] = 0.05 - (9.81 / 1e8) ** (2 / 3)  # where it rests

    def slow(t: float) -> dict:
        time.sleep(0.01)
        return {}

    run = pl.simulate(system, 1000.0, u=slow, start=start, max_step=1e-3, max_wall_time=2.0, output=10.0)
    assert "'sole'" in run.warnings[0]
    assert "softer contacts" in run.warnings[0]
    assert "'sole'" in capfd.readouterr().err


def test_a_run_that_does_not_crawl_says_nothing(pendulum: pl.System, capfd: pytest.CaptureFixture) -> None:
    run = pl.simulate(pendulum, 5.0, start=[1.0])
    assert run.warnings == ()
    assert not capfd.readouterr().err


# ---------------------------------------------------------------- constant steps that were not constant


def test_constant_steps_are_constant(pendulum: pl.System) -> None:
    """A constant step of 10 ms is one, whatever the tolerances say."""
    for method in ("auto", "esdirk5", "generalized-alpha", "newmark"):
        run = pl.simulate(pendulum, 0.2, start=[1.0], step=0.01, rtol=1e-10, atol=1e-10, method=method)
        assert run.statistics.steps == 20
        assert len(run) == 21
        assert run.warnings == ()
