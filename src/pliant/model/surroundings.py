"""How a robot gets what acts on it from outside: wrenches, fields, fluid, obstacles, contact and loads that the user writes.

The functions are methods of `Robot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from numpy.typing import ArrayLike

from .contacts import check_pair
from .fluid import Fluid, Hydrodynamics
from .links import Frame, Link
from .loads import FIELD, Contact, Density, Dipole, DistributedWrench, Load, Obstacle, PointWrench
from .magnetics import feels_field
from .pose import PoseLike, as_pose
from .shapes import Shape
from .user import UserLoad
from .validate import shown

if TYPE_CHECKING:
    from .robot import Robot

__all__ = [
    "add_contact",
    "add_dipole",
    "add_distributed_wrench",
    "add_hydrodynamics",
    "add_load",
    "add_obstacle",
    "add_wrench",
    "set_fluid",
]

Parent = Link | Frame | str | None
Own = TypeVar("Own", bound=Load)


def add_wrench(
    self: Robot,
    name: str,
    parent: Parent,
    *,
    force: ArrayLike = (0.0, 0.0, 0.0),
    moment: ArrayLike = (0.0, 0.0, 0.0),
    axes: Literal["world", "body"] = "world",
    offset: PoseLike = None,
    constant: bool = False,
) -> PointWrench:
    """Add a force and moment at a frame; see `PointWrench`. Unless constant, its factor is the input of that name.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> push = robot.add_wrench("push", arm.tip, force=(0, 0, 1), axes="body")  # follows the tip
    >>> weight = robot.add_wrench("weight", arm.at(0.5), force=(0, 0, -0.2), constant=True)
    >>> robot.compile().input_names
    ('push',)
    """
    self._check_name(name)
    try:
        wrench = PointWrench(self.resolve(parent).at(offset), force, moment, axes, constant)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"wrench {name!r}: {error}") from None
    self.wrenches[name] = wrench
    return wrench


def add_distributed_wrench(
    self: Robot,
    name: str,
    rod: Link | str,
    *,
    force: Density = (0.0, 0.0, 0.0),
    moment: Density = (0.0, 0.0, 0.0),
    axes: Literal["world", "body"] = "world",
    constant: bool = False,
) -> DistributedWrench:
    """Add a force and moment per metre along a rod; see `DistributedWrench`. Unless constant, an input scales it.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> wind = robot.add_distributed_wrench("wind", arm, force=lambda X: (0, X, 0))  # N/m
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"wind": 0.5})
    >>> bool(system.pose("arm.tip", rest.q)[1, 3] > 0)
    True
    """
    self._check_name(name)
    link = _rod(self, "wrench", name, rod)
    try:
        wrench = DistributedWrench(link.name, force, moment, axes, constant)
    except (TypeError, ValueError) as error:
        raise type(error)(f"wrench {name!r}: {error}") from None
    self.wrenches[name] = wrench
    return wrench


def add_dipole(self: Robot, name: str, place: Link | Frame | str, *, moment: Density) -> Dipole:
    """Add a magnetic dipole at a frame, or spread along a rod; see `Dipole`.

    A uniform field acts on all dipoles: its components in world axes [T] are the inputs ``field_x``, ``field_y`` and
    ``field_z``.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> magnet = robot.add_dipole("magnet", arm.tip, moment=(0.1, 0, 0))  # A m²
    >>> robot.compile().input_names
    ('field_x', 'field_y', 'field_z')
    """
    self._check_name(name)
    for own in FIELD if not feels_field(self) else ():  # now inputs of these names appear
        self._check_name(own)
    target: Frame | str = self.resolve(place)
    if isinstance(place, Link) and place.is_rod:
        target = place.name
    elif isinstance(place, str) and any(link.name == place and link.is_rod for link in self.links):
        target = place
    try:
        self.dipoles[name] = Dipole(target, moment)
    except (TypeError, ValueError) as error:
        raise type(error)(f"dipole {name!r}: {error}") from None
    return self.dipoles[name]


def set_fluid(self: Robot, *, density: float = 1000.0, current: ArrayLike = (0.0, 0.0, 0.0)) -> Fluid:
    """Put the robot into a fluid of this density [kg/m³] that flows with this velocity [m/s].

    What it does to a link is said with `add_hydrodynamics`; links without it feel nothing.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> water = robot.set_fluid(density=1000.0, current=(0, 0.1, 0))
    >>> effect = robot.add_hydrodynamics(arm, pl.Hydrodynamics.circular(cx=0.01, cy=1.1, cz=1.1))
    """
    self.fluid = Fluid(density, current)  # type: ignore[arg-type]
    return self.fluid


def add_hydrodynamics(
    self: Robot, links: Link | str | Iterable[Link | str], hydrodynamics: Hydrodynamics | None = None
) -> Hydrodynamics:
    """Say what the fluid does to links: buoyancy, drag and lift, added mass, tail force; buoyancy alone if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> water = robot.set_fluid(density=1000.0)
    >>> buoyancy = robot.add_hydrodynamics(arm)
    >>> robot.hydrodynamics["arm"] is buoyancy
    True
    """
    if self.fluid is None:
        raise ValueError("there is no fluid yet: call set_fluid(density=...) first.")
    effect = Hydrodynamics() if hydrodynamics is None else hydrodynamics
    if not isinstance(effect, Hydrodynamics):
        raise TypeError(f"hydrodynamics = {hydrodynamics!r} must be a Hydrodynamics, such as Hydrodynamics.circular().")
    entries = [links] if isinstance(links, (Link, str)) or not isinstance(links, Iterable) else list(links)
    if not entries:
        raise ValueError("links is empty: give a link, its name, or a list of them.")
    found = []
    for entry in entries:
        if not isinstance(entry, (Link, str)):
            raise TypeError(f"links: {entry!r} must be a link, its name, or a list of them.")
        link = self.link(entry.name if isinstance(entry, Link) else entry)
        try:
            effect.check(link.content, self.fluid)
        except (TypeError, ValueError) as error:
            raise type(error)(f"hydrodynamics of {link.name!r}: {error}") from None
        found.append(link.name)
    self.hydrodynamics.update(dict.fromkeys(found, effect))
    return effect


def add_obstacle(
    self: Robot, name: str, shape: Shape, *, parent: Parent = None, pose: PoseLike = None, inside: bool = False
) -> Obstacle:
    """Add a shape that the robot can touch, fixed to the world or to a link; see `Obstacle` and `add_contact`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> floor = robot.add_obstacle("floor", pl.HalfSpace(), pose=pl.translate(0, 0, -0.1))
    >>> tube = robot.add_obstacle("tube", pl.Cylinder(0.05, 1.0, "x"), inside=True)
    >>> contact = robot.add_contact("on floor", arm, "floor", stiffness=2e4, per_length=True)
    """
    self._check_name(name)
    try:
        obstacle = Obstacle(shape, self.resolve(parent), as_pose(pose, name="pose"), inside)
    except (TypeError, ValueError) as error:
        raise type(error)(f"obstacle {name!r}: {error}") from None
    self.obstacles[name] = obstacle
    return obstacle


def add_contact(
    self: Robot,
    name: str,
    link: Link | str,
    other: Link | str,
    *,
    stiffness: float,
    exponent: float = 1.5,
    damping: float = 0.0,
    friction: float = 0.0,
    slip_speed: float = 1e-2,
    per_length: bool = False,
    stiction: float = 1e-6,
    restitution: float | None = None,
    spacing: float | None = None,
) -> Contact:
    """Let a link touch an obstacle or another link, or a rod touch itself; see `Contact`.

    Parameters
    ----------
    name : str
    link : Link or str
        A rod, or a body with a shape.
    other : Link or str
        The name of an obstacle, or another link; the same rod for self-contact.
    stiffness, exponent, damping, friction, slip_speed, per_length, stiction, restitution, spacing
        See `Contact`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> post = robot.add_obstacle("post", pl.Cylinder(0.02, 0.5, "y"), pose=(0.2, 0, -0.05))
    >>> contact = robot.add_contact("on post", arm, "post", stiffness=1e3, friction=0.3)
    >>> itself = robot.add_contact("itself", arm, arm, stiffness=1e3)
    >>> contact.exponent  # Hertz
    1.5
    """
    self._check_name(name)
    first = self.link(link.name if isinstance(link, Link) else link)
    second = other.name if isinstance(other, Link) else other
    if not isinstance(second, str):
        raise TypeError(
            f"contact {name!r}: other = {shown(other)} must be a link, or the name of an obstacle or a link."
        )
    check_pair(self, name, first, second)
    if per_length and not first.is_rod and not any(entry.name == second and entry.is_rod for entry in self.links):
        raise ValueError(f"contact {name!r}: per_length is for rods; the stiffness of a body is that of each point.")
    if per_length and first.name == second:
        raise ValueError(f"contact {name!r}: per_length is for contact with others, not of a rod with itself.")
    try:
        self.contacts[name] = Contact(
            first.name,
            second,
            stiffness,
            exponent,
            damping,
            friction,
            slip_speed,
            per_length,
            stiction,
            restitution,
            spacing,
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"contact {name!r}: {error}") from None
    return self.contacts[name]


@overload
def add_load(self: Robot, name: str, places: Own) -> Own: ...
@overload
def add_load(
    self: Robot,
    name: str,
    places: Link | Frame | str | Iterable[Link | Frame | str],
    load: UserLoad | Callable[..., Any],
    *,
    derivatives: Callable[..., Any] | None = None,
    inputs: Iterable[str] = (),
) -> UserLoad: ...
def add_load(
    self: Robot,
    name: str,
    places: Load | Link | Frame | str | Iterable[Link | Frame | str],
    load: UserLoad | Callable[..., Any] | None = None,
    *,
    derivatives: Callable[..., Any] | None = None,
    inputs: Iterable[str] = (),
) -> UserLoad | Load:
    """Add a load given by a function, at frames or along whole rods (per metre); see `UserLoad` and `compiled_load`.

    With a description of a family from outside instead of places, ``add_load(name, description)``: add that; see `Load`.

    Parameters
    ----------
    name : str
    places : link, frame, name, or several of them; or a Load
        A rod stands for all its quadrature points, where the function gives the wrench per metre.
    load : function or UserLoad
        ``function(pose, twist, inputs) -> wrench``, or what `compiled_load` made.
    derivatives, inputs
        See `UserLoad`; for a plain function.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> import numpy as np
    >>> def spring(pose, twist, inputs):  # (n, 4, 4), (n, 6), (k,) -> (n, 6)
    ...     wrench = np.zeros((len(pose), 6))
    ...     wrench[:, 3:] = -inputs[0] * pose[:, :3, 3]  # towards the origin
    ...     return wrench
    >>> load = robot.add_load("spring", arm.tip, spring, inputs=["stiffness"])
    >>> load.inputs
    ('stiffness',)
    """
    self._check_name(name)
    if isinstance(places, Load):
        if load is not None or derivatives is not None or inputs:
            raise TypeError(
                f"load {name!r}: a {type(places).__name__} says all; leave out load, derivatives and inputs."
            )
        return _add_own(self, name, places)
    if load is None:
        raise TypeError(
            f"load {name!r}: give a function after its places, or a description that is a Load instead of them."
        )
    try:
        if not isinstance(load, UserLoad):
            load = UserLoad(load, derivatives, inputs)  # type: ignore[arg-type]
        elif derivatives is not None or inputs:
            raise ValueError("a UserLoad holds its derivatives and inputs already.")
    except (TypeError, ValueError) as error:
        raise type(error)(f"load {name!r}: {error}") from None
    for own in load.inputs:
        self._check_name(own)
    single = isinstance(places, (Link, Frame, str)) or not isinstance(places, Iterable)
    entries: list[Any] = [places] if single else list(places)  # type: ignore[arg-type]
    found: list[Frame | str] = []
    for place in entries:
        if isinstance(place, Link) and place.is_rod:
            found.append(place.name)
        elif isinstance(place, str) and any(link.name == place and link.is_rod for link in self.links):
            found.append(place)
        else:
            frame = self.resolve(place, field=f"load {name!r}: place")
            if frame.link == "world":
                raise ValueError(f"load {name!r}: at 'world' it moves nothing; place it on a link, or a frame of one.")
            found.append(frame)
    if not found:
        raise ValueError(f"load {name!r}: places is empty; give a link, a frame or a list of them.")
    self.user_loads[name] = (load, tuple(found))
    return load


def _add_own(self: Robot, name: str, load: Load) -> Load:
    """Add the description of a family from outside."""
    if not hasattr(load, "family"):
        raise TypeError(f"load {name!r}: {type(load).__name__} names no family; set its class attribute `family`.")
    try:
        for own in load.inputs(name):
            if own.name != name:
                self._check_name(own.name)
        for frame in load.frames():
            self.resolve(frame, field="a frame")
    except (KeyError, TypeError, ValueError) as error:
        raise type(error)(f"load {name!r}: {error.args[0]}") from None
    self.loads[name] = load
    return load


def _rod(self: Robot, kind: str, name: str, rod: Link | str) -> Link:
    link = self.link(rod.name if isinstance(rod, Link) else rod)
    if not link.is_rod:
        raise TypeError(f"{kind} {name!r}: {link.name!r} is a rigid body, not a rod.")
    return link
