"""The robots of a batch: one, or one for each set of parameters."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system import System
from .items import Refusals, said

__all__ = ["Group", "Robots"]

Array = NDArray[np.float64]
_KEPT = 64  # systems that are remembered


class Group(NamedTuple):
    """Items of a chunk that have the same robot."""

    system: System
    items: NDArray[np.int64]  # their numbers in the chunk


class Robots:
    """A system, and those with other parameters for each item.

    Parameters
    ----------
    system : System
    names : tuple of str
        Of parameters.
    values : array (m or 1, n)
    """

    def __init__(self, system: System, names: tuple[str, ...], values: Array) -> None:
        self.system, self.names, self.values = system, names, values
        self._kept: dict[bytes, System | str] = {}
        self._lock = threading.Lock()

    @property
    def single(self) -> bool:
        """Whether all items have the robot as it is."""
        return not self.names

    def _with(self, row: Array) -> System | str:
        """The system of a row, or why there is none."""
        key = row.tobytes()
        found = self._kept.get(key)
        if found is None:
            made: list[System] = []
            values = dict(zip(self.names, row.tolist()))
            why = said(lambda: made.append(self.system.with_parameters(values)))
            found = made[0] if made else why or "these parameters are not possible"
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def of(self, begin: int, items: NDArray[np.int64]) -> tuple[list[System], NDArray[np.int64], Refusals]:
        """Systems of some items of a chunk that begins at `begin`: one if it is that of all, else one for each; the items that have one, why others do not."""
        if self.single:
            return [self.system], items, {}
        systems: list[System] = []
        good: list[int] = []
        refused: Refusals = {}
        with self._lock:  # to make tables is Python: threads that do it at once only take turns, and longer
            found = [self._with(self.values[begin + k if len(self.values) > 1 else 0]) for k in items.tolist()]
        for k, one in zip(items.tolist(), found):
            if isinstance(one, str):
                refused[k] = one
            else:
                systems.append(one)
                good.append(k)
        return systems, np.array(good, dtype=np.int64), refused


def grouped(systems: Sequence[System], items: NDArray[np.int64]) -> Iterator[Group]:
    """Neighbours that have the same robot, together."""
    if len(systems) == 1:
        if len(items):
            yield Group(systems[0], items)
        return
    first = 0
    for k in range(1, len(items) + 1):
        if k == len(items) or systems[k] is not systems[first]:
            yield Group(systems[first], items[first:k])
            first = k
