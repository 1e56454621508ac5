"""Why there is no equilibrium: a force that acts along a direction however far it leads, so that nothing bounds the motion.

Along slides and free flight the force itself must stay; along hinges its work in a turn must, for weight acts up and down in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .balance import measure
from .descent import potential_energy, scaled_forces, scaled_stiffness
from .stability import name_directions
from .static_problem import Problem

__all__ = ["Endless", "find_endless"]

Array = NDArray[np.float64]
TURN = 2.0 * np.pi
FAR = (1e3, 2e3, 4e3)  # natural sizes of the coordinate
TURNS = (16.0, 32.0, 64.0)
SAME = 0.05  # relative change of the force on the way that is put down to what fades
SAMPLES = (32, 64)  # of the force in a turn, where there is no energy
MOST = 1000  # degrees of freedom up to which modes are looked for


class Endless(NamedTuple):
    """A direction along which the loads do work without end."""

    direction: Array  # (nv,)
    force: float  # along a unit of it, on the average [N, N m]
    turns: bool
    names: str
    falls: bool  # whether there is a potential, which is then unbounded below

    def __str__(self) -> str:
        """What a user reads."""
        what = (
            f"a moment that does {self.force * TURN:.3g} J of work in each turn"
            if self.turns
            else f"a force of {self.force:.3g} N"
        )
        why = "the potential energy has no lower bound" if self.falls else "the loads do work without end"
        return (
            f"{what} acts along {self.names}, however far it moves, and nothing resists it: {why}, and as far as it was followed there is no equilibrium; "
            "add stiffness, a stop or a support there, or fix it"
        )


def find_endless(problem: Problem, q: Array, travelled: Array) -> Endless | None:
    """The direction with the largest scaled force that stays, at q; `travelled` (nv,) is how far an iteration went."""
    system = problem.system
    best: Endless | None = None
    most = 0.0
    for direction, turns in _directions(problem, q, travelled):
        for sign in (1.0, -1.0):
            force = _lasting_force(problem, q, sign * direction, turns)
            size = force * float((np.abs(direction) * system.internal.scale).max())
            if size > (1.0 + 1e-6) * most:  # the first of several that are alike
                most = size
                names = name_directions(system, direction[:, None])
                best = Endless(sign * direction, force, turns, names, problem.potential)
    return best


def _directions(problem: Problem, q: Array, travelled: Array) -> Iterator[tuple[Array, bool]]:
    """Directions to look along, of unit length in their own coordinates, and whether they turn."""
    system = problem.system
    elastic = system.elastic_tangent(q)
    loose = ~system.known & (np.abs(elastic).max(axis=1, initial=0.0) == 0.0)
    slides = loose & (np.array(system.dof_units) == "m")
    if np.any(slides):
        for way in (_push(problem, q), travelled):
            part = np.where(slides, way, 0.0)
            if np.count_nonzero(part) > 1:
                yield part / np.linalg.norm(part), False
    for k in np.flatnonzero(loose):
        direction = np.zeros(system.nv)
        direction[k] = 1.0
        yield direction, not slides[k]


def _push(problem: Problem, q: Array) -> Array:
    """Where the forces push along modes without stiffness (nv,)."""
    system = problem.system
    free = np.flatnonzero(~system.known)
    push = np.zeros(system.nv)
    if len(free) > MOST:
        return push
    K = scaled_stiffness(system, q, problem.u, problem.tau, problem.given)
    if not np.all(np.isfinite(K)):
        return push
    values, V = np.linalg.eigh(K)
    flat = np.abs(values) <= 1e-9 * np.abs(values).max(initial=0.0)
    r = measure(system, q, problem.u, problem.tau, given=problem.given).r[free]
    push[free] = -system.internal.scale[free] * (V[:, flat] @ (V[:, flat].T @ r))
    return push


def _lasting_force(problem: Problem, q: Array, direction: Array, turns: bool) -> float:
    """The force along a direction that is there near and far [N, N m]; 0 if it fades, grows or turns round."""
    size = 1.0 if turns else float((np.abs(direction) * problem.system.internal.scale).max())
    ends = [0.0, *(np.multiply(TURN, TURNS) if turns else np.multiply(size, FAR))]
    with np.errstate(all="ignore"):
        if problem.potential:
            energies, parts = np.transpose(
                [potential_energy(problem, problem.system.integrate(q, s * direction)) for s in ends]
            )
            means = -np.diff(energies) / np.diff(ends)
            noise = 1e-12 * parts.max() / ends[1]
        else:
            means, noise = _mean_forces(problem, q, direction, ends, turns), 0.0
    if not (np.all(np.isfinite(means)) and means.min() > noise):
        return 0.0
    return float(means[-1]) if abs(means[-1] - means[-2]) <= SAME * means[-1] else 0.0


def _mean_forces(problem: Problem, q: Array, direction: Array, ends: list[float], turns: bool) -> Array:
    """Mean force along a direction about each end, in a turn or on the way to the next; NaN if too few samples tell it."""
    system = problem.system
    weight = (direction / system.internal.scale)[~system.known]

    def mean(start: float, length: float, samples: int) -> float:
        places = start + length * np.arange(samples) / samples
        return float(np.mean([-scaled_forces(problem, system.integrate(q, s * direction)) @ weight for s in places]))

    out = []
    for start in ends[1:]:
        length = TURN if turns else 0.5 * start
        few, many = (mean(start, length, samples) for samples in (SAMPLES if turns else (2, 4)))
        out.append(many if abs(few - many) <= SAME * abs(many) else np.nan)
    return np.array(out)
