"""pliant beside other programs, all in one run: JSON, tables and plots of docs/benchmarks.md.

    python benchmarks/peers [--quick] [--only pliant,exudyn] [--sections rod,chains] [--json FILE] [--no-docs]

Each program has a virtual environment of its own below build/peers, made on the first run; one that cannot be installed is
named and left out. Everything is first built and run once, then timed in rounds in which all programs take turns; times are the
shortest. With --only or --sections the other results of the JSON
file stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import measure
import tables
from environments import HERE, PINS, start
from plots import work_precision

DOCS = HERE.parents[1] / "docs"
SECTIONS = ("rod", "statics", "chains", "gradients", "batches", "papers")


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def run(
    peers: list[str], sections: list[str], quick: bool, rounds: int, kept: dict[str, Any], log: Any = print
) -> dict[str, Any]:
    """Measure; `kept` are results of before; the dictionary of the JSON file, with the sections asked for."""
    import pliant

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    versions = {"pliant": pliant.__version__} | {p: PINS[p][0].split("==")[1] for p in peers if p in PINS}
    workers, missing = start(peers, log)
    clock = time.perf_counter()
    tasks = {
        "rod": lambda: measure.rod(workers, quick, rounds, log),
        "statics": lambda: measure.statics(workers, rounds, log),
        "chains": lambda: measure.chains(workers, (10, 50) if quick else (10, 20, 50, 100, 200), rounds, log),
        "gradients": lambda: measure.gradients(workers, quick, rounds, log),
        "batches": lambda: measure.batches(
            workers, (found.get("rod") or kept.get("rod") or {"rows": []})["rows"], quick, rounds, log
        ),
        "papers": lambda: measure.papers(workers, quick, rounds, log),
    }
    found: dict[str, Any] = {}
    try:
        for section in sections:
            log(f"{section} ({time.perf_counter() - clock:.0f} s)")
            found[section] = tasks[section]()
    finally:
        for worker in workers.values():
            worker.close()
    log(f"done in {time.perf_counter() - clock:.0f} s")
    found["machine"] = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": load,
        "versions": {k: v for k, v in versions.items() if k not in missing},
        "quick": quick,
    }
    found["missing"] = missing
    return found


def merged(kept: dict[str, Any], new: dict[str, Any], peers: list[str]) -> dict[str, Any]:
    """The new results, and of the kept ones the sections and programs that were not asked for."""

    def joined(old: list[Any], rows: list[Any]) -> list[Any]:
        return rows + [row for row in old if row["peer"] not in peers]

    found = kept | new
    for section in set(SECTIONS) & set(new) & set(kept):
        if section == "rod":
            found["rod"] = new["rod"] | {"rows": joined(kept["rod"]["rows"], new["rod"]["rows"])}
        else:
            found[section] = joined(kept[section], new[section])
    if "machine" in kept:
        found["machine"]["versions"] = kept["machine"]["versions"] | new["machine"]["versions"]
        found["missing"] = {k: v for k, v in kept["missing"].items() if k not in peers} | new["missing"]
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two to three minutes")
    parser.add_argument("--only", help="these programs")
    parser.add_argument("--sections", help="these parts of " + ", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", type=Path, default=DOCS / "figures" / "peers.json")
    parser.add_argument("--no-docs", action="store_true", help="write the JSON file only")
    parser.add_argument("--redraw", action="store_true", help="tables and plots of the JSON file as it is")
    options = parser.parse_args()
    kept = json.loads(options.json.read_text()) if options.json.exists() else {}
    if options.redraw:
        results = kept
    else:
        peers = ["pliant", *PINS] if options.only is None else options.only.split(",")
        sections = list(SECTIONS) if options.sections is None else options.sections.split(",")
        rounds = options.rounds or (2 if options.quick else 6)
        results = merged(
            kept, run(peers, sections, options.quick, rounds, kept, lambda text: print(text, flush=True)), peers
        )
        options.json.write_text(json.dumps(results, indent=None, separators=(",", ":")).replace("},{", "},\n{") + "\n")
    for name, make in tables.BLOCKS.items():
        if name in results or name == "machine":
            print(f"\n{name}\n\n{make(results)}")
    if not options.no_docs and not options.quick:
        work_precision(results, DOCS / "figures" / "peers.png")
        tables.rewrite(DOCS / "benchmarks.md", results)


if __name__ == "__main__":
    main()
