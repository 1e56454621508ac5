"""Reachable sets against what single equilibria say."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from test_threads import bow


@pytest.fixture(scope="module")
def system() -> pl.System:
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "arm", length=0.4, section=pl.Circle(0.015), material=pl.Material(1e6, poisson=0.5, density=1000, viscosity=1e4),
        strains=pl.Strains.kirchhoff(3), points=6,
    )  # fmt: skip
    for k in range(3):
        a = 2 * np.pi * k / 3
        robot.add_tendon(f"cable{k}", rod, y=0.012 * np.sin(a), z=0.012 * np.cos(a))
    return robot.compile()


RANGES = {"cable0": (0.0, 6.0), "cable1": (0.0, 6.0), "cable2": (0.0, 6.0)}


@pytest.fixture(scope="module")
def reach(system) -> pl.ReachableSet:
    return pl.workspace(system, ["arm.tip", "arm@0"], RANGES, samples=600, manipulability=True, seed=1)


def test_points_are_equilibria(system, reach):
    assert reach.reached.all()
    assert reach.frames == ("arm.tip", "arm@0")
    for k in range(0, 600, 60):
        rest = pl.solve_statics(system, reach.u[k])
        np.testing.assert_allclose(reach.points()[k], system.pose("arm.tip", rest.q)[:3, 3], atol=1e-8)
        exact = pl.static_jacobian(system, reach.q[k], "arm.tip", u=reach.u[k])[3:]
        np.testing.assert_array_equal(reach.jacobians()[k], exact)
    np.testing.assert_array_equal(reach.points("arm@0"), 0.0)
    assert (reach.u >= 0).all()
    assert (reach.u <= 6).all()


def test_threads_and_seeds(system, reach):
    again = pl.workspace(system, "arm.tip", RANGES, samples=600, seed=1, threads=1)
    np.testing.assert_array_equal(again.q, reach.q)
    fewer = pl.workspace(system, "arm.tip", RANGES, samples=64, seed=1)
    np.testing.assert_array_equal(fewer.u, reach.u[:64])
    other = pl.workspace(system, "arm.tip", RANGES, samples=64, seed=2)
    assert not np.array_equal(other.u, fewer.u)


def test_derivatives_are_those_of_positions(system, reach):
    """Against equilibria with other tensions."""
    k, h = 5, 1e-3
    for j in range(3):
        u = [reach.u[k] + s * h * np.eye(3)[j] for s in (1, -1)]
        tips = [
            system.pose("arm.tip", pl.solve_statics(system, x, start=reach.q[k], tolerance=1e-13).q)[:3, 3] for x in u
        ]
        np.testing.assert_allclose((tips[0] - tips[1]) / (2 * h), reach.jacobians()[k][:, j], rtol=1e-5, atol=1e-9)


def test_measures(reach):
    J = reach.jacobians()
    np.testing.assert_allclose(
        reach.manipulability(), np.sqrt(np.maximum(np.linalg.det(J @ J.transpose(0, 2, 1)), 0)), rtol=1e-6, atol=1e-13
    )
    assert reach.singular_values().shape == (600, 3)
    assert (np.diff(reach.singular_values(), axis=1) <= 0).all()
    volume = reach.hull_volume()
    assert 0 < volume < 0.4**3
    assert reach.hull_volume("arm@0") == 0.0
    coarse, fine = reach.voxels(0.05), reach.voxels(0.01)
    assert coarse.count.sum() == fine.count.sum() == 600
    assert fine.volume < coarse.volume
    assert coarse.occupied.sum() * 0.05**3 == pytest.approx(coarse.volume)
    inside = coarse.origin + 0.05 * (np.argwhere(coarse.occupied) + 0.5)
    assert np.abs(inside - reach.points().mean(axis=0)).max() < 0.5
    assert "600 of 600 points reached" in str(reach)


def test_a_plane_has_no_volume(system):
    flat = pl.workspace(system, "arm.tip", {"cable0": (0, 6)}, samples=5, sampling="grid")
    assert len(flat) == 5
    assert flat.hull_volume() == 0.0
    np.testing.assert_array_equal(flat.u[:, 0], np.linspace(0, 6, 5))
    held = pl.workspace(system, "arm.tip", {"cable0": (0, 6)}, samples=4, sampling="latin", fixed={"cable1": 2.0})
    assert (held.u[:, 1] == 2.0).all()


def test_what_cannot_be_reached(system):
    """Tensions that no rod of that stiffness bears: told, and left out."""
    soft = system.with_parameters({"arm.young": 2e4})
    found = pl.workspace(soft, "arm.tip", {"cable0": (0.0, 200.0)}, samples=40)
    lost = ~found.reached
    assert np.isnan(found.points()[lost]).all()
    assert np.isfinite(found.points()[found.reached]).all()
    for k in np.flatnonzero(~found.statics.success)[:2]:
        assert found.statics.message(k) != "ok"
    assert found.voxels(0.1).count.sum() == found.reached.sum()


def test_loops():
    system = bow().compile()
    found = pl.workspace(system, "leg0.tip", {"cable": (0.0, 3.0)}, samples=9, manipulability=True)
    assert found.reached.all()
    k = 4
    np.testing.assert_allclose(
        found.jacobians()[k],
        pl.static_jacobian(system, pl.solve_statics(system, found.u[k]), "leg0.tip")[3:],
        rtol=1e-5,
        atol=1e-10,
    )


def test_wrong_arguments(system, reach):
    with pytest.raises(KeyError, match=r"did you mean .*'cable0'"):
        pl.workspace(system, "arm.tip", {"cable": (0, 1)})
    with pytest.raises(ValueError, match=r"inputs\['cable0'\] = \(2, 1\) is not allowed"):
        pl.workspace(system, "arm.tip", {"cable0": (2, 1)})
    with pytest.raises(ValueError, match="input 'cable0' = -1 is not allowed"):
        pl.workspace(system, "arm.tip", {"cable0": (-1, 1)}, sampling="grid", samples=2)
    with pytest.raises(ValueError, match=r"inputs = \{\}"):
        pl.workspace(system, "arm.tip", {})
    with pytest.raises(ValueError, match=r"frames = \[\]"):
        pl.workspace(system, [], RANGES)
    with pytest.raises(KeyError, match="tip"):
        pl.workspace(system, "arm.tup", RANGES)
    with pytest.raises(ValueError, match="sampling = 'some'"):
        pl.workspace(system, "arm.tip", RANGES, sampling="some")
    with pytest.raises(ValueError, match="samples = 0"):
        pl.workspace(system, "arm.tip", RANGES, samples=0)
    with pytest.raises(KeyError, match="frame of this set"):
        reach.points("arm.base")
    with pytest.raises(ValueError, match="size = 0"):
        reach.voxels(0)
    with pytest.raises(ValueError, match="at most 1e9"):
        reach.voxels(1e-5)
    with pytest.raises(ValueError, match="manipulability=True"):
        pl.workspace(system, "arm.tip", RANGES, samples=2).jacobians()


def test_plot(reach):
    pytest.importorskip("matplotlib")
    ax = reach.plot()
    assert ax.get_zlabel() == "z [m]"
    assert len(ax.collections[0].get_offsets()) == 600
    reach.plot("arm.tip", colors=False, ax=ax)
