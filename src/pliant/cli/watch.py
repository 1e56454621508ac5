"""Run a command again whenever its model file is saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from .terminal import say

__all__ = ["watch"]

_EVERY = 0.3  # s between looks at the file


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None while there is none (some editors replace it)."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def watch(path: Path, run: Callable[[], int], *, wait: Callable[[float], None] = time.sleep) -> int:
    """Run now and after each change of the file, until Ctrl-C; what was wrong is told and does not end it.

    Parameters
    ----------
    path : Path
    run : function
        Runs once and gives an exit code; it tells what is wrong by itself.
    wait : function of seconds
        How to pass the time between looks.

    Returns
    -------
    int
        The exit code of the last run.
    """
    seen, code = _stamp(path), run()
    try:
        while True:
            say(f"-- waiting for {path} to be saved; Ctrl-C ends", error=True)
            while (now := _stamp(path)) is None or now == seen:
                wait(_EVERY)
            seen = now
            code = run()
    except KeyboardInterrupt:
        return code
