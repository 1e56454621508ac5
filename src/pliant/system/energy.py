"""Mass, energies and momentum: the sums over all steps that `System` answers with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.loads.water import W_CENTRE, W_MASS, W_POS, W_ROT
from ..kernels.recursion import kinematics as kernels
from .core import Array, Core

__all__ = ["Momentum", "Totals", "buoyancy_energy", "totals"]


class Momentum(NamedTuple):
    """Angular [kg m²/s] and linear [kg m/s] momentum in world axes, in the order of twists and wrenches; each (3,), or (nt, 3) over time."""

    angular: Array
    linear: Array


class Totals(NamedTuple):
    """Sums over the robot; see `kernels.recursion.kinematics.totals`."""

    mass: float
    moment: Array  # mass × centre of mass
    linear: Array  # momentum
    angular: Array  # momentum about the world's origin
    kinetic: float
    weight: float  # potential energy of gravity


def totals(system: Core, q: ArrayLike, v: ArrayLike | None = None) -> Totals:
    """Mass, centre of mass, momentum and energies in a state; at rest if v is left out."""
    out = np.empty(12)
    velocity = system._zero if v is None else system.check_v("v", v)
    with system.borrow() as space:
        kernels.compute_totals(*space.packed, system.check_q(q), velocity, out)
    return Totals(float(out[0]), out[1:4], out[4:7], out[7:10], float(out[10]), float(out[11]))


def buoyancy_energy(system: Core, q: ArrayLike) -> float:
    """See `System.buoyancy_energy`."""
    if not len(system.water.place):
        return 0.0
    poses = np.empty((len(system.tables.step) + 1, 12))
    with system.borrow() as space:
        kernels.step_poses(*space.packed, system.check_q(q), poses)
    rows, data = poses[system.water.place[:, 0]], system.water.data
    own = data[:, W_POS : W_POS + 3] + np.einsum(
        "kij,kj->ki", data[:, W_ROT : W_ROT + 9].reshape(-1, 3, 3), data[:, W_CENTRE : W_CENTRE + 3]
    )
    x = rows[:, 9:] + np.einsum("kij,kj->ki", rows[:, :9].reshape(-1, 3, 3), own)
    return float(data[:, W_MASS] @ (x @ system.tables.gravity))
