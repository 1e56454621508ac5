"""The least-squares problem: residuals of all data in units of their noise, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.validate import shown
from ..system import System, needs_system
from .data import Data, MotionData, StaticData
from .predict import MotionPredictor, NoPrediction, Prediction, Revised, predictor
from .unknowns import Unknown, Unknowns

__all__ = ["LOSSES", "Evaluation", "Problem"]

Array = NDArray[np.float64]
OPEN, RIDGE = (
    1e-6,
    1e-4,
)  # singular values, of the largest, of directions that are open, and weight that then holds unknowns
FINE, HALVINGS = (
    0.1,
    8,
)  # error of steps, in units of the noise and of standard errors, above which they are halved, and how often


def _linear(z: Array) -> tuple[Array, Array, Array]:
    return z, np.ones_like(z), np.zeros_like(z)


def _huber(z: Array) -> tuple[Array, Array, Array]:
    far, root = z > 1.0, np.sqrt(np.maximum(z, 1.0))
    return np.where(far, 2 * root - 1, z), np.where(far, 1 / root, 1.0), np.where(far, -0.5 / root**3, 0.0)


def _soft_l1(z: Array) -> tuple[Array, Array, Array]:
    root = np.sqrt(1 + z)
    return 2 * (root - 1), 1 / root, -0.5 / root**3


LOSSES: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "linear": _linear,
    "huber": _huber,
    "soft_l1": _soft_l1,
}
"""ρ(z) of squares z of residuals, ρ′ and ρ″."""


class Evaluation:
    """All predictions with some values of the unknowns."""

    def __init__(self, problem: Problem, y: Array) -> None:
        self.problem, self.y = problem, y.copy()
        self.x = problem.unknowns.values(y)
        self.settings = problem.unknowns.settings(self.x)
        self.predictions: list[Prediction] = []
        made: list[Revised] = []
        for part, setting in zip(problem.predictors, self.settings):
            revised = next((r for r in made if r.parameters == setting.parameters), None)
            if revised is None:
                revised = Revised(problem.system, setting.parameters)
                made.append(revised)
            self.predictions.append(part.predict(setting, revised))
        self._jacobian: list[Array] | None = None

    @property
    def off(self) -> list[Array]:
        """Predicted minus measured, (n, m) of each data; NaN where nothing was seen."""
        return [p.value - d.values for p, d in zip(self.predictions, self.problem.data)]

    @property
    def residuals(self) -> Array:
        """In units of the noise, of what was seen and counts; then of the priors, then of what is held near its start."""
        problem = self.problem
        parts = [(off / d.sigma)[mask] for off, d, mask in zip(self.off, problem.data, problem.masks)]
        prior = (self.x[problem.told] - problem.expected) / problem.deviation
        return np.concatenate([*parts, prior, (problem.anchor * (self.y - problem.centre))[problem.anchor > 0]])

    @property
    def slopes(self) -> list[Array]:
        """Derivatives (n, m, k) of each of the predictions by what is searched."""
        if self._jacobian is None:
            unknowns, found = self.problem.unknowns, []
            by_search = unknowns.slope(self.y)
            for k, prediction in enumerate(self.predictions):
                whole = np.zeros((*prediction.value.shape, len(unknowns)))
                acting = unknowns.acting(k)
                if acting:
                    numbers = [j for j, _targets in acting]
                    whole[:, :, numbers] = prediction.tangent([targets for _j, targets in acting]) * by_search[numbers]
                found.append(whole)
            self._jacobian = found
        return self._jacobian

    @property
    def jacobian(self) -> Array:
        """Derivatives of the residuals by what is searched."""
        problem = self.problem
        parts = [(J / d.sigma[:, :, None])[mask] for J, d, mask in zip(self.slopes, problem.data, problem.masks)]
        prior = np.zeros((len(problem.told), len(problem.unknowns)))
        prior[np.arange(len(problem.told)), problem.told] = problem.unknowns.slope(self.y)[problem.told] / problem.deviation  # fmt: skip
        return np.concatenate([*parts, prior, np.diag(problem.anchor)[problem.anchor > 0]])


class Problem:
    """Data, unknowns and how they are compared."""

    def __init__(
        self, system: System, data: Any, unknowns: str | Unknown | Iterable[str | Unknown], *, loss: str, scale: float
    ) -> None:
        needs_system("identify", system)
        given: Sequence[Data] = [data] if isinstance(data, Data) else list(data)
        if not given or not all(isinstance(d, (StaticData, MotionData)) for d in given):
            raise TypeError(f"data = {shown(data)} must be a pl.StaticData or pl.MotionData, or a list of them.")
        self.system, self.data, self.loss, self.scale = system, given, loss, scale
        self.predictors = [predictor(system, d) for d in given]
        self.unknowns = Unknowns(system, given, unknowns)
        self.masks = [np.isfinite(d.values) for d in given]
        priors = [(k, x.prior) for k, x in enumerate(self.unknowns.items) if x.prior is not None]
        self.told = np.array([k for k, _prior in priors], dtype=int)
        self.expected = np.array([prior[0] for _k, prior in priors])
        self.deviation = np.array([prior[1] for _k, prior in priors])
        self.centre = self.anchor = np.zeros(len(self.unknowns))
        self.evaluations, self.jacobians, self.failures = 0, 0, 0
        self.failure, self.stuck = "", False
        self._last: Evaluation | None = None

    @property
    def count(self) -> int:
        """Number of measured numbers that count."""
        return int(sum(np.count_nonzero(mask) for mask in self.masks))

    def at(self, y: Array) -> Evaluation:
        """All predictions; the last is kept."""
        if self._last is None or not np.array_equal(self._last.y, y):
            self.evaluations += 1
            self._last = Evaluation(self, y)
        return self._last

    def residuals(self, y: Array) -> Array:
        """For the search: infinite where there is no prediction, from which it steps back."""
        try:
            found = self.at(y).residuals
        except (NoPrediction, ValueError) as error:
            self.failures, self.stuck = self.failures + 1, True
            self.failure = str(error)
            return np.full(self.count + len(self.told) + np.count_nonzero(self.anchor), np.inf)
        self.stuck = False
        return found

    def jacobian(self, y: Array) -> Array:
        """For the search."""
        self.jacobians += 1
        return self.at(y).jacobian

    def hold(self, y: Array) -> None:
        """Hold the search near its start where the data leave directions open there, so that it does not wander along them."""
        self.anchor = np.zeros(len(y))
        J = self.at(y).jacobian * np.where(self.unknowns.log, 1.0, self.unknowns.size)
        values = np.linalg.svd(J, compute_uv=False)
        if len(values) < len(y) or values[-1] < OPEN * values[0]:
            self.centre = y.copy()
            self.anchor = RIDGE * values[0] / np.where(self.unknowns.log, 1.0, self.unknowns.size)

    def rho(self, z: Array) -> Array:
        """The loss of squares of residuals, for SciPy; priors are not robust."""
        n = self.count
        inner = np.array(LOSSES[self.loss](z[:n] / self.scale**2))
        inner *= np.array([[self.scale**2], [1.0], [1.0 / self.scale**2]])
        return np.concatenate([inner, np.array(_linear(z[n:]))], axis=1)

    # ------------------------------------------------------------ steps

    def step_errors(self, y: Array) -> dict[int, tuple[float, float]]:
        """Of each motion the largest estimated error of its steps, in units of the noise, and how far they move the estimates, in standard errors."""
        here, found = self.at(y), {}
        n = self.count
        J = here.jacobian[: n + len(self.told)]
        spread = np.linalg.pinv(J.T @ J, hermitian=True)
        size = np.sqrt(np.maximum(np.diag(spread), 1e-300))
        for k, (part, setting) in enumerate(zip(self.predictors, here.settings)):
            if isinstance(part, MotionPredictor):
                off = np.where(self.masks[k], part.step_error(setting) / self.data[k].sigma, 0.0)
                moved = spread @ np.einsum("nmk,nm->k", here.slopes[k] / self.data[k].sigma[:, :, None], off)
                found[k] = float(np.abs(off).max(initial=0.0)), float(np.abs(moved / size).max(initial=0.0))
        return found

    def refine(self, y: Array) -> bool:
        """Halve steps that are not given until their errors are small beside the noise and do not move the estimates; whether any was halved."""
        changed = False
        for _ in range(HALVINGS):
            errors = {k: max(error) for k, error in self.step_errors(y).items()}
            rough = [k for k, error in errors.items() if error > FINE and self.data[k].step is None]  # type: ignore[attr-defined]
            if not rough:
                break
            for k in rough:
                part = self.predictors[k]
                assert isinstance(part, MotionPredictor)
                order = 3 if self.data[k].method == "sdirk3" else 2  # type: ignore[attr-defined]
                needed = (errors[k] / (0.5 * FINE)) ** (1 / order)
                part.step /= 2 ** int(np.clip(np.ceil(np.log2(needed)), 1, 3))
            changed, self._last = True, None
        return changed

    def forget(self) -> None:
        """Find equilibria from the neutral configuration again."""
        for part in self.predictors:
            part.forget()
        self._last = None
