"""Robots of programs with the same strains: their coordinates and pliant's."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..model.joints import Joint, Planar, Universal
from ..model.pose import Pose, as_pose, rotate
from ..model.robot import Robot
from ..model.validate import vector

__all__ = ["ImportedLinkage", "Part", "joint_part"]

Array = NDArray[np.float64]


@dataclass
class ImportedLinkage:
    """A robot of SoRoSim or soromox, with the way between its coordinates and pliant's.

    Attributes
    ----------
    robot : Robot
        Links are called link1, link2, …; of SoRoSim a soft link with several divisions link1_1, link1_2, …; cables cable1, …; joints that are driven by a torque motor1, ….
    warnings : tuple of str
        What could not be taken over, each a sentence.
    inputs : tuple of str
        Names of pliant's inputs in the order there.
    """

    robot: Robot
    warnings: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    signs: tuple[float, ...] = ()
    parts: tuple[Part, ...] = field(default=(), repr=False)

    def to_pliant(self, q: ArrayLike) -> Array:
        """Coordinates (nq,) of pliant from those of the other program."""
        given = vector("q", q, (sum(part.size for part in self.parts),), hint="The coordinates of the other program.")
        out, at = [], 0
        for part in self.parts:
            out.append(part.read(given[at : at + part.size]))
            at += part.size
        return np.concatenate([np.zeros(0), *out])

    def from_pliant(self, q: ArrayLike) -> Array:
        """Coordinates of the other program from those of pliant (nq,)."""
        given = vector("q", q, (self.robot.nq,))
        out, at = [], 0
        for part in self.parts:
            out.append(part.write(given[at : at + part.nq]))
            at += part.nq
        return np.concatenate([np.zeros(0), *out])

    def input_values(self, u: ArrayLike) -> dict[str, float]:
        """Inputs of pliant by name from SoRoSim's vector; cables change their sign."""
        given = vector("u", u, (len(self.inputs),), hint="SoRoSim's inputs: joints first, then cables.")
        return {name: float(sign * value) for name, sign, value in zip(self.inputs, self.signs, given)}


@dataclass(frozen=True, eq=False)
class Part:
    """Coordinates of a joint or of a rod there and here."""

    size: int  # there
    nq: int  # here
    scale: Array  # q here = scale * q there, if there is no basis
    basis: Array | None = None  # (6, dof) columns of a joint with exponential coordinates
    joint: Joint | None = None

    def read(self, q: Array) -> Array:
        """Here from there."""
        if self.basis is None:
            return self.scale * q
        if isinstance(self.joint, Universal):
            raise ValueError(
                "universal joints turn about one axis between both there, here about both one after the other: there is no same coordinate."
            )
        g = lie.exp(self.basis @ q)
        if isinstance(self.joint, Planar):
            first, second = self.joint.in_plane_axes
            angle = float(np.asarray(self.joint.normal) @ self.basis[:3] @ q)
            return np.array([first @ g[:3, 3], second @ g[:3, 3], angle])
        pose = as_pose(g)
        return np.concatenate([pose.quaternion, pose.translation])[: self.nq]

    def write(self, q: Array) -> Array:
        """There from here."""
        if self.basis is None:
            return q / self.scale
        if isinstance(self.joint, Universal):
            return self.read(q)  # its error says why
        if isinstance(self.joint, Planar):
            first, second = self.joint.in_plane_axes
            g = Pose(q[0] * first + q[1] * second, rotate(self.joint.normal, float(q[2])).rotation).matrix
            return np.asarray(np.linalg.lstsq(self.basis, lie.log(g), rcond=None)[0], dtype=np.float64)
        pose = Pose.from_quaternion(q[:4], q[4:] if len(q) > 4 else (0.0, 0.0, 0.0))
        return np.asarray(np.linalg.lstsq(self.basis, lie.log(pose.matrix), rcond=None)[0], dtype=np.float64)


def joint_part(joint: Joint, basis: Array) -> list[Part]:
    """Coordinates of a joint whose motions are the columns of a basis (6, dof), times which their exponential is taken there."""
    size = basis.shape[1]
    if joint.group is not None or isinstance(joint, (Planar, Universal)):
        return [Part(size, joint.nq, np.ones(size), basis, joint)]
    return [Part(size, size, np.ones(size))] if size else []
