"""The robot as its user describes it: links are added one by one, then compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .actuators import ActiveStrain, InternalStress, Motor, PrescribedMotion, Stop, Tendon
from .bearings import Backlash, JointFriction, JointSpring, add_backlash, add_friction, add_spring
from .contacts import add_contacts
from .cost import check_robot
from .driven import (
    add_active_strain,
    add_chamber,
    add_motion,
    add_motor,
    add_push_rod,
    add_stop,
    add_stress,
    add_tendon,
    check_line,
)
from .fluid import Fluid, Hydrodynamics
from .joints import Fixed, Joint
from .links import STRAIGHT, WORLD, Body, Density, Frame, Link, ReferenceStrain, Rod
from .loads import FIELD, Contact, Dipole, DistributedWrench, Load, Obstacle, PointWrench
from .loops import Coupling, Loop, add_coupling, add_loop, closing_text
from .magnetics import Coil, Magnet, add_coil, add_magnet, feels_field
from .parameters import Parameter, Parameters, parameters_of, revised
from .pose import PoseLike, as_pose
from .rods.laws import Law
from .rods.sections import Material, Section
from .rods.strains import STRAIN_NAMES, Strains
from .shapes import Inertia, Shape, Visual, as_visuals
from .surroundings import (
    add_contact,
    add_dipole,
    add_distributed_wrench,
    add_hydrodynamics,
    add_load,
    add_obstacle,
    add_wrench,
    set_fluid,
)
from .tubes import add_tubes
from .user import UserLoad
from .validate import name as checked_name
from .validate import shown, text, unknown_name, vector

if TYPE_CHECKING:
    from ..system import System

__all__ = ["Robot"]

Parent = Link | Frame | str | None
# attributes that hold named parts besides links and frames
_NAMED = (
    "tendons",
    "motors",
    "stops",
    "bearings",
    "motions",
    "stresses",
    "active_strains",
    "wrenches",
    "dipoles",
    "sources",
    "obstacles",
    "contacts",
    "user_loads",
    "loops",
    "couplings",
    "loads",
)


class Robot:
    """A tree of rods and rigid bodies, with what drives it and what acts on it.

    Parameters
    ----------
    name : str
        Shown when printed. Names of robots and parts are text on one line of at most 200 characters; those of parts have no
        '.' and '@' and are not "world".
    gravity : array (3,)
        Gravity in world axes [m/s²].

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("arm", gravity=(0, 0, -9.81))
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> arm = robot.add_rod(
    ...     "arm", length=0.5, section=pl.Circle(radius=(0.03, 0.015)), material=silicone,
    ...     strains=pl.Strains.kirchhoff(order=3),
    ... )
    >>> tool = robot.add_body("tool", parent=arm.tip, shape=pl.Sphere(radius=0.02), mass=0.05)
    >>> robot.compile().nv
    12
    """

    def __init__(self, name: str = "robot", *, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = _gravity(gravity)
        self.links: list[Link] = []
        self.frames: dict[str, Frame] = {}
        self.tendons: dict[str, Tendon] = {}
        self.motors: dict[str, Motor] = {}
        self.stops: dict[str, Stop] = {}
        self.bearings: dict[str, JointFriction | JointSpring | Backlash] = {}
        self.motions: dict[str, PrescribedMotion] = {}
        self.stresses: dict[str, InternalStress] = {}
        self.active_strains: dict[str, ActiveStrain] = {}
        self.wrenches: dict[str, PointWrench | DistributedWrench] = {}
        self.dipoles: dict[str, Dipole] = {}
        self.sources: dict[str, Magnet | Coil] = {}
        self.fluid: Fluid | None = None
        self.hydrodynamics: dict[str, Hydrodynamics] = {}
        self.obstacles: dict[str, Obstacle] = {}
        self.contacts: dict[str, Contact] = {}
        self.loops: dict[str, Loop] = {}
        self.couplings: dict[str, Coupling] = {}
        self.user_loads: dict[str, tuple[UserLoad, tuple[Frame | str, ...]]] = {}
        self.loads: dict[str, Load] = {}

    # ------------------------------------------------------------ what drives it, what acts on it: see the files of their names

    add_tendon, add_push_rod, add_chamber = add_tendon, add_push_rod, add_chamber
    add_stress, add_motor, add_stop, add_motion = add_stress, add_motor, add_stop, add_motion
    add_active_strain = add_active_strain
    add_friction, add_spring, add_backlash = add_friction, add_spring, add_backlash
    add_wrench, add_distributed_wrench, add_dipole = add_wrench, add_distributed_wrench, add_dipole
    add_magnet, add_coil = add_magnet, add_coil
    set_fluid, add_hydrodynamics = set_fluid, add_hydrodynamics
    add_obstacle, add_contact, add_contacts = add_obstacle, add_contact, add_contacts
    add_load, add_loop, add_coupling = add_load, add_loop, add_coupling
    add_tubes = add_tubes

    # ------------------------------------------------------------ building

    def add_rod(
        self,
        name: str,
        *,
        length: float,
        strains: Strains,
        section: Section | None = None,
        material: Material | None = None,
        parent: Parent = None,
        joint: Joint | None = None,
        offset: PoseLike = None,
        offset_after: PoseLike = None,
        reference_strain: ReferenceStrain = STRAIGHT,
        stiffness: Density | None = None,
        inertia: Density | None = None,
        damping: Density | None = None,
        points: int | None = None,
        magnus: Literal[2, 4] = 4,
        collocation: bool = False,
        integration: Literal["magnus", "spectral"] = "magnus",
        law: Law | Sequence[Law] | None = None,
    ) -> Link:
        """Add a soft rod.

        Parameters
        ----------
        name : str
            Unique name; the rod's frames are ``"name.base"`` and ``"name.tip"``.
        length : float
            Length in the reference configuration [m].
        strains : Strains
            Which strains are free, with their bases.
        section, material : Section, Material, optional
            Cross-section and material (of a `Composite` each part has its own); or give the densities below directly.
        stiffness, inertia, damping : 6×6 array, 6 diagonal entries, or function of X, optional
            Densities per metre, order torsion, bending y, bending z, stretch, shear y, shear z; they replace what would
            follow from section and material. Gravity acts through the linear 3×3 block of the inertia, which should
            be a multiple of the identity where there is gravity (otherwise its force has no potential).
        reference_strain : array (6,) or function of X, optional
            Strain ξ* of the unloaded rod [rad/m, –]; straight if left out. X runs from 0 to 1.
        points : int, optional
            Gauss points per element of the basis. The default follows from the order (2·order + 2, at least 6, 10, 12 on a rod of order
            0, 1, 2 or more) and from functions of X that vary faster. With spectral integration Chebyshev points per element and per stretch between attachments (2·order + 6, at least 10 on a rod).
        magnus : 2 or 4
            Order of the Magnus expansion between neighbouring points.
        collocation : bool
            Take the strain at two nodes between neighbouring points, as [002] does, instead of integrating the basis
            exactly over each step. For comparison with other programs; less accurate from order 4 on.
        integration : "magnus" or "spectral"
            How the rod is integrated along its length: with Magnus expansions between Gauss points, or by Chebyshev collocation
            with quaternions over each element, as [000] does.
        law : Law or sequence of Law, optional
            How stress follows from strain (docs/laws.md), in place of linear elasticity; laws add up. The damping acts beside them.
        parent : Link, Frame or str, optional
            What it hangs on: a link (a rod's tip, a body's frame), a frame such as ``arm.at(0.3)``, or a name. World
            if left out.
        joint : Joint, optional
            Between parent and rod; fixed if left out.
        offset, offset_after : pose, optional
            Fixed offsets before and after the joint: `Pose`, 4×4 matrix, or a translation (3,) [m].

        Returns
        -------
        Link
            Handle with ``.tip``, ``.base`` and ``.at(X)``.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> arm.tip.X, arm.nv, robot.compile().rod_length("arm")
        (1.0, 12, 0.4)
        """
        try:
            rod = Rod(
                length=length,
                strains=strains,
                section=section,
                material=material,
                stiffness=stiffness,
                inertia=inertia,
                damping=damping,
                reference_strain=reference_strain,
                points=points,
                magnus=magnus,
                collocation=collocation,
                integration=integration,
                law=law,  # type: ignore[arg-type]
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"rod {name!r}: {error}") from None
        return self._add(name, rod, parent, joint, offset, offset_after)

    def add_body(
        self,
        name: str,
        *,
        parent: Parent = None,
        joint: Joint | None = None,
        offset: PoseLike = None,
        offset_after: PoseLike = None,
        shape: Shape | None = None,
        mass: float | None = None,
        density: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | Inertia | None = None,
        visual: Visual | Shape | str | Path | Sequence[Visual | Shape | str | Path] | None = None,
    ) -> Link:
        """Add a rigid body.

        Parameters
        ----------
        name : str
            Unique name, also of the body's frame.
        parent, joint, offset, offset_after
            As in `add_rod`. The body frame is the frame after the joint and `offset_after`.
        shape : Shape, optional
            Box, cylinder, sphere or ellipsoid centred at `com`; with `mass` or `density` it gives the inertia.
        mass : float, optional
            Mass [kg].
        density : float, optional
            Density [kg/m³], instead of `mass`, with a shape.
        com : array (3,), optional
            Centre of mass in the body frame [m].
        inertia : array (3, 3) or (3,), or Inertia, optional
            Rotational inertia about the centre of mass in body axes [kg m²]. A body with nothing given is massless.
        visual : Visual, mesh file or shape, or several, optional
            What is drawn in place of the shape, in the body frame; see `Visual`.

        Returns
        -------
        Link

        Examples
        --------
        >>> import pliant as pl
        >>> robot = pl.Robot("drone")
        >>> hull = robot.add_body("hull", joint=pl.Free(), shape=pl.Box(0.2, 0.2, 0.05), mass=1.2)
        >>> rotor = robot.add_body(
        ...     "rotor", parent=hull, offset=(0.1, 0, 0.03), joint=pl.Revolute("z"),
        ...     shape=pl.Cylinder(0.05, 0.005), density=500,
        ... )
        >>> robot.nv, robot.nq
        (7, 8)
        """
        try:
            found = _body_inertia(shape, mass, density, com, inertia)
            body = Body(found, shape, density, shape is not None and inertia is None, as_visuals(visual))
        except (TypeError, ValueError) as error:
            raise type(error)(f"body {name!r}: {error}") from None
        return self._add(name, body, parent, joint, offset, offset_after)

    def add_frame(self, name: str, parent: Parent, *, offset: PoseLike = None) -> Frame:
        """Name a point of interest: it can then be asked for its pose, velocity and Jacobian by name.

        A point inside a rod becomes a computational point without mass.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> sensor = robot.add_frame("sensor", arm.at(0.5), offset=(0, 0, 0.015))  # on the surface
        >>> system = robot.compile()
        >>> print(system.pose("sensor", system.neutral())[:3, 3])
        [0.2   0.    0.015]
        """
        self._check_name(name)
        frame = self.resolve(parent).at(offset)
        self.frames[name] = frame
        return frame

    def _add(
        self,
        name: str,
        content: Rod | Body,
        parent: Parent,
        joint: Joint | None,
        offset: PoseLike,
        offset_after: PoseLike,
    ) -> Link:
        self._check_name(name)
        if joint is not None and not isinstance(joint, Joint):
            raise TypeError(f"link {name!r}: joint = {joint!r} must be a joint such as Revolute('z') or Free().")
        if joint is not None and joint.closes_only:
            raise ValueError(f"link {name!r}: joint = {joint!r} only closes loops; give it to add_loop.")
        link = Link(
            name,
            content,
            self.resolve(parent),
            Fixed() if joint is None else joint,
            as_pose(offset, name=f"link {name!r}: offset"),
            as_pose(offset_after, name=f"link {name!r}: offset_after"),
        )
        self.links.append(link)
        return link

    def _check_name(self, name: str) -> None:
        checked_name(name)
        named = [self.frames, *(getattr(self, kind) for kind in _NAMED)]
        inputs = [own for load, _places in self.user_loads.values() for own in load.inputs]
        inputs += [own.name for label, load in self.loads.items() for own in load.inputs(label)]
        if name in FIELD and feels_field(self):
            raise ValueError(f"the name {name!r} is taken already: it is an input of the field that acts on dipoles.")
        if any(name in group for group in named) or name in inputs or any(link.name == name for link in self.links):
            raise ValueError(
                f"the name {name!r} is taken already; give each link, frame, actuator, load and input its own."
            )

    def resolve(self, place: Parent, *, field: str = "parent") -> Frame:
        """The frame that a link, a frame or a name stands for (None: the world).

        Names: a link or frame, ``"rod.tip"``, ``"rod.base"``, ``"rod@0.3"`` (X = 0.3), ``"world"``.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> robot.resolve("arm@0.25").X, robot.resolve("arm.tip") == arm.tip
        (0.25, True)
        """
        if place is None:
            return WORLD
        if isinstance(place, Link):
            place = place.frame
        if isinstance(place, Frame):
            if place.link != "world":
                self.link(place.link)
            return place
        if not isinstance(place, str):
            raise TypeError(f"{field} = {shown(place)} must be a link, a frame, or the name of one.")
        if place == "world":
            return WORLD
        if place in self.frames:
            return self.frames[place]
        head, at, X = place.partition("@")
        if at:
            try:
                number = float(X)  # text, since it is part of a name
            except ValueError:
                raise ValueError(f"frame {place!r}: {X!r} is not a number; write for instance 'rod@0.3'.") from None
            try:
                return self.link(head).at(number)
            except (TypeError, ValueError) as error:
                raise type(error)(f"frame {place!r}: {error}") from None
        head, dot, end = place.partition(".")
        if dot:
            link = self.link(head)
            if end == "tip" and link.is_rod:
                return link.tip
            if end == "base" and link.is_rod:
                return link.base
            raise unknown_name("frame", place, self.frame_names())
        try:
            return self.link(place).frame
        except KeyError:
            raise unknown_name("link or frame", place, self.frame_names()) from None

    def link(self, name: str) -> Link:
        """The link of that name."""
        if not isinstance(name, str):
            raise TypeError(f"link = {shown(name)} must be a link, or the name of one.")
        for link in self.links:
            if link.name == name:
                return link
        raise unknown_name("link", name, [link.name for link in self.links])

    def frame_names(self) -> list[str]:
        """Every name that `resolve` knows (besides ``rod@X``)."""
        names = list(self.frames)
        for link in self.links:
            names.append(link.name)
            if link.is_rod:
                names += [f"{link.name}.base", f"{link.name}.tip"]
        return names

    # ------------------------------------------------------------ parameters

    @property
    def groups(self) -> tuple[str, ...]:
        """Attributes that hold named parts besides links and frames."""
        return _NAMED

    @property
    def parameters(self) -> Parameters:
        """Every number of the description that can be changed by name, with its value and unit."""
        return Parameters(parameters_of(self))

    def with_parameters(self, values: Mapping[str, float]) -> Robot:
        """A robot with other values of some parameters, by name; see `parameters`.

        A uniform body stays uniform: another size or density gives it another mass and inertia, another mass another inertia.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> longer = robot.with_parameters({"arm.length": 0.5, "gravity.z": 0.0})
        >>> longer.parameters["arm.length"], robot.parameters["arm.length"]
        (0.5, 0.4)
        """
        return self.revised(parameters_of(self), values)

    def revised(self, found: Mapping[str, Parameter], values: Mapping[str, float]) -> Robot:
        """The same, with the parameters found before."""
        out = self.copy()
        for name, value in values.items():
            if name not in found:
                raise unknown_name("parameter", str(name), found)
            where, key, *_rest = found[name].path
            if key is None:
                setattr(out, where, revised(getattr(out, where), found[name], value))
            else:
                group = getattr(out, where)
                group[key] = revised(group[key], found[name], value)
        paths = [found[name].path for name in values]
        lines = {path[1] for path in paths if path[0] == "tendons"}
        rods = {out.links[path[1]].name for path in paths if path[2:4] == ("content", "section")}
        for name, tendon in out.tendons.items() if lines or rods else ():
            if name in lines or any(piece.rod in rods for piece in tendon.along):
                check_line(out, name)
        return out

    # ------------------------------------------------------------ results

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(link.nv for link in self.links)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(link.nq for link in self.links)

    def compile(self) -> System:
        """The immutable `System` that answers questions about this robot."""
        from ..system import System

        check_robot(self.nv)
        return System(self)

    @property
    def name(self) -> str:
        """Shown when printed."""
        return str(vars(self)["name"])

    @name.setter
    def name(self, value: str) -> None:
        vars(self)["name"] = text("name", value)  # with the other attributes, which copies and files go through

    def save(self, path: str | Path) -> None:
        """Write the robot to a YAML or JSON file, from which `pliant.load_model` makes the same robot; see `save_model`."""
        from ..io.model import save_model

        save_model(self, path)

    def copy(self) -> Robot:
        """A robot that can be extended without changing this one."""
        other = object.__new__(type(self))
        for name, value in vars(self).items():
            other.__dict__[name] = value.copy() if isinstance(value, (list, dict)) else value
        if other.gravity.flags.writeable if isinstance(other.gravity, np.ndarray) else True:  # set by hand
            other.gravity = _gravity(other.gravity)
        return other

    def __str__(self) -> str:
        """The tree of links with their degrees of freedom, and what closes it."""
        lines = [f"{self.name}: {_plural(len(self.links), 'link')}, {self.nv} dof"]
        if self.nq != self.nv:
            lines[0] += f" ({self.nq} coordinates)"
        children: dict[str, list[Link]] = {}
        for link in self.links:
            children.setdefault(link.parent.link, []).append(link)

        lines.append("world")
        stack = [(link, "", k == 0) for k, link in enumerate(reversed(children.get("world", [])))]
        while stack:
            link, indent, last = stack.pop()
            lines.append(indent + ("└─ " if last else "├─ ") + _describe(link))
            inner = indent + ("   " if last else "│  ")
            stack += [(child, inner, k == 0) for k, child in enumerate(reversed(children.get(link.name, [])))]
        closing = list(closing_text(self))
        lines += ["closed by", *(f"   {line}" for line in closing)] if closing else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A picture, the parts and the tree, for notebooks."""
        from ..viz.notebook import robot_html

        return robot_html(self)

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<Robot {self.name!r}: {_plural(len(self.links), 'link')}, {self.nv} dof>"


def _gravity(value: ArrayLike) -> NDArray[np.float64]:
    return vector("gravity", value, (3,), hint="Give (gx, gy, gz) in m/s².")


def _describe(link: Link) -> str:
    where = f" at X={link.parent.X:g}" if link.parent.X not in (None, 1.0) else ""
    joint = "" if link.joint.nv == 0 else f" · {link.joint!r} ({link.joint.nv})"
    if isinstance(link.content, Rod):
        strains = ", ".join(
            f"{name} {basis!r}" for name, basis in zip(STRAIN_NAMES, link.content.strains.bases) if basis is not None
        )
        what = f"rod {link.content.length:g} m: {strains} ({link.content.strains.size})"
    elif link.content.inertia is not None:
        what = f"body {link.content.inertia.mass:g} kg"
    else:
        what = "body, massless"
    return f"{link.name}{where}{joint} · {what}"


def _body_inertia(
    shape: Shape | None,
    mass: float | None,
    density: float | None,
    com: ArrayLike | None,
    inertia: ArrayLike | Inertia | None,
) -> Inertia | None:
    """Inertia of a body from what was given of it; None for a massless body."""
    if shape is not None and not isinstance(shape, Shape):
        raise TypeError(f"shape = {shape!r} must be a Box, Capsule, Cylinder, Sphere, Ellipsoid, Hull or Mesh.")
    if isinstance(inertia, Inertia):
        if mass is not None or density is not None or com is not None:
            raise ValueError("an Inertia holds mass and centre of mass already; leave out mass, density and com.")
        return inertia
    own = np.zeros(3) if shape is None else shape.centroid
    centre = own if com is None else vector("com", com, (3,), hint="In the body frame, in metres.")
    if shape is not None and inertia is None:
        if mass is None and density is None:
            raise ValueError("a shape needs mass [kg] or density [kg/m³] to have an inertia.")
        return Inertia.of(shape, mass=mass, density=density, com=centre)
    if density is not None:
        raise ValueError("density needs a shape (and no inertia); give mass instead.")
    if mass is None:
        if inertia is not None or com is not None:
            raise ValueError("mass is missing: inertia and com need one.")
        return None
    return Inertia(mass, centre, inertia)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
