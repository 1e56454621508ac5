"""Orders of convergence of the integrators, measured against references of tight tolerance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import pliant as pl

DURATION = 0.6
TIGHT = 1e-9  # Newton's tolerance, so that only the time discretisation is measured


# ---------------------------------------------------------------- systems


def rod() -> tuple[pl.System, np.ndarray, np.ndarray]:
    """A soft fixed rod with damping, released straight with a push out of the plane of gravity."""
    robot = pl.Robot("rod")
    rubber = pl.Material(young=5e5, poisson=0.5, density=1000.0, viscosity=5e3)
    robot.add_rod("rod", length=0.5, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=2))
    system = robot.compile()
    v = np.zeros(system.nv)
    v[system.dof_names.index("rod.bending_z[0]")] = 6.0
    return system, system.neutral(), v


def pendulum() -> tuple[pl.System, np.ndarray, np.ndarray]:
    """A rigid double pendulum with hinges that are not parallel."""
    robot = pl.Robot("pendulum")
    bar = {"shape": pl.Box(0.4, 0.05, 0.03), "mass": 0.5, "com": (0.2, 0, 0)}
    upper = robot.add_body("upper", joint=pl.Revolute("y"), **bar)
    robot.add_body("lower", parent=upper, joint=pl.Revolute((0, 1, 1)), offset=(0.4, 0, 0), **bar)
    system = robot.compile()
    return system, np.array([0.3, 0.9]), np.array([1.0, -2.0])


def floating() -> tuple[pl.System, np.ndarray, np.ndarray]:
    """A free body with a rod and a body at its tip, tumbling under gravity."""
    robot = pl.Robot("floating", gravity=(0.5, 0, -9.81))
    base = robot.add_body("base", joint=pl.Free(), shape=pl.Box(0.2, 0.1, 0.05), mass=0.6)
    arm = robot.add_rod(
        "arm", parent=base, offset=(0.1, 0, 0), length=0.4, section=pl.Circle(0.015),
        material=pl.Material(young=8e5, poisson=0.5, density=1000.0), strains=pl.Strains(bending=1, torsion=0),
    )  # fmt: skip
    robot.add_body("tool", parent=arm, shape=pl.Sphere(0.05), mass=0.2)
    system = robot.compile()
    v = np.zeros(system.nv)
    v[:6] = 2.0, 4.0, -3.0, 0.5, 0.2, 1.0
    return system, system.neutral(), v


def top() -> tuple[pl.System, np.ndarray, np.ndarray]:
    """A heavy top on a spherical joint, spinning fast."""
    robot = pl.Robot("top")
    robot.add_body("top", joint=pl.Spherical(), mass=0.5, com=(0.05, 0, 0.2), inertia=(4e-3, 3e-3, 2e-3))
    system = robot.compile()
    return system, system.integrate(system.neutral(), [0.4, 0.0, 0.0]), np.array([1.0, -0.5, 12.0])


SYSTEMS: dict[str, Callable[[], tuple[pl.System, np.ndarray, np.ndarray]]] = {
    "rod": rod,
    "pendulum": pendulum,
    "floating": floating,
    "top": top,
}
# multiples of the six intervals of output, so that errors are measured at steps
STEPS = {
    "rod": (84, 126, 186, 276),
    "pendulum": (42, 60, 90, 138),
    "floating": (120, 180, 270, 408),
    "top": (60, 90, 138, 204),
}
METHODS = {
    "rho=1": {"rho": 1.0},
    "rho=0.8": {"rho": 0.8},
    "rho=0.5": {"rho": 0.5},
    "rho=0": {"rho": 0.0},
    "newmark": {"method": "newmark"},
    "hht": {"method": "hht"},
}


@cache
def reference(name: str, tolerance: float = 1e-12) -> pl.Result:
    system, q, v = SYSTEMS[name]()
    method = "radau" if name == "rod" else "dop853"
    if name == "rod":
        tolerance = max(tolerance, 1e-10)
    times = np.linspace(0.0, DURATION, 7)
    result = pl.simulate(
        system, DURATION, start=q, velocity=v, method=method, rtol=tolerance, atol=tolerance, output=times
    )
    assert result.success
    return result


def errors(result: pl.Result, expected: pl.Result) -> tuple[float, float]:
    """Largest errors of q and v at common times, in units of the coordinates' scale."""
    system = result.system
    scale = system.internal.scale
    q = [np.abs(system.difference(a, b) / scale).max() for a, b in zip(expected.q, result.q)]
    return max(q), float(np.abs((result.v - expected.v) / scale).max())


def slope(x: list[float], y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def run(name: str, **options: object) -> pl.Result:
    expected = reference(name)
    system, q, v = expected.system, expected.q[0], expected.v[0]
    result = pl.simulate(system, DURATION, start=q, velocity=v, output=expected.t, **options)
    assert result.success, result.message
    return result


# ---------------------------------------------------------------- constant step


def test_references_agree_between_integrators() -> None:
    for name in ("pendulum", "floating", "top"):
        other = run(name, method="radau", rtol=1e-9, atol=1e-9)
        assert max(errors(other, reference(name))) < 2e-7
    other = run("rod", method="dop853", rtol=1e-9, atol=1e-9)
    assert max(errors(other, reference("rod"))) < 2e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_second_order(name: str, method: str) -> None:
    h = [DURATION / n for n in STEPS[name]]
    found = [errors(run(name, step=x, newton_tolerance=TIGHT, **METHODS[method]), reference(name)) for x in h]
    orders = slope(h, [e[0] for e in found]), slope(h, [e[1] for e in found])
    print(
        f"{name} {method}: orders {orders[0]:.2f} (q) {orders[1]:.2f} (v), errors {found[-1][0]:.1e} {found[-1][1]:.1e}"
    )
    assert 1.8 < orders[0] < 2.3
    assert 1.8 < orders[1] < 2.3


@pytest.mark.parametrize("name", SYSTEMS)
def test_less_numerical_damping_is_more_accurate(name: str) -> None:
    h = DURATION / STEPS[name][-1]
    sharp, damped = (errors(run(name, step=h, newton_tolerance=TIGHT, rho=r), reference(name))[0] for r in (1.0, 0.0))
    assert sharp < damped


def test_default_newton_tolerance_keeps_the_order() -> None:
    """With a small step the error of the iteration must stay below that of the step."""
    h = [DURATION / n for n in (200, 600, 1800)]
    found = [errors(run("pendulum", step=x), reference("pendulum"))[0] for x in h]
    print(f"default Newton tolerance: order {slope(h, found):.2f}, errors {found}")
    assert slope(h, found) > 1.8


# ---------------------------------------------------------------- error control


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda", "rk45", "dop853"])
@pytest.mark.parametrize("name", ["pendulum", "floating", "top"])
def test_ode_methods_follow_the_tolerance(name: str, method: str) -> None:
    tolerances = [1e-4, 1e-5, 1e-6, 1e-7]
    found = [max(errors(run(name, method=method, rtol=x, atol=x), reference(name))) for x in tolerances]
    rate = slope(tolerances, found)
    print(f"{name} {method}: error ~ tol^{rate:.2f}, {found[-1] / tolerances[-1]:.0f} tol at {tolerances[-1]:g}")
    assert 0.7 < rate < 1.35
    assert found[-1] < 3e3 * tolerances[-1]


@pytest.mark.parametrize("name", SYSTEMS)
def test_variable_step_follows_the_tolerance(name: str) -> None:
    """A method of order 2 with local error h³ = tolerance has a global error of tolerance^(2/3)."""
    tolerances = [1e-3, 1e-4, 1e-5, 1e-6]
    results = [run(name, rtol=x, atol=0.1 * x, method="generalized-alpha") for x in tolerances]
    found = [errors(r, reference(name))[0] for r in results]
    rate = slope(tolerances, found)
    steps = [r.statistics.steps for r in results]
    print(f"{name}: error ~ tol^{rate:.2f}, errors {np.array(found)}, steps {steps}")
    assert 0.5 < rate < 1.2
    assert all(a > b for a, b in pairwise(found))
    assert -0.45 < slope(tolerances, steps) < -0.22


def test_max_step_is_respected() -> None:
    expected = reference("pendulum")
    for method in ("generalized-alpha", "radau"):
        result = pl.simulate(
            expected.system, 0.3, start=expected.q[0], velocity=expected.v[0], method=method, max_step=0.004
        )
        assert np.diff(result.t).max() <= 0.004 * (1 + 1e-12)


# ---------------------------------------------------------------- between the steps


@pytest.mark.parametrize("name", SYSTEMS)
def test_interpolation_is_of_high_order(name: str) -> None:
    """Cubic Hermite: q to fourth, v to third order in the distance of the stored times."""
    expected = reference(name)
    system, q, v = expected.system, expected.q[0], expected.v[0]
    # away from t = 0, where the damped rod has a fast transient
    fine = np.linspace(0.3, DURATION, 241)
    options = {"method": "radau" if name == "rod" else "dop853", "rtol": 1e-11, "atol": 1e-11}
    exact = pl.simulate(system, DURATION, start=q, velocity=v, output=fine, **options)
    found, spacing = [], (8, 12, 20)
    for k in spacing:
        coarse = pl.simulate(system, DURATION, start=q, velocity=v, output=fine[::k], **options)
        found.append(
            errors(coarse.resample(fine[: (len(coarse.t) - 1) * k + 1]), _head(exact, (len(coarse.t) - 1) * k + 1))
        )
    orders = slope(spacing, [e[0] for e in found]), slope(spacing, [e[1] for e in found])
    print(f"{name}: interpolation orders {orders[0]:.2f} (q) {orders[1]:.2f} (v)")
    assert 3.5 < orders[0] < 4.6
    assert 2.5 < orders[1] < 3.6


def _head(result: pl.Result, n: int) -> pl.Result:
    return pl.Result(
        result.system,
        result.t[:n],
        result.q[:n],
        result.v[:n],
        result.a[:n],
        result.u[:n],
        result.tau[:n],
        result.success,
        result.message,
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_output_between_steps_is_as_good_as_at_the_steps(name: str) -> None:
    expected = reference(name)
    system, q, v = expected.system, expected.q[0], expected.v[0]
    h = DURATION / STEPS[name][1]
    at = np.arange(1, STEPS[name][1] + 1) * h
    options = {"method": "radau" if name == "rod" else "dop853", "rtol": 1e-10, "atol": 1e-10}
    ratio = []
    for shift in (0.5, 0.21):
        both = np.unique(np.concatenate([at, at - shift * h]))
        exact = pl.simulate(system, DURATION, start=q, velocity=v, output=both, **options)
        result = pl.simulate(system, DURATION, start=q, velocity=v, output=both, step=h, newton_tolerance=TIGHT)
        scale = system.internal.scale
        error = np.array([np.abs(system.difference(a, b) / scale).max() for a, b in zip(exact.q, result.q)])
        on = np.isin(both, at)
        ratio.append(error[~on].max() / error[on].max())
    print(f"{name}: error between steps / at steps {max(ratio):.2f}")
    assert max(ratio) < 1.3
