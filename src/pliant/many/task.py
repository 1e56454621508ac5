"""What a batch is to compute: its arrays, its items, and the function of a chunk; and how it is carried out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory
from ..solve.identity import digest
from ..system import System
from .found import BatchResult
from .items import Refusals
from .pool import AHEAD, FAILED, OK, REFUSED, STATUS, Done, run_chunks
from .robots import Robots
from .stores import Field, StoreError, Window, open_store

__all__ = ["Chunk", "Options", "Task", "carry_out", "chunk_size", "header_of", "origin_of"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Options:
    """How a batch is run: see `batch`."""

    threads: int
    progress: bool | None
    memory: float | None
    to: str | os.PathLike[str] | None


@dataclass(frozen=True)
class Chunk:
    """Items from `begin` on that are computed together, in one thread."""

    begin: int
    window: Window
    status: NDArray[np.int8]
    messages: dict[int, str]

    def rows(self, array: NDArray[Any], items: Indices) -> NDArray[Any]:
        """Rows of an array (m or 1, …) for some items of the chunk: one if it is for all."""
        return array if len(array) == 1 else array[self.begin + items]

    @contextmanager
    def catching(self, k: int) -> Iterator[None]:
        """What is raised within the block is told with item k."""
        try:
            yield
        except Exception as error:  # whatever it is: others go on
            self.fail(k, str(error.args[0]) if error.args else type(error).__name__)

    def fail(self, k: int, message: str) -> None:
        """Item k is not well."""
        self.status[k] = FAILED
        self.messages[int(k)] = message


@dataclass(frozen=True)
class Task:
    """What is to be computed.

    Attributes
    ----------
    robots : Robots
    count : int
        Items.
    fields : tuple of Field
    compute : function of (systems, items, chunk)
        Writes results of some items of a chunk, by number, into its window; `systems` is one for all or one for each.
    size : int
        Items in a chunk, so that it takes some hundredths of a second.
    refused : dict
        Items that are not computed, and why.
    names : dict
        Names along dimensions.
    given : dict
        Dimensions and array of what items were given, by name.
    """

    robots: Robots
    count: int
    fields: tuple[Field, ...]
    compute: Callable[[list[System], Indices, Chunk], None]
    size: int
    refused: Refusals = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: Mapping[str, tuple[tuple[str, ...], NDArray[np.float64]]] = field(default_factory=dict)

    def work(self, begin: int, end: int, window: Window) -> Done:
        """Compute a chunk."""
        chunk = Chunk(begin, window, np.full(end - begin, OK, dtype=np.int8), {})
        for f in self.fields:
            window[f.name][...] = f.nothing
        refused = {k - begin: self.refused[k] for k in range(begin, end) if k in self.refused} if self.refused else {}
        items = np.array([k for k in range(end - begin) if k not in refused], dtype=np.int64)
        systems, items, without = self.robots.of(begin, items)
        for k, text in (refused | without).items():
            chunk.status[k], chunk.messages[k] = REFUSED, text
        if len(items):
            self.compute(systems, items, chunk)
        return Done(chunk.status, chunk.messages)


def chunk_size(usual: int, system: System) -> int:
    """Items in a chunk, if so many are usual for a robot of 24 degrees of freedom: work grows with the square of their number, or faster."""
    return max(1, int(usual * min(1.0, (24 / max(system.nv, 1)) ** 2)))


def origin_of(system: System) -> dict[str, Any]:
    """Which robot and version a result is of."""
    from .. import __version__

    return {"pliant": __version__, "robot": digest(system)}


def header_of(
    name: str,
    fields: Iterable[Field],
    names: Mapping[str, tuple[str, ...]],
    given: Mapping[str, tuple[tuple[str, ...], Any]],
    origin: Mapping[str, Any],
) -> dict[str, Any]:
    """What a store says of its result, see `Contents`."""
    return {
        "system": name,
        "status": list(STATUS),
        "fields": [f.name for f in fields],
        "names": {dim: list(labels) for dim, labels in names.items()},
        "given": {name: list(dims) for name, (dims, _values) in given.items()},
        "about": dict(origin),
    }


def carry_out(task: Task, options: Options) -> BatchResult:
    """Compute all items and gather them; error with what was stored if the disk is full."""
    item = max(1, sum(f.size for f in task.fields))
    budget = 0.5 * free_memory() if options.memory is None else options.memory
    under_way = AHEAD * options.threads + 1  # chunks that exist at the same time
    chunk = max(1, min(task.size, -(-task.count // (4 * options.threads)), int(budget / under_way / item)))
    origin = origin_of(task.robots.system)
    fields = {f.name: f for f in task.fields}
    given = {name: found for name, found in task.given.items() if name not in fields}
    header = header_of(task.robots.system.name, task.fields, task.names, given, origin)
    store = open_store(options.to, task.fields, task.count, chunk, budget, header, given)
    try:
        outcome = run_chunks(task.work, task.count, chunk, options.threads, store, options.progress)
    except BaseException:
        store.forget()
        raise
    try:
        arrays = store.finish(outcome.status, outcome.messages)
    except StoreError:
        store.forget()
        raise
    found = BatchResult(
        task.robots.system.name, arrays, fields, task.names, task.given, outcome.status, outcome.messages, outcome.seconds,
        outcome.interrupted, path=store.path, origin=origin,
    )  # fmt: skip
    if outcome.error is not None:
        done = int(np.count_nonzero(outcome.status))
        text = (
            f"{outcome.error} {done} of {task.count} items are in {store.path}. Free some space, or use another disk."
        )
        raise _with_result(text, found) from outcome.error
    return found


def _with_result(text: str, found: BatchResult) -> StoreError:
    error = StoreError(text)
    error.found = found
    return error
