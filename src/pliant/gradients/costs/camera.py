"""What a pinhole camera sees: points of the robot or the world in its image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.links import Frame, Link
from ...model.pose import Pose
from ...model.validate import positive, reals, shown, vector
from ...system import FrameLike, System
from .frames import frame_name, hats
from .quantity import LocalQuantity
from .states import Evaluated, Slopes, States, by_slopes

__all__ = ["Image"]


class Image(LocalQuantity):
    """Points in the image of a pinhole camera, (2 k,): horizontal and vertical coordinates one point after the other.

    The camera looks along its z axis, with x to the right and y downwards in the image: ``f (X/Z, Y/Z) + centre``.

    Parameters
    ----------
    camera : Pose, or str, Frame or Link
        A camera that stands in the world, or a frame of the robot that carries it (eye in hand).
    points : list of frames and positions (3,)
        What is seen: frames of the robot by name, and points of the world [m]. One of them may stand alone.
    focal : float
        f [pixels], or 1 for coordinates without unit.
    centre : array (2,)
        Where the axis meets the image [pixels].

    Notes
    -----
    A point that is not in front of the camera has no image: an error.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> end = robot.add_frame("end", rod, offset=(0.5, 0, 0))
    >>> system = robot.compile()
    >>> above = pl.translate(0, 0, 1) @ pl.rotate("x", 3.141592653589793)  # one metre above, looking down
    >>> seen = pl.costs.Image(above, "end", focal=800.0, centre=(320, 240))
    >>> print(seen.evaluate(pl.costs.States.at_rest(system, [0.0])).value.round(6))
    [[720. 240.]]
    """

    def __init__(
        self,
        camera: Pose | FrameLike,
        points: FrameLike | Sequence[Any] | ArrayLike,
        *,
        focal: float = 1.0,
        centre: ArrayLike = (0.0, 0.0),
    ) -> None:
        if not isinstance(camera, (Pose, str, Frame, Link)):
            raise TypeError(f"camera = {shown(camera)} must be a Pose in the world, or a frame of the robot.")
        self.camera = camera
        alone = isinstance(points, (str, Frame, Link)) or (
            isinstance(points, (list, tuple, np.ndarray)) and len(points) == 3 and np.ndim(points[0]) == 0
            and not isinstance(points[0], (str, Frame, Link))
        )  # fmt: skip
        given: list[Any] = [points] if alone else list(points)  # type: ignore[arg-type]
        if not given:
            raise ValueError("points is empty: give a frame such as 'arm.tip', or a point of the world (3,).")
        self.points = [
            point if isinstance(point, (str, Frame, Link)) else vector("points", reals("points", point), (3,))
            for point in given
        ]
        self.focal, self.centre = positive("focal", focal), vector("centre", centre, (2,))

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        for frame in (self.camera, *self.points):
            if isinstance(frame, (str, Frame, Link)):
                system.place(frame)
        return 2 * len(self.points)

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, q, T = states.system, states.q, len(states)
        fixed = isinstance(self.camera, Pose)
        pose = np.tile(self.camera.matrix, (T, 1, 1)) if isinstance(self.camera, Pose) else system.pose(self.camera, q)
        R, origin = pose[:, :3, :3], pose[:, :3, 3]
        places = [
            np.tile(point, (T, 1)) if isinstance(point, np.ndarray) else system.pose(point, q)[:, :3, 3]
            for point in self.points
        ]
        seen = [np.einsum("tji,tj->ti", R, place - origin) for place in places]
        for point, x in zip(self.points, seen):
            if np.any(x[:, 2] <= 0.0):
                what = "a point of the world" if isinstance(point, np.ndarray) else repr(frame_name(point))
                raise ValueError(f"{what} is not in front of the camera: it has no image.")
        value = np.hstack([self.focal * x[:, :2] / x[:, 2:] + self.centre for x in seen])

        def derive() -> Slopes:
            own = None if fixed else system.jacobian(self.camera, q, reference="world")  # type: ignore[arg-type]
            out = np.zeros((T, 2 * len(self.points), system.nv))
            for k, (point, place, x) in enumerate(zip(self.points, places, seen)):
                J = np.zeros((T, 3, system.nv))
                if not isinstance(point, np.ndarray):
                    J += system.jacobian(point, q, reference="world")[:, 3:]
                if own is not None:  # as the camera sees it, also what stands still moves
                    J += hats(place - origin) @ own[:, :3] - own[:, 3:]
                moved = R.transpose(0, 2, 1) @ J
                out[:, 2 * k : 2 * k + 2] = self.focal * (
                    moved[:, :2] / x[:, 2, None, None] - (x[:, :2] / x[:, 2:] ** 2)[:, :, None] * moved[:, 2:]
                )
            return out, None, None

        return by_slopes(states, value, derive)

    def __repr__(self) -> str:
        """What is seen."""
        names = ["a point" if isinstance(point, np.ndarray) else frame_name(point) for point in self.points]
        return f"Image({', '.join(names)})"
