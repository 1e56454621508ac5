"""Joints that close loops: between two frames of the tree, or a frame and the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .joints import Fixed, Joint
from .joints.constraints import Constraint
from .links import Frame, Link

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["NO_SPRING", "Loop", "add_loop"]

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


def add_loop(
    self: Robot, name: str, a: Link | Frame | str, b: Link | Frame | str | None = None, *, joint: Joint | None = None
) -> Loop:
    """Close a loop by a joint between two frames; see `Loop`.

    Parameters
    ----------
    name : str
    a, b : link, frame or name
        The frames that the joint connects; the world if b is left out.
    joint : Joint, optional
        What may still move; fixed if left out. Without stiffness, damping and rest, which a loop does not have.

    Examples
    --------
    >>> import pliant as pl
    >>> robot = pl.Robot("two bars")
    >>> bars = [
    ...     robot.add_body(
    ...         f"bar{k}", offset=(0, y, 0), joint=pl.Revolute("z"),
    ...         shape=pl.Box(0.4, 0.02, 0.02), mass=0.1, com=(0.2, 0, 0),
    ...     )
    ...     for k, y in enumerate((-0.1, 0.1))
    ... ]
    >>> ends = [bar.at((0.4, 0, 0)) for bar in bars]
    >>> loop = robot.add_loop("pin", *ends, joint=pl.Revolute("z"))
    >>> robot.compile().loop_rows[:2]
    ('pin: position x', 'pin: position y')
    """
    self._check_name(name)
    if joint is not None and not isinstance(joint, Joint):
        raise TypeError(f"loop {name!r}: joint = {joint!r} must be a joint such as Revolute('z').")
    try:
        loop = Loop(self.resolve(a, field="a"), self.resolve(b, field="b"), Fixed() if joint is None else joint)
    except (TypeError, ValueError) as error:
        raise type(error)(f"loop {name!r}: {error}") from None
    self.loops[name] = loop
    return loop
