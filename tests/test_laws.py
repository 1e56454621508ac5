"""Laws of rods: exact derivatives, energy, formulas of each law in statics and in motion."""

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant as pl
from law_robots import complex_columns, complex_laws, lawful, memory_of, task_memory
from load_robots import state
from pliant.kernels import engine
from pliant.system import Given

SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000.0)


def tangent(system, q, v, a, u, weights, given):
    p, out = np.zeros(engine.PARAMETERS), np.empty((1, system.nv, system.nv))
    p[:3] = weights
    r = np.empty(system.nv)
    system.run_job(engine.TANGENT, q, v, a, u, force=r, p=p, S=out, given=given)
    return r, out[0]


@pytest.mark.parametrize("base", ["free", "fixed"])
@pytest.mark.parametrize("lag", [0.0, 0.013, 1e12])
def test_derivatives_are_exact(base, lag):
    """Residual, tangents, columns of inputs and the task MEMORY on a branched robot with a different law in each rod."""
    system = lawful(1, base).compile()
    q, v, a = state(system, 3)
    u = np.array([0.4, -0.7])
    memory = memory_of(system)
    exact = complex_columns(system, q, v, a, u, memory, lag)
    given = Given(memory=memory, lag=lag)
    D = system.damping_matrix()
    plain = complex_laws(system, q, v, a, u, memory, lag)
    if lag < 1e12:  # statics take other velocities
        for k, name in enumerate("qva"):
            r, matrix = tangent(system, q, v, a, u, np.eye(3)[k], given)
            wanted = exact[name].force + (D if name == "v" else 0.0)
            np.testing.assert_allclose(r, plain.force.real + D @ v, atol=1e-13 * np.abs(r).max())
            assert np.abs(matrix - wanted).max() <= 1e-12 * np.abs(wanted).max(), name
    rows = task_memory(system, q, v, u, memory, lag)
    n, nz = system.nv, system.nz
    parts = {"q": rows[:, :n], "v": rows[:, n : 2 * n], "z": rows[:, 3 * n : 3 * n + nz], "u": rows[:, 3 * n + nz :]}
    for name, part in parts.items():
        assert np.abs(part - exact[name].now).max() <= 1e-12 * max(1.0, np.abs(part).max()), name
    back = rows[:, 2 * n : 3 * n].T
    assert np.abs(back - exact["z"].force).max() <= 1e-12 * np.abs(back).max()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("exponent", [1, 2])
@pytest.mark.parametrize("beta", [0.5, 0.8])
def test_all_branches_of_hysteresis_and_flow(seed, exponent, beta):
    """Random strains and internal variables of either sign: before and beyond the turn, within and beyond yield."""
    laws = (pl.Plastic(bending=0.05, torsion=0.03, stretch=20.0, hardening=0.2 * (seed % 2)), pl.BoucWen(bending=(0.1, 0.5), stretch=(3.0, 0.1), exponent=exponent, beta=beta))  # fmt: skip
    system = strip(
        laws, pl.Strains(torsion=0, bending=1, stretch=0), section=pl.Ellipse(0.01, 0.007), points=2
    ).compile()
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=system.nv) * 0.5, np.zeros(system.nv)
    terms = system.loads["laws"].term
    memory = rng.normal(size=system.nz) * 0.3
    for row in terms:
        kind, first, count = row[0], row[6], row[7]
        own = memory[first : first + 2 * count].reshape(2, count)
        if count and kind == 4:
            own[:, -1] = np.abs(own[:, -1])
        elif count:
            own[:, 0] = np.clip(3 * own[:, 0], -0.95, 0.95)
    u = np.zeros(3)
    exact = complex_columns(system, q, v, v, u, memory, 0.01)
    matrix = tangent(system, q, v, v, u, (1, 0, 0), Given(memory=memory, lag=0.01))[1]
    assert np.abs(matrix - exact["q"].force).max() <= 1e-12 * np.abs(matrix).max()
    rows, n = task_memory(system, q, v, u, memory, 0.01), system.nv
    parts = (("q", rows[:, :n]), ("z", rows[:, 3 * n : 3 * n + system.nz]))
    for name, part in parts:
        assert np.abs(part - exact[name].now).max() <= 1e-12 * np.abs(part).max(), name
    assert np.abs(rows[:, 2 * n : 3 * n].T - exact["z"].force).max() <= 1e-12 * np.abs(exact["z"].force).max()


def test_columns_of_active_strains():
    system = lawful(2).compile()
    q, v, a = state(system, 1)
    u = np.array([0.3, 0.5])
    exact = complex_columns(system, q, v, a, u, np.zeros(system.nz), 0.0)["u"].force
    np.testing.assert_allclose(system.actuation_matrix(q, v, u), -exact, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("seed", range(3))
def test_forces_are_the_gradient_of_the_energy(seed):
    """With internal variables as they were: what is stored, and what is dissipated on the way, is a potential."""
    system = lawful(1, "fixed").compile()
    q, _v, _a = state(system, seed)
    u = np.array([0.4, -0.7])
    memory = memory_of(system, seed)
    force = system.elastic_forces(q, u, memory=memory)
    h = 1e-4
    for k in range(system.nv):
        d = np.eye(system.nv)[k] * h
        e = [system.elastic_energy(system.integrate(q, s * d), u, memory=memory) for s in (-2, -1, 1, 2)]
        assert abs((e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h) - force[k]) < 1e-8 * np.abs(force).max()
    stiffness = system.elastic_tangent(q, u, memory=memory)
    np.testing.assert_allclose(stiffness, stiffness.T, atol=1e-12 * np.abs(stiffness).max())


def strip(law, strains, *, section=None, material=SILICONE, length=0.2, **more):
    """A rod without weight, pulled, bent and twisted at its tip by inputs."""
    robot = pl.Robot("strip", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod", length=length, section=section or pl.Circle(0.01), material=material, strains=strains, law=law, **more
    )
    robot.add_wrench("pull", rod.tip, force=(1, 0, 0))
    robot.add_wrench("bend", rod.tip, moment=(0, 0, 1), axes="body")
    robot.add_wrench("twist", rod.tip, moment=(1, 0, 0), axes="body")
    return robot


A, I = np.pi * 0.01**2, np.pi * 0.01**4 / 4


def test_neo_hookean_in_tension():
    """Force μ A (λ − 1/λ²), in tension and compression; the tangent stiffness is its derivative."""
    system = strip(pl.NeoHookean(), pl.Strains(stretch=0)).compile()
    mu = 1e6 / 3
    for stretch in (0.5, 0.8, 1.3, 2.0, 4.0):
        force = mu * A * (stretch - stretch**-2)
        found = pl.solve_statics(system, {"pull": force})
        assert found.success
        assert found.q[0] == pytest.approx(stretch - 1, abs=1e-12)
        slope = 0.2 * mu * A * (1 + 2 * stretch**-3)
        assert system.elastic_tangent(found.q)[0, 0] == pytest.approx(slope, rel=1e-12)
        assert system.stress("rod", found.q, [0.3])[0, 3] == pytest.approx(force, rel=1e-9)


def test_yeoh_in_tension():
    c1, c2, c3 = 1e6 / 6, -1.5e4, 3e3
    system = strip(pl.Yeoh(c2, c3), pl.Strains(stretch=0)).compile()
    for stretch in (0.7, 1.5, 3.0):
        J = stretch**2 + 2 / stretch - 3
        force = A * 2 * (stretch - stretch**-2) * (c1 + 2 * c2 * J + 3 * c3 * J**2)
        assert system.elastic_forces([stretch - 1])[0] == pytest.approx(0.2 * force, rel=1e-13)


def test_rubber_bends_and_twists_with_the_section_that_is_left():
    """At the stretch λ bending has EI (1 + 2/λ³)/(3λ) and torsion GJ/λ; torsion takes GJ κ²/2λ² from the force along the axis."""
    system = strip(pl.NeoHookean(), pl.Strains(stretch=0, bending_z=0, torsion=0)).compile()
    stretch, kappa, psi = 1.7, 0.9, 1.3
    q = np.array([psi, kappa, stretch - 1])
    force = system.elastic_forces(q) / 0.2
    EI, GJ = 1e6 * I, 1e6 / 3 * 2 * I
    assert force[0] == pytest.approx(GJ * psi / stretch, rel=1e-13)
    assert force[1] == pytest.approx(EI * (1 + 2 / stretch**3) / (3 * stretch) * kappa, rel=1e-13)
    own = 1e6 / 3 * A * (stretch - stretch**-2) - 0.5 * GJ * psi**2 / stretch**2
    slope = EI / 3 * (-1 / stretch**2 - 8 / stretch**5)
    assert force[2] == pytest.approx(own + 0.5 * slope * kappa**2, rel=1e-13)


def test_rubber_agrees_with_integrals_over_the_section():
    """Fibres with the stretch λ + κ r λ^(−1/2): their uniaxial energy over the section, to second order in curvature."""
    system = strip(pl.Yeoh(2e4, 1e3), pl.Strains(stretch=0, bending_z=0)).compile()
    stretch, h = 1.4, 1e-2
    c1, c2, c3 = 1e6 / 6, 2e4, 1e3
    r, w = np.polynomial.legendre.leggauss(40)
    y = 0.01 * r
    chord = 2 * np.sqrt(0.01**2 - y**2)

    def energy(kappa):
        x = stretch + kappa * y / np.sqrt(stretch)
        J = x**2 + 2 / x - 3
        return float(np.sum(0.01 * w * chord * (c1 * J + c2 * J**2 + c3 * J**3)))

    stiffness = (energy(h) - 2 * energy(0.0) + energy(-h)) / h**2
    assert system.elastic_tangent([0.0, stretch - 1])[0, 0] / 0.2 == pytest.approx(stiffness, rel=1e-4)


def test_cubic_bending_under_a_moment():
    """EI κ (1 + c κ²) = M at any point, for a moment of any direction."""
    c = 0.05
    robot = strip(pl.Polynomial(bending=c), pl.Strains.kirchhoff(2))
    system = robot.compile()
    EI = 1e6 * I
    for kappa in (0.5, 3.0, 8.0):
        found = pl.solve_statics(system, {"bend": EI * kappa * (1 + c * kappa**2)})
        strain = system.strain("rod", found.q, [0.1, 0.9])
        np.testing.assert_allclose(strain[:, 2], kappa, rtol=1e-9)
        np.testing.assert_allclose(
            system.stress("rod", found.q, [0.4])[0, 2], EI * kappa * (1 + c * kappa**2), rtol=1e-9
        )
    q = found.q.copy()
    turned = q.copy()
    turned[3:6], turned[6:9] = 0.6 * q[6:9], 0.8 * q[6:9]
    assert system.elastic_energy(turned) == pytest.approx(system.elastic_energy(q), rel=1e-13)
    stretch = strip(pl.Polynomial(stretch=(-0.5, 2.0)), pl.Strains(stretch=0)).compile()
    for e in (-0.3, 0.4):
        wanted = 0.2 * 1e6 * A * e * (1 - 0.5 * e + 2 * e**2)
        assert stretch.elastic_forces([e])[0] == pytest.approx(wanted, rel=1e-13)


def test_linear_law_is_the_linear_rod():
    strains = pl.Strains(torsion=1, bending=2, stretch=1, shear=1)
    coupled = np.diag([1.0, 2.0, 2.0, 50.0, 20.0, 20.0])
    coupled[1, 3] = coupled[3, 1] = 3.0
    for more in ({}, {"stiffness": coupled}):
        plain, other = (strip(law, strains, **more).compile() for law in (None, pl.Linear()))
        q, v, a = state(plain, 2)
        r, s = (system.residual(q, v, a) for system in (plain, other))
        np.testing.assert_allclose(r, s, atol=1e-12 * np.abs(r).max())
        K, L = (system.residual_tangent(q, v, a) for system in (plain, other))
        np.testing.assert_allclose(K, L, atol=1e-12 * np.abs(K).max())
        assert other.elastic_energy(q) == pytest.approx(plain.elastic_energy(q), rel=1e-13)
        np.testing.assert_allclose(other.stiffness_matrix(), plain.stiffness_matrix(), atol=1e-12 * np.abs(K).max())
        X = [0.2, 0.7]
        np.testing.assert_allclose(plain.stress("rod", q, X), other.stress("rod", q, X), atol=1e-9)


def test_rubber_of_two_stiffnesses_along_a_rod():
    """A strip whose second half is twice as stiff: each half stretches as its own modulus says, F = EA/3 (λ − λ⁻²)."""
    robot = pl.Robot("strip", gravity=(0, 0, 0))
    rubber = pl.Material(young=pl.Stepped((3e5, 6e5), (0.5,)), poisson=0.5, density=1000)
    rod = robot.add_rod(
        "strip",
        length=0.2,
        section=pl.Circle(0.01),
        material=rubber,
        strains=pl.Strains(stretch=pl.PiecewiseConstant(2)),
        law=pl.NeoHookean(),
    )
    robot.add_wrench("pull", rod.tip, force=(1, 0, 0))
    system = robot.compile()
    rest = pl.solve_statics(system, {"pull": 40.0})
    stretch = [brentq(lambda x, E=E: np.pi * 1e-4 * E / 3 * (x - x**-2) - 40.0, 1.0, 5.0) for E in (3e5, 6e5)]
    np.testing.assert_allclose(system.pose("strip.tip", rest.q)[0, 3], 0.1 * sum(stretch), rtol=1e-10)


def test_tapered_rubber_under_its_own_weight():
    """μ A(X) (λ − 1/λ²) = ρ g ∫_X^L A at every point of a hanging cone; the tip is where ∫ λ says, exponentially in the order."""
    L, r0, r1, young = 0.5, 0.02, 0.01, 8e3
    soft = pl.Material(young=young, poisson=0.5, density=1000.0)
    x, w = np.polynomial.legendre.leggauss(60)
    s = 0.5 * L * (1 + x)

    def radius(s):
        return r0 + (r1 - r0) * s / L

    below = (radius(s) ** 3 - r1**3) / (3 * (r0 - r1) / L)  # ∫ r² from s to L
    load = 1000.0 * 9.81 * below / radius(s) ** 2 / (young / 3)
    stretch = np.array(
        [np.real(np.roots([1, -b, 0, -1])[np.argmin(np.abs(np.imag(np.roots([1, -b, 0, -1]))))]) for b in load]
    )
    exact = float(0.5 * L * w @ stretch)
    errors = []
    for order in (1, 3, 6):
        robot = pl.Robot("hanging", gravity=(9.81, 0, 0))
        rod = robot.add_rod(
            "rod",
            length=L,
            section=pl.Circle((r0, r1)),
            material=soft,
            strains=pl.Strains(stretch=order),
            law=pl.NeoHookean(),
        )
        system = robot.compile()
        rest = pl.solve_statics(system)
        errors.append(abs(system.pose(rod.tip, rest.q)[0, 3] - exact) / exact)
    assert stretch.max() > 1.3
    assert errors[0] < 1e-2
    assert errors[1] < 0.05 * errors[0]
    assert errors[2] < 1e-6
