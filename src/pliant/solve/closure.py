"""Closed loops for the solvers: closing them, consistent velocities and accelerations, redundant constraints."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..system import System, needs_system
from ..system.dynamics import tree_acceleration
from ..system.forces import closure

__all__ = [
    "close",
    "consistent_velocity",
    "constrained_acceleration",
    "null_space",
    "overdriven",
    "redundant_constraints",
]

Array = NDArray[np.float64]
_CUTOFF = 1e-9  # singular values below this, relative to the largest, belong to dependent constraints


def _solve(A: Array, b: Array) -> Array:
    """Solution of a symmetric system whose rows may depend on each other: a slight shift, and refinement."""
    diagonal = np.abs(np.diag(A))
    size = np.sqrt(np.where(diagonal > 1e-12 * diagonal.max(initial=0.0), diagonal, 1.0))
    scaled, right = A / size[:, None] / size, b / size
    shifted = scaled + 1e-10 * np.eye(len(b))
    x = np.linalg.solve(shifted, right)
    for _ in range(3):
        x = x + np.linalg.solve(shifted, right - scaled @ x)
    return np.asarray(x / size)


def redundant_constraints(system: System, q: Array) -> list[str]:
    """Names of the constraints of loop joints that follow from the others at q.

    By a pivoted QR decomposition of their derivatives. Planar mechanisms always have some; they carry no force.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("two bars", gravity=(0, 0, 0))
    >>> bars = [
    ...     robot.add_body(
    ...         f"bar{k}", offset=(0, y, 0), joint=pl.Revolute("z"),
    ...         shape=pl.Box(0.4, 0.02, 0.02), mass=0.1, com=(0.2, 0, 0),
    ...     )
    ...     for k, y in enumerate((-0.1, 0.1))
    ... ]
    >>> ends = [bar.at((0.4, 0, 0)) for bar in bars]
    >>> loop = robot.add_loop("pin", *ends, joint=pl.Revolute("z"))
    >>> system = robot.compile()
    >>> angle = np.arcsin(0.1 / 0.4)
    >>> pl.redundant_constraints(system, np.array([angle, -angle]))  # it is planar anyway
    ['pin: position z', 'pin: tilt 1', 'pin: tilt 2']
    """
    needs_system("redundant_constraints", system)
    _values, G = system.closure(q)
    G = np.where(system.known, 0.0, G) * system.internal.scale
    size = np.linalg.norm(G, axis=1)
    G = G / np.where(size > 0, size, 1.0)[:, None]
    if not len(G):
        return []
    _q, R, order = scipy.linalg.qr(G.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > _CUTOFF * max(diagonal[0], 1e-300)))
    return [system.loop_rows[k] for k in sorted(order[rank:])]


def overdriven(system: System) -> str:
    """A hint that names the prescribed motions, which leave fewer coordinates to close loops with."""
    names = ", ".join(map(repr, system.prescribed))
    return f" Prescribed motions ({names}) may over-constrain it." if names else ""


def close(system: System, q: Array, *, iterations: int = 100) -> tuple[Array, float]:
    """Move q by the least scaled amount until all loops are closed; returns it and the largest remaining gap."""
    weight = np.where(system.known, 0.0, system.internal.scale**2)
    values, G = system.closure(q)
    gap = float(np.abs(values).max(initial=0.0))
    for _ in range(iterations):
        if gap < 1e-14:
            break
        step = -weight * (G.T @ _solve((G * weight) @ G.T, values))
        size = float(np.abs(step / system.internal.scale).max())
        step *= min(1.0, 0.5 / max(size, 1e-300))
        for _half in range(12):
            trial = system.integrate(q, step)
            values, G = system.closure(trial)
            new = float(np.abs(values).max())
            if new < gap or gap < 1e-12:
                break
            step *= 0.5
        if new >= gap:
            break
        q, gap = trial, new
    return q, gap


def consistent_velocity(system: System, q: Array, v: Array) -> Array:
    """The velocity nearest to v, in kinetic energy, that keeps all loops closed."""
    _values, G = system.closure(q)
    free = ~system.known
    X = np.zeros_like(G.T)
    mass = system.mass_matrix(q)[np.ix_(free, free)]
    X[free] = np.linalg.solve(mass, G.T[free])
    return v - X @ _solve(G @ X, G @ v)


def constrained_acceleration(
    system: System,
    q: Array,
    v: Array,
    u: Array,
    tau: Array,
    prescribed: Array,
    baumgarte: float = 0.0,
) -> tuple[Array, Array]:
    """Acceleration and multipliers of the index-1 form: ``G a = −Ġ v − 2 ė/T − e/T²`` (T = baumgarte, none if 0)."""
    a = tree_acceleration(system, q, v, tau, u, prescribed, "auto")
    values, G, rates = closure(system, q, v)
    target = -rates[:, 1]
    if baumgarte > 0.0:
        target = target - 2.0 * rates[:, 0] / baumgarte - values / baumgarte**2
    free = ~system.known
    X = np.zeros_like(G.T)
    mass = system.mass_matrix(q)[np.ix_(free, free)]
    X[free] = np.linalg.solve(mass, G.T[free])
    force = _solve(G @ X, target - G @ a)
    return a + X @ force, force


def null_space(G: Array) -> Array:
    """Orthonormal directions that the rows of G leave free."""
    if not G.size:  # no rows, or all coordinates prescribed
        return np.eye(G.shape[1])
    size = np.linalg.norm(G, axis=1)
    _u, values, V = np.linalg.svd(G / np.where(size > 0, size, 1.0)[:, None])
    rank = int(np.sum(values > 1e-9 * max(values[0], 1e-300)))
    return np.asarray(V[rank:].T)
