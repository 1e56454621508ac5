"""Quadrature: Gauss rules, rod grids, Magnus points.

`data/quadrature.json` holds numbers computed with SoRoSim (main @ 24d573a) under GNU Octave 7.3 (numbers
only, no code): Gauss points on [0, 1] with both ends added, and weights with zeros there.
"""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.model.rods.quadrature import SAME_POINT, default_points, gauss, magnus_nodes, merge_points, rod_grid

GOLDEN = json.loads((Path(__file__).parent / "data" / "quadrature.json").read_text())


def exact_gauss(n):
    """Gauss points and weights on [0, 1] with 40 digits: roots of P_n by Newton iteration in mpmath."""

    def legendre(x):
        before, value = mpmath.mpf(1), x
        for k in range(2, n + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        return value, n * (before - x * value) / (1 - x * x)

    with mpmath.workdps(40):
        nodes, weights = [], []
        for i in range(n, 0, -1):
            x = mpmath.cos(mpmath.pi * (i - mpmath.mpf("0.25")) / (n + mpmath.mpf("0.5")))
            for _ in range(8):
                value, slope = legendre(x)
                x -= value / slope
            slope = legendre(x)[1]
            nodes.append((1 + x) / 2)
            weights.append(1 / ((1 - x * x) * slope * slope))
        return nodes, weights


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 20, 51, 200])
def test_gauss_matches_forty_digit_arithmetic(n):
    nodes, weights = gauss(n)
    exact_nodes, exact_weights = exact_gauss(n)
    assert len(nodes) == len(weights) == n
    assert len(set(map(str, exact_nodes))) == n
    assert max(abs(mpmath.mpf(float(a)) - b) for a, b in zip(nodes, exact_nodes)) < 1e-15
    assert max(abs(mpmath.mpf(float(a)) - b) for a, b in zip(weights, exact_weights)) < 1e-15
    assert max(abs(mpmath.mpf(float(a)) / b - 1) for a, b in zip(weights, exact_weights)) < 2e-14


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_gauss_is_exact_up_to_degree_2n_minus_1_and_not_beyond(n):
    x, w = gauss(n)
    for k in range(2 * n):
        assert w @ x**k == pytest.approx(1 / (k + 1), rel=1e-14)
    # The error for X^2n is the squared norm of the monic shifted Legendre polynomial of degree n.
    missing = mpmath.factorial(n) ** 4 / ((2 * n + 1) * mpmath.factorial(2 * n) ** 2)
    assert 1 / (2 * n + 1) - w @ x ** (2 * n) == pytest.approx(float(missing), rel=1e-3, abs=0)


@pytest.mark.parametrize("n", [4, 5, 300, 301])
def test_gauss_is_symmetric_increasing_and_sums_to_one(n):
    x, w = gauss(n)
    np.testing.assert_array_equal(w, w[::-1])
    np.testing.assert_allclose(x + x[::-1], 1.0, rtol=0, atol=2e-16)
    assert np.all(np.diff(x) > 0)
    assert x[0] > 0
    assert x[-1] < 1
    assert w.sum() == pytest.approx(1.0, abs=1e-14)


def test_gauss_results_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        gauss(3)[0][0] = 0.0


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"n={row['n_gauss']}")
def test_grid_of_one_element_matches_reference(row):
    grid = rod_grid((), row["n_gauss"])
    np.testing.assert_allclose(grid.X, row["X"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(grid.weights, row["W"], rtol=0, atol=2e-15)
    assert grid.elements == ((0, row["n_gauss"] + 1),)


def test_reference_rows_are_all_there():
    assert [row["n_gauss"] for row in GOLDEN] == [1, 2, 3, 5, 8, 10]


def test_grid_of_several_elements():
    grid = rod_grid((0.2, 0.5), 3)
    assert len(grid) == 3 * 3 + 4
    assert grid.elements == ((0, 4), (4, 8), (8, 12))
    np.testing.assert_array_equal(grid.X[[0, 4, 8, 12]], [0.0, 0.2, 0.5, 1.0])
    np.testing.assert_array_equal(grid.weights[[0, 4, 8, 12]], 0.0)
    x, w = gauss(3)
    np.testing.assert_allclose(grid.X[5:8], 0.2 + 0.3 * x, rtol=0, atol=1e-16)
    np.testing.assert_allclose(grid.weights[5:8], 0.3 * w, rtol=0, atol=1e-16)
    assert not grid.X.flags.writeable


def test_composite_grid_integrates_a_function_with_a_kink_exactly():
    grid = rod_grid((0.3,), 2)
    # The integral of |X - 0.3|^3 over [0, 1] is (0.3^4 + 0.7^4) / 4.
    assert grid.weights @ np.abs(grid.X - 0.3) ** 3 == pytest.approx((0.3**4 + 0.7**4) / 4, rel=1e-14)
    smooth = rod_grid((), 5)
    assert abs(smooth.weights @ np.abs(smooth.X - 0.3) ** 3 - (0.3**4 + 0.7**4) / 4) > 1e-6


def test_extra_points_have_no_weight_and_keep_the_elements():
    plain, grid = rod_grid((0.5,), 2), rod_grid((0.5,), 2, extra=(0.9, 0.3))
    assert len(grid) == len(plain) + 2
    for x in (0.3, 0.9):
        assert grid.weights[x == grid.X].tolist() == [0.0]
    np.testing.assert_array_equal(grid.X[grid.weights > 0], plain.X[plain.weights > 0])
    assert [(grid.X[i], grid.X[j]) for i, j in grid.elements] == [(0.0, 0.5), (0.5, 1.0)]


def test_extra_points_that_coincide_are_merged():
    node = gauss(3)[0][0]
    plain = rod_grid((0.5,), 3)
    grid = rod_grid((0.5,), 3, extra=(0.0, 1.0, 0.5, node / 2, node / 2 + 5e-13, 0.5 - 5e-13))
    np.testing.assert_array_equal(grid.X, plain.X)
    np.testing.assert_array_equal(grid.weights, plain.weights)
    assert len(rod_grid((), 1, extra=(0.3, 0.3 + 5e-13, 0.3 + 5e-12))) == 3 + 2


@given(
    breaks=st.lists(st.floats(0.01, 0.99), max_size=5),
    extra=st.lists(st.floats(0.0, 1.0), max_size=8),
    n=st.integers(1, 7),
)
def test_every_grid_is_increasing_with_weights_of_sum_one(breaks, extra, n):
    breaks = merge_points(breaks)
    grid = rod_grid(breaks, n, extra)
    assert grid.X[0] == 0.0
    assert grid.X[-1] == 1.0
    assert np.all(np.diff(grid.X) > 0)
    assert grid.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.count_nonzero(grid.weights) == n * (len(breaks) + 1)
    assert [grid.X[j] for _, j in grid.elements] == [*breaks, 1.0]
    assert [i for i, _ in grid.elements[1:]] == [j for _, j in grid.elements[:-1]]
    for x in extra:
        assert np.min(np.abs(grid.X - x)) <= SAME_POINT


@pytest.mark.parametrize(
    ("degree", "elements", "points"),
    [(0, 1, 6), (0, 2, 3), (0, 4, 2), (1, 1, 10), (2, 1, 12), (4, 1, 12), (5, 1, 12), (6, 1, 14), (2, 5, 6)],
)
def test_default_points(degree, elements, points):
    assert default_points(degree, elements) == points


def test_magnus_points_of_order_four_are_the_gauss_points_of_the_step():
    first, second = magnus_nodes([0.0, 0.2], [0.2, 1.0], 4)
    nodes = gauss(2)[0]
    np.testing.assert_allclose(first, [0.2 * nodes[0], 0.2 + 0.8 * nodes[0]], rtol=1e-15)
    np.testing.assert_allclose(second, [0.2 * nodes[1], 0.2 + 0.8 * nodes[1]], rtol=1e-15)


def test_magnus_points_of_order_two_are_the_midpoint_twice():
    first, second = magnus_nodes(0.2, 0.4, 2)
    assert first == second == pytest.approx(0.3, rel=1e-15)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gauss(0), ValueError, r"n = 0 is not allowed: must be a whole number >= 1"),
        (lambda: gauss(1.0), TypeError, r"n = 1.0 must be a whole number"),
        (lambda: rod_grid((), 0), ValueError, "points_per_element = 0"),
        (lambda: rod_grid((0.5, 0.2), 3), ValueError, "must increase"),
        (lambda: rod_grid((0.5, 0.5), 3), ValueError, "must increase"),
        (lambda: rod_grid((0.0, 0.5), 3), ValueError, "strictly between 0 and 1"),
        (lambda: rod_grid((float("nan"),), 3), ValueError, "breakpoints = nan"),
        (lambda: rod_grid((), 3, extra=(1.5,)), ValueError, r"extra = 1.5 .* \[0, 1\]"),
        (lambda: default_points(-1, 1), ValueError, "degree = -1"),
        (lambda: default_points(1, 0), ValueError, "n_elements = 0"),
        (lambda: magnus_nodes(0.0, 1.0, 3), ValueError, "order = 3 .* choose one of 2, 4"),
    ],
)
def test_bad_input_is_named(call, error, message):
    gauss(np.int64(1))  # a cached whole number must not let 1.0 pass
    with pytest.raises(error, match=message):
        call()
