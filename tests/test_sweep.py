"""Sweeps: designs, executors of all kinds, lost workers, the same numbers everywhere."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.many.designs import grid_of, spread
from pliant.many.worker import Item, Parcel

SPAWN = multiprocessing.get_context("spawn")


def robot() -> pl.Robot:
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(1e6, poisson=0.5, density=1000, viscosity=1e4),
        strains=pl.Strains.kirchhoff(2), points=5,
    )  # fmt: skip
    robot.add_tendon("cable", rod, z=0.012)
    return robot


@pytest.fixture(scope="module")
def system() -> pl.System:
    system = robot().compile()
    pl.solve_statics(system)  # kernels are loaded before anything is interrupted
    return system


def tip(system: pl.System, item: Item) -> dict[str, object]:
    """What travels to other processes: the height of the tip, and a random number of the item's own."""
    rest = pl.solve_statics(system, dict(item.u))
    return {"z": system.pose("arm.tip", rest.q)[2, 3], "noise": item.rng().standard_normal(2)}


def slow_tip(system: pl.System, item: Item) -> dict[str, object]:
    time.sleep(0.02)
    return tip(system, item)


def deadly(system: pl.System, item: Item) -> float:
    """Ends its process at one item, and once at another."""
    if item.index == 5:
        os._exit(1)
    return item.values["cable"]


AXES = {"arm.young": [8e5, 1e6, 1.2e6], "cable": [0.0, 2.0, 4.0, 6.0]}


def same(found: pl.SweepResult, expected: pl.SweepResult) -> None:
    assert found.success.all(), str(found)
    for name in expected.fields:
        np.testing.assert_array_equal(found[name], expected[name])


# ---------------------------------------------------------------- what is found


def test_a_grid(system):
    found = pl.sweep(system, AXES, tip)
    assert found.shape == (3, 4)
    grid = found.on_grid("z")
    for i, young in enumerate(AXES["arm.young"]):
        other = system.with_parameters({"arm.young": young})
        for j, tension in enumerate(AXES["cable"]):
            q = pl.solve_statics(other, {"cable": tension}).q
            assert grid[i, j] == other.pose("arm.tip", q)[2, 3]
    same(pl.sweep(robot(), AXES, tip, chunk=1), found)
    same(pl.sweep(system, AXES, tip, chunk=100), found)


def test_numbers_of_items_do_not_depend_on_others(system):
    whole = pl.sweep(system, {"cable": np.linspace(0, 5, 8)}, tip, seed=3)
    part = pl.sweep(system, {"cable": np.linspace(0, 5, 8)[:4]}, tip, seed=3)
    np.testing.assert_array_equal(whole["noise"][:4], part["noise"])
    assert not np.array_equal(pl.sweep(system, {"cable": [0.0]}, tip, seed=4)["noise"], whole["noise"][:1])


def test_quantities(system):
    what = {"tip": pl.costs.Position("arm.tip"), "f": "frequencies", "rest": "equilibrium", "lengths": "tendon_lengths"}
    what |= {"com": "center_of_mass", "energy": "elastic_energy", "damping": "damping_ratios", "m": "mass"}
    found = pl.sweep(system, {"cable": [0.0, 3.0]}, what)
    rest = pl.solve_statics(system, {"cable": 3.0})
    np.testing.assert_array_equal(found["tip"][1], system.pose("arm.tip", rest.q)[:3, 3])
    np.testing.assert_array_equal(found["f"][1], pl.modes(system, rest).frequencies)
    np.testing.assert_array_equal(found["q"][1], rest.q)
    assert found["stable"][1] == 1.0
    assert found["m"][0] == system.mass


def test_designs(system):
    ranges = {"arm.young": (8e5, 1.2e6), "cable": (0.0, 6.0)}
    for design in ("latin", "sobol", "random"):
        found, again = (pl.sweep(system, ranges, "mass", design=design, samples=10, seed=5) for _ in range(2))
        np.testing.assert_array_equal(found.design.values, again.design.values)
        assert (found.design.values >= [8e5, 0]).all()
        assert (found.design.values <= [1.2e6, 6]).all()
    table = pl.sweep(system, {"arm.young": [8e5, 1e6], "cable": [1.0, 2.0]}, tip, design="table")
    assert table.shape == (2,)
    np.testing.assert_array_equal(
        spread({"a": (0, 1)}, 8, "sobol", 1).values, spread({"a": (0, 1)}, 16, "sobol", 1).values[:8]
    )
    latin = np.sort(spread({"a": (0, 1), "b": (0, 1)}, 10, "latin", 0).values, axis=0)
    assert (np.floor(10 * latin) == np.arange(10)[:, None]).all()  # one in each stratum
    assert grid_of({"a": [1, 2], "b": [3, 4, 5]}).values[1].tolist() == [1, 4]


def test_datasets(system):
    pytest.importorskip("xarray")
    data = pl.sweep(system, AXES, tip).to_xarray()
    assert data["z"].dims == ("arm.young", "cable")
    assert data["z"].sel({"arm.young": 1e6, "cable": 4.0}) == data["z"].values[1, 2]
    flat = pl.sweep(system, {"cable": (0, 1)}, tip, design="latin", samples=3).to_xarray()
    assert flat["noise"].dims == ("item", "noise_0")
    assert flat["cable"].dims == ("item",)


# ---------------------------------------------------------------- bad items and arguments


def picky(system: pl.System, item: Item) -> object:
    if item.index == 1:
        raise RuntimeError("no")
    if item.index == 2:
        return "text"
    return np.zeros(2 if item.index == 3 else 3)


def test_bad_items_stay_alone(system):
    axes = {"arm.young": [1e6, 1e6, 1e6, 1e6, -1.0, np.nan]}
    found = pl.sweep(system, axes, picky, chunk=4)
    assert found.status.tolist() == ["ok", "failed", "failed", "failed", "failed", "refused"]
    assert found.message(1) == "no"
    assert "must be a number" in found.message(2)
    assert "other names or shapes" in found.message(3)
    assert "parameter 'arm.young' = -1.0" in found.message(4)
    assert "arm.young = nan" in found.message(5)
    assert np.isnan(found["value"][1:]).all()


def test_no_items(system):
    assert len(pl.sweep(system, {"cable": []}, tip)) == 0
    assert pl.sweep(system, {}, "mass")["mass"].tolist() == [system.mass]


def test_wrong_arguments(system):
    with pytest.raises(KeyError, match="did you mean 'cable'"):
        pl.sweep(system, {"cabel": [1.0]}, tip)
    with pytest.raises(KeyError, match="no quantity named 'freq'"):
        pl.sweep(system, {"cable": [1.0]}, "freq")
    with pytest.raises(TypeError, match="function of"):
        pl.sweep(system, {"cable": [1.0]}, 3.0)
    with pytest.raises(TypeError, match="must be a dictionary"):
        pl.sweep(system, [1.0], tip)
    with pytest.raises(ValueError, match="samples is needed"):
        pl.sweep(system, {"cable": (0, 1)}, tip, design="latin")
    with pytest.raises(ValueError, match="samples = 3 has no effect"):
        pl.sweep(system, {"cable": (0, 1)}, tip, samples=3)
    with pytest.raises(ValueError, match="lowest, highest"):
        pl.sweep(system, {"cable": (1, 0)}, tip, design="latin", samples=3)
    with pytest.raises(ValueError, match="columns of the table differ"):
        pl.sweep(system, {"cable": [1, 0], "arm.young": [1e6]}, tip, design="table")
    with pytest.raises(TypeError, match="method submit"):
        pl.sweep(system, {"cable": [1.0]}, tip, executor=3)
    with pytest.raises(TypeError, match="needs a System"):
        pl.sweep("arm", {"cable": [1.0]}, tip)
    with pytest.raises(ValueError, match="another sweep"):
        pl.sweep(system, {"cable": [1.0]}, tip, resume=pl.sweep(system, {"cable": [2.0]}, tip))


# ---------------------------------------------------------------- other processes


@pytest.fixture
def importable(monkeypatch):
    """New processes find the modules of the tests."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=SPAWN)


def test_the_robot_travels_as_a_few_kilobytes(system):
    parcel = Parcel.of(system, {"value": tip})
    assert len(parcel.robot) < 5000
    assert parcel.system() is parcel.system()
    assert Parcel.of(robot().compile(), {}).digest == parcel.digest


def test_processes(system, importable):
    expected = pl.sweep(system, AXES, tip)
    with pool() as executor:
        same(pl.sweep(system, AXES, tip, executor=executor, chunk=2), expected)
        same(pl.sweep(system, AXES, tip, executor=executor), expected)  # the pool is not closed by the first


def test_a_class_makes_executors(system):
    same(pl.sweep(system, AXES, tip, executor=ThreadPoolExecutor, chunk=2), pl.sweep(system, AXES, tip))


def test_loky(system, importable):
    loky = pytest.importorskip("joblib.externals.loky")
    expected = pl.sweep(system, AXES, tip)
    executor = loky.get_reusable_executor(2)
    same(pl.sweep(system, AXES, tip, executor=executor, chunk=2), expected)
    executor.shutdown()


def test_an_item_that_ends_its_process(system, importable):
    axes = {"cable": np.arange(12.0)}
    found = pl.sweep(system, axes, deadly, executor=pool, chunk=3, retries=1)
    assert np.flatnonzero(~found.success).tolist() == [5]
    assert "ended its worker" in found.message(5)
    np.testing.assert_array_equal(np.delete(found["value"], 5), np.delete(axes["cable"], 5))


def test_a_broken_pool_leaves_what_is_done_and_the_rest_can_go_on(system, importable):
    axes = {"cable": np.arange(12.0)}
    with pool() as executor:
        found = pl.sweep(system, axes, deadly, executor=executor, chunk=1)
    assert found.status[5] == "pending"
    assert "the workers are gone" in found.message(5)
    whole = pl.sweep(system, axes, lambda system, item: item.values["cable"], resume=found, check=False)
    assert whole.success.all()
    np.testing.assert_array_equal(whole["value"], axes["cable"])


def test_what_cannot_travel(system, importable, monkeypatch):
    lock = threading.Lock()
    with pool() as executor, pytest.raises(TypeError, match="`what` cannot travel"):
        pl.sweep(system, {"cable": [1.0]}, lambda system, item: lock, executor=executor)


def test_an_interrupt_keeps_what_is_done(system):
    axes = {"cable": np.linspace(0, 5, 400)}
    timer = threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    found = pl.sweep(system, axes, slow_tip, chunk=1)
    timer.cancel()
    assert found.interrupted
    assert 0 < found.done.sum() < 400
    rest = pl.sweep(system, axes, tip, resume=found, check=False)
    same(rest, pl.sweep(system, axes, tip))


@pytest.fixture
def cluster(importable, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_dask_cluster_of_which_a_worker_is_killed(system, cluster):
    axes = {"arm.young": [8e5, 1e6, 1.2e6], "cable": np.linspace(0, 5, 40)}
    expected = pl.sweep(system, axes, tip)
    same(pl.sweep(system, axes, tip, executor=cluster), expected)
    pids = list(cluster.run(os.getpid).values())
    timer = threading.Timer(0.5, lambda: os.kill(pids[0], signal.SIGKILL))
    timer.start()
    found = pl.sweep(system, axes, slow_tip, executor=cluster, chunk=2)
    timer.join()
    same(found, expected)
    assert pids[0] not in cluster.run(os.getpid).values()  # it was killed, and replaced
