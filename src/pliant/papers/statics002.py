"""Statics of [002]: 1000 random inputs for each of three robots, with and without exact derivatives; figures 5, 9 and 14."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solve.equilibrium import Equilibrium
from ..solve.statics import solve_statics
from ..system import System
from .declare import Experiment, Measured, Number, Outcome
from .measure import cpu, mismatch
from .robots002 import made

__all__ = ["STATICS"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Random inputs of a robot: how one is drawn, and the observed frames."""

    draw: Callable[[np.random.Generator, Any], dict[str, Any]]
    frames: tuple[str, ...]
    shown: int


def _tensions(rng: np.random.Generator, module: Any) -> dict[str, Any]:
    return {"u": rng.uniform(0, 100, 5)}


def _angles(rng: np.random.Generator, module: Any) -> dict[str, Any]:
    return {"motion": dict(zip(module.MOTION, rng.uniform(-np.pi / 4, np.pi / 4, 7)))}


def _wrench(rng: np.random.Generator, module: Any) -> dict[str, Any]:
    return {"u": dict(zip(module.COMPONENTS, [*rng.uniform(-0.5, 0.5, 3), *rng.uniform(-0.05, 0.05, 3)]))}


TASKS = {
    "cdm": Task(_tensions, ("arm.tip",), 10),
    "serial": Task(_angles, ("arm.tip",), 5),
    "parallel": Task(_wrench, ("corner1", "corner2", "corner3"), 4),
}


def _fsolve(system: System, given: dict[str, Any], start: Array, tight: bool = False) -> tuple[Array, Array, bool]:
    """q, multipliers and success of a general solver with differences, as MATLAB's fsolve without a Jacobian."""
    from scipy.optimize import root

    known, zero = np.flatnonzero(system.known), np.zeros(system.nv)
    free = np.setdiff1d(np.arange(system.nv), known)
    q0, loops = start.copy(), len(system.loop_rows)
    for k, x in zip(known, given.get("motion", {}).values()):
        q0[k] = x

    def unpack(x: Array) -> tuple[Array, Array]:
        change = np.zeros(system.nv)
        change[free] = x[: len(free)]
        return system.integrate(q0, change), x[len(free) :]

    def residual(x: Array) -> Array:
        q, force = unpack(x)
        out = system.residual(q, zero, zero, given.get("u"), multipliers=force if loops else None)[free]
        return np.concatenate([out, system.closure(q)[0]]) if loops else out

    found = root(residual, np.zeros(len(free) + loops), method="hybr", options={"xtol": 1e-12 if tight else 1e-8})
    q, force = unpack(found.x)
    return q, force, bool(found.success)


def _points(system: System, q: Array, frames: tuple[str, ...]) -> Array:
    return np.array([system.pose(f, q)[:3, 3] for f in frames])


def statics(name: str, quick: bool) -> Outcome:
    """Times, success and mismatches."""
    task, (module, system, _options) = TASKS[name], made(name)
    rng = np.random.default_rng(0)
    sets = [task.draw(rng, module) for _ in range(100 if quick else 1000)]
    rest = None if name == "serial" else solve_statics(system)

    def solve(chosen: list[dict[str, Any]]) -> list[Equilibrium]:
        return [solve_statics(system, start=rest, **given) for given in chosen]

    seconds, found = cpu(lambda: solve(sets), 2, longest=6.0)
    some = sets[: 20 if quick else 100]
    start = system.neutral() if rest is None else rest.q

    def general() -> list[tuple[Array, Array, bool]]:
        with np.errstate(all="ignore"):
            return [_fsolve(system, given, start) for given in some]

    slow, others = cpu(general, 1)
    solved = [k for k, other in enumerate(others) if other[2] and found[k].success]
    apart = np.array(
        [
            np.linalg.norm(
                _points(system, found[k].q, task.frames) - _points(system, others[k][0], task.frames), axis=1
            ).max()
            for k in solved
        ]
    )
    states = np.array([mismatch(found[k].q, others[k][0])[0] for k in solved])
    same = apart < 1e-3
    polished = [
        np.linalg.norm(
            _points(system, found[k].q, task.frames)
            - _points(system, _fsolve(system, sets[k], found[k].q, tight=True)[0], task.frames),
            axis=1,
        ).max()
        for k in range(0, len(some), 5)
        if found[k].success
    ]
    values = {
        "solved, stable": Measured(100 * float(np.mean([f.success and f.stable for f in found]))),
        "time of one, exact derivatives": Measured(1e3 * seconds / len(sets), float(np.max(polished))),
        "time of one, differences (SciPy's hybr)": Measured(
            1e3 * slow / len(some), float(apart[same].max()) if same.any() else float("nan")
        ),
        "solved by differences": Measured(100 * len([o for o in others if o[2]]) / len(others)),
        "the same equilibrium by both": Measured(100 * float(np.mean(same)) if len(same) else float("nan")),
        "mismatch of the points, same equilibrium, median": Measured(
            float(np.median(apart[same])) if same.any() else float("nan")
        ),
    }
    return Outcome(values, figures=_draw(system, found[: task.shown], apart, states))


def _draw(system: System, shapes: list[Equilibrium], apart: Array, states: Array) -> dict[str, Any]:
    from ..viz.drawing import plot_configurations
    from ..viz.style import panels

    shape = plot_configurations(
        system, [s.q for s in shapes], label="equilibrium", values=np.arange(1.0, len(shapes) + 1)
    )
    figure, axes = panels(1, 2, size=(9, 2.8))
    for ax, y, label in zip(axes, (apart, states), ("distance of the points [m]", "mismatch of q [–]")):
        ax.semilogy(np.maximum(y, 1e-17), ".")
        ax.set(xlabel="random input", ylabel=label)
    return {"shapes": shape, "mismatch": figure}


CASES = {
    "cdm": ("section 4.5, fig. 5", "Cable-driven manipulator", "cable_driven_manipulator", 3.3, 28.2, "tensions of 0 to 100 N; 5 Gauss points as in the paper (with 10 some of the strongest tensions crush a "
            "point of the inner side to nothing, where there is no equilibrium)."),
    "serial": ("section 5.1, eq. 45, fig. 9", "Hybrid serial robot", "hybrid_serial_robot", 6.3, 49.9, "joint angles within ±45°; 5 Gauss points; the links are made up. From the straight arm the general solver ends in other equilibria, or nowhere, for half of the "
               "inputs (an upright soft arm has many, most of them unstable); `solve_statics` descends to stable ones."),
    "parallel": ("section 6.1, eq. 52, fig. 14", "Hybrid parallel robot", "hybrid_parallel_robot", 8.97, 166.39, "forces within ±0.5 N, moments within ±0.05 N m on the platform; 5 Gauss points; axes of the feet assumed."),
}  # fmt: skip


def _case(name: str) -> Experiment:
    place, title, example, fast, slow, reading = CASES[name]
    return Experiment(
        key=f"002-{name}-statics",
        place=place,
        title=f"{title}: 1000 random equilibria",
        verdict="reproduced",
        run=partial(statics, name),
        why="Started from rest under gravity. Exact derivatives: `solve_statics`, which also decides on stability, called from Python. Differences: 100 of the same "
        "inputs, from the same start, by SciPy's hybr on pliant's compiled residual. The error beside a time is the distance of the observed points from a solution polished to 1e-12, or for "
        "differences from `solve_statics`.",
        reading=reading,
        example=example,
        numbers=(
            Number("solved, stable", 100.0, "%", "equal", 0.001, shown="all"),
            Number("time of one, exact derivatives", fast, "ms", "time"),
            Number("time of one, differences (SciPy's hybr)", slow, "ms", "time"),
            Number("solved by differences", None, "%"),
            Number(
                "the same equilibrium by both",
                None,
                "%",
                shown="identical but for multiple solutions" if name == "parallel" else "identical",
            ),
            Number("mismatch of the points, same equilibrium, median", 1e-6, "m", "at most", shown="identical"),
        ),
        figure_captions={
            "shapes": "(a) equilibria",
            "mismatch": "(b) and (c): both solvers, distance of the points and mismatch of q",
        },
    )


STATICS = tuple(_case(name) for name in CASES)
