"""Robots under every kind of load, and derivatives of their residual by complex step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pliant as pl
from oracle import loaded_inverse_dynamics
from pliant.kernels.algebra import manifold
from robots import SILICONE, random_inertia, random_pose


def branched(seed: int = 0, *, base: str = "free") -> pl.Robot:
    """Rods of different lengths, densities and points on a body, with offsets, a branch inside a rod, a last body."""
    rng = np.random.default_rng(seed)
    light = pl.Material(young=5e5, poisson=0.4, density=700.0, viscosity=1e3)
    robot = pl.Robot(f"branched {seed}", gravity=rng.normal(size=3) * 5)
    joint = {"free": pl.Free(), "fixed": pl.Fixed(), "revolute": pl.Revolute(rng.normal(size=3))}[base]
    hub = robot.add_body(
        "hub", joint=joint, offset=random_pose(rng), offset_after=random_pose(rng), shape=pl.Box(0.1, 0.08, 0.06), mass=0.7,
        com=rng.normal(size=3) * 0.02,
    )  # fmt: skip
    arm = robot.add_rod(
        "arm", parent=hub, offset=random_pose(rng), length=0.5, section=pl.Circle((0.03, 0.02)), material=SILICONE,
        strains=pl.Strains(torsion=1, bending=2, stretch=1, shear=0), points=6,
    )  # fmt: skip
    robot.add_rod(
        "twig", parent=arm.at(0.4), joint=pl.Spherical(), offset=random_pose(rng, 0.1), length=0.3,
        section=pl.Circle(0.015), material=light, strains=pl.Strains(bending=pl.LinearElements(2), torsion=0, stretch=0),
        points=3,
    )  # fmt: skip
    hand = robot.add_rod(
        "hand", parent=arm.tip, joint=pl.Revolute("y"), offset=random_pose(rng, 0.05), length=0.35,
        section=pl.Ellipse(0.02, 0.015), material=light, strains=pl.Strains.kirchhoff(order=2), points=4, magnus=2,
        reference_strain=(0, 1.5, -0.5, 1, 0, 0),
    )  # fmt: skip
    robot.add_body(
        "tool", parent=hand.tip, joint=pl.Prismatic("x"), offset=random_pose(rng, 0.05), inertia=random_inertia(rng)
    )
    return robot


def state(system: pl.System, seed: int = 0, *, scale: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random configuration, velocity and acceleration."""
    rng = np.random.default_rng(seed)
    q = system.random(rng, scale=scale)
    return q, rng.normal(size=system.nv), rng.normal(size=system.nv)


def complex_forces(
    system: pl.System,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    u: np.ndarray,
    multipliers: np.ndarray | None = None,
) -> np.ndarray:
    """ID minus the forces of all loads, for complex arguments."""
    return loaded_inverse_dynamics(system, q, v, a, u, multipliers)


def moved(system: pl.System, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """integrate(q, d) for complex d."""
    out = np.zeros(system.nq, complex)
    manifold.integrate_q(system._internal.shift, system._internal.spatial, q.astype(complex), d, out)
    return out


def complex_tangents(
    system: pl.System,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    u: np.ndarray,
    multipliers: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Derivatives of `complex_forces` in q, v, a and u."""
    h = 1e-40
    changes: list[tuple[int, Callable[[np.ndarray], tuple]]] = [
        (system.nv, lambda d: (moved(system, q, d), v, a, u)),
        (system.nv, lambda d: (q, v + d, a, u)),
        (system.nv, lambda d: (q, v, a + d, u)),
        (system.nu, lambda d: (q, v, a, u + d)),
    ]
    out = []
    for n, change in changes:
        columns = []
        for k in range(n):
            d = np.zeros(n, complex)
            d[k] = 1j * h
            columns.append(complex_forces(system, *change(d), multipliers).imag / h)
        out.append(np.array(columns).reshape(n, system.nv).T)
    return out


def check_tangents(
    system: pl.System,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    u: np.ndarray,
    tol: float = 5e-13,
    multipliers: np.ndarray | None = None,
) -> None:
    """The residual's tangents, and the matrix of inputs, against the complex step."""
    exact = complex_tangents(system, q, v, a, u, multipliers)
    r = complex_forces(system, q, v, a, u, multipliers).real + system.elastic_forces(q) + system.damping_matrix() @ v
    got = system.residual(q, v, a, u, multipliers=multipliers)
    assert np.abs(got - r).max() <= 1e-13 * max(1.0, np.abs(r).max())
    inner = (system.elastic_tangent(q), system.damping_matrix(), np.zeros((system.nv, system.nv)))
    for k, weights in enumerate(np.eye(3)):
        matrix = system.residual_tangent(q, v, a, u, weights=tuple(weights), multipliers=multipliers) - inner[k]
        scale = max(np.abs(exact[k]).max(), 1e-6 * np.abs(inner[k]).max(), 1e-12)
        assert np.abs(matrix - exact[k]).max() <= tol * scale, f"∂r/∂{'qva'[k]}"
    fused = system.residual_tangent(q, v, a, u, weights=(0.7, 1.3, 2.1), multipliers=multipliers)
    mixed = sum(w * (e + i) for w, e, i in zip((0.7, 1.3, 2.1), exact, inner))
    assert np.abs(fused - mixed).max() <= tol * np.abs(mixed).max()
    if system.nu:
        B = system.actuation_matrix(q, v, u)
        assert np.abs(B + exact[3]).max() <= tol * max(1.0, np.abs(exact[3]).max()), "∂r/∂u"
