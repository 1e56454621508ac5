"""Checkpoints: the result so far, saved now and then, without ever risking the run or the last good file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ..model.validate import non_negative
from .crawl import Progress
from .result import Result
from .storage import check_result_path

__all__ = ["Checkpoint"]


class Checkpoint:
    """Saves a result to a file every `interval` seconds of wall time; does nothing without a path."""

    def __init__(self, path: str | os.PathLike[str] | None, interval: object, progress: Progress) -> None:
        if path is not None:
            check_result_path(path, field="checkpoint")
        self.path = None if path is None else Path(path).absolute()  # a function of the user may change the folder
        self.interval = non_negative("checkpoint_interval", interval, unit="s")
        self.progress = progress
        self.failed: list[str] = []
        self._last = time.perf_counter()

    @property
    def due(self) -> float:
        """Seconds between two checkpoints; none without a file."""
        return self.interval if self.path is not None else float("inf")

    def save(self, result: Callable[[], Result]) -> None:
        """Save if it is time; a disk that fails is noted, and tried again next time."""
        if self.path is None or time.perf_counter() - self._last < self.interval:
            return
        try:
            result().save(self.path)
        except Exception as error:  # whatever it is, the run is worth more
            if not self.failed:
                self.progress.say(
                    f"checkpoint {str(self.path)!r} could not be written ({error}); the last good one is kept, and the run goes on."
                )
            self.failed.append(str(error))
        self._last = time.perf_counter()

    def notes(self) -> list[str]:
        """What failed, as sentences."""
        if not self.failed:
            return []
        return [
            f"The checkpoint {str(self.path)!r} could not be written {len(self.failed)} time(s), the last time because of: "
            f"{self.failed[-1]}. The file holds the last good one, if there was any."
        ]
