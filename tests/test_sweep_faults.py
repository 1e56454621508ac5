"""Sweeps whose workers, scheduler or functions fail: they end in time, say which items and why, and lose nothing that was computed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Future
from typing import Any, ClassVar

import numpy as np
import pytest

import pliant as pl
from pliant.many.dispatch import MOST_LOSSES
from pliant.many.worker import Item

AXES = {"bob.mass": np.linspace(1.0, 2.0, 40)}


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    system = robot.compile()
    system.with_parameters({"bob.mass": 2.0})
    return system


def number(system: pl.System, item: Item) -> float:
    """What travels."""
    return float(item.index)


def whole(found: pl.SweepResult, *, without: tuple[int, ...] = ()) -> None:
    """All items are there but some."""
    assert np.flatnonzero(~found.success).tolist() == list(without), str(found)
    for k in range(len(found)):
        if k not in without:
            assert found["value"][k] == k


def in_time(function, seconds: float) -> Any:
    start = time.perf_counter()
    found = function()
    assert time.perf_counter() - start < seconds
    return found


# ---------------------------------------------------------------- functions that end, raise, interrupt


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Outside(BaseException):
    pass


def test_whatever_a_function_raises_belongs_to_its_item(system):
    raised = {
        3: SystemExit(3), 5: Outside("x"), 7: Hostile(Hostile()), 8: GeneratorExit(), 11: RuntimeError(), 13: ValueError("no", 1),
        17: asyncio.CancelledError("c"), 19: BrokenExecutor("mine"), 23: MemoryError(), 29: StopIteration(),
    }  # fmt: skip

    def what(system, item):
        if item.index in raised:
            raise raised[item.index]
        return item.index

    found = in_time(lambda: pl.sweep(system, AXES, what, chunk=10), 20)
    whole(found, without=tuple(raised))
    said = {k: found.message(k) for k in raised}
    assert said == {
        3: "SystemExit: 3", 5: "Outside: x", 7: "Hostile", 8: "GeneratorExit", 11: "RuntimeError", 13: "no", 17: "CancelledError: c",
        19: "mine", 23: "MemoryError", 29: "StopIteration",
    }  # fmt: skip


def test_a_function_that_interrupts(system):
    """Ends the sweep, and what was computed before it in its chunk is kept."""

    def what(system, item):
        if item.index == 25:
            raise KeyboardInterrupt
        return item.index

    found = in_time(lambda: pl.sweep(system, AXES, what, chunk=10), 20)
    assert found.interrupted
    assert found.status[20:30].tolist() == 5 * ["ok"] + 5 * ["pending"]
    assert (found["value"][found.success] == np.flatnonzero(found.success)).all()


def test_an_interrupt_keeps_items_of_chunks_under_way(system):
    begun = threading.Event()

    def what(system, item):
        begun.set()
        time.sleep(0.01)
        return item.index

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.15)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    found = in_time(lambda: pl.sweep(system, {"bob.mass": np.ones(4000)}, what, chunk=2000), 10)
    assert found.interrupted
    assert 5 < found.done.sum() < 1000  # and not the 0 of 4000 whose chunks came to an end


# ---------------------------------------------------------------- executors that break


class Fragile:
    """Computes at once, in this thread, and breaks at some items."""

    made: ClassVar[list[Fragile]] = []

    def __init__(self, poison: tuple[int, ...], most: int = 10**9) -> None:
        self.poison, self.broken = poison, False
        if len(Fragile.made) >= most:
            raise OSError("no more processes")
        Fragile.made.append(self)

    def submit(self, function, parcel, items) -> Future[Any]:
        future: Future[Any] = Future()
        if self.broken or any(item.index in self.poison for item in items):
            self.broken = True
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(function(parcel, items))
        return future


@pytest.fixture(autouse=True)
def nothing_made():
    Fragile.made.clear()


@pytest.mark.parametrize("retries", [0, 3])
@pytest.mark.parametrize("chunk", [1, 7])
def test_several_items_that_end_their_workers(system, chunk, retries):
    poison = (0, 5, 6, 20, 39)
    found = in_time(
        lambda: pl.sweep(system, AXES, number, executor=lambda: Fragile(poison), chunk=chunk, retries=retries), 20
    )
    whole(found, without=poison)
    for k in poison:
        assert found.status[k] == "failed"
        assert "it ended its worker" in found.message(k)
        assert "a worker died" in found.message(k)


def test_workers_that_never_live_long_enough(system):
    """Every item ends its worker: the sweep ends, and says which items are not computed."""
    axes = {"bob.mass": np.ones(500)}
    found = in_time(lambda: pl.sweep(system, axes, number, executor=lambda: Fragile(tuple(range(500)))), 20)
    assert len(Fragile.made) <= MOST_LOSSES + 2
    assert not found.success.any()
    assert found.status[-1] == "pending"
    assert "of 500 items were not computed" in found.warnings[0]
    assert f"workers were lost {MOST_LOSSES + 1} times in a row" in str(found)
    whole(pl.sweep(system, axes, number, resume=found), without=tuple(np.flatnonzero(found.status == "failed")))


def test_a_function_that_can_make_no_more_executors(system):
    found = in_time(
        lambda: pl.sweep(system, AXES, number, executor=lambda: Fragile((25,), most=2), chunk=2, retries=5), 20
    )
    assert found.success[:20].all()
    assert "could not make another one (OSError: no more processes)" in found.warnings[0]
    assert "not computed: the workers are gone" in found.message(25)
    whole(pl.sweep(system, AXES, number, resume=found))


def test_an_executor_that_is_shut_down(system):
    class Closing(Fragile):
        def submit(self, function, parcel, items):
            if items[0].index >= 20:
                raise RuntimeError("cannot schedule new futures after shutdown")
            return super().submit(function, parcel, items)

    found = in_time(lambda: pl.sweep(system, AXES, number, executor=Closing(()), chunk=1), 20)
    assert found.status.tolist() == 20 * ["ok"] + 20 * ["pending"]
    assert found.warnings == (
        "20 of 40 items were not computed: the workers are gone (RuntimeError: cannot schedule new futures after shutdown). Go on with resume=.",
    )


# ---------------------------------------------------------------- clusters


class Cluster:
    """Like a Dask client: computes at once until it is silent, then never answers, or cancels."""

    def __init__(self, silent_from: int, then: str) -> None:
        self.silent_from, self.then, self.status = silent_from, then, "running"
        self.asked = 0

    def get_executor(self, pure: bool) -> Cluster:
        return self

    def nthreads(self) -> dict[str, int]:
        self.asked += 1
        if self.silent and self.then == "no answer":
            raise TimeoutError("no scheduler")
        if self.silent and self.then == "hangs":
            time.sleep(3600)
        return {} if self.silent and self.then == "no workers" else {"worker": 1}

    silent = False

    def submit(self, function, parcel, items) -> Future[Any]:
        future: Future[Any] = Future()
        if items[0].index >= self.silent_from:
            self.silent = True
            if self.then == "closed":
                self.status = "closed"
            if self.then == "cancelled":
                future.cancel()
                future.set_running_or_notify_cancel()
            if self.then == "cancelled otherwise":
                future.set_exception(asyncio.CancelledError("lost"))
            return future
        future.set_result(function(parcel, items))
        return future

    def __reduce__(self):
        raise TypeError("not to be copied")


@pytest.mark.parametrize("then", ["no workers", "no answer", "hangs", "closed", "cancelled", "cancelled otherwise"])
def test_a_cluster_that_goes(system, then):
    cluster = Cluster(20, then)
    found = in_time(lambda: pl.sweep(system, AXES, number, executor=cluster, chunk=1, patience=2.0), 15)
    assert found.status.tolist() == 20 * ["ok"] + 20 * ["pending"]
    assert "20 of 40 items were not computed: the workers are gone" in found.warnings[0]
    words = {
        "no workers": "it has no workers",
        "no answer": "TimeoutError: no scheduler",
        "closed": "closed",
        "hangs": "not answer",
    }
    assert words.get(then, "lost") in found.warnings[0]
    assert "go on with resume=" in found.message(25)
    whole(pl.sweep(system, AXES, number, resume=found))


def test_a_cluster_that_is_busy_is_not_given_up(system):
    """No answer for longer than the patience, but workers are there."""
    cluster = Cluster(20, "busy")
    late: list[Any] = []
    submit = cluster.submit

    def slow(function, parcel, items):
        future = submit(function, parcel, items)
        if not future.done():
            late.append((future, function, parcel, items))
        return future

    cluster.submit = slow  # type: ignore[method-assign]

    def answer() -> None:
        for future, function, parcel, items in late:
            future.set_result(function(parcel, items))

    threading.Timer(3.0, answer).start()
    whole(pl.sweep(system, AXES, number, executor=cluster, chunk=1, patience=1.5))


def test_a_dask_client_that_is_closed(system, tmp_path):
    """All that was computed is there (it was lost with the exception of the client)."""
    distributed = pytest.importorskip("distributed")
    client = distributed.Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, local_directory=str(tmp_path)
    )

    closing = threading.Timer(0.7, client.close)

    def slow(system, item):
        time.sleep(0.1)
        return float(item.index)

    closing.start()
    try:
        found = in_time(lambda: pl.sweep(system, AXES, slow, executor=client, chunk=1), 30)
    finally:
        closing.join()
        client.close()
    assert 0 < found.success.sum() < 40
    assert "the workers are gone" in found.warnings[0]
    done = np.flatnonzero(found.success)
    assert (found["value"][done] == done).all()
    assert set(found.status) == {"ok", "pending"}
