"""Robots whose numbers machine code and numba must agree on: those of the golden files, all families of loads, motions, gradients."""

from __future__ import annotations

import numpy as np

import pliant as pl
import test_golden
import test_gradients
import test_interpreted

__all__ = ["compute"]


def _golden(name: str) -> dict[str, np.ndarray]:
    """A robot of the golden files: dynamics, derivatives, statics, a motion, a linearisation."""
    golden = test_golden.load(name)
    system = golden.system
    q, v, a = golden.state()
    d = system.inverse_dynamics_derivatives(q, v, a)
    rest = pl.solve_statics(system)
    run = pl.simulate(system, 0.5, start=rest.q + 0.1)
    return {
        "inverse dynamics": d.value if hasattr(d, "value") else system.inverse_dynamics(q, v, a),
        "dq": d.dq,
        "dv": d.dv,
        "mass": d.mass,
        "forward": system.forward_dynamics(q, v, a),
        "rest": rest.q,
        "A": pl.linearize(system, rest).A,
        "motion": run.q[-1],
        "times": run.t,
    }


def _gradients() -> dict[str, np.ndarray]:
    """A rollout of a floating robot, and products with its derivatives."""
    system, U, start, _names = list(test_gradients.robots())[2]
    run = pl.rollout(system, U, step=0.005, start=start)
    rng = np.random.default_rng(0)
    back = run.pull(*(rng.normal(size=(len(run) + 1, n)) for n in (system.nv, system.nv, system.nu)))
    return {"q": run.q, "v": run.v, "by start": back.start, "by velocity": back.velocity}


def compute() -> dict[str, np.ndarray]:
    """All numbers by name."""
    out = {f"small {name}": value for name, value in test_interpreted.compute().items()}
    for name in test_golden.NAMES:
        out |= {f"{name} {key}": np.asarray(value, dtype=float) for key, value in _golden(name).items()}
    return out | {f"rollout {name}": value for name, value in _gradients().items()}
