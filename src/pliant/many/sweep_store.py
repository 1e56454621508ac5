"""The result of a sweep on disk: a journal while it is computed, and the store of a batch when it ends."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._locks import Lock
from .contents import array_name_trouble
from .designs import Design
from .found import BatchResult
from .identity import refuse_another
from .journal import Journal, journal_of
from .stored import read_store
from .stores import StoreError, file_store, store_path
from .task import header_of
from .worker import Answer

if TYPE_CHECKING:
    from .sweep import SweepResult

__all__ = ["SweepStore", "read_sweep"]

_CHUNK = 4_000_000  # bytes that are written together


class SweepStore:
    """Locked as long as the sweep runs; what it has is written down before it counts.

    Parameters
    ----------
    to : path
    identity : dict
        Of the sweep.
    check : bool
        Whether what is there must be of the same robot, task, seed and version.

    Attributes
    ----------
    before : BatchResult or None
        What is in the store.
    answers : list
        What is in the journal that a kill left.
    """

    def __init__(self, to: str | os.PathLike[str], identity: Mapping[str, Any], check: bool) -> None:
        self.path, self._identity = store_path(to), identity
        self._target = Path(os.path.realpath(self.path))
        self._lock = Lock(self.path, field="to")
        self._journal: Journal | None = None
        try:
            self.before = self._stored(check)
            self.answers: list[Answer] = []
            path = journal_of(self._target)
            if path.exists():
                there, self.answers = Journal.read(path)
                if there:
                    refuse_another(
                        there, identity, f"to = {str(self.path)!r}: {path.name} beside it is what was left of", check
                    )
                self._journal = Journal(path, identity)
        except BaseException:
            self._end()
            raise

    def _stored(self, check: bool) -> BatchResult | None:
        """What is in the store, if there is one."""
        from .zarr_store import was_set_aside

        if not (self._target.exists() or was_set_aside(self._target)):
            return None
        try:
            found = BatchResult.open(self._target)
        except ValueError as error:
            raise ValueError(
                f"to = {str(self.path)!r} is there and cannot be gone on with: {error} Choose another name."
            ) from None
        if "sweep" not in found.origin:
            raise ValueError(
                f"to = {str(self.path)!r} is there and is the result of a batch, not of a sweep. Choose another name."
            )
        refuse_another(found.origin["sweep"], self._identity, f"to = {str(self.path)!r} holds", check)
        return found

    def add(self, answers: list[Answer]) -> list[Answer]:
        """Write answers down; as they count, since not every name can be that of an array in a store."""
        if self._journal is None:
            self._journal = Journal(journal_of(self._target), self._identity)
        counted = [_storable(answer) for answer in answers]
        self._journal.add(counted)
        return counted

    def finish(self, found: SweepResult, error: StoreError | None) -> SweepResult:
        """Write the store and remove the journal. What could not be written is in `found` of the error."""
        try:
            if error is not None:
                raise error
            written = found if self._journal is None and self.before is not None else self._write(found)
        except OSError as failed:
            text = f"{failed} What was written before is in {journal_of(self._target)}: free some space and call again to go on."
            raise _with(StoreError(text), found) from failed
        stored = read_store(self.path)["arrays"] if written is found else written.arrays
        if self._journal is not None:
            self._journal.close(remove=True)
            self._journal = None
        return replace(written, arrays=stored, path=self.path)

    def _write(self, found: SweepResult) -> SweepResult:
        """The store, from arrays in memory."""
        codes, messages = found.codes.copy(), dict(found.messages)
        fields = tuple(found.about[name] for name in found.fields)
        given = {"values": (("item", "parameter"), np.ascontiguousarray(found.design.values))}
        names = {"parameter": found.design.names}
        header = header_of(found.system_name, fields, names, given, found.origin)
        chunk = max(1, min(len(found), _CHUNK // max(1, sum(f.size for f in fields))))
        store = file_store(self.path, None, fields, len(found), chunk, header, given)
        try:
            for begin in range(0, len(found), chunk):
                end = min(begin + chunk, len(found))
                store.put(begin, end, {f.name: found.arrays[f.name][begin:end] for f in fields}, codes[begin:end])
            arrays = store.finish(codes, messages)
        except BaseException:
            store.forget()
            raise
        return replace(found, arrays=arrays)

    def _end(self) -> None:
        if self._journal is not None:
            with suppress(OSError):
                self._journal.close()
        self._lock.release()

    def __enter__(self) -> SweepStore:
        """Held."""
        return self

    def __exit__(self, *_: Any) -> None:
        """Released; the journal stays if the store was not written."""
        self._end()


def _storable(answer: Answer) -> Answer:
    k, arrays, _text = answer
    trouble = "; ".join(filter(None, map(array_name_trouble, arrays or ())))
    return (k, None, f"its result cannot be stored: {trouble}") if trouble else answer


def _with(error: StoreError, found: Any) -> StoreError:
    error.found = found
    return error


def read_sweep(path: Path) -> dict[str, Any]:
    """What a `SweepResult` is made of; error if the store is of something else, or is not there yet."""
    if not path.exists() and journal_of(Path(os.path.realpath(path))).exists():
        raise FileNotFoundError(
            f"there is no file {str(path)!r} yet, but the journal of a sweep that was ended, or runs: call the sweep again, with to={str(path)!r}, to go on."
        )
    found = read_store(path)
    identity = found["origin"].get("sweep")
    if not isinstance(identity, dict):
        raise ValueError(f"{path} is the result of a batch, not of a sweep: BatchResult.open reads it.")
    try:
        found["design"] = _design(found, identity["axes"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is not the result of a sweep, or it is damaged: its items ({error}).") from None
    return found


def _design(found: dict[str, Any], axes: Any) -> Design:
    """The items of a sweep; takes them out of what belongs to a batch."""
    _dims, values = found["given"].pop("values")
    names = tuple(found["names"].pop("parameter"))
    grid = None if axes is None else tuple(np.array(axis, dtype=float) for axis in axes)
    count = len(found["codes"])
    if values.shape != (count, len(names)) or (
        grid is not None and ([a.ndim for a in grid] != [1] * len(names) or math.prod(map(len, grid)) != count)
    ):
        raise ValueError(f"{values.shape} for {count} items and {len(names)} names")
    return Design(names, values, grid)
