"""A stepper moves as one rollout does, to the last bit; it stays where it was if a step fails, and says how accurate it is."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import pliant as pl
from pliant import gallery
from test_threads import bow, crawler, spectral, swimmer

RNG = np.random.default_rng


def turn(t: float) -> float:
    return 0.3 * np.sin(5 * t)


def shorter(t: float) -> float:
    return 0.5 - 0.02 * np.sin(4 * t)


CASES = {
    "arm": (lambda: gallery.load("cable_driven_manipulator").build(), {}, 10.0),
    "loops": (lambda: bow().compile(), {}, 2.0),
    "a tendon of prescribed length": (lambda: bow(control="length").compile(), {"motion": {"cable": shorter}}, 0.0),
    "water and a user's load": (lambda: swimmer().compile(), {}, 1.0),
    "contact that remembers": (lambda: crawler().compile(), {}, 0.5),
    "a prescribed joint": (lambda: spectral().compile(), {"motion": {"turn": turn}}, 1.0),
}
SYSTEMS: dict[str, pl.System] = {}


def case(name: str):
    """System, options, inputs (8, nu) of a case."""
    build, options, size = CASES[name]
    system = SYSTEMS.setdefault(name, build())
    if system.loop_rows:  # mounted
        options = {**options, "start": pl.solve_statics(system, motion={"cable": 0.5} if "motion" in options else None)}
    return system, options, RNG(1).uniform(0, size, size=(8, system.nu))


def same(run: pl.Rollout, result: pl.Result, every: int) -> None:
    for name in ("t", "q", "v", "u", "tau"):
        np.testing.assert_array_equal(getattr(run, name)[::every], getattr(result, name))
    for name, kept in (("a", result.a), ("multipliers", result.multipliers), ("remembered", result.memory)):
        np.testing.assert_array_equal(getattr(run, name)[every::every], kept[1:])


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_one_rollout(name, substeps):
    system, options, U = case(name)
    step = 0.01
    run = pl.rollout(system, U, step=step / substeps, duration=len(U) * step, **options)
    sim = pl.Stepper(system, step=step, substeps=substeps, record=True, **options)
    np.testing.assert_array_equal(sim.q, run.q[0])
    saved = None
    for k, u in enumerate(U):
        sim.step(u)
        if k == 4:
            saved = pickle.dumps(sim.save())
    same(run, sim.result(), substeps)
    assert sim.statistics.iterations == run.statistics.iterations
    # on from the middle, here and in a stepper that stands elsewhere
    other = pl.Stepper(system, step=step, substeps=substeps, record=True, **options)
    other.step(U[-1])
    for stepper in (sim, other):
        stepper.restore(pickle.loads(saved))
        assert stepper.t == pytest.approx(5 * step)
        for u in U[5:]:
            stepper.step(u)
        same(run, stepper.result(), substeps)
    sim.reset()
    assert sim.t == 0.0
    for u in U:
        sim.step(u)
    same(run, sim.result(), substeps)


@pytest.fixture(scope="module")
def system() -> pl.System:
    return case("arm")[0]


@pytest.fixture(scope="module")
def rest(system) -> pl.Equilibrium:
    return pl.solve_statics(system)


def test_what_it_can_be_asked(system, rest):
    sim = pl.Stepper(system, rest, step=0.02, t0=1.0)
    assert sim.t == 1.0
    assert sim.warnings == ()
    np.testing.assert_array_equal(sim.q, rest.q)
    sim.step({"cable2": 5.0})
    sim.step()  # what acted before
    tau = np.linspace(0, 0.01, system.nv)
    sim.step(tau=tau)
    run = pl.rollout(
        system, {"cable2": [5.0] * 3}, step=0.02, start=rest, t0=1.0, tau=np.array([0 * tau, 0 * tau, tau])
    )
    np.testing.assert_array_equal(sim.q, run.q[-1])
    np.testing.assert_array_equal(sim.u, [0, 5, 0, 0, 0])
    state = sim.state
    assert state.t == sim.t == run.t[-1]
    np.testing.assert_array_equal(sim.a, run.a[-1])
    np.testing.assert_array_equal(state.memory, np.zeros(system.nz))
    q, v = run.q[-1], run.v[-1]
    np.testing.assert_array_equal(sim.pose("arm.tip"), system.pose("arm.tip", q))
    np.testing.assert_array_equal(sim.position("arm.tip"), system.pose("arm.tip", q)[:3, 3])
    np.testing.assert_array_equal(sim.twist("arm.tip"), system.twist("arm.tip", q, v))
    np.testing.assert_array_equal(sim.jacobian("arm.tip"), system.jacobian("arm.tip", q))
    sim.q[:] = 0.0  # a copy
    np.testing.assert_array_equal(sim.q, q)
    assert "t = 1.06 s" in repr(sim)
    sim.reset(rest, velocity=np.ones(system.nv) * 1e-3, t0=0.5)
    assert sim.t == 0.5
    np.testing.assert_array_equal(sim.v, 1e-3)
    sim.step(np.ones(5))
    sim.reset()  # where it was put last
    assert sim.t == 0.5


def test_motions_go_on_from_a_state():
    """With what contacts remember."""
    system, _options, U = case("contact that remembers")
    assert system.nz
    sim = pl.Stepper(system, step=0.01)
    for u in U[:4]:
        sim.step(u)
    start = sim.state
    assert np.any(start.memory)
    other = pl.Stepper(system, start, step=0.01)
    assert other.t == start.t
    for u in U[4:]:
        sim.step(u)
        other.step(u)
    run = pl.rollout(system, U[4:], step=0.01, start=start)
    np.testing.assert_array_equal(other.q, run.q[-1])
    np.testing.assert_allclose(sim.q, run.q[-1], rtol=0, atol=1e-9 * np.abs(sim.q).max())
    further = pl.simulate(system, 0.001, u=U[4], start=start)
    assert further.t[0] == start.t
    for name, given in (("q", start.q), ("v", start.v), ("memory", start.memory)):
        np.testing.assert_array_equal(getattr(further, name)[0], given)


def test_a_step_that_fails_changes_nothing(system, rest):
    gentle, strong = np.ones(5), np.array([40.0, 0, 0, 0, 0])
    options = {"step": 0.02, "method": "midpoint", "record": True}
    with pytest.raises(pl.RolloutError, match="step 2"):
        pl.rollout(system, [gentle, strong], step=0.02, start=rest, method="midpoint")
    smooth = pl.rollout(system, [gentle, gentle], step=0.02, start=rest, method="midpoint")
    sim = pl.Stepper(system, rest, **options)
    sim.step(gentle)
    before = sim.state
    for _ in range(2):
        with pytest.raises(pl.StepError, match=r"step 2, from t = 0.02 s .* subdivide=True\. The stepper stays"):
            sim.step(strong)
        for x, y in zip(sim.state, before):
            np.testing.assert_array_equal(x, y)
        assert len(sim.result()) == 2
    sim.step(gentle)  # it can go on
    np.testing.assert_allclose(sim.q, smooth.q[-1], rtol=0, atol=1e-9)
    first = pl.Stepper(system, rest, **options)
    with pytest.raises(pl.StepError, match="step 1"):
        first.step(10 * strong)
    np.testing.assert_array_equal(first.q, rest.q)
    first.step(gentle)
    np.testing.assert_array_equal(first.q, smooth.q[1])


@pytest.mark.parametrize("substeps", [1, 2])
def test_steps_in_parts(system, rest, substeps):
    U = RNG(0).uniform(0, 20, size=(6, 5))
    options = {"method": "midpoint", "subdivide": True}
    run = pl.rollout(system, U, step=0.02 / substeps, duration=0.12, start=rest, **options)
    assert "subdivided" in run.warnings[0]
    sim = pl.Stepper(system, rest, step=0.02, substeps=substeps, record=True, **options)
    for u in U:
        sim.step(u)
    at = np.searchsorted(run.t, sim.result().t - 1e-9)
    for name in ("q", "v", "a", "u"):
        expected = getattr(run, name)[at][1:]
        np.testing.assert_allclose(
            getattr(sim.result(), name)[1:], expected, rtol=0, atol=1e-12 * np.abs(expected).max()
        )
    assert run.warnings[0].split()[0] == sim.warnings[0].split()[0]  # as many
    assert run.warnings[0].split("into ")[1].split()[0] == sim.warnings[0].split("into ")[1].split()[0]


def test_motion_that_is_told_step_by_step():
    """A cubic through what is told; a rollout with the same function of time moves alike."""
    system, _options, _U = case("a tendon of prescribed length")
    start, h = pl.solve_statics(system, motion={"cable": 0.498}), 0.01  # with 0.5 it would be slack
    assert start.u[0] > 0.0
    sim = pl.Stepper(system, start, step=h, record=True)
    lengths = [0.498, 0.497, 0.495, 0.495, 0.496]
    for length in lengths[1:3]:
        sim.step(motion={"cable": length})
    saved = sim.save()
    for _ in range(2):  # again, from the middle
        sim.restore(saved)
        sim.step()
        sim.step(motion={"cable": lengths[4]})
    rates = np.array([0, *np.diff(lengths) / h])
    spline = CubicHermiteSpline(h * np.arange(5), lengths, rates)
    cubic = pl.Motion(lambda t: float(spline(t)), lambda t: float(spline(t, 1)), lambda t: float(spline(t, 2)))
    run = pl.rollout(system, step=h, duration=4 * h, start=start, motion={"cable": cubic})
    np.testing.assert_allclose(sim.result().q, run.q, rtol=0, atol=1e-9 * np.abs(run.q).max())
    np.testing.assert_allclose(sim.result().u, run.u, rtol=0, atol=1e-6 * np.abs(run.u).max())
    np.testing.assert_allclose(system.tendon_lengths(sim.q)[0], lengths[-1], rtol=1e-12)
    before = sim.state
    with pytest.raises(KeyError, match="cable"):
        sim.step(motion={"cabel": 0.5})
    with pytest.raises(ValueError, match="motion"):
        sim.step(motion={"cable": [0.5, 0.4]})
    with pytest.raises(KeyError, match="turn"):  # it has a function
        pl.Stepper(case("a prescribed joint")[0], step=h, motion={"turn": turn}).step(motion={"turn": 1.0})
    assert sim.state.t == before.t
    joint = pl.Stepper(case("a prescribed joint")[0], step=h)
    joint.step(motion={"turn": 0.02})
    joint.step()
    place = joint.system.prescribed["turn"][0]
    np.testing.assert_allclose(joint.q[place], 0.02, rtol=1e-12)


def test_it_says_how_accurate_it_is(system, rest):
    U = RNG(2).uniform(0, 30, size=(40, 5))
    sim = pl.Stepper(system, rest, step=0.02, watch=0)
    assert sim.check() == 0.0
    for u in U:
        sim.step(u)
    saved = sim.save()
    before = sim.state
    sim.step(U[0])
    off = sim.check()
    fine = pl.rollout(
        system, U[0], step=0.02 / 64, duration=0.02, start=before.q, velocity=before.v, t0=before.t, method="sdirk3"
    )
    apart = np.linalg.norm(fine.positions("arm.tip")[-1] - sim.position("arm.tip"))
    assert 0.3 * apart < off * 0.5 < 3 * apart
    after = sim.q
    sim.restore(saved)
    sim.step(U[0])
    np.testing.assert_array_equal(sim.q, after)  # to look does not change what follows
    assert "errs by" not in " ".join(sim.warnings)
    euler = pl.Stepper(system, rest, step=0.02, method="euler", watch=1)
    for u in U:
        euler.step(u)
    assert "of 40 steps that were checked" in euler.warnings[0]


def test_steppers_in_threads_do_not_know_of_each_other(system, rest):
    U = RNG(3).uniform(0, 10, size=(2, 60, 5))
    runs = [pl.rollout(system, u, step=0.01, start=rest) for u in U]
    ready = threading.Barrier(2)

    def go(u):
        sim = pl.Stepper(system, rest, step=0.01)
        ready.wait()
        for row in u:
            sim.step(row)
        return sim.q

    with ThreadPoolExecutor(2) as pool:
        for run, q in zip(runs, pool.map(go, U)):
            np.testing.assert_array_equal(q, run.q[-1])


def test_a_function_of_the_user_that_fails(rest):
    calls = []

    def pull(pose, twist, inputs):
        calls.append(1)
        if inputs[0] > 1:
            raise RuntimeError("too strong")
        return np.zeros((len(pose), 6))

    robot = pl.Robot("ball")
    ball = robot.add_body("ball", joint=pl.Prismatic("z"), shape=pl.Sphere(0.02), mass=0.05)
    robot.add_load("pull", [ball], pull, inputs=["strength"])
    sim = pl.Stepper(robot.compile(), step=0.01)
    sim.step([0.0])
    before = sim.state
    with pytest.raises(RuntimeError, match="too strong"):
        sim.step([2.0])
    np.testing.assert_array_equal(sim.q, before.q)
    assert sim.t == before.t
    sim.step([0.0])
    np.testing.assert_allclose(sim.q, [-0.5 * 9.81 * 0.02**2], rtol=1e-9)


def test_what_it_refuses(system, rest):
    sim = pl.Stepper(system, rest, step=0.01)
    loops, options, _U = case("loops")
    cases = [
        (lambda: pl.Stepper(system, step=0.0), ValueError, "step"),
        (lambda: pl.Stepper(system, step=0.01, substeps=0), ValueError, "substeps"),
        (lambda: pl.Stepper(system, step=0.01, method="rk4"), ValueError, "sdirk2"),
        (lambda: pl.Stepper(system, np.zeros(3), step=0.01), ValueError, "start"),
        (lambda: pl.Stepper(system, step=0.01, record="yes"), TypeError, "record"),
        (lambda: pl.Stepper(system, step=0.01, motion=5), TypeError, "dictionary"),
        (lambda: pl.Stepper(system.robot, step=0.01), TypeError, "compile it first"),
        (lambda: sim.step({"cabel1": 1.0}), KeyError, "cable1"),
        (lambda: sim.step([-1.0, 0, 0, 0, 0]), ValueError, "cable1"),
        (lambda: sim.step([np.nan, 0, 0, 0, 0]), ValueError, "NaN"),
        (lambda: sim.step(tau=[1.0]), ValueError, "tau"),
        (lambda: sim.result(), ValueError, "record=True"),
        (lambda: pl.Stepper(system, step=0.01, record=True).result(), ValueError, "step first"),
        (lambda: sim.restore(1), TypeError, "save"),
        (lambda: sim.restore(pl.Stepper(system, step=0.02).save()), ValueError, "substeps"),
        (lambda: sim.restore(pl.Stepper(loops, step=0.01, **options).save()), ValueError, "another robot"),
    ]
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
    assert sim.t == 0.0
    with pytest.raises(pl.StepError, match="cannot be closed"):
        pl.Stepper(loops, step=0.01)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_copies_go_on_as_the_original(how):
    """To the last bit, each by itself, also where motion is told step by step."""
    robot = pl.Robot("told")
    hub = robot.add_body("hub", joint=pl.Revolute("z"), shape=pl.Sphere(0.05), mass=0.5)
    material = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e4)
    rod = robot.add_rod(
        "arm", parent=hub, length=0.4, section=pl.Circle(0.015), material=material, strains=pl.Strains(bending=2)
    )
    robot.add_tendon("cable", rod, z=0.012)
    robot.add_motion("turn", hub)
    system = robot.compile()
    one = pl.Stepper(system, step=0.01)
    for k in range(5):
        one.step({"cable": 1.0}, motion={"turn": 0.02 * k})
    other = how(one)
    for k in range(5):
        one.step({"cable": 2.0}, motion={"turn": 0.1 + 0.05 * k})
    for k in range(5):
        other.step({"cable": 2.0}, motion={"turn": 0.1 + 0.05 * k})
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.v, other.v)
