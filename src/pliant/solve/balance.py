"""How well forces balance: the residual of statics and the physical size that it is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine
from ..system import AS_DESCRIBED, Given, System

__all__ = ["Balance", "measure", "static_tangent"]

Array = NDArray[np.float64]
ROUNDING = 1e-13  # a relative residual below this is zero


def static_tangent(
    system: System,
    q: Array,
    u: Array,
    tau: Array,
    weights: tuple[float, float, float] = (1.0, 0.0, 0.0),
    given: Given = AS_DESCRIBED,
) -> tuple[Array, Array]:
    """Residual at rest and its derivative (weights as of `System.residual_tangent`), for tensions of any sign."""
    r, K, p = np.empty(system.nv), np.empty((1, system.nv, system.nv)), np.zeros(engine.PARAMETERS)
    p[:3] = weights
    system.run_job(engine.TANGENT, q, u=u, tau=tau, force=r, p=p, S=K, given=given)
    return r, K[0]


@dataclass(frozen=True)
class Balance:
    """Forces at rest.

    Attributes
    ----------
    r : ndarray (nv,)
        Residual in scaled coordinates; prescribed ones have none.
    force : float
        Largest scaled force of any kind: elastic, weight, loads, tau, of loops. Infinite if something is not finite.
    """

    system: System
    q: Array
    u: Array
    tau: Array
    r: Array
    force: float
    given: Given = AS_DESCRIBED

    @property
    def imbalance(self) -> float:
        """Largest entry of r."""
        return float(np.abs(self.r).max(initial=0.0))

    def residual(self, limit: float) -> float:
        """The imbalance, relative to a force.

        To the largest one that acts; if that leaves more than `limit`, all forces may have vanished together (a pendulum
        that hangs, a needle along its field), and then to the one that half a unit of motion calls up, if it is larger.
        """
        if not np.isfinite(self.force):
            return np.inf
        if self.imbalance <= limit * self.force:
            return self.imbalance / self.force if self.force > 0.0 else 0.0
        return self.imbalance / max(self.force, self._force_nearby())

    def _force_nearby(self) -> float:
        """Smallest of the forces at a few places half a unit of motion away: what pushes hard on one side only is left out."""
        scale = np.where(self.system.known, 0.0, self.system.internal.scale)
        rng = np.random.default_rng(0)
        moves = 0.5 * scale * rng.choice([-1.0, 1.0], size=(3, self.system.nv))
        forces = [
            measure(self.system, self.system.integrate(self.q, sign * move), self.u, self.tau, given=self.given).force
            for move in moves
            for sign in (1.0, -1.0)
        ]
        return min(forces) if np.all(np.isfinite(forces)) else 0.0


def measure(
    system: System, q: Array, u: Array, tau: Array, constraint: Array | None = None, given: Given = AS_DESCRIBED
) -> Balance:
    """The balance at q; `constraint` (rows, nv) are forces of loops, which count one by one."""
    scale = np.where(system.known, 0.0, system.internal.scale)
    r = np.empty(system.nv)
    system.run_job(engine.RESIDUAL, q, u=u, tau=tau, force=r, given=given)
    elastic, weight = system.elastic_forces(q), np.empty(system.nv)
    system.run_job(engine.ID, q, force=weight, given=given)
    with np.errstate(all="ignore"):
        parts = np.array([r, elastic, weight, r - elastic - weight + tau, tau])
        if constraint is not None:
            parts = np.vstack([parts, constraint])
        force = float(np.abs(scale * parts).max(initial=0.0))
    return Balance(system, q, u, tau, scale * r, force if np.isfinite(force) else np.inf, given)
