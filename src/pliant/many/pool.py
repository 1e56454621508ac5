"""The loop over the items of a batch: chunks for the threads of a pool, progress, Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .stores import MOST_MESSAGES, Store, StoreError, Window

__all__ = ["STATUS", "Done", "Line", "Outcome", "run_chunks"]

STATUS = ("pending", "ok", "failed", "refused")
PENDING, OK, FAILED, REFUSED = (np.int8(k) for k in range(len(STATUS)))
AHEAD = 2  # chunks for each thread that are under way or wait, so that none is idle and memory is bounded


class Done(NamedTuple):
    """What became of the items of a chunk."""

    status: NDArray[np.int8]
    messages: dict[int, str]  # by number within the chunk, for those that are not well


class Outcome(NamedTuple):
    """What became of all items."""

    status: NDArray[np.int8]  # (m,)
    messages: dict[int, str]
    interrupted: bool
    seconds: float
    error: StoreError | None = None


Work = Callable[[int, int, Window], Done]


class Line:
    """One line on stderr: how many items are done, how fast, how long it takes; silent when that is no terminal."""

    def __init__(self, wanted: bool | None, total: int) -> None:
        self._active = sys.stderr.isatty() if wanted is None else wanted
        self._total, self._start, self._last, self._shown = total, time.perf_counter(), 0.0, False

    def show(self, done: int, *, last: bool = False) -> None:
        """Update, at most ten times a second."""
        now = time.perf_counter()
        if not self._active or (now - self._last < 0.1 and not last):
            return
        self._last, self._shown = now, True
        rate = done / max(now - self._start, 1e-9)
        left = (self._total - done) / rate if rate > 0 else 0.0
        bar = "█" * int(24 * done / max(self._total, 1))
        print(
            f"\r{bar:24} {done} / {self._total} items  {rate:.3g}/s  {left:.0f} s left ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        """End the line."""
        if self._shown:
            print(file=sys.stderr, flush=True)


def run_chunks(work: Work, count: int, chunk: int, threads: int, store: Store, progress: bool | None) -> Outcome:
    """Do all items in chunks.

    Parameters
    ----------
    work : function of (begin, end, window)
        Computes items from `begin` to `end`, writes them into the arrays of the window, and returns a `Done`. Called in several threads.
    count, chunk, threads : int
    store : Store
    progress : bool or None

    Notes
    -----
    Ctrl-C lets chunks that are under way come to their end; a second one does not wait for them.
    """
    status = np.zeros(count, dtype=np.int8)
    messages: dict[int, str] = {}
    line, start = Line(progress, count), time.perf_counter()
    interrupted, error, done = False, None, 0
    spans = ((begin, min(begin + chunk, count)) for begin in range(0, count, chunk))

    def one(span: tuple[int, int]) -> tuple[tuple[int, int], Window, Done]:
        window = store.window(*span)
        return span, window, work(*span, window)

    chunks = _in_order(one, spans, threads)
    try:
        for (begin, end), window, found in chunks:
            store.put(begin, end, window, found.status)
            status[begin:end] = found.status
            for k, text in found.messages.items():
                if len(messages) < MOST_MESSAGES:
                    messages[begin + k] = text
            done += end - begin
            line.show(done, last=done == count)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as failed:
        error = failed
    finally:
        chunks.close()
        line.close()
    return Outcome(status, messages, interrupted, time.perf_counter() - start, error)


Ready = tuple[tuple[int, int], Window, Done]


def _in_order(
    one: Callable[[tuple[int, int]], Ready], spans: Iterator[tuple[int, int]], threads: int
) -> Generator[Ready, None, None]:
    """Results of chunks as they come, from a pool of threads or from this one."""
    if threads == 1:
        yield from map(one, spans)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="pliant-batch")
    under_way: set[Future[Ready]] = set()
    stopped: BaseException | None = None
    try:
        while True:
            while len(under_way) < AHEAD * threads and (span := next(spans, None)) is not None:
                under_way.add(pool.submit(one, span))
            if not under_way:
                return
            ready, under_way = wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in sorted(ready, key=lambda f: f.result()[0]):
                yield future.result()
    except KeyboardInterrupt as signal:
        stopped = signal
    finally:
        for future in under_way:
            future.cancel()
        pool.shutdown(cancel_futures=True)  # and wait: they write into arrays that somebody else will read
    for future in under_way:  # those that had begun
        if not future.cancelled():
            yield future.result()
    raise stopped
