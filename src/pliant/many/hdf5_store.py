"""Results of a batch in an HDF5 file.

The library makes the file, with a place for every number, and is not asked again: numbers are written to their places as bytes, and read from
there. HDF5 itself does not survive a disk that is full, is used by one thread at a time, and follows whatever a stranger's file tells it to do. The
table of contents stands before the HDF5 part, in a *user block* that every reader of HDF5 skips; other programs find the arrays by name, and names
and units in the text ``header``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._files import sync_folder
from .._seals import read_seal, seal
from ..model.reading import open_regular
from .contents import Contents, Entry
from .file_store import FileStore
from .stored import FORMAT, KIND, MOST_TEXT, check_seal
from .stores import library

__all__ = ["HDF5Reader", "HDF5Store"]

_STRUCTURE = 1 << 28  # bytes that may stand between the arrays
_PIECE = 1 << 20


class HDF5Store(FileStore):
    """A file that takes its place when it is complete."""

    def _create(self, need: int) -> None:
        h5py = library("h5py")
        with self._part.open("wb") as file:
            file.truncate(need)  # what HDF5 would fail at, and not survive
        # places are not known yet, and take at most 20 digits each
        self._block = 512
        while self._block < len(self._contents.text()) + 20 * (len(self._contents.entries) + 1) + 256:
            self._block *= 2
        places: dict[str, int] = {}
        with h5py.File(self._part, "w", userblock_size=self._block) as file:
            file.create_dataset("header", data=json.dumps(dict(self._contents.header)))
            for entry in (*self._contents.entries, self._contents.checksums):
                array = _reserved(h5py, file, entry)
                if entry.unit or entry.labels:
                    array.attrs["units"], array.attrs["labels"] = entry.unit, json.dumps(entry.labels)
                places[entry.name] = array.id.get_offset() or 0
        self._contents = self._contents.placed(places)
        self._file = self._part.open("r+b", buffering=0)
        self._structure = _structure(self._file, self._contents, self._block)

    def _at(self, place: int, content: Any) -> None:
        self._file.seek(place)
        while len(content):
            content = content[self._file.write(content) :]

    def _write(self, entry: Entry, j: int, content: memoryview) -> None:
        self._at(entry.place + entry.span(j)[0] * entry.row_bytes, content)

    def _write_contents(self) -> None:
        self._contents = self._contents.sealed(self._sums, self._structure)
        self._at(self._contents.checksums.place, self._sums.view(np.uint8).data)
        text = self._contents.text().ljust(self._block - len(seal(KIND, FORMAT, b"")), b"\n")
        self._at(0, memoryview(seal(KIND, FORMAT, text) + text))

    def _replace(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()
        if self._target.exists():
            shutil.copymode(self._target, self._part)
        os.replace(self._part, self._target)
        sync_folder(self._target.parent)

    def _discard(self) -> None:
        with suppress(OSError, AttributeError):
            self._file.close()
        self._part.unlink(missing_ok=True)


def _reserved(h5py: Any, file: Any, entry: Entry) -> Any:
    """An array that has its place in the file from the start."""
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space, dtype = h5py.h5s.create_simple(entry.shape), h5py.h5t.py_create(np.dtype("<" + entry.kind))
    return h5py.Dataset(h5py.h5d.create(file.id, entry.name.encode(), dtype, space, dcpl=options))


def _gaps(contents: Contents, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """What of a file is no array: where it begins and ends."""
    arrays = sorted((e.place, e.place + e.nbytes) for e in (*contents.entries, contents.checksums) if e.nbytes)
    for first, last in arrays:
        if first > begin:
            yield begin, first
        begin = max(begin, last)
    if end > begin:
        yield begin, end


def _structure(file: Any, contents: Contents, begin: int) -> str:
    """SHA-256 of what HDF5 itself wrote between the arrays."""
    out, size = hashlib.sha256(), os.fstat(file.fileno()).st_size
    gaps = list(_gaps(contents, begin, size))
    if sum(last - first for first, last in gaps) > _STRUCTURE:
        raise ValueError("its arrays do not fill it")
    for first, last in gaps:
        file.seek(first)
        while first < last:
            content = file.read(min(_PIECE, last - first))
            if not content:
                raise ValueError("it ends too early")
            out.update(content)
            first += len(content)
    return out.hexdigest()


class HDF5Reader:
    """Reads blocks from a file."""

    def __init__(self, path: Path) -> None:
        self._file = open_regular(path)
        self._path = path
        self._size = os.fstat(self._file.fileno()).st_size

    def contents(self) -> Contents:
        """The table of contents, after everything that it vouches for but the arrays was compared with it."""
        head = self._file.read(512)
        if head.startswith(b"pliant result "):
            raise ValueError("it is the result of a motion: Result.load reads it")
        found = read_seal(head, KIND)
        if found is None:
            raise ValueError(
                "it does not begin as one. Files that an older version wrote, without checksums, are opened by xarray or h5py"
                if head.startswith(b"\x89HDF\r\n\x1a\n")
                else "it does not begin as one"
            )
        block, at = 512, b""
        while not at.startswith(b"\x89HDF\r\n\x1a\n"):  # where HDF5 begins
            if block >= min(self._size, MOST_TEXT):
                raise ValueError("it is not complete, or its HDF5 part is damaged")
            self._file.seek(block)
            at = self._file.read(8)
            block *= 1 if at.startswith(b"\x89HDF\r\n\x1a\n") else 2
        self._file.seek(0)
        whole = self._file.read(block)
        text = whole[found.length :]
        check_seal(found, text)
        contents = Contents.read(text)
        for entry in (*contents.entries, contents.checksums):
            if entry.nbytes and not block <= entry.place <= self._size - entry.nbytes:
                raise ValueError(f"array {entry.name!r} is not in the file, which is not complete")
        if _structure(self._file, contents, block) != contents.structure:
            raise ValueError("its HDF5 part is damaged or was changed after it was written")
        return contents

    def read(self, entry: Entry, j: int, out: memoryview) -> None:
        """Read a block."""
        self._file.seek(entry.place + entry.span(j)[0] * entry.row_bytes)
        done = 0
        while done < len(out):
            step = self._file.readinto(out[done:])  # type: ignore[attr-defined]
            if not step:
                raise ValueError("it ends too early")
            done += step

    def close(self) -> None:
        """Close the file."""
        self._file.close()
