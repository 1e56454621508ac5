"""Compilation of kernels; only this file and `_call` import numba.

Four decorators, by the role of a function:

* `inline`: a few lines of algebra, always merged into its caller;
* `routine`: part of an algorithm, compiled together with the kernels that call it;
* `managed`: the same for a function that makes or returns arrays;
* `kernel`: an entry point called from Python, cached on disk.

Kernels are cached on disk by `_cache`, under a key with a digest of all kernel sources: numba's own cache does not notice
an edit of a function that a kernel calls in another file, stops where it cannot write, and believes damaged files. The
first real compilation in a process prints one line, so that nobody waits in silence.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import NullCache
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ._cache import Store, keep_in_memory

__all__ = ["enable_cache", "inline", "kernel", "managed", "routine", "source_digest"]

# "contract" lets the compiler fuse multiply and add; nothing is reordered and NaN keeps its meaning.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True}


def source_digest(root: Path | None = None) -> str:
    """Digest of every source file that can end up in compiled code, and of numba's version."""
    root = Path(__file__).parent if root is None else root
    digest = hashlib.sha256(numba.__version__.encode())
    own = (root / "_cache.py", root / "_call.py", root / "_jit.py")
    for path in [*own, *sorted((root / "kernels").rglob("*.py"))]:
        digest.update(path.relative_to(root).as_posix().encode())
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


_OPTIMISE: Any = getattr(CPUCodeLibrary, "_optimize_final_module", None)


def _optimise_whole(library: Any) -> None:
    """Optimise an entry with all that it calls as one closed program.

    Numba leaves every function callable from other libraries, so each keeps all its arguments: a call with the tables and
    the workspace writes some 500 words to the stack. Functions that nobody else can call are merged where there is one call,
    and lose the arguments that they do not use.
    """
    for function in library._final_module.functions:
        if not function.is_declaration and function.linkage.name == "linkonce_odr" and function.name.startswith("_ZN"):
            function.linkage = "internal"
    _OPTIMISE(library)


# What is replaced while a function is compiled. Functions that only compiled code calls are compiled to LLVM's intermediate
# form and no further: numba optimises and generates machine code for each function together with all that it calls, at every
# level of the call tree. Only the entry point's pass matters, which sees all the code once more; without this, compiling
# takes about three times as long.
_INSIDE: tuple[tuple[Any, str, Any], ...] = (
    (CPUCodeLibrary, "_optimize_final_module", lambda library: None),
    (CPUCodeLibrary, "_finalize_final_module", _ready),
    (JITCPUCodegen, "set_env", lambda codegen, name, env: None),
)
_ENTRY: tuple[tuple[Any, str, Any], ...] = ((CPUCodeLibrary, "_optimize_final_module", _optimise_whole),)
_POSSIBLE = all(hasattr(owner, name) for owner, name, _ in _INSIDE) and all(
    hasattr(CPUCodeLibrary, name) for name in ("_finalize_dynamic_globals", "_verify_declare_only_symbols")
)


class _Compile:
    """Compile with some of numba's methods replaced; they are restored at once, and numba holds its compiler lock meanwhile."""

    def __init__(self, compiler: Any, replaced: tuple[tuple[Any, str, Any], ...]) -> None:
        self._compile = compiler.compile
        self._replaced = replaced

    def __call__(self, args: Any, return_type: Any) -> Any:
        originals = [getattr(owner, name) for owner, name, _ in self._replaced]
        for owner, name, replacement in self._replaced:
            setattr(owner, name, replacement)
        try:
            return self._compile(args, return_type)
        finally:
            for (owner, name, _), original in zip(self._replaced, originals):
                setattr(owner, name, original)


def _replacing(compiled: Any, replaced: tuple[tuple[Any, str, Any], ...]) -> Any:
    compiler = getattr(compiled, "_compiler", None)  # absent with NUMBA_DISABLE_JIT=1
    if compiler is not None and _POSSIBLE:
        compiler.compile = _Compile(compiler, replaced)
    return compiled


def _inner(function: Any, **options: Any) -> Any:
    return _replacing(numba.njit(**{**_INNER, **options})(function), _INSIDE)


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
    dispatcher = numba.njit(**_OPTIONS)(function)
    enable_cache(dispatcher, function)
    return dispatcher


class _Cache(NullCache):
    """What numba asks for compiled code and tells of it; see `Store`."""

    def __init__(self, function: Any) -> None:
        code = function.__code__
        self._function = function
        self._sources = f"{_STAMP} {hashlib.sha256(Path(code.co_filename).read_bytes()).hexdigest()}"
        name = f"{Path(code.co_filename).stem}.{function.__qualname__}-{code.co_firstlineno}"
        tag = sys.implementation.cache_tag
        directory = vars(numba.config).get("CACHE_DIR") or ""
        self._store = Store(code.co_filename, f"{name.replace('<', '').replace('>', '')}.{tag}", directory)

    @property
    def cache_path(self) -> str:
        """The first place; numba shows it."""
        return str(self._store.places[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code of a signature, or None."""
        target_context.refresh()  # numba's registries, which rebuilding looks into
        return self._store.load(
            self._key(sig, target_context.codegen()),
            lambda content: CompileResult._rebuild(target_context, *pickle.loads(content)),
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        if data.library.has_dynamic_globals:
            keep_in_memory(f"{self._function.__qualname__} contains addresses of this process")
        else:
            self._store.save(self._key(sig, data.codegen), dumps(data._reduce()))

    def _key(self, sig: Any, codegen: Any) -> bytes:
        """All that compiled code depends on: sources, types, processor, and what the function closes over."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        closure = hashlib.sha256(dumps(cells)).hexdigest() if cells else ""
        return f"{self._sources} {sig!r} {codegen.magic_tuple()!r} {closure}".encode()


_KNOWN = all(hasattr(CompileResult, name) for name in ("_reduce", "_rebuild", "codegen"))


def enable_cache(compiled: Any, function: Any) -> None:
    """Compile an entry, a dispatcher of numba or a C function, as one closed program, and keep it on disk."""
    if not hasattr(compiled, "_cache"):  # with NUMBA_DISABLE_JIT=1
        return
    _replacing(compiled, _ENTRY)
    if not _KNOWN:
        keep_in_memory(f"numba {numba.__version__} is not known to this version of pliant")
    elif os.path.isfile(function.__code__.co_filename):  # a function typed at a prompt has no sources to compare
        compiled._cache = _Cache(function)
