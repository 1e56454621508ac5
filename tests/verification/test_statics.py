"""Static equilibria with known answers: elasticas, the 45° bend, another program's numbers, and the solver's promises.

Curvature and tip position of planar rods are compared with elliptic integrals, the rest with an independent boundary
value solver or with published numbers (BENCHMARKS "Statics with known answers").
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp
from scipy.optimize import brentq, minimize
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import pliant as pl
from robots import cable_driven_manipulator

DATA = Path(__file__).parent.parent / "data"


def planar_rod(modes: int, *, length=1.0, EI=1.0, gravity=(0, 0, 0), weight=1.0, points=None, joint=None) -> pl.Robot:
    """An inextensible rod along x that bends in the x-y plane."""
    robot = pl.Robot("rod", gravity=gravity)
    robot.add_rod(
        "rod",
        length=length,
        strains=pl.Strains.planar_bending(modes - 1),
        stiffness=np.full(6, EI),
        inertia=np.array([1e-3 * length**2] * 3 + [1.0] * 3) * weight,
        points=points,
        joint=joint,
    )
    return robot


def tip(system: pl.System, q) -> np.ndarray:
    return system.pose("rod.tip", q)[:3, 3]


# ------------------------------------------------------------ exact solutions


def dead_force_tip(load: float) -> tuple[float, float]:
    """Tip (x, y)/L of a cantilever with the dead transverse tip force F L²/EI = load (Bisshopp and Drucker)."""

    def missing(m):
        return ellipk(m) - ellipkinc(np.arcsin(1 / np.sqrt(2 * m)), m) - np.sqrt(load)

    m = brentq(missing, 0.5 + 1e-15, 1 - 1e-15, xtol=1e-16)
    phi = np.arcsin(1 / np.sqrt(2 * m))
    return np.sqrt(2 * (2 * m - 1) / load), 1 - 2 / np.sqrt(load) * (ellipe(m) - ellipeinc(phi, m))


def buckled_tip(load: float) -> tuple[float, float]:
    """Tip (x, y)/L of a clamped-free column under the axial dead load P L²/EI = load > π²/4."""
    m = brentq(lambda m: ellipk(m) - np.sqrt(load), 1e-12, 1 - 1e-12, xtol=1e-15)
    return 2 * ellipe(m) / ellipk(m) - 1, 2 * np.sqrt(m) / ellipk(m)


def weight_tip(load: float) -> tuple[float, float]:
    """Tip of a horizontal cantilever under its own weight w L³/EI = load: θ″ = w (1 − s) cos θ, θ(0) = θ′(1) = 0."""
    s = np.linspace(0, 1, 41)
    bvp = solve_bvp(
        lambda s, y: np.array([y[1], load * (1 - s) * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.array([-s, -1 + s]),
        tol=1e-6,
        max_nodes=10000,
    )

    def end(k):
        return solve_ivp(
            lambda s, y: [y[1], load * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])],
            (0, 1),
            [0, k, 0, 0],
            rtol=1e-13,
            atol=1e-14,
            method="DOP853",
        ).y[:, -1]

    k0 = bvp.y[1, 0]
    k0 = brentq(lambda k: end(k)[1], k0 - 1e-2, k0 + 1e-2, xtol=1e-14)
    return tuple(end(k0)[2:])


def test_closed_forms_match_the_published_numbers():
    for load, expected in {
        1: (0.9435667637, 0.3017207738),
        5: (0.6123716393, 0.7137915236),
        10: (0.4450044022, 0.8106090249),
    }.items():
        np.testing.assert_allclose(dead_force_tip(load), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(weight_tip(10), (0.6563537612, -0.7001997155), rtol=0, atol=1e-10)


# ------------------------------------------------------------ the table of BENCHMARKS


@pytest.mark.parametrize("turns", [0.5, 1, 2, 5, -3])
@pytest.mark.parametrize("modes", [1, 2, 4, 5, 10])
def test_tip_moment_winds_a_circle(modes, turns):
    """The curvature is C/EI whatever the number of modes."""
    robot = planar_rod(modes, length=2.0, EI=3.0)
    robot.add_wrench("moment", "rod.tip", moment=(0, 0, 1))
    system = robot.compile()
    curvature = 2 * np.pi * turns / 2.0
    eq = pl.solve_statics(system, {"moment": 3.0 * curvature})
    assert eq.success
    assert eq.stable
    np.testing.assert_allclose(eq.q, [curvature] + [0.0] * (modes - 1), rtol=0, atol=1e-9 * abs(curvature))
    X = np.linspace(0, 1, 9)
    arc = 2 * X * curvature
    exact = np.array([np.sin(arc), 1 - np.cos(arc)]).T / curvature
    np.testing.assert_allclose(system.rod_poses("rod", eq.q, X)[:, :2, 3], exact, rtol=0, atol=1e-9 * 2)


@pytest.mark.parametrize("load", [1, 5, 10])
@pytest.mark.parametrize(("modes", "points", "error"), [(4, 20, 2e-5), (10, 80, 6e-9), (10, 260, 1e-10)])
def test_dead_tip_force(load, modes, points, error):
    """Four modes are good for 2e-5; with ten the fourth-order Magnus step limits (error ∝ points⁻⁴)."""
    robot = planar_rod(modes, length=1.5, EI=0.7, points=points)
    robot.add_wrench("force", "rod.tip", force=(0, 1, 0))
    system = robot.compile()
    eq = pl.solve_statics(system, {"force": load * 0.7 / 1.5**2})
    assert eq.success
    assert eq.stable
    assert np.abs(tip(system, eq.q)[:2] / 1.5 - dead_force_tip(load)).max() < error


def test_dead_force_off_the_axes():
    """The same elastica in another plane, with all of Kirchhoff's strains and the rod turned in the world."""
    turn = pl.rotate((1, 2, 3), 0.7)
    robot = pl.Robot("rod", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=1,
        strains=pl.Strains.kirchhoff(7),
        stiffness=np.ones(6),
        inertia=np.ones(6),
        points=40,
        offset=turn,
    )
    direction = np.array([0, 0.6, -0.8])
    robot.add_wrench("force", rod.tip, force=turn.rotation @ direction)
    system = robot.compile()
    eq = pl.solve_statics(system, {"force": 5})
    x, y = dead_force_tip(5)
    np.testing.assert_allclose(turn.rotation.T @ tip(system, eq.q), [x, *(y * direction[1:])], rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("force", "expected", "error"),
    [(10e3, (55.07475, 72.71117), 1e-4), (50e3, (4.93579, 43.67475), 1e-4), (130e3, (17.19073, -50.37737), 0.011)],
)
def test_follower_tip_force(force, expected, error):
    """[004] test 2 (r = 0.57 m). The load has no potential: beyond about 30 kN no stiffness is positive definite."""
    robot = planar_rod(10, length=100.0, EI=4.015e8 * np.pi * 0.57**4 / 4, points=80)
    robot.add_wrench("force", "rod.tip", force=(0, 1, 0), axes="body")
    system = robot.compile()
    for stable in (True, False):
        eq = pl.solve_statics(system, {"force": force}, stable=stable)
        assert eq.success
        assert np.abs(tip(system, eq.q)[:2] - expected).max() < error
    stepped = pl.solve_statics(system, {"force": force}, stable=False, load_steps=13)
    assert stepped.success
    np.testing.assert_allclose(stepped.q, eq.q, rtol=0, atol=1e-8 * np.abs(eq.q).max())


@cache
def bend(order: int, points: int) -> pl.System:
    """Bathe and Bolourchi: an arc of 45° with R = 100 and a unit square section, torsion constant 1/6."""
    robot = pl.Robot("45° bend", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=100 * np.pi / 4,
        section=pl.Rectangle(1.0, 1.0, torsion_factor=1.0),
        material=pl.Material(young=1e7, poisson=0.0, density=1.0),
        strains=pl.Strains.reissner(order),
        reference_strain=pl.constant_strain(bending_z=1 / 100),
        points=points,
    )
    robot.add_wrench("force", rod.tip, force=(0, 0, 1))
    return robot.compile()


@pytest.mark.parametrize(
    ("force", "expected"),
    [
        (300, (22.24478, 58.77912, 40.19189)),
        (450, (18.50818, 52.23856, 48.50293)),
        (600, (15.68480, 47.15044, 53.47486)),
    ],
)
def test_45_degree_bend(force, expected):
    """Six modes reach 1e-5 (the published numbers have x and y exchanged)."""
    system = bend(5, 30)
    eq = pl.solve_statics(system, {"force": force})
    assert eq.success
    assert eq.stable
    assert np.abs(tip(system, eq.q)[[1, 0, 2]] - expected).max() < 1e-5


@pytest.mark.parametrize(("modes", "points", "error"), [(6, 40, 1e-6), (10, 160, 3e-10)])
def test_own_weight(modes, points, error):
    robot = planar_rod(modes, length=2.0, EI=4.0, weight=0.5, gravity=(0, -10, 0), points=points)
    system = robot.compile()
    eq = pl.solve_statics(system)  # w L³/EI = 0.5·10·8/4
    assert eq.success
    assert eq.stable
    assert np.abs(tip(system, eq.q)[:2] / 2 - weight_tip(10)).max() < error


# ------------------------------------------------------------ numbers of another program


@cache
def cdm(points: int = 5) -> pl.System:
    """The cable-driven manipulator of [002] with its five cables."""
    robot = cable_driven_manipulator(points)
    half = np.sqrt(3) / 2

    def r(X):
        return 0.03 - 0.015 * X

    robot.add_tendon("cable1", "arm", z=r)
    robot.add_tendon("cable2", "arm", y=lambda X: -half * r(X), z=lambda X: -0.5 * r(X))
    robot.add_tendon("cable3", "arm", y=lambda X: half * r(X), z=lambda X: -0.5 * r(X))
    for name, sign in (("cable4", 1), ("cable5", -1)):
        robot.add_tendon(
            name,
            "arm",
            y=lambda X: 0.015 * np.sin(4 * np.pi * X),
            z=lambda X, sign=sign: sign * 0.015 * np.cos(4 * np.pi * X),
        )
    return robot.compile()


def golden() -> dict:
    return json.loads((DATA / "paper_cable_driven_manipulator.json").read_text())


def golden_scale() -> np.ndarray:
    """q = scale * q_golden, with 1/L on the angular strains."""
    return np.repeat([2.0, 1.0], [15, 9])


def test_golden_actuation_matrix():
    data = golden()
    B = cdm().actuation_matrix(golden_scale() * data["q"])
    np.testing.assert_allclose(-golden_scale()[:, None] * B, data["B"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("case", range(5))
def test_golden_statics(case):
    entry = golden()["statics"][case]
    eq = pl.solve_statics(cdm(), -np.array(entry["u"], dtype=float), tolerance=1e-13)
    assert eq.success
    assert eq.stable
    assert eq.load_steps == 1
    expected = golden_scale() * entry["q"]
    np.testing.assert_allclose(eq.q, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(cdm().pose("arm.tip", eq.q), entry["g_tip"], rtol=0, atol=1e-9)


# ------------------------------------------------------------ robustness


def test_random_tensions_all_converge():
    """200 sets of tensions between 0 and 100 N, each from the straight arm."""
    system, rng = cdm(), np.random.default_rng(0)
    results = [pl.solve_statics(system, rng.uniform(0, 100, 5)) for _ in range(200)]
    assert [k for k, eq in enumerate(results) if not eq.success] == []
    assert all(eq.stable for eq in results)
    assert np.median([eq.iterations for eq in results]) <= 5
    assert max(eq.iterations for eq in results) <= 12
    for eq in results[::20]:
        r = system.residual(eq.q, np.zeros(24), np.zeros(24), eq.u)
        assert np.abs(r).max() <= 1e-9 * np.abs(system.elastic_forces(eq.q)).max()


@pytest.mark.parametrize("points", [10, 20])
def test_random_tensions_fail_only_where_a_tendon_is_used_up(points):
    """Where a bend shortens a tendon's length to nothing at a point, its force has no direction: no equilibrium there."""
    system, rng = cdm(points), np.random.default_rng(0)
    X = system.rod_points("arm")[1:-1]
    failures = 0
    for _ in range(200):
        u = rng.uniform(0, 100, 5)
        eq = pl.solve_statics(system, u)
        if eq.success:
            assert eq.stable
            continue
        failures += 1
        xi = system.strain("arm", eq.q, X)
        shortest = np.inf
        for tendon in system._robot.tendons.values():
            d, slope = tendon.along[0].offsets(X)
            density = np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], d) + slope / 0.5, axis=1)
            shortest = min(shortest, density.min())
        assert shortest < 1e-3
        assert eq.message != "converged"
    assert failures <= 10


@pytest.mark.parametrize("length", [0.005, 10.0])
def test_scale_invariance(length):
    """The same problem in millimetres and in metres: the same iterations and the same relative residuals."""

    def robot(L):
        robot = pl.Robot("scaled", gravity=(0, 0, -9.81))
        rod = robot.add_rod(
            "rod",
            length=L,
            section=pl.Circle((0.06 * L, 0.03 * L)),
            material=pl.Material(young=1e6, poisson=0.5, density=500 / L),
            strains=pl.Strains(torsion=2, bending=3, stretch=1, shear=1),
            joint=pl.Prismatic("y", stiffness=3e3 * L),
        )
        robot.add_tendon("pull", rod, y=lambda X: (0.06 - 0.03 * X) * L)
        robot.add_tendon("wind", rod, y=lambda X: 0.03 * L * np.sin(7 * X), z=lambda X: 0.03 * L * np.cos(7 * X))
        robot.add_wrench("force", rod.tip, force=(0, 1, 0))
        return robot.compile()

    def loads(L):
        return {"pull": 60 * (L / 0.5) ** 2, "wind": 30 * (L / 0.5) ** 2, "force": 2 * (L / 0.5) ** 2}

    one, other = robot(0.5), robot(length)
    ratio = np.repeat([length / 0.5, 0.5 / length, 1.0], [1, 11, 6])
    first, second = pl.solve_statics(one, loads(0.5)), pl.solve_statics(other, loads(length))
    assert first.success
    assert second.success
    assert first.iterations == second.iterations > 3
    np.testing.assert_allclose(second.q / ratio, first.q, rtol=0, atol=1e-10 * np.abs(first.q).max())
    for iterations in (1, 2):  # before rounding has a say
        a = pl.solve_statics(one, loads(0.5), iterations=iterations, load_steps=1)
        b = pl.solve_statics(other, loads(length), iterations=iterations, load_steps=1)
        assert not a.success
        np.testing.assert_allclose(b.residual, a.residual, rtol=1e-9)


# ------------------------------------------------------------ stability


def column(load: float) -> tuple[pl.System, dict]:
    robot = planar_rod(8, length=2.0, EI=3.0, points=40)
    robot.add_wrench("push", "rod.tip", force=(-1, 0, 0))
    return robot.compile(), {"push": load * 3.0 / 2.0**2}


def test_column_below_the_euler_load():
    system, u = column(0.99 * np.pi**2 / 4)
    for stable in (True, False):
        eq = pl.solve_statics(system, u, stable=stable)
        assert eq.success
        assert eq.stable
        np.testing.assert_allclose(eq.q, 0, atol=1e-12)
    eq = pl.solve_statics(system, u, start=np.full(8, 1e-3))
    np.testing.assert_allclose(eq.q, 0, atol=1e-8)


def test_euler_load():
    """The tangent stiffness of the straight column is singular at π²EI/4L²."""
    lowest = []
    for factor in (1 - 1e-6, 1 + 1e-6):
        system, u = column(factor * np.pi**2 / 4)
        K = system.residual_tangent(np.zeros(8), np.zeros(8), np.zeros(8), u)
        lowest.append(np.linalg.eigvalsh((K + K.T) / 2)[0])
    assert lowest[0] > 0 > lowest[1]


@pytest.mark.parametrize("ratio", [1.05, 1.5, 3.0])
@pytest.mark.parametrize("side", [1, -1])
def test_column_above_the_euler_load(ratio, side):
    """From a slightly bent start the solver descends to the buckled column; Newton alone keeps the straight one."""
    load = ratio * np.pi**2 / 4
    system, u = column(load)
    straight = pl.solve_statics(system, u, stable=False)
    assert straight.success
    assert not straight.stable
    np.testing.assert_allclose(straight.q, 0, atol=1e-12)
    bent = pl.solve_statics(system, u, start=side * np.eye(8)[0] * 1e-4)
    assert bent.success
    assert bent.stable
    x, y = buckled_tip(load)
    assert np.abs(tip(system, bent.q)[:2] / 2 - (x, side * y)).max() < 2e-5


def test_stable_search_leaves_a_saddle():
    """Started exactly on the straight column above its Euler load, where the gradient shows no way down."""
    load = 2 * np.pi**2 / 4
    system, u = column(load)
    eq = pl.solve_statics(system, u)
    assert eq.success
    assert eq.stable
    x, y = tip(system, eq.q)[:2] / 2
    assert np.abs(np.array([x, abs(y)]) - buckled_tip(load)).max() < 2e-5


def extreme(modes: int, points: int, gravity: float = 9.81, basis: str = "chebyshev") -> pl.System:
    """[000] stiff cantilever: it hangs along gravity (e₁), f acts along e₂."""
    robot = pl.Robot("stiff cantilever", gravity=(gravity, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=0.4,
        section=pl.Circle(0.001),
        material=pl.Material(young=2e9, poisson=0.3, density=8000),
        strains=pl.Strains.planar_bending(modes - 1, basis=basis),
        points=points,
    )
    robot.add_wrench("force", rod.tip, force=(0, 1, 0))
    return robot.compile()


def potential(system: pl.System, eq: pl.Equilibrium) -> float:
    return system.elastic_energy(eq.q) + system.gravitational_energy(eq.q) - eq.u[0] * tip(system, eq.q)[1]


def test_extreme_tip_force():
    """f l²/EI ≈ 1000 with three modes: the lowest of all stable equilibria, reaching out along the force."""
    system = extreme(3, 20)
    eq = pl.solve_statics(system, {"force": 10})
    assert eq.success
    assert eq.stable
    K = system.residual_tangent(eq.q, np.zeros(3), np.zeros(3), eq.u)
    assert np.linalg.eigvalsh((K + K.T) / 2).min() > 0
    assert tip(system, eq.q)[1] > 0.35
    stepped = pl.solve_statics(system, {"force": 10}, load_steps=50)
    np.testing.assert_allclose(eq.q, stepped.q, rtol=0, atol=1e-6 * np.abs(eq.q).max())
    rng, others = np.random.default_rng(0), []
    for _ in range(60):
        other = pl.solve_statics(system, {"force": 10}, start=rng.normal(size=3) * 30)
        assert other.success
        assert other.stable
        others.append(potential(system, other))
    assert potential(system, eq) <= min(others) + 1e-9
    assert max(others) > potential(system, eq) + 0.1  # coiled ones are stable too, but higher


def test_extreme_tip_force_converges_to_the_elastica():
    """Without gravity and f l²/EI = 1000, the limit of the elliptic integrals for long rods: m → 1."""
    system = extreme(40, 160, gravity=0.0, basis="legendre")
    EI = 2e9 * np.pi * 0.001**4 / 4
    eq = pl.solve_statics(system, {"force": 1000 * EI / 0.16})
    assert eq.success
    assert eq.stable
    exact = np.sqrt(2 / 1000), 1 - 2 * (1 - np.sqrt(0.5)) / np.sqrt(1000)
    assert np.abs(tip(system, eq.q)[:2] / 0.4 - exact).max() < 1e-6


# ------------------------------------------------------------ options and reports


def test_failure_is_reported_not_raised():
    system = cdm()
    start = np.zeros(24)
    u = [100.0, 0, 0, 50, 0]
    eq = pl.solve_statics(system, u, start=start, iterations=1, load_steps=1)
    assert not eq.success
    assert eq.iterations == 1
    assert "iterations" in eq.message
    assert "NOT converged" in str(eq)
    assert np.all(np.isfinite(eq.q))

    def size(q):
        return np.abs(system.residual(q, np.zeros(24), np.zeros(24), u)).max()

    assert size(eq.q) < size(start)
    np.testing.assert_array_equal(start, 0)
    again = pl.solve_statics(system, u, start=eq)
    assert again.success


def test_failure_with_automatic_load_steps():
    """Even many load steps cannot help one iteration each; the best result comes back."""
    system = cdm()
    eq = pl.solve_statics(system, [100.0, 100, 0, 50, 0], iterations=1)
    assert not eq.success
    assert eq.message
    assert np.isfinite(eq.residual)
    np.testing.assert_array_equal(eq.u, [100, 100, 0, 50, 0])
    np.testing.assert_array_equal(system.gravity, (0, 0, -9.81))


HOPELESS = """
import numpy as np, pliant as pl
robot = pl.Robot("pendulum", gravity=(0, 0, 0))
robot.add_body("arm", joint=pl.Revolute("y"), mass=1, com=(1, 0, 0))
system = robot.compile()
for stable in (True, False):
    eq = pl.solve_statics(system, tau=[1.0], stable=stable)
    assert not eq.success and "nothing resists it" in eq.message, eq
robot = pl.Robot("rod", gravity=(0, 0, 0))
rod = robot.add_rod("rod", length=1, strains=pl.Strains.planar_bending(1), stiffness=np.ones(6), inertia=np.ones(6))
robot.add_tendon("pull", rod, y=0.1)
system = robot.compile()
for stable in (True, False):
    for options in ({"start": [np.nan, 0.0]}, {"tau": [np.nan, 0.0]}, {"start": [np.inf, 0.0]}):
        eq = pl.solve_statics(system, stable=stable, **options)
        assert not eq.success and "finite" in eq.message, (options, eq)
"""


def test_hopeless_problems_are_reported():
    """No stiffness, or NaN: reported, and in finite time (in a process of its own, so that a hang is a failure)."""
    assert pl.solve_statics(cdm()).success  # all is compiled now
    done = subprocess.run([sys.executable, "-c", HOPELESS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-1000:]


def test_flags_are_plain_booleans():
    eq = pl.solve_statics(cdm())
    assert eq.success is True
    assert eq.stable is True


@pytest.mark.parametrize("options", [{"tolerance": 0}, {"radius": -1}, {"iterations": 0}, {"load_steps": 0}])
def test_bad_options_are_errors(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        pl.solve_statics(cdm(), **options)


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_load_steps(steps):
    """Load steps lead to the same equilibrium, with gravity, tensions and tau all ramped and restored."""
    system = cdm()
    u, tau = np.array([30.0, 60, 10, 80, 20]), np.linspace(-1e-3, 1e-3, 24)
    eq = pl.solve_statics(system, u, tau=tau, load_steps=steps, tolerance=1e-12)
    assert eq.success
    assert eq.load_steps == steps
    np.testing.assert_array_equal(eq.u, u)
    np.testing.assert_array_equal(eq.tau, tau)
    direct = pl.solve_statics(system, u, tau=tau, tolerance=1e-12)
    np.testing.assert_allclose(eq.q, direct.q, rtol=0, atol=1e-9 * np.abs(direct.q).max())
    np.testing.assert_array_equal(system.gravity, (0, 0, -9.81))
    r = system.residual(eq.q, np.zeros(24), np.zeros(24), u, tau)
    assert np.abs(r).max() < 1e-10


def test_start_from_an_equilibrium():
    """Restarted from a result nothing is left to do; from a neighbouring one, little."""
    system = cdm()
    eq = pl.solve_statics(system, [30.0, 60, 10, 80, 20])
    again = pl.solve_statics(system, eq.u, start=eq)
    assert again.success
    assert again.iterations == 0
    np.testing.assert_array_equal(again.q, eq.q)
    near = pl.solve_statics(system, [30.0, 61, 10, 80, 20], start=eq)
    assert near.success
    assert near.iterations <= 3
    assert near.iterations < eq.iterations
    np.testing.assert_allclose(near.q, pl.solve_statics(system, near.u).q, rtol=0, atol=1e-8 * np.abs(near.q).max())


def test_inputs_by_name():
    system = cdm()
    a = pl.solve_statics(system, {"cable4": 50})
    np.testing.assert_array_equal(a.q, pl.solve_statics(system, [0, 0, 0, 50, 0]).q)


def test_stiffness_tangent_and_energy_agree_at_equilibrium():
    """The equilibrium is a minimum of the potential energy in every direction."""
    system = cdm()
    eq = pl.solve_statics(system, [30.0, 60, 10, 80, 20], tolerance=1e-13)

    def energy(q):
        return system.elastic_energy(q) + system.gravitational_energy(q) + eq.u @ system.tendon_lengths(q)[0]

    K = system.residual_tangent(eq.q, np.zeros(24), np.zeros(24), eq.u)
    rng, E0 = np.random.default_rng(1), energy(eq.q)
    for _ in range(10):
        d = rng.normal(size=24) * golden_scale() * 1e-3
        second = energy(eq.q + d) + energy(eq.q - d) - 2 * E0
        assert second > 0
        np.testing.assert_allclose(second, d @ K @ d, rtol=1e-3)


# ------------------------------------------------------------ joints


def test_pendulum_on_a_spring():
    """k (θ − θ₀) = m g l cos θ."""
    robot = pl.Robot("pendulum")
    robot.add_body("arm", joint=pl.Revolute("y", stiffness=7.0, rest=-0.4), mass=2, com=(0.5, 0, 0))
    system = robot.compile()
    eq = pl.solve_statics(system)
    assert eq.success
    assert eq.stable
    exact = brentq(lambda th: 7 * (th + 0.4) - 2 * 9.81 * 0.5 * np.cos(th), 0, 2, xtol=1e-15)
    np.testing.assert_allclose(eq.q, [exact], rtol=1e-9)


def test_pendulum_without_a_spring():
    """Gravity is the only force and vanishes at the equilibrium: the residual must be compared with the weight."""
    robot = pl.Robot("pendulum")
    robot.add_body("arm", joint=pl.Revolute("y"), mass=2, com=(0.5, 0, 0))
    system = robot.compile()
    up = pl.solve_statics(system, start=[-1.5], stable=False)
    assert up.success
    assert not up.stable
    np.testing.assert_allclose(up.q, [-np.pi / 2], rtol=1e-9)
    down = pl.solve_statics(system, start=[-1.5])
    assert down.success
    assert down.stable
    np.testing.assert_allclose(np.cos(down.q) + 1j * np.sin(down.q), [1j], atol=1e-9)


def test_rod_on_a_sprung_hinge():
    """A hinge spring in series with an elastica: θ(0) = M(0)/k with M(0) = F x_tip."""
    k, F = 0.8, 2.0
    robot = planar_rod(10, points=80, joint=pl.Revolute("z", stiffness=k))
    robot.add_wrench("force", "rod.tip", force=(0, 1, 0))
    system = robot.compile()
    eq = pl.solve_statics(system, {"force": F})
    assert eq.success
    assert eq.stable
    x, _, _ = tip(system, eq.q)
    np.testing.assert_allclose(eq.q[0], F * x / k, rtol=1e-9)
    np.testing.assert_allclose(system.stress("rod", eq.q, [0.0])[0, 2], F * x, rtol=2e-5)


def test_prismatic_spring_and_generalised_force():
    robot = pl.Robot("slider", gravity=(0, 0, 0))
    robot.add_body("cart", joint=pl.Prismatic("x", stiffness=50.0, rest=0.1), mass=1)
    eq = pl.solve_statics(robot.compile(), tau=[5.0])
    assert eq.success
    np.testing.assert_allclose(eq.q, [0.2], rtol=1e-12)


def mounted(stiffness=(2.0, 2.0, 2.0, 80.0, 80.0, 80.0), com=(0.0, 0.0, 0.0), rest=None) -> pl.System:
    robot = pl.Robot("mounted")
    robot.add_body("base", joint=pl.Free(stiffness=stiffness, rest=rest), mass=2, com=com, inertia=(0.1, 0.1, 0.1))
    return robot.compile()


def test_floating_body_on_springs_sags():
    system = mounted(rest=pl.translate(0.3, -0.2, 1.0))
    eq = pl.solve_statics(system, start=np.array([1.0, 0, 0, 0, 0, 0, 0]))
    assert eq.success
    assert eq.stable
    np.testing.assert_allclose(eq.q, [1, 0, 0, 0, 0.3, -0.2, 1 - 2 * 9.81 / 80], rtol=0, atol=1e-10)


def test_floating_body_with_generalised_force():
    """A force on the mount's own coordinates counts in the search as well."""
    system = mounted()
    eq = pl.solve_statics(system, tau=[0, 0, 0, 8.0, 0, 2 * 9.81])
    assert eq.success
    np.testing.assert_allclose(eq.q, [1, 0, 0, 0, 0.1, 0, 0], rtol=0, atol=1e-10)


def test_floating_body_with_moment():
    """A moment about z turns the mount by M/k."""
    robot = pl.Robot("mounted", gravity=(0, 0, 0))
    base = robot.add_body("base", joint=pl.Free(stiffness=(2.0, 2.0, 2.0, 80.0, 80.0, 80.0)), mass=2, inertia=(1, 1, 1))
    robot.add_wrench("moment", base, moment=(0, 0, 1))
    system = robot.compile()
    eq = pl.solve_statics(system, {"moment": 1.6})
    assert eq.success
    np.testing.assert_allclose(eq.q, [np.cos(0.4), 0, 0, np.sin(0.4), 0, 0, 0], rtol=0, atol=1e-9)


def test_floating_robot_on_springs():
    """A body on an elastic mount that carries a rod: the energy is minimal, found also by another minimiser."""
    robot = pl.Robot("mounted arm")
    mount = pl.Free(stiffness=(2.0, 3.0, 4.0, 80.0, 90.0, 100.0), rest=pl.rotate("z", 0.3) @ pl.translate(0, 0, 0.5))
    base = robot.add_body("base", joint=mount, mass=0.5, com=(0.02, 0.01, 0.0), inertia=(0.01, 0.01, 0.01))
    robot.add_rod(
        "rod",
        parent=base,
        length=0.4,
        section=pl.Circle((0.02, 0.01)),
        material=pl.Material(young=1e6, poisson=0.5, density=1000),
        strains=pl.Strains.kirchhoff(1),
    )
    system = robot.compile()
    start = system.integrate(system.neutral(), np.array([0.3, -0.2, 0.5, 0.1, 0.2, 0.3] + [0.0] * 6))
    eq = pl.solve_statics(system, start=start)
    assert eq.success
    assert eq.stable
    np.testing.assert_allclose(np.linalg.norm(eq.q[:4]), 1, rtol=1e-14)
    np.testing.assert_allclose(system.residual(eq.q, np.zeros(12), np.zeros(12)), 0, atol=1e-9)

    def energy(d):
        q = system.integrate(start, d)
        return system.elastic_energy(q) + system.gravitational_energy(q)

    found = minimize(energy, np.zeros(12), method="BFGS", options={"gtol": 1e-9})
    E = system.elastic_energy(eq.q) + system.gravitational_energy(eq.q)
    assert found.fun + 1e-9 >= E
    assert abs(E - found.fun) < 1e-5
    np.testing.assert_allclose(system.difference(eq.q, system.integrate(start, found.x)), 0, atol=5e-3)


def test_following_the_forces_finds_the_stable_equilibrium():
    """The last resort of solve_statics, called by itself, reaches what Newton's method finds."""
    from pliant.solve.static_problem import Problem
    from pliant.solve.statics import _descend

    system = cdm()
    u = np.array([30.0, 60.0, 10.0, 80.0, 20.0])
    expected = pl.solve_statics(system, u)
    found = _descend(Problem(system, u, np.zeros(system.nv), 1e-10, 60, 3.0, True), system.neutral())
    assert expected.success
    assert found.residual <= 1e-10
    assert found.iterations > expected.iterations
    assert np.abs((found.q - expected.q) / system.internal.scale).max() < 1e-7
