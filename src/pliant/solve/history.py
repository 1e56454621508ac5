"""What loads remember where statics ends, and what it means for a motion that begins there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine
from ..kernels.layout import STATIC
from ..system import Given, System

__all__ = ["at_instant", "holding", "remembered"]

Array = NDArray[np.float64]


def remembered(system: System, q: Array, u: Array, given: Given) -> Array:
    """Internal variables (nz,) at rest at q, of what is `given`."""
    with system.borrow() as space:
        system.run_job(engine.RESIDUAL, q, u=u, given=given, space=space)
        return np.asarray(space.work.kept.copy())


def at_instant(system: System, q: Array, u: Array, given: Given) -> Given:
    """Where statics has come to, as the start of a motion: what acts on velocities."""
    if not system.nz or given.lag == 0.0:
        return given
    return given._replace(memory=remembered(system, q, u, given), lag=0.0, since=None)


def holding(given: Given, q: Array) -> Given:
    """What acts on small displacements from an equilibrium q, with what is remembered there: what touches holds."""
    return given if given.memory is None else given._replace(lag=STATIC, since=q)
