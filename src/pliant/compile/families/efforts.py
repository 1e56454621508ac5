"""Motors and distributed internal stress → forces on single coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.loads.efforts import E_LIMIT, E_STOP, EFFORT_WIDTH, Efforts, apply_efforts
from ...model.actuators import InternalStress, Motor, Stop
from ...model.links import Link, Rod
from ...model.robot import Robot
from ...model.units import Input
from ..family import Density, Family
from ..places import Places, as_rows

__all__ = ["EFFORTS", "is_cut", "motor_law", "stop_law"]


def motor_law(motor: Motor) -> list[float]:
    """Numbers of the kernel's law, see `kernels.loads.efforts`."""
    gain = {"torque": 1.0, "position": motor.kp, "velocity": motor.kd}[motor.control]
    return [gain, motor.kp, motor.kd, motor.limit, 0.0, 0.0, 0.0]


def stop_law(stop: Stop) -> list[float]:
    """Likewise of a stop."""
    return [0.0, stop.stiffness, stop.dissipation, np.inf, stop.lower, stop.upper, 1.0]


def is_cut(data: NDArray[np.float64]) -> bool:
    """Whether any law (n, EFFORT_WIDTH) is a stop or ends at a limit."""
    return bool(np.any(data[:, E_STOP]) or np.any(np.isfinite(data[:, E_LIMIT])))


class _Efforts(Family):
    name = "efforts"
    apply = staticmethod(apply_efforts)
    descriptions = (Motor, Stop, InternalStress)

    def inputs(self, robot: Robot) -> Iterable[Input]:
        for name, motor in robot.motors.items():
            if motor.link not in robot.loops:
                yield Input(name, motor.input_unit(robot.link(motor.link).joint))
        for name, stress in robot.stresses.items():
            yield Input(name, stress.input_unit)

    def densities(self, robot: Robot, link: Link, rod: Rod) -> Iterator[Density]:
        for name, stress in robot.stresses.items():
            if stress.rod == link.name:
                yield Density(f"stress {name!r}", (stress.stress,), stress.at, rod.strains.degree)

    def tables(self, places: Places, inputs: Sequence[str]) -> Efforts:
        place, data = [], []
        robot = places.robot
        for name, motor in robot.motors.items():
            if motor.link not in robot.loops:
                link = robot.link(motor.link)
                v = places.v0[motor.link] + motor.dof
                q = places.q0[motor.link] + (motor.dof if link.joint.group is None else 0)
                place.append([inputs.index(name), v, q])
                data.append(motor_law(motor))
        for stop in robot.stops.values():
            if stop.link not in robot.loops and stop.restitution is None:  # others are bearings
                place.append([-1, places.v0[stop.link] + stop.dof, places.q0[stop.link] + stop.dof])
                data.append(stop_law(stop))
        for name, stress in robot.stresses.items():
            link, rod, grid = places.rod(stress.rod)
            at = grid.weights > 0
            Phi = rod.strains.matrix(grid.X[at])
            gains = np.einsum("m,mai,ma->i", grid.weights[at] * rod.length, Phi, stress.at(grid.X[at]))
            for i, gain in enumerate(gains):
                if gain != 0.0:
                    place.append([inputs.index(name), places.strain_v(link) + i, places.strain_q(link) + i])
                    data.append([gain, 0.0, 0.0, np.inf, 0.0, 0.0, 0.0])
        return Efforts(place=as_rows(place, 3, np.int64), data=as_rows(data, EFFORT_WIDTH))

    def switches(self, tables: Efforts) -> bool:
        return is_cut(tables.data)

    def between(self, tables: Efforts) -> NDArray[np.int64]:
        return np.zeros((0, 2), dtype=np.int64)


EFFORTS = _Efforts()
