"""Which trees of a robot float freely, so that their momentum follows a law of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.layout import COL0, D_M6, D_MASS, FREE, GENERAL, KIND, PARENT, QPOS, S_BLOCK, S_INERTIA, STEP0
from ..system import System
from .drive import Drive

__all__ = ["FreeTrees", "free_trees"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class FreeTrees(NamedTuple):
    """Trees whose root is a free joint.

    Attributes
    ----------
    rows : ndarray (n, 6)
        Those on which nothing acts from outside but uniform gravity, as `kernels.solve.momentum` reads them.
    held : dict
        The others: why, by the name of the root.
    """

    rows: Ints
    held: dict[str, str]


class _Root(NamedTuple):
    """A tree with a free root."""

    row: tuple[int, ...]  # of FreeTrees.rows
    name: str
    velocities: slice


def free_trees(system: System, drive: Drive) -> FreeTrees:
    """The trees that float freely under the inputs of a run; what is not known to act inside of a tree counts as acting from outside."""
    tables = system.tables
    block = tables.block
    tree = np.zeros(len(block), dtype=np.int64)  # of each block: its root
    for b, parent in enumerate(block[:, PARENT].tolist()):
        tree[b] = b if parent < 0 else tree[parent]
    of_step = np.append(tree[tables.step[:, S_BLOCK]], -1)  # the last is the world
    reasons = _reasons(system, of_step)
    rows, held = [], {}
    for b in np.flatnonzero((block[:, PARENT] < 0) & (block[:, KIND] == FREE)).tolist():
        root = _root(system, of_step, b)
        why = reasons.get(b) or reasons.get(-1) or _joint(system, drive, root) or _inertia(system, of_step == b)
        if why:
            held[root.name] = why
        else:
            rows.append(root.row)
    return FreeTrees(np.array(rows, dtype=np.int64).reshape(-1, 6), held)


def _root(system: System, of_step: Ints, b: int) -> _Root:
    """Where the tree with the root block b is."""
    tables = system.tables
    steps = np.flatnonzero(of_step == b)
    row = tables.block[b]
    v = int(tables.col_v[row[COL0]])
    place = (int(steps[0]), int(steps[-1]) + 1, b, int(row[STEP0]), v, int(row[QPOS]))
    name = next(name for name in system.links if system.v_slice(name).start == v)
    return _Root(place, name, slice(v, v + 6))


def _reasons(system: System, of_step: Ints) -> dict[int, str]:
    """What acts on trees from outside, by their root blocks; −1 for what may act on any."""
    out: dict[int, str] = {}
    for family in system.families:
        tables: Any = system.loads[family.name]
        if not family.present(tables):
            continue
        pairs = family.between(tables)
        if pairs is None:
            out.setdefault(-1, f"{family.name} may act on it")
            continue
        for a, b in of_step[pairs].tolist():
            if a != b:
                for one in (a, b):
                    if one >= 0:
                        out.setdefault(one, f"{family.name} act on it from outside")
    return out


def _joint(system: System, drive: Drive, root: _Root) -> str:
    """What acts on the free joint itself; "" if nothing does."""
    internal, own = system.internal, root.velocities
    if np.any(system.known[own]):
        return "its motion is prescribed"
    entries = slice(internal.start[own.start], internal.start[own.stop])
    sprung = own.start in internal.springs[:, 1]
    if sprung or np.any(internal.stiffness[entries]) or np.any(internal.damping[entries]):
        return "its free joint has a spring or a damper"
    driven = system.efforts.place[:, 1]
    if np.any((driven >= own.start) & (driven < own.stop)):
        return "motors act on its free joint"
    if drive.forces_on(own):
        return "tau acts on its free joint"
    return ""


def _inertia(system: System, steps: NDArray[np.bool_]) -> str:
    """Whether momentum is mass times velocity of the centre; "" if so."""
    tables = system.tables
    general = steps[:-1] & (tables.step[:, S_INERTIA] == GENERAL)
    M = tables.data[general, D_M6:].reshape(-1, 6, 6)
    m = tables.data[general, D_MASS][:, None, None]
    away = np.abs(M[:, 3:, 3:] - m * np.eye(3)).max(initial=0.0, axis=(1, 2))
    skew = M[:, :3, 3:] + np.transpose(M[:, :3, 3:], (0, 2, 1))
    uneven = np.abs(skew).max(initial=0.0, axis=(1, 2))
    size = np.abs(M).max(initial=0.0, axis=(1, 2))
    return "its inertia is not that of bodies" if np.any(away + uneven > 1e-12 * size) else ""
