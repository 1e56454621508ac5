"""Both sides of every switch of a robot: slack and taut, apart and touching, within a stop and beyond, before and behind play.

A switch is a number of the configuration that changes its sign: a gap, a length beyond the rest length, a coordinate beyond the end of its range. States are
built beside its zero, 1e-9, 1e-6 and 1e-3 of a natural size on either side. There the residual's tangents are compared with the
complex step, which takes the branch of its real part and never the other, and gradients of a few steps with differences that do not reach the switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from checks import Finding, need, state
from scipy.optimize import brentq

import pliant as pl
from load_robots import complex_forces, moved

BESIDE = (1e-9, 1e-6, 1e-3)
Switch = Callable[[np.ndarray], float]


def switches(system: pl.System, u: np.ndarray) -> Iterator[tuple[str, Switch]]:
    """The switches of a robot by name."""
    robot, names = system.robot, list(system.robot.tendons)
    neutral = system.tendon_lengths(system.neutral())[0]
    for name, tendon in robot.tendons.items():
        if tendon.control == "elastic":
            k = names.index(name)
            rest = neutral[k] if tendon.rest_length is None else tendon.rest_length
            rest -= u[system.input_names.index(name)]
            yield f"slack of {name!r}", lambda q, k=k, rest=rest: float(system.tendon_lengths(q)[0][k] - rest)
    places = {link.name: system.q_slice(link.name).start for link in robot.links}

    def coordinate(link: str, dof: int) -> int | None:
        joint = next((one.joint for one in robot.links if one.name == link), None)
        return None if joint is None or joint.group is not None else places[link] + dof

    for name, stop in robot.stops.items():
        c = coordinate(stop.link, stop.dof)
        for bound in (stop.lower, stop.upper):
            if c is not None and np.isfinite(bound):
                yield f"stop {name!r}", lambda q, c=c, bound=bound: float(q[c] - bound)
    for name, bearing in robot.bearings.items():
        gap = getattr(bearing, "gap", 0.0)
        if gap and isinstance(bearing, pl.model.bearings.Backlash):
            terms = [(coordinate(link, dof), ratio) for link, dof, ratio in bearing.terms]
            if all(c is not None for c, _ratio in terms):
                for side in (-0.5, 0.5):
                    yield f"play of {name!r}", lambda q, t=terms, s=bearing.offset + side * gap: float(sum(r * q[c] for c, r in t) - s)  # fmt: skip
        elif gap:
            c = coordinate(bearing.link, bearing.dof)
            for side in (-0.5, 0.5):
                if c is not None:
                    yield f"play of {name!r}", lambda q, c=c, s=bearing.rest + side * gap: float(q[c] - s)
    for name in robot.contacts:
        yield f"gap of {name!r}", lambda q, name=name: _gap(system, name, q)


def _gap(system: pl.System, name: str, q: np.ndarray) -> float:
    found = system.contacts(q, within=1e3)
    return float(np.min(found.gap[np.array(found.name) == name], initial=1e3))


def beside(system: pl.System, switch: Switch, seed: int) -> Iterator[tuple[float, np.ndarray]]:
    """Distances from the zero of a switch, and configurations there; nothing if it is not found."""
    rng = np.random.default_rng(seed)
    s = system.internal.scale
    for _ in range(6):
        q = system.random(rng, scale=0.2)
        d = s * rng.normal(size=system.nv) * ~system.known
        along = np.linspace(-1.0, 1.0, 17)
        values = np.array([switch(system.integrate(q, x * d)) for x in along])
        turns = np.flatnonzero((values[:-1] * values[1:] < 0.0) & (np.abs(values[:-1]) + np.abs(values[1:]) < 1e2))
        if not len(turns):
            continue
        k = int(turns[0])
        zero = float(brentq(lambda x, q=q, d=d: switch(system.integrate(q, x * d)), along[k], along[k + 1], xtol=1e-15))
        if abs(switch(system.integrate(q, zero * d))) > 1e-10:
            continue  # it jumps there: another point is the nearest
        for h in BESIDE:
            for side in (-h, h):
                yield side, system.integrate(q, (zero + side) * d)
        return


def _elastic_change(system: pl.System, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """How elastic forces that are no load change along d: laws of rods are loads, which stand for what is not constant."""
    out = system.elastic_tangent(q) @ d
    inner = system.internal
    for link in system.robot.links:
        if link.is_rod and link.content.law:
            own = system.v_slice(link.name)
            for i in range(own.start + link.joint.nv, own.stop):
                row = slice(int(inner.start[i]), int(inner.start[i + 1]))
                out[i] = inner.stiffness[row] @ d[inner.column[row]]
    return out


def tangents_beside_switches(system: pl.System, seed: int) -> None:
    """∂r/∂q, ∂r/∂v and ∂r/∂a along a direction against the complex step, on both sides of every switch, and at an ordinary state."""
    robot = system.robot
    if robot.user_loads:
        return  # a function of the user knows no complex numbers
    q0, v, a, u = state(system, seed)
    rng, s = np.random.default_rng(seed), system.internal.scale
    rows = rng.normal(size=len(system.loop_rows))
    d = s * rng.normal(size=system.nv)
    h = 1e-40
    places = [("an ordinary state", 0.0, q0)]
    for k, (name, switch) in enumerate(list(switches(system, u))[:8]):
        places += [(name, side, q) for side, q in beside(system, switch, seed + k)]
    found = []
    for name, side, q in places:
        if not np.all(np.isfinite(system.elastic_forces(q))):
            continue  # a rod of rubber that is turned inside out
        inner = (_elastic_change(system, q, d), system.damping_matrix() @ d, 0.0 * d)
        moves = ((moved(system, q, 1j * h * d), v, a), (q, v + 1j * h * d, a), (q, v, a + 1j * h * d))
        for k, weights in enumerate(np.eye(3)):
            exact = complex_forces(system, *moves[k], u, rows).imag / h + inner[k]
            K = system.residual_tangent(q, v, a, u, weights=tuple(weights), multipliers=rows)
            size = float((np.abs(s[:, None] * K) @ np.abs(d)).max(initial=1e-300))
            miss = float(np.abs(s * (K @ d - exact)).max()) / size
            if not miss <= 1e-9 + (1e-15 / abs(side) if side else 0.0):  # a gap has the rounding of where it is
                found.append(f"∂r/∂{'qva'[k]} differs by {miss:.1e} from the complex step at {side:+.0e} beside {name}")
    need(not found, "; ".join(found[:4]))


def gradients_beside_switches(system: pl.System, seed: int) -> None:
    """How velocities after two small steps depend on the start, on both sides of every switch, against differences that stay there."""
    u = np.zeros(system.nu)
    s = system.internal.scale
    rng = np.random.default_rng(seed + 3)
    if system.loop_rows or system.told or len(system.tables.colloc):
        return  # their starts are projected
    found = []
    for k, (name, switch) in enumerate(list(switches(system, u))[:4]):
        for side, q in beside(system, switch, seed + k):
            if abs(side) < 1e-3 or not np.all(np.isfinite(system.elastic_forces(q))):
                continue
            d, w = s * rng.normal(size=system.nv), rng.normal(size=system.nv) / s
            reach = abs(switch(q))  # how far the switch is, and how fast it comes nearer along d
            rate = abs(switch(system.integrate(q, 1e-6 * d)) - switch(q)) / 1e-6
            h = min(0.02 * reach / max(rate, 1e-300), 1e-4)

            def go(x: float, q: np.ndarray = q, d: np.ndarray = d) -> pl.Rollout:
                return pl.rollout(
                    system, np.tile(u, (2, 1)), step=1e-4, start=system.integrate(q, x * d), tolerance=1e-14
                )

            try:
                run = go(0.0)
                slopes = []
                for x in (h, 0.25 * h):
                    values = [float(w @ go(k * x).v[-1]) for k in (-2, -1, 1, 2)]
                    slopes.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * x))
            except pl.RolloutError:
                continue
            slope = slopes[0]
            if abs(slopes[1] - slope) > 1e-3 * abs(slope):
                continue  # another switch is as near: at rest what touches neither comes nor goes
            weights = np.zeros((len(run.t), system.nv))
            weights[-1] = w
            exact = float(run.pull(0 * weights, weights, np.zeros((len(run.t), system.nu))).start @ d)
            noise = 1e-15 * float(np.abs(w) @ np.abs(run.v[-1])) / h + 1e-9 * float(np.abs(w) @ np.abs(s)) / 1e-4
            if abs(slope - exact) > 3e-3 * max(abs(slope), abs(exact)) + noise:
                found.append(f"the gradient is {exact:.6g}, differences are {slope:.6g} at {side:+.0e} beside {name}")
    need(not found, "; ".join(found[:4]))


TURNS = (2.0, 2.8, np.pi - 1e-6, np.pi, np.pi + 1e-6)  # rad


def branches_of_loops(_system: pl.System, seed: int) -> None:
    """A loop joint that is turned about an axis that it holds is open, up to half a turn and beyond; closing it does not end upside down."""
    rng = np.random.default_rng(seed + 21)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    joint, free = [
        (pl.Fixed(), None), (pl.Prismatic(axis), None), (pl.Revolute(axis), axis), (pl.Cylindrical(axis), axis), (pl.Planar(axis), axis),
    ][int(rng.integers(5))]  # fmt: skip
    across = np.eye(3)[int(rng.integers(3))] if rng.random() < 0.5 else rng.normal(size=3)
    if free is not None:
        across = across - (across @ free) * free
    robot = pl.Robot("loose", gravity=(0, 0, 0))
    body = robot.add_body("body", joint=pl.Free(), shape=pl.Box(0.1, 0.2, 0.3), mass=1.0)
    robot.add_loop("weld", "world", body, joint=joint)
    system = robot.compile()
    found = []
    for turn in TURNS:
        q = system.configuration({"body": pl.rotate(across, turn)})
        gap = float(np.abs(system.closure(q)[0]).max())
        if gap < 0.5:
            found.append(f"{joint!r} turned by {turn:.7g} rad is open by {gap:.1e} only")
    try:
        run = pl.simulate(system, 1e-2, start=system.configuration({"body": pl.rotate(across, 2.0)}))
    except ValueError:
        run = None  # refused, with a reason
    if run is not None and run.success:
        R = system.pose("body", run.q[-1])[:3, :3]
        left = R if free is None else R @ free - free  # what must not have turned
        away = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1)) if free is None else float(np.linalg.norm(left))
        if away > 0.5:
            found.append(f"{joint!r} from 2.0 rad is closed {away:.2f} away from its zero")
    need(not found, "; ".join(found[:2]))


SWITCHES: dict[str, Callable[[pl.System, int], None]] = {
    check.__name__: check for check in (tangents_beside_switches, gradients_beside_switches, branches_of_loops)
}
__all__ = ["SWITCHES", "Finding", "beside", "switches"]
