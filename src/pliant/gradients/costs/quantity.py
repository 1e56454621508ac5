"""Quantities: vectors that belong to each state of a motion, with exact derivatives; and arithmetic with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.signal import Signal
from ...model.validate import positive, reals, shown, vector
from ...system import System
from .constraint import Constraint
from .cost import Cost, Term
from .penalties import Excess, Linear, Penalty, SoftMax
from .states import Array, Evaluated, Rows, Slopes, States, Variation, still
from .times import When

__all__ = ["LocalQuantity", "Quantity", "Target", "chosen", "stack"]

Target = float | ArrayLike | Callable[[float], ArrayLike]


class Quantity(ABC):
    """A vector (m,) for each state of a motion, with exact derivatives by coordinates, velocities and inputs.

    Quantities can be added, subtracted from each other, multiplied by numbers, vectors (m,) and (with @) matrices, indexed and
    stacked. What is subtracted may also be a number, a vector (m,), rows (T, m), or a function of time. `near`, `below`, `above`,
    `mean`, `integral` and `soft_max` make costs of them.

    Examples
    --------
    >>> import pliant as pl
    >>> tip = pl.costs.Position("arm.tip")
    >>> cost = tip[2].above(0.05, weight=100.0) + (tip - pl.costs.Position("arm")).norm().mean()
    >>> cost
    <cost above: Position('arm.tip')[2] + mean: (Position('arm.tip') - Position('arm')).norm()>
    """

    __array_ufunc__ = None  # numpy must not take over `array @ quantity`
    __iter__ = None  # with __getitem__ alone Python would count through entries without end
    per_step = False  # whether a row belongs to the step that ends there (rates of inputs) rather than to the state

    @abstractmethod
    def size(self, system: System) -> int:
        """Number m of entries; error if the system lacks what the quantity is about."""

    @abstractmethod
    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """Value (n, m) on some rows of the states, or on all, and its derivative by all of them."""

    # ------------------------------------------------------------ costs

    def near(self, goal: Target = 0.0, *, at: When = "all", weight: Any = 1.0, penalty: Penalty | None = None) -> Cost:
        """The cost of being away from a goal: ``½ |s − goal|²``, or another `penalty`.

        Parameters
        ----------
        goal : float, array (m,) or (T, m), or function of t
        at, weight, penalty
            See `Term`.
        """
        return Term(self if _is_nothing(goal) else self - goal, penalty, at=at, weight=weight, name=f"near: {self!r}")

    def below(self, limit: Target, *, at: When = "all", weight: Any = 1.0) -> Cost:
        """The cost of being above a limit: ``½ max(0, s − limit)²`` for each entry."""
        return Term(self - limit, Excess(), at=at, weight=weight, name=f"below: {self!r}")

    def above(self, limit: Target, *, at: When = "all", weight: Any = 1.0) -> Cost:
        """The cost of being below a limit: ``½ max(0, limit − s)²`` for each entry."""
        return Term(-(self - limit), Excess(), at=at, weight=weight, name=f"above: {self!r}")

    def integral(self, *, at: When = "all", weight: Any = 1.0) -> Cost:
        """The integral over time of the sum of the entries."""
        return Term(self, Linear(), at=at, weight=weight, name=f"integral: {self!r}")

    def mean(self, *, at: When = "all", weight: Any = 1.0) -> Cost:
        """The mean over time of the sum of the entries."""
        return Term(self, Linear(), at=at, weight=weight, average=True, name=f"mean: {self!r}")

    def soft_max(self, sharpness: float, *, at: When = "all", weight: Any = 1.0) -> Cost:
        """The largest entry of all times, rounded off; see `SoftMax`."""
        return Term(self, SoftMax(sharpness), at=at, weight=weight, name=f"soft max: {self!r}")

    # ------------------------------------------------------------ constraints

    def __ge__(self, lower: Any) -> Constraint:
        """The constraint to be above a bound, at all times; see `Constraint`."""
        return Constraint(self, lower=lower)

    def __le__(self, upper: Any) -> Constraint:
        """The constraint to be below a bound, at all times."""
        return Constraint(self, upper=upper)

    # ------------------------------------------------------------ arithmetic

    def norm(self, rounding: float = 1e-9) -> Quantity:
        """``√(|s|² + ε²)``, one entry; the rounding ε keeps it smooth where s vanishes, in the unit of s."""
        return Length(self, positive("rounding", rounding))

    def __getitem__(self, entries: int | slice | Sequence[int]) -> Quantity:
        """Some of the entries."""
        return Entries(self, entries)

    def __neg__(self) -> Quantity:
        """−s."""
        return Mapped(self, -1.0)

    def __mul__(self, factor: Any) -> Quantity:
        """A multiple, by a number or entry by entry by a vector (m,)."""
        return Mapped(self, _factor(factor, (0, 1)))

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Quantity:
        """A fraction."""
        return Mapped(self, 1.0 / _factor(factor, (0, 1)))

    def __rmatmul__(self, matrix: Any) -> Quantity:
        """The product of a matrix (k, m) with a quantity."""
        return Mapped(self, _factor(matrix, (2,)))

    def __sub__(self, other: Any) -> Quantity:
        """The difference from another quantity or from a target."""
        return Added(self, other, -1.0) if isinstance(other, Quantity) else Shifted(self, other, -1.0)

    def __add__(self, other: Any) -> Quantity:
        """The sum with another quantity or with a target."""
        if isinstance(other, Cost):
            return NotImplemented
        return Added(self, other, 1.0) if isinstance(other, Quantity) else Shifted(self, other, 1.0)

    __radd__ = __add__

    def __rsub__(self, other: Any) -> Quantity:
        """The difference of a target from this."""
        return -(self - other)


class LocalQuantity(Quantity):
    """A quantity whose rows depend on their own states alone; a class of your own has `size` and `at`."""

    @abstractmethod
    def at(self, states: States) -> Evaluated:
        """The quantity on all rows."""

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        self.size(states.system)
        if rows is None:
            return self.at(states)
        found = self.at(states.rows(rows))

        def pull(w: Array) -> Variation:
            out = still(states)
            for whole, part in zip(out, found.pull(w)):
                whole[rows] = part
            return out

        return Evaluated(found.value, lambda d: found.push(Variation(*(part[rows] for part in d))), pull, found.slopes)


def chosen(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Names as a tuple; error if they are something else. None means all."""
    if names is None:
        return None
    given = (names,) if isinstance(names, str) else names
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(name, str) for name in given):
        raise TypeError(f"names = {shown(names)} must be a name, a list of names, or None for all.")
    return tuple(given)


# ---------------------------------------------------------------- what arithmetic makes


def _is_nothing(goal: Any) -> bool:
    return isinstance(goal, (int, float)) and goal == 0


def _factor(value: Any, dimensions: tuple[int, ...]) -> Array:
    array = reals("factor", value, hint="Quantities are multiplied by numbers and vectors, and by matrices with @.")
    if array.ndim not in dimensions:
        raise ValueError(
            f"factor has shape {array.shape}: use * for numbers and vectors (m,), and @ for matrices (k, m)."
        )
    return vector("factor", array, array.shape)


def _through(found: Evaluated, change: Callable[[Array], Array]) -> Callable[[], Slopes] | None:
    """What a linear map of the entries makes of the derivatives of rows, if they are known."""
    slopes = found.slopes
    if slopes is None:
        return None

    def changed() -> Slopes:
        q, v, u = (None if J is None else change(J) for J in slopes())
        return q, v, u

    return changed


class Mapped(Quantity):
    """A quantity times a number, a vector (entry by entry) or a matrix."""

    def __init__(self, inner: Quantity, factor: float | Array) -> None:
        self.inner, self.factor, self.per_step = inner, np.asarray(factor, dtype=float), inner.per_step

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        m, shape = self.inner.size(system), self.factor.shape
        if shape and shape[-1] not in (m, *((1,) if len(shape) == 1 else ())):
            raise ValueError(f"a factor of shape {shape} does not fit {self.inner!r}, which has {m} entries.")
        return shape[0] if len(shape) == 2 else m

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        self.size(states.system)
        found, A = self.inner.evaluate(states, rows), self.factor
        if A.ndim == 2:
            return Evaluated(
                found.value @ A.T,
                lambda d: found.push(d) @ A.T,
                lambda w: found.pull(w @ A),
                _through(found, lambda J: A @ J),
            )
        factor = A[:, None] if A.ndim else A
        return Evaluated(
            found.value * A,
            lambda d: found.push(d) * A,
            lambda w: found.pull(w * A),
            _through(found, lambda J: factor * J),
        )

    def __repr__(self) -> str:
        """As it was written."""
        if self.factor.ndim == 0 and float(self.factor) == -1.0:
            return f"-{_in_brackets(self.inner)}"
        return f"{_short(self.factor)} {'@' if self.factor.ndim == 2 else '*'} {_in_brackets(self.inner)}"


class Shifted(Quantity):
    """A quantity plus or minus a target that does not depend on the states."""

    def __init__(self, inner: Quantity, target: Target, sign: float) -> None:
        self.inner, self.sign, self.per_step = inner, sign, inner.per_step
        self.target: Any = target
        if not callable(target):
            hint = "A target is a number, a vector (m,), rows (T, m), or a function of t."
            array = reals("target", target, hint=hint)
            if array.ndim > 2:
                raise ValueError(f"target has shape {array.shape}. {hint}")
            self.target = vector("target", array, array.shape, hint=hint)

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        m = self.inner.size(system)
        if not callable(self.target) and self.target.ndim and self.target.shape[-1] != m:
            raise ValueError(
                f"target has shape {self.target.shape}, but {self.inner!r} has {m} entries: give ({m},), or rows (T, {m})."
            )
        return m

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        m = self.size(states.system)
        found = self.inner.evaluate(states, rows)
        return Evaluated(found.value + self.sign * self._values(states, rows, m), found.push, found.pull, found.slopes)

    def _values(self, states: States, rows: Rows | None, m: int) -> Array:
        if not callable(self.target):
            if self.target.ndim < 2:
                return self.target
            if len(self.target) != len(states):
                raise ValueError(
                    f"target has {len(self.target)} rows, but the motion has {len(states)}: give one for each, or a function of t."
                )
            return self.target if rows is None else self.target[rows]
        t = states.t if rows is None else states.t[rows]
        if isinstance(self.target, Signal):
            return vector("target", np.asarray(self.target(t)).reshape(len(t), -1), (len(t), m))
        given = [self.target(float(time)) for time in t]
        with suppress(ValueError, TypeError):
            array = np.array(given)
            if array.shape == (len(t), m) and array.dtype.kind in "fiu" and np.all(np.isfinite(array)):
                return array.astype(np.float64)  # the others one by one, for a message
        values = [reals("target(t)", value) for value in given]
        wrong = next((value for value in values if value.shape not in ((), (m,))), None)
        if wrong is not None:
            raise ValueError(f"target(t) has shape {wrong.shape}, but {self.inner!r} has {m} entries: return ({m},).")
        return vector("target(t)", np.array([np.broadcast_to(value, (m,)) for value in values]), (len(t), m))

    def __repr__(self) -> str:
        """As it was written."""
        target = getattr(self.target, "__name__", "f(t)") if callable(self.target) else _short(self.target)
        return f"{self.inner!r} {'-' if self.sign < 0 else '+'} {target}"


class Added(Quantity):
    """The sum or difference of two quantities."""

    def __init__(self, first: Quantity, second: Quantity, sign: float) -> None:
        self.first, self.second, self.sign = first, second, sign
        self.per_step = _together((first, second))

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        a, b = self.first.size(system), self.second.size(system)
        if a != b:
            raise ValueError(
                f"{self.first!r} has {a} entries and {self.second!r} has {b}: both must have the same number."
            )
        return a

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        self.size(states.system)
        a, b, sign = self.first.evaluate(states, rows), self.second.evaluate(states, rows), self.sign

        def pull(w: Array) -> Variation:
            return Variation(*(x + sign * y for x, y in zip(a.pull(w), b.pull(w))))

        return Evaluated(a.value + sign * b.value, lambda d: a.push(d) + sign * b.push(d), pull)

    def __repr__(self) -> str:
        """As it was written."""
        return f"{self.first!r} {'-' if self.sign < 0 else '+'} {_in_brackets(self.second)}"


class Stack(Quantity):
    """The entries of several quantities one after the other; made by `stack`."""

    def __init__(self, parts: tuple[Quantity, ...]) -> None:
        self.parts, self.per_step = parts, _together(parts)

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return sum(part.size(system) for part in self.parts)

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        found = [part.evaluate(states, rows) for part in self.parts]
        ends = np.cumsum([part.value.shape[1] for part in found])[:-1]

        def pull(w: Array) -> Variation:
            pulled = [part.pull(own) for part, own in zip(found, np.split(w, ends, axis=1))]
            return Variation(*(np.sum(parts, axis=0) for parts in zip(*pulled)))

        return Evaluated(
            np.hstack([part.value for part in found]), lambda d: np.hstack([part.push(d) for part in found]), pull
        )

    def __repr__(self) -> str:
        """As it was written."""
        return f"stack({', '.join(map(repr, self.parts))})"


class Entries(Quantity):
    """Some entries of a quantity."""

    def __init__(self, inner: Quantity, entries: Any) -> None:
        self.inner, self.per_step = inner, inner.per_step
        if isinstance(entries, slice):
            self.entries: Any = entries
        elif isinstance(entries, (int, np.integer)) and not isinstance(entries, bool):
            self.entries = [int(entries)]
        elif (
            isinstance(entries, (list, tuple))
            and all(type(k) is int for k in entries)
            and len(set(entries)) == len(entries)
        ):
            self.entries = list(entries)
        else:
            raise TypeError(
                f"entries = {shown(entries)} must be a whole number, a slice, or a list of different whole numbers."
            )

    def _which(self, m: int) -> Rows:
        try:
            return np.arange(m)[self.entries]
        except IndexError:
            raise IndexError(f"{self.inner!r} has {m} entries; entries {self.entries} are not among them.") from None

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(self._which(self.inner.size(system)))

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        found = self.inner.evaluate(states, rows)
        own = self._which(found.value.shape[1])

        def pull(w: Array) -> Variation:
            whole = np.zeros_like(found.value)
            whole[:, own] = w
            return found.pull(whole)

        return Evaluated(
            found.value[:, own], lambda d: found.push(d)[:, own], pull, _through(found, lambda J: J[:, own])
        )

    def __repr__(self) -> str:
        """As it was written."""
        own = self.entries
        shown = f"{own.start or ''}:{own.stop or ''}" if isinstance(own, slice) else ", ".join(map(str, own))
        return f"{_in_brackets(self.inner)}[{shown}]"


class Length(Quantity):
    """The rounded norm of a quantity."""

    def __init__(self, inner: Quantity, rounding: float) -> None:
        self.inner, self.rounding, self.per_step = inner, rounding, inner.per_step

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        self.inner.size(system)
        return 1

    def evaluate(self, states: States, rows: Rows | None = None) -> Evaluated:
        """See `Quantity.evaluate`."""
        found = self.inner.evaluate(states, rows)
        value = np.sqrt(np.sum(found.value**2, axis=1, keepdims=True) + self.rounding**2)
        n = found.value / value
        return Evaluated(value, lambda d: np.sum(n * found.push(d), axis=1, keepdims=True), lambda w: found.pull(w * n))

    def __repr__(self) -> str:
        """As it was written."""
        return f"{_in_brackets(self.inner)}.norm()"


def stack(*parts: Quantity) -> Quantity:
    """The entries of several quantities one after the other.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.costs.stack(pl.costs.Position("arm.tip"), pl.costs.Velocity("arm.tip"))
    stack(Position('arm.tip'), Velocity('arm.tip'))
    """
    if not parts or not all(isinstance(part, Quantity) for part in parts):
        raise TypeError(f"stack({shown(parts)}): give one or more quantities, for example costs.Position(frame).")
    return Stack(parts)


def _together(parts: Sequence[Quantity]) -> bool:
    """Whether all parts belong to steps; error if only some do."""
    kinds = {part.per_step for part in parts}
    if len(kinds) > 1:
        raise ValueError("rates of inputs belong to steps, other quantities to states: keep them in separate costs.")
    return kinds.pop()


def _in_brackets(quantity: Quantity) -> str:
    return f"({quantity!r})" if isinstance(quantity, (Added, Shifted, Mapped)) else repr(quantity)


def _short(values: Array) -> str:
    return str(values.tolist()) if values.size <= 4 else f"<{'×'.join(map(str, values.shape))}>"
