"""Rigid placements: where a frame sits in another, and how to say so.

A pose ``g = (R, p)`` maps coordinates in the placed frame to coordinates in the frame it is placed in,
``x_outer = R x_inner + p`` (MATH.md §1). Lengths are in m and angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.model import validate

__all__ = [
    "DIRECTION",
    "AxisLike",
    "Pose",
    "PoseLike",
    "as_pose",
    "rotate",
    "skew",
    "translate",
    "unit_axis",
    "unit_quaternion",
]

Array: TypeAlias = NDArray[np.float64]
DIRECTION = "direction"  # a note for who reads annotations: not any array, but one that says where to
AxisLike: TypeAlias = Annotated[str | ArrayLike, DIRECTION]
"""A direction: ``"x"``, ``"y"``, ``"z"``, the same with a sign (``"-x"``), or any non-zero 3-vector."""

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_ORTHONORMAL_TOLERANCE = 1e-8
_ROUNDING = 2e-15  # what is closer to orthonormal than this is taken as it is
_ONE = np.eye(3)
_QUATERNION_TOLERANCE = 1e-3  # lets through four printed digits, stops a vector that is no quaternion at all


def skew(v: ArrayLike) -> Array:
    """Return the matrix of the cross product, ``skew(v) @ w == cross(v, w)``.

    Parameters
    ----------
    v : array_like, shape (3,)

    Returns
    -------
    ndarray, shape (3, 3)
    """
    x, y, z = np.asarray(v, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unit_axis(name: str, value: AxisLike) -> Array:
    """Read a direction given by name or by vector.

    Parameters
    ----------
    name : str
        Field named in error messages.
    value : str or array_like, shape (3,)
        ``"x"``, ``"y"``, ``"z"``, the same with a leading sign, or a vector of any non-zero length.

    Returns
    -------
    ndarray, shape (3,)
        Read-only unit vector.
    """
    if isinstance(value, str):
        text = value.strip().lower()
        letter = text[1:] if text[:1] in ("+", "-") else text
        if letter not in _AXES:
            validate.choice(name, value, ["x", "y", "z", "-x", "-y", "-z"], hint="Or give a 3-vector.")
        axis = np.array(_AXES[letter]) * (-1.0 if text.startswith("-") else 1.0)
    else:
        hint = 'Give a 3-vector or one of "x", "y", "z", "-x", "-y", "-z".'
        vector = validate.vector(name, value, (3,), hint=hint, largest=np.inf)
        largest = np.max(np.abs(vector))
        if largest == 0.0:
            raise ValueError(f"{name} = {vector.tolist()} has no direction: a vector of non-zero length is needed.")
        if largest <= 1.0 and abs(float(np.linalg.norm(vector)) - 1.0) <= _ROUNDING:
            axis = vector  # unit already: stays as it is, bitwise
        else:
            axis = vector / largest  # first, so that very short and very long vectors do not under- or overflow
            axis = axis / np.linalg.norm(axis)
    axis = axis + 0.0  # no negative zeros
    axis.flags.writeable = False
    return axis


def unit_quaternion(name: str, value: ArrayLike) -> Array:
    """Read a unit quaternion ``(w, x, y, z)``, scalar first, and remove rounding from its length.

    Parameters
    ----------
    name : str
        Field named in error messages.
    value : array_like, shape (4,)
        Length 1 within 1e-3.

    Returns
    -------
    ndarray, shape (4,)
        Read-only, of length 1.
    """
    quaternion = validate.vector(name, value, (4,), hint="A quaternion is (w, x, y, z), scalar first.")
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > _QUATERNION_TOLERANCE:
        raise ValueError(
            f"{name} = {quaternion.tolist()} is not allowed: a unit quaternion (w, x, y, z) has length 1, "
            f"this has {length:.6g}. Divide it by its length if the direction is right."
        )
    if abs(length - 1.0) > 1e-15:
        quaternion = quaternion / length
        quaternion.flags.writeable = False
    return quaternion


def _rotation_matrix(name: str, value: ArrayLike) -> Array:
    """Return `value` as an orthonormal read-only matrix; error unless it is a rotation within 1e-8."""
    matrix = validate.vector(name, value, (3, 3))
    gram = matrix.T @ matrix
    error = float(np.abs(gram - _ONE).max())
    if error > _ORTHONORMAL_TOLERANCE:
        raise ValueError(
            f"{name} = {matrix.tolist()} is not a rotation: its columns must be orthonormal, "
            f"|RᵀR − 1| = {error:.2g} exceeds {_ORTHONORMAL_TOLERANCE:g}. "
            "Build it with rotate(axis, angle) or Pose.from_quaternion."
        )
    if np.linalg.det(matrix) < 0.0:
        raise ValueError(
            f"{name} = {matrix.tolist()} is a reflection (determinant −1), not a rotation: the determinant "
            "must be +1. Flip the sign of one column to get a right-handed frame."
        )
    return _orthonormal(matrix, gram, error)


def _orthonormal(matrix: Array, gram: Array, error: float) -> Array:
    """A matrix that is a rotation within 1e-8 as one to rounding, read-only; `gram` is RᵀR, and `error` what it lacks of one."""
    rotation = matrix + 0.0
    if error > _ROUNDING:  # one Newton step towards the nearest rotation, exact to rounding from 1e-8
        rotation = matrix @ (1.5 * _ONE - 0.5 * gram) + 0.0
    rotation.flags.writeable = False
    return rotation


def _fmt(values: Array) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Pose:
    """Pose of a frame in another frame: ``x_outer = rotation @ x_inner + translation``.

    Parameters
    ----------
    translation : array_like, shape (3,)
        Origin of the placed frame in the outer frame [m].
    rotation : array_like, shape (3, 3), optional
        Columns are the axes of the placed frame in the outer frame. Checked to be a rotation within 1e-8 and
        then made orthonormal to rounding.

    Examples
    --------
    >>> Pose(translation=(0, 0, 1)) @ rotate("z", np.pi / 2) @ (1, 0, 0)  # doctest: +SKIP
    array([0., 1., 1.])
    """

    translation: Array
    rotation: Array

    # numpy must not take over `array @ pose`: it would try to make an object array of the pose.
    __array_ufunc__ = None

    def __init__(self, translation: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> None:
        hint = "A translation is three lengths (x, y, z) in m."
        checked = validate.vector("Pose.translation", translation, (3,), hint=hint)
        object.__setattr__(self, "translation", checked)
        given = np.eye(3) if rotation is None else rotation
        object.__setattr__(self, "rotation", _rotation_matrix("Pose.rotation", given))

    @classmethod
    def from_quaternion(cls, quaternion: ArrayLike, translation: ArrayLike = (0.0, 0.0, 0.0)) -> Pose:
        """Build a pose from a unit quaternion and a translation.

        Parameters
        ----------
        quaternion : array_like, shape (4,)
            ``(w, x, y, z)``, scalar first, length 1 within 1e-3.
        translation : array_like, shape (3,)
            [m].
        """
        q = unit_quaternion("quaternion", quaternion)
        w, v = q[0], q[1:]
        hat = skew(v)
        return cls(translation, np.eye(3) + 2.0 * w * hat + 2.0 * (hat @ hat))

    @classmethod
    def look_along(cls, direction: AxisLike, translation: ArrayLike = (0.0, 0.0, 0.0), *, roll: float = 0.0) -> Pose:
        """Build the pose whose local x axis (the axis of a rod) points along `direction`.

        Parameters
        ----------
        direction : str or array_like, shape (3,)
            Where local x shall point, in the outer frame; any non-zero length.
        translation : array_like, shape (3,)
            Origin [m].
        roll : float
            Turn about local x after that [rad].

        Notes
        -----
        Without roll this is the smallest rotation that takes x to `direction`; for ``-x``, where it is not
        unique, half a turn about z.

        Examples
        --------
        >>> import numpy as np
        >>> import pliant as pl
        >>> up = pl.Pose.look_along("z", (0.1, 0, 0))  # the x axis of a rod placed here points up
        >>> print(np.round(up.rotation[:, 0], 12) + 0.0)
        [0. 0. 1.]
        """
        d = unit_axis("direction", direction)
        c, s = d[0], np.hypot(d[1], d[2])
        if s < 1e-290:  # below, the quotients by s lose their digits to gradual underflow
            rotation = np.diag([c, c, 1.0])
        else:
            ny, nz = d[1] / s, d[2] / s
            versine = s * s / (1.0 + c) if c > 0.0 else 1.0 - c  # 1 − c without cancellation
            rotation = np.array(
                [
                    [c, -d[1], -d[2]],
                    [d[1], 1.0 - versine * ny * ny, -versine * ny * nz],
                    [d[2], -versine * ny * nz, 1.0 - versine * nz * nz],
                ]
            )
        if validate.finite("roll", roll, unit="rad"):
            rotation = rotation @ rotate("x", roll).rotation
        return cls(translation, rotation)

    @overload
    def __matmul__(self, other: Pose) -> Pose: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Pose | ArrayLike) -> Pose | Array:
        """Compose with a pose, or map points, shape (3,) or (..., 3) [m], to the outer frame."""
        if isinstance(other, Pose):
            return self._then(other)
        try:
            points = np.asarray(other, dtype=np.float64)
        except (TypeError, ValueError):
            return NotImplemented
        if points.ndim == 0 or points.shape[-1] != 3:
            raise ValueError(
                f"Pose @ array needs points of shape (3,) or (..., 3), but got shape {points.shape}. "
                "Turn a 4×4 matrix into a pose with as_pose first."
            )
        return points @ self.rotation.T + self.translation

    def _then(self, other: Pose) -> Pose:
        """The product; both are poses, so nothing is checked again."""
        place, turned = self.rotation @ other.translation + self.translation, self.rotation @ other.rotation
        place.flags.writeable = False
        gram = turned.T @ turned
        pose = object.__new__(Pose)
        object.__setattr__(pose, "translation", place)
        object.__setattr__(pose, "rotation", _orthonormal(turned, gram, float(np.abs(gram - _ONE).max())))
        return pose

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in this one."""
        return Pose(-self.rotation.T @ self.translation, self.rotation.T)

    @property
    def matrix(self) -> Array:
        """Homogeneous matrix ``[[R, p], [0, 1]]``, shape (4, 4)."""
        g = np.eye(4)
        g[:3, :3] = self.rotation
        g[:3, 3] = self.translation
        return g

    @property
    def adjoint(self) -> Array:
        """Map of twists from this frame to the outer one, ``[[R, 0], [p̂R, R]]``, shape (6, 6)."""
        Ad = np.zeros((6, 6))
        Ad[:3, :3] = Ad[3:, 3:] = self.rotation
        Ad[3:, :3] = skew(self.translation) @ self.rotation
        return Ad

    @property
    def quaternion(self) -> Array:
        """Unit quaternion ``(w, x, y, z)`` of the rotation with ``w >= 0``, shape (4,)."""
        R = self.rotation
        # Four times q qᵀ, from which the row of the largest component is taken: no cancellation at any angle.
        trace = np.trace(R)
        outer = np.empty((4, 4))
        outer[0, 0] = 1.0 + trace
        outer[0, 1:] = outer[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
        outer[1:, 1:] = R + R.T + (1.0 - trace) * np.eye(3)
        row = outer[np.argmax(np.diag(outer))]
        q = row / np.linalg.norm(row)
        return (-q if q[0] < 0.0 else q) + 0.0

    def __eq__(self, other: object) -> bool:
        """Compare exactly, entry by entry."""
        if not isinstance(other, Pose):
            return NotImplemented
        return np.array_equal(self.translation, other.translation) and np.array_equal(self.rotation, other.rotation)

    def __hash__(self) -> int:
        """Hash consistent with equality."""
        return hash((tuple(self.translation.tolist()), tuple(self.rotation.ravel().tolist())))

    def __repr__(self) -> str:
        """Show translation and, unless it is the identity, the rotation as axis and angle."""
        q = self.quaternion
        sine = float(np.linalg.norm(q[1:]))
        text = f"Pose(translation={_fmt(self.translation)}"
        if sine > 0.0:
            angle = 2.0 * np.arctan2(sine, q[0])
            text += f", rotation: {np.degrees(angle):.6g}° about {_fmt(q[1:] / sine)}"
        return text + ")"


PoseLike: TypeAlias = Pose | ArrayLike | None
"""What `as_pose` understands: a pose, a 4×4 matrix, a 3-vector (translation) or None (identity)."""


def translate(x: float, y: float, z: float) -> Pose:
    """Return the pose moved by (x, y, z) [m] without rotation.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.translate(0.1, 0, 0).translation
    array([0.1, 0. , 0. ])
    """
    return Pose(translation=(x, y, z))


def rotate(axis: AxisLike, angle: float) -> Pose:
    """Return the pose turned about an axis through the origin.

    Parameters
    ----------
    axis : str or array_like, shape (3,)
        ``"x"``, ``"-z"``, … or a vector of any non-zero length.
    angle : float
        [rad], right-handed.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pose = pl.translate(0, 0, 1) @ pl.rotate("z", np.pi / 2)
    >>> print(np.round(pose @ (1, 0, 0), 12) + 0.0)
    [0. 1. 1.]
    """
    hat = skew(unit_axis("axis", axis))
    theta = validate.finite("angle", angle, unit="rad")
    versine = 2.0 * np.sin(0.5 * theta) ** 2  # 1 − cos, exact for small angles too
    return Pose(rotation=np.eye(3) + np.sin(theta) * hat + versine * (hat @ hat))


def as_pose(value: PoseLike, *, name: str = "pose") -> Pose:
    """Read a pose in any of the forms a user may give.

    Parameters
    ----------
    value : Pose, array_like or None
        None is the identity; shape (4, 4) a homogeneous matrix, checked within 1e-8; shape (3,) a
        translation [m].
    name : str
        Field named in error messages.
    """
    if value is None:
        return Pose()
    if isinstance(value, Pose):
        return value
    hint = "Give a Pose, a 4×4 homogeneous matrix, a 3-vector (translation in m) or None."
    try:
        array = validate.reals(name, value)
    except TypeError:
        raise TypeError(f"{name} = {validate.shown(value)} is not a pose. {hint}") from None
    if array.shape == (3,):
        return Pose(translation=validate.vector(name, array, (3,)))
    matrix = validate.vector(name, array, (4, 4), hint=hint)
    if np.max(np.abs(matrix[3] - (0.0, 0.0, 0.0, 1.0))) > _ORTHONORMAL_TOLERANCE:
        raise ValueError(
            f"{name} has last row {matrix[3].tolist()}, but a homogeneous matrix [[R, p], [0, 1]] needs [0, "
            "0, 0, 1]. Transpose it if the translation is in the last row."
        )
    return Pose(matrix[:3, 3], _rotation_matrix(f"{name}[:3, :3]", matrix[:3, :3]))
