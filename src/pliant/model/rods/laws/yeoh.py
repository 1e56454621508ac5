"""Rubber that stiffens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...validate import finite
from .base import Array
from .rubber import Rubber

__all__ = ["Yeoh"]


@dataclass(frozen=True, repr=False)
class Yeoh(Rubber):
    """Rubber that stiffens at large stretch: ``w = c₁ (I − 3) + c₂ (I − 3)² + c₃ (I − 3)³`` per volume with ``c₁ = E/6`` of the rod's material.

    Parameters
    ----------
    c2, c3 : float
        [Pa]. Measured c₁, c₂, c₃ mean ``Material(young=6 * c1, poisson=0.5, ...)`` and ``Yeoh(c2, c3)``.

    Notes
    -----
    With ``I − 3 = J(λ) = λ² + 2/λ − 3`` the force along the axis is ``A w'(λ)``. As for `NeoHookean` the section changes with the stretch, and the energy is of second order
    in curvature, torsion and shear. See docs/laws.md.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Yeoh(c2=-1e3, c3=50.0)
    Yeoh(c2=-1000.0, c3=50.0)
    """

    c2: float = 0.0
    c3: float = 0.0

    units: ClassVar[dict[str, str]] = {"c2": "Pa", "c3": "Pa"}

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("c2", "c3"):
            self._set(name, finite(f"Yeoh.{name}", getattr(self, name), unit="Pa"))

    def ratios(self, c1: Array) -> tuple[Array, Array]:
        """c₂/c₁ and c₃/c₁."""
        return self.c2 / c1, self.c3 / c1
