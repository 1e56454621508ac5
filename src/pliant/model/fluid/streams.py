"""How a fluid moves over space and time beside its uniform current: waves, profiles over height, gusts.

`robot.add_load(name, stream)` adds one after `set_fluid`, and all links with `add_hydrodynamics` feel it: drag and tail force by the velocity relative to the
fluid; the Froude–Krylov force ρ V a and that of the added mass by the acceleration a = ∂U/∂t + (∇U) U of the fluid. The fluid is taken where a section (or a body's frame)
is, which has to be small beside the scale of the flow; that the fluid turns is left out, and so is what the robot does to the flow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..loads import Load
from ..pose import AxisLike, unit_axis
from ..units import Input
from ..validate import finite, non_negative, positive, vector

__all__ = ["STREAMS", "Gust", "Profile", "Wave"]

Array = NDArray[np.float64]
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Wave(Load):
    """A linear (Airy) wave; its phase ωt [rad] is the input of its name.

    With the height z above the still surface, the phase θ = k x − u along its direction x and the depth D:
    ``U = a ω (cosh k(z+D) cos θ, sinh k(z+D) sin θ) / sinh kD`` along the direction and upwards, ``ω² = g k tanh kD``. The surface is at
    ``a cos θ``.

    Parameters
    ----------
    amplitude : float
        a [m], half the height of the wave.
    length : float
        Wavelength 2π/k [m].
    direction : str or array (3,)
        Where it goes; the part of it that is not along `up` counts.
    depth : float, optional
        D [m]; deep water if left out.
    level : float
        Height of the still surface along `up` [m].
    up : str or array (3,)
    gravity : float
        g [m/s²].

    Notes
    -----
    Linear theory holds for amplitudes far below length and depth. Points above the still surface feel what the fluid does at it, and are not taken to be dry.

    Examples
    --------
    >>> import pliant as pl
    >>> swell = pl.Wave(amplitude=0.5, length=20.0)
    >>> print(f"period {swell.period:.2f} s, {swell.phase}")
    period 3.58 s, 1.7555347883683727*t
    """

    amplitude: float
    length: float
    direction: AxisLike = "x"
    depth: float | None = None
    level: float = 0.0
    up: AxisLike = "z"
    gravity: float = 9.81

    units: ClassVar[dict[str, str]] = {"amplitude": "m", "length": "m", "depth": "m", "level": "m", "gravity": "m/s²"}

    def __post_init__(self) -> None:
        """Check the values."""
        set_ = object.__setattr__
        set_(self, "amplitude", non_negative("Wave.amplitude", self.amplitude, unit="m"))
        for name, unit in (("length", "m"), ("gravity", "m/s²")):
            set_(self, name, positive(f"Wave.{name}", getattr(self, name), unit=unit))
        if self.depth is not None:
            set_(self, "depth", positive("Wave.depth", self.depth, unit="m"))
        set_(self, "level", finite("Wave.level", self.level, unit="m"))
        set_(self, "up", unit_axis("up", self.up))
        along, up = unit_axis("direction", self.direction), np.asarray(self.up)
        for _ in range(2):  # once leaves rounding of a short rest; one that is level stays as it is, bitwise
            if abs(lean := float(along @ up)) > _ROUNDING:
                level = along - lean * up
                if np.linalg.norm(level) < 1e-9:
                    raise ValueError("Wave.direction must not be along `up`: give where the wave goes.")
                along = unit_axis("direction", level)
        set_(self, "direction", along)

    @property
    def number(self) -> float:
        """Wave number k [rad/m]."""
        return 2 * np.pi / self.length

    @property
    def _depth(self) -> float:
        return 100.0 * self.length if self.depth is None else self.depth

    @property
    def frequency(self) -> float:
        """Angular frequency ω [rad/s]."""
        return float(np.sqrt(self.gravity * self.number * np.tanh(self.number * self._depth)))

    @property
    def period(self) -> float:
        """2π/ω [s]."""
        return 2 * np.pi / self.frequency

    @property
    def phase(self) -> Any:
        """Its input over time, for `simulate`: ``u={"sea": wave.phase}``."""
        from ...io import Expression  # formulas belong to files

        return Expression(f"{self.frequency!r}*t")

    def shape(self) -> Array:
        """Numbers for the kernel."""
        k, D = self.number, min(self._depth, 300.0 / self.number)
        return np.array(
            [
                self.amplitude * self.frequency,
                k,
                self.frequency,
                D,
                *np.asarray(self.direction),
                *np.asarray(self.up),
                self.level,
                0.0,
            ]
        )

    def inputs(self, name: str) -> Iterable[Input]:
        """Its phase."""
        return [Input(name, "rad")]


@dataclass(frozen=True, eq=False)
class Profile(Load):
    """Steady flow over a ground: U = velocity (h / height)^exponent with the height h above the ground; at rest below.

    Parameters
    ----------
    velocity : array (3,)
        At the reference height [m/s].
    height : float
        Reference height [m].
    exponent : float
        1 for uniform shear, about 1/7 for wind over open land.
    ground : float
        Level of the ground along `up` [m].
    up : str or array (3,)

    Examples
    --------
    >>> import pliant as pl
    >>> wind = pl.Profile(velocity=(8, 0, 0), height=10.0, exponent=0.14)
    """

    velocity: Annotated[ArrayLike, (3,)]
    height: float
    exponent: float = 1.0
    ground: float = 0.0
    up: AxisLike = "z"

    units: ClassVar[dict[str, str]] = {"velocity": "m/s", "height": "m", "exponent": "–", "ground": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        set_ = object.__setattr__
        set_(self, "velocity", vector("Profile.velocity", self.velocity, (3,), hint="(x, y, z) in m/s."))
        set_(self, "height", positive("Profile.height", self.height, unit="m"))
        set_(self, "exponent", positive("Profile.exponent", self.exponent))
        set_(self, "ground", finite("Profile.ground", self.ground, unit="m"))
        set_(self, "up", unit_axis("up", self.up))

    def shape(self) -> Array:
        """Numbers for the kernel."""
        up = np.asarray(self.up)
        return np.array([*np.asarray(self.velocity), *up, self.ground, self.height, self.exponent, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Gust(Load):
    """Uniform flow along a direction; its speed [m/s] is the input of its name, any function of time.

    Forces of the rate at which it changes (Froude–Krylov and added mass) are not taken: it is for air, where they are small.

    Parameters
    ----------
    direction : str or array (3,)

    Examples
    --------
    >>> import pliant as pl
    >>> gust = pl.Gust("y")
    """

    direction: AxisLike

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "direction", unit_axis("direction", self.direction))

    def shape(self) -> Array:
        """Numbers for the kernel."""
        return np.array([*np.asarray(self.direction), *np.zeros(9)])

    def inputs(self, name: str) -> Iterable[Input]:
        """Its speed."""
        return [Input(name, "m/s")]


STREAMS = (Wave, Profile, Gust)
"""All of them."""
