"""What is said while numba compiles: the part, and about how long it will take."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from . import _jit, _native

__all__ = ["announce", "expected_seconds"]

# Seconds of one free core of 3 GHz for a thousand bytes of source: of files that this process has not compiled anything of, and
# of all, whose functions are optimised together.
_PER_NEW, _PER_ANY = 0.1, 0.01
_SEEN: set[Path] = set()


def expected_seconds(function: Any) -> float:
    """About how long numba will take for a kernel or the function of a unit; remembers that it was asked."""
    root, own = Path(__file__).parent, Path(function.__code__.co_filename)
    files = set(_jit.source_files(root, own)) - set(root.glob("*.py"))
    new, size = files - _SEEN, {path: path.stat().st_size / 1000 for path in files}
    _SEEN.update(files)
    return max(1.0, _PER_NEW * sum(size[path] for path in new) + _PER_ANY * sum(size.values()))


def announce(function: Any) -> None:
    """Print what is compiled now, and about how long it will take."""
    if os.environ.get("PLIANT_QUIET") or not (function.__module__ or "").startswith("pliant.kernels."):
        return
    seconds = expected_seconds(function)
    length = f"{seconds:.0f} s" if seconds < 10 else f"{round(seconds, -1):.0f} s"
    name = _native.part_name(function)
    print(f"pliant: compiling {name}, about {length}, once per machine and version ...", file=sys.stderr, flush=True)
