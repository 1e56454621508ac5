"""Results in HDF5 files: complete or absent, checked when they are read, and only for their own robot.

A file begins with 512 bytes of text (a *user block*, which every reader of HDF5 skips): the format, and the SHA-256 of all
that follows. So damage is found before HDF5 reads a byte. The HDF5 part has the arrays of `Result` by name and a
text ``header`` with the rest as JSON. Files of format 1 have neither the block nor the digest of the robot.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import check_target, write_file
from .._hdf5 import check_array, member
from .._memory import byte_text, free_memory
from .._seals import read_seal, seal
from ..model.reading import open_regular
from ..system import System
from .drive import State
from .exchange import units_of, write_contacts
from .identity import digest
from .result import Event, Result, Statistics

__all__ = ["check_result_path", "load_result", "save_result"]

FORMAT = 2
_ARRAYS = ("t", "q", "v", "a", "u", "tau", "multipliers", "memory", "control")
_BLOCK = 512
_HDF5 = b"\x89HDF\r\n\x1a\n"


def _h5py(what: str) -> Any:
    try:
        import h5py
    except ImportError:
        raise ImportError(f"{what} needs h5py: pip install 'pliant[io]'") from None
    return h5py


def check_result_path(path: str | os.PathLike[str], *, field: str) -> None:
    """Error unless a result can be saved there."""
    _h5py(field)
    check_target(path, field=field, attempt=True)


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result; the file at `path` is replaced when the new one is on the disk."""
    h5py = _h5py("save")
    check_target(path)
    final = result.final
    header = {
        "pliant": _version(),
        "system": result.system.name,
        "robot": digest(result.system),
        "dof_names": list(result.system.dof_names),
        "input_names": list(result.system.input_names),
        "control_names": list(result.control_names),
        "units": units_of(result.system),
        "success": bool(result.success),
        "message": result.message,
        "warnings": list(result.warnings),
        "method": result.method,
        "statistics": vars(result.statistics),
        "events": [{"name": e.name, "t": e.t, "q": e.q.tolist(), "v": e.v.tolist()} for e in result.events],
        "final": None if final is None else _state(final),
    }
    # in memory: HDF5 itself does not survive a disk that is full
    memory = io.BytesIO()
    with h5py.File(memory, "w", userblock_size=_BLOCK) as file:
        file.attrs["pliant_format"] = FORMAT
        file.create_dataset(
            "header", data=json.dumps(header)
        )  # not an attribute, which holds 64 kB: a few hundred events
        for name in _ARRAYS:
            array = getattr(result, name)
            packed = {"compression": "gzip", "shuffle": True, "fletcher32": True} if array.size else {}
            file.create_dataset(name, data=array, **packed)
        write_contacts(file, result)
    content = memory.getbuffer()
    content[:_BLOCK] = seal("result", FORMAT, content[_BLOCK:]).ljust(_BLOCK, b"\n")
    write_file(path, content)


def load_result(path: str | os.PathLike[str], system: System, *, check: bool = True) -> Result:
    """Read a result of `system`; see `Result.load`."""
    h5py = _h5py("load")
    content = _content(path)
    stated = _stated_format(path, content, check)
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            found = int(file.attrs.get("pliant_format", 0))
            if not found and stated is None:
                raise ValueError(f"{path} is an HDF5 file, but not a result of pliant (it has no 'pliant_format').")
            if check and found != (1 if stated is None else stated):
                raise ValueError(f"{path} is damaged: its first bytes were changed after it was written.")
            header, arrays = _read(path, file)
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read, it may be damaged: {error}") from error
    if stated is None:
        warnings.warn(
            f"{path} was written by an older version, without checksums and without a digest of its robot: neither damage "
            "nor another robot with the same coordinates would be noticed. Save it again to add them.",
            stacklevel=3,
        )
    try:
        _check_robot(path, header, system, arrays, check)
        return _result(header, arrays, system)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(
            f"{path} cannot be read, its header may be damaged ({type(error).__name__}: {error})."
        ) from error


def _content(path: str | os.PathLike[str]) -> bytes:
    """All of a file, if it is one and fits into memory."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > free_memory():
            raise ValueError(f"{path} has {byte_text(size)}, and {byte_text(free_memory())} of memory are free.")
        return file.read()


def _read(path: str | os.PathLike[str], file: Any) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Header and arrays, of kinds that a result has."""
    try:
        text = check_array(member(file, "header"), text=True)[()] if "header" in file else file.attrs["header"]
        found = {name: check_array(member(file, name)) for name in _ARRAYS if file.get(name, getlink=True) is not None}
        if sum(array.nbytes for array in found.values()) > free_memory():
            raise ValueError("its arrays take more memory than is free")
        header: dict[str, Any] = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError("its header is none")
        return header, {name: np.array(array) for name, array in found.items()}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read, it may be damaged: {error}") from None


def _stated_format(path: str | os.PathLike[str], content: bytes, check: bool) -> int | None:
    """The format that the first bytes name, None for files that begin like those of format 1; error if it is no result."""
    found = read_seal(content[:_BLOCK], "result")
    if found is not None:
        if found.number < 2 or found.number > FORMAT:
            raise ValueError(
                f"{path} has format {found.number}; this version of pliant reads 1 to {FORMAT}. It was written by a newer version, "
                "or is damaged."
            )
        if check and found.digest != hashlib.sha256(content[_BLOCK:]).hexdigest():
            raise ValueError(
                f"{path} is damaged or was changed after it was written: its checksum differs. Use another copy; "
                "Result.load(path, system, check=False) reads what can be read."
            )
        return found.number
    if read_seal(content[:_BLOCK], "batch") is not None:
        raise ValueError(f"{path} is the result of a batch or sweep, not of a motion: BatchResult.open reads it.")
    if content.startswith(_HDF5):
        return None
    if content[_BLOCK:].startswith(_HDF5):
        raise ValueError(f"{path} is damaged: its first bytes were changed after it was written.")
    hint = (
        "It is empty." if not content else "Results are HDF5 files, written by Result.save or simulate(checkpoint=...)."
    )
    if Path(path).suffix.lower() in (".yaml", ".yml", ".json", ".urdf", ".xml"):
        hint += " Models are read by pl.load_model or pl.load_urdf."
    raise ValueError(f"{path} is not a result of pliant. {hint}")


def _check_robot(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    system: System,
    arrays: Mapping[str, NDArray[np.float64]],
    check: bool,
) -> None:
    if check and tuple(header["dof_names"]) != system.dof_names:
        raise ValueError(
            f"{path} was written for {header['system']!r} with {len(header['dof_names'])} dof, which are not those of "
            f"{system.name!r} ({system.nv} dof)."
        )
    if check and "robot" in header and header["robot"] != digest(system):
        raise ValueError(
            f"{path} was written for {header['system']!r}, whose coordinates have the same names but which differs in its "
            f"properties from {system.name!r} (lengths, materials, points, loads, ... or the version of pliant, "
            f"{header.get('pliant')} there and {_version()} here). Compile the robot that it was written for; "
            "Result.load(path, system, check=False) takes it for this one."
        )
    sizes = {"q": system.nq, "v": system.nv, "a": system.nv, "u": system.nu, "tau": system.nv}
    for name, size in sizes.items():
        if name not in arrays or arrays[name].shape != (len(arrays["t"]), size):
            shape = arrays[name].shape if name in arrays else "nothing"
            raise ValueError(f"{path} does not fit {system.name!r}: {name} has {shape}, and needs {size} columns.")


def _read_state(found: Mapping[str, Any], system: System) -> State:
    memory, control = (
        np.array([_typed(x, float, int) for x in _typed(found[name], list)], dtype=float) if found.get(name) else None
        for name in ("memory", "control")
    )
    return State(_typed(found["t"], float, int), *_configuration(found, system), memory, control)


def _configuration(found: Mapping[str, Any], system: System) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates and velocities of a state in the header."""
    try:
        q, v = np.array(found["q"], dtype=float), np.array(found["v"], dtype=float)
    except ValueError as error:
        raise TypeError(str(error)) from None
    if q.shape != (system.nq,) or v.shape != (system.nv,):
        raise TypeError(f"a state has the shapes {q.shape} and {v.shape}")
    return q, v


def _typed(value: Any, *kinds: type) -> Any:
    """A value of the header, of a type that it has to have."""
    if type(value) not in kinds:
        raise TypeError(f"{str(value)[:60]!r} is no {kinds[0].__name__}")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_typed(value, str) for value in _typed(values, list))


def _result(header: Mapping[str, Any], arrays: dict[str, Any], system: System) -> Result:
    for name in ("memory", "control"):
        arrays.setdefault(name, np.zeros((len(arrays["t"]), 0)))
    known = {k: _typed(v, int, float) for k, v in header["statistics"].items() if k in Statistics.__dataclass_fields__}
    final = header.get("final")
    events = [
        Event(_typed(e["name"], str), _typed(e["t"], float, int), *_configuration(e, system))
        for e in _typed(header["events"], list)
    ]
    return Result(
        system,
        **arrays,
        success=_typed(header["success"], bool),
        message=_typed(header["message"], str),
        events=tuple(events),
        statistics=Statistics(**known),
        method=_typed(header["method"], str),
        warnings=_texts(header.get("warnings", [])),
        final=None if final is None else _read_state(final, system),
        control_names=_texts(header.get("control_names", [])),
    )


def _state(state: State) -> dict[str, Any]:
    return {
        "t": state.t,
        "q": state.q.tolist(),
        "v": state.v.tolist(),
        "memory": [] if state.memory is None else state.memory.tolist(),
        "control": [] if state.control is None else state.control.tolist(),
    }


def _version() -> str:
    from .. import __version__

    return __version__
