"""What loads remember where a computation begins: internal variables of friction that sticks, of materials, of controllers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system import Given, System
from .equilibrium import Equilibrium
from .history import remembered
from .result import Result

__all__ = ["initial_memory", "touching"]

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
    """Internal variables (nz,) at a start where nothing moves: also that something touches there."""
    return remembered(system, q, u, Given(memory=memory)) if system.nz else memory
