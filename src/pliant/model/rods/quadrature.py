"""Points and weights along a rod: Gauss and Chebyshev points, the grid of a rod, Magnus collocation.

Everything is written for the normalised arc length X in [0, 1] (no unit). The caller multiplies weights and
steps by the rod length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import ArrayLike, NDArray

from pliant.model.cost import PIECES, POINTS, check_pieces
from pliant.model.validate import choice, integer, interval, shown

__all__ = [
    "SAME_POINT",
    "Grid",
    "chebyshev_integrals",
    "check_breakpoints",
    "default_points",
    "fejer",
    "gauss",
    "gauss_integrals",
    "magnus_nodes",
    "magnus_values",
    "merge_points",
    "points_along",
    "rod_grid",
]

SAME_POINT = 1e-12
"""Two values of X closer than this are the same point."""

_RULES = ("gauss", "chebyshev")


def points_along(X: ArrayLike) -> NDArray[np.float64]:
    """Return X as an array (m,) of normalised arc lengths inside [0, 1]; rounding beyond the ends is removed."""
    array = np.atleast_1d(np.asarray(X, dtype=np.float64))
    if array.ndim != 1:
        raise ValueError(f"X has shape {array.shape}, but a number or an array of shape (m,) is needed.")
    outside = ~((array >= -SAME_POINT) & (array <= 1.0 + SAME_POINT))  # so that NaN counts as outside
    if np.any(outside):
        hint = "X is arc length divided by the length of the rod."
        interval("X", float(array[outside][0]), 0.0, 1.0, hint=hint)
    return np.clip(array, 0.0, 1.0)


@lru_cache(maxsize=256, typed=True)
def gauss(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre points and weights on [0, 1].

    Parameters
    ----------
    n : int
        Number of points, at least 1. The rule is exact for polynomials of degree 2n - 1.

    Returns
    -------
    nodes : ndarray, shape (n,)
        Increasing points inside (0, 1); read-only.
    weights : ndarray, shape (n,)
        Positive weights with sum 1; read-only.

    Notes
    -----
    Newton iteration on P_n(cos t) in the angle t, where the roots are evenly spread, so that the points near
    the ends keep their accuracy; the weights on [-1, 1] are 2 / (dP_n/dt)^2. Symmetry about 1/2 holds
    exactly.
    """
    count = integer("n", n, minimum=1)
    half = (count + 1) // 2
    angle: NDArray[np.float64] = math.pi * (np.arange(1, half + 1, dtype=np.float64) - 0.25) / (count + 0.5)
    for _ in range(10):
        value, slope = _legendre_in_angle(count, angle)
        step = value / slope
        angle = angle - step
        if np.max(np.abs(step)) < 1e-15:
            break
    if count % 2:
        angle[-1] = 0.5 * math.pi
    _, slope = _legendre_in_angle(count, angle)
    left = np.sin(0.5 * angle) ** 2
    left_weights = 1.0 / slope**2
    if count % 2:
        left[-1] = 0.5
    mirrored = slice(None, count // 2)
    nodes = np.concatenate((left, (1.0 - left[mirrored])[::-1]))
    weights = np.concatenate((left_weights, left_weights[mirrored][::-1]))
    weights /= math.fsum(weights)
    return _frozen(nodes), _frozen(weights)


@lru_cache(maxsize=256, typed=True)
def gauss_integrals(n: int) -> NDArray[np.float64]:
    """Integrals from 0 to each point of `gauss` of the Lagrange polynomials through all of them.

    Parameters
    ----------
    n : int
        Number of points, at least 1.

    Returns
    -------
    ndarray, shape (n, n)
        Multiplied with values at the points it gives the integral, up to each of them, of the polynomial through them; read-only.

    Notes
    -----
    By the expansion in Legendre polynomials, whose integrals are ``(P_{k+1} - P_{k-1}) / (2 (2k + 1))`` on [0, 1].
    """
    nodes, weights = gauss(n)
    P = legvander(2.0 * nodes - 1.0, len(nodes))  # (n, n + 1)
    k = np.arange(1, len(nodes))
    integral = np.column_stack([nodes, 0.5 * (P[:, 2:] - P[:, :-2]) / (2 * k + 1)])
    return _frozen(integral @ ((2 * np.arange(len(nodes)) + 1)[:, None] * P[:, :-1].T * weights))


def _legendre_in_angle(n: int, angle: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P_n(cos t) and its derivative with respect to t (0 < t <= pi/2).

    The three-term recurrence is run on the differences P_k - P_{k-1} with 1 - cos t = 2 sin^2(t/2), which
    does not cancel for small t.
    """
    gap = 2.0 * np.sin(0.5 * angle) ** 2
    value, difference = 1.0 - gap, -gap
    for k in range(1, n):
        difference = (k * difference - (2 * k + 1) * gap * value) / (k + 1)
        value = value + difference
    return value, n * (difference - gap * value) / np.sin(angle)


@lru_cache(maxsize=256, typed=True)
def fejer(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chebyshev points of the first kind and the weights of Fejér's first rule on [0, 1].

    Parameters
    ----------
    n : int
        Number of points, at least 1. The rule is exact for polynomials of degree n - 1 (of degree n if n is odd).

    Returns
    -------
    nodes : ndarray, shape (n,)
        The roots of the Chebyshev polynomial T_n(2X - 1), increasing; read-only.
    weights : ndarray, shape (n,)
        Positive weights with sum 1; read-only.
    """
    count = integer("n", n, minimum=1)
    nodes = np.sin(0.25 * math.pi * (2 * np.arange(count) + 1) / count) ** 2
    nodes = 0.5 * (nodes + (1.0 - nodes[::-1]))
    weights = chebyshev_integrals(count, [1.0])[0]
    weights = 0.5 * (weights + weights[::-1])
    return _frozen(nodes), _frozen(weights / math.fsum(weights))


def chebyshev_integrals(n: int, x: ArrayLike) -> NDArray[np.float64]:
    """Integrals from 0 to x of the Lagrange polynomials through the n points of `fejer`.

    Parameters
    ----------
    n : int
        Number of points, at least 1.
    x : array_like, shape (m,)
        Upper ends in [0, 1].

    Returns
    -------
    ndarray, shape (m, n)
        Multiplied with values at the points it gives the integral of the polynomial of degree n - 1 through them.
    """
    count = integer("n", n, minimum=1)
    upper = np.atleast_1d(np.asarray(x, dtype=float))
    angle = 2.0 * np.arccos(np.sqrt(np.clip(upper, 0.0, 1.0)))
    at_nodes = math.pi * (1.0 - (np.arange(count) + 0.5) / count)  # of increasing points
    k = np.arange(count)
    # ∫ T_k from -1 to cos(angle)
    raised = (np.cos((k + 1) * angle[:, None]) - (-1.0) ** (k + 1)) / (k + 1)
    lowered = (np.cos((k - 1) * angle[:, None]) - (-1.0) ** (k - 1)) / np.where(k == 1, 1, k - 1)
    lowered[:, k == 1] = 0.0
    integral = 0.5 * (raised - lowered)
    integral[:, 0] = 2.0 * upper
    share = np.where(k == 0, 1.0, 2.0)[:, None] / count * np.cos(k[:, None] * at_nodes)
    out: NDArray[np.float64] = 0.5 * integral @ share
    return out


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.flags.writeable = False
    return array


def merge_points(points: Iterable[float]) -> tuple[float, ...]:
    """Sort points and drop those closer than `SAME_POINT` to the one kept before.

    Parameters
    ----------
    points : iterable of float
        Values of X in any order.

    Returns
    -------
    tuple of float
        Strictly increasing values.
    """
    merged: list[float] = []
    for point in sorted(float(p) for p in points):
        if not merged or point - merged[-1] > SAME_POINT:
            merged.append(point)
    return tuple(merged)


@dataclass(frozen=True, eq=False)
class Grid:
    """Computation points along one rod and their quadrature weights.

    Attributes
    ----------
    X : ndarray, shape (n,)
        Normalised arc length, strictly increasing from 0 to 1; read-only.
    weights : ndarray, shape (n,)
        Quadrature weights with sum 1; zero at the rod ends, at breakpoints and at inserted points; read-only.
    elements : tuple of (int, int)
        For each element the indices (first, last) of its two end points; its points are ``X[first:last +
        1]``, and neighbouring elements share one point.
    """

    X: NDArray[np.float64]
    weights: NDArray[np.float64]
    elements: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.X)


def rod_grid(
    breakpoints: Iterable[float], points_per_element: int, extra: Iterable[float] = (), *, rule: str = "gauss"
) -> Grid:
    """Composite grid of a rod.

    Parameters
    ----------
    breakpoints : iterable of float
        Increasing values of X inside (0, 1) where an element ends and the next one starts.
    points_per_element : int
        Points of the rule inside each element, at least 1.
    extra : iterable of float, optional
        More values of X in [0, 1], in any order, to insert with weight 0 (points of attachment, markers). One
        that coincides with a point of the grid within `SAME_POINT` is that point, and its weight stays.
    rule : {"gauss", "chebyshev"}
        `gauss` or `fejer`.

    Returns
    -------
    Grid
        The element ends, the points of the rule and the extra points.
    """
    ends = np.array([0.0, *check_breakpoints("breakpoints", breakpoints, most=POINTS), 1.0])
    choice("rule", rule, _RULES)
    points = gauss if rule == "gauss" else fejer
    nodes, node_weights = points(integer("points_per_element", points_per_element, minimum=1))
    lengths = np.diff(ends)
    inside = ends[:-1, None] + lengths[:, None] * nodes
    X = np.concatenate((ends, inside.ravel()))
    weights = np.concatenate((np.zeros(len(ends)), (lengths[:, None] * node_weights).ravel()))
    added = _new_points([interval("extra", x, 0.0, 1.0) for x in extra], X)
    X = np.concatenate((X, added))
    weights = np.concatenate((weights, np.zeros(len(added))))
    order = np.argsort(X, kind="stable")
    X, weights = X[order], weights[order]
    at_ends = np.searchsorted(X, ends).tolist()
    return Grid(_frozen(X), _frozen(weights), tuple(pairwise(at_ends)))


def check_breakpoints(field: str, values: Iterable[object], *, most: int = PIECES) -> tuple[float, ...]:
    """Return `values` as floats; error unless they increase strictly inside (0, 1), and are at most `most`.

    Parameters
    ----------
    field : str
        Name to use in the error.
    values : iterable of float
        Values of X.
    most : int
        How many there may be.

    Returns
    -------
    tuple of float
        The same values.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{field} = {shown(values)} must be a sequence of numbers in (0, 1), such as (0.5,).")
    given = list(values)
    check_pieces(field, len(given), most)
    points = tuple(interval(field, x, 0.0, 1.0) for x in given)
    if np.any(np.diff([0.0, *points, 1.0]) <= SAME_POINT):
        raise ValueError(
            f"{field} = {points!r} is not allowed: values must increase and lie strictly between 0 and 1. "
            "Sort them, remove repeated ones and leave out the rod ends."
        )
    return points


def _new_points(extra: list[float], existing: NDArray[np.float64]) -> list[float]:
    """The points of `extra`, without repetition, that are not among the existing ones."""
    return [x for x in merge_points(extra) if np.min(np.abs(existing - x)) > SAME_POINT]


def default_points(degree: int, n_elements: int, *, rule: str = "gauss") -> int:
    """Points per element for strain functions of a given degree.

    Parameters
    ----------
    degree : int
        Polynomial degree of the strains in an element (`Basis.degree`).
    n_elements : int
        Number of elements of the rod, at least 1.
    rule : {"gauss", "chebyshev"}
        See `rod_grid`.

    Returns
    -------
    int
        ``2 * degree + 2``, but at least so many that the whole rod has 6 points for constant strains, 10 for linear ones and 12
        for others; of Chebyshev points ``2 * degree + 6`` and 10.

    Notes
    -----
    Products of two strain functions need only ``degree + 1`` points; the rest resolves the section, the loads
    and the motion of the rod, none of which are polynomials. The least numbers keep the error of Magnus steps, which depends on how
    far a rod bends and hardly on the degree, below 1e-3 of the length for rods bent by 180 degrees, at rest and in motion. With n Chebyshev
    points products are exact to degree n - 1
    only: ``2 * degree + 5`` are needed for two strain functions times the stiffness of a tapered section, of degree 4.
    """
    elements = integer("n_elements", n_elements, minimum=1)
    p = integer("degree", degree)
    if choice("rule", rule, _RULES) == "gauss":
        more, least = 2 * p + 2, min(6 + 4 * p, 12)
    else:
        more, least = 2 * p + 6, 10
    return max(more, -(-least // elements))


def magnus_nodes(x0: ArrayLike, x1: ArrayLike, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of a step where the strains are evaluated for the Magnus expansion.

    Parameters
    ----------
    x0, x1 : array_like, shape (...)
        Start and end of the steps (normalised arc length).
    order : {2, 4}
        Order of the expansion: 4 takes the two Gauss points of the step, 2 its midpoint (given twice).

    Returns
    -------
    first, second : ndarray, shape (...)
        The two points of each step.
    """
    choice("order", order, (2, 4))
    start, end = np.asarray(x0, dtype=np.float64), np.asarray(x1, dtype=np.float64)
    middle = np.asarray(0.5 * (start + end))
    if order == 2:
        return middle, middle.copy()
    offset = math.sqrt(3.0) / 6.0 * (end - start)
    return np.asarray(middle - offset), np.asarray(middle + offset)


def magnus_values(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    x0: NDArray[np.float64],
    x1: NDArray[np.float64],
    order: int,
    degree: int,
    *,
    collocation: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of a function of X at the two nodes of a Magnus step, or what stands for them.

    The fourth-order Magnus expansion needs the mean ``b₀`` and the first moment ``b₁`` of the strain over a step. With two Gauss
    nodes (`collocation`) these are exact to degree 3. Otherwise they are integrated exactly for polynomials of `degree`, and
    the equivalent nodal values ``b₀ ∓ 2√3 b₁`` are returned.

    Parameters
    ----------
    function : callable, (m,) → (m, n)
    x0, x1 : ndarray, shape (steps,)
        Ends of the steps.
    order : 2 or 4
    degree : int
        Polynomial degree of the function.
    collocation : bool
        Evaluate at the nodes instead.

    Returns
    -------
    (first, second) : ndarray, shape (steps, n)
    """
    if collocation:
        z1, z2 = magnus_nodes(x0, x1, order)
        return function(z1), function(z2)
    nodes, weights = gauss(max(3, degree // 2 + 2))
    width = (x1 - x0)[:, None]
    values = function((x0[:, None] + width * nodes).ravel())
    values = values.reshape(len(x0), len(nodes), -1)
    mean = np.einsum("k,skn->sn", weights, values)
    if order == 2:
        return mean, mean
    moment = np.einsum("k,skn->sn", weights * (nodes - 0.5), values)
    return mean - 2.0 * np.sqrt(3.0) * moment, mean + 2.0 * np.sqrt(3.0) * moment
