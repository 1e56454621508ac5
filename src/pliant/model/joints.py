"""Joints between bodies.

A joint places the child frame relative to the joint frame. One-dof joints are a screw ``exp(a q)``;
universal, cylindrical and planar joints are chains of screws; spherical and free joints live on SO(3) and
SE(3) with a unit quaternion in q and the body twist in v (MATH.md §2). Twists are ordered ``[angular;
linear]``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.model import validate
from pliant.model.pose import AxisLike, Pose, unit_axis, unit_quaternion

__all__ = [
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]

Array: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["fixed", "screws", "spherical", "free"]

_PARALLEL = 1e-6  # sine of the smallest angle between the axes of a universal joint


def _screw(angular: ArrayLike, linear: ArrayLike) -> Array:
    screw = np.concatenate([np.asarray(angular, dtype=np.float64), np.asarray(linear, dtype=np.float64)])
    screw.flags.writeable = False
    return screw


def _frozen(array: Array) -> Any:
    """Return nested tuples of floats (a float for a scalar): comparable, hashable, readable."""

    def freeze(value: Any) -> Any:
        return tuple(freeze(v) for v in value) if isinstance(value, list) else value

    return freeze(array.tolist())


@dataclass(frozen=True, repr=False, kw_only=True)
class Joint:
    """Base of all joints; use `Fixed`, `Revolute`, `Prismatic`, … `Free`.

    Parameters
    ----------
    stiffness : float or array_like, shape (nv,)
        Spring per degree of freedom, >= 0: [N m/rad] for angles, [N/m] for displacements. Spherical and free
        joints also take a symmetric positive semidefinite matrix (nv, nv). A single number holds for every
        dof.
    damping : float or array_like, shape (nv,)
        Likewise, in [N m s/rad] and [N s/m].
    rest : array_like, shape (nq,), optional
        Position at which the springs are slack [rad, m]; a single number holds for every dof. Spherical: a
        unit quaternion (w, x, y, z) or a rotation vector (3,) [rad]. Free: quaternion and position, (7,), or
        a `Pose`. None is zero, or the identity.

    Attributes
    ----------
    kind : {"fixed", "screws", "spherical", "free"}
        How the joint moves.
    nv, nq : int
        Number of velocities and of position coordinates.
    dof_names : tuple of str
        One name per velocity.
    dof_units : tuple of str
        Unit of a small motion along each degree of freedom, "rad" or "m".
    coordinate_names, coordinate_units : tuple of str
        Of the entries of q: the same, or those of a quaternion ("–") and a position.
    """

    stiffness: float | ArrayLike = 0.0
    damping: float | ArrayLike = 0.0
    rest: float | ArrayLike | Pose | None = None

    kind: ClassVar[Kind] = "screws"
    dof_names: ClassVar[tuple[str, ...]] = ()
    dof_units: ClassVar[tuple[str, ...]] = ()
    coordinate_names: ClassVar[tuple[str, ...]] = ()
    coordinate_units: ClassVar[tuple[str, ...]] = ()
    nv: ClassVar[int] = 0
    nq: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        """Derive the numbers of coordinates from the names and the kind."""
        cls.nv = len(cls.dof_names)
        cls.coordinate_names, cls.coordinate_units = cls.dof_names, cls.dof_units
        if cls.kind in ("spherical", "free"):
            position = cls.dof_units[3:]
            cls.coordinate_names = ("qw", "qx", "qy", "qz", *"xyz"[: len(position)])
            cls.coordinate_units = ("–",) * 4 + position
        cls.nq = len(cls.coordinate_names)

    def __post_init__(self) -> None:
        """Check the values."""
        if type(self) is Joint:
            raise TypeError("Joint is only a base class: use Fixed, Revolute, Prismatic, Helical, … Free.")
        if self.kind == "fixed":
            for name, default in (("stiffness", 0.0), ("damping", 0.0), ("rest", None)):
                if np.any(np.asarray(getattr(self, name) != default)):
                    raise ValueError(
                        f"Fixed.{name} = {getattr(self, name)!r} is not allowed: a fixed joint does not "
                        "move. Use Free(stiffness=..., damping=...) for an elastic mount."
                    )
                object.__setattr__(self, name, default)
            return
        object.__setattr__(self, "stiffness", self._read_coefficients("stiffness"))
        object.__setattr__(self, "damping", self._read_coefficients("damping"))
        if self.rest is not None:
            object.__setattr__(self, "rest", _frozen(self._read_rest(f"{type(self).__name__}.rest")))

    def _set_axis(self, name: str) -> Array:
        axis = unit_axis(f"{type(self).__name__}.{name}", getattr(self, name))
        object.__setattr__(self, name, _frozen(axis))
        return axis

    def _read_coefficients(self, name: str) -> Any:
        """Check a scalar, one number per dof, or (on a group) a symmetric positive semidefinite matrix."""
        label, value = f"{type(self).__name__}.{name}", getattr(self, name)
        ndim = len(validate.dimensions(value))
        if ndim == 0:
            return validate.non_negative(label, value)
        matrix_allowed = self.kind in ("spherical", "free")
        forms = f"one number or {self.nv} ({', '.join(self.dof_names)})"
        if matrix_allowed:
            forms += f" or a {self.nv}×{self.nv} matrix"
        if ndim == 1 or not matrix_allowed:
            array = validate.vector(label, value, (self.nv,), hint=f"Give {forms}.")
            for dof, entry in zip(self.dof_names, array):
                validate.non_negative(f"{label} of {dof}", float(entry))
            return _frozen(array)
        array = validate.vector(label, value, (self.nv, self.nv), hint=f"Give {forms}.")
        size = float(np.max(np.abs(array)))
        if np.max(np.abs(array - array.T)) > 1e-9 * size:
            raise ValueError(f"{label} = {array.tolist()} is not allowed: the matrix must be symmetric.")
        array = 0.5 * (array + array.T)
        lowest = float(np.linalg.eigvalsh(array)[0])
        if lowest < -1e-12 * size:
            raise ValueError(
                f"{label} = {array.tolist()} is not allowed: the matrix must be positive semidefinite, "
                f"but its smallest eigenvalue is {lowest:.4g}. A negative one would feed energy into the "
                "robot."
            )
        return _frozen(array)

    def _read_rest(self, label: str) -> Array:
        if isinstance(self.rest, Pose):
            raise TypeError(f"{label} = {self.rest!r} is not allowed: only a Free joint rests at a pose.")
        if not validate.dimensions(self.rest):
            return np.full(self.nq, validate.finite(label, self.rest))
        hint = f"Give one number or {self.nv} ({', '.join(self.dof_names)})."
        return validate.vector(label, self.rest, (self.nq,), hint=hint)  # type: ignore[arg-type]

    @property
    def screws(self) -> list[Array]:
        """Screws (6,) of the chain of one-dof steps, parent side first; empty unless `kind` is "screws"."""
        return []

    def _square(self, value: Any) -> Array:
        array = np.asarray(value, dtype=np.float64)
        return array.copy() if array.ndim == 2 else array * np.eye(self.nv)

    @property
    def stiffness_matrix(self) -> Array:
        """Spring stiffness, shape (nv, nv)."""
        return self._square(self.stiffness)

    @property
    def damping_matrix(self) -> Array:
        """Damping, shape (nv, nv)."""
        return self._square(self.damping)

    @property
    def rest_position(self) -> Array:
        """Position at which the springs are slack, shape (nq,)."""
        if self.rest is not None:
            return np.array(self.rest, dtype=np.float64)
        rest = np.zeros(self.nq)
        if self.kind in ("spherical", "free"):
            rest[0] = 1.0
        return rest

    def __repr__(self) -> str:
        """Show what defines the joint and the options that are not default."""
        options = {f.name: f.default for f in fields(Joint)}
        own = [f.name for f in fields(self) if f.name not in options]
        own += [name for name, default in options.items() if getattr(self, name) != default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in own)})"


@dataclass(frozen=True, repr=False)
class Fixed(Joint):
    """Weld: no motion."""

    kind: ClassVar[Kind] = "fixed"


@dataclass(frozen=True, repr=False)
class Revolute(Joint):
    """Hinge.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        ``"x"``, ``"-z"``, … or a vector of any non-zero length, in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> hinge = pl.Revolute("z", stiffness=0.5, damping=0.01)  # N m/rad, N m s/rad
    >>> hinge.nv, hinge.dof_names
    (1, ('angle',))
    """

    axis: AxisLike

    dof_names: ClassVar[tuple[str, ...]] = ("angle",)
    dof_units: ClassVar[tuple[str, ...]] = ("rad",)

    def __post_init__(self) -> None:
        """Check the values."""
        self._set_axis("axis")
        super().__post_init__()

    @property
    def screws(self) -> list[Array]:
        """The screw ``(axis; 0)``."""
        return [_screw(self.axis, np.zeros(3))]


@dataclass(frozen=True, repr=False)
class Prismatic(Joint):
    """Slider.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Prismatic((1, 1, 0)).nv  # along a diagonal
    1
    """

    axis: AxisLike

    dof_names: ClassVar[tuple[str, ...]] = ("displacement",)
    dof_units: ClassVar[tuple[str, ...]] = ("m",)

    def __post_init__(self) -> None:
        """Check the values."""
        self._set_axis("axis")
        super().__post_init__()

    @property
    def screws(self) -> list[Array]:
        """The screw ``(0; axis)``."""
        return [_screw(np.zeros(3), self.axis)]


@dataclass(frozen=True, repr=False)
class Helical(Joint):
    """Screw: turning and moving along an axis are tied together.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction in the joint frame; stored as a unit vector.
    pitch : float
        Translation per full turn [m]; negative for a left-handed thread.
    stiffness, damping, rest
        See `Joint`; the coordinate is the angle [rad].
    """

    axis: AxisLike
    pitch: float

    dof_names: ClassVar[tuple[str, ...]] = ("angle",)
    dof_units: ClassVar[tuple[str, ...]] = ("rad",)

    def __post_init__(self) -> None:
        """Check the values."""
        self._set_axis("axis")
        hint = "The pitch is the translation per full turn."
        object.__setattr__(self, "pitch", validate.finite("Helical.pitch", self.pitch, unit="m", hint=hint))
        super().__post_init__()

    @property
    def screws(self) -> list[Array]:
        """The screw ``(axis; axis · pitch / 2π)``."""
        axis = np.asarray(self.axis, dtype=np.float64)
        return [_screw(axis, axis * (self.pitch / (2.0 * np.pi)))]


@dataclass(frozen=True, repr=False)
class Universal(Joint):
    """Two hinges in a row, through one point.

    Parameters
    ----------
    axis1 : str or array_like, shape (3,)
        First axis, in the joint frame; stored as a unit vector.
    axis2 : str or array_like, shape (3,)
        Second axis, in the frame after the first turn; need not be perpendicular, must not be parallel to
        `axis1`.
    stiffness, damping, rest
        See `Joint`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Universal("y", "z").nv
    2
    """

    axis1: AxisLike
    axis2: AxisLike

    dof_names: ClassVar[tuple[str, ...]] = ("angle1", "angle2")
    dof_units: ClassVar[tuple[str, ...]] = ("rad", "rad")

    def __post_init__(self) -> None:
        """Check the values."""
        first, second = self._set_axis("axis1"), self._set_axis("axis2")
        if np.linalg.norm(np.cross(first, second)) < _PARALLEL:
            raise ValueError(
                f"Universal.axis1 = {self.axis1!r} and Universal.axis2 = {self.axis2!r} are parallel, which "
                "is not allowed: both would turn about the same line. Use Revolute, or two axes at an angle."
            )
        super().__post_init__()

    @property
    def screws(self) -> list[Array]:
        """The screws ``(axis1; 0)`` and ``(axis2; 0)``."""
        return [_screw(self.axis1, np.zeros(3)), _screw(self.axis2, np.zeros(3))]


@dataclass(frozen=True, repr=False)
class Cylindrical(Joint):
    """Turning about and sliding along the same axis, independently.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        Direction in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`; the dofs are the angle [rad] and the displacement [m].
    """

    axis: AxisLike

    dof_names: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    dof_units: ClassVar[tuple[str, ...]] = ("rad", "m")

    def __post_init__(self) -> None:
        """Check the values."""
        self._set_axis("axis")
        super().__post_init__()

    @property
    def screws(self) -> list[Array]:
        """The screws ``(axis; 0)`` and ``(0; axis)``."""
        return [_screw(self.axis, np.zeros(3)), _screw(np.zeros(3), self.axis)]


@dataclass(frozen=True, repr=False)
class Planar(Joint):
    """Sliding in a plane, then turning about its normal.

    Parameters
    ----------
    normal : str or array_like, shape (3,)
        Normal of the plane in the joint frame; stored as a unit vector.
    stiffness, damping, rest
        See `Joint`; the dofs are two displacements [m] along `in_plane_axes` and the angle [rad].
    """

    normal: AxisLike

    dof_names: ClassVar[tuple[str, ...]] = ("displacement1", "displacement2", "angle")
    dof_units: ClassVar[tuple[str, ...]] = ("m", "m", "rad")

    def __post_init__(self) -> None:
        """Check the values."""
        self._set_axis("normal")
        super().__post_init__()

    @property
    def in_plane_axes(self) -> tuple[Array, Array]:
        """Unit vectors along which the joint slides; with the normal last they are right-handed.

        For the normal z they are x and y, for x they are y and z, for y they are z and x.
        """
        n = np.asarray(self.normal, dtype=np.float64)
        first = np.eye(3)[(int(np.argmax(np.abs(n))) + 1) % 3]
        first = first - (first @ n) * n
        first = first / np.linalg.norm(first)
        return first, np.cross(n, first)

    @property
    def screws(self) -> list[Array]:
        """Two translations and the rotation about the normal."""
        first, second = self.in_plane_axes
        return [_screw(np.zeros(3), first), _screw(np.zeros(3), second), _screw(self.normal, np.zeros(3))]


def _quaternion_of(rotation_vector: Array) -> Array:
    half = 0.5 * float(np.linalg.norm(rotation_vector))
    return np.concatenate([[np.cos(half)], 0.5 * np.sinc(half / np.pi) * rotation_vector])


@dataclass(frozen=True, repr=False)
class Spherical(Joint):
    """Ball joint: q is a unit quaternion (w, x, y, z), v the angular velocity in the child frame [rad/s].

    Parameters
    ----------
    stiffness, damping, rest
        See `Joint`. `rest` is stored as a unit quaternion.

    Examples
    --------
    >>> import pliant as pl
    >>> ball = pl.Spherical()
    >>> ball.nv, ball.nq  # angular velocity, quaternion
    (3, 4)
    """

    kind: ClassVar[Kind] = "spherical"
    dof_names: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    dof_units: ClassVar[tuple[str, ...]] = ("rad", "rad", "rad")

    def _read_rest(self, label: str) -> Array:
        if validate.dimensions(self.rest) == (3,):
            return _quaternion_of(validate.vector(label, self.rest, (3,)))  # type: ignore[arg-type]
        if isinstance(self.rest, Pose) or validate.dimensions(self.rest) != (4,):
            raise ValueError(
                f"{label} = {self.rest!r} is not allowed: give a unit quaternion (w, x, y, z) or a rotation "
                "vector of three angles (rad)."
            )
        return unit_quaternion(label, self.rest)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class Free(Joint):
    """No constraint: q is a unit quaternion (w, x, y, z) and a position [m], v the body twist [rad/s, m/s].

    Parameters
    ----------
    stiffness, damping, rest
        See `Joint`. `rest` is stored as quaternion and position, (7,). Springs make this an elastic mount.

    Examples
    --------
    >>> import pliant as pl
    >>> base = pl.Free()
    >>> base.nv, base.nq  # body twist; quaternion and position
    (6, 7)
    """

    kind: ClassVar[Kind] = "free"
    dof_names: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")
    dof_units: ClassVar[tuple[str, ...]] = ("rad", "rad", "rad", "m", "m", "m")

    def _read_rest(self, label: str) -> Array:
        if isinstance(self.rest, Pose):
            return np.concatenate([self.rest.quaternion, self.rest.translation])
        hint = "Give a quaternion (w, x, y, z) followed by a position (m), or a Pose."
        rest = validate.vector(label, self.rest, (7,), hint=hint)  # type: ignore[arg-type]
        return np.concatenate([unit_quaternion(f"{label}[:4]", rest[:4]), rest[4:]])
