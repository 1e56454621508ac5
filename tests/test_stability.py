"""Stability without a potential: slow growth beside fast, heavily damped motion, told from rounding; against 40 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import pliant as pl
from pliant.solve.pencil import growth, outdamped
from pliant.solve.stability import neutral_directions

# ---------------------------------------------------------------- random motions


def rightmost(K: np.ndarray, D: np.ndarray, M: np.ndarray) -> complex:
    """The eigenvalue with the largest real part, from 40 digits."""
    n = len(K)
    with mp.workdps(40):
        inverse = mp.matrix(M.tolist()) ** -1
        C = mp.zeros(2 * n)
        C[:n, n:] = mp.eye(n)
        C[n:, :n], C[n:, n:] = -inverse * mp.matrix(K.tolist()), -inverse * mp.matrix(D.tolist())
        values = mp.eig(C, left=False, right=False)
        worst = max(values, key=lambda z: mp.re(z))
        return complex(mp.re(worst), abs(mp.im(worst)))


def motion(seed: int) -> tuple[np.ndarray, ...]:
    """S, N, D, M of a few coordinates whose frequencies are up to seven decades apart, and whose damping grows with them; N circulates."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    X = np.eye(n) + 0.3 * rng.standard_normal((n, n))
    springs = 10.0 ** (2 * np.sort(rng.uniform(0.5, rng.choice([2.0, 4.0, 7.0]), n)))
    if seed % 3 == 0:
        springs[1] = springs[0]
    slow = rng.standard_normal((n, n))
    S = np.diag(springs) + 0.1 * springs[0] * slow.T @ slow
    across = rng.standard_normal((n, 2))
    N = (
        across
        @ np.array([[0.0, 1.0], [-1.0, 0.0]])
        @ across.T
        * np.sqrt(springs[0] * springs[1])
        * 10 ** rng.uniform(-2, 1)
    )
    return S, N, 10 ** rng.uniform(-5, -1) * np.diag(springs), X.T @ X


@pytest.mark.parametrize("seed", range(6))
def test_growth_is_that_of_forty_digits(seed: int) -> None:
    """As drawn, and on both sides of the load at which the first eigenvalue crosses the axis, down to a relative distance of 1e-6."""
    S, N, D, M = motion(seed)
    low, high = 0.0, 1.0
    while rightmost(S + high * N, D, M).real < 0.0 and high < 1e6:
        high *= 4.0
    for _ in range(26):
        middle = 0.5 * (low + high)
        if rightmost(S + middle * N, D, M).real > 0.0:
            high = middle
        else:
            low = middle
    for load in (1.0, *(high * (1.0 + side * near) for near in (1e-2, 1e-4, 1e-6) for side in (-1.0, 1.0))):
        K = S + load * N
        exact = rightmost(K, D, M)
        found, certain = growth(K, D, M)
        assert certain
        assert (found is not None) == (exact.real > 0.0), (load, exact)
        if found is not None:
            assert abs(complex(found.rate.real, abs(found.rate.imag)) - exact) < 1e-9 * abs(exact)
            assert found.oscillates == (exact.imag > 1e-9)
            x, rate = found.motion, found.rate
            left = (rate**2 * M + rate * D + K) @ x
            assert np.linalg.norm(left) < 1e-9 * np.linalg.norm(
                (abs(rate) ** 2 * abs(M) + abs(rate) * abs(D) + abs(K)) @ abs(x)
            )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_outdamped_does_not_grow(seed: int) -> None:
    """The bound holds up to the load that it allows at most, and that is not zero."""
    S, N, D, M = motion(seed)
    assert outdamped(S, D, M)
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if outdamped(S + middle * N, D, M) else (low, middle)
    assert low > 0.0
    assert rightmost(S + low * N, D, M).real < 0.0
    assert not outdamped(S + 1e6 * N, D, M)


def test_rounding_that_hides_the_answer_is_said() -> None:
    """In coordinates that mix slow and fast, entries are too coarse to tell: "unknown" it is, not "stable"."""
    S, N, D, M = motion(5)
    w = np.linalg.eigvalsh(np.linalg.solve(M, S)).real
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((len(S), len(S))))[0]
    fast = np.diag([0.0] * (len(S) - 1) + [1e18 * abs(w).max()])
    K, C = (Q.T @ (X + fast * s) @ Q for X, s in ((S, 1.0), (D, 1e-6)))
    found, certain = growth(K + 1e-9 * Q.T @ N @ Q, C, Q.T @ M @ Q)
    assert found is None
    assert not certain


# ---------------------------------------------------------------- robots


def arm(order: int = 2, damping_time: float = 1e-3) -> pl.System:
    """Two thin rods of nitinol, all strains, tendons along both, a moment at the tip; stretch is 10⁴ times faster than bending."""
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    r = 7e-4
    area, inertia, young = np.pi * r**2, np.pi * r**4 / 4, 54e9
    shear = young / 2.6
    stiffness = np.array(
        [shear * 2 * inertia, young * inertia, young * inertia, young * area, shear * area, shear * area]
    )
    mass = 6450.0 * np.array([2 * inertia, inertia, inertia, area, area, area])
    rods = []
    for name in ("one", "two"):
        rods.append(
            robot.add_rod(
                name, length=0.2, strains=pl.Strains.reissner(order, linear_order=2), stiffness=np.diag(stiffness), inertia=np.diag(mass),
                damping=np.diag(damping_time * stiffness), parent=rods[0].tip if rods else None,
            )
        )  # fmt: skip
    for k, tension in enumerate((4.2, 0.0, 3.02, 0.0, 0.0, 3.3)):
        y, z = 0.01 * np.cos(2 * np.pi * k / 3), 0.01 * np.sin(2 * np.pi * k / 3)
        if tension:
            robot.add_tendon(f"cable{k}", [pl.Along(rod, y=y, z=z) for rod in rods[: 1 + k // 3]])
    robot.add_wrench("moment", rods[1].tip, moment=(-0.0039, 0.0032, 0.0023))
    return robot.compile()


TENSIONS = {"cable0": 4.2, "cable2": 3.02, "cable5": 3.3}


def test_a_thin_arm_that_flutters_is_not_called_stable() -> None:
    """The answer before was "stable": rounding of what stretch damps, 10¹⁰ 1/s, covered a growth of 0.1 1/s."""
    system = arm(5)
    for share, kind in (
        (0.0, "stable"),
        (0.1, "stable"),
        (0.5, "stable"),
        (0.79, "stable"),
        (0.81, "flutter"),
        (1.0, "flutter"),
    ):
        u = {**TENSIONS, "moment": share}
        rest = pl.solve_statics(system, u)
        assert rest.success
        values = np.linalg.eigvals(pl.linearize(system, rest.q, u=u).A)
        assert rest.stability == kind, (share, values.real.max())
        assert (values.real.max() > 0.0) == (kind == "flutter")
        if kind == "flutter":
            assert "flutter" in rest.warnings[0]
            assert str(rest).startswith("UNSTABLE equilibrium (flutter)")


def test_the_motion_departs_as_the_verdict_says() -> None:
    system = arm()
    u = {**TENSIONS, "moment": 1.0}
    rest = pl.solve_statics(system, u)
    assert rest.stability == "flutter"
    values = np.linalg.eigvals(pl.linearize(system, rest.q, u=u).A)
    worst = values[np.argmax(values.real)]
    away = system.integrate(rest.q, 1e-4 * system.internal.scale)
    run = pl.simulate(system, 40.0, u=u, start=away, output=0.01, rtol=1e-6, atol=1e-9)
    assert run.success, run.message
    off = np.array([np.linalg.norm(system.difference(rest.q, q) / system.internal.scale) for q in run.q])
    period = 100
    early, late = off[1000 : 1000 + period].max(), off[3000 : 3000 + period].max()
    assert np.log(late / early) / 20.0 == pytest.approx(worst.real, rel=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_coordinates_without_any_stiffness_are_neutral(seed: int) -> None:
    """Their singular values are rounding of those of the others, and were called stiffness."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    X, A, order = rng.standard_normal((n, n)), np.zeros((n + 3, n + 3)), rng.permutation(n + 3)
    A[:n, :n] = X @ X.T * 10.0 ** rng.uniform(0, 6) + rng.standard_normal((n, n))
    found = neutral_directions(A[np.ix_(order, order)])
    assert found.shape == (n + 3, 3)
    assert np.abs(found[order < n]).max() < 1e-9


@pytest.mark.parametrize("turns", [pl.Spherical(), pl.Revolute("x"), pl.Free()], ids=["spherical", "revolute", "free"])
def test_what_nothing_holds_at_all_is_neutral(turns: pl.Joint) -> None:
    """Without any force on it, beside stiff rods with a load that has no potential."""
    robot = pl.Robot("two", gravity=(0, 0, 0))
    steel = pl.Material(young=2e11, poisson=0.3, density=7800, damping_time=1e-4)
    rod = robot.add_rod("rod", length=0.2, section=pl.Circle(2e-3), material=steel, strains=pl.Strains.reissner(2))
    robot.add_body("top", joint=turns, mass=0.1, inertia=(1e-4, 2e-4, 3e-4))
    robot.add_wrench("push", rod.tip, force=(0, 1.0, 0), axes="body")
    rest = pl.solve_statics(robot.compile(), {"push": 1.0})
    assert rest.success
    assert rest.stability == "neutral"
    assert "'top." in rest.warnings[0]


@pytest.mark.parametrize("potential", [True, False])
def test_nobody_has_to_ask(potential: bool) -> None:
    system = arm()
    u = {**TENSIONS, "moment": 0.0 if potential else 1.0}
    asked, quiet = (pl.solve_statics(system, u, stable=stable) for stable in (False, None))
    np.testing.assert_array_equal(asked.q, quiet.q)
    assert quiet.success
    assert (quiet.stability, quiet.message, quiet.warnings) == ("unknown", "converged", ())
    assert str(quiet).startswith("equilibrium of unknown stability")
    with pytest.raises(TypeError, match="stable = 'yes'"):
        pl.solve_statics(system, u, stable="yes")
