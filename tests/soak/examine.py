"""Examine robots, in several processes: a robot that hangs or kills its process is a finding like any other."""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from checks import CHECKS, Finding
from everything import EVERYTHING, robot_of
from invariants import INVARIANTS
from minimise import minimise, write
from switches import SWITCHES

ALL = {**CHECKS, **INVARIANTS, **SWITCHES}
LIMIT = 600  # s for all checks of one robot: then it hangs


class Hangs(Exception):
    """A robot took too long."""


def _alarm(_number: int, _frame: Any) -> None:
    raise Hangs(f"took longer than {LIMIT} s")


def checks_of(seed: int) -> dict[str, Any]:
    """The checks of the robot of a seed: of the older kind, those that they were drawn for, and the order and names of parts."""
    return (
        ALL if seed >= EVERYTHING else {**CHECKS, **{name: ALL[name] for name in ("order_of_parts", "names_of_parts")}}
    )


def examine(seed: int) -> dict[str, Any]:
    """Build the robot of a seed and run every check on it."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(LIMIT)
    out: dict[str, Any] = {"seed": seed, "findings": [], "times": {}}
    name = "build"
    try:
        system = robot_of(seed).compile()
        out["nv"] = system.nv
        for name, check in checks_of(seed).items():
            begin = time.perf_counter()
            try:
                check(system, seed)
            except Finding as finding:
                out["findings"].append((name, str(finding)))
            except Hangs:
                raise
            except Exception as error:  # it should not have been raised, unless it says what is wrong with the robot
                if "mass matrix is singular" in str(error):  # too few points for so many coordinates, for instance
                    out["refused"] = str(error)
                else:
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
        robot = robot_of(seed)

        def fails(system: Any) -> bool:
            try:
                ALL[check](system, seed)
            except Finding:
                return True
            return False

        return str(write(minimise(robot, fails), folder, seed, check, text.splitlines()[0]))
    except Exception as error:  # the report matters more than its appendix
        return f"not minimised: {error}"
