"""Chunks of work for an executor, of whatever kind: those whose worker is lost are given to another one, and nobody is blamed for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from ..system.processors import all_threads

__all__ = ["Lost", "Source", "dispatch"]

AHEAD = 256  # chunks that are submitted and not yet done
_LOSSES = ("KilledWorker", "WorkerLost", "FutureCancelledError", "CommClosedError", "ShutdownExecutorError")


class Lost(NamedTuple):
    """Why a chunk has no answer; `final`: it ends its worker whenever it is tried, or cannot be computed there."""

    reason: str
    final: bool


class Source:
    """Executors: one that was given, those that a function makes, or threads of this process."""

    def __init__(self, given: Any) -> None:
        self.local = given is None
        self._make: Callable[[], Any] | None = None
        self._own: Any = None
        if given is None:
            self._own = self.executor = ThreadPoolExecutor(all_threads(), thread_name_prefix="pliant-sweep")
        elif hasattr(given, "submit") and not isinstance(given, type):
            self.executor = _plain(given)
        elif callable(given):
            self._make = given
            self.renew()
        else:
            raise TypeError(
                f"executor = {given!r} must have a method submit, as those of concurrent.futures do, be a Dask client, or be a function that makes one."
            )

    def renew(self) -> bool:
        """Another executor in place of a broken one, if one can be made."""
        if self._make is None:
            return False
        self._own = self._make()
        if not hasattr(self._own, "submit"):
            raise TypeError(f"executor() = {self._own!r} must have a method submit, as those of concurrent.futures do.")
        self.executor = _plain(self._own)
        return True

    def close(self) -> None:
        """End the executor, if it was made here."""
        if self._own is not None and hasattr(self._own, "shutdown"):
            self._own.shutdown(wait=True, cancel_futures=True)


def _plain(given: Any) -> Any:
    """A Dask client as an executor of concurrent.futures; others as they are."""
    return given.get_executor(pure=False) if hasattr(given, "get_executor") else given


def dispatch(
    source: Source, call: Callable[[list[int]], tuple[Any, ...]], chunks: Iterator[list[int]], retries: int
) -> Generator[tuple[list[int], Any], None, None]:
    """Have chunks computed; answers, or `Lost`, as they come.

    Parameters
    ----------
    source : Source
    call : function of a chunk
        What is submitted: a function and its arguments.
    chunks : iterator of lists of items
    retries : int
        How many times a chunk may be lost among others. After that its items are tried alone: who is lost then is to blame.
    """
    again: deque[tuple[list[int], int]] = deque()
    alone: deque[list[int]] = deque()
    under_way: dict[Future[Any], tuple[list[int], int, Any]] = {}
    gone = False  # whether there is no executor left

    def submit(chunk: list[int], tries: int) -> None:
        try:
            future = source.executor.submit(*call(chunk))
        except (BrokenExecutor, RuntimeError) as error:
            future = Future()
            future.set_exception(error if isinstance(error, BrokenExecutor) else BrokenExecutor(str(error)))
        under_way[future] = chunk, tries, source.executor

    try:
        while True:
            while not gone and len(under_way) < AHEAD:
                if again:
                    submit(*again.popleft())
                elif (chunk := next(chunks, None)) is not None:
                    submit(chunk, 0)
                elif alone and not under_way:
                    submit(alone.popleft(), retries + 1)
                else:
                    break
            if not under_way:
                return
            for future in wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED).done:
                chunk, tries, executor = under_way.pop(future)
                error = _error_of(future)
                if error is None:
                    yield chunk, future.result()
                    continue
                text = f"{type(error).__name__}: {error}".rstrip(": ")
                if not _is_loss(error):
                    yield chunk, Lost(text, final=True)
                    continue
                if isinstance(error, BrokenExecutor) and executor is source.executor and not source.renew():
                    gone = True
                if gone:
                    yield chunk, Lost(text, final=False)
                elif tries > retries:
                    yield chunk, Lost(f"it ended its worker {tries + 1} times ({text})", final=True)
                elif tries == retries:
                    alone.extend([k] for k in chunk)
                else:
                    again.append((chunk, tries + 1))
    finally:
        for future in under_way:
            future.cancel()
        source.close()


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _is_loss(error: BaseException) -> bool:
    """Whether a worker was lost, rather than that it answered with an error."""
    return isinstance(error, (BrokenExecutor, CancelledError, ConnectionError, EOFError)) or any(
        kind.__name__ in _LOSSES for kind in type(error).__mro__
    )
