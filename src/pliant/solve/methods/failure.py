"""What to say of an implicit step that Newton's iteration did not get through."""

from __future__ import annotations

import numpy as np

from ...kernels.solve.newton import SINGULAR
from ...kernels.solve.tape import Tape
from ...system import System
from ...system.dynamics import residual_tangent

__all__ = ["why_not"]

FAR = 100.0  # natural sizes of coordinates in one stage, which no step can mean
REGULAR = 1e-15  # reciprocal condition of a tangent that can be solved with


AWAY = "Newton's iteration runs away: the step is too long for what moves here"


def why_not(system: System, tape: Tape, g: float, status: int) -> str:
    """Why the stages on a tape, with g = γh, were not solved.

    An iteration that has run away ends where numbers overflow or mean nothing, and there the tangent may be singular too. That says nothing of the step: a tangent is
    called singular only if the one where the step starts cannot be solved with either, or if that is not known since the robot has constraints.
    """
    with np.errstate(all="ignore"):
        near = np.abs(g * tape.v[1:]) <= FAR * system.internal.scale
    if not np.all(near) or not np.all(np.isfinite(tape.q)):
        return AWAY
    if status != SINGULAR:
        return "Newton's iteration does not converge"
    constrained = system.loop_rows or system.held_tendons or np.any(system.known)
    return "its tangent is singular" if constrained or not _regular(system, tape, g) else AWAY


def _regular(system: System, tape: Tape, g: float) -> bool:
    scale, nu = system.internal.scale, system.nu
    u, tau = tape.inputs[0, :nu].copy(), tape.inputs[0, nu:].copy()
    state = tape.q[0].copy(), tape.v[0].copy(), np.zeros(system.nv), u, tau
    S = scale[:, None] * residual_tangent(system, state, (1.0, 1.0 / g, 1.0 / g**2)) * scale
    return bool(np.all(np.isfinite(S)) and np.linalg.cond(S) < 1.0 / REGULAR)
