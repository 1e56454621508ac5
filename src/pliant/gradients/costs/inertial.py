"""What is measured in the axes of a frame: pose, rates of turn, specific force."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ... import lie
from ...kernels.recursion import kinematics as kernels
from ...model.pose import Pose
from ...system import FrameLike, System
from ...system.dynamics import acceleration_derivatives
from .frames import OfFrame, Orientation, Position, hats
from .states import Array, Evaluated, Slopes, States, by_slopes, slopes_of

__all__ = ["IMU", "FramePose"]


class FramePose(OfFrame):
    """Position of a frame in the world [m] and rotation vector from a target rotation to its own [rad], (6,); see `Position` and `Orientation`.

    Parameters
    ----------
    frame : str, Frame or Link
    target : Pose or array (3, 3)
        A rotation less than half a turn away; the world's axes if left out.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> pose = pl.costs.FramePose(rod.at((0.5, 0, 0)), pl.rotate("y", 0.25))
    >>> print(pose.evaluate(pl.costs.States.at_rest(system, [1.0])).value.round(3))
    [[ 0.27   0.    -0.421  0.     0.75   0.   ]]
    >>> tracked = system.pose(rod.at((0.5, 0, 0)), np.array([1.0]))  # what a camera tells, (4, 4)
    >>> print(pose.reading(tracked).round(3))
    [ 0.27   0.    -0.421  0.     0.75   0.   ]
    """

    def __init__(self, frame: FrameLike, target: Pose | ArrayLike | None = None) -> None:
        super().__init__(frame)
        self._position, self._orientation = Position(frame), Orientation(frame, target)

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        return 2 * super().size(system)

    def reading(self, pose: Pose | ArrayLike) -> Array:
        """The value (6,) that belongs to a measured pose, a `Pose` or (4, 4); rows (T, 6) for (T, 4, 4)."""
        g = pose.matrix if isinstance(pose, Pose) else np.asarray(pose, dtype=float)
        if g.shape[-2:] != (4, 4):
            raise ValueError(f"pose has shape {g.shape}, but (4, 4) or rows (T, 4, 4) are needed.")
        rows = np.atleast_3d(g).reshape(-1, 4, 4)
        found = np.hstack([rows[:, :3, 3], self._orientation.reading(rows[:, :3, :3])])
        return found[0] if g.ndim == 2 else found

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        parts = self._position.at(states), self._orientation.at(states)

        def derive() -> Slopes:
            place, turn = (slopes_of(part)[0] for part in parts)
            assert place is not None
            assert turn is not None
            return np.concatenate([place, turn], axis=1), None, None

        return by_slopes(states, np.hstack([part.value for part in parts]), derive)


class IMU(OfFrame):
    """What an inertial measurement unit at a frame reads, in its own axes, (6,): angular velocity [rad/s] and specific force [m/s²].

    The specific force is acceleration minus gravity: at rest 9.81 m/s² upwards. Accelerations are those of the equation of motion at the state.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("pendulum")
    >>> rod = robot.add_body("rod", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> system = robot.compile()
    >>> states = pl.costs.States(system, [0.0], [[0.0]], [[2.0]], [[]])  # level, on its way down
    >>> print(pl.costs.IMU(rod).evaluate(states).value)  # at the hinge, which does not accelerate
    [[0.   2.   0.   0.   0.   9.81]]
    """

    def size(self, system: System) -> int:
        """See `Quantity.size`."""
        super().size(system)
        if system.nz or np.any(system.known) or system.told or system.held_tendons:
            raise ValueError(
                f"IMU: accelerations of {system.name!r} do not follow from its state alone: it has prescribed motions or lengths, or loads that remember. "
                "Measure its velocities or positions instead."
            )
        return 6

    def at(self, states: States) -> Evaluated:
        """See `LocalQuantity.at`."""
        system, (step, place) = states.system, states.system.place(self.frame)
        value, by_q, by_v, by_u = [], [], [], []
        for q, v, u in zip(states.q, states.v, states.u):
            found = acceleration_derivatives(system, q, v, None, u, None, 0.0)
            columns, motion = np.empty((4, 6, system.nv)), np.empty(18)
            with system.borrow() as space:
                kernels.frame_derivatives(*space.packed, q, v, found.a, step, place, motion, columns)
            R, x = motion[:9].reshape(3, 3), motion[9:12]
            columns[:, 3:] -= hats(x) @ columns[:, :3]
            J, rate_q, accel_q, accel_v = np.concatenate([R.T @ columns[:, :3], R.T @ columns[:, 3:]], axis=1)
            twist, accel = system.twist(self.frame, q, v), system.acceleration(self.frame, q, v, found.a)
            turn, speed, carry = hats(twist[:3]), hats(twist[3:]), lie.ad(twist)
            accel_q, accel_v = accel_q - carry @ rate_q, accel_v - carry @ J  # as they are in the frame, which moves on
            g = R.T @ system.gravity

            def force(accel: Array, rate: Array, turn: Array = turn, speed: Array = speed) -> Array:
                """Change of the acceleration of the origin, in the frame's axes."""
                return accel[3:] + turn @ rate[3:] - speed @ rate[:3]

            value.append(np.concatenate([twist[:3], accel[3:] + turn @ twist[3:] - g]))
            # the columns of the acceleration have gravity in them, which turns with the frame
            by_q.append(np.vstack([rate_q[:3], force(accel_q, rate_q) + J[3:] @ found.dq]))
            by_v.append(np.vstack([J[:3], force(accel_v, J) + J[3:] @ found.dv]))
            by_u.append(np.vstack([np.zeros((3, system.nu)), J[3:] @ found.du]))
        slopes = np.array(by_q), np.array(by_v), np.array(by_u)
        return by_slopes(states, np.array(value), lambda: slopes)
