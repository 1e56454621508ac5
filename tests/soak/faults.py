"""Faults of disks, processes and files: damaged caches and results, kills, full disks.

Each function does its worst so many times and returns what went wrong, one sentence each. Nothing may be silently wrong:
a damaged file is an error or does no harm, and what was saved before is still there afterwards. Run all of them with
``python tests/soak/faults.py``, some by naming them; ``--quick`` does a tenth.
"""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import pliant as pl  # noqa: E402
import tiny_package as tiny  # noqa: E402

PATIENCE = 300  # seconds for a process that should take a few

# ---------------------------------------------------------------- the cache of compiled code

HAMMER = """
import ctypes, importlib, random, sys
from pathlib import Path
sys.path.insert(0, {tests!r})

def values():
    out = (ctypes.c_double * 1)()
    pairs = [part for _ in range(6) for part in (None, 0)] + [ctypes.addressof(out), 1]
    kinds = [ctypes.c_int64] + [ctypes.c_void_p, ctypes.c_int64] * 7
    ctypes.CFUNCTYPE(None, *kinds)(tiny.g.address)(3, *pairs)
    hits = sum(tiny.f.stats.cache_hits.values()), tiny.g._compiled._cache_hits
    return (tiny.f(3.0), out[0]), hits

import tiny
from damage import damage, files
place = Path("__pycache__")
for seed in range({first}, {last}):
    rng = random.Random(seed)
    path = rng.choice(files(place))
    kind = damage(path, rng)
    print(seed, kind, path.name, flush=True)
    importlib.reload(tiny)
    tiny.f(3.0)
    got, hits = values()
    assert got == (7.0, 10.0), f"computed {{got}}"
    assert sum(hits) == 1, f"loaded {{hits}} from the cache, of which one was damaged"
    importlib.reload(tiny)
    tiny.f(3.0)
    got, hits = values()
    assert got == (7.0, 10.0), f"computed {{got}} after it was mended"
    assert hits == (1, 1), f"not mended: loaded {{hits}} from the cache"
print("done")
"""


def cache_damage(count: int = 200, batch: int = 10) -> list[str]:
    """Damage a file of the cache: the kernel is compiled again, computes right, and the file is replaced."""
    failures = []
    first = 0
    while first < count:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            tiny.make(directory)
            (directory / "damage.py").write_text((HERE.parent / "tiny_package.py").read_text())
            tiny.ask(directory, "import tiny; tiny.g.address; print(tiny.ask())")
            last = min(count, first + batch)
            code = HAMMER.format(tests=str(directory), first=first, last=last)
            out, err, exit_code = _outcome(tiny.start(directory, code))
            lines = out.strip().splitlines()
            if lines and lines[-1] == "done":
                first = last
                continue
            where = lines[-1] if lines else f"{first} (before anything was damaged)"
            failures.append(f"cache_damage seed {where}: exit {exit_code}, {_last_line(err)}")
            first = max(first, int(where.split()[0])) + 1
    return failures


def cold_processes(count: int = 10) -> list[str]:
    """Two processes compile the same and other signatures at once; a third one finds everything."""
    failures = []
    for k in range(count):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            place = tiny.make(directory)
            codes = [f"import tiny; {x}; tiny.g.address; print(tiny.ask())" for x in ("tiny.ask(3)", "tiny.ask(3j)")]
            try:
                for value, err in [tiny.finish(p) for p in [tiny.start(directory, code) for code in codes]]:
                    if value[0] != 7.0 or err:
                        failures.append(f"cold_processes {k}: {value}, {err}")
                value, err = tiny.ask(directory, "import tiny; tiny.ask(3); tiny.ask(3j); print(tiny.ask())")
                if value != (7.0, 3, 0) or err:
                    failures.append(f"cold_processes {k}: the third process got {value}, {err}")
            except AssertionError as error:
                failures.append(f"cold_processes {k}: {_last_line(str(error))}")
            failures += [f"cold_processes {k}: {path.name} was left" for path in place.glob("*.tmp*")]
    return failures


def cache_kills(count: int = 20) -> list[str]:
    """Kill -9 while a process writes its cache: the next process computes right and says nothing."""
    failures = []
    rng = random.Random(3)
    code = """
from pliant._cache import Store
kept, save = [], Store.save
Store.save = lambda *entry: kept.append(entry)
import tiny; tiny.g.address; tiny.ask(); tiny.ask(3)
print("go", flush=True)
while True:  # again and again, so that it is killed while it writes
    for entry in kept:
        save(*entry)
"""
    halves = 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        place = tiny.make(directory)
        for k in range(count):
            process = tiny.start(directory, code)
            assert process.stdout is not None
            if process.stdout.readline() != "go\n":
                failures.append(f"cache_kills {k}: {_last_line(process.communicate()[1])}")
                continue
            time.sleep(rng.uniform(0.0, 0.02))
            process.kill()
            process.communicate()
            halves += len(list(place.glob("*.tmp")))
            try:
                value, err = tiny.ask(directory, "import tiny; tiny.g.address; tiny.ask(3); print(tiny.ask())")
                if value[0] != 7.0 or err:
                    failures.append(f"cache_kills {k}: {value}, {err}")
            except AssertionError as error:
                failures.append(f"cache_kills {k}: {_last_line(str(error))}")
            for path in place.iterdir():  # the next one is cold
                path.unlink()
    if count >= 20 and not halves:
        failures.append("cache_kills: no process was killed while it wrote, so nothing was tested")
    return failures


# ---------------------------------------------------------------- results


def pendulum() -> pl.System:
    """A robot that compiles nothing beyond the engine."""
    robot = pl.Robot("pendulum")
    robot.add_body("rod", joint=pl.Revolute("y", damping=1e-3), mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.03, 0.03))
    return robot.compile()


def swing(system: pl.System, duration: float = 2.0, **options) -> pl.Result:
    """Its motion, with events."""

    def below(state):
        return state.q[0] - 0.5

    return pl.simulate(system, duration, events=below, **options)


def differences(a: pl.Result, b: pl.Result) -> list[str]:
    """Fields in which two results differ in a single bit."""
    names = [field.name for field in dataclasses.fields(a) if field.name != "system"]
    return [name for name in names if not _same(getattr(a, name), getattr(b, name))]


def _same(a: object, b: object) -> bool:
    """Equality down to the arrays inside."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b, equal_nan=True)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(_same(x, vars(b)[name]) for name, x in vars(a).items())
    return a == b


LIKELY = (*tiny.DAMAGES, "flip", "flip", "digit", "digit", "digit", "swap")  # small damage is what passes unnoticed


def _load_damaged(path: str, good: str, first: str, last: str) -> None:
    """In a process of its own, because HDF5 may crash: damage a copy, load it, say what came of it."""
    system = pendulum()
    expected = pl.Result.load(good, system)
    target = Path(path)
    for seed in range(int(first), int(last)):
        target.write_bytes(Path(good).read_bytes())
        kind = tiny.damage(target, random.Random(seed), LIKELY)
        print("seed", seed, kind, flush=True)
        try:
            loaded = pl.Result.load(target, system)
        except Exception as error:
            print("error", type(error).__name__, flush=True)
        else:
            print("loaded", *differences(expected, loaded), flush=True)
        if target.is_dir():
            target.rmdir()
    print("done", flush=True)


def result_damage(count: int = 600) -> list[str]:
    """Damage a saved result: loading it raises, or gives every bit of what was saved."""
    failures = []
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        good = Path(name, "good.h5")
        swing(pendulum()).save(good)
        first = 0
        while first < count:
            last = min(first + 50, count)
            out, err, exit_code = _outcome(_child("_load_damaged", Path(name, "bad.h5"), good, first, last), 60)
            seed = kind = None
            for line in out.splitlines():
                word, *rest = line.split()
                if word == "seed":
                    seed, kind = int(rest[0]), rest[1]
                elif word == "error":
                    outcomes[rest[0]] += 1
                elif word == "loaded":
                    outcomes["loaded"] += 1
                    if rest:
                        failures.append(f"result_damage seed {seed} ({kind}): loaded with other {', '.join(rest)}")
            if out.endswith("done\n"):
                first = last
                continue
            failures.append(f"result_damage seed {seed} ({kind}): exit {exit_code}, {_last_line(err)}")
            first = (first if seed is None else seed) + 1
    print("  result_damage:", dict(outcomes))
    return failures


def _save_for_ever(path: str, good: str) -> None:
    run = pl.Result.load(good, pendulum())
    print("go", flush=True)
    while True:
        run.save(path)


def save_kills(count: int = 20) -> list[str]:
    """Kill -9 during `Result.save` over an older file: what is there afterwards is whole."""
    failures = []
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        path, good = Path(name, "run.h5"), Path(name, "good.h5")
        system = pendulum()
        run = swing(system, 20.0, output=0.002)
        run.save(good)
        for k in range(count):
            run.save(path)
            _kill(_child("_save_for_ever", path, good), rng.uniform(0.0, 0.05))
            failures += _damage_of(f"save_kills {k}", path, system, run)
            path.unlink(missing_ok=True)
    return failures


def _simulate_with_checkpoints(path: str) -> None:
    system = pendulum()
    swing(system)  # loads what is compiled: the rest of the time is steps and checkpoints
    print("go", flush=True)
    swing(system, 1000.0, checkpoint=path, checkpoint_interval=1e-3, progress=False)


def checkpoint_kills(count: int = 20) -> list[str]:
    """Kill -9 during a run with checkpoints: the older or a newer one can be loaded and goes on."""
    failures = []
    rng = random.Random(2)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "run.h5")
        system = pendulum()
        swing(system).save(path)
        for k in range(count):
            _kill(_child("_simulate_with_checkpoints", path), rng.uniform(0.0, 0.5))
            broken = _damage_of(f"checkpoint_kills {k}", path, system)
            failures += broken
            if broken:
                swing(system).save(path)
            elif k % 5 == 0:
                before = pl.Result.load(path, system)
                after = pl.simulate(system, 0.1, start=before)
                if not after.success or after.t[0] != before.t[-1]:
                    failures.append(f"checkpoint_kills {k}: cannot go on from it: {after.message}")
    return failures


def _fill_disk(path: str, limit: str, what: str) -> None:
    import resource

    system = pendulum()
    long = swing(system, 20.0, output=0.001)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    try:
        if what == "save":
            long.save(path)
            print("silent")
            return
        run = swing(system, 10.0, output=0.005, checkpoint=path, checkpoint_interval=0.02, progress=False)
    except Exception as error:
        kept = [x for x in vars(error).values() if isinstance(x, pl.Result) and len(x) > 1]
        print("error" if what == "save" or kept else f"lost all: {type(error).__name__}")
    else:
        print("error" if len(run) > 1 and not (run.success and not getattr(run, "warnings", ())) else "silent")


def full_disk(count: int = 5) -> list[str]:
    """A disk that fills up during a save or a checkpoint: said, nothing computed is lost, the older file is whole."""
    failures = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "run.h5")
        system = pendulum()
        run = swing(system)
        for k in range(count):
            for what in ("save", "checkpoint"):
                run.save(path)
                limit = path.stat().st_size + 3000 * k
                out, err, exit_code = _outcome(_child("_fill_disk", path, limit, what))
                said = out.strip() or f"exit {exit_code}, {_last_line(err)}"
                if said != "error" or exit_code:
                    failures.append(f"full_disk {k} {what}: {said}, exit {exit_code}")
                failures += _damage_of(f"full_disk {k} {what}", path, system, run if what == "save" else None)
                failures += [f"full_disk {k} {what}: {p.name} was left" for p in Path(name).iterdir() if p != path]
                for left in Path(name).iterdir():
                    left.unlink()
    return failures


def _damage_of(label: str, path: Path, system: pl.System, expected: pl.Result | None = None) -> list[str]:
    """What is wrong with a file that ought to be whole."""
    try:
        loaded = pl.Result.load(path, system)
    except Exception as error:
        return [f"{label}: the file is lost, {type(error).__name__}: {str(error)[:100]}"]
    if expected is not None:
        other = differences(expected, loaded)
        return [f"{label}: the file has other {', '.join(other)}"] if other else []
    whole = len(loaded) > 0 and np.all(np.diff(loaded.t) > 0) and np.all(np.isfinite(loaded.q))
    return [] if whole else [f"{label}: the file has {len(loaded)} rows, not all of them sound"]


# ---------------------------------------------------------------- processes


def _child(function: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs a function of this file."""
    code = f"import faults; faults.{function}(*{[str(a) for a in arguments]!r})"
    path = os.pathsep.join([str(HERE), str(HERE.parent), str(Path(pl.__file__).parents[1])])
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _kill(process: subprocess.Popen[str], after: float) -> None:
    """Kill -9 so many seconds after it said that it begins."""
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)
    process.kill()
    process.communicate()


def _outcome(process: subprocess.Popen[str], patience: float = PATIENCE) -> tuple[str, str, int]:
    """What it printed, its complaints, its exit code."""
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        err = f"did not end within {patience} s"
    return out, err, process.returncode


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:200]


ALL: dict[Callable[..., list[str]], int] = {
    cache_damage: 200,
    cold_processes: 10,
    cache_kills: 20,
    result_damage: 600,
    save_kills: 20,
    checkpoint_kills: 20,
    full_disk: 5,
}


def main(arguments: list[str]) -> int:
    """Run what is named, or everything; the number of failures."""
    quick = "--quick" in arguments
    names = [a for a in arguments if not a.startswith("-")]
    unknown = set(names) - {f.__name__ for f in ALL}
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(f.__name__ for f in ALL)}")
    total = 0
    for function, count in ALL.items():
        if names and function.__name__ not in names:
            continue
        n = max(2, count // 10) if quick else count
        clock = time.perf_counter()
        failures = function(n)
        total += len(failures)
        print(f"{function.__name__}: {n} times, {len(failures)} failures, {time.perf_counter() - clock:.0f} s")
        for line in failures:
            print(" ", line, flush=True)
    return total


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
