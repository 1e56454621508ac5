"""Linear elasticity, the law of a rod that is given none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .base import Array, Law, Term

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["Linear"]


@dataclass(frozen=True, repr=False)
class Linear(Law):
    """Linear elasticity, ``Λ = Σ (ξ − ξ*)``: what a rod without a law has, and what acts where none of its laws is elastic.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Linear() + pl.Prony(g=0.5, tau=2.0)
    (Linear(), Prony(g=(0.5,), tau=(2.0,)))
    """

    elastic: ClassVar[bool] = True
    diagonal: ClassVar[bool] = False

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term: Σ."""
        return [Term("linear", stiffness.reshape(-1, 36))]
