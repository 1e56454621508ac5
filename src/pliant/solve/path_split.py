"""What loops, prescribed joints and a held coordinate leave of the equations of statics: the rest is what continuation solves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..system import System
from ..system.forces import free_rows, independent

__all__ = ["Split", "carrying_rows", "split"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Scaled directions at a configuration, split into those that keep loops closed and those that close them.

    Attributes
    ----------
    free : ndarray (f,), int
        Velocity coordinates that are neither prescribed nor held.
    kept : ndarray (rows,), bool
        Constraints that carry forces; the others follow from them.
    values : ndarray (rows,)
        How far loops are from closed.
    G : ndarray (kept rows, nv)
        Derivatives of those that are kept, in scaled coordinates.
    across : ndarray (f, kept rows)
        Orthonormal directions that open loops: ``G[:, free].T = across @ R``.
    R : ndarray (kept rows, kept rows)
        Upper triangular.
    Z : ndarray (f, f − kept rows)
        Orthonormal directions that keep them closed.
    """

    free: NDArray[np.int64]
    kept: NDArray[np.bool_]
    values: Array
    G: Array
    across: Array
    R: Array
    Z: Array

    @property
    def gap(self) -> float:
        """Largest distance of any constraint from closed."""
        return float(np.max(np.abs(self.values), initial=0.0))

    @property
    def opening(self) -> Array:
        """Scaled displacement (kept rows,) along `across` that has opened the loops."""
        return self._lift(self.values[self.kept])

    def multipliers(self, r: Array) -> Array:
        """Forces of loops (rows,) that balance a scaled residual (nv,) best; redundant constraints carry none."""
        out = np.zeros(len(self.kept))
        out[self.kept] = np.linalg.solve(self.R, self.across.T @ r[self.free])
        return out

    def beyond(self, X: Array, k: int) -> Array:
        """Row k of X (nv, ...), scaled forces, without what goes through the loops in it."""
        return np.asarray(X[k] - self._lift(self.G[:, k]) @ (self.across.T @ X[self.free]), dtype=np.float64)

    def opened(self, motion: Array) -> Array:
        """`opening` that a scaled motion (nv,) of coordinates that are not free brings along."""
        return self._lift(self.G @ motion)

    def _lift(self, x: Array) -> Array:
        return np.asarray(np.linalg.solve(self.R.T, x), dtype=np.float64)


def carrying_rows(system: System, q: Array, free: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which constraints of loops carry forces at q, with these coordinates free; see `closure.independent`."""
    return independent(_of_free(free_rows(system, system.closure(q)[1]), free))


def split(system: System, q: Array, free: NDArray[np.int64], kept: NDArray[np.bool_] | None = None) -> Split:
    """The split at q; `kept` are the constraints that carry forces, found anew if left out."""
    values, G = system.closure(q)
    if kept is None:
        kept = independent(_of_free(free_rows(system, G), free))
    G = (G * system.internal.scale)[kept]
    m = len(G)
    if not m:
        return Split(free, kept, values, G, np.zeros((len(free), 0)), np.zeros((0, 0)), np.eye(len(free)))
    Q, R = np.linalg.qr(G[:, free].T, mode="complete")
    return Split(free, kept, values, G, Q[:, :m], R[:m], Q[:, m:])


def _of_free(rows: Array, free: NDArray[np.int64]) -> Array:
    """Rows with zeros for everything but the free coordinates."""
    out = np.zeros_like(rows)
    out[:, free] = rows[:, free]
    return out
