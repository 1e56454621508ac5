"""`Shares`: the maps of a motion's steps, which know nothing of each other, in several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from ..kernels import engine, slots
from ..kernels.solve.newton import CONVERGED
from ..system import Given
from .memory import Memory, Sizes
from .plan import Plan

__all__ = ["Shares"]

FOUND = ("maps", "stored", "swaps")  # of a lever, a row for each step; `answers` has one for each stage
LEAST = 8  # steps for which another thread is worth while


class Shares:
    """The steps of a plan, shared by threads: the first of them works in the memory of the motion itself, the others in their own.

    Parameters
    ----------
    plan : Plan
    threads : int
        At most so many.
    """

    def __init__(self, plan: Plan, threads: int) -> None:
        n = len(plan.times) - 1
        count = max(1, min(threads, n // LEAST))
        ends = [n * k // count for k in range(count + 1)]
        self.own = ends[1]  # steps of the thread that asks
        self._others = [_Share(plan, first, end) for first, end in pairwise(ends[1:])]
        self._pool = ThreadPoolExecutor(count - 1, thread_name_prefix="pliant-maps") if count > 1 else None

    def find(self, memory: Memory) -> int | None:
        """Maps of all steps of the motion in a memory; returns the number of one that has none."""
        waiting = [] if self._pool is None else [self._pool.submit(one.find, memory) for one in self._others]
        memory.p[slots.MARCH_FIRST], memory.p[slots.MARCH_BUDGET] = 0, self.own
        try:
            done = memory.run(engine.MAPS, Given()) == CONVERGED
        finally:
            failures = [future.result() for future in waiting]
        found = [int(memory.p[slots.MARCH_STEPS])] if not done else []
        found += [step for step in failures if step is not None]
        return found[0] if found else None


class _Share:
    """Some steps of a plan, with a memory of their own."""

    def __init__(self, plan: Plan, first: int, end: int) -> None:
        self.first, self.end = first, end
        self.memory = Memory(plan.system, plan.tableau, end - first, Sizes(maps=True), tolerance=plan.tolerance)

    def find(self, whole: Memory) -> int | None:
        """The maps of these steps of a motion, into its memory; returns the number of a step that has none."""
        own, first, end, s = self.memory, self.first, self.end, len(self.memory.tableau.c)
        own.take(whole.record, end - first, first)
        own.p[:] = whole.p
        own.p[slots.MARCH_FIRST], own.p[slots.MARCH_BUDGET] = 0, end - first
        if own.run(engine.MAPS, Given()) != CONVERGED:
            return first + int(own.p[slots.MARCH_STEPS])
        for name in FOUND:
            kept = getattr(own.lever, name)[: end - first]
            getattr(whole.lever, name)[first : first + len(kept)] = kept
        whole.lever.answers[first * s : end * s] = own.lever.answers
        return None
