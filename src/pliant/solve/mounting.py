"""Statics of robots with closed loops and tendons of prescribed length: the equilibrium is mounted from wherever the start leaves loops open.

Cables pull and do not push: which of them are slack is found by complementarity, see `mount`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import engine
from ..system import AS_DESCRIBED, Given, System
from ..system.forces import closure, free_rows, independent
from .balance import ROUNDING, measure, static_tangent
from .closure import midway, null_space, overdriven, redundant_constraints, turning_left
from .equilibrium import Equilibrium
from .motion import MotionSet
from .stability import Verdict, assess

__all__ = ["MountOptions", "mount"]

Array = NDArray[np.float64]


class MountOptions(NamedTuple):
    """How an equilibrium is looked for."""

    tolerance: float
    iterations: int
    stable: bool | None  # whether it should be; None if nobody asks
    gravity: float = 1.0  # factor on gravity
    given: Given = AS_DESCRIBED  # what acts beside that and the forces of loops


class _Rows:
    """Constraints of statics: loop joints, then tendons of prescribed length (whose tensions are −λ)."""

    def __init__(self, system: System, moved: MotionSet, options: MountOptions, slack: set[str]) -> None:
        self.system, self.given = system, options.given._replace(gravity=options.given.gravity * options.gravity)
        lengths = moved.lengths_at(0.0)
        held = {name: k for name, k in system.held_tendons.items() if name not in slack}
        self.loops, self.slack = len(system.loop_rows), slack
        self.told = moved.told_at(0.0)
        self.tendons = list(held.values())
        self.target = np.array([lengths[k] for k in self.tendons])
        self.index = [system.input_names.index(name) for name in held]
        self.free = [system.input_names.index(name) for name in system.held_tendons]
        self.names = [*system.loop_rows, *(f"length of {name}" for name in held)]
        self.held = held

    def __call__(self, q: Array) -> tuple[Array, Array]:
        """Values and derivatives."""
        values, G, _rates = closure(self.system, q, None, self.told)
        if not self.tendons:
            return values, G
        ell, J = self.system.tendon_lengths(q)
        return np.concatenate([values, ell[self.tendons] - self.target]), np.vstack([G, J[self.tendons]])

    def independent(self, G: Array) -> NDArray[np.bool_]:
        """Which rows of the scaled derivatives carry forces; tendons come first, as in the kernels."""
        return np.roll(independent(np.roll(G, -self.loops, axis=0)), self.loops)

    def put(self, force: Array, u: Array) -> tuple[Array, Given]:
        """The inputs with the tensions, and what acts with the forces of loops."""
        given = self.given._replace(multipliers=force[: self.loops])
        if not self.free:
            return u, given
        u = u.copy()
        u[self.free] = 0.0
        u[self.index] = -force[self.loops :]
        return u, given


def mount(
    system: System, q: Array, u: Array, tau: Array, options: MountOptions, moved: MotionSet, before: Array | None = None
) -> Equilibrium:
    """Equilibrium with closed loops, mounted from wherever q leaves them open ([000] §X.C); prescribed joints may have come a long way from where they were `before`.

    Of tendons that only pull the ones that would have to push are slack, and those that are too long hold: all at once, after some rounds one by one.
    """
    tendons, lengths = system.robot.tendons, moved.lengths_at(0.0)
    pulls = [name for name in system.held_tendons if not tendons[name].push]
    slack: set[str] = set()
    work, load_steps, tried = 0, 0, 0
    first: Equilibrium | None = None
    while True:
        found = _mount(_Rows(system, moved, options, slack), q, u, tau, options, moved, before)
        work, load_steps, tried = work + found.iterations, max(load_steps, found.load_steps), tried + 1
        first = first or found
        if not found.success and tried == 1 and pulls:  # they may not be able to push as far: what holds without them
            wrong = set(pulls)
        elif not found.success:
            found = found if first.success else first
            break
        else:
            ell = system.tendon_lengths(found.q)[0]
            pushes = {name for name in pulls if found.u[system.input_names.index(name)] < 0.0}
            long = {
                name
                for name in slack
                if ell[system.held_tendons[name]] > lengths[system.held_tendons[name]] * (1 + 1e-9)
            }
            wrong = pushes | long
        if not wrong:
            break
        if tried > 4 * len(pulls) + 2 ** len(pulls):
            text = f"no set of cables was found that hold while the others are slack ({', '.join(map(repr, sorted(wrong)))} are wrong in the last one)"
            found = replace(found, success=False, stability="unknown", message=text)
            break
        slack = slack ^ (wrong if tried <= 2 * len(pulls) + 1 else {next(name for name in pulls if name in wrong)})
    return replace(found, iterations=work, load_steps=load_steps)


def _mount(
    rows: _Rows,
    q: Array,
    u: Array,
    tau: Array,
    options: MountOptions,
    moved: MotionSet,
    before: Array | None,
) -> Equilibrium:
    """Equilibrium with some of the tendons slack.

    The closure e(q) = (1 − s) e₀ is followed from s = 0 to 1 with Newton on (q, λ); a step that fails is halved. What is left of a rotation is its rotation
    vector, so a loop turns straight back, by at most a radian in each step. Prescribed joints that are turned further than that from where they were `before` are followed
    by a radian at a time, since a loop sees no more than half a turn.
    """
    system = rows.system
    start = _State(q, np.zeros(len(rows.names)))
    led, chosen = (None, []) if before is None else _led(rows, moved, before, q, u, tau, options)
    if led is None:
        led = _closed(rows, start, u, tau, options)
        chosen += midway(system, led.open_by)
    if led.s < 1.0:
        return Equilibrium(
            q=led.state.q,
            u=u,
            tau=tau,
            success=False,
            stability="unknown",
            residual=np.inf,
            iterations=led.iterations,
            load_steps=max(led.steps, 1),
            message="; ".join([_not_mounted(rows, led.state, led.s, led.open_by), *chosen]),
            multipliers=led.state.force[: rows.loops],
            system=system,
        )
    found = _mounted(rows, led.state, u, tau, options, led.iterations, led.steps)
    return replace(found, message="; ".join([found.message, *chosen])) if chosen else found


class _Way(NamedTuple):
    """How far loops were closed, s = 1 if they are, and what they were open by."""

    state: _State
    s: float
    open_by: Array
    iterations: int = 0
    steps: int = 0


def _closed(rows: _Rows, state: _State, u: Array, tau: Array, options: MountOptions) -> _Way:
    """Follow e(q) = (1 − s) e₀."""
    open_by, _G = rows(state.q)
    largest = 1.0 / max(1.0, turning_left(rows.system, open_by))
    s, step = 0.0, largest
    total = steps = 0
    while s < 1.0:
        goal = min(1.0, s + step)
        trial = _constrained_newton(rows, state, u, tau, (1.0 - goal) * open_by, options)
        total += trial.iterations
        if trial.success:
            s, state, steps = goal, trial, steps + 1
            step = min(1.0 - s if s < 1.0 else 1.0, 2.0 * step, largest)
            continue
        step = 0.5 * min(step, 1.0 - s)
        if step < 1e-4:
            break
    return _Way(state, s, open_by, total, steps)


def _led(
    rows: _Rows, moved: MotionSet, before: Array, q: Array, u: Array, tau: Array, options: MountOptions
) -> tuple[_Way | None, list[str]]:
    """Loops closed while prescribed joints turn from where they were to where they are told to be; None where they turn little, or where that leads nowhere."""
    system = rows.system
    if not np.any(system.known):
        return None, []
    d = np.where(system.known, system.difference(before, q), 0.0)
    if np.abs(d).max() <= 1.0:
        return None, []
    turn = np.where([unit == "rad" for unit in system.dof_units], np.abs(d), 0.0)
    parts = int(np.ceil(turn.max(initial=0.0)))
    if parts <= 1:
        return None, []
    at, state, total, steps = before, _State(q, np.zeros(len(rows.names))), 0, 0
    chosen: list[str] = []
    free = np.where(system.known, 0.0, 1.0)
    for k in range(1, parts + 1):
        rest = free * system.difference(before, at)
        at = system.integrate(before, rest + k / parts * d)
        if k == parts:
            at[moved.coordinates] = q[moved.coordinates]
        way = _closed(rows, state._replace(q=at), u, tau, options)
        total, steps, state = total + way.iterations, steps + way.steps, way.state
        if k == 1:
            chosen = midway(system, way.open_by)
        if way.s < 1.0:
            name = system.dof_names[int(np.argmax(turn))]
            return None, [f"{name!r} could not be followed over {turn.max():.3g} rad; loops were closed at its end"]
        at = state.q
    return way._replace(iterations=total, steps=steps), chosen


def _not_mounted(rows: _Rows, state: _State, s: float, open_by: Array) -> str:
    """Why the loops could not be closed: which row, how far, and what fights it."""
    values, G = rows(state.q)
    gap = float(np.abs(values).max())
    if gap < 1e-3 * max(float(np.abs(open_by).max()), 1e-9):
        return (
            "no equilibrium was found with the loops (almost) closed; try stable=False, another start, or smaller loads"
        )
    worst = int(np.argmax(np.abs(values)))
    return (
        f"the loops could not be closed: {rows.names[worst]!r} is {gap:.3g} apart after {100 * s:.3g} % of the way"
        + _fights(rows, state, G, worst)
        + "; check the frames of the loop, or start nearer."
        + overdriven(rows.system)
    )


def _fights(rows: _Rows, state: _State, G: Array, worst: int) -> str:
    """What resists where loops are as nearly closed as they could be: the row with the largest force, and the coordinate that it strains most."""
    system = rows.system
    if np.abs(free_rows(system, G)[worst]).max(initial=0.0) < 1e-12:
        return ", and nothing that is free to move changes it here"
    if not np.any(state.force):
        return ""
    pulls = np.abs(state.force) * np.abs(G * system.internal.scale).max(axis=1)
    elastic = np.abs(system.elastic_forces(state.q) * system.internal.scale)
    hardest = rows.names[int(np.argmax(pulls))]
    if not np.any(elastic):
        return f", with the largest force in {hardest!r}"
    return f", with the largest force in {hardest!r} against the stiffness of {system.dof_names[int(np.argmax(elastic))]!r}"


def _mounted(
    rows: _Rows, state: _State, u: Array, tau: Array, options: MountOptions, total: int, steps: int
) -> Equilibrium:
    """What was found with closed loops; an unstable equilibrium is left along its divergence, if that leads to another."""
    system = rows.system
    goal = np.zeros(len(state.force))

    def judge(state: _State) -> Verdict:
        if options.stable is None:
            return Verdict("unknown", np.zeros((system.nv, 0)))
        inputs, given = rows.put(state.force, u)
        held = given.memory is not None and system.sticks(given.memory)
        return assess(system, state.q, inputs, tau, rows(state.q)[1], given=given, potential=False if held else None)

    verdict = judge(state)
    if options.stable and verdict.stability == "divergence":
        direction = verdict.directions[:, 0]
        direction = direction / np.abs(direction / system.internal.scale).max()
        for size in (1e-3, -1e-3, 1e-2, -1e-2, 0.1, -0.1):
            moved = state._replace(q=system.integrate(state.q, size * direction))
            other = _constrained_newton(rows, moved, u, tau, goal, options)
            total += other.iterations
            judged = judge(other)
            if other.success and judged.held:
                state, verdict = other, judged
                break
    u, _given = rows.put(state.force, u)
    extra = redundant_constraints(system, state.q)
    message = "converged" + (f" (redundant constraints: {', '.join(extra)})" if extra else "")
    message = ", ".join(filter(None, [message, verdict.summary()]))
    if rows.slack:
        names = ", ".join(repr(name) for name in system.held_tendons if name in rows.slack)
        message = f"{message}, slack: {names}"
    warns = options.stable and verdict.stability != "stable"
    return Equilibrium(
        q=state.q,
        u=u,
        tau=tau,
        success=True,
        stability=verdict.stability,
        residual=state.residual,
        iterations=total,
        load_steps=steps,
        message=message,
        multipliers=state.force[: rows.loops],
        warnings=(verdict.warning(),) if warns else (),
        system=system,
    )


class _State(NamedTuple):
    """Where Newton's method on (q, λ) is, or ended."""

    q: Array
    force: Array  # λ
    success: bool = False
    residual: float = np.inf
    iterations: int = 0


def _constrained_newton(
    rows: _Rows, start: _State, u: Array, tau: Array, target: Array, options: MountOptions
) -> _State:
    """Newton on r(q) − Gᵀλ = 0, e(q) = target.

    Where the stiffness is not positive definite on the directions that the constraints leave, it is shifted there.
    """
    system = rows.system
    tolerance, iterations, stable = options[:3]
    q, force = start.q, start.force
    scale = np.where(system.known, 0.0, system.internal.scale)
    n = system.nv
    fixed = np.flatnonzero(system.known)
    merit = np.inf
    for count in range(iterations):
        u, given = rows.put(force, u)
        values, G = rows(q)
        balance = measure(system, q, u, tau, G * force[:, None], given)
        r, G = balance.r, G * scale
        K = scale[:, None] * static_tangent(system, q, u, tau, given=given)[1] * scale
        gap = values - target
        if not (np.isfinite(balance.force) and np.all(np.isfinite(gap))):
            return _State(q, force, False, np.inf, count)
        K[fixed, fixed] = 1.0
        size = max(balance.force, 1e-300)
        open_by = float(np.abs(gap).max(initial=0.0))
        if balance.imbalance <= tolerance * size and open_by <= 1e-13 + 1e-11 * tolerance:
            return _State(q, force, True, balance.imbalance / size, count)
        kept = rows.independent(G)
        null = null_space(G[kept])
        reduced = null.T @ K @ null
        curve = np.linalg.eigvalsh((reduced + reduced.T) / 2) if null.shape[1] else np.ones(1)
        if stable and curve[0] <= -1e-9 * max(curve[-1], 1e-300):  # a direction without stiffness is no way down
            K = K + (1e-3 * abs(curve[-1]) - 1.5 * min(curve[0], 0.0)) * np.eye(n)
        weight = np.sqrt(max(np.abs(np.diag(K)).max(), size))  # nothing may resist where constraints leave nothing free
        rank = int(np.sum(kept))
        kkt = np.block([[K, -weight * G[kept].T], [weight * G[kept], np.zeros((rank, rank))]])
        right = -np.concatenate([r, weight * gap[kept]])
        try:
            solution = np.linalg.solve(kkt, right)
        except np.linalg.LinAlgError:  # a direction that nothing resists: the shortest step, which leaves it alone
            solution = np.linalg.lstsq(kkt, right, rcond=None)[0]
        dq, dl = solution[:n], np.zeros(len(force))
        dl[kept] = weight * solution[n:]
        length = float(np.abs(dq).max())
        factor = min(1.0, 1.0 / max(length, 1e-300))
        if length < 1e-12 and open_by < 1e-12:
            residual = balance.residual(max(tolerance, ROUNDING))
            if residual <= max(tolerance, ROUNDING):
                return _State(q, force, True, residual, count)
        for _ in range(12):
            trial = system.integrate(q, factor * scale * dq)
            tried, given = rows.put(force + factor * dl, u)
            after = np.empty(n)
            system.run_job(engine.RESIDUAL, trial, u=tried, tau=tau, force=after, given=given)
            rest = np.abs(scale * after).max() / size
            new = rest + np.abs(rows(trial)[0] - target).max(initial=0.0)
            if new < 2.0 * merit or new < 1e-6 or not np.isfinite(merit):
                break
            factor *= 0.5
        merit = float(new)
        q, force = trial, force + factor * dl
    return _State(q, force, False, np.inf, iterations)
