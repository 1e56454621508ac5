"""Functions of X by their Chebyshev coefficients: their degrees, and with them how many points integrate them.

A function that a polynomial of degree m matches to a tolerance, times a polynomial of degree p, is integrated by ``(m + p + 1) / 2``
Gauss points. The degree is read off the coefficients at Chebyshev points, which are doubled until the coefficients have fallen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ..model.rods.sections import Stepped

__all__ = ["MOST", "Degrees", "Function", "degrees_of", "derivative", "flat", "functions_in", "shown_range", "varies"]

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

_SAMPLES = (16, 32, 64, 128, 256)
MOST = 64
"""Points in one piece that are taken at most for the sake of a function that varies fast."""


@lru_cache(maxsize=16)
def _transform(n: int) -> tuple[Array, Array]:
    """Chebyshev points of the first kind on [0, 1] (n,), and the matrix from values there to coefficients (n, n)."""
    angle = np.pi * (np.arange(n) + 0.5) / n
    matrix = 2.0 / n * np.cos(np.arange(n)[:, None] * angle)
    matrix[0] *= 0.5
    return 0.5 - 0.5 * np.cos(angle), matrix * (-1.0) ** np.arange(n)[:, None]


@dataclass(frozen=True)
class Degrees:
    """Of a function between neighbouring edges: the degree of the polynomial that matches it, and whether one does.

    Attributes
    ----------
    degree : ndarray (pieces,)
        Smallest degree, or the largest that was tried.
    resolved : ndarray (pieces,)
        Whether the coefficients have fallen below the tolerance.
    """

    degree: NDArray[np.int64]
    resolved: NDArray[np.bool_]

    def points(self, more: int) -> NDArray[np.int64]:
        """Gauss points in each piece for the product with polynomials of degree `more`."""
        return np.minimum((self.degree + more) // 2 + 1, np.maximum(MOST, more + 1))


def degrees_of(function: Function, edges: Array, *, tolerance: float, joint: bool = False) -> Degrees:
    """Degrees of a function of X in pieces.

    Parameters
    ----------
    function : callable, (m,) → (m, k)
        Smooth inside each piece.
    edges : ndarray, shape (pieces + 1,)
        Increasing.
    tolerance : float
        Size of the coefficients that do not count, relative to the largest value of the column.
    joint : bool
        Whether the columns are of one size: relative to the largest value of all.
    """
    width = np.diff(edges)
    for n in _SAMPLES:
        nodes, matrix = _transform(n)
        values = function((edges[:-1, None] + width[:, None] * nodes).ravel()).reshape(len(width), n, -1)
        size = np.abs(values).max(axis=None if joint else (0, 1))
        counts = np.abs(matrix @ values) > tolerance * size
        degree = np.max(np.where(counts, np.arange(n)[:, None], 0), axis=(1, 2))
        resolved = degree < n - 4
        if resolved.all():
            break
    return Degrees(degree.astype(np.int64), resolved)


def derivative(function: Function, X: Array, edges: tuple[float, float]) -> Array:
    """Derivative (m, ...) at points X of a function that is smooth between two edges, from its Chebyshev coefficients."""
    low, high = edges
    degree = int(degrees_of(lambda x: function(x).reshape(len(x), -1), np.array(edges), tolerance=1e-11).degree[0])
    n = max(24, degree + 1)
    nodes, matrix = _transform(n)
    values = function(low + (high - low) * nodes)
    coefficients = matrix @ values.reshape(n, -1)
    slope = chebyshev.chebval((2 * X - low - high) / (high - low), chebyshev.chebder(coefficients)) * 2 / (high - low)
    return np.asarray(slope.T.reshape(len(X), *values.shape[1:]), dtype=np.float64)


def functions_in(*values: object) -> Iterator[Any]:
    """The functions of X among values, and in the fields of descriptions among them."""
    for value in values:
        if is_dataclass(value) and not callable(value):
            yield from functions_in(*(getattr(value, f.name) for f in fields(value)))
        elif callable(value):
            yield value
        elif isinstance(value, tuple):
            yield from functions_in(*value)


def varies(*values: object) -> bool:
    """Whether there is a function of X of unknown degree; a `Stepped` is linear in each piece."""
    return any(not isinstance(f, Stepped) for f in functions_in(*values))


def flat(at: Callable[..., Any], *before: object) -> Function:
    """A function of X that returns columns, from one that takes `before` first and returns matrices or numbers."""
    return lambda X: np.asarray(at(*before, X), dtype=np.float64).reshape(len(X), -1)


def shown_range(low: float, high: float) -> str:
    """A piece of a rod in words."""
    return f"between X = {low:.3g} and X = {high:.3g}"
