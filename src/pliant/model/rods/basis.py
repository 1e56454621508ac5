"""Scalar functions of the normalised arc length X in [0, 1] that carry a strain along a rod.

A strain is a sum of coordinates times the functions of a basis. Each basis is an immutable value: it can be
compared, used as a dictionary key, and called with points to give the functions there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.polynomial.legendre import legvander
from numpy.typing import ArrayLike, NDArray

from pliant.model.cost import check_functions
from pliant.model.rods.quadrature import SAME_POINT, check_breakpoints, default_points, rod_grid
from pliant.model.validate import choice, integer, interval, reals

__all__ = [
    "BASIS_KINDS",
    "Basis",
    "Chebyshev",
    "Custom",
    "Fourier",
    "Gaussian",
    "HermiteElements",
    "InverseMultiquadric",
    "Legendre",
    "LinearElements",
    "Monomial",
    "PiecewiseConstant",
    "QuadraticElements",
    "as_basis",
    "check_independent",
]

_DEPENDENT = 1e-12


class Basis(ABC):
    """A finite family of functions on [0, 1].

    Call it with points to get the values: ``basis(X)`` has shape (len(X), size).
    """

    _remedy: ClassVar[str] = "Use fewer functions."

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of functions."""

    @property
    @abstractmethod
    def degree(self) -> int:
        """Polynomial degree in each element.

        For functions that are not polynomials, the number for which ``2 * degree + 2`` Gauss points integrate
        products of two of them to at least six digits.
        """

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing points inside (0, 1) where a function or a derivative jumps."""
        return ()

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """Values of the functions.

        Parameters
        ----------
        X : array_like, shape (n,)
            Normalised arc length in [0, 1]; one number counts as one point.

        Returns
        -------
        ndarray, shape (n, size)
            At a breakpoint the values of the element that starts there; at X = 1 those of the last element.
        """
        points = _points(X)
        if len(points) == 0:
            return np.zeros((0, self.size))
        return self._values(points)

    @abstractmethod
    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at checked points, shape (n, size)."""

    def __repr__(self) -> str:
        """Name and arguments; what equals its default is left out."""
        first, *others = fields(self)  # type: ignore[arg-type]
        shown = [repr(getattr(self, first.name))]
        shown += [f"{f.name}={getattr(self, f.name)!r}" for f in others if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(shown)})"


def _points(X: ArrayLike) -> NDArray[np.float64]:
    """X as a flat array inside [0, 1]; rounding beyond the ends is removed."""
    points = np.atleast_1d(np.asarray(X, dtype=np.float64))
    if points.ndim != 1:
        raise ValueError(f"X has shape {points.shape}, but a one-dimensional list of points is needed.")
    outside = ~((points >= -SAME_POINT) & (points <= 1.0 + SAME_POINT))
    if np.any(outside):
        raise ValueError(
            f"X = {points[outside][0]!r} is not allowed: must lie in [0, 1]. "
            "X is the arc length divided by the length of the rod."
        )
    return np.clip(points, 0.0, 1.0)


def _equal_parts(count: int) -> tuple[float, ...]:
    """Interior ends of `count` equal elements; k / count is the float nearest to the exact ratio."""
    return tuple(k / count for k in range(1, count))


def _element_of(X: NDArray[np.float64], breakpoints: tuple[float, ...]) -> NDArray[np.intp]:
    """Index of the element of each point.

    A point that rounding has put just left of a breakpoint counts as the breakpoint, so belongs to the right
    element.
    """
    return np.searchsorted(np.array(breakpoints) - SAME_POINT, X, side="right")


def _set_integer(basis: Basis, field: str, minimum: int, hint: str = "") -> None:
    """Check a whole-number field of a frozen basis and store it as a Python int."""
    name = f"{type(basis).__name__} {field}"
    object.__setattr__(basis, field, integer(name, getattr(basis, field), minimum=minimum, hint=hint))
    check_functions(f"{name}: the number of functions", basis.size)


@dataclass(frozen=True, repr=False)
class _Polynomials(Basis):
    """Polynomials of degree 0 to `order` on the whole rod."""

    order: int

    def __post_init__(self) -> None:
        """Check the arguments."""
        _set_integer(self, "order", 0, "The order is the highest degree; order 0 is a constant.")

    @property
    def size(self) -> int:
        """Number of functions, order + 1."""
        return self.order + 1

    @property
    def degree(self) -> int:
        """Polynomial degree, the order."""
        return self.order


@dataclass(frozen=True, repr=False)
class Legendre(_Polynomials):
    """Legendre polynomials P_k(2X - 1), k = 0..order.

    Parameters
    ----------
    order : int
        Highest degree, at least 0.

    Notes
    -----
    Orthogonal on [0, 1]; every function is 1 at X = 1 and (-1)^k at X = 0.

    Examples
    --------
    >>> import pliant as pl
    >>> basis = pl.Legendre(2)
    >>> basis.size
    3
    >>> print(basis([0.0, 0.5, 1.0]))
    [[ 1.  -1.   1. ]
     [ 1.   0.  -0.5]
     [ 1.   1.   1. ]]
    """

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(legvander(2.0 * X - 1.0, self.order), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Chebyshev(_Polynomials):
    """Chebyshev polynomials of the first kind T_k(2X - 1), k = 0..order.

    Parameters
    ----------
    order : int
        Highest degree, at least 0.
    """

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(chebvander(2.0 * X - 1.0, self.order), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Monomial(_Polynomials):
    """Powers X^k, k = 0..order.

    Parameters
    ----------
    order : int
        Highest degree, at least 0.

    Notes
    -----
    They span the same strains as `Legendre` but become nearly dependent as the order grows.
    """

    _remedy: ClassVar[str] = "Lower the order or use Legendre, which spans the same functions and is well conditioned."

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vander(X, self.order + 1, increasing=True)


@dataclass(frozen=True, repr=False)
class PiecewiseConstant(Basis):
    """Indicator functions of consecutive sections: each is 1 on its section and 0 elsewhere.

    Parameters
    ----------
    sections : int or sequence of float
        Number of equal sections, or the increasing points inside (0, 1) that separate sections of chosen
        lengths (n points make n + 1 sections).

    Examples
    --------
    >>> import pliant as pl
    >>> sections = pl.PiecewiseConstant(4)
    >>> sections.size, sections.breakpoints
    (4, (0.25, 0.5, 0.75))
    """

    sections: int | tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the arguments."""
        if isinstance(self.sections, Iterable) and not isinstance(self.sections, str):
            object.__setattr__(self, "sections", check_breakpoints("PiecewiseConstant sections", self.sections))
        else:
            _set_integer(self, "sections", 1, "Give the number of sections or the points that separate them.")

    @property
    def size(self) -> int:
        """Number of sections."""
        return self.sections if isinstance(self.sections, int) else len(self.sections) + 1

    @property
    def degree(self) -> int:
        """Polynomial degree, 0."""
        return 0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The points between sections."""
        return _equal_parts(self.sections) if isinstance(self.sections, int) else self.sections

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.eye(self.size)[_element_of(X, self.breakpoints)]


@dataclass(frozen=True, repr=False)
class _Elements(Basis):
    """Functions with small support on equal elements; subclasses give those of one element."""

    elements: int

    _degree: ClassVar[int]
    _stride: ClassVar[int]
    _shared: ClassVar[int]

    def __post_init__(self) -> None:
        """Check the arguments."""
        _set_integer(self, "elements", 1)

    @property
    def size(self) -> int:
        """Number of functions."""
        return self._stride * self.elements + self._shared

    @property
    def degree(self) -> int:
        """Polynomial degree in an element."""
        return self._degree

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The interior element ends."""
        return _equal_parts(self.elements)

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        element = _element_of(X, self.breakpoints)
        shapes = self._shapes(X * self.elements - element)
        columns = self._stride * element[:, None] + np.arange(shapes.shape[1])
        values = np.zeros((len(X), self.size))
        np.put_along_axis(values, columns, shapes, axis=1)
        return values

    @staticmethod
    @abstractmethod
    def _shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions of one element at its local coordinate t in [0, 1], shape (n, functions per element)."""


@dataclass(frozen=True, repr=False)
class LinearElements(_Elements):
    """Continuous, linear in each of equal elements; the coordinates are the values at the nodes.

    Parameters
    ----------
    elements : int
        Number of elements, at least 1; there are elements + 1 functions, one for each element end.

    Examples
    --------
    >>> import pliant as pl
    >>> print(pl.LinearElements(2)([0.0, 0.25, 1.0]))
    [[1.  0.  0. ]
     [0.5 0.5 0. ]
     [0.  0.  1. ]]
    """

    _degree: ClassVar[int] = 1
    _stride: ClassVar[int] = 1
    _shared: ClassVar[int] = 1

    @staticmethod
    def _shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack((1.0 - t, t))


@dataclass(frozen=True, repr=False)
class QuadraticElements(_Elements):
    """Continuous, quadratic in each of equal elements; the coordinates are the values at the nodes.

    Parameters
    ----------
    elements : int
        Number of elements, at least 1; there are 2 elements + 1 functions, one for each element end and
        midpoint, ordered along the rod.
    """

    _degree: ClassVar[int] = 2
    _stride: ClassVar[int] = 2
    _shared: ClassVar[int] = 1

    @staticmethod
    def _shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack(((1.0 - t) * (1.0 - 2.0 * t), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0)))


@dataclass(frozen=True, repr=False)
class HermiteElements(_Elements):
    """Cubic Hermite functions: continuous with continuous slope, cubic in each of equal elements.

    Parameters
    ----------
    elements : int
        Number of elements, at least 1; there are 2 (elements + 1) functions: value and slope at the first
        element end, value and slope at the second, and so on.

    Notes
    -----
    A slope coordinate is the change per element, d/dt with t = elements * X - k; divide by the element length
    (1 / elements) for the derivative with respect to X. Value and slope coordinates then have the same unit
    and size.
    """

    _degree: ClassVar[int] = 3
    _stride: ClassVar[int] = 2
    _shared: ClassVar[int] = 2

    @staticmethod
    def _shapes(t: NDArray[np.float64]) -> NDArray[np.float64]:
        s = 1.0 - t
        return np.column_stack((s * s * (1.0 + 2.0 * t), t * s * s, t * t * (3.0 - 2.0 * t), -t * t * s))


@dataclass(frozen=True, repr=False)
class Fourier(Basis):
    """Trigonometric functions 1, cos(2 pi X), sin(2 pi X), cos(4 pi X), sin(4 pi X), ...

    Parameters
    ----------
    order : int
        Number of cosine and sine pairs, at least 0; there are 2 order + 1 functions.

    Notes
    -----
    All of them have the same value at both rod ends. Add other functions if the strain differs there.
    """

    order: int

    def __post_init__(self) -> None:
        """Check the arguments."""
        _set_integer(self, "order", 0, "The order is the number of cosine and sine pairs; order 0 is a constant.")

    @property
    def size(self) -> int:
        """Number of functions, 2 order + 1."""
        return 2 * self.order + 1

    @property
    def degree(self) -> int:
        """Equivalent polynomial degree."""
        return 2 * self.order + 3 if self.order else 0

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        phase = 2.0 * math.pi * X[:, None] * np.arange(1, self.order + 1)
        values = np.ones((len(X), self.size))
        values[:, 1::2] = np.cos(phase)
        values[:, 2::2] = np.sin(phase)
        return values


@dataclass(frozen=True, repr=False)
class _Bumps(Basis):
    """Equal bumps with centres spread evenly from X = 0 to X = 1."""

    functions: int
    width: float | None = None

    _remedy: ClassVar[str] = "Use fewer functions or a smaller width."
    _degree_per_width: ClassVar[float]

    def __post_init__(self) -> None:
        """Check the arguments."""
        _set_integer(self, "functions", 1)
        if self.width is not None:
            hint = "It is a fraction of the rod length; None takes the distance between the centres."
            field = f"{type(self).__name__} width"
            object.__setattr__(self, "width", interval(field, self.width, 1e-3, 1e3, hint=hint))

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.functions

    @property
    def degree(self) -> int:
        """Equivalent polynomial degree."""
        return math.ceil(self._degree_per_width / self._width) + 1

    @property
    def _centres(self) -> NDArray[np.float64]:
        return np.linspace(0.0, 1.0, self.functions) if self.functions > 1 else np.array([0.5])

    @property
    def _width(self) -> float:
        return self.width if self.width is not None else 1.0 / max(self.functions - 1, 1)

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._profile(((X[:, None] - self._centres) / self._width) ** 2)

    @staticmethod
    @abstractmethod
    def _profile(squared: NDArray[np.float64]) -> NDArray[np.float64]:
        """Height of a bump; the argument is (distance from the centre / width)^2."""


@dataclass(frozen=True, repr=False)
class Gaussian(_Bumps):
    """Gaussian bumps 2^(-4 r^2 / width^2), r the distance from the centre.

    Parameters
    ----------
    functions : int
        Number of bumps, at least 1; the centres are evenly spread from X = 0 to X = 1 (a single one sits at
        1/2).
    width : float, optional
        Full width at half height as a fraction of the rod length, 0.001 to 1000. By default the distance
        between neighbouring centres (1 for a single bump).
    """

    _degree_per_width: ClassVar[float] = 2.5

    @staticmethod
    def _profile(squared: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp2(-4.0 * squared)


@dataclass(frozen=True, repr=False)
class InverseMultiquadric(_Bumps):
    """Inverse multiquadric bumps 1 / sqrt(1 + 12 r^2 / width^2), r the distance from the centre.

    Parameters
    ----------
    functions : int
        Number of bumps, at least 1; the centres are evenly spread from X = 0 to X = 1 (a single one sits at
        1/2).
    width : float, optional
        Full width at half height as a fraction of the rod length, 0.001 to 1000. By default the distance
        between neighbouring centres (1 for a single bump).
    """

    _degree_per_width: ClassVar[float] = 6.0

    @staticmethod
    def _profile(squared: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / np.sqrt(1.0 + 12.0 * squared)


@dataclass(frozen=True, init=False, repr=False)
class Custom(Basis):
    """Functions given by the user.

    Parameters
    ----------
    function : callable
        Takes X, shape (n,), and returns the values of all functions, shape (n, size).
    size : int
        Number of functions, at least 1.
    degree : int
        Polynomial degree in each element, or for other functions a number that makes ``2 * degree + 2`` Gauss
        points per element enough.
    breakpoints : sequence of float, optional
        Increasing points inside (0, 1) where a function or a derivative jumps.

    Notes
    -----
    The function is tried at the element ends when the basis is made, and every later result is checked for
    shape and for NaN or infinity. Two custom bases are equal only if they hold the same function object.
    """

    _function: Callable[[NDArray[np.float64]], ArrayLike]
    _size: int
    _degree: int
    _breakpoints: tuple[float, ...]

    _remedy: ClassVar[str] = "Remove or change one of these functions."

    def __init__(
        self,
        function: Callable[[NDArray[np.float64]], ArrayLike],
        size: int,
        degree: int,
        breakpoints: Iterable[float] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"Custom function = {function!r} must be callable: X of shape (n,) -> (n, size).")
        object.__setattr__(self, "_function", function)
        object.__setattr__(self, "_size", check_functions("Custom size", integer("Custom size", size, minimum=1)))
        object.__setattr__(self, "_degree", check_functions("Custom degree", integer("Custom degree", degree)))
        object.__setattr__(self, "_breakpoints", check_breakpoints("Custom breakpoints", breakpoints))
        self._values(np.array([0.0, *self._breakpoints, 1.0]))

    @property
    def size(self) -> int:
        """Number of functions."""
        return self._size

    @property
    def degree(self) -> int:
        """Degree given by the user."""
        return self._degree

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Breakpoints given by the user."""
        return self._breakpoints

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        values = reals(f"what {self!r} returned", self._function(X))
        if values.shape != (len(X), self.size):
            raise ValueError(
                f"{self!r} returned shape {values.shape} for {len(X)} points, but ({len(X)}, {self.size}) "
                "is needed: one row per point, one column per function."
            )
        finite = np.isfinite(values)
        if not np.all(finite):
            row, column = np.argwhere(~finite)[0]
            raise ValueError(
                f"{self!r} returned {values[row, column]} for function {column} at X = {X[row]:g}: "
                "every value on [0, 1] must be finite."
            )
        return values

    def __repr__(self) -> str:
        """Name of the function and the other arguments."""
        name = getattr(self._function, "__name__", repr(self._function))
        tail = f", breakpoints={self.breakpoints}" if self.breakpoints else ""
        return f"Custom({name}, size={self.size}, degree={self.degree}{tail})"


def check_independent(basis: Basis) -> None:
    """Refuse a basis whose functions are linearly dependent on [0, 1].

    Parameters
    ----------
    basis : Basis
        The functions to check.

    Raises
    ------
    ValueError
        If a function is zero everywhere or a combination of functions vanishes. Such a basis makes the mass
        and stiffness matrices singular.

    Notes
    -----
    The functions are scaled to norm 1 in L2(0, 1). The singular values of the weighted samples are the square
    roots of the eigenvalues of their Gram matrix, but keep twice as many digits as the eigenvalues of the
    matrix itself would; so powers of X, which are independent but ill conditioned, pass up to order 15. The
    smallest must exceed 1e-12 of the largest.
    """
    samples = _weighted_samples(basis)
    norms = np.sqrt(np.sum(samples**2, axis=0))
    zero = np.flatnonzero(norms < 1e-140)
    if len(zero):
        raise ValueError(
            f"the functions of {basis!r} are linearly dependent: function {_listed(zero)} is zero "
            f"on all of [0, 1]. {basis._remedy}"
        )
    samples /= norms
    if len(norms) > 50:  # many functions: the eigenvalues of the Gram matrix are cheap, and decide the clear cases
        low, high = np.linalg.eigvalsh(samples.T @ samples)[[0, -1]]
        if low > 1e-10 * high:
            return
    _, singular, directions = np.linalg.svd(samples, full_matrices=False)
    if singular[-1] <= _DEPENDENT * singular[0]:
        null = np.abs(directions[-1])
        involved = np.flatnonzero(null > 1e-6 * np.max(null))
        raise ValueError(
            f"the functions of {basis!r} are linearly dependent on [0, 1], or too nearly so for double "
            f"precision: a combination of functions {_listed(involved)} vanishes. {basis._remedy}"
        )


def _weighted_samples(basis: Basis) -> NDArray[np.float64]:
    """Values at many Gauss points times the roots of the weights, so that A^T A is the Gram matrix."""
    elements = len(basis.breakpoints) + 1
    enough = max(2 * default_points(basis.degree, elements), -(-max(64, basis.size) // elements))
    grid = rod_grid(basis.breakpoints, enough)
    inside = grid.weights > 0
    return np.sqrt(grid.weights[inside])[:, None] * basis(grid.X[inside])


def _listed(indices: NDArray[np.intp]) -> str:
    return ", ".join(map(str, indices.tolist()))


_KINDS: dict[str, Callable[[int], Basis]] = {
    "legendre": Legendre,
    "chebyshev": Chebyshev,
    "monomial": Monomial,
    "fourier": Fourier,
    "piecewise_constant": PiecewiseConstant,
    "linear": LinearElements,
    "quadratic": QuadraticElements,
    "hermite": HermiteElements,
    "gaussian": Gaussian,
    "inverse_multiquadric": InverseMultiquadric,
}

BASIS_KINDS = tuple(_KINDS)
"""The names that `as_basis` knows."""


def as_basis(value: int | Basis, kind: str = "legendre") -> Basis:
    """Make a basis from a number and the name of its kind.

    Parameters
    ----------
    value : int or Basis
        A basis is returned as it is. A number is the order for "legendre", "chebyshev", "monomial" and
        "fourier", the number of sections for "piecewise_constant", of elements for "linear", "quadratic" and
        "hermite", and of functions for "gaussian" and "inverse_multiquadric".
    kind : str, optional
        One of the names above.

    Returns
    -------
    Basis
        The basis.
    """
    choice("basis", kind, BASIS_KINDS)
    if isinstance(value, Basis):
        return value
    whole = integer("basis order", value, hint="Give a whole number or a basis such as Legendre(3).")
    return _KINDS[kind](whole)
