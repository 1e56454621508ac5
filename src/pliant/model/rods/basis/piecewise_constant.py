"""Sections of constant strain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..quadrature import check_breakpoints
from .base import Basis, set_integer
from .elements import element_of, equal_parts

__all__ = ["PiecewiseConstant"]


@dataclass(frozen=True, repr=False)
class PiecewiseConstant(Basis):
    """Indicator functions of consecutive sections: each is 1 on its section and 0 elsewhere.

    Parameters
    ----------
    sections : int or sequence of float
        Number of equal sections, or the increasing points inside (0, 1) that separate sections of chosen
        lengths (n points make n + 1 sections).

    Examples
    --------
    >>> import pliant as pl
    >>> sections = pl.PiecewiseConstant(4)
    >>> sections.size, sections.breakpoints
    (4, (0.25, 0.5, 0.75))
    """

    sections: int | tuple[float, ...]

    name: ClassVar[str] = "piecewise_constant"

    def __post_init__(self) -> None:
        """Check the arguments."""
        if isinstance(self.sections, Iterable) and not isinstance(self.sections, str):
            object.__setattr__(self, "sections", check_breakpoints("PiecewiseConstant sections", self.sections))
        else:
            set_integer(self, "sections", 1, "Give the number of sections or the points that separate them.")

    @property
    def size(self) -> int:
        """Number of sections."""
        return self.sections if isinstance(self.sections, int) else len(self.sections) + 1

    @property
    def degree(self) -> int:
        """Polynomial degree, 0."""
        return 0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The points between sections."""
        return equal_parts(self.sections) if isinstance(self.sections, int) else self.sections

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n,), shape (n, size)."""
        return np.eye(self.size)[element_of(X, self.breakpoints)]
