"""Groups on which joints move whose coordinates are not plain numbers: rotations and poses.

An element is stored in q as a unit quaternion (w, x, y, z), for a pose followed by a position; v is the body twist, so that
q ⊕ v means g·exp(v) (MATH.md §2). The arithmetic (⊕ and its inverse) is `kernels.algebra.manifold`; here is what everybody else
has to know of a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..pose import skew

__all__ = ["POSE", "ROTATION", "Group"]

Array: TypeAlias = NDArray[np.float64]


def _rate_matrix(q: Array) -> Array:
    """The matrix G (4, 3) with which a quaternion changes by ½ G ω, ω the angular velocity of the body."""
    w, x, y, z = q[:4]
    return np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def _rotation(q: Array) -> Array:
    """The rotation matrix of a quaternion that need not be of unit length."""
    w, x, y, z = q[:4] / np.linalg.norm(q[:4])
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@dataclass(frozen=True)
class Group:
    """A group of motions.

    Attributes
    ----------
    name : {"spherical", "free"}
        Of the joint that moves on it.
    size : int
        Of its matrices, 3 or 4.
    coordinate_names, coordinate_units : tuple of str
        Of the entries of q.
    dof_names, dof_units : tuple of str
        Of the entries of v, and of small motions along them.
    force_names : tuple of str
        Of the generalised forces.
    """

    name: Literal["spherical", "free"]
    size: int
    coordinate_names: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    dof_names: tuple[str, ...]
    dof_units: tuple[str, ...]
    force_names: tuple[str, ...]

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinate_names)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.dof_names)

    def neutral(self) -> Array:
        """Coordinates of the identity, (nq,)."""
        return np.eye(self.nq)[0]

    def scatter(self, q: Array, rng: np.random.Generator) -> None:
        """Make the rotation of q (nq,) a random one, uniform on SO(3)."""
        q[:4] = rng.normal(size=4)
        self.normalise(q)

    def normalise(self, q: Array) -> None:
        """Bring the quaternion of q (nq,) to unit length."""
        q[:4] /= np.linalg.norm(q[:4])

    def twist(self, v: ArrayLike) -> Array:
        """A velocity (nv,) as a twist (6,) of SE(3), of which the group is a part."""
        return np.concatenate([v, np.zeros(6 - self.nv)])

    def matrix(self, q: ArrayLike) -> Array:
        """The rotation matrix (3, 3) of coordinates q (nq,)."""
        return _rotation(np.asarray(q, dtype=float))

    # -- q as ordinary numbers, for solvers of ordinary differential equations ---------------------------------------

    def rates(self, q: Array) -> Array:
        """The matrix (nq, nv) from v to q̇, where the quaternion of q (nq,) need not be of unit length."""
        out = np.zeros((self.nq, self.nv))
        out[:4, :3] = 0.5 * _rate_matrix(q)
        if self.nv > 3:
            out[4:, 3:] = _rotation(q)
        return out

    def rates_derivative(self, q: Array, v: Array) -> Array:
        """Derivative (nq, nq) of ``rates(q) @ v`` by q."""
        out = np.zeros((self.nq, self.nq))
        wx, wy, wz = v[:3]
        out[:4, :4] = 0.5 * np.array([[0, -wx, -wy, -wz], [wx, 0, wz, -wy], [wy, -wz, 0, wx], [wz, wy, -wx, 0]])
        if self.nv > 3:
            out[4:, :4] = -_rotation(q) @ skew(v[3:]) @ self.chart(q)[:3, :4]
        return out

    def chart(self, q: Array) -> Array:
        """The matrix (nv, nq) from a small change of q to the motion along v that it is."""
        out = np.zeros((self.nv, self.nq))
        out[:3, :4] = 2.0 * _rate_matrix(q).T / (q[:4] @ q[:4])
        if self.nv > 3:
            out[3:, 4:] = _rotation(q).T
        return out


ROTATION = Group(
    name="spherical",
    size=3,
    coordinate_names=("qw", "qx", "qy", "qz"),
    coordinate_units=("–",) * 4,
    dof_names=("wx", "wy", "wz"),
    dof_units=("rad",) * 3,
    force_names=("mx", "my", "mz"),
)
POSE = Group(
    name="free",
    size=4,
    coordinate_names=("qw", "qx", "qy", "qz", "x", "y", "z"),
    coordinate_units=("–",) * 4 + ("m",) * 3,
    dof_names=("wx", "wy", "wz", "vx", "vy", "vz"),
    dof_units=("rad",) * 3 + ("m",) * 3,
    force_names=("mx", "my", "mz", "fx", "fy", "fz"),
)
