"""What closes the tree: joints between two of its frames, or a frame and the world, and couplings of its coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .joints import Fixed, Joint, Rolling, Skate
from .joints.constraints import UNITS, Constraint, rotation_vector
from .links import WORLD, Frame, Link
from .units import FORCES
from .validate import finite, shown, unknown_name

if TYPE_CHECKING:
    from .robot import Robot

__all__ = [
    "Coupling",
    "Loop",
    "add_coupling",
    "add_loop",
    "closing_rows",
    "closing_text",
    "coordinates_of",
    "force_units",
    "joint_of",
    "loop_rows",
]


@dataclass(frozen=True)
class Loop:
    """A joint between two frames that the tree already places.

    Parameters
    ----------
    a, b : Frame
        The two frames. Where the joint is at zero, they coincide.
    joint : Joint
        What may move between them, with axes in the frames' own axes (the same in both), with springs and dampers; or one of the
        restraints `Rows`, `Slot`, `Distance`, `Rolling`, `Skate`.

    Notes
    -----
    The joint is a set of scalar constraints, each with a multiplier (see `kernels.loads.loops`). It may start open by any rotation, and closes the
    nearer way. Its angles count between ± half a turn (springs from their rest), those of a screw all turns; its spring and damper act as those of a joint of the tree.
    """

    a: Frame
    b: Frame
    joint: Joint

    def __post_init__(self) -> None:
        """Check that the joint constrains something and can be written down."""
        self.rows()
        if self.a.link == self.b.link and self.a.X == self.b.X:
            raise ValueError("both frames are fixed to each other; a loop needs two different places.")
        if isinstance(self.joint, (Rolling, Skate)) and self.b.link == WORLD.link:
            raise ValueError(
                f'joint = {self.joint!r} wants the ground first: give a = "world" and what moves on it as b.'
            )
        if np.any(self.joint.stiffness) or np.any(self.joint.damping):
            self.springs()

    def rows(self) -> list[Constraint]:
        """The constraints: kind, data of the kernel, description."""
        try:
            rows = self.joint.constraints()
        except NotImplementedError:
            raise TypeError(
                f"joint = {self.joint!r} does not say what it constrains, so it closes no loop: give its class a method "
                "constraints()."
            ) from None
        if not rows:
            raise TypeError(f"joint = {self.joint!r} constrains nothing, so it closes no loop.")
        return rows

    def coordinates(self) -> list[Constraint]:
        """The coordinates of the joint, one for each of its degrees of freedom, as rows of the kernel."""
        try:
            return self.joint.coordinates()
        except NotImplementedError:
            raise TypeError(
                f"joint = {self.joint!r} does not say what its coordinates are, so that nothing can drive them in a loop: give its "
                "class a method coordinates()."
            ) from None

    def springs(self) -> list[tuple[Constraint, float, float, float]]:
        """Row, stiffness, damping and rest of each spring and damper."""
        joint = self.joint
        n = joint.nv
        stiffness, damping = joint.stiffness_matrix, joint.damping_matrix
        for name, matrix in (("stiffness", stiffness), ("damping", damping)):
            if np.any(matrix - np.diag(np.diag(matrix))):
                raise ValueError(
                    f"joint: {name} = {getattr(joint, name)!r} is not allowed in a loop: give one number or {n}, not a matrix."
                )
        k, c, rest = np.diag(stiffness), np.diag(damping), joint.rest_position
        rates = self.coordinates()
        if joint.group is None:
            return [
                (row, *values) for row, *values in zip(rates, k.tolist(), c.tolist(), rest.tolist()) if any(values[:2])
            ]
        turned = joint.group.matrix(rest)
        vector = [rotation_vector(unit, f"rotation {x}", turned) for unit, x in zip(np.eye(3), "xyz")]
        out = [(row, float(s), 0.0, 0.0) for row, s in zip(vector, k) if s]
        return out + [(row, 0.0, float(d), 0.0) for row, d in zip(rates, c) if d]


@dataclass(frozen=True)
class Coupling:
    """A fixed relation between coordinates of joints: gears, belts, screws, fingers that move together.

    Parameters
    ----------
    terms : tuple of (link, dof, ratio)
        Coordinates by the name of their link and their number in its joint, and their factors.
    offset : float
        ``Σ ratio q = offset``.
    """

    terms: tuple[tuple[str, int, float], ...]
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        terms = tuple((link, dof, finite(f"ratio of {link!r}", ratio)) for link, dof, ratio in self.terms)
        for link, _dof, ratio in terms:
            if ratio == 0.0:
                raise ValueError(f"ratio of {link!r} = 0 is not allowed: it would take no part; leave it out.")
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "offset", finite("offset", self.offset))

    def revised(self, key: str | int, value: float) -> Coupling:
        """With another value of a field, or another ratio of the term of a number."""
        if isinstance(key, str):
            return replace(self, **{key: value})  # type: ignore[arg-type]
        terms = [(*term[:2], value) if k == key else term for k, term in enumerate(self.terms)]
        return replace(self, terms=tuple(terms))

    def row(self) -> Constraint:
        """As a constraint; its terms are known to the kernel apart."""
        data = np.zeros(17)
        data[15] = self.offset
        return "coupling", data, "coupling"


def add_loop(
    self: Robot, name: str, a: Link | Frame | str, b: Link | Frame | str | None = None, *, joint: Joint | None = None
) -> Loop:
    """Close a loop by a joint between two frames; see `Loop`.

    Parameters
    ----------
    name : str
        `add_motor`, `add_stop` and `add_motion` take it in place of the name of a link.
    a, b : link, frame or name
        The frames that the joint connects; the world if b is left out.
    joint : Joint, optional
        What may still move; fixed if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("two bars")
    >>> bars = [
    ...     robot.add_body(
    ...         f"bar{k}", offset=(0, y, 0), joint=pl.Revolute("z"),
    ...         shape=pl.Box(0.4, 0.02, 0.02), mass=0.1, com=(0.2, 0, 0),
    ...     )
    ...     for k, y in enumerate((-0.1, 0.1))
    ... ]
    >>> ends = [bar.at((0.4, 0, 0)) for bar in bars]
    >>> loop = robot.add_loop("pin", *ends, joint=pl.Revolute("z", stiffness=0.1))
    >>> robot.compile().loop_rows[:2]
    ('pin: position x', 'pin: position y')
    """
    self._check_name(name)
    if joint is not None and not isinstance(joint, Joint):
        raise TypeError(f"loop {name!r}: joint = {joint!r} must be a joint such as Revolute('z').")
    try:
        loop = Loop(self.resolve(a, field="a"), self.resolve(b, field="b"), Fixed() if joint is None else joint)
    except (TypeError, ValueError) as error:
        raise type(error)(f"loop {name!r}: {error}") from None
    self.loops[name] = loop
    return loop


def add_coupling(self: Robot, name: str, terms: Mapping[str, float], *, offset: float = 0.0) -> Coupling:
    """Couple coordinates of joints, ``Σ ratio q = offset``: gears, belts, screws, fingers that move together.

    Parameters
    ----------
    name : str
    terms : dict
        Ratios by coordinate: the name of a link whose joint has one degree of freedom, or ``"link.dof"``. Two wheels of 20 and 40
        teeth that mesh: ``{"small": 20, "large": 40}``; a screw that moves a nut by 2 mm per turn: ``{"screw": 0.002 / (2 * pi), "nut": -1}``.
    offset : float
        What the sum is [rad or m].

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("gears", gravity=(0, 0, 0))
    >>> for x, wheel in enumerate(["small", "large"]):
    ...     body = robot.add_body(wheel, offset=(x, 0, 0), joint=pl.Revolute("z"), shape=pl.Cylinder(0.1, 0.02), mass=1.0)
    >>> motor = robot.add_motor("motor", "small")
    >>> mesh = robot.add_coupling("mesh", {"small": 20, "large": 40})
    >>> system = robot.compile()
    >>> a = system.forward_dynamics([0, 0], [0, 0], u={"motor": 1.0})
    >>> print(f"{a[1] / a[0]:.3f}")
    -0.500
    """
    self._check_name(name)
    found = coordinates_of(self, "coupling", name, terms)
    try:
        self.couplings[name] = Coupling(found, offset)
    except (TypeError, ValueError) as error:
        raise type(error)(f"coupling {name!r}: {error}") from None
    return self.couplings[name]


def coordinates_of(self: Robot, kind: str, name: str, terms: Mapping[str, float]) -> tuple[tuple[str, int, float], ...]:
    """Links, numbers of coordinates and ratios from ratios by coordinate."""
    if not isinstance(terms, Mapping) or not terms:
        raise TypeError(
            f"{kind} {name!r}: terms = {shown(terms)} must be a dictionary of ratios by coordinate, such as "
            '{"small": 20, "large": 40}.'
        )
    found = [(*_coordinate(self, f"{kind} {name!r}", key), ratio) for key, ratio in terms.items()]
    if len({term[:2] for term in found}) < len(found):
        raise ValueError(f"{kind} {name!r}: terms = {shown(terms)} has a coordinate twice; add up its ratios.")
    return tuple(found)


def _coordinate(self: Robot, what: str, key: object) -> tuple[str, int]:
    """Link and number of a coordinate that is named "link" or "link.dof"."""
    if not isinstance(key, str):
        raise TypeError(f'{what}: {shown(key)} must be the name of a link, or "link.dof".')
    links = {link.name: link for link in self.links}
    link, dot, rest = key.partition(".")
    dof = rest if dot else None
    if link in self.loops:
        raise ValueError(
            f"{what}: {key!r} is a loop, but only coordinates of links can be coupled. Close the loop elsewhere, so that "
            "its joint is that of a link."
        )
    if link not in links or (dof is not None and dof not in links[link].joint.dof_names):
        known = [f"{n}.{d}" for n in links for d in links[n].joint.dof_names]
        raise unknown_name(f"coordinate of {what}", key, known)
    joint = links[link].joint
    if joint.group is not None:
        raise ValueError(
            f"{what}: {key!r} belongs to a {joint.group.name} joint, whose coordinates are no single numbers. Couple "
            "joints with angles or displacements, such as Revolute, Universal or Prismatic."
        )
    if dof is None and joint.nv != 1:
        which = ", ".join(f"{link}.{d}" for d in joint.dof_names)
        remedy = f"say which one: {which}." if joint.nv else "give the link a joint that moves."
        raise ValueError(f"{what}: the joint of {link!r} has {joint.nv} degrees of freedom; {remedy}")
    return link, 0 if dof is None else joint.dof_names.index(dof)


def loop_rows(robot: Robot, name: str) -> list[tuple[Constraint, str | None]]:
    """The rows of a loop joint, each with the name of the prescribed motion that it follows, if it is one of its coordinates."""
    loop = robot.loops[name]
    out: list[tuple[Constraint, str | None]] = [(row, None) for row in loop.rows()]
    for motion, told in robot.motions.items():
        if told.link == name:
            rows = loop.coordinates()
            out += [
                ((kind, data, f"motion of {what}"), motion)
                for kind, data, what in (rows if told.dof is None else [rows[told.dof]])
            ]
    return out


def closing_rows(robot: Robot) -> Iterator[tuple[str, Constraint, str | None]]:
    """All constraints: the name of their loop or coupling, the row, and the motion that it follows."""
    for name in robot.loops:
        for row, motion in loop_rows(robot, name):
            yield name, row, motion
    for name, coupling in robot.couplings.items():
        yield name, coupling.row(), None


def joint_of(robot: Robot, name: str) -> Joint:
    """The joint of a link or of a loop."""
    if name in robot.loops:
        return robot.loops[name].joint
    links = {link.name: link for link in robot.links}
    if name not in links:
        raise unknown_name("link or loop", name, [*links, *robot.loops])
    return links[name].joint


def force_units(robot: Robot) -> Iterator[str]:
    """Units of the forces of all constraints; "" of a coupling of angles and displacements, where the ratios decide it."""
    for name, (kind, _data, _what), _motion in closing_rows(robot):
        if name in robot.couplings:
            units = {robot.link(link).joint.dof_units[dof] for link, dof, _ratio in robot.couplings[name].terms}
            yield FORCES[units.pop()] if len(units) == 1 else ""
        else:
            yield FORCES[UNITS[kind]]


def closing_text(robot: Robot) -> Iterator[str]:
    """A line on each loop and coupling."""
    for name, loop in robot.loops.items():
        yield f"{name}: {_place(loop.a)} – {_place(loop.b)} · {loop.joint!r}"
    for name, coupling in robot.couplings.items():
        terms = []
        for link, dof, ratio in coupling.terms:
            joint = robot.link(link).joint
            terms.append(f"{ratio:+g} {link}" + (f".{joint.dof_names[dof]}" if joint.nv > 1 else ""))
        yield f"{name}: {' '.join(terms).removeprefix('+')} = {coupling.offset:g}"


def _place(frame: Frame) -> str:
    """The name of a frame without its offset."""
    if frame.X is None:
        return frame.link
    return frame.link + {0.0: ".base", 1.0: ".tip"}.get(frame.X, f"@{frame.X:g}")
