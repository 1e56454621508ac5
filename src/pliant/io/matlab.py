"""MATLAB files as nested dictionaries, lists and arrays: versions 4 to 7.2 by scipy, 7.3 (HDF5) by h5py."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .._hdf5 import check_array, member
from .._memory import byte_text, free_memory
from .._seals import open_regular

__all__ = ["Unreadable", "as_list", "read_mat"]

_PACKED = 15  # the kind of a part of a file that is compressed
_PIECE = 1 << 20


class Unreadable:
    """What only MATLAB can read: an object of a class, or a function."""

    def __repr__(self) -> str:
        """What it is."""
        return "<object of a MATLAB class>"


def read_mat(path: str | Path) -> dict[str, Any]:
    """Variables of a file by name: structs as dictionaries, cells and arrays of structs as lists, numbers as arrays with MATLAB's rows and columns.

    Objects of classes and functions are `Unreadable`.
    """
    path = Path(path)
    try:
        with open_regular(path) as file:
            head = file.read(128)
            if head[:10] != b"MATLAB 7.3" and head[126:128] in (b"IM", b"MI"):  # version 5 to 7.2
                _check_size(file, head)
        return _read_hdf5(path) if head[:10] == b"MATLAB 7.3" or head[:4] == b"\x89HDF" else _read_packed(path)
    except (FileNotFoundError, ImportError):
        raise
    except Exception as error:  # of a file that anybody may have written, whatever the libraries say
        text = "it is too deep" if isinstance(error, RecursionError) else error
        raise ValueError(f"path = {str(path)!r} cannot be read as a MATLAB file: {text}") from None


def _read_packed(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    found = loadmat(path, simplify_cells=False)
    return {name: _plain(value) for name, value in found.items() if not name.startswith("__")}


def _check_size(file: Any, head: bytes) -> None:
    """Error if variables, unpacked, take more memory than is free: a small file may say so."""
    order: Any = "little" if head[126:128] == b"IM" else "big"
    most = total = free_memory()
    file.seek(128)
    while len(tag := file.read(8)) == 8:
        kind, size = int.from_bytes(tag[:4], order), int.from_bytes(tag[4:], order)
        if kind != _PACKED:
            file.seek(size, 1)
            continue
        unpack = zlib.decompressobj()
        while size > 0 and (piece := file.read(min(_PIECE, size))):
            size -= len(piece)
            while piece:
                total -= len(unpack.decompress(piece, _PIECE))
                piece = unpack.unconsumed_tail
                if total < 0:
                    raise ValueError(f"unpacked, it takes more than the {byte_text(most)} of memory that are free")


def _plain(value: Any) -> Any:
    """What scipy made of a variable."""
    from scipy.io.matlab import MatlabFunction, MatlabObject, MatlabOpaque

    if isinstance(value, (MatlabOpaque, MatlabFunction, MatlabObject)):
        return Unreadable()
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names:  # an array of structs
        rows = [{name: _plain(row[name]) for name in value.dtype.names} for row in value.ravel(order="F")]
        return rows[0] if len(rows) == 1 else rows
    if value.dtype.kind == "O":  # cells
        return _cells([_plain(entry) for entry in value.ravel(order="F")], value.shape)
    if value.dtype.kind in "US":
        return str(value[0]) if value.size == 1 else "" if not value.size else [str(row) for row in value]
    return np.asarray(value)


def _cells(entries: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """A list, or a list of rows for a table of cells."""
    if len(shape) == 2 and min(shape) > 1:
        return [entries[k :: shape[0]] for k in range(shape[0])]
    return entries


def _read_hdf5(path: Path) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"path = {str(path)!r} is a MATLAB 7.3 file, which needs h5py: pip install 'pliant[io]'."
        ) from None
    with h5py.File(path, "r") as file:
        return {name: _hdf5(file, member(file, name)) for name in file if not name.startswith("#")}


def _hdf5(file: Any, item: Any) -> Any:
    """A variable, a field or the content of a cell; HDF5 has rows and columns the other way round."""
    kind = item.attrs.get("MATLAB_class", b"").decode()
    if "MATLAB_object_decode" in item.attrs or kind == "function_handle":
        return Unreadable()
    if hasattr(item, "keys"):
        own = [member(item, name) for name in item]
        fields = {name: _hdf5(file, one) for name, one in zip(item, own)}
        many = [one.shape for one in own if hasattr(one, "shape") and "MATLAB_class" not in one.attrs]
        if own and len(many) == len(own):  # an array of structs: its fields are references
            rows = [dict(zip(fields, row)) for row in zip(*(as_list(value) for value in fields.values()))]
            return rows
        return fields
    check_array(item, references=True)
    if item.attrs.get("MATLAB_empty", 0):
        return "" if kind == "char" else np.zeros(tuple(int(n) for n in np.atleast_1d(item[()])))
    value = item[()]
    if value.dtype.kind == "O":
        entries = [_hdf5(file, file[reference]) for reference in value.T.ravel(order="F")]
        return _cells(entries, value.T.shape)
    if kind == "char":
        return "".join(chr(int(c)) for c in value.T.ravel())
    return np.asarray(value).T


def as_list(value: Any) -> list[Any]:
    """Several things, or one, as a list; an empty array is none."""
    if isinstance(value, list):
        return value
    return [] if isinstance(value, np.ndarray) and value.size == 0 else [value]
