"""Who computes the items of a sweep: an executor that was given, those that a function makes, or threads of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from ..system.processors import all_threads

__all__ = ["Source"]

_AHEAD = 256  # chunks that are submitted and not yet done, where the number of workers is not known
_LOOK = 1.0  # seconds between two looks at a cluster


class Source:
    """Executors, one after the other.

    Parameters
    ----------
    given : None, executor, Dask client, or function that makes one of these
    """

    def __init__(self, given: Any) -> None:
        self.local = given is None
        self.stop = (
            threading.Event() if self.local else None
        )  # tells the threads of this process to end after their item
        self._make: Callable[[], Any] | None = None
        self._own: Any = None
        self._watch: _Watch | None = None
        if given is None:
            self._own = self.executor = ThreadPoolExecutor(all_threads(), thread_name_prefix="pliant-sweep")
        elif hasattr(given, "submit") and not isinstance(given, type):
            self._use(given)
        elif callable(given):
            self._make = given
            self.renew()
        else:
            raise TypeError(
                f"executor = {given!r} must have a method submit, as those of concurrent.futures do, be a Dask client, or be a function that makes one."
            )

    def _use(self, given: Any) -> None:
        """Take an executor, or a Dask client as one."""
        if not hasattr(given, "submit"):
            raise TypeError(f"executor() = {given!r} must have a method submit, as those of concurrent.futures do.")
        if self._watch is not None:
            self._watch.end()
        self._watch = None
        self.executor = given
        if hasattr(given, "get_executor"):
            self.executor, self._watch = given.get_executor(pure=False), _Watch(given)

    def submit(self, call: tuple[Any, ...]) -> Future[Any]:
        """Have a function called with arguments."""
        more = () if self.stop is None else (self.stop,)
        return self.executor.submit(*call, *more)

    @property
    def ahead(self) -> int:
        """Chunks to be submitted and not yet done: enough that no worker is idle, and few are lost with a pool that breaks."""
        workers = getattr(self.executor, "_max_workers", None)
        return 2 * workers + 2 if isinstance(workers, int) and workers > 0 else _AHEAD

    def answered(self) -> None:
        """Somebody is there."""
        if self._watch is not None:
            self._watch.seen = time.monotonic()

    def trouble(self, patience: float) -> str:
        """Why no answer is to be expected; empty if one may come."""
        return "" if self._watch is None else self._watch.trouble(patience)

    def renew(self) -> bool:
        """Another executor in place of a broken one, if one can be made."""
        if self._make is None:
            return False
        self._end_own(wait=False)
        self._own = None
        self._own = self._make()
        self._use(self._own)
        return True

    def close(self) -> None:
        """End the executor, if it was made here."""
        if self._watch is not None:
            self._watch.end()
        self._end_own(wait=True)

    def _end_own(self, *, wait: bool) -> None:
        with suppress(Exception):  # one that is broken may not be able to
            if hasattr(self._own, "get_executor"):
                self._own.close()
            elif hasattr(self._own, "shutdown"):
                self._own.shutdown(wait=wait, cancel_futures=True)


class _Watch:
    """Looks in a thread of its own, since asking may take long, whether a Dask cluster has workers."""

    def __init__(self, client: Any) -> None:
        self._client, self._over = client, threading.Event()
        self._reason, self.seen = "its scheduler does not answer", time.monotonic()
        threading.Thread(target=self._look, name="pliant-sweep-watch", daemon=True).start()

    def _look(self) -> None:
        while not self._over.wait(_LOOK):
            try:
                if self._client.nthreads():
                    self.seen = time.monotonic()
                self._reason = "it has no workers"
            except Exception as error:
                self._reason = f"its scheduler does not answer ({type(error).__name__}: {str(error)[:200]})"

    def trouble(self, patience: float) -> str:
        """Why nobody computes; empty as long as it is worth waiting."""
        if getattr(self._client, "status", "") == "closed":
            return "the Dask client is closed"
        silent = time.monotonic() - self.seen
        return f"the Dask cluster has not answered for {silent:.0f} s: {self._reason}" if silent > patience else ""

    def end(self) -> None:
        """Look no more."""
        self._over.set()
