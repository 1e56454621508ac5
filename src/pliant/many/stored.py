"""Results of batches in files: what is read of them, block by block, each compared with its checksum."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._locks import Lock, LockedError
from .._memory import byte_text, free_memory
from .._seals import Seal
from .contents import Contents, Entry, Sums, checksum
from .pool import PENDING, STATUS

__all__ = ["FORMAT", "KIND", "MOST_TEXT", "Stored", "check_seal", "read_store"]

KIND = "batch"
FORMAT = 2
MOST_TEXT = 1 << 27  # bytes of a table of contents
_PATIENCE = 5.0  # seconds that are waited for two renames
_MUCH = 1 << 27  # bytes that are not read before it is known that the memory has them


class Reader(Protocol):
    """Reads a store of some format."""

    def contents(self) -> Contents:
        """The table of contents; `ValueError` that says what is wrong."""

    def read(self, entry: Entry, j: int, out: memoryview) -> None:
        """Read the bytes of a block."""

    def close(self) -> None:
        """No more is read."""


def check_seal(found: Seal, text: bytes) -> None:
    """Error unless a table of contents is the one that was sealed."""
    if found.number != FORMAT:
        raise ValueError(f"it has format {found.number}, and this version of pliant reads format {FORMAT}")
    if hashlib.sha256(text).hexdigest() != found.digest:
        raise ValueError("its table of contents is damaged or was changed after it was written: the checksum differs")


@contextmanager
def _reading(path: Path) -> Iterator[Reader]:
    from .hdf5_store import HDF5Reader
    from .zarr_store import ZarrReader

    reader: Reader = ZarrReader(path) if path.suffix == ".zarr" else HDF5Reader(path)
    try:
        yield reader
    finally:
        reader.close()


class Stored:
    """An array in a file, read when it is indexed: ``found["q"][:100]``; what is read is compared with its checksums."""

    def __init__(self, path: Path, contents: Contents, entry: Entry, sums: Sums) -> None:
        self.path, self.name, self.shape, self.dtype = path, entry.name, entry.shape, np.dtype("<" + entry.kind)
        first = contents.first[entry.name]
        self._entry, self._sums = entry, sums[first : first + entry.blocks]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        """Number of items."""
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Read a part, indexed as an array."""
        key = index if isinstance(index, tuple) else (index,)
        first = key[0] if key else Ellipsis
        many = isinstance(first, (list, np.ndarray)) and np.ndim(first) == 1
        if not (isinstance(first, (int, np.integer, slice)) or many) or isinstance(first, (bool, np.bool_)):
            return self._rows(range(self._entry.blocks))[index]
        rows = np.arange(len(self))[first]  # raises as an array does
        if not rows.size:
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)[(slice(0) if rows.ndim else 0, *key[1:])]
        blocks = np.unique(rows // self._entry.block)
        inside = np.searchsorted(blocks, rows // self._entry.block) * self._entry.block + rows % self._entry.block
        if isinstance(first, slice):  # a view, as of an array
            step = first.step or 1
            last = int(inside[-1]) + (1 if step > 0 else -1)
            local: Any = slice(int(inside[0]), None if last < 0 else last, step)
            if len(blocks) != blocks[-1] - blocks[0] + 1:
                local = inside
        else:
            local = inside if rows.ndim else int(inside)
        return self._rows(blocks.tolist())[(local, *key[1:])]

    def _rows(self, blocks: Any) -> NDArray[Any]:
        """The rows of some blocks, one after the other."""
        entry = self._entry
        if not entry.nbytes:
            return entry.empty(entry.shape[0])
        spans = [entry.span(j) for j in blocks]
        rows = sum(end - begin for begin, end in spans)
        check_memory(rows * entry.row_bytes, f"{self.name} of {self.path}")
        out, at = entry.empty(rows), 0
        try:
            with _reading(self.path) as reader:
                for j, (begin, end) in zip(blocks, spans):
                    self._read(reader, j, out[at : at + end - begin])
                    at += end - begin
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.name} cannot be read from {self.path}: {error}.") from None
        return out

    def _read(self, reader: Reader, j: int, out: NDArray[Any]) -> None:
        if self._sums[j] == 0:  # it was never written
            out[...] = self._entry.nothing(1)
            return
        content = out.reshape(-1).view(np.uint8).data
        reader.read(self._entry, j, content)
        if checksum(content) != self._sums[j]:
            begin, end = self._entry.span(j)
            raise ValueError(
                f"rows {begin} to {end - 1} are damaged or were changed after they were written (their checksum differs)"
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Read all."""
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        """Where it is."""
        return f"<{self.name} {self.shape} in {self.path}>"


def check_memory(need: int, what: str) -> None:
    """Error if so many bytes are more than the memory that is free."""
    if need > _MUCH and need > free_memory():
        raise MemoryError(
            f"{what} takes {byte_text(need)}, and {byte_text(free_memory())} are free. Read a part of it."
        )


def read_store(path: Path) -> dict[str, Any]:
    """What a `BatchResult` is made of, from a file that a batch has written; error if it is none."""
    target = Path(os.path.realpath(path))
    if path.suffix == ".zarr":
        _put_back(target)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    try:
        with _reading(target) as reader:
            contents = reader.contents()
            sums = _sums(reader, contents)
        return _result(target, contents, sums) | {"path": path}
    except (OSError, ValueError, MemoryError) as error:
        raise ValueError(f"{path} is not the result of a batch, or it is damaged: {str(error).rstrip('.')}.") from None


def _put_back(target: Path) -> None:
    """A store that a kill left aside, in its place."""
    from .zarr_store import recover, was_set_aside

    end = time.monotonic() + _PATIENCE
    while was_set_aside(target):
        try:
            with Lock(target, field="path"):
                recover(target)
        except LockedError as error:  # its writer is at it
            if time.monotonic() > end:
                raise ValueError(str(error)) from None
            time.sleep(0.01)


def _sums(reader: Reader, contents: Contents) -> Sums:
    """The checksums of all blocks."""
    entry = contents.checksums
    check_memory(entry.nbytes, "the array of checksums")
    out = entry.empty(entry.shape[0])
    if entry.nbytes:
        reader.read(entry, 0, out.view(np.uint8).data)
    if hashlib.sha256(out.tobytes()).hexdigest() != contents.sums:
        raise ValueError("its checksums are damaged")
    return out


def _result(path: Path, contents: Contents, sums: Sums) -> dict[str, Any]:
    header = contents.header
    arrays = {entry.name: Stored(path, contents, entry, sums) for entry in contents.entries}
    codes = np.asarray(arrays["status"][:], dtype=np.int8)
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(STATUS):
        raise ValueError("its status is damaged")
    text = arrays["messages"][:].tobytes().rstrip(b"\0")
    try:
        messages = {int(k): str(message) for k, message in json.loads(text or "{}").items()}
    except (AttributeError, ValueError, RecursionError):
        raise ValueError("its messages are damaged") from None
    return {
        "system_name": header["system"],
        "arrays": {name: arrays[name] for name in header["fields"]},
        "about": {name: contents.by_name[name].field for name in header["fields"]},
        "names": {dim: tuple(names) for dim, names in header["names"].items()},
        "given": {name: (tuple(dims), arrays[name][:]) for name, dims in header["given"].items()},
        "codes": codes,
        "messages": messages,
        "seconds": 0.0,
        "interrupted": bool(np.any(codes == PENDING)),
        "origin": header["about"],
    }
