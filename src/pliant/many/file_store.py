"""What stores in the file system have in common: blocks with checksums, a table of contents, and a name that is given at the end."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import part_of, remove_parts
from .._locks import Lock
from .contents import Contents, Entry, Sums, checksum
from .stored import Stored
from .stores import Field, StoreError, Window, check_space

__all__ = ["FileStore"]

_TEXT, _TEXT_MOST = 256, 4_000_000  # bytes for messages: for each item, and at most
_SPARE = 1_000_000  # bytes for what a format needs beside its arrays


class FileStore:
    """Written beside its path, which it takes when it is complete.

    Parameters
    ----------
    path : Path
    lock : Lock or None
        On the path, released at the end; None if the caller holds it.
    fields : tuple of Field
    count, chunk : int
        Items, and how many come together.
    header : dict
        Of the result, see `Contents`.
    given : dict
        Dimensions and array of what items were given, by name.
    """

    def __init__(
        self,
        path: Path,
        lock: Lock | None,
        fields: tuple[Field, ...],
        count: int,
        chunk: int,
        header: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> None:
        self.path, self._lock, self._fields = path, lock, fields
        self._target = Path(os.path.realpath(path))
        whole = {name: np.ascontiguousarray(array) for name, (_dims, array) in given.items()}
        whole["messages"] = np.zeros(min(_TEXT_MOST, 1024 + _TEXT * count), dtype=np.uint8)
        dims = {name: tuple(given[name][0]) if name in given else ("byte",) for name in whole}
        status = Field("status", kind="i1", labels=tuple(header["status"]))
        entries = [Entry.of_field(f, count, chunk) for f in (*fields, status)]
        entries += [Entry.of_array(name, dims[name], array) for name, array in whole.items()]
        self._contents = Contents({**header, "place": 0}, tuple(entries))
        self._sums: Sums = np.zeros(self._contents.blocks, dtype="<u8")
        need = sum(entry.nbytes for entry in entries) + self._sums.nbytes + len(self._contents.text()) + _SPARE
        check_space(path, need)
        remove_parts(self._target)
        self._part = part_of(self._target)
        try:
            self._create(need)
            whole["status"] = np.zeros(count, dtype=np.int8)  # so that it has its place when the disk is full
            for name, array in whole.items():
                self._write_array(name, array)
            self._write_contents()
        except OSError as error:
            self._discard()
            raise StoreError(f"results could not be written to {self._part}: {error}") from error
        except BaseException:
            self._discard()
            raise

    # ------------------------------------------------------------ what formats do

    @abstractmethod
    def _create(self, need: int) -> None:
        """Make what takes so many bytes; sets the places of arrays in the table."""

    @abstractmethod
    def _write(self, entry: Entry, j: int, content: memoryview) -> None:
        """Write a block."""

    @abstractmethod
    def _write_contents(self) -> None:
        """Write checksums and table; also before there are results, so that a disk that is full later has room for them."""

    @abstractmethod
    def _replace(self) -> None:
        """Have it on the disk, and in the place of what is there."""

    @abstractmethod
    def _discard(self) -> None:
        """Remove what was written."""

    # ------------------------------------------------------------ the store

    def _write_array(self, name: str, array: NDArray[Any]) -> None:
        """Write all blocks of an array."""
        entry = self._contents.by_name[name]
        for j in range(entry.blocks):
            begin, end = entry.span(j)
            self._sums[self._contents.first[name] + j] = self._write_block(entry, j, array[begin:end])

    def _write_block(self, entry: Entry, j: int, rows: NDArray[Any]) -> int:
        """Write a block; its checksum."""
        content = np.ascontiguousarray(rows, dtype="<" + entry.kind).reshape(-1).view(np.uint8).data
        self._write(entry, j, content)
        return checksum(content)

    def window(self, begin: int, end: int) -> Window:
        """New arrays."""
        return {f.name: np.empty((end - begin, *f.shape), dtype=f.kind) for f in self._fields}

    def put(self, begin: int, end: int, window: Window, status: NDArray[np.int8]) -> None:
        """Write the items of a chunk, which count when all is there."""
        done: dict[int, int] = {}
        try:
            for name, array in window.items():
                entry = self._contents.by_name[name]
                if entry.nbytes:
                    j = begin // entry.block
                    done[self._contents.first[name] + j] = self._write_block(entry, j, array)
        except OSError as error:
            raise StoreError(f"results could not be written to {self._part}: {error}") from error
        for slot, found in done.items():
            self._sums[slot] = found

    def finish(self, status: NDArray[np.int8], messages: Mapping[int, str]) -> Mapping[str, Any]:
        """Write status and messages, nothing in the places of what is pending, and take the place of what is there."""
        kept, entry = dict(messages), self._contents.by_name["messages"]
        while len(text := json.dumps({str(k): message for k, message in kept.items()}).encode()) > entry.nbytes:
            kept = dict(list(kept.items())[: len(kept) // 2])
        room = np.zeros(entry.nbytes, dtype=np.uint8)
        room[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        try:
            with suppress(OSError):  # the disk may be full; the status tells what is there
                self._write_array("messages", room)
                self._clear()
            self._write_array("status", status)
            self._write_contents()
            self._replace()
        except OSError as error:
            raise StoreError(f"results could not be written to {self.path}: {error}") from error
        self._unlock()
        return {
            f.name: Stored(self._target, self._contents, self._contents.by_name[f.name], self._sums)
            for f in self._fields
        }

    def _clear(self) -> None:
        """Nothing in the places of blocks that were not written, for other programs; they do not count."""
        for f in self._fields:
            entry = self._contents.by_name[f.name]
            first = self._contents.first[f.name]
            for j in np.flatnonzero(self._sums[first : first + entry.blocks] == 0).tolist():
                begin, end = entry.span(j)
                self._write(entry, j, entry.nothing(end - begin).reshape(-1).view(np.uint8).data)

    def forget(self) -> None:
        """Give up."""
        self._discard()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
