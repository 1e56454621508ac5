"""How a tendon runs along a rod: offsets from the axis as numbers, tapers, functions or tables.

An offset is given for the normalised arc length ``X`` in [0, 1] of the rod, whichever part of it the tendon uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cost import PIECES, SAMPLES, check_pieces
from .links import Link
from .rods.quadrature import SAME_POINT, check_breakpoints, merge_points
from .validate import choice, finite, interval, positive, vector

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

__all__ = ["Along", "HelixOffset", "Routing", "Table", "helical_routing"]

Array = NDArray[np.float64]

_MINIMUM = {"cubic": 4, "linear": 2}
_SMOOTH = 1e-13  # a jump that changes a table by less than this, relative to its largest value, is rounding


def _inside(field: str, X: ArrayLike, low: float, high: float, hint: str) -> Array:
    """Return `X` as an array within [low, high]; error if a value lies outside by more than rounding."""
    points = np.asarray(X, dtype=np.float64)
    outside = ~((points >= low - SAME_POINT) & (points <= high + SAME_POINT))  # so that NaN counts as outside
    if np.any(outside):
        interval(field, float(points[outside].flat[0]), low, high, hint=hint)
    return np.clip(points, low, high)


@dataclass(frozen=True, init=False, repr=False)
class Table:
    """An offset given at points along the rod and interpolated between them.

    Parameters
    ----------
    X : array (n,)
        Points along the rod, increasing, in [0, 1]. They must cover the stretch where the table is used.
    values : array (n,)
        Offset at these points [m].
    kind : "cubic" or "linear"
        A cubic spline (not-a-knot, at least 4 points), which has no kinks, or straight lines (at least 2 points).

    Examples
    --------
    >>> table = Table([0, 0.25, 1], [0.01, 0.02, 0.005], kind="linear")
    >>> table(0.5), table.slope(0.5), table.breakpoints
    (0.015, -0.02, (0.25,))
    """

    X: tuple[float, ...]
    values: tuple[float, ...]
    kind: Literal["cubic", "linear"]

    units: ClassVar[dict[str, str]] = {"X": "–"}

    def __init__(self, X: ArrayLike, values: ArrayLike, kind: Literal["cubic", "linear"] = "cubic") -> None:
        choice("Table.kind", kind, _MINIMUM)
        least = _MINIMUM[kind]
        try:
            count = len(X)  # type: ignore[arg-type]
        except TypeError:
            count = least
        check_pieces("Table.X", count, SAMPLES)
        points = vector("Table.X", X, (count,), hint="Give a sequence of numbers in [0, 1].").tolist()
        if count < least:
            remedy = 'Give more points, or kind="linear".' if kind == "cubic" and count > 1 else "Give more points."
            raise ValueError(
                f"Table.X = {points!r} is not allowed: a {kind} table needs at least {least} points, not {count}. {remedy}"
            )
        points = _inside("Table.X", points, 0.0, 1.0, "X is arc length divided by the length of the rod.").tolist()
        steps = np.diff(points)
        if np.any(steps <= SAME_POINT):
            k = int(np.argmax(steps <= SAME_POINT))
            raise ValueError(
                f"Table.X[{k + 1}] = {points[k + 1]!r} is not allowed: it must be larger than Table.X[{k}] = "
                f"{points[k]!r}. Sort the points, with their values, and remove repeated ones."
            )
        checked = vector("Table.values", values, (count,), hint="Give one offset in m for each point of X.")
        object.__setattr__(self, "X", tuple(points))
        object.__setattr__(self, "values", tuple(checked.tolist()))
        object.__setattr__(self, "kind", kind)

    @cached_property
    def _pieces(self) -> PPoly:
        """The interpolant as polynomials between the points."""
        from scipy.interpolate import CubicSpline, PPoly  # here, since it takes a while to import

        X, values = np.array(self.X), np.array(self.values)
        if self.kind == "cubic":
            return CubicSpline(X, values, bc_type="not-a-knot")
        return PPoly(np.array([np.diff(values) / np.diff(X), values[:-1]]), X)

    @cached_property
    def _derivative(self) -> PPoly:
        return self._pieces.derivative()

    @overload
    def __call__(self, X: float) -> float: ...
    @overload
    def __call__(self, X: ArrayLike) -> float | Array: ...
    def __call__(self, X: ArrayLike) -> float | Array:
        """Offset at X [m]: a number for a number, an array of the same shape for an array."""
        return self._evaluate(self._pieces, X)

    @overload
    def slope(self, X: float) -> float: ...
    @overload
    def slope(self, X: ArrayLike) -> float | Array: ...
    def slope(self, X: ArrayLike) -> float | Array:
        """Derivative with respect to X at X [m], exact; at a kink, that of the right side."""
        return self._evaluate(self._derivative, X)

    def _evaluate(self, function: PPoly, X: ArrayLike) -> float | Array:
        hint = "The table ends there: add points to it."
        result = np.asarray(function(_inside("X", X, self.X[0], self.X[-1], hint)), dtype=np.float64)
        return float(result) if result.ndim == 0 else result

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """Interior points where the slope (linear) or the third derivative (cubic) jumps."""
        leading = self._pieces.c[0]  # coefficient of the highest power, the only one that jumps
        power = len(self._pieces.c) - 1
        jump = np.abs(np.diff(leading))
        step = np.diff(self.X)
        effect = jump * np.minimum(step[:-1], step[1:]) ** power
        kinks = effect > _SMOOTH * np.abs(self.values).max()
        if self.kind == "cubic":
            kinks[[0, -1]] = False  # not a knot
        return tuple(x for x, kink in zip(self.X[1:-1], kinks) if kink)

    def __repr__(self) -> str:
        """Number of points, range and kind."""
        return f"Table({len(self.X)} points in [{self.X[0]:g}, {self.X[-1]:g}], kind={self.kind!r})"


Routing: TypeAlias = float | tuple[float, float] | Callable[[float], float] | Table
"""An offset [m]: a number, a pair (at X=0, at X=1) for a linear change, a function of X in [0, 1], or a `Table`."""


@dataclass(frozen=True, init=False)
class Along:
    """A stretch of a tendon along a rod, at the offset (0, y(X), z(X)) from its axis.

    Parameters
    ----------
    rod : Link or str
        The rod or its name; the name is kept.
    y, z : float, pair, function of X, or Table
        Offset from the axis in the section's axes [m]. A pair is (value at X=0, value at X=1) of the rod, linear
        between, also if the stretch is only a part of it.
    start, end : float
        Where the tendon enters and leaves the rod, in X. With ``start > end`` it runs from the tip towards the base.
    dy, dz : function of X, optional
        Derivatives of functions y and z with respect to X [m]; numerically, to about 1e-12, if left out.
    breaks : sequence of float, optional
        Increasing X inside (0, 1) where functions y or z have a kink. The quadrature is split there, and numerical
        derivatives are taken from one side.

    Examples
    --------
    A tendon that crosses from one side to the other, one that winds around the axis, and a polynomial:

    >>> Along("arm", y=(0.01, -0.01)).offsets([0.25])[0]
    array([[0.   , 0.005, 0.   ]])
    >>> wound = Along("arm", **helical_routing(0.01, turns=2))
    >>> p = np.polynomial.Polynomial([0.01, 0.0, -0.02])
    >>> curved = Along("arm", y=p, dy=p.deriv())
    """

    rod: str
    y: Routing
    z: Routing
    start: float
    end: float
    dy: Callable[[float], float] | None
    dz: Callable[[float], float] | None
    breaks: tuple[float, ...]

    units: ClassVar[dict[str, str]] = {"y": "m", "z": "m", "start": "–", "end": "–"}

    def __init__(
        self,
        rod: Link | str,
        y: Routing = 0.0,
        z: Routing = 0.0,
        start: float = 0.0,
        end: float = 1.0,
        dy: Callable[[float], float] | None = None,
        dz: Callable[[float], float] | None = None,
        breaks: Sequence[float] = (),
    ) -> None:
        first = interval("Along.start", start, 0.0, 1.0, hint="A fraction of the rod's length.")
        last = interval("Along.end", end, 0.0, 1.0, hint="A fraction of the rod's length.")
        if abs(last - first) <= SAME_POINT:
            raise ValueError(
                f"Along.end = {end!r} is not allowed: must differ from start = {start!r}, or the stretch has no "
                "length. Make it larger, or smaller for a tendon that runs towards the base."
            )
        checked = {
            "rod": _rod_name(rod),
            "y": _routing("Along.y", y),
            "z": _routing("Along.z", z),
            "start": first,
            "end": last,
            "dy": _derivative("y", y, dy),
            "dz": _derivative("z", z, dz),
            "breaks": check_breakpoints("Along.breaks", breaks),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        low, high = self.span
        for name, table in (("y", self.y), ("z", self.z)):
            if isinstance(table, Table) and (table.X[0] > low + SAME_POINT or table.X[-1] < high - SAME_POINT):
                raise ValueError(
                    f"Along.{name} = {table!r} is not allowed: it must cover the stretch [{low:g}, {high:g}] between "
                    "start and end. Add points to the table, or change start and end."
                )
        self.offsets(np.linspace(low, high, 5))

    @property
    def span(self) -> tuple[float, float]:
        """The smaller and the larger of start and end."""
        return min(self.start, self.end), max(self.start, self.end)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing X strictly between start and end where the quadrature of the tendon should be split."""
        low, high = self.span
        kinks = [x for value in (self.y, self.z) if isinstance(value, Table) for x in value.breakpoints]
        return tuple(x for x in merge_points([*self.breaks, *kinks]) if low + SAME_POINT < x < high - SAME_POINT)

    def offsets(self, X: ArrayLike) -> tuple[Array, Array]:
        """Offset of the tendon from the axis.

        Parameters
        ----------
        X : float or array_like, shape (m,)
            Normalised arc length of the rod in [0, 1].

        Returns
        -------
        d : ndarray, shape (m, 3)
            (0, y, z) [m].
        slope : ndarray, shape (m, 3)
            Derivative of d with respect to X [m], also for a tendon that runs from the tip towards the base.
        """
        X = np.atleast_1d(_inside("X", X, 0.0, 1.0, "X is a fraction of the rod's length."))
        if X.ndim != 1:
            raise ValueError(f"X has shape {X.shape}, but a number or an array of shape (m,) is needed.")
        d, slope = np.zeros((len(X), 3)), np.zeros((len(X), 3))
        for c, name in enumerate(("y", "z"), start=1):
            value, derivative = getattr(self, name), getattr(self, f"d{name}")
            if isinstance(value, Table):
                d[:, c], slope[:, c] = value(X), value.slope(X)
            elif isinstance(value, HelixOffset) and isinstance(derivative, HelixOffset):  # all points at once
                d[:, c], slope[:, c] = value.along(X), derivative.along(X)
            elif isinstance(value, tuple):
                d[:, c], slope[:, c] = (1.0 - X) * value[0] + X * value[1], value[1] - value[0]
            elif not callable(value):
                d[:, c] = value
            else:
                function = _checked(f"Along.{name}", value)
                d[:, c] = [function(x) for x in X.tolist()]
                if derivative is not None:
                    exact = _checked(f"Along.d{name}", derivative)
                    slope[:, c] = [exact(x) for x in X.tolist()]
                else:
                    slope[:, c] = [_slope(function, x, *self._piece(x)) for x in X.tolist()]
        return d, slope

    def _piece(self, x: float) -> tuple[float, float]:
        """Ends of the part of the rod around x that has no breaks inside; at a break, the part to the right."""
        k = int(np.searchsorted(np.array(self.breaks) - SAME_POINT, x, side="right"))
        ends = (0.0, *self.breaks, 1.0)
        return ends[k], ends[k + 1]


def _rod_name(rod: object) -> str:
    """Name of a rod given as a link or by name."""
    if isinstance(rod, Link):
        if not rod.is_rod:
            raise TypeError(f"Along.rod = {rod.name!r} is a rigid body; tendons run along rods.")
        return rod.name
    if not isinstance(rod, str) or not rod:
        raise TypeError(f"Along.rod = {rod!r} must be a rod: what add_rod returned, or its name.")
    return rod


def _routing(field: str, value: object) -> Routing:
    """Return a routing with its numbers as floats; error if it is none."""
    hint = "Give a number, a pair (value at X=0, value at X=1), a function of X in [0, 1] or a Table."
    return value if callable(value) else _number_or_pair(field, value, hint)


def _number_or_pair(field: str, value: object, hint: str) -> float | tuple[float, float]:
    """Return a number as a float and a pair as a tuple of floats; error if it is neither."""
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim > 0):
        first, last = vector(field, value, (2,), hint=hint).tolist()
        return first, last
    return finite(field, value, unit="m", hint=hint)


def _derivative(name: str, value: object, derivative: object) -> Callable[[float], float] | None:
    """Return the derivative of a routing; error unless it is a function and belongs to one."""
    if derivative is None:
        return None
    if isinstance(value, Table) or not callable(value):
        raise ValueError(
            f"Along.d{name} = {derivative!r} is not allowed: {name} = {value!r} is not a function, so its derivative is "
            f"known. Leave d{name} out."
        )
    if not callable(derivative):
        raise TypeError(f"Along.d{name} = {derivative!r} must be a function of X in [0, 1], or be left out.")
    return derivative


def _checked(field: str, function: Callable[[float], float]) -> Callable[[float], float]:
    """The function, with an error for every result that is not a finite number."""
    hint = "It must be one finite number for every X in [0, 1]."
    return lambda x: finite(f"{field}(X={x:g})", function(x), unit="m", hint=hint)


def _slope(f: Callable[[float], float], x: float, low: float = 0.0, high: float = 1.0, h: float = 2e-3) -> float:
    """Derivative by a polynomial of degree 8 through nine points around x, all within [low, high]."""
    h = min(h, (high - low) / 8)
    centre = min(max(x, low + 4 * h), high - 4 * h)
    nodes = np.arange(-4.0, 5.0)
    values = np.array([f(min(max(centre + k * h, low), high)) for k in nodes.tolist()])
    coefficients = np.linalg.solve(np.vander(nodes, 9, increasing=True), values)
    s = (x - centre) / h
    return float(sum(k * c * s ** (k - 1) for k, c in enumerate(coefficients) if k > 0) / h)


@dataclass(frozen=True)
class HelixOffset:
    """One of the functions of `helical_routing`: an offset of a helix or its derivative, as a function of X [m].

    Parameters
    ----------
    part : "y", "z", "dy" or "dz"
    radius : pair of float
        Distance from the axis at X=0 and X=1 [m].
    turns : float
        Turns over the whole rod.
    phase : float
        Angle at X=0 [rad].
    """

    part: Literal["y", "z", "dy", "dz"]
    radius: tuple[float, float]
    turns: float
    phase: float

    units: ClassVar[dict[str, str]] = {"radius": "m", "turns": "–", "phase": "rad"}

    def __call__(self, X: float) -> float:
        """The offset, or its derivative, at X [m]."""
        return float(self.along(np.array(X)))

    def along(self, X: Array) -> Array:
        """The same at many points."""
        (r0, r1), rate = self.radius, 2 * math.pi * self.turns
        a, r = rate * X + self.phase, (1.0 - X) * r0 + X * r1
        c, s = np.cos(a), np.sin(a)
        if self.part == "y":
            return np.asarray(r * c)
        if self.part == "z":
            return np.asarray(r * s)
        return np.asarray((r1 - r0) * c - rate * r * s if self.part == "dy" else (r1 - r0) * s + rate * r * c)


class _Functions(TypedDict):
    """The arguments of `Along` that describe a smooth routing."""

    y: Callable[[float], float]
    z: Callable[[float], float]
    dy: Callable[[float], float]
    dz: Callable[[float], float]


def helical_routing(radius: float | tuple[float, float], turns: float, phase: float = 0.0) -> _Functions:
    """Routing of a tendon that winds around the axis of a rod: ``Along("arm", **helical_routing(0.01, turns=2))``.

    Parameters
    ----------
    radius : float or pair
        Distance from the axis [m], > 0; a pair (at X=0, at X=1) follows a taper.
    turns : float
        Turns over the whole rod, from X=0 to X=1. Positive turns from local y to local z, a right-handed helix.
    phase : float
        Angle from local y at X=0 [rad].

    Returns
    -------
    dict
        Functions of X: ``y = r cos a``, ``z = r sin a`` with ``a = 2π turns X + phase``, and their derivatives dy
        and dz [m].

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> wound = robot.add_tendon("wound", arm, **pl.helical_routing(0.012, turns=2))
    >>> system = robot.compile()
    >>> print(f"{system.tendon_lengths(system.neutral())[0][0]:.4f} m")  # √(0.4² + (2π 0.012 · 2)²)
    0.4275 m
    """
    hint = "Give one number, or a pair (radius at X=0, radius at X=1)."
    given = _number_or_pair("helical_routing radius", radius, hint)
    ends = given if isinstance(given, tuple) else (given, given)
    r0, r1 = (positive("helical_routing radius", r, unit="m", hint=hint) for r in ends)
    hint = "Turns over the whole rod; each one needs several computational points."
    rate = interval("helical_routing turns", turns, -PIECES, PIECES, hint=hint)
    zero = finite("helical_routing phase", phase, unit="rad")
    names: tuple[Literal["y", "z", "dy", "dz"], ...] = ("y", "z", "dy", "dz")
    y, z, dy, dz = (HelixOffset(name, (r0, r1), rate, zero) for name in names)
    return {"y": y, "z": z, "dy": dy, "dz": dz}
