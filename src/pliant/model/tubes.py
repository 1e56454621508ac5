"""Concentric tubes: pre-curved tubes in each other that slide and turn, all on one centreline."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .joints import Revolute
from .links import Frame, Link
from .loads import Load
from .pose import PoseLike
from .rods.sections import Annulus, Circle
from .rods.strains import Strains
from .units import Input
from .validate import finite, integer, non_negative, positive, shown

if TYPE_CHECKING:
    from ..system import System
    from .robot import Robot

__all__ = ["ConcentricTubes", "Stretch", "Tube", "add_tubes", "arrange"]

Array = NDArray[np.float64]
SHORTEST = 1e-6
"""Length behind the plate, in lengths of the tube, with which a tube that is held in the plate itself is turned."""
_HAIR = 1e-6  # m, radius with which the rods that only carry twist are drawn
_SAME = 1e-9  # ends that are nearer, in lengths of the longest tube, are one


@dataclass(frozen=True)
class Tube:
    """A tube that is straight first and then bent to an arc.

    Parameters
    ----------
    straight, curved : float
        Lengths of the straight part, where it is held, and of the pre-curved part behind it [m].
    curvature : float or (y, z)
        Of the curved part [rad/m]: about the tube's own z axis (it bends towards its y axis), or about its y and z axes.
    outer, inner : float
        Radii [m].
    young : float
        Young's modulus [Pa].
    poisson : float
        Poisson's ratio.
    density : float
        [kg/m³]; that of nitinol if left out.

    Examples
    --------
    >>> import pliant as pl
    >>> tube = pl.Tube(straight=0.19, curved=0.06, curvature=25.0, outer=0.46e-3, inner=0.40e-3, young=65e9)
    >>> print(f"{tube.length:.2f} m, {tube.bending:.2e} N m²")
    0.25 m, 9.79e-04 N m²
    """

    straight: float
    curved: float
    curvature: float | tuple[float, float]
    outer: float
    inner: float
    young: float
    poisson: float = 0.3
    density: float = 6450.0

    units: ClassVar[dict[str, str]] = {
        "straight": "m",
        "curved": "m",
        "curvature": "rad/m",
        "outer": "m",
        "inner": "m",
        "young": "Pa",
        "poisson": "–",
        "density": "kg/m³",
    }

    def __post_init__(self) -> None:
        """Check the values."""
        non_negative("straight", self.straight, unit="m")
        non_negative("curved", self.curved, unit="m")
        positive("straight + curved", self.straight + self.curved, unit="m")
        pair = self.curvature if isinstance(self.curvature, (tuple, list, np.ndarray)) else (0.0, self.curvature)
        if len(pair) != 2:
            raise ValueError(f"curvature = {shown(self.curvature)} must be one number, or two: about y and z [rad/m].")
        values = tuple(finite("curvature", value, unit="rad/m") for value in pair)
        if isinstance(self.curvature, (tuple, list, np.ndarray)):
            object.__setattr__(self, "curvature", values)
        positive("outer", self.outer, unit="m")
        non_negative("inner", self.inner, unit="m")
        if self.inner >= self.outer:
            raise ValueError(f"inner = {self.inner:g} m is not allowed: it must be less than outer = {self.outer:g} m.")
        positive("young", self.young, unit="Pa")
        if not -1.0 < finite("poisson", self.poisson) <= 0.5:
            raise ValueError(f"poisson = {self.poisson:g} is not allowed: it must be above -1 and at most 0.5.")
        positive("density", self.density, unit="kg/m³")

    @property
    def length(self) -> float:
        """Of the whole tube [m]."""
        return self.straight + self.curved

    @property
    def curvatures(self) -> tuple[float, float]:
        """Of the curved part about y and z [rad/m]."""
        return self.curvature if isinstance(self.curvature, tuple) else (0.0, float(self.curvature))

    @property
    def area(self) -> float:
        """Of the cross-section [m²]."""
        return pi * (self.outer**2 - self.inner**2)

    @property
    def inertia(self) -> float:
        """Second moment of the cross-section about a diameter [m⁴]."""
        return pi / 4 * (self.outer**4 - self.inner**4)

    @property
    def bending(self) -> float:
        """Bending stiffness EI [N m²]."""
        return self.young * self.inertia

    @property
    def torsion(self) -> float:
        """Torsional stiffness GJ [N m²]."""
        return self.bending / (1.0 + self.poisson)


class Stretch(NamedTuple):
    """A stretch of the centreline in which no tube ends and none begins to be curved."""

    start: float  # m from the plate
    end: float
    present: int  # so many tubes, from the innermost one
    curved: tuple[int, ...]  # those that are pre-curved here


def arrange(tubes: Sequence[Tube], insertion: Sequence[float]) -> tuple[Stretch, ...]:
    """The stretches of the centreline from the plate to the tip, for given places of the bases (tubes,) [m]."""
    ends = [tube.length + x for tube, x in zip(tubes, insertion)]
    bends = [tube.straight + x for tube, x in zip(tubes, insertion)]
    same = _SAME * max(tube.length for tube in tubes)
    marks = [0.0]
    for x in sorted([*ends, *bends]):
        if x > marks[-1] + same:
            marks.append(x)
    out = []
    for start, end in itertools.pairwise(marks):
        middle = 0.5 * (start + end)
        curved = tuple(k for k in range(len(tubes)) if bends[k] < middle < ends[k] and any(tubes[k].curvatures))
        out.append(Stretch(start, end, sum(x > middle for x in ends), curved))
    return tuple(out)


def _check(tubes: Sequence[Tube], insertion: Sequence[float]) -> None:
    """Errors that say which tube does not fit."""
    if not tubes or not all(isinstance(tube, Tube) for tube in tubes):
        raise TypeError(f"tubes = {shown(tubes)} must be a list of Tube(...), the innermost one first.")
    if len(insertion) != len(tubes):
        raise ValueError(
            f"insertion has {len(insertion)} numbers, but there are {len(tubes)} tubes; give one for each."
        )
    before = np.inf
    for k, (tube, x) in enumerate(zip(tubes, insertion)):
        if finite("insertion", x, unit="m") > 0.0:
            raise ValueError(
                f"insertion[{k}] = {x:g} m is not allowed: the base of a tube is at the plate (0) or behind it (negative)."
            )
        end = tube.length + x
        if end <= 0.0:
            raise ValueError(
                f"insertion[{k}] = {x:g} m is not allowed: tube {k} is {tube.length:g} m long and would not leave the plate."
            )
        if end > before * (1 + 1e-12):
            raise ValueError(
                f"insertion[{k}] = {x:g} m is not allowed: tube {k} would reach {end:g} m, beyond the tube inside it, which ends at "
                f"{before:g} m. Tubes are given from the innermost one on; push that one farther or pull this one back."
            )
        if k > 0 and tube.inner < tubes[k - 1].outer * (1 - 1e-9):
            raise ValueError(
                f"tubes[{k}].inner = {tube.inner:g} m is not allowed: tube {k - 1} inside it has the radius {tubes[k - 1].outer:g} m."
            )
        before = end


@dataclass(frozen=True, eq=False)
class ConcentricTubes(Load):
    """Tubes in tubes; made by `Robot.add_tubes`, which adds the rods that carry their coordinates.

    Parameters
    ----------
    tubes : tuple of Tube
        From the innermost to the outermost one.
    insertion : tuple of float
        Where the base of each tube is [m]: 0 in the plate, negative behind it.
    prefix : str
        Of the names of the rods: ``prefix_1``, … are the stretches of the centreline, ``prefix_tube2_1``, … the twist of tube 2 in them.
    """

    tubes: tuple[Tube, ...]
    insertion: tuple[float, ...]
    prefix: str

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "tubes", tuple(self.tubes))
        object.__setattr__(self, "insertion", tuple(float(x) for x in self.insertion))
        _check(self.tubes, self.insertion)

    def inputs(self, name: str) -> Iterable[Input]:
        """The rotation of each tube at its base."""
        return [Input(f"{name}_rotation{k + 1}", "rad") for k in range(len(self.tubes))]

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """Of the centreline, from the plate to the tip."""
        return arrange(self.tubes, self.insertion)

    def rod(self, tube: int, stretch: int) -> str:
        """Name of the rod that carries the twist of a tube in a stretch; of tube 0 also bending and pose."""
        return f"{self.prefix}_{stretch + 1}" if tube == 0 else f"{self.prefix}_tube{tube + 1}_{stretch + 1}"

    @property
    def rods(self) -> tuple[str, ...]:
        """Names of the rods of the centreline, from the plate to the tip."""
        return tuple(self.rod(0, k) for k in range(len(self.stretches)))

    @property
    def length(self) -> float:
        """Of the centreline from the plate to the tip [m]."""
        return self.tubes[0].length + self.insertion[0]

    @property
    def tip(self) -> Frame:
        """The end of the innermost tube."""
        return Frame(self.rods[-1], 1.0)

    def at(self, s: float) -> Frame:
        """The innermost tube at s [m] from the plate."""
        x = finite("s", s, unit="m")
        if not 0.0 <= x <= self.length * (1 + 1e-12):
            raise ValueError(f"s = {x:g} m is not allowed: the tubes reach from 0 to {self.length:g} m.")
        parts = self.stretches
        k = next((k for k, part in enumerate(parts) if x <= part.end), len(parts) - 1)
        return Frame(self.rods[k], float(np.clip((x - parts[k].start) / (parts[k].end - parts[k].start), 0.0, 1.0)))

    def inserted(self, system: System, insertion: Sequence[float]) -> System:
        """The system with the tubes pushed elsewhere, made from the tables of this one.

        Its coordinates are the same functions on stretches of other lengths, so an equilibrium of the one is a good start for the other.

        Parameters
        ----------
        system : System
            Of a robot that has these tubes.
        insertion : sequence (tubes,)
            Where the bases are [m].

        Raises
        ------
        ValueError
            If the ends of the tubes, and where their curved parts begin, would come in another order; then the robot needs other rods: make it
            anew with `Robot.add_tubes`.
        """
        other = ConcentricTubes(self.tubes, tuple(insertion), self.prefix)
        if [part[2:] for part in other.stretches] != [part[2:] for part in self.stretches]:
            raise ValueError(
                f"insertion = {shown(tuple(insertion))} is not allowed here: the ends and bends of the tubes come in another order than with "
                f"{shown(self.insertion)}. Make the robot anew: add_tubes(..., insertion=...)."
            )
        name = next(
            (key for key, load in system.robot.loads.items() if getattr(load, "prefix", None) == self.prefix), None
        )
        if name is None:
            raise ValueError(f"the robot {system.robot.name!r} has no tubes of the prefix {self.prefix!r}.")
        values = {f"{name}.insertion{_label(k, len(self.tubes))}": x for k, x in enumerate(other.insertion)}
        for k, part in enumerate(other.stretches):
            values |= {f"{self.rod(i, k)}.length": part.end - part.start for i in range(part.present)}
        known = system.parameters
        return system.with_parameters({key: x for key, x in values.items() if known[key] != x})

    def shape(self, system: System, q: Array, points: int = 20) -> Array:
        """Points (n, 3) of the centreline [m], so many for each stretch."""
        X = np.linspace(0.0, 1.0, points)
        return np.concatenate([system.rod_poses(rod, q, X)[:, :3, 3] for rod in self.rods])

    def torques(self, system: System, q: Array, u: object) -> Array:
        """Moments (tubes,) that turn the bases of the tubes [N m]."""
        names = [f"{self.rod(k, 0)}.angle" for k in range(len(self.tubes))]
        angles = np.array([q[system.coordinate_names.index(name)] for name in names])
        label = next(key for key, load in system.robot.loads.items() if getattr(load, "prefix", None) == self.prefix)
        told = np.asarray(system.inputs(u))[[system.input_names.index(own.name) for own in self.inputs(label)]]  # type: ignore[arg-type]
        return np.array([self.hold(k) for k in range(len(self.tubes))]) * (told - angles)

    def hold(self, k: int) -> float:
        """Torsional stiffness of tube k between its base and the plate [N m/rad]."""
        return self.tubes[k].torsion / max(-self.insertion[k], SHORTEST * self.tubes[k].length)


def _label(k: int, count: int) -> str:
    """How entry k of so many numbers is called by `parameters`."""
    names = {1: ("",), 2: (".base", ".tip"), 3: (".x", ".y", ".z")}
    return names[count][k] if count in names else f".{k}"


def add_tubes(
    self: Robot,
    name: str,
    tubes: Sequence[Tube],
    *,
    insertion: Sequence[float],
    order: int = 5,
    parent: Link | Frame | str | None = None,
    offset: PoseLike = None,
    damping_time: float = 0.0,
) -> ConcentricTubes:
    """Add concentric tubes that leave a plate along its x axis; the inputs ``name_rotation1``, … turn their bases [rad].

    Parameters
    ----------
    name : str
        Also the first part of the names of the rods that are added.
    tubes : sequence of Tube
        From the innermost, which reaches farthest, to the outermost one.
    insertion : sequence (tubes,)
        Where the base of each tube is along x [m]: 0 in the plate, negative behind it. Behind the plate tubes are kept straight, and twist.
    order : int
        Of the polynomials for curvature and twist in each stretch between ends of tubes.
    parent, offset
        What holds the plate, and its pose there.
    damping_time : float
        Damping over stiffness of all tubes [s].

    Returns
    -------
    ConcentricTubes
        With ``tip``, ``at(s)``, ``rods``, ``inserted`` and ``shape``.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("cannula", gravity=(0, 0, 0))
    >>> inner = pl.Tube(straight=0.1, curved=0.1, curvature=10.0, outer=0.5e-3, inner=0.4e-3, young=60e9)
    >>> outer = pl.Tube(straight=0.1, curved=0.05, curvature=5.0, outer=0.9e-3, inner=0.7e-3, young=60e9)
    >>> tubes = robot.add_tubes("needle", [inner, outer], insertion=[-0.1, -0.1])
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"needle_rotation1": 1.0, "needle_rotation2": 0.0})
    >>> print(system.pose(tubes.tip, rest.q)[:3, 3].round(4))
    [0.0932 0.0273 0.0107]
    """
    order = integer("order", order, minimum=1)
    try:
        load = ConcentricTubes(tuple(tubes), tuple(insertion), name)
        lag = non_negative("damping_time", damping_time, unit="s")
    except (TypeError, ValueError) as error:
        raise type(error)(f"tubes {name!r}: {error}") from None
    self._check_name(name)
    points = 2 * order + 6
    for k in range(len(load.tubes)):
        last: Link | None = None
        for j, part in enumerate(load.stretches):
            if k >= part.present:
                break
            stiffness, inertia = _densities(load.tubes, part) if k == 0 else _twist(load.tubes[k])
            section = Annulus(load.tubes[part.present - 1].outer, load.tubes[0].inner)
            last = self.add_rod(
                load.rod(k, j),
                length=part.end - part.start,
                strains=Strains(torsion=order, bending=order) if k == 0 else Strains(torsion=order),
                section=section if k == 0 else Circle(_HAIR),
                stiffness=stiffness,
                inertia=inertia,
                damping=lag * stiffness,
                points=points,
                parent=parent if last is None else last.tip,
                joint=Revolute("x") if last is None else None,
                offset=offset if last is None else None,
            )
    return self.add_load(name, load)


def _densities(tubes: Sequence[Tube], part: Stretch) -> tuple[Array, Array]:
    """Stiffness and inertia (6,) of the centreline: all bending, the torsion of the innermost tube alone."""
    inside = tubes[: part.present]
    bending = sum(tube.bending for tube in inside)
    stretch = sum(tube.young * tube.area for tube in inside)
    shear = sum(tube.young * tube.area / (2 + 2 * tube.poisson) for tube in inside)
    mass = sum(tube.density * tube.area for tube in inside)
    across = sum(tube.density * tube.inertia for tube in inside)
    along = 2 * tubes[0].density * tubes[0].inertia
    return (
        np.array([tubes[0].torsion, bending, bending, stretch, shear, shear]),
        np.array([along, across, across, mass, mass, mass]),
    )


def _twist(tube: Tube) -> tuple[Array, Array]:
    """Stiffness and inertia (6,) of a rod that only twists."""
    return np.array([tube.torsion, 0, 0, 0, 0, 0]), np.array([2 * tube.density * tube.inertia, 0, 0, 0, 0, 0])
