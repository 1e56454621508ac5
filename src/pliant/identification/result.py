"""The result of an identification: values, how sure they are, and what the data do not tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import unknown_name
from ..system import System
from .data import Data
from .judge import judge, uncertainty
from .problem import Evaluation, Problem

if TYPE_CHECKING:
    from .validation import CrossValidation

__all__ = ["Identification", "Search"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """Where one search ended.

    Attributes
    ----------
    y : ndarray (k,)
        What was searched: values, or their logarithms.
    cost : float
        Half the sum of the losses.
    success : bool
    message : str
    evaluations : int
    """

    y: Array
    cost: float
    success: bool
    message: str
    evaluations: int


@dataclass(frozen=True, eq=False)
class Identification:
    """What `identify` found.

    Attributes
    ----------
    names : list of str
        Of the unknowns.
    values : dict
        Values by name.
    standard_errors : dict
        Standard errors by name; of a logarithm times the value. Infinite for what the data do not tell.
    intervals : dict
        Confidence intervals (low, high) by name, by Student's t; those of logarithms are intervals of the logarithm.
    covariance, correlation : ndarray (k, k)
        Of the estimates, of what was searched (logarithms of what must be positive).
    system : System
        The robot with the values found that hold for all data.
    noise : float
        Scatter of the residuals in units of sigma: 1 if sigma is the noise and the model is right.
    degrees : float
        Degrees of freedom of the residuals.
    aic, bic : float
        Akaike's and the Bayesian information criterion for Gaussian noise of unknown size, up to a constant of the data; smaller is better.
    success : bool
    message : str
    warnings : tuple of str
        What the data do not tell, what is at its bounds, what was not as it should be.
    searches : list of Search
        All searches, the best of which is the result.
    statistics : dict
        Numbers of predictions and Jacobians, steps, seconds.
    """

    names: list[str]
    values: dict[str, float]
    standard_errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    covariance: Array
    correlation: Array
    system: System
    noise: float
    degrees: float
    aic: float
    bic: float
    success: bool
    message: str
    warnings: tuple[str, ...]
    searches: list[Search] = field(repr=False)
    statistics: dict[str, Any] = field(repr=False)
    confidence: float
    _problem: Problem = field(repr=False)
    _y: Array = field(repr=False)

    @classmethod
    def of(
        cls,
        problem: Problem,
        best: Search,
        searches: list[Search],
        confidence: float,
        known_noise: bool,
        seconds: float,
    ) -> Identification:
        """Judge what a search found."""
        unknowns, here = problem.unknowns, problem.at(best.y)
        about = uncertainty(problem, here, known_noise)
        x = here.x
        low, high = about.interval(best.y, confidence)
        slope = unknowns.slope(best.y)
        squares = float(np.sum(here.residuals[: problem.count] ** 2))
        fit = problem.count * np.log(max(squares, 1e-300) / problem.count)
        statistics = {
            "predictions": problem.evaluations,
            "jacobians": problem.jacobians,
            "failures": problem.failures,
            "steps": {d.name: part.step for d, part in zip(problem.data, problem.predictors) if hasattr(part, "step")},
            "seconds": seconds,
        }
        errors = np.sqrt(np.diag(about.covariance)) * np.where(unknowns.log, slope, 1.0)
        return cls(
            names=list(unknowns.names),
            values=dict(zip(unknowns.names, x.tolist())),
            standard_errors=dict(zip(unknowns.names, errors.tolist())),
            intervals=dict(zip(unknowns.names, zip(unknowns.values(low).tolist(), unknowns.values(high).tolist()))),
            covariance=about.covariance,
            correlation=about.correlation,
            system=problem.system.with_parameters(unknowns.parameters(x)),
            noise=about.noise,
            degrees=about.degrees,
            aic=float(fit + 2 * (len(unknowns) + 1)),
            bic=float(fit + np.log(problem.count) * (len(unknowns) + 1)),
            success=best.success,
            message=best.message,
            warnings=judge(problem, here, about, best, searches),
            searches=searches,
            statistics=statistics,
            confidence=confidence,
            _problem=problem,
            _y=best.y,
        )

    @cached_property
    def _here(self) -> Evaluation:
        return self._problem.at(self._y)

    def _number(self, data: str | int | None) -> int:
        names = [d.name for d in self._problem.data]
        if data is None or isinstance(data, int):
            return 0 if data is None else data
        if data not in names:
            raise unknown_name("data", data, names)
        return names.index(data)

    @property
    def data(self) -> list[Data]:
        """What was measured."""
        return list(self._problem.data)

    def predicted(self, data: str | int | None = None) -> Array:
        """What the robot with the values found would have shown, (n, m), of some data (by name or number; the first if left out)."""
        return self._here.predictions[self._number(data)].value

    def residuals(self, data: str | int | None = None) -> Array:
        """Predicted minus measured, (n, m); NaN where nothing was seen."""
        return self._here.off[self._number(data)]

    def distances(self, data: str | int | None = None) -> Array:
        """Distances (n, points) between predicted and measured positions [m]; NaN where nothing was seen."""
        k = self._number(data)
        points = self._problem.data[k].points
        if not points:
            raise ValueError(f"data {self._problem.data[k].name!r} are not positions alone; use residuals.")
        off = self._here.off[k]
        return np.asarray(np.linalg.norm(off.reshape(len(off), points, 3), axis=2))

    def __getitem__(self, name: str) -> float:
        """The value of an unknown."""
        if name not in self.values:
            raise unknown_name("unknown", name, self.values)
        return self.values[name]

    def cross_validate(
        self, folds: int | None = None, *, data: str | int | None = None, linear: bool = False
    ) -> CrossValidation:
        """Predict rows from fits without them.

        Parameters
        ----------
        folds : int, optional
            In how many parts rows are left out: every row of equilibria by itself if left out, and motions in 5 blocks of time.
        data : str or int, optional
            Which data are left out in turns; all, each by itself, if left out.
        linear : bool
            Without new fits, by the exact derivatives at the values found (leverages): to first order in what left-out rows move. Only for the linear loss.
        """
        from .validation import cross_validate, linear_validation

        number = None if data is None else self._number(data)
        return linear_validation(self, folds, number) if linear else cross_validate(self, folds, number)

    def plot(self, **options: Any) -> Any:
        """Measured beside predicted, residuals, intervals and correlations in one figure; see `pliant.viz.fits.plot_identification`."""
        from ..viz.fits import plot_identification

        return plot_identification(self, **options)

    def __str__(self) -> str:
        """A table."""
        problem, unknowns = self._problem, self._problem.unknowns
        share = f"{100 * self.confidence:g} %"
        width = max(map(len, [*self.names, "unknown"]))
        lines = [
            f"{self.system.name}: {len(self.names)} unknowns from {problem.count} numbers; "
            f"{'found' if self.success else f'NOT converged ({self.message})'}",
            f"  {'unknown':<{width}}  {'value':>12}  {'± ' + share:>11}  {'from':>12}  {'to':>12}  unit",
        ]
        for k, name in enumerate(self.names):
            low, high = self.intervals[name]
            half = (high - low) / 2
            lines.append(f"  {name:<{width}}  {self.values[name]:12.6g}  {half:11.3g}  {low:12.6g}  {high:12.6g}  {unknowns.unit[k]}".rstrip())  # fmt: skip
        for k, d in enumerate(problem.data):
            off = self._here.off[k][problem.masks[k]]
            what = f"{d.name}: {off.size} numbers, rms of the residuals {np.sqrt(np.mean(off**2)):.4g}"
            if d.points:
                what += f", mean distance {1e3 * np.nanmean(self.distances(k)):.3f} mm"
            lines.append(f"  {what}")
        lines.append(f"  scatter {self.noise:.3g} sigma; AIC {self.aic:.1f}, BIC {self.bic:.1f}; {self.statistics['predictions']} predictions, {self.statistics['jacobians']} Jacobians")  # fmt: skip
        return "\n".join([*lines, *(f"  warning: {text}" for text in self.warnings)])
