"""What is to be in equilibrium, and where an iteration for it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..kernels.layout import STATIC
from ..system import AS_DESCRIBED, Given, System
from .balance import ROUNDING

__all__ = ["Attempt", "Problem"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """What is to be in equilibrium, and how hard to try."""

    system: System
    u: Array
    tau: Array
    tolerance: float = 1e-10
    iterations: int = 60
    radius: float = 3.0
    stable: bool | None = True
    gravity: float = 1.0  # factor on gravity
    share: float = 1.0  # of all constant loads, gravity too
    memory: Array | None = None  # (nz,) internal variables at the start
    since: Array | None = None  # (nq,) the start
    sticks: bool = False  # whether internal variables count though there are loops

    @property
    def given(self) -> Given:
        """What acts beside inputs and forces."""
        if self.gravity == self.share == 1.0 and not self.system.nz:
            return AS_DESCRIBED
        acts = Given(gravity=self.share * self.gravity, share=self.share)
        return acts._replace(memory=self.memory, lag=STATIC, since=self.since) if self.system.nz else acts

    def part(self, share: float) -> Problem:
        """With a share of all loads."""
        return self if share == 1.0 else replace(self, u=share * self.u, tau=share * self.tau, share=share)

    @cached_property
    def potential(self) -> bool:
        """Whether all loads have a potential, so that energy can descend."""
        if self.memory is not None and self.system.sticks(self.memory):
            return False
        return self.system.has_potential(self.u, self.tau)

    @cached_property
    def limit(self) -> float:
        """Largest residual of an equilibrium."""
        return max(self.tolerance, ROUNDING)


@dataclass(frozen=True)
class Attempt:
    """Where an iteration ended."""

    q: Array
    status: int
    residual: float
    iterations: int
    note: str = ""
    lost: bool = False  # whether Newton's method had no good steps: no stiffness, or a way that is mostly shifted
    K: Array | None = None  # tangent stiffness there, if it is known
    definite: bool = False  # whether K is known to be positive definite beyond doubt
