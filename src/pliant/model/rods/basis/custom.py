"""Functions given by the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...cost import check_functions
from ...validate import integer, reals
from ..quadrature import check_breakpoints
from .base import Basis

__all__ = ["Custom"]


@dataclass(frozen=True, init=False, repr=False)
class Custom(Basis):
    """Functions given by the user.

    Parameters
    ----------
    function : callable
        Takes X, shape (n,), and returns the values of all functions, shape (n, size).
    size : int
        Number of functions, at least 1.
    degree : int
        Polynomial degree in each element, or for other functions a number that makes ``2 * degree + 2`` Gauss
        points per element enough.
    breakpoints : sequence of float, optional
        Increasing points inside (0, 1) where a function or a derivative jumps.

    Notes
    -----
    The function is tried at the element ends when the basis is made, and every later result is checked for
    shape and for NaN or infinity. Two custom bases are equal only if they hold the same function object.
    """

    _function: Callable[[NDArray[np.float64]], ArrayLike]
    _size: int
    _degree: int
    _breakpoints: tuple[float, ...]

    remedy: ClassVar[str] = "Remove or change one of these functions."

    def __init__(
        self,
        function: Callable[[NDArray[np.float64]], ArrayLike],
        size: int,
        degree: int,
        breakpoints: Iterable[float] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"Custom function = {function!r} must be callable: X of shape (n,) -> (n, size).")
        object.__setattr__(self, "_function", function)
        object.__setattr__(self, "_size", check_functions("Custom size", integer("Custom size", size, minimum=1)))
        object.__setattr__(self, "_degree", check_functions("Custom degree", integer("Custom degree", degree)))
        object.__setattr__(self, "_breakpoints", check_breakpoints("Custom breakpoints", breakpoints))
        self.values(np.array([0.0, *self._breakpoints, 1.0]))

    @property
    def size(self) -> int:
        """Number of functions."""
        return self._size

    @property
    def degree(self) -> int:
        """Degree given by the user."""
        return self._degree

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Breakpoints given by the user."""
        return self._breakpoints

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        values = reals(f"what {self!r} returned", self._function(X))
        if values.shape != (len(X), self.size):
            raise ValueError(
                f"{self!r} returned shape {values.shape} for {len(X)} points, but ({len(X)}, {self.size}) "
                "is needed: one row per point, one column per function."
            )
        finite = np.isfinite(values)
        if not np.all(finite):
            row, column = np.argwhere(~finite)[0]
            raise ValueError(
                f"{self!r} returned {values[row, column]} for function {column} at X = {X[row]:g}: "
                "every value on [0, 1] must be finite."
            )
        return values

    def __repr__(self) -> str:
        """Name of the function and the other arguments."""
        name = getattr(self._function, "__name__", repr(self._function))
        tail = f", breakpoints={self.breakpoints}" if self.breakpoints else ""
        return f"Custom({name}, size={self.size}, degree={self.degree}{tail})"
