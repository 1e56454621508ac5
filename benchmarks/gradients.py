"""Gradients of whole motions: time of a rollout, of its gradient by all inputs, of each further parameter; memory; error.

    python benchmarks/gradients.py [--json results.json] [--rounds 5] [--robots manipulator,parallel,vehicle]

A motion is 10 s in 1000 steps (`inputs="linear"`, 11 knots), beside `simulate` with the same constant steps (its own method, of third order). Times
are the shortest of some rounds in which all take turns, by the clock of the process. Parameters are two of each robot, both asked for after the
gradient by inputs. The error is the largest difference from fourth-order differences of whole rollouts, by some knots and by the parameters,
each relative to the largest entry of its kind. Memory is what a rollout and its gradient hold beyond the system, from `tracemalloc`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small: threads only wait for each other

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import cable_driven_manipulator
import hybrid_parallel_robot
import underwater_vehicle

import pliant as pl

DURATION, STEP, KNOTS = 10.0, 0.01, 11


class Case(NamedTuple):
    """A robot, its inputs over time, a cost, parameters: one of stiffness, one of geometry."""

    build: Callable[[], pl.System]
    inputs: Callable[[float], dict[str, float]]
    cost: Any
    parameters: tuple[str, str]


def torques(_t: float) -> dict[str, float]:
    """Of the shafts of the vehicle [N m]."""
    return {"front_motor": 0.25, "rear_motor": -0.25}


CASES = {
    "manipulator": Case(
        cable_driven_manipulator.build,
        cable_driven_manipulator.tensions,
        pl.Reach("arm.tip", (0.3, 0.1, 0.2)) + 1e-4 * pl.Effort(),
        ("arm.young", "arm.length"),
    ),
    "parallel": Case(
        hybrid_parallel_robot.build,
        hybrid_parallel_robot.wrench,
        pl.Reach("corner1", (0.0, 0.0, 0.0)) + 1e-4 * pl.Effort(),
        ("pillar1.young", "pillar1.length"),
    ),
    "vehicle": Case(
        underwater_vehicle.build,
        torques,
        pl.Reach("body", (1.0, 0.0, 0.0)) + 1e-4 * pl.Effort(),
        ("front_flagellum0.young", "front_flagellum0.length"),
    ),
}


class Motion:
    """What is timed: one robot with its inputs."""

    def __init__(self, case: Case) -> None:
        self.system = case.build()
        self.cost = case.cost
        self.parameters = case.parameters
        rows = [case.inputs(t) for t in np.linspace(0, DURATION, KNOTS)]
        self.U = np.array([self.system.inputs(row) for row in rows])
        floating = any(isinstance(link.joint, pl.Free) for link in self.system.robot.links)
        self.start = self.system.neutral() if floating else pl.solve_statics(self.system, self.U[0]).q

    def rollout(self, U: np.ndarray | None = None, system: pl.System | None = None, **options: float) -> pl.Rollout:
        return pl.rollout(
            system or self.system, self.U if U is None else U, step=STEP, duration=DURATION, inputs="linear", start=self.start, **options
        )  # fmt: skip

    def simulate(self) -> pl.Result:
        u = pl.Signal(np.linspace(0, DURATION, KNOTS), self.U)
        return pl.simulate(self.system, DURATION, u=u, start=self.start, step=STEP)

    def value(self, U: np.ndarray | None = None, system: pl.System | None = None) -> float:
        """The cost, with more digits than the gradient that is judged by its differences."""
        return self.rollout(U, system, tolerance=1e-13).cost(self.cost)

    def errors(self) -> tuple[float, float]:
        """Of the derivatives by inputs and by parameters, against fourth-order differences."""
        g = self.rollout().gradient(self.cost)
        pairs, by_name = [], []
        for row in (KNOTS // 3, KNOTS - 2):
            for k in range(min(2, self.U.shape[1])):
                e = np.zeros_like(self.U)
                e[row, k] = 1e-2 * max(np.abs(self.U).max(), 1e-3)
                slope = fourth(lambda s, e=e: self.value(self.U + s * e)) / e[row, k]
                pairs.append((g.u[row, k], slope))
        for name in self.parameters:
            value = self.system.parameters[name]
            h = 1e-3 * value
            slope = fourth(
                lambda s, name=name, value=value, h=h: self.value(
                    system=self.system.with_parameters({name: value + s * h})
                )
            )
            by_name.append(abs(g[name] - slope / h) / max(abs(slope / h), 1e-300))
        exact, differences = np.array(pairs).T
        return float(np.abs(exact - differences).max() / np.abs(g.u).max()), float(max(by_name))

    def memory(self) -> float:
        """Largest memory of a rollout with its gradient [bytes]."""
        tracemalloc.start()
        self.rollout().gradient(self.cost)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return float(peak)


def fourth(f: Callable[[float], float]) -> float:
    """The derivative at 0 for a unit step."""
    return (8 * (f(1) - f(-1)) - (f(2) - f(-2))) / 12


def clock(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    out = function()
    return time.process_time() - start, out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--robots", default=",".join(CASES))
    options = parser.parse_args()
    rows = []
    print(
        f"{'robot':13}{'dof':>5}{'simulate':>11}{'rollout':>11}{'gradient':>11}{'ratio':>7}{'modulus':>11}{'geometry':>11}"
        f"{'memory':>10}{'error, u':>10}{'error, p':>10}"
    )
    for name in options.robots.split(","):
        motion = Motion(CASES[name])
        best = dict.fromkeys(("simulate", "rollout", "gradient", "modulus", "geometry"), np.inf)
        for turn in range(options.rounds + 1):  # once to warm up
            found, run = clock(motion.rollout)
            seconds = {"rollout": found, "simulate": clock(motion.simulate)[0]}
            seconds["gradient"], g = clock(lambda run=run: run.gradient(motion.cost))
            for key, parameter in zip(("modulus", "geometry"), motion.parameters):
                seconds[key] = clock(lambda g=g, parameter=parameter: g[parameter])[0]
            best = {key: min(best[key], seconds[key]) for key in best} if turn else best
        by_u, by_p = motion.errors()
        row = {
            "robot": name,
            "dof": motion.system.nv,
            **best,
            "memory": motion.memory(),
            "error_u": by_u,
            "error_p": by_p,
        }
        rows.append(row | {"parameters": motion.parameters})
        print(
            f"{name:13}{row['dof']:5d}"
            + "".join(f"{1e3 * best[key]:8.1f} ms" for key in ("simulate", "rollout", "gradient"))
            + f"{best['gradient'] / best['rollout']:7.2f}"
            + "".join(f"{1e3 * best[key]:8.2f} ms" for key in ("modulus", "geometry"))
            + f"{row['memory'] / 1e6:7.1f} MB{by_u:10.1e}{by_p:10.1e}",
            flush=True,
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
