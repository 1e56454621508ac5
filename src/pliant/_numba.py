"""Numba held at arm's length: the only file that imports numba or llvmlite, and all that pliant takes from them.

There are two ways through numba. For the versions that pliant was tested with, a *direct* way that reaches for private
names: inner functions are not turned into machine code by themselves (a third of the compile time), entries are optimised
as closed programs, and compiled code is kept by `_cache`, which notices edited callees and damaged files. For any other version a *public* way with documented names
alone: `njit` and `cfunc` with numba's own cache, in a directory that belongs to these sources. It computes the same, compiles
several times as long, and says so once. ``PLIANT_NUMBA=public`` chooses it for a tested version too.

Private names stand below "the direct way" and nowhere else.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ._cache import Store, keep_in_memory

__all__ = [
    "DIRECT",
    "INTERPRETED",
    "LETTERS",
    "TESTED",
    "VERSION",
    "announce",
    "argument_types",
    "array_at",
    "c_function",
    "cannot_compile",
    "entry",
    "group_maker",
    "inner",
    "is_tested",
    "on_compilation",
    "pointer_to",
    "sized_call",
    "unsized_call",
]

TESTED = ((0, 60), (0, 68))  # first and last; pyproject.toml allows the same
VERSION: str = numba.__version__
_CONFIG = vars(numba.config)  # numba's settings, from its environment variables
INTERPRETED = bool(_CONFIG["DISABLE_JIT"])

# "contract" lets the compiler fuse multiply and add; nothing is reordered and NaN keeps its meaning.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def is_tested(version: str) -> bool:
    """Whether pliant was tested with a version of numba, or with another patch of the same minor version."""
    number = re.match(r"(\d+)\.(\d+)(\.\d+)*$", version)  # releases only: a development version may be anything
    return number is not None and TESTED[0] <= (int(number[1]), int(number[2])) <= TESTED[1]


def _direct() -> bool:
    """Choose the way; says so if it is the slow one and was not asked for."""
    chosen = os.environ.get("PLIANT_NUMBA", "")
    if chosen not in ("", "public"):
        raise ValueError(
            f"PLIANT_NUMBA is {chosen!r}; it must be 'public' (documented names of numba alone) or not set"
        )
    if INTERPRETED or chosen:
        return False
    if is_tested(VERSION):
        return True
    first, last = (".".join(map(str, version)) for version in TESTED)
    warnings.warn(
        f"pliant was tested with numba {first} to {last}, not with {VERSION}. It uses documented features of numba only: "
        "results are the same, but kernels take several times as long to compile (some minutes, once).",
        UserWarning,
        stacklevel=2,
    )
    return False


DIRECT = _direct()


def announce(function: Any) -> None:
    """Called with the function of a kernel or unit before it is compiled, not loaded; `_jit` puts its own here."""


def argument_types(text: str) -> tuple[Any, ...]:
    """The types that `_jit.kernel` names by letters."""
    known = {"n": types.int64, "x": types.float64, "b": types.boolean, "i": types.int64, "f": types.float64}
    words = [(known[word[0]], int(word[1:] or 0)) for word in text.split()]
    return tuple(types.Array(kind, axes, "C") if axes else kind for kind, axes in words)


# ---------------------------------------------------------------- functions, whichever way


def inner(function: Any, *, merge: bool = False, count: bool = False) -> Any:
    """Compile a function that compiled code calls.

    Parameters
    ----------
    function : callable
        Compiled with its callers, not cached by itself.
    merge : bool
        Always merge it into its caller.
    count : bool
        Count references, for a function that makes or returns arrays.
    """
    if DIRECT:
        return _direct_inner(function, merge, count)
    return numba.njit(**_OPTIONS, nogil=True)(function)


def entry(function: Any, stamp: str, source: Any = None) -> Any:
    """Compile a function that Python calls, when it is called first; kept on disk for these sources (`stamp`).

    `source` is the function whose file it depends on, and is kept beside, if that is another one.
    """
    if INTERPRETED:
        return function
    if DIRECT:
        return _direct_entry(numba.njit(**_OPTIONS, nogil=True)(function), source or function, stamp)
    with _public_cache(source or function, stamp) as cache:
        return numba.njit(**_OPTIONS, nogil=True, cache=cache)(function)


LETTERS = {"n": types.int64, "i": types.CPointer(types.int64), "f": types.CPointer(types.float64)}


def c_function(function: Any, arguments: str, stamp: str | None = None, source: Any = None) -> Any:
    """Compile a function that is called through its address, at once.

    Parameters
    ----------
    function : callable
        Returns nothing.
    arguments : str
        One letter each: ``n`` is an int64, ``i`` a pointer to int64, ``f`` a pointer to float64.
    stamp : str, optional
        Keep it on disk for these sources.
    source : callable, optional
        The function whose file it depends on, and is kept beside, if that is another one.

    Returns
    -------
    object
        With `address` and `cache_hits`, to be kept alive.
    """
    kinds = [LETTERS[letter] for letter in arguments]
    if DIRECT:
        compiled = _direct_entry(
            CFunc(function, (tuple(kinds), types.void), {}, dict(_OPTIONS)), source or function, stamp
        )
        compiled.compile()
        return compiled
    with _public_cache(source or function, stamp) as cache:
        return numba.cfunc(types.void(*kinds), cache=cache, **_OPTIONS)(function)


def cannot_compile(error: BaseException) -> bool:
    """Whether an exception is numba's complaint about code that it cannot compile."""
    return isinstance(error, numba.NumbaError)


def _sources(function: Any, stamp: str) -> str:
    """What compiled code depends on besides types and processor: all kernels, and the function's own file."""
    return f"{stamp} {hashlib.sha256(Path(function.__code__.co_filename).read_bytes()).hexdigest()}"


def _has_source(function: Any) -> bool:
    return os.path.isfile(function.__code__.co_filename)  # a function typed at a prompt has none to compare


def _store(function: Any) -> Store:
    code = function.__code__
    name = f"{Path(code.co_filename).stem}.{function.__qualname__}-{code.co_firstlineno}"
    tag = sys.implementation.cache_tag
    return Store(code.co_filename, f"{name.replace('<', '').replace('>', '')}.{tag}", _CONFIG["CACHE_DIR"] or "")


# ---------------------------------------------------------------- the public way


@contextmanager
def _public_cache(function: Any, stamp: str | None) -> Iterator[bool]:
    """Let numba's own cache keep what is decorated meanwhile; whether there is a place for it.

    That cache does not notice an edit of a callee in another file. So its directory is named by a digest of all sources.
    """
    if stamp is None or not _has_source(function):
        yield False
        return
    name = f"numba-{hashlib.sha256(_sources(function, stamp).encode()).hexdigest()[:16]}"
    failures = []
    for place in _store(function).places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place / name).close()
        except OSError as error:
            failures.append(f"{place}: {error.strerror}")
            continue
        before = _CONFIG["CACHE_DIR"]
        _CONFIG["CACHE_DIR"] = str(place / name)
        try:
            yield True
        finally:
            _CONFIG["CACHE_DIR"] = before
        return
    keep_in_memory("; ".join(failures))
    yield False


# ---------------------------------------------------------------- the direct way

if DIRECT:
    from numba.core import cgutils, event
    from numba.core.ccallback import CFunc
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps
    from numba.core.targetconfig import TargetConfig
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import infer_getattr, lower_getattr_generic, models, register_model
    from numba.np.arrayobj import populate_array


def _direct_inner(function: Any, merge: bool, count: bool) -> Any:
    """No entry from Python, no machine code, and no count of references unless it is wanted: a third of the time."""
    options: dict[str, Any] = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": count,
        "forceinline": merge,
    }
    return _replacing(numba.njit(**_OPTIONS, nogil=True, **options)(function))


def _callees(library: Any) -> list[Any]:
    """All that a library calls, directly or not. Callers first: the linker takes only functions that somebody has asked for."""
    found: dict[Any, None] = {}

    def visit(library: Any) -> None:
        for callee in library._linking_libraries:
            if callee not in found:
                visit(callee)
                found[callee] = None

    visit(library)
    return list(reversed(found))


def _finish(library: Any) -> None:
    """Finish a library for linking into others, without machine code of its own.

    Functions of the package are linked with those that they call in the entry alone: each would hold a copy of all below it. Others,
    numba's own for example, may later be called by functions that are none of ours, and are complete.
    """
    own = [function for function in library._final_module.functions if not function.is_declaration]
    for function in own:
        if function.linkage.name == "external":
            function.linkage = "linkonce_odr"  # what numba would copy the module for
    if not any(function.name.startswith("_ZN6pliant") for function in own):
        for callee in _callees(library):
            library._final_module.link_in(callee._get_module_for_linking(), preserve=True)
    library._finalize_dynamic_globals()
    library._finalized = True


def _finish_entry(library: Any) -> None:
    """Finish an entry: linked with all that it calls, optimised, and with machine code."""
    library._linking_libraries = _callees(library)
    _FINALIZE(library)


def _optimise_whole(library: Any) -> None:
    """Optimise an entry with all that it calls as one closed program.

    Numba leaves every function callable from other libraries, so each keeps all its arguments. Functions that nobody else can call are
    merged where there is one call, and lose the arguments that they do not use.
    """
    for function in library._final_module.functions:
        if not function.is_declaration and function.linkage.name == "linkonce_odr" and function.name.startswith("_ZN"):
            function.linkage = "internal"
    _OPTIMISE(library)


def _values(settings: Any) -> dict[str, Any]:
    """All settings of a compilation, as numba lists them, but at once: it compares them tens of thousands of times."""
    kind: Any = type(settings)
    return {**_defaults(kind), **settings._values}


@lru_cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: option.default for name, option in kind.options.items()}


if DIRECT:
    _OPTIMISE = CPUCodeLibrary._optimize_final_module
    _FINALIZE = CPUCodeLibrary.finalize
    # What is replaced while a function is compiled. Functions that only compiled code calls are compiled to LLVM's
    # intermediate form and no further: numba optimises and generates machine code for each function together with all that
    # it calls, at every level of the call tree. Only the entry point's pass matters, which sees all the code once more;
    # without this, compiling takes about three times as long.
    _INSIDE: tuple[tuple[Any, str, Any], ...] = (
        (TargetConfig, "values", _values),
        (CPUCodeLibrary, "finalize", _finish),
        (JITCPUCodegen, "set_env", lambda codegen, name, env: None),
    )
    _ENTRY: tuple[tuple[Any, str, Any], ...] = (
        (TargetConfig, "values", _values),
        (CPUCodeLibrary, "finalize", _finish_entry),
        (CPUCodeLibrary, "_optimize_final_module", _optimise_whole),
    )


class _Compile:
    """Compile with some of numba's methods replaced; they are restored at once, and numba holds its compiler lock meanwhile.

    Without the garbage collector, which would look through all that the compiler remembers again and again, a sixth of the time.
    """

    def __init__(
        self, compile: Callable[[Any, Any], Any], replaced: tuple[tuple[Any, str, Any], ...], part: Any = None
    ) -> None:
        self._compile = compile
        self._replaced = replaced
        self._part = part

    def __call__(self, args: Any, return_type: Any) -> Any:
        if self._part is not None:
            announce(self._part)
        originals = [getattr(owner, name) for owner, name, _ in self._replaced]
        collects = gc.isenabled()
        gc.disable()
        for owner, name, replacement in self._replaced:
            setattr(owner, name, replacement)
        try:
            compiled = self._compile(args, return_type)
            compiled.library._ensure_finalized()  # C functions would wait for their first use
            return compiled
        finally:
            for (owner, name, _), original in zip(self._replaced, originals):
                setattr(owner, name, original)
            if collects:
                gc.enable()


def _replacing(compiled: Any, part: Any = None) -> Any:
    """Compile as part of something else, or as an entry: `part` is the function that it was written as."""
    replaced = _INSIDE if part is None else _ENTRY
    compiled._compiler.compile = _Compile(compiled._compiler.compile, replaced, part)
    return compiled


def _direct_entry(compiled: Any, function: Any, stamp: str | None) -> Any:
    """Compile a dispatcher or a C function as one closed program, and keep it on disk if there is a stamp."""
    if stamp is not None and _has_source(function):
        compiled._cache = _Cache(function, stamp)
    return _replacing(compiled, function)


class _Cache:
    """What numba asks for compiled code and tells of it; see `Store`."""

    def __init__(self, function: Any, stamp: str) -> None:
        self._function = function
        self._sources = _sources(function, stamp)
        self._store = _store(function)

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

    def flush(self) -> None:
        """Nothing waits in memory; numba's interface asks for it."""

    def _key(self, sig: Any, codegen: Any) -> bytes:
        """All that compiled code depends on: sources, types, processor, and what the function closes over."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        closure = hashlib.sha256(dumps(cells)).hexdigest() if cells else ""
        return f"{self._sources} {sig!r} {codegen.magic_tuple()!r} {closure}".encode()


def on_compilation(tell: Callable[[Any], None]) -> None:
    """Let `tell(function)` know whenever numba begins to compile a function (not when it loads one); directly only."""
    if not DIRECT:
        return

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            tell(event.data["dispatcher"].py_func)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())


# ---------------------------------------------------------------- calls through an address


def _call(integers: int, arrays: tuple[Any, ...], sized: bool) -> tuple[Any, Any]:
    """Signature and code of a call ``f(integers, arrays)``: arrays as pointers, each followed by its size if `sized`,
    and then the length of a row of the last one.

    Arrays of integers go as int64 pointers, all others as double pointers.
    """
    # int64 whatever was given: numba converts the arguments, so narrower or literal integers are fine
    signature = types.void(*[types.int64] * (1 + integers), *arrays)

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word, real = ir.IntType(64), ir.DoubleType()
        arguments = list(values[1 : 1 + integers])
        for array, value in zip(signature.args[1 + integers :], values[1 + integers :]):
            proxy = context.make_array(array)(context, builder, value)
            pointer = (word if isinstance(array.dtype, types.Integer) else real).as_pointer()
            arguments += [builder.bitcast(proxy.data, pointer), *([proxy.nitems] if sized else [])]
        if sized:
            arguments.append(builder.extract_value(proxy.shape, signature.args[-1].ndim - 1))
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return signature, build


@intrinsic
def unsized_call(
    typing: Any,
    address: Any,
    n: Any,
    want: Any,
    pose: Any,
    twist: Any,
    inputs: Any,
    wrench: Any,
    dpose: Any,
    dtwist: Any,
) -> Any:
    """Call ``f(n, want, pose, twist, inputs, wrench, dpose, dtwist)`` at an address, with pointers for arrays of float64."""
    for name, kind in (("address", address), ("n", n), ("want", want)):
        if not isinstance(kind, (types.Integer, types.Boolean)):
            raise numba.TypingError(f"call_load: {name} must be an integer, not {kind}")
    arrays = (pose, twist, inputs, wrench, dpose, dtwist)
    for name, kind in zip(("pose", "twist", "inputs", "wrench", "dpose", "dtwist"), arrays):
        if not (isinstance(kind, types.Array) and kind.layout == "C" and kind.dtype == types.float64):
            raise numba.TypingError(f"call_load: {name} must be a C-contiguous array of float64, not {kind}")
    return _call(2, arrays, sized=False)


@intrinsic
def sized_call(
    typing: Any,
    address: Any,
    task: Any,
    own: Any,
    spare: Any,
    ints: Any,
    floats: Any,
    buffer: Any,
    q: Any,
    v: Any,
    u: Any,
    out: Any,
) -> Any:
    """Call ``f(task, own, spare, ints, n, floats, n, ..., out, n, width)`` at an address.

    A pointer and the number of entries for each array; last the length of a row of `out`.
    """
    arrays = (ints, floats, buffer, q, v, u, out)
    for kind in arrays:
        if not (isinstance(kind, types.Array) and kind.layout == "C"):
            raise numba.TypingError(f"call_unit: arrays must be C-contiguous, not {kind}")
    return _call(3, arrays, sized=True)


@intrinsic
def pointer_to(typing: Any, array: Any, offset: Any) -> Any:
    """The address of an entry of a flat array."""
    if not (isinstance(array, types.Array) and array.layout == "C" and array.ndim == 1):
        raise numba.TypingError(f"pointer_to: a flat C-contiguous array is needed, not {array}")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.gep(data.data, [arguments[1]])

    return types.CPointer(array.dtype)(array, types.int64), build


array_at: Any = numba.carray  # array_at(pointer, shape): the array behind a pointer


# ---------------------------------------------------------------- groups of arrays behind pointers

if DIRECT:

    class Group(types.Type):
        """A NamedTuple of arrays that lie in two flat ones: three pointers; an array is made where it is asked for.

        In a tuple an array is seven words or more. Every function that hands on the tables, the workspace and the tape of a robot would
        take apart and put together a thousand of them, and that takes longer to compile than all the rest.
        """

        def __init__(self, name: str, arrays: Mapping[str, tuple[bool, int]], real: Any) -> None:
            self.real = real  # float64, or complex numbers for derivatives by complex steps
            self.arrays = {
                name: (k, types.Array(types.int64 if integers else real, dimensions, "C"))
                for k, (name, (integers, dimensions)) in enumerate(arrays.items())
            }
            super().__init__(f"{name}({real})")

    @register_model(Group)
    class GroupModel(models.StructModel):
        """The group's first row in the header, all integers, all reals."""

        def __init__(self, manager: Any, kind: Any) -> None:
            word = types.CPointer(types.int64)
            super().__init__(manager, kind, [("header", word), ("ints", word), ("floats", types.CPointer(kind.real))])

    @infer_getattr
    class GroupAttributes(AttributeTemplate):
        """The names of its arrays."""

        key = Group

        def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
            return kind.arrays[name][1] if name in kind.arrays else None

    @lower_getattr_generic(Group)
    def array_of_group(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
        """Make an array from its row (offset, shape) of the header, which never changes: loops need not read it again."""
        k, array = kind.arrays[name]
        group = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        row = [builder.load(cgutils.gep(builder, group.header, 4 * k + j)) for j in range(1 + array.ndim)]
        for word in row:
            word.set_metadata("invariant.load", builder.module.add_metadata([]))
        start, *shape = row
        size = array.dtype.bitwidth // 8
        strides = [ir.Constant(ir.IntType(64), size)]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        source = group.ints if array.dtype == types.int64 else group.floats
        made = context.make_array(array)(context, builder)
        populate_array(made, builder.gep(source, [start]), shape, strides, size, None)
        return made._getvalue()


def group_maker(name: str, arrays: Mapping[str, tuple[bool, int]]) -> Any:
    """The function (ints, floats, first) → group of arrays, for compiled code; directly only.

    Parameters
    ----------
    name : str
        Of the group, and of no other.
    arrays : mapping
        Of each array by its name: whether it holds integers, and how many dimensions it has. They have the rows from `first` of
        the header (offset, shape) that `ints` begins with.
    """

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        ints, floats = (context.make_array(a)(context, builder, v) for a, v in zip(signature.args[:2], values))
        made = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        made.header = builder.gep(ints.data, [builder.mul(values[2], ir.Constant(ir.IntType(64), 4))])
        made.ints, made.floats = ints.data, floats.data
        return made._getvalue()

    def make(typing: Any, ints: Any, floats: Any, first: Any) -> Any:
        return Group(name, arrays, floats.dtype)(ints, floats, types.int64), build

    make.__name__ = make.__qualname__ = name
    return intrinsic(make)
