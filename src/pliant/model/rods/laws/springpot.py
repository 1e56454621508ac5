"""Power-law viscoelasticity, by branches that are fitted over a band of frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...validate import integer, positive, shown
from .base import Array, Law, Term, numbers
from .prony import MOST, Prony, maxwell_term

if TYPE_CHECKING:
    from ...links import Rod

__all__ = ["Springpot"]


@dataclass(frozen=True, repr=False)
class Springpot(Law):
    """A springpot beside the elasticity of the rod: ``Λ = Σ τ^α Dᵅ(ξ − ξ*)``, of complex modulus ``Σ (iωτ)^α``, over a band of frequencies.

    It is approximated by branches as of `Prony`, fitted to the complex modulus over the band; `error` is what the fit leaves. Outside of the band it is that of the
    branches: it relaxes to nothing in statics, and at high frequencies it is a spring.

    Parameters
    ----------
    exponent : float
        α, between 0 (a spring) and 1 (a dashpot).
    time : float
        τ [s], at whose inverse [rad/s] its modulus has the size of the rod's own.
    band : (float, float)
        Lowest and highest angular frequency [rad/s].
    branches : int, optional
        How many; three for each factor of ten and two more if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> tissue = pl.Springpot(exponent=0.25, time=1e-3, band=(0.1, 100.0))
    >>> len(tissue.prony.g), tissue.error < 0.002
    (11, True)
    """

    exponent: float
    time: float
    band: tuple[float, float]
    branches: int | None = None

    diagonal: ClassVar[bool] = False
    units: ClassVar[dict[str, str]] = {"exponent": "–", "time": "s", "band": "rad/s"}

    def __post_init__(self) -> None:
        """Check the values."""
        alpha = positive("Springpot.exponent", self.exponent)
        if alpha >= 1.0:
            raise ValueError(
                f"Springpot.exponent = {alpha!r} is not allowed: it must be less than 1; for a dashpot use the viscosity of the material."
            )
        self._set("exponent", alpha)
        self._set("time", positive("Springpot.time", self.time, unit="s"))
        band = numbers("Springpot.band", self.band, unit="rad/s", least=2)
        if len(band) != 2 or not 0.0 < band[0] < band[1]:
            raise ValueError(
                f"Springpot.band = {shown(self.band)} is not allowed: give the lowest and the highest frequency [rad/s], 0 < low < high."
            )
        self._set("band", band)
        if self.branches is not None:
            self._set("branches", integer("Springpot.branches", self.branches, minimum=1))
        if self._count > MOST:
            raise ValueError(
                f"Springpot.band = {shown(band)} with {self._count} branches is not allowed: at most {MOST}."
            )

    @property
    def _count(self) -> int:
        return self.branches or int(np.ceil(3 * np.log10(self.band[1] / self.band[0]) - 1e-9)) + 2

    def exact(self, omega: ArrayLike) -> NDArray[np.complex128]:
        """``(iωτ)^α`` at angular frequencies [rad/s]."""
        return np.asarray((1j * np.asarray(omega, dtype=float) * self.time) ** self.exponent)

    @cached_property
    def prony(self) -> Prony:
        """The branches that stand for it."""
        from scipy.optimize import nnls  # here, since it takes a while to import

        low, high = self.band
        n = self._count
        if n < 4:
            tau = np.geomspace(1.0 / low, 1.0 / high, n) if n > 1 else np.array([(low * high) ** -0.5])
        else:  # one that hardly relaxes and one that hardly carries for what lies beyond the band, the others a bit over its ends
            reach = (high / low) ** ((1.0 if n > 10 else 0.5) / (n - 3))
            tau = np.concatenate([[30.0 / low], np.geomspace(reach / low, 1.0 / (high * reach), n - 2), [0.03 / high]])
        omega = np.geomspace(low, high, 40 * n)
        x = 1j * omega[:, None] * tau
        rows = x / (1.0 + x) / self.exact(omega)[:, None]
        wanted = np.concatenate([np.ones(len(omega)), np.zeros(len(omega))])
        g, _left = nnls(np.vstack([rows.real, rows.imag]), wanted, maxiter=10000)
        return Prony(tuple(g.tolist()), tuple(tau.tolist()))

    @cached_property
    def error(self) -> float:
        """Largest relative error of the complex modulus within the band."""
        omega = np.geomspace(*self.band, 997)
        return float(np.abs((self.prony.modulus(omega) - 1.0) / self.exact(omega) - 1.0).max())

    def terms(self, rod: Rod, stiffness: Array, X: Array) -> list[Term]:
        """One term for all branches."""
        g, tau = map(np.array, self.prony._pairs)
        return [maxwell_term(rod, stiffness, g, tau, True)]
