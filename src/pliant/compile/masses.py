"""What the steps weigh: inertias of rods, of the bodies that they carry and of the fluid around them, as the kernels read them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels import layout
from ..kernels.layout import GENERAL, MASSLESS, RIGID

__all__ = ["Masses"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Masses:
    """Inertias of the steps, each (steps, 6, 6), about their ends.

    Attributes
    ----------
    rods : ndarray
        Of the rods themselves.
    bodies : ndarray
        Of what they carry.
    fluid : ndarray
        Added mass, on which gravity does not act.
    """

    rods: Array
    bodies: Array
    fluid: Array

    def with_rod(self, steps: NDArray[np.int64], mass: Array, fluid: Array) -> Masses:
        """The same with other inertias and added masses of the rod that has these steps."""
        rods, around = self.rods.copy(), self.fluid.copy()
        rods[steps], around[steps] = mass, fluid
        return replace(self, rods=rods, fluid=around)

    def store(self, data: Array, steps: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Write the inertias of some steps into their rows of `Tables.data`; returns their kinds."""
        dry = self.rods[steps] + self.bodies[steps]
        return _store(data, dry + self.fluid[steps], dry)


def _store(data: Array, M: Array, dry: Array) -> NDArray[np.int64]:
    """Write the steps' inertias M (steps, 6, 6), with added mass, and dry masses into their rows; returns the kinds (steps,)."""
    kinds = np.full(len(M), int(MASSLESS), dtype=np.int64)
    heavy = M.any(axis=(1, 2))
    m = M[:, 3, 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        hat = np.where((m > 0)[:, None, None], M[:, :3, 3:] / m[:, None, None], 0.0)
    com = np.stack([hat[:, 2, 1], hat[:, 0, 2], hat[:, 1, 0]], axis=1)
    skew = np.zeros((len(M), 3, 3))
    skew[:, [2, 0, 1], [1, 2, 0]] = com
    skew[:, [1, 2, 0], [2, 0, 1]] = -com
    rigid = (
        heavy
        & (m > 0)
        & (dry == M).all(axis=(1, 2))  # gravity does not act on added mass, even if that is isotropic
        & (np.abs(M[:, 3:, 3:] - m[:, None, None] * np.eye(3)).max(axis=(1, 2)) <= 1e-15 * m)
        & (np.abs(hat - skew).max(axis=(1, 2)) * m <= 1e-15 * np.abs(M).max(axis=(1, 2)))
    )
    kinds[heavy] = int(GENERAL)
    kinds[rigid] = int(RIGID)
    central = M[:, :3, :3] + m[:, None, None] * skew @ skew
    i, j = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    data[rigid, layout.D_MASS] = m[rigid]
    data[rigid, layout.D_COM : layout.D_COM + 3] = com[rigid]
    data[rigid, layout.D_ROT : layout.D_ROT + 6] = central[:, i, j][rigid]
    for k in np.flatnonzero(heavy & ~rigid):
        data[k, layout.D_M6 :] = M[k].ravel()
        mass = np.trace(dry[k, 3:, 3:]) / 3.0  # gravity acts on this, at the mean of the off-diagonal block
        data[k, layout.D_MASS] = mass
        if mass > 0:
            first = 0.5 * (dry[k, :3, 3:] - dry[k, :3, 3:].T) / mass
            data[k, layout.D_COM : layout.D_COM + 3] = first[2, 1], first[0, 2], first[1, 0]
    return kinds
