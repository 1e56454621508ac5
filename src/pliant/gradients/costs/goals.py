"""Terms of costs with names of their own: what tasks usually ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.pose import Pose
from ...model.validate import vector
from ...system import FrameLike
from .coordinates import InputRates, Inputs, Rates
from .cost import Term
from .frames import Orientation, Position, Velocity, frame_name
from .times import When

__all__ = ["Align", "Effort", "Reach", "Smooth", "Still", "Track"]


class Reach(Term):
    """``½ w |x − goal|²``: a frame is to be at a point, at the end unless `at` says otherwise.

    Parameters
    ----------
    frame : str, Frame or Link
    goal : array (3,)
        In the world [m].
    weight : float or array (3,)
        [1/m²], or one for each axis.
    at : "end", "all", "start", time, list of times, or costs.Weights
        See `costs.Term`.

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone, strains=pl.Strains.kirchhoff(3)
    ... )
    >>> system = robot.compile()
    >>> state = pl.costs.States.at_rest(system, system.neutral())
    >>> found = pl.Reach("arm.tip", (0.4, 0.0, 0.1)).evaluate(state)
    >>> print(round(found.value, 6), found.gradient.q.shape)
    0.005 (1, 12)
    """

    def __init__(self, frame: FrameLike, goal: ArrayLike, weight: Any = 1.0, at: When = "end") -> None:
        point = vector("goal", goal, (3,), hint="A point in the world [m]; for one that moves use pl.Track.")
        super().__init__(Position(frame) - point, at=at, weight=weight, name=f"reach {frame_name(frame)}")


class Track(Term):
    """``∫ ½ w |x − path(t)|² dt``: a frame is to follow a path.

    Parameters
    ----------
    frame : str, Frame or Link
    path : function of t, Signal, or array (T, 3)
        Where it is to be [m], at any time or at each row of the motion.
    weight : float or array (3,)
        [1/(m² s)], or one for each axis.
    at
        See `costs.Term`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Track("arm.tip", lambda t: (0.3, 0.1 * t, 0.0), weight=10.0)
    <cost track arm.tip>
    >>> pl.Track("arm.tip", pl.Signal([0, 1], [(0.3, 0, 0), (0.3, 0.1, 0)]))
    <cost track arm.tip>
    """

    def __init__(
        self, frame: FrameLike, path: Callable[[float], ArrayLike] | ArrayLike, weight: Any = 1.0, at: When = "all"
    ) -> None:
        if not callable(path) and (np.ndim(path) != 2 or np.shape(path)[1] != 3):
            raise ValueError(
                f"path has shape {np.shape(path)}, but rows (T, 3) are needed, or a function of t that returns (3,). For one point use "
                "pl.Reach."
            )
        super().__init__(Position(frame) - path, at=at, weight=weight, name=f"track {frame_name(frame)}")


class Align(Term):
    """``½ w |φ|²``: a frame is to have a rotation; φ is the rotation vector from it [rad].

    Parameters
    ----------
    frame : str, Frame or Link
    rotation : Pose or array (3, 3)
    weight, at
        See `costs.Term`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Align("arm.tip", pl.rotate("y", -1.57))
    <cost align arm.tip>
    """

    def __init__(
        self, frame: FrameLike, rotation: Pose | ArrayLike | None = None, weight: Any = 1.0, at: When = "end"
    ) -> None:
        super().__init__(Orientation(frame, rotation), at=at, weight=weight, name=f"align {frame_name(frame)}")


class Still(Term):
    """``½ w |ẋ|²`` of a frame, or ``½ w |v|²`` of all coordinates: no motion at the end.

    Parameters
    ----------
    frame : str, Frame or Link, optional
        All velocities v if left out.
    weight, at
        See `costs.Term`.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Reach("arm.tip", (0.3, 0.0, 0.1)) + pl.Still("arm.tip", 0.1) + pl.Still(weight=1e-3)
    <cost reach arm.tip + still arm.tip + still>
    """

    def __init__(self, frame: FrameLike | None = None, weight: Any = 1.0, at: When = "end") -> None:
        quantity = Rates() if frame is None else Velocity(frame)
        super().__init__(
            quantity, at=at, weight=weight, name="still" if frame is None else f"still {frame_name(frame)}"
        )


class Effort(Term):
    """``∫ ½ w |u|² dt`` of all inputs, or of those that are named.

    Examples
    --------
    >>> import pliant as pl
    >>> 1e-4 * pl.Effort() + pl.Effort(0.1, "motor")
    <cost 0.0001 × effort + effort motor>
    """

    def __init__(self, weight: Any = 1.0, names: str | Sequence[str] | None = None, at: When = "all") -> None:
        super().__init__(Inputs(names), at=at, weight=weight, name=_with_names("effort", names))


class Smooth(Term):
    """``∫ ½ w |u̇|² dt`` of all inputs, or of those that are named, with the rates of each step.

    Examples
    --------
    >>> import pliant as pl
    >>> pl.Smooth(1e-3)
    <cost smooth>
    """

    def __init__(self, weight: Any = 1.0, names: str | Sequence[str] | None = None, at: When = "all") -> None:
        super().__init__(InputRates(names), at=at, weight=weight, name=_with_names("smooth", names))


def _with_names(what: str, names: str | Sequence[str] | None) -> str:
    if names is None:
        return what
    return f"{what} {names if isinstance(names, str) else ', '.join(map(str, names))}"
