"""What a robot is made of: rods, rigid bodies, and the places on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cost import check_rod
from .joints import Fixed, Joint
from .pose import Pose, PoseLike, as_pose
from .rods.basis import check_independent
from .rods.laws import Law, as_laws
from .rods.quadrature import default_points, merge_points
from .rods.sections import Material, Section, damping_density, inertia_density, stiffness_density
from .rods.strains import STRAIN_NAMES, Strains
from .shapes import Inertia, Shape, Visual
from .validate import LARGEST, choice, finite, flag, integer, interval, positive, reals

__all__ = ["Body", "Density", "Frame", "Link", "ReferenceStrain", "Rod", "constant_strain", "helix"]

Array = NDArray[np.float64]
Density = ArrayLike | Callable[[Array], ArrayLike]
ReferenceStrain = ArrayLike | Callable[[Array], ArrayLike]

STRAIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def constant_strain(
    *, torsion: float = 0.0, bending_y: float = 0.0, bending_z: float = 0.0, stretch: float = 1.0
) -> Array:
    """Reference strain of a rod that is an arc or a helix when unloaded.

    Parameters
    ----------
    torsion, bending_y, bending_z : float
        Rotation of the section per metre about local x, y, z [rad/m].
    stretch : float
        Length of the unloaded rod per metre of arc length (1 for none).

    Returns
    -------
    ndarray, shape (6,)

    Examples
    --------
    >>> import pliant as pl
    >>> pl.constant_strain(bending_z=2.0)  # an arc of radius 0.5 m
    array([0., 0., 2., 1., 0., 0.])
    """
    given = {"torsion": torsion, "bending_y": bending_y, "bending_z": bending_z}
    curved = [finite(f"constant_strain {name}", value, unit="rad/m") for name, value in given.items()]
    return np.array([*curved, positive("constant_strain stretch", stretch), 0.0, 0.0])


def helix(radius: float, pitch: float) -> Array:
    """Reference strain of a helix of given radius [m] and rise per turn [m].

    The curvature is ``r/(r² + (pitch/2π)²)`` about local z and the torsion ``(pitch/2π)/(r² + (pitch/2π)²)``.

    Returns
    -------
    ndarray, shape (6,)

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> xi = pl.helix(radius=0.03, pitch=0.02)
    >>> print(xi.round(3))
    [ 3.497  0.    32.962  1.     0.     0.   ]
    """
    r = positive("helix radius", radius, unit="m")
    b = finite("helix pitch", pitch, unit="m") / (2 * np.pi)
    return constant_strain(torsion=b / (r * r + b * b), bending_z=r / (r * r + b * b))


def _matrices(name: str, value: Density, X: Array) -> Array:
    """Evaluate a 6×6 density at points X: constant, six diagonal entries, or a function of X."""
    if callable(value):
        values = [reals(f"{name}(X={x:g})", value(np.float64(x))) for x in X]  # type: ignore[arg-type]
    else:
        values = [reals(name, value)] * len(X)
    out = np.empty((len(X), 6, 6))
    for k, entry in enumerate(values):
        if entry.shape == (6,):
            entry = np.diag(entry)
        if entry.shape != (6, 6):
            raise ValueError(
                f"{name} has shape {entry.shape} at X = {X[k]:g}, but a 6×6 matrix (or its 6 diagonal entries) is "
                "needed, in the order torsion, bending y, bending z, stretch, shear y, shear z."
            )
        if not np.all(np.abs(entry) <= LARGEST):
            raise ValueError(
                f"{name} has an entry that is NaN or infinite at X = {X[k]:g}, or above {LARGEST:g}; check what was given."
            )
        scale = max(float(np.abs(entry).max()), 1e-300)
        if np.abs(entry - entry.T).max() > 1e-9 * scale:
            worst = float(np.abs(entry - entry.T).max())
            raise ValueError(
                f"{name} at X = {X[k]:g} is not symmetric (entries differ by {worst:.3g}); use (A + Aᵀ)/2."
            )
        lowest = float(np.linalg.eigvalsh(entry).min())
        if lowest < -1e-12 * scale:
            raise ValueError(
                f"{name} at X = {X[k]:g} has the negative eigenvalue {lowest:.3g}; it must be positive semidefinite. "
                "Check signs and the order torsion, bending y, bending z, stretch, shear y, shear z."
            )
        out[k] = 0.5 * (entry + entry.T)
    return out


@dataclass(frozen=True)
class Rod:
    """A slender soft body: a Cosserat rod whose strain is a sum of basis functions.

    Parameters
    ----------
    length : float
        Length in the reference configuration [m].
    strains : Strains
        Which strains are free, with their bases.
    section, material : Section, Material, optional
        Cross-section and material (of a `Composite` each part has its own); or give the densities below directly.
    stiffness, inertia, damping : 6×6 array, 6 diagonal entries, or function of X, optional
        Densities per metre, order torsion, bending y, bending z, stretch, shear y, shear z; they replace what would
        follow from section and material. Gravity acts through the linear 3×3 block of the inertia, which should
        be a multiple of the identity where there is gravity (otherwise its force has no potential).
    reference_strain : array (6,) or function of X, optional
        Strain ξ* of the unloaded rod [rad/m, –]; straight if left out. X runs from 0 to 1.
    points : int, optional
        Gauss points per element (of the basis; a jump of the section or of a distributed load ends one, too). The default follows
        from the order (2·order + 2, at least 6, 10, 12 on a rod of order 0, 1, 2 or more) and from functions of X that vary faster. With
        spectral integration Chebyshev points per element and per stretch between attachments (2·order + 6, at least 10 on a rod).
    magnus : 2 or 4
        Order of the Magnus expansion between neighbouring points.
    collocation : bool
        Take the strain at two nodes between neighbouring points, as [002] does, instead of integrating the basis
        exactly over each step. For comparison with other programs; less accurate from order 4 on.
    integration : "magnus" or "spectral"
        How the rod is integrated along its length: with Magnus expansions between Gauss points, or by Chebyshev collocation
        with quaternions over each element, as [000] does.
    law : Law, tuple of Law or None
        How stress follows from strain (docs/laws.md), in place of linear elasticity; laws add up. The damping acts beside them.
    """

    length: float
    strains: Strains
    section: Section | None = None
    material: Material | None = None
    stiffness: Density | None = None
    inertia: Density | None = None
    damping: Density | None = None
    reference_strain: ReferenceStrain = STRAIGHT
    points: int | None = None
    magnus: Literal[2, 4] = 4
    collocation: bool = False
    integration: Literal["magnus", "spectral"] = "magnus"
    law: tuple[Law, ...] = ()

    units: ClassVar[dict[str, str]] = {"length": "m"}

    def __post_init__(self) -> None:
        """Check everything that can be checked without the robot."""
        object.__setattr__(self, "length", positive("length", self.length, unit="m"))
        if not isinstance(self.strains, Strains):
            raise TypeError(
                f"strains = {self.strains!r} must be a pliant.Strains, e.g. Strains.kirchhoff(order=3) or "
                "Strains(bending=4, stretch=1)."
            )
        if self.strains.size == 0:
            raise ValueError(
                "strains has no free strain, so the rod could not deform. Free at least one of "
                f"{', '.join(STRAIN_NAMES)}, or use add_body for a rigid link."
            )
        choice("magnus", self.magnus, (2, 4))
        object.__setattr__(self, "collocation", flag("collocation", self.collocation))
        choice("integration", self.integration, ("magnus", "spectral"))
        if self.integration == "spectral" and (self.magnus != 4 or self.collocation):
            option = f"magnus = {self.magnus!r}" if self.magnus != 4 else f"collocation = {self.collocation!r}"
            raise ValueError(
                f"{option} does not apply to integration = 'spectral', which has no Magnus steps. Leave it out, or use "
                "integration = 'magnus'."
            )
        if self.section is not None and not isinstance(self.section, Section):
            raise TypeError(f"section = {self.section!r} must be a section such as Circle(radius=0.02).")
        if self.material is not None and not isinstance(self.material, Material):
            raise TypeError(f"material = {self.material!r} must be a Material(young=..., poisson=..., density=...).")
        for name in ("reference_strain", "stiffness", "inertia", "damping"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                frozen = reals(name, value, hint="Give numbers, or a function of X in [0, 1].")
                frozen.flags.writeable = False
                object.__setattr__(self, name, frozen)
        if self.points is not None:
            object.__setattr__(self, "points", integer("points", self.points, minimum=1))
        if self.section is not None and self.section.has_material and self.material is not None:
            raise ValueError(
                f"material = {self.material!r} is not allowed with a Composite section, whose parts have materials. Leave it out."
            )
        if not self.is_made and (self.stiffness is None or self.inertia is None):
            fields = ("section", "material", "stiffness", "inertia")
            given = ", ".join(name for name in fields if getattr(self, name) is not None)
            raise ValueError(
                "a rod needs section and material, or stiffness and inertia (6×6 densities per metre); "
                f"given: {given or 'none'}."
            )
        check_rod(self.points_per_element, len(self.breakpoints) + 1, self.strains.degree, self.strains.size)
        for basis in self.strains.bases:
            if basis is not None:
                check_independent(basis)
        X = np.linspace(0, 1, 5)
        self.reference(X)
        self.stiffness_at(X), self.inertia_at(X), self.damping_at(X)
        object.__setattr__(self, "law", as_laws(self.law))
        for law in self.law:
            law.check(self)

    def revised(self, name: str, value: Any) -> Rod:
        """The rod with another value of one field; what does not depend on it is not checked again."""
        if name == "length":
            value = positive("length", value, unit="m")
        elif self.law or name not in ("section", "material"):
            return replace(self, **{name: value})
        other = object.__new__(Rod)
        other.__dict__.update(self.__dict__, **{name: value})
        return other

    @property
    def is_made(self) -> bool:
        """Whether its section and material are known."""
        return self.section is not None and (self.material is not None or self.section.has_material)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Increasing X inside (0, 1) where a strain basis loses smoothness, or the section or material jumps: ends of elements."""
        jumps = () if self.section is None else self.section.breakpoints
        within = () if self.material is None else self.material.breakpoints
        return merge_points([*self.strains.breakpoints, *jumps, *within])

    @property
    def points_per_element(self) -> int:
        """Gauss or Chebyshev points in each element, as given or as the strains need; functions of X may need more (`resolution`)."""
        if self.points is not None:
            return self.points
        return default_points(self.strains.degree, len(self.breakpoints) + 1, rule=self.rule)

    @property
    def rule(self) -> str:
        """The quadrature rule of the grid, see `rod_grid`."""
        return "chebyshev" if self.integration == "spectral" else "gauss"

    def reference(self, X: Array) -> Array:
        """Reference strain ξ* at X, shape (m, 6)."""
        X = np.asarray(X, dtype=float)
        if callable(self.reference_strain):
            rows = [reals(f"reference_strain(X={x:g})", self.reference_strain(x)) for x in X]
            values = np.array(rows) if len({row.shape for row in rows}) == 1 else np.zeros(len(X))
        else:
            values = np.tile(reals("reference_strain", self.reference_strain), (len(X), 1))
        if values.shape == (len(X), 6) and not np.all(np.abs(values) <= LARGEST):
            raise ValueError(
                f"reference_strain has an entry that is NaN, infinite or above {LARGEST:g}; a straight rod is "
                "(0, 0, 0, 1, 0, 0)."
            )
        if values.shape == (len(X), 6) and np.any(values[:, 3] <= 0.0):
            k = int(np.argmin(values[:, 3]))
            raise ValueError(
                f"reference_strain has the stretch {values[k, 3]:g} at X = {X[k]:g}, which is not allowed: it must be greater "
                "than zero, or the rod would have no length there, or run backwards. The stretch is the fourth entry and 1 "
                "for a rod of its own length; a straight one is (0, 0, 0, 1, 0, 0)."
            )
        if values.shape != (len(X), 6):
            raise ValueError(
                "reference_strain must give six finite numbers (torsion, bending y, bending z, stretch, shear y, "
                f"shear z), or be a function of X in [0, 1] that does; got shape {values.shape[1:]}. A straight rod "
                "is (0, 0, 0, 1, 0, 0)."
            )
        return values

    def stiffness_at(self, X: Array) -> Array:
        """Stiffness density Σ at X, shape (m, 6, 6) [N m², N]; of rods with a law what it starts from."""
        if self.stiffness is not None:
            return _matrices("stiffness", self.stiffness, X)
        assert self.section is not None
        return stiffness_density(self.section, self.material, X)

    def inertia_at(self, X: Array) -> Array:
        """Inertia density at X, shape (m, 6, 6) [kg m, kg/m]."""
        if self.inertia is not None:
            return _matrices("inertia", self.inertia, X)
        assert self.section is not None
        return inertia_density(self.section, self.material, X)

    def damping_at(self, X: Array) -> Array:
        """Damping density Υ at X, shape (m, 6, 6) [N m² s, N s]."""
        if self.damping is not None:
            return _matrices("damping", self.damping, X)
        if self.section is None or not self.is_made:
            return np.zeros((len(X), 6, 6))
        return damping_density(self.section, self.material, X)


@dataclass(frozen=True)
class Body:
    """A rigid body: its inertia and, for drawing and contact, its shape; `visual` is drawn in place of it.

    `uniform` says that the inertia follows from the shape and a mass, or from the shape and `density` [kg/m³].
    """

    inertia: Inertia | None
    shape: Shape | None = None
    density: float | None = field(default=None, compare=False)
    uniform: bool = field(default=False, compare=False)
    visual: tuple[Visual, ...] = field(default=(), compare=False)

    units: ClassVar[dict[str, str]] = {"density": "kg/m³"}

    @property
    def shape_origin(self) -> NDArray[np.float64]:
        """Where the origin of the shape is in the body frame [m], shape (3,): the centre of its volume is the centre of mass."""
        com = np.zeros(3) if self.inertia is None else np.asarray(self.inertia.com)
        return com if self.shape is None else com - self.shape.centroid

    def revised(self, name: str, value: Any) -> Body:
        """The body with another shape, density, mass or centre of mass (of a uniform body), or inertia."""
        if not self.uniform:
            return replace(self, **{name: value})
        assert self.inertia is not None
        given = {
            "shape": self.shape,
            "density": self.density,
            "mass": self.inertia.mass,
            "com": self.inertia.com,
            name: value,
        }
        del given["mass" if self.density is not None else "density"]
        return Body(Inertia.of(**given), given["shape"], given.get("density"), uniform=True, visual=self.visual)


@dataclass(frozen=True)
class Frame:
    """A place on the robot: a link, for rods a point X on it, and a fixed offset from there."""

    link: str
    X: float | None = None
    offset: Pose = field(default_factory=Pose)

    units: ClassVar[dict[str, str]] = {"X": "–", "offset": "m"}

    def __post_init__(self) -> None:
        """Check the place along the rod."""
        if self.X is not None:
            interval("X", self.X, 0.0, 1.0, hint="A fraction of the rod's length.")

    def at(self, offset: PoseLike) -> Frame:
        """The frame at a fixed offset from this one."""
        return Frame(self.link, self.X, self.offset @ as_pose(offset, name="offset"))


@dataclass(frozen=True)
class Link:
    """A rod or a body together with how it hangs on its parent."""

    name: str
    content: Rod | Body
    parent: Frame
    joint: Joint = field(default_factory=Fixed)
    offset: Pose = field(default_factory=Pose)
    offset_after: Pose = field(default_factory=Pose)

    units: ClassVar[dict[str, str]] = {"offset": "m", "offset_after": "m"}

    @property
    def is_rod(self) -> bool:
        """Whether this link is soft."""
        return isinstance(self.content, Rod)

    @property
    def nv(self) -> int:
        """Velocities of the joint and the rod."""
        return self.joint.nv + (self.content.strains.size if isinstance(self.content, Rod) else 0)

    @property
    def nq(self) -> int:
        """Coordinates of the joint and the rod."""
        return self.joint.nq + (self.content.strains.size if isinstance(self.content, Rod) else 0)

    @property
    def frame(self) -> Frame:
        """Where children attach by default, the tip of a rod or the frame of a body."""
        return Frame(self.name, 1.0 if self.is_rod else None)

    @property
    def tip(self) -> Frame:
        """The end X = 1 of a rod."""
        self._need_rod("tip")
        return self.at(1.0)

    @property
    def base(self) -> Frame:
        """The start X = 0 of a rod."""
        self._need_rod("base")
        return self.at(0.0)

    def _need_rod(self, what: str) -> None:
        if not self.is_rod:
            raise TypeError(
                f"{self.name!r} is a rigid body, not a rod: it has no {what}. Use the link itself, or .at(offset)."
            )

    def at(self, where: float | PoseLike, offset: PoseLike = None) -> Frame:
        """A place on this link.

        Parameters
        ----------
        where : float or pose
            For a rod the point X in [0, 1] (fraction of its length); for a body an offset from its frame.
        offset : pose, optional
            For a rod, a further fixed offset from the section's frame.

        Examples
        --------
        >>> import pliant as pl
        >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
        >>> robot = pl.Robot("arm")
        >>> arm = robot.add_rod(
        ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
        ...     strains=pl.Strains.kirchhoff(3),
        ... )
        >>> arm.at(0.5).X
        0.5
        """
        if not self.is_rod and isinstance(where, (int, float, np.floating, np.integer)):
            raise TypeError(f"{self.name!r} is a rigid body, not a rod: it has no point X = {where!r}; give an offset.")
        if self.is_rod:
            if isinstance(where, bool) or not isinstance(where, (int, float, np.floating, np.integer)):
                raise TypeError(f"{self.name}.at({where!r}): a place on a rod needs a number X in [0, 1].")
            X = interval(f"{self.name}.at(X)", where, 0.0, 1.0, hint="X is the fraction of the rod's length.")
            return Frame(self.name, X, as_pose(offset, name="offset"))
        return Frame(self.name, None, as_pose(where, name="where") @ as_pose(offset, name="offset"))


WORLD = Frame("world")


def names_of(links: Sequence[Link]) -> list[str]:
    """Names of links."""
    return [link.name for link in links]
