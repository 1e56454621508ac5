"""Products by tiles, and triangular systems with many right-hand sides, against numpy for every remainder of their sizes."""

import numpy as np
import pytest

from pliant._jit import kernel
from pliant.kernels.algebra import linear, tiles

SIZES = [1, 2, 3, 4, 5, 7, 8, 11, 24]


@kernel
def add_product(factor, P, Y, out):
    """As an entry from Python, like those below."""
    tiles.add_product(factor, P, Y, out)


@kernel
def times(P, Y, out):
    tiles.times(P, Y, out)


@kernel
def add_transposed(M, T, out):
    tiles.add_transposed(M, T, out)


@kernel
def clear_upper(out):
    tiles.clear_upper(out)


@kernel
def solve(A, pivot, X):
    if not linear.lu_factor(A, pivot):
        return False
    tiles.solve_columns(A, pivot, X)
    return True


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", SIZES)
def test_products(n, m):
    rng = np.random.default_rng(n + 100 * m)
    for d in (1, 6, 13):
        P, Y, out = rng.normal(size=(n + 2, m + 1)), rng.normal(size=(m, d)), rng.normal(size=(n, d))
        expected = out - 0.7 * P[:n, :m] @ Y
        add_product(-0.7, P, Y, out)
        np.testing.assert_allclose(out, expected, atol=1e-13)
        times(P, Y, out)
        np.testing.assert_allclose(out, P[:n, :m] @ Y, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", SIZES)
def test_transposed_products_above_the_diagonal(n, m):
    rng = np.random.default_rng(n + 100 * m)
    M, T = rng.normal(size=(2, m, n))
    out = rng.normal(size=(n + 1, n + 1))  # may be larger
    before = out.copy()
    add_transposed(M, T, out)
    np.testing.assert_allclose(np.triu(out[:n, :n]), np.triu(before[:n, :n] + M.T @ T), atol=1e-13)
    np.testing.assert_array_equal(out[n], before[n])
    np.testing.assert_array_equal(out[:, n], before[:, n])
    square = np.ascontiguousarray(out[:n, :n])
    clear_upper(square)
    assert not np.triu(square).any()
    add_transposed(M, T, square)
    np.testing.assert_allclose(np.triu(square), np.triu(M.T @ T), atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_many_right_hand_sides(n):
    rng = np.random.default_rng(n)
    A, X = rng.normal(size=(n, n)), rng.normal(size=(n, 2 * n + 5))
    found = X.copy()
    assert solve(A.copy(), np.zeros(n, dtype=np.int64), found)
    np.testing.assert_allclose(found, np.linalg.solve(A, X), rtol=1e-9, atol=1e-11)
    assert not solve(np.zeros((n, n)), np.zeros(n, dtype=np.int64), found)
