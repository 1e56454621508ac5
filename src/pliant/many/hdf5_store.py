"""Results of a batch in an HDF5 file.

The library makes the file, with a place for every number, and is not asked again: numbers are written to their places as bytes. HDF5 itself
does not survive a disk that is full, and is used by one thread at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import check_target
from .stores import Field, Stored, StoreError, Window, check_space, library, part_of

__all__ = ["HDF5Store"]

_TEXT, _TEXT_MOST = 256, 4_000_000  # bytes for messages: for each item, and at most


class HDF5Store:
    """A file that takes its place when it is complete."""

    def __init__(
        self, path: Path, fields: tuple[Field, ...], count: int, header: Mapping[str, Any], given: Mapping[str, Any]
    ) -> None:
        self.path, self._count = path, count
        h5py = library("h5py")
        check_target(path, field="to", attempt=True)
        self._fields = {f.name: f for f in (*fields, Field("status", kind="i1", labels=tuple(header["status"])))}
        self._text = min(_TEXT_MOST, 1024 + _TEXT * count)
        need = count * sum(f.size for f in self._fields.values()) + self._text + 100_000
        need += sum(np.asarray(values).nbytes for _dims, values in given.values())
        check_space(path, need)
        self._part = part_of(path)
        try:
            with self._part.open("wb") as file:
                file.truncate(need)  # what HDF5 would fail at, and not survive
            self._places = self._made(h5py, header, given)
            self._file = self._part.open("r+b", buffering=0)
        except OSError as error:
            self._part.unlink(missing_ok=True)
            raise StoreError(f"results could not be written to {self._part}: {error}") from error

    def _made(self, h5py: Any, header: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, int]:
        """Make the file; where each array begins in it."""
        places: dict[str, int] = {}
        with h5py.File(self._part, "w") as file:
            file.attrs["pliant"] = json.dumps(header)
            for f in self._fields.values():
                array = self._reserved(h5py, file, f.name, (self._count, *f.shape), f.kind)
                array.attrs["units"], array.attrs["labels"] = f.unit, json.dumps(f.labels)
                places[f.name] = array.id.get_offset() or 0
            places["messages"] = self._reserved(h5py, file, "messages", (self._text,), "u1").id.get_offset()
            for name, (_dims, values) in given.items():
                if name not in self._fields:
                    file.create_dataset(name, data=values)
        return places

    def _reserved(self, h5py: Any, file: Any, name: str, shape: tuple[int, ...], kind: str) -> Any:
        """An array that has its place in the file from the start."""
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space, dtype = h5py.h5s.create_simple(shape), h5py.h5t.py_create(np.dtype(kind))
        return h5py.Dataset(h5py.h5d.create(file.id, name.encode(), dtype, space, dcpl=options))

    def _write(self, name: str, begin: int, array: NDArray[Any]) -> None:
        """Write items of an array from number `begin` on."""
        self._file.seek(self._places[name] + begin * (self._fields[name].size if name in self._fields else 1))
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        while len(content):
            content = content[self._file.write(content) :]

    def window(self, begin: int, end: int) -> Window:
        """New arrays."""
        return {
            f.name: np.empty((end - begin, *f.shape), dtype=f.kind) for f in self._fields.values() if f.name != "status"
        }

    def put(self, begin: int, end: int, window: Window, status: NDArray[np.int8]) -> None:
        """Write them; the status comes last, so that what it calls done is there."""
        try:
            for name, array in window.items():
                self._write(name, begin, array)
            self._write("status", begin, status)
        except OSError as error:
            raise StoreError(f"results could not be written to {self._part}: {error}") from error

    def finish(self, status: NDArray[np.int8], messages: Mapping[int, str]) -> Mapping[str, Any]:
        """Fill what is pending with nothing, write messages, rename the file."""
        kept = dict(list(messages.items()))
        while len(text := json.dumps({str(k): message for k, message in kept.items()}).encode()) > self._text:
            kept = dict(list(kept.items())[: len(kept) // 2])
        with suppress(OSError):  # the disk may be full; the status tells what is there
            self._write("messages", 0, np.frombuffer(text, dtype=np.uint8))
            self._clear(np.flatnonzero(status == 0))
        try:
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._part, self.path)
        except OSError as error:
            raise StoreError(f"results could not be written to {self.path}: {error}") from error
        return {
            f.name: Stored(self.path, f.name, (self._count, *f.shape), f.kind)
            for f in self._fields.values()
            if f.name != "status"
        }

    def _clear(self, items: NDArray[np.int64]) -> None:
        """Nothing in the places of items that are pending."""
        for run in np.split(items, np.flatnonzero(np.diff(items) != 1) + 1) if len(items) else ():
            for f in self._fields.values():
                for first in range(0, len(run), step := max(1, 10_000_000 // max(f.size, 1))):
                    part = run[first : first + step]
                    if f.name != "status":
                        self._write(f.name, int(part[0]), np.full((len(part), *f.shape), f.nothing, dtype=f.kind))

    def forget(self) -> None:
        """Remove what was written."""
        with suppress(OSError):
            self._file.close()
        self._part.unlink(missing_ok=True)
