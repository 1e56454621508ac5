"""Stiffening or softening as a polynomial of the strains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .base import GROUPS, Array, Law, Term, numbers

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["Polynomial"]

MOST = 3  # coefficients of each strain
_WHERE = "coefficients are numbers: of e², e⁴, e⁶ in torsion, bending and shear, of e, e², e³ in stretch"


@dataclass(frozen=True, repr=False)
class Polynomial(Law):
    """Elasticity that stiffens or softens with strain: ``Λ = Σ e (1 + c₁ e² + c₂ e⁴ + c₃ e⁶)`` with ``e = ξ − ξ*``.

    Parameters
    ----------
    torsion, bending, shear : float or sequence
        c₁, c₂, c₃ [m²/rad², m⁴/rad⁴, … or –]; in bending and shear e² is the sum of the squares of both components.
    stretch : float or sequence
        c₁, c₂, c₃ of ``Λ = EA e (1 + c₁ e + c₂ e² + c₃ e³)``, which may differ in tension and compression.

    Notes
    -----
    The energy per length is ``½ eᵀΣe + Σ_k c_k Q ρ²ᵏ/(2k + 2)`` with ``Q = Σ_c Σ_cc e_c²`` and ``ρ² = Σ_c e_c²`` over the components of each
    pair, so that the tangent is symmetric. Where the components have different stiffness, each has the law above along its own axis.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Polynomial(bending=0.02)  # at 5 rad/m half as stiff again as at first
    Polynomial(bending=(0.02,))
    """

    torsion: tuple[float, ...] | float = ()
    bending: tuple[float, ...] | float = ()
    stretch: tuple[float, ...] | float = ()
    shear: tuple[float, ...] | float = ()

    elastic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the values."""
        for name in GROUPS:
            given = numbers(f"Polynomial.{name}", getattr(self, name))
            if len(given) > MOST:
                raise ValueError(f"Polynomial.{name} = {given!r} is not allowed: at most {MOST} {_WHERE}.")
            self._set(name, given)

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """The linear term, and one for each group of strains that has coefficients."""
        out = [Term("linear", stiffness.reshape(-1, 36))]
        for name, own in GROUPS.items():
            given = getattr(self, name)
            if given:
                row = np.zeros((len(X), 2 + MOST))
                row[:, : len(own)] = stiffness[:, own, own]
                row[:, 2 : 2 + len(given)] = given
                out.append(Term("polynomial", row, own[0], len(own), choice=int(name == "stretch")))
        return out
