"""SO(3) and SE(3): exp, log and tangent operators against 40 digits of mpmath, identities, golden numbers.

`data/lie_functions.json` was computed with SoRoSim main@24d573a under GNU Octave 7.3 (numbers only); its fields
`*_exact_*` are exact, the others are truncated below 0.01 rad and are compared with rtol 1e-7.
"""

import json
import math
from functools import cache
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import lie
from pliant.kernels.algebra import exponential

ANGLES = [0, 1e-12, 1e-8, 1e-4, 0.01, 0.1, 0.5, 0.7, 1, 2, 3, 3.1415, 6, 6.28, 6.4, 10, 20]
GOLDEN = json.loads((Path(__file__).parent / "data" / "lie_functions.json").read_text())
DIGITS = 60  # the series of exp(20) loses 17 digits to cancellation, 40 remain

stumpff = getattr(exponential.stumpff, "py_func", exponential.stumpff)  # plain already with NUMBA_DISABLE_JIT=1


# ---------------------------------------------------------------- references in mpmath


def exact(M) -> np.ndarray:
    """A float array as exact mpf entries (an object array)."""
    return np.vectorize(mp.mpf, otypes=[object])(np.asarray(M, dtype=float))


def mp_series(A: np.ndarray, first: int, B: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Σ Aᵏ/(k + first)! and its derivative along B: exp for first = 0, the tangent operator for first = 1."""
    with mp.workdps(DIGITS):
        n = len(A)
        A, B = exact(A), exact(np.zeros((n, n)) if B is None else B)
        P, Q = exact(np.eye(n)), exact(np.zeros((n, n)))
        total, slope = P * 0, P * 0
        for k in range(200):
            c = 1 / mp.factorial(k + first)
            total, slope = total + P * c, slope + Q * c
            if c * max(abs(x) for x in [*P.ravel(), *Q.ravel()]) < mp.mpf(10) ** -45:
                return total, slope
            P, Q = P @ A, Q @ A + P @ B
    raise AssertionError("the series did not converge")


@cache
def twists(angle: float) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Twists of a given angle in several directions, along an axis too, each with a rate."""
    rng = np.random.default_rng(int(angle * 1e4) + 1)
    out = []
    for direction in (rng.normal(size=3), np.array([0.0, 0.0, -1.0])):
        xi = np.concatenate([direction / np.linalg.norm(direction) * angle, rng.normal(size=3)])
        out.append((xi, rng.normal(size=6)))
    return tuple(out)


def tolerance(angle: float) -> float:
    """1e-14 up to one turn; beyond, what the rounding of the angle itself costs."""
    return 1e-14 if angle < 7 else 2e-15 * angle


def assert_close(value: np.ndarray, reference: np.ndarray, tolerance: float) -> None:
    """Largest error relative to the largest entry (at least 1)."""
    with mp.workdps(DIGITS):
        error = max(abs(x) for x in (exact(value) - reference).ravel())
        scale = max(mp.mpf(1), *(abs(x) for x in reference.ravel()))
        assert error <= tolerance * scale, f"relative error {mp.nstr(error / scale, 3)}"


# ---------------------------------------------------------------- coefficients


def mp_stumpff(n: int, s) -> mp.mpf:
    total = term = 1 / mp.factorial(n)
    k = n
    while abs(term) > mp.mpf(10) ** -55 or k * k < abs(s):
        term *= -s / ((k + 1) * (k + 2))
        k += 2
        total += term
    return total


@pytest.mark.parametrize("angle", [*ANGLES, 0.7071, 0.70711, 6.3245, 6.3246, 50.0])
def test_stumpff_coefficients(angle):
    s = angle * angle
    values = stumpff(s)
    assert len(values) == 8
    with mp.workdps(DIGITS + 20):
        for n, value in zip(range(2, 10), values, strict=True):
            reference = mp_stumpff(n, mp.mpf(s))
            # an entry may pass through zero (c₂ at 2π): the error is small against its value at zero
            assert abs(value - reference) <= 1e-15 / mp.factorial(n), n


@pytest.mark.parametrize("angle", ANGLES)
def test_stumpff_takes_complex_numbers(angle):
    """Complex step: the derivative is cₙ' = ½(n cₙ₊₂ − cₙ₊₁)."""
    s, h = angle * angle, 1e-40
    values = stumpff(complex(s, h))
    with mp.workdps(DIGITS + 20):
        for n, value in zip(range(2, 10), values, strict=True):
            reference = (n * mp_stumpff(n + 2, mp.mpf(s)) - mp_stumpff(n + 1, mp.mpf(s))) / 2
            assert abs(value.imag / h - reference) <= 3e-15 / mp.factorial(n), n
            assert abs(value.real - mp_stumpff(n, mp.mpf(s))) <= 1e-15 / mp.factorial(n), n


def test_coefficients_are_continuous_where_the_formula_changes():
    for s in (0.5, 40.0):
        below, above = np.array(stumpff(np.nextafter(s, 0))), np.array(stumpff(s))
        scale = np.array([1 / math.factorial(n) for n in range(2, 10)])
        np.testing.assert_allclose(below / scale, above / scale, rtol=0, atol=1e-14)


# ---------------------------------------------------------------- exp and T


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential(angle):
    for xi, _rate in twists(angle):
        g = lie.exp(xi)
        assert_close(g, mp_series(lie.hat(xi), 0)[0], tolerance(angle))
        np.testing.assert_array_equal(g[3], [0, 0, 0, 1])
        np.testing.assert_allclose(g[:3, :3].T @ g[:3, :3], np.eye(3), atol=2e-15 * (1 + angle))


@pytest.mark.parametrize("angle", ANGLES)
def test_tangent_and_its_rate(angle):
    for xi, rate in twists(angle):
        T, Td = mp_series(lie.ad(xi), 1, lie.ad(rate))
        assert_close(lie.tangent(xi), T, tolerance(angle))
        assert_close(lie.tangent_rate(xi, rate), Td, tolerance(angle))


@pytest.mark.parametrize("angle", [0, 1e-8, 0.5, 3, 6.28, 20])
def test_adjoint_of_exponential_is_exponential_of_adjoint(angle):
    for xi, _rate in twists(angle):
        assert_close(lie.Ad(lie.exp(xi)), mp_series(lie.ad(xi), 0)[0], 2 * tolerance(angle))


def test_exponential_of_zero_is_exactly_the_identity():
    np.testing.assert_array_equal(lie.exp(np.zeros(6)), np.eye(4))
    np.testing.assert_array_equal(lie.tangent(np.zeros(6)), np.eye(6))
    np.testing.assert_array_equal(lie.log(np.eye(4)), np.zeros(6))


def test_tangent_is_the_left_derivative_of_the_exponential():
    """d exp(ξ̂) = (T dξ)^ exp(ξ̂), by central differences."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        xi, d, h = rng.normal(size=6), rng.normal(size=6), 1e-5
        slope = (lie.exp(xi + h * d) - lie.exp(xi - h * d)) / (2 * h)
        np.testing.assert_allclose(slope, lie.hat(lie.tangent(xi) @ d) @ lie.exp(xi), atol=1e-9)


def test_full_turn_is_the_identity_but_its_tangent_is_singular():
    xi = np.array([2 * np.pi, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(lie.exp(xi), np.eye(4), atol=1e-14)
    np.testing.assert_allclose(np.linalg.svd(lie.tangent(xi))[1], [1, 1, 0, 0, 0, 0], atol=1e-14)


# ---------------------------------------------------------------- log


@pytest.mark.parametrize("angle", [a for a in ANGLES if a < np.pi])
def test_log_inverts_exp(angle):
    for xi, _rate in twists(angle):
        np.testing.assert_allclose(lie.log(lie.exp(xi)), xi, rtol=0, atol=5e-15 * (1 + angle))


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-5, 1e-8, 1e-12])
def test_log_near_half_a_turn(gap):
    for xi, _rate in twists(1):
        xi = xi.copy()
        xi[:3] *= (np.pi - gap) / np.linalg.norm(xi[:3])
        np.testing.assert_allclose(lie.log(lie.exp(xi)), xi, rtol=0, atol=5e-15)
        # beyond half a turn the other way round is shorter
        beyond = xi.copy()
        beyond[:3] *= (np.pi + gap) / np.linalg.norm(xi[:3])
        back = lie.log(lie.exp(beyond))
        shorter = -xi[:3]
        np.testing.assert_allclose(back[:3], shorter, rtol=0, atol=5e-15)
        np.testing.assert_allclose(lie.exp(back), lie.exp(beyond), rtol=0, atol=1e-14)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (1, 1, 0), (-1, 2, 3), (1, 1e-9, 0)])
def test_log_of_exactly_half_a_turn(axis):
    n = np.array(axis, dtype=float)
    n /= np.linalg.norm(n)
    g = np.eye(4)
    g[:3, :3] = 2 * np.outer(n, n) - np.eye(3)
    g[:3, 3] = (0.3, -0.2, 0.7)
    xi = lie.log(g)
    assert abs(np.linalg.norm(xi[:3]) - np.pi) < 1e-15 * 4
    assert min(np.abs(xi[:3] - np.pi * n).max(), np.abs(xi[:3] + np.pi * n).max()) < 1e-15 * 4
    np.testing.assert_allclose(lie.exp(xi), g, rtol=0, atol=2e-15)


def test_log_angle_never_exceeds_half_a_turn():
    for angle in (3.5, 6, 6.28, 2 * np.pi, 6.4, 10, 20):
        for xi, _rate in twists(angle):
            back = lie.log(lie.exp(xi))
            assert np.linalg.norm(back[:3]) <= np.pi * (1 + 1e-15)
            np.testing.assert_allclose(lie.exp(back), lie.exp(xi), rtol=0, atol=1e-14)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-1.8, 1.8, allow_subnormal=False), min_size=3, max_size=3),
    st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=3, max_size=3),
)
def test_log_inverts_exp_for_any_twist(w, v):
    if np.linalg.norm(w) > 3.1:
        w = np.array(w) * 3.1 / np.linalg.norm(w)
    xi = np.array([*w, *v])
    np.testing.assert_allclose(lie.log(lie.exp(xi)), xi, rtol=0, atol=1e-14 * (1 + np.abs(xi).max()))


# ---------------------------------------------------------------- algebra


def test_algebra_identities():
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, y, F = rng.normal(size=(3, 6))
        g, h = lie.exp(x), lie.exp(y)
        np.testing.assert_allclose(lie.skew(x[:3]) @ y[:3], np.cross(x[:3], y[:3]), atol=1e-15)
        bracket = lie.hat(x) @ lie.hat(y) - lie.hat(y) @ lie.hat(x)
        np.testing.assert_allclose(lie.hat(lie.ad(x) @ y), bracket, atol=1e-14)
        np.testing.assert_allclose(lie.ad_star(x), -lie.ad(x).T)
        np.testing.assert_allclose(lie.ad_bar(F) @ x, lie.ad_star(x) @ F, atol=1e-14)
        np.testing.assert_allclose(lie.inverse(g), np.linalg.inv(g), atol=1e-14)
        np.testing.assert_allclose(lie.inverse(g) @ g, np.eye(4), atol=1e-15)
        np.testing.assert_allclose(lie.Ad(g) @ lie.Ad(h), lie.Ad(g @ h), atol=1e-14)
        np.testing.assert_allclose(lie.Ad_star(g), np.linalg.inv(lie.Ad(g)).T, atol=1e-13)
        # a wrench and a twist keep their power when both are carried over
        np.testing.assert_allclose((lie.Ad_star(g) @ F) @ (lie.Ad(g) @ x), F @ x, atol=1e-13)
        np.testing.assert_allclose(lie.hat(lie.Ad(g) @ x), g @ lie.hat(x) @ lie.inverse(g), atol=1e-14)


def test_functions_do_not_change_their_arguments_and_take_lists():
    xi = [0.1, 0.2, 0.3, 1, 2, 3]
    x = np.array(xi)
    for f in (lie.exp, lie.tangent, lie.hat, lie.ad, lie.ad_star, lie.ad_bar, lambda v: lie.tangent_rate(v, v)):
        np.testing.assert_array_equal(f(xi), f(x))
    np.testing.assert_array_equal(x, xi)
    g = lie.exp(x)
    kept = g.copy()
    for f in (lie.log, lie.Ad, lie.Ad_star, lie.inverse):
        np.testing.assert_array_equal(f(g.tolist()), f(g))
    np.testing.assert_array_equal(g, kept)


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"twist has shape \(6,\), got \(2,\)"):
        lie.exp([1, 2])
    with pytest.raises(ValueError, match=r"twist has shape \(6,\).*\(3,\)"):
        lie.tangent_rate(np.zeros(6), np.zeros(3))
    with pytest.raises(ValueError, match=r"pose has shape \(4, 4\), got \(3, 3\)"):
        lie.log(np.eye(3))


# ---------------------------------------------------------------- golden numbers


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: str(c["Omega"]))
def test_golden(case):
    xi, rate = np.array(case["Omega"], float), np.array(case["Omega_dot"], float)
    g = lie.exp(xi)
    exact_values = {
        "hat": lie.hat(xi),
        "ad": lie.ad(xi),
        "coad": lie.ad_star(xi),
        "coadbar": lie.ad_bar(xi),
        "g_exact_expm": g,
        "T_exact_series": lie.tangent(xi),
    }
    truncated = {
        "g_exp": g,
        "T": lie.tangent(xi),
        "T_dot": lie.tangent_rate(xi, rate),
        "Ad_g": lie.Ad(g),
        "coAd_g": lie.Ad_star(g),
        "log_g": lie.log(g),
    }
    assert {*exact_values, *truncated, "Omega", "Omega_dot", "check_Tdot_vs_finite_difference"} == set(case)
    for name, value in exact_values.items():
        np.testing.assert_allclose(value, case[name], rtol=1e-13, atol=1e-15, err_msg=name)
    for name, value in truncated.items():
        np.testing.assert_allclose(value, case[name], rtol=1e-7, atol=1e-7 * np.abs(value).max(), err_msg=name)
