"""Where links and their points are in the table of steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..model.links import Frame, Link, Rod
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.rods.quadrature import SAME_POINT, Grid

__all__ = ["Anchor", "Places", "as_rows"]


Made = TypeVar("Made")
_REMEMBERED = 4096  # things that a memory of `Places.made` holds at most


def as_rows(rows: Sequence[Any], width: int, dtype: type = np.float64) -> Any:
    """A table (len(rows), width), also of no rows."""
    return np.array(rows, dtype=dtype).reshape(-1, width)


@dataclass(frozen=True)
class Anchor:
    """A frame in the step table: the end of a step (−1: the world) and a fixed offset from it."""

    step: int
    offset: Pose

    def then(self, offset: Pose) -> Anchor:
        """The anchor at a further fixed offset."""
        return Anchor(self.step, self.offset @ offset)


@dataclass(frozen=True)
class Places:
    """Where links and their points are in the tables."""

    robot: Robot
    grids: Mapping[str, Grid]
    anchors: Mapping[str, Sequence[Anchor]]
    q0: Mapping[str, int]
    v0: Mapping[str, int]
    refine: int = 1  # how many times as many points along tendons as they would have
    notes: list[str] = field(default_factory=list)  # what points do not resolve
    counts: dict[tuple[str, int], NDArray[np.int64]] = field(
        default_factory=dict
    )  # points of tendons, by name and place
    spheres: dict[str, tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = field(
        default_factory=dict
    )  # along rods that touch all along: how many at each point; their places and shares of the length
    near: bool = False  # whether these are those of a robot that is hardly different, and serve here
    memory: dict[Any, tuple[tuple[Any, ...], Any]] = field(default_factory=dict, repr=False)  # of `made`

    def beside(self, robot: Robot, near: bool) -> Places:
        """The places of a robot that differs in numbers; `near` one, as for differences, with as many points along its tendons."""
        counts, spheres = (self.counts, self.spheres) if near else ({}, {})
        return replace(self, robot=robot, notes=[], counts=counts, spheres=spheres, near=near)

    def made(self, parts: tuple[Any, ...], how: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, or gave for the same parts (the objects themselves, which never change) of a robot from which this one was revised."""
        key = (how, *map(id, parts))
        known = self.memory.get(key)
        if known is not None and all(a is b for a, b in zip(known[0], parts)):
            found: Made = known[1]
            return found
        if len(self.memory) >= _REMEMBERED:
            self.memory.clear()
        new = make()
        self.memory[key] = parts, new
        return new

    def anchor(self, frame: Frame) -> Anchor:
        """The anchor of a frame; error if it is inside a rod and was not declared before compiling."""
        if frame.link == "world":
            return Anchor(-1, frame.offset)
        if frame.link not in self.grids:
            return self.anchors[frame.link][0].then(frame.offset)
        X = 1.0 if frame.X is None else frame.X
        points = self.grids[frame.link].X
        k = int(np.argmin(np.abs(points - X)))
        if abs(points[k] - X) > SAME_POINT:
            raise ValueError(
                f"X = {X:g} on rod {frame.link!r} is not a point of the compiled robot. Name it before compiling with "
                f"robot.add_frame('...', rod.at({X:g})); for poses alone, rod_poses works at any X."
            )
        return self.anchors[frame.link][k].then(frame.offset)

    def rod(self, name: str) -> tuple[Link, Rod, Grid]:
        """A rod with its grid."""
        link = self.robot.link(name)
        assert isinstance(link.content, Rod)
        return link, link.content, self.grids[name]

    def spread(self, rod: str) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Anchor]]:
        """Quadrature points X of a rod, their weights [m] and their anchors."""
        _link, content, grid = self.rod(rod)
        at = np.flatnonzero(grid.weights > 0)
        return grid.X[at], grid.weights[at] * content.length, [self.anchors[rod][int(i)] for i in at]

    def strain_q(self, link: Link) -> int:
        """First strain coordinate of a rod."""
        return self.q0[link.name] + link.joint.nq

    def strain_v(self, link: Link) -> int:
        """First strain velocity of a rod."""
        return self.v0[link.name] + link.joint.nv
