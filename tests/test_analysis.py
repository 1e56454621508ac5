"""Linearisation and static sensitivities against differences of the nonlinear model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import pliant as pl
from robots import SILICONE, cable_driven_manipulator, random_pose, random_robot


def driven_robot(seed: int) -> pl.System:
    """A random tree with a tendon on every rod and a few wrenches."""
    robot = random_robot(seed)
    rng = np.random.default_rng(500 + seed)
    for k, link in enumerate(list(robot.links)):
        if link.is_rod:
            y, z = rng.normal(size=2) * 0.003
            robot.add_tendon(f"t{k}", link, y=lambda X, y=y: y * np.cos(3 * X), z=z, push=True)
        if rng.random() < 0.5:
            robot.add_wrench(
                f"w{k}",
                link,
                force=rng.normal(size=3),
                moment=rng.normal(size=3) * 0.1,
                axes="world" if rng.random() < 0.5 else "body",
                offset=random_pose(rng),
            )
    return robot.compile()


def floating_arm() -> pl.System:
    """A free base with a rod, a ball joint and a second rod: nq ≠ nv twice."""
    robot = pl.Robot("floating arm")
    base = robot.add_body("base", joint=pl.Free(), mass=1, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    options = {"section": pl.Circle((0.03, 0.02)), "material": SILICONE, "strains": pl.Strains(torsion=0, bending=1)}
    arm = robot.add_rod("arm", parent=base, length=0.5, **options)
    robot.add_rod("hand", parent=arm, joint=pl.Spherical(stiffness=0.1, damping=0.01), length=0.3, **options)
    robot.add_tendon("pull", arm, y=0.02, push=True)
    robot.add_wrench("thrust", base, force=(0, 0, 1), axes="body", offset=(0.1, 0.1, 0))
    return robot.compile()


def fixed_arm() -> pl.System:
    robot = cable_driven_manipulator(10)
    robot.add_tendon("pull", "arm", y=lambda X: 0.02 - 0.01 * X, push=True)
    robot.add_tendon("wind", "arm", y=lambda X: 0.01 * np.sin(6 * X), z=lambda X: 0.01 * np.cos(6 * X), push=True)
    robot.add_wrench("push", "arm.tip", force=(0, 1, 0))
    return robot.compile()


STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


def central(f, h: float) -> np.ndarray:
    """f′(0) by central differences of order 6."""
    return sum(w * (f(m * h) - f(-m * h)) for m, w in STENCIL) / h


def difference_linearization(system: pl.System, q, v, u, tau) -> tuple[np.ndarray, np.ndarray]:
    """A and B from differences of the flow: q along integrate, seen in velocity coordinates."""
    n, scale = system.nv, system.internal.scale
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, system.nu))
    for k in range(n):
        e = np.eye(n)[k]

        def moved(eps, e=e, k=k):
            return system.forward_dynamics(system.integrate(q, eps * scale[k] * e), v, tau, u=u)

        A[n:, k] = central(moved, 5e-3) / scale[k]
        A[n:, n + k] = central(lambda eps, e=e: system.forward_dynamics(q, v + eps * e, tau, u=u), 1e-2)

        # dδ/dt of a neighbour that moves with the same v: differences in time of differences in space
        def drift(t, e=e):
            return central(
                lambda eps: system.difference(
                    system.integrate(q, t * v), system.integrate(system.integrate(q, eps * e), t * v)
                ),
                1e-2,
            )

        A[:n, k] = central(drift, 1e-2)
    A[:n, n:] = np.eye(n)
    for k in range(system.nu):
        B[n:, k] = central(lambda eps, k=k: system.forward_dynamics(q, v, tau, u=u + eps * np.eye(system.nu)[k]), 1.0)
    return A, B


def assert_blocks_close(actual, expected, n, rtol):
    """Each block relative to its largest entry."""
    for rows in (slice(0, n), slice(n, None)):
        for columns in (slice(0, n), slice(n, None)):
            a, b = actual[rows, columns], expected[rows, columns]
            np.testing.assert_allclose(a, b, rtol=0, atol=rtol * max(np.abs(b).max(initial=0), 1e-3))


@pytest.mark.parametrize("make", [fixed_arm, floating_arm])
@pytest.mark.parametrize("moving", [False, True])
def test_linearize(make, moving):
    system = make()
    rng = np.random.default_rng(0)
    q = system.random(rng, scale=0.3)
    v = rng.normal(size=system.nv) * moving
    u, tau = rng.uniform(1, 5, system.nu), rng.normal(size=system.nv) * 0.01
    result = pl.linearize(system, q, v, u=u, tau=tau)
    A, B = difference_linearization(system, q, v, u, tau)
    assert_blocks_close(result.A, A, system.nv, 1e-6)
    np.testing.assert_allclose(result.B, B, rtol=0, atol=1e-8 * np.abs(B).max())
    a = system.forward_dynamics(q, v, tau, u=u)
    np.testing.assert_allclose(result.a, a, rtol=0, atol=1e-12 * np.abs(a).max())
    if not moving:
        np.testing.assert_array_equal(result.A[: system.nv, : system.nv], 0)
    elif system.nq > system.nv:
        assert np.abs(result.A[: system.nv, : system.nv]).max() > 0.1


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 7, 8])
def test_linearize_random_robots(seed):
    system = driven_robot(seed)
    rng = np.random.default_rng(seed)
    q, v = system.random(rng, scale=0.5), rng.normal(size=system.nv)
    u, tau = rng.normal(size=system.nu), rng.normal(size=system.nv)
    A, B = difference_linearization(system, q, v, u, tau)
    result = pl.linearize(system, q, v, u=u, tau=tau)
    # relative to blocks in scaled coordinates, so that metres and radians per metre count alike
    s = np.concatenate([system.internal.scale] * 2)
    assert_blocks_close(result.A / s[:, None] * s, A / s[:, None] * s, system.nv, 2e-6)
    if system.nu:
        B, found = B / s[:, None], result.B / s[:, None]
        np.testing.assert_allclose(found, B, rtol=0, atol=1e-8 * np.abs(B).max())


def test_linearize_predicts_the_motion():
    """A disturbed and an undisturbed simulation differ by what exp(A t) says."""
    system = fixed_arm()
    eq = pl.solve_statics(system, {"pull": 10.0, "push": 0.1}, tolerance=1e-13)
    assert eq.success
    lin = pl.linearize(system, eq)
    np.testing.assert_allclose(lin.a, 0, atol=1e-6)
    n, t = system.nv, 0.02
    rng = np.random.default_rng(0)
    d = rng.normal(size=n) * system.internal.scale * 1e-5
    expected = expm(lin.A * t) @ np.concatenate([d, np.zeros(n)])
    result = pl.simulate(system, t, start=eq.q + d, u=eq.u, method="radau", rtol=1e-9, atol=1e-13)
    s = system.internal.scale
    np.testing.assert_allclose(
        (result.q[-1] - eq.q) / s, expected[:n] / s, rtol=0, atol=2e-3 * np.abs(expected[:n] / s).max()
    )


def test_eigenvalues_of_the_linearisation():
    """At an equilibrium they are those of the quadratic problem λ² M + λ D + K, and those of `modes`."""
    system = fixed_arm()
    eq = pl.solve_statics(system, {"pull": 20.0, "wind": 10.0, "push": 0.2}, tolerance=1e-13)
    assert eq.success
    lin = pl.linearize(system, eq)
    zero = np.zeros(system.nv)
    K = system.residual_tangent(eq.q, zero, zero, eq.u)
    M, D = system.mass_matrix(eq.q), system.damping_matrix()
    values = np.linalg.eigvals(lin.A)
    s = system.internal.scale
    for lam in values[np.argsort(np.abs(values))][:10]:
        P = s[:, None] * (lam**2 * M + lam * D + K) * s
        singular = np.linalg.svd(P, compute_uv=False)
        assert singular[-1] < 1e-9 * singular[0]
    assert values.real.max() < 0
    modal = pl.modes(system, eq).eigenvalues
    np.testing.assert_allclose(np.sort(np.abs(modal)), np.sort(np.abs(values)), rtol=1e-8)
    complex_pairs = values[values.imag > 1e-6]
    for lam in complex_pairs:
        assert np.abs(values - lam.conjugate()).min() < 1e-6 * abs(lam)


def test_equilibrium_brings_its_inputs():
    system = fixed_arm()
    eq = pl.solve_statics(system, {"pull": 20.0}, tau=np.full(24, 1e-4))
    a = pl.linearize(system, eq)
    b = pl.linearize(system, eq.q, u={"pull": 20.0}, tau=eq.tau)
    np.testing.assert_array_equal(a.A, b.A)
    np.testing.assert_array_equal(a.B, b.B)
    other = pl.linearize(system, eq, u={"pull": 0.0})
    assert np.abs(other.a).max() > 1e3 * np.abs(a.a).max()


# ------------------------------------------------------------ static sensitivities


def sprung_arm() -> pl.System:
    """An arm on an elastic mount with a sprung wrist and a tool, where q is not a vector space."""
    robot = pl.Robot("sprung arm")
    base = robot.add_body(
        "base", joint=pl.Free(stiffness=(3, 4, 5, 200, 300, 400)), mass=0.2, com=(0.01, 0, 0), inertia=(0.1, 0.1, 0.1)
    )
    arm = robot.add_rod(
        "arm",
        parent=base,
        length=0.5,
        section=pl.Circle((0.03, 0.015)),
        material=SILICONE,
        strains=pl.Strains.kirchhoff(2),
    )
    robot.add_body(
        "tool", parent=arm, joint=pl.Spherical(stiffness=0.3), mass=0.05, com=(0.05, 0, 0), inertia=[1e-4] * 3
    )
    robot.add_tendon("pull", arm, y=lambda X: 0.02 - 0.01 * X, push=True)
    robot.add_tendon("wind", arm, y=lambda X: 0.01 * np.sin(6 * X), z=lambda X: 0.01 * np.cos(6 * X), push=True)
    robot.add_wrench("push", "tool", force=(0, 1, 0), offset=(0.05, 0, 0))
    return robot.compile()


@pytest.mark.parametrize(("make", "frame"), [(fixed_arm, "arm.tip"), (sprung_arm, "tool"), (sprung_arm, "arm.base")])
def test_static_jacobian(make, frame):
    """Against equilibria solved again with each input a little changed."""
    system = make()
    u = np.array([12.0, 6.0, 0.1])
    options = {"tolerance": 1e-13}
    eq = pl.solve_statics(system, u, **options)
    assert eq.success
    assert eq.stable
    g0 = system.pose(frame, eq.q)
    world = pl.static_jacobian(system, eq, frame)
    body = pl.static_jacobian(system, eq, frame, reference="body")
    assert world.shape == (6, 3)
    for k, h in enumerate((0.03, 0.03, 3e-4)):

        def moved(s, k=k, h=h):
            near = pl.solve_statics(system, u + s * h * np.eye(3)[k], start=eq, **options)
            assert near.success
            return system.pose(frame, near.q)

        position = sum(w * (moved(m)[:3, 3] - moved(-m)[:3, 3]) for m, w in STENCIL) / h
        rotation = sum(w * (moved(m)[:3, :3] - moved(-m)[:3, :3]) for m, w in STENCIL) / h @ g0[:3, :3].T
        angular = np.array([rotation[2, 1], rotation[0, 2], rotation[1, 0]])
        size = np.abs(world[:, k]).max()
        np.testing.assert_allclose(world[:3, k], angular, rtol=0, atol=1e-6 * np.abs(angular).max())
        np.testing.assert_allclose(world[3:, k], position, rtol=0, atol=1e-6 * np.abs(position).max())
        np.testing.assert_allclose(g0[:3, :3] @ body[:3, k], world[:3, k], rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(g0[:3, :3] @ body[3:, k], world[3:, k], rtol=0, atol=1e-12 * size)


def test_static_jacobian_in_closed_form():
    """A cantilever under a small tip force: deflection L³/3EI, slope L²/2EI per newton."""
    robot = pl.Robot("rod", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        length=2.0,
        strains=pl.Strains.planar_bending(3),
        stiffness=np.full(6, 5.0),
        inertia=np.ones(6),
        points=40,
    )
    robot.add_wrench("force", rod, force=(0, 1, 0))
    system = robot.compile()
    J = pl.static_jacobian(system, system.neutral(), "rod.tip")
    np.testing.assert_allclose(J[:, 0], [0, 0, 4 / 10, 0, 8 / 15, 0], rtol=1e-6, atol=1e-12)


def test_bad_reference():
    system = fixed_arm()
    with pytest.raises(ValueError, match="reference"):
        pl.static_jacobian(system, system.neutral(), "arm.tip", reference="local")
