"""Hysteresis as a sum of springs that slip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...validate import positive, shown
from .base import GROUPS, Array, Law, Term, numbers

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["PrandtlIshlinskii"]

Elements = tuple[tuple[float, float], ...]
MOST = 64  # elements of each strain


@dataclass(frozen=True, repr=False)
class PrandtlIshlinskii(Law):
    """Hysteresis beside the elasticity of the rod: springs that slip, each with a share c of the stiffness and a strain r beyond which it does.

    ``Λ = Σᵢ cᵢ Σ (e − zᵢ)`` with ``|e − zᵢ| ≤ rᵢ``, for each strain by itself.

    Parameters
    ----------
    torsion, bending, stretch, shear : sequence of (float, float), optional
        Share cᵢ of the rod's stiffness in this strain, and rᵢ [rad/m or –].

    Notes
    -----
    What slips follows from the strain and from what had slipped at the last step, exact while the strain goes one way. A loop between ±a has the area ``Σᵢ 4 cᵢ Σ rᵢ (a − rᵢ)`` over those with ``rᵢ < a``.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.PrandtlIshlinskii(bending=[(0.2, 0.5), (0.1, 2.0)])
    PrandtlIshlinskii(bending=((0.2, 0.5), (0.1, 2.0)))
    """

    torsion: Elements = ()
    bending: Elements = ()
    stretch: Elements = ()
    shear: Elements = ()

    def __post_init__(self) -> None:
        """Check the values."""
        for name in GROUPS:
            value = getattr(self, name)
            if not isinstance(value, (list, tuple, np.ndarray)):
                raise TypeError(
                    f"PrandtlIshlinskii.{name} = {shown(value)} must be a list of pairs: share of the stiffness, strain."
                )
            if len(value) > MOST:
                raise ValueError(f"PrandtlIshlinskii.{name} has {len(value)} elements; at most {MOST} are allowed.")
            self._set(name, tuple(self._pair(f"PrandtlIshlinskii.{name}[{k}]", entry) for k, entry in enumerate(value)))
        if not self.acts_on:
            raise ValueError(
                "PrandtlIshlinskii acts on nothing: give torsion, bending, stretch or shear, each a list of pairs (share, strain)."
            )

    @staticmethod
    def _pair(field: str, entry: object) -> tuple[float, float]:
        pair = numbers(field, entry)
        if len(pair) != 2:
            raise ValueError(f"{field} = {shown(entry)} is not allowed: give a share of the stiffness and a strain.")
        return positive(f"{field}[0]", pair[0]), positive(f"{field}[1]", pair[1])

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term for each element."""
        out = []
        for name, own in GROUPS.items():
            for share, limit in getattr(self, name):
                for c in own:
                    k = share * stiffness[:, c, c]
                    row = np.column_stack([k, np.zeros(len(X)), k * limit, np.zeros(len(X))])
                    out.append(Term("plastic", row, c, 1, memory=2))
        return out
