"""When a term of a cost counts: weights of the rows of a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...model.validate import choice, reals, shown, vector
from .states import Array, Rows

__all__ = ["Weights", "When", "checked_when", "row_weights"]

_NAMED = ("end", "all", "start")
_SAME = 1e-9  # relative difference up to which a time is that of a row


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights (T,) of the rows of a motion, for the argument `at` of a cost; none is negative.

    Examples
    --------
    >>> import pliant as pl
    >>> late = pl.costs.Weights([0.0, 0.0, 1.0, 2.0])
    >>> pl.Reach("arm.tip", (0.3, 0.0, 0.1), at=late)
    <cost reach arm.tip>
    """

    values: Array

    def __init__(self, values: ArrayLike) -> None:
        array = reals("Weights", values, hint="One weight for each row of the motion.")
        vector("Weights", array, (array.size,), hint="One weight for each row of the motion.")
        if np.any(array < 0.0) or not np.any(array > 0.0):
            raise ValueError(
                f"Weights = {shown(values)} is not allowed: none may be negative, and one must be positive."
            )
        object.__setattr__(self, "values", array)


When = Literal["end", "all", "start"] | float | ArrayLike | Weights


def checked_when(at: When) -> When:
    """What was given as `at`; error if it is no time. Times are read as an array."""
    if isinstance(at, Weights):
        return at
    if isinstance(at, str):
        choice("at", at, _NAMED, hint="Or give a time [s], several times, or costs.Weights.")
        return at
    times = np.atleast_1d(reals("at", at, hint='Choose "end", "all" or "start", or give times [s] or costs.Weights.'))
    if times.size == 0:
        raise ValueError('at = [] is not allowed: give at least one time [s], or one of "end", "all", "start".')
    return vector("at", times, (times.size,), hint="Times in s.")


def row_weights(at: When, t: Array, per_step: bool, integral: Array | None) -> Array:
    """Weights (T,) of the rows at times t.

    "all" is an integral over time: by the trapezoidal rule, or as given by `integral`; `per_step` is for what belongs to the step that
    ends at a row. A single row has the weight 1.
    """
    T = len(t)
    out = np.zeros(T)
    if isinstance(at, Weights):
        if len(at.values) != T:
            raise ValueError(f"Weights has {len(at.values)} entries, but the motion has {T} rows: give one for each.")
        return at.values
    if not isinstance(at, str):
        out[_rows_at(np.asarray(at), t)] = 1.0
    elif at == "end":
        out[-1] = 1.0
    elif at == "start":
        out[0] = 1.0
    elif integral is not None and not per_step:
        return integral
    elif T == 1:
        out[0] = 1.0
    else:
        steps = np.diff(t)
        share = 0.0 if per_step else 0.5
        out[1:] += (1.0 - share) * steps
        out[:-1] += share * steps
    return out


def _rows_at(times: Array, t: Array) -> Rows:
    """Rows of some times; error if there are none at them."""
    near = np.zeros(len(times), dtype=np.int64)
    if len(t) > 1:
        near = np.clip(np.searchsorted(t, times), 1, len(t) - 1).astype(np.int64)
        near = near - (np.abs(t[near - 1] - times) < np.abs(t[near] - times))
    wrong = np.abs(t[near] - times) > _SAME * max(1.0, float(np.abs(t).max()))
    if np.any(wrong):
        k = int(np.argmax(wrong))
        raise ValueError(
            f"at = {times[k]:g} s is not the time of a row: the nearest is {t[near[k]]:g} s, of {len(t)} rows from {t[0]:g} s to "
            f"{t[-1]:g} s. Give times at the ends of steps."
        )
    return near
