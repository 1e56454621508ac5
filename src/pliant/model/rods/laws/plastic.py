"""Plasticity with a yield moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...validate import non_negative, positive
from .base import GROUPS, Array, Law, Term

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["Plastic"]


@dataclass(frozen=True, repr=False)
class Plastic(Law):
    """Elastic–plastic rod: linear up to a yield moment or force, beyond which it deforms for good.

    Parameters
    ----------
    torsion : float, optional
        Yield moment about the axis [N m].
    bending : float, optional
        Yield moment of the bending vector, ``√(m_y² + m_z²)`` [N m].
    stretch : float, optional
        Yield force along the axis [N].
    hardening : float
        Isotropic hardening H relative to the stiffness: the yield moment grows by H for each rad/m (or unit of stretch) of plastic strain. After yielding
        a strain has the stiffness ``Σ h/(1 + h)``.

    Notes
    -----
    ``Λ = Σ (e − e_p)``, with plastic flow along Λ (associated), solved by return mapping with its consistent tangent. Sections yield as a whole: a plastic zone that grows
    through the section, as in a beam of real metal, is not part of it; `PrandtlIshlinskii` has a gradual onset. Strains without a yield stress stay elastic.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Plastic(bending=0.3, hardening=0.01)
    Plastic(bending=0.3, hardening=0.01)
    """

    torsion: float | None = None
    bending: float | None = None
    stretch: float | None = None
    hardening: float = 0.0

    elastic: ClassVar[bool] = True
    units: ClassVar[dict[str, str]] = {"torsion": "N m", "bending": "N m", "stretch": "N", "hardening": "–"}

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("torsion", "bending", "stretch"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, positive(f"Plastic.{name}", value, unit="N" if name == "stretch" else "N m"))
        if not self.acts_on:
            raise ValueError(
                "Plastic never yields: give torsion, bending or stretch, the moment or force at which it does."
            )
        self._set("hardening", non_negative("Plastic.hardening", self.hardening))

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """A linear term for what stays elastic, and one for each group that yields."""
        left = stiffness.copy()
        out = []
        for name, own in GROUPS.items():
            limit = getattr(self, name, None)
            if limit is None:
                continue
            row = np.zeros((len(X), 4))
            row[:, : len(own)] = stiffness[:, own, own]
            row[:, 2], row[:, 3] = limit, self.hardening * row[:, : len(own)].mean(axis=1)
            left[:, own, own] = 0.0
            out.append(Term("plastic", row, own[0], len(own), memory=len(own) + 1))
        return [Term("linear", left.reshape(-1, 36)), *out]
