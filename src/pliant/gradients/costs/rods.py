"""Strains of rods, in their sections and on their surface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...model.links import Link, Rod
from ...model.rods.strains import STRAIN_NAMES
from ...model.validate import reals, shown, unknown_name
from ...system import System
from ...system.kinematics import points
from .quantity import LocalQuantity
from .states import Array, Evaluated, Slopes, States, Variation, by_slopes, still

__all__ = ["Curvature", "Strain", "StrainGauge"]


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
        self._kept: tuple[object, object, Array, Array] | None = None

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        system.rod_length(self.rod)
        return len(self.X) * len(self.components)

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        info, _grid, rod = states.system._rod(self.rod)
        assert isinstance(rod, Rod)
        Phi, rest = self._functions(rod)

        def pull(w: Array) -> Variation:
            out = still(states)
            out.q[:, info.rod_v] = w @ Phi
            return out

        def derive() -> Slopes:
            out = np.zeros((len(states), len(Phi), states.system.nv))
            out[:, :, info.rod_v] = Phi
            return out, None, None

        return Evaluated(rest + states.q[:, info.rod_q] @ Phi.T, lambda d: d.q[:, info.rod_v] @ Phi.T, pull, derive)

    def _functions(self, rod: Rod) -> tuple[Array, Array]:
        """Values of the basis (m, n) and reference strains (m,), kept for what was seen last: sensors ask for them at every sample."""
        kept = self._kept
        if kept is None or kept[0] is not rod.strains or kept[1] is not rod.reference_strain:
            own = [STRAIN_NAMES.index(name) for name in self.components]
            Phi = rod.strains.matrix(self.X)[:, own].reshape(-1, rod.strains.size)
            kept = self._kept = rod.strains, rod.reference_strain, Phi, rod.reference(self.X)[:, own].ravel()
        return kept[2], kept[3]

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


class StrainGauge(Strain):
    """What strain gauges on or in a rod read [1]: the stretch of the line of material at (y, z), along the rod, beyond that of the reference.

    Parameters
    ----------
    rod : str or Link
    X : float or array (m,)
        Points in [0, 1].
    y, z : float or array (m,)
        Places of the gauges in the section [m].

    Notes
    -----
    At a point with strain (κ, σ) the line has the tangent ``t = σ + κ × (0, y, z)``; a gauge reads ``|t| / |t*| − 1``, exactly also where strains
    are large.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system)
    >>> gauges = pl.costs.StrainGauge("arm", [0.1, 0.1], z=[0.015, -0.015])  # above and below
    >>> print(gauges.evaluate(pl.costs.States.at_rest(system, rest.q)).value.round(4))
    [[ 0.1121 -0.1121]]
    """

    def __init__(self, rod: str | Link, X: ArrayLike, y: ArrayLike = 0.0, z: ArrayLike = 0.0) -> None:
        super().__init__(rod, X)
        hint = "One number [m], or one for each point X."
        place = [np.atleast_1d(reals(name, value, hint=hint)) for name, value in (("y", y), ("z", z))]
        for name, value in zip("yz", place):
            if value.ndim != 1 or len(value) not in (1, len(self.X)) or not np.all(np.isfinite(value)):
                raise ValueError(f"{name} has shape {value.shape} for {len(self.X)} points X. {hint}")
        self.place = np.zeros((len(self.X), 3))
        self.place[:, 1], self.place[:, 2] = place

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        system.rod_length(self.rod)
        return len(self.X)

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        info, _grid, rod = states.system._rod(self.rod)
        assert isinstance(rod, Rod)
        Phi, rest = self._functions(rod)
        n = len(self.X)

        def tangents(strain: Array) -> Array:
            """t (…, n, 3) from strains, or changes of them, (…, n, 6)."""
            return strain[..., 3:] + np.cross(strain[..., :3], self.place)

        t = tangents((rest + states.q[:, info.rod_q] @ Phi.T).reshape(len(states), n, 6))
        size = np.linalg.norm(t, axis=2)
        first = np.linalg.norm(tangents(rest.reshape(n, 6)), axis=1)

        def derive() -> Slopes:
            lines = tangents(np.moveaxis(Phi.reshape(n, 6, -1), 2, 0))  # (coordinates, n, 3)
            out = np.zeros((len(states), n, states.system.nv))
            out[:, :, info.rod_v] = np.einsum("Tni,kni->Tnk", t / (size * first)[:, :, None], lines)
            return out, None, None

        return by_slopes(states, size / first - 1.0, derive)
