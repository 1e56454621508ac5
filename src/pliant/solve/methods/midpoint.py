"""The implicit midpoint rule: symmetric, without damping, with exact momentum; for long runs with constant steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels import slots
from ..floating import free_trees
from .integrator import Problem
from .marching import Marching
from .tableau import MIDPOINT

__all__ = ["Midpoint"]


class Midpoint(Marching):
    """Constant steps of second order that go back to where they came from if velocities are reversed.

    Energy does not drift: its error stays of the size that it has in the first oscillations. Trees that float freely keep
    linear and angular momentum to rounding, and their centre of mass flies its parabola; see `kernels.solve.momentum`.

    Parameters
    ----------
    problem : Problem
    """

    NEWTON = 1e-13  # relative: where the iteration stops, whatever the tolerances

    def __init__(self, problem: Problem) -> None:
        if problem.steps.constant is None:
            raise ValueError(
                "method 'midpoint' takes constant steps: give one as step=, for instance a twentieth of the shortest period that matters."
            )
        self._trees = free_trees(problem.system, problem.drive)
        super().__init__(problem, MIDPOINT)

    def _free(self) -> NDArray[np.int64]:
        return self._trees.rows

    def _set_options(self, tree: bool) -> None:
        super()._set_options(tree)
        p = self._p
        if self.problem.steps.newton is None:
            p[slots.OPTION_NEWTON] = self.NEWTON / p[slots.OPTION_RTOL]
        p[slots.MARCH_FORM] = 1.0  # the explicit form, which converges in fewer iterations where all digits are wanted
        p[slots.MARCH_SIZE] = 0.0  # there is no error estimate
        p[slots.MARCH_CONSERVE] = len(self._trees.rows) > 0

    def notes(self) -> list[str]:
        """Also which free trees have a momentum that is only as good as the step."""
        held = [f"{name!r} ({why})" for name, why in self._trees.held.items()]
        own = [f"Momentum is not kept exactly: of {', '.join(held)}."] if held else []
        return own + super().notes()
