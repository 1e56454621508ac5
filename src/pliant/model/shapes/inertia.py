"""Mass, centre of mass and rotary inertia of rigid bodies.

Spatial inertias are ordered ``[angular; linear]`` and taken about the origin of the body frame (MATH.md §1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import validate
from ..pose import PoseLike, as_pose, skew
from .base import Array, Shape

__all__ = ["Inertia"]


_TOLERANCE = 1e-9


def _steiner(offset: Array) -> Array:
    """Inertia of a unit mass at `offset` about the origin, ``|c|² 1 − c cᵀ``."""
    return float(offset @ offset) * np.eye(3) - np.outer(offset, offset)


def _check_physical(name: str, inertia: Array, scale: float) -> None:
    """Error unless the symmetric `inertia` can belong to a distribution of mass, within 1e-9 of `scale`."""
    moments = np.linalg.eigvalsh(inertia)
    shown = [float(f"{m:.6g}") for m in moments]
    hint = (
        "It must be taken about the centre of mass, in body axes; if yours is about the body origin, "
        "subtract mass·(|com|² 1 − com comᵀ) once. Products of inertia enter with a minus sign."
    )
    if moments[0] < -_TOLERANCE * scale:
        raise ValueError(
            f"{name} has principal moments {shown} kg m², which is not allowed: none may be negative. {hint}"
        )
    if moments[0] + moments[1] < moments[2] - _TOLERANCE * scale:
        raise ValueError(
            f"{name} has principal moments {shown} kg m², which no body has: the largest may not exceed the "
            f"sum of the other two (triangle inequality). {hint}"
        )


def _symmetric(name: str, matrix: Array) -> Array:
    """Return the symmetric part; error if the rest is more than rounding."""
    error = float(np.max(np.abs(matrix - matrix.T)))
    if error > _TOLERANCE * float(np.max(np.abs(matrix))):
        raise ValueError(
            f"{name} = {matrix.tolist()} is not allowed: must be symmetric, but differs from its transpose "
            f"by {error:.3g}. Fill in both halves of the matrix."
        )
    return 0.5 * (matrix + matrix.T)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Inertia:
    """Mass, centre of mass and rotary inertia of a rigid body.

    Parameters
    ----------
    mass : float
        [kg], > 0.
    com : array_like, shape (3,)
        Centre of mass in the body frame [m].
    inertia : array_like, shape (3, 3) or (3,), optional
        Rotary inertia about the **centre of mass** in body axes [kg m²]; three entries are the diagonal,
        None is a point mass. Checked to be symmetric (within 1e-9), positive semidefinite and to satisfy the
        triangle inequalities of its principal moments.

    Examples
    --------
    >>> import pliant as pl
    >>> handle = pl.Inertia.of(pl.Cylinder(0.01, 0.2), density=2700)
    >>> head = pl.Inertia.of(pl.Sphere(0.03), mass=0.5).transformed(pl.translate(0.1, 0, 0))
    >>> print(f"{(handle + head).mass:.3f} kg")
    0.670 kg
    """

    mass: float
    com: Array
    inertia: Array

    units: ClassVar[dict[str, str]] = {"mass": "kg", "com": "m", "inertia": "kg m²"}

    def __init__(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> None:
        object.__setattr__(self, "mass", validate.positive("Inertia.mass", mass, unit="kg"))
        hint = "The centre of mass is three lengths (x, y, z) in m, in the body frame."
        object.__setattr__(self, "com", validate.vector("Inertia.com", com, (3,), hint=hint))
        name, hint = "Inertia.inertia", "Give three diagonal entries or a 3×3 matrix (kg m²)."
        given = np.zeros(3) if inertia is None else inertia
        shape = (3,) if len(validate.dimensions(given)) == 1 else (3, 3)
        checked = validate.vector(name, given, shape, hint=hint)
        matrix = np.diag(checked) if shape == (3,) else _symmetric(name, checked)
        _check_physical(name, matrix, float(np.max(np.abs(matrix))))
        matrix = matrix + 0.0
        matrix.flags.writeable = False
        object.__setattr__(self, "inertia", matrix)

    @classmethod
    def of(
        cls,
        shape: Shape,
        *,
        mass: float | None = None,
        density: float | None = None,
        com: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Inertia:
        """Inertia of a homogeneous shape with its axes along the body axes.

        Parameters
        ----------
        shape : Shape
        mass : float, optional
            [kg]; give exactly one of `mass` and `density`.
        density : float, optional
            [kg/m³].
        com : array_like, shape (3,)
            Where the centre of the shape sits in the body frame [m].
        """
        if not isinstance(shape, Shape):
            raise TypeError(f"shape = {shape!r} is not a shape: give a Box, Cylinder, Sphere or Ellipsoid.")
        if (mass is None) == (density is None):
            raise ValueError(
                f"mass = {mass!r} and density = {density!r}: exactly one of the two must be given "
                f"(the volume of {shape!r} is {shape.volume:.6g} m³)."
            )
        if density is not None:
            mass = validate.positive("density", density, unit="kg/m³") * shape.volume
        checked = validate.positive("mass", mass, unit="kg")
        return cls(checked, com, checked * shape.unit_inertia)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Inertia:
        """Read mass, centre of mass and inertia off a spatial inertia about the body origin.

        Parameters
        ----------
        matrix : array_like, shape (6, 6)
            ``[[Ic − m ĉĉ, m ĉ], [−m ĉ, m 1]]``, order ``[angular; linear]``. Anything that is not of this
            form within 1e-9 (added mass of a fluid, for instance) is refused.
        """
        hint = "Order is [angular; linear]: [[Ic − m ĉĉ, m ĉ], [−m ĉ, m 1]]."
        M = _symmetric("matrix", validate.vector("matrix", matrix, (6, 6), hint=hint))
        linear, coupling, angular = M[3:, 3:], M[:3, 3:], M[:3, :3]
        mass = validate.positive("mass = matrix[3, 3]", float(np.trace(linear)) / 3.0, unit="kg", hint=hint)
        if np.max(np.abs(linear - mass * np.eye(3))) > _TOLERANCE * mass:
            raise ValueError(
                f"matrix[3:, 3:] = {linear.tolist()} is not the mass times identity, so this is no rigid "
                f"body (added mass, or the order is not [angular; linear]?). {hint}"
            )
        scale = max(float(np.trace(angular)), 0.0)  # bounds Ic and m|c|²
        size = np.sqrt(mass * scale)  # the same bound for m|c|
        if np.max(np.abs(coupling + coupling.T)) > _TOLERANCE * size:
            raise ValueError(f"matrix[:3, 3:] = {coupling.tolist()} is not skew-symmetric, so it is no m ĉ. {hint}")
        skewed = 0.5 * (coupling - coupling.T) / mass
        com = np.array([skewed[2, 1], skewed[0, 2], skewed[1, 0]])
        central = angular - mass * _steiner(com)
        scale = max(scale, mass * float(com @ com))
        _check_physical("the part of matrix[:3, :3] about the centre of mass", central, scale)
        # The subtraction leaves rounding of the size of m|c|²; put it back among the inertias that bodies
        # can have:
        # the second moments of mass, ½ tr(I) 1 − I, must not be negative.
        values, vectors = np.linalg.eigh(0.5 * np.trace(central) * np.eye(3) - central)
        if values[0] < 0.0:
            values = np.where(values > _TOLERANCE * 1e-3 * scale, values, 0.0)
            second = (vectors * values) @ vectors.T
            central = np.trace(second) * np.eye(3) - second
        return cls(mass, com, central)

    @property
    def matrix(self) -> Array:
        """Spatial inertia about the body origin, ``[[Ic − m ĉĉ, m ĉ], [−m ĉ, m 1]]``, shape (6, 6)."""
        M = np.empty((6, 6))
        coupling = self.mass * skew(self.com)
        M[:3, :3] = self.inertia + self.mass * _steiner(self.com)
        M[:3, 3:] = coupling
        M[3:, :3] = -coupling
        M[3:, 3:] = self.mass * np.eye(3)
        return M

    def transformed(self, pose: PoseLike) -> Inertia:
        """Express the same body in another frame.

        Parameters
        ----------
        pose : Pose or array_like, shape (4, 4)
            Pose of the current body frame in the new frame (anything `as_pose` reads).
        """
        g = as_pose(pose)
        return Inertia(self.mass, g @ self.com, g.rotation @ self.inertia @ g.rotation.T)

    def __add__(self, other: Inertia) -> Inertia:
        """Merge two bodies that are welded together and given in the same frame."""
        if not isinstance(other, Inertia):
            return NotImplemented
        mass = self.mass + other.mass
        share = other.mass / mass
        apart = other.com - self.com
        # About the common centre of mass from the start: only positive terms, nothing cancels.
        inertia = self.inertia + other.inertia + self.mass * share * _steiner(apart)
        return Inertia(mass, self.com + share * apart, inertia)

    def __eq__(self, other: object) -> bool:
        """Compare exactly, entry by entry."""
        if not isinstance(other, Inertia):
            return NotImplemented
        return (
            self.mass == other.mass
            and np.array_equal(self.com, other.com)
            and np.array_equal(self.inertia, other.inertia)
        )

    def __hash__(self) -> int:
        """Hash consistent with equality."""
        return hash((self.mass, tuple(self.com.tolist()), tuple(self.inertia.ravel().tolist())))

    def __repr__(self) -> str:
        """Show the values, the inertia as its diagonal when it is one."""
        diagonal = np.array_equal(self.inertia, np.diag(np.diag(self.inertia)))
        entries = np.diag(self.inertia) if diagonal else self.inertia
        shown = np.array2string(entries, precision=6, separator=", ").replace("\n", "")
        com = ", ".join(f"{c:.6g}" for c in self.com)
        return f"Inertia(mass={self.mass:.6g}, com=({com}), inertia={shown})"
