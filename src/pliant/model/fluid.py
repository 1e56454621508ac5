"""What a surrounding fluid does to a link: drag, lift, added mass, buoyancy and the force at a tail.

Twists and wrenches are in body axes, ordered ``[angular; linear]`` (MATH.md §1). With η the body twist relative to
the fluid and v its linear part, the fluid pushes on a rod (per metre) or a body (in all) with

    F = −(linear_drag + ‖v‖ drag) η − (what added_mass does as further inertia) + buoyancy    ([001] eq. 7, [002] eq. 62)

Matrices are given as they are, or by a `Flow` that makes them from the size of the link and the density of the fluid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .links import Body, Rod
from .pose import skew
from .rods.sections import Annulus, Circle, CustomSection, Dimension, Section
from .shapes import Sphere
from .validate import choice, dimensions, finite, flag, interval, non_negative, positive, reals, vector

__all__ = [
    "CircularFlow",
    "Coefficient",
    "EllipticFlow",
    "FlatFlow",
    "Flow",
    "Fluid",
    "Hydrodynamics",
    "SphereFlow",
]

Array: TypeAlias = NDArray[np.float64]
_TOLERANCE = 1e-9
_AXES = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")
_FORMS = "Give a 6×6 matrix, 6 diagonal entries, or 3 (linear x, y, z only), in the order [angular; linear]"


@dataclass(frozen=True, eq=False)
class Fluid:
    """A fluid without end, at rest or in uniform steady flow.

    Parameters
    ----------
    density : float
        Mass per volume ρ [kg/m³], > 0. Water is the default; air is about 1.2.
    current : array_like, shape (3,)
        Velocity of the fluid in world axes [m/s].
    """

    density: float = 1000.0
    current: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]  # an array once it has been checked

    def __post_init__(self) -> None:
        """Check the values."""
        hint = "For a robot without a fluid leave the fluid out."
        object.__setattr__(self, "density", positive("Fluid.density", self.density, unit="kg/m³", hint=hint))
        hint = "The current is the velocity (x, y, z) of the fluid in world axes, in m/s."
        object.__setattr__(self, "current", vector("Fluid.current", self.current, (3,), hint=hint))


# -- reading matrices and lengths ---------------------------------------------------------------------------
def _matrix(label: str, value: object) -> Array:
    """Return a 6×6 matrix from a matrix, 6 diagonal entries or 3 linear ones; error unless it is finite."""
    entry = reals(label, value, hint=f"{_FORMS}.")
    if entry.shape not in ((3,), (6,), (6, 6)):
        raise ValueError(f"{label} has shape {entry.shape}, but (6, 6), (6,) or (3,) is needed. {_FORMS}.")
    if not np.all(np.isfinite(entry)):
        raise ValueError(f"{label} = {entry.tolist()} is not allowed: every entry must be a finite number.")
    if entry.shape == (3,):
        entry = np.concatenate([np.zeros(3), entry])
    return np.diag(entry) if entry.ndim == 1 else entry


def _check_semidefinite(label: str, matrix: Array, meaning: str) -> None:
    """Error unless the symmetric part of `matrix` has no negative eigenvalue, whatever the units of its entries."""
    part = 0.5 * (matrix + matrix.T)
    largest = float(np.abs(part).max())
    if largest == 0.0:
        return
    # A congruence keeps the signs of the eigenvalues, and a unit diagonal makes N m s and N s/m comparable.
    diagonal = np.abs(np.diag(part))
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, largest))
    if float(np.linalg.eigvalsh(part / np.outer(scale, scale))[0]) >= -_TOLERANCE:
        return
    values, vectors = np.linalg.eigh(part)
    axis = _AXES[int(np.argmax(np.abs(vectors[:, 0])))]
    raise ValueError(
        f"{label} is not allowed: its symmetric part has the negative eigenvalue {values[0]:.6g} (mainly {axis}), "
        f"{meaning}. Check the signs, and the order {', '.join(_AXES)}."
    )


def _check_drag(label: str, matrix: Array) -> Array:
    _check_semidefinite(label, matrix, "so it would add energy; the minus sign of F = −D η is already in the model")
    return matrix


def _check_mass(label: str, matrix: Array) -> Array:
    error = float(np.abs(matrix - matrix.T).max())
    if error > _TOLERANCE * float(np.abs(matrix).max()):
        raise ValueError(
            f"{label} is not allowed: it must be symmetric, but differs from its transpose by {error:.3g}. "
            "Use (A + Aᵀ)/2, or put lift into drag."
        )
    symmetric: Array = 0.5 * (matrix + matrix.T)
    _check_semidefinite(label, symmetric, "but added mass must be positive semidefinite")
    return symmetric


_CHECKS = {"drag": _check_drag, "linear_drag": _check_drag, "added_mass": _check_mass}


def _points(X: ArrayLike | None) -> Array:
    """Return points on a rod as an array (m,)."""
    hint = "X is arc length divided by the length of the rod."
    if X is None:
        raise TypeError(f"X = None: a rod needs the points X in [0, 1] where to evaluate. {hint}")
    array = np.atleast_1d(np.asarray(X, dtype=np.float64))
    if array.ndim != 1:
        raise ValueError(f"X has shape {array.shape}, but a number or an array of shape (m,) is needed.")
    outside = ~((array >= -1e-12) & (array <= 1.0 + 1e-12))  # so that NaN counts as outside
    if np.any(outside):
        interval("X", float(array[outside][0]), 0.0, 1.0, hint=hint)
    return np.clip(array, 0.0, 1.0)


def _lengths(label: str, value: Dimension, X: Array, *, unit: str = "m") -> Array:
    """Evaluate a number, a pair (at X=0, at X=1) or a function of X at X (m,); error unless finite and >= 0."""
    hint = "Give a number, a pair (value at X=0, value at X=1) or a function of X in [0, 1]."
    if callable(value):
        try:
            result = reals(label, value(X.copy()))
        except (TypeError, ValueError) as error:
            raise TypeError(f"{label} must take an array X and return numbers; it failed with: {error}.") from error
        if result.shape not in ((), (1,), X.shape):
            raise ValueError(f"{label} returned shape {result.shape} for an X of shape {X.shape}. {hint}")
        result = np.array(np.broadcast_to(result, X.shape))
    elif not dimensions(value):
        result = np.full(X.shape, finite(label, value, unit=unit, hint=hint))
    else:
        first, last = vector(label, value, (2,), hint=hint)
        result = (1.0 - X) * first + X * last
    bad = ~(np.isfinite(result) & (result >= 0.0))
    if np.any(bad):
        i = int(np.argmax(bad))
        non_negative(f"{label}(X={X[i]:g})", float(result[i]), unit=unit, hint=hint)
    return result


def _linear(*entries: Array | float) -> Array:
    """Matrices (m, 6, 6) with a diagonal linear block, from its three entries (m,)."""
    x, y, z = np.broadcast_arrays(*entries)
    out = np.zeros((*x.shape, 6, 6))
    out[:, 3, 3], out[:, 4, 4], out[:, 5, 5] = x, y, z
    return out


def _section(name: str, content: Rod | Body) -> Section:
    """The section of a rod; error for a body or a rod without one."""
    if not isinstance(content, Rod):
        raise TypeError(
            f"{name} is for rods, but the link is a rigid body. Use sphere for a body with a Sphere shape, "
            "or give drag and added_mass as 6×6 matrices."
        )
    if content.section is None:
        raise ValueError(
            f"{name} needs the section of the rod, but the rod has none. Give the rod a section, use elliptic with "
            "half axes a and b, or give drag and added_mass per metre."
        )
    return content.section


def _half_axes(name: str, content: Rod | Body, X: Array, instead: str) -> tuple[Array, Array]:
    """Half of the extents of a section along local y and z (m,), at X (m,) [m]."""
    section = _section(name, content)
    if isinstance(section, CustomSection):
        raise ValueError(f"{name} cannot know the extents of {section!r}: give {instead}.")
    corners = np.abs(section.outline(X, 4)).max(axis=1)  # corners of a rectangle, ends of the axes of an oval
    return corners[:, 0], corners[:, 1]


# -- flows: matrices from sizes -------------------------------------------------------------------------------
@dataclass(frozen=True)
class Flow:
    """Base of the laws that make drag and added mass from the size of a link and the density of the fluid.

    Use `CircularFlow`, `EllipticFlow`, `FlatFlow` or `SphereFlow` as `Hydrodynamics.drag`,
    `Hydrodynamics.added_mass` or both; `Hydrodynamics.circular` and its sisters do both at once.
    """

    def __post_init__(self) -> None:
        """Check the coefficients."""
        if type(self) is Flow:
            raise TypeError("Flow is only a base class: use CircularFlow, EllipticFlow, FlatFlow or SphereFlow.")
        for f in fields(self):
            if f.type == "float":  # the coefficients; lengths and axes are checked where they are defined
                checked = non_negative(f"{type(self).__name__}.{f.name}", getattr(self, f.name))
                object.__setattr__(self, f.name, checked)

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """Quadratic drag at X (m,), shape (m, 6, 6); `centre` (3,) is where a body's shape sits."""
        raise NotImplementedError

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """Added mass at X (m,), shape (m, 6, 6); `centre` (3,) is where a body's shape sits."""
        raise NotImplementedError

    def _check_lengths(self, *names: str) -> None:
        """Check lengths that were given, as far as they can be without evaluating functions."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not callable(value):
                label, ends = f"{type(self).__name__}.{name}", np.array([0.0, 1.0])
                if not np.any(_lengths(label, value, ends)):
                    raise ValueError(f"{label} = {value!r} is not allowed: at most one end may be zero (m).")


@dataclass(frozen=True)
class CircularFlow(Flow):
    """A round rod in cross flow, see `Hydrodynamics.circular`."""

    cx: float = 0.01
    cy: float = 1.1
    cz: float = 1.1
    by: float = 1.0
    bz: float = 1.0

    def _radius(self, content: Rod | Body, X: Array) -> Array:
        section = _section("circular", content)
        if not isinstance(section, (Circle, Annulus)):
            raise TypeError(
                f"circular needs a Circle or Annulus, but the section of the rod is {section!r}. Use elliptic (or "
                "flat for a thin plate), which take the extents along y and z."
            )
        return section.extent(X)

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ R diag(½π cx, cy, cz)`` per metre, shape (m, 6, 6)."""
        size = fluid.density * self._radius(content, X)
        return _linear(0.5 * np.pi * self.cx * size, self.cy * size, self.cz * size)

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ π R² diag(0, by, bz)`` per metre, shape (m, 6, 6)."""
        mass = fluid.density * np.pi * self._radius(content, X) ** 2
        return _linear(0.0, self.by * mass, self.bz * mass)


@dataclass(frozen=True)
class EllipticFlow(Flow):
    """An oval rod in cross flow, see `Hydrodynamics.elliptic`."""

    cx: float = 0.01
    cy: float = 1.1
    cz: float = 1.1
    by: float = 1.0
    bz: float = 1.0
    a: Dimension | None = None
    b: Dimension | None = None

    def __post_init__(self) -> None:
        """Check the coefficients and half axes."""
        super().__post_init__()
        self._check_lengths("a", "b")

    def _axes(self, content: Rod | Body, X: Array) -> tuple[Array, Array]:
        if not isinstance(content, Rod):
            _section("elliptic", content)
        if self.a is None or self.b is None:
            y, z = _half_axes("elliptic", content, X, "the half axes a (along y) and b (along z) to elliptic")
        a = y if self.a is None else _lengths("elliptic a", self.a, X)
        b = z if self.b is None else _lengths("elliptic b", self.b, X)
        return a, b

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ diag(cx P/4, cy b, cz a)`` per metre, P the perimeter of the ellipse, shape (m, 6, 6)."""
        a, b = self._axes(content, X)
        large, small = np.maximum(a, b), np.minimum(a, b)
        ratio = np.divide(small, large, out=np.ones_like(large), where=large > 0.0)
        from scipy.special import ellipe  # here, since it takes a while to import

        perimeter = 4.0 * large * ellipe(1.0 - ratio**2)
        rho = fluid.density
        return _linear(rho * self.cx * perimeter / 4.0, rho * self.cy * b, rho * self.cz * a)

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ π diag(0, by b², bz a²)`` per metre, shape (m, 6, 6)."""
        a, b = self._axes(content, X)
        return _linear(0.0, fluid.density * np.pi * self.by * b**2, fluid.density * np.pi * self.bz * a**2)


@dataclass(frozen=True)
class FlatFlow(Flow):
    """A thin plate or fin in cross flow, see `Hydrodynamics.flat`."""

    width_axis: Literal["y", "z"]
    cn: float = 2.0
    bn: float = 1.0
    width: Dimension | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        hint = "The width of the plate lies along this local axis; the other one is normal to the plate."
        choice("FlatFlow.width_axis", self.width_axis, ("y", "z"), hint=hint)
        self._check_lengths("width")

    def _half(self, content: Rod | Body, X: Array) -> Array:
        if not isinstance(content, Rod):
            _section("flat", content)
        if self.width is not None:
            return 0.5 * _lengths("flat width", self.width, X)
        y, z = _half_axes("flat", content, X, "the width to flat")
        half, thick = (y, z) if self.width_axis == "y" else (z, y)
        bad = thick > half
        if np.any(bad):
            i = int(np.argmax(bad))
            other = "z" if self.width_axis == "y" else "y"
            raise ValueError(
                f"flat width_axis = {self.width_axis!r}: at X = {X[i]:g} the section is {2 * half[i]:g} m wide along "
                f"{self.width_axis} but {2 * thick[i]:g} m thick along {other}. Use width_axis={other!r}, elliptic for "
                "a section that is no thin plate, or give the width."
            )
        return half

    def _normal(self, entry: Array) -> Array:
        return _linear(0.0, 0.0, entry) if self.width_axis == "y" else _linear(0.0, entry, 0.0)

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``½ ρ cn w`` along the normal per metre, shape (m, 6, 6)."""
        return self._normal(fluid.density * self.cn * self._half(content, X))

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``bn ρ π (w/2)²`` along the normal per metre, shape (m, 6, 6)."""
        return self._normal(fluid.density * self.bn * np.pi * self._half(content, X) ** 2)


@dataclass(frozen=True)
class SphereFlow(Flow):
    """A ball, see `Hydrodynamics.sphere`."""

    cd: float = 0.47
    ca: float = 0.5

    def _shape(self, content: Rod | Body) -> Sphere:
        if not isinstance(content, Body):
            raise TypeError("sphere is for bodies, but the link is a rod. Use circular, elliptic or flat.")
        if not isinstance(content.shape, Sphere):
            raise TypeError(
                f"sphere needs a body with a Sphere shape, but its shape is {content.shape!r}. Give "
                "shape=Sphere(radius), or drag and added_mass as 6×6 matrices."
            )
        return content.shape

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``½ ρ cd π r²`` in all directions, shape (1, 6, 6)."""
        radius = self._shape(content).radius
        if self.cd > 0.0 and float(np.linalg.norm(centre)) > _TOLERANCE * radius:
            raise ValueError(
                f"the drag of a sphere needs the body frame at its centre, but its centre is at {centre.tolist()} m: "
                "‖v‖ is the speed of the origin of the body frame. Place the frame in the centre (com = 0), say with "
                "Hydrodynamics(centre=...) where the ball is if that is not the centre of mass, or give drag as a matrix."
            )
        size = np.array([0.5 * fluid.density * self.cd * np.pi * radius**2])
        return _linear(size, size, size)

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ca ρ V`` at the centre c, taken to the body frame: ``m [[−ĉĉ, ĉ], [−ĉ, 1]]``, shape (1, 6, 6)."""
        to_centre = np.hstack([-skew(centre), np.eye(3)])  # v at c = v + ω × c
        return self.ca * fluid.density * self._shape(content).volume * (to_centre.T @ to_centre)[None]


Coefficient: TypeAlias = ArrayLike | Callable[[float], ArrayLike] | Flow
"""A 6×6 matrix, 6 diagonal entries or 3 linear ones; for rods a function of X that returns one; or a `Flow`."""


@dataclass(frozen=True, eq=False)
class Hydrodynamics:
    """What a fluid does to one link.

    Each of `drag`, `linear_drag` and `added_mass` is None (nothing), a 6×6 matrix, its 6 diagonal entries, 3 numbers
    (linear x, y, z only), for rods a function of X in [0, 1] that returns one of these, or (not `linear_drag`) a
    `Flow`, which makes the matrix from the size of the link. The order is ``[angular; linear]``, in body axes, about
    the origin of the body frame. Given for rods **per metre**, for bodies in all; numbers are taken as they are and
    do not depend on the density of the fluid.

    Parameters
    ----------
    drag : Coefficient, optional
        Drag D that grows with the square of speed: linear entries in N/(m/s)², for rods per m. It need not be
        symmetric (lift), but its symmetric part must be positive semidefinite, or it would add energy.
    linear_drag : matrix or function, optional
        Drag D₁ in proportion to speed: linear entries in N/(m/s), for rods per m. The same holds for it.
    added_mass : Coefficient, optional
        Inertia of the fluid that moves with the link: linear entries in kg, for rods per m. Symmetric and positive
        semidefinite. It adds to the inertia of the link but gravity does not pull on it.
    buoyancy : bool
        Whether the fluid carries the weight of the fluid that the link displaces.
    tail : bool
        Whether Lighthill's force acts at the tip of the rod, where the fluid that was set in motion is left behind.
        The rod then runs from head to tail.
    volume : float or function of X, optional
        Displaced volume of a body [m³], or per metre of a rod [m²], >= 0, where it is not that of the shape or section
        (a closed tube, say, displaces π·outer²; the area of an `Annulus` is only its wall, as if flooded).
    centre : array_like, shape (3,), optional
        Centre of the displaced volume of a body in its frame [m], if it is not the centre of mass. It is also where
        `sphere` acts. For bodies only.

    Notes
    -----
    With η the body twist relative to the fluid (velocity of the frame less the current, in body axes) and v its linear
    part, the wrench is ``F = −(linear_drag + ‖v‖ drag) η`` ([001] eq. 7, [002] eq. 62), and the inertia becomes
    ``M + added_mass``. The force at the tail, with m_y and m_z the transverse added mass per metre at X = 1, is

        f = (−½ (m_y v_y² + m_z v_z²), v_x m_y v_y, v_x m_z v_z)

    in body axes: Lighthill's large-amplitude elongated-body theory (Proc. R. Soc. B 179, 1971; [000] section X.D), where
    it is ``½ m w² t − m u w n`` with t towards the head, u = −v_x along t and w along n.
    """

    drag: Coefficient | None = None
    linear_drag: Coefficient | None = None
    added_mass: Coefficient | None = None
    buoyancy: bool = True
    tail: bool = False
    volume: float | Callable[[Array], ArrayLike] | None = None
    centre: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Check everything that can be checked without the link."""
        for name, check in _CHECKS.items():
            value = getattr(self, name)
            if isinstance(value, Flow):
                if name == "linear_drag":
                    raise TypeError(
                        f"linear_drag = {value!r} is not allowed: a flow gives drag and added_mass only. {_FORMS}."
                    )
            elif isinstance(value, type) and issubclass(value, Flow):
                raise TypeError(f"{name} = {value.__name__} is a class; make an object of it: {value.__name__}(...).")
            elif value is not None and not callable(value):
                check(name, _matrix(name, value))
                frozen = reals(name, value)
                frozen.flags.writeable = False
                object.__setattr__(self, name, frozen)
        for name in ("buoyancy", "tail"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        if self.tail and self.added_mass is None:
            raise ValueError(
                "tail = True needs added_mass: the force at the tail comes from the transverse added mass at X = 1. "
                "Give added_mass, or use circular, elliptic or flat."
            )
        if self.volume is not None and not callable(self.volume):
            hint = "Displaced volume of a body (m³) or per metre of a rod (m²); for none use buoyancy=False."
            object.__setattr__(self, "volume", non_negative("volume", self.volume, hint=hint))
        if self.centre is not None:
            hint = "The centre of the displaced volume is (x, y, z) in the body frame, in m."
            object.__setattr__(self, "centre", vector("centre", self.centre, (3,), hint=hint))

    # -- for a shape --------------------------------------------------------------------------------------
    @classmethod
    def circular(
        cls, cx: float = 0.01, cy: float = 1.1, cz: float = 1.1, by: float = 1.0, bz: float = 1.0, **more: Any
    ) -> Hydrodynamics:
        """A round rod in cross flow ([001] section V).

        Per metre, with R(X) the outer radius of the section and ρ the density of the fluid:
        ``drag = ρ R diag(½π cx, cy, cz)`` and ``added_mass = ρ π R² diag(0, by, bz)``, linear entries.

        Parameters
        ----------
        cx : float
            Coefficient of friction along the rod, >= 0.
        cy, cz : float
            Coefficients of drag across the rod, referred to its width 2R: ``½ ρ c (2R) v²``, >= 0.
        by, bz : float
            Added mass over the mass of the fluid displaced by the full circle; 1 in potential flow, >= 0. Water inside
            a flooded tube comes on top: ``1 + (inner/outer)²``.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = CircularFlow(cx, cy, cz, by, bz)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    @classmethod
    def elliptic(
        cls,
        cx: float = 0.01,
        cy: float = 1.1,
        cz: float = 1.1,
        by: float = 1.0,
        bz: float = 1.0,
        *,
        a: Dimension | None = None,
        b: Dimension | None = None,
        **more: Any,
    ) -> Hydrodynamics:
        """An oval rod in cross flow; the same as `circular` when a = b = R.

        Per metre, with half axes a along local y and b along local z, and P the perimeter of the ellipse:
        ``drag = ρ diag(cx P/4, cy b, cz a)`` and ``added_mass = ρ π diag(0, by b², bz a²)``, linear entries. Motion
        along y pushes with the extent along z, and the other way round (potential flow; Lamb, Hydrodynamics). Rotation
        about x meets no resistance.

        Parameters
        ----------
        cx : float
            Coefficient of friction along the rod, referred to half of the wetted surface: ``½ ρ cx (P/2) v²``, >= 0.
        cy, cz : float
            Coefficients of drag, referred to the width across the motion: ``½ ρ cy (2b) v²``, ``½ ρ cz (2a) v²``, >= 0.
        by, bz : float
            Factors of the added mass; 1 is potential flow around an ellipse, >= 0.
        a, b : float, pair or callable, optional
            Half axes [m]; by default half of the extents of the section along y and z.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = EllipticFlow(cx, cy, cz, by, bz, a, b)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    @classmethod
    def flat(
        cls,
        width_axis: Literal["y", "z"],
        cn: float = 2.0,
        bn: float = 1.0,
        *,
        width: Dimension | None = None,
        **more: Any,
    ) -> Hydrodynamics:
        """A thin plate or fin: drag and added mass along its normal only.

        Per metre, with w(X) the width: ``½ ρ cn w`` and ``bn ρ π (w/2)²`` for motion along the normal.

        Parameters
        ----------
        width_axis : "y" or "z"
            Local axis along which the plate is wide; the other one is the normal. (A `Rectangle` has its height along
            y and its width along z.)
        cn : float
            Coefficient of drag, about 2 for a long plate, >= 0.
        bn : float
            Factor of the added mass; 1 is potential flow around a plate, >= 0.
        width : float, pair or callable, optional
            w [m]; by default the extent of the section along `width_axis`.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = FlatFlow(width_axis, cn, bn, width)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    @classmethod
    def sphere(cls, cd: float = 0.47, ca: float = 0.5, **more: Any) -> Hydrodynamics:
        """A body with a `Sphere` shape of radius r and volume V.

        ``drag = ½ ρ cd π r²`` and ``added_mass = ca ρ V`` in all directions; rotation meets no resistance.

        Parameters
        ----------
        cd : float
            Coefficient of drag, >= 0. If it is not zero, the body frame must sit in the centre of the ball.
        ca : float
            Added mass over the mass of the displaced fluid; ½ in potential flow, >= 0.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = SphereFlow(cd, ca)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    # -- evaluation ---------------------------------------------------------------------------------------
    def _evaluate(self, name: str, content: Rod | Body, fluid: Fluid, X: ArrayLike | None) -> Array:
        _check_content(content)
        points = _points(X) if isinstance(content, Rod) else np.zeros(1)
        value = getattr(self, name)
        if value is None:
            return np.zeros((len(points), 6, 6))
        if isinstance(value, Flow):
            if not isinstance(fluid, Fluid):
                raise TypeError(f"fluid = {fluid!r} must be a Fluid, e.g. Fluid(density=1000.0).")
            law = value.drag if name == "drag" else value.added_mass
            return law(content, fluid, points, self.centroid(content))
        check = _CHECKS[name]
        if callable(value):
            if not isinstance(content, Rod):
                raise TypeError(f"{name} is a function of X, but the link is a rigid body, which has no X. {_FORMS}.")
            labels = [f"{name}(X={x:g})" for x in points]
            return np.array(
                [check(label, _matrix(label, value(x))) for label, x in zip(labels, points, strict=True)]
            ).reshape(-1, 6, 6)
        return np.repeat(check(name, _matrix(name, value))[None], len(points), axis=0)

    def drag_at(self, content: Rod | Body, fluid: Fluid, X: ArrayLike | None = None) -> Array:
        """Quadratic drag of a link.

        Parameters
        ----------
        content : Rod or Body
        fluid : Fluid
        X : float or array_like, shape (m,)
            Points of a rod in [0, 1]; ignored for a body.

        Returns
        -------
        ndarray, shape (m, 6, 6)
            For a rod per metre, linear entries [N/(m/s)²/m]; for a body in all with m = 1 [N/(m/s)²].
        """
        return self._evaluate("drag", content, fluid, X)

    def linear_drag_at(self, content: Rod | Body, fluid: Fluid, X: ArrayLike | None = None) -> Array:
        """Drag in proportion to speed, as `drag_at`; linear entries [N/(m/s)/m] or [N/(m/s)], shape (m, 6, 6)."""
        return self._evaluate("linear_drag", content, fluid, X)

    def added_mass_at(self, content: Rod | Body, fluid: Fluid, X: ArrayLike | None = None) -> Array:
        """Added mass, as `drag_at`; linear entries [kg/m] or [kg], shape (m, 6, 6)."""
        return self._evaluate("added_mass", content, fluid, X)

    def displaced_at(self, content: Rod | Body, X: ArrayLike | None = None) -> Array:
        """Displaced volume that buoyancy acts on; zero where `buoyancy` is off.

        Parameters
        ----------
        content : Rod or Body
        X : float or array_like, shape (m,)
            Points of a rod in [0, 1]; ignored for a body.

        Returns
        -------
        ndarray, shape (m,)
            For a rod per metre [m²]: `volume`, or the area of the section. For a body [m³] with m = 1: `volume`, or that
            of its shape.
        """
        _check_content(content)
        if isinstance(content, Rod):
            points = _points(X)
            if not self.buoyancy:
                return np.zeros(points.shape)
            if self.volume is not None:
                return _lengths("volume", self.volume, points, unit="m² = m³ per metre")
            if content.section is None:
                raise ValueError(
                    "buoyancy = True needs the area of the section, but the rod has none: give buoyancy=False or a "
                    "section (or volume, in m³ per metre)."
                )
            return np.array(content.section.properties(points).area)
        if not self.buoyancy:
            return np.zeros(1)
        if callable(self.volume):
            raise TypeError("volume is a function of X, but the link is a rigid body; give its volume in m³.")
        if self.volume is not None:
            return np.array([self.volume])
        if content.shape is None:
            raise ValueError(
                "buoyancy = True needs the volume of the body, but it has no shape: give buoyancy=False, a shape, or "
                "volume in m³."
            )
        return np.array([content.shape.volume])

    def centroid(self, content: Rod | Body) -> Array:
        """Centre of the displaced volume in the body frame [m], shape (3,).

        For a body `centre`, or the centre of mass, where its shape sits; for a rod zero, on its axis.
        """
        _check_content(content)
        if isinstance(content, Rod):
            if self.centre is not None:
                raise ValueError(
                    f"centre = {np.asarray(self.centre).tolist()} is for bodies, but the link is a rod, whose sections "
                    "are centred on its axis. Leave centre out."
                )
            return np.zeros(3)
        if self.centre is not None:
            return np.array(self.centre, dtype=np.float64)
        return np.zeros(3) if content.inertia is None else np.array(content.inertia.com)

    def tail_mass(self, content: Rod | Body, fluid: Fluid) -> Array:
        """Transverse added mass (m_y, m_z) per metre at the tip of a rod [kg/m], shape (2,); zero without `tail`."""
        _check_content(content)
        if not self.tail:
            return np.zeros(2)
        if not isinstance(content, Rod):
            raise TypeError("tail = True is for rods, but the link is a rigid body. Use tail=False.")
        block = self.added_mass_at(content, fluid, 1.0)[0, 4:, 4:]
        if abs(block[0, 1]) > _TOLERANCE * float(np.abs(block).max()):
            raise ValueError(
                f"tail = True needs an added mass at X = 1 without coupling of linear y and z, but that entry is "
                f"{block[0, 1]:.6g}. Turn the rod so that y and z are the principal axes of its tail."
            )
        return np.diag(block).copy()

    def check(self, content: Rod | Body, fluid: Fluid) -> None:
        """Error unless everything that is asked for can be evaluated for this link (a rod: at five points)."""
        X = np.linspace(0.0, 1.0, 5)
        self.drag_at(content, fluid, X), self.linear_drag_at(content, fluid, X), self.added_mass_at(content, fluid, X)
        self.displaced_at(content, X), self.centroid(content), self.tail_mass(content, fluid)


def _check_content(content: object) -> None:
    if not isinstance(content, (Rod, Body)):
        raise TypeError(f"content = {content!r} must be a Rod or a Body; of a link it is link.content.")
