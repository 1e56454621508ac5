"""From kernels to bitcode: numba types and lowers every kernel and unit, and nothing is optimised yet.

Kernels are found, not listed: every `@kernel("types")` and every unit in a module below `pliant.kernels`. Each becomes one C function, see
`machine_code.c`; everything else becomes private to the module. Run as ``python native/front.py FILE`` with pliant's sources on the path.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

import pliant
from pliant import _jit, _native, _numba
from pliant._call import Unit
from pliant._parts import all_parts

ROOT = Path(pliant.__file__).parent
WORD = ir.IntType(64)
# What object code may leave to the C library and to machine_code.c. Anything else (memory, exceptions, Python) is no matter for a kernel.
ALLOWED = re.compile(
    r"llvm\..*|mem(set|cpy|move)|a?(sin|cos|tan)h?|atan2|sincos|exp|exp2|expm1|log|log2|log10|log1p|pow|fmod|hypot|cbrt|nextafter|"
    r"floor|ceil|trunc|rint|copysign|fma|erf|sqrt|ldexp|frexp|numba_attempt_nocopy_reshape|numba_cpow|numba_nextafter|NRT_MemInfo_call_dtor"
)


def _reader(kind: Any) -> Any:
    """The intrinsic (words, place) → argument of a type, from as many words as it takes."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        words, place = values

        def word(k: int) -> Any:
            at = builder.add(place, ir.Constant(WORD, k))
            return builder.load(builder.gep(words, [at]))

        if isinstance(kind, types.Boolean):
            return builder.icmp_signed("!=", word(0), ir.Constant(WORD, 0))
        if isinstance(kind, types.Float):
            return builder.bitcast(word(0), ir.DoubleType())
        if isinstance(kind, types.Integer):
            return word(0)
        size = kind.dtype.bitwidth // 8
        shape = [word(1 + k) for k in range(kind.ndim)]
        strides = [ir.Constant(WORD, size)]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        made = context.make_array(kind)(context, builder)
        data = builder.inttoptr(word(0), context.get_data_type(kind.dtype).as_pointer())
        populate_array(made, data, shape, strides, size, None)
        return made._getvalue()

    def read(typing: Any, words: Any, place: Any) -> Any:
        return kind(types.CPointer(types.int64), types.int64), build

    return intrinsic(read)


def _caller(kernel: Any, number: int) -> Any:
    """The function (words) → result that reads the arguments of a kernel and calls it."""
    kinds = _numba.argument_types(kernel.types)
    names: dict[str, Any] = {"kernel": _numba.inner(kernel.py_func, count=True)}
    _jit.resolve(kernel.py_func)
    reads, place = [], 0
    for kind in kinds:
        name = f"read_{str(kind).translate(str.maketrans('(), ', '____'))}"
        names.setdefault(name, _reader(kind))
        reads.append(f"{name}(words, {place})")
        place += 1 + getattr(kind, "ndim", 0)
    exec(f"def entry_{number}(words):\n    return kernel({', '.join(reads)})\n", names)
    function = names[f"entry_{number}"]
    function.__module__ = "pliant.native"
    return _numba.inner(function)


def _compiled(dispatcher: Any, kinds: tuple[Any, ...]) -> Any:
    dispatcher.compile(kinds)
    return dispatcher.overloads[kinds]


def _shim(compiled: Any, name: str, *, unit: bool) -> Any:
    """A module with the C function of an entry."""
    context, signature = cpu_target.target_context, compiled.signature
    arguments = [context.get_value_type(kind) for kind in signature.args]
    result, extra = (ir.VoidType(), []) if unit else (ir.IntType(32), [WORD.as_pointer()])
    module = ir.Module(name)
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(result, [*arguments, *extra]), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    callee = context.declare_function(module, compiled.fndesc)
    given = function.args[: len(arguments)]
    status, value = context.call_conv.call_function(builder, callee, signature.return_type, signature.args, given)
    if unit:
        builder.ret_void()
    else:
        if isinstance(signature.return_type, types.Float):
            builder.store(builder.bitcast(value, WORD), function.args[-1])
        elif isinstance(signature.return_type, types.Integer):
            builder.store(builder.sext(value, WORD) if value.type.width < 64 else value, function.args[-1])
        failed = builder.and_(status.is_error, builder.not_(status.is_none))
        builder.ret(builder.select(failed, status.code, ir.Constant(ir.IntType(32), 0)))
    return llvm.parse_assembly(cgutils.normalize_ir_text(str(module)))


class _All:
    """What links all entries, in the eyes of `_numba._callees`."""

    def __init__(self, libraries: list[Any]) -> None:
        self._linking_libraries = libraries


def _reached(text: str, entries: list[str]) -> dict[str, set[str]]:
    """For each entry all functions that it can call, by the text of the module."""
    calls: dict[str, set[str]] = {}
    name = None
    data = set(re.findall(r'^@("[^"]+"|[\w.$-]+) = ', text, re.MULTILINE))
    for line in text.splitlines():
        if line.startswith("define"):
            found = re.search(r'@("[^"]+"|[\w.$-]+)\(', line)
            name = found[1].strip('"') if found else None
            calls[name or ""] = set()
        elif line.startswith("}"):
            name = None
        elif name is not None:
            calls[name].update(x.strip('"') for x in re.findall(r'@("[^"]+"|[\w.$-]+)', line) if x not in data)
    reached = {}
    for entry in entries:
        seen, new = {entry}, [entry]
        while new:
            for callee in calls.get(new.pop(), ()):
                if callee not in seen:
                    seen.add(callee)
                    new.append(callee)
        reached[entry] = {name for name in seen if name not in calls}
    return reached


def make(target: Path) -> None:
    """Write the bitcode of all entries to `target`, and what they are beside it as JSON."""
    if not _numba.DIRECT:
        raise SystemExit(f"machine code cannot be made with numba {numba.__version__}; see _numba.TESTED")
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in _jit.source_files(ROOT)}
    shims, libraries, parts = [], [], {}
    for part in all_parts():
        number, name = len(parts), f"pliant_entry_{len(parts)}"
        unit = isinstance(part, Unit)
        function = part.source if unit else part.py_func
        if unit:
            _jit.resolve(part.function)
            kinds = tuple(_numba.LETTERS[letter] for letter in part.arguments)
            compiled = _compiled(_numba.inner(part.function, count=True), kinds)
        elif part.types:
            compiled = _compiled(_caller(part, number), (types.CPointer(types.int64),))
        else:
            continue  # a kernel for any numbers: compiled for what it gets
        print(f"  {_native.part_name(function)}", flush=True)
        shims.append(_shim(compiled, name, unit=unit))
        libraries.append(compiled.library)
        result = compiled.signature.return_type
        files = _jit.source_files(ROOT, Path(function.__code__.co_filename))
        parts[_native.part_name(function)] = {
            "number": number,
            "kind": "unit" if unit else "kernel",
            "arguments": "" if unit else part.types,
            "result": "x" if isinstance(result, types.Float) else "n" if isinstance(result, types.Integer) else "v",
            "files": [path.relative_to(ROOT).as_posix() for path in files],
        }
    module = shims[0]
    for shim in shims[1:]:
        module.link_in(shim)
    for library in [*libraries, *_numba._callees(_All(libraries))]:
        module.link_in(library._get_module_for_linking(), preserve=True)
    entries = [f"pliant_entry_{part['number']}" for part in parts.values()]
    for function in module.functions:
        if not function.is_declaration and function.name not in entries:
            function.linkage = "internal"
    module.verify()
    wrong = {
        f"{name} ({', '.join(outside)})"
        for name, symbols in zip(parts, _reached(str(module), entries).values())
        if (outside := sorted(symbol for symbol in symbols if not ALLOWED.fullmatch(symbol)))
    }
    if wrong:
        raise SystemExit(
            f"these cannot be compiled ahead of time, they need more than arithmetic: {'; '.join(sorted(wrong))}"
        )
    every = sorted({file for part in parts.values() for file in part["files"]})
    table = {
        "parts": parts,
        "files": {file: digests[ROOT / file] for file in every},
        "made with": {"numba": numba.__version__, "llvm": ".".join(map(str, llvm.llvm_version_info))},
    }
    target.write_bytes(module.as_bitcode())
    target.with_suffix(".json").write_text(json.dumps(table))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
