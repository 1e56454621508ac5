"""What only closes loops: single rows, distances, and what rolls or glides on a plane. No link hangs on them.

They are given to `Robot.add_loop` in place of a joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..pose import AxisLike
from ..validate import positive
from .base import Joint
from .constraints import Constraint, distance, height, offsets, point, positions, rolling, rotations, skating

__all__ = ["Distance", "Restraint", "Rolling", "Rows", "Skate", "Slot"]


@dataclass(frozen=True, repr=False)
class Restraint(Joint):
    """Base of what only closes loops. Without stiffness, damping and rest, but for those that have a coordinate."""

    closes_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the values."""
        if type(self) is Restraint:
            raise TypeError("Restraint is only a base class: use Rows, Slot, Distance, Rolling or Skate.")
        if not self.nv and (self.stiffness or self.damping or self.rest is not None):
            raise ValueError(
                f"{type(self).__name__} has no coordinate, so no stiffness, damping or rest; leave them out."
            )
        super().__post_init__()

    def coordinates(self) -> list[Constraint]:
        """None."""
        return []


@dataclass(frozen=True, repr=False)
class Rows(Restraint):
    """Single constraints: some displacements and rotations between two frames are zero, the others free.

    Parameters
    ----------
    position : str
        Along which axes of the first frame the origins stay together: letters out of ``"xyz"``.
    rotation : str
        About which axes the frames do not turn: letters out of ``"xyz"``. Two of them keep the third axis parallel; one says that the rotation vector
        has no component along its axis, for rotations of less than half a turn (there it changes its sign, and that of its multiplier).

    Examples
    --------
    >>> import pliant as pl
    >>> [row[2] for row in pl.Rows("yz").constraints()]
    ['position y', 'position z']
    """

    position: str = ""
    rotation: str = ""

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("position", "rotation"):
            value = getattr(self, name)
            if not isinstance(value, str) or not set(value) <= set("xyz") or len(set(value)) < len(value):
                raise ValueError(f'Rows.{name} = {value!r} is not allowed: give letters out of "xyz", each once.')
        if not self.position + self.rotation:
            raise ValueError('Rows constrains nothing: give position="yz", rotation="x", or the like.')
        super().__post_init__()

    def constraints(self) -> list[Constraint]:
        """Those of the letters."""
        rows = dict(zip("xyz", positions()))
        return [rows[x] for x in self.position] + rotations(self.rotation)


@dataclass(frozen=True, repr=False)
class Slot(Restraint):
    """A point of the second frame in a straight slot of the first; all rotations are free.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction of the slot, in the first frame.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> len(pl.Slot("x").constraints()), pl.Slot("x").dof_names
    (2, ('displacement',))
    """

    axis: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("axis",)
    dof_names: ClassVar[tuple[str, ...]] = ("displacement",)
    dof_units: ClassVar[tuple[str, ...]] = ("m",)

    def constraints(self) -> list[Constraint]:
        """Both offsets from the axis."""
        return offsets(np.asarray(self.axis))

    def coordinates(self) -> list[Constraint]:
        """The displacement along the slot."""
        return [point(np.asarray(self.axis), "displacement")]


@dataclass(frozen=True, repr=False)
class Distance(Restraint):
    """Two points keep their distance: a light strut with a ball at each end.

    Parameters
    ----------
    length : float
        The distance [m].

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Distance(0.3).constraints()[0][2]
    'distance'
    """

    length: float

    units: ClassVar[dict[str, str]] = {"length": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "length", positive("Distance.length", self.length, unit="m"))
        super().__post_init__()

    def constraints(self) -> list[Constraint]:
        """The distance."""
        return [distance(self.length)]


@dataclass(frozen=True, repr=False)
class Rolling(Restraint):
    """A ball or a thin wheel on a plane, which it touches always and without slipping ([000] Remark 2).

    The first frame of the loop is the ground, with a point of the plane as its origin; the second is the centre of what rolls.

    Parameters
    ----------
    radius : float
        Radius [m].
    axis : str or array_like, shape (3,), optional
        Axis of a wheel, in the second frame; a ball if left out. The wheel may lean.
    normal : str or array_like, shape (3,)
        Of the plane, in the first frame.

    Notes
    -----
    One row for the height, and two for the velocity of the touching point, which are not the derivative of anything (non-holonomic). Their
    multipliers are the force of the ground. The ground also pulls, should it have to: a negative force of the row "height" says so.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("ball")
    >>> ball = robot.add_body("ball", offset=(0, 0, 0.1), joint=pl.Free(), shape=pl.Sphere(0.1), mass=1.0)
    >>> loop = robot.add_loop("floor", "world", ball, joint=pl.Rolling(0.1))
    >>> system = robot.compile()
    >>> print(*system.loop_rows, sep=", ")
    floor: height, floor: slip 1, floor: slip 2
    """

    radius: float
    axis: AxisLike | None = None
    normal: AxisLike = "z"

    axes: ClassVar[tuple[str, ...]] = ("normal",)
    units: ClassVar[dict[str, str]] = {"radius": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "radius", positive("Rolling.radius", self.radius, unit="m"))
        if self.axis is not None:
            object.__setattr__(self, "axis", self._read_axis("axis"))
        super().__post_init__()

    def constraints(self) -> list[Constraint]:
        """The height, and the slip along two directions of the plane."""
        normal = np.asarray(self.normal)
        axis = None if self.axis is None else np.asarray(self.axis)
        first, second = (row[1][:3] for row in offsets(normal))
        return [
            height(normal, self.radius, axis),
            rolling(first, normal, self.radius, axis, "slip 1"),
            rolling(second, normal, self.radius, axis, "slip 2"),
        ]


@dataclass(frozen=True, repr=False)
class Skate(Restraint):
    """A blade: its origin does not move sideways, along an axis of the second frame; everything else is free ([000] Remark 2).

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        The direction sideways, in the second frame.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Skate("y").constraints()[0][0]
    'skate'
    """

    axis: AxisLike

    axes: ClassVar[tuple[str, ...]] = ("axis",)

    def constraints(self) -> list[Constraint]:
        """The velocity sideways."""
        return [skating(np.asarray(self.axis))]
