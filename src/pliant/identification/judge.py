"""How sure the values are, and what the data do not tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .predict import MotionPredictor, NoPrediction
from .problem import FINE, LOSSES, Evaluation, Problem

if TYPE_CHECKING:
    from .result import Search

__all__ = ["Uncertainty", "at_bounds", "judge", "uncertainty"]

Array = NDArray[np.float64]
ALIKE = 0.99  # correlation above which two unknowns are named
CONDITION = 300.0  # of unit columns, above which unknowns that act alike are named
SAME = 1e-6  # of the noise: predictions that are found from another start


@dataclass(frozen=True)
class Uncertainty:
    """Covariance of what was searched.

    Attributes
    ----------
    covariance, correlation : ndarray (k, k)
    noise : float
        Scatter of the residuals in units of sigma.
    degrees : float
    free : ndarray (k,) of bool
        False for what is at its bounds.
    J : ndarray (N, k)
        Derivatives of the measured numbers, in units of sigma.
    prior : ndarray (k, k)
        Precision of the priors.
    """

    covariance: Array
    correlation: Array
    noise: float
    degrees: float
    free: NDArray[np.bool_]
    J: Array
    prior: Array

    def interval(self, y: Array, confidence: float) -> tuple[Array, Array]:
        """Ends of the intervals of what was searched."""
        from scipy.stats import t as student

        reach = float(student.ppf(0.5 + confidence / 2, self.degrees)) if self.degrees > 0 else np.inf
        with np.errstate(invalid="ignore"):
            half = reach * np.sqrt(np.diag(self.covariance))
        half = np.where(np.isnan(half), np.inf, half)
        return y - half, y + half


def at_bounds(problem: Problem, y: Array) -> NDArray[np.bool_]:
    """Which unknowns are at a bound."""
    unknowns = problem.unknowns
    x, low, high = unknowns.values(y), unknowns.low, unknowns.high
    span = np.where(np.isfinite(high - low), high - low, np.maximum(np.abs(x), unknowns.size))
    near = 1e-6 * span
    return np.asarray((x - low < near) | (high - x < near))


def uncertainty(problem: Problem, here: Evaluation, known_noise: bool) -> Uncertainty:
    """Covariance by least squares; of a robust loss after Huber: squares of ψ over the square of the mean of ψ′.

    With priors of precision P and noise s: ``(JᵀJ / s² + P)⁻¹``, and as many degrees of freedom less as the data decide.
    """
    n, k = problem.count, len(problem.unknowns)
    rows, residuals = here.jacobian, here.residuals
    J, r = rows[:n], residuals[:n]
    told = rows[n : n + len(problem.told)]
    P = told.T @ told
    free = ~at_bounds(problem, here.y)
    z = (r / problem.scale) ** 2
    _rho, first, second = LOSSES[problem.loss](z)
    squares = float(np.sum((first * r) ** 2))
    curve = float(np.mean(first + 2 * z * second))
    scatter = 1.0
    for _ in range(
        20 if len(problem.told) and not known_noise else 1
    ):  # the share that priors decide depends on the noise
        A, B = J[:, free].T @ J[:, free] / scatter, P[np.ix_(free, free)]
        used = float(np.trace(np.linalg.pinv(A + B, hermitian=True) @ A)) if len(problem.told) else float(free.sum())
        degrees = n - used
        found = squares / degrees / curve**2 if degrees > 0 else np.nan
        scatter = found if not known_noise and np.isfinite(found) and found > 0 else scatter
    noise = float(np.sqrt(squares / degrees)) if degrees > 0 else np.nan
    weight = 1.0 / curve if known_noise else scatter
    covariance = np.full((k, k), 0.0)
    covariance[np.ix_(free, free)] = _inverse(J[:, free].T @ J[:, free] / weight + P[np.ix_(free, free)])
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(spread, spread)
    correlation = np.where(np.isfinite(correlation), correlation, 0.0)
    np.fill_diagonal(correlation, 1.0)
    return Uncertainty(covariance, correlation, noise, float(degrees), free, J, P)


def _inverse(A: Array) -> Array:
    """The inverse; infinite for what lies in directions without information."""
    size = np.sqrt(np.maximum(np.diag(A), 0.0))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    seen = values > 1e-14 * max(float(values.max(initial=0.0)), 1e-300) * len(values)
    inverse = (vectors[:, seen] / values[seen]) @ vectors[:, seen].T / np.outer(size, size)
    blind = np.any(np.abs(vectors[:, ~seen]) > 1e-6, axis=1)
    inverse[blind, blind] = np.inf
    return np.asarray(inverse)


def judge(
    problem: Problem, here: Evaluation, about: Uncertainty, best: Search, searches: list[Search]
) -> tuple[str, ...]:
    """All warnings."""
    found = [
        *_told(problem, here, about),
        *_alike(problem, here, about),
        *_searched(problem, best, searches),
        *_limited(problem, here),
        *_steps(problem, here),
        *_branches(problem, here),
    ]
    if np.any(problem.anchor):
        found.append(
            "the data leave combinations of the unknowns open; they were held near the first guesses, and values depend on these."
        )
    if about.degrees <= 0:
        found.append(f"{problem.count} measured numbers for {len(problem.unknowns)} unknowns: nothing is left to tell the noise, and intervals are infinite.")  # fmt: skip
    elif len(problem.told) and not 0.5 < about.noise < 2.0:
        found.append(f"residuals scatter by {about.noise:.3g} sigma: priors were weighed with another noise than there is. Give sigma as it is.")  # fmt: skip
    return tuple(found)


def _told(problem: Problem, here: Evaluation, about: Uncertainty) -> list[str]:
    """Unknowns that are at bounds, or that the data do not see."""
    unknowns, out = problem.unknowns, []
    scale = np.where(unknowns.log, 1.0, unknowns.size)
    for k, name in enumerate(unknowns.names):
        if not about.free[k]:
            side = "lower" if here.x[k] - unknowns.low[k] < unknowns.high[k] - here.x[k] else "upper"
            out.append(
                f"{name} is at its {side} bound, {here.x[k]:.6g}: it has no interval, and those of the others take it as known."
            )
            continue
        alone = np.linalg.norm(about.J[:, k]) * scale[k]  # in units of sigma, for a change of its own size
        if alone < max(about.noise, 1e-300) and about.prior[k, k] == 0.0:
            out.append(f"the data do not see {name}: a change by {scale[k] * (here.x[k] if unknowns.log[k] else 1):.3g} moves all predictions together by {alone:.2g} sigma.")  # fmt: skip
    return out


def _alike(problem: Problem, here: Evaluation, about: Uncertainty) -> list[str]:
    """Unknowns whose effects cannot be told apart: by singular values of unit columns, and pairs by their correlation."""
    names, out = problem.unknowns.names, []
    rows, n = here.jacobian[: problem.count + len(problem.told)], problem.count
    full = np.concatenate([rows[:n], rows[n:] * max(about.noise, 1e-300)])
    seen = about.free & (np.linalg.norm(full, axis=0) > 0)
    unit = full[:, seen] / np.linalg.norm(full[:, seen], axis=0)
    numbers = np.flatnonzero(seen)
    _U, s, V = np.linalg.svd(unit, full_matrices=False)
    named: set[frozenset[int]] = set()
    for value, direction in zip(s[::-1], V[::-1]):
        if value * CONDITION > s[0]:
            break
        members = numbers[np.abs(direction) > 0.3 * np.abs(direction).max()]
        named.add(frozenset(members.tolist()))
        which = ", ".join(names[k] for k in members)
        out.append(f"{which} act nearly alike (condition {s[0] / max(value, 1e-300):.2g}): the data tell a combination of them. Fix one, add a prior, or measure something else.")  # fmt: skip
    for i in range(len(names)):
        for j in range(i):
            pair = frozenset((i, j))
            if abs(about.correlation[i, j]) > ALIKE and not any(pair <= other for other in named):
                out.append(f"{names[j]} and {names[i]} are correlated ({about.correlation[i, j]:+.4f}): the data hardly tell them apart.")  # fmt: skip
    return out


def _searched(problem: Problem, best: Search, searches: list[Search]) -> list[str]:
    out = []
    if not best.success:
        out.append(f"the search did not converge: {best.message}")
    if problem.failures:
        out.append(f"{problem.failures} of {problem.evaluations} predictions on the way were not possible, and the search stepped back; the last: {problem.failure}")  # fmt: skip
    lost = [search for search in searches if search.cost > best.cost * (1 + 1e-6) + 1e-9]
    if lost:
        costs = ", ".join(f"{search.cost:.6g}" for search in sorted(lost, key=lambda search: search.cost)[:4])
        out.append(
            f"{len(lost)} of {len(searches)} searches ended elsewhere (cost {costs}; best {best.cost:.6g}): there are local minima."
        )
    return out


def _limited(problem: Problem, here: Evaluation) -> list[str]:
    out = []
    for d, part, setting in zip(problem.data, problem.predictors, here.settings):
        names = part.limited(setting)
        if names:
            out.append(f"with gains and biases found, {', '.join(names)} would go beyond what is allowed in some rows of data {d.name!r} and stay at the limit: cables are slack there.")  # fmt: skip
    return out


def _steps(problem: Problem, here: Evaluation) -> list[str]:
    out = []
    try:
        errors = problem.step_errors(here.y)
    except NoPrediction as error:
        return [f"the error of the steps could not be estimated: {error}"]
    for k, (worst, moved) in errors.items():
        part = problem.predictors[k]
        assert isinstance(part, MotionPredictor)
        if max(worst, moved) > 2 * FINE:
            out.append(f"steps of {part.step:.3g} s make errors of up to {worst:.2g} sigma in data {problem.data[k].name!r} and move the values by up to {moved:.2g} standard errors: give a smaller step, or a method of higher order.")  # fmt: skip
    return out


def _branches(problem: Problem, here: Evaluation) -> list[str]:
    """Equilibria were found from those of values before: look whether the neutral configuration leads to the same."""
    problem.forget()
    try:
        again = problem.at(here.y)
    except NoPrediction as error:
        return [f"from the neutral configuration there is no prediction with the values found: {error}"]
    out = []
    for d, one, two in zip(problem.data, here.predictions, again.predictions):
        off = np.abs((one.value - two.value) / d.sigma).max(axis=1)
        if np.any(off > SAME * 1e3):
            rows = np.flatnonzero(off > SAME * 1e3)
            out.append(f"rows {rows[:6].tolist()} of data {d.name!r} have several equilibria: from the neutral configuration others are found than those that fit.")  # fmt: skip
    return out
