"""The journal of a sweep: what has been answered, written as it comes beside the store that will hold it, so that a kill costs only what was under way.

A record has four bytes that mark it, its length (8), the first 16 bytes of the SHA-256 of its content, and the content: the length of a text (4), a
JSON text, and the numbers that it names. The first record says of which sweep it is. What a kill left of the last record is cut off.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.reading import open_regular
from .stores import StoreError
from .worker import Answer

__all__ = ["Journal", "journal_of"]

_MARK, _HEAD = b"PLSJ", struct.Struct("<4sQ16s")
_SYNC = 5.0  # seconds between two times that it is put on the disk, for a power cut


def journal_of(path: Path) -> Path:
    """The journal of the store at a path."""
    return path.with_name(f"{path.name}.journal")


class Journal:
    """Appends answers; see `read` for what was there.

    Parameters
    ----------
    path : Path
        Of the journal.
    identity : dict
        Of the sweep, for a new one.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._last = time.monotonic()
        try:
            end = max((record.end for record in _records(path)), default=0) if path.exists() else 0
            self._file = os.open(
                path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            )
            os.ftruncate(self._file, end)
        except OSError as error:
            raise StoreError(f"to: the journal {path} cannot be written ({error.strerror}).") from error
        self._end = end
        if not end:
            self._append({"sweep": dict(identity)}, [])

    @staticmethod
    def read(path: Path) -> tuple[dict[str, Any], list[Answer]]:
        """Of which sweep a journal is, and its answers; nothing if it broke off before it said so."""
        records = _records(path)
        first = next(records, None)
        if first is None or not isinstance(first.text.get("sweep"), dict):
            return {}, []
        return first.text["sweep"], [one for record in records for one in _answers(record.text, record.numbers)]

    def add(self, answers: list[Answer]) -> None:
        """Keep some answers."""
        said, arrays = [], []
        for k, found, text in answers:
            said.append([k, None if found is None else {name: a.shape for name, a in found.items()}, text])
            arrays += [] if found is None else list(found.values())
        self._append({"answers": said}, arrays)

    def _append(self, text: Mapping[str, Any], arrays: list[NDArray[np.float64]]) -> None:
        head = json.dumps(text).encode()
        content = struct.pack("<I", len(head)) + head + b"".join(np.asarray(a, dtype="<f8").tobytes() for a in arrays)
        record = memoryview(_HEAD.pack(_MARK, len(content), hashlib.sha256(content).digest()[:16]) + content)
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            done = 0
            while done < len(record):
                done += os.write(self._file, record[done:])
            self._end += done
            if time.monotonic() - self._last > _SYNC:
                os.fsync(self._file)
                self._last = time.monotonic()
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise StoreError(f"the journal {self.path} could not be written ({error.strerror}).") from error

    def close(self, *, remove: bool = False) -> None:
        """No more is written; `remove` if all is kept elsewhere."""
        os.close(self._file)
        if remove:
            self.path.unlink(missing_ok=True)


class _Record(NamedTuple):
    text: dict[str, Any]
    numbers: memoryview
    end: int  # where the next one begins


def _records(path: Path) -> Iterator[_Record]:
    """The records that are whole."""
    with open_regular(path) as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while size - at >= _HEAD.size:
            mark, length, digest = _HEAD.unpack(_whole(file, _HEAD.size))
            at += _HEAD.size + length
            if mark != _MARK or length < 4 or at > size:
                return
            content = _whole(file, length)
            if hashlib.sha256(content).digest()[:16] != digest:
                return
            first = 4 + struct.unpack("<I", content[:4])[0]
            try:
                text = json.loads(content[4:first])
            except (ValueError, RecursionError):
                return
            if not isinstance(text, dict):
                return
            yield _Record(text, memoryview(content)[first:], at)


def _whole(file: Any, length: int) -> bytes:
    out = bytearray()
    while len(out) < length:
        piece = file.read(length - len(out))
        if not piece:
            return bytes(length)
        out += piece
    return bytes(out)


def _answers(text: Mapping[str, Any], rest: memoryview) -> Iterator[Answer]:
    """The answers of a record."""
    try:
        for k, shapes, said in text["answers"]:
            arrays: dict[str, Any] | None = None if shapes is None else {}
            for name, shape in (shapes or {}).items():
                size = 8 * math.prod(shape)
                if arrays is None or min(shape, default=0) < 0 or size > len(rest):
                    return
                arrays[str(name)] = np.frombuffer(rest[:size], dtype="<f8").reshape(shape).astype(np.float64)
                rest = rest[size:]
            yield int(k), arrays, str(said)
    except (AttributeError, KeyError, TypeError, ValueError):
        return
