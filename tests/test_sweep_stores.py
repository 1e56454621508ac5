"""Sweeps on disk: written as they come, gone on with after any end, and only with what belongs to the same sweep."""

from __future__ import annotations

import functools
import multiprocessing
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.many.fingerprint import fingerprint
from pliant.many.journal import Journal, journal_of

pytest.importorskip("h5py")
NAMES = ["found.h5", "found.zarr"]
forked = pytest.mark.skipif(sys.platform != "linux", reason="processes that begin as copies of this one")
AXES = {"bob.mass": np.linspace(1.0, 2.0, 12), "motor": [0.0, 0.5, 1.0]}
PAUSE = threading.Event()  # what it is does not count, nor whether it is set


def robot(length: float = 1.0) -> pl.Robot:
    robot = pl.Robot("pendulum")
    bob = robot.add_body("bob", joint=pl.Revolute("y", stiffness=30.0), mass=1.0, com=(0, 0, -length))
    robot.add_motor("motor", bob)
    return robot


@pytest.fixture(scope="module")
def system() -> pl.System:
    system = robot().compile()
    pl.solve_statics(system)
    return system


def helper(x: float) -> float:
    return 2.0 * x


def work(system: pl.System, item: pl.many.worker.Item) -> dict[str, object]:
    """Numbers of several shapes, one item that fails, and the random numbers of each."""
    if PAUSE.is_set():
        time.sleep(0.004)
    if item.index == 7:
        raise RuntimeError("no")
    rest = pl.solve_statics(system, dict(item.u))
    return {"q": rest.q, "double": helper(item.values["bob.mass"]), "noise": item.rng().standard_normal((2, 3))}


def numbers(found: pl.SweepResult) -> list[object]:
    arrays = {name: np.asarray(found[name][:]).tobytes() for name in found.fields}
    axes = None if found.design.axes is None else [axis.tolist() for axis in found.design.axes]
    return [
        arrays,
        found.codes.tobytes(),
        found.messages,
        found.about,
        found.design.names,
        axes,
        found.design.values.tobytes(),
    ]


# ---------------------------------------------------------------- stores


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_sweep_is_the_sweep(system, tmp_path, name, monkeypatch):
    path = tmp_path / name
    expected = pl.sweep(system, AXES, work, seed=3)
    found = pl.sweep(system, AXES, work, seed=3, to=path)
    assert found.path == path
    assert [p.name for p in tmp_path.iterdir()] == [name]
    later = pl.SweepResult.open(path)
    for one in (found, later):
        assert numbers(one) == numbers(expected)
        np.testing.assert_array_equal(one.on_grid("noise"), expected.on_grid("noise"))
    assert later.shape == (12, 3)
    pytest.importorskip("xarray")
    assert later.to_xarray().equals(expected.to_xarray())
    as_batch = pl.BatchResult.open(path)
    np.testing.assert_array_equal(as_batch.given["values"][1], expected.design.values)
    # the same call computes nothing
    monkeypatch.setattr("pliant.many.sweep.compute_items", None)
    before = {p: p.stat().st_mtime_ns for p in [path, *path.rglob("*")]}
    assert numbers(pl.sweep(system, AXES, work, seed=3, to=path)) == numbers(expected)
    assert {p: p.stat().st_mtime_ns for p in [path, *path.rglob("*")]} == before


@pytest.mark.parametrize("name", NAMES)
def test_other_designs_and_nothing(system, tmp_path, name):
    options = {"design": "latin", "samples": 5, "seed": 2}
    found = pl.sweep(system, {"motor": (0.0, 1.0)}, "mass", to=tmp_path / name, **options)
    later = pl.SweepResult.open(tmp_path / name)
    assert later.design.axes is None
    assert numbers(later) == numbers(found) == numbers(pl.sweep(system, {"motor": (0.0, 1.0)}, "mass", **options))
    for k, axes in enumerate(({"motor": []}, {})):
        path = tmp_path / f"{k}{name}"
        assert numbers(pl.sweep(system, axes, "mass", to=path)) == numbers(pl.sweep(system, axes, "mass"))
        assert numbers(pl.SweepResult.open(path)) == numbers(pl.sweep(system, axes, "mass"))


@forked
@pytest.mark.parametrize("name", NAMES)
def test_kills(system, tmp_path, name):
    """Killed at random times again and again, in threads as in processes: in the end there is what an undisturbed sweep finds, bit for bit."""
    path = tmp_path / name
    expected = numbers(pl.sweep(system, AXES, work, seed=3))
    context, rng, kills = multiprocessing.get_context("fork"), np.random.default_rng(0), 0

    def run() -> None:
        PAUSE.set()
        pl.sweep(system, AXES, work, seed=3, to=path, chunk=1)
        os._exit(0)

    sizes = []
    for _ in range(200):
        process = context.Process(target=run)
        process.start()
        process.join(rng.uniform(0.01, 0.12))
        if process.exitcode is None:
            process.kill()
            process.join()
        if process.exitcode == 0:
            break
        kills += 1
        if journal_of(path).exists():
            sizes.append(journal_of(path).stat().st_size)
            if not path.exists():
                with pytest.raises(FileNotFoundError, match=r"journal of a sweep.*call the sweep again"):
                    pl.SweepResult.open(path)
    assert kills > 2
    assert sizes == sorted(sizes)  # nothing is lost but what was torn
    assert numbers(pl.SweepResult.open(path)) == expected
    pl.sweep(system, AXES, work, seed=3, to=path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_what_an_interrupt_left_is_gone_on_with(system, tmp_path):
    path, calls = tmp_path / "found.h5", queue.SimpleQueue()  # which does not count as part of the function

    def counted(system, item):
        calls.put(item.index)
        if calls.qsize() == 10:
            raise KeyboardInterrupt
        return item.values["bob.mass"]

    first = pl.sweep(system, AXES, counted, to=path, chunk=4)
    assert first.interrupted
    assert 0 < first.done.sum() < 36
    assert pl.SweepResult.open(path).done.sum() == first.done.sum()
    whole = pl.sweep(system, AXES, counted, to=path, chunk=4)
    assert whole.success.all()
    assert calls.qsize() == 36 + 1  # the item that was interrupted comes again, no other
    np.testing.assert_array_equal(whole["value"][:], whole.design.values[:, 0])


def test_resume_and_a_store(system, tmp_path):
    """What was found in memory goes into the store."""
    table = {
        name: np.repeat(AXES["bob.mass"], 3) if name == "bob.mass" else np.tile(AXES["motor"], 12) for name in AXES
    }
    expected = pl.sweep(system, table, work, design="table", seed=3)
    part = pl.sweep(system, table, work, design="table", seed=3)
    part.codes[20:] = 0
    found = pl.sweep(system, table, work, design="table", seed=3, resume=part, to=tmp_path / "found.h5")
    assert numbers(found) == numbers(expected) == numbers(pl.SweepResult.open(tmp_path / "found.h5"))


def test_a_damaged_journal_costs_only_its_items(system, tmp_path):
    path = tmp_path / "found.h5"
    expected = pl.sweep(system, AXES, work, seed=3)
    journal = Journal(journal_of(path), expected.origin["sweep"])
    for k in range(20):
        arrays = {name: expected[name][k] for name in expected.fields}
        journal.add([(k, arrays if k != 7 else None, "" if k != 7 else "no")])
    journal.close()
    content = journal_of(path).read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(40):
        damaged = bytearray(content)
        if trial % 2:
            damaged[int(rng.integers(len(damaged)))] ^= int(rng.integers(1, 256))
        else:
            del damaged[int(rng.integers(len(damaged))) :]
        journal_of(path).write_bytes(damaged)
        path.unlink(missing_ok=True)
        assert numbers(pl.sweep(system, AXES, work, seed=3, to=path)) == numbers(expected)
        assert not journal_of(path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_fills_up(system, tmp_path, name, monkeypatch):
    """In the journal and in the store: an error with what was found, and what was written is gone on with."""
    path, good, calls = tmp_path / name, os.write, []
    expected = pl.sweep(system, AXES, work, seed=3)

    def write(handle, content):
        calls.append(1)
        if len(calls) > 10:
            good(handle, bytes(content)[: len(content) // 2])
            raise OSError(28, "No space left on device")
        return good(handle, content)

    with monkeypatch.context() as patch:
        patch.setattr("pliant.many.journal.os.write", write)
        with pytest.raises(OSError, match=r"journal .* could not be written .*No space.*call again to go on") as caught:
            pl.sweep(system, AXES, work, seed=3, to=path, chunk=1)
    assert 0 < caught.value.found.done.sum() < 36
    assert not path.exists()
    with monkeypatch.context() as patch:
        patch.setattr("pliant.many.file_store.FileStore.put", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
        with pytest.raises(OSError, match=r"No space.*call again to go on") as caught:
            pl.sweep(system, AXES, work, seed=3, to=path, chunk=1)
    assert numbers(caught.value.found) == numbers(expected)
    monkeypatch.setattr("pliant.many.sweep.compute_items", None)  # all is in the journal
    assert numbers(pl.sweep(system, AXES, work, seed=3, to=path)) == numbers(expected)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_names_that_cannot_be_stored(system, tmp_path):
    found = pl.sweep(system, {"motor": [0.0, 1.0]}, {"../x": "mass"}, to=tmp_path / "found.zarr")
    assert found.status.tolist() == ["failed", "failed"]
    assert "cannot be stored: '../x' cannot be the name of an array" in found.message(0)
    assert pl.sweep(system, {"motor": [0.0, 1.0]}, {"../x": "mass"}).success.all()
    assert [p.name for p in tmp_path.iterdir()] == ["found.zarr"]


def test_one_sweep_at_a_time(system, tmp_path):
    path, inside, go_on = tmp_path / "found.h5", threading.Event(), threading.Event()

    def waiting(system, item):
        inside.set()
        go_on.wait(30)
        return 1.0

    first = threading.Thread(target=lambda: pl.sweep(system, {"motor": [0.0]}, waiting, to=path))
    first.start()
    assert inside.wait(30)
    with pytest.raises(OSError, match="is being written by another thread of this program"):
        pl.sweep(system, {"motor": [0.0]}, waiting, to=path)
    go_on.set()
    first.join()
    assert pl.SweepResult.open(path)["value"][:].tolist() == [1.0]


# ---------------------------------------------------------------- another sweep


def other_helper(x: float) -> float:
    return 2.5 * x


def drag(pose, twist, inputs):
    return np.zeros((len(twist), 6))


def test_another_sweep_is_refused_by_name(system, tmp_path, monkeypatch):
    """Robot, task, seed, version, items: each in `resume`, in a store and in a journal."""
    found = pl.sweep(system, AXES, work, to=tmp_path / "found.h5")
    Journal(journal_of(tmp_path / "other.h5"), found.origin["sweep"]).close()

    def refused(words: str, *, robot=system, axes=AXES, what=work, items=True, **options) -> None:
        for where in ({"resume": found}, {"to": tmp_path / "found.h5"}, {"to": tmp_path / "other.h5"}):
            with pytest.raises(ValueError, match=f"another sweep: .*{words}") as caught:
                pl.sweep(robot, axes, what, **where, **options)
            assert ("check=False" in str(caught.value)) == items
            if not items:
                with pytest.raises(ValueError, match=words):
                    pl.sweep(robot, axes, what, check=False, **where, **options)

    refused("its robot has other properties", robot=globals()["robot"](length=1.01))
    loaded = globals()["robot"]()
    loaded.add_load("drag", "bob", drag)
    refused("its robot has other properties", robot=loaded)
    refused(
        "its 'value' is computed otherwise .work there, .*<lambda> here.", what=lambda system, item: work(system, item)
    )
    refused("it computes 'value' and this one 'x'", what={"x": work})
    refused("its 'value' is computed otherwise .* 'mass' here", what={"value": "mass"})
    refused("its seed is 0 and that of this one 1", seed=1)
    refused("it has 36 items and this one 12", axes={**AXES, "motor": [0.0]}, items=False)
    refused("the values of its items differ", axes={**AXES, "motor": [0.0, 0.5, 1.1]}, items=False)
    refused("it varies .*'bob.mass'.* and this one .*'motor'", axes={"motor": [0.0]}, items=False)
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "helper", other_helper)
        refused("computed otherwise .work there, work here.")
    with monkeypatch.context() as patch:
        patch.setattr(pl, "__version__", "9.9")
        refused("computed by version .* of pliant and this is 9.9")
    again = pl.sweep(system, AXES, work, resume=found, seed=1, check=False)
    assert numbers(again) == numbers(found)
    pl.batch(system, to=tmp_path / "batch.h5").poses("bob", [[0.0]])
    with pytest.raises(ValueError, match=r"of a batch, not of a sweep"):
        pl.sweep(system, AXES, work, to=tmp_path / "batch.h5")
    with pytest.raises(ValueError, match=r"of a batch, not of a sweep"):
        pl.SweepResult.open(tmp_path / "batch.h5")
    (tmp_path / "text.h5").write_text("precious")
    with pytest.raises(ValueError, match=r"cannot be gone on with"):
        pl.sweep(system, AXES, work, to=tmp_path / "text.h5")
    assert (tmp_path / "text.h5").read_text() == "precious"


def test_functions_of_loads_count(system):
    def loaded(load) -> pl.System:
        robot_ = robot()
        robot_.add_load("load", "bob", load)
        return robot_.compile()

    def drag(pose, twist, inputs):  # of the same name
        return np.ones((len(twist), 6))

    one, other = loaded(globals()["drag"]), loaded(drag)
    found = pl.sweep(one, {"bob.mass": [1.0]}, "mass")
    pl.sweep(loaded(globals()["drag"]), {"bob.mass": [1.0]}, "mass", resume=found)
    with pytest.raises(ValueError, match="a load or law of its robot is another function"):
        pl.sweep(other, {"bob.mass": [1.0]}, "mass", resume=found)


PROGRAM = """
import functools, sys
import numpy as np
import pliant as pl
from pliant.many.fingerprint import fingerprint
{extra}
GAIN = np.array([1.0, {gain}])
TABLE = {{"a": 1, "b": (2, {{3, "x", 4.0}})}}

class Model:
    "A comment."
    def __init__(self, x): self.x = x
    def __call__(self, system, item): return {constant} * self.x * GAIN[0] + square(self.x)

def square(x):
    # said differently
    return x * x if x else cube(x)

def cube(x): return x ** 3 + square(x) + len(TABLE)

def what(system, item, scale=2.0): return np.sum([cube(y) for y in GAIN]) * scale

print(fingerprint([what, Model(3.0), functools.partial(what, scale=3.0), lambda s, i: cube(GAIN), pl.costs.Position("arm.tip")[2]]))
"""


def test_fingerprints_of_functions(tmp_path):
    """The same in another process, as a script, as a module, with other hashes and comments; another one when anything that is used differs."""

    def of(name: str = "one", seed: int = 0, module: bool = False, **changes: object) -> str:
        text = PROGRAM.format(**({"extra": "", "gain": 2.0, "constant": 1.5} | changes))
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        command = ["-c", f"import {name}"] if module else [str(path)]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
        )
        return done.stdout

    first = of()
    assert len(first) == 65
    assert of(seed=1) == first
    assert of("two", 2, module=True) == first
    assert of("two", 3, module=True) == first  # compiled before
    assert of(extra="import os\n# more lines\n") == first
    assert of(gain=2.5) != first
    assert of(constant=1.6) != first


class Holder:
    def __init__(self, value: object) -> None:
        self.value, self.lock = value, threading.Lock()

    def double(self) -> object:
        return 2 * self.value


def test_fingerprints_of_values():
    cycle: list[object] = [1]
    cycle.append(cycle)
    alike = [
        (np.arange(3.0), np.array([0.0, 1.0, 2.0])), (Path("a/b"), Path("a") / "b"), ({1, "b"}, {"b", 1}), (cycle, cycle),
        (Holder(1), Holder(1)), (Holder(1).double, Holder(1).double), (np.random.default_rng(1), np.random.default_rng(1)),
        ([1, [2]], [1, [2]]), (functools.partial(max, 1), functools.partial(max, 1)), (open, open), (np.sin, np.sin),
    ]  # fmt: skip
    for a, b in alike:
        assert fingerprint(a) == fingerprint(b), a
    different = [
        (np.arange(3.0), np.arange(3)), (Path("a"), Path("b")), ({1}, {2}), (Holder(1), Holder(2)), (Holder(1).double, Holder(2).double),
        (1, 1.0), (1, True), ("1", 1), ([1], (1,)), (np.random.default_rng(1), np.random.default_rng(2)), (0.0, -0.0), (np.sin, np.cos),
        (functools.partial(max, 1), functools.partial(max, 2)), (pl.costs.Position("a"), pl.costs.Position("b")), (len, max),
        (pl.costs.Position("a")[0], pl.costs.Position("a")[1]), (None, 0), ({"a": 1}, {"b": 1}), (b"a", "a"), (helper, other_helper),
    ]  # fmt: skip
    for a, b in different:
        assert fingerprint(a) != fingerprint(b), (a, b)
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    fingerprint(deep)
    wide = [[0.0]]
    for _ in range(60):
        wide = [wide, wide]
    start = time.perf_counter()
    fingerprint(wide)
    assert time.perf_counter() - start < 1.0
