"""What acts on a robot from outside: wrenches, fields, obstacles and contact."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .links import Frame
from .pose import Pose
from .shapes import Shape
from .stated_units import power_unit
from .units import Input
from .validate import choice, flag, interval, non_negative, positive, vector

__all__ = ["FIELD", "Contact", "Dipole", "DistributedWrench", "Load", "Obstacle", "PointWrench"]

Array = NDArray[np.float64]
Axes = Literal["world", "body"]
FIELD = ("field_x", "field_y", "field_z")  # inputs of the uniform field that acts on dipoles [T]
Density = ArrayLike | Callable[[float], ArrayLike]


class Load:
    """Base of the descriptions of a family of loads that is not part of the package; see "Extending pliant".

    A description is a frozen dataclass that checks its values. `robot.add_load(name, description)` adds it to a robot.

    Attributes
    ----------
    family : Family
        Of the class: what turns its descriptions into tables and computes with them (`pliant.compile.family.Family`).
    """

    family: ClassVar[Any]

    def inputs(self, name: str) -> Iterable[Input]:
        """Its inputs, if it was added to a robot under that name; none unless a class says otherwise."""
        return ()

    def frames(self) -> Iterable[Frame]:
        """Where it acts; inside a rod these become computational points."""
        return ()


@dataclass(frozen=True, eq=False)
class PointWrench:
    """A force and moment at a frame.

    Parameters
    ----------
    frame : Frame
        Where it acts; inside a rod the point becomes a computational point.
    force, moment : array (3,)
        Force [N] and moment [N m], per unit of its input (or as they are, if constant).
    axes : "world" or "body"
        Directions fixed in the world (a dead load) or turning with the frame (a follower load).
    constant : bool
        Whether it acts always with its full value; otherwise an input of its name scales it.
    """

    frame: Frame
    force: Array
    moment: Array
    axes: Axes = "world"
    constant: bool = False

    units: ClassVar[dict[str, str]] = {"force": "N", "moment": "N m"}

    def __post_init__(self) -> None:
        """Check the values."""
        _check_moves("wrench", self.frame)
        object.__setattr__(self, "constant", flag("constant", self.constant))
        object.__setattr__(self, "force", vector("force", self.force, (3,), hint="(fx, fy, fz) in N."))
        object.__setattr__(self, "moment", vector("moment", self.moment, (3,), hint="(mx, my, mz) in N m."))
        choice("axes", self.axes, ("world", "body"), hint="'world' is a dead load, 'body' a follower load.")
        if not (np.any(self.force) or np.any(self.moment)):
            raise ValueError("force and moment are both zero; give at least one.")

    @property
    def input_unit(self) -> str:
        """Unit of its input: that of a force or moment of size one which it scales; otherwise it is a factor."""
        return _scaled_unit(self.force, self.moment, ("N", "N m"))


@dataclass(frozen=True, eq=False)
class DistributedWrench:
    """A force and moment per metre along a rod.

    Parameters
    ----------
    rod : str
    force, moment : array (3,) or function of X
        Force [N/m] and moment [N m/m] per metre of the undeformed rod, per unit of its input (or as they are, if
        constant).
    axes : "world" or "body"
        Directions fixed in the world, or turning with the rod's sections.
    constant : bool
        Whether it acts always; otherwise an input of its name scales it.
    """

    rod: str
    force: Density = (0.0, 0.0, 0.0)
    moment: Density = (0.0, 0.0, 0.0)
    axes: Axes = "world"
    constant: bool = False

    units: ClassVar[dict[str, str]] = {"force": "N/m", "moment": "N m/m"}

    def __post_init__(self) -> None:
        """Check the values."""
        choice("axes", self.axes, ("world", "body"), hint="'world' is a dead load, 'body' a follower load.")
        object.__setattr__(self, "constant", flag("constant", self.constant))
        moment, force = self.at(np.linspace(0.0, 1.0, 5))
        if not (callable(self.force) or callable(self.moment) or np.any(force) or np.any(moment)):
            raise ValueError("force and moment are both zero; give at least one.")

    @property
    def input_unit(self) -> str:
        """Unit of its input: that of a constant density of size one which it scales; otherwise it is a factor."""
        if callable(self.force) or callable(self.moment):
            return "–"
        moment, force = self.at(np.zeros(1))
        return _scaled_unit(force[0], moment[0], ("N/m", "N m/m"))

    def at(self, X: Array) -> tuple[Array, Array]:
        """Moment and force per metre at points X, each (m, 3)."""
        return _vectors("moment", self.moment, X), _vectors("force", self.force, X)


@dataclass(frozen=True, eq=False)
class Dipole:
    """A magnetic (or electric) dipole that turns with the robot in a uniform field: torque ``m × B``.

    Parameters
    ----------
    place : Frame or str
        A frame, or the name of a rod along which the dipole is spread.
    moment : array (3,) or function of X
        Dipole moment in the frame's axes [A m²], for a rod per metre [A m].
    """

    place: Frame | str
    moment: Density

    def __post_init__(self) -> None:
        """Check the values."""
        if isinstance(self.place, Frame):
            _check_moves("dipole", self.place)
        self.at(np.linspace(0.0, 1.0, 3))

    def at(self, X: Array) -> Array:
        """Dipole moment (per metre) at points X, (m, 3)."""
        return _vectors("moment", self.moment, X)


def _check_moves(what: str, frame: Frame) -> None:
    """Error for something that acts on the world, which does not move."""
    if frame.link == "world":
        raise ValueError(f"a {what} at 'world' moves nothing; place it on a link, a rod's tip, or a frame of one.")


def _scaled_unit(force: Array, moment: Array, units: tuple[str, str]) -> str:
    """Unit of what scales a force and a moment: it is their size where one of them has size one and the other is zero."""
    sizes = float(np.linalg.norm(force)), float(np.linalg.norm(moment))
    for unit, own, other in zip(units, sizes, sizes[::-1]):
        if np.isclose(own, 1.0) and other == 0.0:
            return unit
    return "–"


def _vectors(name: str, value: Density, X: Array) -> Array:
    hint = "Give three numbers, or a function of X in [0, 1] that returns them."
    if callable(value):
        rows = [vector(f"{name}(X={x:g})", value(float(x)), (3,), hint=hint) for x in X]
        return np.array(rows).reshape(-1, 3)
    return np.tile(vector(name, value, (3,), hint=hint), (len(X), 1))


@dataclass(frozen=True)
class Obstacle:
    """A shape that the robot can touch, fixed to the world or to one of its links.

    Parameters
    ----------
    shape : HalfSpace, HeightField, Sphere, Cylinder, Box, Capsule, Ellipsoid, Hull or Mesh
    parent : Frame
        What it is fixed to.
    pose : Pose
        Of the shape in that frame. A half-space is solid below z = 0; the axis of a cylinder is its own `axis`.
    inside : bool
        Whether the robot is inside: the shape is a cavity. A cylinder is then an open tube.
    """

    shape: Shape
    parent: Frame
    pose: Pose
    inside: bool = False

    units: ClassVar[dict[str, str]] = {"pose": "m"}

    def __post_init__(self) -> None:
        """Check the shape."""
        distance = self.shape.distance() if isinstance(self.shape, Shape) else None
        if distance is None:
            raise TypeError(
                f"shape = {self.shape!r} cannot be an obstacle; use HalfSpace, HeightField, Sphere, Cylinder, Box, Capsule, Ellipsoid, Hull or Mesh."
            )
        object.__setattr__(self, "inside", flag("inside", self.inside))
        if self.inside and distance.primitive in ("half-space", "field"):
            raise ValueError("inside=True makes no sense for a half-space or a field; turn it over instead.")
        if self.inside and not distance.cavity:
            raise ValueError(
                f"inside=True is not allowed: {self.shape!r} cannot be a cavity; use Sphere, Cylinder or Box."
            )


@dataclass(frozen=True)
class Contact:
    """Who may touch whom, and how hard it is.

    Parameters
    ----------
    link : str
        A rod (spheres of its local radius at its computational points, with `per_length` all along; capsules against another rod) or a body with a
        shape (a sphere; corners, and against edges of others edges; points on the rims of a cylinder).
    other : str
        An obstacle, a body, or a rod (also the same one: self-contact).
    stiffness : float
        k of the normal force ``k δᵖ`` for each point: in N/m^1.5 with the default exponent, in N/m with ``exponent=1``; with `per_length` by another metre.
    exponent : float
        p; 1.5 is Hertz' law for spheres ([002] eq. 57), 1 a linear spring.
    damping : float
        d of the factor ``1 + d δ̇`` [s/m] (Hunt and Crossley).
    friction : float
        Coefficient of friction μ.
    slip_speed : float
        Speed v₀ [m/s] that smooths friction where it does not stick; where it does, the bristle is damped with the time stiction/v₀.
    stiction : float
        How far [m] what touches is displaced before it slips: below μ times the normal force it holds as a spring, without creep.
        0: friction ``v/√(v² + v₀²)`` that is smooth and vanishes at rest.
    restitution : float, optional
        Ratio of the speeds after and before an impact, 0 to 1, instead of `damping`; impacts slower than v₀ are damped as those of v₀.
    per_length : bool
        Whether `stiffness` is per metre of the rod, so that the result does not depend on the number of points: the rod (of two the first) touches all along.
    spacing : float, optional
        With per_length, the distance [m] between the spheres along the rod that make up the integral. Left out: the computational points, or, where these are further apart than a quarter of the rod's radius and that of what it touches (zero for a sharp
        edge) together, an eighth of the rod's radius. Larger than the distance of the computational points: these.
    """

    link: str
    other: str
    stiffness: float
    exponent: float = 1.5
    damping: float = 0.0
    friction: float = 0.0
    slip_speed: float = 1e-2
    per_length: bool = False
    stiction: float = 1e-6
    restitution: float | None = None
    spacing: float | None = None

    units: ClassVar[dict[str, str]] = {
        "exponent": "–",
        "damping": "s/m",
        "friction": "–",
        "slip_speed": "m/s",
        "stiction": "m",
        "restitution": "–",
        "spacing": "m",
    }

    def unit_of(self, field: str) -> str:
        """Unit of one of its numbers: that of the stiffness follows from the exponent."""
        if field == "stiffness":
            return power_unit(self.exponent + self.per_length)
        return self.units.get(field, "")

    def __post_init__(self) -> None:
        """Check the values."""
        exponent = interval("exponent", self.exponent, 1.0, 10.0, hint="1 is a linear spring, 1.5 Hertz' law.")
        per_length = flag("per_length", self.per_length)
        checked: dict[str, Any] = {
            "exponent": exponent,
            "per_length": per_length,
            "stiffness": positive("stiffness", self.stiffness, unit=power_unit(exponent + per_length)),
            "damping": non_negative("damping", self.damping, unit="s/m"),
            "friction": non_negative("friction", self.friction, hint="The coefficient of friction; 0 for none."),
            "slip_speed": positive("slip_speed", self.slip_speed, unit="m/s"),
            "stiction": non_negative("stiction", self.stiction, unit="m", hint="0 for friction that vanishes at rest."),
        }
        if self.spacing is not None:
            checked["spacing"] = positive("spacing", self.spacing, unit="m")
            if not checked["per_length"]:
                raise ValueError(
                    f"spacing = {self.spacing!r} is for per_length=True: without it the stiffness is that of each computational point."
                )
        if self.restitution is not None:
            checked["restitution"] = interval("restitution", self.restitution, 0.0, 1.0, hint="1 is an elastic impact.")
            if checked["damping"]:
                raise ValueError(
                    f"damping = {self.damping!r} and restitution = {self.restitution!r}: give one of them."
                )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
