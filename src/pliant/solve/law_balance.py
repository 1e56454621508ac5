"""What laws of rods and active strains do in a motion: power, stored energy, work of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..system import System
from ..system.laws import forces_of_laws, has_laws

if TYPE_CHECKING:
    from .result import Result

__all__ = ["LawBalance"]

Array = NDArray[np.float64]


class LawBalance:
    """Forces and energies of laws at the stored times of a run."""

    def __init__(self, run: Result) -> None:
        self.run = run
        self.present = has_laws(run.system)
        self.power, self.energy = np.zeros((2, len(run.t)))  # W, J

    def elastic(self, k: int) -> Array:
        """Elastic forces (nv,) at a stored time, with all that laws do there."""
        run, system = self.run, self.run.system
        if not self.present:
            return system.elastic_forces(run.q[k])
        memory = run.given(k).memory
        own = forces_of_laws(system, run.q[k], run.v[k], run.u[k], memory)
        rest = forces_of_laws(system, run.q[k], None, run.u[k], memory)
        self.power[k], self.energy[k] = own.force @ run.v[k], own.energy
        return np.asarray(system.elastic_forces(run.q[k], run.u[k], memory=memory) - rest.force + own.force)

    def active_work(self) -> Array:
        """Work (nt,) that changes of active strains have done up to each time [J]."""
        run, system = self.run, self.run.system
        out = np.zeros(len(run.t))
        for name in system.robot.active_strains:
            j = system.input_names.index(name)
            slope = np.array([_slope(system, run, k, j) for k in range(len(run.t))])
            out[1:] += np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(run.u[:, j]))
        return out


def _slope(system: System, run: Result, k: int, j: int) -> float:
    """Derivative of the stored energy by an input, by central differences [J]."""
    h = 1e-4 * max(1.0, abs(run.u[k, j]))
    ends = []
    for sign in (1.0, -1.0):
        u = run.u[k].copy()
        u[j] += sign * h
        ends.append(forces_of_laws(system, run.q[k], None, u, run.given(k).memory).energy)
    return (ends[0] - ends[1]) / (2 * h)
