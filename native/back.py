"""From bitcode to object files for one kind of processor: numba's own passes, with the processor's name instead of the host's.

Each entry is optimised as a program of its own, with all that it calls, as numba does it: merged with others, functions would be inlined in other places, and
results differ in the last bits from those of numba.

Run as ``python native/back.py BITCODE DIRECTORY LEVEL PROCESSOR``; writes ``LEVEL_0.o``, …, one for each entry.
"""

from __future__ import annotations

import sys
from pathlib import Path

import llvmlite.binding as llvm
from numba.core.codegen import AOTCPUCodegen, CPUCodeLibrary

ENTRY = "pliant_entry_"


def make(bitcode: bytes, directory: Path, level: str, processor: str) -> None:
    """Write the object files; entries get the level into their names."""
    codegen = AOTCPUCodegen(f"pliant_{level}", processor)
    names = [function.name for function in llvm.parse_bitcode(bitcode).functions if function.name.startswith(ENTRY)]
    for name in names:
        module = llvm.parse_bitcode(bitcode)
        module.data_layout = codegen._data_layout
        for function in module.functions:
            if function.name == name:
                function.name = name.replace("entry", level)
                function.visibility = "hidden"
            elif function.name.startswith(ENTRY):
                function.linkage = "internal"
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, llvm.create_pass_builder(codegen._tm, llvm.create_pipeline_tuning_options()))
        library = codegen.create_library(name)
        library._final_module = module
        CPUCodeLibrary._optimize_final_module(library)
        module.verify()
        (directory / f"{level}_{name.removeprefix(ENTRY)}.o").write_bytes(codegen._tm.emit_object(module))


if __name__ == "__main__":
    make(Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
