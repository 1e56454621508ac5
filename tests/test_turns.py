"""What moves on by being called refuses a second thread; what only looks may be asked by many."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pliant as pl
from pliant._turns import Turn, alone


class Slow:
    """Something that is at work until it is told to end."""

    def __init__(self) -> None:
        self._turn, self.inside, self.end = Turn(), threading.Event(), threading.Event()

    @alone
    def work(self) -> int:
        self.inside.set()
        assert self.end.wait(10.0)
        return self.again()

    @alone
    def again(self) -> int:
        return 7


def test_a_second_thread_is_refused_and_the_first_goes_on() -> None:
    slow = Slow()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(slow.work)
        assert slow.inside.wait(10.0)
        for method in (slow.work, slow.again):
            with pytest.raises(RuntimeError, match=r"Slow\.\w+ was called while another thread .*one of its own"):
                method()
        slow.end.set()
        assert first.result() == 7
    assert slow.again() == 7  # it is free again, also for another thread


def test_a_copy_has_a_turn_of_its_own() -> None:
    turn = Turn()
    with turn.lock:
        for other in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn))):
            assert isinstance(other, Turn)
            assert other.lock is not turn.lock


def arm() -> pl.System:
    robot = pl.Robot("arm")
    silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    rod = robot.add_rod("arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(1))
    robot.add_tendon("cable", rod, z=0.012)
    return robot.compile()


def stepper(system: pl.System) -> pl.Stepper:
    return pl.Stepper(system, step=0.01)


def mpc(system: pl.System) -> pl.MPC:
    cost = pl.Reach("arm.tip", (0.3, 0.0, 0.1)) + 1e-4 * pl.Effort()
    plan = pl.optimize(system, cost, bounds=(0, 20), horizon=0.1, knots=5, iterations=2)
    return pl.MPC(plan, rate=50)


ANGLE = pl.costs.Curvature("arm", [0.5]).measured(0.02, "fibre")
OBJECTS = {
    "Stepper": (stepper, [lambda x: x.step([1.0]), lambda x: x.reset(), lambda x: x.save(), lambda x: x.check()]),
    "MPC": (
        mpc,
        [
            lambda x: x.control(0.0, (x.system.neutral(), np.zeros(x.system.nv))),
            lambda x: x.reset(),
            lambda x: x.run(0.02),
        ],
    ),
    "ExtendedKalman": (
        lambda system: pl.ExtendedKalman(system, [ANGLE], step=0.01),
        [lambda x: x.update([1.0], [0.1, 0.1]), lambda x: x.predict([1.0]), lambda x: x.correct([0.1, 0.1])],
    ),
    "MovingHorizon": (
        lambda system: pl.MovingHorizon(system, [ANGLE], step=0.01, window=3),
        [lambda x: x.update([1.0], [0.1, 0.1])],
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_who_refuses(name: str) -> None:
    """While one thread is in any of the methods, and however long it takes."""
    make, calls = OBJECTS[name]
    thing = make(arm())
    held, end = threading.Event(), threading.Event()

    def hold() -> None:
        with thing._turn.lock:
            held.set()
            end.wait(10.0)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10.0)
    try:
        for call in calls:
            with pytest.raises(
                RuntimeError, match=f"{name}.* another thread is at work on the same {name}.*share the System"
            ):
                call(thing)
    finally:
        end.set()
        thread.join()
    for call in calls:
        call(thing)


def test_one_stepper_in_four_threads() -> None:
    """No step is lost or mixed up: those that were refused are told, those that were taken are those of one thread."""
    system = arm()
    sim, refused, taken = stepper(system), [], []

    def go(_k: int) -> None:
        for _ in range(50):
            try:
                sim.step([3.0])
                taken.append(1)
            except RuntimeError:
                refused.append(1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(go, range(4)))
    assert len(taken) + len(refused) == 200
    assert sim.steps == len(taken)
    other = stepper(system)
    for _ in taken:
        other.step([3.0])
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(sim.v, other.v)


def test_feedback_goes_on_while_another_thread_plans() -> None:
    """Between samples the gains of the last one hold, whole, until the next is planned."""
    law = mpc(arm())
    q, v = law.system.neutral(), np.zeros(law.system.nv)
    wanted = {tuple(law.feedback((q, v)))}
    stop = threading.Event()
    seen: set[tuple[float, ...]] = set()

    def ask() -> None:
        while not stop.is_set():
            seen.add(tuple(law.feedback((q, v))))

    thread = threading.Thread(target=ask)
    thread.start()
    for k in range(10):
        law.control(0.02 * k, (q, v))
        wanted.add(tuple(law.feedback((q, v))))
    stop.set()
    thread.join()
    assert seen
    assert seen <= wanted


def test_a_rollout_is_differentiated_in_many_threads() -> None:
    """It only looks: what it needs of the record is copied."""
    run = pl.rollout(arm(), np.full((30, 1), 5.0), step=0.01)
    cost = pl.Reach("arm.tip", (0.38, 0.0, 0.1)) + 1e-4 * pl.Effort()
    exact = run.gradient(cost)
    A, _B = run.maps()
    with ThreadPoolExecutor(4) as pool:
        for found, maps in pool.map(lambda _k: (run.gradient(cost), run.maps()), range(12)):
            np.testing.assert_array_equal(found.u, exact.u)
            np.testing.assert_array_equal(maps[0], A)
