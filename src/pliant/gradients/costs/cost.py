"""Costs: numbers that judge a motion or an equilibrium, with gradients by its states; sums of terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.validate import non_negative, reals, shown, text, vector
from .penalties import Penalty, Squares
from .states import Array, States, Variation, changes, still, total
from .times import When, checked_when, row_weights

if TYPE_CHECKING:
    from .quantity import Quantity

__all__ = ["Cost", "CostValue", "Sum", "Term", "as_cost"]


class CostValue:
    """What a cost is on some states.

    Attributes
    ----------
    value : float
    terms : dict
        Value of each term by its name.
    gradient : Variation
        Derivatives by q, v and u of every row; computed when it is first asked for.
    """

    def __init__(
        self,
        value: float,
        terms: dict[str, float],
        derive: Callable[[], Variation],
        curve: Callable[[Variation], Variation],
    ) -> None:
        self.value, self.terms, self._derive, self._curve = value, terms, derive, curve

    @cached_property
    def gradient(self) -> Variation:
        """Derivatives by q, v and u of every row."""
        return self._derive()

    def gauss_newton(self, d: Variation) -> Variation:
        """The product of the Gauss–Newton matrix with a change of the states; see `Cost.gauss_newton`."""
        return self._curve(d)

    def __repr__(self) -> str:
        """The value and its terms."""
        return f"CostValue({self.value:g}: {', '.join(f'{name} {value:g}' for name, value in self.terms.items())})"


class Cost(ABC):
    """A number that judges a motion or an equilibrium, with its derivatives. Costs can be added, and multiplied by numbers >= 0.

    A class of your own has `evaluate` and, if it wants, a `name`.

    Examples
    --------
    >>> import pliant as pl
    >>> cost = pl.Reach("arm.tip", (0.3, 0.0, 0.1)) + 1e-4 * pl.Effort() + 2.0 * pl.Smooth(1e-3)
    >>> cost
    <cost reach arm.tip + 0.0001 × effort + 2 × smooth>
    """

    __array_ufunc__ = None  # numpy must not take over `np.float64(2) * cost`
    name: str = "cost"

    @abstractmethod
    def evaluate(self, states: States, weights: Array | None = None) -> CostValue:
        """The cost of some states.

        Parameters
        ----------
        states : States
        weights : array (T,), optional
            Of the rows in integrals over time, ``at="all"``; those of the trapezoidal rule if left out.
        """

    def gauss_newton(self, states: States, d: Variation, weights: Array | None = None) -> Variation:
        """The product of the Gauss–Newton matrix of the cost with a change of the states: pull(ρ″ push(d)) for each term.

        To multiply it many times, keep ``cost.evaluate(states)`` and use its `gauss_newton`.
        """
        return self.evaluate(states, weights).gauss_newton(d)

    @property
    def parts(self) -> tuple[tuple[float, Cost], ...]:
        """The terms, each with its factor."""
        return ((1.0, self),)

    def __add__(self, other: Any) -> Cost:
        """The sum of two costs."""
        if _is_zero(other):  # where sum() starts
            return self
        return Sum((*self.parts, *other.parts)) if isinstance(other, Cost) else NotImplemented

    __radd__ = __add__

    def __mul__(self, factor: float) -> Cost:
        """A multiple of a cost."""
        hint = "A cost cannot be multiplied by a negative number; to make a quantity large, minimise its negative."
        size = non_negative("factor", factor, hint=hint)
        return Sum(tuple((size * own, cost) for own, cost in self.parts))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        """Names and factors of the terms."""
        shown = [cost.name if factor == 1.0 else f"{factor:g} × {cost.name}" for factor, cost in self.parts]
        return f"<cost {' + '.join(shown) or 'zero'}>"


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


class Sum(Cost):
    """A sum of costs with factors; what ``2.0 * a + b`` makes."""

    name = "sum"

    def __init__(self, parts: tuple[tuple[float, Cost], ...]) -> None:
        self._parts = parts

    @property
    def parts(self) -> tuple[tuple[float, Cost], ...]:
        """The terms, each with its factor."""
        return self._parts

    def evaluate(self, states: States, weights: Array | None = None) -> CostValue:
        """See `Cost.evaluate`."""
        found = [(factor, cost.evaluate(states, weights)) for factor, cost in self._parts]
        terms: dict[str, float] = {}
        for factor, one in found:
            for name, value in one.terms.items():
                free, k = name, 2
                while free in terms:
                    free, k = f"{name} ({k})", k + 1
                terms[free] = factor * value

        def derive() -> Variation:
            return total(states, [_times(factor, one.gradient) for factor, one in found])

        def curve(d: Variation) -> Variation:
            return total(states, [_times(factor, one.gauss_newton(d)) for factor, one in found])

        return CostValue(sum(factor * one.value for factor, one in found), terms, derive, curve)


def _times(factor: float, d: Variation) -> Variation:
    return Variation(*(factor * part for part in d))


def as_cost(value: Any) -> Cost:
    """A cost, or the sum of a list of costs.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.costs.as_cost([pl.Reach("arm.tip", (0.3, 0.0, 0.1)), pl.Effort()])
    <cost reach arm.tip + effort>
    """
    if isinstance(value, Cost):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        entries = list(value)
        if entries and all(isinstance(entry, Cost) for entry in entries):
            return Sum(tuple(part for entry in entries for part in entry.parts))
    hint = ""
    if hasattr(value, "per_step"):
        hint = " A quantity becomes one by a penalty: quantity.near(goal), .below(limit), .mean() and so on."
    raise TypeError(f"cost = {shown(value)} must be a cost such as pl.Reach(...), or a list of costs.{hint}")


class Term(Cost):
    """A quantity, a penalty, and when it counts.

    Parameters
    ----------
    quantity : Quantity
    penalty : Penalty
        `Squares`, `Norm`, `Huber`, `Excess`, `Linear` or `SoftMax`.
    at : "end", "all", "start", time, list of times, or Weights
        When it counts: at the last or first state, as an integral over time (trapezoidal rule; 1 for a single state), at times that are
        those of rows [s], or with a weight for each row.
    weight : float or array (m,)
        Factor, or one for each entry if the penalty is a sum over entries; not negative.
    average : bool
        Divide by the sum of the weights of rows: an integral becomes a mean.
    name : str, optional
        For reports.

    Examples
    --------
    >>> import pliant as pl
    >>> tip = pl.costs.Position("arm.tip")
    >>> pl.costs.Term(tip - (0.3, 0.0, 0.1), pl.costs.Norm(1e-3), at=[0.5, 1.0])
    <cost Norm of Position('arm.tip') - [0.3, 0.0, 0.1]>
    """

    def __init__(
        self,
        quantity: Quantity,
        penalty: Penalty | None = None,
        *,
        at: When = "all",
        weight: float | ArrayLike = 1.0,
        average: bool = False,
        name: str | None = None,
    ) -> None:
        if not hasattr(quantity, "per_step"):
            raise TypeError(f"quantity = {shown(quantity)} must be a Quantity, for example costs.Position(frame).")
        chosen = Squares() if penalty is None else penalty
        if not isinstance(chosen, Penalty):
            raise TypeError(
                f"penalty = {shown(penalty)} must be a Penalty, for example costs.Squares() or costs.Huber(0.1)."
            )
        self.quantity, self.penalty, self.average = quantity, chosen, average
        self.at = checked_when(at)
        self.weight = _weight(weight, chosen)
        self.name = f"{type(chosen).__name__} of {quantity!r}" if name is None else text("name", name)

    def evaluate(self, states: States, weights: Array | None = None) -> CostValue:
        """See `Cost.evaluate`."""
        if not isinstance(states, States):
            raise TypeError(
                f"states = {shown(states)} must be States; for a single state costs.States.at_rest(system, q, u)."
            )
        integral = None if weights is None else vector("weights", weights, (len(states),), hint="One for each row.")
        w = row_weights(self.at, states.t, self.quantity.per_step, integral)
        rows = np.flatnonzero(w)
        if not len(rows):
            return CostValue(0.0, {self.name: 0.0}, lambda: still(states), lambda d: still(states))
        if self.average:
            w = w / w.sum()
        m = self.quantity.size(states.system)
        if self.weight.shape not in ((1,), (m,)):
            raise ValueError(
                f"weight has {len(self.weight)} entries, but {self.quantity!r} has {m}: give one, or one for each."
            )
        found = self.quantity.evaluate(states, None if len(rows) == len(w) else rows)
        share = (w[rows, None] if self.penalty.by_row else np.ones((len(rows), 1))) * self.weight
        width = m if self.penalty.by_entry else 1
        result = self.penalty.evaluate(found.value, np.broadcast_to(share, (len(rows), width)))
        derive = cache(lambda: found.pull(result.slope))
        return CostValue(
            result.value,
            {self.name: result.value},
            derive,
            lambda d: found.pull(result.curvature(found.push(changes(states, d)))),
        )


def _weight(value: float | ArrayLike, penalty: Penalty) -> Array:
    """Weights of entries, (1,) or (m,)."""
    array = np.atleast_1d(reals("weight", value, hint="A number, or one for each entry of the quantity."))
    checked = vector("weight", array, (array.size,), hint="A number, or one for each entry of the quantity.")
    if np.any(checked < 0.0):
        raise ValueError(f"weight = {shown(value)} is not allowed: weights of costs are not negative.")
    if len(checked) != 1 and not penalty.by_entry:
        raise ValueError(
            f"weight = {shown(value)} is not allowed: {type(penalty).__name__} is not a sum over entries and takes one number. Multiply the "
            "quantity by a vector instead."
        )
    return checked
