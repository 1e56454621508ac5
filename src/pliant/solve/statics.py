"""Static equilibrium: Newton with the exact tangent, made robust by energy descent and load stepping."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine
from ..kernels.newton import CONVERGED, EXHAUSTED, NOT_FINITE, SINGULAR, STALLED
from ..model.validate import integer, positive
from ..system import Inputs, System

__all__ = ["Equilibrium", "solve_statics"]

Array = NDArray[np.float64]

_REASONS = {
    int(CONVERGED): "converged",
    int(STALLED): "no further decrease was possible; try load_steps, another start, or a smaller radius",
    int(SINGULAR): "the tangent is singular: some coordinate has neither stiffness nor load; add stiffness or fix it",
    int(EXHAUSTED): "the iterations ran out; raise `iterations` or use load_steps",
    int(NOT_FINITE): "the residual is not finite; the start or the inputs contain NaN or overflow",
}


@dataclass(frozen=True)
class Equilibrium:
    """Result of `solve_statics`.

    Attributes
    ----------
    q : ndarray (nq,)
        The equilibrium, or the best configuration found.
    u, tau : ndarray
        Inputs (nu,) and further generalised forces (nv,) that hold it.
    success : bool
        Whether the tolerance was met.
    stable : bool
        Whether the tangent stiffness is positive definite there.
    residual : float
        Largest scaled residual relative to the largest scaled force.
    iterations : int
        Newton iterations in all.
    load_steps : int
        Load steps that were needed (1: a direct solve).
    message : str
        Why the iteration stopped, and what to try if it failed.
    """

    q: Array
    u: Array
    tau: Array
    success: bool
    stable: bool
    residual: float
    iterations: int
    load_steps: int
    message: str

    def __str__(self) -> str:
        """One line."""
        kind = "stable" if self.stable else "unstable"
        state = f"{kind} equilibrium" if self.success else "NOT converged"
        return f"{state}: residual {self.residual:.1e} after {self.iterations} iterations ({self.message})"


def solve_statics(
    system: System,
    u: Inputs = None,
    *,
    tau: ArrayLike | None = None,
    start: ArrayLike | Equilibrium | None = None,
    tolerance: float = 1e-10,
    iterations: int = 60,
    radius: float = 3.0,
    stable: bool = True,
    load_steps: int | None = None,
) -> Equilibrium:
    """Find a static equilibrium: ``ID(q, 0, 0) + elastic(q) = B(q) u + tau``.

    Parameters
    ----------
    system : System
    u : dict, array (nu,) or None
        Inputs, e.g. tensions [N] by tendon name.
    tau : array (nv,), optional
        Further generalised forces.
    start : array (nq,) or Equilibrium, optional
        Where to start; the neutral configuration if left out.
    tolerance : float
        Largest scaled residual relative to the largest scaled force, or largest scaled Newton step (dimensionless).
    iterations : int
        Newton iterations per load step.
    radius : float
        Largest step in scaled coordinates (rad of bending over a rod's length, rad of a joint).
    stable : bool
        Descend in potential energy to an equilibrium with positive definite stiffness (default). False: plain
        Newton with backtracking on the residual, which also finds unstable equilibria. Loads without a
        potential (moments, follower wrenches) always use the latter; `Equilibrium.stable` tells what was found.
    load_steps : int, optional
        Apply gravity, inputs and tau in this many steps. Left out: one, and automatically more if that fails.

    Returns
    -------
    Equilibrium
        Never raises for lack of convergence; look at `success` and `message`.
    """
    positive("tolerance", tolerance)
    positive("radius", radius)
    integer("iterations", iterations, minimum=1)
    inputs = system.inputs(u)
    forces = np.zeros(system.nv) if tau is None else system.check_v("tau", tau)
    if isinstance(start, Equilibrium):
        start = start.q
    q0 = system.neutral() if start is None else system.check_q(start).copy()
    options = (tolerance, iterations, radius, stable)
    if load_steps is not None:
        return _stepped(system, q0, inputs, forces, integer("load_steps", load_steps, minimum=1), options)
    result = _newton(system, q0, inputs, forces, 1.0, options)
    if stable and not result.stable and result.residual <= 1e-6:
        result = _leave_saddle(system, result, options)
    best = result
    steps = 4
    while not best.success and steps <= 64:
        result = _stepped(system, q0, inputs, forces, steps, options)
        if result.success or result.residual < best.residual:
            best = result
        steps *= 4
    if not best.success:
        result = _relax(system, q0, inputs, forces, options)
        if result.success or result.residual < best.residual:
            best = result
    return best


def _relax(system: System, q: Array, u: Array, tau: Array, options: tuple) -> Equilibrium:
    """Damped pseudo-time descent ([004] eq. 45): implicit steps of ``η ẋ = −r`` that grow as the residual falls.

    Follows the flow to a stable equilibrium where Newton's method fails; then Newton finishes.
    """
    scale, zero = system.internal.scale, np.zeros(system.nv)
    K = system.residual_tangent(q, zero, zero, u, tau)
    eta = scale * np.abs(np.diag(K)) * scale
    if not 0.0 < eta.max() < np.inf:
        return _newton(system, q, u, tau, 1.0, options)
    eta = np.maximum(eta, 1e-6 * eta.max())
    pace, last = 0.1, np.inf
    total = 0
    while total < 20 * options[1]:
        total += 1
        r = scale * system.residual(q, zero, zero, u, tau)
        size = float(np.abs(r).max())
        if not np.isfinite(size):
            break
        if np.isfinite(last):
            pace = float(np.clip(pace * np.clip(last / max(size, 1e-300), 0.5, 2.0), 1e-3, 1e12))
        last = size
        K = scale[:, None] * system.residual_tangent(q, zero, zero, u, tau) * scale
        try:
            step = np.linalg.solve(K + np.diag(eta / pace), -r)
        except np.linalg.LinAlgError:
            break
        step *= min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-300))
        q = system.integrate(q, scale * step)
        if float(np.abs(step).max()) < 1e-6 and pace > 10:
            break
    result = _newton(system, q, u, tau, 1.0, options)
    return replace(result, iterations=total + result.iterations)


def _leave_saddle(system: System, saddle: Equilibrium, options: tuple) -> Equilibrium:
    """From an unstable equilibrium, step along its softest direction and descend from there."""
    scale = system.internal.scale
    zero = np.zeros(system.nv)
    K = system.residual_tangent(saddle.q, zero, zero, saddle.u, saddle.tau)
    K = scale[:, None] * (K + K.T) / 2 * scale
    direction = scale * np.linalg.eigh(K)[1][:, 0]
    for size in (1e-3, 1e-2, 0.1):
        q = system.integrate(saddle.q, size * direction)
        result = _newton(system, q, saddle.u, saddle.tau, 1.0, options)
        if result.success and result.stable:
            return replace(result, iterations=saddle.iterations + result.iterations)
    return saddle


def _stepped(system: System, q: Array, u: Array, tau: Array, steps: int, options: tuple) -> Equilibrium:
    """Scale all loads from 0 to 1 in equal steps, each started from the last."""
    total = 0
    result = None
    for k in range(1, steps + 1):
        s = k / steps
        result = _newton(system, q, s * u, s * tau, s, options)
        total += result.iterations
        q = result.q
        if not result.success:
            break
    assert result is not None
    done = k == steps and result.success
    message = result.message if done else f"load step {k} of {steps}: {result.message}"
    return Equilibrium(result.q, u, tau, done, result.stable, result.residual, total, steps, message)


def _newton(system: System, q: Array, u: Array, tau: Array, gravity: float, options: tuple) -> Equilibrium:
    """One Newton iteration to the end, with gravity scaled."""
    tolerance, iterations, radius, stable = options
    p = np.zeros(engine.PARAMETERS)
    p[:4] = tolerance, iterations, radius, float(stable and system.has_potential(u, tau))
    solution = q.copy()
    with system.scaled_gravity(gravity, wrenches=True):
        status = system.run_job(
            engine.STATICS, q.copy(), u=u, tau=tau, p=p, S=np.zeros((2, system.nv, system.nv)), q1=solution
        )
    return Equilibrium(
        q=solution,
        u=u,
        tau=tau,
        success=bool(status == CONVERGED),
        stable=bool(p[20] == 1.0),
        residual=float(p[17]),
        iterations=int(p[16]),
        load_steps=1,
        message=_REASONS[int(status)],
    )
