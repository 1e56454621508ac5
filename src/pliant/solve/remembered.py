"""What loads remember where a computation begins: internal variables of friction that sticks, of materials, of controllers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine
from ..system import Given, System
from .equilibrium import Equilibrium
from .result import Result

__all__ = ["initial_memory", "laws_alone", "touching"]

Array = NDArray[np.float64]


def initial_memory(system: System, start: Any) -> Array:
    """Internal variables (nz,) at a start: those of an Equilibrium or of the end of a Result, else zero, as before anything has happened."""
    known = None
    if isinstance(start, Equilibrium):
        known = start.memory
    elif isinstance(start, Result):
        known = start.last.memory
    return known.copy() if known is not None and len(known) == system.nz else np.zeros(system.nz)


def touching(system: System, q: Array, u: Array, memory: Array) -> Array:
    """Internal variables (nz,) at a start where nothing moves: also that something touches there.

    Those of laws of rods stay as they were: a start may be a guess, and what strains there are is reached on a straight way.
    """
    if not system.nz or laws_alone(system):
        return memory
    with system.borrow() as space:
        system.run_job(engine.RESIDUAL, q, u=u, given=Given(memory=memory), space=space)
        kept = space.work.kept.copy()
    laws = system.loads["laws"]
    own = slice(int(laws.first[0]), int(laws.first[0]) + len(laws.smooth)) if len(laws.smooth) else slice(0)
    kept[own] = memory[own]
    return np.asarray(kept)


def laws_alone(system: System) -> bool:
    """Whether all that is remembered are internal variables of laws of rods."""
    return 0 < system.nz == len(system.loads["laws"].smooth)
