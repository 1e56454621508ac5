"""Inputs as an array: what acts at every stage of every step, as a linear function of the rows that the user gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interpolation", "Schedule"]

Array = NDArray[np.float64]
Interpolation = Literal["hold", "linear", "spline"]
_SEEN = 4  # sets of times that are remembered


@dataclass(frozen=True, eq=False)
class Schedule:
    """Rows U (m, nu) at knots, and how they act in between.

    Attributes
    ----------
    knots : ndarray (m,)
        Times [s]: from when a row acts (hold), or when it is reached (linear, spline).
    kind : {"hold", "linear", "spline"}
        Constant from knot to knot; straight lines; a cubic spline through the rows (not-a-knot; a parabola through three rows, a line
        through two).
    """

    knots: Array
    kind: Interpolation
    _seen: dict[tuple[bytes, bytes], Any] = field(default_factory=dict, repr=False)

    def weights(self, times: Array, ends: Array) -> Any:
        """Sparse matrix (rows, m) of a function of U: what acts at the times (rows,) is ``weights @ U``; a spline needs `coefficients` first.

        `ends` (rows,) are 1 where the time belongs to the step that ends there, so that a held row still acts. Found once: motions of a batch share
        a schedule.
        """
        key = times.tobytes(), ends.tobytes()
        found = self._seen.get(key)
        if found is None:
            found = self._weights(times, ends)
            if len(self._seen) < _SEEN:
                self._seen[key] = found
        return found

    def _weights(self, times: Array, ends: Array) -> Any:
        from scipy.sparse import csr_array

        rows, m = len(times), len(self.knots)
        slack = 1e-9 * max(1.0, float(np.abs(self.knots).max(initial=0.0)))
        if self.kind == "hold":
            at = times + np.where(ends > 0, -slack, slack)
            k = np.clip(np.searchsorted(self.knots, at, side="right") - 1, 0, m - 1)
            return csr_array((np.ones(rows), (np.arange(rows), k)), shape=(rows, m))
        if self.kind == "linear" and m > 1:
            k = np.clip(np.searchsorted(self.knots, times, side="right") - 1, 0, m - 2)
            x = (times - self.knots[k]) / (self.knots[k + 1] - self.knots[k])
            at = np.concatenate([k, k + 1])
            return csr_array((np.concatenate([1 - x, x]), (np.tile(np.arange(rows), 2), at)), shape=(rows, m))
        if m == 1:
            return csr_array(np.ones((rows, 1)))
        from scipy.interpolate import BSpline

        t, degree = self._spline
        return csr_array(BSpline.design_matrix(np.clip(times, t[0], t[-1]), t, degree))

    @cached_property
    def _spline(self) -> tuple[Array, int]:
        """Knots of the B-splines and their degree."""
        x = self.knots
        degree = min(3, len(x) - 1)
        if degree == 3:
            inner = x[2:-2]
        elif degree == 2:
            inner = x[1:-1][:0]
        else:
            inner = x[:0]
        return np.concatenate([[x[0]] * (degree + 1), inner, [x[-1]] * (degree + 1)]), degree

    @cached_property
    def _factors(self) -> Any:
        from scipy.interpolate import BSpline
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        t, degree = self._spline
        return splu(csc_array(BSpline.design_matrix(self.knots, t, degree)))

    @property
    def _solves(self) -> bool:
        return self.kind == "spline" and len(self.knots) > 1

    def coefficients(self, U: Array) -> Array:
        """What the weights act on: U itself, or the coefficients of the spline through it."""
        return np.asarray(self._factors.solve(U)) if self._solves else U

    def pull(self, g: Array) -> Array:
        """Derivatives by U from those by the coefficients, (m, nu)."""
        return np.asarray(self._factors.solve(g, trans="T")) if self._solves else g
