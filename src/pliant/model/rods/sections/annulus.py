"""Tube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import Array, Section, oval
from .dimensions import Dimension

__all__ = ["Annulus"]


@dataclass(frozen=True, repr=False)
class Annulus(Section):
    """Tube: a circle with a concentric round hole.

    Parameters
    ----------
    outer, inner : float, pair or callable
        Radii [m], ``0 <= inner < outer``.
    shear_factor, torsion_factor
        See `Section`.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> tube = pl.Annulus(outer=0.01, inner=0.008)
    >>> print(f"{tube.properties(0.5).area[0] / np.pi * 1e6:.0f} mm²")  # divided by π
    36 mm²
    """

    outer: Dimension
    inner: Dimension

    may_vanish: ClassVar[tuple[str, ...]] = ("inner",)
    is_round: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the values, and that the hole is smaller than the tube."""
        super().__post_init__()
        if not callable(self.outer) and not callable(self.inner):
            ends = np.array([0.0, 1.0])
            self._radii(ends[self.value("outer", ends, zero=True) > 0.0])

    def _radii(self, X: Array) -> tuple[Array, Array]:
        outer, inner = self.value("outer", X), self.value("inner", X)
        bad = inner >= outer
        if np.any(bad):
            i = int(np.argmax(bad))
            raise ValueError(
                f"Annulus.inner(X={X[i]:g}) = {inner[i]:g} is not allowed: must be smaller than "
                f"Annulus.outer(X={X[i]:g}) = {outer[i]:g} (m). Both are radii; were they swapped?"
            )
        return outer, inner

    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz and the torsion constant at X (m,)."""
        R, r = self._radii(X)
        area = np.pi * (R - r) * (R + r)  # factored: a thin wall loses no digits
        second = area * (R**2 + r**2) / 4.0
        return area, second, second.copy(), None

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,)."""
        r = self.reach(X)
        return oval(r, r, n)

    def reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,)."""
        return self.value("outer", X, zero=True)

    def hole(self, X: Array, n: int) -> Array | None:
        """Boundary of the hole (m, n, 2) at X (m,); None where there is none all along."""
        r = self.value("inner", X)
        return oval(r, r, n) if np.any(r > 0.0) else None
