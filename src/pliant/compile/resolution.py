"""How many points resolve what varies along a rod, and where its elements end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..model.links import Link, Rod
from ..model.robot import Robot
from ..model.rods.quadrature import SAME_POINT, merge_points
from .degrees import MOST, degrees_of, flat, functions_in, shown_range, varies
from .families import families_of
from .family import Density

__all__ = ["check_sections", "element_ends", "off_axis", "points_of_rod"]

Array = NDArray[np.float64]

RESOLVED = 1e-4
"""Part of the largest value of a density that may be left out."""


def _densities(robot: Robot, link: Link, rod: Rod) -> Iterator[Density]:
    """What may vary along a rod: its own properties, and what the families of loads spread along it."""
    p = rod.strains.degree
    if rod.is_made:
        yield Density(
            "section" if not varies(rod.material) else "section or material",
            (rod.section, rod.material),
            lambda X: np.column_stack([flat(at)(X) for at in (rod.stiffness_at, rod.inertia_at, rod.damping_at)]),
            2 * p,
        )
    for name in ("stiffness", "inertia", "damping"):
        yield Density(name, (getattr(rod, name),), flat(getattr(rod, f"{name}_at")), 2 * p)
    yield Density("reference strain", (rod.reference_strain,), rod.reference, None)
    for family in families_of(robot):
        yield from family.densities(robot, link, rod)


def element_ends(robot: Robot, link: Link, rod: Rod) -> tuple[float, ...]:
    """Ends of the elements inside a rod: where its strains, its section or a load that is spread along it is not smooth.

    A function of X tells by its attribute `breakpoints`, as `Stepped` does.
    """
    spread = (value for density in _densities(robot, link, rod) for value in density.values)
    jumps = (float(x) for f in functions_in(rod.section, rod.material, *spread) for x in getattr(f, "breakpoints", ()))
    return merge_points([*rod.breakpoints, *(x for x in jumps if SAME_POINT < x < 1 - SAME_POINT)])


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
    for density in _densities(robot, link, rod):
        if not varies(*density.values):
            continue
        name, more = density.name, density.degree
        found = degrees_of(density.function, edges, tolerance=RESOLVED if rod.points is None else 10 * RESOLVED)
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


def _along(rod: Rod) -> Array:
    """Ends, both sides of jumps, and middles of pieces of a rod."""
    edges = np.array([0.0, *rod.breakpoints, 1.0])
    return np.unique(np.concatenate([edges, edges[1:] - 1e-9, 0.5 * (edges[1:] + edges[:-1])]))


def check_sections(links: Iterable[Link]) -> None:
    """Error if the section of a rod is impossible, such as one whose parts overlap."""
    for link in links:
        if isinstance(link.content, Rod) and link.content.section is not None:
            try:
                link.content.section.check(_along(link.content))
            except ValueError as error:
                raise ValueError(f"rod {link.name!r}: {error}") from None


def off_axis(link: Link, rod: Rod) -> list[str]:
    """A sentence if the section's stiffness is beside the axis, and the strains do not let the axis stretch for it."""
    if rod.section is None or not rod.section.has_material or rod.stiffness is not None:
        return []
    bend_y, bend_z, stretch = rod.strains.bases[1:4]
    if stretch is not None or (bend_y is None and bend_z is None):
        return []
    X = _along(rod)
    S = rod.stiffness_at(X)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.hypot(S[:, 1, 3], S[:, 2, 3]) / S[:, 3, 3]
        matters = away**2 * S[:, 3, 3] > RESOLVED * np.minimum(S[:, 1, 1], S[:, 2, 2])
    if not np.any(matters):
        return []
    k = int(np.argmax(np.where(matters, away, 0.0)))
    return [
        f"The stiffness of rod {link.name!r} has its centre {away[k]:.3g} m beside the axis at X = {X[k]:.3g}, but its strains have no stretch: the axis "
        "keeps its length, and the rod is stiffer in bending than about its neutral line. Free the stretch (Strains.kirchhoff_extensible)."
    ]
