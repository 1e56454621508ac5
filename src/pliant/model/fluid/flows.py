"""Flows: drag and added mass from the size of a link and the density of the fluid."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..links import Body, Rod
from ..pose import skew
from ..rods.sections import Dimension, Section
from ..shapes import Sphere
from ..validate import choice, non_negative
from .coefficients import TOLERANCE, lengths_along, linear_matrix
from .medium import Fluid

__all__ = ["FLOWS", "CircularFlow", "EllipticFlow", "FlatFlow", "Flow", "SphereFlow"]

Array: TypeAlias = NDArray[np.float64]


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
                if not np.any(lengths_along(label, value, ends)):
                    raise ValueError(f"{label} = {value!r} is not allowed: at most one end may be zero (m).")


@dataclass(frozen=True)
class CircularFlow(Flow):
    """A round rod in cross flow, see `Hydrodynamics.circular`."""

    cx: float = 0.01
    cy: float = 1.1
    cz: float = 1.1
    by: float = 1.0
    bz: float = 1.0

    units: ClassVar[dict[str, str]] = {"cx": "–", "cy": "–", "cz": "–", "by": "–", "bz": "–"}

    def _radius(self, content: Rod | Body, X: Array) -> Array:
        section = section_of("circular", content)
        if not section.is_round:
            raise TypeError(
                f"circular needs a Circle or Annulus, but the section of the rod is {section!r}. Use elliptic (or "
                "flat for a thin plate), which take the extents along y and z."
            )
        return section.extent(X)

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ R diag(½π cx, cy, cz)`` per metre, shape (m, 6, 6)."""
        size = fluid.density * self._radius(content, X)
        return linear_matrix(0.5 * np.pi * self.cx * size, self.cy * size, self.cz * size)

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ π R² diag(0, by, bz)`` per metre, shape (m, 6, 6)."""
        mass = fluid.density * np.pi * self._radius(content, X) ** 2
        return linear_matrix(0.0, self.by * mass, self.bz * mass)


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

    units: ClassVar[dict[str, str]] = {"cx": "–", "cy": "–", "cz": "–", "by": "–", "bz": "–", "a": "m", "b": "m"}

    def __post_init__(self) -> None:
        """Check the coefficients and half axes."""
        super().__post_init__()
        self._check_lengths("a", "b")

    def _axes(self, content: Rod | Body, X: Array) -> tuple[Array, Array]:
        if not isinstance(content, Rod):
            section_of("elliptic", content)
        if self.a is None or self.b is None:
            y, z = _half_axes("elliptic", content, X, "the half axes a (along y) and b (along z) to elliptic")
        a = y if self.a is None else lengths_along("elliptic a", self.a, X)
        b = z if self.b is None else lengths_along("elliptic b", self.b, X)
        return a, b

    def drag(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ diag(cx P/4, cy b, cz a)`` per metre, P the perimeter of the ellipse, shape (m, 6, 6)."""
        a, b = self._axes(content, X)
        large, small = np.maximum(a, b), np.minimum(a, b)
        ratio = np.divide(small, large, out=np.ones_like(large), where=large > 0.0)
        from scipy.special import ellipe  # here, since it takes a while to import

        perimeter = 4.0 * large * ellipe(1.0 - ratio**2)
        rho = fluid.density
        return linear_matrix(rho * self.cx * perimeter / 4.0, rho * self.cy * b, rho * self.cz * a)

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ρ π diag(0, by b², bz a²)`` per metre, shape (m, 6, 6)."""
        a, b = self._axes(content, X)
        return linear_matrix(0.0, fluid.density * np.pi * self.by * b**2, fluid.density * np.pi * self.bz * a**2)


@dataclass(frozen=True)
class FlatFlow(Flow):
    """A thin plate or fin in cross flow, see `Hydrodynamics.flat`."""

    width_axis: Literal["y", "z"]
    cn: float = 2.0
    bn: float = 1.0
    width: Dimension | None = None

    units: ClassVar[dict[str, str]] = {"cn": "–", "bn": "–", "width": "m"}

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        hint = "The width of the plate lies along this local axis; the other one is normal to the plate."
        choice("FlatFlow.width_axis", self.width_axis, ("y", "z"), hint=hint)
        self._check_lengths("width")

    def _half(self, content: Rod | Body, X: Array) -> Array:
        if not isinstance(content, Rod):
            section_of("flat", content)
        if self.width is not None:
            return 0.5 * lengths_along("flat width", self.width, X)
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
        return linear_matrix(0.0, 0.0, entry) if self.width_axis == "y" else linear_matrix(0.0, entry, 0.0)

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

    units: ClassVar[dict[str, str]] = {"cd": "–", "ca": "–"}

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
        if self.cd > 0.0 and float(np.linalg.norm(centre)) > TOLERANCE * radius:
            raise ValueError(
                f"the drag of a sphere needs the body frame at its centre, but its centre is at {centre.tolist()} m: "
                "‖v‖ is the speed of the origin of the body frame. Place the frame in the centre (com = 0), say with "
                "Hydrodynamics(centre=...) where the ball is if that is not the centre of mass, or give drag as a matrix."
            )
        size = np.array([0.5 * fluid.density * self.cd * np.pi * radius**2])
        return linear_matrix(size, size, size)

    def added_mass(self, content: Rod | Body, fluid: Fluid, X: Array, centre: Array) -> Array:
        """``ca ρ V`` at the centre c, taken to the body frame: ``m [[−ĉĉ, ĉ], [−ĉ, 1]]``, shape (1, 6, 6)."""
        to_centre = np.hstack([-skew(centre), np.eye(3)])  # v at c = v + ω × c
        return self.ca * fluid.density * self._shape(content).volume * (to_centre.T @ to_centre)[None]


FLOWS: tuple[type[Flow], ...] = (CircularFlow, EllipticFlow, FlatFlow, SphereFlow)
"""All flows that the package brings."""


def section_of(name: str, content: Rod | Body) -> Section:
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
    section = section_of(name, content)
    if not section.has_outline:
        raise ValueError(f"{name} cannot know the extents of {section!r}: give {instead}.")
    corners = np.abs(section.outline(X, 4)).max(axis=1)  # corners of a rectangle, ends of the axes of an oval
    return corners[:, 0], corners[:, 1]
