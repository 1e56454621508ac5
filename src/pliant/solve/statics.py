"""Static equilibrium: Newton with the exact tangent, made robust by energy descent and load stepping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED, EXHAUSTED, NOT_FINITE, SINGULAR, STALLED
from ..kernels.solve.statics import CLEAR
from ..model.validate import flag, integer, positive
from ..system import AS_DESCRIBED, Inputs, System, needs_system
from ..system.dynamics import LinearSolver, static_storage
from ..system.forces import closure
from .balance import Balance, measure, static_tangent
from .cables import complementary
from .crush import find_crush
from .descent import follow_forces, minimise
from .endless import find_endless
from .equilibrium import Equilibrium
from .history import remembered
from .motion import MotionSet
from .mounting import MountOptions, mount
from .remembered import initial_memory, laws_alone, touching
from .resolution import spatial_warning
from .result import Result
from .stability import Verdict, assess
from .static_problem import Attempt, Problem

__all__ = ["newton_options", "solve_problem", "solve_statics"]

Array = NDArray[np.float64]

_REASONS = {
    int(CONVERGED): "converged",
    int(STALLED): "no further decrease was possible; try load_steps, another start, or a smaller radius",
    int(SINGULAR): "the tangent is singular: some coordinate has neither stiffness nor load; add stiffness or fix it",
    int(EXHAUSTED): "the iterations ran out; raise `iterations` or use load_steps",
    int(NOT_FINITE): "the residual is not finite; the start or the inputs contain NaN or overflow",
}
CLOSED = 1e-8  # m, rad: loops that are open by less are closed
SPATIAL = 1e-3  # of the length: errors of the points along rods that are worth a warning
_MODES = (
    1000  # degrees of freedom up to which the modes of a stiffness are worth their time where Newton's method fails
)
ABSURD = 1e12  # N, N m: loads beyond this are looked at
_BEYOND = 1e-6  # rounding of the loads, relative to the stiffest spring, beyond which springs are not resolved


def solve_statics(
    system: System,
    u: Inputs = None,
    *,
    tau: ArrayLike | None = None,
    motion: Mapping[str, Any] | None = None,
    start: ArrayLike | Mapping[str, Any] | Equilibrium | Result | None = None,
    tolerance: float = 1e-10,
    iterations: int = 60,
    radius: float = 3.0,
    stable: bool | None = True,
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
    start : array (nq,), dict, Equilibrium or Result, optional
        Where to start; the neutral configuration if left out. A dictionary places links by name, as in `System.configuration`. Loops that are open there are closed
        the nearer way, prescribed joints are followed from there. Contacts that touch there stick, with what they remember of an Equilibrium or of the end of
        a Result; friction grows with the displacement since. What comes to touch on the way does so without friction.
    tolerance : float
        Largest `Equilibrium.residual` (dimensionless).
    iterations : int
        Newton iterations per load step.
    radius : float
        Largest step in scaled coordinates (rad of bending over a rod's length, rad of a joint).
    stable : bool or None
        Descend in potential energy to an equilibrium with positive definite stiffness (default), and leave unstable ones.
        False: plain Newton with backtracking on the residual, which also finds unstable equilibria. Loads without a
        potential (moments, follower wrenches) always use the latter. `Equilibrium.stability` tells what was found: an
        equilibrium that is neutral or unstable is a success, with a warning if a stable one was wanted. None: as False, without a look at
        small disturbances, which takes longer than all else where loads have no potential; `stability` is "unknown" then.
    load_steps : int, optional
        Apply gravity, inputs and tau in this many steps. Left out: one, and automatically more if that fails.

    Returns
    -------
    Equilibrium
        Never raises for lack of convergence; look at `success`, `stability` and `message`.

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
    >>> rest.success, rest.stability
    (True, 'stable')
    >>> print(f"tip at z = {1000 * system.pose('arm.tip', rest.q)[2, 3]:.1f} mm")
    tip at z = -253.0 mm
    """
    inputs, q0 = _check(system, u, start)
    positive("tolerance", tolerance)
    positive("radius", radius)
    integer("iterations", iterations, minimum=1)
    if stable is not None:
        flag("stable", stable)
    forces = np.zeros(system.nv) if tau is None else system.check_v("tau", tau)
    moved, before = MotionSet(system, motion, q0), q0.copy()
    moved.joints_at(0.0, q0, np.zeros(system.nv), np.zeros(system.nv))
    for name in system.held_tendons:
        if inputs[system.input_names.index(name)] != 0.0 and name not in (motion or {}):
            raise ValueError(
                f"input {name!r} is a result: the length of this tendon is prescribed. Give motion={{{name!r}: length}}."
            )
    memory = touching(system, q0, inputs, initial_memory(system, start))
    problem = Problem(system, inputs, forces, tolerance, iterations, radius, stable, memory=memory, since=q0.copy())
    if system.loop_rows:
        sticks = not system.nz or laws_alone(system) or _is_closed(system, q0, moved)
        problem = replace(problem, sticks=sticks)
        options = MountOptions(tolerance, iterations, stable, given=problem.given if sticks else AS_DESCRIBED)
        found = mount(system, q0, inputs, forces, options, moved, before)
    elif moved.tendons:
        found = _held(problem, q0, moved, load_steps)
    else:
        found = solve_problem(problem, q0, load_steps)[0]
    found = _remembered(problem, found)
    rough = spatial_warning(system, found.q, SPATIAL) if found.success else None
    return found if rough is None else replace(found, warnings=(*found.warnings, rough))


def _is_closed(system: System, q: Array, moved: MotionSet) -> bool:
    """Whether loops are closed at the start, so that what sticks there is not torn off by mounting."""
    values, _G, _rates = closure(system, q, None, moved.told_at(0.0))
    return bool(np.abs(values).max(initial=0.0) < CLOSED)


def _remembered(problem: Problem, found: Equilibrium) -> Equilibrium:
    """With what loads remember in an equilibrium."""
    system = problem.system
    if not system.nz:
        return found
    if system.loop_rows and not problem.sticks:
        text = (
            "Friction that sticks and other internal variables were left out, since the loops were open at the start: solve once, and again from "
            "there (start=), for friction that holds it where it is."
        )
        return replace(
            found, memory=touching(system, found.q, found.u, np.zeros(system.nz)), warnings=(*found.warnings, text)
        )
    given = problem.given._replace(multipliers=found.multipliers if system.loop_rows else None)
    assert given.since is not None
    assert given.memory is not None
    memory = remembered(system, found.q, found.u, given)
    return replace(found, memory=memory, since=given.since, before=given.memory)


def _check(system: System, u: Any, start: Any) -> tuple[Array, Array]:
    """Inputs and the start; errors that say what belongs there."""
    needs_system("solve_statics", system)
    moving = "u" if callable(u) else ""
    if isinstance(u, Mapping):
        moving = next((f"u[{name!r}]" for name, value in u.items() if callable(value)), "")
    if moving:
        raise TypeError(
            f"{moving} is a function, but statics takes numbers: there is no time in it. Give its value at the time you "
            "mean, such as u(0.0); functions of time are for simulate."
        )
    if start is None:
        return system.inputs(u), system.neutral()
    if isinstance(start, Equilibrium):
        if start.system is not None and start.system.dof_names != system.dof_names:
            raise ValueError(
                f"start is an equilibrium of another robot, {start.system.name!r}: its coordinates are not those of {system.name!r}."
            )
        start = start.q
    if isinstance(start, Result):
        start = system.check_q(start.last.q)
    if isinstance(start, Mapping):
        start = system.configuration(start)
    try:
        q = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        q = np.empty(0)
    if q.shape != (system.nq,) or isinstance(start, str) or np.iscomplexobj(start):
        what = f"an array of shape {q.shape}" if isinstance(start, np.ndarray) else f"{start!r:.60}"
        raise TypeError(
            f"start = {what} is not allowed: give the coordinates ({system.nq} numbers, nq of {system.name!r}), a dictionary "
            "by link, or an Equilibrium. From a motion: start=run.q[-1]."
        )
    return system.inputs(u), q


# ---------------------------------------------------------------- one equilibrium


def solve_problem(problem: Problem, q0: Array, load_steps: int | None = None) -> tuple[Equilibrium, Verdict]:
    """Newton, and what helps if it fails."""
    if load_steps is not None:
        steps = integer("load_steps", load_steps, minimum=1)
        attempt = _stepped(problem, q0, steps, rescue=True)
        best, verdict = _left(problem, *_examine(problem, attempt, q0, steps))
        return _explained(problem, best, q0), verdict
    attempt = _newton(problem, q0)
    best, verdict = _left(problem, *_examine(problem, attempt, q0))
    if best.success or attempt.status == NOT_FINITE:
        return best, verdict
    crushed = _crushed(problem, best)
    if crushed is not best:
        return crushed, verdict
    # a descent finds a minimum from anywhere; without a potential steps of load keep nearer to the start
    minimum = problem.stable and problem.potential
    helps = [0, 4, 16, 64] if minimum or attempt.status == SINGULAR else [4, 16, 64, 0]
    for steps in helps:
        attempt = _stepped(problem, q0, steps) if steps else _descend(problem, q0)
        result, found = _left(problem, *_examine(problem, attempt, q0, max(steps, 1)))
        if result.success or result.residual < best.residual:
            best, verdict = result, found
        if best.success:
            return best, verdict
    return _explained(problem, best, q0), verdict


def _loose(problem: Problem) -> str:
    """A hint, if friction could hold what it does not hold in statics."""
    system = problem.system
    rough = any(c.friction > 0.0 and c.stiction > 0.0 for c in system.robot.contacts.values())
    if not rough or (problem.memory is not None and system.sticks(problem.memory)):
        return ""
    return "; friction holds only what touches at the start: start where it does, or from a simulation that has come to rest, start=run"


def _explained(problem: Problem, failed: Equilibrium, q0: Array) -> Equilibrium:
    """With the reason why there is no equilibrium, if one is found: a tendon that compresses a rod to nothing, a force that nothing resists."""
    crushed = _crushed(problem, failed)
    if failed.success or crushed is not failed or not np.all(np.isfinite(failed.q)):
        return crushed
    system = problem.system
    for q in (failed.q, q0):
        endless = find_endless(problem, q, system.difference(q0, failed.q))
        if endless is not None:
            return replace(failed, message=str(endless) + _loose(problem))
    return failed


def _crushed(problem: Problem, failed: Equilibrium) -> Equilibrium:
    """If there is no equilibrium because a tendon compresses a rod to nothing, that state and the reason."""
    if failed.success or not problem.potential:
        return failed
    system, u, tau = problem.system, problem.u, problem.tau
    crush = find_crush(system, failed.q, u, tau, problem.given)
    if crush is None:
        return failed
    residual = measure(system, crush.q, u, tau, given=problem.given).residual(problem.limit)
    return replace(failed, q=crush.q, residual=residual, message=str(crush))


def _examine(problem: Problem, attempt: Attempt, q0: Array, steps: int = 1) -> tuple[Equilibrium, Verdict]:
    """What an attempt has found, measured anew."""
    system, u, tau = problem.system, problem.u, problem.tau
    residual, reason = attempt.residual, ""
    met = attempt.status == CONVERGED and residual <= problem.limit
    if not met or np.max(np.abs(u), initial=0.0) > ABSURD:
        balance = measure(system, attempt.q, u, tau, given=problem.given)
        residual = balance.residual(problem.limit)
        reason = _overload(problem, balance, q0)
        met = bool(residual <= problem.limit and not reason and attempt.status != NOT_FINITE)
    verdict = Verdict("unknown", np.zeros((system.nv, 0)))
    if met and problem.stable is None:
        message = "converged"
    elif met and attempt.definite and problem.potential:
        verdict, message = Verdict("stable", verdict.directions), "converged"
    elif met:
        verdict = assess(system, attempt.q, u, tau, K=attempt.K, potential=problem.potential, given=problem.given)
        message = ", ".join(filter(None, ["converged", verdict.summary()]))
    else:
        message = attempt.note + (reason or _REASONS[attempt.status]) + _loose(problem)
    if not met and message == _REASONS[int(CONVERGED)]:
        message = f"the steps became too small to change the residual of {residual:.1e}; scale the loads down"
    found = Equilibrium(
        q=attempt.q,
        u=u,
        tau=tau,
        success=met,
        stability=verdict.stability,
        residual=residual,
        iterations=attempt.iterations,
        load_steps=steps,
        message=message,
        warnings=(verdict.warning(),) if met and problem.stable and verdict.stability != "stable" else (),
        system=system,
    )
    return found, verdict


def _overload(problem: Problem, balance: Balance, q0: Array) -> str:
    """The reason if loads are so large that their rounding drowns what springs do."""
    if not max(balance.force, np.max(np.abs(problem.u), initial=0.0)) > ABSURD:
        return ""
    system = problem.system
    force = max(balance.force, measure(system, q0, problem.u, problem.tau, given=problem.given).force)
    stiffest = float(np.max(system.internal.scale**2 * np.diag(system.elastic_tangent(q0)), initial=0.0))
    if not np.isfinite(force) or force * 2e-16 <= _BEYOND * stiffest:
        return ""
    return (
        f"the loads ({force:.1e} in SI units) are beyond what sixteen digits can balance with the springs ({stiffest:.1e} for a "
        "unit of motion); check the units of the inputs"
    )


def newton_options(tolerance: float, iterations: int, radius: float) -> Array:
    """What the kernel is told of every equilibrium; whether it has a potential, and the weight of the robot, come later."""
    p = np.zeros(engine.PARAMETERS)
    p[slots.OPTION_TOLERANCE], p[slots.OPTION_ITERATIONS], p[slots.OPTION_RADIUS] = tolerance, iterations, radius
    return p


def _newton(problem: Problem, q: Array, share: float = 1.0, solver: LinearSolver = "auto") -> Attempt:
    """One Newton iteration to the end, with a share of all loads."""
    system, part = problem.system, problem.part(share)
    p = newton_options(problem.tolerance, problem.iterations, problem.radius)
    p[slots.OPTION_ENERGY] = bool(problem.stable and problem.potential)
    scale = np.where(system.known, 0.0, system.internal.scale)
    p[slots.OPTION_WEIGHT] = abs(part.given.gravity) * np.abs(scale * system.gravity_forces(q)).max(initial=0.0)
    S, p[slots.OPTION_TREE] = static_storage(system, solver)
    solution = q.copy()
    status = system.run_job(engine.STATICS, q.copy(), u=part.u, tau=part.tau, p=p, S=S, q1=solution, given=part.given)
    if status == SINGULAR and p[slots.OPTION_TREE]:  # along the tree rows are exchanged within a part only
        return _newton(problem, q, share, "dense")
    iterations, relative = int(p[slots.REPORT_ITERATIONS]), float(p[slots.REPORT_RESIDUAL])
    definite = status == CONVERGED and bool(p[slots.REPORT_PIVOT] > CLEAR) and relative <= problem.tolerance
    lost = status in (STALLED, SINGULAR) or p[slots.REPORT_SHIFTS] > 0.5 * iterations
    K = None if definite or p[slots.OPTION_TREE] else S[0]
    return Attempt(solution, int(status), relative, iterations, lost=bool(lost), K=K, definite=definite)


def _stepped(problem: Problem, q: Array, steps: int, *, rescue: bool = False) -> Attempt:
    """Scale all loads from 0 to 1 in equal steps, each started from the last; `rescue` follows forces where Newton ends."""
    total = 0
    for k in range(1, steps + 1):
        attempt = _newton(problem, q, k / steps)
        total += attempt.iterations
        # what is nearly an equilibrium, or one that is not stable, is as good a start as any
        enough = problem.limit if k == steps else 1e-6
        if rescue and attempt.lost and attempt.status != CONVERGED and attempt.residual > enough:
            attempt = _descend(problem, attempt.q, k / steps)
            total += attempt.iterations
        q = attempt.q
        if attempt.status != CONVERGED and attempt.residual > enough:
            break
    note = "" if k == steps else f"load step {k} of {steps}: "
    if note:
        return replace(attempt, iterations=total, note=note, K=None, definite=False)
    return replace(attempt, iterations=total)


def _left(problem: Problem, found: Equilibrium, verdict: Verdict) -> tuple[Equilibrium, Verdict]:
    """If the equilibrium diverges, the stable one that is found by following the divergence, if any."""
    if not problem.stable or verdict.stability != "divergence":
        return found, verdict
    system, scale = problem.system, problem.system.internal.scale
    direction = verdict.directions[:, 0]
    direction = direction / np.abs(direction / scale).max()
    total, lost = found.iterations, 0
    for size in (1e-3, -1e-3, 1e-2, -1e-2, 0.1, -0.1):
        if lost == 2:  # on both sides the way leads nowhere: from farther on it would lead there, too
            break
        q = system.integrate(found.q, size * direction)
        attempt = _newton(problem, q) if problem.potential else _descend(problem, q)
        total += attempt.iterations
        other, judged = _examine(problem, attempt, q, found.load_steps)
        if other.success and judged.held:
            return replace(other, iterations=total), judged
        lost += not other.success
    return replace(found, iterations=total), verdict


def _descend(problem: Problem, q: Array, share: float = 1.0) -> Attempt:
    """Where the energy or, without a potential, the forces lead, with a share of all loads; see `descent`.

    Of large robots Newton's method goes on: a step that needs all modes takes as long as hundreds of its own.
    """
    if problem.system.nv > _MODES:
        return _newton(problem, q, share)
    part = problem.part(share)
    if problem.stable and problem.potential:
        return minimise(part, q)
    attempt = follow_forces(part, q)
    if attempt.status == NOT_FINITE:
        return attempt
    finish = _newton(problem, attempt.q, share)
    return replace(finish, iterations=attempt.iterations + finish.iterations)


# ---------------------------------------------------------------- tendons of prescribed length


def _held(problem: Problem, q: Array, moved: MotionSet, load_steps: int | None) -> Equilibrium:
    """Tensions for which tendons have their prescribed lengths: Newton on T with dℓ/dT = −G K⁻¹ Gᵀ; slack ones have none."""
    system, u = problem.system, problem.u
    lengths = moved.lengths_at(0.0)
    numbers = list(lengths)
    index = [system.input_names.index(name) for name in system.held_tendons]
    target = np.array([lengths[k] for k in numbers])
    pushes = np.array([moved.pushes[k] for k in numbers])
    best: Equilibrium | None = None
    miss = np.inf
    factor = 1.0
    step = np.zeros(len(numbers))
    total = 0
    for _ in range(60):
        result, _verdict = solve_problem(replace(problem, u=u), q, load_steps)
        total += result.iterations
        ell, G = system.tendon_lengths(result.q)
        gap = ell[numbers] - target
        slack = ~pushes & (u[index] <= 0.0) & (gap < 0.0)
        size = float(np.abs(np.where(slack, 0.0, gap)).max())
        if result.success and size < miss:
            best, miss, factor = result, size, 1.0
            if size <= 1e-11 * max(1.0, float(target.max())):
                break
            K = static_tangent(system, result.q, u, problem.tau, given=problem.given)[1]
            K[system.known] = K[:, system.known] = 0.0
            K[system.known, system.known] = 1.0
            rows = np.where(system.known, 0.0, G[numbers])
            matrix = rows @ np.linalg.lstsq(K, rows.T, rcond=1e-13)[0]  # K may have neutral directions
            base = u[index].copy()
            step = complementary(matrix, gap + matrix @ base, pushes).x - base
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
    if miss > 1e-9 * max(1.0, float(target.max())):
        message = f"tendon lengths could not be met: off by {miss:.3g} m"
        return replace(best, success=False, stability="unknown", warnings=(), iterations=total, message=message)
    taut = [k for k, i in zip(numbers, index) if best.u[i] != 0.0 or moved.pushes[k]]
    G = system.tendon_lengths(best.q)[1][taut]
    potential = False if problem.memory is not None and system.sticks(problem.memory) else None
    if problem.stable is None:
        return replace(best, iterations=total)
    verdict = assess(system, best.q, best.u, best.tau, G, given=problem.given, potential=potential)
    loose = [name for name, k in system.held_tendons.items() if k not in taut and not moved.pushes[k]]
    slack_ones = f"slack: {', '.join(map(repr, loose))}" if loose else ""
    message = ", ".join(filter(None, ["converged", verdict.summary(), slack_ones]))
    warnings = (verdict.warning(),) if problem.stable and verdict.stability != "stable" else ()
    return replace(best, stability=verdict.stability, iterations=total, message=message, warnings=warnings)
