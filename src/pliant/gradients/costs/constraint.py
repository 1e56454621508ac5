"""Constraints: quantities that are to stay within bounds, by an augmented Lagrangian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.validate import reals, shown
from ...system import System
from .cost import Term
from .penalties import Penalised, Penalty
from .states import Array, States
from .times import Weights, When, checked_when, row_weights

__all__ = ["Constraint", "Multipliers"]


class Constraint:
    """A quantity that is to stay within bounds, for `optimize`.

    Parameters
    ----------
    quantity : Quantity
    lower, upper : float or array (m,), optional
        Bounds of its entries; where both are the same the quantity is to have that value.
    at : "all", "end", "start", time, list of times, or Weights
        At which rows of the motion; see `Term`. How large weights are does not matter.

    Examples
    --------
    >>> import pliant as pl
    >>> tip = pl.costs.Position("arm.tip")
    >>> tip[2] >= 0.05
    <constraint 0.05 <= Position('arm.tip')[2] at all>
    >>> pl.Constraint(tip, (0.3, 0.0, 0.1), (0.3, 0.0, 0.1), at="end")
    <constraint Position('arm.tip') = [0.3, 0.0, 0.1] at end>
    """

    def __init__(
        self,
        quantity: Any,
        lower: float | ArrayLike | None = None,
        upper: float | ArrayLike | None = None,
        *,
        at: When = "all",
    ) -> None:
        if not hasattr(quantity, "per_step"):
            raise TypeError(f"quantity = {shown(quantity)} must be a Quantity, for example costs.Position(frame).")
        if lower is None and upper is None:
            raise ValueError("a constraint needs a lower or an upper bound, or both.")
        if quantity.per_step:
            raise ValueError("rates of inputs cannot be constrained: use pl.Smooth, or bounds of the inputs.")
        self.quantity, self.at = quantity, checked_when(at)
        self.lower = np.asarray(-np.inf if lower is None else reals("lower", lower), dtype=float)
        self.upper = np.asarray(np.inf if upper is None else reals("upper", upper), dtype=float)
        if self.lower.ndim > 1 or self.upper.ndim > 1 or np.any(self.lower > self.upper):
            raise ValueError(
                f"bounds {shown(lower)} and {shown(upper)} are not allowed: numbers or vectors (m,), the lower not above the upper."
            )

    def check(self, system: System) -> int:
        """The number of entries; error if bounds do not fit."""
        m = self.quantity.size(system)
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound.shape not in ((), (m,)):
                raise ValueError(f"{name} has {bound.size} entries, but {self.quantity!r} has {m}.")
        return int(m)

    def rows(self, states: States) -> Array:
        """1 for the rows where it counts, (T,)."""
        return (row_weights(self.at, states.t, False, None) > 0.0).astype(float)

    def violation(self, states: States) -> Array:
        """How far each entry is beyond its bounds, in rows where it counts (n, m); 0 within them."""
        rows = np.flatnonzero(self.rows(states))
        s = self.quantity.evaluate(states, rows).value
        return np.maximum(0.0, np.maximum(self.lower - s, s - self.upper))

    def __repr__(self) -> str:
        """As one would write it."""
        low, high = self.lower.tolist(), self.upper.tolist()
        when = self.at if isinstance(self.at, str) else "some times"
        if np.array_equal(self.lower, self.upper):
            return f"<constraint {self.quantity!r} = {low} at {when}>"
        left = f"{low} <= " if np.any(np.isfinite(self.lower)) else ""
        right = f" <= {high}" if np.any(np.isfinite(self.upper)) else ""
        return f"<constraint {left}{self.quantity!r}{right} at {when}>"


@dataclass(eq=False)
class Multipliers(Penalty):
    """The augmented Lagrangian of bounds on the entries: multipliers (n, m) and a weight ρ.

    ``½ρ |s − c|² − |λ|²/2ρ`` where c is the nearest to ``s + λ/ρ`` within the bounds, from which s is counted there; λ > 0 pushes s down.
    """

    lower: Array
    upper: Array
    value: Array
    weight: float

    def evaluate(self, s: Array, w: Array) -> Penalised:
        """See `Penalty.evaluate`."""
        force = self.weight * (s - np.clip(s + self.value / self.weight, self.lower, self.upper)) + self.value
        beyond = force != 0.0
        total = 0.5 * float(np.sum(force**2 - self.value**2)) / self.weight
        return Penalised(total, force, lambda ds: self.weight * beyond * ds)

    def update(self, s: Array) -> None:
        """Multipliers as they are at s."""
        self.value = self.evaluate(s, np.ones_like(s)).slope


def lagrangian(constraint: Constraint, states: States, weight: float) -> tuple[Term, Multipliers]:
    """The term of a constraint with multipliers of zero, for motions with the rows of `states`."""
    rows = constraint.rows(states)
    shape = int(rows.sum()), constraint.check(states.system)
    penalty = Multipliers(
        np.broadcast_to(constraint.lower, shape), np.broadcast_to(constraint.upper, shape), np.zeros(shape), weight
    )
    return Term(constraint.quantity, penalty, at=Weights(rows), name=repr(constraint)), penalty
