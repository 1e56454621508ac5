"""Mutation test: does the suite notice small mistakes? ``make mutants``, or ``python tests/mutation --help``.

Random one-line mistakes (an operator, a comparison, an index, a sign, a constant) are put one at a time into a copy of the tree below ``build/mutants``, and the
tests that are likely to notice are run. What survives is printed with its line: each asks for a test, or is no mistake. Every outcome
is written at once to ``outcomes.jsonl``; a run that is interrupted goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from mutants import Mutant, draw, mutants
from rooms import ROOMS

HERE = Path(__file__).resolve().parents[2]
COPIED = (
    "src",
    "tests",
    "examples",
    "docs",
    "benchmarks",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)


def copied(tree: Path) -> None:
    """A copy of the tree, with its compiled kernels."""
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in COPIED:
        source = HERE / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, tree / name)


def cached(tree: Path) -> None:
    """The compiled kernels of the sources as they are: a mutant of one leaves others."""
    kernels = Path("src/pliant/kernels")
    for place in (tree / kernels).rglob("__pycache__"):
        shutil.rmtree(place)
        shutil.copytree(HERE / place.relative_to(tree), place)


def run(tree: Path, tests: list[str], interpreted: bool, limit: float) -> tuple[str, str, float]:
    """Outcome ("passed", "failed", "timeout"), last line of pytest, and seconds."""
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg"}  # fmt: skip
    env.pop("NUMBA_DISABLE_JIT", None)
    if interpreted:
        env["NUMBA_DISABLE_JIT"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
    begin = time.monotonic()
    process = subprocess.Popen(
        [*command, *(f"tests/{test}" for test in tests)], cwd=tree, env=env, start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=limit)
        outcome = "passed" if process.returncode == 0 else "failed"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the session of its own that it leads
        text, _ = process.communicate()
        outcome = "timeout"
    lines = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))] or text.splitlines()[-1:]
    return outcome, lines[0] if lines else "", time.monotonic() - begin


def summary(outcomes: list[dict[str, object]]) -> str:
    """A table by room."""
    lines = ["| room | mutants | caught | out of time | survived |", "|---|---|---|---|---|"]
    for room in [*dict.fromkeys(str(one["room"]) for one in outcomes), "all"]:
        count = Counter(str(one["outcome"]) for one in outcomes if room in (one["room"], "all"))
        n = sum(count.values())
        caught = f"{count['failed']} ({100 * count['failed'] / max(n, 1):.0f} %)"
        lines.append(f"| {room} | {n} | {caught} | {count['timeout']} | {count['passed']} |")
    return "\n".join(lines)


def again(outcome: dict[str, object], sources: dict[str, str]) -> tuple[str, str, Mutant] | None:
    """The mutant of an outcome, if its file still has it."""
    room = ROOMS[str(outcome["room"])]
    path = str(Path(str(outcome["path"])).relative_to(Path("src/pliant") / room.folder))
    same = [m for m in mutants(sources[path]) if (m.kind, m.new, m.diff(sources[path])) == (outcome["kind"], outcome["new"], outcome["diff"])]  # fmt: skip
    near = sorted(same, key=lambda m: (abs(m.begin[0] - int(str(outcome["line"]))), m.begin[1] != outcome["column"]))
    return (str(outcome["room"]), path, near[0]) if near else None


def main() -> int:
    """Run the mutants; the exit code is that of the tool, not of the tests."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="names, with commas between them")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for the tests of a mutant")
    parser.add_argument("--again", action="store_true", help="only those that survived before: do they still?")
    parser.add_argument("--show", action="store_true", help="show the mutants, run none")
    parser.add_argument("--output", type=Path, default=Path("build/mutants"))
    options = parser.parse_args()
    names = [name for name in options.rooms.split(",") if name]
    for name in names:
        if name not in ROOMS:
            parser.error(f"there is no room {name!r}; there are {', '.join(ROOMS)}")
    sources = {
        name: {
            str(path.relative_to(HERE / "src/pliant" / ROOMS[name].folder)): path.read_text(encoding="utf-8")
            for path in sorted((HERE / "src/pliant" / ROOMS[name].folder).rglob("*.py"))
        }
        for name in names
    }
    log = options.output / "outcomes.jsonl"
    outcomes = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    waiting: list[dict[str, object]] = []  # what is tried again, until it is
    if options.again:
        left = [one for one in outcomes if one["outcome"] != "failed" and one["room"] in names]
        found = [again(one, sources[one["room"]]) for one in left]
        waiting = [one for one, mutant in zip(left, found) if mutant is not None]
        chosen = [mutant for mutant in found if mutant is not None]
        outcomes = [one for one in outcomes if one not in left]
    else:
        chosen = list(draw(sources, options.mutants, options.seed))
    if options.show:
        for room, path, mutant in chosen:
            print(f"{room}/{path}:{mutant.begin[0]} {mutant.kind}\n{mutant.diff(sources[room][path])}")
        return 0
    tree = options.output.resolve() / "tree"
    copied(tree)
    done = {(one["path"], one["line"], one["column"], one["new"]) for one in outcomes}
    sound: dict[tuple[str, bool], bool] = {}  # whether a test passes without a mutant
    for room, path, mutant in chosen:
        target = tree / "src/pliant" / ROOMS[room].folder / path
        place = str(target.relative_to(tree))
        if (place, *mutant.begin, mutant.new) in done:
            continue
        tests, source = ROOMS[room].tests_of(path, sources[room][path]), sources[room][path]
        target.write_text(mutant.apply(source), encoding="utf-8")
        try:
            outcome, said, seconds = run(tree, tests, ROOMS[room].interpreted, options.limit)
        finally:
            target.write_text(source, encoding="utf-8")
            if ROOMS[room].folder.startswith("kernels"):
                cached(tree)
        if outcome == "failed":
            test = said.split(" - ")[0].split(" ", 1)[-1].removeprefix("tests/")
            key = test, ROOMS[room].interpreted
            if key not in sound:
                sound[key] = run(tree, [test], key[1], options.limit)[0] == "passed"
            if not sound[key]:
                print(f"{place}: {test} fails without a mutant, too", flush=True)
                del waiting[:1]
                continue
        own = {
            "room": room, "path": place, "line": mutant.begin[0], "column": mutant.begin[1], "kind": mutant.kind, "old": mutant.old,
            "new": mutant.new, "outcome": outcome, "said": said, "seconds": round(seconds, 1), "diff": mutant.diff(source), "seed": options.seed,
        }  # fmt: skip
        outcomes.append(own)
        del waiting[:1]
        log.write_text("".join(json.dumps(one) + "\n" for one in [*outcomes, *waiting]))
        print(f"{outcome:8} {seconds:4.0f} s  {place}:{own['line']} {mutant.kind}  {said[:100]}", flush=True)
        if outcome != "failed":
            print(own["diff"], flush=True)
    print(summary(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
