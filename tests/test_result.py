"""`Result`: what it says, what can be asked of it, files."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("swimmer", gravity=(0, 0, -1.0))
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.1), mass=1.0)
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=5e3)
    tail = robot.add_rod(
        "tail", parent=base, length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1)
    )
    robot.add_tendon("tendon", tail, y=0.01)
    robot.add_frame("middle", tail.at(0.5))
    return robot.compile()


def kick(state) -> float:
    return state.t - 0.11


@pytest.fixture(scope="module")
def result(system: pl.System) -> pl.Result:
    v = np.zeros(system.nv)
    v[:6] = 1.0, -2.0, 3.0, 0.1, 0.2, 0.3
    return pl.simulate(system, 0.5, velocity=v, u=lambda t: {"tendon": 4 * t}, step=0.005, events=kick)


def test_text(result: pl.Result) -> None:
    text = str(result)
    for word in ("swimmer", "0.5 s", "esdirk3", "completed", "100 steps", "kinetic", "kick"):
        assert word in text, text
    assert len(result) == 101


def test_poses_and_positions(system: pl.System, result: pl.Result) -> None:
    poses = result.poses("tail.tip")
    assert poses.shape == (101, 4, 4)
    np.testing.assert_array_equal(poses[7], system.pose("tail.tip", result.q[7]))
    np.testing.assert_array_equal(result.positions("middle")[9], system.pose("middle", result.q[9])[:3, 3])
    with pytest.raises(KeyError):
        result.poses("head")


def test_energies_and_momenta(system: pl.System, result: pl.Result) -> None:
    energies = result.energies()
    q, v = result.q[33], result.v[33]
    assert energies.kinetic[33] == pytest.approx(0.5 * v @ system.mass_matrix(q) @ v)
    assert energies.gravitational[33] == system.gravitational_energy(q)
    assert energies.elastic[33] == pytest.approx(0.5 * q[7:] @ system.stiffness_matrix()[6:, 6:] @ q[7:])
    np.testing.assert_array_equal(energies.total, energies.kinetic + energies.gravitational + energies.elastic)
    L, p = result.momenta()
    assert p.shape == L.shape == (101, 3)
    # only gravity acts from outside
    expected = p[0] + system.mass * np.outer(result.t, [0, 0, -1.0])
    np.testing.assert_allclose(p, expected, atol=2e-3)


def test_power_balance(result: pl.Result) -> None:
    balance = result.power_balance()
    assert set(balance) == {"energy", "dissipated", "input", "imbalance"}
    assert balance["dissipated"][0] == balance["input"][0] == balance["imbalance"][0] == 0
    assert np.all(np.diff(balance["dissipated"]) >= 0)
    np.testing.assert_array_equal(balance["energy"], result.energies().total)
    assert np.abs(balance["imbalance"]).max() < 1e-4 * result.energies().kinetic[0]


@pytest.mark.parametrize("kind", ["constant wrench", "tau"])
def test_power_balance_counts_every_force(kind: str) -> None:
    robot = pl.Robot("arm")
    rubber = pl.Material(young=5e5, poisson=0.5, density=1000.0, viscosity=4e3)
    rod = robot.add_rod("rod", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1))
    if kind == "constant wrench":
        robot.add_wrench("load", rod.tip, force=(0, 0.5, 0), constant=True)
    tau = [0.05] * 4 if kind == "tau" else None
    balance = pl.simulate(robot.compile(), 1.0, tau=tau, step=1e-3).power_balance()
    assert np.abs(balance["imbalance"]).max() < 0.01 * balance["dissipated"][-1]


def test_resample_at_the_stored_times_changes_nothing(result: pl.Result) -> None:
    same = result.resample(result.t)
    np.testing.assert_allclose(same.q, result.q, atol=1e-13)
    np.testing.assert_allclose(same.v, result.v, atol=1e-11)
    np.testing.assert_allclose(same.a, result.a, atol=1e-12)
    np.testing.assert_allclose(same.u, result.u, atol=1e-14)
    assert same.events == result.events
    assert same.method == result.method


def test_resample_is_accurate(system: pl.System) -> None:
    v = np.zeros(system.nv)
    v[:3] = 1.0, -2.0, 3.0
    options = {"velocity": v, "method": "dop853", "rtol": 1e-9, "atol": 1e-9}
    fine = pl.simulate(system, 0.3, output=np.linspace(0, 0.3, 121), **options)
    coarse = pl.simulate(system, 0.3, output=np.linspace(0, 0.3, 31), **options).resample(fine.t)
    late = fine.t > 0.05  # the start is a fast transient
    error = [np.abs(system.difference(a, b)).max() for a, b in zip(fine.q[late], coarse.q[late])]
    assert max(error) < 1e-5
    np.testing.assert_allclose(coarse.v[late], fine.v[late], atol=5e-3)
    np.testing.assert_allclose(np.linalg.norm(coarse.q[:, :4], axis=1), 1.0, atol=1e-13)


def test_resample_outside(result: pl.Result) -> None:
    for t in (-0.1, 0.6, [0.1, 0.9]):
        with pytest.raises(ValueError, match="within the run"):
            result.resample(t)
    assert result.resample(0.25).q.shape == (1, result.system.nq)


def test_resample_of_a_single_time(system: pl.System) -> None:
    """A run that failed at once has one row; it can still be asked for it."""
    one = pl.simulate(system, 0.1, u=lambda t: [np.nan if t > 0 else 0.0], step=0.01)
    assert not one.success
    assert len(one) == 1
    np.testing.assert_array_equal(one.resample([0.0]).q, one.q)
    str(one)


def test_xarray(system: pl.System, result: pl.Result) -> None:
    pytest.importorskip("xarray")
    data = result.to_xarray()
    sizes = {"t": 101, "coordinate": system.nq, "dof": system.nv, "input": 1}
    assert dict(data.sizes) == {**sizes, "link": len(system.links), "wrench": 6}
    np.testing.assert_array_equal(
        data["v"].sel(dof="tail.bending_y[0]"), result.v[:, system.dof_names.index("tail.bending_y[0]")]
    )
    np.testing.assert_array_equal(data["u"].sel(input="tendon"), result.u[:, 0])
    np.testing.assert_array_equal(data["q"].isel(t=-1), result.q[-1])
    assert data.attrs["system"] == "swimmer"
    assert float(data["v"].sel(t=0.25, method="nearest")[0]) == result.v[50, 0]


def test_save_and_load(system: pl.System, result: pl.Result, tmp_path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "run.h5"
    result.save(path)
    again = pl.Result.load(path, system)
    for name in ("t", "q", "v", "a", "u"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert again.system is system
    assert (again.success, again.message, again.method) == (result.success, result.message, result.method)
    assert again.statistics == result.statistics
    assert [(e.name, e.t) for e in again.events] == [(e.name, e.t) for e in result.events]
    np.testing.assert_array_equal(again.events[0].q, result.events[0].q)
    assert str(again) == str(result)
    # and can be written again
    again.save(path)


def test_file_of_another_version(system: pl.System, result: pl.Result, tmp_path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "run.h5"
    result.save(path)
    content = path.read_bytes()
    assert content.startswith(b"pliant result 2\n")
    for version in (0, 99):
        path.write_bytes(content.replace(b"result 2", b"result %d" % version, 1))
        with pytest.raises(ValueError, match=f"format {version}"):
            pl.Result.load(path, system)


def test_file_of_another_robot(result: pl.Result, tmp_path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "run.h5"
    result.save(path)
    robot = pl.Robot("other")
    robot.add_body("bob", joint=pl.Revolute("y"), mass=1.0, com=(0, 0, -1.0))
    with pytest.raises(ValueError, match="swimmer"):
        pl.Result.load(path, robot.compile())


def test_file_that_is_not_there(system: pl.System, tmp_path) -> None:
    pytest.importorskip("h5py")
    with pytest.raises(FileNotFoundError):
        pl.Result.load(tmp_path / "nothing.h5", system)
