"""What the adapters have in common: derivatives by entries of q and along the manifold."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from adapter_robots import floating
from pliant.gradients.coordinates import (
    change_along,
    change_of_entries,
    position_slopes,
    slopes_along,
    slopes_by_entries,
    unit,
)
from robots import random_robot


@pytest.fixture(scope="module", params=["floating", "tree"])
def system(request) -> pl.System:
    robot = floating() if request.param == "floating" else random_robot(7)
    system = robot.compile()
    if request.param == "floating":
        assert [joint.group.name for joint in system.manifold_joints] == ["free", "spherical"]
    return system


def states(system: pl.System, rows: int = 3) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([system.random(rng, scale=0.5) for _ in range(rows)])


def test_changes_of_entries_by_differences(system):
    rng = np.random.default_rng(2)
    q, h = states(system), 1e-6
    d = rng.normal(size=(len(q), system.nv))
    moved = [[system.integrate(row, s * h * change) for row, change in zip(q, d)] for s in (1, -1)]
    np.testing.assert_allclose(change_of_entries(system, q, d), (np.array(moved[0]) - moved[1]) / (2 * h), atol=1e-8)


def test_changes_along_by_differences(system):
    """Also where quaternions are not of unit length."""
    rng = np.random.default_rng(3)
    q, h = states(system), 1e-6
    for joint in system.manifold_joints:
        q[:, joint.q.start : joint.q.start + 4] *= 1.7
    dq = rng.normal(size=q.shape)
    ends = [[system.difference(row, row + s * h * change) for row, change in zip(q, dq)] for s in (1, -1)]
    np.testing.assert_allclose(change_along(system, q, dq), (np.array(ends[0]) - ends[1]) / (2 * h), atol=1e-8)


def test_slopes_are_the_transposed_of_changes(system):
    rng = np.random.default_rng(4)
    q = states(system)
    d, dq = rng.normal(size=(len(q), system.nv)), rng.normal(size=q.shape)
    by_d, by_q = rng.normal(size=d.shape), rng.normal(size=q.shape)
    np.testing.assert_allclose(
        np.vdot(slopes_along(system, q, by_q), d), np.vdot(by_q, change_of_entries(system, q, d))
    )
    np.testing.assert_allclose(
        np.vdot(slopes_by_entries(system, q, by_d), dq), np.vdot(by_d, change_along(system, q, dq))
    )
    np.testing.assert_allclose(change_along(system, q, change_of_entries(system, q, d)), d, atol=1e-14)


def test_unit(system):
    q = states(system)
    other = q.copy()
    for joint in system.manifold_joints:
        other[:, joint.q.start : joint.q.start + 4] *= 0.3
    np.testing.assert_allclose(unit(system, other), q, atol=1e-15)
    assert not np.shares_memory(unit(system, q), q)


def test_slopes_of_positions_by_differences(system):
    q, h = states(system), 1e-6
    frame = system.links[-1]
    J = position_slopes(system, frame, q)
    for k, e in enumerate(np.eye(system.nq)):
        off = system.pose(frame, q + h * e)[:, :3, 3] - system.pose(frame, q - h * e)[:, :3, 3]
        np.testing.assert_allclose(J[:, :, k], off / (2 * h), atol=1e-7)
