"""Chunks of work for an executor, of whatever kind: those whose worker is lost are given to another one, and nobody is blamed for others."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import Any, NamedTuple

from .sources import Source

__all__ = ["MOST_LOSSES", "Dispatcher", "Lost"]

MOST_LOSSES = 30  # in a row without any answer, after which nobody else is tried
_GRACE = 2.0  # seconds that answers under way are waited for, after an interrupt or when workers are gone
_LOSSES = ("KilledWorker", "WorkerLost", "FutureCancelledError", "CommClosedError", "ShutdownExecutorError")


class Lost(NamedTuple):
    """Why a chunk has no answer; `final`: it ends its worker whenever it is tried, or cannot be computed there."""

    reason: str
    final: bool


Answered = Iterator[tuple[list[int], Any]]


class Dispatcher:
    """Has chunks computed.

    Parameters
    ----------
    source : Source
    call : function of a chunk
        What is submitted: a function and its arguments.
    chunks : iterator of lists of items
    retries : int
        How many times a chunk may be lost among others. After that its items are tried alone: who is lost then is to blame.
    patience : float
        Seconds without any worker after which a cluster is given up.

    Attributes
    ----------
    gone : str
        Why there is no executor left; empty while there is one.
    """

    def __init__(
        self,
        source: Source,
        call: Callable[[list[int]], tuple[Any, ...]],
        chunks: Iterator[list[int]],
        retries: int,
        patience: float,
    ) -> None:
        self._source, self._call, self._chunks = source, call, chunks
        self._retries, self._patience = retries, patience
        self._again: deque[tuple[list[int], int]] = deque()
        self._alone: deque[list[int]] = deque()
        self._under_way: dict[Future[Any], tuple[list[int], int, Any]] = {}
        self._losses = 0  # in a row
        self.gone = ""

    def answers(self) -> Answered:
        """Answers, or `Lost`, as they come."""
        while not self.gone:
            self._submit()
            if not self._under_way:
                return
            done = wait(self._under_way, timeout=0.2, return_when=FIRST_COMPLETED).done
            if any(not _is_loss(_error_of(future)) for future in done):
                self._losses = 0
                self._source.answered()
            elif done:
                self._losses += 1
            for future in done:
                yield from self._settled(future)
            if not done and (why := self._source.trouble(self._patience)):
                self._replace(why)
            if self._losses > MOST_LOSSES:
                self._replace("")
        yield from self._given_up()

    def rest(self) -> Answered:
        """After an interrupt: answers of chunks that had begun, as far as they come soon. Threads of this process end after their item."""
        if self._source.stop is not None:
            self._source.stop.set()
        for future in self._under_way:
            future.cancel()
        for future in wait(self._under_way, timeout=None if self._source.local else _GRACE).done:
            chunk, *_ = self._under_way.pop(future)
            if _error_of(future) is None:
                yield chunk, future.result()

    def cancel(self) -> None:
        """Nothing more is wanted; whoever closes the source waits for what has begun."""
        if self._source.stop is not None:
            self._source.stop.set()
        for future in self._under_way:
            future.cancel()

    def _submit(self) -> None:
        """As many chunks as there may be under way."""
        while not self.gone and len(self._under_way) < self._source.ahead:
            if self._again:
                self._submit_one(*self._again.popleft())
            elif (chunk := next(self._chunks, None)) is not None:
                self._submit_one(chunk, 0)
            elif self._alone and not self._under_way:
                self._submit_one(self._alone.popleft(), self._retries + 1)
            else:
                return

    def _submit_one(self, chunk: list[int], tries: int) -> None:
        try:
            future = self._source.submit(self._call(chunk))
        except Exception as error:  # whatever it is, this executor takes no more
            self._again.appendleft((chunk, tries))
            self._losses += 1
            self._replace(_text(error))
            return
        self._under_way[future] = chunk, tries, self._source.executor

    def _replace(self, why: str) -> None:
        """Another executor, or none is left."""
        if self._losses > MOST_LOSSES:
            why = f"workers were lost {self._losses} times in a row, without an answer in between"
        try:
            if self._losses <= MOST_LOSSES and self._source.renew():
                return
        except Exception as error:
            why = f"{why}; and `executor` could not make another one ({_text(error)})"
        self.gone = why

    def _settled(self, future: Future[Any]) -> Answered:
        """What came of a chunk."""
        chunk, tries, executor = self._under_way.pop(future)
        error = _error_of(future)
        if error is None:
            yield chunk, future.result()
            return
        if isinstance(error, KeyboardInterrupt):
            raise error
        text = _text(error)
        if not _is_loss(error):
            yield chunk, Lost(text, final=True)
            return
        if isinstance(error, BrokenExecutor) and executor is self._source.executor:
            self._replace(text)
        if isinstance(error, (CancelledError, asyncio.CancelledError)):  # by a scheduler that went: no item is to blame
            self._again.append((chunk, tries))
        elif tries > self._retries:
            yield chunk, Lost(f"it ended its worker {tries + 1} times ({text})", final=True)
        elif tries == self._retries or type(error).__name__ == "KilledWorker":  # after several tries by Dask itself
            self._alone.extend([k] for k in chunk)
        else:
            self._again.append((chunk, tries + 1))

    def _given_up(self) -> Answered:
        """All that was under way or is to be tried again, when there is no executor left."""
        for future in wait(self._under_way, timeout=_GRACE).done:
            chunk, *_ = self._under_way.pop(future)
            yield chunk, (future.result() if _error_of(future) is None else Lost(self.gone, final=False))
        rest = [chunk for chunk, *_ in self._under_way.values()]
        self._under_way.clear()  # there is nobody who could be told to cancel them
        for chunk in (*rest, *(chunk for chunk, _tries in self._again), *self._alone):
            yield chunk, Lost(self.gone, final=False)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")[:1000]


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except (Exception, CancelledError, asyncio.CancelledError) as error:
        return error


def _is_loss(error: BaseException | None) -> bool:
    """Whether a worker was lost, rather than that it answered with an error."""
    kinds = (BrokenExecutor, CancelledError, asyncio.CancelledError, ConnectionError, EOFError)
    return isinstance(error, kinds) or any(kind.__name__ in _LOSSES for kind in type(error).__mro__)
