"""What every part shares: the rod, the rigid chain, and the loop that answers requests; needs nothing but the standard library.

A part is a script that runs in an environment of its own and speaks JSON, a line per message. ``make`` builds a task with
its settings and runs it once, ``time`` runs it again:

    {"do": "make", "task": "rod", "settings": {...}}  →  {"key": 0, "first": seconds, "result": {...}}
    {"do": "time", "key": 0, "repeats": 3}            →  {"seconds": the shortest}

A task is a function of its settings that returns what is timed: a function without arguments, whose result is a
dictionary that JSON can hold, or None; if it has an attribute ``report``, that function makes the dictionary, outside the time.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Task = Callable[..., Callable[[], Any]]

# the clamped rod: level, let go under gravity (SI units)
LENGTH, RADIUS, YOUNG, DENSITY, VISCOSITY, GRAVITY, DURATION = 1.0, 0.02, 1e6, 1000.0, 1e4, 9.81, 2.0
SAMPLE = 0.02  # s between the times at which tips are compared
SAMPLES = round(DURATION / SAMPLE) + 1
AREA = math.pi * RADIUS**2
SECOND = math.pi / 4 * RADIUS**4
SHEAR_MODULUS = YOUNG / 3  # of Poisson's ratio 1/2
RELAXATION = 3 * VISCOSITY / YOUNG  # s: with Poisson's ratio 1/2, each damping is this times its stiffness

TARGET = (0.3, 0.0, -0.6)  # m: gradients are those of the squared distance from it after 1 s

# the rigid chain: revolute joints about z, y, x in turn
CHAIN_OFFSET, CHAIN_MASS, CHAIN_COM, CHAIN_INERTIA = (0.2, 0.05, 0.0), 1.0, (0.1, 0.0, 0.0), (0.01, 0.02, 0.02)


def chain_state(n: int) -> tuple[list[float], list[float], list[float]]:
    """Coordinates, velocities and accelerations of a chain of n joints: the same in every part."""
    q, v, a = (
        [size * math.sin(pace * (k + 1)) for k in range(n)] for size, pace in ((0.8, 1.3), (0.9, 2.1), (1.1, 0.7))
    )
    return q, v, a


def repeats_for(task: Callable[[], Any], budget: float = 2e-3) -> int:
    """How often a short task fits into `budget` seconds."""
    task()
    start = time.perf_counter()
    task()
    return max(1, int(budget / max(time.perf_counter() - start, 1e-7)))


def per_call(task: Callable[[], Any], repeats: int) -> float:
    """Mean time of `repeats` calls [s]."""
    start = time.perf_counter()
    for _ in range(repeats):
        task()
    return (time.perf_counter() - start) / repeats


def answer(
    request: Mapping[str, Any], tasks: Mapping[str, Task], made: list[tuple[Callable[[], Any], int]]
) -> dict[str, Any]:
    """One request; `made` keeps what was built."""
    if request["do"] == "make":
        task = tasks[request["task"]](**request.get("settings", {}))
        start = time.perf_counter()
        result = task()
        first = time.perf_counter() - start
        result = getattr(task, "report", lambda x: x)(result)
        made.append((task, repeats_for(task) if request.get("short") else 1))
        return {"key": len(made) - 1, "first": first, "result": result}
    task, repeats = made[request["key"]]
    return {"seconds": min(per_call(task, repeats) for _ in range(request.get("repeats", 1)))}


def serve(tasks: Mapping[str, Task]) -> None:
    """Answer requests from the standard input until it ends; what a library prints goes to the standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made: list[tuple[Callable[[], Any], int]] = []
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), tasks, made)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
