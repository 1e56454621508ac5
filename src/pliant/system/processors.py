"""How many processors there are for threads."""

from __future__ import annotations

import os

__all__ = ["all_threads"]


def all_threads() -> int:
    """Processors that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
