"""Random passive robots in motion: which integrator finishes, at what cost, and whether energy comes from nowhere.

    python benchmarks/random_motions.py [--robots 40] [--first 0] [--seeds 3,17] [--models FOLDER] [--methods NAME,...]
                                        [--rtol 1e-3] [--wall 4] [--json FILE]

The robots are those of tests/soak that are passive (no contact, no water, no servos), each a function of its seed, so that
one can be repeated by ``--seeds``. ``--models`` takes the model files of a folder instead, such as tests/data/robots. Each
moves for a second from rest without inputs. A method is a name that `pliant.simulate` knows, or "default".

growth: largest growth of the energy over its swing (range and largest kinetic energy). Work as in integrators.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from integrators import plain, short
from motions import energy_growth

import pliant as pl
from pliant.solve.methods import METHODS as KNOWN

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "soak"))
from checks import passive
from parts import random_robot

METHODS = [name for name in ("esdirk3", "generalized-alpha") if name in KNOWN]


def from_seeds(seeds: Iterator[int], count: int) -> Iterator[tuple[str, pl.System]]:
    """So many passive robots, by seed; those that are refused are left out."""
    for seed in seeds:
        if count == 0:
            return
        try:
            robot = random_robot(seed)
            if not passive(robot) or robot.fluid is not None:  # buoyancy and added mass have energies of their own
                continue
            system = robot.compile()
        except ValueError:
            continue
        count -= 1
        yield str(seed), system


def from_files(folder: Path) -> Iterator[tuple[str, pl.System]]:
    """The robots of a folder, by file name, in the order of the numbers in them."""

    def order(path: Path) -> tuple[int, str]:
        number = re.search(r"\d+", path.stem)
        return int(number.group()) if number else 0, path.stem

    for path in sorted(folder.glob("*.yaml"), key=order):
        yield path.stem, pl.load_model(path).robot.compile()


def move(system: pl.System, method: str, tolerances: dict[str, float], wall: float) -> dict[str, Any]:
    """A second of motion: how it ended, energy, cost."""
    chosen: dict[str, Any] = {} if method == "default" else {"method": method}
    begin = time.perf_counter()
    try:
        run = pl.simulate(system, 1.0, max_wall_time=wall, **tolerances, **chosen)
    except (ValueError, TypeError, KeyError) as error:
        return {"end": "refused", "message": str(error), "warnings": []}
    seconds = time.perf_counter() - begin
    growth = swing = np.nan  # no question where energy is supplied
    if not (np.all(np.isfinite(run.q)) and np.all(np.isfinite(run.v))):
        growth = np.inf
    elif passive(system.robot) and system.robot.fluid is None:
        gain, swing = energy_growth(run)
        growth = gain / swing if swing > 0 else 0.0
    work = run.statistics
    cost = work.residuals + 7.4 * work.factorisations + 0.15 * work.iterations + 3 * work.steps
    return {
        "end": "finished" if run.success else "time-out" if "max_wall_time" in run.message else "failed",
        "reached": run.last.t,
        "growth": growth,
        "swing": swing,
        "seconds": seconds,
        "steps": work.steps,
        "rejected": work.rejected,
        "iterations": work.iterations,
        "factorisations": work.factorisations,
        "work": cost if work.iterations else np.nan,
        "message": "" if run.success else run.message,
        "warnings": [text for text in run.warnings if "points=" not in text],
    }


def line(name: str, system: pl.System, method: str, row: dict[str, Any]) -> str:
    """A row of the table in Markdown."""
    note = short("; ".join([row["message"]] * bool(row["message"]) + row["warnings"]))
    if row["end"] == "refused":
        return f"| {name} | {system.nv} | {method} | refused" + " |" * 9 + f" {note} |"
    numbers = [f"{row['reached']:.3g}", "" if np.isnan(row["growth"]) else f"{row['growth']:.1e}"]
    numbers += [str(row[x]) for x in ("steps", "rejected", "iterations", "factorisations")]
    numbers += ["" if np.isnan(row["work"]) else f"{row['work']:.0f}", f"{1e3 * row['seconds']:.1f}"]
    return f"| {name} | {system.nv} | {method} | {row['end']} | " + " | ".join(numbers) + f" | {note} |"


HEAD = """| robot | dof | method | end | reached [s] | growth | steps | rejected | iterations | LU | work | ms | |
|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"""


def summary(results: dict[str, dict[str, dict[str, Any]]], methods: list[str]) -> str:
    """Counts for each method, and geometric means of the cost over the robots that all of them finish."""
    shared = [name for name, rows in results.items() if all(rows[m]["end"] == "finished" for m in methods)]
    lines = [
        f"{len(results)} robots, {len(shared)} of them finished by all",
        "",
        "| method | finished | time-out | failed | refused | growth > 1 % | growth > 10 % | warned | work (mean) | ms (mean) |",
        "|---|" + "---:|" * 9,
    ]
    for method in methods:
        rows = [own[method] for own in results.values()]
        ends = Counter(row["end"] for row in rows)
        growth = np.array([row.get("growth", np.nan) for row in rows], dtype=float)

        def mean(key: str, method: str = method) -> float:
            values = np.array([results[name][method][key] for name in shared], dtype=float)
            return float(np.exp(np.log(values).mean())) if len(values) else np.nan

        counts = [ends[x] for x in ("finished", "time-out", "failed", "refused")]
        counts += [int((growth > x).sum()) for x in (0.01, 0.1)]
        counts += [sum(bool(row["warnings"]) for row in rows)]
        cells = [method, *map(str, counts), f"{mean('work'):.0f}", f"{1e3 * mean('seconds'):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run all robots by all methods, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=40, help="how many")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", help="these, separated by commas")
    parser.add_argument("--models", type=Path, help="a folder of model files instead")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, separated by commas")
    parser.add_argument(
        "--rtol", type=float, help="relative tolerance, and ten times the absolute one; defaults if left out"
    )
    parser.add_argument("--wall", type=float, default=4.0, help="limit of a run [s]")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    given = parser.parse_args()
    os.environ.setdefault("PLIANT_QUIET", "1")
    methods = given.methods.split(",")
    tolerances = {} if given.rtol is None else {"rtol": given.rtol, "atol": 0.1 * given.rtol}
    if given.models:
        robots = from_files(given.models)
    elif given.seeds:
        robots = from_seeds(iter([int(x) for x in given.seeds.split(",")]), -1)
    else:
        robots = from_seeds(iter(range(given.first, 10**9)), given.robots)
    results: dict[str, dict[str, dict[str, Any]]] = {}
    print(HEAD, flush=True)
    for name, system in robots:
        for method in methods:  # compiles what this robot needs, which does not count
            move(system, method, {}, 0.01)
        results[name] = {method: move(system, method, tolerances, given.wall) for method in methods}
        for method, row in results[name].items():
            print(line(name, system, method, row), flush=True)
    print("\n" + summary(results, methods))
    if given.json:
        content = {name: {method: plain(row) for method, row in rows.items()} for name, rows in results.items()}
        given.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
