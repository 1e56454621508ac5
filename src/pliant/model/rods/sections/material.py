"""Material of a rod."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from ... import validate
from .base import readable

__all__ = ["Material"]


@dataclass(frozen=True, repr=False)
class Material:
    """Linear viscoelastic material of a rod.

    Exactly one of `poisson` and `shear_modulus` must be given.

    Parameters
    ----------
    young : float
        Young's modulus E [Pa], >= 0. Zero makes a string without stiffness.
    poisson : float, optional
        Poisson's ratio in (-1, 0.5]; the shear modulus is then E / (2 (1 + poisson)).
    shear_modulus : float, optional
        Shear modulus G [Pa], >= 0, when it is known by itself.
    density : float
        Mass per volume [kg/m³], > 0.
    viscosity : float
        Kelvin–Voigt viscosity [Pa s], >= 0.
    damping_time : float
        Damping proportional to stiffness, as a time [s], >= 0. Adds to the viscosity; a warning says so if both are given.

    Notes
    -----
    Damping density per unit length: ``viscosity · diag(Jx, 3 Iy, 3 Iz, 3 A, A, A)`` ([002] D65) plus
    ``damping_time · stiffness`` ([000]).

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1070, viscosity=1e4)
    >>> print(f"{silicone.shear:.0f} Pa")  # E / 2(1 + ν)
    333333 Pa
    """

    young: float
    poisson: float | None = field(default=None, kw_only=True)
    shear_modulus: float | None = field(default=None, kw_only=True)
    density: float = field(kw_only=True)
    viscosity: float = field(default=0.0, kw_only=True)
    damping_time: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Check the values."""
        checked = {
            "young": validate.non_negative("Material.young", self.young, unit="Pa"),
            "density": validate.positive("Material.density", self.density, unit="kg/m³"),
            "viscosity": validate.non_negative("Material.viscosity", self.viscosity, unit="Pa s"),
            "damping_time": validate.non_negative("Material.damping_time", self.damping_time, unit="s"),
        }
        if (self.poisson is None) == (self.shear_modulus is None):
            raise ValueError(
                f"Material.poisson = {self.poisson!r} and Material.shear_modulus = {self.shear_modulus!r}: "
                "exactly one of the two must be given. For rubber and silicone use poisson=0.5."
            )
        if self.poisson is not None:
            hint = "Poisson's ratio lies in (-1, 0.5]; rubber is close to 0.5, metals close to 0.3."
            checked["poisson"] = validate.interval("Material.poisson", self.poisson, -1.0, 0.5, hint=hint)
            if checked["poisson"] == -1.0:
                raise ValueError(f"Material.poisson = {self.poisson!r} is not allowed: must be greater than -1. {hint}")
        else:
            checked["shear_modulus"] = validate.non_negative("Material.shear_modulus", self.shear_modulus, unit="Pa")
        if checked["viscosity"] and checked["damping_time"]:
            warnings.warn(
                f"Material has viscosity = {self.viscosity:g} Pa s and damping_time = {self.damping_time:g} s: both act, and their "
                "damping adds up. Give one of them unless that is meant.",
                UserWarning,
                stacklevel=3,
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def shear(self) -> float:
        """Shear modulus G [Pa]."""
        if self.shear_modulus is not None:
            return self.shear_modulus
        assert self.poisson is not None  # one of the two, checked on construction
        return self.young / (2.0 * (1.0 + self.poisson))

    def __repr__(self) -> str:
        """Show the values that were given."""
        return readable(self, ("young", "density"))
