"""Dimensions that change along a rod: numbers, tapers, pieces, functions of X."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validate
from ...cost import check_pieces
from ..quadrature import SAME_POINT, check_breakpoints, merge_points, points_along

__all__ = ["Dimension", "Stepped", "breakpoints_of", "evaluate", "evaluate_checked", "read_dimension"]

Array: TypeAlias = NDArray[np.float64]
Dimension: TypeAlias = float | tuple[float, float] | Callable[[Array], ArrayLike]
"""A number, a pair (value at X=0, value at X=1), a `Stepped`, or a function of X."""


@dataclass(frozen=True, init=False, repr=False)
class Stepped:
    """A dimension or property of the material that jumps along the rod, as on a stepped shaft: one value, or one taper, for each piece.

    Parameters
    ----------
    values : sequence of float or pair
        For each piece a number, or a pair (at its start, at its end) for a linear taper; >= 0.
    at : sequence of float, optional
        The increasing X inside (0, 1) where pieces meet, one fewer than `values`. Pieces of equal length if left out.

    Notes
    -----
    At a jump it has the value of the piece that starts there. Rods put the ends of elements at the jumps, whatever
    the strains, so that integrals over the rod are those of the pieces.

    Examples
    --------
    >>> radius = Stepped([0.02, 0.015, (0.01, 0.005)], at=(0.5, 0.8))
    >>> radius([0.2, 0.5, 0.9]).tolist()
    [0.02, 0.015, 0.0075]
    """

    values: tuple[float | tuple[float, float], ...]
    at: tuple[float, ...]

    def __init__(self, values: Sequence[float | Sequence[float]], at: Iterable[float] | None = None) -> None:
        if not isinstance(values, (list, tuple, np.ndarray)) or (isinstance(values, np.ndarray) and values.ndim == 0):
            raise TypeError(f"Stepped.values = {values!r} must be a sequence with one value for each piece.")
        check_pieces("Stepped.values", len(values))
        pieces: list[float | tuple[float, float]] = []
        for k, value in enumerate(values):
            label = f"Stepped.values[{k}]"
            if isinstance(value, (list, tuple, np.ndarray)):
                hint = "Give a number, or a pair (at the start, at the end of the piece)."
                first, last = validate.vector(label, value, (2,), hint=hint).tolist()
                pieces.append((validate.non_negative(label, first), validate.non_negative(label, last)))
            else:
                pieces.append(validate.non_negative(label, value))
        if not pieces:
            raise ValueError("Stepped.values is empty: give one value for each piece.")
        n = len(pieces)
        jumps = tuple(k / n for k in range(1, n)) if at is None else check_breakpoints("Stepped.at", at)
        if len(jumps) != n - 1:
            raise ValueError(f"Stepped.at has {len(jumps)} points, but {n} values need {n - 1} between them.")
        object.__setattr__(self, "values", tuple(pieces))
        object.__setattr__(self, "at", jumps)

    def __call__(self, X: ArrayLike) -> Array:
        """Values at X (m,), shape (m,)."""
        points = points_along(X)
        piece = np.searchsorted(np.array(self.at) - SAME_POINT, points, side="right")
        first, last = np.array([v if isinstance(v, tuple) else (v, v) for v in self.values])[piece].T
        ends = np.array([0.0, *self.at, 1.0])
        s = np.clip((points - ends[piece]) / np.diff(ends)[piece], 0.0, 1.0)
        return np.where(first == last, first, (1.0 - s) * first + s * last)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Where pieces meet."""
        return self.at

    def __repr__(self) -> str:
        """Values, and where they meet unless the pieces are of equal length."""
        n = len(self.values)
        equal = self.at == tuple(k / n for k in range(1, n))
        return f"Stepped({list(self.values)!r}{'' if equal else f', at={self.at!r}'})"


def breakpoints_of(*values: object) -> tuple[float, ...]:
    """Increasing X inside (0, 1) where one of these dimensions jumps."""
    return merge_points(x for value in values if isinstance(value, Stepped) for x in value.breakpoints)


def read_dimension(label: str, value: Dimension, *, unit: str, zero: bool) -> Dimension:
    """Check a dimension as far as it can be without evaluating functions; with `zero` it may vanish everywhere."""
    hint = "Give a number, a pair (value at X=0, value at X=1), Stepped([...]) or a function of X in [0, 1]."
    if callable(value):
        return value
    shape = validate.dimensions(value)
    if not shape:
        check = validate.non_negative if zero else validate.positive
        return check(label, value, unit=unit, hint=hint)
    if shape != (2,):
        raise ValueError(f"{label} = {validate.shown(value)} has shape {shape}, which is not a dimension. {hint}")
    # A tip that runs out in a point is fine as long as no properties are asked for there.
    first, last = (validate.non_negative(f"{label}[{i}]", v, unit=unit, hint=hint) for i, v in enumerate(value))  # type: ignore[arg-type]
    if first == last == 0.0 and not zero:
        raise ValueError(f"{label} = {value!r} is not allowed: at most one end may be zero ({unit}).")
    return first, last


def evaluate_checked(label: str, value: Dimension, X: Array, *, unit: str, zero: bool, hint: str = "") -> Array:
    """A dimension at X (m,), shape (m,); error unless finite and positive, or zero if allowed."""
    result = evaluate(label, value, X)
    allowed = (result <= validate.LARGEST) & ((result >= 0.0) if zero else (result > 0.0))
    if not np.all(allowed):
        i = int(np.argmin(allowed))
        check = validate.non_negative if zero else validate.positive
        check(f"{label}(X={X[i]:g})", float(result[i]), unit=unit, hint=hint)
    return result


def evaluate(label: str, value: Dimension, X: Array) -> Array:
    """A checked dimension at X (m,), shape (m,); error unless a function returns numbers of that shape."""
    if callable(value):
        hint = f"{label} must take an array X of shape (m,) and return as many numbers, or one"
        try:
            result = validate.reals(label, value(X.copy()))
        except (TypeError, ValueError) as error:
            raise TypeError(f"{hint}; it failed with: {error}. Use numpy functions, or np.vectorize.") from error
        if result.shape not in ((), (1,), X.shape):
            raise ValueError(f"{hint}; for shape {X.shape} it returned shape {result.shape}.")
        return np.array(np.broadcast_to(result, X.shape))
    if isinstance(value, tuple):
        return np.asarray((1.0 - X) * value[0] + X * value[1], dtype=np.float64)
    return np.full(X.shape, value, dtype=np.float64)
