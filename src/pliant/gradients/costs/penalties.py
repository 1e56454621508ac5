"""Penalties: numbers from the entries of a quantity, with slope and curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...model.validate import positive
from .states import Array

__all__ = ["Excess", "Huber", "Linear", "Norm", "Penalised", "Penalty", "SoftMax", "Squares"]


class Penalised(NamedTuple):
    """What a penalty makes of values s (n, m).

    Attributes
    ----------
    value : float
    slope : ndarray (n, m)
        Its derivative by s.
    curvature : function
        The product of its second derivative with a change of s (n, m); never negative.
    """

    value: float
    slope: Array
    curvature: Callable[[Array], Array]


class Penalty(ABC):
    """A number from the entries s (n, m) of a quantity in n rows; one of the classes below, or one of your own.

    `by_entry` says whether it is a sum over entries, each of which may have a weight of its own, `by_row` whether it is a sum over
    rows; if it is not, rows count or do not, and `w` is the same for all.
    """

    by_entry = True
    by_row = True

    @abstractmethod
    def evaluate(self, s: Array, w: Array) -> Penalised:
        """The penalty of s (n, m) with weights w (n, m), or (n, 1) unless it is by entry."""


@dataclass(frozen=True)
class Squares(Penalty):
    """½ s², summed over entries.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pl.costs.Squares().evaluate(np.array([[3.0, 4.0]]), np.ones((1, 2))).value
    12.5
    """

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        slope = w * s
        return Penalised(0.5 * float(np.sum(slope * s)), slope, lambda ds: w * ds)


@dataclass(frozen=True)
class Norm(Penalty):
    """``√(|s|² + ε²) − ε``: the length of s, rounded off at the `rounding` ε, in the unit of s. Far values count less than in squares.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> print(round(pl.costs.Norm(0.1).evaluate(np.array([[3.0, 4.0]]), np.ones((1, 1))).value, 3))
    4.901
    """

    rounding: float
    by_entry = False

    def __post_init__(self) -> None:
        """Error unless ε is positive."""
        positive("Norm.rounding", self.rounding, hint="The size below which the norm is a square.")

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        length = np.sqrt(np.sum(s * s, axis=1, keepdims=True) + self.rounding**2)
        n = s / length

        def curvature(ds: Array) -> Array:
            return w / length * (ds - n * np.sum(n * ds, axis=1, keepdims=True))

        return Penalised(float(np.sum(w * (length - self.rounding))), w * n, curvature)


@dataclass(frozen=True)
class Huber(Penalty):
    """½ s² up to the `width` δ, then straight, ``δ (|s| − δ/2)``, for each entry: outliers do not dominate.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pl.costs.Huber(1.0).evaluate(np.array([[0.5, -4.0]]), np.ones((1, 2))).value
    3.625
    """

    width: float

    def __post_init__(self) -> None:
        """Error unless δ is positive."""
        positive("Huber.width", self.width, hint="Where squares go over into straight lines.")

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        inner = np.clip(s, -self.width, self.width)
        near = np.abs(s) <= self.width
        return Penalised(float(np.sum(w * inner * (s - 0.5 * inner))), w * inner, lambda ds: w * near * ds)


@dataclass(frozen=True)
class Excess(Penalty):
    """½ max(0, s)² for each entry: nothing as long as s is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pl.costs.Excess().evaluate(np.array([[-3.0, 2.0]]), np.ones((1, 2))).value
    2.0
    """

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        over = np.maximum(s, 0.0)
        return Penalised(0.5 * float(np.sum(w * over * over)), w * over, lambda ds: w * (s > 0.0) * ds)


@dataclass(frozen=True)
class Linear(Penalty):
    """The sum of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pl.costs.Linear().evaluate(np.array([[-3.0, 2.0]]), np.ones((1, 2))).value
    -1.0
    """

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        return Penalised(float(np.sum(w * s)), np.broadcast_to(w, s.shape).copy(), np.zeros_like)


@dataclass(frozen=True)
class SoftMax(Penalty):
    """``log(Σ exp(κ s))/κ`` over all entries and rows that count: the largest of n values, or up to log(n)/κ more.

    The `sharpness` κ has the unit of 1/s. Rows count or do not; how much they weigh does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> print(round(pl.costs.SoftMax(100.0).evaluate(np.array([[-3.0], [2.0], [1.9]]), np.ones((3, 1))).value, 4))
    2.0
    """

    sharpness: float
    by_entry = False
    by_row = False

    def __post_init__(self) -> None:
        """Error unless κ is positive."""
        positive("SoftMax.sharpness", self.sharpness, hint="The larger, the closer to the largest value.")

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        largest = float(s.max())
        share = np.exp(self.sharpness * (s - largest))
        whole = float(share.sum())
        share /= whole
        size = float(w.flat[0])

        def curvature(ds: Array) -> Array:
            return size * self.sharpness * share * (ds - np.sum(share * ds))

        return Penalised(size * (largest + float(np.log(whole)) / self.sharpness), size * share, curvature)
