"""Equilibria of many inputs in rounds: each starts from the nearest one that is known, and along its derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system.many import slopes_many
from .batch import Batch
from .found import BatchResult
from .pool import OK

__all__ = ["equilibria_in_rounds"]

Array = NDArray[np.float64]
FIRST, GROWTH = 64, 8  # equilibria of the first round, and how many more each round begins from


class _Gathered:
    """Results of rounds, in the places of their items."""

    def __init__(self, jobs: Batch, U: Array) -> None:
        self._jobs, self._U = jobs, U
        self._like = jobs.statics(U[:0])
        fields = self._like.about.values()
        self._arrays = {f.name: np.full((len(U), *f.shape), f.nothing, dtype=f.kind) for f in fields}
        self._codes = np.zeros(len(U), dtype=np.int8)
        self._messages: dict[int, str] = {}
        self._warnings: dict[str, None] = {}
        self._seconds = 0.0
        self.interrupted = False

    @property
    def q(self) -> Array:
        """Coordinates (m, nq)."""
        return self._arrays["q"]

    @property
    def good(self) -> NDArray[np.int64]:
        """Items that have an equilibrium."""
        return np.flatnonzero(self._codes == OK)

    def solve(self, items: NDArray[np.int64], start: Any) -> None:
        """Look for the equilibria of some items."""
        part = self._jobs.statics(self._U[items], start=start)
        for name, array in part.arrays.items():
            self._arrays[name][items] = array
        self._codes[items] = part.codes
        for k in items.tolist():
            self._messages.pop(k, None)
        self._messages |= {int(items[k]): text for k, text in part.messages.items()}
        self._warnings |= dict.fromkeys(part.warnings)
        self._seconds += part.seconds
        self.interrupted = self.interrupted or part.interrupted

    def result(self) -> BatchResult:
        """All of them."""
        return replace(
            self._like, arrays=self._arrays, codes=self._codes, messages=self._messages, seconds=self._seconds, interrupted=self.interrupted,
            warnings=tuple(self._warnings), given={"u": (("item", "input"), self._U)},
        )  # fmt: skip


def equilibria_in_rounds(
    jobs: Batch, U: Array, columns: list[int], start: Any, order: NDArray[np.int64]
) -> BatchResult:
    """Equilibria of inputs U (m, nu), of which some `columns` vary; the first round begins at `start`, and takes items in the `order` (m,)."""
    from scipy.spatial import cKDTree

    size = np.ptp(U[:, columns], axis=0)
    place = U[:, columns] / np.where(size > 0, size, 1.0)
    found, done = _Gathered(jobs, U), 0
    while done < len(U) and not found.interrupted:
        items = order[done : max(FIRST, GROWTH * done)]
        done += len(items)
        known = found.good
        if not len(known):
            found.solve(items, start)
            continue
        near = np.asarray(cKDTree(place[known]).query(place[items])[1], dtype=np.int64)
        begin = found.q[known[near]]
        found.solve(items, _predicted(jobs, found.q[known], U[known], near, U[items]))
        astray = ~np.isin(items, found.good)  # perhaps by the prediction
        if astray.any() and not found.interrupted:
            found.solve(items[astray], begin[astray])
    return found.result()


def _predicted(jobs: Batch, q: Array, u: Array, near: NDArray[np.int64], target: Array) -> Array:
    """Coordinates for the inputs `target` (k, nu), from the equilibria with numbers `near` (k,) along their derivatives."""
    system = jobs.system
    if system.nq != system.nv or system.loop_rows:
        return q[near]
    used = np.unique(near)
    slopes = np.zeros((len(used), system.nv, system.nu))
    for first in range(0, len(used), 1024):
        part = used[first : first + 1024]
        found, well, _definite = slopes_many([system], q[part], u[part])
        slopes[first : first + 1024][well] = found[well]
    at = np.searchsorted(used, near)
    return np.asarray(q[near] + np.einsum("kij,kj->ki", slopes[at], target - u[near]))
