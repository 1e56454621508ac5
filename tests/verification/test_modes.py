"""Vibration: beams, strings and chains with exact frequencies, damping, and modes about a loaded equilibrium."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import brentq
from scipy.special import jn_zeros, roots_laguerre

import pliant as pl

STEEL = pl.Material(young=2e11, poisson=0.3, density=7800)


def clamped_rod(
    strains: pl.Strains, *, radius=0.01, length=1.0, material=STEEL, gravity=(0, 0, 0), **options
) -> pl.Robot:
    robot = pl.Robot("rod", gravity=gravity)
    robot.add_rod("rod", length=length, section=pl.Circle(radius), material=material, strains=strains, **options)
    return robot


def beam_roots(end: str, count: int) -> np.ndarray:
    """βL of an Euler–Bernoulli beam: cos βL cosh βL = −1 (clamped-free) or 1 (free-free, without rigid motions)."""
    sign = {"clamped-free": 1, "free-free": -1}[end]
    first = 0 if end == "clamped-free" else 1
    return np.array(
        [
            brentq(lambda x: np.cos(x) + sign / np.cosh(x), np.pi * k + 1e-9, np.pi * (k + 1), xtol=1e-14)
            for k in range(first, first + count)
        ]
    )


def timoshenko(length: float, radius: float, material: pl.Material, count: int) -> np.ndarray:
    """Frequencies [Hz] of a clamped-free Timoshenko beam with shear factor 1, from the transfer matrix of its ODE."""
    A, I = np.pi * radius**2, np.pi * radius**4 / 4
    E, G, rho = material.young, material.shear, material.density

    def det(omega: float) -> float:
        # y = (w, ψ, Q, M): w′ = ψ + Q/GA, ψ′ = M/EI, Q′ = −ρA ω² w, M′ = −Q − ρI ω² ψ, in scaled units
        lam = omega**2
        m = np.array(
            [
                [0, 1, E * I / (G * A), 0],
                [0, 0, 0, 1],
                [-rho * A * lam / (E * I), 0, 0, 0],
                [0, -rho * lam / E, -1, 0],
            ]
        )
        T = scipy.linalg.expm(m * length)
        return np.linalg.det(T[2:, 2:])

    unit = np.sqrt(E * I / (rho * A)) / length**2
    grid = np.linspace(0.1, 80, 4000) * unit
    values = np.array([det(w) for w in grid])
    at = np.flatnonzero(values[:-1] * values[1:] < 0)[:count]
    return np.array([brentq(det, grid[k], grid[k + 1], xtol=1e-12 * grid[k]) for k in at]) / (2 * np.pi)


def test_transfer_matrix_has_the_slender_limit():
    slender = timoshenko(1.0, 1e-4, STEEL, 2)
    unit = np.sqrt(2e11 * 1e-8 / 4 / 7800) / (2 * np.pi)
    np.testing.assert_allclose(slender, beam_roots("clamped-free", 2) ** 2 * unit, rtol=1e-5)


@pytest.mark.parametrize(("order", "error"), [(4, 1e-3), (7, 1e-5)])
def test_timoshenko_cantilever(order, error):
    """r/L = 0.1: shear and rotary inertia lower the first two frequencies by 2 % and 11 %."""
    robot = clamped_rod(pl.Strains(bending_z=order, shear_y=order), radius=0.1, points=40)
    system = robot.compile()
    found = pl.modes(system, system.neutral(), 2).frequencies
    exact = timoshenko(1.0, 0.1, STEEL, 2)
    np.testing.assert_allclose(found, exact, rtol=error)
    slender = beam_roots("clamped-free", 2) ** 2 * np.sqrt(2e11 * 0.01 / 4 / 7800) / (2 * np.pi)
    assert np.all(exact < slender * [0.985, 0.92])


def test_euler_bernoulli_cantilever():
    """A slender rod: the first three bending frequencies in both planes, the same in each."""
    system = clamped_rod(pl.Strains(bending=8), radius=1e-4, points=80).compile()
    found = pl.modes(system, system.neutral(), 6).frequencies.reshape(3, 2)
    exact = beam_roots("clamped-free", 3) ** 2 * np.sqrt(2e11 * 1e-8 / 4 / 7800) / (2 * np.pi)
    np.testing.assert_allclose(found, np.column_stack([exact, exact]), rtol=1e-6)


def test_axial_and_torsional_vibration():
    """(2k − 1)/4L times the speed of sound √(E/ρ), or of shear waves √(G/ρ)."""
    for name, modulus in (("stretch", STEEL.young), ("torsion", STEEL.shear)):
        system = clamped_rod(pl.Strains(**{name: 10}), length=2.0, points=60).compile()
        exact = np.array([1, 3, 5]) / 8 * np.sqrt(modulus / 7800)
        np.testing.assert_allclose(pl.modes(system, system.neutral(), 3).frequencies, exact, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_hanging_chain_of_pendulums(count):
    """N equal masses on equal massless links: ω² = (g/l) × the roots of the Laguerre polynomial of degree N."""
    link, gravity = 0.3, 9.81
    robot = pl.Robot("chain", gravity=(gravity, 0, 0))
    parent = None
    for k in range(count):
        parent = robot.add_body(
            f"m{k}",
            parent=parent,
            joint=pl.Revolute("z"),
            offset=(0, 0, 0) if k == 0 else (link, 0, 0),
            mass=0.2,
            com=(link, 0, 0),
        )
    system = robot.compile()
    modes = pl.modes(system, system.neutral())
    exact = np.sqrt(gravity / link * roots_laguerre(count)[0])
    np.testing.assert_allclose(2 * np.pi * modes.frequencies, exact, rtol=1e-9)
    np.testing.assert_allclose(np.sort(np.abs(modes.eigenvalues.imag))[::2], exact, rtol=1e-7)
    np.testing.assert_allclose(modes.eigenvalues.real, 0, atol=1e-7 * exact[-1])


def test_hanging_string():
    """A rod without stiffness on a hinge: ω = ½ j₀ₖ √(g/L), with the zeros of the Bessel function J₀."""
    length = 2.0
    robot = pl.Robot("string", gravity=(9.81, 0, 0))
    robot.add_rod(
        "rod",
        length=length,
        joint=pl.Revolute("z"),
        strains=pl.Strains.planar_bending(9),
        stiffness=np.full(6, 0.0),
        inertia=np.array([0, 0, 0, 1, 1, 1.0]),
        points=60,
    )
    system = robot.compile()
    found = pl.modes(system, system.neutral(), 3).frequencies
    np.testing.assert_allclose(found, jn_zeros(0, 3) / 2 * np.sqrt(9.81 / length) / (2 * np.pi), rtol=1e-5)


def free_rod(order: int, points: int) -> pl.System:
    robot = pl.Robot("free rod", gravity=(0, 0, 0))
    robot.add_rod(
        "rod",
        length=2.0,
        joint=pl.Free(),
        strains=pl.Strains.kirchhoff(order),
        stiffness=np.full(6, 5.0),
        inertia=np.array([1e-3, 1e-9, 1e-9, 0.4, 0.4, 0.4]),
        points=points,
    )
    return robot.compile()


def test_free_rod():
    """Six rigid motions at zero frequency, then pairs of free-free bending modes; the same wherever the rod is."""
    system = free_rod(9, 80)
    rng = np.random.default_rng(0)
    exact = beam_roots("free-free", 2) ** 2 / 4 * np.sqrt(5.0 / 0.4) / (2 * np.pi)
    rigid = np.zeros(system.nv)
    rigid[:6] = rng.normal(size=6) * 3
    for q in (system.neutral(), system.integrate(system.neutral(), rigid)):
        modes = pl.modes(system, q, 10)
        np.testing.assert_allclose(modes.frequencies[:6], 0, atol=1e-4 * exact[0])
        np.testing.assert_allclose(modes.frequencies[6:10], np.repeat(exact, 2), rtol=2e-6)
        bending = modes.shapes[:, 6:10]
        # vibration carries no momentum: a centre of mass at rest, and no angular momentum
        for shape in bending.T:
            momentum = system.momentum(q, shape, about="com")
            reference = np.sqrt(system.mass)
            np.testing.assert_allclose(momentum.linear, 0, atol=1e-6 * reference)
            np.testing.assert_allclose(momentum.angular, 0, atol=1e-6 * reference)


def test_proportional_damping():
    """D = μ K: ζ = μω/2 for every mode, and every pair of eigenvalues solves λ² + μω²λ + ω² = 0, also overdamped."""
    mu = 5e-3
    material = pl.Material(young=1e6, poisson=0.5, density=1000, damping_time=mu)
    system = clamped_rod(pl.Strains.kirchhoff(3), radius=0.02, length=0.5, material=material).compile()
    modes = pl.modes(system, system.neutral())
    omega = 2 * np.pi * modes.frequencies
    np.testing.assert_allclose(modes.damping_ratios, mu * omega / 2, rtol=1e-9)
    assert modes.damping_ratios[0] < 1 < modes.damping_ratios[-1]
    zeta = (mu * omega / 2).astype(complex)
    pair = np.concatenate([omega * (-zeta + np.sqrt(zeta**2 - 1)), omega * (-zeta - np.sqrt(zeta**2 - 1))])
    for expected in pair:
        assert np.abs(modes.eigenvalues - expected).min() < 1e-7 * abs(expected)
    assert len(modes.eigenvalues) == len(pair)


def test_unstable_mode_is_negative():
    robot = pl.Robot("inverted pendulum")
    robot.add_body("arm", joint=pl.Revolute("y"), mass=2, com=(0, 0, 0.5))
    system = robot.compile()
    rate = np.sqrt(9.81 / 0.5)
    modes = pl.modes(system, [0.0])
    np.testing.assert_allclose(modes.frequencies, [-rate / (2 * np.pi)], rtol=1e-10)
    np.testing.assert_allclose(np.sort(modes.eigenvalues.real), [-rate, rate], rtol=1e-10)


def test_hanging_rod_is_stiffer_than_a_standing_one():
    """Gravity along a rod raises its frequencies, against it lowers them; both are matched by a beam-column.

    For a small load the shift of ω² is the Rayleigh quotient ∫ w(1−x) ψ′² with the unloaded mode, correct to second order.
    """
    results = []
    for gravity in (-9.81, 0.0, 9.81):
        material = pl.Material(young=1e9, poisson=0.4, density=1000)
        system = clamped_rod(
            pl.Strains(bending_z=6), radius=0.01, gravity=(gravity, 0, 0), material=material, points=40
        ).compile()
        eq = pl.solve_statics(system)
        assert eq.success
        results.append((2 * np.pi * pl.modes(system, eq, 1).frequencies[0]) ** 2)
    standing, plain, hanging = results
    assert standing < plain < hanging
    x = np.linspace(0, 1, 20001)
    b = beam_roots("clamped-free", 1)[0]
    s = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    shape = np.cosh(b * x) - np.cos(b * x) - s * (np.sinh(b * x) - np.sin(b * x))
    slope = b * (np.sinh(b * x) + np.sin(b * x) - s * (np.cosh(b * x) - np.cos(b * x)))
    shift = 9.81 * np.trapezoid((1 - x) * slope**2, x) / np.trapezoid(shape**2, x)
    np.testing.assert_allclose((hanging - standing) / 2, shift, rtol=1e-3)


def loaded_arm(damping_time: float = 0.0) -> tuple[pl.System, pl.Equilibrium]:
    material = pl.Material(young=1e6, poisson=0.5, density=1000, damping_time=damping_time)
    robot = pl.Robot("arm")
    rod = robot.add_rod(
        "rod", length=0.5, section=pl.Circle((0.03, 0.015)), material=material, strains=pl.Strains(torsion=1, bending=3)
    )
    robot.add_tendon("pull", rod, y=lambda X: 0.03 - 0.015 * X)
    robot.add_body("tool", parent=rod, mass=0.05, com=(0.02, 0, 0), inertia=(1e-5, 1e-5, 1e-5))
    system = robot.compile()
    eq = pl.solve_statics(system, {"pull": 15.0}, tolerance=1e-12)
    assert eq.success
    return system, eq


def test_modes_about_a_loaded_equilibrium():
    """Gravity and tension change stiffness and inertia: shapes and frequencies solve the eigenvalue problem there."""
    system, eq = loaded_arm()
    modes = pl.modes(system, eq)
    n = system.nv
    K = system.residual_tangent(eq.q, np.zeros(n), np.zeros(n), eq.u)
    M = system.mass_matrix(eq.q)
    omega2 = (2 * np.pi * modes.frequencies) ** 2
    assert np.all(np.diff(modes.frequencies) >= 0)
    assert np.all(modes.frequencies > 0)
    np.testing.assert_allclose(modes.shapes.T @ M @ modes.shapes, np.eye(n), atol=1e-9)
    np.testing.assert_allclose(modes.shapes.T @ K @ modes.shapes, np.diag(omega2), atol=1e-9 * omega2[-1])
    eigenvalues = np.linalg.eigvals(pl.linearize(system, eq).A)
    np.testing.assert_allclose(np.sort(np.abs(eigenvalues.imag))[::2], np.sqrt(omega2), rtol=1e-6)
    np.testing.assert_allclose(eigenvalues.real, 0, atol=1e-6 * np.sqrt(omega2[-1]))
    # unlike the frequencies of the straight, unloaded arm
    straight = pl.modes(system, system.neutral(), 2).frequencies
    assert np.abs(modes.frequencies[:2] / straight - 1).min() > 1e-3


def test_modes_of_a_damped_equilibrium_agree_with_the_linearisation():
    system, eq = loaded_arm(damping_time=1e-3)
    modes = pl.modes(system, eq, 2)
    assert modes.frequencies.shape == (2,)
    assert modes.shapes.shape == (system.nv, 2)
    expected = np.linalg.eigvals(pl.linearize(system, eq).A)
    expected = expected[np.argsort(np.abs(expected), kind="stable")]
    np.testing.assert_allclose(np.abs(modes.eigenvalues), np.abs(expected), rtol=1e-9)
    assert np.all(modes.eigenvalues.real < 0)
    # light damping: the slowest pair decays as its modal damping ratio says
    slow = modes.eigenvalues[0]
    np.testing.assert_allclose(-slow.real / abs(slow), modes.damping_ratios[0], rtol=1e-3)
    np.testing.assert_allclose(abs(slow) / (2 * np.pi), modes.frequencies[0], rtol=1e-4)


def test_modes_take_inputs_like_the_equilibrium():
    system, eq = loaded_arm()
    np.testing.assert_allclose(
        pl.modes(system, eq.q, u={"pull": 15.0}).frequencies, pl.modes(system, eq).frequencies, rtol=1e-12
    )
    assert np.abs(pl.modes(system, eq.q).frequencies / pl.modes(system, eq).frequencies - 1).max() > 1e-2
