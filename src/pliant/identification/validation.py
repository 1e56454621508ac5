"""Cross-validation: rows predicted from fits without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..model.validate import integer
from .data import MotionData
from .identify import search
from .judge import at_bounds
from .problem import Problem

if TYPE_CHECKING:
    from .result import Identification

__all__ = ["CrossValidation", "cross_validate", "linear_validation"]

Array = NDArray[np.float64]
BLOCKS = 5  # of time, of a motion


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What fits predict of rows that they have not seen.

    Attributes
    ----------
    residuals : list of ndarray (n, m)
        Predicted minus measured, of each data; NaN for what was not left out, or not seen.
    values : ndarray (folds, k)
        Values of the unknowns in each fit.
    noise : float
        Root mean square of the residuals of left-out rows, in units of sigma.
    warnings : tuple of str
    """

    names: list[str]
    residuals: list[Array]
    values: Array
    noise: float
    points: list[int]
    warnings: tuple[str, ...]

    def distances(self, data: int = 0) -> Array:
        """Distances (n, points) between predicted and measured positions [m]; NaN for what was not left out, or not seen."""
        off, points = self.residuals[data], self.points[data]
        if not points:
            raise ValueError("these data are not positions alone; use residuals.")
        return np.asarray(np.linalg.norm(off.reshape(len(off), points, 3), axis=2))

    def __str__(self) -> str:
        """A few lines."""
        lines = [f"{len(self.values)} fits; left-out numbers are off by {self.noise:.3g} sigma (root mean square)"]
        for k, points in enumerate(self.points):
            if points and np.any(np.isfinite(self.residuals[k])):
                lines.append(f"  mean distance {1e3 * np.nanmean(self.distances(k)):.3f} mm")
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        lines += [f"  {name}: {a:.6g} to {b:.6g}" for name, a, b in zip(self.names, low, high)]
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])


def parts_of(problem: Problem, folds: int | None, data: int | None) -> list[tuple[int, NDArray[np.int64]]]:
    """Number of the data and the rows that are left out together."""
    found = []
    for k, d in enumerate(problem.data):
        if data is not None and k != data:
            continue
        moves = isinstance(d, MotionData)
        count = min(len(d), (BLOCKS if moves else len(d)) if folds is None else integer("folds", folds, minimum=2))
        rows = np.arange(len(d))
        found += [
            (k, part) for part in (np.array_split(rows, count) if moves else [rows[j::count] for j in range(count)])
        ]
    return found


def cross_validate(result: Identification, folds: int | None, data: int | None) -> CrossValidation:
    """See `Identification.cross_validate`."""
    problem = result._problem
    whole = [mask.copy() for mask in problem.masks]
    residuals = [np.full(d.values.shape, np.nan) for d in problem.data]
    values, warnings = [], []
    before = problem.evaluations, problem.jacobians, problem.failures, problem.failure
    try:
        for k, rows in parts_of(problem, folds, data):
            problem.masks = [mask.copy() for mask in whole]
            problem.masks[k][rows] = False
            if problem.count <= len(problem.unknowns):
                raise ValueError(
                    f"{problem.count} numbers are left for {len(problem.unknowns)} unknowns: leave out less at a time."
                )
            found = search(problem, result._y, 100)
            if not found.success:
                warnings.append(f"the fit without rows {rows[:6].tolist()} did not converge: {found.message}")
            here = problem.at(found.y)
            residuals[k][rows] = np.where(whole[k][rows], here.off[k][rows], np.nan)
            values.append(here.x)
    finally:
        problem.masks = whole
        problem.evaluations, problem.jacobians, problem.failures, problem.failure = before
        problem.forget()
    return _validation(result, residuals, values, warnings)


def _validation(
    result: Identification, residuals: list[Array], values: list[Array], warnings: list[str]
) -> CrossValidation:
    data = result._problem.data
    off = np.concatenate([(r / d.sigma)[np.isfinite(r)] for r, d in zip(residuals, data)])
    noise = float(np.sqrt(np.mean(off**2)))
    return CrossValidation(
        list(result.names), residuals, np.array(values), noise, [d.points for d in data], tuple(warnings)
    )


def linear_validation(result: Identification, folds: int | None, data: int | None) -> CrossValidation:
    """Likewise to first order: with H = J (JᵀJ)⁻¹ Jᵀ, rows i that are left out are off by (1 − Hᵢᵢ)⁻¹ rᵢ; what is at a bound stays there."""
    problem, unknowns = result._problem, result._problem.unknowns
    if problem.loss != "linear":
        raise ValueError(f"linear=True is for the linear loss, and this is {problem.loss!r}: fit again, linear=False.")
    here = result._here
    n = problem.count + len(problem.told)
    J, r = here.jacobian[:n], here.residuals[:n]
    free = ~at_bounds(problem, here.y)
    J = J * free
    A = np.linalg.pinv(J.T @ J, hermitian=True)
    numbers = [np.full(mask.shape, -1) for mask in problem.masks]
    first = 0
    for mask, number in zip(problem.masks, numbers):
        number[mask] = first + np.arange(np.count_nonzero(mask))
        first += int(np.count_nonzero(mask))
    residuals = [np.full(d.values.shape, np.nan) for d in problem.data]
    values = []
    for k, rows in parts_of(problem, folds, data):
        own = numbers[k][rows]
        seen = own >= 0
        at = own[seen]
        off = np.linalg.solve(np.eye(len(at)) - J[at] @ A @ J[at].T, r[at])
        left = np.full(own.shape, np.nan)
        left[seen] = off
        residuals[k][rows] = left * problem.data[k].sigma[rows]
        values.append(unknowns.values(here.y + A @ J[at].T @ off))
    return _validation(result, residuals, values, [])
