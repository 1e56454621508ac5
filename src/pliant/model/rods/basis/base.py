"""What every basis has: functions of X in [0, 1], their number, degree and kinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...cost import check_functions
from ...validate import integer
from ..quadrature import points_along

__all__ = ["Basis", "set_integer"]


class Basis(ABC):
    """A finite family of functions on [0, 1].

    Call it with points to get the values: ``basis(X)`` has shape (len(X), size). A class of your own gives `size`, `degree` and
    `values`, and `breakpoints` if its functions have kinks.

    Attributes
    ----------
    name : str or None
        By which `as_basis` makes it from a whole number.
    remedy : str
        What to do if its functions are linearly dependent.
    """

    name: ClassVar[str | None] = None
    remedy: ClassVar[str] = "Use fewer functions."

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of functions."""

    @property
    @abstractmethod
    def degree(self) -> int:
        """Polynomial degree in each element.

        For functions that are not polynomials, the number for which ``2 * degree + 2`` Gauss points integrate
        products of two of them to at least six digits.
        """

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing points inside (0, 1) where a function or a derivative jumps."""
        return ()

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """Values of the functions.

        Parameters
        ----------
        X : array_like, shape (n,)
            Normalised arc length in [0, 1]; one number counts as one point.

        Returns
        -------
        ndarray, shape (n, size)
            At a breakpoint the values of the element that starts there; at X = 1 those of the last element.
        """
        points = points_along(X)
        if len(points) == 0:
            return np.zeros((0, self.size))
        values = self.values(points)
        if values.shape != (len(points), self.size):
            raise ValueError(
                f"{self!r}.values returned shape {values.shape} for {len(points)} points, but ({len(points)}, {self.size}) is "
                "needed: one row per point, one column per function."
            )
        return values

    @abstractmethod
    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at checked points, shape (n, size)."""

    def __repr__(self) -> str:
        """Name and arguments; what equals its default is left out."""
        first, *others = fields(self)  # type: ignore[arg-type]
        shown = [repr(getattr(self, first.name))]
        shown += [f"{f.name}={getattr(self, f.name)!r}" for f in others if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(shown)})"


def set_integer(basis: Basis, field: str, minimum: int, hint: str = "") -> None:
    """Check a whole-number field of a frozen basis and store it as a Python int."""
    name = f"{type(basis).__name__} {field}"
    object.__setattr__(basis, field, integer(name, getattr(basis, field), minimum=minimum, hint=hint))
    check_functions(f"{name}: the number of functions", basis.size)
