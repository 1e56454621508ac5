"""What must not change a result: the order of adding parts, their names, parts that do nothing, the unit of length, where the world points, when it begins.

Each check makes a `Twin` of the robot (see `transform`) and asks both the same questions: forces and tangents at a random state, accelerations, equilibrium,
a few steps and their gradient, a short motion with error control. Numbers that are added in another order differ by rounding, which
solvers then magnify; what is compared is therefore always relative to the forces that act, or to what a rounding of
the start does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from checks import Finding, need, sized_inputs, state
from transform import Twin, in_other_units, permuted, renamed, turned, with_idle_parts

import pliant as pl

WALL = 5.0  # s for a motion


def solver_inputs(system: pl.System, seed: int) -> np.ndarray:
    """Inputs without those that are results."""
    u = sized_inputs(system, seed)
    u[list(system.held_tendons.values())] = 0.0
    return u


def told(system: pl.System, names: Callable[[str], str] = lambda name: name, metre: float = 1.0) -> dict[str, Any]:
    """How cables of prescribed length are shortened: by a tenth of their length in a second, from the length that they have."""
    lengths = system.tendon_lengths(system.neutral())[0]
    return {
        names(name): pl.Motion(*(lambda t, x=metre * lengths[k], n=n: np.array([x * (1 - 0.1 * t, -0.1, 0.0)[n]]) for n in range(3)))
        for name, k in system.held_tendons.items()
    }  # fmt: skip


def _close(name: str, ours: Any, theirs: Any, size: float, tolerance: float) -> None:
    """Finding unless both agree to a tolerance of a size."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    need(ours.shape == theirs.shape, f"{name} has shape {theirs.shape}, not {ours.shape}")
    miss = float(np.abs(ours - theirs).max(initial=0.0))
    need(bool(miss <= tolerance * size), f"{name} differs by {miss:.1e} of {size:.1e}")


def forces(system: pl.System, other: Twin, seed: int, tolerance: float) -> None:
    """Residual, tangents, mass matrix and inputs' matrix at a random state."""
    q, v, a, u = state(system, seed)
    rows = np.random.default_rng(seed + 5).normal(size=len(system.loop_rows)) * float("f" not in other.powers)
    there, s = other.system, system.internal.scale
    Q, V, A, U, L = (other.to(kind, x) for kind, x in zip(("q", "v", "v", "u", "rows"), (q, v, a, u, rows)))
    r = s * system.residual(q, v, a, u, multipliers=rows)
    R = s * other.back("f", there.residual(Q, V, A, U, multipliers=L))
    terms = [
        system.inverse_dynamics(q, v, a),
        system.elastic_forces(q, u),
        system.gravity_forces(q),
        system.damping_matrix() @ v,
    ]
    size = max(float(np.abs(s * x).max(initial=0.0)) for x in [*terms, system.residual(q, v, a, u, multipliers=rows)])
    _close("the residual", r, R, size, tolerance)
    for k, weights in enumerate(np.eye(3)):
        K = s[:, None] * system.residual_tangent(q, v, a, u, weights=tuple(weights), multipliers=rows) * s
        full = there.residual_tangent(Q, V, A, U, weights=tuple(weights), multipliers=L)
        T = s[:, None] * other.back("f", _columns(other, full).T).T * s
        _close(f"∂r/∂{'qva'[k]}", K, T, float(np.abs(K).max(initial=1e-300)), 10 * tolerance)
    lengths = [x.tendon_lengths(y)[0] for x, y in ((system, q), (there, Q))]
    if len(lengths[0]) and not other.powers and len(lengths[0]) == len(lengths[1]):
        _close(
            "the lengths of tendons",
            np.sort(lengths[0]),
            np.sort(lengths[1]),
            float(np.abs(lengths[0]).max()),
            tolerance,
        )


def _columns(other: Twin, K: np.ndarray) -> np.ndarray:
    """The columns of a matrix over velocities of the twin, as those of the first."""
    return K[:, other.v] * other.factor("v", len(other.v))


def accelerations(system: pl.System, other: Twin, seed: int, tolerance: float) -> None:
    """What forward dynamics of the twin gives, put into the equation of motion of the first."""
    q, v, _a, u = state(system, seed)
    there, s = other.system, system.internal.scale
    if system.loop_rows and pl.redundant_constraints(system, q):
        return
    try:
        ours, rows = system.constrained_dynamics(q, v, u=u)
        theirs, _rows = there.constrained_dynamics(other.to("q", q), other.to("v", v), u=other.to("u", u))
    except ValueError as error:
        need("mass matrix" in str(error), f"forward dynamics: {error}")
        return
    M = s[:, None] * system.mass_matrix(q) * s
    away = (other.back("v", theirs) - ours) / s
    inertial = np.abs(M) @ np.abs(ours / s)
    size = max(float(inertial.max()), float(np.abs(s * system.residual(q, v, 0 * v, u)).max()))
    miss = float(np.abs(M @ away).max())
    need(miss <= tolerance * size, f"forward dynamics differs by {miss / size:.1e} of the inertial forces")
    del rows


def equilibrium(system: pl.System, other: Twin, seed: int, tolerance: float) -> None:
    """Statics: both find one or none, the same one, and it is one for the first."""
    u = solver_inputs(system, seed)
    ours, theirs = (pl.solve_statics(x, y) for x, y in ((system, u), (other.system, other.to("u", u))))
    count = max(one.iterations for one in (ours, theirs))
    alike = ours.success == theirs.success or count > 200  # so many go through where rounding decides
    need(alike, f"statics says {str(ours).splitlines()[0]!r}, the twin {str(theirs).splitlines()[0]!r}")  # fmt: skip
    if not (ours.success and theirs.success):
        return
    s = system.internal.scale
    away = float(np.abs(system.difference(ours.q, other.back("q", theirs.q)) / s).max())
    if away <= tolerance:
        return
    if ours.stability != "stable":
        return  # one of many
    if other.other_way:
        again = pl.solve_statics(system, u, start=other.back("q", theirs.q))
        stays = float(np.abs(system.difference(other.back("q", theirs.q), again.q) / s).max())
        need(
            again.success and stays <= tolerance, f"what the twin finds is no equilibrium: the next is {stays:.1e} away"
        )
        return
    rng, near = np.random.default_rng(seed + 16), 0.0  # where rounding decides on the way, any may be found
    for _ in range(3):
        nudged = system.integrate(system.neutral(), 1e-13 * s * rng.normal(size=system.nv) * ~system.known)
        found = pl.solve_statics(system, u, start=nudged)
        near = max(near, float(np.abs(system.difference(ours.q, found.q) / s).max()) if found.success else np.inf)
    need(away <= 30 * near, f"the equilibrium differs by {away:.1e}, and by {near:.1e} if the start is rounded")


def steps(system: pl.System, other: Twin, seed: int, tolerance: float) -> None:
    """A few given steps, and their gradient by inputs and start."""
    rng = np.random.default_rng(seed + 9)
    U = np.tile(solver_inputs(system, seed), (5, 1))
    s, dv = system.internal.scale, 0.1 * system.internal.scale * rng.normal(size=system.nv) * ~system.known
    q = system.neutral()  # where loops of random robots are closed

    mine, its = told(system), told(system, other.names, other.metre)

    def go(x: pl.System, rows: Any, start: Any, velocity: Any, motion: Any = mine) -> Any:
        try:
            return pl.rollout(x, rows, step=1e-3, start=start, velocity=velocity, motion=motion, tolerance=1e-13)
        except pl.RolloutError as error:
            return error

    ours = go(system, U, q, dv)
    theirs = go(other.system, other.to("u", U), other.to("q", q), other.to("v", dv), its)
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        need(
            isinstance(ours, Exception) == isinstance(theirs, Exception),
            f"a rollout is {ours!r}, of the twin {theirs!r}",
        )
        return
    nudged = go(system, U, system.integrate(q, 1e-13 * s * rng.normal(size=system.nv) * ~system.known), dv)

    def away(run: Any, rows: Any, kind: str) -> float:
        values = [system.difference(a, b) for a, b in zip(ours.q, rows)] if kind == "q" else list(rows - ours.v)
        return float(max(np.abs(x / s).max() for x in values))

    for kind, rows, near in (("q", other.back("q", theirs.q), nudged), ("v", other.back("v", theirs.v), nudged)):
        size = max(1.0, float(np.abs(ours.v / s).max()))
        allowed = tolerance * size
        if not isinstance(near, Exception):
            allowed = max(allowed, 100 * away(near, near.q if kind == "q" else near.v, kind))
        miss = away(theirs, rows, kind)
        need(miss <= allowed, f"{kind} of a rollout differs by {miss:.1e} (allowed {allowed:.1e})")
    _gradient(system, other, ours, theirs, rng, tolerance)


def _gradient(
    system: pl.System, other: Twin, ours: Any, theirs: Any, rng: np.random.Generator, tolerance: float
) -> None:
    s = system.internal.scale
    w = [rng.normal(size=(len(ours.t), system.nv)) / s for _ in range(2)]
    zero = np.zeros((len(ours.t), system.nu))
    W = [other.covector_to(x) for x in w]
    try:
        back, there = ours.pull(w[0], w[1], zero), theirs.pull(W[0], W[1], np.zeros((len(ours.t), other.system.nu)))
    except ValueError:
        return
    for name, mine, its, kind in (("inputs", back.u, there.u, "u"), ("start", back.start, there.start, "v"), ("velocity", back.velocity, there.velocity, "v")):  # fmt: skip
        mine, its = np.asarray(mine), other.covector_back(kind, np.asarray(its))
        scale = s if kind == "v" else 1.0
        size = float(np.abs(mine * scale).max(initial=1e-9))
        _close(f"the gradient by {name}", mine * scale, its * scale, size, 1e3 * tolerance)


def constant_steps(system: pl.System, other: Twin, seed: int, tolerance: float) -> None:
    """A motion with steps that are given, by generalised-α."""
    u = solver_inputs(system, seed)
    both = (system, u, told(system)), (other.system, other.to("u", u), told(system, other.names, other.metre))
    runs = [pl.simulate(x, 0.02, u=y, motion=m, step=1e-3, subdivide=True, max_wall_time=WALL) for x, y, m in both]
    if not all(run.success for run in runs):
        said = [run.message for run in runs]
        slow = any("wall" in text for text in said)
        need(slow or runs[0].success == runs[1].success, f"simulate says {said[0]!r}, for the twin {said[1]!r}")
        return
    s = system.internal.scale
    rows = other.back("q", runs[1].q)
    miss = float(max(np.abs(system.difference(a, b) / s).max() for a, b in zip(runs[0].q, rows)))
    if miss <= tolerance:
        return
    start = 1e-13 * s * np.random.default_rng(seed + 17).normal(size=system.nv) * ~system.known
    nudged = pl.simulate(
        system, 0.02, u=u, motion=told(system), start=system.integrate(system.neutral(), start), step=1e-3, subdivide=True, max_wall_time=WALL
    )  # fmt: skip
    near = (
        float(max(np.abs(system.difference(a, b) / s).max() for a, b in zip(runs[0].q, nudged.q)))
        if nudged.success
        else np.inf
    )
    need(
        miss <= 30 * near,
        f"a motion in constant steps differs by {miss:.1e}, and by {near:.1e} if the start is rounded",
    )


def motion(system: pl.System, other: Twin, seed: int, tolerance: float) -> None:
    """A twentieth of a second with error control; where decisions of steps depend on rounding, as far apart as if the start were rounded."""
    u = solver_inputs(system, seed)
    times = np.linspace(0.0, 0.05, 6)
    s = system.internal.scale

    def go(x: pl.System, inputs: Any, start: Any = None) -> pl.Result:
        return pl.simulate(x, 0.05, u=inputs, start=start, output=times, max_wall_time=WALL)

    ours, theirs = go(system, u), go(other.system, other.to("u", u))
    if not (ours.success and theirs.success):
        said = [run.message for run in (ours, theirs)]
        slow = any("wall" in text for text in said)
        need(slow or ours.success == theirs.success, f"simulate says {said[0]!r}, for the twin {said[1]!r}")
        return

    def away(rows: Any) -> float:
        return float(max(np.abs(system.difference(a, b) / s).max() for a, b in zip(ours.q, rows)))

    miss = away(other.back("q", theirs.q))
    if miss <= tolerance:
        return
    rng, near = np.random.default_rng(seed + 15), 0.0
    for _ in range(3):
        nudged = go(
            system, u, system.integrate(system.neutral(), 1e-13 * s * rng.normal(size=system.nv) * ~system.known)
        )
        near = max(near, away(nudged.q) if nudged.success else np.inf)
    need(miss <= 30 * near, f"a motion differs by {miss:.1e}, and by {near:.1e} if the start is rounded")


QUESTIONS: dict[str, Callable[[pl.System, Twin, int, float], None]] = {
    "forces": forces, "accelerations": accelerations, "equilibrium": equilibrium, "steps": steps,
    "constant steps": constant_steps, "motion": motion,
}  # fmt: skip


def _ask(system: pl.System, other: Twin, seed: int, tolerances: dict[str, float]) -> None:
    """All questions whose tolerance is given; the finding says which one."""
    found = []
    for name, tolerance in tolerances.items():
        try:
            QUESTIONS[name](system, other, seed, tolerance)
        except Finding as finding:
            found.append(f"{name}: {finding}")
    need(not found, "; ".join(found))


EXACT = {
    "forces": 1e-12,
    "accelerations": 1e-9,
    "equilibrium": 1e-7,
    "steps": 1e-9,
    "constant steps": 1e-7,
    "motion": 1e-6,
}


def order_of_parts(system: pl.System, seed: int) -> None:
    """The same parts, added in another order."""
    _ask(system, permuted(system, np.random.default_rng(seed + 11)), seed, EXACT)


def names_of_parts(system: pl.System, seed: int) -> None:
    """The same parts by other names: but for how memory is aligned, the same numbers."""
    _ask(
        system,
        renamed(system, np.random.default_rng(seed + 12)),
        seed,
        {**dict.fromkeys(EXACT, 1e-12), "equilibrium": 1e-10, "motion": 1e-9},
    )


def idle_parts(system: pl.System, seed: int) -> None:
    """Parts without strength, or that are never reached, change nothing; taking them out neither."""
    _ask(system, with_idle_parts(system, np.random.default_rng(seed + 13)), seed, {**EXACT, "motion": 1e-2})


def turned_world(system: pl.System, seed: int) -> None:
    """The whole world turned."""
    robot = system.robot
    if robot.user_loads:
        return  # a function may know the world's axes
    other = turned(system, np.random.default_rng(seed + 14))
    _ask(system, other, seed, {**EXACT, "forces": 1e-11})


def unit_of_length(system: pl.System, seed: int) -> None:
    """Ten times as long, all else by its dimension: the same motion. Error control and tolerances may know lengths, but relative to the robot's."""
    if system.robot.user_loads:
        return
    other = in_other_units(system)
    _ask(
        system,
        other,
        seed,
        {"forces": 1e-11, "equilibrium": 1e-6, "steps": 1e-8, "constant steps": 1e-6, "motion": 1e-5},
    )


def time_shift(system: pl.System, seed: int) -> None:
    """Everything begins later: inputs over time, outputs and steps."""
    u, begin = solver_inputs(system, seed), 3.0
    if not system.nu:
        return

    def over(t0: float) -> Any:
        return lambda t: u * (1.0 + 0.3 * np.sin(20.0 * (t - t0)))

    times, s = np.linspace(0.0, 0.03, 4), system.internal.scale

    def go(t0: float, start: Any = None) -> pl.Result:
        return pl.simulate(system, 0.03, u=over(t0), t0=t0, start=start, output=times + t0, max_wall_time=WALL)

    def away(one: pl.Result, two: pl.Result) -> float:
        whole = one.success and two.success
        return float(max(np.abs(system.difference(a, b) / s).max() for a, b in zip(one.q, two.q))) if whole else np.inf

    first = go(0.0)
    miss = away(first, go(begin))
    if 1e-3 < miss < np.inf:
        moved = 1e-13 * s * np.random.default_rng(seed).normal(size=system.nv) * ~system.known
        near = away(first, go(0.0, system.integrate(system.neutral(), moved)))
        need(
            miss <= 30 * near,
            f"a motion that begins {begin} s later differs by {miss:.1e}, by {near:.1e} if the start is rounded",
        )
    U = np.tile(u, (4, 1))
    try:
        one, two = (pl.rollout(system, U, step=1e-3, t0=t0) for t0 in (0.0, begin))
    except pl.RolloutError:
        return
    miss = float(max(np.abs(system.difference(a, b) / system.internal.scale).max() for a, b in zip(one.q, two.q)))
    need(miss <= 1e-9, f"a rollout that begins {begin} s later differs by {miss:.1e}")


def same_bits(system: pl.System, seed: int) -> None:
    """A rollout, a stepper, a stepper that was saved and restored, and an item of a batch: to the last bit."""
    U = np.tile(solver_inputs(system, seed), (6, 1)) * np.linspace(0.5, 1.0, 6)[:, None]
    try:
        run = pl.rollout(system, U, step=1e-3)
    except pl.RolloutError:
        return
    sim = pl.Stepper(system, step=1e-3, record=True)
    for k, u in enumerate(U):
        if k == 2:
            saved = sim.save()
            sim.step(0.5 * u)
            sim.restore(saved)
        sim.step(u)
    need(
        np.array_equal(sim.q, run.q[-1]) and np.array_equal(sim.v, run.v[-1]),
        "a stepper is not the rollout, to the bit",
    )
    found = pl.batch(system, threads=2).rollouts(np.stack([U, 0.5 * U]), step=1e-3)
    need(np.array_equal(found["q"][0], run.q), "an item of a batch is not the rollout, to the bit")


def rest_stays(system: pl.System, seed: int) -> None:
    """A stable equilibrium is where a motion stays that begins there, in steps of all sizes."""
    u = solver_inputs(system, seed)
    rest = pl.solve_statics(system, u)
    if any("left out" in line for line in rest.warnings):  # of what loads remember: it says so, and what to do
        rest = pl.solve_statics(system, u, start=rest)
    if not rest.success or rest.stability != "stable":
        return
    s = system.internal.scale
    run = pl.simulate(system, 0.1, u=u, start=rest, max_wall_time=WALL)
    need(run.success or "wall" in run.message, f"a motion from rest ends: {run.message}")
    away = float(max(np.abs(system.difference(rest.q, q) / s).max() for q in run.q))
    need(away <= 1e-3, f"a motion from a stable equilibrium leaves it by {away:.1e}")


ALONE = (time_shift, same_bits, rest_stays)
INVARIANTS: dict[str, Callable[[pl.System, int], None]] = {
    check.__name__: check
    for check in (order_of_parts, names_of_parts, idle_parts, turned_world, unit_of_length, *ALONE)
}
