"""Whether steps resolve how gas flows, which error control sees by what it does to the motion alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...system import System

__all__ = ["Flows"]

Array = NDArray[np.float64]
_TOLERATED = 1e-3  # of all gas that there has been


class Flows:
    """Looks at the amounts of gas at the ends of steps.

    Where a flow w decays with a time τ, it changes from step to step by a part h/τ = |Δw|/|w|, and a method of third order leaves an error of about
    ``h |Δw| (h/τ)²/24`` in the amount.

    Attributes
    ----------
    error : ndarray (gases,)
        The sum of that over all steps.
    """

    def __init__(self, system: System) -> None:
        gases = system.loads["gases"]
        first = int(gases.first[0])
        self._own = slice(first, first + int(np.sum(gases.law[:, 2] >= 0)))
        self._most = np.zeros(self._own.stop - first)
        self._last: Array | None = None  # flow in the step before
        self.error = np.zeros_like(self._most)

    def look(self, t: Array, memory: Array) -> None:
        """Some steps that begin and end at times t (n + 1,), with internal variables (n + 1, nz)."""
        z = memory[:, self._own]
        for k in range(len(t) - 1):
            h = t[k + 1] - t[k]
            if h <= 0.0:
                continue
            flow = (z[k + 1] - z[k]) / h
            self._most = np.maximum(self._most, np.abs(z[k + 1]))
            if self._last is not None:
                size = np.maximum(np.maximum(np.abs(flow), np.abs(self._last)), 1e-300)
                change = np.abs(flow - self._last)
                self.error += h * change * np.minimum(change / size, 1.0) ** 2 / 24
            self._last = flow

    @property
    def coarse(self) -> bool:
        """Whether the error may be more than a thousandth."""
        return bool(np.any(self.error > _TOLERATED * self._most))

    @property
    def warning(self) -> str:
        """What to say."""
        part = float(np.max(self.error / np.maximum(self._most, 1e-300), initial=0.0))
        return (
            f"Steps are coarse for the gas, which error control sees by what it does to the motion alone: its amount may be off by about {100 * part:.1g} %. "
            "Give a smaller max_step if that matters."
        )
