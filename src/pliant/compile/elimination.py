"""Which unknowns each block of a tree eliminates, and when that is worth it: the tables of `kernels.solve.fronts`.

The two ways to solve a tree's linear systems are compared by a cost model, in nanoseconds, with coefficients that were fitted
to `benchmarks/algorithms.py`: a dense matrix costs nv² to write and nv³ to factor, a front its own elimination and
some bookkeeping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import layout
from ..kernels.layout import Tables
from ..kernels.loads.efforts import E_V, Efforts
from ..kernels.loads.internal import Internal
from ..kernels.loads.tendons import N_V, Tendons, acting
from ..kernels.solve import fronts as layout_of
from ..kernels.solve.fronts import Fronts

__all__ = ["Elimination", "plan_elimination"]

Ints = NDArray[np.int64]


class Cost(NamedTuple):
    """Coefficients of the cost model [ns]: dense nv² and nv³, per front, per multiplication in a front."""

    write: float
    factor: float
    front: float
    multiply: float


MASS_COST = Cost(write=1.0, factor=0.04, front=350.0, multiply=0.38)
STEP_COST = Cost(write=2.0, factor=0.04, front=190.0, multiply=0.25)
# in statics a shift is another pass along the tree, but only another factorisation of a dense matrix
REST_COST = Cost(write=2.0, factor=0.02, front=1500.0, multiply=2.0)


@dataclass(frozen=True)
class Elimination:
    """The tables of the elimination and when to use it instead of dense factors."""

    fronts: Fronts
    local: bool  # whether all forces on coordinates act within a front, as the implicit step needs
    for_mass: bool  # whether the articulated-body algorithm beats a dense mass matrix
    for_step: bool  # whether eliminating the tree beats dense factors in an implicit step
    for_rest: bool  # the same in statics


class _Plan:
    """Fronts of all blocks, found from the tips to the base."""

    def __init__(self, tables: Tables) -> None:
        self.parent = tables.block[:, layout.PARENT]
        first, count = tables.block[:, layout.COL0], tables.block[:, layout.COLS]
        self.own: list[list[int]] = [tables.col_v[a : a + n].tolist() for a, n in zip(first, count)]
        blocks = len(self.own)
        self.top = np.full(int(tables.col_v.max()) + 1, blocks)
        for b in range(blocks - 1, -1, -1):
            self.top[self.own[b]] = b
        self.eliminated: list[list[int]] = [[] for _ in range(blocks)]
        self.retained: list[list[int]] = [[] for _ in range(blocks)]
        extra: list[list[int]] = [[] for _ in range(blocks)]
        for b in range(blocks - 1, -1, -1):
            unknowns = list(dict.fromkeys([*self.own[b], *extra[b]]))
            self.eliminated[b] = [v for v in unknowns if self.top[v] == b]
            self.retained[b] = [v for v in unknowns if self.top[v] < b]
            if self.retained[b]:
                extra[self.parent[b]] += self.retained[b]
        self.unknowns = [e + r for e, r in zip(self.eliminated, self.retained)]
        self.members = [set(u) for u in self.unknowns]
        self.fronts_of: list[list[int]] = [[] for _ in self.top]
        for b, unknowns in enumerate(self.unknowns):
            for v in unknowns:
                self.fronts_of[v].append(b)

    def home(self, velocities: list[int]) -> int:
        """The front nearest to the tip that holds all these unknowns, or −1."""
        for b in reversed(self.fronts_of[velocities[0]]):
            if self.members[b].issuperset(velocities):
                return b
        return -1

    def home_of_own(self, velocities: list[int]) -> int:
        """A block that has all these unknowns as its own columns, or −1."""
        for b in reversed(self.fronts_of[velocities[0]]):
            if set(self.own[b]).issuperset(velocities):
                return b
        return -1


def _line_homes(plan: _Plan, tendons: Tendons) -> Ints:
    """The block that each node of tendons acts on."""
    homes = np.zeros(len(tendons.node), dtype=np.int64)
    for k, row in enumerate(tendons.node):
        which, _components, values = acting(tendons, k)
        v0 = int(row[N_V])
        acts = (v0 + which[values != 0.0]).tolist() or [v0]
        homes[k] = plan.home_of_own(acts)
    return homes


def plan_elimination(tables: Tables, internal: Internal, tendons: Tendons, efforts: Efforts) -> Elimination:
    """Plan the elimination of a robot."""
    rows = np.repeat(np.arange(len(internal.start) - 1), np.diff(internal.start))
    pairs = np.column_stack([rows, internal.column]).astype(np.int64)
    plan = _Plan(tables)
    blocks = len(plan.own)
    m = np.array([len(u) for u in plan.unknowns], dtype=np.int64)
    e = np.array([len(u) for u in plan.eliminated], dtype=np.int64)
    place = [{v: k for k, v in enumerate(u)} for u in plan.unknowns]
    front = np.full((blocks, layout_of.FRONT_WIDTH), -1, dtype=np.int64)
    front[:, layout_of.UNKNOWNS], front[:, layout_of.ELIMINATED] = m, e
    height = m + int(layout_of.CARRIED) + tables.block[:, layout.COLS] + 1
    front[:, layout_of.ROW] = np.cumsum(height) - height
    front[:, layout_of.INDEX] = np.cumsum(m) - m
    front[:, layout_of.PIVOT] = np.cumsum(e) - e
    front[:, layout_of.ABOVE] = plan.parent
    up: list[int] = []
    for b in range(blocks):
        p = plan.parent[b]
        up += [place[p][v] if k >= e[b] else -1 for k, v in enumerate(plan.unknowns[b])]
        if m[b] > e[b]:
            front[b, layout_of.NEXT] = front[p, layout_of.CHILD]
            front[p, layout_of.CHILD] = b

    def entry(i: int, j: int) -> tuple[int, int]:
        b = plan.home([i, j])
        return (-1, -1) if b < 0 else (int(front[b, layout_of.ROW]) + place[b][i], place[b][j])

    entries = np.array([entry(int(i), int(j)) for i, j in pairs], dtype=np.int64).reshape(-1, 2)
    driven = np.array([entry(int(v), int(v)) for v in efforts.place[:, E_V]], dtype=np.int64).reshape(-1, 2)
    lines = _line_homes(plan, tendons)
    width = int(m.max() + layout_of.MOTION + 1)
    total = int(height.sum())
    tables_of = Fronts(
        front=front,
        velocity=np.array([v for u in plan.unknowns for v in u], dtype=np.int64),
        up=np.array(up, dtype=np.int64),
        own=np.array([place[b][v] for b, own in enumerate(plan.own) for v in own], dtype=np.int64),
        entry=entries,
        effort=driven,
        spring=np.array([plan.top[v0] for _q0, v0, _free in internal.springs], dtype=np.int64),
        line=lines,
        # never square, which would mean a dense matrix
        size=np.array([total + (total == width), width], dtype=np.int64),
    )
    nv = float(len(internal.start) - 1)
    return Elimination(
        fronts=tables_of,
        local=bool(np.all(entries >= 0) and np.all(driven >= 0) and np.all(lines >= 0)),
        for_mass=bool(_tree_cost(MASS_COST, m, e, 6.0) < _dense_cost(MASS_COST, nv)),
        for_step=bool(_tree_cost(STEP_COST, m, e, 12.0) < _dense_cost(STEP_COST, nv)),
        for_rest=bool(_tree_cost(REST_COST, m, e, 6.0) < _dense_cost(REST_COST, nv)),
    )


def _tree_cost(cost: Cost, m: Ints, e: Ints, motion: float) -> float:
    return float(cost.front * len(m) + cost.multiply * np.sum(e * (m + 6.0) * (m + motion)))


def _dense_cost(cost: Cost, nv: float) -> float:
    return cost.write * nv**2 + cost.factor * nv**3
