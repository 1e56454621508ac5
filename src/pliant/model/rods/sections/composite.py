"""Sections made of several materials: a stiff core in a soft sleeve, fibres, a layer on one side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ... import validate
from ..quadrature import merge_points
from .base import Array, Section
from .material import Material

__all__ = ["Composite", "Part"]

_POINTS = 128  # of an outline, to tell whether parts overlap
_TOUCHING = 2e-3  # of the size of a part, within which parts may touch


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


@dataclass(frozen=True, repr=False)
class Composite(Section):
    """A section of several parts, each with its material, that are bonded: sections stay plane.

    Parameters
    ----------
    parts : mapping or sequence
        By name, or without names: `Part`, or (section, material) or (section, material, (y, z)), with the place of its centre [m]. A part that is embedded in
        another one says so with ``Part(..., inside="name")`` and replaces its material; otherwise parts must not overlap.

    Notes
    -----
    Stiffness, damping and inertia per metre are sums over the parts, each about the axis of the rod: at a part that is d = (0, y, z) from the axis, the
    strain is ``ε + κ × d``. So bending has the parallel-axis terms E A y² and E A z², and a section that is stiffer on one side couples bending with stretch;
    a centre of mass beside the axis is that of the dynamics, too. Torsion is that of plane sections, ``Σ G (Iy + Iz + A d²)``, with the factors of the parts.

    The axis of the rod is the line x of the section's frame. If the rod's strains have no stretch, that line keeps its length, also where the stiffness
    has its centre beside it: free the stretch then; results say so.

    The outline is that of the outermost part, or the convex hull of all of them where none encloses the others.

    Examples
    --------
    >>> import pliant as pl
    >>> steel = pl.Material(young=2e11, poisson=0.3, density=7800)
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1070)
    >>> section = pl.Composite({
    ...     "core": (pl.Circle(0.0005), steel),
    ...     "sleeve": (pl.Annulus(outer=0.01, inner=0.0005), silicone),
    ... })
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod("arm", length=0.3, section=section, strains=pl.Strains.kirchhoff(3))
    >>> system = robot.compile()
    >>> system.parameters["arm.core.young"], system.parameters["arm.sleeve.outer"]
    (200000000000.0, 0.01)
    """

    parts: Any  # a tuple of Part, once it is made

    has_material: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the values, and that parts are where they can be."""
        object.__setattr__(self, "parts", _read_parts(self.parts))
        super().__post_init__()
        if self.shear_factor != 1.0 or self.torsion_factor != 1.0:
            raise ValueError(
                "Composite has no shear_factor and torsion_factor of its own: give them to the sections of its parts."
            )
        for part in self.parts:
            self.within(part)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """None of its own."""
        return ()

    def part(self, name: str) -> Part:
        """The part of that name."""
        for part in self.parts:
            if part.name == name:
                return part
        raise ValueError(
            f"Part.inside = {name!r}: there is no such part, only {', '.join(p.name for p in self.parts)}."
        )

    def within(self, part: Part) -> list[str]:
        """Names of the parts in which a part is embedded, from the inside."""
        found: list[str] = []
        while part.inside is not None:
            if part.inside in found or part.inside == part.name:
                raise ValueError(f"Part.inside = {part.inside!r} is not allowed: the part would be inside itself.")
            found.append(part.inside)
            part = self.part(part.inside)
        return found

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing X inside (0, 1) where a dimension or a material jumps (`Stepped`)."""
        return merge_points(x for part in self.parts for x in (*part.section.breakpoints, *part.material.breakpoints))

    def moments(self, X: Array) -> tuple[Array, Array, Array, Array | None]:
        """Area, Iy, Iz about the axis of the rod, whatever the materials, at X (m,)."""
        total = np.zeros((3, len(X)))
        for part in self.parts:
            if part.inside is None:  # what is embedded takes no place of its own
                (y, z), p = part.at, part.section.properties(X)
                total += p.area, p.Iy + p.area * z * z, p.Iz + p.area * y * y
        return total[0], total[1], total[2], None

    # -- where parts are --------------------------------------------------------------------------------
    def check(self, X: Array) -> None:
        """Error if parts overlap, or are not inside what they are said to be in, at X (m,)."""
        for k, part in enumerate(self.parts):
            around = self.within(part)
            for other in self.parts[:k] + self.parts[k + 1 :]:
                if not (part.section.has_outline and other.section.has_outline):
                    continue
                if other.name in around:
                    wrong, what = (
                        ~_covers(other, _samples(part, X), X, -_TOUCHING),
                        f"is not inside {other.name!r} everywhere",
                    )
                    remedy = "Make it smaller, or move it."
                elif part.name not in self.within(other) and _near(part, other, X):
                    wrong, what = _covers(other, _samples(part, X), X, _TOUCHING), f"overlaps {other.name!r}"
                    remedy = f"Material would be counted twice: say inside={other.name!r} if it is embedded there, or leave room for it (Annulus)."
                else:
                    continue
                if wrong.any():
                    i = int(np.argmax(wrong.any(axis=1)))
                    raise ValueError(f"Composite: part {part.name!r} {what} at X = {X[i]:.3g}. {remedy}")

    def _outermost(self, X: Array) -> Part | None:
        """The part that encloses all others, if one does at some of the points X (m,)."""
        X = X[:: max(1, len(X) // 8)]
        for part in self.parts:
            others = [other for other in self.parts if other is not part]
            if all(_covers(part, _samples(other, X), X, -_TOUCHING, filled=True).all() for other in others):
                return part
        return None

    @property
    def is_round(self) -> bool:  # type: ignore[override]
        """Whether the outline is a circle about the axis."""
        part = self._outermost(np.array([0.0, 0.5, 1.0]))
        return part is not None and part.section.is_round and part.at == (0.0, 0.0)

    @property
    def has_outline(self) -> bool:  # type: ignore[override]
        """Whether the outlines of all parts are known."""
        return all(part.section.has_outline for part in self.parts)

    @property
    def corners(self) -> int:  # type: ignore[override]
        """Corners of the outermost part."""
        part = self._outermost(np.array([0.0, 0.5, 1.0]))
        return 0 if part is None else part.section.corners

    def boundary(self, X: Array, n: int) -> Array:
        """Boundary points (m, n, 2) at X (m,)."""
        part = self._outermost(X)
        if part is not None:
            return part.section.boundary(X, n) + np.array(part.at)
        points = np.concatenate([p.section.boundary(X, _POINTS) + np.array(p.at) for p in self.parts], axis=1)
        angle = 2.0 * np.pi * np.arange(n) / n
        along = points @ np.array([np.cos(angle), np.sin(angle)])  # the farthest point in each of n directions
        return np.take_along_axis(points, np.argmax(along, axis=1)[:, :, None], axis=1)

    def reach(self, X: Array) -> Array:
        """Largest distance from the axis (m,) at X (m,)."""
        each = []
        for part in self.parts:
            centred = part.at == (0.0, 0.0)
            outline = part.section.boundary(X, _POINTS) + np.array(part.at)
            if part.section.is_round:
                each.append(part.section.reach(X) + float(np.hypot(*part.at)))
            else:
                each.append(part.section.reach(X) if centred else np.linalg.norm(outline, axis=-1).max(axis=-1))
        return np.asarray(np.max(each, axis=0), dtype=np.float64)

    def hole(self, X: Array, n: int) -> Array | None:
        """Boundary of the hole of the outermost part, if nothing is in it."""
        part = self._outermost(X)
        hole = None if part is None else part.section.hole(X, n)
        if part is None or hole is None:
            return None
        others = [other for other in self.parts if other is not part and part.name not in self.within(other)]
        return hole + np.array(part.at) if not others else None

    def __repr__(self) -> str:
        """The parts."""
        inside = ", ".join(f"{p.name!r}: {_shown(p)}" for p in self.parts)
        return f"Composite({{{inside}}})"


def _shown(part: Part) -> str:
    shown = {f.name: getattr(part, f.name) for f in fields(part) if getattr(part, f.name) != f.default}
    shown.pop("name", None)
    return f"Part({', '.join(f'{key}={value!r}' for key, value in shown.items())})"


def _read_parts(given: Any) -> tuple[Part, ...]:
    """Parts with names."""
    hint = "Give parts by name, {'core': (Circle(0.001), steel), ...}, or a list of (section, material) or (section, material, (y, z))."
    if isinstance(given, Mapping):
        entries = [(validate.name(key, field="Composite.parts name"), entry) for key, entry in given.items()]
    elif isinstance(given, (list, tuple)):
        entries = [("", entry) for entry in given]
    else:
        raise TypeError(f"Composite.parts = {validate.shown(given)} is not a collection of parts. {hint}")
    if not entries:
        raise ValueError(f"Composite.parts is empty. {hint}")
    if len(entries) > 1000:
        raise ValueError(f"Composite.parts has {len(entries)} parts; at most 1000 are allowed.")
    parts = []
    for k, (name, entry) in enumerate(entries):
        if isinstance(entry, (list, tuple)) and len(entry) in (2, 3):
            entry = Part(*entry)
        if not isinstance(entry, Part):
            raise TypeError(f"Composite.parts[{name or k!r}] = {validate.shown(entry)} is not a part. {hint}")
        parts.append(replace(entry, name=name or entry.name or f"part{k + 1}"))
    names = [part.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Composite.parts: the name {twice!r} is given to two parts.")
    return tuple(parts)


def _samples(part: Part, X: Array) -> Array:
    """Points of a part (m, k, 2) at X (m,), a little inside its outline, and in the middle of what is between it and its hole or centre."""
    outline, hole = part.section.boundary(X, _POINTS), part.section.hole(X, _POINTS)
    inner = np.zeros_like(outline) if hole is None else hole
    return np.concatenate([(1 - t) * inner + t * outline for t in (1e-3, 0.5, 1 - 1e-3)], axis=1) + np.array(part.at)


def _near(part: Part, other: Part, X: Array) -> bool:
    """Whether the circles around two parts overlap somewhere."""
    apart = float(np.hypot(part.at[0] - other.at[0], part.at[1] - other.at[1]))
    return bool(np.any(part.section.reach(X) + other.section.reach(X) > apart))


def _covers(part: Part, points: Array, X: Array, slack: float, *, filled: bool = False) -> Any:
    """Which points (m, k, 2) are inside a part by a share `slack` of its size, (m, k); its hole is no part of it unless `filled`."""
    p = points - np.array(part.at)
    covered = _inside(part.section.boundary(X, _POINTS) * (1 - slack), p)
    hole = None if filled else part.section.hole(X, _POINTS)
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
