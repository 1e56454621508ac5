"""What a law is to follow: a set point, a `Signal`, or a function of t, as value, rate and acceleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.signal import Signal
from ...model.validate import reals, shown, vector

__all__ = ["Followed", "follow"]

Array = NDArray[np.float64]
Followed = Callable[[float], tuple[Array, Array, Array]]


def follow(field: str, value: Any, m: int) -> Followed:
    """A function of t that gives value, rate and acceleration, each (m,).

    Parameters
    ----------
    field : str
        Its name in messages.
    value : array (m,), Signal, or function of t
        A function returns y, or (y, ẏ), or (y, ẏ, ÿ); what it leaves out is zero. A `Signal` brings its derivatives along.
    m : int
    """
    if isinstance(value, Signal):
        if value.shape not in ((m,), () if m == 1 else (m,)):
            raise ValueError(f"{field} is a signal of shape {value.shape}, but ({m},) is needed.")
        return _Piecewise(value)
    if callable(value):
        return _Function(field, value, m)
    zero = np.zeros(m)
    point = vector(field, np.atleast_1d(reals(field, value)), (m,), hint="One value for each output.")
    return lambda t: (point, zero, zero)


class _Function:
    def __init__(self, field: str, function: Callable[[float], Any], m: int) -> None:
        self.field, self.function, self.m = field, function, m
        self(0.0)

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        found = self.function(t)
        parts = list(found) if isinstance(found, tuple) else [found]
        if not 1 <= len(parts) <= 3:
            raise TypeError(
                f"{self.field}(t) returned {shown(found)}, but y, (y, rate) or (y, rate, acceleration) is needed."
            )
        rows = [vector(f"{self.field}(t)", np.atleast_1d(np.asarray(x, dtype=float)), (self.m,)) for x in parts]
        rows += [np.zeros(self.m)] * (3 - len(rows))
        return rows[0], rows[1], rows[2]


class _Piecewise:
    """A signal with the derivatives of its polynomials; from the right where they jump."""

    def __init__(self, signal: Signal) -> None:
        self.t, self.pieces = np.array(signal.t), signal.pieces

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        k = int(np.searchsorted(self.t, t, side="right"))
        s = t - self.t[max(k - 1, 0)]
        c3, c2, c1, c0 = self.pieces[:, k].T
        return (
            np.asarray(((c3 * s + c2) * s + c1) * s + c0),
            np.asarray((3 * c3 * s + 2 * c2) * s + c1),
            np.asarray(6 * c3 * s + 2 * c2),
        )
