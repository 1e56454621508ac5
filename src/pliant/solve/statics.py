"""Static equilibrium: Newton with the exact tangent, made robust by energy descent and load stepping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine
from ..kernels.newton import CONVERGED, EXHAUSTED, NOT_FINITE, SINGULAR, STALLED
from ..model.validate import integer, positive
from ..system import Contacts, Inputs, System
from .closure import null_space, overdriven, redundant_constraints
from .motion import MotionSet

if TYPE_CHECKING:
    from ..viz.live import Viewer

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
    u : ndarray (nu,)
        Inputs that hold it.
    tau : ndarray (nv,)
        Further generalised forces that hold it.
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
    multipliers : ndarray (rows,)
        Forces of loop joints, in the order of `System.loop_rows`; see `System.loop_wrench`.
    system : System or None
        What is in equilibrium, for `view` and `save_html`; not copied to other processes.
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
    multipliers: Array = field(default_factory=lambda: np.zeros(0))
    system: System | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the system, which may hold functions that cannot be pickled."""
        return {**self.__dict__, "system": None}

    def view(self, **options: Any) -> Viewer:
        """Show the shape on a page in the browser; options as of `Result.view`: host, port, color, blocking."""
        from ..viz.show import show

        return show(self._known_system(), self.q, u=self.u, **options)

    def save_html(self, path: str | Path, *, color: str | None = None) -> Path:
        """Write the shape to one HTML file that any browser shows, without a network; `color` as of `Result.view`."""
        from ..viz.show import save_html

        return save_html(self._known_system(), path, self.q, u=self.u, color=color)

    def _known_system(self) -> System:
        if self.system is None:
            raise ValueError(
                "this equilibrium does not know its system (it was pickled, or made by hand); use pliant.show(system, rest.q)."
            )
        return self.system

    @property
    def contacts(self) -> Contacts:
        """Where the robot touches something, and with which forces; see `System.contacts`."""
        return self._known_system().contacts(self.q)

    def __str__(self) -> str:
        """One line."""
        kind = "stable" if self.stable else "unstable"
        state = f"{kind} equilibrium" if self.success else "NOT converged"
        return f"{state}: residual {self.residual:.1e} after {self.iterations} iterations ({self.message})"

    def plot_shape(self, **options: Any) -> Any:
        """Draw the robot in this equilibrium; see `pliant.viz.drawing.plot_shape`."""
        from ..viz.drawing import plot_shape

        return plot_shape(self._known_system(), self.q, **options)


def solve_statics(
    system: System,
    u: Inputs = None,
    *,
    tau: ArrayLike | None = None,
    motion: Mapping[str, Any] | None = None,
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
    motion : dict, optional
        Values of prescribed joints and lengths of tendons of prescribed length, by name (functions are taken at t = 0).
        What is not given stays as it starts.
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

    Examples
    --------
    >>> import pliant as pl
    >>> silicone = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    >>> robot = pl.Robot("arm")
    >>> arm = robot.add_rod(
    ...     "arm", length=0.4, section=pl.Circle(0.015), material=silicone,
    ...     strains=pl.Strains.kirchhoff(3),
    ... )
    >>> cable = robot.add_tendon("cable", arm, z=0.012)
    >>> system = robot.compile()
    >>> rest = pl.solve_statics(system, {"cable": 5.0})
    >>> rest.success, rest.stable
    (True, True)
    >>> print(f"tip at z = {1000 * system.pose('arm.tip', rest.q)[2, 3]:.1f} mm")
    tip at z = -253.0 mm
    """
    positive("tolerance", tolerance)
    positive("radius", radius)
    integer("iterations", iterations, minimum=1)
    inputs = system.inputs(u)
    forces = np.zeros(system.nv) if tau is None else system.check_v("tau", tau)
    if isinstance(start, Equilibrium):
        start = start.q
    q0 = system.neutral() if start is None else system.check_q(start).copy()
    moved = MotionSet(system, motion, q0)
    moved.joints_at(0.0, q0, np.zeros(system.nv), np.zeros(system.nv))
    options = (tolerance, iterations, radius, stable)
    for name in system.held_tendons:
        if inputs[system.input_names.index(name)] != 0.0 and name not in (motion or {}):
            raise ValueError(
                f"input {name!r} is a result: the length of this tendon is prescribed. Give motion={{{name!r}: length}}."
            )
    if system.loop_rows:
        found = mount(system, q0, inputs, forces, options, moved)
    elif moved.tendons:
        found = _held(system, q0, inputs, forces, moved, options, load_steps)
    else:
        found = _solve(system, q0, inputs, forces, options, load_steps)
    return replace(found, system=system)


def _solve(
    system: System, q0: Array, inputs: Array, forces: Array, options: tuple, load_steps: int | None
) -> Equilibrium:
    """Newton, and what helps if it fails."""
    stable = options[3]
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
    if not best.success:
        best = replace(best, message=best.message + _crushed(system, best.q))
    return best


def _crushed(system: System, q: Array) -> str:
    """A hint if some tendon is shortened to nothing somewhere, where its force has no direction."""
    for name, tendon in system.robot.tendons.items():
        for piece in tendon.along:
            X = np.union1d(system.rod_points(piece.rod), np.linspace(*piece.span, 33))
            X = X[(piece.span[0] <= X) & (piece.span[1] >= X)]
            d, slope = piece.offsets(X)
            xi = system.strain(piece.rod, q, X)
            length = system.rod_length(piece.rod)
            density = np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], d) + slope / length, axis=1)
            if density.min() < 1e-3:
                at = X[int(np.argmin(density))]
                return (
                    f"; tendon {name!r} is shortened to nothing at X = {at:.3g} of rod {piece.rod!r}: with these tensions the "
                    "rod is crushed and there may be no equilibrium"
                )
    return ""


def _held(
    system: System, q: Array, u: Array, tau: Array, moved: MotionSet, options: tuple, load_steps: int | None
) -> Equilibrium:
    """Tensions for which tendons have their prescribed lengths: Newton on T with dℓ/dT = −G K⁻¹ Gᵀ; slack ones have none."""
    lengths = moved.lengths_at(0.0)
    numbers = list(lengths)
    index = [system.input_names.index(name) for name in system.held_tendons]
    target = np.array([lengths[k] for k in numbers])
    pushes = np.array([moved.pushes[k] for k in numbers])
    zero = np.zeros(system.nv)
    u = u.copy()
    best: Equilibrium | None = None
    miss = np.inf
    factor = 1.0
    step = np.zeros(len(numbers))
    total = 0
    for _ in range(60):
        result = _solve(system, q, u, tau, options, load_steps)
        total += result.iterations
        ell, G = system.tendon_lengths(result.q)
        gap = ell[numbers] - target
        slack = ~pushes & (u[index] <= 0.0) & (gap < 0.0)
        size = float(np.abs(np.where(slack, 0.0, gap)).max())
        if result.success and size < miss:
            best, miss, factor = result, size, 1.0
            if size <= 1e-11 * max(1.0, float(target.max())):
                break
            K = system.residual_tangent(result.q, zero, zero, u, tau)
            K[system.known] = K[:, system.known] = 0.0
            K[system.known, system.known] = 1.0
            rows = np.where(system.known, 0.0, G[numbers])
            free = ~slack
            step = np.zeros(len(numbers))
            matrix = rows[free] @ np.linalg.solve(K, rows[free].T)
            step[free] = np.linalg.lstsq(matrix, gap[free], rcond=None)[0]
            base = u[index].copy()
            q = result.q
        else:  # too far: halve the change of tensions
            factor *= 0.5
            if best is None or factor < 1e-4:
                break
        change = base + factor * step
        u = u.copy()
        u[index] = np.where(pushes, change, np.maximum(change, 0.0))
    if best is None:
        return replace(result, iterations=total)
    done = miss <= 1e-9 * max(1.0, float(target.max()))
    message = best.message if done else f"tendon lengths could not be met: off by {miss:.3g} m"
    return replace(best, success=best.success and done, iterations=total, message=message)


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


# ---------------------------------------------------------------- closed loops


class _Rows:
    """Constraints of statics: loop joints, then tendons of prescribed length (whose tensions are −λ)."""

    def __init__(self, system: System, moved: MotionSet) -> None:
        self.system = system
        lengths = moved.lengths_at(0.0)
        self.loops = len(system.loop_rows)
        self.tendons = list(lengths)
        self.target = np.array(list(lengths.values()))
        self.index = [system.input_names.index(name) for name in system.held_tendons]
        self.names = [*system.loop_rows, *(f"length of {name}" for name in system.held_tendons)]

    def __call__(self, q: Array) -> tuple[Array, Array]:
        """Values and derivatives."""
        values, G = self.system.closure(q)
        if not self.tendons:
            return values, G
        ell, J = self.system.tendon_lengths(q)
        return np.concatenate([values, ell[self.tendons] - self.target]), np.vstack([G, J[self.tendons]])

    def put(self, force: Array, u: Array) -> Array:
        """Write multipliers into the system; returns the inputs with the tensions."""
        self.system.multipliers[:] = force[: self.loops]
        if not self.tendons:
            return u
        u = u.copy()
        u[self.index] = -force[self.loops :]
        return u


def mount(system: System, q: Array, u: Array, tau: Array, options: tuple, moved: MotionSet) -> Equilibrium:
    """Equilibrium with closed loops, mounted from wherever q leaves them open ([000] §X.C).

    The closure e(q) = (1 − s) e₀ is followed from s = 0 to 1 with Newton on (q, λ); a step that fails is halved.
    """
    tolerance, iterations, _radius, stable = options
    rows = _Rows(system, moved)
    open_by, _G = rows(q)
    force = np.zeros(len(open_by))
    s, step = 0.0, 1.0
    total = steps = 0
    result: tuple[Array, Array, bool, float, bool] | None = None
    while s < 1.0:
        goal = min(1.0, s + step)
        trial = _constrained_newton(rows, q, force, u, tau, (1.0 - goal) * open_by, tolerance, iterations, stable)
        total += trial[5]
        if trial[2]:
            s, q, force, steps = goal, trial[0], trial[1], steps + 1
            result = trial[:5]
            step = min(1.0 - s if s < 1.0 else 1.0, 2.0 * step)
            continue
        step = 0.5 * min(step, 1.0 - s)
        if step < 1e-4:
            break
    if s < 1.0 or result is None:
        values = rows(q)[0]
        worst = rows.names[int(np.argmax(np.abs(values)))]
        gap = float(np.abs(values).max())
        message = (
            f"the loops could not be closed: {worst!r} is {gap:.3g} apart after {100 * s:.3g} % of the way; check the frames "
            "of the loop, or start nearer." + overdriven(system)
        )
        if gap < 1e-3 * max(float(np.abs(open_by).max()), 1e-9):
            message = "no equilibrium was found with the loops (almost) closed; try stable=False, another start, or smaller loads"
        return Equilibrium(q, u, tau, False, False, np.inf, total, max(steps, 1), message, force[: rows.loops])
    extra = redundant_constraints(system, q)
    message = "converged" + (f" (redundant constraints: {', '.join(extra)})" if extra else "")
    u = rows.put(force, u)
    slack = [
        name for name, i in zip(system.held_tendons, rows.index) if u[i] < 0.0 and not system.robot.tendons[name].push
    ]
    if slack:
        message = f"tendon {slack[0]!r} would have to push: with this length it is slack; give it tension control or push=True"
        return Equilibrium(q, u, tau, False, result[4], result[3], total, steps, message, force[: rows.loops])
    return Equilibrium(q, u, tau, True, result[4], result[3], total, steps, message, force[: rows.loops])


def _static_tangent(system: System, q: Array, u: Array, tau: Array) -> tuple[Array, Array]:
    """Residual at rest and its derivative, for tensions of any sign."""
    r, K, p = np.empty(system.nv), np.empty((1, system.nv, system.nv)), np.zeros(engine.PARAMETERS)
    p[0] = 1.0
    system.run_job(engine.TANGENT, q, u=u, tau=tau, force=r, p=p, S=K)
    return r, K[0]


def _constrained_newton(
    rows: _Rows,
    q: Array,
    force: Array,
    u: Array,
    tau: Array,
    target: Array,
    tolerance: float,
    iterations: int,
    stable: bool,
) -> tuple[Array, Array, bool, float, bool, int]:
    """Newton on r(q) − Gᵀλ = 0, e(q) = target. Returns q, λ, success, residual, stable, iterations.

    Where the stiffness is not positive definite on the directions that the constraints leave, it is shifted there.
    """
    system = rows.system
    scale = np.where(system.known, 0.0, system.internal.scale)
    n, m = system.nv, len(force)
    fixed = np.flatnonzero(system.known)
    merit = np.inf
    positive = False
    for count in range(iterations):
        u = rows.put(force, u)
        r, K = _static_tangent(system, q, u, tau)
        r, K = scale * r, scale[:, None] * K * scale
        values, G = rows(q)
        G = G * scale
        gap = values - target
        if not (np.all(np.isfinite(r)) and np.all(np.isfinite(gap))):
            return q, force, False, np.inf, False, count
        K[fixed, fixed] = 1.0
        size = max(
            float(np.abs(scale * system.elastic_forces(q)).max()), float(np.abs(G.T * force).max(initial=0.0)), 1e-12
        )
        relative = float(np.abs(r).max()) / size
        null = null_space(G)
        reduced = null.T @ K @ null
        values_of = np.linalg.eigvalsh((reduced + reduced.T) / 2) if null.shape[1] else np.ones(1)
        positive = bool(values_of[0] > 1e-12 * max(values_of[-1], 1e-300))
        neutral = bool(
            values_of[0] > -1e-9 * max(values_of[-1], 1e-300)
        )  # a direction without stiffness is no way down
        closed = np.abs(gap).max(initial=0.0) <= 1e-13 + 1e-11 * tolerance
        if relative <= tolerance and closed and (neutral or not stable):
            return q, force, True, relative, positive, count
        if not neutral and stable:
            K = K + (1e-3 * abs(values_of[-1]) - 1.5 * min(values_of[0], 0.0)) * np.eye(n)
        kkt = np.block([[K, -G.T], [G, np.zeros((m, m))]])
        weight = np.sqrt(np.abs(np.diag(K)).max())
        kkt[:n, n:] *= weight
        kkt[n:, :n] *= weight
        kkt[n:, n:] = 1e-11 * np.abs(kkt).max() * np.eye(m)  # so that redundant rows have a solution
        try:
            solution = np.linalg.solve(kkt, -np.concatenate([r, weight * gap]))
        except np.linalg.LinAlgError:
            return q, force, False, np.inf, False, count
        dq, dl = solution[:n], weight * solution[n:]
        length = float(np.abs(dq).max())
        factor = min(1.0, 1.0 / max(length, 1e-300))
        if length < 1e-12 and relative < 1e-8 and np.abs(gap).max(initial=0.0) < 1e-12:
            return q, force, bool(neutral or not stable), relative, positive, count
        for _ in range(12):
            trial = system.integrate(q, factor * scale * dq)
            tried = rows.put(force + factor * dl, u)
            after = np.empty(n)
            system.run_job(engine.RESIDUAL, trial, u=tried, tau=tau, force=after)
            rest = np.abs(scale * after).max() / size
            new = rest + np.abs(rows(trial)[0] - target).max(initial=0.0)
            if new < 2.0 * merit or new < 1e-6 or not np.isfinite(merit):
                break
            factor *= 0.5
        merit = float(new)
        q, force = trial, force + factor * dl
    return q, force, False, np.inf, positive, iterations
