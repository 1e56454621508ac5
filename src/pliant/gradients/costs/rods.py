"""Strains of rods and lengths of tendons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...model.links import Link, Rod
from ...model.rods.strains import STRAIN_NAMES
from ...model.validate import shown, unknown_name
from ...system import System
from ...system.kinematics import points
from .coordinates import NamedQuantity
from .quantity import LocalQuantity
from .states import Array, Evaluated, States, Variation, by_slopes, still

__all__ = ["Curvature", "Strain", "TendonLength"]


class Strain(LocalQuantity):
    """Strains of a rod at one or several points; m is the number of points times that of components, point by point.

    Parameters
    ----------
    rod : str or Link
    X : float or array
        Points in [0, 1].
    components : str or list of str, optional
        Of "torsion", "bending_y", "bending_z" [rad/m], "stretch", "shear_y", "shear_z" [1]; all six if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> system = robot.compile()
    >>> pl.costs.Strain("arm", [0.0, 0.5, 1.0], "bending_y").size(system)
    3
    """

    def __init__(self, rod: str | Link, X: ArrayLike, components: str | Sequence[str] | None = None) -> None:
        if not isinstance(rod, (str, Link)):
            raise TypeError(f"rod = {shown(rod)} must be the name of a rod.")
        self.rod = rod.name if isinstance(rod, Link) else rod
        self.X = points(np.asarray(X) if isinstance(X, (int, float)) else X)
        given = STRAIN_NAMES if components is None else (components,) if isinstance(components, str) else components
        for name in given:
            if name not in STRAIN_NAMES:
                raise unknown_name("strain", str(name), STRAIN_NAMES)
        self.components = tuple(given)

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        system.rod_length(self.rod)
        return len(self.X) * len(self.components)

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        info, _grid, rod = states.system._rod(self.rod)
        assert isinstance(rod, Rod)
        own = [STRAIN_NAMES.index(name) for name in self.components]
        Phi = rod.strains.matrix(self.X)[:, own].reshape(-1, rod.strains.size)
        rest = rod.reference(self.X)[:, own].ravel()

        def pull(w: Array) -> Variation:
            out = still(states)
            out.q[:, info.rod_v] = w @ Phi
            return out

        return Evaluated(rest + states.q[:, info.rod_q] @ Phi.T, lambda d: d.q[:, info.rod_v] @ Phi.T, pull)

    def __repr__(self) -> str:
        """As it was written."""
        return (
            f"{type(self).__name__}({self.rod!r}, {self.X.tolist() if len(self.X) <= 4 else f'<{len(self.X)} points>'})"
        )


class Curvature(Strain):
    """Bending strains (κ_y, κ_z) of a rod at one or several points [rad/m].

    Examples
    --------
    >>> import pliant as pl
    >>> pl.costs.Curvature("arm", 0.5).norm().below(20.0)
    <cost below: Curvature('arm', [0.5]).norm()>
    """

    def __init__(self, rod: str | Link, X: ArrayLike) -> None:
        super().__init__(rod, X, ("bending_y", "bending_z"))


class TendonLength(NamedQuantity, LocalQuantity):
    """Lengths of tendons [m] by name, None for all; minus the length of push rods, minus the volume of chambers [m³].

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> pl.costs.TendonLength("cable").evaluate(pl.costs.States.at_rest(system, system.neutral())).value
    array([[0.4]])
    """

    def _which(self, system: System) -> list[int]:
        known = list(system._robot.tendons)
        for name in self.names or ():
            if name not in known:
                raise unknown_name("tendon", name, known)
        return list(range(len(known))) if self.names is None else [known.index(name) for name in self.names]

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return len(self._which(system))

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        own = self._which(states.system)
        found = [states.system.tendon_lengths(q) for q in states.q]
        value = np.array([lengths[own] for lengths, _slopes in found])
        return by_slopes(states, value, lambda: (np.array([slopes[own] for _lengths, slopes in found]), None, None))
