"""Redundant constraints: one choice of independent rows, by statics, motion, both forms of the dynamics and linearisation."""

from functools import cache

import numpy as np
import pytest

import pliant as pl
from pliant.solve.closure import close, consistent_velocity, constrained_acceleration, null_space
from pliant.system.forces import independent

START = np.array([-0.9, 0.7, -1.2])


@cache
def four_bar(pins: int = 1) -> pl.System:
    """A planar mechanism in space, held by a spring; its last joint may be described several times."""
    robot = pl.Robot("four-bar", gravity=(0.0, 0.0, -9.81))
    inertia = {"mass": 0.5, "com": (0.1, 0, 0), "inertia": (1e-3, 2e-3, 2e-3)}
    crank = robot.add_body("crank", joint=pl.Revolute("y", stiffness=2.0, rest=-0.9, damping=0.1), **inertia)
    coupler = robot.add_body("coupler", parent=crank, offset=(0.2, 0, 0), joint=pl.Revolute("y"), **inertia)
    rocker = robot.add_body("rocker", offset=(0.3, 0, 0), joint=pl.Revolute("y"), **inertia)
    for k in range(pins):
        robot.add_loop(f"pin{k}", coupler.at((0.3, 0, 0)), rocker.at((0.25, 0, 0)), joint=pl.Revolute("y"))
    return robot.compile()


# ---------------------------------------------------------------- the choice itself


def test_rank_and_span_for_random_rows():
    """As many as the rank; they span what all span, and are far from depending on each other."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, n, rank = rng.integers(1, 9, 3)
        rank = min(m, n, rank)
        rows = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)) * 10.0 ** rng.uniform(-3, 3, (m, 1))
        kept = independent(rows)
        assert kept.sum() == rank
        basis = rows[kept] / np.linalg.norm(rows[kept], axis=1)[:, None]
        assert np.linalg.svd(basis, compute_uv=False)[-1] > 1e-4
        free = null_space(rows)
        assert free.shape == (n, n - rank)
        np.testing.assert_allclose(free.T @ free, np.eye(n - rank), atol=1e-14)
        assert np.abs(rows @ free / np.abs(rows).max(axis=1)[:, None]).max(initial=0.0) < 1e-11


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([], []),
        ([[0.0, 0.0]], [False]),
        ([[1.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [True, False, True]),  # of equals the first
        ([[1.0, 1.0], [1.0 + 1e-15, 1.0]], [True, False]),
        ([[1.0, 0.0], [1.0, 1e-7], [0.0, 1e-3]], [True, False, True]),  # the row in between says nothing of its own
        ([[1.0, 0.0], [1e-17, 1e-17]], [True, False]),  # rounding is no constraint
        ([[1.0, 0.0], [1.0, 1e-6]], [True, False]),
        ([[1.0, 0.0], [1.0, 1e-4]], [True, True]),
    ],
)
def test_choice(rows, kept):
    rows = np.array(rows, dtype=float).reshape(-1, 2)
    before = rows.copy()
    assert independent(rows).tolist() == kept
    np.testing.assert_array_equal(rows, before)


def test_rows_that_are_no_numbers_end_the_search():
    for value in (np.nan, np.inf):
        assert len(independent(np.array([[1.0, 0.0], [value, 0.0], [0.0, 1.0]]))) == 3


# ---------------------------------------------------------------- who uses it


def test_all_users_agree():
    """A doubled loop moves like the single one, and its second joint and all that is out of the plane carry no force."""
    single, double = four_bar(), four_bar(2)
    rests = [pl.solve_statics(system, start=START) for system in (single, double)]
    assert all(rest.success for rest in rests), [rest.message for rest in rests]
    q = rests[1].q
    np.testing.assert_allclose(q, rests[0].q, atol=1e-10)
    extra = ["position y", "tilt 1", "tilt 2"]
    assert pl.redundant_constraints(single, q) == [f"pin0: {row}" for row in extra]
    redundant = pl.redundant_constraints(double, q)
    assert redundant == [f"pin0: {row}" for row in extra] + [name for name in double.loop_rows if "pin1" in name]
    idle = np.array([name in redundant for name in double.loop_rows])

    # statics, and the index-1 form of the dynamics, at rest
    statics = rests[1].multipliers
    np.testing.assert_allclose(statics[~idle], rests[0].multipliers[[0, 2]], rtol=1e-8)
    assert np.all(np.abs(statics[~idle]) > 0.1)
    none = np.zeros(double.nv)
    a, force = constrained_acceleration(double, q, none, np.zeros(0), none, none)
    np.testing.assert_allclose(a, 0.0, atol=1e-7)
    np.testing.assert_allclose(force, statics, atol=1e-8)

    # motion by the compiled step, from rest and from a push, and by an ODE solver
    still = pl.simulate(double, 0.02, start=rests[1], step=0.01)
    np.testing.assert_allclose(still.multipliers, np.tile(statics, (len(still.t), 1)), atol=1e-6)
    push = consistent_velocity(double, q, np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(push, consistent_velocity(single, q, np.array([1.0, 0.0, 0.0])), atol=1e-12)
    assert np.abs(double.closure(q)[1] @ push).max() < 1e-13
    runs = [pl.simulate(system, 0.05, start=q, velocity=push, step=0.01) for system in (single, double)]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    np.testing.assert_allclose(runs[1].multipliers[:, :5], runs[0].multipliers, atol=1e-6)
    for multipliers in (statics, force, still.multipliers, runs[1].multipliers):
        assert not multipliers[..., idle].any()

    # linearisation
    A = [pl.linearize(system, rest).A for system, rest in zip((single, double), rests)]
    np.testing.assert_allclose(A[1], A[0], atol=1e-7 * np.abs(A[0]).max())
    assert len(pl.modes(double, rests[1]).frequencies) == len(pl.modes(single, rests[0]).frequencies) == 1


def test_closing_a_doubled_loop():
    q, gap = close(four_bar(2), START)
    assert gap < 1e-13
    np.testing.assert_allclose(q, close(four_bar(), START)[0], atol=1e-12)
