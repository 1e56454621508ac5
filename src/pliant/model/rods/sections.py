"""Cross-sections and materials of rods.

A rod runs along local x and its section lies in local y–z (MATH.md §1). Dimensions may change along the rod:
each is a number, a pair ``(at X=0, at X=1)`` for a linear taper, `Stepped` for pieces with jumps between them, or a
function of the normalised arc length ``X`` in [0, 1] (array in, array out). Strains and the diagonal densities below are ordered
``torsion, bending y, bending z, stretch, shear y, shear z``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.model import validate
from pliant.model.cost import check_pieces
from pliant.model.rods.quadrature import SAME_POINT, check_breakpoints, merge_points

__all__ = [
    "Annulus",
    "Circle",
    "CustomSection",
    "Dimension",
    "Ellipse",
    "Material",
    "Rectangle",
    "Section",
    "SectionProperties",
    "Stepped",
    "damping_density",
    "inertia_density",
    "stiffness_density",
]

Array: TypeAlias = NDArray[np.float64]
Dimension: TypeAlias = float | tuple[float, float] | Callable[[Array], ArrayLike]
"""A number, a pair (value at X=0, value at X=1), a `Stepped`, or a function of X."""


def _readable(obj: object, always: tuple[str, ...]) -> str:
    """Repr that leaves out the options that have their default value."""
    parts = []
    for f in fields(obj):  # type: ignore[arg-type]
        value = getattr(obj, f.name)
        if f.name in always or value != f.default:
            shown = getattr(value, "__name__", repr(value)) if callable(value) else f"{value!r}"
            parts.append((f.name not in always, f"{f.name}={shown}"))
    return f"{type(obj).__name__}({', '.join(text for _, text in sorted(parts, key=lambda p: p[0]))})"


@dataclass(frozen=True, repr=False)
class Material:
    """Linear viscoelastic material of a rod.

    Exactly one of `poisson` and `shear_modulus` must be given.

    Parameters
    ----------
    young : float
        Young's modulus E [Pa], >= 0. Zero makes a string without stiffness.
    poisson : float, optional
        Poisson's ratio in (-1, 0.5]; the shear modulus is then E / (2 (1 + poisson)).
    shear_modulus : float, optional
        Shear modulus G [Pa], >= 0, when it is known by itself.
    density : float
        Mass per volume [kg/m³], > 0.
    viscosity : float
        Kelvin–Voigt viscosity [Pa s], >= 0.
    damping_time : float
        Damping proportional to stiffness, as a time [s], >= 0. Adds to the viscosity; a warning says so if both are given.

    Notes
    -----
    Damping density per unit length: ``viscosity · diag(Jx, 3 Iy, 3 Iz, 3 A, A, A)`` ([002] D65) plus
    ``damping_time · stiffness`` ([000]).

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1070, viscosity=1e4)
    >>> print(f"{silicone.shear:.0f} Pa")  # E / 2(1 + ν)
    333333 Pa
    """

    young: float
    poisson: float | None = field(default=None, kw_only=True)
    shear_modulus: float | None = field(default=None, kw_only=True)
    density: float = field(kw_only=True)
    viscosity: float = field(default=0.0, kw_only=True)
    damping_time: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Check the values."""
        checked = {
            "young": validate.non_negative("Material.young", self.young, unit="Pa"),
            "density": validate.positive("Material.density", self.density, unit="kg/m³"),
            "viscosity": validate.non_negative("Material.viscosity", self.viscosity, unit="Pa s"),
            "damping_time": validate.non_negative("Material.damping_time", self.damping_time, unit="s"),
        }
        if (self.poisson is None) == (self.shear_modulus is None):
            raise ValueError(
                f"Material.poisson = {self.poisson!r} and Material.shear_modulus = {self.shear_modulus!r}: "
                "exactly one of the two must be given. For rubber and silicone use poisson=0.5."
            )
        if self.poisson is not None:
            hint = "Poisson's ratio lies in (-1, 0.5]; rubber is close to 0.5, metals close to 0.3."
            checked["poisson"] = validate.interval("Material.poisson", self.poisson, -1.0, 0.5, hint=hint)
            if checked["poisson"] == -1.0:
                raise ValueError(f"Material.poisson = {self.poisson!r} is not allowed: must be greater than -1. {hint}")
        else:
            checked["shear_modulus"] = validate.non_negative("Material.shear_modulus", self.shear_modulus, unit="Pa")
        if checked["viscosity"] and checked["damping_time"]:
            warnings.warn(
                f"Material has viscosity = {self.viscosity:g} Pa s and damping_time = {self.damping_time:g} s: both act, and their "
                "damping adds up. Give one of them unless that is meant.",
                UserWarning,
                stacklevel=3,
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def shear(self) -> float:
        """Shear modulus G [Pa]."""
        if self.shear_modulus is not None:
            return self.shear_modulus
        assert self.poisson is not None  # one of the two, checked on construction
        return self.young / (2.0 * (1.0 + self.poisson))

    def __repr__(self) -> str:
        """Show the values that were given."""
        return _readable(self, ("young", "density"))


@dataclass(frozen=True, init=False, repr=False)
class Stepped:
    """A dimension that jumps along the rod, as on a stepped shaft: one value, or one taper, for each piece.

    Parameters
    ----------
    values : sequence of float or pair
        For each piece a number, or a pair (at its start, at its end) for a linear taper; >= 0.
    at : sequence of float, optional
        The increasing X inside (0, 1) where pieces meet, one fewer than `values`. Pieces of equal length if left out.

    Notes
    -----
    At a jump it has the value of the piece that starts there. Rods put the ends of elements at the jumps, whatever
    the strains, so that integrals over the rod are those of the pieces.

    Examples
    --------
    >>> radius = Stepped([0.02, 0.015, (0.01, 0.005)], at=(0.5, 0.8))
    >>> radius([0.2, 0.5, 0.9]).tolist()
    [0.02, 0.015, 0.0075]
    """

    values: tuple[float | tuple[float, float], ...]
    at: tuple[float, ...]

    def __init__(self, values: Sequence[float | Sequence[float]], at: Iterable[float] | None = None) -> None:
        if not isinstance(values, (list, tuple, np.ndarray)) or (isinstance(values, np.ndarray) and values.ndim == 0):
            raise TypeError(f"Stepped.values = {values!r} must be a sequence with one value for each piece.")
        check_pieces("Stepped.values", len(values))
        pieces: list[float | tuple[float, float]] = []
        for k, value in enumerate(values):
            label = f"Stepped.values[{k}]"
            if isinstance(value, (list, tuple, np.ndarray)):
                hint = "Give a number, or a pair (at the start, at the end of the piece)."
                first, last = validate.vector(label, value, (2,), hint=hint).tolist()
                pieces.append((validate.non_negative(label, first), validate.non_negative(label, last)))
            else:
                pieces.append(validate.non_negative(label, value))
        if not pieces:
            raise ValueError("Stepped.values is empty: give one value for each piece.")
        n = len(pieces)
        jumps = tuple(k / n for k in range(1, n)) if at is None else check_breakpoints("Stepped.at", at)
        if len(jumps) != n - 1:
            raise ValueError(f"Stepped.at has {len(jumps)} points, but {n} values need {n - 1} between them.")
        object.__setattr__(self, "values", tuple(pieces))
        object.__setattr__(self, "at", jumps)

    def __call__(self, X: ArrayLike) -> Array:
        """Values at X (m,), shape (m,)."""
        points = _points(X)
        piece = np.searchsorted(np.array(self.at) - SAME_POINT, points, side="right")
        first, last = np.array([v if isinstance(v, tuple) else (v, v) for v in self.values])[piece].T
        ends = np.array([0.0, *self.at, 1.0])
        s = np.clip((points - ends[piece]) / np.diff(ends)[piece], 0.0, 1.0)
        return np.where(first == last, first, (1.0 - s) * first + s * last)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Where pieces meet."""
        return self.at

    def __repr__(self) -> str:
        """Values, and where they meet unless the pieces are of equal length."""
        n = len(self.values)
        equal = self.at == tuple(k / n for k in range(1, n))
        return f"Stepped({list(self.values)!r}{'' if equal else f', at={self.at!r}'})"


@dataclass(frozen=True, eq=False)
class SectionProperties:
    """Geometric constants of a section at m points, each an array of shape (m,).

    Attributes
    ----------
    area : ndarray
        A [m²].
    Iy, Iz : ndarray
        Second moments of area about local y, ``∫ z² dA``, and about local z, ``∫ y² dA`` [m⁴].
    polar : ndarray
        ``Iy + Iz`` [m⁴], which gives the rotary inertia about x.
    torsion : ndarray
        Torsion constant times `torsion_factor` [m⁴], which gives the torsional stiffness.
    """

    area: Array
    Iy: Array
    Iz: Array
    polar: Array
    torsion: Array

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for f in fields(self):
            getattr(self, f.name).flags.writeable = False


def _points(X: ArrayLike) -> Array:
    """Return `X` as an array (m,) of normalised arc lengths."""
    array = np.atleast_1d(np.asarray(X, dtype=np.float64))
    if array.ndim != 1:
        raise ValueError(f"X has shape {array.shape}, but a number or an array of shape (m,) is needed.")
    outside = ~((array >= -1e-12) & (array <= 1.0 + 1e-12))  # so that NaN counts as outside
    if np.any(outside):
        hint = "X is arc length divided by the length of the rod."
        validate.interval("X", float(array[outside][0]), 0.0, 1.0, hint=hint)
    return np.clip(array, 0.0, 1.0)


@dataclass(frozen=True, repr=False, kw_only=True)
class Section:
    """Base of all sections; use `Circle`, `Annulus`, `Rectangle`, `Ellipse` or `CustomSection`.

    Parameters
    ----------
    shear_factor : float or pair (y, z)
        Timoshenko factor that multiplies the shear stiffness G A, > 0. Off (1) by default; 5/6 is usual for a
        rectangle and about 0.9 for a circle.
    torsion_factor : float
        Multiplies the torsion constant in the torsional stiffness, > 0. It never changes the inertia.
    """

    shear_factor: float | tuple[float, float] = 1.0
    torsion_factor: float = 1.0

    def __post_init__(self) -> None:
        """Check the values."""
        if type(self) is Section:
            raise TypeError("Section is only a base class: use Circle, Annulus, Rectangle, Ellipse or CustomSection.")
        kind = type(self).__name__
        factor: float | tuple[float, float]
        if not validate.dimensions(self.shear_factor):
            factor = validate.positive(f"{kind}.shear_factor", self.shear_factor)
        else:
            hint = "Give one number or a pair (y, z)."
            ky, kz = validate.vector(f"{kind}.shear_factor", self.shear_factor, (2,), hint=hint).tolist()
            factor = (
                validate.positive(f"{kind}.shear_factor[0]", ky),
                validate.positive(f"{kind}.shear_factor[1]", kz),
            )
        object.__setattr__(self, "shear_factor", factor)
        torsion_factor = validate.positive(f"{kind}.torsion_factor", self.torsion_factor)
        object.__setattr__(self, "torsion_factor", torsion_factor)
        for name, (unit, zero) in self._dimensions().items():
            object.__setattr__(self, name, self._read(name, unit, zero))

    # -- what a section defines -------------------------------------------------------------------------
    def _dimensions(self) -> dict[str, tuple[str, bool]]:
        """Names of the dimensions, with unit and whether zero is allowed everywhere."""
        raise NotImplementedError

    def _moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz and the torsion constant (None: Iy + Iz) at X (m,)."""
        raise NotImplementedError

    def _boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,); dimensions may be zero."""
        raise NotImplementedError

    def _reach(self, X: Array) -> Array:
        """Largest distance from the centre (m,) at X (m,)."""
        raise NotImplementedError

    # -- reading dimensions -----------------------------------------------------------------------------
    def _read(self, name: str, unit: str, zero: bool) -> Dimension:
        """Check a dimension as far as it can be without evaluating functions."""
        label, value = f"{type(self).__name__}.{name}", getattr(self, name)
        hint = "Give a number, a pair (value at X=0, value at X=1), Stepped([...]) or a function of X in [0, 1]."
        if callable(value):
            return value
        shape = validate.dimensions(value)
        if not shape:
            check = validate.non_negative if zero else validate.positive
            return check(label, value, unit=unit, hint=hint)
        if shape != (2,):
            raise ValueError(f"{label} = {validate.shown(value)} has shape {shape}, which is not a dimension. {hint}")
        # A tip that runs out in a point is fine as long as no properties are asked for there.
        first, last = (validate.non_negative(f"{label}[{i}]", v, unit=unit, hint=hint) for i, v in enumerate(value))
        if first == last == 0.0 and not zero:
            raise ValueError(f"{label} = {value!r} is not allowed: at most one end may be zero ({unit}).")
        return first, last

    def _value(self, name: str, X: Array, *, zero: bool = False) -> Array:
        """Evaluate a dimension at X (m,); error unless finite and positive (or zero, if allowed)."""
        kind, value = type(self).__name__, getattr(self, name)
        unit, always = self._dimensions()[name]
        if callable(value):
            hint = f"{kind}.{name} must take an array X of shape (m,) and return as many numbers, or one"
            try:
                result = validate.reals(f"{kind}.{name}", value(X.copy()))
            except (TypeError, ValueError) as error:
                raise TypeError(f"{hint}; it failed with: {error}. Use numpy functions, or np.vectorize.") from error
            if result.shape not in ((), (1,), X.shape):
                raise ValueError(f"{hint}; for shape {X.shape} it returned shape {result.shape}.")
            result = np.array(np.broadcast_to(result, X.shape))
        elif isinstance(value, tuple):
            result = (1.0 - X) * value[0] + X * value[1]
        else:
            result = np.full(X.shape, value)
        zero = zero or always
        allowed = (result <= validate.LARGEST) & ((result >= 0.0) if zero else (result > 0.0))
        if not np.all(allowed):
            i = int(np.argmin(allowed))
            check = validate.non_negative if zero else validate.positive
            hint = "" if zero else "A rod that runs out in a point needs a small positive size at its tip."
            check(f"{kind}.{name}(X={X[i]:g})", float(result[i]), unit=unit, hint=hint)
        return result

    # -- public -----------------------------------------------------------------------------------------
    def properties(self, X: ArrayLike) -> SectionProperties:
        """Evaluate the geometric constants.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].

        Returns
        -------
        SectionProperties
            Arrays of shape (m,).

        Raises
        ------
        ValueError
            If a dimension is not finite and positive at one of the points.
        """
        area, Iy, Iz, torsion = self._moments(_points(X))
        polar = Iy + Iz
        return SectionProperties(area, Iy, Iz, polar, self.torsion_factor * (polar if torsion is None else torsion))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing X inside (0, 1) where a dimension jumps (`Stepped`)."""
        values = (getattr(self, name) for name in self._dimensions())
        return merge_points(x for value in values if isinstance(value, Stepped) for x in value.breakpoints)

    def outline(self, X: ArrayLike, n: int = 32) -> Array:
        """Boundary points for drawing.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].
        n : int
            Number of points around the section, >= 4.

        Returns
        -------
        ndarray, shape (m, n, 2)
            Coordinates (y, z) [m], counter-clockwise seen from the tip, not closed. A hollow section gives
            its outer boundary and a `CustomSection` the circle of equal area.
        """
        return self._boundary(_points(X), validate.integer("n", n, minimum=4))

    def extent(self, X: ArrayLike) -> Array:
        """Largest distance of the section from its centre.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length in [0, 1].

        Returns
        -------
        ndarray, shape (m,)
            [m].
        """
        return self._reach(_points(X))

    def __repr__(self) -> str:
        """Show dimensions first, then the options that are not default."""
        return _readable(self, tuple(n for n in self._dimensions() if getattr(self, n) is not None))


def _oval(semi_y: Array, semi_z: Array, n: int) -> Array:
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.stack([semi_y[:, None] * np.cos(angle), semi_z[:, None] * np.sin(angle)], axis=-1)


@dataclass(frozen=True, repr=False)
class Circle(Section):
    """Solid circle.

    Parameters
    ----------
    radius : float, pair or callable
        [m].
    shear_factor, torsion_factor
        See `Section`.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> tapered = pl.Circle(radius=(0.02, 0.01))
    >>> print(tapered.extent([0.0, 0.5, 1.0]))
    [0.02  0.015 0.01 ]
    >>> wavy = pl.Circle(radius=lambda X: 0.01 + 0.002 * np.sin(6 * X))
    """

    radius: Dimension

    def _dimensions(self) -> dict[str, tuple[str, bool]]:
        return {"radius": ("m", False)}

    def _moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        r = self._value("radius", X)
        second = np.pi * r**4 / 4.0
        return np.pi * r**2, second, second.copy(), None

    def _boundary(self, X: Array, n: int) -> Array:
        r = self._reach(X)
        return _oval(r, r, n)

    def _reach(self, X: Array) -> Array:
        return self._value("radius", X, zero=True)


@dataclass(frozen=True, repr=False)
class Annulus(Section):
    """Tube: a circle with a concentric round hole.

    Parameters
    ----------
    outer, inner : float, pair or callable
        Radii [m], ``0 <= inner < outer``.
    shear_factor, torsion_factor
        See `Section`.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> tube = pl.Annulus(outer=0.01, inner=0.008)
    >>> print(f"{tube.properties(0.5).area[0] / np.pi * 1e6:.0f} mm²")  # divided by π
    36 mm²
    """

    outer: Dimension
    inner: Dimension

    def _dimensions(self) -> dict[str, tuple[str, bool]]:
        return {"outer": ("m", False), "inner": ("m", True)}

    def __post_init__(self) -> None:
        """Check the values, and that the hole is smaller than the tube."""
        super().__post_init__()
        if not callable(self.outer) and not callable(self.inner):
            ends = np.array([0.0, 1.0])
            self._radii(ends[self._value("outer", ends, zero=True) > 0.0])

    def _radii(self, X: Array) -> tuple[Array, Array]:
        outer, inner = self._value("outer", X), self._value("inner", X)
        bad = inner >= outer
        if np.any(bad):
            i = int(np.argmax(bad))
            raise ValueError(
                f"Annulus.inner(X={X[i]:g}) = {inner[i]:g} is not allowed: must be smaller than "
                f"Annulus.outer(X={X[i]:g}) = {outer[i]:g} (m). Both are radii; were they swapped?"
            )
        return outer, inner

    def _moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        R, r = self._radii(X)
        area = np.pi * (R - r) * (R + r)  # factored: a thin wall loses no digits
        second = area * (R**2 + r**2) / 4.0
        return area, second, second.copy(), None

    def _boundary(self, X: Array, n: int) -> Array:
        r = self._reach(X)
        return _oval(r, r, n)

    def _reach(self, X: Array) -> Array:
        return self._value("outer", X, zero=True)


@dataclass(frozen=True, repr=False)
class Rectangle(Section):
    """Solid rectangle.

    Parameters
    ----------
    height : float, pair or callable
        Side along local y [m].
    width : float, pair or callable
        Side along local z [m].
    shear_factor, torsion_factor
        See `Section`.

    Notes
    -----
    ``A = h w``, ``Iy = h w³/12``, ``Iz = h³ w/12``. Like the papers, torsion uses Iy + Iz; warping makes a
    real bar softer: ``torsion_factor`` 0.843 for a square, and about ``4 (w/h)²`` for a thin strip, w << h.

    Examples
    --------
    >>> import pliant as pl
    >>> strip = pl.Rectangle(height=0.002, width=0.02)  # 2 mm along y, 20 mm along z
    >>> p = strip.properties(0.0)
    >>> bool(p.Iz[0] < p.Iy[0])  # it bends easily about z, in the x-y plane
    True
    """

    height: Dimension
    width: Dimension

    def _dimensions(self) -> dict[str, tuple[str, bool]]:
        return {"height": ("m", False), "width": ("m", False)}

    def _moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        h, w = self._value("height", X), self._value("width", X)
        return h * w, h * w**3 / 12.0, h**3 * w / 12.0, None

    def _boundary(self, X: Array, n: int) -> Array:
        corners = 0.5 * np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
        unit = [  # each side starts with its corner, so every corner is drawn whatever n is
            corners[k] + t * (corners[(k + 1) % 4] - corners[k])
            for k in range(4)
            for t in np.linspace(0.0, 1.0, n // 4 + (k < n % 4), endpoint=False)
        ]
        size = np.stack([self._value("height", X, zero=True), self._value("width", X, zero=True)], axis=-1)
        return size[:, None, :] * np.array(unit)

    def _reach(self, X: Array) -> Array:
        return 0.5 * np.hypot(self._value("height", X, zero=True), self._value("width", X, zero=True))


@dataclass(frozen=True, repr=False)
class Ellipse(Section):
    """Solid ellipse.

    Parameters
    ----------
    semi_y, semi_z : float, pair or callable
        Semi-axes a along local y and b along local z [m].
    shear_factor, torsion_factor
        See `Section`.

    Notes
    -----
    ``A = π a b``, ``Iy = π a b³/4``, ``Iz = π a³ b/4``. Torsion uses Iy + Iz; with
    ``torsion_factor = 4 a² b²/(a² + b²)²`` it is Saint-Venant's exact value.
    """

    semi_y: Dimension
    semi_z: Dimension

    def _dimensions(self) -> dict[str, tuple[str, bool]]:
        return {"semi_y": ("m", False), "semi_z": ("m", False)}

    def _moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        a, b = self._value("semi_y", X), self._value("semi_z", X)
        return np.pi * a * b, np.pi * a * b**3 / 4.0, np.pi * a**3 * b / 4.0, None

    def _boundary(self, X: Array, n: int) -> Array:
        return _oval(self._value("semi_y", X, zero=True), self._value("semi_z", X, zero=True), n)

    def _reach(self, X: Array) -> Array:
        return np.maximum(self._value("semi_y", X, zero=True), self._value("semi_z", X, zero=True))


@dataclass(frozen=True, repr=False)
class CustomSection(Section):
    """Any section, by its constants about the centroid and its principal axes y and z.

    Parameters
    ----------
    area : float, pair or callable
        A [m²].
    Iy, Iz : float, pair or callable
        ``∫ z² dA`` and ``∫ y² dA`` [m⁴].
    J : float, pair or callable, optional
        Torsion constant [m⁴]; Iy + Iz by default. It changes the stiffness only, never the inertia.
    shear_factor, torsion_factor
        See `Section`.
    """

    area: Dimension
    Iy: Dimension
    Iz: Dimension
    J: Dimension | None = None

    def _dimensions(self) -> dict[str, tuple[str, bool]]:
        names = {"area": ("m²", False), "Iy": ("m⁴", False), "Iz": ("m⁴", False)}
        return names if self.J is None else {**names, "J": ("m⁴", False)}

    def _moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        J = None if self.J is None else self._value("J", X)
        return self._value("area", X), self._value("Iy", X), self._value("Iz", X), J

    def _boundary(self, X: Array, n: int) -> Array:
        r = self._reach(X)
        return _oval(r, r, n)

    def _reach(self, X: Array) -> Array:
        return np.sqrt(self._value("area", X, zero=True) / np.pi)


def _diagonal(*entries: Array) -> Array:
    values = np.stack(entries, axis=-1)
    return values[:, :, None] * np.eye(6)


def _stiffness(p: SectionProperties, section: Section, material: Material) -> Array:
    E, G = material.young, material.shear
    factor = section.shear_factor
    ky, kz = factor if isinstance(factor, tuple) else (factor, factor)
    return _diagonal(G * p.torsion, E * p.Iy, E * p.Iz, E * p.area, ky * G * p.area, kz * G * p.area)


def stiffness_density(section: Section, material: Material, X: ArrayLike) -> Array:
    """Stiffness per unit length, ``Σ = diag(G J, E Iy, E Iz, E A, k_y G A, k_z G A)``.

    Parameters
    ----------
    section : Section
    material : Material
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [N m²] for the first three entries, [N] for the others.

    Notes
    -----
    [002] D64, with the options `Section.torsion_factor` and `Section.shear_factor`.
    """
    return _stiffness(section.properties(X), section, material)


def damping_density(section: Section, material: Material, X: ArrayLike) -> Array:
    """Damping per unit length, ``viscosity · diag(Iy+Iz, 3 Iy, 3 Iz, 3 A, A, A) + damping_time · Σ``.

    Parameters
    ----------
    section : Section
    material : Material
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [N m² s] for the first three entries, [N s] for the others.

    Notes
    -----
    First term [002] D65, second term [000].
    """
    p = section.properties(X)
    viscous = _diagonal(p.polar, 3.0 * p.Iy, 3.0 * p.Iz, 3.0 * p.area, p.area, p.area)
    return material.viscosity * viscous + material.damping_time * _stiffness(p, section, material)


def inertia_density(section: Section, material: Material, X: ArrayLike) -> Array:
    """Inertia per unit length, ``ρ diag(Iy+Iz, Iy, Iz, A, A, A)``.

    Parameters
    ----------
    section : Section
    material : Material
    X : float or array_like, shape (m,)
        Normalised arc length in [0, 1].

    Returns
    -------
    ndarray, shape (m, 6, 6)
        [kg m] for the first three entries, [kg/m] for the others.
    """
    p = section.properties(X)
    return material.density * _diagonal(p.polar, p.Iy, p.Iz, p.area, p.area, p.area)
