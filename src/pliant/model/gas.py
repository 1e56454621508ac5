"""Gas in chambers of rods: sealed, pushed in by a syringe, flowing in, or behind a valve."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .links import Frame, Link
from .loads import Load
from .routing import Along
from .units import Input
from .validate import choice, finite, interval, non_negative, positive

__all__ = ["ATMOSPHERE", "NORMAL", "Gas"]

ATMOSPHERE = 101325.0
"""Ambient pressure of the atmosphere [Pa]."""
NORMAL = 100e3
"""Pressure [Pa] to which flows of ISO 6358 are referred (ANR)."""

Supply = Literal["sealed", "syringe", "flow", "valve"]


@dataclass(frozen=True, eq=False)
class Gas(Load):
    """Ideal gas in one or several connected chambers along rods; its pressure follows from its amount and the volume that the robot leaves it.

    Add it with ``robot.add_load(name, Gas(...))``. A sealed one is a spring; the others have an input of the load's name.

    Parameters
    ----------
    chambers : Along, or several
        Where the centre lines of the chambers run.
    area : float or function of X
        Cross-section of each chamber [m²].
    pressure : float
        Gauge pressure [Pa] with which it is filled in the neutral configuration.
    supply : "sealed", "syringe", "flow" or "valve"
        "sealed": its amount stays. "syringe": the input is a volume [m³] of the same gas that is pushed in, V = V(q) + dead volume − u.
        "flow": the input is a flow of gas [m³/s] at 100 kPa. "valve": the input is the gauge pressure [Pa] of a supply behind a valve.
    conductance : float, optional
        Of the valve, C [m³/(s Pa)]: flow at 100 kPa for each Pa.
    critical : float, optional
        Critical ratio b of pressures of a valve that chokes (ISO 6358, usually 0.2 to 0.5): Q = C p₁ up to p₂ = b p₁, then
        Q = C p₁ √(1 − ((p₂/p₁ − b)/(1 − b))²). Without it the valve is linear, Q = C (p₁ − p₂).
    dead_volume : float
        Of tubes, fittings and tanks [m³].
    exponent : float
        n of p Vⁿ = const at constant amount: 1 for slow changes (isothermal, the default), 1.4 for quick ones of air (adiabatic).
    ambient : float
        Absolute pressure around the robot [Pa].

    Notes
    -----
    The volume is ``∫ A |σ + κ×d + d′|``, the force ``(p − ambient) ∂V/∂q``. The amount of gas is an internal variable of implicit steps, in
    `Result.memory` as pressure × volume beyond the first filling [J]; statics keep it, but for a valve, behind which pressures have become equal. The gas has no mass and
    no temperature of its own. Error control sees it by what it does to the motion: where the robot hardly moves while a chamber fills, give `max_step` (the result warns where steps are coarse for the gas). Above a ratio of pressures of 0.999 the flow through a valve that chokes is linear in their difference.

    Examples
    --------
    A bellows is squeezed by a weight; its gas holds it:

    >>> import pliant as pl
    >>> rubber = pl.Material(young=1e5, poisson=0.5, density=1000, viscosity=1e3)
    >>> robot = pl.Robot("bellows")
    >>> tube = robot.add_rod(
    ...     "tube", offset=pl.rotate("y", -1.5707963), length=0.1, section=pl.Annulus(0.02, 0.018), material=rubber, strains=pl.Strains(stretch=0),
    ... )
    >>> weight = robot.add_body("weight", parent=tube.tip, shape=pl.Cylinder(0.02, 0.02), mass=2.0)
    >>> gas = robot.add_load("air", pl.Gas(pl.Along("tube"), area=1e-3))
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system)
    >>> found = system.gases(rest.q)["air"]
    >>> print(f"{found.volume * 1e6:.1f} ml at {found.pressure / 1e3:.1f} kPa")
    86.1 ml at 16.4 kPa
    """

    chambers: tuple[Along, ...]
    area: float | Callable[[float], float]
    pressure: float = 0.0
    supply: Supply = "sealed"
    conductance: float | None = None
    critical: float | None = None
    dead_volume: float = 0.0
    exponent: float = 1.0
    ambient: float = ATMOSPHERE

    units: ClassVar[dict[str, str]] = {
        "area": "m²",
        "pressure": "Pa",
        "conductance": "m³/(s Pa)",
        "critical": "–",
        "dead_volume": "m³",
        "exponent": "–",
        "ambient": "Pa",
    }

    def __post_init__(self) -> None:
        """Check the values."""
        given = (self.chambers,) if isinstance(self.chambers, (Along, str, Link)) else tuple(self.chambers)
        if not given or not all(isinstance(own, (Along, str, Link)) for own in given):
            raise TypeError(f"Gas.chambers = {self.chambers!r} must be an Along(rod, ...), or several of them.")
        set_ = object.__setattr__
        set_(self, "chambers", tuple(own if isinstance(own, Along) else Along(own) for own in given))
        if callable(self.area):
            for x in np.linspace(0.0, 1.0, 5).tolist():
                positive(f"Gas.area(X={x:g})", self.area(x), unit="m²")
        else:
            set_(self, "area", positive("Gas.area", self.area, unit="m²"))
        choice("Gas.supply", self.supply, ("sealed", "syringe", "flow", "valve"))
        set_(self, "ambient", non_negative("Gas.ambient", self.ambient, unit="Pa"))
        set_(self, "pressure", finite("Gas.pressure", self.pressure, unit="Pa"))
        if not self.pressure + self.ambient > 0.0:
            raise ValueError(
                f"Gas.pressure = {self.pressure!r} is not allowed: with ambient = {self.ambient!r} Pa its absolute pressure must be positive."
            )
        set_(self, "dead_volume", non_negative("Gas.dead_volume", self.dead_volume, unit="m³"))
        set_(
            self, "exponent", interval("Gas.exponent", self.exponent, 1.0, 2.0, hint="1 isothermal, 1.4 adiabatic air.")
        )
        if self.supply == "valve":
            if self.conductance is None:
                raise ValueError("Gas.conductance must be given for a valve [m³/(s Pa)]; 1e-8 is a small one.")
            set_(self, "conductance", positive("Gas.conductance", self.conductance, unit="m³/(s Pa)"))
            if self.critical is not None:
                set_(self, "critical", interval("Gas.critical", self.critical, 0.0, 0.9, hint="About 0.3."))
        elif self.conductance is not None or self.critical is not None:
            raise ValueError("Gas.conductance and Gas.critical are for supply='valve'; leave them out.")

    @property
    def first(self) -> float:
        """Absolute pressure of the first filling [Pa]."""
        return self.pressure + self.ambient

    def inputs(self, name: str) -> Iterable[Input]:
        """What is pushed in, flows in, or waits behind the valve; none if it is sealed."""
        if self.supply == "syringe":
            return [Input(name, "m³")]
        if self.supply == "flow":
            return [Input(name, "m³/s")]
        if self.supply == "valve":
            reason = "pressures of the supply are gauge pressures, and its absolute pressure must be positive."
            return [Input(name, "Pa", lower=1.0 - self.ambient, reason=reason)]
        return []

    def frames(self) -> Iterable[Frame]:
        """The rods that carry it."""
        return [Frame(own.rod, 1.0) for own in self.chambers]
