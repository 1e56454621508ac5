"""Gradients of rollouts against fourth-order differences, for any robot; shared by several tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import pliant as pl
from pliant.gradients.gradient import states_of


def difference(f: Callable[[float], float], h: float) -> float:
    """Fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def value(cost: Any, run: pl.Rollout) -> float:
    return cost.evaluate(states_of(run)).value


def errors(
    system: pl.System,
    U: np.ndarray | None,
    cost: Any,
    *,
    start: np.ndarray,
    velocity: np.ndarray | None = None,
    parameters: Iterable[str] = (),
    seed: int = 0,
    steps: dict[str, float] | None = None,
    **options: Any,
) -> dict[str, float]:
    """Deviation of each derivative along a random direction, relative to the largest of all directional derivatives.

    Directions have natural sizes: inputs their own, coordinates `scale`, parameters their values; so derivatives can be compared.
    """
    rng = np.random.default_rng(seed)
    h = {"u": 1e-3, "start": 1e-4, "velocity": 1e-3, "parameter": 1e-4} | (steps or {})
    v0 = np.zeros(system.nv) if velocity is None else velocity
    options = {"tolerance": 1e-13, **options}

    def cost_of(system: pl.System = system, U: Any = U, start: Any = start, velocity: Any = v0) -> float:
        return value(cost, pl.rollout(system, U, start=start, velocity=velocity, **options))

    g = pl.rollout(system, U, start=start, velocity=v0, **options).gradient(cost)
    free = np.where(system.known, 0.0, system.internal.scale)
    pairs: dict[str, tuple[float, float]] = {}
    if U is not None and np.size(U):
        d = U * rng.normal(size=np.shape(U))
        pairs["u"] = float(np.sum(g.u * d)), difference(lambda s: cost_of(U=U + s * d), h["u"])
    d = free * rng.normal(size=system.nv)
    moved = difference(lambda s: cost_of(start=system.integrate(start, s * d)), h["start"])
    pairs["start"] = float(g.start @ d), moved
    d = free * rng.normal(size=system.nv)
    pairs["velocity"] = float(g.velocity @ d), difference(lambda s: cost_of(velocity=v0 + s * d), h["velocity"])
    for name in parameters:
        x = system.parameters[name]
        size = abs(x) if x else 0.05

        def changed(s: float, name: str = name, x: float = x, size: float = size) -> float:
            return cost_of(system=system.with_parameters({name: x + s * size}))

        pairs[name] = size * g[name], difference(changed, h["parameter"])
    largest = max(abs(b) for _a, b in pairs.values())
    assert largest > 0.0
    return {name: abs(a - b) / largest for name, (a, b) in pairs.items()}
