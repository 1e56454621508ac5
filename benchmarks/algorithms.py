"""What the algorithms cost on chains of growing length: composite against articulated body, dense factors against the tree.

    python benchmarks/algorithms.py [--json FILE] [--figure FILE] [--quick]

Times are the minimum of interleaved calls, in microseconds per call from Python.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pliant as pl
from pliant.kernels import engine, slots
from pliant.system.dynamics import mass_storage, step_storage

SOFT = pl.Material(young=1e6, poisson=0.5, density=1000.0, viscosity=1e3)


def rods(n: int) -> pl.System:
    """Rods of 15 coordinates one after another."""
    robot, parent = pl.Robot("rods"), None
    for k in range(n):
        parent = robot.add_rod(
            f"rod{k}", parent=parent, length=0.3, section=pl.Circle(0.02), material=SOFT,
            strains=pl.Strains(torsion=2, bending=2, stretch=1, shear=1),
        )  # fmt: skip
    return robot.compile()


def joints(n: int) -> pl.System:
    """Rigid bodies on revolute joints."""
    robot, parent = pl.Robot("joints"), None
    for k in range(n):
        parent = robot.add_body(
            f"body{k}", parent=parent, joint=pl.Revolute("yz"[k % 2]), offset=(0.1, 0, 0), shape=pl.Box(0.1, 0.02, 0.02),
            density=1000.0,
        )  # fmt: skip
    return robot.compile()


def sections(n: int) -> pl.System:
    """One rod of constant-strain sections with six strains each ([001])."""
    robot, constant = pl.Robot("sections"), pl.PiecewiseConstant(n)
    strains = pl.Strains(torsion=constant, bending=constant, stretch=constant, shear=constant)
    robot.add_rod("arm", length=1.0, section=pl.Circle(0.02), material=SOFT, strains=strains)
    return robot.compile()


def elements(n: int) -> pl.System:
    """One rod with linear elements, whose nodes belong to two elements each."""
    robot, linear = pl.Robot("elements"), pl.LinearElements(n)
    robot.add_rod(
        "arm", length=1.0, section=pl.Circle(0.02), material=SOFT, strains=pl.Strains(bending=linear, torsion=linear)
    )
    return robot.compile()


FAMILIES: dict[str, tuple[Callable[[int], pl.System], tuple[int, ...]]] = {
    "rods": (rods, (1, 2, 3, 5, 8, 13, 20, 40, 70)),
    "joints": (joints, (6, 12, 24, 36, 50, 70, 100, 300, 1000)),
    "sections": (sections, (1, 2, 3, 5, 8, 13, 20, 50, 166)),
    "elements": (elements, (2, 5, 10, 15, 20, 33, 66, 133, 333)),
}
COLUMNS = ("composite", "articulated", "dense", "tree", "residual")


def fastest(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Minimum time of each call [µs], taken in turns."""
    best = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 3:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], 1e6 * (time.perf_counter() - start))
        rounds += 1
    return best


def measure(system: pl.System, seconds: float) -> dict[str, float]:
    """Times of one robot: forward dynamics by two algorithms, factors and solution of a step by two, the residual."""
    rng = np.random.default_rng(0)
    q, v, zero = system.random(rng, scale=0.1), 0.1 * rng.normal(size=system.nv), np.zeros(system.nv)
    b, p = rng.normal(size=system.nv), np.zeros(engine.PARAMETERS)
    p[slots.OPTION_CV], p[slots.OPTION_CA] = 30.0, 1000.0
    dense, tree = step_storage(system, "dense"), step_storage(system, "tree")

    def step(storage: tuple[np.ndarray, bool]) -> int:
        S, p[slots.OPTION_TREE] = storage
        return system.run_job(engine.SOLVE, q, v, zero, p=p, S=S, acceleration=b.copy())

    return fastest(
        {
            "composite": lambda: system.forward_dynamics(q, v, method="composite"),
            "articulated": lambda: system.forward_dynamics(q, v, method="articulated"),
            "dense": lambda: step(dense),
            "tree": lambda: step(tree),
            "residual": lambda: system.run_job(engine.RESIDUAL, q, v, zero),
        },
        seconds,
    )


def chosen(system: pl.System) -> tuple[bool, bool]:
    """Whether the automatic choice is the tree, for forward dynamics and for implicit steps."""
    return mass_storage(system, "auto", system.workspace())[1], step_storage(system)[1]


def plot(rows: list[dict], path: Path) -> None:
    """Cost against degrees of freedom, one panel per family."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(FAMILIES), figsize=(13, 3.6), sharey=True, layout="constrained")
    styles = {"composite": "C0--", "articulated": "C0-", "dense": "C1--", "tree": "C1-", "residual": "C7:"}
    for ax, family in zip(axes, FAMILIES):
        own = [row for row in rows if row["family"] == family]
        n = [row["dof"] for row in own]
        for name in COLUMNS:
            ax.loglog(n, [row[name] for row in own], styles[name], marker=".", ms=4, label=name)
        for flag, color in (("mass_by_tree", "C0"), ("step_by_tree", "C1")):
            first = next((row["dof"] for row in own if row[flag]), None)
            if first is not None:
                ax.axvline(first, color=color, lw=0.6)
        ax.set(title=family, xlabel="degrees of freedom")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("time per call [µs]")
    axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=80)


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--quick", action="store_true", help="three sizes per family, less time for each")
    options = parser.parse_args()
    rows = []
    print(f"{'family':10s} {'dof':>5s} " + " ".join(f"{name:>12s}" for name in COLUMNS) + "   automatic")
    for family, (build, sizes) in FAMILIES.items():
        for n in sizes[::3] if options.quick else sizes:
            system = build(n)
            times = measure(system, 0.1 if options.quick else 1.0)
            mass, step = chosen(system)
            rows.append({"family": family, "dof": system.nv, **times, "mass_by_tree": mass, "step_by_tree": step})
            names = f"{'articulated' if mass else 'composite'}, {'tree' if step else 'dense'}"
            print(
                f"{family:10s} {system.nv:5d} " + " ".join(f"{times[c]:12.1f}" for c in COLUMNS) + f"   {names}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.figure:
        plot(rows, options.figure)


if __name__ == "__main__":
    main()
