"""States between accepted steps, on the manifold of the coordinates: see `kernels.algebra.hermite`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.algebra import hermite as kernel
from ..system import System
from .closure import close
from .motion import MotionSet

__all__ = ["as_told", "between"]

Array = NDArray[np.float64]


def between(
    system: System, t: Array, q: Array, v: Array, a: Array, smooth: Array, times: Array
) -> tuple[Array, Array, Array]:
    """Coordinates, velocities and accelerations at times between the rows of a motion.

    Parameters
    ----------
    system : System
    t, q, v, a : ndarray (n,), (n, nq), (n, nv), (n, nv)
        The motion, n >= 2.
    smooth : ndarray (n,)
        1 where the step that begins in a row is interpolated by a quintic, with accelerations; 0 where by a cubic, without.
    times : ndarray (m,)
        Increasing, within t.

    Returns
    -------
    (q, v, a) : ndarray (m, nq), (m, nv), (m, nv)
    """
    m, internal = len(times), system.internal
    out_q, out_v, out_a = np.empty((m, system.nq)), np.empty((m, system.nv)), np.empty((m, system.nv))
    arrays = (np.ascontiguousarray(x, dtype=np.float64) for x in (t, q, v, a, smooth, times))
    kernel.interpolate(internal.shift, internal.spatial, *arrays, out_q, out_v, out_a, np.empty((5, system.nv)))
    return out_q, out_v, out_a


def as_told(
    system: System, motion: MotionSet, times: Array, states: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Interpolated states with prescribed coordinates as they are told, and loops closed."""
    q, v, a = states
    if motion.joints:
        for k, t in enumerate(times.tolist()):
            motion.joints_at(t, q[k], v[k], a[k])
    if system.loop_rows:
        for k, t in enumerate(times.tolist()):
            q[k] = close(system, q[k], told=motion.told_at(t))[0]
    return q, v, a
