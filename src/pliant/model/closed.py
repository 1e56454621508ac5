"""The part of a robot's description that closes loops."""

from __future__ import annotations

from collections.abc import Callable

from .joints import Fixed, Joint
from .links import Frame, Link
from .loops import Loop

__all__ = ["Closed"]


class Closed:
    """Mixin of `Robot`: loop joints."""

    loops: dict[str, Loop]

    # what the other parts of `Robot` provide
    resolve: Callable[..., Frame]
    _check_name: Callable[[str], None]

    def add_loop(
        self, name: str, a: Link | Frame | str, b: Link | Frame | str | None = None, *, joint: Joint | None = None
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
