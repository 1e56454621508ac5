"""A part of a section that is made of several, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import validate
from .base import Array, Section
from .material import Material

__all__ = ["POINTS", "TOUCHING", "Part", "covers", "near", "samples"]

POINTS = 128  # of an outline, to tell whether parts overlap
TOUCHING = 2e-3  # of the size of a part, within which parts may touch


@dataclass(frozen=True)
class Part:
    """A part of a `Composite`: a section of one material, somewhere in the plane of the section.

    Parameters
    ----------
    section : Section
        Not a `Composite` itself. Its axes are parallel to the rod's y and z.
    material : Material
    at : pair of float
        Where its centre is, (y, z) [m] from the axis of the rod.
    name : str
        For parameters (``arm.core.young``); "part1", "part2", … if left out.
    inside : str, optional
        Name of the part in which it is embedded, and whose material it takes the place of.

    Examples
    --------
    >>> import pliant as pl
    >>> steel = pl.Material(young=2e11, poisson=0.3, density=7800)
    >>> wire = pl.Part(pl.Circle(0.0005), steel, at=(0.004, 0.0), name="wire", inside="sleeve")
    """

    section: Section
    material: Material
    at: tuple[float, float] = (0.0, 0.0)
    name: str = ""
    inside: str | None = None

    units: ClassVar[dict[str, str]] = {"at": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        if not isinstance(self.section, Section) or self.section.has_material:
            raise TypeError(
                f"Part.section = {validate.shown(self.section)} must be a section such as Circle(radius=0.002), not a Composite itself."
            )
        if not isinstance(self.material, Material):
            raise TypeError(
                f"Part.material = {validate.shown(self.material)} must be a Material(young=..., poisson=..., density=...)."
            )
        y, z = validate.vector("Part.at", self.at, (2,), hint="Give (y, z) [m].").tolist()
        object.__setattr__(self, "at", (y, z))
        if self.name != "":
            validate.name(self.name, field="Part.name")
        if self.inside is not None:
            validate.name(self.inside, field="Part.inside")


def samples(part: Part, X: Array) -> Array:
    """Points of a part (m, k, 2) at X (m,), a little inside its outline, and in the middle of what is between it and its hole or centre."""
    outline, hole = part.section.boundary(X, POINTS), part.section.hole(X, POINTS)
    inner = np.zeros_like(outline) if hole is None else hole
    return np.concatenate([(1 - t) * inner + t * outline for t in (1e-3, 0.5, 1 - 1e-3)], axis=1) + np.array(part.at)


def near(part: Part, other: Part, X: Array) -> bool:
    """Whether the circles around two parts overlap somewhere."""
    apart = float(np.hypot(part.at[0] - other.at[0], part.at[1] - other.at[1]))
    return bool(np.any(part.section.reach(X) + other.section.reach(X) > apart))


def covers(part: Part, points: Array, X: Array, slack: float, *, filled: bool = False) -> Any:
    """Which points (m, k, 2) are inside a part by a share `slack` of its size, (m, k); its hole is no part of it unless `filled`."""
    p = points - np.array(part.at)
    covered = _inside(part.section.boundary(X, POINTS) * (1 - slack), p)
    hole = None if filled else part.section.hole(X, POINTS)
    return covered if hole is None else covered & ~_inside(hole * (1 + slack), p)


def _inside(outline: Array, points: Array) -> Any:
    """Which points (m, k, 2) are inside closed outlines (m, n, 2), (m, k): rays along y cross them an odd number of times."""
    out = np.empty(points.shape[:2], dtype=bool)
    for k in range(len(out)):
        a, b = outline[k], np.roll(outline[k], -1, axis=0)
        y, z = points[k, :, 0, None], points[k, :, 1, None]
        crosses = (a[:, 1] > z) != (b[:, 1] > z)
        rise = np.where(b[:, 1] == a[:, 1], 1.0, b[:, 1] - a[:, 1])
        out[k] = np.count_nonzero(crosses & (y < a[:, 0] + (z - a[:, 1]) / rise * (b[:, 0] - a[:, 0])), axis=1) % 2
    return out
