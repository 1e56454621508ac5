"""Make a robot that fails as small as it can be while it still fails, and write it to a file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pliant as pl

SECTIONS = ("loads", "actuators", "motions", "stops", "couplings", "loops", "hydrodynamics", "frames", "links")
OPTIONAL = (
    "offset", "offset_after", "joint", "reference_strain", "integration", "collocation", "magnus", "points", "damping", "com",
    "friction", "exponent", "fluid",
)  # fmt: skip


def smaller(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every description with one part, or one option of a part, left out."""
    for section in SECTIONS:
        part = content.get(section)
        for key in list(part) if isinstance(part, dict) else range(len(part or ())):
            trial = copy.deepcopy(content)
            del trial[section][key]
            if not trial[section]:
                del trial[section]
            yield trial
    for section in SECTIONS:
        part = content.get(section)
        for key, entry in part.items() if isinstance(part, dict) else ():
            for option in OPTIONAL:
                if isinstance(entry, dict) and option in entry:
                    trial = copy.deepcopy(content)
                    del trial[section][key][option]
                    yield trial


def minimise(robot: pl.Robot, fails: Callable[[pl.System], bool], tries: int = 60) -> pl.Robot:
    """The smallest robot found, in so many tries, for which `fails` is still true."""
    content = json.loads(pl.io.dump_model(robot, format="json"))
    going = True
    while going and tries > 0:
        going = False
        for trial in smaller(content):
            tries -= 1
            try:
                still = fails(pl.parse_model(trial).robot.compile())
            except Exception:  # a description that makes no sense without the part
                still = False
            if still:
                content, going = trial, True
                break
            if tries <= 0:
                break
    return pl.parse_model(content).robot


def write(robot: pl.Robot, folder: Path, seed: int, check: str, text: str) -> Path:
    """The robot as a model file, with what was found as a comment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{check}_{seed}.yaml"
    path.write_text(f"# seed {seed}, {check}: {text}\n{pl.io.dump_model(robot)}", encoding="utf-8")
    return path
