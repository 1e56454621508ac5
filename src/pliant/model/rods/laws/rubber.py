"""What rods of incompressible rubber have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...validate import shown
from .base import Array, Law, Term

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["Rubber"]


@dataclass(frozen=True, repr=False)
class Rubber(Law):
    """Base of `NeoHookean` and `Yeoh`: incompressible, with ``w = c₁ (I − 3) + c₂ (I − 3)² + c₃ (I − 3)³`` per volume and ``c₁ = E/6``."""

    elastic: ClassVar[bool] = True

    def ratios(self, c1: Array) -> tuple[Array, Array]:
        """c₂/c₁ and c₃/c₁ for some c₁ (m,)."""
        return np.zeros_like(c1), np.zeros_like(c1)

    def check(self, rod: Rod) -> None:
        """It needs an incompressible material with a section, and a reference stretch of one."""
        super().check(rod)
        name = type(self).__name__
        if rod.material is None or rod.section is None or rod.stiffness is not None:
            raise ValueError(
                f"law {name} needs section and material, from which all of its stiffness follows; leave out stiffness."
            )
        X = np.linspace(0.0, 1.0, 17)
        material = rod.material.at(X)
        E, G = material.young, material.shear
        if np.any(np.abs(E - 3.0 * G) > 1e-9 * np.maximum(E, 3.0 * G)):
            k = int(np.argmax(np.abs(E - 3.0 * G)))
            raise ValueError(
                f"law {name} is for an incompressible material, and this one has E = {E[k]:g} Pa and G = {G[k]:g} Pa: give Material(..., poisson=0.5)."
            )
        if np.any(E == 0.0):
            raise ValueError(f"law {name}: young = 0 is not allowed: it is the stiffness at small strains, E = 6 c1.")
        stretch = rod.reference(X)[:, 3]
        if np.any(stretch != 1.0):
            raise ValueError(
                f"law {name} needs a reference strain with stretch 1, since stretch is measured from there; got {shown(stretch.tolist())}."
            )

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term: the diagonal of Σ, c₂/c₁ and c₃/c₁."""
        assert rod.material is not None
        ratios = self.ratios(rod.material.at(X).young / 6.0)
        return [Term("rubber", np.column_stack([np.diagonal(stiffness, axis1=1, axis2=2), *ratios]))]
