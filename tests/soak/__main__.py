"""Soak test: many random robots, mutated model files, faults. ``make soak``, or ``python tests/soak --help``.

Prints the seed of whatever fails and writes the smallest robot that still fails to ``build/soak``. Exit code 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what the tests share

import faults
import long
import mutate
from everything import EVERYTHING
from examine import ALL, examine_all, reduce_and_write


def mutated_files(count: int) -> list[str]:
    """What went wrong with mutants of the model files that pliant ships."""
    import pliant as pl

    sources = [
        (path.read_bytes(), path.suffix) for path in sorted(Path(__file__).parents[2].glob("examples/models/*.yaml"))
    ]
    sources += [(pl.io.starter_text(name).encode(), ".yaml") for name in pl.io.STARTERS]
    data = Path(__file__).parents[1] / "data"
    sources += [((data / "arm7.urdf").read_bytes(), ".urdf"), ((data / "arm.xml").read_bytes(), ".xml")]
    sources += [(content, suffix) for suffix, content in mutate.MESHES.items()]
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
    parser.add_argument("--whole", type=int, default=100, help="robots with parts of every family at once")
    parser.add_argument("--first", type=int, default=0, help="first seed of both kinds")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--mutations", type=int, default=2500, help="mutated model files")
    parser.add_argument("--steps", type=int, default=200_000, help="of long runs")
    parser.add_argument("--no-faults", action="store_true", help="leave out kills, full disks, corrupted files")
    parser.add_argument("--output", type=Path, default=Path("build/soak"))
    options = parser.parse_args()
    begin = time.time()
    failures: list[tuple[int, str, str]] = []
    refused, slowest, counts = 0, [], Counter()
    seeds = list(range(options.first, options.first + options.robots))
    seeds += list(range(EVERYTHING + options.first, EVERYTHING + options.first + options.whole))
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
        if name in ALL and not text.startswith("raised"):
            print(f"seed {seed}: {reduce_and_write(seed, name, text, options.output)}")
    other = [] if options.mutations == 0 else mutated_files(options.mutations)
    for run in long.ALL.values() if options.steps else ():
        begun = time.time()
        other += run(options.steps)
        print(f"{run.__name__}: {options.steps} steps, {time.time() - begun:.0f} s", flush=True)
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
