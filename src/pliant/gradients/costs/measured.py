"""What a sensor tells: a quantity, and how noisy its values are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...model.validate import reals, shown, text, vector
from ...system import System
from .states import Array

if TYPE_CHECKING:
    from .quantity import Quantity

__all__ = ["Measured"]

_HINT = "The standard deviation of the noise, in the unit of the quantity; one number, or one for each entry."


@dataclass(frozen=True, eq=False)
class Measured:
    """A quantity that a sensor measures, with independent normal noise; ``quantity.measured(noise)`` makes one.

    Parameters
    ----------
    quantity : Quantity
        Of states, not of steps (`InputRates`).
    noise : float or array (m,)
        Standard deviation of the noise, in the unit of each entry.
    name : str, optional
        By which values are given; that of the quantity if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> fibre = pl.costs.Curvature("arm", [0.2, 0.5, 0.8]).measured(0.05, "fibre")
    >>> fibre
    Measured(Curvature('arm', [0.2, 0.5, 0.8]), 0.05, 'fibre')
    >>> pl.costs.TendonLength().measured(1e-4).name
    'TendonLength()'
    """

    quantity: Quantity
    noise: float | ArrayLike
    name: str | None = None

    def __post_init__(self) -> None:
        """Check."""
        if not hasattr(self.quantity, "per_step"):
            raise TypeError(
                f"Measured.quantity = {shown(self.quantity)} must be a Quantity such as costs.Position(frame)."
            )
        if self.quantity.per_step:
            raise ValueError(f"{self.quantity!r} belongs to steps, not to states: it cannot be measured.")
        given = reals("noise", self.noise, hint=_HINT)
        if given.ndim > 1:
            raise ValueError(f"noise has shape {given.shape}. {_HINT}")
        array = vector("noise", np.atleast_1d(given), (given.size,), hint=_HINT)
        if np.any(array <= 0.0):
            raise ValueError(
                f"noise = {shown(self.noise)} is not allowed: it must be positive. {_HINT} For a sensor that is nearly perfect, a small one."
            )
        put = object.__setattr__
        put(self, "noise", float(array[0]) if given.ndim == 0 else array)
        put(self, "name", repr(self.quantity) if self.name is None else text("name", self.name))

    def deviations(self, system: System) -> Array:
        """Standard deviations of all entries, (m,)."""
        m, given = self.quantity.size(system), np.atleast_1d(np.asarray(self.noise, dtype=float))
        if len(given) not in (1, m):
            raise ValueError(
                f"noise of {self.name!r} has {len(given)} entries, but {self.quantity!r} has {m}: give one number, or one for each."
            )
        return np.broadcast_to(given, (m,)).copy()

    def __repr__(self) -> str:
        """As it was written."""
        noise = np.asarray(self.noise)
        shown_noise = f"{float(noise):g}" if noise.ndim == 0 else str(noise.tolist())
        name = "" if self.name == repr(self.quantity) else f", {self.name!r}"
        return f"Measured({self.quantity!r}, {shown_noise}{name})"
