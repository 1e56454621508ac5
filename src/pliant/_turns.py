"""One thread at a time: what moves on by being called cannot be called by two threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

__all__ = ["Turn", "alone"]

P = ParamSpec("P")
R = TypeVar("R")


class Turn:
    """Whose turn it is; the same thread may enter again. A copy, or what comes out of a pickle, has a turn of its own."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Nothing is kept."""
        return (Turn, ())


class _Taken(Protocol):
    _turn: Turn


S = TypeVar("S", bound=_Taken)


def alone(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that changes its object: a second thread is refused while one is in it, or in another such method of the same object."""

    @wraps(method)
    def guarded(self: S, *args: P.args, **options: P.kwargs) -> R:
        lock = self._turn.lock
        if not lock.acquire(blocking=False):
            kind = type(self).__name__
            raise RuntimeError(
                f"{kind}.{method.__name__} was called while another thread is at work on the same {kind}: what it knows would be mixed up. Give each "
                "thread one of its own (they may share the System), or let one thread make all calls."
            )
        try:
            return method(self, *args, **options)
        finally:
            lock.release()

    return guarded
