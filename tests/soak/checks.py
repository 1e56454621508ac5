"""What must hold for every robot: each check raises `Finding` with what it saw.

Everything is measured from outside, through the public calls, and against something else than what is checked: differences, another
route, another process of the same numbers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pliant as pl

SIZED = 2_000_000  # from this seed on inputs fit the robot
WALL = 3.0  # s of wall time for a simulated second


class Finding(AssertionError):
    """Something that must not be."""


def need(fact: bool, text: str) -> None:
    """Raise a finding unless the fact holds."""
    if not fact:
        raise Finding(text)


def sized_inputs(system: pl.System, seed: int) -> np.ndarray:
    """Random inputs that fit the robot: forces like its weight, pressures that move it, angles and lengths that it can follow."""
    rng = np.random.default_rng(seed + 10**7)
    size = max([system.rod_length(link.name) for link in system.robot.links if link.is_rod], default=0.1)
    weight = 10 * system.mass
    sizes = {
        "N": 0.3 * weight, "N m": 0.1 * weight * size, "Pa": 1e-2 * weight / (0.03 * size) ** 2, "rad": 0.2, "m": 1e-2 * size, "rad/s": 0.2,
        "m/s": 0.1 * size, "T": 1e-3, "A": 1e-2, "m³": 1e-6 * size**3, "m³/s": 1e-5 * size**3,
    }  # fmt: skip
    low, high = system.input_bounds
    u = np.array([sizes.get(unit, 0.3) for unit in system.input_units]) * np.abs(rng.normal(size=system.nu))
    return np.clip(u, low, high)


def state(system: pl.System, seed: int) -> tuple[np.ndarray, ...]:
    """A random state with inputs that are allowed."""
    rng = np.random.default_rng(seed + 10**6)
    q = system.random(rng, scale=0.3)
    v, a = rng.normal(size=(2, system.nv)) * system.internal.scale
    return q, v, a, np.abs(rng.normal(size=system.nu)) * 0.1 if seed < SIZED else sized_inputs(system, seed)


def finite_answers(system: pl.System, seed: int) -> None:
    """No answer is NaN or infinite at an ordinary state."""
    q, v, a, u = state(system, seed)
    answers = {
        "residual": system.residual(q, v, a, u),
        "tangent": system.residual_tangent(q, v, a, u),
        "mass matrix": system.mass_matrix(q),
        "actuation matrix": system.actuation_matrix(q, v, u),
        "energies": [system.kinetic_energy(q, v), system.gravitational_energy(q), system.elastic_energy(q)],
        "poses": [system.pose(frame, q) for frame in system.frames],
        "lengths": system.tendon_lengths(q)[0],
    }
    for name, value in answers.items():
        need(bool(np.all(np.isfinite(np.asarray(value, dtype=float)))), f"{name} is not finite")


def tangents(system: pl.System, seed: int) -> None:
    """∂r/∂q, ∂r/∂v, ∂r/∂a, ∂r/∂u along a random direction against central differences."""
    q, v, a, u = state(system, seed)
    s = system.internal.scale
    d = np.random.default_rng(seed).normal(size=system.nv) * s
    du = np.random.default_rng(seed + 1).normal(size=system.nu) * (0.01 if seed < SIZED else 0.05 * np.abs(u))

    def along(k: int, h: float) -> np.ndarray:
        if k == 0:
            return system.residual(system.integrate(q, h * d), v, a, u)
        if k == 1:
            return system.residual(q, v + h * d, a, u)
        if k == 2:
            return system.residual(q, v, a + h * d, u)
        return system.residual(q, v, a, u + h * du)

    exact = [system.residual_tangent(q, v, a, u, weights=w) @ d for w in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    if system.nu:
        exact.append(-system.actuation_matrix(q, v, u) @ du)
    size = np.abs(s * system.residual(q, v, a, u)).max()
    for k, derivative in enumerate(exact):
        errors = []
        for h in (1e-3, 1e-4, 1e-5, 1e-6):
            near, far = along(k, h) - along(k, -h), along(k, 2 * h) - along(k, -2 * h)
            miss = float(np.abs(s * ((8 * near - far) / (12 * h) - derivative)).max())
            rounding = 1e-14 * size / h
            errors.append(max(0.0, miss - rounding) / max(float(np.abs(s * derivative).max()), 1e-300))
        need(min(errors) < 2e-5, f"∂r/∂{'qvau'[k]} differs from differences by {min(errors):.1e}")


def dynamics(system: pl.System, seed: int) -> None:
    """M is symmetric and positive; inverse dynamics of forward dynamics gives nothing, by both algorithms."""
    q, v, _a, u = state(system, seed)
    M, s = system.mass_matrix(q), system.internal.scale
    scaled = s[:, None] * M * s
    need(bool(np.abs(scaled - scaled.T).max() <= 1e-12 * np.abs(scaled).max()), "M is not symmetric")
    need(bool(np.linalg.eigvalsh(scaled)[0] > -1e-13 * np.abs(scaled).max()), "M has a negative eigenvalue")
    size = np.abs(s * system.residual(q, v, np.zeros(system.nv), u)).max()
    for method in ("composite", "articulated"):
        try:
            a, forces = system.constrained_dynamics(q, v, u=u, method=method)
        except ValueError as error:  # a mass matrix that is singular to rounding is refused, with a reason
            need("mass matrix" in str(error), f"forward dynamics ({method}): {error}")
            continue
        r = np.where(system.known, 0.0, s * system.residual(q, v, a, u, multipliers=forces))
        inertial = float(
            (s * (np.abs(M) @ np.abs(a))).max()
        )  # rounding is relative to this, and to moments about the world's origin
        left = float(np.abs(r).max()) / (size + inertial + float(np.abs(forces).max(initial=0.0)))
        need(left <= 1e-10, f"ID(FD) leaves {left:.1e} of the forces ({method})")


def power(system: pl.System, seed: int) -> None:
    """The rate of the energy is the power v·(ID + elastic)."""
    q, v, a, _u = state(system, seed)
    exact = float(v @ (system.inverse_dynamics(q, v, a) + system.elastic_forces(q)))
    if system._robot.fluid is not None:
        return  # the energy of buoyancy belongs to a load

    def energy(h: float) -> float:
        # along the curve with velocity v and acceleration a, to second order
        moved = system.integrate(q, h * v + 0.5 * h * h * a)
        w = v + h * a
        return system.kinetic_energy(moved, w) + system.gravitational_energy(moved) + system.elastic_energy(moved)

    size = abs(exact) + abs(energy(0.0)) * 1e-3
    errors = []
    for h in (1e-2, 1e-3, 1e-4, 1e-5):
        near, far = energy(h) - energy(-h), energy(2 * h) - energy(-2 * h)
        errors.append(abs((8 * near - far) / (12 * h) - exact) / size)
    # collocated and spectral rods integrate mass and force by their own rules
    need(min(errors) < 1e-4, f"the rate of the energy differs from the power by {min(errors):.1e}")


def statics(system: pl.System, seed: int) -> None:
    """What is called an equilibrium is one; what is not says why."""
    u = np.zeros(system.nu)
    rest = pl.solve_statics(system, u)
    need(bool(np.all(np.isfinite(rest.q))), f"statics returned a configuration that is not finite ({rest})")
    if not rest.success:
        need(len(rest.message) > 20, f"statics failed without a reason ({rest})")
        return
    zero, s = np.zeros(system.nv), system.internal.scale
    forces = rest.multipliers if system.loop_rows else None
    if system.loop_rows:
        need(float(np.abs(system.closure(rest.q)[0]).max()) < 1e-8, "statics left a loop open")
    if system.nz:
        return  # what friction, gas and hysteresis remember counts: see `invariants.rest_stays`
    r = np.where(system.known, 0.0, s * system.residual(rest.q, zero, zero, rest.u, rest.tau, multipliers=forces))
    K = s[:, None] * system.residual_tangent(rest.q, zero, zero, rest.u, rest.tau, multipliers=forces) * s
    force = max(np.abs(s * system.elastic_forces(rest.q)).max(), np.abs(s * system.gravity_forces(rest.q)).max())
    force = max(force, 1e-3 * np.abs(K).max())
    need(
        float(np.abs(r).max()) <= 1e-6 * force,
        f"statics says {str(rest)!r}, but its residual is {np.abs(r).max() / max(force, 1e-300):.1e} of the forces",
    )
    known = system.known
    if rest.stable and not system.loop_rows and system.has_potential(rest.u, rest.tau):
        free = K[np.ix_(~known, ~known)]
        if free.size:
            low = float(np.linalg.eigvalsh(0.5 * (free + free.T))[0])
            need(
                low > -1e-7 * np.abs(free).max(),
                f"statics says stable; smallest eigenvalue {low / np.abs(free).max():.1e}",
            )


def passive(robot: pl.Robot) -> bool:
    """Whether kinetic, gravitational and elastic energy are all there is, and nothing adds to them."""
    still = robot.fluid is None or not np.any(robot.fluid.current)
    tendons = all(tendon.control == "tension" for tendon in robot.tendons.values())
    motors = all(motor.control == "torque" for motor in robot.motors.values()) and not robot.stops
    motors = motors and not any(
        np.any(loop.joint.stiffness) for loop in robot.loops.values()
    )  # their energy is of loads
    loads = not any(getattr(wrench, "constant", False) for wrench in robot.wrenches.values()) and not robot.user_loads
    return still and tendons and motors and loads and not robot.contacts


def motion(system: pl.System, seed: int) -> None:
    """A second of motion within bounded time, finite, without energy from nowhere, or it says so."""
    run = pl.simulate(system, 1.0, max_wall_time=WALL)
    for name in ("q", "v"):
        need(bool(np.all(np.isfinite(getattr(run, name)))), f"simulate returned {name} that is not finite")
    need(run.success or len(run.message) > 20, f"simulate failed without a reason: {run.message!r}")
    if system.loop_rows:
        gap = max(float(np.abs(system.closure(q)[0]).max()) for q in run.q)
        need(gap < 1e-8, f"a loop opened by {gap:.1e}")
    if not passive(system.robot):
        return
    energy = run.energies()
    total = energy.total
    growth = float((total - np.minimum.accumulate(total)).max())
    swing = float(np.ptp(total) + energy.kinetic.max())
    s = 1e-3 * system.internal.scale  # ten times the default tolerance
    zero = np.zeros(system.nv)
    within = 0.5 * float(np.abs(np.diag(system.residual_tangent(run.q[0], zero, zero))) @ s**2)
    if growth > 0.1 * swing + within:
        told = not run.success or any("gained" in line for line in run.warnings)
        need(told, f"energy grew silently by {growth:.2e} J of {swing:.2e} J ({run.statistics})")


def gradients(system: pl.System, seed: int) -> None:
    """Derivatives of a few steps by inputs, start and a parameter: backwards as forwards, and against differences."""
    rng = np.random.default_rng(seed)
    rest = pl.solve_statics(system)
    start, scale = rest.q if rest.success else system.neutral(), system.internal.scale
    low, high = system.input_bounds
    U = np.tile(np.clip(rng.uniform(0.1, 1.0, size=system.nu), low, high), (4, 1))
    dq, dv = 0.1 * np.where(system.known, 0.0, scale) * rng.normal(size=(2, system.nv))
    tolerance = 1e-5
    if system.loop_rows and pl.redundant_constraints(system, start):
        dq[:] = 0.0  # how such loops close from elsewhere may have no derivative
        tolerance = 1e-4
    dU = 0.1 * U * rng.normal(size=U.shape)
    names = [name for name, x in system.parameters.items() if x != 0.0]
    name = names[int(rng.integers(len(names)))]
    x = system.parameters[name]

    def go(s: float) -> pl.Rollout:
        robot = system.with_parameters({name: x * (1 + s)}) if s else system
        moved = system.integrate(start, s * dq)
        return pl.rollout(robot, U + s * dU, step=2e-3, start=moved, velocity=(1 + s) * dv, tolerance=1e-13)

    try:
        run, stencils = (
            go(0.0),
            [[go(s * h) for s in (-2, -1, 1, 2)] for h in ((1e-5,) if seed < SIZED else (1e-5, 2e-6))],
        )
    except (pl.RolloutError, ValueError):  # too hard for such a step, or the parameter cannot move
        return
    rows = [rng.normal(size=(len(run.t), n)) for n in (system.nv, system.nv, system.nu)]
    rows[0] /= scale
    rows[1] /= scale
    spectral = len(system.tables.colloc) > 0
    try:
        back = run.pull(*rows)
    except ValueError:
        need(spectral, "there is no gradient")
        return
    parts = [np.vdot(back.u, dU), back.start @ dq, back.velocity @ dv, back[name] * x]
    size = float(np.abs(parts).max(initial=1e-7))

    def judged(other: pl.Rollout) -> float:
        away = np.array([system.difference(p, q) for p, q in zip(run.q, other.q)])
        return float(np.vdot(rows[0], away) + np.vdot(rows[1], other.v) + np.vdot(rows[2], other.u))

    slopes = []
    for h, (a, b, c, d) in zip((1e-5, 2e-6), stencils):
        slopes.append((judged(a) - 8 * judged(b) + 8 * judged(c) - judged(d)) / (12 * h))
    slope = slopes[0]
    if abs(slopes[-1] - slope) > tolerance * size:
        return  # they cross a switch: see `switches`
    need(abs(slope - sum(parts)) < tolerance * size, f"the gradient is {sum(parts)}, differences are {slope} ({name})")
    if not spectral:
        ahead = run.push(u=dU, start=dq, velocity=dv, parameters={name: x})
        slope = sum(float(np.vdot(w, change)) for w, change in zip(rows, ahead))
        need(abs(slope - sum(parts)) < tolerance * size, f"backwards {sum(parts)}, forwards {slope} ({name})")


def files(system: pl.System, seed: int) -> None:
    """A model file gives the same robot, a result file the same result, and a run goes on from it, all to the last bit."""
    robot = system.robot
    if robot.user_loads:
        return  # functions have no place in files
    again = pl.parse_model(pl.io.dump_model(robot)).robot.compile()
    tables = [s.workspace().packed[:2] for s in (system, again)]
    for name, one, other in zip(("integer", "real"), *tables):
        need(np.array_equal(one, other), f"the model file changes a {name} table")
    first = pl.simulate(system, 0.01, max_wall_time=WALL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.h5")
        first.save(path)
        loaded = pl.Result.load(path, system)
    for name in ("t", "q", "v", "a", "u", "tau", "multipliers"):
        need(np.array_equal(getattr(first, name), getattr(loaded, name)), f"the result file changes {name}")
    if first.success:
        here = pl.simulate(system, 0.01, start=first, max_wall_time=WALL)
        there = pl.simulate(again, 0.01, start=loaded, max_wall_time=WALL)
        n = min(len(here.t), len(there.t)) if not (here.success and there.success) else len(here.t)
        need(np.array_equal(here.q[:n], there.q[:n]), "a run that goes on from a file is another one")


CHECKS: dict[str, Callable[[pl.System, int], None]] = {
    check.__name__: check for check in (finite_answers, tangents, dynamics, power, statics, motion, gradients, files)
}
