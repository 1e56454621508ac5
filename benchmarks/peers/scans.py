"""What is tried: settings of each program for each problem, from coarse to fine.

All of these are run once; the cheapest that reaches an error is timed in rounds with those of the other programs.
"""

from __future__ import annotations

from itertools import product
from typing import Any

Settings = dict[str, Any]

PROBLEMS = {
    "plane, bending": {"space": False, "full": False},
    "space, bending and torsion": {"space": True, "full": False},
    "plane, all strains": {"space": False, "full": True},
    "space, all strains": {"space": True, "full": True},
}
LEVELS = (1e-2, 1e-3, 1e-4)  # errors of the tip over the length


def pliant(full: bool) -> list[Settings]:
    """Orders, points and tolerances."""
    found: list[Settings] = []
    coarse = product((4, 5, 6), (1, 2, 3), (5e-3, 3e-3, 2e-3, 1e-3))
    middle = product((6, 7, 8), (1, 2, 3, 5), (3e-3, 2e-3, 1e-3, 5e-4))
    fine = product((8, 9, 10, 12), (5, None), (5e-4, 3e-4, 2e-4, 1e-4))
    for order, more, rtol in (*coarse, *middle, *fine):
        points = None if more is None else order + more
        for linear in sorted({max(order - 2, 2), order - 1, order}) if full else (0,):
            found.append({"order": order, "linear": linear, "points": points, "rtol": rtol})
    for order, rtol in product((9, 10), (1e-3, 3e-4, 1e-4)):
        found.append(
            {"order": order, "linear": order if full else 0, "points": None, "rtol": rtol, "method": "esdirk5"}
        )
    return found


def exudyn(space: bool, full: bool) -> list[Settings]:
    """Elements and steps; for the cable that hardly stretches also how stiff it is."""
    if not full:
        sizes = ((12, 10), (16, 10), (16, 30), (24, 30), (32, 100), (64, 100))
        return [{"n": n, "steps": steps, "stiff": stiff} for (n, stiff), steps in product(sizes, (200, 400, 1000))]
    if space:
        return [
            {"n": n, "steps": steps} for n, steps in ((24, 200), (24, 400), (32, 200), (32, 400), (48, 400), (64, 1000))
        ]
    sizes2 = product((5, 6, 8, 12, 16, 24), (100, 200, 400, 1000))
    return [{"n": n, "steps": steps} for n, steps in (*sizes2, (32, 2000), (32, 4000))]


def mujoco(space: bool, full: bool) -> list[Settings]:
    """Pieces and steps."""
    pairs = [(20, 1000), (24, 500), (24, 1000), (28, 1000), (28, 2000), (32, 1000), (32, 2000), (40, 2000)]
    if not space:
        pairs += [(60, 4000), (100, 8000)]
    return [{"n": n, "steps": steps} for n, steps in pairs]


def soromox(space: bool, full: bool) -> list[Settings]:
    """Few, as each is compiled for half a minute or more."""
    if space and full:
        return [{"order": 5, "linear": 3, "points": 7, "rtol": 1e-2}]
    if full:
        return [
            {"order": 5, "linear": 3, "points": 7, "rtol": 1e-2},
            {"order": 7, "linear": 5, "points": 9, "rtol": 1e-3},
        ]
    if space:
        return [{"order": 5, "points": 7, "rtol": 1e-2}]
    return [
        {"order": 5, "points": 7, "rtol": 1e-2},
        {"order": 7, "points": 9, "rtol": 1e-3},
        {"order": 5, "points": 7, "rtol": 1e-2, "solver": "tsit5"},
        {"order": 10, "points": 22, "rtol": 1e-4},
    ]


def pyelastica(space: bool, full: bool) -> list[Settings]:
    """Elements, and steps just below where it becomes unstable; it has one model, spatial with all strains."""
    if not (space and full):
        return []
    return [{"n": 10, "steps": 160_000}, {"n": 20, "steps": 240_000}, {"n": 32, "steps": 400_000}]


def settings(peer: str, problem: str, quick: bool = False) -> list[Settings]:
    """All that is tried of one program for one problem; a few of them if quick."""
    how = PROBLEMS[problem]
    found: list[Settings] = {
        "pliant": lambda: pliant(how["full"]),
        "exudyn": lambda: exudyn(**how),
        "mujoco": lambda: mujoco(**how),
        "soromox": lambda: soromox(**how),
        "pyelastica": lambda: pyelastica(**how),
    }[peer]()
    if quick:
        keep = {
            "pliant": 6,
            "exudyn": 4,
            "mujoco": 4,
            "soromox": 0 if how["full"] or how["space"] else 1,
            "pyelastica": 1,
        }[peer]
        found = found[:: max(1, len(found) // keep)][:keep] if keep else []
    return [{**how, **x} for x in found]
