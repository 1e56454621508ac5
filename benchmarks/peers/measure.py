"""What is measured: each function asks the workers and returns rows for the JSON file."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scans
import shared as s
from environments import Worker
from papers import PAPERS, STATICS

Row = dict[str, Any]
Workers = dict[str, Worker]
PATIENCE = 300.0  # s, for building the settings of one program
RODS = ("pliant", "exudyn", "mujoco", "soromox", "pyelastica")


def make_all(workers: Workers, rows: Iterable[Row], log: Callable[[str], None]) -> list[Row]:
    """Build every row's task and run it once; all programs at the same time, as nothing is timed yet. Adds "key", "first", "result" or "failed"."""

    def of(peer: str, mine: list[Row]) -> None:
        begin = time.perf_counter()
        for row in mine:
            if time.perf_counter() - begin > PATIENCE:
                row["failed"] = "left out for lack of time"
                continue
            short = row.get("short", False)
            reply = workers[peer].ask(do="make", task=row["task"], settings=row["settings"], short=short)
            row |= {"failed": reply["error"]} if "error" in reply else {k: reply[k] for k in ("key", "first", "result")}
        log(f"  {peer}: {len(mine)} settings made, {sum('failed' in row for row in mine)} failed")

    rows = [row for row in rows if row["peer"] in workers]
    with ThreadPoolExecutor() as pool:
        shares = {peer: [row for row in rows if row["peer"] == peer] for peer in workers}
        for done in [pool.submit(of, peer, mine) for peer, mine in shares.items() if mine]:
            done.result()
    return rows


def time_all(workers: Workers, rows: list[Row], rounds: int, longest: float = 60.0) -> None:
    """Time all rows in turn, `rounds` times (no more than `longest` seconds each): adds "seconds", the shortest, and "median"."""
    for _ in range(rounds):
        for row in rows:
            if "failed" in row or sum(row.get("times", ())) > longest:
                continue
            reply = workers[row["peer"]].ask(do="time", key=row["key"])
            if "seconds" in reply:
                row.setdefault("times", []).append(reply["seconds"])
    for row in rows:
        if row.get("times"):
            row |= {"seconds": min(row["times"]), "median": statistics.median(row["times"])}


def clean(rows: list[Row], *drop: str) -> list[Row]:
    """Without what is not kept."""
    return [{k: v for k, v in row.items() if k not in {"key", "times", "task", "result", *drop}} for row in rows]


# ---------------------------------------------------------------- the rod


def references(workers: Workers) -> dict[bool, Row]:
    """The converged motion with and without stretch and shear, and how far other orders and tolerances are from it."""
    found = {}
    for full in (False, True):
        fine = workers["pliant"].ask(do="make", task="reference", settings={"space": False, "full": full})["result"]
        other = workers["pliant"].ask(
            do="make", task="reference", settings={"space": False, "full": full, "order": 16, "rtol": 1e-8}
        )["result"]
        found[full] = {**fine, "change": distance(fine["tip"], other["tip"])}
    return found


def distance(a: Any, b: Any) -> float:
    """Largest distance of two paths over the length of the rod; infinite if one is incomplete."""
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or not np.isfinite(x).all():
        return float("inf")
    return float(np.linalg.norm(x - y, axis=-1).max()) / s.LENGTH


def own_reference() -> list[list[float]]:
    """PyElastica's own converged motion: its sections shrink when stretched, which makes another rod."""
    found: list[list[float]] = json.loads((Path(__file__).parent / "pyelastica_reference.json").read_text())["tip"]
    return found


def cheapest(rows: list[Row], level: float) -> Row | None:
    """The row of least time whose error is within the level."""
    good = [row for row in rows if row.get("error", np.inf) <= level and "seconds" in row]
    return min(good, key=lambda row: row["seconds"]) if good else None


def rod(workers: Workers, quick: bool, rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Every setting once, then the cheapest for each error in rounds; times are per simulated second."""
    exact = references(workers)
    plans = [
        (rank, {"peer": peer, "problem": problem, "task": "rod", "settings": how})
        for peer in RODS
        for problem in scans.PROBLEMS
        for rank, how in enumerate(scans.settings(peer, problem, quick))
    ]
    plans.sort(key=lambda plan: plan[0])  # the first of every problem come first, should there be no time for all
    rows = make_all(workers, [plan for _, plan in plans], log)
    for row in rows:
        if "result" in row:
            full = row["settings"]["full"]
            row["error"] = distance(row["result"]["tip"], exact[full]["tip"])
            if row["peer"] == "pyelastica":
                row["to_reference"], row["error"] = row["error"], distance(row["result"]["tip"], own_reference())
    time_all(workers, rows, 2 if not quick else 1, 2.0)
    for level in scans.LEVELS:  # the best three, again, in turn with those of the other programs
        groups = [
            [r for r in rows if (r["peer"], r["problem"]) == key] for key in {(r["peer"], r["problem"]) for r in rows}
        ]
        again = []
        for group in groups:
            good = sorted(
                (r for r in group if r.get("error", np.inf) <= level and "seconds" in r), key=lambda r: r["seconds"]
            )
            again += good[:3]
        time_all(workers, again, rounds, 10.0)
    for row in rows:
        for name in ("seconds", "median"):
            if name in row:
                row[name] /= s.DURATION
    return {
        "rows": clean(rows),
        "reference_change": {"bending": exact[False]["change"], "all strains": exact[True]["change"]},
    }


def statics(workers: Workers, rounds: int, log: Callable[[str], None]) -> list[Row]:
    """The rod at rest: pliant and Exudyn."""
    exact = references(workers)
    plans: list[Row] = []
    for problem, how in scans.PROBLEMS.items():
        for order in (5, 6, 8, 10, 12):
            own = {"order": order, "linear": order - 1 if how["full"] else 0}
            plans.append({"peer": "pliant", "problem": problem, "task": "statics", "settings": {**how, **own}})
        for n, steps in ((8, 5), (16, 5), (16, 10), (32, 5), (32, 10), (64, 10)):
            plans.append(
                {
                    "peer": "exudyn",
                    "problem": problem,
                    "task": "statics",
                    "settings": {**how, "n": n, "load_steps": steps},
                }
            )
    rows = make_all(workers, plans, log)
    for row in rows:
        if "result" in row:
            row["error"] = distance([row["result"]["tip"]], [exact[row["settings"]["full"]]["rest"]])
    time_all(workers, rows, 3 * rounds)
    return clean(rows)


# ---------------------------------------------------------------- rigid chains


def chains(workers: Workers, sizes: tuple[int, ...], rounds: int, log: Callable[[str], None]) -> list[Row]:
    """Inverse dynamics, derivatives, forward dynamics; Pinocchio's and MuJoCo's are calls from Python."""
    plans: list[Row] = []
    for n in sizes:
        for what in ("ID", "dID", "FD"):
            for inside in (True, False):
                if not (inside and what == "FD"):
                    plans.append({"peer": "pliant", "settings": {"n": n, "what": what, "inside": inside}})
            plans.append({"peer": "pinocchio", "settings": {"n": n, "what": what}})
            if what != "dID":
                plans.append({"peer": "mujoco", "settings": {"n": n, "what": what}})
    rows = make_all(workers, [{"task": "chain", "short": True, **plan} for plan in plans], log)
    extra = make_all(workers, [{"task": "binding", "short": True, "peer": "pinocchio", "settings": {}}], log)
    time_all(workers, rows + extra, 10 * rounds)
    known = {
        (r["peer"], r["settings"]["n"], r["settings"]["what"]): r["result"]["value"]
        for r in rows
        if r.get("result") and r["result"].get("value")
    }
    for row in rows:
        if row["settings"].get("inside") and "seconds" in row:
            row["seconds"], row["median"] = row["seconds"] / 100, row["median"] / 100
        mine = known.get((row["peer"], row["settings"]["n"], row["settings"]["what"]))
        ours = known.get(("pliant", row["settings"]["n"], row["settings"]["what"]))
        if mine and ours and row["peer"] != "pliant":
            row["difference"] = float(np.abs(np.subtract(mine, ours)).max() / np.abs(ours).max())
    return clean(rows + extra)


# ---------------------------------------------------------------- gradients, many at once, papers


def gradients(workers: Workers, quick: bool, rounds: int, log: Callable[[str], None]) -> list[Row]:
    """A rollout of 1 s of the rod in bending, and the gradient of its end by the start."""
    plans: list[Row] = []
    for with_gradient in (False, True):
        for steps in (50, 100, 200):
            own: Row = {"space": False, "order": 5, "steps": steps}
            plans.append({"peer": "pliant", "settings": {**own, "with_gradient": with_gradient}})
        if not quick:
            own = {"space": False, "order": 5, "points": 7, "rtol": 1e-2}
            plans.append({"peer": "soromox", "settings": {**own, "with_gradient": with_gradient}})
            plans.append({"peer": "mjx", "settings": {"n": 10, "steps": 500, "with_gradient": with_gradient}})
    plans.append(
        {
            "peer": "pliant",
            "settings": {"space": False, "order": 5, "steps": 2000, "with_gradient": True},
            "exact": True,
        }
    )
    rows = make_all(workers, [{"task": "gradient", **plan} for plan in plans], log)
    exact = next(r["result"] for r in rows if r.get("exact"))
    for row in rows:
        if "result" not in row or row["peer"] == "mjx":
            continue
        row["error"] = abs(row["result"]["cost"] - exact["cost"]) / exact["cost"]
        if "q" in row["result"]:
            slopes = np.array(row["result"]["q"]), np.array(exact["q"])
            row["slope_error"] = float(np.abs(slopes[0] - slopes[1]).max() / np.abs(slopes[1]).max())
    rows = [row for row in rows if not row.get("exact")]
    time_all(workers, rows, 2 * rounds)
    return clean(rows)


def batches(workers: Workers, rod_rows: list[Row], quick: bool, rounds: int, log: Callable[[str], None]) -> list[Row]:
    """256 rods at once: simulated seconds per second.

    pliant and MuJoCo take the setting that was cheapest for one rod within 1 %. soromox compiles anew for a batch, so both
    its solvers are tried, with the strains that reach 1 %, over half the motion.
    """
    count = 32 if quick else 256
    plans: list[Row] = []
    for problem, how in scans.PROBLEMS.items():
        if how["space"] != how["full"]:
            continue
        for peer in ("pliant", "mujoco"):
            best = cheapest([r for r in rod_rows if (r["peer"], r["problem"]) == (peer, problem)], 1e-2)
            if best is not None:
                plans.append(
                    {"peer": peer, "model": problem, "settings": dict(best["settings"]), "error": best["error"]}
                )
        for solver in () if quick or how["full"] else ("kvaerno3", "tsit5"):
            own = {**how, "order": 5, "points": 7, "rtol": 1e-2}
            kin = [
                r
                for r in rod_rows
                if r["peer"] == "soromox" and {"solver": "kvaerno3", **r["settings"]} == {**own, "solver": solver}
            ]
            same = [r["error"] for r in kin if "error" in r]
            row = {"peer": "soromox", "model": problem, "settings": {**own, "solver": solver, "end": s.DURATION / 2}}
            plans.append(row | ({"error": same[0]} if same else {}))
    for plan in plans:
        plan["settings"]["count"] = count
    rows = make_all(workers, [{"task": "many", **plan} for plan in plans], log)
    time_all(workers, rows, max(1, rounds // 2), 15.0)
    for row in rows:
        if "seconds" in row:
            row["throughput"] = count * row["settings"].get("end", s.DURATION) / row["seconds"]
    return clean(rows)


def papers(workers: Workers, quick: bool, rounds: int, log: Callable[[str], None]) -> list[Row]:
    """The papers' robots beside their printed times, each with its error."""
    names = list(PAPERS) if not quick else ["cable-driven manipulator", "soft cantilever"]
    plans = [
        {"peer": "pliant", "task": "paper", "settings": {"name": n, "rtol": r}} for n in names for r in (1e-3, 1e-4)
    ]
    rows = make_all(workers, plans, log)
    time_all(workers, rows, rounds)
    for row in rows:
        case = PAPERS[row["settings"]["name"]]
        row |= {"source": case.source, "duration": case.duration, "printed": case.printed, "length": case.length}
        row |= row.get("result") or {}
    for name, printed in STATICS.items():
        if name in names:
            means = [
                workers["pliant"].ask(do="make", task="paper_statics", settings={"name": name})["result"]["mean"]
                for _ in range(3)
            ]
            rows.append(
                {
                    "peer": "pliant",
                    "settings": {"name": name},
                    "statics": True,
                    "seconds": min(means),
                    "printed": printed,
                    "source": "[002]",
                }
            )
    return clean(rows)
