"""A sentence for results whose rods have too few points, or loads and tendons that no points follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..system import System
from ..system.spatial import points_advice, rough_error, shape_error

__all__ = ["most_bent", "spatial_warning"]

Array = NDArray[np.float64]

_SURE = 0.4  # the estimate without a finer system is never below half of the error


def most_bent(system: System, states: Array) -> Array:
    """The configuration (nq,) among states (m, nq) in which some strain coordinate is largest, measured by the rod's length."""
    size = np.zeros(len(states))
    for info in system._assembly.links.values():
        if info.link.is_rod:
            scaled = states[:, info.rod_q] / system.internal.scale[info.rod_v]
            size = np.maximum(size, np.abs(scaled).max(axis=1))
    return np.asarray(states[int(np.argmax(size))], dtype=np.float64)


def spatial_warning(system: System, q: ArrayLike, tolerance: float) -> str | None:
    """What to say of the points along rods in a configuration; None if they are enough.

    An estimate that takes some 10 µs decides whether the finer system is asked, which is compiled once.

    Parameters
    ----------
    system : System
    q : array (nq,), or (m, nq)
        The configuration, or stored ones of which the most bent is taken.
    tolerance : float
        Largest error of a position relative to the length of the rods.

    Returns
    -------
    str or None
        Full sentences: how large the error is, of which rod, and what to do.
    """
    states = np.asarray(q, dtype=np.float64)
    if states.ndim == 2:
        if not len(states):
            return None
        states = most_bent(system, states)
    said = list(system._assembly.notes)
    if rough_error(system, states) > _SURE * tolerance:  # not so for NaN
        error, rods = shape_error(system, states)
        if error > tolerance:
            said.insert(
                0,
                f"The points along rods leave an error of {100 * error:.2g} % of their length, more than the tolerance of "
                f"{100 * tolerance:.2g} %. {points_advice(system, rods, error, tolerance)}",
            )
    return " ".join(said) or None
