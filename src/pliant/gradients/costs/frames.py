"""Where frames are, how they are turned, and how they move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...kernels.recursion import kinematics as kernels
from ...model.links import Frame, Link
from ...model.pose import Pose
from ...model.validate import reals, shown
from ...system import FrameLike, System
from .quantity import LocalQuantity
from .states import Array, Evaluated, Slopes, States, by_slopes

__all__ = [
    "AngularVelocity",
    "OfFrame",
    "Orientation",
    "Position",
    "Velocity",
    "at_point",
    "frame_name",
    "hats",
    "inverse_tangents",
    "rotation_vectors",
    "step_columns",
]


def frame_name(frame: FrameLike) -> str:
    """A frame in messages."""
    if isinstance(frame, str):
        return frame
    return frame.name if isinstance(frame, Link) else repr(frame)


class OfFrame(LocalQuantity):
    """A vector (3,) that belongs to a frame."""

    def __init__(self, frame: FrameLike) -> None:
        if not isinstance(frame, (str, Frame, Link)):
            raise TypeError(f"frame = {shown(frame)} must be the name of a frame such as 'arm.tip', a Frame or a Link.")
        self.frame = frame

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        system.place(self.frame)
        return 3

    def __repr__(self) -> str:
        """As it was written."""
        return f"{type(self).__name__}({frame_name(self.frame)!r})"


class Position(OfFrame):
    """Position of a frame in the world [m], (3,).

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> end = pl.costs.Position(rod.at((0.5, 0, 0)))
    >>> found = end.evaluate(pl.costs.States.at_rest(system, [0.0]))
    >>> print(found.value, found.pull(np.array([[0, 0, 1.0]])).q)  # turning about y lowers it
    [[0.5 0.  0. ]] [[-0.5]]
    """

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, q = states.system, states.q

        def derive() -> Slopes:
            return system.jacobian(self.frame, q, reference="world")[:, 3:], None, None

        return by_slopes(states, np.ascontiguousarray(system.pose(self.frame, q)[:, :3, 3]), derive)


class Orientation(OfFrame):
    """Rotation vector φ from a target rotation to that of a frame, in world axes [rad], (3,): ``R = exp(φ̂) target``.

    Parameters
    ----------
    frame : str, Frame or Link
    target : Pose or array (3, 3)
        Of a pose only the rotation counts; the world's axes if left out.

    Notes
    -----
    It is smooth up to half a turn away from the target, where it jumps.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> tilt = pl.costs.Orientation(rod, pl.rotate("y", 0.25))
    >>> print(tilt.evaluate(pl.costs.States.at_rest(system, [1.0])).value.round(12))
    [[0.   0.75 0.  ]]
    """

    def __init__(self, frame: FrameLike, target: Pose | ArrayLike | None = None) -> None:
        super().__init__(frame)
        self.target = _rotation(target)

    def reading(self, rotations: ArrayLike) -> Array:
        """The value (3,) that belongs to a measured rotation (3, 3); rows (T, 3) for (T, 3, 3)."""
        R = np.asarray(rotations, dtype=float)
        if R.shape[-2:] != (3, 3):
            raise ValueError(f"rotations has shape {R.shape}, but (3, 3) or rows (T, 3, 3) are needed.")
        found = rotation_vectors(R.reshape(-1, 3, 3) @ self.target.T)
        return found[0] if R.ndim == 2 else found

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, q = states.system, states.q
        value = rotation_vectors(system.pose(self.frame, q)[:, :3, :3] @ self.target.T)

        def derive() -> Slopes:
            return inverse_tangents(value) @ system.jacobian(self.frame, q, reference="world")[:, :3], None, None

        return by_slopes(states, value, derive)


class Velocity(OfFrame):
    """Velocity of the origin of a frame in world axes [m/s], (3,).

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> states = pl.costs.States(system, [0.0], [[0.0]], [[2.0]], [[]])
    >>> print(pl.costs.Velocity(rod.at((0.5, 0, 0))).evaluate(states).value)
    [[ 0.  0. -1.]]
    """

    _part = slice(3, 6)

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        twist = states.system.twist(self.frame, states.q, states.v, reference="world")
        return by_slopes(states, np.ascontiguousarray(twist[:, self._part]), lambda: self._slopes(states))

    def _slopes(self, states: States) -> Slopes:
        step, place = states.system.place(self.frame)
        J, R, motion = step_columns(states.system, states.q, states.v, step, place)
        moved, changed = at_point(J, R, motion[:, 12:], motion[:, 9:12])
        return changed[:, self._part], moved[:, self._part], None


class AngularVelocity(Velocity):
    """Angular velocity of a frame in world axes [rad/s], (3,).

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> states = pl.costs.States(system, [0.0], [[0.0]], [[2.0]], [[]])
    >>> print(pl.costs.AngularVelocity(rod).evaluate(states).value)
    [[0. 2. 0.]]
    """

    _part = slice(0, 3)


# ---------------------------------------------------------------- columns of a step


def step_columns(system: System, q: Array, v: Array, step: int, place: Array) -> tuple[Array, Array, Array]:
    """Columns J and R of MATH §3, each (T, 6, nv), at the moving origin, and the motion (T, 18) of `frame_derivatives`."""
    out, motion = np.empty((len(q), 4, 6, system.nv)), np.empty((len(q), 18))
    with system.borrow() as space:
        for k in range(len(q)):
            kernels.frame_derivatives(*space.packed, q[k], v[k], system._zero, step, place, motion[k], out[k])
    return out[:, 0], out[:, 1], motion


def at_point(J: Array, R: Array, V: Array, x: Array) -> tuple[Array, Array]:
    """Columns (…, 6, nv) of rotation and displacement of the point x of a step, and of the changes of its ω and ẋ (world axes).

    The twist V of the step, J and R are at the moving origin. R has what changes with a body that turns along: ``δω = R δq − ω × δθ``.
    """
    turn, shift = hats(V[..., :3]), hats(x)
    speed = hats(V[..., 3:] + np.cross(V[..., :3], x))
    Jw, Rw = J[..., :3, :], R[..., :3, :]
    moved = np.concatenate([Jw, J[..., 3:, :] - shift @ Jw], axis=-2)
    return moved, np.concatenate([Rw - turn @ Jw, R[..., 3:, :] - shift @ Rw - speed @ Jw], axis=-2)


# ---------------------------------------------------------------- rotations in rows


def _rotation(value: Any) -> Array:
    """A rotation matrix from a pose or a matrix."""
    if value is None:
        return np.eye(3)
    if isinstance(value, Pose):
        return value.rotation
    hint = "Give a Pose, for example pl.rotate('z', 0.5), or a rotation matrix (3, 3)."
    array = reals("target", value, hint=hint)
    if array.shape != (3, 3):
        raise ValueError(f"target has shape {array.shape}, but a rotation is needed. {hint}")
    return Pose(rotation=array).rotation


def hats(w: Array) -> Array:
    """Matrices (…, 3, 3) of the cross products with vectors (…, 3)."""
    out = np.zeros((*w.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = w[..., 0], w[..., 1], w[..., 2]
    return out - np.swapaxes(out, -1, -2)


def rotation_vectors(R: Array) -> Array:
    """Rotation vectors (T, 3) of rotations (T, 3, 3), angle in [0, π], without loss of digits at any angle."""
    trace = np.trace(R, axis1=1, axis2=2)
    diagonal = np.diagonal(R, axis1=1, axis2=2)
    # four times the products of the quaternion's entries; the row of the largest entry is the quaternion without cancellation
    K = np.empty((len(R), 4, 4))
    K[:, 0, 0] = 1.0 + trace
    odd = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    K[:, 0, 1:] = K[:, 1:, 0] = odd
    K[:, 1:, 1:] = R + R.transpose(0, 2, 1)
    for i in range(3):
        K[:, 1 + i, 1 + i] = 1.0 + 2.0 * diagonal[:, i] - trace
    best = np.argmax(np.diagonal(K, axis1=1, axis2=2), axis=1)
    quaternion = K[np.arange(len(R)), best]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    quaternion = np.where(quaternion[:, :1] < 0.0, -quaternion, quaternion)
    sine = np.linalg.norm(quaternion[:, 1:], axis=1)
    half = np.arctan2(sine, quaternion[:, 0])
    ratio = np.where(sine > 1e-150, 2.0 * half / np.where(sine > 1e-150, sine, 1.0), 2.0)
    return ratio[:, None] * quaternion[:, 1:]


def inverse_tangents(phi: Array) -> Array:
    """Inverse left tangent maps (T, 3, 3): dφ for a small rotation in world axes, ``1 − φ̂/2 + c φ̂²``, c = (1 − θ/2 cot θ/2)/θ²."""
    angle = np.linalg.norm(phi, axis=1)
    s = angle * angle
    half = np.where(angle > 0.1, 0.5 * angle, 1.0)
    exact = (1.0 - half * np.cos(half) / np.sin(half)) / np.where(angle > 0.1, s, 1.0)
    series = 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s / 47900160)))
    c = np.where(angle > 0.1, exact, series)
    hat = hats(phi)
    return np.eye(3) - 0.5 * hat + c[:, None, None] * (hat @ hat)
