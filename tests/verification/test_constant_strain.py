"""Piecewise constant strain: everything that [001] gives in closed form.

Sections n = 1…N end at L_n; x is the length within a section. g_n(x) = exp(x ξ_n), T_n(x) = ∫ Ad_exp(s ξ_n) ds from 0 to x,
and the coordinates are the deviations of ξ_n from the straight rod, strain by strain.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm

import pliant as pl
from pliant import lie
from pliant.model.rods.quadrature import gauss

LENGTH = 0.5
RUBBER = pl.Material(young=2e5, poisson=0.4, density=1100, viscosity=200)
EQUAL = {n: tuple(k / n for k in range(1, n)) for n in (1, 2, 3, 5, 8)}
UNEQUAL = (0.13, 0.2, 0.55, 0.9)


def arm(cuts, *, radius=0.01, points=None, magnus=4, gravity=(0, 0, 0)) -> pl.Robot:
    """A clamped rod with constant strains between the cuts."""
    robot = pl.Robot("arm", gravity=gravity)
    robot.add_rod(
        "arm", length=LENGTH, section=pl.Circle(radius), material=RUBBER, points=points, magnus=magnus,
        strains=pl.Strains.reissner(pl.PiecewiseConstant(cuts) if cuts else pl.PiecewiseConstant(1)),
    )  # fmt: skip
    return robot


def ends_of(cuts) -> np.ndarray:
    return np.array([0.0, *cuts, 1.0])


def bent(cuts, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Random coordinates and the strains ξ (N, 6) that they stand for."""
    rng = np.random.default_rng(seed)
    deviation = rng.uniform(-1, 1, (len(cuts) + 1, 6)) * [8, 8, 8, 0.3, 0.3, 0.3]
    return deviation.T.ravel(), deviation + [0, 0, 0, 1, 0, 0]


def closed_form(cuts, xi, X) -> tuple[np.ndarray, np.ndarray]:
    """Pose of [001] eq. 8 and Jacobian of eq. 20, columns (section, strain), at X."""
    g, J = np.eye(4), np.zeros((6, 6 * len(xi)))
    for n, (a, b) in enumerate(pairwise(ends_of(cuts))):
        x = LENGTH * (min(b, X) - a)
        if x <= 0:
            break
        step = lie.exp(x * xi[n])
        g = g @ step
        J[:, 6 * n : 6 * n + 6] = x * lie.tangent(x * xi[n])
        J = lie.Ad(lie.inverse(step)) @ J
    return g, J


def by_strain(J, count) -> np.ndarray:
    """Columns reordered from (section, strain) to (strain, section), as the coordinates are."""
    return J.reshape(6, count, 6).transpose(0, 2, 1).reshape(6, -1)


# ---------------------------------------------------------------- kinematics


@pytest.mark.parametrize("cuts", [*EQUAL.values(), UNEQUAL], ids=lambda c: f"{len(c) + 1} sections")
def test_coordinates_are_strains_of_the_sections(cuts):
    q, xi = bent(cuts)
    middles = 0.5 * (ends_of(cuts)[1:] + ends_of(cuts)[:-1])
    np.testing.assert_allclose(arm(cuts).compile().strain("arm", q, middles), xi, rtol=1e-15)


@pytest.mark.parametrize("magnus", [2, 4])
@pytest.mark.parametrize("points", [1, 2, 7])
@pytest.mark.parametrize("cuts", [EQUAL[1], EQUAL[3], EQUAL[8], UNEQUAL], ids=lambda c: f"{len(c) + 1} sections")
def test_pose_is_the_product_of_exponentials(cuts, points, magnus):
    q, xi = bent(cuts)
    system = arm(cuts, points=points, magnus=magnus).compile()
    X = [*ends_of(cuts)[1:], 0.03, 0.17, 0.61, 0.97]
    exact = [closed_form(cuts, xi, x)[0] for x in X]
    np.testing.assert_allclose(system.rod_poses("arm", q, X), exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(system.pose("arm.tip", q), exact[len(cuts)], rtol=0, atol=1e-14)


def test_exponential_is_that_of_the_matrix():
    _q, xi = bent(UNEQUAL)
    for twist in [*(0.3 * xi), np.array([0, 0, 0, 0.3, 0, 0.1]), np.array([1e-9, 0, 2e-9, 0.3, 0, 0.1])]:
        np.testing.assert_allclose(lie.exp(twist), expm(lie.hat(twist)), atol=1e-14)
        block = expm(np.block([[lie.ad(twist), np.eye(6)], [np.zeros((6, 12))]]))
        np.testing.assert_allclose(lie.tangent(twist), block[:6, 6:], atol=1e-14)


@pytest.mark.parametrize("magnus", [2, 4])
@pytest.mark.parametrize("points", [1, 3])
@pytest.mark.parametrize("cuts", [EQUAL[1], EQUAL[5], UNEQUAL], ids=lambda c: f"{len(c) + 1} sections")
def test_jacobian_is_equation_20(cuts, points, magnus):
    q, xi = bent(cuts, seed=1)
    robot = arm(cuts, points=points, magnus=magnus)
    places = [*ends_of(cuts)[1:], 0.07, 0.4, 0.83]
    for k, X in enumerate(places):
        robot.add_frame(f"at{k}", robot.link("arm").at(float(X)))
    system = robot.compile()
    for k, X in enumerate(places):
        exact = by_strain(closed_form(cuts, xi, X)[1], len(xi))
        np.testing.assert_allclose(system.jacobian(f"at{k}", q), exact, rtol=0, atol=1e-13)


def test_jacobian_rate_is_equation_22_and_the_rate_of_each_section():
    """dS_i/dt = −ad(Σ_{j>i} S_j ξ̇_j) S_i, [001] eq. 22, and the rate of Ad⁻¹T of the section itself, which it leaves out."""
    q, xi = bent(UNEQUAL, seed=2)
    v = np.random.default_rng(3).normal(size=q.size)
    system = arm(UNEQUAL).compile()
    N = len(xi)
    J = closed_form(UNEQUAL, xi, 1.0)[1]
    S = [J[:, 6 * i : 6 * i + 6] for i in range(N)]
    rate = v.reshape(6, N).T
    lengths = LENGTH * np.diff(ends_of(UNEQUAL))
    exact = np.zeros((6, 6 * N))
    beyond, later = np.eye(4), np.zeros(6)  # from the end of section i to the tip
    for i in reversed(range(N)):
        x = lengths[i]
        T, Td = x * lie.tangent(x * xi[i]), x * lie.tangent_rate(x * xi[i], x * rate[i])
        beyond = lie.exp(x * xi[i]) @ beyond
        own = lie.Ad(lie.inverse(beyond)) @ (Td - lie.ad(T @ rate[i]) @ T)
        exact[:, 6 * i : 6 * i + 6] = own - lie.ad(later) @ S[i]
        later = later + S[i] @ rate[i]
    np.testing.assert_allclose(system.jacobian_rate("arm.tip", q, v), by_strain(exact, N), rtol=0, atol=2e-12)


def test_acceleration_of_one_section():
    """A straight section with curvature rate κ̇: its tip (sin κL, 1 − cos κL)/κ has the body acceleration L³κ̇²/6 along x.

    With eq. 17 of [001] it would have none.
    """
    system = arm(()).compile()
    v = np.array([0, 0, 3.0, 0, 0, 0])
    acceleration = system.jacobian_rate("arm.tip", np.zeros(6), v) @ v
    np.testing.assert_allclose(acceleration, [0, 0, 0, LENGTH**3 * 9 / 6, 0, 0], atol=1e-15)


# ---------------------------------------------------------------- statics


@pytest.mark.parametrize("cuts", [*EQUAL.values(), UNEQUAL], ids=lambda c: f"{len(c) + 1} sections")
def test_tip_moment_is_exact_for_any_number_of_sections(cuts):
    """Moment about z, or torque and pull along the axis: strains are constant, so one section is exact."""
    robot = arm(cuts, radius=0.01)
    robot.add_wrench("bend", "arm.tip", moment=(0, 0, 1))
    robot.add_wrench("twist", "arm.tip", moment=(1, 0, 0))
    robot.add_wrench("pull", "arm.tip", force=(1, 0, 0))
    system = robot.compile()
    second, area = np.pi * 0.01**4 / 4, np.pi * 0.01**2
    moment = 2 * np.pi / LENGTH * RUBBER.young * second  # one turn
    rest = pl.solve_statics(system, {"bend": moment}, stable=False)
    assert rest.success
    expected = np.tile([0, 0, 2 * np.pi / LENGTH, 1, 0, 0], (7, 1))
    np.testing.assert_allclose(system.strain("arm", rest.q, np.linspace(0.05, 0.95, 7)), expected, atol=1e-9)
    np.testing.assert_allclose(system.pose("arm.tip", rest.q), np.eye(4), atol=1e-9)
    rest = pl.solve_statics(system, {"twist": 0.01, "pull": 3.0}, stable=False)
    expected = np.zeros(6)
    expected[0] = 0.01 / (RUBBER.shear * 2 * second)
    expected[3] = 1 + 3.0 / (RUBBER.young * area)
    strain = system.strain("arm", rest.q, np.linspace(0.05, 0.95, 7))
    np.testing.assert_allclose(strain, np.tile(expected, (7, 1)), atol=1e-9)


# ---------------------------------------------------------------- cables


def cabled(cuts, **options) -> tuple[pl.System, list[tuple[int, np.ndarray]]]:
    """A cable to each section's end, by `end=` or `Along`, with the section and the place (0, y, z) of each."""
    robot = arm(cuts, **options)
    places = []
    for n, end in enumerate(ends_of(cuts)[1:]):
        y, z = 0.008 * np.cos(2.0 * n), 0.008 * np.sin(2.0 * n)
        end = float(end)
        if n % 2:
            robot.add_tendon(f"cable{n}", [pl.Along("arm", y=y, z=z, end=end)])
        else:
            robot.add_tendon(f"cable{n}", robot.link("arm"), y=y, z=z, end=end)
        places.append((n, np.array([0.0, y, z])))
    return robot.compile(), places


@pytest.mark.parametrize("points", [1, None])
@pytest.mark.parametrize("cuts", [EQUAL[1], EQUAL[3], UNEQUAL], ids=lambda c: f"{len(c) + 1} sections")
def test_cables_give_equation_29(cuts, points):
    """Section n feels l_n Σ F_a of the cables that are anchored at its end or beyond."""
    system, places = cabled(cuts, points=points)
    tension = np.random.default_rng(4).uniform(1, 5, len(places))
    lengths = LENGTH * np.diff(ends_of(cuts))
    for general in (False, True):
        q, xi = bent(cuts, seed=5)
        if not general:  # bending and stretch only: a parallel cable stays parallel to the axis, as [001] takes it
            deviation = q.reshape(6, -1).copy()
            deviation[[0, 4, 5]] = 0.0
            q, xi = deviation.ravel(), deviation.T + [0, 0, 0, 1, 0, 0]
        expected = np.zeros((6, len(xi)))
        for (last, d), T in zip(places, tension):
            for n in range(last + 1):
                along = xi[n, 3:] + np.cross(xi[n, :3], d)  # with torsion and shear the cable is a helix about the axis
                t = along / np.linalg.norm(along) if general else np.array([1.0, 0, 0])
                expected[:, n] -= lengths[n] * T * np.concatenate([np.cross(d, t), t])
        force = system.actuation_matrix(q) @ tension
        np.testing.assert_allclose(force, expected.ravel(), rtol=0, atol=1e-12)
        # and in the residual, with the elastic forces l_n F_i of eq. 29
        still = np.zeros(q.size)
        area, second = np.pi * 0.01**2, np.pi * 0.01**4 / 4
        E, G = RUBBER.young, RUBBER.shear
        sigma = np.array([2 * G * second, E * second, E * second, E * area, G * area, G * area])
        elastic = lengths * sigma[:, None] * (xi - [0, 0, 0, 1, 0, 0]).T
        residual = system.residual(q, still, still, tension)
        np.testing.assert_allclose(residual, (elastic - expected).ravel(), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- inertia


def inertia(radius) -> np.ndarray:
    area, second = np.pi * radius**2, np.pi * radius**4 / 4
    return RUBBER.density * np.diag([2 * second, second, second, area, area, area])


RADII = {1: [0.012], 3: [0.012, 0.009, 0.005], 5: [0.012, 0.006, 0.01, 0.004, 0.003]}


@pytest.mark.parametrize("cuts", [EQUAL[1], EQUAL[3], UNEQUAL], ids=lambda c: f"{len(c) + 1} sections")
def test_mass_matrix_is_the_sum_over_sections(cuts):
    """[001] eq. 31, integrated section by section with many points from the closed-form Jacobian."""
    q, xi = bent(cuts, seed=6)
    N = len(xi)
    radii = RADII[N]
    nodes, weights = gauss(16)
    total = np.zeros((6 * N, 6 * N))
    for n, (a, b) in enumerate(pairwise(ends_of(cuts))):
        part = np.zeros_like(total)
        for x, w in zip(nodes, weights):
            J = by_strain(closed_form(cuts, xi, a + (b - a) * x)[1], N)
            part += w * (b - a) * LENGTH * J.T @ inertia(radii[n]) @ J
        later = np.tile(np.arange(N) > n, 6)
        assert np.all(part[later] == 0)  # section n moves with the sections before it and with itself
        total += part
    system = arm(cuts, radius=pl.Stepped(radii, at=cuts), points=10).compile()
    np.testing.assert_allclose(system.mass_matrix(q), total, rtol=0, atol=1e-13 * np.abs(total).max())


# ---------------------------------------------------------------- a radius for each section


@pytest.mark.parametrize("radii", [RADII[5], [(0.012, 0.01), 0.011, (0.008, 0.009), 0.004, (0.004, 0.002)]], ids=str)
def test_stepped_arm_is_a_row_of_rods(radii):
    q, _xi = bent(UNEQUAL, seed=7)
    v = np.random.default_rng(8).normal(size=q.size)
    one = arm(UNEQUAL, radius=pl.Stepped(radii, at=UNEQUAL), points=4, gravity=(1, 2, -9)).compile()
    robot = pl.Robot("row", gravity=(1, 2, -9))
    last = None
    for k, length in enumerate(LENGTH * np.diff(ends_of(UNEQUAL))):
        last = robot.add_rod(
            f"rod{k}", parent=last, length=length, section=pl.Circle(radii[k]), material=RUBBER, points=4,
            strains=pl.Strains.reissner(0),
        )  # fmt: skip
    row = robot.compile()
    order = np.arange(q.size).reshape(6, -1).T.ravel()  # strain by strain, and rod by rod
    np.testing.assert_allclose(row.pose("rod4.tip", q[order]), one.pose("arm.tip", q), atol=1e-14)
    for name, arguments in {
        "mass_matrix": (q,), "stiffness_matrix": (), "damping_matrix": (), "bias_forces": (q, v), "elastic_forces": (q,),
    }.items():  # fmt: skip
        mine, theirs = getattr(one, name), getattr(row, name)
        a = mine(*arguments) if callable(mine) else mine
        b = theirs(*(x[order] for x in arguments)) if callable(theirs) else theirs
        a = a[np.ix_(order, order)] if a.ndim == 2 else a[order]
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max(), err_msg=name)


def test_jumps_need_not_be_ends_of_strain_sections():
    """The quadrature is split at the jumps, for smooth strains and for constant ones, so mass and stiffness are exact."""
    radius = pl.Stepped([0.012, 0.006], at=(0.37,))
    mass = RUBBER.density * np.pi * LENGTH * (0.37 * 0.012**2 + 0.63 * 0.006**2)
    bending = RUBBER.young * np.pi / 4 * LENGTH * np.array([0.37 * 0.012**4 + 0.13 * 0.006**4, 0.5 * 0.006**4])
    for strains in (pl.Strains.kirchhoff(2), pl.Strains.kirchhoff(pl.PiecewiseConstant(2))):
        robot = pl.Robot("arm")
        robot.add_rod("arm", length=LENGTH, section=pl.Circle(radius), material=RUBBER, strains=strains)
        system = robot.compile()
        assert 0.37 in system.rod_points("arm")
        assert abs(system.mass / mass - 1) < 1e-14
        K = system.stiffness_matrix()[2 * strains.size // 3 :, 2 * strains.size // 3 :]
        if strains.breakpoints:
            np.testing.assert_allclose(K, np.diag(bending), rtol=1e-13, atol=1e-16)
            q, v = system.random(0), np.random.default_rng(0).normal(size=system.nv)
            a = [system.forward_dynamics(q, v, method=m) for m in ("composite", "articulated")]
            np.testing.assert_allclose(a[0], a[1], rtol=0, atol=1e-9 * np.abs(a[0]).max())
        else:
            assert abs(K[0, 0] / bending.sum() - 1) < 1e-13


def test_cable_may_be_anchored_where_the_arm_becomes_thinner():
    robot = arm((0.5,), radius=pl.Stepped([0.012, 0.006]))
    robot.add_tendon("short", robot.link("arm"), y=0.01, end=0.5)
    with pytest.raises(ValueError, match="outside the section"):
        robot.add_tendon("long", robot.link("arm"), y=0.01, end=0.6)
    system = robot.compile()
    rest = pl.solve_statics(system, {"short": 0.5})
    curvature = system.strain("arm", rest.q, [0.25, 0.75])[:, 2]
    np.testing.assert_allclose(curvature, [0.5 * 0.01 / (RUBBER.young * np.pi * 0.012**4 / 4), 0], atol=1e-10)


# ---------------------------------------------------------------- dynamics


def test_sections_converge_with_order_two():
    """Tip under its own weight: the error falls fourfold when the sections are twice as many."""

    def tip(strains):
        robot = pl.Robot("arm", gravity=(0, 0, -9.81))
        robot.add_rod("arm", length=LENGTH, section=pl.Circle(0.02), material=RUBBER, strains=strains)
        system = robot.compile()
        return system.pose("arm.tip", pl.solve_statics(system).q)[:3, 3]

    exact = tip(pl.Strains.reissner(8))
    error = [np.linalg.norm(tip(pl.Strains.reissner(pl.PiecewiseConstant(n))) - exact) for n in (4, 8, 16, 32)]
    order = np.log2(np.array(error[:-1]) / error[1:])
    assert np.all((order > 1.9) & (order < 2.2)), order
