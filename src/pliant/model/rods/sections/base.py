"""What every section has: dimensions along the rod, its moments, its outline."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validate
from ...stated_units import declared_units
from ..quadrature import points_along
from .dimensions import Dimension, breakpoints_of, evaluate_checked, read_dimension

__all__ = ["Section", "SectionProperties", "oval", "readable"]

Array: TypeAlias = NDArray[np.float64]


def readable(obj: object, always: tuple[str, ...]) -> str:
    """Repr that leaves out the options that have their default value."""
    parts = []
    for f in fields(obj):  # type: ignore[arg-type]
        value = getattr(obj, f.name)
        if f.name in always or value != f.default:
            shown = getattr(value, "__name__", repr(value)) if callable(value) else f"{value!r}"
            parts.append((f.name not in always, f"{f.name}={shown}"))
    return f"{type(obj).__name__}({', '.join(text for _, text in sorted(parts, key=lambda p: p[0]))})"


@dataclass(frozen=True, eq=False)
class SectionProperties:
    """Geometric constants of a section at m points, each an array of shape (m,).

    Attributes
    ----------
    area : ndarray
        A [m²].
    Iy, Iz : ndarray
        Second moments of area about local y, ``∫ z² dA``, and about local z, ``∫ y² dA`` [m⁴].
    polar : ndarray
        ``Iy + Iz`` [m⁴], which gives the rotary inertia about x.
    torsion : ndarray
        Torsion constant times `torsion_factor` [m⁴], which gives the torsional stiffness.
    """

    area: Array
    Iy: Array
    Iz: Array
    polar: Array
    torsion: Array

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for f in fields(self):
            getattr(self, f.name).flags.writeable = False


@dataclass(frozen=True, repr=False, kw_only=True)
class Section:
    """Base of all sections; use `Circle`, `Annulus`, `Rectangle`, `Ellipse`, `CustomSection` or `Composite`.

    Parameters
    ----------
    shear_factor : float or pair (y, z)
        Timoshenko factor that multiplies the shear stiffness G A, > 0. Off (1) by default; 5/6 is usual for a
        rectangle and about 0.9 for a circle.
    torsion_factor : float
        Multiplies the torsion constant in the torsional stiffness, > 0. It never changes the inertia.

    Attributes
    ----------
    units : dict of str
        Units of dimensions that are not lengths, by name.
    may_vanish : tuple of str
        Dimensions that may be zero everywhere.
    corners : int
        Number of corners of a polygon, 0 for a smooth outline.
    is_round : bool
        Whether the outline is a circle about the centre.
    has_outline : bool
        Whether the outline is known; if not, the circle of equal area is drawn.
    has_material : bool
        Whether it says itself what it is made of.

    Notes
    -----
    A class of your own gives its dimensions as fields, `moments` and `boundary`; `reach` and `hole` where they are not those of the base.
    """

    shear_factor: float | tuple[float, float] = 1.0
    torsion_factor: float = 1.0

    units: ClassVar[dict[str, str]] = {"shear_factor": "–", "torsion_factor": "–"}
    may_vanish: ClassVar[tuple[str, ...]] = ()
    corners: ClassVar[int] = 0
    is_round: ClassVar[bool] = False
    has_outline: ClassVar[bool] = True
    has_material: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the values."""
        if type(self) is Section:
            raise TypeError(
                "Section is only a base class: use Circle, Annulus, Rectangle, Ellipse, CustomSection or Composite."
            )
        kind = type(self).__name__
        factor: float | tuple[float, float]
        if not validate.dimensions(self.shear_factor):
            factor = validate.positive(f"{kind}.shear_factor", self.shear_factor)
        else:
            hint = "Give one number or a pair (y, z)."
            ky, kz = validate.vector(f"{kind}.shear_factor", self.shear_factor, (2,), hint=hint).tolist()
            factor = (
                validate.positive(f"{kind}.shear_factor[0]", ky),
                validate.positive(f"{kind}.shear_factor[1]", kz),
            )
        object.__setattr__(self, "shear_factor", factor)
        torsion_factor = validate.positive(f"{kind}.torsion_factor", self.torsion_factor)
        object.__setattr__(self, "torsion_factor", torsion_factor)
        for name in self.dimensions:
            object.__setattr__(self, name, self._read(name))

    def unit_of(self, field: str) -> str:
        """Unit of one of its numbers: dimensions are lengths unless `units` says otherwise."""
        return declared_units(type(self)).get(field, "m" if field in self.dimensions else "")

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the fields that are dimensions: all of its own, but not those that may be left out and were."""
        common = {f.name for f in fields(Section)}
        own = (f for f in fields(self) if f.name not in common)
        return tuple(f.name for f in own if f.default is not None or getattr(self, f.name) is not None)

    # -- what a section defines -------------------------------------------------------------------------
    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area [m²], Iy, Iz and the torsion constant (None: Iy + Iz) [m⁴] at X (m,); use `value` for the dimensions there."""
        raise NotImplementedError

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,) [m], counter-clockwise seen from the tip; dimensions may be zero."""
        raise NotImplementedError

    def reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,) [m], by default of 64 points of the boundary; dimensions may be zero."""
        return np.asarray(np.linalg.norm(self.boundary(X, 64), axis=-1).max(axis=-1), dtype=np.float64)

    def check(self, X: Array) -> None:
        """Error if it is impossible at X (m,) in a way that single dimensions do not show; asked when a robot is compiled."""

    def hole(self, X: Array, n: int) -> Array | None:
        """Boundary of the hole of a tube, like `boundary`; None if the section is solid."""
        return None

    # -- reading dimensions -----------------------------------------------------------------------------
    def _read(self, name: str) -> Dimension:
        """Check a dimension as far as it can be without evaluating functions."""
        label = f"{type(self).__name__}.{name}"
        return read_dimension(label, getattr(self, name), unit=self.units.get(name, "m"), zero=name in self.may_vanish)

    def value(self, name: str, X: Array, *, zero: bool = False) -> Array:
        """Evaluate a dimension at X (m,); error unless finite and positive (or zero, if allowed)."""
        zero = zero or name in self.may_vanish
        hint = "" if zero else "A rod that runs out in a point needs a small positive size at its tip."
        label, unit = f"{type(self).__name__}.{name}", self.units.get(name, "m")
        return evaluate_checked(label, getattr(self, name), X, unit=unit, zero=zero, hint=hint)

    # -- public -----------------------------------------------------------------------------------------
    def properties(self, X: ArrayLike) -> SectionProperties:
        """Evaluate the geometric constants.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].

        Returns
        -------
        SectionProperties
            Arrays of shape (m,).

        Raises
        ------
        ValueError
            If a dimension is not finite and positive at one of the points.
        """
        area, Iy, Iz, torsion = self.moments(points_along(X))
        polar = Iy + Iz
        return SectionProperties(area, Iy, Iz, polar, self.torsion_factor * (polar if torsion is None else torsion))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing X inside (0, 1) where a dimension jumps (`Stepped`)."""
        return breakpoints_of(*(getattr(self, name) for name in self.dimensions))

    def outline(self, X: ArrayLike, n: int = 32) -> Array:
        """Boundary points for drawing.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].
        n : int
            Number of points around the section, >= 4.

        Returns
        -------
        ndarray, shape (m, n, 2)
            Coordinates (y, z) [m], counter-clockwise seen from the tip, not closed. A hollow section gives
            its outer boundary and a `CustomSection` the circle of equal area.
        """
        return self.boundary(points_along(X), validate.integer("n", n, minimum=4))

    def extent(self, X: ArrayLike) -> Array:
        """Largest distance of the section from its centre.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].

        Returns
        -------
        ndarray, shape (m,)
            [m].
        """
        return self.reach(points_along(X))

    def __repr__(self) -> str:
        """Show dimensions first, then the options that are not default."""
        return readable(self, self.dimensions)


def oval(semi_y: Array, semi_z: Array, n: int) -> Array:
    """Points (m, n, 2) around ellipses with semi-axes (m,), counter-clockwise from the y axis."""
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.stack([semi_y[:, None] * np.cos(angle), semi_z[:, None] * np.sin(angle)], axis=-1)
