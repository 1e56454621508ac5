"""Soak test: many random robots, mutated model files, faults. ``make soak``, or ``python tests/soak --help``.

Prints the seed of whatever fails and writes the smallest robot that still fails to ``build/soak``. Exit code 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import faults
import mutate
from checks import CHECKS, Finding
from minimise import minimise, write
from parts import random_robot

LIMIT = 120  # s for all checks of one robot: then it hangs


class Hangs(Exception):
    """A robot took too long."""


def _alarm(_number: int, _frame: Any) -> None:
    raise Hangs(f"took longer than {LIMIT} s")


def examine(seed: int) -> dict[str, Any]:
    """Build the robot of a seed and run every check on it."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(LIMIT)
    out: dict[str, Any] = {"seed": seed, "findings": [], "times": {}}
    name = "build"
    try:
        system = random_robot(seed).compile()
        out["nv"] = system.nv
        for name, check in CHECKS.items():
            begin = time.perf_counter()
            try:
                check(system, seed)
            except Finding as finding:
                out["findings"].append((name, str(finding)))
            except Hangs:
                raise
            except Exception:  # whatever it is, it should not have been raised
                out["findings"].append((name, "raised " + traceback.format_exc(limit=-3)))
            out["times"][name] = time.perf_counter() - begin
    except Hangs as error:
        out["findings"].append((name, str(error)))
    except ValueError as error:  # a robot that cannot be: refused, with a reason
        out["refused"] = str(error)
    except Exception:
        out["findings"].append((name, "raised " + traceback.format_exc(limit=-3)))
    signal.alarm(0)
    return out


def examine_all(seeds: list[int], jobs: int) -> Iterator[dict[str, Any]]:
    """Results in any order; a robot that kills its process is found by examining what is left one by one."""
    context = multiprocessing.get_context("spawn")
    left = set(seeds)
    try:
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            for result in pool.map(examine, seeds, chunksize=4):
                left.discard(result["seed"])
                yield result
    except BrokenProcessPool:
        for seed in sorted(left):
            try:
                with ProcessPoolExecutor(1, mp_context=context) as pool:
                    yield pool.submit(examine, seed).result()
            except BrokenProcessPool:
                yield {"seed": seed, "findings": [("process", "the process died")], "times": {}}


def reduce_and_write(seed: int, check: str, text: str, folder: Path) -> str:
    """Minimise a failure; returns the file's name."""
    try:
        robot = random_robot(seed)

        def fails(system: Any) -> bool:
            try:
                CHECKS[check](system, seed)
            except Finding:
                return True
            return False

        return str(write(minimise(robot, fails), folder, seed, check, text.splitlines()[0]))
    except Exception as error:  # the report matters more than its appendix
        return f"not minimised: {error}"


def mutated_files(count: int) -> list[str]:
    """What went wrong with mutants of the model files that pliant ships."""
    import pliant as pl

    sources = [
        (path.read_bytes(), path.suffix) for path in sorted(Path(__file__).parents[2].glob("examples/models/*.yaml"))
    ]
    sources += [(pl.io.starter_text(name).encode(), ".yaml") for name in pl.io.STARTERS]
    sources += [(Path(__file__).parents[1].joinpath("data", "arm7.urdf").read_bytes(), ".urdf")]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            text, suffix = sources[seed % len(sources)]
            names, changed = mutate.mutant(text, seed)
            said = mutate.outcome(changed, Path(folder), suffix)
            if said not in ("loaded", "refused"):
                found.append(f"mutated file, seed {seed} ({names}): {said}")
    return found


def main() -> int:
    """Run everything; the exit code."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--robots", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--mutations", type=int, default=2500, help="mutated model files")
    parser.add_argument("--no-faults", action="store_true", help="leave out kills, full disks, corrupted files")
    parser.add_argument("--output", type=Path, default=Path("build/soak"))
    options = parser.parse_args()
    begin = time.time()
    failures: list[tuple[int, str, str]] = []
    refused, slowest, counts = 0, [], Counter()
    seeds = list(range(options.first, options.first + options.robots))
    for k, result in enumerate(examine_all(seeds, options.jobs)):
        counts["robots"] += 1
        refused += "refused" in result
        slowest.append((sum(result["times"].values()), result["seed"]))
        for name, text in result["findings"]:
            failures.append((result["seed"], name, text))
            counts[name] += 1
            print(f"seed {result['seed']}: {name}: {text}", flush=True)
        if (k + 1) % 100 == 0:
            print(f"{k + 1} robots, {len(failures)} findings, {time.time() - begin:.0f} s", flush=True)
    for seed, name, text in failures:
        if name in CHECKS and not text.startswith("raised"):
            print(f"seed {seed}: {reduce_and_write(seed, name, text, options.output)}")
    other = [] if options.mutations == 0 else mutated_files(options.mutations)
    for fault, times in () if options.no_faults else faults.ALL.items():
        begun = time.time()
        other += fault(times)
        print(f"{fault.__name__}: {times} times, {time.time() - begun:.0f} s", flush=True)
    for text in other:
        print(text)
    slowest.sort(reverse=True)
    summary = {
        "robots": counts["robots"], "refused": refused, "findings": dict(Counter(name for _s, name, _t in failures)),
        "mutations": options.mutations, "other findings": len(other), "seconds": round(time.time() - begin),
        "slowest": [(round(s, 1), seed) for s, seed in slowest[:5]],
    }  # fmt: skip
    options.output.mkdir(parents=True, exist_ok=True)
    Path(options.output, "summary.json").write_text(json.dumps(summary, indent=2), encoding="utf-8")
    print(json.dumps(summary, indent=2))
    return 1 if failures or other else 0


if __name__ == "__main__":
    sys.exit(main())
