"""pliant's part: the rod, the rigid chains, gradients of a rollout, many at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import shared as s
from papers import paper, paper_statics

import pliant as pl
from pliant.kernels import engine

RUBBER = pl.Material(young=s.YOUNG, poisson=0.5, density=s.DENSITY, viscosity=s.VISCOSITY)
TIMES = np.linspace(0, s.DURATION, s.SAMPLES)


def build(space: bool, full: bool, order: int, linear: int = 0, points: int | None = None) -> pl.System:
    """The rod: bending (and torsion) of one order, stretch and shear of another."""
    orders = {"torsion": order, "bending": order} if space else {"bending_y": order}
    if full:
        orders |= {"stretch": linear, "shear" if space else "shear_z": linear}
    robot = pl.Robot("rod", gravity=(0, 0, -s.GRAVITY))
    section = pl.Circle(s.RADIUS)
    strains = pl.Strains(**orders)
    robot.add_rod("rod", length=s.LENGTH, section=section, material=RUBBER, strains=strains, points=points)
    return robot.compile()


def rod(
    space: bool,
    full: bool,
    order: int,
    linear: int = 0,
    points: int | None = None,
    rtol: float = 1e-4,
    method: str = "auto",
) -> Callable[[], Any]:
    """The motion with error control (`atol` is a tenth of `rtol`)."""
    system = build(space, full, order, linear, points)
    options: dict[str, Any] = {"rtol": rtol, "atol": rtol / 10, "method": method, "output": TIMES}

    def run() -> dict[str, Any]:
        result = pl.simulate(system, s.DURATION, **options)
        if not result.success:
            raise RuntimeError(result.message)
        return {"tip": result.positions("rod.tip").tolist(), "steps": result.statistics.steps}

    return run


def statics(space: bool, full: bool, order: int, linear: int = 0, points: int | None = None) -> Callable[[], Any]:
    """The rod at rest under its weight, from straight."""
    system = build(space, full, order, linear, points)

    def run() -> dict[str, Any]:
        rest = pl.solve_statics(system)
        if not rest.success:
            raise RuntimeError(rest.message)
        return {"tip": system.pose("rod.tip", rest.q)[:3, 3].tolist()}

    return run


def reference(space: bool, full: bool, order: int = 20, rtol: float = 1e-9) -> Callable[[], Any]:
    """The converged motion and equilibrium."""
    system = build(space, full, order, order, 2 * order + 8)

    def run() -> dict[str, Any]:
        result = pl.simulate(system, s.DURATION, rtol=rtol, atol=rtol / 10, output=TIMES)
        rest = system.pose("rod.tip", pl.solve_statics(system).q)[:3, 3]
        return {"tip": result.positions("rod.tip").tolist(), "rest": rest.tolist()}

    return run


# ---------------------------------------------------------------- rigid chains


def chain_system(n: int) -> pl.System:
    robot = pl.Robot("chain", gravity=(0, 0, -s.GRAVITY))
    parent = None
    own = {"offset": s.CHAIN_OFFSET, "mass": s.CHAIN_MASS, "com": s.CHAIN_COM, "inertia": s.CHAIN_INERTIA}
    for k in range(n):
        parent = robot.add_body(f"b{k}", parent=parent, joint=pl.Revolute("zyx"[k % 3]), **own)
    return robot.compile()


@numba.njit
def repeat(n, job, ints, floats, buffer, q, v, a, u, p, S, pivot, out):  # type: ignore[no-untyped-def]
    """The same computation n times from compiled code."""
    for _ in range(n):
        engine.run(job, ints, floats, buffer, q, v, a, u, v, p, S, pivot, q, out, out, pivot, v)


def chain(n: int, what: str, inside: bool = False) -> Callable[[], Any]:
    """Inverse dynamics ("ID"), its derivatives ("dID") or forward dynamics ("FD"); `inside` repeats 100 times in compiled code."""
    system = chain_system(n)
    q, v, a = (np.array(x) for x in s.chain_state(n))
    if not inside:
        call = {"ID": system.inverse_dynamics, "dID": system.inverse_dynamics_derivatives}
        task = (lambda: system.forward_dynamics(q, v)) if what == "FD" else (lambda: call[what](q, v, a))
        known = np.asarray(task()).tolist() if what != "dID" and n <= 10 else None

        def run() -> dict[str, Any]:
            task()
            return {"value": known}

        return run
    out, u, pivot = np.zeros(n), np.zeros(system.nu), np.zeros(n, dtype=np.int64)
    S, p = np.zeros((3, n, n)), np.zeros(engine.PARAMETERS)
    p[:3] = 1.0, 0.5, 0.25
    job = {"ID": engine.ID, "dID": engine.DERIVATIVES}[what]
    workspace = system.workspace()
    workspace.prepare()
    return lambda: repeat(INSIDE, job, *workspace.packed, q, v, a, u, p, S, pivot, out)


INSIDE = 100  # calls from compiled code per call of the task


# ---------------------------------------------------------------- gradients, many at once


def gradient(space: bool, order: int, steps: int, with_gradient: bool = True) -> Callable[[], Any]:
    """A rollout of 1 s in bending, the squared distance of its end from a point, and its gradient by the start."""
    system = build(space, False, order)
    cost = pl.Reach("rod.tip", s.TARGET, weight=2.0)

    def run() -> dict[str, Any]:
        motion = pl.rollout(system, step=1.0 / steps, duration=1.0)
        if not with_gradient:
            return {"cost": float(motion.cost(cost))}
        found = motion.gradient(cost)
        return {"cost": found.value, "q": found.start.tolist()}

    return run


def all_at_once(system: pl.System, starts: np.ndarray, pool: ThreadPoolExecutor, **options: Any) -> None:
    """The motions from all starts: the one place that knows how many robots are run at once (threads; kernels release the lock)."""

    def one(q: np.ndarray) -> bool:
        return bool(pl.simulate(system, s.DURATION, start=q, **options).success)

    if not all(pool.map(one, starts)):
        raise RuntimeError("a run failed")


def many(
    space: bool,
    full: bool,
    order: int,
    count: int,
    linear: int = 0,
    points: int | None = None,
    rtol: float = 1e-3,
    method: str = "auto",
) -> Callable[[], Any]:
    """`count` rods at once, each from its own start; all cores."""
    system = build(space, full, order, linear, points)
    starts = 1e-3 * np.random.default_rng(0).normal(size=(count, system.nq)) + system.neutral()
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    return lambda: all_at_once(system, starts, pool, rtol=rtol, atol=rtol / 10, method=method)


TASKS = {
    "rod": rod,
    "statics": statics,
    "reference": reference,
    "chain": chain,
    "gradient": gradient,
    "many": many,
    "paper": paper,
    "paper_statics": paper_statics,
}

if __name__ == "__main__":
    s.serve(TASKS)
