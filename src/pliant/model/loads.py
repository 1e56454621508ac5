"""What acts on a robot from outside: point wrenches (more kinds follow)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .links import Frame
from .validate import choice, vector

__all__ = ["PointWrench"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PointWrench:
    """A force and moment at a frame.

    Parameters
    ----------
    frame : Frame
        Where it acts; inside a rod the point becomes a computational point.
    force, moment : array (3,)
        Force [N] and moment [N m], per unit of its input (or as they are, if constant).
    axes : "world" or "body"
        Directions fixed in the world (a dead load) or turning with the frame (a follower load).
    constant : bool
        Whether it acts always with its full value; otherwise an input of its name scales it.
    """

    frame: Frame
    force: Array
    moment: Array
    axes: Literal["world", "body"] = "world"
    constant: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "force", vector("force", self.force, (3,), hint="(fx, fy, fz) in N."))
        object.__setattr__(self, "moment", vector("moment", self.moment, (3,), hint="(mx, my, mz) in N m."))
        choice("axes", self.axes, ("world", "body"), hint="'world' is a dead load, 'body' a follower load.")
        if not (np.any(self.force) or np.any(self.moment)):
            raise ValueError("force and moment are both zero; give at least one.")
