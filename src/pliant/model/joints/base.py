"""What every joint has: coordinates with names and units, springs, and the screws along which it moves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validate
from ..pose import Pose, unit_axis
from ..stated_units import declared_units
from .constraints import Constraint
from .groups import Group

__all__ = ["Joint", "slide", "turn"]

Array: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["fixed", "screws", "spherical", "free"]
_SPRINGS = {
    "stiffness": {"rad": "N m/rad", "m": "N/m"},
    "damping": {"rad": "N m s/rad", "m": "N s/m"},
    "rest": {"rad": "rad", "m": "m"},
}


def turn(axis: ArrayLike, *, through: ArrayLike = (0.0, 0.0, 0.0), lead: float = 0.0) -> Array:
    """Screw (6,) of turning about an axis through a point [m], moving `lead` [m] along it in each turn."""
    w = np.asarray(axis, dtype=np.float64)
    return _screw(w, np.cross(np.asarray(through, dtype=np.float64), w) + w * (lead / (2.0 * np.pi)))


def slide(axis: ArrayLike) -> Array:
    """Screw (6,) of moving along an axis."""
    return _screw(np.zeros(3), axis)


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

    A class of your own gives its fields, `dof_names` and `dof_units`, and `screws`; or a `group` instead of these three.

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
    group : Group or None
        The group it moves on; None for a chain of screws.
    closes_only : bool
        Whether it only closes loops, and carries no link; see `Restraint`.
    axes : tuple of str
        Fields that are directions: ``"x"``, ``"-z"``, … or a vector; they are stored as unit vectors.
    kind : {"fixed", "screws", "spherical", "free"}
        How the joint moves, by its group and number of dofs.
    nv, nq : int
        Number of velocities and of position coordinates.
    dof_names : tuple of str
        One name per velocity.
    dof_units : tuple of str
        Unit of a small motion along each degree of freedom, "rad" or "m".
    coordinate_names, coordinate_units : tuple of str
        Of the entries of q: the same, or those of a quaternion ("–") and a position.
    units : dict of str
        Units of its own fields by name, for tables of parameters; "–" for a number without unit. What is left out has none that is known.
    """

    stiffness: float | ArrayLike = 0.0
    damping: float | ArrayLike = 0.0
    rest: float | ArrayLike | Pose | None = None

    group: ClassVar[Group | None] = None
    closes_only: ClassVar[bool] = False
    axes: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[Kind] = "screws"
    dof_names: ClassVar[tuple[str, ...]] = ()
    dof_units: ClassVar[tuple[str, ...]] = ()
    coordinate_names: ClassVar[tuple[str, ...]] = ()
    coordinate_units: ClassVar[tuple[str, ...]] = ()
    nv: ClassVar[int] = 0
    nq: ClassVar[int] = 0
    units: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """Derive names, units and numbers of coordinates."""
        group = cls.group
        if group is not None:
            cls.dof_names, cls.dof_units = group.dof_names, group.dof_units
            cls.coordinate_names, cls.coordinate_units = group.coordinate_names, group.coordinate_units
            cls.kind = group.name
        else:
            cls.coordinate_names, cls.coordinate_units = cls.dof_names, cls.dof_units
            cls.kind = "screws" if cls.dof_names else "fixed"
        cls.nv, cls.nq = len(cls.dof_names), len(cls.coordinate_names)
        if len(cls.dof_units) != cls.nv or not {*cls.dof_units} <= {"rad", "m"}:
            raise TypeError(
                f'{cls.__name__}.dof_units = {cls.dof_units!r} is not allowed: give "rad" or "m" for each of '
                f"dof_names = {cls.dof_names!r}."
            )

    def unit_of(self, field: str, dof: int | None = None) -> str:
        """Unit of one of its numbers: of springs and dampers by the degree of freedom, or of all if they have the same; of others as `units` says."""
        kinds = {*self.dof_units} if dof is None else {self.dof_units[dof]}
        if field not in ("stiffness", "damping", "rest"):
            return declared_units(type(self)).get(field, "")
        return _SPRINGS[field][kinds.pop()] if len(kinds) == 1 else ""

    def __post_init__(self) -> None:
        """Check the values."""
        if type(self) is Joint:
            raise TypeError("Joint is only a base class: use Fixed, Revolute, Prismatic, Helical, … Free.")
        for name in self.axes:
            object.__setattr__(self, name, self._read_axis(name))
        object.__setattr__(self, "stiffness", self._read_coefficients("stiffness"))
        object.__setattr__(self, "damping", self._read_coefficients("damping"))
        if self.rest is not None:
            object.__setattr__(self, "rest", _frozen(self._read_rest(f"{type(self).__name__}.rest")))

    def _read_axis(self, name: str) -> Any:
        """A direction as a unit vector that cannot be written."""
        return _frozen(unit_axis(f"{type(self).__name__}.{name}", getattr(self, name)))

    def _read_coefficients(self, name: str) -> Any:
        """Check a scalar, one number per dof, or (on a group) a symmetric positive semidefinite matrix."""
        label, value = f"{type(self).__name__}.{name}", getattr(self, name)
        ndim = len(validate.dimensions(value))
        if ndim == 0:
            return validate.non_negative(label, value)
        matrix_allowed = self.group is not None
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
        """Screws (6,) of the chain of one-dof steps, parent side first, one for each dof; see `turn` and `slide`.

        Each is given in the frame after the steps before it. Empty for a joint on a group.
        """
        return []

    def constraints(self) -> list[Constraint]:
        """What the joint forbids where it closes a loop; see `pliant.model.joints.constraints`."""
        raise NotImplementedError

    def coordinates(self) -> list[Constraint]:
        """Its coordinates where it closes a loop, one for each degree of freedom; see `pliant.model.joints.constraints`.

        Of a joint on a group these are rates, which no single numbers go with.
        """
        raise NotImplementedError

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
        return np.zeros(self.nq) if self.group is None else self.group.neutral()

    @property
    def force_names(self) -> tuple[str, ...]:
        """One name per generalised force."""
        return self.dof_names if self.group is None else self.group.force_names

    def __repr__(self) -> str:
        """Show what defines the joint and the options that are not default."""
        options = {f.name: f.default for f in fields(Joint)}
        own = [f.name for f in fields(self) if f.name not in options]
        own += [name for name, default in options.items() if getattr(self, name) != default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in own)})"
