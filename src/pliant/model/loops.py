"""Joints that close loops: between two frames of the tree, or a frame and the world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .joints import Joint
from .joints.constraints import Constraint
from .links import Frame

__all__ = ["NO_SPRING", "Loop"]

NO_SPRING = (
    "The joint of a loop only constrains; it has no spring, damper or rest position of its own. Give them to a joint of the "
    "tree, or add a body on a joint with them and close the loop on that body."
)


@dataclass(frozen=True)
class Loop:
    """A joint between two frames that the tree already places.

    Parameters
    ----------
    a, b : Frame
        The two frames. Where the joint is at zero, they coincide.
    joint : Joint
        What may move between them, with axes in the frames' own axes (the same in both). It only constrains: a joint with
        stiffness, damping or rest is refused.

    Notes
    -----
    The joint is a set of scalar constraints, each with a multiplier (see `kernels.loads.loops`).
    """

    a: Frame
    b: Frame
    joint: Joint

    def __post_init__(self) -> None:
        """Check that the joint constrains something and can be written down."""
        self.rows()
        for field in ("stiffness", "damping", "rest"):
            value = getattr(self.joint, field)
            if value is not None and np.any(value):
                raise ValueError(f"joint: {field} = {value!r} is not allowed. {NO_SPRING}")
        if self.a.link == self.b.link and self.a.X == self.b.X:
            raise ValueError("both frames are fixed to each other; a loop needs two different places.")

    def rows(self) -> list[Constraint]:
        """The constraints: kind, data of the kernel, description."""
        try:
            rows = self.joint.constraints()
        except NotImplementedError:
            raise TypeError(
                f"joint = {self.joint!r} does not say what it constrains, so it closes no loop: give its class a method "
                "constraints()."
            ) from None
        if not rows:
            raise TypeError(f"joint = {self.joint!r} constrains nothing, so it closes no loop.")
        return rows
