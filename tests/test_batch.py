"""Batches: to the last bit what calls one by one give, in any order, on any number of threads; bad items stay alone."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.many import equilibria
from test_threads import arm, bow, compiled, spectral

TESTS = Path(__file__).parent
COUNT = 23  # no multiple of anything


@pytest.fixture(scope="module")
def plain() -> pl.System:
    """Two straight cables: equilibria that the kernel finds alone."""
    robot = pl.Robot("plain")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(1e6, poisson=0.5, density=1000, viscosity=1e4),
        strains=pl.Strains.kirchhoff(3), points=6,
    )  # fmt: skip
    robot.add_tendon("left", rod, y=0.012)
    robot.add_tendon("up", rod, z=0.012)
    system = robot.compile()
    pl.solve_statics(system)  # kernels are loaded before anything is interrupted
    return system


@pytest.fixture(scope="module")
def tensions() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.0, 8.0, (COUNT, 2))


def many(system: pl.System, count: int = COUNT, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.array([system.random(rng, scale=0.3) for _ in range(count)]), rng.normal(size=(count, system.nv))


SYSTEMS = ["arm", "loops", "water and a user's load", "contact", "spectral", "a tree"]


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", SYSTEMS)
def test_kinematics(name, threads):
    system = compiled(name)
    q, v = many(system)
    frame = system.frames[-1]
    jobs = pl.batch(system, threads=threads)
    np.testing.assert_array_equal(jobs.poses(frame, q)["pose"], [system.pose(frame, x) for x in q])
    for reference in ("body", "world"):
        found = jobs.jacobians(frame, q, reference=reference)["jacobian"]
        np.testing.assert_array_equal(found, [system.jacobian(frame, x, reference=reference) for x in q])
        moving = jobs.twists(frame, q, v, reference=reference)
        np.testing.assert_array_equal(
            moving["twist"], [system.twist(frame, x, y, reference=reference) for x, y in zip(q, v)]
        )


@pytest.mark.parametrize("name", SYSTEMS)
def test_linearisations(name):
    system = compiled(name)
    q, v = many(system)
    u = np.random.default_rng(3).uniform(0.0, 2.0, (COUNT, system.nu))
    found = pl.batch(system, threads=2).linearize(q, v, u=u)
    assert found.success.all(), str(found)
    for k in range(COUNT):
        one = pl.linearize(system, q[k], v[k], u=u[k])
        for field in ("A", "B", "a"):
            np.testing.assert_array_equal(found[field][k], getattr(one, field))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_statics(plain, tensions, threads):
    found = pl.batch(plain, threads=threads).statics(tensions)
    assert found.success.all()
    for k, u in enumerate(tensions):
        one = pl.solve_statics(plain, u)
        np.testing.assert_array_equal(found["q"][k], one.q)
        assert found["residual"][k] == one.residual
        assert found["iterations"][k] == one.iterations
        assert found["stability"][k] == one.stability
    order = np.random.default_rng(1).permutation(COUNT)
    np.testing.assert_array_equal(pl.batch(plain).statics(tensions[order])["q"], found["q"][order])


def test_statics_are_those_of_the_kernel(plain, tensions, monkeypatch):
    """Simple equilibria never reach Python."""
    monkeypatch.setattr(equilibria, "_alone", None)
    assert pl.batch(plain).statics(tensions).success.all()


def robots_for_statics() -> dict[str, pl.Robot]:
    """Robots whose equilibria take all the ways that there are."""
    pendulum = pl.Robot("pendulum")
    pendulum.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.4, 0.02, 0.02), mass=0.2, com=(0.2, 0, 0))
    pendulum.add_motor("motor", "rod")
    pushed = arm()
    pushed.add_wrench("thrust", "arm.tip", force=(0, 0, 1.0), axes="body")
    held = pl.Robot("held")
    rod = held.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(1e6, poisson=0.5, density=1000), strains=pl.Strains.kirchhoff(3)
    )  # fmt: skip
    held.add_tendon("cable", rod, z=0.012, control="length")
    return {
        "pendulum": pendulum,
        "follower": pushed,
        "held": held,
        "loops": bow(),
        "friction": arm(),
        "spectral": spectral(),
    }


@pytest.mark.parametrize("name", ["pendulum", "follower", "held", "loops", "friction", "spectral"])
def test_statics_of_other_robots(name):
    system = robots_for_statics()[name].compile()
    u = np.random.default_rng(2).uniform(0.0, 1.0, (7, system.nu))
    options = {}
    if name == "held":
        u[:] = 0.0
        options["motion"] = {"cable": 0.39}
    found = pl.batch(system, threads=2).statics(u, **options)
    for k in range(len(u)):
        one = pl.solve_statics(system, u[k], **options)
        np.testing.assert_array_equal(found["q"][k], one.q)
        assert found["stability"][k] == one.stability
        assert found.success[k] == one.success
        assert found["residual"][k] == one.residual
        assert one.success or found.message(k) == one.message
        if "multipliers" in found:
            np.testing.assert_array_equal(found["multipliers"][k], one.multipliers)
        if "tensions" in found:
            np.testing.assert_array_equal(found["tensions"][k], one.u)


@pytest.mark.parametrize("name", ["plain", "loops"])
def test_static_jacobians(name, plain, tensions):
    system = plain if name == "plain" else compiled(name)
    u = tensions[:, : system.nu]
    rest = pl.batch(system).statics(u)
    q = rest["q"][rest.success]
    u = u[rest.success]
    frame = system.frames[-1]
    found = pl.batch(system, threads=2).static_jacobians(frame, q, u)
    for k in range(len(q)):
        np.testing.assert_array_equal(found["jacobian"][k], pl.static_jacobian(system, q[k], frame, u=u[k]))


@pytest.mark.parametrize("threads", [1, 2])
def test_rollouts(plain, tensions, threads):
    rest = pl.solve_statics(plain)
    U = np.repeat(tensions[:, None], 12, axis=1) * np.linspace(0, 1, 12)[:, None]
    found = pl.batch(plain, threads=threads).rollouts(
        U, step=0.01, start=rest, keep=("q", "v", "a", "u"), frames=["arm.tip", "arm"]
    )
    assert found["q"].shape == (COUNT, 13, plain.nq)
    for k in range(COUNT):
        run = pl.rollout(plain, U[k], step=0.01, start=rest)
        for field in ("q", "v", "a", "u"):
            np.testing.assert_array_equal(found[field][k], getattr(run, field))
        np.testing.assert_array_equal(found["position"][k, 0], run.positions("arm.tip"))
    np.testing.assert_array_equal(found.given["t"][1], run.t)


@pytest.mark.parametrize("name", ["plain", "loops"])
def test_gradients(name, plain, tensions):
    system = plain if name == "plain" else compiled(name)
    rest = pl.solve_statics(system)
    U = np.repeat(tensions[:5, None, : system.nu], 8, axis=1)
    frame = system.frames[-1]
    cost = pl.Reach(frame, (0.3, 0.1, 0.0)) + 1e-4 * pl.Effort()
    young = next(name for name in system.parameters if name.endswith(".young"))
    found = pl.batch(system, threads=2).gradients(cost, U, step=0.01, start=rest, by=[young])
    assert found.success.all(), str(found)
    for k in range(len(U)):
        g = pl.rollout(system, U[k], step=0.01, start=rest).gradient(cost)
        assert found["value"][k] == g.value
        np.testing.assert_array_equal(found["u"][k], g.u)
        np.testing.assert_array_equal(found["start"][k], g.start)
        np.testing.assert_array_equal(found["velocity"][k], g.velocity)
        assert found["parameters"][k, 0] == g[young]


def test_other_interpolations_and_shared_inputs(plain):
    U = np.array([[0.0, 1.0], [4.0, 2.0], [0.0, 1.0]])
    starts = many(plain, 4)[0]
    found = pl.batch(plain).rollouts(U, step=0.01, duration=0.1, inputs="spline", start=starts, method="sdirk3")
    for k in range(4):
        run = pl.rollout(plain, U, step=0.01, duration=0.1, inputs="spline", start=starts[k], method="sdirk3")
        np.testing.assert_array_equal(found["q"][k], run.q)
    named = pl.batch(plain).rollouts({"up": [1.0, 2.0]}, step=0.01, start=starts)
    np.testing.assert_array_equal(named["q"][1], pl.rollout(plain, {"up": [1.0, 2.0]}, step=0.01, start=starts[1]).q)
    each = pl.batch(plain).rollouts({"up": [[1.0, 2.0], [3.0, 4.0]], "left": 0.5}, step=0.01)
    np.testing.assert_array_equal(each["q"][1], pl.rollout(plain, [[0.5, 3.0], [0.5, 4.0]], step=0.01).q)


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize("name", ["arm.young", "arm.length", "gravity.z", "left.y"])
def test_parameter_sets(plain, tensions, name):
    """Numbers of tables, tables of another shape (points along tendons), gravity."""
    values = plain.parameters[name] * np.linspace(0.8, 1.1, COUNT)
    jobs = pl.batch(plain, threads=2, parameters={name: values})
    rest = jobs.statics(tensions)
    linear, poses = jobs.linearize(rest["q"], u=tensions), jobs.poses("arm.tip", rest["q"])
    slopes = jobs.static_jacobians("arm.tip", rest["q"], tensions)
    moved = jobs.rollouts(tensions[0], step=0.01, duration=0.05)
    for k in range(0, COUNT, 5):
        other = plain.with_parameters({name: values[k]})
        one = pl.solve_statics(other, tensions[k])
        np.testing.assert_array_equal(rest["q"][k], one.q)
        np.testing.assert_array_equal(linear["A"][k], pl.linearize(other, one).A)
        np.testing.assert_array_equal(poses["pose"][k], other.pose("arm.tip", one.q))
        np.testing.assert_array_equal(slopes["jacobian"][k], pl.static_jacobian(other, one, "arm.tip"))
        np.testing.assert_array_equal(moved["q"][k], pl.rollout(other, tensions[0], step=0.01, duration=0.05).q)


def test_parameters_that_change_the_shape_of_tables():
    """A routing that needs more points than another, a curve that becomes straight."""
    robot = pl.Robot("wound")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(1e6, poisson=0.5, density=1000), strains=pl.Strains.kirchhoff(3)
    )  # fmt: skip
    robot.add_tendon("cable", rod, **pl.helical_routing(0.012, turns=1))
    system = robot.compile()
    names = [name for name in system.parameters if name.startswith(("cable", "arm.length"))]
    for name in names:
        values = system.parameters[name] * np.array([1.0, 0.5, 1.6]) + 0.0
        found = pl.batch(system, parameters={name: values}).statics({"cable": 2.0})
        for k in np.flatnonzero(found.success):
            other = system.with_parameters({name: values[k]})
            np.testing.assert_array_equal(found["q"][k], pl.solve_statics(other, {"cable": 2.0}).q)
        for k in np.flatnonzero(~found.success):
            with pytest.raises(ValueError, match=re.escape(found.message(k))):
                system.with_parameters({name: float(values[k])})


def test_refused_parameters_stay_alone(plain):
    found = pl.batch(plain, parameters={"arm.young": [1e6, -5.0, np.nan, 8e5]}).statics({"up": 3.0})
    assert found.status.tolist() == ["ok", "refused", "refused", "ok"]
    assert "arm.young" in found.message(1)
    assert "arm.young" in found.message(2)
    assert np.isnan(found["q"][1]).all()
    assert found["iterations"][1] == -1
    np.testing.assert_array_equal(found["q"][0], pl.solve_statics(plain, {"up": 3.0}).q)


# ---------------------------------------------------------------- bad items, odd arrays


def test_bad_items_do_not_spoil_others(plain, tensions):
    good = pl.batch(plain).statics(tensions)
    u = tensions.copy()
    u[3, 1], u[7, 0], u[11, 0] = np.nan, -1.0, np.inf
    found = pl.batch(plain).statics(u)
    assert np.flatnonzero(~found.success).tolist() == [3, 7, 11]
    assert found.message(3) == "u[1] = nan ('up') must be a finite number."
    assert "input 'left' = -1 is not allowed" in found.message(7)
    assert found.message(0) == "ok"
    np.testing.assert_array_equal(found["q"][found.success], good["q"][found.success])
    assert np.isnan(found["q"][[3, 7, 11]]).all()
    assert found["stability"][3] == "unknown"
    q = good["q"].copy()
    q[5, 2] = np.nan
    for name, array in (("poses", "pose"), ("jacobians", "jacobian")):
        seen, clean = getattr(pl.batch(plain), name)("arm.tip", q), getattr(pl.batch(plain), name)("arm.tip", good["q"])
        assert np.flatnonzero(~seen.success).tolist() == [5]
        np.testing.assert_array_equal(np.delete(seen[array], 5, axis=0), np.delete(clean[array], 5, axis=0))
        assert np.isnan(seen[array][5]).all()
        assert "arm." in seen.message(5)
    assert pl.batch(plain).linearize(q, u=tensions).status[5] == "refused"
    U = np.repeat(tensions[:, None], 4, axis=1)
    U[2, 1, 0] = np.nan
    moved = pl.batch(plain).rollouts(U, step=0.01, start=q)
    assert np.flatnonzero(~moved.success).tolist() == [2, 5]
    assert "U[1, 0] = nan ('left')" in moved.message(2)


def test_what_is_wrong_for_all_is_wrong_for_each(plain):
    found = pl.batch(plain).statics({"up": np.nan}, start=many(plain, 3)[0])
    assert found.status.tolist() == ["refused"] * 3


def test_no_convergence(plain, tensions):
    hopeless, tensions = {"iterations": 1, "load_steps": 1}, 1e4 + tensions
    found = pl.batch(plain).statics(tensions, **hopeless)
    assert not found.success.any()
    for k in (0, 5):
        one = pl.solve_statics(plain, tensions[k], **hopeless)
        assert found.message(k) == one.message
        np.testing.assert_array_equal(found["q"][k], one.q)


def test_a_motion_that_ends_early(plain):
    U = np.zeros((3, 6, 2))
    U[1, 3:] = 1e9
    found = pl.batch(plain).rollouts(U, step=0.05)
    assert found.status.tolist() == ["ok", "failed", "ok"]
    assert found.message(1).startswith("step ")
    assert np.isfinite(found["q"][1, 0]).all()
    assert np.isnan(found["q"][1, -1]).all()
    assert np.isnan(pl.batch(plain).gradients(pl.Effort(), U, step=0.05)["value"][1])


def test_a_load_that_raises_is_told_with_its_item():
    def fragile(pose: np.ndarray, twist: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        if inputs[0] > 0.5:
            raise RuntimeError("it broke")
        return np.zeros((len(pose), 6))

    robot = arm()
    robot.add_load("fragile", "arm", fragile, inputs=["force"])
    system = robot.compile()
    found = pl.batch(system, threads=2).statics({"force": [0.0, 1.0, 0.2], "cable": 1.0})
    assert found.status.tolist() == ["ok", "failed", "ok"]
    assert found.message(1) == "it broke"


def test_odd_arrays(plain, tensions):
    expected = pl.batch(plain).statics(tensions)["q"]
    frozen = tensions.copy()
    frozen.flags.writeable = False
    wide = np.zeros((COUNT, 4))
    wide[:, ::2] = tensions
    for u in (
        frozen,
        np.asfortranarray(tensions),
        wide[:, ::2],
        tensions[::-1][::-1],
        tensions.tolist(),
        {"left": frozen[:, 0], "up": wide[:, 2]},
    ):
        np.testing.assert_array_equal(pl.batch(plain).statics(u)["q"], expected)
    np.testing.assert_array_equal(
        pl.batch(plain).poses("arm.tip", np.asfortranarray(expected))["pose"], plain.pose("arm.tip", expected)
    )
    single = pl.batch(plain).statics(tensions.astype(np.float32))
    np.testing.assert_array_equal(single["q"][0], pl.solve_statics(plain, tensions[0].astype(np.float32)).q)
    assert frozen.tobytes() == tensions.tobytes()


def test_no_items_and_one(plain):
    jobs = pl.batch(plain)
    empty = jobs.statics(np.zeros((0, 2)))
    assert (len(empty), empty["q"].shape, empty.success.all()) == (0, (0, plain.nq), True)
    assert "no items" in str(empty)
    assert len(jobs.poses("arm.tip", np.zeros((0, plain.nq)))) == 0
    assert len(jobs.linearize(np.zeros((0, plain.nq)))) == 0
    assert len(jobs.rollouts(np.zeros((0, 3, 2)), step=0.1)) == 0
    assert len(jobs.statics({"up": []})) == 0
    one = jobs.statics({"up": 2.0})
    assert len(one) == 1
    np.testing.assert_array_equal(one["q"][0], pl.solve_statics(plain, {"up": 2.0}).q)
    assert jobs.rollouts(step=0.1, duration=0.2)["q"].shape == (1, 3, plain.nq)


def test_wrong_arguments(plain, tensions):
    jobs = pl.batch(plain)
    with pytest.raises(ValueError, match=r"u has 23, start has 4"):
        jobs.statics(tensions, start=np.zeros((4, plain.nq)))
    with pytest.raises(ValueError, match=r"u has shape \(23, 3\), but \(m, 2\) is needed"):
        jobs.statics(np.zeros((23, 3)))
    with pytest.raises(KeyError, match="did you mean 'left'"):
        jobs.statics({"lefft": tensions[:, 0]})
    with pytest.raises(ValueError, match="do not have as many items"):
        jobs.statics({"left": tensions[:, 0], "up": tensions[:4, 1]})
    with pytest.raises(KeyError, match=r"did you mean 'arm\.young'"):
        pl.batch(plain, parameters={"arm.yuong": [1.0]}).statics()
    with pytest.raises(TypeError, match="must be a dictionary"):
        pl.batch(plain, parameters=[1.0]).statics()
    with pytest.raises(KeyError, match="tip"):
        jobs.poses("arm.tipp", np.zeros((1, plain.nq)))
    with pytest.raises(TypeError, match="q = 'here' is not an array"):
        jobs.poses("arm.tip", "here")
    with pytest.raises(TypeError, match="compile it first"):
        pl.batch(plain.robot)
    with pytest.raises(ValueError, match="threads = 0"):
        pl.batch(plain, threads=0)
    with pytest.raises(TypeError, match="progress"):
        pl.batch(plain, progress="yes")
    with pytest.raises(ValueError, match=r"U has shape \(2, 3, 4, 2\)"):
        jobs.rollouts(np.zeros((2, 3, 4, 2)), step=0.1)
    with pytest.raises(ValueError, match="keep = 'w'"):
        jobs.rollouts(step=0.1, duration=0.2, keep=["w"])
    with pytest.raises(TypeError, match="checkpoint"):
        jobs.rollouts(step=0.1, duration=0.2, checkpoint=3)
    with pytest.raises(KeyError, match="array of this batch"):
        jobs.statics(tensions)["Q"]
    with pytest.raises(IndexError, match="item 23"):
        jobs.statics(tensions).message(23)


def test_text_and_datasets(plain, tensions):
    pytest.importorskip("xarray")
    u = tensions.copy()
    u[1] = np.nan
    found = pl.batch(plain).statics(u)
    assert "23 items, 22 ok, 1 refused" in str(found)
    assert "item 1: u[0] = nan" in str(found)
    data = found.to_xarray()
    assert data["q"].dims == ("item", "coordinate")
    assert data["q"].sel(coordinate="arm.bending_y[0]").shape == (COUNT,)
    assert data["stability"].values[0] == "stable"
    assert data["u"].sel(input="up").values[0] == u[0, 1]
    assert data["status"].values[1] == "refused"
    moved = pl.batch(plain).rollouts(tensions[:, None], step=0.01, frames="arm.tip").to_xarray()
    assert moved["position"].sel(frame="arm.tip", axis="z").shape == (COUNT, 2)
    assert moved["t"].shape == (2,)


# ---------------------------------------------------------------- threads, interrupts, progress


def test_two_batches_in_two_threads(plain, tensions):
    expected = pl.batch(plain).statics(tensions)["q"]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda k: pl.batch(plain, threads=2).statics(tensions)["q"], range(6)))
    for q in found:
        np.testing.assert_array_equal(q, expected)


def test_progress(plain, tensions, capsys):
    pl.batch(plain).statics(tensions)
    assert capsys.readouterr().err == ""
    pl.batch(plain, progress=True).statics(tensions)
    assert "23 / 23 items" in capsys.readouterr().err


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_keeps_what_is_done(plain, threads):
    U = np.zeros((400_000, 2))
    U[:, 1] = np.linspace(0, 8, len(U))
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    found = pl.batch(plain, threads=threads).statics(U)
    timer.cancel()
    assert found.interrupted
    assert "interrupted" in str(found)
    assert 0 < found.done.sum() < len(U)
    assert (found.status[~found.done] == "pending").all()
    assert np.isnan(found["q"][~found.done]).all()
    some = np.flatnonzero(found.done)[[0, -1]]
    for k in some:
        np.testing.assert_array_equal(found["q"][k], pl.solve_statics(plain, U[k]).q)
    pl.batch(plain, threads=2).statics(U[:50])  # and the next one works


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["found.h5", "found.zarr"])
def test_results_in_files(plain, tensions, tmp_path, name):
    if name.endswith("h5"):
        pytest.importorskip("h5py")
    u = tensions.copy()
    u[4] = np.nan
    expected, path = pl.batch(plain).statics(u), tmp_path / name
    found = pl.batch(plain, to=path, memory=2e4, threads=2).statics(u)
    assert found.path == path
    np.testing.assert_array_equal(found["q"][:], expected["q"])
    np.testing.assert_array_equal(found["q"][3:5], expected["q"][3:5])
    np.testing.assert_array_equal(np.asarray(found["residual"]), expected["residual"])
    assert found["stability"].tolist() == expected["stability"].tolist()
    assert found.message(4) == expected.message(4)
    later = pl.BatchResult.open(path)
    np.testing.assert_array_equal(later["q"][:], expected["q"])
    assert later["stability"].tolist() == expected["stability"].tolist()
    assert (later.messages, later.status.tolist()) == (expected.messages, expected.status.tolist())
    if importlib.util.find_spec("xarray"):
        assert later.to_xarray().equals(expected.to_xarray())
    nobody = pl.batch(plain, to=path).statics(np.zeros((0, 2)))
    assert nobody["q"].shape == (0, plain.nq)
    assert len(pl.BatchResult.open(path)) == 0
    again = pl.batch(plain, to=path).statics(tensions[:5])  # replaces the old one
    assert len(again["q"]) == 5
    assert [p.name for p in tmp_path.iterdir()] == [name]
    if name.endswith("h5"):
        import h5py

        with h5py.File(path) as file:
            assert file["status"][:].tolist() == [1] * 5
            assert json.loads(file["header"][()])["names"]["input"] == ["left", "up"]
            assert json.loads(file["messages"][:].tobytes().rstrip(b"\0")) == {}


def test_files_that_are_no_results(tmp_path):
    h5py = pytest.importorskip("h5py")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        pl.BatchResult.open(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("hello")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1.0
    for name in ("text.h5", "other.h5"):
        with pytest.raises(ValueError, match="is not the result of a batch"):
            pl.BatchResult.open(tmp_path / name)


def test_zarr_stores_are_datasets(plain, tensions, tmp_path):
    pytest.importorskip("zarr")
    xr = pytest.importorskip("xarray")
    pl.batch(plain, to=tmp_path / "found.zarr").statics(tensions)
    data = xr.open_zarr(tmp_path / "found.zarr", consolidated=False)
    assert data["q"].dims == ("item", "coordinate")


def test_too_much_for_memory(plain, tensions):
    with pytest.raises(ValueError, match=r"take .* more than memory = 1 kB. .*to=\"file.h5\""):
        pl.batch(plain, memory=1000).statics(tensions)


def test_unwritable_targets(plain, tensions, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"must end in .h5"):
        pl.batch(plain, to=tmp_path / "found.csv").statics(tensions)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        pl.batch(plain, to=tmp_path / "nowhere" / "found.h5").statics(tensions)
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(FileExistsError, match="no Zarr store"):
        pl.batch(plain, to=tmp_path / "mine.zarr").statics(tensions)
    (tmp_path / "folder.h5").mkdir()
    with pytest.raises(IsADirectoryError):
        pl.batch(plain, to=tmp_path / "folder.h5").statics(tensions)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("", (), {"free": 1000})())
    with pytest.raises(OSError, match="the disk has 1 kB left"):
        pl.batch(plain, to=tmp_path / "found.h5").statics(tensions)


FULL = """
import resource, signal, sys
sys.path.insert(0, {tests!r})
import numpy as np
import pliant as pl
from test_threads import arm

system = arm().compile()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
q = np.random.default_rng(0).normal(size=(3000, system.nq))
pl.batch(system).jacobians("arm.tip", q)
if {slow}:  # the store fits, at first: what was written can be written again, but nothing new
    from pliant.many.file_store import FileStore
    from pliant.many.hdf5_store import HDF5Store
    from pliant.many.zarr_store import ZarrStore

    kind = ZarrStore if {path!r}.endswith("zarr") else HDF5Store
    first, put, there, calls = kind._write, FileStore.put, set(), []

    def write(self, entry, j, content):
        if len(calls) > 6 and (entry.name, j) not in there:
            raise OSError(28, "No space left on device")
        there.add((entry.name, j))
        first(self, entry, j, content)

    def counted(self, *rest):
        calls.append(1)
        put(self, *rest)

    kind._write, FileStore.put = write, counted
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    pl.batch(system, to={path!r}).jacobians("arm.tip", q)
except OSError as error:
    print(error)
    if error.found is not None:
        print("kept", error.found.done.sum(), np.isfinite(error.found["jacobian"][:][error.found.done]).all())
"""


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("name", ["found.h5", "found.zarr"])
def test_a_disk_that_fills_up(tmp_path, name, slow):
    pytest.importorskip("h5py")
    code = FULL.format(tests=str(TESTS), path=str(tmp_path / name), slow=slow)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "could not be written" in done.stdout
    if slow:
        assert "of 3000 items are in" in done.stdout
        kept = re.search(r"kept (\d+) True", done.stdout)
        assert kept is not None
        assert 0 < int(kept[1]) < 3000
        later = pl.BatchResult.open(tmp_path / name)
        assert later.done.sum() == int(kept[1])
        assert np.isnan(later["jacobian"][:][~later.done]).all()
        assert np.isfinite(later["jacobian"][:][later.done]).all()
    else:
        assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_the_file(plain, tmp_path):
    pytest.importorskip("h5py")
    U = np.zeros((400_000, 2))
    timer = threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    found = pl.batch(plain, to=tmp_path / "found.h5", threads=2).statics(U)
    timer.cancel()
    assert found.interrupted
    assert found["q"].shape == (400_000, plain.nq)
    done = np.flatnonzero(found.done)
    np.testing.assert_array_equal(found["q"][int(done[0])], pl.solve_statics(plain).q)
    assert np.isnan(found["q"][int(np.flatnonzero(~found.done)[-1])]).all()


def test_warnings_of_rough_rods():
    robot = pl.Robot("whip")
    robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.005), material=pl.Material(1e6, poisson=0.5, density=1000), strains=pl.Strains.kirchhoff(3),
        points=4,
    )  # fmt: skip
    found = pl.batch(robot.compile()).statics(start=np.zeros((2, 12)))
    assert len(found.warnings) == 1
    assert "points" in found.warnings[0]
    assert found.warnings[0] in str(found)
