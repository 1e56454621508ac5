"""What a controller measures: a number that follows from the coordinates, with its derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...model.pose import AxisLike, unit_axis
from ...model.validate import unknown_name
from ...system import FrameLike, System

__all__ = ["Sensor"]

Array = NDArray[np.float64]
Pair = tuple[float, Array]


@dataclass(frozen=True)
class Sensor:
    """A number y(q) that a controller measures, with its derivative; its rate is ẏ = (∂y/∂q) v.

    The class methods make the usual ones; ``Sensor(function)`` makes one of your own.

    Parameters
    ----------
    function : callable
        ``function(system, q)`` returns y and ∂y/∂q (nv,), the latter along the manifold as `System.jacobian` has it.
    name : str
        For messages and the names of states.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_body("arm", joint=pl.Revolute("y"), shape=pl.Box(0.5, 0.02, 0.02), mass=0.3, com=(0.25, 0, 0))
    >>> tip = arm.at((0.5, 0, 0))
    >>> system = robot.compile()
    >>> q = system.neutral() + 0.1
    >>> for sensor in (pl.Sensor.coordinate("arm.angle"), pl.Sensor.position(tip, "z"), pl.Sensor.angle(arm, about="y")):
    ...     y, slope = sensor.function(system, q)
    ...     print(f"{sensor.name}: {y:.4f}, {slope[0]:.4f}")
    arm.angle: 0.1000, 1.0000
    arm z: -0.0499, -0.4975
    arm turned about y: 0.1000, 1.0000
    """

    function: Callable[[System, Array], tuple[float, Array]] = field(repr=False)
    name: str = "sensor"

    def __post_init__(self) -> None:
        """Check."""
        if not callable(self.function):
            raise TypeError(
                f"Sensor.function = {self.function!r} must be a function of (system, q) that returns y and ∂y/∂q (nv,); for a coordinate, a tendon or "
                "a frame use Sensor.coordinate, Sensor.length, Sensor.position or Sensor.angle."
            )

    @classmethod
    def coordinate(cls, dof: str) -> Sensor:
        """A coordinate by its name in `System.dof_names` [its unit]: a joint angle, a strain; not of ball and free joints."""

        def read(system: System, q: Array) -> Pair:
            if dof not in system.dof_names:
                raise unknown_name("degree of freedom", dof, system.dof_names)
            k = system.dof_names.index(dof)
            place = system.internal.shift[system.internal.shift[:, 1] == k, 0]
            if not len(place):
                raise ValueError(
                    f"Sensor.coordinate({dof!r}): a ball or free joint has no such coordinate; measure a frame with Sensor.position or Sensor.angle."
                )
            slope = np.zeros(system.nv)
            slope[k] = 1.0
            return float(q[place[0]]), slope

        return cls(read, dof)

    @classmethod
    def length(cls, tendon: str) -> Sensor:
        """The length of a tendon or of another routed actuator [m]."""

        def read(system: System, q: Array) -> Pair:
            names = tuple(system.robot.tendons)
            if tendon not in names:
                raise unknown_name("tendon", str(tendon), names)
            lengths, slopes = system.tendon_lengths(q)
            k = names.index(tendon)
            return float(lengths[k]), slopes[k]

        return cls(read, f"length of {tendon}")

    @classmethod
    def position(cls, frame: FrameLike, direction: AxisLike) -> Sensor:
        """The position of a frame along a direction of the world [m]."""
        n = unit_axis("direction", direction)
        along = direction if isinstance(direction, str) else f"along {np.round(n, 4).tolist()}"

        def read(system: System, q: Array) -> Pair:
            J = system.jacobian(frame, q, reference="world")
            return float(n @ system.pose(frame, q)[:3, 3]), n @ J[3:]

        return cls(read, f"{_called(frame)} {along}")

    @classmethod
    def angle(cls, frame: FrameLike, *, about: AxisLike, arrow: AxisLike = "x", zero: AxisLike | None = None) -> Sensor:
        """The angle by which an axis of a frame, `arrow`, is turned about an axis of the world, `about`, from a direction `zero` [rad].

        That of the projections onto the plane normal to `about`, between −π and π; `zero` is the same axis of the world if left out.
        """
        n, e = unit_axis("about", about), unit_axis("arrow", arrow)
        z = e if zero is None else unit_axis("zero", zero)
        first = z - n * (n @ z)
        if np.linalg.norm(first) < 1e-9:
            raise ValueError(
                "Sensor.angle: `zero` must not be along `about`; give a direction that the angle can be measured from."
            )
        first = first / np.linalg.norm(first)
        second = np.cross(n, first)

        def read(system: System, q: Array) -> Pair:
            d = system.pose(frame, q)[:3, :3] @ e
            turn = -lie.skew(d) @ system.jacobian(frame, q, reference="world")[:3]
            a, b = first @ d, second @ d
            return float(np.arctan2(b, a)), (a * (second @ turn) - b * (first @ turn)) / (a * a + b * b)

        return cls(
            read, f"{_called(frame)} turned about {about if isinstance(about, str) else np.round(n, 4).tolist()}"
        )

    def slope_of_rate(self, system: System, q: Array, v: Array) -> Array:
        """∂ẏ/∂q (nv,), by differences; exact where ∂y/∂q is constant."""
        out, here = np.zeros(system.nv), self.function(system, q)[1]
        for k, move in enumerate(1e-6 * system.internal.scale):
            step = np.zeros(system.nv)
            step[k] = move
            out[k] = (self.function(system, system.integrate(q, step))[1] - here) @ v / move
        return out


def _called(frame: Any) -> str:
    return frame if isinstance(frame, str) else str(getattr(frame, "name", None) or getattr(frame, "link", "frame"))
