"""From bitcode to an object file for one kind of processor: numba's own passes, with the processor's name instead of the host's.

Run as ``python native/back.py BITCODE OBJECT LEVEL PROCESSOR``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import llvmlite.binding as llvm
from numba.core.codegen import AOTCPUCodegen, CPUCodeLibrary


def make(bitcode: Path, target: Path, level: str, processor: str) -> None:
    """Write the object file; entries get the level into their names."""
    codegen = AOTCPUCodegen(f"pliant_{level}", processor)
    module = llvm.parse_bitcode(bitcode.read_bytes())
    module.data_layout = codegen._data_layout
    for function in module.functions:
        if function.name.startswith("pliant_entry_"):
            function.name = function.name.replace("entry", level)
            function.visibility = "hidden"
    library = codegen.create_library(f"pliant_{level}")
    library._final_module = module
    CPUCodeLibrary._optimize_final_module(library)
    module.verify()
    target.write_bytes(codegen._tm.emit_object(module))


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
