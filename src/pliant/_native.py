"""Kernels compiled ahead of time: whether there are any here, and which of them belong to these sources.

A wheel may carry an extension module, `_machine_code`, with the machine code of kernels and units for one or several levels of
processors (`native/` in the source tree builds it). It holds a table with the digests of the source files that each of them was made of. One
whose files are the same here runs as it is, without numba; every other one is compiled by numba when it is first used. So edited sources are
believed, never old code. ``PLIANT_NATIVE=off`` does without it, ``PLIANT_NATIVE=v2`` chooses a level; interpreted kernels
(``NUMBA_DISABLE_JIT=1``) are plain Python in any case.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["INTERPRETED", "KERNELS", "LEVEL", "MISSING", "kernel", "part_name", "reason_against", "unit"]

_ROOT = Path(__file__).parent


def _interpreted() -> bool:
    """Whether numba was told not to compile, found out without importing it where that is possible."""
    settings = getattr(sys.modules.get("numba"), "config", None)
    if settings is not None:
        return bool(settings.DISABLE_JIT)
    if os.path.isfile(".numba_config.yaml"):  # where numba looks for settings, too
        from . import _numba

        return _numba.INTERPRETED
    try:
        return int(os.environ.get("NUMBA_DISABLE_JIT") or 0) != 0
    except ValueError:
        return False  # as numba takes it


INTERPRETED = _interpreted()


def _load() -> tuple[ModuleType | None, str, dict[str, Any], str]:
    """The extension, the level in use, its table, and if there is none the reason."""
    chosen = os.environ.get("PLIANT_NATIVE", "")
    if chosen == "off":
        return None, "", {}, "PLIANT_NATIVE=off"
    if INTERPRETED:
        return None, "", {}, "interpreted (NUMBA_DISABLE_JIT)"
    try:
        machine_code = import_module("._machine_code", __package__)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        return None, "", {}, "this installation has no machine code" if missing else f"it cannot be loaded: {error}"
    levels = list(machine_code.usable())
    if chosen and chosen not in levels:
        raise ValueError(
            f"PLIANT_NATIVE is {chosen!r}; it must be 'off' or one of the levels that this processor has and the "
            f"installation too ({', '.join(levels) or 'none'}), or not set"
        )
    if not levels:
        return None, "", {}, "it was made for other processors"
    return machine_code, chosen or levels[-1], json.loads(machine_code.table()), ""


_MODULE, _FOUND, _TABLE, _REASON = _load()
LEVEL = _FOUND  # of the processor; empty without machine code
MISSING = _REASON  # why there is none
KERNELS: tuple[Any, ...] = (_MODULE.Kernel,) if _MODULE else ()  # what its kernels are


@cache
def _unchanged(file: str) -> bool:
    """Whether a source file is the one that machine code was made of."""
    try:
        return hashlib.sha256((_ROOT / file).read_bytes()).hexdigest() == _TABLE["files"][file]
    except OSError:
        return False


def part_name(function: Any) -> str:
    """How a kernel or a unit is called, for people and in the table: its module and its name, without the package."""
    return f"{function.__module__.removeprefix('pliant.').removeprefix('kernels.')}.{function.__qualname__}"


def reason_against(function: Any) -> str:
    """Why a kernel or the function of a unit does not run from machine code; empty if it does."""
    if _MODULE is None:
        return MISSING
    part = _TABLE["parts"].get(part_name(function))
    if part is None or _ROOT not in Path(function.__code__.co_filename).parents:
        return "it was not compiled ahead of time"
    changed = [file for file in part["files"] if not _unchanged(file)]
    return f"changed since: {', '.join(changed)}" if changed else ""


def kernel(function: Any, otherwise: Any) -> Any:
    """The machine code of a kernel, to be called like it, or None.

    `otherwise` is called with the same arguments where they are of other types.
    """
    if _MODULE is None or reason_against(function):
        return None
    part = _TABLE["parts"][part_name(function)]
    return _MODULE.Kernel(LEVEL, part["number"], part["arguments"], part["result"], otherwise)


def unit(function: Any) -> int:
    """The address of the machine code of a unit, or 0."""
    if _MODULE is None or reason_against(function):
        return 0
    return int(_MODULE.address(LEVEL, _TABLE["parts"][part_name(function)]["number"]))
