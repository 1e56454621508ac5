"""A function of time that is given at points: measured inputs, steps, ramps, smooth curves."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .validate import bounded, choice, dimensions, vector

__all__ = ["Signal"]

Array = NDArray[np.float64]

_MINIMUM = {"linear": 2, "hold": 1, "spline": 4}
_MOST = 1_000_000  # points
_SMOOTH = 1e-13  # a kink that changes a signal by less than this, relative to its largest value, is rounding


@dataclass(frozen=True, init=False, repr=False)
class Signal:
    """A function of time that is given at points and interpolated between them.

    It stays at its first value before the first point, and at its last after the last. It can stand wherever a function of t
    can, is evaluated by compiled code, tells the integrator where it jumps, and can be written to a model file.

    Parameters
    ----------
    t : array (n,)
        Times of the points [s], increasing.
    values : array (n,) or (n, m)
        Values at these times; rows of m for a signal with m components.
    kind : "linear", "hold" or "spline"
        Straight lines (at least 2 points); each value until the next point, where the signal jumps (at least 1); or a cubic
        spline (not-a-knot, at least 4 points).

    Attributes
    ----------
    shape : tuple of int
        () for a single function, (m,) for rows.

    Examples
    --------
    >>> ramp = Signal([0, 0.5, 2], [0, 10, 4])
    >>> ramp(0.25), ramp([-1, 1.25, 3]), ramp.breakpoints
    (5.0, array([0., 7., 4.]), (0.0, 0.5, 2.0))
    >>> steps = Signal([0, 1, 2], [5, 8, 0], kind="hold")
    >>> steps(1.0), steps.limit(1.0, -1), steps.jumps
    (8.0, 5.0, (1.0, 2.0))
    """

    t: tuple[float, ...]
    values: tuple[float, ...] | tuple[tuple[float, ...], ...]
    kind: Literal["linear", "hold", "spline"]

    def __init__(self, t: ArrayLike, values: ArrayLike, kind: Literal["linear", "hold", "spline"] = "linear") -> None:
        choice("Signal.kind", kind, _MINIMUM)
        least = _MINIMUM[kind]
        count = (*dimensions(t), least)[0]
        bounded("Signal.t: the number of entries", count, _MOST, "Give fewer points.")
        times = vector("Signal.t", t, (count,), hint="Give a sequence of times in s.")
        if count < least:
            raise ValueError(
                f"Signal.t = {times.tolist()!r} is not allowed: a signal of kind {kind!r} needs at least {least} point(s), not "
                f"{count}. Give more points."
            )
        late = np.diff(times) <= 0.0
        if np.any(late):
            k = int(np.argmax(late))
            raise ValueError(
                f"Signal.t[{k + 1}] = {float(times[k + 1])!r} is not allowed: it must be larger than Signal.t[{k}] = "
                f"{float(times[k])!r}. Sort the points, with their values, and remove repeated ones."
            )
        shape = dimensions(values)[1:2]
        if shape == (0,):
            raise ValueError(
                "Signal.values is not allowed: its rows are empty or differ in length. Give the same components at each time."
            )
        hint = f"Give one value, or one row of values, for each of the {count} times of t."
        checked = vector("Signal.values", values, (count, *shape), hint=hint).tolist()
        object.__setattr__(self, "t", tuple(times.tolist()))
        object.__setattr__(self, "values", tuple(tuple(row) for row in checked) if shape else tuple(checked))
        object.__setattr__(self, "kind", kind)
        if not np.all(np.isfinite(self.pieces)):
            raise ValueError(
                "Signal.values is not allowed: it changes too much between times of t that are too close. Remove points."
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of a value: () or (m,)."""
        return (len(self.values[0]),) if isinstance(self.values[0], tuple) else ()

    @cached_property
    def pieces(self) -> Array:
        """Polynomials (m, n + 1, 4): for each component, before, between and after the points, coefficients of s³, s², s and 1.

        s is the time since the point before, or to the first one.
        """
        t = np.array(self.t)
        columns = np.array(self.values, dtype=np.float64).reshape(len(t), -1).T
        out = np.zeros((len(columns), len(t) + 1, 4))
        out[:, 1:, 3] = columns
        out[:, 0, 3] = columns[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.kind == "linear":
                out[:, 1:-1, 2] = np.diff(columns) / np.diff(t)
            elif self.kind == "spline":
                from scipy.interpolate import CubicSpline  # here, since it takes a while to import

                out[:, 1:-1, :3] = CubicSpline(t, columns, axis=1, bc_type="not-a-knot").c[:3].transpose(2, 1, 0)
        out.flags.writeable = False
        return out

    @cached_property
    def _rows(self) -> list[list[list[float]]]:
        return self.pieces.tolist()

    @overload
    def __call__(self, t: float) -> Any: ...
    @overload
    def __call__(self, t: ArrayLike) -> Any: ...
    def __call__(self, t: ArrayLike) -> Any:
        """The signal at t.

        Parameters
        ----------
        t : float or array_like, shape (...)
            Time [s].

        Returns
        -------
        float or ndarray, shape (..., \\*shape)
            A float for a single function at a single time. Where it jumps, the value that starts there.
        """
        if isinstance(t, (float, int)):
            return self._at(float(t), bisect_right(self.t, t))
        times = np.asarray(t, dtype=np.float64)
        k = np.searchsorted(self.t, times, side="right")
        s = times - np.array(self.t)[np.maximum(k - 1, 0)]
        c = np.moveaxis(self.pieces[:, k], 0, -2)  # (..., m, 4)
        s = s[..., None]
        result = ((c[..., 0] * s + c[..., 1]) * s + c[..., 2]) * s + c[..., 3]
        result = result if self.shape else result[..., 0]
        return float(result) if result.ndim == 0 else result

    def limit(self, t: float, side: int) -> Any:
        """The limit at a time, which differs from the other one where the signal jumps.

        Parameters
        ----------
        t : float
            Time [s].
        side : int
            −1 from the left, +1 from the right, 0 the value itself.

        Returns
        -------
        float or ndarray, shape (m,)
        """
        return self._at(float(t), bisect_left(self.t, t) if side < 0 else bisect_right(self.t, t))

    def _at(self, t: float, k: int) -> Any:
        """The value at t of the polynomials before point k."""
        s = t - self.t[max(k - 1, 0)]
        found = [((a * s + b) * s + c) * s + d for a, b, c, d in (rows[k] for rows in self._rows)]
        return np.array(found) if self.shape else found[0]

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """Times where it jumps or has a kink; of a spline its ends, unless it is level there."""
        return self.jumps if self.kind == "hold" else self._kinks

    @cached_property
    def jumps(self) -> tuple[float, ...]:
        """Times where it jumps."""
        if self.kind != "hold":
            return ()
        values = np.array(self.values).reshape(len(self.t), -1)
        changes = np.any(np.diff(values, axis=0) != 0.0, axis=1)
        return tuple(t for t, change in zip(self.t[1:], changes) if change)

    @property
    def _kinks(self) -> tuple[float, ...]:
        step = np.diff(self.t)
        before, after = np.array([np.inf, *step]), np.array([*step, np.inf])
        slope = self.pieces[:, :, 2]
        a, b, c = np.moveaxis(self.pieces[:, 1:-1, :3], -1, 0)
        end = (3.0 * a * step + 2.0 * b) * step + c  # slope at the end of each piece
        change = slope[:, 1:] - np.concatenate([np.zeros((len(slope), 1)), end], axis=1)
        largest = np.abs(self.pieces[:, :, 3]).max(axis=1, keepdims=True)
        kinks = np.any(np.abs(change) * np.minimum(before, after) > _SMOOTH * largest, axis=0)
        if self.kind == "spline":
            kinks[1:-1] = False
        return tuple(t for t, kink in zip(self.t, kinks) if kink)

    def __repr__(self) -> str:
        """Number of points, range and kind."""
        rows = f" of {self.shape[0]} values" if self.shape else ""
        return f"Signal({len(self.t)} points{rows} in [{self.t[0]:g}, {self.t[-1]:g}] s, kind={self.kind!r})"
