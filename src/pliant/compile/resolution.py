"""How many points resolve what varies along a rod: functions of X by their Chebyshev coefficients.

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

from ..model.fluid import Hydrodynamics
from ..model.links import Link, Rod
from ..model.loads import DistributedWrench
from ..model.robot import Robot
from ..model.rods.quadrature import SAME_POINT, merge_points
from ..model.rods.sections import Stepped

__all__ = ["Degrees", "degrees_of", "derivative", "element_ends", "points_of_rod", "shown_range", "varies"]

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

_SAMPLES = (16, 32, 64, 128, 256)
MOST = 64
"""Points in one piece that are taken at most for the sake of a function that varies fast."""
RESOLVED = 1e-4
"""Part of the largest value of a density that may be left out."""


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


# ---------------------------------------------------------------- what varies along a rod


def _functions(*values: object) -> Iterator[Any]:
    """The functions of X among values, and in the fields of descriptions among them."""
    for value in values:
        if is_dataclass(value) and not callable(value):
            yield from _functions(*(getattr(value, f.name) for f in fields(value)))
        elif callable(value):
            yield value


def varies(*values: object) -> bool:
    """Whether there is a function of X of unknown degree; a `Stepped` is linear in each piece."""
    return any(not isinstance(f, Stepped) for f in _functions(*values))


def _flat(at: Callable[..., Any], *before: object) -> Function:
    """A function of X that returns columns, from one that takes `before` first and returns matrices or numbers."""
    return lambda X: np.asarray(at(*before, X), dtype=np.float64).reshape(len(X), -1)


def _section(rod: Rod) -> Function:
    return lambda X: np.column_stack([_flat(rod.stiffness_at)(X), _flat(rod.inertia_at)(X)])


def _wrench(wrench: DistributedWrench) -> Function:
    return lambda X: np.column_stack(wrench.at(X))


def _water(robot: Robot, link: Link) -> Hydrodynamics | None:
    return robot.hydrodynamics.get(link.name) if robot.fluid is not None else None


def element_ends(robot: Robot, link: Link, rod: Rod) -> tuple[float, ...]:
    """Ends of the elements inside a rod: where its strains, its section or a load that is spread along it is not smooth.

    A function of X tells by its attribute `breakpoints`, as `Stepped` does.
    """
    spread: list[object] = [
        w for w in robot.wrenches.values() if isinstance(w, DistributedWrench) and w.rod == link.name
    ]
    spread += [d for d in robot.dipoles.values() if d.place == link.name]
    spread += [s for s in robot.stresses.values() if s.rod == link.name]
    spread += [_water(robot, link), rod.stiffness, rod.inertia, rod.damping, rod.reference_strain, rod.section]
    jumps = (float(x) for f in _functions(*spread) for x in getattr(f, "breakpoints", ()))
    return merge_points([*rod.breakpoints, *(x for x in jumps if SAME_POINT < x < 1 - SAME_POINT)])


def _densities(robot: Robot, link: Link, rod: Rod) -> Iterator[tuple[str, Function, int | None]]:
    """What varies along a rod by functions of unknown degree: name, function, degree of what it is multiplied with (None: its own)."""
    p = rod.strains.degree
    section = rod.section if rod.section is not None else ()
    if rod.material is not None and varies(section):
        yield "section", _section(rod), 2 * p
    for name in ("stiffness", "inertia", "damping"):
        if varies(getattr(rod, name)):
            yield name, _flat(getattr(rod, f"{name}_at")), 2 * p
    if varies(rod.reference_strain):
        yield "reference strain", rod.reference, None
    for name, wrench in robot.wrenches.items():
        if isinstance(wrench, DistributedWrench) and wrench.rod == link.name and varies(wrench.force, wrench.moment):
            yield f"wrench {name!r}", _wrench(wrench), p + 2
    for name, dipole in robot.dipoles.items():
        if dipole.place == link.name and varies(dipole.moment):
            yield f"dipole {name!r}", dipole.at, p + 2
    for name, stress in robot.stresses.items():
        if stress.rod == link.name and varies(stress.stress):
            yield f"stress {name!r}", stress.at, p
    effect, fluid = _water(robot, link), robot.fluid
    if effect is not None and fluid is not None and varies(effect, section):
        for what in ("drag", "linear_drag", "added_mass"):
            if getattr(effect, what) is not None:
                yield f"{what} of the water", _flat(getattr(effect, f"{what}_at"), rod, fluid), 2 * p
        yield "volume in the water", _flat(effect.displaced_at, rod), p + 2


def shown_range(low: float, high: float) -> str:
    """A piece of a rod in words."""
    return f"between X = {low:.3g} and X = {high:.3g}"


def points_of_rod(robot: Robot, link: Link, rod: Rod, breakpoints: tuple[float, ...]) -> tuple[int, list[str]]:
    """Points in each element of a rod, and what they do not resolve.

    The points that the user gave; otherwise the default of the strains, or more where stiffness, mass, reference strain or a load that
    is spread along the rod is a function of X that needs them.

    Parameters
    ----------
    robot, link, rod
        The rod, with what acts on it.
    breakpoints : tuple of float
        Ends of elements inside the rod.

    Returns
    -------
    points : int
        Per element.
    notes : list of str
        One sentence for each function that these points do not follow.
    """
    points = rod.points_per_element
    edges = np.array([0.0, *breakpoints, 1.0])
    spectral = rod.integration == "spectral"  # n Chebyshev points are exact to degree n − 1 only
    notes = []
    for name, function, more in _densities(robot, link, rod):
        found = degrees_of(function, edges, tolerance=RESOLVED if rod.points is None else 10 * RESOLVED)
        factor = int(found.degree.max()) if more is None else more
        need = np.minimum(found.degree + factor + 1, MOST) if spectral else found.points(factor)
        enough = int(need.max())
        if not found.resolved.all():
            k = int(np.argmin(found.resolved))
            notes.append(
                f"The {name} of rod {link.name!r} has a jump or a kink, or varies too fast to be integrated, "
                f"{shown_range(edges[k], edges[k + 1])}: give the points X of jumps as the function's attribute "
                "`breakpoints`, use Stepped, or set `points` and compare."
            )
        elif rod.points is not None:
            if enough > rod.points:
                notes.append(
                    f"The {name} of rod {link.name!r} varies faster than points = {rod.points} follow: use at least "
                    f"{enough}, or leave `points` out."
                )
        else:
            points = max(points, enough)
    return points, notes
