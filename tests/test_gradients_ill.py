"""Adjoints with factors that are kept from stage to stage: as exact as with each stage's own, on robots where that is hard."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from gradient_checks import difference
from pliant import gallery
from pliant.gradients.gradient import Adjoint
from pliant.gradients.memory import Memory
from pliant.gradients.plan import Part
from pliant.kernels import slots

sys.path.insert(0, str(Path(__file__).parent / "soak"))
from parts import random_robot


def step_by_step(run: pl.Rollout) -> pl.Rollout:
    """The same motion in parts of one step each, of which no adjoint can be extrapolated, so that no factors are kept."""
    record, parts = run.memory.record, []
    for k in range(len(run)):
        plan = replace(run.plan, times=run.t[k : k + 2], q=run.q[k], v=run.v[k])
        memory = Memory(run.system, run.plan.tableau, 1)
        for name in ("inputs", "a", "force", "kept", "hold"):
            getattr(memory.record, name)[:] = getattr(record, name)[k : k + 1]
        for name in ("t", "q", "v", "push", "memory"):
            getattr(memory.record, name)[:] = getattr(record, name)[k : k + 2]
        memory.record.begin_q[:], memory.record.begin_v[:] = record.q[k], record.v[k]
        memory.record.push[0] = 0.0  # where a part starts nothing is left to be projected
        parts.append(Part(plan, run.parts[0].begin, memory))
    return replace(run, parts=tuple(parts))


@pytest.mark.parametrize("seed", [42, 133, 219])
def test_ill_conditioned_robots(seed):
    """Stiff robots of the soak. Those of 42 and 133 have spectral rods; the last loses seven digits by itself, forwards as backwards."""
    system = random_robot(seed).compile()
    rng = np.random.default_rng(seed)
    rest = pl.solve_statics(system)
    start, scale = rest.q if rest.success else system.neutral(), system.internal.scale
    low, high = system.input_bounds
    U = np.tile(np.clip(rng.uniform(0.1, 1.0, size=system.nu), low, high), (10, 1))
    dq, dv = 0.1 * np.where(system.known, 0.0, scale) * rng.normal(size=(2, system.nv))
    dU = 0.1 * U * rng.normal(size=U.shape)

    def go(s: float) -> pl.Rollout:
        moved = system.integrate(start, s * dq)
        return pl.rollout(system, U + s * dU, step=2e-3, start=moved, velocity=(1 + s) * dv, tolerance=1e-13)

    run = go(0.0)
    rows = [rng.normal(size=(len(run.t), n)) for n in (system.nv, system.nv, system.nu)]
    rows[0] /= scale
    rows[1] /= scale
    kept, own = (
        [np.vdot(g.u, dU), g.start @ dq, g.velocity @ dv] for g in (run.pull(*rows), step_by_step(run).pull(*rows))
    )
    size = float(np.abs(own).max())
    assert np.abs(np.subtract(kept, own)).max() < 3e-8 * size

    def judged(s: float) -> float:
        other = go(s)
        away = np.array([system.difference(p, q) for p, q in zip(run.q, other.q)])
        return float(np.vdot(rows[0], away) + np.vdot(rows[1], other.v) + np.vdot(rows[2], other.u))

    assert abs(difference(judged, 1e-5) - sum(kept)) < 1e-5 * size


@pytest.mark.parametrize(
    ("name", "goal", "most"),
    [
        ("underwater_vehicle", (0.2, 0.0, 0.0), 0.5),
        ("underwater_vehicle", (0.2, 0.5, 0.2), 0.8),  # adjoints turn with the shafts
        ("hybrid_parallel_robot", (0.2, 0.0, 0.0), 1.0),
    ],
)
def test_factors_are_kept(name, goal, most):
    """Fewer factorisations than steps, of two stages each, on robots that move smoothly; and the gradient is that of each stage's own factors."""
    example = gallery.load(name)
    system = example.build()
    closed = bool(system.loop_rows)
    U = [system.inputs(example.wrench(x)) for x in (0.5, 1.0, 1.5)] if closed else np.tile([0.25, -0.25], (3, 1))
    start = pl.solve_statics(system, U[0]).q if closed else system.neutral()
    run = pl.rollout(system, U, step=0.01, duration=2.0 if closed else 8.0, start=start, inputs="linear")
    adjoint = same_with_own_factors(run, "corner1" if closed else "body", goal)
    assert adjoint._kept is not None
    assert adjoint._kept.p[slots.MARCH_FACTORISATIONS] < most * len(run)


def test_jumps_of_inputs():
    """Where inputs jump adjoints do too, and cannot be extrapolated across: as exact with factors that are kept between the jumps."""
    example = gallery.load("hybrid_parallel_robot")
    system = example.build()
    U = np.array([system.inputs(example.wrench(x)) for x in (0.5, 2.5, 1.0, 4.0)])
    run = pl.rollout(system, U, step=0.01, duration=1.2, start=pl.solve_statics(system).q, inputs="hold")
    same_with_own_factors(run, "corner1", (0.2, 0.0, 0.0))


def same_with_own_factors(run: pl.Rollout, frame: str, goal: tuple[float, float, float]) -> Adjoint:
    """The adjoint of a cost, after it was compared with that of the same steps one by one."""
    found = pl.Reach(frame, goal).evaluate(run.states).gradient
    adjoint, own = (Adjoint(motion, found.q, found.v).complete() for motion in (run, step_by_step(run)))
    for one, other in ((adjoint.u, own.u), (adjoint.velocity, own.velocity), (adjoint.tables, own.tables)):
        np.testing.assert_allclose(one, other, atol=1e-10 * np.abs(other).max())
    return adjoint
