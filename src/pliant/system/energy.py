"""Mass, energies and momentum."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import layout
from ..kernels.loads import internal
from ..kernels.loads.water import W_CENTRE, W_MASS, W_POS, W_ROT
from ..kernels.recursion import kinematics as kernels
from ..model.validate import choice
from .core import Array, Core

__all__ = ["Energy", "Momentum"]


class Momentum(NamedTuple):
    """Linear [kg m/s] and angular [kg m²/s] momentum in world axes."""

    linear: Array
    angular: Array


class Energy(Core):
    """Mass, energies and momentum."""

    @property
    def mass(self) -> float:
        """Total mass of everything that can move [kg]."""
        return float(self._totals(self.neutral(), self._zero)[0])

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy [J]."""
        return float(self._totals(q, v)[10])

    def gravitational_energy(self, q: ArrayLike) -> float:
        """Potential energy of gravity and buoyancy [J], zero when the centres of mass and of buoyancy are at the origin."""
        return float(self._totals(q, self._zero)[11]) + self.buoyancy_energy(q)

    def buoyancy_energy(self, q: ArrayLike) -> float:
        """The part of `gravitational_energy` that comes from displaced fluid [J]."""
        if not len(self.water.place):
            return 0.0
        self._totals(q, self._zero)  # sets the poses
        rows = self._work.state[self.water.place[:, 0]]
        R = rows[:, layout.RE : layout.RE + 9].reshape(-1, 3, 3)
        data = self.water.data
        own = data[:, W_POS : W_POS + 3] + np.einsum(
            "kij,kj->ki", data[:, W_ROT : W_ROT + 9].reshape(-1, 3, 3), data[:, W_CENTRE : W_CENTRE + 3]
        )
        x = rows[:, layout.PE : layout.PE + 3] + np.einsum("kij,kj->ki", R, own) + self._work.origin
        return float(data[:, W_MASS] @ (x @ self.tables.gravity))

    def elastic_energy(self, q: ArrayLike) -> float:
        """Elastic energy of rods and joint springs [J]."""
        x = np.empty((2, self.nv))
        return float(
            internal.elastic_forces(self.internal, self.check_q(q), x[0], x[1], self._work.spring, self._none[:, 0])
        )

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass in world coordinates [m], shape (3,)."""
        t = self._totals(q, self._zero)
        return t[1:4] / t[0]

    def momentum(self, q: ArrayLike, v: ArrayLike, *, about: Literal["origin", "com"] = "origin") -> Momentum:
        """Linear and angular momentum in world axes, the latter about the world's origin or the centre of mass."""
        choice("about", about, ("origin", "com"))
        t = self._totals(q, v)
        linear, angular = t[4:7].copy(), t[7:10].copy()
        if about == "com":
            angular -= np.cross(t[1:4] / t[0], linear)
        return Momentum(linear, angular)

    def _totals(self, q: ArrayLike, v: ArrayLike) -> Array:
        out = np.empty(12)
        kernels.compute_totals(self.tables, self._work, self.check_q(q), self.check_v("v", v), out)
        return out
