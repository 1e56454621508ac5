"""All kernels and units of the package, found by looking: what `pliant warm-up` compiles and what machine code is made of."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from . import _native, kernels
from ._call import Unit
from ._jit import Kernel, compiler

__all__ = ["all_parts", "compile_all", "function_of"]


def all_parts() -> list[Kernel | Unit]:
    """Every kernel and unit of a module below `pliant.kernels`: the engine first, which most others share their functions with."""
    found: dict[str, Kernel | Unit] = {}
    for info in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        for value in vars(import_module(info.name)).values():
            part = value.otherwise.__self__ if isinstance(value, _native.KERNELS) else value
            if isinstance(part, (Kernel, Unit)):
                found[_native.part_name(function_of(part))] = part
    return [found[name] for name in sorted(found, key=lambda name: (name != "engine.run", name))]


def function_of(part: Kernel | Unit) -> Any:
    """The function that a kernel or a unit was written as."""
    return part.source if isinstance(part, Unit) else part.py_func


def compile_all() -> dict[str, str]:
    """Compile what does not run from machine code and is not on disk, all in this process.

    Returns what was done with each: ``"machine code"``; ``"compiled now"``; ``"compiled before"``; ``"compiled when called"``
    for kernels that are compiled for whatever numbers they are given.
    """
    done = {}
    for part in all_parts():
        name = _native.part_name(function_of(part))
        if not _native.reason_against(function_of(part)):
            done[name] = "machine code"
        elif isinstance(part, Unit):
            assert part.address
            done[name] = "compiled before" if part.loaded else "compiled now"
        elif part.types:
            part.made.compile(compiler().argument_types(part.types))
            done[name] = "compiled before" if sum(part.stats.cache_hits.values()) else "compiled now"
        else:
            done[name] = "compiled when called"
    return done
