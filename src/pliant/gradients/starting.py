"""Constraints that stay as they start: lengths of tendons and rows of loops that nobody tells anything follow what they are at the given start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..system import System

if TYPE_CHECKING:
    from .plan import Plan

__all__ = ["Starting"]

Array = NDArray[np.float64]


class Starting:
    """What such constraints follow, as a function of the start and of the robot.

    Parameters
    ----------
    plan : Plan
        Of the whole motion.

    Attributes
    ----------
    rows : list of int
        Their numbers among all constraints: tendons, then rows of loops.
    slopes : ndarray (rows, nv)
        Derivatives by the start; zero for what is prescribed.
    """

    def __init__(self, plan: Plan) -> None:
        self.rows = plan.told().starting if plan.system.told else []
        self._q, self._tendons = plan.q, len(plan.system.tendons.law)
        self.slopes: Array = np.zeros((len(self.rows), plan.system.nv))
        if self.rows:
            parts = [plan.system.tendon_lengths(self._q)[1], plan.system.closure(self._q)[1]]
            self.slopes[:] = np.where(plan.system.known, 0.0, np.vstack(parts)[self.rows])

    def values(self, system: System) -> Array:
        """What they follow, for a robot with other parameters (rows,)."""
        if not self.rows:
            return np.zeros(0)
        return np.concatenate([system.tendon_lengths(self._q)[0], system.closure(self._q)[0]])[self.rows]
