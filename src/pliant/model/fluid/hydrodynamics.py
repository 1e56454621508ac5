"""What a fluid does to one link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..links import Body, Rod
from ..rods.sections import Dimension
from ..validate import flag, non_negative, reals, vector
from .coefficients import CHECKS, FORMS, TOLERANCE, as_matrix, lengths_along, points_of_rod
from .flows import CircularFlow, EllipticFlow, FlatFlow, Flow, SphereFlow
from .medium import Fluid

__all__ = ["Coefficient", "Hydrodynamics"]

Array: TypeAlias = NDArray[np.float64]
Coefficient: TypeAlias = ArrayLike | Callable[[float], ArrayLike] | Flow
"""A 6×6 matrix, 6 diagonal entries or 3 linear ones; for rods a function of X that returns one; or a `Flow`."""


@dataclass(frozen=True, eq=False)
class Hydrodynamics:
    """What a fluid does to one link.

    Each of `drag`, `linear_drag` and `added_mass` is None (nothing), a 6×6 matrix, its 6 diagonal entries, 3 numbers
    (linear x, y, z only), for rods a function of X in [0, 1] that returns one of these, or (not `linear_drag`) a
    `Flow`, which makes the matrix from the size of the link. The order is ``[angular; linear]``, in body axes, about
    the origin of the body frame. Given for rods **per metre**, for bodies in all; numbers are taken as they are and
    do not depend on the density of the fluid.

    Parameters
    ----------
    drag : Coefficient, optional
        Drag D that grows with the square of speed: linear entries in N/(m/s)², for rods per m. It need not be
        symmetric (lift), but its symmetric part must be positive semidefinite, or it would add energy.
    linear_drag : matrix or function, optional
        Drag D₁ in proportion to speed: linear entries in N/(m/s), for rods per m. The same holds for it.
    added_mass : Coefficient, optional
        Inertia of the fluid that moves with the link: linear entries in kg, for rods per m. Symmetric and positive
        semidefinite. It adds to the inertia of the link but gravity does not pull on it.
    buoyancy : bool
        Whether the fluid carries the weight of the fluid that the link displaces.
    tail : bool
        Whether Lighthill's force acts at the tip of the rod, where the fluid that was set in motion is left behind.
        The rod then runs from head to tail.
    volume : float or function of X, optional
        Displaced volume of a body [m³], or per metre of a rod [m²], >= 0, where it is not that of the shape or section
        (a closed tube, say, displaces π·outer²; the area of an `Annulus` is only its wall, as if flooded).
    centre : array_like, shape (3,), optional
        Centre of the displaced volume of a body in its frame [m], if it is not the centre of mass. It is also where
        `sphere` acts. For bodies only.

    Notes
    -----
    With η the body twist relative to the fluid (velocity of the frame less the current, in body axes) and v its linear
    part, the wrench is ``F = −(linear_drag + ‖v‖ drag) η`` ([001] eq. 7, [002] eq. 62), and the inertia becomes
    ``M + added_mass``. The force at the tail, with m_y and m_z the transverse added mass per metre at X = 1, is

        f = (−½ (m_y v_y² + m_z v_z²), v_x m_y v_y, v_x m_z v_z)

    in body axes: Lighthill's large-amplitude elongated-body theory (Proc. R. Soc. B 179, 1971; [000] section X.D), where
    it is ``½ m w² t − m u w n`` with t towards the head, u = −v_x along t and w along n.
    """

    drag: Coefficient | None = None
    linear_drag: Coefficient | None = None
    added_mass: Coefficient | None = None
    buoyancy: bool = True
    tail: bool = False
    volume: float | Callable[[Array], ArrayLike] | None = None
    centre: ArrayLike | None = None

    units: ClassVar[dict[str, str]] = {"centre": "m"}

    def __post_init__(self) -> None:
        """Check everything that can be checked without the link."""
        for name, check in CHECKS.items():
            value = getattr(self, name)
            if isinstance(value, Flow):
                if name == "linear_drag":
                    raise TypeError(
                        f"linear_drag = {value!r} is not allowed: a flow gives drag and added_mass only. {FORMS}."
                    )
            elif isinstance(value, type) and issubclass(value, Flow):
                raise TypeError(f"{name} = {value.__name__} is a class; make an object of it: {value.__name__}(...).")
            elif value is not None and not callable(value):
                check(name, as_matrix(name, value))
                frozen = reals(name, value)
                frozen.flags.writeable = False
                object.__setattr__(self, name, frozen)
        for name in ("buoyancy", "tail"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        if self.tail and self.added_mass is None:
            raise ValueError(
                "tail = True needs added_mass: the force at the tail comes from the transverse added mass at X = 1. "
                "Give added_mass, or use circular, elliptic or flat."
            )
        if self.volume is not None and not callable(self.volume):
            hint = "Displaced volume of a body (m³) or per metre of a rod (m²); for none use buoyancy=False."
            object.__setattr__(self, "volume", non_negative("volume", self.volume, hint=hint))
        if self.centre is not None:
            hint = "The centre of the displaced volume is (x, y, z) in the body frame, in m."
            object.__setattr__(self, "centre", vector("centre", self.centre, (3,), hint=hint))

    # -- for a shape --------------------------------------------------------------------------------------
    @classmethod
    def circular(
        cls, cx: float = 0.01, cy: float = 1.1, cz: float = 1.1, by: float = 1.0, bz: float = 1.0, **more: Any
    ) -> Hydrodynamics:
        """A round rod in cross flow ([001] section V).

        Per metre, with R(X) the outer radius of the section and ρ the density of the fluid:
        ``drag = ρ R diag(½π cx, cy, cz)`` and ``added_mass = ρ π R² diag(0, by, bz)``, linear entries.

        Parameters
        ----------
        cx : float
            Coefficient of friction along the rod, >= 0.
        cy, cz : float
            Coefficients of drag across the rod, referred to its width 2R: ``½ ρ c (2R) v²``, >= 0.
        by, bz : float
            Added mass over the mass of the fluid displaced by the full circle; 1 in potential flow, >= 0. Water inside
            a flooded tube comes on top: ``1 + (inner/outer)²``.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = CircularFlow(cx, cy, cz, by, bz)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    @classmethod
    def elliptic(
        cls,
        cx: float = 0.01,
        cy: float = 1.1,
        cz: float = 1.1,
        by: float = 1.0,
        bz: float = 1.0,
        *,
        a: Dimension | None = None,
        b: Dimension | None = None,
        **more: Any,
    ) -> Hydrodynamics:
        """An oval rod in cross flow; the same as `circular` when a = b = R.

        Per metre, with half axes a along local y and b along local z, and P the perimeter of the ellipse:
        ``drag = ρ diag(cx P/4, cy b, cz a)`` and ``added_mass = ρ π diag(0, by b², bz a²)``, linear entries. Motion
        along y pushes with the extent along z, and the other way round (potential flow; Lamb, Hydrodynamics). Rotation
        about x meets no resistance.

        Parameters
        ----------
        cx : float
            Coefficient of friction along the rod, referred to half of the wetted surface: ``½ ρ cx (P/2) v²``, >= 0.
        cy, cz : float
            Coefficients of drag, referred to the width across the motion: ``½ ρ cy (2b) v²``, ``½ ρ cz (2a) v²``, >= 0.
        by, bz : float
            Factors of the added mass; 1 is potential flow around an ellipse, >= 0.
        a, b : float, pair or callable, optional
            Half axes [m]; by default half of the extents of the section along y and z.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = EllipticFlow(cx, cy, cz, by, bz, a, b)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    @classmethod
    def flat(
        cls,
        width_axis: Literal["y", "z"],
        cn: float = 2.0,
        bn: float = 1.0,
        *,
        width: Dimension | None = None,
        **more: Any,
    ) -> Hydrodynamics:
        """A thin plate or fin: drag and added mass along its normal only.

        Per metre, with w(X) the width: ``½ ρ cn w`` and ``bn ρ π (w/2)²`` for motion along the normal.

        Parameters
        ----------
        width_axis : "y" or "z"
            Local axis along which the plate is wide; the other one is the normal. (A `Rectangle` has its height along
            y and its width along z.)
        cn : float
            Coefficient of drag, about 2 for a long plate, >= 0.
        bn : float
            Factor of the added mass; 1 is potential flow around a plate, >= 0.
        width : float, pair or callable, optional
            w [m]; by default the extent of the section along `width_axis`.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = FlatFlow(width_axis, cn, bn, width)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    @classmethod
    def sphere(cls, cd: float = 0.47, ca: float = 0.5, **more: Any) -> Hydrodynamics:
        """A body with a `Sphere` shape of radius r and volume V.

        ``drag = ½ ρ cd π r²`` and ``added_mass = ca ρ V`` in all directions; rotation meets no resistance.

        Parameters
        ----------
        cd : float
            Coefficient of drag, >= 0. If it is not zero, the body frame must sit in the centre of the ball.
        ca : float
            Added mass over the mass of the displaced fluid; ½ in potential flow, >= 0.
        **more
            Other fields of `Hydrodynamics`; `drag` and `added_mass` among them replace those of the flow.
        """
        flow = SphereFlow(cd, ca)
        return cls(**{"drag": flow, "added_mass": flow, **more})

    # -- evaluation ---------------------------------------------------------------------------------------
    def _evaluate(self, name: str, content: Rod | Body, fluid: Fluid, X: ArrayLike | None) -> Array:
        _check_content(content)
        points = points_of_rod(X) if isinstance(content, Rod) else np.zeros(1)
        value = getattr(self, name)
        if value is None:
            return np.zeros((len(points), 6, 6))
        if isinstance(value, Flow):
            if not isinstance(fluid, Fluid):
                raise TypeError(f"fluid = {fluid!r} must be a Fluid, e.g. Fluid(density=1000.0).")
            law = value.drag if name == "drag" else value.added_mass
            return law(content, fluid, points, self.centroid(content))
        check = CHECKS[name]
        if callable(value):
            if not isinstance(content, Rod):
                raise TypeError(f"{name} is a function of X, but the link is a rigid body, which has no X. {FORMS}.")
            labels = [f"{name}(X={x:g})" for x in points]
            return np.array(
                [check(label, as_matrix(label, value(x))) for label, x in zip(labels, points, strict=True)]
            ).reshape(-1, 6, 6)
        return np.repeat(check(name, as_matrix(name, value))[None], len(points), axis=0)

    def drag_at(self, content: Rod | Body, fluid: Fluid, X: ArrayLike | None = None) -> Array:
        """Quadratic drag of a link.

        Parameters
        ----------
        content : Rod or Body
        fluid : Fluid
        X : float or array_like, shape (m,)
            Points of a rod in [0, 1]; ignored for a body.

        Returns
        -------
        ndarray, shape (m, 6, 6)
            For a rod per metre, linear entries [N/(m/s)²/m]; for a body in all with m = 1 [N/(m/s)²].
        """
        return self._evaluate("drag", content, fluid, X)

    def linear_drag_at(self, content: Rod | Body, fluid: Fluid, X: ArrayLike | None = None) -> Array:
        """Drag in proportion to speed, as `drag_at`; linear entries [N/(m/s)/m] or [N/(m/s)], shape (m, 6, 6)."""
        return self._evaluate("linear_drag", content, fluid, X)

    def added_mass_at(self, content: Rod | Body, fluid: Fluid, X: ArrayLike | None = None) -> Array:
        """Added mass, as `drag_at`; linear entries [kg/m] or [kg], shape (m, 6, 6)."""
        return self._evaluate("added_mass", content, fluid, X)

    def displaced_at(self, content: Rod | Body, X: ArrayLike | None = None) -> Array:
        """Displaced volume that buoyancy acts on; zero where `buoyancy` is off.

        Parameters
        ----------
        content : Rod or Body
        X : float or array_like, shape (m,)
            Points of a rod in [0, 1]; ignored for a body.

        Returns
        -------
        ndarray, shape (m,)
            For a rod per metre [m²]: `volume`, or the area of the section. For a body [m³] with m = 1: `volume`, or that
            of its shape.
        """
        _check_content(content)
        if isinstance(content, Rod):
            points = points_of_rod(X)
            if not self.buoyancy:
                return np.zeros(points.shape)
            if self.volume is not None:
                return lengths_along("volume", self.volume, points, unit="m² = m³ per metre")
            if content.section is None:
                raise ValueError(
                    "buoyancy = True needs the area of the section, but the rod has none: give buoyancy=False or a "
                    "section (or volume, in m³ per metre)."
                )
            return np.array(content.section.properties(points).area)
        if not self.buoyancy:
            return np.zeros(1)
        if callable(self.volume):
            raise TypeError("volume is a function of X, but the link is a rigid body; give its volume in m³.")
        if self.volume is not None:
            return np.array([self.volume])
        if content.shape is None:
            raise ValueError(
                "buoyancy = True needs the volume of the body, but it has no shape: give buoyancy=False, a shape, or "
                "volume in m³."
            )
        return np.array([content.shape.volume])

    def centroid(self, content: Rod | Body) -> Array:
        """Centre of the displaced volume in the body frame [m], shape (3,).

        For a body `centre`, or the centre of mass, where its shape sits; for a rod zero, on its axis.
        """
        _check_content(content)
        if isinstance(content, Rod):
            if self.centre is not None:
                raise ValueError(
                    f"centre = {np.asarray(self.centre).tolist()} is for bodies, but the link is a rod, whose sections "
                    "are centred on its axis. Leave centre out."
                )
            return np.zeros(3)
        if self.centre is not None:
            return np.array(self.centre, dtype=np.float64)
        return np.zeros(3) if content.inertia is None else np.array(content.inertia.com)

    def tail_mass(self, content: Rod | Body, fluid: Fluid) -> Array:
        """Transverse added mass (m_y, m_z) per metre at the tip of a rod [kg/m], shape (2,); zero without `tail`."""
        _check_content(content)
        if not self.tail:
            return np.zeros(2)
        if not isinstance(content, Rod):
            raise TypeError("tail = True is for rods, but the link is a rigid body. Use tail=False.")
        block = self.added_mass_at(content, fluid, 1.0)[0, 4:, 4:]
        if abs(block[0, 1]) > TOLERANCE * float(np.abs(block).max()):
            raise ValueError(
                f"tail = True needs an added mass at X = 1 without coupling of linear y and z, but that entry is "
                f"{block[0, 1]:.6g}. Turn the rod so that y and z are the principal axes of its tail."
            )
        return np.diag(block).copy()

    def check(self, content: Rod | Body, fluid: Fluid) -> None:
        """Error unless everything that is asked for can be evaluated for this link (a rod: at five points)."""
        X = np.linspace(0.0, 1.0, 5)
        self.drag_at(content, fluid, X), self.linear_drag_at(content, fluid, X), self.added_mass_at(content, fluid, X)
        self.displaced_at(content, X), self.centroid(content), self.tail_mass(content, fluid)


def _check_content(content: object) -> None:
    if not isinstance(content, (Rod, Body)):
        raise TypeError(f"content = {content!r} must be a Rod or a Body; of a link it is link.content.")
