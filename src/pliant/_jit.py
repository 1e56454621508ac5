"""Compilation of kernels; only this file and `_call` import numba.

Four decorators, by the role of a function:

* `inline`: a few lines of algebra, always merged into its caller;
* `routine`: part of an algorithm, compiled together with the kernels that call it;
* `managed`: the same for a function that makes or returns arrays;
* `kernel`: an entry point called from Python, cached on disk.

A cached kernel is stamped with a digest of all kernel sources, because numba by itself does not notice
an edit of a function that a kernel calls in another file. The first real compilation in a process
prints one line, so that nobody waits in silence.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen

__all__ = ["inline", "kernel", "managed", "routine", "source_digest", "stamp_cache"]

# "contract" lets the compiler fuse multiply and add; nothing is reordered and NaN keeps its meaning.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True}


def source_digest(root: Path | None = None) -> str:
    """Digest of every source file that can end up in compiled code, and of numba's version."""
    root = Path(__file__).parent if root is None else root
    digest = hashlib.sha256(numba.__version__.encode())
    for path in [root / "_jit.py", root / "_call.py", *sorted((root / "kernels").glob("*.py"))]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


# A function that is only called by compiled code needs no entry from Python: a third of the compile time.
# No function of a kernel allocates memory, so there is nothing to count references of.
_INNER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}

_STAMP = source_digest()


class _Notice(event.Listener):
    """Print one line at the first compilation of a kernel in this process."""

    def __init__(self) -> None:
        self.silent = bool(os.environ.get("PLIANT_QUIET"))

    def on_start(self, event: Any) -> None:
        """Called by numba before it compiles (not when it loads from the cache)."""
        function = event.data["dispatcher"].py_func
        if not self.silent and (function.__module__ or "").startswith("pliant.kernels."):
            self.silent = True
            print(
                "pliant: compiling kernels, once per machine and version (up to a minute) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        """Required by numba's interface."""


event.register("numba:compile", _Notice())


def _ready(library: Any) -> None:
    """Finish a library for linking into others, without machine code of its own."""
    library._finalize_dynamic_globals()
    library._verify_declare_only_symbols()
    library._finalized = True


class _Inner:
    """Compile a function that only compiled code calls: to LLVM's intermediate form and no further.

    Numba optimises and generates machine code for each function together with all that it calls, at every level of the
    call tree. Only the entry point's pass matters, which sees all the code once more; without this, compiling takes
    about three times as long. The replaced methods are restored at once; numba holds its compiler lock meanwhile.
    """

    REPLACED: tuple[tuple[Any, str, Any], ...] = (
        (CPUCodeLibrary, "_optimize_final_module", lambda library: None),
        (CPUCodeLibrary, "_finalize_final_module", _ready),
        (JITCPUCodegen, "set_env", lambda codegen, name, env: None),
    )

    def __init__(self, compiler: Any) -> None:
        self._compile = compiler.compile

    def __call__(self, args: Any, return_type: Any) -> Any:
        originals = [getattr(owner, name) for owner, name, _ in self.REPLACED]
        for owner, name, replacement in self.REPLACED:
            setattr(owner, name, replacement)
        try:
            return self._compile(args, return_type)
        finally:
            for (owner, name, _), original in zip(self.REPLACED, originals):
                setattr(owner, name, original)


_POSSIBLE = all(hasattr(owner, name) for owner, name, _ in _Inner.REPLACED) and all(
    hasattr(CPUCodeLibrary, name) for name in ("_finalize_dynamic_globals", "_verify_declare_only_symbols")
)


def _inner(function: Any, **options: Any) -> Any:
    dispatcher = numba.njit(**{**_INNER, **options})(function)
    compiler = getattr(dispatcher, "_compiler", None)  # absent with NUMBA_DISABLE_JIT=1
    if compiler is not None and _POSSIBLE:
        compiler.compile = _Inner(compiler)
    return dispatcher


def inline(function: Any) -> Any:
    """Decorate a short function that is always merged into its caller."""
    return _inner(function, forceinline=True)


def routine(function: Any) -> Any:
    """Decorate a part of an algorithm; compiled with its callers, not cached by itself."""
    return _inner(function)


def managed(function: Any) -> Any:
    """Decorate a part of an algorithm that makes arrays or returns them (views too), so that references are counted."""
    return _inner(function, _nrt=True)


def kernel(function: Any) -> Any:
    """Decorate an entry point: compiled on first use, cached with a digest of all kernel sources."""
    dispatcher = numba.njit(cache=True, **_OPTIONS)(function)
    stamp_cache(dispatcher)
    return dispatcher


class _CacheFile(IndexDataCacheFile):
    """A cache in which each signature has a file of its own name, whatever other processes do at the same time.

    Numba numbers the files, so that two processes that compile different signatures at once can write to the same one.
    """

    def save(self, key: Any, data: Any) -> None:
        """Write the data, then the index, which thus never names a file that is not there."""
        number = int(hashlib.sha256(f"{self._source_stamp} {key!r}".encode()).hexdigest()[:12], 16)
        name = self._data_name(number)
        self._save_data(name, data)
        overloads = self._load_index()
        overloads[key] = name
        self._save_index(overloads)


def stamp_cache(dispatcher: Any) -> None:
    """Make a cached function depend on all kernel sources."""
    cache = getattr(dispatcher, "_cache", None)  # absent with NUMBA_DISABLE_JIT=1
    if cache is not None and hasattr(cache, "_impl"):
        cache._cache_file = _CacheFile(
            cache_path=cache._cache_path, filename_base=cache._impl.filename_base, source_stamp=_STAMP
        )
