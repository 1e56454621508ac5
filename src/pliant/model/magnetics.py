"""What makes magnetic fields: magnets and coils, fixed in the world or to a link. They act on dipoles (`loads.Dipole`) and on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .links import Frame, Link
from .loads import FIELD
from .pose import AxisLike, Pose, PoseLike, unit_axis
from .validate import choice, flag, positive, vector

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["MU0", "Coil", "Magnet", "add_coil", "add_magnet", "circle_field", "dipole_field", "feels_field"]

Array = NDArray[np.float64]
Arrangement = Literal["single", "helmholtz", "maxwell"]
Parent = Link | Frame | str | None
MU0 = 1.25663706127e-6
"""Magnetic constant μ₀ [N/A²]."""


@dataclass(frozen=True, eq=False)
class Magnet:
    """A magnet that is small beside its distance from others: a dipole m with the field ``μ₀/4π (3 r̂ (r̂·m) − m)/r³``.

    It acts on all dipoles, and with the opposite wrench they act on it. A magnet is a dipole itself: it feels the uniform field,
    coils and other magnets, each pair once.

    Parameters
    ----------
    frame : Frame
        Where it is: on a link, or fixed in the world.
    moment : array (3,)
        Dipole moment m in the frame's axes [A m²].
    constant : bool
        Whether it always has this moment; otherwise an input of its name scales it.
    """

    frame: Frame
    moment: Array
    constant: bool = True

    units: ClassVar[dict[str, str]] = {"moment": "A m²"}

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "constant", flag("constant", self.constant))
        object.__setattr__(self, "moment", vector("moment", self.moment, (3,), hint="(mx, my, mz) in A m²."))
        if not np.any(self.moment):
            raise ValueError("moment is zero; give the dipole moment in A m².")

    @property
    def input_unit(self) -> str:
        """Unit of its input: that of a moment of size one which it scales; otherwise it is a factor."""
        return "A m²" if np.isclose(np.linalg.norm(self.moment), 1.0) else "–"


@dataclass(frozen=True, eq=False)
class Coil:
    """A round coil of thin wire, or a pair of them; its current [A] is the input of its name.

    Its field is that of a circle, exact on and off the axis. It acts on all dipoles and magnets, and they act on it; coils do not act
    on each other.

    Parameters
    ----------
    frame : Frame
        Of its centre: on a link, or fixed in the world.
    radius : float
        Of the circle [m].
    turns : float
        Number of turns; of a pair, of each coil.
    axis : str or array (3,)
        Direction in the frame along which a positive current makes the field at the centre point.
    arrangement : "single", "helmholtz" or "maxwell"
        "helmholtz": two coils at ± R/2 along the axis with the same current, whose field is nearly uniform between them. "maxwell":
        two coils at ± √3 R/2 with opposite currents, between which the gradient of the field is nearly uniform; the one ahead has the positive
        current.
    """

    frame: Frame
    radius: float
    turns: float = 1.0
    axis: AxisLike = "z"
    arrangement: Arrangement = "single"

    units: ClassVar[dict[str, str]] = {"radius": "m", "turns": "–"}

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "radius", positive("radius", self.radius, unit="m"))
        object.__setattr__(self, "turns", positive("turns", self.turns))
        object.__setattr__(self, "axis", unit_axis("axis", self.axis))
        choice("arrangement", self.arrangement, ("single", "helmholtz", "maxwell"))

    @property
    def input_unit(self) -> str:
        """Unit of its input, the current."""
        return "A"

    def circles(self) -> list[tuple[Pose, float]]:
        """Its circles around the x axes of these poses in the frame, and the turns of each, negative for the opposite current."""
        place = {"single": 0.0, "helmholtz": 0.5, "maxwell": np.sqrt(0.75)}[self.arrangement] * self.radius
        sides = (1.0,) if self.arrangement == "single" else (1.0, -1.0)
        sign = -1.0 if self.arrangement == "maxwell" else 1.0
        axis = np.asarray(self.axis)
        return [
            (Pose.look_along(axis, side * place * axis), self.turns * (1.0 if side > 0 else sign)) for side in sides
        ]


def feels_field(robot: Robot) -> bool:
    """Whether anything of a robot feels the uniform field, so that it has inputs."""
    magnets = (source for source in robot.sources.values() if isinstance(source, Magnet))
    return bool(robot.dipoles) or any(magnet.frame.link != "world" for magnet in magnets)


def add_magnet(
    self: Robot,
    name: str,
    parent: Parent = None,
    *,
    moment: ArrayLike,
    offset: PoseLike = None,
    constant: bool = True,
) -> Magnet:
    """Add a magnet with its field, on a link or in the world; see `Magnet`. Unless constant, an input of its name scales it.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm", gravity=(0, 0, 0))
    >>> arm = robot.add_rod(
    ...     "arm", length=0.1, section=pl.Circle(0.002), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> tip = robot.add_dipole("tip", arm.tip, moment=(0.02, 0, 0))
    >>> magnet = robot.add_magnet("magnet", offset=(0.15, 0, 0.05), moment=(5.0, 0, 0))
    >>> rest = pl.solve_statics(robot.compile())
    >>> bool(rest.system.pose(arm.tip, rest.q)[2, 3] > 0.001)  # towards the magnet
    True
    """
    self._check_name(name)
    frame = self.resolve(parent).at(offset)
    for own in FIELD if frame.link != "world" and not feels_field(self) else ():  # now inputs of these names appear
        self._check_name(own)
    try:
        magnet = Magnet(frame, moment, constant)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"magnet {name!r}: {error}") from None
    self.sources[name] = magnet
    return magnet


def add_coil(
    self: Robot,
    name: str,
    parent: Parent = None,
    *,
    radius: float,
    turns: float = 1.0,
    axis: AxisLike = "z",
    arrangement: Arrangement = "single",
    offset: PoseLike = None,
) -> Coil:
    """Add a coil, or a Helmholtz or Maxwell pair, whose current [A] is the input of its name; see `Coil`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("needle", gravity=(0, 0, 0))
    >>> needle = robot.add_body("needle", joint=pl.Revolute("z", stiffness=1e-3), mass=0.01)
    >>> magnet = robot.add_dipole("magnet", needle, moment=(0.1, 0, 0))
    >>> coil = robot.add_coil("coil", radius=0.1, turns=100, axis="y", arrangement="helmholtz")
    >>> system = robot.compile()
    >>> print(system.magnetic_field([(0, 0, 0)], u={"coil": 2.0}).round(7))  # tesla
    [[0.        0.0017984 0.       ]]
    >>> print(pl.solve_statics(system, {"coil": 2.0}).q.round(4))
    [0.177]
    """
    self._check_name(name)
    try:
        coil = Coil(self.resolve(parent).at(offset), radius, turns, axis, arrangement)
    except (TypeError, ValueError) as error:
        raise type(error)(f"coil {name!r}: {error}") from None
    self.sources[name] = coil
    return coil


def dipole_field(moment: Array, r: Array) -> Array:
    """Field (n, 3) [T] of a dipole (3,) [A m²] at distances r (n, 3) [m] from it."""
    size = np.linalg.norm(r, axis=1, keepdims=True)
    return np.asarray(MU0 / (4 * np.pi) * (3 * r * (r @ moment)[:, None] / size**5 - moment / size**3))


def circle_field(radius: float, r: Array) -> Array:
    """Field (n, 3) [T] of a current of 1 A in a circle around the x axis, at places r (n, 3) [m] relative to its centre."""
    x, across = r[:, 0], np.hypot(r[:, 1], r[:, 2])
    with np.errstate(divide="ignore"):
        ratio = np.maximum((x**2 + across**2 + radius**2) / (2 * across * radius), 1.0)
    slowest = np.arccosh(np.minimum(ratio, 1e3)).min(initial=np.inf)
    n = int(min(2048, 8 + 46.0 / max(float(slowest), 1e-9)))
    angle = 2 * np.pi * np.arange(n) / n
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros(n)
    d = r[:, None] - radius * np.column_stack([zero, c, s])
    along = 2 * np.pi * radius / n * np.column_stack([zero, -s, c])
    size = np.linalg.norm(d, axis=2, keepdims=True)
    return np.asarray(MU0 / (4 * np.pi) * (np.cross(along, d) / size**3).sum(axis=1))
