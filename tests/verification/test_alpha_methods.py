"""The α-methods of a free body against the scheme of [000], eqs 11–13, written here on SO(3) × R³ with other formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import root
from scipy.spatial.transform import Rotation

import pliant as pl

MASS, COM, INERTIA = 0.7, np.array([0.06, -0.03, 0.02]), np.array([4e-3, 6e-3, 3e-3])
GRAVITY = np.array([0.0, 0.0, -9.81])
STEP = 0.02
# αm, αf, β, γ
METHODS = {
    "newmark": ({"method": "newmark"}, (0.0, 0.0, 0.25, 0.5)),
    "hht": ({"method": "hht"}, (0.0, 0.1, 0.3025, 0.6)),
    "rho=0.8": ({"rho": 0.8}, (1 / 3, 4 / 9, 0.25 * (11 / 18 + 0.5) ** 2, 11 / 18)),
}


def body(com: np.ndarray = COM) -> pl.System:
    """A free body, with a wrench in its own axes."""
    robot = pl.Robot("body", gravity=tuple(GRAVITY))
    robot.add_body("body", joint=pl.Free(), mass=MASS, com=tuple(com), inertia=tuple(INERTIA))
    robot.add_wrench("push", "body", moment=(0.02, 0.0, 0.01), force=(0.0, 0.4, 1.0), axes="body")
    return robot.compile()


def lacks(R: np.ndarray, w: np.ndarray, dw: np.ndarray, ddr: np.ndarray, push: float) -> np.ndarray:
    """Moments about the origin of the body and forces that are not balanced, in its axes."""
    at = R.T @ (ddr - GRAVITY) + np.cross(dw, COM) + np.cross(w, np.cross(w, COM))
    turn = INERTIA * dw + np.cross(w, INERTIA * w)
    return np.concatenate(
        [
            turn + MASS * np.cross(COM, at) - push * np.array([0.02, 0.0, 0.01]),
            MASS * at - push * np.array([0.0, 0.4, 1.0]),
        ]
    )


def march(parameters, steps: int, R, r, w, dr, push: float) -> tuple[np.ndarray, ...]:
    """So many steps of the scheme; what is left at their end."""
    am, af, beta, gamma = parameters
    h = STEP
    rate = np.concatenate([w, dr])
    linear = np.array([lacks(R, w, e[:3], e[3:], push) for e in np.eye(6)]) - lacks(
        R, w, np.zeros(3), np.zeros(3), push
    )
    a = np.linalg.solve(linear.T, -lacks(R, w, np.zeros(3), np.zeros(3), push))
    b = a.copy()
    for _ in range(steps):

        def end(x, R=R, rate=rate, a=a, b=b):
            after = (x - h * rate - h * h * (0.5 - beta) * b) / (h * h * beta)  # b₁
            new = rate + h * ((1 - gamma) * b + gamma * after)
            second = ((1 - am) * after + am * b - af * a) / (1 - af)
            return R @ Rotation.from_rotvec(x[:3]).as_matrix(), new, second, after

        def residual(x, end=end):
            turned, new, second, _after = end(x)
            return lacks(turned, new[:3], second[:3], second[3:], push) * np.array([50.0] * 3 + [1.0] * 3)

        x = h * rate + 0.5 * h * h * a
        for _ in range(3):  # `root` stops at a relative step of 1.5e-8 or so: quadratic convergence does the rest
            x = root(residual, x, tol=1e-15).x
        r = r + x[3:]
        R, rate, a, b = end(x)
    return R, r, rate


@pytest.mark.parametrize("name", METHODS)
def test_a_free_body_moves_as_the_scheme_says(name: str) -> None:
    """It falls, spins fast about a point that is not its centre of mass, and is pushed in its own axes: to 1e-10 after 50 steps."""
    options, parameters = METHODS[name]
    system = body()
    turned, r, w, dr = (
        Rotation.from_rotvec([0.3, -0.5, 0.2]),
        np.array([0.1, 0.2, 0.5]),
        np.array([3.0, -5.0, 8.0]),
        np.array([1.0, -0.4, 2.0]),
    )
    R = turned.as_matrix()
    start = np.concatenate([np.roll(turned.as_quat(), 1), r])
    u = [1.0]
    run = pl.simulate(system, 50 * STEP, u=u, start=start, velocity=np.concatenate([w, R.T @ dr]), step=STEP, **options)
    assert run.success, run.message
    assert run.statistics.steps == 50
    R, r, rate = march(parameters, 50, R, r, w, dr, 1.0)
    g = system.pose("body", run.q[-1])
    np.testing.assert_allclose(g[:3, 3], r, atol=1e-10)
    np.testing.assert_allclose(g[:3, :3], R, atol=1e-10)
    np.testing.assert_allclose(run.v[-1], np.concatenate([rate[:3], R.T @ rate[3:]]), atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_free_fall_is_exact_however_the_body_spins(name: str) -> None:
    """The acceleration of the centre of mass is constant, and β = ¼ integrates it exactly; so do the others, which keep b = a."""
    system = body(np.zeros(3))
    w, dr = np.array([4.0, -9.0, 15.0]), np.array([1.0, -0.4, 2.0])
    run = pl.simulate(system, 1.0, velocity=np.concatenate([w, dr]), step=STEP, **METHODS[name][0])
    assert run.success, run.message
    t = run.t[:, None]
    at = np.array([system.pose("body", q)[:3, 3] for q in run.q])
    np.testing.assert_allclose(at, t * dr + 0.5 * t**2 * GRAVITY, atol=1e-11)
