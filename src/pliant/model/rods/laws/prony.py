"""Viscoelasticity as a series of springs with dashpots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...validate import choice, non_negative, positive, shown
from .base import Array, Law, Term, numbers

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["Prony", "maxwell_term"]

MOST = 64  # branches


def maxwell_term(rod: Rod, stiffness: Array, g: Array, tau: Array, relaxed: bool) -> Term:
    """Branches with the stiffness g Σ and the times τ; each remembers the strains of its dashpot that the rod has."""
    m = len(stiffness)
    rows = [stiffness.reshape(m, 36), np.tile(g, (m, 1)), np.tile(tau, (m, 1)), np.full((m, 1), float(relaxed))]
    free = len(set(rod.strains.components.tolist()))
    return Term("maxwell", np.hstack(rows), choice=len(g), memory=free * len(g), smooth=True)


@dataclass(frozen=True, repr=False)
class Prony(Law):
    """Generalised Maxwell material: branches of a spring ``gᵢ Σ`` and a dashpot with the time τᵢ, beside the elasticity of the rod.

    The relaxation of a linear rod is ``Σ (1 + Σᵢ gᵢ exp(−t/τᵢ))``: the rod's own stiffness is what remains after a long time. If the stiffness at once, E₀, and shares g′ of it are
    known, the modulus of the material is ``E₀ (1 − Σ g′)`` and ``gᵢ = g′ᵢ/(1 − Σ g′)``.

    Parameters
    ----------
    g : float or sequence
        Stiffness of each branch relative to that of the rod.
    tau : float or sequence
        Relaxation time of each branch [s].
    statics : "relaxed" or "unrelaxed"
        What statics find: the equilibrium after a long time, when the branches carry nothing, or that at once, when their dashpots have not moved since the start.

    Notes
    -----
    ``Λ = Σᵢ gᵢ Σ (e − zᵢ)``, ``żᵢ = (e − zᵢ)/τᵢ`` with ``e = ξ − ξ*``. The stage equations of the implicit step are solved for zᵢ in closed form, so that
    the internal variables have the order of the method and any τᵢ is stable.

    Examples
    --------
    >>> import pliant as pl
    >>> gel = pl.Prony(g=(0.5, 0.3), tau=(0.05, 1.0))
    >>> print(gel.modulus([0.0, 1e6]).round(3))  # relative to the rod's own: slow and fast
    [1. +0.j 1.8+0.j]
    """

    g: tuple[float, ...] | float
    tau: tuple[float, ...] | float
    statics: Literal["relaxed", "unrelaxed"] = "relaxed"

    diagonal: ClassVar[bool] = False
    units: ClassVar[dict[str, str]] = {"g": "–", "tau": "s"}

    def __post_init__(self) -> None:
        """Check the values."""
        for name, unit in (("g", ""), ("tau", "s")):
            self._set(name, numbers(f"Prony.{name}", getattr(self, name), unit=unit, least=1))
        g, tau = self._pairs
        if len(g) != len(tau):
            raise ValueError(
                f"Prony.g = {shown(g)} and Prony.tau = {shown(tau)} are not allowed: one time is needed for each branch."
            )
        if len(g) > MOST:
            raise ValueError(f"Prony.g has {len(g)} branches; at most {MOST} are allowed.")
        for k, (share, time) in enumerate(zip(g, tau)):
            non_negative(f"Prony.g[{k}]", share)
            positive(f"Prony.tau[{k}]", time, unit="s")
        choice("Prony.statics", self.statics, ("relaxed", "unrelaxed"))

    @property
    def _pairs(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        assert isinstance(self.g, tuple)
        assert isinstance(self.tau, tuple)
        return self.g, self.tau

    def modulus(self, omega: ArrayLike) -> NDArray[np.complex128]:
        """Complex modulus at angular frequencies [rad/s], relative to the rod's own stiffness, which it includes: storage + i loss."""
        g, tau = map(np.array, self._pairs)
        x = 1j * np.asarray(omega, dtype=float)[..., None] * tau
        return np.asarray(1.0 + (g * x / (1.0 + x)).sum(axis=-1))

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term for all branches."""
        g, tau = map(np.array, self._pairs)
        return [maxwell_term(rod, stiffness, g, tau, self.statics == "relaxed")]
