"""How a robot gets what drives it: tendons, chambers, push rods, internal stress, active strain, motors and prescribed motion.

The functions are methods of `Robot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .actuators import ActiveStrain, InternalStress, Motor, Negative, PrescribedMotion, Stop, Tendon
from .joints import Joint
from .links import Frame, Link, Rod
from .loops import joint_of
from .rods.strains import STRAIN_NAMES
from .routing import Along, Routing
from .validate import positive, shown, unknown_name

if TYPE_CHECKING:
    from .robot import Robot

__all__ = [
    "add_active_strain",
    "add_chamber",
    "add_motion",
    "add_motor",
    "add_push_rod",
    "add_stop",
    "add_stress",
    "add_tendon",
    "check_line",
    "joint_dof",
]

_ON_SURFACE = (
    1e-5  # relative: how far a tendon may lie outside a section by rounding of what was given, 0.2 µm on 20 mm
)

Path = Link | str | Along | Sequence[Link | Frame | Along | str]


def add_tendon(
    self: Robot,
    name: str,
    path: Path,
    *,
    y: Routing = 0.0,
    z: Routing = 0.0,
    start: float = 0.0,
    end: float = 1.0,
    dy: Callable[[float], float] | None = None,
    dz: Callable[[float], float] | None = None,
    control: Literal["tension", "length", "elastic"] = "tension",
    stiffness: float | None = None,
    damping: float = 0.0,
    rest_length: float | None = None,
    friction: float = 0.0,
    slip_speed: float | None = None,
    push: bool = False,
) -> Tendon:
    """Add a tendon; the input of its name is its tension, unless `control` says otherwise. See `Tendon`.

    Parameters
    ----------
    name : str
    path : rod, Along, or list of rods, Along, frames and links
        A single rod, along which the tendon runs at the offset (0, y(X), z(X)) from X = start to X = end; or its
        way through the robot, for instance ``[motor.at((0, 0.02, 0)), Along(arm, y=0.01), Along(hand, y=0.01)]``.
    y, z, start, end, dy, dz
        Routing along a single rod; see `Along`.
    control, stiffness, damping, rest_length, friction, slip_speed, push
        See `Tendon`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> tapered = robot.add_tendon("tapered", arm, y=(0.012, 0.004), end=0.7)
    >>> rest = pl.solve_statics(robot.compile(), {"cable": 5.0})  # 5 N
    >>> rest.success
    True
    """
    options = {
        "control": control,
        "stiffness": stiffness,
        "damping": damping,
        "rest_length": rest_length,
        "friction": friction,
        "slip_speed": slip_speed,
        "push": push,
    }
    return _add_line(self, name, "tendon", path, _routing(y, z, start, end, dy, dz), options)


def add_push_rod(
    self: Robot,
    name: str,
    path: Path,
    *,
    y: Routing = 0.0,
    z: Routing = 0.0,
    start: float = 0.0,
    end: float = 1.0,
    dy: Callable[[float], float] | None = None,
    dz: Callable[[float], float] | None = None,
) -> Tendon:
    """Add a rod that slides along the way and pushes; the input of its name is the force [N], negative to pull.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> rod = robot.add_push_rod("rod", arm, z=0.01)
    >>> system = robot.compile()
    >>> system.inputs({"rod": -3.0})  # it may pull, too
    array([-3.])
    """
    options = {"factor": -1.0, "push": True}
    return _add_line(self, name, "push rod", path, _routing(y, z, start, end, dy, dz), options)


def add_chamber(
    self: Robot,
    name: str,
    rod: Link | str | Along,
    *,
    area: float | Callable[[float], float],
    y: Routing = 0.0,
    z: Routing = 0.0,
    start: float = 0.0,
    end: float = 1.0,
    dy: Callable[[float], float] | None = None,
    dz: Callable[[float], float] | None = None,
) -> Tendon:
    """Add a pressure chamber along a rod; the input of its name is the pressure [Pa], negative for a vacuum.

    Parameters
    ----------
    area : float or function of X
        Cross-section of the chamber [m²].
    y, z, start, end, dy, dz
        Where its centre line runs; see `Along`. Its volume is ``∫ A |σ + κ×d + d′|``, its force ``p ∂V/∂q``.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> chamber = robot.add_chamber("bellows", arm, area=2e-5, z=-0.008)
    >>> system = robot.compile()
    >>> volume = -system.tendon_lengths(system.neutral())[0][0]  # m³
    >>> print(f"{1e6 * volume:.2f} ml")
    8.00 ml
    """
    if not isinstance(rod, (Link, str, Along)):
        raise TypeError(f"chamber {name!r}: rod = {rod!r} must be a rod, or an Along(rod, ...).")
    factor: float | Negative
    try:
        if callable(area):
            factor = Negative(area)
            for x in np.linspace(0, 1, 5).tolist():
                factor(x)
        else:
            factor = -positive("area", area, unit="m²", hint="Give a number, or a function of X in [0, 1].")
    except (TypeError, ValueError) as error:
        raise type(error)(f"chamber {name!r}: {error}") from None
    options = {"factor": factor, "push": True, "pressure": True}
    return _add_line(self, name, "chamber", rod, _routing(y, z, start, end, dy, dz), options)


def _add_line(
    self: Robot, name: str, kind: str, path: Path, routing: dict[str, Any], options: dict[str, Any]
) -> Tendon:
    self._check_name(name)
    try:
        pieces = _pieces(self, path, routing)
        tendon = Tendon(pieces, **options)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{kind} {name!r}: {error}") from None
    for piece in tendon.along:
        _check_inside(self, kind, name, piece)
    self.tendons[name] = tendon
    return tendon


def _pieces(self: Robot, path: Path, routing: dict[str, Any]) -> tuple[Along | Frame, ...]:
    """The stretches and points of a path."""
    if isinstance(path, (Link, str)):
        link = self.link(path.name if isinstance(path, Link) else path)
        if not link.is_rod:
            raise TypeError(f"{link.name!r} is a rigid body; tendons run along rods, or through a list of frames.")
        return (Along(link.name, **routing),)
    plain = {"y": 0.0, "z": 0.0, "start": 0.0, "end": 1.0, "dy": None, "dz": None}
    if any(
        not (isinstance(value, (int, float)) or value is None) or value != plain[key] for key, value in routing.items()
    ):
        raise ValueError("y, z, start, end, dy and dz are for a single rod; write Along(rod, y=...) in the path.")
    out: list[Along | Frame] = []
    if isinstance(path, Frame) or not isinstance(path, (Along, Iterable)):
        raise TypeError(
            f"path = {path!r} must be a rod, an Along, or a list of rods, Along, frames and links that the tendon "
            "passes one after the other."
        )
    rods = [link.name for link in self.links if link.is_rod]
    for piece in [path] if isinstance(path, Along) else path:
        if isinstance(piece, Along):
            if not self.link(piece.rod).is_rod:
                raise TypeError(f"Along({piece.rod!r}): {piece.rod!r} is a rigid body; give a frame of it.")
            out.append(piece)
        elif (isinstance(piece, Link) and piece.is_rod) or (isinstance(piece, str) and piece in rods):
            out.append(Along(piece))
        else:
            out.append(self.resolve(piece, field="a point of the path"))
    return tuple(out)


def check_line(robot: Robot, name: str) -> None:
    """Error if a tendon leaves the section of a rod."""
    tendon = robot.tendons[name]
    for piece in tendon.along:
        _check_inside(robot, tendon.kind, name, piece)


def _check_inside(self: Robot, kind: str, name: str, piece: Along) -> None:
    """Error if a tendon leaves the rod's section."""
    content = self.link(piece.rod).content
    assert isinstance(content, Rod)
    if content.section is None:
        return
    low, high = piece.span
    X = np.linspace(low, high, 33).clip(low + 1e-9, high - 1e-9)  # ends inside: the section may jump there
    reach = np.linalg.norm(piece.offsets(X)[0], axis=1)
    extent = content.section.extent(X)
    if np.any(reach > extent * (1 + _ON_SURFACE)):
        k = int(np.argmax(reach - extent))
        raise ValueError(
            f"{kind} {name!r}: its offset {reach[k]:.9g} m at X = {X[k]:.3g} lies {reach[k] - extent[k]:.2g} m outside the "
            f"section of rod {piece.rod!r}, which reaches {extent[k]:.9g} m there. Bring y and z inside, or follow the "
            "taper."
        )


def add_stress(
    self: Robot, name: str, rod: Link | str, stress: ArrayLike | Callable[[float], ArrayLike]
) -> InternalStress:
    """Add a distributed internal stress, scaled by the input of its name; see `InternalStress`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> muscle = robot.add_stress("muscle", arm, (0, 0, 0.01, 0, 0, 0))  # N m about z
    >>> system = robot.compile()
    >>> system.input_names
    ('muscle',)
    """
    self._check_name(name)
    link = self.link(rod.name if isinstance(rod, Link) else rod)
    if not link.is_rod:
        raise TypeError(f"stress {name!r}: {link.name!r} is a rigid body; internal stress acts in rods.")
    try:
        self.stresses[name] = InternalStress(link.name, stress)
    except (TypeError, ValueError) as error:
        raise type(error)(f"stress {name!r}: {error}") from None
    return self.stresses[name]


def add_active_strain(
    self: Robot, name: str, rod: Link | str, strain: ArrayLike | Callable[[float], ArrayLike]
) -> ActiveStrain:
    """Add a strain that the material of a rod takes by itself, scaled by the input of its name; see `ActiveStrain`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("bilayer", gravity=(0, 0, 0))
    >>> strip = robot.add_rod(
    ...     "strip", length=0.2, section=pl.Circle(0.005), material=silicone,
    ...     strains=pl.Strains.kirchhoff(2),
    ... )
    >>> curl = robot.add_active_strain("curl", strip, (0, 0, 1, 0, 0, 0))
    >>> rest = pl.solve_statics(robot.compile(), {"curl": 4.0})
    >>> print(rest.system.strain("strip", rest.q, [0.3]).round(6) + 0.0)  # rad/m
    [[0. 0. 4. 1. 0. 0.]]
    """
    self._check_name(name)
    link = self.link(rod.name if isinstance(rod, Link) else rod)
    if not isinstance(link.content, Rod):
        raise TypeError(f"active strain {name!r}: {link.name!r} is a rigid body; strains are those of rods.")
    try:
        active = ActiveStrain(link.name, strain)
        given = np.any(active.at(np.linspace(0.0, 1.0, 33)) != 0.0, axis=0)
        for k in np.flatnonzero(given).tolist():
            if k not in link.content.strains.components:
                raise ValueError(
                    f"strain has a part in {STRAIN_NAMES[k]}, which rod {link.name!r} has not free: it could not follow. Free it in strains, or give zero."
                )
    except (TypeError, ValueError) as error:
        raise type(error)(f"active strain {name!r}: {error}") from None
    self.active_strains[name] = active
    return active


def add_motor(
    self: Robot,
    name: str,
    link: Link | str,
    *,
    dof: int | str = 0,
    control: Literal["torque", "position", "velocity"] = "torque",
    kp: float = 0.0,
    kd: float = 0.0,
    limit: float = np.inf,
) -> Motor:
    """Add a motor on the joint of a link, or of a loop; the input of its name is torque, target position or target velocity.

    Parameters
    ----------
    name : str
    link : Link or str
        The link whose joint it drives, or the name of a loop.
    dof : int or str
        Number or name of the joint's degree of freedom.
    control, kp, kd, limit
        See `Motor`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body(
    ...     "rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0)
    ... )
    >>> servo = robot.add_motor("servo", rod, control="position", kp=20.0, kd=1.0)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"servo": -0.5})
    >>> print(f"{rest.q[0]:.3f} rad")  # it gives way under the weight
    -0.467 rad
    """
    self._check_name(name)
    target, joint, dof = joint_dof(self, "motor", name, link, dof)
    if joint.group is not None and control == "position":
        raise ValueError(f"motor {name!r}: a {joint.group.name} joint has no single angle to hold; use 'torque'.")
    try:
        self.motors[name] = Motor(target, int(dof), control, kp, kd, limit)
    except (TypeError, ValueError) as error:
        raise type(error)(f"motor {name!r}: {error}") from None
    return self.motors[name]


def add_stop(
    self: Robot,
    name: str,
    link: Link | str,
    *,
    dof: int | str = 0,
    lower: float = -np.inf,
    upper: float = np.inf,
    stiffness: float,
    dissipation: float = 0.0,
    restitution: float | None = None,
) -> Stop:
    """Limit a coordinate of the joint of a link, or of a loop, by a stiff spring beyond the ends of its range.

    Parameters
    ----------
    name : str
    link : Link or str
        The link whose joint it is, or the name of a loop.
    dof : int or str
        Number or name of the joint's degree of freedom.
    lower, upper, stiffness, dissipation, restitution
        See `Stop`.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("trapdoor")
    >>> door = robot.add_body(
    ...     "door", joint=pl.Revolute("y", damping=0.1), shape=pl.Box(0.5, 0.4, 0.02), mass=2.0, com=(0.25, 0, 0)
    ... )
    >>> stop = robot.add_stop("chain", door, upper=0.5, stiffness=1e4)
    >>> rest = pl.solve_statics(robot.compile())
    >>> print(f"{rest.q[0]:.4f} rad")  # 0.43 mrad beyond: 4.3 N m of weight
    0.5004 rad
    """
    self._check_name(name)
    target, joint, index = joint_dof(self, "stop", name, link, dof)
    if joint.group is not None:
        raise ValueError(f"stop {name!r}: a {joint.group.name} joint has no single coordinate that could be limited.")
    try:
        self.stops[name] = Stop(target, index, lower, upper, stiffness, dissipation, restitution)
    except (TypeError, ValueError) as error:
        raise type(error)(f"stop {name!r}: {error}") from None
    return self.stops[name]


def add_motion(self: Robot, name: str, link: Link | str, *, dof: int | str | None = None) -> PrescribedMotion:
    """Prescribe the motion of a link's joint, or of a loop; how it moves is said by ``motion={name: ...}`` of the solvers.

    Parameters
    ----------
    name : str
    link : Link or str
        The link whose joint is prescribed, or the name of a loop. A base that moves freely in space is a link with a `Free` joint.
    dof : int or str, optional
        Only this degree of freedom of a joint with several; not for spherical and free joints.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("table")
    >>> table = robot.add_body("table", joint=pl.Prismatic("z"), mass=2.0)
    >>> lift = robot.add_motion("lift", table)
    >>> system = robot.compile()
    >>> run = pl.simulate(system, 1.0, motion={"lift": lambda t: 0.5 * t**2})
    >>> print(f"{run.prescribed_forces()['lift'][-1, 0]:.2f} N")  # 2 kg × (9.81 + 1) m/s²
    21.62 N
    """
    self._check_name(name)
    target, joint, index = joint_dof(self, "motion", name, link, 0 if dof is None else dof)
    if dof is not None and joint.group is not None:
        raise ValueError(f"motion {name!r}: a {joint.group.name} joint is prescribed as a whole; leave out dof.")
    if joint.group is not None and target in self.loops:
        raise ValueError(
            f"motion {name!r}: the coordinates of a {joint.group.name} joint in a loop are no single numbers. Close the loop on a "
            "light body whose own joint is prescribed."
        )
    motion = PrescribedMotion(target, None if dof is None else index)
    for other, earlier in self.motions.items():
        if earlier.link == target and (None in (earlier.dof, motion.dof) or earlier.dof == motion.dof):
            raise ValueError(f"motion {name!r}: this joint is prescribed by {other!r} already.")
    self.motions[name] = motion
    return motion


def joint_dof(self: Robot, kind: str, name: str, link: Link | str, dof: int | str) -> tuple[str, Joint, int]:
    """The name of a link or loop, its joint, and the number of one of the joint's degrees of freedom."""
    target = link.name if isinstance(link, Link) else link
    if not isinstance(target, str):
        raise TypeError(f"{kind} {name!r}: link = {shown(target)} must be a link, or the name of a link or loop.")
    joint = joint_of(self, target)
    names = joint.dof_names
    if not names:
        free = "is fixed" if not joint.closes_only else f"({type(joint).__name__}) has no coordinate"
        raise ValueError(f"{kind} {name!r}: the joint of {target!r} {free}; give it a joint to drive.")
    if target in self.loops:
        try:
            self.loops[target].coordinates()
        except TypeError as error:
            raise TypeError(f"{kind} {name!r}: {error}") from None
    if isinstance(dof, str):
        if dof not in names:
            raise unknown_name(f"degree of freedom of {target!r}", dof, names)
        dof = names.index(dof)
    if isinstance(dof, bool) or not isinstance(dof, (int, np.integer)) or not 0 <= dof < len(names):
        raise ValueError(
            f"{kind} {name!r}: dof = {dof!r} is not allowed: the joint of {target!r} has {', '.join(names)}."
        )
    return target, joint, int(dof)


def _routing(y: Any, z: Any, start: Any, end: Any, dy: Any, dz: Any) -> dict[str, Any]:
    """Arguments of `Along` besides the rod."""
    return {"y": y, "z": z, "start": start, "end": end, "dy": dy, "dz": dz}
