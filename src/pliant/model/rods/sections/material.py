"""Material of a rod."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from numpy.typing import ArrayLike

from ... import validate
from ..quadrature import points_along
from .base import Array, readable
from .dimensions import Dimension, breakpoints_of, evaluate_checked, read_dimension

__all__ = ["Material", "MaterialValues"]

_UNITS = {"young": "Pa", "shear_modulus": "Pa", "density": "kg/m³", "viscosity": "Pa s", "damping_time": "s"}


class MaterialValues(NamedTuple):
    """A material at m points, each an array of shape (m,): E and G [Pa], density [kg/m³], viscosity [Pa s], damping time [s]."""

    young: Array
    shear: Array
    density: Array
    viscosity: Array
    damping_time: Array


@dataclass(frozen=True, repr=False)
class Material:
    """Linear viscoelastic material of a rod.

    Exactly one of `poisson` and `shear_modulus` must be given.

    Parameters
    ----------
    young : float, pair or callable
        Young's modulus E [Pa], >= 0. Zero makes a string without stiffness.
    poisson : float, optional
        Poisson's ratio in (-1, 0.5]; the shear modulus is then E / (2 (1 + poisson)).
    shear_modulus : float, pair or callable, optional
        Shear modulus G [Pa], >= 0, when it is known by itself.
    density : float, pair or callable
        Mass per volume [kg/m³], > 0.
    viscosity : float, pair or callable
        Kelvin–Voigt viscosity [Pa s], >= 0.
    damping_time : float, pair or callable
        Damping proportional to stiffness, as a time [s], >= 0. Adds to the viscosity; a warning says so if both are given.

    Notes
    -----
    All but Poisson's ratio may change along the rod, in the ways in which the dimensions of a section may: a pair (at X=0, at X=1), `Stepped` for pieces,
    `Table` for measured values, or a function of X.

    Damping density per unit length: ``viscosity · diag(Jx, 3 Iy, 3 Iz, 3 A, A, A)`` ([002] D65) plus
    ``damping_time · stiffness`` ([000]).

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1070, viscosity=1e4)
    >>> print(f"{silicone.shear:.0f} Pa")  # E / 2(1 + ν)
    333333 Pa
    >>> graded = pl.Material(young=pl.Stepped([2e6, 5e5]), poisson=0.5, density=(1070, 1030))
    >>> print(graded.at([0.2, 0.8]).young)
    [2000000.  500000.]
    """

    young: Dimension
    poisson: float | None = field(default=None, kw_only=True)
    shear_modulus: Dimension | None = field(default=None, kw_only=True)
    density: Dimension = field(kw_only=True)
    viscosity: Dimension = field(default=0.0, kw_only=True)
    damping_time: Dimension = field(default=0.0, kw_only=True)

    units: ClassVar[dict[str, str]] = {
        "young": "Pa",
        "poisson": "–",
        "shear_modulus": "Pa",
        "density": "kg/m³",
        "viscosity": "Pa s",
        "damping_time": "s",
    }

    def __post_init__(self) -> None:
        """Check the values."""
        names = ("young", "density", "viscosity", "damping_time")
        checked: dict[str, Dimension] = {name: self._read(name) for name in names}
        if (self.poisson is None) == (self.shear_modulus is None):
            raise ValueError(
                f"Material.poisson = {self.poisson!r} and Material.shear_modulus = {self.shear_modulus!r}: "
                "exactly one of the two must be given. For rubber and silicone use poisson=0.5."
            )
        if self.poisson is not None:
            hint = "Poisson's ratio lies in (-1, 0.5]; rubber is close to 0.5, metals close to 0.3."
            poisson = checked["poisson"] = validate.interval("Material.poisson", self.poisson, -1.0, 0.5, hint=hint)
            if poisson == -1.0:
                raise ValueError(f"Material.poisson = {self.poisson!r} is not allowed: must be greater than -1. {hint}")
        else:
            checked["shear_modulus"] = self._read("shear_modulus")
        if checked["viscosity"] and checked["damping_time"]:
            warnings.warn(
                f"Material has viscosity = {_text(self.viscosity)} Pa s and damping_time = {_text(self.damping_time)} s: both act, and their "
                "damping adds up. Give one of them unless that is meant.",
                UserWarning,
                stacklevel=3,
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _read(self, name: str) -> Dimension:
        return read_dimension(f"Material.{name}", getattr(self, name), unit=_UNITS[name], zero=name != "density")

    def _value(self, name: str, X: Array) -> Array:
        label = f"Material.{name}"
        return evaluate_checked(label, getattr(self, name), X, unit=_UNITS[name], zero=name != "density")

    def at(self, X: ArrayLike) -> MaterialValues:
        """Values along a rod.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].

        Returns
        -------
        MaterialValues
            ``young``, ``shear``, ``density``, ``viscosity``, ``damping_time``, arrays of shape (m,).

        Raises
        ------
        ValueError
            If one of them is not finite, negative, or for the density zero, at one of the points.
        """
        points = points_along(X)
        young = self._value("young", points)
        if self.shear_modulus is not None:
            shear = self._value("shear_modulus", points)
        else:
            assert self.poisson is not None  # one of the two, checked on construction
            shear = young / (2.0 * (1.0 + self.poisson))
        more = (self._value(name, points) for name in ("density", "viscosity", "damping_time"))
        return MaterialValues(young, shear, *more)

    @property
    def is_constant(self) -> bool:
        """Whether it is the same all along a rod."""
        return all(not callable(value) and not isinstance(value, tuple) for value in self._given)

    @property
    def _given(self) -> tuple[Dimension, ...]:
        return tuple(value for name in _UNITS if (value := getattr(self, name)) is not None)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing X inside (0, 1) where it jumps (`Stepped`)."""
        return breakpoints_of(*self._given)

    @property
    def shear(self) -> float:
        """Shear modulus G [Pa] of a material that is the same all along; `at` gives that of any."""
        if not self.is_constant:
            raise ValueError(f"{self!r} changes along the rod: use material.at(X).shear.")
        return float(self.at(0.0).shear[0])

    def __repr__(self) -> str:
        """Show the values that were given."""
        return readable(self, ("young", "density"))


def _text(value: Dimension) -> str:
    return f"{value:g}" if isinstance(value, float) else getattr(value, "__name__", repr(value))
