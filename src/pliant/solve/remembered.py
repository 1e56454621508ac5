"""What loads remember where a computation begins: internal variables of friction that sticks, of materials, and states of controllers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system import Given, System
from .drive import Drive, State
from .equilibrium import Equilibrium
from .history import remembered
from .result import Result

__all__ = ["initial_control", "initial_memory", "laws_alone", "touching"]

Array = NDArray[np.float64]


def initial_memory(system: System, start: Any) -> Array:
    """Internal variables (nz,) at a start: those of an Equilibrium, a State or the end of a Result, else zero, as before anything has happened."""
    known = None
    if isinstance(start, (Equilibrium, State)):
        known = start.memory
    elif isinstance(start, Result):
        known = start.last.memory
    return known.copy() if known is not None and len(known) == system.nz else np.zeros(system.nz)


def initial_control(drive: Drive, start: Any) -> Array | None:
    """States of the controller at a start: those of the end of a Result with the same controller; None where it is switched on."""
    if drive.control is None or not isinstance(start, Result) or start.control_names != drive.control.names:
        return None
    known = start.last.control
    return None if known is None else known.copy()


def touching(system: System, q: Array, u: Array, memory: Array) -> Array:
    """Internal variables (nz,) at a start where nothing moves: also that something touches there.

    Those of laws of rods stay as they were: a start may be a guess, and what strains there are is reached on a straight way.
    """
    if not system.nz or laws_alone(system):
        return memory
    kept = remembered(system, q, u, Given(memory=memory))
    laws = system.loads["laws"]
    own = slice(int(laws.first[0]), int(laws.first[0]) + len(laws.smooth)) if len(laws.smooth) else slice(0)
    kept[own] = memory[own]
    return kept


def laws_alone(system: System) -> bool:
    """Whether all that is remembered are internal variables of laws of rods."""
    return 0 < system.nz == len(system.loads["laws"].smooth)
