"""What an environment is, for many robots at once: `Task`."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..gradients.rollout import Method
from ..solve.statics import solve_statics
from ..system import System
from .flock import Flock

__all__ = ["Judged", "Task"]

Array = NDArray[np.float64]


class Judged(NamedTuple):
    """What became of a step of all robots."""

    reward: Array  # (n,)
    ended: NDArray[np.bool_]  # (n,) whether the task itself is at its end
    success: NDArray[np.bool_]  # (n,) whether the robot is where it should be


class Task:
    """A robot and what it is to do. Write your own: `build`, `drive`, `judge`, `observe`, and `begin` and `move` if need be.

    All functions see all robots of a `Flock` at once and work on rows, so that one environment and a thousand are the same code.

    Parameters
    ----------
    system : System, optional
        Instead of the robot that `build` makes; it must have the same inputs and frames.

    Attributes
    ----------
    step : float
        Period of the actions [s].
    substeps, method, tolerance
        As of `Stepper`.
    horizon : int
        Steps after which an episode is cut off.
    actions, observations : int
        How many numbers they have. Actions are between −1 and 1.
    fields : dict of shapes
        What is kept of each robot in `Flock.own`.
    marks : names of fields
        Positions to draw.
    """

    step: ClassVar[float] = 0.02
    substeps: ClassVar[int] = 1
    method: ClassVar[Method] = "sdirk3"
    tolerance: ClassVar[float] = 1e-6
    horizon: ClassVar[int] = 100
    actions: ClassVar[int]
    observations: ClassVar[int]
    fields: ClassVar[dict[str, tuple[int, ...]]] = {}
    marks: ClassVar[tuple[str, ...]] = ()
    view: ClassVar[str] = "3d"
    box: ClassVar[tuple[tuple[float, float], ...]] = ((-0.3, 0.3), (-0.3, 0.3), (-0.3, 0.3))

    def __init__(self, system: System | None = None) -> None:
        self.system = self.build() if system is None else system
        self.rest: Any = self.settle()

    def build(self) -> System:
        """The robot."""
        raise NotImplementedError

    def settle(self) -> Any:
        """Where episodes start: an equilibrium, or coordinates (nq,)."""
        return solve_statics(self.system)

    def begin(self, flock: Flock, k: int, rng: np.random.Generator) -> None:
        """Draw what is random of robot k at its start."""

    def drive(self, flock: Flock, actions: Array) -> Array:
        """Inputs (n, nu) for actions (n, actions)."""
        raise NotImplementedError

    def move(self, flock: Flock) -> None:
        """What else moves in a step, such as a target."""

    def judge(self, flock: Flock) -> Judged:
        """Rewards after a step."""
        raise NotImplementedError

    def observe(self, flock: Flock) -> Array:
        """Observations (n, observations)."""
        raise NotImplementedError
