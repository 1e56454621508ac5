"""Compilation of kernels.

Four decorators, by the role of a function:

* `inline`: a few lines of algebra, always merged into its caller;
* `routine`: part of an algorithm, compiled together with the kernels that call it;
* `managed`: the same for a function that makes or returns arrays;
* `kernel`: an entry point called from Python, cached on disk.

Kernels are cached on disk by `_cache`, under a key with a digest of all kernel sources: numba's own cache does not notice
an edit of a function that a kernel calls in another file, stops where it cannot write, and believes damaged files. The
first real compilation in a process prints one line, so that nobody waits in silence. How numba is used is said in `_numba`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from ._numba import VERSION, entry, inner, on_compilation

__all__ = ["STAMP", "inline", "kernel", "managed", "routine", "source_digest"]


def source_digest(root: Path | None = None) -> str:
    """Digest of every source file that can end up in compiled code, and of numba's version."""
    root = Path(__file__).parent if root is None else root
    digest = hashlib.sha256(VERSION.encode())
    own = (root / name for name in ("_cache.py", "_call.py", "_jit.py", "_numba.py"))
    for path in [*own, *sorted((root / "kernels").rglob("*.py"))]:
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


STAMP = source_digest()


class _Notice:
    """Print one line at the first compilation of a kernel in this process."""

    def __init__(self) -> None:
        self.silent = bool(os.environ.get("PLIANT_QUIET"))

    def __call__(self, function: Any) -> None:
        if not self.silent and (function.__module__ or "").startswith("pliant.kernels."):
            self.silent = True
            print(
                "pliant: compiling kernels, once per machine and version (about a minute) ...",
                file=sys.stderr,
                flush=True,
            )


on_compilation(_Notice())


def inline(function: Any) -> Any:
    """Decorate a short function that is always merged into its caller."""
    return inner(function, merge=True)


def routine(function: Any) -> Any:
    """Decorate a part of an algorithm; compiled with its callers, not cached by itself.

    It must not make or return arrays: references are not counted.
    """
    return inner(function)


def managed(function: Any) -> Any:
    """Decorate a part of an algorithm that makes arrays or returns them (views too), so that references are counted."""
    return inner(function, count=True)


def kernel(function: Any, source: Any = None) -> Any:
    """Decorate an entry point: compiled on first use, cached with a digest of all kernel sources.

    `source` is the function whose file it also depends on, if that is not its own.
    """
    return entry(function, STAMP, source)
