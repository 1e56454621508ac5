"""Polynomials on the whole rod: what the families have in common."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Basis, set_integer

__all__ = ["Polynomials"]


@dataclass(frozen=True, repr=False)
class Polynomials(Basis):
    """Polynomials of degree 0 to `order` on the whole rod."""

    order: int

    def __post_init__(self) -> None:
        """Check the arguments."""
        set_integer(self, "order", 0, "The order is the highest degree; order 0 is a constant.")

    @property
    def size(self) -> int:
        """Number of functions, order + 1."""
        return self.order + 1

    @property
    def degree(self) -> int:
        """Polynomial degree, the order."""
        return self.order
