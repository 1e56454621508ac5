"""MATLAB files as nested dictionaries, lists and arrays: versions 4 to 7.2 by scipy, 7.3 (HDF5) by h5py."""

from __future__ import annotations

import io
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .._hdf5 import check_array, member
from ..model.reading import read_file
from ..model.validate import shown

__all__ = ["Unreadable", "as_list", "read_mat"]


_MOST = 200_000_000  # bytes, also unpacked
_DEEPEST = 100  # levels of cells and structs
_ITEMS = 200_000
_INT32, _MATRIX, _PACKED, _SPARSE = 5, 14, 15, 5  # of version 5: kinds of parts, and a class of arrays


class Unreadable:
    """What only MATLAB can read: an object of a class, or a function."""

    def __repr__(self) -> str:
        """What it is."""
        return "<object of a MATLAB class>"


def read_mat(path: str | Path) -> dict[str, Any]:
    """Variables of a file by name: structs as dictionaries, cells and arrays of structs as lists, numbers as arrays with MATLAB's rows and columns.

    Objects of classes and functions are `Unreadable`.
    """
    data = read_file(path, most=_MOST, what="MATLAB file")
    try:
        if data[:10] == b"MATLAB 7.3" or data[:4] == b"\x89HDF":
            return _read_hdf5(data)
        from scipy.io import loadmat

        _check_sizes(data)
        found = loadmat(io.BytesIO(data), simplify_cells=False)  # type: ignore[arg-type]
    except ImportError as error:
        raise ImportError(f"path = {shown(str(path))}: {error}") from None
    except Exception as error:  # readers raise whatever their parts raise
        raise ValueError(f"path = {shown(str(path))} cannot be read as a MATLAB file: {error}") from None
    return {name: _plain(value) for name, value in found.items() if not name.startswith("__")}


def _check_sizes(data: bytes) -> None:
    """Error if what is packed in a file of version 5 to 7.2 is too large or too deep, or if an array says that it is larger than what there is of it."""
    order: Any = {b"IM": "little", b"MI": "big"}.get(data[126:128])
    if order is None:  # version 4, whose arrays are not packed
        return
    unpacked = 0
    stack = [(memoryview(data), 128, len(data), 0)]
    while stack:
        own, at, end, depth = stack.pop()
        if depth > _DEEPEST:
            raise ValueError(f"it is nested deeper than {_DEEPEST} levels.")
        number = 0
        while at + 8 <= end:
            kind, size = (int.from_bytes(own[k : k + 4], order) for k in (at, at + 4))
            begin, small = at + 8, kind >> 16
            if small:  # of at most four bytes, in the tag itself
                kind, size, begin = kind & 0xFFFF, small, at + 4
            if begin + size > end:
                raise ValueError("it is cut off, or an array says that it is larger than the file.")
            if kind == _PACKED:
                inner = zlib.decompressobj().decompress(own[begin : begin + size], _MOST - unpacked + 1)
                unpacked += len(inner)
                if unpacked > _MOST:
                    raise ValueError(f"it unpacks to more than {_MOST} bytes.")
                stack.append((memoryview(inner), 0, len(inner), depth))
            elif kind == _MATRIX:
                stack.append((own, begin, begin + size, depth + 1))
            elif number == 1 and depth and kind == _INT32:  # the second part of an array is its dimensions
                sides = [int.from_bytes(own[k : k + 4], order) for k in range(begin, begin + size, 4)]
                sparse = own[at - 8] == _SPARSE if order == "little" else own[at - 5] == _SPARSE
                if math.prod(sides) > max(end - at, 1) * 8 and not sparse:
                    raise ValueError(
                        f"an array says that it has {math.prod(sides)} entries, but there are {end - at} bytes of it."
                    )
            number += 1
            at = begin + size if kind == _PACKED else at + 8 if small else begin + -(-size // 8) * 8


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


def _read_hdf5(data: bytes) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise ImportError("a MATLAB 7.3 file needs h5py: pip install 'pliant[io]'.") from None
    with h5py.File(io.BytesIO(data), "r") as file:
        return _Hdf5(file).group(file, skip="#")


class _Hdf5:
    """Variables of a file of version 7.3. HDF5 has rows and columns the other way round."""

    def __init__(self, file: Any) -> None:
        self.file, self.count, self.size = file, 0, 0

    def group(self, item: Any, depth: int = 0, skip: str = "\0") -> dict[str, Any]:
        """What is in a group, but for names that begin in some way."""
        members = {name: member(item, name) for name in item}
        return {name: self.value(own, depth + 1) for name, own in members.items() if not name.startswith(skip)}

    def value(self, item: Any, depth: int) -> Any:
        """A variable, a field or the content of a cell."""
        self.count += 1
        if depth > _DEEPEST or self.count > _ITEMS:
            raise ValueError(f"it is nested deeper than {_DEEPEST} levels, or has more than {_ITEMS} parts.")
        kind = item.attrs.get("MATLAB_class", b"").decode()
        if "MATLAB_object_decode" in item.attrs or kind == "function_handle":
            return Unreadable()
        if hasattr(item, "keys"):
            fields = self.group(item, depth)
            own = [item[name] for name in item]
            many = [one.shape for one in own if hasattr(one, "shape") and "MATLAB_class" not in one.attrs]
            if own and len(many) == len(own):  # an array of structs: its fields are references
                rows = [dict(zip(fields, row)) for row in zip(*(as_list(value) for value in fields.values()))]
                return rows
            return fields
        self.size += item.size * max(item.dtype.itemsize, 1)
        if self.size > _MOST:
            raise ValueError(f"its arrays have more than {_MOST} bytes.")
        check_array(item, references=True)
        if item.attrs.get("MATLAB_empty", 0):
            sides = tuple(int(n) for n in np.atleast_1d(item[()]))
            if math.prod(sides):
                raise ValueError(f"{shown(item.name)} says that it is empty, and has the dimensions {sides}.")
            return "" if kind == "char" else np.zeros(sides)
        value = item[()]
        if item.dtype.kind == "O":
            entries = [self.value(self.file[reference], depth + 1) for reference in value.T.ravel(order="F")]
            return _cells(entries, value.T.shape)
        if kind == "char":
            return "".join(chr(int(c)) for c in value.T.ravel())
        return np.asarray(value).T


def as_list(value: Any) -> list[Any]:
    """Several things, or one, as a list; an empty array is none."""
    if isinstance(value, list):
        return value
    return [] if isinstance(value, np.ndarray) and value.size == 0 else [value]
