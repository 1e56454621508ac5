"""Descent where Newton's method ends without an equilibrium: an exact trust-region method, or the way along the forces.

Loads with a potential: each step is the lowest point of the quadratic model of the energy within a radius (Moré and Sorensen 1983), in
scaled coordinates on the manifold. Negative curvature is a way down, flat directions are no obstacle, and the method converges
from anywhere to a minimum if there is one. Loads without a potential: `follow_forces`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED, NOT_FINITE, SINGULAR, STALLED
from ..system import Given, System
from .balance import measure, static_tangent
from .static_problem import Attempt, Problem

__all__ = ["follow_forces", "minimise", "scaled_stiffness"]

Array = NDArray[np.float64]
FLAT = 1e-12  # curvature that counts as none, relative to the largest
# radius in scaled coordinates; farther steps lead to where rounding of large lever arms hides what pulls
FIRST, LARGEST = 0.3, 1e3
SHORTEST = 1e-13
SHORT = 0.1  # steps of which forces tell the work better than energies, which round, and with collocated rods differ from it by a little


def scaled_stiffness(system: System, q: Array, u: Array, tau: Array, given: Given) -> Array:
    """Symmetric part of the tangent stiffness of what is free, in scaled coordinates."""
    free = np.flatnonzero(~system.known)
    scale = system.internal.scale[free]
    K = scale[:, None] * static_tangent(system, q, u, tau, given=given)[1][np.ix_(free, free)] * scale
    return (K + K.T) / 2


def potential_energy(problem: Problem, q: Array) -> tuple[float, float]:
    """Energy of springs, weight and all loads that have a potential [J], and the size of these parts."""
    p = np.zeros(engine.PARAMETERS)
    problem.system.run_job(engine.BALANCE, q, u=problem.u, tau=problem.tau, p=p, given=problem.given)
    parts = p[[slots.REPORT_GRAVITATIONAL, slots.REPORT_ELASTIC, slots.REPORT_LOADS]]
    return float(parts.sum()), float(np.abs(parts).sum())


def scaled_forces(problem: Problem, q: Array) -> Array:
    """Residual of what is free, in scaled coordinates."""
    system, force = problem.system, np.empty(problem.system.nv)
    system.run_job(engine.RESIDUAL, q, u=problem.u, tau=problem.tau, force=force, given=problem.given)
    return np.asarray((system.internal.scale * force)[~system.known], dtype=np.float64)


def moved(problem: Problem, q: Array, step: Array) -> Array:
    """q moved by a scaled step of what is free."""
    system = problem.system
    free = ~system.known
    move = np.zeros(system.nv)
    move[free] = system.internal.scale[free] * step
    return system.integrate(q, move)


def lowest_within(values: Array, g: Array, radius: float) -> Array:
    """y with |y| ≤ radius where ``g·y + y·diag(values)·y / 2`` is lowest; values increase."""
    floor = max(0.0, -float(values[0]))
    top = max(float(np.abs(values).max()), float(np.linalg.norm(g)) / radius, 1e-300)
    if values[0] > FLAT * top:
        y = -g / values
        if np.linalg.norm(y) <= radius:
            return y
    least = floor + 1e-15 * top
    shift = least
    y = -g / (values + shift)
    size = float(np.linalg.norm(y))
    if size < radius:  # the hard case: on along the lowest mode
        y[0] += np.copysign(np.sqrt(radius**2 - size**2), y[0])
        return y
    low, high = least, floor + float(np.linalg.norm(g)) / radius + top * 1e-14
    for _ in range(60):  # Newton on 1/|y|, kept within its bracket
        if abs(size - radius) <= 0.05 * radius:
            break
        low, high = (shift, high) if size > radius else (low, shift)
        shift += (size - radius) / radius * size**2 / float(y @ (y / (values + shift)))
        if not low < shift < high:
            shift = floor + np.sqrt((low - floor) * (high - floor))
        y = -g / (values + shift)
        size = float(np.linalg.norm(y))
    return y * min(1.0, radius / size)


def _work(problem: Problem, q: Array, trial: Array, r: Array, step: Array) -> float:
    """Work that the forces do on a short step, by Simpson's rule; r is the residual at its start."""
    middle = scaled_forces(problem, moved(problem, q, 0.5 * step))
    return -float((r + 4.0 * middle + scaled_forces(problem, trial)) @ step) / 6.0


def minimise(problem: Problem, q: Array) -> Attempt:
    """A minimum of the potential energy by an exact trust-region method, from q."""
    energy, radius, count = potential_energy(problem, q)[0], FIRST, 0
    free = ~problem.system.known
    for count in range(5 * problem.iterations + 1):
        balance = measure(problem.system, q, problem.u, problem.tau, given=problem.given)
        K = scaled_stiffness(problem.system, q, problem.u, problem.tau, problem.given)
        if not (np.isfinite(balance.force) and np.all(np.isfinite(K))):
            return Attempt(q, int(NOT_FINITE), np.inf, count)
        values, V = np.linalg.eigh(K)
        g = V.T @ balance.r[free]
        if values[0] >= -FLAT * np.abs(values).max() and balance.imbalance <= problem.tolerance * balance.force:
            return Attempt(q, int(CONVERGED), balance.residual(problem.limit), count)
        while radius > SHORTEST:
            y = lowest_within(values, g, radius)
            promised = -float(g @ y + 0.5 * values @ (y * y))
            length = float(np.linalg.norm(y))
            trial = moved(problem, q, V @ y)
            after = potential_energy(problem, trial)[0]
            gained = energy - after if length > SHORT else _work(problem, q, trial, balance.r[free], V @ y)
            ratio = gained / promised if promised > 0.0 and np.isfinite(gained) else -1.0
            if ratio < 0.25:
                radius = 0.25 * min(radius, length)
            elif ratio > 0.75 and length > 0.8 * radius:
                radius = min(3.0 * radius, LARGEST)
            if ratio > 1e-4:
                break
        else:
            residual = balance.residual(problem.limit)
            return Attempt(q, int(CONVERGED if residual <= problem.limit else STALLED), residual, count)
        q, energy = trial, after
    return Attempt(q, int(STALLED), balance.residual(problem.limit), count)


def follow_forces(problem: Problem, q: Array) -> Attempt:
    """Follow the forces downhill: Newton's step with |λ| in place of λ, each mode of the stiffness no farther than a reach.

    Goes on where Newton's method cannot: without stiffness (until something is touched), through saddles, along neutral
    directions. A step is halved while it goes far beyond the lowest point in its direction.
    """
    system, free = problem.system, ~problem.system.known
    reach, falling = 0.1, 0
    count = 0
    for count in range(1, 5 * problem.iterations + 1):
        balance = measure(system, q, problem.u, problem.tau, given=problem.given)
        r, K = balance.r[free], scaled_stiffness(system, q, problem.u, problem.tau, problem.given)
        if not (np.isfinite(balance.force) and np.all(np.isfinite(K))):
            return Attempt(q, int(NOT_FINITE), np.inf, count)
        values, V = np.linalg.eigh(K)
        g, size = V.T @ r, np.abs(values)
        noise = 1e-13 * size.max()
        acts = np.abs(g) > 1e-12 * balance.force
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.where(size > noise, -g / size, np.where(acts, -np.sign(g) * np.inf, 0.0))
        y = np.clip(y, -reach, reach)
        length = float(np.abs(y).max())
        if balance.imbalance <= 0.01 * problem.limit * balance.force or length < 1e-14:
            break
        step, slope = V @ y, float(g @ y)
        for _ in range(40):
            trial = moved(problem, q, step)
            after = scaled_forces(problem, trial)
            rises = float(after @ step)
            if np.isfinite(rises) and rises <= 0.5 * abs(slope) * (length / reach if length > reach else 1.0):
                break
            step, slope, length = 0.5 * step, 0.5 * slope, 0.5 * length
        else:
            break
        reach = min(problem.radius, max(1.5 * reach if length >= 0.9 * reach else length, 1e-8))
        same = np.abs(after - r).max() <= 1e-6 * np.abs(r).max()
        falling = falling + 1 if same and length >= 0.9 * problem.radius else 0
        q = trial
        if falling > 20:  # nothing comes in its way
            return Attempt(q, int(SINGULAR), 1.0, count)
    return Attempt(q, int(STALLED), balance.residual(problem.limit), count)
